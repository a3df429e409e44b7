"""Runs from result files, flat JSON, tables, frames and dictionaries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family, family_names
from graphgauge.old.core.files import read_json
from graphgauge.old.core.result import Result
from graphgauge.old.core.schema import (
    checked_content,
    evaluation_from_dict,
    is_result,
    number_from_json,
    result_files,
    side_files,
    side_path,
)
from graphgauge.old.core.truths import truths_of
from graphgauge.old.stats.names import usual_direction
from graphgauge.old.stats.runs import UNNAMED_METRIC, Run, Runs, Score, Seed, SideFile, known_metric, seed_of
from graphgauge.old.stats.tables import (
    LABELS,
    Columns,
    Table,
    Unit,
    are_unpaired,
    columns_of,
    is_empty,
    read_number,
    read_table,
    records_table,
    runs_of,
    units_of,
)
from graphgauge.old.stats.text import listing

# `metrics_{dataset}_{seed}.json`; the seed follows the last underscore.
_FLAT_NAME = re.compile(r"metrics_(?P<dataset>.+)_(?P<seed>[^_]+)")
# Parts of a flat file that describe the run.
_DESCRIPTIONS = ("config", "configuration", "args", "params", "hparams", "hyperparameters", "settings", "meta")


def load(source: Any, *, columns: Columns | str | Iterable[str] | None = None) -> Runs:
    """Runs from a folder or files of results, a table, a frame, dictionaries, or a list of these or of evaluations.

    A folder is searched for result files and for flat JSON named `metrics_{dataset}_{seed}.json` in a folder named
    after the method. A table has columns `method`, `dataset` and `seed`, or those that
    `columns={"method": "model", "seed": "fold"}` names; every other column of numbers is a metric, unless the columns
    `metric` and `value` have one in each row. A dictionary has the scores of each method: a list of repetitions, or a
    mapping from seed or dataset.

    Parameters
    ----------
    source
        Where the runs are.
    columns
        Names of columns by role: method, dataset, seed, metric, value.

    Returns
    -------
    Runs
        One `Run` per method, dataset and seed, with all metrics.

    Raises
    ------
    InputError
        If a file cannot be read.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.load([{"method": "a", "seed": 0, "f1": 0.9}, {"method": "b", "seed": 0, "f1": 0.8}])
    >>> len(runs), runs.methods, runs.metrics
    (2, ['a', 'b'], ['f1'])
    """
    given = columns_of(columns)
    if isinstance(source, Runs) and not given:
        return source
    found = _load(source, given)
    if given and not found.tables:
        raise OptionError("columns are given, but no table is read", fix="Leave columns out.").about("columns")
    return found.runs()


def _load(source: Any, columns: Columns) -> _Found:
    if isinstance(source, Runs):
        return _Found(list(source), list(source.notes))
    if isinstance(source, str | Path):
        return _from_path(Path(source), columns)
    if isinstance(source, Run):
        return _Found([source])
    if isinstance(source, Evaluation):
        return _Found(_numbered_evaluations([source]))
    if (records := _records_of(source)) is not None:
        return _from_table(records_table(records, "frame"), columns)
    if isinstance(source, Mapping):
        return _from_mapping(source, columns)
    if isinstance(source, Iterable):
        return _from_sequence(list(source), columns)
    raise InputError(
        f"cannot read runs from {type(source).__name__}", fix="Pass a path, a frame, a dictionary or a list."
    )


@dataclass
class _Found:
    """Runs, notes and the number of tables, while they are collected."""

    found: list[Run] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: int = 0

    def add(self, other: _Found) -> None:
        self.found += other.found
        self.notes += other.notes
        self.tables += other.tables

    def runs(self) -> Runs:
        return Runs(self.found, self.notes)


def _records_of(source: Any) -> list[dict[str, Any]] | None:
    """The rows of a data frame of pandas or polars, or of an Arrow table; levels of an index are columns."""
    if hasattr(source, "columns") and hasattr(source, "reset_index"):
        levels = [name for name in getattr(source.index, "names", []) if name is not None]
        _refuse_twice([*levels, *source.columns])
        if getattr(source.columns, "nlevels", 1) > 1:
            raise InputError(
                "the frame has several levels of columns",
                where="frame",
                fix='Choose one and name the rows, as in frame["mrr"].reset_index(); or use frame.melt().',
            )
        text = len(source) > 0 and all(isinstance(name, str) for name in source.index)
        frame = source.reset_index() if levels or (text and "method" not in source.columns) else source
        rows: list[dict[str, Any]] = frame.to_dict(orient="records")
        return rows
    for method in ("to_dicts", "to_pylist"):
        if hasattr(source, method) and (hasattr(source, "columns") or hasattr(source, "column_names")):
            _refuse_twice(getattr(source, "column_names", None) or ())
            return list(getattr(source, method)())
    return None


def _refuse_twice(names: Iterable[Any]) -> None:
    """Columns of one name, or of the name of a level of the index, would silently replace each other."""
    twice = [str(name) for name, times in Counter(map(str, names)).items() if times > 1]
    if twice:
        raise InputError(f"has the column {twice[0]!r} twice", where="frame", fix="Rename or drop one of them.")


# ------------------------------------------------------------------------------------------ Python objects


def _from_sequence(parts: list[Any], columns: Columns) -> _Found:
    if parts and all(isinstance(part, Mapping) and not isinstance(part, Evaluation) for part in parts):
        return _from_table(records_table(parts, "records", "record"), columns)
    found = _Found()
    repeated = _numbered_evaluations([part for part in parts if isinstance(part, Evaluation)])
    for part in parts:
        if isinstance(part, Evaluation):
            found.found.append(repeated.pop(0))
        else:
            found.add(_load(part, columns))
    return found


def _numbered_evaluations(evaluations: Sequence[Evaluation], **labels: Any) -> list[Run]:
    """Evaluations as runs; those that do not state a seed are repetitions."""
    runs, taken = [], Counter[tuple[str, str, str]]()
    for evaluation in evaluations:
        own = {name: value for name, value in evaluation.run.items() if value is not None}
        facts = {"method": "", "dataset": "", **own, **labels}
        key = (str(facts["method"]), str(facts["dataset"]), evaluation.family)
        if "seed" not in facts:
            facts["seed"] = taken[key]
            taken[key] += 1
        runs.append(from_evaluation(evaluation, labels=facts))
    return runs


def _from_mapping(source: Mapping[Any, Any], columns: Columns) -> _Found:
    """A table by columns, or the scores or evaluations of each method."""
    if not source:
        return _Found()
    named = any(column in source for column in (*LABELS, *columns.values()))
    if named and all(_is_list(part) for part in source.values()):
        if len({len(part) for part in source.values()}) > 1:
            sizes = ", ".join(f"{name}: {len(part)}" for name, part in source.items())
            raise InputError(f"columns have different lengths ({sizes})", where="dictionary")
        rows = [dict(zip(map(str, source), cells, strict=True)) for cells in zip(*source.values(), strict=True)]
        return _from_table(records_table(rows, "dictionary"), columns)
    found, units = _Found(), []
    for method, scores in source.items():
        evaluated = _evaluations_of(scores, {"method": str(method)})
        if evaluated is None:
            units += _units_of(str(method), scores)
        else:
            found.found += evaluated
    found.found += runs_of(units, "dictionary")
    if are_unpaired(units):
        found.notes.append(
            "lists have no seeds, so their runs are not paired; a mapping from seed to score, such as "
            "dict(enumerate(scores)), pairs them"
        )
    return found


def _evaluations_of(scores: Any, labels: Mapping[str, Any]) -> list[Run] | None:
    """The evaluations of one method: one, a list of repetitions, or a mapping from seed, dataset or both; else None."""
    if isinstance(scores, Evaluation):
        return _numbered_evaluations([scores], **labels)
    if _is_list(scores) and len(scores) and all(isinstance(part, Evaluation) for part in scores):
        return _numbered_evaluations(list(scores), **labels)
    if not isinstance(scores, Mapping):
        return None
    by_seed = all(isinstance(part, Evaluation) for part in scores.values()) and (
        "dataset" in labels or all(isinstance(seed_of(name), int) for name in scores)
    )
    level = "seed" if by_seed else "dataset"
    if level in labels:
        return None
    found = [_evaluations_of(part, {**labels, level: name}) for name, part in scores.items()]
    if all(part is None for part in found):
        return None
    if any(part is None for part in found):
        raise InputError(
            f"{labels['method']} has evaluations and other scores",
            where="dictionary",
            fix="Pass evaluations alone, or numbers alone.",
        )
    return [run for part in found if part is not None for run in part]


def _units_of(method: str, scores: Any, dataset: str = "") -> list[Unit]:
    """The scores of one method: a number, a list of repetitions, or a mapping from seed or dataset.

    A mapping from metric to number is one run of a seed or a dataset.
    """
    where = f"{method} on {dataset}" if dataset else method

    def unit(value: Any, seed: Seed | None, place: str, metric: str = UNNAMED_METRIC) -> Unit:
        try:
            return Unit(method, dataset, seed, {metric: read_number(value)}, place)
        except ValueError as error:
            raise InputError(f"{place}: {error}", where="dictionary") from None

    def run(values: Any, seed: Seed | None, place: str) -> Unit:
        if not isinstance(values, Mapping):
            return unit(values, seed, place)
        numbers = {str(name): unit(value, seed, f"{place}, {name}").numbers for name, value in values.items()}
        return Unit(method, dataset, seed, {name: number[UNNAMED_METRIC] for name, number in numbers.items()}, place)

    if isinstance(scores, Real) or is_empty(scores):
        return [unit(scores, None, where)]
    if isinstance(scores, Mapping):
        if all(isinstance(seed_of(name), int) for name in scores):
            return [run(value, seed_of(seed), f"{where}, seed {seed}") for seed, value in scores.items()]
        if dataset:
            return [run(scores, None, where)]
        metric = next((str(name) for name in scores if known_metric(str(name))[0] or usual_direction(str(name))), None)
        if metric is not None:
            raise InputError(
                f"the scores of {method} are by metric ({metric})",
                where="dictionary",
                fix=f'Pass a list of runs: [{{"method": "{method}", "seed": 0, "{metric}": …}}, …].',
            )
        return [each for name, part in scores.items() for each in _units_of(method, part, str(name))]
    if _is_list(scores):
        if len(scores) and all(isinstance(part, Mapping) for part in scores):
            found = units_of(records_table(list(scores), f"dictionary, {method}"), {}, [])
            return [replace(each, method=method, dataset=dataset or each.dataset) for each in found]
        return [unit(value, None, f"{where}, score {index + 1}") for index, value in enumerate(scores)]
    raise InputError(
        f"the scores of {where} are {type(scores).__name__}",
        where="dictionary",
        fix="Pass a list of numbers, or a mapping from seed or dataset.",
    )


def _is_list(part: Any) -> bool:
    if isinstance(part, str | bytes | Mapping | Evaluation):
        return False
    return isinstance(part, Sequence) or (getattr(part, "ndim", None) == 1 and hasattr(part, "__len__"))


# ------------------------------------------------------------------------------------------ files


def _from_path(path: Path, columns: Columns) -> _Found:
    if path.is_dir():
        return _from_folder(path, columns)
    if not path.exists():
        raise InputError("no such file or folder", where=str(path))
    if path.suffix.lower() in (".csv", ".parquet"):
        return _from_table(read_table(path), columns)
    if path.suffix.lower() == ".json":
        found = _from_json(path, columns)
        if found is None:
            raise InputError(
                "neither a result file nor flat metrics",
                where=str(path),
                fix="Flat metrics are named metrics_{dataset}_{seed}.json or contain method, dataset and seed.",
            )
        return found
    raise InputError(
        f"files ending in {path.suffix or 'nothing'} are not read",
        where=str(path),
        fix="Use .json, .csv or .parquet; save a table as .csv with columns method, dataset and seed.",
    )


def _from_table(table: Table, columns: Columns) -> _Found:
    notes: list[str] = []
    return _Found(runs_of(units_of(table, columns, notes), table.where), notes, 1)


def _from_folder(folder: Path, columns: Columns) -> _Found:
    """The result files of a folder; files that cannot be read are named, the others are used."""
    files = result_files(folder)
    found, bad = _Found(), []
    for path in files:
        try:
            part = _from_json(path, columns)
        except InputError as error:
            bad.append(error)
            continue
        if part is not None:
            found.add(part)
    # A flat copy of a result file is the same run, not a second one.
    whole = {(run.method, run.dataset, run.seed) for run in found.found if run.family}
    found.found = [run for run in found.found if run.family or (run.method, run.dataset, run.seed) not in whole]
    if not found.found and bad:
        raise bad[0]
    if not found.found:
        raise InputError(
            f"no results among {len(files)} JSON files",
            where=str(folder),
            fix="Evaluate with --method, --dataset and --run-seed, which writes result files here; or name a table.",
        )
    found.notes = _once(found.notes)
    if bad:
        said = listing([str(error).rstrip(".") for error in bad], 3)
        found.notes.append(
            f"{len(bad)} file{'s' * (len(bad) > 1)} could not be read and the runs in it are missing: {said}"
        )
    return found


def _once(notes: Sequence[str]) -> list[str]:
    """Notes `file: text`, with one line for files that have the same text."""
    files: dict[str, list[str]] = {}
    for note in notes:
        where, _, text = note.partition(": ")
        files.setdefault(text, []).append(where)
    return [
        f"{where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}: {text}" for text, where in files.items()
    ]


def _from_json(path: Path, columns: Columns) -> _Found | None:
    """A result file, flat metrics or a list of records; None for other JSON."""
    content = read_json(path)
    if isinstance(content, list):
        if not content or not all(isinstance(part, dict) for part in content):
            return None
        table = records_table(content, str(path))
        return _from_table(table, columns) if {*LABELS, *columns.values()} & set(table.names) else None
    if not isinstance(content, dict):
        return None
    if "schema" in content or is_result(content):
        return _Found([from_result(checked_content(content, str(path)), path)[0]])
    if "axis" in content and "columns" in content:
        return None
    named = _FLAT_NAME.fullmatch(path.name.removesuffix(".json").removesuffix(".flat"))
    if named is None and not set(LABELS) <= set(content):
        return None
    labels = {"method": _method_folder(path), **(named.groupdict() if named else {})}
    return _flat(labels, content, path)


def _flat(labels: Mapping[str, Any], content: Mapping[str, Any], path: Path) -> _Found:
    """Plain numbers by metric. What describes the run is no metric; other parts that are not numbers are named."""
    described = {
        str(name): value
        for part in _DESCRIPTIONS
        if isinstance(content.get(part), dict)
        for name, value in content[part].items()
        if name in LABELS
    }
    labels = {**labels, **described, **{name: content[name] for name in LABELS if name in content}}
    scores, left = {}, []
    for name, value in content.items():
        if name in LABELS or isinstance(value, list) or name in _DESCRIPTIONS:
            continue
        number = _plain_number(value)
        if number is None:
            left.append(name)
            continue
        scores[str(name)] = Score(number, *known_metric(str(name)))
    if not scores:
        raise InputError("contains no metric", where=str(path), fix="Give each metric a number.")
    run = Run(str(labels["method"]), str(labels["dataset"]), seed_of(labels["seed"]), scores, source=str(path))
    return _Found([run], [f"{path}: not numbers, not used: {listing(left)}"] if left else [])


def _plain_number(value: Any) -> float | None:
    if value is None or (isinstance(value, str) and is_empty(value)):
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value) if isinstance(value, str) else number_from_json(float(value))
    except (ValueError, OverflowError):
        return None


def _method_folder(path: Path) -> str:
    parent = path.resolve().parent
    return parent.parent.name if parent.name in family_names() else parent.name


# ------------------------------------------------------------------------------------------ result files


def from_result(content: Mapping[str, Any], path: Path) -> tuple[Run, Evaluation | None]:
    """The run in a result file's content, and its evaluation unless it failed."""
    if content.get("status") == "failed":
        run, error = content.get("run"), content.get("error")
        if not isinstance(run, dict):
            raise InputError("names no run", where=str(path), fix="Write result files with graphgauge.")
        why = f"failed: {error}" if error else "failed"
        return Run(*_labels(run, str(path)), {}, str(run.get("family", "")), str(path), why), None
    items = next((side for side in side_files(content, str(path)) if side.get("role") == "items"), None)
    evaluation = evaluation_from_dict(content, where=str(path))
    run = from_evaluation(
        evaluation,
        source=str(path),
        items=None if items is None else SideFile(side_path(path.parent, items), str(items.get("hash"))),
    )
    return replace(run, truths=truths_of(run.family, content.get("receipt"))), evaluation


