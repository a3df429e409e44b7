"""The recovery family."""

from __future__ import annotations

from graphgauge.old.core.family import BUILT_IN, Family, Split, TruthInputs

FAMILY = Family(
    "recovery",
    line=BUILT_IN["recovery"],
    question="How close is the learned graph to the true one?",
    headlines=("directed_f1", "directed_shd", "auprc"),
    package="graphgauge.old.recovery",
    truths={"true": TruthInputs(("true",))},
    example={
        "true": "recovery/data/{seed}/graph.npy",
        "pred": "recovery/{method}/{seed}/graph.npy",
    },
    splits=(
        Split("graphs with lags", ("lagged",), why="their metrics are counted at once"),
        Split(
            "a stack of graphs",
            ("true",),
            into="pairs of graphs, which are sent as their edges",
            joined="the distances of each pair, in order",
        ),
    ),
    # By what a graph leaves open: nothing, the direction of some edges, or any mark.
    classes={
        "dag": "DAG",
        "directed": "DAG",
        "mag": "MAG",
        "cpdag": "CPDAG",
        "mixed": "CPDAG",
        "pag": "PAG",
        "lagged": "lagged",
        "mixed lagged": "lagged with open marks",
        # As results of the new room name them.
        **{name: name for name in ("DAG", "MAG", "CPDAG", "PAG", "lagged with open marks")},
    },
)
