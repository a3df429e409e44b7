"""Page's test: do treatments follow an order that was predicted before?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial, sqrt

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.errors import InputError
from graphgauge.old.stats.text import fixed, p_text

# Products of so many distributions of one block are convolved exactly.
_EXACT_BLOCKS, _EXACT_TREATMENTS = 200, 8


@dataclass(frozen=True)
class Trend:
    """Page's L for an order of treatments, lowest first: its p-value against no difference, one-sided.

    `mean_ranks` are those of the treatments in the predicted order, 1 for the lowest value. `exact` says whether p is
    from the distribution of L, or from its normal limit.
    """

    order: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    statistic: float
    p: float
    blocks: int
    exact: bool

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {fixed(rank, 2)}" for name, rank in zip(self.order, self.mean_ranks, strict=True))
        return (
            f"{' < '.join(self.order)}: Page's L = {self.statistic:g}, {p_text(self.p)} over {self.blocks} blocks "
            f"({'exact' if self.exact else 'normal limit'}); mean ranks {ranks}"
        )


def page_test(values: ArrayLike, order: Sequence[str] | None = None) -> Trend:
    """Page's test (1963) of an ordered alternative, for values (blocks, treatments) in the predicted order.

    Blocks, such as seeds, rank the treatments; L sums the ranks times the predicted places. Equal values share their
    mean rank, and the distribution is then that of the observed ranks in every order. Blocks with a missing value are
    an error.

    >>> round(page_test([[1.0, 2.0, 3.0]] * 3).p, 5)
    0.00463
    """
    from scipy.stats import rankdata

    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise InputError(f"found shape {table.shape}", where="values", fix="Pass (blocks, treatments), at least two.")
    if np.isnan(table).any():
        raise InputError(f"{int(np.isnan(table).any(axis=1).sum())} blocks have a missing value", where="values")
    blocks, treatments = table.shape
    names = tuple(map(str, order)) if order is not None else tuple(map(str, range(1, treatments + 1)))
    if len(names) != treatments:
        raise InputError(f"{len(names)} names for {treatments} treatments", where="order")
    ranks = rankdata(table, axis=1)
    places = np.arange(1, treatments + 1)
    statistic = float((ranks @ places).sum())
    exact = blocks <= _EXACT_BLOCKS and treatments <= _EXACT_TREATMENTS
    p = _exact(ranks, places, statistic) if exact else _normal(ranks, places, statistic)
    return Trend(names, tuple(ranks.mean(axis=0).tolist()), statistic, p, blocks, exact)


def _exact(ranks: np.ndarray, places: np.ndarray, statistic: float) -> float:
    """The probability of a sum at least as large if every block is in every order alike; ranks are halves."""
    whole = np.ones(1)
    shift = 0
    known: dict[tuple[float, ...], tuple[np.ndarray, int]] = {}
    for row in np.sort(ranks, axis=1):
        key = tuple(row.tolist())
        if key not in known:
            known[key] = _one_block(np.rint(2 * row).astype(np.int64), places)
        chances, least = known[key]
        whole, shift = np.convolve(whole, chances), shift + least
    first = round(2 * statistic) - shift
    return float(min(1.0, whole[max(first, 0) :].sum()))


def _one_block(doubled: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, int]:
    sums = np.array([int(places @ np.array(row)) for row in permutations(doubled.tolist())])
    least = int(sums.min())
    return np.bincount(sums - least) / factorial(len(doubled)), least


def _normal(ranks: np.ndarray, places: np.ndarray, statistic: float) -> float:
    from scipy.special import ndtr

    blocks, treatments = ranks.shape
    mean = blocks * places.sum() * (treatments + 1) / 2
    spread = ((ranks - ranks.mean(axis=1, keepdims=True)) ** 2).sum() * ((places - places.mean()) ** 2).sum()
    variance = spread / (treatments - 1)
    return float(ndtr(-(statistic - mean) / sqrt(variance))) if variance > 0 else 1.0
