"""Sets of entities, one per query: targets, known and allowed ones. Each form of input has one meaning everywhere.

- `(q,)` numbers, or a list of numbers: one entity of each query
- a scipy sparse matrix (q, m): the entries above 0; a boolean matrix (q, m)
- a pair `(values, offsets)`: the entities of query i are `values[offsets[i] : offsets[i + 1]]`
- a list of q sets or arrays; a dictionary of them by query, as TREC's and ranx's `{query: {entity: relevance}}`
- an array (n, 2), or a frame with two columns: pairs of query and entity; columns that are called so, in any order

With names of entities (`names=`) or of queries (`ids=`), these stand where numbers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import (
    as_array,
    as_labels,
    as_numeric,
    is_frame,
    is_tensor,
    on_host,
    require_shape,
    sorted_unique,
)
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.ranking.counting import distinct

# The query and the entity of each pair.
Pairs = tuple[Ints, Ints]
_LISTS = "Pass a list with the entities of each, pairs (n, 2), (values, offsets), a sparse or a boolean matrix."


@dataclass(frozen=True, eq=False)
class Numbering:
    """The queries and entities that sets are about: how many, what their names are, and what the caller calls them.

    If the number of entities is not known, sets have those up to the largest that they name.
    """

    queries: int
    entities: int | None
    ids: AnyArray | None = None
    names: AnyArray | None = None
    query: str = "query"
    entity: str = "entity"

    def of_entities(self, values: Any, where: str) -> Ints:
        """The numbers of entities, which may be given by name."""
        numbers = numbers_of(values, self.names, where, f"names= of all {_plural(self.entity)} in order")
        return _below(numbers, self.entities, where, self.entity)

    def pairs(self, columns: Sequence[Any], where: str) -> Pairs:
        """The numbers of queries and of entities, which may be given by id and by name."""
        queries = numbers_of(columns[0], self.ids, where, f"ids= of all {_plural(self.query)} in order")
        return _below(queries, self.queries, where, self.query), self.of_entities(columns[1], where)


def numbers_of(values: Any, names: AnyArray | None, where: str, needed: str) -> Ints:
    """Whole numbers as they are, or the places of names among all names, which may be numbers themselves."""
    array = as_array(values, where)
    if array.dtype == object and array.size and all(isinstance(each, str) for each in array.flat):
        array = array.astype(np.str_)
    if not array.size:
        return np.empty(array.shape, np.int64)
    if array.dtype.kind == "U" and (names is None or names.dtype.kind != "U"):
        raise InputError(f"contains {array.flat[0].item()!r:.40}, not numbers", where=where, fix=f"Pass {needed}.")
    if names is None or (names.dtype.kind == "U" and array.dtype.kind != "U"):
        return whole_numbers(array, where)
    if not len(names):
        raise InputError("there are no names", where=where, fix=f"Pass {needed}.")
    order = np.argsort(names, kind="stable")
    place = order[np.minimum(np.searchsorted(names, array, sorter=order), len(names) - 1)]
    unknown = names[place] != array
    if unknown.any():
        raise InputError(f"{array[unknown][0].item()!r:.60} is not among the names", where=where)
    return place.astype(np.int64)


def whole_numbers(values: Any, where: str, kind: str = "whole numbers") -> Ints:
    """Integers of any width; other kinds are an error, but an empty list may have any."""
    array = as_numeric(values, where)
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(f"expected {kind}, found {array.dtype}", where=where)
    return array.astype(np.int64)


def checked_offsets(offsets: Any, rows: int, values: int, where: str, what: str = "values") -> Ints:
    """Where the values of each row begin in one flat array, and where the last one's end."""
    array = whole_numbers(offsets, where)
    require_shape(array, (rows + 1,), where, f"n rows have n + 1 offsets: {what} of i are offsets[i:i+2].")
    if array[0] != 0 or array[-1] != values or (np.diff(array) < 0).any():
        said = f"offsets must rise from 0 to {values}, the number of {what}"
        raise InputError(said, where=where, fix=f"Found {array[0]} … {array[-1]}.")
    return array


