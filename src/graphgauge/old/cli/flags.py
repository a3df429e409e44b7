"""Messages of the library, which name arguments, in the flags of the command that was called."""

from __future__ import annotations

import re
import sys

import click

# `name="value"`, `name=0`, `name=…`, `name=[]` or `name=` in a sentence; not in a call, a path or a longer expression.
_ARGUMENT = re.compile(
    r"""(?<![\w.\[{=/-])(?<!\w\()([a-z][a-z_]*)=(?:"([\w.=@+,…-]+)"|(-?\d[\d.]*\d|\d|…)|(\[\])|(?=[ ,;.)]|$))"""
)


def in_flags(text: str) -> str:
    """A message with flags in the place of arguments.

    `nan="omit"` is `--nan omit`, `null_value=0` is `--null-value 0`, `weights=` is `--weights`, `columns="seed=fold"`
    is `--columns seed=fold`, and a value that has a flag of its own, `direction="higher"`, is that flag.
    """
    flags = _flags()

    def flag(found: re.Match[str]) -> str:
        name = f"--{found[1].replace('_', '-')}"
        value = '""' if found[4] else found[2] or found[3] or ""
        if name in flags:
            return f"{name} {value}".rstrip()
        return f"--{value}" if f"--{value}" in flags else found[0]

    return _ARGUMENT.sub(flag, text) if flags else text


def _flags() -> set[str]:
    """The flags of the command that was called, and of its groups."""
    from graphgauge.cli.app import cli
    from graphgauge.core.errors import GraphgaugeError

    command: click.Command | None = cli
    found: set[str] = set()
    for word in sys.argv[1:]:
        if word.startswith("-") or not isinstance(command, click.Group):
            continue
        try:
            command = command.get_command(click.Context(command), word)
        except GraphgaugeError:  # the command itself cannot be loaded
            break
        if command is None:
            break
        found |= {flag for option in command.params for flag in option.opts if flag.startswith("--")}
    return found
