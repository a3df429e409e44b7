"""`graphgauge merge STATE…`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from graphgauge.old.cli.common import OUTPUT_OPTIONS, Run
from graphgauge.old.cli.family import flag, option_of, with_inputs
from graphgauge.old.cli.options import OnceCommand
from graphgauge.old.core.described import help_of
from graphgauge.old.core.fields import fields_of
from graphgauge.old.engines.merge import merge_files

_FIELDS = fields_of(merge_files)


def _finish(**options: Any) -> None:
    run, own = Run.split(options)
    run.finish(*with_inputs("merge", partial(merge_files, shown=flag), _FIELDS, own, run))


command = OnceCommand(
    "merge",
    callback=_finish,
    params=[
        click.Argument(["states"], nargs=-1, required=True, type=click.Path()),
        *(option_of(field) for field in _FIELDS.values() if field.name != "states"),
        *OUTPUT_OPTIONS,
    ],
    help=help_of(merge_files),
)
