"""Differences of means with their tests: all return one `Shift`, whose interval contains 0 exactly if p > α.

Only where the design cannot reject, p being too coarse, the interval is Student's t alone.

| design | size | p | interval |
|---|---|---|---|
| pairs: seeds, drawn datasets, items | ≤ 15 | all 2ⁿ sign flips | the same inverted, or t if they reject nothing |
| pairs | > 15 | Student's t | t |
| clusters of items | ≤ 2,000 | all or 9,999 fixed sign flips | the same flips inverted |
| clusters of items | > 2,000 | CR2-t | CR2-t |
| independent runs, these datasets, printed means | any | Welch's t | t |
| time steps | ≥ 30 | cosine-t | cosine-t |

p of a t test is never below what all rearrangements of the design could give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.result import enclosing
from graphgauge.core.types import Floats, Ints
from graphgauge.stats.errors import cosine_error, is_rounding, standard_error
from graphgauge.stats.ranks import rank_sum, rank_sum_shift, signed_rank, signed_rank_shift

# Up to so many units all sign flips are counted, up to so many clusters this many fixed ones are.
ENUMERATED, MOST_FLIPPED, DRAWS = 15, 2_000, 9_999
# A drawn p from fewer flips than this is replaced by Student's t, if that is smaller.
_FEWEST_HITS = 10
_ROUNDING = 1e-12
_BLOCK = 1 << 24
Signs = NDArray[np.float32]


class Sample(NamedTuple):
    """Mean, variance and number of independent scores; printed ones have no more."""

    mean: float
    variance: float
    n: int

    @classmethod
    def from_scores(cls, scores: Floats | Sample) -> Sample:
        """Those of scores; the variance is NaN of a single one. A sample stays as it is."""
        if isinstance(scores, Sample):
            return scores
        return cls(float(scores.mean()), float(scores.var(ddof=1)) if len(scores) > 1 else math.nan, len(scores))


@dataclass(frozen=True)
class Shift:
    """A mean difference and its test by `method`.

    `low` and `high` are NaN without an interval, which `interval` made. `lowest_p` is the smallest p of the design, and
    `error` the standard error with `df` degrees of freedom, NaN if unknown.
    """

    difference: float
    low: float
    high: float
    p_value: float
    lowest_p: float
    method: str
    interval: str
    error: float
    df: float

    def within(self, bounds: tuple[float, float]) -> Shift:
        """This shift of numbers between bounds: its interval ends at their greatest difference."""
        most = bounds[1] - bounds[0]
        low, high = enclosing(self.difference, self.low, self.high, (-most, most))
        return replace(self, low=float(low), high=float(high))


def of_pairs(differences: Floats, alpha: float) -> Shift:
    """The mean of paired differences: sign flips of up to 15, Student's t of more."""
    n = len(differences)
    estimate, nonzero = float(differences.mean()), int(np.count_nonzero(differences))
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    shift = _by_t(estimate, error, n - 1.0, alpha, 2.0 ** min(0, 1 - nonzero), "Student's t")
    if n > ENUMERATED:
        return shift
    return _by_flips(differences, np.ones(n), alpha, shift, _signs(n, 1 << (n - 1)), "sign flips")


def of_clusters(differences: Floats, cluster: Ints, alpha: float) -> Shift:
    """The mean of differences of items that err together within clusters, labelled from 0."""
    sums, sizes = np.bincount(cluster, differences).astype(np.float64), np.bincount(cluster).astype(np.float64)
    (error,), (df,) = standard_error(differences - differences.mean(), cluster=cluster)
    lowest = 2.0 ** min(0, 1 - int(np.count_nonzero(sums)))
    shift = _by_t(float(differences.mean()), float(error), float(df), alpha, lowest, "CR2-t")
    if len(sums) > MOST_FLIPPED:
        return shift
    rows = min(1 << (len(sums) - 1), DRAWS + 1) if len(sums) <= 60 else DRAWS + 1
    return _by_flips(sums, sizes, alpha, shift, _signs(len(sums), rows), "sign flips of clusters")


def of_independent(strata: Sequence[tuple[Sample, Sample]], alpha: float) -> Shift:
    """Independent runs of two methods, averaged over strata: Welch's t with Satterthwaite's degrees of freedom.

    p is at least 1 over the number of ways to share the runs out, 2 over it if both sides are of one size.
    """
    estimate = math.fsum(a.mean - b.mean for a, b in strata) / len(strata)
    error, df = satterthwaite([side for pair in strata for side in pair])
    ways = math.prod(math.comb(a.n + b.n, a.n) for a, b in strata)
    lowest = (2 if all(a.n == b.n for a, b in strata) else 1) / ways
    return _by_t(estimate, error / len(strata), df, alpha, min(1.0, lowest), "Welch's t")


def of_strata(differences: Sequence[Floats], alpha: float) -> Shift:
    """Paired differences within strata, averaged over them: t with Satterthwaite's degrees of freedom."""
    samples = [Sample.from_scores(each) for each in differences]
    error, df = satterthwaite(samples)
    nonzero = sum(int(np.count_nonzero(each)) for each in differences)
    estimate = math.fsum(each.mean for each in samples) / len(samples)
    return _by_t(estimate, error / len(samples), df, alpha, 2.0 ** min(0, 1 - nonzero), "stratified t")


def of_steps(differences: Floats, alpha: float) -> Shift:
    """The mean of differences in the order of time: Diebold and Mariano's test with a cosine-t error (`errors`)."""
    estimate, n = float(differences.mean()), len(differences)
    error, df = cosine_error((differences - estimate) / n)
    return _by_t(estimate, float(error), float(df), alpha, 0.0, "cosine-t")


