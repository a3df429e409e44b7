"""A classifier of real and generated samples: calibrated, and it names what differs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.generation.flat import evaluated

ASKED: dict[str, Any] = {"metrics": ["recognition_auc", "recognition_p_value"], "draws": 99}


def test_a_cell_that_differs_is_recognised() -> None:
    rng = np.random.default_rng(0)
    real, made = rng.random((120, 2, 6)) < 0.3, rng.random((100, 2, 6)) < 0.3
    made[:, 1, 2] = rng.random(100) < 0.95
    found = evaluated(real=real, generated=made, channels=["start", "end"], **ASKED)
    result = found["recognition_auc"]
    assert result.interval is not None
    assert result.interval.low > 0.5
    assert result.compatible == ()
    assert found["recognition_p_value"].value <= 0.05


def test_a_motif_that_differs_is_recognised() -> None:
    """Both kinds have twelve nodes of degree 4; only rings of neighbours have triangles."""
    real = [nx.random_regular_graph(4, 12, seed=seed) for seed in range(30)]
    made = [nx.watts_strogatz_graph(12, 4, 0) for _ in range(30)]
    found = evaluated(real=real, generated=made, **ASKED)
    assert found["recognition_auc"].value > 0.95


def test_a_difference_of_spread_is_recognised() -> None:
    """The means are equal, so no linear rule would do."""
    rng = np.random.default_rng(0)
    blank = {"real": np.zeros((200, 1)), "generated": np.zeros((200, 1))}
    found = evaluated(
        **blank,
        real_statistics={"size": rng.normal(size=200)},
        generated_statistics={"size": 3 * rng.normal(size=200)},
        **ASKED,
    )
    assert found["recognition_p_value"].value == 1 / 100


def test_conditions_are_not_recognised_by_their_mix() -> None:
    rng = np.random.default_rng(1)
    codes, asked = np.repeat([0, 1], [150, 50]), np.repeat([0, 1], [50, 150])
    real, made = (rng.random((200, 4)) < 0.2 + 0.5 * part[:, None] for part in (codes, asked))
    found = evaluated(real=real, generated=made, real_conditions=codes, generated_conditions=asked, **ASKED)
    assert "perfect" in found["recognition_auc"].compatible
    pooled = evaluated(real=real, generated=made, **ASKED)
    assert pooled["recognition_p_value"].value == 1 / 100


@pytest.mark.slow
def test_its_error_is_calibrated() -> None:
    """The same distribution on both sides: 5 % of p-values are below 5 %."""
    rng, below, covered = np.random.default_rng(0), 0, 0
    for run in range(200):
        sides = (rng.random((60, 8)) < 0.4 for _ in range(2))
        found = evaluated(**dict(zip(("real", "generated"), sides, strict=True)), **ASKED, seed=run)
        below += found["recognition_p_value"].value <= 0.05
        covered += "perfect" in found["recognition_auc"].compatible
    assert 2 <= below <= 20
    assert covered >= 180


def test_too_few_samples_have_a_reason() -> None:
    found = evaluated(real=np.eye(4), generated=np.eye(4), metrics=["recognition_auc"])
    assert "10 valid generated samples" in (found["recognition_auc"].reason or "")
