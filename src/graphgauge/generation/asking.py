"""A user's object, asked: what its methods raise, or answer that is no answer, is said of them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.factory import own_code


class Asked:
    """A subject or a classifier, asked for whole answers, or for one a sample."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def place(self, method: str) -> str:
        return f"{type(self._inner).__name__}.{method}"

    def attribute(self, name: str, default: Any = None) -> Any:
        with own_code(self.place(name)):
            return getattr(self._inner, name, default)

    def answer(self, method: str, *arguments: Any, **options: Any) -> Any:
        with own_code(self.place(method)):
            return getattr(self._inner, method)(*arguments, **options)

    def whole_answer(self, method: str, samples: Any) -> Any:
        """What a method says of all samples at once; None would read as if there were no such method."""
        found = self.answer(method, samples)
        if found is None:
            raise InputError("returned nothing", where=self.place(method), fix="Return an answer for each sample.")
        return found

    def answers(self, method: str, *batch: Any) -> Any:
        """What a method returns for a batch: as many answers as it has samples."""
        found = self.answer(method, *batch)
        if length(found) != len(batch[0]):
            raise InputError(
                f"gave {length(found)} answers to {len(batch[0])} samples", where=self.place(method),
                fix="Return one for each sample, in their order.",
            )  # fmt: skip
        return found

    def numbers(self, method: str, *batch: Any) -> AnyArray:
        """Answers that are numbers, none of them NaN."""
        found = as_numeric(self.answers(method, *batch), self.place(method))
        refuse_nan(found, self.place(method), fix="Repair the model.")
        return found


def length(answer: Any) -> int | str:
    """How many there are in an answer, or its type where it has no length."""
    try:
        return len(answer)
    except TypeError:
        return type(answer).__name__


def joined(parts: list[AnyArray], where: str) -> AnyArray:
    """Answers to all batches in one array."""
    shapes = dict.fromkeys(part.shape[1:] for part in parts)
    if len(shapes) > 1:
        text = " and ".join(map(str, shapes))
        raise InputError(f"answers of shapes {text}", where=where, fix="Return one shape for all samples.")
    return np.concatenate(parts)
