"""Compare two methods on the same seeds or datasets: one test, its effect size, and a conclusion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import Floats, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.result import Interval
from graphgauge.stats.intervals import sample_interval, sample_std
from graphgauge.stats.runs import Better, seed_order
from graphgauge.stats.text import bounds, decimals, fixed, listing, p_text, plus_minus, several
from graphgauge.stats.wilcoxon import attainable_p, paired_differences, require_alpha, seeds_needed, signed_rank

# Cohen's terms for correlations.
_WORDS = ((0.5, "large"), (0.3, "medium"), (0.1, "small"), (0.0, "negligible"))


@dataclass(frozen=True)
class PairedTest:
    """Outcome of `paired_test`. Differences are first minus second, as measured; `ci` is None if they do not vary.

    `effect_size_r` is positive if the first is better, or scores higher if `better` is not given.
    `p_value` is unadjusted; `p_adjusted` accounts for `comparisons` tests, and `significant` and `can_reject` are
    based on it. `n` counts the pairs that differ: only they carry evidence.
    """

    names: tuple[str, str]
    pairs: int
    n: int
    means: tuple[float, float]
    stds: tuple[float, float]
    mean_difference: float
    ci: Interval | None
    test_statistic: float
    p_value: float
    exact: bool
    effect_size_r: float
    alpha: float
    unit: str = "seed"
    better: Better | None = None
    metric: str | None = None
    comparisons: int = 1
    p_adjusted: float = math.nan

    @property
    def no_interval(self) -> str | None:
        """Why there is no interval, if there is none."""
        if self.ci is not None:
            return None
        if self.pairs == 1:
            return "one pair has no interval"
        return "it is the same in every pair, so there is no spread for an interval"

    @property
    def significant(self) -> bool:
        return self.p_adjusted <= self.alpha

    @property
    def p_min_attainable(self) -> float:
        """The smallest p that this many differing pairs can give."""
        return attainable_p(self.n)

    @property
    def can_reject(self) -> bool:
        """Whether any scores could reject; after other rejections, Holm's threshold is less strict."""
        return self.significant or self.p_min_attainable * self.comparisons <= self.alpha

    @property
    def seeds_needed(self) -> int:
        """The fewest differing pairs with which the design can reject."""
        return seeds_needed(self.comparisons, self.alpha)

    @property
    def effect_word(self) -> str:
        if math.isnan(self.effect_size_r):
            return "undefined"
        return next(word for least, word in _WORDS if abs(self.effect_size_r) >= least)

    def among(self, comparisons: int, p_adjusted: float) -> PairedTest:
        """This test as one of several."""
        return replace(self, comparisons=comparisons, p_adjusted=p_adjusted)

    @property
    def summary(self) -> str:
        digits = decimals(max(self.stds, key=lambda std: 0.0 if math.isnan(std) else std), self.means[0])
        first, second = self.names
        scores = [
            f"{name} {plus_minus(mean, std, digits)}"
            for name, mean, std in zip(self.names, self.means, self.stds, strict=True)
        ]
        head = f"{first} vs {second}" + (f" ({self.metric})" if self.metric else "")
        return "\n".join(
            [
                f"{head}: {', '.join(scores)} (mean ± std over {several(self.pairs, self.unit)})",
                f"  difference: {self._difference(digits)}",
                f"  test: {self._test()}",
                f"  conclusion: {self.conclusion}",
            ]
        )

    def _difference(self, digits: int) -> str:
        estimate = fixed(self.mean_difference, digits)
        if self.ci is None:
            return f"{estimate}; {self.no_interval}"
        digits = decimals((self.ci.high - self.ci.low) / 4)
        level = f"{100 * self.ci.level:g} %"
        return f"{fixed(self.mean_difference, digits)}, {level} interval {bounds(self.ci, digits)} (Student's t)"

    def _test(self) -> str:
        if self.n == 0:
            return "none, because no pair differs"
        kind = "exact" if self.exact else "normal approximation"
        dropped = f", {several(self.pairs - self.n, 'equal pair')} dropped" if self.pairs > self.n else ""
        adjusted = (
            f", {p_text(self.p_adjusted)} after Holm over {self.comparisons} tests" if self.comparisons > 1 else ""
        )
        return (
            f"Wilcoxon signed-rank, two-sided, {kind}{dropped}: W = {self.test_statistic:g}, {p_text(self.p_value)}"
            f"{adjusted}; rank-biserial r = {self.effect_size_r:.2f} ({self.effect_word})"
        )

    @property
    def conclusion(self) -> str:
        """What the data support."""
        if self.n == 0:
            return f"all {several(self.pairs, 'pair')} are equal, so there is nothing to test."
        if not self.can_reject:
            return self._cannot_reject()
        if self.significant:
            verb = "scores higher" if self.better is None else "is better"
            leader, other = self.names if self.effect_size_r > 0 else self.names[::-1]
            return f"{leader} {verb} than {other} ({p_text(self.p_adjusted)} at α = {self.alpha:g})."
        return (
            f"no significant difference at α = {self.alpha:g}; this does not show that they are equal, "
            "the interval shows which differences remain possible."
        )

    def _cannot_reject(self) -> str:
        over = f" over {self.comparisons} tests" if self.comparisons > 1 else ""
        lowest = min(1.0, self.p_min_attainable * self.comparisons)
        text = (
            f"the paired signed-rank test cannot reject: with {several(self.n, 'differing pair')} p{over} cannot fall "
            f"below {lowest:.4g}, regardless of the scores; it takes at least {several(self.seeds_needed, self.unit)}."
        )
        if self.ci is not None and 0 not in self.ci:
            text += " The interval excludes 0, assuming normal differences."
        return text

    def to_dict(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "metric": self.metric,
            "better": self.better,
            "unit": self.unit,
            "pairs": self.pairs,
            "n": self.n,
            "means": list(self.means),
            "stds": list(self.stds),
            "mean_difference": self.mean_difference,
            "ci": None if self.ci is None else list(self.ci),
            "no_interval": self.no_interval,
            "confidence": 1 - self.alpha,
            "test_statistic": self.test_statistic,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "comparisons": self.comparisons,
            "alpha": self.alpha,
            "significant": self.significant,
            "p_min_attainable": self.p_min_attainable,
            "can_reject": self.can_reject,
            "seeds_needed": self.seeds_needed,
            "effect_size_r": self.effect_size_r,
            "effect_word": self.effect_word,
            "summary": self.summary,
        }

    def __str__(self) -> str:
        return self.summary


