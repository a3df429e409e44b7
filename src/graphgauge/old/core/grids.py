"""Small tables as text, Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import csv
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from graphgauge.core.errors import one_of
from graphgauge.core.scrub import clean, harmless

FORMS = ("table", "csv", "latex", "markdown", "json")


@dataclass(frozen=True)
class Cell:
    """A text and its mark: `best`, `second`, `close` (to the reference of the table), `best close` or none."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """A head, rows of cells whose first cell names the row, and notes below.

    Cells marked `close` do not differ significantly from the `reference`: the best, or a baseline.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: tuple[str, ...] = ()
    reference: str = "the best"

    def turned(self, corner: str) -> Grid:
        """Rows as columns."""
        heads = [row[0].text for row in self.rows]
        rows = [[Cell(name), *(row[i] for row in self.rows)] for i, name in enumerate(self.head[1:], start=1)]
        return Grid([corner, *heads], rows, self.notes, self.reference)

    def legend(self, sign: Mapping[str, str]) -> tuple[str, ...]:
        """What the marks in this table mean, and no other."""
        found = {mark for row in self.rows for cell in row for mark in cell.mark.split()}
        words = {
            "best": "best",
            "second": "second best",
            "close": f"not significantly different from {self.reference}",
        }
        said = [f"{sign[mark]} {words[mark]}" for mark in words if mark in found]
        return (f"{', '.join(said)}.",) if said else ()

    def render(self, form: str) -> str:
        one_of("format", form, FORMS)
        return {"table": self.text, "csv": self.csv, "latex": self.latex, "markdown": self.markdown}[form]()

    def text(self) -> str:
        """For a terminal: `*` marks the best, `+` the second best, `~` cells that do not differ significantly."""
        sign = {"best": "*", "second": "+", "close": "~"}

        def marked(cell: Cell) -> str:
            marks = "".join(sign[mark] for mark in cell.mark.split())
            text = _single(cell.text)
            return f"{text} {marks}" if marks else text

        table = [[_single(head) for head in self.head]] + [[marked(cell) for cell in row] for row in self.rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(self.head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        below = [*self.legend(sign), *self.notes]
        return harmless("\n".join([lines[0], "─" * len(max(lines, key=len)), *lines[1:], "", *below]).rstrip() + "\n")

    def markdown(self) -> str:
        """Bold marks the best, underlining the second best, italics cells that do not differ significantly."""
        sign = {"best": ("**", "**"), "second": ("<u>", "</u>"), "close": ("*", "*")}
        lines = [
            _row(escape_markdown(head) for head in self.head),
            _row(["---", *["---:"] * (len(self.head) - 1)]),
            *(_row(_wrapped(escape_markdown(cell.text), cell, sign) for cell in row) for row in self.rows),
        ]
        legend = self.legend({"best": "**bold**:", "second": "<u>underlined</u>:", "close": "*italic*:"})
        notes = [escape_markdown(note) for note in self.notes]
        return "\n".join([*lines, "", *_escaped_reference(legend), *notes]).rstrip() + "\n"

    def latex(self) -> str:
        """For booktabs: bold marks the best, underlining the second, italics what is not significantly different."""
        sign = {"best": (r"\textbf{", "}"), "second": (r"\underline{", "}"), "close": (r"\textit{", "}")}
        lines = [
            r"\begin{tabular}{l" + "r" * (len(self.head) - 1) + "}",
            r"\toprule",
            _latex_row(_escape_latex(head) for head in self.head),
            r"\midrule",
            *(_latex_row(_wrapped(_escape_latex(cell.text), cell, sign) for cell in row) for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        legend = self.legend({"best": "bold:", "second": "underlined:", "close": "italic:"})
        return "\n".join([*lines, *(remark(note, "latex") for note in (*legend, *self.notes))]) + "\n"

    def html(self, caption: str = "") -> str:
        """A table without style or script; every text is escaped."""
        sign = {"best": ("<b>", "</b>"), "second": ("<u>", "</u>"), "close": ("<i>", "</i>")}
        head = "".join(f"<th>{html.escape(text)}</th>" for text in self.head)
        rows = [
            "<tr>" + "".join(f"<td>{_wrapped(html.escape(cell.text), cell, sign)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        ]
        legend = self.legend({"best": "bold:", "second": "underlined:", "close": "italic:"})
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in (*legend, *self.notes))
        above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
        return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{notes}"

    def csv(self) -> str:
        return as_csv([self.head, *([cell.text for cell in row] for row in self.rows)])


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as text; cells that a spreadsheet would run are quoted."""
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(csv_cell, row) for row in rows)
    return stream.getvalue()


def csv_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a leading quote; numbers are unchanged."""
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    return value if is_number(value) else f"'{value}"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def remark(text: str, form: str) -> str:
    """A sentence below a table: a comment in LaTeX, an entry of a list in Markdown, where names are not markup."""
    if form == "latex":
        return f"% {_one_line(text)}"
    return f"- {escape_markdown(text)}" if form == "markdown" else text


def _wrapped(text: str, cell: Cell, sign: Mapping[str, tuple[str, str]]) -> str:
    for mark in cell.mark.split():
        text = f"{sign[mark][0]}{text}{sign[mark][1]}"
    return text


def _escaped_reference(legend: Iterable[str]) -> list[str]:
    """The legend in Markdown: its signs are markup, the name of a baseline is not."""
    found = []
    for line in legend:
        start, split, reference = line.partition("not significantly different from ")
        found.append(start + split + escape_markdown(reference))
    return found


def _single(text: str) -> str:
    """A cell in one line, with its spaces."""
    return text if text.isprintable() else clean(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _latex_row(cells: Iterable[str]) -> str:
    """After the end of a row, LaTeX takes a bracket or an asterisk for an option of it."""
    row = " & ".join(cells) + r" \\"
    return "{}" + row if row.startswith(("[", "*")) else row


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "◎": r"$\circledcirc$",
    "–": "--",
    "α": r"$\alpha$",
    "†": r"$\dagger$",
    "≥": r"$\geq$",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"\textbar{}",
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def escape_markdown(text: str) -> str:
    escaped = "".join("\\" + character if character in "\\|*_`<" else character for character in _one_line(text))
    return escaped.replace("](", "]\\(")  # no link
