"""What the interval of a difference of two methods is expected to cover, simulated from their own runs.

As in `expected`, populations that could have given the runs are drawn around them, each with a little of what the runs
do not show, and from each population samples of the same sizes. A run deviates from the mean of its dataset by the
spread there times a shape that all datasets share: a few seeds per dataset show no shape of their own. Whom the
simulated runs take after depends on the number of runs only, so all pairs of methods share these draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.stats.expected import POPULATIONS, SAMPLES, reported
from graphgauge.stats.intervals import UNSEEN, t_quantile
from graphgauge.stats.ranks import rank_sum_cut, signed_rank_cut
from graphgauge.stats.rearrange import Arrangements, Pair, arrangements

Bools = NDArray[np.bool_]

# Rearrangements that are enough for a share of samples, and cells of one simulation.
_DRAWS, _ALL = 199, 256
_CELLS = 1 << 17
_FEWEST_SAMPLES = 4
# What was not seen is this many times as far out as the farthest run, twice as far if there are only a few.
_FARTHER, _FEW = 2.0, 5
# Simulated scores vary by so much over n², in spreads, around the run that they take after: a few runs would tie.
_SMOOTH, _SMOOTHEST = 7.0, 0.3
# The standard deviation over populations counts by this much: runs tell little about their population.
_CAUTION = 0.65
# A spread of a few seeds is partly that of the other datasets, as if these added so many degrees of freedom.
_SHARED_DF = 8.0
# Differences of two runs, or means of two pairs, that are not too many for ranks.
_MOST_DIFFERENCES = 4000


# Several datasets, and very many runs, are simulated by Student's t.
_NONE = Arrangements((), False, False)


def expected_difference_coverage(
    datasets: Sequence[Pair], *, paired: bool, ranks: bool, alpha: float, bounds: tuple[float, float]
) -> float | None:
    """The expected coverage of the interval that the test of these runs leaves, if it falls short of its level."""
    # Sorted, so that the order of runs does not matter.
    if paired:
        sides = [[np.sort(a - b) for a, b in datasets]]
        width = bounds[1] - bounds[0]
        limits = (-width, width)
    else:
        sides, limits = [[np.sort(pair[index]) for pair in datasets] for index in (0, 1)], bounds
    if any(len(values) < 2 for side in sides for values in side):
        return None
    if ranks and math.prod(len(side[0]) for side in sides) > _MOST_DIFFERENCES:
        return None
    shapes = _shapes(sides, limits)
    runs = max(int(shape.sizes.sum()) for shape in shapes)
    each = min(SAMPLES, max(_FEWEST_SAMPLES, _CELLS // (POPULATIONS * runs)))
    arranged = _arranged(tuple((len(a), len(b)) for a, b in datasets), paired) if len(datasets) == 1 else _NONE
    by_test = _rejects(arranged, alpha)

    def hold(seed: int) -> Floats:
        draws = [_draws(int(s.sizes.sum()), each, seed + 100 * side) for side, s in enumerate(shapes)]
        drawn = [shape.drawn(own) for shape, own in zip(shapes, draws, strict=True)]
        if ranks:
            truth = _typical(shapes, [own.share for own in draws])
            inside = _by_ranks(drawn, np.repeat(truth, each), alpha)
        elif by_test and paired:
            inside = _flipped(drawn[0], arranged, alpha)
        else:
            inside = _by_t([shape.sizes for shape in shapes], drawn, alpha)
            if by_test:
                inside = inside | _split(drawn, arranged, alpha)
        flat = np.logical_and.reduce([np.ptp(values, axis=1) == 0 for values in drawn])
        return np.where(flat, np.nan, inside).reshape(POPULATIONS, -1)

    return reported(hold, 1 - alpha, _CAUTION)


@dataclass(frozen=True)
class _Shape:
    """How runs of one method, or paired differences, deviate: seen and unseen deviations, and spreads by dataset."""

    deviations: Floats
    smooth: Floats
    spreads: Floats
    sizes: Ints

    def drawn(self, draws: _Draws) -> Floats:
        """Deviations of simulated runs from their true mean, samples × runs."""
        truth = draws.share @ self.deviations
        values = self.deviations[draws.pick] + self.smooth[draws.pick] * draws.noise
        values -= np.repeat(truth, len(values) // POPULATIONS)[:, None]
        return np.asarray(values * np.repeat(self.spreads, self.sizes))


def _shapes(sides: Sequence[Sequence[Floats]], limits: tuple[float, float]) -> list[_Shape]:
    spreads = [_spreads(side) for side in sides]
    # A method that is always at a ceiling may leave it as the other one does.
    most = max(float(spread.max()) for spread in spreads)
    found = []
    for side, spread in zip(sides, spreads, strict=True):
        spread = np.where(spread > 0, spread, most if most > 0 else 1.0)
        # About a mean of few runs, an outlier would seem to be less far out.
        centres = np.array([np.median(values) for values in side])
        sizes = np.array([len(values) for values in side])
        inner = np.concatenate([(v - centre) / s for v, centre, s in zip(side, centres, spread, strict=True)])
        down, up = (np.array(limit - centres) / spread for limit in limits)
        further = _FARTHER if len(inner) >= _FEW else 2 * _FARTHER
        reach = further * max(-float(inner.min()), 1.0), further * max(float(inner.max()), 1.0)
        unseen = [max(-reach[0], float(down.min())), min(reach[1], float(up.max()))]
        _, place, times = np.unique(np.concatenate(list(side)), return_inverse=True, return_counts=True)
        width = min(_SMOOTHEST, _SMOOTH / len(inner) ** 2)
        smooth = np.append(np.where(times[place] > 1, 0.0, width), [width, width])
        found.append(_Shape(np.append(inner, unseen), smooth, spread, sizes))
    return found


def _spreads(side: Sequence[Floats]) -> Floats:
    variances = np.array([values.var(ddof=1) for values in side])
    df = np.array([len(values) - 1 for values in side])
    common = float(df @ variances) / float(df.sum())
    return np.asarray(np.sqrt((df * variances + _SHARED_DF * common) / (df + _SHARED_DF)))


@dataclass(frozen=True)
class _Draws:
    """How likely each population makes each deviation, whom each simulated run takes after, and noise around it."""

    share: Floats
    pick: Ints
    noise: Floats


@lru_cache(maxsize=16)
def _draws(runs: int, each: int, seed: int) -> _Draws:
    """Of so many samples of each population."""
    rng = np.random.default_rng(seed)
    shape = np.append(np.ones(runs), [UNSEEN, UNSEEN])
    share = rng.standard_gamma(shape, (POPULATIONS, runs + 2))
    share /= share.sum(axis=1, keepdims=True)
    picked = [rng.choice(runs + 2, (each, runs), p=chance) for chance in share]
    return _Draws(share, np.concatenate(picked), rng.standard_normal((POPULATIONS * each, runs)))


@lru_cache(maxsize=16)
def _arranged(sizes: tuple[tuple[int, int], ...], paired: bool) -> Arrangements:
    return arrangements(sizes, paired=paired, seed=0, draws=_DRAWS, limit=_ALL)


def _rejects(arranged: Arrangements, alpha: float) -> bool:
    """Whether any scores could be rejected; otherwise the interval is Student's t."""
    if not (arranged.complete and arranged.blocks):
        return bool(arranged.blocks) and 1 / arranged.count <= alpha
    (block,) = arranged.blocks
    # Opposite signs, and equal numbers of runs that change sides, have the same statistic.
    mirrored = arranged.paired or 2 * int(block[0].sum()) == block.shape[1]
    return (2 if mirrored else 1) / arranged.count <= alpha


