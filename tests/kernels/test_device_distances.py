"""Distances between tensors of points, tested against the host; on CPU tensors, or CUDA where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from graphgauge.generation import two_sample
from graphgauge.kernels import device_distances
from graphgauge.kernels.device_distances import energy_distance, mmd, prdc, silhouettes
from graphgauge.kernels.silhouette import silhouettes as host_silhouettes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(params=[7, 4096], ids=["small tiles", "one tile"], autouse=True)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_distances, "_SIDE", request.param)
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


def samples() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pairs of samples whose points are on the surface of balls, where rounding would decide."""
    rng = np.random.default_rng(5)
    plain = rng.normal(size=(70, 6))
    return {
        "plain": (plain[:40], plain[40:]),
        "bits": (plain[:40] > 0.2, plain[40:] > 0),
        "wide bits": (rng.random((40, 300)) < 0.5, rng.random((30, 300)) < 0.5),
        "copies of the other side": (plain[:40], plain[rng.integers(0, 40, 30)]),
        "a grid of tenths": ((plain[:40] * 3).round() / 10, (plain[40:] * 3).round() / 10),
        "few places": (plain[rng.integers(0, 4, 40)], plain[rng.integers(0, 5, 30)]),
        "nearly copies": (plain[rng.integers(0, 9, 40)] + 1e-15 * plain[:40], plain[rng.integers(0, 9, 30)]),
        "far from the origin": (plain[:40] + 1e6, plain[rng.integers(0, 40, 30)] + 1e6),
        "an outlier": (np.vstack([plain[:39], 1e9 * plain[39]]), plain[rng.integers(0, 39, 30)]),
        "huge": (plain[:40] * 1e200, plain[rng.integers(0, 40, 30)] * 1e200),
        "tiny": (plain[:40] * 1e-200, plain[rng.integers(0, 40, 30)] * 1e-200),
        "whole numbers": (rng.integers(-9, 9, (40, 5)), rng.integers(-9, 9, (30, 5))),
        "half precision": (plain[:40].astype("f2"), plain[rng.integers(0, 40, 30)].astype("f2")),
        "no coordinates": (np.empty((40, 0)), np.empty((30, 0))),
    }


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("name", samples())
def test_balls_contain_what_they_do_on_the_host(name: str, k: int) -> None:
    real, generated = samples()[name]
    found = prdc(*(torch.from_numpy(side).to(DEVICE) for side in (real, generated)), k)
    assert found == tuple(two_sample.prdc(real.astype(float), generated.astype(float), k=k))


@pytest.mark.parametrize("name", samples())
def test_sums_over_pairs_are_the_hosts(name: str) -> None:
    one, other = samples()[name]
    there = [torch.from_numpy(side).to(DEVICE) for side in (one, other)]
    scale = float(np.abs(one.astype(float)).max(initial=0)) or 1.0
    options = {"permutations": 0, "generator": np.random.default_rng(0)}
    wide = [side.astype(float) for side in (one, other)]
    assert energy_distance(*there) == pytest.approx(
        two_sample.energy_test(*wide, **options).distance, rel=1e-9, abs=1e-9 * scale
    )
    wanted = two_sample.mmd_test(*wide, bandwidth=scale, **options).value
    assert mmd(*there, scale) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert energy_distance(there[0], there[0]) == pytest.approx(0, abs=1e-12 * scale)


@pytest.mark.parametrize("name", ["plain", "bits"])
@pytest.mark.parametrize("function", [energy_distance, lambda *both: mmd(*both, 1.0), lambda *both: prdc(*both, 3)])
def test_the_device_is_not_waited_for_in_every_tile(
    function: Any, name: str, simulated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    for side in (4, 16, 4096):
        monkeypatch.setattr(device_distances, "_SIDE", side)
        simulated.waits = simulated.largest = 0
        function(*map(simulated.put, samples()[name]))
        waits.append(simulated.waits)
    assert waits[0] == waits[1] == waits[2] <= 4
    assert simulated.largest <= 64  # bytes


@pytest.mark.parametrize("most", [0, 1 << 27])
def test_silhouettes_of_many_clusters(most: int, simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From both sides if there is no room for all sums; the device is waited for strip by strip, not in every tile."""
    monkeypatch.setattr(device_distances, "_SIDE", 10)
    monkeypatch.setattr(device_distances, "_MOST_SUMS", most)
    labels = np.arange(60) % 3
    for name in ("plain", "copies"):
        simulated.waits = 0
        found = silhouettes(simulated.put(clouds()[name]), labels)
        np.testing.assert_allclose(found, host_silhouettes(clouds()[name], labels), rtol=1e-8, atol=1e-9)
        assert simulated.waits <= 1 + 2 * (6 if most == 0 else 1)


def test_distances_under_autocast_and_deterministic_algorithms() -> None:
    real, generated = (torch.from_numpy(side).to(DEVICE) for side in samples()["copies of the other side"])
    expected = prdc(real, generated, 3), energy_distance(real, generated)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            assert (prdc(real, generated, 3), energy_distance(real, generated)) == expected
    finally:
        torch.use_deterministic_algorithms(False)
