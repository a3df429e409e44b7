"""What the tests of recovery call: all metrics, graphs in other forms, and the levels beside a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas

import graphgauge
from graphgauge import recovery
from graphgauge.recovery.graph import Kind
from graphgauge.recovery.structure import Model, cpdag_of


def evaluate(truth: Any, prediction: Any, *, metrics: Any = "all", **options: Any) -> Any:
    return recovery.evaluate(truth, prediction, metrics=metrics, **options)


def evaluate_files(*, true: Any, pred: Any, metrics: Any = "all", **options: Any) -> Any:
    return graphgauge.evaluate_files("recovery", true=str(true), pred=str(pred), metrics=metrics, **options)


def named(values: Any, names: Any) -> Any:
    return pandas.DataFrame(np.asarray(values), index=list(names), columns=list(names))


def listed(edges: Any, nodes: Any = None, **parts: Any) -> Any:
    return recovery.Graph.from_edges([tuple(edge) for edge in edges], nodes=nodes, **parts)


def levels(result: Any) -> dict[str, float]:
    return {level.name: level.value for level in result.references}


def model(matrix: Any, undirected: bool = False, name: str = "graph") -> Model:
    """A matrix as a causal model; both cells of a pair are two arrows, or an undirected edge."""
    cells = np.asarray(matrix, bool) & ~np.eye(len(matrix), dtype=bool)
    both = Kind.LINE if undirected else Kind.TWO_WAY
    kinds = np.select([cells & cells.T, cells, cells.T], [both, Kind.FORWARD, Kind.BACKWARD], Kind.NONE)
    keys = np.flatnonzero(np.triu(kinds, 1))
    return Model(keys, kinds.ravel()[keys], len(cells), name)


def class_graph(dag: Any) -> Any:
    """The class of a DAG, undirected edges in both cells."""
    found = cpdag_of(np.flatnonzero(dag), len(dag))
    graph = np.zeros((len(dag), len(dag)), bool)
    graph.ravel()[np.concatenate([found.arrows, found.both_ways])] = True
    return graph
