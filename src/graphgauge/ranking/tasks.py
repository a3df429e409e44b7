"""Shards of scores as tasks: each is read and counted where the worker is, and only its state is sent."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.cluster import answers, cluster
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.files import is_pattern, matching
from graphgauge.core.progress import Progress
from graphgauge.core.urls import is_url
from graphgauge.io.arrays import ArrayFile, Shards, open_array
from graphgauge.kernels.threads import available_threads
from graphgauge.ranking.state import RankingState

# Read by one task, and at once.
TASK_BYTES = 1 << 28
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
        return cls([path if is_url(path) else str(Path(path).absolute()) for path in paths], shards)

    def pieces(self, start: int, stop: int) -> list[Piece]:
        found, first = [], 0
        for path, file in zip(self.paths, self.shards.files, strict=True):
            last = first + len(file)
            if first < stop and start < last:
                found.append(Piece(path, max(start - first, 0), min(stop, last) - first))
            first = last
        return found


def require_alike(name: str, shards: Shards) -> None:
    """Refuse a shard of another dtype or width than the first, by name."""
    first = shards.files[0]
    for file in shards.files[1:]:
        for what, one, other in (("dtype", first.dtype, file.dtype), ("row shape", first.shape[1:], file.shape[1:])):
            if one != other:
                raise InputError(
                    f"has the {what} {other}, and {first.path.name} has {one}", where=f"{name} ({file.path.name})",
                    fix="Write all shards alike.",
                )  # fmt: skip


def count_tasks(
    whole: RankingState, tasks: Sequence[Task], scheduler: str | None, threads: int | None, progress: Progress
) -> RankingState:
    """Add the states of all tasks to `whole`, in order."""
    workers = min(threads or available_threads(), max(1, len(tasks)))
    total = sum(task.stop - task.start for task in tasks)
    done = 0
    with cluster(scheduler, workers) as client:
        for task, saved in zip(tasks, answers(client, counted, tasks), strict=True):
            whole.merge(RankingState.load(io.BytesIO(saved)))
            done += task.stop - task.start
            progress.stage("counting", done, total)
    return whole


def counted(task: Task) -> bytes:
    """The saved state of a task's rows."""
    state = RankingState(**task.state)
    try:
        for block, arrays in _blocks(task):
            if task.pool:
                sides = arrays.get("pos_scores", np.empty(0)), arrays.get("neg_scores", np.empty(0))
                state.update_pool(*sides, nan=task.update["nan"])
            else:
                state.update(**arrays, **rows_of(task.labels, block), **task.update)
    except OptionError:
        raise
    except InputError as error:
        where = f"{error.where or 'scores'}, in rows {task.start} to {task.stop}"
        raise InputError(error.what, where=where, fix=error.fix) from None
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


def _blocks(task: Task) -> Iterator[tuple[slice, dict[str, Any]]]:
    """Blocks of the task's rows, counted from its first, and the arrays of each."""
    opened = {
        name: Shards([_Rows(open_array(piece.path), piece) for piece in pieces]) for name, pieces in task.pieces.items()
    }
    widest = max(opened.values(), key=lambda shards: np.prod(shards.shape[1:]) * shards.files[0].dtype.itemsize)
    for block in widest.blocks(_BLOCK_BYTES):
        yield block, {name: shards.rows(block.start, block.stop) for name, shards in opened.items()}


class _Rows(ArrayFile):
    """Some rows of a file, as a file."""

    def __init__(self, file: ArrayFile, piece: Piece) -> None:
        super().__init__(file.path, (piece.stop - piece.start, *file.shape[1:]), file.dtype)
        self._file, self._first = file, piece.start

    def rows(self, start: int, stop: int) -> AnyArray:
        return self._file.rows(self._first + start, self._first + stop)
