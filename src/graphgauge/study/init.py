"""A commented study.toml to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphgauge.old.core.family import BUILT_IN, Family, family
from graphgauge.old.core.fields import Choice, Field, File, Files, Flag, NamedFiles
from graphgauge.old.core.metric import metrics
from graphgauge.study.options import keys_of
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


# The fewest seeds with which a paired comparison can be significant at 5 %.
SEEDS = 6


def study_text(chosen: Sequence[str] = ()) -> str:
    """A study of these families, or of all; it contains every option with its help text."""
    names = [family(name).name for name in chosen] or list(BUILT_IN)
    parts = [_HEAD, *("\n".join(_family(family(name))) for name in names)]
    metric = metrics(names[0])[0]
    return "\n".join([*parts, _TAIL.format(metric=metric.key_of(**metric.params))])


def _family(declared: Family) -> Iterator[str]:
    fields = keys_of(declared.fields)
    inputs = dict(declared.example)
    settings = {key: field for key, field in fields.items() if key not in inputs and not _names_files(field)}
    others = {key: field for key, field in fields.items() if key not in inputs and _names_files(field)}
    metric = metrics(declared.name)[0]
    yield f"# {'─' * 20} {declared.name}"
    yield f"[defaults.{declared.name}]"
    yield from _described(settings)
    yield ""
    yield "[[evaluate]]"
    yield from lines(
        {"family": declared.name, "dataset": "my-data", "methods": ["ours", "baseline"], "seeds": list(range(SEEDS))}
    )
    yield "# {method}, {seed} and {dataset} take each value in turn; several files, or a pattern, are one input."
    yield from lines(inputs)
    yield from _described(others)
    yield ""
    yield "[[compare]]"
    yield from lines({"metric": metric.key_of(**metric.params), "baseline": "baseline"})
    yield '# over = "items"    # query by query instead of seed by seed, if the family keeps items'
    yield ""


def _names_files(field: Field) -> bool:
    return isinstance(field.kind, File | Files | NamedFiles)


def _described(fields: dict[str, Field]) -> Iterator[str]:
    for key, field in fields.items():
        yield f"# {key} = {_example(field)}    # {field.kind.help}"


def _example(field: Field) -> str:
    if isinstance(field.kind, Flag):
        return "true"
    if isinstance(field.kind, NamedFiles):
        return '{ name = "…" }'
    if field.default is not None and field.default != () and field.default == field.default:
        return value(field.default)
    return value(field.kind.names[0]) if isinstance(field.kind, Choice) else "…"
