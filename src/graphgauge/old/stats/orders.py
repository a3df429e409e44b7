"""Is the order of methods the same by several metrics?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from graphgauge.old.stats.compare_items import ItemsComparison
from graphgauge.old.stats.text import p_text


@dataclass(frozen=True)
class Swap:
    """Two methods in a different order by two metrics (`ways`), with the adjusted p-values of both differences.

    `reversed` says that both differences are significant; otherwise the order is not decided.
    """

    methods: tuple[str, str]
    ways: tuple[str, str]
    p_values: tuple[float, float]
    reversed: bool

    def __str__(self) -> str:
        (one, other), (first, second) = self.methods, self.ways
        verdict = "reversed" if self.reversed else "not decided"
        return (
            f"{one} is above {other} by {first} ({p_text(self.p_values[0])}) and below it by {second} "
            f"({p_text(self.p_values[1])}): {verdict}"
        )


@dataclass(frozen=True)
class Orders:
    """The order of methods by each metric, best first, and the pairs that change places."""

    comparisons: Mapping[str, ItemsComparison]
    swaps: tuple[Swap, ...]

    @classmethod
    def of(cls, comparisons: Mapping[str, ItemsComparison], alpha: float) -> Orders:
        return cls(comparisons, tuple(_swaps(comparisons, alpha)))

    @property
    def orders(self) -> dict[str, list[str]]:
        return {way: _order(found) for way, found in self.comparisons.items()}

    @property
    def survives(self) -> bool | None:
        """Whether all give one order; None if pairs change places that do not differ significantly."""
        if any(swap.reversed for swap in self.swaps):
            return False
        return None if self.swaps else True

    @property
    def verdict(self) -> str:
        count = len(self.comparisons)
        if self.survives:
            return f"The order of methods is the same in {f'all {count}' if count > 2 else 'both'} metrics."
        if self.survives is None:
            return "The order of methods is not decided: pairs that change places do not differ significantly."
        return "The order of methods depends on the metric."

    @property
    def lines(self) -> list[str]:
        """Each order with its means, the pairs that change places, and the verdict."""
        lines = [
            f"{way}: {' > '.join(f'{name} {self.comparisons[way].means[name]:.3g}' for name in order)}"
            for way, order in self.orders.items()
        ]
        return [*lines, *map(str, self.swaps), self.verdict]


def _order(found: ItemsComparison) -> list[str]:
    side = 1 if found.better == "lower" else -1
    return sorted(found.means, key=lambda name: side * found.means[name])


def _swaps(found: Mapping[str, ItemsComparison], alpha: float) -> list[Swap]:
    swaps = []
    signs = {way: _signs(each) for way, each in found.items()}
    for first, second in combinations(found, 2):
        for pair in signs[first].keys() & signs[second].keys():
            (one, p), (other, q) = signs[first][pair], signs[second][pair]
            if one * other < 0:
                names = pair if one > 0 else pair[::-1]
                swaps.append(Swap(names, (first, second), (p, q), max(p, q) <= alpha))
    return sorted(swaps, key=lambda swap: (not swap.reversed, swap.ways, swap.methods))


def _signs(found: ItemsComparison) -> dict[tuple[str, str], tuple[float, float]]:
    """For each pair of names: 1 if the first is better, −1 if the second is, 0 if equal; and the adjusted p-value."""
    side = -1 if found.better == "lower" else 1
    signs = {}
    for pair in found.pairs:
        sign = float(side * np.sign(pair.test.mean_difference))
        one, other = pair.names
        signs[(one, other) if one < other else (other, one)] = (sign if one < other else -sign, pair.p_adjusted)
    return signs
