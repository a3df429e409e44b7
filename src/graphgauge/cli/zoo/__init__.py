"""`graphgauge zoo NAME …`."""

from __future__ import annotations

import click

from graphgauge.cli.lazy import LazyGroup

# One line each, shown by --help without importing the system.
SYSTEMS: dict[str, str] = {
    "temporal": "A temporal graph network on contacts, with explainers of its answers.",
    "zaratustra": "An engine that grows its own graph, for `graphgauge evolution`.",
}


@click.group(name="zoo", cls=LazyGroup, lines=SYSTEMS, place="graphgauge.cli.zoo.{}")
def command() -> None:
    """Real systems to evaluate, small enough to train on one machine."""
