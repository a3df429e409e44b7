"""Standard errors of estimates over items, and their degrees of freedom: independent, in clusters, macro, AUC, time.

An estimate is described by its `influence`: what each item adds to its first-order error, x − mean for a mean, the
linearisation for a ratio. Items come as cells with a `count` of equal items each (or a weight), so that a million
queries with few distinct ranks cost as much as their histogram. `group` is the group of each cell, from 0 to
`groups` − 1, and every answer has one entry per group; without it there is one. Items in one `cluster` (a label per
cell) err together. Errors between pairs that share nodes are in `dyads`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import sorted_unique
from graphgauge.core.types import AnyArray, Floats, Ints, Mask

# A group's variance counts as much as this many degrees of freedom of the variance pooled over groups.
_BORROWED = 4.0
# Relative rounding error of sums of many numbers.
_ROUNDING = 1e-12
# Negatives that are placed at once.
_BLOCK = 1 << 17
# With fewer time steps memory cannot be estimated, and there is no interval.
FEWEST_STEPS = 30
# Uneven steps must be worth so many of one size, (Σ cells)² / Σ cells².
_FEWEST_EVEN = 10
# At most so many cosines; the fewest; and the share of the variance that those of errors with memory must see.
_MOST_COSINES, _FEWEST_COSINES, _SEEN = 8, 4, 0.9
# The longest memory that is estimated, and by how many standard errors it is taken to be longer than estimated.
_LONGEST, _CAUTION = 0.98, 1.5


class Spread(NamedTuple):
    """How an estimate per group errs: its standard error, the degrees of freedom of that, and what single items show.

    `units` is the number of units (items, or clusters) of one size that would be worth as much, 1 / Σ(shares²);
    `items` the number of independent items with the same error. `lowest` and `highest` are the largest deviations of
    an item from the estimate, at most 0 and at least 0. The error is NaN with fewer than two units.
    """

    error: Floats
    df: Floats
    units: Floats
    items: Floats
    lowest: Floats
    highest: Floats


class Clusters(NamedTuple):
    """The clusters of all cells, which the errors of many estimates share.

    `key` is the number of each cell's cluster within its group, and `present` says which numbers have items. `owner`
    and `share` are the group of each of these and its share of the group's items. `df` are the degrees of freedom of
    each group, 0 with fewer than two clusters, and `units` is 1 / Σ(shares²).
    """

    key: Ints
    present: Mask
    owner: Ints
    share: Floats
    df: Floats
    units: Floats

    @classmethod
    def from_labels(
        cls, cluster: AnyArray, count: ArrayLike | None = None, *, group: AnyArray | None = None, groups: int = 1
    ) -> Clusters:
        """The clusters that cells with these labels form; `cluster` has a label per cell."""
        labels = np.asarray(cluster)
        counts = np.ones(len(labels)) if count is None else np.asarray(count, dtype=np.float64)
        key, owner = _cluster_keys(group, labels)
        members = _totals(key, counts, len(owner))
        present = members > 0
        owner, total = owner[present], _totals(group, counts, groups)
        share = members[present] / total[owner]
        number = np.bincount(owner, minlength=groups).astype(np.int64)
        df = np.where(number >= 2, _size_df(share, owner, number), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(key, present, owner, share, df, 1 / _totals(owner, share**2, groups))


def is_rounding(spread: ArrayLike, scale: ArrayLike) -> Mask:
    """Whether a spread of numbers of this size is only rounding error."""
    return np.asarray(np.asarray(spread) <= _ROUNDING * np.abs(scale))


def sample_std(scores: ArrayLike) -> float:
    """Standard deviation with ddof 1, 0 if it is only rounding; NaN for a single score, or if one is infinite."""
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    std = float(values.std(ddof=1))
    return 0.0 if is_rounding(std, np.abs(values).max()) else std


# ---- means of items


def standard_error(
    influence: ArrayLike,
    count: ArrayLike | None = None,
    *,
    group: AnyArray | None = None,
    groups: int = 1,
    cluster: AnyArray | Clusters | None = None,
) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of one estimate per group.

    Of n independent items √(Σ influence² / (n (n − 1))), with n − 1 degrees of freedom. Of clusters, their influences
    are summed before they are squared; a large cluster pulls the mean towards itself, so its square is raised by
    1 / (1 − its share of the items): CR2 of Bell and McCaffrey (2002), with degrees of freedom by the clusters' sizes.
    NaN with fewer than two units.
    """
    values, counts = _cells(influence, count)
    sizes = _clusters(cluster, counts, group, groups)
    return _error(values, counts, _totals(group, counts, groups), group, groups, sizes)


