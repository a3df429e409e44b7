"""Stored runs: a folder with one file per cycle, written as the system grows and read one cycle at a time."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, require_shape
from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.options import whole_number
from graphgauge.old.evolution.births import checked_tgc
from graphgauge.old.evolution.inputs import COORDINATES, as_edges, rows_by_index
from graphgauge.old.io.npz import read_npz, write_npz

# A letter first, because the name is a folder: it must stay inside the log and not be hidden.
_CONDITION = re.compile(r"\w[\w .+-]{0,63}")
_SEED = re.compile(r"seed-(\d+)")
_CYCLE = re.compile(r"cycle-(\d+)\.npz")
LAYOUT = "A run is a folder with start.npz and cycle-00000.npz, cycle-00001.npz …"
_START = "start.npz"
_LABELS = "labels.npy"


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: its births, and the system before and after it.

    `previous_embeddings` and `previous_edges` are None if unknown.
    """

    condition: str
    seed: int
    cycle: int
    embeddings: AnyArray
    new_edges: AnyArray
    all_edges: AnyArray
    previous_embeddings: AnyArray | None = None
    previous_edges: AnyArray | None = None
    tgc: float | None = None
    pools: AnyArray | None = None
    inserted_embeddings: AnyArray | None = None


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
    for name in ("embeddings", "new_edges", "all_edges"):
        if name not in item:
            raise InputError(f"cycle {number} has no {name}", where="log")
    return Cycle(**{"condition": "run", "seed": 0, "cycle": number, **item})


class EvolutionLog:
    """A folder of runs, each in `{condition}/seed-{seed}/`; a folder that contains cycles is one run."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise InputError(f"expected a folder, found {type(folder).__name__}", where="log", fix=LAYOUT)
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", where=str(folder), fix=LAYOUT)

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
                from graphgauge.old.io.arrays import read_labels

                return read_labels(place / _LABELS)
        return None

    def cycles(self, condition: str, seed: int) -> Iterator[Cycle]:
        """The cycles of a run in order, loaded one at a time.

        Parameters
        ----------
        condition, seed
            The run.

        Returns
        -------
        Iterator[Cycle]
            The cycles.

        Raises
        ------
        InputError
            If there is no such run, or a file is damaged.
        """
        return self._from_files(self._known_place(condition, seed), condition, seed)

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
            write_npz(place / _START, {"edges": as_edges(edges, "edges"), "embeddings": _rows(embeddings)})

    def append_cycle(
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
        """Store the next cycle of a run atomically.

        `all_edges` may be left out if `begin` stored the first edges, and none was removed: it is then the edges before
        and the births.

        Parameters
        ----------
        condition, seed, cycle
            Which run and cycle it is.
        embeddings
            One row per node after the cycle.
        new_edges, all_edges
            The births (n, 2), and all edges after the cycle.
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
        arrays = {"embeddings": _rows(embeddings), "new_edges": as_edges(new_edges, "new_edges")}
        if all_edges is not None:
            arrays["all_edges"] = as_edges(all_edges, "all_edges")
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
        named = ((_CYCLE.fullmatch(path.name), path) for path in place.glob("cycle-*.npz"))
        return dict(sorted((int(match[1]), path) for match, path in named if match))

    def _from_files(self, place: Path, condition: str, seed: int) -> Iterator[Cycle]:
        edges: Ints | None
        embeddings: AnyArray | None
        edges, embeddings = _start(place) or (None, None)
        last: int | None = None
        for cycle, path in self._stored(place).items():
            stored = read_npz(path, ("embeddings", "new_edges"))
            births = as_edges(stored["new_edges"], "new_edges")
            if "all_edges" in stored:
                after = as_edges(stored["all_edges"], "all_edges")
            elif "removed_edges" in stored:
                raise InputError(
                    "has removed_edges and no all_edges",
                    where=str(path),
                    fix="Store all_edges, the graph after the cycle.",
                )
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
                after = np.concatenate([edges, births])
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
    return as_edges(stored["edges"], "edges"), stored["embeddings"]


def _holds_run(place: Path) -> bool:
    return (place / _START).exists() or any(place.glob("cycle-*.npz"))


def copied(embeddings: Any) -> AnyArray:
    """A copy, because systems often update their embeddings in place."""
    return np.array(as_numeric(rows_by_index(embeddings, "embeddings"), "embeddings"))


def _number(given: AnyArray, path: Path) -> float:
    values = as_numeric(given, f"{path}: tgc")
    if values.size != 1:
        raise InputError(f"tgc contains {values.size} numbers", where=str(path), fix="Store one per cycle.")
    return float(values.item())


def _named(place: Path) -> tuple[str, int]:
    """Condition and seed of a folder that is itself a run."""
    seed = _SEED.fullmatch(place.name)
    return (place.name, 0) if seed is None else (place.parent.name, int(seed[1]))


def _present(path: Path) -> Path:
    if not path.exists():
        raise InputError("no such file", where=str(path), fix=LAYOUT)
    return path
