"""The pages of metrics, checks and public names from their registries, and those of commands from their help.

The build of the docs writes them (docs/conf.py); they are not committed.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
import textwrap
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import graphgauge
from graphgauge.audit import checks
from graphgauge.cli.app import cli
from graphgauge.cli.door import DoorCommand
from graphgauge.core import registry
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.family import BUILT_IN
from graphgauge.core.metric import Metric
from graphgauge.core.references import REFERENCES

DOCS = Path(__file__).parent
GOLDEN = DOCS.parent / "tests" / "golden"
_WIDTH = 100
_SHORT = 12
# What every row of tests/golden has; others are options of `evaluate`.
_ROW = ("key", "input", "value", "origin")
_ROWS = {
    "formula": "the definition; `[ ]` is 1 if the condition holds, else 0; means and sums are over the counted items",
    "better": "which direction is better, and the range of values",
    "counts": "the items that `n` counts",
    "computed": "by default or on request, and the samples it can be computed on (the input is counted into "
    "samples); the first available one is used",
    "conventions": "choices that the formula leaves open; *as chosen* means set by the option of that name "
    "([more](../conventions.md))",
    "fair to": "the classes of predicted graphs that can be compared by it; without this row, all "
    "([more](../recovery.md#graphs-that-leave-marks-open))",
    "chance": "the models without knowledge whose scores are shown next to the value",
    "interval": "how the interval is computed, or why there is none",
    "laws": "properties that the tests check, and those that do not hold, with the reason: *permutation*, the order of "
    "the items does not matter; *merge*, merged parts give the whole; *monotone*, a better prediction does not score "
    "worse; *symmetry*, truth and prediction may be exchanged",
    "elsewhere": "libraries that have it; the linked page gives their name for it and the numbers that change",
}
# What evaluations consist of, and the engines, by the modules that have it.
_SHARED = {
    "core.evaluation": ["Evaluation", "Run"],
    "core.result": ["Result", "Interval", "Reference"],
    "core.grid": ["Grid"],
    "core.items": ["Items"],
    "core.finding": ["Finding", "check"],
    "core.gate": ["Gate", "GateOutcome"],
    "core.registry": ["metric"],
    "core.metric": ["Metric", "Estimate", "Bounds", "NoInterval", "NoChance", "Exempt", "whole"],
    "core.family": ["Family", "declare"],
    "core.files": ["load"],
    "core.threads": ["threads"],
    "engines.dask": ["evaluate", "state"],
    "engines.distributed": ["merged"],
    "core.errors": ["GraphgaugeError", "InputError", "OptionError", "UnknownNameError", "MissingExtraError"],
}
# The page with examples of a command; a family's page has the family's name.
_GUIDES = {
    "negatives": "negatives.md",
    "merge": "scale.md#parts-and-machines",
    "aggregate": "tables.md",
    "compare": "statistics.md",
    "init": "study.md",
    "run": "study.md",
    "gate": "gates.md",
    "verify": "study.md#what-verify-proves",
    "report": "report.md",
    "audit": "audit/index.md",
    "metrics": "metrics/index.md",
    "demo": "quickstart.md#see-it-work",
    **{family: f"{family}.md" for family in BUILT_IN},
}


@cache
def pages() -> dict[Path, str]:
    """Every generated page: its path and its text."""
    made = (*_metric_pages(), *_command_pages(), *_audit_pages(), *_reference_pages())
    return {DOCS / path: text for path, text in made}


def write() -> None:
    """Write the pages, so that Sphinx finds them; what has not changed is left as it is."""
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# ----------------------------------------------------------------- reference


def public_names() -> dict[str, list[str]]:
    """The public names of every public package."""
    packages = [name for name in graphgauge.__all__ if inspect.ismodule(getattr(graphgauge, name)) and name != "core"]
    found = {package: getattr(graphgauge, package) for package in packages}
    return _SHARED | {package: list(getattr(module, "__all__", ())) for package, module in found.items()}


def _reference_pages() -> Iterator[tuple[str, str]]:
    found = {package: names for package, names in public_names().items() if names}
    lines = ["# Reference", "", "All public names, with parameters, return values and examples.", ""]
    lines += ["| package | |", "|---|---|"]
    for package in found:
        summary = (importlib.import_module(f"graphgauge.{package}").__doc__ or "").partition("\n")[0]
        lines.append(f"| [`graphgauge.{package}`]({package}.md) | {_cell(summary)} |")
    yield "reference/index.md", _page([*lines, "", *_toctree(list(found), hidden=True)])
    for package, names in found.items():
        yield f"reference/{package}.md", _reference_page(package, names)


def _reference_page(package: str, names: list[str]) -> str:
    module = importlib.import_module(f"graphgauge.{package}")
    lines = [f"# `graphgauge.{package}`", "", (module.__doc__ or "").strip(), ""]
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": []}
    for name in names:
        value = getattr(module, name)
        kinds["Classes" if inspect.isclass(value) else "Functions" if callable(value) else "Values"].append(name)
    for title, members in kinds.items():
        if members:
            lines += [f"## {title}", "", "| | |", "|---|---|"]
            lines += [f"| {{py:obj}}`~graphgauge.{package}.{name}` | {_short(module, name)} |" for name in members]
            lines += ["", "```{eval-rst}"]
            directive = {"Functions": "autofunction", "Classes": "autoclass", "Values": "autodata"}[title]
            for name in members:
                lines += [f".. {directive}:: graphgauge.{package}.{name}"]
                lines += ["   :members:"] if title == "Classes" else []
                lines += [""]
            lines += ["```", ""]
    return _page(lines[:-1])


def _short(module: Any, name: str) -> str:
    """The first line of a docstring; a value has none of its own."""
    value = getattr(module, name)
    described = inspect.isclass(value) or callable(value)
    return _cell((inspect.getdoc(value) or "").partition("\n")[0]) if described else ""


# ------------------------------------------------------------------- metrics


def metrics_of(family: str) -> tuple[Any, ...]:
    """The declared metrics of a family."""
    return tuple(registry.metrics(family))


def formula_of(entry: Any) -> str | None:
    """The formula that a metric declares, or that of formulas.toml."""
    return getattr(entry, "formula", "") or formulas().get(entry.family, {}).get(entry.key)


def _metric_pages() -> Iterator[tuple[str, str]]:
    families = list(BUILT_IN)
    lines = [
        "# Metrics",
        "",
        f"All {sum(len(metrics_of(family)) for family in families)} metrics. `graphgauge metrics KEY` explains one.",
        "",
        "| family | metrics |",
        "|---|---|",
        *(f"| [{family}]({family}.md) | {_keys(family)} |" for family in families),
        "",
        "## How to read a metric",
        "",
        "| | |",
        "|---|---|",
        *(f"| {row} | {text} |" for row, text in _ROWS.items()),
        "",
        "The *worked example* below each table has a value that was computed by hand, how, and what graphgauge prints",
        "for the same input. The inputs are at the end of each page; the tests use them, too.",
        "",
        *_toctree(families, hidden=True),
    ]
    yield "metrics/index.md", _page(lines)
    for family in families:
        yield f"metrics/{family}.md", _family_page(family)


def _keys(family: str) -> str:
    return ", ".join(f"[`{entry.key}`]({family}.md#{_anchor(entry)})" for entry in metrics_of(family))


def _differences(family: str) -> list[str]:
    """A link to the page of other libraries, where there is one."""
    if not (DOCS / "agreement" / f"{family}.md").exists():
        return []
    return [f"Differences from other libraries: [agreement](../agreement/{family}.md)."]


def _family_page(family: str) -> str:
    entries = metrics_of(family)
    lines = [
        f"# {family.capitalize()} metrics",
        "",
        f"Usage: [{family}](../{family}.md). Meaning of the rows: [metrics](index.md#how-to-read-a-metric).",
        *_differences(family),
        "",
        "| key | in short | better | range |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [`{entry.key}`](#{_anchor(entry)}) | {entry.summary} | {_better(entry)} | {_range(entry)} |"
        for entry in entries
    ]
    for entry in entries:
        lines += ["", *_metric_section(entry)]
    lines += ["", *_example_inputs(family)]
    references = sorted({entry.reference for entry in entries if entry.reference})
    lines += ["", "## References", "", "```bibtex", "\n\n".join(REFERENCES[key].bibtex for key in references), "```"]
    return _page(lines)


def _metric_section(entry: Metric) -> list[str]:
    formula = formula_of(entry)
    facts = {"formula": f"`{formula}`"} if formula else {}
    facts |= {"better": f"{_better(entry)}; {_range(entry)}", "counts": entry.unit}
    if entry.section is not None:
        facts["section"] = entry.section
    if entry.goal is not None:
        facts["goal"] = f"{'>' if entry.direction == 'higher' else '≤'} {entry.goal:g}"
    if entry.params:
        facts["parameters"] = ", ".join(f"`{name}` = {value}" for name, value in entry.params.items())
    asked = "by default, if the input allows it" if entry.default else "if named in `metrics=`"
    facts["computed"] = f"{asked}; on {' or '.join(entry.needs)}"
    facts["conventions"] = "; ".join(f"*{name}*: {text}" for name, text in entry.conventions.items())
    if entry.fair_to is not None:
        facts["fair to"] = ", ".join(entry.fair_to)
    facts["chance"] = _rule(entry.chance)
    facts["interval"] = _rule(entry.interval)
    facts["laws"] = _laws(entry)
    if elsewhere := [f"[{title}](../coming_from.md#{_slug(title)})" for title in _elsewhere(entry)]:
        facts["elsewhere"] = ", ".join(elsewhere)
    if entry.reference:
        facts["reference"] = f"{REFERENCES[entry.reference].short}, `{entry.reference}` below"
    lines = [f"({_anchor(entry)})=", f"## `{entry.key}`", "", _prose(entry), "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(text)} |" for name, text in facts.items()]
    return [*lines, "", *_worked(entry)] if entry.key in worked(entry.family) else lines


@cache
def formulas() -> dict[str, dict[str, str]]:
    """The formula of each metric, by family and key."""
    return tomllib.loads((DOCS / "formulas.toml").read_text(encoding="utf-8"))


def _laws(entry: Metric) -> str:
    holding = [name for name, law in entry.laws.items() if law is True]
    broken = [f"not {name}: {law.reason}" for name, law in entry.laws.items() if law is not True]
    return "; ".join([", ".join(holding), *broken] if holding else broken)


# ------------------------------------------------------------------ examples


@cache
def _golden(family: str) -> dict[str, Any]:
    """Small inputs, and values computed by hand."""
    path = GOLDEN / f"{family}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {"row": [], "inputs": {}, "about": {}}


def worked(family: str) -> dict[str, dict[str, Any]]:
    """By the key in the registry, the value computed by hand that a metric's page shows: the first."""
    rows: dict[str, dict[str, Any]] = {}
    for row in _golden(family)["row"]:
        rows.setdefault(registry.find(row["key"], family)[0].key, row)
    return rows


