"""Runs from result files, flat JSON, tables and frames."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.family import family_names
from graphgauge.core.files import read_json
from graphgauge.core.result import Direction, Evaluation, Result
from graphgauge.core.schema import (
    checked_content,
    evaluation_from_dict,
    is_result,
    number_from_json,
    result_files,
    side_files,
    side_path,
    unchecked,
)
from graphgauge.core.truths import truths_of
from graphgauge.io.tables import read_records
from graphgauge.stats.runs import Run, Runs, Score, Seed, SideFile

# `metrics_{dataset}_{seed}.json`; the seed follows the last underscore.
_FLAT_NAME = re.compile(r"metrics_(?P<dataset>.+)_(?P<seed>[^_]+)")
_LABELS = ("method", "dataset", "seed")
_EMPTY = ("", "nan", "na", "<na>", "nat", "null", "none")


def load(source: Any) -> Runs:
    """Runs from a folder or files of results, a table, a frame, or a list of records or evaluations.

    A folder is searched for result files and for flat JSON named `metrics_{dataset}_{seed}.json` in a folder named
    after the method. Tables (.csv, .parquet, frames, lists of dictionaries) have the columns `method`, `dataset` and
    `seed`, if they differ, and one column per metric, or the two columns `metric` and `value`.
    """
    if isinstance(source, Runs):
        return source
    if isinstance(source, str | Path):
        return Runs(_from_path(Path(source)))
    if isinstance(source, Run):
        return Runs([source])
    if isinstance(source, Evaluation):
        return Runs([_from_evaluation(source)])
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return Runs(_from_records(source.to_dict(orient="records"), "frame"))
    if isinstance(source, Iterable):
        return Runs(_from_sequence(list(source)))
    raise InputError(f"cannot read runs from {type(source).__name__}", fix="Pass a path, a frame or a list.")


def _from_sequence(parts: list[Any]) -> Iterator[Run]:
    if all(isinstance(part, Mapping) and not isinstance(part, Evaluation) for part in parts):
        yield from _from_records(parts, "records")
        return
    for part in parts:
        yield from load(part)


def _from_path(path: Path) -> Iterator[Run]:
    if path.is_dir():
        yield from _from_folder(path)
    elif not path.exists():
        raise InputError("no such file or folder", where=str(path))
    elif path.suffix.lower() in (".csv", ".parquet"):
        records = read_records(path)
        if not records:
            raise InputError("has no rows", where=str(path))
        yield from _from_records(records, str(path))
    elif path.suffix.lower() == ".json":
        found = _from_json(path)
        if found is None:
            raise InputError(
                "neither a result file nor flat metrics",
                where=str(path),
                fix="Flat metrics are named metrics_{dataset}_{seed}.json or contain method, dataset and seed.",
            )
        yield found
    else:
        raise InputError(f"files ending in {path.suffix or 'nothing'} are not read", where=str(path),
                         fix="Use .json, .csv or .parquet.")  # fmt: skip


def _from_folder(folder: Path) -> Iterator[Run]:
    files = result_files(folder)
    found = [run for run in (_from_json(path) for path in files) if run is not None]
    if not found:
        raise InputError(
            f"no results among {len(files)} JSON files",
            where=str(folder),
            fix="Evaluate with --method, --dataset and --run-seed, which writes result files here.",
        )
    # A flat copy of a result file is the same run, not a second one.
    whole = {(run.method, run.dataset, run.seed) for run in found if run.family}
    yield from (run for run in found if run.family or (run.method, run.dataset, run.seed) not in whole)


def _from_json(path: Path) -> Run | None:
    """A result file or flat metrics; None for other JSON, such as the side file of a result."""
    content = read_json(path)
    if not isinstance(content, dict):
        return None
    if "schema" in content or is_result(content):
        return from_result(checked_content(content, str(path)), path)[0]
    if "axis" in content and "columns" in content:
        return None
    named = _FLAT_NAME.fullmatch(path.name.removesuffix(".json").removesuffix(".flat"))
    if named is None and not set(_LABELS) <= set(content):
        return None
    labels = {"method": _method_folder(path), **(named.groupdict() if named else {})}
    return _record(
        {**labels, **{name: value for name, value in content.items() if not isinstance(value, list)}}, str(path)
    )


def _method_folder(path: Path) -> str:
    parent = path.resolve().parent
    return parent.parent.name if parent.name in family_names() else parent.name


def from_result(content: Mapping[str, Any], path: Path) -> tuple[Run, Evaluation | None]:
    """The run in a result file's content, and its evaluation unless it failed."""
    if content.get("status") == "failed":
        run, error = content.get("run"), content.get("error")
        if not isinstance(run, dict):
            raise InputError("names no run", where=str(path), fix="Write result files with graphgauge.")
        why = f"failed: {error}" if error else "failed"
        notes = unchecked(content.get("notes"))
        return Run(*_labels(run, str(path)), {}, str(run.get("family", "")), str(path), why, unchecked=notes), None
    items = next((side for side in side_files(content, str(path)) if side.get("role") == "items"), None)
    evaluation = evaluation_from_dict(content, where=str(path))
    run = _from_evaluation(
        evaluation,
        source=str(path),
        items=None if items is None else SideFile(side_path(path.parent, items), str(items.get("hash"))),
    )
    return replace(run, truths=truths_of(run.family, content.get("receipt"))), evaluation


