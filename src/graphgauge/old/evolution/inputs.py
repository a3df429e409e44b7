"""Checked inputs of an evaluation: nodes with labels, edges, points in the unit ball."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import (
    AnyArray,
    Floats,
    Ints,
    as_labels,
    as_numeric,
    on_host,
    refuse_nan,
    require_shape,
)
from graphgauge.core.errors import InputError
from graphgauge.kernels.poincare import margins, squared_gaps

Flags = NDArray[np.bool_]

COORDINATES = "Pass one row of coordinates per node."
_ONE_LABEL = "Pass one label per node."
_PAIRS = "Pass one edge per row, as (M, 2) node numbers; evaluate every relation by itself."
# Squared norms below this are below 1 in any order of summation; above it, exact squares are used.
_SURELY_INSIDE = 1 - 1e-6
# Pairs whose rows are multiplied at once.
_AT_ONCE = 1 << 18
# Cosines that agree in so many digits are equal.
_COSINE_DIGITS = 12
# Entries below it, or above its inverse, have squares that may not be represented.
_TINY = 1e-100
_REPAIR = 'Fix the embeddings, or pass nan="omit" to leave these nodes out.'


def listed(value: Any) -> list[Any]:
    """One value, or several."""
    return list(value) if np.iterable(value) and not isinstance(value, str) else [value]


def is_indexed(value: Any) -> bool:
    """Whether a pandas object has an index other than 0, 1, 2 …"""
    index = getattr(value, "index", None)
    if index is None or callable(index) or not hasattr(value, "to_dict"):
        return False
    return list(index) != list(range(len(index)))


def labels_by_node(labels: Any) -> Any:
    """A pandas Series with an index of ids is a mapping; everything else is as it was."""
    return labels.to_dict() if is_indexed(labels) and not hasattr(labels, "columns") else labels


def rows_by_index(embeddings: Any, name: str) -> Any:
    """The rows of a data frame in the order of its index, which must be the numbers of the nodes."""
    if not is_indexed(embeddings):
        return embeddings
    order = sorted(embeddings.index, key=lambda own: (str(type(own)), own))
    if order != list(range(len(order))):
        raise InputError(
            "has an index other than the numbers of the nodes",
            where=name,
            fix="Pass the rows of nodes 0, 1, 2 … as an array.",
        )
    return embeddings.loc[order]


def types_by_row(types: Any, nodes: int) -> Any:
    """A mapping from node to type, as a list."""
    types = labels_by_node(types)
    if not isinstance(types, Mapping):
        return types
    missing = [node for node in range(nodes) if node not in types]
    if missing:
        raise InputError(
            f"{len(missing)} of {nodes} nodes have no type, the first is {missing[0]}",
            where="node_types",
            fix="Give every node a type.",
        )
    return [types[node] for node in range(nodes)]


def whole_numbers(value: Any, name: str) -> Ints:
    """Integers, or floats with integer values; other floats are an error."""
    array = as_numeric(value, name)
    if array.dtype.kind == "b":
        raise InputError("found booleans where node numbers are expected", where=name)
    if array.dtype.kind == "f":
        refuse_nan(array, name, fix="Give two nodes for every edge.")
        broken = ~np.isfinite(array) | (array != np.trunc(array))
        if broken.any():
            raise InputError(f"{array[broken][0]} is not a node number", where=name, fix="Pass integers.")
    elif array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise InputError(f"{array.max()} is too large for a node number", where=name)
    return array.astype(np.int64, copy=False)


def as_edges(value: Any, name: str, nodes: int | None = None) -> Ints:
    """Edges as (M, 2) integers; None means no edges. If `nodes` is given, every end must be below it."""
    if value is None:
        return np.empty((0, 2), np.int64)
    edges = whole_numbers(value, name)
    if edges.size == 0 and edges.shape in ((0,), (0, 2), (2, 0), (1, 0)):
        return np.empty((0, 2), np.int64)
    if edges.ndim == 2 and edges.shape[0] == 2 and edges.shape[1] != 2:
        raise InputError(
            f"found shape {edges.shape}, one edge per column", where=name, fix="Transpose it: edge_index.T."
        )
    require_shape(edges, (None, 2), name, _PAIRS)
    last = np.iinfo(np.int64).max if nodes is None else nodes - 1
    # As unsigned integers, negative numbers are the largest.
    if len(edges) and edges.view(np.uint64).max() > np.uint64(max(last, 0)):
        outside = (edges < 0) | (edges > last)
        row = int(np.argmax(outside.any(axis=1)))
        known = "negative" if nodes is None else f"outside the {nodes} nodes"
        raise InputError(
            f"{np.count_nonzero(outside.any(axis=1))} of {len(edges)} edges have an end that is {known}, "
            f"the first is {tuple(edges[row].tolist())} in row {row}",
            where=name,
            fix="A node's number is its row, counted from 0.",
        )
    return edges


@dataclass(frozen=True)
class Codes:
    """Edges as numbers: source · nodes + target; without direction the smaller end is first."""

    nodes: int
    directed: bool = False

    def of(self, edges: Ints) -> Ints:
        first, second = edges[:, 0], edges[:, 1]
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        codes: Ints = first * self.nodes + second
        return codes

    def edges(self, codes: Ints) -> Ints:
        """The edges again, (M, 2)."""
        return np.stack(np.divmod(codes, max(self.nodes, 1)), axis=1)


def distinct(codes: Ints) -> Ints:
    """Distinct codes, sorted; np.unique hashes integers, which takes ten times as long."""
    ordered: Ints = np.sort(codes)
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered if new.all() else ordered[new]


def among(codes: Ints, ordered: Ints) -> Flags:
    """Which codes occur in a sorted list."""
    return _places(codes, ordered)[1]


def without(ordered: Ints, codes: Ints) -> tuple[Ints, int]:
    """A sorted list without some codes, and how many of them it contained; both lists are distinct."""
    places, found = _places(codes, ordered)
    rest = np.ones(len(ordered), bool)
    rest[places[found]] = False
    return ordered[rest], int(np.count_nonzero(found))


def inserted(ordered: Ints, codes: Ints) -> Ints:
    """A sorted list with further codes, which are sorted, distinct and not in it."""
    return ordered if not len(codes) else np.insert(ordered, np.searchsorted(ordered, codes), codes)


def _places(codes: Ints, ordered: Ints) -> tuple[Ints, Flags]:
    """The positions of codes in a sorted list, and which of them are present."""
    if not len(ordered):
        return np.zeros(len(codes), np.int64), np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(ordered, codes), len(ordered) - 1)
    found: Flags = ordered[places] == codes
    return places, found


def original_nodes(labels: Any, node_ids: Any = None) -> Any:
    """The labelled nodes: as given, the keys of a mapping, or the rows of an array."""
    labels = labels_by_node(labels)
    if node_ids is not None:
        return node_ids
    if not isinstance(labels, Sized):
        raise InputError(f"found {type(labels).__name__}", where="labels", fix="Pass one label per original node.")
    return list(labels) if isinstance(labels, Mapping) else range(len(labels))


@dataclass(frozen=True)
class Labelled:
    """The original nodes, in the order of their numbers, and their classes; −1 if a label is missing.

    `later` and `later_classes` are nodes that were born later and have a label.
    """

    ids: Ints
    classes: Ints
    names: tuple[str, ...]
    later: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    later_classes: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, node_ids: Any, labels: Any) -> Labelled:
        """A mapping of labels is looked up by node; an array is in the order of `node_ids`.

        −1, None, NaN and pandas' NA mean no class. Further nodes of a mapping are nodes that are born later.
        """
        if labels is None:
            return cls.without_labels(node_ids)
        labels = labels_by_node(labels)
        ids = _node_ids(node_ids)
        original = set(ids.tolist()) if isinstance(labels, Mapping) else set()
        if isinstance(labels, Mapping) and (more := [node for node in labels if node not in original]):
            later = _node_ids(more)
            whole = cls.of(np.concatenate([ids, later]), labels)
            own = np.isin(whole.ids, ids)
            return cls(whole.ids[own], whole.classes[own], whole.names, whole.ids[~own], whole.classes[~own])
        if isinstance(labels, Mapping):
            missing = [node for node in ids.tolist() if node not in labels]
            if missing:
                raise InputError(
                    f"{len(missing)} of {len(ids)} node ids have no label, the first is {missing[0]}",
                    where="labels",
                    fix="Give every original node a label, or leave it out of node_ids.",
                )
            labels = [labels[node] for node in ids.tolist()]
        values, known = _label_values(labels)
        if len(values) != len(ids):
            raise InputError(
                f"{len(ids)} node ids and {len(values)} labels",
                where="labels",
                fix="Pass one label per node id, in the same order, or a mapping from node id to label.",
            )
        names, codes = np.unique(values[known], return_inverse=True)
        classes = np.full(len(ids), -1, np.int64)
        classes[known] = codes
        order = np.argsort(ids, kind="stable")
        return cls(ids[order], classes[order], tuple(str(name) for name in names.tolist()))

    @classmethod
    def without_labels(cls, node_ids: Any) -> Labelled:
        ids = np.sort(_node_ids(node_ids))
        return cls(ids, np.full(len(ids), -1, np.int64), ())

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def unlabelled(self) -> int:
        """The number of original nodes without a class."""
        return int(np.count_nonzero(self.classes < 0))

    @property
    def labelled(self) -> bool:
        """Whether there are labels at all."""
        return bool(self.names)

    def among(self, nodes: int) -> Labelled:
        """Those that exist if there are only so many nodes."""
        if self.ids.max(initial=-1) < nodes and self.later.max(initial=-1) < nodes:
            return self
        known, later = self.ids < nodes, self.later < nodes
        return Labelled(self.ids[known], self.classes[known], self.names, self.later[later], self.later_classes[later])

    @cached_property
    def sizes(self) -> Ints:
        every = np.concatenate([self.classes, self.later_classes])
        return np.bincount(every[every >= 0], minlength=len(self.names)).astype(np.int64)

    @cached_property
    def same_class(self) -> dict[str, float]:
        """The share of pairs in the same class, for distinct nodes and for draws with replacement."""
        sizes, total = self.sizes, int(self.sizes.sum())
        if total < 2:
            return {"pairs": np.nan, "squares": np.nan}
        return {
            "pairs": float(sizes @ (sizes - 1) / (total * (total - 1))),
            "squares": float(sizes @ sizes / total**2),
        }

    def class_of(self, nodes: int) -> Ints:
        """The class of every node below `nodes`; −1 if it has none."""
        found = np.full(nodes, -1, np.int64)
        found[self.ids] = self.classes
        found[self.later] = self.later_classes
        return found


def _node_ids(node_ids: Any) -> Ints:
    if isinstance(node_ids, int | np.integer):
        raise InputError("expected node ids, found one number", where="node_ids", fix="Pass range(number_of_nodes).")
    ids = whole_numbers(list(node_ids) if isinstance(node_ids, Set | range) else node_ids, "node_ids")
    ids = np.sort(ids) if isinstance(node_ids, Set) else ids
    require_shape(ids, (None,), "node_ids", "Pass one number per original node.")
    if (ids < 0).any():
        raise InputError(f"{ids.min()} is negative", where="node_ids", fix="A node id is a row of the embeddings.")
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"node {values[counts > 1][0]} occurs {counts.max()} times", where="node_ids")
    return ids


def _label_values(labels: Any) -> tuple[AnyArray, Flags]:
    """One label per node, and which of them are a class."""
    labels = on_host(labels, "labels")
    if isinstance(labels, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(labels)
        labels = labels.data.astype(object)
        labels[hidden] = None
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return _typed_labels(labels)
    # As objects, because NumPy converts None, NaN and numbers next to text to text.
    array = np.asarray(labels, object)
    require_shape(array, (None,), "labels", _ONE_LABEL)
    known = np.array([not is_missing(label) for label in array.tolist()], bool)
    named, classes = _typed_labels(array[known].tolist())
    values = np.zeros(len(array), named.dtype)
    values[known] = named
    known[known] = classes
    return values, known


def _typed_labels(labels: Any) -> tuple[AnyArray, Flags]:
    """The same for labels of one type; only −1, NaN and their forms in text are missing."""
    try:
        array = np.asarray(labels)
    except ValueError:
        raise InputError("labels are lists of different lengths", where="labels", fix=_ONE_LABEL) from None
    if array.dtype.kind == "f":
        values = as_numeric(array, "labels")
        require_shape(values, (None,), "labels", _ONE_LABEL)
        return values, ~np.isnan(values) & (values != -1)
    values = as_labels(array, "labels")
    if values.dtype.kind != "U":
        return values, values != -1
    names, codes = np.unique(values, return_inverse=True)
    return values, np.array([not _is_missing_text(name) for name in names.tolist()], bool)[codes]


def is_missing(label: Any) -> bool:
    """None, NaN, or a value such as pandas' NA, whose comparison with itself is undefined."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def _is_missing_text(label: str) -> bool:
    """The forms of None, NaN, NA and −1 in a text file, and the empty line."""
    try:
        number = float(label)
    except ValueError:
        return label.strip() in ("", "None", "<NA>")
    return number == -1 or number != number


SCORES = ("poincare", "euclidean", "cosine", "dot")


@dataclass(frozen=True)
class Points:
    """Embeddings, one row per node; nodes that are not `present` have none.

    `score` says how a pair is scored: by the distance in the Poincaré ball or in Euclidean space, by the cosine or the
    dot product, or by a function of two arrays of rows. Higher scores are better, and so are smaller distances. Without
    direction, a function's scores of both directions are averaged.
    """

    rows: Floats
    present: Flags
    score: str | Callable[[Any, Any], Any] = "poincare"
    directed: bool = False

    @classmethod
    def of(
        cls,
        embeddings: Any,
        name: str,
        *,
        nan: str = "raise",
        score: str | Callable[[Any, Any], Any] = "poincare",
        directed: bool = False,
    ) -> Points:
        given = as_numeric(rows_by_index(embeddings, name), name)
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

    def holds(self, edges: Ints) -> Flags:
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


def _scaled(rows: Floats, score: str | Callable[[Any, Any], Any]) -> Floats:
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
