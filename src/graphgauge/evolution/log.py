"""Stored runs: a folder with one file per cycle, written as the system grows and read one cycle at a time.

A run is `{condition}/seed-{seed}/` with `start.npz` (edges, embeddings) and `cycle-00000.npz`, `cycle-00001.npz` …
(embeddings, new_edges, and all_edges unless edges are only added); a folder that contains cycles is one run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.disk import atomic_path
from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray
from graphgauge.evolution.cycle import Cycle, checked_tgc
from graphgauge.evolution.edges import as_edges
from graphgauge.evolution.points import COORDINATES
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
