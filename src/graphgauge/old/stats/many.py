"""More than two methods: Holm, Friedman, Nemenyi's critical difference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.old.stats.wilcoxon import require_alpha

# Up to this many rank-sum states are enumerated; larger designs use the chi-squared approximation.
_MAX_STATES = 1 << 20


# Tests in one comparison: those of 100 methods take 8 s and 0.3 GB.
MOST_PAIRS = 5_000


def method_pairs(methods: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """All pairs of methods, or each with the baseline."""
    if baseline is not None:
        return [(method, baseline) for method in methods if method != baseline]
    count = math.comb(len(methods), 2)
    if count > MOST_PAIRS:
        raise InputError(
            f"{len(methods):,} methods have {count:,} pairs, more than {MOST_PAIRS:,}",
            fix="Give a baseline, or fewer methods.",
        )
    return list(itertools.combinations(methods, 2))


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p of Holm's step-down procedure, in the order given; rejecting those ≤ α keeps the family-wise error.

    Parameters
    ----------
    p_values
        p of all tests of the family.

    Returns
    -------
    numpy.ndarray
        At least the p given, at most 1.

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
    p = as_numeric(p_values, "p_values").astype(float)
    require_shape(p, (None,), "p_values", "Pass one p per test.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("some are not between 0 and 1", where="p_values", fix="Leave out tests without a p.")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
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
    return np.asarray(_ranks(_matrix(scores)).mean(axis=0))


@dataclass(frozen=True)
class Friedman:
    """`statistic` is the tie-corrected chi-squared; p is exact if all orders of the ranks can be counted."""

    statistic: float
    p_value: float
    blocks: int
    methods: int
    exact: bool


def friedman(scores: ArrayLike) -> Friedman:
    """Do the columns (methods) rank alike over the rows (seeds or datasets)? Exact for small designs.

    Parameters
    ----------
    scores
        (blocks, methods).

    Returns
    -------
    Friedman
        The statistic, its p, and whether it is exact.

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
    ranks = _ranks(_matrix(scores))
    blocks, methods = ranks.shape
    spread = float(np.sum(np.square(ranks - (methods + 1) / 2)))
    if spread == 0:
        return Friedman(0.0, 1.0, blocks, methods, True)
    scale = blocks * (methods - 1) / spread
    deviations = ranks.mean(axis=0) - (methods + 1) / 2
    statistic = scale * blocks * float(deviations @ deviations)
    exact = _exact_friedman(ranks)
    if exact is not None:
        return Friedman(statistic, exact, blocks, methods, True)
    from scipy.special import chdtrc

    return Friedman(statistic, float(chdtrc(methods - 1, statistic)), blocks, methods, False)


def critical_difference(methods: int, blocks: int, alpha: float = 0.05) -> float:
    """The difference of two mean ranks that is significant in Nemenyi's test (Demšar 2006).

    Parameters
    ----------
    methods, blocks
        Number of methods, and of datasets or seeds that they are ranked on.
    alpha
        Level of the test.

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
    >>> round(stats.critical_difference(4, 14, alpha=0.05), 2)
    1.25
    """
    require_alpha(alpha)
    whole_number("methods", methods, 2)
    whole_number("blocks", blocks, 1)
    return studentized_range(methods, alpha) * math.sqrt(methods * (methods + 1) / (12 * blocks))


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


def _matrix(scores: ArrayLike) -> Floats:
    scores = as_numeric(scores, "scores").astype(float)
    if scores.ndim != 2 or scores.shape[0] < 1 or scores.shape[1] < 2:
        raise InputError(
            f"expected a matrix with one row per seed or dataset and at least two methods, found {scores.shape}",
            where="scores",
        )
    refuse_nan(scores, "scores", fix="Drop or impute those rows first.")
    return scores


def _ranks(scores: Floats) -> Floats:
    """1 for the highest score of a row, ties shared."""
    above = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2)
    return np.asarray(1 + above + (equal - 1) / 2)


def _exact_friedman(ranks: Floats) -> float | None:
    """P(rank sums at least as unequal) when each row's ranks come in random order, or None if too many to count.

    Rank sums are built up row by row as counts of distinct sums; those of all columns but the last determine the rest.
    """
    methods = ranks.shape[1]
    if methods > 5:
        return None
    doubled = np.rint(2 * ranks).astype(np.int64)
    base = int(doubled.sum()) + 1
    weights = base ** np.arange(methods - 1)
    if base ** (methods - 1) > 2**62:
        return None
    states: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    probability: Floats = np.ones(1)
    for row in doubled:
        orders = np.array(list(itertools.permutations(row)))[:, :-1] @ weights
        if len(states) * len(orders) > _MAX_STATES:
            return None
        sums = (states[:, None] + orders).ravel()
        spread = np.repeat(probability / len(orders), len(orders))
        states, inverse = np.unique(sums, return_inverse=True)
        probability = np.bincount(inverse, spread).astype(float, copy=False)
    columns = states[:, None] // weights % base
    columns = np.column_stack((columns, doubled.sum() - columns.sum(axis=1)))
    spreads = np.sum(np.square(columns), axis=1)
    observed = int(np.sum(np.square(doubled.sum(axis=0))))
    return min(1.0, float(probability[spreads >= observed].sum()))
