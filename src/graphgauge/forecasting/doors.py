"""Forecasting from files: arrays, and long tables."""

from __future__ import annotations

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, Door, Input, Option

_COVERAGE = Option("coverage", tuple[float, ...], (0.95,), "Levels of central intervals.", 0, 1, inside=True)
_NULL = Option("null_value", float | None, None, "Truths that equal it are not observed.")
_NEAR = Option("null_tolerance", float, 0.0, "How far from it they may be.", 0)
_SEASON = Option("season", int, 1, "Steps of a season, for the naive errors of the history.", 1)

DOORS = (
    Door(
        "",
        "Forecasts in arrays (time, horizon, node): points, Gaussians, quantiles or samples.",
        "graphgauge.forecasting:evaluate",
        inputs=(
            Input("true", "Truth.", required=True, many="parts", argument="y_true"),
            Input("pred", "Point forecast; the mean, with std.", many="parts", argument="y_pred"),
            Input("std", "Standard deviations.", many="parts"),
            Input("quantiles", "Quantiles, along a last axis.", many="parts"),
            Input("samples", "Members of an ensemble, along a last axis.", many="parts"),
            Input("scores", "Losses of your own, an array per name.", many="named"),
            Input("mask", "True where a cell counts.", many="parts"),
            Input("history", "Earlier values (time, node), for mase and rmsse."),
            Input("weights", "One per node."),
        ),
        options=(
            Option("levels", tuple[float, ...] | None, None, "Probabilities of the quantiles.", 0, 1, inside=True),
            Option("axes", tuple[str, ...] | None, None, "Axis of each dimension: time, horizon, node, channel."),
            _NULL,
            _NEAR,
            _SEASON,
            _COVERAGE,
        ),
        example="graphgauge forecasting --true true.npy --pred mean.npy --std std.npy",
        common=(METRICS, PROTOCOL, CONFIDENCE, NAN),
        of_state=(
            *("axes", "levels", "null_value", "null_tolerance", "nan"),
            *("history", "season", "weights", "coverage"),
        ),
    ),
    Door(
        "table",
        "Long tables, a row per cell, with the columns of Nixtla's libraries or others.",
        "graphgauge.forecasting:evaluate_table",
        inputs=(
            Input("table", "The rows.", kind="table", required=True),
            Input("history", "The training table, for mase and rmsse.", kind="table"),
        ),
        options=(
            Option("model", str | None, None, "A model by its column, with those of its intervals."),
            Option("id", str, "unique_id", "Column of the series."),
            Option("time", str, "ds", "Column of times."),
            Option("y", str, "y", "Column of truths."),
            Option("cutoff", str, "cutoff", "Column of issue times, if there is one."),
            Option("horizon", str | None, None, "Column of horizons; counted from the cutoffs without one."),
            Option("pred", str | None, None, "Column of the point forecast, in place of model."),
            Option("std", str | None, None, "Column of standard deviations."),
            Option("samples", tuple[str, ...] | None, None, "Columns of members."),
            _NULL,
            _SEASON,
            _COVERAGE,
            Option("bins", int, 10, "Bins of predicted standard deviation.", 1),
        ),
        example="graphgauge forecasting table --table cross_validation.csv --model AutoARIMA",
        common=(METRICS, PROTOCOL, CONFIDENCE, NAN),
    ),
)
