"""`graphgauge zoo zaratustra …`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.options import NAMES
from graphgauge.zoo.zaratustra.engine import ANCHORS, AVERAGES, EMBEDDINGS, RADII, Settings


@click.group(name="zaratustra")
def command() -> None:
    """An engine that grows its own graph from elites (Normal), all nodes (Off), the periphery (Inverted), or not at all
    (Still)."""


_HELP = {
    "anchor": "Draw from the pool, or take the nearest elites and the farthest periphery.",
    "embedding": "First embeddings: leading singular vectors of the features, or random.",
    "average": "Pull towards neighbours divided by the square roots of both degrees, or towards their mean.",
    "radius_by": "Distance from the centre: as smoothing leaves it, as at the start, or smaller for higher degrees.",
    "seeds_per_cycle": "Nodes that get new edges per cycle.",
    "edges_per_seed": "New edges per node.",
    "births_per_cycle": "New nodes per cycle.",
    "dimension": "Dimension of the embeddings.",
    "radius": "Largest norm of an embedding.",
    "smoothing": "Weight of the neighbours per cycle.",
    "birth_noise": "Noise around the mean of its anchors for a new node.",
}
_CHOICES = {"anchor": ANCHORS, "embedding": EMBEDDINGS, "average": AVERAGES, "radius_by": RADII}


def _settings(function: Callable[..., None]) -> Callable[..., None]:
    """One option per setting of the engine."""
    for name, text in reversed(_HELP.items()):
        default = getattr(Settings, name)
        kind = click.Choice(_CHOICES[name]) if name in _CHOICES else type(default)
        option = click.option(f"--{name.replace('_', '-')}", type=kind, default=default, show_default=True, help=text)
        function = option(function)
    return function


@command.command()
@click.option(
    "--conditions",
    type=NAMES,
    default="Normal,Off,Inverted",
    show_default=True,
    help="Growth rules, separated by commas.",
)
@click.option("--cycles", type=click.IntRange(min=1), default=50, show_default=True, help="Cycles per run.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Runs per condition.")
@click.option(
    "--data",
    metavar="FILE",
    help="A .npz with edges, labels and features, or the root folder of torch_geometric's Planetoid, which unpickles "
    "its files: use only a folder you trust. By default a graph is generated.",
)
@click.option(
    "--output", required=True, type=click.Path(file_okay=False), help="Folder of the runs; existing runs are continued."
)
@_settings
@click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def run(
    conditions: tuple[str, ...],
    cycles: int,
    seeds: int,
    data: str | None,
    output: str,
    quiet: bool,
    debug: bool,
    **settings: Any,
) -> None:
    """Run the engine and log every cycle.

    `graphgauge evolution --log` evaluates the log. Cycles that are already in the folder are kept: interrupted runs are
    resumed, and finished runs can be extended.
    """
    from graphgauge.zoo.zaratustra.data import block_model, read_graph_data
    from graphgauge.zoo.zaratustra.runs import grow, write_labels

    engine = Settings(**settings)
    graph = block_model() if data is None else read_graph_data(data)
    bar = click.progressbar(
        grow(graph, engine, conditions, cycles, seeds, Path(output)),
        length=len(conditions) * seeds * cycles,
        label="growing",
        file=sys.stderr,
        hidden=quiet,
    )
    with bar as steps:
        for _ in steps:
            pass
    labels = write_labels(graph, Path(output))
    if not quiet:
        click.echo(f"evaluate with: graphgauge evolution --log {output} --labels {labels}", err=True)
