"""`graphgauge metrics [FAMILY|KEY]`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

from graphgauge.cli.command import DEBUG, command, keys, say
from graphgauge.core.door import Option
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.family import family_names, usable_names
from graphgauge.core.metric import Metric, NoChance, NoInterval
from graphgauge.core.references import REFERENCES
from graphgauge.core.registry import find
from graphgauge.core.registry import metrics as metrics_of

_OPTIONS = (Option("protocols", bool, False, "List the benchmarks that --protocol takes instead."), DEBUG)


def _metrics(subject: str | None, protocols: bool, **options: Any) -> None:
    """List all metrics, or those of a FAMILY, or explain the metric KEY."""
    families = family_names()
    chosen = (subject,) if subject in families else families
    if protocols:
        click.echo(_protocols(chosen))
    elif subject is None or subject in families:
        click.echo("\n\n".join(map(_listing, chosen)))
    else:
        say("\n\n".join(_explained(subject)))


def _listing(name: str) -> str:
    """The metrics of a family, a line each."""
    entries = metrics_of(name)
    width = max((len(entry.key) for entry in entries), default=0)
    return "\n".join([name, *(f"  {each.key:<{width}}  {each.direction:<6}  {each.summary}" for each in entries)])


def _protocols(families: Sequence[str]) -> str:
    """The benchmarks of each row of the table, and what it does."""
    from graphgauge.protocols import protocols

    fill = partial(textwrap.fill, width=100, break_on_hyphens=False)
    rows = [
        (fill(", ".join(row.names)), fill(f"    {row.family}: {row.line} As {row.source}.", subsequent_indent="    "))
        for row in protocols()
        if row.family in families
    ]
    return "\n".join(line for row in rows for line in row)


def _explained(key: str) -> list[str]:
    """All declared facts about a metric, for each family that has one of this name."""
    found = []
    for name in usable_names():
        with suppress(UnknownNameError):
            found.append(_facts(find(key, name)[0]))
    return found or [_facts(find(key)[0])]  # which refuses it


def _facts(entry: Metric) -> str:
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
    return f"{entry.key}\n\n{entry.definition}\n\n{rows}" + (f"\n\n{entry.bibtex}" if entry.bibtex else "")


def _line(function: object) -> str:
    while isinstance(function, partial):  # whose own docstring is about partial
        function = function.func
    return (function.__doc__ or "").partition("\n")[0] or "stated with each value"


_SUBJECT = click.Argument(["subject"], metavar="[FAMILY|KEY]", required=False, shell_complete=keys())
metrics = command(_metrics, {"Options": _OPTIONS}, _SUBJECT)
