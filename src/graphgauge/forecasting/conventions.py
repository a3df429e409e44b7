"""What other evaluation codes would report: which truths they mask, and how they average.

Each convention names the values as that code does. They have no intervals: the results of the evaluation have them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.result import Table

# Values that a note shows.
_SHOWN = 7
# The values and the numbers of cells of a metric along an axis (None: over all cells); None if it was not computed.
Found = Callable[[str, str | None], tuple[Floats, Ints] | None]


@dataclass(frozen=True)
class _Value:
    """A value as another code names it: the mean of our metric over an axis, times a factor."""

    name: str
    key: str
    over: str | None = None
    factor: float = 1.0
    # Cells that a metric leaves out count as 0.
    all_cells: bool = False


@dataclass(frozen=True)
class Convention:
    """`masks` is whether zeros are missing, up to `tolerance`.

    With `by_horizon` there is a value for each horizon: of that one ("single"), or of all up to it ("average").
    """

    values: tuple[_Value, ...]
    masks: bool = False
    tolerance: float = 0.0
    by_horizon: str | None = None


def _traffic(over: str | None = None, prefix: str = "") -> tuple[_Value, ...]:
    return tuple(_Value(f"{prefix}{key.upper()}", key, over) for key in ("mae", "rmse", "mape"))


CONVENTIONS = {
    "graph-wavenet": Convention(_traffic("horizon"), masks=True),
    "libcity": Convention(_traffic(prefix="masked_"), masks=True, tolerance=1e-4, by_horizon="single"),
    "libcity-average": Convention(_traffic(prefix="masked_"), masks=True, tolerance=1e-4, by_horizon="average"),
    # Its WAPE is a mean of ratios, one for each window and node, which sums do not contain.
    "basicts": Convention(_traffic(), masks=True, tolerance=5e-5),
    "utilsforecast": Convention(
        (
            _Value("mae", "mae", "node"),
            _Value("rmse", "rmse", "node"),
            _Value("mape", "mape", "node", all_cells=True),
            _Value("smape", "smape", "node", 0.5),
            _Value("mase", "mase", "node"),
            _Value("mqloss", "pinball", "node"),
        )
    ),
    "gluonts": Convention(
        (
            _Value("ND", "wape"),
            _Value("RMSE", "rmse"),
            _Value("MAPE", "mape"),
            _Value("sMAPE", "smape"),
            _Value("MASE", "mase"),
            _Value("MSIS", "msis_95"),
            _Value("mean_wQuantileLoss", "wql"),
        )
    ),
}


def checked_convention(name: str | None) -> str | None:
    return None if name is None else one_of("convention", name, CONVENTIONS)


def masked_by(convention: str | None, null_value: float | None, null_tolerance: float) -> tuple[float | None, float]:
    """The null value and its tolerance: as given, otherwise those of the convention."""
    if checked_convention(convention) is None or null_value is not None:
        return null_value, null_tolerance
    known = CONVENTIONS[str(convention)]
    return (0.0, null_tolerance or known.tolerance) if known.masks else (None, null_tolerance)


def as_reported(convention: str, found: Found, ahead: list[object]) -> Table:
    """The values that the other code would report, as rows of a table."""
    known = CONVENTIONS[convention]
    rows: list[tuple[str, int, float]] = []
    for value in known.values:
        if known.by_horizon is not None:
            table = found(value.key, "horizon")
            if table is not None:
                numbers, cells = table
                if known.by_horizon == "average":
                    numbers, cells = _up_to(numbers, cells, squared=value.key == "rmse")
                rows += zip((f"{value.name}@{step}" for step in ahead), cells.tolist(), numbers.tolist(), strict=True)
            continue
        table, whole = found(value.key, value.over), found("mae", value.over)
        if table is None or whole is None:
            continue
        numbers, cells = table
        there = ~np.isnan(numbers)
        if value.all_cells:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.where(there, numbers, 0.0) * np.where(whole[1] > 0, cells / whole[1], np.nan)
            there = ~np.isnan(numbers)
        mean = float(numbers[there].mean()) if there.any() else np.nan
        rows.append((value.name, int(cells.sum()), value.factor * mean))
    if not rows:
        raise OptionError(f"convention {convention!r} has none of the chosen metrics", fix="Leave metrics= out.")
    names, cells_of, values = zip(*rows, strict=True)
    return Table(
        "convention", {"convention": np.array(names), "n": np.array(cells_of, np.int64), "value": np.array(values)}
    )


def would_report(convention: str, table: Table) -> str:
    """A note with the first values."""
    pairs = list(zip(table["convention"].tolist(), table["value"].tolist(), strict=True))
    shown = ", ".join(f"{name} {value:.4f}" for name, value in pairs[:_SHOWN])
    more = ', …: all are in by("convention")' if len(pairs) > _SHOWN else ""
    return f"{convention} would report {shown}{more}"


def _up_to(numbers: Floats, cells: Ints, squared: bool) -> tuple[Floats, Ints]:
    """Pooled over all horizons up to each."""
    size = np.cumsum(cells)
    summed = np.cumsum(np.where(cells > 0, np.square(numbers) if squared else numbers, 0.0) * cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = summed / size
    return np.sqrt(mean) if squared else mean, size
