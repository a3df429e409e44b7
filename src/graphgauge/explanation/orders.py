"""Does the order of explainers survive the way of masking?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.compare import compare
from graphgauge.explanation.evaluate import as_table
from graphgauge.explanation.table import Answered, AnswerTable
from graphgauge.stats.compare_items import ItemsComparison
from graphgauge.stats.text import p_text


@dataclass(frozen=True)
class Swap:
    """Two explainers in a different order in two ways of masking, with the adjusted p-values of both differences.

    `reversed` says that both differences are significant; otherwise the order is not decided.
    """

    explainers: tuple[str, str]
    ways: tuple[str, str]
    p_values: tuple[float, float]
    reversed: bool

    def __str__(self) -> str:
        (one, other), (first, second) = self.explainers, self.ways
        verdict = "reversed" if self.reversed else "not decided"
        return (
            f"{one} is above {other} by {first} ({p_text(self.p_values[0])}) and below it by {second} "
            f"({p_text(self.p_values[1])}): {verdict}"
        )


@dataclass(frozen=True)
class Orders:
    """The order of explainers in each way of masking, best first, and the pairs that change places."""

    comparisons: Mapping[str, ItemsComparison]
    swaps: tuple[Swap, ...]

    @property
    def orders(self) -> dict[str, list[str]]:
        return {way: _order(found) for way, found in self.comparisons.items()}

    @property
    def survives(self) -> bool | None:
        """Whether all ways give one order; None if pairs change places that do not differ significantly."""
        if any(swap.reversed for swap in self.swaps):
            return False
        return None if self.swaps else True

    @property
    def verdict(self) -> str:
        ways = f"all {len(self.comparisons)} ways of masking" if len(self.comparisons) > 2 else "both ways of masking"
        if self.survives:
            return f"The order of explainers is the same in {ways}."
        if self.survives is None:
            return "The order of explainers is not decided: pairs that change places do not differ significantly."
        return "The order of explainers depends on the way of masking."

    def __str__(self) -> str:
        lines = [f"{way}: {' > '.join(f'{name} {self.comparisons[way].means[name]:.3g}' for name in order)}"
                 for way, order in self.orders.items()]  # fmt: skip
        return "\n".join([*lines, *map(str, self.swaps), self.verdict])


def orders(
    tables: Any,
    metrics: Sequence[str] | str = ("fidelity_drop@0.1", "robust_delta@0.1"),
    *,
    explainers: Sequence[str] | None = None,
    alpha: float = 0.05,
    **options: Any,
) -> Orders:
    """Compare the order of explainers under several metrics and ways of masking, event by event.

    A ranking of explainers by fidelity may say more about graphs without edges, which the model has never seen, than
    about explanations. It is supported if robust fidelity, and other ways of masking, give the same order.

    Parameters
    ----------
    tables
        A table, or a dictionary of them by the way of masking: `{"removed": …, "resampled": …}`, collected from the
        same explanations.
    metrics
        Keys of the metrics to order by; by default fidelity and robust fidelity (Fid_α).
    explainers, options
        As in `compare`, which is called for each table and metric: paired tests with Holm's correction.

    The random explainer is one of the explainers, unless `random=False`.
    """
    named = {str(way): as_table(each) for way, each in tables.items()} if isinstance(tables, Mapping) else None
    given: dict[str, AnswerTable] = {"": as_table(tables)} if named is None else named
    keys = [metrics] if isinstance(metrics, str) else list(metrics)
    if len(given) * len(keys) < 2:
        raise OptionError("one table and one metric have one order", fix="Pass several tables or metrics.")
    _refuse_other_events(given)
    _refuse_other_explanations(given, explainers)
    found: dict[str, ItemsComparison] = {}
    for way, table in given.items():
        for key in keys:
            name = key if not way else way if len(keys) == 1 else f"{key}, {way}"
            found[name] = compare(table, key, explainers=explainers, alpha=alpha, **options)
    return Orders(found, tuple(_swaps(found, alpha)))


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
    return sorted(swaps, key=lambda swap: (not swap.reversed, swap.ways, swap.explainers))


def _signs(found: ItemsComparison) -> dict[tuple[str, str], tuple[float, float]]:
    """For each pair of names: 1 if the first is better, −1 if the second is, 0 if equal; and the adjusted p-value."""
    side = -1 if found.better == "lower" else 1
    signs = {}
    for pair in found.pairs:
        sign = float(side * np.sign(pair.test.mean_difference))
        one, other = pair.names
        signs[(one, other) if one < other else (other, one)] = (sign if one < other else -sign, pair.p_adjusted)
    return signs


def _refuse_other_explanations(tables: Mapping[str, AnswerTable], chosen: Sequence[str] | str | None) -> None:
    """Ways of masking are compared on the same explanations of the same edges."""
    first, *others = tables
    listed = [chosen] if isinstance(chosen, str) else chosen
    names = tables[first].explainers if listed is None else listed
    for way in others:
        absent = set(names) ^ set(tables[way].explainers) if listed is None else set()
        if absent:
            raise InputError(f"explainer {min(absent)!r:.80} is not in both {first!r} and {way!r}", where="tables",
                             fix="Collect all tables from the same explanations, or name the explainers.")  # fmt: skip
        same = {row.id: row for row in tables[way]}
        for row in tables[first]:
            if _explained(row, names) != _explained(same[row.id], names):
                raise InputError(f"event {row.id!r:.80} has other explanations in {way!r} than in {first!r}",
                                 where="tables", fix="Collect all tables from the same explanations.")  # fmt: skip


def _explained(row: Answered, names: Sequence[str]) -> Any:
    """What is explained, and the importances by explainer and seed."""
    part = row.subgraph
    said = {each.key: each.importance.tobytes() for name in names for each in row.of(name) if each.perturbed is None}
    return part.masked, part.edge_index.tobytes(), part.candidates.tobytes(), said


def _refuse_other_events(tables: Mapping[str, AnswerTable]) -> None:
    first, *others = tables
    events = {row.id for row in tables[first]}
    for way in others:
        different = events ^ {row.id for row in tables[way]}
        if different:
            raise InputError(f"event {min(different, key=str)!r:.80} is not in both {first!r} and {way!r}",
                             where="tables", fix="Collect all tables from the same explanations.")  # fmt: skip
