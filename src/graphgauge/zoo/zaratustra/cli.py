"""`graphgauge zoo zaratustra …`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.types import NAMES
from graphgauge.zoo.zaratustra.engine import ANCHORS, EMBEDDINGS, Settings


@click.group(name="zaratustra")
def command() -> None:
    """An engine that grows its own graph from elites (Normal), from anybody (Off) or from the periphery (Inverted)."""


_HELP = {
    "anchor": "Drawn within the pool, or the nearest elites and the farthest periphery.",
    "embedding": "Where nodes start: the leading directions of the features, or anywhere.",
    "seeds_per_cycle": "Nodes that get edges in a cycle.",
    "edges_per_seed": "Edges each gets.",
    "births_per_cycle": "Nodes that appear in a cycle.",
    "dimension": "Of the embeddings.",
    "radius": "No node lies farther out.",
    "smoothing": "Weight of the neighbours in a cycle.",
    "birth_noise": "How far from the middle of its anchors a node appears.",
}
_CHOICES = {"anchor": ANCHORS, "embedding": EMBEDDINGS}


def _settings(function: Callable[..., None]) -> Callable[..., None]:
    """An option for each of the engine's settings."""
    for name, text in reversed(_HELP.items()):
        default = getattr(Settings, name)
        kind = click.Choice(_CHOICES[name]) if name in _CHOICES else type(default)
        option = click.option(f"--{name.replace('_', '-')}", type=kind, default=default, show_default=True, help=text)
        function = option(function)
    return function


@command.command()
@click.option(
    "--conditions", type=NAMES, default="Normal,Off,Inverted", show_default=True,
    help="Growth rules, separated by commas.",
)  # fmt: skip
@click.option("--cycles", type=click.IntRange(min=1), default=50, show_default=True, help="Cycles of each run.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Runs of each condition.")
@click.option(
    "--data",
    metavar="FILE",
    help="A .npz with edges, labels and features, or the root folder of torch_geometric's Planetoid, which unpickles "
    "its own files: name one you trust. Without it a graph is made.",
)
@click.option("--output", required=True, type=click.Path(file_okay=False), help="Folder of the runs; they go on there.")
@_settings
@click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def run(
    conditions: tuple[str, ...], cycles: int, seeds: int, data: str | None, output: str, quiet: bool, debug: bool,
    **settings: Any,
) -> None:  # fmt: skip
    """Run the engine and log every cycle.

    The log is what `graphgauge evolution --log` reads. Cycles that stand in the folder are kept, so that a run that was
    stopped goes on and one that has ended gets longer.
    """
    from graphgauge.zoo.zaratustra.data import block_model, read_graph_data
    from graphgauge.zoo.zaratustra.runs import grow, write_labels

    engine = Settings(**settings)
    graph = block_model() if data is None else read_graph_data(data)
    bar = click.progressbar(
        grow(graph, engine, conditions, cycles, seeds, Path(output)), length=len(conditions) * seeds * cycles,
        label="growing", file=sys.stderr, hidden=quiet,
    )  # fmt: skip
    with bar as steps:
        for _ in steps:
            pass
    labels = write_labels(graph, Path(output))
    if not quiet:
        click.echo(f"evaluate with: graphgauge evolution --log {output} --labels {labels}", err=True)
