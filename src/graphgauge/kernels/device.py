"""Counting of CUDA tensors on their device, in one pass where Triton is installed: only counts are copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import on_device
from graphgauge.kernels.counting import Cells, RowCounts
from graphgauge.kernels.dtypes import refuse_inexact
from graphgauge.kernels.tally import tally

# Pairs of counts that have a table of all.
_TABLE = 1 << 16
# Rows whose counts are copied one by one: to sort them on the device takes longer to start than to do on the host.
_FEW = 1 << 13
# Elements compared at once; fewer if each also needs its row's reference and a running count.
_BLOCK, _FLAT = 1 << 23, 1 << 21
# Scores inside a band for which there is room at first and at most, and pairs scored again at once without Triton.
_ROOM, _MOST, _PAIRS = 1 << 20, 1 << 25, 1 << 18


class Missing(NamedTuple):
    """How many scores of a matrix and of its positives are NaN, and where the first are."""

    positives: int
    negatives: int
    first_positive: int
    row: int
    column: int


def device_counts(pos: Any, neg: Any, *, valid: Any = None, offsets: Any = None) -> RowCounts:
    """As `row_counts`, with `valid` as `masked_counts` and with `offsets` as `ragged_counts`; copied at once.

    `pos` and `neg` are on the device, `valid` and `offsets` on the device or on the host.
    """
    import torch

    found = counted(pos, neg, valid) if offsets is None else _counted_flat(pos, neg, np.asarray(offsets))
    greater, equal, missing, *own, unscored = torch.stack([*found, (pos != pos).int()]).cpu().numpy()
    if own:
        negatives = own[0]
    elif offsets is None:
        negatives = np.broadcast_to(np.int32(neg.shape[1]), len(pos))
    else:
        negatives = np.diff(offsets).astype(np.int32)
    return RowCounts(greater, equal, missing, negatives, unscored.astype(bool))


def device_histogram(pos: Any, neg: Any) -> Cells | None:
    """As `joint_histogram`: distinct pairs, or None if any score is NaN. The device is waited for once or twice."""
    (found,) = copied_cells([DeviceCells(pos, neg)])
    return None if isinstance(found, Missing) else found


class DeviceCells:
    """How many rows of `neg` (n, k) have each (greater, equal), still on the device, which is not waited for.

    Only counts are kept: what becomes of the scores later does not matter.
    """

    def __init__(self, pos: Any, neg: Any) -> None:
        import torch

        greater, equal, missing = counted(pos, neg)
        self.rows, self.width = neg.shape
        self._side = self.width + 1
        self._codes = torch.add(equal.long(), greater, alpha=self._side)
        self._in_table = self.rows > _FEW and self._side**2 <= _TABLE
        if self._in_table:
            table = self._codes.new_zeros(self._side**2)
            self._codes = table.index_add_(0, self._codes, torch.ones_like(self._codes))
        self._missing = _missing(pos, neg, missing)

    @property
    def nbytes(self) -> int:
        return int(self._codes.nbytes + self._missing.nbytes)

    def distinct(self) -> list[Any]:
        """What is copied: counts in a table, or pairs and the number of each, or pairs; then what is missing."""
        import torch

        many = self.rows > _FEW and not self._in_table
        return [*(torch.unique(self._codes, return_counts=True) if many else [self._codes]), self._missing]

    def read(self, copied: NDArray[np.int64]) -> Cells | Missing:
        """The cells from a copy of what `distinct` gave."""
        found, numbers = np.split(copied, [-len(Missing._fields)])
        missing = Missing(*numbers.tolist())
        if missing.positives or missing.negatives:
            return missing
        if self._in_table:
            codes = np.flatnonzero(found)
            rows = found[codes]
        elif self.rows > _FEW:
            codes, rows = np.split(found, 2)
        else:
            (codes,), rows = tally([found])
        return Cells(*np.divmod(codes, self._side), rows)


def copied_cells(counted_there: Sequence[DeviceCells]) -> list[Cells | Missing]:
    """The cells of each, or what is missing in it; all of them are copied at once."""
    import torch

    parts = [each.distinct() for each in counted_there]
    copied = torch.cat([on_device(column, parts[0][0].device) for part in parts for column in part]).cpu().numpy()
    ends = np.cumsum([sum(map(len, part)) for part in parts])
    return [each.read(part) for each, part in zip(counted_there, np.split(copied, ends[:-1]), strict=True)]


def _missing(pos: Any, neg: Any, missing: Any) -> Any:
    """The numbers of `Missing`, on the device."""
    import torch

    if not len(pos) or not (pos.is_floating_point() or neg.is_floating_point()):
        return torch.zeros(len(Missing._fields), dtype=torch.int64, device=neg.device)
    found = torch.stack([(pos != pos).int(), missing])
    first = found.clamp(max=1).argmax(1)
    column = torch.zeros_like(first[1:])
    for start in reversed(range(0, neg.shape[1], _BLOCK)):
        row = neg[:, start : start + _BLOCK].index_select(0, first[1:])
        marks = (row != row).view(torch.uint8)
        later = start + _BLOCK < neg.shape[1]
        column = torch.where(marks.amax(1) > 0, marks.argmax(1) + start, column) if later else marks.argmax(1) + start
    return torch.cat([found.sum(1), first, column])


def compared_as(pos: Any, neg: Any) -> Any:
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


def counted(pos: Any, neg: Any, valid: Any = None) -> list[Any]:
    """For each row how many negatives are above, tied with its positive and NaN, as tensors on the device.

    With `valid` (n, k) only those where it is True count, and a fourth tensor says how many they are.
    """
    import torch

    dtype = compared_as(pos, neg)
    if dtype == neg.dtype:
        pos = pos.to(dtype)
    counts = _zeros(3 if valid is None else 4, len(pos), neg)
    if kernels := _kernels(neg, dtype):
        there = None if valid is None else on_device(valid, neg.device)
        kernels.count_rows(pos, neg, counts, wide=dtype != neg.dtype, valid=there)
        return counts
    for part, columns in _tiles(*neg.shape):
        reference, block = pos[part, None].to(dtype), neg[part, columns].to(dtype)
        found = [block > reference, block == reference, block != block]
        if valid is not None:
            use = on_device(valid[part, columns], neg.device)
            found = [*(each & use for each in found), use]
        for column, marks in zip(counts, found, strict=True):
            column[part] += marks.sum(1, dtype=torch.int32)
    return counts


def _kernels(neg: Any, dtype: Any) -> Any:
    """The Triton kernels for scores that compare in this type, or None; they compare in their own or in float64."""
    there = neg.is_cuda and neg.numel() and (dtype == neg.dtype or dtype.is_floating_point)
    return fused() if there else None


def _zeros(columns: int, rows: int, like: Any) -> list[Any]:
    import torch

    return list(torch.zeros((columns, rows), dtype=torch.int32, device=like.device).unbind())


def _tiles(rows: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix with at most `_BLOCK` elements."""
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        for first in range(0, width, _BLOCK):
            yield slice(start, start + step), slice(first, first + _BLOCK)


