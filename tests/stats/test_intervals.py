"""Intervals against the equations that define them, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm, t

from graphgauge.stats import intervals
from graphgauge.stats.errors import Spread, spread


def _score(mean, n, other, ends, confidence, extremes):
    """The score interval of n independent items by bisection of its equation; `other` is their deviations."""
    low, high = ends
    error = np.sqrt((other**2).sum() / (n * (n - 1)))
    places = [(1 / 3, max(4 * extremes[0], low - mean)), (1 / 3, min(4 * extremes[1], high - mean))]
    places += [(0.05, low - mean), (0.05, high - mean)]
    moved = mean + sum(a * x for a, x in places) / n
    variance = error**2 + sum(a * x**2 for a, x in places) / n**2
    factor = variance / ((moved - low) * (high - moved))
    reach = t.isf((1 - confidence) / 2, n - 1)

    def end(inside, outside):
        for _ in range(200):
            middle = (inside + outside) / 2
            accepted = (mean - middle) ** 2 <= reach**2 * factor * (middle - low) * (high - middle)
            inside, outside = (middle, outside) if accepted else (inside, middle)
        return inside

    return end(mean, low), end(mean, high)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_score_interval_solves_its_equation(confidence):
    x = np.array([1, 0.5, 0.01, 0.02, 0.25, 0.1, 0.05])
    deviations = x - x.mean()
    wanted = _score(x.mean(), 7, deviations, (0.0, 1.0), confidence, (deviations.min(), deviations.max()))
    found = intervals.score_interval(x.mean(), spread(deviations), (0.0, 1.0), confidence)
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-9)


def test_wilson_is_the_score_test_inverted():
    low, high = intervals.wilson_interval([3], [20], 0.95)
    for end in (low[0], high[0]):
        assert abs(0.15 - end) / np.sqrt(end * (1 - end) / 20) == pytest.approx(norm.isf(0.025), rel=1e-9)
    assert np.isnan(intervals.wilson_interval(0, 0, 0.95)[0])


def test_all_alike_at_an_end_is_clopper_and_pearson():
    low, high = intervals.agreement_interval(1.0, 12, (0.0, 1.0), 0.95)
    assert (low, high) == (pytest.approx(beta.ppf(0.025, 12, 1)), 1.0)
    alike = intervals.of_mean([0.0], [0.0], [11], 0.95, over="graphs", possible=(0.0, 1.0))
    assert alike.high[0] == pytest.approx(beta.ppf(0.975, 1, 12))
    assert intervals.logit_t_interval([1.0], [0.0], [11], 0.95)[0] == pytest.approx(low)


def test_equal_units_in_between_have_no_interval():
    flat = spread(np.zeros(9))
    assert np.isnan(intervals.score_interval(0.5, flat, (0.0, 1.0), 0.95)).all()
    assert np.isnan(intervals.t_interval(0.5, 1e-17, 8, 0.95)).all()
    assert np.isnan(intervals.log_t_interval(0.5, 0.0, 8, 0.95)).all()
    assert intervals.of_runs([0.1 + 0.2, 0.3], 0.95) is None


def test_few_units_have_none():
    two = Spread(*(np.array([each]) for each in (0.1, 1.0, 2.0, 2.0, -0.1, 0.1)))
    assert np.isnan(intervals.score_interval([0.5], two, (0.0, 1.0), 0.95)).all()
    assert np.isnan(intervals.t_interval([0.5], [0.1], [0.5], 0.95)).all()
    steps = np.random.default_rng(0).normal(size=29)
    assert np.isnan(intervals.over_time(1.0, steps / 29, 0.95).low)


def test_t_log_and_logit_are_the_delta_method():
    reach = t.isf(0.05, 7) * 0.1
    assert intervals.t_interval(0.4, 0.1, 7, 0.9) == pytest.approx((0.4 - reach, 0.4 + reach))
    low, high = intervals.log_t_interval(0.4, 0.1, 7, 0.9)
    assert (np.log(low), np.log(high)) == pytest.approx((np.log(0.4) - reach / 0.4, np.log(0.4) + reach / 0.4))
    low, high = intervals.logit_t_interval(0.4, 0.1, 7, 0.9)
    centre = np.log(0.4 / 0.6)
    wanted = (centre - reach / 0.24, centre + reach / 0.24)
    assert (np.log(low / (1 - low)), np.log(high / (1 - high))) == pytest.approx(wanted)


def test_quantiles_are_those_of_students_t():
    df = np.array([1, 2.5, 30, 1e6])
    np.testing.assert_allclose(intervals.t_quantile(df, 0.95), t.isf(0.025, df), rtol=1e-10)
    assert np.isnan(intervals.t_quantile(0.9, 0.95))


def test_the_interval_of_runs_stays_within_the_bounds_of_its_metric():
    found = intervals.of_runs([0.99, 1.0, 0.9], 0.95, bounds=(0.0, 1.0))
    assert found is not None
    assert (found.high, found.method, found.over) == (1.0, "t", "seeds")
