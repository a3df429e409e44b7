"""Conditioning: whether a classifier recognises the requested conditions, and how reliable the classifier is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.confusion import bootstrapped_compositions, compositions, condition_number
from graphgauge.generation.declared import (
    FAMILY,
    LAWS,
    MACRO,
    MICRO,
    NO_ORDER,
    WHOLE,
    level,
    of_draws,
    of_shares,
)
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.levels import Draws, answer_draws, named, predicted
from graphgauge.generation.samples import ConditionSample, Numbers
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.metric import Estimate, Level, MetricFunction, NoChance, NoInterval, metric, section
from graphgauge.old.core.result import Result

section(
    "conditioning",
    family=FAMILY,
    priority="low",
    aliases=("grade_conditioning",),
    question="whether a classifier recognises the requested conditions in generated samples",
)

# Above this the classifier's confusions cannot be corrected, because noise would be amplified by this factor.
WORST_CONDITION_NUMBER = 10
# Corrections of one draw take thousands of steps; the band of so many draws is exact as well.
CORRECTED_DRAWS = 199
# A classifier with a lower accuracy on real samples is weak.
WEAK = 0.5
_ASSUMED = "assumes that the classifier makes the same errors on generated samples as on real ones"


class Confusions:
    """The classifier's predictions on real samples with known conditions, and on generated ones."""

    def __init__(self, table: SampleTable, draws: Draws) -> None:
        assert table.predicted is not None
        groups = len(table.labels)
        kept = table.kept
        self.codes, self.predicted = table.codes[kept], table.predicted[kept]
        self.groups = groups
        self.labels = np.empty(0, np.int64) if table.classifier_labels is None else table.classifier_labels
        self.answers = np.empty(0, np.int64) if table.classifier_predicted is None else table.classifier_predicted
        self.asked = _crossed(self.codes, self.predicted, groups)
        self.confusion = _crossed(self.labels, self.answers, groups)
        self.counts = np.bincount(self.codes, minlength=groups)
        self._draws = draws

    @cached_property
    def present(self) -> Codes:
        """Conditions with generated samples."""
        return np.flatnonzero(self.counts)

    @cached_property
    def usable(self) -> Codes:
        """Conditions that the classifier was tested on or has predicted."""
        return np.flatnonzero(self.confusion.sum(1) + self.confusion.sum(0) + self.asked.sum(1) + self.asked.sum(0))

    @cached_property
    def condition_number(self) -> float:
        if not self.confusion.sum():
            return np.nan
        return float(condition_number(self.confusion[np.ix_(self.usable, self.usable)]))

    @property
    def reason(self) -> str | None:
        """The reason why confusions cannot be corrected, if they cannot."""
        if not len(self.present):
            return "no valid generated samples"
        if not self.confusion.sum():
            return "the classifier was not tested on real held-out samples"
        if self.condition_number > WORST_CONDITION_NUMBER:
            number = self.condition_number
            text = "infinite" if np.isinf(number) else f"{number:.3g}"
            return f"the condition number of the confusion matrix is {text}, above {WORST_CONDITION_NUMBER}"
        return None

    def _indices(self) -> tuple[Numbers, Numbers]:
        inner = np.ix_(self.usable, self.usable)
        return self.confusion[inner], self.asked[np.ix_(self.present, self.usable)]

    @cached_property
    def shares(self) -> Floats:
        """The estimated true composition (present, usable) of each condition with samples."""
        return np.asarray(compositions(*self._indices()))

    @cached_property
    def drawn(self) -> Floats:
        generator = self._draws.generator(8)
        return np.asarray(bootstrapped_compositions(*self._indices(), draws=self._draws.resamples, generator=generator))

    @cached_property
    def tested(self) -> Bits:
        """Conditions with generated samples and real ones that the classifier was tested on."""
        return np.asarray((self.counts > 0) & (self.confusion.sum(1) > 0))

    @cached_property
    def perfect(self) -> Numbers:
        """Answers (3, draws, conditions, answers) to real samples in place of the generated ones, as `answer_draws`."""
        counts = np.where(self.tested, self.counts, 0)
        return answer_draws(self.confusion, counts, draws=self._draws.resamples, generator=self._draws.generator(20))

    @cached_property
    def perfect_compositions(self) -> Floats:
        """The corrected composition (3, draws, present, usable) of real samples in place of the generated ones.

        They are corrected with the observed confusions, to the same precision as the generated ones. What few
        held-out samples leave open is how the classifier answers further ones.
        """
        confusion, _ = self._indices()
        answers = answer_draws(
            confusion,
            self.counts[self.usable],
            draws=min(self._draws.resamples, CORRECTED_DRAWS),
            generator=self._draws.generator(21),
        )
        return np.asarray(compositions(confusion, answers[:, :, np.searchsorted(self.usable, self.present)]))

    def within(self, shares: Floats, tolerance: int) -> Floats:
        """The share within `tolerance` of the requested condition; the last axis is that of the usable conditions."""
        near = np.abs(self.usable[np.newaxis, :] - self.present[:, np.newaxis]) <= tolerance
        return np.asarray(np.clip((shares * near).sum(-1), 0, 1))


