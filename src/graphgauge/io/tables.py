"""Columns of equal length, written as Parquet, CSV or npz."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import OptionError
from graphgauge.core.extras import need
from graphgauge.core.files import atomic_path


def write_table(path: str | Path, columns: Mapping[str, AnyArray]) -> None:
    """Write columns in the format of the file's ending, atomically."""
    kind = Path(path).suffix.lower()
    if kind not in (".parquet", ".csv", ".npz"):
        raise OptionError(
            f"tables are not written to {kind or 'files without ending'}", fix="Use .parquet, .csv or .npz."
        )
    if kind == ".parquet":
        arrow, parquet = need("pyarrow", "writing .parquet"), need("pyarrow.parquet", "writing .parquet")
        with atomic_path(path) as temporary:
            parquet.write_table(arrow.table(dict(columns)), temporary)
    elif kind == ".npz":
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **columns)
    else:
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(map(csv_cell, values.tolist()) for values in columns.values()), strict=True))


def csv_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a leading quote; numbers are unchanged."""
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