def _worked(entry: Metric) -> list[str]:
    """A value computed by hand, how, and what the library prints for it."""
    row = worked(entry.family)[entry.key]
    options = "".join(f", {name}={_literal(value)}" for name, value in row.items() if name not in _ROW)
    key = row["key"]
    inputs = _arguments(entry.family, row["input"])
    code = f'print(evaluate({inputs}{options}, metrics=["{key}"])["{key}"])'
    printed = io.StringIO()
    with redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
        exec(code if _can_run(entry.family, row["input"]) else "", dict(_namespace(entry.family)))
    value = row["value"] if len(row["value"]) < 12 else f"{float(Fraction(row['value'])):.6g}"
    place = f"#{entry.family}-example-{row['input']}"
    return [
        f"**Worked example** on [`{row['input']}`]({place}): `{key}` = {value.replace('-', '−')}: {row['origin']}.",
        "",
        "```pycon",
        f">>> {code}",
        *([printed.getvalue().strip()] if printed.getvalue() else []),
        "```",
    ]


def _can_run(family: str, name: str) -> bool:
    """Whether what reads the input is installed: molecules take RDKit."""
    return "smiles" not in str(_golden(family)["inputs"][name]) or find_spec("rdkit") is not None


def _arguments(family: str, name: str) -> str:
    """How `evaluate` takes an input: by its names, or as the queries of lists."""
    lists = {"indices": "from_topk", "labels": "from_lists"} if family == "ranking" else {}
    found = [lists[each] for each in _golden(family)["inputs"][name] if each in lists]
    return f"Queries.{found[0]}(**{name})" if found else f"**{name}"


