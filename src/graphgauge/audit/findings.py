"""Running checks, and what they said: what was found, what is in order, and what could not be looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, overload

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.findings import RUNS, SEVERITIES, Check, Finding, checks
from graphgauge.core.result import Evaluation
from graphgauge.core.schema import plain
from graphgauge.report.asked import asked
from graphgauge.report.collect import collect


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """What checks found, the worst first; `silent` found nothing, `not_run` lack the materials named."""

    found: tuple[Finding, ...]
    silent: tuple[str, ...] = ()
    not_run: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def at_least(self, severity: str) -> tuple[Finding, ...]:
        """Findings of this severity or worse that are not ignored."""
        least = SEVERITIES.index(one_of("severity", severity, SEVERITIES))
        return tuple(each for each in self.found if not each.ignored and SEVERITIES.index(each.severity) >= least)

    def to_dict(self) -> dict[str, Any]:
        return {
            "findings": [{**plain(asdict(finding)), "more": finding.more} for finding in self.found],
            "silent": list(self.silent),
            "not_run": {name: list(missing) for name, missing in self.not_run.items()},
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for finding in self.found:
            mark = "ignored" if finding.ignored else finding.severity
            where = f" {finding.where}:" if finding.where else ""
            yield f"{mark} [{finding.check}]{where} {finding.message}. {finding.remedy} See {finding.more}."
        if self.silent:
            yield f"nothing found by: {', '.join(self.silent)}."
        for name, missing in self.not_run.items():
            yield f"not run [{name}]: needs {' and '.join(missing)}."


def run(
    subject: Evaluation | str | Path | Iterable[Evaluation] | None = None,
    *,
    family: str | None = None,
    only: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    **materials: Any,
) -> Findings:
    """Run all checks that the materials at hand allow, the costly ones too.

    Parameters
    ----------
    subject
        An evaluation, several of them, or a folder of results. Checks of many results together run over the last two,
        and what was found when each was evaluated is repeated. Without it, `family` says whose checks look at the
        materials.
    only
        Names of the checks to run.
    ignore
        Checks whose findings are marked as ignored, besides those that the study of a folder names.
    materials
        What only an audit is given, such as `train_edges`: the parameters of the checks name them.
    """
    wanted = _wanted(only)
    if subject is None or isinstance(subject, Evaluation):
        if (subject is None) == (family is None):
            raise OptionError("audit either an evaluation or the materials of a family", fix="Pass one of the two.")
        name = family if subject is None else subject.family
        assert name is not None
        at_hand = {**({} if subject is None else subject.materials), **materials}
        outcome = _outcome([each for each in checks(name) if wanted(each)], at_hand)
    else:
        outcome = _many(_evaluations(subject), wanted, materials)
    return _sorted(outcome, {*ignore, *_ignored_by_study(subject)})


def _wanted(only: Sequence[str] | None) -> Callable[[Check], bool]:
    if only is None:
        return lambda item: True
    names = [one_of("check", name, [item.name for item in checks()]) for name in only]
    return lambda item: item.name in names


def _outcome(chosen: Sequence[Check], materials: Mapping[str, Any]) -> Findings:
    lacking = {item.name: item.missing(materials) for item in chosen}
    able = [item for item in chosen if not lacking[item.name]]
    found = {item.name: item.run(materials) for item in able}
    return Findings(
        tuple(finding for finding in found.values() if finding is not None),
        tuple(name for name, finding in found.items() if finding is None),
        {name: missing for name, missing in lacking.items() if missing},
    )


def _many(evaluations: Sequence[Evaluation], wanted: Callable[[Check], bool], materials: Mapping[str, Any]) -> Findings:
    chosen = [item for item in checks(RUNS) if wanted(item)]
    together = _outcome(chosen, {"evaluations": evaluations, **materials})
    names = {item.name for item in checks() if wanted(item)}
    stored = (
        replace(finding, where=_named(evaluation))
        for evaluation in evaluations
        for finding in evaluation.findings
        if finding.check in names
    )
    return replace(together, found=(*together.found, *stored))


def _evaluations(subject: str | Path | Iterable[Evaluation]) -> list[Evaluation]:
    if not isinstance(subject, str | Path):
        return list(subject)
    return [record.evaluation for record in collect(subject).records if record.evaluation is not None]


def _named(evaluation: Evaluation) -> str:
    run = evaluation.run
    seed = "" if run["seed"] is None else f", seed {run['seed']}"
    return f"{run['method'] or evaluation.family} on {run['dataset'] or 'unnamed data'}{seed}"


def _ignored_by_study(subject: Any) -> Collection[str]:
    """What the study that wrote a folder of results says to ignore."""
    return asked([Path(subject)]).ignored if isinstance(subject, str | Path) else ()


def _sorted(outcome: Findings, ignore: Collection[str]) -> Findings:
    for name in ignore:
        one_of("check", name, [item.name for item in checks()])
    marked = (replace(finding, ignored=finding.ignored or finding.check in ignore) for finding in outcome.found)
    worst = sorted(marked, key=lambda finding: (finding.ignored, -SEVERITIES.index(finding.severity)))
    return replace(outcome, found=tuple(worst))
