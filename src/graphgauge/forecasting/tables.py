"""Long tables, a row per cell, as Nixtla's libraries make them: data frames of any library, or columns in a mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting import reading
from graphgauge.forecasting.evaluate import COVERAGE, evaluate_sample
from graphgauge.forecasting.labelled import columns_of, labels_of, shown
from graphgauge.forecasting.sample import Rows, Sample, loss_of
from graphgauge.protocols import under_protocols

_BOUND = re.compile(r"-(lo|hi)-(\d+(?:\.\d+)?)")
# Days: of seconds, minutes, hours, days with a change of clocks, weeks, months, quarters and years.
_MINUTES = (1 / 60, 1, 5, 10, 15, 30, 60, 23 * 60, 24 * 60, 25 * 60)
_USUAL = (*(minutes / 1440 for minutes in _MINUTES), 7, 28, 29, 30, 31, 89, 90, 91, 92, 365, 366)
_QUANTILE = re.compile(r"(?:-q-|_q|-ql|_ql)(0?\.\d+)")


@under_protocols("forecasting")
def evaluate_table(
    table: Any,
    *,
    model: str | None = None,
    id: str = "unique_id",
    time: str = "ds",
    y: str = "y",
    cutoff: str = "cutoff",
    horizon: str | None = None,
    pred: str | None = None,
    std: str | None = None,
    quantiles: Mapping[float, str] | None = None,
    samples: Sequence[str] | None = None,
    scores: Sequence[str] | None = None,
    history: Any = None,
    season: int = 1,
    weights: Mapping[Any, float] | None = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    nan: str = "raise",
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    metrics: Any = None,
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Evaluate a long table, a row per cell: a frame of pandas, polars or pyarrow, or a mapping of columns.

    Without a column of horizons they are the steps from a row's cutoff to its time, of one length in all series;
    without cutoffs there is one horizon. Series may differ in length, start and cutoffs.

    Parameters
    ----------
    table
        The rows.
    model
        A model as Nixtla names it: its column, with `-lo-90` and `-hi-90`, `-median` or `_q0.1` where there are any.
    id, time, y, cutoff, horizon
        Columns of series, times, truths, issue times (if there is one) and horizons.
    pred, std, quantiles, samples, scores
        Columns of the forecast, in place of `model`; quantiles by level.
    history, season
        The training table, with the same columns of series, times and truths, for `mase`, `rmsse` and `msis`; rows
        after a series' first cutoff are refused.
    weights
        One per series, by its id.
    null_value, null_tolerance, nan, coverage, bins, metrics, confidence, protocol
        As in `evaluate`.

    Returns
    -------
    Evaluation
        As from `evaluate`; a node is a series.

    Raises
    ------
    InputError
        If a column is missing, a cell has two rows, or horizons cannot be counted.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> table = {"unique_id": ["a", "a", "b", "b"], "ds": [1, 2, 1, 2], "y": [1, 2, 3, 4], "Naive": [1, 2, 3, 6]}
    >>> forecasting.evaluate_table(table, model="Naive")["mae"].value
    0.5
    """
    columns = columns_of(table)
    for name in (id, time, *([] if cutoff == "cutoff" else [cutoff])):
        _column(columns, name)
    if y not in columns:
        what = f"no column {y!r:.60} of true values; it has {', '.join(columns):.200}"
        fix = f'Join them, in pandas table.merge(truth, on=["{id}", "{time}"]), or name them: y=.'
        raise InputError(what, where="table", fix=fix)
    if model is not None:
        if any(given is not None for given in (pred, quantiles, samples)):
            raise OptionError("model= names the columns of the forecast", fix="Leave pred, quantiles and samples out.")
        pred, quantiles = _of_model(columns, model)
    if pred is None and quantiles is None and samples is None and not scores:
        ours = (id, time, y, cutoff, horizon)
        others = [name for name in columns if name not in ours and not _BOUND.search(name)]
        raise InputError(
            f"which column is the forecast? It could be {', '.join(others) or 'none'}"[:300],
            where="table",
            fix=f'Pass model="{others[0] if others else "…"}", or pred=.',
        )
    ids, node = _ranked(labels_of(_column(columns, id), f"column {id!r}"))
    times = labels_of(_column(columns, time), f"column {time!r}")
    issued = labels_of(columns[cutoff], f"column {cutoff!r}") if cutoff in columns else None
    given = None if horizon is None else labels_of(_column(columns, horizon), f"column {horizon!r}")
    if given is not None and given.dtype.kind == "U":
        with suppress(ValueError):
            given = given.astype(np.int64)
    when = {time: times} if issued is None or given is None else {}
    _refuse_twice({id: ids[node], **when, cutoff: issued, str(horizon): given}, "table")
    # A number of steps after a time without a cutoff has its horizon instead.
    known, step = _ranked(times if issued is None else issued)
    _refuse_unordered(known, "table")
    if given is None:
        given = np.ones(len(step), np.int64) if issued is None else _steps_ahead(node, times, issued)
    ahead, number = _ranked(given)
    arrays: dict[str, Any] = {"y_true": _numbers(columns, y)}
    arrays |= {name: _numbers(columns, at) for name, at in (("y_pred", pred), ("std", std)) if at is not None}
    by_level = {float(level): name for level, name in sorted((quantiles or {}).items())}
    if by_level:
        arrays["quantiles"] = np.stack([_numbers(columns, name) for name in by_level.values()], axis=1)
    if samples is not None:
        arrays["samples"] = np.stack([_numbers(columns, name) for name in samples], axis=1)
    losses = tuple(reading.score_name(name) for name in scores or ())
    arrays |= {loss_of(name): _numbers(columns, name) for name in losses}
    sample = reading.checked(
        arrays,
        (len(known), len(ahead), len(ids)),
        reading.Reading(null_value=null_value, null_tolerance=null_tolerance, nan=nan),
        levels=tuple(by_level),
        scores=losses,
        rows=Rows(step, number, node),
    )
    axes = ("time", "horizon", "node") if cutoff in columns or horizon else ("time", "node")
    sample = replace(sample, axes=axes, labels={"time": known, "horizon": ahead, "node": ids})
    season = reading.season_of(season, history)
    past = None if history is None else columns_of(history)
    naive = None if past is None else _naive_errors(past, sample, season, id, time, y, issued=issued is not None)
    if weights is not None and not hasattr(weights, "items"):
        raise OptionError("weights of a table are by series", fix="Pass weights={id: weight, …}.")
    extras = reading.Extras(None if weights is None else reading.weights_by_name(weights, ids), naive)
    return evaluate_sample(sample, extras, coverage=coverage, bins=bins, metrics=metrics, confidence=confidence)


