"""`graphgauge audit …`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from graphgauge.audit import Findings, checks
from graphgauge.audit import explain as explain_check
from graphgauge.audit import run as run_checks
from graphgauge.audit.materials import materials_of, read_materials
from graphgauge.core.errors import InputError
from graphgauge.old.cli.common import Run
from graphgauge.old.cli.family import family_command, flag, with_inputs
from graphgauge.old.cli.flags import in_flags
from graphgauge.old.cli.options import OnceCommand, names_in
from graphgauge.old.core.family import family, family_names
from graphgauge.old.core.fields import read_all
from graphgauge.old.core.findings import SEVERITIES
from graphgauge.old.core.schema import dumps, write_result
from graphgauge.old.stats.text import several

_OWN = [
    click.option("--only", metavar="NAMES", help="Checks to run, separated by commas."),
    click.option("--ignore", multiple=True, metavar="NAME", help="Mark findings of this check as ignored. Repeatable."),
    click.option(
        "--accept-ignored",
        is_flag=True,
        help="Also ignore what the results of a folder, or their study, mark as ignored.",
    ),
    click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 1 on a finding this severe or worse."),
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Format of stdout.",
    ),
]


class _Subjects(click.Group):
    """A family's name, with the options of its command, or a folder of results."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*family_names(), "results"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _family(cmd_name) if cmd_name in family_names() else _results

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # Anything other than a family is a folder of results, the command's own argument.
        return (name, _family(name), args[1:]) if name in family_names() else ("results", _results, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("What to audit"):
            lines = [(name, f"Inputs, with the options of `graphgauge {name}`.") for name in family_names()]
            formatter.write_dl([*lines, ("DIR", "A folder of results.")])


@click.group(name="audit", cls=_Subjects, invoke_without_command=True, subcommand_metavar="FAMILY|DIR [OPTIONS]")
@click.option("--list", "listed", is_flag=True, help="List all checks with their inputs.")
@click.option("--explain", metavar="NAME", help="The page of a check: what goes wrong, an example, how to fix it.")
@click.pass_context
def command(ctx: click.Context, listed: bool, explain: str | None) -> None:
    """Check inputs and results for misleading evaluations."""
    if explain is not None:
        click.echo(explain_check(explain))
    elif listed:
        for item in checks():
            costly = " On request." if item.costly else ""
            click.echo(f"{item.name}  ({item.family}, {item.severity}; needs {', '.join(item.needs)})")
            click.echo(f"    {item.summary}{costly}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command(name="results")
@click.argument("folder", metavar="DIR")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def _results(folder: str, debug: bool, **options: Any) -> None:
    """Audit all results in a folder, individually and together."""
    _tell(run_checks(folder, **_choice(options)), options)


for _option in reversed(_OWN):
    _results = _option(_results)


def _family(name: str) -> click.Command:
    """The family's own options, and those for its checks."""
    declared, command = family(name), family_command(name)
    its_own = {option.name for option in command.params}
    extra = [
        click.Option([f"--{key.replace('_', '-')}"], metavar="FILE", help=material.help)
        for key, material in materials_of(name).items()
        if key not in its_own
    ]
    # An audit writes no files other than the result.
    files = {str(option.name): None for option in command.params if isinstance(option.type, click.Path)}
    left_out: dict[str, Any] = {**files, "gates": (), "form": "table"}
    del left_out["output"]

    def audit(**options: Any) -> None:
        own = {key: options.pop(key) for key in ("only", "ignore", "accept_ignored", "fail_on", "form")}
        its_options = {key: value for key, value in options.items() if key in its_own}
        run, given = Run.split({**left_out, **its_options})
        declared.check(read_all(declared.fields, given, flag), shown=flag)
        evaluation, inputs = with_inputs(None, declared.evaluate_files, declared.fields, given, run)
        findings = run_checks(evaluation, **_choice(own), **read_materials(name, options))
        evaluation.findings = findings.found
        if run.output is not None:
            write_result(evaluation, run.output, receipt={"inputs": inputs()})
        _tell(findings, own)

    kept = [option for option in command.params if option.name not in left_out]
    made = OnceCommand(name, callback=audit, params=[*extra, *kept], help=f"Audit the inputs of `graphgauge {name}`.")
    for option in reversed(_OWN):
        made = option(made)
    return made


def _choice(options: Mapping[str, Any]) -> dict[str, Any]:
    only = options["only"]
    return {
        "only": None if only is None else names_in(only),
        "ignore": options["ignore"],
        "accept_ignored": options["accept_ignored"],
    }


def _tell(findings: Findings, options: Mapping[str, Any]) -> None:
    text = dumps(findings.to_dict()) if options["form"] == "json" else in_flags(str(findings))
    click.echo(text)
    if findings.unreadable:
        raise InputError(
            f"{several(len(findings.unreadable), 'result')} cannot be audited", fix="Evaluate again, or remove them."
        )
    if options["fail_on"] is not None and findings.at_least(options["fail_on"]):
        raise click.exceptions.Exit(1)