@cache
def _namespace(family: str) -> dict[str, Any]:
    """The names that the code of the examples uses, from the code that the page prints."""
    found: dict[str, Any] = {}
    exec("".join(_imported(family)), found)
    for name, source in _sources(family).items():
        exec(source if _can_run(family, name) else "", found)
    return found


def _imported(family: str) -> list[str]:
    more = {"ranking": "Queries, ", "generation": "Graphs, Molecules, Samples, "}
    return [f"from graphgauge.{family} import {more.get(family, '')}evaluate"]


@cache
def _sources(family: str) -> dict[str, str]:
    """The inputs that the examples use, as Python."""
    used = {row["input"] for row in worked(family).values()}
    found = {}
    for name in (name for name in _golden(family)["inputs"] if name in used):
        given = _golden(family)["inputs"][name].items()
        found[name] = f"{name} = dict(\n" + "".join(f"    {key}={_literal(value)},\n" for key, value in given) + ")"
    return found


def _example_inputs(family: str) -> list[str]:
    lines = ["## Inputs of the examples", "", "```{code-block} python", *_imported(family), "```"]
    for name, source in _sources(family).items():
        lines += ["", f"({family}-example-{name})=", f"### `{name}`", "", _golden(family)["about"][name], ""]
        lines += ["```{code-block} python", source, "```"]
    return lines


