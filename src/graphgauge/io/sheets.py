"""Tables that other programs wrote, as they are: delimited text, Parquet, Excel, Markdown and LaTeX.

Nothing is computed: of a formula in a workbook only the stored result is read.
"""

from __future__ import annotations

import codecs
import csv
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from graphgauge.core.errors import InputError
from graphgauge.core.files import DAMAGE, readable, require_bounded_archive, require_file
from graphgauge.io import parquet

# A table of results is small. A larger file is something else, or hostile.
MOST_BYTES = 256 << 20
MOST_CELLS = 20_000_000
MOST_COLUMNS = 5_000
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_DELIMITERS = "\t;,|"


@dataclass(frozen=True)
class Sheet:
    """The cells of a table: the names of its columns, and its rows with the place of each in the file."""

    names: list[str]
    rows: list[list[Any]]
    places: list[str]
    where: str
    notes: tuple[str, ...] = ()

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each column is."""
        return {name: place for place, name in enumerate(self.names)}

    def column(self, name: str) -> list[Any]:
        place = self.place[name]
        return [row[place] for row in self.rows]


def read_sheet(path: Path) -> Sheet:
    """The table in a file, by its suffix; a head of several rows, as pandas writes it, is joined by slashes."""
    require_file(path)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise InputError(
            f"has {size:,} bytes, more than a table of results",
            where=str(path),
            fix=f"Keep the rows of runs: at most {MOST_BYTES:,} bytes are read.",
        )
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"files ending in {path.suffix or 'nothing'} are not read",
            where=str(path),
            fix=f"Use {', '.join(READERS)}.",
        )
    return reader(path)


def sheet_of(rows: Sequence[tuple[str, list[Any]]], where: str) -> Sheet:
    """Rows of equal length, of which the first ones are the head."""
    if not rows:
        raise InputError("the table is empty", where=where)
    width = len(rows[0][1])
    if len(rows) * width > MOST_CELLS or width > MOST_COLUMNS:
        raise InputError(
            f"has {len(rows):,} rows of {width:,} cells, more than are read at once",
            where=where,
            fix=f"Keep the rows and columns of runs: at most {MOST_COLUMNS:,} columns are read.",
        )
    for place, cells in rows:
        if len(cells) != width:
            what = f"{place} has {len(cells)} cell{'s' * (len(cells) != 1)}, not {width}"
            raise InputError(what, where=where, fix="Give every row as many cells as the first; quote commas.")
    names, body = _head(rows)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"has the column {twice[0]!r:.60} twice", where=where, fix=f"It has {_short(names)}.")
    return Sheet(names, [cells for _, cells in body], [place for place, _ in body], where)


def _head(rows: Sequence[tuple[str, list[Any]]]) -> tuple[list[str], Sequence[tuple[str, list[Any]]]]:
    """The names of the columns and the rows below; pandas writes the levels of columns, then the name of the index."""
    first = [_text(cell) for cell in rows[0][1]]
    for depth in range(2, min(5, len(rows) - 1)):
        cells = [_text(cell) for cell in rows[depth][1]]
        if len(cells) > 1 and cells[0] and not any(cells[1:]):
            levels = [[_text(cell) for cell in rows[level][1]] for level in range(depth)]
            names = ["/".join(parts) for parts in zip(*levels, strict=True)]
            return [f"{cells[0]}|{'/'.join(level[0] for level in levels)}", *names[1:]], rows[depth + 1 :]
    if len(rows) > 1 and len(first) > 1:
        below = [_text(cell) for cell in rows[1][1]]
        if below[0] and not any(below[1:]) and all(first[1:]) and len(rows) > 2:
            # A named axis of columns: its name stands above that of the index.
            return [f"{below[0]}|{first[0]}" if first[0] else below[0], *first[1:]], rows[2:]
    return first, rows[1:]


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _short(names: Sequence[str], limit: int = 20) -> str:
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "")


# ------------------------------------------------------------------------------------------ delimited text


def decoded(path: Path) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark; another encoding is an error."""
    with readable(path):
        data = path.read_bytes()
    encoding = next((name for mark, name in _BOMS.items() if data.startswith(mark)), "utf-8")
    if encoding.startswith("utf-8") and b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        what = f"line {line} cannot be read (a null character: UTF-16 without a byte order mark, or not a text)"
        raise InputError(what, where=str(path), fix="Save it as UTF-8.")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = f"line {line} cannot be read (not {encoding.removesuffix('-sig').upper()} text)"
        seems = " It seems to be Latin-1 or Windows-1252." if encoding == "utf-8" else ""
        raise InputError(what, where=str(path), fix=f"Save it as UTF-8.{seems}") from None


