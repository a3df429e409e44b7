"""`graphgauge report DIR… -o report.html`."""

from __future__ import annotations

import click

from graphgauge.old.cli.options import DEBUG, PRODUCT_FILE, RESULTS


@click.command(name="report")
@RESULTS
@click.option("--output", "-o", type=PRODUCT_FILE, default="report.html", show_default=True, help="The page to write.")
@click.option("--title", help="The page's heading (default: the study's name).")
@DEBUG
def command(results: tuple[str, ...], output: str, title: str | None, debug: bool) -> None:
    """Write one page from folders of results or result files: verdict, tables, charts, comparisons, downloads.

    The page is one file that needs no network. Code and files named in results are not imported or opened.
    """
    from graphgauge.report.html import write_report

    click.echo(write_report(results, output, title=title))
