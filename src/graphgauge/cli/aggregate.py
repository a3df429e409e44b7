"""`graphgauge aggregate DIR…`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from graphgauge.cli.common import files_then_words
from graphgauge.cli.options import CONFIDENCE, DATASETS, DEBUG, FAMILY, OUTPUT, RESULTS
from graphgauge.cli.types import OUTPUT_FILE
from graphgauge.core.files import write_text
from graphgauge.stats.aggregate import aggregate
from graphgauge.stats.load import load
from graphgauge.stats.runs import MISSING
from graphgauge.stats.tables import FORMS
from graphgauge.stats.truths import TRUTHS

F = TypeVar("F", bound=Callable[..., Any])

_BY_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}
# Options that `compare` shares.
FORMAT = click.option(
    "--format", "form", type=click.Choice(FORMS), default="table", show_default=True, help="Format of stdout."
)
SAME_TRUTHS = click.option(
    "--truths", type=click.Choice(TRUTHS), default="same", show_default=True,
    help="Refuse methods that were measured against different truths, or accept them with a warning.",
)  # fmt: skip


def missing_option(meaning: str) -> Callable[[F], F]:
    """The `--missing` option, whose meaning differs between a mean and a test."""
    return click.option("--missing", type=click.Choice(MISSING), default="raise", show_default=True, help=meaning)


@click.command(name="aggregate")
@RESULTS
@click.option("--metric", "metrics", multiple=True, metavar="KEY", help="Only this metric. Repeatable.")
@DATASETS
@FAMILY
@missing_option("A failed or missing run makes its mean NaN, is left out and counted, or scores the worst bound.")
@SAME_TRUTHS
@CONFIDENCE
@click.option("--higher", multiple=True, metavar="KEY", help="Higher is better for this metric. Repeatable.")
@click.option("--lower", multiple=True, metavar="KEY", help="Lower is better for this metric. Repeatable.")
@FORMAT
@OUTPUT
@click.option("--figure", type=OUTPUT_FILE, help="Draw means with intervals (.svg, .png, .pdf).")
@DEBUG
def command(
    results: tuple[str, ...],
    metrics: tuple[str, ...],
    datasets: tuple[str, ...],
    family: str | None,
    missing: Any,
    truths: Any,
    confidence: float,
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    form: str,
    output: str | None,
    figure: str | None,
    debug: bool,
) -> None:
    """Mean, spread and interval over seeds, from folders of results, flat JSON, .csv or .parquet.

    The best mean of a column is marked, and means that do not differ significantly from it.
    """
    directions: dict[str, Any] = {**dict.fromkeys(higher, "higher"), **dict.fromkeys(lower, "lower")}
    runs = load(list(results)).only(dataset=datasets, family=family)
    table = aggregate(runs, confidence, missing, metrics=metrics or None, directions=directions, truths=truths)
    emit(table, form, output, figure, "intervals")


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
