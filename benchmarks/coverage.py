"""How often the intervals of `graphgauge.stats` contain the truth, and how often its tests reject a true hypothesis.

`python benchmarks/coverage.py` simulates every row of the table on the page about intervals and tests, on one core in a
few minutes, and writes docs/intervals/coverage.inc. A design is a function of a generator, a number of units and a
number of draws; it calls the same functions as the library does, and returns for each draw the ends of the interval and
p. Rows are drawn with a seed that was used for nothing else; `--seed` tries another one.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgauge import prediction
from graphgauge.core.types import Floats, Ints
from graphgauge.stats import intervals, shift
from graphgauge.stats.dyads import Dyads
from graphgauge.stats.errors import auc_error, macro_spread, spread
from graphgauge.stats.shift import Sample, Shift

OUTPUT = Path(__file__).parents[1] / "docs" / "intervals" / "coverage.inc"
DRAWS, SEED, LEVEL = 4000, 61_803_398, 0.95
ALPHA = 0.05


class Drawn(NamedTuple):
    """The ends of the interval of each draw, the truth, and p of the test of the truth, if there is one."""

    low: Floats
    high: Floats
    truth: float
    p: Floats | None = None


Random = np.random.Generator
Simulate = Callable[[Random, int, int], Drawn]


class Design(NamedTuple):
    """A row's name and interval, how it is simulated for these numbers of units, and why some of it is below .93."""

    name: str
    method: str
    simulate: Simulate
    units: tuple[int, ...]
    reason: str = ""


# ---- one method, items


def reciprocal_ranks(slope: float, candidates: int = 1000) -> tuple[Floats, Floats]:
    """Reciprocal ranks of a model and their chances; a slope of 0 is a random order."""
    ranks = np.arange(1, candidates + 1)
    chances = ranks**-slope
    return 1 / ranks, chances / chances.sum()


def items(values: Floats, chances: Floats) -> Simulate:
    """The mean of independent items between 0 and 1."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        x = random.choice(values, (draws, n), p=chances)
        group = np.repeat(np.arange(draws), n)
        mean = x.mean(axis=1)
        found = intervals.of_bounded_mean(
            mean, spread((x - mean[:, None]).ravel(), group=group, groups=draws), (0.0, 1.0), LEVEL, over="items"
        )
        return Drawn(found.low, found.high, float(values @ chances))

    return simulate


def shares(p: float) -> Simulate:
    """A share of independent items."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        return Drawn(*intervals.wilson_interval(random.binomial(n, p, draws), np.full(draws, n), LEVEL), p)

    return simulate


def sizes_of(kind: str, clusters: int) -> Ints:
    """Items of each cluster: even, by Zipf's law, or half of all in one."""
    if kind == "even":
        return np.full(clusters, 10)
    if kind == "zipf":
        return np.maximum(1, (6 * clusters / np.arange(1, clusters + 1)).astype(int))
    return np.r_[5 * (clusters - 1), np.full(clusters - 1, 5)]


