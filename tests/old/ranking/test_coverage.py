"""How often the intervals of an evaluation hold the truth, on rankers whose truth is known.

Every simulated evaluation goes through the public entry point, so one run tries every metric's interval. Beside what is
right stands what is often done instead: clusters left out, which has to be seen to fail.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking

Inputs = dict[str, Any]
RANKS = (
    "mrr",
    "hits@3",
    "mean_rank",
    "median_rank",
    "geometric_mean_rank",
    "ndcg@3",
    "amri",
    "adjusted_mrr",
    "adjusted_hits@3",
)
LISTS = ("mrr", "hits@3", "recall@3", "precision@3", "map@3", "ndcg@3")
POOLED = ("roc_auc", "average_precision")
# A query's interval kinds differ only in what they are computed on; these methods have to have been tried.
METHODS = {
    "score-t",
    "cluster-score-t",
    "wilson",
    "woodruff",
    "log-score-t",
    "cluster-log-score-t",
    "delong-logit",
    "linearised-logit",
    "macro-score-t",
    "macro-cluster-score-t",
}


def pairs(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Standard normal items, neighbours sharing a part of their variance: head and tail query of one triple."""
    shared = np.repeat(rng.normal(size=n // 2), 2)
    return math.sqrt(share) * shared + math.sqrt(1 - share) * rng.normal(size=n)


def matrix(
    rng: np.random.Generator, n: int, *, k: int = 20, share: float = 0.0, shift: float = 1.2, step: float = 0.0
) -> Inputs:
    """Normal scores, rounded to multiples of `step` where ties are wanted."""
    pos, neg = shift + 1.5 * pairs(rng, n, share), rng.normal(size=(n, k))
    if step:
        pos, neg = (np.round(scores / step) * step for scores in (pos, neg))
    return {"pos_scores": pos, "neg_scores": neg}


def ragged(rng: np.random.Generator, n: int, *, share: float = 0.0) -> Inputs:
    """From 3 to 40 negatives, more where the query is hard: numerator and denominator of a ratio go together."""
    ease = pairs(rng, n, share)
    lengths = np.clip(np.round(12 * np.exp(-0.6 * ease + 0.3 * rng.normal(size=n))), 3, 40).astype(int)
    offsets = np.r_[0, np.cumsum(lengths)]
    return {"pos_scores": 1.2 + 1.5 * ease, "neg_scores": rng.normal(size=offsets[-1]), "offsets": offsets}


def lists(rng: np.random.Generator, n: int) -> Inputs:
    """Eight to sixteen candidates a query, some of them positives, all of its positives easy or hard together."""
    length = rng.integers(8, 17, n)
    query = np.repeat(np.arange(n), length)
    labels = rng.random(len(query)) < np.repeat(rng.uniform(0.1, 0.5, n), length)
    scores = rng.normal(size=len(query)) + labels * np.repeat(1 + rng.normal(size=n), length)
    return {"scores": np.round(scores, 1), "labels": labels, "queries": query}


def levelled(rng: np.random.Generator, n: int, *, shift: float, share: float = 0.0, spread: float = 1.0) -> Inputs:
    """Scores that lie high or low query by query: pooled, all of a query's scores err together."""
    level = spread * pairs(rng, n, share)
    return {"pos_scores": level + shift + rng.normal(size=n), "neg_scores": level[:, None] + rng.normal(size=(n, 10))}


def relations(rng: np.random.Generator, n: int) -> Inputs:
    """Three relations of different size and difficulty."""
    relation = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    neg = rng.normal(size=(n, 20))
    return {"pos_scores": rng.normal(size=n) + relation, "neg_scores": neg, "groups": {"relation": relation}}


@dataclass(frozen=True)
class Scenario:
    """One kind of data and the metrics to look at; `given` are the options whose interval is tried."""

    data: str
    draw: Callable[[np.random.Generator, int], Inputs]
    n: int
    keys: tuple[str, ...]
    paired: bool = False
    ignored: bool = False  # clusters are there and left out: there to be seen to fail
    options: dict[str, Any] = field(default_factory=dict)
    # Small samples of a skewed value, or a share near its bound: no interval is exact there.
    good: float = 0.915

    @property
    def metrics(self) -> list[str]:
        return sorted({key.partition("_macro")[0] for key in self.keys})

    def evaluation(self, rng: np.random.Generator, n: int) -> Any:
        inputs = self.draw(rng, n)
        if self.paired and not self.ignored:
            inputs["cluster"] = np.arange(n) // 2
        return ranking.evaluate(**inputs, **self.options, metrics=self.metrics)

    @functools.cached_property
    def truth(self) -> dict[str, float]:
        """The values on samples so large that what is left of chance does not matter."""
        rng = np.random.default_rng(99)
        size = 20_000 if set(self.keys) <= set(POOLED) else 60_000
        runs = [self.evaluation(rng, size) for _ in range(5)]
        return {key: float(np.mean([run[key].value for run in runs])) for key in self.keys}

    def coverage(self, seed: int, repeats: int) -> dict[str, tuple[float, str]]:
        """For each metric how often its interval contained the true value, and by which method it was made."""
        rng = np.random.default_rng(seed)
        held: dict[str, list[bool]] = {key: [] for key in self.keys}
        methods: dict[str, str] = {}
        for _ in range(repeats):
            evaluation = self.evaluation(rng, self.n)
            for key in self.keys:
                interval = evaluation[key].interval
                assert interval is not None, (key, evaluation[key].no_interval)
                held[key].append(interval.low - 1e-12 <= self.truth[key] <= interval.high + 1e-12)
                methods[key] = f"{interval.method} over {interval.over}"
        return {key: (float(np.mean(values)), methods[key]) for key, values in held.items()}


def sides(rng: np.random.Generator, n: int) -> Inputs:
    return matrix(rng, n, share=0.8) | {"groups": {"side": np.arange(n) % 2}}


SCENARIOS = [
    Scenario("80 queries × 20", matrix, 80, RANKS),
    Scenario(
        "80 queries × 20, scores with ties, expected",
        functools.partial(matrix, step=0.5),
        80,
        RANKS,
        options={"ties": "expected"},
    ),
    Scenario("40 pairs × 20, r = .8", functools.partial(matrix, share=0.8), 80, RANKS, paired=True),
    Scenario(
        "40 pairs × 20, r = .8, pairs ignored",
        functools.partial(matrix, share=0.8),
        80,
        RANKS,
        paired=True,
        ignored=True,
    ),
    Scenario("80 queries × 3 … 40", ragged, 80, RANKS),
    Scenario("40 pairs × 3 … 40, r = .8", functools.partial(ragged, share=0.8), 80, RANKS, paired=True),
    Scenario(
        "40 pairs × 3 … 40, r = .8, pairs ignored",
        functools.partial(ragged, share=0.8),
        80,
        RANKS,
        paired=True,
        ignored=True,
    ),
    Scenario("60 lists, several positives", lists, 60, LISTS),
    Scenario(
        "80 queries in 3 relations",
        relations,
        80,
        ("mrr_macro_relation", "hits@3_macro_relation", "amri_macro_relation"),
    ),
    Scenario("40 pairs, head and tail as groups", sides, 80, ("mrr_macro_side", "hits@3_macro_side"), paired=True),
    Scenario(
        "40 pairs, head and tail as groups, pairs ignored",
        sides,
        80,
        ("mrr_macro_side", "hits@3_macro_side"),
        paired=True,
        ignored=True,
    ),
    Scenario("40 pairs × 200, r = .8", functools.partial(matrix, k=200, share=0.8), 80, ("median_rank",), paired=True),
    Scenario(
        "40 pairs × 200, r = .8, pairs ignored",
        functools.partial(matrix, k=200, share=0.8),
        80,
        ("median_rank",),
        paired=True,
        ignored=True,
    ),
    Scenario(
        "80 queries × 1, nearly half at each rank", functools.partial(matrix, k=1, shift=0.14), 80, ("median_rank",)
    ),
    # Most reciprocal ranks are 1 and a few pairs have all of the spread.
    Scenario(
        "40 pairs × 20, easy, r = .8",
        functools.partial(matrix, share=0.8, shift=4.0),
        80,
        ("hits@3", "mrr"),
        paired=True,
    ),
    Scenario("80 queries × 20, easy", functools.partial(matrix, shift=4.0), 80, ("hits@3", "mrr")),
    Scenario("60 queries × 10, pooled, AUC .84", functools.partial(levelled, shift=2.0), 60, POOLED, good=0.90),
    Scenario("60 queries × 10, pooled, AUC .98", functools.partial(levelled, shift=4.0), 60, POOLED),
    Scenario("200 queries × 10, pooled, AUC .84", functools.partial(levelled, shift=2.0), 200, POOLED),
    Scenario(
        "30 pairs × 10, pooled, levels far apart",
        functools.partial(levelled, shift=3.0, share=0.95, spread=2.0),
        60,
        ("roc_auc",),
        paired=True,
    ),
    # Few units with scores far apart: average precision is biased upwards, and its first-order error too small.
    Scenario(
        "30 pairs × 10, pooled, levels far apart",
        functools.partial(levelled, shift=3.0, share=0.95, spread=2.0),
        60,
        ("average_precision",),
        paired=True,
        good=0.77,
    ),
    Scenario(
        "30 pairs × 10, pooled, levels far apart, pairs ignored",
        functools.partial(levelled, shift=3.0, share=0.95, spread=2.0),
        60,
        POOLED,
        paired=True,
        ignored=True,
    ),
]
# Ignoring that pairs err together has to cost this much; a median among 20 moves too coarsely to show it.
BAD = 0.925


def failures(scenario: Scenario, found: dict[str, tuple[float, str]], slack: float) -> dict[str, float]:
    if scenario.ignored:
        fine = found if len(found) == 1 else {key: value for key, value in found.items() if key != "median_rank"}
        return {key: share for key, (share, _) in fine.items() if share > BAD}
    return {key: share for key, (share, _) in found.items() if share < scenario.good - slack}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.data}: {scenario.keys[0]} …")
def test_coverage(scenario: Scenario) -> None:
    repeats = 400
    # Three standard errors of a share from so few runs; those of the test below need none.
    slack = 3 * math.sqrt(0.95 * 0.05 / repeats)
    assert not failures(scenario, scenario.coverage(seed=20, repeats=repeats), slack)


@pytest.mark.parametrize(
    ("positives", "negatives", "k", "spread"),
    [(60, 600, 30, 0.0), (500, 10_000, 20, 0.0), (4000, 8000, 20, 0.0), (500, 5000, 20, 1.0), (500, 5000, 3, 0.0)],
)
def test_pooled_hits(positives: int, negatives: int, k: int, spread: float) -> None:
    """Positives and negatives are drawn anew; the threshold's error counts, also where queries have levels."""
    rng = np.random.default_rng(22)
    deviation = math.sqrt(1 + spread**2)
    truth = 1 - NormalDist(1.5, deviation).cdf(NormalDist(0, deviation).inv_cdf(1 - k / negatives))
    held, key = [], f"pooled_hits@{k}"
    offsets = np.linspace(0, negatives, positives + 1).astype(int)
    for _ in range(300):
        level = spread * rng.normal(size=positives)
        neg = np.repeat(level, np.diff(offsets)) + rng.normal(size=negatives)
        pos = level + rng.normal(1.5, 1, positives)
        held.append(truth in ranking.evaluate(pos, neg, offsets=offsets, metrics=[key])[key].interval)
    assert np.mean(held) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)


