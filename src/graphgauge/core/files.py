"""Files come into being whole or not at all."""

from __future__ import annotations

import uuid
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
        temporary = target.parent / f".{uuid.uuid4().hex}{target.suffix}"
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from None
    try:
        yield temporary
        try:
            temporary.replace(target)
        except (OSError, ValueError) as error:
            raise _unwritable(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(target: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else error
    return InputError(f"cannot be written ({reason})", where=str(target))


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
