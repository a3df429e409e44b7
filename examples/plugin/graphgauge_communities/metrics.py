"""Accuracy, normalised mutual information and the adjusted Rand index.

All of them are functions of the contingency table of true and found groups. Intervals are jackknife intervals over
nodes; they may cover less than their level, because nodes of one graph are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, Exempt
from graphgauge.core.references import cite
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.stats.intervals import t_interval

cite(
    """
@article{danon2005,
  author = {Danon, Leon and D{\\'i}az-Guilera, Albert and Duch, Jordi and Arenas, Alex},
  title = {Comparing community structure identification},
  journal = {Journal of Statistical Mechanics},
  year = {2005}
}
@article{hubert1985,
  author = {Hubert, Lawrence and Arabie, Phipps},
  title = {Comparing partitions},
  journal = {Journal of Classification},
  year = {1985}
}
"""
)
Value = Callable[[np.ndarray], float]
_SHUFFLES = 20


@dataclass(frozen=True)
class Groups:
    """How many nodes have true group i and found group j; `same` marks cells whose groups have the same name."""

    table: np.ndarray
    same: np.ndarray
    seed: int = 0

    @cached_property
    def n(self) -> int:
        return int(self.table.sum())

    def shuffled(self, value: Value) -> float:
        """The mean value if the found groups are dealt out to nodes at random."""
        rng = np.random.default_rng(self.seed)
        rows, columns = (np.repeat(np.arange(len(sums)), sums) for sums in (self.table.sum(1), self.table.sum(0)))
        values = []
        for _ in range(_SHUFFLES):
            table = np.zeros_like(self.table)
            np.add.at(table, (rows, rng.permutation(columns)), 1)
            values.append(value(table))
        return float(np.mean(values))


def estimate(groups: Groups, value: Value) -> Estimate:
    """The value, and its jackknife error: nodes of one cell of the table are equal, so each cell is left out once."""
    if not groups.n:
        return Estimate(np.array([np.nan]), np.array([0]), reason="no nodes")
    found = value(groups.table)
    error = np.nan
    if groups.n > 2 and np.isfinite(found):
        cells = np.argwhere(groups.table > 0)
        counts = groups.table[tuple(cells.T)]
        without = np.array([_without(groups.table, cell, value) for cell in cells])
        mean = np.average(without, weights=counts)
        error = np.sqrt((groups.n - 1) / groups.n * np.sum(counts * (without - mean) ** 2))
    return Estimate(np.array([found]), np.array([groups.n]), reason="one group", facts={"error": error})


def _without(table: np.ndarray, cell: np.ndarray, value: Value) -> float:
    smaller = table.copy()
    smaller[tuple(cell)] -= 1
    return value(smaller)


def _interval(groups: Groups, found: Estimate, confidence: float) -> Bounds:
    error = found.facts["error"] if found.facts["error"] > 0 else np.nan
    low, high = t_interval(found.value, np.array([error]), np.array([groups.n - 1.0]), confidence)
    return Bounds(low, high, "jackknife", "nodes", fewest="at least three")


def _levels_of_accuracy(groups: Groups) -> list[Reference]:
    return [
        Reference("largest class", float(groups.table.sum(1).max() / groups.n)),
        Reference("shuffled", groups.shuffled(lambda table: _accuracy(table, groups.same))),
    ]


_FACTS: dict[str, Any] = {
    "family": "communities",
    "needs": ("groups",),
    "direction": "higher",
    "unit": "share",
    "interval": _interval,
    "default": True,
}
_LAWS = {"permutation": True, "merge": Exempt("the family has no mergeable state"), "monotone": True}


@metric(
    key="accuracy",
    bounds=(0, 1),
    conventions={"groups": "matched by name"},
    reference="hubert1985",
    chance=_levels_of_accuracy,
    laws={**_LAWS, "symmetry": True},
    **_FACTS,
)
def accuracy(groups: Groups) -> Estimate:
    """Share of nodes whose found group has the name of the true one."""
    return estimate(groups, lambda table: _accuracy(table, groups.same))


@metric(
    key="nmi",
    bounds=(0, 1),
    conventions={"normalisation": "arithmetic mean of the entropies"},
    reference="danon2005",
    chance=lambda groups: [Reference("shuffled", groups.shuffled(_nmi))],
    laws={**_LAWS, "monotone": Exempt("a corrected node can make groups less alike elsewhere"), "symmetry": True},
    **_FACTS,
)
def nmi(groups: Groups) -> Estimate:
    """Mutual information of true and found groups, over the mean of their entropies."""
    return estimate(groups, _nmi)


@metric(
    key="ari",
    bounds=(-1, 1),
    conventions={"chance": "fixed group sizes"},
    reference="hubert1985",
    chance=lambda groups: [Reference("shuffled", groups.shuffled(_ari))],
    laws={**_LAWS, "monotone": Exempt("a corrected node can make groups less alike elsewhere"), "symmetry": True},
    **_FACTS,
)
def ari(groups: Groups) -> Estimate:
    """Share of pairs of nodes on which both agree, corrected for chance."""
    return estimate(groups, _ari)


def _accuracy(table: np.ndarray, same: np.ndarray) -> float:
    return float(table[same].sum() / table.sum())


def _nmi(table: np.ndarray) -> float:
    joint = table / table.sum()
    rows, columns = joint.sum(1), joint.sum(0)
    entropies = _entropy(rows) + _entropy(columns)
    if entropies == 0:
        return np.nan
    return float(np.clip(2 * (entropies - _entropy(joint)) / entropies, 0, 1))


def _entropy(shares: np.ndarray) -> float:
    positive = shares[shares > 0]
    return float(-np.sum(positive * np.log(positive)))


def _ari(table: np.ndarray) -> float:
    together, rows, columns = (np.sum(part * (part - 1.0)) / 2 for part in (table, table.sum(1), table.sum(0)))
    pairs = table.sum() * (table.sum() - 1) / 2
    expected, largest = rows * columns / pairs if pairs else 0.0, (rows + columns) / 2
    return float((together - expected) / (largest - expected)) if largest != expected else np.nan