def _from_evaluation(evaluation: Evaluation, source: str = "evaluation", items: SideFile | None = None) -> Run:
    return Run(
        *_labels(evaluation.run, source),
        {key: _score(result, evaluation.conventions) for key, result in evaluation.items()},
        evaluation.family,
        source,
        items=items,
        unchecked=unchecked(evaluation.notes),
    )


def _labels(run: Mapping[str, Any], source: str) -> tuple[str, str, Seed]:
    missing = [name for name in ("method", "dataset") if run.get(name) is None]
    if missing:
        raise InputError(f"the run has no {' and no '.join(missing)}", where=source,
                         fix="Evaluate with --method, --dataset and --run-seed.")  # fmt: skip
    return str(run["method"]), str(run["dataset"]), _seed(0 if run.get("seed") is None else run["seed"])


def _score(result: Result, conventions: Mapping[str, str]) -> Score:
    stated = {**conventions, **result.conventions, **{name: str(value) for name, value in result.params.items()}}
    return Score(result.value, result.direction, result.target, result.bounds, stated, result.n, result.reason)


def _from_records(records: Sequence[Mapping[str, Any]], source: str) -> Iterator[Run]:
    """One run per record, or, in long form, one run for all records that share method, dataset and seed."""
    for name in dict.fromkeys(name for record in records for name in record):
        label = str(name).strip().lower()
        if label in _LABELS and name != label:
            raise InputError(f"has a column {name!r}", where=source, fix=f"Write it {label!r}.")
    if records and {"metric", "value"} <= set(records[0]):
        wide: dict[tuple[Any, ...], dict[str, Any]] = {}
        for record in records:
            labels = tuple(record.get(name) for name in _LABELS)
            run = wide.setdefault(labels, {name: record[name] for name in _LABELS if name in record})
            if record["metric"] in run:
                raise InputError(f"{record['metric']} occurs twice for {', '.join(map(str, labels))}", where=source)
            run[str(record["metric"])] = record["value"]
        records = list(wide.values())
    text = _text_columns(records)
    for number, record in enumerate(records):
        # Records without a seed are repetitions in the given order, unless their datasets differ.
        seed = 0 if "dataset" in record else number
        yield _record({"seed": seed, **{name: record[name] for name in record if name not in text}}, source, number)


def _text_columns(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Columns without any number: remarks, not metrics."""
    names = {name for record in records for name in record if name not in _LABELS}
    return {name for name in names if not any(_is_number(record.get(name)) for record in records)} - {
        name for name in names if all(_is_empty(record.get(name)) for record in records)
    }


def _record(record: Mapping[str, Any], source: str, row: int | None = None) -> Run:
    scores = {}
    for name, value in record.items():
        if name in _LABELS:
            continue
        if not (_is_number(value) or _is_empty(value)):
            where = source if row is None else f"{source}, record {row + 1}"
            raise InputError(f"{name} is {value!r:.60}, not a number", where=where)
        key, direction, target, bounds = _known(str(name))
        scores[key] = Score(math.nan if _is_empty(value) else _number(value), direction, target, bounds)
    if not scores:
        raise InputError("contains no metric", where=source, fix="Give each metric a column of numbers.")
    method, dataset = (str(record.get(name, "")) for name in ("method", "dataset"))
    return Run(method, dataset, _seed(record.get("seed", 0)), scores, source=source)


@cache
def _known(key: str) -> tuple[str, Direction | None, float | None, tuple[float, float]]:
    """The current key of a metric given as a plain number, and its registered properties."""
    from graphgauge.core.metric import find, renamed_keys

    key = renamed_keys().get(key, key)
    try:
        entry, _ = find(key)
    except OptionError:
        return key, None, None, (-math.inf, math.inf)
    return key, entry.direction, entry.target, entry.bounds


def _is_empty(value: Any) -> bool:
    return str(value).strip().lower() in _EMPTY


def _is_number(value: Any) -> bool:
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, str) else number_from_json(float(value))


def _seed(value: Any) -> Seed:
    """Seeds that look like integers are compared as integers, in any file format."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?\d+", text) else text
