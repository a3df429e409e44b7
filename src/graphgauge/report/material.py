"""What a page is made from: the results below some folders, and what studies have written beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphgauge.core.content import GatesFile, ResultFile
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import family_names
from graphgauge.core.files import is_result, opened, result_files
from graphgauge.core.finding import Finding
from graphgauge.core.gate import GateOutcome
from graphgauge.core.sealed import decode
from graphgauge.stats.outcome import Comparison
from graphgauge.study.model import GATES, SUMMARY, StudyFile


@dataclass
class Material:
    """Results by file, what could not be read, and the outcomes of studies; nothing in it is trusted.

    `comparisons` are those of studies by title, or why there is none.
    """

    runs: list[tuple[Path, Evaluation]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    studies: list[StudyFile] = field(default_factory=list)
    gates: list[GateOutcome] = field(default_factory=list)
    comparisons: list[tuple[str, Comparison | str]] = field(default_factory=list)

    @property
    def evaluations(self) -> list[Evaluation]:
        return [each for _, each in self.runs]

    @property
    def findings(self) -> list[Finding]:
        """What studies found in many results together."""
        return [each for study in self.studies for each in study.findings]


def gathered(places: Iterable[str | Path]) -> Material:
    """Everything in these folders and files."""
    material = Material()
    for place in map(Path, places):
        if not place.exists():
            raise InputError("no such file or folder", where=str(place))
        for path in result_files(place) if place.is_dir() else [place]:
            _take(material, path, path.relative_to(place).as_posix() if place.is_dir() else path.name)
    if not material.runs and not material.failed:
        fix = "`graphgauge run` and --output write them."
        raise InputError("contains no results", where=", ".join(map(str, places)), fix=fix)
    material.runs.sort(key=lambda run: _order(run[1]))
    return material


def _order(evaluation: Evaluation) -> tuple[int, str, str, str, str]:
    """Families in their order, then by name."""
    names, run = family_names(), evaluation.run
    place = names.index(evaluation.family) if evaluation.family in names else len(names)
    return place, evaluation.family, str(run.dataset), str(run.method), f"{run.seed!s:>12}"


def _take(material: Material, path: Path, name: str) -> None:
    """Put one file where it belongs; what cannot be read is named on the page."""
    try:
        fields = read_json(path)
        if is_result(fields):
            content = decode(fields, ResultFile, name)
            if content.status == "failed":
                material.failed.append((name, str(content.error)))
            else:
                material.runs.append((path, opened(content, path, items=False)))
        elif path.name == GATES and _is(fields, "graphgauge/gates/"):
            material.gates += decode(fields, GatesFile, name).gates
        elif path.name == SUMMARY and _is(fields, "graphgauge/study/"):
            study = decode(fields, StudyFile, name)
            material.studies.append(study)
            for each in study.comparisons:
                material.comparisons.append((each.title, each.error or _comparison(path.parent, str(each.file))))
    except InputError as error:
        material.failed.append((name, error.what))


def _is(fields: Any, schema: str) -> bool:
    return isinstance(fields, dict) and str(fields.get("schema")).startswith(schema)


def _comparison(folder: Path, name: str) -> Comparison | str:
    """A comparison, or why it cannot be read."""
    if ".." in Path(name).parts or Path(name).is_absolute():
        return "its file is elsewhere"
    try:
        return Comparison.load(folder / name)
    except InputError as error:
        return error.what
