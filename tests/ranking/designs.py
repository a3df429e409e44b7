"""Designs of rankings with a known truth: ranks are drawn directly, many evaluations at once.

The distribution of ranks is given on a grid that is fine at the top. The truth, and the width of an interval whose
author knows the true variance (the oracle), follow from it in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from graphgauge import ranking
from graphgauge.core.metric import find
from graphgauge.ranking.samples import Ranks
from graphgauge.stats.intervals import macro_spread, score_interval

WIDTH = 2 * 1.959964


class Law(NamedTuple):
    """A distribution of (greater, equal) among so many candidates."""

    greater: np.ndarray
    equal: np.ndarray
    candidates: int
    chance: np.ndarray


def grid(negatives: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks, every one up to 60 and then ever fewer, and how many ranks each stands for."""
    last = negatives + 1
    ranks = np.unique(np.r_[np.arange(1, min(last, 60) + 1), np.geomspace(min(last, 60), last, 120).astype(int)])
    return ranks, np.diff(np.r_[ranks, last + 1]).astype(float)


def law(negatives: int, density: Callable[[np.ndarray], np.ndarray], equal: int = 0) -> Law:
    ranks, width = grid(negatives)
    chance = width * density(ranks + (width - 1) / 2)
    greater = ranks - 1
    return Law(greater, np.minimum(equal, negatives - greater), negatives + 1, chance / chance.sum())


def power(negatives: int, exponent: float, equal: int = 0) -> Law:
    """Density proportional to rank^(exponent − 1): 1 is chance, less is better."""
    return law(negatives, lambda rank: rank ** (exponent - 1.0), equal)


def with_mrr(make: Callable[[float], Law], target: float, low: float, high: float) -> Law:
    """The law whose MRR is the target; `make` is decreasing in its parameter."""
    for _ in range(60):
        middle = (low + high) / 2
        found = make(middle)
        low, high = (
            (middle, high) if found.chance @ (1 / (1 + found.greater + found.equal / 2)) > target else (low, middle)
        )
    return found


@lru_cache(maxsize=1024)
def steep(negatives: int, mrr: float, equal: int = 0) -> Law:
    return with_mrr(lambda exponent: power(negatives, exponent, equal), mrr, -9.0, 1.0)


@lru_cache
def hump(negatives: int, mrr: float, spread: float = 1.0) -> Law:
    """Lognormal ranks: hardly any first place, and hardly any last one."""
    return with_mrr(
        lambda centre: law(negatives, lambda rank: np.exp(-0.5 * ((np.log(rank) - centre) / spread) ** 2) / rank),
        mrr,
        -6.0,
        float(np.log(negatives)),
    )


def spiked(negatives: int, mrr: float) -> Law:
    """Chance, and a few queries in first place."""
    found = power(negatives, 1.0)
    base = found.chance @ (1 / (1 + found.greater))
    share = (mrr - base) / (1 - base)
    chance = (1 - share) * found.chance
    chance[0] += share
    return found._replace(chance=chance)


def two_humps(negatives: int, top: float) -> Law:
    """A share among the first three, the others in the middle of the list."""
    ranks, width = grid(negatives)
    chance = np.where(ranks <= 3, top / 3, 0.0)
    middle = (ranks > 0.3 * negatives) & (ranks <= 0.8 * negatives)
    chance[middle] = (1 - top) * width[middle] / width[middle].sum()
    return Law(ranks - 1, np.zeros_like(ranks), negatives + 1, chance)


def sizes(kind: str, clusters: int, mean: float) -> np.ndarray:
    """Cluster sizes, the same in every run."""
    rng = np.random.default_rng(5)
    weights = {
        "equal": lambda: np.ones(clusters),
        "lognormal(1)": lambda: np.exp(rng.normal(0, 1, clusters)),
        "lognormal(1.5)": lambda: np.exp(rng.normal(0, 1.5, clusters)),
        "Zipf": lambda: 1 / np.arange(1, clusters + 1),
        "one giant": lambda: np.r_[float(clusters), np.ones(clusters - 1)],
        "one of a fifth": lambda: np.r_[clusters / 4, np.ones(clusters - 1)],
        "1 and 20": lambda: np.where(np.arange(clusters) % 2, 20.0, 1.0),
    }[kind]()
    return np.maximum(1, np.round(weights / weights.sum() * mean * clusters)).astype(int)


