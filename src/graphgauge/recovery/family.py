"""The recovery family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family, TruthInputs

FAMILY = Family(
    "recovery",
    line=BUILT_IN["recovery"],
    question="How close is the learned graph to the true one?",
    headlines=("directed_f1", "directed_shd", "auprc"),
    package="graphgauge.recovery",
    truths={"true": TruthInputs(("true",))},
    example={
        "true": "recovery/data/{seed}/graph.npy",
        "pred": "recovery/{method}/{seed}/graph.npy",
    },
)
