"""The evolution family."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.core.family import BUILT_IN, Family, Split, TruthInputs
from graphgauge.core.forms import Shown

# Options that go only with replayed growth, and only without it.
OF_REPLAYS = ("replay_score", "replay_probe", "replays", "future_edges")
# A limit of threads goes with both: replays run one after the other.
OF_CYCLES = (
    "embeddings",
    "test_edges",
    "negatives",
    "negatives_per_positive",
    "temperature",
    "folds",
    "homophily_null",
    "score",
    "nan",
)


def refuse_together(given: Collection[str], shown: Shown = str) -> None:
    """Refuse options of replayed growth without `replay`, and those of cycles with it."""
    replayed = "replay" in given
    for name in OF_CYCLES if replayed else OF_REPLAYS:
        if name in given:
            what = "does not go with" if replayed else "needs"
            fix = "Replays have their own options." if replayed else "Name an embedding to replay the runs on."
            raise OptionError(f"{shown(name)} {what} {shown('replay')}", fix=fix).about(name)


def _refuse(values: Mapping[str, Any], shown: Shown) -> None:
    fields = FAMILY.fields
    refuse_together([name for name, value in values.items() if name in fields and fields[name].is_given(value)], shown)


FAMILY = Family(
    "evolution",
    line=BUILT_IN["evolution"],
    question="Are the edges that a system adds to its own graph good ones?",
    headlines=("auc_birth", "delta_homophily", "nca_mean"),
    package="graphgauge.evolution",
    truths={"labels": TruthInputs(("labels",), ("node_ids", "node_types", "test_edges", "future_edges"))},
    example={
        "log": "evolution/{method}/seed-{seed}",
        "labels": "evolution/labels.npy",
    },
    refuse=_refuse,
    splits=(
        Split("replayed growth", ("replay",), why="its replays are drawn in one process"),
        Split("the runs of a log", ("log",), into="runs", joined="what is kept of each run, in order"),
    ),
)
