"""`graphgauge demo`."""

from __future__ import annotations

import click

from graphgauge.cli.common import emit


@click.command(name="demo")
def command() -> None:
    """Evaluate built-in examples: link prediction on a graph with communities, by three scorers."""
    from graphgauge import demo

    evaluations, comparison = demo.ranking()
    for evaluation in evaluations.values():
        emit(evaluation, "table")
        click.echo()
    click.echo(comparison)
