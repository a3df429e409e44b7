"""Distances between tensors of points, tested against the host; on CPU tensors, or CUDA where it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from graphgauge.kernels import device_distances
from graphgauge.kernels.device_distances import energy_distance, silhouettes
from graphgauge.kernels.silhouette import silhouettes as host_silhouettes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(params=[(7, 5), (4096, 8192)], ids=["small tiles", "one tile"], autouse=True)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_distances, "_ROWS", request.param[0])
    monkeypatch.setattr(device_distances, "_COLUMNS", request.param[1])
    monkeypatch.setattr(device_distances, "_AGAIN", 64)


def clouds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(60, 4))
    return {
        "plain": plain,
        "far from the origin": plain + 1e6,
        "copies": plain[rng.integers(0, 9, 60)],
        "nearly copies": plain[rng.integers(0, 9, 60)] + 1e-9 * plain,
        "bits": (plain > 0).astype(float),
        "all equal": np.ones((60, 4)),
        "single precision": plain.astype("f4"),
    }


@pytest.mark.parametrize("name", clouds())
def test_silhouettes_are_the_hosts(name: str) -> None:
    points, labels = clouds()[name], np.random.default_rng(1).integers(-3, 4, 60) * 10
    labels[0] = 77  # a cluster of one
    found = silhouettes(torch.from_numpy(points).to(DEVICE), torch.from_numpy(labels).to(DEVICE))
    np.testing.assert_allclose(found, host_silhouettes(points, labels), rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(found, silhouettes(torch.from_numpy(points).to(DEVICE), labels))


def test_one_cluster_has_no_silhouette() -> None:
    assert np.isnan(silhouettes(torch.zeros(3, 2, device=DEVICE), np.zeros(3))).all()


@pytest.mark.parametrize("name", clouds())
def test_energy_distance_is_the_hosts(name: str) -> None:
    one, other = clouds()[name][:25], clouds()[name][25:] * 1.25
    expected = 2 * cdist(one, other).mean() - cdist(one, one).mean() - cdist(other, other).mean()
    found = energy_distance(torch.from_numpy(one).to(DEVICE), torch.from_numpy(other).to(DEVICE))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * float(np.abs(one).max()))
