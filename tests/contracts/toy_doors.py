"""Doors of the toy family: one of ranks, which has states, and the hardest ones, with a number after their name."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec

import numpy as np
from msgspec.structs import replace
from tests.contracts import hardest, toy

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.door import METRICS, Door, Input, Option
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number


class RankState:
    """Ranks that come in parts."""

    def __init__(self, cap=None):
        self.cap, self.parts = cap, {}

    def update(self, *, ranks, groups=None, start):
        assert all(len(labels) == len(ranks) for labels in (groups or {}).values())
        assert start not in self.parts, "counted twice"
        self.parts[start] = np.minimum(ranks, self.cap or 10**9)

        return self

    def merge(self, other):
        assert not self.parts.keys() & other.parts.keys(), "counted twice"
        self.parts |= other.parts
        return self

    def reset(self):
        self.parts = {}

    def compute(self):
        return {key: result.value for key, result in self.evaluate().items()}

    def save(self, path):
        write_archive(path, "toy", {"cap": self.cap}, {str(start): ranks for start, ranks in self.parts.items()})

    @classmethod
    def load(cls, path):
        facts, parts = read_archive(path, "toy")
        made = cls(**facts)
        made.parts = {int(start): ranks for start, ranks in parts.items()}
        return made

    def evaluate(self, *, k=(1, 3), metrics=None):
        options = {"k": k, "metrics": metrics}
        return toy.evaluate(np.concatenate([self.parts[start] for start in sorted(self.parts)]), **options)


def evaluate_ranks(ranks, *, k=(1, 3), cap=None, groups=None, metrics=None):
    for each in [k] if isinstance(k, int) else k:
        whole_number("k", each, 1)
    if cap is not None:
        whole_number("cap", cap, 1)
    if len(ranks) < 2:
        raise InputError("one rank is too few", where="ranks", fix='Pass k=1 and metrics="all".')
    labels = {name: np.asarray(each) for name, each in (groups or {}).items()}
    return toy.evaluate(np.minimum(ranks, cap or 10**9), k=k, groups=labels, metrics=metrics)


RANKS = Door(
    "",
    "Ranks.",
    "tests.contracts.toy_doors:evaluate_ranks",
    inputs=(
        Input("ranks", "A rank per query.", required=True, many="parts"),
        Input("groups", "Labels of the queries.", "labels", many="named", along=True),
    ),
    options=(
        Option("k", tuple[int, ...], (1, 3), "Cut-offs.", 1),
        Option("cap", int | None, None, "The last rank.", 1),
    ),
    common=(METRICS,),
    of_state=("cap",),
    example="graphgauge toy --ranks ranks.npy",
)


module = types.ModuleType("toy_family.doors")
module.DOORS = (RANKS, *(replace(each, name=f"{each.name}{n}") for n, each in enumerate(hardest.DOORS)))
module.__spec__ = ModuleSpec("toy_family.doors", None)
sys.modules["toy_family.doors"] = module
