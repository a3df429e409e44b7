"""Files come into being whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphgauge.core.errors import InputError

# What goes wrong with a disk, or with a pipe that a file is, and not with a program.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE)
_TEMPORARY = re.compile(r"\.graphgauge-[0-9a-f]{32}(\.\w+)?")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and is removed otherwise.

    Devices and pipes, such as /dev/stdout, cannot be replaced: they are written themselves. A disk that is full, or
    whatever else prevents the writing, is an InputError that names `path`.
    """
    target = Path(path)
    if _is_device(target):
        with writing(target):
            yield target
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".graphgauge-{uuid.uuid4().hex}{target.suffix}"
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from None
    try:
        with writing(target, temporary):
            yield temporary
        try:
            temporary.replace(target)
        except (OSError, ValueError) as error:
            raise _unwritable(target, error) from None
    finally:
        with suppress(OSError):  # a disk that has failed must not hide how
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def writing(target: Path, place: Path | None = None) -> Iterator[None]:
    """Errors of the disk in this block are told as those of `target`, which is written at `place` or below it.

    Other files may be read in the block, and their errors are their own.
    """
    try:
        yield
    except OSError as error:
        name = None if error.filename is None else Path(os.fsdecode(error.filename))
        if name is None and error.errno in DISK_ERRORS:
            raise _unwritable(target, error) from None
        if name is not None and name.is_relative_to(place or target):
            raise _unwritable(target if place else name, error) from None
        raise


def is_temporary(path: Path) -> bool:
    """Whether a file has a name that only `atomic_path` gives."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _is_device(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _unwritable(target: Path, error: OSError | ValueError) -> InputError:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    if isinstance(error, FileExistsError):  # where a folder should be made
        reason = f"{error.filename} is not a folder"
    return InputError(f"cannot be written ({reason})", where=str(target))
