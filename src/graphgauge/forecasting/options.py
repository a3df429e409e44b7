"""Check the options of a forecasting evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.options import whole_number
from graphgauge.old.core.metric import asked

AXES = ("time", "horizon", "node")
# An axis of variables, which is read as part of the nodes.
CHANNEL = "channel"
COVERAGE = (0.5, 0.8, 0.95)
_MOST_BINS = 1_000_000


def checked_axes(axes: Iterable[str]) -> tuple[str, ...]:
    """Names of axes, all known and without duplicates."""
    if not isinstance(axes, Iterable):
        raise OptionError(f"axes must be names such as time, horizon, node, not {axes!r:.60}")
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    for name in names:
        if name not in (*AXES, CHANNEL):
            raise UnknownNameError("axis", str(name), (*AXES, CHANNEL))
    if len(set(names)) != len(names) or "time" not in names:
        raise OptionError(
            f"axes {names} are not valid", fix="Name time, and horizon and node if there are any, each once."
        )
    return names


def probabilities(levels: Any, name: str) -> tuple[float, ...]:
    """One or several numbers between 0 and 1."""
    try:
        values = as_numeric(levels, name)
    except InputError:
        values = np.empty((0, 0))
    if values.ndim > 1 or values.dtype.kind == "b":
        raise OptionError(f"{name} must be probabilities such as 0.1, 0.5, 0.9, not {levels!r:.60}")
    numbers = as_written(values)
    for level in numbers:
        if not 0 < level < 1:
            raise OptionError(f"{name} must be between 0 and 1, not {level:g}", fix="Write 0.95 for 95 %.")
    return numbers


def as_written(values: AnyArray) -> tuple[float, ...]:
    """Numbers in float64; those of shorter floats as they are written, so that 0.1 in float32 is 0.1."""
    short = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return tuple(float(str(value)) if short else float(value) for value in values.ravel())


def checked_levels(levels: Any, name: str = "levels") -> tuple[float, ...]:
    """Probabilities that increase."""
    values = probabilities(levels, name)
    if list(values) != sorted(set(values)):
        raise OptionError(
            f"{name} do not increase: {', '.join(f'{level:g}' for level in values):.120}",
            fix="Sort them, and what belongs to them.",
        )
    if len({f"{level:g}" for level in values}) < len(values):
        raise OptionError(f"{name} are equal to six digits: {', '.join(map(repr, values)):.120}", fix="Round them.")
    return values


def interval_levels(coverage: Any, metrics: Sequence[str] | None) -> tuple[float, ...]:
    """The levels in `coverage`, and those in the names of the metrics."""
    levels = list(probabilities(coverage, "coverage"))
    for item in asked("forecasting", metrics) if metrics else ():
        if "level" in item.params and not item.is_open:
            levels.append(item.params["level"] / 100)
    return checked_levels(sorted({round(level, 10) for level in levels}), "coverage")


def checked_bins(bins: int) -> int:
    return whole_number("bins", bins, 1, _MOST_BINS)


def checked_start(start: int | None) -> int:
    """The index of a time step; 0 by default."""
    return 0 if start is None else whole_number("start", start, 0, (1 << 40) - 1)


def listed(values: Any) -> list[Any]:
    """One or several values as a plain Python list."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    return [plain] if isinstance(plain, str) or not isinstance(plain, Iterable) else list(plain)
