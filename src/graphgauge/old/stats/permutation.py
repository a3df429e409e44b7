"""Paired comparison over items: flip the signs of the differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import Floats, as_labels, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.options import generator_of, whole_number
from graphgauge.old.core.result import Interval
from graphgauge.old.stats.intervals import is_rounding, standard_error, t_quantile
from graphgauge.old.stats.rearrange import agreeing

# Up to this many differences all sign patterns are counted.
_ENUMERATE = 16
# A binomial draw costs as much as flipping about this many differences in bytes.
_HEAVY = 128
_ROWS = 1024


@dataclass(frozen=True)
class PairedItems:
    """Outcome of a sign-flip test over items; a positive difference favours the first ranker.

    `p_error` is the Monte-Carlo standard error of p, 0 where every sign pattern was counted. `ci` contains the mean
    differences that the same flips do not reject: it contains 0 exactly if p is above 1 − its level. `margin_ci` has
    the level 1 − 2α, for tests of equivalence. `error` is the standard error over units.
    """

    n: int
    units: int
    unit: str
    positive: int
    zero: int
    negative: int
    mean_difference: float
    ci: Interval | None
    p_value: float
    p_error: float
    resamples: int
    error: float = math.nan
    margin_ci: Interval | None = None

    def __str__(self) -> str:
        interval = "(no interval: all differ equally)" if self.ci is None else "[{:.4g}, {:.4g}]".format(*self.ci)
        certainty = f"± {self.p_error:.1g} by {self.resamples:,} sign flips" if self.p_error else "by all sign flips"
        return (
            f"mean difference {self.mean_difference:.4g} {interval} over {self.n:,} items"
            + (f" in {self.units:,} clusters" if self.units != self.n else "")
            + f" ({self.positive:,} higher, {self.zero:,} equal, {self.negative:,} lower); "
            f"p = {self.p_value:.4g} {certainty}"
        )


def paired_items(
    differences: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    resamples: int = 9_999,
    confidence: float = 0.95,
) -> PairedItems:
    """Is the mean of paired per-item differences zero? Two-sided sign-flip test, and the interval that it leaves.

    `differences` is one number per item (first ranker minus second, items in the same order); `cluster`, a label per
    item, marks items that are not independent, which are summed and flipped together. Memory does not grow
    with the number of resamples times items: equal sizes are flipped by one binomial draw, others eight at a time.

    Parameters
    ----------
    differences
        One number per item.
    cluster
        A label per item.
    seed, resamples
        Seed and number of random sign flips, if there are too many to count all.
    confidence
        Level of the interval.

    Returns
    -------
    PairedItems
        The mean difference with interval and two-sided p.

    Raises
    ------
    InputError
        If there are fewer than two items, or a difference is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> test = stats.paired_items([0.1, 0.2, 0.1, 0.3, -0.1, 0.2])
    >>> round(test.mean_difference, 4), test.p_value
    (0.1333, 0.125)
    """
    differences = as_numeric(differences, "items").astype(float)
    if differences.ndim != 1 or len(differences) < 2:
        raise InputError(f"expected at least two differences in a row, found shape {differences.shape}", where="items")
    if not np.isfinite(differences).all():
        bad = int(np.argmin(np.isfinite(differences)))
        raise InputError(f"differences must be finite, the first that is not is at index {bad}", where="items")
    whole_number("resamples", resamples, 1)
    if cluster is not None:
        cluster = np.unique(as_labels(cluster, "cluster"), return_inverse=True)[1]
        if cluster.shape != differences.shape:
            raise InputError(f"{len(cluster)} labels for {len(differences)} differences", where="cluster")
    n, mean = len(differences), float(differences.mean())
    error, _ = standard_error(differences - mean, np.broadcast_to(1.0, n), cluster=cluster)
    sums, sizes = differences, np.ones(n)
    if cluster is not None:
        sums, sizes = (np.bincount(cluster, weights).astype(float) for weights in (differences, np.ones(n)))
    alpha = round(1 - confidence, 12)  # 1 − 0.9 is a little less than 0.1, at which p may be
    flips = _Flips.of(sums, sizes, resamples, generator_of(seed))
    unit = "items" if cluster is None else "clusters"
    spread = not is_rounding(error[0], np.abs(differences).max()) if len(sums) > 1 else False

    # If one interval is Student's t, that of the margin is too: it must be inside the other.
    by_t = flips.method(alpha) == "t"

    def interval(level: float) -> Interval | None:
        low, high = flips.interval(level, by_t=by_t) if spread else (math.nan, math.nan)
        return None if math.isnan(low) else Interval(low, high, 1 - level, "t" if by_t else "rearranged", unit)

    return PairedItems(
        n=n,
        units=len(sums),
        unit=unit,
        positive=int(np.count_nonzero(differences > 0)),
        zero=int(np.count_nonzero(differences == 0)),
        negative=int(np.count_nonzero(differences < 0)),
        mean_difference=mean,
        ci=interval(alpha),
        p_value=flips.p_value,
        p_error=0.0 if flips.complete else math.sqrt(flips.p_value * (1 - flips.p_value) / resamples),
        resamples=flips.count,
        error=float(error[0]),
        margin_ci=interval(min(2 * alpha, 0.999)),
    )


@dataclass(frozen=True)
class _Flips:
    """The sums of units under random signs, and what they say about shifts of the mean."""

    sums: Floats
    sizes: Floats
    flipped: Floats
    complete: bool

    @staticmethod
    def of(sums: Floats, sizes: Floats, resamples: int, generator: np.random.Generator) -> _Flips:
        moving = np.abs(sums[sums != 0])
        complete = len(moving) <= _ENUMERATE
        drawn = _all_sums(moving) if complete else _flipped_sums(moving, resamples, generator)
        return _Flips(sums, sizes, np.sort(np.abs(drawn)), complete)

    @property
    def count(self) -> int:
        return len(self.flipped)

    @property
    def _reached(self) -> int:
        # Equal sums may differ in their last bits.
        observed = abs(float(self.sums.sum())) - 1e-12 * float(np.abs(self.sums).sum())
        return self.count - int(np.searchsorted(self.flipped, observed))

    @property
    def p_value(self) -> float:
        """P(|sum under random signs| ≥ |sum|); drawn signs are counted with the observed ones."""
        return self._reached / self.count if self.complete else (1 + self._reached) / (self.count + 1)

    def _critical(self, alpha: float) -> float:
        """The largest |sum| that is not rejected; infinite if none is."""
        allowed = math.floor(alpha * self.count + 1e-9) if self.complete else math.floor(alpha * (self.count + 1)) - 1
        # The observed signs and their opposites are always counted.
        none = allowed < 2 if self.complete else allowed < 0
        return math.inf if none else float(self.flipped[-allowed - 1])

    def method(self, alpha: float) -> str:
        return "t" if math.isinf(self._critical(alpha)) else "rearranged"

    def interval(self, alpha: float, *, by_t: bool) -> tuple[float, float]:
        """Shifts δ with |Σ(s − δm)| ≤ q √Σ(s − δm)², q the critical value of the flips divided by √Σs².

        The distribution of that ratio hardly depends on the shift. A few units have no interval from flips at this
        level, and get Student's t.
        """
        total, size = float(self.sums.sum()), float(self.sizes.sum())
        if self.complete and len(self.sums) <= _ENUMERATE and not by_t:
            return self._counted_interval(total, size, alpha)
        squares = float(self.sums @ self.sums), float(self.sums @ self.sizes), float(self.sizes @ self.sizes)
        units = len(self.sums)
        if by_t:
            t = float(t_quantile(units - 1, 1 - alpha)[0])
            ratio = t * t * units / (units - 1 + t * t)  # t², as a share of the squares about zero
        else:
            ratio = self._critical(alpha) ** 2 / squares[0]
        # (total − δ size)² ≤ ratio × (Σs² − 2δ Σsm + δ² Σm²)
        a, b, c = size**2 - ratio * squares[2], total * size - ratio * squares[1], total**2 - ratio * squares[0]
        root = b * b - a * c
        if a <= 0 or root < 0:
            return math.nan, math.nan
        low, high = (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a
        if by_t:
            return low, high
        return agreeing(low, high, total / size, self.p_value <= alpha)

    def _counted_interval(self, total: float, size: float, alpha: float) -> tuple[float, float]:
        """Flipping some units changes the sum by as much as they exceed the shift: its ends are means of subsets."""
        moved = size - _all_sums(self.sizes)
        means = np.sort((total - _all_sums(self.sums))[moved > 0] / moved[moved > 0])
        kept = math.floor(alpha * len(moved) / 2 + 1e-9)
        if kept < 1:
            return math.nan, math.nan
        return agreeing(float(means[kept - 1]), float(means[-kept]), total / size, self.p_value <= alpha)


def _flipped_sums(sizes: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    values, count = np.unique(sizes, return_counts=True)
    total = np.zeros(resamples)
    heavy = count >= _HEAVY
    for value, times in zip(values[heavy], count[heavy], strict=True):
        total += value * (2.0 * generator.binomial(times, 0.5, resamples) - times)
    light = np.repeat(values[~heavy], count[~heavy])
    eights = np.pad(light, (0, -len(light) % 8)).reshape(-1, 8)
    signs = _all_sums(np.eye(8))
    for first in range(0, len(eights), _ROWS):
        for sums in eights[first : first + _ROWS] @ signs.T:
            total += np.take(sums, np.frombuffer(generator.bytes(resamples), np.uint8))
    return total


def _all_sums(sizes: Floats) -> Floats:
    """The sum of the rows under each of the 2^n sign patterns."""
    sums = np.zeros((1, *sizes.shape[1:]))
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums
