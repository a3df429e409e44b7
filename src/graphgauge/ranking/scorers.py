"""What scores a block of queries against all entities: a matrix, a function, or embeddings, and counts in it.

A scorer has `queries` and `entities` (their numbers) and `block(rows)`, which scores some queries. A block counts, for
targets of its rows, the candidates with higher and with equal scores among all entities but those to leave out.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import AnyArray, as_numeric, is_cuda, is_tensor, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Floats, Ints
from graphgauge.ranking import device
from graphgauge.ranking.scores import forget
from graphgauge.ranking.sets import Sets
from graphgauge.ranking.tops import entries

# Embeddings or other rows: an array, a tensor, or a tuple of them, as the real and imaginary parts of ComplEx.
Rows = Any
Function = Callable[[Rows, Rows], Any]
# Scores that are gathered at once, so that they stay in the cache.
_GATHERED = 1 << 20


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of some queries: their targets, one row of sets each, and what is left out of the candidates.

    `left_out` has no targets. `allowed`, if there is one, has the only candidates, targets among them.
    """

    targets: Sets
    left_out: Sets
    allowed: Sets | None = None

    def take(self, rows: Any) -> Task:
        allowed = None if self.allowed is None else self.allowed.take(rows)
        return Task(self.targets.take(rows), self.left_out.take(rows), allowed)


class Tasks(Protocol):
    """Where the tasks of queries come from, made when they are asked for."""

    @property
    def targets(self) -> Sets: ...
    def take(self, rows: Any) -> Task: ...


@dataclass(frozen=True, eq=False)
class Places:
    """Of each target: candidates with higher scores, with the same (itself too), and its score in float64.

    Of each query: its candidates, and how many of them are at −inf.
    """

    above: Ints
    level: Ints
    own: Floats
    candidates: Ints
    lowest: Ints


class Scorer(ABC):
    """Scores of queries against all entities."""

    queries: int
    entities: int

    @abstractmethod
    def places(self, rows: Any, task: Task) -> Places:
        """Where the targets of some queries stand."""

    @abstractmethod
    def top(self, rows: Any, task: Task, k: int) -> tuple[Ints, Ints, Floats]:
        """Row, entity and score of the first k candidates of some queries, and of all that tie with the last."""


class Matrix(Scorer):
    """A matrix of scores (q, m), in memory, mapped from a file, or on a device."""

    def __init__(self, scores: Any) -> None:
        if hasattr(scores, "tocsr"):
            fix = "A score that is not stored is unknown. Pass a dense matrix, or embeddings."
            raise InputError("found a sparse matrix", where="scores", fix=fix)
        self._scores = scores if is_cuda(scores) else as_numeric(scores, "scores")
        require_shape(self._scores, (None, None), "scores", "A matrix (queries, entities), or embeddings of both.")
        self.queries, self.entities = self._scores.shape

    def places(self, rows: Any, task: Task) -> Places:
        places = places_in(self._scores[rows], task, "scores")
        forget(self._scores)
        return places

    def top(self, rows: Any, task: Task, k: int) -> tuple[Ints, Ints, Floats]:
        return _top_of(as_numeric(self._scores[rows], "scores"), task, k)


class FunctionOf(Scorer):
    """A function that scores a block of queries against the entities: (b, …), (m, …) → (b, m)."""

    def __init__(self, queries: Rows, entities: Rows, function: Function) -> None:
        if not callable(function):
            raise OptionError(f"score must be a name or a function, not {function!r:.60}")
        self._queries, self._entities = _parts(queries, "queries"), _parts(entities, "entities")
        self._function = function
        self.queries, self.entities = _length(self._queries, "queries"), _length(self._entities, "entities")

    def places(self, rows: Any, task: Task) -> Places:
        return places_in(self._block(rows, len(task.targets)), task, "score")

    def top(self, rows: Any, task: Task, k: int) -> tuple[Ints, Ints, Floats]:
        return _top_of(as_numeric(self._block(rows, len(task.targets)), "score"), task, k)

    def _block(self, rows: Any, count: int) -> Any:
        torch = sys.modules.get("torch") if _has_tensors(self._queries, self._entities) else None
        try:
            with nullcontext() if torch is None else torch.no_grad():
                block = self._function(_cut(self._queries, rows), self._entities)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            fix = "It takes a block of queries and all entities."
            raise InputError(f"the function failed ({what:.200})", where="score", fix=fix) from error
        scores = block if is_cuda(block) else as_numeric(block, "score")
        require_shape(scores, (count, self.entities), "score", "It returns one row per query.")
        return scores


# ---- in a block of scores


def _top_of(scores: AnyArray, task: Task, k: int) -> tuple[Ints, Ints, Floats]:
    row, column = entries(scores, task.left_out, task.allowed, k)
    return row, column, scores[row, column].astype(np.float64)


