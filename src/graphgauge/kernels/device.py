"""Counting of CUDA tensors on their device by plain torch operations: only counts are copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphgauge.core.arrays import on_device
from graphgauge.kernels.counting import RowCounts
from graphgauge.kernels.dtypes import refuse_inexact

# Elements compared at once.
_BLOCK = 1 << 23


def device_counts(pos: Any, neg: Any, *, valid: Any = None) -> RowCounts:
    """As `row_counts`, and with `valid` as `masked_counts`, of tensors; the counts are copied at once.

    `pos` and `neg` are on the device, `valid` there or on the host.
    """
    import torch

    dtype = _compared_as(pos, neg)
    counts = _zeros(3 if valid is None else 4, len(pos), neg)
    for part, columns in _tiles(*neg.shape):
        reference, block = pos[part, None].to(dtype), neg[part, columns].to(dtype)
        found = [block > reference, block == reference, block != block]
        if valid is not None:
            use = on_device(valid[part, columns], neg.device)
            found = [*(each & use for each in found), use]
        for column, marks in zip(counts, found, strict=True):
            column[part] += marks.sum(1, dtype=torch.int32)
    greater, equal, missing, *own, unscored = torch.stack([*counts, (pos != pos).int()]).cpu().numpy()
    negatives = own[0] if own else np.broadcast_to(np.int32(neg.shape[1]), len(pos))
    return RowCounts(greater, equal, missing, negatives, unscored.astype(bool))


def threshold_counts(scores: Any, rows: Any, thresholds: Any) -> tuple[Any, Any]:
    """As `bands.threshold_counts`: how many scores of row `rows[i]` are above `thresholds[i]`, and equal to it."""
    greater, equal = _zeros(2, len(rows), scores)
    for part, columns in _tiles(len(rows), scores.shape[1]):
        block, threshold = scores[:, columns][rows[part]], thresholds[part, None]
        greater[part] += (block > threshold).sum(1, dtype=greater.dtype)
        equal[part] += (block == threshold).sum(1, dtype=equal.dtype)
    return greater, equal


def _zeros(columns: int, rows: int, like: Any) -> list[Any]:
    import torch

    return list(torch.zeros((columns, rows), dtype=torch.int32, device=like.device).unbind())


def _tiles(rows: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix with at most `_BLOCK` elements."""
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        for first in range(0, width, _BLOCK):
            yield slice(start, start + step), slice(first, first + _BLOCK)


def _compared_as(pos: Any, neg: Any) -> Any:
    """The dtype in which two tensors compare exactly: torch itself would compare integers with float32 in float32.

    Integers that do not compare exactly with floats are refused.
    """
    import torch

    if pos.is_floating_point() == neg.is_floating_point():
        return torch.promote_types(pos.dtype, neg.dtype)
    for scores in (pos, neg):
        if scores.dtype == torch.int64 and scores.numel():
            refuse_inexact(int(scores.min()), int(scores.max()))
    return torch.float64
