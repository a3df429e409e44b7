"""Ledgers from logs of events, from bitemporal edges, from GraphRAG's tables, and from snapshots of a graph."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.files import parse_json, require_file
from graphgauge.evolution.inputs import as_edges
from graphgauge.evolution.ledger import BIRTH, DEATH, MERGE, START, Events, Ledger
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
# Cycles are whole numbers of 64 bits.
_MOST_CYCLES = 1 << 62
_FORM = 'One event per line: {"cycle": 0, "action": "birth", "source": "a", "target": "b"}.'


def read_ledger(
    path: str | os.PathLike[str], *, directed: bool = False, every: str | float | None = None, start: Any = None,
    ids: Sequence[Hashable] | None = None, columns: Mapping[str, str] | None = None,
) -> Ledger:  # fmt: skip
    """Read a log of events, .jsonl or .parquet.

    An event has an `action` (birth, death, merge; default: birth), a `cycle` or a `time`, and `source` and `target`,
    or `node` (with `into`, if it is merged). `type` is the relation of an edge or the type of a node, `label` a node's
    class, which may come with a later event.

    A Parquet file with whole numbers as `source`, `target` and `cycle`, sorted by cycle, is read one cycle at a time;
    its nodes are rows already.

    Parameters
    ----------
    directed
        Whether (a, b) and (b, a) are different edges.
    every
        The length of a cycle if events have only a time: a number, or second, minute, hour, day, week, month or year.
        By default each distinct time is a cycle.
    start
        Events before this time, or with a cycle below 0, built the graph before the first cycle.
    ids
        The ids of all nodes in the order of the rows of the embeddings; by default in the order in which they occur.
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
        return _streamed(path, names, directed)
    table = read_parquet(path, list(names.values()))
    with sound(path):
        rows = {ours: table[theirs].to_pylist() for ours, theirs in names.items()}
    listed = (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True))
    return ledger_of(listed, directed=directed, every=every, start=start, ids=ids, where=str(path))


def ledger_of(
    events: Iterable[Any], *, directed: bool = False, every: str | float | None = None, start: Any = None,
    ids: Sequence[Hashable] | None = None, columns: Mapping[str, str] | None = None, where: str = "ledger",
) -> Ledger:  # fmt: skip
    """A ledger of events in memory; see `read_ledger`."""
    book = _Book(ids, where)
    names: dict[str, str] | None = None
    for number, event in enumerate(events):
        given = event if isinstance(event, Mapping) else getattr(event, "__dict__", None)
        if not isinstance(given, Mapping):
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
        first = self._row(number, source)
        second = -1 if _missing(target) else self._row(number, target)
        kind = "" if _missing(event.get("type")) else str(event["type"])
        if second < 0:
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
        return in_memory(
            cycle[order], columns, ids=tuple(self.rows), directed=directed, relations=tuple(self.relations) or ("",),
            type_names=tuple(self.types), node_types=self._types(), labels=self.labels or None,
            declares_nodes=self.declares_nodes, times=times,
        )  # fmt: skip

    def _types(self) -> Ints | None:
        if not self.type_of:
            return None
        found = np.zeros(len(self.rows), np.int64)
        found[list(self.type_of)] = list(self.type_of.values())
        return found

    def _cycles(self, every: str | float | None, start: Any) -> tuple[Ints, Ints, dict[int, Any]]:
        if not self.action:
            return np.empty(0, np.int64), np.empty(0, np.int64), {}
        numbered = [not _missing(own) for own in self.cycle]
        if all(numbered):
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
        cycles = np.full(len(when), START, np.int64)
        cycles[~early] = places
        return cycles, order, dict(enumerate(names.tolist()))


def in_memory(cycle: Ints, columns: Sequence[Ints], **rest: Any) -> Ledger:
    """A ledger of columns action, source, target and kind that are sorted by cycle."""
    bounds = np.flatnonzero(np.append(True, cycle[1:] != cycle[:-1])) if len(cycle) else np.empty(0, np.int64)
    parts = [
        (int(cycle[low]), Events(*(column[low:high] for column in columns)))
        for low, high in pairwise([*bounds.tolist(), len(cycle)])
    ]
    return Ledger(lambda: iter(parts), **rest)


