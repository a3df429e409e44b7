"""`graphgauge run STUDY`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphgauge.old.cli.options import DEBUG, JOBS
from graphgauge.old.core.cluster import ENGINES
from graphgauge.old.stats.text import several
from graphgauge.study.text import cleaned, duration, in_bytes, shown

if TYPE_CHECKING:
    from graphgauge.study.judge import GateVerdict
    from graphgauge.study.model import Study
    from graphgauge.study.plan import Plan
    from graphgauge.study.runner import Done, Outcome, Share

# The most lines of the plan and of failures on a terminal; the result files have them all.
_LISTED = 12


@click.command(name="run")
@click.argument("study", type=click.Path(dir_okay=False))
@JOBS
@click.option(
    "--only", metavar="PATTERN", help="Only evaluations whose FAMILY/METHOD/DATASET/SEED, or one of these, matches."
)
@click.option("--rehash", is_flag=True, help="Read every input again, even if size and time are unchanged.")
@click.option("--plan", "plan_only", is_flag=True, help="Show what would run and which code it would import, and exit.")
@click.option(
    "--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True, help="Where items are evaluated."
)
@click.option(
    "--scheduler",
    metavar="TEXT",
    help="With --engine dask: the address of a scheduler (default: processes of this run).",
)
@click.option("--quiet", is_flag=True, help="No plan and no progress on stderr.")
@DEBUG
def command(
    study: str,
    jobs: int | None,
    only: str | None,
    rehash: bool,
    plan_only: bool,
    engine: str,
    scheduler: str | None,
    quiet: bool,
    debug: bool,
) -> None:
    """Evaluate everything in STUDY (a study.toml) that is not up to date, compare, and check its gates.

    After an interruption, the next run resumes where this one stopped.
    """
    from graphgauge.study import run

    with _watch(quiet, plan_only) as watch:
        outcome = run(
            study,
            jobs=jobs,
            only=only,
            rehash=rehash,
            debug=debug,
            engine=engine,
            scheduler=scheduler,
            on_plan=watch.planned,
            on_done=watch.finished,
        )
    report(outcome)
    if not quiet:
        click.echo(f"results are in {cleaned(str(_shown_folder(outcome.study.results)))}", err=True)
    raise click.exceptions.Exit(outcome.exit_code)


def _shown_folder(folder: Path) -> Path:
    """Relative to the working folder, if it is inside."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def report(outcome: Outcome) -> None:
    """Print tables on stdout and failures on stderr."""
    from graphgauge.study.summary import tables

    for text in tables(outcome.study):
        click.echo(cleaned(text))
    report_failures(outcome)
    if outcome.judgement is None:
        left = several(len(outcome.plan.left_out), "evaluation")
        click.echo(f"Not compared, and no gate checked: --only left out {left} that are not up to date.", err=True)
        return
    for verdict in outcome.judgement.comparisons:
        if verdict.comparison is not None:
            click.echo(cleaned(verdict.comparison.summary))
    for finding in outcome.judgement.findings:
        text = f"{finding.severity} [{finding.check}] {finding.message} ({finding.where}). {finding.remedy}"
        click.echo(cleaned(text))
    for line in _gate_lines(outcome.judgement.gates):
        click.echo(cleaned(line))


def report_failures(outcome: Outcome) -> None:
    for done in outcome.failed[:_LISTED]:
        click.echo(f"failed: {done.item}: {cleaned(done.error or '')}", err=True)
    if len(outcome.failed) > _LISTED:
        click.echo(f"failed: {len(outcome.failed) - _LISTED} more, see the result files", err=True)
    for verdict in outcome.judgement.comparisons if outcome.judgement else ():
        if verdict.error is not None:
            click.echo(f"failed: comparison of {verdict.title}: {cleaned(verdict.error)}", err=True)


def _gate_lines(verdicts: Sequence[GateVerdict]) -> Iterator[str]:
    """One line per gate that holds; otherwise, one per result that fails it."""
    for gate in dict.fromkeys(verdict.gate for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.gate == gate]
        broken = [str(verdict) for verdict in own if not verdict.passed]
        if not broken:
            yield f"gate passed: {gate}  ({several(len(own), 'result')})"
        yield from broken[:_LISTED]
        if len(broken) > _LISTED:
            yield f"gate failed: {gate}  ({len(broken) - _LISTED} more of {len(own)} results)"


class _Watch:
    """The plan and the progress of a run on stderr."""

    def __init__(self, quiet: bool, plan_only: bool) -> None:
        self._quiet, self._plan_only = quiet, plan_only
        self._total, self._done, self._failed = 0, 0, 0
        self._hashing = 0.0
        self._jobs, self._begin = 1, time.perf_counter()
        self._line = False

    def planned(self, study: Study, plan: Plan, share: Share) -> None:
        # Imported code is always listed, even with --quiet.
        for factory in plan.code:
            click.echo(f"imports {shown(factory)}", err=True)
        if not self._quiet or self._plan_only:
            self._describe(study, plan, share)
        if self._plan_only:
            raise click.exceptions.Exit(0)
        self._total, self._begin = len(plan.to_run), time.perf_counter()

    def _describe(self, study: Study, plan: Plan, share: Share) -> None:
        waiting = plan.to_run
        from graphgauge.study.plan import input_size, missing_inputs

        with_threads = f" ({shown(str(share))})" if waiting else ""
        left = f", {len(plan.left_out)} left out" if plan.left_out else ""
        counts = f"{len(plan.up_to_date)} up to date, {len(waiting)} to run{left}{with_threads}"
        click.echo(f"{shown(study.name)}: {several(len(plan.steps), 'evaluation')}, {counts}", err=True)
        for step in waiting[:_LISTED]:
            click.echo(f"  {step.item}: {shown(step.reason)}", err=True)
        if len(waiting) > _LISTED:
            click.echo(f"  … and {len(waiting) - _LISTED} more", err=True)
        if waiting and self._plan_only:
            files, size = input_size(study, plan)
            click.echo(f"  reads {several(files, 'file')}, {in_bytes(size)}", err=True)
        lacking = missing_inputs(study, plan)
        for text in lacking[:_LISTED]:
            click.echo(f"  missing: {shown(text)}", err=True)
        if len(lacking) > _LISTED:
            click.echo(f"  missing: {len(lacking) - _LISTED:,} more files", err=True)

    def finished(self, done: Done) -> None:
        self._done += 1
        self._failed += done.status == "failed"
        self._hashing += done.hashing
        if self._quiet:
            return
        elapsed = time.perf_counter() - self._begin
        left = elapsed / self._done * (self._total - self._done)
        rest = f", about {duration(left)} left" if self._done < self._total else ""
        text = f"[{self._done}/{self._total}] {done.item}: {done.status}, {duration(done.seconds)}{rest}"
        if sys.stderr.isatty():  # one line that is overwritten
            click.echo(f"\r\x1b[2K{text}", err=True, nl=False)
            self._line = True
        else:
            click.echo(text, err=True)

    def close(self) -> None:
        if self._line:
            click.echo("\r\x1b[2K", err=True, nl=False)
        if self._done and not self._quiet:
            spent = duration(time.perf_counter() - self._begin)
            failed = f", {self._failed} failed" if self._failed else ""
            hashing = f", {duration(self._hashing)} of it hashing" if self._hashing >= 0.05 else ""
            click.echo(f"{several(self._done, 'evaluation')} in {spent}{failed}{hashing}", err=True)


@contextmanager
def _watch(quiet: bool, plan_only: bool) -> Iterator[_Watch]:
    watch = _Watch(quiet, plan_only)
    try:
        yield watch
    finally:
        watch.close()
