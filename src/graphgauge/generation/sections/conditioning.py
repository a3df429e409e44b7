"""Conditioning: whether a classifier recognises the requested conditions, and how reliable the classifier is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, NoChance, NoInterval
from graphgauge.core.registry import section
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.averages import (
    FAMILY,
    LAWS,
    NO_ORDER,
    ConditionSample,
    declared,
    of_draws,
    of_shares,
    warned,
    whole_of,
)
from graphgauge.generation.levels import Draws, answer_draws, level, named, predicted
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.confusion import bootstrapped_compositions, compositions, condition_number

section(
    "grade_conditioning",
    family=FAMILY,
    priority="low",
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
    """The classifier's answers to real samples with known conditions, and to valid generated ones."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        assert sides.generated is not None
        made, tested = sides.generated.take(sides.generated.kept), sides.classifier
        nothing = np.empty(0, np.int64)
        self.groups, self._draws = sides.groups, draws
        self.codes, self.answers = made.conditions, made.predicted
        self.real_codes = nothing if tested is None else tested.conditions
        self.real_answers = nothing if tested is None else tested.predicted
        self.asked = _crossed(self.codes, self.answers, self.groups)
        self.confusion = _crossed(self.real_codes, self.real_answers, self.groups)
        self.counts = np.bincount(self.codes, minlength=self.groups)

    @cached_property
    def present(self) -> Ints:
        """Conditions with generated samples."""
        return np.flatnonzero(self.counts)

    @cached_property
    def usable(self) -> Ints:
        """Conditions that the classifier was tested on or has predicted."""
        return np.flatnonzero(self.confusion.sum(1) + self.confusion.sum(0) + self.asked.sum(1) + self.asked.sum(0))

    @cached_property
    def tested(self) -> Mask:
        """Conditions with generated samples and real ones that the classifier was tested on."""
        return np.asarray((self.counts > 0) & (self.confusion.sum(1) > 0))

    @cached_property
    def condition_number(self) -> float:
        if not self.confusion.sum():
            return np.nan
        return condition_number(self.confusion[np.ix_(self.usable, self.usable)])

    @property
    def reason(self) -> str | None:
        """The reason why confusions cannot be corrected, if they cannot."""
        if not len(self.present):
            return "no valid generated samples"
        if not self.confusion.sum():
            return "the classifier was not tested on real held-out samples"
        if self.condition_number > WORST_CONDITION_NUMBER:
            text = "infinite" if np.isinf(self.condition_number) else f"{self.condition_number:.3g}"
            return f"the condition number of the confusion matrix is {text}, above {WORST_CONDITION_NUMBER}"
        return None

    @cached_property
    def _counts(self) -> tuple[AnyArray, AnyArray]:
        return self.confusion[np.ix_(self.usable, self.usable)], self.asked[np.ix_(self.present, self.usable)]

    @cached_property
    def shares(self) -> Floats:
        """The estimated true composition (present, usable) of each condition with samples."""
        return compositions(*self._counts)

    @cached_property
    def drawn(self) -> Floats:
        generator = self._draws.generator(8)
        return bootstrapped_compositions(*self._counts, draws=self._draws.draws, generator=generator)

    @cached_property
    def perfect(self) -> AnyArray:
        """Answers (3, draws, conditions, answers) to real samples in place of the generated ones, as `answer_draws`."""
        counts = np.where(self.tested, self.counts, 0)
        return answer_draws(self.confusion, counts, draws=self._draws.draws, generator=self._draws.generator(20))

    @cached_property
    def perfect_compositions(self) -> Floats:
        """The corrected composition (3, draws, present, usable) of real samples in place of the generated ones.

        They are corrected with the observed confusions, to the same precision as the generated ones. What few
        held-out samples leave open is how the classifier answers further ones.
        """
        confusion, _ = self._counts
        answers = answer_draws(
            confusion,
            self.counts[self.usable],
            draws=min(self._draws.draws, CORRECTED_DRAWS),
            generator=self._draws.generator(21),
        )
        return compositions(confusion, answers[:, :, np.searchsorted(self.usable, self.present)])

    def within(self, shares: Floats, tolerance: int) -> Floats:
        """The share within `tolerance` of the requested condition; the last axis is that of the usable conditions."""
        near = np.abs(self.usable[np.newaxis, :] - self.present[:, np.newaxis]) <= tolerance
        return np.asarray(np.clip((shares * near).sum(-1), 0, 1))


