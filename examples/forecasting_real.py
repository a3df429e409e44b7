"""Incomes of 48 US states on the map of their borders, and the sea off Peru: baselines and their intervals.

The incomes (1929 to 2009) ship as text files with libpysal, the sea temperatures (1950 to 2010) with statsmodels;
neither package is imported:

    pip install "graphgauge[report]" libpysal statsmodels
    python examples/forecasting_real.py                         # prints the tables
    python examples/forecasting_real.py docs/forecasting_real.md   # writes them and the figure into the page
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import forecasting
from graphgauge.core.result import Evaluation

Array = np.ndarray
# From the data known so far (steps, nodes) to forecasts (horizons, nodes).
Method = Callable[[Array], Array]

SHUFFLES = 40


def package_file(package: str, *parts: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The data come with {package}: pip install {package}")
    return Path(spec.origin).parent.joinpath(*parts)


# ------------------------------------------------------------------------------- rolling origins, for any method


@dataclass(frozen=True)
class Rolled:
    """Truth, forecast and standard deviation, each (origins, horizons, nodes)."""

    truth: Array
    mean: Array
    std: Array

    @property
    def mae(self) -> Array:
        """Mean absolute errors by horizon."""
        return np.abs(self.mean - self.truth).mean((0, 2))


def rolled(
    series: Array, method: Method, horizons: int, *, first: int, judged: int, memory: int | None = None
) -> Rolled:
    """Forecasts from every step, each from past data only, evaluated from step `judged` on.

    The standard deviation is that of the method's past errors at the same horizon and node: of all, or of the last
    `memory` ones.
    """
    origins = range(first, len(series) - horizons)
    truth = np.stack([series[origin + 1 : origin + 1 + horizons] for origin in origins])
    mean = np.stack([method(series[: origin + 1]) for origin in origins])
    square = (mean - truth) ** 2
    std = np.full(mean.shape, np.nan)
    for place, origin in enumerate(origins):
        if origin >= judged:
            for ahead in range(horizons):
                # The error of a forecast `ahead + 1` steps ahead is known that many steps later.
                past = square[: place - ahead, ahead]
                std[place, ahead] = np.sqrt(past[-(memory or len(past)) :].mean(0))
    kept = slice(judged - first, None)
    return Rolled(truth[kept], mean[kept], std[kept])


def evaluated(made: Rolled, **options: Any) -> Evaluation:
    return forecasting.evaluate(made.truth, made.mean, std=made.std, **options)


# ------------------------------------------------------------------------------------------------------ incomes

YEARS_AHEAD = 5
GRAPH, MEMORY = "AR(1) with neighbours", 10
SHORT = f"{GRAPH}, spread of the last {MEMORY} errors"
FIRST_ORIGIN, FIRST_JUDGED = 10, 25  # 1939 and 1954: ten years to fit, then ten errors to estimate the spread


def incomes() -> tuple[list[str], Array, Array]:
    """Names, logarithms of income per capita (years, states), and the adjacency of the states."""
    folder = package_file("libpysal", "examples", "us_income")
    with (folder / "usjoin.csv").open(newline="") as stream:
        _, *rows = csv.reader(stream)
    names = [row[0] for row in rows]
    lines = [line.split() for line in (folder / "states48.gal").read_text().splitlines() if line.split()]
    borders = np.zeros((len(names), len(names)))
    for (state, _), neighbours in zip(lines[1::2], lines[2::2], strict=True):
        borders[int(state), [int(neighbour) for neighbour in neighbours]] = 1.0
    return names, np.log(np.array([row[2:] for row in rows], float).T), borders


def naive(known: Array) -> Array:
    return np.repeat(known[-1:], YEARS_AHEAD, axis=0)


def drift(known: Array) -> Array:
    growth = (known[-1] - known[0]) / (len(known) - 1)
    return known[-1] + np.arange(1, YEARS_AHEAD + 1)[:, np.newaxis] * growth


def autoregression(known: Array) -> Array:
    """Growth on last year's growth, separately for each state."""
    growth = np.diff(known, axis=0)
    before, after = growth[:-1], growth[1:]
    slope = ((before - before.mean(0)) * (after - after.mean(0))).sum(0) / ((before - before.mean(0)) ** 2).sum(0)
    return _continued(known[-1], growth[-1], lambda now: after.mean(0) + slope * (now - before.mean(0)))


