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
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, is_cuda, is_tensor, on_device, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.ranking.counting import row_counts, runs_of
from graphgauge.ranking.counts import Counts, Met
from graphgauge.ranking.lists import count_lists
from graphgauge.ranking.scores import asked, forget
from graphgauge.ranking.sets import Sets

# Of rows of queries and of all entities, arrays or tensors.
Function = Callable[[Any, Any], Any]
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


class Blocks(ABC):
    """Scores of queries against all entities, which come a block of queries at a time."""

    queries: int
    entities: int
    # The argument that they came in.
    where: str

    @abstractmethod
    def block(self, rows: Ints) -> Any:
        """The scores (b, m) of some queries."""

    def counts(self, rows: Ints, task: Task, minus_inf: str | None) -> Counts:
        """Where the targets of some queries stand."""
        return counted(self.block(rows), task, rows, minus_inf, self.where)

    def top(self, rows: Ints, task: Task, k: int) -> Top:
        """Row, entity and score of the first k candidates of some queries, and of all that tie with the last."""
        scores = as_numeric(self.block(rows), self.where)
        row, column = entries(scores, task.candidates(), k)
        return row, column, scores[row, column].astype(np.float64)


class Matrix(Blocks):
    """A matrix of scores (q, m), in memory, mapped from a file, or on a device."""

    where = "scores"

    def __init__(self, scores: Any) -> None:
        if hasattr(scores, "tocsr"):
            fix = "A score that is not stored is unknown. Pass a dense matrix, or embeddings."
            raise InputError("found a sparse matrix", where="scores", fix=fix)
        self._scores = scores if is_cuda(scores) else as_numeric(scores, "scores")
        require_shape(self._scores, (None, None), "scores", "A matrix (queries, entities), or embeddings of both.")
        self.queries, self.entities = self._scores.shape

    def block(self, rows: Ints) -> Any:
        forget(self._scores)  # what was read before
        return self._scores[in_a_row(rows)]


class FunctionOf(Blocks):
    """A function that scores a block of queries against the entities: (b, …), (m, …) → (b, m)."""

    where = "score"

    def __init__(self, queries: Any, entities: Any, function: Function) -> None:
        self._queries, self._entities = _rows(queries, "queries"), _rows(entities, "entities")
        self._function, self.queries, self.entities = function, len(self._queries), len(self._entities)

    def block(self, rows: Ints) -> Any:
        has_tensors = is_tensor(self._queries) or is_tensor(self._entities)
        torch = sys.modules.get("torch") if has_tensors else None
        with nullcontext() if torch is None else torch.no_grad():
            fix = "It takes a block of queries and all entities."
            block = asked("score", "", fix, self._function, self._queries[in_a_row(rows)], self._entities)
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
    rows_of, columns = (
        (on_device(each, block.device) if is_cuda(block) else each) for each in (targets.rows, targets.values)
    )
    own = block[rows_of, columns]
    above, equal, missing, lowest, negatives = row_counts(own, block, mask=others)
    own = as_numeric(own, where)
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


def _rows(rows: Any, name: str) -> Any:
    """Arrays and tensors as they are, lists as arrays."""
    array = rows if is_tensor(rows) or isinstance(rows, np.ndarray) else as_numeric(rows, name)
    if not array.ndim:
        raise InputError("found a single number", where=name, fix="Pass one row of numbers per entry.")
    return array


# ---- embeddings

SCORES = ("dot", "l1", "l2")
# Pairs whose score is computed in float64 at once, and fast scores that are compared at once.
_PAIRS, _COMPARED = 1 << 14, 1 << 20


