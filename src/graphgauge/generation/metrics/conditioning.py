"""Conditioning: whether a classifier recognises the requested conditions, and how reliable the classifier is.

The true conditions of generated samples are also estimated from an imperfect classifier, which is assumed to make the
same errors on generated samples as on real ones. Its answers to the samples of one request are then a mixture of the
rows of its confusion matrix, weighted by the composition of the request.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from graphgauge.core.metric import Estimate
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.averages import NO_ORDER, Grouped, View, warned
from graphgauge.generation.levels import Draws, answer_draws, level, named, predicted
from graphgauge.generation.metrics import declared, of_draws, of_shares, with_options
from graphgauge.generation.sample import Sides

# Above this the classifier's confusions cannot be corrected, because noise would be amplified by this factor.
WORST_CONDITION_NUMBER = 10
_UNTESTED = "the classifier was not tested on real held-out samples"
# A classifier with a lower accuracy on real samples is weak.
WEAK = 0.5
_ASSUMED = "assumes that the classifier makes the same errors on generated samples as on real ones"
# Maximum number of iterations, and the change of a share at which they stop; resampling noise is 1000 times larger.
_STEPS = 20_000
_CLOSE, _CLOSE_FOR_RESAMPLES = 1e-9, 1e-6


class Answers(Grouped):
    """The classifier's answers to valid generated samples, and to real ones with known conditions.

    `asked` and `confusion` (conditions, answers) count those of generated and of real samples.
    """

    def __init__(self, sides: Sides, draws: Draws) -> None:
        super().__init__(sides.labels)
        assert sides.generated is not None
        made, tested = sides.generated.take(sides.generated.kept), sides.classifier
        nothing = np.empty(0, np.int64)
        self.ordered, self._draws = sides.ordered, draws
        self.codes, self.answers = made.conditions, made.predicted
        self.real_codes: Ints = nothing if tested is None else tested.conditions
        self.real_answers: Ints = nothing if tested is None else tested.predicted
        self.asked = _crossed(self.codes, self.answers, self.groups)
        self.confusion = _crossed(self.real_codes, self.real_answers, self.groups)
        self.counts = np.bincount(self.codes, minlength=self.groups)
        # Conditions with generated samples; those that the classifier was tested on or has predicted; those with both.
        self.present: Ints = np.flatnonzero(self.counts)
        both = self.confusion + self.asked
        self.usable: Ints = np.flatnonzero(both.sum(1) + both.sum(0))
        self.tested: Mask = (self.counts > 0) & (self.confusion.sum(1) > 0)

    def lack(self, code: int) -> str | None:
        return None if self.counts[code] else "no valid generated samples"

    def near(self, tolerance: int) -> Mask:
        """Which conditions (condition, condition) are within the tolerance of each other."""
        codes = np.arange(self.groups)
        return np.asarray(np.abs(codes[:, np.newaxis] - codes) <= tolerance)

    # ---- corrected for confusions

    @cached_property
    def condition_number(self) -> float:
        """How much errors in the answers are amplified; NaN without real samples."""
        return condition_number(self._counts[0]) if self.confusion.sum() else np.nan

    @property
    def reason(self) -> str | None:
        """The reason why confusions cannot be corrected, if they cannot."""
        if not len(self.present):
            return "no valid generated samples"
        if not self.confusion.sum():
            return _UNTESTED
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
        """The same for bootstraps of all answers, (draws, present, usable)."""
        return bootstrapped_compositions(*self._counts, draws=self._draws.draws, generator=self._draws.generator(8))

    @cached_property
    def perfect(self) -> AnyArray:
        """Answers (3, draws, conditions, answers) to real samples in place of the generated ones, as `answer_draws`."""
        counts = np.where(self.tested, self.counts, 0)
        return answer_draws(self.confusion, counts, draws=self._draws.draws, generator=self._draws.generator(20))

    def requested(self, shares: Floats) -> Floats:
        """The share (…, conditions) of the requested condition in compositions; NaN of those without samples."""
        values = np.full((*shares.shape[:-2], self.groups), np.nan)
        places = np.arange(len(self.present)), np.searchsorted(self.usable, self.present)
        values[..., self.present] = np.clip(shares[..., *places], 0, 1)
        return values


def _crossed(rows: Ints, columns: Ints, groups: int) -> Ints:
    return np.bincount(rows * groups + columns, minlength=groups * groups).reshape(groups, groups)


# ---- the true conditions, from an imperfect classifier


def compositions(confusion: AnyArray, answers: AnyArray) -> Floats:
    """Most likely shares of the true conditions (C, K) among samples with counts of `answers` (C, K).

    `confusion` (K, K) counts real samples by true and predicted condition. Maximum likelihood on the simplex by
    expectation maximisation (Saerens et al. 2002); shares are not negative. NaN for a request without samples, and
    everywhere if a condition has no real samples.

    >>> compositions(np.array([[9, 1], [2, 8]]), np.array([[5, 5]])).round(3)
    array([[0.429, 0.571]])
    """
    real, counts = np.asarray(confusion, np.float64), np.asarray(answers, np.float64)
    return np.asarray(_mixed(real[np.newaxis], counts[np.newaxis], _CLOSE)[0])


def bootstrapped_compositions(
    confusion: AnyArray, answers: AnyArray, *, draws: int, generator: np.random.Generator
) -> Floats:
    """Compositions (draws, C, K) from bootstraps of the real samples of each condition and of each request."""
    drawn = [_redrawn(np.asarray(each, np.float64), draws, generator) for each in (confusion, answers)]
    return _mixed(drawn[0], drawn[1], _CLOSE_FOR_RESAMPLES)


def condition_number(confusion: AnyArray) -> float:
    """Largest over smallest singular value of the row-normalised confusion matrix; inf if a row is empty.

    It bounds how much errors in the answers are amplified in the inferred composition.
    """
    counts = np.asarray(confusion, np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    return float(np.linalg.cond(counts / totals)) if counts.size and (totals > 0).all() else float("inf")


def _mixed(confusion: Floats, counts: Floats, close: float) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = confusion / confusion.sum(axis=2, keepdims=True)
        answers = counts / counts.sum(axis=2, keepdims=True)
    known = np.isfinite(shares).all(axis=(1, 2))[:, np.newaxis] & np.isfinite(answers).all(axis=2)
    found = np.full(answers.shape, np.nan)
    shares = np.nan_to_num(shares)
    answers = np.where(known[:, :, np.newaxis], answers, 0.0)
    mixtures = np.full(answers.shape, 1 / answers.shape[2])
    # Draws that have converged are left out of further steps.
    going = np.arange(len(answers))
    for _ in range(_STEPS):
        mixture = mixtures[going]
        expected = mixture @ shares
        # A prediction that no real sample received carries no information about any condition.
        ratio = np.divide(answers, expected, out=np.zeros_like(answers), where=expected > 0)
        step = mixture * (ratio @ np.swapaxes(shares, 1, 2))
        total = step.sum(axis=2, keepdims=True)
        step = np.divide(step, total, out=mixture.copy(), where=total > 0)
        mixtures[going] = step
        moving = np.abs(step - mixture).max(axis=(1, 2), initial=0.0) >= close
        if not moving.all():
            going, shares, answers = going[moving], shares[moving], answers[moving]
        if not len(going):
            break
    found[known] = mixtures[known]
    return found


def _redrawn(counts: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """A bootstrap of each row with the same number of items."""
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, np.newaxis]
    shares[totals == 0, 0] = 1
    drawn: Floats = generator.multinomial(totals.astype(np.int64), shares, (draws, len(counts))).astype(np.float64)
    return drawn


# ---- levels


@with_options
def _at_random(sample: View[Answers], tolerance: int) -> tuple[Reference, ...]:
    """Chance: the same answers in random order, on average."""
    data = sample.data
    answered = data.asked.sum(0) / max(data.asked.sum(), 1)
    right = sample.combined(np.where(data.counts > 0, data.near(tolerance) @ answered, np.nan), data.counts)
    return named({"chance": level("chance", min(right, 1.0))})


@with_options
def _dealt(sample: View[Answers], tolerance: int) -> tuple[Reference, ...]:
    """Perfect: real samples in place of the generated ones. Chance: the same answers in random order, on average.

    The classifier's answers to the real samples are predicted from those to held-out ones of the same conditions.
    """
    data, near = sample.data, sample.data.near(tolerance)
    chance: tuple[Reference, ...] = _at_random(tolerance)(sample)
    if not data.tested.any():
        return chance
    counts = np.where(data.tested, data.counts, np.nan)
    with np.errstate(invalid="ignore"):
        drawn = np.einsum("erca,ca->erc", data.perfect, near) / counts
        own = (data.asked * near).sum(1) / counts
    missing = int(np.count_nonzero((data.counts > 0) & ~data.tested))
    note = f"without {missing} conditions that the classifier was not tested on" if missing else None
    value = float(sample.averaged(own, data.counts)) if missing else None
    perfect = predicted("perfect", sample.averaged(drawn, data.counts), own=value, note=note)
    return chance if perfect is None else (*chance, perfect)


@with_options
def _majority(sample: View[Answers], tolerance: int) -> tuple[Reference, ...]:
    """Always the answer that is right most often."""
    counts = sample.data.confusion.sum(1)
    return (level("chance", float((sample.data.near(tolerance) @ counts).max() / counts.sum())),)


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

_metric = partial(
    declared,
    section="grade_conditioning",
    needs=("answers",),
    reference="ravuri2019",
    interval=of_shares,
    conventions={"scale": "a share, not percent", "samples": "valid ones"},
)
_of_generated = partial(_metric, average="macro")
_of_real = partial(_metric, average="micro", conventions={"samples": "real ones, held out"})


def generated_accuracy(sample: View[Answers], tolerance: int) -> Estimate:
    """The share of answers to generated samples that are within the tolerance of the request."""
    data = sample.data
    if tolerance and not data.ordered:
        return sample.nothing(NO_ORDER)
    return sample.share(np.abs(data.answers - data.codes) <= tolerance, data.codes, "no valid generated samples")


def real_accuracy(sample: View[Answers], tolerance: int) -> Estimate:
    """The same of real samples, whose conditions are known."""
    data = sample.data
    if tolerance and not data.ordered:
        return sample.nothing(NO_ORDER)
    return sample.share(np.abs(data.real_answers - data.real_codes) <= tolerance, data.real_codes, _UNTESTED)


def _weak_classifier(data: Answers) -> tuple[str, ...]:
    """A warning if the classifier gets less than half of the real samples right."""
    total, right = int(data.confusion.sum()), int(np.trace(data.confusion))
    if not total or right >= WEAK * total:
        return ()
    return (
        f"the classifier gets {right / total:.0%} of {total} real held-out samples right: it misjudges most "
        "generated samples, too",
    )


@_of_generated("overall_exact_accuracy", chance=_dealt(0), interpretation=_read, default=True)
def overall_exact_accuracy(sample: View[Answers]) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition."""
    return warned(generated_accuracy(sample, 0), *_weak_classifier(sample.data))


