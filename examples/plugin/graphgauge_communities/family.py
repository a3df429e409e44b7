"""The declaration of the family."""

from __future__ import annotations

from graphgauge.old.core.family import Family, TruthInputs

FAMILY = Family(
    "communities",
    line="Communities and classes of nodes: accuracy, NMI, ARI.",
    question="Do the found groups agree with the true ones?",
    headlines=("nmi", "ari", "accuracy"),
    package="graphgauge_communities",
    truths={"true": TruthInputs(("true",))},
    example={"true": "data/true.npy", "pred": "runs/{method}/{seed}/found.npy"},
)
