"""Measures rows of work in fresh processes: the first call, calls after it, memory, peers, and one read of the input.

A row is code. `data` makes the input, with `np` and a seeded generator `r`; of a `Work`, `setup` imports and prepares,
and only `call` is timed. Ours, with one and with two threads, and every peer have processes of their own, which take
turns; the least of ROUNDS counts, and limits hold for two threads. In one read two threads sum the memory of the arrays
that the row names: nothing that looks at all of the input takes less. Memory is what the first call adds at its peak.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 3
OURS, READ = "graphgauge", "reads"
# The loops of an earlier release, run by the interpreter that EARLIER_PYTHON names and that has it installed.
EARLIER = "0.2"
# A peer whose first call takes longer is not called again.
SLOW = 3.0
WORDS = 1 << 22


@dataclass(frozen=True)
class Work:
    """Code that is timed, and what comes before it."""

    call: str
    setup: str = ""


@dataclass(frozen=True)
class Limit:
    """The first call, warm ones or memory: at most `factor` of something, or `factor` seconds or megabytes."""

    kind: str
    factor: float
    against: str = ""


@dataclass(frozen=True)
class Row:
    """One piece of work; `read` is an expression of the arrays of one read."""

    name: str
    data: str
    ours: Work
    peers: Mapping[str, Work] = field(default_factory=dict)
    read: str = ""
    limits: tuple[Limit, ...] = ()


def first(factor: float, peer: str = "") -> Limit:
    """The first call takes at most so many times as long as the peer's, or so many seconds."""
    return Limit("first", factor, peer)


def warm(factor: float, peer: str = "") -> Limit:
    """Later calls, likewise; `READ` is a peer here."""
    return Limit("warm", factor, peer)


def faster(factor: float, peer: str) -> Limit:
    """Later calls are at least so many times as fast as the peer's."""
    return Limit("warm", 1 / factor, peer)


def memory(megabytes: float) -> Limit:
    """A call adds at most so many megabytes."""
    return Limit("memory", megabytes)


# ---- in a process of its own


def measure(row: Row, what: str) -> dict[str, float]:
    """Seconds of the first and of later calls, and of one read; megabytes that a call adds."""
    names: dict[str, Any] = {"np": np, "r": np.random.default_rng(3)}
    work = row.ours if what == OURS else row.peers[what]
    exec(row.data, names)
    exec(work.setup, names)
    code = compile(work.call, row.name, "exec")

    def call() -> None:
        exec(code, dict(names))

    with grown() as growth:
        first_call = timed(call)
    found = {"first": first_call, "warm": first_call, "memory": growth[0], READ: math.nan}
    if first_call < SLOW or what in (OURS, EARLIER):
        found["warm"] = least(call)
    if what == OURS and row.read:
        arrays = eval(row.read, names)
        with ThreadPoolExecutor(2) as pool:
            parts = list(words(arrays if isinstance(arrays, tuple) else (arrays,)))
            found[READ] = least(lambda: list(pool.map(np.sum, parts)))
    return found


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least(call: Callable[[], object], seconds: float = 1.0) -> float:
    """The least time of a second's calls, and of three at least."""
    times = [timed(call) for _ in range(3)]
    while sum(times) < seconds:
        times.append(timed(call))
    return min(times)


def words(arrays: tuple[np.ndarray, ...]) -> Iterator[np.ndarray]:
    """The memory of these arrays in parts, as whole numbers, which are added the quickest."""
    for array in arrays:
        flat = array.reshape(-1).view(np.uint8)
        whole = flat[: flat.size // 8 * 8].view(np.int64)
        yield from (whole[start : start + WORDS] for start in range(0, whole.size, WORDS))


@contextmanager
def grown() -> Iterator[list[float]]:
    """Megabytes by which the process grows at most in this block."""
    status, growth = Path("/proc/self/status"), [math.nan]
    if not status.exists():
        yield growth
        return
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _kilobytes(status, "VmRSS")
    yield growth
    growth[0] = (_kilobytes(status, "VmHWM") - before) / 1000


def _kilobytes(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(f"{name}:"))


# ---- from outside


def measured(module: str, row: Row) -> dict[tuple[str, int], dict[str, float]]:
    """The least of every figure, by who did the work and on how many threads."""
    kinds = [(OURS, 1), (OURS, 2), *((peer, 2) for peer in row.peers)]
    samples: dict[tuple[str, int], list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for what, threads in kinds:
            samples[what, threads].append(_asked(module, row, what, threads))
    return {kind: {key: min(one[key] for one in each) for key in each[0]} for kind, each in samples.items()}


def _asked(module: str, row: Row, what: str, threads: int) -> dict[str, float]:
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GRAPHGAUGE_THREADS"), str(threads))
    python, environment = sys.executable, os.environ | limits
    if what == EARLIER:
        python = os.environ.get("EARLIER_PYTHON", "")
        environment.pop("PYTHONPATH", None)
    if not python:
        return dict.fromkeys(("first", "warm", "memory", READ), math.nan)
    command = [python, "-m", "benchmarks", "--measure", module, row.name, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{row.name}, {what}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return dict.fromkeys(("first", "warm", "memory", READ), math.nan)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


TITLES = ("work", "first call", "later calls", "reads", "first / peer's", "× as fast", "adds", "limits")


def cells(row: Row, found: Mapping[tuple[str, int], Mapping[str, float]]) -> Iterator[str]:
    """The cells of a row of the table."""
    one, two = found[OURS, 1], found[OURS, 2]
    yield row.name
    yield _milliseconds(two["first"])
    yield f"{_milliseconds(one['warm'])}, {_milliseconds(two['warm'])}"
    yield f"{two['warm'] / two[READ]:.2f}" if row.read else ""
    yield ", ".join(f"{name} {two['first'] / found[name, 2]['first']:.2f}" for name in row.peers)
    yield ", ".join(f"{name} {found[name, 2]['warm'] / two['warm']:.1f}" for name in row.peers)
    yield "" if math.isnan(two["memory"]) else f"{max(two['memory'], 0):.0f} MB"
    yield ", ".join(_verdict(limit, found) for limit in row.limits)


def _verdict(limit: Limit, found: Mapping[tuple[str, int], Mapping[str, float]]) -> str:
    ours = found[OURS, 2][limit.kind]
    if limit.against == READ:
        scale, text = found[OURS, 2][READ], f"≤ {limit.factor:g} reads"
    elif limit.against:
        other = found[limit.against, 2][limit.kind]
        scale = other
        is_faster = limit.kind == "warm" and limit.factor < 1
        text = f"≥ {1 / limit.factor:g} × {limit.against}" if is_faster else f"≤ {limit.factor:g} × {limit.against}"
    else:
        scale, text = 1.0, f"≤ {limit.factor:g} MB" if limit.kind == "memory" else f"≤ {_milliseconds(limit.factor)}"
    text = f"first {text}" if limit.kind == "first" else text
    if math.isnan(ours) or math.isnan(scale):
        return f"{text}: not measured"
    return text if ours <= limit.factor * scale * (1 + 1e-9) else f"**{text}: missed**"


def _milliseconds(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
