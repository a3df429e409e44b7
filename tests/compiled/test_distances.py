"""Distances between points and between packed bits, against Python's exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from graphgauge import _core
from graphgauge.generation.distances import packed

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
SIZES = pytest.mark.parametrize(
    ("n", "m", "depth"), [(0, 3, 2), (3, 0, 2), (1, 1, 1), (5, 9, 0), (37, 70, 5), (40, 270, 3)]
)


def points(rows, depth, seed, *, tied=False):
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, (rows, depth)).astype(float) if tied else rng.normal(size=(rows, depth))
    values.flags.writeable = False
    return values


def squared(rows, others):
    """Rounded once, from exact sums."""
    return np.array(
        [
            [float(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(row, other, strict=True))) for other in others]
            for row in rows.tolist()
        ]
        if len(others)
        else [],
        float,
    ).reshape(len(rows), len(others))


@THREADS
@SIZES
@pytest.mark.parametrize("tied", [False, True])
def test_squared_distances(n, m, depth, tied, threads):
    rows, others = points(n, depth, 0, tied=tied), points(m, depth, 1, tied=tied)
    expected = squared(rows, others.tolist())
    found = _core.squared_distances(rows, others, threads=threads)
    np.testing.assert_allclose(found, expected, rtol=0 if tied else 1e-14, atol=0)
    turned = _core.squared_distances(others, rows, threads=threads)
    np.testing.assert_array_equal(turned.T, found)


@pytest.mark.parametrize("depth", [1, 4, 7, 32])
def test_equal_distances_are_equal_bits(depth):
    """Wherever a pair is: in a tile or at its end, first or second."""
    rows = points(30, depth, 0)
    places = np.random.default_rng(1).integers(0, 30, 700)
    whole = _core.squared_distances(rows, rows)
    np.testing.assert_array_equal(
        _core.squared_distances(rows[places], rows[places[::-1]]), whole[places][:, places[::-1]]
    )


def test_nothing_cancels_far_from_the_origin():
    steps = np.random.default_rng(2).integers(0, 4, (50, 3)).astype(float)
    far = steps * 2.0**-20 + 2.0**27
    np.testing.assert_array_equal(_core.squared_distances(far, far) * 2.0**40, _core.squared_distances(steps, steps))


@THREADS
@SIZES
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("ordered", [False, True])
def test_group_distances(n, m, depth, groups, ordered, threads):
    rows, others = points(n, depth, 0), points(m, depth, 1)
    codes = np.random.default_rng(2).integers(0, groups, m)
    codes = np.sort(codes) if ordered else codes
    distances = np.sqrt(_core.squared_distances(rows, others))
    expected = [[math.fsum(row[codes == code]) for code in range(groups)] for row in distances]
    found = _core.group_distances(rows, others, codes, groups, threads=threads)
    assert found.shape == (n, groups)
    np.testing.assert_array_equal(found, np.reshape(expected, found.shape))


def test_sums_are_compensated():
    others = np.repeat([[1.0], [2.0**54]], [3000, 1], axis=0)
    assert _core.group_distances(np.zeros((1, 1)), others, np.zeros(3001, np.int64), 1) == 2.0**54 + 3000


@THREADS
@pytest.mark.parametrize("n", [1, 2, 40, 300])
@pytest.mark.parametrize("tied", [False, True])
def test_kth_of_points(n, tied, threads):
    rows = points(n, 3, 0, tied=tied)
    distances = np.sort(_core.squared_distances(rows, rows), axis=1)
    for k in {0, n // 3, n - 1}:
        np.testing.assert_array_equal(_core.kth_distances(rows, k, threads=threads), distances[:, k])


@THREADS
@SIZES
@pytest.mark.parametrize("tied", [False, True])
def test_balls_of_points(n, m, depth, tied, threads):
    rows, others = points(n, depth, 0, tied=tied), points(m, depth, 1, tied=tied)
    distances = _core.squared_distances(rows, others)
    # Radii that are distances themselves: balls are closed.
    radii = distances[:, 0].copy() if m else np.zeros(n)
    other_radii = distances[0].copy() if n else np.zeros(m)
    inside, reached, held = _core.ball_counts(rows, radii, others, other_radii, threads=threads)
    assert inside.tolist() == (distances <= radii[:, None]).sum(axis=1).tolist()
    assert reached.tolist() == (distances <= other_radii).sum(axis=1).tolist()
    assert held.tolist() == (distances <= radii[:, None]).sum(axis=0).tolist()


@THREADS
@pytest.mark.parametrize(("n", "m", "width"), [(0, 3, 9), (3, 0, 9), (2, 5, 0), (70, 300, 33), (33, 40, 130)])
def test_bits(n, m, width, threads):
    rng = np.random.default_rng(0)
    bits, others = rng.random((n, width)) < 0.3, rng.random((m, width)) < 0.3
    words, other_words = packed(bits), packed(others)
    within = (bits[:, None] != bits).sum(axis=2)
    for k in {0, n // 2, n - 1} if n else ():
        expected = np.sort(within, axis=1)[:, k]
        assert _core.kth_distances(words, k, threads=threads).tolist() == expected.tolist()
    across = (bits[:, None] != others).sum(axis=2)
    radii, other_radii = rng.integers(0, width + 1, n).astype(np.int32), rng.integers(0, width + 1, m).astype(np.int32)
    inside, reached, held = _core.ball_counts(words, radii, other_words, other_radii, threads=threads)
    assert inside.tolist() == (across <= radii[:, None]).sum(axis=1).tolist()
    assert reached.tolist() == (across <= other_radii).sum(axis=1).tolist()
    assert held.tolist() == (across <= radii[:, None]).sum(axis=0).tolist()


def test_no_numbers():
    """A distance that is NaN is none: it is not near, and in no ball."""
    rows = np.array([[0.0], [1.0], [np.nan], [np.inf], [-0.0]])
    squares = _core.squared_distances(rows, rows)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(squares, (rows - rows.T) ** 2)
    assert _core.kth_distances(rows, 1).tolist() == [0, 1, np.inf, np.inf, 0]
    radii = np.full(5, np.inf)
    inside, reached, held = _core.ball_counts(rows, radii, rows, radii)
    assert inside.tolist() == reached.tolist() == held.tolist() == [4, 4, 0, 3, 4]


BAD = [
    np.zeros((4, 4))[:, ::2],
    np.asfortranarray(np.zeros((4, 2))),
    np.zeros((4, 2), ">f8"),
    np.zeros((4, 2), np.float32),
    np.zeros(4),
]


@pytest.mark.parametrize("rows", BAD)
def test_other_arrays_are_refused(rows):
    for call in (
        lambda: _core.squared_distances(rows, rows),
        lambda: _core.group_distances(rows, rows, np.zeros(4, np.int64), 1),
        lambda: _core.kth_distances(rows, 1),
        lambda: _core.ball_counts(rows, np.zeros(4), rows, np.zeros(4)),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def test_what_does_not_fit_is_refused():
    rows, wide = np.zeros((3, 2)), np.zeros((4, 3))
    codes = np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="differ in their number of columns"):
        _core.squared_distances(rows, wide)
    with pytest.raises(ValueError, match="codes and others differ in length"):
        _core.group_distances(rows, rows, codes[:2], 1)
    for code, groups in ((-1, 2), (2, 2), (0, 0), (0, -1)):
        with pytest.raises(
            ValueError, match=f"codes has {code} at index 1, outside of 0 to {groups - 1}|codes has 0|negative"
        ):
            _core.group_distances(rows, rows, np.array([0, code, 0]), groups)
    for k in (-1, 3):
        with pytest.raises(ValueError, match="k must be from 0 to the number of rows less one"):
            _core.kth_distances(rows, k)
    with pytest.raises(ValueError, match="rows and radii differ in length"):
        _core.ball_counts(rows, np.zeros(2), rows, np.zeros(3))
    with pytest.raises(ValueError, match="others and other_radii differ in length"):
        _core.ball_counts(rows, np.zeros(3), rows, np.zeros(2))
