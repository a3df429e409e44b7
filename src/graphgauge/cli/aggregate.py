"""`graphgauge aggregate DIR…`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphgauge.core.files import write_text
from graphgauge.stats.aggregate import aggregate
from graphgauge.stats.load import load
from graphgauge.stats.runs import MISSING
from graphgauge.stats.tables import FORMS

_BY_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}
# What `compare` has, too.
DATASETS = click.option("--dataset", "datasets", multiple=True, help="Only this dataset. Repeatable.")
FAMILY = click.option("--family", help="Only this family, where several have the metric.")
FORMAT = click.option(
    "--format", "form", type=click.Choice(FORMS), default="table", show_default=True, help="What stdout gets."
)
OUTPUT = click.option(
    "--output", "-o", type=click.Path(dir_okay=False), help="Also write it; .json, .csv, .tex or .md decides how."
)
DEBUG = click.option("--debug", is_flag=True, help="Show tracebacks.")


@click.command(name="aggregate")
@click.argument("results", nargs=-1, required=True, type=click.Path())
@click.option("--metric", "metrics", multiple=True, metavar="KEY", help="Only this metric. Repeatable.")
@DATASETS
@FAMILY
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="raise",
    show_default=True,
    help="A failed or absent run leaves its mean open, is left out and counted, or scores the bad bound.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
@click.option("--higher", multiple=True, metavar="KEY", help="This metric is better high. Repeatable.")
@click.option("--lower", multiple=True, metavar="KEY", help="This metric is better low. Repeatable.")
@FORMAT
@OUTPUT
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw means with intervals (.svg, .png, .pdf).")
@DEBUG
def command(
    results: tuple[str, ...],
    metrics: tuple[str, ...],
    datasets: tuple[str, ...],
    family: str | None,
    missing: Any,
    confidence: float,
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    form: str,
    output: str | None,
    figure: str | None,
    debug: bool,
) -> None:
    """Mean, spread and interval over seeds, from folders of results, flat JSON, .csv or .parquet.

    The best mean of a column is marked, and what is not told apart from it.
    """
    directions: dict[str, Any] = {**dict.fromkeys(higher, "higher"), **dict.fromkeys(lower, "lower")}
    runs = load(list(results)).only(dataset=datasets, family=family)
    table = aggregate(runs, confidence, missing, metrics=metrics or None, directions=directions)
    emit(table, form, output)
    if figure is not None:
        from graphgauge.report.stats_figures import draw_intervals

        draw_intervals(table, figure)


def emit(result: Any, form: str, output: str | None) -> None:
    """The result on stdout, and in a file in the form that its ending names."""
    click.echo(result.render(form), nl=False)
    if output is not None:
        write_text(output, result.render(_BY_ENDING.get(Path(output).suffix.lower(), form)))
        click.echo(f"wrote {output}", err=True)
