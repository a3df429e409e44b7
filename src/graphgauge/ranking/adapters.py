"""Triples as other libraries have them, by what these offer publicly: PyKEEN's factories, frames, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_labels, as_numeric, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.ranking.edges import Edges
from graphgauge.ranking.sets import frame_columns, numbers_of

_TRIPLES = "Pass triples (n, 3) of head, relation and tail, a frame with these columns, or a TriplesFactory."


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
