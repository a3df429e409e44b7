"""Triton kernels: one pass over scores on a CUDA device. Imported only where Triton is installed."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import torch
import triton
import triton.language as tl

# Rows shorter than this are read at once, and three counts of this size fit into one integer.
_PACKED = 1 << 10
# Scores that a program reads at once: of several short rows, or of one long row.
_TILE, _RAGGED, _STRETCH, _BAND, _READ, _SPREAD = 2048, 512, 1024, 4096, 8192, 1024
# Candidates that a program looks up at once, and the fewest programs that keep a device busy.
_SEARCHED, _PROGRAMS = 1024, 2048
_COMPARED_AS = {"float16": "float32", "bfloat16": "float32", "bool": "int8"}


@triton.jit
def _tied_or_missing(score, reference, read, both):  # type: ignore[no-untyped-def]  # Triton evaluates annotations
    """Of scores that are not below their reference, how many are equal to it and, in the upper half, how many are NaN.

    `both` are those above and, in the upper half, those not below: where they are the same, nothing has to be compared.
    """
    found = tl.zeros_like(both)
    if tl.max((both >> 16) - (both & 65535), 0) > 0:
        tied = tl.where(read & (score == reference), 1, 0)
        found = tl.sum(tied + tl.where(read & (score != score), 1 << 16, 0), 1)
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _count_rows(  # type: ignore[no-untyped-def]
    pos,
    neg,
    valid,
    offsets,
    greater,
    equal,
    missing,
    used,
    rows,
    columns,
    pos_stride,
    row_stride,
    column_stride,
    valid_row,
    valid_column,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PACKED: tl.constexpr,
    COMPARED: tl.constexpr,
    FLOATS: tl.constexpr,
    MASKED: tl.constexpr,
    RAGGED: tl.constexpr,
    ALIGNED: tl.constexpr,
    OFFSETS: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    present = row < rows - first
    reference = tl.load(pos + (first + row) * pos_stride, mask=present, other=0).to(COMPARED)[:, None]
    lane = tl.arange(0, COLUMNS)
    # The compiler sees of what both are multiples, and reads so many scores at once.
    columns, row_stride = columns * ALIGNED, row_stride * ALIGNED
    cells = neg + first * row_stride + row.to(OFFSETS)[:, None] * row_stride
    marks = valid + first * valid_row + row.to(OFFSETS)[:, None] * valid_row
    if RAGGED:
        start = tl.load(offsets + first + row, mask=present, other=0)
        length = (tl.load(offsets + first + row + 1, mask=present, other=0) - start)[:, None]
        cells = neg + start[:, None] * column_stride
        columns = tl.max(tl.max(length, 1), 0)
    above, beside, absent, own = greater + first + row, equal + first + row, missing + first + row, used + first + row
    if PACKED:
        read = present[:, None] & (lane < columns)[None, :]
        if MASKED:
            read = read & (tl.load(marks + lane.to(OFFSETS)[None, :] * valid_column, mask=read, other=0) != 0)
            tl.store(own, tl.sum(read.to(tl.int32), 1), mask=present)
        cell = cells + lane.to(OFFSETS)[None, :] * column_stride
        if FLOATS:
            score = tl.load(cell, mask=read, other=float("-inf")).to(COMPARED)
            # What is not below may be missing: nothing else is compared unless there is something else.
            both = tl.sum(tl.where(score > reference, 1, 0) + tl.where(score < reference, 0, 1 << 16), 1)
            found = _tied_or_missing(score, reference, read, both)
            tl.store(above, both & 65535, mask=present)
            tl.store(beside, found & 65535, mask=present)
            tl.store(absent, found >> 16, mask=present)
        else:
            score = tl.load(cell, mask=read, other=0).to(COMPARED)
            found = tl.where(score > reference, 1, 0) + tl.where(score == reference, 1 << 16, 0)
            both = tl.sum(tl.where(read, found, 0), 1)
            tl.store(above, both & 65535, mask=present)
            tl.store(beside, both >> 16, mask=present)
            tl.store(absent, tl.zeros_like(both), mask=present)
    else:
        nothing = tl.zeros([ROWS, COLUMNS], tl.int32)
        over, tied, nan, there = nothing, nothing, nothing, nothing
        for left in range(0, columns, COLUMNS):
            column = (left + lane).to(tl.int64)[None, :]
            read = present[:, None] & (column < (length if RAGGED else columns))
            if MASKED:
                read = read & (tl.load(marks + column * valid_column, mask=read, other=0) != 0)
                there += read.to(tl.int32)
            score = tl.load(cells + column * column_stride, mask=read, other=0).to(COMPARED)
            over += (read & (score > reference)).to(tl.int32)
            tied += (read & (score == reference)).to(tl.int32)
            nan += (score != score).to(tl.int32)
        tl.store(above, tl.sum(over, 1), mask=present)
        tl.store(beside, tl.sum(tied, 1), mask=present)
        tl.store(absent, tl.sum(nan, 1), mask=present)
        if MASKED:
            tl.store(own, tl.sum(there, 1), mask=present)


def count_rows(
    pos: Any, neg: Any, counts: Sequence[Any], *, wide: bool, valid: Any = None, offsets: Any = None
) -> None:
    """Write for each row how many negatives are above, tied with its positive and NaN, and with `valid` how many count.

    Rows are those of a matrix, of which only what is `valid` counts, or the stretches of flat scores between `offsets`.
    `wide` compares in float64.
    """
    rows, ragged = len(pos), offsets is not None
    columns = triton.cdiv(len(neg), max(1, rows)) if ragged else neg.shape[1]
    strides = (0, neg.stride(0)) if ragged else neg.stride()
    packed = columns < _PACKED and not ragged
    width = max(16, triton.next_power_of_2(columns)) if columns < _PACKED else _STRETCH
    name = "float64" if wide else str(neg.dtype).removeprefix("torch.")
    # Numbers of 64 bits take two registers, and so do several counts for each place in a row.
    tile = _RAGGED if ragged else _TILE // 2 if wide or neg.element_size() > 4 else _TILE
    together = max(1, tile // width) if columns < _PACKED else 1
    marks = (0, 0) if valid is None else valid.stride()
    reach = max(together * abs(row) + width * abs(column) for row, column in (strides, marks))
    aligned = gcd(16 // neg.element_size(), columns, strides[0]) if strides[1] == 1 and not ragged else 1
    _count_rows[(triton.cdiv(rows, together),)](
        pos,
        neg,
        pos if valid is None else valid.view(torch.uint8),
        pos if offsets is None else offsets,
        *counts[:3],
        counts[-1],
        rows,
        columns // aligned,
        pos.stride(0),
        strides[0] // aligned,
        strides[1],
        *marks,
        ROWS=together,
        COLUMNS=width,
        PACKED=packed,
        COMPARED=getattr(tl, _COMPARED_AS.get(name, name)),
        FLOATS=neg.is_floating_point(),
        MASKED=valid is not None,
        RAGGED=ragged,
        ALIGNED=aligned,
        OFFSETS=tl.int32 if reach < 1 << 31 else tl.int64,
        num_warps=2 if columns < _PACKED else 16,
        enable_fp_fusion=False,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _count_bands(  # type: ignore[no-untyped-def]
    scores,
    offsets,
    low,
    high,
    above,
    inside,
    found,
    band_of,
    column_of,
    first,
    columns,
    room,
    row_stride,
    column_stride,
    COUNT: tl.constexpr,
    PLACE: tl.constexpr,
    STRETCH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * STRETCH + tl.arange(0, STRETCH)
    read = column < columns
    score = tl.load(scores + row * row_stride + column.to(tl.int64) * column_stride, mask=read, other=float("-inf"))
    for band in range(tl.load(offsets + row), tl.load(offsets + row + 1)):
        floor, ceiling = tl.load(low + band), tl.load(high + band)
        # Both counts in one sum: a stretch has fewer than 2**16 scores.
        both = tl.sum(tl.where(read & (score >= floor), 1, 0) + tl.where(read & (score > ceiling), 1 << 16, 0), 0)
        over = both >> 16
        within = (both & 65535) - over
        if COUNT:
            tl.atomic_add(above + band, over, sem="relaxed")
            if within > 0:
                tl.atomic_add(inside + band, within, sem="relaxed")
        if PLACE:  # noqa: SIM102 (decided when compiled, the other when run)
            if within > 0:
                hit = read & (score >= floor) & (score <= ceiling)
                place = tl.atomic_add(found, within, sem="relaxed") + tl.cumsum(hit.to(tl.int32), 0) - 1
                kept = hit & (place < room)
                tl.store(band_of + place, tl.zeros([STRETCH], tl.int32) + band, mask=kept)
                tl.store(column_of + place, first + column, mask=kept)


def count_bands(
    scores: Any,
    offsets: Any,
    low: Any,
    high: Any,
    above: Any,
    inside: Any,
    places: tuple[Any, Any, Any] | None,
    *,
    first: int,
    count: bool,
) -> None:
    """Add to the counts of each band how many scores of its row are above and inside; list those inside.

    `places` are the number found, and the band and column of each as far as there is room, in any order.
    """
    rows, columns = scores.shape
    found, band_of, column_of = (inside, inside, inside) if places is None else places
    _count_bands[(rows, triton.cdiv(columns, _BAND))](
        scores,
        offsets,
        low,
        high,
        above,
        inside,
        found,
        band_of,
        column_of,
        first,
        columns,
        len(column_of),
        scores.stride(0),
        scores.stride(1),
        COUNT=count,
        PLACE=places is not None,
        STRETCH=_BAND,
        num_warps=8,
        enable_fp_fusion=False,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _compare_again(  # type: ignore[no-untyped-def]
    left,
    right,
    row_of,
    band_of,
    column_of,
    own,
    greater,
    equal,
    pairs,
    left_stride,
    right_stride,
    WIDTH: tl.constexpr,
    SCORE: tl.constexpr,
    PAIRS: tl.constexpr,
):
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
    present = pair < pairs
    band = tl.load(band_of + pair, mask=present, other=0)
    row = tl.load(row_of + band, mask=present, other=0).to(tl.int64)
    column = tl.load(column_of + pair, mask=present, other=0).to(tl.int64)
    total = tl.zeros([PAIRS], tl.float64)
    for part in range(WIDTH):
        a = tl.load(left + row * left_stride + part, mask=present, other=0).to(tl.float64)
        b = tl.load(right + column * right_stride + part, mask=present, other=0).to(tl.float64)
        if SCORE == "l1":
            total += tl.abs(a - b)
        elif SCORE == "l2":
            total += (a - b) * (a - b)
        else:
            total += a * b
    if SCORE == "l1" or SCORE == "l2":
        total = -total
    reference = tl.load(own + band, mask=present, other=0)
    tl.atomic_add(greater + band, 1, mask=present & (total > reference))
    tl.atomic_add(equal + band, 1, mask=present & (total == reference))


def compare_again(
    left: Any, right: Any, score: str, row_of: Any, band_of: Any, column_of: Any, own: Any, greater: Any, equal: Any
) -> None:
    """Score pairs of a row and an entity in float64, and count those above and equal to their band's own score.

    The terms are added one by one, without fused multiplication, as on the host.
    """
    pairs, together = len(band_of), 128
    _compare_again[(triton.cdiv(pairs, together),)](
        left,
        right,
        row_of,
        band_of,
        column_of,
        own,
        greater,
        equal,
        pairs,
        left.stride(0),
        right.stride(0),
        WIDTH=left.shape[1],
        SCORE=score,
        PAIRS=together,
        num_warps=4,
        enable_fp_fusion=False,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _count_above(scores, limits, above, count, ranges, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    score = tl.load(scores + index, mask=index < count, other=float("-inf"))
    for limit in range(ranges - 1):
        found = tl.sum((score > tl.load(limits + limit)).to(tl.int32), 0)
        tl.atomic_add(above + limit, found.to(tl.int64), sem="relaxed")
    tl.atomic_add(above + ranges - 1, tl.sum((score != score).to(tl.int32), 0).to(tl.int64), sem="relaxed")


@triton.jit  # type: ignore[untyped-decorator]
def _distribute(scores, limits, taken, grouped, count, ranges, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    present = index < count
    score = tl.load(scores + index, mask=present, other=0)
    place = tl.zeros([BLOCK], tl.int32)
    for limit in range(ranges - 1):
        place += (score > tl.load(limits + limit)).to(tl.int32)
    place = tl.where(score == score, place, ranges)
    target = tl.zeros([BLOCK], tl.int64)
    # Four ranges at a time: their running counts, of 16 bits each, are one integer.
    for first in range(0, ranges + 1, 4):
        shift = (place - first) * 16
        among = present & (shift >= 0) & (shift < 64)
        one = tl.where(among, tl.full([BLOCK], 1, tl.int64) << tl.where(among, shift, 0).to(tl.int64), 0)
        number = (tl.cumsum(one, 0) >> tl.where(among, shift, 0).to(tl.int64)) & 65535
        total = tl.sum(one, 0)
        for part in tl.static_range(4):
            start = tl.atomic_add(taken + first + part, (total >> (16 * part)) & 65535, sem="relaxed")
            target = tl.where(place == first + part, start + number - 1, target)
    tl.store(grouped + target, score, mask=present)


def distribute(scores: Any, limits: Any) -> tuple[Any, list[int]]:
    """The scores grouped by the ranges that end at the ascending limits, in any order within one, then NaN; and sizes.

    Of r limits, range i < r has the scores at or below its limit and above the one before, and range r the others.
    """
    count, ranges = len(scores), len(limits) + 1
    above = scores.new_zeros(ranges, dtype=torch.int64)
    _count_above[(triton.cdiv(count, _READ),)](
        scores, limits, above, count, ranges, BLOCK=_READ, num_warps=8, enable_fp_fusion=False
    )
    *over, missing = above.tolist()
    ends = [count - missing - more for more in over] + [count - missing, count]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    room = [0, *ends[:-1], 0, 0, 0]  # the kernel takes four ranges at a time
    grouped, starts = torch.empty_like(scores), torch.tensor(room, device=scores.device)
    grid = (triton.cdiv(count, _SPREAD),)
    _distribute[grid](
        scores, limits, starts, grouped, count, ranges, BLOCK=_SPREAD, num_warps=4, enable_fp_fusion=False
    )
    return grouped, sizes


@triton.jit  # type: ignore[untyped-decorator]
def _count_places(  # type: ignore[no-untyped-def]
    scores,
    levels,
    begin,
    size,
    first,
    ahead,
    tied,
    stride,
    stretch,
    BINS: tl.constexpr,
    STEPS: tl.constexpr,
    COLUMNS: tl.constexpr,
    COMPARED: tl.constexpr,
    ONE: tl.constexpr,
):
    query = tl.program_id(0)
    start, low = tl.load(begin + query), tl.load(first + query)
    positives = (tl.load(first + query + 1) - low).to(tl.int32)
    left = tl.program_id(1).to(tl.int64) * stretch
    right = tl.minimum(left + stretch, tl.load(size + query))
    cells, own = scores + (start + left) * stride, levels + low
    lane = tl.arange(0, COLUMNS)
    found = tl.zeros([BINS], tl.int32)
    if positives > 0:
        for column in range(0, (right - left).to(tl.int32), COLUMNS):
            read = column + lane < right - left
            score = tl.load(cells + (column + lane).to(tl.int64) * stride, mask=read, other=0).to(COMPARED)
            # How many of the ascending levels are below the score, bit by bit.
            below = tl.zeros([COLUMNS], tl.int32)
            for step in tl.static_range(STEPS):
                more = below + (1 << (STEPS - 1 - step))
                level = tl.load(own + more - 1, mask=more <= positives, other=0).to(COMPARED)
                below = tl.where((more <= positives) & (level < score), more, below)
            next_level = tl.load(own + below, mask=read & (below < positives), other=0).to(COMPARED)
            same = read & (below < positives) & (next_level == score)
            tl.atomic_add(tied + low + below, 1, mask=same, sem="relaxed")
            found += tl.histogram(tl.where(read, below, BINS - 1), BINS)
    # A candidate is above as many of the ascending levels as are below it.
    number = tl.arange(0, BINS)
    found = tl.where(number <= positives, found, 0)
    above = (tl.sum(found, 0) - tl.cumsum(found, 0)).to(tl.int64)
    there = number < positives
    if ONE:
        tl.store(ahead + low + number, above, mask=there)
    else:
        tl.atomic_add(ahead + low + number, above, mask=there, sem="relaxed")


def count_places(
    scores: Any, levels: Any, begin: Any, size: Any, first: Any, ahead: Any, tied: Any, *, relevant: int, longest: int
) -> None:
    """Add to `ahead` how many candidates of its query are above each level, and to `tied` how many are equal.

    A query's levels ascend; the candidates that are equal to several levels are counted for the first of them.
    `relevant` and `longest` are the most levels and candidates of a query.
    """
    queries, steps = len(size), relevant.bit_length()
    # A program takes whole queries, unless there are too few of them.
    parts = triton.cdiv(_PROGRAMS, queries)
    columns = max(64, min(_SEARCHED, triton.next_power_of_2(longest)))
    stretch = triton.cdiv(triton.cdiv(longest, parts), columns) * columns
    name = str(scores.dtype).removeprefix("torch.")
    _count_places[(queries, triton.cdiv(longest, stretch))](
        scores,
        levels,
        begin,
        size,
        first,
        ahead,
        tied,
        scores.stride(0),
        stretch,
        BINS=max(32, triton.next_power_of_2(relevant + 2)),
        STEPS=steps,
        COLUMNS=columns,
        COMPARED=getattr(tl, _COMPARED_AS.get(name, name)),
        ONE=stretch >= longest,
        num_warps=4,
        enable_fp_fusion=False,
    )
