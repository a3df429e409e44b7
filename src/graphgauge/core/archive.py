"""Archives: arrays and the facts about them in one .npz file, read without pickle and only if nothing was changed."""

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

# Unpacked archives beyond this size are refused unless the file is a hundredth of it.
_LARGEST, _RATIO = 1 << 31, 100
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


def _opened(path: str | Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            size = sum(member.file_size for member in archive.zip.infolist())
            if size > max(_LARGEST, _RATIO * Path(path).stat().st_size):
                raise InputError(f"unpacks to {size:,} bytes", where=str(path))
            arrays = {name: archive[name] for name in archive.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is no array")
        return dict(parse_json(arrays.pop("header").tobytes())), arrays
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except Exception as error:  # zipfile, zlib and NumPy each have their own for a damaged file
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not an archive of graphgauge ({said:.100})", where=str(path)) from None


def _root(content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> str:
    """The SHA-256 of all facts and arrays."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape} ".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