def clustered(kind: str, slope: float, alike: float) -> Simulate:
    """The mean of reciprocal ranks in clusters: a share `alike` of the items has the one of its cluster."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        values, chances = reciprocal_ranks(slope)
        sizes = sizes_of(kind, n)
        labels = np.repeat(np.arange(n), sizes)
        total = len(labels)
        own, common = random.choice(values, (draws, total), p=chances), random.choice(values, (draws, n), p=chances)
        x = np.where(random.random((draws, total)) < alike, common[:, labels], own)
        mean = x.mean(axis=1)
        group = np.repeat(np.arange(draws), total)
        shown = spread((x - mean[:, None]).ravel(), group=group, groups=draws, cluster=np.tile(labels, draws))
        found = intervals.of_bounded_mean(mean, shown, (0.0, 1.0), LEVEL, over="clusters")
        return Drawn(found.low, found.high, float(values @ chances))

    return simulate


def macro(random: Random, n: int, draws: int) -> Drawn:
    """The mean over 20 relations with equal weights; relations have n items on average, few have most of them."""
    values, _ = reciprocal_ranks(0.8)
    slopes = np.linspace(0.4, 1.6, 20)
    sizes = np.maximum(2, (20 * n * np.arange(1, 21) ** -1.0 / np.sum(np.arange(1, 21) ** -1.0)).astype(int))
    labels = np.repeat(np.arange(20), sizes)
    ends = []
    chances = [reciprocal_ranks(slope)[1] for slope in slopes]
    for _ in range(draws):
        x = np.concatenate([random.choice(values, size, p=p) for size, p in zip(sizes, chances, strict=True)])
        means = np.bincount(labels, x) / sizes
        shown = macro_spread(x - means[labels], None, means, group=labels, groups=20)
        found = intervals.of_bounded_mean(means.mean(), shown, (0.0, 1.0), LEVEL, over="items")
        ends.append((found.low.item(), found.high.item()))
    low, high = np.array(ends).T
    return Drawn(low, high, float(np.mean([values @ p for p in chances])))


def areas(auc: float, negatives: int | None = None, alike: float = 0.0) -> Simulate:
    """AUC of normal scores: n positives against as many negatives, or n queries with their own."""
    from scipy.stats import norm

    ahead = norm.ppf(auc) * math.sqrt(2)

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        ends = []
        for _ in range(draws):
            if negatives is None:
                value, error, df = auc_error(random.normal(ahead, 1, n), random.normal(0, 1, n))
            else:
                level = math.sqrt(alike) * random.normal(size=n)
                own = math.sqrt(1 - alike)
                neg = np.repeat(level, negatives) + own * random.normal(size=n * negatives)
                pos = ahead + level + own * random.normal(size=n)
                value, error, df = auc_error(pos, neg, np.arange(n + 1) * negatives)
            found = intervals.of_area(value, error, df, LEVEL, over="items")
            ends.append((found.low.item(), found.high.item()))
        low, high = np.array(ends).T
        return Drawn(low, high, auc)

    return simulate


def positive(spread_of_logs: float) -> Simulate:
    """The mean of lognormal errors: log-t."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        x = random.lognormal(0, spread_of_logs, (draws, n))
        mean, error = x.mean(axis=1), x.std(axis=1, ddof=1) / math.sqrt(n)
        found = intervals.of_positive(mean, error, np.full(draws, n - 1), LEVEL, over="items")
        return Drawn(found.low, found.high, math.exp(spread_of_logs**2 / 2))

    return simulate


def seeds(draw: Callable[[Random, tuple[int, int]], Floats], truth: float) -> Simulate:
    """The mean over seeds: t."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        x = draw(random, (draws, n))
        found = intervals.of_mean(
            x.mean(axis=1), x.std(axis=1, ddof=1) / math.sqrt(n), np.full(draws, n - 1), LEVEL, over="seeds"
        )
        return Drawn(found.low, found.high, truth)

    return simulate


def births(random: Random, n: int, draws: int) -> Drawn:
    """The mean over n pairs of a new node and one of a third as many old ones, whose nodes err alike."""
    ends = np.c_[np.arange(n) + n, random.integers(0, n // 3, n)]
    number = np.unique(ends, return_inverse=True)[1].reshape(-1, 2)
    dyads, nodes = Dyads(ends), int(number.max()) + 1
    low, high = np.empty((2, draws))
    for i in range(draws):
        x = random.normal(size=nodes)[number].sum(axis=1) + random.normal(size=n)
        error, df = dyads.error(x)
        if df < 3:
            low[i] = high[i] = np.nan
        else:
            found = intervals.of_mean(x.mean(), error, df, LEVEL, over="births")
            low[i], high[i] = found.low, found.high
    return Drawn(low, high, 0.0)


# ---- one method, time


def autoregression(random: Random, n: int, draws: int, memory: float) -> Floats:
    """Normal series (steps, draws) with variance 1."""
    x = np.empty((n, draws))
    x[0] = random.normal(size=draws)
    for step in range(1, n):
        x[step] = memory * x[step - 1] + math.sqrt(1 - memory**2) * random.normal(size=draws)
    return x


def over_time(
    series: Callable[[Random, int, int], Floats], truth: float, scale: intervals.Scale = "linear"
) -> Simulate:
    """The mean over time steps: cosine-t."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        x = series(random, n, draws)
        mean = x.mean(axis=0)
        found = intervals.over_time(mean, (x - mean) / n, LEVEL, scale=scale)
        return Drawn(found.low, found.high, truth)

    return simulate


