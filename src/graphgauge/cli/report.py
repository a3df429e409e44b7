"""`graphgauge report DIR… -o report.html`."""

from __future__ import annotations

import click


@click.command(name="report")
@click.argument("results", nargs=-1, required=True, type=click.Path())
@click.option("--output", "-o", type=click.Path(dir_okay=False), default="report.html", show_default=True)
@click.option("--title", help="The page's heading (default: the study's name).")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def command(results: tuple[str, ...], output: str, title: str | None, debug: bool) -> None:
    """Write one page from folders of results or result files: who leads, gates, findings, figures, every run.

    The page is one file that needs no network. Code and files named in results are not imported or opened.
    """
    from graphgauge.report import write_report

    click.echo(write_report(results, output, title=title))
