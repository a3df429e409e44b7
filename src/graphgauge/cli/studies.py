"""Commands about studies: init, run, verify and demo."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import click

from graphgauge.cli.command import DEBUG, QUIET, Bar, command, duration, files_then_words, say
from graphgauge.cli.output import CI, announce, gate_files
from graphgauge.core.door import Option
from graphgauge.core.errors import MissingExtraError, OptionError
from graphgauge.core.markup import clean

if TYPE_CHECKING:
    from graphgauge.study.model import Study
    from graphgauge.study.pool import Done
    from graphgauge.study.runner import Outcome, Plan

# The most lines of one kind on a terminal, and differences; files, the report and JSON have all.
_MOST, _DIFFERENCES = 8, 20
_JOBS = Option("jobs", int | None, None, "Processes at once (default: one per core, at most 4).", 1)
_INIT = (
    Option("output", Path, Path("study.toml"), "The study that is written."),
    Option("force", bool, False, "Overwrite an existing file."),
    DEBUG,
)
_RUN = (
    Option("only", str | None, None, "Only evaluations whose FAMILY/METHOD/DATASET/SEED begins so.", shown="PATTERN"),
    _JOBS,
    Option("dry", bool, False, "Show what would run and which code it would import, and exit."),
    *CI,
    QUIET,
    DEBUG,
)
_VERIFY = (
    Option("trust_code", bool, False, "Import the code that it names, which then runs with all your rights."),
    _JOBS,
    Option("format", Literal["text", "json"], "text", "Format of stdout."),
    QUIET,
    DEBUG,
)
_DEMO = (Option("output", Path, Path("graphgauge-demo"), "Folder of data, study and results."), _JOBS, DEBUG)


class Watch(Bar):
    """What to show of a study while it runs, in this block."""

    def __init__(self, quiet: bool = False, dry: bool = False) -> None:
        super().__init__(quiet)
        self._dry, self._total, self._done, self._failed = dry, 0, 0, 0
        self._started = time.perf_counter()

    def planned(self, study: Study, plan: Plan) -> bool:
        """Say what there is to do; whether to do it. Code that is imported is always named."""
        from graphgauge.study.runner import missing_files

        self._total, self._started = len(plan.to_run), time.perf_counter()
        waiting = [item for item, _ in plan.to_run]
        lines = [f"imports {name}" for name in dict.fromkeys(name for item in waiting for name in item.request.code())]
        if self._dry or not self.quiet:
            left = f", {len(plan.left_out):,} left out" if plan.left_out else ""
            share = f" ({plan.jobs} processes, {plan.threads} threads each)" if waiting else ""
            lines.append(f"{study.name}: {len(plan.current):,} up to date, {len(waiting):,} to run{left}{share}")
        if self._dry:
            lines += _first([f"  {item.label}: {why}" for item, why in plan.to_run], "evaluations")
        lines += _first([f"missing: {name}" for name in missing_files(study, waiting)], "missing files")
        for line in lines:
            click.echo(clean(line), err=True)
        return not self._dry

    def finished(self, done: Done) -> None:
        """Say how far it is."""
        self._done += 1
        self._failed += done.status == "failed"
        failed = f"{self._failed:,} failed, " if self._failed else ""
        self.stage(f"{self._total:,} evaluations", self._done, self._total, f"{failed}{done.item.label}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()
        if self._done:
            self.say(f"{self._done:,} evaluated in {duration(time.perf_counter() - self._started)}")


def _first(lines: Sequence[str], what: str, most: int = _MOST) -> list[str]:
    """The first lines of one kind, and how many more there are."""
    more = [f"… and {len(lines) - most:,} more {what}"] if len(lines) > most else []
    return [*lines[:most], *more]


def _init(families: tuple[str, ...], output: Path, force: bool, **options: Any) -> None:
    """Write a commented study of these families, or of all."""
    from graphgauge.core.disk import write_text
    from graphgauge.study.init import study_text

    text = study_text(families)
    if output.exists() and not force:
        fix = "Name another with --output, or overwrite with --force."
        raise OptionError("already exists", where=str(output), fix=fix)
    write_text(output, text)
    click.echo(f"wrote {output}; fill it in, then: graphgauge run {output}", err=True)


def _run(study: str, quiet: bool, dry: bool, **options: Any) -> None:
    """Evaluate everything in STUDY (a study.toml) that is not up to date, compare, and check its gates.

    After an interruption, the next run resumes where this one stopped. On GitHub Actions gates that do not pass become
    annotations.
    """
    from graphgauge.study import run as run_study

    asked = {name: options[name] for name in ("only", "jobs", "debug")}
    with Watch(quiet, dry) as watch:
        outcome = run_study(study, **asked, on_plan=watch.planned, on_done=watch.finished)
    if dry:
        return
    gates = outcome.judgement.gates if outcome.judgement is not None else ()
    files_then_words(gate_files(gates, outcome.study.name, options), lambda: _say(_told(outcome)))
    announce(gates)
    raise click.exceptions.Exit(outcome.exit_code)


def _told(outcome: Outcome) -> Iterator[str]:
    """What came of a run: who leads, what failed, what to know, and a closing sentence."""
    from graphgauge.audit.runner import together
    from graphgauge.core.finding import Findings
    from graphgauge.report.leaders import leaders
    from graphgauge.study import ci

    judgement = outcome.judgement
    yield from _first([f"failed: {each.item.label}: {each.error}" for each in outcome.failed], "failures")
    if judgement is None:
        left = len(outcome.plan.left_out)
        yield f"Not compared, and no gate checked: --only left out {left:,} that are not up to date."
        return
    found = leaders(judgement.runs, [each.metric for each in outcome.study.compare])
    yield from _first(list(map(str, found)), "families and datasets")
    yield from (f"failed: comparison of {each.title}: {each.error}" for each, _ in judgement.compared if each.error)
    yield from _first([str(each) for each in judgement.gates if not each.passed], "gates")
    findings = Findings([*judgement.findings, *together(each for _, each in judgement.runs)])
    worst = findings.worst()
    yield from map(str, worst)
    kept = sum(not each.ignored and each.severity != "note" for each in findings)
    here, results = Path.cwd(), outcome.study.results
    shown = results.relative_to(here) if results.is_relative_to(here) else results
    if kept > len(worst):
        yield f"… and {kept - len(worst):,} more findings: graphgauge audit {shown}"
    said = f"{len(judgement.runs):,} results are in {shown}"
    said += f", and {len(outcome.failed):,} failed" if outcome.failed else ""
    yield f"{said}. {ci.conclusion(judgement.gates) if judgement.gates else ''}".strip()


def _verify(subject: str, trust_code: bool, jobs: int | None, format: str, quiet: bool, **options: Any) -> None:
    """Run a study again in an empty folder, and compare every file of its results; or compute one result again.

    Missing, additional and changed files fail, with file and field. Exit code 0 means: these files follow from this
    study file and these inputs, in this environment. Code that a study names is not imported without --trust-code.
    """
    from msgspec import to_builtins

    from graphgauge.core.disk import dump_json
    from graphgauge.study import verify as verify_study

    with Watch(quiet) as watch:
        verdict = verify_study(subject, jobs=jobs, trust_code=trust_code, on_plan=watch.planned, on_done=watch.finished)
    if format == "json":
        click.echo(dump_json({"holds": bool(verdict), **to_builtins(verdict)}), nl=False)
    else:
        others = [f"computed with other versions: {each}" for each in verdict.versions]
        differences = _first(list(map(str, verdict.differences)), "differences; --format json has all", _DIFFERENCES)
        _say((*others, *differences, str(verdict)))
    if not verdict:
        raise click.exceptions.Exit(1)


def _demo(output: Path, jobs: int | None, debug: bool) -> None:
    """Make data, evaluate and compare several methods of every family as a study, and write its page."""
    from graphgauge.demo import write_study
    from graphgauge.study import run as run_study

    click.echo(f"writing data and study.toml into {output}", err=True)
    study = write_study(output)
    with Watch() as watch:
        outcome = run_study(study, jobs=jobs, debug=debug, on_plan=watch.planned, on_done=watch.finished)
    page = _page(outcome.study.results, output / "report.html")
    _say(_told(outcome))
    click.echo(f"study: {study}\n{page}\nnext: graphgauge verify {study}")
    raise click.exceptions.Exit(outcome.exit_code)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        say(clean(line, 500))


def _page(results: Path, path: Path) -> str:
    try:
        from graphgauge.report import write_report

        return f"page: {write_report(results, path)}"
    except MissingExtraError as error:
        return f"no page: {error}"


_STUDY = click.Argument(["study"], type=click.Path(dir_okay=False))
init = command(_init, {"Options": _INIT}, click.Argument(["families"], nargs=-1, metavar="[FAMILY]..."))
run = command(_run, {"Options": _RUN}, _STUDY)
verify = command(_verify, {"Options": _VERIFY}, click.Argument(["subject"], metavar="STUDY|RESULT", type=click.Path()))
demo = command(_demo, {"Options": _DEMO})
