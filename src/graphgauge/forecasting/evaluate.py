"""Evaluating forecasts: from arrays or a sample to results, with a breakdown by horizon and by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.forecasting.nodes import Extras, extras_of
from graphgauge.forecasting.results import COVERAGE, apart, report, request
from graphgauge.forecasting.sample import Reading, Sample
from graphgauge.forecasting.totals import Totals
from graphgauge.protocols import under_protocols


@under_protocols("forecasting")
def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    std: Any = None,
    quantiles: Any = None,
    levels: Sequence[float] | None = None,
    samples: Any = None,
    scores: Mapping[str, Any] | None = None,
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    nan: str = "raise",
    axes: Sequence[str] | Mapping[str, Any] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    weights: Any = None,
    history: Any = None,
    season: int = 1,
    graph: Any = None,
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    metrics: Any = None,
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Evaluate forecasts (time, horizon, node): points, Gaussians, quantiles, samples, or losses of your own.

    Parameters
    ----------
    y_true
        Truth: an array, a tensor, an array of xarray, or what `from_wide` makes of a frame.
    y_pred
        Point forecast of the same shape; the mean, with `std`.
    std
        Standard deviations: the forecasts are Gaussian.
    quantiles, levels
        Quantiles, with a last axis, and their probabilities.
    samples
        Members of an ensemble, with a last axis.
    scores
        Losses of your own by name, one number per cell; the lower the better.
    mask
        True where a cell counts.
    null_value, null_tolerance
        Truths that equal this number, up to the tolerance, are not observed.
    nan
        `raise`, or `omit`: cells with NaN are left out and counted.
    axes
        The axis of each dimension, of time, horizon, node and channel; for labelled arrays a mapping of axes to names
        of dimensions, such as `{"time": "init", "horizon": "lead", "node": ("lat", "lon")}`.
    labels
        Names along axes, such as `{"node": sensors}`.
    weights
        One per node: errors over several nodes are weighted means.
    history, season
        Earlier values (time, node), by whose seasonal naive errors `mase`, `rmsse` and `msis` are scaled.
    graph
        Adjacency matrix or edges, for `variogram_score`.
    coverage
        Levels of central intervals.
    bins
        Bins of predicted standard deviation, for `ece` and `ence`.
    metrics
        Keys, or "all"; by default the headlines.
    confidence
        Level of the intervals.
    protocol
        Evaluate as this benchmark does, such as "metr-la".

    Returns
    -------
    Evaluation
        A result per metric over all cells, and `by("horizon")`, `by("node")`; with channels `by("channel")`.

    Raises
    ------
    InputError
        If shapes or labels differ, a value is NaN, or a standard deviation is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> y = np.arange(24.0).reshape(4, 2, 3)
    >>> ev = forecasting.evaluate(y, y + [[[1.0], [3.0]]])
    >>> ev["mae"].value
    2.0
    >>> ev.by("horizon")["mae"].tolist()
    [1.0, 3.0]
    """
    arrays = {"y_true": y_true, "y_pred": y_pred, "std": std, "quantiles": quantiles, "samples": samples, "mask": mask}
    sample = Sample.from_arrays(arrays, scores, levels, Reading(axes, labels, null_value, null_tolerance, nan))
    extras = extras_of(sample, weights=weights, history=history, season=season, graph=graph)
    return evaluate_sample(sample, extras, coverage=coverage, bins=bins, metrics=metrics, confidence=confidence)


def evaluate_sample(
    sample: Sample,
    extras: Extras,
    *,
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    metrics: Any = None,
    confidence: float = 0.95,
) -> Evaluation:
    """`evaluate` for a sample."""
    confidence, bins = confidence_level(confidence), whole_number("bins", bins, 1)
    channels = sample.channels()
    if channels:
        options = {"coverage": coverage, "bins": bins, "metrics": metrics, "confidence": confidence}
        return apart({name: evaluate_sample(part, extras, **options) for name, part in channels.items()})
    asked = request(sample, extras, coverage, metrics)
    return report(Totals.of(sample, asked.design, extras), asked, bins=bins, confidence=confidence)
