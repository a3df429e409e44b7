"""The pages of metrics, checks, commands and public names, from what declares them.

The build of the docs writes them (docs/conf.py); they are not committed.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import graphgauge
from graphgauge.audit import checks
from graphgauge.core import registry
from graphgauge.core.door import Input, doors
from graphgauge.core.family import BUILT_IN
from graphgauge.core.metric import Metric
from graphgauge.core.references import REFERENCES

DOCS = Path(__file__).parent
# What evaluations consist of, and the engines, by the modules that have it.
SHARED = {
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


_OTHERS = ("core", "../commands", "../audit/index", "../protocols", "../contracts")


@cache
def pages() -> dict[Path, str]:
    """Every generated page: its path and its text."""
    made = (*_metric_pages(), *_reference_pages(), ("audit/index.md", _audit()))
    return {DOCS / path: f"{text.rstrip()}\n" for path, text in made}


def write() -> None:
    """Write the pages, so that Sphinx finds them; what has not changed is left as it is."""
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------- metrics


@cache
def formulas() -> dict[str, dict[str, str]]:
    """The formula of each metric, by family and key."""
    return tomllib.loads((DOCS / "formulas.toml").read_text(encoding="utf-8"))


def formula_of(entry: Metric) -> str | None:
    """The formula that a metric declares, or that of formulas.toml."""
    return entry.formula or formulas().get(entry.family, {}).get(entry.key)


@cache
def golden(family: str) -> dict[str, Any]:
    """Small inputs, and values computed by hand."""
    path = DOCS.parent / "tests" / "golden" / f"{family}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {"row": [], "about": {}}


def worked(family: str) -> dict[str, dict[str, Any]]:
    """By the key in the registry, the value computed by hand that a metric's entry shows: the first."""
    rows: dict[str, dict[str, Any]] = {}
    for row in golden(family)["row"]:
        rows.setdefault(registry.find(row["key"], family)[0].key, row)
    return rows


def _metric_pages() -> Iterator[tuple[str, str]]:
    rows = [f"| [{family}]({family}.md) | {', '.join(map(_link, registry.metrics(family)))} |" for family in BUILT_IN]
    count = sum(len(registry.metrics(family)) for family in BUILT_IN)
    yield (
        "metrics/index.md",
        f"""# Metrics

All {count} metrics; `graphgauge metrics KEY` explains one. In formulas, `[ ]` is 1 if the condition holds, else 0; sums
and means run over the counted items. An entry has an example with its value and where that is from.

| family | metrics |
|---|---|
{_lines(rows)}

{_toctree(BUILT_IN)}""",
    )
    for family in BUILT_IN:
        yield f"metrics/{family}.md", _family_page(family)


def _link(entry: Metric) -> str:
    return f"[`{entry.key}`]({entry.family}.md#{_anchor(entry)})"


def _family_page(family: str) -> str:
    """The entries of a family by what they are computed on, and above each part what is true of most of it."""
    examples = [f"- **{name}**: {' '.join(text.split())}" for name, text in golden(family).get("about", {}).items()]
    agreement = "agreement/" + family
    differences = f", [where libraries differ](../{agreement}.md)" if (DOCS / f"{agreement}.md").exists() else ""
    return f"""# {family.capitalize()} metrics

How to use them: [{family}](../{family}.md); [functions and options](../reference/{family}.md){differences}.

{_lines(_part(name, entries) for name, entries in _parts(registry.metrics(family)).items())}

## Examples

{_lines(examples)}"""


def _parts(entries: tuple[Metric, ...]) -> dict[str, list[Metric]]:
    """Metrics by section, or else by the sample that they are computed on; parts with headlines come first."""
    subjects = [entry.section or entry.needs[0] for entry in entries]
    parts: dict[str, list[Metric]] = {}
    for entry, subject in zip(entries, subjects, strict=True):
        parts.setdefault(subject if subjects.count(subject) > 2 else "others", []).append(entry)
    return dict(
        sorted(parts.items(), key=lambda part: (part[0] == "others", not any(each.default for each in part[1])))
    )


