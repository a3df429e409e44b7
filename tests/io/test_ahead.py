"""Blocks that are read ahead are those of the files, hashed as they are; used pages are given back."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge.core.errors import InputError
from graphgauge.io.ahead import ahead, hashing_while_reading
from graphgauge.io.arrays import Shards, open_array, open_arrays
from graphgauge.io.hashing import file_hash, receipt_inputs


def test_parts_come_in_order_and_are_read_by_another_thread():
    def read(part):
        return part, threading.current_thread() is threading.main_thread()

    assert list(ahead(range(20), read)) == [(part, (part, False)) for part in range(20)]
    assert list(ahead([], read)) == []


def test_no_more_parts_are_read_than_may_be_in_memory():
    begun, used = [], []
    for part, _ in ahead(range(30), begun.append, 2):
        used.append(part)
        assert max(begun) <= part + 2
    assert begun == used == [*range(30)]


def test_an_error_comes_in_its_turn_and_ends_the_reading():
    def read(part):
        if part == 3:
            raise InputError("broken")
        return part

    found = []
    with pytest.raises(InputError, match="broken"):  # noqa: PT012, the parts before it come first
        for part, _ in ahead(range(100), read):
            found.append(part)
    assert found == [0, 1, 2]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for number, rows in enumerate((40, 0, 7, 33)):
        np.save(tmp_path / f"x-{number}.npy", rng.random((rows, 5), np.float32))
    return tmp_path


@pytest.mark.parametrize("most", [1, 100, 700, 1 << 20])
@pytest.mark.parametrize("hashed", [False, True])
def test_a_stream_is_the_blocks(shards: Path, most: int, hashed: bool):
    files = open_arrays([str(shards / "x-*.npy")])
    whole = Shards(files)
    with hashing_while_reading(hashed):
        found = [(block, rows.copy()) for block, rows in whole.stream(most)]
    assert [block for block, _ in found] == list(whole.blocks(most))
    for block, rows in found:
        assert np.array_equal(rows, whole.rows(block.start, block.stop))
    for file in files:
        known = None if file.hash_as_read is None else file.hash_as_read[1]
        assert known == (file_hash(file.path) if hashed and len(file) else None)


def test_a_receipt_has_the_hash_of_what_was_read(shards: Path):
    file = open_array(shards / "x-0.npy")
    with hashing_while_reading():
        for _ in Shards([file]).stream(100):
            pass
    truth = file_hash(file.path)
    assert receipt_inputs("scores", [file])[0]["hash"] == truth
    file.hash_as_read = file.hash_as_read[0], "as read"
    assert receipt_inputs("scores", [file])[0]["hash"] == "as read"
    np.save(shards / "x-0.npy", np.zeros((40, 5), np.float32))  # another file: what was read is not it
    assert receipt_inputs("scores", [file])[0]["hash"] not in (truth, "as read")


def test_columns_first_are_read_but_not_hashed_on_the_way(tmp_path: Path):
    array = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    np.save(tmp_path / "x.npy", array)
    file = open_array(tmp_path / "x.npy")
    with hashing_while_reading():
        found = np.concatenate([rows for _, rows in Shards([file]).stream(24)])
    assert np.array_equal(found, array)
    assert file.hash_as_read is None


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_batches_in_any_order_are_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str):
    monkeypatch.setattr("graphgauge.io.sequential._BATCH_BYTES", 100)
    monkeypatch.setattr("graphgauge.io.arrays._LARGE_TEXT", 0)
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
    monkeypatch.setattr("graphgauge.io.arrays._LARGE_TEXT", 0)
    monkeypatch.setattr("graphgauge.io.delimited._BATCH", 2)
    large = open_array(path)
    assert (large.shape, large.columns) == (small.shape, small.columns) == (shape, names)
    assert np.array_equal(large.rows(0, len(large)), small.rows(0, len(small)), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "said"), [("1,2\n3\n", "line 2"), ("1\n2\nx\n", "line 3 .*'x' is not a number"), ("a\n", "no numbers")]
)
def test_large_text_names_its_wrong_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str):
    monkeypatch.setattr("graphgauge.io.arrays._LARGE_TEXT", 0)
    monkeypatch.setattr("graphgauge.io.delimited._BATCH", 1)
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        open_array(tmp_path / "x.csv")


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the memory of a process is read from /proc")
def test_used_pages_are_given_back(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.zeros((1 << 13, 1 << 10), np.float32))  # 32 MB

    def mapped() -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssFile:")[1].split()[0])

    file = open_array(tmp_path / "x.npy")
    before = mapped()
    assert float(file.rows(0, len(file)).sum()) == 0.0
    touched = mapped() - before
    assert touched > 30_000
    file.done_with(0, len(file))
    assert mapped() - before < 2_000
    for _, rows in Shards([file]).stream(1 << 22):
        assert float(rows.sum()) == 0.0
        assert mapped() - before < 20_000
