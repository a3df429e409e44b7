"""Atomic writing: a file is written completely or not at all."""

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

# Errors of the disk or of a pipe, not of the program.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE)
_TEMPORARY = re.compile(r"\.graphgauge-[0-9a-f]{32}(\.\w+)?")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path` that replaces it if the block succeeds, and is removed otherwise.

    Devices and pipes, such as /dev/stdout, cannot be replaced and are written directly. A full disk, or any other error
    while writing, is an InputError that names `path`.
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
        with suppress(OSError):  # a failed disk must not hide the first error
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def writing(target: Path, place: Path | None = None) -> Iterator[None]:
    """Report disk errors in this block as errors of `target`, which is written at `place` or below it.

    Errors of other files that are read in the block are left as they are.
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
    """Whether a file has a name made by `atomic_path`."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _is_device(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _unwritable(target: Path, error: OSError | ValueError) -> InputError:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    if isinstance(error, FileExistsError):  # in place of a folder
        reason = f"{error.filename} is not a folder"
    return InputError(f"cannot be written ({reason})", where=str(target))
