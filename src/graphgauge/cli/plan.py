"""`graphgauge plan FAMILY …`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Run
from graphgauge.cli.family import family_command, flag
from graphgauge.cli.options import OnceCommand
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.family import family, family_names
from graphgauge.core.fields import Several, Whole, read_all
from graphgauge.core.schema import dumps
from graphgauge.stats.text import several
from graphgauge.study.costs import NETWORK, Costs, plan_files
from graphgauge.study.text import duration, in_bytes

_WORKERS = Several("", Whole("", 1))


class _Families(click.Group):
    """A family's name, with the options of its command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(family_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _family(cmd_name) if cmd_name in family_names() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in family_names() and not ctx.resilient_parsing:
            raise UnknownNameError("family", args[0], family_names())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("What to plan"):
            lines = [(name, f"An evaluation, with the options of `graphgauge {name}`.") for name in family_names()]
            formatter.write_dl(lines)


@click.group(name="plan", cls=_Families, subcommand_metavar="FAMILY [OPTIONS]")
def command() -> None:
    """What an evaluation will read, keep and take, before it runs.

    Headers say what is read. Rates are measured on a sample of the files, of 64 MB, which is read, counted and, if a
    result file is asked for, hashed.
    """


def _family(name: str) -> click.Command:
    declared, own = family(name), family_command(name)
    extra = [
        click.Option(
            ["--workers"],
            default="1",
            show_default=True,
            metavar="NUMBERS",
            help="Numbers of workers to plan for, separated by commas, each a machine like this one.",
        ),
        click.Option(
            ["--network"],
            type=click.FloatRange(min=0, min_open=True),
            default=NETWORK / 1e9,
            show_default=True,
            help="GB per second at which states travel between workers.",
        ),
    ]

    def plan(workers: str, network: float, **options: Any) -> None:
        run, given = Run.split(options)
        values = read_all(declared.fields, given, flag)
        asked = _WORKERS.read(workers)
        costs = plan_files(name, values, hashed=run.is_kept, network=network * 1e9)
        click.echo(dumps(costs.to_dict(asked)) if run.form == "json" else "\n".join(lines_of(costs, asked)))

    return OnceCommand(name, callback=plan, params=[*extra, *own.params], help=f"Plan `graphgauge {name}`.")


def lines_of(costs: Costs, workers: tuple[int, ...]) -> list[str]:
    """A plan in words."""
    lines = ["reads"]
    for each in costs.inputs:
        rows = "" if each.rows is None else f", {each.rows:,} rows"
        lines.append(f"  {flag(each.name)}: {several(each.files, 'file')}, {in_bytes(each.bytes)}{rows}")
    lines.append(f"  together {in_bytes(costs.bytes)}")
    if costs.memory is None or costs.kept is None:
        lines.append("keeps what this form of input needs as a whole: all of it may be in memory")
    else:
        lines.append(
            f"keeps about {in_bytes(costs.memory)} in memory, of which the state is at most {in_bytes(costs.kept)}"
        )
    rates = [("reading", costs.reads), ("counting", costs.counts), ("hashing", costs.hashes)]
    lines.append(
        "rates, measured: " + ", ".join(f"{name} {in_bytes(rate)}/s" for name, rate in rates if rate is not None)
    )
    if costs.counts is None:
        return [*lines, "takes: not known, because rows of these inputs do not make an evaluation of their own"]
    lines.append("takes, in seconds")
    lines.append(f"  {'workers':>8}{'start':>9}{'read':>9}{'count':>9}{'hash':>9}{'merge':>9}   together")
    for number in workers:
        takes = costs.takes(number)
        assert takes is not None
        parts = (takes.start, takes.read, takes.count, takes.hash, takes.merge)
        lines.append(f"  {number:>8,}" + "".join(f"{part:>9.2f}" for part in parts) + f"   {duration(takes.total)}")
    lines.append("A worker reads, counts and hashes at the same time: the longest of the three counts.")
    return lines
