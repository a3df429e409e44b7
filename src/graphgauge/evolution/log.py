"""Stored runs: a folder with one file per cycle, written as the system grows and read one cycle at a time."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_cuda, require_shape
from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.files import readable
from graphgauge.core.options import whole_number
from graphgauge.evolution.births import checked_tgc
from graphgauge.evolution.inputs import COORDINATES, as_edges, is_indexed, rows_by_index
from graphgauge.evolution.ledger import Change, Codes, Ledger
from graphgauge.evolution.ledger_readers import read_ledger
from graphgauge.io.npz import open_npz, read_npz, write_npz
from graphgauge.io.parquet import read_parquet, sound

# A letter first, because the name is a folder: it must stay inside the log and not be hidden.
_CONDITION = re.compile(r"\w[\w .+-]{0,63}")
_SEED = re.compile(r"seed-(\d+)")
_CYCLE = re.compile(r"cycle-(\d+)\.npz")
LAYOUT = (
    "A run is a folder with cycle-00000.npz, cycle-00001.npz …, with births.parquet and embeddings.npz, or with "
    "events.jsonl or events.parquet and embeddings.npz or embeddings.npy."
)
_START, _BIRTHS, _EMBEDDINGS, _FIXED = "start.npz", "births.parquet", "embeddings.npz", "embeddings.npy"
_EVENTS = ("events.jsonl", "events.parquet")
_LABELS = "labels.npy"


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: its births, and the system before and after it.

    `previous_embeddings` and `previous_edges` are None if unknown. A cycle of a ledger has its edges in `change`.
    """

    condition: str
    seed: int
    cycle: int
    embeddings: AnyArray
    new_edges: AnyArray | None
    all_edges: AnyArray | None
    previous_embeddings: AnyArray | None = None
    previous_edges: AnyArray | None = None
    tgc: float | None = None
    pools: AnyArray | None = None
    removed_edges: AnyArray | None = None
    inserted_embeddings: AnyArray | None = None
    change: Change | None = None


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
    """`Cycle` objects, or mappings with the same names, where condition, seed and cycle are optional."""
    if isinstance(items, Mapping) or not isinstance(items, Iterable):
        raise InputError(f"found {type(items).__name__}", where="log", fix="Pass a folder, or a list of cycles.")
    for number, item in enumerate(items):
        cycle = item if isinstance(item, Cycle) else _cycle(number, item)
        if not isinstance(cycle.condition, str):
            raise InputError(f"the condition of item {number} is {cycle.condition!r:.80}, not a name", where="log")
        yield cycle


def _cycle(number: int, item: Any) -> Cycle:
    if not isinstance(item, Mapping):
        raise InputError(f"item {number} is {type(item).__name__}, not a cycle", where="log")
    for name in item:
        one_of("part of a cycle", str(name), sorted(field.name for field in fields(Cycle)))
    for name in ("embeddings", *(() if "change" in item else ("new_edges", "all_edges"))):
        if name not in item:
            raise InputError(f"cycle {number} has no {name}", where="log")
    own = getattr(item.get("change"), "cycle", number)
    return Cycle(**{"condition": "run", "seed": 0, "cycle": own, "new_edges": None, "all_edges": None, **item})


