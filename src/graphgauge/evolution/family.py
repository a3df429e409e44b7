"""The evolution family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family, TruthInputs
from graphgauge.core.forms import Form

CYCLES = Form(
    "stored runs",
    needs=("log", "labels"),
    takes=("test_edges", "negatives", "negatives_per_positive", "folds", "homophily_null", "nan", "threads"),
)
REPLAYED = Form(
    "replayed growth",
    needs=("log", "replay"),
    takes=("labels", "replay_score", "replay_probe", "replays", "future_edges", "node_types"),
)
FAMILY = Family(
    "evolution",
    line=BUILT_IN["evolution"],
    question="Are the edges that a system adds to its own graph good ones?",
    headlines=("auc_birth", "delta_homophily", "nca_mean"),
    package="graphgauge.evolution",
    forms=(CYCLES, REPLAYED),
    truths={"labels": TruthInputs(("labels",), ("node_ids", "test_edges"))},
    example={
        "log": "evolution/{method}/seed-{seed}",
        "labels": "evolution/labels.npy",
    },
)
