"""Simulate adaptive runs that are looked at after every query, and write the tables of docs/adaptive.md.

python docs/adaptive_rates.py [RUNS]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.old.ranking.items import Items
from graphgauge.old.ranking.reading import Reading, Statement, Units
from graphgauge.old.ranking.until import rank_until
from graphgauge.old.stats.assist import Assist
from graphgauge.old.stats.intervals import t_quantile
from graphgauge.old.stats.sequence import MeanSequence, PairedSequence

RUNS = 1000
ALPHA = 0.05
QUERIES = 2000
# Queries of a large test set, read one by one, for the usual interval.
PEEKED = 20_000
CANDIDATES = 10_001
PLACE = Path(__file__).with_name("adaptive")


class Simulated:
    """Queries whose ranks are known: what a model would have been asked."""

    step = 64

    def __init__(self, ranks: np.ndarray) -> None:
        self.ranks, self.queries = ranks.astype(np.int64), len(ranks)

    def count(self, rows: np.ndarray) -> Items:
        return Items(rows, self.ranks[rows] - 1, np.zeros(len(rows), np.int64), np.full(len(rows), CANDIDATES))


class Opposite(Assist):
    """A predictor that knows every value and says the opposite."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__(len(values))
        self._said = 1 - values

    def fit(self, read: np.ndarray, values: np.ndarray, bounds: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
        return self._said


class Turning(Assist):
    """A predictor that turns with every fit, to drift with what was read."""

    def fit(self, read: np.ndarray, values: np.ndarray, bounds: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
        said = np.full(self.items, float(len(read) % 2))
        said[read] = values
        return said


@dataclass(frozen=True)
class Design:
    """A test set, how its mean is followed, and what must not happen."""

    name: str
    event: str
    ranks: np.ndarray
    bound: float = ALPHA
    metric: str = "mrr"
    weights: np.ndarray | None = None
    cluster: np.ndarray | None = None
    assist: Assist | None = None
    gate: bool = False
    other: np.ndarray | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        items = Simulated(self.ranks).count(np.arange(len(self.ranks)))
        return items.values(self.metric)

    @property
    def units(self) -> Units:
        return Units(np.ones(len(self.ranks)) if self.weights is None else self.weights, self.cluster)

    def happened(self, seed: int, truth: float) -> bool:
        """Whether the interval ever missed, or anything was decided that is not so."""
        units = self.units
        paired = self.other is not None
        sequence = (
            PairedSequence(units.weights, aim=0.03)
            if paired
            else MeanSequence(units.weights, aim=0.03, gate=truth if self.gate else None)
        )
        statement = Statement("it", self.metric, self.metric, sequence, paired, width=1e-12)
        # The last unit would make the mean known.
        reading = Reading(
            Simulated(self.ranks),
            [statement],
            units,
            seed=seed,
            other=None if self.other is None else Simulated(self.other),
            assist={} if self.assist is None else {self.metric: self.assist},
            max_queries=len(self.ranks) - int(units.sizes.max()),
        )
        reading.run()
        if paired or self.gate:
            return sequence.decided is not None
        return not sequence.best_low - 1e-9 <= truth <= sequence.best_high + 1e-9

    def naive(self, seed: int, truth: float) -> bool:
        """Whether the usual t-interval of so many queries like these, looked at every 100, ever missed."""
        values = self.values
        if self.other is not None:
            values = values - Design("", "", self.other, metric=self.metric).values
        drawn = values[np.random.default_rng(seed).integers(0, len(values), PEEKED)]
        read = np.arange(100, PEEKED + 1, 100)
        total, squares = (np.cumsum(each)[read - 1] for each in (drawn, drawn**2))
        spread = np.sqrt((squares - total**2 / read) / (read - 1))
        reach = t_quantile(read - 1, 1 - ALPHA) * spread / np.sqrt(read)
        return bool((np.abs(total / read - truth) > reach).any())

    @property
    def truth(self) -> float:
        weights = np.ones(len(self.ranks)) if self.weights is None else self.weights
        difference = 0 if self.other is None else Design("", "", self.other, metric=self.metric).values
        return float(np.sum(weights * (self.values - difference)) / weights.sum())


def ranks_with(mean: float, rng: np.random.Generator, queries: int = QUERIES) -> np.ndarray:
    """Ranks with this MRR: many first places and a long tail."""
    first = rng.random(queries) < mean * 0.72
    tail = np.ceil(np.exp(rng.uniform(math.log(2), math.log(CANDIDATES - 1), queries)))
    scale = max(mean * 0.28 / max(1 - mean * 0.72, 1e-9) / np.mean(1 / tail), 1e-3)
    tail = np.clip(np.ceil(tail / scale), 2, CANDIDATES)
    return np.where(first, 1, tail)


def designs() -> Iterator[Design]:
    rng = np.random.default_rng(20)
    ranks = ranks_with(0.3, rng)
    miss = "the interval ever missed"
    yield Design("MRR about .3", miss, ranks)
    yield Design("MRR about .01, a few first places", miss, ranks_with(0.01, rng))
    yield Design("MRR about .99", miss, np.where(rng.random(QUERIES) < 0.99, 1, 5000))
    yield Design("hits@10, values 0 and 1", miss, ranks, metric="hits@10")
    relation = rng.zipf(1.6, QUERIES) % 60
    harder = np.ceil(ranks * (1 + relation / 10))
    sizes = np.bincount(relation, minlength=60)
    macro = QUERIES / (np.count_nonzero(sizes) * sizes[relation])
    yield Design("mean over 60 relations of very different size", miss, harder, weights=macro)
    pairs = np.arange(QUERIES) // 2
    yield Design("whole clusters drawn: pairs", miss, np.maximum(ranks, ranks[pairs * 2]), cluster=pairs)
    uneven = np.repeat(np.arange(500), np.ceil(rng.lognormal(0.5, 1, 500)).astype(int))[:QUERIES]
    uneven = np.concatenate([uneven, np.full(QUERIES - len(uneven), 500)])
    yield Design("whole clusters drawn: sizes lognormal", miss, ranks[np.searchsorted(uneven, uneven)], cluster=uneven)
    values = 1 / harder
    codes = np.unique(relation, return_inverse=True)[1]
    yield Design("assisted by relation", miss, harder, assist=Assist(QUERIES, [codes]))
    close = np.clip(values + rng.normal(0, 0.1, QUERIES), 0, 1)
    yield Design("assisted by a good proxy", miss, harder, assist=Assist(QUERIES, [codes], [close]))
    yield Design("assisted by noise", miss, harder, assist=Assist(QUERIES, [], [rng.random(QUERIES)]))
    yield Design("assisted by a constant 1", miss, harder, assist=Assist(QUERIES, [], [np.ones(QUERIES)]))
    yield Design("assisted by the opposite of every value", miss, harder, assist=Opposite(values))
    yield Design("assisted by what was read, turning with every fit", miss, harder, assist=Turning(QUERIES))
    yield Design("gate at the mean itself", "it was decided", ranks, bound=2 * ALPHA, gate=True)
    yield Design(
        "gate at the mean itself, by relation",
        "it was decided",
        harder,
        bound=2 * ALPHA,
        gate=True,
        assist=Assist(QUERIES, [codes]),
    )
    half = rng.permutation(QUERIES)
    swapped = ranks.copy()
    a, b = half[: QUERIES // 2], half[QUERIES // 2 :]
    swapped[a], swapped[b] = ranks[b], ranks[a]
    yield Design("two models of equal MRR", "they were called different", ranks, other=swapped)


@dataclass(frozen=True)
class Rate:
    name: str
    event: str
    bound: float
    rate: float
    naive: float | None
    runs: int

    @property
    def error(self) -> float:
        """The standard error of the rate, if it is at its bound."""
        return math.sqrt(self.bound * (1 - self.bound) / self.runs)

    @property
    def cells(self) -> tuple[str, ...]:
        peeking = "–" if self.naive is None else f"{self.naive:.3f}"
        return self.name, self.event, f"{self.bound:.2f}", f"{self.rate:.3f}", peeking, f"{self.runs:,}"


def rate_of(design: Design, runs: int) -> Rate:
    truth = design.truth
    found = np.mean([design.happened(seed, truth) for seed in range(runs)])
    # Peeking is for the plain mean of queries that are drawn one by one.
    simple = design.weights is None and design.cluster is None and design.assist is None
    naive = float(np.mean([design.naive(seed, truth) for seed in range(runs)])) if simple else None
    return Rate(design.name, design.event, design.bound, float(found), naive, runs)


def stopped_rates(runs: int) -> Iterator[Rate]:
    """Intervals at the end of runs that stop for a reason."""
    rng = np.random.default_rng(9)
    pool = ranks_with(0.3, rng, 400_000)
    mean = float(np.mean(1 / pool))
    missed = {"new": 0, "gate": 0, "same": 0, "uneven": 0}
    for seed in range(runs):
        ranks = pool[np.random.default_rng([5, seed]).integers(0, len(pool), QUERIES)]
        whole = float(np.mean(1 / ranks))
        found = rank_until(source=Simulated(ranks), within={"mrr": 0.03}, seed=seed)["mrr"]
        assert found.new_queries is not None
        missed["new"] += mean not in found.new_queries
        gated = rank_until(source=Simulated(ranks), gates=[f"mrr >= {mean:.6f}"], seed=seed)["mrr"]
        assert gated.new_queries is not None
        missed["gate"] += mean not in gated.new_queries
        first = rank_until(source=Simulated(ranks), within={"mrr": 0.08}, seed=seed, keep="items")
        found = rank_until(source=Simulated(ranks), within={"mrr": 0.03}, seed=seed, assist=first)["mrr"]
        assert found.interval is not None
        missed["same"] += whole not in found.interval
        missed["uneven"] += not _contains_new_clusters(seed)
    event = "the last interval missed"
    yield Rate("new queries, stopped at ± .03", event, ALPHA, missed["new"] / runs, None, runs)
    yield Rate("new queries, stopped by a gate at the truth", event, ALPHA, missed["gate"] / runs, None, runs)
    name = "new clusters of very uneven size, nearly all read"
    yield Rate(name, event, ALPHA, missed["uneven"] / runs, None, runs)
    name = "assisted by an earlier run with the same seed, stopped at ± .03"
    yield Rate(name, event, ALPHA, missed["same"] / runs, None, runs)


def _contains_new_clusters(seed: int) -> bool:
    """Whether the interval for new clusters of hits contains their mean, one half."""
    rng = np.random.default_rng([7, seed])
    cluster = np.repeat(np.arange(180), np.concatenate([np.ones(150, int), np.full(30, 40)]))
    ranks = np.where(rng.random(len(cluster)) < rng.beta(1, 1, 180)[cluster], 1, 2)
    found = rank_until(
        source=Simulated(ranks),
        cluster=cluster,
        within={"hits@1": 1e-9},
        seed=seed,
        max_queries=int(0.97 * len(cluster)),
    )["hits@1"]
    return found.new_queries is not None and 0.5 in found.new_queries


def all_rates(runs: int = RUNS, told: Callable[[Rate], object] = lambda rate: None) -> list[Rate]:
    rates = []
    parts: Iterable[Rate] = (rate_of(design, runs) for design in designs())
    for part in (parts, stopped_rates(runs)):
        for rate in part:
            told(rate)
            rates.append(rate)
    return rates


def write(rates: list[Rate]) -> Path:
    heads = (
        "what is followed",
        "what must be rare",
        "at most",
        "found",
        "t-interval, every 100 of 20,000 queries",
        "runs",
    )
    lines = [
        f"| {' | '.join(heads)} |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join(rate.cells)} |" for rate in rates),
    ]
    PLACE.mkdir(exist_ok=True)
    path = PLACE / "rates.inc"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(write(all_rates(count, lambda rate: print(*rate.cells, sep="  ", flush=True))))
