"""`graphgauge init [FAMILY…]`."""

from __future__ import annotations

from pathlib import Path

import click

from graphgauge.core.errors import OptionError


@click.command(name="init")
@click.argument("families", nargs=-1, metavar="[FAMILY]...")
@click.option("--output", "-o", type=click.Path(dir_okay=False), default="study.toml", show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(families: tuple[str, ...], output: str, force: bool) -> None:
    """Write a commented study of these families, or of all."""
    from graphgauge.core.disk import write_text
    from graphgauge.study.init import study_text

    text = study_text(families)
    if Path(output).exists() and not force:
        raise OptionError("already exists", where=output, fix="Name another with --output, or overwrite with --force.")
    write_text(output, text)
    click.echo(f"wrote {output}; fill it in, then: graphgauge run {output}", err=True)
