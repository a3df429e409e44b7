"""`graphgauge forecasting …`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import prod
from typing import Any

import click
import numpy as np

from graphgauge.cli.common import Inputs, Run, family_options, progress
from graphgauge.cli.types import INTEGERS, NAMES, NUMBERS
from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Evaluation
from graphgauge.forecasting import ForecastState, evaluate
from graphgauge.forecasting.evaluate import empty_state
from graphgauge.forecasting.labels import NamedColumns
from graphgauge.forecasting.options import AXES, COVERAGE, interval_levels
from graphgauge.forecasting.rows import Once
from graphgauge.io.arrays import ArrayFile, open_array, open_arrays
from graphgauge.io.hashing import file_hash, receipt_input, receipt_inputs
from graphgauge.io.tables import column_batches, column_names

_ARRAYS = {
    "true": "y_true",
    "pred": "y_pred",
    "std": "std",
    "quantiles": "quantiles",
    "samples": "samples",
    "mask": "mask",
}
_KEYS = ("id", "time", "horizon")
# The forms of a call, and the options of each in addition to the common ones. Others are refused.
_SHARED_BY_ARRAYS = ("true", "pred", "mask", "axes", "start")
FORMS: dict[str, tuple[str, ...]] = {
    "a point forecast": _SHARED_BY_ARRAYS,
    "--std": (*_SHARED_BY_ARRAYS, "std", "coverage", "bins"),
    "--quantiles": (*_SHARED_BY_ARRAYS, "quantiles", "levels", "coverage"),
    "--samples": (*_SHARED_BY_ARRAYS, "samples", "coverage"),
    "--table": ("table", "coverage", "bins"),
    "--table without a column std": ("table",),
}
EVERY_FORM = ("null_value", "horizons", "by", "naive", "season", "save_state")
# Options that need another one.
_BESIDE = {"start": "save_state", "season": "naive"}
_DEFAULTS: dict[str, Any] = {"axes": AXES, "coverage": COVERAGE, "bins": 10}
# The most table cells that are checked for a second row, one bit per cell.
_MOST_CELLS = 1 << 33


class _FormCommand(click.Command):
    """Refuses options of another form while parsing, so that a study fails before it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        _require_form(ctx.params)
        return rest


def _require_form(options: Mapping[str, Any]) -> None:
    """Refuse options that the form of the call would ignore."""
    given = [name for name in (*dict.fromkeys(sum(FORMS.values(), ())), *EVERY_FORM)
             if options.get(name) not in (None, (), _DEFAULTS.get(name))]  # fmt: skip
    kinds = [name for name in ("std", "quantiles", "samples") if name in given]
    if len(kinds) > 1:
        raise OptionError(f"{' and '.join(map(_flag, kinds))} are given", fix="A forecast is one of them.")
    form = "--table" if "table" in given else _flag(kinds[0]) if kinds else "a point forecast"
    _refuse_ignored(form, given)
    for name, other in _BESIDE.items():
        if name in given and other not in given:
            raise OptionError(f"{_flag(name)} needs {_flag(other)}", fix="Pass both, or leave it out.")
    if "horizons" in given and "horizon" not in options["by"]:
        raise OptionError("--horizons needs --by horizon", fix="Pass both, or leave it out.")


def _refuse_ignored(form: str, given: Sequence[str]) -> None:
    for name in given:
        if name not in (*FORMS[form], *EVERY_FORM):
            known = [other for other, names in FORMS.items() if name in names]
            raise OptionError(
                f"{_flag(name)} cannot be used with {form}", fix=f"It goes with {', '.join(known)}; leave it out here."
            )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@click.command(name="forecasting", cls=_FormCommand)
