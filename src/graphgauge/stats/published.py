"""Tables of papers and leaderboards: means ± standard deviations, tested from these summaries by Welch's test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.grids import Cell, Grid, remark
from graphgauge.core.options import whole_number
from graphgauge.core.result import Interval
from graphgauge.core.schema import dumps
from graphgauge.io.sheets import read_sheet, records_sheet
from graphgauge.stats.comparison import jsonable
from graphgauge.stats.intervals import t_quantile
from graphgauge.stats.many import holm, method_pairs
from graphgauge.stats.method_test import Margin, margin_words
from graphgauge.stats.names import by_name, usual_direction
from graphgauge.stats.paired import require_margin
from graphgauge.stats.present import Presented, Style
from graphgauge.stats.runs import UNNAMED_METRIC, Better, known_metric, on_dataset
from graphgauge.stats.tabular import Columns, columns_of, read_units
from graphgauge.stats.text import decimals, fixed, listing, p_text, plus_minus, several
from graphgauge.stats.wilcoxon import require_alpha


@dataclass(frozen=True)
class PublishedMean:
    """A mean and its standard deviation over `n` runs (with n − 1), as printed; NaN if none is."""

    method: str
    dataset: str
    mean: float
    std: float
    n: int


@dataclass(frozen=True)
class WelchTest:
    """Two published means: their difference (first − second), its interval, and p before and after correction."""

    names: tuple[str, str]
    dataset: str
    difference: float
    ci: tuple[float, float]
    statistic: float
    df: float
    p_value: float
    p_adjusted: float = math.nan
    margin: Margin | None = None


@dataclass(frozen=True)
class PublishedComparison(Presented):
    """Outcome of `compare_published`: unpaired and approximate, because the runs themselves are not known.

    `comparison["gcn"]` is a mean, `comparison["gcn", "gat"]` a test; with several datasets, add the dataset. Methods
    without a standard deviation are listed, not tested.
    """

    metric: str
    better: Better
    means: tuple[PublishedMean, ...]
    tests: tuple[WelchTest, ...]
    alpha: float
    baseline: str | None
    notes: tuple[str, ...] = ()

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(mean.dataset for mean in self.means))

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(mean.method for mean in self.means))

    def standings(self, dataset: str) -> list[PublishedMean]:
        """The means on one dataset, best first.

        Parameters
        ----------
        dataset
            The name of a dataset.

        Returns
        -------
        list[PublishedMean]
            The means.
        """
        own = [mean for mean in self.means if mean.dataset == dataset]
        return sorted(own, key=lambda mean: -mean.mean if self.better == "higher" else mean.mean)

    def places(self, dataset: str | None = None) -> dict[str, tuple[int, int]]:
        """The places that each method may have: those of methods that differ significantly from it are excluded.

        Against a baseline the other pairs are not tested, and no place is excluded by them.

        Parameters
        ----------
        dataset
            The name of a dataset; None if there is one only.

        Returns
        -------
        dict[str, tuple[int, int]]
            By method, the best and the worst place.
        """
        own = self.standings(self._dataset(dataset))
        names = [mean.method for mean in own]
        apart = {
            frozenset(test.names)
            for test in self.tests
            if test.dataset == own[0].dataset and test.p_adjusted <= self.alpha
        }
        found = {}
        for place, name in enumerate(names):
            better = sum(frozenset((name, other)) in apart for other in names[:place])
            worse = sum(frozenset((name, other)) in apart for other in names[place + 1 :])
            found[name] = (1 + better, len(names) - worse)
        return found

    def exchangeable(self, dataset: str | None = None) -> list[tuple[str, str]]:
        """Pairs of methods that do not differ significantly.

        Parameters
        ----------
        dataset
            The name of a dataset; None if there is one only.

        Returns
        -------
        list[tuple[str, str]]
            The pairs.
        """
        name = self._dataset(dataset)
        return [test.names for test in self.tests if test.dataset == name and test.p_adjusted > self.alpha]

    def _dataset(self, dataset: str | None) -> str:
        if dataset is None and len(self.datasets) > 1:
            raise InputError(f"there are {len(self.datasets)} datasets", fix=f"Name one: {listing(self.datasets)}.")
        return self.datasets[0] if dataset is None else one_of("dataset", dataset, self.datasets)

    # -------------------------------------------------------------------- a mapping

    def __iter__(self) -> Iterator[str]:
        return iter(self.methods)

    def __len__(self) -> int:
        return len(self.methods)

    def __getitem__(self, key: Any) -> Any:
        parts = (key,) if isinstance(key, str) else tuple(key)
        last = len(parts) > 1 and parts[-1] in self.datasets and parts[-1] not in self.methods
        names = list(parts[:-1] if last else parts)
        for name in names:
            one_of("method", name, self.methods)
        dataset = self._dataset(parts[-1] if last else None)
        if len(names) == 1:
            return next(mean for mean in self.means if (mean.method, mean.dataset) == (names[0], dataset))
        found = [test for test in self.tests if test.dataset == dataset and set(test.names) == set(names)]
        if not found:
            raise InputError(f"{' and '.join(names)} were not compared", fix="Compare without a baseline.")
        return found[0]

    # -------------------------------------------------------------------- output

    def grid(self, style: Style | None = None) -> Grid:
        """The standings: a row per method and dataset, with the places that it may have.

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
            If `percent` is asked for and a mean is above 1.
        """
        style = style or Style()
        if style.percent and any(abs(mean.mean) > 1 for mean in self.means):
            raise OptionError(
                f"{self.metric} has means above 1, which are not given in percent", fix="Leave percent out."
            )
        rows = []
        for dataset in self.datasets:
            own, places = style.ordered(self.standings(dataset), lambda mean: mean.method), self.places(dataset)
            standing = {mean.method: place for place, mean in enumerate(self.standings(dataset), start=1)}
            marks = self._marks(dataset, style)
            digits = _printed(own, style.factor) if style.digits is None else style.digits
            for mean in own:
                low, high = places[mean.method]
                cells = [
                    Cell(mean.method, marks.get(mean.method, "")),
                    Cell(str(standing[mean.method])),
                    *([] if self.baseline else [Cell(str(low) if low == high else f"{low} to {high}")]),
                    Cell(plus_minus(mean.mean * style.factor, mean.std * style.factor, digits)),
                    Cell(str(mean.n)),
                ]
                rows.append([*cells[:1], Cell(dataset), *cells[1:]] if len(self.datasets) > 1 else cells)
        dataset_head = ["dataset"] if len(self.datasets) > 1 else []
        places_head = [] if self.baseline else ["possible places"]
        head = ["method", *dataset_head, "place", *places_head, f"{self.metric}{' (%)' * style.percent}", "runs"]
        reference = "the best" if self.baseline is None else self.baseline
        return Grid(head, rows, tuple(self._notes()), reference=reference)

    def _marks(self, dataset: str, style: Style) -> dict[str, str]:
        names = [mean.method for mean in self.standings(dataset)]
        if style.marks == "none":
            return {}
        if style.marks == "ranks":
            return dict(zip(names, ("best", "second"), strict=False))
        reference = names[0] if self.baseline is None else self.baseline
        close = {name for pair in self.exchangeable(dataset) if reference in pair for name in pair} - {reference}
        best = {names[0]: "best close" if names[0] in close else "best"}
        return {**dict.fromkeys(close, "close"), **best}

    def tests_grid(self) -> Grid:
        """The tests: a row per pair, with difference, interval, p and verdict.

        Returns
        -------
        Grid
            The table, which renders as text, Markdown, LaTeX or CSV.
        """
        rows = [
            [
                Cell(on_dataset(" vs ".join(test.names), test.dataset if len(self.datasets) > 1 else "")),
                Cell(fixed(test.difference, 4)),
                Cell(f"[{fixed(test.ci[0], 4)}, {fixed(test.ci[1], 4)}]"),
                Cell(f"{test.statistic:.3f}"),
                Cell(f"{test.df:.1f}"),
                Cell(f"{test.p_value:.4g}"),
                Cell(f"{test.p_adjusted:.4g}"),
                Cell("significant" if test.p_adjusted <= self.alpha else "not significant"),
            ]
            for test in self.tests
        ]
        return Grid(["pair", "difference", "interval", "t", "df", "p", "p (Holm)", "verdict"], rows)

    def _notes(self) -> Iterator[str]:
        over = f"over {len(self.tests)} pairs" if len(self.tests) > 1 else "of one pair"
        against = "" if self.baseline is None else f" against {self.baseline}"
        yield (
            f"Welch's t-test{against} from the printed means and standard deviations, with Holm's correction {over}, "
            f"α = {self.alpha:g}. Unpaired and approximate: the runs are not known, only their summaries."
        )
        if self.baseline is None:
            yield "Possible places: methods that do not differ significantly may have each other's place."
        yield from self.notes

    def conclusions(self) -> list[str]:
        """What follows for methods in neighbouring places, and for all pairs if there is a margin.

        Returns
        -------
        list[str]
            One sentence each.
        """
        found = []
        for dataset in self.datasets:
            own = [mean.method for mean in self.standings(dataset)]
            for place, pair in enumerate(pairwise(own), start=1):
                tests = [t for t in self.tests if t.dataset == dataset and set(t.names) == set(pair)]
                if tests:
                    apart = tests[0].p_adjusted <= self.alpha
                    where = f"{dataset}: " if len(self.datasets) > 1 else ""
                    verb = "differ significantly" if apart else "do not differ significantly and are exchangeable"
                    places = f"places {place} and {place + 1} ({', '.join(pair)})"
                    found.append(f"{where}{places} {verb} ({p_text(tests[0].p_adjusted)}).")
        return found + [
            f"{on_dataset(' vs '.join(test.names), test.dataset if len(self.datasets) > 1 else '')}: "
            f"{margin_words(test.names, test.margin, self.better)}"
            for test in self.tests
            if test.margin is not None
        ]

    def render(self, form: str, style: Style | None = None) -> str:
        """The comparison as `table`, `markdown`, `latex`, `csv` (one line per pair) or `json`.

        Parameters
        ----------
        form
            One of these.
        style
            Digits, percent, order and marks.

        Returns
        -------
        str
            The text.
        """
        if form == "json":
            return dumps(self.to_dict())
        if form == "csv":
            return self.tests_grid().csv()
        text = self.grid(style).render(form)
        return text.rstrip("\n") + "\n" + "\n".join(remark(line, form) for line in self.conclusions()) + "\n"

    def records(self) -> list[dict[str, Any]]:
        """Every mean as a dictionary, with its place.

        Returns
        -------
        list[dict[str, Any]]
            One dictionary per method and dataset.
        """
        return [
            {
                **asdict(mean),
                "metric": self.metric,
                "place": place,
                "first_place": self.places(dataset)[mean.method][0],
                "last_place": self.places(dataset)[mean.method][1],
            }
            for dataset in self.datasets
            for place, mean in enumerate(self.standings(dataset), start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Means and tests, as in the JSON of `graphgauge compare`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        return dict(
            jsonable(
                {
                    "metric": self.metric,
                    "better": self.better,
                    "design": "unpaired, from summaries",
                    "alpha": self.alpha,
                    "baseline": self.baseline,
                    "means": self.records(),
                    "tests": [self._test(test) for test in self.tests],
                    "notes": list(self._notes()),
                }
            )
        )

    def _test(self, test: WelchTest) -> dict[str, Any]:
        margin = test.margin
        said = margin and {
            "size": margin.size,
            "ci": None if margin.ci is None else list(margin.ci),
            "conclusion": margin_words(test.names, margin, self.better),
        }
        return {**asdict(replace(test, margin=None)), "margin": said}

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        return f"<PublishedComparison by {self.metric}: {', '.join(self.methods)}>"


def compare_published(
    source: Any,
    *,
    n: int | None = None,
    metric: str | None = None,
    baseline: str | None = None,
    method: Iterable[str] = (),
    dataset: Iterable[str] = (),
    alpha: float = 0.05,
    margin: float | None = None,
    direction: Better | None = None,
    columns: Columns | str | Iterable[str] | None = None,
) -> PublishedComparison:
    """Compare published means ± standard deviations of `n` runs each: which places of a leaderboard are exchangeable.

    `source` is a table whose cells are `71.2 ± 0.3`, `71.2 (0.3)` or the LaTeX of these, or that has columns for the
    mean and the standard deviation; a column of counts may take the place of `n`. Pairs are tested by Welch's
    t-test, which needs no runs but takes them for independent and normal; standard deviations are those with n − 1. A
    mean without one is listed and not tested. `margin` is a difference that does not matter: equivalence and
    non-inferiority are reported. `direction` may be left out if the metric has a usual name, such as accuracy.

    Parameters
    ----------
    source
        A table: a file, a frame, dictionaries, or Markdown or LaTeX text.
    n
        Number of runs of each mean.
    metric, baseline
        As in `compare`.
    method, dataset
        Compare only these; all by default.
    alpha
        Level of the family of tests.
    margin
        A difference that does not matter.
    direction
        `higher` or `lower`.
    columns
        Names of the columns by role.

    Returns
    -------
    PublishedComparison
        Tests of all pairs, and the places that each method could have.

    Raises
    ------
    InputError
        If a cell cannot be read.
    OptionError
        If the number of runs, or the better direction, is not known.

    Examples
    --------
    >>> from graphgauge import stats
    >>> table = [{"method": "a", "acc": "0.81 ± 0.01"}, {"method": "b", "acc": "0.85 ± 0.01"}]
    >>> stats.compare_published(table, n=5, metric="acc", direction="higher").places()
    {'b': (1, 1), 'a': (2, 2)}
    """
    require_alpha(alpha)
    require_margin(margin)
    if n is not None:
        whole_number("n", n, 2)
    means, key, notes = _means(source, n, metric, columns_of(columns))
    for kind, chosen in (("method", list(method)), ("dataset", list(dataset))):
        for name in chosen:
            one_of(kind, name, dict.fromkeys(getattr(mean, kind) for mean in means))
        means = [mean for mean in means if not chosen or getattr(mean, kind) in chosen]
    better = _better(key, direction)
    spread = [mean for mean in means if not math.isnan(mean.std)]
    if baseline is not None:
        one_of("method", baseline, dict.fromkeys(mean.method for mean in means))
        if baseline not in {mean.method for mean in spread}:
            raise InputError(f"{baseline} has a mean without a standard deviation", fix="Choose another baseline.")
    tests = list(_tests(spread, better, baseline, alpha, margin))
    if not tests:
        alone = " and its standard deviation" if len(means) > len(spread) else ""
        raise InputError(f"there are no two methods with {key}{alone}", fix="A comparison needs at least two methods.")
    adjusted = holm([test.p_value for test in tests])
    tested = tuple(replace(test, p_adjusted=float(p)) for test, p in zip(tests, adjusted, strict=True))
    said = (*_usual(key, direction), *_without_spread(means), *_rounding(means), *(f"{note}." for note in notes))
    return PublishedComparison(key, better, tuple(means), tested, alpha, baseline, said)


def _better(metric: str, direction: Better | None) -> Better:
    if direction is not None:
        return "higher" if one_of("direction", direction, ("higher", "lower")) == "higher" else "lower"
    known = known_metric(metric)[1] or usual_direction(metric)
    if known not in ("higher", "lower"):
        raise OptionError(
            f"the better direction of {metric} is not known", fix='Pass direction="higher" or direction="lower".'
        )
    return "higher" if known == "higher" else "lower"


def _usual(metric: str, direction: Better | None) -> Iterator[str]:
    if direction is None and known_metric(metric)[1] is None:
        yield by_name(metric, usual_direction(metric))


def _without_spread(means: Sequence[PublishedMean]) -> Iterator[str]:
    alone = [on_dataset(mean.method, mean.dataset) for mean in means if math.isnan(mean.std)]
    if alone:
        yield f"Without a standard deviation, so not tested, in any place: {listing(alone)}."


def _means(
    source: Any, n: int | None, metric: str | None, columns: Columns
) -> tuple[list[PublishedMean], str, list[str]]:
    if isinstance(source, list | tuple) and len(source) == 1 and isinstance(source[0], str | Path):
        source = source[0]
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            raise InputError("no such file", where=str(path))
        sheet = read_sheet(path)
    elif isinstance(source, list | tuple) and all(isinstance(part, Mapping) for part in source):
        sheet = records_sheet(list(source), "records")
    elif hasattr(source, "to_dict") and hasattr(source, "columns"):
        sheet = records_sheet(source.to_dict(orient="records"), "frame")
    else:
        raise InputError(
            f"cannot read published means from {type(source).__name__}",
            fix="Pass one table, a frame or a list of rows.",
        )
    reading = read_units(sheet, columns)
    keys = list(dict.fromkeys(key for unit in reading.units for key in unit.numbers))
    spread = [key for key in keys if any(u.numbers[key].std is not None for u in reading.units if key in u.numbers)]
    if not spread:
        raise InputError(
            "no cell has a mean ± standard deviation",
            where=reading.where,
            fix="Leave --n out: means alone are tested over several datasets.",
        )
    key = _chosen(metric, spread, reading.where)
    means = []
    for unit in reading.units:
        number = unit.numbers.get(key)
        if number is None or math.isnan(number.value):
            continue
        place = f"{reading.where}, {unit.place}"
        count = n if unit.n is None else unit.n
        if count is None:
            raise OptionError(
                f"{place}: the number of runs is not known", fix="Pass n=, the number of runs of each mean."
            )
        std = math.nan if number.std is None else number.std
        if std < 0 or count < 2:
            raise InputError(f"{std:g} over {several(count, 'run')} is no standard deviation", where=place)
        means.append(PublishedMean(unit.method, unit.dataset, number.value, std, count))
    _refuse_twice(means, reading.where)
    named = metric if key == UNNAMED_METRIC and metric else key
    return means, known_metric(named)[0], reading.notes


def _chosen(metric: str | None, spread: Sequence[str], where: str) -> str:
    if metric is None:
        if len(spread) > 1:
            raise OptionError(f"{where}: there are {len(spread)} metrics", fix=f"Choose one: {listing(list(spread))}.")
        return spread[0]
    if list(spread) == [UNNAMED_METRIC]:
        return UNNAMED_METRIC
    return one_of("metric", metric, spread)


def _refuse_twice(means: Sequence[PublishedMean], where: str) -> None:
    seen = set()
    for mean in means:
        if (mean.method, mean.dataset) in seen:
            raise InputError(
                f"{on_dataset(mean.method, mean.dataset)} occurs twice",
                where=where,
                fix="Give every row a name of its own, such as method=Method+Date.",
            )
        seen.add((mean.method, mean.dataset))


def _tests(
    means: Sequence[PublishedMean], better: Better, baseline: str | None, alpha: float, margin: float | None
) -> Iterator[WelchTest]:
    for dataset in dict.fromkeys(mean.dataset for mean in means):
        own = sorted(
            (mean for mean in means if mean.dataset == dataset),
            key=lambda mean: -mean.mean if better == "higher" else mean.mean,
        )
        method_pairs([mean.method for mean in own], baseline)  # refused if there are too many
        for first, second in combinations(own, 2):
            if baseline in (None, second.method):
                yield _welch(first, second, alpha, margin)
            elif baseline == first.method:
                yield _welch(second, first, alpha, margin)


def _welch(first: PublishedMean, second: PublishedMean, alpha: float, margin: float | None) -> WelchTest:
    names = (first.method, second.method)
    difference = first.mean - second.mean
    a, b = first.std**2 / first.n, second.std**2 / second.n
    if a + b == 0:
        raise InputError(
            f"{first.method} and {second.method} both have a standard deviation of 0: there is no spread to test with",
            fix="Give standard deviations with more digits, or leave one of the methods out.",
        )
    df = (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (second.n - 1))
    error = math.sqrt(a + b)
    statistic = difference / error
    from scipy.special import stdtr

    def interval(level: float) -> Interval:
        reach = float(t_quantile([df], 1 - level)[0]) * error
        return Interval(difference - reach, difference + reach, 1 - level, "t", "runs")

    low, high = interval(alpha)
    p = 2 * float(stdtr(df, -abs(statistic)))
    within = None if margin is None else Margin(float(margin), interval(min(2 * alpha, 0.999)))
    return WelchTest(names, first.dataset, difference, (low, high), statistic, df, p, margin=within)


def _printed(means: Sequence[PublishedMean], factor: float) -> int:
    """As many digits as were printed, unless these show more than two of the spread."""
    written = max(
        len(f"{number:.10f}".rstrip("0").partition(".")[2])
        for mean in means
        for number in (mean.mean, mean.std)
        if not math.isnan(number)
    )
    shown = max(decimals(mean.std * factor, mean.mean * factor) for mean in means)
    return min(max(written - (2 if factor > 1 else 0), 0), shown)


def _rounding(means: Sequence[PublishedMean]) -> Iterator[str]:
    """Standard deviations of one digit: 0.0005 stands for anything from 0.00045 to 0.00055."""
    coarse = [mean.method for mean in means if mean.std > 0 and float(f"{mean.std:.0e}") == mean.std]
    if coarse:
        yield (
            f"Standard deviations of one digit ({listing(list(dict.fromkeys(coarse)))}) may be off by a tenth or more, "
            "and the p-values of their pairs are rough."
        )
