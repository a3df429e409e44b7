"""Differences of means tested by rearranging runs, and the interval that the same test leaves.

Under the null hypothesis the two scores of a pair could be swapped, or any runs of one dataset could have come from
either method. The statistic is the mean difference over the datasets divided by its standard error within datasets.
The p is the share of rearrangements with a statistic at least as large, so it is exact if scores are exchangeable;
the division keeps it valid in large samples if the methods have different spreads or the datasets different effects
(Janssen 1997, Chung and Romano 2013). In small samples of independent runs it does not quite, so p is at least that
of Welch's t. The interval contains the shifts that the test does not reject.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.arrays import Floats
from graphgauge.core.options import generator_of

# Up to this many rearrangements are all counted: 15 pairs, or 9 + 9 runs.
LIMIT = 50_000
DRAWS = 9_999
# With more runs than this, Student's t is as good as drawing.
_MOST_RUNS = 200
_FEWEST_HITS = 10
_STEPS = 26
_ROUNDING = 1e-12

Pair = tuple[Floats, Floats]
Bytes = NDArray[np.int8]


@dataclass(frozen=True)
class Shift:
    """The mean difference of two methods, and its test.

    `low` and `high` are NaN if the test can reject no shift at this level. `lowest_p` is the smallest p of the
    design. `error` and `df` are the standard error within datasets and its degrees of freedom, NaN if unknown.
    """

    difference: float
    low: float
    high: float
    p_value: float
    lowest_p: float
    exact: bool
    rearrangements: int
    error: float
    df: float


@dataclass(frozen=True)
class Arrangements:
    """Rearrangements of each dataset, the first one as observed: signs of pairs, or who belongs to the first method.

    `complete`: they are all of them. Without `blocks`, the test uses Student's t instead.
    """

    blocks: tuple[Bytes, ...]
    paired: bool
    complete: bool

    @property
    def count(self) -> int:
        if not self.blocks:
            return 0
        return math.prod(len(block) for block in self.blocks) if self.complete else len(self.blocks[0])


def arrangements(sizes: Sequence[tuple[int, int]], *, paired: bool, seed: int) -> Arrangements:
    """All rearrangements of datasets with these numbers of runs, if they are not above the limit, or draws."""
    possible = math.prod(2**n if paired else math.comb(n + m, n) for n, m in sizes)
    if possible <= LIMIT:
        return Arrangements(tuple(_signs(n) if paired else _splits(n, m) for n, m in sizes), paired, True)
    if not (paired and len(sizes) == 1) and sum(n + m for n, m in sizes) > _MOST_RUNS:
        return Arrangements((), paired, False)
    generator = generator_of(seed)
    draw = _drawn_signs if paired else _drawn_splits
    return Arrangements(tuple(draw(n, m, generator) for n, m in sizes), paired, False)


@lru_cache(maxsize=64)
def _signs(n: int) -> Bytes:
    return np.array(list(itertools.product((1, -1), repeat=n)), dtype=np.int8).reshape(-1, n)


@lru_cache(maxsize=64)
def _splits(n: int, m: int) -> Bytes:
    chosen = np.array(list(itertools.combinations(range(n + m), n)))
    splits = np.zeros((len(chosen), n + m), np.int8)
    np.put_along_axis(splits, chosen, 1, axis=1)
    return splits


def _drawn_signs(n: int, _: int, generator: np.random.Generator) -> Bytes:
    bits = np.frombuffer(generator.bytes(DRAWS * -(-n // 8)), np.uint8).reshape(DRAWS, -1)
    signs = 1 - 2 * np.unpackbits(bits, axis=1, count=n).astype(np.int8)
    return np.concatenate((np.ones((1, n), np.int8), signs))


def _drawn_splits(n: int, m: int, generator: np.random.Generator) -> Bytes:
    first = np.repeat(np.array([1, 0], np.int8), (n, m))
    return np.concatenate((first[None], generator.permuted(np.tile(first, (DRAWS, 1)), axis=1)))


def shift_test(datasets: Sequence[Pair], arranged: Arrangements, alpha: float) -> Shift:
    """Test that the first scores exceed the second by 0 on average over the datasets, and invert the test.

    Each dataset has the scores of both methods, in the same order if they are paired.
    """
    estimate, error, df = stratified_difference(datasets, paired=arranged.paired)
    if not arranged.blocks:
        return _by_t(estimate, error, df, alpha)
    if arranged.paired and len(datasets) == 1:
        return _flipped(datasets[0][0] - datasets[0][1], arranged, alpha, (estimate, error, df))
    moved = [(first - estimate, second) for first, second in datasets]
    flips = _Statistics.of(moved, arranged)
    p, lowest = flips.p_value(-estimate), flips.lowest_p
    low, high = flips.interval(alpha, error, _t_reach(error, df, alpha) if df == df else 0.0)
    if df == df:
        few = not arranged.complete and p * arranged.count < _FEWEST_HITS + 1
        lowest = lowest if arranged.complete else _rarest(datasets, arranged.paired)
        p = max(lowest if few else p, t_p(estimate, error, df))
    low, high = agreeing(low + estimate, high + estimate, estimate, p <= alpha)
    return Shift(estimate, low, high, p, lowest, arranged.complete, arranged.count, error, df)


def _flipped(values: Floats, arranged: Arrangements, alpha: float, known: tuple[float, float, float]) -> Shift:
    """One set of pairs: flipping the signs of some of them changes the mean by as much as they exceed the shift.

    So the test rejects a shift below the mean if it is below nearly all means of subsets, and p never falls and rises
    again between two shifts. Drawn signs are used with their opposites, which makes the test symmetric.
    """
    estimate, error, df = known
    (signs,) = arranged.blocks
    n, half = len(values), len(signs) // 2 if arranged.complete else len(signs)
    table = signs.astype(float)
    sums = table @ values
    reached = int(np.count_nonzero(np.abs(sums) >= abs(sums[0]) - _ROUNDING * float(np.abs(values).sum())))
    p = reached / len(signs)
    moved = (n - table.sum(axis=1)) / 2
    total = float(values.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        subsets = (total - sums) / 2 / moved
        if not arranged.complete:
            subsets = np.concatenate((subsets, (total + sums) / 2 / (n - moved)))
    subsets = np.sort(subsets[np.isfinite(subsets)])
    kept = math.floor(alpha * half + 1e-9)
    lowest = min(1.0, 1 / half) if arranged.complete or df != df else _rarest([(values, 0 * values)], True)
    if not arranged.complete and reached <= _FEWEST_HITS and df == df:
        p = min(p, max(lowest, t_p(estimate, error, df)))
    if kept < 1:
        return Shift(estimate, math.nan, math.nan, p, lowest, arranged.complete, arranged.count, error, df)
    low, high = agreeing(float(subsets[kept - 1]), float(subsets[-kept]), estimate, p <= alpha)
    return Shift(estimate, low, high, p, lowest, arranged.complete, arranged.count, error, df)


def _rarest(datasets: Sequence[Pair], paired: bool) -> float:
    """The smallest p that all rearrangements could give: Student's t must not claim more."""
    if paired:
        return 2.0 ** min(0, 1 - sum(int(np.count_nonzero(a != b)) for a, b in datasets))
    either = 2 if all(len(a) == len(b) for a, b in datasets) else 1
    return either / math.prod(math.comb(len(a) + len(b), len(a)) for a, b in datasets)


