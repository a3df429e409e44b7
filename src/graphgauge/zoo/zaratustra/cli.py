"""`graphgauge zoo zaratustra …`."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.types import names_in
from graphgauge.zoo.zaratustra.engine import ANCHORS, EMBEDDINGS, Settings


@click.group(name="zaratustra")
def command() -> None:
    """An engine that grows its own graph from elites (Normal), from anybody (Off) or from the periphery (Inverted)."""


_DEFAULTS = Settings()


@command.command()
@click.option(
    "--conditions", default="Normal,Off,Inverted", show_default=True, help="Growth rules, separated by commas."
)
@click.option("--cycles", type=click.IntRange(min=1), default=50, show_default=True, help="Cycles of each run.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Runs of each condition.")
@click.option("--data", metavar="FILE", help="A .npz with edges, labels and features, or a Planetoid folder.")
@click.option("--output", required=True, type=click.Path(file_okay=False), help="Folder of the runs; they go on there.")
@click.option(
    "--anchor",
    type=click.Choice(ANCHORS),
    default=_DEFAULTS.anchor,
    show_default=True,
    help="Drawn within the pool, or the nearest elites and the farthest periphery.",
)
@click.option(
    "--embedding",
    type=click.Choice(EMBEDDINGS),
    default=_DEFAULTS.embedding,
    show_default=True,
    help="Where nodes start: the leading directions of the features, or anywhere.",
)
@click.option(
    "--seeds-per-cycle",
    type=int,
    default=_DEFAULTS.seeds_per_cycle,
    show_default=True,
    help="Nodes that get edges in a cycle.",
)
@click.option(
    "--edges-per-seed", type=int, default=_DEFAULTS.edges_per_seed, show_default=True, help="Edges each gets."
)
@click.option(
    "--births-per-cycle",
    type=int,
    default=_DEFAULTS.births_per_cycle,
    show_default=True,
    help="Nodes that appear in a cycle.",
)
@click.option("--dimension", type=int, default=_DEFAULTS.dimension, show_default=True, help="Of the embeddings.")
@click.option("--radius", type=float, default=_DEFAULTS.radius, show_default=True, help="No node lies farther out.")
@click.option(
    "--smoothing",
    type=float,
    default=_DEFAULTS.smoothing,
    show_default=True,
    help="Weight of the neighbours in a cycle.",
)
@click.option(
    "--birth-noise",
    type=float,
    default=_DEFAULTS.birth_noise,
    show_default=True,
    help="How far from the middle of its anchors a node appears.",
)
@click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def run(
    conditions: str, cycles: int, seeds: int, data: str | None, output: str, quiet: bool, debug: bool, **options: Any
) -> None:
    """Run the engine and log every cycle.

    The log is what `graphgauge evolution --log` reads. Cycles that stand in the folder are kept, so that a run that was
    stopped goes on and one that has ended gets longer.
    """
    from graphgauge.zoo.zaratustra.data import block_model, read_graph_data
    from graphgauge.zoo.zaratustra.runs import grow, write_labels

    settings = Settings(**{field.name: options[field.name] for field in fields(Settings)})
    graph = block_model() if data is None else read_graph_data(data)
    names = names_in(conditions)
    bar = click.progressbar(
        grow(graph, settings, names, cycles, seeds, Path(output)), length=len(names) * seeds * cycles,
        label="growing", file=sys.stderr, hidden=quiet,
    )  # fmt: skip
    with bar as steps:
        for _ in steps:
            pass
    labels = write_labels(graph, Path(output))
    if not quiet:
        click.echo(f"evaluate with: graphgauge evolution --log {output} --labels {labels}", err=True)
