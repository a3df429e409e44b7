"""The declaration of the family."""

from __future__ import annotations

from graphgauge.core.family import Family

FAMILY = Family(
    name="communities",
    line="Communities and classes of nodes: accuracy, NMI, ARI.",
    question="Do the found groups agree with the true ones?",
    headlines=("nmi", "ari", "accuracy"),
    package="graphgauge_communities",
    truths=("true",),
)