class EvolutionLog:
    """A folder of runs, each in `{condition}/seed-{seed}/`; a folder that contains cycles is one run."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise InputError(f"expected a folder, found {type(folder).__name__}", where="log", fix=LAYOUT)
        self.folder = Path(folder)
        # The last ledger that was read, because its file may be large.
        self._read: tuple[Any, Ledger] | None = None
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", where=str(folder), fix=LAYOUT)

    def __reduce__(self) -> Any:
        return EvolutionLog, (self.folder.absolute(),)  # another process reads it where it is

    # ---- reading

    @property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """Condition and seed of every stored run, sorted by name."""
        return tuple(self._places())

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(condition for condition, _ in self.runs))

    def next_cycle(self, condition: str, seed: int) -> int:
        """The first cycle that is not stored yet, from which a run starts or resumes.

        Parameters
        ----------
        condition, seed
            The run.

        Returns
        -------
        int
            The number of the cycle; 0 for a new run.
        """
        stored = self._stored(self._place(condition, seed))
        return max(stored, default=-1) + 1

    def labels(self) -> AnyArray | None:
        """The labels that were stored with the runs: labels.npy in the folder of the log, or above a single run.

        Returns
        -------
        AnyArray | None
            One label per node, or None if none were stored.
        """
        for place in (self.folder, *self.folder.resolve().parents[:2]):
            if (place / _LABELS).exists():
                from graphgauge.io.arrays import read_labels

                return read_labels(place / _LABELS)
        return None

    def ledger(self, condition: str, seed: int, *, directed: bool = False) -> Ledger | None:
        """The ledger of a run that is stored as events; None for others.

        Parameters
        ----------
        condition, seed
            The run.
        directed
            Whether edges have a direction.

        Returns
        -------
        Ledger | None
            The ledger, or None.
        """
        events = _events(self._known_place(condition, seed))
        if events is None:
            return None
        key = events, directed, events.stat().st_mtime_ns
        if self._read is None or self._read[0] != key:
            self._read = key, read_ledger(events, directed=directed)
        return self._read[1]

    def cycles(
        self, condition: str, seed: int, *, directed: bool = False, undeclared: str = "refuse"
    ) -> Iterator[Cycle]:
        """The cycles of a run in order, loaded one at a time; a run of events says itself whether it has directions.

        Parameters
        ----------
        condition, seed
            The run.
        directed
            Whether edges have a direction.
        undeclared
            `refuse` or `report` events that the graphs contradict, as in `Ledger.changes`.

        Returns
        -------
        Iterator[Cycle]
            The cycles.

        Raises
        ------
        InputError
            If there is no such run, or a file is damaged.
        """
        place = self._known_place(condition, seed)
        ledger = self.ledger(condition, seed, directed=directed)
        if ledger is not None:
            return from_ledger(ledger, _embeddings(place), condition, seed, undeclared=undeclared)
        if (place / _BIRTHS).exists():
            return _from_births(place, condition, seed)
        return self._from_files(place, condition, seed)

    def start(self, condition: str, seed: int) -> tuple[Ints, AnyArray] | None:
        """Edges and embeddings before the first cycle, as `begin` stored them.

        Parameters
        ----------
        condition, seed
            The run.

        Returns
        -------
        tuple[Ints, AnyArray] | None
            Edges (E, 2) and embeddings (N, D), or None if `begin` was not called.
        """
        return _start(self._place(condition, seed))

    def latest(self, condition: str, seed: int) -> Cycle | None:
        """The last stored cycle, or None before the first.

        Parameters
        ----------
        condition, seed
            The run.

        Returns
        -------
        Cycle | None
            The cycle, or None.
        """
        if (condition, seed) not in self._places():
            return None
        last = deque(self.cycles(condition, seed), maxlen=1)
        return last[0] if last else None

    def files(self, condition: str, seed: int) -> list[Path]:
        """The files of a run.

        Parameters
        ----------
        condition, seed
            The run.

        Returns
        -------
        list[Path]
            The paths.
        """
        place = self._known_place(condition, seed)
        events = _events(place)
        if events is not None:
            return [events, *(path for path in (place / _EMBEDDINGS, place / _FIXED) if path.exists())]
        if (place / _BIRTHS).exists():
            return [place / _BIRTHS, place / _EMBEDDINGS]
        start = [place / _START] if (place / _START).exists() else []
        return [*start, *self._stored(place).values()]

    # ---- writing

    def begin(self, condition: str, seed: int, *, edges: Any, embeddings: Any) -> None:
        """Store the state before the first cycle; if the run exists already, nothing is changed.

        Parameters
        ----------
        condition, seed
            Which run it is.
        edges, embeddings
            The graph (E, 2), and one row per node.

        Returns
        -------
        None
            The state is stored when the method returns.

        Raises
        ------
        UnwritableError
            If the folder cannot be written.

        Examples
        --------
        >>> from graphgauge import evolution
        >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
        >>> log = evolution.EvolutionLog("runs")
        >>> log.begin("Normal", 0, edges=[(1, 2)], embeddings=points)
        >>> log.next_cycle("Normal", 0)
        0
        """
        place = self._place(condition, seed)
        if not (place / _START).exists():
            write_npz(
                place / _START, {"edges": as_edges(edges, "edges", relations=True), "embeddings": _rows(embeddings)}
            )

    def append_cycle(
        self,
        condition: str,
        seed: int,
        cycle: int,
        *,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any = None,
        removed_edges: Any = None,
        tgc: float | None = None,
        pools: Any = None,
        inserted_embeddings: Any = None,
    ) -> None:
        """Store the next cycle of a run atomically.

        `all_edges` may be left out if `begin` stored the first edges: it is then computed from the edges before, the
        births and `removed_edges`.

        Parameters
        ----------
        condition, seed, cycle
            Which run and cycle it is.
        embeddings
            One row per node after the cycle.
        new_edges, all_edges, removed_edges
            The births (n, 2), all edges after the cycle, and those that were removed; all edges may be left out.
        tgc
            The capacity after the cycle, if the system knows it.
        pools
            The pool of each node, for `auc_matched`.
        inserted_embeddings
            Embeddings of new nodes when they were inserted.

        Returns
        -------
        None
            The cycle is stored when the method returns.

        Raises
        ------
        InputError
            If it is not the next cycle, or an edge names a node without embedding.

        Examples
        --------
        >>> from graphgauge import evolution
        >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
        >>> log = evolution.EvolutionLog("runs")
        >>> log.begin("Normal", 0, edges=[(1, 2)], embeddings=points)
        >>> log.append_cycle("Normal", 0, 0, embeddings=points, new_edges=[(0, 1)])
        >>> [cycle.new_edges.tolist() for cycle in log.cycles("Normal", 0)]
        [[[0, 1]]]
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
        arrays = {"embeddings": _rows(embeddings), "new_edges": as_edges(new_edges, "new_edges", relations=True)}
        for name, edges in (("all_edges", all_edges), ("removed_edges", removed_edges)):
            if edges is not None:
                arrays[name] = as_edges(edges, name, relations=True)
        if tgc is not None:
            arrays["tgc"] = np.array(checked_tgc(tgc))
        if inserted_embeddings is not None:
            arrays["inserted_embeddings"] = _rows(inserted_embeddings)
        if pools is not None:
            arrays["pools"] = as_numeric(pools, "pools")
        write_npz(place / f"cycle-{cycle:05d}.npz", arrays)

    # ---- locations

    def _places(self) -> dict[tuple[str, int], Path]:
        if not self.folder.is_dir():
            return {}
        if _holds_run(self.folder):
            return {_named(self.folder.resolve()): self.folder}
        found = {}
        for condition in sorted(path for path in self.folder.iterdir() if path.is_dir()):
            for place in sorted(path for path in condition.iterdir() if path.is_dir()):
                named = _SEED.fullmatch(place.name)
                if named and _CONDITION.fullmatch(condition.name) and _holds_run(place):
                    found[condition.name, int(named[1])] = place
        return dict(sorted(found.items()))

    def _place(self, condition: str, seed: int) -> Path:
        """The folder of a run, which may not exist yet."""
        number = whole_number("seed", seed, 0)
        if isinstance(condition, str) and (condition, number) in (known := self._places()):
            return known[condition, number]
        if not isinstance(condition, str) or not _CONDITION.fullmatch(condition):
            raise InputError(
                f"{condition!r:.80} is not a valid condition name", fix="Use letters, digits, spaces and _ . + -."
            )
        return self.folder / condition / f"seed-{number}"

    def _known_place(self, condition: str, seed: int) -> Path:
        places = self._places()
        if (condition, seed) not in places:
            if not places:
                raise InputError("contains no run", where=str(self.folder), fix=LAYOUT)
            raise UnknownNameError("run", f"{condition}, seed {seed}", [f"{name}, seed {own}" for name, own in places])
        return places[condition, seed]

    def _stored(self, place: Path) -> dict[int, Path]:
        for name in (_BIRTHS, *_EVENTS):
            if (place / name).exists():
                raise InputError(f"a run stored as {name} cannot be continued", where=str(place))
        named = ((_CYCLE.fullmatch(path.name), path) for path in place.glob("cycle-*.npz"))
        return dict(sorted((int(match[1]), path) for match, path in named if match))

    def _from_files(self, place: Path, condition: str, seed: int) -> Iterator[Cycle]:
        edges: Ints | None
        embeddings: AnyArray | None
        edges, embeddings = _start(place) or (None, None)
        last: int | None = None
        for cycle, path in self._stored(place).items():
            stored = read_npz(path, ("embeddings", "new_edges"))
            births = as_edges(stored["new_edges"], "new_edges", relations=True)
            removed = as_edges(stored.get("removed_edges"), "removed_edges", relations=True)
            if "all_edges" in stored:
                after = as_edges(stored["all_edges"], "all_edges", relations=True)
            elif edges is None:
                raise InputError(
                    "has no all_edges",
                    where=str(path),
                    fix="Store it in each cycle, or the first edges in start.npz.",
                )
            elif last is not None and cycle > last + 1:
                raise InputError(
                    f"cycle {last + 1} is missing",
                    where=str(path),
                    fix="Store every cycle, or all_edges in this one; edges are the edges before plus the births.",
                )
            else:
                after = _rewired(edges, births, removed)
            tgc = None if "tgc" not in stored else _number(stored["tgc"], path)
            yield Cycle(
                condition,
                seed,
                cycle,
                stored["embeddings"],
                births,
                after,
                embeddings,
                edges,
                tgc,
                stored.get("pools"),
                removed,
                stored.get("inserted_embeddings"),
            )
            embeddings, edges, last = stored["embeddings"], after, cycle


