"""What the interval of a value over time is expected to cover, simulated from the time blocks of the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.stats.expected import Bounds, Numbers, Reach, digest, remembered, reported
from graphgauge.stats.intervals import FARTHER

# The longest memory that is estimated from neighbours.
_LONGEST = 0.98
# How likely a series is beforehand to have no memory, and to be an autoregression without noise; and how many times
# over which it forgets, and parts of the variance, are tried.
_WITHOUT, _PURE, _TIMES, _PARTS = 0.7, 0.2, 16, 20
# Populations differ more than their samples, because each has a memory of its own: many, with few samples of each.
_POPULATIONS, _SAMPLES = 80, 5
# A population is shown by at least so many stretches of time.
_FEWEST_STRETCHES = 4


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
    deviations, and series from each: normal autoregressions with noise, whose values are replaced by the population's
    quantiles. So a series has no values that the population lacks, and rare values occur together. Each population has
    a memory that could have given the series (`likely_memories`): that of `influence`, or that of `errors` if it is
    longer, because a score that few errors enter shows less memory than they have. The longer the memory, the fewer
    independent stretches of time show what the population contains, so whole stretches are drawn, and as much of a
    stretch may be unseen as of a block without memory. `interval` takes values and the influences of their blocks
    (series, block). `bounds` are the least and the greatest value of a block. With a `rule`, the name of what
    `interval` computes from its arguments and the confidence alone, the expectation is remembered.
    """
    from scipy.special import ndtr

    size = len(influence)
    deviations = np.asarray(influence, dtype=np.float64) * size
    if size < 3 or not np.isfinite(deviations).all() or not np.ptp(deviations) > 0:
        return None
    centred = deviations - deviations.mean()
    known = [centred] if errors is None else [centred, np.asarray(errors, np.float64)]
    shown = [likely_memories(series) for series in known if np.isfinite(series).all() and np.ptp(series) > 0]
    likely = max(shown, key=Memories.mean_inflation)
    reach = Reach(
        *(
            _within(float(end), within, value)
            for end, within in zip((centred.min(), centred.max()), bounds, strict=True)
        )
    )
    further, amount = reach.unseen(centred)
    values = np.append(centred, further)
    order = np.argsort(values, kind="stable")
    values = values[order]

    def hold(rng: np.random.Generator) -> Floats:
        series, truth = np.empty((_POPULATIONS, _SAMPLES, size)), np.empty((_POPULATIONS, 1))
        for place, one in enumerate(likely.spread_out(rng, _POPULATIONS)):
            phi, part = float(likely.phi[one]), float(likely.part[one])
            length = max(1, min(round(float(likely.inflation[one])), size // _FEWEST_STRETCHES))
            stretch = (np.arange(size) + int(rng.integers(length))) // length
            seen = rng.standard_exponential(int(stretch[-1]) + 1)[stretch]
            share = np.append(seen, length * rng.standard_gamma(amount))[order]
            share /= share.sum()
            normal = part**0.5 * _autoregression(rng, phi, size)
            if part < 1:
                normal += (1 - part) ** 0.5 * rng.standard_normal(normal.shape)
            drawn = np.searchsorted(np.cumsum(share)[:-1], ndtr(normal))
            series[place], truth[place] = values[drawn], value + float(share @ values)
        flat = series.reshape(-1, size)
        mean = flat.mean(axis=1)
        ends = interval(value + mean, (flat - mean[:, np.newaxis]) / size)
        low, high = (end.reshape(_POPULATIONS, _SAMPLES) for end in ends)
        slack = 1e-9 * (abs(value) + float(np.ptp(deviations)))
        return np.where(np.isnan(low), np.nan, (low <= truth + slack) & (truth - slack <= high))

    if not rule:
        return reported(hold, confidence)
    facts = np.array([value, confidence, *bounds])
    key = digest(f"series {rule}", facts, deviations, likely.chance)
    return remembered(key, lambda: reported(hold, confidence))


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


class Memories(NamedTuple):
    """Autoregressions with noise: how much neighbours resemble each other without it, its `part` of the variance, and
    how likely each is."""

    phi: Floats
    part: Floats
    chance: Floats

    @property
    def inflation(self) -> Floats:
        """The long-run variance over the variance, which is also the length of stretches that are independent."""
        return np.asarray(self.part * (1 + self.phi) / (1 - self.phi) + 1 - self.part)

    def mean_inflation(self) -> float:
        return float(self.chance @ np.log(self.inflation))

    def spread_out(self, rng: np.random.Generator, count: int) -> Ints:
        """The places of so many of them, as often as they are likely, evenly over the order of their inflations."""
        order = np.argsort(self.inflation, kind="stable")
        at = np.searchsorted(np.cumsum(self.chance[order]), (np.arange(count) + rng.random()) / count)
        return np.asarray(order[np.minimum(at, len(order) - 1)])


def likely_memories(series: Numbers) -> Memories:
    """Memories that could have given a series whose values differ.

    Their likelihood is Whittle's, of the cosine transforms of the normal scores of the series. Beforehand, most series
    have no memory, and most others are autoregressions without noise. They forget over any time up to the length of
    the series, evenly by the logarithm of the time, and any part of the variance may be noise.
    """
    from scipy.fft import dct
    from scipy.special import ndtri
    from scipy.stats import rankdata

    phi, part, prior, spectrum, logs = _candidates(len(series))
    squares = np.square(dct(ndtri((rankdata(series) - 0.5) / len(series)), norm="ortho")[1:])
    likelihood = -0.5 * (logs + (len(series) - 1) * np.log(np.mean(squares / spectrum, axis=1)))
    chance = prior * np.exp(likelihood - likelihood.max())
    return Memories(phi, part, chance / chance.sum())


@lru_cache(maxsize=8)
def _candidates(size: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Memories, their parts and prior probabilities, their spectra at the frequencies of cosines, and sums of logs."""
    phi = np.append(0.0, np.repeat(np.exp(-1 / np.geomspace(0.5, max(size, 2.0), _TIMES)), _PARTS))
    part = np.append(1.0, np.tile(np.linspace(1 / _PARTS, 1.0, _PARTS), _TIMES))
    noisy = (1 - _WITHOUT - _PURE) / (_PARTS - 1)
    prior = np.where(phi == 0, _WITHOUT, np.where(part == 1, _PURE, noisy) / _TIMES)
    slow, share = phi[:, np.newaxis], part[:, np.newaxis]
    wave = np.cos(np.pi * np.arange(1, size) / size)
    spectrum = share * (1 - slow**2) / (1 - 2 * slow * wave + slow**2) + 1 - share
    return phi, part, prior, spectrum, np.log(spectrum).sum(axis=1)


def _autoregression(rng: np.random.Generator, memory: float, size: int) -> Floats:
    """Standard normal series."""
    from scipy.signal import lfilter

    news = rng.standard_normal((_SAMPLES, size))
    if not memory:
        return news
    news[:, 1:] *= (1 - memory**2) ** 0.5
    return np.asarray(lfilter([1.0], [1.0, -memory], news, axis=1))
