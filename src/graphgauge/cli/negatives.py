"""`graphgauge negatives …`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.old.cli.family import flag, option_of
from graphgauge.old.cli.options import OnceCommand
from graphgauge.old.core.fields import fields_of, read_all, refuse_overwriting
from graphgauge.old.ranking.negative_files import negatives_of_files

_FIELDS = fields_of(negatives_of_files)


def _draw(debug: bool, **options: Any) -> None:
    given = read_all(_FIELDS, options, flag)
    refuse_overwriting(_FIELDS, given, flag)
    found = negatives_of_files(**given)
    click.echo(f"{len(found):,} edges: {found}")
    for name, value in found.record.items():
        click.echo(f"  {name}: {value}")
    if found.short:
        fewest = int(found.mask.sum(axis=1).min())
        click.echo(f"{found.short:,} edges have fewer negatives, the fewest {fewest}: no others are possible")
    click.echo(f"wrote {given['output']}", err=True)


def _option(field: Any) -> click.Option:
    made = option_of(field)
    if field.name == "output":
        made.opts.append("-o")
    return made


command = OnceCommand(
    "negatives",
    callback=_draw,
    params=[
        *(_option(field) for field in _FIELDS.values()),
        click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
    ],
    help=negatives_of_files.__doc__,
)
