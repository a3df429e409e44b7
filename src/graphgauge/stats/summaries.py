"""Summaries over seeds: mean, standard deviation, smallest, largest and interval of the mean, as a paper's table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import structs

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError, UnknownNameError, one_of, sentence
from graphgauge.core.family import family, family_names
from graphgauge.core.grid import Grid
from graphgauge.core.number import percent, plural
from graphgauge.core.options import metric_names, whole_number
from graphgauge.core.result import ARROWS
from graphgauge.stats.errors import sample_std
from graphgauge.stats.intervals import of_runs, t_interval
from graphgauge.stats.outcome import FORMS, Shown
from graphgauge.stats.panel import MISSING, Better, Missing, Panel, panel_of
from graphgauge.stats.reading import read_runs
from graphgauge.stats.runs import UNNAMED, Runs, declared_metric, on_dataset
from graphgauge.stats.text import decimals, ends, fixed, listing, plus_minus, together

MARKS = ("best", "tests", "none")
_MOST_DIGITS, _MOST_NOTES = 15, 3
# So many metrics are shown in any case.
_FEW = 4


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One metric of one method on one dataset: of `n` runs of `planned`; `reason` says why there is no number."""

    metric: str
    method: str
    dataset: str
    mean: float = math.nan
    std: float = math.nan
    min: float = math.nan
    max: float = math.nan
    n: int
    planned: int
    ci_lower: float = math.nan
    ci_upper: float = math.nan
    reason: str | None = None


