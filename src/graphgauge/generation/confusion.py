"""Estimate the true conditions of generated samples from an imperfect classifier.

The classifier is assumed to make the same errors on generated samples as on real ones. Its predictions for the samples
of one request are then a mixture of the rows of its confusion matrix, weighted by the composition of the request.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError

# Maximum number of iterations, and the change of a share at which they stop; resampling noise is 1000 times larger.
_STEPS = 20_000
_CLOSE, _CLOSE_FOR_RESAMPLES = 1e-9, 1e-6


def compositions(confusion: NDArray[np.integer], predicted: NDArray[np.integer]) -> Floats:
    """Most likely shares of the true conditions (…, C, K) among samples with predicted counts `predicted` (…, C, K).

    `confusion` (K, K) counts real samples by true and predicted condition. Maximum likelihood on the simplex by
    expectation maximisation (Saerens et al. 2002); shares are not negative. NaN for a request without samples, and
    everywhere if a condition has no real samples.

    >>> compositions(np.array([[9, 1], [2, 8]]), np.array([[5, 5]])).round(3)
    array([[0.429, 0.571]])
    """
    real, answers = _checked(confusion, predicted)
    runs = answers.reshape(-1, *answers.shape[-2:])
    found: Floats = _mixed(np.broadcast_to(real, (len(runs), *real.shape)), runs, _CLOSE).reshape(answers.shape)
    return found


def bootstrapped_compositions(
    confusion: NDArray[np.integer], predicted: NDArray[np.integer], *, draws: int, generator: np.random.Generator
) -> Floats:
    """Compositions (draws, C, K) from bootstraps of the real samples of each condition and of each request."""
    real, answers = _checked(confusion, predicted)
    drawn = _redrawn(real, draws, generator), _redrawn(answers, draws, generator)
    return _mixed(*drawn, _CLOSE_FOR_RESAMPLES)


def condition_number(confusion: NDArray[np.integer]) -> float:
    """Largest over smallest singular value of the row-normalised confusion matrix; inf if a row is empty.

    It bounds how much errors in the predictions are amplified in the inferred composition.
    """
    counts = np.asarray(confusion, np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size or not (totals > 0).all():
        return float("inf")
    return float(np.linalg.cond(counts / totals))


def _mixed(confusion: Floats, predicted: Floats, close: float) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = confusion / confusion.sum(axis=2, keepdims=True)
        answers = predicted / predicted.sum(axis=2, keepdims=True)
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


def _checked(confusion: NDArray[np.integer], predicted: NDArray[np.integer]) -> tuple[Floats, Floats]:
    found = np.shape(confusion), np.shape(predicted)
    if len(found[0]) != 2 or len(found[1]) < 2 or not found[0][0] == found[0][1] == found[1][-1]:
        raise InputError(
            f"expected counts (K, K) and (…, C, K), found shapes {found[0]} and {found[1]}", where="confusion"
        )
    return np.asarray(confusion, np.float64), np.asarray(predicted, np.float64)
