"""Worker processes, each with one item at a time; if one dies, only its item is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from graphgauge.core.threads import VARIABLE
from graphgauge.study.model import Item

Task = Mapping[str, Any]
Answer = dict[str, Any]

_THREAD_VARIABLES = (VARIABLE, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Ctrl-C on a terminal reaches the run, which ends its processes, and not these, whose imports it would interrupt.
_APART: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
# Seconds that a process may take to end after it closed its output.
_ENDING_SECONDS = 2.0


def task(
    item: Item,
    folder: Path,
    output: Path,
    *,
    threads: int,
    hashes: Path,
    file: str | None = None,
    trusted: bool = True,
    command: str | None = None,
    trust_code: bool = False,
    debug: bool = False,
) -> Task:
    """A request to a worker: evaluate the item from this folder into this file, with known hashes.

    `file` is the name of the study file. In a folder that is not `trusted` the worker only reads the inputs:
    it does not change into the folder, and imports nothing from it unless its code is trusted. `command` is the one
    that made the result, if it is not the family's.
    """
    return {
        "item": item.to_dict(),
        "folder": str(folder),
        "file": file,
        "trusted": trusted,
        "command": item.family if command is None else command,
        "trust_code": trust_code,
        "output": str(output),
        "threads": threads,
        "hashes": str(hashes),
        "debug": debug,
    }


def answered(
    tasks: Sequence[Task], *, jobs: int, threads: int, start_in: Path | None = None
) -> Iterator[tuple[int, Answer]]:
    """The index of each task and its answer, as they arrive; ending the iteration ends the processes.

    Libraries look for settings in the current folder: `start_in` is the folder where the processes start.
    """
    pending = deque(enumerate(tasks))
    answers: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
    workers = [Worker(threads, start_in) for _ in range(min(jobs, len(tasks)))]
    helpers = [Thread(target=_drain, args=(worker, pending, answers), daemon=True) for worker in workers]
    try:
        for helper in helpers:
            helper.start()
        for _ in tasks:
            yield answers.get()
    finally:
        pending.clear()
        for worker in workers:
            worker.kill()
        for worker, helper in zip(workers, helpers, strict=True):
            helper.join()
            worker.close()


def _drain(worker: Worker, pending: deque[tuple[int, Task]], answers: SimpleQueue[tuple[int, Answer]]) -> None:
    while True:
        try:
            place, task = pending.popleft()
        except IndexError:
            return
        answers.put((place, worker.ask(task)))


class Worker:
    """A process that is started when first needed, and again after it died."""

    def __init__(self, threads: int, start_in: Path | None = None) -> None:
        self._environment = {**_environment(), **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
        self._start_in = start_in
        self._process: subprocess.Popen[str] | None = None

    def ask(self, task: Task) -> Answer:
        try:
            process = self._process = self._process or self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            answer: Answer = json.loads(process.stdout.readline())
            return answer
        except (OSError, ValueError):
            return self._lost()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> int | None:
        """Wait for the process to end; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        with suppress(BrokenPipeError), process:  # closes the pipes
            pass
        return process.returncode

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            # -P: a file in the current folder must not shadow a library.
            [sys.executable, "-P", "-m", "graphgauge.study.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=self._environment,
            cwd=self._start_in,
            **_APART,
        )

    def _lost(self) -> Answer:
        code = self.close()
        if code is None:
            how = "could not be started"
        else:
            how = f"ended by signal {-code}; memory may be short" if code < 0 else f"ended with exit code {code}"
        return lost(f"The process that evaluates it {how}.")


def lost(error: str) -> Answer:
    """Instead of an answer that a process can no longer give."""
    return {"status": "lost", "error": error, "lacking": False, "seconds": 0.0, "hashing": 0.0, "hashes": {}}


def _environment() -> dict[str, str]:
    """The environment without settings that would load code from the current folder."""
    kept = dict(os.environ)
    package = Path(__file__).parents[2]
    search = [Path(entry) for entry in kept.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    search = [entry.absolute() for entry in search if entry.is_absolute() or entry.absolute() == package]
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, search))} if search else kept