def paired_test(
    a: ArrayLike | Mapping[Any, float],
    b: ArrayLike | Mapping[Any, float],
    *,
    names: tuple[str, str] | None = None,
    alpha: float = 0.05,
    better: Better | None = None,
    metric: str | None = None,
    unit: str = "seed",
) -> PairedTest:
    """Wilcoxon's signed-rank test of two methods on the same seeds (or datasets, as `unit` says).

    Arrays pair by position, mappings from seed to score by seed; unmatched entries are an error. Always two-sided. Ties
    and zeros are exact. `better` gives the better direction, which the conclusion names.

    >>> test = paired_test([.91, .93, .95, .90, .91], [.64, .70, .66, .58, .67], names=("first", "second"))
    >>> test.p_value, test.can_reject, test.seeds_needed
    (0.0625, False, 6)
    """
    require_alpha(alpha)
    if better is not None:
        one_of("direction", better, ("higher", "lower"))
    if names is not None and (isinstance(names, str) or len(tuple(names)) != 2):
        raise OptionError(f"names must be those of the two methods, not {names!r:.60}")
    first, second = _matched(a, b)
    differences = paired_differences(first, second)
    ranks = signed_rank(differences)
    return PairedTest(
        names=names or ("a", "b"),
        pairs=len(differences),
        n=ranks.n,
        means=(float(first.mean()), float(second.mean())),
        stds=(sample_std(first), sample_std(second)),
        mean_difference=float(differences.mean()),
        # Differences are rounded, so that equal ones have no spread.
        ci=sample_interval(differences, 1 - alpha, f"{unit}s") if np.ptp(differences) > 0 else None,
        test_statistic=ranks.statistic,
        p_value=ranks.p_value,
        exact=ranks.exact,
        effect_size_r=-ranks.rank_biserial if better == "lower" else ranks.rank_biserial,
        alpha=alpha,
        unit=unit,
        better=better,
        metric=metric,
        p_adjusted=ranks.p_value,
    )


def _matched(a: ArrayLike | Mapping[Any, float], b: ArrayLike | Mapping[Any, float]) -> tuple[Floats, Floats]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        unmatched = [str(seed) for seed in (*a, *b) if not (seed in a and seed in b)]
        if unmatched:
            raise InputError(f"seeds without a partner: {listing(unmatched)}", fix="Test runs on the same seeds.")
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
    for scores, name in ((first, "a"), (second, "b")):
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise InputError(
                f"{len(bad)} of {len(scores)} scores are NaN or infinite, the first at index {bad[0]}",
                where=name,
                fix="A failed run cannot be paired: repeat it, or leave its seed out on both sides and report it.",
            )
    return first, second
