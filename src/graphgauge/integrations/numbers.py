"""An evaluation as named numbers for experiment trackers."""

from __future__ import annotations

import math

from graphgauge.core.content import content_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.sealed import encode


def tracked(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Values and the bounds of their intervals: `mrr`, `mrr.low`, `mrr.high`. NaN is left out: it is not a
    point of a curve, and its reason is in the result file logged with the numbers."""
    numbers = {}
    for key, result in evaluation.items():
        numbers[key] = float(result)
        interval = result.interval
        if interval is not None:
            numbers |= {f"{key}.low": interval.low, f"{key}.high": interval.high}
    return {f"{prefix}{name}": value for name, value in numbers.items() if not math.isnan(value)}


def result_text(evaluation: Evaluation) -> str:
    """The result file of an evaluation."""
    return encode(content_of(evaluation))