def _rows(embeddings: Any) -> AnyArray:
    rows = as_numeric(rows_by_index(embeddings, "embeddings"), "embeddings")
    require_shape(rows, (None, None), "embeddings", COORDINATES)
    return rows


def _start(place: Path) -> tuple[Ints, AnyArray] | None:
    if not (place / _START).exists():
        return None
    stored = read_npz(_present(place / _START), ("edges", "embeddings"))
    return as_edges(stored["edges"], "edges", relations=True), stored["embeddings"]


def _holds_run(place: Path) -> bool:
    stored = any((place / name).exists() for name in (_BIRTHS, _START, *_EVENTS))
    return stored or any(place.glob("cycle-*.npz"))


def _events(place: Path) -> Path | None:
    return next((place / name for name in _EVENTS if (place / name).exists()), None)


def _embeddings(place: Path) -> Callable[[int], AnyArray | None]:
    """The embeddings after each cycle of a run of events: one array for all, or one array per cycle."""
    if (place / _FIXED).exists():
        with readable(place / _FIXED):
            fixed = np.load(place / _FIXED, mmap_mode="r", allow_pickle=False)
        return lambda cycle: fixed
    path = _present(place / _EMBEDDINGS)

    def stored(cycle: int) -> AnyArray | None:
        with open_npz(path) as arrays:
            name = "start" if cycle < 0 else str(cycle)
            if name in arrays.files:
                return np.asarray(arrays[name])
        if cycle < 0:
            return None
        raise InputError(
            f"cycle {cycle} has no embeddings",
            where=str(path),
            fix="Store one array per cycle, named by its number, and `start` for the state before.",
        )

    return stored


