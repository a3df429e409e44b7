"""Options and types that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphgauge.core.errors import OptionError
from graphgauge.old.core.fields import split_list

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
    return tuple(filter(None, split_list(text)))


class OnceCommand(click.Command):
    """A command that refuses an option given twice, of which click would use the last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [text.partition("=")[0] for text in args[: args.index("--") if "--" in args else None]]
        for option in self.params:
            if not isinstance(option, click.Option) or option.multiple or option.count:
                continue
            if sum(given.count(flag) for flag in option.opts) > 1:
                raise click.UsageError(f"{max(option.opts, key=len)} is given more than once.", ctx)
        return super().parse_args(ctx, args)


NAMES = _Names()
OUTPUT_FILE = click.Path(dir_okay=False)


class _Product(click.Path):
    """A file about results, such as a table or a page; it must not replace a result or its data."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from graphgauge.old.core.schema import refuse_data

        path = str(super().convert(value, param, ctx))
        refuse_data(path)
        return path


PRODUCT_FILE = _Product(dir_okay=False)


def refuse_replacing(outputs: Iterable[str | None], read: Iterable[str | None]) -> None:
    """Refuse outputs that would replace an input, or each other."""
    inputs = {Path(path).resolve() for path in read if path is not None}
    written = [Path(path).resolve() for path in outputs if path is not None]
    for path in written:
        if path in inputs:
            raise OptionError(f"{path.name} is also an input", fix="Give it another name.")
    if len(set(written)) < len(written):
        raise OptionError("two outputs have the same name", fix="Give each its own name.")


DEBUG = click.option("--debug", is_flag=True, help="Show tracebacks.")
JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Processes at once (default: one per core, at most 4).")
# For commands about many results.
RESULTS = click.argument("results", nargs=-1, required=True, type=click.Path())
