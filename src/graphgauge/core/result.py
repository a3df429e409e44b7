"""One number with what is needed to read it: its interval, the levels to compare it with, its conventions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from graphgauge.core.number import Number, percent, shown

Direction = Literal["higher", "lower", "target", "none"]
Kind = Literal["chance", "baseline", "ideal"]
ARROWS = {"higher": "↑", "lower": "↓", "target": "◎", "none": ""}


class Interval(Struct, frozen=True):
    """A confidence interval at `level`, made by `method` over units of this kind; unpacks as `(low, high)`.

    Examples
    --------
    >>> from graphgauge import Interval
    >>> low, high = Interval(0.1, 0.3, 0.95, "score", "queries")
    >>> low, high
    (0.1, 0.3)
    """

    low: Number
    high: Number
    level: float
    method: str
    over: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{shown(self.low)} to {shown(self.high)} ({percent(self.level)}, {self.method} over {self.over})"


class Reference(Struct, frozen=True, omit_defaults=True):
    """The score of a named system to compare a value with.

    The system has no knowledge (`chance`), some (`baseline`), or is the best possible on this data (`ideal`). A
    simulated level has a band, `low` to `high`, that contains 95 % of the system's values. If it was simulated with
    fewer samples than were evaluated, `own` is the evaluated value with as many, and `note` says how many.
    """

    name: str
    value: Number
    kind: Kind = "chance"
    low: Number | None = None
    high: Number | None = None
    own: Number | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        if self.kind == "chance":  # files leave out what is the default itself; a pickled text is another object
            force_setattr(self, "kind", "chance")

    def contains(self, value: float) -> bool | None:
        """Whether the system reaches the value, too: it is in the band, up to rounding. None without a band.

        Examples
        --------
        >>> from graphgauge import Reference
        >>> Reference("random scorer", 0.5, low=0.4, high=0.6).contains(0.55)
        True
        """
        if self.low is None or self.high is None:
            return None
        compared = value if self.own is None else self.own
        slack = 1e-9 * max(abs(self.low), abs(self.high), abs(compared))
        return self.low - slack <= compared <= self.high + slack

    def __str__(self) -> str:
        return f"{self.name} {shown(self.value)}"


class Result(Struct, frozen=True, kw_only=True, eq=False, omit_defaults=True):
    """The value of one metric. It compares, formats and converts as its number.

    `no_interval` says why there is no interval, `reason` why the value is NaN, `goal` what the value should reach, and
    `tolerance` how far a repetition may differ.

    Examples
    --------
    >>> from graphgauge import Result
    >>> mrr = Result(key="mrr", metric="mrr", value=0.25, n=40, unit="query", direction="higher", bounds=(0, 1))
    >>> mrr > 0.2, f"{mrr:.2f}"
    (True, '0.25')
    >>> print(mrr)
    mrr ↑ 0.2500, n = 40 (query), higher is better
    """

    key: str
    metric: str
    value: Number
    n: int
    unit: str
    direction: Direction
    bounds: tuple[Number, Number]
    params: dict[str, Any] = {}
    section: str | None = None
    target: Number | None = None
    goal: Number | None = None
    interval: Interval | None = None
    no_interval: str | None = None
    references: tuple[Reference, ...] = ()
    conventions: dict[str, str] = {}
    reason: str | None = None
    interpretation: str | None = None
    warnings: tuple[str, ...] = ()
    oracle: bool = False
    tolerance: float = 1e-12

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def reached(self) -> bool | None:
        """Whether the value reaches its goal; None without one."""
        if self.goal is None or not self.defined or math.isnan(self.goal):
            return None
        return self.value > self.goal if self.direction == "higher" else self.value <= self.goal

    @property
    def chance(self) -> Reference | None:
        """The level that tables show next to the value: the last of kind `chance`, or else the last of all."""
        chances = [each for each in self.references if each.kind == "chance"]
        return next(reversed(chances or self.references), None)

    @property
    def compatible(self) -> tuple[str, ...] | None:
        """The simulated systems that reach the value, too; None if none was simulated."""
        bands = {each.name: each.contains(self.value) for each in self.references if each.low is not None}
        return tuple(name for name, inside in bands.items() if inside) if bands and self.defined else None

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __eq__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value == number

    def __ne__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else self.value != number

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        """The result in one line."""
        words = {"higher": "higher is better", "lower": "lower is better", "none": ""}
        wanted = words.get(self.direction, "") if self.target is None else f"target {shown(self.target)}"
        parts = [f"{self.key} {ARROWS[self.direction]}".strip() + f" {shown(self.value)}"]
        if not self.defined:
            parts.append(f"no value, {self.reason or 'not defined on this input'}")
        if self.interval is not None:
            parts.append(f"interval {self.interval}")
        elif self.defined and self.no_interval:
            parts.append(f"no interval: {self.no_interval}")
        parts += map(str, self.references)
        parts.append(f"n = {self.n:,} ({self.unit})")
        return ", ".join(filter(None, [*parts, wanted]))

    def _repr_html_(self) -> str:
        from graphgauge.core.view import results_grid

        return results_grid([self]).to_html()


def _number(value: object) -> float | None:
    try:
        return None if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def enclosing(value: Any, low: Any, high: Any, bounds: tuple[float, float]) -> tuple[Any, Any]:
    """Ends of an interval corrected for rounding: it contains its value and stays within the metric's bounds."""
    import numpy as np

    floor, ceiling = bounds
    return np.minimum(np.maximum(low, floor), value), np.maximum(np.minimum(high, ceiling), value)
