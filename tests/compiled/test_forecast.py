"""Sums over forecasts, against exact sums of what each cell adds by the definitions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import erf, exp, isfinite, log, pi, sqrt

import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
HIDDEN = pytest.mark.parametrize("hidden", [False, True])
# Steps, horizons, nodes: none, one, odd, whole periods side by side, several tiles.
SHAPES = [(0, 1, 3), (5, 0, 3), (5, 2, 0), (1, 1, 1), (15, 2, 7), (70, 1, 1), (6, 3, 101), (2, 1, 1100)]
# The number of the first step, and the length of blocks by horizon and by node.
BLOCKS = [(0, 1, 1), (0, 5, 5), (0, 5, 100), (3, 4, 8), (10**15, 2, 6)]
WIDTHS = np.array([0.5, 2.0])
TERMS = 13
ALL = (1 << TERMS) - 1


@cache
def drawn(shape, dtype, hidden):
    """Truths, forecasts, standard deviations and a mask: ties, both zeros, and in masked cells what none could bear."""
    rng = np.random.default_rng(len(shape) + shape[-1])
    y = (rng.integers(-3, 4, shape) * rng.choice([0.0, -0.5, 1e-3, 1e4], shape)).astype(dtype)
    mean = np.where(rng.random(shape) < 0.2, y, y + rng.standard_normal(shape)).astype(dtype)
    std = (10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
    if not hidden:
        return y, mean, std, None
    mask = rng.random(shape) < 0.7
    y[~mask], mean[~mask], std[~mask] = np.nan, np.inf, -1.0
    for array in (y, mean, std, mask):
        array.flags.writeable = False
    return y, mean, std, mask


def of_cell(y, mean, std):
    e, z = mean - y, (mean - y) / std
    crps = std * (z * erf(z / sqrt(2)) + sqrt(2 / pi) * exp(-z * z / 2) - 1 / sqrt(pi))
    ape, sape = abs(e) / abs(y) if y else 0.0, 2 * abs(e) / (abs(y) + abs(mean)) if y or mean else 0.0
    sums = abs(e), e * e, e, y, Fraction(y) ** 2, abs(y), ape, sape, std, std * std, log(std) + z * z / 2, crps
    beyond = [max(abs(e) - width * std, 0.0) for width in WIDTHS]
    counts = [1, y != 0, 0, *(abs(e) <= width * std for width in WIDTHS)]
    return [*map(Fraction, sums), *map(Fraction, beyond)], counts


@cache
def by_hand(shape, dtype, hidden, blocks):
    """Sums and counts by (block, horizon) and (block, node), and the sums of absolute values."""
    y, mean, std, mask = drawn(shape, dtype, hidden)
    first, *lengths = blocks
    block, place = ([(first + step) // length - first // length for step in range(shape[0])] for length in lengths)
    sizes = (max(block, default=-1) + 1, shape[1]), (max(place, default=-1) + 1, shape[2])
    found = [[np.full((*size, 14), Fraction(0)), np.zeros((*size, 14)), np.zeros((*size, 5), int)] for size in sizes]
    for cell in np.ndindex(shape):
        if mask is None or mask[cell]:
            terms, counts = of_cell(*(float(array[cell]) for array in (y, mean, std)))
            for (sums, scale, tally), at in zip(
                found, ((block[cell[0]], cell[1]), (place[cell[0]], cell[2])), strict=True
            ):
                sums[at] += terms
                scale[at] += np.abs(np.array(terms, float))
                tally[at] += counts
    return found


@THREADS
@HIDDEN
@DTYPES
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_error_sums(shape, dtype, hidden, blocks, threads):
    found = _core.error_sums(*drawn(shape, dtype, hidden), ALL, WIDTHS, *blocks, threads=threads)
    for (high, low, counts), (sums, scale, tally) in zip(found, by_hand(shape, dtype, hidden, blocks), strict=True):
        np.testing.assert_array_equal(counts.swapaxes(1, 2), tally)
        sums = sums.copy()
        sums[..., 10] += tally[..., 0] * Fraction(log(2 * pi) / 2)
        for at in np.ndindex(sums.shape):
            exact, got = sums[at], Fraction(high[at[0], at[2], at[1]]) + Fraction(low[at[0], at[2], at[1]])
            # Scores are as good as their polynomials; quotients are rounded once more; the rest is exact.
            near = 1e-13 if at[2] in (10, 11) else 1e-15 if at[2] in (6, 7) else 1e-30
            assert abs(got - exact) <= near * (scale[at] + tally[(*at[:2], 0)] * (at[2] == 10)), at


@HIDDEN
@DTYPES
def test_any_number_of_threads_has_the_same_bits(dtype, hidden):
    """Several chunks of time and of nodes."""
    for shape in ((450, 12, 101), (3000, 2, 70), (6, 1, 70001)):
        rng = np.random.default_rng(1)
        y, mean, std = (rng.random(shape).astype(dtype) for _ in range(3))
        mask = rng.random(shape) < 0.5 if hidden else None
        for blocks in ((0, 50, 5000), (2, 1, 1)):
            one, *others = (
                [part.tobytes() for side in found for part in side]
                for found in (
                    _core.error_sums(y, mean, std, mask, ALL, WIDTHS, *blocks, threads=threads) for threads in (1, 2, 5)
                )
            )
            assert all(other == one for other in others)


@THREADS
def test_long_series_lose_nothing(threads):
    """Truths far from 0, in several chunks; the sum of squares is good enough for a variance."""
    y = 1e8 + np.random.default_rng(2).random((600_000, 1, 1))
    (high, low, _), _ = _core.error_sums(y, y - 0.25, None, None, 0, np.zeros(0), 0, y.size, y.size, threads=threads)
    total, squares = (Fraction(high[0, k, 0]) + Fraction(low[0, k, 0]) for k in (3, 4))
    assert float(squares / y.size - (total / y.size) ** 2) == pytest.approx(float(y.var()), rel=1e-9)
    assert high[0, :2, 0].tolist() == [y.size / 4, y.size / 16]


@DTYPES
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_no_number_shows(dtype, bad, which):
    cells = [array.copy() for array in drawn((15, 2, 7), dtype, False)[:3]]
    cells[which][7, 0, 3] = bad
    by_horizon, by_node = _core.error_sums(*cells, None, ALL, WIDTHS, 0, 5, 15)
    finite = np.isfinite(by_horizon[0])[:, [0, 1, 10, 11]].all(axis=1)
    assert finite.tolist() == [[True, True], [False, True], [True, True]]
    assert np.isfinite(by_node[0])[0, [0, 1, 10, 11]].all(axis=0).tolist() == [node != 3 for node in range(7)]


@pytest.mark.parametrize("std", [5e-324, 1e-310, 2.0**-1022, 1e-5, 1.0, 1e200, 1.7e308, 0.0, -1.0, np.nan, np.inf])
def test_any_standard_deviation(std):
    cell = np.zeros((1, 1, 1))
    (high, _, counts), _ = _core.error_sums(cell, cell, cell + std, None, 0b110000000000, np.zeros(0), 0, 1, 1)
    sound = isfinite(std) and std > 0
    assert counts[0, 2, 0] == (not sound)
    if sound:
        assert high[0, 6:, 0] == pytest.approx([log(std) + log(2 * pi) / 2, std * (sqrt(2) - 1) / sqrt(pi)], rel=3e-14)


@pytest.mark.parametrize(("rows", "count", "groups"), [(0, 3, 2), (2, 0, 0), (1, 0, 3), (1, 1, 1), (3, 1000, 7)])
def test_grouped_sums(rows, count, groups):
    rng = np.random.default_rng(6)
    values = rng.choice([1e16, -1e16, 1.0, -0.0, 1e-20, 0.1], (rows, count))
    group = rng.integers(0, max(groups, 1), count)
    high, low = _core.grouped_sums(values, group, groups)
    assert high.shape == low.shape == (rows, groups)
    for row, each in np.ndindex(high.shape):
        kept = values[row, group == each]
        exact = sum(map(Fraction, kept.tolist()))
        assert abs(Fraction(high[row, each]) + Fraction(low[row, each]) - exact) <= 1e-30 * np.abs(kept).sum()
        assert high[row, each] == high[row, each] + low[row, each]  # rounded once


def test_grouped_sums_show_what_is_no_number():
    values = np.array([[1.0, np.nan, 2.0, np.inf, 3.0], [1.0, -np.inf, 2.0, np.inf, 0.5]])
    high, _ = _core.grouped_sums(values, np.array([0, 1, 0, 2, 0]), 3)
    assert high[:, 0].tolist() == [6.0, 3.5]
    assert not np.isfinite(high[:, 1:]).any()


def test_refusals():
    y, none = np.zeros((6, 1, 4)), np.zeros(0)
    for arguments in (
        (y[..., ::2], y[..., ::2], None, None, 3, none),  # strides
        (y, y.astype("f4"), None, None, 3, none),
        (y, y.astype(">f8"), None, None, 3, none),
        (y.astype("f2"), y.astype("f2"), None, None, 3, none),
        (y[0], y[0], None, None, 3, none),
        (y, y, None, y, 3, none),  # a mask of floats
    ):
        with pytest.raises(TypeError):
            _core.error_sums(*arguments, 0, 1, 1)
    for arguments, message in (
        ((y, y[:1].copy(), None, None, 3, none, 0, 1, 1), "differ in shape"),
        ((y, y, None, np.ones((6, 1, 5), bool), 3, none, 0, 1, 1), "differ in shape"),
        ((y, y, None, None, 3, none, -1, 1, 1), "from 0 on"),
        ((y, y, None, None, 3, none, 2**62, 1, 1), "from 0 on"),
        ((y, y, None, None, 3, none, 0, 0, 0), "multiple of length"),
        ((y, y, None, None, 3, none, 0, 2, 3), "multiple of length"),
        ((y, y, None, None, 1 << 10, none, 0, 1, 1), "need a std"),
        ((y, y, None, None, 3, np.ones(1), 0, 1, 1), "need a std"),
        ((y, y, y, None, 1 << 13, none, 0, 1, 1), "no such sum"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.error_sums(*arguments)
    for group, message in ((np.array([0, 2]), "has 2 at index 1"), (np.array([-1, 0]), "at index 0")):
        with pytest.raises(ValueError, match=message):
            _core.grouped_sums(np.zeros((1, 2)), group, 2)
    with pytest.raises(ValueError, match="differ in length"):
        _core.grouped_sums(np.zeros((1, 3)), np.array([0, 1]), 2)
    for edges, length, message in ((np.ones(1), 0, "multiple of length"), (np.array([1.0, 0.0]), 1, "must rise")):
        with pytest.raises(ValueError, match=message):
            _core.positions(y, y, y, None, edges, 0, length)
    with pytest.raises(ValueError, match="must rise, from one on"):
        _core.positions(y, y, y, None, none, 0, 1)


# ---- positions and ensembles


@THREADS
@HIDDEN
@DTYPES
@pytest.mark.parametrize("shape", [(0, 2, 3), (1, 1, 1), (15, 2, 7), (9, 3, 301)])
@pytest.mark.parametrize("edges", [[0.0], [-1.0, -1.0, 0.5], np.linspace(-2, 2, 99), [-1e9, 0.0, 1e-9, 1e9]])
def test_positions(shape, dtype, hidden, edges, threads):
    y, mean, std, mask = drawn(shape, dtype, hidden)
    edges = np.array(edges)
    by_horizon, by_node = _core.positions(y, mean, std, mask, edges, 3, 4, threads=threads)
    expected = np.zeros((-(-(3 + shape[0]) // 4) if shape[0] else 0, shape[1], len(edges) + 1), int)
    of_nodes = np.zeros((shape[2], len(edges) + 1), int)
    for step, horizon, node in np.argwhere(np.ones(shape, bool) if mask is None else mask).tolist():
        z = (float(y[step, horizon, node]) - float(mean[step, horizon, node])) / float(std[step, horizon, node])
        place = sum(edge < z for edge in edges.tolist())
        expected[(3 + step) // 4, horizon, place] += 1
        of_nodes[node, place] += 1
    np.testing.assert_array_equal(by_horizon, expected)
    np.testing.assert_array_equal(by_node, of_nodes)


def test_positions_of_what_is_no_number():
    """NaN is above all edges, and so is +inf."""
    y = np.array([np.nan, np.inf, -np.inf, 0.0]).reshape(1, 1, 4)
    by_horizon, _ = _core.positions(y, np.zeros_like(y), np.ones_like(y), None, np.array([-1.0, 1.0]), 0, 1)
    assert by_horizon[0, 0].tolist() == [1, 1, 2]
