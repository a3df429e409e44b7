"""`graphgauge verify RESULTS`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphgauge.cli.common import files_then_words
from graphgauge.cli.options import DEBUG, JOBS, PRODUCT_FILE
from graphgauge.core.errors import OptionError
from graphgauge.core.files import write_text
from graphgauge.stats.text import several
from graphgauge.study.text import cleaned

if TYPE_CHECKING:
    from graphgauge.study.claim import Verdict

_GB = 1 << 30


@click.command(name="verify")
@click.argument("results", type=click.Path(), required=False)
@click.option(
    "--submission",
    "submissions",
    multiple=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Instead of RESULTS: a folder of somebody else, verified against --truth. Repeatable.",
)
@click.option(
    "--truth",
    "truths",
    multiple=True,
    metavar="[DATASET/]NAME=FILE",
    help="With --submission: your own file for the input NAME, or sha256:HASH that its file must have. Repeatable.",
)
@click.option("--trust-code", is_flag=True, help="Import the code that results name, and run it without network.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    help="With --submission: the most time per result.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    default=8,
    show_default=True,
    help="With --submission: the most memory per process, in GB.",
)
@JOBS
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of stdout."
)
@click.option("--output", "-o", type=PRODUCT_FILE, help="Also write the verdicts (JSON).")
@click.option("--page", type=PRODUCT_FILE, help="Also write a page of the verdicts (HTML).")
@click.option("--quiet", is_flag=True, help="Show only results that are not equal.")
@DEBUG
def command(
    form: str, output: str | None, page: str | None, quiet: bool, debug: bool, truths: tuple[str, ...], **asked: Any
) -> None:
    """Recompute every result in RESULTS (a folder or one file) from its inputs.

    Each is equal, drifted (and by how much), unchecked (and why), damaged or edited since it was written, or failed:
    its inputs changed, its study differs, or it can no longer be computed. Exit code 0 means that every result was
    recomputed and is equal, 1 anything else. Code named in RESULTS is not run or imported without --trust-code.

    With --submission, the maintainer of a benchmark verifies a folder of somebody else: --truth replaces the truth in
    the folder, and nothing outside the folder is read.
    """
    from graphgauge.study.page import verdicts_page, verdicts_to_dict

    found = _verdicts(truths=truths, **asked)
    every = [verdict for verdicts in found.values() for verdict in verdicts]
    content = verdicts_to_dict(found)
    files = []
    if output is not None:
        files.append(lambda: write_text(output, _json(content)))
    if page is not None:
        files.append(lambda: write_text(page, verdicts_page(found, truths)))
    if form == "json":
        files_then_words(files, lambda: click.echo(_json(content), nl=False))
    else:
        files_then_words(files, lambda: _say(found, quiet, bool(truths)))
    counts = Counter(verdict.status for verdict in every)
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    click.echo(f"{several(len(every), 'result')}: {summary}", err=True)
    if any(verdict.mismatch for verdict in every):
        raise click.exceptions.Exit(1)


def _verdicts(
    results: str | None,
    submissions: tuple[str, ...],
    truths: tuple[str, ...],
    trust_code: bool,
    seconds: float,
    memory: float,
    jobs: int | None,
) -> dict[Path, list[Verdict]]:
    """The verdicts of each folder."""
    from graphgauge.study.confine import Limits
    from graphgauge.study.verifier import verify, verify_submission

    if (results is None) == (not submissions):
        raise OptionError("verify takes RESULTS, or --submission", fix="Give one of them.")
    if results is not None:
        if truths:
            raise OptionError("--truth needs --submission", fix="Give the folder with --submission.")
        return {Path(results): verify(results, jobs=jobs, trust_code=trust_code)}
    if not truths:
        raise OptionError("--submission needs --truth", fix="Give your own truth, such as --truth labels=labels.npy.")
    limits = Limits(seconds=seconds, memory=int(memory * _GB))
    return {
        Path(folder): verify_submission(folder, truths, jobs=jobs, trust_code=trust_code, limits=limits)
        for folder in submissions
    }


def _say(found: dict[Path, list[Verdict]], quiet: bool, submitted: bool) -> None:
    from graphgauge.study.page import unlike
    from graphgauge.study.proof import EXPLAINED

    for root, verdicts in found.items():
        for verdict in verdicts:
            if not (quiet and verdict.status == "equal"):
                click.echo(cleaned(f"{verdict.name(root, several=len(found) > 1)}: {verdict}"))
    proofs = dict.fromkeys(
        verdict.proof.kinds
        for verdicts in found.values()
        for verdict in verdicts
        if verdict.proof is not None and not verdict.mismatch
    )
    for line in unlike(verdict for verdicts in found.values() for verdict in verdicts) if submitted else ():
        click.echo(cleaned(line))
    for proof in () if quiet else proofs:
        click.echo(cleaned("\n".join(["equal means:", *proof.lines()])))
    if proofs and not quiet:
        click.echo(EXPLAINED)


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