@_of_generated("overall_tolerance_1_accuracy", chance=_dealt(1))
def overall_tolerance_1_accuracy(sample: View[Answers]) -> Estimate:
    """Share of valid generated samples that the classifier assigns to the requested condition or a neighbour of it."""
    return generated_accuracy(sample, 1)


@_of_real("classifier_exact_accuracy", chance=_majority(0), default=True)
def classifier_exact_accuracy(sample: View[Answers]) -> Estimate:
    """Share of real held-out samples that the classifier gets right.

    A perfect generator reaches it only with the same mix of conditions; `perfect`, next to `overall_exact_accuracy`, is
    the score of real samples with the mix of the generated ones.
    """
    return real_accuracy(sample, 0)


@_of_real("classifier_tolerance_1_accuracy", chance=_majority(1))
def classifier_tolerance_1_accuracy(sample: View[Answers]) -> Estimate:
    """Share of real held-out samples that the classifier assigns to the true condition or a neighbour of it."""
    return real_accuracy(sample, 1)


@_of_generated(
    "corrected_exact_accuracy",
    reference="saerens2002",
    chance=_at_random(0),
    interval=of_draws,
    conventions={"scale": "a share, not percent", "samples": "valid ones", "assumption": _ASSUMED},
)
def corrected_exact_accuracy(sample: View[Answers]) -> Estimate:
    """Share of samples with the requested condition, corrected for the classifier's confusions on real samples."""
    data = sample.data
    if data.reason is not None:
        return sample.nothing(data.reason)
    draws = data.requested(data.drawn)
    if sample.average is not None:
        draws = draws[:, data.present].mean(axis=1, keepdims=True)
    return sample.estimate(data.requested(data.shares), data.counts, "", draws=draws)