def _by_t(sizes: Sequence[Ints], drawn: Sequence[Floats], alpha: float) -> Bools:
    """Whether Student's interval of the mean over datasets contains 0, with Satterthwaite's degrees of freedom."""
    total = variance = squares = np.zeros(len(drawn[0]))
    for sign, own, values in zip((1, -1), sizes, drawn, strict=False):
        start = np.cumsum(own) - own
        mean = np.add.reduceat(values, start, axis=1) / own
        centred = values - np.repeat(mean, own, axis=1)
        error = np.add.reduceat(centred * centred, start, axis=1) / (own * (own - 1))
        total = total + sign * mean.sum(axis=1)
        variance = variance + error.sum(axis=1)
        squares = squares + (error**2 / (own - 1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(squares > 0, variance**2 / squares, 1.0)
    return np.asarray(np.abs(total) <= t_quantile(df, 1 - alpha) * np.sqrt(variance))


def _flipped(values: Floats, arranged: Arrangements, alpha: float) -> Bools:
    (signs,) = arranged.blocks
    sums = np.abs(values @ signs.T.astype(float))
    return np.asarray(np.mean(sums >= sums[:, :1] * (1 - 1e-9), axis=1) > alpha)


def _split(drawn: Sequence[Floats], arranged: Arrangements, alpha: float) -> Bools:
    """Permutations of Welch's statistic, as in `rearrange`."""
    (splits,) = arranged.blocks
    n, m = (values.shape[1] for values in drawn)
    values = np.concatenate(drawn, axis=1)
    table = splits.T.astype(float)
    first, squares = values @ table, (values * values) @ table
    second, others = values.sum(axis=1, keepdims=True) - first, (values * values).sum(axis=1, keepdims=True) - squares
    gap = np.square(first / n - second / m)
    error = (squares - first**2 / n) / (n * (n - 1)) + (others - second**2 / m) / (m * (m - 1))
    reached = gap * error[:, :1] >= gap[:, :1] * error * (1 - 1e-9)
    return np.asarray(reached.mean(axis=1) > alpha)


def _typical(shapes: Sequence[_Shape], shares: Sequence[Floats]) -> Floats:
    """Of each population, the median of the means of two pairs, or of the differences of a run of each method."""
    scaled = [shape.deviations * shape.spreads[0] for shape in shapes]
    means = [share @ values for share, values in zip(shares, scaled, strict=True)]
    found = []
    for population in range(POPULATIONS):
        own = [values - mean[population] for values, mean in zip(scaled, means, strict=True)]
        chance = [share[population] for share in shares]
        between = (own[0][:, None] + own[0]) / 2 if len(own) == 1 else own[0][:, None] - own[1]
        order = np.argsort(between, axis=None)
        reached = np.cumsum(np.outer(chance[0], chance[-1]).ravel()[order])
        found.append(between.ravel()[order[np.searchsorted(reached, reached[-1] / 2)]])
    return np.array(found)


def _by_ranks(drawn: Sequence[Floats], truth: Floats, alpha: float) -> Bools:
    """Whether Hodges and Lehmann's interval contains the truth."""
    if len(drawn) == 1:
        rows, columns = np.triu_indices(drawn[0].shape[1])
        between = (drawn[0][:, rows] + drawn[0][:, columns]) / 2
        cut = signed_rank_cut(drawn[0].shape[1], alpha)
    else:
        between = (drawn[0][:, :, None] - drawn[1][:, None, :]).reshape(len(drawn[0]), -1)
        cut = rank_sum_cut(drawn[0].shape[1], drawn[1].shape[1], alpha)
    if cut < 1:
        return _by_t([np.array([values.shape[1]]) for values in drawn], drawn, alpha)
    slack = 1e-9 * float(np.abs(between).max())
    below, above = between <= truth[:, None] + slack, between >= truth[:, None] - slack
    return np.asarray((below.sum(axis=1) >= cut) & (above.sum(axis=1) >= cut))
