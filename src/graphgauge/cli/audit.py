"""`graphgauge audit PATH`."""

from __future__ import annotations

import click

from graphgauge.core.errors import OptionError
from graphgauge.core.scrub import clean


@click.command(name="audit")
@click.argument("path", required=False, type=click.Path())
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check. Repeatable.")
@click.option("--ignore", multiple=True, metavar="CHECK", help="Leave out the findings of a check. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(["note", "warning", "error", "never"]),
    default="error",
    show_default=True,
    help="Exit with 1 if there is a finding of this severity or worse.",
)
@click.option("--explain", metavar="CHECK", help="Show the page of a check and exit.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "markdown", "latex"]),
    default="text",
    show_default=True,
    help="Format of stdout.",
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def command(
    path: str | None,
    only: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    explain: str | None,
    form: str,
    debug: bool,
) -> None:
    """Look for misleading evaluations in PATH, a folder of results or a result file."""
    from graphgauge import audit
    from graphgauge.core.finding import SEVERITIES, Findings

    if explain is not None:
        click.echo(audit.explain(explain))
        return
    if path is None:
        raise OptionError("nothing to audit", fix="Name a folder of results or a result file, or --explain CHECK.")
    found = Findings(each for each in audit.run(path, only=only or None, ignore=ignore) if not each.ignored)
    if form == "text":
        for each in found:
            click.echo(clean(str(each), 1000))
        click.echo(_closing([each.severity for each in found]))
    else:
        click.echo(found.to_grid().render(form), nl=False)
    worst = max((SEVERITIES.index(each.severity) for each in found), default=-1)
    if fail_on != "never" and worst >= SEVERITIES.index(fail_on):
        raise click.exceptions.Exit(1)


def _closing(severities: list[str]) -> str:
    counts = [(name, severities.count(name)) for name in ("error", "warning", "note")]
    said = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts if count]
    return f"{', '.join(said)}: `graphgauge audit --explain CHECK` says more." if said else "Nothing found."
