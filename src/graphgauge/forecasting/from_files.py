"""Evaluate files: `graphgauge forecasting …`, studies, and `forecasting.evaluate_files`."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import SILENT, Progress
from graphgauge.forecasting.evaluate import empty_state, evaluate
from graphgauge.forecasting.family import FAMILY, TABLE_OF_POINTS
from graphgauge.forecasting.labels import LabelledRow, NamedColumns, has_names
from graphgauge.forecasting.long import ROLES, table_arrays, truth_columns
from graphgauge.forecasting.options import AXES, COVERAGE, interval_levels
from graphgauge.forecasting.state import ForecastState
from graphgauge.old.core.cluster import ENGINES, Engine, Scheduler, mapped
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.fields import (
    Confidence,
    File,
    Files,
    Kind,
    Metrics,
    NanPolicy,
    Number,
    Output,
    PathLike,
    Several,
    Text,
    Threads,
    Whole,
    located,
    split_list,
)
from graphgauge.old.core.forms import require
from graphgauge.old.io.arrays import ArrayFile, Shards, open_array, open_arrays, require_alike
from graphgauge.old.io.hashing import content_hash, file_hash, receipt_input, receipt_inputs, table_hash
from graphgauge.old.io.tables import column_batches, column_names

_ARRAYS = {
    "true": "y_true",
    "pred": "y_pred",
    "std": "std",
    "quantiles": "quantiles",
    "samples": "samples",
    "mask": "mask",
}
# Rows of a table whose truth is hashed, for which it must be sorted in memory.
_MOST_ROWS = 1 << 24
# Names of a column that labels the rows, as data frames write it: the first, or in Parquet the last.
_INDEX = ("", "time", "ds", "date", "datetime", "timestamp", "index", "__index_level_0__")


Paths = PathLike | Sequence[PathLike]


@dataclass(frozen=True)
class Columns(Kind):
    """The columns of a long table, as `id=…,time=…`."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "object"}]}

    def read(self, value: Any) -> dict[str, str]:
        if isinstance(value, str):
            parts = [part.partition("=") for part in split_list(value)]
            named = {role.strip(): column.strip() for role, _, column in parts}
        elif isinstance(value, Mapping):
            named = {str(role): str(column) for role, column in value.items()}
        else:
            raise OptionError(f"expected id=…,time=…, found {value!r:.60}")
        if not named or not set(named) <= set(ROLES) or not all(named.values()):
            raise OptionError(
                f"expected columns as role=name, found {value!r:.60}", fix=f"Roles are {', '.join(ROLES)}."
            )
        return named


