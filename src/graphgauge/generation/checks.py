"""Checks of generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.finding import check
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Ints
from graphgauge.generation.averages import FAMILY, FEWEST_VALID, View, of_shares
from graphgauge.generation.identity import unique_at
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.attempts import Attempts
from graphgauge.generation.sections.conditioning import Answers, real_accuracy
from graphgauge.generation.sections.diversity import unique_level
from graphgauge.generation.sections.latent_space import LEAK

Evidence = Mapping[str, Any]
Results = Mapping[str, Result]
# Shares of the level of real samples: new samples, distinct samples, and the distance between distinct ones.
_MOSTLY_NEW = 0.8
_MOSTLY_DISTINCT = 0.85
_HALF_AS_FAR = 0.5
# Half-widths of the band of a perfect generator from which a share of near copies is clear.
_CLEARLY = 1.5
# The least share of graphs that are nearer to training graphs than those with the same degrees are.
_CLOSE = 0.25
# A smaller difference does not show in a rate printed with two digits.
_HIDDEN = 0.01


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
def repeated_samples(diversity: Attempts) -> Evidence | None:
    """Samples repeat each other, and tests treat repeats as independent samples."""
    if diversity.real_ids is None or not diversity.same_rules:
        return None
    sizes, shares = [], []
    for mine, real in zip(diversity.rows, diversity.real_rows, strict=True):
        # More samples have a smaller distinct share, so both sides have the same size.
        size = min(len(mine), len(real))
        if size >= FEWEST_VALID:
            sizes.append(size)
            shares.append((unique_at(diversity.ids[mine], size), unique_at(diversity.real_ids[real], size)))
    if not sizes:
        return None
    unique, of_real = (float(share) for share in np.average(shares, axis=0, weights=sizes))
    perfect = unique_level(View(diversity, average="macro"), None)
    if perfect is not None:
        own = unique if perfect.own is None else perfect.own
        if perfect.low is not None and own >= perfect.low:  # as many as real samples may have by chance
            return None
    return {"unique": unique, "real": of_real} if unique < _MOSTLY_DISTINCT * of_real else None


@check(
    "collapsed-samples",
    family=FAMILY,
    message="two distinct samples of a condition differ in {own:.2%} of their bits, two real ones in {real:.2%}: the "
    "generator makes variants of few samples",
    remedy="Report mean_jaccard or prdc_recall next to validity; uniqueness does not show it.",
)
def collapsed_samples(diversity: Attempts) -> Evidence | None:
    """Samples are distinct, but much closer to each other than real ones."""
    if diversity.real_ids is None or not isinstance(diversity.valid.rows, np.ndarray):
        return None
    own = [
        _apart(diversity.ids[rows], pairs)
        for rows, pairs in zip(diversity.rows, diversity.pairs("hamming"), strict=True)
    ]
    reals = zip(diversity.real_rows, diversity.real_pairs("hamming"), strict=True)
    real = [_apart(diversity.real_ids[rows], pairs) for rows, pairs in reals]
    both = [pair for pair in zip(own, real, strict=True) if not np.isnan(pair).any()]
    if not both:
        return None
    own_mean, real_mean = (float(mean) / diversity.width for mean in np.mean(both, axis=0))
    return {"own": own_mean, "real": real_mean} if own_mean < _HALF_AS_FAR * real_mean else None


def _apart(ids: Ints, pairs: Any) -> float:
    """The mean distance between two different samples."""
    counts, n = np.unique(ids, return_counts=True)[1], len(ids)
    different = 1 - float((counts * (counts - 1)).sum()) / max(n * (n - 1), 1)
    return float(pairs.mean / different) if pairs is not None and different > 0 else np.nan


@check(
    "hidden-retries",
    family=FAMILY,
    severity="error",
    message="{rate:.1%} of the {given} samples given are valid, and the generator was asked {drawn} times: {true:.1%} "
    "of its attempts are",
    remedy="Evaluate every attempt, valid or not, or report the rate over all of them.",
)
def hidden_retries(attempts: Attempts, drawn: Any) -> Evidence | None:
    """Invalid attempts were dropped or retried, and the validity rate does not count them."""
    numbers = as_numeric(drawn, "drawn")
    given, valid = len(attempts.codes), len(attempts.valid)
    if not given:
        return None
    asked = float(numbers.sum())
    if not given <= asked < np.inf:
        raise InputError(f"{asked:g} attempts cannot have given {given} samples", where="drawn")
    rate, true = valid / given, valid / asked
    return {"rate": rate, "given": given, "drawn": int(asked), "true": true} if rate - true >= _HIDDEN else None


# ---- distances, latent vectors, classifier


@check(
    "distance-within-noise",
    family=FAMILY,
    severity="note",
    message="overall_mean_distance is {value:.3f}, and two draws of real samples are that far apart by chance "
    "({mean:.3f} on average, more than {noise:.3f} once in 20 times): a distance this small cannot rank generators",
    remedy="Take more samples, real and generated, before you rank generators by distance.",
)
def distance_within_noise(results: Results) -> Evidence | None:
    """The distance from real samples is no larger than between two draws of real samples."""
    distance = results.get("overall_mean_distance")
    if distance is None or distance.goal is None or not distance.value <= distance.goal:
        return None
    perfect = _level(distance, "perfect")
    return {"value": distance.value, "noise": distance.goal, "mean": np.nan if perfect is None else perfect.value}


@check(
    "condition-in-latents",
    family=FAMILY,
    message="the encoder is given the condition, and {key} is {value:.2f} (chance {chance:.2f}): latent vectors may "
    "be separated because they copy it",
    remedy="Encode without the condition, or with another one, before you draw conclusions about the latent space.",
)
def condition_in_latents(results: Results) -> Evidence | None:
    """Latent vectors separate the conditions, but the encoder was given them."""
    for key in ("silhouette_score", "ordinal_spearman"):
        result = results.get(key)
        if result is None or LEAK not in result.warnings or result.interval is None or not result.references:
            continue
        chance = result.references[-1].value
        if result.interval.low > chance:
            return {"key": key, "value": result.value, "chance": chance}
    return None


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


@check(
    "claim-above-classifier",
    family=FAMILY,
    message="the classifier assigns {claim:.0%} [{low:.0%}, {high:.0%}] of generated samples to the requested "
    "condition, and gets {accuracy:.0%} [{real_low:.0%}, {real_high:.0%}] of real held-out ones right: no "
    "generator can score higher if the classifier errs equally on both",
    remedy="Use a classifier that was not trained on the generator's training data, and report its accuracy.",
)
def claim_above_classifier(results: Results, answers: Answers) -> Evidence | None:
    """Conditioning scores above what its classifier reaches on real samples."""
    claim, accuracy = results.get("overall_exact_accuracy"), results.get("classifier_exact_accuracy")
    if claim is None or claim.interval is None or accuracy is None or _is_blind(accuracy):
        return None
    # Both weight conditions equally, because real samples rarely have equally many of each.
    real = real_accuracy(View(answers, average="macro"), 0)
    ends = of_shares(View(answers, average="macro"), real, claim.interval.level)
    low, high = float(ends.low[0]), float(ends.high[0])
    if np.isnan(high) or claim.interval.low <= high:
        return None
    own = dict(zip(("low", "high"), claim.interval, strict=True))
    return {"claim": claim.value, **own, "accuracy": float(real.value[0]), "real_low": low, "real_high": high}


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
