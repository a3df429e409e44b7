"""`graphgauge verify RESULTS`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from graphgauge._version import __version__
from graphgauge.core.scrub import scrub
from graphgauge.old.cli.common import files_then_words
from graphgauge.old.cli.options import DEBUG, JOBS, PRODUCT_FILE
from graphgauge.old.core.files import write_text
from graphgauge.old.stats.text import several
from graphgauge.study.text import cleaned

_SCHEMA = "graphgauge/verdicts/1"
_NOTE = (
    "The values follow from these inputs. Where the inputs come from, and everything that is declared, is the author's "
    "word."
)


@click.command(name="verify")
@click.argument("results", type=click.Path())
@click.option(
    "--trust-code", is_flag=True, help="Import the code that RESULTS name, which then runs with all your rights."
)
@JOBS
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of stdout."
)
@click.option("--output", "-o", type=PRODUCT_FILE, help="Also write the verdicts (JSON).")
@click.option("--quiet", is_flag=True, help="Show only results that are not equal.")
@DEBUG
def command(
    results: str,
    trust_code: bool,
    jobs: int | None,
    form: str,
    output: str | None,
    quiet: bool,
    debug: bool,
) -> None:
    """Recompute every result in RESULTS (a folder or one file) from its inputs.

    Each is equal, drifted (and by how much), unchecked (and why), damaged or edited since it was written, or failed:
    its inputs changed, its study differs, or it can no longer be computed. Exit code 0 means that every result was
    recomputed and is equal, 1 anything else. Code named in RESULTS is not run or imported without --trust-code.
    """
    from graphgauge.study.verifier import verify

    verdicts = verify(results, jobs=jobs, trust_code=trust_code)
    root, counts = Path(results), Counter(verdict.status for verdict in verdicts)
    passed = not any(verdict.mismatch for verdict in verdicts)
    content = {
        "schema": _SCHEMA,
        "graphgauge": __version__,
        "passed": passed,
        "outcomes": dict(counts),
        "verdicts": [scrub(verdict.to_dict(root)) for verdict in verdicts],
        "note": _NOTE,
    }

    def say() -> None:
        if form == "json":
            click.echo(_json(content), nl=False)
            return
        for verdict in verdicts:
            if not (quiet and verdict.status == "equal"):
                click.echo(cleaned(f"{verdict.name(root)}: {verdict}"))
        if counts["equal"] and not quiet:
            click.echo(_NOTE)

    files_then_words([] if output is None else [lambda: write_text(output, _json(content))], say)
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    click.echo(f"{several(len(verdicts), 'result')}: {summary}", err=True)
    if not passed:
        raise click.exceptions.Exit(1)


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
