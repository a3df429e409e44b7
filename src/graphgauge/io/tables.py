"""Files as tables, ragged arrays, sets and labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_labels, text_array
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError
from graphgauge.io.arrays import arrow_column, open_array, read_archive, read_parquet
from graphgauge.io.places import local_file, readable
from graphgauge.io.text import read_columns, read_label_column, read_lines

RAGGED = ("values", "offsets")


def read_table(text: str, folder: Path = Path()) -> dict[str, AnyArray]:
    """A table as its columns by name."""
    path = local_file(text, folder)
    reader = _TABLES.get(path.suffix.lower())
    if reader is None:
        what = f"files ending in {path.suffix or 'nothing'} are not read as tables"
        raise InputError(what, where=text, fix=f"Use {', '.join(_TABLES)}.")
    with readable(text):
        columns = reader(path)
    for name, column in columns.items():
        if not column.ndim:
            raise InputError(f"{name!r:.60} is a single value, no column", where=text, fix="Write a value per row.")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        name = next(name for name, length in lengths.items() if length != next(iter(lengths.values())))
        what = f"column {name!r:.60} has {lengths[name]:,} rows, and the first {next(iter(lengths.values())):,}"
        raise InputError(what, where=text)
    return columns


def read_ragged(text: str, folder: Path = Path()) -> Any:
    """An .npz with `values` and `offsets` as this pair; any other file as its array."""
    if text.lower().endswith(".npz"):
        arrays = read_archive(text, folder)
        if set(arrays) == set(RAGGED):
            return arrays["values"], arrays["offsets"]
    return open_array(text, folder)


def read_set(text: str, folder: Path = Path()) -> Any:
    """A set of entities per query: an .npz with `values` and `offsets`, a sparse matrix, pairs, or one per query."""
    ending = Path(text).suffix.lower()
    if ending == ".npz":
        arrays = read_archive(text, folder)
        if {"format", "shape", "data"} <= set(arrays):
            from scipy import sparse

            with readable(text, "Write it with scipy.sparse.save_npz."):
                return sparse.load_npz(local_file(text, folder))
    if ending in (".csv", ".parquet"):
        columns = list(read_table(text, folder).values())
        if len(columns) > 2:
            raise InputError(f"has {len(columns)} columns", where=text, fix="Write two: the query and the entity.")
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    return read_ragged(text, folder)


def read_labels(text: str, folder: Path = Path()) -> AnyArray:
    """One label per item: the lines of a text, the only column of a table, or an array of integers or texts."""
    ending = Path(text).suffix.lower()
    if ending == ".txt":
        return text_array(read_lines(local_file(text, folder)), text)
    if ending == ".csv":
        return read_label_column(local_file(text, folder))
    if ending == ".json":
        return as_labels(read_json(local_file(text, folder)), text)
    if ending == ".parquet":
        columns = list(read_table(text, folder).values())
        if len(columns) != 1:
            raise InputError(f"has {len(columns)} columns", where=text, fix="Write only the labels.")
        return columns[0]
    return open_array(text, folder)


def begins_with_zero(text: str, folder: Path = Path()) -> bool:
    """Whether the first line of a .csv is a bare 0."""
    if Path(text).suffix.lower() != ".csv":
        return False
    with local_file(text, folder).open(encoding="utf-8-sig") as stream:
        return stream.readline().strip(' \t\r\n"') == "0"


def _parquet_table(path: Path) -> dict[str, AnyArray]:
    table = read_parquet(path)
    return {name: arrow_column(table[name], f"{path}, column {name}") for name in table.column_names}


def _json_table(path: Path) -> dict[str, AnyArray]:
    """An object of columns, or a list of objects with the same keys."""
    content = read_json(path)
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        names = list(content[0])
        for number, row in enumerate(content):
            if list(row) != names:
                raise InputError(
                    f"row {number} has the keys {', '.join(row)}", where=str(path), fix="Write equal keys."
                )
        content = {name: [row[name] for row in content] for name in names}
    if not isinstance(content, dict) or not all(isinstance(column, list) for column in content.values()):
        raise InputError("is not a table", where=str(path), fix="Write an object of columns, or a list of rows.")
    columns = {
        name: np.array([np.nan if each is None else each for each in column]) for name, column in content.items()
    }
    for name, column in columns.items():
        if column.dtype == object or column.ndim != 1:
            raise InputError(f"column {name!r:.60} mixes types", where=str(path))
    return columns


_TABLES: dict[str, Callable[[Path], dict[str, AnyArray]]] = {
    ".csv": read_columns,
    ".parquet": _parquet_table,
    ".npz": lambda path: read_archive(path),
    ".json": _json_table,
}
