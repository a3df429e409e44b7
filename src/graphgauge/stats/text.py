"""Numbers in sentences and tables of statistics: as many digits as their spread justifies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from graphgauge.core.number import plural

_MOST_DIGITS = 10


def decimals(spread: float, value: float = 0.0) -> int:
    """Decimals that show two digits of the spread, or four of the value if there is no spread."""
    if math.isfinite(spread) and spread > 0:
        return min(max(1 - math.floor(math.log10(spread)), 0), _MOST_DIGITS)
    if math.isfinite(value) and value != 0 and not float(value).is_integer():
        return min(max(3 - math.floor(math.log10(abs(value))), 0), _MOST_DIGITS)
    return 0


def fixed(value: float, digits: int) -> str:
    """With so many digits after the point, or an exponent where a float has no such digits; no minus before zero."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}" if abs(value) < 1e15 else f"{value:.6g}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def plus_minus(mean: float, std: float, digits: int | None = None) -> str:
    """`0.920 ± 0.030`; the mean alone without a spread, and that all are equal if it is 0."""
    places = decimals(std, mean) if digits is None else digits
    if math.isnan(mean) or math.isnan(std):
        return fixed(mean, places)
    return f"{fixed(mean, places)} (all equal)" if std == 0 else f"{fixed(mean, places)} ± {fixed(std, places)}"


def ends(interval: Iterable[float] | None, digits: int | None = None) -> str:
    """`[0.21, 0.33]`, with two digits of a quarter of its width unless digits are named; a dash for none."""
    low, high = interval or (math.nan, math.nan)
    if math.isnan(low) or math.isnan(high):
        return "–"
    places = decimals((high - low) / 4, low) if digits is None else digits
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def p_text(p: float) -> str:
    """`p = 0.0312`, with two digits at least."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p_digits(p)}"


def p_digits(p: float) -> str:
    """Four decimals without the zeros at their end."""
    return "–" if math.isnan(p) else "<0.0001" if p < 1e-4 else f"{p:.4f}".rstrip("0").rstrip(".")


def units(count: int, unit: str) -> str:
    """`1 query`, `300 queries`."""
    return plural(count, unit, several_of(unit))


def several_of(unit: str) -> str:
    """The plural of a unit."""
    return "queries" if unit == "query" else f"{unit}s"


def listing(names: Sequence[str], limit: int = 8, between: str = ", ") -> str:
    """The first names, and a count of the rest."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return between.join(names[:limit]) + more


def together(names: Sequence[str], limit: int = 8) -> str:
    """`a, b and c`."""
    if len(names) > limit or len(names) < 2:
        return listing(names, limit)
    return f"{', '.join(names[:-1])} and {names[-1]}"