# The columns of samples in golden inputs, and how items other than bits are made.
_COLUMNS = {
    "items": "",
    "graphs": "Graphs.from_objects",
    "smiles": "Molecules.from_smiles",
    **dict.fromkeys(("latents", "conditions"), ""),
}


def _column(name: str, value: Any, indent: int) -> str:
    """A column of samples as Python source."""
    made = _COLUMNS.get(name, "")
    if name == "graphs":
        value = [tuple(each) for each in value]
    return f"items={made}({_literal(value, indent)})" if made else f"{name}={_literal(value, indent)}"


def _literal(value: Any, indent: int = 4) -> str:
    """A value as Python source: repeats are multiplied, what is long is broken, numbers and letters fill lines."""
    if isinstance(value, dict) and value.keys() & _COLUMNS.keys():
        parts = [_column(name, column, indent + 4) for name, column in value.items()]
        inner = "".join(" " * (indent + 4) + part + ",\n" for part in parts)
        return f"Samples(\n{inner}{' ' * indent})"
    if isinstance(value, list) and len(value) > 4 and all(element == value[0] for element in value):
        return f"[{_literal(value[0], indent)}] * {len(value)}"
    line = repr(value).replace("'", '"')
    if len(line) + indent < _WIDTH or not isinstance(value, list | dict):
        return line
    pad = " " * (indent + 4)
    if isinstance(value, dict):
        inner = [f'"{name}": {_literal(element, indent + 4)},' for name, element in value.items()]
    else:
        inner = [f"{_literal(element, indent + 4)}," for element in value]
        if max(map(len, inner)) < _SHORT:
            inner = textwrap.wrap(" ".join(inner), _WIDTH - indent - 4, break_long_words=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, *(pad + part for part in inner), " " * indent + closing])


# ------------------------------------------------------------------ elsewhere


def _elsewhere(entry: Metric) -> list[str]:
    """The libraries, as coming_from.md titles them, whose tables name the metric on the right."""
    return [title for title, keys in _mapped().items() if (entry.family, entry.key) in keys]


@cache
def _mapped() -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for part in (DOCS / "coming_from.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        families = re.findall(r"\]\(agreement/(\w+)\.md\)", text)
        right = [cells[2] for line in text.splitlines() if len(cells := line.split("|")) == 4]
        words = {
            word for cell in right for code in re.findall("`([^`]+)`", cell) for word in re.findall(r"[\w.@*]+", code)
        }
        found[title] = {(family, key) for family in families for word in words for key in _named(word, family)}
    return found


def _named(word: str, family: str) -> Iterator[str]:
    """The metrics that a word names: a key, a key with its parameter, or several with a star."""
    if word.endswith("*"):
        yield from (entry.key for entry in metrics_of(family) if entry.key.startswith(word[:-1]))
        return
    try:
        yield registry.find(word.removeprefix(f"{family}."), family)[0].key
    except UnknownNameError:
        return


