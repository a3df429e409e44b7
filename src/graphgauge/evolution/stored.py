"""Files of stored runs: arrays and births, written atomically and read as untrusted input."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.files import atomic_path
from graphgauge.io.parquet import read_parquet, readable

_SAVEZ = "Write it with np.savez; arrays of Python objects are not supported."
LAYOUT = "A run is a folder with cycle-00000.npz, cycle-00001.npz …, or with births.parquet and embeddings.npz."
# Errors raised for files that are damaged or not an archive.
_DAMAGE = (
    KeyError, ValueError, TypeError, AttributeError, OSError, EOFError, RuntimeError, MemoryError, struct.error,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_arrays(path: Path, wanted: tuple[str, ...]) -> dict[str, AnyArray]:
    """All arrays of a .npz file, which must include the wanted ones."""
    with archive(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for name in wanted:
        if name not in arrays:
            raise InputError(
                f"has no array {name!r}", where=str(path), fix=f"It contains {', '.join(arrays) or 'none'}."
            )
    return arrays


@contextmanager
def archive(path: Path) -> Iterator[Any]:
    """An open .npz file whose arrays are loaded on access, without unpickling."""
    # Opened here, because np.load does not close a file that it cannot read.
    with _readable(path, _SAVEZ), path.open("rb") as stream, _several(np.load(stream, allow_pickle=False)) as stored:
        yield stored


def read_births(path: Path) -> dict[str, AnyArray]:
    wanted = ("cycle", "source", "target")
    table = read_parquet(path, wanted)
    with readable(path, "Write the columns cycle, source and target."):
        columns = {name: as_numeric(table[name].to_numpy(), f"{path}: {name}") for name in wanted}
    for name, column in columns.items():
        if column.dtype.kind not in "iu":
            raise InputError(f"column {name!r} has type {column.dtype}, not whole numbers", where=str(path))
    return columns


@contextmanager
def _readable(path: Path, fix: str) -> Iterator[None]:
    """Converts errors of reading a file to an InputError."""
    try:
        yield
    except GraphgaugeError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), fix=LAYOUT) from None
    except _DAMAGE as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = (said.splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"cannot be read ({reason})", where=str(path), fix=fix) from None


def _several(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        raise ValueError("one array instead of several named ones")
    return found
