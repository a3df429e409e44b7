"""Array files, opened without reading them, and read in blocks of rows if the format allows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric, text_array
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.files import (
    DAMAGE,
    first_line,
    is_pattern,
    matching,
    require_bounded,
    require_file,
    split_member,
)
from graphgauge.io.delimited import NO_DATES, read_named_numbers
from graphgauge.io.npz import open_npz
from graphgauge.io.parquet import open_parquet, sound

_READERS = ("pyarrow", "torch", "safetensors", "safetensors_rust", "_pickle")


class ArrayFile(ABC):
    """One array in a file; `rows` reads a range of its first axis.

    `member` names it among several in one file; `columns` names its columns if the file does.
    """

    member: str | None = None
    columns: list[str] | None = None

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def rows(self, start: int, stop: int) -> AnyArray: ...

    def take(self, rows: AnyArray) -> AnyArray:
        """Some rows by number, in this order; read in the order of the file."""
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for place in np.argsort(rows, kind="stable").tolist():
            found[place] = self.rows(int(rows[place]), int(rows[place]) + 1)[0]
        return found


class LoadedArray(ArrayFile):
    """An array that is in memory, or mapped into it."""

    def __init__(self, path: Path, array: AnyArray) -> None:
        super().__init__(path, array.shape, array.dtype)
        self._array = array

    def rows(self, start: int, stop: int) -> AnyArray:
        return self._array[start:stop]

    def take(self, rows: AnyArray) -> AnyArray:
        order = np.argsort(rows, kind="stable")
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        found[order] = self._array[rows[order]]
        return found


class ParquetArray(ArrayFile):
    """Numeric columns, or one column of equally long lists, read by row group."""

    def __init__(self, path: Path) -> None:
        self._file = open_parquet(path)
        first = next(self._file.iter_batches(batch_size=1), None)
        sample = np.empty((0, 0)) if first is None else _matrix(first)
        self._starts = [0]
        for group in range(self._file.num_row_groups):
            self._starts.append(self._starts[-1] + self._file.metadata.row_group(group).num_rows)
        super().__init__(path, (self._starts[-1], *sample.shape[1:]), sample.dtype)
        self._cached: tuple[int, AnyArray] | None = None
        names = [str(name) for name in self._file.schema_arrow.names]
        self.columns = names if self.shape[1:] == (len(names),) and len(names) > 1 else None

    def rows(self, start: int, stop: int) -> AnyArray:
        parts = []
        for group, (first, last) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            if first < stop and start < last:
                block = self._group(group)
                if block.shape[1:] != self.shape[1:]:
                    raise InputError("rows of different lengths", where=str(self.path), fix="Write values and offsets.")
                parts.append(block[max(start - first, 0) : stop - first])
        return np.concatenate(parts) if parts else np.empty((0, *self.shape[1:]), self.dtype)

    def _group(self, group: int) -> AnyArray:
        # Consecutive blocks mostly fall into one row group.
        if self._cached is None or self._cached[0] != group:
            with sound(self.path):
                self._cached = group, _matrix(self._file.read_row_group(group))
        return self._cached[1]


def open_array(path: str | Path) -> ArrayFile:
    """Open an array file by its ending. `archive.npz:name` picks one array of several."""
    target, name = split_member(str(path))
    opener = OPENERS.get(target.suffix.lower())
    if opener is None:
        known = ", ".join(OPENERS)
        raise InputError(
            f"files ending in {target.suffix or 'nothing'} are not read", where=str(path), fix=f"Use {known}."
        )
    require_file(target, str(path))
    try:
        found = opener(target, name)
    except InputError:
        raise
    except Exception as error:
        if not isinstance(error, DAMAGE) and type(error).__module__.partition(".")[0] not in _READERS:
            raise
        raise InputError(f"cannot be read ({first_line(error)})", where=str(path), fix=_damaged(target)) from None
    found.member = name
    if not found.shape:
        raise InputError("contains a single number", where=str(path), fix="Write an array, with one row per item.")
    return found


def open_arrays(patterns: Sequence[str]) -> list[ArrayFile]:
    """Open all files that match the names and patterns, with numbers in names in numeric order."""
    paths: list[str] = []
    for pattern in patterns:
        found = matching(pattern) if is_pattern(pattern) else [pattern]
        if not found:
            raise InputError("no file matches this pattern", where=pattern)
        paths += found
    return [open_array(path) for path in paths]


def read_array(path: str | Path) -> AnyArray:
    """The whole array in a file."""
    source = open_array(path)
    return source.rows(0, len(source))


def read_labels(path: str | Path) -> AnyArray:
    """Labels, one per line of a text file, or an integer or text array."""
    target = Path(path)
    if target.suffix.lower() in (".txt", ".csv"):
        require_file(target, str(path))
        try:
            text = target.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", where=str(path)) from None
        return text_array(text.removesuffix("\n").split("\n"), str(path))
    return read_array(path)


@dataclass(frozen=True)
class Shards:
    """Files of one array, read as if concatenated."""

    files: Sequence[ArrayFile]

    def __len__(self) -> int:
        return sum(len(file) for file in self.files)

    def rows(self, start: int, stop: int) -> AnyArray:
        parts, first = [], 0
        for file in self.files:
            last = first + len(file)
            if first < stop and start < last:
                parts.append(file.rows(max(start - first, 0), min(stop, last) - first))
            first = last
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole; all files have rows like those of the first."""
        return (len(self), *(self.files[0].shape[1:] if self.files else ()))

    def take(self, rows: AnyArray) -> AnyArray:
        """Some rows by number, in this order; nothing else is read."""
        starts = np.cumsum([0, *map(len, self.files)])
        owner = np.searchsorted(starts, rows, side="right") - 1
        parts = [file.take(rows[owner == number] - starts[number]) for number, file in enumerate(self.files)]
        found = np.empty((len(rows), *self.shape[1:]), np.result_type(*(file.dtype for file in self.files)))
        for number, part in enumerate(parts):
            found[owner == number] = part
        return found

    def blocks(self, max_bytes: int) -> Iterator[slice]:
        """Ranges of rows within one file, of at most `max_bytes`."""
        first = 0
        for file in self.files:
            width = int(np.prod(file.shape[1:], dtype=np.int64)) * file.dtype.itemsize
            step = max(1, max_bytes // max(1, width))
            for start in range(0, len(file), step):
                yield slice(first + start, first + min(start + step, len(file)))
            first += len(file)


def _open_npy(path: Path, name: str | None) -> ArrayFile:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return LoadedArray(path, array)


def _open_npz(path: Path, name: str | None) -> ArrayFile:
    with open_npz(path) as archive:
        return LoadedArray(path, archive[_member(path, name, archive.files)])


def _open_torch(path: Path, name: str | None) -> ArrayFile:
    torch = need("torch", "reading .pt files")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        # torch's own text says how to load it all the same.
        objects = "Unsupported global" in str(error) or "Unsupported class" in str(error)
        what = "contains objects other than tensors" if objects else "cannot be read (not a file of torch.save)"
        raise InputError(what, where=str(path), fix=_damaged(path)) from None
    if isinstance(content, dict):
        content = content[_member(path, name, [str(key) for key in content])]
    array = as_numeric(content, str(path))
    # A tensor may be one number that is repeated in all places.
    require_bounded(path.stat().st_size, array.nbytes, str(path), "If this is right, save tensor.clone().")
    return LoadedArray(path, array)


def _open_safetensors(path: Path, name: str | None) -> ArrayFile:
    tensors = need("safetensors.numpy", "reading .safetensors files").load_file(path)
    return LoadedArray(path, tensors[_member(path, name, list(tensors))])


def _open_parquet(path: Path, name: str | None) -> ArrayFile:
    return ParquetArray(path)


def _open_csv(path: Path, name: str | None) -> ArrayFile:
    names, array = read_named_numbers(path)
    found = LoadedArray(path, array[:, 0] if array.shape[1] == 1 else array)
    found.columns = names if array.shape[1] > 1 else None
    return found


OPENERS: dict[str, Callable[[Path, str | None], ArrayFile]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".pt": _open_torch,
    ".pth": _open_torch,
    ".safetensors": _open_safetensors,
    ".parquet": _open_parquet,
    ".csv": _open_csv,
}


def _matrix(batch: Any) -> AnyArray:
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if column.null_count:
            raise InputError(f"column {field.name!r} has empty cells", fix="Write NaN where a score is missing.")
        flat = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if hasattr(flat.type, "value_type"):
            lengths = np.diff(np.asarray(flat.offsets)) if hasattr(flat, "offsets") else np.array([flat.type.list_size])
            if len(set(lengths.tolist())) > 1:
                raise InputError(
                    f"lists of different lengths in column {field.name!r}", fix="Write values and offsets."
                )
            columns.append(flat.flatten().to_numpy(zero_copy_only=False).reshape(len(flat), -1))
        else:
            columns.append(flat.to_numpy(zero_copy_only=False))
    if len(columns) == 1:
        only: AnyArray = columns[0]
        return only
    for name, column in zip(batch.schema.names, columns, strict=True):
        if column.dtype.kind in "mM":
            raise InputError(f"column {name!r:.60} contains dates, not numbers", fix=NO_DATES)
    return np.column_stack(columns)


def _member(path: Path, name: str | None, members: Sequence[str]) -> str:
    if name is None and len(members) == 1:
        return members[0]
    if name is None or name not in members:
        wanted = "contains several arrays" if name is None else f"has no array {name!r}"
        raise InputError(wanted, where=str(path), fix=f"Pick one as {path.name}:NAME, NAME in {', '.join(members)}.")
    return name


def _damaged(path: Path) -> str:
    if path.suffix.lower() in (".npy", ".npz"):
        return "Write it with np.save; arrays of Python objects are not read, because they can contain code."
    if path.suffix.lower() in (".pt", ".pth"):
        return "Save a plain tensor; files that contain code are not loaded."
    return "Write the file again; it may be damaged."
