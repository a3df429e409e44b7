from __future__ import annotations

import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphgauge.kernels import counting, threads
from graphgauge.kernels.counting import (
    RowCounts,
    joint_histogram,
    masked_counts,
    ragged_counts,
    row_counts,
    single_row_counts,
)
from graphgauge.kernels.dtypes import Scores

FLOATS = ["float16", "float32", "float64", ">f4", ">f8"]
INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ODD_FLOATS = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 6e-8, 1.0, np.nextafter(1.0, 2.0), 1.0 + 2.0**-23, np.nan]


def counted(pos: list[Any], rows: list[list[Any]]) -> list[tuple[int, int, int]]:
    """Python compares integers and floats of any size exactly."""
    return [
        (sum(x > p for x in row), sum(x == p for x in row), sum(x != x for x in row))
        for p, row in zip(pos, rows, strict=True)
    ]


def listed(counts: RowCounts) -> list[tuple[int, int, int]]:
    columns = (counts.greater, counts.equal, counts.missing)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def tied(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Scores:
    """Few distinct values, with every odd one that the dtype has."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        values = np.array([limits.min, limits.min + 1, 0, 1, 2, limits.max - 1, limits.max], kind)
    else:
        with np.errstate(over="ignore"):
            values = np.array(ODD_FLOATS).astype(kind)
    return rng.choice(values, shape).astype(kind)


@pytest.fixture(params=[1, 2])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Several blocks and parts even of small inputs, in one thread or two."""
    monkeypatch.setattr(threads, "BLOCK_WORK", 64)
    monkeypatch.setattr(counting, "_CACHED_WORK", 32)
    return int(request.param)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_every_dtype(dtype: str, small_blocks: int) -> None:
    rng = np.random.default_rng(0)
    pos, neg = tied(rng, (40,), dtype), tied(rng, (40, 9), dtype)
    expected = counted(pos.tolist(), neg.tolist())
    counts = row_counts(pos, neg, threads=small_blocks)
    assert listed(counts) == expected
    assert counts.pos_missing.tolist() == [p != p for p in pos.tolist()]
    assert counts.negatives.tolist() == [9] * 40
    assert [single_row_counts(p, row) for p, row in zip(pos, neg, strict=True)] == expected


@pytest.mark.parametrize(
    ("pos_dtype", "neg_dtype"),
    [
        ("float64", "float32"),
        ("float32", "float64"),
        ("float64", "float16"),
        ("float32", "float16"),
        ("int8", "float16"),
        ("int32", "float32"),
        ("float32", "int32"),
        ("uint32", "int32"),
        ("bool", "float64"),
        ("int64", "int8"),
    ],
)
def test_mixed_dtypes_compare_exactly(pos_dtype: str, neg_dtype: str, small_blocks: int) -> None:
    rng = np.random.default_rng(1)
    pos, neg = tied(rng, (60,), pos_dtype), tied(rng, (60, 7), neg_dtype)
    assert listed(row_counts(pos, neg, threads=small_blocks)) == counted(pos.tolist(), neg.tolist())


def test_a_float64_positive_between_two_float32_is_not_rounded() -> None:
    neg = np.array([[1.0, 1.0 + 2.0**-23]], np.float32)
    assert listed(row_counts(np.array([1.0 + 2.0**-40]), neg)) == [(1, 0, 0)]
    assert single_row_counts(1.0 + 2.0**-40, neg[0]) == (1, 0, 0)
    assert single_row_counts(1, neg[0]) == (1, 1, 0)


@pytest.mark.parametrize(("pos_dtype", "neg_dtype"), [("float64", "int64"), ("uint64", "int64"), ("uint64", "float32")])
def test_64_bit_integers_beside_other_numbers(pos_dtype: str, neg_dtype: str) -> None:
    fits, beyond = np.array([2**53 - 1]), np.array([2**53 + 1])
    pos, neg = fits.astype(pos_dtype), np.array([[2**53, 1, 2]]).astype(neg_dtype)
    assert listed(row_counts(pos, neg)) == [(1, 0, 0)]
    with pytest.raises(ValueError, match=r"beyond ±2\*\*53"):
        row_counts(
            *((beyond.astype(pos_dtype), neg) if pos_dtype == "uint64" else (pos, beyond[None].astype(neg_dtype)))
        )


def test_scores_that_are_no_real_numbers() -> None:
    with pytest.raises(TypeError, match="complex128"):
        row_counts(np.ones(1, complex), np.ones((1, 2)))
    with pytest.raises(TypeError, match="at most 64 bits"):
        row_counts(np.ones(1), np.ones((1, 2), np.longdouble))


@pytest.mark.parametrize(("rows", "width"), [(0, 0), (0, 5), (5, 0), (1, 1)])
def test_empty(rows: int, width: int) -> None:
    pos, neg = np.zeros(rows), np.zeros((rows, width))
    assert listed(row_counts(pos, neg)) == [(0, width, 0)] * rows
    assert listed(masked_counts(pos, neg, neg == 0)) == [(0, width, 0)] * rows
    assert listed(ragged_counts(pos, neg.ravel(), np.arange(rows + 1) * width)) == [(0, width, 0)] * rows
    cells = joint_histogram(pos, neg)
    assert cells is not None
    assert [part.tolist() for part in cells] == ([[0], [width], [rows]] if rows else [[], [], []])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_layouts(dtype: str, small_blocks: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    pos, neg = tied(rng, (30,), dtype), tied(rng, (30, 8), dtype)
    expected = counted(pos.tolist(), neg.tolist())
    np.save(tmp_path / "neg.npy", neg)
    wide = np.repeat(neg, 2, axis=1)
    frozen = neg.copy()
    frozen.flags.writeable = False
    layouts = [
        np.asfortranarray(neg),
        wide[:, ::2],
        neg[::-1][::-1],
        frozen,
        np.load(tmp_path / "neg.npy", mmap_mode="r"),
    ]
    for layout in layouts:
        assert listed(row_counts(np.repeat(pos, 3)[::3], layout, threads=small_blocks)) == expected
    assert single_row_counts(pos[0], wide[0, ::2]) == expected[0]
    assert neg.flags.writeable


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_masked(dtype: str, order: Any, small_blocks: int) -> None:
    rng = np.random.default_rng(3)
    pos, neg, valid = tied(rng, (30,), dtype), tied(rng, (30, 8), dtype), rng.random((30, 8)) < 0.6
    rows = [row[use].tolist() for row, use in zip(neg, valid, strict=True)]
    counts = masked_counts(pos, neg, np.asarray(valid, order=order), threads=small_blocks)
    assert listed(counts) == counted(pos.tolist(), rows)
    assert counts.negatives.tolist() == [len(row) for row in rows]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_ragged(dtype: str, small_blocks: int) -> None:
    rng = np.random.default_rng(4)
    lengths = np.append(rng.integers(0, 6, 50), [0, 100, 0])
    offsets = np.concatenate([[2], 2 + np.cumsum(lengths)])
    pos, values = tied(rng, (53,), dtype), tied(rng, (int(offsets[-1]) + 3,), dtype)
    rows = [values[start:stop].tolist() for start, stop in pairwise(offsets)]
    for layout in (values, np.repeat(values, 2)[::2]):
        counts = ragged_counts(pos, layout, offsets, threads=small_blocks)
        assert listed(counts) == counted(pos.tolist(), rows)
        assert counts.negatives.tolist() == lengths.tolist()


def test_shapes_that_do_not_fit() -> None:
    pos, neg = np.zeros(3), np.zeros((3, 2))
    with pytest.raises(ValueError, match="go with"):
        row_counts(pos, neg[:2])
    with pytest.raises(ValueError, match="go with"):
        joint_histogram(pos, neg.ravel())
    with pytest.raises(ValueError, match="mask"):
        masked_counts(pos, neg, np.ones((3, 3), bool))
    with pytest.raises(ValueError, match="mask"):
        masked_counts(pos, neg, np.ones((3, 2)))  # type: ignore[arg-type]
    for offsets in ([0, 1, 2], [0, 4, 2, 6], [-1, 2, 4, 6], [0, 2, 4, 7]):
        with pytest.raises(ValueError, match="offsets"):
            ragged_counts(pos, neg.ravel(), np.array(offsets))


@pytest.mark.parametrize("width", [3, 50])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_joint_histogram(width: int, dtype: str, small_blocks: int) -> None:
    rng = np.random.default_rng(5)
    pos = rng.integers(0, 5, 200).astype(dtype)
    neg = rng.integers(0, 5, (200, width)).astype(dtype)
    cells = joint_histogram(pos, neg, threads=small_blocks)
    assert cells is not None
    expected = Counter((greater, equal) for greater, equal, _ in counted(pos.tolist(), neg.tolist()))
    assert list(zip(*(part.tolist() for part in cells), strict=True)) == [
        (*pair, n) for pair, n in sorted(expected.items())
    ]


@pytest.mark.parametrize("width", [3, 50])
@pytest.mark.parametrize("where", ["pos", "neg"])
def test_joint_histogram_says_that_nan_is_there(width: int, where: str) -> None:
    pos, neg = np.zeros(200, np.float32), np.ones((200, width), np.float32)
    {"pos": pos, "neg": neg}[where][-1] = np.nan
    assert joint_histogram(pos, neg) is None


@pytest.mark.hypothesis
def test_any_floats() -> None:
    @given(st.data())
    @settings(max_examples=60)
    def check(data: st.DataObject) -> None:
        dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]))
        rows, width = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12))
        values = hnp.from_dtype(np.dtype(dtype)) | st.sampled_from([0.0, -0.0, 1.0])
        pos = data.draw(hnp.arrays(dtype, rows, elements=values))
        neg = data.draw(hnp.arrays(dtype, (rows, width), elements=values))
        assert listed(row_counts(pos, neg)) == counted(pos.tolist(), neg.tolist())

    check()


def test_eight_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BLOCK_WORK", 1000)
    rng = np.random.default_rng(6)
    pos, neg = rng.random(2000), rng.random((2000, 20))
    expected = row_counts(pos, neg, threads=1)
    with ThreadPoolExecutor(8) as callers:
        for counts in callers.map(lambda _: row_counts(pos, neg), range(16), timeout=20):
            np.testing.assert_array_equal(counts.greater, expected.greater)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_no_temporary_of_the_size_of_the_input(dtype: str) -> None:
    neg = np.random.default_rng(7).random((20_000, 400)).astype(dtype)[:, ::2]
    row_counts(neg[:, 0], neg)
    tracemalloc.start()
    row_counts(neg[:, 0], neg)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < neg.nbytes / 2
