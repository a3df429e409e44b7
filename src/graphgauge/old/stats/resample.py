"""Interquartile mean and probability of improvement over the seeds of every dataset (Agarwal et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.old.stats.intervals import Bounds, percentile_interval

_MANY_SEEDS = 1000
_FEW_PAIRS = 10
_NO_NAN = "Leave failed runs out and report it, or score them at the metric's worst value."


def interquartile_mean(scores: ArrayLike) -> Floats:
    """Mean along the last axis without the lowest and the highest quarter, each rounded down.

    Parameters
    ----------
    scores
        Numbers (…, n).

    Returns
    -------
    numpy.ndarray
        One mean for each row (…).

    Raises
    ------
    InputError
        If there are no scores.

    Examples
    --------
    >>> from graphgauge import stats
    >>> float(stats.interquartile_mean([0, 1, 2, 3, 100]))
    2.0
    """
    given = _scores(scores, "scores")
    ordered = np.sort(given, axis=-1)
    if np.isnan(ordered[..., -1]).any():  # NaN sorts last
        refuse_nan(given, "scores", fix=_NO_NAN)
    n = ordered.shape[-1]
    cut = math.floor(n / 4)
    return np.asarray(ordered[..., cut : n - cut].mean(axis=-1))


def probability_of_improvement(a: ArrayLike, b: ArrayLike, *, seeds: ArrayLike | None = None) -> Floats:
    """How often a run of a beats a run of b, ties counting half, along the last axis.

    `seeds` has the seed of each run: runs that share a seed are not independent, and are not
    compared with each other. NaN if no pair is left.

    Parameters
    ----------
    a, b
        Scores (…, n) and (…, m).
    seeds
        The seed of each run.

    Returns
    -------
    numpy.ndarray
        In [0, 1]; 0.5 for equal methods.

    Raises
    ------
    InputError
        If there are no scores.

    Examples
    --------
    >>> from graphgauge import stats
    >>> float(stats.probability_of_improvement([1, 2, 3], [0, 2, 2]))
    0.6666666666666666
    >>> float(stats.probability_of_improvement([1, 2, 3], [0, 2, 2], seeds=[0, 1, 2]))
    0.5833333333333334
    """
    first, second = _scores(a, "a"), _scores(b, "b")
    for scores, name in ((first, "a"), (second, "b")):
        refuse_nan(scores, name, fix=_NO_NAN)
    wins = (first[..., :, None] > second[..., None, :]) + 0.5 * (first[..., :, None] == second[..., None, :])
    if seeds is None:
        return np.asarray(wins.mean(axis=(-2, -1)))
    labels = np.asarray(seeds)
    if labels.shape != first.shape or first.shape != second.shape:
        raise InputError(
            f"expected one seed per run of both, found shapes {labels.shape}, {first.shape} and {second.shape}",
            where="seeds",
        )
    apart = labels[..., :, None] != labels[..., None, :]
    compared = apart.sum(axis=(-2, -1))
    won = np.where(apart, wins, 0.0).sum(axis=(-2, -1))
    return np.asarray(np.divide(won, compared, out=np.full(won.shape, np.nan), where=compared > 0))


def stratified_bounds(drawn: Floats, runs: int, datasets: int, confidence: float) -> Bounds:
    """Percentile interval of each column of a bootstrap that draws runs within datasets; NaN draws are left out.

    NaN if every dataset has only one run, or if all draws are equal.
    """
    bounds = [percentile_interval(column[~np.isnan(column)], runs, datasets, confidence) for column in drawn.T]
    low, high = np.array(bounds).reshape(-1, 2).T
    return low, high


# Counts are whole numbers, which four bytes hold exactly.
Counts = NDArray[np.float32]


def drawn_counts(sizes: Sequence[int], resamples: int, generator: np.random.Generator) -> list[Counts]:
    """How often each seed of each dataset is in each resample, resamples × seeds.

    A seed is drawn for all methods at once if they share it, because they may share a split.
    """
    counts = []
    for size in sizes:
        picked = generator.integers(0, size, (resamples, size)) + size * np.arange(resamples)[:, None]
        counts.append(
            np.bincount(picked.ravel(), minlength=size * resamples).reshape(resamples, size).astype(np.float32)
        )
    return counts


def counted_interquartile_means(scores: Floats, counts: Counts) -> Floats:
    """Of scores that are present as often as the counts say, one mean per row of counts.

    The rows have the same total. A score is kept as often as its places in the sorted row are between the quarters.
    """
    order = np.argsort(scores, kind="stable")
    last = np.cumsum(counts[:, order], axis=1)
    total = int(last[0, -1])
    cut = math.floor(total / 4)
    np.clip(last, cut, total - cut, out=last)
    ordered = scores[order]
    # Σ score × (last − previous), without an array of the differences
    sums = (total - cut) * ordered[-1] - last[:, :-1] @ np.diff(ordered) - cut * ordered[0]
    return np.asarray(sums / (total - 2 * cut))


def counted_chances(wins: ArrayLike, counts: Counts) -> Floats:
    """Of each pair, how often a run of the first beats one of the second in each resample; resamples × pairs.

    `wins` has a matrix per pair, seeds × seeds. Runs of one seed are not compared. NaN if a resample has one seed only.
    """
    resamples, seeds = counts.shape
    # Halves of whole numbers are exact in four bytes up to thousands of seeds.
    exact: NDArray[Any] = counts if seeds < _MANY_SEEDS else counts.astype(float)
    matrices = np.asarray(wins, dtype=exact.dtype)
    pairs = len(matrices)
    compared = np.sum(exact, axis=1, keepdims=True, dtype=float) ** 2 - np.sum(exact**2, axis=1, keepdims=True)
    if pairs <= _FEW_PAIRS:
        apart = np.where(np.eye(seeds, dtype=bool), 0, matrices).transpose(1, 0, 2).reshape(seeds, -1)
        won = np.einsum("rps,rs->rp", (exact @ apart).reshape(resamples, pairs, seeds), exact).astype(float)
    else:  # products of counts, once for all pairs
        rows, columns = np.triu_indices(seeds, 1)
        both = matrices[:, rows, columns] + matrices[:, columns, rows]
        won = (exact[:, rows] * exact[:, columns] @ both.T).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(compared > 0, won / compared, np.nan))


def win_matrix(a: Floats, b: Floats) -> Floats:
    """1 where a run of a is higher than one of b, ½ where they are equal, along the last axis."""
    return np.asarray((np.sign(a[..., :, None] - b[..., None, :]) + 1) / 2)


def _scores(values: ArrayLike, name: str) -> Floats:
    scores = as_numeric(values, name).astype(float, copy=False)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise InputError(f"expected at least one score, found shape {scores.shape}", where=name)
    return scores
