"""The original nodes and their classes."""

from __future__ import annotations

from collections.abc import Mapping, Set, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, on_host, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.evolution.edges import whole_numbers

_ONE_LABEL = "Pass one label per node."


def labels_by_node(labels: Any) -> Any:
    """A Series whose index is not 0, 1, 2 … is a mapping from node to label; everything else is as it was."""
    index = getattr(labels, "index", None)
    if index is None or callable(index) or not hasattr(labels, "to_dict") or hasattr(labels, "columns"):
        return labels
    return labels if list(index) == list(range(len(index))) else labels.to_dict()


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


def _label_values(labels: Any) -> tuple[AnyArray, Mask]:
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


def _typed_labels(labels: Any) -> tuple[AnyArray, Mask]:
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