def from_evaluation(
    evaluation: Evaluation,
    source: str = "evaluation",
    items: SideFile | None = None,
    labels: Mapping[str, Any] | None = None,
) -> Run:
    """An evaluation as a run, under other labels if they are given."""
    return Run(
        *_labels(evaluation.run if labels is None else labels, source),
        {key: _score(result, evaluation) for key, result in evaluation.items()},
        evaluation.family,
        source,
        items=evaluation.per_item if items is None else items,
        findings={
            finding.check: finding.message
            for finding in evaluation.findings
            if finding.severity != "note" and not finding.ignored
        },
        partial=_partial(evaluation.options.get("until")),
    )


def _partial(until: Any) -> str | None:
    """How much an adaptive run has read, unless it was everything."""
    if not isinstance(until, Mapping) or until.get("complete") is True:
        return None
    return f"{until.get('read')} of {until.get('of')} queries read"


def _labels(run: Mapping[str, Any], source: str) -> tuple[str, str, Seed]:
    missing = [name for name in ("method", "dataset") if run.get(name) is None]
    if missing:
        raise InputError(
            f"the run has no {' and no '.join(missing)}",
            where=source,
            fix="Evaluate with --method, --dataset and --run-seed.",
        )
    return str(run["method"]), str(run["dataset"]), seed_of(0 if run.get("seed") is None else run["seed"])


def _score(result: Result, evaluation: Evaluation) -> Score:
    stated = {**evaluation.conventions, **result.conventions}
    stated |= {name: str(value) for name, value in result.params.items()}
    return Score(
        result.value,
        result.direction,
        result.target,
        result.bounds,
        stated,
        result.n,
        result.reason,
        _references(result, evaluation, stated.get("nan")),
    )


def _references(result: Result, evaluation: Evaluation, nan: str | None) -> dict[str, float]:
    """The levels that depend on the test alone, unless the method decides how much of it is read."""
    if evaluation.family not in family_names() or "until" in evaluation.options or nan == "omit":
        return {}
    names = family(evaluation.family).references
    return {level.name: level.value for level in result.levels if level.name in names and math.isfinite(level.value)}
