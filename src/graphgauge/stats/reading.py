"""Runs from result files, flat JSON, tables, frames, dictionaries and evaluations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

from graphgauge.core import files
from graphgauge.core.content import ResultFile
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import family, family_names
from graphgauge.core.number import from_file, plural
from graphgauge.core.result import Result
from graphgauge.core.sealed import decode
from graphgauge.stats.runs import UNNAMED, UNSTATED, Run, Runs, Score, numbered, seed_of, usual_direction
from graphgauge.stats.tables import LABELS, Table, columns_of, is_empty, read_number, runs_of_table, score_of
from graphgauge.stats.text import listing

# `metrics_{dataset}_{seed}.json`; the seed follows the last underscore.
_FLAT_NAME = re.compile(r"metrics_(?P<dataset>.+)_(?P<seed>[^_]+?)(\.flat)?\.json")
# Keys of a dictionary that are seeds, not datasets.
_SEED = re.compile(r"\s*((s|seed|run)[ _-]?\d+|-?\d+(\.0*)?)\s*", re.IGNORECASE)
_NO_NAMES = "Evaluate with method=, dataset= and seed=, or pass {name: evaluation}."


def read_runs(source: Any, *, columns: Mapping[str, str] | str | Iterable[str] | None = None) -> Runs:
    """Runs from a folder or files of results, a table, a frame, dictionaries, or a list of these or of evaluations.

    A folder is searched for result files and for flat JSON named `metrics_{dataset}_{seed}.json`, whose folder names
    the method. A table has columns `method`, `dataset` and `seed`, or those that
    `columns={"method": "algo", "seed": "rep"}` names; every other column of numbers is a metric, unless `metric` and
    `value`, or `mean`, `std` and `n`, have one in each row. A dictionary has the scores of each method: a list of
    repetitions, or a mapping from seed or dataset, or evaluations.

    Parameters
    ----------
    source
        Where the runs are.
    columns
        Names of columns by role: method, dataset, seed, metric, value, mean, std, n.

    Returns
    -------
    Runs
        One `Run` per method, dataset and seed, with all metrics.

    Raises
    ------
    InputError
        If a file cannot be read, or a table has no column for a role.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.read_runs([{"method": "a", "seed": 0, "f1": 0.9}, {"method": "b", "seed": 0, "f1": 0.8}])
    >>> len(runs), runs.methods, runs.metrics
    (2, ['a', 'b'], ['f1'])
    """
    reader = _Reader(columns_of(columns))
    runs = Runs(reader.runs_of(source), reader.notes)
    if reader.columns and not reader.tables:
        raise OptionError("columns are named, but no table is read", fix="Leave columns out.").about("columns")
    return runs


def read_side(source: Any, name: str) -> Runs:
    """The runs of one side of a gate; results need not name their method."""
    reader = _Reader({}, name)
    return Runs(reader.runs_of(source), reader.notes)


class _Reader:
    """Reads runs with these columns, and keeps what is to say of files that are not read, and how many are tables.

    Results without a method are of the method `unnamed`.
    """

    def __init__(self, columns: Mapping[str, str], unnamed: str | None = None) -> None:
        self.columns, self.unnamed = columns, unnamed
        self.notes: list[str] = []
        self.tables = 0

    def runs_of(self, source: Any) -> list[Run]:
        if isinstance(source, Runs):
            self.notes += source.notes
            return list(source)
        if isinstance(source, Run):
            return [source]
        if isinstance(source, str | Path):
            return self._of_path(Path(source))
        if isinstance(source, Evaluation):
            return numbered([_run_of(source, self.unnamed)])
        if hasattr(source, "column_names") or (hasattr(source, "columns") and not isinstance(source, Mapping)):
            return self._of_table(Table.from_frame(source))
        if isinstance(source, Mapping):
            return self._of_mapping(source)
        if isinstance(source, Iterable):
            return self._of_sequence(list(source))
        fix = "Pass a path, a frame, a dictionary or a list."
        raise InputError(f"cannot read runs from {type(source).__name__}", fix=fix)

    def _of_table(self, table: Table) -> list[Run]:
        self.tables += 1
        return runs_of_table(table, self.columns)

    # ---- Python objects

    def _of_sequence(self, parts: list[Any]) -> list[Run]:
        if parts and all(isinstance(part, Mapping) and not isinstance(part, Evaluation) for part in parts):
            return self._of_table(Table.from_records(parts, "records", "record"))
        evaluated = numbered(_run_of(part, self.unnamed) for part in parts if isinstance(part, Evaluation))
        return evaluated + [run for part in parts if not isinstance(part, Evaluation) for run in self.runs_of(part)]

    def _of_mapping(self, source: Mapping[Any, Any]) -> list[Run]:
        """A table by columns, or the scores or evaluations of each method."""
        is_table = any(name in source for name in (*LABELS, *self.columns.values()))
        if is_table and all(map(_is_list, source.values())):
            if len({len(part) for part in source.values()}) > 1:
                sizes = ", ".join(f"{name}: {len(part)}" for name, part in source.items())
                raise InputError(f"columns have different lengths ({sizes})", where="dictionary")
            return self._of_table(Table.from_cells(source, zip(*source.values(), strict=True), "dictionary"))
        return numbered(run for method, scores in source.items() for run in _runs_of_method(str(method), scores))

    # ---- files

    def _of_path(self, path: Path) -> list[Run]:
        if path.is_dir():
            return self._of_folder(path)
        if not path.exists():
            raise InputError("no such file or folder", where=str(path))
        if path.suffix.lower() in (".csv", ".parquet"):
            return self._of_table(Table.from_file(path))
        runs = self._of_json(path) if path.suffix.lower() == ".json" else None
        if runs is None:
            fix = "Pass result files, metrics_{dataset}_{seed}.json, or a table: .csv, .parquet or JSON records."
            raise InputError("neither a result file nor a table of results", where=str(path), fix=fix)
        return runs

    def _of_folder(self, folder: Path) -> list[Run]:
        """The results of a folder; files that cannot be read are named, the others are used."""
        paths = files.result_files(folder)
        runs: list[Run] = []
        errors = []
        for path in paths:
            try:
                runs += self._of_json(path) or []
            except InputError as error:
                errors.append(error)
        # A flat copy of a result file is the same run, not a second one.
        whole = {(run.method, run.dataset, run.seed) for run in runs if run.family}
        runs = [run for run in runs if run.family or (run.method, run.dataset, run.seed) not in whole]
        if not runs and errors:
            raise errors[0]
        if not runs:
            fix = "Evaluate with --method, --dataset and --run-seed, which writes result files; or name a table."
            raise InputError(f"no results among {len(paths)} JSON files", where=str(folder), fix=fix)
        if errors:
            said = listing([str(error).rstrip(".") for error in errors], 3)
            what = plural(len(errors), "file")
            self.notes.append(f"warning: {what} could not be read, and the runs in it are missing: {said}")
        return runs

    def _of_json(self, path: Path) -> list[Run] | None:
        """The runs of a result file, flat metrics or a list of records; None of other JSON."""
        content = read_json(path)
        if isinstance(content, list):
            is_records = bool(content) and all(isinstance(part, dict) for part in content)
            table = Table.from_records(content, str(path)) if is_records else None
            is_ours = table is not None and {*LABELS, *self.columns.values()} & set(table.names)
            return self._of_table(table) if table is not None and is_ours else None
        if not isinstance(content, dict):
            return None
        if files.is_result(content):
            return [_of_result(content, path, self.unnamed)]
        match = _FLAT_NAME.fullmatch(path.name)
        if "schema" in content or (match is None and not set(LABELS) <= set(content)):
            return None
        return [_of_flat(content, path, {} if match is None else match.groupdict())]


def _run_of(evaluation: Evaluation, unnamed: str | None, source: str = "", **labels: Any) -> Run:
    """An evaluation as a run, under other labels if they are given, of the method `unnamed` if it states none."""
    run = evaluation.run
    method = unnamed if run.method is None else run.method
    names = {"method": method, "dataset": run.dataset, "seed": run.seed, **labels}
    if names["method"] is None:
        raise InputError("a run has no method", where=source or "evaluation", fix=_NO_NAMES)
    return Run(
        str(names["method"]),
        str(names["dataset"] or ""),
        UNSTATED if names["seed"] is None else seed_of(names["seed"]),
        {key: _score(result, evaluation) for key, result in evaluation.items()},
        evaluation.family,
        source,
        evaluation=evaluation,
    )


def _of_result(content: dict[str, Any], path: Path, unnamed: str | None) -> Run:
    file = decode(content, ResultFile, str(path))
    if file.status == "failed":
        run = file.run
        why = f"failed: {file.error or 'no reason recorded'}"
        return Run(str(run.method), str(run.dataset or ""), seed_of(run.seed or 0), {}, file.family, str(path), why)
    evaluated = _run_of(files.opened(file, path, items=False), unnamed, str(path))
    return replace(evaluated, seed=0) if evaluated.seed == UNSTATED else evaluated


def _of_flat(content: Mapping[str, Any], path: Path, labels: Mapping[str, Any]) -> Run:
    """Plain numbers by metric; lists and tables are no metrics."""
    parent = path.resolve().parent
    method = (parent.parent if parent.name in family_names() else parent).name
    stated = {name: content[name] for name in LABELS if name in content}
    names = {"method": method, **labels, **stated}
    numbers = {name: _plain_number(value) for name, value in content.items() if name not in LABELS}
    scores = {name: score_of(name, number) for name, number in numbers.items() if number is not None}
    if not scores:
        raise InputError("contains no metric", where=str(path), fix="Write each metric as a number.")
    return Run(str(names["method"]), str(names["dataset"]), seed_of(names["seed"]), scores, source=str(path))


def _plain_number(value: Any) -> float | None:
    if value is None or (isinstance(value, str) and is_empty(value)):
        return math.nan
    try:
        return from_file(value)
    except (ValueError, OverflowError):
        return None


def _score(result: Result, evaluation: Evaluation) -> Score:
    stated = {
        **evaluation.conventions,
        **result.conventions,
        **{name: str(each) for name, each in result.params.items()},
    }
    names = family(evaluation.family).references if evaluation.family in family_names() else ()
    # Unless the method decides what is evaluated: how much is read, what is NaN, how long its lists are.
    if "until" in evaluation.options or stated.get("nan") == "omit" or "beyond the lists" in stated:
        names = ()
    levels = {each.name: each.value for each in result.references if each.name in names and math.isfinite(each.value)}
    return Score(result.value, result.direction, result.target, result.bounds, stated, result.n, result.reason, levels)


def _runs_of_method(method: str, scores: Any) -> Iterator[Run]:
    """The runs of one method: a number or an evaluation, a list of repetitions, or a mapping from seed or dataset."""
    leaves = list(_leaves(method, scores, {"method": method}))
    if len({isinstance(leaf, Evaluation) for leaf, _, _ in leaves}) > 1:
        fix = "Pass evaluations alone, or numbers alone."
        raise InputError(f"{method} has evaluations and other scores", where="dictionary", fix=fix)
    for leaf, labels, place in leaves:
        if isinstance(leaf, Evaluation):
            yield _run_of(leaf, None, **labels)
            continue
        numbers = leaf if isinstance(leaf, Mapping) else {UNNAMED: leaf}
        try:
            known = {str(name): score_of(str(name), read_number(each)) for name, each in numbers.items()}
        except ValueError as error:
            raise InputError(f"{place}: {error}", where="dictionary") from None
        yield Run(method, str(labels.get("dataset", "")), seed_of(labels.get("seed", UNSTATED)), known)


def _leaves(place: str, scores: Any, labels: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any], str]]:
    """Evaluations, numbers, and numbers by metric, with the labels that they are under, and their place in words."""
    if isinstance(scores, Evaluation | Real) or is_empty(scores):
        yield scores, labels, place
    elif _is_list(scores):
        yield from ((each, labels, f"{place}, score {index}") for index, each in enumerate(scores, 1))
    elif not isinstance(scores, Mapping):
        fix = "Pass a list of numbers, or a mapping from seed or dataset."
        raise InputError(f"the scores of {place} are {type(scores).__name__}", where="dictionary", fix=fix)
    elif _is_by_seed(scores, "dataset" in labels):
        yield from ((each, {**labels, "seed": seed}, f"{place}, seed {seed}") for seed, each in scores.items())
    elif "dataset" in labels:
        yield scores, labels, place
    else:
        named = next(
            (str(name) for name, part in scores.items() if usual_direction(str(name)) and not _has_evaluations(part)),
            None,
        )
        if named is not None:
            fix = f'Pass a list of runs: [{{"method": "{place}", "seed": 0, "{named}": …}}, …].'
            raise InputError(f"the scores of {place} are by metric ({named})", where="dictionary", fix=fix)
        for dataset, part in scores.items():
            yield from _leaves(f"{place} on {dataset}", part, {**labels, "dataset": dataset})


def _is_by_seed(scores: Mapping[Any, Any], is_of_dataset: bool) -> bool:
    """Whether a mapping is from seeds: numbers, or texts such as `s0`, or on one dataset the names of evaluations."""
    if is_of_dataset and all(isinstance(part, Evaluation) for part in scores.values()):
        return True
    is_nested = any(_has_evaluations(part) and not isinstance(part, Evaluation) for part in scores.values())
    return not is_nested and all(isinstance(name, Real) or _SEED.fullmatch(str(name)) for name in scores)


def _has_evaluations(part: Any) -> bool:
    """Whether this is an evaluation, or holds some."""
    parts = part.values() if isinstance(part, Mapping) else part if _is_list(part) else ()
    return isinstance(part, Evaluation) or any(isinstance(each, Evaluation) for each in parts)


def _is_list(part: Any) -> bool:
    if isinstance(part, str | bytes | Mapping):
        return False
    return isinstance(part, Sequence) or (getattr(part, "ndim", None) == 1 and hasattr(part, "__len__"))
