"""Bands of scores, against a comparison of every score in its own precision."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.kernels import bands as module
from graphgauge.kernels.bands import band_counts, threshold_counts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 7), (3, 0), (1, 1), (5, 40), (4, 2500)])
def test_above_and_inside(shape: tuple[int, int], dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_WORK", 3000)  # several blocks
    rng = np.random.default_rng(shape[1])
    scores = rng.integers(0, 50, shape).astype(dtype)
    row = rng.permutation(np.repeat(np.arange(shape[0]), rng.integers(0, 4, shape[0])))  # none, one or several bands
    low = rng.integers(0, 50, len(row)).astype(float)
    high = low + rng.integers(0, 3, len(row))
    above, bands, columns = band_counts(scores, row, low, high)
    assert above.tolist() == (scores[row] > high[:, None]).sum(axis=1).tolist()
    expected = np.argwhere((scores[row] >= low[:, None]) & (scores[row] <= high[:, None]))
    assert np.stack([bands, columns], axis=1).tolist() == expected.tolist()
    threshold = low.astype(dtype)
    greater, equal = threshold_counts(scores, row, threshold)
    assert greater.tolist() == (scores[row] > threshold[:, None]).sum(axis=1).tolist()
    assert equal.tolist() == (scores[row] == threshold[:, None]).sum(axis=1).tolist()


def test_a_band_is_widened_to_the_precision_of_the_scores() -> None:
    """Bounds between two neighbours of float32 hold both; in float64 they stay as they are."""
    below, above = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    scores = np.array([[below, above]])
    low, high = np.array([1 + 1e-9]), np.array([1 + 1.1e-7])
    found = [band_counts(given, np.array([0]), low, high) for given in (scores, scores.astype(np.float64))]
    assert [columns.tolist() for _, _, columns in found] == [[0, 1], []]
    assert [counts.tolist() for counts, _, _ in found] == [[0], [1]]


def test_not_a_number_is_nowhere() -> None:
    scores = np.array([[np.nan, 0.5, np.inf]])
    above, _, columns = band_counts(scores, np.array([0]), np.array([0.4]), np.array([0.6]))
    assert above.tolist() == [1]
    assert columns.tolist() == [1]
    assert [counts.tolist() for counts in threshold_counts(scores, np.array([0]), np.array([-np.inf]))] == [[2], [0]]