def _crossed(rows: Ints, columns: Ints, groups: int) -> Ints:
    return np.bincount(rows * groups + columns, minlength=groups * groups).reshape(groups, groups)


@dataclass(frozen=True)
class Answers(ConditionSample):
    """The classifier's answers to valid generated samples, and to real ones."""

    found: Confusions = field(kw_only=True)
    ordered: bool = field(default=False, kw_only=True)

    @classmethod
    def from_sides(cls, sides: Sides, draws: Draws) -> Answers:
        return cls(sides.labels, found=Confusions(sides, draws), ordered=sides.ordered)

    def left_out(self) -> Mapping[str, str]:
        pairs = zip(self.labels, self.found.counts.tolist(), strict=True)
        return {label: "no valid generated samples" for label, count in pairs if count == 0}

    def weak_classifier(self) -> tuple[str, ...]:
        """A warning if the classifier gets less than half of the real samples right."""
        total, right = int(self.found.confusion.sum()), int(np.trace(self.found.confusion))
        if not total or right >= WEAK * total:
            return ()
        return (
            f"the classifier gets {right / total:.0%} of {total} real held-out samples right: it misjudges most "
            "generated samples, too",
        )

    def generated(self, tolerance: int) -> Estimate:
        near = np.abs(self.found.answers - self.found.codes) <= tolerance
        return self.share(near, self.found.codes, "no valid generated samples")

    def real(self, tolerance: int) -> Estimate:
        near = np.abs(self.found.real_answers - self.found.real_codes) <= tolerance
        return self.share(near, self.found.real_codes, "the classifier was not tested on real held-out samples")

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

    def averaged(self, values: Floats) -> Floats:
        """Values (…, conditions) averaged over the conditions that have one."""
        weights = np.where(np.isnan(values), 0.0, self.found.counts if self.average == "micro" else 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nansum(values * weights, axis=-1) / weights.sum(-1))


# ---- levels


def _dealt(tolerance: int, *, corrected: bool = False) -> Any:
    """Perfect: real samples in place of the generated ones. Chance: the same answers in random order, on average.

    The classifier's answers to the real samples are predicted from those to held-out ones of the same conditions.
    """

    def chance(sample: Answers) -> tuple[Reference, ...]:
        found, near = sample.found, _near(sample, tolerance)
        answered = found.asked.sum(0) / max(found.asked.sum(), 1)
        values = np.where(found.counts > 0, near @ answered, np.nan)
        levels: dict[str, Reference | None] = {
            "chance": level("chance", min(sample.combined(values, found.counts), 1.0))
        }
        if corrected and found.reason is None:
            drawn = np.full((*found.perfect_compositions.shape[:2], sample.groups), np.nan)
            drawn[..., found.present] = found.within(found.perfect_compositions, tolerance)
            levels["perfect"] = predicted("perfect", sample.averaged(drawn))
        elif found.tested.any() and not corrected:
            counts = np.where(found.tested, found.counts, np.nan)
            with np.errstate(invalid="ignore"):
                drawn = np.einsum("erca,ca->erc", found.perfect, near) / counts
                own = (found.asked * near).sum(1) / counts
            missing = int(np.count_nonzero((found.counts > 0) & ~found.tested))
            note = f"without {missing} conditions that the classifier was not tested on" if missing else None
            value = float(sample.averaged(own)) if missing else None
            levels["perfect"] = predicted("perfect", sample.averaged(drawn), own=value, note=note)
        return named(levels)

    chance.__doc__ = _dealt.__doc__
    return chance


def _majority(tolerance: int) -> Any:
    """Always the answer that is right most often."""

    def chance(sample: Answers) -> tuple[Reference, ...]:
        counts = sample.found.confusion.sum(1)
        return (level("chance", float((_near(sample, tolerance) @ counts).max() / counts.sum())),)

    chance.__doc__ = _majority.__doc__
    return chance