def of_ranks(a: Floats, b: Floats, alpha: float, *, paired: bool) -> Shift:
    """Wilcoxon's test, and the shift of Hodges and Lehmann; if scores are too few for its interval, that of t."""
    if paired:
        signed = signed_rank(a - b)
        estimate, low, high = signed_rank_shift(a - b, alpha)
        p, lowest, method, moment = signed.p_value, 2.0 ** (1 - signed.n), "signed ranks", of_pairs(a - b, alpha)
    else:
        summed, samples = rank_sum(a, b), (Sample.from_scores(a), Sample.from_scores(b))
        estimate, low, high = rank_sum_shift(a, b, alpha)
        p, lowest, method = summed.p_value, 2 / math.comb(len(a) + len(b), len(a)), "rank sums"
        moment = of_independent([samples], alpha)
    if math.isnan(low):
        return replace(moment, p_value=p, lowest_p=min(1.0, lowest), method=method)
    low, high = _agreeing(low, high, estimate, p <= alpha)
    parts = min(1.0, lowest), method, "Hodges–Lehmann", moment.error, moment.df
    return Shift(estimate, low, high, p, *parts)


def _by_t(estimate: float, error: float, df: float, alpha: float, lowest: float, method: str) -> Shift:
    if not df >= 1 or math.isnan(error):
        return Shift(estimate, math.nan, math.nan, 1.0, 1.0, method, method, error, df)
    reach = _core.student_quantile(alpha / 2, df) * error
    p = 2 * _core.student_tail(abs(estimate) / error, df) if error > 0 else float(estimate == 0)
    p = min(1.0, max(lowest, p))
    flat = bool(is_rounding(error, abs(estimate))) or error == 0
    low, high = (math.nan, math.nan) if flat else (estimate - reach, estimate + reach)
    if not flat and lowest <= alpha:  # a design that cannot reject has an interval all the same
        low, high = _agreeing(low, high, estimate, p <= alpha)
    return Shift(estimate, low, high, p, lowest, method, method, error, df)


def _by_flips(sums: Floats, sizes: Floats, alpha: float, by_t: Shift, signs: Signs, method: str) -> Shift:
    """Flipping the signs of some units changes the mean by as much as they exceed the shift.

    So the test rejects a shift below the mean if it is below nearly all means of subsets of units, and its interval is
    between two of these. The first row of signs is the observed one; drawn signs are used with their opposites.
    """
    n, rows, total, size = len(sums), len(signs), float(sums.sum()), float(sizes.sum())
    complete = rows == 1 << (n - 1) if n <= 60 else False
    flipped = _products(signs, sums)
    slack = _ROUNDING * float(np.abs(sums).sum())
    reached = int(np.count_nonzero(np.abs(flipped) >= abs(total) - slack))
    p = reached / rows
    if not complete and reached <= _FEWEST_HITS:
        p = min(p, by_t.p_value)
    kept = math.floor(alpha * rows + 1e-9)
    lowest = 1 / rows if complete else by_t.lowest_p
    if not kept or math.isnan(by_t.low):
        return replace(by_t, p_value=p, lowest_p=lowest, method=method)
    moved = (size - _products(signs, sizes)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        subsets = np.concatenate(((total - flipped) / 2 / moved, (total + flipped) / 2 / (size - moved)))
    subsets = np.sort(subsets[np.isfinite(subsets)])
    low, high = _agreeing(float(subsets[kept - 1]), float(subsets[-kept]), by_t.difference, p <= alpha)
    return Shift(by_t.difference, low, high, p, lowest, method, method, by_t.error, by_t.df)


@lru_cache(maxsize=4)
def _signs(units: int, rows: int) -> Signs:
    """Rows of signs, the first all positive: each half of all patterns if there are no more, or fixed draws."""
    table = np.ones((rows, units), np.float32)
    if units <= 60 and rows == 1 << (units - 1):
        table[:, 1:] -= 2 * (np.arange(rows)[:, None] >> np.arange(units - 1) & 1)
        return table
    # Raw bits are the same in every version of NumPy.
    words = np.random.PCG64(0).random_raw((rows - 1) * -(-units // 64)).reshape(rows - 1, -1)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=units, bitorder="little")
    table[1:] -= 2 * bits
    return table


def _products(signs: Signs, values: Floats) -> Floats:
    """The rows of signs times values, in blocks: signs are kept in four bytes."""
    step = max(1, _BLOCK // signs.shape[1])
    parts = [signs[start : start + step].astype(np.float64) @ values for start in range(0, len(signs), step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def satterthwaite(samples: Sequence[Sample]) -> tuple[float, float]:
    """The error of a sum of independent means, and its degrees of freedom; NaN and 0 if one has no spread to show."""
    if any(each.n < 2 or math.isnan(each.variance) for each in samples):
        return math.nan, 0.0
    parts = [(each.variance / each.n, each.n - 1) for each in samples]
    total = math.fsum(part for part, _ in parts)
    if not total > 0:
        return 0.0, float(sum(df for _, df in parts))
    # By shares, because squares of variances may be beyond the range of floats.
    return math.sqrt(total), 1 / math.fsum((part / total) ** 2 / df for part, df in parts)


def _agreeing(low: float, high: float, estimate: float, rejected: bool) -> tuple[float, float]:
    """The interval contains 0 exactly if the test does not reject it, also where ties make p uneven."""
    if rejected and low <= 0 <= high:
        return (math.nextafter(0.0, 1.0), high) if estimate > 0 else (low, math.nextafter(0.0, -1.0))
    return (low, high) if rejected else (min(low, 0.0), max(high, 0.0))
