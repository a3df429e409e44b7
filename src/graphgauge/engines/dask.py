"""Dask: parts of the items are counted where they are stored, and only states are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.door import state_door
from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.state import State, merged, routed, state_class
from graphgauge.core.threads import threads
from graphgauge.io.request import Request

# States that one task merges: many tasks can merge at once, and none has all states in memory.
_TOGETHER = 16
# How often a part may be counted again because its worker died.
_RETRIES = 20


def evaluate(family: str, *arrays: Any, **options: Any) -> Evaluation:
    """The results of Dask arrays, on the scheduler or cluster that Dask is set to.

    Arrays are cut along the items, all alike; NumPy arrays that are given with them, such as labels, at the same
    places. All other axes must fit into memory. Counts have the same bits as on one machine.

    Parameters
    ----------
    family
        One that has states: `ranking` or `forecasting`.
    arrays, options
        The arguments of `update`, those that are large as Dask arrays; the options of the state and its `evaluate`.

    Returns
    -------
    Evaluation
        As of one state that counted everything.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> from graphgauge.engines import dask
    >>> pos, neg = da.from_array([0.9, 0.4], chunks=1), da.from_array([[0.7, 0.1], [0.8, 0.3]], chunks=(1, 2))
    >>> dask.evaluate("ranking", pos, neg)["mrr"].value
    0.75
    """
    own, inputs, later = _routed(family, arrays, options)
    return _computed(family, inputs, own).evaluate(**later)


def state(family: str, *arrays: Any, **options: Any) -> State:
    """The state of all parts: for `save`, or for several evaluations.

    Parameters
    ----------
    family, arrays, options
        As in `evaluate`, without the options of its last step.

    Returns
    -------
    State
        The state of the family, such as a `RankingState`.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> from graphgauge.engines import dask
    >>> pos, neg = da.from_array([0.9, 0.4], chunks=1), da.from_array([[0.7, 0.1], [0.8, 0.3]], chunks=(1, 2))
    >>> dask.state("ranking", pos, neg).n
    2
    """
    own, inputs, later = _routed(family, arrays, options)
    if later:
        raise OptionError(f"{', '.join(later)} belongs to the state's evaluate()")
    return _computed(family, inputs, own)


def state_of(
    request: Request, scheduler: Any = "local", folder: Path = Path(), *, progress: Progress = SILENT
) -> State:
    """The state of a request whose inputs are in parts, each counted by a worker.

    A part whose worker dies is counted again. Workers have to see the files under the same paths.

    Parameters
    ----------
    request
        What is evaluated, with files in parts.
    scheduler
        `"local"` for processes of this machine, the address of a scheduler, or a `distributed.Client`.
    folder
        What paths in the request are relative to.
    progress
        What is told how many parts are done.

    Returns
    -------
    State
        The state of the family, for `request.evaluate(state=…)` or `save`.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    InputError
        If there is no scheduler at the address, or a part cannot be read.
    """
    parts = request.parts(folder)
    with _client(scheduler) as client:
        fixed = {"retries": _RETRIES, "pure": False}
        lengths = client.gather(client.map(_length, parts, [folder] * len(parts), **fixed))
        *starts, total = [0, *accumulate(lengths)]
        tasks = client.map(_counted_request, parts, [folder] * len(parts), starts, [total] * len(parts), **fixed)
        done = need("distributed", "an evaluation with Dask").as_completed(tasks)
        for number, task in enumerate(done, 1):
            if task.status == "error":
                task.result()
            progress.stage("parts", number, len(parts))
        while len(tasks) > 1:
            groups = [tasks[first : first + _TOGETHER] for first in range(0, len(tasks), _TOGETHER)]
            tasks = [client.submit(merged, group, **fixed) for group in groups]
        whole: State = tasks[0].result()
    return whole


@contextmanager
def _client(scheduler: Any) -> Iterator[Any]:
    distributed = need("distributed", "an evaluation with Dask")
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    settings = {"distributed.scheduler.allowed-failures": _RETRIES}
    with need("dask", "an evaluation with Dask").config.set(settings):
        if scheduler == "local":
            with (
                distributed.LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = distributed.Client(scheduler, timeout="30s")
        except (OSError, ValueError) as error:
            raise InputError(
                f"no scheduler at {scheduler!r:.80} ({error})", fix="Write local, or an address."
            ) from None
        with client:
            yield client


def _length(part: Request, folder: Path) -> int:
    return part.items(folder)


def _counted_request(part: Request, folder: Path, start: int, of: int) -> State:
    with threads(1), _told(next(iter(part.files(folder)))[1]):  # other workers run beside it
        return part.state(folder, start=start, of=of)


def _counted(family: str, own: Mapping[str, Any], part: Mapping[str, Any], start: int) -> State:
    with threads(1), _told(f"items from {start:,} on"):
        return state_class(family)(**own).update(**part, start=start)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Indices in a message are those of the part, which it names."""
    try:
        yield
    except OptionError:
        raise
    except InputError as error:
        place = where if error.where is None else f"{where}, {error.where}"
        raise InputError(error.what, where=place, fix=error.fix) from None
    except GraphgaugeError:
        raise


