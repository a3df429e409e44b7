"""Files as arrays: .npy is mapped, not read; all others are read whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_npz, require_bounded
from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.io.places import local_file, readable, split_member
from graphgauge.io.text import read_numbers

_PLAIN = "Write it with np.save; arrays of Python objects are not read, because they can contain code."
# Cells of a Parquet file that are read at once: a few bytes may stand for a billion of them.
_MOST_CELLS = 1 << 30


def open_array(text: str | Path, folder: Path = Path()) -> AnyArray:
    """The array in a file, by its ending; `archive.npz:name` is one of several."""
    name, member = split_member(str(text))
    path = local_file(name, folder)
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        what = f"files ending in {path.suffix or 'nothing'} are not read as arrays"
        raise InputError(what, where=str(text), fix=f"Use {', '.join(OPENERS)}.")
    with readable(str(text), _PLAIN if path.suffix.lower() in (".npy", ".npz") else "Write the file again."):
        array = opener(path, member)
    if not array.shape:
        raise InputError("contains a single number", where=str(text), fix="Write an array, with one row per item.")
    return array


def read_archive(text: str | Path, folder: Path = Path()) -> dict[str, AnyArray]:
    """All arrays of an .npz archive by name."""
    return read_npz(local_file(str(text), folder))


def read_parquet(path: Path) -> Any:
    """A Parquet file as an Arrow table."""
    parquet = need("pyarrow.parquet", "reading .parquet")
    with readable(str(path)):
        # Pages are read as they are decoded, instead of all row groups in advance.
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
        if file.metadata.num_rows * file.metadata.num_columns > _MOST_CELLS:
            raise InputError(
                f"has more than {_MOST_CELLS:,} cells", where=str(path), fix="Split it into several files."
            )
        return file.read()


def arrow_column(column: Any, where: str) -> AnyArray:
    """A column of an Arrow table; lists of equal lengths are rows, and cells that are empty are NaN."""
    if hasattr(column.type, "value_type") and not str(column.type).startswith("dictionary"):
        flat = column.combine_chunks()
        values = flat.flatten().to_numpy(zero_copy_only=False)
        rows = values.reshape(len(flat), -1) if len(flat) and not len(values) % len(flat) else None
        if rows is None or column.null_count or {len(each) for each in flat.to_pylist()[:1000]} != {rows.shape[1]}:
            raise InputError("lists of different lengths", where=where, fix="Write .npz with values and offsets.")
        return np.asarray(rows)
    array: AnyArray = np.asarray(column.to_numpy())
    if array.dtype == object:
        if not all(isinstance(each, str) for each in array):
            raise InputError("has empty cells, or neither numbers nor texts", where=where)
        return array.astype(np.str_)
    return array


def _open_npy(path: Path, member: str | None) -> AnyArray:
    try:
        array: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "greater than file size" not in str(error):
            raise
        raise InputError("is truncated: its head announces more bytes than it has", where=str(path)) from None
    return array


def _open_npz(path: Path, member: str | None) -> AnyArray:
    arrays = read_archive(path)
    return arrays[_chosen(path, member, list(arrays))]


def _open_torch(path: Path, member: str | None) -> AnyArray:
    torch = need("torch", "reading .pt files")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # torch's own text says how to load it all the same.
        objects = "Unsupported" in str(error)
        what = "contains objects other than tensors" if objects else "cannot be read (not a file of torch.save)"
        raise InputError(what, where=str(path), fix="Save a plain tensor; code in files is not loaded.") from None
    if isinstance(content, dict):
        content = content[_chosen(path, member, [str(key) for key in content])]
    array = as_numeric(content, str(path))
    # A tensor may be one number that is repeated in all places.
    require_bounded(path.stat().st_size, array.nbytes, str(path), "save tensor.clone().")
    return array


def _open_safetensors(path: Path, member: str | None) -> AnyArray:
    tensors = need("safetensors.numpy", "reading .safetensors files").load_file(path)
    array: AnyArray = tensors[_chosen(path, member, list(tensors))]
    return array


def _open_parquet(path: Path, member: str | None) -> AnyArray:
    table = read_parquet(path)
    columns = [arrow_column(table[name], f"{path}, column {name}") for name in table.column_names]
    if len(columns) == 1:
        return columns[0]
    if any(column.dtype.kind in "mM" for column in columns):
        raise InputError("has columns of dates, not numbers", where=str(path), fix="Write a long table.")
    return np.column_stack(columns)


def _open_csv(path: Path, member: str | None) -> AnyArray:
    array = read_numbers(path)[1]
    return array[:, 0] if array.shape[1] == 1 else array


def _open_json(path: Path, member: str | None) -> AnyArray:
    return as_numeric(read_json(path), str(path))


OPENERS: dict[str, Callable[[Path, str | None], AnyArray]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".csv": _open_csv,
    ".json": _open_json,
    ".parquet": _open_parquet,
    ".pt": _open_torch,
    ".pth": _open_torch,
    ".safetensors": _open_safetensors,
}


def _chosen(path: Path, member: str | None, members: Sequence[str]) -> str:
    if member is None and len(members) == 1:
        return members[0]
    if member is None or member not in members:
        what = "contains several arrays" if member is None else f"has no array {member!r}"
        raise InputError(what, where=str(path), fix=f"Pick one as {path.name}:NAME, NAME in {', '.join(members)}.")
    return member