def _crossed(rows: Codes, columns: Codes, groups: int) -> Codes:
    return np.bincount(rows * groups + columns, minlength=groups * groups).reshape(groups, groups)


@dataclass(frozen=True)
class Answers(ConditionSample):
    """The classifier's predictions on valid generated samples, and on real ones."""

    found: Confusions = field(kw_only=True)
    ordered: bool = False

    @classmethod
    def of(cls, table: SampleTable, draws: Draws, **common: Any) -> Answers:
        return cls(table.labels, found=Confusions(table, draws), ordered=table.ordered, **common)

    def left_out(self) -> Mapping[str, str]:
        pairs = zip(self.labels, self.found.counts.tolist(), strict=True)
        return {label: "no valid generated samples" for label, count in pairs if count == 0}

    def weak_classifier(self) -> tuple[str, ...]:
        """A warning if the classifier gets less than half of the real samples right."""
        found = self.found
        total = int(found.confusion.sum())
        right = int(np.trace(found.confusion))
        if not total or right >= WEAK * total:
            return ()
        return (
            f"the classifier gets {right / total:.0%} of {total} real held-out samples right: it misjudges most "
            "generated samples, too",
        )

    def generated(self, tolerance: int) -> Estimate:
        near = np.abs(self.found.predicted - self.found.codes) <= tolerance
        return self.share(near, self.found.codes, "no valid generated samples")

    def real(self, tolerance: int) -> Estimate:
        near = np.abs(self.found.answers - self.found.labels) <= tolerance
        return self.share(near, self.found.labels, "the classifier was not tested on real held-out samples")

    def corrected(self, tolerance: int) -> Estimate:
        found = self.found
        if found.reason is not None:
            return self.nothing(found.reason)
        values = np.full(self.groups, np.nan)
        values[found.present] = found.within(found.shares, tolerance)
        draws = np.full((len(found.drawn), self.groups), np.nan)
        draws[:, found.present] = found.within(found.drawn, tolerance)
        if self.average is not None:
            weights = found.counts[found.present] if self.average == "micro" else np.ones(len(found.present))
            draws = (draws[:, found.present] @ (weights / weights.sum()))[:, np.newaxis]
        return self.estimate(values, found.counts, "", draws=draws)


def _dealt(tolerance: int, *, corrected: bool = False) -> Any:
    """Perfect: real samples in place of the generated ones. Chance: the same predictions in random order, on average.

    The classifier's answers to the real samples are predicted from those to held-out ones of the same conditions.
    """

    def chance(function: MetricFunction, sample: Answers, params: Mapping[str, Any]) -> dict[str, float]:
        found = sample.found
        answered = found.asked.sum(0) / max(found.asked.sum(), 1)
        codes = np.arange(sample.groups)
        near = np.abs(codes[:, np.newaxis] - codes) <= tolerance
        values = np.where(found.counts > 0, near @ answered, np.nan)
        levels: dict[str, Level | None] = {"chance": Level(min(level(sample, values, found.counts), 1.0))}
        if corrected and found.reason is None:
            drawn = np.full((*found.perfect_compositions.shape[:2], sample.groups), np.nan)
            drawn[..., found.present] = found.within(found.perfect_compositions, tolerance)
            levels["perfect"] = predicted("perfect", _averaged(sample, drawn))
        elif found.tested.any() and not corrected:
            with np.errstate(invalid="ignore"):
                drawn = np.einsum("erca,ca->erc", found.perfect, near) / np.where(found.tested, found.counts, np.nan)
                own = (found.asked * near).sum(1) / np.where(found.tested, found.counts, np.nan)
            missing = int(np.count_nonzero((found.counts > 0) & ~found.tested))
            note = f"without {missing} conditions that the classifier was not tested on" if missing else None
            value = float(_averaged(sample, own)) if missing else None
            levels["perfect"] = predicted("perfect", _averaged(sample, drawn), own=value, note=note)
        return named(levels)

    chance.__doc__ = _dealt.__doc__
    return chance


