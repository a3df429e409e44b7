"""Shards of scores as tasks: each is read and counted where the worker is, and only its state is sent."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import Progress
from graphgauge.old.core.cluster import mapped
from graphgauge.old.core.files import is_pattern, matching
from graphgauge.old.io.arrays import ArrayFile, Shards, open_array
from graphgauge.old.ranking.inputs import checked_offsets
from graphgauge.old.ranking.state import RankingState

# Read by one task, and at once: a task takes milliseconds besides, and one that is lost is read again.
TASK_BYTES = 1 << 27
_BLOCK_BYTES = 1 << 25


class Piece(NamedTuple):
    """Some rows of a file."""

    path: str
    start: int
    stop: int


class Task(NamedTuple):
    """Rows to be counted: pieces of each input, arrays of labels, and the options of the state and of its update."""

    start: int
    stop: int
    pieces: Mapping[str, Sequence[Piece]]
    labels: Mapping[str, Any]
    state: Mapping[str, Any]
    update: Mapping[str, Any]
    pool: bool = False


class Sharded(NamedTuple):
    """The files of one input under the names that workers open them by."""

    paths: Sequence[str]
    shards: Shards

    @classmethod
    def of(cls, patterns: Sequence[Any], shards: Shards) -> Sharded:
        paths = [path for given in map(str, patterns) for path in (matching(given) if is_pattern(given) else [given])]
        return cls([str(Path(path).absolute()) for path in paths], shards)

    def pieces(self, start: int, stop: int) -> list[Piece]:
        found, first = [], 0
        for path, file in zip(self.paths, self.shards.files, strict=True):
            last = first + len(file)
            if first < stop and start < last:
                found.append(Piece(path, max(start - first, 0), min(stop, last) - first))
            first = last
        return found


def matrix_from_tasks(
    state: RankingState,
    shards: Mapping[str, Shards],
    mask: Shards | None,
    given: Mapping[str, Any],
    labels: Mapping[str, Any],
    progress: Progress,
) -> RankingState:
    """Count the rows of a matrix as tasks."""
    inputs = {name: Sharded.of(given[name], each) for name, each in shards.items()}
    if mask is not None and given["mask"]:
        inputs["mask"] = Sharded.of(given["mask"], mask)
    per_row = {name: value for name, value in labels.items() if value is not None}
    if mask is not None and not given["mask"]:
        per_row["mask"] = mask.rows(0, len(mask))
    if given["keep"] is not None:
        per_row["ids"] = np.arange(len(shards["pos_scores"]))
    tasks = [
        Task(
            block.start,
            block.stop,
            {name: each.pieces(block.start, block.stop) for name, each in inputs.items()},
            rows_of(per_row, block),
            _options_of(state),
            {"nan": given["nan"], "threads": 1},
        )
        for block in _whole_files(shards["neg_scores"])
    ]
    return count_tasks(state, tasks, progress)


def ragged_from_tasks(
    state: RankingState,
    shards: Mapping[str, Shards],
    offsets: AnyArray,
    given: Mapping[str, Any],
    labels: Mapping[str, Any],
    progress: Progress,
) -> RankingState:
    """Count queries with any number of negatives as tasks."""
    pos, neg = shards["pos_scores"], shards["neg_scores"]
    ends = checked_offsets(offsets, len(pos), len(neg))
    inputs = {name: Sharded.of(given[name], each) for name, each in shards.items()}
    per_row = {name: value for name, value in labels.items() if value is not None}
    if given["keep"] is not None:
        per_row["ids"] = np.arange(len(pos))
    tasks = []
    for rows in _cut_at(ends, TASK_BYTES // neg.files[0].dtype.itemsize):
        first, last = int(ends[rows.start]), int(ends[rows.stop])
        pieces = {
            "pos_scores": inputs["pos_scores"].pieces(rows.start, rows.stop),
            "neg_scores": inputs["neg_scores"].pieces(first, last),
        }
        own = {"offsets": ends[rows.start : rows.stop + 1] - first, **rows_of(per_row, rows)}
        tasks.append(Task(rows.start, rows.stop, pieces, own, _options_of(state), {"nan": given["nan"], "threads": 1}))
    return count_tasks(state, tasks, progress)


def pool_from_tasks(
    state: RankingState, shards: Mapping[str, Shards], given: Mapping[str, Any], progress: Progress
) -> RankingState:
    """Count positives and one pool as tasks."""
    tasks = []
    for name, each in shards.items():
        named = Sharded.of(given[name], each)
        tasks += [
            Task(
                block.start,
                block.stop,
                {name: named.pieces(block.start, block.stop)},
                {},
                _options_of(state),
                {"nan": given["nan"]},
                pool=True,
            )
            for block in _whole_files(each)
        ]
    return count_tasks(state, tasks, progress)


def _options_of(state: RankingState) -> dict[str, Any]:
    return {"pooled": state.pooled, "keep": state.keep, "negatives": state.negatives}


def _whole_files(shards: Shards) -> list[slice]:
    """Rows of one task each: many small files, or a part of a large one."""
    width = math.prod(shards.shape[1:]) * shards.files[0].dtype.itemsize
    found: list[slice] = []
    for block in shards.blocks(TASK_BYTES):
        if found and (block.stop - found[-1].start) * width <= TASK_BYTES:
            found[-1] = slice(found[-1].start, block.stop)
        else:
            found.append(block)
    return found


def _cut_at(ends: AnyArray, most: int) -> list[slice]:
    """Rows between these ends, in parts of at most so many values, or of one row."""
    cuts = [0]
    while cuts[-1] < len(ends) - 1:
        reached = int(np.searchsorted(ends, ends[cuts[-1]] + max(1, most), side="right")) - 1
        cuts.append(min(max(reached, cuts[-1] + 1), len(ends) - 1))
    return [slice(first, last) for first, last in pairwise(cuts)] or [slice(0, 0)]


def count_tasks(whole: RankingState, tasks: Sequence[Task], progress: Progress) -> RankingState:
    """Add the states of all tasks to `whole`, in order."""
    total = sum(task.stop - task.start for task in tasks)
    done = 0
    for task, kept in zip(tasks, mapped(counted, tasks), strict=True):
        whole.merge(RankingState.load(io.BytesIO(kept)))
        done += task.stop - task.start
        progress.stage("counting", done, total)
    return whole


def count_rows(function: Callable[[Any], bytes], tasks: Sequence[Any], progress: Progress) -> RankingState:
    """The state of all tasks, whose states the function counts."""
    whole: RankingState | None = None
    for done, kept in enumerate(mapped(function, tasks), 1):
        state = RankingState.load(io.BytesIO(kept))
        whole = state if whole is None else whole.merge(state)
        progress.stage("counting", done, len(tasks))
    assert whole is not None
    return whole


@dataclass(frozen=True)
class RowParts:
    """Rows of the files that one task reads, and which queries they are."""

    rows: list[slice]
    own: list[slice]

    @classmethod
    def of(cls, queries: int, most: int) -> RowParts:
        """One row per query, at most so many in a part."""
        step = max(1, most)
        rows = [slice(at, min(at + step, queries)) for at in range(0, queries, step)] or [slice(0, 0)]
        return cls(rows, rows)

    @classmethod
    def of_runs(cls, names: AnyArray, most: int) -> RowParts:
        """The rows of a query are in one part: they are sorted by query, which is also the order of counting."""
        starts = np.flatnonzero(np.append(True, names[1:] != names[:-1])) if len(names) else np.empty(0, np.int64)
        falls = np.flatnonzero(names[starts][1:] < names[starts][:-1])
        if len(falls):
            row = int(starts[falls[0] + 1])
            raise OptionError(
                f"an engine splits candidates that are sorted by query, and in row {row} query {names[row]!s:.60} "
                f"comes after {names[row - 1]!s:.60}",
                fix="Sort the files by query, or leave out the engine.",
            ).about("engine")
        ends = np.append(starts, len(names))
        own = _cut_at(ends, most)
        return cls([slice(int(ends[part.start]), int(ends[part.stop])) for part in own], own)

    @property
    def queries(self) -> int:
        return int(self.own[-1].stop)

    def require_labels(self, labels: Mapping[str, Any]) -> None:
        """Labels that are too short would be missed in the last part only, and too long ones in none."""
        for name, values in _flattened(labels):
            if len(values) not in (self.queries, self.rows[-1].stop):
                raise InputError(f"{len(values)} values for {self.queries} queries", where=name, fix="Give one each.")

    def labels(self, labels: Mapping[str, Any], place: int) -> dict[str, Any]:
        """Those of a part: one per row, or one per query."""

        def own(values: Any) -> Any:
            if isinstance(values, Mapping):
                return {name: own(part) for name, part in values.items()}
            return values[self.rows[place] if len(values) == self.rows[-1].stop else self.own[place]]

        return {name: own(values) for name, values in labels.items()}


def _flattened(labels: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, values in labels.items():
        if isinstance(values, Mapping):
            yield from ((f"{name}[{axis!r}]", own) for axis, own in values.items())
        else:
            yield name, values


def counted(task: Task) -> bytes:
    """The saved state of a task's rows."""
    return _bytes_of(_counted(task))