def stratified_difference(datasets: Sequence[Pair], *, paired: bool) -> tuple[float, float, float]:
    """The mean over the datasets of the differences of means, its standard error, and Satterthwaite's df.

    Error and df are NaN if a method has one run on some dataset.
    """
    estimate = math.fsum(float(a.mean() - b.mean()) for a, b in datasets) / len(datasets)
    parts = [part for a, b in datasets for part in _variances(a, b, paired)]
    if any(df < 1 for _, df in parts):
        return estimate, math.nan, math.nan
    variance = math.fsum(variance for variance, _ in parts)
    squares = math.fsum(variance**2 / df for variance, df in parts)
    df = variance**2 / squares if squares > 0 else float(sum(df for _, df in parts))
    return estimate, math.sqrt(variance) / len(datasets), df


def _variances(a: Floats, b: Floats, paired: bool) -> list[tuple[float, int]]:
    """The squared standard errors of independent means, and their degrees of freedom."""
    return [
        (float(x.var(ddof=1)) / len(x) if len(x) > 1 else math.nan, len(x) - 1)
        for x in ((a - b,) if paired else (a, b))
    ]


def t_p(estimate: float, error: float, df: float) -> float:
    if error == 0:
        return 1.0 if estimate == 0 else 0.0
    return float(2 * _core.student_tail(abs(estimate) / error, df))


def _t_reach(error: float, df: float, alpha: float) -> float:
    return float(_core.student_quantile(alpha / 2, df)) * error


def _by_t(estimate: float, error: float, df: float, alpha: float) -> Shift:
    reach = _t_reach(error, df, alpha)
    p = t_p(estimate, error, df)
    return Shift(estimate, estimate - reach, estimate + reach, p, 0.0, False, 0, error, df)


