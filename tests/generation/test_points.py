"""Plain numbers from distances between points: by hand, and by the path of CUDA devices on the host's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from graphgauge.core.errors import GraphgaugeError
from graphgauge.generation import energy_distance, mmd, pairwise_distance, points, prdc, silhouette
from graphgauge.kernels import device_distances

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(params=[7, 4096], ids=["small tiles", "one tile"])
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "is_cuda", torch.is_tensor)
    monkeypatch.setattr(device_distances, "_SIDE", request.param)


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
@pytest.mark.parametrize("where", ["host", "device"])
def test_numbers_are_those_of_all_distances(name: str, where: str, tiles: None) -> None:
    one, other = clouds(name)
    wanted = expected(one, other, 3, 1.5)
    given = (one, other) if where == "host" else [torch.as_tensor(side, device=DEVICE) for side in (one, other)]
    close = {"rel": 1e-7, "abs": 1e-9}
    assert energy_distance(*given) == pytest.approx(wanted["energy"], **close)
    assert mmd(*given, bandwidth=1.5) == pytest.approx(wanted["mmd"], **close)
    if name != "far from the origin":  # where rounding decides ties with the k-th neighbour
        assert tuple(prdc(*given, k=3)) == pytest.approx(wanted["prdc"], abs=1e-12)
    assert mmd(*given) == pytest.approx(mmd(one, other), **close)
    labels = np.arange(len(one)) % 3
    assert silhouette(given[0], labels) == pytest.approx(silhouette(one, labels), **close)


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_distances_of_bits_are_those_of_all_pairs(dtype: type, where: str, tiles: None) -> None:
    bits = np.random.default_rng(4).random((23, 40)) < 0.3
    bits[5:7] = False  # two empty samples are alike
    upper = np.triu_indices(len(bits), 1)
    both, either = ((bits[upper[0]] & bits[upper[1]]).sum(1), (bits[upper[0]] | bits[upper[1]]).sum(1))
    rows = bits.astype(dtype) if where == "host" else torch.as_tensor(bits.astype(dtype), device=DEVICE)
    for kind, each in (("hamming", either - both), ("jaccard", 1 - (both + (either == 0)) / np.maximum(either, 1))):
        assert pairwise_distance(rows, kind=kind) == pytest.approx((each.mean(), each.std()), rel=1e-12)
        assert pairwise_distance(rows, kind=kind) == pairwise_distance(bits, kind=kind)
        assert np.isnan(pairwise_distance(rows[:1], kind=kind)).all()
    with pytest.raises(GraphgaugeError, match="neither 0 nor 1"):
        pairwise_distance(np.full((3, 2), 2) if where == "host" else torch.full((3, 2), 2, device=DEVICE))


@pytest.mark.parametrize("fault", ["width", "NaN", "infinite", "one row", "k", "mixed", "labels", "dimensions"])
def test_faults_are_named(fault: str, tiles: None) -> None:
    one, other = (torch.as_tensor(side, device=DEVICE) for side in clouds("floats"))
    if fault in ("NaN", "infinite"):
        one[3, 1] = {"NaN": torch.nan, "infinite": torch.inf}[fault]
    pairs: dict[str, Any] = {
        "width": lambda: energy_distance(one, other[:, :2]),
        "one row": lambda: mmd(one[:1], other),
        "k": lambda: prdc(one, other, k=30),
        "mixed": lambda: prdc(one, other.cpu().numpy()),
        "labels": lambda: silhouette(one, [1, 2]),
        "dimensions": lambda: silhouette(one[0], [1, 2]),
    }
    with pytest.raises(GraphgaugeError):
        pairs.get(fault, lambda: energy_distance(one, other))()
