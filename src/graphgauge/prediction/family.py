"""The family as the hall knows it."""

from graphgauge.core.family import Family

FAMILY = Family(
    name="prediction",
    line="Labels and targets of nodes, edges and graphs: accuracy, ROC-AUC, MAE.",
    question="How well are labels or numbers predicted?",
    package="graphgauge.prediction",
    headlines=("accuracy", "f1_macro", "roc_auc", "average_precision", "mae", "rmse"),
    truths=("true",),
)
