"""An evaluation as named numbers for experiment trackers."""

from __future__ import annotations

import math

from graphgauge.core.result import Evaluation


def tracked(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Values and the bounds of their intervals: `mrr`, `mrr.low`, `mrr.high`. NaN is left out: it is not a point of a
    curve, and its reason is in the result file logged with the numbers."""
    numbers = {}
    for key, result in evaluation.items():
        numbers[key] = float(result)
        if result.interval is not None:
            numbers |= {f"{key}.low": result.interval.low, f"{key}.high": result.interval.high}
    return {f"{prefix}{name}": value for name, value in numbers.items() if not math.isnan(value)}
