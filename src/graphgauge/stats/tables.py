"""Small tables as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphgauge.core.errors import one_of
from graphgauge.io.delimited import as_csv

FORMS = ("table", "csv", "latex", "markdown", "json")


@dataclass(frozen=True)
class Cell:
    """A text and its mark: `best`, `close` (not significantly different from the best) or none."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """A head, rows of cells whose first cell names the row, and notes below."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: tuple[str, ...] = ()

    def turned(self, corner: str) -> Grid:
        """Rows as columns."""
        heads = [row[0].text for row in self.rows]
        rows = [[Cell(name), *(row[i] for row in self.rows)] for i, name in enumerate(self.head[1:], start=1)]
        return Grid([corner, *heads], rows, self.notes)

    def render(self, form: str) -> str:
        one_of("format", form, FORMS)
        return {"table": self.text, "csv": self.csv, "latex": self.latex, "markdown": self.markdown}[form]()

    def text(self) -> str:
        """For a terminal: `*` marks the best, `~` cells not significantly different from it."""
        sign = {"best": " *", "close": " ~", "": ""}
        marked = any(cell.mark for row in self.rows for cell in row)
        table = [list(self.head)] + [[cell.text + sign[cell.mark] for cell in row] for row in self.rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(self.head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        legend = ("* best, ~ not significantly different from the best.",) if marked else ()
        return (
            "\n".join([lines[0], "─" * len(max(lines, key=len)), *lines[1:], "", *legend, *self.notes]).rstrip() + "\n"
        )

    def markdown(self) -> str:
        """Bold marks the best, italics cells not significantly different from it."""
        sign = {"best": "**", "close": "*", "": ""}
        lines = [
            _row(_escape_markdown(head) for head in self.head),
            _row(["---", *["---:"] * (len(self.head) - 1)]),
            *(
                _row(f"{sign[cell.mark]}{_escape_markdown(cell.text)}{sign[cell.mark]}" for cell in row)
                for row in self.rows
            ),
        ]
        return "\n".join([*lines, "", *(_escape_markdown(note) for note in self.notes)]).rstrip() + "\n"

    def latex(self) -> str:
        """For booktabs: bold marks the best, underlining cells not significantly different from it."""
        macro = {"best": r"\textbf{%s}", "close": r"\underline{%s}", "": "%s"}
        lines = [
            r"\begin{tabular}{l" + "r" * (len(self.head) - 1) + "}",
            r"\toprule",
            " & ".join(_escape_latex(head) for head in self.head) + r" \\",
            r"\midrule",
            *(" & ".join(macro[cell.mark] % _escape_latex(cell.text) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join([*lines, *(f"% {note}" for note in self.notes)]) + "\n"

    def csv(self) -> str:
        return as_csv([self.head, *([cell.text for cell in row] for row in self.rows)])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "◎": r"$\circledcirc$", "–": "--", "α": r"$\alpha$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _escape_markdown(text: str) -> str:
    return "".join("\\" + character if character in "|*_`<" else character for character in text)