@dataclass(frozen=True)
class _Statistics:
    """The difference and its squared error in each rearrangement, as polynomials of a shift of the first method."""

    mean: tuple[Floats, Floats]
    variance: tuple[Floats, Floats, Floats]
    complete: bool
    paired: bool

    @staticmethod
    def of(datasets: Sequence[Pair], arranged: Arrangements) -> _Statistics:
        coefficients = _paired_coefficients if arranged.paired else _split_coefficients
        studentized = all(len(a) > 1 and len(b) > 1 for a, b in datasets)
        total: Floats = np.zeros((5, 1))
        for (a, b), block in zip(datasets, arranged.blocks, strict=True):
            part = coefficients(a, b, block, studentized)
            total = (total[:, :, None] + part[:, None, :]).reshape(5, -1) if arranged.complete else total + part
        n = len(datasets)
        total[:2] /= n
        total[2:] /= n**2
        if not studentized:
            total[2:] = np.array([[1.0], [0.0], [0.0]])
        return _Statistics((total[0], total[1]), (total[2], total[3], total[4]), arranged.complete, arranged.paired)

    def p_value(self, shift: float) -> float:
        """Of the hypothesis that the first method is ahead by the estimate plus this shift."""
        mean = self.mean[0] + shift * self.mean[1]
        variance = self.variance[0] + shift * (self.variance[1] + shift * self.variance[2])
        # Sums of squares that cancel leave rounding errors.
        largest = max(float(variance.max()), float(np.square(mean).max()), 1e-300)
        variance = np.where(variance < _ROUNDING * largest, 0.0, variance)
        square = np.square(mean)
        square = np.where(square < _ROUNDING**2 * largest, 0.0, square)
        left, right = square * variance[0], square[0] * variance
        reached = left >= right * (1 - 1e-9)
        reached[0] = True
        return float(np.count_nonzero(reached)) / len(reached)

    @property
    def lowest_p(self) -> float:
        """The p of a shift larger than any difference."""
        if not self.complete:
            return 1 / len(self.mean[0])
        spread = float(np.abs(self.mean[0]).max()) + math.sqrt(float(np.abs(self.variance[0]).max()))
        return min(self.p_value(sign * 1e4 * (spread or 1.0)) for sign in (-1, 1))

    def interval(self, alpha: float, error: float, least: float) -> tuple[float, float]:
        """Around the estimate, which is 0, at least so far to either side; NaN if the test cannot reject."""
        unit = error if error > 0 else math.sqrt(float(np.abs(self.variance[0]).max())) or 1.0
        low, high = (self._end(sign, unit, alpha, least) for sign in (-1, 1))
        return (math.nan, math.nan) if math.isnan(low + high) else (low, high)

    def _end(self, sign: int, unit: float, alpha: float, least: float) -> float:
        if least > 0 and self.p_value(sign * least) <= alpha:
            return sign * least
        inside, outside = 0.0, 2 * unit
        while self.p_value(sign * outside) > alpha:
            inside, outside = outside, 2 * outside
            if outside > 1e6 * unit:
                return math.nan
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            if self.p_value(sign * middle) > alpha:
                inside = middle
            else:
                outside = middle
        return sign * max(inside, least)


def _paired_coefficients(a: Floats, b: Floats, signs: Bytes, studentized: bool) -> Floats:
    values = a - b
    n = len(values)
    table = signs.astype(float)
    mean, slope = table @ values / n, -table.sum(axis=1) / n
    scale = 1 / (n * (n - 1)) if studentized else 0.0
    return np.stack(
        (
            mean,
            slope,
            (float(values @ values) - n * mean**2) * scale,
            (-2 * float(values.sum()) - 2 * n * mean * slope) * scale,
            (n - n * slope**2) * scale,
        )
    )


def _split_coefficients(a: Floats, b: Floats, splits: Bytes, studentized: bool) -> Floats:
    n, m = len(a), len(b)
    centre = (a.sum() + b.sum()) / (n + m)
    values = np.concatenate((a, b)) - centre
    own = np.repeat([1.0, 0.0], (n, m))
    table = np.column_stack((values, own, values**2, values * own))
    first = splits.astype(float) @ table
    second = table.sum(axis=0) - first
    parts = []
    for sums, size in ((first, n), (second, m)):
        total, moved, squares, cross = sums.T
        scale = 1 / (size * (size - 1)) if studentized else 0.0
        parts.append(
            np.stack(
                (
                    total / size,
                    -moved / size,
                    (squares - total**2 / size) * scale,
                    (-2 * cross + 2 * total * moved / size) * scale,
                    (moved - moved**2 / size) * scale,
                )
            )
        )
    return np.concatenate((parts[0][:2] - parts[1][:2], parts[0][2:] + parts[1][2:]))


def agreeing(low: float, high: float, estimate: float, rejected: bool) -> tuple[float, float]:
    """The interval contains 0 exactly if the test does not reject it, also where ties make p uneven."""
    if math.isnan(low):
        return low, high
    if rejected and low <= 0 <= high:
        return (math.nextafter(0.0, 1.0), high) if estimate > 0 else (low, math.nextafter(0.0, -1.0))
    return (low, high) if rejected else (min(low, 0.0), max(high, 0.0))