@of_files
def evaluate_files(
    *,
    true: Annotated[Paths, Files("The truth: a file or quoted pattern, shards in time order. Repeatable.")] = (),
    pred: Annotated[Paths, Files("The forecast, of the same shape, likewise.")] = (),
    std: Annotated[Paths, Files("Standard deviations of Gaussian forecasts.")] = (),
    quantiles: Annotated[Paths, Files("Quantiles along a last axis, with --levels.")] = (),
    levels: Annotated[
        Sequence[float] | None, Several("The probabilities of the quantiles, separated by commas.", Number(""))
    ] = None,
    samples: Annotated[Paths, Files("Members or draws along a last axis.")] = (),
    table: Annotated[
        PathLike | None, File("Instead of arrays: a .parquet or .csv with columns id, time, horizon, y, mean, std.")
    ] = None,
    columns: Annotated[
        Mapping[str, str] | str | None,
        Columns("Columns of the table, as id=…,time=…,horizon=…,issued=…,y=…,mean=…,std=…; Nixtla's names are known."),
    ] = None,
    model: Annotated[
        str | None, Text("The model in a table of Nixtla's: its column, and those with -lo-90, -hi-90 … at the end.")
    ] = None,
    mask: Annotated[Paths, Files("Booleans: which cells were observed.")] = (),
    null_value: Annotated[
        float | None, Number("Truth value of missing observations: 0 in traffic data, or nan.")
    ] = None,
    null_tolerance: Annotated[
        float, Number("How far from --null-value a truth is still missing: 1e-4 for zeros that were scaled and back.")
    ] = 0.0,
    axes: Annotated[Sequence[str] | str, Several("Names of the axes, in order.")] = AXES,
    horizons: Annotated[
        Sequence[int] | int | None, Several("Steps ahead to report by horizon, 1 the first.", Whole("", 1))
    ] = None,
    by: Annotated[Sequence[str] | str, Several("Break down by these axes: horizon, node.")] = (),
    coverage: Annotated[Sequence[float] | float, Several("Levels of the prediction intervals.", Number(""))] = COVERAGE,
    bins: Annotated[int, Whole("Bins of ece and ence.", 1)] = 10,
    graph: Annotated[
        PathLike | None, File("For samples: an adjacency matrix, or edges as rows of two node positions.")
    ] = None,
    weights: Annotated[PathLike | None, File("One weight per node, such as the cosine of its latitude.")] = None,
    naive: Annotated[PathLike | None, File("The history (time, node), for mase.")] = None,
    season: Annotated[int | None, Whole("Lag of the seasonal naive forecast.", 1)] = None,
    start: Annotated[int | None, Whole("Time step at which the arrays begin, for states to merge.", 0)] = None,
    save_state: Annotated[PathLike | None, Output("Write the sums, for `graphgauge merge`.")] = None,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    threads: Threads = None,
    engine: Engine = ENGINES[0],
    scheduler: Scheduler = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Measure forecasts: errors, scores, calibration and coverage.

    Arrays (.npy memory-mapped, .npz, .pt, .safetensors) are read in blocks, tables (.parquet, .csv) as a whole.

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    Evaluation
        As from `evaluate`; its receipt names the files with their hashes.

    Raises
    ------
    InputError
        If a file cannot be read, or changed meanwhile.
    OptionError
        If an option does not go with the files.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> np.save("y.npy", np.zeros((4, 2, 3)))
    >>> np.save("mean.npy", np.full((4, 2, 3), 0.5))
    >>> forecasting.evaluate_files(true="y.npy", pred="mean.npy")["mae"].value
    0.5
    """
    given = FAMILY.read(locals())
    files: dict[str, list[ArrayFile]] = {}
    common = _common(given, files)
    shown = {name: given[name] for name in ("horizons", "by", "bins", "metrics", "nan", "confidence")}
    state: ForecastState | None
    if given["table"] is not None:
        evaluation, state = _from_table(given, common, shown, progress)
    else:
        files |= {name: open_arrays(given[name]) for name in _ARRAYS if given[name]}
        evaluation, state = _from_arrays(given, files, common, shown, progress)
    if given["save_state"] is not None:
        assert state is not None
        if given["start"] is None:
            state.forget_place()
        state.save(given["save_state"])

    def inputs() -> list[Mapping[str, Any]]:
        opened: list[Mapping[str, Any]] = [
            entry for name, parts in files.items() for entry in receipt_inputs(name, parts)
        ]
        if given["table"] is None:
            return opened
        return [*opened, {**receipt_input("table", given["table"]), **_truth_in(given["table"], given["columns"])}]

    evaluation.inputs = inputs
    return evaluation


def _common(given: Mapping[str, Any], files: dict[str, list[ArrayFile]]) -> dict[str, Any]:
    """What all parts of a forecast share."""
    history = None if given["naive"] is None else _whole(files, "naive", given["naive"])
    neighbours = None if given["graph"] is None else _whole(files, "graph", given["graph"])
    node_weights = None if given["weights"] is None else _one_row(_whole(files, "weights", given["weights"]))
    return {
        "graph": neighbours,
        "weights": node_weights,
        "naive": history,
        "coverage": given["coverage"],
        "season": given["season"],
        "null_value": given["null_value"],
        "null_tolerance": given["null_tolerance"],
    }


# --------------------------------------------------------------------- arrays


def _from_arrays(
    given: Mapping[str, Any],
    files: Mapping[str, list[ArrayFile]],
    common: dict[str, Any],
    shown: dict[str, Any],
    progress: Progress,
) -> tuple[Evaluation, ForecastState | None]:
    streamed = given["save_state"] is not None
    arrays = {name: parts for name, parts in files.items() if name in _ARRAYS}
    reading = {name: given[name] for name in ("levels", "null_value", "null_tolerance")}
    if given["engine"] == "dask" and all(len(parts) == 1 for parts in arrays.values()):
        raise OptionError(
            "an engine splits a forecast into its shards, and every array is one file",
            fix="Write shards of time, true-0.npy, true-1.npy …, or leave out the engine.",
        ).about("engine")
    if not streamed and all(len(parts) == 1 for parts in arrays.values()):
        # Memory-mapped arrays are read in slabs, twice if bins of spread must be exact.
        whole: dict[str, Any] = {_ARRAYS[name]: _values(parts[0]) for name, parts in arrays.items()}
        return evaluate(**whole, **common | reading, axes=given["axes"], threads=given["threads"], **shown), None
    _refuse_twice(arrays["true"])
    lengths = {name: [len(part) for part in parts] for name, parts in arrays.items()}
    _check_shards(lengths, given["axes"])
    placed = not streamed or given["start"] is not None
    shard = None if placed else _content([file for parts in arrays.values() for file in parts])
    state = _counting(given["metrics"], streamed, axes=given["axes"], shard=shard, **common)
    edges = np.cumsum([0, *lengths["true"]]).tolist()
    blocks = [slice(first, last) for first, last in itertools.pairwise(edges)]
    _refuse_copies(arrays)
    if given["engine"] == "dask":
        for name, parts in arrays.items():
            require_alike(name, Shards(parts))
        sent = located(FAMILY.fields, {name: given[name] for name in FAMILY.fields if name in given}, Path.cwd())
        places = [{name: _address(parts[number]) for name, parts in arrays.items()} for number in range(len(blocks))]
        tasks = [_Shard(sent, own, streamed, block.start) for own, block in zip(places, blocks, strict=True)]
        for number, saved in enumerate(mapped(_counted_shard, tasks)):
            state.merge(ForecastState.load(io.BytesIO(saved)))
            progress.stage("counting", blocks[number].stop, edges[-1])
        state.as_one_part()
        return state.evaluate(**shown), state
    shards = [{name: parts[number] for name, parts in arrays.items()} for number in range(len(blocks))]
    for block, files_of in progress.over(zip(blocks, shards, strict=True), edges[-1]):
        part: dict[str, Any] = {_ARRAYS[name]: _values(file) for name, file in files_of.items()}
        try:
            state.update(
                **part, **reading, start=(given["start"] or 0) + block.start, nan=given["nan"], threads=given["threads"]
            )
        except InputError as error:
            where = f"{error.where or 'shard'} ({files_of['true'].path.name} and its counterparts)"
            raise type(error)(error.what, where=where, fix=error.fix) from None
    return state.evaluate(**shown), state


class _Shard(NamedTuple):
    """A shard of time, to be counted where the worker is: the options, its files, and its first step."""

    given: Mapping[str, Any]
    paths: Mapping[str, str]
    streamed: bool
    start: int


def _address(file: ArrayFile) -> str:
    """Where another process opens it."""
    path = str(file.path.absolute())
    return path if file.member is None else f"{path}:{file.member}"


def _counted_shard(task: _Shard) -> bytes:
    """The saved state of a shard."""
    given = task.given
    common, reading = _common(given, {}), {name: given[name] for name in ("levels", "null_value", "null_tolerance")}
    state = _counting(given["metrics"], task.streamed, axes=given["axes"], **common)
    part: dict[str, Any] = {_ARRAYS[name]: _values(open_array(path)) for name, path in task.paths.items()}
    try:
        state.update(**part, **reading, start=(given["start"] or 0) + task.start, nan=given["nan"], threads=1)
    except InputError as error:
        where = f"{error.where or 'shard'} ({Path(task.paths['true']).name} and its counterparts)"
        raise type(error)(error.what, where=where, fix=error.fix) from None
    buffer = io.BytesIO()
    state.save(buffer)
    return buffer.getvalue()


def _refuse_copies(arrays: Mapping[str, list[ArrayFile]]) -> None:
    """Refuse a shard whose arrays are all copies of those of another one, before anything is counted."""
    if len(arrays["true"]) == 1:
        return
    seen: dict[Any, int] = {}
    for number, truth in enumerate(arrays["true"]):
        beginning = truth.shape, truth.rows(0, min(len(truth), 1)).tobytes()
        other = seen.setdefault(beginning, number)
        if other != number and all(
            content_hash([parts[number]]) == content_hash([parts[other]]) for parts in arrays.values()
        ):
            raise InputError(
                f"has the same content as {arrays['true'][other].path.name}",
                where=str(truth.path),
                fix="Every shard counts once.",
            )


def _counting(metrics: Sequence[str] | None, kept: bool, **options: Any) -> ForecastState:
    """A state for the requested metrics; a saved one counts everything, because later requests may differ."""
    levels = interval_levels(options.pop("coverage"), metrics)
    return empty_state(**options, coverage=levels, metrics=None if kept else metrics)


def _refuse_twice(files: Sequence[ArrayFile]) -> None:
    seen = set()
    for file in files:
        source = file.path.resolve(), file.member
        if source in seen:
            raise InputError("is given twice", where=str(file.path), fix="Every shard counts once.")
        seen.add(source)


def _content(files: Sequence[ArrayFile]) -> str:
    """A name for a shard without a start time: the same content is the same shard."""
    hashes = [f"{file_hash(file.path)} {file.member}" for file in files]
    return f"content {sha256(' '.join(hashes).encode()).hexdigest()[:32]}"


def _check_shards(lengths: Mapping[str, list[int]], axes: tuple[str, ...]) -> None:
    if not axes or axes[0] != "time":
        raise OptionError("shards are parts of time, which must be the first axis", fix="Write --axes time,….")
    for name, parts in lengths.items():
        if parts != lengths["true"]:
            raise InputError(
                f"{len(parts)} files of {sum(parts)} steps, those of --true are {len(lengths['true'])} of "
                f"{sum(lengths['true'])}",
                where=f"--{name}",
                fix="Shards go together in the order of their names.",
            )


def _whole(files: dict[str, list[ArrayFile]], name: str, path: str) -> Any:
    files[name] = [open_array(path)]
    return _values(files[name][0])


def _values(file: ArrayFile) -> Any:
    return _named(file, file.rows(0, len(file)))


def _named(file: ArrayFile, values: AnyArray) -> Any:
    """Rows with column names if the file has some."""
    names = file.columns
    if names is None:
        return values
    index = next((name for name in (names[0], names[-1]) if name.lower() in _INDEX), None)
    if index is not None:
        raise InputError(
            f"has a column {index!r}, but every column is a node, in the order of time",
            where=str(file.path),
            fix="Write the values alone: frame.to_csv(path, index=False), or to_parquet.",
        )
    return NamedColumns(values, names)


def _one_row(weights: Any) -> Any:
    """A table with one row of weights, whose columns are the nodes, as one weight per node."""
    if isinstance(weights, NamedColumns) and weights.shape[0] == 1:
        return LabelledRow(weights.values[0], weights.columns)
    return weights


# --------------------------------------------------------------------- tables


def _from_table(
    given: Mapping[str, Any], common: dict[str, Any], shown: dict[str, Any], progress: Progress
) -> tuple[Evaluation, ForecastState]:
    arrays = table_arrays(given["table"], columns=given["columns"], model=given["model"])
    if not {"std", "quantiles"} & set(arrays):
        ignored = [name for name in ("coverage", "bins") if FAMILY.fields[name].is_given(given[name])]
        require(TABLE_OF_POINTS, ["table", *ignored], (*FAMILY.forms, TABLE_OF_POINTS))
    nodes, ahead = arrays.pop("nodes"), arrays.pop("ahead", None)
    if common["naive"] is not None and not has_names(common["naive"]) and isinstance(nodes[0], str):
        progress.say(f"note: the columns of --naive are taken in the order of the ids, {nodes[0]} first")
    kept = given["save_state"] is not None
    shard = f"content {file_hash(given['table'])[:32]}" if kept else None
    state = _counting(given["metrics"], kept, shard=shard, nodes=nodes, ahead=ahead, **common)
    state.update(**arrays, start=0, nan=given["nan"], threads=given["threads"])
    return state.evaluate(**shown), state


def _truth_in(path: str, columns: Mapping[str, str] | None) -> dict[str, str]:
    """The hash of the truth in a table that also has the forecasts; none if it is too long to sort."""
    names, parts, rows = truth_columns(column_names(path), columns), [], 0
    for batch in column_batches(path, list(names.values())):
        parts.append(batch)
        rows += len(batch[names["y"]])
        if rows > _MOST_ROWS:
            return {}
    return {"truth": table_hash({role: np.concatenate([part[name] for part in parts]) for role, name in names.items()})}
