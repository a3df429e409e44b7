"""Tasks on a Dask cluster: a given one, or processes on this machine for as long as they run."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need

# How many workers may die while they run one task before it is blamed; a cluster of our own is told so.
_DEATHS = 20
# Tasks that are sent ahead, for each worker.
_AHEAD = 4
_PURPOSE = "the engine dask"
# Seconds after which it is checked that there are still workers.
_LOOK_AFTER = 60
# How long a scheduler may take to answer.
PATIENCE = "10s"


@contextmanager
def cluster(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A client of the scheduler at this address, or of `workers` processes, which end with the block."""
    distributed, dask = need("distributed", _PURPOSE), need("dask", _PURPOSE)
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"no scheduler answers ({str(error) or type(error).__name__:.200})", where=scheduler,
                fix="Start one with `dask scheduler`, and give its address as tcp://HOST:PORT.",
            ) from None  # fmt: skip
        with client:
            yield client
        return
    settings = {"distributed.scheduler.allowed-failures": _DEATHS, "distributed.worker.daemon": True}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        yield client


def answers(client: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    """The answer to each task, in order. A task that a dying worker had is run by another."""
    distributed = need("distributed", _PURPOSE)
    ahead = _AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            waiting.append(client.submit(function, task, pure=False))
            if len(waiting) >= ahead:
                yield _answer(client, waiting.popleft())
        while waiting:
            yield _answer(client, waiting.popleft())
    except distributed.scheduler.KilledWorker as error:
        raise InputError(
            f"the workers that counted a part died, one after the other ({error!s:.200})",
            fix="Look for the cause in their logs, often too little memory.",
        ) from None
    except (distributed.comm.CommClosedError, CancelledError, TimeoutError) as error:
        raise InputError(
            f"the scheduler was lost ({str(error) or type(error).__name__:.200})", fix="Start it and run this again.",
        ) from None  # fmt: skip


def _answer(client: Any, future: Any) -> Any:
    """The answer of a task. A cluster that lost all workers, and started no others, is not waited for."""
    distributed = need("distributed", _PURPOSE)
    while True:
        try:
            return future.result(timeout=_LOOK_AFTER)
        except distributed.TimeoutError:
            if future.done():
                raise
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise InputError("the cluster has no worker left", fix="Start workers and run this again.") from None