def _counted(task: Task) -> RankingState:
    state = RankingState(**task.state)
    opened = {name: _pieces(pieces) for name, pieces in task.pieces.items()}
    if "offsets" in task.labels:
        whole: dict[str, Any] = {name: shards.rows(0, len(shards)) for name, shards in opened.items()}
        with _in_rows(task.start, task.stop):
            return state.update(**whole, **task.labels, **task.update)
    for block, arrays in _blocks(opened):
        with _in_rows(task.start + block.start, task.start + block.stop):
            if task.pool:
                sides = arrays.get("pos_scores", np.empty(0)), arrays.get("neg_scores", np.empty(0))
                state.update_pool(*sides, nan=task.update["nan"])
            else:
                state.update(**arrays, **rows_of(task.labels, block), **task.update)
    return state


def saved(counted: Callable[[], RankingState], rows: slice) -> bytes:
    """A state in its file format; errors name the rows of the part."""
    with _in_rows(rows.start, rows.stop):
        return _bytes_of(counted())


@contextmanager
def _in_rows(start: int, stop: int) -> Iterator[None]:
    """Errors name these rows, from which indices in messages count."""
    try:
        yield
    except OptionError:
        raise
    except InputError as error:
        where = f"{error.where or 'scores'}, in rows {start} to {stop}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def _bytes_of(state: RankingState) -> bytes:
    buffer = io.BytesIO()
    state.save(buffer)
    return buffer.getvalue()


