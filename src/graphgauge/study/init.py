"""A commented study.toml to start from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from graphgauge.core.metric import FAMILIES, metrics
from graphgauge.study.options import IDENTITY, command_of, family_command, keys_of, takes_names
from graphgauge.study.toml import lines, value

_HEAD = """\
# What to evaluate, what to compare, and what must hold.
#
#   graphgauge run study.toml       evaluates what is not up to date, compares, and checks gates
#   graphgauge verify results/      recomputes every result from its inputs
#   graphgauge report results/      makes a page of them
#
# Paths are relative to this file. Every option of a command is a key of the same name.
schema = 1
name = "My study"
results = "results/"
"""

_TAIL = """\
# What must hold for every matching result; a failed gate ends the run with exit code 1.
# [[gate]]
# require = "{metric}.low >= 0.5"    # the lower end of the interval; without .low the value
# method = "ours"                    # or dataset = …, family = …

# Known and accepted findings, with the reason.
# [audit]
# ignore = [{{ check = "tied-scores", because = "the scores are counts" }}]
"""


def study_text(chosen: Sequence[str], examples: Mapping[str, Mapping[str, Any]]) -> str:
    """A study of these families, or of all; it contains every option with its help text, and example inputs."""
    names = [family_command(family).name or "" for family in chosen] or list(FAMILIES)
    parts = [_HEAD, *("\n".join(_family(family, examples.get(family, {}))) for family in names)]
    metric = metrics(names[0])[0]
    return "\n".join([*parts, _TAIL.format(metric=metric.key_of(**metric.params))])


def _family(family: str, example: Mapping[str, Any]) -> Iterator[str]:
    options = {key: option for key, option in keys_of(command_of(family)).items() if key not in IDENTITY}
    inputs = {key: text for key, text in example.items() if isinstance(text, str)}
    metric = metrics(family)[0]
    yield f"# {'─' * 20} {family}"
    yield f"[defaults.{family}]"
    yield from _described({key: option for key, option in options.items() if key not in inputs and _is_setting(option)})
    yield ""
    yield "[[evaluate]]"
    yield from lines(
        {"family": family, "dataset": "my-data", "methods": ["ours", "baseline"], "seeds": [0, 1, 2, 3, 4]}
    )
    yield "# {method}, {seed} and {dataset} take each value in turn; several files, or a pattern, are one input."
    yield from lines(inputs)
    yield from _described(
        {key: option for key, option in options.items() if key not in inputs and not _is_setting(option)}
    )
    yield ""
    yield "[[compare]]"
    yield from lines({"metric": metric.key_of(**metric.params), "baseline": "baseline"})
    yield '# over = "items"    # query by query instead of seed by seed, if the family keeps items'
    yield ""


def _is_setting(option: click.Option) -> bool:
    """Whether an option is a setting, not the name of a file."""
    return option.name == "metrics" or not isinstance(option.type, click.types.StringParamType)


def _described(options: dict[str, click.Option]) -> Iterator[str]:
    for key, option in options.items():
        yield f"# {key} = {_example(option)}    # {option.help}"


def _example(option: click.Option) -> str:
    if option.is_flag:
        return "true"
    if takes_names(option):
        return '{ name = "…" }'
    # click returns a sentinel if there is no default.
    if isinstance(option.default, str | int | float) and option.default == option.default:
        return value(option.default)
    return value(option.type.choices[0]) if isinstance(option.type, click.Choice) else "…"