def _counted_flat(pos: Any, neg: Any, offsets: NDArray[np.int64]) -> list[Any]:
    """As `counted`, for rows `neg[offsets[i]:offsets[i + 1]]`, which may be of any length."""
    import torch

    dtype = compared_as(pos, neg)
    counts = _zeros(3, len(pos), neg)
    ends = on_device(offsets, neg.device)
    if kernels := _kernels(neg, dtype):
        kernels.count_rows(pos, neg, counts, wide=dtype != neg.dtype, offsets=ends)
        return counts
    for start in range(0, len(neg), _FLAT):
        stop = min(start + _FLAT, len(neg))
        first, last = (int(np.searchsorted(offsets, place, side="right")) for place in (start, stop - 1))
        rows = slice(first - 1, last)
        inside = ends[first - 1 : last + 1].clamp(start, stop) - start
        reference = torch.repeat_interleave(pos[rows].to(dtype), inside.diff(), output_size=stop - start)
        block = neg[start:stop].to(dtype)
        for column, marks in zip(counts, (block > reference, block == reference, block != block), strict=True):
            upto = torch.nn.functional.pad(marks.cumsum(0, dtype=torch.int32), (1, 0))
            column[rows] += upto[inside].diff()
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
            kernels.count_bands(
                scores, self._offsets, self.low, self.high, self.above, self.inside, None, first=0, count=True
            )
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
        kernels.count_bands(
            scores, self._offsets, self.low, self.high, self.above, self.inside, places, first=first, count=count
        )

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
