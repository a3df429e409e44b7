"""The explanation family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family
from graphgauge.core.forms import Form

# Options for collecting answers, which are fixed in a table.
ASKING = ("levels", "topk", "model_output", "by", "normalize", "ties", "random", "batch_edges")

FAMILY = Family(
    "explanation",
    line=BUILT_IN["explanation"],
    question="Do explanations show what the model used?",
    headlines=("necessity_auc", "sufficiency_auc", "acc_auc"),
    package="graphgauge.explanation",
    forms=(
        Form("a table, which already has the answers,", needs=("table",)),
        Form("asking a model", needs=("explanations", "model"), takes=("save_table", "seed", *ASKING)),
    ),
    example={
        "table": "explanation/{seed}.jsonl",
        "explainer": "{method}",
    },
)
