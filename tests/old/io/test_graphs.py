"""Graph files that are not what they should be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io.graphs import read_graph


def test_a_list_of_edges_as_spreadsheets_write_it(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("\ufeffsource,target,weight\na,b,0.5\n", encoding="utf-8")
    assert read_graph(path).edges == [("a", "b", 0.5)]


@pytest.mark.parametrize("row", ["a", "a,b,1"])
def test_edges_have_the_cells_of_their_head(tmp_path: Path, row: str) -> None:
    path = tmp_path / "g.csv"
    path.write_text(f"source,target\nx,y\n{row}\n")
    with pytest.raises(InputError, match=rf"line 3 has {row.count(',') + 1} cells?, not 2"):
        read_graph(path)


def test_parquet_without_numbers(tmp_path: Path) -> None:
    for table in (pa.table({}), pa.table({"a": ["x"], "b": ["y"]})):
        pq.write_table(table, tmp_path / "g.parquet")
        with pytest.raises(InputError, match="has no column of numbers"):
            read_graph(tmp_path / "g.parquet")
