"""The explanation family."""

from __future__ import annotations

from graphgauge.old.core.family import BUILT_IN, Family
from graphgauge.old.core.forms import Form

# Options for collecting answers, which are fixed in a table.
ASKING = (
    "levels",
    "topk",
    "model_output",
    "by",
    "normalize",
    "ties",
    "random",
    "robust_drop",
    "robust_keep",
    "robust_samples",
    "batch_edges",
)
# Those that also decide about explanations without a model.
ORDERING = ("levels", "topk", "by", "normalize", "ties", "random")

FAMILY = Family(
    "explanation",
    line=BUILT_IN["explanation"],
    question="Do explanations show what the model used?",
    headlines=("necessity_auc", "sufficiency_auc", "acc_auc"),
    package="graphgauge.explanation",
    forms=(
        Form("a table, which already has the answers,", needs=("table",), takes=("metrics", "convention")),
        Form(
            "asking a model",
            needs=("explanations", "model"),
            takes=("save_table", "metrics", "convention", "seed", *ASKING),
        ),
        Form("metrics that need no model", needs=("explanations", "metrics"), takes=("convention", "seed", *ORDERING)),
        Form(
            "the answers that explanations of PyTorch Geometric bring with them",
            needs=("explanations", "convention"),
            takes=("metrics", "seed", *ORDERING),
        ),
    ),
    example={
        "table": "explanation/{seed}.jsonl",
        "explainer": "{method}",
    },
)
