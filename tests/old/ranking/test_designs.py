"""How often intervals hold the truth, and how wide they are: ranks are drawn directly, many evaluations at once.

The distribution of ranks is given on a grid that is fine at the top. The truth, and the width of an interval whose
author knows the true variance (the oracle), follow from it in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.old.core.metric import find
from graphgauge.old.ranking.samples import Ranks

SEED = 11


class Law(NamedTuple):
    """A distribution of the number of negatives above, among so many candidates."""

    greater: np.ndarray
    candidates: int
    chance: np.ndarray


def grid(negatives: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks, every one up to 60 and then ever fewer, and how many ranks each stands for."""
    last = negatives + 1
    ranks = np.unique(np.r_[np.arange(1, min(last, 60) + 1), np.geomspace(min(last, 60), last, 120).astype(int)])
    return ranks, np.diff(np.r_[ranks, last + 1]).astype(float)


def power(negatives: int, exponent: float) -> Law:
    """Density proportional to rank^(exponent − 1): 1 is chance, less is better."""
    ranks, width = grid(negatives)
    chance = width * (ranks + (width - 1) / 2) ** (exponent - 1.0)
    return Law(ranks - 1, negatives + 1, chance / chance.sum())


@lru_cache(maxsize=1024)
def steep(negatives: int, mrr: float) -> Law:
    """The law with this MRR."""
    low, high = -9.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        found = power(negatives, middle)
        low, high = (middle, high) if found.chance @ (1 / (1 + found.greater)) > mrr else (low, middle)
    return found


