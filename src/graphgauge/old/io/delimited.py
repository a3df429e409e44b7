"""Delimited text (.csv): rows, columns, records and numbers, read and written."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats
from graphgauge.core.errors import InputError
from graphgauge.old.core.files import first_line, require_file
from graphgauge.old.core.grids import csv_cell, is_number

Row = tuple[int, list[str]]

_BATCH = 1 << 18
# Columns from which on a first line of whole numbers above decimals can only be names.
_MANY = 8
# What to do about dates in a file of numbers.
NO_DATES = "Number the steps, or write a long table with a column of dates and one row per cell."
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def read_rows(path: Path, separator: str = ",") -> Iterator[Row]:
    """The cells of every row that is not blank, with the number of the line on which the row ends."""
    require_file(path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True, delimiter=separator)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except UnicodeDecodeError:
            raise unreadable(path, _first_undecodable(path), "not UTF-8 text", "Save it as UTF-8.") from None
        except csv.Error as error:
            fix = "Quote cells with commas, quotes or line breaks; write a quote in a quoted cell twice."
            raise unreadable(path, reader.line_num, str(error), fix) from None


def read_table(path: Path) -> tuple[list[str], Iterator[Row]]:
    """The column names, and the rows below them; a row with more or fewer cells than the header is an error."""
    rows = read_rows(path)
    _, names = next(rows, (0, []))
    return [name.strip() for name in names], equally_long(rows, len(names), path)


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
    """Some columns, in batches of rows; an empty numeric cell is NaN."""
    names, rows = read_table(path)
    require_columns(columns, names, path)
    places = {name: names.index(name) for name in columns}
    while batch := list(islice(rows, _BATCH)):
        yield {name: _values([cells[place] for _, cells in batch]) for name, place in places.items()}


def read_named_numbers(path: Path) -> tuple[list[str] | None, Floats]:
    """The names in the header, if there is one, and the numbers as (rows, columns)."""
    cells, skipped = _first_line(path)
    header = skipped > 0
    try:
        numbers = np.loadtxt(path, delimiter=",", quotechar='"', skiprows=skipped, ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        # NumPy counts rows of numbers; people look for lines.
        as_floats([row for row in read_rows(path) if row[0] > skipped], path)
        raise InputError(f"cannot be read ({first_line(error)})", where=str(path)) from None
    if not header and _names_columns(cells, numbers[1:].shape[0], _decimal_columns(numbers[1:]), path):
        header, numbers = True, numbers[1:]
    return _named(cells, header, numbers.shape[1], path), numbers


@dataclass(frozen=True)
class NumberFile:
    """A file of numbers that is read in parts: the names in its header, if there is one, and its rows and columns."""

    path: Path
    names: list[str] | None
    shape: tuple[int, int]
    skipped: int

    @classmethod
    def of(cls, path: Path) -> NumberFile:
        """Read the file once, to know its shape, and whether its first line names columns."""
        cells, skipped = _first_line(path)
        rows, width, decimal = 0, 0, np.zeros(0, bool)
        for part in cls(path, None, (0, 0), skipped).parts(_BATCH):
            below = _decimal_columns(part[1:] if rows == 0 and not skipped else part)
            width, decimal = part.shape[1], below if rows == 0 else decimal | below
            rows += len(part)
        header = skipped > 0
        if not header and _names_columns(cells, rows - 1, decimal, path):
            header, rows, skipped = True, rows - 1, _first_number(path)
        return cls(path, _named(cells, header, width, path), (rows, width), skipped)

    def parts(self, rows: int) -> Iterator[Floats]:
        """All numbers, so many lines at once."""
        width = None
        with self.path.open(encoding="utf-8-sig", newline="") as stream:
            line = sum(1 for _ in islice(stream, self.skipped))
            while lines := list(islice(stream, rows)):
                part = self._numbers(lines, line)
                if len(part) and width not in (None, part.shape[1]):
                    list(equally_long(_cells(lines, line), width, self.path))  # names the line
                line += len(lines)
                if len(part):
                    width = part.shape[1]
                    yield part

    def _numbers(self, lines: list[str], before: int) -> Floats:
        if not any(map(str.strip, lines)):
            return np.empty((0, 0))
        try:
            return np.loadtxt(lines, delimiter=",", quotechar='"', ndmin=2)
        except ValueError as error:
            as_floats(list(_cells(lines, before)), self.path)
            raise InputError(f"cannot be read ({first_line(error)})", where=str(self.path)) from None


def _cells(lines: Iterable[str], before: int) -> Iterator[Row]:
    """The cells of lines after so many others."""
    return ((before + number, cells) for number, cells in enumerate(csv.reader(lines), 1) if cells)


def _first_line(path: Path) -> tuple[list[str], int]:
    """The cells of the first row, and after which line the numbers begin: 0 if it may be numbers itself."""
    rows = read_rows(path)
    line, cells = next(rows, (0, []))
    # An empty cell is a missing number, not a column name.
    texts = [cell for cell in cells if cell.strip()]
    # Unless data frames wrote it: an unnamed index, then numbered columns.
    numbered = [cell.strip() for cell in cells[1:]]
    index = len(numbered) > 0 and not cells[0].strip() and all(map(str.isdecimal, numbered))
    header = not all(is_number(text) for text in texts) or (index and len({*numbered}) == len(numbered))
    if (header or not texts) and next(rows, None) is None:
        raise InputError("contains no numbers", where=str(path))
    return cells, line if header else 0


def _first_number(path: Path) -> int:
    """The line on which the first row ends."""
    return next(read_rows(path), (0, []))[0]


def _named(cells: Sequence[str], header: bool, columns: int, path: Path) -> list[str] | None:
    names = [cell.strip() for cell in cells] if header else None
    if names is not None and len(names) != columns:
        what = f"the header has {len(names)} names for {columns} columns"
        raise InputError(what, where=str(path), fix="Name every column, or none.")
    return names


def _decimal_columns(numbers: Floats) -> NDArray[np.bool_]:
    """Which columns have a number that is not whole."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.bool_] = (np.isfinite(numbers) & (numbers % 1 != 0)).any(axis=0)
    return found


