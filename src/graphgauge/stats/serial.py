"""Standard errors of estimates over time steps whose errors resemble those of their neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import sorted_unique
from graphgauge.core.types import Floats

# With fewer time steps memory cannot be estimated, and there is no interval.
FEWEST_STEPS = 30
# Uneven steps must be worth so many of one size, (Σ cells)² / Σ cells².
_FEWEST_EVEN = 10
# At most so many cosines; the fewest; and the share of the variance that those of errors with memory must see.
_MOST_COSINES, _FEWEST_COSINES, _SEEN = 8, 4, 0.9
# The longest memory that is estimated, and by how many standard errors it is taken to be longer than estimated.
_LONGEST, _CAUTION = 0.98, 1.5


def memory_of(series: Floats) -> Floats:
    """The correlation of neighbouring rows of each column with 1.5 standard errors added; 0 if it is within its error.

    Estimates are too small by about (1 + 3·memory)/rows (Kendall 1954), which is added, too.
    """
    rows = len(series)
    centred = series - series.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = (centred[1:] * centred[:-1]).sum(axis=0) / np.square(centred).sum(axis=0)
    memory = np.minimum(raw + (1 + 3 * raw) / rows, _LONGEST)
    longer = np.minimum(memory + _CAUTION * np.sqrt(np.maximum(1 - memory**2, 0) / rows), _LONGEST)
    return np.where(memory * np.sqrt(rows) >= 1, longer, 0.0)


def cosine_error(influence: ArrayLike, cells: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of an estimate, from what each time step (row) adds to its error.

    The long-run variance is the mean square of the lowest-frequency cosine transforms of the influences, which are
    nearly independent and normal (Müller 2004; Lazarus et al. 2018): Student's t with as many degrees of freedom as
    cosines. There are .41·steps^(2/3), four to eight, and fewer where errors have memory: so many that those of an
    autoregression with it show .9 of its long-run variance, but at least four; the variance is divided by the share
    that they show.

    `influence` is (steps, …) with one estimate per column; its sum over the steps is the estimate's error. `cells` says
    how many cells each step has, in the same shape. Steps without cells are left out, separately for each column, as
    if the steps around them were neighbours. NaN with fewer than 30 steps, or if few contain nearly all cells.
    """
    values = np.asarray(influence, dtype=np.float64)
    series = values.reshape(len(values), -1)
    amounts = np.ones(series.shape) if cells is None else np.asarray(cells, dtype=np.float64).reshape(series.shape)
    there = amounts > 0
    steps = there.sum(axis=0)
    even = amounts.sum(axis=0) ** 2 >= _FEWEST_EVEN * np.square(amounts).sum(axis=0)
    error, df = np.full(series.shape[1], np.nan), np.zeros(series.shape[1])
    for n in sorted_unique(steps[(steps >= FEWEST_STEPS) & even]):
        columns = np.flatnonzero((steps == n) & even)
        part = series if len(columns) == series.shape[1] else series[:, columns]
        if n < len(series):
            part = part.T[there[:, columns].T].reshape(len(columns), n).T
        error[columns], df[columns] = _long_run_error(part)
    return error.reshape(values.shape[1:]), df.reshape(values.shape[1:])


def _long_run_error(series: Floats) -> tuple[Floats, Floats]:
    """The error of the sum of each column, none of which lacks a row, and the number of cosines."""
    rows = len(series)
    most = min(_MOST_COSINES, max(_FEWEST_COSINES, round(0.41 * rows ** (2 / 3))))
    k = np.arange(1, most + 1)[:, np.newaxis]
    waves = np.cos(np.pi * k * (np.arange(rows) + 0.5) / rows)
    squares = np.cumsum(np.square(waves @ series), axis=0)
    # The spectrum of an autoregression at the frequency of each cosine, relative to that at 0, which it falls from.
    memory = memory_of(series)
    kept = np.square(1 - memory)
    share = np.cumsum(kept / (kept + 2 * memory * (1 - np.cos(np.pi * k / rows))), axis=0) / k
    count = np.maximum((share >= _SEEN).sum(axis=0), _FEWEST_COSINES)
    place = (count - 1)[np.newaxis]
    seen, summed = (np.take_along_axis(each, place, axis=0)[0] for each in (share, squares))
    return np.sqrt(2 * summed / (count * seen)), count.astype(np.float64)
