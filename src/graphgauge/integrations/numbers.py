"""An evaluation as named numbers for experiment trackers."""

from __future__ import annotations

import math

from graphgauge.old.core.evaluation import Evaluation


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
