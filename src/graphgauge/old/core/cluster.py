"""Engines: where the parts of an evaluation run. `mapped` calls a function for each part, here or on a Dask cluster.

A family calls `mapped` where its parts are read and counted; an `engine` around it decides where. The parts, the
function and the order of the answers are the same in both cases, so the values are too.
"""

from __future__ import annotations

import logging
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, NamedTuple, TypeVar

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.threads import available_threads, threads
from graphgauge.old.core.fields import Choice, Text

# `local`: in this process; `dask`: as tasks on a cluster.
ENGINES = ("local", "dask")
Engine = Annotated[str, Choice("Where parts of the input are read and counted.", ENGINES)]
Scheduler = Annotated[
    str | None, Text("With --engine dask: the address of a scheduler (default: processes of this run).")
]

_PURPOSE = "the engine dask"
# How many workers may die while they run one task before it is blamed; a cluster of our own is told so.
_DEATHS = 20
# Tasks that are sent ahead, for each worker.
_AHEAD = 4
# Seconds after which it is checked that there are still workers.
_LOOK_AFTER = 10.0
# How long a scheduler may take to answer, and a cluster of our own to start.
PATIENCE = "10s"
_STARTING = "120s"
# How often a cluster of our own is started, if it fails.
_STARTS = 3
# What a cluster of our own is set to. Workers keep no data, so nothing is spilled; a worker that waits for memory to
# become free would wait for ever. One that has not been heard of, because it hangs or is stopped, is replaced.
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.worker.daemon": True,
    # There is always an HTTP server; this one serves nothing.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.comm.timeouts.connect": "60s",
    "distributed.deploy.lost-worker-timeout": "5s",
}
# Its processes, which only this machine can reach.
_OWN: dict[str, Any] = {
    "threads_per_worker": 1,
    "processes": True,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"dashboard": False},
    "silence_logs": logging.CRITICAL,
    "death_timeout": _STARTING,
}

T = TypeVar("T")


class Died(NamedTuple):
    """Instead of an answer: the workers that ran this task died, one after the other."""

    how: str


