"""Labels of groups as small numbers, the same for every batch of a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError


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
        """Refuse text labels if there are integers, and integers if there is text."""
        kinds = {isinstance(name, str) for name in (*islice(self, 1), *values[:1].tolist())}
        if len(kinds) > 1:
            raise InputError(f"text labels and integer labels in group {self._axis!r}", fix="Use one kind of label.")

    def encode(self, values: AnyArray) -> Ints:
        """The numbers of labels; new ones get the next."""
        names, place = np.unique(values, return_inverse=True)
        self.require_kind(names)
        return self._numbers(names.tolist())[place]

    def recode(self, codes: Ints, other: Labels) -> Ints:
        """The numbers here of labels with these numbers in another state."""
        return self._numbers(other)[codes]

    def in_order(self, codes: Ints) -> Ints:
        """The places of labels among all of them, sorted."""
        place = {name: index for index, name in enumerate(sorted(self))}
        return np.array([place[name] for name in self], dtype=np.int64)[codes]

    def _numbers(self, names: Iterable[Any]) -> Ints:
        return np.array([self._codes.setdefault(name, len(self._codes)) for name in names], dtype=np.int64)


class QueryIds:
    """The ids of all queries that were counted: a repeated one would count as two queries.

    `said` is the rest of a sentence about an id that comes again, and `fix` says what to do. The ids are in sorted
    arrays, each at least twice as long as the next: adding n ids in any batches costs O(n log² n).
    """

    def __init__(self, where: str, said: str, fix: str) -> None:
        self._where, self._said, self._fix = where, said, fix
        self._parts: list[AnyArray] = []

    @classmethod
    def of_lists(cls) -> QueryIds:
        fix = "Give all candidates of a query in one part; split, they would count as two queries."
        return cls("queries", "has candidates in an earlier part", fix)

    @classmethod
    def of_items(cls) -> QueryIds:
        return cls("ids", "was counted before", "Give every query its own id, in all batches and states.")

    def require_new(self, names: AnyArray) -> None:
        """Refuse distinct ids if some are already counted."""
        names = _as_ids(names)
        for part in self._parts:
            if not len(names) or not len(part):
                continue
            if (part.dtype.kind == "U") != (names.dtype.kind == "U"):
                raise InputError("text ids and integer ids", where=self._where, fix="Use one kind of id.")
            place = np.minimum(np.searchsorted(part, names), len(part) - 1)
            again = names[part[place] == names]
            if len(again):
                said = f"query {again[0]} {self._said}{_more(len(again) - 1)}"
                raise InputError(said, where=self._where, fix=self._fix)

    def add(self, names: AnyArray) -> None:
        """Add ids that passed `require_new`."""
        if not len(names):
            return
        self._parts.append(_as_ids(names))
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            last = self._parts.pop()
            self._parts[-1] = np.sort(np.concatenate([self._parts[-1], last]), kind="stable")

    def all(self) -> AnyArray:
        return np.sort(np.concatenate(self._parts)) if self._parts else np.empty(0, np.int64)


def _as_ids(names: AnyArray) -> AnyArray:
    """In order; text, or integers of one type: unsigned and signed ones would be combined as floats."""
    return np.sort(names if names.dtype.kind == "U" else names.astype(np.int64))


def _more(others: int) -> str:
    return f", and {others} others, too" if others else ""
