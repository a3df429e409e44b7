"""What an evaluation of files will read, keep and take: from their headers, and from rates that are measured on them.

A sample of the files' rows is evaluated twice, at two sizes: the difference is the time of a byte, what is left is the
time of the rest. Reading is measured on the files, from the disk where the system can be told to forget them.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.family import Family, family
from graphgauge.core.fields import Files, Output, plain
from graphgauge.core.files import files_named, split_member
from graphgauge.io.arrays import OPENERS, ArrayFile, Shards, open_array, open_arrays

# Bytes that are read, hashed and counted to measure rates.
_SAMPLE = 1 << 26
# The smaller of two samples, as a part of the larger.
_SMALLER = 4
# Blocks of an array that are in memory at once: the one in use, and those read ahead.
_BLOCKS, _BLOCK_BYTES = 3, 1 << 25
# A process that evaluates a sample: its seconds, and the most memory that it took, in bytes.
_ALONE = """
import json, re, sys, time
from pathlib import Path
from graphgauge.core.family import family
begin = time.perf_counter()
family(sys.argv[1]).evaluate_files(**json.loads(sys.argv[2]))
spent = time.perf_counter() - begin
peak, known = 0, Path("/proc/self/status")
if known.exists():  # getrusage would have the memory of the parent
    peak = 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", known.read_text())[1])
