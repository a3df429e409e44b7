"""Delimited text: what is wrong with a file has a line and a fix, whoever reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.io.arrays import read_array
from graphgauge.old.io.delimited import read_named_numbers, read_rows, read_table
from graphgauge.old.io.graphs import read_graph
from graphgauge.old.io.tables import column_batches
from graphgauge.old.stats.load import load

# Every reader with a header that it takes and a row of numbers.
READERS: dict[str, tuple[Callable[[Path], Any], bytes]] = {
    "array": (read_array, b"a,b\n"),
    "edges": (read_graph, b"source,target\n"),
    "long table": (lambda path: list(column_batches(path, ["a"])), b"a,b\n"),
    "runs": (load, b"seed,f1\n"),
}
# What follows the header and a good row; the line with the fault is the third, the quote closes nowhere.
FAULTS = {
    "too few cells": (b"3\n4,5\n", r"line 3 has 1 cell, not 2"),
    "too many cells": (b"3,4,5\n4,5\n", r"line 3 has 3 cells, not 2"),
    "not UTF-8": (b"3,\xff\n4,5\n", r"line 3 cannot be read \(not UTF-8 text\)"),
    "an open quote": (b'3,"4\n5,6\n', r"line 4 cannot be read \(unexpected end of data\)"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_fault_has_a_line_and_a_fix(tmp_path: Path, reader: str, fault: str) -> None:
    read, header = READERS[reader]
    text, message = FAULTS[fault]
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"1,2\n" + text)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert caught.value.where == str(path)
    assert caught.value.fix


@pytest.mark.parametrize("reader", READERS)
def test_files_that_are_none(tmp_path: Path, reader: str) -> None:
    read, _ = READERS[reader]
    (tmp_path / "empty.csv").touch()
    for name, message in (("absent.csv", "no such file"), ("empty.csv", "the file is empty")):
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)


@pytest.mark.parametrize("text", ['\ufeff"a","b"\r\n"1","2"\r\n\r\n3,4\r\n', "a,b\n1,2\n\n3,4"])
def test_marks_quotes_blank_lines_and_line_ends(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    names, rows = read_table(path)
    assert [dict(zip(names, cells, strict=True)) for _, cells in rows] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    np.testing.assert_array_equal(read_array(path), [[1, 2], [3, 4]])
    (batch,) = column_batches(path, ["b", "a"])
    assert {name: values.tolist() for name, values in batch.items()} == {"b": [2, 4], "a": [1, 3]}


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('\n"two\nlines",b\n\nx,y\n')
    assert list(read_rows(path)) == [(3, ["two\nlines", "b"]), (5, ["x", "y"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target\na,\n", r"line 2 cannot be read \(an empty cell\)"),
        ("source,target,weight\na,b,1\nb,c,\n", r"line 3 cannot be read \(a weight is not a number: ''\)"),
        ("0,1\n,0\n", r"line 2 cannot be read \('' is not a number\)"),
        (",a,b\na,0,1\nb,x,0\n", r"line 3 cannot be read \('x' is not a number\)"),
    ],
)
def test_cells_of_graphs(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_graph(path)


def test_columns_that_are_numbered(tmp_path: Path) -> None:
    """Sensor numbers and those of data frames are names above decimals; what may be either is refused."""
    path = tmp_path / "t.csv"
    values = np.random.default_rng(0).normal(size=(4, 9))
    rows = [",".join(map(repr, row)) for row in values.tolist()]
    for header in (range(9), range(1, 10), range(773_869, 773_878)):
        path.write_text("\n".join([",".join(map(str, header)), *rows]))
        names, numbers = read_named_numbers(path)
        assert names == list(map(str, header))
        np.testing.assert_array_equal(numbers, values)
    few = [",".join(row.split(",")[:3]) for row in rows]
    path.write_text("\n".join(["101,102,103", *few]))
    with pytest.raises(InputError, match="may be names or numbers") as refused:
        read_named_numbers(path)
    assert "s101" in str(refused.value)
    for first in ("101.0,102,103", "101,101,102", "-1,2,3"):
        path.write_text("\n".join([first, *few]))
        assert read_named_numbers(path)[1].shape == (5, 3)
    path.write_text("0,1,2\n1,0,1\n2,1,0.5\n")  # two of the columns have no decimals
    assert read_named_numbers(path)[0] is None
