"""`graphgauge aggregate RESULTS…`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.command import Command, Section
from graphgauge.cli.results import (
    RESULTS,
    chosen_runs,
    confidence_option,
    directions_of,
    finish,
    output_options,
    reading_options,
)
from graphgauge.core.door import split_list
from graphgauge.core.errors import OptionError


def _aggregate(results: tuple[str, ...], metric: tuple[str, ...], **options: Any) -> None:
    """Mean and standard deviation over runs, with intervals, as a table.

    RESULTS are result files or folders of them, flat metrics_DATASET_SEED.json, or tables (.csv, .parquet, .json). The
    best mean is marked; whether it differs from the others is the question of `graphgauge compare`.
    """
    from graphgauge.stats.summaries import aggregate

    if metric and options["all"]:
        raise OptionError("--metric and --all exclude each other", fix="Give one of them.")
    names = [name for text in metric for name in split_list(text)]
    table = aggregate(
        chosen_runs(results, options),
        metrics="all" if options["all"] else names or None,
        confidence=options["confidence"],
        missing=options["missing"],
        directions=directions_of(options["direction"]),  # type: ignore[arg-type]
        truths=options["truths"],
    )
    style: dict[str, Any] = {"marks": options["marks"], "digits": options["digits"], "percent": options["percent"]}
    style["order"] = split_list(options["order"] or "")
    asked = {name: value for name, value in style.items() if value and (name, value) != ("marks", "best")}
    finish(table, options, asked | ({"digits": 0} if options["digits"] == 0 else {}))


command = Command(
    "aggregate",
    callback=_aggregate,
    help=_aggregate.__doc__,
    params=[
        RESULTS,
        Section("Options", "--metric", multiple=True, metavar="KEY,…", help="Metrics; by default the headlines."),
        Section("Options", "--all", is_flag=True, help="All metrics."),
        confidence_option("Level of the intervals."),
        Section(
            "Options", "--direction", multiple=True, metavar="KEY=higher", help="Which is better, if no name says it."
        ),
        *reading_options(),
        Section(
            "Table",
            "--marks",
            type=click.Choice(["best", "tests", "none"]),
            default="best",
            help="Mark the best mean, also what does not differ significantly from it, or nothing.  [best]",
        ),
        Section("Table", "--digits", type=click.IntRange(0, 15), help="Digits after the point."),
        Section("Table", "--percent", is_flag=True, help="Numbers times 100."),
        Section("Table", "--order", metavar="NAME,…", help="Methods that come first."),
        *output_options("Draw means with their intervals"),
    ],
)
