"""Labels of groups as small numbers, the same for every batch of a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError

Ints = NDArray[np.int64]


class Labels:
    """The distinct labels of one axis, numbered in order of first appearance."""

    def __init__(self, axis: str, names: Iterable[Any] = ()) -> None:
        self._axis = axis
        self._codes = {name: code for code, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._codes)

    def require_kind(self, values: AnyArray) -> None:
        """Refuse text where there are integers, and the other way round; an array is all of one kind."""
        kinds = {isinstance(name, str) for name in (*islice(self, 1), *values[:1].tolist())}
        if len(kinds) > 1:
            raise InputError(f"text labels meet integer labels in group {self._axis!r}", fix="Use one kind of label.")

    def encode(self, values: AnyArray) -> Ints:
        """The numbers of labels; new ones get the next."""
        names, place = np.unique(values, return_inverse=True)
        self.require_kind(names)
        return self._numbers(names.tolist())[place]

    def recode(self, codes: Ints, other: Labels) -> Ints:
        """The numbers here of what has these numbers in another state."""
        return self._numbers(other)[codes]

    def in_order(self, codes: Ints) -> Ints:
        """The places of labels among all of them, sorted."""
        place = {name: index for index, name in enumerate(sorted(self))}
        return np.array([place[name] for name in self], dtype=np.int64)[codes]

    def _numbers(self, names: Iterable[Any]) -> Ints:
        return np.array([self._codes.setdefault(name, len(self._codes)) for name in names], dtype=np.int64)
