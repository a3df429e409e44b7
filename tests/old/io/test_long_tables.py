"""Long tables in batches, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io.tables import column_batches, column_names


def test_columns_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufefftime, node,y\n1,a,0.5\n\n2,b,\n", encoding="utf-8")
    assert column_names(path) == ["time", "node", "y"]
    (batch,) = column_batches(path, ["time", "node", "y"])
    assert (batch["time"].tolist(), batch["node"].tolist()) == ([1, 2], ["a", "b"])
    assert str(batch["y"].tolist()) == "[0.5, nan]"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "time,y\n1,2\n", "no column 'node'. It has time, y"),
        ("t.csv", "node,node\n1,2\n", "has the column 'node' twice"),
        ("t.csv", "time,node\n1\n", "line 2 has 1 cell, not 2"),
        ("t.parquet", "no parquet", "cannot be read"),
        ("t.txt", "", "is not a table. Use .parquet or .csv"),
    ],
)
def test_what_is_no_such_table(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        list(column_batches(tmp_path / name, ["node"]))