def places_in(block: Any, task: Task, where: str) -> Places:
    """Where the targets of each row of a matrix of scores stand among the other entities."""
    scores = _OnDevice(block) if is_cuda(block) else _OnHost(block)
    targets, away, size = task.targets, task.left_out, task.targets.sizes
    own = scores.at(targets.rows, targets.values)
    if task.allowed is not None:
        return _among(scores, task, own, where)
    first = own[targets.offsets[:-1]]
    above, level, missing, lowest = (each.astype(np.int64) for each in scores.counts(first))
    if missing.any():
        row = int(np.argmax(missing > 0))
        what = f"{missing.sum()} of {missing.size * away.entities} values are NaN, the first in row {row} of a block"
        raise InputError(what, where=where, fix="Repair the model.")
    if (size > 1).any():
        above, level = scores.levels(targets, own)
    # What is left out was counted with the others.
    out = scores.at(away.rows, away.values)
    lowest = lowest - np.bincount(away.rows[np.isneginf(out)], minlength=len(size))
    for part, query in _parts_of(away.sizes[targets.rows]):
        values = away.take(targets.rows[part])
        scored = out[
            np.repeat(away.offsets[targets.rows[part]] - values.offsets[:-1], values.sizes) + np.arange(len(query))
        ]
        mine = own[part][query]
        above[part] -= np.bincount(query[scored > mine], minlength=len(values))
        level[part] -= np.bincount(query[scored == mine], minlength=len(values))
    return Places(above, level, own.astype(np.float64), away.entities - away.sizes, lowest)


def _among(scores: _OnHost | _OnDevice, task: Task, own: AnyArray, where: str) -> Places:
    """The same among the allowed candidates only."""
    assert task.allowed is not None
    among = task.allowed.without(task.left_out)
    values = scores.at(among.rows, among.values)
    refuse_nan(values, where, fix="Repair the model.")
    rows = task.targets.rows
    above, level = np.zeros((2, len(rows)), np.int64)
    for part, query in _parts_of(among.sizes[rows]):
        begin, size = among.offsets[rows[part]], among.sizes[rows[part]]
        ends = np.append(0, np.cumsum(size))
        inside = values[np.repeat(begin - ends[:-1], size) + np.arange(len(query))]
        mine = own[part][query]
        above[part] = np.bincount(query[inside > mine], minlength=len(size))
        level[part] = np.bincount(query[inside == mine], minlength=len(size))
    lowest = np.bincount(among.rows[np.isneginf(values)], minlength=len(among))
    return Places(above, level, own.astype(np.float64), among.sizes, lowest)


def _parts_of(sizes: Ints) -> list[tuple[slice, Ints]]:
    """Rows of these sizes in parts that fit in the cache, with the row of each element, counted within its part."""
    ends = np.cumsum(sizes)
    parts, start = [], 0
    while start < len(sizes):
        before = int(ends[start] - sizes[start])
        stop = max(int(np.searchsorted(ends, before + _GATHERED, side="right")), start + 1)
        parts.append((slice(start, stop), np.repeat(np.arange(stop - start), sizes[start:stop])))
        start = stop
    return parts


class _OnHost:
    """A block of scores in memory."""

    def __init__(self, scores: AnyArray) -> None:
        kind = scores.dtype
        known = kind in (np.float16, np.float32, np.float64, np.int32, np.int64, np.uint64)
        self._scores = np.require(scores, kind if known else np.result_type(kind, np.int32), ("C", "A"))

    def at(self, rows: Ints, columns: Ints) -> AnyArray:
        picked: AnyArray = self._scores[rows, columns]
        return picked

    def counts(self, own: AnyArray) -> Sequence[AnyArray]:
        """In each row, scores above one of its own, equal to it, NaN and −inf."""
        counted: Sequence[AnyArray] = _core.rank_counts(own, self._scores, threads=threads_for(self._scores.size))
        return counted[:4]

    def levels(self, targets: Sets, own: AnyArray) -> tuple[Ints, Ints]:
        """In the row of each target, scores above it and equal to it."""
        width = self._scores.shape[1]
        flat = (self._scores.astype(np.float32) if self._scores.dtype == np.float16 else self._scores).reshape(-1)
        begin, size = np.arange(len(targets)) * width, np.full(len(targets), width)
        places, above, level = _core.list_places(
            flat, begin, size, targets.rows * width + targets.values, targets.offsets, threads=threads_for(flat.size)
        )
        back = np.argsort(places)  # they come best first, and targets are sorted by row and entity
        return above[back], level[back]


class _OnDevice:
    """A block of scores on a device."""

    def __init__(self, scores: Any) -> None:
        self._scores = scores.detach()

    def at(self, rows: Ints, columns: Ints) -> AnyArray:
        return device.gathered(self._scores, rows, columns)

    def counts(self, own: AnyArray) -> Sequence[AnyArray]:
        return device.rank_counts(own, self._scores, exact=True)[:4]

    def levels(self, targets: Sets, own: AnyArray) -> tuple[Ints, Ints]:
        return device.rank_counts(own, self._scores, rows=targets.rows, exact=True)[:2]


# ---- rows of any kind


def _parts(rows: Rows, name: str) -> Rows:
    """Arrays and tensors as they are, lists as arrays."""
    if isinstance(rows, tuple):
        return tuple(_parts(part, f"{name}[{number}]") for number, part in enumerate(rows))
    return rows if is_tensor(rows) or isinstance(rows, np.ndarray) else as_numeric(rows, name)


def _length(rows: Rows, name: str) -> int:
    parts = rows if isinstance(rows, tuple) else (rows,)
    if not parts or any(not len(part.shape) for part in parts):
        raise InputError("found a single number", where=name, fix="Pass one row of numbers per entry.")
    lengths = sorted({len(part) for part in parts})
    if len(lengths) > 1:
        what = f"parts of different lengths: {', '.join(map(str, lengths))}"
        raise InputError(what, where=name, fix="All parts have one row per entry.")
    return lengths[0]


def _cut(rows: Rows, block: Any) -> Rows:
    return tuple(part[block] for part in rows) if isinstance(rows, tuple) else rows[block]


def _has_tensors(*rows: Rows) -> bool:
    return any(is_tensor(part) for each in rows for part in (each if isinstance(each, tuple) else (each,)))
