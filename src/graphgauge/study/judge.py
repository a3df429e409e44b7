"""Gates, comparisons and findings over the finished results of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphgauge.audit.lines import FindingLine, finding_lines
from graphgauge.core.errors import InputError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import write_text
from graphgauge.old.core.gates import found_words, gate_word
from graphgauge.old.core.schema import dumps, evaluation_from_dict, number_to_json, read_content
from graphgauge.old.stats.compare_results import compare_results
from graphgauge.old.stats.load import load
from graphgauge.old.stats.regression import gate as regression
from graphgauge.old.stats.runs import Runs
from graphgauge.study.claims import Claims
from graphgauge.study.model import SUMMARY, BaselineRequest, ComparisonRequest, GateRequest, Item, Study
from graphgauge.study.text import shown


@dataclass(frozen=True)
class GateVerdict:
    """A gate on one result; `reason` explains why it could not be checked."""

    gate: str
    run: Mapping[str, Any]
    passed: bool
    found: float | None = None
    reason: str | None = None
    limit: float | None = None
    group: str | None = None
    against: Mapping[str, Any] | None = None
    undecided: str | None = None

    def __str__(self) -> str:
        word = gate_word(self.passed, self.undecided)
        seed = "" if self.run.get("seed") is None else f", seed {self.run['seed']}"
        who = f"{shown(self.run['method'])} on {shown(self.run['dataset'])}{seed}: " if self.run else ""
        why = self.reason
        if self.found is not None:
            why = self.undecided or found_words(self.gate, self.found, self.limit, self.group)
        return f"gate {word}: {self.gate}  ({who}{why})"


@dataclass(frozen=True)
class ComparisonVerdict:
    """A comparison and its file, or why there is none."""

    title: str
    file: str
    comparison: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Judgement:
    gates: tuple[GateVerdict, ...]
    comparisons: tuple[ComparisonVerdict, ...]
    findings: tuple[FindingLine, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.gates)

    @property
    def incomplete(self) -> bool:
        """Whether a requested comparison could not be made."""
        return any(verdict.error is not None for verdict in self.comparisons)


def judge(study: Study) -> Judgement:
    """Check every gate, make every comparison and run the audit; write `study.json` and `comparisons/`."""
    evaluations = {item: _evaluation(item.path(study.results)) for item in study.items}
    gates = tuple(verdict for request in study.gates for verdict in _gate(request, evaluations, study.results))
    comparisons: list[ComparisonVerdict] = []
    if study.comparisons:
        runs = load([item.path(study.results) for item in study.items])
        comparisons = [
            _comparison(request, file, runs)
            for request, file in zip(study.comparisons, study.comparison_files, strict=True)
        ]
    good = [found for found in evaluations.values() if not isinstance(found, str)]
    judgement = Judgement(gates, tuple(comparisons), tuple(finding_lines(good, study.ignore)))
    _write(study, judgement)
    return judgement


def _evaluation(path: Path) -> Evaluation | str:
    """The results, or the error that replaced them."""
    content = read_content(path)
    if content["status"] == "failed":
        return str(content["error"])
    return evaluation_from_dict(content, where=str(path))


def _against(
    gate: BaselineRequest, request: GateRequest, evaluations: Mapping[Item, Evaluation | str], results: Path
) -> Iterator[GateVerdict]:
    """One verdict per method and dataset that the baseline has, too."""
    key = gate.metric.partition("[")[0]
    groups: dict[tuple[str, str | None, str | None], list[Item]] = {}
    for item, found in evaluations.items():
        if request.concerns(item) and not isinstance(found, str) and (key in found or key in found.skipped):
            groups.setdefault((item.family, item.method, item.dataset), []).append(item)
    if not groups:
        yield GateVerdict(gate.text, {}, False, reason=f"no result has {shown(gate.metric)}")
    for (family, method, dataset), items in groups.items():
        run = {"family": family, "method": method, "dataset": dataset, "seed": None}
        try:
            old = _baseline_files(gate.against, family, str(method), str(dataset))
            test = regression(
                [item.path(results) for item in items], old, metric=gate.metric, margin=gate.margin, over=gate.over
            )
        except InputError as error:
            yield GateVerdict(gate.text, run, False, reason=str(error))
            continue
        passed = test.passed or (test.worse == "undecided" and gate.undecided == "pass")
        reason = " ".join(filter(None, (f"{test.verdict}: {test.evidence}.", test.advice)))
        yield GateVerdict(gate.text, run, passed, reason=reason, against=test.to_dict())


def _baseline_files(against: Path, family: str, method: str, dataset: str) -> Any:
    """The baseline's results of this method, or of its only one, on this dataset."""
    runs = load(against).only(family=family)
    runs = runs.only(dataset=[dataset]) if dataset in runs.datasets or len(runs.datasets) > 1 else runs
    runs = runs.only(method=[method]) if method in runs.methods else runs
    return [run.source for run in runs]


def _gate(request: GateRequest, evaluations: Mapping[Item, Evaluation | str], results: Path) -> Iterator[GateVerdict]:
    """One verdict per result of the families that have the gate's metric."""
    gate = request.gate
    if isinstance(gate, BaselineRequest):
        yield from _against(gate, request, evaluations, results)
        return
    chosen = {item: found for item, found in evaluations.items() if request.concerns(item)}
    families = {
        item.family
        for item, found in chosen.items()
        if not isinstance(found, str) and (gate.key in found or gate.key in found.skipped)
    }
    if not families:
        yield GateVerdict(gate.text, {}, False, reason=f"no result has {shown(gate.key)}")
    for item, found in chosen.items():
        if item.family not in families:
            continue
        run = {"family": item.family, **item.run}
        if isinstance(found, str):
            yield GateVerdict(gate.text, run, False, reason="the evaluation failed")
            continue
        try:
            outcome = gate.check(found)
        except InputError as error:
            yield GateVerdict(gate.text, run, False, reason=error.what)
        else:
            yield GateVerdict(
                gate.text,
                run,
                outcome.passed,
                outcome.found,
                limit=outcome.limit,
                group=outcome.group,
                undecided=outcome.undecided,
            )


def _comparison(request: ComparisonRequest, file: str, runs: Runs) -> ComparisonVerdict:
    options = request.options
    try:
        found = compare_results(runs, **options)
    except InputError as error:
        return ComparisonVerdict(request.title, file, error=str(error))
    return ComparisonVerdict(request.title, file, found)


def _write(study: Study, judgement: Judgement) -> None:
    claims = Claims(study)
    claims.forget_judged()
    claims.make()
    for verdict in judgement.comparisons:
        if verdict.comparison is not None:
            write_text(study.results / verdict.file, verdict.comparison.to_json())
    content = {
        "study": study.name,
        "gates": [
            {**asdict(verdict), "found": number_to_json(verdict.found), "limit": number_to_json(verdict.limit)}
            for verdict in judgement.gates
        ],
        "comparisons": [
            {"title": verdict.title, "file": None if verdict.error else verdict.file, "error": verdict.error}
            for verdict in judgement.comparisons
        ],
        "findings": [asdict(line) for line in judgement.findings],
        "ignore": dict(study.ignore),
    }
    write_text(study.results / SUMMARY, dumps(content))
