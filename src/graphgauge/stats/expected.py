"""What an interval is expected to cover at the design of a run: its own units, sizes and values, simulated.

Populations that could have given the sample are drawn around it (a Bayesian bootstrap of its units), each with a little
of what the sample does not show: values farther out, and at the ends of the range. From each population samples of the
same design are drawn and their intervals computed. The expectation is how often these contain their population's value,
less two standard deviations over populations, because the run's own population is only one of them, and it may be one
whose tail the sample does not show. The result depends on the sample alone: the draws have a fixed seed.

Most samples need no simulation. If no unit, seen or unseen, has much of the variance, the interval keeps its level by
Edgeworth's expansion (`_is_plain`). The others are simulated in steps, until it is clear whether coverage falls short.
Metrics whose values are the same up to scale and sign, such as the mean rank and its index, share one simulation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.stats.intervals import FARTHER, UNSEEN, Clusters, Spread, macro_spread, score_interval, spread, tail

# Coverage within this of the level is the level: simulations of good intervals differ as much.
TOLERANCE = 0.02
SEED = 7919
# Populations and samples of each in one step, and the steps: a small shortfall needs more of them.
POPULATIONS, SAMPLES = 20, 20
_STEPS = 1, 2, 5
# Of an item at each end: if single items hardly ever reach it, and if they do, times what the interval allows for.
_RARELY_AT_END, _MORE_AT_END = 0.02, 2.0
# How many standard deviations over populations the expectation is below their mean.
_DEVIATIONS = 2.0
# Cells of a histogram, and items of a clustered sample, that are enough to simulate it.
_CELLS, _EXTREME, _ITEMS, _CLUSTERS = 80, 16, 1000, 500
# The largest skewness² and kurtosis of a mean (0 and 3 / n for normal items) that cost about .005 of coverage, and the
# fewest degrees of freedom by sizes.
_SKEWED, _PEAKED, MANY_DF = 0.02, 0.06, 40.0

Numbers = NDArray[np.floating[Any]]
Bounds = tuple[Numbers, Numbers]
Hold = Callable[[np.random.Generator], Floats]


class Reach(NamedTuple):
    """How far below and above an estimate its ends are, and how much of an item may be unseen at either."""

    down: float
    up: float
    at_ends: float = 0.0

    def unseen(self, influence: Numbers) -> tuple[Floats, Floats]:
        """Deviations that were not seen, and how many items of each: ever fewer, the farther out."""
        places: list[float] = []
        amounts: list[float] = []
        for farthest, end in ((float(influence.min()), self.down), (float(influence.max()), self.up)):
            place, amount = FARTHER * farthest, UNSEEN
            while 0 < abs(place) < abs(end) and amount > _RARELY_AT_END:
                places, amounts = [*places, place], [*amounts, amount]
                place, amount = FARTHER * place, amount / 2
            if np.isfinite(end):
                seen = amount if 0 < abs(end) <= abs(place) else 0.0
                places, amounts = [*places, end], [*amounts, seen + max(_MORE_AT_END * self.at_ends, _RARELY_AT_END)]
        return np.array(places), np.array(amounts)


class Drawn(NamedTuple):
    """Many samples: the truth and the value of each, as deviations from the run's value, and what its items show."""

    truth: Floats
    value: Floats
    spread: Spread
    kurtosis: Floats


