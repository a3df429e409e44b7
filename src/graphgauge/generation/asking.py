"""Calls of a user's object: on read-only copies, and with errors that name the method."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.molecules import Molecules
from graphgauge.io.code import own_code


class Asked:
    """A user's object: its methods are called on read-only copies, and errors name them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def place(self, method: str) -> str:
        return f"{type(self._inner).__name__}.{method}"

    def attribute(self, name: str, default: Any = None) -> Any:
        with own_code(self.place(name)):
            return getattr(self._inner, name, default)

    def has(self, method: str) -> bool:
        return callable(self.attribute(method))

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        with own_code(self.place(method)), warnings.catch_warnings():
            # torch warns about tensors that share a read-only array, but this copy is not shared.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            answer = getattr(self._inner, method)(*map(_protected, arguments), **options)
        if answer is None:
            raise InputError("returned nothing", where=self.place(method), fix="Return an answer for each sample.")
        return answer

    def whole(self, method: str, items: Any) -> Any:
        """A method's answer for all samples at once."""
        return self.call(method, items)

    def length(self, method: str, answer: Any) -> int | str:
        """The length of an answer, or its type if it has none."""
        with own_code(self.place(method)):
            try:
                return len(answer)
            except TypeError:
                return type(answer).__name__

    def numbers(self, method: str, *batch: Any) -> AnyArray:
        """Numeric answers without NaN, one per sample of a batch."""
        answers = self.call(method, *batch)
        count = self.length(method, answers)
        if count != len(batch[0]):
            raise InputError(
                f"gave {count} answers to {len(batch[0])} samples",
                where=self.place(method),
                fix="Return one for each sample, in their order.",
            )
        with own_code(self.place(method)):  # a user's object may create its array only now
            array = as_numeric(answers, self.place(method))
        refuse_nan(array, self.place(method), fix="Fix the model.")
        return array


def _protected(argument: Any) -> Any:
    """A copy for a user's method: a method that works in place fails with its name, and the original stays."""
    if isinstance(argument, np.ndarray):
        copied = argument.copy()
        copied.flags.writeable = False
        return copied
    if isinstance(argument, Graphs | Molecules):
        return argument
    if isinstance(argument, list) and argument and not isinstance(argument[0], list | tuple):
        return [_protected(item) for item in argument]
    copied = deepcopy(argument)
    if type(argument).__module__.partition(".")[0] == "networkx":
        import networkx

        networkx.freeze(copied)
    return copied
