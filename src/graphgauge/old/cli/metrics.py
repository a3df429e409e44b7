"""`graphgauge metrics [KEY]`."""

from __future__ import annotations

import click

from graphgauge.core.references import REFERENCES
from graphgauge.old.cli.complete import keys
from graphgauge.old.core.family import family_names
from graphgauge.old.core.metric import Metric, NoChance, NoInterval, find, metrics


@click.command(name="metrics")
@click.argument("key", required=False, shell_complete=keys())
@click.option("--family", type=click.Choice(family_names()), help="Only this family.")
def command(key: str | None, family: str | None) -> None:
    """List all metrics, or explain the metric KEY."""
    click.echo(listing(family) if key is None else explanation(find(key, family)[0]))


def listing(family: str | None) -> str:
    entries = metrics(family)
    width = max(len(entry.key) for entry in entries)
    lines: list[str] = []
    for entry in entries:
        if not lines or entry.family != family:
            family = entry.family
            lines += ["", family] if lines else [family]
        lines.append(f"  {entry.key:<{width}}  {entry.direction:<6}  {entry.summary}")
    return "\n".join(lines)


def explanation(entry: Metric) -> str:
    """All declared facts about a metric."""
    low, high = entry.bounds
    interval = entry.interval.reason if isinstance(entry.interval, NoInterval) else _doc(entry.interval)
    chance = entry.chance.reason if isinstance(entry.chance, NoChance) else _doc(entry.chance)
    facts = {
        "family": entry.family + (f", section {entry.section}" if entry.section else ""),
        "direction": entry.direction + (f" {entry.target}" if entry.target is not None else ""),
        **({} if entry.goal is None else {"goal": f"{'>' if entry.direction == 'higher' else '≤'} {entry.goal:g}"}),
        "range": f"{low:g} to {high:g}",
        "unit": entry.unit,
        "computed": "by default" if entry.default else "when named in --metrics",
        "interval": interval,
        "chance": chance,
        **{f"convention, {name}": rule for name, rule in entry.conventions.items()},
        **({} if entry.fair_to is None else {"fair to": ", ".join(entry.fair_to)}),
        "reference": REFERENCES[entry.reference].short,
    }
    width = max(map(len, facts))
    rows = "\n".join(f"  {name:<{width}}  {value}" for name, value in facts.items())
    return f"{entry.key}\n\n{entry.definition}\n\n{rows}\n\n{entry.bibtex}"


def _doc(function: object) -> str:
    return (function.__doc__ or "").partition("\n")[0]