def expected_score_coverage(
    influence: Numbers,
    count: NDArray[np.number],
    cluster: NDArray[np.integer] | None,
    reach: Reach,
    confidence: float,
    items: NDArray[np.integer] | None = None,
) -> float | None:
    """The expected coverage of a `score_interval` if it falls short of its level, else None.

    `influence` is the deviation that each item of a cell adds to the value, as in `standard_error`; `reach` says how
    far an item can be out. If counts are weights, `items` are the numbers.
    """
    there = count > 0
    deviation = np.broadcast_to(influence, count.shape)[there].astype(np.float64)
    if not np.isfinite(deviation).all() or not np.isfinite(reach).all():
        return None
    size = count[there].astype(np.float64)
    if size.sum() <= 0:
        return None
    if count.dtype.kind == "f":
        size /= size.mean()
    # Intervals do not depend on the scale and the direction of the values.
    scale = float(np.sqrt(np.average(deviation**2, weights=size))) or max(-reach.down, reach.up)
    if not scale > 0:
        return None
    scale = -scale if float(size @ deviation**3) < 0 else scale
    low, high = sorted((reach.down / scale, reach.up / scale))
    reach = Reach(round(low, 9), round(high, 9), reach.at_ends)
    deviation = np.round(deviation / scale, 9)
    label = None if cluster is None else np.unique(cluster[there], return_inverse=True)[1]
    if label is None:
        deviation, size = _merged(deviation, size)
    if _is_plain(deviation, size, label, reach):
        return None

    def draw(rng: np.random.Generator) -> Drawn:
        if label is None:
            return _items(rng, deviation, size, reach)
        if count.dtype.kind == "f":
            return _whole_clusters(
                rng, deviation, size, np.ones(len(size)) if items is None else items[there], label, reach
            )
        return _clusters(rng, deviation, size.astype(np.int64), label, reach)

    def bounds(drawn: Drawn) -> Bounds:
        return score_interval(drawn.value, drawn.spread, reach[:2], confidence, at_ends=reach.at_ends)

    key = digest("score", deviation, size, label, np.array(reach), np.array(confidence), count.dtype.kind)
    return remembered(key, lambda: reported(_held(draw, bounds), confidence))


def expected_unit_coverage(
    influence: Numbers, reach: Reach, bounds: Callable[[Drawn], Bounds], confidence: float
) -> float | None:
    """The same for an estimate that is a mean over units to first order, with another interval."""
    scale = float(np.sqrt(np.mean(influence**2)))
    if not scale > 0 or not np.isfinite(scale):
        return None
    deviation, size = _merged(np.asarray(influence, dtype=np.float64), np.ones(len(influence)))
    if _is_plain(deviation, size, None, reach):
        return None
    return reported(_held(lambda rng: _items(rng, deviation, size, reach), bounds), confidence)


def expected_two_sample_coverage(
    one: tuple[Numbers, NDArray[np.number], Reach],
    other: tuple[Numbers, NDArray[np.number], Reach],
    bounds: Callable[[Drawn, Drawn], Bounds],
    confidence: float,
) -> float | None:
    """The same for a sum of two means over independent samples, each with the influences and counts of its cells."""
    merged = []
    for influence, count, reach in (one, other):
        there = count > 0
        if not there.any() or not np.isfinite(influence[there]).all():
            return None
        merged.append((*_merged(influence[there].astype(np.float64), count[there].astype(np.float64)), reach))
    variances = [float(size @ deviation**2) / float(size.sum()) ** 2 for deviation, size, _ in merged]
    if not sum(variances) > 0:
        return None
    # A sample with hardly any of the variance does not matter.
    if all(
        _is_plain(deviation, size, None, reach) or variance < 0.01 * sum(variances)
        for (deviation, size, reach), variance in zip(merged, variances, strict=True)
    ):
        return None

    def hold(rng: np.random.Generator) -> Floats:
        drawn = tuple(_items(rng, deviation, size, reach) for deviation, size, reach in merged)
        low, high = bounds(*drawn)
        return _inside(low, high, drawn[0].truth + drawn[1].truth)

    return reported(hold, confidence)


def expected_macro_coverage(
    values: Numbers,
    influence: Numbers,
    count: NDArray[np.number],
    group: NDArray[np.integer],
    cluster: NDArray[np.integer] | None,
    reach: Reach,
    confidence: float,
) -> float | None:
    """The same for the mean over groups, whose items alone are drawn; see `intervals.macro_spread`.

    An item deviates like one of its own group, or, the more often the fewer its group has, like one of any group.
    Clusters are drawn whole, among those with items in the same groups. None for weighted items, and if clusters do
    not repeat in a group: their variation is not known.
    """
    if count.dtype.kind == "f" or not np.isfinite(influence).all() or not np.isfinite(reach).all():
        return None
    deviation = np.broadcast_to(influence, count.shape).astype(np.float64)
    size = np.bincount(group, count, len(values)).astype(np.int64)
    if _is_plain_macro(deviation, count, group, cluster, size, reach):
        return None
    by_group: Floats = np.asarray(values, dtype=np.float64)
    centre = float(by_group.mean())
    if cluster is None:
        draw = _macro_items(by_group, deviation, count, group, size, reach)
    else:
        found = _macro_clusters(by_group, deviation, count, group, cluster)
        if found is None:
            return None
        draw = found

    def bounds(drawn: Drawn) -> Bounds:
        ends = centre + reach.down, centre + reach.up
        return score_interval(drawn.value, drawn.spread, ends, confidence, at_ends=reach.at_ends)

    parts = (by_group, deviation, count, group, cluster, np.array(reach), np.array(confidence))
    return remembered(digest("macro", *parts), lambda: reported(_held(draw, bounds), confidence))


