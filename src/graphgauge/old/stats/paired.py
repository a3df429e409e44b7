"""Compare two methods: one test, the interval that it leaves, its effect size, and a conclusion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from graphgauge import _core
from graphgauge.core.arrays import Floats, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.result import Interval
from graphgauge.old.stats.intervals import is_rounding, sample_std
from graphgauge.old.stats.method_test import Margin, MethodTest
from graphgauge.old.stats.power import is_real
from graphgauge.old.stats.ranks import rank_sum, rank_sum_shift, signed_rank_shift
from graphgauge.old.stats.rearrange import (
    Arrangements,
    Pair,
    Shift,
    agreeing,
    arrangements,
    shift_test,
    stratified_difference,
)
from graphgauge.old.stats.runs import Better, seed_order
from graphgauge.old.stats.text import listing
from graphgauge.old.stats.wilcoxon import as_on_paper, attainable_p, rank_biserial, require_alpha, signed_rank

PairedTest = MethodTest
Statistic = Literal["mean", "ranks"]
STATISTICS = ("mean", "ranks")
Scores = ArrayLike | Mapping[Any, float]


def paired_test(
    a: Scores,
    b: Scores,
    *,
    names: tuple[str, str] | None = None,
    alpha: float = 0.05,
    better: Better | None = None,
    metric: str | None = None,
    unit: str = "seed",
    test: Statistic = "ranks",
    margin: float | None = None,
    seed: int = 0,
) -> MethodTest:
    """Test two methods on the same seeds (or datasets, as `unit` says): Wilcoxon's signed-rank test, or sign flips.

    Arrays pair by position, mappings from seed to score by seed; unmatched entries are an error. Always two-sided. Ties
    and zeros are exact. `better` gives the better direction, which the conclusion names. The interval is that of the
    same test: Hodges and Lehmann's, or with `test="mean"` the mean differences that sign flips do not reject. If the
    pairs are too few for one at this level, it is Student's t. `margin` is a difference that does not matter: the
    conclusion then also says whether the methods are equivalent, or one not inferior, up to it.

    Parameters
    ----------
    a, b
        Scores of the two methods.
    names
        Their names.
    alpha
        Level of the test.
    better
        `higher` or `lower`.
    metric
        Name of the metric, for the conclusion.
    unit
        What the pairs are: `seed`, `dataset` or another word.
    test
        `ranks` or `mean`.
    margin
        A difference that does not matter.
    seed
        Seed of random sign flips.

    Returns
    -------
    MethodTest
        The difference a − b with interval, two-sided p, effect size and a conclusion in words.

    Raises
    ------
    InputError
        If the pairs do not match.

    Examples
    --------
    >>> from graphgauge import stats
    >>> test = stats.paired_test([.91, .93, .95, .90, .91], [.64, .70, .66, .58, .67], names=("first", "second"))
    >>> test.p_value, test.can_reject, test.seeds_needed
    (0.0625, False, 6)
    """
    names = _checked(names, alpha, better, test, margin)
    first, second = _matched(a, b)
    plan = Plan(((len(first), len(first)),), paired=True, test=test, alpha=alpha, margin=margin, seed=seed)
    return plan.tested([(first, second)], names=names, better=better, metric=metric, unit=unit)


def unpaired_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    names: tuple[str, str] | None = None,
    alpha: float = 0.05,
    better: Better | None = None,
    metric: str | None = None,
    test: Statistic = "mean",
    margin: float | None = None,
    seed: int = 0,
) -> MethodTest:
    """Test two methods with independent runs, also unequally many: permutations of the mean difference, or ranks.

    The statistic is Welch's t, so that unequal spreads do not matter in large samples; all splits of the runs are
    counted up to 9 + 9. `test="ranks"` is Mann and Whitney's test with the Hodges–Lehmann interval.

    Parameters
    ----------
    a, b
        Scores of the two methods.
    names
        Their names.
    alpha
        Level of the test.
    better
        `higher` or `lower`.
    metric
        Name of the metric, for the conclusion.
    test
        `mean` or `ranks`.
    margin
        A difference that does not matter.
    seed
        Seed of random permutations.

    Returns
    -------
    MethodTest
        The difference a − b with interval, two-sided p, effect size and a conclusion in words.

    Raises
    ------
    InputError
        If a method has no runs, or a score is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> test = stats.unpaired_test([.91, .93, .95, .90, .92], [.64, .70, .66, .58, .67])
    >>> round(test.p_value, 4), test.can_reject
    (0.0079, True)
    """
    names = _checked(names, alpha, better, test, margin)
    first, second = (_scores(values, name) for values, name in ((a, "a"), (b, "b")))
    plan = Plan(((len(first), len(second)),), paired=False, test=test, alpha=alpha, margin=margin, seed=seed)
    return plan.tested([(first, second)], names=names, better=better, metric=metric, unit="run")


def require_margin(margin: Any) -> None:
    if margin is not None and not (is_real(margin) and 0 < margin < math.inf):
        raise OptionError(
            f"margin must be a positive number, not {margin!r:.60}", fix="Give the difference that does not matter."
        )


@dataclass(frozen=True)
class Plan:
    """How pairs of methods with these numbers of runs per dataset are tested; the rearrangements are shared."""

    sizes: tuple[tuple[int, int], ...]
    paired: bool
    test: Statistic
    alpha: float
    margin: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.test == "mean":
            object.__setattr__(self, "_arranged", arrangements(self.sizes, paired=self.paired, seed=self.seed))

    @property
    def arranged(self) -> Arrangements:
        found: Arrangements = self.__dict__["_arranged"]
        return found

    def shift(self, datasets: Sequence[Pair], alpha: float) -> Shift:
        """The difference, its p, and the interval at this level."""
        if self.test == "mean":
            return shift_test(datasets, self.arranged, alpha)
        ((a, b),) = datasets
        if self.paired:
            differences = a - b
            found = signed_rank(differences)
            estimate, low, high = signed_rank_shift(differences, alpha)
            lowest, p, exact = attainable_p(found.n), found.p_value, found.exact
        else:
            ranked = rank_sum(a, b)
            estimate, low, high = rank_sum_shift(a, b, alpha)
            lowest, p, exact = 2 / math.comb(len(a) + len(b), len(a)), ranked.p_value, ranked.exact
        low, high = agreeing(low, high, float(np.mean(a) - np.mean(b)), p <= alpha)
        _, error, df = stratified_difference(datasets, paired=self.paired)
        return Shift(estimate, low, high, p, min(1.0, lowest), exact, 0, error, df)

    def tested(
        self,
        datasets: Sequence[Pair],
        *,
        names: tuple[str, str],
        better: Better | None,
        metric: str | None,
        unit: str,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> MethodTest:
        largest = max(float(np.abs(values).max()) for pair in datasets for values in pair)
        rounded = [_rounded(a, b, largest, self.paired) for a, b in datasets]
        differences = np.concatenate([a - b for a, b in rounded]) if self.paired else None
        found = self.shift(rounded, self.alpha)
        flat = is_flat(rounded, differences)
        means, stds = _levels(datasets)
        effect = _effect(rounded, differences)
        n = sum(len(a) + len(b) for a, b in datasets) if differences is None else int(np.count_nonzero(differences))
        lowest = found.lowest_p if differences is None or found.lowest_p == 0 else attainable_p(n)
        ci = None if flat else self._interval(rounded, self.alpha, unit, bounds, found)
        margin = None
        if self.margin is not None:
            by_t = ci is not None and ci.method == "t"
            level = min(2 * self.alpha, 0.999)
            wide = None if flat else self._interval(rounded, level, unit, bounds, _unknown(found) if by_t else None)
            margin = Margin(float(self.margin), wide)
        kind = ("signed-rank", "sign-flip") if self.paired else ("rank-sum", "permutation")
        return MethodTest(
            names=names,
            pairs=n if differences is None else len(differences),
            n=0 if differences is None and flat and np.ptp(np.concatenate([*rounded[0]])) == 0 else n,
            means=means,
            stds=stds,
            mean_difference=float(np.mean([_mean_difference(a, b, self.paired) for a, b in rounded])),
            ci=ci,
            test_statistic=self._statistic(rounded),
            p_value=found.p_value,
            exact=found.exact,
            effect_size_r=-effect if better == "lower" else effect,
            alpha=self.alpha,
            unit=unit,
            better=better,
            metric=metric,
            p_adjusted=found.p_value,
            test=kind[self.test == "mean"],
            shift=found.difference,
            lowest_p=lowest,
            runs=(max(len(a) for a, _ in datasets), max(len(b) for _, b in datasets)),
            datasets=len(datasets),
            margin=margin,
        )

    def bounds(self, datasets: Sequence[Pair], alpha: float, found: Shift) -> tuple[float, float, str]:
        """The differences that the test does not reject; Student's t if the design can reject none at this level."""
        if not math.isnan(found.low):
            return found.low, found.high, "ranks" if self.test == "ranks" else "rearranged"
        return (*_t_bounds(datasets, self.paired, alpha), "t")

    def _interval(
        self, datasets: Sequence[Pair], alpha: float, unit: str, bounds: tuple[float, float], found: Shift | None = None
    ) -> Interval | None:
        low, high, method = self.bounds(datasets, alpha, self.shift(datasets, alpha) if found is None else found)
        if math.isnan(low) or math.isnan(high):
            return None
        widest = bounds[1] - bounds[0]
        return Interval(max(low, -widest), min(high, widest), 1 - alpha, method, f"{unit}s")

    def _statistic(self, datasets: Sequence[Pair]) -> float:
        if self.test == "mean":
            return math.nan
        ((a, b),) = datasets
        return signed_rank(a - b).statistic if self.paired else rank_sum(a, b).u


