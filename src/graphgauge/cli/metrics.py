"""`graphgauge metrics [KEY]`."""

from __future__ import annotations

import textwrap
from functools import partial

import click

from graphgauge.cli.command import Command
from graphgauge.cli.complete import keys
from graphgauge.core.door import doors
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.family import family_names
from graphgauge.core.metric import Metric, NoChance, NoInterval
from graphgauge.core.references import REFERENCES
from graphgauge.core.registry import find, metrics


@click.command(name="metrics", cls=Command)
@click.argument("key", required=False, shell_complete=keys())
@click.option("--family", metavar="NAME", help="Only this family.")
@click.option("--protocols", is_flag=True, help="List benchmarks that --protocol takes instead.")
def command(key: str | None, family: str | None, protocols: bool) -> None:
    """List all metrics, or explain the metric KEY."""
    if family is not None and family not in family_names():
        raise UnknownNameError("family", family, family_names())
    if protocols:
        click.echo(_protocols(family))
    elif key is None:
        click.echo("\n\n".join(listing(name) for name in ([family] if family else family_names())))
    else:
        click.echo(explanation(key, family))


def listing(name: str) -> str:
    """The metrics of a family, a line each."""
    if not doors(name):
        from graphgauge.old.cli.metrics import listing as old_listing

        return old_listing(name)
    entries = metrics(name)
    width = max((len(entry.key) for entry in entries), default=0)
    return "\n".join([name, *(f"  {each.key:<{width}}  {each.direction:<6}  {each.summary}" for each in entries)])


def explanation(key: str, name: str | None) -> str:
    """All declared facts about a metric."""
    try:
        entry = find(key, name)[0]
    except UnknownNameError:
        from graphgauge.old.cli.metrics import explanation as old_explanation
        from graphgauge.old.core.metric import find as old_find

        return old_explanation(old_find(key, name)[0])
    return _explained(entry)


def _protocols(family: str | None) -> str:
    """The benchmarks of each row of the table, and what it does."""
    from graphgauge.protocols import protocols

    fill = partial(textwrap.fill, width=100, break_on_hyphens=False)
    return "\n".join(
        fill(", ".join(row.names))
        + "\n"
        + fill(f"    {row.family}: {row.line} As {row.source}.", subsequent_indent="    ")
        for row in protocols()
        if family in (None, row.family)
    )


def _explained(entry: Metric) -> str:
    low, high = entry.bounds
    facts = {
        "family": entry.family + (f", section {entry.section}" if entry.section else ""),
        "direction": entry.direction + (f" {entry.target}" if entry.target is not None else ""),
        "range": f"{low:g} to {high:g}",
        "unit": entry.unit,
        "computed": "by default" if entry.default else "when named in --metrics",
        "interval": entry.interval.reason if isinstance(entry.interval, NoInterval) else _line(entry.interval),
        "chance": entry.chance.reason if isinstance(entry.chance, NoChance) else _line(entry.chance),
        **{f"convention, {convention}": rule for convention, rule in entry.conventions.items()},
        **({} if entry.fair_to is None else {"fair to": ", ".join(entry.fair_to)}),
        **({} if entry.reference is None else {"reference": REFERENCES[entry.reference].short}),
    }
    width = max(map(len, facts))
    rows = "\n".join(f"  {fact:<{width}}  {value}" for fact, value in facts.items())
    bibtex = "" if entry.reference is None else f"\n\n{REFERENCES[entry.reference].bibtex}"
    return f"{entry.key}\n\n{entry.definition}\n\n{rows}{bibtex}"


def _line(function: object) -> str:
    return (function.__doc__ or "").partition("\n")[0]