def _part(name: str, entries: list[Metric]) -> str:
    """The entries of a part, and above them what is true of most."""
    counted = Counter(fact for entry in entries for fact in _facts(entry))
    common = [fact for fact, count in counted.items() if count > len(entries) / 2]
    said = f"Unless an entry says otherwise: {'; '.join(fact.rstrip('.') for fact in common)}.\n"
    return _lines([f"## {name.replace('_', ' ').capitalize()}\n", said, *(_entry(entry, common) for entry in entries)])


def _facts(entry: Metric) -> list[str]:
    """What a metric declares beside its formula."""
    range_ = " to ".join(f"{bound:g}".replace("inf", "∞").replace("-", "−") for bound in entry.bounds)
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither is better"}
    return [
        better.get(entry.direction, f"closest to {entry.target} is better"),
        range_,
        f"`n` counts {entry.unit}",
        *(["headline"] if entry.default else []),
        *(f"{subject}: {text}" for subject, text in entry.conventions.items() if text != "as chosen"),
        *([f"fair to {', '.join(entry.fair_to)}"] if entry.fair_to else []),
        f"chance: {_rule(entry.chance)}",
        f"interval: {_rule(entry.interval)}",
    ]


def _entry(entry: Metric, common: list[str]) -> str:
    """A metric's definition, formula, facts that are not common, and example."""
    facts = [fact.rstrip(".") for fact in _facts(entry) if fact not in common]
    facts += [REFERENCES[entry.reference].short] if entry.reference else []
    row = worked(entry.family).get(entry.key)
    lines = [
        f"({_anchor(entry)})=",
        f"### `{entry.key}`\n",
        f"{_first_paragraph(entry.definition)}\n",
        f"`{formula_of(entry)}`\n",
        f"{'; '.join(facts)}.\n" if facts else "",
    ]
    return _lines([*lines, *([f"*Example {row['input']}*: {_value(row)}: {_origin(row)}.\n"] if row else [])])


def _value(row: dict[str, Any]) -> str:
    value = row["value"] if len(row["value"]) < 12 else f"{float(Fraction(row['value'])):.6g}"
    return value.replace("-", "−")


def _origin(row: dict[str, Any]) -> str:
    """Where a value is from; an asterisk would begin italics."""
    return str(row["origin"]).replace("*", "·")


def _rule(rule: Any) -> str:
    """The description of a declared chance level or interval rule, or why there is none."""
    if reason := getattr(rule, "reason", ""):
        return f"none: {reason}"
    text = inspect.getdoc(getattr(rule, "func", rule)) or "Named next to the value."
    return " ".join(_first_paragraph(text).split())


def _anchor(entry: Metric) -> str:
    return f"{entry.family}-{''.join(letter if letter.isalnum() else '-' for letter in entry.key).strip('-')}"


# -------------------------------------------------------- functions and doors


def public_names() -> dict[str, list[str]]:
    """The public names of every public package."""
    packages = [name for name in graphgauge.__all__ if inspect.ismodule(getattr(graphgauge, name)) and name != "core"]
    return SHARED | {package: list(getattr(getattr(graphgauge, package), "__all__", ())) for package in packages}


def _reference_pages() -> Iterator[tuple[str, str]]:
    found = {package: names for package, names in public_names().items() if names}
    merged = "reference/core.md"
    families = {package: names for package, names in found.items() if "." not in package}
    rest = {package: names for package, names in found.items() if "." in package}
    yield (
        "reference/index.md",
        f"""# Reference

Every public name with its signature; `help(name)` describes parameters and has an example. What commands and studies
take is listed with the parameter that it sets.

{_toctree(["../metrics/index", *families, *_OTHERS], hidden=False)}""",
    )
    for package, names in families.items():
        text = [f"# `graphgauge.{package}`\n", _summary(importlib.import_module(f"graphgauge.{package}"))]
        yield f"reference/{package}.md", _lines([*text, *_doors(package), "\n## Names\n", _described(package, names)])
    parts = [f"## `graphgauge.{package}`\n\n{_described(package, names)}" for package, names in rest.items()]
    yield merged, _lines(["# What evaluations consist of, and engines\n", *parts])