def _near(sample: Answers, tolerance: int) -> Mask:
    """Which conditions (condition, condition) are within the tolerance of each other."""
    codes = np.arange(sample.groups)
    return np.asarray(np.abs(codes[:, np.newaxis] - codes) <= tolerance)


def _read(result: Result) -> str:
    levels = {each.name: each for each in result.references}
    if result.interval is None or "chance" not in levels:
        return "too few samples for a comparison with chance"
    if not result.interval.low > levels["chance"].value:
        return "not significantly better than chance"
    if "perfect" not in levels:
        return "better than chance; without real samples its ceiling is not known"
    if levels["perfect"].contains(result.value):
        return "better than chance, and as good as real samples of the same conditions"
    return f"better than chance; real samples of the same conditions score {levels['perfect'].value:.2f}"


# ---- metrics

_COMMON: dict[str, Any] = {
    "section": "grade_conditioning",
    "needs": ("answers",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "ravuri2019",
    "direction": "higher",
    "bounds": (0, 1),
    "interval": of_shares,
    "conventions": {"scale": "a share, not percent", "samples": "valid ones"},
}
_CLASSIFIER = _COMMON | {"conventions": {"samples": "real ones, held out"}}
_CORRECTED = _COMMON | {
    "interval": of_draws,
    "reference": "saerens2002",
    "conventions": {**_COMMON["conventions"], "assumption": _ASSUMED},
}


@declared("overall_exact_accuracy", average="macro", chance=_dealt(0), interpretation=_read, default=True, **_COMMON)
def overall_exact_accuracy(sample: Answers) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition."""
    return warned(sample.generated(0), *sample.weak_classifier())


@declared("overall_tolerance_1_accuracy", average="macro", chance=_dealt(1), **_COMMON)
def overall_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition or a neighbour of it."""
    return sample.generated(1) if sample.ordered else sample.nothing(NO_ORDER)


@declared("classifier_exact_accuracy", average="micro", chance=_majority(0), default=True, **_CLASSIFIER)
def classifier_exact_accuracy(sample: Answers) -> Estimate:
    """Share of real held-out samples that the classifier gets right.

    A perfect generator reaches it only with the same mix of conditions; `perfect`, next to `overall_exact_accuracy`, is
    the score of real samples with the mix of the generated ones.
    """
    return sample.real(0)


@declared("classifier_tolerance_1_accuracy", average="micro", chance=_majority(1), **_CLASSIFIER)
def classifier_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """Share of real held-out samples that the classifier assigns to the true condition or a neighbour of it."""
    return sample.real(1) if sample.ordered else sample.nothing(NO_ORDER)


@declared(
    "classifier_condition_number",
    average="whole",
    chance=NoChance("it describes the classifier"),
    **_COMMON
    | {
        "direction": "lower",
        "bounds": (1, np.inf),
        "reference": "saerens2002",
        "interval": NoInterval("it describes this classifier"),
        "conventions": {"matrix": "shares of answers by true condition"},
    },
)
def classifier_condition_number(sample: Answers) -> Estimate:
    """How much correcting for the classifier's confusions amplifies noise; above 10 there is no corrected value."""
    number = sample.found.condition_number
    value = max(number, 1.0) if number == number else np.nan
    return whole_of(value, int(sample.found.confusion.sum()), "no real samples were classified")


@declared("corrected_exact_accuracy", average="macro", chance=_dealt(0, corrected=True), **_CORRECTED)
def corrected_exact_accuracy(sample: Answers) -> Estimate:
    """Share of samples with the requested condition, corrected for the classifier's confusions on real samples."""
    return sample.corrected(0)


@declared("corrected_tolerance_1_accuracy", average="macro", chance=_dealt(1, corrected=True), **_CORRECTED)
def corrected_tolerance_1_accuracy(sample: Answers) -> Estimate:
    """The same share, with neighbours of the requested condition."""
    return sample.corrected(1) if sample.ordered else sample.nothing(NO_ORDER)
