"""Archives of arrays, .npz files: read without pickle, and with the facts about them only if nothing was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.disk import atomic_path, parse_json
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray

# A file may unpack to this many bytes in any case, or to a hundred times its size.
_LARGEST, _RATIO = 1 << 29, 100
EDITION = "3"


def write_archive(path: str | Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays with their facts, which JSON can hold; equal contents are equal files.

    Examples
    --------
    >>> import numpy as np
    >>> write_archive("counts.npz", "example", {"seed": 0}, {"counts": np.arange(3)})
    >>> facts, arrays = read_archive("counts.npz", "example")
    >>> facts, arrays["counts"].tolist()
    ({'seed': 0}, [0, 1, 2])
    """
    content = {**facts, "schema": f"graphgauge/{kind}/{EDITION}"}
    content["root"] = _root(content, arrays)
    header = np.frombuffer(json.dumps(content, allow_nan=False).encode(), np.uint8)
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{"header": header, **arrays})


def read_archive(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The facts and the arrays of an archive of this kind."""
    content, arrays = _opened(path)
    schema, wanted = content.pop("schema", None), f"graphgauge/{kind}/{EDITION}"
    if schema != wanted:
        raise InputError(f"contains {schema!r:.60}", where=str(path), fix=f"Expected {wanted!r}.")
    if content.pop("root", None) != _root({**content, "schema": schema}, arrays):
        raise InputError("was changed after it was written", where=str(path), fix="Write it again.")
    return content, arrays


def archive_kind(path: str | Path) -> str:
    """What an archive contains, such as `ranking` for the state of a ranking."""
    schema = str(_opened(path)[0].get("schema"))
    return schema.removeprefix("graphgauge/").rpartition("/")[0]


def read_npz(path: str | Path, fix: str = "Write it with np.savez.") -> dict[str, AnyArray]:
    """All arrays of an .npz file by name; a small file that would fill the memory is refused."""
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            size = sum(member.file_size for member in archive.zip.infolist())
            require_bounded(Path(path).stat().st_size, size, str(path), "Write it uncompressed.")
            arrays = {name: archive[name] for name in archive.files}
            if len(arrays) < len(archive.zip.infolist()):
                raise ValueError("an array is there twice")
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is no array")
        return arrays
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except Exception as error:  # zipfile, zlib and NumPy each have their own for a damaged file
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be read as an archive of arrays ({said:.100})", where=str(path), fix=fix) from None


def require_bounded(packed: int, unpacked: int, where: str, fix: str) -> None:
    """Refuse a file that unpacks to far more than its size: a small file must not fill the memory."""
    if unpacked > max(_LARGEST, _RATIO * packed):
        raise InputError(f"unpacks from {packed:,} to {unpacked:,} bytes", where=where, fix=f"If this is right: {fix}")


def _opened(path: str | Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    arrays = read_npz(path, fix="Write it again.")
    try:
        return dict(parse_json(arrays.pop("header").tobytes())), arrays
    except (KeyError, ValueError, TypeError, RecursionError):
        raise InputError("not an archive of graphgauge", where=str(path)) from None


def _root(content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> str:
    """The SHA-256 of all facts and arrays."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape} ".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
