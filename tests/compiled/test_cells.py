"""Matrices as bits and the states of node pairs, against loops over cells."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64])
NAN, NEGATIVE, WEIGHTED = 2, 4, 8


def unpacked(words, d):
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=d, bitorder="little").astype(bool)


@THREADS
@DTYPES
@pytest.mark.parametrize("d", [0, 1, 5, 64, 65, 130, 700])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-np.inf, 0.5), (-0.5, 0.5), (-np.inf, -1.0)])
def test_edges_as_bits(dtype, d, low, high, threads):
    rng = np.random.default_rng(d)
    odd = [np.nan, np.inf, -np.inf, -0.0, 0.5] if np.issubdtype(dtype, np.floating) else []
    values = rng.choice(np.array([0, 1, 2, -1, *odd]) if dtype not in (bool, np.uint8) else [0, 1], (d, d)).astype(
        dtype
    )
    values.flags.writeable = False
    words, kinds = _core.cell_bits(values, 0, low, high, threads=threads)
    np.testing.assert_array_equal(unpacked(words, d), (values > high) | (values < low))
    assert bool(kinds & NAN) == np.isnan(values).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("flag", "special"), [(NAN, np.nan), (NEGATIVE, -1), (WEIGHTED, 2)])
def test_kinds_of_cells_are_told_outside_of_the_diagonal_of_loopless_rows(dtype, flag, special):
    for row, column in ((3, 3), (3, 64), (70 + 4, 4), (70 + 4, 5)):
        values = np.zeros((140, 70), dtype)  # two graphs, of which only the first is without loops
        values[row, column] = special
        words, kinds = _core.cell_bits(values, 70, 0.0, 0.0)
        assert bool(kinds & flag) == ((row, column) != (3, 3))
        assert unpacked(words, 70)[row, column] == (flag != NAN)


@THREADS
@pytest.mark.parametrize("d", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("graphs", [0, 1, 3])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
def test_states_of_pairs(d, graphs, density, threads):
    rng = np.random.default_rng(d)
    truth, prediction = rng.random((2, graphs * d, d)) < density
    sides = [_core.cell_bits(side, 0, 0.0, 0.0)[0] for side in (truth, prediction)]
    found = _core.pair_states(*sides, d, threads=threads)
    codes = (truth + 2 * prediction).reshape(graphs, d, d)
    for counts, code in zip(found, codes, strict=True):
        states = (code + 4 * code.T)[np.triu_indices(d, 1)]
        assert counts[1:16].tolist() == np.bincount(states, minlength=16)[1:].tolist()


def test_other_shapes_are_refused():
    words = np.zeros((6, 1), np.uint64)
    for truth, prediction, d in ((words, words, 4), (words, words, 0), (words, words, -3), (words, words, 65)):
        with pytest.raises(ValueError, match="d rows of d bits"):
            _core.pair_states(truth, prediction, d)
    with pytest.raises(ValueError, match="differ in shape"):
        _core.pair_states(words, np.zeros((3, 1), np.uint64), 3)
    for wrong in (np.zeros((3, 3), np.float16), np.zeros((3, 6))[:, ::2], np.zeros((3, 3), ">f8"), np.zeros(3)):
        with pytest.raises(TypeError):
            _core.cell_bits(wrong, 0, 0.0, 0.0)
