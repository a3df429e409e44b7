"""What a result was computed from: hashes of its input files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphgauge.io.arrays import ArrayFile

_CHUNK = 1 << 22


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def receipt_input(name: str, path: str | Path) -> dict[str, Any]:
    return {"name": name, "path": str(path), "bytes": Path(path).stat().st_size, "hash": file_hash(path)}


def receipt_inputs(name: str, files: Iterable[ArrayFile]) -> list[dict[str, Any]]:
    """Receipt entries of the files that one input was read from."""
    return [{**receipt_input(name, file.path), "shape": list(file.shape), "dtype": str(file.dtype)} for file in files]
