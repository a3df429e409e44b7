"""All checks: listed, explained, and run over one evaluation, or over all results in a folder."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import graphgauge.audit.runs  # noqa: F401, for the checks that it declares
from graphgauge.core.content import ResultFile
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import usable_names
from graphgauge.core.files import is_result, load, may_be_result, opened, result_files
from graphgauge.core.finding import RUNS, SEVERITIES, Check, Finding, Findings
from graphgauge.core.finding import checks as declared
from graphgauge.core.sealed import decode

# In a wheel the pages of checks are next to this module; in a checkout they are in the docs.
_PAGES = (Path(__file__).with_name("markdown"), Path(__file__).parents[3] / "docs" / "audit")


def checks(family: str | None = None) -> tuple[Check, ...]:
    """All checks, or those of one family.

    Parameters
    ----------
    family
        A family, or `runs` for the checks of many results together.

    Returns
    -------
    tuple of Check
        In the order in which they are declared.

    Examples
    --------
    >>> from graphgauge import audit
    >>> [check.name for check in audit.checks("runs")][:2]
    ['few-seeds', 'unpaired-seeds']
    """
    names = (*usable_names(), RUNS) if family is None else (one_of("family", family, (*usable_names(), RUNS)),)
    return tuple(each for name in names for each in declared(name))


def explain(name: str) -> str:
    """The page of a check as Markdown.

    Parameters
    ----------
    name
        The name of a check, as findings give it.

    Returns
    -------
    str
        What goes wrong, an example, and how to fix it.

    Examples
    --------
    >>> from graphgauge.audit import explain
    >>> explain("few-seeds").splitlines()[0]
    '# `few-seeds`'
    """
    known = {each.name: each for each in checks()}
    check = known[one_of("check", name, known)]
    for folder in _PAGES:
        if (folder / f"{name}.md").is_file():
            return (folder / f"{name}.md").read_text(encoding="utf-8")
    return f"# `{check.name}`\n\n{inspect.getdoc(check.function) or ''}\n\n**Fix.** {check.remedy}\n"


def run(
    subject: Evaluation | str | Path | Iterable[Evaluation],
    *,
    only: Collection[str] | None = None,
    ignore: Collection[str] = (),
    **materials: Any,
) -> Findings:
    """What checks find, the worst first.

    Parameters
    ----------
    subject
        An evaluation, several of them, a result file or a folder of results.
    only
        Names of the checks to run.
    ignore
        Checks whose findings are marked as ignored.
    materials
        For one evaluation: what only an audit knows, such as `train_edges`, named as the parameters of the checks.

    Returns
    -------
    Findings
        Those of each evaluation, and of all of them together.

    Raises
    ------
    OptionError
        If a name is unknown, or materials are given for several evaluations.

    Examples
    --------
    >>> from graphgauge import Evaluation, audit
    >>> len(audit.run(Evaluation("ranking", [])))
    0
    """
    known = [each.name for each in checks()]
    wanted = None if only is None else {one_of("check", each, known) for each in only}
    ignored = {one_of("check", each, known) for each in ignore}
    if isinstance(subject, Evaluation):
        found = list(_of_one(subject, materials))
    else:
        if materials:
            raise OptionError(
                f"{', '.join(materials)} cannot be combined with several results", fix="Audit one by one."
            )
        unread: dict[str, str] = {}
        if isinstance(subject, str | Path):
            evaluations, unread = read_all(subject)
        else:
            evaluations = list(subject)
        found = [*_over({"evaluations": evaluations, "unread": unread}), *together(evaluations)]
    marked = (replace(each, ignored=each.check in ignored) for each in found if wanted is None or each.check in wanted)
    return Findings(sorted(marked, key=_severity))


def over_runs(evaluations: Iterable[Evaluation]) -> Findings:
    """What checks of many results find in them together.

    Parameters
    ----------
    evaluations
        The results of several runs.

    Returns
    -------
    Findings
        The worst first.

    Examples
    --------
    >>> from graphgauge import audit
    >>> len(audit.over_runs([]))
    0
    """
    return Findings(sorted(_over({"evaluations": list(evaluations)}), key=_severity))


def _over(materials: Mapping[str, Any]) -> Iterator[Finding]:
    """What the checks of many results find in those materials that there are."""
    for each in checks(RUNS):
        found = each.run(materials) if all(materials.get(name) for name in each.needs) else None
        if found is not None:
            yield found


def read_all(path: str | Path) -> tuple[list[Evaluation], dict[str, str]]:
    """The evaluations in a result file, or those of a folder that have not failed; and why other files are not read."""
    place = Path(path)
    if not place.exists():
        raise InputError("no such file or folder", where=str(path))
    if not place.is_dir():
        return [load(place, items=False)], {}
    found: list[Evaluation] = []
    unread: dict[str, str] = {}
    for file in result_files(place):
        try:
            fields = read_json(file)
            content = decode(fields, ResultFile, file.name) if is_result(fields) else None
            if content is not None and content.status == "ok":
                found.append(opened(content, file, items=False))
        except InputError as error:
            if may_be_result(file):
                unread[file.relative_to(place).as_posix()] = error.what
    if not found and not unread:
        raise InputError("contains no results", where=str(path), fix="`graphgauge run` and --output write them.")
    return found, unread


def _of_one(evaluation: Evaluation, materials: dict[str, Any]) -> Iterator[Finding]:
    """The findings of an evaluation, and of the checks that the materials allow."""
    own = [each for each in checks(evaluation.family) if each.family != RUNS]
    for name in materials:
        one_of("material", name, dict.fromkeys(used for each in own for used in each.uses))
    stored = {each.check: each for each in evaluation.findings}
    yield from stored.values()
    at_hand = {**evaluation.materials, **materials}
    for each in own:
        if materials and each.name not in stored and all(at_hand.get(name) is not None for name in each.needs):
            found = each.run(at_hand)
            if found is not None:
                yield found


def together(evaluations: Iterable[Evaluation]) -> list[Finding]:
    """The findings of several evaluations, each once per check, with where it was found."""
    places: dict[str, list[tuple[Finding, Evaluation]]] = {}
    for evaluation in evaluations:
        for each in evaluation.findings:
            places.setdefault(each.check, []).append((each, evaluation))
    return [_once(found) for found in places.values()]


def _once(found: list[tuple[Finding, Evaluation]]) -> Finding:
    """The worst of the findings of one check; ignored if all are."""
    first, evaluation = min(found, key=lambda pair: _severity(pair[0]))
    where = named(evaluation)
    if len(found) > 1:
        where = f"{len(found)} runs of {evaluation.family}; the first, {where}"
    return replace(first, where=where)


def named(evaluation: Evaluation) -> str:
    """Whose results they are, in words."""
    run = evaluation.run
    seed = "" if run.seed is None else f", seed {run.seed}"
    return f"{run.method or evaluation.family} on {run.dataset or 'unnamed data'}{seed}"


def _severity(finding: Finding) -> tuple[bool, int]:
    return finding.ignored, -SEVERITIES.index(finding.severity)
