"""The results of an evaluation: values with intervals, chance levels and conventions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from graphgauge.core.errors import GraphgaugeError, InputError, UnknownNameError
from graphgauge.core.findings import Finding, Found, find

if TYPE_CHECKING:
    import pandas

    from graphgauge.core.gates import GateOutcome

Direction = Literal["higher", "lower", "target", "none"]
Kind = Literal["chance", "baseline", "ideal"]
Columns = dict[str, list[Any]]
# Conventions that say how an output is read. They may differ between methods; the others define the number.
READINGS = ("nan", "sign", "edges", "encoding", "classes", "threshold", "null_value")


@dataclass(frozen=True, eq=False)
class Interval:
    """A confidence interval and how it was made; unpacks as `(low, high)`.

    An `approximate` interval may contain the true value less often than its level says; `note` says why.
    `expected_coverage` is how often it does in simulations of the run's own design, if that falls short of the level.

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
    approximate: bool = False
    note: str | None = None
    expected_coverage: float | None = None

    @property
    def facts(self) -> tuple[Any, ...]:
        """All fields, in their order."""
        return tuple(getattr(self, one.name) for one in fields(self))

    @property
    def caveat(self) -> str | None:
        """Why, and how far, the interval may cover less than its level; None if it should not."""
        if self.expected_coverage is None:
            return (self.note or "approximate") if self.approximate else None
        covers = f"expected to contain the true value in {self.expected_coverage:.0%} of cases"
        return f"{self.note}; {covers}" if self.note else covers

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        from graphgauge.core.text import interval_mark, number

        ends = f"{number(self.low)} to {number(self.high)}"
        return f"{interval_mark(self)}{ends} ({100 * self.level:g} %, {self.method} over {self.over})"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __eq__(self, other: object) -> bool:
        return self.facts == other.facts if isinstance(other, Interval) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.low, self.high, self.level))


