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

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import kernel
from graphgauge.kernels.threads import map_blocks, row_blocks

Scores = NDArray[Any]
Words = NDArray[np.uint64]
Table = NDArray[np.int64]

STATES = 16
_WORD = np.uint64
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Types that the compiled pass reads directly; its twin reads all others, block by block.
_COMPILED = tuple(np.dtype(name) for name in ("bool", "int8", "uint8", "int32", "int64", "float32", "float64"))
# Cells that a twin has in memory as bytes at a time.
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
    graphs, d, _ = truth.shape
    shape = (graphs * d, -(-d // 64))
    true_words, score_words = np.empty(shape, np.uint64), np.empty(shape, np.uint64)
    true_rows, score_rows = _rows(truth), _rows(scores)
    compiled = all(rows.dtype in _COMPILED and rows.flags.c_contiguous for rows in (true_rows, score_rows))
    chosen = _pack.implementation(truth.size) if compiled else _pack.twin

    def pack(block: slice) -> Words:
        flags = np.zeros(4, np.uint64)
        parts = (true_rows[block], score_rows[block], true_words[block], score_words[block])
        chosen(*parts, block.start, loopless * d, threshold, absolute, flags)
        return flags

    flags = map_blocks(pack, row_blocks(graphs * d, truth.size), threads=threads)
    found = np.bitwise_or.reduce(flags) != 0
    return Bits(true_words, score_words, *(bool(flag) for flag in found))


def pair_table(truth: Words, prediction: Words, d: int, *, threads: int | None = None) -> tuple[Table, Table]:
    """For each graph of d nodes: how many pairs are in each state, and how many loops are (true + 2·predicted)."""
    graphs, strips = len(truth) // max(d, 1), truth.shape[1]
    count = _count_pairs.implementation(truth.size * 64)

    def count_block(block: slice) -> Table:
        table = np.zeros((graphs, STATES + 4), np.int64)
        count(truth, prediction, d, block.start, block.stop, table)
        return table

    blocks = row_blocks(graphs * strips, truth.size * 64)
    table = np.sum(map_blocks(count_block, blocks, threads=threads), axis=0)
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
    """All rows of a stack as one matrix, as a read-only view if possible."""
    rows = stack.reshape(stack.shape[0] * stack.shape[1], stack.shape[2])
    rows.flags.writeable = False  # one mutability, one compilation
    return rows


def _unpacked(words: Words, d: int) -> NDArray[np.uint8]:
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(little, axis=1, count=d, bitorder="little")


def _packed(mask: NDArray[np.bool_], words: Words) -> None:
    padded = np.zeros((len(mask), words.shape[1] * 8), np.uint8)
    padded[:, : -(-mask.shape[1] // 8)] = np.packbits(mask, axis=1, bitorder="little")
    words[:] = padded.view("<u8")


def _pack_twin(
    truth: Scores,
    scores: Scores,
    true_words: Words,
    score_words: Words,
    first: int,
    loopless: int,
    threshold: float,
    absolute: bool,
    flags: Words,
) -> None:
    d = truth.shape[1]
    step = max(1, _CACHED_CELLS // max(d, 1))
    for start in range(0, len(truth), step):
        block = slice(start, start + step)
        true_part, part = truth[block], scores[block]
        missing = part != part
        edge = (true_part != 0) & ~missing
        _packed(edge, true_words[block])
        above = part > threshold
        if absolute:
            above |= part < -threshold
        _packed(above, score_words[block])
        met = [true_part != true_part, missing, part < 0, edge & (true_part != 1)]
        rows = np.arange(min(len(part), max(0, loopless - first - start)))
        for flag, mask in enumerate(met):
            mask[rows, (first + start + rows) % d] = False
            flags[flag] |= _WORD(mask.any())


@kernel(twin=_pack_twin)
def _pack(
    truth: Scores,
    scores: Scores,
    true_words: Words,
    score_words: Words,
    first: int,
    loopless: int,
    threshold: float,
    absolute: bool,
    flags: Words,
) -> None:
    d = truth.shape[1]
    nothing = _WORD(0)
    for row in range(truth.shape[0]):
        own = (first + row) % d
        for word in range(true_words.shape[1]):
            true_part, part = truth[row, 64 * word : 64 * word + 64], scores[row, 64 * word : 64 * word + 64]
            edges, ones, above, below, missing, unknown = nothing, nothing, nothing, nothing, nothing, nothing
            # Every comparison is a bit vector combined by or: no branch, no store.
            for index in range(part.size):
                bit = _WORD(1) << _WORD(index)
                true_cell, score = true_part[index], part[index]
                edges |= bit if true_cell != 0 else nothing
                ones |= bit if true_cell == 1 else nothing
                unknown |= bit if true_cell != true_cell else nothing
                above |= bit if score > threshold or (absolute and score < -threshold) else nothing
                below |= bit if score < 0 else nothing
                missing |= bit if score != score else nothing
            edges &= ~missing
            true_words[row, word] = edges
            score_words[row, word] = above
            counted = _FULL
            if first + row < loopless and word == own >> 6:
                counted = ~(_WORD(1) << _WORD(own & 63))
            flags[0] |= unknown & counted
            flags[1] |= missing & counted
            flags[2] |= below & counted
            flags[3] |= edges & ~ones & counted


def _count_pairs_twin(truth: Words, prediction: Words, d: int, first: int, last: int, table: Table) -> None:
    strips = truth.shape[1]
    for strip in range(first, last):
        graph, upper = divmod(strip, strips)
        nodes = np.arange(64 * upper, min(64 * upper + 64, d))
        rows, own = slice(graph * d, (graph + 1) * d), graph * d + nodes
        across = _unpacked(truth[own], d) | _unpacked(prediction[own], d) << 1
        column = slice(upper, upper + 1)
        down = _unpacked(truth[rows, column], len(nodes)) | _unpacked(prediction[rows, column], len(nodes)) << 1
        states = (across | down.T << 2)[np.arange(d) > nodes[:, np.newaxis]]
        table[graph, :STATES] += np.bincount(states, minlength=STATES)
        table[graph, STATES:] += np.bincount(across[nodes - 64 * upper, nodes], minlength=4)


@kernel(twin=_count_pairs_twin)
def _count_pairs(truth: Words, prediction: Words, d: int, first: int, last: int, table: Table) -> None:
    """Count the pairs whose first node is in strips of 64 nodes, tile by tile of 64 × 64; state 0 is left out."""
    tile = np.zeros((4, 64), np.uint64)
    strips = truth.shape[1]
    for strip in range(first, last):
        graph, upper = strip // strips, strip % strips
        top = graph * d + 64 * upper
        rows = min(64, d - 64 * upper)
        for right in range(upper, strips):
            left = graph * d + 64 * right
            columns = min(64, d - 64 * right)
            tile[:] = 0
            tile[0, :rows] = truth[top : top + rows, right]
            tile[1, :rows] = prediction[top : top + rows, right]
            tile[2, :columns] = truth[left : left + columns, upper]
            tile[3, :columns] = prediction[left : left + columns, upper]
            # Transpose the lower tile: halves, quarters, … are swapped (Hacker's Delight, 7-3).
            for matrix in range(2, 4):
                width, mask = 32, _WORD(0x00000000FFFFFFFF)
                while width:
                    row = 0
                    while row < 64:
                        moved = ((tile[matrix, row] >> _WORD(width)) ^ tile[matrix, row | width]) & mask
                        tile[matrix, row] ^= moved << _WORD(width)
                        tile[matrix, row | width] ^= moved
                        row = ((row | width) + 1) & ~width
                    width >>= 1
                    mask ^= mask << _WORD(width)
            for row in range(rows):
                pairs = _FULL
                if upper == right:
                    own = _WORD(row)
                    pairs = ~((_WORD(2) << own) - _WORD(1))
                    loop = (tile[0, row] >> own & _WORD(1)) + _WORD(2) * (tile[1, row] >> own & _WORD(1))
                    table[graph, 16 + np.int64(loop)] += 1
                true, found, true_back, found_back = tile[0, row], tile[1, row], tile[2, row], tile[3, row]
                for true_state in (0, 1, 4, 5):
                    alike = pairs & (true if true_state & 1 else ~true)
                    alike &= true_back if true_state & 4 else ~true_back
                    if alike == 0:  # most tiles of most graphs have few true edges
                        continue
                    for state in (true_state, true_state | 2, true_state | 8, true_state | 10):
                        members = alike & (found if state & 2 else ~found)
                        members &= found_back if state & 8 else ~found_back
                        if state == 0 or members == 0:
                            continue
                        # The bits of a word, counted in parallel.
                        members -= members >> _WORD(1) & _WORD(0x5555555555555555)
                        members = (members & _WORD(0x3333333333333333)) + (
                            members >> _WORD(2) & _WORD(0x3333333333333333)
                        )
                        members = members + (members >> _WORD(4)) & _WORD(0x0F0F0F0F0F0F0F0F)
                        table[graph, state] += np.int64(members * _WORD(0x0101010101010101) >> _WORD(56))
