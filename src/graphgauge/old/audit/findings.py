"""Run checks and collect their findings, the checks that found nothing, and those that could not run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.audit.outcome import ignored_in
from graphgauge.old.audit.runs import checks
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family_names
from graphgauge.old.core.findings import RUNS, SEVERITIES, Check, Finding, Found, findings_grid
from graphgauge.old.core.grids import Grid
from graphgauge.old.core.schema import plain
from graphgauge.old.stats.collect import collect

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """Findings, most severe first; checks in `silent` found nothing, those in `not_run` lack the named materials.

    `claimed` are checks that the results or their study ignore, which the caller has not accepted. `unreadable` are
    results that could not be audited, with the reason.

    Examples
    --------
    >>> from graphgauge import audit, ranking
    >>> found = audit.run(ranking.evaluate([0.5] * 50, [[0.5] * 9] * 50))
    >>> [finding.check for finding in found.at_least("warning")]
    ['tied-scores', 'cutoff-above-candidates']
    >>> found.not_run["seen-in-training"]
    ('test_edges', 'train_edges')
    """

    found: tuple[Finding, ...]
    silent: tuple[str, ...] = ()
    not_run: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claimed: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def at_least(self, severity: str) -> tuple[Finding, ...]:
        """Findings of this severity or worse that are not ignored.

        Parameters
        ----------
        severity
            `note`, `warning` or `error`.

        Returns
        -------
        tuple[Finding, ...]
            The findings, most severe first.

        Raises
        ------
        OptionError
            If there is no such severity.
        """
        least = SEVERITIES.index(one_of("severity", severity, SEVERITIES))
        return tuple(each for each in self.found if not each.ignored and SEVERITIES.index(each.severity) >= least)

    def to_dict(self) -> dict[str, Any]:
        """Findings, silent checks and checks that did not run, as in the JSON of `graphgauge audit`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        return {
            "findings": [{**plain(asdict(finding)), "more": finding.more} for finding in self.found],
            "silent": list(self.silent),
            "not_run": {name: list(missing) for name, missing in self.not_run.items()},
            "claimed": list(self.claimed),
            "unreadable": list(self.unreadable),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_frame(self) -> pandas.DataFrame:
        """One row per finding.

        Returns
        -------
        pandas.DataFrame
            A data frame with one row per finding.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return Found(self.found).to_frame()

    def to_markdown(self) -> str:
        """A table of the findings in Markdown.

        Returns
        -------
        str
            The table.
        """
        return self._grid().markdown()

    def to_latex(self) -> str:
        """A table of the findings in LaTeX, for booktabs.

        Returns
        -------
        str
            The table.
        """
        return self._grid().latex()

    def _grid(self) -> Grid:
        return replace(findings_grid(self.found), notes=tuple(self._quiet_lines()))

    def _repr_html_(self) -> str:
        return self._grid().html()

    def __repr__(self) -> str:
        return f"<Findings: {', '.join(each.check for each in self.found) or 'none'}>"

    def _lines(self) -> Iterator[str]:
        yield from (f"{finding} More: {finding.more}" for finding in self.found)
        yield from self._quiet_lines()

    def _quiet_lines(self) -> Iterator[str]:
        if self.silent:
            yield f"nothing found by: {', '.join(self.silent)}."
        for name, missing in self.not_run.items():
            yield f"not run [{name}]: needs {' and '.join(missing)}."
        if self.claimed:
            yield f"the results or their study ignore {', '.join(self.claimed)}; these are counted unless accepted."
        for text in self.unreadable:
            yield f"not audited: {text}"


def run(
    subject: Evaluation | str | Path | Iterable[Evaluation] | None = None,
    *,
    family: str | None = None,
    only: Collection[str] | None = None,
    ignore: Collection[str] = (),
    accept_ignored: bool = False,
    **materials: Any,
) -> Findings:
    """Run all checks that the given materials allow, including costly ones.

    Parameters
    ----------
    subject
        An evaluation, several of them, or a folder of results. Checks of many results together run over the last two,
        and the findings of each evaluation are repeated.
    family
        Instead of a subject: the family whose checks look at the materials.
    only
        Names of the checks to run.
    ignore
        Checks whose findings are marked as ignored.
    accept_ignored
        Whether findings are also ignored that a folder's results or study mark so: the folder may be somebody else's.
    materials
        Inputs that only an audit takes, such as `train_edges`; they are named after the parameters of the checks.

    Returns
    -------
    Findings
        What the checks found, most severe first, and which found nothing or could not run.

    Raises
    ------
    OptionError
        If neither or both of `subject` and `family` are given, or if a name is unknown.

    Examples
    --------
    >>> from graphgauge import audit, ranking
    >>> ev = ranking.evaluate([0.5] * 50, [[0.5] * 9] * 50)
    >>> [finding.check for finding in audit.run(ev)]
    ['tied-scores', 'cutoff-above-candidates']
    """
    wanted = {item.name for item in checks()} if only is None else _names(only)
    stored = isinstance(subject, str | Path)
    by_study = _ignored_by_study(subject)
    ignored = _names(ignore) | (_names(by_study) if accept_ignored else set())
    if (subject is None) == (family is None):
        raise OptionError("audit either evaluations or the materials of a family", fix="Pass one of the two.")
    if subject is None or isinstance(subject, Evaluation):
        known = checks(one_of("family", str(family), (*family_names(), RUNS)) if subject is None else subject.family)
        for name in materials:
            one_of("material", name, dict.fromkeys(used for item in known for used in item.uses))
        at_hand = {**({} if subject is None else subject.materials), **materials}
        outcome = _outcome([item for item in known if item.name in wanted], at_hand)
    elif materials:
        raise OptionError(
            f"{', '.join(materials)} cannot be combined with several results", fix="Audit them one by one."
        )
    else:
        evaluations, unreadable = _evaluations(subject)
        outcome = replace(_many(evaluations, wanted), unreadable=tuple(unreadable))
    if stored and not accept_ignored:
        marked = {finding.check for finding in outcome.found if finding.ignored or finding.check in by_study}
        outcome = replace(
            outcome,
            found=tuple(replace(finding, ignored=False) for finding in outcome.found),
            claimed=tuple(sorted(marked - ignored)),
        )
    return _sorted(outcome, ignored)


def _names(given: Collection[str]) -> set[str]:
    known = [item.name for item in checks()]
    return {one_of("check", name, known) for name in ([given] if isinstance(given, str) else given)}


def _outcome(chosen: Sequence[Check], materials: Mapping[str, Any]) -> Findings:
    lacking = {item.name: item.missing(materials) for item in chosen}
    able = [item for item in chosen if not lacking[item.name]]
    found = {item.name: item.run(materials) for item in able}
    return Findings(
        tuple(finding for finding in found.values() if finding is not None),
        tuple(name for name, finding in found.items() if finding is None),
        {name: missing for name, missing in lacking.items() if missing},
    )


def _many(evaluations: Sequence[Evaluation], wanted: Collection[str]) -> Findings:
    together = _outcome([item for item in checks(RUNS) if item.name in wanted], {"evaluations": evaluations})
    stored = (
        replace(finding, where=_named(evaluation))
        for evaluation in evaluations
        for finding in evaluation.findings
        if finding.check in wanted
    )
    return replace(together, found=(*together.found, *stored))


def _evaluations(subject: str | Path | Iterable[Evaluation]) -> tuple[list[Evaluation], Sequence[str]]:
    """The evaluations, and the results of a folder that cannot be read."""
    if not isinstance(subject, str | Path):
        found = list(subject) if isinstance(subject, Iterable) else [subject]
        for each in found:
            if not isinstance(each, Evaluation):
                raise InputError(
                    f"found {type(each).__name__}",
                    where="subject",
                    fix="Pass an evaluation, several of them, or a folder of results.",
                )
        return found, ()
    collected = collect(subject)
    return [record.evaluation for record in collected.records if record.evaluation is not None], collected.unreadable


def _named(evaluation: Evaluation) -> str:
    run = evaluation.run
    seed = "" if run["seed"] is None else f", seed {run['seed']}"
    return f"{run['method'] or evaluation.family} on {run['dataset'] or 'unnamed data'}{seed}"


def _ignored_by_study(subject: Any) -> Collection[str]:
    """The checks that the study of a results folder ignores."""
    return ignored_in(Path(subject)) if isinstance(subject, str | Path) else ()


def _sorted(outcome: Findings, ignore: Collection[str]) -> Findings:
    marked = (replace(finding, ignored=finding.ignored or finding.check in ignore) for finding in outcome.found)
    worst = sorted(marked, key=lambda finding: (finding.ignored, -SEVERITIES.index(finding.severity)))
    return replace(outcome, found=tuple(worst))
