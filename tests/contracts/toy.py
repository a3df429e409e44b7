"""A family of one kind of sample, ranks: what the tests of types and registry use instead of a real family."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec

import numpy as np

from graphgauge.core import family as families
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.family import Family
from graphgauge.core.grid import Grid
from graphgauge.core.items import Items
from graphgauge.core.loop import broken_down, measure
from graphgauge.core.metric import Bounds, Exempt, NoInterval, whole
from graphgauge.core.registry import metric, select
from graphgauge.core.result import Reference

NAME, STATE = "toy", "tests.contracts.toy_doors:RankState"
FAMILY = Family(
    name=NAME, line="Ranks.", question="How good are ranks?", package="toy_family", headlines=("hits@3",), state=STATE
)

if NAME not in families.family_names():
    package, example = types.ModuleType("toy_family"), types.ModuleType("toy_family.example")
    package.__path__ = []
    example.SAMPLES = {"ranks": np.array([1, 2, 2, 5, 9])}
    example.LAWS = {"permutation": lambda ranks: ranks[::-1]}
    example.__spec__ = ModuleSpec("toy_family.example", None)
    sys.modules |= {"toy_family": package, "toy_family.example": example}
    families.declare(FAMILY)


def over_queries(ranks, estimate, confidence):
    """Normal intervals from the influence of each query, which are enough here."""
    if estimate.influence is None:
        return NoInterval("the metric has no influence")
    error = 2 * np.sqrt(np.sum(estimate.influence**2))
    return Bounds(estimate.value - error, estimate.value + error, "normal", "queries")


def random_ranks(ranks, *, k=3):
    return [Reference("random ranks", k / 10)]


DECLARED = {
    "needs": ("ranks",),
    "direction": "higher",
    "bounds": (0.0, 1.0),
    "unit": "query",
    "chance": random_ranks,
    "interval": over_queries,
    "laws": {"permutation": True, "merge": True, "monotone": True, "symmetry": Exempt("ranks have no sides")},
}


@metric("hits@{k}", family=NAME, default=True, conventions={"ties": "as chosen"}, formula="mean(rank <= k)", **DECLARED)
def hits(ranks, *, k=3):
    """Share of ranks of at most k."""
    inside = (ranks <= k).astype(float)
    return whole(inside.mean(), len(ranks), (inside - inside.mean()) / len(ranks))


def evaluate(ranks, *, metrics=None, k=(1, 3), groups=None, **names):
    """The evaluation that a family's own `evaluate` returns."""
    chosen, named = select(NAME, metrics, ["ranks"], {"k": k})
    measured = measure(chosen, {"ranks": ranks}, named=named, confidence=0.95, conventions={"ties": "realistic"})
    grids = {}
    for axis, labels in (groups or {}).items():
        parts = [
            broken_down(axis, [name], [n], chosen, {"ranks": ranks[labels == name]}, confidence=0.95)
            for name, n in zip(*np.unique(labels, return_counts=True), strict=True)
        ]
        grids[axis] = Grid({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})
    return Evaluation(
        NAME,
        measured.results,
        conventions={"ties": "realistic"},
        options={"k": list(k)},
        breakdowns=grids,
        skipped=measured.skipped,
        run=Run(**names),
        per_item=Items("query", np.arange(len(ranks)), {f"hits@{each}": (ranks <= each) * 1.0 for each in k}),
    )
