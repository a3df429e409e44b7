"""Cycles from a table of events: edges that are added and removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.edges import Codes, distinct, whole_numbers, without

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
    times = whole_numbers(cycle, "cycle")
    order, ends = _rows(source, target, ids)
    added = _added(action, len(times))
    if not len(times) == len(ends) == len(added):
        raise InputError(f"{len(ends)} edges and {len(times)} cycles", where="cycle", fix="Give each event its cycle.")
    if not len(times):
        raise InputError("has no events", where="source", fix="Give a row for each edge that was added.")
    moments = np.unique(times)
    by_cycle = isinstance(embeddings, dict)
    points = {int(when): _ordered(embeddings[int(when)] if by_cycle else embeddings, order) for when in moments}
    graph, cycles = np.empty((0, 2), np.int64), []
    for place, when in enumerate(moments.tolist()):
        codes = Codes(len(points[when]), directed)
        now = times == when
        if len(ends) and ends[now].max(initial=-1) >= codes.nodes:
            raise InputError(f"{ends[now].max()} is no row of the embeddings", where="source", fix="Pass ids=.")
        before = codes.set_of(graph)
        gone, born = codes.set_of(ends[now & ~added]), codes.set_of(ends[now & added])
        after = distinct(np.concatenate([without(before, gone), born]))
        graph = codes.edges(after)
        if place:
            earlier = points[int(moments[place - 1])]
            parts: dict[str, Any] = {
                "previous_embeddings": earlier,
                "previous_edges": codes.edges(before),
                "cycle": place - 1,
            }
            births = codes.edges(without(born, before))
            cycles.append(Cycle(points[when], births, graph, condition=condition, seed=seed, **parts))
    if not cycles:
        raise InputError("all events are of one cycle", where="cycle", fix="The lowest cycle is the graph before.")
    return cycles


def from_snapshots(
    graphs: Sequence[Any], embeddings: Sequence[Any], *, ids: Any = None, condition: str = "run", seed: int = 0
) -> list[Cycle]:
    """Graphs of networkx at consecutive times, with the embeddings at each, as cycles of one run.

    Parameters
    ----------
    graphs
        At least two; births are the edges that are in a graph and not in the one before.
    embeddings
        An array (N, D) per graph.
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
    >>> (cycle,) = evolution.from_snapshots(graphs, [[[0.0], [0.1], [0.2]]] * 2)
    >>> cycle.all_edges
    [(0, 1), (0, 2), (1, 2)]
    """
    if len(graphs) != len(embeddings) or len(graphs) < 2:
        what = f"{len(graphs)} graphs and {len(embeddings)} embeddings"
        raise InputError(what, where="graphs", fix="Pass two graphs or more, and an array for each.")
    place = None if ids is None else {node: row for row, node in enumerate(ids)}
    edges = [[ends[:2] if place is None else (place[ends[0]], place[ends[1]]) for ends in g.edges()] for g in graphs]
    return [
        Cycle(embeddings[t], None, edges[t], condition, seed, t - 1, embeddings[t - 1], edges[t - 1])
        for t in range(1, len(graphs))
    ]


def _rows(source: Any, target: Any, ids: Any) -> tuple[Ints | None, Ints]:
    """The order of the rows, by id, and the ends of every event as rows in this order."""
    if ids is None:
        return None, np.stack([whole_numbers(source, "source"), whole_numbers(target, "target")], axis=1)
    known = _names(ids, "ids")
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    if len(ordered) > 1 and (ordered[1:] == ordered[:-1]).any():
        raise InputError("an id occurs twice", where="ids", fix="Give each row of the embeddings an id of its own.")
    ends = []
    for name, given in (("source", source), ("target", target)):
        values = _names(given, name)
        values = values.astype(ordered.dtype) if values.dtype.kind == ordered.dtype.kind else values
        place = np.clip(np.searchsorted(ordered, values), 0, max(len(ordered) - 1, 0))
        wrong = ordered[place] != values
        if wrong.any():
            raise InputError(f"{values[wrong][0]!r} is not among the ids", where=name, fix="Give every node its id.")
        ends.append(place)
    return order, np.stack(ends, axis=1).astype(np.int64)


def _names(values: Any, name: str) -> AnyArray:
    """Ids of one type; floats are whole numbers, which tables make of ids beside a missing one."""
    given = np.asarray(values)
    return whole_numbers(given, name) if given.dtype.kind in "fiu" else as_labels(values, name)


def _ordered(embeddings: Any, order: Ints | None) -> AnyArray:
    rows = as_numeric(embeddings, "embeddings")
    if order is None:
        return rows
    if len(rows) != len(order):
        raise InputError(f"{len(rows)} rows for {len(order)} ids", where="embeddings", fix="Give each id its row.")
    return rows[order]


def _added(action: Any, events: int) -> Any:
    if action is None:
        return np.ones(events, bool)
    texts = [str(each).lower() for each in as_labels(action, "action").tolist()]
    for text in texts:
        if text not in (*_ADDED, *_REMOVED):
            raise InputError(f"{text!r} is neither add nor remove", where="action", fix="Write add or remove.")
    return np.array([text in _ADDED for text in texts], bool)
