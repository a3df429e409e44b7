"""Options that several commands share."""

from __future__ import annotations

import click

from graphgauge.cli.types import OPEN_SHARE, OUTPUT_FILE

CONFIDENCE = click.option(
    "--confidence", type=OPEN_SHARE, default=0.95, show_default=True, help="Level of the intervals."
)
DEBUG = click.option("--debug", is_flag=True, help="Show tracebacks.")
JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Processes at once (default: one per core, at most 4).")

# For commands about many results.
RESULTS = click.argument("results", nargs=-1, required=True, type=click.Path())
DATASETS = click.option("--dataset", "datasets", multiple=True, help="Only this dataset. Repeatable.")
FAMILY = click.option("--family", help="Only this family, if several have the metric.")
OUTPUT = click.option("--output", "-o", type=OUTPUT_FILE, help="Also write this .json, .csv, .tex or .md file.")
