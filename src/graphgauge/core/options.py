"""Options of all families, with their checks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from graphgauge.core.errors import OptionError, one_of

NAN_POLICIES = ("raise", "omit")


def whole_number(name: str, value: Any, least: int | None = 0, most: int | None = None) -> int:
    """`value` as Python's int; anything else, including True and 1.0, is an error."""
    is_whole = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not is_whole or (least is not None and value < least) or (most is not None and value > most):
        span = "" if least is None else f" of at least {least}" if most is None else f" from {least} to {most:,}"
        raise OptionError(f"{name} must be a whole number{span}, not {value!r:.60}")
    return int(value)


def number(
    name: str, value: Any, low: float | None = None, high: float | None = None, *, inside: bool = False
) -> float:
    """`value` as Python's float, between `low` and `high` and not the ends themselves or infinity if `inside`."""
    real = isinstance(value, Real) and not isinstance(value, bool) and value == value
    ends = real and (low is None or value >= low) and (high is None or value <= high)
    if not real or not ends or (inside and value in (low, high, math.inf)):
        raise OptionError(f"{name} must be {_span(low, high, inside)}, not {value!r:.60}").about(name)
    return float(value)


def _span(low: float | None, high: float | None, inside: bool) -> str:
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    if low is not None:
        return f"a number above {low:g}" if inside else f"a number of at least {low:g}"
    return "a number" if high is None else f"a number {'below' if inside else 'of at most'} {high:g}"


def confidence_level(confidence: Any) -> float:
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        shown = f"{float(confidence):g}" if isinstance(confidence, Real) else f"{confidence!r:.60}"
        raise OptionError(f"confidence must be between 0 and 1, not {shown}", fix="Use 0.95 for a 95 % interval.")
    return float(confidence)


def nan_policy(nan: Any) -> str:
    return one_of("nan", nan, NAN_POLICIES)


def metric_names(metrics: Any) -> list[str] | None:
    """The names in `metrics=`, one or several; None means the default metrics."""
    if metrics is None:
        return None
    names = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else list(metrics)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"metrics must be names of metrics, not {metrics!r:.60}", fix='For example metrics=["mrr"].')
    if not names:
        raise OptionError("no metrics asked for", fix="Leave metrics= out to get the default ones.")
    return names
