"""`graphgauge aggregate DIR…`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click

from graphgauge.old.cli.common import files_then_words
from graphgauge.old.cli.family import flag, option_of
from graphgauge.old.cli.flags import in_flags
from graphgauge.old.cli.options import NAMES, PRODUCT_FILE, OnceCommand, refuse_replacing
from graphgauge.old.core.fields import Fields, read_all
from graphgauge.old.core.files import write_text
from graphgauge.old.core.grids import FORMS
from graphgauge.old.stats.aggregate_results import FIELDS, aggregate_results
from graphgauge.old.stats.load import load
from graphgauge.old.stats.present import MARKS, Style

# How tables are read and printed: about files, not about the statistics.
_READING = [
    click.Option(
        ["--columns"],
        multiple=True,
        metavar="ROLE=COLUMN,…",
        help="Columns of tables: method, dataset, seed, metric, value, such as method=model,value=acc.",
    ),
]
_STYLE = [
    click.Option(["--digits"], type=click.IntRange(0, 15), help="Digits after the point (default: two of the spread)."),
    click.Option(["--percent"], is_flag=True, help="Print shares times 100."),
    click.Option(["--order"], type=NAMES, help="Methods to print first, separated by commas."),
    click.Option(
        ["--marks"],
        type=click.Choice(MARKS),
        default="tests",
        show_default=True,
        help="Mark what does not differ significantly from the best, the best and second best, or nothing.",
    ),
]
_BY_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}


def command_about_results(
    name: str,
    function: Callable[..., Any],
    fields: Fields,
    callback: Callable[..., None],
    drawn: str,
    *more: click.Option,
) -> click.Command:
    """A command whose options are fields of a function of stored results, with those of its output."""
    return OnceCommand(
        name,
        callback=callback,
        params=[
            click.Argument(["results"], nargs=-1, required=True, type=click.Path()),
            *map(option_of, fields.values()),
            *_READING,
            *_STYLE,
            click.Option(
                ["--format", "form"],
                type=click.Choice(FORMS),
                default="table",
                show_default=True,
                help="Format of stdout.",
            ),
            click.Option(["--output", "-o"], type=PRODUCT_FILE, help="Also write this .json, .csv, .tex or .md file."),
            click.Option(["--figure"], type=PRODUCT_FILE, help=drawn),
            *more,
            click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
        ],
        help=inspect.getdoc(function),
    )


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, debug: bool, **options: Any
) -> None:
    style = style_of(options)
    runs = load(list(results), columns=options.pop("columns"))
    refuse_replacing([output, figure], [*results, *(run.source for run in runs)])
    table = aggregate_results(runs, **read_all(FIELDS, options, flag))
    emit(table, form, output, figure, "intervals", style)


command = command_about_results(
    "aggregate", aggregate_results, FIELDS, _finish, "Draw means with intervals (.svg, .png, .pdf)."
)


def style_of(options: dict[str, Any]) -> Style:
    """The style that the options ask for, which are taken out."""
    digits, percent, order, marks = (options.pop(name) for name in ("digits", "percent", "order", "marks"))
    return Style(digits, percent, order or (), marks)


def emit(
    result: Any, form: str, output: str | None, figure: str | None, drawing: str, style: Style | None = None
) -> None:
    """Write the result to a file in the format of its suffix, as a figure, and to stdout."""

    @cache  # a file and stdout often have the same format
    def render(kind: str) -> str:
        text: str = result.render(kind, style)
        return text if kind in ("json", "csv") else in_flags(text)

    files: list[Callable[[], object]] = []
    if output is not None:
        files.append(lambda: write_text(output, render(_BY_ENDING.get(Path(output).suffix.lower(), form))))
    if figure is not None:
        files.append(lambda: result.plot(figure, drawing))
    files_then_words(files, lambda: click.echo(render(form), nl=False))
    if output is not None:
        click.echo(f"wrote {output}", err=True)