# ---- bitemporal edges


def from_bitemporal(
    edges: Any, *, axis: str = "system", every: str | float | None = None, start: Any = None, directed: bool = True,
    ids: Sequence[Hashable] | None = None,
) -> Ledger:  # fmt: skip
    """A ledger of edges that know when they began and ended, such as Graphiti's.

    `edges` are mappings or objects with `source_node_uuid`, `target_node_uuid`, `name`, and `created_at` and
    `expired_at` (`axis="system"`: when the system knew them), or `valid_at` and `invalid_at` (`axis="valid"`: when
    they were true); or a .jsonl or .parquet file of them. Parallel edges with one name are one edge, from the birth of
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
    spans: dict[tuple[Any, Any, str], list[tuple[Any, int]]] = {}
    for number, row in enumerate(rows):
        own = row if isinstance(row, Mapping) else vars(row)
        source = own.get("source_node_uuid", own.get("source"))
        target = own.get("target_node_uuid", own.get("target"))
        born, died = own.get(begins), own.get(ends)
        if _missing(source) or _missing(target):
            raise InputError(f"edge {number} has no source_node_uuid and target_node_uuid", where="edges")
        if _missing(born):
            raise InputError(
                f"edge {number} has no {begins}", where="edges",
                fix='Choose the other axis, "system" or "valid", or leave it out.',
            )  # fmt: skip
        kind = own.get("name", own.get("type"))
        key = source, target, "" if _missing(kind) else str(kind)
        if not directed and (target, source, key[2]) in spans:
            key = target, source, key[2]
        spans.setdefault(key, []).append((born, 1))
        if not _missing(died):
            spans[key].append((died, -1))
    events = []
    for (source, target, kind), marks in spans.items():
        when = as_times([time for time, _ in marks], "edges")
        alive = 0
        # At the same moment, births come first: an edge replaced by its like never died.
        for place in sorted(range(len(marks)), key=lambda at: (when[at], -marks[at][1])):
            step = marks[place][1]
            if (step > 0 and alive == 0) or (step < 0 and alive == 1):
                action = "birth" if step > 0 else "death"
                events.append({"action": action, "time": marks[place][0], "source": source, "target": target,
                               "type": kind})  # fmt: skip
            alive += step
            if alive < 0:
                raise InputError(f"edge {source!r} → {target!r} ends before it begins", where="edges")
    return ledger_of(events, directed=directed, every=every, start=start, ids=ids, where="edges")


# ---- snapshots


def from_snapshots(
    snapshots: Iterable[Any], *, directed: bool | None = None, ids: Sequence[Hashable] | None = None
) -> Ledger:
    """A ledger of the differences between snapshots: networkx graphs, PyG `Data`, or (E, 2) edges.

    The first is the graph before the first cycle. Nodes of networkx graphs are born and die too; a node attribute
    `type` and an edge attribute `type`, or a multigraph's keys, become types and relations.

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
    oriented = directed
    for number, snapshot in enumerate(snapshots):
        nodes, edges, own = _parts(snapshot)
        oriented = own if oriented is None else oriented
        if not oriented:
            edges = {_unordered(edge): kind for edge, kind in edges.items()}
        events += _difference(previous, (nodes, edges), number - 1)
        previous = nodes, edges
    return ledger_of(events, directed=bool(oriented), ids=ids, where="snapshots")


def _difference(before: tuple[Any, Any], after: tuple[Any, Any], cycle: int) -> Iterator[dict[str, Any]]:
    for source, target, kind in [edge for edge in before[1] if edge not in after[1]]:
        yield {"cycle": cycle, "action": "death", "source": source, "target": target, "type": kind}
    for node in [node for node in before[0] if node not in after[0]]:
        yield {"cycle": cycle, "action": "death", "node": node}
    for node, kind in after[0].items():
        if node not in before[0]:
            yield {"cycle": cycle, "action": "birth", "node": node, "type": kind}
    for source, target, kind in [edge for edge in after[1] if edge not in before[1]]:
        yield {"cycle": cycle, "action": "birth", "source": source, "target": target, "type": kind}


