"""Times rows of work against other libraries and against one read of the input, and writes the table.

A benchmark is a module `benchmarks/bench_NAME.py` with `ROWS`, a sequence of `Row`; `python -m benchmarks NAME`
measures them and writes `benchmarks/results/NAME.md`. All peers run in the same process as this library, so the
benchmark needs an interpreter that has them; one that cannot be imported is listed as "not installed".

    def scores() -> Scores:                      # the input, seeded; made once for a row, and again for its memory
        ...

    def evaluation(data: Scores) -> Work:        # preparation; the call that it returns is timed
        from graphgauge import ranking
        return partial(ranking.evaluate, data.pos, data.neg)

    def by_ogb(data: Scores) -> Work:            # an ImportError is reported as a missing package
        from ogb.linkproppred import Evaluator
        ...

    ROWS = (
        Row(
            "1M × 100, whole evaluation",
            make=scores,
            ours=evaluation,
            reads=lambda data: [data.pos, data.neg],      # the arrays of one read
            peers={"OGB": by_ogb},                        # name → like `ours`
            goals=(within(1.5, READ), faster(50, "OGB"), memory(32)),
        ),
    )

How it is measured
- Time: after one untimed call, and when all loops are compiled, the minimum over rounds. In a round everything takes
  its turn (ours, the read, every peer), so that a busy machine slows all of them equally. Slow peers drop out once they
  have used `peer_seconds`.
- One read: two threads sum the memory of `reads(data)`, nothing else. `Row.read` replaces it by another function.
- Memory: in a fresh process the input is made and the call runs once; then the growth of the process's anonymous
  memory (RssAnon, sampled every half millisecond from outside) during a second call. With `command` it is all
  anonymous memory of that command, from its start.
- `command(data)` instead of `ours` is an argument list, run as a process; `start_up(data)`, another one, is timed too
  and its time subtracted.
- `repeat` calls are timed together if one is too short; times are per call.

Goals: `within(factor, name)`: ours ≤ factor × name, where the name is READ or a peer; `faster(factor, name)`:
name ≥ factor × ours; `seconds(limit)`; `memory(megabytes)`. A goal on a peer that is not installed is "not measured".
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peak_memory
from benchmarks.one_read import two_thread_read

READ = "one read"
OURS = "graphgauge"
RESULTS = Path(__file__).parent / "results"

Work = Callable[[], object]
Prepare = Callable[[Any], Work]


@dataclass(frozen=True)
class Measured:
    """Seconds per call by name; None if a peer is not installed. Memory in bytes."""

    seconds: Mapping[str, float | None]
    memory: int | None
    start_up: float = 0.0

    @property
    def ours(self) -> float:
        """Seconds of our own work, beyond start-up."""
        own = self.seconds[OURS]
        assert own is not None
        return own - self.start_up


@dataclass(frozen=True)
class Goal:
    """A goal as text; `look` returns the measurement as text, and whether it meets the goal (None: not measured)."""

    text: str
    look: Callable[[Measured], tuple[str, bool | None]]
    needs_memory: bool = False


def within(factor: float, name: str) -> Goal:
    """Ours takes at most `factor` times as long as `name`."""

    def look(found: Measured) -> tuple[str, bool | None]:
        other = found.seconds.get(name)
        if other is None:
            return "not installed", None
        return f"{found.ours / other:.2f} ×", found.ours <= factor * other

    return Goal(f"≤ {factor:g} × {name}", look)


def faster(factor: float, name: str) -> Goal:
    """Ours is at least `factor` times as fast as `name`."""

    def look(found: Measured) -> tuple[str, bool | None]:
        other = found.seconds.get(name)
        if other is None:
            return "not installed", None
        return f"{other / found.ours:.1f} × as fast", other >= factor * found.ours

    return Goal(f"≥ {factor:g} × as fast as {name}", look)


def seconds(limit: float) -> Goal:
    """Ours takes at most `limit` seconds per call."""
    return Goal(f"≤ {duration(limit)}", lambda found: (duration(found.ours), found.ours <= limit))


def memory(megabytes: float) -> Goal:
    """Ours needs at most this much anonymous memory (10⁶ bytes)."""

    def look(found: Measured) -> tuple[str, bool | None]:
        assert found.memory is not None
        return f"{found.memory / 1e6:.0f} MB", found.memory <= megabytes * 1e6

    return Goal(f"≤ {megabytes:g} MB anonymous memory", look, needs_memory=True)


@dataclass(frozen=True)
class Row:
    """One piece of work: see the module's docstring."""

    work: str
    make: Callable[[], Any]
    goals: tuple[Goal, ...]
    ours: Prepare | None = None
    command: Callable[[Any], Sequence[str]] | None = None
    start_up: Callable[[Any], Sequence[str]] | None = None
    reads: Callable[[Any], Sequence[np.ndarray]] | None = None
    read: Prepare | None = None
    peers: Mapping[str, Prepare] = field(default_factory=dict)
    rounds: int = 9
    repeat: int = 1
    peer_seconds: float = 20.0

    @property
    def one_read(self) -> Prepare | None:
        if self.reads is None:
            return self.read
        reads = self.reads
        return lambda data: partial(two_thread_read, reads(data))


