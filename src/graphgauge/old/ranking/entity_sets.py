"""Sets of entities, one per query: right answers, answers to leave out, allowed candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor, require_shape, sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.old.ranking.inputs import as_integers, checked_offsets

_FORMS = (
    "Give entity numbers and offsets (values, offsets), a list with the entity numbers of each query, a scipy sparse "
    "matrix, or a boolean matrix (queries, entities)."
)


class BlockCounts(NamedTuple):
    """For each right answer of a block of queries the wrong ones above and tied, and its own score.

    `left_out` are those of each query that turned out to be no candidates, `lowest` the number at −inf in all.
    """

    greater: Ints
    equal: Ints
    own: AnyArray
    left_out: Ints | int = 0
    lowest: int = 0


@dataclass(frozen=True)
class EntitySets:
    """The entities of set i are `values[offsets[i]:offsets[i + 1]]`, sorted, each once; `entities` is their number."""

    values: Ints
    offsets: Ints
    entities: int

    @classmethod
    def of(cls, given: Any, count: int, entities: int, name: str, one: str = "query") -> EntitySets:
        """`count` sets, from any form in which they come; `one` is what has a set."""
        if given is None:
            return cls.from_rows(np.empty(0, np.int64), np.empty(0, np.int64), count, entities)
        if isinstance(given, EntitySets):
            return given
        if hasattr(given, "tocsr"):
            return cls._from_sparse(given, count, entities, name)
        if isinstance(given, tuple):
            if len(given) != 2:
                raise InputError(f"expected {name}=(values, offsets)", where=name, fix=_FORMS)
            values = entity_numbers(given[0], name, entities)
            require_shape(values, (None,), name, f"Pass the entities of every {one} in one flat array.")
            offsets = checked_offsets(given[1], count, len(values), f"{name} offsets", f"{name} values")
            return cls.from_rows(np.repeat(np.arange(count), np.diff(offsets)), values, count, entities)
        if isinstance(given, np.ndarray) or is_tensor(given):
            return cls._from_matrix(as_numeric(given, name), count, entities, name)
        if isinstance(given, list):
            return cls._from_list(given, count, entities, name, one)
        raise InputError(f"expected {name}=(values, offsets), found {type(given).__name__}", where=name, fix=_FORMS)

    @classmethod
    def from_rows(cls, row: Ints, entity: Ints, count: int, entities: int) -> EntitySets:
        """Pairs of a set and an entity, in any order and any number of times."""
        span = max(entities, 1)
        pair = row * span + entity
        if (pair[1:] <= pair[:-1]).any():
            row, entity = np.divmod(sorted_unique(pair), span)
        return cls(entity, np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))]), entities)

    @classmethod
    def _from_sparse(cls, given: Any, count: int, entities: int, name: str) -> EntitySets:
        if tuple(given.shape) != (count, entities):
            raise InputError(
                f"expected a sparse matrix of shape ({count}, {entities}), found {tuple(given.shape)}",
                where=name,
                fix="One row per query, one column per entity.",
            )
        pairs = given.tocoo()
        there = np.asarray(pairs.data) != 0  # stored zeros are no entries
        return cls.from_rows(pairs.row[there].astype(np.int64), pairs.col[there].astype(np.int64), count, entities)

    @classmethod
    def _from_matrix(cls, given: AnyArray, count: int, entities: int, name: str) -> EntitySets:
        if given.dtype == np.bool_:
            require_shape(given, (count, entities), name, _FORMS)
            row, entity = np.nonzero(given)
            return cls.from_rows(row, entity, count, entities)
        values = entity_numbers(given, name, entities)
        require_shape(values, (count, None), name, _FORMS)
        _refuse_indicators(values, name)
        return cls.from_rows(np.repeat(np.arange(count), values.shape[1]), values.reshape(-1), count, entities)

    @classmethod
    def _from_list(cls, given: list[Any], count: int, entities: int, name: str, one: str) -> EntitySets:
        if len(given) != count:
            raise InputError(f"found {len(given)} sets for {count}", where=name, fix=f"One per {one}. {_FORMS}")
        parts = []
        for number, each in enumerate(given):
            if isinstance(each, set | frozenset):
                each = sorted(each)
            if not isinstance(each, Iterable) or isinstance(each, str):
                raise InputError(f"found {each!r:.40} where a set is expected", where=f"{name}[{number}]", fix=_FORMS)
            part = entity_numbers(each, f"{name}[{number}]", entities)
            require_shape(part, (None,), f"{name}[{number}]", _FORMS)
            parts.append(part)
        lengths = [len(part) for part in parts]
        values = np.concatenate(parts) if parts else np.empty(0, np.int64)
        if parts and len({*lengths}) == 1:
            _refuse_indicators(values.reshape(count, -1), name)
        return cls.from_rows(np.repeat(np.arange(count), lengths), values, count, entities)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def rows(self, block: slice | None = None) -> Ints:
        """The set of each value, counted from the block's first."""
        block = slice(0, len(self)) if block is None else block
        return np.repeat(np.arange(block.stop - block.start), np.diff(self.offsets[block.start : block.stop + 1]))

    def within(self, block: slice) -> Ints:
        """The values of the block's sets."""
        return self.values[self.offsets[block.start] : self.offsets[block.stop]]

    def joined(self, *others: EntitySets) -> EntitySets:
        """The union with the same set of the others."""
        largest, *smaller = sorted((self, *others), key=lambda each: -len(each.values))
        for each in smaller:
            rows, values = each.rows(), each.values
            # Right answers are usually among the known ones, so that nothing has to be added; nothing is sorted again.
            new = ~largest.contain(rows, values)
            if new.any():
                span = max(self.entities, 1)
                keys, more = largest.rows() * span + largest.values, rows[new] * span + values[new]
                rows, values = np.divmod(np.insert(keys, np.searchsorted(keys, more), more), span)
                largest = EntitySets.from_rows(rows, values, len(self), self.entities)
        return largest

    def contain(self, row: Ints, entity: Ints) -> AnyArray:
        """Whether set `row[i]` contains `entity[i]`."""
        span = max(self.entities, 1)
        keys, asked = self.rows() * span + self.values, row * span + entity
        place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        return keys[place] == asked if len(keys) else np.zeros(len(asked), bool)

    def take(self, chosen: Ints) -> EntitySets:
        """The sets with these numbers, in this order."""
        ends = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        return EntitySets(self.values[places(self.offsets, chosen)], ends, self.entities)


