"""The results of other libraries, recognised by what they have, so that none of the libraries is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.old.core.graphs import EdgeMarks, Names


@dataclass(frozen=True)
class ToolGraph:
    """The matrix in a library's result, and how the library writes it."""

    values: Any
    encoding: str | None = None
    edges: str | None = None
    lagged: bool = False
    names: Names | None = None


def from_tool(value: Any) -> ToolGraph | None:
    """The graph in a result of another library; None for everything else.

    causal-learn: `CausalGraph`, `GeneralGraph`, the record of GES, and the pair that FCI returns. gcastle: a learner.
    lingam: a model, also with lags. tigramite: the results with a `graph`. pgmpy: a `MAG` or an `ADMG`, which networkx
    knows as graphs without marks.
    """
    if isinstance(value, tuple) and len(value) == 2 and _is_general_graph(value[0]):
        value = value[0]
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if hasattr(value, "valid_marks") or hasattr(value, "add_bidirected_edges"):
        return ToolGraph(_pgmpy_marks(value))
    graph = getattr(value, "G", value)
    if _is_general_graph(graph):
        return _causal_learn(graph)
    if hasattr(value, "causal_matrix") and hasattr(value, "learn"):
        matrix = value.causal_matrix
        columns = getattr(matrix, "columns", None)
        names = () if columns is None else tuple(columns)
        usual = names == tuple(range(len(names)))
        return ToolGraph(np.array(matrix), "gcastle", names=None if usual else names)
    if hasattr(value, "adjacency_matrices_"):
        lags_last = np.moveaxis(np.asarray(value.adjacency_matrices_), 0, -1)
        return ToolGraph(lags_last, edges="column_to_row", lagged=True)
    if hasattr(value, "adjacency_matrix_"):
        return ToolGraph(np.asarray(value.adjacency_matrix_), edges="column_to_row")
    return None


def _from_mapping(value: Mapping[str, Any]) -> ToolGraph | None:
    if _is_general_graph(value.get("G")):
        return _causal_learn(value["G"])
    if "graph" in value and np.asarray(value["graph"]).dtype.kind in "US":
        return ToolGraph(np.asarray(value["graph"]), "tigramite")
    return None


_PGMPY_ENDS = {"o": 1, ">": 2, "-": 3}


def _pgmpy_marks(graph: Any) -> EdgeMarks:
    """A `MAG` has the marks of every edge; an `ADMG` lists its edges ↔ both ways."""
    if hasattr(graph, "valid_marks"):
        marked = [(*ends, *(_PGMPY_ENDS[marks[end]] for end in ends)) for *ends, marks in graph.edges(data="marks")]
        return EdgeMarks(marked, tuple(graph.nodes))
    edges = list(graph.edges(data="type"))
    two_heads = {frozenset(ends): (*ends, 2, 2) for *ends, kind in edges if kind == "bidirected"}
    arrows = [(*ends, 3, 2) for *ends, kind in edges if kind != "bidirected"]
    return EdgeMarks([*arrows, *two_heads.values()], tuple(graph.nodes))


def _is_general_graph(value: Any) -> bool:
    return hasattr(value, "get_node_names") and hasattr(value, "graph")


def _causal_learn(graph: Any) -> ToolGraph:
    """The library calls nodes X1, X2, … unless it is given names."""
    names = tuple(graph.get_node_names())
    usual = all(re.fullmatch(rf"X{number}", str(name)) for number, name in enumerate(names, 1))
    return ToolGraph(np.asarray(graph.graph), "causal-learn", names=None if usual else names)