def rows_of(labels: Mapping[str, Any], block: slice) -> dict[str, Any]:
    """The rows of a block of all labels."""

    def rows(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: part[block] for name, part in value.items()}
        return None if value is None else value[block]

    return {name: rows(value) for name, value in labels.items()}


def _blocks(opened: Mapping[str, Shards]) -> Iterator[tuple[slice, dict[str, Any]]]:
    """Blocks of a task's rows, counted from its first, and the arrays of each."""
    widest = max(opened.values(), key=lambda shards: np.prod(shards.shape[1:]) * shards.files[0].dtype.itemsize)
    for block in widest.blocks(_BLOCK_BYTES):
        yield block, {name: shards.rows(block.start, block.stop) for name, shards in opened.items()}


def _pieces(pieces: Sequence[Piece]) -> Shards:
    return Shards([_Rows(open_array(piece.path), piece) for piece in pieces])


class _Rows(ArrayFile):
    """Some rows of a file, as a file."""

    def __init__(self, file: ArrayFile, piece: Piece) -> None:
        super().__init__(file.path, (piece.stop - piece.start, *file.shape[1:]), file.dtype)
        self._file, self._first = file, piece.start

    def rows(self, start: int, stop: int) -> AnyArray:
        return self._file.rows(self._first + start, self._first + stop)
