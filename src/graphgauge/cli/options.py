"""Options and types that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # older releases of click take no argument here


class _Names(ParamType):
    """Names, separated by commas; empty ones are dropped."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else names_in(str(value))


def names_in(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


NAMES = _Names()
OUTPUT_FILE = click.Path(dir_okay=False)

DEBUG = click.option("--debug", is_flag=True, help="Show tracebacks.")
JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Processes at once (default: one per core, at most 4).")
# For commands about many results.
RESULTS = click.argument("results", nargs=-1, required=True, type=click.Path())
