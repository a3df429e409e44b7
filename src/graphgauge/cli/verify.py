"""`graphgauge verify STUDY`."""

from __future__ import annotations

import click

from graphgauge.cli.run import debug_option, jobs_option, watching
from graphgauge.core.scrub import clean

# Differences on a terminal; JSON has all.
_MOST = 20


@click.command(name="verify")
@click.argument("subject", metavar="STUDY|RESULT", type=click.Path())
@click.option("--trust-code", is_flag=True, help="Import the code that it names, which then runs with all your rights.")
@jobs_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@debug_option
def command(subject: str, trust_code: bool, jobs: int | None, form: str, quiet: bool, debug: bool) -> None:
    """Run a study again in an empty folder, and compare every file of its results; or compute one result again.

    Missing, additional and changed files fail, with file and field. Exit code 0 means: these files follow from this
    study file and these inputs, in this environment. Code that a study names is not imported without --trust-code.
    """
    import json

    from msgspec import to_builtins

    from graphgauge.study import verify

    with watching(quiet) as watch:
        verdict = verify(subject, jobs=jobs, trust_code=trust_code, on_plan=watch.planned, on_done=watch.finished)
    if form == "json":
        click.echo(json.dumps({"holds": bool(verdict), **to_builtins(verdict)}, indent=1))
    else:
        for line in verdict.versions:
            click.echo(f"computed with other versions: {clean(line)}")
        for each in verdict.differences[:_MOST]:
            click.echo(clean(str(each), 500))
        if len(verdict.differences) > _MOST:
            click.echo(f"… and {len(verdict.differences) - _MOST:,} more differences; --format json has all")
        click.echo(clean(str(verdict), 500))
    if not verdict:
        raise click.exceptions.Exit(1)
