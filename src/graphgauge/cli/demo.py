"""`graphgauge demo`."""

from __future__ import annotations

from pathlib import Path

import click

from graphgauge.core.errors import MissingExtraError
from graphgauge.old.cli.options import DEBUG, JOBS


@click.command(name="demo")
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    default="graphgauge-demo",
    show_default=True,
    metavar="DIR",
    help="Folder of the data, the study and its results.",
)
@JOBS
@DEBUG
def command(output: str, jobs: int | None, debug: bool) -> None:
    """Make data, evaluate and compare several methods on them as a study, and summarise the results."""
    from graphgauge.cli.run import report_failures
    from graphgauge.demo.study import sentences, write_study
    from graphgauge.study import run
    from graphgauge.study.summary import tables

    folder = Path(output)
    click.echo(f"writing data and study.toml into {folder}", err=True)
    outcome = run(write_study(folder), jobs=jobs, debug=debug)
    page = _page(outcome.study.results, folder / "report.html")
    for text in tables(outcome.study):
        click.echo(text)
    report_failures(outcome)
    click.echo(f"Study: {folder / 'study.toml'}")
    click.echo(f"{page}\n")
    for sentence in sentences(outcome) if outcome.exit_code == 0 else ():
        click.echo(sentence)
    raise click.exceptions.Exit(outcome.exit_code)


def _page(results: Path, path: Path) -> str:
    try:
        from graphgauge.report.html import write_report

        return f"Page: {write_report(str(results), path)}"
    except MissingExtraError as error:
        return f"No page: {error}"
