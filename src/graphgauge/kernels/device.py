"""Counting of CUDA tensors on their device, in one pass where Triton is installed: only counts are copied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphgauge.kernels.counting import Cells, RowCounts
from graphgauge.kernels.dtypes import refuse_inexact
from graphgauge.kernels.tally import tally

# Pairs of counts that have a table of all.
_TABLE = 1 << 16
# Rows whose counts are copied one by one: to sort them on the device takes longer to start than to do on the host.
_FEW = 1 << 13
# Elements compared at once.
_BLOCK = 1 << 23
# Scores inside a band for which there is room at first and at most, and pairs scored again at once without Triton.
_ROOM, _MOST, _PAIRS = 1 << 20, 1 << 25, 1 << 18


def device_counts(pos: Any, neg: Any) -> RowCounts:
    """As `row_counts`, one row per positive."""
    greater, equal, missing = (column.cpu().numpy() for column in counted(pos, neg))
    negatives = np.broadcast_to(np.int32(neg.shape[1]), len(pos))
    return RowCounts(greater, equal, missing, negatives, (pos != pos).cpu().numpy())


def device_histogram(pos: Any, neg: Any) -> Cells | None:
    """As `joint_histogram`: distinct pairs, or None if any score is NaN. The device is waited for once or twice."""
    import torch

    greater, equal, missing = counted(pos, neg)
    if len(pos) <= _FEW:
        above, tied, *incomplete = torch.stack([greater, equal, missing, (pos != pos).int()]).cpu().numpy()
        if np.any(incomplete):
            return None
        (distinct_greater, distinct_equal), rows = tally([above, tied])
        return Cells(distinct_greater, distinct_equal, rows)
    side = neg.shape[1] + 1
    pairs = greater.long() * side + equal
    incomplete = (missing.any() | (pos != pos).any()).long().reshape(1)
    if side * side <= _TABLE:
        table = pairs.new_zeros(side * side).index_add_(0, pairs, torch.ones_like(pairs))
        frequencies, nan_found = np.split(torch.cat([table, incomplete]).cpu().numpy(), [side * side])
        codes = np.flatnonzero(frequencies)
        rows = frequencies[codes]
    else:
        found = torch.cat([*pairs.unique(return_counts=True), incomplete]).cpu().numpy()
        codes, rows, nan_found = np.split(found, [len(found) // 2, len(found) - 1])
    if nan_found[0]:
        return None
    distinct_greater, distinct_equal = np.divmod(codes, side)
    return Cells(distinct_greater, distinct_equal, rows)


def counted(pos: Any, neg: Any) -> list[Any]:
    """For each row how many negatives are above, tied with its positive and NaN, as tensors on the device."""
    import torch

    # torch compares integers with float32 in float32, which makes ties.
    dtype = pos.dtype if pos.dtype == neg.dtype else torch.float64
    for scores in (pos, neg):
        if scores.dtype != dtype and scores.dtype == torch.int64 and scores.numel():
            refuse_inexact(int(scores.min()), int(scores.max()))
    counts = [torch.empty(len(pos), dtype=torch.int32, device=neg.device) for _ in range(3)]
    if neg.is_cuda and neg.numel() and (kernels := fused()):
        kernels.count_rows(pos, neg, *counts, wide=(pos.dtype, neg.dtype) != (dtype, dtype))
        return counts
    step = max(1, _BLOCK // max(1, neg.shape[1]))
    for start in range(0, len(pos), step):
        part = slice(start, start + step)
        reference, block = pos[part, None].to(dtype), neg[part].to(dtype)
        for column, found in zip(counts, (block > reference, block == reference, block != block), strict=True):
            torch.sum(found, 1, dtype=torch.int32, out=column[part])
    return counts


@cache
def fused() -> Any:
    """The Triton kernels, or None without Triton; it comes with torch's CUDA builds for Linux."""
    return import_module("graphgauge.kernels.fused") if find_spec("triton") else None


@cache
def fused_products() -> Any:
    """As `fused`, for products."""
    return import_module("graphgauge.kernels.fused_products") if find_spec("triton") else None


