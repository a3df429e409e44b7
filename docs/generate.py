"""Write the metric pages from the registry and the command pages from the commands' own help.

`python docs/generate.py` brings docs/metrics and docs/cli up to date; the tests fail when they are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from graphgauge.audit import checks
from graphgauge.audit.materials import MATERIALS
from graphgauge.cli.app import cli
from graphgauge.core import metric as registry
from graphgauge.core.metric import Exempt, Metric, NoChance, NoInterval
from graphgauge.core.references import REFERENCES

DOCS = Path(__file__).parent
GENERATED = ("metrics", "cli")
_WIDTH = 100
_LAWS = {
    "permutation": "the order of the items does not matter",
    "merge": "parts evaluated apart and merged give the whole",
    "monotone": "a better answer never scores worse",
    "symmetry": "truth and prediction may change places",
}


def pages() -> dict[Path, str]:
    """Every generated page: its path and its text."""
    return {DOCS / path: text for path, text in (*_metric_pages(), *_command_pages(), *_audit_pages())}


def main() -> None:
    wanted = pages()
    for folder in GENERATED:
        for path in (DOCS / folder).glob("*.md"):
            if path not in wanted:
                path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------- metrics


def _metric_pages() -> Iterator[tuple[str, str]]:
    families = [family for family in registry.FAMILIES if registry.metrics(family)]
    lines = [
        "# Metrics",
        "",
        "Generated from the registry. `graphgauge metrics KEY` prints the same on the command line.",
        "",
        *_toctree(families),
    ]
    yield "metrics/index.md", _page(lines)
    for family in families:
        yield f"metrics/{family}.md", _family_page(family)


def _family_page(family: str) -> str:
    entries = registry.metrics(family)
    lines = [f"# {family.capitalize()} metrics", ""]
    lines += ["| key | better | range | in short |", "|---|---|---|---|"]
    lines += [
        f"| [`{entry.key}`](#{_anchor(entry)}) | {_better(entry)} | {_range(entry)} | {entry.summary} |"
        for entry in entries
    ]
    for entry in entries:
        lines += ["", *_metric_section(entry)]
    references = sorted({entry.reference for entry in entries})
    lines += ["", "## References", "", "```bibtex", "\n\n".join(REFERENCES[key].bibtex for key in references), "```"]
    return _page(lines)


def _metric_section(entry: Metric) -> list[str]:
    facts = [("better", _better(entry)), ("range", _range(entry)), ("unit", entry.unit)]
    if entry.section is not None:
        facts.append(("section", entry.section))
    if entry.goal is not None:
        facts.append(("goal", f"{'>' if entry.direction == 'higher' else '≤'} {entry.goal:g}"))
    if entry.params:
        facts.append(("parameters", ", ".join(f"`{name}` = {value}" for name, value in entry.params.items())))
    facts.append(("computed", "by default, where the input allows it" if entry.default else "when named in `metrics=`"))
    facts.append(("computed on", " or ".join(entry.needs)))
    facts += [(f"convention: {name}", text) for name, text in entry.conventions.items()]
    facts.append(("chance", _rule(entry.chance)))
    facts.append(("interval", _rule(entry.interval)))
    facts += [(f"law: {name}", _law(name, entry.laws[name])) for name in registry.LAWS]
    facts.append(("reference", f"{REFERENCES[entry.reference].short}, `{entry.reference}` below"))
    lines = [f"({_anchor(entry)})=", f"## `{entry.key}`", "", _prose(entry), "", "| | |", "|---|---|"]
    return lines + [f"| {name} | {_cell(text)} |" for name, text in facts]


def _prose(entry: Metric) -> str:
    """The definition without its doctest examples."""
    return entry.definition.partition(">>>")[0].strip()


def _rule(rule: object) -> str:
    """What a declared chance level or interval rule says of itself."""
    if isinstance(rule, NoChance | NoInterval):
        return f"none: {rule.reason}"
    text = (rule.__doc__ or "").strip().partition("\n")[0]
    if not text:
        raise ValueError(f"{getattr(rule, '__name__', rule)} has no docstring to show")
    return text


def _law(name: str, holds: bool | Exempt) -> str:
    if isinstance(holds, Exempt):
        return f"does not hold: {holds.reason}"
    return f"holds: {_LAWS[name]}" if holds else "does not hold"


def _better(entry: Metric) -> str:
    if entry.direction == "target":
        return f"nearest to {entry.target:g}"
    return {"higher": "higher", "lower": "lower", "none": "neither"}[entry.direction]


def _range(entry: Metric) -> str:
    low, high = (f"{bound:g}".replace("inf", "∞").replace("-", "−") for bound in entry.bounds)
    return f"{low} to {high}"


def _anchor(entry: Metric) -> str:
    return f"{entry.family}-{''.join(letter if letter.isalnum() else '-' for letter in entry.key).strip('-')}"


# ------------------------------------------------------------------ commands


def _command_pages() -> Iterator[tuple[str, str]]:
    names = cli.list_commands(click.Context(cli))
    lines = ["# Command line", "", "Generated from the commands' own help.", "", *_help(cli, "graphgauge")]
    yield "cli/index.md", _page([*lines, "", *_toctree(names)])
    for name in names:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield f"cli/{name}.md", _page(_command_page(command, f"graphgauge {name}"))


def _command_page(command: click.Command, name: str, level: int = 1) -> list[str]:
    """A command's help, and under it that of the commands it holds."""
    lines = [f"{'#' * level} `{name}`", "", *_help(command, name)]
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
        "What `graphgauge audit` looks for. Cheap checks run in every `evaluate`; those on request, and those that",
        "need what only an audit is given (in *italics*), run in `graphgauge audit` and `graphgauge.audit.run`. A page",
        "tells what goes wrong, with a real example, and how to mend it; [](demo.md) judges what they find in the demo",
        "and in real data.",
        "",
        "| check | of | severity | fires when | looks at |",
        "|---|---|---|---|---|",
    ]
    for item in items:
        given = MATERIALS.get(item.family, {})
        needs = ", ".join(f"*{name}*" if name in given else name for name in item.needs)
        when = f"{item.summary}{' On request.' if item.costly else ''}"
        lines.append(f"| [`{item.name}`]({item.name}.md) | {item.family} | {item.severity} | {_cell(when)} | {needs} |")
    lines += [
        "",
        "## How often they fire",
        "",
        "Over simulated inputs without the fault, and with the fault in three strengths (measured by `make slow`).",
        "Checks of results and of conventions look for a fact and cannot err; those that are tests at 5 % miss some.",
        "",
        "```{include} rates.inc",
        "```",
        "",
    ]
    yield "audit/index.md", _page([*lines, *_toctree(["demo", *(item.name for item in items)])])


# ---------------------------------------------------------------------- text


def _toctree(names: list[str]) -> list[str]:
    return ["```{toctree}", ":maxdepth: 1", "", *names, "```"]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


if __name__ == "__main__":
    main()
