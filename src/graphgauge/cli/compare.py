"""`graphgauge compare DIR… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.aggregate import command_about_results, emit
from graphgauge.cli.family import flag
from graphgauge.core.errors import OptionError
from graphgauge.core.fields import read_all
from graphgauge.stats.compare_results import FIELDS, compare_results, refuse

_FIGURES = ("ranks", "differences", "profile")
_DRAW = click.Option(
    ["--draw"], type=click.Choice(_FIGURES), default="ranks", show_default=True,
    help="Mean ranks with groups without significant differences, paired differences, or performance profiles.",
)  # fmt: skip


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, draw: str, debug: bool, **options: Any
) -> None:
    values = read_all(FIELDS, options, flag)
    refuse(values, flag)
    if figure is not None and values["over"] == "items":
        raise OptionError("there is no figure over items", fix="Drop --figure, or compare over seeds.")
    emit(compare_results(list(results), **values), form, output, figure, draw)


command = command_about_results(
    "compare", compare_results, FIELDS, _finish, "Draw the comparison (.svg, .png, .pdf).", _DRAW
)
