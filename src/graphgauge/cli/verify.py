"""`graphgauge verify RESULTS`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from graphgauge.cli.options import DEBUG, JOBS
from graphgauge.stats.text import several
from graphgauge.study.text import cleaned


@click.command(name="verify")
@click.argument("results", type=click.Path())
@JOBS
@click.option("--quiet", is_flag=True, help="Show only results that are not equal.")
@DEBUG
def command(results: str, jobs: int | None, quiet: bool, debug: bool) -> None:
    """Recompute every result in RESULTS (a folder or one file) from its inputs.

    Each is equal, drifted (and by how much), different from its study, damaged or edited since it was written, or its
    inputs changed or are missing (and which). Results that cannot be recomputed are listed too: exit code 0 means that
    every result was recomputed and is equal, 1 anything else. Code named in RESULTS is not run or imported.
    """
    from graphgauge.study.verifier import verify

    root = Path(results)
    verdicts = verify(results, jobs=jobs)
    for verdict in verdicts:
        if not (quiet and verdict.status == "equal"):
            name = verdict.path.relative_to(root) if root.is_dir() else verdict.path
            click.echo(cleaned(f"{name}: {verdict}"))
    counts = Counter(verdict.status for verdict in verdicts)
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    click.echo(f"{several(len(verdicts), 'result')}: {summary}", err=True)
    if any(verdict.mismatch for verdict in verdicts):
        raise click.exceptions.Exit(1)
