"""How many threads a call may use.

The first that is set: the argument of the call, `with graphgauge.threads(2):`, the environment variable
GRAPHGAUGE_THREADS. Else 1 in a worker of a pool of processes, which has others beside it, and all processors elsewhere.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeVar

from graphgauge.core.errors import OptionError
from graphgauge.core.options import whole_number

VARIABLE = "GRAPHGAUGE_THREADS"
# A loop reads this many elements in about a millisecond; for less work a second thread is not worth its start.
_FEW = 1 << 21

Part = TypeVar("Part")
Done = TypeVar("Done")

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """At most `count` threads for every call in this block.

    The block is the one of this thread: threads that are started in it are not limited.

    Parameters
    ----------
    count
        At least 1.

    Returns
    -------
    context manager
        For `with`.

    Raises
    ------
    OptionError
        If it is not a whole number of at least 1.

    Examples
    --------
    >>> import graphgauge
    >>> from graphgauge import ranking
    >>> with graphgauge.threads(1):
    ...     ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])["mrr"].value
    0.75
    """
    token = _limit.set(whole_number("threads", count, 1))
    try:
        yield
    finally:
        _limit.reset(token)


def default_threads() -> int:
    """How many threads a call uses that was not told."""
    limit = _limit.get()
    if limit is not None:
        return limit
    wanted = os.environ.get(VARIABLE)
    if wanted:
        if not wanted.isascii() or not wanted.isdigit() or int(wanted) < 1:
            raise OptionError(f"{VARIABLE} must be a whole number of at least 1, not {wanted!r:.60}")
        return int(wanted)
    return 1 if _in_pool() else available_threads()


def threads_for(work: int, given: int | None = None) -> int:
    """How many threads a loop over `work` elements uses: one for little work, whatever is allowed."""
    return 1 if work < _FEW else given or default_threads()


def in_threads(work: Callable[[Part], Done], parts: Iterable[Part], count: int) -> list[Done]:
    """`work(part)` for every part, in their order, on so many threads, for work that leaves the interpreter free."""
    if count == 1:
        return [work(part) for part in parts]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, parts))


def available_threads() -> int:
    """How many processors this process may use: by its affinity, and by the quota of its control groups."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(processors, _quota(Path("/")))))


def _in_pool() -> bool:
    """Whether multiprocessing, joblib or a nanny of Dask has started this process."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.current_process().name != "MainProcess"


@cache
def _quota(root: Path) -> float:
    """The processors' time that the control groups of this process leave it, in processors."""
    try:
        groups = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return math.inf
    quotas = [math.inf]
    for _, controllers, path in groups:
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        # In a container the path may be one of the host, which is not here: the mount is then the own group.
        inside = Path(path.lstrip("/"))
        for folder in {mount, *(mount / part for part in (inside, *inside.parents))}:
            quotas.append(_quota_of(folder))
    return min(quotas)


def _quota_of(folder: Path) -> float:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = (folder / "cpu.cfs_quota_us").read_text(), (folder / "cpu.cfs_period_us").read_text()
        return float(quota) / float(period) if quota != "max" and float(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
