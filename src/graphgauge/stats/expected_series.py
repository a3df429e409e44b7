"""What the interval of a value over time is expected to cover, simulated from the time blocks of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.stats.expected import POPULATIONS, SAMPLES, Bounds, Numbers, Reach, digest, remembered, reported
from graphgauge.stats.intervals import FARTHER

# The longest memory that is simulated.
_LONGEST = 0.98
# Means of several values are compared while there are so many, if they resemble each other by so many standard errors.
_FEWEST_MEANS, _RESEMBLE = 16, 2.0
# The longest time over which slow changes are forgotten, as a share of the series, and how much worse than the best an
# autoregression with noise may fit: one standard error.
_SLOWEST, _NEARLY = 0.25, 1.0
# A slower memory counts if the long-run variance is so many times as large.
_MARKED = 2.0


def expected_serial_coverage(
    value: float,
    influence: Numbers,
    interval: Callable[[Floats, Floats], Bounds],
    confidence: float,
    errors: Numbers | None = None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    rule: str = "",
) -> float | None:
    """What an interval of a value over time covers if it falls short of its level, else None.

    `influence` is the deviation that each time block adds, in their order. Populations are drawn around the observed
    deviations, and series from each: normal autoregressions of order one, whose values are replaced by the population's
    quantiles. So a series has no values that the population lacks, and rare values occur together. `interval` takes
    values and the influences of their blocks (series, block). The memory of the autoregression is that of `influence`,
    or that of `errors` if it is longer: a score that few errors enter shows less memory than they have. If means of
    several blocks resemble each other more than that memory says, a slower autoregression with noise is drawn.
    `bounds` are the least and the greatest value of a block. With a `rule`, the name of what `interval` computes from
    its arguments and the confidence alone, the expectation is remembered.
    """
    from scipy.special import ndtr

    size = len(influence)
    deviations = np.asarray(influence, dtype=np.float64) * size
    if size < 3 or not np.isfinite(deviations).all() or not np.ptp(deviations) > 0:
        return None
    centred = deviations - deviations.mean()
    memory = float(memory_of(centred))
    if errors is not None:
        memory = max(memory, float(memory_of(errors)))
    known = [centred] if errors is None else [centred, np.asarray(errors, np.float64)]
    slow = memory, 1.0
    if max(_inflation(slow_memory(series)) for series in known) > _MARKED * _inflation(slow):
        # A short series shows less of slow changes than there is.
        slow = max((slow_memory(series, _NEARLY) for series in known), key=_inflation)
    reach = Reach(
        *(
            _within(float(end), within, value)
            for end, within in zip((centred.min(), centred.max()), bounds, strict=True)
        )
    )
    further, amount = reach.unseen(centred)
    values, weights = np.append(centred, further), np.append(np.ones(size), amount)
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]

    def hold(rng: np.random.Generator) -> Floats:
        series, truth = np.empty((POPULATIONS, SAMPLES, size)), np.empty((POPULATIONS, 1))
        for place in range(POPULATIONS):
            share = rng.standard_gamma(weights)
            share /= share.sum()
            phi, part = slow
            error = (1 - phi**2) ** 0.5 / size**0.5
            own = float(np.clip(phi + error * rng.standard_normal(), 0.0, max(_LONGEST, phi))) if phi else 0.0
            normal = _autoregression(rng, own, size)
            if part < 1:
                normal = part**0.5 * normal + (1 - part) ** 0.5 * rng.standard_normal(normal.shape)
            drawn = np.searchsorted(np.cumsum(share)[:-1], ndtr(normal))
            series[place], truth[place] = values[drawn], value + float(share @ values)
        flat = series.reshape(-1, size)
        mean = flat.mean(axis=1)
        low, high = (end.reshape(POPULATIONS, SAMPLES) for end in interval(value + mean, (flat - mean[:, None]) / size))
        slack = 1e-9 * (abs(value) + float(np.ptp(deviations)))
        return np.where(np.isnan(low), np.nan, (low <= truth + slack) & (truth - slack <= high))

    if not rule:
        return reported(hold, confidence)
    facts = np.array([value, *slow, confidence, *bounds])
    return remembered(digest(f"series {rule}", facts, deviations), lambda: reported(hold, confidence))


def _within(end: float, bound: float, value: float) -> float:
    """Four times as far out as the farthest block, or as far as the bound of the value allows."""
    farther = FARTHER * end
    return max(farther, bound - value) if end < 0 else min(farther, bound - value)


def memory_of(series: Numbers, there: NDArray[np.bool_] | None = None) -> Floats:
    """The autocorrelation of neighbouring rows, for each column; 0 if it is within its error.

    Estimates are too small by about (1 + 3·memory)/rows (Kendall 1954), which is added. Rows that are not `there` are
    left out, as if the rows around them were neighbours.
    """
    values = np.asarray(series, dtype=np.float64)
    rows: Any = max(len(values), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if there is None or there.all():
            centred = values - values.sum(axis=0) / rows
        else:
            order = np.argsort(~there, axis=0, kind="stable")
            values, there = np.take_along_axis(values, order, axis=0), np.take_along_axis(there, order, axis=0)
            rows = np.maximum(there.sum(axis=0), 1)
            centred = np.where(there, values - np.where(there, values, 0.0).sum(axis=0) / rows, 0.0)
        raw = (centred[1:] * centred[:-1]).sum(axis=0) / np.square(centred).sum(axis=0)
        found = np.minimum(raw + (1 + 3 * raw) / rows, _LONGEST)
    return np.where(found * np.sqrt(rows) >= 1, found, 0.0)


def slow_memory(series: Floats, worse: float = 0.0) -> tuple[float, float]:
    """The memory of an autoregression with noise, and its part of the variance, that fit the means of several values.

    The correlations of neighbouring means of 1, 2, 4 … values are compared with those of autoregressions plus noise,
    weighted by the numbers of means. Of those whose squared misfit is at most so much `worse` than that of the best,
    the one with the largest long-run variance is chosen. (0, 1) if means of more than one value do not resemble each
    other significantly.
    """
    size = len(series)
    lengths = [2**power for power in range(20) if size >> power >= _FEWEST_MEANS]
    if len(lengths) < 2 or not np.ptp(series) > 0:
        return 0.0, 1.0
    rows = np.array([size // length for length in lengths])
    found = np.array(
        [
            _next_to(series[: n * length].reshape(n, length).mean(axis=1))
            for n, length in zip(rows, lengths, strict=True)
        ]
    )
    if not (found * np.sqrt(rows))[1:].max() >= _RESEMBLE:
        return 0.0, 1.0
    phi = np.exp(-1 / np.geomspace(1.0, max(_SLOWEST * size, 2.0), 16))[:, np.newaxis, np.newaxis]
    part = np.linspace(0.05, 1.0, 20)[:, np.newaxis]
    long = np.array(lengths, float)
    inner = phi * (1 - phi**long) / (1 - phi)
    variance = (long + 2 * (phi * (long - 1) - phi**2 * (1 - phi ** (long - 1)) / (1 - phi)) / (1 - phi)) / long**2
    expected = part * inner**2 / phi / long**2 / (part * variance + (1 - part) / long)
    misfit = np.square(found - expected) @ rows
    good = misfit <= min(float(misfit.min()), float(np.square(found) @ rows)) + worse
    if not good.any():
        return 0.0, 1.0
    inflation = np.where(good, (part * (1 + phi) / (1 - phi) + 1 - part)[..., 0], -np.inf)
    row, column = np.unravel_index(int(inflation.argmax()), inflation.shape)
    return float(phi[row, 0, 0]), float(part[column, 0])


def _next_to(means: Floats) -> float:
    """The autocorrelation of neighbours, corrected for its bias."""
    centred = means - means.mean()
    square = float(np.square(centred).sum())
    raw = float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0
    return min(raw + (1 + 3 * raw) / len(means), 1.0)


def _inflation(slow: tuple[float, float]) -> float:
    """The long-run variance of an autoregression with noise over its variance."""
    phi, part = slow
    return part * (1 + phi) / (1 - phi) + 1 - part


def _autoregression(rng: np.random.Generator, memory: float, size: int) -> Floats:
    """Standard normal series."""
    from scipy.signal import lfilter

    news = rng.standard_normal((SAMPLES, size))
    if not memory:
        return news
    news[:, 1:] *= (1 - memory**2) ** 0.5
    return np.asarray(lfilter([1.0], [1.0, -memory], news, axis=1))
