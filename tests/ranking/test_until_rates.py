"""How often adaptive runs are wrong, looked at after every look: no more often than they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.until import evaluate_until

RUNS, N, OTHERS = 300, 2000, 40
RNG = np.random.default_rng(11)
RANKS = np.minimum(1 + RNG.pareto(0.7, N).astype(int), OTHERS)
GROUP = RNG.geometric(0.5, N).clip(max=5)


def of_ranks(ranks: Any, **labels: Any) -> Queries:
    """Queries whose one positive has these ranks."""
    negatives = np.where(np.arange(OTHERS)[None] < np.asarray(ranks)[:, None] - 1, 1.0, -1.0)
    return Queries.from_scores(np.zeros(len(ranks)), negatives, **labels)


DESIGNS: dict[str, tuple[Queries, dict[str, Any]]] = {
    "a mean": (of_ranks(RANKS), {}),
    "of few hits": (of_ranks(np.where(RNG.random(N) < 0.03, 1, 20)), {}),
    "of clusters of uneven sizes": (of_ranks(RANKS, cluster=np.sort(RNG.geometric(0.05, N))), {}),
    "of weighted queries": (of_ranks(RANKS, weights=RNG.uniform(0.2, 3, N)), {}),
    "with a good predictor": (of_ranks(RANKS), {"assist": [1 / RANKS + RNG.normal(0, 0.2, N)]}),
    "with a useless predictor": (of_ranks(RANKS, groups={"g": GROUP}), {"assist": ["g", RNG.random(N)]}),
}


def not_above(wrong: int, bound: float) -> bool:
    """Whether so many of the runs are no sign of a rate above the bound: three standard errors."""
    return wrong <= RUNS * bound + 3 * (RUNS * bound * (1 - bound)) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_an_interval_hardly_ever_misses_at_any_look(design: str) -> None:
    queries, options = DESIGNS[design]
    truth = evaluate(queries)["mrr"].value
    missed = 0
    for seed in range(RUNS):
        found = evaluate_until(queries, within={"mrr": 0.02}, max_queries=1200, seed=seed, **options)
        missed += any(not low <= truth <= high for _, low, high in found.options["until"]["trail"])
    assert not_above(missed, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("side", [1, -1])
def test_a_gate_is_hardly_ever_called_by_mistake(side: int) -> None:
    queries = of_ranks(RANKS)
    truth = evaluate(queries)["mrr"].value
    # Just beyond the truth, where every decision of this kind is a mistake.
    gate = f"mrr {'>=' if side > 0 else '<='} {truth + side * 1e-9!r}"
    runs = [evaluate_until(queries, gates=[gate], max_queries=1500, seed=seed) for seed in range(RUNS)]
    assert not_above(sum(run.gates[0].verdict == "passed" for run in runs), 0.05)


@pytest.mark.slow
def test_equal_models_are_hardly_ever_called_different() -> None:
    one = RNG.permutation(RANKS)
    two = one.copy()
    half = RNG.permutation(N)[: N // 2]
    two[half] = one[RNG.permutation(half)]  # other ranks of single queries, and the same mean
    sides = of_ranks(one), of_ranks(two)
    runs = [evaluate_until(sides[0], against=sides[1], max_queries=1500, seed=seed) for seed in range(RUNS)]
    assert not_above(sum(bool(run.options["until"]["decided"]) for run in runs), 0.05)