def expected_threshold_coverage(
    ahead: Ints, negatives: int, places: tuple[int, int, int], bounds: Callable[..., Bounds], confidence: float
) -> float | None:
    """The same for the share of positives above the k-th best of so many negatives, both of them drawn.

    `ahead` is the number of negatives at or above each positive, and `places` are k and the negatives before and after
    it that bound the threshold's error: `bounds` takes the number of positives above each of the three. Scores matter
    by their order alone, so negatives are uniform on the unit interval and positives have the shares seen between them.
    """
    first, k, last = places
    n, most = len(ahead), min(negatives, 2 * last + 10)
    share_of = np.bincount(np.minimum(ahead, most), minlength=most + 1) + UNSEEN / (most + 1)
    lengths = np.array([first, k - first, min(last, negatives + 1) - k, max(negatives + 1 - last, 0)], dtype=float)

    def hold(rng: np.random.Generator) -> Floats:
        chance = rng.standard_gamma(share_of, (POPULATIONS, most + 1))
        chance /= chance.sum(axis=1, keepdims=True)
        steps = np.concatenate([np.zeros((POPULATIONS, 1)), np.cumsum(chance, axis=1)], axis=1)
        knots = np.append(np.arange(most + 1), negatives + 1) / (negatives + 1)
        truth = np.array([np.interp(k / negatives, knots, row) for row in steps])
        gaps = rng.standard_gamma(lengths, (POPULATIONS * SAMPLES, 4))
        thresholds = (np.cumsum(gaps, axis=1) / gaps.sum(axis=1, keepdims=True))[:, :3]
        above = np.concatenate(
            [np.interp(part, knots, row) for part, row in zip(np.split(thresholds, POPULATIONS), steps, strict=True)]
        )
        within = np.clip(np.diff(above, axis=1, prepend=0.0, append=1.0), 0.0, None)
        hits = np.cumsum(rng.multinomial(n, within / within.sum(axis=1, keepdims=True)), axis=1)[:, :3]
        low, high = bounds(*hits.T)
        return _inside(low, high, np.repeat(truth, SAMPLES))

    return reported(hold, confidence)


def expected_wilson_coverage(successes: int, n: int, confidence: float) -> float | None:
    """The same for Wilson's interval of a share. Nothing is drawn: it covers p if |K − np| ≤ z·√(np(1 − p)).

    A share has no tail that the sample does not show, so one standard deviation is enough.
    """
    from scipy.special import bdtr, betaincinv, ndtri

    z = -float(ndtri(tail(confidence)))
    at = (np.arange(200) + 0.5) / 200
    p = betaincinv(successes + UNSEEN, n - successes + UNSEEN, at)
    margin = z * np.sqrt(n * p * (1 - p)) + 1e-9
    most, fewest = np.minimum(np.floor(n * p + margin), n), np.ceil(n * p - margin)
    held = bdtr(most, n, p) - np.where(fewest > 0, bdtr(np.maximum(fewest - 1, 0), n, p), 0.0)
    return shortfall(float(held.mean() - held.std()), confidence)


