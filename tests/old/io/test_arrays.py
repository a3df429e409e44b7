"""Array files: what is read, and what is refused with its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io.arrays import Shards, open_array, open_arrays, read_array, read_labels
from graphgauge.old.io.hashing import receipt_input


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("\ufeff1,2\n3,4\n", [[1, 2], [3, 4]]),  # as spreadsheets write it: no row is lost
        ("\ufeffa,b\n1,2\n", [[1, 2]]),
        ("score\n1\n2\n", [1, 2]),
        ("1\n2\n", [1, 2]),
        ("\n1\n2\n", [1, 2]),
        (" 1, nan\r\n3,4\r\n", [[1, np.nan], [3, 4]]),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: list) -> None:
    np.testing.assert_array_equal(read_array(written(tmp_path, "x.csv", text)), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "contains no numbers"),
        ("score\n", "contains no numbers"),
        ("1,\n2,3\n", "cannot be read"),  # a missing number, not a head
        ("1,2\n3,x\n", "line 2 cannot be read .'x' is not a number"),
        ("1,2\n3\n", "line 2 has 1 cell, not 2"),
    ],
)
def test_csv_that_is_not_numbers(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, "x.csv", text)
    with pytest.raises(InputError, match=message) as caught:
        read_array(path)
    assert caught.value.where == str(path)


def test_a_single_number_is_no_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(3.0))
    np.savez(tmp_path / "x.npz", a=np.array(3.0))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InputError, match="contains a single number"):
            open_array(tmp_path / name)


@pytest.mark.parametrize("ending", ["npy", "npz", "pt", "safetensors", "parquet"])
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, f"x.{ending}", "not what its name says")
    with pytest.raises(InputError, match="cannot be read"):
        open_array(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "folder.txt").mkdir()
    for read, name in ((open_array, "folder.npy"), (read_labels, "folder.txt")):
        with pytest.raises(InputError, match="is a folder"):
            read(tmp_path / name)
    for read, name in ((open_array, "none.npy"), (read_labels, "none.txt")):
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / name)
    with pytest.raises(InputError, match=r"files ending in \.xlsx are not read. Use \.npy"):
        open_array(tmp_path / "x.xlsx")


def test_parquet_in_row_groups(tmp_path: Path) -> None:
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    pq.write_table(pa.table({"a": rows}), tmp_path / "x.parquet", row_group_size=2)
    found = open_array(tmp_path / "x.parquet")
    assert found.shape == (3, 2)
    assert found.rows(1, 3).tolist() == rows[1:]
    # Of one length within each group, but not over both.
    pq.write_table(pa.table({"a": [[1.0, 2.0], [3.0, 4.0], [5.0]]}), tmp_path / "x.parquet", row_group_size=2)
    with pytest.raises(InputError, match="lists of different lengths in column 'a'"):
        read_array(tmp_path / "x.parquet")


@pytest.mark.parametrize("text", ["a\nb b\n", "a\nb b", "\ufeffa\nb b\n", "a\r\nb b\r\n"])
def test_labels_a_line_each(tmp_path: Path, text: str) -> None:
    assert read_labels(written(tmp_path, "x.txt", text)).tolist() == ["a", "b b"]


def test_labels_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        read_labels(written(tmp_path, "x.txt", ""))
    (tmp_path / "x.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_labels(tmp_path / "x.txt")


def test_a_member_of_an_archive_and_its_receipt(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.arange(3), b=np.arange(2))
    member = f"{tmp_path / 'x.npz'}:b"
    assert read_array(member).tolist() == [0, 1]
    np.save(tmp_path / "b.npy", np.arange(2))
    content = receipt_input("groups", tmp_path / "b.npy")["hash"]
    archive = receipt_input("groups", tmp_path / "x.npz")
    assert receipt_input("groups", member) == {**archive, "content": content}
    assert receipt_input("pred", member) == {**archive, "name": "pred"}  # only truths are told by their content
    with pytest.raises(InputError, match=r"contains several arrays\. Pick one as x.npz:NAME, NAME in a, b"):
        open_array(tmp_path / "x.npz")


def test_a_file_named_like_a_pattern_is_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["neg[0].npy", "neg0.npy", "a*b.npy", "axb.npy", "what?.npy"]):
        np.save(tmp_path / name, np.full(2, number))
    np.savez(tmp_path / "pair[1].npz", x=np.full(2, 7), y=np.zeros(2))
    for name, number in [("neg[0].npy", 0), ("a*b.npy", 2), ("what?.npy", 4), ("pair[1].npz:x", 7)]:
        (file,) = open_arrays([name])
        assert file.rows(0, 1).tolist() == [number]
    assert [file.path.name for file in open_arrays(["neg[0-9].npy"])] == ["neg0.npy"]
    assert len(open_arrays(["a*.npy"])) == 2
    with pytest.raises(InputError, match="no file matches"):
        open_arrays(["neg[1].npy"])


def test_a_truncated_array_is_called_truncated(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.ones((40, 3)))
    (tmp_path / "part.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:-100])
    with pytest.raises(InputError, match=r"part\.npy: is truncated: it has 988 bytes"):
        open_array(tmp_path / "part.npy")


def test_rows_across_shards_of_other_widths_are_refused(tmp_path: Path) -> None:
    for number, width in enumerate((3, 3, 2)):
        np.save(tmp_path / f"{number}.npy", np.full((4, width), number))
    shards = Shards(open_arrays([str(tmp_path / "*.npy")]))
    assert shards.rows(2, 8).shape == (6, 3)
    with pytest.raises(InputError, match=r"2\.npy: has the row shape \(2,\), and files before it have \(3,\)"):
        shards.rows(6, 10)
