"""The evolution family."""

from __future__ import annotations

from graphgauge.old.core.family import BUILT_IN, Family, TruthInputs

FAMILY = Family(
    "evolution",
    line=BUILT_IN["evolution"],
    question="Are the edges that a system adds to its own graph good ones?",
    headlines=("auc_birth", "delta_homophily", "nca_mean"),
    package="graphgauge.old.evolution",
    truths={"labels": TruthInputs(("labels",), ("node_ids", "node_types", "test_edges"))},
    example={
        "log": "evolution/{method}/seed-{seed}",
        "labels": "evolution/labels.npy",
    },
)