def _unknown(found: Shift) -> Shift:
    """Without its ends, so that intervals of all levels come from Student's t and contain each other."""
    return replace(found, low=math.nan, high=math.nan)


def _t_bounds(datasets: Sequence[Pair], paired: bool, alpha: float) -> tuple[float, float]:
    mean, error, df = stratified_difference(datasets, paired=paired)
    if not df >= 1 or is_rounding(error, abs(mean)):
        return math.nan, math.nan
    reach = _core.student_quantile(alpha / 2, df) * error
    return mean - reach, mean + reach


def is_flat(datasets: Sequence[Pair], differences: Floats | None) -> bool:
    """Whether there is no spread to make an interval of."""
    if differences is None and all(len(a) == len(b) == 1 for a, b in datasets):
        differences = np.concatenate([a - b for a, b in datasets])  # one run each: datasets are all the spread there is
    if differences is not None:
        return len(differences) < 2 or float(np.ptp(differences)) == 0
    return all(np.ptp(a) == 0 and np.ptp(b) == 0 for a, b in datasets)


def _rounded(a: Floats, b: Floats, largest: float, paired: bool) -> Pair:
    """Scores, or differences against 0, as on paper: .9 − .8 ties with .8 − .7."""
    if paired:
        return as_on_paper(a - b, largest), np.zeros(len(b))
    return as_on_paper(a, largest), as_on_paper(b, largest)


