"""What the interval of a difference is expected to cover, against simulations, and where it is shown."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from graphgauge.stats import Model, compare, paired_test, simulate, unpaired_test

LOGNORMAL = Model(shapes=("lognormal", "normal"), spreads=(1.0, 0.0))
SHORT = [
    ([(5, 5)], True, LOGNORMAL),
    ([(12, 12)], True, LOGNORMAL),
    ([(8, 8)], True, Model(shapes=("exponential", "exponential"), spreads=(3.0, 1.0))),
    ([(10, 10)], True, Model(effect=0.9, correlation=0.5, ceiling=-0.3)),
    ([(10, 10)], False, Model(shapes=("exponential", "-exponential"))),
    ([(2, 50)], False, Model(spreads=(5.0, 1.0))),
    ([(4, 4)] * 3, True, LOGNORMAL),
]
LONG = [
    ([(10, 10)], True, Model()),
    ([(30, 30)], True, Model()),
    ([(10, 10)], False, Model()),
    ([(5, 5)] * 5, True, Model()),
    ([(3, 5)] * 5, False, Model()),
]


@pytest.mark.parametrize(("sizes", "paired", "model"), SHORT)
def test_no_more_is_expected_than_is_covered(sizes: Any, paired: bool, model: Model) -> None:
    repeats = 200
    found = simulate(sizes, paired=paired, model=model, repeats=repeats, expectations=30, seed=1)
    assert found.expected < 0.95
    assert found.expected <= found.coverage + 0.03 + 2.5 * math.sqrt(0.1 * 0.9 / repeats)


@pytest.mark.parametrize(("sizes", "paired", "model"), LONG)
def test_normal_scores_are_expected_to_be_covered(sizes: Any, paired: bool, model: Model) -> None:
    assert simulate(sizes, paired=paired, model=model, repeats=1, expectations=20).expected >= 0.925


def test_ranks_react_to_unequal_spreads() -> None:
    model = Model(spreads=(5.0, 1.0))
    found = simulate([(6, 14)], paired=False, model=model, test="ranks", repeats=300, expectations=20)
    assert found.error > 0.06
    assert found.expected <= found.coverage + 0.03 + 2.5 * math.sqrt(0.1 * 0.9 / 300)


def skewed(seed: int = 3, n: int = 12) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    return (0.01 * np.exp(1.2 * rng.normal(size=n))).tolist(), [0.0] * n


def test_it_is_simulated_when_it_is_read_and_depends_on_the_scores_alone() -> None:
    first, second = skewed()
    test = paired_test(first, second, test="mean")
    assert test.ci is not None
    assert "expected_coverage" not in test.ci.__dict__
    expected = test.expected_coverage
    assert expected is not None
    assert expected < 0.93
    assert test.expected_error == round(1 - expected, 2)
    assert f"expected to contain the true difference in {expected:.0%} of cases" in str(test)
    assert f"to reject equal methods in {test.expected_error:.0%}" in str(test)
    assert paired_test(first[::-1], second, test="mean").expected_coverage == expected
    assert paired_test([10 * x for x in first], second, test="mean").expected_coverage == expected
    assert pickle.loads(pickle.dumps(test.ci)).expected_coverage == expected


def test_a_test_that_cannot_reject_has_no_expected_error() -> None:
    test = paired_test([0.1, 0.2, 0.9], [0.0, 0.1, 0.1], test="mean")
    assert test.expected_coverage is not None
    assert test.expected_error is None
    assert "to reject" not in (test.caveat or "")


@pytest.mark.parametrize("runs", [([0.5], [0.4, 0.3, 0.2, 0.5]), ([0.5], [0.4])])
def test_one_run_shows_no_spread_to_simulate(runs: Any) -> None:
    assert unpaired_test(*runs).expected_coverage is None


def test_a_method_at_its_ceiling_may_leave_it() -> None:
    """Its unseen scores are below: they cannot exceed the bound of the metric."""
    rows = [
        {"method": m, "seed": f"{m}{i}", "mrr": v}
        for m, scores in (("a", [1.0] * 6), ("b", [0.9, 1.0, 0.8, 1.0, 1.0, 0.95]))
        for i, v in enumerate(scores)
    ]
    (test,) = compare(rows, metric="mrr", resamples=20).tests
    assert test.ci is not None
    assert test.expected_coverage is None or 0.5 < test.expected_coverage < 0.93


def test_it_is_shown_in_the_table_and_in_json() -> None:
    first, second = skewed()
    rows = [
        {"method": m, "seed": i, "mrr": 0.5 + v}
        for m, scores in (("a", first), ("b", second))
        for i, v in enumerate(scores)
    ]
    found = compare(rows, metric="mrr", resamples=20)
    (test,) = found.tests
    assert test.expected_coverage is not None
    said = f"≈ a vs b: expected to contain the true difference in {test.expected_coverage:.0%} of cases"
    for form in ("table", "markdown", "latex"):
        assert said in found.render(form)
    assert "≈ [" in found.render("table")
    content = json.loads(found.to_json())["tests"][0]
    assert content["expected_coverage"] == test.expected_coverage
    assert content["expected_error"] == test.expected_error
    assert found.caveats() == [f"{said}, the test to reject equal methods in {test.expected_error:.0%}."]
    calm = compare([{**row, "mrr": 0.5 + 0.01 * (i % 7)} for i, row in enumerate(rows)], metric="mrr", resamples=20)
    assert (calm.caveats() == []) == (calm.tests[0].expected_coverage is None)
