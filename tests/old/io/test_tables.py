"""Tables that a spreadsheet will open do not carry formulas."""

import csv
import io

import numpy as np
import pytest

from graphgauge.core.errors import OptionError
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.io.delimited import csv_cell
from graphgauge.old.io.tables import write_table

FORMULAS = ["=1+1", "+cmd|x", "@SUM(A1)", "-2+3", "\t=1", "=HYPERLINK('x')"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_quoted(text):
    assert csv_cell(text) == "'" + text


@pytest.mark.parametrize("value", ["-0.25", "+3", "-inf", "1e-5", "method-a", "", -1.5, 7])
def test_numbers_and_plain_text_are_not(value):
    assert csv_cell(value) == value


def test_grid_and_file_agree(tmp_path):
    grid = Grid(["method", "=x"], [[Cell(text), Cell("-0.5")] for text in FORMULAS])
    head, *rows = csv.reader(io.StringIO(grid.csv()))
    assert head == ["method", "'=x"]
    assert rows == [["'" + text, "-0.5"] for text in FORMULAS]
    write_table(tmp_path / "t.csv", {"method": np.array(FORMULAS)})
    with (tmp_path / "t.csv").open(newline="") as stream:
        assert [row[0] for row in csv.reader(stream)][1:] == ["'" + text for text in FORMULAS]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(OptionError, match="parquet"):
        write_table(tmp_path / "t.xlsx", {"a": np.arange(3)})
