"""The masks of an explanation of PyTorch Geometric: importances of edges, nodes, features and entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.explanation.inputs import EDGES, ENTRIES, FEATURES, NODES, SINGULAR, lined_up
from graphgauge.explanation.pyg_graph import Graph, Part, is_typed


def by_type(explanation: Any, name: str) -> dict[Any, Any]:
    """The values of an explanation under a name, by type."""
    if is_typed(explanation):
        return {kind: each for kind, each in explanation.collect(name, allow_empty=True).items() if each is not None}
    return {} if explanation.get(name) is None else {None: explanation.get(name)}


def node_masks(explanation: Any, graph: Graph) -> dict[Any, AnyArray]:
    """The node masks, (nodes or 1, columns or 1) for each type with features; 0 for types that are left out."""
    given, found = by_type(explanation, "node_mask"), {}
    for kind, shape in graph.shapes.items():
        mask = as_numeric(given[kind], "node_mask") if kind in given else np.zeros(shape)
        mask = mask.reshape(len(mask), -1).astype(np.float64)
        if any(length not in (1, most) for length, most in zip(mask.shape, shape, strict=True)):
            raise InputError(f"shape {mask.shape} for node features of shape {shape}", where="node_mask")
        found[kind] = mask
    return found


def usual_kind(kinds: list[str], masks: dict[Any, AnyArray] | None) -> str:
    """What the masks are about: edges, or by the shape of the node mask."""
    if "edge_mask" in kinds or masks is None:
        return EDGES
    if all(mask.shape[1] == 1 for mask in masks.values()):
        return NODES
    return FEATURES if all(len(mask) == 1 for mask in masks.values()) else ENTRIES


def importance_of(explanation: Any, graph: Graph, masked: str, masks: dict[Any, AnyArray] | None) -> AnyArray:
    """One number per edge, node, feature or entry of the graph; entries are added up for the others."""
    if masked == EDGES:
        given = by_type(explanation, "edge_mask")
        if not given:
            what = "has neither edge_mask nor node_mask" if masks is None else "has no edge_mask"
            fix = "Let the explainer mask edges (edge_mask_type=) or nodes (node_mask_type=)."
            raise InputError(what, where="explanation", fix=fix)
        return _joined({kind: given.get(kind) for kind in graph.edges}, graph.edges, "edge_mask", "edge")
    if masks is None:
        fix = "Let the explainer mask nodes (node_mask_type=)."
        raise InputError(f"has no node_mask, which ranks {masked}", where="explanation", fix=fix)
    values = {}
    for kind, (rows, columns) in graph.shapes.items():
        mask = masks[kind]
        if (masked != FEATURES and len(mask) < rows) or (masked != NODES and mask.shape[1] < columns):
            what = f"node_mask has shape {mask.shape} and does not rank {masked}"
            fix = "See node_mask_type of the Explainer."
            raise InputError(what, where="explanation", fix=fix)
        values[kind] = mask.reshape(-1) if masked == ENTRIES else mask.sum(axis=1 if masked == NODES else 0)
    return _joined(values, _sizes(graph, masked), "node_mask", SINGULAR[masked])


def _sizes(graph: Graph, masked: str) -> dict[Any, int]:
    """How many edges, nodes, features or entries each type has."""
    if masked in (EDGES, NODES):
        return graph.edges if masked == EDGES else graph.nodes
    return {kind: each.size for kind, each in graph.numbers(masked).items()}


def places(part: Part, masked: str, whole: Graph) -> Ints:
    """The numbers in the model's data of what can be masked in a part."""
    if masked in (EDGES, NODES):
        return part.edges if masked == EDGES else part.nodes
    return np.concatenate([each.ravel() for each in part.numbers(masked, whole).values()])


def values_of(value: Any, graph: Graph, masked: str, what: str) -> AnyArray:
    """Values for everything that can be masked, or rows of them; dictionaries by type are joined."""
    sizes, one = _sizes(graph, masked), SINGULAR[masked]
    if not isinstance(value, Mapping):
        array = as_numeric(value, what)
        if masked == ENTRIES and array.shape in graph.shapes.values():
            array = array.reshape(-1)
        return lined_up(array, sum(sizes.values()), what, one, rows=True)
    if not graph.typed:
        raise InputError("expected an array, found a dictionary", where=what)
    named = {_type_name(kind): each for kind, each in value.items()}
    for kind in named:
        one_of(f"type in {what}", kind, map(_type_name, sizes))
    return _joined({kind: named.get(_type_name(kind)) for kind in sizes}, sizes, what, one)


def _joined(values: Mapping[Any, Any], sizes: Mapping[Any, int], what: str, one: str) -> AnyArray:
    """Values by type, or rows of them, in one array; 0 for types without values."""
    parts = []
    for kind, size in sizes.items():
        where = what if kind is None else f"{what} of {_type_name(kind)}"
        value = values.get(kind)
        parts.append(lined_up(np.zeros(size) if value is None else value, size, where, one, rows=True))
    several = max(len(np.atleast_2d(part)) for part in parts)
    joined = np.concatenate([np.broadcast_to(part, (several, part.shape[-1])) for part in parts], axis=1)
    return joined if any(part.ndim == 2 for part in parts) else joined[0]


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else "__".join(kind)
