"""Counting of CUDA tensors on their device, in one pass where Triton is installed: only counts are copied."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphgauge.kernels.counting import Cells, RowCounts
from graphgauge.kernels.dtypes import refuse_inexact

# Elements compared at once.
_BLOCK = 1 << 23


def device_counts(pos: Any, neg: Any) -> RowCounts:
    """As `row_counts`, one row per positive."""
    greater, equal, missing = (column.cpu().numpy() for column in counted(pos, neg))
    negatives = np.broadcast_to(np.int32(neg.shape[1]), len(pos))
    return RowCounts(greater, equal, missing, negatives, (pos != pos).cpu().numpy())


def device_histogram(pos: Any, neg: Any) -> Cells | None:
    """As `joint_histogram`: distinct pairs, or None if any score is NaN."""
    greater, equal, missing = counted(pos, neg)
    if bool(missing.any()) or bool((pos != pos).any()):
        return None
    side = neg.shape[1] + 1
    codes, rows = (greater.long() * side + equal).unique(return_counts=True)
    distinct_greater, distinct_equal = np.divmod(codes.cpu().numpy(), side)
    return Cells(distinct_greater, distinct_equal, rows.cpu().numpy())


def counted(pos: Any, neg: Any) -> list[Any]:
    """For each row how many negatives are above, tied with its positive and NaN, as tensors on the device."""
    import torch

    # torch compares integers with float32 in float32, which makes ties.
    dtype = pos.dtype if pos.dtype == neg.dtype else torch.float64
    for scores in (pos, neg):
        if scores.dtype != dtype and scores.dtype == torch.int64 and scores.numel():
            refuse_inexact(int(scores.min()), int(scores.max()))
    counts = [torch.empty(len(pos), dtype=torch.int32, device=neg.device) for _ in range(3)]
    if neg.is_cuda and neg.numel() and (fused := _fused()):
        fused.count_rows(pos, neg, *counts, wide=(pos.dtype, neg.dtype) != (dtype, dtype))
        return counts
    step = max(1, _BLOCK // max(1, neg.shape[1]))
    for start in range(0, len(pos), step):
        part = slice(start, start + step)
        reference, block = pos[part, None].to(dtype), neg[part].to(dtype)
        for column, found in zip(counts, (block > reference, block == reference, block != block), strict=True):
            torch.sum(found, 1, dtype=torch.int32, out=column[part])
    return counts


@cache
def _fused() -> Any:
    """The Triton kernels, or None without Triton; it comes with torch's CUDA builds for Linux."""
    return import_module("graphgauge.kernels.fused") if find_spec("triton") else None
