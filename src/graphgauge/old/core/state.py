"""Shared parts of mergeable states: the names of counted shards, a file format without pickle."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.old.core.family import families, family, family_names
from graphgauge.old.core.files import DAMAGE, atomic_path, require_bounded_archive
from graphgauge.old.io.npz import Archive

# A file, or a stream to another process.
Place = str | Path | BinaryIO

# Format 2 added what keeps items from being counted twice: ids of queries, ranges of steps.
VERSION = "2"


class State(Protocol):
    """The counts of a part of an evaluation; states merge."""

    def merge(self, other: Self) -> Self: ...
    def save(self, place: Place) -> None: ...
    @classmethod
    def load(cls, place: Place) -> Self: ...


class CountedShards:
    """Names of the parts a state has counted, so that nothing is counted twice."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = set(names)

    def own(self) -> str:
        return uuid.uuid4().hex

    def add(self, name: str) -> None:
        if name in self.names:
            raise InputError(f"the shard {name!r} is already counted", fix="Give every part its own shard name.")
        self.names.add(name)

    def require_apart(self, other: CountedShards) -> None:
        twice = sorted(self.names & other.names)
        if twice:
            raise InputError(
                f"both states have the shard {twice[0]!r}" + (f" and {len(twice) - 1} more" if len(twice) > 1 else ""),
                fix="Merge each part once.",
            )

    def absorb(self, other: CountedShards) -> None:
        self.require_apart(other)
        self.names |= other.names


def state_class(kind: str) -> Any:
    """The class of a family's states."""
    declared = family(kind) if kind in family_names() else None
    if declared is None or declared.state is None:
        merged = [each.name for each in families() if each.state]
        raise InputError(f"evaluations of {kind} cannot be merged", fix=f"Those of {' and '.join(merged)} can.")
    return declared.state_class()


def save_state(place: Place, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a state as npz: arrays, and its facts as JSON text."""
    header = np.frombuffer(json.dumps({"state": f"graphgauge/{kind}/{VERSION}", **facts}).encode(), np.uint8)
    with _written(place) as stream:
        np.savez(stream, allow_pickle=False, header=header, **arrays)


def load_state(place: Place, kind: str | None = None) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a state back, without pickle. Returns its kind, its facts and its arrays."""
    where = place_name(place)
    try:
        # Opened here because np.load does not close a file that it cannot read.
        with _read(place) as stream:
            if stream.seekable():
                require_bounded_archive(stream, where)
            with np.load(stream, allow_pickle=False) as archive:
                arrays = Archive(archive).all()
        facts = dict(json.loads(arrays.pop("header").tobytes()))
        _, found, version = facts.pop("state").split("/")
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=where) from None
    except DAMAGE:
        raise InputError("not a saved graphgauge state", where=where, fix="Write it with state.save().") from None
    if kind not in (None, found):
        raise InputError(f"contains a {found} state", where=where, fix=f"Expected a {kind} state.")
    if version != VERSION:
        raise InputError(
            f"contains a state of format {version}; this version reads format {VERSION}",
            where=where,
            fix="Count the data again with this version, or merge with the version that wrote the file.",
        )
    return found, facts, arrays


def place_name(place: Place) -> str:
    return str(place) if isinstance(place, str | Path) else "a stream"


@contextmanager
def _written(place: Place) -> Iterator[BinaryIO]:
    if isinstance(place, str | Path):
        with atomic_path(place) as temporary, temporary.open("wb") as stream:
            yield stream
    else:
        yield place


@contextmanager
def _read(place: Place) -> Iterator[BinaryIO]:
    if isinstance(place, str | Path):
        with Path(place).open("rb") as stream:
            yield stream
    else:
        yield place