@click.option("--true", multiple=True, help="The truth: a file or quoted pattern, shards in time order. Repeatable.")
@click.option("--pred", multiple=True, help="The forecast, of the same shape, likewise.")
@click.option("--std", multiple=True, help="Standard deviations of Gaussian forecasts.")
@click.option("--quantiles", multiple=True, help="Quantiles along a last axis, with --levels.")
@click.option("--levels", type=NUMBERS, help="The probabilities of the quantiles, separated by commas.")
@click.option("--samples", multiple=True, help="Members or draws along a last axis.")
@click.option("--table", help="Instead of arrays: a .parquet or .csv with columns id, time, horizon, y, mean, std.")
@click.option("--mask", multiple=True, help="Booleans: which cells were observed.")
@click.option("--null-value", type=float, help="Truth value of missing observations: 0 in traffic data, or nan.")
@click.option("--axes", type=NAMES, default=",".join(AXES), show_default=True, help="Names of the axes, in order.")
@click.option("--horizons", type=INTEGERS, help="Steps ahead to report by horizon, 1 the first.")
@click.option("--by", type=NAMES, default="", help="Break down by these axes: horizon, node.")
@click.option(
    "--coverage", type=NUMBERS, default=",".join(f"{level:g}" for level in COVERAGE), show_default=True,
    help="Levels of the prediction intervals.",
)  # fmt: skip
@click.option("--bins", type=click.IntRange(min=1), default=10, show_default=True, help="Bins of ece and ence.")
@click.option("--naive", help="The history (time, node), for mase.")
@click.option("--season", type=click.IntRange(min=1), help="Lag of the seasonal naive forecast.")
@click.option("--start", type=click.IntRange(min=0), help="Time step at which the arrays begin, for states to merge.")
@click.option("--save-state", type=click.Path(dir_okay=False), help="Write the sums, for `graphgauge merge`.")
@family_options
def command(
    run: Run, save_state: str | None, naive: str | None, table: str | None, horizons: tuple[int, ...] | None,
    by: tuple[str, ...], bins: int, **sources: Any,
) -> tuple[Evaluation, Inputs]:  # fmt: skip
    """Measure forecasts: errors, scores, calibration and coverage.

    Arrays (.npy memory-mapped, .npz, .pt, .safetensors) and tables (.parquet, .csv) are read in blocks.
    """
    _require_form(sources | {"table": table, "naive": naive, "save_state": save_state, "horizons": horizons, "by": by,
                             "bins": bins})  # fmt: skip
    files: dict[str, list[ArrayFile]] = {}
    history = None if naive is None else _whole(files, "naive", naive)
    common = {"coverage": sources.pop("coverage"), "season": sources.pop("season"), "naive": history,
              "null_value": sources["null_value"]}  # fmt: skip
    shown = {"horizons": horizons, "by": by or (), "bins": bins, "metrics": run.metric_keys, "nan": run.nan,
             "confidence": run.confidence, "seed": run.seed}  # fmt: skip
    given = {name: patterns for name in _ARRAYS if (patterns := sources.pop(name))}
    if table is None and not given:
        raise OptionError("give --true and --pred, or --table")
    state: ForecastState | None
    if table is not None:
        state = _from_table(run, table, common | {"bins": bins}, save_state is not None)
        evaluation = state.evaluate(**shown)
    else:
        files |= {name: open_arrays(patterns) for name, patterns in given.items()}
        evaluation, state = _from_arrays(run, files, sources, common, shown, save_state is not None)
    if save_state is not None:
        assert state is not None
        if sources["start"] is None:
            state.forget_place()
        state.save(save_state)

    def inputs() -> list[Mapping[str, Any]]:
        opened: list[Mapping[str, Any]] = [
            entry for name, parts in files.items() for entry in receipt_inputs(name, parts)
        ]
        return opened if table is None else [*opened, receipt_input("table", table)]

    return evaluation, inputs


# --------------------------------------------------------------------- arrays


def _from_arrays(
    run: Run, files: Mapping[str, list[ArrayFile]], sources: Mapping[str, Any], common: dict[str, Any],
    shown: dict[str, Any], streamed: bool,
) -> tuple[Evaluation, ForecastState | None]:  # fmt: skip
    if "true" not in files:
        raise OptionError("--true missing")
    arrays = {name: parts for name, parts in files.items() if name in _ARRAYS}
    reading = {name: sources[name] for name in ("levels", "null_value")}
    if not streamed and all(len(parts) == 1 for parts in arrays.values()):
        # Memory-mapped arrays are read in slabs, twice if bins of spread must be exact.
        whole: dict[str, Any] = {_ARRAYS[name]: _values(parts[0]) for name, parts in arrays.items()}
        return evaluate(**whole, **common | reading, axes=sources["axes"], threads=run.threads, **shown), None
    _refuse_twice(arrays["true"])
    lengths = {name: [len(part) for part in parts] for name, parts in arrays.items()}
    _check_shards(lengths, sources["axes"])
    placed = not streamed or sources["start"] is not None
    shard = None if placed else _content([file for parts in arrays.values() for file in parts])
    state = _counting(run, streamed, axes=sources["axes"], shard=shard, **common)
    edges = np.cumsum([0, *lengths["true"]]).tolist()
    blocks = [slice(first, last) for first, last in itertools.pairwise(edges)]
    for number, block in enumerate(progress(blocks, edges[-1], run)):
        part: dict[str, Any] = {_ARRAYS[name]: _values(parts[number]) for name, parts in arrays.items()}
        try:
            state.update(
                **part, **reading, start=(sources["start"] or 0) + block.start, nan=run.nan, threads=run.threads
            )
        except InputError as error:
            where = f"{error.where or 'shard'} ({arrays['true'][number].path.name} and its counterparts)"
            raise type(error)(error.what, where=where, fix=error.fix) from None
    return state.evaluate(**shown), state