def _column(columns: Mapping[str, AnyArray], name: str) -> AnyArray:
    if name not in columns:
        raise InputError(f"no column {name!r:.60}; it has {', '.join(columns):.200}", where="table", fix="Name it.")
    return columns[name]


def _numbers(columns: Mapping[str, AnyArray], name: str) -> AnyArray:
    values = _column(columns, name)
    if values.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            values = np.array([np.nan if value is None else value for value in values.tolist()], np.float64)
    if values.dtype.kind not in "fiub":
        raise InputError(f"column {name!r:.60} has values that are not numbers", where="table")
    return values


def _of_model(columns: Mapping[str, AnyArray], model: str) -> tuple[str | None, dict[float, str] | None]:
    """The point forecast of a model, and its quantiles if the table has bounds of intervals."""
    levels: dict[float, str] = {}
    for name in columns:
        rest = name[len(model) :] if name.startswith(model) else ""
        bound, quantile = _BOUND.fullmatch(rest), _QUANTILE.fullmatch(rest)
        level = 0.5 if rest == "-median" else float(quantile[1]) if quantile else None
        if bound is not None:
            tail = (1 - float(bound[2]) / 100) / 2
            level = round(tail if bound[1] == "lo" else 1 - tail, 10)
        if level in levels:
            what = f"columns {levels[level]!r} and {name!r} are both the quantile {level:g} of {model!r}"
            raise InputError(what[:200], where="table", fix="Drop one of them.")
        if level is not None:
            levels[level] = name
    if model not in columns and not levels:
        known = [name for name in columns if not _BOUND.search(name)]
        raise InputError(f"no column {model!r:.60}; it has {', '.join(known):.200}", where="table")
    return model if model in columns else None, levels or None


