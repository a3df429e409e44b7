"""Pairs of rows of packed bits, against Python's sets."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from graphgauge import _core
from graphgauge.generation.distances import packed

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
SHAPES = pytest.mark.parametrize("shape", [(0, 5), (1, 5), (2, 1), (5, 0), (3, 64), (33, 65), (70, 129), (280, 70)])
DENSITIES = pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])


@cache
def drawn(shape, density, seed=0):
    bits = np.random.default_rng(seed).random(shape) < density
    words = packed(bits)
    words.flags.writeable = False
    return [frozenset(np.flatnonzero(row).tolist()) for row in bits], words


def jaccard(a, b):
    return Fraction(len(a & b), len(a | b)) if a | b else Fraction(1)


@cache
def by_hand(shape, density):
    """Kinds of pairs, rounded similarities by row."""
    rows, _ = drawn(shape, density)
    kinds, similar = Counter(), [0] * len(rows)
    for (i, a), (j, b) in combinations(enumerate(rows), 2):
        kinds[len(a & b), len(a | b)] += 1
        rounded = round((len(a & b) / len(a | b) if a | b else 1.0) * 2**40)
        similar[i] += rounded
        similar[j] += rounded
    return kinds, similar


@THREADS
@DENSITIES
@SHAPES
def test_common_bits(shape, density, threads):
    _, words = drawn(shape, density)
    expected, similar = by_hand(shape, density)
    both, either, pairs, sums = (part.tolist() for part in _core.common_bits(words, threads=threads))
    assert list(zip(both, either, strict=True)) == sorted(expected)
    assert dict(zip(zip(both, either, strict=True), pairs, strict=True)) == expected
    assert sums == similar


def test_many_different_pairs():
    """More kinds of pairs than the table starts with."""
    bits = np.random.default_rng(0).random((400, 700)) < np.linspace(0, 1, 400)[:, None]
    rows, words = [frozenset(np.flatnonzero(row).tolist()) for row in bits], packed(bits)
    both, either, pairs, _ = _core.common_bits(words, threads=2)
    expected = Counter((len(a & b), len(a | b)) for a, b in combinations(rows, 2))
    assert len(both) == len(expected) > 4096
    assert dict(zip(zip(both.tolist(), either.tolist(), strict=True), pairs.tolist(), strict=True)) == expected


def test_mapped_words(tmp_path):
    _, words = drawn((20, 70), 0.5)
    np.save(tmp_path / "words.npy", words)
    mapped = np.load(tmp_path / "words.npy", mmap_mode="r")
    for of_mapped, of_words in zip(_core.common_bits(mapped), _core.common_bits(words), strict=True):
        np.testing.assert_array_equal(of_mapped, of_words)


@pytest.mark.parametrize(
    "words",
    [np.zeros((4, 4), np.uint64)[:, ::2], np.zeros((4, 2), ">u8"), np.zeros((4, 2), np.int64), np.zeros(4, np.uint64)],
)
def test_other_arrays_are_refused(words):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.common_bits(words)


def test_sizes_that_do_not_fit_are_refused():
    wide = np.zeros((3, (1 << 25) - 1), np.uint64)  # never touched
    with pytest.raises(ValueError, match="more than 2\\*\\*31 - 1 bits"):
        _core.common_bits(wide)
