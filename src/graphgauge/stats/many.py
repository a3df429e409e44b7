"""More than two methods: Holm, mean ranks, Friedman, Page, Nemenyi's critical difference, and groups.

The tests of ranks compare the observed table with tables in which every row comes in random order: all of them if they
are few, 9,999 fixed ones if rows are few, and beyond that the limiting distribution.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.core.random import Random
from graphgauge.core.types import Floats, Mask
from graphgauge.stats.ranks import alpha_of
from graphgauge.stats.text import fixed, p_text

# So many tables are enumerated; with more and at most so many cells, this many are drawn.
_ENUMERATED, _FEW_CELLS, DRAWS = 50_000, 200, 9_999


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: `statistic` is the tie-corrected χ²; `method` is `exact`, `9,999 fixed orders` or `χ²`."""

    statistic: float
    p_value: float
    blocks: int
    methods: int
    method: str

    def __str__(self) -> str:
        return f"Friedman: χ² = {self.statistic:.3g}, {p_text(self.p_value)}"


@dataclass(frozen=True)
class Trend:
    """Page's L for an order of treatments, lowest first: one-sided p against no difference, by `method`.

    `mean_ranks` are those of the treatments in the predicted order, 1 for the lowest value.
    """

    order: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    statistic: float
    p_value: float
    blocks: int
    method: str

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {fixed(rank, 2)}" for name, rank in zip(self.order, self.mean_ranks, strict=True))
        said = f"{' < '.join(self.order)}: Page's L = {self.statistic:g}, {p_text(self.p_value)}"
        return f"{said} over {self.blocks} blocks ({self.method}); mean ranks {ranks}"


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p of Holm's step-down procedure, in the same order; rejecting those ≤ α keeps the family-wise error.

    Parameters
    ----------
    p_values
        p of all tests of the family.

    Returns
    -------
    numpy.ndarray
        At least the p passed, at most 1.

    Raises
    ------
    InputError
        If a p is not in [0, 1].

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = as_numeric(p_values, "p_values").astype(np.float64)
    require_shape(p, (None,), "p_values", "Pass one p per test.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("some are not between 0 and 1", where="p_values", fix="Leave out tests without a p.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def mean_ranks(scores: ArrayLike) -> Floats:
    """Mean rank of each column over the rows, 1 for the highest score, ties shared.

    Parameters
    ----------
    scores
        (blocks, methods), higher is better.

    Returns
    -------
    numpy.ndarray
        One rank per method, from 1 to their number.

    Raises
    ------
    InputError
        If a score is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.mean_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.1]]).tolist()
    [1.5, 1.75, 2.75]
    """
    return np.asarray(_ranks(-_table(scores)).mean(axis=0))


def friedman(scores: ArrayLike) -> Friedman:
    """Do the columns (methods) rank alike over the rows (seeds or datasets)? Friedman's test (1937).

    Parameters
    ----------
    scores
        (blocks, methods).

    Returns
    -------
    Friedman
        The statistic and its p.

    Raises
    ------
    InputError
        If there are fewer than two columns, or a score is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> round(stats.friedman([[1, 2, 3]] * 4).p_value, 4)
    0.0046
    """
    ranks = _ranks(_table(scores))
    blocks, methods = ranks.shape
    centre = (methods + 1) / 2
    spread = float(np.sum(np.square(ranks - centre)))
    if spread == 0:
        return Friedman(0.0, 1.0, blocks, methods, "exact")
    deviations = ranks.mean(axis=0) - centre
    statistic = blocks**2 * (methods - 1) / spread * float(deviations @ deviations)
    sums = _random_sums(ranks, first=False)
    if sums is None:
        from scipy.special import chdtrc

        return Friedman(statistic, float(chdtrc(methods - 1, statistic)), blocks, methods, "χ²")
    unequal = np.square(sums - blocks * centre).sum(axis=1)
    observed = float(np.square(ranks.sum(axis=0) - blocks * centre).sum())
    p, method = float(np.mean(unequal >= observed - 1e-9)), _how(sums)
    if method != "exact" and (ranks == ranks[0]).all():  # no other order is as unequal
        ties = math.fsum(math.lgamma(count + 1) for count in Counter(ranks[0].tolist()).values())
        p, method = math.exp((1 - blocks) * (math.lgamma(methods + 1) - ties)), "exact"
    return Friedman(statistic, p, blocks, methods, method)


def page_test(values: ArrayLike, order: Sequence[str] | None = None) -> Trend:
    """Page's test (1963) of an order of the columns that was predicted before, lowest first.

    Rows, such as seeds, rank the columns; L sums the ranks times the predicted places.

    Parameters
    ----------
    values
        (blocks, treatments) in the predicted order.
    order
        Names of the treatments.

    Returns
    -------
    Trend
        L, its one-sided p, and the mean ranks.

    Raises
    ------
    InputError
        If a value is NaN, or names and columns differ in number.

    Examples
    --------
    >>> from graphgauge import stats
    >>> round(stats.page_test([[1.0, 2.0, 3.0]] * 3).p_value, 5)
    0.00463
    """
    ranks = _ranks(_table(values))
    blocks, treatments = ranks.shape
    names = tuple(map(str, order)) if order is not None else tuple(map(str, range(1, treatments + 1)))
    if len(names) != treatments:
        raise InputError(f"{len(names)} names for {treatments} treatments", where="order")
    places = np.arange(1, treatments + 1)
    statistic = float(ranks.sum(axis=0) @ places)
    sums = _random_sums(ranks, first=True)
    if sums is not None:
        p, method = float(np.mean(sums @ places >= statistic - 1e-9)), _how(sums)
    else:
        centre = (treatments + 1) / 2
        spread = float(np.square(ranks - centre).sum()) * float(np.square(places - centre).sum()) / (treatments - 1)
        z = (statistic - blocks * centre * places.sum()) / math.sqrt(spread) if spread > 0 else -math.inf
        p, method = float(_core.normal_tail(z)), "normal limit"
    return Trend(names, tuple(ranks.mean(axis=0).tolist()), statistic, p, blocks, method)


def critical_difference(methods: int, blocks: int, confidence: float = 0.95) -> float:
    """The difference of two mean ranks that is significant in Nemenyi's test (Demšar 2006).

    Parameters
    ----------
    methods, blocks
        Number of methods, and of datasets or seeds that they are ranked on.
    confidence
        1 − the level of the test.

    Returns
    -------
    float
        Above 0, in ranks.

    Raises
    ------
    OptionError
        If there are fewer than two methods, or no block.

    Examples
    --------
    >>> from graphgauge import stats
    >>> round(stats.critical_difference(4, 14), 2)
    1.25
    """
    whole_number("methods", methods, 2)
    whole_number("blocks", blocks, 1)
    return studentized_range(methods, alpha_of(confidence)) * math.sqrt(methods * (methods + 1) / (12 * blocks))


@lru_cache(maxsize=64)
def studentized_range(methods: int, alpha: float) -> float:
    """The upper α point of the range of `methods` independent standard normals: infinite degrees of freedom."""
    from scipy.special import ndtr

    # The trapezoid rule is exact to rounding here: the integrand is smooth and vanishes at both ends.
    z = np.linspace(-9, 9, 1001)
    density = methods * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    below = ndtr(z)
    low, high = 0.0, 60.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        within = float(density @ (below - ndtr(z - middle)) ** (methods - 1))
        low, high = (middle, high) if within < 1 - alpha else (low, middle)
    return (low + high) / 2


def cliques(names: Sequence[str], apart: Mask) -> list[list[str]]:
    """Maximal groups without a pair that is `apart`, in the order of the names (Bron and Kerbosch).

    Every group contains the name with the most neighbours, or one that is not among these (Tomita et al. 2006): if
    no pair is apart, one group is found at once.
    """
    near = {i: {j for j in range(len(names)) if j != i and not apart[i, j]} for i in range(len(names))}

    def grown(group: set[int], open_to: set[int], done: set[int]) -> Iterator[list[int]]:
        if not open_to and not done:
            yield sorted(group)
            return
        pivot = max(open_to | done, key=lambda name: len(open_to & near[name]))
        for name in sorted(open_to - near[pivot]):
            yield from grown(group | {name}, open_to & near[name], done & near[name])
            open_to, done = open_to - {name}, done | {name}

    return [[names[i] for i in group] for group in sorted(grown(set(), set(near), set()))]


def _table(scores: ArrayLike) -> Floats:
    table = as_numeric(scores, "scores").astype(np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        what = f"expected a row per seed or dataset and at least two columns, found shape {table.shape}"
        raise InputError(what, where="scores", fix="Pass (blocks, methods).")
    refuse_nan(table, "scores", fix="Drop or impute those rows first.")
    return table


def _ranks(table: Floats) -> Floats:
    """1 for the lowest value of a row, ties shared."""
    order = np.sort(table, axis=1)
    below = np.array([np.searchsorted(row, each) for row, each in zip(order, table, strict=True)])
    upto = np.array([np.searchsorted(row, each, side="right") for row, each in zip(order, table, strict=True)])
    return np.asarray((below + upto + 1) / 2)


def _random_sums(ranks: Floats, *, first: bool) -> Floats | None:
    """Column sums of tables with every row in another order, the observed one among them; None if they are too many.

    If all columns are alike, one order of the `first` row stands for all, which rename them.
    """
    blocks, methods = ranks.shape
    if (blocks - 1 + first) * math.lgamma(methods + 1) <= math.log(_ENUMERATED):
        sums = np.zeros((1, methods)) if first else ranks[:1]
        for row in ranks if first else ranks[1:]:
            orders = np.array(list(itertools.permutations(row)))
            sums = (sums[:, np.newaxis] + orders).reshape(-1, methods)
        return sums
    if ranks.size > _FEW_CELLS:
        return None
    keys = Random(0).uniform(DRAWS, blocks, methods).argsort(axis=-1)
    drawn = np.take_along_axis(np.broadcast_to(ranks, keys.shape), keys, axis=-1).sum(axis=1)
    return np.concatenate((ranks.sum(axis=0)[np.newaxis], drawn))


def _how(sums: Floats) -> str:
    return f"{DRAWS:,} fixed orders" if len(sums) == DRAWS + 1 else "exact"
