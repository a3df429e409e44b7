"""The results folder of a study: its lock, its results, and leftover files."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import is_temporary, write_text
from graphgauge.old.core.schema import dumps, read_content, sealed, side_path
from graphgauge.old.io.hashing import file_hash
from graphgauge.study.model import COMPARISONS, Item, Study

_PRIVATE = ".graphgauge"
# The errors of flock if another process has the lock; other errors concern the file system.
_LOCKED = (errno.EWOULDBLOCK, errno.EAGAIN)


@contextmanager
def sole_writer(results: Path) -> Iterator[None]:
    """Allow one run at a time; the lock is released when its process ends."""
    try:
        import fcntl
    except ImportError:  # without locks results are still complete, but two runs may do the same work
        yield
        return
    try:
        private(results).mkdir(parents=True, exist_ok=True)
        lock = (private(results) / "lock").open("a")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(results)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _LOCKED:
                raise InputError("another run is writing here", where=str(results), fix="Wait for it to end.") from None
            warnings.warn(
                f"{results}: this file system has no locks ({error.strerror}), so nothing prevents a second run from "
                "writing here at the same time",
                stacklevel=2,
            )
        yield


def private(results: Path) -> Path:
    """The folder for a run's internal files; no method's folder begins with a dot."""
    return results / _PRIVATE


def hashes_file(results: Path) -> Path:
    return private(results) / "hashes.json"


def sweep(study: Study) -> None:
    """Remove incomplete files of killed runs from the folders that the study writes to."""
    results = study.results
    written = {results, results / COMPARISONS, private(results), *(item.path(results).parent for item in study.items)}
    for folder in written:
        for path in folder.glob(".*"):
            if is_temporary(path):
                with suppress(OSError):
                    path.unlink()


def whole(path: Path) -> dict[str, Any] | None:
    """The content of a result file if it and its side files are unchanged, else None."""
    try:
        content = read_content(path)
        beside = [(side_path(path.parent, side), side["hash"]) for side in content["side_files"]]
        unharmed = all(file_hash(side) == digest for side, digest in beside)
    except (InputError, OSError, KeyError, TypeError, AttributeError, ValueError):
        return None
    return content if unharmed else None


def write_failure(item: Item, path: Path, error: str, receipt: Mapping[str, Any]) -> None:
    """Write a failed item as a result too, so that failures are recorded."""
    content = Evaluation(item.family, [], run=item.run).to_dict()
    content |= {"status": "failed", "error": error}
    content["receipt"] |= dict(receipt)
    write_text(path, dumps(sealed(content)))
