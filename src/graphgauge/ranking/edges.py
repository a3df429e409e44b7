"""Edges as columns of numbers: pairs of nodes, or triples of head, relation and tail.

Triples of other libraries are read by what these offer publicly: PyKEEN's factories, frames, names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, Mask, as_labels, as_numeric, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.ranking.cells import distinct
from graphgauge.ranking.sets import frame_columns, numbers_of

_LARGEST = np.iinfo(np.int64).max
_TRIPLES = "Pass triples (n, 3) of head, relation and tail, a frame with these columns, or a TriplesFactory."


@dataclass(frozen=True)
class Edges:
    """Pairs, or triples of head, relation and tail; pairs have one relation, 0."""

    head: Ints
    relation: Ints
    tail: Ints

    @classmethod
    def of(cls, edges: Any, name: str) -> Edges:
        array = as_numeric(edges, name)
        if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
            shape = f"{array.dtype} {array.shape}"
            raise InputError(f"expected whole numbers of shape (n, 2) or (n, 3), found {shape}", where=name)
        if array.size and array.min() < 0:
            raise InputError(f"names the node {array.min()}", where=name, fix="Number nodes and relations from 0.")
        columns = array.astype(np.int64, copy=False).T
        middle = columns[1] if len(columns) == 3 else np.zeros(array.shape[0], np.int64)
        return cls(columns[0], middle, columns[-1])

    @classmethod
    def all_of(cls, **lists: Any) -> dict[str, Edges]:
        """Several lists by name, without those that are None; all of pairs, or all of triples."""
        present = {name: edges for name, edges in lists.items() if edges is not None}
        widths = {name: np.shape(edges)[-1] if np.ndim(edges) == 2 else 0 for name, edges in present.items()}
        read = {name: cls.of(edges, name) for name, edges in present.items()}
        if len(set(widths.values())) > 1:
            named = ", ".join(f"{name} (n, {width})" for name, width in widths.items())
            raise InputError(f"pairs and triples are mixed: {named}", fix="Pass all with relations, or all without.")
        return read

    def __len__(self) -> int:
        return len(self.head)

    @property
    def reversed(self) -> Edges:
        return Edges(self.tail, self.relation, self.head)

    def turned(self, relation: int) -> Edges:
        """The reversed edges, all under one relation."""
        return Edges(self.tail, np.full(len(self), relation), self.head)

    def take(self, rows: Any) -> Edges:
        return Edges(self.head[rows], self.relation[rows], self.tail[rows])

    @staticmethod
    def joined(lists: Sequence[Edges]) -> Edges:
        columns = zip(*((each.head, each.relation, each.tail) for each in lists), strict=True)
        return Edges(*(np.concatenate(column) for column in columns))

    @property
    def nodes(self) -> int:
        """One more than the largest node."""
        return 1 + max(int(self.head.max(initial=-1)), int(self.tail.max(initial=-1)))

    @property
    def rows(self) -> Ints:
        return np.stack([self.head, self.relation, self.tail], axis=1)

    @cached_property
    def numbers(self) -> Ints:
        """The number of each edge among the distinct ones."""
        return dense(self.head, self.relation, self.tail)

    @cached_property
    def repeats(self) -> float:
        """The share of edges that repeat another one."""
        return 1 - (int(self.numbers.max()) + 1) / len(self) if len(self) else 0.0

    def among(self, others: Edges) -> Mask:
        """Which of these edges are among the others."""
        mine, theirs = np.split(Edges.joined([self, others]).numbers, [len(self)])
        return np.isin(mine, theirs)


def dense(*columns: Ints) -> Ints:
    """A number for each distinct row of columns, from 0 without gaps, in the order of the rows."""
    return distinct(columns)[1]


def pair_codes(first: Ints, second: Ints | int, width: int) -> Ints:
    """One number for two, if the second is below `width`."""
    if (int(first.max(initial=0)) + 1) * width > _LARGEST:
        raise InputError("node numbers are too large to be looked up", fix="Number nodes from 0 without gaps.")
    codes: Ints = first * width + second
    return codes


# ---- triples as other libraries have them


@dataclass(frozen=True, eq=False)
class TripleNames:
    """The names of entities and of relations, in the order of their numbers."""

    entities: AnyArray | None = None
    relations: AnyArray | None = None

    @classmethod
    def of(cls, given: Any) -> TripleNames:
        """A pair of lists or of dictionaries from name to number, or an object that has both, as a TriplesFactory."""
        if given is None:
            return cls()
        if hasattr(given, "entity_to_id") and hasattr(given, "relation_to_id"):
            given = given.entity_to_id, given.relation_to_id
        if not isinstance(given, tuple) or len(given) != 2:
            fix = "Pass (entity names, relation names), or a TriplesFactory."
            raise InputError(f"found {type(given).__name__}", where="names", fix=fix)
        return cls(*(_in_order(part, f"names[{number}]") for number, part in enumerate(given)))


def triples_of(given: Any, where: str, names: TripleNames | None = None) -> Edges:
    """Triples from an array, a frame with three columns, a TriplesFactory of PyKEEN, or a list of any of these."""
    known = names or TripleNames()
    if isinstance(given, Edges):
        return given
    if hasattr(given, "mapped_triples"):
        given = given.mapped_triples
    if isinstance(given, list | tuple) and given and any(_is_triples(part) for part in given):
        return Edges.joined([triples_of(part, f"{where}[{number}]", known) for number, part in enumerate(given)])
    if hasattr(given, "columns") and not is_tensor(given):
        columns = frame_columns(given, where, 3)
    else:
        array = np.asarray(given) if not is_tensor(given) else as_numeric(given, where)
        if array.ndim != 2 or array.shape[1] != 3:
            raise InputError(f"found the shape {array.shape}", where=where, fix=_TRIPLES)
        columns = list(array.T)
    needed = "names=(entity names, relation names)"
    kinds = (known.entities, known.relations, known.entities)
    numbers = [numbers_of(column, kind, where, needed) for column, kind in zip(columns, kinds, strict=True)]
    return Edges.of(np.stack(numbers, axis=1), where)


def _in_order(names: Any, where: str) -> AnyArray | None:
    if names is None:
        return None
    if isinstance(names, Mapping):
        numbers = sorted(names.values())
        if numbers != list(range(len(numbers))):
            raise InputError("the numbers of names have gaps", where=where, fix="Number them from 0.")
        names = sorted(names, key=names.__getitem__)
    return as_labels(list(names), where)


def _is_triples(part: Any) -> bool:
    return hasattr(part, "mapped_triples") or hasattr(part, "columns") or np.ndim(part) == 2
