"""Commands made from declarations: one for each family, with the inputs and options of its `evaluate_files`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click

from graphgauge.core.errors import GraphgaugeError, OptionError
from graphgauge.core.progress import Progress
from graphgauge.old.cli.common import OUTPUT_OPTIONS, Run, stage_bars
from graphgauge.old.cli.complete import Complete, files, keys
from graphgauge.old.cli.flags import in_flags
from graphgauge.old.cli.options import OnceCommand, ParamType
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import Family, family
from graphgauge.old.core.fields import (
    Choice,
    Field,
    Fields,
    File,
    Files,
    Flag,
    Kind,
    NamedFiles,
    Number,
    Output,
    Several,
    Text,
    Texts,
    Whole,
    named_factories,
    plain,
    read_all,
    refuse_overwriting,
)
from graphgauge.old.core.gates import Gate, metrics_with_gates
from graphgauge.old.core.metric import metrics, sections
from graphgauge.old.core.schema import refuse_data
from graphgauge.old.io.code import source_hash


class _KindType(ParamType):
    """Text that a kind reads."""

    def __init__(self, kind: Kind, name: str) -> None:
        self.kind, self.name = kind, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind.read(value)
        except OptionError as error:
            self.fail(error.what, param, ctx)


def option_of(field: Field, family: str | None = None) -> click.Option:
    """The option of a field on the command line."""
    kind = field.kind
    given: dict[str, Any] = {"help": kind.help, "required": field.required}
    if isinstance(kind, Flag):
        return click.Option([field.flag], is_flag=True, **given)
    if isinstance(kind, Files | NamedFiles | Texts):
        shown = {NamedFiles: "NAME=FILE", Files: "FILE"}.get(type(kind))
        return click.Option([field.flag], multiple=True, metavar=shown, shell_complete=_completed(kind), **given)
    if isinstance(kind, File):
        return click.Option([field.flag], metavar=kind.shown, shell_complete=files, **given)
    if field.name == "metrics":
        given["shell_complete"] = keys(family, several=True)
    default = _default_text(field.default)
    return click.Option([field.flag], type=_type_of(kind), default=default, show_default=default is not None, **given)


def _completed(kind: Kind) -> Complete | None:
    return files if isinstance(kind, Files) else None


def _type_of(kind: Kind) -> Any:
    if isinstance(kind, Choice):
        return click.Choice(kind.names)
    if isinstance(kind, Whole):
        return click.INT if kind.least is None else click.IntRange(min=kind.least)
    if isinstance(kind, Number):
        if math.isinf(kind.low):
            return click.FLOAT
        return click.FloatRange(kind.low, kind.high, min_open=kind.inside, max_open=kind.inside)
    if isinstance(kind, Output):
        return click.Path(dir_okay=False)
    if isinstance(kind, Text):
        return click.STRING
    each = type(kind.each).__name__.lower() if isinstance(kind, Several) else ""
    names = {"whole": "integers", "number": "numbers", "text": "names", "": "text"}
    return _KindType(kind, "|".join(getattr(kind, "names", ())) or names.get(each, each))


def _default_text(default: Any) -> Any:
    """A default as it would be typed, or None if there is none to show."""
    if isinstance(default, tuple):
        return ",".join(f"{part:g}" if isinstance(part, float) else str(part) for part in default) or None
    return default


class FamilyCommand(OnceCommand):
    """The command of a family. Options that do not go together are refused while parsing."""

    def __init__(self, declared: Family) -> None:
        self.family = declared
        options = [option_of(field, declared.name) for field in declared.fields.values()]
        super().__init__(
            declared.name,
            params=[*options, *OUTPUT_OPTIONS],
            help=declared.help,
            callback=self._finish,
        )

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _in_flags():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_flags():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            values = read_all(self.family.fields, ctx.params, flag)
            form = self.family.check(values, shown=flag)
            gates = [Gate.parse(text) for text in ctx.params["gates"]]
            names = metrics_with_gates(gates, self.family, values, form, flag)
            if names is not None:
                ctx.params["metrics"] = names
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What `--metrics` takes, for families with sections."""
        entries, rows = metrics(self.family.name), []
        for section in sections(self.family.name):
            rows.append((section.name, ", ".join(entry.key for entry in entries if entry.section == section.name)))
        loose = [entry.key for entry in entries if entry.section is None]
        if rows:
            with formatter.section("Sections, and the keys in them"):
                formatter.write_dl([*rows, *([("", ", ".join(loose))] if loose else [])])

    def _finish(self, **options: Any) -> None:
        run, own = Run.split(options)
        run.finish(*with_inputs(self.name, self.family.evaluate_files, self.family.fields, own, run))


@contextmanager
def _in_flags() -> Iterator[None]:
    """Errors in this block in the words of the command line."""
    try:
        yield
    except GraphgaugeError as error:
        error.args = (in_flags(str(error)), *error.args[1:])
        raise


def with_inputs(
    name: str | None, function: Callable[..., Evaluation], fields: Fields, own: dict[str, Any], run: Run
) -> tuple[Evaluation, Callable[[], list[Any]]]:
    """The evaluation, and its inputs for a receipt."""
    values = read_all(fields, own, flag)
    refuse_overwriting(fields, values, flag, also={"output": run.output, "flat": run.flat, "figure": run.figure})
    for product in (run.flat, run.figure):
        if product is not None:
            refuse_data(product)
    if run.is_kept and name is not None:
        run.recipe = _recipe(name, fields, values)
    evaluation = evaluated(function, values, run)
    return evaluation, evaluation.inputs


def _recipe(name: str, fields: Fields, values: dict[str, Any]) -> dict[str, Any]:
    """How to compute the result again: the options that are given, and the hashes of code before it is imported."""
    apart = ("gate", "threads", "engine", "scheduler", "format", "draw", "quiet", "debug")
    own = {key: field for key, field in fields.items() if key not in apart and not isinstance(field.kind, Output)}
    given = {key: plain(values[key]) for key, field in own.items() if field.is_given(values[key])}
    code = {factory: source_hash(factory, Path.cwd()) for factory in named_factories(fields, values)}
    return {"name": name, "options": given, "code": code}


def evaluated(function: Callable[..., Evaluation], values: dict[str, Any], run: Run) -> Evaluation:
    """The evaluation, with progress on a terminal; functions that take gates are told them."""
    taken = inspect.signature(function).parameters
    keeping = {"gates": run.gates} if "gates" in taken else {}
    with stage_bars(run) as update:
        evaluation = function(**values, progress=_Shown(run, update), **keeping)
    evaluation.run |= run.identity
    return evaluation


class _Shown(Progress):
    """Progress as bars, and notes on stderr."""

    def __init__(self, run: Run, update: Callable[[str, int, int, str], None]) -> None:
        self._run, self._update = run, update

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        self._update(name, done, total, detail)

    def say(self, text: str) -> None:
        self._run.say(text)


@cache
def family_command(name: str) -> FamilyCommand:
    return FamilyCommand(family(name))


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")