class SomeSets:
    """Sets in any form in which they come, of which those of some queries are taken; nothing else is looked at."""

    def __init__(self, given: Any, count: int, name: str) -> None:
        if number_of_sets(given) != count:
            raise InputError(
                f"found {number_of_sets(given)} sets for {count} queries", where=name, fix="One per query."
            )
        self._given = given.tocsr() if hasattr(given, "tocsr") else given
        if isinstance(given, tuple):
            offsets = checked_offsets(given[1], count, len(given[0]), f"{name} offsets", f"{name} values")
            self._given, self._sizes = (as_numeric(given[0], name), offsets), np.diff(offsets)

    @property
    def flat(self) -> bytes:
        """What stands for the sets, where it takes no search to say."""
        return (
            np.ascontiguousarray(self._given[1]).tobytes() + np.ascontiguousarray(self._given[0]).tobytes()
            if (isinstance(self._given, tuple))
            else b""
        )

    def take(self, rows: Ints) -> Any:
        """The sets of these queries, in a form that `EntitySets.of` takes."""
        given = self._given
        if isinstance(given, tuple):
            sizes = self._sizes[rows]
            ends = np.concatenate([[0], np.cumsum(sizes)])
            return given[0][np.repeat(given[1][rows] - ends[:-1], sizes) + np.arange(ends[-1])], ends
        if isinstance(given, list):
            return [given[row] for row in rows.tolist()]
        # Sets that are looked up when they are needed, or a matrix.
        return given[rows] if hasattr(given, "shape") else given.take(rows)


def places(offsets: Ints, rows: Ints) -> Ints:
    """Where the values of some sets are, one after the other."""
    size = np.diff(offsets)[rows]
    inside = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    return np.asarray(np.repeat(offsets[rows], size) + inside)


def number_of_sets(given: Any) -> int:
    """How many sets there are, in any form in which they come."""
    if isinstance(given, tuple) and len(given) == 2:
        return len(given[1]) - 1
    return int(given.shape[0]) if hasattr(given, "shape") else len(given)


def _refuse_indicators(rows: Ints, name: str) -> None:
    """More than two numbers a row, all 0 or 1, name the entities 0 and 1 again and again: they mark entities."""
    if rows.size and rows.shape[1] > 2 and rows.max() <= 1:
        raise InputError(
            "a matrix of 0 and 1 (queries, entities), where entity numbers are expected",
            where=name,
            fix="Pass it as booleans: matrix != 0.",
        )


def entity_numbers(numbers: Any, name: str, entities: int) -> Ints:
    array = as_integers(numbers, name, "entity numbers")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= entities):
        within = f"be in 0 … {entities - 1}" if entities else "name entities, and there are none"
        raise InputError(f"entity numbers must {within}", where=name)
    return array
