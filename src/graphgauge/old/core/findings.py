"""Findings: problems to know about before trusting an evaluation.

A check is a function of materials: measurements of a family (`ranks`), its results (`results`), or inputs of an audit
(`train_edges`). Its parameters name the materials that it needs, and it runs if they are available. It returns the
evidence, or None if there is no finding. Checks of a family are in its `checks.py`; the cheap ones give the findings of
an evaluation. Checks of many results are in `graphgauge.audit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from graphgauge.core.errors import OptionError
from graphgauge.old.core.family import family as family_named
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.later import read

if TYPE_CHECKING:
    import pandas

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
Evidence = Mapping[str, Any]
CheckFunction = Callable[..., Evidence | None]
# The "family" of checks that look at many results together.
RUNS = "runs"


@dataclass(frozen=True)
class Finding:
    """The outcome of a check; `where` names the run if several were checked.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> finding = ranking.evaluate([0.5] * 50, [[0.5] * 9] * 50).findings[0]
    >>> finding.check, finding.severity
    ('tied-scores', 'warning')
    >>> finding.remedy
    'Report ties="expected" or both bounds, and find out why scores collide (saturation, rounding, float16).'
    """

    check: str
    severity: Severity
    message: str
    evidence: Evidence
    remedy: str
    ignored: bool = False
    where: str = ""

    @property
    def more(self) -> str:
        """The command that shows the check's page: what goes wrong, with an example."""
        return f"graphgauge audit --explain {self.check}"

    def __str__(self) -> str:
        mark = "ignored" if self.ignored else self.severity
        where = f" {self.where}:" if self.where else ""
        return f"{mark} [{self.check}]{where} {self.message}. {self.remedy}"

    def _repr_html_(self) -> str:
        return findings_grid([self]).html()


class Found(tuple[Finding, ...]):
    """Findings as a tuple that can be read: a line each, a table in a notebook.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> found = ranking.evaluate([0.5] * 50, [[0.5] * 9] * 50).findings
    >>> [finding.check for finding in found]
    ['tied-scores', 'cutoff-above-candidates']
    >>> found.to_markdown().splitlines()[0]
    '| severity | check | what | fix |'
    """

    __slots__ = ()

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
        from graphgauge.core.extras import need

        return need("pandas", "a data frame").DataFrame([asdict(finding) for finding in self])

    def to_markdown(self) -> str:
        """The findings as a table in Markdown.

        Returns
        -------
        str
            The table.
        """
        return findings_grid(self).markdown()

    def to_latex(self) -> str:
        """The findings as a table in LaTeX, for booktabs.

        Returns
        -------
        str
            The table.
        """
        return findings_grid(self).latex()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing found"

    def __repr__(self) -> str:
        return f"<Found: {', '.join(f'{each.severity} {each.check}' for each in self) or 'nothing'}>"

    def _repr_html_(self) -> str:
        return findings_grid(self).html() if self else "<p>nothing found</p>"


def findings_grid(findings: Iterable[Finding]) -> Grid:
    """A row per finding; the column of runs only if there are several."""
    found = list(findings)
    several = any(finding.where for finding in found)
    heads = ["severity", "check", *(["run"] if several else []), "what", "fix"]
    rows = [
        [
            Cell("ignored" if each.ignored else each.severity),
            Cell(each.check),
            *([Cell(each.where)] if several else []),
            Cell(f"{each.message}."),
            Cell(each.remedy),
        ]
        for each in found
    ]
    return Grid(heads, rows)


@dataclass(frozen=True)
class Check:
    """A registered check: `message` is formatted with the evidence that `function` returns.

    Examples
    --------
    >>> from graphgauge import audit
    >>> tied = next(check for check in audit.checks() if check.name == "tied-scores")
    >>> tied.severity, tied.needs, tied.missing({})
    ('warning', ('ranks',), ('ranks',))
    """

    name: str
    family: str
    severity: Severity
    message: str
    remedy: str
    function: CheckFunction
    costly: bool = False

    @cached_property
    def needs(self) -> tuple[str, ...]:
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(each.name for each in parameters if each.default is inspect.Parameter.empty)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """All materials it can use, required and optional."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def missing(self, materials: Mapping[str, Any]) -> tuple[str, ...]:
        """The materials that the check needs and does not have.

        Parameters
        ----------
        materials
            What is available, by name.

        Returns
        -------
        tuple[str, ...]
            The names of those that are missing.
        """
        return tuple(name for name in self.needs if materials.get(name) is None)

    def run(self, materials: Mapping[str, Any]) -> Finding | None:
        """Run the check.

        Parameters
        ----------
        materials
            What is available, by name; the check takes what it uses.

        Returns
        -------
        Finding | None
            What it found, or None.
        """
        given = {name: read(materials[name]) for name in self.uses if materials.get(name) is not None}
        evidence = self.function(**given)
        if evidence is None:
            return None
        return Finding(self.name, self.severity, self.message.format(**evidence), evidence, self.remedy)


_CHECKS: dict[str, Check] = {}


def check(
    name: str,
    *,
    family: str = "",
    severity: Severity = "warning",
    message: str = "",
    remedy: str = "",
    costly: bool = False,
) -> Callable[[CheckFunction], Check]:
    """Register a check, as a decorator of its function; `run` audits an evaluation.

    Parameters
    ----------
    name
        The name that users can ignore it by.
    family
        The family whose evaluations it looks at, or `runs` for many results together.
    severity
        `error` if the number is wrong, `warning` if it misleads, `note` if it is worth knowing.
    message
        The finding, formatted with the evidence that the function returns.
    remedy
        How to fix it.
    costly
        Whether it runs on request only.

    Returns
    -------
    Callable
        The decorator, which returns a `Check`.

    Raises
    ------
    OptionError
        If it is called with anything but a name, a family, a message and a remedy.

    Examples
    --------
    >>> from graphgauge import audit
    >>> @audit.check("few-queries", family="ranking", message="{queries} queries", remedy="Evaluate more.")
    ... def few_queries(ranks):
    ...     "Intervals over few queries are wide."
    ...     return {"queries": len(ranks.equal)} if len(ranks.equal) < 100 else None
    >>> few_queries.summary
    'Intervals over few queries are wide.'
    """
    if not isinstance(name, str) or not family:
        raise OptionError(
            "check() declares a new check, by a name, a family, a message and a remedy",
            fix="To audit an evaluation or a folder of results, call graphgauge.audit.run().",
        )

    def register(function: CheckFunction) -> Check:
        if name in _CHECKS:
            raise ValueError(f"check {name!r} is registered twice")
        _CHECKS[name] = Check(name, family, severity, message, remedy, function, costly)
        return _CHECKS[name]

    return register


def _load(name: str) -> None:
    declared = family_named(name)
    if declared.has("checks"):
        declared.module("checks")


def checks(family: str) -> tuple[Check, ...]:
    """The checks of a family; those of many results (`runs`) are registered by the audit."""
    if family != RUNS:
        _load(family)
    return tuple(item for item in _CHECKS.values() if item.family == family)


def find(family: str, materials: Mapping[str, Any]) -> Found:
    """The findings of a family's cheap checks on these materials."""
    able = [item for item in checks(family) if not item.costly and not item.missing(materials)]
    found: Sequence[Finding | None] = [item.run(materials) for item in able]
    return Found(finding for finding in found if finding is not None)
