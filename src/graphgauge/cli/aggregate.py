"""`graphgauge aggregate DIR…`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.common import files_then_words
from graphgauge.cli.family import flag, option_of
from graphgauge.cli.options import OUTPUT_FILE, OnceCommand
from graphgauge.core.fields import Fields, read_all
from graphgauge.core.files import write_text
from graphgauge.stats.aggregate_results import FIELDS, aggregate_results
from graphgauge.stats.tables import FORMS

_BY_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}


def command_about_results(
    name: str, function: Callable[..., Any], fields: Fields, callback: Callable[..., None], drawn: str,
    *more: click.Option,
) -> click.Command:  # fmt: skip
    """A command whose options are fields of a function of stored results, with those of its output."""
    return OnceCommand(
        name,
        callback=callback,
        params=[
            click.Argument(["results"], nargs=-1, required=True, type=click.Path()),
            *map(option_of, fields.values()),
            click.Option(["--format", "form"], type=click.Choice(FORMS), default="table", show_default=True,
                         help="Format of stdout."),
            click.Option(["--output", "-o"], type=OUTPUT_FILE, help="Also write this .json, .csv, .tex or .md file."),
            click.Option(["--figure"], type=OUTPUT_FILE, help=drawn),
            *more,
            click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
        ],
        help=inspect.getdoc(function),
    )  # fmt: skip


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, debug: bool, **options: Any
) -> None:
    table = aggregate_results(list(results), **read_all(FIELDS, options, flag))
    emit(table, form, output, figure, "intervals")


command = command_about_results(
    "aggregate", aggregate_results, FIELDS, _finish, "Draw means with intervals (.svg, .png, .pdf)."
)


def emit(result: Any, form: str, output: str | None, figure: str | None, drawing: str) -> None:
    """Write the result to a file in the format of its suffix, as a figure, and to stdout."""
    files: list[Callable[[], object]] = []
    if output is not None:
        files.append(lambda: write_text(output, result.render(_BY_ENDING.get(Path(output).suffix.lower(), form))))
    if figure is not None:
        from graphgauge.report import stats_figures

        files.append(lambda: getattr(stats_figures, f"draw_{drawing}")(result, figure))
    files_then_words(files, lambda: click.echo(result.render(form), nl=False))
    if output is not None:
        click.echo(f"wrote {output}", err=True)