class SimulatedInterval(Interval):
    """An interval whose expected coverage is simulated when it is first read, or whether it is approximate."""

    def __init__(self, known: Interval, simulate: Callable[[], float | None]) -> None:
        facts = self.__dict__
        facts.update(vars(known), _known=known, _simulate=simulate)
        del facts["expected_coverage"], facts["approximate"]

    @cached_property
    def expected_coverage(self) -> float | None:
        found: float | None = self.__dict__["_simulate"]()
        return found

    @cached_property
    def approximate(self) -> bool:
        known: Interval = self.__dict__["_known"]
        return known.approximate or self.expected_coverage is not None

    def __repr__(self) -> str:
        return repr(Interval(*self.facts))

    def __reduce__(self) -> tuple[type[Interval], tuple[Any, ...]]:
        """For files and other processes: with the expectation, without the sample."""
        return Interval, self.facts


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
        from graphgauge.core.text import number

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
        >>> from graphgauge.core.result import Chance
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
        from graphgauge.core.text import table_grid

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
        from graphgauge.core.text import table_grid

        return table_grid(self).latex()

    def __str__(self) -> str:
        from graphgauge.core.text import SHOWN_ROWS, table_grid

        return table_grid(self, SHOWN_ROWS).text()

    def __repr__(self) -> str:
        return f"<Table by {self.axis}: {len(self)} rows of {', '.join(list(self.columns)[:6])}>"

    def _repr_html_(self) -> str:
        from graphgauge.core.text import SHOWN_ROWS, table_grid

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
    # If scores were counted in cells instead of being kept: where the value on this data is, with certainty.
    guaranteed: tuple[float, float] | None = None

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
        """This metric along an axis: label, n, value, low, high, and whether the interval is approximate.

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
        for part in ("low", "high", "approximate"):
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
        from graphgauge.core.schema import result_to_dict

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
        from graphgauge.core.text import results_grid

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
        from graphgauge.core.text import results_grid

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
        from graphgauge.core.figures import drawn
        from graphgauge.core.result_figure import draw_result

        return drawn(lambda target: draw_result(self, by, target), path, ax)

    def _record(self) -> dict[str, Any]:
        interval = self.interval
        return {
            "key": self.key,
            "value": self.value,
            "low": interval.low if interval else math.nan,
            "high": interval.high if interval else math.nan,
            "approximate": interval is not None and interval.approximate,
            "expected_coverage": (interval and interval.expected_coverage) or math.nan,
            "n": self.n,
            "unit": self.unit,
            "direction": self.direction,
        }

    def __str__(self) -> str:
        from graphgauge.core.text import result_sentence

        return result_sentence(self)

    def __repr__(self) -> str:
        bounds = f" [{self.interval.low:.4g}, {self.interval.high:.4g}]" if self.interval else ""
        return f"<Result {self.key}={self.value:.4g}{bounds}, n={self.n}>"

    def _repr_html_(self) -> str:
        from graphgauge.core.text import result_html

        return result_html(self)


class Deferred(NamedTuple):
    """A result that is computed when it is first read, from data that nobody changes in between."""

    key: str
    compute: Callable[[], Result]


def _refuse(what: str, where: str | None, fix: str | None) -> list[Mapping[str, Any]]:
    raise InputError(what, where=where, fix=fix)


class Evaluation(Mapping[str, Result]):
    """The results of one evaluation, in a fixed order, with skipped metrics and findings."""

    def __init__(
        self,
        family: str,
        results: Iterable[Result | Deferred],
        *,
        conventions: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        breakdowns: Mapping[str, Table] | None = None,
        skipped: Mapping[str, str] | None = None,
        findings: tuple[Finding, ...] = (),
        materials: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        run: Mapping[str, Any] | None = None,
        per_item: Any = None,
        figure: Callable[[Evaluation, str | Path], None] | None = None,
        drawings: Callable[[], Mapping[str, Table]] | Mapping[str, Table] | None = None,
    ) -> None:
        self.family = family
        self.conventions = dict(conventions or {})
        self.options = dict(options or {})
        self.breakdowns = dict(breakdowns or {})
        self._results = {
            result.key: result if isinstance(result, Deferred) else self._complete(result) for result in results
        }
        self.skipped = dict(skipped or {})
        self.notes = notes
        self.run = {"method": None, "dataset": None, "seed": None, "tags": {}, **(run or {})}
        self.per_item = per_item
        # The files it was computed from, as a receipt lists them. Hashing them takes longer than evaluating them.
        self.inputs: Callable[[], list[Mapping[str, Any]]] = list
        # Outcomes of gates that a command checked.
        self.gates: tuple[GateOutcome, ...] = ()
        self._figure = figure
        self._drawings = drawings or {}
        # The measurements, for the checks; an evaluation read from a file has the findings instead.
        self.materials = {**(materials or {}), "results": self}
        self._findings = Found(findings) if materials is None else None

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: as if read from a file, with all results and findings, without the measurements."""
        try:
            inputs: partial[list[Mapping[str, Any]]] = partial(list, self.inputs())
        except InputError as error:  # the files have changed since; only a receipt needs them
            inputs = partial(_refuse, error.what, error.where, error.fix)
        facts = {"_results": {**self}, "_findings": self.findings, "_drawings": self.drawings, "inputs": inputs}
        return self.__dict__ | facts | {"materials": {}, "_figure": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.materials = {"results": self}

    # Copies in the same process keep the measurements.
    def __copy__(self) -> Evaluation:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Evaluation:
        other = memo[id(self)] = object.__new__(type(self))
        other.__dict__ |= deepcopy(self.__dict__, memo)
        return other

    def _complete(self, result: Result) -> Result:
        return replace(result, breakdowns=self.breakdowns) if self.breakdowns else result

    def __getitem__(self, key: str) -> Result:
        found = self._results.get(key)
        if found is None:
            key = self._named(key)
            if key not in self._results:
                if key in self.skipped:
                    raise InputError(f"{key} was skipped: {self.skipped[key]}")
                raise UnknownNameError("metric", key, self._results, hint=self._not_computed(key))
            found = self._results[key]
        if isinstance(found, Deferred):
            # Two threads that read it at once both compute it, with equal bits.
            found = self._results[key] = self._complete(found.compute())
        return found

    def _not_computed(self, key: str) -> str | None:
        """For a metric that exists and was not computed, such as `coverage_90`: how to compute it."""
        from graphgauge.core.metric import find

        try:
            find(key, self.family)
        except (GraphgaugeError, LookupError):
            return None
        return f'It was not computed: name it when evaluating, metrics=["{key}", …].'

    def get(self, key: str, default: Any = None) -> Any:
        """The result, or `default` if it was skipped or is unknown.

        Parameters
        ----------
        key
            Key of a metric.
        default
            What to return without a result.

        Returns
        -------
        Result
            Or `default`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.get("mrr").value, ev.get("ndcg@5") is None
        (0.75, True)
        """
        key = self._named(key)
        return self[key] if key in self._results else default

    def __contains__(self, key: object) -> bool:
        return self._named(key) in self._results

    def _named(self, key: Any) -> Any:
        """The key that an earlier one stands for."""
        if key in self._results or not isinstance(key, str):
            return key
        from graphgauge.core.metric import current_key

        return current_key(key, self.family)

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def readings(self) -> dict[str, str]:
        """How the outputs were read: the part of the conventions that may differ between methods."""
        return {name: value for name, value in self.conventions.items() if name in READINGS}

    @property
    def findings(self) -> Found:
        """What the cheap checks of the family find; they run when this is first read."""
        if self._findings is None:
            self._findings = find(self.family, self.materials)
        return self._findings

    @findings.setter
    def findings(self, found: tuple[Finding, ...]) -> None:
        self._findings = Found(found)

    @property
    def drawings(self) -> Mapping[str, Table]:
        """Small tables that figures of many runs are drawn from, such as Hits@k over all k; made when first read."""
        if callable(self._drawings):
            self._drawings = self._drawings()
        return self._drawings

    def gate(self, text: str) -> GateOutcome:
        """Check a requirement, such as `mrr.low > chance` or `mrr[relation=treats] >= 0.2`; true if it holds.

        Parameters
        ----------
        text
            The requirement: a metric, with `.low` or `.high` for an end of its interval, and a bound.

        Returns
        -------
        GateOutcome
            True if the requirement holds; its text says by how much.

        Raises
        ------
        OptionError
            If the requirement cannot be read.
        UnknownNameError
            If there is no such metric.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> bool(ev.gate("mrr >= 0.5")), bool(ev.gate("mrr > 0.9"))
        (True, False)
        """
        from graphgauge.core.gates import Gate

        return Gate.parse(text).check(self)

    def checked(self) -> Evaluation:
        """This evaluation after its checks have run: for materials that the caller may change later.

        Returns
        -------
        Evaluation
            Itself.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.checked() is ev
        True
        """
        self._findings = find(self.family, self.materials)
        return self

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.section for result in self.values() if result.section is not None))

    def section(self, name: str) -> dict[str, Result]:
        """The results of one section.

        Parameters
        ----------
        name
            One of `sections`.

        Returns
        -------
        dict
            The results of the section by key.

        Raises
        ------
        UnknownNameError
            If there is no such section.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import generation
        >>> ev = generation.evaluate(real=np.eye(4, dtype=bool), generated=np.eye(4, dtype=bool))
        >>> ev.section(ev.sections[0])['overall_uniqueness_ratio'].value
        1.0
        """
        if name not in self.sections:
            raise UnknownNameError("section", name, self.sections)
        return {key: result for key, result in self.items() if result.section == name}

    def by(self, axis: str) -> Table:
        """Every metric along an axis, one column each, with `key.low` and `key.high` next to it.

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
        >>> ev.by("side")["mrr"].tolist()
        [1.0, 0.5]
        """
        if axis not in self.breakdowns:
            raise UnknownNameError("axis", axis, self.breakdowns)
        return self.breakdowns[axis]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as a dictionary.

        Returns
        -------
        dict
            The result as result files have it.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_dict()["results"][0]["value"]
        0.75
        """
        from graphgauge.core.schema import evaluation_to_dict

        return evaluation_to_dict(self)

    def to_json(self) -> str:
        """The evaluation as JSON.

        Returns
        -------
        str
            The result file as text.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_json()[:1]
        '{'
        """
        from graphgauge.core.schema import dumps

        return dumps(self.to_dict())

    def to_flat(self) -> dict[str, Any]:
        """The plain key → number dictionary; breakdowns as `{key}_per_{axis}` lists.

        Returns
        -------
        dict
            Numbers, and lists of numbers.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_flat()["mrr"], ev.to_flat()["mrr_per_side"]
        (0.75, [1.0, 0.5])
        """
        flat: dict[str, Any] = {key: result.value for key, result in self.items()}
        for axis, table in self.breakdowns.items():
            names = [table.column_of(key) for key in self._results]
            flat |= {f"{name}_per_{axis}": table[name].tolist() for name in names if name in table.columns}
        return flat

    def to_frame(self) -> pandas.DataFrame:
        """One row per metric: key, value, low, high, approximate, expected_coverage, n, unit, direction.

        Returns
        -------
        pandas.DataFrame
            Its index is the number of the row.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> float(ev.to_frame().set_index("key").loc["mrr", "value"])
        0.75
        """
        from graphgauge.core.extras import need

        rows = [result._record() for result in self.values()]
        return need("pandas", "a data frame").DataFrame(rows)

    def to_markdown(self) -> str:
        """Values, intervals, chance levels and counts as a table in Markdown, with the remarks below it.

        Returns
        -------
        str
            The table with its remarks.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_markdown().splitlines()[0]
        '| metric | value | interval | chance | n |'
        """
        from graphgauge.core.text import evaluation_grid

        return evaluation_grid(self).markdown()

    def to_latex(self) -> str:
        """Values, intervals, chance levels and counts in LaTeX, for booktabs, with the remarks as comments.

        Returns
        -------
        str
            A `tabular` environment.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> "toprule" in ev.to_latex()
        True
        """
        from graphgauge.core.text import evaluation_grid

        return evaluation_grid(self).latex()

    def save(
        self, path: str | Path, *, method: str | None = None, dataset: str | None = None, seed: int | str | None = None
    ) -> Path:
        """Write the result file, for `Evaluation.load`, `stats.compare`, `audit.run` and the report.

        Parameters
        ----------
        path
            A .json file; or a folder, in which the file is `method/family/metrics_dataset_seed.json`.
        method, dataset, seed
            Names of the run, by which comparisons pair it with others; without them, those of `run`.

        Returns
        -------
        pathlib.Path
            The file that was written. Long breakdowns and single items are in files next to it.

        Raises
        ------
        OptionError
            If the file has another ending than .json.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.save("result.json", method="ours", dataset="toy", seed=0).name
        'result.json'
        """
        from graphgauge.core.schema import saved

        named = {"method": method, "dataset": dataset, "seed": seed}
        return saved(self, path, {name: value for name, value in named.items() if value is not None})

    @staticmethod
    def load(path: str | Path) -> Evaluation:
        """Read a result file that `save`, or the command line, has written.

        The evaluation has all values, breakdowns and findings; it has no figure and no measurements.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Evaluation
            Values, breakdowns and findings are those of the file.

        Raises
        ------
        InputError
            If the file is damaged, or no result file.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> path = ev.save("result.json")
        >>> type(ev).load(path)["mrr"].value
        0.75
        """
        from graphgauge.core.schema import read_result

        return read_result(path)

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw the family's figure.

        Parameters
        ----------
        path
            A .svg, .png or .pdf file to write, too.
        ax
            Matplotlib axes whose place the figure takes, instead of a new one.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Raises
        ------
        InputError
            If the evaluation was read from a file: the file has no measurements to draw.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> type(ev.plot("ranks.svg")).__name__
        'ShownFigure'
        """
        from graphgauge.core.figures import drawn

        draw = self._figure
        if draw is None:
            raise InputError(
                f"this {self.family} evaluation has no figure",
                fix="Evaluations read from files or from another process have none; a single result does: plot it.",
            )
        return drawn(lambda target: draw(self, target), path, ax)

    def _ipython_key_completions_(self) -> list[str]:
        """The keys that a notebook completes in `evaluation["…`."""
        return list(self)

    def __str__(self) -> str:
        from graphgauge.core.console import evaluation_text

        return evaluation_text(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={self[key].value:.4g}" for key in list(self)[:6])
        return f"<Evaluation {self.family}: {values}{', …' if len(self) > 6 else ''}>"

    def _repr_html_(self) -> str:
        from graphgauge.core.text import evaluation_html

        return evaluation_html(self)