def masked(memory: float, late: bool) -> Simulate:
    """The mean of the observed cells of ten nodes: a third is missing, or nodes start one after the other."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        common = autoregression(random, n, draws, memory)[:, None]
        x = math.sqrt(0.5) * (common + autoregression(random, n, draws * 10, memory).reshape(n, 10, draws))
        if late:
            seen = np.broadcast_to(np.arange(n)[:, None, None] >= (np.arange(10) * n // 20)[:, None], x.shape)
        else:
            seen = random.random(x.shape) > 1 / 3
        cells = seen.sum(axis=1)
        mean = (x * seen).sum(axis=(0, 1)) / cells.sum(axis=0)
        influence = ((x - mean) * seen).sum(axis=1) / cells.sum(axis=0)
        found = intervals.over_time(mean, influence, LEVEL, cells=cells)
        return Drawn(found.low, found.high, 0.0)

    return simulate


def garch(random: Random, n: int, draws: int) -> Floats:
    """Absolute errors whose spread comes in clusters: GARCH(1, 1) with .1 and .85."""
    x, variance = np.empty((n, draws)), np.ones(draws)
    for step in range(-100, n):
        noise = random.normal(size=draws) * np.sqrt(variance)
        variance = 0.05 + 0.1 * noise**2 + 0.85 * variance
        if step >= 0:
            x[step] = np.abs(noise)
    return x


def regimes(random: Random, n: int, draws: int) -> Floats:
    """Absolute errors that are three times as large for about 20 steps now and then."""
    state, x = random.random(draws) < 0.2, np.empty((n, draws))
    for step in range(n):
        state = np.where(random.random(draws) < np.where(state, 0.05, 0.0125), ~state, state)
        x[step] = np.abs(random.normal(size=draws)) * np.where(state, 3.0, 1.0)
    return x


# ---- two methods


def outcome_of(shifts: list[Shift]) -> Drawn:
    """The intervals and p of a test in each draw."""
    low, high, p = np.array([(each.low, each.high, each.p_value) for each in shifts]).T
    return Drawn(low, high, 0.0, p)


def pairs(draw: Callable[[Random, int], Floats], test: str = "mean") -> Simulate:
    """Differences of pairs with mean 0."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        values = [draw(random, n) for _ in range(draws)]
        if test == "ranks":
            return outcome_of([shift.of_ranks(x, 0 * x, ALPHA, paired=True) for x in values])
        return outcome_of([shift.of_pairs(x, ALPHA) for x in values])

    return simulate


def latent_ranks(random: Random, n: int) -> Floats:
    """The difference of the reciprocal ranks of two models on the same queries, equal on average."""
    difficulty = 1.5 + 1.2 * random.normal(size=n)
    one, other = (np.ceil(np.exp(np.maximum(difficulty + 0.7 * random.normal(size=n), 0))) for _ in range(2))
    return 1 / one - 1 / other


def cluster_pairs(kind: str, alike: float) -> Simulate:
    """Differences of items in clusters, whose share `alike` of the variance is the cluster's."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        labels = np.repeat(np.arange(n), sizes_of(kind, n))
        shifts = []
        for _ in range(draws):
            x = math.sqrt(alike) * random.normal(size=n)[labels]
            x = x + math.sqrt(1 - alike) * random.normal(size=len(labels))
            shifts.append(shift.of_clusters(x, labels, ALPHA))
        return outcome_of(shifts)

    return simulate


def independent(
    one: Callable[[Random, int], Floats], other: Callable[[Random, int], Floats], ratio: int = 1, test: str = "mean"
) -> Simulate:
    """Independent runs of two methods with equal means; the second has `ratio` times as many."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        values = [(one(random, n), other(random, ratio * n)) for _ in range(draws)]
        if test == "ranks":
            return outcome_of([shift.of_ranks(a, b, ALPHA, paired=False) for a, b in values])
        return outcome_of(
            [shift.of_independent([(Sample.from_scores(a), Sample.from_scores(b))], ALPHA) for a, b in values]
        )

    return simulate


