"""`graphgauge demo`."""

from __future__ import annotations

from pathlib import Path

import click

from graphgauge.cli.run import debug_option, jobs_option, told, watching
from graphgauge.core.errors import MissingExtraError
from graphgauge.core.scrub import clean


@click.command(name="demo")
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    default="graphgauge-demo",
    show_default=True,
    metavar="DIR",
    help="Folder of the data, the study and its results.",
)
@jobs_option
@debug_option
def command(output: str, jobs: int | None, debug: bool) -> None:
    """Make data, evaluate and compare several methods of every family as a study, and write its page."""
    from graphgauge.demo.study import write_study
    from graphgauge.study import run

    folder = Path(output)
    click.echo(f"writing data and study.toml into {folder}", err=True)
    with watching() as watch:
        outcome = run(write_study(folder), jobs=jobs, debug=debug, on_plan=watch.planned, on_done=watch.finished)
    page = _page(outcome.study.results, folder / "report.html")
    for line in told(outcome):
        click.echo(clean(line, 500))
    click.echo(f"study: {folder / 'study.toml'}\n{page}\nnext: graphgauge verify {folder / 'study.toml'}")
    raise click.exceptions.Exit(outcome.exit_code)


def _page(results: Path, path: Path) -> str:
    try:
        from graphgauge.report import write_report

        return f"page: {write_report(results, path)}"
    except MissingExtraError as error:
        return f"no page: {error}"