@dataclass(frozen=True)
class Design:
    """One metric on one kind of data. `laws` are drawn with the chances in `mix`, per query or per cluster."""

    name: str
    metric: str
    laws: tuple[Law, ...]
    n: int = 0
    mix: tuple[float, ...] = (1.0,)
    clusters: np.ndarray | None = None
    # Every query of a cluster has the same ranks, as copies have.
    copies: bool = False
    ties: str = "realistic"

    def cells(self) -> Ranks:
        """The population, with chances for counts."""
        parts = [
            np.concatenate(part)
            for part in zip(
                *(
                    (one.greater, one.equal, np.full(len(one.greater), one.candidates), share * one.chance)
                    for one, share in zip(self.laws, self.mix, strict=True)
                ),
                strict=True,
            )
        ]
        return Ranks(parts[3], None, 1, None, "queries", *parts[:3], self.ties)

    def truth(self) -> tuple[float, float]:
        """The value, and the standard deviation of its estimate."""
        cells = self.cells()
        estimate = self._estimated(cells)
        infl = np.broadcast_to(estimate.influence, cells.count.shape)
        n = self.n if self.clusters is None else int(self.clusters.sum())
        variance = float(cells.count @ infl**2)
        if self.clusters is None:
            return float(estimate.value[0]), (variance / n) ** 0.5
        shares = float(np.sum((self.clusters / n) ** 2))
        if self.copies:
            return float(estimate.value[0]), (variance * shares) ** 0.5
        ends = np.cumsum([len(one.greater) for one in self.laws])
        parts = np.split(cells.count * infl, ends[:-1])
        between = sum(float(part.sum()) ** 2 / share for part, share in zip(parts, self.mix, strict=True))
        return float(estimate.value[0]), (between * shares + (variance - between) / n) ** 0.5

    def _estimated(self, ranks: Ranks) -> Any:
        metric, params = find(self.metric, "ranking")
        ranks.__dict__["n"] = ranks._total(ranks.count)  # chances are no counts
        return metric(ranks, **params)

    def drawn(self, rng: np.random.Generator, runs: int) -> Ranks:
        """So many samples, one group each."""
        cells = self.cells()
        if self.clusters is None:
            counts = rng.multinomial(self.n, cells.count / cells.count.sum(), size=runs)
            run, cell = np.nonzero(counts)
            return replace(
                cells,
                count=counts[run, cell],
                group=run,
                groups=runs,
                greater=cells.greater[cell],
                equal=cells.equal[cell],
                candidates=cells.candidates[cell],
            )
        n, many = int(self.clusters.sum()), len(self.clusters)
        kind = rng.choice(len(self.laws), (runs, many), p=self.mix)
        start = np.cumsum([0, *(len(one.greater) for one in self.laws)])
        total = np.concatenate([np.cumsum(one.chance) / one.chance.sum() + i for i, one in enumerate(self.laws)])
        total[start[1:] - 1] = np.arange(1, len(self.laws) + 1)
        if self.copies:
            cell = np.repeat(np.searchsorted(total, kind + rng.random(kind.shape), side="right"), self.clusters, axis=1)
        else:
            kinds = np.repeat(kind, self.clusters, axis=1)
            cell = np.searchsorted(total, kinds + rng.random(kinds.shape), side="right")
        cell = np.minimum(cell, len(total) - 1).ravel()
        label = np.tile(np.repeat(np.arange(many), self.clusters), runs)
        return replace(
            cells,
            count=np.ones(runs * n, np.int64),
            group=np.repeat(np.arange(runs), n),
            groups=runs,
            cluster=label,
            over="clusters",
            greater=cells.greater[cell],
            equal=cells.equal[cell],
            candidates=cells.candidates[cell],
        )

    def one(self, sample: Ranks, run: int) -> Ranks:
        own = sample.group == run
        cluster = None if sample.cluster is None else sample.cluster[own]
        return replace(
            sample,
            count=sample.count[own],
            group=None,
            groups=1,
            cluster=cluster,
            greater=sample.greater[own],
            equal=sample.equal[own],
            candidates=sample.candidates[own],
        )


