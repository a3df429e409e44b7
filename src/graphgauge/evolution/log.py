"""Cycles from where they are: stored runs, tables of events, and graphs at consecutive times.

A stored run is a folder with a file per cycle, written as the system grows and read one cycle at a time:
`{condition}/seed-{seed}/` with `start.npz` (edges, embeddings) and `cycle-00000.npz`, `cycle-00001.npz` … (embeddings,
new_edges, and all_edges unless edges are only added); a folder that contains cycles is one run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, is_frame, on_host, require_shape
from graphgauge.core.disk import atomic_path
from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.evolution.cycle import Cycle, checked_tgc
from graphgauge.evolution.edges import as_edges, codes_of, edges_of, joined, whole_numbers, without
from graphgauge.evolution.nodes import COORDINATES, by_node
from graphgauge.io.arrays import open_array, read_archive

Run = tuple[str, int]
# A letter first, because the name is a folder: it must stay inside the log and not be hidden.
_CONDITION = re.compile(r"\w[\w .+-]{0,63}")
_SEED = re.compile(r"seed-(\d+)")
_CYCLE = re.compile(r"cycle-(\d+)\.npz")
LAYOUT = "A run is a folder with start.npz and cycle-00000.npz, cycle-00001.npz …"
_START = "start.npz"
_PARTS = [each.name for each in fields(Cycle)]


@contextmanager
def named_run(condition: str, seed: int, cycle: Any) -> Iterator[None]:
    """Errors within name the run and the cycle."""
    try:
        yield
    except InputError as error:
        place = f"{condition}, seed {seed}, cycle {cycle}"
        where = place if error.where is None else f"{place}: {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def as_cycles(items: Iterable[Any]) -> Iterator[Cycle]:
    """Cycles, or mappings with their parts; condition, seed, cycle and new_edges may be left out."""
    if isinstance(items, Mapping) or not isinstance(items, Iterable):
        raise InputError(f"found {type(items).__name__}", where="log", fix="Pass a folder, or a list of cycles.")
    for number, item in enumerate(items):
        if isinstance(item, Cycle):
            yield item
            continue
        if not isinstance(item, Mapping) or not {"embeddings", "all_edges"} <= set(item):
            fix = "Pass Cycle objects, or mappings with embeddings and all_edges."
            raise InputError(f"item {number} is no cycle", where="log", fix=fix)
        for name in item:
            one_of("part of a cycle", str(name), sorted(_PARTS))
        yield Cycle(**{"cycle": number, "new_edges": None, **item})


class Log:
    """A folder of runs.

    Parameters
    ----------
    folder
        Where they are, or will be.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> log = evolution.Log("runs")
    >>> log.begin("Normal", 0, edges=[(1, 2)], embeddings=points)
    >>> log.append("Normal", 0, 0, embeddings=points, new_edges=[(0, 1)])
    >>> log.next_cycle("Normal", 0), [cycle.new_edges.tolist() for cycle in log.cycles("Normal", 0)]
    (1, [[[0, 1]]])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", where=str(folder), fix=LAYOUT)

    # ---- reading

    @property
    def runs(self) -> tuple[Run, ...]:
        """Condition and seed of every stored run, sorted by name."""
        return tuple(self._places())

    def next_cycle(self, condition: str, seed: int) -> int:
        """The first cycle of the run `condition`, `seed` that is not stored yet: from there it starts or resumes."""
        return max(_stored(self._place(condition, seed)), default=-1) + 1

    def labels(self) -> AnyArray | None:
        """The labels that are stored with the runs: labels.npy in the folder of the log, or above a single run."""
        for place in (self.folder, *self.folder.resolve().parents[:2]):
            if (place / "labels.npy").exists():
                return open_array(place / "labels.npy")
        return None

    def cycles(self, condition: str, seed: int) -> Iterator[Cycle]:
        """The cycles of the run `condition`, `seed` in order, loaded one at a time."""
        places = self._places()
        if (condition, seed) not in places:
            raise UnknownNameError("run", f"{condition}, seed {seed}", [f"{name}, seed {own}" for name, own in places])
        place, edges, embeddings, last = places[condition, seed], None, None, -1
        if (place / _START).exists():
            start = _archive(place / _START, "edges", "embeddings")
            edges, embeddings = start["edges"], start["embeddings"]
        for number, path in _stored(place).items():
            parts = _archive(path, "embeddings")
            if "all_edges" not in parts:
                parts["all_edges"] = _grown(parts, edges, path, number > last + 1)
            given: dict[str, Any] = {"previous_embeddings": embeddings, "previous_edges": edges, "new_edges": None}
            given |= {name: value for name, value in parts.items() if name in _PARTS}
            yield Cycle(**given | {"condition": condition, "seed": seed, "cycle": number})
            embeddings, edges, last = parts["embeddings"], parts["all_edges"], number

    # ---- writing

    def begin(self, condition: str, seed: int, *, edges: Any, embeddings: Any) -> None:
        """Store the state before the first cycle of the run `condition`, `seed`: its `edges` and `embeddings`.

        If the run exists already, nothing is changed.
        """
        place = self._place(condition, seed)
        if not (place / _START).exists():
            _write(place / _START, edges=as_edges(edges, "edges"), embeddings=_rows(embeddings))

    def append(
        self,
        condition: str,
        seed: int,
        cycle: int,
        *,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any = None,
        tgc: float | None = None,
        pools: Any = None,
        inserted_embeddings: Any = None,
    ) -> None:
        """Store the next cycle of a run, completely or not at all.

        Parameters
        ----------
        condition, seed, cycle
            Which run and cycle it is.
        embeddings
            One row per node after the cycle.
        new_edges, all_edges
            The births (n, 2), and all edges after the cycle; without these, `begin` stored the first edges and none was
            removed: they are then the edges before and the births.
        tgc, pools, inserted_embeddings
            As in `AdaptiveEvaluator.evaluate_cycle`.

        Raises
        ------
        InputError
            If it is not the next cycle, or the edges before the first one are unknown.
        """
        place, expected = self._place(condition, seed), self.next_cycle(condition, seed)
        if whole_number("cycle", cycle) != expected:
            raise InputError(
                f"cycle {cycle} of {condition!r}, seed {seed}, is not the next one",
                where=str(self.folder),
                fix=f"Continue with cycle {expected} (next_cycle), or write to an empty folder.",
            )
        if all_edges is None and not (place / _START).exists():
            raise InputError(
                f"the edges before the first cycle of {condition!r}, seed {seed}, are unknown",
                where=str(self.folder),
                fix="Call begin(…, edges=, embeddings=) first, or pass all_edges.",
            )
        _write(
            place / f"cycle-{cycle:05d}.npz",
            embeddings=_rows(embeddings),
            new_edges=as_edges(new_edges, "new_edges"),
            all_edges=None if all_edges is None else as_edges(all_edges, "all_edges"),
            tgc=checked_tgc(tgc),
            pools=None if pools is None else as_numeric(pools, "pools"),
            inserted_embeddings=None if inserted_embeddings is None else _rows(inserted_embeddings),
        )

    # ---- places

    def _places(self) -> dict[Run, Path]:
        """The folder of every stored run."""
        if not self.folder.is_dir():
            return {}
        if _holds_run(self.folder):
            whole = self.folder.resolve()
            seed = _SEED.fullmatch(whole.name)
            return {(whole.name, 0) if seed is None else (whole.parent.name, int(seed[1])): self.folder}
        places = {}
        for place in sorted(self.folder.glob("*/seed-*")):
            named = _SEED.fullmatch(place.name)
            if named and place.is_dir() and _CONDITION.fullmatch(place.parent.name) and _holds_run(place):
                places[place.parent.name, int(named[1])] = place
        return dict(sorted(places.items()))

    def _place(self, condition: str, seed: int) -> Path:
        """The folder of a run, which may not exist yet."""
        number = whole_number("seed", seed)
        if not isinstance(condition, str) or not _CONDITION.fullmatch(condition):
            what = f"{condition!r:.80} is not a valid condition name"
            raise InputError(what, fix="Use letters, digits, spaces and _ . + -.")
        return self._places().get((condition, number), self.folder / condition / f"seed-{number}")


