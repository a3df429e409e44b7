"""The original nodes, and the classes of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, on_host, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask
from graphgauge.evolution.edges import whole_numbers

_ONE_LABEL = "Pass one label per node."


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

        −1, None, NaN and pandas' NA mean no class. Further nodes of a mapping are nodes that are born later.
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
