"""How often the interval of `fidelity_drop.reached`, a ratio of means, covers its value in the population of events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t

from graphgauge import explanation as ex
from graphgauge.core.metric import find
from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import Rules, sample_of


class Added:
    model_output = "logit"

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        return masks @ np.array(target["weights"]) + target["bias"]


def population(events: int, noise: float) -> Any:
    """Events of 8 edges with skewed weights, and an explainer that sees them with noise."""
    rng = np.random.default_rng(0)
    said = []
    for event in range(events):
        weights = rng.gamma(0.7, 1.0, 8)
        context = ex.Context(
            ex.Subgraph(np.array([np.arange(8), np.arange(1, 9)])),
            {"weights": weights.tolist(), "bias": float(rng.normal())},
            event,
        )
        said.append(ex.Explanation(context, weights + noise * rng.normal(size=8)))
    table = ex.collect(Added(), said, levels=[0.25], metrics=["fidelity_drop.reached"], ceiling=256, random=5)
    return sample_of(table, "explainer", Rules())


def transcribed(gain: np.ndarray, most: np.ndarray, confidence: float) -> tuple[float, float]:
    """Fieller's interval by search: the ratios at which the squared t statistic is at most its critical value.

    The variance of missed − r · most counts a third of an event that misses four times the most that was missed, and
    a twentieth of one that misses as much as the random explainer.
    """
    missed, n, span = most - gain, len(most), most.mean()
    far = min(4 * missed.max(), max(2 * span, missed.max()))
    critical = t.ppf((1 + confidence) / 2, n - 1)

    def excess(share: float) -> float:
        mean = missed.mean() - share * span
        squares = np.sum((missed - share * most - mean) ** 2)
        squares += (far - share * max(span, far / 2) - mean) ** 2 / 3
        squares += (span - share * span - mean) ** 2 / 20
        return mean**2 - critical**2 * squares / (n * (n - 1))

    value = missed.mean() / span
    return 1 - brentq(excess, value, value + 50), 1 - brentq(excess, value - 50, value)


def test_the_bounds_are_the_ratios_that_a_test_does_not_reject() -> None:
    sample, metric, level = population(40, 1.0), find("fidelity_drop.reached", "explanation")[0], Level(0.25)
    estimate = metric(sample, level=level)
    rule, low, high = metric.interval_of(sample, estimate, 0.9)
    assert rule.method == "Fieller"
    expected = transcribed(estimate.facts["gain"], estimate.facts["most"], 0.9)
    assert (low[0], high[0]) == pytest.approx((expected[0], min(expected[1], 1)), rel=1e-9)


def test_a_ceiling_reached_by_all_events_is_not_certain() -> None:
    """If p is the share of events as good as random, all of n reach the best set with probability (1 − p)ⁿ."""
    sample, metric = population(12, 0.0), find("fidelity_drop.reached", "explanation")[0]
    estimate = metric(sample, level=Level(0.25))
    assert estimate.value[0] == pytest.approx(1)
    _, low, high = metric.interval_of(sample, estimate, 0.95)
    assert (low[0], high[0]) == (pytest.approx(0.025 ** (1 / 12)), 1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20, 50, 100])
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3, 1.0, 3.0, 20.0])
def test_the_ratio_of_means_is_covered(n: int, noise: float) -> None:
    """From explanations that nearly always are the best set to guesses."""
    everything = population(400, noise)
    metric = find("fidelity_drop.reached", "explanation")[0]
    level = Level(0.25)
    whole = metric(everything, level=level)
    assert 0 < whole.value[0] < 1
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        drawn = rng.integers(0, 400, n)
        facts = {name: whole.facts[name][drawn] for name in ("gain", "most")}
        estimate = replace(whole, value=np.array([facts["gain"].mean() / facts["most"].mean()]), facts=facts)
        _, low, high = metric.interval_of(everything, estimate, 0.95)
        covered.append(bool(low[0] <= whole.value[0] <= high[0]))
    print(f"noise {noise}, {n} events: {np.mean(covered):.3f}")
    assert np.mean(covered) >= 0.93
