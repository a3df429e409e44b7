"""What is summed: equal for all parts of one evaluation, and decided by the form of forecast and the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

from graphgauge import _core
from graphgauge.core.options import number

# What a cell may add to the compiled sums, in their order.
TERMS = ("abs", "square", "error", "y", "y2", "abs_y", "ape", "sape", "std", "var", "nll", "crps", "over")
# Summed for every forecast: chance levels and findings need them. Others only if a metric does.
_ALWAYS = ("abs", "square", "error", "y", "y2", "abs_y", "std", "var")
_WANTED = {
    "mape": ("ape",),
    "smape": ("sape",),
    "nll": ("nll",),
    "crps": ("crps",),
    "crps_fair": ("crps",),
    "coverage": ("between",),
    "width": ("between",),
    "interval_score": ("between", "over"),
    "msis": ("msis",),
    **dict.fromkeys(("ece", "ence"), ("bins",)),
    **dict.fromkeys(("calibration_error", "central_calibration_error", "miscalibration_area"), ("ranks",)),
    **dict.fromkeys(("energy_score", "energy_gain", "variogram_score"), ("joint",)),
}
_OF_STD = ("std", "var", "nll", "crps", "over")
_CLOSE = 1e-9


@dataclass(frozen=True)
class Design:
    """The form of a forecast, its size, and the parts that are summed.

    `coverage` are the levels of central intervals, `levels` those of quantiles, `scores` the names of the user's
    losses; `scaled` says that there is a history; `edges` is the number of edges of a graph, None without one.
    """

    form: str
    point: str
    horizons: int
    nodes: int
    parts: tuple[str, ...]
    coverage: tuple[float, ...] = ()
    levels: tuple[float, ...] = ()
    members: int = 0
    scores: tuple[str, ...] = ()
    scaled: bool = False
    weighted: bool = False
    edges: int | None = None
    null_value: float | None = None

    @property
    def terms(self) -> tuple[str, ...]:
        """The compiled sums."""
        known = TERMS if self.form == "gaussian" else tuple(term for term in TERMS if term not in _OF_STD)
        return tuple(term for term in known if term in _ALWAYS or term in self.parts)

    @property
    def asked(self) -> int:
        """The same as bits."""
        return sum(1 << TERMS.index(term) for term in self.terms)

    @cached_property
    def half_widths(self) -> dict[float, float]:
        """Half-widths of central Gaussian intervals in standard deviations, by level."""
        if self.form != "gaussian":
            return {}
        return {level: _core.normal_quantile((1 - level) / 2) for level in self.coverage}

    @cached_property
    def bounded(self) -> dict[float, tuple[int, int] | None]:
        """The levels of the central intervals that the forecast has; of quantiles, with the places of their ends.

        The ends of an interval of members are at p·(m + 1) in their order, and have to be among them.
        """
        if self.form == "quantiles":
            levels = self.levels
            pairs = [(a, b) for b in range(len(levels)) for a in range(b) if abs(levels[a] - 1 + levels[b]) < _CLOSE]
            return {round(2 * levels[b] - 1, 10): (a, b) for a, b in pairs}
        if self.form == "samples":
            return dict.fromkeys(p for p in self.coverage if (1 - p) / 2 * (self.members + 1) >= 1 - _CLOSE)
        return dict.fromkeys(self.coverage) if self.form == "gaussian" else {}

    @property
    def cell_samples(self) -> tuple[str, ...]:
        """The needs of metrics that sums of cells meet."""
        has_point, said = self.point != "none", self.form != "point"
        return (
            *(("errors",) if has_point else ()),
            *((self.form,) if said else ()),
            *(("scaled",) if self.scaled and has_point else ()),
            *(("scaled_intervals",) if self.scaled and said else ()),
            *(("scores",) if self.scores else ()),
        )

    def known_samples(self, *, dense: bool = True) -> tuple[str, ...]:
        """The needs of metrics that this form of forecast meets."""
        found = self.cell_samples
        if self.form == "point" or self.weighted:
            return found
        found += ("reliability", *(("spread",) if self.form == "gaussian" else ()))
        if self.form == "samples" and self.nodes > 1 and dense:
            found += ("joint", *(("pairs",) if self.edges is not None else ()))
        return found

    def level(self, level: float) -> float | None:
        """The level of a central interval that equals this one up to rounding."""
        return next((known for known in self.bounded if abs(known - level) < _CLOSE), None)

    def quantile(self, level: float) -> float | None:
        """The level of a quantile that equals this one up to rounding."""
        return next((known for known in self.levels if abs(known - level) < _CLOSE), None)


def parts_of(names: Iterable[str]) -> tuple[str, ...]:
    """The parts that metrics of these names need beside those that are always summed."""
    return tuple(sorted({part for name in names for part in _WANTED.get(name, ())}))


def levels_of(coverage: Any) -> tuple[float, ...]:
    """Levels of intervals, one or several."""
    given = (coverage,) if isinstance(coverage, Real) else tuple(coverage)
    return tuple(sorted({number("coverage", level, 0, 1, inside=True) for level in given}))
