"""`graphgauge compare RESULTS… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.command import Command, Section
from graphgauge.cli.results import RESULTS, chosen_runs, confidence_option, finish, output_options, reading_options

_ASKED = ("metric", "baseline", "over", "design", "datasets", "test", "margin", "missing", "truths", "confidence")


def _compare(results: tuple[str, ...], **options: Any) -> None:
    """Which method is better by a metric, by how much, and how sure that is.

    RESULTS are result files or folders of them, flat metrics_DATASET_SEED.json, or tables (.csv, .parquet, .json).
    Methods with the same seeds are paired; several datasets are drawn from others like them, unless --datasets these.
    """
    from graphgauge.stats.comparison import compare

    runs = chosen_runs(results, options)
    asked = {name: options[name] for name in _ASKED}
    finish(compare(runs, **asked, direction=options["direction"]), options)


def _choice(name: str, values: list[str], help: str) -> click.Option:
    return Section("Options", name, type=click.Choice(values), default=values[0], help=f"{help}  [{values[0]}]")


command = Command(
    "compare",
    callback=_compare,
    help=_compare.__doc__,
    params=[
        RESULTS,
        Section("Options", "--metric", metavar="KEY", help="The metric; not needed if there is only one."),
        Section("Options", "--baseline", metavar="METHOD", help="Compare the others with this one, not all pairs."),
        _choice("--over", ["seeds", "items"], "Seeds, or the queries, events or time steps of single runs."),
        _choice("--design", ["auto", "paired", "unpaired"], "Whether runs belong together by seed."),
        _choice("--datasets", ["drawn", "these"], "A claim about datasets like these, or about these."),
        _choice("--test", ["mean", "ranks"], "Test means, or ranks (Wilcoxon)."),
        Section("Options", "--margin", type=float, help="A difference that does not matter: are methods equivalent?"),
        Section("Options", "--direction", type=click.Choice(["higher", "lower"]), help="Which is better."),
        confidence_option("Level of the intervals, and of the tests together."),
        *reading_options(),
        *output_options("Draw mean ranks, or the difference of two methods"),
    ],
)