def these(random: Random, n: int, draws: int) -> Drawn:
    """Three given datasets with effects of their own, n seeds each; spreads differ."""
    effects = np.array([-1.0, 0.0, 1.0])
    return outcome_of(
        [
            shift.of_strata([random.normal(e, s, n) for e, s in zip(effects, (1, 2, 4), strict=True)], ALPHA)
            for _ in range(draws)
        ]
    )


def drawn_datasets(random: Random, n: int) -> Floats:
    """Differences on n datasets, that vary between them by a skewed law, averaged over three seeds."""
    return random.gamma(2, 0.5, n) - 1 + random.normal(size=n) / math.sqrt(3)


def forecasts(memory: float, ahead: int = 1) -> Simulate:
    """Differences of the losses of two forecasts: with memory, or of forecasts that overlap."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        x = autoregression(random, n + ahead - 1, draws, memory)
        x = np.lib.stride_tricks.sliding_window_view(x, ahead, axis=0).mean(axis=-1)
        return outcome_of([shift.of_steps(x[:, i].copy(), ALPHA) for i in range(draws)])

    return simulate


# ---- labels and targets


def predictions(key: str, truth: float, draw: Callable[[Random, int], dict[str, Any]]) -> Simulate:
    """A metric of `prediction.evaluate`, with the interval that it has there."""

    def simulate(random: Random, n: int, draws: int) -> Drawn:
        ends = np.full((draws, 2), math.nan)
        for i in range(draws):
            interval = prediction.evaluate(**draw(random, n), metrics=[key])[key].interval
            if interval is not None:
                ends[i] = tuple(interval)
        return Drawn(ends[:, 0], ends[:, 1], truth)

    return simulate


def nodes_of_graphs(random: Random, n: int) -> dict[str, Any]:
    """Ten nodes of each of n graphs, four fifths of them right; three in ten are right or wrong with their graph."""
    labels, graph = random.integers(0, 3, 10 * n), np.repeat(np.arange(n), 10)
    own, common = random.random(10 * n) < 0.8, random.random(n) < 0.8
    right = np.where(random.random(10 * n) < 0.3, common[graph], own)
    return {"y_true": labels, "y_pred": np.where(right, labels, (labels + 1) % 3), "cluster": graph}


def molecules(random: Random, n: int) -> dict[str, Any]:
    """Twelve tasks of n molecules, half of the labels missing; the scores of a molecule err alike."""
    labels = (random.random((n, 12)) < 0.4).astype(float)
    noise = math.sqrt(0.3) * random.normal(size=(n, 1)) + math.sqrt(0.7) * random.normal(size=(n, 12))
    scores = 0.6744897501960817 * math.sqrt(2) * labels + noise  # the normal quantile of an AUC of .75
    labels[random.random((n, 12)) < 0.5] = math.nan
    return {"y_true": labels, "scores": scores, "nan": "omit"}


def heavy_tails(random: Random, n: int) -> dict[str, Any]:
    """Errors by Student's t with three degrees of freedom."""
    return {"y_true": random.standard_t(3, n), "y_pred": np.zeros(n), "task": "regression"}


def normal(scale: float = 1.0) -> Callable[[Random, int], Floats]:
    return lambda random, n: random.normal(0, scale, n)


def centred_lognormal(scale: float) -> Callable[[Random, int], Floats]:
    return lambda random, n: scale * (random.lognormal(0, 1, n) - math.exp(0.5))


def rounded(random: Random, n: int) -> Floats:
    return np.round(random.normal(0, 1, n))


