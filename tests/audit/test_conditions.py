"""Several conditions have no interval together; each is looked at by itself."""

import numpy as np
from tests.audit.evolution_cases import NODES, born, smoothed, start

from graphgauge.evolution import EvaluationSuite


def test_the_circular_condition_is_named():
    rng = np.random.default_rng(0)
    points, edges, labels = start(rng)
    weights = {"still": 0.0, "smoothed": 0.6}
    suite = EvaluationSuite(range(NODES), labels, list(weights), metrics=["auc_synthetic", "auc_birth"])
    for name, weight in weights.items():
        for seed in range(4):
            births = born(rng, points, 100, 1)
            suite.begin(name, points, edges, seed)
            after = np.concatenate([edges, births])
            suite.step(name, smoothed(points, after, weight), births, after, 0, seed=seed)
    (finding,) = suite.evaluation().findings
    assert finding.check == "circular-auc"
    assert finding.message.startswith("births of smoothed score")
