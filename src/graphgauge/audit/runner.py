"""Run checks: over one evaluation with what else is known of it, or over all results in a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from graphgauge.audit import runs as over_many
from graphgauge.audit.pages import checks
from graphgauge.core.content import ResultFile
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.files import is_result, opened, result_files
from graphgauge.core.finding import RUNS, SEVERITIES, Finding, Findings
from graphgauge.core.sealed import decode
from graphgauge.stats.reading import is_evaluation


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
    if is_evaluation(subject):
        found = list(_of_one(_as_new(subject), materials))
    else:
        if materials:
            raise OptionError(
                f"{', '.join(materials)} cannot be combined with several results", fix="Audit one by one."
            )
        evaluations = read_all(subject) if isinstance(subject, str | Path) else [_as_new(each) for each in subject]
        found = [*over_runs(evaluations), *together(evaluations)]
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
    materials = {"evaluations": [_as_new(each) for each in evaluations]}
    if not materials["evaluations"]:
        return Findings()
    found = (each.run(materials) for each in over_many.CHECKS)
    return Findings(sorted((each for each in found if each is not None), key=_severity))


def _as_new(evaluation: Any) -> Evaluation:
    """An evaluation, also of a family that is not rebuilt, with what its checks look at."""
    if isinstance(evaluation, Evaluation):
        return evaluation
    from graphgauge.old.bridge import new_evaluation

    made = new_evaluation(evaluation)
    made._materials = {name: each for name, each in evaluation.materials.items() if name != "results"}
    return made


def read_all(path: str | Path) -> list[Evaluation]:
    """The evaluations in a result file, or in those of a folder that have not failed."""
    place = Path(path)
    if not place.exists():
        raise InputError("no such file or folder", where=str(path))
    files = result_files(place) if place.is_dir() else [place]
    read = {file: read_json(file) for file in files}
    found = {file: decode(each, ResultFile, str(file)) for file, each in read.items() if is_result(each)}
    if not found:
        raise InputError("contains no results", where=str(path), fix="`graphgauge run` and --output write them.")
    return [opened(each, file, items=False) for file, each in found.items() if each.status == "ok"]


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
        families = ", ".join(dict.fromkeys(each.family for _, each in found))
        where = f"{len(found)} runs of {families}; the first, {where}"
    return replace(first, where=where)


def named(evaluation: Evaluation) -> str:
    """Whose results they are, in words."""
    run = evaluation.run
    seed = "" if run.seed is None else f", seed {run.seed}"
    return f"{run.method or evaluation.family} on {run.dataset or 'unnamed data'}{seed}"


def _severity(finding: Finding) -> tuple[bool, int]:
    return finding.ignored, -SEVERITIES.index(finding.severity)
