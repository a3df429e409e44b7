"""Result files, `graphgauge/result/3`: what they contain, and evaluations to and from them."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from graphgauge._version import __version__
from graphgauge.core.disk import dump_json, read_bytes, read_json, write_text
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.finding import Finding
from graphgauge.core.gate import GateOutcome
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.number import from_file, plain
from graphgauge.core.result import Result
from graphgauge.core.sealed import encode, read

# Tables with more rows than this are in a file of their own.
INLINE_ROWS = 1000


class SideFile(Struct, frozen=True):
    """A file next to a result that belongs to it."""

    role: Literal["breakdown", "items", "kept"]
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


def save(evaluation: Evaluation, path: str | Path) -> Path:
    """Write the result file of a run: to a .json file, or into a folder under the names of the run."""
    target = Path(path)
    if target.suffix.lower() != ".json" or target.is_dir():
        if target.suffix and not target.is_dir():
            what = f"result files are JSON, and {target.name!r:.60} ends in {target.suffix}"
            raise OptionError(what, fix="Name a .json file or a folder; to_frame() and plot() have other formats.")
        target = result_path(target, evaluation.family, evaluation.run)
    sides = []
    for axis, grid in evaluation.breakdowns.items():
        if len(grid) > INLINE_ROWS:
            side = target.with_suffix(f".{file_part(axis)}.json")
            write_text(side, dump_json(_columns(grid)))
            sides.append(_side_file("breakdown", side, len(grid), axis))
    if evaluation.per_item is not None:
        side = target.with_suffix(".items.npz")
        evaluation.per_item.save(side)
        sides.append(_side_file("items", side, len(evaluation.per_item)))
    write_text(target, encode(content_of(evaluation, sides)))
    return target


def content_of(evaluation: Evaluation, sides: Iterable[SideFile] = ()) -> ResultFile:
    """The content of an evaluation's result file; breakdowns in `sides` are left out."""
    aside = {each.axis for each in sides}
    return ResultFile(
        family=evaluation.family,
        run=evaluation.run,
        conventions=evaluation.conventions,
        options=evaluation.options,
        results=list(evaluation.values()),
        breakdowns={axis: _columns(grid) for axis, grid in evaluation.breakdowns.items() if axis not in aside},
        drawings={name: _columns(grid) for name, grid in evaluation.drawings.items()},
        skipped=evaluation.skipped,
        findings=list(evaluation.findings),
        gates=list(evaluation.gates),
        side_files=list(sides),
        receipt={"versions": versions(), **evaluation.receipt},
    )


def load(path: str | Path, *, items: bool = True) -> Evaluation:
    """Read a result file, with the breakdowns and (if `items`) the values of single items in files next to it."""
    content = read(path, ResultFile)
    if content.status == "failed":
        raise InputError(f"the run failed: {content.error}", where=str(path), fix="Run it again.")
    return evaluation_of(content, Path(path), items=items)


def evaluation_of(content: ResultFile, path: Path, *, items: bool = True) -> Evaluation:
    """The evaluation in the content of a result file at this path."""
    keys = [each.key for each in content.results]
    if len(set(keys)) < len(keys):
        raise InputError("a metric occurs more than once", where=str(path), fix="Evaluate again.")
    breakdowns = {axis: _grid(axis, columns, path) for axis, columns in content.breakdowns.items()}
    per_item = None
    for side in content.side_files:
        place = path.with_name(Path(side.name).name)
        if side.role == "breakdown" and side.axis is not None:
            breakdowns[side.axis] = _grid(side.axis, parse_side(place, side), place)
        elif side.role == "items" and items:
            parse_side(place, side)
            per_item = Items.load(place)
    evaluation = Evaluation(
        content.family,
        content.results,
        conventions=content.conventions,
        options=content.options,
        breakdowns=breakdowns,
        skipped=content.skipped,
        run=content.run,
        per_item=per_item,
        findings=content.findings,
        drawings={name: _grid(name, columns, path) for name, columns in content.drawings.items()},
    )
    evaluation.gates, evaluation.receipt = tuple(content.gates), content.receipt
    return evaluation


def parse_side(place: Path, side: SideFile) -> Any:
    """The columns in a side file of a breakdown; any side file has to be the one that was written with its result."""
    content = read_bytes(place)
    if hashlib.sha256(content).hexdigest() != side.hash:
        raise InputError("has changed since its result was written", where=str(place), fix="Evaluate again.")
    return read_json(place) if side.role == "breakdown" else None


def result_path(root: str | Path, family: str, run: Run) -> Path:
    """`ROOT/method/family/metrics_dataset_seed.json`, with every part made safe as a file name."""
    method, dataset, seed = (file_part(each) for each in (run.method, run.dataset, run.seed))
    return Path(root) / method / family / f"metrics_{dataset}_{seed}.json"


def file_part(value: Any) -> str:
    """A name as one component of a path; unsafe characters are replaced, and a hash is appended."""
    text = "none" if value is None else str(value)
    # File systems count bytes; a character cut in half is dropped.
    head = text[:80].encode("utf-8", "replace")[:80].decode(errors="ignore").lstrip(".")
    safe = "".join(character if character.isalnum() or character in "-_.+=" else "-" for character in head)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe if safe and safe == text else f"{safe}~{digest}"


def result_files(folder: Path) -> list[Path]:
    """Every JSON file in a folder that may be a result; hidden files and linked folders are left out."""
    files: list[Path] = []
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):  # a method's folder may end in .json
                    folders.append(entry.path)
                elif entry.name.endswith(".json") and Path(entry.path).is_file():
                    files.append(Path(entry.path))
    return sorted(files)


def is_result(fields: Any) -> bool:
    """Whether JSON is a result file, of this or another edition."""
    return isinstance(fields, dict) and str(fields.get("schema")).startswith("graphgauge/result/")


def versions() -> dict[str, str]:
    """The versions of what computed the numbers."""
    import scipy

    return {
        "graphgauge": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _columns(grid: Grid) -> dict[str, list[Any]]:
    return {name: plain(values) for name, values in grid.columns.items()}


def _grid(name: str, columns: Any, path: Path) -> Grid:
    try:
        return Grid({head: _column(values, head == name) for head, values in columns.items()})
    except (InputError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"the table {name!r} is not valid: {error}", where=str(path), fix="Evaluate again.") from None


def _column(values: list[Any], names_rows: bool) -> np.ndarray[Any, Any]:
    """Numbers, where null is NaN; or texts, above all in the column that names the rows."""
    texts = [each for each in values if isinstance(each, str)]
    if texts and (names_rows or any(each not in ("inf", "-inf") for each in texts)):
        return column(values)
    if any(each is None or isinstance(each, str) for each in values):
        return np.array([from_file(each) for each in values], dtype=np.float64)
    return column(values) if values else np.empty(0)


def _side_file(role: Literal["breakdown", "items"], path: Path, rows: int, axis: str | None = None) -> SideFile:
    return SideFile(role, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), rows, axis)
