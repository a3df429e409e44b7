"""`graphgauge aggregate RESULTS…` and `graphgauge compare RESULTS…`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

from graphgauge.cli.command import OUTPUT_FILE, Command, Section, files_then_words, flag, refuse_replacing
from graphgauge.cli.door import given_fields, option_of
from graphgauge.core.door import CONFIDENCE, Door, Option, in_words
from graphgauge.core.files import refuse_result
from graphgauge.core.grid import FORMS

_MISSING = Literal["raise", "omit", "worst"]
_SHARED = (
    Option("truths", Literal["same", "any"], "same", "Whether methods must be measured against the same truths."),
    Option("columns", tuple[str, ...] | None, None, "Columns of tables, as ROLE=COLUMN: method, dataset, seed, value."),
)
AGGREGATE = Door(
    "aggregate",
    "Mean, standard deviation and interval of every metric over seeds, as a table.",
    "graphgauge.stats:aggregate",
    inputs=(),
    options=(
        Option("metrics", str | tuple[str, ...] | None, None, "Keys, or all; by default the headlines."),
        Option("missing", _MISSING, "raise", "Runs without a value: no mean, left out, or the metric's worst value."),
        Option("directions", dict[str, str] | None, None, "Which is better, as KEY=higher or KEY=lower."),
        *_SHARED,
    ),
    common=(CONFIDENCE,),
    example="graphgauge aggregate results/",
)
COMPARE = Door(
    "compare",
    "Which method is better on one metric: all pairs, or each with a baseline.",
    "graphgauge.stats:compare",
    inputs=(),
    options=(
        Option("metric", str | None, None, "The metric to compare on."),
        Option("baseline", str | None, None, "Compare all others with this method."),
        Option("over", Literal["seeds", "items"], "seeds", "What is drawn anew: seeds, or queries and other items."),
        Option("design", Literal["auto", "paired", "unpaired"], "auto", "Whether runs are paired by seed."),
        Option("datasets", Literal["drawn", "these"], "drawn", "Claim something of datasets like these, or of these."),
        Option("test", Literal["mean", "ranks"], "mean", "Test means, or ranks with Wilcoxon's tests."),
        Option("margin", float | None, None, "A difference that does not matter."),
        Option("metrics_compared", int, 1, "How many metrics are compared, for the correction.", 1),
        Option("missing", _MISSING, "raise", "Runs without a value: an error, left out, or the metric's worst value."),
        Option("direction", Literal["higher", "lower"] | None, None, "Which is better, where it is not known."),
        *_SHARED,
    ),
    common=(CONFIDENCE,),
    example="graphgauge compare results/ --metric mrr",
)
_STYLE = Door(
    "style",
    "How a table of means is printed.",
    "graphgauge.stats.summaries:Aggregate.to_grid",
    inputs=(),
    options=(
        Option("marks", Literal["best", "tests", "none"], "best", "Mark the best; with tests, also what is as good."),
        Option("digits", int | None, None, "Digits after the point; by default two of the spread.", 0, 15),
        Option("percent", bool, False, "Print shares times 100."),
        Option("order", tuple[str, ...], (), "Methods to print first."),
    ),
    common=(),
)


def _command(door: Door, callback: Callable[..., None], *more: click.Option) -> Command:
    """A command whose options are those of a function of stored results."""
    return Command(
        door.name,
        callback=callback,
        params=[
            click.Argument(["results"], nargs=-1, required=True, type=click.Path()),
            *(option_of(door.name, each, "Options") for each in (*door.options, *door.common)),
            *more,
            Section(
                "Output",
                "--format",
                "form",
                type=click.Choice(FORMS),
                default="table",
                metavar="|".join(FORMS),
                help="Format of stdout.  [table]",
            ),
            Section("Output", "--output", "-o", type=OUTPUT_FILE, metavar="FILE", help="Write it, as the ending says."),
            Section("Output", "--figure", type=OUTPUT_FILE, metavar="FILE", help="Draw it (.svg, .png, .pdf)."),
            Section("Output", "--debug", is_flag=True, help="Show tracebacks."),
        ],
        help=door.line,
        epilog=f"Example: {door.example}",
    )


def _aggregate(results: tuple[str, ...], form: str, output: str | None, figure: str | None, **options: Any) -> None:
    style = {name: value for name, value in _STYLE.read(given_fields(_STYLE, options)).items() if options.get(name)}
    _finish(AGGREGATE, results, form, output, figure, options, style)


def _compare(results: tuple[str, ...], form: str, output: str | None, figure: str | None, **options: Any) -> None:
    _finish(COMPARE, results, form, output, figure, options, {})


def _finish(
    door: Door,
    results: tuple[str, ...],
    form: str,
    output: str | None,
    figure: str | None,
    options: dict[str, Any],
    style: dict[str, Any],
) -> None:
    values = door.read(given_fields(door, options))
    refuse_replacing([output, figure], results)
    for product in filter(None, (output, figure)):
        refuse_result(product)
    table = door.function([Path(each) for each in results], **values)
    files: list[Callable[[], object]] = []
    if output is not None:
        files.append(lambda: table.save(output, **style))
    if figure is not None:
        files.append(lambda: table.plot(figure))
    text = table.render(form, **({} if form in ("csv", "json") else style))
    shown = in_words(door.fields, text, flag, hints=True) if form == "table" else text
    files_then_words(files, lambda: click.echo(shown.rstrip("\n")))
    if output is not None:
        click.echo(f"wrote {output}", err=True)


aggregate = _command(AGGREGATE, _aggregate, *(option_of("style", each, "Table") for each in _STYLE.options))
compare = _command(COMPARE, _compare)
