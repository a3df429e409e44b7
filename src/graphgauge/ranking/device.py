"""Scores on a CUDA device, counted there by plain operations of torch; only counts are copied to the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphgauge.core.arrays import AnyArray, on_device
from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints

# Elements compared at once.
_BLOCK = 1 << 23
_EXACT_IN_FLOAT64 = 2**53
# Types that are compared on the device; the host reads others, or refuses them.
_COMPARED = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def is_countable(scores: Any) -> bool:
    """Whether a tensor can be counted where it is."""
    return str(scores.layout) == "torch.strided" and str(scores.dtype).removeprefix("torch.") in _COMPARED


def rank_counts(pos: Any, neg: Any, mask: Any = None, *, exact: bool = False) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """As `_core.rank_counts`, of tensors: negatives greater, equal, NaN, −inf, and all, of each positive.

    `neg` is on the device, `pos` and `mask` there or on the host. Positive i has the row `rows[i]` of negatives. If
    positives are known to be `exact` in the type of the negatives, they are compared in that.
    """
    import torch

    device = neg.device
    pos = on_device(pos, device)
    pos = pos.to(neg.dtype) if exact else pos
    use = None if mask is None else on_device(mask, device)
    dtype = _compared_as(pos, neg)
    counts = torch.zeros((5, len(pos)), dtype=torch.int64, device=device)
    for part, columns in _tiles(len(pos), neg.shape[1]):
        reference, block = pos[part, None].to(dtype), neg[part, columns].to(dtype)
        marks = [block > reference, block == reference, block != block, torch.isneginf(block), block == block]
        marks[4] = marks[4] | marks[2]
        for column, mark in zip(counts, marks, strict=True):
            kept = mark if use is None else mark & use[part, columns]
            column[part] += kept.sum(1)
    greater, equal, missing, lowest, every = counts.cpu().numpy()
    return greater, equal, missing, lowest, every


def gathered(scores: Any, rows: Ints, columns: Ints) -> AnyArray:
    """Some scores, on the host, in float64 where NumPy has no such type."""
    picked = scores[on_device(rows, scores.device), on_device(columns, scores.device)].detach()
    array: AnyArray = (picked.double() if picked.is_floating_point() else picked).cpu().numpy()
    return array


def _tiles(rows: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix with at most `_BLOCK` elements."""
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        for first in range(0, width, _BLOCK):
            yield slice(start, start + step), slice(first, first + _BLOCK)


def _compared_as(pos: Any, neg: Any) -> Any:
    """The type in which two tensors compare exactly; integers that do not compare exactly with floats are refused."""
    import torch

    if pos.is_floating_point() == neg.is_floating_point():
        return torch.promote_types(pos.dtype, neg.dtype)
    for scores in (pos, neg):
        if scores.dtype == torch.int64 and scores.numel() and int(scores.abs().max()) > _EXACT_IN_FLOAT64:
            what = f"integers beyond ±2**53, such as {int(scores.abs().max())}, do not compare exactly with floats"
            raise InputError(what, fix="Give all scores in the same type.")
    return torch.float64
