"""What an interval is expected to cover at the design of a run: its own units, sizes and values, simulated.

Populations that could have given the sample are drawn around it (a Bayesian bootstrap of its units), each with a little
of what the sample does not show: values farther out, and at the ends of the range. From each population samples of the
same design are drawn and their intervals computed. The expectation is how often these contain their population's value,
less one standard deviation over populations, because the run's own population is only one of them. The result
depends on the sample alone: the draws have a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.stats.intervals import FARTHER, UNSEEN

# Coverage within this of the level is the level: simulations of good intervals differ as much.
TOLERANCE = 0.02
_SEED = 7919
POPULATIONS, SAMPLES = 40, 20
# Of an item at each end, if single items hardly ever reach it.
_RARELY_AT_END = 0.02
# Cells of a histogram, and items of a clustered sample, that are enough to simulate it.
_CELLS, _EXTREME, _ITEMS, _CLUSTERS = 120, 20, 1000, 500

Numbers = NDArray[np.floating[Any]]
Bounds = tuple[Numbers, Numbers]
# Intervals of many samples at once: (values, influence and count of each cell, its sample, samples, its cluster).
Intervals = Callable[[Floats, Floats, Floats, Ints, int, Ints | None], Bounds]


class Reach(NamedTuple):
    """How far below and above an estimate its ends are, and how much of an item may be unseen at either."""

    down: float
    up: float
    at_ends: float

    def unseen(self, influence: Floats) -> tuple[Floats, Floats]:
        """Deviations that were not seen, and how many items of each."""
        near = max(FARTHER * influence.min(), self.down), min(FARTHER * influence.max(), self.up)
        amount = max(self.at_ends, _RARELY_AT_END)
        return np.array([*near, self.down, self.up]), np.array([UNSEEN, UNSEEN, amount, amount])


def expected_coverage(
    value: float,
    influence: Numbers,
    count: NDArray[np.number],
    cluster: NDArray[np.integer] | None,
    reach: Reach,
    intervals: Intervals,
    confidence: float,
) -> float | None:
    """The expected coverage of an interval if it falls short of its level, else None.

    `influence` is the deviation that each item of a cell adds to the value, as in `standard_error`; `reach` says how
    far an item can be out. None also for weighted items, whose design is not known.
    """
    there = count > 0
    influence, count = np.broadcast_to(influence, count.shape)[there].astype(float), count[there]
    if count.dtype.kind == "f" or not np.isfinite(influence).all() or not np.isfinite(reach[:2]).all():
        return None
    deviations, label = np.asarray(influence, dtype=np.float64), None if cluster is None else cluster[there]

    def hold(seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        if label is None:
            drawn = _items(rng, deviations, count, reach)
        else:
            drawn = _clusters(rng, deviations, count, label, reach)
        truth, deviation, cells, sample, own = drawn
        samples = len(truth)
        mean = np.bincount(sample, cells * deviation, samples) / np.bincount(sample, cells, samples)
        low, high = intervals(value + mean, deviation - mean[sample], cells, sample, samples, own)
        slack = 1e-9 * (abs(value) + float(np.ptp(deviations)))
        inside = (low <= value + truth + slack) & (value + truth - slack <= high)
        return np.where(np.isnan(low), np.nan, inside).reshape(POPULATIONS, -1)

    return reported(hold, confidence)


def reported(hold: Callable[[int], Floats], confidence: float, caution: float = 1.0) -> float | None:
    """The expectation if it falls short; a small shortfall is simulated again, because draws vary as much.

    `hold` says for a seed whether each interval of each population contains its value, NaN for no interval.
    """
    held = hold(_SEED)
    found = _expected(held, caution)
    if found is not None and confidence - 0.06 < found < confidence - TOLERANCE:
        again = [hold(_SEED + more) for more in (1, 2, 3)]
        found = _expected(np.concatenate([held, *again]), caution)
    if found is None or round(found, 2) > confidence - TOLERANCE - 1e-9:
        return None
    return round(found, 2)


def _expected(held: Floats, caution: float) -> float | None:
    """The mean over populations less so many of their standard deviations, without that of the draws."""
    enough = held[(~np.isnan(held)).sum(axis=1) >= 2]
    if len(enough) < 2:
        return None
    shares, sizes = np.nanmean(enough, axis=1), (~np.isnan(enough)).sum(axis=1)
    mean = float(shares.mean())
    # What draws from one population would vary by, and by how much that is uncertain.
    noise = mean * (1 - mean) * float(np.mean(1 / sizes)) * (1 + (2 / (len(shares) - 1)) ** 0.5)
    between = max(0.0, float(shares.var(ddof=1)) - noise)
    return max(0.0, mean - caution * float(between**0.5))


def expected_macro_coverage(
    values: Numbers,
    influence: Numbers,
    count: NDArray[np.number],
    group: NDArray[np.integer],
    reach: Reach,
    interval: Callable[[Floats, Floats, Ints], Bounds],
    confidence: float,
) -> float | None:
    """The same for the mean over groups, whose items alone are drawn; see `intervals.macro_spread`.

    An item deviates like one of its own group, or, the more often the fewer its group has, like one of any group.
    `interval` takes the values of the groups, the influence of each item and its group.
    """
    if count.dtype.kind == "f" or not np.isfinite(influence).all():
        return None
    groups = len(values)
    order = np.argsort(group, kind="stable")
    items = np.repeat(np.broadcast_to(influence, count.shape)[order].astype(np.float64), count[order].astype(np.int64))
    size = np.bincount(group, count, groups).astype(np.int64)
    start = np.cumsum(size) - size
    if (size < 2).all():  # no deviations within groups: the groups are treated as drawn
        items, values = values - values.mean(), np.full(groups, values.mean())
        own = np.zeros(groups)
        pool = items
    else:
        own = (size - 1) / (size + 3)
        pool = items * np.repeat(np.sqrt(size / np.maximum(size - 1, 1)), size)
        pool = pool[np.repeat(size > 1, size)]
    slots = np.maximum(np.minimum(size, 2), np.round(size * min(1.0, _ITEMS / len(items)))).astype(np.int64)
    label = np.repeat(np.arange(groups), slots)
    further, amount = reach.unseen(items)

    def hold(seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        held = np.full((POPULATIONS, 2 * SAMPLES // 5), np.nan)
        for population in held:
            like, weight = (rng.standard_exponential(len(part)) for part in (items, pool))
            inner = np.add.reduceat(like * items, start) / np.add.reduceat(like, start)
            rare = rng.standard_gamma(amount) / len(items)
            chance = np.append(weight / weight.sum() * max(1 - rare.sum(), 0.5), rare)
            deviations = np.append(pool, further)
            truth = float(np.mean(values + own * inner + (1 - own) * (chance @ deviations / chance.sum())))
            inside, total = np.cumsum(chance) / chance.sum(), np.cumsum(like)
            before = total[start] - like[start]
            for i in range(len(population)):
                at = before[label] + rng.random(len(label)) * (total[start + size - 1] - before)[label]
                drawn = items[np.minimum(np.searchsorted(total, at), (start + size - 1)[label])]
                strays = rng.random(len(label)) >= own[label]
                place = np.minimum(np.searchsorted(inside, rng.random(int(strays.sum()))), len(deviations) - 1)
                drawn[strays] = deviations[place]
                mean = np.bincount(label, drawn) / slots
                low, high = interval(values + mean, drawn - mean[label], label)
                if not np.isnan(low[0]):
                    population[i] = low[0] <= truth + 1e-12 and truth - 1e-12 <= high[0]
        return held

    return reported(hold, confidence)


Drawn = tuple[Floats, Floats, Floats, Ints, Ints | None]


def _items(rng: np.random.Generator, influence: Floats, count: NDArray[np.number], reach: Reach) -> Drawn:
    """Samples of independent items: multinomial counts of the cells."""
    influence, count = _merged(influence, count.astype(float))
    further, amount = reach.unseen(influence)
    deviation, weight = np.append(influence, further), np.append(count, amount)
    share = rng.standard_gamma(weight, (POPULATIONS, len(weight)))
    share /= share.sum(axis=1, keepdims=True)
    counts = rng.multinomial(round(float(count.sum())), np.repeat(share, SAMPLES, axis=0))
    sample, cell = np.nonzero(counts)
    return np.repeat(share @ deviation, SAMPLES), deviation[cell], counts[sample, cell].astype(float), sample, None


def _merged(influence: Floats, count: Floats) -> tuple[Floats, Floats]:
    """At most so many cells: the extreme ones as they are, the others joined with their neighbours."""
    influence, place = np.unique(influence, return_inverse=True)
    count = np.bincount(place, count).astype(float)
    if len(influence) <= _CELLS:
        return influence, count
    inner = count[_EXTREME:-_EXTREME]
    bins = _CELLS - 2 * _EXTREME
    middle = np.minimum((np.cumsum(inner) - inner / 2) / inner.sum() * bins, bins - 1).astype(np.int64)
    label = np.concatenate([np.arange(_EXTREME), _EXTREME + middle, _EXTREME + bins + np.arange(_EXTREME)])
    total = np.bincount(label, count).astype(float)
    mean = np.bincount(label, count * influence) / np.maximum(total, 1)
    return mean[total > 0], total[total > 0]


def _clusters(
    rng: np.random.Generator,
    influence: Floats,
    count: NDArray[np.number],
    cluster: NDArray[np.integer],
    reach: Reach,
) -> Drawn:
    """Samples with as many clusters of the same sizes.

    Each takes after one of the clusters seen: an item comes from that one, or from any, so often that cluster means
    vary as much as the true ones do. A mean over few items varies more than the truth, so it is followed less.
    """
    order = np.argsort(cluster, kind="stable")
    items = np.repeat(influence[order], count[order].astype(np.int64))
    size = np.bincount(np.unique(cluster, return_inverse=True)[1], count).astype(np.int64)
    slots = _thinned(size)
    mean = np.add.reduceat(items, np.cumsum(size) - size) / size
    follow, common = _reliability(items, size, mean)
    further, amount = reach.unseen(items)
    # As far as items of a cluster are alike, a whole cluster may be one that was not seen.
    shape = np.append(np.ones(len(size)), amount * common)
    items, size = np.append(items, further), np.append(size, np.ones(len(further), np.int64))
    mean, follow = np.append(mean, further), np.append(follow, np.ones(len(further)))
    start = np.cumsum(size) - size
    samples = POPULATIONS * SAMPLES // 2
    each = samples // POPULATIONS
    like = rng.standard_gamma(shape, (POPULATIONS, len(size)))
    like /= like.sum(axis=1, keepdims=True)
    rare = rng.standard_gamma(amount, (POPULATIONS, len(amount))) / len(items)
    seldom = np.minimum(rare.sum(axis=1), 0.5)
    any_mean = (1 - seldom) * (like @ mean) + rare @ further
    truth = (like * follow) @ mean + any_mean * (like @ (1 - follow))

    donor = np.concatenate([rng.choice(len(size), (each, len(slots)), p=p) for p in like])
    model = np.repeat(donor, slots, axis=1)
    strays = rng.random(model.shape) >= follow[model]
    parts = zip(np.split(strays, POPULATIONS), like, strict=True)
    fresh = np.concatenate([rng.choice(len(size), int(part.sum()), p=p) for part, p in parts])
    model[strays] = fresh
    drawn = items[start[model] + (rng.random(model.shape) * size[model]).astype(np.int64)]
    population = np.repeat(np.arange(POPULATIONS), each)
    unseen = strays & (rng.random(model.shape) < seldom[population][:, None])
    row = np.nonzero(unseen)[0]
    chance = np.cumsum(rare, axis=1) / rare.sum(axis=1, keepdims=True)
    drawn[unseen] = further[(rng.random(len(row))[:, None] > chance[population[row]]).sum(axis=1).clip(max=3)]
    sample = np.repeat(np.arange(samples), int(slots.sum()))
    label = np.tile(np.repeat(np.arange(len(slots)), slots), samples)
    return np.repeat(truth, each), drawn.ravel(), np.ones(drawn.size), sample, label


def _reliability(items: Floats, size: Ints, mean: Floats) -> tuple[Floats, float]:
    """How closely to follow each cluster, and the share of the variance that is between clusters."""
    n, clusters = len(items), len(size)
    within = float(np.sum((items - np.repeat(mean, size)) ** 2)) / max(n - clusters, 1)
    centre = float(items.mean())
    between = float(np.sum(size * (mean - centre) ** 2)) / max(clusters - 1, 1)
    typical = (n - float(np.sum(size.astype(float) ** 2)) / n) / max(clusters - 1, 1)
    common = max(between - within, 0.0) / typical if typical > 0 else 0.0
    noise = common + within / size
    follow = np.sqrt(np.divide(common, noise, out=np.ones(clusters), where=noise > 0))
    return follow, common / (common + within) if common > 0 else 0.0


def _thinned(size: Ints) -> Ints:
    """The cluster sizes of a sample, or of one with the same shares that is small enough to simulate."""
    if len(size) > _CLUSTERS:
        size = np.sort(size)[np.linspace(0, len(size) - 1, _CLUSTERS).round().astype(np.int64)]
    return np.maximum(1, np.round(size * min(1.0, _ITEMS / float(size.sum())))).astype(np.int64)
