"""What all commands are: options in sections, each given once, and errors in the words of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from graphgauge.core.door import reworded
from graphgauge.core.errors import GraphgaugeError, OptionError

OUTPUT_FILE = click.Path(dir_okay=False)


class Section(click.Option):
    """An option in a section of `--help`."""

    def __init__(self, section: str, *names: str, **facts: Any) -> None:
        super().__init__(names, **facts)
        self.section = section


class Command(click.Command):
    """A command that refuses an option given twice, of which click would use the last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [text.partition("=")[0] for text in args[: args.index("--") if "--" in args else None]]
        for option in self.params:
            once = isinstance(option, click.Option) and not option.multiple
            if once and sum(words.count(flag) for flag in option.opts) > 1:
                raise click.UsageError(f"{max(option.opts, key=len)} is given more than once.", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GraphgaugeError as error:
            told = reworded(error, self.flags, lambda name: self.flags[name])
            raise told from (error.__cause__ or error)

    @property
    def flags(self) -> dict[str, str]:
        """The flag of each option by the name that messages have for it."""
        options = [option for option in self.params if isinstance(option, click.Option)]
        return {str(option.name): max(option.opts, key=len) for option in options}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "section", "Options"), []).append(record)
        for name, rows in sections.items():
            with formatter.section(name):
                formatter.write_dl(rows)


def flag(name: str) -> str:
    """An argument as the command line writes it."""
    return "--" + name.replace("_", "-")


def refuse_replacing(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse outputs that would replace an input, or each other."""
    read = {Path(path).resolve() for path in inputs}
    written = [Path(path).resolve() for path in outputs if path is not None]
    for path in written:
        if path in read:
            raise OptionError(f"{path.name} is also an input", fix="Give the output another name.")
    if len(set(written)) < len(written):
        raise OptionError("two outputs have the same name", fix="Give each its own name.")


def files_then_words(files: Iterable[Callable[[], object]], words: Callable[[], object]) -> None:
    """Write every file, then print: a closed pipe loses no file, and a full disk loses neither words nor other files.

    A write error is raised at the end; if there are several, the others are printed before.
    """
    failures: list[Exception] = []
    for write in files:
        try:
            write()
        except Exception as error:
            failures.append(error)
    words()
    for failure in failures[1:]:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        raise failures[0]
