"""The recovery family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="recovery",
    line=BUILT_IN["recovery"],
    question="How close is the learned graph to the true one?",
    package="graphgauge.recovery",
    headlines=("directed_f1", "directed_shd", "auprc"),
    truths=("true",),
    # By what a graph leaves open: nothing, the direction of some edges, or any mark.
    classes=("DAG", "MAG", "CPDAG", "PAG", "lagged", "lagged with open marks"),
)