def _averaged(sample: Answers, values: Floats) -> Floats:
    """Values (…, conditions) averaged over the conditions that have one, like the sample."""
    weights = np.where(np.isnan(values), 0.0, sample.found.counts if sample.average == "micro" else 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values * weights, axis=-1) / weights.sum(-1))


def _majority(tolerance: int) -> Any:
    """Always the prediction that is right most often."""

    def chance(function: MetricFunction, sample: Answers, params: Mapping[str, Any]) -> dict[str, float]:
        counts = sample.found.confusion.sum(1)
        codes = np.arange(sample.groups)
        near = np.abs(codes[:, np.newaxis] - codes) <= tolerance
        return named({"chance": Level(float((near @ counts).max() / counts.sum()))})

    chance.__doc__ = _majority.__doc__
    return chance


def _read(result: Result) -> str:
    levels = {found.name: found for found in result.chance}
    if result.interval is None or "chance" not in levels:
        return "too few samples for a comparison with chance"
    if not result.interval.low > levels["chance"].value:
        return "not significantly better than chance"
    if "perfect" not in levels:
        return "better than chance; without real samples its ceiling is not known"
    perfect = levels["perfect"]
    if perfect.contains(result.value):
        return "better than chance, and as good as real samples of the same conditions"
    return f"better than chance; real samples of the same conditions score {perfect.value:.2f}"


_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "conditioning",
    "needs": ("answers",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "ravuri2019",
    "direction": "higher",
    "bounds": (0, 1),
}
_SHARE = {"scale": "a share, not percent", "samples": "valid ones"}
_CORRECTED = _COMMON | {
    "interval": of_draws,
    "reference": "saerens2002",
    "conventions": MACRO | _SHARE | {"assumption": _ASSUMED},
}


@metric(
    key="overall_exact_accuracy",
    conventions=MACRO | _SHARE,
    interval=of_shares,
    chance=_dealt(0),
    interpretation=_read,
    **_COMMON,
)
def overall_exact_accuracy(sample: Answers) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition."""
    return sample.generated(0).warned(*sample.weak_classifier())


@metric(key="overall_tolerance_1_accuracy", conventions=MACRO | _SHARE, interval=of_shares, chance=_dealt(1), **_COMMON)
def overall_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition or a neighbour of it."""
    return sample.generated(1) if sample.ordered else sample.nothing(NO_ORDER)


@metric(
    key="classifier_exact_accuracy",
    conventions=MICRO | {"samples": "real ones, held out"},
    interval=of_shares,
    chance=_majority(0),
    **_COMMON,
)
def classifier_exact_accuracy(sample: Answers) -> Estimate:
    """Share of real held-out samples that the classifier gets right.

    A perfect generator reaches it only with the same mix of conditions; `perfect`, next to `overall_exact_accuracy`, is
    the score of real samples with the mix of the generated ones.
    """
    return sample.real(0)


@metric(
    key="classifier_tolerance_1_accuracy",
    conventions=MICRO | {"samples": "real ones, held out"},
    interval=of_shares,
    chance=_majority(1),
    **_COMMON,
)
def classifier_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """Share of real held-out samples that the classifier assigns to the true condition or a neighbour of it."""
    return sample.real(1) if sample.ordered else sample.nothing(NO_ORDER)


@metric(
    key="classifier_condition_number",
    conventions=WHOLE | {"matrix": "shares of answers by true condition"},
    chance=NoChance("it describes the classifier"),
    interval=NoInterval("it describes this classifier"),
    **_COMMON | {"direction": "lower", "bounds": (1, np.inf), "reference": "saerens2002"},
)
def classifier_condition_number(sample: Answers) -> Estimate:
    """How much correcting for the classifier's confusions amplifies noise; above 10 there is no corrected value."""
    found = sample.found
    value = max(found.condition_number, 1.0) if found.condition_number == found.condition_number else np.nan
    return Estimate(np.array([value]), np.array([found.confusion.sum()]), reason="no real samples were classified")


@metric(key="corrected_exact_accuracy", chance=_dealt(0, corrected=True), **_CORRECTED)
def corrected_exact_accuracy(sample: Answers) -> Estimate:
    """Share of samples with the requested condition, corrected for the classifier's confusions on real samples."""
    return sample.corrected(0)


@metric(key="corrected_tolerance_1_accuracy", chance=_dealt(1, corrected=True), **_CORRECTED)
def corrected_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """The same share, with neighbours of the requested condition."""
    return sample.corrected(1) if sample.ordered else sample.nothing(NO_ORDER)