def _delimited(path: Path) -> Sheet:
    text = decoded(path)
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else _delimiter(text)
    if text.startswith("sep=") and len(text) > 4:  # a hint that Excel writes and reads
        delimiter, text = text[4], text.partition("\n")[2]
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[str, list[Any]]] = []
    try:
        rows.extend((f"line {reader.line_num}", cells) for cells in reader if any(cell.strip() for cell in cells))
    except csv.Error as error:
        raise InputError(
            f"line {reader.line_num} cannot be read ({error})",
            where=str(path),
            fix="Quote cells with commas, quotes or line breaks; write a quote in a quoted cell twice.",
        ) from None
    return sheet_of(rows, str(path))


def _delimiter(text: str) -> str:
    """Of tab, semicolon, comma and bar, the one that splits the first lines into the most cells of equal number."""
    lines = [line for line in text.splitlines()[:20] if line.strip()][:10]

    def cells(delimiter: str) -> int:
        counts = {len(row) for row in csv.reader(lines, delimiter=delimiter)}
        return counts.pop() if len(counts) == 1 else 0

    try:
        found = max(_DELIMITERS, key=cells)
        if cells(found) > 1:
            return found
    except csv.Error:
        pass
    head = lines[0] if lines else ""
    return max(",;\t", key=head.count)  # rows of unequal length are reported by the separator of the head


# ------------------------------------------------------------------------------------------ other formats


def _parquet(path: Path) -> Sheet:
    table = parquet.read_parquet(path)
    return records_sheet(table.to_pylist(), str(path), list(table.column_names))


def records_sheet(records: Sequence[dict[str, Any]], where: str, names: Sequence[str] = (), unit: str = "row") -> Sheet:
    """Dictionaries as a table; a cell that one of them lacks is None."""
    columns = list(names) or list(dict.fromkeys(name for record in records for name in record))
    rows = [[record.get(name) for name in columns] for record in records]
    return Sheet(
        [str(name).strip() for name in columns],
        rows,
        [f"{unit} {number}" for number in range(1, len(rows) + 1)],
        where,
    )


