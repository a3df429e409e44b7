"""Two graphs as bits, and the agreement of the four cells of every node pair.

One streaming pass turns a block of rows into two bit matrices, truth and prediction; everything that depends on the
threshold is counted on those. A *state* describes a pair (i, j): bit 0 is the true cell (i, j), bit 1 the
predicted one, bits 2 and 3 the same for (j, i). Pairs have no order, so a state and its mirror image are one class,
counted under the smaller number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Ints

Scores = NDArray[Any]
Words = NDArray[np.uint64]
Table = NDArray[np.int64]

STATES = 16
# Types that the core reads directly.
_DIRECT = tuple(np.dtype(name) for name in ("bool", "int8", "uint8", "int32", "int64", "float32", "float64"))
# The kinds of cells that the core looks for.
_NAN, _NEGATIVE, _WEIGHTED = 2, 4, 8
# Cells that are in memory as bytes at a time.
_CACHED_CELLS = 1 << 20


class Bits(NamedTuple):
    """Rows of truth and prediction, one bit per cell, and flags of what was found."""

    truth: Words
    prediction: Words
    missing_truth: bool
    missing_scores: bool
    negative_scores: bool
    weighted_truth: bool


def edge_bits(
    truth: Scores, scores: Scores, threshold: float, *, absolute: bool, loopless: int, threads: int | None = None
) -> Bits:
    """Where `truth` is not 0 and where `scores` exceed `threshold`, for stacks (graphs, d, d) of the same shape.

    A cell with a NaN score is in neither. In the first `loopless` graphs diagonal cells raise no flag.
    """
    d = truth.shape[1]
    count = threads_for(truth.size, threads)
    true_rows, score_rows = _rows(truth), _rows(scores)
    if scores.dtype.kind == "f":
        threshold = float(scores.dtype.type(threshold))  # as NumPy compares
    low = -threshold if absolute else -np.inf
    score_words, anywhere, found = _core.cell_bits(score_rows, loopless * d, low, threshold, False, count)
    true_words, _, true_found = _core.cell_bits(true_rows, loopless * d, 0.0, 0.0, True, count)
    missing_truth = bool(true_found & _NAN)
    if anywhere & _NAN:
        kept = np.where(np.isnan(score_rows), np.zeros(1, true_rows.dtype), true_rows)
        true_words, _, true_found = _core.cell_bits(kept, loopless * d, 0.0, 0.0, True, count)
    flags = bool(found & _NAN), bool(found & _NEGATIVE), bool(true_found & _WEIGHTED)
    return Bits(true_words, score_words, missing_truth, *flags)


def pair_table(truth: Words, prediction: Words, d: int, *, threads: int | None = None) -> tuple[Table, Table]:
    """For each graph of d nodes: how many pairs are in each state, and how many loops are (true + 2·predicted)."""
    if not d:
        table = np.zeros((0, STATES + 4), np.int64)
    else:
        table = _core.pair_states(truth, prediction, d, threads_for(truth.size * 64, threads))
    pairs = canonical(table[:, :STATES])
    pairs[:, 0] = d * (d - 1) // 2 - pairs[:, 1:].sum(1)
    return pairs, table[:, STATES:]


def cells_of(words: Words, d: int) -> Ints:
    """The set bits as flat cell numbers row·d + column, in order."""
    held = np.flatnonzero(words)
    row, word = np.divmod(held, max(1, words.shape[1]))
    first, flat = row * d + 64 * word, words.ravel()
    found = []
    for start in range(0, len(held), _CACHED_CELLS >> 6):
        part = slice(start, start + (_CACHED_CELLS >> 6))
        index, bit = np.nonzero(_unpacked(flat[held[part], np.newaxis], 64))
        found.append(first[part][index] + bit)
    return np.concatenate(found) if found else np.empty(0, np.int64)


def sparse_pair_table(truth: Ints, prediction: Ints, d: int) -> Table:
    """As `pair_table` for one graph whose edges are distinct flat cell numbers without loops."""
    keys = np.concatenate([_pair_keys(truth, d), _pair_keys(prediction, d) + 1])
    keys.sort()
    starts = np.flatnonzero(np.diff(keys >> 2, prepend=-1))
    found = np.add.reduceat(1 << (keys & 3), starts) if keys.size else keys
    table = np.bincount(found, minlength=STATES)[np.newaxis].astype(np.int64)
    table[0, 0] = d * (d - 1) // 2 - len(starts)
    return canonical(table)


def canonical(table: Table) -> Table:
    """The same counts with every state under the smaller number of itself and its mirror image."""
    folded = np.zeros_like(table)
    for state in range(table.shape[1]):
        folded[:, min(state, mirrored(state))] += table[:, state]
    return folded


def mirrored(state: int) -> int:
    """The state of (j, i) where `state` is that of (i, j)."""
    return state >> 2 | (state & 3) << 2


def _pair_keys(cells: Ints, d: int) -> Ints:
    """4·pair, plus 2 where the cell points from the higher to the lower node."""
    source, target = np.divmod(cells, d)
    keys: Ints = (np.minimum(source, target) * d + np.maximum(source, target)) * 4 + 2 * (source > target)
    return keys


def _rows(stack: Scores) -> Scores:
    """All rows of a stack as one matrix of a type that the core reads, without a copy if possible."""
    rows = stack.reshape(stack.shape[0] * stack.shape[1], stack.shape[2])
    if rows.dtype in _DIRECT:
        return np.require(rows, None, ("C", "A"))
    if rows.dtype.kind == "f":
        return np.require(rows, np.float32 if rows.dtype.itemsize <= 4 else np.float64, ("C", "A"))
    return np.require(rows, np.int64 if np.can_cast(rows.dtype, np.int64) else np.float64, ("C", "A"))


def _unpacked(words: Words, d: int) -> NDArray[np.uint8]:
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(little, axis=1, count=d, bitorder="little")
