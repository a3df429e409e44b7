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
# Entries below it, or above its inverse, have squares that may not be represented.
_TINY = 1e-100
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
    def of(
        cls,
        embeddings: Any,
        name: str,
        *,
        nan: str = "raise",
        score: Score = "poincare",
        directed: bool = False,
    ) -> Points:
        given = as_numeric(embeddings, name)
        require_shape(given, (None, None), name, COORDINATES)
        rows = np.ascontiguousarray(given, dtype=np.float64)
        present = np.ones(len(rows), bool)
        if score != "poincare":
            rows = _scaled(rows, score)
        sizes = np.einsum("ij,ij->i", rows, rows)
        if not (sizes < (_SURELY_INSIDE if score == "poincare" else np.inf)).all():  # also true for NaN
            if nan == "raise":
                refuse_nan(given, name, fix=_REPAIR)
            present &= ~np.isnan(rows).any(axis=1)
            rows = np.where(present[:, None], rows, 0.0)
            if score == "poincare":
                _refuse_outside(rows, name)
            elif not np.isfinite(rows).all():
                raise InputError("has infinite numbers", where=name, fix=_REPAIR)
        if score == "cosine":
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
            rows = rows / np.where(length > 0, length, 1.0)
        return cls(rows, present, score, directed)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def complete(self) -> bool:
        return bool(self.present.all())

    def margins(self, nodes: Ints) -> Floats:
        """1 − ‖x‖² of each node."""
        return margins(np.ascontiguousarray(self.rows[nodes].T))

    def order(self, first: Ints, second: Ints) -> Floats:
        """A value q per pair that increases with its distance."""
        if self.score == "poincare":
            room = self.margins(np.concatenate([first, second]))
            return squared_gaps(self.rows, first, second) / (room[: len(first)] * room[len(first) :])
        if self.score == "euclidean":
            return squared_gaps(self.rows, first, second)
        if not isinstance(self.score, str):
            return self._called(first, second)
        products = np.concatenate(
            [
                np.empty(0),
                *(
                    -np.einsum("ij,ij->i", self.rows[first[at : at + _AT_ONCE]], self.rows[second[at : at + _AT_ONCE]])
                    for at in range(0, len(first), _AT_ONCE)
                ),
            ]
        )
        # Cosines of parallel rows differ only by rounding.
        return np.round(products, _COSINE_DIGITS) if self.score == "cosine" else products

    def _called(self, first: Ints, second: Ints) -> Floats:
        score = self.score
        assert not isinstance(score, str)

        def scored(one: Ints, other: Ints) -> Floats:
            found = as_numeric(score(self.rows[one], self.rows[other]), "score").astype(np.float64)
            if found.shape != (len(one),) or not np.isfinite(found).all():
                wrong = (
                    f"{found.shape} for {len(one)} pairs" if found.shape != (len(one),) else "NaN or infinite scores"
                )
                raise InputError(
                    f"returned {wrong}",
                    where="score",
                    fix="Return one finite number per pair of rows, higher for likelier edges.",
                )
            return found

        if self.directed:
            return -scored(first, second)
        return -(scored(first, second) + scored(second, first)) / 2

    def holds(self, edges: Ints) -> Mask:
        """Which edges have an embedding at both ends."""
        if self.complete and edges.max(initial=-1) < len(self):
            return np.ones(len(edges), bool)
        inside = (edges < len(self)).all(axis=1)
        found = np.zeros(len(edges), bool)
        found[inside] = self.present[edges[inside]].all(axis=1)
        return found

    def extended(self, nodes: int, by: Points | None = None) -> Points:
        """The same points for `nodes` rows. Nodes that are absent are taken from `by`, or remain absent."""
        extra = nodes - len(self)
        rows = np.pad(self.rows, ((0, extra), (0, 0))) if extra > 0 else self.rows
        present = np.pad(self.present, (0, extra)) if extra > 0 else self.present
        if by is None:
            return self if extra <= 0 else replace(self, rows=rows, present=present)
        fresh = ~present & by.present[:nodes]
        if not fresh.any():
            return replace(self, rows=rows, present=present)
        if by.rows.shape[1] != rows.shape[1]:
            raise InputError(
                f"new nodes have {by.rows.shape[1]} coordinates, those that were there {rows.shape[1]}",
                where="embeddings",
                fix="New and old nodes are compared: embed them in one space.",
            )
        rows = np.where(fresh[:, None], by.rows[:nodes], rows)
        return replace(self, rows=rows, present=present | fresh)


def _scaled(rows: Floats, score: Score) -> Floats:
    """Rows whose products neither overflow nor vanish; a power of 2 changes no order and no digit.

    Cosines may scale every row by itself, distances and products only all rows together.
    """
    if score not in ("cosine", "euclidean", "dot") or not rows.size:
        return rows
    sizes = np.abs(rows).max(axis=1)
    known = np.isfinite(sizes) & (sizes > 0)
    if not known.any() or (sizes[known].min() > _TINY and sizes[known].max() < 1 / _TINY):
        return rows
    if score == "cosine":
        powers = np.where(known, np.frexp(np.where(known, sizes, 1.0))[1], 0)[:, None]
    else:
        powers = np.frexp(sizes[known].max())[1]
    return np.ldexp(rows, -powers)


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