def networked(weights: Array) -> Method:
    """Growth on a state's own growth last year and on the mean growth of others, one equation for all states."""

    def features(growth: Array) -> Array:
        return np.stack([np.ones_like(growth), growth, growth @ weights.T], axis=-1)

    def method(known: Array) -> Array:
        growth = np.diff(known, axis=0)
        flat = features(growth[:-1]).reshape(-1, 3)
        coefficients = np.linalg.lstsq(flat, growth[1:].ravel(), rcond=None)[0]
        return _continued(known[-1], growth[-1], lambda now: features(now) @ coefficients)

    return method


def _continued(level: Array, growth: Array, following: Callable[[Array], Array]) -> Array:
    levels = []
    for _ in range(YEARS_AHEAD):
        growth = following(growth)
        level = level + growth
        levels.append(level)
    return np.stack(levels)


def mean_of(borders: Array) -> Array:
    return borders / borders.sum(1, keepdims=True)


def shuffled(borders: Array, seed: int) -> Method:
    """With neighbours on a map with permuted states."""
    order = np.random.default_rng(seed).permutation(len(borders))
    return networked(mean_of(borders[np.ix_(order, order)]))


def income_methods(borders: Array) -> dict[str, Method]:
    return {
        "naive": naive,
        "drift": drift,
        "AR(1), state by state": autoregression,
        GRAPH: networked(mean_of(borders)),
        "AR(1) with shuffled neighbours": shuffled(borders, seed=0),
        "AR(1) with the nation": networked(np.full(borders.shape, 1 / len(borders))),
    }


def income_forecasts() -> dict[str, Rolled]:
    _, series, borders = incomes()
    methods = income_methods(borders)
    made = {name: _rolled(series, method) for name, method in methods.items()}
    return {**made, SHORT: _rolled(series, methods[GRAPH], memory=MEMORY)}


def _rolled(series: Array, method: Method, memory: int | None = None) -> Rolled:
    return rolled(series, method, YEARS_AHEAD, first=FIRST_ORIGIN, judged=FIRST_JUDGED, memory=memory)


def shuffled_errors(series: Array, borders: Array) -> Array:
    """Mean absolute errors by horizon on maps with permuted states, (shuffles, horizons)."""
    return np.stack([_rolled(series, shuffled(borders, seed)).mae for seed in range(1, SHUFFLES + 1)])


# ------------------------------------------------------------------------------------------------- the sea off Peru

MONTHS_AHEAD = 12
FIRST_MONTH, FIRST_JUDGED_MONTH = 120, 240  # ten years to fit, ten years of errors to estimate the spread


def sea() -> Array:
    """Monthly sea surface temperatures, (months, 1)."""
    with package_file("statsmodels", "datasets", "elnino", "elnino.csv").open(newline="") as stream:
        _, *rows = csv.reader(stream)
    return np.array([row[1:] for row in rows], float).reshape(-1, 1)


def last_month(known: Array) -> Array:
    return np.repeat(known[-1:], MONTHS_AHEAD, axis=0)


def last_year(known: Array) -> Array:
    return known[-MONTHS_AHEAD:]


def usual(known: Array) -> Array:
    """The mean of each calendar month so far."""
    months = (len(known) + np.arange(MONTHS_AHEAD)) % 12
    return np.stack([known[month::12].mean(0) for month in months])


def departure(known: Array) -> Array:
    """The climatology plus a decaying share of this month's departure from it."""
    months = np.arange(len(known)) % 12
    means = np.stack([known[months == month].mean(0) for month in range(12)])
    away = known - means[months]
    kept = (away[1:] * away[:-1]).sum(0) / (away[:-1] ** 2).sum(0)
    return usual(known) + away[-1] * kept ** np.arange(1, MONTHS_AHEAD + 1)[:, np.newaxis]


SEA_METHODS: Mapping[str, Method] = {
    "naive: last month": last_month,
    "seasonal naive: a year before": last_year,
    "climatology": usual,
    "AR(1) of the departure": departure,
}


def sea_forecasts() -> dict[str, Rolled]:
    return {
        name: rolled(sea(), method, MONTHS_AHEAD, first=FIRST_MONTH, judged=FIRST_JUDGED_MONTH)
        for name, method in SEA_METHODS.items()
    }


# ----------------------------------------------------------------------------------------------------------- tables