def _counting(run: Run, kept: bool, **options: Any) -> ForecastState:
    """A state for the requested metrics; a saved one counts everything, because later requests may differ."""
    levels = interval_levels(options.pop("coverage"), run.metric_keys)
    return empty_state(**options, coverage=levels, metrics=None if kept else run.metric_keys)


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
                f"{sum(lengths['true'])}", where=f"--{name}", fix="Shards go together in the order of their names.",
            )  # fmt: skip


def _whole(files: dict[str, list[ArrayFile]], name: str, path: str) -> Any:
    files[name] = [open_array(path)]
    return _values(files[name][0])


def _values(file: ArrayFile) -> Any:
    """All rows, with column names if the file has some."""
    values = file.rows(0, len(file))
    return values if file.columns is None else NamedColumns(values, file.columns)


# --------------------------------------------------------------------- tables


def _from_table(run: Run, path: str, options: dict[str, Any], kept: bool) -> ForecastState:
    """Two passes: first the nodes, times and horizons, then the sums."""
    there = column_names(path)
    if "std" not in there:
        given = [name for name in ("coverage", "bins") if options[name] != _DEFAULTS[name]]
        _refuse_ignored("--table without a column std", given)
    del options["bins"]
    keys = [name for name in _KEYS if name in there or name != "horizon"]
    labels = {name: _distinct(path, name) for name in keys}
    labels.setdefault("horizon", np.array([1]))
    if labels["horizon"].dtype.kind not in "iu":
        raise InputError(f"column 'horizon' has {labels['horizon'].dtype}, not whole numbers", where=path)
    shape = len(labels["time"]), len(labels["horizon"]), len(labels["id"])
    if options["naive"] is not None and labels["id"].dtype.kind not in "iu":
        run.say(f"note: the columns of --naive are taken in the order of the ids, {labels['id'][0]} first")
    if labels["time"].dtype.kind == "U" and shape[0]:
        run.say(f"note: times are text, in alphabetical order: {labels['time'][0]} … {labels['time'][-1]}")
    shard = f"content {file_hash(path)[:32]}" if kept else None
    names = {"nodes": labels["id"].tolist(), "ahead": labels["horizon"].tolist()}
    state = _counting(run, kept, shard=shard, **names, **options)
    values = ["y", "mean", *(["std"] if "std" in there else [])]
    once = Once(shape) if prod(shape) <= _MOST_CELLS else None
    if once is None:
        run.say(f"note: {prod(shape):,} cells are too many to check for duplicate rows")
    for batch in column_batches(path, [*keys, *values]):
        place = {name: np.searchsorted(labels[name], batch[name]) for name in keys}
        count = len(batch["y"])
        horizon = place.get("horizon", np.zeros(count, np.int64))
        if once is not None and len(again := once.again(place["time"], horizon, place["id"])):
            cell = ", ".join(f"{name} {batch[name][again[0]]}" for name in keys)
            raise InputError(
                f"more than one row has {cell:.120}", where=path, fix="A cell is one row: drop the others."
            )
        cells = [_numbers(batch[name], path, name) for name in values]
        state.update_rows(place["time"], horizon, place["id"], *cells, shape=shape, nan=run.nan)
    if state.layout is None:
        raise InputError("has no rows", where=path)
    return state


def _distinct(path: str, name: str) -> AnyArray:
    found: AnyArray | None = None
    for batch in column_batches(path, [name]):
        column = np.unique(batch[name])
        found = column if found is None else np.unique(np.concatenate(_alike(found, column, path, name)))
    if found is None:
        raise InputError("has no rows", where=path)
    if np.isnan(found).any() if found.dtype.kind == "f" else found.dtype.kind == "U" and "" in found:
        raise InputError(f"column {name!r} has empty cells", where=path)
    return found


def _alike(one: AnyArray, other: AnyArray, path: str, name: str) -> tuple[AnyArray, AnyArray]:
    if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
        raise InputError(f"column {name!r} has text in some rows and numbers in others", where=path)
    return one, other


def _numbers(column: AnyArray, path: str, name: str) -> AnyArray:
    if column.dtype.kind not in "fiu":
        raise InputError(f"column {name!r} has values that are not numbers", where=path)
    return column
