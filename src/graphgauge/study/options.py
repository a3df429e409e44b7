"""Commands in a study: which keys a table may have, and the arguments that they become."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.types import FACTORY
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.metric import FAMILIES

# Options that a study sets in another way, and how.
ELSEWHERE = {
    "gate": "Write a [[gate]] table.",
    "threads": "`graphgauge run --jobs` divides the cores.",
    "format": "Results are written as JSON.",
    "draw": "Use `graphgauge compare --figure`.",
    "quiet": "It is an option of `graphgauge run`.",
    "debug": "It is an option of `graphgauge run`.",
}
IDENTITY = ("method", "dataset", "run_seed")
# Other text options that are not file names.
_NAMES = ("metrics", "explainer")


@cache
def command_of(name: str) -> click.Command:
    command: click.Command = importlib.import_module(f"graphgauge.cli.{name}").command
    return command


def family_command(family: str) -> click.Command:
    return command_of(one_of("family", family, FAMILIES))


@cache
def keys_of(command: click.Command) -> dict[str, click.Option]:
    """The options that a study may have. Output files may not: a study writes its own."""
    return {
        key: option
        for key, option in _options(command)
        if key not in ELSEWHERE and not isinstance(option.type, click.Path)
    }


def refused(command: click.Command, key: str) -> str | None:
    """Why an option of the command is not a key of a study, if so."""
    if key not in dict(_options(command)) or key in keys_of(command):
        return None
    return ELSEWHERE.get(key, f"Studies write their results themselves; use `graphgauge {command.name}` for --{key}.")


def arguments_of(option: click.Option, value: Any) -> list[str]:
    """A value from a study file as arguments of the command; `--name=value` keeps values separate from options."""
    flag = flag_of(option)
    if isinstance(value, bool) or option.is_flag:
        if not (isinstance(value, bool) and option.is_flag):
            raise InputError("expected true or false" if option.is_flag else "is not a yes-or-no option")
        return [flag] if value else []
    if isinstance(value, dict):
        if not takes_names(option):
            raise InputError("does not take a table")
        return [f"{flag}={name}={_scalar(item)}" for name, item in value.items()]
    if isinstance(value, list):
        parts = [_scalar(part) for part in value]
        return [f"{flag}={part}" for part in parts] if option.multiple else [f"{flag}={','.join(parts)}"]
    return [f"{flag}={_scalar(value)}"]


def checked(command: click.Command, arguments: Sequence[str]) -> dict[str, Any]:
    """The command's parameters; for a wrong argument, click's exception has the message."""
    return command.make_context(command.name, list(arguments)).params  # click empties the list that it is given


def refuse_foreign(command: click.Command, arguments: Sequence[str]) -> None:
    """Arguments from a result file must be options that a study may have."""
    allowed = {flag_of(option) for key, option in keys_of(command).items() if key not in IDENTITY}
    for argument in arguments:
        if argument.partition("=")[0] not in allowed:
            raise OptionError(f"{argument!r:.60} is not an option of a study")


def named_paths(command: click.Command, parameters: dict[str, Any]) -> Iterator[str]:
    """Every value that names a file, a folder or a pattern."""
    for option in _file_options(command):
        value = parameters[str(option.name)]
        for text in value if isinstance(value, tuple) else () if value is None else (value,):
            yield text.partition("=")[2] if takes_names(option) else text


def located(command: click.Command, arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments with all paths relative to a folder, for a process with another working directory."""
    options = {flag_of(option): option for option in _file_options(command)}
    return [_located(argument, options, folder) for argument in arguments]


def _located(argument: str, options: dict[str, click.Option], folder: Path) -> str:
    flag, _, value = argument.partition("=")
    if flag not in options:
        return argument
    name, equals, path = value.partition("=") if takes_names(options[flag]) else ("", "", value)
    if not path:
        return argument
    if glob.has_magic(path) and not Path(path).is_absolute() and not os.path.exists(folder / path):  # noqa: PTH110
        return f"{flag}={name}{equals}{Path(glob.escape(str(folder))) / path}"
    return f"{flag}={name}{equals}{folder / path}"


def _file_options(command: click.Command) -> list[click.Option]:
    return [
        option
        for key, option in keys_of(command).items()
        if key not in (*IDENTITY, *_NAMES) and isinstance(option.type, click.types.StringParamType)
    ]


def named_factories(command: click.Command, parameters: dict[str, Any]) -> list[str]:
    """Every `module:factory` that the evaluation would import."""
    return [
        parameters[str(option.name)]
        for option in keys_of(command).values()
        if option.type is FACTORY and parameters[str(option.name)]
    ]


def takes_names(option: click.Option) -> bool:
    """Whether it is repeated as NAME=FILE, which is a table in a study."""
    return option.multiple and "=" in (option.metavar or "")


def flag_of(option: click.Option) -> str:
    return max(option.opts, key=len)


def _options(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    for option in command.params:
        if isinstance(option, click.Option):
            yield flag_of(option).removeprefix("--").replace("-", "_"), option


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"expected a text or a number, found {type(value).__name__}")
    return repr(value)