def from_ledger(
    ledger: Ledger, embeddings: Any, condition: str = "run", seed: int = 0, *, undeclared: str = "refuse"
) -> Iterator[Cycle]:
    """The cycles of a ledger, with the embeddings after each of them.

    `embeddings` is one array for all cycles, a mapping from cycle to array, or a function of the cycle; −1 (or "start")
    is the state before the first one. An array has a row for every id of the ledger, and a mapping from id to vector
    may take its place.
    """
    last = unchanging(_of_cycle(embeddings, -1, ledger, missing=None))
    for change in ledger.changes(undeclared=undeclared):
        current = _of_cycle(embeddings, change.cycle, ledger)
        yield Cycle(condition, seed, change.cycle, current, None, None, last, change=change)
        last = unchanging(current) if callable(embeddings) else current


def unchanging(embeddings: Any) -> Any:
    """A copy, because systems often update their embeddings in place; not of what cannot be written to."""
    if embeddings is None or (isinstance(embeddings, np.ndarray) and not embeddings.flags.writeable):
        return embeddings
    return copied(embeddings)


def copied(embeddings: Any) -> Any:
    """A copy on the host, or on the CUDA device of the embeddings, where all pairs of nodes are compared."""
    if is_cuda(embeddings):
        return embeddings.detach().clone()
    return np.array(as_numeric(rows_by_index(embeddings, "embeddings"), "embeddings"))


def _of_cycle(embeddings: Any, cycle: int, ledger: Ledger, missing: Any = ...) -> Any:
    if callable(embeddings):
        found = embeddings(cycle)
    elif isinstance(embeddings, Mapping) and (keys := _numbers(embeddings)):
        name = next((own for own in ((cycle, str(cycle)) if cycle >= 0 else (-1, "start")) if own in keys), None)
        if name is None and missing is ...:
            raise InputError(f"cycle {cycle} has no embeddings", where="embeddings")
        found = None if name is None else embeddings[name]
    else:
        found = embeddings
    if is_indexed(found):
        found = dict(zip(found.index, found.to_numpy(), strict=True))
    if isinstance(found, Mapping):
        return _by_id(found, ledger)
    if found is not None and not ledger.ordered:
        raise InputError(
            "the nodes of the ledger are numbers with many gaps, so they are no rows of an array",
            where="embeddings",
            fix="Pass a mapping from id to vector, or the order of the rows as ids= of the reader.",
        )
    # Numbers are rows: further rows are of nodes that no event names.
    if found is not None and isinstance(ledger.ids, range) and np.ndim(found) == 2 and len(found) > ledger.nodes:
        found = found[: ledger.nodes]
    return found