class Aggregate(Shown, Mapping[tuple[str, str, str], Summary]):
    """Summaries by metric, method and dataset; a metric alone is enough as a key if there is one method and dataset.

    Examples
    --------
    >>> from graphgauge import stats
    >>> table = stats.aggregate([{"f1": 0.9, "shd": 3}, {"f1": 0.8, "shd": 5}])
    >>> round(table["f1"].mean, 2), table["shd"].max
    (0.85, 5.0)
    """

    def __init__(
        self, rows: Sequence[Summary], panels: Mapping[str, Panel], *, confidence: float, missing: str
    ) -> None:
        self.rows = tuple(rows)
        self.panels = dict(panels)
        self.confidence, self.missing = confidence, missing
        self._by_key = {(row.metric, row.method, row.dataset): row for row in rows}

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __getitem__(self, key: Any) -> Summary:
        names = (key,) if isinstance(key, str) else tuple(key)
        rows = [row for row in self.rows if (row.metric, row.method, row.dataset)[: len(names)] == names]
        if not rows:
            raise UnknownNameError(
                "summary", ", ".join(map(str, names)), [", ".join(filter(None, each)) for each in self]
            )
        if len(rows) > 1:
            others = listing([str((row.metric, row.method, row.dataset)) for row in rows], 4)
            raise InputError(f"{len(rows)} summaries belong to {key!r}", fix=f"Choose one: {others}.")
        return rows[0]

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of the runs."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def datasets(self) -> list[str]:
        """The datasets, in the order of the runs."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    def to_long(self) -> Grid:
        """Every summary with all numbers in full, a row each."""
        names = list(Summary.__dataclass_fields__)
        return Grid.of_rows(names, [[getattr(row, name) for name in names] for row in self.rows])

    def to_grid(
        self,
        *,
        marks: Literal["best", "tests", "none"] = "best",
        digits: int | None = None,
        percent: bool = False,
        order: Sequence[str] = (),
    ) -> Grid:
        """The table of a paper: a row per method, `mean ± std` for each metric or dataset.

        Parameters
        ----------
        marks
            `best` marks the best mean; `tests` also what is not significantly different from it, where the design can
            show that; `none` nothing.
        digits
            Digits after the point; by default two of the standard deviation.
        percent
            Whether to multiply by 100.
        order
            Methods that come first.

        Returns
        -------
        Grid
            Text, CSV, Markdown, LaTeX or HTML.
        """
        one_of("marks", marks, MARKS)
        if digits is not None:
            whole_number("digits", digits, 0, _MOST_DIGITS)
        for name in order:
            one_of("method", name, self.methods)
        methods = [*order, *(name for name in self.methods if name not in order)]
        is_by_dataset = len(self.panels) == 1 and len(self.datasets) > 1
        datasets = [None] if is_by_dataset else self.datasets
        known = {(row.method, row.dataset) for row in self.rows}
        every = ((method, dataset) for dataset in datasets for method in methods)
        lines = [line for line in every if line[1] is None or line in known]
        columns: dict[str, list[str]] = {"method": [method or "all runs" for method, _ in lines]}
        if len(datasets) > 1:
            columns["dataset"] = [str(dataset) for _, dataset in lines]
        marked: dict[tuple[int, str], str] = {}
        notes: list[str] = []
        for head, metric, own in self._columns(is_by_dataset):
            column = f"{head} (%)" if percent else head
            # Another family's runs do not have the metric.
            rows = [
                self._by_key.get((metric, method, str(dataset if own is None else own))) for method, dataset in lines
            ]
            columns[column] = ["–" if row is None else _shown(row, digits, 100.0 if percent else 1.0) for row in rows]
            for dataset in dict.fromkeys(row.dataset for row in rows if row is not None):
                places = {row.method: i for i, row in enumerate(rows) if row is not None and row.dataset == dataset}
                signs, why = self._marks(metric, dataset, marks)
                marked |= {(places[method], column): mark for method, mark in signs.items()}
                notes += [why] if why else []
        return replace(Grid.of(**columns), notes=tuple(dict.fromkeys(notes)), marks=marked, caption=self._caption)

    def _columns(self, is_by_dataset: bool) -> Iterator[tuple[str, str, str | None]]:
        """Each column's head, metric and dataset (None: that of the row)."""
        for metric, panel in self.panels.items():
            arrow = f" {ARROWS[panel.direction]}" if panel.direction in ("higher", "lower", "target") else ""
            if is_by_dataset:
                yield from ((dataset, metric, dataset) for dataset in self.datasets)
            else:
                yield f"{metric}{arrow}", metric, None

    def _marks(self, metric: str, dataset: str, marks: str) -> tuple[dict[str, str], str | None]:
        """The marks of methods, and why there are none, or what tests say of methods without one."""
        panel, none = self.panels[metric], f"No marks of {on_dataset(metric, dataset)}"
        known = [row for row in self.rows if (row.metric, row.dataset) == (metric, dataset)]
        rows = [row for row in known if not math.isnan(row.mean)]
        ranked = [row for row in rows if row.method not in panel.invalid]
        unranked = panel.direction == "none" or panel.different or panel.unfair
        if marks == "none" or unranked or len(rows) < 2 or not ranked:
            return {}, None
        if panel.direction is None:
            name = ', or name the metric: metrics="accuracy"' if metric == UNNAMED else ""
            what = f"No marks of {metric}: its better direction is not known; "
            what += f'write directions={{"{metric}": "higher"}}{name}.'
            return {}, what if marks == "tests" else None
        badness = {row.method: float(panel.badness(row.mean)) for row in ranked}
        best = [method for method, value in badness.items() if value == min(badness.values())]
        if math.isinf(badness[best[0]]):
            return {}, f"{none}: the mean of {best[0]} is infinite."
        if len(best) == len(rows):
            return {}, None
        if marks == "best":
            return dict.fromkeys(best, "best"), None
        undefined = next((row for row in known if math.isnan(row.mean)), None)
        if undefined is not None:
            return {}, f"{none}: the mean of {undefined.method} is undefined ({undefined.reason})."
        from graphgauge.stats.comparison import compare

        runs = Runs(run for run in panel.runs if run.dataset == dataset)
        try:
            missing = "omit" if self.missing == "raise" else self.missing
            found = compare(runs, metric=metric, confidence=self.confidence, missing=missing, direction=panel.better)  # type: ignore[arg-type]
        except GraphgaugeError as error:
            return {}, f"{none}: {error}"
        if not found.can_reject:
            more = [sentence(note) for note in found.notes if note not in (*panel.notes, found.advice)]
            return {}, " ".join([structs.replace(found, advice="").conclusion, *more])
        if found.best not in best:
            return {}, f"{none}: over the runs that are compared, {found.best} has the best mean."
        rivals = [pair for pair in found.pairs if found.best in pair.names and pair.verdict in ("none", "cannot")]
        signs = {name: "close" for pair in rivals for name in pair.names} | {found.best: "best"}
        level = f"{percent(self.confidence)}, Holm's correction"
        said = f"Beside a marked mean, means without a mark are significantly worse ({level})."
        return signs, said if len(signs) < len(ranked) else None

    @property
    def _caption(self) -> str:
        return f"Mean ± standard deviation over {self._over}"

    @property
    def _over(self) -> str:
        sizes = {row.n for row in self.rows if row.n}
        least, most = min(sizes, default=0), max(sizes, default=0)
        return plural(most, "run") if least == most else f"{least} to {most} runs"

    @property
    def gaps(self) -> list[str]:
        """Runs without a value."""
        return list(dict.fromkeys(str(gap) for panel in self.panels.values() for gap in panel.gaps))

    @property
    def notes(self) -> list[str]:
        """What else to know: errors and warnings, then gaps, then what else the metrics' panels say."""
        said = [note for panel in self.panels.values() for note in panel.notes]
        policy = {
            "raise": 'their means are NaN; missing="omit" or missing="worst" has other rules',
            "omit": "they are left out",
            "worst": "they have the metric's worst value",
        }
        gaps = [f"runs without a value: {listing(self.gaps, 4)}; {policy[self.missing]}"] if self.gaps else []
        loud = [note for level in ("error", "warning") for note in dict.fromkeys(said) if note.startswith(level)]
        return [*loud, *gaps, *(note for note in dict.fromkeys(said) if note not in loud)]

    @property
    def conclusion(self) -> str:
        """One sentence: whose means are best."""
        leaders = self._leaders
        return f"{leaders}; compare tests it." if leaders else f"{self._caption}."

    @property
    def _leaders(self) -> str:
        """Whose means are best, without a full stop; nothing if no metric says so."""
        tables = [(metric, dataset) for metric in self.panels for dataset in self.datasets]
        best = {table: marks for table in tables if (marks := self._marks(*table, "best")[0])}
        if not best:
            return ""
        wins = Counter(name for marks in best.values() for name in marks)
        most = max(wins.values())
        top = [name for name in self.methods if wins[name] == most]
        metric, dataset = next(iter(best))
        one = f"the best mean of {on_dataset(metric, dataset) if len(self.datasets) > 1 else metric}"
        what = one if len(best) == 1 else f"{most} of {len(best)} best means"
        verb = "has" if len(top) == 1 else "have" if len(best) == 1 else "each have"
        return f"{together(top)} {verb} {what} over {self._over}"

    def _details(self) -> Grid:
        """A row per summary: what fits if there is one metric or one method."""
        level = f"{percent(self.confidence)} interval"
        columns: dict[str, list[Any]] = {
            "metric": [row.metric for row in self.rows],
            "method": [row.method for row in self.rows],
            "dataset": [row.dataset for row in self.rows],
            "mean ± std": [_shown(row, None, 1.0) for row in self.rows],
            level: [ends((row.ci_lower, row.ci_upper)) for row in self.rows],
            "min": [fixed(row.min, decimals(row.std, row.mean)) for row in self.rows],
            "max": [fixed(row.max, decimals(row.std, row.mean)) for row in self.rows],
            "n": [row.n for row in self.rows],
        }
        kept = {
            name: cells for name, cells in columns.items() if name not in ("method", "dataset") or len(set(cells)) > 1
        }
        if len(self.panels) == 1 and len(kept) == len(columns):
            del kept["metric"]
        return Grid.of(**kept)

    def render(self, form: str = "table", **style: Any) -> str:
        """The table in a `form` (table, markdown, latex, html, csv, json), with the `style` of `to_grid`."""
        one_of("format", form, tuple(FORMS.values()))
        if form in ("csv", "json"):
            return self.to_long().render(form)
        is_detailed = (
            form == "table" and not style and (len(self.methods) == 1 or len(self.panels) == len(self.datasets) == 1)
        )
        grid = self._details() if is_detailed else self.to_grid(**style)
        if form != "table":
            return replace(grid, notes=(*grid.notes, *map(sentence, self.notes))).render(form)
        loud = sum(note.startswith("error") for note in self.notes)
        notes = "\n".join(sentence(note) for note in self.notes[: max(_MOST_NOTES, loud)])
        said = f"{self._leaders}." if style.get("marks") == "tests" and self._leaders else self.conclusion
        return "\n\n".join(filter(None, [grid.to_text(), notes, said]))

    def to_frame(self) -> Any:
        """Every summary, as a data frame of pandas."""
        return self.to_long().to_frame()

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw means with their intervals: to the file `path`, too, or in the place of the axes `ax`."""
        from graphgauge.stats.figures import aggregate_figure

        return aggregate_figure(self, path, ax)

    def __repr__(self) -> str:
        counts = (len(self.panels), "metric"), (len(self.methods), "method"), (len(self.datasets), "dataset")
        return f"<Aggregate: {', '.join(plural(count, name) for count, name in counts)}>"


def aggregate(
    runs: Any,
    *,
    metrics: Iterable[str] | str | None = None,
    confidence: float = 0.95,
    missing: Missing = "raise",
    directions: Mapping[str, Better] | None = None,
    truths: Literal["same", "any"] = "same",
    columns: Mapping[str, str] | str | None = None,
) -> Aggregate:
    """Mean, standard deviation, smallest, largest and t-interval of every metric over seeds.

    A run that failed, is NaN or is missing must not improve a mean: by default the mean is then NaN, with the reason.

    Parameters
    ----------
    runs, columns
        Anything that `read_runs` takes, and the columns of tables by role.
    metrics
        Keys, or `"all"`; by default all of up to four, or the headline metrics of the family; all of a table.
    confidence
        Level of the intervals.
    missing
        Runs without a value make the mean NaN (`raise`), are left out (`omit`), or have the metric's `worst` bound.
    directions
        `higher` or `lower` by metric, where neither graphgauge nor the name says which is better.
    truths
        Whether methods must be measured against the `same` truths, as their receipts record, or `any`.

    Returns
    -------
    Aggregate
        A `Summary` per metric, method and dataset, as tables in text, Markdown, LaTeX and CSV.

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
    if directions is not None and not isinstance(directions, Mapping):
        what = f"directions must be a mapping from metric to direction, not {directions!r:.60}"
        raise OptionError(what, fix='For example {"f1": "higher"}.')
    known = read_runs(runs, columns=columns)
    if not len(known):
        raise InputError("there are no runs")
    directions = directions or {}
    for name in directions:
        one_of("metric", name, known.metrics)
    chosen = _chosen(known, metrics)
    known = Runs(known, (*known.notes, *_not_shown(known, chosen, metrics)))
    panels = {metric: panel_of(known, metric, direction=directions.get(metric), truths=truths) for metric in chosen}
    if missing == "worst":
        panels = {metric: panel.filled(panel.gaps) for metric, panel in panels.items()}
    rows = [
        _summary(panel, method, dataset, confidence, missing)
        for panel in panels.values()
        for dataset in panel.datasets
        for method in panel.methods
    ]
    return Aggregate(rows, panels, confidence=confidence, missing=missing)


