"""Commands in processes of their own, whose workers are found and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import psutil

ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def started(arguments: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """`graphgauge` with these arguments, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "graphgauge", *arguments],
        cwd=folder,
        env={**os.environ, **ALONE},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def workers_of(process: int) -> list[psutil.Process]:
    """The Dask workers that a process has started, the oldest first."""
    found = []
    for child in psutil.Process(process).children():
        try:
            # The other child of multiprocessing looks after its resources.
            if any("spawn_main" in part for part in child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return sorted(found, key=lambda child: child.create_time())


def killed_one(process: int, rng, others: Collection[int] = (), patience: float = 60.0) -> int:
    """Kill a worker that is not one of the others with SIGKILL, waiting until there is one; returns its number."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        alive = [worker for worker in workers_of(process) if worker.pid not in others]
        if alive:
            victim = alive[int(rng.integers(len(alive)))]
            os.kill(victim.pid, signal.SIGKILL)
            return victim.pid
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def ended(process: subprocess.Popen[str], patience: float = 240.0) -> tuple[int, str, str]:
    """Exit code and output; a command that does not end is killed, with its workers."""
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the command did not end: {err[-2000:]}") from None
    return process.returncode, out, err
