"""Findings as lines of text: of each evaluation, and of all of them together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.findings import RUNS, SEVERITIES, Finding, find
from graphgauge.old.stats.text import listing, several


@dataclass(frozen=True)
class FindingLine:
    severity: str
    check: str
    message: str
    remedy: str
    where: str


def finding_lines(evaluations: Sequence[Evaluation], ignored: Collection[str] = ()) -> list[FindingLine]:
    """Each once, most severe first, with the runs it was found in; without ignored ones."""
    found: dict[tuple[Any, ...], list[tuple[Finding, Evaluation]]] = defaultdict(list)
    for evaluation in evaluations:
        for finding in evaluation.findings:
            if not finding.ignored:
                found[finding.severity, finding.check, evaluation.family].append((finding, evaluation))
    lines = [_line(family, places) for (_, _, family), places in found.items()]
    together = f"{several(len(evaluations), 'result')} together"
    for finding in find(RUNS, {"evaluations": evaluations}) if evaluations else ():
        if finding.check not in ignored:
            lines.append(FindingLine(finding.severity, finding.check, finding.message, finding.remedy, together))
    return sorted(lines, key=lambda line: (*SEVERITIES[::-1], line.severity).index(line.severity))


def _line(family: str, places: Sequence[tuple[Finding, Evaluation]]) -> FindingLine:
    methods = dict.fromkeys(str(evaluation.run["method"]) for _, evaluation in places)
    first, evaluation = places[0]
    run = evaluation.run
    seed = "" if run["seed"] is None else f", seed {run['seed']}"
    example = f"; the first: {run['method']} on {run['dataset']}{seed}" if len(places) > 1 else ""
    where = f"{family}, {several(len(places), 'run')} of {listing(list(methods), 3)}{example}"
    return FindingLine(str(first.severity), str(first.check), str(first.message), str(first.remedy), where)
