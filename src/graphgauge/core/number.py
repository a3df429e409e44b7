"""Numbers: how they stand in files, and how they are shown.

JSON has neither NaN nor infinity: in files a number is a float, "inf", "-inf" or null, and null is NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Number = float
else:

    class _AnyFloat(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, float)

    class Number(metaclass=_AnyFloat):
        """The type of a struct's field whose number may be NaN or infinite: a float in memory."""


SCHEMA = {"anyOf": [{"type": ["number", "null"]}, {"enum": ["inf", "-inf"]}]}
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


def from_file(value: Any) -> float:
    """The float that a value of a file stands for."""
    if value is None:
        return math.nan
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f'Expected a number, "inf", "-inf" or null, got {value!r:.60}')
    return float(value)


def plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's scalars and arrays, tuples and sets, and floats that JSON lacks."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return _plain_column(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _plain_column(values: np.ndarray[Any, Any]) -> list[Any]:
    if values.dtype.kind in "iub" or (values.dtype.kind == "f" and np.isfinite(values).all()):
        return list(values.tolist())
    return [plain(each) for each in values.tolist()]


def shown(value: Any) -> str:
    """A number as tables show it: four decimals, or six significant digits where those do not fit; integers whole.

    NaN is a dash, and there is no minus before a zero. Text stays as it is.
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if not isinstance(value, float | np.floating):
        return "–" if value is None else str(value)
    if value != value:
        return "–"
    size = abs(float(value))
    text = f"{value:.4f}" if 1e-3 <= size < 1000 and not size.is_integer() else f"{value:.6g}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def percent(level: float) -> str:
    """A level of confidence, with as many digits as tell it from 100 %."""
    digits = max(0, math.ceil(-math.log10(1 - level)) - 2) if level < 1 else 0
    return f"{100 * level:.{digits + 1}f}".rstrip("0").rstrip(".") + " %"


def plural(count: int, noun: str, several: str | None = None) -> str:
    """`1 query`, `2 queries`: a count with its noun."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