def _grown(stored: Mapping[str, AnyArray], edges: AnyArray | None, path: Path, gap: bool) -> AnyArray:
    """The graph after a cycle that stores only its births."""
    if edges is None or "new_edges" not in stored:
        what, fix = "has no all_edges", "Store it in each cycle, or the first edges in start.npz and births in each."
        raise InputError(what, where=str(path), fix=fix)
    if gap:
        fix = "Store every cycle, or all_edges in this one; edges are the edges before plus the births."
        raise InputError("the cycle before it is missing", where=str(path), fix=fix)
    return np.concatenate([as_edges(edges, "edges"), as_edges(stored["new_edges"], "new_edges")])


def _archive(path: Path, *wanted: str) -> dict[str, AnyArray]:
    arrays = read_archive(path)
    for name in wanted:
        if name not in arrays:
            fix = f"It contains {', '.join(arrays) or 'none'}."
            raise InputError(f"has no array {name!r}", where=str(path), fix=fix)
    return arrays


def _write(path: Path, **arrays: Any) -> None:
    """The arrays that are not None, as an archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        given = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        np.savez(stream, allow_pickle=False, **given)


def _rows(embeddings: Any) -> AnyArray:
    rows = as_numeric(embeddings, "embeddings")
    require_shape(rows, (None, None), "embeddings", COORDINATES)
    return rows


def _holds_run(place: Path) -> bool:
    return (place / _START).exists() or any(place.glob("cycle-*.npz"))


def _stored(place: Path) -> dict[int, Path]:
    """The files of a run by cycle, in order."""
    named = ((_CYCLE.fullmatch(path.name), path) for path in place.glob("cycle-*.npz"))
    return dict(sorted((int(match[1]), path) for match, path in named if match))


# ---- tables of events, and graphs at consecutive times


_RELABEL = "Give nodes numbers or names: networkx.relabel_nodes(graph, {node: row, …}), the same for every graph."
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
        if self.given is None:
            return points
        # Rows that are kept may come later.
        if len(points) > len(self.order) or (len(points) < len(self.order) and not self.kept):
            what = f"{len(points)} rows for {len(self.order)} ids"
            raise InputError(what, where="embeddings", fix="Give each id its row, and each row its id.")
        return points if self.kept else np.asarray(points[self.order])

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
        `add` or `remove` of each row; without it all are added. Of the rows of an edge in one cycle the last counts. To
        add an edge that stands, or to remove one that does not, changes nothing.
    embeddings
        (N, D), the same in every cycle, or {cycle: (N, D)} after each of them; a cycle without events may have one too.
        Births are scored on the last ones before their cycle.
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
    rows = {when: known.points(by_time[when]) for when in np.sort(whole_numbers([*by_time], "embeddings")).tolist()}
    earlier = dict(zip([*rows][1:], rows.values(), strict=False))
    cycles, graph = [], np.empty(0, np.int64)
    for place, when in enumerate(moments):
        now = times == when
        ends = as_edges(np.stack([first[now], second[now]], axis=1), "source and target", len(rows[when]))
        apart = ends[:, 0] != ends[:, 1]
        codes = codes_of(ends[apart, 0], ends[apart, 1], directed)
        # From the last event to the first: of each edge the last one counts.
        changed, places = np.unique(codes[::-1], return_index=True)
        stays = added[now][apart][::-1][places]
        before, graph = graph, joined(without(graph, changed), changed[stays])
        if place:
            births, edges = edges_of(without(graph, before)), edges_of(graph)
            given = Cycle(rows[when], births, edges, place - 1, earlier[when], previous_edges=edges_of(before))
            cycles.append(replace(given, condition=condition, seed=seed))
    return cycles


def from_snapshots(
    graphs: Sequence[Any], embeddings: Any, *, ids: Any = None, condition: str = "run", seed: int = 0
) -> list[Cycle]:
    """Graphs of networkx at consecutive times, with the embeddings at each, as cycles of one run.

    Parameters
    ----------
    graphs
        At least two, all with direction or all without; births are the edges that are in a graph and not in the one
        before.
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
    if not are_graphs(graphs):
        what = "expected a list of graphs of networkx"
        raise InputError(what, where="graphs", fix="Pass those of other libraries as a table of events.")
    several = not is_frame(embeddings) and len(embeddings) > 0 and np.ndim(embeddings[0]) == 2
    given_rows = list(embeddings) if several else [embeddings] * len(graphs)
    if len(graphs) != len(given_rows) or len(graphs) < 2:
        what = f"{len(graphs)} graphs and {len(given_rows)} embeddings"
        raise InputError(what, where="graphs", fix="Pass two graphs or more, and an array for each.")
    known = Ids(ids, kept=True)
    rows = [known.points(each) for each in given_rows]
    edges = [known.rows(_ends(graph), "graphs").reshape(-1, 2) for graph in graphs]
    given = [
        Cycle(rows[t], None, edges[t], t - 1, rows[t - 1], previous_edges=edges[t - 1]) for t in range(1, len(graphs))
    ]
    return [replace(each, condition=condition, seed=seed) for each in given]


def are_graphs(values: Any) -> bool:
    """Whether these are graphs of networkx, which say whether they are directed."""
    listed = isinstance(values, list | tuple) and len(values) > 0
    return listed and all(hasattr(each, "edges") and hasattr(each, "is_directed") for each in values)


def _ends(graph: Any) -> AnyArray:
    """The two ends of each edge, one after the other."""
    ends = as_array([node for edge in graph.edges() for node in edge], "graphs", ragged=_RELABEL)
    if ends.ndim > 1:
        what = f"the node {tuple(ends[0].tolist())} is neither a number nor a name"
        raise InputError(what, where="graphs", fix=_RELABEL)
    return ends


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
