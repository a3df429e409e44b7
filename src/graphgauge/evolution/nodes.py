"""What is known of nodes: their embeddings, which order pairs of them; their classes and types; which are original.

In the Poincaré ball d(u, v) = 2·asinh(√q) with q = ‖u − v‖² / ((1 − ‖u‖²)(1 − ‖v‖²)) rises with q, so ranking needs no
logarithm (Nickel and Kiela 2017). 1 − ‖x‖² is compensated, so that it is right up to the boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, on_host, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import number
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.edges import whole_numbers

_ONE_LABEL = "Pass one label per node."
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


def poincare_distance(u: Any, v: Any) -> float | Floats:
    """Hyperbolic distance between two points inside the unit ball, or between points row by row.

    Accurate to rounding, also near the boundary; equal points have distance 0. A norm of 1 or more is an error.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).

    Returns
    -------
    float or numpy.ndarray
        At least 0.

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.poincare_distance([0.0, 0.0], [0.5, 0.0]), 4)
    1.0986
    """
    first, second = as_numeric(u, "u"), as_numeric(v, "v")
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise InputError(
            f"found shapes {first.shape} and {second.shape}",
            where="u and v",
            fix="Pass two points (D,), or two arrays of points (n, D).",
        )
    pair = [Points.from_embeddings(np.atleast_2d(points), name) for points, name in ((first, "u"), (second, "v"))]
    both = Points(np.concatenate([points.rows for points in pair]), np.ones(2 * len(pair[0]), bool))
    rows = np.arange(len(pair[0]))
    found = 2 * np.arcsinh(np.sqrt(both.order(rows, rows + len(rows))))
    return float(found[0]) if first.ndim == 1 else found


def link_score(u: Any, v: Any, *, temperature: float = 1.0) -> float | Floats:
    """σ(−d/temperature) of the distance d: ½ for equal points, close to 0 for distant ones.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).
    temperature
        Above 0.

    Returns
    -------
    float or numpy.ndarray
        In (0, 0.5].

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.link_score([0.0, 0.0], [0.5, 0.0]), 4)
    0.25
    """
    found = link_score_from_distance(poincare_distance(u, v), temperature)
    return float(found) if found.ndim == 0 else found


def poincare_distance_batch(u: Any, v: Any, eps: float = 1e-7) -> Floats:
    """`poincare_distance` row by row, under its name in the original document.

    Parameters
    ----------
    u, v
        Rows of points inside the unit ball (n, d).
    eps
        Not needed: distances are right up to the boundary.

    Returns
    -------
    numpy.ndarray
        (n,), at least 0.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evolution.poincare_distance_batch([[0.0, 0.0]], [[0.5, 0.0]]).round(4)
    array([1.0986])
    """
    return np.atleast_1d(poincare_distance(u, v))


def link_score_from_distance(dist: Any, temperature: float = 1.0) -> Floats:
    """σ(-d/temperature) of distances that are known.

    Parameters
    ----------
    dist
        Distances, at least 0.
    temperature
        Above 0.

    Returns
    -------
    numpy.ndarray
        In (0, 0.5].

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evolution.link_score_from_distance([0.0, 1.0]).round(4)
    array([0.5   , 0.2689])
    """
    distance = np.asarray(as_numeric(dist, "dist"), np.float64)
    return np.asarray(np.exp(-np.logaddexp(0.0, distance / number("temperature", temperature, 0, inside=True))))


# ---- classes and types


@dataclass(frozen=True)
class Labelled:
    """Nodes in the order of their numbers, and their classes, numbered from 0; −1 if a label is missing.

    Those that are not `original` were born later and have a label.
    """

    nodes: Ints
    classes: Ints
    original: Mask

    @classmethod
    def from_labels(cls, labels: Any, node_ids: Any = None) -> Labelled:
        """A mapping is looked up by node, an array is in the order of `node_ids`, which default to all nodes.

        −1, None, NaN and pandas' NA mean no class. Further nodes of a mapping are nodes that are born later. Without
        `node_ids` all nodes are original until `starting_with` says which are.
        """
        labels = by_node(labels)
        if isinstance(labels, Mapping):
            nodes = _node_ids(list(labels) if node_ids is None else node_ids)
            count, original = len(nodes), set(nodes.tolist())
            missing = [node for node in nodes.tolist() if node not in labels]
            if missing:
                what = f"{len(missing)} of {count} node ids have no label, the first is {missing[0]}"
                fix = "Give every original node a label, or leave it out of node_ids."
                raise InputError(what, where="labels", fix=fix)
            nodes = np.concatenate([nodes, _node_ids([node for node in labels if node not in original])])
            classes = _classes([labels[node] for node in nodes.tolist()])
        else:
            classes = _classes(labels)
            nodes = _node_ids(range(len(classes)) if node_ids is None else node_ids)
            count = len(nodes)
            if len(classes) != count:
                fix = "Pass one label per node id, in the same order, or a mapping from node id to label."
                raise InputError(f"{count} node ids and {len(classes)} labels", where="labels", fix=fix)
        order = np.argsort(nodes, kind="stable")
        return cls(nodes[order], classes[order], order < count)

    @classmethod
    def without_labels(cls, node_ids: Any) -> Labelled:
        nodes = np.sort(_node_ids(node_ids))
        return cls(nodes, np.full(len(nodes), -1, np.int64), np.ones(len(nodes), bool))

    def starting_with(self, nodes: Ints) -> Labelled:
        """The same classes, and these as the original nodes; those without a label have no class."""
        every = np.union1d(self.nodes, nodes)
        return Labelled(every, self.class_of(int(every.max(initial=-1)) + 1)[every], np.isin(every, nodes))

    def below(self, nodes: int) -> Labelled:
        """Those that exist if there are only so many nodes."""
        kept = self.nodes < nodes
        return self if kept.all() else Labelled(self.nodes[kept], self.classes[kept], self.original[kept])

    @cached_property
    def ids(self) -> Ints:
        """The original nodes."""
        return self.nodes[self.original]

    @cached_property
    def sizes(self) -> Ints:
        """The number of nodes of each class."""
        return np.bincount(self.classes[self.classes >= 0]).astype(np.int64)

    @property
    def same_class(self) -> tuple[float, float]:
        """The share of pairs in the same class: of distinct nodes, and of draws with replacement."""
        sizes, total = self.sizes, int(self.sizes.sum())
        if total < 2:
            return np.nan, np.nan
        return float(sizes @ (sizes - 1) / (total * (total - 1))), float(sizes @ sizes / total**2)

    def class_of(self, nodes: int) -> Ints:
        """The class of every node below `nodes`; −1 if it has none."""
        classes = np.full(nodes, -1, np.int64)
        classes[self.nodes] = self.classes
        return classes


def types_of(types: Any, nodes: int) -> Ints:
    """The type of each node as a number; `types` has one per row, or is a mapping from node to type."""
    types = by_node(types)
    if isinstance(types, Mapping):
        listed = [types[node] for node in range(nodes) if node in types]
    else:
        listed = on_host(types, "node_types")
        listed = (listed.tolist() if isinstance(listed, np.ndarray) else list(listed))[:nodes]
    if len(listed) < nodes:
        raise InputError(f"{len(listed)} types for {nodes} nodes", where="node_types", fix="Give every node a type.")
    return np.unique([str(each) for each in listed], return_inverse=True)[1].astype(np.int64)


def by_node(labels: Any) -> Any:
    """A Series whose index is not 0, 1, 2 … is a mapping from node to label; everything else is as it was."""
    index = getattr(labels, "index", None)
    if index is None or callable(index) or not hasattr(labels, "to_dict") or hasattr(labels, "columns"):
        return labels
    return labels if list(index) == list(range(len(index))) else labels.to_dict()


def _node_ids(node_ids: Any) -> Ints:
    ids = whole_numbers(sorted(node_ids) if isinstance(node_ids, Set) else node_ids, "node_ids")
    require_shape(ids, (None,), "node_ids", "Pass one number per original node.")
    if (ids < 0).any():
        raise InputError(f"{ids.min()} is negative", where="node_ids", fix="A node id is a row of the embeddings.")
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"node {values[counts > 1][0]} occurs {counts.max()} times", where="node_ids")
    return ids


def _classes(labels: Any) -> Ints:
    """The number of the class of each label, −1 if it is missing."""
    labels = on_host(labels, "labels")
    if isinstance(labels, np.ma.MaskedArray):
        labels = np.ma.filled(labels.astype(object), None)
    array = as_array(labels, "labels", ragged=_ONE_LABEL)
    require_shape(array, (None,), "labels", _ONE_LABEL)
    classes, known = np.full(len(array), -1, np.int64), np.ones(len(array), bool)
    if array.dtype == object:  # None, or pandas' NA, among others
        known = np.array([not _is_missing(label) for label in array.tolist()], bool)
        array = np.asarray(array[known].tolist())
    array = as_numeric(array, "labels") if array.dtype.kind == "f" else as_labels(array, "labels")
    values, place = np.unique(array, return_inverse=True)
    missing = np.array([_is_missing(value) for value in values.tolist()], bool)
    classes[known] = np.where(missing, -1, np.cumsum(~missing) - 1)[place]
    return classes


def _is_missing(label: Any) -> bool:
    """None, NaN, −1, pandas' NA, or one of them as a text."""
    return str(label).strip() in ("", "-1", "-1.0", "nan", "NaN", "None", "<NA>")
