"""Ledgers from logs of events, from bitemporal edges, from GraphRAG's tables, and from snapshots of a graph."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, on_host
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.files import parse_json, require_file
from graphgauge.evolution.inputs import as_edges, is_missing
from graphgauge.evolution.ledger import ABOUT, BIRTH, DEATH, MERGE, START, Events, Ledger
from graphgauge.io.parquet import open_parquet, read_parquet, sound

# Names that logs use; the first is ours.
COLUMNS = {
    "action": ("action", "event", "op", "operation"),
    "cycle": ("cycle", "step", "snapshot"),
    "time": ("time", "timestamp", "t", "ts", "datetime", "date", "created_at"),
    "node": ("node", "node_id"),
    "source": ("source", "src", "from", "head", "subject", "u", "source_node_uuid"),
    "target": ("target", "dst", "to", "tail", "object", "v", "target_node_uuid"),
    "into": ("into", "merged_into"),
    "type": ("type", "relation", "predicate", "rel", "edge_type", "node_type"),
    "label": ("label", "class"),
}
ACTIONS = {
    **dict.fromkeys(("birth", "born", "add", "added", "create", "created", "insert", "+"), BIRTH),
    **dict.fromkeys(("death", "died", "remove", "removed", "delete", "deleted", "expire", "-"), DEATH),
    **dict.fromkeys(("merge", "merged"), MERGE),
}
EVERY = ("second", "minute", "hour", "day", "week", "month", "year")
_UNITS = {"second": "s", "minute": "m", "hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}
# Numbers are rows if at least this share of the numbers up to the highest occur.
_DENSE = 0.25
# Nodes of a large file are rows; there may be so many more than events.
_SPARSE, _MOST_ROWS = 8, 1 << 24
# The most periods of `every` between the first and the last event.
_MOST_PERIODS = 1_000_000
# 1970-01-05, in days: a Monday, with which weeks begin.
_MONDAY = 4
# Cycles are whole numbers of 64 bits.
_MOST_CYCLES = 1 << 62
_FORM = 'One event per line: {"cycle": 0, "action": "birth", "source": "a", "target": "b"}.'


def read_ledger(
    path: str | os.PathLike[str],
    *,
    directed: bool = False,
    every: str | float | None = None,
    start: Any = None,
    ids: Sequence[Hashable] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Ledger:
    """Read a log of events, .jsonl or .parquet.

    An event has an `action` (birth, death, merge; default: birth), a `cycle` or a `time`, and `source` and `target`,
    or `node` (with `into`, if it is merged). `type` is the relation of an edge or the type of a node, `label` a node's
    class, which may come with a later event: without an action, it is a birth only if the node is new.

    A Parquet file with whole numbers as `source`, `target` and `cycle`, sorted by cycle, is read one cycle at a time;
    its nodes are rows already.

    Parameters
    ----------
    directed
        Whether (a, b) and (b, a) are different edges.
    every
        The length of a cycle if events have only a time: a number, or second, minute, hour, day, week (from Monday),
        month or year. By default each distinct time is a cycle.
    start
        Events before this time, or with a cycle below 0, built the graph before the first cycle.
    ids
        The ids of all nodes in the order of the rows of the embeddings. By default numbers from 0 are rows, and other
        ids are in the order in which they occur.
    columns
        Names of the columns in this log, by ours: {"source": "from_id", …}.
    path
        The file.

    Returns
    -------
    Ledger
        Births and deaths by cycle, for `evaluate` and `replay_growth`.

    Raises
    ------
    InputError
        If an event cannot be read; the message names its line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from graphgauge import evolution
    >>> _ = Path("events.jsonl").write_text('{"cycle": 0, "source": "a", "target": "b"}')
    >>> evolution.read_ledger("events.jsonl").ids
    ('a', 'b')
    """
    path = Path(path)
    require_file(path)
    if path.suffix == ".jsonl":
        return ledger_of(
            _lines(path), directed=directed, every=every, start=start, ids=ids, columns=columns, where=str(path)
        )
    if path.suffix != ".parquet":
        raise InputError("is neither .jsonl nor .parquet", where=str(path), fix=_FORM)
    names = _names(open_parquet(path).schema_arrow.names, columns, str(path))
    if ids is None and _is_plain(path, names):
        _refuse_times(every, start)
        return _streamed(path, names, directed)
    table = read_parquet(path, list(names.values()))
    with sound(path):
        rows = {ours: table[theirs].to_pylist() for ours, theirs in names.items()}
    listed = (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True))
    return ledger_of(listed, directed=directed, every=every, start=start, ids=ids, where=str(path))


def ledger_of(
    events: Iterable[Any],
    *,
    directed: bool = False,
    every: str | float | None = None,
    start: Any = None,
    ids: Sequence[Hashable] | None = None,
    columns: Mapping[str, str] | None = None,
    where: str = "ledger",
    cycles: int = 0,
) -> Ledger:
    """A ledger of events in memory, with so many cycles at least; see `read_ledger`."""
    book = _Book(ids, where)
    book.cycles = cycles
    names: dict[str, str] | None = None
    for number, event in enumerate(_records(events)):
        given = _mapping(event)
        if given is None:
            raise InputError(f"event {number} is {type(event).__name__}", where=where, fix=_FORM)
        if names is None or not set(names.values()) >= set(given):
            names = _names(given, columns, where)
        book.add(number, {ours: given.get(theirs) for ours, theirs in names.items()})
    return book.ledger(directed=directed, every=every, start=start)


class _Book:
    """Events as columns of numbers, while they are read."""

    def __init__(self, ids: Sequence[Hashable] | None, where: str) -> None:
        self.where, self.fixed = where, ids is not None
        self.rows: dict[Hashable, int] = {own: row for row, own in enumerate(ids or ())}
        if ids is not None and len(self.rows) < len(ids):
            raise InputError("an id occurs twice", where="ids")
        self.relations: dict[str, int] = {}
        self.types: dict[str, int] = {"": 0}
        self.type_of: dict[int, int] = {}
        self.labels: dict[Hashable, Any] = {}
        self.action: list[int] = []
        self.source: list[int] = []
        self.target: list[int] = []
        self.kind: list[int] = []
        self.cycle: list[Any] = []
        self.time: list[Any] = []
        self.declares_nodes = False
        # Cycles 0, 1, 2 … that exist, also without events.
        self.cycles = 0

    def add(self, number: int, event: dict[str, Any]) -> None:
        source, target = event.get("source"), event.get("target")
        node, into = event.get("node"), event.get("into")
        action = self._action(number, event.get("action"))
        if action == MERGE:
            source, target = (source if _missing(node) else node), (target if _missing(into) else into)
        elif not _missing(node):
            source, target = node, None
        if _missing(source) or (action == MERGE and _missing(target)):
            raise InputError(f"event {number} names no node", where=self.where, fix=_FORM)
        if _missing(target) and _missing(node):
            raise InputError(
                f"event {number} has a source and no target",
                where=self.where,
                fix="Give both; an event of a node has `node`.",
            )
        first = self._row(number, source)
        second = -1 if _missing(target) else self._row(number, target)
        kind = "" if _missing(event.get("type")) else str(event["type"])
        if second < 0:
            if action == BIRTH and _missing(event.get("action")) and (kind or not _missing(event.get("label"))):
                action = ABOUT
            self.declares_nodes |= action == BIRTH
            if kind:
                self.type_of[first] = self.types.setdefault(kind, len(self.types))
            if not _missing(event.get("label")):
                self.labels[source] = event["label"]
        self.action.append(action)
        self.source.append(first)
        self.target.append(second)
        self.kind.append(self.relations.setdefault(kind, len(self.relations)) if second >= 0 and action != MERGE else 0)
        self.cycle.append(event.get("cycle"))
        self.time.append(event.get("time"))

    def _action(self, number: int, given: Any) -> int:
        if _missing(given):
            return BIRTH
        name = str(given).strip().lower()
        if name not in ACTIONS:
            raise InputError(
                f"event {number} has the action {given!r:.80}", where=self.where, fix="Use birth, death or merge."
            )
        return ACTIONS[name]

    def _row(self, number: int, own: Any) -> int:
        own = tuple(own) if isinstance(own, list) else own
        if isinstance(own, bool | np.bool_):
            raise InputError(
                f"event {number} has {own!r} as a node", where=self.where, fix="Use text or numbers as ids."
            )
        try:
            row = self.rows.get(own)
        except TypeError:
            raise InputError(
                f"event {number} has {own!r:.80} as a node", where=self.where, fix="Use text or numbers as ids."
            ) from None
        if row is None:
            if self.fixed:
                raise InputError(f"event {number} has the node {own!r:.80}, which is not among the ids", where="ids")
            row = self.rows[own] = len(self.rows)
        return row

    def ledger(self, *, directed: bool, every: str | float | None, start: Any) -> Ledger:
        cycle, order, times = self._cycles(every, start)
        columns = [np.array(part, np.int64)[order] for part in (self.action, self.source, self.target, self.kind)]
        columns = self._with_births(cycle[order], columns)
        numbers = self._numbers()
        ids: Sequence[Hashable] = tuple(self.rows)
        if numbers is not None:
            ids = range(int(numbers.max()) + 1)
            columns[1] = numbers[columns[1]]
            columns[2] = np.where(columns[2] < 0, -1, numbers[columns[2]])
        whole = bool(self.rows) and all(_is_whole(own) for own in self.rows)
        return in_memory(
            cycle[order],
            columns,
            cycles=max(len(times), self.cycles),
            ids=ids,
            directed=directed,
            relations=tuple(self.relations) or ("",),
            type_names=tuple(self.types),
            node_types=self._types(numbers, len(ids)),
            labels=self.labels or None,
            declares_nodes=self.declares_nodes,
            times=times,
            ordered=self.fixed or numbers is not None or not whole,
        )

    def _numbers(self) -> Ints | None:
        """The numbers of the nodes, if they are rows: whole numbers from 0, without many gaps."""
        if self.fixed or not self.rows or not all(_is_whole(own) for own in self.rows):
            return None
        numbers = [int(cast(Any, own)) for own in self.rows]
        if min(numbers) < 0 or len(numbers) < _DENSE * (max(numbers) + 1):
            return None
        return np.array(numbers, np.int64)

    def _with_births(self, cycle: Ints, columns: list[Ints]) -> list[Ints]:
        """Events without an action that describe a node are its birth if it is new or died in their cycle."""
        action, source, target, _ = columns
        about = action == ABOUT
        if not about.any():
            return columns
        # The first event that names a node, and the first cycle in which an edge does.
        named = {node: place for place, node in reversed(list(enumerate(source.tolist())))}
        linked: dict[int, int] = {}
        for place in np.flatnonzero(target >= 0).tolist():
            for node in (int(source[place]), int(target[place])):
                linked.setdefault(node, int(cycle[place]))
        ended: dict[int, int] = {}
        born: set[int] = set()
        action = action.copy()
        for place in np.flatnonzero((target < 0) | (action == MERGE)).tolist():
            node, when = int(source[place]), int(cycle[place])
            if not about[place]:
                if action[place] == BIRTH:
                    born.add(node)
                else:
                    ended[node] = when
                    born.discard(node)
                continue
            is_new = linked.get(node, when) >= when and int(cycle[named[node]]) >= when
            if node not in born and (is_new or ended.get(node) == when):
                action[place] = BIRTH
                born.add(node)
                # With an edge in the same cycle, it may be only a description of a node that the edge brought.
                self.declares_nodes |= linked.get(node) != when or node not in linked
        return [action, *columns[1:]]

    def _types(self, numbers: Ints | None, nodes: int) -> Ints | None:
        if not self.type_of:
            return None
        found = np.zeros(nodes, np.int64)
        rows = np.array(list(self.type_of), np.int64)
        found[rows if numbers is None else numbers[rows]] = list(self.type_of.values())
        return found

    def _cycles(self, every: str | float | None, start: Any) -> tuple[Ints, Ints, dict[int, Any]]:
        if not self.action:
            return np.empty(0, np.int64), np.empty(0, np.int64), {}
        numbered = [not _missing(own) for own in self.cycle]
        if all(numbered):
            _refuse_times(every, start)
            found = np.array([_whole(own, self.where) for own in self.cycle], np.int64)
            return np.maximum(found, START), np.argsort(found, kind="stable"), {}
        if any(numbered):
            raise InputError(f"event {numbered.index(False)} has no cycle", where=self.where, fix=_FORM)
        lacking = [_missing(own) for own in self.time]
        if any(lacking):
            raise InputError(f"event {lacking.index(True)} has neither cycle nor time", where=self.where, fix=_FORM)
        when = as_times(self.time, self.where)
        order = np.argsort(when, kind="stable")
        bins = binned(when, every)
        early = np.zeros(len(when), bool) if start is None else when < as_times([start], "start")[0]
        names, places = np.unique(bins[~early], return_inverse=True)
        if every is not None and len(names):
            # Periods without events are cycles too.
            every_name = _periods(names, every)
            if len(every_name) > _MOST_PERIODS:
                raise OptionError(f"every={every!r} gives {len(every_name):,} cycles", fix="Choose longer ones.")
            places, names = np.searchsorted(every_name, names)[places], every_name
        cycles = np.full(len(when), START, np.int64)
        cycles[~early] = places
        return cycles, order, dict(enumerate(names.tolist()))


def in_memory(cycle: Ints, columns: Sequence[Ints], *, cycles: int = 0, **rest: Any) -> Ledger:
    """A ledger of columns action, source, target and kind that are sorted by cycle; so many cycles exist at least."""
    bounds = np.flatnonzero(np.append(True, cycle[1:] != cycle[:-1])) if len(cycle) else np.empty(0, np.int64)
    parts = [
        (int(cycle[low]), Events(*(column[low:high] for column in columns)))
        for low, high in pairwise([*bounds.tolist(), len(cycle)])
    ]
    known, nothing = {number for number, _ in parts}, Events(*(column[:0] for column in columns))
    parts += [(number, nothing) for number in range(cycles) if number not in known]
    parts.sort(key=lambda part: part[0])
    return Ledger(lambda: iter(parts), **rest)


# ---- bitemporal edges


def from_bitemporal(
    edges: Any,
    *,
    axis: str = "system",
    every: str | float | None = None,
    start: Any = None,
    directed: bool = True,
    ids: Sequence[Hashable] | None = None,
) -> Ledger:
    """A ledger of edges that know when they began and ended, such as Graphiti's.

    `edges` are mappings or objects with `source_node_uuid`, `target_node_uuid`, `name`, and `created_at` and
    `expired_at` (`axis="system"`: when the system knew them), or `valid_at` and `invalid_at` (`axis="valid"`: when
    they were true); or a data frame, or a .jsonl or .parquet file of them. Of several records with one `uuid`, the last
    counts. Parallel edges with one name are one edge, from the birth of
    the first to the death of the last.

    Parameters
    ----------
    edges
        The edges with their times, or a file of them.
    axis
        `system` or `valid`.
    every
        The length of a cycle, as in `read_ledger`.
    start
        Edges before this time built the graph before the first cycle.
    directed
        Whether (a, b) and (b, a) are different edges.
    ids
        The ids of all nodes in the order of the rows of the embeddings.

    Returns
    -------
    Ledger
        Births and deaths by cycle, for `evaluate` and `replay_growth`.

    Raises
    ------
    InputError
        If an edge has no time on this axis.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> edge = {"source_node_uuid": "a", "target_node_uuid": "b", "name": "knows"}
    >>> facts = [edge | {"created_at": "2026-01-01", "expired_at": None}]
    >>> evolution.from_bitemporal(facts, every="day").ids
    ('a', 'b')
    """
    one_of("axis", axis, ("system", "valid"))
    begins, ends = ("created_at", "expired_at") if axis == "system" else ("valid_at", "invalid_at")
    rows = _records(edges)
    ends_before = "edge {} ends before it begins: {} is before {}"
    spans: dict[tuple[Any, Any, str], list[tuple[Any, int]]] = {}
    latest: dict[Any, tuple[int, Mapping[str, Any]]] = {}
    for number, row in enumerate(rows):
        own = _mapping(row)
        if own is None:
            raise InputError(f"edge {number} is {type(row).__name__}", where="edges", fix="Pass mappings or objects.")
        # A record that comes again with its `uuid` is a later version of the edge.
        name = own.get("uuid")
        latest[("row", number) if _missing(name) else ("uuid", name)] = number, own
    for number, own in latest.values():
        source = own.get("source_node_uuid", own.get("source"))
        target = own.get("target_node_uuid", own.get("target"))
        born, died = own.get(begins), own.get(ends)
        if _missing(source) or _missing(target):
            raise InputError(f"edge {number} has no source_node_uuid and target_node_uuid", where="edges")
        if _missing(born):
            raise InputError(
                f"edge {number} has no {begins}",
                where="edges",
                fix='Choose the other axis, "system" or "valid", or leave it out.',
            )
        kind = own.get("name", own.get("type"))
        key = source, target, "" if _missing(kind) else str(kind)
        if not directed and (target, source, key[2]) in spans:
            key = target, source, key[2]
        spans.setdefault(key, []).append((born, 1))
        if not _missing(died):
            spans[key].append((died, -1))
            begun, ended = as_times([born, died], "edges")
            if ended < begun:
                raise InputError(ends_before.format(number, died, born), where="edges")
    events = []
    for (source, target, kind), marks in spans.items():
        when = as_times([time for time, _ in marks], "edges")
        alive = 0
        # At the same moment, births come first: an edge replaced by its like never died.
        for place in sorted(range(len(marks)), key=lambda at: (when[at], -marks[at][1])):
            step = marks[place][1]
            if (step > 0 and alive == 0) or (step < 0 and alive == 1):
                action = "birth" if step > 0 else "death"
                events.append(
                    {"action": action, "time": marks[place][0], "source": source, "target": target, "type": kind}
                )
            alive += step
    return ledger_of(events, directed=directed, every=every, start=start, ids=ids, where="edges")


# ---- snapshots


def from_snapshots(
    snapshots: Iterable[Any], *, directed: bool | None = None, ids: Sequence[Hashable] | None = None
) -> Ledger:
    """A ledger of the differences between snapshots: networkx graphs, PyG `Data`, or (E, 2) edges.

    The first is the graph before the first cycle. Nodes of networkx graphs are born and die too; a node attribute
    `type` and an edge attribute `type`, or a multigraph's keys, become types and relations. Edges have a direction if
    those of any snapshot have one.

    Parameters
    ----------
    snapshots
        The graphs, in order.
    directed
        Whether (a, b) and (b, a) are different edges; by default as the graphs say.
    ids
        The ids of all nodes in the order of the rows of the embeddings.

    Returns
    -------
    Ledger
        Births and deaths by cycle, one cycle per snapshot after the first.

    Raises
    ------
    InputError
        If a snapshot cannot be read.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphgauge import evolution
    >>> ledger = evolution.from_snapshots([nx.path_graph(3), nx.cycle_graph(3)])
    >>> [change.births.tolist() for change in ledger.changes()]
    [[[0, 2]]]
    """
    events: list[dict[str, Any]] = []
    previous: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    parts = [_parts(snapshot) for snapshot in snapshots]
    oriented = any(own for _, _, own, _ in parts) if directed is None else directed
    if directed is None and oriented and any(once and not own for _, _, own, once in parts):
        raise InputError(
            "some snapshots are directed and some are not", where="snapshots", fix="Pass directed=True or False."
        )
    for number, (nodes, edges, _, _) in enumerate(parts):
        if not oriented:
            edges = {_unordered(edge): kind for edge, kind in edges.items()}
        events += _difference(previous, (nodes, edges), number - 1)
        previous = nodes, edges
    return ledger_of(events, directed=bool(oriented), ids=ids, where="snapshots", cycles=len(parts) - 1)


def _difference(before: tuple[Any, Any], after: tuple[Any, Any], cycle: int) -> Iterator[dict[str, Any]]:
    for source, target, kind in [edge for edge in before[1] if edge not in after[1]]:
        yield {"cycle": cycle, "action": "death", "source": source, "target": target, "type": kind}
    for node in [node for node in before[0] if node not in after[0]]:
        yield {"cycle": cycle, "action": "death", "node": node}
    for node, kind in after[0].items():
        if node not in before[0]:
            yield {"cycle": cycle, "action": "birth", "node": node, "type": kind}
        elif kind and kind != before[0][node]:
            yield {"cycle": cycle, "node": node, "type": kind}
    for source, target, kind in [edge for edge in after[1] if edge not in before[1]]:
        yield {"cycle": cycle, "action": "birth", "source": source, "target": target, "type": kind}


def _parts(snapshot: Any) -> tuple[dict[Any, Any], dict[tuple[Any, Any, str], None], bool, bool]:
    """Nodes with their types, typed edges, whether they are directed, and whether an edge is listed once if not."""
    if hasattr(snapshot, "is_directed") and hasattr(snapshot, "edges") and hasattr(snapshot, "nodes"):
        nodes = {node: str(given.get("type", "")) for node, given in snapshot.nodes(data=True)}
        if snapshot.is_multigraph():
            listed = [(u, v, str(given.get("type", key))) for u, v, key, given in snapshot.edges(keys=True, data=True)]
        else:
            listed = [(u, v, str(given.get("type", ""))) for u, v, given in snapshot.edges(data=True)]
        return nodes, dict.fromkeys(listed), snapshot.is_directed(), True
    index = getattr(snapshot, "edge_index", None)
    if index is not None:
        pairs = np.asarray(on_host(index, "edge_index")).T
        kinds = getattr(snapshot, "edge_type", None)
        kinds = None if kinds is None else np.asarray(on_host(kinds, "edge_type")).tolist()
        named = [""] * len(pairs) if kinds is None else [str(kind) for kind in kinds]
        count = int(snapshot.num_nodes)
        edges = [(u, v, kind) for (u, v), kind in zip(pairs.tolist(), named, strict=True)]
        undirected = getattr(snapshot, "is_undirected", None)
        oriented = not (undirected is not None and undirected())
        return dict.fromkeys(range(count), ""), dict.fromkeys(edges), oriented, False
    if np.shape(snapshot) == (2, 3):
        raise InputError(
            "has shape (2, 3): two edges with relations, or an edge_index of three",
            where="snapshot",
            fix="Pass edge_index.T, or a networkx graph or PyG Data.",
        )
    given = as_edges(snapshot, "snapshot", relations=True)
    listed = [(u, v, str(*more)) for u, v, *more in given.tolist()]
    return {}, dict.fromkeys(listed), False, False


def _unordered(edge: tuple[Any, Any, str]) -> tuple[Any, Any, str]:
    first, second, kind = edge
    try:
        swap = second < first
    except TypeError:  # ids of different kinds
        swap = (type(second).__name__, repr(second)) < (type(first).__name__, repr(first))
    return (second, first, kind) if swap else edge


# ---- GraphRAG


def from_graphrag(folders: Iterable[Any], *, directed: bool = False) -> Ledger:
    """A ledger of the differences between indexes of GraphRAG, in order: output folders, or pairs of data frames.

    Reads `entities.parquet` (`title`, `type`) and `relationships.parquet` (`source`, `target`), or the
    `create_final_…` files of earlier versions; a pair has the two tables. Nodes are titles, because relationships refer
    to them. The first index is the graph before the first cycle.

    Parameters
    ----------
    folders
        Output folders, or pairs of tables, in the order in which they were made.
    directed
        Whether (a, b) and (b, a) are different edges.

    Returns
    -------
    Ledger
        Births and deaths by cycle, one cycle per folder after the first.

    Raises
    ------
    InputError
        If a folder lacks the files.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from graphgauge import evolution
    >>> for number, targets in enumerate([["b"], ["b", "c"]]):
    ...     Path(f"index-{number}").mkdir()
    ...     titles = pd.DataFrame({"title": ["a", *targets], "type": "person"})
    ...     titles.to_parquet(f"index-{number}/entities.parquet")
    ...     pairs = pd.DataFrame({"source": "a", "target": targets})
    ...     pairs.to_parquet(f"index-{number}/relationships.parquet")
    >>> evolution.from_graphrag(["index-0", "index-1"]).ids
    ('a', 'b', 'c')
    """
    if isinstance(folders, str | os.PathLike):
        raise InputError("expected folders, found one", where="folders", fix="Pass them in order, oldest first.")
    events: list[dict[str, Any]] = []
    last = 0
    previous: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for number, index in enumerate(folders):
        nodes, pairs = _graphrag(index)
        edges = dict.fromkeys((u, v, "") if directed else _unordered((u, v, "")) for u, v in pairs)
        events += _difference(previous, (nodes, edges), number - 1)
        previous, last = (nodes, edges), number
    return ledger_of(events, directed=directed, where="folders", cycles=last)


def _graphrag(index: Any) -> tuple[dict[Any, str], list[tuple[Any, Any]]]:
    """Entities with their types, and relationships."""
    if isinstance(index, str | os.PathLike):
        folder = Path(index)
        entities, relationships = _graphrag_file(folder, "entities"), _graphrag_file(folder, "relationships")
        named = open_parquet(entities).schema_arrow.names
        title = "title" if "title" in named else "name"
        known = read_parquet(entities, [title, *(["type"] if "type" in named else [])]).to_pylist()
        linked = read_parquet(relationships, ["source", "target"]).to_pylist()
    else:
        try:
            first, second = index
        except (TypeError, ValueError):
            raise InputError(
                f"found {type(index).__name__}",
                where="folders",
                fix="Pass folders, or pairs (entities, relationships).",
            ) from None
        known, linked = list(_records(first)), list(_records(second))
        title = "title" if known and "title" in known[0] else "name"
    for what, rows, columns in (("entities", known, (title,)), ("relationships", linked, ("source", "target"))):
        for row in rows:
            if not isinstance(row, Mapping) or any(_missing(row.get(column)) for column in columns):
                raise InputError(f"a row of {what} lacks {' or '.join(columns)}", where="folders")
    nodes = {row[title]: "" if _missing(row.get("type")) else str(row["type"]) for row in known}
    return nodes, [(row["source"], row["target"]) for row in linked]


def _graphrag_file(folder: Path, what: str) -> Path:
    for name in (f"{what}.parquet", f"create_final_{what}.parquet"):
        if (folder / name).exists():
            return folder / name
    raise InputError(f"has no {what}.parquet", where=str(folder), fix="Pass output folders of GraphRAG.")


# ---- large files


def _is_plain(path: Path, names: Mapping[str, str]) -> bool:
    """Whether a Parquet file has whole numbers as cycle, source and target, and nothing else than actions."""
    import pyarrow as arrow

    schema = open_parquet(path).schema_arrow
    whole = all(
        name in names and arrow.types.is_integer(schema.field(names[name]).type)
        for name in ("cycle", "source", "target")
    )
    return whole and set(names) <= {"cycle", "source", "target", "action"}


def _streamed(path: Path, names: Mapping[str, str], directed: bool) -> Ledger:
    file = open_parquet(path)
    highest, last = -1, None
    for cycle, _, source, target in _plain_batches(path, names):
        if len(cycle) == 0:
            continue
        if (cycle[1:] < cycle[:-1]).any() or (last is not None and cycle[0] < last):
            raise InputError("is not sorted by cycle", where=str(path), fix="Sort the events by cycle, in order.")
        last = int(cycle[-1])
        if min(source.min(), target.min()) < 0:
            raise InputError("has a negative node number", where=str(path), fix="Number the nodes from 0.")
        highest = max(highest, int(source.max()), int(target.max()))
    events = file.metadata.num_rows
    if events == 0:
        raise InputError("has no events", where=str(path))
    if highest >= _SPARSE * events + _MOST_ROWS:
        raise InputError(
            f"has {events:,} events and a node {highest:,}, but nodes are rows of the embeddings",
            where=str(path),
            fix="Number the nodes from 0, or pass their ids in order as ids=.",
        )

    def blocks() -> Iterator[tuple[int, Events]]:
        waiting: list[tuple[AnyArray, ...]] = []
        current: int | None = None
        for cycle, *parts in _plain_batches(path, names):
            number = np.maximum(cycle, START)
            bounds = np.flatnonzero(np.append(True, number[1:] != number[:-1]))[: len(number)]
            for low, high in pairwise([*bounds, len(number)]):
                own = int(number[low])
                if current is not None and own != current:
                    yield current, _joined(waiting)
                    waiting = []
                current = own
                waiting.append(tuple(part[low:high] for part in parts))
        if current is not None:
            yield current, _joined(waiting)

    return Ledger(blocks, range(highest + 1), directed=directed)


def _joined(parts: list[tuple[AnyArray, ...]]) -> Events:
    action, source, target = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Events(action, source, target, np.zeros(len(action), np.int64))


def _plain_batches(path: Path, names: Mapping[str, str]) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    from graphgauge.io.parquet import read_columns

    for batch in read_columns(path, list(names.values())):
        for name in ("cycle", "source", "target"):
            if batch[names[name]].null_count:
                raise InputError(f"has missing values in {names[name]!r}", where=str(path), fix="Fill them.")
        cycle, source, target = (
            np.asarray(batch[names[name]]).astype(np.int64, copy=False) for name in ("cycle", "source", "target")
        )
        action = _actions(batch[names["action"]], path) if "action" in names else np.zeros(len(cycle), np.int64)
        yield cycle, action, source, target


def _actions(column: Any, path: Path) -> Ints:
    coded = column.dictionary_encode()
    known = []
    for name in coded.dictionary.to_pylist():
        if str(name).lower() not in ACTIONS or ACTIONS[str(name).lower()] == MERGE:
            raise InputError(f"has the action {name!r:.80}", where=str(path), fix="Use birth or death.")
        known.append(ACTIONS[str(name).lower()])
    # A missing action is a birth.
    places = np.asarray(coded.indices.fill_null(len(known))).astype(np.int64)
    return np.array([*known, BIRTH], np.int64)[places]


# ---- parts


def _names(given: Iterable[str], columns: Mapping[str, str] | None, where: str) -> dict[str, str]:
    """The log's name of each of our columns that it has."""
    found = list(given)
    names = {}
    for ours, theirs in COLUMNS.items():
        chosen = (columns or {}).get(ours)
        if chosen is not None and chosen not in found:
            raise InputError(f"has no column {chosen!r}", where=where, fix=f"It has {', '.join(map(str, found))}.")
        own = chosen or next((name for name in theirs if name in found), None)
        if own is not None:
            names[ours] = own
    for ours in columns or {}:
        one_of("column", ours, list(COLUMNS))
    return names


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield parse_json(line)
            except ValueError as error:
                raise InputError(f"line {number} is not JSON: {error}", where=str(path), fix=_FORM) from None


