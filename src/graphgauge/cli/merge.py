"""`graphgauge merge STATE…`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from graphgauge.cli.command import Command, Section, refuse_replacing
from graphgauge.cli.door import given_fields, metric_options, option_of
from graphgauge.cli.output import Output, output_options, run_options
from graphgauge.core.door import Door, doors, state_door
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.state import family_of, load_states
from graphgauge.core.threads import default_threads, threads


class Merge(Command):
    """The options are those of the evaluation of a state, in the family of the first one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((each for each in args if not each.startswith("-") and Path(each).is_file()), None)
        if first is not None and not ctx.resilient_parsing:
            name = family_of(first)
            door = _evaluating(name)
            own = [option_of(name, each, "Options") for each in door.options]
            self.params = [*_SHARED, *own, *metric_options(name, door)]
        return super().parse_args(ctx, args)


def _evaluating(name: str) -> Door:
    """The door of a family with states, reduced to the options of the last step."""
    door = state_door(name)
    own = door.of_state or ()
    return replace(
        door,
        inputs=(),
        options=tuple(each for each in door.options if each.name not in own),
        common=tuple(each for each in door.common if each.name not in own),
    )


def _merge(states: tuple[str, ...], save: str | None, **options: Any) -> None:
    name = family_of(states[0])
    door = _evaluating(name)
    output = Output(options, name, door)
    refuse_replacing([*output.written, save], states)
    values = door.read(given_fields(door, options))
    with threads(options["threads"] or default_threads()):
        whole = load_states(states)
        names = {"method": options["method"], "dataset": options["dataset"], "seed": options["run_seed"]}
        evaluation = whole.evaluate(**values).named(**names)
        evaluation.receipt = {"states": list(states)}
        output.finish(evaluation, *([] if save is None else [lambda: whole.save(save)]))


def _is_old(path: str) -> bool:
    """Whether a file is a state of a family that is not rebuilt."""
    try:
        return not doors(family_of(path))
    except GraphgaugeError:
        return True


def command_for(words: list[str]) -> click.Command:
    """The command for these states."""
    first = next((each for each in words if not each.startswith("-") and Path(each).is_file()), None)
    if first is None or _is_old(first):
        from graphgauge.old.cli.merge import command as old

        return old
    return command


_SHARED = [
    click.Argument(["states"], nargs=-1, required=True, type=click.Path()),
    Section("Output", "--save", metavar="FILE", help="Write the merged state (.npz)."),
    *run_options(),
    *output_options(figure=True),
]

command = Merge(
    "merge",
    params=_SHARED,
    callback=_merge,
    help="Merge states that were saved of parts of one evaluation, and evaluate the whole.",
)
