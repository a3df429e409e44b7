"""Array files, opened without reading them, and read in blocks of rows if the format allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric, text_array
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.old.core.files import (
    DAMAGE,
    first_line,
    is_pattern,
    matching,
    require_bounded,
    require_file,
    split_member,
)
from graphgauge.old.io.array_file import ArrayFile, LoadedArray
from graphgauge.old.io.delimited import NumberFile, read_named_numbers
from graphgauge.old.io.npz import open_npz
from graphgauge.old.io.sequential import CsvArray, ParquetArray

__all__ = ["OPENERS", "ArrayFile", "LoadedArray", "Shards", "open_array", "open_arrays", "read_array", "read_labels"]

# Text files above this size are read in parts, twice.
_LARGE_TEXT = 1 << 26
_READERS = ("pyarrow", "torch", "safetensors", "safetensors_rust", "_pickle")


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
        parts: list[AnyArray] = []
        first, shape = 0, self.files[0].shape[1:]
        for file in self.files:
            last = first + len(file)
            if first < stop and start < last:
                if parts and file.shape[1:] != shape:
                    raise InputError(
                        f"has the row shape {file.shape[1:]}, and files before it have {shape}",
                        where=str(file.path),
                        fix="Write all shards alike.",
                    )
                parts.append(file.rows(max(start - first, 0), min(stop, last) - first))
                shape = file.shape[1:]
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
            step = max(1, max_bytes // max(1, file.row_bytes))
            for start in range(0, len(file), step):
                yield slice(first + start, first + min(start + step, len(file)))
            first += len(file)

    def stream(self, max_bytes: int) -> Iterator[tuple[slice, AnyArray]]:
        """The `blocks` with their rows."""
        return ((block, self.rows(block.start, block.stop)) for block in self.blocks(max_bytes))


def _open_npy(path: Path, name: str | None) -> ArrayFile:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "greater than file size" not in str(error):
            raise
        raise InputError(
            f"is truncated: it has {path.stat().st_size:,} bytes, and its head announces more",
            where=str(path),
            fix="Write or copy it again.",
        ) from None
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
    if path.stat().st_size > _LARGE_TEXT:
        return CsvArray(path, NumberFile.of(path))
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


def require_alike(name: str, shards: Shards) -> None:
    """Refuse a shard of another dtype or width than the first, by name."""
    first = shards.files[0]
    for file in shards.files[1:]:
        for what, one, other in (("dtype", first.dtype, file.dtype), ("row shape", first.shape[1:], file.shape[1:])):
            if one != other:
                raise InputError(
                    f"has the {what} {other}, and {first.path.name} has {one}",
                    where=f"{name} ({file.path.name})",
                    fix="Write all shards alike.",
                )
