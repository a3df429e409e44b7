"""Embeddings against all entities: a fast product decides all but near ties, which are scored again in float64.

The error of a fast score is bounded, so candidates further than that from a target are decided by it. The others are
scored again in float64, summed in a fixed order, so that equal rows tie, wherever they are and however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Floats, Ints
from graphgauge.ranking.scorers import Places, Scorer, Task
from graphgauge.ranking.tops import entries

SCORES = ("dot", "l1", "l2", "distmult")
# Pairs whose score is computed in float64 at once.
_PAIRS = 1 << 14


class Embeddings(Scorer):
    """Dot products, or distances with a minus: −Σ|q − e| (`l1`) and −Σ(q − e)² (`l2`).

    For `distmult` queries are a pair (heads, relations), multiplied cell by cell.
    """

    def __init__(self, queries: Any, entities: Any, score: str) -> None:
        one_of("score", score, SCORES)
        right = as_numeric(entities, "entities")
        require_shape(right, (None, None), "entities", "Embeddings have shape (m, d).")
        left = _multiplied(queries, right) if score == "distmult" else as_numeric(queries, "queries")
        require_shape(left, (None, right.shape[1]), "queries", "Queries and entities have the same width.")
        dtype = _working_type(left, right)
        self._left, self._right = (np.ascontiguousarray(each, dtype) for each in (left, right))
        self._score, self.queries, self.entities = score, len(left), len(right)
        self._squares = np.einsum("ij,ij->i", self._right, self._right, dtype=float)

    def places(self, rows: Any, task: Task) -> Places:
        left, targets = self._left[rows], task.targets
        own = self._slow(left[targets.rows], targets.values)
        fast = self._fast(left)
        # No candidate: what is left out, what is not allowed, and targets, which are compared with each other below.
        fast[task.left_out.rows, task.left_out.values] = -np.inf
        if task.allowed is not None:
            for row in range(len(left)):
                outside = np.ones(self.entities, bool)
                outside[task.allowed.values[task.allowed.offsets[row] : task.allowed.offsets[row + 1]]] = False
                fast[row, outside] = -np.inf
        fast[targets.rows, targets.values] = -np.inf
        above, level = self._compared(fast, left, targets.rows, own)
        ahead, same = _among_targets(targets.rows, own)
        candidates = task.left_out.entities - task.left_out.sizes
        if task.allowed is not None:
            candidates = task.allowed.without(task.left_out).sizes
        return Places(above + ahead, level + same, own, candidates, np.zeros(len(left), np.int64))

    def top(self, rows: Any, task: Task, k: int) -> tuple[Ints, Ints, Floats]:
        left = self._left[rows]
        row, entity = entries(self._fast(left), task.left_out, task.allowed, k, self._bound(left))
        return row, entity, self._slow(left[row], entity)

    def _compared(self, fast: AnyArray, left: AnyArray, row: Ints, own: Floats) -> tuple[Ints, Ints]:
        """For each target, the scores of its row above its own, and equal to it."""
        bound = self._bound(left)[row]
        # The fast distances leave out the query's square, which shifts a row but keeps its order.
        shift = np.einsum("ij,ij->i", left, left, dtype=float)[row] if self._score == "l2" else 0.0
        low, high = (
            _outward(own - bound + shift, fast.dtype, -np.inf),
            _outward(own + bound + shift, fast.dtype, np.inf),
        )
        above, level = np.zeros((2, len(own)), np.int64)
        single = len(row) == len(left)
        step = len(row) if single else max(1, (1 << 20) // max(1, self.entities))
        for start in range(0, len(row), max(step, 1)):
            part = slice(start, start + step)
            block = fast if single else fast[row[part]]
            threads = threads_for(block.size)
            certain = _core.rank_counts(high[part], block, threads=threads)[0]
            greater, equal = _core.rank_counts(low[part], block, threads=threads)[:2]
            near = np.flatnonzero(greater + equal > certain)
            scores, bottom, top = block[near], low[part][near], high[part][near]
            inside = np.flatnonzero((scores >= bottom[:, None]) & (scores <= top[:, None]))
            place, column = np.divmod(inside, max(self.entities, 1))
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
        own, largest = (
            np.sqrt(np.einsum("ij,ij->i", left, left, dtype=float)),
            float(self._squares.max(initial=0)) ** 0.5,
        )
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
            terms = (
                a * b if self._score in ("dot", "distmult") else np.abs(a - b) if self._score == "l1" else (a - b) ** 2
            )
            for column in terms.T:  # NumPy's own sum depends on the shape
                total[part] += column
        return total if self._score in ("dot", "distmult") else -total


def _among_targets(row: Ints, own: Floats) -> tuple[Ints, Ints]:
    """For each target of a row, the targets of the row with higher scores, and with the same, itself too."""
    order = np.lexsort((-own, row))
    ordered, score = row[order], own[order]
    place = np.arange(len(order))
    new_row = np.append(True, ordered[1:] != ordered[:-1])[: len(order)]
    new_run = new_row | np.append(True, score[1:] != score[:-1])[: len(order)]
    first = np.maximum.accumulate(np.where(new_run, place, 0))
    run = np.cumsum(new_run) - 1
    ahead, same = np.empty((2, len(order)), np.int64)
    ahead[order] = first - np.maximum.accumulate(np.where(new_row, place, 0))
    same[order] = np.bincount(run)[run] if len(run) else 0
    return ahead, same


def _multiplied(queries: Any, entities: AnyArray) -> AnyArray:
    if not isinstance(queries, tuple | list) or len(queries) != 2:
        raise OptionError("distmult takes queries=(heads, relations)", fix="Both have the entities' width.")
    heads, relations = (as_numeric(part, "queries") for part in queries)
    require_shape(relations, heads.shape, "queries[1]", "Heads and relations have the same shape.")
    dtype = np.result_type(heads, relations, entities, np.float32)
    # The product is rounded once and is then the query, the same for every candidate.
    product: AnyArray = heads.astype(dtype) * relations.astype(dtype)
    return product


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
