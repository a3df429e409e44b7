"""The results of an evaluation: values with intervals, chance levels and conventions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphgauge.core.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    import pandas

    from graphgauge.old.core.evaluation import Evaluation as Evaluation
else:

    def __getattr__(name: str) -> Any:
        """`Evaluation` is public here; its own module imports this one."""
        if name == "Evaluation":
            from graphgauge.old.core.evaluation import Evaluation

            return Evaluation
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


Direction = Literal["higher", "lower", "target", "none"]
Kind = Literal["chance", "baseline", "ideal"]
Columns = dict[str, list[Any]]
# Conventions that say how an output is read. They may differ between methods; the others define the number.
READINGS = ("nan", "sign", "edges", "orientation", "encoding", "classes", "threshold", "null_value")


@dataclass(frozen=True)
class Interval:
    """A confidence interval and how it was made; unpacks as `(low, high)`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ci = ranking.evaluate([0.9, 0.4, 0.8, 0.6], [[0.7, 0.1], [0.8, 0.3], [0.2, 0.1], [0.5, 0.7]])["hits@1"].ci
    >>> low, high = ci
    >>> round(low, 3), round(high, 3), ci.method
    (0.15, 0.85, 'wilson')
    """

    low: float
    high: float
    level: float
    method: str
    over: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        from graphgauge.old.core.text import number

        return f"{number(self.low)} to {number(self.high)} ({100 * self.level:g} %, {self.method} over {self.over})"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def enclosing(value: Any, low: Any, high: Any, bounds: tuple[float, float]) -> tuple[Any, Any]:
    """Ends of an interval, corrected for rounding: it contains its value and stays within the bounds."""
    floor, ceiling = bounds
    return np.minimum(np.maximum(low, floor), value), np.maximum(np.minimum(high, ceiling), value)


@dataclass(frozen=True, slots=True)
class Chance:
    """A level to compare a value with: the score of a named reference.

    The `kind` of the reference is `chance` (it has no knowledge), `baseline` (a simple system that has some) or `ideal`
    (the best that is possible on this data). A simulated level has a band, `low` to `high`, that contains 95 % of the
    reference's values. If it was simulated with fewer samples than were evaluated, `own` is the evaluated value with as
    many, which is the one to compare, and `note` says how many.
    """

    name: str
    value: float
    kind: Kind = "chance"
    low: float | None = None
    high: float | None = None
    own: float | None = None
    note: str | None = None

    def __str__(self) -> str:
        from graphgauge.old.core.text import number

        return f"{self.name} {number(self.value)}"

    def contains(self, value: float) -> bool | None:
        """Whether the band contains the value, up to rounding; None if the level has no band.

        Parameters
        ----------
        value
            The evaluated value.

        Returns
        -------
        bool or None
            True for a value that the reference reaches, too.

        Examples
        --------
        >>> from graphgauge.old.core.result import Chance
        >>> Chance("random scorer", 0.5, low=0.4, high=0.6).contains(0.55)
        True
        """
        if self.low is None or self.high is None:
            return None
        compared = value if self.own is None else self.own
        slack = 1e-9 * max(abs(self.low), abs(self.high), abs(compared))
        return self.low - slack <= compared <= self.high + slack


@dataclass(frozen=True)
class Table:
    """Columns of equal length; the first one is the axis."""

    axis: str
    columns: Mapping[str, np.ndarray[Any, Any]]

    def __len__(self) -> int:
        return len(self.columns[self.axis])

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        if column not in self.columns:
            raise UnknownNameError("column", column, self.columns)
        return self.columns[column]

    def column_of(self, key: str) -> str:
        """The column of a metric: its key, without the prefix `overall_`.

        Parameters
        ----------
        key
            Key of a metric.

        Returns
        -------
        str
            Name of a column.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.by("side").column_of("mrr")
        'mrr'
        """
        return key if key in self.columns else key.removeprefix("overall_")

    def to_dict(self) -> Columns:
        """The columns as lists.

        Returns
        -------
        dict
            A list of values for each column.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.by("side").to_dict()["side"]
        ['a', 'b']
        """
        return {name: values.tolist() for name, values in self.columns.items()}

    def to_frame(self) -> pandas.DataFrame:
        """The columns as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row per label.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.by("side").to_frame().shape[0]
        2
        """
        from graphgauge.core.extras import need

        return need("pandas", "a data frame").DataFrame(self.to_dict())

    def to_markdown(self) -> str:
        """All rows in Markdown.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> len(ev.by("side").to_markdown().splitlines())
        4
        """
        from graphgauge.old.core.text import table_grid

        return table_grid(self).markdown()

    def to_latex(self) -> str:
        """All rows in LaTeX, for booktabs.

        Returns
        -------
        str
            A `tabular` environment.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> "toprule" in ev.by("side").to_latex()
        True
        """
        from graphgauge.old.core.text import table_grid

        return table_grid(self).latex()

    def __str__(self) -> str:
        from graphgauge.old.core.text import SHOWN_ROWS, table_grid

        return table_grid(self, SHOWN_ROWS).text()

    def __repr__(self) -> str:
        return f"<Table by {self.axis}: {len(self)} rows of {', '.join(list(self.columns)[:6])}>"

    def _repr_html_(self) -> str:
        from graphgauge.old.core.text import SHOWN_ROWS, table_grid

        return table_grid(self, SHOWN_ROWS).html()


@dataclass(frozen=True, eq=False)
class Result:
    """One scalar with everything needed to interpret it."""

    key: str
    metric: str
    value: float
    n: int
    unit: str
    direction: Direction
    bounds: tuple[float, float]
    params: Mapping[str, Any] = field(default_factory=dict)
    section: str | None = None
    target: float | None = None
    interval: Interval | None = None
    no_interval: str | None = None
    chance: tuple[Chance, ...] = ()
    conventions: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    oracle: bool = False
    warnings: tuple[str, ...] = ()
    breakdowns: Mapping[str, Table] = field(default_factory=dict, repr=False)
    goal: float | None = None
    priority: str | None = None
    interpretation: str | None = None
    # If `interval` is for the items of this data set, of which not all were read: the one for new items.
    new_queries: Interval | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the value reaches its goal; None without one."""
        if self.goal is None or not self.defined or math.isnan(self.goal):
            return None
        return self.value > self.goal if self.direction == "higher" else self.value <= self.goal

    @property
    def is_companion(self) -> bool:
        """The other average of a result: macro for micro, or micro for macro."""
        return "macro" in self.params or "micro" in self.params

    @property
    def levels(self) -> tuple[Chance, ...]:
        """All reference levels, of any kind."""
        return self.chance

    @property
    def chance_level(self) -> Chance | None:
        """The level that is called chance in one number: the last of that kind, or without one the last of all.

        Examples
        --------
        >>> from graphgauge import recovery
        >>> found = recovery.evaluate([[0, 1], [0, 0]], [[0, 1], [0, 0]])
        >>> found["directed_f1"].chance_level.kind
        'chance'
        """
        chances = [level for level in self.chance if level.kind == "chance"]
        return next(reversed(chances or self.chance), None)

    @property
    def compatible(self) -> tuple[str, ...] | None:
        """The names of the simulated levels whose bands contain the value; None if no level was simulated."""
        within = {level.name: level.contains(self.value) for level in self.chance if level.low is not None}
        return tuple(name for name, inside in within.items() if inside) if within and self.defined else None

    @property
    def ci(self) -> Interval | None:
        return self.interval

    def by(self, axis: str) -> Table:
        """This metric along an axis: label, n, value, low and high.

        Parameters
        ----------
        axis
            A name in `breakdowns`.

        Returns
        -------
        Table
            One row per label.

        Raises
        ------
        UnknownNameError
            If there is no such breakdown.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev["mrr"].by("side")["value"].tolist()
        [1.0, 0.5]
        """
        if axis not in self.breakdowns:
            if not self.breakdowns:
                raise InputError(f"{self.key} was not broken down", fix="Pass groups={name: labels} to evaluate().")
            raise UnknownNameError("axis", axis, self.breakdowns)
        table = self.breakdowns[axis]
        name = table.column_of(self.key)
        own = f"{name}.n"
        columns = {axis: table[axis], "n": table[own if own in table.columns else "n"], "value": table[name]}
        for part in ("low", "high"):
            if f"{name}.{part}" in table.columns:
                columns[part] = table[f"{name}.{part}"]
        return Table(axis, columns)

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Result | int | float | np.number):
            return float(self) == float(other)
        return NotImplemented

    def __lt__(self, other: Result | float) -> bool:
        return float(self) < float(other)

    def __le__(self, other: Result | float) -> bool:
        return float(self) <= float(other)

    def __gt__(self, other: Result | float) -> bool:
        return float(self) > float(other)

    def __ge__(self, other: Result | float) -> bool:
        return float(self) >= float(other)

    def __hash__(self) -> int:
        return hash(float(self))  # equal to its number, so it hashes as one

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The result as result files have it.

        Returns
        -------
        dict
            Numbers, texts and lists.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev["mrr"].to_dict()["value"]
        0.75
        """
        from graphgauge.old.core.schema import result_to_dict

        return result_to_dict(self)

    def to_frame(self) -> pandas.DataFrame:
        """One row, with the columns of `Evaluation.to_frame`.

        Returns
        -------
        pandas.DataFrame
            One row.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> len(ev["mrr"].to_frame())
        1
        """
        from graphgauge.core.extras import need

        return need("pandas", "a data frame").DataFrame([self._record()])

    def to_markdown(self) -> str:
        """The value, its interval and chance level as a table in Markdown.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev["mrr"].to_markdown().splitlines()[0]
        '| metric | value | interval | chance | n |'
        """
        from graphgauge.old.core.text import results_grid

        return results_grid([self]).markdown()

    def to_latex(self) -> str:
        """The value, its interval and chance level as a table in LaTeX, for booktabs.

        Returns
        -------
        str
            A `tabular` environment.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> "toprule" in ev["mrr"].to_latex()
        True
        """
        from graphgauge.old.core.text import results_grid

        return results_grid([self]).latex()

    def plot(self, path: str | Path | None = None, *, ax: Any = None, by: str | None = None) -> Any:
        """Draw the value with its interval and its reference levels, or the values along an axis.

        Parameters
        ----------
        path
            A .svg, .png or .pdf file to write, too.
        ax
            Matplotlib axes to draw on, instead of a new figure.
        by
            An axis that the evaluation was broken down by, such as `relation`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> type(ev["mrr"].plot("mrr.svg", by="side")).__name__
        'ShownFigure'
        """
        from graphgauge.old.core.figures import drawn
        from graphgauge.old.core.result_figure import draw_result

        return drawn(lambda target: draw_result(self, by, target), path, ax)

    def _record(self) -> dict[str, Any]:
        interval = self.interval
        return {
            "key": self.key,
            "value": self.value,
            "low": interval.low if interval else math.nan,
            "high": interval.high if interval else math.nan,
            "n": self.n,
            "unit": self.unit,
            "direction": self.direction,
        }

    def __str__(self) -> str:
        from graphgauge.old.core.text import result_sentence

        return result_sentence(self)

    def __repr__(self) -> str:
        bounds = f" [{self.interval.low:.4g}, {self.interval.high:.4g}]" if self.interval else ""
        return f"<Result {self.key}={self.value:.4g}{bounds}, n={self.n}>"

    def _repr_html_(self) -> str:
        from graphgauge.old.core.text import result_html

        return result_html(self)
