"""The results of other libraries, recognised by what they have, so that none of the libraries is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray
from graphgauge.recovery.encodings import decoded
from graphgauge.recovery.graph import Graph, Kind, Names
from graphgauge.recovery.layers import Layer, Listed


@dataclass(frozen=True, eq=False)
class Side:
    """One graph as it was read: its layers, or edges whose nodes have no numbers yet, and what it states itself.

    `names` are those of its nodes in order; `states_marks`, that its edges are given by their marks, not by scores;
    `orientation` and `sign`, that its writer is known to use these.
    """

    layers: tuple[Layer, ...] = ()
    listed: Graph | None = None
    names: Names | None = None
    states_marks: bool = False
    orientation: str | None = None
    sign: str | None = None


def from_library(value: Any, where: str) -> Side | None:
    """The graph in a result of another library; None for everything else."""
    if isinstance(value, tuple) and len(value) == 2 and _is_general_graph(value[0]):
        value = value[0]  # causal-learn's FCI returns its graph and a list of edges
    if isinstance(value, Mapping):
        return _from_results(value, where)
    if hasattr(value, "is_multigraph") and hasattr(value, "adjacency"):
        return Side(listed=_from_networkx(value))
    general = value if _is_general_graph(value) else getattr(value, "G", None)
    if _is_general_graph(general):
        return _from_causal_learn(general, where)
    if hasattr(value, "causal_matrix") and hasattr(value, "learn"):
        return _from_gcastle(value, where)
    if hasattr(value, "adjacency_matrices_"):
        return _from_lingam(list(value.adjacency_matrices_))
    if hasattr(value, "adjacency_matrix_"):
        return _from_lingam([value.adjacency_matrix_])
    return None


def has_lags(value: Any) -> bool:
    """Whether a result says itself that it has lags."""
    if isinstance(value, list):
        return bool(value) and has_lags(value[0])
    links = value.get("graph") if isinstance(value, Mapping) else value
    if isinstance(links, np.ndarray):
        return links.dtype.kind in "US" and links.ndim == 3 and links.shape[2] > 1
    return hasattr(value, "adjacency_matrices_")


def _from_networkx(graph: Any) -> Graph:
    """networkx, and pgmpy, which builds on it: every edge with its `weight`, or 1 without one (pgmpy writes None).

    pgmpy's `MAG` has the marks of every edge, its `ADMG` lists edges ↔ both ways, and its `PDAG` undirected ones.
    """
    if hasattr(graph, "valid_marks"):
        starts, stops = {"o": "o", ">": "<", "-": "-"}, {"o": "o", ">": ">", "-": "-"}
        edges = [(u, v, f"{starts[marks[u]]}-{stops[marks[v]]}") for u, v, marks in graph.edges(data="marks")]
    elif hasattr(graph, "add_bidirected_edges"):
        pairs = {frozenset((u, v)): (u, v, "<->") for u, v, kind in graph.edges(data="type") if kind == "bidirected"}
        edges = [(u, v, "-->") for u, v, kind in graph.edges(data="type") if kind != "bidirected"]
        edges += pairs.values()
    elif hasattr(graph, "undirected_edges"):
        lines = {frozenset(ends): (*ends, "---") for ends in graph.undirected_edges}
        edges = [(u, v, "-->") for u, v in graph.edges() if frozenset((u, v)) not in lines]
        edges += lines.values()
    else:
        weighted = [(*ends, 1 if weight is None else weight) for *ends, weight in graph.edges(data="weight")]
        return Graph.from_edges(weighted, nodes=graph.nodes, directed=graph.is_directed())
    source, target, marks = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph(source, target, marks=marks, nodes=graph.nodes)


def _is_general_graph(value: Any) -> bool:
    return hasattr(value, "get_node_names") and hasattr(value, "graph")


def _from_causal_learn(graph: Any, where: str) -> Side:
    """A `GeneralGraph`, also of a `CausalGraph`; nodes are called X1, X2, … unless they were given names."""
    names = tuple(graph.get_node_names())
    usual = all(re.fullmatch(rf"X{number}", str(name)) for number, name in enumerate(names, 1))
    layers = decoded(np.asarray(graph.graph), "causal-learn", where)
    return Side(layers, names=None if usual else names, states_marks=True)


def _from_gcastle(learner: Any, where: str) -> Side:
    """A learner's edges; the weights that it has cut rank the cells."""
    matrix = learner.causal_matrix
    columns = getattr(matrix, "columns", None)
    names = None if columns is None or tuple(columns) == tuple(range(len(columns))) else tuple(columns)
    (layer,) = decoded(np.array(matrix), "gcastle", where)
    weights = getattr(learner, "weight_causal_matrix", None)
    if weights is not None and np.shape(weights) == (layer.d, layer.d):
        layer = replace(layer, scores=_sizes(weights))
    return Side((layer,), names=names, states_marks=True)


def _from_lingam(matrices: list[Any]) -> Side:
    """A model's weights, row ← column, one matrix per lag; both cells of a pair with a common cause are NaN."""
    layers = []
    for lag, matrix in enumerate(matrices):
        weights = np.ascontiguousarray(np.asarray(matrix, dtype=np.float64).T)
        layer = Layer(len(weights), weights, late=lag > 0)
        common = np.isnan(weights) & np.isnan(weights.T)
        if not lag and common.any():
            cells = np.flatnonzero(np.where(common, np.triu(common), weights != 0))
            kinds = np.where(common.flat[cells], int(Kind.TWO_HEADS), int(Kind.FORWARD))
            sizes = np.where(common.flat[cells], 1.0, weights.flat[cells])
            layer = Layer(len(weights), edges=Listed(cells, kinds, sizes))
        layers.append(layer)
    return Side(tuple(layers), orientation="column_to_row", sign="absolute")


def _from_results(results: Mapping[Any, Any], where: str) -> Side | None:
    """The record of causal-learn's GES, or tigramite's results, whose test statistics rank the cells."""
    if _is_general_graph(results.get("G")):
        return _from_causal_learn(results["G"], where)
    if "graph" not in results or np.asarray(results["graph"]).dtype.kind not in "US":
        return None
    layers = decoded(results["graph"], "tigramite", where)
    values = results.get("val_matrix")
    if values is not None and np.shape(values) == (layers[0].d, layers[0].d, len(layers)):
        layers = tuple(replace(layer, scores=_sizes(values[:, :, lag])) for lag, layer in enumerate(layers))
    return Side(layers, states_marks=True)


def _sizes(values: Any) -> AnyArray:
    """The sizes of weights as scores; what was not estimated ranks last."""
    sizes: AnyArray = np.nan_to_num(np.abs(np.asarray(values, dtype=np.float64)), nan=0.0, posinf=np.inf)
    return np.ascontiguousarray(sizes)
