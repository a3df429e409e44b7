"""Checks of generators."""

from __future__ import annotations

from collections.abc import Mapping

from graphgauge.core.findings import Evidence, check
from graphgauge.core.result import Result

# Below this share of what real samples have, repeats are too many to be taken for chance.
_MOSTLY_DISTINCT = 0.9


@check(
    "copied-training-set",
    family="generation",
    severity="warning",
    message="{novelty:.0%} of the samples are new, {real:.0%} of real held-out ones are: the generator copies what it "
    "learned from",
    remedy="Regularise it, or say that it memorises.",
)
def copied_training_set(results: Mapping[str, Result]) -> Evidence | None:
    """The generator copies its training set."""
    novelty = results.get("novelty")
    real = {level.name: level.value for level in novelty.chance}.get("real held-out samples") if novelty else None
    if novelty is None or real is None or novelty.interval is None or novelty.interval.high >= real / 2:
        return None
    return {"novelty": novelty.value, "real": real}


@check(
    "repeated-samples",
    family="generation",
    severity="warning",
    message="{unique:.0%} of the valid samples are distinct, {real:.0%} of as many real ones are: intervals and tests "
    "take repeats for independent samples, and are too sure",
    remedy="Read them with overall_uniqueness_ratio beside them.",
)
def repeated_samples(results: Mapping[str, Result]) -> Evidence | None:
    """Samples repeat each other, and tests take repeats for independent samples."""
    unique = results.get("overall_uniqueness_ratio")
    if unique is None or not unique.defined:
        return None
    real = {level.name: level.value for level in unique.chance}.get("real samples", 1.0)
    return {"unique": unique.value, "real": real} if unique.value < _MOSTLY_DISTINCT * real else None


@check(
    "blind-classifier",
    family="generation",
    severity="warning",
    message="the classifier gets {accuracy:.0%} of real held-out samples right, one answer for all {blind:.0%}",
    remedy="Conditioning cannot be judged with it; train a better one.",
)
def blind_classifier(results: Mapping[str, Result]) -> Evidence | None:
    """The classifier that judges conditioning is no better than one answer for all."""
    accuracy = results.get("classifier_exact_accuracy")
    if accuracy is None or accuracy.interval is None or not accuracy.chance:
        return None
    blind = accuracy.chance[-1].value
    return {"accuracy": accuracy.value, "blind": blind} if accuracy.interval.low <= blind else None