def _mean_difference(a: Floats, b: Floats, paired: bool) -> float:
    return float(np.mean(a - b)) if paired else float(a.mean() - b.mean())


def _levels(datasets: Sequence[Pair]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean and standard deviation of each method; over several datasets, the mean ones within a dataset."""
    means, stds = [], []
    for index in (0, 1):
        own = [pair[index] for pair in datasets]
        means.append(float(np.mean([values.mean() for values in own])))
        spreads = [sample_std(values) for values in own]
        stds.append(spreads[0] if len(own) == 1 else math.sqrt(float(np.mean(np.square(spreads)))))
    return (means[0], means[1]), (stds[0], stds[1])


def _effect(datasets: Sequence[Pair], differences: Floats | None) -> float:
    """Rank-biserial correlation: of the signed ranks of pairs, or the mean over datasets for independent runs."""
    if differences is not None:
        return rank_biserial(differences)
    each = [np.sign(a[:, None] - b).mean() for a, b in datasets]
    return float(np.mean(each))


def _checked(names: Any, alpha: Any, better: Any, test: Any, margin: Any) -> tuple[str, str]:
    require_alpha(alpha)
    require_margin(margin)
    one_of("test", test, STATISTICS)
    if better is not None:
        one_of("direction", better, ("higher", "lower"))
    if names is not None and (isinstance(names, str) or len(tuple(names)) != 2):
        raise OptionError(f"names must be those of the two methods, not {names!r:.60}")
    return names or ("a", "b")


def _matched(a: Scores, b: Scores) -> tuple[Floats, Floats]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        unmatched = [str(seed) for seed in (*a, *b) if not (seed in a and seed in b)]
        if unmatched:
            raise InputError(
                f"seeds without a partner: {listing(unmatched)}",
                fix="Test runs on the same seeds, or independent runs with unpaired_test.",
            )
        seeds = sorted(a, key=seed_order)
        a, b = [a[seed] for seed in seeds], [b[seed] for seed in seeds]
    elif isinstance(a, Mapping) or isinstance(b, Mapping):
        raise InputError("one side has seeds, the other does not", fix="Pass two arrays or two mappings.")
    first, second = (as_numeric(scores, name).astype(float) for scores, name in ((a, "a"), (b, "b")))
    if first.ndim != 1 or first.shape != second.shape or len(first) == 0:
        raise InputError(
            f"expected two rows of equally many scores, found shapes {first.shape} and {second.shape}",
            fix="Arrays pair by position; pass mappings from seed to score to pair by seed.",
        )
    return _finite(first, "a"), _finite(second, "b")


def _scores(values: Any, name: str) -> Floats:
    if isinstance(values, Mapping):
        values = [values[seed] for seed in sorted(values, key=seed_order)]
    scores = as_numeric(values, name).astype(float)
    if scores.ndim != 1 or len(scores) == 0:
        raise InputError(f"expected a row of scores, found shape {scores.shape}", where=name)
    return np.sort(_finite(scores, name))


def _finite(scores: Floats, name: str) -> Floats:
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        are = "is" if len(bad) == 1 else "are"
        raise InputError(
            f"{len(bad)} of {len(scores)} scores {are} NaN or infinite, the first at index {bad[0]}",
            where=name,
            fix="A failed run cannot be paired: repeat it, or leave its seed out on both sides and report it.",
        )
    return scores
