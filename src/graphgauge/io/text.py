"""Delimited text (.csv) and lines (.txt): errors name line and column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, text_array
from graphgauge.core.errors import InputError

Row = tuple[int, list[str]]


def read_lines(path: Path) -> list[str]:
    """The lines of a text, without the empty one after the last line feed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text from byte {error.start:,} on", where=str(path)) from None
    return text.removesuffix("\n").split("\n")


def read_columns(path: Path) -> dict[str, AnyArray]:
    """The columns of a table with a header: integers, numbers (an empty cell is NaN) or texts."""
    names, rows = read_rows(path)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"has the column {twice!r:.60} twice", where=str(path))
    if names and all(map(_is_number, names)):
        what = f"the first line is {', '.join(names)!r:.60}, numbers in the place of names"
        raise InputError(what, where=str(path), fix="Write a first line that names the columns, such as user,item.")
    columns = zip(*(cells for _, cells in rows), strict=True) if rows else [() for _ in names]
    return {name: _values(list(column), f"{path}, column {name}") for name, column in zip(names, columns, strict=True)}


def read_rows(path: Path) -> tuple[list[str], list[Row]]:
    """The names in the first line, and the cells of the others with the numbers of their lines."""
    rows = _rows(path)
    _, names = next(rows, (0, []))
    return [name.strip() for name in names], list(_equally_long(rows, len(names), path))


def read_numbers(path: Path) -> tuple[list[str] | None, Floats]:
    """The names in the header, if there is one, and the numbers as (rows, columns)."""
    rows = _rows(path)
    line, cells = next(rows, (0, []))
    below = line if not all(_is_number(cell) for cell in cells if cell.strip()) else 0
    if below and next(rows, None) is None:
        raise InputError("contains no numbers", where=str(path))
    try:
        numbers = np.loadtxt(path, delimiter=",", quotechar='"', skiprows=below, ndmin=2, encoding="utf-8-sig")
    except ValueError:
        return _named(cells, below, _slow_numbers(path, below), path)
    if not below and _counts_columns(cells, numbers):
        return _named(cells, line, numbers[1:], path)
    return _named(cells, below, numbers, path)


def read_label_column(path: Path) -> AnyArray:
    """The only column, of numbers or of names; or several columns of numbers.

    A header is recognised above numbers, also a bare 0 above decimals, which data frames write over a column without a
    name. Above names it cannot be told from one, unless the first name comes again.
    """
    rows = list(_rows(path))
    if not rows:
        raise InputError("contains no labels", where=str(path))
    width = len(rows[0][1])
    if width > 1:
        names, numbers = read_numbers(path)
        counts_rows = len(numbers) > 2 and np.array_equal(numbers[:, 0], np.arange(len(numbers)))
        if counts_rows or (names is not None and not names[0]):
            raise InputError("the first column numbers the rows", where=str(path), fix="Write it without an index.")
        return numbers
    cells = [cell for _, (cell,) in _equally_long(iter(rows), width, path)]
    is_number = [not cell.strip() or _is_number(cell) for cell in cells]
    decimals = {"." in cell for cell in cells[1:] if cell.strip()} == {True}
    headed = not is_number[0] or (decimals and cells[0].strip() == "0")
    if all(is_number[1:]) and (not headed or len(cells) > 1):
        return _values(cells[1:] if headed else cells, str(path))
    if cells[0] not in cells[1:]:
        fix = "Write names as .txt, one per line without a header, or as .json or .npy."
        raise InputError(f"{cells[0]!r:.60} may be a name or a header", where=str(path), fix=fix)
    return text_array(cells, str(path))


def _named(cells: list[str], header: int, numbers: Floats, path: Path) -> tuple[list[str] | None, Floats]:
    if not numbers.size:
        raise InputError("contains no numbers", where=str(path))
    if not header:
        return None, numbers
    if len(cells) != numbers.shape[1]:
        what = f"the header has {len(cells)} names for {numbers.shape[1]} columns"
        raise InputError(what, where=str(path), fix="Name every column, or none.")
    return [cell.strip() for cell in cells], numbers


def _slow_numbers(path: Path, below: int) -> Floats:
    """The numbers row by row: an empty cell is NaN, and an error names line and column."""
    rows = [row for row in _rows(path) if row[0] > below]
    for line, cells in _equally_long(iter(rows), len(rows[0][1]) if rows else 0, path):
        for column, cell in enumerate(cells, 1):
            if cell.strip() and not _is_number(cell):
                what = f"line {line}, column {column}: {cell!r:.60} is not a number"
                raise InputError(what, where=str(path), fix="Write nan for a missing number.")
    return np.array([[cell.strip() or "nan" for cell in cells] for _, cells in rows], np.float64)


def _rows(path: Path) -> Iterator[Row]:
    """The cells of every row that is not blank, with the number of the line on which it ends."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader, width = csv.reader(stream, strict=True), 0
        try:
            for cells in reader:
                if not width and len(cells) == 1:
                    _refuse_separator(cells[0], path)
                width = width or len(cells)
                if cells:
                    yield reader.line_num, cells
        except UnicodeDecodeError:
            raise InputError(f"not UTF-8 text after line {reader.line_num}", where=str(path)) from None
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} cannot be read ({error})", where=str(path)) from None


def _refuse_separator(line: str, path: Path) -> None:
    """Refuse a first line that is one cell by commas, and several by another separator."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if sign in line:
            fix = f"Separate them by commas; in pandas, read_csv(path, sep={sign!r}).to_csv(path, index=False)."
            raise InputError(f"its cells are separated by {name}", where=str(path), fix=fix)


def _equally_long(rows: Iterator[Row], width: int, path: Path) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) != width:
            what = f"line {line} has {len(cells)} cell{'s' * (len(cells) != 1)}, not {width}"
            raise InputError(what, where=str(path), fix="Give every row as many cells as the first; quote commas.")
        yield line, cells


def _values(texts: list[str], where: str) -> AnyArray:
    """Integers, floats or text: the first type that fits all of them; 007 is a name."""
    if any(len(text) > 1 and text[0] == "0" and text.isdecimal() for text in texts):
        return text_array(texts, where)
    for kind in (np.int64, np.float64):
        try:
            return np.array([text if kind is np.int64 else text.strip() or "nan" for text in texts]).astype(kind)
        except (ValueError, OverflowError):
            continue
    return text_array(texts, where)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _counts_columns(cells: Sequence[str], numbers: Floats) -> bool:
    """Whether a first row 0, 1, 2 … above decimals numbers the columns, as data frames without names are written."""
    texts = [cell.strip() for cell in cells]
    if len(texts) < 2 or len(numbers) < 2 or not all(text.isdecimal() for text in texts):
        return False
    counted = [int(text) for text in texts] in ([*range(len(texts))], [*range(1, len(texts) + 1)])
    with np.errstate(invalid="ignore"):
        return counted and bool((np.isfinite(numbers[1:]) & (numbers[1:] % 1 != 0)).any(axis=0).all())
