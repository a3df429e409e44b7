"""Items of a study as tasks on a Dask cluster; each is evaluated in a process of its worker, as on one machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial

from graphgauge.old.core.cluster import Died, arriving, cluster
from graphgauge.study.pool import Answer, Task, Worker, lost

# Processes that may be lost with one item on a worker that lives on.
_TRIES = 2

_HELD = threading.local()


def answered_on_cluster(
    tasks: Sequence[Task], *, scheduler: str | None, jobs: int, threads: int
) -> Iterator[tuple[int, Answer]]:
    """The index of each task and its answer, as they arrive. An item whose worker dies is given to another one."""
    with cluster(scheduler, min(jobs, len(tasks))) as client:
        for place, answer in arriving(client, partial(_asked, threads), tasks):
            if isinstance(answer, Died):
                answer = lost(f"The workers that evaluated it died, one after the other ({answer.how}).")
            yield place, answer


def _asked(threads: int, task: Task) -> Answer:
    """The answer of a process that every thread of a worker keeps: it ends with the worker, even during an item."""
    worker: Worker = _HELD.__dict__.setdefault("worker", Worker(threads))
    answer = worker.ask(task)
    for _ in range(_TRIES - 1):
        if answer["status"] == "lost":
            answer = worker.ask(task)
    return answer
