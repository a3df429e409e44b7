"""The outcome of a comparison: standings, tests, and their text."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from graphgauge.core.arrays import Floats
from graphgauge.core.scrub import harmless
from graphgauge.old.core.grids import Cell, Grid, remark
from graphgauge.old.core.result import Interval
from graphgauge.old.core.schema import dumps, number_to_json
from graphgauge.old.stats.design import Design
from graphgauge.old.stats.fair import UNFAIR
from graphgauge.old.stats.many import Friedman
from graphgauge.old.stats.method_test import MethodTest
from graphgauge.old.stats.power import Needed
from graphgauge.old.stats.present import Presented, Style, comparison_marks, standing_or_test, times
from graphgauge.old.stats.runs import Better
from graphgauge.old.stats.text import bounds, decimals, fixed, listing, p_text, plus_minus, several


@dataclass(frozen=True)
class Standing:
    """One method among the others: its scores over the units, as measured."""

    method: str
    mean: float
    std: float
    ci: Interval | None
    mean_rank: float
    iqm: float
    iqm_ci: tuple[float, float]


@dataclass(frozen=True)
class Improvement:
    """How often a run of `first` beats a run of `second` on the same dataset with another seed.

    `ci` is a bootstrap interval, or NaN with the reason in `no_interval`.
    """

    first: str
    second: str
    probability: float
    ci: tuple[float, float]
    no_interval: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison(Presented):
    """Outcome of `compare`; methods are in the order of their mean ranks, best first.

    A mapping: `comparison["gcn"]` is the standing of a method, `comparison["gcn", "gat"]` the test of a pair.

    `design` names which runs belong together and what the claim is about. `unit` is what the test counts: `dataset` if
    datasets are drawn from others, otherwise `seed`, or `run` if runs are not paired. `scores` has a column per method
    and a row per unit: a seed or run of one dataset, or the mean on a dataset. `best` has the best mean. If the metric
    has a target, methods are judged by the distance from it. `needed` says what would detect the effect that was asked
    about. `unfair` says to which methods the metric is not fair, because they predict graphs of a class that leaves
    open what it counts.
    """

    metric: str
    better: Better
    target: float | None
    conventions: Mapping[str, str]
    unit: str
    units: tuple[str, ...]
    standings: tuple[Standing, ...]
    tests: tuple[MethodTest, ...]
    improvements: tuple[Improvement, ...]
    friedman: Friedman | None
    critical_difference: float
    alpha: float
    baseline: str | None
    best: str
    scores: Floats
    notes: tuple[str, ...]
    design: Design
    metrics_compared: int = 1
    needed: tuple[Needed, ...] = ()
    unfair: str | None = None

    @property
    def methods(self) -> list[str]:
        return [standing.method for standing in self.standings]

    @property
    def not_distinguished(self) -> list[str]:
        """Methods that do not differ significantly from the best, or were not tested against it."""
        return [name for name in self.methods if name != self.best and not self.told_apart(name, self.best)]

    def told_apart(self, first: str, second: str) -> bool:
        """Whether two methods differ significantly.

        Parameters
        ----------
        first, second
            Names of methods.

        Returns
        -------
        bool
            True if the test of the pair rejects at `alpha`.
        """
        return frozenset((first, second)) in self._rejected

    @cached_property
    def _rejected(self) -> frozenset[frozenset[str]]:
        return frozenset(frozenset(test.names) for test in self.tests if test.significant)

    @property
    def cliques(self) -> list[list[str]]:
        """Largest groups of methods without a significant difference; empty against a baseline."""
        if self.baseline is not None:
            return []
        groups = _maximal_cliques(self.methods, self.told_apart)
        return [group for group in groups if len(group) > 1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.methods)

    def __len__(self) -> int:
        return len(self.standings)

    def __getitem__(self, key: Any) -> Any:
        return standing_or_test(self, key)

    def grid(self, style: Style | None = None) -> Grid:
        """The standings: a row per method, best mean rank first.

        Parameters
        ----------
        style
            Digits, percent, order and marks.

        Returns
        -------
        Grid
            The table, which renders as text, Markdown, LaTeX or CSV.
        """
        style = style or Style()
        marks = comparison_marks(self, style.marks)
        factor = style.factor
        spread = max((s.std for s in self.standings if s.std == s.std), default=math.nan)
        digits = decimals(spread * factor, self.standings[0].mean * factor) if style.digits is None else style.digits
        rows = [
            [
                Cell(standing.method, marks.get(standing.method, "")),
                Cell(plus_minus(standing.mean * factor, standing.std * factor, digits)),
                Cell(bounds(times(standing.ci, factor), style.digits)),
                Cell(f"{standing.mean_rank:.2f}"),
                Cell(
                    f"{fixed(standing.iqm * factor, _digits(times(standing.iqm_ci, factor), digits, style.digits))} "
                    f"{bounds(times(standing.iqm_ci, factor), style.digits)}"
                ),
            ]
            for standing in style.ordered(self.standings, lambda standing: standing.method)
        ]
        level, percent = f"{100 * (1 - self.alpha):g} %", " (%)" * style.percent
        head = ["method", f"mean ± std{percent}", f"{level} interval", "mean rank", f"IQM{percent}"]
        return Grid(head, rows, reference="the best" if self.baseline is None else self.baseline)

    def records(self) -> list[dict[str, Any]]:
        """Every standing as a dictionary.

        Returns
        -------
        list[dict[str, Any]]
            One dictionary per method.
        """
        return [
            {"metric": self.metric, **asdict(standing), "ci": None if standing.ci is None else tuple(standing.ci)}
            for standing in self.standings
        ]

    def tests_grid(self) -> Grid:
        """The tests: a row per pair, with difference, interval, p and verdict.

        Returns
        -------
        Grid
            The table, which renders as text, Markdown, LaTeX or CSV.
        """
        improvement = {(item.first, item.second): item for item in self.improvements}
        rows = []
        for test in self.tests:
            digits = _digits(test.ci, 4)
            item = improvement[test.names]
            verdict = "significant" if test.significant else "not significant" if test.can_reject else "cannot reject"
            rows.append(
                [
                    Cell(" vs ".join(test.names)),
                    Cell(fixed(test.shift, digits)),
                    Cell(bounds(test.ci, digits)),
                    Cell(f"{test.p_value:.4g}"),
                    Cell(f"{test.p_adjusted:.4g}"),
                    Cell(f"{test.effect_size_r:.2f} ({test.effect_word})"),
                    Cell(fixed(item.probability, 2) + ("" if item.no_interval else f" {bounds(item.ci, 2)}")),
                    Cell(verdict),
                ]
            )
        head = ["pair", "difference", "interval", "p", "p (Holm)", "rank-biserial r", "P(first better)", "verdict"]
        return Grid(head, rows)

    @property
    def summary(self) -> str:
        """The comparison as text, for a terminal."""
        return self._text(None)

    def _text(self, style: Style | None) -> str:
        over = self.over
        way = f"target {self.target:g}" if self.target is not None else f"{self.better} is better"
        stated = "; ".join(f"{name}: {value}" for name, value in self.conventions.items())
        parts = [
            f"{self.metric}{f' {UNFAIR}' if self.unfair else ''} ({way}) over {over}"
            + (f"  ({stated})" if stated else ""),
            f"{self.design.sentence}\n",
            self.grid(style).text(),
            self.tests_grid().text(),
            "\n".join(self._remarks()),
        ]
        return harmless("\n".join(parts).rstrip() + "\n")

    @property
    def over(self) -> str:
        """What was tested, in words: `8 seeds`, `12 datasets`, `runs on 3 datasets`."""
        if self.design.datasets == "these":
            return f"runs on {several(len(self.units), 'dataset')}"
        if self.unit == "run" and self.design.seeds[0] != self.design.seeds[1]:
            return f"{self.design.seeds[0]} to {self.design.seeds[1]} runs"
        return several(len(self.units), self.unit)

    @property
    def points(self) -> str:
        """What the rows of `scores` are."""
        return f"{self.unit}s" if self.design.datasets != "these" else "datasets"

    def _remarks(self) -> Iterator[str]:
        if self.unfair is not None:
            yield self.unfair
        if self.friedman is not None:
            kind = "exact" if self.friedman.exact else "chi-squared"
            yield f"Friedman: χ² = {self.friedman.statistic:.3g}, {p_text(self.friedman.p_value)} ({kind})."
            yield f"Nemenyi's critical difference of mean ranks: {self.critical_difference:.3g}."
        said: dict[str, list[str]] = {}  # pairs of which the same can be said, such as that seeds are too few
        for test in self.tests:
            for sentence in (test.conclusion, *((test.equivalence,) if test.margin is not None else ())):
                said.setdefault(sentence, []).append(" vs ".join(test.names))
        yield from (f"{listing(pairs)}: {sentence}" for sentence, pairs in said.items())
        yield from (f"{need}" for need in self.needed)
        if len(self.tests) > 1:
            yield (
                "Intervals of differences are for each pair alone; verdicts use Holm's correction over "
                f"{len(self.tests)} pairs"
                + (f" and {self.metrics_compared} metrics." if self.metrics_compared > 1 else ", of this metric only.")
            )
        if self.unit == "dataset":
            yield "Intervals of IQM and P(first better) are over seeds, for these datasets; others are over datasets."
        for reason in dict.fromkeys(item.no_interval for item in self.improvements if item.no_interval):
            yield f"P(first better) has no interval: {reason}."
        yield from self.notes

    def render(self, form: str, style: Style | None = None) -> str:
        """The comparison as `table`, `markdown`, `latex`, `csv` (one line per pair) or `json`.

        Parameters
        ----------
        form
            `table`, `markdown`, `latex`, `csv` or `json`.
        style
            Digits, order and scale of the numbers.

        Returns
        -------
        str
            The comparison.

        Raises
        ------
        UnknownNameError
            If there is no such form.

        Examples
        --------
        >>> from graphgauge import stats
        >>> runs = {"a": [0.9, 0.8, 0.85], "b": [0.7, 0.6, 0.66]}
        >>> "toprule" in stats.compare(runs, metric="accuracy").render("latex")
        True
        """
        if form == "json":
            return self.to_json()
        if form == "csv":
            return self.tests_grid().csv()
        if form == "table":
            return self._text(style)
        lines = (self.design.sentence, *self._remarks())
        remarks = [remark(line, form) for line in lines]
        return "\n".join([self.grid(style).render(form), self.tests_grid().render(form), *remarks]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Design, standings and tests, as in the JSON of `graphgauge compare`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        content = {
            "metric": self.metric,
            "better": self.better,
            "target": self.target,
            "conventions": dict(self.conventions),
            "design": self.design.to_dict(),
            "unit": self.unit,
            "units": list(self.units),
            "alpha": self.alpha,
            "baseline": self.baseline,
            "best": self.best,
            "not_distinguished": self.not_distinguished,
            "cliques": self.cliques,
            "methods": [
                {**asdict(standing), "ci": None if standing.ci is None else list(standing.ci)}
                for standing in self.standings
            ],
            "tests": [test.to_dict() for test in self.tests],
            "improvements": [asdict(item) for item in self.improvements],
            "friedman": None if self.friedman is None else asdict(self.friedman),
            "critical_difference": self.critical_difference,
            "metrics_compared": self.metrics_compared,
            "needed": [need.to_dict() for need in self.needed],
            "scores": self.scores.tolist(),
            "unfair": self.unfair,
            "notes": list(self.notes),
        }
        return dict(jsonable(content))

    def to_json(self) -> str:
        """`to_dict` as text.

        Returns
        -------
        str
            JSON.
        """
        return dumps(self.to_dict())

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"<Comparison by {self.metric} over {self.over}: {', '.join(self.methods[:6])}{', …' * (len(self) > 6)}>"

    def _repr_html_(self) -> str:
        """Standings, pairs and remarks, as a notebook shows them."""
        remarks = "".join(f"<p>{html.escape(line)}</p>" for line in (self.design.sentence, *self._remarks()))
        title = f"{self.metric} over {self.over}"
        return self.grid().html(title) + self.tests_grid().html("pairs of methods") + remarks


def _digits(interval: Iterable[float] | None, otherwise: int, given: int | None = None) -> int:
    if given is not None:
        return given
    low, high = interval or (math.nan, math.nan)
    return decimals((high - low) / 4, low) if high > low else otherwise


def _maximal_cliques(names: list[str], apart: Callable[[str, str], bool]) -> list[list[str]]:
    """Maximal groups without a significant pair, in the order of the names (Bron and Kerbosch).

    Every group contains the name with the most neighbours, or one that is not among these (Tomita et al. 2006): if
    no pair is significant, one group is found at once.
    """
    near = {name: {other for other in names if other != name and not apart(name, other)} for name in names}
    found: list[list[str]] = []

    def grow(group: set[str], open_to: set[str], done: set[str]) -> None:
        if not open_to and not done:
            found.append(sorted(group, key=names.index))
            return
        pivot = max(open_to | done, key=lambda name: len(open_to & near[name]))
        for name in open_to - near[pivot]:
            grow(group | {name}, open_to & near[name], done & near[name])
            open_to, done = open_to - {name}, done | {name}

    grow(set(), set(names), set())
    return sorted(found, key=lambda group: [names.index(name) for name in group])


def jsonable(value: Any) -> Any:
    """Tuples as lists, NaN and infinities as result files write them."""
    if isinstance(value, dict):
        return {name: jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return number_to_json(value) if isinstance(value, float) else value
