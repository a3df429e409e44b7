"""Triton kernels of products that are counted and never stored. Imported only where Triton is installed.

Each number is split into a high and a low part of fewer bits, so that matrix units add three exact products in place of
one: low × high, high × low and high × high, in this order, in float32. The difference from the true product is bounded,
and what is nearer to a band's limits than that is marked by a bit, and scored again in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Rows and entities of a tile, and terms that are added at once (of 16 bits; half as many of 32).
_ROWS, _ENTITIES, _TERMS, _WARPS, _STAGES = 128, 256, 64, 8, 3
_STORED = {"bf16": torch.bfloat16, "tf32": torch.float32}
# Bytes of marks and of the parts of entities at once.
_BYTES = 1 << 29
# Words of marks whose entities a program scores again at once.
_WORDS = 128


@triton.jit  # type: ignore[untyped-decorator]
def _split(  # type: ignore[no-untyped-def]
    rows,
    joined,
    count,
    width,
    terms,
    stride,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    BF16: tl.constexpr,
    LAST: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.arange(0, WIDTH)
    there = (row < count)[:, None] & (part < width)[None, :]
    value = tl.load(rows + row.to(tl.int64)[:, None] * stride + part[None, :], mask=there, other=0).to(tl.float32)
    if BF16:
        high = value.to(tl.bfloat16)
        low = (value - high.to(tl.float32)).to(tl.bfloat16)
    else:  # without the 13 bits that TF32 does not have
        high = (value.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        low = ((value - high).to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    own = joined + row.to(tl.int64)[:, None] * terms + part[None, :]
    # The low part is the second factor of entities, and the first of queries.
    tl.store(own, high if LAST else low, mask=there)
    tl.store(own + width, low if LAST else high, mask=there)
    tl.store(own + 2 * width, high, mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _count_products(  # type: ignore[no-untyped-def]
    left,
    right,
    squares,
    low,
    high,
    above,
    marks,
    bands,
    entities,
    terms,
    words,
    ROWS: tl.constexpr,
    ENTITIES: tl.constexpr,
    TERMS: tl.constexpr,
    SQUARED: tl.constexpr,
):
    tiles = tl.cdiv(bands, ROWS)
    # One program for each multiprocessor takes tile after tile, and reads the next while it counts. Tiles that share
    # their entities are taken at about the same time.
    for number in tl.range(tl.program_id(0), tiles * tl.cdiv(entities, ENTITIES), tl.num_programs(0), flatten=True):
        row, tile = number % tiles, number // tiles
        score = tl.zeros([ROWS, ENTITIES], tl.float32)
        for term in range(0, terms, TERMS):
            others = right.load([tile * ENTITIES, term])
            score = tl.dot(left.load([row * ROWS, term]), others.T, score, input_precision="tf32")
        band, column = row * ROWS + tl.arange(0, ROWS), tile * ENTITIES + tl.arange(0, ENTITIES)
        row_there = band < bands
        if SQUARED:
            score = 2 * score - tl.load(squares + column, mask=column < entities, other=0)[None, :]
        floor = tl.load(low + band, mask=row_there, other=float("inf"))[:, None]
        ceiling = tl.load(high + band, mask=row_there, other=float("inf"))[:, None]
        over = score > ceiling
        tl.atomic_add(above + band, tl.sum(over.to(tl.int32), 1), mask=row_there, sem="relaxed")
        bit = (1 << (tl.arange(0, ENTITIES) % 32))[None, :]
        marked = tl.where((score >= floor) & ~over, bit, 0)
        word = tl.sum(tl.reshape(marked, [ROWS, ENTITIES // 32, 32]), 2)
        place = band.to(tl.int64)[:, None] * words + tile * (ENTITIES // 32) + tl.arange(0, ENTITIES // 32)[None, :]
        tl.store(marks + place, word, mask=row_there[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _compare_marked(  # type: ignore[no-untyped-def]
    left,
    right,
    row_of,
    marks,
    marked,
    own,
    greater,
    equal,
    number,
    words,
    first,
    width,
    left_stride,
    right_stride,
    SCORE: tl.constexpr,
    WORDS: tl.constexpr,
):
    index = tl.program_id(0).to(tl.int64) * WORDS + tl.arange(0, WORDS)
    present = index < number
    place = tl.load(marked + index, mask=present, other=0)
    word = tl.load(marks + place, mask=present, other=0)
    band = place // words
    row = tl.load(row_of + band).to(tl.int64)
    start = first + (place % words) * 32
    reference = tl.load(own + band)
    while tl.max((word != 0).to(tl.int32), 0) > 0:
        # The number of the lowest bit is the exponent of its value.
        lowest = (word & -word).to(tl.uint32, bitcast=True)
        bit = (lowest.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
        some = word != 0
        column = start + tl.where(some, bit, 0)
        total = tl.zeros([WORDS], tl.float64)
        for part in range(width):
            a = tl.load(left + row * left_stride + part, mask=some, other=0).to(tl.float64)
            b = tl.load(right + column * right_stride + part, mask=some, other=0).to(tl.float64)
            if SCORE == "l2":
                total += (a - b) * (a - b)
            else:
                total += a * b
        if SCORE == "l2":
            total = -total
        tl.atomic_add(greater + band, 1, mask=some & (total > reference), sem="relaxed")
        tl.atomic_add(equal + band, 1, mask=some & (total == reference), sem="relaxed")
        word = word & (word - 1)


class Banded(NamedTuple):
    """Rows of queries, and for each band of scores [low, high] its row and its own score; on the device."""

    left: Any
    row_of: Any
    own: Any
    low: Any
    high: Any


def _joined(rows: Any, precision: str, *, entities: bool) -> Any:
    """The factors of the three products in a row, with zeros up to a multiple of the terms that are added at once.

    Entities are followed by NaN up to a multiple of a tile: their scores are neither above nor inside anything.
    """
    count, width = rows.shape
    terms = triton.cdiv(3 * width, _terms(precision)) * _terms(precision)
    whole = triton.cdiv(count, _ENTITIES) * _ENTITIES if entities else count
    joined = torch.empty(whole, terms, dtype=_STORED[precision], device=rows.device)
    joined[:, 3 * width :] = 0
    joined[count:] = float("nan")
    together = 8
    _split[(triton.cdiv(count, together),)](
        rows,
        joined,
        count,
        width,
        terms,
        rows.stride(0),
        ROWS=together,
        WIDTH=triton.next_power_of_2(width),
        BF16=precision == "bf16",
        LAST=entities,
        num_warps=4,
        enable_fp_fusion=False,
    )
    return joined


def _terms(precision: str) -> int:
    return _TERMS if precision == "bf16" else _TERMS // 2


def count_products(
    banded: Banded, right: Any, squares: Any, score: str, precision: str, greater: Any, equal: Any
) -> None:
    """Add to `greater` and `equal` how many entities score more than each band's own score, and as much."""
    left, row_of, own, low, high = banded
    factors = _joined(left[row_of], precision, entities=False)
    bands, terms = factors.shape
    most = _BYTES // max(terms * factors.element_size(), bands // 8)
    step = max(_ENTITIES, most // _ENTITIES * _ENTITIES)
    words = triton.cdiv(min(step, len(right)), _ENTITIES) * (_ENTITIES // 32)
    marks = torch.empty(bands * words, dtype=torch.int32, device=left.device)
    processors = torch.cuda.get_device_properties(left.device).multi_processor_count if left.is_cuda else 2
    for first in range(0, len(right), step):
        part = slice(first, first + step)
        others = _joined(right[part], precision, entities=True)
        tiles = len(others) // _ENTITIES
        if tiles * (_ENTITIES // 32) < words:
            marks.zero_()
        block = [[size, _terms(precision)] for size in (_ROWS, _ENTITIES)]
        described = (TensorDescriptor.from_tensor(*each) for each in zip((factors, others), block, strict=True))
        _count_products[(min(processors, triton.cdiv(bands, _ROWS) * tiles),)](
            *described,
            low if squares is None else squares[part],
            low,
            high,
            greater,
            marks,
            bands,
            min(step, len(right) - first),
            terms,
            words,
            ROWS=_ROWS,
            ENTITIES=_ENTITIES,
            TERMS=_terms(precision),
            SQUARED=squares is not None,
            num_warps=_WARPS,
            num_stages=_STAGES,
            enable_fp_fusion=True,
        )
        marked = marks.nonzero()[:, 0]
        if len(marked):
            _compare_marked[(triton.cdiv(len(marked), _WORDS),)](
                left,
                right,
                row_of,
                marks,
                marked,
                own,
                greater,
                equal,
                len(marked),
                words,
                first,
                left.shape[1],
                left.stride(0),
                right.stride(0),
                SCORE=score,
                WORDS=_WORDS,
                num_warps=4,
                enable_fp_fusion=False,
            )