@dataclass(frozen=True)
class Macro:
    """The mean over relations, each with its own law; the relations are the same in every run."""

    name: str
    laws: tuple[Law, ...]
    sizes: np.ndarray

    metric = "mrr"

    def draw(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """The numbers of negatives above, a row per run."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        total = np.array([np.cumsum(one.chance) / one.chance.sum() for one in self.laws])
        total[:, -1] = 1.0
        total += np.arange(len(self.laws))[:, None]
        place = np.searchsorted(total.ravel(), rng.random((runs, len(group))) + group, side="right") % total.shape[1]
        return self.laws[0].greater[place]

    def simulate(self, runs: int, checked: int, seed: int = 3) -> Row:
        rng = np.random.default_rng(seed)
        groups, n = len(self.sizes), int(self.sizes.sum())
        group, start = np.repeat(np.arange(groups), self.sizes), np.cumsum(self.sizes) - self.sizes
        worth = 1 / (1 + self.laws[0].greater)
        means = np.array([one.chance @ worth for one in self.laws])
        variances = np.array([one.chance @ worth**2 for one in self.laws]) - means**2
        lows, highs, expected = [], [], []
        for size in blocks(runs, n):
            greater = self.draw(rng, size)
            values = 1 / (1 + greater)
            own = np.add.reduceat(values, start, axis=1) / self.sizes
            key = (np.arange(size)[:, None] * groups + group).ravel()
            found = macro_spread(
                values.ravel() - own.ravel()[key], np.ones(size * n), own, group=key, groups=groups, samples=size
            )
            low, high = score_interval(own.mean(axis=1), found, (0.0, 1.0), 0.95, at_ends=0.05)
            for run in range(min(size, checked - len(expected))):
                state = ranking.RankingState().update_counts(
                    greater[run],
                    np.zeros(n, int),
                    np.full(n, self.laws[0].candidates),
                    groups={"relation": group},
                )
                interval = state.evaluate(metrics=["mrr"])["mrr_macro_relation"].interval
                if interval is not None:
                    assert np.allclose(tuple(interval), (low[run], high[run]), rtol=1e-9)
                expected.append(0.95 if interval is None else interval.expected_coverage or 0.95)
            lows.append(low)
            highs.append(high)
        deviation = float(np.sqrt((variances / self.sizes).sum())) / groups
        return row(np.concatenate(lows), np.concatenate(highs), float(means.mean()), deviation, expected)


@dataclass(frozen=True)
class PooledHits:
    """Positives above the k-th of all negatives; both are drawn, normal with a distance."""

    name: str
    positives: int
    negatives: int
    k: int

    @property
    def metric(self) -> str:
        return f"pooled_hits@{self.k}"

    def simulate(self, runs: int, checked: int, seed: int = 3) -> Row:
        rng = np.random.default_rng(seed)
        normal = NormalDist()
        threshold = normal.inv_cdf(1 - self.k / self.negatives)
        truth = 1 - NormalDist(1.5).cdf(threshold)
        # The oracle knows both variances: of the hits, and of the share beyond an estimated threshold.
        slope = NormalDist(1.5).pdf(threshold) / normal.pdf(threshold)
        share = self.k / self.negatives
        variance = truth * (1 - truth) / self.positives + slope**2 * share * (1 - share) / self.negatives
        offsets = np.linspace(0, self.negatives, self.positives + 1).astype(int)
        bounds, expected = [], []
        for run in range(runs):
            pos, neg = rng.normal(1.5, 1, self.positives), rng.normal(size=self.negatives)
            interval = ranking.evaluate(pos, neg, offsets=offsets, metrics=[self.metric])[self.metric].interval
            bounds.append(tuple(interval))
            if run < checked:
                expected.append(interval.expected_coverage or 0.95)
        low, high = np.array(bounds).T
        return row(low, high, truth, variance**0.5, expected)


@dataclass(frozen=True)
class Scored:
    """Evaluations of any kind with a known truth. The oracle's width is that of the simulated values."""

    name: str
    metric: str
    truth: float
    evaluation: Callable[[np.random.Generator, str], Any]

    def simulate(self, runs: int, checked: int, seed: int = 3) -> Row:
        rng = np.random.default_rng(seed)
        values, bounds, expected = [], [], []
        for run in range(runs):
            result = self.evaluation(rng, self.metric.partition("_macro")[0])[self.metric]
            values.append(result.value)
            bounds.append((np.nan, np.nan) if result.interval is None else tuple(result.interval))
            if run < checked and result.interval is not None:
                expected.append(result.interval.expected_coverage or 0.95)
        low, high = np.array(bounds).T
        return row(low, high, self.truth, float(np.std(values)), expected)


def auc(positives: int, negatives: int, distance: float, pool: bool) -> Scored:
    """Normal scores; each positive with its negatives, or all against one pool."""

    def evaluation(rng: np.random.Generator, metric: str) -> Any:
        shape = negatives if pool else (positives, negatives)
        return ranking.evaluate(rng.normal(distance, 1, positives), rng.normal(size=shape), metrics=[metric])

    truth = NormalDist().cdf(distance / 2**0.5)
    words = (
        f"{positives} positives, {'one pool of ' * pool}{negatives} negatives{' each' * (not pool)}, AUC {truth:.2f}"
    )
    return Scored(words, "roc_auc", truth, evaluation)


def pool_mrr(positives: int, negatives: int, distance: float) -> Scored:
    def evaluation(rng: np.random.Generator, metric: str) -> Any:
        return ranking.evaluate(rng.normal(distance, 1, positives), rng.normal(size=negatives), metrics=[metric])

    # The mean of 1 / (1 + a binomial number of negatives above), over the positives' scores.
    x = np.linspace(-8, 8, 4001) + distance
    above = np.array([1 - NormalDist().cdf(one) for one in x]).clip(1e-300)
    density = np.exp(-((x - distance) ** 2) / 2)
    mean = -np.expm1((negatives + 1) * np.log1p(-above)) / ((negatives + 1) * above)
    truth = float(density @ mean / density.sum())
    return Scored(f"{positives} positives, one pool of {negatives} negatives", "mrr", truth, evaluation)


def of_ranks(
    words: str,
    metric: str,
    one: Law,
    n: int,
    truth: float | None = None,
    labels: Callable[[np.random.Generator], dict[str, Any]] = lambda rng: {},
    each: int = 1,
) -> Scored:
    """Ranks of one law, the same for so many neighbours, with labels or weights."""
    greater, chance = one.greater, one.chance / one.chance.sum()

    def evaluation(rng: np.random.Generator, metric: str) -> Any:
        drawn = np.repeat(rng.choice(greater, n // each, p=chance), each)
        state = ranking.RankingState().update_counts(
            drawn, np.zeros_like(drawn), np.full_like(drawn, one.candidates), **labels(rng)
        )
        return state.evaluate(metrics=[metric])

    if truth is None:
        truth = float(chance @ (1 / (1 + greater)))
    return Scored(f"{words}, {one.candidates - 1:,} negatives", metric, truth, evaluation)


def median_of(one: Law) -> float:
    return float(1 + one.greater[np.searchsorted(np.cumsum(one.chance) / one.chance.sum(), 0.5)])


class Row(NamedTuple):
    """What the intervals of a design reach."""

    coverage: float
    below: float  # the interval is below the truth
    above: float
    width: float  # median, over the oracle's
    expected: float  # mean printed expectation; the level where nothing is printed
    given: float  # share of runs with an interval


def blocks(runs: int, items: int) -> Iterator[int]:
    size = max(1, min(runs, 4_000_000 // max(items, 1)))
    while runs > 0:
        yield min(size, runs)
        runs -= size


def simulate(design: AnyDesign, runs: int, checked: int, seed: int = 3) -> Row | str:
    """The row of a design, or why it has no intervals; in so many runs the expectation is read as well."""
    if not isinstance(design, Design):
        return design.simulate(runs, checked, seed)
    rng = np.random.default_rng(seed)
    metric, params = find(design.metric, "ranking")
    truth, deviation = design.truth()
    items = design.n if design.clusters is None else int(design.clusters.sum())
    lows, highs, expected = [], [], []
    for size in blocks(runs, items if design.clusters is not None else 200):
        sample = design.drawn(rng, size)
        _, low, high = metric.interval_of(sample, metric(sample, **params), 0.95)
        lows.append(low)
        highs.append(high)
        for run in range(min(size, checked - len(expected))):
            own = design.one(sample, run)
            result = metric.result(own, metric(own, **params), params, confidence=0.95, conventions={})
            if result.interval is None:
                if "an interval needs" in str(result.no_interval):  # by a rule about sizes
                    return str(result.no_interval)
                continue
            assert np.allclose(tuple(result.interval), (low[run], high[run]), rtol=1e-9)
            expected.append(result.interval.expected_coverage or 0.95)
    return row(np.concatenate(lows), np.concatenate(highs), truth, deviation, expected)


def row(low: np.ndarray, high: np.ndarray, truth: float, deviation: float, expected: list[float]) -> Row:
    known = ~np.isnan(low)
    low, high = low[known], high[known]
    slack = 1e-9 * (1 + abs(truth))
    below, above = float(np.mean(high < truth - slack)), float(np.mean(low > truth + slack))
    width = float(np.median(high - low)) / (WIDTH * deviation)
    return Row(1 - below - above, below, above, width, float(np.mean(expected)) if expected else 0.95, known.mean())


# Standard normal ease of clusters, on five levels.
_LEVELS = np.array([-1.6, -0.8, 0.0, 0.8, 1.6])
_MIX = tuple(np.exp(-(_LEVELS**2) / 2) / np.exp(-(_LEVELS**2) / 2).sum())


@lru_cache
def eases(negatives: int, mrr: float, spread: float) -> tuple[Law, ...]:
    """Laws of clusters from hard to easy."""
    low, high = -9.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        laws = tuple(power(negatives, min(1.0, middle + spread * level)) for level in _LEVELS)
        found = sum(share * (one.chance @ (1 / (1 + one.greater))) for share, one in zip(_MIX, laws, strict=True))
        low, high = (middle, high) if found > mrr else (low, middle)
    return laws


def clustered(
    kind: str,
    clusters: int,
    mean: float,
    metric: str = "mrr",
    mrr: float = 0.3,
    negatives: int = 50,
    copies: bool = False,
) -> Design:
    words = f"{clusters:,} clusters, {kind}, MRR {mrr:g}, {negatives:,} negatives" + ", copies" * copies
    laws = eases(negatives, mrr, 0.5 if mrr > 0.1 else 0.3)
    return Design(words, metric, laws, mix=_MIX, clusters=sizes(kind, clusters, mean), copies=copies)


def relations(kind: str, groups: int, mrr: float, negatives: int) -> Macro:
    """Relations of different difficulty."""
    ease = np.random.default_rng(9).normal(size=groups)
    lowest = 1.1 * float(power(negatives, 1.0).chance @ (1 / (1 + power(negatives, 1.0).greater)))
    laws = tuple(steep(negatives, float(np.clip(mrr * np.exp(0.5 * one), lowest, 0.9))) for one in ease)
    number = {
        "one query each": np.ones(groups, int),
        "one or two queries": 1 + np.arange(groups) % 2,
        "Zipf": np.maximum(1, 2 * groups // np.arange(1, groups + 1)),
        "ten queries each": np.full(groups, 10),
    }[kind]
    return Macro(f"{groups} relations, {kind}, MRR {mrr:g}, {negatives:,} negatives", laws, number)


def independent(words: str, one: Law, metric: str, n: int, **options: Any) -> Design:
    return Design(f"{n:,} queries, {words}, {one.candidates - 1:,} negatives", metric, (one,), n, **options)


AnyDesign = Design | Macro | PooledHits | Scored


def designs() -> list[AnyDesign]:
    found: list[AnyDesign] = []
    found += [
        independent("chance", power(negatives, 1.0), "mrr", n)
        for n, negatives in ((5, 10), (20, 10), (20, 1000), (100, 1000), (500, 1000), (5000, 1000), (100_000, 100_000))
    ]
    found += [independent("MRR .01, few first places", spiked(1000, 0.01), "mrr", n) for n in (100, 500)]
    found += [independent("MRR .01", steep(100_000, 0.01), "mrr", n) for n in (5, 20, 100, 500, 100_000)]
    found += [independent("MRR .01, lognormal", hump(100_000, 0.01), "mrr", n) for n in (100, 500)]
    found += [
        independent("MRR .3", steep(1000, 0.3), key, n)
        for n in (5, 20, 100)
        for key in ("mrr", "mean_rank", "amri", "geometric_mean_rank", "hits@10")
    ]
    found += [independent("MRR .6, heavy tail", steep(1000, 0.6), "mean_rank", n) for n in (20, 100, 1000)]
    found += [independent("MRR .9", steep(100, 0.9), "mrr", n) for n in (5, 20, 100)]
    found += [independent("MRR .99", steep(1000, 0.99), "mrr", n) for n in (20, 100, 1000)]
    found += [independent("MRR .99", steep(1000, 0.99), "hits@1", n) for n in (20, 1000)]
    found += [independent("two humps", two_humps(1000, 0.2), key, 50) for key in ("mrr", "ndcg@10", "adjusted_mrr")]
    found += [
        independent("ties, expected", steep(1000, 0.2, equal=3), "mrr", 50, ties="expected"),
        independent("ties", steep(1000, 0.2, equal=3), "mrr", 50),
    ]
    found += [
        Design(
            "100 queries, half of 20 and half of 500 negatives",
            key,
            (steep(20, 0.5), steep(500, 0.3)),
            100,
            mix=(0.5, 0.5),
        )
        for key in ("amri", "mean_rank")
    ]
    for kind in ("equal", "lognormal(1)", "lognormal(1.5)", "Zipf", "one giant", "1 and 20"):
        found += [clustered(kind, many, mean) for many, mean in ((5, 20), (10, 20), (30, 10), (200, 5))]
    found += [
        clustered(kind, 5000, 3, mrr=mrr, negatives=negatives)
        for kind in ("equal", "lognormal(1)")
        for mrr, negatives in ((0.3, 50), (0.03, 1000))
    ]
    found += [clustered(kind, 30, 10, mrr=0.9) for kind in ("equal", "lognormal(1)")]
    found += [clustered("lognormal(1)", 200, 5, "hits@1", 0.02, 1000), clustered("equal", 40, 2, "mean_rank")]
    found += [
        clustered(kind, 200, 5, mrr=0.03, negatives=1000, copies=True)
        for kind in ("equal", "lognormal(1)", "lognormal(1.5)")
    ]
    found += [
        relations(kind, groups, 0.3, 50)
        for groups in (5, 50, 500)
        for kind in ("one query each", "one or two queries", "Zipf", "ten queries each")
    ]
    found += [relations(kind, 50, 0.03, 1000) for kind in ("one query each", "one or two queries", "Zipf")]
    found += [
        PooledHits(f"{m:,} positives, {n:,} negatives", m, n, k)
        for m, n, k in ((500, 10_000, 20), (5000, 10_000, 20), (20_000, 10_000, 20), (500, 10_000, 100))
    ]
    found += [auc(20, 10, 1.5, False), auc(20, 500, 1.5, True), auc(200, 50, 2.5, False)]
    found += [pool_mrr(50, 200, 1.5), pool_mrr(500, 2000, 1.5)]
    smooth = hump(1000, 0.1)
    found += [of_ranks(f"{n} queries", "median_rank", smooth, n, median_of(smooth)) for n in (8, 25, 200)]
    found += [
        of_ranks(
            f"{n} queries, weights lognormal({spread:g}), MRR .3",
            "mrr",
            steep(1000, 0.3),
            n,
            labels=lambda rng, n=n, spread=spread: {"weights": np.exp(rng.normal(0, spread, n))},
        )
        for n, spread in ((30, 1.0), (200, 1.0), (200, 1.5))
    ]
    found += [
        of_ranks(
            f"{n} pairs, head and tail as groups, MRR {mrr:g}",
            "mrr_macro_side",
            steep(1000, mrr),
            2 * n,
            each=2,
            labels=lambda rng, n=n: {"cluster": np.arange(2 * n) // 2, "groups": {"side": np.arange(2 * n) % 2}},
        )
        for n, mrr in ((15, 0.3), (100, 0.3), (100, 0.02))
    ]
    return found
