"""Plain numbers from distances between points, against the whole matrices of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from graphgauge.core.errors import GraphgaugeError
from graphgauge.generation.two_sample import energy_distance, mmd, prdc


def clouds(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(40, 3)), rng.normal(0.4, 1.2, size=(30, 3))
    if name == "bits":
        return (one > 0).astype(float), (other > 0).astype(float)
    return (one, other) if name == "floats" else (one + 1e6, other + 1e6)


def expected(one: np.ndarray, other: np.ndarray, k: int, sigma: float) -> dict[str, Any]:
    """From the whole matrices of distances."""
    n, m = len(one), len(other)
    within, beyond, across = cdist(one, one), cdist(other, other), cdist(one, other)
    kernel = [np.exp(-(d**2) / (2 * sigma**2)) for d in (within, beyond, across)]
    real, made = np.sort(within, 1)[:, k], np.sort(beyond, 1)[:, k]
    inside = across <= real[:, None]
    return {
        "energy": 2 * across.mean() - within.mean() - beyond.mean(),
        "mmd": (kernel[0].sum() - n) / (n * (n - 1)) + (kernel[1].sum() - m) / (m * (m - 1)) - 2 * kernel[2].mean(),
        "prdc": (inside.any(0).mean(), (across <= made).any(1).mean(), inside.sum() / (k * m), inside.any(1).mean()),
    }


@pytest.mark.parametrize("name", ["floats", "bits", "far from the origin"])
@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_numbers_are_those_of_all_distances(name: str, kind: Any) -> None:
    one, other = clouds(name)
    wanted = expected(one, other, 3, 1.5)
    given = kind(one), kind(other)
    close = {"rel": 1e-7, "abs": 1e-9}
    assert energy_distance(*given) == pytest.approx(wanted["energy"], **close)
    assert mmd(*given, bandwidth=1.5) == pytest.approx(wanted["mmd"], **close)
    if name != "far from the origin":  # where rounding decides ties with the k-th neighbour
        assert tuple(prdc(*given, k=3)) == pytest.approx(wanted["prdc"], abs=1e-12)
    assert mmd(*given) == pytest.approx(mmd(one, other), **close)


@pytest.mark.parametrize("fault", ["width", "NaN", "infinite", "one row", "k", "dimensions"])
def test_faults_are_named(fault: str) -> None:
    one, other = clouds("floats")
    if fault in ("NaN", "infinite"):
        one[3, 1] = {"NaN": np.nan, "infinite": np.inf}[fault]
    pairs: dict[str, Any] = {
        "width": lambda: energy_distance(one, other[:, :2]),
        "one row": lambda: mmd(one[:1], other),
        "k": lambda: prdc(one, other, k=30),
        "dimensions": lambda: mmd(one[0], other),
    }
    with pytest.raises(GraphgaugeError):
        pairs.get(fault, lambda: energy_distance(one, other))()
