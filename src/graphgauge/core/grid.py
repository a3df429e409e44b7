"""Every table that leaves: typed columns, shown as text, CSV, Markdown, LaTeX, HTML, JSON or a frame in one place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.markup import csv_text, html_text, latex_text, markdown_text, plain_text
from graphgauge.core.number import from_file, plain, shown

if TYPE_CHECKING:
    import pandas

FORMS = ("table", "csv", "markdown", "latex", "html", "json")
# Rows that text and a notebook show; files have all.
MOST_ROWS = 40
MARKS = {"best": "best", "second": "second best", "close": "not significantly different from the best"}
_SIGNS = {
    "table": {"best": ("", " *"), "second": ("", " +"), "close": ("", " ~")},
    "markdown": {"best": ("**", "**"), "second": ("<u>", "</u>"), "close": ("*", "*")},
    "latex": {"best": (r"\textbf{", "}"), "second": (r"\underline{", "}"), "close": (r"\textit{", "}")},
    "html": {"best": ("<b>", "</b>"), "second": ("<u>", "</u>"), "close": ("<i>", "</i>")},
}
_ESCAPES: dict[str, Callable[[str], str]] = {
    "table": plain_text,
    "markdown": markdown_text,
    "latex": latex_text,
    "html": html_text,
}


@dataclass(frozen=True, eq=False)
class Grid:
    """Columns of equal length; the first one names the rows.

    Values stay what they are until they are shown: `shown[column]` formats a cell where four decimals are not right.
    `marks[row, column]` is `best`, `second` or `close`, or two of them with a space; `notes` stand below the table.

    Examples
    --------
    >>> from graphgauge import Grid
    >>> print(Grid.of(method=["ours", "theirs"], mrr=[0.25, 0.08], n=[1200, 1200]))
    method     mrr      n
    ─────────────────────
    ours    0.2500  1,200
    theirs  0.0800  1,200
    """

    columns: Mapping[str, np.ndarray[Any, Any]]
    notes: tuple[str, ...] = ()
    marks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    shown: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    caption: str = ""

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of a table differ in length: {lengths}")

    @classmethod
    def of(cls, **columns: Any) -> Grid:
        """A grid of lists or arrays by name; lists of integers, floats or texts become arrays of those."""
        return cls({name: column(values) for name, values in columns.items()})

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Iterable[Sequence[Any]], **parts: Any) -> Grid:
        """A grid with columns of these `names`, of `rows` of cells; `parts` are its notes, marks, caption."""
        cells = [list(row) for row in rows]
        return cls({name: column([row[i] for row in cells]) for i, name in enumerate(names)}, **parts)

    @property
    def axis(self) -> str:
        """The name of the first column, which names the rows."""
        return next(iter(self.columns), "")

    def __len__(self) -> int:
        return len(self.columns[self.axis]) if self.columns else 0

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self.columns:
            raise UnknownNameError("column", name, self.columns)
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        """The names of the columns, as of a data frame."""
        return iter(self.columns)

    def __eq__(self, other: object) -> bool:
        """Equal names, types and values of the columns, NaN being equal to NaN."""
        if not isinstance(other, Grid):
            return NotImplemented
        columns = zip(self.columns.values(), other.columns.values(), strict=False)
        return list(self.columns) == list(other.columns) and all(_equal(*pair) for pair in columns)

    __hash__ = None  # type: ignore[assignment]

    def render(self, form: str) -> str:
        """The table in one of `FORMS`."""
        one_of("format", form, FORMS)
        return str(getattr(self, "to_text" if form == "table" else f"to_{form}")())

    def to_text(self, most: int | None = None) -> str:
        """For a terminal: numbers to the right; `*` marks the best, `+` the second best, `~` what is close to it."""
        rows = list(self._rows("table", most))
        heads = [plain_text(name) for name in self.columns]
        widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
        numeric = [is_numeric(values) for values in self.columns.values()]

        def line(cells: Sequence[str]) -> str:
            turned = zip(cells, widths, numeric, strict=True)
            return "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in turned).rstrip()

        rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
        more = [f"{len(self) - len(rows):,} more rows"] if len(rows) < len(self) else []
        return "\n".join([line(heads), rule, *map(line, rows), *more, *self._below("table")])

    def to_markdown(self) -> str:
        """Bold marks the best, underlining the second best, italics what does not differ significantly."""
        aligned = ["---:" if is_numeric(values) else "---" for values in self.columns.values()]
        rows = [[markdown_text(name) for name in self.columns], aligned, *self._rows("markdown")]
        below = self._below("markdown")
        return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), *([""] if below else []), *below]) + "\n"

    def to_latex(self) -> str:
        """A `tabular` environment for the package booktabs; notes are comments."""

        def line(cells: Sequence[str]) -> str:
            # After the end of a row LaTeX takes a bracket or an asterisk for an option of it.
            return ("{}" if cells[0][:1] in ("[", "*") else "") + " & ".join(cells) + r" \\"

        layout = "".join("r" if is_numeric(values) else "l" for values in self.columns.values())
        heads = line([latex_text(name) for name in self.columns])
        rows = map(line, self._rows("latex"))
        top, bottom = (
            [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", heads, r"\midrule"],
            [r"\bottomrule", r"\end{tabular}"],
        )
        return "\n".join([*top, *rows, *bottom, *(f"% {note}" for note in self._below("latex"))]) + "\n"

    def to_html(self, most: int | None = None) -> str:
        """A table without style or script, every text escaped; a caption and heads say to screen readers what it is."""
        names = list(self.columns)
        heads = "".join(f'<th scope="col">{html_text(name)}</th>' for name in names)
        rows = [
            f'<tr><th scope="row">{cells[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in cells[1:]) + "</tr>"
            for cells in self._rows("html", most)
        ]
        more = f"<p>{len(self) - len(rows):,} more rows</p>" if len(rows) < len(self) else ""
        caption = f"<caption>{html_text(self.caption or ', '.join(names))}</caption>"
        notes = "".join(f"<p>{note}</p>" for note in self._below("html"))
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}{notes}"

    def to_csv(self) -> str:
        """All digits; cells that a spreadsheet would run are quoted."""
        return csv_text([list(self.columns), *zip(*(plain(values) for values in self.columns.values()), strict=True)])

    def to_records(self) -> list[dict[str, Any]]:
        """A dictionary per row, with values that JSON has."""
        rows = zip(*(plain(values) for values in self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]

    def to_columns(self) -> dict[str, list[Any]]:
        """A list per column, with values that JSON has: what files keep."""
        return {name: plain(values) for name, values in self.columns.items()}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any]]) -> Grid:
        """The grid of which `to_columns` made these lists; in a column of numbers null is NaN."""
        return cls({name: _read_column(values) for name, values in columns.items()})

    def to_json(self) -> str:
        """The records as JSON."""
        return json.dumps(self.to_records(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_frame(self) -> pandas.DataFrame:
        """The columns as a data frame of pandas."""
        from graphgauge.core.extras import need

        return need("pandas", "a data frame").DataFrame(dict(self.columns))

    def __str__(self) -> str:
        return self.to_text(MOST_ROWS)

    def __repr__(self) -> str:
        names = list(self.columns)
        return f"<Grid of {len(self):,} rows: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}>"

    def _repr_html_(self) -> str:
        return self.to_html(MOST_ROWS)

    def _rows(self, form: str, most: int | None = None) -> Iterator[list[str]]:
        """Escaped and marked cells."""
        signs, escape = _SIGNS[form], _ESCAPES[form]
        for row in range(len(self) if most is None else min(most, len(self))):
            cells = []
            for name, values in self.columns.items():
                is_label = name == self.axis and values.dtype.kind in "iu"
                show: Callable[[Any], str] = self.shown.get(name, str if is_label else shown)
                cell = escape(show(values[row]))
                for mark in self.marks.get((row, name), "").split():
                    cell = f"{signs[mark][0]}{cell}{signs[mark][1]}"
                cells.append(cell)
            yield cells

    def _below(self, form: str) -> list[str]:
        """What the marks in this table mean, and the notes."""
        used = {mark for marks in self.marks.values() for mark in marks.split()}
        legend = [f"{_sign(form, mark)}: {meaning}" for mark, meaning in MARKS.items() if mark in used]
        return [
            *([", ".join(legend) + "."] if legend else []),
            *map(plain_text if form == "latex" else _ESCAPES[form], self.notes),
        ]


def _sign(form: str, mark: str) -> str:
    """A mark as the legend shows it."""
    before, after = _SIGNS[form][mark]
    style = {"best": "bold", "second": "underlined", "close": "italic"}[mark]
    return after.strip() if form == "table" else style if form == "latex" else f"{before}{style}{after}"


def column(values: Any) -> np.ndarray[Any, Any]:
    """A column of a table: integers, floats and truth values as such, everything else as objects."""
    if isinstance(values, np.ndarray):
        return values
    cells = list(values)
    kinds = {bool if isinstance(c, np.bool_) else type(c) for c in cells}
    if kinds and all(issubclass(kind, bool) for kind in kinds):
        return np.array(cells, dtype=bool)
    if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return np.array(cells)
    if kinds and all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds):
        return np.array(cells, dtype=np.float64)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _read_column(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    texts = [each for each in values if isinstance(each, str)]
    if any(each not in ("inf", "-inf") for each in texts):
        return column(values)
    if texts or any(each is None for each in values):
        return np.array([from_file(each) for each in values], dtype=np.float64)
    return column(values) if len(values) else np.empty(0)


def is_numeric(values: np.ndarray[Any, Any]) -> bool:
    """Whether a column is set to the right."""
    return values.dtype.kind in "iuf"


def _equal(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return one.dtype.kind == other.dtype.kind and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
