"""Cycles from a table of events, edges that are added and removed, and from graphs at consecutive times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, on_host, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.edges import as_edges, edges_of, joined, set_of, whole_numbers, without
from graphgauge.evolution.labels import by_node
from graphgauge.evolution.points import COORDINATES

_ADDED = ("add", "added", "birth", "+", "1")
_ACTIONS = (*_ADDED, "remove", "removed", "death", "-", "-1", "0")


class Ids:
    """The ids of rows, in any order; without them nodes are rows.

    In cycles rows are in the order of their ids, so that nothing depends on the order in which they are given. Rows
    that are `kept` stay where they are, because new ones follow.
    """

    def __init__(self, ids: Any, *, kept: bool = False) -> None:
        self.given = None if ids is None else _names(ids, "ids")
        self.order = np.empty(0, np.int64) if self.given is None else np.argsort(self.given, kind="stable")
        self.kept = kept
        if self.given is not None:
            require_shape(self.given, (None,), "ids", "Give one id per row.")
            self._sorted = self.given[self.order]
            if (self._sorted[1:] == self._sorted[:-1]).any():
                fix = "Give each row of the embeddings an id of its own."
                raise InputError("an id occurs twice", where="ids", fix=fix)

    def rows(self, nodes: Any, name: str) -> Ints:
        """The row of each node."""
        if self.given is None:
            if as_array(nodes, name).dtype.kind in "OUS":
                fix = "Pass ids=, the node of each row of the embeddings."
                raise InputError(f"the node {np.ravel(nodes).tolist()[0]!r:.60} has no row", where=name, fix=fix)
            return whole_numbers(nodes, name)
        known, values = self._sorted, _names(nodes, name)
        unknown, place = np.ones(values.shape, bool), np.zeros(values.shape, np.int64)
        if len(known) and (known.dtype.kind == "U") == (values.dtype.kind == "U"):
            place = np.minimum(np.searchsorted(known, values), len(known) - 1)
            unknown = known[place] != values
        if unknown.any():
            what = f"{values[unknown].tolist()[0]!r} is not among the ids"
            raise InputError(what, where=name, fix="Give every node its id, of the type that ids have.")
        return np.asarray(self.order[place] if self.kept else place, np.int64)

    def points(self, embeddings: Any) -> AnyArray:
        """The rows of embeddings, in the order that cycles have."""
        points = as_numeric(embeddings, "embeddings")
        require_shape(points, (None, None), "embeddings", COORDINATES)
        if self.given is None or self.kept:
            return points
        if len(points) != len(self.order):
            what = f"{len(points)} rows for {len(self.order)} ids"
            raise InputError(what, where="embeddings", fix="Give each id its row.")
        return np.asarray(points[self.order])

    def by_row(self, values: Any, name: str, nodes: Any = None) -> Any:
        """What nodes have, {row: value}: of a mapping by id, or of values in the order of `nodes` or of the ids."""
        values = by_node(values)
        if self.given is None or values is None:
            return values
        if isinstance(values, Mapping):
            return dict(zip(self.rows([*values], name).tolist(), values.values(), strict=True))
        nodes, values = self.given if nodes is None else nodes, np.asarray(on_host(values, name)).tolist()
        if len(values) != len(nodes):
            raise InputError(f"{len(values)} values for {len(nodes)} ids", where=name, fix="Give one per id.")
        return dict(zip(self.rows(nodes, name).tolist(), values, strict=True))


def from_events(
    source: Any,
    target: Any,
    cycle: Any,
    action: Any = None,
    *,
    embeddings: Any,
    ids: Any = None,
    directed: bool = False,
    condition: str = "run",
    seed: int = 0,
) -> list[Cycle]:
    """Births and deaths of edges, a row each, as cycles of one run.

    Parameters
    ----------
    source, target
        The ends of each edge: rows of the embeddings, or `ids`.
    cycle
        When it happens: whole numbers. Edges of the lowest are the graph before the first cycle.
    action
        `add` or `remove` of each row; without it all are added.
    embeddings
        (N, D), the same in every cycle, or {cycle: (N, D)} after each of them.
    ids
        The id of each row of the embeddings, if the ends are not rows themselves.
    directed, condition, seed
        What the run is.

    Returns
    -------
    list of Cycle
        For `evaluate`, in order. Rows of nodes are in the order of their ids, and labels have to be; given all
        together, `evaluate(events, labels, embeddings=…, ids=…)`, they are put in this order.

    Raises
    ------
    InputError
        If an end is not an id, or no row of the embeddings.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0]]
    >>> cycles = evolution.from_events(["a", "a"], ["b", "c"], [0, 1], embeddings=points, ids=["a", "b", "c"])
    >>> cycles[0].previous_edges.tolist(), cycles[0].new_edges.tolist()
    ([[0, 1]], [[0, 2]])
    """
    times, known = whole_numbers(cycle, "cycle"), Ids(ids)
    first, second = known.rows(source, "source"), known.rows(target, "target")
    added = _added(action, times.size)
    for name, column in (("source", first), ("target", second), ("cycle", times), ("action", added)):
        if column.ndim != 1 or len(column) != len(first):
            raise InputError(f"has shape {column.shape}", where=name, fix="Give one of each per event.")
    moments = np.unique(times).tolist()
    if len(moments) < 2:
        what = "all events are of one cycle" if moments else "there are no events"
        raise InputError(what, where="cycle", fix="The lowest cycle is the graph before; births are of later ones.")
    by_time = embeddings if isinstance(embeddings, Mapping) else dict.fromkeys(moments, embeddings)
    if missing := [when for when in moments if when not in by_time]:
        fix = "Pass an array, a row per node, or {cycle: array} with all cycles of the events."
        raise InputError(f"has no array for cycle {missing[0]}", where="embeddings", fix=fix)
    cycles, graph, earlier = [], np.empty(0, np.int64), None
    for place, when in enumerate(moments):
        points, now = known.points(by_time[when]), times == when
        ends = as_edges(np.stack([first[now], second[now]], axis=1), "source and target", len(points))
        gone, born = (set_of(ends[which[now]], directed) for which in (~added, added))
        before, graph = graph, joined(without(graph, gone), born)
        if place:
            births, edges = edges_of(without(born, before)), edges_of(graph)
            given = Cycle(points, births, edges, place - 1, earlier, previous_edges=edges_of(before))
            cycles.append(replace(given, condition=condition, seed=seed))
        earlier = points
    return cycles


def from_snapshots(
    graphs: Sequence[Any], embeddings: Any, *, ids: Any = None, condition: str = "run", seed: int = 0
) -> list[Cycle]:
    """Graphs of networkx at consecutive times, with the embeddings at each, as cycles of one run.

    Parameters
    ----------
    graphs
        At least two; births are the edges that are in a graph and not in the one before.
    embeddings
        An array (N, D) per graph, or one for all.
    ids
        The node of each row, if nodes are not rows; the same for all graphs, new nodes last.
    condition, seed
        What the run is.

    Returns
    -------
    list of Cycle
        For `evaluate`, in order.

    Examples
    --------
    >>> import networkx
    >>> from graphgauge import evolution
    >>> graphs = [networkx.path_graph(3), networkx.complete_graph(3)]
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.2]]
    >>> [cycle.all_edges.tolist() for cycle in evolution.from_snapshots(graphs, points)]
    [[[0, 1], [0, 2], [1, 2]]]
    """
    if isinstance(embeddings, Mapping):
        fix = "Pass a row per node as np.array([*embeddings.values()]), with ids=[*embeddings]."
        raise InputError("found a mapping", where="embeddings", fix=fix)
    rows = list(embeddings) if np.ndim(embeddings[0]) == 2 else [embeddings] * len(graphs)
    if len(graphs) != len(rows) or len(graphs) < 2:
        what = f"{len(graphs)} graphs and {len(rows)} embeddings"
        raise InputError(what, where="graphs", fix="Pass two graphs or more, and an array for each.")
    known = Ids(ids, kept=True)
    edges = [known.rows(np.array([*graph.edges()]).reshape(-1, 2), "graphs") for graph in graphs]
    given = [
        Cycle(rows[t], None, edges[t], t - 1, rows[t - 1], previous_edges=edges[t - 1]) for t in range(1, len(graphs))
    ]
    return [replace(each, condition=condition, seed=seed) for each in given]


def _names(values: Any, name: str) -> AnyArray:
    """Ids of one type; floats are whole numbers, which tables make of ids beside a missing one."""
    given = as_array(values, name)
    if given.dtype.kind in "fiu":
        return whole_numbers(given, name)
    return as_labels(given.ravel(), name).reshape(given.shape)


def _added(action: Any, events: int) -> Mask:
    if action is None:
        return np.ones(events, bool)
    actions = np.char.lower(as_labels(action, "action").astype(str))
    if (wrong := actions[~np.isin(actions, _ACTIONS)]).size:
        raise InputError(f"{str(wrong[0])!r} is neither add nor remove", where="action", fix="Write add or remove.")
    return np.isin(actions, _ADDED)
