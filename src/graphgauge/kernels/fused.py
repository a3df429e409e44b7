"""Triton kernels: one pass over scores on a CUDA device. Imported only where Triton is installed."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

# Rows shorter than this are read at once, and three counts of this size fit into one integer.
_PACKED = 1 << 10
# Scores that a program reads at once: of several short rows, or of one long row.
_TILE, _STRETCH = 2048, 1024
_COMPARED_AS = {"float16": "float32", "bfloat16": "float32", "bool": "int8"}


@triton.jit  # type: ignore[untyped-decorator]
def _count_rows(  # type: ignore[no-untyped-def]
    pos, neg, greater, equal, missing, rows, columns, pos_stride, row_stride, column_stride,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PACKED: tl.constexpr, COMPARED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    present = row < rows
    reference = tl.load(pos + row.to(tl.int64) * pos_stride, mask=present, other=0).to(COMPARED)
    start = neg + row.to(tl.int64) * row_stride
    lane = tl.arange(0, COLUMNS).to(tl.int64)
    if PACKED:
        read = present[:, None] & (lane < columns)[None, :]
        score = tl.load(start[:, None] + lane[None, :] * column_stride, mask=read, other=0).to(COMPARED)
        found = tl.where(score > reference[:, None], 1, 0) + tl.where(score == reference[:, None], 1 << 10, 0)
        found = tl.where(read, found, 0) + tl.where(score != score, 1 << 20, 0)
        total = tl.sum(found, 1)
        tl.store(greater + row, total & 1023, mask=present)
        tl.store(equal + row, (total >> 10) & 1023, mask=present)
        tl.store(missing + row, total >> 20, mask=present)
    else:
        above = tl.zeros([ROWS, COLUMNS], tl.int32)
        tied = tl.zeros([ROWS, COLUMNS], tl.int32)
        absent = tl.zeros([ROWS, COLUMNS], tl.int32)
        for first in range(0, columns, COLUMNS):
            column = first + lane
            read = present[:, None] & (column < columns)[None, :]
            score = tl.load(start[:, None] + column[None, :] * column_stride, mask=read, other=0).to(COMPARED)
            above += (read & (score > reference[:, None])).to(tl.int32)
            tied += (read & (score == reference[:, None])).to(tl.int32)
            absent += (score != score).to(tl.int32)
        tl.store(greater + row, tl.sum(above, 1), mask=present)
        tl.store(equal + row, tl.sum(tied, 1), mask=present)
        tl.store(missing + row, tl.sum(absent, 1), mask=present)


def count_rows(pos: Any, neg: Any, greater: Any, equal: Any, missing: Any, *, wide: bool) -> None:
    """Write for each row how many negatives are above, tied with its positive and NaN; `wide` compares in float64."""
    rows, columns = neg.shape
    packed = columns < _PACKED
    width = triton.next_power_of_2(columns) if packed else _STRETCH
    together = max(1, _TILE // width) if packed else 1
    name = "float64" if wide else str(neg.dtype).removeprefix("torch.")
    _count_rows[(triton.cdiv(rows, together),)](
        pos, neg, greater, equal, missing, rows, columns, pos.stride(0), neg.stride(0), neg.stride(1),
        ROWS=together, COLUMNS=width, PACKED=packed, COMPARED=getattr(tl, _COMPARED_AS.get(name, name)),
        num_warps=4 if packed else 16,
    )  # fmt: skip