TAILS = "long tails"
FEW = "skewed, too few units"
COUNTS = "few possible values"
MEMORY = "long memory"
UNSEEN = "regimes not seen"
ITEMS, RUNS, STEPS = (10, 30, 100, 1000), (3, 5, 10, 20), (30, 60, 100, 300, 1000)
DESIGNS = (
    Design("mean reciprocal rank .27", "score-t", items(*reciprocal_ranks(1.3)), ITEMS),
    Design("mean reciprocal rank .08", "score-t", items(*reciprocal_ranks(0.8)), ITEMS),
    Design("mean reciprocal rank at chance, .007", "score-t", items(*reciprocal_ranks(0.0)), ITEMS),
    Design("share .5", "Wilson", shares(0.5), ITEMS),
    Design("share .05", "Wilson", shares(0.05), ITEMS, COUNTS),
    Design("reciprocal ranks in even clusters", "cluster-score-t", clustered("even", 1.0, 0.3), (5, 10, 30, 100)),
    Design("… in clusters by Zipf's law", "cluster-score-t", clustered("zipf", 1.0, 0.3), (5, 10, 30, 100)),
    Design("… half of all items in one cluster", "cluster-score-t", clustered("giant", 1.0, 0.3), (5, 10, 30, 100)),
    Design("macro mean over 20 relations", "score-t", macro, (10, 30, 100), TAILS),
    Design("AUC .75", "logit-t", areas(0.75), (5, 10, 30, 100)),
    Design("AUC .95", "logit-t", areas(0.95), (5, 10, 30, 100)),
    Design("AUC .99", "logit-t", areas(0.99), (5, 10, 30, 100)),
    Design("AUC .9 of queries with ten negatives", "logit-t", areas(0.9, 10, 0.3), (10, 30, 100)),
    Design("errors, moderately skewed", "log-t", positive(0.6), ITEMS),
    Design("errors with a long tail", "log-t", positive(1.5), ITEMS, TAILS),
    Design("births to a third as many nodes", "dyadic t", births, (10, 30, 100, 300)),
    Design("seeds, normal", "t", seeds(lambda r, size: r.normal(size=size), 0.0), RUNS),
    Design("seeds near the ceiling", "t", seeds(lambda r, size: r.beta(18, 2, size), 0.9), RUNS),
    Design("time, no memory", "cosine-t", over_time(lambda r, n, d: autoregression(r, n, d, 0.0), 0.0), STEPS),
    Design("time, memory .3", "cosine-t", over_time(lambda r, n, d: autoregression(r, n, d, 0.3), 0.0), STEPS),
    Design("time, memory .6", "cosine-t", over_time(lambda r, n, d: autoregression(r, n, d, 0.6), 0.0), STEPS),
    Design("time, memory .9", "cosine-t", over_time(lambda r, n, d: autoregression(r, n, d, 0.9), 0.0), STEPS, MEMORY),
    Design(
        "absolute errors, memory .6",
        "log-cosine-t",
        over_time(lambda r, n, d: np.abs(autoregression(r, n, d, 0.6)), math.sqrt(2 / math.pi), "log"),
        STEPS,
    ),
    Design("absolute errors, GARCH", "log-cosine-t", over_time(garch, math.nan, "log"), STEPS, MEMORY),
    Design("absolute errors, regimes", "log-cosine-t", over_time(regimes, math.nan, "log"), STEPS, UNSEEN),
    Design("time, a third of the cells masked", "cosine-t", masked(0.5, late=False), STEPS),
    Design("time, nodes that start late", "cosine-t", masked(0.5, late=True), STEPS),
    Design("pairs of seeds, normal", "flips or t", pairs(normal()), (3, 5, 8, 12, 20)),
    Design("pairs of seeds, rounded, with ties", "flips or t", pairs(rounded), (5, 8, 12, 20)),
    Design(
        "pairs of seeds, one method skewed", "flips or t", pairs(centred_lognormal(1.0)), (5, 8, 12, 30, 100), TAILS
    ),
    Design("pairs of seeds, ranks", "signed ranks", pairs(normal(), "ranks"), (5, 8, 12, 30)),
    Design("pairs of queries", "flips or t", pairs(latent_ranks), (10, 30, 100, 1000)),
    Design("pairs of queries in even clusters", "flips of clusters", cluster_pairs("even", 0.2), (5, 10, 30, 100)),
    Design("… in clusters by Zipf's law", "flips of clusters", cluster_pairs("zipf", 0.2), (5, 10, 30, 100)),
    Design("… half of all in one cluster", "flips of clusters", cluster_pairs("giant", 0.2), (5, 10, 30, 100)),
    Design("independent runs, normal", "Welch's t", independent(normal(), normal()), (3, 5, 10, 20)),
    Design("independent runs, spreads 3:1, n and 2n", "Welch's t", independent(normal(3), normal(), 2), (3, 5, 10, 20)),
    Design("independent runs, both skewed 1:1", "Welch's t", independent(*[centred_lognormal(1.0)] * 2), (3, 10, 30)),
    Design(
        "independent runs, both skewed, spreads 1:4",
        "Welch's t",
        independent(centred_lognormal(1.0), centred_lognormal(4.0)),
        (5, 10, 30, 100),
        TAILS,
    ),
    Design("independent runs, ranks", "rank sums", independent(normal(), normal(), 1, "ranks"), (4, 5, 10, 30)),
    Design("three given datasets", "stratified t", these, (3, 5, 10)),
    Design("datasets drawn, skewed effects", "flips or t", pairs(drawn_datasets), (6, 10, 30, 100)),
    Design("two forecasts, memory .5", "cosine-t", forecasts(0.5), STEPS),
    Design("two forecasts, 12 steps ahead", "cosine-t", forecasts(0.0, 12), STEPS, MEMORY),
    Design("accuracy of ten nodes a graph", "logit-t", predictions("accuracy", 0.8, nodes_of_graphs), (10, 30, 100)),
    Design("AUC over 12 tasks, half unlabelled", "logit-t", predictions("roc_auc", 0.75, molecules), (30, 100, 300)),
    Design(
        "mean absolute error, t with 3 degrees",
        "log-t",
        predictions("mae", 2 * math.sqrt(3) / math.pi, heavy_tails),
        (10, 30, 100),
        TAILS,
    ),
)


