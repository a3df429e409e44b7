"""`graphgauge merge STATE…`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from graphgauge.cli.command import Command, option_of, refuse_replacing
from graphgauge.cli.door import metric_fields, metric_options
from graphgauge.cli.output import RUN, Output, output_options, run_of
from graphgauge.core.door import Door, Option, state_door
from graphgauge.core.state import family_of, load_states
from graphgauge.core.threads import default_threads, threads

_SAVE = Option("save", Path | None, None, "Write the merged state (.npz).")
_OUTPUT = (_SAVE, *output_options(figure=True))


class Merge(Command):
    """The options are those of the evaluation of a state, in the family of the first one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((each for each in args if not each.startswith("-") and Path(each).is_file()), None)
        if first is not None and not ctx.resilient_parsing:
            name = family_of(first)
            door = _evaluating(name)
            self.params = [
                *_SHARED,
                *(option_of(each, "Options") for each in door.options),
                *metric_options(name, door),
            ]
        return super().parse_args(ctx, args)


def _evaluating(name: str) -> Door:
    """The door of a family with states, reduced to the options of the last step."""
    door = state_door(name)
    kept = [
        tuple(each for each in part if each.name not in (door.of_state or ())) for part in (door.options, door.common)
    ]
    return replace(door, inputs=(), options=kept[0], common=kept[1])


def _merge(states: tuple[str, ...], save: Path | None, **options: Any) -> None:
    """Merge states that were saved of parts of one evaluation, and evaluate the whole."""
    name = family_of(states[0])
    door = _evaluating(name)
    output = Output(options, name, door)
    refuse_replacing([*output.written, save], states)
    values = door.read({**output.metrics, **metric_fields(door, options)})
    run = run_of(options)
    with threads(options["threads"] or default_threads()):
        whole = load_states(states)
        evaluation = whole.evaluate(**values).named(method=run.method, dataset=run.dataset, seed=run.seed)
        evaluation.receipt = {"states": list(states)}
        output.finish(evaluation, *([] if save is None else [lambda: whole.save(save)]))


_SHARED = [
    click.Argument(["states"], nargs=-1, required=True, type=click.Path()),
    *(option_of(each, "Run") for each in RUN),
    *(option_of(each, "Output") for each in _OUTPUT),
]
merge = Merge("merge", params=_SHARED, callback=_merge, help=_merge.__doc__)
merge.declared = Door("merge", "", "", (), (*RUN, *_OUTPUT), common=())
