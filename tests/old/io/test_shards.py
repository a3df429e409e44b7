"""Blocks of shards, and of files that are read in batches, are the rows of the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io.arrays import Shards, open_array, open_arrays


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for number, rows in enumerate((40, 0, 7, 33)):
        np.save(tmp_path / f"x-{number}.npy", rng.random((rows, 5), np.float32))
    return tmp_path


@pytest.mark.parametrize("most", [1, 100, 700, 1 << 20])
def test_a_stream_is_the_blocks(shards: Path, most: int):
    whole = Shards(open_arrays([str(shards / "x-*.npy")]))
    found = list(whole.stream(most))
    assert [block for block, _ in found] == list(whole.blocks(most))
    for block, rows in found:
        assert np.array_equal(rows, whole.rows(block.start, block.stop))


def test_columns_first_are_read(tmp_path: Path):
    array = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    np.save(tmp_path / "x.npy", array)
    file = open_array(tmp_path / "x.npy")
    found = np.concatenate([rows for _, rows in Shards([file]).stream(24)])
    assert np.array_equal(found, array)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_batches_in_any_order_are_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str):
    monkeypatch.setattr("graphgauge.old.io.sequential._BATCH_BYTES", 100)
    monkeypatch.setattr("graphgauge.old.io.arrays._LARGE_TEXT", 0)
    table = np.random.default_rng(1).random((50, 3))
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        columns = {name: table[:, place] for place, name in enumerate("abc")}
        pq.write_table(pa.table(columns), path, row_group_size=11)
    else:
        np.savetxt(path, table, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    file = open_array(path)
    assert (file.shape, file.columns) == ((50, 3), ["a", "b", "c"])
    for start, stop in [(0, 50), (3, 9), (9, 30), (2, 3), (48, 50), (50, 50), (0, 1)]:
        assert np.array_equal(file.rows(start, stop), table[start:stop])
    assert np.array_equal(file.take(np.array([7, 3, 49, 3])), table[[7, 3, 49, 3]])


@pytest.mark.parametrize(
    ("text", "shape", "names"),
    [
        ("1.5\n2\n\n3\n", (3,), None),
        ("\ufeffa,b\n1,2\n3,4\n", (2, 2), ["a", "b"]),
        ("1,2\n3,4\n5,6\n", (3, 2), None),
        ("0,1\n0.5,0.25\n1.5,2.5\n", (2, 2), ["0", "1"]),
        ("1,2\r\n3,nan\r\n", (2, 2), None),
    ],
)
def test_large_text_is_read_as_small_text_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text, shape, names):
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8", newline="")
    small = open_array(path)
    monkeypatch.setattr("graphgauge.old.io.arrays._LARGE_TEXT", 0)
    monkeypatch.setattr("graphgauge.old.io.delimited._BATCH", 2)
    large = open_array(path)
    assert (large.shape, large.columns) == (small.shape, small.columns) == (shape, names)
    assert np.array_equal(large.rows(0, len(large)), small.rows(0, len(small)), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "said"), [("1,2\n3\n", "line 2"), ("1\n2\nx\n", "line 3 .*'x' is not a number"), ("a\n", "no numbers")]
)
def test_large_text_names_its_wrong_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str):
    monkeypatch.setattr("graphgauge.old.io.arrays._LARGE_TEXT", 0)
    monkeypatch.setattr("graphgauge.old.io.delimited._BATCH", 1)
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        open_array(tmp_path / "x.csv")