def spread(
    influence: ArrayLike,
    count: ArrayLike | None = None,
    *,
    group: AnyArray | None = None,
    groups: int = 1,
    cluster: AnyArray | Clusters | None = None,
    most: ArrayLike | None = None,
) -> Spread:
    """`standard_error` of one estimate per group, with what the score interval needs beside it.

    No estimate is worth more independent items than `most`: their number, if counts are not weights. Clusters that
    many estimates share are numbered once by `Clusters.from_labels`.
    """
    values, counts = _cells(influence, count)
    sizes, total = _clusters(cluster, counts, group, groups), _totals(group, counts, groups)
    error, df = _error(values, counts, total, group, groups, sizes)
    units = total if sizes is None else sizes.units
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = _totals(group, counts * values**2, groups) / total
        items = np.where(error > 0, variance / error**2, units)
    largest = total if most is None else np.asarray(most, dtype=np.float64)
    items = np.clip(items, units, np.maximum(largest, units))
    return Spread(error, df, units, items, *_extremes(group, np.where(counts > 0, values, 0.0), groups))


def macro_spread(
    influence: ArrayLike,
    count: ArrayLike | None,
    value: ArrayLike,
    *,
    group: AnyArray,
    groups: int,
    cluster: AnyArray | None = None,
    most: ArrayLike | None = None,
) -> Spread:
    """The spread of the mean over groups with equal weights; `value` is that of each group.

    The groups are the ones of interest, such as the relations of a graph; only their items are drawn. A group of few
    units tells little about its own variance, and one of a single unit nothing. So each variance is averaged with the
    one pooled over all groups, which counts like four degrees of freedom. Units in several groups (head and tail of a
    triple) err together. If no group has two units, the groups are treated as drawn: their values have the spread.
    """
    values, counts = _cells(influence, count)
    own = spread(values, counts, group=group, groups=groups, cluster=cluster, most=most)
    free = np.where(own.units > 1, own.df, 0.0)
    size, freedom = _totals(group, counts, groups), float(free.sum())
    units = groups**2 / np.sum(1 / own.units)
    if freedom == 0:
        each = np.asarray(value, dtype=np.float64)
        return spread(each - each.mean())._replace(units=np.array([units]))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(free > 0, own.error**2, 0.0)
        pooled = np.sum(free * variance * own.units) / freedom
        shrunk = (free * variance + _BORROWED * pooled / own.units) / (free + _BORROWED)
        # Degrees of freedom by size: the variance is a sum over groups of these multiples of their squares.
        lent = np.sum(_BORROWED / own.units / (free + _BORROWED)) / freedom
        multiples = 1 / (own.units * (free + _BORROWED)) + lent
        df = np.sum(multiples * free) ** 2 / np.sum(multiples**2 * free)
        total = shrunk.sum()
        if cluster is not None:
            together, clusters, fewer = _across_groups(values, counts, group, cluster, size)
            total, df, units = total + together, np.minimum(df, fewer), np.float64(clusters)
        error = np.sqrt(max(total, shrunk.sum() / groups)) / groups
        items = _totals(group, counts * values**2, groups).sum() / size.sum() / error**2
    largest = float((size if most is None else np.asarray(most)).sum())
    items = np.clip(items if error > 0 else units, units, max(largest, units))
    facts = error, df, units, items, min(own.lowest.min(), 0.0), max(own.highest.max(), 0.0)
    return Spread(*np.array(facts, dtype=np.float64)[:, np.newaxis])