def _prose(entry: Metric) -> str:
    """The definition without its doctest examples."""
    return entry.definition.partition(">>>")[0].strip()


def _rule(rule: object) -> str:
    """The description of a declared chance level or interval rule."""
    if hasattr(rule, "reason"):
        return f"none: {rule.reason}"
    return (rule.__doc__ or "").strip().partition("\n")[0]


def _better(entry: Metric) -> str:
    if entry.direction == "target":
        return f"closest to {entry.target:g}"
    return {"higher": "higher", "lower": "lower", "none": "neither"}[entry.direction]


def _range(entry: Metric) -> str:
    low, high = (f"{bound:g}".replace("inf", "∞").replace("-", "−") for bound in entry.bounds)
    return f"{low} to {high}".replace(" ", "\N{NO-BREAK SPACE}")


def _anchor(entry: Metric) -> str:
    return f"{entry.family}-{''.join(letter if letter.isalnum() else '-' for letter in entry.key).strip('-')}"


# ------------------------------------------------------------------ commands


def _command_pages() -> Iterator[tuple[str, str]]:
    names = cli.list_commands(click.Context(cli))
    lines = ["# Command line", "", "Generated from the help of the commands.", "", *_help(cli, "graphgauge")]
    yield "cli/index.md", _page([*lines, "", *_toctree(names)])
    for name in names:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        title, *body = _command_page(command, f"graphgauge {name}")
        guide = ["", f"Examples: [](../{_GUIDES[name]})."] if name in _GUIDES else []
        yield f"cli/{name}.md", _page([title, *guide, *body])


def _command_page(command: click.Command, name: str, level: int = 1) -> list[str]:
    """A command's help, followed by that of its subcommands, or of the other doors of the family."""
    lines = [f"{'#' * level} `{name}`", "", *_help(command, name)]
    for door in command.others.values() if isinstance(command, DoorCommand) else ():
        inner = DoorCommand(command.family, door)
        lines += ["", *_command_page(inner, f"graphgauge {command.family} {door.name}", level + 1)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            assert inner is not None
            lines += ["", *_command_page(inner, f"{name} {part}", level + 1)]
    return lines


def _help(command: click.Command, name: str) -> list[str]:
    context = click.Context(
        command, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH, **command.context_settings
    )
    return ["```text", command.get_help(context), "```"]


# -------------------------------------------------------------------- checks


def _audit_pages() -> Iterator[tuple[str, str]]:
    items = checks()
    lines = [
        "# Audit",
        "",
        "The checks of `graphgauge audit`. Cheap checks give the findings of every evaluation. Checks on request,",
        "and those that need further inputs, run in `graphgauge audit`. Pages have the fault, a real example and the",
        "fix. The last column lists the inputs of a check: samples that an evaluation keeps, its results, and inputs",
        "that you must pass to the audit.",
        "",
        "| check | fires when | family | severity | inputs |",
        "|---|---|---|---|---|",
    ]
    described = [item.name for item in items if (DOCS / "audit" / f"{item.name}.md").exists()]
    for item in items:
        name = f"[`{item.name}`]({item.name}.md)" if item.name in described else f"`{item.name}`"
        when = f"{item.summary}{' On request.' if item.costly else ''}"
        needs = ", ".join(item.needs)
        lines.append(f"| {name} | {_cell(when)} | {item.family} | {item.severity} | {needs} |")
    lines += [
        "",
        "## How often they fire",
        "",
        "On simulated inputs without the fault, and with the fault at three strengths (measured by `make slow`).",
        "Checks of results and of conventions test a fact and make no errors; significance tests at 5 % miss some",
        "faults.",
        "",
        "```{include} rates.inc",
        "```",
        "",
    ]
    yield "audit/index.md", _page([*lines, *_toctree(described, hidden=True)])


# ---------------------------------------------------------------------- text


def _toctree(names: list[str], *, hidden: bool = False) -> list[str]:
    return ["```{toctree}", ":maxdepth: 1", *([":hidden:"] if hidden else []), "", *names, "```"]


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"
