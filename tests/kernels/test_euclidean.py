from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples

from graphgauge.kernels import silhouette as module
from graphgauge.kernels.euclidean import Points, tiles
from graphgauge.kernels.silhouette import silhouettes


def by_hand(points: NDArray[np.float64], labels: NDArray[np.int64]) -> list[float]:
    distances = cdist(points, points)
    found = []
    for index, label in enumerate(labels):
        own = (labels == label) & (np.arange(len(labels)) != index)
        if not own.any():
            found.append(0.0)
            continue
        inside = math.fsum(distances[index, own]) / own.sum()
        outside = min(
            math.fsum(distances[index, labels == other]) / (labels == other).sum()
            for other in set(labels.tolist()) - {label}
        )
        found.append((outside - inside) / max(inside, outside) if max(inside, outside) else 0.0)
    return found


@pytest.mark.parametrize(
    ("n", "dimensions", "clusters"), [(2, 1, 2), (7, 3, 2), (129, 5, 4), (300, 32, 14), (140, 0, 3), (60, 2, 60)]
)
def test_against_brute_force_and_scikit_learn(n: int, dimensions: int, clusters: int) -> None:
    rng = np.random.default_rng(n)
    labels = rng.permutation(np.arange(n) % clusters)
    points = rng.standard_normal((n, dimensions)) + 0.4 * labels[:, np.newaxis] + 50
    points.flags.writeable = labels.flags.writeable = False
    found = silhouettes(points, labels)
    np.testing.assert_allclose(found, by_hand(points, labels), rtol=0, atol=1e-12)
    if 1 < clusters < n and dimensions:
        theirs = silhouette_samples(points, labels)
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)


def test_ties_duplicates_and_a_far_centre() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    grid = rng.integers(0, 3, (150, 2)).astype(float)
    expected = by_hand(grid, labels)
    np.testing.assert_allclose(silhouettes(grid, labels), expected, rtol=0, atol=1e-12)
    # 2**27 and a step of 2**-20 are exact in double precision; a product of coordinates is not.
    far = grid * 2.0**-20 + 2.0**27
    np.testing.assert_allclose(silhouettes(far, labels), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_any_scale(scale: float) -> None:
    points = np.random.default_rng(1).standard_normal((40, 3))
    labels = np.arange(40) % 2
    found = silhouettes(points * scale, labels)
    np.testing.assert_allclose(found, silhouettes(points, labels), rtol=0, atol=1e-9)


def test_points_that_are_all_one() -> None:
    assert silhouettes(np.full((6, 4), 0.1), np.arange(6) % 2).tolist() == [0.0] * 6


@pytest.mark.parametrize("labels", [[], [3], [3, 3, 3]])
def test_one_cluster_has_no_silhouette(labels: list[int]) -> None:
    found = silhouettes(np.zeros((len(labels), 2)), np.array(labels, np.int64))
    assert found.shape == (len(labels),)
    assert np.isnan(found).all()


def test_types_layouts_labels_and_order() -> None:
    rng = np.random.default_rng(2)
    points = np.round(rng.standard_normal((200, 6)) * 8)
    labels = rng.integers(0, 4, 200)
    expected = silhouettes(points, labels)
    for other in (points.astype(np.float16), np.asfortranarray(points), np.repeat(points, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(silhouettes(other, labels), expected)
    np.testing.assert_array_equal(silhouettes(points, labels * 1000 - 7), expected)
    order = rng.permutation(200)
    shuffled = silhouettes(points[order], labels[order])
    np.testing.assert_allclose(shuffled, expected[order], rtol=0, atol=1e-13)


def test_threads_change_no_bit_and_many_clusters_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    points, labels = rng.standard_normal((700, 5)), rng.integers(0, 30, 700)
    expected = silhouettes(points, labels, threads=1)
    np.testing.assert_array_equal(silhouettes(points, labels, threads=2), expected)
    monkeypatch.setattr(module, "_MOST_SUMS", 0)
    np.testing.assert_allclose(silhouettes(points, labels), expected, rtol=0, atol=1e-13)


def test_what_is_no_cloud_of_points() -> None:
    with pytest.raises(ValueError, match="labels"):
        silhouettes(np.zeros((3, 2)), np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="finite"):
        Points.of(np.array([[0.0], [np.inf]]))
    with pytest.raises(ValueError, match="finite"):
        Points.of(np.array([[np.nan]]))
    with pytest.raises(ValueError, match="shape"):
        Points.of(np.zeros(3))


@pytest.mark.parametrize("dimensions", [0, 1, 3, 4, 9])
def test_distances_of_any_two_ranges(dimensions: int) -> None:
    rng = np.random.default_rng(4)
    points = rng.standard_normal((300, dimensions)) * 1e3
    cloud = Points.of(points)
    rows, columns = slice(3, 130), slice(100, 300)
    expected = cdist(points[rows], points[columns]) if dimensions else np.zeros((127, 200))
    np.testing.assert_allclose(cloud.distances(rows, columns) * cloud.unit, expected, rtol=1e-14)
    assert [part.stop - part.start for part in tiles(5, 300)] == [128, 128, 39]
