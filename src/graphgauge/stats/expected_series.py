"""What the interval of a value over time is expected to cover, simulated from the time blocks of the run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.stats.expected import POPULATIONS, SAMPLES, Bounds, Numbers, Reach, reported
from graphgauge.stats.intervals import FARTHER

# The longest memory that is simulated, and the steps before a series begins.
_LONGEST, _BURN_IN = 0.98, 50


def expected_serial_coverage(
    value: float,
    influence: Numbers,
    interval: Callable[[Floats, Floats], Bounds],
    confidence: float,
    memory_of: Numbers | None = None,
) -> float | None:
    """What an interval of a value over time covers if it falls short of its level, else None.

    `influence` is the deviation that each time block adds, in their order. Series are drawn as autoregressions of
    order one about populations of the observed innovations. `interval` takes values and the influences of their blocks
    (series, block). The memory is that of `influence` or of `memory_of`, whichever is longer.
    """
    size = len(influence)
    deviations = np.asarray(influence, dtype=np.float64) * size
    if size < 3 or not np.isfinite(deviations).all() or not np.ptp(deviations) > 0:
        return None
    centred = deviations - deviations.mean()
    memory = max(_memory(centred), 0.0 if memory_of is None else _memory(np.asarray(memory_of, dtype=np.float64)))
    news = centred[1:] - memory * centred[:-1]
    news = news - news.mean()
    reach = Reach(FARTHER * float(news.min()), FARTHER * float(news.max()), 0.0)
    further, amount = reach.unseen(news)
    values, weights = np.append(news, further), np.append(np.ones(size - 1), amount)

    def hold(rng: np.random.Generator) -> Floats:
        held = np.empty((POPULATIONS, SAMPLES))
        for population in held:
            share = rng.standard_gamma(weights)
            share /= share.sum()
            error = (1 - memory**2) ** 0.5 / size**0.5
            own = float(np.clip(memory + error * rng.standard_normal(), 0.0, _LONGEST)) if memory else 0.0
            drawn = rng.choice(values, (SAMPLES, size + _BURN_IN), p=share)
            series = _autoregression(drawn, own)[:, _BURN_IN:]
            truth = value + float(share @ values) / (1 - own)
            mean = series.mean(axis=1)
            low, high = interval(value + mean, (series - mean[:, np.newaxis]) / size)
            slack = 1e-9 * (abs(value) + float(np.ptp(deviations)))
            population[:] = np.where(np.isnan(low), np.nan, (low <= truth + slack) & (truth - slack <= high))
        return held

    return reported(hold, confidence)


def _memory(series: Floats) -> float:
    """The autocorrelation of neighbours, 0 if it is within its error; estimates are too small (Kendall 1954)."""
    centred = series - series.mean()
    square = float(centred @ centred)
    raw = float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0
    found = min(raw + (1 + 3 * raw) / len(series), _LONGEST)
    return 0.0 if found * len(series) ** 0.5 < 1 else found


def _autoregression(news: Floats, memory: float) -> Floats:
    if not memory:
        return news
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -memory], news, axis=1))
