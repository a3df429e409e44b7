"""The evolution family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="evolution",
    line=BUILT_IN["evolution"],
    question="Are the edges that a system adds to its own graph good ones?",
    headlines=("auc_birth", "delta_homophily", "nca_mean"),
    package="graphgauge.evolution",
    truths=("labels", "node_types", "test_edges"),
)
