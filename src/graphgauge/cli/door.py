"""The commands of doors, made from their declarations."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from msgspec.structs import replace

from graphgauge.cli.command import Command, Section, flag, refuse_replacing
from graphgauge.cli.complete import files, keys
from graphgauge.cli.output import Bar, Output, debug_options, output_options, run_options
from graphgauge.core.door import METRICS, REQUIRED, Door, Input, Option, door_of, doors
from graphgauge.core.errors import OptionError
from graphgauge.core.evaluation import Run
from graphgauge.core.family import family
from graphgauge.core.threads import default_threads, threads
from graphgauge.io.request import Request

_FILES = {"code": "MODULE:FACTORY", "folder": "DIR"}


class DoorCommand(Command):
    """The command of a door; without arguments it shows how it is called."""

    def __init__(self, name: str, door: Door) -> None:
        self.family, self.door = name, door
        super().__init__(
            f"{name} {door.name}".strip(),
            params=[*_own(name, door), *_common(name, door)],
            callback=self._evaluate if not door.product else self._make,
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

    def _request(self, options: dict[str, Any]) -> Request:
        given = given_fields(self.door, options)
        run = Run(method=options.get("method"), dataset=options.get("dataset"), seed=options.get("run_seed"))
        return Request(family=self.family, door=self.door.name, fields=given, run=run).checked()

    def _evaluate(self, **options: Any) -> None:
        request = self._request(options)
        output = Output(options, self.family, self.door)
        if asked := output.metrics(self.family):
            request = replace(request, fields={**request.fields, METRICS.name: asked})
        target, scheduler, bar = options.get("state"), options.get("dask"), Bar(output.quiet)
        refuse_replacing([*output.written, *_outputs(self.door, request), target], _read(request))
        with threads(options["threads"] or default_threads()):
            state = None
            if scheduler is not None:
                from graphgauge.engines import dask

                state = dask.state_of(request, scheduler, progress=bar)
            elif target is not None:
                state = request.state(progress=bar)
            evaluation = request.evaluate(progress=bar, trust_code=True, keep=output.is_kept, state=state)
            output.finish(evaluation, *([] if target is None or state is None else [partial(state.save, target)]))

    def _make(self, output: str, quiet: bool, debug: bool, **options: Any) -> None:
        request = self._request(options)
        refuse_replacing([output], _read(request))
        product = request.call(progress=Bar(quiet), trust_code=True)
        product.save(output)
        click.echo(str(product))
        if not quiet:
            click.echo(f"wrote {output}", err=True)


def given_fields(door: Door, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a door that a command line gives."""
    given = {name: options[name] for name in door.fields if options.get(name) not in (None, (), False)}
    if options.get("all_metrics"):
        if METRICS.name in given:
            raise OptionError("metrics= and --all are both given", fix="Give one of them.")
        given[METRICS.name] = "all"
    return given


def option_of(name: str, each: Input | Option, section: str) -> click.Option:
    """The option of a field: a text, which the door reads."""
    text = each.help + ("  [required]" if each.default is REQUIRED else _default(each.default))
    facts: dict[str, Any] = {"help": text}
    if isinstance(each, Input):
        many = {"named": "NAME=FILE", "parts": "FILE"}.get(each.many)
        facts |= {"metavar": many or _FILES.get(each.kind, "FILE"), "multiple": bool(each.many)}
        return Section("Inputs", flag(each.name), each.name, shell_complete=files, **facts)
    if each.plain is bool:
        return Section(section, flag(each.name), each.name, is_flag=True, **facts)
    if each is METRICS:
        facts |= {"shell_complete": keys(name, several=True), "metavar": "KEY,…"}
    elif each.choices:
        facts |= {"metavar": "|".join(each.choices), "shell_complete": _among(each.choices)}
    elif each.name == "gates":
        return Section(section, "--gate", "gates", metavar="'KEY >= NUMBER'", multiple=True, help=each.help)
    else:
        facts["metavar"] = _metavar(each)
    return Section(section, flag(each.name), each.name, multiple=each.is_mapping, **facts)


def family_command(name: str, words: list[str]) -> tuple[click.Command, list[str]]:
    """The command of the door that words after the name of a family ask for, and the words after it."""
    if words and not words[0].startswith("-"):
        return DoorCommand(name, door_of(name, words[0])), words[1:]
    return DoorCommand(name, next(iter(doors(name).values()))), words


def _own(name: str, door: Door) -> list[click.Option]:
    return [
        *(option_of(name, each, "Inputs") for each in door.inputs),
        *(option_of(name, each, "Output" if each.is_output else "Options") for each in door.options),
    ]


def metric_options(name: str, door: Door) -> list[click.Option]:
    """The options that many doors have."""
    options = [option_of(name, each, "Metrics") for each in door.common]
    if METRICS in door.common:
        text = "All metrics, not the headlines alone."
        options.insert(1, Section("Metrics", "--all", "all_metrics", is_flag=True, help=text))
    return options


def _common(name: str, door: Door) -> list[click.Option]:
    """The sections that all doors have, with what this one has of them."""
    metrics = metric_options(name, door)
    if door.product:
        target = Section("Output", "--output", "-o", required=True, metavar="FILE", help=f"Write {door.product}.")
        return [*metrics, target, *debug_options()]
    run, output = run_options(), output_options(figure=_has(name, "figure"), gates="gates" not in door.fields)
    if door.of_state is not None:
        run.append(Section("Run", "--dask", metavar="local|ADDRESS", help="Fold the parts of the inputs with Dask."))
        output.insert(2, Section("Output", "--state", metavar="FILE", help="Write the state (.npz), for `merge`."))
    return [*metrics, *run, *output]


def _has(name: str, part: str) -> bool:
    return find_spec(f"{family(name).package}.{part}") is not None


def _outputs(door: Door, request: Request) -> list[str | Path | None]:
    return [request.fields.get(each.name) for each in door.options if each.is_output]


def _read(request: Request) -> list[str | Path]:
    return [path for _, path in request.files()]


def _metavar(each: Option) -> str:
    if each.is_output:
        return "FILE"
    if each.is_mapping:
        return "NAME=VALUE"
    if each.is_list:
        return "A,B,…"
    return {int: "N", float: "X", str: "TEXT"}.get(each.plain, "N|" + "|".join(each.words))


def _default(default: Any) -> str:
    if default is None or default is False or default == ():
        return ""
    return f"  [{','.join(map(str, default)) if isinstance(default, tuple) else default}]"


def _among(choices: tuple[str, ...]) -> Any:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(each) for each in choices if each.startswith(incomplete)]

    return complete
