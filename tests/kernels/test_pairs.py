from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphgauge.kernels import pairs as module
from graphgauge.kernels.pairs import Bits, common_bits, hamming_sums, packed, row_hamming

SHAPES = [(0, 5), (1, 5), (2, 1), (5, 0), (3, 64), (40, 65), (65, 40), (130, 129), (9, 594)]


def by_hand(bits: Bits) -> tuple[list[int], Counter[tuple[int, int]], list[float]]:
    """Hamming distances, sizes of what pairs have in both and in either, and similarities summed by row."""
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in bits]
    distances, common, similar = [], Counter[tuple[int, int]](), [0.0] * len(rows)
    for (i, a), (j, b) in combinations(enumerate(rows), 2):
        distances.append(len(a ^ b))
        common[len(a & b), len(a | b)] += 1
        similarity = len(a & b) / len(a | b) if a | b else 1.0
        similar[i] += similarity
        similar[j] += similarity
    return distances, common, similar


def check(bits: Bits, threads: int | None = None) -> None:
    kept = bits.copy()
    distances, common, similar = by_hand(bits)
    assert hamming_sums(bits, threads=threads) == (sum(distances), sum(d * d for d in distances))
    assert row_hamming(bits).tolist() == [int((bits != row).sum()) for row in bits]
    found = common_bits(bits, threads=threads)
    counted = Counter[tuple[int, int]]()
    for both, either, pairs in zip(*(part.tolist() for part in found[:3]), strict=True):
        counted[both, either] += pairs
    assert counted == common
    if len(bits) > 1:
        np.testing.assert_allclose(found.row_similarity * (len(bits) - 1), similar, rtol=0, atol=1e-9)
    else:
        assert np.isnan(found.row_similarity).all()
    np.testing.assert_array_equal(bits, kept)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("threads", [1, 2])
def test_against_brute_force(
    shape: tuple[int, int], density: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CACHED_BITS", 512)
    bits = np.random.default_rng(0).random(shape) < density
    bits.flags.writeable = False
    check(bits, threads)


def test_any_layout() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random((30, 140)) < 0.2
    for view in (bits[:, ::2], bits[::-2], bits.T, np.asfortranarray(bits)):
        check(view)


def test_rows_of_any_size() -> None:
    rng = np.random.default_rng(2)
    check(rng.random((60, 150)) < rng.random((60, 1)) ** 3)


@pytest.mark.hypothesis
@given(hnp.arrays(np.bool_, st.tuples(st.integers(0, 12), st.integers(0, 80))))
@settings(max_examples=60)
def test_drawn_bits(bits: Bits) -> None:
    check(bits)


def test_the_order_of_rows_and_the_threads_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    bits = rng.random((90, 70)) < 0.3
    order = rng.permutation(90)
    first, second = common_bits(bits, threads=1), common_bits(bits[order], threads=2)
    np.testing.assert_array_equal(second.row_similarity, first.row_similarity[order])
    for ours, theirs in zip(first[:3], second[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_sums_beyond_64_bits_are_refused_and_none_below_is_wrong() -> None:
    with pytest.raises(ValueError, match="64-bit"):
        module._product_squares(np.zeros((2, 1), np.uint64), 2**32, None)
    bits = np.zeros((2, 3), np.bool_)
    bits[0] = True
    assert hamming_sums(np.repeat(bits, 5000, axis=0)) == (3 * 5000**2, 9 * 5000**2)


def test_words_are_filled_up_with_zeros() -> None:
    words = packed(np.ones((2, 65), np.bool_))
    assert words.tolist() == [[2**64 - 1, 1]] * 2