def _names_columns(cells: Sequence[str], rows: int, decimal: NDArray[np.bool_], path: Path) -> bool:
    """Whether the first row of a file of numbers names the columns: different whole numbers above decimals.

    `rows` are below it, and `decimal` are the columns with decimals there. Sensors are often numbered, and data frames
    number columns without a name. An error if it may be either.
    """
    texts = [cell.strip() for cell in cells]
    if len(texts) < 2 or not rows or not all(text.isdecimal() for text in texts) or len({*texts}) < len(texts):
        return False
    if not decimal.all():
        return False
    counted = [int(text) for text in texts]
    if len(texts) >= _MANY or any(counted == list(range(first, first + len(texts))) for first in (0, 1)):
        return True
    raise InputError(
        f"the first line, {', '.join(texts)}, may be names or numbers",
        where=str(path),
        fix=f"Write names with a letter, such as s{texts[0]}, and numbers with a point, such as {texts[0]}.0.",
    )


def as_floats(rows: Sequence[Row], path: Path) -> Floats:
    """Rows of text as (rows, columns) of numbers."""
    equal = list(equally_long(rows, len(rows[0][1]) if rows else 0, path))
    for line, cells in equal:
        for cell in cells:
            if not is_number(cell):
                fix = NO_DATES if _DATE.match(cell.strip()) else "Write nan for a missing number."
                raise unreadable(path, line, f"{cell!r:.60} is not a number", fix)
    return np.array([cells for _, cells in equal], dtype=np.float64)


def require_columns(columns: Sequence[str], names: Sequence[str], path: str | Path) -> None:
    """Every one of these columns must be in the header, once."""
    for name in columns:
        if names.count(name) != 1:
            what = f"no column {name!r}" if name not in names else f"has the column {name!r} twice"
            raise InputError(what, where=str(path), fix=f"It has {', '.join(names)}.")


def unreadable(path: Path, line: int, why: str, fix: str) -> InputError:
    return InputError(f"line {line} cannot be read ({why})", where=str(path), fix=fix)


def write_columns(path: Path, columns: Mapping[str, AnyArray]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(map(csv_cell, values.tolist()) for values in columns.values()), strict=True))


def equally_long(rows: Iterable[Row], width: int, path: Path) -> Iterator[Row]:
    for row in rows:
        line, cells = row
        if len(cells) != width:
            what = f"line {line} has {len(cells)} cell{'s' * (len(cells) != 1)}, not {width}"
            raise InputError(what, where=str(path), fix="Give every row as many cells as the first; quote commas.")
        yield row


def _values(texts: list[str]) -> AnyArray:
    """Integers, floats or text: the first type that fits all of them."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([text if kind is np.int64 else text.strip() or "nan" for text in texts]).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array(texts, dtype=np.str_)


def _first_undecodable(path: Path) -> int:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
