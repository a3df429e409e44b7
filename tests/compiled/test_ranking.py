"""Counts behind ranks, against comparisons of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64, np.uint64])
ODD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5]


def scores(shape, dtype, seed):
    """Few values, so that most tie; among them all odd ones of the type."""
    rng = np.random.default_rng(seed)
    if issubclass(dtype, np.floating):
        return rng.choice(np.array([*ODD, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype), shape)
    limits = np.iinfo(dtype)
    return rng.choice(np.array([limits.min, limits.max, 1, 2, limits.max - 1], dtype), shape)


def by_hand(pos, rows):
    with np.errstate(invalid="ignore"):
        return [
            [*(int(np.sum(test)) for test in (row > own, row == own, row != row, row == -np.inf)), len(row)]
            for own, row in zip(pos, rows, strict=True)
        ]


def as_rows(found):
    return np.transpose(found).tolist()


@THREADS
@DTYPES
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (7, 33), (40, 1), (5, 20_000)])
@pytest.mark.parametrize("masked", [False, True])
def test_dense_rows(shape, dtype, masked, threads):
    pos, neg = scores(shape[0], dtype, 0), scores(shape, dtype, 1)
    mask = np.random.default_rng(2).random(shape) < 0.6 if masked else None
    for array in (pos, neg):
        array.flags.writeable = False
    rows = neg if mask is None else [row[used] for row, used in zip(neg, mask, strict=True)]
    assert as_rows(_core.rank_counts(pos, neg, mask, threads=threads)) == by_hand(pos, rows)


@THREADS
@DTYPES
def test_rows_in_several_chunks(dtype, threads):
    pos, neg = scores(700, dtype, 0), scores((700, 800), dtype, 1)
    assert as_rows(_core.rank_counts(pos, neg, threads=threads)) == by_hand(pos, neg)


@THREADS
@DTYPES
@pytest.mark.parametrize("lengths", [[], [0], [1], [0, 5, 0, 33, 1], [20_000, 1, 300_000, 0]])
def test_ragged_rows(lengths, dtype, threads):
    offsets = np.cumsum([2, *lengths], dtype=np.int64)  # values before the first row are nobody's
    pos, values = scores(len(lengths), dtype, 0), scores(int(offsets[-1]) + 3, dtype, 1)
    rows = np.split(values, offsets)[1:-1]
    assert as_rows(_core.ragged_rank_counts(pos, values, offsets, threads=threads)) == by_hand(pos, rows)


def test_every_half_against_every_half_of_some():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    pos = np.concatenate([every[::509], np.array(ODD, np.float16)])
    found = _core.rank_counts(pos, np.broadcast_to(every, (len(pos), len(every))).copy())
    assert as_rows(found) == by_hand(pos, [every] * len(pos))


def test_mapped_scores(tmp_path):
    neg = scores((30, 17), np.float32, 1)
    np.save(tmp_path / "neg.npy", neg)
    mapped = np.load(tmp_path / "neg.npy", mmap_mode="r")
    assert as_rows(_core.rank_counts(neg[:, 0].copy(), mapped)) == by_hand(neg[:, 0], neg)


@pytest.mark.parametrize(
    "neg",
    [
        np.zeros((4, 6))[:, ::2],
        np.zeros((3, 4)).T,
        np.zeros((4, 3), ">f8"),
        np.zeros((4, 3), np.float32),
        np.zeros((4, 3), np.int16),
        np.zeros((4, 3), bool),
        np.zeros(4),
    ],
)
def test_other_arrays_are_refused(neg):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.rank_counts(np.zeros(4), neg)


def test_what_does_not_fit_is_refused():
    pos, neg = np.zeros(4), np.zeros((4, 3))
    with pytest.raises(ValueError, match="pos and neg differ in length"):
        _core.rank_counts(pos[:3], neg)
    with pytest.raises(ValueError, match="mask and neg differ in shape"):
        _core.rank_counts(pos, neg, np.ones((4, 2), bool))
    for offsets, message in (
        ([], "offsets is empty"),
        ([0, 1], "n rows need n \\+ 1 offsets"),
        ([-1, 0, 1, 2, 3], "offsets must lie between 0 and 3"),
        ([0, 1, 2, 3, 4], "offsets must lie between 0 and 3"),
        ([0, 2, 1, 2, 3], "offsets falls at index 2"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.ragged_rank_counts(pos, np.zeros(3), np.array(offsets, np.int64))
