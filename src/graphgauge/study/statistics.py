"""What studies and reports ask of statistics: comparisons, tests against a baseline, names of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from graphgauge.core.errors import UnknownNameError
from graphgauge.core.gate import GateOutcome
from graphgauge.stats.comparison import compare
from graphgauge.stats.outcome import Comparison
from graphgauge.stats.reading import read_runs
from graphgauge.stats.regression import gate as test
from graphgauge.study.model import Baseline, CompareTable


def comparison(table: CompareTable, paths: Sequence[Path]) -> Comparison:
    """The comparison that a table asks for, over these result files."""
    names = ("metric", "baseline", "over", "design", "datasets", "test", "margin", "missing", "truths", "confidence")
    return compare(list(paths), **{name: getattr(table, name) for name in names})


def regression(gate: Baseline, new: Sequence[Path], against: Path, name: str, method: str, dataset: str) -> GateOutcome:
    """Whether results are no worse than those of a baseline: its own of this method, or of its only one.

    What is undecided fails, unless the gate lets it pass.
    """
    old = read_runs(against).only(family=name)
    old = old.only(dataset=[dataset]) if dataset in old.datasets or len(old.datasets) > 1 else old
    old = old.only(method=[method]) if method in old.methods else old
    sources = [run.source for run in old]
    found = test(list(new), sources, metric=gate.metric, margin=gate.margin, over=gate.over, confidence=gate.confidence)
    outcome = replace(found.outcome, gate=gate.text)
    may_pass = outcome.verdict == "undecided" and gate.undecided == "pass"
    return replace(outcome, verdict="passed") if may_pass else outcome


def unknown_metric(key: str, name: str) -> UnknownNameError | None:
    """Why a metric cannot be one of a family's results, if so."""
    from graphgauge.core.registry import find

    try:
        find(key.partition("[")[0], name)
    except UnknownNameError as error:
        return error
    return None


def written_by(name: str, door: str) -> set[str]:
    """The fields of a door that name files to write: a study sets these itself."""
    from graphgauge.core.door import Option, door_of

    fields = door_of(name, door).fields.values()
    return {each.name for each in fields if isinstance(each, Option) and each.is_output}
