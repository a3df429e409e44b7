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
    return scores, np.cumsum([0, *sizes], dtype=np.int64)


@THREADS
@DTYPES
@pytest.mark.parametrize("sizes", [[], [1], [7, 1, 40], [3000, 5]])
@pytest.mark.parametrize("levels", [2, 1_000_000])
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_places(dtype, sizes, levels, share, threads):
    scores, offsets = drawn(dtype, sizes, levels)
    rng = np.random.default_rng(1)
    own = [
        start + rng.permutation(np.flatnonzero(rng.random(length) < share))
        for start, length in zip(offsets, sizes, strict=False)
    ]
    first = np.cumsum([0, *map(len, own)], dtype=np.int64)
    positive = np.concatenate([np.empty(0, np.int64), *own])
    found = _core.list_places(scores, offsets, positive, first, threads=threads)
    expected = []
    for start, length, places in zip(offsets, sizes, own, strict=False):
        candidates = scores[start : start + length]
        for place in sorted(places.tolist(), key=lambda place: scores[place], reverse=True):
            expected.append((place, int((candidates > scores[place]).sum()), int((candidates == scores[place]).sum())))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_what_is_outside_is_refused():
    scores, one, five = np.zeros(5), np.array([0]), np.array([0, 5])
    for offsets, said in (
        ([-1, 2], "must lie between"),
        ([4, 6], "must lie between"),
        ([0, 3, 1], "falls"),
        ([], "empty"),
    ):
        with pytest.raises(ValueError, match=f"offsets .*{said}"):
            _core.list_places(scores, np.array(offsets, np.int64), one, np.array([0, 1]))
    for positive in (-1, 5):
        with pytest.raises(ValueError, match="positive has"):
            _core.list_places(scores, five, np.array([positive]), np.array([0, 1]))
    for first, said in (([0, 2], "must lie between"), ([0], "n lists need"), ([], "empty")):
        with pytest.raises(ValueError, match=said):
            _core.list_places(scores, five, one, np.array(first, np.int64))
    for wrong in (np.zeros(10)[::2], np.zeros(5, ">f8"), np.zeros(5, np.float16), np.zeros((5, 1))):
        with pytest.raises(TypeError):
            _core.list_places(wrong, five, one, np.array([0, 1]))