_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def _excel(path: Path) -> Sheet:
    """The first worksheet of an .xlsx workbook: stored values only, no formula is computed."""
    fix = "Save the sheet as .csv."
    require_bounded_archive(path, str(path))
    with readable(path, fix, (*DAMAGE, ElementTree.ParseError, LookupError)), zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise InputError(f"unpacks to more than {MOST_BYTES:,} bytes", where=str(path), fix=fix)
        names = archive.namelist()
        sheets = sorted(
            (name for name in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)),
            key=lambda name: int(re.sub(r"\D", "", name)),
        )
        if not sheets:
            raise InputError("has no worksheet", where=str(path), fix=fix)
        texts = _shared_texts(archive.read("xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
        rows = _cells(archive.read(sheets[0]), texts, path)
        notes = [f"only the first of {len(sheets)} worksheets is read"] if len(sheets) > 1 else []
        # A title above the table: one cell in a row of its own.
        while len(rows) > 1 and len(rows[0][1]) > 1 and sum(cell is not None for cell in rows[0][1]) == 1:
            notes.append(f"{rows[0][0]} is taken for a title")
            rows = rows[1:]
        return replace(sheet_of(rows, str(path)), notes=tuple(notes))


def _shared_texts(content: bytes) -> list[str]:
    return [
        "".join(part.text or "" for part in item.iter(f"{_SPACE}t"))
        for item in ElementTree.fromstring(content)
        if item.tag == f"{_SPACE}si"
    ]


def _cells(content: bytes, texts: Sequence[str], path: Path) -> list[tuple[str, list[Any]]]:
    found: dict[int, dict[int, Any]] = {}
    for cell in ElementTree.fromstring(content).iter(f"{_SPACE}c"):
        place = _REFERENCE.fullmatch(cell.get("r", ""))
        if place is None:
            raise InputError(f"has a cell at {cell.get('r')!r:.20}", where=str(path), fix="Save the sheet as .csv.")
        column = 0
        for letter in place[1]:
            column = 26 * column + ord(letter) - 64
        value = _cell(cell, texts)
        if value is not None:
            found.setdefault(int(place[2]), {})[column - 1] = value
    width = 1 + max((column for row in found.values() for column in row), default=-1)
    if width > MOST_COLUMNS or width * len(found) > MOST_CELLS:
        raise InputError("has more cells than are read at once", where=str(path), fix="Keep the columns of runs.")
    return [(f"row {number}", [row.get(column) for column in range(width)]) for number, row in sorted(found.items())]


def _cell(cell: ElementTree.Element, texts: Sequence[str]) -> Any:
    kind, value = cell.get("t", "n"), cell.findtext(f"{_SPACE}v")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{_SPACE}t"))
    if value is None:
        return None
    if kind == "s":
        return texts[int(value)]
    if kind in ("str", "e"):
        return value
    return bool(int(value)) if kind == "b" else float(value)


def _markdown(path: Path) -> Sheet:
    """The first table with bars."""
    rows: list[tuple[str, list[Any]]] = []
    for number, line in enumerate(decoded(path).splitlines(), 1):
        if "|" not in line:
            if len(rows) > 1:
                break
            rows.clear()
            continue
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            rows.append((f"line {number}", list(cells)))
    return sheet_of(rows, str(path))


def _latex(path: Path) -> Sheet:
    r"""The first tabular; `\multicolumn` and `\multirow` are refused."""
    text = re.sub(r"(?<!\\)%.*", lambda found: "", decoded(path))
    found = re.search(r"\\begin\{tabular[x*]?\}(.*?)\\end\{tabular", text, re.DOTALL)
    if found is None:
        raise InputError("has no tabular", where=str(path), fix="Name a file with the table, or save it as .csv.")
    if (joined := re.search(r"\\multi(column|row)", found[1])) is not None:
        line = text[: found.start(1) + joined.start()].count("\n") + 1
        raise InputError(
            f"line {line} joins cells with \\multi{joined[1]}",
            where=str(path),
            fix="Write one cell per column, or save the table as .csv.",
        )
    rows: list[tuple[str, list[Any]]] = []
    start = found.start(1)
    body = re.sub(r"^\s*(\[[a-z]\])?(\{[^{}]*\}){1,2}", lambda match: " " * len(match[0]), found[1], count=1)
    for part in re.split(r"(\\\\(?:\[[^\]]*\])?)", body):
        line = text[:start].count("\n") + 1
        start += len(part)
        if part.startswith("\\\\"):
            continue
        plain = re.sub(r"\\(top|mid|bottom|h)(rule|line)|\\cmidrule(\([lr]+\))?\{[^}]*\}|\\cline\{[^}]*\}", "", part)
        cells = [cell.strip() for cell in re.split(r"(?<!\\)&", plain)]
        if any(cells):
            rows.append((f"line {line + part[: len(part) - len(part.lstrip())].count(chr(10))}", list(cells)))
    return sheet_of(rows, str(path))


READERS: dict[str, Callable[[Path], Sheet]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".tab": _delimited,
    ".txt": _delimited,
    ".parquet": _parquet,
    ".xlsx": _excel,
    ".md": _markdown,
    ".tex": _latex,
}