class Embeddings:
    """Dot products, or distances with a minus: −Σ|q − e| (`l1`) and −Σ(q − e)² (`l2`); read as `Blocks` are."""

    def __init__(self, queries: Any, entities: Any, score: str) -> None:
        left, right = as_numeric(queries, "queries"), as_numeric(entities, "entities")
        require_shape(right, (None, None), "entities", "Embeddings have shape (m, d).")
        require_shape(left, (None, right.shape[1]), "queries", "Queries and entities have the same width.")
        dtype = _working_type(left, right)
        self._left, self._right = (np.ascontiguousarray(each, dtype) for each in (left, right))
        self._score, self.queries, self.entities = score, len(left), len(right)
        self._squares = _squares(self._right)

    def counts(self, rows: Ints, task: Task, minus_inf: str | None) -> Counts:
        left, targets, others = self._left[in_a_row(rows)], task.targets, task.others()
        own = self._slow(left[targets.rows], targets.values)
        above, level = self._compared(left, others, targets.rows, own)
        candidates = np.count_nonzero(others, axis=1) + targets.sizes
        if not task.lists:
            return Counts.from_ranks(above, level, candidates)
        # The targets of a query are compared with each other, too.
        order = np.lexsort((-own, targets.rows))
        query = targets.rows[order]
        _, first, size, before = runs_of(query, own[order])
        runs = above[order][first] + before, level[order][first], size
        return Counts.from_runs(query[first], runs, candidates, targets.sizes)

    def top(self, rows: Ints, task: Task, k: int) -> Top:
        left = self._left[in_a_row(rows)]
        row, entity = entries(self._fast(left), task.candidates(), k, self._bound(left))
        return row, entity, self._slow(left[row], entity)

    def _compared(self, left: AnyArray, others: Mask, row: Ints, own: Floats) -> tuple[Ints, Ints]:
        """For each target, the other candidates of its row with scores above its own, and equal to it."""
        fast, bound = self._fast(left), self._bound(left)[row]
        # The fast distances leave out the query's square, which shifts a row but keeps its order.
        shift = _squares(left)[row] if self._score == "l2" else 0.0
        low = _outward(own - bound + shift, fast.dtype, -np.inf)
        high = _outward(own + bound + shift, fast.dtype, np.inf)
        above, level = np.zeros((2, len(own)), np.int64)
        single = len(row) == len(left)
        step = max(1, len(row) if single else _COMPARED // max(1, self.entities))
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            block, mask = (fast, others) if single else (fast[row[part]], others[row[part]])
            threads = threads_for(block.size)
            certain = _core.rank_counts(high[part], block, mask, threads=threads)[0]
            greater, equal = _core.rank_counts(low[part], block, mask, threads=threads)[:2]
            near = np.flatnonzero(greater + equal > certain)
            scores, bottom, top = block[near], low[part][near], high[part][near]
            place, column = np.nonzero((scores >= bottom[:, None]) & (scores <= top[:, None]) & mask[near])
            target = start + near[place]
            again = self._slow(left[row[target]], column)
            above[part] = certain
            above += np.bincount(target[again > own[target]], minlength=len(own))
            level += np.bincount(target[again == own[target]], minlength=len(own))
        return above, level

    def _bound(self, left: AnyArray) -> Floats:
        """How far a fast score of each query may be from the float64 score that it is compared with."""
        size, numbers = left.shape[1], np.finfo(left.dtype)
        unit = (float(numbers.eps) + float(np.finfo(float).eps)) / 2
        own, largest = np.sqrt(_squares(left)), float(self._squares.max(initial=0)) ** 0.5
        if self._score == "l2":
            # −|q − e|² as 2q·e − |e|²: two terms, each with a product's error, and the rounding of their sum.
            bound = (size + 4) * unit * (2 * own * largest + largest**2 + own**2)
        elif self._score == "l1":
            bound = (size + 4) * unit * np.sqrt(size) * (own + largest)
        else:
            bound = (size + 2) * unit * own * largest
        # Products that underflow have an absolute error, even for small scores.
        return np.asarray(bound + (size + 4) * float(numbers.tiny))

    def _fast(self, left: AnyArray) -> AnyArray:
        if self._score == "l1":
            from scipy.spatial.distance import cdist

            distances: AnyArray = cdist(left, self._right, "cityblock").astype(left.dtype, copy=False)
            distances *= -1
            return distances
        product: AnyArray = left @ self._right.T
        if self._score == "l2":
            product *= 2
            product -= self._squares.astype(left.dtype)
        return product

    def _slow(self, left: AnyArray, entities: Ints) -> Floats:
        """The score of each row with its entity in float64, summed from left to right."""
        total = np.zeros(len(left))
        for start in range(0, len(left), _PAIRS):
            part = slice(start, start + _PAIRS)
            a, b = left[part].astype(float), self._right[entities[part]].astype(float)
            terms = -np.abs(a - b) if self._score == "l1" else -((a - b) ** 2) if self._score == "l2" else a * b
            for column in terms.T:  # NumPy's own sum depends on the shape
                total[part] += column
        return total


Scorer = Blocks | Embeddings


def _squares(rows: AnyArray) -> Floats:
    """The squared length of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=float))


def _working_type(left: AnyArray, right: AnyArray) -> np.dtype[Any]:
    """float32 or float64, in which no score overflows."""
    for name, array in (("queries", left), ("entities", right)):
        refuse_nan(array, name, fix="Repair the embeddings.")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError("infinite values in embeddings", where=name, fix="Repair the embeddings.")
    dtype = np.result_type(left, right, np.float32)
    with np.errstate(over="ignore"):
        magnitude = sum(np.float64(np.abs(each).max(initial=0)) for each in (left, right))
        reach = right.shape[1] * magnitude**2
    if reach > np.finfo(np.float64).max / 8:
        raise InputError("embeddings so large that their scores overflow", fix="Scale them down.")
    return np.dtype(np.float64) if reach > np.finfo(dtype).max / 8 else dtype


def _outward(bounds: Floats, dtype: np.dtype[Any], towards: float) -> AnyArray:
    """Bounds in a narrower type, not narrowed: a wider band costs little, a narrower one would be wrong."""
    narrowed = bounds.astype(dtype)
    return np.nextafter(narrowed, dtype.type(towards)) if dtype != bounds.dtype else narrowed
