"""What scores queries against all entities, a block of them at a time: a matrix, a function, or embeddings (`exact`).

In a block a mask says which entities are candidates. What is asked of a block is where its targets stand among them,
and which candidates come first.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.ranking import device
from graphgauge.ranking.counting import row_counts
from graphgauge.ranking.counts import Counts, Met
from graphgauge.ranking.flat import count_lists
from graphgauge.ranking.scores import forget
from graphgauge.ranking.sets import Sets

# Embeddings or other rows: an array, a tensor, or a tuple of them, as the real and imaginary parts of ComplEx.
Rows = Any
Function = Callable[[Rows, Rows], Any]
Top = tuple[Ints, Ints, Floats]


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of some queries: their targets, and what is left out of the candidates, which has no targets.

    `allowed`, if there is one, has the only candidates, targets among them. With several targets (`lists`) a target is
    a candidate beside the others; a single one is compared with the wrong answers.
    """

    targets: Sets
    left_out: Sets
    allowed: Sets | None = None
    lists: bool = False

    def take(self, rows: Any) -> Task:
        allowed = None if self.allowed is None else self.allowed.take(rows)
        return Task(self.targets.take(rows), self.left_out.take(rows), allowed, self.lists)

    def others(self) -> Mask:
        """Which entities are candidates of each query beside its targets."""
        mask = np.full((len(self.targets), self.targets.entities), self.allowed is None)
        if self.allowed is not None:
            mask[self.allowed.rows, self.allowed.values] = True
        mask[self.left_out.rows, self.left_out.values] = False
        mask[self.targets.rows, self.targets.values] = False
        return mask

    def candidates(self) -> Mask:
        """Which entities are candidates of each query, targets among them."""
        mask = self.others()
        mask[self.targets.rows, self.targets.values] = True
        return mask


class Tasks(Protocol):
    """Where the tasks of queries come from, made when they are asked for."""

    @property
    def targets(self) -> Sets: ...
    def take(self, rows: Any) -> Task: ...


class Scorer(ABC):
    """Scores of queries against all entities."""

    queries: int
    entities: int

    @abstractmethod
    def counts(self, rows: Ints, task: Task, minus_inf: str | None) -> Counts:
        """Where the targets of some queries stand."""

    @abstractmethod
    def top(self, rows: Ints, task: Task, k: int) -> Top:
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

    def counts(self, rows: Ints, task: Task, minus_inf: str | None) -> Counts:
        found = counted(self._scores[in_a_row(rows)], task, rows, minus_inf, "scores")
        forget(self._scores)
        return found

    def top(self, rows: Ints, task: Task, k: int) -> Top:
        return _top(as_numeric(self._scores[in_a_row(rows)], "scores"), task, k)


class FunctionOf(Scorer):
    """A function that scores a block of queries against the entities: (b, …), (m, …) → (b, m)."""

    def __init__(self, queries: Rows, entities: Rows, function: Function) -> None:
        if not callable(function):
            raise OptionError(f"score must be a name or a function, not {function!r:.60}")
        self._queries, self._entities = _parts(queries, "queries"), _parts(entities, "entities")
        self._function = function
        self.queries, self.entities = _length(self._queries, "queries"), _length(self._entities, "entities")

    def counts(self, rows: Ints, task: Task, minus_inf: str | None) -> Counts:
        return counted(self._block(rows), task, rows, minus_inf, "score")

    def top(self, rows: Ints, task: Task, k: int) -> Top:
        return _top(as_numeric(self._block(rows), "score"), task, k)

    def _block(self, rows: Ints) -> Any:
        torch = sys.modules.get("torch") if _has_tensors(self._queries, self._entities) else None
        try:
            with nullcontext() if torch is None else torch.no_grad():
                block = self._function(_cut(self._queries, in_a_row(rows)), self._entities)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            fix = "It takes a block of queries and all entities."
            raise InputError(f"the function failed ({what:.200})", where="score", fix=fix) from error
        scores = block if is_cuda(block) else as_numeric(block, "score")
        require_shape(scores, (len(rows), self.entities), "score", "It returns one row per query.")
        return scores


