"""Parquet: damage and size are found whoever reads the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io import parquet
from graphgauge.old.io.arrays import read_array
from graphgauge.old.io.graphs import read_graph
from graphgauge.old.io.tables import column_batches

WHOLE: dict[str, Callable[[Path], Any]] = {
    "graph": read_graph,
    "records": parquet.read_parquet,
}
READERS = WHOLE | {"array": read_array, "long table": lambda path: list(column_batches(path, ["cycle"]))}


def written(path: Path, rows: int = 3) -> Path:
    pq.write_table(pa.table({name: np.zeros(rows, np.int64) for name in ("cycle", "source", "target")}), path)
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", ["text", "cut", "pages"])
def test_damage(tmp_path: Path, reader: str, damage: str) -> None:
    path = written(tmp_path / "t.parquet")
    content = path.read_bytes()
    # Whole metadata over broken pages: found only when the values are read.
    pages = content[:4] + b"\xff" * 60 + content[64:]
    path.write_bytes({"text": b"no parquet", "cut": content[:-20], "pages": pages}[damage])
    with pytest.raises(InputError, match="cannot be read") as caught:
        READERS[reader](path)
    assert caught.value.where == str(path)
    assert caught.value.fix


@pytest.mark.parametrize("reader", READERS)
def test_files_that_are_none(tmp_path: Path, reader: str) -> None:
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "folder.parquet").mkdir()
    for name, message in (("absent", "no such file"), ("empty", "the file is empty"), ("folder", "is a folder")):
        with pytest.raises(InputError, match=message):
            READERS[reader](tmp_path / f"{name}.parquet")


@pytest.mark.parametrize("reader", WHOLE)
def test_a_table_that_is_too_large_is_not_read(tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_MOST_CELLS", 8)
    with pytest.raises(InputError, match=r"has 3 rows of 3 columns, more than are read at once.* at most 8 cells"):
        WHOLE[reader](written(tmp_path / "t.parquet"))
