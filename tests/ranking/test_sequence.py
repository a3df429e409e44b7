"""Sequences: valid at every look and after a change of aim, fair bets, the same bits however items are batched."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.random import Random
from graphgauge.ranking.sequence import Assist, Bets, Bound, Walk, reading_order


def reciprocals(n: int, seed: int) -> np.ndarray:
    return np.clip(1 / np.ceil(np.random.default_rng(seed).pareto(0.6, n) + 1e-9), 0, 1)


def by_definition(x: np.ndarray, w: np.ndarray, predicted: np.ndarray, read: int) -> tuple[float, float]:
    """The interval of the module's formulas, item by item."""
    weight, left, total, errors = w.sum(), w.sum(), 0.0, 0.0
    centre = slope = cost = 0.0
    low, high = 0.0, 1.0
    for i in range(read):
        mean_predicted = (w[i:] * predicted[i:]).sum() / w[i:].sum()
        growth, spread = weight / left, (1 + errors) / (4 + i)
        bet = min(0.5, growth * 0.05 / spread)
        centre += bet * (x[i] - predicted[i] + mean_predicted + total / left)
        slope += bet * growth
        cost += (-np.log(1 - bet) - bet) * (x[i] - predicted[i]) ** 2
        errors += (x[i] - predicted[i]) ** 2
        total, left = total + w[i] * x[i], left - w[i]
        reach = (np.log(2 / 0.05) + cost) / slope
        low = max(low, centre / slope - reach)
        high = min(high, centre / slope + reach)
    return max(low, total / weight), min(high, (total + left) / weight)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_interval_is_that_of_its_formula(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    x, predicted = rng.random(n), rng.random(n)
    w = rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    read = int(rng.integers(1, n))
    walk = Walk(w)
    bound = Bound(walk, 0.05)
    unread = np.cumsum((w * predicted)[::-1])[::-1] / np.cumsum(w[::-1])[::-1]
    cuts = np.unique(np.append(rng.integers(0, read, 3), [0, read]))
    for start, stop in pairwise(cuts):  # however the items are batched
        rows = slice(start, stop)
        bound.follow(walk.step(x[rows], w[rows], (predicted[rows], unread[rows])), 0.05)
    low, high = bound.low, bound.high
    assert (low, high) == pytest.approx(by_definition(x, w, predicted, read), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_is_hardly_ever_missed_at_any_look(weighted: bool) -> None:
    n, runs = 3000, 300
    x = reciprocals(n, 1)
    w = np.random.default_rng(2).uniform(0.2, 2, n) if weighted else np.ones(n)
    truth = (w * x).sum() / w.sum()
    missed = 0
    for seed in range(runs):
        order = reading_order(w, Random(seed))
        walk = Walk(w)
        bound = Bound(walk, 0.05)
        for start in range(0, 2000, 100):
            rows = order[start : start + 100]
            # The aim changes in the middle, which is allowed for what is unread.
            bound.follow(walk.step(x[rows], w[rows], None), 0.05 if start < 600 else 0.01)
            if not bound.low <= truth <= bound.high:
                missed += 1
                break
    # No more than 5 % of the runs: 3.3 standard errors of 300 runs are 12.
    assert missed <= 15 + 12


def test_fair_bets_hardly_ever_call_the_wrong_side() -> None:
    n, runs = 3000, 300
    x = reciprocals(n, 3)
    wrong = {"above": 0, "below": 0}
    for seed in range(runs):
        order = reading_order(np.ones(n), Random(seed))
        for side, limit in (("above", x.mean() + 1e-9), ("below", x.mean() - 1e-9)):
            walk = Walk(np.ones(n))
            bets = Bets(walk, limit, 0.05)
            for start in range(0, 2400, 200):
                bets.follow(walk.step(x[order[start : start + 200]], np.ones(200), None))
            wrong[side] += bets.side == side
    assert max(wrong.values()) <= 15 + 12


def test_gates_are_decided_soon_where_the_mean_is_far() -> None:
    x = reciprocals(20_000, 4)
    order = reading_order(np.ones(len(x)), Random(0))
    walk = Walk(np.ones(len(x)))
    bets = Bets(walk, x.mean() - 0.05, 0.05)
    while bets.side is None and walk.read < 3000:
        rows = order[walk.read : walk.read + 100]
        bets.follow(walk.step(x[rows], np.ones(100), None))
    assert bets.side == "above"


def test_everything_read_is_known() -> None:
    x = reciprocals(500, 5)
    walk = Walk(np.ones(500))
    bound, bets = Bound(walk, 0.05), Bets(walk, x.mean() - 1e-3, 0.05)
    steps = walk.step(x, np.ones(500), None)
    bound.follow(steps, 0.01)
    bets.follow(steps)
    assert bound.half_width == 0
    assert bound.estimate == pytest.approx(x.mean(), abs=1e-12)
    assert bets.side == "above"


def test_a_predictor_narrows_and_never_misleads() -> None:
    n = 5000
    x = reciprocals(n, 6)
    noisy = x + np.random.default_rng(7).normal(0, 0.1, n)
    useless = np.random.default_rng(8).random(n)
    widths = {}
    for name, proxies in (("none", []), ("good", [noisy]), ("useless", [useless])):
        assist = Assist(n, [], proxies)
        order = reading_order(np.ones(n), Random([0, assist.digest]))
        walk = Walk(np.ones(n))
        bound = Bound(walk, 0.05)
        bound.follow(walk.step(x[order[:256]], np.ones(256), None), 0.02)
        fitted = assist.fit(order[:256], x[order[:256]])
        unread = (np.cumsum(fitted[order][::-1]) / np.arange(1, n + 1))[::-1]
        rows = order[256:1500]
        bound.follow(walk.step(x[rows], np.ones(len(rows)), (fitted[rows], unread[256:1500])), 0.02)
        widths[name] = bound.half_width
        assert bound.low <= x.mean() <= bound.high
    assert widths["good"] < 0.6 * widths["none"]
    assert widths["useless"] < 1.2 * widths["none"]


def test_missing_predictions_are_a_feature() -> None:
    x = reciprocals(400, 9)
    proxy = x.copy()
    proxy[::4] = np.nan
    assert Assist(400, [], [np.full(400, np.nan)]).fit(np.arange(50), x[:50]).std() < 1e-12
    fitted = Assist(400, [np.arange(400) % 3], [proxy]).fit(np.arange(200), x[:200])
    assert np.corrcoef(fitted, x)[0, 1] > 0.7
    assert fitted.min() >= 0
    assert fitted.max() <= 1
