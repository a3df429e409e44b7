"""Hashes of rows: the loop gives the bits of its twin, and scores, their order and their places all matter."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.kernels import row_hashes
from graphgauge.kernels.row_hashes import row_sums


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i1", "i8", "?"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (70, 9)])
def test_the_loop_is_its_twin(backend: str, dtype: str, shape: tuple[int, int]) -> None:
    matrix = (100 * np.random.default_rng(1).random(shape)).astype(dtype)
    truth = np.zeros(len(matrix), np.uint64)
    row_hashes._add.twin(matrix, row_hashes.place_weights(np.arange(1, shape[1] + 1)), truth)
    assert np.array_equal(row_sums(matrix), truth)
    assert np.array_equal(row_sums(matrix.astype(np.float64)), truth)  # the same numbers in another type
    assert np.array_equal(row_sums(np.asfortranarray(matrix), threads=1), truth)


def test_different_rows_have_different_hashes() -> None:
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [0.0, 3.0], [-0.0, 3.0], [1.0, np.nextafter(2.0, 3.0)]])
    assert len(set(row_sums(rows).tolist())) == len(rows)