@dataclass(frozen=True, eq=False)
class Sets:
    """Set i is `values[offsets[i] : offsets[i + 1]]`: numbers below `entities`, sorted, each once."""

    values: Ints
    offsets: Ints
    entities: int

    @classmethod
    def read(cls, given: Any, of: Numbering, where: str) -> Sets:
        """Sets in any form of input; None is the empty set for every query."""
        if isinstance(given, Sets):
            return given
        query, entity = _pairs(given, of, where)
        width = given.shape[1] if is_matrix(given) else of.entities
        return cls.from_pairs(query, entity, of.queries, width)

    @classmethod
    def from_pairs(cls, query: Ints, entity: Ints, queries: int, entities: int | None = None) -> Sets:
        """Pairs of a query and an entity, in any order and any number of times."""
        entities = 1 + int(entity.max(initial=-1)) if entities is None else entities
        keys = pair_codes(query, entity, max(entities, 1))
        if (keys[1:] <= keys[:-1]).any():
            query, entity = np.divmod(sorted_unique(keys), max(entities, 1))
        return cls(entity, np.append(0, np.cumsum(np.bincount(query, minlength=queries))), entities)

    # ---- what is in them

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """The set of each value."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, rows: Any) -> Sets:
        """The sets with these numbers, in this order."""
        numbers = rows if isinstance(rows, np.ndarray) and rows.dtype.kind == "i" else np.arange(len(self))[rows]
        size = self.offsets[numbers + 1] - self.offsets[numbers]
        ends = np.append(0, np.cumsum(size))
        places = np.repeat(self.offsets[numbers] - ends[:-1], size) + np.arange(ends[-1])
        return Sets(self.values[places], ends, self.entities)

    def contain(self, row: Ints, entity: Ints) -> Mask:
        """Whether set `row[i]` contains `entity[i]`."""
        width = max(self.entities, 1)
        keys, asked = pair_codes(self.rows, self.values, width), pair_codes(row, entity, width)
        place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        return keys[place] == asked if len(keys) else np.zeros(len(asked), bool)

    def without(self, other: Sets) -> Sets:
        """Each set less the same set of the other."""
        rows = self.rows
        kept = ~other.contain(rows, self.values)
        return Sets.from_pairs(rows[kept], self.values[kept], len(self), self.entities)

    def refuse(self, wrong: Mask, where: str, what: str, fix: str) -> None:
        """Refuse values at which `wrong` is true; `what` has places for the entity and the row of the first."""
        if wrong.any():
            first, more = int(np.argmax(wrong)), int(np.count_nonzero(wrong)) - 1
            said = what.format(entity=self.values[first], row=self.rows[first])
            raise InputError(said + (f", and {more} others" if more else ""), where=where, fix=fix)


# ---- each form of input as pairs of a query and an entity


def is_matrix(given: Any) -> bool:
    """Whether sets are a matrix with a column per entity: sparse, or booleans."""
    return hasattr(given, "tocsr") or str(getattr(given, "dtype", "")).removeprefix("torch.") == "bool"


def _pairs(given: Any, of: Numbering, where: str) -> Pairs:
    if given is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if is_matrix(given):
        require_shape(given, (of.queries, of.entities), where, f"One row per {of.query}, one column per {of.entity}.")
        return _of_sparse(given, where) if hasattr(given, "tocsr") else _of_mask(np.asarray(on_host(given, where)))
    if isinstance(given, Mapping):
        return _of_mapping(given, of, where)
    if is_frame(given):
        return of.pairs(frame_columns(given, where, ({"query", "user", of.query}, {"entity", of.entity})), where)
    if isinstance(given, tuple):
        return _of_offsets(given, of, where)
    if isinstance(given, list) and not _is_flat(given):
        return _of_list(given, of, where)
    return _of_array(as_array(given, where), of, where)


def _of_sparse(given: Any, where: str) -> Pairs:
    pairs = given.tocoo()
    data = np.asarray(pairs.data)
    for name, wrong in (("below 0", data < 0), ("NaN", data != data)):
        if wrong.any():
            first = int(np.argmax(wrong))
            what = (
                f"{np.count_nonzero(wrong)} entries are {name}, the first at ({pairs.row[first]}, {pairs.col[first]})"
            )
            raise InputError(what, where=where, fix=f"Keep what counts as right: {where} > 0.")
    row, column = (np.asarray(each)[data > 0].astype(np.int64) for each in (pairs.row, pairs.col))
    return row, column


def _of_mask(given: AnyArray) -> Pairs:
    query, entity = np.nonzero(given)
    return query, entity


def _of_mapping(given: Mapping[Any, Any], of: Numbering, where: str) -> Pairs:
    for name, part in given.items():
        if isinstance(part, Mapping) and any(grade != grade for grade in part.values()):
            raise InputError(f"{name!r:.60} has the grade NaN", where=where, fix="Write 0 for what is not right.")
    parts = [
        [key for key, grade in part.items() if grade > 0] if isinstance(part, Mapping) else list(part)
        for part in given.values()
    ]
    query, entity = of.pairs((list(given), [each for part in parts for each in part]), where)
    return np.repeat(query, [len(part) for part in parts]), entity


def _of_offsets(given: tuple[Any, ...], of: Numbering, where: str) -> Pairs:
    if len(given) != 2:
        raise InputError(f"expected (values, offsets), found {len(given)} parts", where=where, fix=_LISTS)
    values = of.of_entities(given[0], where)
    require_shape(values, (None,), where, f"Pass the entities of every {of.query} in one flat array.")
    return np.repeat(np.arange(of.queries), np.diff(checked_offsets(given[1], of.queries, len(values), where))), values


def _of_list(given: list[Any], of: Numbering, where: str) -> Pairs:
    if given and all(isinstance(each, list | tuple) and len(each) == 2 for each in given):
        raise _ambiguous(f"{len(given)} lists of two", f"np.array({where})", f"[set(each) for each in {where}]", of)
    if len(given) != of.queries:
        raise InputError(f"found {len(given)} sets for {of.queries}", where=where, fix=f"One per {of.query}.")
    parts = []
    for number, each in enumerate(given):
        place = f"{where}[{number}]"
        part = of.of_entities(sorted(each) if isinstance(each, set | frozenset) else each, place)
        require_shape(part, (None,), place, _LISTS)
        parts.append(part)
    rows = np.repeat(np.arange(of.queries), [len(part) for part in parts])
    return rows, np.concatenate([np.empty(0, np.int64), *parts])


def _of_array(array: AnyArray, of: Numbering, where: str) -> Pairs:
    if array.ndim == 1:
        numbers = of.of_entities(array, where)
        require_shape(numbers, (of.queries,), where, f"One number per {of.query}. {_LISTS}")
        return np.arange(of.queries), numbers
    if array.ndim == 2 and array.shape[1] == 2:
        if len(array) == of.queries:
            pairs = f"scipy.sparse.coo_array((np.ones(len({where})), {where}.T), ({of.queries}, {of.entities}))"
            raise _ambiguous(f"an array {array.shape}", pairs, f"list({where})", of)
        return of.pairs(list(array.T), where)
    what = f"found an array of shape {array.shape}"
    fix = f"For the entities of each {of.query} write list({where})."
    if array.ndim == 2 and len(array) == 2 != of.queries:
        fix = f"For pairs of {of.query} and {of.entity} pass its transpose, {where}.T."
    if array.ndim == 2 and array.size and array.dtype.kind in "iuf" and set(np.unique(array)) <= {0, 1}:
        what = f"a matrix {array.shape} of 0 and 1, where {of.entity} numbers are expected"
        fix = f"Pass it as booleans: {where} != 0."
    raise InputError(what, where=where, fix=f"{fix} {_LISTS}")


def is_one_each(targets: Any) -> bool:
    """Whether targets are one entity of each query, not sets."""
    if isinstance(targets, np.ndarray) or is_tensor(targets):
        return bool(targets.ndim == 1)
    return isinstance(targets, range) or (isinstance(targets, list) and bool(targets) and _is_flat(targets))


def frame_columns(frame: Any, where: str, called: Sequence[set[str]]) -> list[AnyArray]:
    """A column of a frame of any library for each set of names: by these if all are found, else in the frame's order.

    `user`, `User` and `user_id` are one name.
    """
    names, count = list(frame.columns), len(called)
    if len(names) != count:
        listed = ", ".join(map(str, names))
        fix = f"Choose {count}, in order: {where}[[{', '.join(repr(str(name)) for name in names[:count])}]]."
        raise InputError(f"a frame with the columns {listed:.80}", where=where, fix=fix)
    said = {str(name).lower().removesuffix("id").removesuffix("_"): name for name in names}
    found = [said[name] for own in called for name in said if name in own]
    names = found if len(set(found)) == len(found) == count else names
    return [np.asarray(frame[name]) for name in names]


def _is_flat(values: Iterable[Any]) -> bool:
    return all(isinstance(each, str) or not (np.ndim(each) or isinstance(each, set | frozenset)) for each in values)


def _ambiguous(found: str, pairs: str, sets: str, of: Numbering) -> InputError:
    what = f"{found} for {of.queries} {_plural(of.query)} can be pairs of {of.query} and {of.entity}, or two "
    what += f"{_plural(of.entity)} of each"
    return InputError(what, fix=f"Write {pairs} for pairs, {sets} for two of each.")


def _below(numbers: Ints, count: int | None, where: str, what: str) -> Ints:
    outside = numbers[(numbers < 0) | (numbers >= (np.iinfo(np.int64).max if count is None else count))]
    if outside.size:
        of = _plural(what) if count is None else f"the {count} {_plural(what)}"
        raise InputError(f"{outside[0]} is not among {of}, numbered from 0", where=where)
    return numbers


def _plural(noun: str) -> str:
    return noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"


_TRIPLES = (
    "Pass triples (n, 3) of head, relation and tail, a frame with these columns, a TriplesFactory, or a list of these; "
    "None for none."
)


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
        read = {name: cls.of(edges, name) for name, edges in present.items()}
        widths = {name: np.shape(edges)[-1] if np.ndim(edges) == 2 else 0 for name, edges in present.items()}
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
    rows = int(first.max(initial=0)) + 1
    if rows * width > np.iinfo(np.int64).max:
        fix = "Number entities from 0; names= has the names of all in order."
        raise InputError(f"{rows:,} times {width:,} entities are too many to number", fix=fix)
    codes: Ints = first * width + second
    return codes


# ---- triples as other libraries have them


# The names of entities and of relations, in the order of their numbers.
TripleNames = tuple[AnyArray | None, AnyArray | None]


def triple_names(given: Any) -> TripleNames:
    """From a pair of lists or of dictionaries from name to number, or an object that has both, as a TriplesFactory."""
    if given is None:
        return None, None
    if hasattr(given, "entity_to_id") and hasattr(given, "relation_to_id"):
        given = given.entity_to_id, given.relation_to_id
    if not isinstance(given, tuple) or len(given) != 2:
        fix = "Pass (entity names, relation names), or a TriplesFactory."
        raise InputError(f"found {type(given).__name__}", where="names", fix=fix)
    return _in_order(given[0], "names[0]"), _in_order(given[1], "names[1]")


def triples_of(given: Any, where: str, names: TripleNames = (None, None)) -> Edges:
    """Triples from an array, a frame with three columns, a TriplesFactory of PyKEEN, or a list of any of these."""
    if hasattr(given, "mapped_triples"):
        given = given.mapped_triples
    if isinstance(given, list | tuple) and given and any(_is_triples(part) for part in given):
        return Edges.joined([triples_of(part, f"{where}[{number}]", names) for number, part in enumerate(given)])
    if is_frame(given):
        columns = frame_columns(given, where, [{"head"}, {"relation"}, {"tail"}])
    else:
        array = as_array(given, where)
        if array.ndim != 2 or array.shape[1] != 3:
            raise InputError(f"found the shape {array.shape}", where=where, fix=_TRIPLES)
        columns = list(array.T)
    needed = "names=(entity names, relation names)"
    entities, relations = names
    kinds = zip(columns, (entities, relations, entities), strict=True)
    numbers = [numbers_of(column, kind, where, needed) for column, kind in kinds]
    return Edges.of(np.stack(numbers, axis=1), where)


def require_one_numbering(names: TripleNames, **given: Any) -> None:
    """Refuse a factory that numbers entities or relations otherwise than another one, or than the names."""
    parts = [(where, part) for where, each in given.items() for part in (each if isinstance(each, list) else [each])]
    for kind, own in zip(("entity", "relation"), names, strict=True):
        maps = [] if own is None else [("names", {name: number for number, name in enumerate(own.tolist())})]
        maps += [(where, getattr(part, f"{kind}_to_id")) for where, part in parts if hasattr(part, f"{kind}_to_id")]
        first: dict[str | int, tuple[str, int, str]] = {}
        for where, numbers in maps if len(maps) > 1 else ():
            for name, number in numbers.items():
                pair = str(name), int(number), where
                for other in (first.setdefault(pair[0], pair), first.setdefault(pair[1], pair)):
                    if other[:2] != pair[:2]:
                        what = f"numbers the {kind} {name!r:.60} as {number}, "
                        what += f"and {other[2]} {other[0]!r:.60} as {other[1]}"
                        fix = "Make all factories with entity_to_id= and relation_to_id= of the training factory."
                        raise InputError(what, where=where, fix=fix)


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
    return hasattr(part, "mapped_triples") or is_frame(part) or np.ndim(part) == 2
