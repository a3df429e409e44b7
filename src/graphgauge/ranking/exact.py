"""Embeddings against all entities: a fast product decides all but near ties, which are scored again in float64.

The error of a fast score is bounded, so candidates further than that from a target are decided by it. The others are
scored again in float64, summed in a fixed order, so that equal rows tie, wherever they are and however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.ranking.cells import runs_of
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.scorers import Scorer, Task, Top, entries, in_a_row

SCORES = ("dot", "l1", "l2")
# Pairs whose score is computed in float64 at once, and fast scores that are compared at once.
_PAIRS, _COMPARED = 1 << 14, 1 << 20


class Embeddings(Scorer):
    """Dot products, or distances with a minus: −Σ|q − e| (`l1`) and −Σ(q − e)² (`l2`)."""

    def __init__(self, queries: Any, entities: Any, score: str) -> None:
        one_of("score", score, SCORES)
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