@contextmanager
def cluster(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A client of the scheduler at this address, or of `workers` processes, which end with the block."""
    distributed, dask = need("distributed", _PURPOSE), need("dask", _PURPOSE)
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"no scheduler answers ({str(error) or type(error).__name__:.200})",
                where=scheduler,
                fix="Start one with `dask scheduler`, and give its address as tcp://HOST:PORT.",
            ) from None
        with client:
            yield client
        return
    with (
        dask.config.set(_SETTINGS),
        _own_cluster(distributed, workers) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


def _own_cluster(distributed: Any, workers: int) -> Any:
    """A cluster of this run. It does not start if a worker is killed meanwhile; then it is tried again."""
    said = ""
    for _ in range(_STARTS):
        try:
            with _uninterrupted():
                return distributed.LocalCluster(n_workers=workers, **_OWN)
        except (OSError, TimeoutError, RuntimeError) as error:
            said = str(error) or type(error).__name__
    raise InputError(
        f"no worker could be started ({said:.200})",
        fix="Leave out the engine, or try again when the machine has fewer processes to run.",
    )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end of the block, and never reaches threads and processes that begin in it.

    Workers are ended by this process. A signal of their own would end them in the middle of a line.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def answers(client: Any, function: Callable[[T], Any], tasks: Sequence[T]) -> Iterator[Any]:
    """The answer to each task, in order. A task that a dying worker had is run by another."""
    for answer in _ordered(_arriving(client, function, tasks)):
        if isinstance(answer, Died):
            raise InputError(
                f"the workers that ran a part died, one after the other ({answer.how})",
                fix="Look for the cause in their logs, often too little memory.",
            )
        yield answer


def arriving(client: Any, function: Callable[[T], Any], tasks: Sequence[T]) -> Iterator[tuple[int, Any]]:
    """The number of each task and its answer, or how its workers died, as they arrive."""
    return _arriving(client, function, tasks)


def _ordered(numbered: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    early: dict[int, Any] = {}
    following = 0
    for number, answer in numbered:
        early[number] = answer
        while following in early:
            yield early.pop(following)
            following += 1


def _arriving(client: Any, function: Callable[[T], Any], tasks: Sequence[T]) -> Iterator[tuple[int, Any]]:
    distributed = need("distributed", _PURPOSE)
    pending = deque(enumerate(tasks))
    running: dict[Any, int] = {}
    try:
        room = _AHEAD * max(1, _workers(client))
        while pending or running:
            while pending and len(running) < room:
                number, task = pending.popleft()
                # Earlier tasks first: their answers are waited for.
                running[client.submit(_alone, function, task, pure=False, priority=-number)] = number
            for future in _finished(client, running):
                number = running.pop(future)
                try:
                    answer = future.result(timeout=PATIENCE)
                except distributed.scheduler.KilledWorker as error:
                    answer = Died(f"{error!s:.200}")
                except distributed.TimeoutError:  # its worker died with the answer: it is run again
                    running[future] = number
                    continue
                yield number, answer
    except (distributed.comm.CommClosedError, CancelledError) as error:
        raise InputError(
            f"the scheduler was lost ({str(error) or type(error).__name__:.200})",
            fix="Start it and run this again.",
        ) from None


def _alone(function: Callable[[T], Any], task: T) -> Any:
    """In a worker, which has others beside it."""
    with threads(1):
        return function(task)


def _finished(client: Any, running: Any) -> list[Any]:
    """Tasks that have ended, at least one. A cluster without workers, which starts no others, is not waited for."""
    distributed = need("distributed", _PURPOSE)
    while True:
        try:
            with client.as_current():
                found = distributed.wait(list(running), timeout=_LOOK_AFTER, return_when="FIRST_COMPLETED")
            return list(found.done)
        except distributed.TimeoutError:
            _mend(client.cluster)
            if not _workers(client) and not _comes_back(client):
                raise InputError("the cluster has no worker left", fix="Start workers and run this again.") from None


def _mend(own: Any) -> None:
    """Start the workers of our own cluster that were given up: those that were killed while they were started again."""
    if own is not None:
        own.scale(len(own.worker_spec))


def _comes_back(client: Any) -> bool:
    """Whether a worker joins in time."""
    distributed = need("distributed", _PURPOSE)
    try:
        client.wait_for_workers(1, timeout=_LOOK_AFTER if client.cluster is None else _STARTING)
    except distributed.TimeoutError:
        return False
    return True


def _workers(client: Any) -> int:
    """How many threads the workers have together."""
    found = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(int(worker["nthreads"]) for worker in found)


class _Crew:
    """A cluster that is started when it is first needed: errors in the inputs come before."""

    def __init__(self, scheduler: str | None, workers: int | None) -> None:
        self._scheduler, self._workers = scheduler, workers
        self._opened = ExitStack()
        self._client: Any = None

    def mapped(self, function: Callable[[T], Any], tasks: Sequence[T]) -> Iterator[Any]:
        if self._client is None and tasks:
            workers = min(self._workers or available_threads(), len(tasks))
            self._client = self._opened.enter_context(cluster(self._scheduler, workers))
        return answers(self._client, function, tasks)

    def close(self) -> None:
        self._opened.close()


_CREW: ContextVar[_Crew | None] = ContextVar("crew", default=None)


@contextmanager
def engine(name: str, scheduler: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Run what is `mapped` in this block here (`local`), or on a cluster (`dask`)."""
    if name == "local":
        yield
        return
    crew = _Crew(scheduler, workers)
    token = _CREW.set(crew)
    try:
        yield
    finally:
        _CREW.reset(token)
        crew.close()


def mapped(function: Callable[[T], Any], tasks: Sequence[T]) -> Iterator[Any]:
    """The function of each task, in order, where the engine runs it. Tasks name files by absolute paths."""
    crew = _CREW.get()
    return map(function, tasks) if crew is None else crew.mapped(function, tasks)


def engine_of(given: Mapping[str, Any]) -> AbstractContextManager[None]:
    """The engine that the arguments `engine`, `scheduler` and `threads` of a function choose.

    Other names of engines are refused with the other options.
    """
    chosen = given.get("engine")
    return engine("dask" if chosen == "dask" else "local", given.get("scheduler"), given.get("threads"))