def _ranked(labels: AnyArray) -> tuple[AnyArray, Ints]:
    """The distinct labels, sorted, and which of them each row has."""
    if not len(labels):
        raise InputError("no rows", where="table")
    known, place = np.unique(labels, return_inverse=True)
    return known, place.astype(np.int64)


def _refuse_unordered(times: AnyArray, where: str) -> None:
    if times.dtype.kind == "U" and (times != times[0]).any():
        fix = "Write them as 2026-01-31, or as numbers."
        raise InputError(f"times such as {str(times[0])!r:.40}, whose order is unknown", where=where, fix=fix)


def _steps_ahead(node: Ints, times: AnyArray, issued: AnyArray) -> Ints:
    """How many steps of its series each time is after its issue time."""
    ahead = None
    if times.dtype.kind == issued.dtype.kind and times.dtype.kind in "iufM":
        if not (times > issued).all():
            row = int(np.argmin(times > issued))
            raise InputError(f"time {shown(times[row])} is not after its cutoff {shown(issued[row])}", where="table")
        ahead = reading.steps_since(issued, times, node)
        if ahead is not None and ((ahead > 1).any() or _is_usual((times - issued).min())):
            return ahead
    raise InputError(
        "times are not whole steps after their cutoffs, of one length in all series: horizons cannot be counted"
        if ahead is None
        else f"one horizon, {shown((times - issued).min())} after each cutoff: its number cannot be counted",
        where="table",
        fix='Write times as dates or whole numbers, or add a column of horizons and pass horizon="…".',
    )


def _is_usual(step: Any) -> bool:
    """Whether a step is 1, or usual between dates; of a table with one horizon, another may be several steps."""
    days = isinstance(step, np.timedelta64)
    return bool(np.isclose(step / np.timedelta64(1, "D"), _USUAL, rtol=1e-9).any() if days else step == 1)


def _refuse_twice(given: Mapping[str, AnyArray | None], where: str) -> None:
    """Refuse rows of which all keys are equal."""
    keys = {name: each for name, each in given.items() if each is not None}
    cells = np.stack([np.unique(each, return_inverse=True)[1] for each in keys.values()])
    order = np.lexsort(cells)
    again = np.flatnonzero((np.diff(cells[:, order], axis=1) == 0).all(axis=0))
    if len(again):
        row = order[again[0] + 1]
        at = ", ".join(f"{name} {shown(values[row])}" for name, values in keys.items())
        raise InputError(f"more than one row has {at:.120}", where=where, fix="A cell is one row: drop the others.")


def _naive_errors(
    columns: Mapping[str, AnyArray], sample: Sample, season: int, id: str, time: str, y: str, *, issued: bool
) -> Floats:
    """The naive errors of each series in its training rows (2, series), none of which may be after its first cutoff.

    Without cutoffs, which the sample's times are if they are `issued`, none may be from its first forecast on.
    """
    ids = sample.labels["node"]
    known, node = _ranked(labels_of(_column(columns, id), f"history, column {id!r}"))
    place = np.searchsorted(known, ids)
    missing = np.flatnonzero(known[np.minimum(place, len(known) - 1)] != ids)
    if len(missing):
        what = f"has no rows of {str(ids[missing[0]])!r:.60}, which the table has"
        raise InputError(what, where="history", fix="Pass the training table of the same series.")
    times = labels_of(_column(columns, time), f"history, column {time!r}")
    _refuse_unordered(times, "history")
    _refuse_twice({id: known[node], time: times}, "history")
    before, rows = sample.labels["time"], sample.rows
    assert rows is not None
    if (before.dtype.kind == "M") != (times.dtype.kind == "M"):
        what = f"its times are {times.dtype}, those of the table {before.dtype}"
        raise InputError(what, where="history", fix="Give both dates, or both numbers.")
    first = np.full(len(known), len(before))
    np.minimum.at(first, place[rows.node], rows.step)
    late = np.flatnonzero(np.searchsorted(before, times, "left" if issued else "right") > first[node])
    if len(late):
        row, of = late[0], f" of {str(known[node[late[0]]])!r:.60}"
        reading.refuse_late(times[row], before[first[node[row]]], issued=issued, of=of)
    order = np.lexsort((times, node))
    values, node, times = _numbers(columns, y)[order], node[order], times[order]
    return reading.naive_errors(values, node, reading.steps_of(times, node), len(known), season, sample.null)[:, place]