def two_samples(one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    """The error of the sum or difference of two independent means, from (error, df) of both.

    Degrees of freedom are Satterthwaite's, (Σ v)² / Σ(v² / df); the smaller of the two if both errors are 0.
    """
    (first, first_df), (second, second_df) = (
        (np.atleast_1d(np.asarray(error, dtype=np.float64)) ** 2, np.atleast_1d(np.asarray(df, dtype=np.float64)))
        for error, df in (one, other)
    )
    total = first + second
    with np.errstate(invalid="ignore", divide="ignore"):
        df = total**2 / (first**2 / first_df + second**2 / second_df)
    return np.sqrt(total), np.where(total > 0, df, np.minimum(first_df, second_df))


# ---- areas under ROC curves


def auc_placements(pos: AnyArray, neg: AnyArray, offsets: AnyArray | None = None) -> tuple[float, Floats, Floats]:
    """A pooled AUC, all positives (m) against all negatives (n) with ties counting half, with its wins and losses.

    The wins are the share of the negatives below each positive. The losses are, for each query, the sum over its
    negatives, neg[offsets[i]:offsets[i+1]], of the share of the positives above; without queries, for each negative
    that share. Ties are counted exactly, in O((m + n) log m); the AUC is a ratio of integers.
    """
    m, n = len(pos), len(neg)
    order = np.argsort(pos)
    ordered = pos[order].astype(np.result_type(pos, neg), copy=False)
    twice = np.zeros(m + 1, dtype=np.int64)  # negatives below each positive, ties once
    losses = np.zeros(n if offsets is None else len(offsets) - 1)
    for first in range(0, n, _BLOCK):
        block = neg[first : first + _BLOCK].astype(ordered.dtype, copy=False)
        below, upto = (np.searchsorted(ordered, block, side=side) for side in ("left", "right"))
        twice += np.bincount(below, minlength=m + 1) + np.bincount(upto, minlength=m + 1)
        above = (2 * m - below - upto) / (2 * m)
        if offsets is None:
            losses[first : first + len(block)] = above
        else:
            query = np.searchsorted(offsets, np.arange(first, first + len(block)), side="right") - 1
            losses += np.bincount(query, above, len(losses))
    np.cumsum(twice, out=twice)
    wins = np.empty(m)
    wins[order] = twice[:m] / (2 * n)
    return int(twice[:m].sum()) / (2 * m * n), wins, losses


def auc_error(
    pos: AnyArray, neg: AnyArray, offsets: AnyArray | None = None, *, cluster: AnyArray | None = None
) -> tuple[float, float, float]:
    """The pooled AUC, its standard error and degrees of freedom; `cluster` has a label per positive.

    Without `offsets` positives and negatives are independent samples (DeLong et al. 1988), with Satterthwaite's degrees
    of freedom. With them a query, its positive and its negatives, errs as one unit (Obuchowski 1997), and so does a
    cluster of queries. Near 1 few units carry most of the error, so the degrees of freedom are then those of a variance
    estimated from units of this kurtosis (their number less one for normal ones), at most what cluster sizes allow.
    """
    m, n = len(pos), len(neg)
    if m == 0 or n == 0:
        return math.nan, math.nan, 0.0
    auc, wins, losses = auc_placements(pos, neg, offsets)
    if offsets is None:
        if min(m, n) < 2:
            return auc, math.nan, 0.0
        error, df = two_samples(standard_error(wins - auc, cluster=cluster), standard_error(losses - auc))
        return auc, float(error[0]), float(df[0])
    # The first-order error that each query adds to the AUC, which is its truth plus their mean.
    influence = losses * (m / n) - np.diff(offsets) * (m / n * auc) + wins - auc
    sizes = None if cluster is None else Clusters.from_labels(cluster)
    if sizes is not None:
        influence = _totals(sizes.key, influence, len(sizes.present))[sizes.present]
        influence *= len(influence) / m
    units = len(influence)
    if units < 2:
        return auc, math.nan, 0.0
    variance = float(np.mean(influence**2))
    if variance == 0:
        return auc, 0.0, units - 1.0
    kurtosis = float(np.mean(influence**4)) / variance**2
    freedom = min(units - 1.0, 2 * units / (kurtosis - (units - 3) / (units - 1)))
    if sizes is not None:
        freedom = min(freedom, float(sizes.df[0]))
    return auc, math.sqrt(variance / (units - 1)), freedom


# ---- means over time, whose errors resemble those of their neighbours


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


def _memory_of(series: Floats) -> Floats:
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


def _long_run_error(series: Floats) -> tuple[Floats, Floats]:
    """The error of the sum of each column, none of which lacks a row, and the number of cosines."""
    rows = len(series)
    most = min(_MOST_COSINES, max(_FEWEST_COSINES, round(0.41 * rows ** (2 / 3))))
    k = np.arange(1, most + 1)[:, np.newaxis]
    waves = np.cos(np.pi * k * (np.arange(rows) + 0.5) / rows)
    squares = np.cumsum(np.square(waves @ series), axis=0)
    # The spectrum of an autoregression at the frequency of each cosine, relative to that at 0, which it falls from.
    memory = _memory_of(series)
    kept = np.square(1 - memory)
    share = np.cumsum(kept / (kept + 2 * memory * (1 - np.cos(np.pi * k / rows))), axis=0) / k
    count = np.maximum((share >= _SEEN).sum(axis=0), _FEWEST_COSINES)
    place = (count - 1)[np.newaxis]
    seen, summed = (np.take_along_axis(each, place, axis=0)[0] for each in (share, squares))
    return np.sqrt(2 * summed / (count * seen)), count.astype(np.float64)


# ---- pieces


def _cells(influence: ArrayLike, count: ArrayLike | None) -> tuple[Floats, Floats]:
    values = np.asarray(influence, dtype=np.float64)
    return values, np.ones(values.shape) if count is None else np.asarray(count, dtype=np.float64)


def _clusters(
    cluster: AnyArray | Clusters | None, counts: Floats, group: AnyArray | None, groups: int
) -> Clusters | None:
    if cluster is None or isinstance(cluster, Clusters):
        return cluster
    return Clusters.from_labels(cluster, counts, group=group, groups=groups)


def _error(
    values: Floats, counts: Floats, total: Floats, group: AnyArray | None, groups: int, sizes: Clusters | None
) -> tuple[Floats, Floats]:
    if sizes is None:
        squares = _totals(group, counts * values**2, groups)
        return np.sqrt(squares / np.where(total >= 2, total * (total - 1), np.nan)), np.maximum(total - 1, 0)
    summed = _totals(sizes.key, values * counts, len(sizes.present))[sizes.present]
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(_totals(sizes.owner, summed**2 / (1 - sizes.share), groups)) / total
    return np.where(sizes.df > 0, error, np.nan), sizes.df


def _size_df(share: Floats, owner: Ints, units: Ints) -> Floats:
    """Satterthwaite's degrees of freedom of the CR2 variance of a mean, from the clusters' shares of the items.

    Its expectation and variance if the items of a cluster err alike, which is when sizes matter most: a quadratic
    form in as many normal cluster effects, with the matrix a_g a_h (δ_gh − w_g − w_h + Σw²), a_g² = w_g² / (1 − w_g).
    Clusters of one size have their number less one, and two clusters have one.
    """
    groups = len(units)
    # The largest cluster is kept apart: if it contains nearly everything, the sums would lose all digits.
    order = np.lexsort((share, owner))
    largest = order[np.cumsum(np.bincount(owner, minlength=groups))[units > 0] - 1]
    others = np.ones(len(share), bool)
    others[largest] = False
    big, kin, w = np.zeros(groups), owner[others], share[others]
    big[owner[largest]] = share[largest]
    rest, even = _totals(kin, w, groups), _totals(kin, w**2, groups)  # 1 − w and Σw² without the largest
    with np.errstate(invalid="ignore", divide="ignore"):
        weight, big_weight = w**2 / (1 - w), big**2 / rest
        diagonal, big_diagonal = weight * (1 - 2 * w + (big**2 + even)[kin]), big_weight * (rest**2 + even)
        shift = (big**2 + even)[kin] / 2 - w
        pairs = 2 * _totals(kin, weight, groups) * _totals(kin, weight * shift**2, groups)
        pairs += 2 * _totals(kin, weight * shift, groups) ** 2 - _totals(kin, (2 * weight * shift) ** 2, groups)
        with_largest = 2 * big_weight * _totals(kin, weight * ((even - big * rest)[kin] - w) ** 2, groups)
        squares = _totals(kin, diagonal**2, groups) + big_diagonal**2 + pairs + with_largest
        df = (_totals(kin, diagonal, groups) + big_diagonal) ** 2 / squares
    # It is between one and the number of clusters less one, which equal sizes reach up to rounding.
    most = np.maximum(units - 1, 1)
    return np.where(df > most * (1 - 1e-9), most, np.maximum(df, 1.0))


def _across_groups(
    values: Floats, counts: Floats, group: AnyArray, cluster: AnyArray, size: Floats
) -> tuple[float, float, float]:
    """What clusters in several groups add to the sum of the groups' variances, and units and df by their sizes."""
    number = np.unique(cluster, return_inverse=True)[1]
    span = int(number.max()) + 1
    key, place = np.unique(np.asarray(group, dtype=np.int64) * span + number, return_inverse=True)
    within, label = np.divmod(key, span)
    share = np.bincount(place, counts) / size[within]
    part = np.bincount(place, values * counts) / size[within] / np.sqrt(np.where(share < 1, 1 - share, np.inf))
    together = np.sum(np.bincount(label, part, span) ** 2) - np.sum(part**2)
    weight = np.bincount(label, share / len(size), span).astype(float)
    present = weight[weight > 0]
    (df,) = _size_df(present, np.zeros(len(present), np.int64), np.array([len(present)]))
    return float(together), float(1 / np.sum(present**2)), float(df)


def _cluster_keys(group: AnyArray | None, cluster: AnyArray) -> tuple[Ints, Ints]:
    """The number of each cell's cluster within its group, and the group of each number; some may have no cell."""
    if cluster.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if cluster.dtype.kind not in "iu" or int(cluster.max()) - int(cluster.min()) > 1 << 32:
        cluster = np.unique(cluster, return_inverse=True)[1]  # texts, and hashes, which would overflow below
    cluster = cluster - cluster.min()
    span = int(cluster.max()) + 1
    key = cluster if group is None else np.asarray(group, dtype=np.int64) * span + cluster
    if key.max() < 4 * key.size + 1024:
        labels = np.arange(int(key.max()) + 1)
    else:
        labels, key = np.unique(key, return_inverse=True)
    return key.astype(np.int64, copy=False), (labels // span).astype(np.int64, copy=False)


def _totals(group: AnyArray | None, weights: Floats, groups: int) -> Floats:
    if group is None:
        return np.add.reduce(weights, keepdims=True)
    return np.bincount(group, weights, groups).astype(np.float64, copy=False)


def _extremes(group: AnyArray | None, values: Floats, groups: int) -> tuple[Floats, Floats]:
    """The smallest and the largest value of each group, and 0; NaN is left out."""
    lowest, highest = np.zeros(groups), np.zeros(groups)
    if group is None:
        lowest[0], highest[0] = np.fmin.reduce(values, initial=0.0), np.fmax.reduce(values, initial=0.0)
    else:
        known = ~np.isnan(values)
        np.minimum.at(lowest, group[known], values[known])
        np.maximum.at(highest, group[known], values[known])
    return lowest, highest
