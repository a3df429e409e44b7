"""Evaluations in processes of their own: one that dies takes no other with it, and none outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Literal

from msgspec import Struct

from graphgauge.core.content import ResultFile, versions
from graphgauge.core.disk import UnwritableError, write_text
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.files import save
from graphgauge.core.sealed import encode
from graphgauge.core.threads import VARIABLE
from graphgauge.io.hashing import HashIndex, using
from graphgauge.study.model import Item
from graphgauge.study.store import key_of

_KILLED = "its process was killed, perhaps because memory ran out"


class Task(Struct, frozen=True, kw_only=True):
    """An evaluation, and where its files are: inputs below `folder`, hashes that are known in `hashes`."""

    item: Item
    folder: Path
    path: Path
    hashes: Path
    ignore: tuple[str, ...] = ()
    debug: bool = False


class Done(Struct, frozen=True, kw_only=True):
    """An evaluation that has ended."""

    item: Item
    status: Literal["ok", "failed"]
    seconds: float = 0.0
    error: str | None = None


def evaluated(tasks: Sequence[Task], jobs: int, threads: int) -> Iterator[Done]:
    """Every task as it ends. After a death those that were pending run one by one, so that only the killer is lost."""
    pending, alone = list(tasks), False
    while pending:
        batch = pending[:1] if alone else list(pending)
        died = False
        for task, done in _batch(batch, min(jobs, len(batch)), threads):
            if done is None:
                died = True
                continue
            pending.remove(task)
            yield done
        if died and len(batch) == 1:
            pending.remove(batch[0])
            yield failed(batch[0], _KILLED)
        alone = died or alone


def _batch(tasks: Sequence[Task], jobs: int, threads: int) -> Iterator[tuple[Task, Done | None]]:
    """Every task with its outcome, None if its process or another one died."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(threads,))
    try:
        with _uninterrupted():
            futures = {pool.submit(perform, task): task for task in tasks}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except BrokenProcessPool:
                yield futures[future], None
        pool.shutdown()
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()  # results are complete or not there
        pool.shutdown(wait=False, cancel_futures=True)
        raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that are started here do not see interrupts, even before they have begun; ours wait until then."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # where it is started, it lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(threads: int) -> None:
    """A worker leaves interrupts to its parent, ends with it, and writes nothing to stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[VARIABLE] = str(threads)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def perform(task: Task) -> Done:
    """Evaluate, and write the result; what fails is written as a result that failed."""
    started = time.perf_counter()
    try:
        with using(HashIndex.load(task.folder, task.hashes)):
            evaluation = task.item.request.evaluate(task.folder, trust_code=True).ignoring(task.ignore)
            if not task.item.keep_items:
                evaluation.per_item = None
            evaluation.receipt["key"] = key_of(task.item, task.folder)
        save(evaluation, task.path)
    except UnwritableError:
        raise
    except (Exception, SystemExit) as error:
        if task.debug:
            traceback.print_exception(error)
        return failed(task, said(error), time.perf_counter() - started)
    return Done(item=task.item, status="ok", seconds=time.perf_counter() - started)


def failed(task: Task, error: str, seconds: float = 0.0) -> Done:
    """An evaluation that failed, with its file."""
    run = task.item.request.run
    content = ResultFile(
        family=task.item.family, status="failed", run=run, error=error, receipt={"versions": versions()}
    )
    write_text(task.path, encode(content))
    return Done(item=task.item, status="failed", seconds=seconds, error=error)


def said(error: BaseException) -> str:
    """An error as a sentence; of one that is not ours, with its type."""
    text = str(error)
    if not isinstance(error, GraphgaugeError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return " ".join(text.split())[:2000]