@pytest.mark.parametrize(("clusters", "exponent"), [(30, 1.0), (10, 1.0), (200, 0.8)])
def test_clusters_of_uneven_sizes(clusters: int, exponent: float) -> None:
    """Sizes as relations have them (Zipf), and queries of one cluster easy or hard together."""
    rng = np.random.default_rng(23)
    sizes = np.maximum(1, 150 / np.arange(1, clusters + 1) ** exponent).astype(int)
    cluster = np.repeat(np.arange(clusters), sizes)

    def drawn() -> Any:
        ease = 1.2 + rng.normal(size=clusters)[cluster] + 0.7 * rng.normal(size=len(cluster))
        beaten = rng.binomial(20, [NormalDist().cdf(-score) for score in ease])
        return ranking.RankingState().update_counts(
            beaten, np.zeros_like(beaten), np.full_like(beaten, 21), cluster=cluster
        )

    truth = np.mean([drawn().evaluate(metrics=["mrr"])["mrr"].value for _ in range(400)])
    held = [truth in drawn().evaluate(metrics=["mrr"])["mrr"].interval for _ in range(200)]
    assert np.mean(held) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.slow
def test_coverage_in_many_repetitions() -> None:
    wrong, methods = {}, set()
    for scenario in SCENARIOS:
        found = scenario.coverage(seed=21, repeats=4000)
        wrong |= {(scenario.data, key): share for key, share in failures(scenario, found, slack=0.0).items()}
        methods |= {method.partition(" over ")[0] for _, method in found.values()}
    assert not wrong
    assert methods >= METHODS
