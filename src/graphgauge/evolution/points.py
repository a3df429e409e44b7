"""Embeddings, and the order of pairs by them.

In the Poincaré ball d(u, v) = 2·asinh(√q) with q = ‖u − v‖² / ((1 − ‖u‖²)(1 − ‖v‖²)) rises with q, so ranking needs no
logarithm (Nickel and Kiela 2017). 1 − ‖x‖² is compensated, so that it is right up to the boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Ints, Mask

COORDINATES = "Pass one row of coordinates per node."
SCORES = ("poincare", "euclidean", "cosine", "dot")
Score = str | Callable[[Any, Any], Any]
# Squared norms below this are below 1 in any order of summation; above it, exact squares are used.
_SURELY_INSIDE = 1 - 1e-6
# Pairs whose rows are multiplied at once.
_AT_ONCE = 1 << 18
# Cosines that agree in so many digits are equal.
_COSINE_DIGITS = 12
# Splits a double into two halves of 26 bits, whose products are exact (Dekker 1971).
_SPLIT = 134217729.0
_REPAIR = 'Fix the embeddings, or pass nan="omit" to leave these nodes out.'


@dataclass(frozen=True)
class Points:
    """Embeddings, one row per node; nodes that are not `present` have none.

    `score` says how a pair is scored: by the distance in the Poincaré ball or in Euclidean space, by the cosine or the
    dot product, or by a function of two arrays of rows. Higher scores are better, and so are smaller distances. Without
    direction, a function's scores of both directions are averaged.
    """

    rows: Floats
    present: Mask
    score: Score = "poincare"
    directed: bool = False

    @classmethod
    def from_embeddings(
        cls, embeddings: Any, name: str, *, nan: str = "raise", score: Score = "poincare", directed: bool = False
    ) -> Points:
        """Check rows; those with NaN are refused, or absent with nan="omit"."""
        given = as_numeric(embeddings, name)
        require_shape(given, (None, None), name, COORDINATES)
        rows = np.ascontiguousarray(given, dtype=np.float64)
        present = np.ones(len(rows), bool)
        squares = np.einsum("ij,ij->i", rows, rows)
        if not (squares < (_SURELY_INSIDE if score == "poincare" else np.inf)).all():  # also true for NaN
            if nan == "raise":
                refuse_nan(given, name, fix=_REPAIR)
            present &= ~np.isnan(rows).any(axis=1)
            rows = np.where(present[:, None], rows, 0.0)
            squares = np.where(present, squares, 0.0)
            if score == "poincare":
                _refuse_outside(rows, name)
            elif not np.isfinite(squares).all():
                raise InputError("has numbers that are infinite, or whose squares are", where=name, fix=_REPAIR)
        if score == "cosine":
            rows = rows / np.where(squares > 0, np.sqrt(squares), 1.0)[:, None]
        return cls(rows, present, score, directed)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _room(self) -> Floats:
        """1 − ‖x‖² of each node."""
        return margins(np.ascontiguousarray(self.rows.T))

    def holds(self, edges: Ints) -> Mask:
        """Which edges (M, 2) have an embedding at both ends."""
        return np.asarray(self.present[edges].all(axis=1))

    def extended(self, nodes: int, by: Points | None = None) -> Points:
        """The same points for `nodes` rows. Nodes that are absent are taken from `by`, or remain absent."""
        extra = nodes - len(self)
        rows = np.pad(self.rows, ((0, extra), (0, 0))) if extra else self.rows
        present = np.pad(self.present, (0, extra)) if extra else self.present
        if by is not None and (fresh := ~present & by.present).any():
            if by.rows.shape[1] != rows.shape[1]:
                raise InputError(
                    f"new nodes have {by.rows.shape[1]} coordinates, those that were there {rows.shape[1]}",
                    where="embeddings",
                    fix="New and old nodes are compared: embed them in one space.",
                )
            rows, present = np.where(fresh[:, None], by.rows, rows), present | fresh
        return replace(self, rows=rows, present=present)

    def order(self, first: Ints, second: Ints) -> Floats:
        """A value per pair that rises with its distance, or falls with its score."""
        if self.score == "poincare":
            return squared_gaps(self.rows, first, second) / (self._room[first] * self._room[second])
        if self.score == "euclidean":
            return squared_gaps(self.rows, first, second)
        if not isinstance(self.score, str):
            scores = self._called(first, second)
            return -scores if self.directed else -(scores + self._called(second, first)) / 2
        products = np.empty(len(first))
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            products[part] = -np.einsum("ij,ij->i", self.rows[first[part]], self.rows[second[part]])
        # Cosines of parallel rows differ only by rounding.
        return np.round(products, _COSINE_DIGITS) if self.score == "cosine" else products

    def _called(self, first: Ints, second: Ints) -> Floats:
        assert callable(self.score)
        scores = as_numeric(self.score(self.rows[first], self.rows[second]), "score").astype(np.float64)
        if scores.shape != (len(first),) or not np.isfinite(scores).all():
            wrong = "NaN or infinite scores" if scores.shape == (len(first),) else f"{scores.shape} of {len(first)}"
            fix = "Return one finite number per pair of rows, higher for likelier edges."
            raise InputError(f"returned {wrong}", where="score", fix=fix)
        return scores


def _refuse_outside(rows: Floats, name: str) -> None:
    outside = ~(margins(np.ascontiguousarray(rows.T)) > 0)
    if outside.any():
        node = int(np.argmax(outside))
        raise InputError(
            f"{np.count_nonzero(outside)} of {len(rows)} rows have norm 1 or more, the first is row {node} with "
            f"norm {hypot(*rows[node].tolist()):.17g}",
            where=name,
            fix='Points must be inside the unit ball. If yours are not hyperbolic, pass score="euclidean", "cosine" or '
            '"dot". Do not clip single rows.',
        )


def margins(columns: Floats) -> Floats:
    """1 − ‖x‖² of each point, accurate even near the boundary, where plain subtraction loses all digits.

    Squares are split into two exact parts and their sum is compensated. NaN if a coordinate is 1 or beyond.
    """
    high, low = np.ones(columns.shape[1]), np.zeros(columns.shape[1])
    for coordinate in columns:
        x = np.where(np.abs(coordinate) < 1, coordinate, np.nan)
        square = x * x
        head = _SPLIT * x
        head -= head - x
        tail = x - head
        error = ((head * head - square) + 2.0 * head * tail) + tail * tail
        total = high - square
        back = total - high
        low += ((high - (total - back)) + (-square - back)) - error
        high = total
    return high + low


def squared_gaps(rows: Floats, first: Ints, second: Ints) -> Floats:
    """‖u − v‖² of each pair of rows."""
    squares = np.zeros(len(first))
    for coordinate in rows.T:
        difference = coordinate[first] - coordinate[second]
        squares += difference * difference
    return squares