def _chosen(runs: Runs, metrics: Iterable[str] | str | None) -> list[str]:
    if metrics is None:
        families = {run.family for run in runs if run.scores}
        declared = [family(name) if name in family_names() else None for name in families]
        heads = [key for each in declared if each is not None for key in each.headlines]
        known = [key for key in runs.metrics if key in heads]
        return known if known and None not in declared and len(runs.metrics) > _FEW else runs.metrics
    if metrics == "all":
        return runs.metrics
    names = metric_names(metrics) or []
    for name in names:
        runs.named(name)
    return names


def _not_shown(runs: Runs, chosen: Sequence[str], asked: object) -> list[str]:
    """Metrics that were named when the runs were evaluated, but are not among the headlines."""
    left = [key for key in runs.metrics if asked is None and key not in chosen]
    named = [key for key in left if not getattr(declared_metric(key), "default", True)]
    return [f'not shown: {listing(named, 4)}; metrics="all" shows all'] if named else []


def _summary(panel: Panel, method: str, dataset: str, confidence: float, missing: str) -> Summary:
    own = list(panel.scores[dataset].get(method, {}).values())
    summary = partial(Summary, metric=panel.metric, method=method, dataset=dataset)
    if len(own) == 1 and own[0].runs > 1:
        mean, std, runs = own[0].value, own[0].std, own[0].runs
        low, high = t_interval(mean, std / math.sqrt(runs), runs - 1, confidence)
        return summary(mean=mean, std=std, n=runs, planned=runs, ci_lower=float(low), ci_upper=float(high))
    scores = np.array([score.value for score in own])
    used = np.sort(scores[~np.isnan(scores)])  # the last bit of a sum depends on the order of its terms
    empty = summary(n=len(used), planned=len(own))
    if not len(used) or (len(used) < len(scores) and missing == "raise"):
        gaps = [f"seed {gap.seed} ({gap.why})" for gap in panel.gaps if (gap.method, gap.dataset) == (method, dataset)]
        return replace(empty, reason=f"no value for {listing(gaps)}" if gaps else "no runs")
    std, interval = sample_std(used), of_runs(used, confidence, bounds=panel.bounds)
    with np.errstate(invalid="ignore"):  # the mean of both infinities
        found = replace(empty, mean=float(used.mean()), std=std, min=float(used[0]), max=float(used[-1]))
    if interval is None:
        why = "one run has no spread" if len(used) == 1 else "all runs are equal" if std == 0 else "a value is infinite"
        return replace(found, reason=why)
    return replace(found, ci_lower=interval.low, ci_upper=interval.high)


def _shown(row: Summary, digits: int | None, factor: float) -> str:
    return plus_minus(factor * row.mean, factor * row.std, digits)
