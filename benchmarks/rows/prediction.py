"""Labels and targets."""

from __future__ import annotations

from benchmarks.harness import Row, Work, faster, first

SETUP = "from graphgauge import prediction as F"
SKLEARN = "from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score"

ROWS = (
    Row(
        "ROC-AUC and AP of 128 tasks × 400k items, 60 % missing, f4",
        "y = (r.random((400_000, 128), dtype='f4') < .1).astype('f4'); y[r.random(y.shape, dtype='f4') < .6] = np.nan; "
        "s = r.random(y.shape, dtype='f4') + .2 * np.nan_to_num(y)",
        Work("F.evaluate(y, scores=s, nan='omit', metrics=['roc_auc', 'average_precision'])", SETUP),
        {
            "OGB's loop": Work(
                "for f in (roc_auc_score, average_precision_score):\n"
                "    [f(y[k, i], s[k, i]) for i in range(128) for k in [y[:, i] == y[:, i]]]",
                SKLEARN,
            )
        },
        "y, s",
        (faster(10, "OGB's loop"), first(0.1, "OGB's loop")),
    ),
    Row(
        "accuracy and F1 of 10M labels in 47 classes",
        "y = r.integers(0, 47, 10_000_000); p = np.where(r.random(len(y)) < .7, y, r.integers(0, 47, len(y)))",
        Work("F.evaluate(y, p, task='multiclass', metrics=['accuracy', 'f1_macro'])", SETUP),
        {"scikit-learn": Work("accuracy_score(y, p), f1_score(y, p, average='macro')", SKLEARN)},
        "y, p",
        (faster(5, "scikit-learn"), first(0.2, "scikit-learn")),
    ),
)
