"""An evaluation as named numbers for experiment trackers."""

from __future__ import annotations

import math

from graphgauge.core.evaluation import Evaluation


def tracked(evaluation: Evaluation, prefix: str = "") -> dict[str, float]:
    """Values and the bounds of their intervals: `mrr`, `mrr.low`, `mrr.high`. An interval that may cover less than its
    level also has `mrr.approximate`, which is 1, and `mrr.expected_coverage` where it is known. NaN is left out: it is
    not a point of a curve, and its reason is in the result file logged with the numbers."""
    numbers = {}
    for key, result in evaluation.items():
        numbers[key] = float(result)
        interval = result.interval
        if interval is None:
            continue
        numbers |= {f"{key}.low": interval.low, f"{key}.high": interval.high}
        if interval.approximate:
            numbers[f"{key}.approximate"] = 1.0
        if interval.expected_coverage is not None:
            numbers[f"{key}.expected_coverage"] = interval.expected_coverage
    return {f"{prefix}{name}": value for name, value in numbers.items() if not math.isnan(value)}
