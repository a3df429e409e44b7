"""Interquartile mean and probability of improvement over the seeds of every dataset (Agarwal et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.options import generator_of
from graphgauge.stats.intervals import Bounds, percentile_interval

# Scores of each dataset, methods × seeds; in a block of resamples, resamples × methods × seeds.
Strata = Sequence[Floats]
_NO_NAN = "Leave failed runs out and report it, or score them at the metric's worst value."


def interquartile_mean(scores: ArrayLike) -> Floats:
    """Mean along the last axis without the lowest and the highest quarter, each rounded down.

    >>> float(interquartile_mean([0, 1, 2, 3, 100]))
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

    >>> float(probability_of_improvement([1, 2, 3], [0, 2, 2]))
    0.6666666666666666
    >>> float(probability_of_improvement([1, 2, 3], [0, 2, 2], seeds=[0, 1, 2]))
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


def stratified_interval(
    statistic: Callable[[Strata], Floats],
    strata: Strata,
    *,
    confidence: float,
    seed: int | np.random.Generator,
    resamples: int = 2000,
) -> Bounds:
    """Bootstrap interval of statistics of several datasets, drawing seeds within each of them.

    A seed is drawn for all methods at once, because methods with the same seed may share a split. `statistic` gives
    one row of numbers per resample, NaN if a resample has none. NaN if every dataset has only one seed.
    """
    generator = generator_of(seed)
    cells = sum(stratum.size for stratum in strata) * max(stratum.shape[-1] for stratum in strata)
    rows = max(1, (1 << 20) // cells)
    drawn = []
    for done in range(0, resamples, rows):
        block = []
        for stratum in strata:
            seeds = stratum.shape[1]
            picked = generator.integers(0, seeds, (min(rows, resamples - done), seeds))
            block.append(np.moveaxis(stratum[:, picked], 0, 1))
        drawn.append(statistic(block))
    columns = np.concatenate(drawn).T
    items = sum(stratum.shape[1] for stratum in strata)
    bounds = np.array(
        [percentile_interval(column[~np.isnan(column)], items, len(strata), confidence) for column in columns]
    )
    return bounds[:, 0], bounds[:, 1]


def _scores(values: ArrayLike, name: str) -> Floats:
    scores = as_numeric(values, name).astype(float, copy=False)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise InputError(f"expected at least one score, found shape {scores.shape}", where=name)
    return scores
