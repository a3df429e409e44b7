"""Places of positives in lists, and k-th highest scores, against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint64])


def drawn(dtype, sizes, levels, seed=0):
    """Scores of adjacent lists, with both zeros, both infinities and the ends of the type among them."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, sum(sizes)).astype(dtype)
    limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
    odd = [0, limits.max, limits.min] + ([-0.0, np.inf, -np.inf] if np.issubdtype(dtype, np.floating) else [])
    places = rng.choice(len(scores), len(scores) // 4, replace=False)
    scores[places] = rng.choice(np.array(odd, dtype), len(places))
    scores.flags.writeable = False
    return scores, np.cumsum([0, *sizes], dtype=np.int64)[:-1], np.array(sizes, np.int64)


@THREADS
@DTYPES
@pytest.mark.parametrize("sizes", [[], [1], [7, 1, 40], [3000, 5]])
@pytest.mark.parametrize("levels", [2, 1_000_000])
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_places(dtype, sizes, levels, share, threads):
    scores, begin, size = drawn(dtype, sizes, levels)
    rng = np.random.default_rng(1)
    own = [
        start + rng.permutation(np.flatnonzero(rng.random(length) < share))
        for start, length in zip(begin, size, strict=True)
    ]
    first = np.cumsum([0, *map(len, own)], dtype=np.int64)
    positive = np.concatenate([np.empty(0, np.int64), *own])
    found = _core.list_places(scores, begin, size, positive, first, threads=threads)
    expected = []
    for start, length, places in zip(begin, size, own, strict=True):
        candidates = scores[start : start + length]
        for place in sorted(places.tolist(), key=lambda place: scores[place], reverse=True):
            expected.append((place, int((candidates > scores[place]).sum()), int((candidates == scores[place]).sum())))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_what_is_outside_is_refused():
    scores, one = np.zeros(5), np.array([0])
    for begin, size in (([-1], [2]), ([4], [2]), ([0], [-1]), ([6], [0]), ([2], [2**63 - 1])):
        with pytest.raises(ValueError, match="lists: number 0 is outside of 0 to 5"):
            _core.list_places(scores, np.array(begin), np.array(size), one, np.array([0, 1]))
    five = np.array([5])
    for positive in (-1, 5):
        with pytest.raises(ValueError, match="positive has"):
            _core.list_places(scores, one, five, np.array([positive]), np.array([0, 1]))
    for first, said in (([0, 2], "must lie between"), ([0], "n lists need"), ([], "empty")):
        with pytest.raises(ValueError, match=said):
            _core.list_places(scores, one, five, one, np.array(first, np.int64))
    with pytest.raises(ValueError, match="as many sizes"):
        _core.list_places(scores, one, np.array([5, 5]), one, np.array([0, 1]))
    for wrong in (np.zeros(10)[::2], np.zeros(5, ">f8"), np.zeros(5, np.float16), np.zeros((5, 1))):
        with pytest.raises(TypeError):
            _core.list_places(wrong, one, five, one, np.array([0, 1]))
