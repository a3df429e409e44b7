"""Checks of generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.generation.declared import FEWEST_VALID
from graphgauge.generation.distances import unique_at
from graphgauge.generation.inputs import Codes
from graphgauge.generation.overlap import HeldOut
from graphgauge.generation.sections.diversity import Attempts
from graphgauge.generation.sections.latent_space import LEAK
from graphgauge.old.core.findings import Evidence, check
from graphgauge.old.core.result import Result
from graphgauge.old.io.materials import Material

# Shares of the level of real samples: new samples, distinct samples, and the distance between distinct ones.
_MOSTLY_NEW = 0.8
_MOSTLY_DISTINCT = 0.85
_HALF_AS_FAR = 0.5
# A smaller difference does not show in a rate printed with two digits.
_HIDDEN = 0.01
# Inputs that only an audit takes, by the name of the checks' parameter.
MATERIALS = {
    "drawn": Material("Number of attempts of the generator: one number, or one per condition or batch."),
}


def _level(result: Result, name: str) -> float | None:
    return {level.name: level.value for level in result.chance}.get(name)


@check(
    "copied-training-set",
    family="generation",
    severity="warning",
    message="{novelty:.0%} of the samples are new, {real:.0%} of real held-out ones are: the generator copies what it "
    "learned from",
    remedy="Regularise it, or report that it memorises, and evaluate only its new samples.",
)
def copied_training_set(results: Mapping[str, Result]) -> Evidence | None:
    """The generator copies its training set."""
    return _copied(results)


def _copied(results: Mapping[str, Result]) -> Evidence | None:
    novelty = results.get("novelty")
    real = None if novelty is None else _level(novelty, "perfect")
    if novelty is None or real is None or novelty.interval is None or novelty.interval.high >= _MOSTLY_NEW * real:
        return None
    return {"novelty": novelty.value, "real": real}


@check(
    "learned-real-samples",
    family="generation",
    severity="warning",
    message="{excluded} of {given} real samples are in the training set: they are left out, and {compared} remain",
    remedy="Pass real samples that were not in training; pass more if few are left.",
)
def learned_real_samples(held_out: HeldOut) -> Evidence | None:
    """Real samples that should be held out are in the training set."""
    if not held_out.excluded:
        return None
    given = held_out.compared + held_out.excluded
    return {"excluded": held_out.excluded, "given": given, "compared": held_out.compared}


@check(
    "near-copies",
    family="generation",
    severity="warning",
    message="{share:.0%} of the samples are nearer to a training sample than to any real held-out one, {real:.0%} "
    "[{low:.0%}, {high:.0%}] of real ones would be: the generator makes near copies of what it learned from",
    remedy="Compare samples with their nearest training samples; novelty does not show copies with small changes.",
)
def near_copies(results: Mapping[str, Result]) -> Evidence | None:
    """Samples are new, but much nearer to the training set than real ones are."""
    nearer = results.get("nearer_to_training")
    perfect = None if nearer is None else next((level for level in nearer.chance if level.name == "perfect"), None)
    if nearer is None or perfect is None or perfect.high is None or perfect.low is None:
        return None
    if _copied(results) is not None:  # the stronger finding
        return None
    # Half of the way from a perfect generator to one that only copies. Very small samples may be as near to others as
    # to their origin: then only the nearest copies are recognised.
    copies = _level(nearer, "near_copy")
    furthest = 1.0 if copies is None or copies <= perfect.high else copies
    if not nearer.value > max(perfect.high, (furthest + perfect.value) / 2):
        return None
    return {"share": nearer.value, "real": perfect.value, "low": perfect.low, "high": perfect.high}


@check(
    "repeated-samples",
    family="generation",
    severity="warning",
    message="{unique:.0%} of the valid samples are distinct, {real:.0%} of as many real ones are: the generator "
    "repeats itself, and intervals and tests that treat repeats as independent samples are overconfident",
    remedy="Report overall_uniqueness_ratio with them, and test on distinct samples.",
)
def repeated_samples(attempts: Attempts) -> Evidence | None:
    """Samples repeat each other, and tests treat repeats as independent samples."""
    valid = attempts.valid
    if valid.real_ids is None:
        return None
    sizes, shares = [], []
    for mine, real in zip(valid.rows, valid.real_rows, strict=True):
        # More samples have a smaller distinct share, so both sides have the same size.
        size = min(len(mine), len(real))
        if size >= FEWEST_VALID:
            sizes.append(size)
            shares.append((unique_at(valid.ids[mine], size), unique_at(valid.real_ids[real], size)))
    if not sizes:
        return None
    unique, of_real = (float(share) for share in np.average(shares, axis=0, weights=sizes))
    perfect = attempts.averaged("macro").unique_level(None)
    if perfect is not None:
        own = perfect.own if perfect.own is not None else unique
        if perfect.low is not None and own >= perfect.low:  # as many as real samples may have by chance
            return None
    return {"unique": unique, "real": of_real} if unique < _MOSTLY_DISTINCT * of_real else None


@check(
    "collapsed-samples",
    family="generation",
    severity="warning",
    message="two distinct samples of a condition differ in {own:.2%} of their bits, two real ones in {real:.2%}: the "
    "generator makes variants of few samples",
    remedy="Report mean_jaccard or prdc_recall next to validity; uniqueness does not show it.",
)
def collapsed_samples(pairs: Attempts) -> Evidence | None:
    """Samples are distinct, but much closer to each other than real ones."""
    valid = pairs.valid
    if valid.real is None or valid.real_ids is None:
        return None
    own = [_apart(valid.ids[rows], found) for rows, found in zip(valid.rows, valid.hamming, strict=True)]
    real = [
        _apart(valid.real_ids[rows], found) for rows, found in zip(valid.real_rows, valid.real_hamming, strict=True)
    ]
    both = [pair for pair in zip(own, real, strict=True) if not np.isnan(pair).any()]
    if not both:
        return None
    own_mean, real_mean = (float(mean) / max(valid.width, 1) for mean in np.mean(both, axis=0))
    return {"own": own_mean, "real": real_mean} if own_mean < _HALF_AS_FAR * real_mean else None


def _apart(ids: Codes, found: Any) -> float:
    """The mean distance between two different samples."""
    counts = np.unique(ids, return_counts=True)[1]
    n = len(ids)
    different = 1 - float((counts * (counts - 1)).sum()) / max(n * (n - 1), 1)
    return float(found.mean / different) if found is not None and different > 0 else np.nan


@check(
    "hidden-retries",
    family="generation",
    severity="error",
    message="{rate:.1%} of the {given} samples given are valid, and the generator was asked {drawn} times: {true:.1%} "
    "of its attempts are",
    remedy="Evaluate every attempt, valid or not, or report the rate over all of them.",
)
def hidden_retries(attempts: Attempts, drawn: Any) -> Evidence | None:
    """Invalid attempts were dropped or retried, and the validity rate does not count them."""
    numbers = as_numeric(drawn, "drawn")
    given, valid = len(attempts.codes), len(attempts.valid.codes)
    if not given:
        return None
    if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InputError("expected the number of attempts, one number or several", where="drawn")
    asked = float(numbers.sum())
    if asked < given:
        raise InputError(f"{asked:g} attempts cannot have given {given} samples", where="drawn")
    rate, true = valid / given, valid / asked
    return {"rate": rate, "given": given, "drawn": int(asked), "true": true} if rate - true >= _HIDDEN else None


@check(
    "distance-within-noise",
    family="generation",
    severity="note",
    message="overall_mean_distance is {value:.3f}, and two draws of real samples are that far apart by chance "
    "({mean:.3f} on average, more than {noise:.3f} once in 20 times): a distance this small cannot rank generators",
    remedy="Take more samples, real and generated, before you rank generators by distance.",
)
def distance_within_noise(results: Mapping[str, Result]) -> Evidence | None:
    """The distance from real samples is no larger than between two draws of real samples."""
    distance = results.get("overall_mean_distance")
    if distance is None or distance.goal is None or not distance.value <= distance.goal:
        return None
    return {"value": distance.value, "noise": distance.goal, "mean": _level(distance, "perfect")}


@check(
    "condition-in-latents",
    family="generation",
    severity="warning",
    message="the encoder is given the condition, and {key} is {value:.2f} (chance {chance:.2f}): latent vectors may "
    "be separated because they copy it",
    remedy="Encode without the condition, or with another one, before you draw conclusions about the latent space.",
)
def condition_in_latents(results: Mapping[str, Result]) -> Evidence | None:
    """Latent vectors separate the conditions, but the encoder was given them."""
    for key in ("silhouette_score", "ordinal_spearman"):
        result = results.get(key)
        if result is None or LEAK not in result.warnings or result.interval is None or not result.chance:
            continue
        chance = result.chance[-1].value
        if result.interval.low > chance:
            return {"key": key, "value": result.value, "chance": chance}
    return None


@check(
    "blind-classifier",
    family="generation",
    severity="warning",
    message="the classifier gets {accuracy:.0%} of real held-out samples right, a constant answer {blind:.0%}",
    remedy="Conditioning cannot be judged with this classifier; train a better one.",
)
def blind_classifier(results: Mapping[str, Result]) -> Evidence | None:
    """The classifier that judges conditioning is no better than a constant answer."""
    accuracy = results.get("classifier_exact_accuracy")
    if accuracy is None or not _is_blind(accuracy):
        return None
    return {"accuracy": accuracy.value, "blind": accuracy.chance[-1].value}


def _is_blind(accuracy: Result) -> bool:
    return (
        accuracy.interval is not None and bool(accuracy.chance) and accuracy.interval.low <= accuracy.chance[-1].value
    )


@check(
    "claim-above-classifier",
    family="generation",
    severity="warning",
    message="the classifier assigns {claim:.0%} [{low:.0%}, {high:.0%}] of generated samples to the requested "
    "condition, and gets {accuracy:.0%} [{real_low:.0%}, {real_high:.0%}] of real held-out ones right: no "
    "generator can score higher if the classifier errs equally on both",
    remedy="Use a classifier that was not trained on the generator's training data, and report its accuracy.",
)
def claim_above_classifier(results: Mapping[str, Result]) -> Evidence | None:
    """Conditioning scores above what its classifier reaches on real samples."""
    claim, accuracy = results.get("overall_exact_accuracy"), results.get("classifier_exact_accuracy")
    if claim is None or accuracy is None or _is_blind(accuracy):
        return None
    # Both weight conditions equally, because real samples rarely have equally many of each.
    real = results.get("classifier_exact_accuracy_macro_condition", accuracy)
    if claim.interval is None or real.interval is None or claim.interval.low <= real.interval.high:
        return None
    (low, high), (real_low, real_high) = claim.interval, real.interval
    return {
        "claim": claim.value,
        "low": low,
        "high": high,
        "accuracy": real.value,
        "real_low": real_low,
        "real_high": real_high,
    }
