"""Call the methods of a user's object, and report their errors and invalid answers by method name."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.generation.graph_reading import is_networkx
from graphgauge.old.core.factory import own_code


class Respondent:
    """A subject or a classifier, called for one answer as a whole or for one answer per sample."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def place(self, method: str) -> str:
        return f"{type(self._inner).__name__}.{method}"

    def attribute(self, name: str, default: Any = None) -> Any:
        with own_code(self.place(name)):
            return getattr(self._inner, name, default)

    def answer(self, method: str, *arguments: Any, **options: Any) -> Any:
        with own_code(self.place(method)), warnings.catch_warnings():
            # torch warns about tensors that share a read-only array, but this copy is not shared.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            given = [protected(argument) for argument in arguments]
            return getattr(self._inner, method)(*given, **options)

    def whole_answer(self, method: str, samples: Any) -> Any:
        """A method's answer for all samples at once; None is an error, because it would look like a missing method."""
        found = self.answer(method, samples)
        if found is None:
            raise InputError("returned nothing", where=self.place(method), fix="Return an answer for each sample.")
        return found

    def answers(self, method: str, *batch: Any) -> Any:
        """A method's answers for a batch, one per sample."""
        found = self.answer(method, *batch)
        count = self.length(method, found)
        if count != len(batch[0]):
            raise InputError(
                f"gave {count} answers to {len(batch[0])} samples",
                where=self.place(method),
                fix="Return one for each sample, in their order.",
            )
        return found

    def length(self, method: str, answer: Any) -> int | str:
        """The length of an answer, or its type if it has no length."""
        with own_code(self.place(method)):
            try:
                return len(answer)
            except TypeError:
                return type(answer).__name__

    def numbers(self, method: str, *batch: Any) -> AnyArray:
        """Numeric answers without NaN."""
        answers = self.answers(method, *batch)
        with own_code(self.place(method)):  # a user's object may create its array only now
            found = as_numeric(answers, self.place(method))
        refuse_nan(found, self.place(method), fix="Fix the model.")
        return found


def protected(argument: Any) -> Any:
    """A copy for a user's method. Arrays are read-only and networkx graphs are frozen, so a method that works in place
    fails with its name, and the original is not changed."""
    if isinstance(argument, np.ndarray):
        copied = argument.copy()
        copied.flags.writeable = False
        return copied
    if isinstance(argument, list) and argument and not isinstance(argument[0], list | tuple):
        return [protected(item) for item in argument]
    copied = deepcopy(argument)
    if is_networkx(argument):
        need("networkx", "networkx graphs").freeze(copied)
    return copied


def joined(parts: list[AnyArray], where: str) -> AnyArray:
    """The answers for all batches in one array."""
    shapes = dict.fromkeys(part.shape[1:] for part in parts)
    if len(shapes) > 1:
        text = " and ".join(map(str, shapes))
        raise InputError(f"answers of shapes {text}", where=where, fix="Return one shape for all samples.")
    return np.concatenate(parts)
