"""A user's object, asked: what its methods raise, or answer that is no answer, is said of them by name."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code
from graphgauge.generation.graphs import is_networkx


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
        with own_code(self.place(method)), warnings.catch_warnings():
            # torch warns of tensors that share a read-only array: this one is theirs alone.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            given = [protected(argument) for argument in arguments]
            return getattr(self._inner, method)(*given, **options)

    def whole_answer(self, method: str, samples: Any) -> Any:
        """What a method says of all samples at once; None would read as if there were no such method."""
        found = self.answer(method, samples)
        if found is None:
            raise InputError("returned nothing", where=self.place(method), fix="Return an answer for each sample.")
        return found

    def answers(self, method: str, *batch: Any) -> Any:
        """What a method returns for a batch: as many answers as it has samples."""
        found = self.answer(method, *batch)
        count = self.length(method, found)
        if count != len(batch[0]):
            raise InputError(
                f"gave {count} answers to {len(batch[0])} samples", where=self.place(method),
                fix="Return one for each sample, in their order.",
            )  # fmt: skip
        return found

    def length(self, method: str, answer: Any) -> int | str:
        """How many there are in an answer, or its type where it has no length."""
        with own_code(self.place(method)):
            try:
                return len(answer)
            except TypeError:
                return type(answer).__name__

    def numbers(self, method: str, *batch: Any) -> AnyArray:
        """Answers that are numbers, none of them NaN."""
        answers = self.answers(method, *batch)
        with own_code(self.place(method)):  # an object of the user's may make its array only now
            found = as_numeric(answers, self.place(method))
        refuse_nan(found, self.place(method), fix="Repair the model.")
        return found


def protected(argument: Any) -> Any:
    """A copy for a user's method to look at. Arrays are read-only and networkx graphs frozen: a method that works in
    place fails by its name, and what it was given stays as it is."""
    if isinstance(argument, np.ndarray):
        copied = argument.copy()
        copied.flags.writeable = False
        return copied
    if isinstance(argument, list) and argument and not isinstance(argument[0], list | tuple):
        return [protected(item) for item in argument]
    copied = deepcopy(argument)
    if is_networkx(argument):
        need("networkx", "graphs of networkx").freeze(copied)
    return copied


def joined(parts: list[AnyArray], where: str) -> AnyArray:
    """Answers to all batches in one array."""
    shapes = dict.fromkeys(part.shape[1:] for part in parts)
    if len(shapes) > 1:
        text = " and ".join(map(str, shapes))
        raise InputError(f"answers of shapes {text}", where=where, fix="Return one shape for all samples.")
    return np.concatenate(parts)