def _doors(package: str) -> Iterator[str]:
    """What a family's commands and studies take; what a parameter means is said once on the page."""
    said: set[str] = set()
    for door in doors(package).values() if package in BUILT_IN else ():
        yield f"\n## `graphgauge {' '.join(filter(None, (package, door.name)))}`\n\n{door.line}\n"
        yield f"```sh\n{door.example}\n```\n" if door.example else ""
        rows = [_parameter(name, field) for name, field in door.fields.items()]
        repeated = ", ".join(row.partition(",")[0].removeprefix("- ") for row in rows if row in said)
        yield f"Calls `{door.call.rpartition(':')[2]}`. Parameters with their flags, and study keys that differ:\n"
        yield from (row for row in rows if row not in said)
        yield f"- as above: {repeated}." if repeated else ""
        said.update(rows)


def _parameter(name: str, field: Any) -> str:
    parameter = (isinstance(field, Input) and field.argument) or name
    key = f", `{name}`" if name != parameter else ""
    return f"- `{parameter}`, `--{name.replace('_', '-')}`{key}: {field.help}"


def _described(package: str, names: list[str]) -> str:
    """The public names of a module as Sphinx's Python objects, which other projects can link to."""
    module = importlib.import_module(f"graphgauge.{package}")
    return _lines(_object(f"graphgauge.{package}.{name}", getattr(module, name)) for name in names)


def _object(name: str, value: Any) -> str:
    if not callable(value):
        return f":::{{py:data}} {name}\n:::\n"
    kind, methods = "function", ""
    if inspect.isclass(value):
        functions = {key: getattr(member, "__func__", member) for key, member in vars(value).items() if key[0] != "_"}
        own = {key: member for key, member in functions.items() if inspect.isfunction(member)}
        kind = "class"
        methods = _lines(f":::{{py:method}} {key}{_signature(member)}\n:::" for key, member in own.items())
    return f"::::{{py:{kind}}} {name}{_signature(value)}\n{_summary(value)}\n\n{methods}\n::::\n"


def _signature(value: Any) -> str:
    """The names of parameters, with defaults; types are for `help`."""
    try:
        known = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    parameters = [
        each.replace(annotation=each.empty, default=... if repr(each.default).startswith("<g") else each.default)
        for each in known.parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(known.replace(parameters=parameters, return_annotation=known.empty))


# --------------------------------------------------------------------- checks


def _audit() -> str:
    """Every check, and when it fires."""
    pages = [item.name for item in checks() if (DOCS / "audit" / f"{item.name}.md").exists()]
    rows = [
        f"- {f'[`{item.name}`]({item.name}.md)' if item.name in pages else f'`{item.name}`'} "
        f"({item.family}, {item.severity}{', on request' if item.costly else ''}): {item.summary}"
        for item in checks()
    ]
    return f"""# Checks

Cheap checks give the findings of every evaluation; those on request, and those that need further inputs, run in
`graphgauge audit`, whose `--explain NAME` says what each needs. Pages have the fault, an example, the fix, and how
often the check fires without and with the fault.

{_lines(rows)}

{_toctree(pages)}"""


# ---------------------------------------------------------------------- text


def _summary(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _first_paragraph(text: str) -> str:
    return text.partition(">>>")[0].partition("\n\n")[0].strip()


def _toctree(names: Iterable[str], *, hidden: bool = True) -> str:
    return _lines(["```{toctree}", ":maxdepth: 1", *([":hidden:"] if hidden else []), "", *names, "```"])


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(parts)
