"""The true conditions of generated samples, estimated from an imperfect classifier.

The classifier is assumed to make the same errors on generated samples as on real ones. Its answers to the samples of
one request are then a mixture of the rows of its confusion matrix, weighted by the composition of the request.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import AnyArray, Floats

# Maximum number of iterations, and the change of a share at which they stop; resampling noise is 1000 times larger.
_STEPS = 20_000
_CLOSE, _CLOSE_FOR_RESAMPLES = 1e-9, 1e-6


def compositions(confusion: AnyArray, answers: AnyArray) -> Floats:
    """Most likely shares of the true conditions (…, C, K) among samples with counts of `answers` (…, C, K).

    `confusion` (K, K) counts real samples by true and predicted condition. Maximum likelihood on the simplex by
    expectation maximisation (Saerens et al. 2002); shares are not negative. NaN for a request without samples, and
    everywhere if a condition has no real samples.

    >>> compositions(np.array([[9, 1], [2, 8]]), np.array([[5, 5]])).round(3)
    array([[0.429, 0.571]])
    """
    real, counts = np.asarray(confusion, np.float64), np.asarray(answers, np.float64)
    runs = counts.reshape(-1, *counts.shape[-2:])
    return _mixed(np.broadcast_to(real, (len(runs), *real.shape)), runs, _CLOSE).reshape(counts.shape)


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