def rows(seed: int, draws: int, only: str) -> Iterator[tuple[Design, int, float, float, float]]:
    """Each design and number of units: coverage, the share of draws without an interval, and the error of the test."""
    for number, design in enumerate(DESIGNS):
        if only not in design.name:
            continue
        truth = math.nan
        for n in design.units:
            random = np.random.Generator(np.random.PCG64([seed, number, n]))
            drawn = design.simulate(random, n, draws)
            if math.isnan(truth):
                truth = drawn.truth
                if math.isnan(truth):  # of a series without a closed form: the mean of a long simulation
                    long = garch if "GARCH" in design.name else regimes
                    truth = float(long(np.random.Generator(np.random.PCG64([seed, number])), 4000, 4000).mean())
            known = ~np.isnan(drawn.low)
            inside = (drawn.low <= truth) & (truth <= drawn.high)
            coverage = float(inside[known].mean()) if known.any() else math.nan
            error = math.nan if drawn.p is None else float((drawn.p <= ALPHA).mean())
            yield design, n, coverage, float(1 - known.mean()), error


class Row(NamedTuple):
    """Coverage with so many units, the share of draws without an interval, and the error of the test at 5 %."""

    units: int
    coverage: float
    none: float
    error: float

    @property
    def is_low(self) -> bool:
        return round(self.coverage, 3) < 0.93


def line_of(design: Design, found: list[Row]) -> str:
    """A design as an item of the list: what is below .93 is bold, and has its reason."""
    covered = [
        f"{row.units:,} **{short(row.coverage)}**" if row.is_low else f"{row.units:,} {short(row.coverage)}"
        for row in found
    ]
    why = f" ({design.reason or FEW})" if any(row.is_low for row in found) else ""
    return f"- {design.name}, {design.method}: {'; '.join(covered)}{why}"


def short(share: float) -> str:
    return "none" if math.isnan(share) else f"{share:.3f}".lstrip("0")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true", help="Write the table of the docs.")
    options = parser.parse_args()
    started, found = time.time(), {design: [] for design in DESIGNS if options.only in design.name}
    for design, *numbers in rows(options.seed, options.draws, options.only):
        found[design].append(Row(*numbers))
        print(design.name, *found[design][-1], f"{time.time() - started:.0f} s", flush=True)
    low = [design.name for design, own in found.items() if any(row.is_low and row.units >= 30 for row in own)]
    print(f"{len(found)} designs; below .93 at 30 units or more: {low}")
    if options.write:
        OUTPUT.parent.mkdir(exist_ok=True)
        OUTPUT.write_text("\n".join([*(line_of(*each) for each in found.items()), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