def _parts(snapshot: Any) -> tuple[dict[Any, Any], dict[tuple[Any, Any, str], None], bool]:
    """Nodes with their types, typed edges, and whether they are directed."""
    if hasattr(snapshot, "is_directed") and hasattr(snapshot, "edges") and hasattr(snapshot, "nodes"):
        nodes = {node: str(given.get("type", "")) for node, given in snapshot.nodes(data=True)}
        if snapshot.is_multigraph():
            listed = [(u, v, str(given.get("type", key))) for u, v, key, given in snapshot.edges(keys=True, data=True)]
        else:
            listed = [(u, v, str(given.get("type", ""))) for u, v, given in snapshot.edges(data=True)]
        return nodes, dict.fromkeys(listed), snapshot.is_directed()
    index = getattr(snapshot, "edge_index", None)
    if index is not None:
        pairs = np.asarray(index.detach().cpu() if is_tensor(index) else index).T
        kinds = getattr(snapshot, "edge_type", None)
        named = [""] * len(pairs) if kinds is None else [str(kind) for kind in np.asarray(kinds).tolist()]
        count = int(snapshot.num_nodes)
        edges = [(u, v, kind) for (u, v), kind in zip(pairs.tolist(), named, strict=True)]
        undirected = getattr(snapshot, "is_undirected", None)
        return dict.fromkeys(range(count), ""), dict.fromkeys(edges), not (undirected is not None and undirected())
    given = as_edges(snapshot, "snapshot", relations=True)
    listed = [(u, v, str(*more)) for u, v, *more in given.tolist()]
    return {}, dict.fromkeys(listed), False


def _unordered(edge: tuple[Any, Any, str]) -> tuple[Any, Any, str]:
    first, second, kind = edge
    try:
        swap = second < first
    except TypeError:  # ids of different kinds
        swap = (type(second).__name__, repr(second)) < (type(first).__name__, repr(first))
    return (second, first, kind) if swap else edge


# ---- GraphRAG


def from_graphrag(folders: Iterable[str | os.PathLike[str]], *, directed: bool = False) -> Ledger:
    """A ledger of the differences between indexes of GraphRAG, one output folder each, in order.

    Reads `entities.parquet` (`title`, `type`) and `relationships.parquet` (`source`, `target`), or the
    `create_final_…` files of earlier versions. Nodes are titles, because relationships refer to them. The first folder
    is the graph before the first cycle.

    Parameters
    ----------
    folders
        Output folders, in the order in which they were made.
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
    previous: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for number, folder in enumerate(map(Path, folders)):
        entities, relationships = _graphrag_file(folder, "entities"), _graphrag_file(folder, "relationships")
        named = open_parquet(entities).schema_arrow.names
        title = "title" if "title" in named else "name"
        known = read_parquet(entities, [title, *(["type"] if "type" in named else [])])
        kinds = known["type"].to_pylist() if "type" in named else [""] * known.num_rows
        nodes = dict(zip(known[title].to_pylist(), ("" if kind is None else kind for kind in kinds), strict=True))
        table = read_parquet(relationships, ["source", "target"])
        pairs = zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)
        edges = dict.fromkeys((u, v, "") if directed else _unordered((u, v, "")) for u, v in pairs)
        events += _difference(previous, (nodes, edges), number - 1)
        previous = nodes, edges
    return ledger_of(events, directed=directed, where="folders")


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
    if file.metadata.num_rows == 0:
        raise InputError("has no events", where=str(path))

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
    places = np.asarray(coded.indices.fill_null(0)).astype(np.int64)
    return np.array(known or [BIRTH], np.int64)[places]


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
    if not isinstance(edges, str | os.PathLike):
        return cast(Iterable[Any], edges)
    path = Path(edges)
    require_file(path)
    if path.suffix == ".jsonl":
        return _lines(path)
    return cast(Iterable[Any], read_parquet(path).to_pylist())


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


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
        return when.astype(f"datetime64[{_UNITS[every]}]")
    if isinstance(every, bool) or not np.isfinite(every) or every <= 0:
        raise OptionError(f"every must be a positive number or a unit of time, not {every!r}")
    if dated:
        raise OptionError("every must be a unit of time, because events have dates", fix=f"One of {', '.join(EVERY)}.")
    return cast(AnyArray, np.floor(when / every) * every)
