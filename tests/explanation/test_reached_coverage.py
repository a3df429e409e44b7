"""How often the interval of `fidelity_drop.reached`, a ratio of means, covers its value in the population of events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
        context = ex.Context(ex.Subgraph(np.array([np.arange(8), np.arange(1, 9)])),
                             {"weights": weights.tolist(), "bias": float(rng.normal())}, event)  # fmt: skip
        said.append(ex.Explanation(context, weights + noise * rng.normal(size=8)))
    table = ex.collect(Added(), said, levels=[0.25], metrics=["fidelity_drop.reached"], ceiling=256, random=5)
    return sample_of(table, "explainer", Rules())


def test_the_bounds_are_the_ratios_that_a_test_does_not_reject() -> None:
    from scipy.stats import ttest_1samp

    sample, metric, level = population(12, 1.0), find("fidelity_drop.reached", "explanation")[0], Level(0.25)
    estimate = metric(sample, level=level)
    rule, low, high = metric.interval_of(sample, estimate, 0.9)
    assert rule.method == "Fieller"
    for bound in (low[0], min(high[0], 1.0)):
        rejected = ttest_1samp(estimate.facts["gain"] - bound * estimate.facts["most"], 0).pvalue
        assert rejected == pytest.approx(0.1, rel=1e-6) or bound == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(10, 0.92), (20, 0.92), (50, 0.92)])
@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_the_ratio_of_means_is_covered(n: int, least: float, noise: float) -> None:
    everything = population(400, noise)
    metric = find("fidelity_drop.reached", "explanation")[0]
    level = Level(0.25)
    true = float(metric(everything, level=level).value[0])
    assert 0 < true < 1
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(400):
        sample = everything.only(rng.integers(0, 400, n).tolist())
        _, low, high = metric.interval_of(sample, metric(sample, level=level), 0.95)
        covered.append(bool(low[0] <= true <= high[0]))
    print(f"noise {noise}, {n} events: {np.mean(covered):.3f}")
    assert least <= np.mean(covered) <= 0.99
