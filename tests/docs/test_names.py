"""The names on the pages that people copy from exist: functions, their arguments, metrics, commands and their flags.

On the page for those who come from another library, everything behind an arrow has to be a name of this one.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from tests.docs.pages import DOCS, ROOT, name_of, prose

from graphgauge.cli.app import cli
from graphgauge.core import registry
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import BUILT_IN
from graphgauge.core.result import Result

COPIED_FROM = [DOCS / "quickstart.md", DOCS / "conventions.md", ROOT / "README.md", DOCS / "index.md"]
FAMILIES = {name: importlib.import_module(f"graphgauge.{name}") for name in BUILT_IN}
STATES = [FAMILIES["ranking"].RankingState]
COMING_FROM = DOCS / "coming_from.md"
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


# ---------------------------------------------------------------- what exists


@cache
def is_metric(name: str) -> bool:
    """A key with its parameter filled in, or with a star for several, or a library's own name for one."""
    keys = [entry.key for family in BUILT_IN for entry in registry.metrics(family)]
    if "*" in name:
        return any(fnmatch(key, name) for key in keys)
    if name in keys or name in {key.partition("@{")[0] for key in keys}:
        return True
    try:
        registry.find(name)
    except GraphgaugeError:
        return False
    return True


@cache
def parameters() -> frozenset[str]:
    """Every argument of every public function of the families."""
    functions = [getattr(family, name) for family in FAMILIES.values() for name in family.__all__]
    return frozenset(name for function in functions + STATES if callable(function) for name in _arguments(function))


def _arguments(function: Any) -> Iterator[str]:
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield name
        else:
            unpacked = inspect.get_annotations(function, eval_str=True).get(name)
            for given in getattr(unpacked, "__args__", ()):
                yield from inspect.get_annotations(given)


def resolved(dotted: str) -> Any:
    """What `graphgauge.x.y`, `x.y` of a family, or a name of any family stands for; None if for nothing."""
    parts = dotted.removeprefix("graphgauge.").split(".")
    if parts[0] in FAMILIES or dotted.startswith("graphgauge."):
        try:
            found: Any = importlib.import_module(f"graphgauge.{parts[0]}")
        except ModuleNotFoundError:
            return None
        for part in parts[1:]:
            found = getattr(found, part, None)
        return found
    owners = [*FAMILIES.values(), *STATES, Evaluation, Result]
    return next((getattr(owner, dotted) for owner in owners if hasattr(owner, dotted)), None)


@cache
def flags() -> frozenset[str]:
    def of(command: click.Command) -> Iterator[str]:
        for parameter in command.get_params(click.Context(command)):
            yield from parameter.opts
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from of(inner)

    return frozenset(of(cli))


# -------------------------------------------------------------- what is named


def wrong_with(code: str) -> str | None:
    """What in a piece of code is no name of this library; None where all is well."""
    if re.fullmatch(r"[a-z][\w.]*(@[\w.]+)?|[a-z_]+\*", code):
        known = is_metric(code) or resolved(code) is not None or code in parameters()
        return None if known else f"{code} is neither a metric nor a name"
    if option := re.fullmatch(r"([a-z]\w*)=(.*)", code):
        return None if option[1] in parameters() else f"no argument {option[1]}="
    try:
        tree = ast.parse(code, mode="eval").body
    except SyntaxError:
        return f"cannot be read: {code}"
    return _wrong_call(tree) if isinstance(tree, ast.Call) else None if resolved(code) is not None else f"no {code}"


def _wrong_call(call: ast.Call) -> str | None:
    name = ast.unparse(call.func)
    function = resolved(name)
    if function is None:
        return f"no function {name}"
    unknown = [each.arg for each in call.keywords if each.arg not in set(_arguments(function))]
    if unknown:
        return f"{name} takes no {unknown[0]}="
    for keyword in call.keywords:
        if keyword.arg == "metrics":
            return next((f"no metric {key}" for key in ast.literal_eval(keyword.value) if not is_metric(key)), None)
    return None


def named_here() -> Iterator[str]:
    """The code behind the arrow of each item, which may go on over several lines."""
    for item in re.findall(r"^- (.*(?:\n  .*)*)", prose(COMING_FROM), re.MULTILINE):
        yield from CODE.findall(" ".join(item.split()).partition(" → ")[2])


@pytest.mark.parametrize("code", sorted(set(named_here()) - {"fair", "pwm", "causal"}))
def test_what_an_arrow_points_to_is_here(code: str) -> None:
    assert wrong_with(code) is None


@pytest.mark.parametrize("page", [*COPIED_FROM, COMING_FROM], ids=name_of)
def test_dotted_names_and_flags_exist(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        for dotted in re.findall(r"\bgraphgauge\.\w[\w.]*\w", code):
            assert resolved(dotted) is not None, f"{dotted} does not exist"
        for flag in re.findall(r"(?<!\S)--?[a-z][\w-]*", code):
            assert flag in flags(), f"no command takes {flag}"
        if command := re.match(r"graphgauge ([a-z]+)", code):
            assert command[1] in cli.list_commands(click.Context(cli)), f"no command {command[1]}"


@pytest.mark.parametrize("page", COPIED_FROM, ids=name_of)
def test_metrics_and_arguments_exist(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        option = re.fullmatch(r"[a-z]\w*=\S*", code)
        key = re.fullmatch(r"[\w.]+[_@][\w.@]+", code)
        if option or key:
            assert wrong_with(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "no_such_metric",
        "graphgauge.ranking.no_such",
        "ranking.evaluate(pos, neg, no_such=1)",
        "no_such=1",
        'ranking.evaluate(pos, neg, metrics=["no_such"])',
        "ranking.no_such(pos)",
    ],
)
def test_a_wrong_name_is_seen(code: str) -> None:
    assert wrong_with(code) is not None
