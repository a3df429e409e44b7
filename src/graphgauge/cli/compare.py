"""`graphgauge compare DIR… --metric KEY`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.aggregate import FORMAT, SAME_TRUTHS, emit, missing_option
from graphgauge.cli.options import DATASETS, DEBUG, FAMILY, OUTPUT, RESULTS
from graphgauge.cli.types import OPEN_SHARE, OUTPUT_FILE
from graphgauge.core.errors import OptionError
from graphgauge.stats.compare import compare
from graphgauge.stats.load import load

_FIGURES = ("ranks", "differences", "profile")


@click.command(name="compare")
@RESULTS
@click.option("--metric", required=True, metavar="KEY", help="The metric to compare on.")
@click.option("--baseline", metavar="METHOD", help="Compare each method with this one only.")
@click.option(
    "--over",
    type=click.Choice(["seeds", "items"]),
    default="seeds",
    show_default=True,
    help="Test over seeds (datasets, if several), or over the items of one dataset.",
)
@click.option("--method", "methods", multiple=True, help="Only this method. Repeatable.")
@DATASETS
@FAMILY
@missing_option("A failed or missing run is an error, is left out for all methods, or scores the worst bound.")
@SAME_TRUTHS
@click.option(
    "--alpha", type=OPEN_SHARE, default=0.05, show_default=True, help="Level of the tests; intervals have 1 − alpha."
)
@click.option("--higher", "direction", flag_value="higher", help="Higher is better for the metric.")
@click.option("--lower", "direction", flag_value="lower", help="Lower is better for the metric.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the bootstrap and for sign flips.")
@FORMAT
@OUTPUT
@click.option("--figure", type=OUTPUT_FILE, help="Draw the comparison (.svg, .png, .pdf).")
@click.option(
    "--draw",
    type=click.Choice(_FIGURES),
    default="ranks",
    show_default=True,
    help="Mean ranks with groups without significant differences, paired differences, or performance profiles.",
)
@DEBUG
def command(
    results: tuple[str, ...],
    metric: str,
    baseline: str | None,
    over: Any,
    methods: tuple[str, ...],
    datasets: tuple[str, ...],
    family: str | None,
    missing: Any,
    truths: Any,
    alpha: float,
    direction: Any,
    seed: int,
    form: str,
    output: str | None,
    figure: str | None,
    draw: str,
    debug: bool,
) -> None:
    """Show which methods differ significantly, and by how much, with tests that are valid for few seeds."""
    if figure is not None and over == "items":
        raise OptionError("there is no figure over items", fix="Drop --figure, or compare over seeds.")
    runs = load(list(results)).only(method=methods, dataset=datasets, family=family)
    comparison = compare(
        runs, metric=metric, baseline=baseline, over=over, missing=missing, alpha=alpha, direction=direction, seed=seed,
        truths=truths,
    )  # fmt: skip
    emit(comparison, form, output, figure, draw)