KEYS = ("mae", "rmse", "crps", "nll", "coverage_95", "ence")


def main_table(forecasts: Mapping[str, Rolled], **options: Any) -> str:
    rows = []
    for name, made in forecasts.items():
        evaluation = evaluated(made, **options)
        cells = []
        for key in KEYS:
            result = evaluation[key]
            digits = ".4f" if key.startswith("coverage") else ".3g"
            ends = () if result.interval is None else tuple(result.interval)
            interval = f" [{', '.join(format(end, digits) for end in ends)}]" if ends else ""
            cells.append(f"{result.value:{digits}}{interval}")
        rows.append([name, *cells])
    return table(["forecast", *(f"`{key}`" for key in KEYS)], rows)


def horizon_table(forecasts: Mapping[str, Rolled], shown: Sequence[int], unit: str) -> str:
    rows = []
    for name, made in forecasts.items():
        errors = evaluated(made, metrics=["mae"], horizons=tuple(shown)).by("horizon")["mae"]
        rows.append([name, *(f"{error:.4f}" for error in errors)])
    return table([f"`mae`, {unit} ahead", *map(str, shown)], rows)


def tests(forecasts: Mapping[str, Rolled], pairs: Sequence[tuple[str, str]], shown: Sequence[int]) -> str:
    rows = []
    for first, second in pairs:
        a, b = forecasts[first], forecasts[second]
        for ahead in shown:
            at = slice(ahead - 1, ahead)
            outcome = forecasting.compare(a.truth[:, at], a.mean[:, at], b.mean[:, at], horizon=ahead)
            low, high = outcome.interval or (np.nan, np.nan)
            rows.append(
                [
                    f"{first} − {second}",
                    str(ahead),
                    f"{outcome.difference:+.5f}",
                    f"[{low:+.5f}, {high:+.5f}]",
                    f"{outcome.p_value:.3f}",
                ]
            )
    return table(["difference in absolute error", "ahead", "mean", "95 % interval", "p"], rows)


def shuffle_table(forecasts: Mapping[str, Rolled]) -> str:
    _, series, borders = incomes()
    true, others = forecasts[GRAPH].mae, shuffled_errors(series, borders)
    rows = [
        ["the true map", *(f"{error:.4f}" for error in true)],
        [f"median of {SHUFFLES} shuffled maps", *(f"{error:.4f}" for error in np.median(others, axis=0))],
        ["shuffled maps that do at least as well", *(f"{count}" for count in (others <= true).sum(0))],
    ]
    return table(["`mae`, years ahead", *map(str, range(1, YEARS_AHEAD + 1))], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


INCOME_PAIRS = (
    (GRAPH, "AR(1), state by state"),
    (GRAPH, "AR(1) with shuffled neighbours"),
    (GRAPH, "AR(1) with the nation"),
)
SEA_PAIRS = (("naive: last month", "seasonal naive: a year before"), ("AR(1) of the departure", "climatology"))


def sections() -> dict[str, str]:
    """The tables of the page, by the name of their section."""
    states, warm = income_forecasts(), sea_forecasts()
    by_mean = {name: made for name, made in states.items() if name != SHORT}
    return {
        "incomes": main_table(states),
        "incomes by horizon": horizon_table(by_mean, range(1, YEARS_AHEAD + 1), "years"),
        "maps": shuffle_table(states),
        "income tests": tests(states, INCOME_PAIRS, (1, 5)),
        "sea": main_table(warm),
        "sea by horizon": horizon_table(warm, (1, 3, 6, 9, 12), "months"),
        "sea tests": tests(warm, SEA_PAIRS, (1, 6)),
    }


def draw(path: Path) -> None:
    names, _, _ = incomes()
    evaluated(income_forecasts()[GRAPH], nodes=names).plot(path)


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by examples/forecasting_real.py -->", f"<!-- /{name} -->"


def main(arguments: Sequence[str]) -> None:
    found = sections()
    if not arguments:
        for name, text in found.items():
            print(f"\n{name}\n\n{text}")
        return
    page = Path(arguments[0])
    text = page.read_text(encoding="utf-8")
    for name, shown in found.items():
        begin, end = marks(name)
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{shown}\n\n{end}{after}"
    page.write_text(text, encoding="utf-8")
    draw(page.parent / "images" / "forecasting_real.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
