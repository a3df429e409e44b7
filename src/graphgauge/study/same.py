"""Where two folders of results differ: every file, every field, numbers up to the tolerance of their metric."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from graphgauge.core.archive import read_npz
from graphgauge.core.disk import parse_json, read_bytes
from graphgauge.core.errors import InputError
from graphgauge.core.sealed import root_of
from graphgauge.study.store import PRIVATE

# What is made from results, and differs between machines.
_PRODUCTS = (".html", ".svg", ".png", ".pdf")
# Fields that two identical computations differ in; the root is checked for itself.
_APART = {("root",), ("receipt", "started"), ("receipt", "seconds"), ("receipt", "versions")}
_USUAL = 1e-12
Tolerances = Mapping[str, float]


class Difference(Struct, frozen=True):
    """What differs: a field of a file, or a file as a whole."""

    file: str
    field: str
    words: str

    def __str__(self) -> str:
        return f"{self.file}: {f'{self.field}: ' if self.field else ''}{self.words}"


class Tree:
    """The files of a results folder, behind links too, with their content read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, Any] = {}

    @cached_property
    def files(self) -> dict[str, Path]:
        """Every file that is part of the results, by its name below the folder."""
        found: dict[str, Path] = {}
        seen = {os.path.realpath(self.root)}
        for folder, below, names in os.walk(self.root, followlinks=True):
            here = Path(folder)
            below[:] = sorted(name for name in below if not (here == self.root and name == PRIVATE))
            for name in list(below):
                real = os.path.realpath(here / name)
                if real in seen:  # a link into a folder above would never end
                    below.remove(name)
                    found[(here / name).relative_to(self.root).as_posix()] = here / name
                seen.add(real)
            for name in names:
                if not name.endswith(_PRODUCTS) and not name.startswith(".graphgauge-"):
                    found[(here / name).relative_to(self.root).as_posix()] = here / name
        return found

    def json(self, name: str) -> Any:
        """The content of a file of JSON."""
        if name not in self._read:
            self._read[name] = parse_json(read_bytes(self.files[name]))
        return self._read[name]

    @cached_property
    def tolerances(self) -> dict[str, float]:
        """How far each metric may differ, as its results declare."""
        found: dict[str, float] = {}
        for name in self.files:
            content = self.json(name) if name.endswith(".json") else None
            for each in content.get("results", ()) if isinstance(content, dict) else ():
                found[each["key"]] = max(each.get("tolerance", _USUAL), found.get(each["key"], _USUAL))
        return found


def differences(old: Tree, new: Tree) -> Iterator[Difference]:
    """Where old results differ from new ones, which were just computed."""
    for name in sorted({*old.files, *new.files}):
        if name not in new.files:
            yield Difference(name, "", "is no file of this study")
        elif name not in old.files:
            yield Difference(name, "", "is missing")
        else:
            yield from _of_file(name, old, new)


def _of_file(name: str, old: Tree, new: Tree) -> Iterator[Difference]:
    try:
        if name.endswith(".json"):
            content, again = old.json(name), new.json(name)
            sealed = isinstance(content, dict) and isinstance(again, dict) and "root" in again
            if sealed and content.get("root") != root_of(content):
                yield Difference(name, "root", "does not match: the file was edited or damaged after it was written")
            for side in content.get("side_files", ()) if isinstance(content, dict) else ():
                yield from _of_side(name, side, old)
            found = _unequal(content, again, (), new.tolerances)
        elif name.endswith(".npz"):
            found = _of_arrays(read_npz(old.files[name]), read_npz(new.files[name]), new.tolerances)
        else:
            found = iter([("", "differs")] if read_bytes(old.files[name]) != read_bytes(new.files[name]) else [])
        for field, words in found:
            yield Difference(name, field, words)
    except (InputError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        what = error.what if isinstance(error, InputError) else str(error)
        yield Difference(name, "", f"cannot be read ({what[:200]})")


def _of_side(name: str, side: Any, old: Tree) -> Iterator[Difference]:
    """A file beside a result has the hash that the result says."""
    beside = (Path(name).parent / str(side["name"])).as_posix()
    place = old.files.get(beside)
    if place is not None and hashlib.sha256(read_bytes(place)).hexdigest() != side["hash"]:
        yield Difference(beside, "", "has changed since its result was written")


def _unequal(old: Any, new: Any, path: tuple[Any, ...], near: Tolerances) -> Iterator[tuple[str, str]]:
    """The fields in which two values of JSON differ, with words for each."""
    if path in _APART or (path[:1] == ("side_files",) and path[2:] == ("hash",)):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if key not in old or key not in new:
                if (*path, key) not in _APART:
                    yield _named((*path, key)), "is missing" if key not in old else "does not belong here"
            else:
                yield from _unequal(old[key], new[key], (*path, key), _nearer(path, key, new, near))
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield _named(path), f"has {len(old):,} entries, and now {len(new):,}"
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _unequal(one, other, (*path, place), near)
    elif not _close(old, new, near.get("", _USUAL)):
        yield _named(path), f"{old!r:.60}, and now {new!r:.60}"


def _nearer(path: tuple[Any, ...], key: str, table: Mapping[str, Any], near: Tolerances) -> Tolerances:
    """The tolerance below a field: that of the metric that its table or its column is about."""
    about = table.get("key") or table.get("metric") or str(table.get("gate", "")).split(" ")[0].partition("[")[0]
    for name in (about, key, key.removesuffix(".low"), key.removesuffix(".high")):
        if name in near and name:
            return {**near, "": near[name]} if near.get("", _USUAL) < near[name] else near
    return near


def _close(old: Any, new: Any, tolerance: float) -> bool:
    """Equal and of one kind; floats may differ by rounding."""
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= tolerance * max(1.0, abs(old), abs(new))
    return type(old) is type(new) and bool(old == new)


def _named(path: Sequence[Any]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".")


def _of_arrays(old: Mapping[str, Any], new: Mapping[str, Any], near: Tolerances) -> Iterator[tuple[str, str]]:
    """The arrays in which two archives differ."""
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield name, "is missing" if name not in old else "does not belong here"
            continue
        a, b = old[name], new[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            yield name, f"is {a.dtype} {a.shape}, and now {b.dtype} {b.shape}"
        elif not _close_arrays(a, b, near.get(name.partition(".")[2], _USUAL)):
            yield name, "differs"


def _close_arrays(a: Any, b: Any, tolerance: float) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(a - b) <= tolerance * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    return bool(np.all(same | (close & np.isfinite(a) & np.isfinite(b))))