def sizes(kind: str, clusters: int, mean: float) -> np.ndarray:
    """Cluster sizes, the same in every run."""
    rng = np.random.default_rng(5)
    weights = {
        "lognormal(1)": lambda: np.exp(rng.normal(0, 1, clusters)),
        "lognormal(1.5)": lambda: np.exp(rng.normal(0, 1.5, clusters)),
        "Zipf": lambda: 1 / np.arange(1, clusters + 1),
        "one giant": lambda: np.r_[float(clusters), np.ones(clusters - 1)],
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

    def cells(self) -> Ranks:
        """The population, with chances for counts."""
        parts = [
            np.concatenate(part)
            for part in zip(
                *(
                    (
                        one.greater,
                        np.zeros_like(one.greater),
                        np.full(len(one.greater), one.candidates),
                        share * one.chance,
                    )
                    for one, share in zip(self.laws, self.mix, strict=True)
                ),
                strict=True,
            )
        ]
        return Ranks(parts[3], None, 1, None, "queries", *parts[:3], "realistic")

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

    def simulate(self, runs: int) -> Row:
        rng = np.random.default_rng(SEED)
        groups, n = len(self.sizes), int(self.sizes.sum())
        group = np.repeat(np.arange(groups), self.sizes)
        worth = 1 / (1 + self.laws[0].greater)
        means = np.array([one.chance @ worth for one in self.laws])
        variances = np.array([one.chance @ worth**2 for one in self.laws]) - means**2
        bounds = []
        for greater in self.draw(rng, runs):
            state = ranking.RankingState().update_counts(
                greater, np.zeros(n, int), np.full(n, self.laws[0].candidates), groups={"relation": group}
            )
            interval = state.evaluate(metrics=["mrr"])["mrr_macro_relation"].interval
            bounds.append((np.nan, np.nan) if interval is None else tuple(interval))
        low, high = np.array(bounds).T
        deviation = float(np.sqrt((variances / self.sizes).sum())) / groups
        return row(low, high, float(means.mean()), deviation)


class Row(NamedTuple):
    """How often intervals hold the truth, their median width over the oracle's, and the share of runs with one."""

    coverage: float
    width: float
    given: float


def simulate(design: Design, runs: int) -> Row:
    rng = np.random.default_rng(SEED)
    metric, params = find(design.metric, "ranking")
    sample = design.drawn(rng, runs)
    _, low, high = metric.interval_of(sample, metric(sample, **params), 0.95)
    # A group alone has the same interval.
    one = design.one(sample, 0)
    alone = metric.result(one, metric(one, **params), params, confidence=0.95, conventions={}).interval
    assert alone is not None
    assert np.allclose(tuple(alone), (low[0], high[0]), rtol=1e-9)
    return row(low, high, *design.truth())


def row(low: np.ndarray, high: np.ndarray, truth: float, deviation: float) -> Row:
    known = ~np.isnan(low)
    low, high = low[known], high[known]
    slack = 1e-9 * (1 + abs(truth))
    held = np.mean((low <= truth + slack) & (truth - slack <= high))
    return Row(float(held), float(np.median(high - low)) / (2 * 1.959964 * deviation), float(known.mean()))


# Standard normal ease of clusters, on five levels.
_LEVELS = np.array([-1.6, -0.8, 0.0, 0.8, 1.6])
_MIX = tuple(np.exp(-(_LEVELS**2) / 2) / np.exp(-(_LEVELS**2) / 2).sum())


@lru_cache
def eases(negatives: int, mrr: float) -> tuple[Law, ...]:
    """Laws of clusters from hard to easy."""
    low, high, spread = -9.0, 1.0, 0.5 if mrr > 0.1 else 0.3
    for _ in range(50):
        middle = (low + high) / 2
        laws = tuple(power(negatives, min(1.0, middle + spread * level)) for level in _LEVELS)
        found = sum(share * (one.chance @ (1 / (1 + one.greater))) for share, one in zip(_MIX, laws, strict=True))
        low, high = (middle, high) if found > mrr else (low, middle)
    return laws


def clustered(kind: str, clusters: int, mean: float, mrr: float = 0.3, negatives: int = 50) -> Design:
    words = f"{clusters} clusters, {kind}, MRR {mrr:g}, {negatives} negatives"
    return Design(words, "mrr", eases(negatives, mrr), mix=_MIX, clusters=sizes(kind, clusters, mean))


def relations(groups: int, mrr: float, negatives: int) -> Macro:
    """Relations of different difficulty, with one or two queries each."""
    ease = np.random.default_rng(9).normal(size=groups)
    lowest = 1.1 * float(power(negatives, 1.0).chance @ (1 / (1 + power(negatives, 1.0).greater)))
    laws = tuple(steep(negatives, float(np.clip(mrr * np.exp(0.5 * one), lowest, 0.9))) for one in ease)
    return Macro(f"{groups} relations, MRR {mrr:g}, {negatives} negatives", laws, 1 + np.arange(groups) % 2)


def independent(words: str, one: Law, metric: str, n: int) -> Design:
    return Design(f"{n} queries, {words}, {one.candidates - 1} negatives", metric, (one,), n)


DESIGNS = [
    independent("chance", power(1000, 1.0), "mrr", 100),
    independent("MRR .3", steep(1000, 0.3), "mrr", 5),
    independent("MRR .3", steep(1000, 0.3), "mean_rank", 20),
    independent("MRR .99", steep(1000, 0.99), "mrr", 100),
    clustered("lognormal(1)", 30, 10),
    clustered("Zipf", 30, 10),
    relations(50, 0.3, 50),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: f"{design.metric} of {design.name}")
def test_intervals_cover_and_are_not_wide(design: Design | Macro) -> None:
    found = design.simulate(400) if isinstance(design, Macro) else simulate(design, 400)
    assert found.coverage >= 0.93 - 3 * (0.95 * 0.05 / 400) ** 0.5
    assert found.width <= 1.6
    assert found.given > 0.99


@pytest.mark.parametrize("kind", ["one giant", "lognormal(1.5)"])
def test_a_design_that_says_too_little_has_no_interval_whatever_its_values(kind: str) -> None:
    metric, params = find("mrr", "ranking")
    for mrr, negatives in ((0.3, 50), (0.03, 1000), (0.9, 50)):
        design = clustered(kind, 10, 20, mrr, negatives)
        sample = design.one(design.drawn(np.random.default_rng(SEED), 1), 0)
        found = metric.result(sample, metric(sample, **params), params, confidence=0.95, conventions={})
        assert "degrees of freedom" in str(found.no_interval)
