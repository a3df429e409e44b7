"""Checks of generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgauge.core.finding import check
from graphgauge.core.result import Reference, Result
from graphgauge.generation.averages import FAMILY
from graphgauge.generation.metrics.attempts import Attempts
from graphgauge.generation.sample import Sides

Evidence = Mapping[str, Any]
Results = Mapping[str, Result]
# Shares of the level of real samples: new samples, and distinct samples.
_MOSTLY_NEW = 0.8
_MOSTLY_DISTINCT = 0.85
# Half-widths of the band of a perfect generator from which a share of near copies is clear.
_CLEARLY = 1.5
# The least share of graphs that are nearer to training graphs than those with the same degrees are.
_CLOSE = 0.25


def _level(result: Result | None, name: str) -> Reference | None:
    return None if result is None else next((each for each in result.references if each.name == name), None)


# ---- copies


@check(
    "copied-test-set",
    family=FAMILY,
    severity="error",
    message="{copied} of {n} valid samples are real held-out samples, of which {repeated:.0%} equal another one: the "
    "generator knows the evaluation data, or one file was given twice",
    remedy="Evaluate on real samples that the generator has never seen; these flatter every other number here.",
)
def copied_test_set(attempts: Attempts) -> Evidence | None:
    """Generated samples are the real ones that they are compared with."""
    given_out = attempts.given_out
    if given_out is None:
        return None
    return {"copied": given_out[0], "n": len(attempts.ids), "repeated": given_out[1]}


@check(
    "copied-training-set",
    family=FAMILY,
    message="{novelty:.0%} of the samples are new, {real:.0%} of real held-out ones are: the generator copies what it "
    "learned from",
    remedy="Regularise it, or report that it memorises, and evaluate only its new samples.",
)
def copied_training_set(results: Results, attempts: Attempts) -> Evidence | None:
    """The generator copies its training set."""
    return _copied(results, attempts)


def _copied(results: Results, attempts: Attempts) -> Evidence | None:
    novelty, real = results.get("novelty"), _level(results.get("novelty"), "perfect")
    if novelty is None or real is None or novelty.interval is None:
        return None
    if novelty.interval.high >= _MOSTLY_NEW * real.value or attempts.finite:
        return None
    return {"novelty": novelty.value, "real": real.value}


@check(
    "near-copies",
    family=FAMILY,
    message="{share:.0%} of the samples are nearer to a training sample than to any real held-out one, {real:.0%} "
    "[{low:.0%}, {high:.0%}] of real ones would be: the generator makes near copies of what it learned from",
    remedy="Compare samples with their nearest training samples; novelty does not show copies with small changes.",
)
def near_copies(results: Results, attempts: Attempts) -> Evidence | None:
    """Samples are new, but much nearer to the training set than real ones are."""
    nearer = results.get("nearer_to_training")
    perfect, copies = _level(nearer, "perfect"), _level(nearer, "near_copy")
    if nearer is None or perfect is None or perfect.high is None or perfect.low is None:
        return None
    if _copied(results, attempts) is not None:  # the stronger finding
        return None
    # Three standard errors above a perfect generator. Very small samples may be as near to others as to their origin:
    # then only the nearest copies are recognised, half of the way to a generator that only copies.
    least = perfect.value + _CLEARLY * (perfect.high - perfect.value)
    if copies is None or copies.value <= perfect.high:
        least = max(perfect.high, (1 + perfect.value) / 2)
    if not nearer.value > least or attempts.nearest is None or attempts.nearest.close < _CLOSE:
        return None
    return {"share": nearer.value, "real": perfect.value, "low": perfect.low, "high": perfect.high}


@check(
    "learned-real-samples",
    family=FAMILY,
    message="{excluded} of {given} real samples are in the training set: they are left out, and {compared} remain",
    remedy="Pass real samples that were not in training; pass more if few are left.",
)
def learned_real_samples(sides: Sides) -> Evidence | None:
    """Real samples that should be held out are in the training set."""
    if sides.real is None or not sides.real.in_training.any():
        return None
    excluded, given = int(sides.real.in_training.sum()), len(sides.real)
    return {"excluded": excluded, "given": given, "compared": given - excluded}


# ---- repeats


@check(
    "repeated-samples",
    family=FAMILY,
    message="{unique:.0%} of the valid samples are distinct, {real:.0%} of as many real ones are: the generator "
    "repeats itself, and intervals and tests that treat repeats as independent samples are overconfident",
    remedy="Report overall_uniqueness_ratio with them, and test on distinct samples.",
)
def repeated_samples(results: Results) -> Evidence | None:
    """Samples repeat each other, and tests treat repeats as independent samples."""
    ratio, real = results.get("overall_uniqueness_ratio"), _level(results.get("overall_uniqueness_ratio"), "perfect")
    if ratio is None or real is None or real.low is None:
        return None
    unique = ratio.value if real.own is None else real.own
    if unique >= min(real.low, _MOSTLY_DISTINCT * real.value):
        return None
    return {"unique": unique, "real": real.value}


# ---- the classifier


@check(
    "blind-classifier",
    family=FAMILY,
    message="the classifier gets {accuracy:.0%} of real held-out samples right, a constant answer {blind:.0%}",
    remedy="Conditioning cannot be judged with this classifier; train a better one.",
)
def blind_classifier(results: Results) -> Evidence | None:
    """The classifier that judges conditioning is no better than a constant answer."""
    accuracy = results.get("classifier_exact_accuracy")
    if accuracy is None or not _is_blind(accuracy):
        return None
    return {"accuracy": accuracy.value, "blind": accuracy.references[-1].value}


def _is_blind(accuracy: Result) -> bool:
    chance = _level(accuracy, "chance")
    return accuracy.interval is not None and chance is not None and accuracy.interval.low <= chance.value


# ---- how samples were read


@check(
    "left-out-samples",
    family=FAMILY,
    severity="note",
    message="{notes}",
    remedy="Check that this is what you meant.",
)
def left_out_samples(sides: Sides) -> Evidence | None:
    """Samples that are not compared, or not under the same rules."""
    notes, real = list(sides.notes), sides.real
    if real is not None and not real.kept.all():
        notes.append(
            f"{int((~real.kept).sum())} of {len(real)} real samples are not valid and are compared with no other"
        )
    if not sides.same_rules:
        notes.append("the validity of real samples is not known, so they are no level for repeats")
    if sides.copied is not None and sides.copied.any():
        count = int(sides.copied.sum())
        notes.append(f"{count} generated samples are training samples, which tests leave out as they do real ones")
    return {"notes": "; ".join(notes)} if notes else None
