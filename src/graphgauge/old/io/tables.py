"""Tables of named columns: .parquet and .csv are read, whole or in batches; .npz is written as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.core.files import atomic_path
from graphgauge.old.io import delimited, parquet
from graphgauge.old.io.npz import write_npz


def column_names(path: str | Path) -> list[str]:
    """The column names of a table."""
    return parquet.column_names(Path(path)) if _is_parquet(path) else delimited.read_table(Path(path))[0]


def column_batches(path: str | Path, columns: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
    """Some columns of a table, in batches of rows; an empty numeric cell is NaN."""
    if not _is_parquet(path):
        yield from delimited.read_columns(Path(path), columns)
        return
    for batch in parquet.read_columns(Path(path), columns):
        yield {name: _values(column, path, name) for name, column in batch.items()}


def write_table(path: str | Path, columns: Mapping[str, AnyArray]) -> None:
    """Write columns of equal length in the format of the file's ending, atomically."""
    kind = Path(path).suffix.lower()
    if kind == ".parquet":
        parquet.write_parquet(columns, Path(path))
    elif kind == ".npz":
        write_npz(path, columns)
    elif kind == ".csv":
        with atomic_path(path) as temporary:
            delimited.write_columns(temporary, columns)
    else:
        raise OptionError(
            f"tables are not written to {kind or 'files without ending'}", fix="Use .parquet, .csv or .npz."
        )


def _is_parquet(path: str | Path) -> bool:
    ending = Path(path).suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise InputError("is not a table", where=str(path), fix="Use .parquet or .csv.")
    return ending == ".parquet"


def _values(column: Any, path: str | Path, name: str) -> AnyArray:
    values: AnyArray = column.to_numpy(zero_copy_only=False)
    if values.dtype == object:
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"column {name!r} has empty cells, or neither numbers nor text", where=str(path))
        return values.astype(np.str_)
    return values