def in_a_row(rows: Ints) -> Any:
    """Rows as a slice if they follow each other, so that arrays are not copied."""
    follow = len(rows) > 0 and int(rows[-1] - rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows


# ---- in a block of scores


def counted(block: Any, task: Task, rows: Ints, minus_inf: str | None, where: str) -> Counts:
    """Where the targets of each row of a block of scores stand; `rows` are the numbers of its queries."""
    if task.lists:
        return _counted_lists(as_numeric(block, where), task, rows, minus_inf, where)
    targets, others = task.targets, task.others()
    if is_cuda(block):
        own = device.gathered(block, targets.rows, targets.values)
        found = device.rank_counts(own, block.detach(), others, exact=True)
    else:
        own = block[targets.rows, targets.values]
        found = row_counts(own, block, mask=others)
    above, equal, missing, lowest, negatives = found
    unscored = missing + (own != own)
    if unscored.any():
        raise _is_nan(int(unscored.sum()), int(negatives.sum()) + len(own), rows[np.argmax(unscored > 0)], where)
    met = _met_lowest(lowest, own, targets, rows, minus_inf)
    return Counts.from_ranks(above, equal, negatives + 1 - (lowest if met.excluded else 0), met=met)


def _counted_lists(scores: AnyArray, task: Task, rows: Ints, minus_inf: str | None, where: str) -> Counts:
    inside, targets = task.candidates(), task.targets
    size, right = np.count_nonzero(inside, axis=1), np.zeros(inside.shape, bool)
    right[targets.rows, targets.values] = True
    flat, right = scores[inside], right[inside]
    end = np.cumsum(size)
    if (flat != flat).any():
        missing = np.flatnonzero(flat != flat)
        raise _is_nan(len(missing), len(flat), rows[np.searchsorted(end, missing[0], side="right")], where)
    at_end = np.flatnonzero(np.isneginf(flat) & ~right)
    lowest = np.bincount(np.searchsorted(end, at_end, side="right"), minlength=len(size))
    met = _met_lowest(lowest, scores[targets.rows, targets.values], targets, rows, minus_inf)
    counts = replace(count_lists(flat, right, end - size, size), met=met)
    return replace(counts, candidates=size - lowest) if met.excluded else counts


def _is_nan(count: int, of: int, row: int, where: str) -> InputError:
    what = f"{count} of {of} values are NaN, the first for query {row}"
    return InputError(what, where=where, fix="Repair the model.")


def _met_lowest(lowest: AnyArray, own: AnyArray, targets: Sets, rows: Ints, minus_inf: str | None) -> Met:
    """What candidates at −inf mean, as `minus_inf` says."""
    total = int(lowest.sum(dtype=np.int64))
    if minus_inf == "rank":
        return Met(lowest=total)
    wrong = np.isneginf(own)
    if wrong.any():
        first = int(np.argmax(wrong))
        what = f"the right answer {targets.values[first]} of query {rows[targets.rows[first]]} scores −inf"
        raise InputError(what, where="scores", fix='Filter no answers, or say minus_inf="rank".')
    if total and minus_inf is None:
        what = f"{total} candidates score −inf, the first in row {rows[np.argmax(lowest > 0)]}"
        fix = 'Say minus_inf="exclude" if they are no candidates, or "rank" if that is their score.'
        raise InputError(what, where="scores", fix=fix)
    return Met(excluded=total)


def entries(scores: AnyArray, candidates: Mask, k: int, slack: Floats | float = 0.0) -> tuple[Ints, Ints]:
    """Row and column of candidates whose score is at least the k-th best of their row, or less by twice `slack`."""
    block = np.array(scores, np.float64 if scores.dtype.kind != "f" or scores.dtype.itemsize == 8 else np.float32)
    block[~candidates] = -np.inf
    rows, width = block.shape
    if not rows or not width:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = max(width - k, 0)
    kth = np.partition(block, place, axis=1)[:, place]
    least = kth.astype(np.float64) - 2 * np.broadcast_to(slack, rows)
    row, column = np.nonzero((block >= least[:, None]) & candidates)
    return row, column


def _top(scores: AnyArray, task: Task, k: int) -> Top:
    row, column = entries(scores, task.candidates(), k)
    return row, column, scores[row, column].astype(np.float64)


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
