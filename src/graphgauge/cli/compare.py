"""`graphgauge compare DIR… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.aggregate import command_about_results, emit, style_of
from graphgauge.core.errors import OptionError
from graphgauge.old.cli.family import flag
from graphgauge.old.cli.options import refuse_replacing
from graphgauge.old.core.fields import read_all
from graphgauge.old.stats.compare_results import FIELDS, compare_results, refuse
from graphgauge.old.stats.load import load

_FIGURES = ("ranks", "differences")
_DRAW = click.Option(
    ["--draw"],
    type=click.Choice(_FIGURES),
    default="ranks",
    show_default=True,
    help="Mean ranks with groups without significant differences, or paired differences.",
)


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, draw: str, debug: bool, **options: Any
) -> None:
    style, columns = style_of(options), options.pop("columns")
    values = read_all(FIELDS, options, flag)
    refuse(values, flag)
    if figure is not None and values["over"] == "items":
        raise OptionError("there is no figure over items", fix="Drop --figure, or compare over seeds.")
    loaded = load(list(results), columns=columns)
    refuse_replacing([output, figure], [*results, *(run.source for run in loaded)])
    emit(compare_results(loaded, **values), form, output, figure, draw, style)


command = command_about_results(
    "compare", compare_results, FIELDS, _finish, "Draw the comparison (.svg, .png, .pdf).", _DRAW
)
