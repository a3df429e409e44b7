"""`graphgauge compare DIR… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.aggregate import command_about_results, emit, style_of
from graphgauge.cli.family import flag
from graphgauge.cli.options import refuse_replacing
from graphgauge.core.errors import OptionError
from graphgauge.core.fields import read_all
from graphgauge.stats.compare_results import FIELDS, compare_results, refuse
from graphgauge.stats.load import load
from graphgauge.stats.published import compare_published

_FIGURES = ("ranks", "differences", "profile")
_DRAW = click.Option(
    ["--draw"],
    type=click.Choice(_FIGURES),
    default="ranks",
    show_default=True,
    help="Mean ranks with groups without significant differences, paired differences, or performance profiles.",
)

_N = click.Option(
    ["--n"],
    type=click.IntRange(min=2),
    help="The table has means ± standard deviations of this many runs each: test them by Welch's test.",
)


def _finish(
    results: tuple[str, ...], form: str, output: str | None, figure: str | None, draw: str, debug: bool, **options: Any
) -> None:
    style, columns, runs = style_of(options), options.pop("columns"), options.pop("n")
    values = read_all(FIELDS, options, flag)
    refuse(values, flag)
    if runs is not None:
        refuse_replacing([output, figure], results)
        emit(_published(results, runs, columns, values), form, output, figure, draw, style)
        return
    if figure is not None and values["over"] == "items":
        raise OptionError("there is no figure over items", fix="Drop --figure, or compare over seeds.")
    loaded = load(list(results), columns=columns)
    refuse_replacing([output, figure], [*results, *(run.source for run in loaded)])
    emit(compare_results(loaded, **values), form, output, figure, draw, style)


def _published(results: tuple[str, ...], runs: int, columns: tuple[str, ...], values: dict[str, Any]) -> Any:
    """The comparison of a table of means ± standard deviations; options that need runs are refused."""
    taken = ("metric", "baseline", "method", "dataset", "alpha", "margin", "higher", "lower")
    for name, field in FIELDS.items():
        if name not in taken and field.is_given(values[name]):
            raise OptionError(f"{flag(name)} needs runs, and --n says that the table has means", fix="Leave one out.")
    if len(results) > 1:
        raise OptionError("--n takes one table", fix="Put the means into one file.")
    direction: Any = "higher" if values["higher"] else "lower" if values["lower"] else None
    return compare_published(
        results[0],
        n=runs,
        metric=values["metric"],
        baseline=values["baseline"],
        method=values["method"],
        dataset=values["dataset"],
        alpha=values["alpha"],
        margin=values["margin"],
        direction=direction,
        columns=columns,
    )


command = command_about_results(
    "compare", compare_results, FIELDS, _finish, "Draw the comparison (.svg, .png, .pdf).", _DRAW, _N
)
