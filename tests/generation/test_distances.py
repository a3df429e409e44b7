"""Distances between all samples, against brute force, SciPy and scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics import silhouette_samples

import graphgauge
from graphgauge.core.types import Mask
from graphgauge.generation import distances as module
from graphgauge.generation.distances import (
    Points,
    hamming_pairs,
    jaccard_distances,
    jaccard_pairs,
    packed,
    silhouettes,
    tiles,
)

BOARD = 3 * 18 * 11


@pytest.mark.parametrize(("n", "width"), [(2, 1), (30, 594), (700, 40), (65, 64)])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_means_and_spreads_of_pairs_against_scipy(n: int, width: int, density: float) -> None:
    bits = np.random.default_rng(n).random((n, width)) < density
    for ours, metric, scale in ((hamming_pairs(bits), "hamming", width), (jaccard_pairs(bits), "jaccard", 1)):
        distances = pdist(bits, metric) * scale
        assert ours.mean == pytest.approx(distances.mean(), rel=1e-12)
        assert ours.std == pytest.approx(distances.std(), rel=1e-9, abs=1e-12)
        rows = squareform(distances).sum(axis=1) / (n - 1)
        np.testing.assert_allclose(ours.row_means, rows, rtol=1e-9, atol=1e-11)


def test_nothing_is_lost_where_almost_all_pairs_are_alike() -> None:
    bits = np.zeros((3000, 594), np.bool_)
    bits[0, 0] = True
    pairs = 3000 * 2999 // 2
    found = hamming_pairs(bits)
    share = 2999 / pairs
    assert found.mean == share
    assert found.std == pytest.approx(math.sqrt(share * (1 - share)), rel=1e-14)
    assert hamming_pairs(np.ones((50, 7), np.bool_)).std == jaccard_pairs(np.ones((50, 7), np.bool_)).std == 0.0


def test_two_problems_of_eleven_holds_cannot_be_far_apart() -> None:
    """A target of 0.3 for the share of differing cells would be out of reach."""
    bits = np.zeros((2, BOARD), np.bool_)
    bits[0, :11], bits[1, 11:22] = True, True
    assert hamming_pairs(bits).mean / BOARD == pytest.approx(0.037, abs=5e-4)
    assert jaccard_pairs(bits).mean == 1.0


@pytest.mark.parametrize("n", [0, 1])
def test_no_pair_has_no_distance(n: int) -> None:
    for found in (hamming_pairs(np.zeros((n, 4), np.bool_)), jaccard_pairs(np.zeros((n, 4), np.bool_))):
        assert math.isnan(found.mean)
        assert math.isnan(found.std)
        assert found.row_means.shape == (n,)


def test_samples_without_a_bit_are_alike() -> None:
    for bits in (np.zeros((3, 5), np.bool_), np.zeros((3, 0), np.bool_)):
        for found in (hamming_pairs(bits), jaccard_pairs(bits)):
            assert (found.mean, found.std, found.row_means.tolist()) == (0.0, 0.0, [0.0] * 3)


SHAPES = [(2, 1), (5, 0), (3, 64), (40, 65), (65, 40), (130, 129), (9, 594)]


def pairs_by_hand(bits: Mask) -> dict[str, tuple[float, float, list[float]]]:
    """Mean, standard deviation and row means of both distances, from sets."""
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in bits]
    count, found = len(rows), {}
    for kind in ("hamming", "jaccard"):
        distances = np.zeros((count, count))
        for (i, a), (j, b) in combinations(enumerate(rows), 2):
            away = len(a ^ b) if kind == "hamming" else (1 - len(a & b) / len(a | b) if a | b else 0.0)
            distances[i, j] = distances[j, i] = away
        upper = distances[np.triu_indices(count, 1)]
        found[kind] = float(upper.mean()), float(upper.std()), (distances.sum(1) / (count - 1)).tolist()
    return found


def check(bits: Mask) -> None:
    kept = bits.copy()
    for ours, (mean, std, rows) in zip(
        (hamming_pairs(bits), jaccard_pairs(bits)), pairs_by_hand(bits).values(), strict=True
    ):
        assert (ours.mean, ours.std) == pytest.approx((mean, std), rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(ours.row_means, rows, rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(bits, kept)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.03, 0.5, 1.0])
def test_pairs_against_brute_force(shape: tuple[int, int], density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FLOATS", 512)
    bits = np.random.default_rng(0).random(shape) < density
    bits.flags.writeable = False
    check(bits)


def test_any_layout() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random((30, 140)) < 0.2
    for view in (bits[:, ::2], bits[::-2], bits.T, np.asfortranarray(bits)):
        check(view)


def test_rows_of_any_size() -> None:
    rng = np.random.default_rng(2)
    check(rng.random((60, 150)) < rng.random((60, 1)) ** 3)


@pytest.mark.hypothesis
@given(hnp.arrays(np.bool_, st.tuples(st.integers(2, 12), st.integers(0, 80))))
@settings(max_examples=60)
def test_drawn_bits(bits: Mask) -> None:
    check(bits)


def test_the_order_of_rows_and_the_threads_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    bits = rng.random((900, 700)) < 0.3
    order = rng.permutation(900)
    for function in (hamming_pairs, jaccard_pairs):
        with graphgauge.threads(1):
            first = function(bits)
        with graphgauge.threads(2):
            second = function(bits[order])
        assert (second.mean, second.std) == (first.mean, first.std)
        np.testing.assert_array_equal(second.row_means, first.row_means[order])


def test_words_are_filled_up_with_zeros() -> None:
    assert packed(np.ones((2, 65), np.bool_)).tolist() == [[2**64 - 1, 1]] * 2


def test_jaccard_distances_of_two_sets_of_bits() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.random((20, 90)) < 0.1, rng.random((30, 90)) < 0.2
    first[3] = second[5] = False
    np.testing.assert_allclose(jaccard_distances(first, second), cdist(first, second, "jaccard"), rtol=1e-14)
    assert jaccard_distances(first, first).shape == (20, 20)


# ----------------------------------------------------------------------------------------------------------- points


def silhouettes_by_hand(points: NDArray[np.float64], labels: NDArray[np.int64]) -> list[float]:
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
def test_silhouettes_against_brute_force_and_scikit_learn(n: int, dimensions: int, clusters: int) -> None:
    rng = np.random.default_rng(n)
    labels = rng.permutation(np.arange(n) % clusters)
    points = rng.standard_normal((n, dimensions)) + 0.4 * labels[:, np.newaxis] + 50
    points.flags.writeable = labels.flags.writeable = False
    found = silhouettes(points, labels)
    np.testing.assert_allclose(found, silhouettes_by_hand(points, labels), rtol=0, atol=1e-12)
    if 1 < clusters < n and dimensions:
        theirs = silhouette_samples(points, labels)
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)


def test_silhouettes_of_ties_duplicates_and_a_far_centre() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    grid = rng.integers(0, 3, (150, 2)).astype(float)
    expected = silhouettes_by_hand(grid, labels)
    np.testing.assert_allclose(silhouettes(grid, labels), expected, rtol=0, atol=1e-12)
    # 2**27 and a step of 2**-20 are exact in double precision; a product of coordinates is not.
    far = grid * 2.0**-20 + 2.0**27
    np.testing.assert_allclose(silhouettes(far, labels), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_silhouettes_at_any_scale(scale: float) -> None:
    points = np.random.default_rng(1).standard_normal((40, 3))
    labels = np.arange(40) % 2
    found = silhouettes(points * scale, labels)
    np.testing.assert_allclose(found, silhouettes(points, labels), rtol=0, atol=1e-9)


def test_silhouettes_of_points_that_are_all_one() -> None:
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
    points, labels = rng.standard_normal((1500, 5)), rng.integers(0, 30, 1500)
    with graphgauge.threads(1):
        expected = silhouettes(points, labels)
    with graphgauge.threads(2):
        np.testing.assert_array_equal(silhouettes(points, labels), expected)
    monkeypatch.setattr(module, "_MOST_SUMS", 0)
    np.testing.assert_allclose(silhouettes(points[:90], labels[:90]), silhouettes_by_hand(points[:90], labels[:90]))


def test_what_is_no_cloud_of_points() -> None:
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
    np.testing.assert_allclose(np.sqrt(cloud.squared(rows, columns)) * cloud.unit, expected, rtol=1e-14)
    assert [part.stop - part.start for part in tiles(5, 300)] == [128, 128, 39]