def expected_median_coverage(
    count: NDArray[np.number], cluster: NDArray[np.integer] | None, bounds: Callable[..., Bounds], confidence: float
) -> float | None:
    """The same for a median of the items of these cells, in order of their values; clusters are drawn whole.

    Between the cells the distribution is smooth: each one's items are spread over its own stretch. Ties, which only
    make intervals wider, are left out. `bounds` takes (place, count, sample, samples, cluster) of the drawn items.
    """
    whole = count.dtype.kind != "f"
    width = count.astype(float) if whole else np.ones(len(count))
    if width.sum() > 10 * _ITEMS:
        return None
    start = np.cumsum(width) - width
    unit = np.arange(len(count)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    shape = width if cluster is None else np.ones(int(unit.max()) + 1)
    order = np.argsort(unit, kind="stable")
    length = np.bincount(unit)
    first, many = np.cumsum(length) - length, round(float(shape.sum()))
    samples = POPULATIONS * SAMPLES

    def hold(rng: np.random.Generator) -> Floats:
        like = rng.standard_gamma(shape, (POPULATIONS, len(shape)))
        like /= like.sum(axis=1, keepdims=True)
        reached = np.cumsum(like[:, unit] * (1.0 if cluster is None else count), axis=1)
        ends = np.append(start, width.sum())
        truth = [float(np.interp(row[-1] / 2, np.append(0.0, row), ends)) for row in reached]
        donor = np.concatenate([rng.choice(len(shape), SAMPLES * many, p=p) for p in like])
        own, place = _expanded(first, length, donor)
        cell = order[place]
        if whole and cluster is not None:
            own, cell = (np.repeat(part, count[cell].astype(np.int64)) for part in (own, cell))
        # A thousand places for each item.
        at = np.floor(1000 * (start[cell] + rng.random(len(cell)) * width[cell])).astype(np.int64)
        number = np.ones(len(cell), np.int64) if whole else count[cell]
        low, high = bounds(at, number, own // many, samples, None if cluster is None else own % many)
        middle = 1000 * np.repeat(truth, SAMPLES)
        return np.where(np.isnan(low), np.nan, (low <= middle + 1) & (middle - 1 <= high)).reshape(POPULATIONS, -1)

    return reported(hold, confidence)


def _expanded(start: Ints, length: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The places start … start + length of each of the chosen, one after the other, and which of the chosen it is."""
    size = length[chosen]
    own = np.repeat(np.arange(len(chosen)), size)
    return own, np.repeat(start[chosen] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))


def reported(hold: Hold, confidence: float) -> float | None:
    """The expectation if it falls short. Steps are added only as long as it is not clear."""
    held: list[Floats] = []
    found = None
    for step, clear in zip(_STEPS, (0.005, TOLERANCE - 0.01, np.inf), strict=True):
        held += [hold(np.random.default_rng(SEED + number)) for number in range(len(held), step)]
        found = cautious_share(np.concatenate(held))
        if found is None or found >= confidence - clear or (step > 1 and found < confidence - 0.06):
            break
    return None if found is None else shortfall(found, confidence)


def shortfall(found: float, confidence: float) -> float | None:
    """The expectation in two digits, if it falls short of the level."""
    return None if round(found, 2) > confidence - TOLERANCE - 1e-9 else round(max(found, 0.0), 2)


def cautious_share(held: Floats, deviations: float = _DEVIATIONS, doubt: float = 2.0) -> float | None:
    """How often intervals hold, a row per population: the mean less standard deviations over populations.

    What draws from one population would vary by is taken off their variance, with `doubt` times its standard error.
    """
    enough = held[(~np.isnan(held)).sum(axis=1) >= 2]
    if len(enough) < 2:
        return None
    shares, sizes = np.nanmean(enough, axis=1), (~np.isnan(enough)).sum(axis=1)
    mean = float(shares.mean())
    noise = mean * (1 - mean) * float(np.mean(1 / sizes)) * (1 + doubt * (2 / (len(shares) - 1)) ** 0.5)
    between = max(0.0, float(shares.var(ddof=1)) - noise)
    return max(0.0, mean - deviations * float(between**0.5))


def _held(draw: Callable[[np.random.Generator], Drawn], bounds: Callable[[Drawn], Bounds]) -> Hold:
    def hold(rng: np.random.Generator) -> Floats:
        drawn = draw(rng)
        low, high = bounds(drawn)
        return _inside(np.minimum(low, drawn.value), np.maximum(high, drawn.value), drawn.truth)

    return hold


def _inside(low: Numbers, high: Numbers, truth: Floats) -> Floats:
    """Whether each interval contains its truth, a row per population; NaN without an interval."""
    slack = 1e-9 * (1 + np.abs(truth))
    inside = (low <= truth + slack) & (truth - slack <= high)
    return np.where(np.isnan(low), np.nan, inside).reshape(POPULATIONS, -1)


_known: dict[bytes, float | None] = {}


def remembered(key: bytes, simulate: Callable[[], float | None]) -> float | None:
    """What was simulated for this key before, or now."""
    try:
        return _known[key]
    except KeyError:
        found = simulate()
    if len(_known) >= 4096:  # another thread may do so at any moment
        _known.clear()
    _known[key] = found
    return found


def digest(kind: str, *parts: NDArray[Any] | str | None) -> bytes:
    """A key of everything that an expectation depends on."""
    found = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        found.update(b"|" if part is None else part.encode() if isinstance(part, str) else _bytes(part))
    return found.digest()


def _bytes(part: NDArray[Any]) -> bytes:
    return f"{part.shape}{part.dtype}".encode() + np.ascontiguousarray(part).tobytes()


# ---------------------------------------------------------------- samples that need no simulation


def _is_plain(deviation: Floats, size: Floats, cluster: Ints | None, reach: Reach) -> bool:
    """Whether no unit, seen or not, has so much of the variance that coverage could suffer.

    A t-interval loses about a quarter of skewness² (Hall 1988) and, if its variance is uncertain, of kurtosis / 15.
    """
    further, amount = reach.unseen(deviation)
    if cluster is None:
        return _little(deviation, size, further, amount)
    known = Clusters.of(size, cluster)
    if float(known.df[0]) < MANY_DF:
        return False
    summed = np.bincount(cluster, size * deviation).astype(float)
    members = np.bincount(cluster, size)
    alike = _reliability(deviation, size, cluster)[1]
    typical = float(members @ members) / float(members.sum())
    return _little(summed, np.ones(len(summed)), further * (1 + alike * (typical - 1)), amount)


def _little(deviation: Floats, size: Floats, further: Floats, amount: Floats) -> bool:
    second = float(size @ deviation**2 + amount @ further**2)
    third = abs(float(size @ deviation**3)) + float(amount @ np.abs(further) ** 3)
    fourth = float(size @ deviation**4 + amount @ further**4)
    return second > 0 and third**2 <= _SKEWED * second**3 and fourth <= _PEAKED * second**2


def _is_plain_macro(
    deviation: Floats,
    count: NDArray[np.number],
    group: NDArray[np.integer],
    cluster: NDArray[np.integer] | None,
    size: Ints,
    reach: Reach,
) -> bool:
    """The same for a mean over groups; groups of few items borrow their variance, which may be wrong."""
    if int(size.min()) < 10:
        return False
    unit = np.arange(len(group)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    weight = 1 / size[group]
    further, amount = reach.unseen(deviation)
    if cluster is not None:
        units = np.bincount(unit, weight * count)
        if float(Clusters.of(weight * count, unit).df[0]) < MANY_DF:
            return False
        summed = np.bincount(unit, weight * count * deviation).astype(float)
        return _little(summed, np.ones(len(summed)), further * float(units.max()), amount)
    return _little(deviation * weight, count.astype(float), further / float(size.min()), amount)


# ---------------------------------------------------------------- drawing samples


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


def _items(rng: np.random.Generator, deviation: Floats, count: Floats, reach: Reach) -> Drawn:
    """Samples of independent items: counts of the cells. All moments are products of matrices."""
    further, amount = reach.unseen(deviation)
    n = round(float(count.sum()))
    cells, weight = np.append(deviation, further), np.append(count, amount)
    order = np.argsort(cells, kind="stable")
    cells, weight = cells[order], weight[order]
    share = rng.standard_gamma(weight, (POPULATIONS, len(weight)))
    share /= share.sum(axis=1, keepdims=True)
    if n <= len(cells):
        numbers = _numbers(rng, share, n)
    else:
        numbers = rng.multinomial(n, np.repeat(share, SAMPLES, axis=0)).astype(float)
    there = numbers > 0
    first, last = there.argmax(axis=1), len(cells) - 1 - there[:, ::-1].argmax(axis=1)
    alike = first == last
    powers = cells[:, None] ** np.arange(1, 5)
    m1, m2, m3, m4 = (numbers @ powers).T / n
    mean = np.where(alike, cells[first], m1)
    second = np.where(alike, 0.0, np.maximum(m2 - mean**2, 0.0))
    fourth = np.maximum(m4 - 4 * mean * m3 + 6 * mean**2 * m2 - 3 * mean**4, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = np.where(second > 0, fourth / second**2, np.nan)
        error = np.sqrt(second / (n - 1)) if n > 1 else np.full(len(mean), np.nan)
    units = np.full(len(mean), float(n))
    lowest, highest = np.minimum(cells[first] - mean, 0.0), np.maximum(cells[last] - mean, 0.0)
    found = Spread(error, units - 1, units, units, lowest, highest)
    return Drawn(np.repeat(share @ cells, SAMPLES), mean, found, kurtosis)


def _numbers(rng: np.random.Generator, share: Floats, n: int) -> Floats:
    """How often each of the cells is drawn in samples of n items, item by item."""
    populations, cells = share.shape
    reached = np.cumsum(share, axis=1)
    reached[:, -1] = 1.0
    reached += np.arange(populations)[:, None]
    at = rng.random((populations, SAMPLES * n)) + np.arange(populations)[:, None]
    cell = np.searchsorted(reached.ravel(), at.ravel(), side="right") % cells
    sample = np.repeat(np.arange(populations * SAMPLES), n)
    return np.bincount(sample * cells + cell, minlength=populations * SAMPLES * cells).reshape(-1, cells).astype(float)


def _clusters(rng: np.random.Generator, influence: Floats, count: Ints, cluster: Ints, reach: Reach) -> Drawn:
    """Samples with as many clusters of the same sizes.

    Each takes after one of the clusters seen: an item comes from that one, or from any, so often that cluster means
    vary as much as the true ones do. A mean over few items varies more than the truth, so it is followed less.
    """
    order = np.argsort(cluster, kind="stable")
    items = np.repeat(influence[order], count[order])
    size = np.bincount(cluster, count).astype(np.int64)
    slots = _thinned(size)
    mean = np.add.reduceat(items, np.cumsum(size) - size) / size
    follow, common = _reliability(influence, count.astype(float), cluster)
    further, amount = reach.unseen(items)
    # As far as items of a cluster are alike, a whole cluster may be one that was not seen.
    shape = np.append(np.ones(len(size)), amount * common)
    items, size = np.append(items, further), np.append(size, np.ones(len(further), np.int64))
    mean, follow = np.append(mean, further), np.append(follow, np.ones(len(further)))
    start = np.cumsum(size) - size
    each = SAMPLES // 2
    samples = POPULATIONS * each
    like = rng.standard_gamma(shape, (POPULATIONS, len(size)))
    like /= like.sum(axis=1, keepdims=True)
    rare = rng.standard_gamma(amount, (POPULATIONS, len(amount))) / len(items)
    seldom = np.minimum(rare.sum(axis=1), 0.5)
    any_mean = (1 - seldom) * (like @ mean) + rare @ further
    truth = (like * follow) @ mean + any_mean * (like @ (1 - follow))

    donor = np.concatenate([rng.choice(len(size), (each, len(slots)), p=p) for p in like])
    model = np.repeat(donor, slots, axis=1)
    strays = rng.random(model.shape, dtype=np.float32) >= follow[model]
    parts = zip(np.split(strays, POPULATIONS), like, strict=True)
    fresh = np.concatenate([rng.choice(len(size), int(part.sum()), p=p) for part, p in parts])
    model[strays] = fresh
    drawn = items[start[model] + (rng.random(model.shape) * size[model]).astype(np.int64)]
    population = np.repeat(np.arange(POPULATIONS), each)
    unseen = strays & (rng.random(model.shape, dtype=np.float32) < seldom[population][:, None])
    row = np.nonzero(unseen)[0]
    chance = np.cumsum(rare, axis=1) / rare.sum(axis=1, keepdims=True)
    beyond = (rng.random(len(row))[:, None] > chance[population[row]]).sum(axis=1).clip(max=len(further) - 1)
    drawn[unseen] = further[beyond]
    sample = np.repeat(np.arange(samples), int(slots.sum()))
    label = np.tile(np.repeat(np.arange(len(slots)), slots), samples)
    return _flat(np.repeat(truth, each), drawn.ravel(), np.ones(drawn.size), sample, label)


def _whole_clusters(
    rng: np.random.Generator, influence: Floats, weight: Floats, items: NDArray[np.number], cluster: Ints, reach: Reach
) -> Drawn:
    """Samples of clusters with their weights, or of single weighted items."""
    further, amount = reach.unseen(influence)
    order = np.argsort(cluster, kind="stable")
    cells = np.append(influence[order], further)
    mass = np.append(weight[order], np.full(len(further), weight.sum() / items.sum()))
    number = np.append(items[order].astype(float), np.ones(len(further)))
    length = np.append(np.bincount(cluster), np.ones(len(further), np.int64))
    start = np.cumsum(length) - length
    many = len(length) - len(further)
    drawn_units = min(many, _CLUSTERS, max(2, int(_ITEMS * many / len(influence))))
    each = SAMPLES // 2
    like = rng.standard_gamma(np.append(np.ones(many), amount), (POPULATIONS, len(length)))
    like /= like.sum(axis=1, keepdims=True)
    of_cell = np.repeat(like, length, axis=1) * mass
    truth = (of_cell @ cells) / of_cell.sum(axis=1)
    donor = np.concatenate([rng.choice(len(length), (each, drawn_units), p=p) for p in like]).ravel()
    own, cell = _expanded(start, length, donor)
    sample = own // drawn_units
    samples = POPULATIONS * each
    squares = np.bincount(sample, mass[cell] ** 2 / number[cell], samples)
    worth = np.bincount(sample, mass[cell], samples) ** 2 / squares
    return _flat(np.repeat(truth, each), cells[cell], mass[cell], sample, own % drawn_units, worth)


def _flat(
    truth: Floats, deviation: Floats, count: Floats, sample: Ints, cluster: Ints, most: Floats | None = None
) -> Drawn:
    samples = len(truth)
    mean = np.bincount(sample, count * deviation, samples) / np.bincount(sample, count, samples)
    found = spread(deviation - mean[sample], count, group=sample, groups=samples, cluster=cluster, most=most)
    return Drawn(truth, mean, found, np.full(samples, np.nan))


def _reliability(deviation: Floats, count: Floats, cluster: Ints) -> tuple[Floats, float]:
    """How closely to follow each cluster, and the share of the variance that is between clusters."""
    size = np.bincount(cluster, count)
    n, clusters = float(size.sum()), len(size)
    mean = np.bincount(cluster, count * deviation) / size
    within = float(count @ (deviation - mean[cluster]) ** 2) / max(n - clusters, 1)
    between = float(size @ (mean - float(size @ mean) / n) ** 2) / max(clusters - 1, 1)
    typical = (n - float(size @ size) / n) / max(clusters - 1, 1)
    common = max(between - within, 0.0) / typical if typical > 0 else 0.0
    noise = common + within / size
    follow = np.sqrt(np.divide(common, noise, out=np.ones(clusters), where=noise > 0))
    return follow, common / (common + within) if common > 0 else 0.0


def _thinned(size: Ints) -> Ints:
    """The cluster sizes of a sample, or of one with the same shares that is small enough to simulate."""
    if len(size) > _CLUSTERS:
        size = np.sort(size)[np.linspace(0, len(size) - 1, _CLUSTERS).round().astype(np.int64)]
    return np.maximum(1, np.round(size * min(1.0, _ITEMS / float(size.sum())))).astype(np.int64)


def _macro_items(
    values: Floats, deviation: Floats, count: NDArray[np.number], group: NDArray[np.integer], size: Ints, reach: Reach
) -> Callable[[np.random.Generator], Drawn]:
    """Samples of groups of the same sizes."""
    groups = len(values)
    order = np.argsort(group, kind="stable")
    items = np.repeat(deviation[order], count[order].astype(np.int64))
    start, stop = np.cumsum(size) - size, np.cumsum(size) - 1
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
    far = np.append(pool, further)
    each = 2 * SAMPLES // 5

    def draw(rng: np.random.Generator) -> Drawn:
        like = rng.standard_exponential((POPULATIONS, len(items)))
        total = np.cumsum(like, axis=1)
        before = total[:, start] - like[:, start]
        mass = total[:, stop] - before
        inner = np.add.reduceat(like * items, start, axis=1) / mass
        weight = rng.standard_exponential((POPULATIONS, len(pool)))
        rare = rng.standard_gamma(amount, (POPULATIONS, len(amount))) / len(items)
        common = np.maximum(1 - rare.sum(axis=1, keepdims=True), 0.5)
        chance = np.concatenate([weight / weight.sum(axis=1, keepdims=True) * common, rare], axis=1)
        chance /= chance.sum(axis=1, keepdims=True)
        truth = np.mean(values + own * inner + (1 - own) * (chance @ far)[:, None], axis=1)
        # Rows of the cumulated shares one after the other, so that one search serves all populations.
        reached = np.cumsum(chance, axis=1)
        drawn = np.empty((POPULATIONS, each * len(label)))
        wanted = np.tile(label, each)
        for one in range(POPULATIONS):
            at = before[one, wanted] + rng.random(len(wanted)) * mass[one, wanted]
            row = items[np.minimum(np.searchsorted(total[one], at), stop[wanted])]
            strays = rng.random(len(wanted)) >= own[wanted]
            place = np.searchsorted(reached[one], rng.random(int(strays.sum())))
            row[strays] = far[np.minimum(place, len(far) - 1)]
            drawn[one] = row
        samples = POPULATIONS * each
        key = (np.arange(samples)[:, None] * groups + label).ravel()
        flat = drawn.ravel()
        mean = np.bincount(key, flat, samples * groups) / np.tile(slots, samples)
        found = macro_spread(
            flat - mean[key],
            np.ones(len(flat)),
            np.tile(values, samples) + mean,
            group=key,
            groups=groups,
            samples=samples,
        )
        value = (np.tile(values, samples) + mean).reshape(samples, groups).mean(axis=1)
        return Drawn(np.repeat(truth, each), value, found, np.full(samples, np.nan))

    return draw


def _macro_clusters(
    values: Floats,
    deviation: Floats,
    count: NDArray[np.number],
    group: NDArray[np.integer],
    cluster: NDArray[np.integer],
) -> Callable[[np.random.Generator], Drawn] | None:
    """Samples of whole clusters, each drawn among those with items in the same groups."""
    groups = len(values)
    unit = np.unique(cluster, return_inverse=True)[1]
    order = np.lexsort((group, unit))
    unit, group, deviation, count = unit[order], group[order], deviation[order], count[order].astype(float)
    many = int(unit[-1]) + 1
    length = np.bincount(unit, minlength=many)
    start = np.cumsum(length) - length
    patterns: dict[tuple[int, ...], int] = {}
    kind = np.array(
        [
            patterns.setdefault(tuple(np.unique(group[first : first + size]).tolist()), len(patterns))
            for first, size in zip(start.tolist(), length.tolist(), strict=True)
        ]
    )
    if (np.bincount(kind) < 2).any() or len(count) > 20 * _ITEMS:
        return None
    by_kind = np.argsort(kind, kind="stable")
    of_kind = np.bincount(kind)
    first_of_kind = np.cumsum(of_kind) - of_kind
    each = 2 * SAMPLES // 5
    samples = POPULATIONS * each

    def draw(rng: np.random.Generator) -> Drawn:
        like = rng.standard_exponential((POPULATIONS, many))
        cells = like[:, unit] * count
        size = np.array([np.bincount(group, row, groups) for row in cells])
        inner = np.array([np.bincount(group, row * deviation, groups) for row in cells]) / size
        truth = np.mean(values + inner, axis=1)
        reached = np.cumsum(like[:, by_kind], axis=1)
        before = reached[:, first_of_kind] - like[:, by_kind][:, first_of_kind]
        mass = reached[:, first_of_kind + of_kind - 1] - before
        kinds = np.repeat(np.arange(len(of_kind)), of_kind)
        donors = np.empty((POPULATIONS, each, many), np.int64)
        for one in range(POPULATIONS):
            at = before[one, kinds] + rng.random((each, many)) * mass[one, kinds]
            place = np.minimum(np.searchsorted(reached[one], at), (first_of_kind + of_kind - 1)[kinds])
            donors[one] = by_kind[place]
        donor = donors.ravel()
        own, cell = _expanded(start, length, donor)
        key = own // many * groups + group[cell]
        number = count[cell]
        mean = np.bincount(key, number * deviation[cell], samples * groups) / np.bincount(key, number, samples * groups)
        own_value = np.tile(values, samples) + mean
        found = macro_spread(
            deviation[cell] - mean[key],
            number,
            own_value,
            group=key,
            groups=groups,
            cluster=own % many,
            samples=samples,
        )
        value = own_value.reshape(samples, groups).mean(axis=1)
        return Drawn(np.repeat(truth, each), value, found, np.full(samples, np.nan))

    return draw
