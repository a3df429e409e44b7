"""`graphgauge compare DIR… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.aggregate import emit
from graphgauge.cli.family import flag, option_of
from graphgauge.cli.types import OUTPUT_FILE
from graphgauge.core.errors import OptionError
from graphgauge.core.fields import read_all
from graphgauge.stats.compare_results import FIELDS, compare_results, refuse
from graphgauge.stats.tables import FORMS

_FIGURES = ("ranks", "differences", "profile")
_DRAWN = "Mean ranks with groups without significant differences, paired differences, or performance profiles."


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, draw: str, debug: bool, **options: Any
) -> None:
    values = read_all(FIELDS, options)
    refuse(values, flag)
    if figure is not None and values["over"] == "items":
        raise OptionError("there is no figure over items", fix="Drop --figure, or compare over seeds.")
    emit(compare_results(list(results), **values), form, output, figure, draw)


command = click.Command(
    "compare",
    callback=_finish,
    params=[
        click.Argument(["results"], nargs=-1, required=True, type=click.Path()),
        *map(option_of, FIELDS.values()),
        click.Option(["--format", "form"], type=click.Choice(FORMS), default="table", show_default=True,
                     help="Format of stdout."),
        click.Option(["--output", "-o"], type=OUTPUT_FILE, help="Also write this .json, .csv, .tex or .md file."),
        click.Option(["--figure"], type=OUTPUT_FILE, help="Draw the comparison (.svg, .png, .pdf)."),
        click.Option(["--draw"], type=click.Choice(_FIGURES), default="ranks", show_default=True, help=_DRAWN),
        click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
    ],
    help=compare_results.__doc__,
)  # fmt: skip
