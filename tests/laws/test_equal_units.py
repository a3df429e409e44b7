"""Units that are equal up to rounding have no spread, and so no interval, whatever the family, their number and size.

Shares keep theirs (Wilson's of 0/1 items, Clopper and Pearson's of what lies at an end of its scale): how sure one may
be follows from the number of items and not from their spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.laws.explanation_case import ExplanationCase

from graphgauge import forecasting, generation, ranking, recovery
from graphgauge.core.metric import Metric
from graphgauge.core.registry import find as find_metric
from graphgauge.core.registry import metrics
from graphgauge.core.result import Result, enclosing
from graphgauge.evolution.areas import Area
from graphgauge.evolution.homophily import Folds
from graphgauge.evolution.metrics import Trajectory, over_runs
from graphgauge.stats.shift import of_pairs

USUAL_RANKS = ("mrr", "hits", "mean_rank", "geometric_mean_rank", "adjusted_hits")
THREE_WAYS = np.array([0.3, 0.1 + 0.2, 0.1 * 3])
over_counts = pytest.mark.parametrize("n", [2, 3, 5, 7, 49, 1000])


def result_of(key: str, sample: object) -> Result:
    metric, params = find_metric(key, "evolution")
    metric = over_runs(metric) if isinstance(sample, Trajectory) else metric
    estimate = metric(sample, **params)
    return metric.result(sample, estimate, params, confidence=0.95, conventions={})


def equal_queries(n: int) -> Mapping[str, Result]:
    neg = np.tile([2.0, 2.0, -1.0, -1.0, -1.0], (n, 1))
    asked = {"k": (1, 3), "metrics": [*USUAL_RANKS]}
    return ranking.evaluate(np.zeros(n), neg, groups={"half": np.arange(n) % 2}, **asked)


def equal_lists(n: int) -> Mapping[str, Result]:
    scores, labels = np.tile(np.arange(9.0, 0, -1), n), np.tile([1, 0, 1, 0, 0, 1, 0, 0, 0], n)
    return ranking.evaluate(ranking.Queries.from_lists(scores, labels, np.repeat(np.arange(n), 9)))


def equal_graphs(n: int) -> Mapping[str, Result]:
    rng = np.random.default_rng(0)
    truth, scores = (rng.random((6, 6)) < 0.4).astype(float), rng.random((6, 6))
    return recovery.evaluate(np.tile(truth, (n, 1, 1)), np.tile(scores, (n, 1, 1)), threshold=0.5)


def equal_errors(n: int) -> Mapping[str, Result]:
    truth = np.zeros(max(n, 8))
    return forecasting.evaluate(truth, truth + np.resize(THREE_WAYS, len(truth)))


def equal_events(n: int) -> Mapping[str, Result]:
    case, n = ExplanationCase(), min(n, 49)
    weights, importance = np.tile([3.0, -1, 2, 0, 1], (n, 1)), np.tile([5.0, 1, 3, 0, 2], (n, 1))
    truth = np.tile([1.0, 0, 1, 0, 0], (n, 1))
    found = case.evaluate(case.build(importance[0], importance[1:], weights, truth))
    # Masks and orders of these are drawn event by event, so equal events have different values.
    return {key: result for key, result in found.items() if not key.startswith("robust_")}


def equal_samples(n: int) -> Mapping[str, Result]:
    bits, n = np.array([1, 1, 1, 0, 0, 0], bool), max(n, 4)
    codes = np.arange(n) % 2
    statistics, samples = {"size": np.full(n, 3.0)}, np.tile(bits, (n, 1))
    real = generation.Samples(
        samples,
        conditions=codes,
        statistics=statistics,
        latents=np.tile([0.1, 0.2], (n, 1)),
        reconstructed=np.tile(np.roll(bits, 1), (n, 1)),
    )
    return generation.evaluate(
        real, generation.Samples(samples, conditions=codes, statistics=statistics, predicted=codes), metrics="all"
    )


def equal_cycles(n: int) -> Mapping[str, Result]:
    """Folds, births and seeds."""
    values = np.resize(THREE_WAYS, n)
    folds = Folds(values, nodes=10, majority=0.5)
    found = {key: result_of(key, folds) for key in ("nca_mean", "nca_std")}
    for size in (1 / 46, 0.3, 0.999):
        shares = np.resize(THREE_WAYS * (size / 0.3), n)
        found[f"births at {size}"] = result_of(
            "auc_birth", Area(shares, 5, ends=np.arange(2 * n).reshape(-1, 2), nodes=10)
        )
    for scale, key in ((1.0, "auc_birth"), (1e-9, "tgc"), (1e9, "tgc")):
        runs = [np.full(4, value * scale) for value in values]
        found[f"seeds of {key} at {scale}"] = result_of(key, Trajectory(runs))
    bounded = Trajectory([np.full(4, value) for value in values], possible=(0.0, 1.0))
    return found | {"bounded seeds": result_of("auc_birth", bounded)}


Maker = Callable[[int], Mapping[str, Result]]
MAKERS: list[Maker] = [
    equal_queries,
    equal_lists,
    equal_graphs,
    equal_errors,
    equal_events,
    equal_samples,
    equal_cycles,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@over_counts
def test_equal_units_have_no_interval_whatever_their_number(make: Maker, n: int) -> None:
    found = make(n)
    assert any(result.interval is None and result.defined for result in found.values())
    for key, result in found.items():
        if not result.defined:
            continue
        if result.interval is None:
            assert result.no_interval, key
        else:
            low, high = result.interval
            assert high - low > 1e-4, key
            # An adjusted share is at an end of its range if the share is.
            share = found[key.removeprefix("adjusted_")] if key.startswith("adjusted_hits") else result
            assert share.value in (-1, 0, 1) or result.interval.method == "wilson", key
    assert found.get("nca_std", 0.0) == 0


@over_counts
def test_equal_units_of_a_group_have_no_interval_either(n: int) -> None:
    table = equal_queries(2 * n).by("half")
    for key in ("mrr", "mean_rank", "geometric_mean_rank"):
        assert np.isnan(table[f"{key}.low"]).all()
        assert np.isnan(table[f"{key}.high"]).all()


def test_perfect_order_has_no_interval() -> None:
    codes = np.repeat(np.arange(4), 5)
    real = generation.Samples(np.eye(20, dtype=bool), conditions=codes, latents=np.c_[codes, codes] * 0.1)
    found = generation.evaluate(real, ordered=True, metrics="ordinal_spearman")["ordinal_spearman"]
    assert found.value == pytest.approx(1)
    assert found.interval is None
    assert "perfect" in found.no_interval


@over_counts
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_equal_differences_of_items_have_no_interval(n: int, scale: float) -> None:
    found = of_pairs(np.resize(THREE_WAYS * scale, n), 0.05)
    assert np.isnan([found.low, found.high]).all()


numbers = st.floats(-1e6, 1e6)


@given(value=numbers, low=numbers, high=numbers, bounds=st.tuples(numbers, numbers).map(sorted))
@example(value=0.021739130434782608, low=0.0217391304347826, high=0.0217391304347826, bounds=[0, 1])
def test_an_interval_contains_its_value_and_stays_in_bounds(
    value: float, low: float, high: float, bounds: list[float]
) -> None:
    value = float(np.clip(value, *bounds))
    found = enclosing(value, low, high, (bounds[0], bounds[1]))
    assert bounds[0] <= found[0] <= value <= found[1] <= bounds[1]
    if bounds[0] <= low <= value <= high <= bounds[1]:
        assert found == (low, high)
    assert np.isnan(enclosing(value, np.nan, np.nan, (bounds[0], bounds[1]))).all()


@pytest.mark.parametrize("metric", metrics("evolution"), ids=lambda metric: metric.key)
@given(runs=st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=12), min_size=1, max_size=4))
def test_intervals_over_runs_contain_their_value(metric: Metric, runs: list[list[float]]) -> None:
    found = result_of(metric.key, Trajectory([np.array(run) for run in runs]))
    if found.interval is not None:
        assert metric.bounds[0] <= found.interval.low <= found.value <= found.interval.high <= metric.bounds[1]
        assert found.interval.high - found.interval.low > 1e-13 * abs(found.value)
