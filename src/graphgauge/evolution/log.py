"""Stored runs: a folder with one file a cycle, written as the system grows and read back one cycle at a time."""

from __future__ import annotations

import re
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.extras import need
from graphgauge.core.files import atomic_path
from graphgauge.evolution.inputs import Ints, as_edges, pair_codes

# Letters first: a name is a folder, and must not lead out of the log or hide in it.
_CONDITION = re.compile(r"\w[\w .+-]{0,63}")
_SEED = re.compile(r"seed-(\d+)")
_CYCLE = re.compile(r"cycle-(\d+)\.npz")
_START, _BIRTHS, _EMBEDDINGS = "start.npz", "births.parquet", "embeddings.npz"
_LAYOUT = "A run is a folder of cycle-00000.npz, cycle-00001.npz …, or of births.parquet and embeddings.npz."

Arrays = Mapping[str, AnyArray]


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: what was born, and the system before and after it.

    `previous_embeddings` and `previous_edges` are None where nothing is known of the time before.
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


class EvolutionLog:
    """A folder of runs, each in `{condition}/seed-{seed}/`; a folder that holds cycles itself is one run."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file", where=str(folder), fix=_LAYOUT)

    # ---- reading

    @property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """Condition and seed of every stored run, in the order of their names."""
        return tuple(self._places())

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(condition for condition, _ in self.runs))

    def next_cycle(self, condition: str, seed: int) -> int:
        """The first cycle that is not stored yet: where a run begins, or goes on after an interruption."""
        stored = self._stored(self._place(condition, seed))
        return max(stored, default=-1) + 1

    def cycles(self, condition: str, seed: int) -> Iterator[Cycle]:
        """The cycles of a run in order, one in memory at a time."""
        place = self._known_place(condition, seed)
        if (place / _BIRTHS).exists():
            return _from_births(place, condition, seed)
        return self._from_files(place, condition, seed)

    def start(self, condition: str, seed: int) -> tuple[Ints, AnyArray] | None:
        """Edges and embeddings before the first cycle, as `begin` stored them."""
        path = self._place(condition, seed) / _START
        if not path.exists():
            return None
        stored = _read(path, ("edges", "embeddings"))
        return as_edges(stored["edges"], "edges"), stored["embeddings"]

    def latest(self, condition: str, seed: int) -> Cycle | None:
        """The last stored cycle, or None before the first."""
        if (condition, seed) not in self._places():
            return None
        last = deque(self.cycles(condition, seed), maxlen=1)
        return last[0] if last else None

    def files(self, condition: str, seed: int) -> list[Path]:
        """The files that a run is read from."""
        place = self._known_place(condition, seed)
        if (place / _BIRTHS).exists():
            return [place / _BIRTHS, place / _EMBEDDINGS]
        start = [place / _START] if (place / _START).exists() else []
        return [*start, *self._stored(place).values()]

    # ---- writing

    def begin(self, condition: str, seed: int, *, edges: Any, embeddings: Any) -> None:
        """Store what stands before the first cycle; a run that has begun is left as it is."""
        place = self._place(condition, seed)
        if not (place / _START).exists():
            arrays = {"edges": as_edges(edges, "edges"), "embeddings": as_numeric(embeddings, "embeddings")}
            _write(place / _START, arrays)

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
    ) -> None:
        """Store the next cycle of a run, whole or not at all.

        `all_edges` may be left out where `begin` stored the edges of the start: births are then added to the edges
        before, and `removed_edges` taken away.
        """
        place, expected = self._place(condition, seed), self.next_cycle(condition, seed)
        if cycle != expected:
            raise InputError(
                f"cycle {cycle} of {condition!r}, seed {seed}, does not come next",
                where=str(self.folder),
                fix=f"Continue with cycle {expected} (next_cycle), or write to an empty folder.",
            )
        if all_edges is None and not (place / _START).exists():
            raise InputError(
                f"the edges before the first cycle of {condition!r}, seed {seed}, are not known",
                where=str(self.folder),
                fix="Call begin(…, edges=, embeddings=) first, or pass all_edges.",
            )
        arrays = {"embeddings": as_numeric(embeddings, "embeddings"), "new_edges": as_edges(new_edges, "new_edges")}
        for name, edges in (("all_edges", all_edges), ("removed_edges", removed_edges)):
            if edges is not None:
                arrays[name] = as_edges(edges, name)
        if tgc is not None:
            arrays["tgc"] = np.array(float(tgc))
        if pools is not None:
            arrays["pools"] = as_numeric(pools, "pools")
        _write(place / f"cycle-{cycle:05d}.npz", arrays)

    # ---- where things stand

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
        if not _CONDITION.fullmatch(condition):
            raise InputError(
                f"{condition!r:.80} cannot name a condition", fix="Use letters, digits, blanks and the signs _ . + -."
            )
        if seed < 0:
            raise InputError(f"seed {seed} of {condition!r} is negative")
        return self._places().get((condition, seed), self.folder / condition / f"seed-{seed}")

    def _known_place(self, condition: str, seed: int) -> Path:
        places = self._places()
        if (condition, seed) not in places:
            if not places:
                raise InputError("holds no run", where=str(self.folder), fix=_LAYOUT)
            raise UnknownNameError("run", f"{condition}, seed {seed}", [f"{name}, seed {own}" for name, own in places])
        return places[condition, seed]

    def _stored(self, place: Path) -> dict[int, Path]:
        if (place / _BIRTHS).exists():
            raise InputError("a run of births.parquet cannot be continued", where=str(place))
        named = ((_CYCLE.fullmatch(path.name), path) for path in place.glob("cycle-*.npz"))
        return dict(sorted((int(match[1]), path) for match, path in named if match))

    def _from_files(self, place: Path, condition: str, seed: int) -> Iterator[Cycle]:
        edges: Ints | None
        embeddings: AnyArray | None
        edges, embeddings = self.start(condition, seed) or (None, None)
        last: int | None = None
        for cycle, path in self._stored(place).items():
            stored = _read(path, ("embeddings", "new_edges"))
            births = as_edges(stored["new_edges"], "new_edges")
            if "all_edges" in stored:
                after = as_edges(stored["all_edges"], "all_edges")
            elif edges is None:
                raise InputError(
                    "has no all_edges", where=str(path), fix="Store them in each cycle, or those before in start.npz."
                )
            elif last is not None and cycle > last + 1:
                raise InputError(
                    f"no cycle {last + 1} stands before it", where=str(path),
                    fix="Its edges are those before and its births: every cycle is needed, or all_edges in this one.",
                )  # fmt: skip
            else:
                after = _rewired(edges, births, as_edges(stored.get("removed_edges"), "removed_edges"))
            tgc = None if "tgc" not in stored else _number(stored["tgc"], path)
            yield Cycle(condition, seed, cycle, stored["embeddings"], births, after, embeddings, edges, tgc,
                        stored.get("pools"))  # fmt: skip
            embeddings, edges, last = stored["embeddings"], after, cycle


def _holds_run(place: Path) -> bool:
    return (place / _BIRTHS).exists() or (place / _START).exists() or any(place.glob("cycle-*.npz"))


def _number(given: AnyArray, path: Path) -> float:
    values = as_numeric(given, f"{path}: tgc")
    if values.size != 1:
        raise InputError(f"tgc holds {values.size} numbers", where=str(path), fix="Store one for each cycle.")
    return float(values.item())


def _rewired(before: Ints, births: Ints, removed: Ints) -> Ints:
    if len(removed):
        size = max(int(part.max(initial=0)) for part in (before, removed)) + 1
        before = before[~np.isin(pair_codes(before, size), pair_codes(removed, size))]
    return np.concatenate([before, births])


def _named(place: Path) -> tuple[str, int]:
    """Condition and seed of a folder that was named itself."""
    seed = _SEED.fullmatch(place.name)
    return (place.name, 0) if seed is None else (place.parent.name, int(seed[1]))


def _from_births(place: Path, condition: str, seed: int) -> Iterator[Cycle]:
    """Columns cycle, source and target; what was born before cycle 0 stood at the start."""
    table = _read_births(place / _BIRTHS)
    born, pairs = table["cycle"], as_edges(np.stack([table["source"], table["target"]], axis=1), _BIRTHS)
    with _opened(place / _EMBEDDINGS) as archive:
        members = [name for name in archive.files if name.isdigit()]
        cycles = sorted(int(name) for name in members)
        late = np.setdiff1d(born[born >= 0], cycles)
        if len(late):
            raise InputError(
                f"cycle {late[0]} has births and no embeddings", where=str(place / _EMBEDDINGS),
                fix="Store an array for each cycle, named by its number, and `start` for the time before.",
            )  # fmt: skip
        embeddings = _member(archive, "start", place / _EMBEDDINGS) if "start" in archive.files else None
        edges = pairs[born < 0]
        for cycle in cycles:
            births = pairs[born == cycle]
            after = np.concatenate([edges, births])
            current = _member(archive, str(cycle), place / _EMBEDDINGS)
            yield Cycle(condition, seed, cycle, current, births, after, embeddings, edges)
            embeddings, edges = current, after


def _read_births(path: Path) -> dict[str, AnyArray]:
    parquet = need("pyarrow.parquet", "reading .parquet")
    wanted = ("cycle", "source", "target")
    try:
        table = parquet.read_table(path, columns=list(wanted))
        columns = {name: as_numeric(table[name].to_numpy(), f"{path}: {name}") for name in wanted}
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InputError(
            f"cannot be read ({reason})", where=str(path), fix="Write the columns cycle, source and target."
        ) from None
    for name, column in columns.items():
        if column.dtype.kind not in "iu":
            raise InputError(f"column {name!r} holds {column.dtype}, not whole numbers", where=str(path))
    return columns


def _write(path: Path, arrays: Arrays) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _opened(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), fix=_LAYOUT) from None
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def _member(archive: Any, name: str, path: Path) -> AnyArray:
    found: AnyArray = _guarded(lambda: np.asarray(archive[name]), path)
    return found


def _read(path: Path, wanted: tuple[str, ...]) -> dict[str, AnyArray]:
    def read() -> dict[str, AnyArray]:
        # Opened here: np.load leaves a file that it cannot read to the garbage collector.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    stored: dict[str, AnyArray] = _guarded(read, path)
    for name in wanted:
        if name not in stored:
            raise InputError(f"has no array {name!r}", where=str(path), fix=f"It holds {', '.join(stored) or 'none'}.")
    return stored


_DAMAGE = (ValueError, TypeError, AttributeError, KeyError, OSError, EOFError, RuntimeError, MemoryError,
           zipfile.BadZipFile)  # fmt: skip


def _guarded(read: Callable[[], Any], path: Path) -> Any:
    try:
        return read()
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: BaseException) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return InputError(f"cannot be read ({reason})", where=str(path), fix="Arrays of Python objects are never read.")
