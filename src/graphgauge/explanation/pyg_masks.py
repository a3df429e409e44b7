"""The masks of an explanation of PyTorch Geometric: importances of edges, nodes, features and entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.explanation.fields import lined_up
from graphgauge.explanation.inputs import EDGES, ENTRIES, FEATURES, NODES
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.pyg_question import (
    Question,
    by_type,
    carried,
    carried_by_type,
    is_heterogeneous,
)


def mask_of(explanation: Any, name: str) -> Any:
    """A mask as the module takes it: a tensor, or a dictionary of them by type; None if there is none."""
    if is_heterogeneous(explanation):
        return explanation.collect(name, allow_empty=True) or None
    return explanation.get(name)


def complement(mask: Any) -> Any:
    if isinstance(mask, Mapping):
        return {kind: 1.0 - each for kind, each in mask.items()}
    return None if mask is None else 1.0 - mask


def module_arguments(explanation: Any, model: PyGModel) -> tuple[Any, Any, dict[str, Any]]:
    """Features, edges and further arguments of the module, as the explanation carries them."""
    if not is_heterogeneous(explanation):
        return explanation.get("x"), explanation.get("edge_index"), dict(carried(explanation, model))
    given = {}
    for name, value in carried_by_type(explanation, model):
        if not isinstance(value, Mapping):
            given[name] = value
        else:
            given[f"{name}_dict" if model.names(f"{name}_dict") else name] = explanation.collect(name)
    return explanation.collect("x", allow_empty=True), explanation.collect("edge_index"), given


@dataclass(frozen=True)
class Importances:
    """The edge mask over all edges, and the node mask of each array of node features with the shape of the features."""

    edges: AnyArray | None
    nodes: list[tuple[AnyArray, tuple[int, int]]] | None

    @classmethod
    def of(cls, explanation: Any, question: Question) -> Importances:
        edge_mask, node_mask = mask_of(explanation, "edge_mask"), mask_of(explanation, "node_mask")
        if edge_mask is None and node_mask is None:
            raise InputError(
                "has neither edge_mask nor node_mask",
                where="explanation",
                fix="Let the explainer mask edges (edge_mask_type=) or nodes (node_mask_type=).",
            )
        edges = None if edge_mask is None else _of_edges(explanation, question, edge_mask)
        return cls(edges, None if node_mask is None else _of_nodes(explanation, question))

    @property
    def usual(self) -> str:
        """What the masks are about: edges, or by the shape of the node mask."""
        if self.edges is not None or not self.nodes:
            return EDGES
        masks = [mask.shape for mask, _ in self.nodes]
        if all(columns == 1 for _, columns in masks):
            return NODES
        return FEATURES if all(rows == 1 for rows, _ in masks) else ENTRIES

    def of_kind(self, masked: str) -> AnyArray:
        """One number per edge, node, feature or entry of the whole graph; entries are added up for the others."""
        if masked == EDGES:
            if self.edges is None:
                raise InputError(
                    "has no edge_mask", where="explanation", fix="Let the explainer mask edges (edge_mask_type=)."
                )
            return self.edges
        if self.nodes is None:
            raise InputError(
                f"has no node_mask, which ranks {masked}",
                where="explanation",
                fix="Let the explainer mask nodes (node_mask_type=).",
            )
        return np.concatenate([_reduced(mask, shape, masked) for mask, shape in self.nodes])


def _reduced(mask: AnyArray, shape: tuple[int, int], masked: str) -> AnyArray:
    rows, columns = mask.shape
    short = {NODES: rows < shape[0], FEATURES: columns < shape[1]}
    if short.get(masked) or (masked == ENTRIES and mask.shape != shape):
        raise InputError(
            f"node_mask has shape {mask.shape} and does not rank {masked}",
            where="explanation",
            fix="See node_mask_type of the Explainer.",
        )
    if masked == NODES:
        return np.asarray(mask.sum(axis=1))
    return np.asarray(mask.sum(axis=0)) if masked == FEATURES else mask.reshape(-1)


def _of_edges(explanation: Any, question: Question, mask: Any) -> AnyArray:
    if question.types is None:
        return lined_up(mask, question.edges, "importance", "edge")
    found = np.zeros(question.edges)
    for kind, each in by_type(explanation, "edge_mask").items():
        chosen = np.flatnonzero(question.types.edges == kind)
        found[chosen] = lined_up(each, len(chosen), f"edge_mask of {kind}", "edge")
    return found


def _of_nodes(explanation: Any, question: Question) -> list[tuple[AnyArray, tuple[int, int]]]:
    """The node mask of each array of node features, in the order in which features are numbered."""
    masks = by_type(explanation, "node_mask") if question.types is not None else {"": explanation.get("node_mask")}
    found = []
    for name, x in question.features():
        kind = name.rpartition("/")[0]
        shape = (len(x), int(np.prod(x.shape[1:])))
        mask = np.zeros(shape) if kind not in masks else as_numeric(masks[kind], "node_mask").astype(np.float64)
        mask = mask.reshape(len(mask), -1)
        if mask.shape[0] not in (1, shape[0]) or mask.shape[1] not in (1, shape[1]):
            raise InputError(f"shape {mask.shape} for node features of shape {shape}", where="node_mask")
        found.append((mask, shape))
    if not found:
        raise InputError("has a node_mask, but no node features", where="explanation")
    return found
