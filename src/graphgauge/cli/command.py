"""What all commands are: options declared as those of doors, errors in the words of the flags, words and progress."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from graphgauge.core.door import METRICS, REQUIRED, Door, Input, Option, reworded, split_list
from graphgauge.core.errors import GraphgaugeError, OptionError
from graphgauge.core.markup import clean
from graphgauge.core.progress import Progress

DEBUG = Option("debug", bool, False, "Show tracebacks.")
QUIET = Option("quiet", bool, False, "Nothing on stderr but errors and gates.")
# A terminal shows progress of what takes longer than this, in seconds.
_PATIENCE = 2.0
_KINDS = {"named": "NAME=FILE", "parts": "FILE", "code": "MODULE:FACTORY", "folder": "DIR"}


class Section(click.Option):
    """An option in a section of `--help`."""

    def __init__(self, section: str, *names: str, **facts: Any) -> None:
        super().__init__(names, **facts)
        self.section = section


class Command(click.Command):
    """A command with `declared` options, which its callback takes typed and within their bounds."""

    declared = Door("", "", "", (), common=())

    def invoke(self, ctx: click.Context) -> Any:
        try:
            ctx.params |= self.declared.read(given_fields(self.declared, ctx.params))
            return super().invoke(ctx)
        except GraphgaugeError as error:
            flags = {str(each.name): max(each.opts, key=len) for each in self.params if isinstance(each, click.Option)}
            raise reworded(error, flags, lambda name: flags[name]) from (error.__cause__ or error)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "section", "Options"), []).append(record)
        for name, rows in sections.items():
            with formatter.section(name):
                formatter.write_dl(rows)


def command(
    callback: Callable[..., Any], sections: Mapping[str, Sequence[Option]], *arguments: click.Argument
) -> Command:
    """A command with these options, by section of its help, which is the docstring of its function."""
    name = callback.__name__.strip("_")
    options = [option_of(each, section) for section, part in sections.items() for each in part]
    made = Command(name, callback=callback, help=callback.__doc__, params=[*arguments, *options])
    made.declared = Door(name, "", "", (), tuple(each for part in sections.values() for each in part), common=())
    return made


def given_fields(door: Door, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a door that a command line gives; lists are repeated, or have commas if they are shown so."""
    given = {name: options[name] for name in door.fields if options.get(name) not in (None, (), False)}
    for name, value in given.items():
        each = door.fields[name]
        if isinstance(each, Option) and each.is_list and "," in _metavar(each):
            parts = tuple(part for text in value for part in split_list(text))
            given[name] = "all" if parts == ("all",) else parts
    return given


def option_of(each: Input | Option, section: str, family: str | None = None) -> Section:
    """The option of a field: a text, which its door reads."""
    flags = {"gates": ("--gate",), "output": ("-o", "--output")}.get(each.name, (flag(each.name),))
    facts: dict[str, Any] = {"help": each.help + _default(each.default)}
    if isinstance(each, Input):
        shown = _KINDS.get(each.many) or _KINDS.get(each.kind, "FILE")
        facts |= {"metavar": shown, "multiple": bool(each.many), "shell_complete": _files}
    elif each.plain is bool:
        facts |= {"is_flag": True}
    else:
        facts |= {"metavar": _metavar(each), "multiple": each.is_list or each.is_mapping}
        if each is METRICS:
            facts |= {"shell_complete": keys(family, several=True)}
        elif each.choices:
            facts |= {"shell_complete": _among(each.choices)}
    return Section(section, *flags, each.name, **facts)


def flag(name: str) -> str:
    """An argument as the command line writes it."""
    return "--" + name.replace("_", "-")


def _metavar(each: Option) -> str:
    if each.shown or each.choices or each.is_output:
        return each.shown or "|".join(each.choices) or "FILE"
    if each.is_mapping or each.is_list:
        return "NAME=VALUE" if each.is_mapping else "A,B,…"
    return {int: "N", float: "X", str: "TEXT"}.get(each.plain, "N|" + "|".join(each.words))


def _default(default: Any) -> str:
    if default is None or default is False or default == ():
        return ""
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    return f"  [{'required' if default is REQUIRED else shown}]"


def _files(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Files and folders, by the shell's own rules."""
    return [CompletionItem(begun, type="file")]


def _among(choices: tuple[str, ...]) -> Callable[..., list[CompletionItem]]:
    return lambda ctx, param, begun: [CompletionItem(each) for each in choices if each.startswith(begun)]


def keys(family: str | None = None, *, several: bool = False) -> Callable[..., list[CompletionItem]]:
    """What shells are offered for keys of metrics, of a family or of all; `several` are separated by commas."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from graphgauge.core.registry import metrics

        before, comma, begun = incomplete.rpartition(",") if several else ("", "", incomplete)
        known = dict.fromkeys(entry.key_of(**entry.params) for entry in metrics(family))
        return [CompletionItem(f"{before}{comma}{key}") for key in known if key.startswith(begun)]

    return complete


def refuse_replacing(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse outputs that would replace an input, or each other."""
    read = {Path(path).resolve() for path in inputs}
    written = [Path(path).resolve() for path in outputs if path is not None]
    for path in written:
        if path in read:
            raise OptionError(f"{path.name} is also an input", fix="Give the output another name.")
    if len(set(written)) < len(written):
        raise OptionError("two outputs have the same name", fix="Give each its own name.")


def say(text: str) -> None:
    """Print words; on a terminal sentences are broken between words, and rows of tables stay as they are."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        fill = partial(
            textwrap.fill, width=width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        text = "\n".join(line if "  " in line else fill(line) for line in text.split("\n"))
    click.echo(text)


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


class Bar(Progress):
    """Progress as one line of a terminal's stderr, with the time that is left."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._name, self._begun, self._line = "", time.perf_counter(), False

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        if name != self._name:
            self._name, self._begun = name, time.perf_counter()
        spent = time.perf_counter() - self._begun
        if done >= total:
            self.clear()
        elif not self.quiet and sys.stderr.isatty() and spent > _PATIENCE:
            left = f", about {duration(spent / done * (total - done))} left" if done else ""
            text = f"{100 * done // total:3d} %  {name}{left}{f' · {detail}' if detail else ''}"
            click.echo(f"\r\x1b[2K{clean(text, 100)}", err=True, nl=False)
            self._line = True

    def clear(self) -> None:
        """Remove the line."""
        if self._line:
            click.echo("\r\x1b[2K", err=True, nl=False)
        self._line = False

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(clean(text), err=True)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
