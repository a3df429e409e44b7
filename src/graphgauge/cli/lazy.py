"""A group of commands that load when they are called, so that `--help` imports only click."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands are in modules: `place` names the module of a command, `lines` its line of help."""

    def __init__(self, *args: Any, lines: Mapping[str, str], place: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._own = lines
        self._place = place

    @property
    def _lines(self) -> Mapping[str, str]:
        return self._own

    def _has(self, name: str) -> bool:
        return name in self._lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not self._has(cmd_name):
            return None
        command: click.Command = importlib.import_module(self._place.format(cmd_name)).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not self._has(args[0]) and not ctx.resilient_parsing:  # completion does not need it
            from graphgauge.core.errors import UnknownNameError

            raise UnknownNameError("command", args[0], self._lines)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))
