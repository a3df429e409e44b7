"""Files come into being whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphgauge.core.errors import InputError


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and is removed otherwise."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(target)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; a result is as readable as the umask says.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
