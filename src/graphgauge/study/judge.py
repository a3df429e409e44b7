"""What the finished results of a study say: its gates, its comparisons, and what checks find in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from graphgauge.audit import over_runs
from graphgauge.core.content import GatesFile, ResultFile
from graphgauge.core.disk import write_text
from graphgauge.core.errors import InputError, sentence
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.files import opened
from graphgauge.core.finding import Finding
from graphgauge.core.gate import Gate, GateOutcome
from graphgauge.core.sealed import encode, read
from graphgauge.stats.comparison import compare
from graphgauge.stats.outcome import Comparison
from graphgauge.stats.reading import read_runs
from graphgauge.stats.regression import Regression
from graphgauge.stats.regression import gate as test
from graphgauge.study.model import (
    GATES,
    SUMMARY,
    Baseline,
    Compared,
    CompareTable,
    GateTable,
    Item,
    Study,
    StudyFile,
    concerns,
)

_NAN = float("nan")
# Every evaluation with its results, or with the error that stands in their place.
Results = Sequence[tuple[Item, Evaluation | str]]


@dataclass(frozen=True)
class Judgement:
    """Outcomes of gates, comparisons with what they found, findings in all results together, and the results."""

    gates: tuple[GateOutcome, ...]
    compared: tuple[tuple[Compared, Comparison | None], ...]
    findings: tuple[Finding, ...]
    runs: tuple[tuple[Path, Evaluation], ...]

    @property
    def is_incomplete(self) -> bool:
        """Whether a comparison could not be made."""
        return any(entry.error is not None for entry, _ in self.compared)


def judge(study: Study) -> Judgement:
    """Check every gate, make every comparison, look for problems, and write what came of it."""
    done = [(item, _result(item.path(study.results))) for item in study.items]
    good = tuple((item.path(study.results), each) for item, each in done if isinstance(each, Evaluation))
    gates = tuple(outcome for table in study.gates for outcome in _checked(table, done, study))
    tables = zip(study.compare, study.comparison_files, strict=True)
    compared = tuple(_compared(table, file, study) for table, file in tables)
    found = tuple(replace(each, ignored=each.check in study.ignore) for each in over_runs(each for _, each in good))
    judgement = Judgement(gates, compared, found, good)
    _write(study, judgement, {item.path(Path()): isinstance(each, Evaluation) for item, each in done})
    return judgement


def _result(path: Path) -> Evaluation | str:
    """The results of a run, or the error that stands in their place."""
    content = read(path, ResultFile)
    return str(content.error) if content.status == "failed" else opened(content, path, items=False)


def _checked(table: GateTable, done: Results, study: Study) -> Iterator[GateOutcome]:
    """One outcome for every result of the families that have the metric; for a baseline, one for every method."""
    gate = table.gate
    concerned = [(item, each) for item, each in done if concerns(table, item)]
    families = {item.family for item, each in concerned if not isinstance(each, str) and _has(each, gate.key)}
    text = gate.text
    if not families:
        yield GateOutcome(
            gate=text, verdict="failed", value=_NAN, why=f"no result has {gate.key}: name it in metrics of [[evaluate]]"
        )
    own = [(item, each) for item, each in concerned if item.family in families]
    if isinstance(gate, Baseline):
        yield from _regressions(gate, [item for item, _ in own], study)
        return
    for item, each in own:
        yield replace(_required(gate, each), of=item.label)


def _has(evaluation: Evaluation, key: str) -> bool:
    return key in evaluation or key in evaluation.skipped


def _required(gate: Gate, evaluation: Evaluation | str) -> GateOutcome:
    why = "the evaluation failed"
    if not isinstance(evaluation, str):
        try:
            return gate.check(evaluation)
        except InputError as error:
            why = error.what
    return GateOutcome(gate=gate.text, verdict="failed", value=_NAN, why=why)


def _regressions(gate: Baseline, items: Sequence[Item], study: Study) -> Iterator[GateOutcome]:
    for family, method, dataset in dict.fromkeys((item.family, item.method, item.dataset) for item in items):
        named = (family, method, dataset)
        new = [item.path(study.results) for item in items if (item.family, item.method, item.dataset) == named]
        try:
            outcome = _regression(gate, new, study.folder / gate.against, *named)
        except InputError as error:
            outcome = GateOutcome(gate=gate.text, verdict="failed", value=_NAN, why=str(error))
        yield replace(outcome, of="/".join(named))


def _regression(
    gate: Baseline, new: Sequence[Path], against: Path, name: str, method: str, dataset: str
) -> GateOutcome:
    """Whether results are no worse than those of a baseline: its own of this method, or of its only one."""
    old = read_runs(against).only(family=name)
    old = old.only(dataset=[dataset]) if dataset in old.datasets or len(old.datasets) > 1 else old
    old = old.only(method=[method]) if method in old.methods else old
    sources = [run.source for run in old]
    found = test(list(new), sources, metric=gate.metric, margin=gate.margin, over=gate.over, confidence=gate.confidence)
    return replace(outcome_of(found, gate.undecided), gate=gate.text)


def outcome_of(found: Regression, undecided: str) -> GateOutcome:
    """A test as the outcome of a gate, with what it would take to decide; one that is undecided may pass."""
    outcome = found.outcome
    said = " ".join(filter(None, (f"{outcome.why}.", found.advice, *map(sentence, found.notes))))
    may_pass = outcome.verdict == "undecided" and undecided == "pass"
    return replace(outcome, why=said.rstrip("."), verdict="passed" if may_pass else outcome.verdict)


def _compared(table: CompareTable, file: str, study: Study) -> tuple[Compared, Comparison | None]:
    """A comparison, and what it found."""
    paths = [item.path(study.results) for item in study.items if concerns(table, item)]
    try:
        found = compare(paths, **table.options)
    except InputError as error:
        return Compared(title=table.title, error=str(error).replace(str(study.results), "results")), None
    return Compared(title=table.title, file=file), found


def _write(study: Study, judgement: Judgement, runs: dict[Path, bool]) -> None:
    """The comparisons, the gates, and last of all the outcome that names them."""
    for entry, found in judgement.compared:
        if entry.file is not None and found is not None:
            write_text(study.results / entry.file, found.to_json())
    write_text(study.results / GATES, encode(GatesFile(gates=list(judgement.gates))))
    content = StudyFile(
        name=study.name,
        hash=study.hash,
        runs={path.as_posix(): "ok" if good else "failed" for path, good in runs.items()},
        comparisons=[entry for entry, _ in judgement.compared],
        findings=list(judgement.findings),
        ignored=study.ignore,
    )
    write_text(study.results / SUMMARY, encode(content))
