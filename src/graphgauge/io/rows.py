"""Long tables, one observation per row, read in batches."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.io.text import first_line

_BATCH = 1 << 18


def column_names(path: str | Path) -> list[str]:
    """The column names of a table."""
    target = _existing(path)
    if target.suffix.lower() == ".parquet":
        return [str(name) for name in _parquet(target).schema_arrow.names]
    with target.open(encoding="utf-8-sig", newline="") as stream:
        try:
            return [name.strip() for name in next(csv.reader(stream), [])]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"cannot be read ({error})", where=str(path)) from None


def column_batches(path: str | Path, columns: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
    """Some columns of a table, in batches of rows; an empty numeric cell is NaN."""
    target, there = _existing(path), column_names(path)
    for name in columns:
        if there.count(name) != 1:
            what = f"no column {name!r}" if name not in there else f"has the column {name!r} twice"
            raise InputError(what, where=str(path), fix=f"It has {', '.join(there)}.")
    if target.suffix.lower() == ".parquet":
        yield from _parquet_batches(target, columns)
    else:
        yield from _csv_batches(target, columns)


def _existing(path: str | Path) -> Path:
    target = Path(path)
    if target.suffix.lower() not in (".parquet", ".csv"):
        raise InputError("is not a table", where=str(path), fix="Use .parquet or .csv.")
    if not target.is_file():
        raise InputError("no such file", where=str(path))
    return target


def _parquet(path: Path) -> Any:
    with sound_parquet(path):
        return need("pyarrow.parquet", "reading .parquet").ParquetFile(path)


def _parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
    with sound_parquet(path):
        for batch in _parquet(path).iter_batches(batch_size=_BATCH, columns=list(columns)):
            yield {name: _column(batch.column(name), path, name) for name in columns}


@contextmanager
def sound_parquet(path: Path) -> Iterator[None]:
    """Within this block a file that cannot be read is an InputError."""
    arrow = need("pyarrow", "reading .parquet")
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        raise InputError(
            f"cannot be read ({first_line(error)})", where=str(path), fix="Write the file again."
        ) from None


def _column(column: Any, path: Path, name: str) -> AnyArray:
    values: AnyArray = column.to_numpy(zero_copy_only=False)
    if values.dtype == object:
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"column {name!r} has empty cells, or neither numbers nor text", where=str(path))
        return values.astype(np.str_)
    return values


def _csv_batches(path: Path, columns: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream)
        try:
            names = [name.strip() for name in next(reader)]
            places = [names.index(name) for name in columns]
            while rows := list(islice(reader, _BATCH)):
                rows = [row for row in rows if row]  # blank lines
                yield {name: _values([row[place] for row in rows]) for name, place in zip(columns, places, strict=True)}
        except IndexError:
            raise InputError(f"line {reader.line_num} has too few columns", where=str(path)) from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"cannot be read ({error})", where=str(path)) from None


def _values(texts: list[str]) -> AnyArray:
    """Integers, floats or text: the first type that fits all of them."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([text if kind is np.int64 else text.strip() or "nan" for text in texts]).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array(texts, dtype=np.str_)
