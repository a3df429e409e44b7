"""The outcome of a test of two methods, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from graphgauge.old.core.result import Interval
from graphgauge.old.stats.runs import Better
from graphgauge.old.stats.text import bounds, decimals, fixed, p_text, plus_minus, several
from graphgauge.old.stats.wilcoxon import attainable_p, seeds_needed

# Cohen's terms for correlations.
_WORDS = ((0.5, "large"), (0.3, "medium"), (0.1, "small"), (0.0, "negligible"))
PAIRED = ("signed-rank", "sign-flip")
_TITLES = {
    "signed-rank": "Wilcoxon signed-rank",
    "sign-flip": "sign flips of the mean difference",
    "rank-sum": "Mann–Whitney rank sum",
    "permutation": "permutation of the mean difference",
}
_CALLED = {
    "signed-rank": "paired signed-rank test",
    "sign-flip": "paired sign-flip test",
    "rank-sum": "rank-sum test",
    "permutation": "permutation test",
}


@dataclass(frozen=True)
class Margin:
    """Differences up to `size` do not matter; `ci` is the interval of level 1 − 2α that two one-sided tests leave."""

    size: float
    ci: Interval | None


@dataclass(frozen=True)
class MethodTest:
    """Two methods, the test of their difference, and its interval. Differences are first minus second, as measured.

    `test` is `sign-flip` or `signed-rank` for pairs and `permutation` or `rank-sum` for independent runs. `ci` is the
    interval of `shift`: the mean difference, or the Hodges–Lehmann estimate if the test uses ranks. It contains 0
    exactly if `p_value` is above α; if the design has no such interval at this level, it is Student's t. `pairs` is the
    number of pairs, or of runs of both methods; `n` counts the pairs that differ: only they carry evidence.

    `effect_size_r` is the rank-biserial correlation, positive if the first is better, or scores higher if `better`
    is not given. `p_value` is unadjusted; `p_adjusted` accounts for `comparisons` tests, and `significant` and
    `can_reject` are based on it.
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
    test: str = "signed-rank"
    shift: float = math.nan
    lowest_p: float | None = None
    runs: tuple[int, int] = (0, 0)
    datasets: int = 1
    margin: Margin | None = None

    @property
    def no_interval(self) -> str | None:
        """Why there is no interval, if there is none."""
        if self.ci is not None:
            return None
        if self.test in PAIRED:
            if self.pairs == 1:
                return "one pair has no interval"
            return "it is the same in every pair, so there is no spread for an interval"
        return "too few runs, or runs without spread"

    @property
    def significant(self) -> bool:
        return self.p_adjusted <= self.alpha

    @property
    def p_min_attainable(self) -> float:
        """The smallest p that this design can give."""
        return attainable_p(self.n) if self.lowest_p is None else self.lowest_p

    @property
    def can_reject(self) -> bool:
        """Whether any scores could reject; after other rejections, Holm's threshold is less strict."""
        return self.significant or self.p_min_attainable * self.comparisons <= self.alpha

    @property
    def seeds_needed(self) -> int:
        """The fewest units (per method and dataset, if runs are rearranged within datasets) that can reject."""
        pairs = seeds_needed(self.comparisons, self.alpha)
        if self.test in PAIRED:
            return math.ceil(pairs / self.datasets)
        runs = 2
        while 2 / math.comb(2 * runs, runs) ** self.datasets * self.comparisons > self.alpha:
            runs += 1
        return runs

    @property
    def effect_word(self) -> str:
        if math.isnan(self.effect_size_r):
            return "undefined"
        return next(word for least, word in _WORDS if abs(self.effect_size_r) >= least)

    def among(self, comparisons: int, p_adjusted: float) -> MethodTest:
        """This test as one of several.

        Parameters
        ----------
        comparisons
            How many tests there are.
        p_adjusted
            The p-value after correction for their number.

        Returns
        -------
        MethodTest
            A copy with both.
        """
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
        lines = [
            f"{head}: {', '.join(scores)} (mean ± std over {self._size()})",
            f"  difference: {self._difference(digits)}",
            f"  test: {self._test()}",
            f"  conclusion: {self.conclusion}",
        ]
        return "\n".join([*lines, f"  margin: {self.equivalence}"] if self.margin else lines)

    def _size(self) -> str:
        if self.test in PAIRED:
            return several(self.pairs, self.unit)
        return f"{self.runs[0]} and {several(self.runs[1], 'run')}"

    def _difference(self, digits: int) -> str:
        if self.ci is None:
            return f"{fixed(self.mean_difference, digits)}; {self.no_interval}"
        digits = decimals((self.ci.high - self.ci.low) / 4)
        level = f"{100 * self.ci.level:g} %"
        interval = f"{level} interval {bounds(self.ci, digits)} ({interval_words(self.ci)})"
        if self.ci.method == "ranks":
            mean = fixed(self.mean_difference, digits)
            return f"{fixed(self.shift, digits)} (Hodges–Lehmann), {interval}; mean difference {mean}"
        return f"{fixed(self.mean_difference, digits)}, {interval}"

    def _test(self) -> str:
        if self.n == 0:
            return "none, because no pair differs"
        approximate = {"signed-rank": "normal approximation", "rank-sum": "normal approximation"}
        kind = "exact" if self.exact else approximate.get(self.test, "by random draws, small p by Student's t")
        dropped = (
            f", {several(self.pairs - self.n, 'equal pair')} dropped"
            if self.test == "signed-rank" and self.pairs > self.n
            else ""
        )
        adjusted = (
            f", {p_text(self.p_adjusted)} after Holm over {self.comparisons} tests" if self.comparisons > 1 else ""
        )
        statistic = "" if math.isnan(self.test_statistic) else f"W = {self.test_statistic:g}, "
        return (
            f"{_TITLES[self.test]}, two-sided, {kind}{dropped}: {statistic}{p_text(self.p_value)}"
            f"{adjusted}; rank-biserial r = {self.effect_size_r:.2f} ({self.effect_word})"
        )

    @property
    def conclusion(self) -> str:
        """What the data support."""
        if self.n == 0:
            what = several(self.pairs, "pair" if self.test in PAIRED else "run")
            return f"all {what} are equal, so there is nothing to test."
        if not self.can_reject:
            return self._cannot_reject()
        if self.significant:
            verb = "scores higher" if self.better is None else "is better"
            leader, other = self.names if self._first_leads else self.names[::-1]
            return f"{leader} {verb} than {other} ({p_text(self.p_adjusted)} at α = {self.alpha:g})."
        alone = (
            f" ({p_text(self.p_value)} alone, {p_text(self.p_adjusted)} with Holm's correction)"
            if self.p_value <= self.alpha
            else ""
        )
        return (
            f"no significant difference at α = {self.alpha:g}{alone}; this does not show that they are equal, "
            "the interval shows which differences remain possible."
        )

    @property
    def _first_leads(self) -> bool:
        ahead = self.shift if self.shift == self.shift and self.shift != 0 else self.effect_size_r
        turned = self.better == "lower" and self.shift == self.shift and self.shift != 0
        return (ahead < 0) if turned else (ahead > 0)

    def _cannot_reject(self) -> str:
        over = f" over {self.comparisons} tests" if self.comparisons > 1 else ""
        lowest = min(1.0, self.p_min_attainable * self.comparisons)
        if self.test not in PAIRED:
            have, each = f"{self.runs[0]} + {self.runs[1]} runs", " of each method"
        else:
            equal = f", and {several(self.pairs - self.n, 'equal pair')}," if self.pairs > self.n else ""
            have, each = f"{several(self.n, 'pair')} that differ{'s' if self.n == 1 else ''}{equal}", ""
        each += " on every dataset" if self.datasets > 1 else ""
        needed = several(self.seeds_needed, self.unit if self.test in PAIRED else "run")
        text = (
            f"the {_CALLED[self.test]} cannot reject: with {have} p{over} cannot fall "
            f"below {lowest:.4g}, regardless of the scores; it takes at least {needed}{each}."
        )
        if self.ci is not None and not self.ci.low <= 0 <= self.ci.high:
            text += f" The interval excludes 0, {_ASSUMING[self.test in PAIRED]}."
        return text

    @property
    def equivalence(self) -> str:
        """What the interval says about differences of at most the margin, in words."""
        return "" if self.margin is None else margin_words(self.names, self.margin, self.better)

    def to_dict(self) -> dict[str, Any]:
        """The test as in the JSON of `graphgauge compare`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        return {
            "names": list(self.names),
            "metric": self.metric,
            "better": self.better,
            "test": self.test,
            "unit": self.unit,
            "pairs": self.pairs,
            "n": self.n,
            "runs": list(self.runs),
            "means": list(self.means),
            "stds": list(self.stds),
            "mean_difference": self.mean_difference,
            "shift": self.shift,
            "ci": None if self.ci is None else list(self.ci),
            "ci_method": None if self.ci is None else self.ci.method,
            "no_interval": self.no_interval,
            "confidence": 1 - self.alpha,
            "test_statistic": self.test_statistic,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "exact": self.exact,
            "comparisons": self.comparisons,
            "alpha": self.alpha,
            "significant": self.significant,
            "p_min_attainable": self.p_min_attainable,
            "can_reject": self.can_reject,
            "seeds_needed": self.seeds_needed,
            "effect_size_r": self.effect_size_r,
            "effect_word": self.effect_word,
            "margin": None
            if self.margin is None
            else {
                "size": self.margin.size,
                "ci": None if self.margin.ci is None else list(self.margin.ci),
                "conclusion": self.equivalence,
            },
            "summary": self.summary,
        }

    def __str__(self) -> str:
        return self.summary


_ASSUMING = {True: "assuming normal differences", False: "assuming normal scores"}


def interval_words(ci: Interval) -> str:
    """How an interval of a difference was made."""
    return {"t": "Student's t", "ranks": "the test inverted", "rearranged": "the test inverted"}.get(
        ci.method, ci.method
    )


def margin_words(names: tuple[str, str], margin: Margin, better: Better | None) -> str:
    """Equivalence by two one-sided tests, non-inferiority by one: whether the interval is inside the margin."""
    size, ci = margin.size, margin.ci
    if ci is None:
        return f"nothing can be said about a margin of {size:g}, because there is no interval."
    said = f"{100 * ci.level:g} % interval {bounds(ci)}" + (" of Student's t" if ci.method == "t" else "")
    first, second = names
    if -size < ci.low and ci.high < size:
        return f"{first} and {second} are equivalent within ±{size:g} (the {said} is inside)."
    not_lower, not_higher = ci.low > -size, ci.high < size
    if better is not None and (not_lower or not_higher):
        one, other = (first, second) if not_lower == (better == "higher") else (second, first)
        return f"{one} is not worse than {other} by more than {size:g} ({said}); equivalence is not shown."
    return f"differences beyond ±{size:g} remain possible ({said}); neither equivalence nor non-inferiority is shown."
