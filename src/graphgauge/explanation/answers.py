"""A model's answers to masks: checked and converted to class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.explanation.checks import numbers

# Tolerance for rounding: how far probabilities may be outside [0, 1], and their sum from 1.
_OUTSIDE = 1e-6
_SUM = 1e-3


def answer_rows(answer: Any, masks: int, where: str) -> Floats:
    """A model's answers as an array (masks, C)."""
    array = numbers(answer, where)
    if array.shape == (masks,):
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != masks or array.shape[1] < 1:
        raise InputError(
            f"shape {array.shape} for {masks} masks", where=where, fix=f"Expected ({masks}, classes) or ({masks},)."
        )
    return array.astype(np.float64)


def checked_outputs(outputs: Floats, model_output: str, where: str) -> Floats:
    """The answers, checked for NaN and against the declared `model_output`."""
    refuse_nan(outputs, where, fix='Fix the model, or pass nan="omit" to leave such events out.')
    if model_output == "logit":
        if outputs.shape[1] > 1 and (np.isposinf(outputs).any() or np.isneginf(outputs).all(axis=1).any()):
            raise InputError("infinite logits have no probabilities", where=where)
        return outputs
    low, high = outputs.min(), outputs.max()
    if low < -_OUTSIDE or high > 1 + _OUTSIDE:
        wrong = low if low < -_OUTSIDE else high
        raise InputError(f"{wrong:.4g} is not a probability", where=where, fix='For logits, pass model_output="logit".')
    if outputs.shape[1] > 1:
        totals = outputs.sum(axis=1)
        worst = int(np.argmax(np.abs(totals - 1)))
        if abs(totals[worst] - 1) > _SUM:
            raise InputError(
                f"probabilities of one mask sum to {totals[worst]:.4g}", where=where,
                fix="Classes must be mutually exclusive: normalise the outputs, or return a single one.",
            )  # fmt: skip
    return np.clip(outputs, 0, 1)


def probabilities(outputs: Floats, model_output: str) -> Floats:
    """Class probabilities (R, C ≥ 2): softmax of logits, and one output p as (1 − p, p)."""
    if outputs.shape[1] > 1:
        if model_output == "probability":
            return outputs
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    one = outputs[:, 0]
    if model_output == "probability":
        return np.stack([1 - one, one], axis=1)
    # The smaller of the two probabilities is computed, to keep all digits.
    less = np.exp(-np.abs(one)) / (1 + np.exp(-np.abs(one)))
    return np.where((one >= 0)[:, np.newaxis], np.stack([less, 1 - less], axis=1), np.stack([1 - less, less], axis=1))
