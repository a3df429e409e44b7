"""`graphgauge report DIR… -o report.html`."""

from __future__ import annotations

import click


@click.command(name="report")
@click.argument("results", nargs=-1, required=True, type=click.Path())
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@click.option("--title", help="The page's heading (default: the study's name).")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def command(results: tuple[str, ...], output: str, title: str | None, debug: bool) -> None:
    """One page from folders of results or from result files: verdict, tables, charts, comparisons, downloads.

    The page is one file that needs no network; nothing that a result file names is imported or opened.
    """
    from graphgauge.report.html import write_report

    click.echo(write_report(results, output, title=title))
