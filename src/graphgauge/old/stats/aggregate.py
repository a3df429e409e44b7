"""Mean, spread and interval over seeds, for each metric, method and dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, UnknownNameError, one_of
from graphgauge.core.options import metric_names
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.schema import dumps, number_to_json
from graphgauge.old.stats.fair import legend
from graphgauge.old.stats.intervals import sample_interval, sample_std, tail
from graphgauge.old.stats.load import load
from graphgauge.old.stats.many import MOST_PAIRS, holm
from graphgauge.old.stats.names import by_name, usual_direction
from graphgauge.old.stats.paired import paired_test
from graphgauge.old.stats.present import Presented, Style
from graphgauge.old.stats.runs import MISSING, Better, Gap, Missing, Panel, Runs, on_dataset, panel
from graphgauge.old.stats.tables import Columns
from graphgauge.old.stats.text import listing, plus_minus, several
from graphgauge.old.stats.truths import Truths
from graphgauge.old.stats.wilcoxon import attainable_p, seeds_needed


@dataclass(frozen=True)
class Summary:
    """One metric of one method on one dataset over its seeds; `planned` counts the expected seeds."""

    metric: str
    method: str
    dataset: str
    mean: float
    std: float
    min: float
    max: float
    n: int
    planned: int
    ci_lower: float
    ci_upper: float
    reason: str | None = None


class Aggregate(Presented):
    """Summaries of many runs, by metric, method and dataset: `table["mrr", "transe", "wn18rr"]`.

    What is the same for all may be left out: `table["mrr"]`, `table["mrr", "transe"]`. Iteration gives the keys,
    `values()` the summaries.
    """

    def __init__(
        self, rows: Iterable[Summary], panels: Mapping[str, Panel], *, confidence: float, alpha: float, missing: Missing
    ) -> None:
        self.rows = tuple(rows)
        self.panels = dict(panels)
        self._index = {(row.metric, row.method, row.dataset): row for row in self.rows}
        self.confidence, self.alpha, self.missing = confidence, alpha, missing

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return ((row.metric, row.method, row.dataset) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: str | tuple[str, ...]) -> Summary:
        exact = self._index.get(key) if isinstance(key, tuple) and len(key) == 3 else None
        if exact is not None:
            return exact
        wanted = (key,) if isinstance(key, str) else key
        names = ("metric", "method", "dataset")
        if not isinstance(wanted, tuple) or len(wanted) > len(names):
            raise UnknownNameError("key", str(key), [", ".join(names)])
        rows = list(self.rows)
        for name, value in zip(names, wanted, strict=False):
            known = dict.fromkeys(getattr(row, name) for row in rows)
            rows = [row for row in rows if getattr(row, name) == value]
            if not rows:
                raise UnknownNameError(name, value, known)
        if len(rows) > 1:
            open_names = names[len(wanted) :]
            raise InputError(
                f"{', '.join(wanted)} matches {len(rows)} rows", fix=f"Also name the {' and the '.join(open_names)}."
            )
        return rows[0]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Runs without a value, without repetition."""
        return tuple(dict.fromkeys(gap for panel in self.panels.values() for gap in panel.gaps))

    def marks(self, metric: str, dataset: str) -> dict[str, str]:
        """`best` for the best mean, `close` for methods that do not differ significantly from it.

        Close means: not rejected by paired tests (sign flips) with Holm's correction over all pairs of methods. Nothing
        is marked if the direction is unknown, a method's mean is NaN, seeds do not pair, truths differ, or
        there are more than 100 methods.

        Parameters
        ----------
        metric, dataset
            A column of the table.

        Returns
        -------
        dict[str, str]
            The marked methods and their marks.

        Raises
        ------
        UnknownNameError
            If there is no such metric or dataset.
        """
        view = self.panels[one_of("metric", metric, self.panels)]
        one_of("dataset", dataset, view.datasets)
        if dataset in view.conflicts:
            return {}
        scores = {
            method: {seed: view.badness(value) for seed, value in seeds.items() if value == value}
            for method, seeds in view.values[dataset].items()
        }
        closed = not any(math.isnan(self[metric, method, dataset].mean) for method in scores)
        if view.better is None or not closed or len(scores) < 2 or len({frozenset(s) for s in scores.values()}) > 1:
            return {}
        best = min(scores, key=lambda method: float(np.mean(list(scores[method].values()))))
        if math.comb(len(scores), 2) > MOST_PAIRS:
            return {}
        pairs = list(combinations(scores, 2))
        rejected: set[tuple[str, str]] = set()
        if attainable_p(len(scores[best])) * len(pairs) <= self.alpha:  # otherwise no pair can be rejected
            adjusted = holm([paired_test(scores[a], scores[b], test="mean").p_value for a, b in pairs])
            rejected = {pair for pair, p in zip(pairs, adjusted, strict=True) if p <= self.alpha}
        close = [name for name in scores if name != best and not {(name, best), (best, name)} & rejected]
        return {best: "best", **dict.fromkeys(close, "close")}

    def ranked(self, metric: str, dataset: str) -> dict[str, str]:
        """`best` and `second` for the two best means; methods with equal means share a mark.

        Parameters
        ----------
        metric, dataset
            A column of the table.

        Returns
        -------
        dict[str, str]
            The marked methods and their marks.
        """
        view = self.panels[one_of("metric", metric, self.panels)]
        means = {row.method: row.mean for row in self.rows if (row.metric, row.dataset) == (metric, dataset)}
        known = {method: view.badness(mean) for method, mean in means.items() if not math.isnan(mean)}
        if view.better is None or len(known) < 2 or dataset in view.conflicts:
            return {}
        best, *others = sorted(set(known.values()))
        second = {method: "second" for method, bad in known.items() if others and bad == others[0]}
        first = {method: "best" for method, bad in known.items() if bad == best}
        return {**first, **(second if len(first) == 1 else {})}

    def grid(self, style: Style | None = None) -> Grid:
        """The table for a paper: a row per method, a column per dataset and metric.

        Parameters
        ----------
        style
            Digits, percent, order and marks.

        Returns
        -------
        Grid
            The table, which renders as text, Markdown, LaTeX or CSV.

        Raises
        ------
        OptionError
            If `percent` is asked for and no metric lies between −1 and 1.
        """
        style = style or Style()
        methods = style.ordered(dict.fromkeys(row.method for row in self.rows), str)
        columns = list(dict.fromkeys((row.dataset, row.metric) for row in self.rows))
        shares = {metric for metric in self.panels if style.percent and self._is_share(metric)}
        if style.percent and not shares:
            raise OptionError("no metric lies between −1 and 1, so none is given in percent", fix="Leave percent out.")
        marked = {"tests": self.marks, "ranks": self.ranked}.get(style.marks)
        marks = {column: {} if marked is None else marked(column[1], column[0]) for column in columns}
        rows = []
        for method in methods:
            cells = [Cell(method or "all runs")]
            for dataset, metric in columns:
                row = self._index.get((metric, method, dataset))
                if row is None:  # a method of another family
                    cells.append(Cell(""))
                    continue
                count = f" ({row.n} of {row.planned})" if row.n != row.planned else ""
                factor = 100.0 if metric in shares else 1.0
                text = plus_minus(row.mean * factor, row.std * factor, style.digits)
                cells.append(Cell(text + count, marks[dataset, metric].get(method, "")))
            rows.append(cells)
        heads = []
        for _, metric in columns:
            arrow = _ARROWS.get(self.panels[metric].direction or "", "")
            fairness = self.panels[metric].fairness
            unfair = "" if fairness is None else fairness.mark
            heads.append(f"{metric}{' (%)' if metric in shares else ''} {arrow}".strip() + unfair)
        if len({dataset for dataset, _ in columns}) > 1:
            heads = [f"{dataset}: {head}" for (dataset, _), head in zip(columns, heads, strict=True)]
        return Grid(["method", *heads], rows, tuple(self._notes(marks, style)))

    def _is_share(self, metric: str) -> bool:
        low, high = self.panels[metric].bounds
        values = [value for row in self.rows if row.metric == metric for value in (row.min, row.max) if value == value]
        within = all(-1 <= value <= 1 for value in values)
        return within and ((low >= -1 and high <= 1) or math.isinf(high - low))

    def _notes(self, marks: Mapping[tuple[str, str], Mapping[str, str]], style: Style) -> Iterator[str]:
        planned = sorted({row.planned for row in self.rows})
        runs = several(planned[-1], "run") if len(planned) == 1 else f"{planned[0]} to {planned[-1]} runs"
        yield f"Mean ± standard deviation over {runs} per cell."
        methods = max(len(view.methods) for view in self.panels.values())
        if any(marks.values()) and style.marks == "ranks":
            yield "Marked: the best and the second best mean, which says nothing about significance."
        elif any(marks.values()):
            yield (
                "Marked: the best mean, and means that do not differ significantly from it (paired tests, "
                f"Holm's correction over all pairs, α = {self.alpha:g})."
            )
            needed = seeds_needed(methods * (methods - 1) // 2, self.alpha)
            if planned[-1] < needed:
                yield (
                    f"With fewer than {needed} seeds the paired tests of {methods} methods cannot reject, "
                    "regardless of the scores."
                )
        unknown = [metric for metric, view in self.panels.items() if view.better is None]
        if methods > 1 and unknown and style.marks != "none":
            yield f"The better direction is unknown, so nothing is marked: {listing(unknown)}."
        unpaired = [
            on_dataset(m, d)
            for (d, m), found in marks.items()
            if not found and m not in unknown and d not in self.panels[m].conflicts
        ]
        if methods > 1 and unpaired and style.marks == "tests":
            yield f"Nothing is marked, because the methods do not have values for the same seeds: {listing(unpaired)}."
        yield from self._fairness_notes
        if self.gaps:
            names = listing([str(gap) for gap in self.gaps])
            yield f"{several(len(self.gaps), 'run')} without a value: {names}. {_POLICY[self.missing]}"
        for note in self._panel_notes:
            yield f"{note}."

    @property
    def _fairness_notes(self) -> list[str]:
        """Which columns are fair to methods that predict graphs of different classes."""
        return legend({metric: view.fairness for metric, view in self.panels.items() if view.better is not None})

    @property
    def _panel_notes(self) -> list[str]:
        return list(dict.fromkeys(note for view in self.panels.values() for note in view.notes))

    def to_dict(self) -> dict[str, Any]:
        """Summaries, conventions and gaps, as in the JSON of `graphgauge aggregate`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        rows = [
            {name: number_to_json(value) if isinstance(value, float) else value for name, value in asdict(row).items()}
            for row in self.rows
        ]
        return {
            "confidence": self.confidence,
            "missing": self.missing,
            "conventions": {metric: dict(view.conventions) for metric, view in self.panels.items()},
            "rows": rows,
            "gaps": [asdict(gap) for gap in self.gaps],
            "notes": [*self._fairness_notes, *(f"{note}." for note in self._panel_notes)],
        }

    def to_json(self) -> str:
        """`to_dict` as text.

        Returns
        -------
        str
            JSON.
        """
        return dumps(self.to_dict())

    def records(self) -> list[dict[str, Any]]:
        """Every summary as a dictionary.

        Returns
        -------
        list[dict[str, Any]]
            One dictionary per metric, method and dataset.
        """
        return [asdict(row) for row in self.rows]

    def to_csv(self) -> str:
        """Every summary in full, one per line.

        Returns
        -------
        str
            CSV with a line of names.
        """
        names = list(Summary.__dataclass_fields__)
        lines = [[Cell(_plain(getattr(row, name))) for name in names] for row in self.rows]
        return Grid(names, lines, ()).csv()

    def render(self, form: str, style: Style | None = None) -> str:
        """The table as `table`, `markdown`, `latex`, `csv` or `json`; the last two have all numbers in full.

        Parameters
        ----------
        form
            `table`, `markdown`, `latex`, `csv` or `json`.
        style
            Digits, order and scale of the numbers; by default as few digits as the intervals justify.

        Returns
        -------
        str
            The table.

        Raises
        ------
        UnknownNameError
            If there is no such form.

        Examples
        --------
        >>> from graphgauge import stats
        >>> runs = {"a": [0.9, 0.8, 0.85], "b": [0.7, 0.6, 0.66]}
        >>> "toprule" in stats.aggregate(runs).render("latex")
        True
        """
        if form == "json":
            return self.to_json()
        if form == "csv":
            return self.to_csv()
        grid = self.grid(style)
        # A terminal is narrow: many metrics become rows, not columns.
        return (grid.turned("metric") if form == "table" and len(grid.head) > 7 else grid).render(form)

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        names = ("metric", "method", "dataset")
        counts = (several(len({getattr(row, name) for row in self.rows}), name) for name in names)
        return f"<Aggregate: {', '.join(counts)}>"


def aggregate(
    runs: Any,
    confidence: float = 0.95,
    missing: Missing = "raise",
    *,
    metrics: Iterable[str] | None = None,
    directions: Mapping[str, Better] | None = None,
    truths: Truths = "same",
    columns: Columns | str | None = None,
) -> Aggregate:
    """Summaries of every metric over seeds, with Student's t-interval.

    `runs` is anything `load` takes, and `columns` names the columns of its tables. A run that failed, is NaN or is
    missing must not improve a mean: by default the mean is NaN with the reason; `missing="omit"` averages the others
    and states how many; `missing="worst"` scores it at the metric's worst bound. Methods that were measured against
    different truths, according to their receipts, are refused; `truths="any"` lists them anyway, with a warning and
    without marks. `directions` says which direction of a metric is better if neither graphgauge nor its name does.

    Parameters
    ----------
    runs, columns
        Anything that `load` takes, and the names of its columns.
    confidence
        Level of the intervals.
    missing
        `raise`, `omit` or `worst`.
    metrics
        Keys to summarise instead of all.
    directions
        `higher` or `lower` by metric.
    truths
        `same`, or `any`.

    Returns
    -------
    Aggregate
        A `Summary` per method, dataset and metric, as tables in text, Markdown, LaTeX and CSV.

    Raises
    ------
    InputError
        If there are no runs, or methods were measured against different truths.

    Examples
    --------
    >>> from graphgauge import stats
    >>> round(stats.aggregate([{"f1": 0.9}, {"f1": 0.8}])["f1"].ci_lower, 4)
    0.2147
    """
    one_of("missing", missing, MISSING)
    alpha = 2 * tail(confidence)
    known = load(runs, columns=columns)
    if not len(known):
        raise InputError("there are no runs")
    chosen = [known.named(metric) for metric in metric_names(metrics) or known.metrics]
    given = _checked_directions(directions or {}, known)
    panels = {
        metric: _with_direction(panel(known, metric, direction=given.get(metric), truths=truths)) for metric in chosen
    }
    if missing == "worst":
        panels = {metric: view.filled() for metric, view in panels.items()}
    rows = [
        _summary(view, method, dataset, confidence, missing)
        for view in panels.values()
        for dataset in view.datasets
        for method in view.methods
    ]
    return Aggregate(rows, panels, confidence=confidence, alpha=alpha, missing=missing)


def _with_direction(view: Panel) -> Panel:
    """The direction of a metric that is only a column of numbers follows from a usual name, with a note."""
    usual = None if view.direction else usual_direction(view.metric)
    if usual is None:
        return view
    return replace(view, direction=usual, notes=(*view.notes, by_name(view.metric, usual).rstrip(".")))


def _checked_directions(directions: Mapping[str, Better], runs: Runs) -> Mapping[str, Better]:
    if not isinstance(directions, Mapping):
        what = f"directions must be a mapping from metric to direction, not {directions!r:.60}"
        raise OptionError(what, fix='{"f1": "higher"}.')
    return {runs.named(metric): better for metric, better in directions.items()}


def _summary(view: Panel, method: str, dataset: str, confidence: float, missing: Missing) -> Summary:
    scores = np.array(list(view.values[dataset][method].values()))
    gaps = [gap for gap in view.gaps if (gap.method, gap.dataset) == (method, dataset)]
    used = np.sort(scores[~np.isnan(scores)])  # the last bit of a sum depends on the order of its terms
    n, reason = len(used), None
    if n < len(scores) and missing == "raise":
        reason = f"no value for {listing([f'seed {gap.seed} ({gap.why})' for gap in gaps])}"
        used = np.full(1, np.nan)
    elif n == 0:
        reason = "no runs"
        used = np.full(1, np.nan)
    elif n == 1:
        reason = "one run has no spread"
    elif np.isinf(used).any():
        reason = "an infinite value has no spread"
    elif sample_std(used) == 0:
        reason = "all runs have the same value: no spread, no interval"
    low, high = sample_interval(used, confidence, "seeds", view.bounds) or (math.nan, math.nan)
    with np.errstate(invalid="ignore"):  # the mean of both infinities
        mean = float(used.mean())
    return Summary(
        metric=view.metric,
        method=method,
        dataset=dataset,
        mean=mean,
        std=sample_std(used),
        min=float(used.min()),
        max=float(used.max()),
        n=n,
        planned=len(scores),
        ci_lower=low,
        ci_upper=high,
        reason=reason,
    )


def _plain(value: Any) -> str:
    return "" if value is None or value != value else str(value)


_ARROWS = {"higher": "↑", "lower": "↓", "target": "◎"}
_POLICY = {
    "raise": 'Their means are NaN; missing="omit" or "worst" gives them a value.',
    "omit": "They are left out.",
    "worst": "They get the metric's worst value.",
}
