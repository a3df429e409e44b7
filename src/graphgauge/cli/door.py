"""The commands of doors, made from their declarations, and `merge`, which evaluates states."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from msgspec.structs import replace

from graphgauge.cli.command import DEBUG, QUIET, Bar, Command, Section, given_fields, option_of, refuse_replacing
from graphgauge.cli.output import RUN, Output, output_options, run_of
from graphgauge.core.door import METRICS, Door, Option, door_of, doors, state_door
from graphgauge.core.errors import OptionError
from graphgauge.core.family import family
from graphgauge.core.state import family_of, load_states
from graphgauge.core.threads import default_threads, threads
from graphgauge.io.request import Request

_DASK = Option("dask", str | None, None, "Fold the parts of the inputs with Dask.", shown="local|ADDRESS")
_ALL = Option("all", bool, False, "All metrics, not the headlines alone.")


class DoorCommand(Command):
    """The command of a door; without arguments it shows how it is called."""

    def __init__(self, name: str, door: Door) -> None:
        self.family, self.door = name, door
        is_state = door.of_state is not None
        has_figure = find_spec(f"{family(name).package}.figure") is not None
        output = output_options(figure=has_figure, gates="gates" not in door.fields, state=is_state)
        run = (*RUN, *([_DASK] if is_state else []))
        self.declared = Door(name, "", "", (), (QUIET, DEBUG) if door.product else (*run, *output), common=())
        target = Section("Output", "-o", "--output", required=True, metavar="FILE", help=f"Write {door.product}.")
        super().__init__(
            f"{name} {door.name}".strip(),
            params=[
                *(option_of(each, "Inputs", name) for each in door.inputs),
                *(option_of(each, "Output" if each.is_output else "Options", name) for each in door.options),
                *metric_options(name, door),
                *([target] if door.product else [option_of(each, "Run") for each in run]),
                *(option_of(each, "Output") for each in ((QUIET, DEBUG) if door.product else output)),
            ],
            callback=self._make if door.product else self._evaluate,
            help=door.line,
            epilog=f"Example: {door.example}",
        )

    @property
    def others(self) -> dict[str, Door]:
        """The other doors of the family, which the command of the first one lists."""
        return {} if self.door.name else {name: each for name, each in doors(self.family).items() if name}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(f"{self.door.line}\n\n  {self.door.example}\n", err=True)
            for name, each in self.others.items():
                click.echo(f"{self.family} {name}: {each.line}\n\n  {each.example}\n", err=True)
            click.echo(f"All options: graphgauge {self.name} --help", err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.others:
            with formatter.section("Other doors"):
                formatter.write_dl([(f"{self.family} {name}", each.line) for name, each in self.others.items()])
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(name) for name in self.others if name.startswith(incomplete)]
        return [*names, *super().shell_complete(ctx, incomplete)]

    def _request(self, options: dict[str, Any], **usual: Any) -> Request:
        fields = {**usual, **metric_fields(self.door, options)}
        return Request(family=self.family, door=self.door.name, fields=fields, run=run_of(options)).checked()

    def _evaluate(self, **options: Any) -> None:
        output = Output(options, self.family, self.door)
        request = self._request(options, **output.metrics)
        target, bar = options.get("state"), Bar(output.quiet)
        products = [request.fields.get(each.name) for each in self.door.options if each.is_output]
        refuse_replacing([*output.written, *products, target], [path for _, path in request.files()])
        with threads(options["threads"] or default_threads()):
            state = None
            if options.get("dask") is not None:
                from graphgauge.engines import dask

                state = dask.state_of(request, options["dask"], progress=bar)
            elif target is not None:
                state = request.state(progress=bar)
            evaluation = request.evaluate(progress=bar, trust_code=True, keep=output.path is not None, state=state)
            output.finish(evaluation, *([] if target is None or state is None else [partial(state.save, target)]))

    def _make(self, output: str, quiet: bool, debug: bool, **options: Any) -> None:
        request = self._request(options)
        refuse_replacing([output], [path for _, path in request.files()])
        product = request.call(progress=Bar(quiet), trust_code=True)
        product.save(output)
        click.echo(str(product))
        if not quiet:
            click.echo(f"wrote {output}", err=True)


def metric_fields(door: Door, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a door that a command line gives, with `--all` as what it means."""
    given = given_fields(door, options)
    if options.get("all"):
        if METRICS.name in given:
            raise OptionError("metrics= and --all are both given", fix="Give one of them.")
        given[METRICS.name] = "all"
    return given


def metric_options(name: str, door: Door) -> list[click.Option]:
    """The options that many doors have."""
    both = [part for each in door.common for part in ([METRICS, _ALL] if each is METRICS else [each])]
    return [option_of(each, "Metrics", name) for each in both]


def family_command(name: str, words: list[str]) -> tuple[click.Command, list[str]]:
    """The command of the door that words after the name of a family ask for, and the words after it."""
    if words and not words[0].startswith("-"):
        return DoorCommand(name, door_of(name, words[0])), words[1:]
    return DoorCommand(name, next(iter(doors(name).values()))), words


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
