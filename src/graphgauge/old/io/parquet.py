"""Parquet files, whole or in batches; a damaged file, or one too large to be read at once, is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.old.core.files import DAMAGE, atomic_path, readable, require_file
from graphgauge.old.io.delimited import require_columns

_BATCH = 1 << 18
# Read from a column at once.
_PAGE_BYTES = 1 << 20
# Cells that are read at once. A few bytes of a file may stand for a billion of them.
_MOST_CELLS = 1 << 30


def sound(path: str | Path, fix: str = "Write the file again; it may be damaged.") -> AbstractContextManager[None]:
    """Within this block a file that cannot be read is an InputError."""
    return readable(path, fix, (*DAMAGE, need("pyarrow", "reading .parquet").ArrowException))


def open_parquet(path: Path) -> Any:
    """The open file, of which only the metadata is read."""
    parquet = need("pyarrow.parquet", "reading .parquet")
    require_file(path)
    with sound(path):
        # Pages are read as they are decoded, instead of all row groups in advance.
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_PAGE_BYTES)


def column_names(path: Path) -> list[str]:
    return [str(name) for name in open_parquet(path).schema_arrow.names]


def declared_categories(path: Path) -> set[str]:
    """The columns that pandas wrote as categories, or Arrow as a dictionary."""
    schema = open_parquet(path).schema_arrow
    try:
        described = (schema.pandas_metadata or {}).get("columns", [])
        named = {str(entry["name"]) for entry in described if entry["pandas_type"] == "categorical"}
    except (ValueError, KeyError, TypeError, AttributeError):  # metadata of another program
        named = set()
    return named | {str(field.name) for field in schema if str(field.type).startswith("dictionary")}


def read_parquet(path: Path, columns: Sequence[str] = ()) -> Any:
    """The whole table, or some columns of it."""
    file = open_parquet(path)
    require_columns(columns, file.schema_arrow.names, path)
    rows, width = file.metadata.num_rows, len(columns) or file.metadata.num_columns
    if rows * width > _MOST_CELLS:
        raise InputError(
            f"has {rows:,} rows of {width:,} columns, more than are read at once",
            where=str(path),
            fix=f"Split it into files of at most {_MOST_CELLS:,} cells.",
        )
    with sound(path):
        return file.read(columns=list(columns) or None)


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Some columns as Arrow arrays, in batches of rows."""
    file = open_parquet(path)
    require_columns(columns, file.schema_arrow.names, path)
    with sound(path):
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns)):
            yield {name: batch.column(name) for name in columns}


def write_parquet(table: Any, path: Path) -> None:
    """Write an Arrow table, or columns of equal length, atomically."""
    arrow, parquet = need("pyarrow", "writing .parquet"), need("pyarrow.parquet", "writing .parquet")
    content = arrow.table(dict(table)) if isinstance(table, Mapping) else table
    with atomic_path(path) as temporary:
        parquet.write_table(content, temporary)
