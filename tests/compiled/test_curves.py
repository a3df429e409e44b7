"""Two samples of scores against each other, against comparisons of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint64])
SIZES = pytest.mark.parametrize("size", [0, 1, 2, 33, 5000])


def scores(size, dtype, seed, *, nan=False):
    """Half of them tie, and there are infinities and both zeros, or the ends of the type."""
    rng = np.random.default_rng(seed)
    found = np.where(rng.random(size) < 0.5, rng.integers(0, 9, size), rng.integers(0, 1 << 20, size)).astype(dtype)
    if issubclass(dtype, np.floating):
        odd = [np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).smallest_subnormal] + [np.nan] * nan
    else:
        odd = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    places = rng.random(size) < 0.2
    found[places] = rng.choice(np.array(odd, dtype), places.sum())
    return found


def counted(values, sample):
    return [[int((sample > value).sum()) for value in values], [int((sample == value).sum()) for value in values]]


@THREADS
@DTYPES
@SIZES
@pytest.mark.parametrize("count", [0, 1, 40, 1500])
def test_merged_counts(size, count, dtype, threads):
    falling = np.unique(scores(count, dtype, 1))[::-1].copy()
    ascending = np.sort(scores(size, dtype, 0))
    greater, equal = _core.merged_counts(falling, ascending, threads=threads)
    assert [greater.tolist(), equal.tolist()] == counted(falling, ascending)


@THREADS
@DTYPES
@SIZES
@pytest.mark.parametrize("count", [0, 1, 2, 40, 1500])
def test_placed_counts(size, count, dtype, threads):
    rising = np.unique(scores(count, dtype, 1))
    sample = scores(size, dtype, 0, nan=True)
    greater, equal, missing = _core.placed_counts(rising, sample, threads=threads)
    with np.errstate(invalid="ignore"):
        assert [greater.tolist(), equal.tolist()] == counted(rising, sample)
    assert missing == np.count_nonzero(sample != sample)


@THREADS
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_samples_in_several_chunks(dtype, threads):
    sample, rising = scores(2_000_000, dtype, 0), np.unique(scores(300, dtype, 1))
    ascending = np.sort(sample)
    below, through = (np.searchsorted(ascending, rising, side) for side in ("left", "right"))
    expected = [(len(sample) - through).tolist(), (through - below).tolist()]
    greater, equal, _ = _core.placed_counts(rising, sample, threads=threads)
    assert [greater.tolist(), equal.tolist()] == expected
    greater, equal = _core.merged_counts(rising[::-1].copy(), ascending, threads=threads)
    assert [greater[::-1].tolist(), equal[::-1].tolist()] == expected


@pytest.mark.parametrize("wrong", [np.zeros(6)[::2], np.zeros(3, ">f8"), np.zeros(3, np.float16), np.zeros((3, 1))])
def test_other_arrays_are_refused(wrong):
    for call in (
        lambda: _core.merged_counts(np.zeros(3), wrong),
        lambda: _core.merged_counts(np.zeros(3, np.float32), np.zeros(3)),
        lambda: _core.placed_counts(wrong, np.zeros(3)),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()