def measure(bench: str, index: int) -> Measured:
    """Time row `index` of a benchmark and take its memory."""
    row = rows(bench)[index]
    data = row.make()
    try:
        works, missing = _prepared(row, data)
        times = _interleaved(row, works)
        used = None
        if any(goal.needs_memory for goal in row.goals):
            used = peak_memory.of_command(row.command(data)) if row.command else None
    finally:
        discard(data)
    if row.command is None and any(goal.needs_memory for goal in row.goals):
        del data, works
        gc.collect()
        used = peak_memory.of_call(bench, index)
    start_up = times.pop("start-up", 0.0)
    return Measured({**times, **dict.fromkeys(missing)}, used, start_up)


def rows(bench: str) -> Sequence[Row]:
    return importlib.import_module(f"benchmarks.bench_{bench}").ROWS


def run(bench: str, match: str = "") -> str:
    """Measure the rows whose work contains `match`, report each on stderr, and return the table."""
    found = []
    for index, row in enumerate(rows(bench)):
        if match in row.work:
            print(f"{bench}: {row.work} …", file=sys.stderr, flush=True)
            found.append((row, measure(bench, index)))
            print("\n".join(_lines(*found[-1])), file=sys.stderr, flush=True)
    return table(bench, found)


def table(bench: str, found: Sequence[tuple[Row, Measured]]) -> str:
    """The results as a page: one line per goal, with the times of a row on its first line."""
    head = ["work", "graphgauge", "one read", "peers", "goal", "measured", "verdict"]
    lines = [line for row, measured in found for line in _lines(row, measured)]
    return "\n".join(
        [
            f"# Benchmark: {bench}",
            "",
            environment(found),
            "",
            "Times are the minimum over rounds in which all take turns, within one process; in one read, two threads "
            "sum the input's memory.",
            "",
            f"| {' | '.join(head)} |",
            "|---" * len(head) + "|",
            *lines,
            "",
        ]
    )


def write(bench: str, text: str) -> Path:
    """Write the page atomically."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{bench}.md"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return path


def environment(found: Sequence[tuple[Row, Measured]] = ()) -> str:
    """The machine by its cores and memory, and the versions of the libraries."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = [f"Python {platform.python_version()}"]
    packages = ["graphgauge", "numpy"]
    packages += sorted({package for row, _ in found for package in _packages(row)} - set(packages))
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    return f"{cores} cores, {round(total / 2**30)} GB; {', '.join(versions)}."


def duration(value: float) -> str:
    """Seconds in a unit that suits them.

    >>> duration(0.0412), duration(3.2e-6), duration(75)
    ('41.2 ms', '3.20 µs', '75.0 s')
    """
    if value <= 0 or math.isnan(value):
        return f"{value:.3g} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:#.3g}".rstrip(".") + f" {unit}"
    return f"{value / 1e-9:.0f} ns"


# ---------------------------------------------------------------------- time


def _prepared(row: Row, data: Any) -> tuple[dict[str, Work], list[str]]:
    """What to time, by name, in the order of a round; and the peers that are not installed."""
    works: dict[str, Work] = {}
    missing = []
    if row.command is not None:
        works[OURS] = running(row.command(data))
    elif row.ours is not None:
        works[OURS] = row.ours(data)
    if row.start_up is not None:
        works["start-up"] = running(row.start_up(data))
    if row.one_read is not None:
        works[READ] = row.one_read(data)
    for name, prepare in row.peers.items():
        try:
            works[name] = prepare(data)
        except ImportError as error:
            print(f"  {name} is not installed: {error}", file=sys.stderr)
            missing.append(name)
    return works, missing


def running(arguments: Sequence[str]) -> Work:
    """Run a command to its end; discard its output, raise if it fails."""

    def run() -> None:
        done = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")

    return run


def _interleaved(row: Row, works: Mapping[str, Work]) -> dict[str, float]:
    best = dict.fromkeys(works, math.inf)
    spent = dict.fromkeys(works, 0.0)
    for name, work in works.items():
        begin = time.perf_counter()
        work()
        elapsed = time.perf_counter() - begin
        if name in row.peers and elapsed > row.peer_seconds:
            best[name], spent[name] = elapsed, math.inf  # too slow for a second call
    for _ in range(row.rounds):
        for name, work in works.items():
            if name in row.peers and spent[name] >= row.peer_seconds:
                continue
            gc.collect()
            begin = time.perf_counter()
            for _ in range(row.repeat):
                work()
            elapsed = time.perf_counter() - begin
            best[name] = min(best[name], elapsed / row.repeat)
            spent[name] += elapsed
    return best


def discard(data: Any) -> None:
    """Inputs in files have a `close`."""
    if hasattr(data, "close"):
        data.close()


# --------------------------------------------------------------------- words


def _lines(row: Row, found: Measured) -> list[str]:
    peers = ", ".join(
        f"{name} {'not installed' if found.seconds[name] is None else duration(found.seconds[name] or 0.0)}"
        for name in row.peers
    )
    own = duration(found.ours) + (f" beyond {duration(found.start_up)} of start-up" if found.start_up else "")
    read = found.seconds.get(READ)
    start = [row.work, own, "" if read is None else duration(read), peers]
    lines = []
    for goal in row.goals:
        value, met = goal.look(found)
        verdict = {True: "met", False: "short", None: "not measured"}[met]
        lines.append(f"| {' | '.join([*start, goal.text, value, verdict])} |")
        start = [""] * len(start)
    return lines


def _packages(row: Row) -> set[str]:
    return {package for peer in row.peers.values() for package in getattr(peer, "packages", ())}


def uses(*packages: str) -> Callable[[Prepare], Prepare]:
    """Name the distributions behind a peer, whose versions the page then states."""

    def mark(prepare: Prepare) -> Prepare:
        prepare.packages = packages  # type: ignore[attr-defined]
        return prepare

    return mark