def _routed(
    family: str, arrays: Sequence[Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The inputs by name, the options of the state, and those of its evaluation."""
    names = [each.name for each in state_door(family).inputs]
    if len(arrays) > len(names):
        raise OptionError(f"states of {family} take {len(names)} arrays, not {len(arrays)}")
    return routed(family, {**dict(zip(names, arrays, strict=False)), **options})


def _computed(family: str, inputs: Mapping[str, Any], own: Mapping[str, Any]) -> State:
    dask = need("dask", "an evaluation of Dask arrays")
    parts, starts = _parts(inputs)
    tasks = [dask.delayed(_counted)(family, own, part, start) for part, start in zip(parts, starts, strict=True)]
    while len(tasks) > 1:
        tasks = [dask.delayed(merged)(tasks[first : first + _TOGETHER]) for first in range(0, len(tasks), _TOGETHER)]
    (whole,) = dask.compute(tasks[0])
    return whole  # type: ignore[no-any-return]


def _parts(inputs: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[int]]:
    """The same items of every input, part by part, and the number of the first item of each."""
    arrays = need("dask.array", "an evaluation of Dask arrays")
    flat: dict[tuple[str, ...], Any] = {}
    for name, value in inputs.items():
        flat |= {(name, key): each for key, each in value.items()} if isinstance(value, Mapping) else {(name,): value}
    lead = next((value for value in flat.values() if isinstance(value, arrays.Array)), None)
    if lead is None:
        raise InputError("found no Dask array", fix="Use the family's own evaluate(), or dask.array.from_array.")
    lengths = lead.chunks[0]
    if any(isnan(length) for length in lengths):
        raise InputError("the blocks have unknown lengths", fix="Call compute_chunk_sizes() on the arrays first.")
    parts: list[dict[str, Any]] = [{} for _ in lengths]
    for (name, *key), value in flat.items():
        for part, block in zip(parts, _cut(arrays, name, value, lengths), strict=True):
            if key:
                part.setdefault(name, {})[key[0]] = block
            else:
                part[name] = block
    return parts, [0, *accumulate(lengths)][:-1]


def _cut(arrays: Any, name: str, value: Any, lengths: tuple[int, ...]) -> list[Any]:
    array = value if isinstance(value, arrays.Array) else arrays.from_array(np.asarray(value), chunks=-1)
    if not array.ndim or array.shape[0] != sum(lengths):
        raise InputError(f"expected {sum(lengths):,} items, found shape {array.shape}", where=name)
    return list(array.rechunk({**dict.fromkeys(range(array.ndim), -1), 0: lengths}).to_delayed().ravel())