def _records(edges: Any) -> Iterable[Any]:
    """Rows: of a file, of a data frame (pandas, polars) or of an Arrow table; others are rows already."""
    if not isinstance(edges, str | os.PathLike):
        if hasattr(edges, "to_pylist"):
            return cast(Iterable[Any], edges.to_pylist())
        if hasattr(edges, "columns") and hasattr(edges, "to_dicts"):
            return cast(Iterable[Any], edges.to_dicts())
        if hasattr(edges, "columns") and hasattr(edges, "to_dict"):
            return cast(Iterable[Any], edges.to_dict("records"))
        return cast(Iterable[Any], edges)
    path = Path(edges)
    require_file(path)
    if path.suffix == ".jsonl":
        return _lines(path)
    return cast(Iterable[Any], read_parquet(path).to_pylist())


def _mapping(row: Any) -> Mapping[str, Any] | None:
    """The names and values of a mapping, a named tuple, a data class or another object."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_asdict"):
        return cast(Mapping[str, Any], row._asdict())
    if is_dataclass(row) and not isinstance(row, type):
        return {part.name: getattr(row, part.name) for part in fields(row)}
    return getattr(row, "__dict__", None)


def _missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    return not isinstance(value, str | tuple | list) and is_missing(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _refuse_times(every: Any, start: Any) -> None:
    for name, given in (("every", every), ("start", start)):
        if given is not None:
            raise OptionError(
                f"{name} is for events with times, and these have cycles",
                fix="Leave it out: events with a cycle below 0 built the start. Or leave out the cycles.",
            )


def _whole(value: Any, where: str) -> int:
    known = isinstance(value, Real | np.integer) and not isinstance(value, bool)
    if not known or not -_MOST_CYCLES < value < _MOST_CYCLES or value != int(value):
        raise InputError(f"{value!r:.80} is not the number of a cycle", where=where, fix="Use whole numbers, or time.")
    return int(value)


def as_times(values: Sequence[Any], where: str) -> AnyArray:
    """Numbers, or moments as datetime64 in microseconds (UTC)."""
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        try:
            return np.array([float(value) for value in values])
        except OverflowError:
            raise InputError("a time is too large for a number", where=where, fix="Use seconds, or dates.") from None
    found: list[Any] = []
    for value in values:
        moment = value
        if isinstance(value, str):
            try:
                moment = _utc(datetime.fromisoformat(value.replace("Z", "+00:00")))
            except (ValueError, OverflowError):
                raise InputError(
                    f"{value!r:.80} is not a time", where=where, fix="Use numbers, or 2024-05-01T12:00:00Z."
                ) from None
        if isinstance(moment, datetime):
            found.append(np.datetime64(_utc(moment), "us"))
        elif isinstance(moment, date | np.datetime64):
            found.append(np.asarray(moment, "datetime64[us]")[()])
        else:
            raise InputError(f"{value!r:.80} is not a time", where=where, fix="Use one kind of time for all events.")
    return np.array(found, "datetime64[us]")


def _periods(names: AnyArray, every: str | float) -> AnyArray:
    """All periods from the first to the last."""
    if isinstance(every, str):
        step = np.array(7 if every == "week" else 1, f"timedelta64[{'D' if every == 'week' else _UNITS[every]}]")
        count = int((names[-1] - names[0]) / step) + 1
        return np.asarray(names[0] + np.arange(min(count, _MOST_PERIODS + 1)) * step)
    first, last = (round(float(own) / every) for own in (names[0], names[-1]))
    return np.arange(first, min(last, first + _MOST_PERIODS) + 1) * every


def _utc(moment: datetime) -> datetime:
    offset = moment.utcoffset()
    return moment if offset is None else (moment - offset).replace(tzinfo=None)


def binned(when: AnyArray, every: str | float | None) -> AnyArray:
    """The cycle of each time, as its first moment."""
    if every is None:
        return when
    dated = when.dtype.kind == "M"
    if isinstance(every, str):
        one_of("every", every, EVERY)
        if not dated:
            raise OptionError(f"every={every!r} needs times with a date", fix="Pass a number.")
        if every == "week":
            days = when.astype("datetime64[D]").astype(np.int64)
            return (days - (days - _MONDAY) % 7).astype("datetime64[D]")
        return when.astype(f"datetime64[{_UNITS[every]}]")
    if isinstance(every, bool) or not np.isfinite(every) or every <= 0:
        raise OptionError(f"every must be a positive number or a unit of time, not {every!r}")
    if dated:
        raise OptionError("every must be a unit of time, because events have dates", fix=f"One of {', '.join(EVERY)}.")
    return cast(AnyArray, np.round(np.floor(when / every)) * every)