def _by_id(vectors: Mapping[Any, Any], ledger: Ledger) -> AnyArray:
    """Rows of the vectors of a ledger's nodes, NaN for nodes without one; others are no nodes of this ledger."""
    known = {row: own for node, own in vectors.items() if (row := ledger.row(node)) is not None}
    if not known:
        raise InputError(
            f"none of the {len(vectors)} vectors is of a node of the ledger",
            where="embeddings",
            fix="Pass a mapping from the ids of the ledger to vectors.",
        )
    found = [as_numeric(own, "embeddings").astype(float) for own in known.values()]
    shapes = {own.shape for own in found}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise InputError(
            f"found vectors of shapes {', '.join(map(str, sorted(shapes)))}",
            where="embeddings",
            fix="Pass one vector per node, all of the same length.",
        )
    rows = np.full((ledger.nodes, len(found[0])), np.nan)
    rows[list(known)] = found
    return rows


def _numbers(embeddings: Mapping[Any, Any]) -> set[Any]:
    """Keys that are cycles: their values are arrays of all nodes, not single vectors."""
    return {key for key, own in embeddings.items() if isinstance(own, Mapping) or np.ndim(own) == 2}


def _number(given: AnyArray, path: Path) -> float:
    values = as_numeric(given, f"{path}: tgc")
    if values.size != 1:
        raise InputError(f"tgc contains {values.size} numbers", where=str(path), fix="Store one per cycle.")
    return float(values.item())


def _rewired(before: Ints, births: Ints, removed: Ints) -> Ints:
    width = max(part.shape[1] for part in (before, births, removed))
    before, births, removed = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (before, births, removed))
    if len(removed):
        codes = Codes(max(int(part[:, :2].max(initial=0)) for part in (before, births, removed)) + 1)
        gone = codes.of(removed)
        before = before[~np.isin(codes.of(before), gone)]
    return np.concatenate([before, births])


def _named(place: Path) -> tuple[str, int]:
    """Condition and seed of a folder that is itself a run."""
    seed = _SEED.fullmatch(place.name)
    return (place.name, 0) if seed is None else (place.parent.name, int(seed[1]))


def _from_births(place: Path, condition: str, seed: int) -> Iterator[Cycle]:
    """The columns cycle, source and target; edges with a cycle below 0 are those of the start."""
    table = read_births(place / _BIRTHS)
    born, pairs = table["cycle"], as_edges(np.stack([table["source"], table["target"]], axis=1), _BIRTHS)
    with open_npz(_present(place / _EMBEDDINGS)) as stored:
        members = {int(name): name for name in stored.files if name.isdecimal()}
        late = np.setdiff1d(born[born >= 0], list(members))
        if len(late):
            raise InputError(
                f"cycle {late[0]} has births but no embeddings",
                where=str(place / _EMBEDDINGS),
                fix="Store one array per cycle, named by its number, and `start` for the state before.",
            )
        embeddings = stored["start"] if "start" in stored.files else None
        edges = pairs[born < 0]
        for cycle in sorted(members):
            births = pairs[born == cycle]
            after = np.concatenate([edges, births])
            current = stored[members[cycle]]
            yield Cycle(condition, seed, cycle, current, births, after, embeddings, edges)
            embeddings, edges = current, after


def _present(path: Path) -> Path:
    if not path.exists():
        raise InputError("no such file", where=str(path), fix=LAYOUT)
    return path


def read_births(path: Path) -> dict[str, AnyArray]:
    wanted = ("cycle", "source", "target")
    table = read_parquet(path, wanted)
    with sound(path, "Write the columns cycle, source and target."):
        columns = {name: as_numeric(table[name].to_numpy(), f"{path}: {name}") for name in wanted}
    for name, column in columns.items():
        if column.dtype.kind not in "iu":
            raise InputError(f"column {name!r} has type {column.dtype}, not whole numbers", where=str(path))
    return columns