elif sys.platform == "darwin":
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(spent, peak)
"""
# A network of 10 Gbit/s, if nothing is said.
NETWORK = 1.25e9


@dataclass(frozen=True)
class Input:
    """One input: its files, their bytes, and the rows of its array if it is one."""

    name: str
    files: int
    bytes: int
    rows: int | None


@dataclass(frozen=True)
class Takes:
    """Seconds of a job on so many workers, each a machine like this one with its share of the files.

    A worker reads, counts and hashes at the same time, so the longest of the three counts.
    """

    workers: int
    start: float
    read: float
    count: float
    hash: float
    merge: float

    @property
    def total(self) -> float:
        return self.start + max(self.read, self.count, self.hash) + self.merge


@dataclass(frozen=True)
class Costs:
    """What an evaluation reads and keeps, and the rates from which its time follows.

    Rates are bytes per second. `counts` is None if the inputs cannot be sampled; then nothing is said about time.
    `fixed` are the seconds of an evaluation that do not depend on its size, `start` those until it begins. A saved
    state has `state` bytes and `growth` for each byte that was read, up to `most_growth`; `merge` are the seconds of
    adding one to another. `kept` are the bytes of the state in memory, None if they are not known in advance.
    """

    family: str
    inputs: tuple[Input, ...]
    reads: float
    hashes: float | None
    counts: float | None
    start: float
    fixed: float
    merge: float
    state: float
    growth: float
    kept: int | None
    program: int
    network: float = NETWORK
    most_growth: int | None = None

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.inputs)

    def takes(self, workers: int = 1) -> Takes | None:
        """The seconds of the job on so many workers."""
        if self.counts is None:
            return None
        own = self.bytes / workers
        grown = self.growth * own if self.most_growth is None else min(self.growth * own, self.most_growth)
        merge = 0.0 if workers == 1 else workers * (self.merge + (self.state + grown) / self.network)
        hashing = 0.0 if self.hashes is None else own / self.hashes
        return Takes(workers, self.start, own / self.reads, self.fixed + own / self.counts, hashing, merge)

    @property
    def memory(self) -> int | None:
        """Bytes of one worker: those of a process that evaluates the sample, the blocks read ahead, and the state."""
        if self.kept is None:
            return None
        return self.program + min(_BLOCKS * _BLOCK_BYTES, max(self.bytes - _SAMPLE, 0)) + self.kept

    def to_dict(self, workers: tuple[int, ...] = (1,)) -> dict[str, Any]:
        found = [takes for takes in map(self.takes, workers) if takes is not None]
        return {
            **asdict(self),
            "bytes": self.bytes,
            "memory": self.memory,
            "takes": [{**asdict(takes), "total": takes.total} for takes in found],
        }


def plan_files(name: str, options: Mapping[str, Any], *, hashed: bool = False, network: float = NETWORK) -> Costs:
    """What an evaluation of files will read, keep and take.

    Parameters
    ----------
    name
        The family.
    options
        The arguments of its `evaluate_files`.
    hashed
        Whether a result file will be written, for which the inputs are hashed.
    network
        Bytes per second at which states travel between workers.

    Returns
    -------
    Costs
        Its inputs, the measured rates, and `takes(workers)`.

    Raises
    ------
    InputError
        If a file cannot be opened.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import study
    >>> np.save("pos.npy", np.ones(1000)), np.save("neg.npy", np.zeros((1000, 50)))
    (None, None)
    >>> costs = study.plan_files("ranking", {"pos_scores": "pos.npy", "neg_scores": "neg.npy"})
    >>> [(each.name, each.rows) for each in costs.inputs], costs.takes(8).workers
    ([('pos_scores', 1000), ('neg_scores', 1000)], 8)
    """
    declared = family(name)
    values = declared.read(options)
    arrays = dict(_opened(declared, values))
    inputs = tuple(_inputs(declared, values, arrays))
    paths = [path for text in _texts(declared, values) for path in files_named(text, Path.cwd())]
    sampled = _sampled(declared, values, arrays, sum(each.bytes for each in inputs))
    module = declared.module("costs") if declared.has("costs") else None
    kept = None if module is None else module.kept_bytes(values, arrays)
    found = sampled or _Sampled(None, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    if kept is None and sampled is not None:
        kept = round(found.state + found.growth * sum(each.bytes for each in inputs)) or None
    return Costs(
        name,
        inputs,
        _read_rate(paths),
        _hash_rate() if hashed else None,
        found.rate,
        found.start,
        found.fixed,
        found.merge,
        found.state,
        found.growth,
        kept,
        found.program,
        network,
        None if module is None else module.MOST_GROWTH,
    )


def _texts(declared: Family, values: Mapping[str, Any]) -> Iterator[str]:
    for name, field in declared.fields.items():
        if field.is_given(values[name]):
            yield from field.kind.paths(values[name])


def _opened(declared: Family, values: Mapping[str, Any]) -> Iterator[tuple[str, list[ArrayFile]]]:
    """The arrays of every input that has some; only their headers are read where the format has one."""
    for name, field in declared.fields.items():
        texts = [*field.kind.paths(values[name])] if field.is_given(values[name]) else []
        if texts and all(split_member(text)[0].suffix.lower() in OPENERS for text in texts):
            yield name, open_arrays(texts) if isinstance(field.kind, Files) else [open_array(text) for text in texts]


def _inputs(declared: Family, values: Mapping[str, Any], arrays: Mapping[str, list[ArrayFile]]) -> Iterator[Input]:
    for name, field in declared.fields.items():
        texts = field.kind.paths(values[name]) if field.is_given(values[name]) else ()
        paths = [path for text in texts for path in files_named(text, Path.cwd())]
        if paths:
            size = sum(split_member(path)[0].stat().st_size for path in paths)
            yield Input(name, len(paths), size, sum(map(len, arrays[name])) if name in arrays else None)


def _sampled(
    declared: Family, values: Mapping[str, Any], arrays: Mapping[str, list[ArrayFile]], total: int
) -> _Sampled | None:
    shards = [name for name, field in declared.fields.items() if isinstance(field.kind, Files) and name in arrays]
    if not shards or not total:
        return None
    share = min(1.0, _SAMPLE / total)
    with tempfile.TemporaryDirectory(prefix="graphgauge-") as folder:
        evaluate = partial(_evaluated, declared, values, arrays, shards, Path(folder))
        try:
            evaluate(share / _SMALLER)  # what is compiled and imported on first use
            less, small, saved, _ = evaluate(share / _SMALLER)
            least = 0 if saved is None else saved.stat().st_size
            more, large, state, options = evaluate(share)
            start, program = _alone(declared, options)
            merge = _merge_seconds(declared, state, evaluate(share, share)[2])
        except GraphgaugeError:
            return None  # the rows of a sample do not make an evaluation; the whole may
        rate = max(large - small, 1) / max(more - less, 1e-6)
        size = 0 if state is None else state.stat().st_size
        growth = max(size - least, 0) / max(large - small, 1)
        return _Sampled(
            rate,
            start,
            max(0.0, less - small / rate),
            merge,
            max(0.0, size - growth * large),
            growth,
            program,
        )


def _evaluated(
    declared: Family,
    values: Mapping[str, Any],
    arrays: Mapping[str, list[ArrayFile]],
    shards: list[str],
    folder: Path,
    share: float,
    after: float = 0.0,
) -> tuple[float, int, Path | None, dict[str, Any]]:
    """The seconds to evaluate a share of the rows, `after` others, its bytes, its saved state, and the options."""
    lengths = {sum(map(len, arrays[name])) for name in shards}
    own = {
        **values,
        **{name: field.default for name, field in declared.fields.items() if isinstance(field.kind, Output)},
    }
    size = 0
    for name, files in arrays.items():
        if name in shards or sum(map(len, files)) in lengths:
            total = sum(map(len, files))
            first = min(round(after * total), total - 1)
            rows = Shards(files).rows(first, min(first + max(1, round(share * total)), total))
            np.save(folder / f"{name}.npy", rows)
            size += rows.nbytes
            value = str(folder / f"{name}.npy")
            own[name] = (value,) if name in shards else value
    state = folder / f"{after:g}.npz" if "save_state" in declared.fields else None
    begin = time.perf_counter()
    declared.evaluate_files(**own)
    spent = time.perf_counter() - begin
    if state is not None:
        declared.evaluate_files(**{**own, "save_state": str(state)})
    return spent, size, state, {name: plain(value) for name, value in own.items()}


def _alone(declared: Family, options: Mapping[str, Any]) -> tuple[float, int]:
    """The seconds until an evaluation begins in a process of its own, and the most bytes that the process takes."""
    begin = time.perf_counter()
    command = [sys.executable, "-c", _ALONE, declared.name, json.dumps(options)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    spent, peak = done.stdout.split()[-2:]
    return time.perf_counter() - begin - float(spent), int(peak)


class _Sampled(NamedTuple):
    """What was found on a sample.

    Bytes counted per second, seconds until an evaluation begins, besides counting and to add a state, the bytes of a
    state and those for each byte that was read, and the bytes of the process.
    """

    rate: float | None
    start: float
    fixed: float
    merge: float
    state: float
    growth: float
    program: int


def _merge_seconds(declared: Family, whole: Path | None, part: Path | None) -> float:
    """The time to load a state and add it to another one."""
    if whole is None or part is None:
        return 0.0
    kind = declared.state_class()
    merged = kind.load(whole)
    begin = time.perf_counter()
    merged.merge(kind.load(part))
    return time.perf_counter() - begin


def _read_rate(paths: list[str]) -> float:
    """Bytes per second of reading the largest file, from the disk if the system can be told to forget it."""
    places = [split_member(path)[0] for path in paths]
    largest = max(places, key=lambda place: place.stat().st_size)
    begin = time.perf_counter()
    with largest.open("rb", buffering=0) as stream:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, _SAMPLE, os.POSIX_FADV_DONTNEED)
        buffer, size, begin = bytearray(1 << 22), 0, time.perf_counter()
        while size < _SAMPLE and (read := stream.readinto(buffer)):
            size += read
        return size / (time.perf_counter() - begin)


def _hash_rate() -> float:
    content = bytes(_SAMPLE // _SMALLER)
    begin = time.perf_counter()
    hashlib.sha256(content).digest()
    return len(content) / (time.perf_counter() - begin)
