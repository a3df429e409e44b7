"""Peak anonymous memory (RssAnon) of a call or a command, sampled every half millisecond from outside."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_SAMPLE_EVERY = 0.0005


def of_call(bench: str, index: int) -> int:
    """The growth of anonymous memory during the second call, in a separate process."""
    arguments = [sys.executable, "-m", "benchmarks.peak_memory", bench, str(index)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the process that measures memory of row {index} of {bench} failed")
        before = peak = _anonymous(child.pid)
        child.stdin.write(b"go\n")
        child.stdin.flush()
        while not select.select([child.stdout], [], [], _SAMPLE_EVERY)[0]:
            peak = max(peak, _anonymous(child.pid))
        child.stdout.readline()
        child.stdin.close()
    if child.returncode:
        raise RuntimeError(f"the process that measures memory of row {index} of {bench} failed")
    return peak - before


def of_command(arguments: Sequence[str]) -> int:
    """Peak anonymous memory of a command."""
    peak = 0
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                peak = max(peak, _anonymous(child.pid))
            time.sleep(_SAMPLE_EVERY)
    return peak


def _anonymous(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0  # a process that has ended and was not yet waited for has no memory lines


def _child(bench: str, index: int) -> None:
    from benchmarks.harness import discard, rows

    row = rows(bench)[index]
    data = row.make()
    try:
        assert row.ours is not None
        work = row.ours(data)
        for _ in range(row.repeat):
            work()
        gc.collect()
        # Return the memory that the first call freed to the system, so that the second call's peak starts from zero.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(row.repeat):
            work()
        print("done", flush=True)
        sys.stdin.read()
    finally:
        discard(data)


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]))
