"""What result files, `graphgauge/result/3`, and files of gates contain; evaluations to and from it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct

from graphgauge._version import __version__
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.finding import Finding
from graphgauge.core.gate import GateOutcome
from graphgauge.core.grid import Grid
from graphgauge.core.result import Result

if TYPE_CHECKING:
    from graphgauge.core.items import Items


class SideFile(Struct, frozen=True):
    """A file next to a result that belongs to it."""

    role: Literal["breakdown", "items"]
    name: str
    hash: str
    rows: int
    axis: str | None = None


class ResultFile(Struct, kw_only=True):
    """The content of a result file; one that failed has an error and no results.

    `receipt` says what it was computed from: the request, inputs with their hashes, versions, time.
    """

    schema: Literal["graphgauge/result/3"] = "graphgauge/result/3"
    root: str = ""
    family: str
    status: Literal["ok", "failed"] = "ok"
    run: Run = Run()
    error: str | None = None
    conventions: dict[str, str] = {}
    options: dict[str, Any] = {}
    results: list[Result] = []
    breakdowns: dict[str, dict[str, list[Any]]] = {}
    drawings: dict[str, dict[str, list[Any]]] = {}
    skipped: dict[str, str] = {}
    findings: list[Finding] = []
    gates: list[GateOutcome] = []
    side_files: list[SideFile] = []
    receipt: dict[str, Any] = {}


class GatesFile(Struct, kw_only=True):
    """Outcomes of gates."""

    schema: Literal["graphgauge/gates/3"] = "graphgauge/gates/3"
    root: str = ""
    gates: list[GateOutcome]
    receipt: dict[str, Any] = {}


def content_of(evaluation: Evaluation, sides: Iterable[SideFile] = ()) -> ResultFile:
    """The content of an evaluation's result file; breakdowns in `sides` are left out."""
    aside = {each.axis for each in sides}
    return ResultFile(
        family=evaluation.family,
        run=evaluation.run,
        conventions=evaluation.conventions,
        options=evaluation.options,
        results=list(evaluation.values()),
        breakdowns={axis: grid.to_columns() for axis, grid in evaluation.breakdowns.items() if axis not in aside},
        drawings={name: grid.to_columns() for name, grid in evaluation.drawings.items()},
        skipped=evaluation.skipped,
        findings=list(evaluation.findings),
        gates=list(evaluation.gates),
        side_files=list(sides),
        receipt={"versions": versions(), **evaluation.receipt},
    )


def evaluation_of(content: ResultFile, breakdowns: Mapping[str, Grid], per_item: Items | None = None) -> Evaluation:
    """The evaluation in the content of a result file; `breakdowns` and `per_item` are those in files next to it."""
    keys = [each.key for each in content.results]
    if len(set(keys)) < len(keys):
        raise InputError("a metric occurs more than once", fix="Evaluate again.")
    evaluation = Evaluation(
        content.family,
        content.results,
        conventions=content.conventions,
        options=content.options,
        breakdowns={**_grids(content.breakdowns), **breakdowns},
        skipped=content.skipped,
        run=content.run,
        per_item=per_item,
        findings=content.findings,
        drawings=_grids(content.drawings),
    )
    evaluation.gates, evaluation.receipt = tuple(content.gates), content.receipt
    return evaluation


def _grids(tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, Grid]:
    return {name: Grid.from_columns(columns) for name, columns in tables.items()}


def versions() -> dict[str, str]:
    """The versions of what computed the numbers."""
    import scipy

    return {
        "graphgauge": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
