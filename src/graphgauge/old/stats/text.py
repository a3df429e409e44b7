"""Numbers formatted for sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable


def decimals(spread: float, value: float = 0.0) -> int:
    """Decimals that show two digits of the spread, or four of the value if there is no spread."""
    if math.isfinite(spread) and spread > 0:
        return min(max(1 - math.floor(math.log10(spread)), 0), 10)
    if math.isfinite(value) and value != 0:
        return min(max(3 - math.floor(math.log10(abs(value))), 0), 10)
    return 1


def fixed(value: float, digits: int) -> str:
    """With so many digits after the point; numbers that have no such digits in a float, with an exponent."""
    if math.isnan(value):
        return "–"
    return f"{value:.{digits}f}" if abs(value) < 1e15 else f"{value:.6g}"


def plus_minus(mean: float, std: float, digits: int | None = None) -> str:
    """`0.920 ± 0.030`; the mean alone if there is no spread."""
    digits = decimals(std, mean) if digits is None else digits
    return fixed(mean, digits) if math.isnan(std) else f"{fixed(mean, digits)} ± {fixed(std, digits)}"


def bounds(interval: Iterable[float] | None, digits: int | None = None) -> str:
    """`[0.21, 0.33]`, with two digits of a quarter of its width unless digits are given; a dash for none."""
    low, high = interval or (math.nan, math.nan)
    if math.isnan(low) or math.isnan(high):
        return "–"
    digits = decimals((high - low) / 4, low) if digits is None else digits
    return f"[{fixed(low, digits)}, {fixed(high, digits)}]"


def p_text(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}".rstrip("0").rstrip(".")


def several(count: int, noun: str) -> str:
    """`1 seed`, `5 seeds`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def several_do(count: int, noun: str, one: str, more: str) -> str:
    """`1 run occurs`, `5 runs occur`."""
    return f"{several(count, noun)} {one if count == 1 else more}"


def listing(names: list[str], limit: int = 8, between: str = ", ") -> str:
    """The first names, and a count of the rest."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return between.join(names[:limit]) + more
