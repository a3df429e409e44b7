"""`graphgauge run STUDY`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphgauge.core.scrub import clean

if TYPE_CHECKING:
    from graphgauge.core.gate import GateOutcome
    from graphgauge.study.model import Study
    from graphgauge.study.pool import Done
    from graphgauge.study.runner import Outcome, Plan

# The most lines of one kind on a terminal; the files and the report have all.
_MOST = 8
# A terminal shows progress of what takes longer than this, in seconds.
_PATIENCE = 2.0

jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes at once (default: one per core, at most 4)."
)
debug_option = click.option("--debug", is_flag=True, help="Show tracebacks.")


@click.command(name="run")
@click.argument("study", type=click.Path(dir_okay=False))
@click.option("--only", metavar="PATTERN", help="Only evaluations whose FAMILY/METHOD/DATASET/SEED begins so.")
@jobs_option
@click.option("--dry", is_flag=True, help="Show what would run and which code it would import, and exit.")
@click.option("--rehash", is_flag=True, help="Read every input again, even if size and time are unchanged.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Write the gates as a test suite (JUnit XML).")
@click.option("--summary", type=click.Path(dir_okay=False), help="Write the gates in Markdown, for a pull request.")
@click.option("--quiet", is_flag=True, help="No plan and no progress on stderr.")
@debug_option
def command(
    study: str,
    only: str | None,
    jobs: int | None,
    dry: bool,
    rehash: bool,
    junit: str | None,
    summary: str | None,
    quiet: bool,
    debug: bool,
) -> None:
    """Evaluate everything in STUDY (a study.toml) that is not up to date, compare, and check its gates.

    After an interruption, the next run resumes where this one stopped. On GitHub Actions gates that do not pass become
    annotations.
    """
    from graphgauge.study import run

    with watching(quiet, dry) as watch:
        outcome = run(
            study, only=only, jobs=jobs, rehash=rehash, debug=debug, on_plan=watch.planned, on_done=watch.finished
        )
    if dry:
        return
    gates = outcome.judgement.gates if outcome.judgement is not None else ()
    write_gates(gates, outcome.study.name, junit, summary)
    for line in told(outcome):
        click.echo(clean(line, 500))
    annotate(gates)
    raise click.exceptions.Exit(outcome.exit_code)


def write_gates(gates: tuple[GateOutcome, ...], title: str, junit: str | None, summary: str | None) -> None:
    """The files for CI."""
    from graphgauge.core.disk import write_text
    from graphgauge.study import ci

    if junit is not None:
        write_text(junit, ci.junit(gates))
    if summary is not None:
        write_text(summary, ci.summary(gates, title))


def annotate(gates: tuple[GateOutcome, ...]) -> None:
    """Annotations, if this is a step of GitHub Actions; it reads both streams."""
    from graphgauge.study import ci

    if ci.on_github():
        for line in ci.annotated(gates):
            click.echo(line, err=True)


def told(outcome: Outcome) -> Iterator[str]:
    """What came of a run: who leads, what failed, what to know, and a closing sentence."""
    from graphgauge.report.leaders import leaders

    failed = [f"failed: {each.item.label}: {each.error}" for each in outcome.failed]
    yield from _first(failed, "failures")
    judgement = outcome.judgement
    if judgement is None:
        left = len(outcome.plan.left_out)
        yield f"Not compared, and no gate checked: --only left out {left:,} that are not up to date."
        return
    found = leaders(judgement.runs, [each.metric for each in outcome.study.compare])
    yield from _first([str(each) for each in found], "families and datasets")
    yield from (f"failed: comparison of {each.title}: {each.error}" for each, _ in judgement.compared if each.error)
    yield from _first([str(each) for each in judgement.gates if not each.passed], "gates")
    yield from _findings(outcome)
    yield _closing(outcome)


def _findings(outcome: Outcome) -> Iterator[str]:
    """The three worst findings, and every error, each once."""
    from graphgauge.audit.runner import together
    from graphgauge.core.finding import Findings

    assert outcome.judgement is not None
    all_of_them = [*outcome.judgement.findings, *together(each for _, each in outcome.judgement.runs)]
    worst = Findings(all_of_them).worst()
    yield from (str(each) for each in worst)
    kept = sum(not each.ignored and each.severity != "note" for each in all_of_them)
    if kept > len(worst):
        yield f"… and {kept - len(worst):,} more findings: graphgauge audit {_shown(outcome.study.results)}"


def _closing(outcome: Outcome) -> str:
    from graphgauge.study import ci

    judgement = outcome.judgement
    assert judgement is not None
    results = f"{len(judgement.runs):,} results are in {_shown(outcome.study.results)}"
    if outcome.failed:
        results += f", and {len(outcome.failed):,} failed"
    return f"{results}. {ci.conclusion(judgement.gates) if judgement.gates else ''}".strip()


def _first(lines: list[str], what: str) -> Iterator[str]:
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"… and {len(lines) - _MOST:,} more {what}"


def _shown(folder: Path) -> str:
    """Relative to the working folder, if it is inside."""
    here = Path.cwd()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


class Watch:
    """The plan and the progress of a run on stderr."""

    def __init__(self, quiet: bool, dry: bool) -> None:
        self._quiet, self._dry = quiet, dry
        self._total, self._done, self._failed = 0, 0, 0
        self._begun, self._line = time.perf_counter(), False

    def planned(self, study: Study, plan: Plan) -> bool:
        """Say what there is to do; whether to do it. Code that is imported is always named."""
        from graphgauge.study.runner import missing_files

        self._total, self._begun = len(plan.to_run), time.perf_counter()
        waiting = [item for item, _ in plan.to_run]
        code = dict.fromkeys(name for item in waiting for name in item.request.code())
        for name in list(code)[:_MOST]:
            click.echo(f"imports {clean(name)}", err=True)
        if self._dry or not self._quiet:
            left = f", {len(plan.left_out):,} left out" if plan.left_out else ""
            share = f" ({plan.jobs} processes, {plan.threads} threads each)" if waiting else ""
            counts = f"{len(plan.current):,} up to date, {len(waiting):,} to run{left}{share}"
            click.echo(f"{clean(study.name)}: {counts}", err=True)
        if self._dry:
            for line in _first([f"  {item.label}: {why}" for item, why in plan.to_run], "evaluations"):
                click.echo(clean(line), err=True)
        for line in _first([f"missing: {name}" for name in missing_files(study, waiting)], "missing files"):
            click.echo(clean(line), err=True)
        return not self._dry

    def finished(self, done: Done) -> None:
        """Say how far it is, on a terminal, once it has taken a while."""
        self._done += 1
        self._failed += done.status == "failed"
        spent = time.perf_counter() - self._begun
        if self._quiet or not sys.stderr.isatty() or spent < _PATIENCE:
            return
        left = spent / self._done * (self._total - self._done)
        failed = f", {self._failed:,} failed" if self._failed else ""
        text = f"{self._done:,} of {self._total:,}{failed}, about {duration(left)} left · {clean(done.item.label, 60)}"
        click.echo(f"\r\x1b[2K{text}", err=True, nl=False)
        self._line = True

    def close(self) -> None:
        if self._line:
            click.echo("\r\x1b[2K", err=True, nl=False)
        if self._done and not self._quiet:
            click.echo(f"{self._done:,} evaluated in {duration(time.perf_counter() - self._begun)}", err=True)


@contextmanager
def watching(quiet: bool = False, dry: bool = False) -> Iterator[Watch]:
    """What to show while a study runs."""
    watch = Watch(quiet, dry)
    try:
        yield watch
    finally:
        watch.close()


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
