"""Writing files completely or not at all, and reading JSON that others wrote."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError

# Errors of the disk or of a pipe, not of the program.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE)
# JSON nested more deeply than any file of ours.
_DEEPEST = 60


class UnwritableError(InputError):
    """A file cannot be written: the disk is full, or the folder read-only."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path` that replaces it if the block succeeds, and is removed otherwise.

    Devices and pipes, such as /dev/stdout, cannot be replaced and are written directly. A full disk, or any other error
    while writing, is an InputError that names `path`.
    """
    target = Path(path)
    if _is_device(target):
        with _writing(target, target):
            yield target
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".graphgauge-{uuid.uuid4().hex}{target.suffix}"
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from None
    try:
        with _writing(target, temporary):
            yield temporary
        try:
            temporary.replace(target)
        except (OSError, ValueError) as error:
            raise _unwritable(target, error) from None
    finally:
        with suppress(OSError):  # a failed disk must not hide the first error
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, completely or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


def read_bytes(path: str | Path) -> bytes:
    """The content of a regular file."""
    place = Path(path)
    try:
        if not place.is_file() and place.exists():
            raise InputError("is a folder" if place.is_dir() else "is not a regular file", where=str(path))
        return place.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read ({_said(error)})", where=str(path)) from None


def read_json(path: str | Path, *, fix: str | None = None) -> Any:
    """The value in a JSON file, as `parse_json` reads it."""
    content = read_bytes(path)
    try:
        return parse_json(content)
    except (ValueError, RecursionError) as error:
        said = "brackets are nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"not a JSON file ({said})", where=str(path), fix=fix) from None


def parse_json(content: bytes | str) -> Any:
    """A JSON value. NaN and infinity, numbers beyond all floats, repeated keys and deep nesting are a ValueError."""
    value = json.loads(
        content, object_pairs_hook=_table, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole
    )
    _require_shallow(value)
    return value


def dump_json(content: Any) -> str:
    """Readable JSON with a line feed at its end."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r:.60} occurs more than once in a table")
    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large for a number")
    return value


def _whole(text: str) -> int:
    if len(text) > 300:
        raise ValueError(f"{text[:20]}… is too large for a number")
    return int(text)


def _require_shallow(value: Any) -> None:
    level, depth = [value], 0
    while level := [part for each in level for part in _parts(each)]:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} levels deep")


def _parts(value: Any) -> list[Any]:
    """The tables and lists in a value; lists of numbers, which are long, have none."""
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, dict | list)]
    return [each for each in value if isinstance(each, dict | list)] if isinstance(value, list) else []


@contextmanager
def _writing(target: Path, place: Path) -> Iterator[None]:
    """Disk errors in this block as errors of `target`; errors of other files that are read in it stay as they are."""
    try:
        yield
    except OSError as error:
        name = None if error.filename is None else Path(os.fsdecode(error.filename))
        if (name is None and error.errno in DISK_ERRORS) or (name is not None and name.is_relative_to(place)):
            raise _unwritable(target, error) from None
        raise


def _unwritable(target: Path, error: OSError | ValueError) -> UnwritableError:
    said = f"{error.filename} is not a folder" if isinstance(error, FileExistsError) else _said(error)
    return UnwritableError(f"cannot be written ({said})", where=str(target))


def _said(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _is_device(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
