"""Cycles from a table of events, edges that are added and removed, and from graphs at consecutive times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.edges import edges_of, joined, set_of, whole_numbers, without

_ADDED, _REMOVED = ("add", "added", "birth", "+", "1"), ("remove", "removed", "death", "-", "-1", "0")


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
        For `evaluate`, in order; rows of nodes are in the order of their ids.

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
    times, order = whole_numbers(cycle, "cycle"), _order(ids)
    ends = np.stack([_rows(source, "source", ids, order), _rows(target, "target", ids, order)], axis=1)
    added = _added(action, len(times))
    if not len(times) == len(ends) == len(added):
        raise InputError(f"{len(ends)} edges and {len(times)} cycles", where="cycle", fix="Give each event its cycle.")
    if not len(times):
        raise InputError("has no events", where="source", fix="Give a row for each edge that was added.")
    cycles, graph, earlier = [], np.empty(0, np.int64), None
    for place, when in enumerate(np.unique(times).tolist()):
        points = as_numeric(embeddings[when] if isinstance(embeddings, Mapping) else embeddings, "embeddings")
        now = times == when
        if order is not None and len(points) != len(order):
            what = f"{len(points)} rows for {len(order)} ids"
            raise InputError(what, where="embeddings", fix="Give each id its row.")
        if ends[now].max(initial=-1) >= len(points):
            raise InputError(f"{ends[now].max()} is no row of the embeddings", where="source", fix="Pass ids=.")
        points = points if order is None else points[order]
        gone, born = set_of(ends[now & ~added], directed), set_of(ends[now & added], directed)
        before, graph = graph, joined(without(graph, gone), born)
        births, edges = edges_of(without(born, before)), edges_of(graph)
        if place:
            cycles.append(Cycle(points, births, edges, condition, seed, place - 1, earlier, edges_of(before)))
        earlier = points
    if not cycles:
        raise InputError("all events are of one cycle", where="cycle", fix="The lowest cycle is the graph before.")
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
    >>> [cycle.all_edges for cycle in evolution.from_snapshots(graphs, points)]
    [[(0, 1), (0, 2), (1, 2)]]
    """
    rows = list(embeddings) if np.ndim(embeddings[0]) == 2 else [embeddings] * len(graphs)
    if len(graphs) != len(rows) or len(graphs) < 2:
        what = f"{len(graphs)} graphs and {len(rows)} embeddings"
        raise InputError(what, where="graphs", fix="Pass two graphs or more, and an array for each.")
    place = None if ids is None else {node: row for row, node in enumerate(ids)}
    edges = [[_placed(ends[:2], place) for ends in graph.edges()] for graph in graphs]
    return [
        Cycle(rows[t], None, edges[t], condition, seed, t - 1, rows[t - 1], edges[t - 1]) for t in range(1, len(graphs))
    ]


def _placed(ends: Any, place: Mapping[Any, int] | None) -> tuple[Any, Any]:
    """The rows of the two nodes of an edge."""
    for node in ends:
        known = isinstance(node, int | np.integer) if place is None else node in place
        if not known:
            fix = "Pass ids=, the node of each row of the embeddings."
            raise InputError(f"the node {node!r:.60} has no row", where="graphs", fix=fix)
    return ends if place is None else (place[ends[0]], place[ends[1]])


def _order(ids: Any) -> Ints | None:
    """The rows in the order of their ids, so that nothing depends on the order in which they are given."""
    if ids is None:
        return None
    known = _names(ids, "ids")
    order = np.argsort(known, kind="stable")
    if (known[order][1:] == known[order][:-1]).any():
        raise InputError("an id occurs twice", where="ids", fix="Give each row of the embeddings an id of its own.")
    return np.asarray(order, np.int64)


def _rows(nodes: Any, name: str, ids: Any, order: Ints | None) -> Ints:
    """The row of every node, in the order of the ids."""
    if order is None:
        return whole_numbers(nodes, name)
    known, values = _names(ids, "ids")[order], _names(nodes, name)
    if known.dtype.kind != values.dtype.kind and {known.dtype.kind, values.dtype.kind} - set("iu"):
        raise InputError(f"{values[:1].tolist()} is not among the ids", where=name, fix="Give ends and ids one type.")
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    wrong = known[place] != values
    if wrong.any():
        raise InputError(f"{values[wrong][0]!r} is not among the ids", where=name, fix="Give every node its id.")
    return np.asarray(place, np.int64)


def _names(values: Any, name: str) -> AnyArray:
    """Ids of one type; floats are whole numbers, which tables make of ids beside a missing one."""
    given = np.asarray(values)
    return whole_numbers(given, name) if given.dtype.kind in "fiu" else as_labels(values, name)


def _added(action: Any, events: int) -> Mask:
    if action is None:
        return np.ones(events, bool)
    texts = [str(each).lower() for each in as_labels(action, "action").tolist()]
    wrong = next((text for text in texts if text not in (*_ADDED, *_REMOVED)), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} is neither add nor remove", where="action", fix="Write add or remove.")
    return np.array([text in _ADDED for text in texts], bool)