class Bands:
    """Bands [low, high] of scores, several per row: what is above them and what inside, over blocks of columns.

    Band i belongs to row `rows[i]`, which ascend. `greater` and `equal` are counted exactly: what is inside a band is
    scored again in float64 and compared with `own`.
    """

    def __init__(self, rows: Any, count: int, low: Any, high: Any, dtype: Any) -> None:
        import torch

        device = low.device
        self.rows = rows.to(torch.int32)
        self._offsets = torch.searchsorted(rows, torch.arange(count + 1, device=device)).to(torch.int32)
        # Rounded outward: a wider band costs little, a narrower one would be wrong.
        infinite = torch.tensor(float("inf"), dtype=dtype, device=device)
        same = low.dtype == dtype
        self.low = low if same else torch.nextafter(low.to(dtype), -infinite)
        self.high = high if same else torch.nextafter(high.to(dtype), infinite)
        self.above, self.inside = (torch.zeros(len(low), dtype=torch.int32, device=device) for _ in range(2))
        # Two of each: the next block of scores is under way while the places of the last are read.
        self._found = [torch.zeros(1, dtype=torch.int32, device=device) for _ in range(2)]
        self._places = [[torch.empty(_ROOM, dtype=torch.int32, device=device) for _ in range(2)] for _ in range(2)]
        self._turn = 0

    def count(self, scores: Any) -> None:
        """Count the scores above and inside each band."""
        if scores.is_cuda and (kernels := fused()):
            kernels.count_bands(scores, self._offsets, self.low, self.high, self.above, self.inside, None,
                                first=0, count=True)  # fmt: skip
            return
        self._placed(scores)

    def start(self, scores: Any, first: int) -> _Places:
        """Count them; iterating over the answer gives band and column of those inside, in parts.

        `first` is the number of the first column. Iterate before the next but one start, with the scores still there.
        """
        if not (scores.is_cuda and (kernels := fused())):
            return _Places([self._placed(scores)], first)
        self._turn = 1 - self._turn
        return _DevicePlaces(self, kernels, scores, first, self._found[self._turn], self._places[self._turn])

    def add(self, kernels: Any, scores: Any, first: int, places: tuple[Any, Any, Any], *, count: bool) -> None:
        kernels.count_bands(scores, self._offsets, self.low, self.high, self.above, self.inside, places,
                            first=first, count=count)  # fmt: skip

    def _placed(self, scores: Any) -> tuple[Any, Any]:
        import torch

        bands, columns = [], []
        step = max(1, _BLOCK // max(1, scores.shape[1]))
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            block, low, high = scores[self.rows[part].long()], self.low[part, None], self.high[part, None]
            hit = (block >= low) & (block <= high)
            self.above[part] += (block > high).sum(1, dtype=torch.int32)
            self.inside[part] += hit.sum(1, dtype=torch.int32)
            band, column = hit.nonzero(as_tuple=True)
            bands.append(band + start)
            columns.append(column)
        empty = torch.empty(0, dtype=torch.int64, device=scores.device)
        return torch.cat([empty, *bands]), torch.cat([empty, *columns])

    def compare_again(
        self, left: Any, right: Any, score: str, places: tuple[Any, Any], own: Any, greater: Any, equal: Any
    ) -> None:
        """Add to `greater` and `equal` of each band what the float64 scores of the places inside it say."""
        band, column = places
        if len(band) and left.is_cuda and (kernels := fused()):
            kernels.compare_again(left, right, score, self.rows, band, column, own, greater, equal)
            return
        for start in range(0, len(band), _PAIRS):
            bands, columns = band[start : start + _PAIRS].long(), column[start : start + _PAIRS].long()
            again = ordered_scores(left[self.rows[bands].long()], right[columns], score)
            one = greater.new_ones(len(bands))
            greater.index_add_(0, bands, one * (again > own[bands]))
            equal.index_add_(0, bands, one * (again == own[bands]))


class _Places:
    """Band and column of scores inside their bands, in parts."""

    def __init__(self, parts: list[tuple[Any, Any]], first: int) -> None:
        self._parts, self._first = parts, first

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for band, column in self._parts:
            yield band, column + self._first


class _DevicePlaces(_Places):
    """The same while the device is still counting: only their number is waited for, not what was started later."""

    def __init__(self, bands: Bands, kernels: Any, scores: Any, first: int, found: Any, places: list[Any]) -> None:
        import torch

        self._bands, self._kernels, self._scores, self._first = bands, kernels, scores, first
        self._found, self._places = found, places
        self._add(slice(0, scores.shape[1]), count=True)
        self._number = torch.empty(1, dtype=torch.int32, pin_memory=True)
        self._number.copy_(found, non_blocking=True)
        self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._done.record()

    def _add(self, part: slice, *, count: bool) -> None:
        self._found.zero_()
        places = (self._found, *self._places)
        self._bands.add(self._kernels, self._scores[:, part], self._first + part.start, places, count=count)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self._done.synchronize()
        return self._listed(slice(0, self._scores.shape[1]), int(self._number))

    def _listed(self, part: slice, number: int) -> Iterator[tuple[Any, Any]]:
        if number > _MOST:
            middle = (part.start + part.stop) // 2
            for half in (slice(part.start, middle), slice(middle, part.stop)):
                self._add(half, count=False)
                yield from self._listed(half, int(self._found))
            return
        if number > len(self._places[0]):
            self._places[:] = [place.new_empty(number) for place in self._places]
            self._add(part, count=False)
        yield self._places[0][:number], self._places[1][:number]


def ordered_scores(left: Any, right: Any, score: str) -> Any:
    """The score of each pair of rows in float64, its terms added from left to right as on the host."""
    left, right = left.double(), right.double()
    total = left.new_zeros(len(left))
    for part in range(left.shape[1]):
        a, b = left[:, part], right[:, part]
        if score == "l1":
            total += (a - b).abs()
        elif score == "l2":
            total += (a - b) ** 2
        else:
            total += a * b
    return -total if score in ("l1", "l2") else total
