"""A commented study.toml to start from."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from graphgauge.core.door import REQUIRED, Input, doors
from graphgauge.core.errors import one_of
from graphgauge.core.family import family, family_names
from graphgauge.study.toml import lines, value

_HEAD = """\
# What to evaluate, what to compare, and what must hold.
#
#   graphgauge run study.toml       evaluates what is not up to date, compares, and checks gates
#   graphgauge verify study.toml    runs it again elsewhere, and compares every file
#   graphgauge report results/      makes a page of the results
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
# ignore = [{{ check = "few-seeds", because = "a first look" }}]
"""
# The fewest seeds with which a paired comparison can be significant at 5 %.
SEEDS = 6


class _Key(NamedTuple):
    """A key of `[[evaluate]]`: what stands in the file, and whether it is commented out."""

    name: str
    shown: str
    help: str
    is_used: bool


def study_text(chosen: Sequence[str] = ()) -> str:
    """A study of these families, or of all, with every option and its line of help."""
    names = [one_of("family", name, family_names()) for name in chosen] or list(family_names())
    parts = ["\n".join(_family(name)) for name in names]
    return "\n".join([_HEAD, *parts, _TAIL.format(metric=family(names[0]).headlines[0])])


def _family(name: str) -> Iterator[str]:
    keys = list(_keys(name))
    yield f"# {'─' * 20} {name}"
    yield "[[evaluate]]"
    yield from lines(
        {"family": name, "dataset": "my-data", "methods": ["ours", "baseline"], "seeds": list(range(SEEDS))}
    )
    yield "# {method}, {seed} and {dataset} take each value in turn."
    yield from (f"{each.name} = {each.shown}" for each in keys if each.is_used)
    yield from (f"# {each.name} = {each.shown}    # {each.help}" for each in keys if not each.is_used)
    yield ""
    yield "[[compare]]"
    yield from lines({"metric": family(name).headlines[0], "family": name, "baseline": "baseline"})
    yield ""


def _keys(name: str) -> Iterator[_Key]:
    """The keys of a family's first door: inputs of its example by name, the others with their defaults."""
    door = next(iter(doors(name).values()), None)
    if door is None:
        return
    words = shlex.split(door.example)
    flags = dict(itertools.pairwise(words))
    for key, each in door.fields.items():
        example = flags.get(f"--{key.replace('_', '-')}")
        if isinstance(each, Input):
            shown = _templated(example or f"{key}.npy")
            yield _Key(key, value({"name": shown} if each.many == "named" else shown), each.help, each.required)
        elif not each.is_output:
            is_set = each.default is not REQUIRED and each.default is not None and each.default != ()
            first = each.choices[0] if each.choices else "…"
            yield _Key(key, value(each.default if is_set else first), each.help, each.default is REQUIRED)


def _templated(name: str) -> str:
    """The name of a file, one for every method and seed."""
    path = Path(name)
    return f"{{method}}/{path.stem}-{{seed}}{path.suffix}"
