"""Ranks among all entities for embeddings on a CUDA device: they stay there, and only counts are copied."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import Ints, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.kernels.device import Bands, fused, fused_products, ordered_scores
from graphgauge.kernels.device_lists import LOOKED_UP, looked_up
from graphgauge.kernels.dtypes import refuse_inexact
from graphgauge.ranking.entity_sets import BlockCounts

if TYPE_CHECKING:
    from graphgauge.ranking.all_entities import Field

PRECISIONS = ("full", "tf32", "bf16")
# Queries counted together, and bytes of scores at once.
_QUERIES, _BYTES = 1 << 14, 1 << 30
# Rows of scores start at a multiple of this, so that several scores are read at once.
_ALIGNED = 128
# Entities read at once for their norms.
_ROWS = 1 << 18
# Bits of a float32 that TF32 does not have.
_TF32_MASK = ~((1 << 13) - 1)
# What a number loses at most in a faster precision, relative to it: BF16 is rounded, TF32 cut off.
_LOST = {"bf16": 2.0**-9, "tf32": 2.0**-10}
# With more right answers per query, products are stored: otherwise they would be computed again for each answer.
_ANSWERS = 1.5


class OnDevice:
    """As the exact scorer of the host: a fast product decides all but near ties, which are scored again in float64.

    A faster precision has a larger error, so more candidates are scored again; the ranks are the same.
    """

    def __init__(self, queries: Any, entities: Any, score: str, precision: str = "full") -> None:
        import torch

        self._torch = torch
        self.queries, self.entities = len(queries), len(entities)
        self._left, self._right, self._score = queries, entities, score
        self._precision, self._memory = precision, _BYTES
        own, magnitude = self._norms(queries, "queries")
        norms, entity_magnitude = self._norms(entities, "entities")
        width = queries.shape[1]
        with np.errstate(over="ignore"):
            reach = width * np.float64(magnitude + entity_magnitude) ** 2
        if not reach <= np.finfo(np.float64).max / 8:
            raise InputError("embeddings so large that their scores overflow", fix="Scale them down.")
        narrow = queries.dtype != torch.float64 and entities.dtype != torch.float64
        self._dtype = torch.float32 if narrow and reach <= np.finfo(np.float32).max / 8 else torch.float64
        if self._dtype == torch.float64 or score == "l1":
            self._precision = "full"
        self._squares = (norms**2).to(self._dtype) if score == "l2" else None
        self._norm, self._largest = own, norms.max() if len(norms) else norms.new_zeros(())
        self._worst: list[Any] = []  # what the entities lose in the faster precision, once it is asked for

    def asking(self, rows: Ints) -> OnDevice:
        """The same for some of the queries."""
        other = copy(self)
        chosen = self._torch.as_tensor(rows, device=self._left.device)
        other._left, other._norm, other.queries = self._left[chosen], self._norm[chosen], len(rows)
        return other

    def rows_within(self, memory: int | None) -> int:
        """How many queries are counted together."""
        self._memory = _BYTES if memory is None else memory
        return max(1, min(_QUERIES, self._memory // (512 * self._dtype.itemsize)))

    def _norms(self, rows: Any, name: str) -> tuple[Any, float]:
        torch = self._torch
        norms = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
        extremes = [norms.new_zeros(())]
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            norms[start : start + _ROWS] = torch.linalg.vector_norm(part, dim=1, dtype=torch.float64)
            if part.numel():
                extremes += [each.double().abs() for each in part.aminmax()]
        largest = float(torch.stack(extremes).max())  # NaN spreads through all of them
        if not np.isfinite(largest):
            bad = sum(int((~torch.isfinite(part)).sum()) for part in rows.split(_ROWS))
            raise InputError(f"NaN or infinite values ({bad} found)", where=name, fix="Repair the embeddings.")
        return norms, largest

    def _bounds(self, left: Any, own: Any) -> Any:
        """For each query, how far a fast score may be from the float64 score."""
        bound = self._rounding(own)
        if self._precision != "full":
            if not self._worst:
                starts = range(0, self.entities, _ROWS)
                lost = [self._residuals(self._right[start : start + _ROWS]).max() for start in starts]
                self._worst.append(self._torch.stack([own.new_zeros(()), *lost]).max())
            worst, factor = self._worst[0], 2 if self._score == "l2" else 1
            bound = bound + factor * (self._residuals(left) * (self._largest + worst) + own * worst)
        return bound

    def _split_bounds(self, own: Any) -> Any:
        """The same for products of high and low parts: low × low is left out, and what the low parts lose."""
        torch, factor = self._torch, 2 if self._score == "l2" else 1
        lost = 3.1 * _LOST[self._precision] ** 2 * own * self._largest
        smallest = torch.finfo(torch.bfloat16).smallest_normal * 2.0**-7
        return self._rounding(own) + factor * (lost + self._left.shape[1] ** 0.5 * smallest * (own + self._largest))

    def _rounding(self, own: Any) -> Any:
        """What the rounding of sums may add, for queries of these norms."""
        torch, width, largest = self._torch, self._left.shape[1], self._largest
        info = torch.finfo(self._dtype)
        unit = (info.eps + torch.finfo(torch.float64).eps) / 2
        if self._score == "l1":
            bound = (width + 4) * unit * width**0.5 * (own + largest)
        elif self._score == "l2":
            bound = (width + 4) * unit * (2 * own * largest + largest**2 + own**2)
        else:
            bound = (width + 2) * unit * own * largest
        # Matrix units may drop bits of a sum instead of rounding it.
        return (1 if self._precision == "full" else 4) * bound + (width + 4) * info.tiny

    def _residuals(self, rows: Any) -> Any:
        """The norm of what each row loses in the faster precision."""
        torch = self._torch
        rows = rows.to(torch.float32)
        lost = rows.double() - self._narrowed(rows).double()
        return torch.linalg.vector_norm(lost, dim=1)

    def _narrowed(self, rows: Any) -> Any:
        torch = self._torch
        rows = rows.to(self._dtype)
        if self._precision == "bf16":
            return rows.to(torch.bfloat16)
        if self._precision == "tf32":
            return (rows.contiguous().view(torch.int32) & _TF32_MASK).view(torch.float32)
        return rows

    def counts(self, block: slice, row: Ints, target: Ints, field: Field, threads: int | None) -> BlockCounts:
        torch = self._torch
        device = self._left.device
        rows, targets = (torch.as_tensor(numbers, device=device) for numbers in (row, target))
        left = self._left[block]
        own = self._own_scores(left, rows, targets)
        norm = self._norm[block]
        shift = norm[rows] ** 2 if self._score == "l2" else 0.0
        greater, equal = (torch.zeros(len(row), dtype=torch.int32, device=device) for _ in range(2))
        kernels = fused_products() if self._precision != "full" and left.is_cuda else None
        if kernels and field.allowed is None and len(row) <= _ANSWERS * len(left):
            bound = self._split_bounds(norm)[rows]
            bands = Bands(rows, len(left), own + shift - bound, own + shift + bound, self._dtype)
            banded = kernels.Banded(left, bands.rows, own, bands.low, bands.high)
            kernels.count_products(banded, self._right, self._squares, self._score, self._precision, greater, equal)
            self._take_away(bands, field, block, left, own, greater, equal)
            return _counted(greater, equal, own)
        bound = self._bounds(left, norm)[rows]
        bands = Bands(rows, len(left), own + shift - bound, own + shift + bound, self._dtype)
        absent = _Absent(field, block, device, torch)
        fast_left = self._narrowed(left)
        step = max(1, self._memory // (2 * max(1, len(left)) * self._dtype.itemsize))
        step = min(self.entities, step // _ALIGNED * _ALIGNED or step)
        rooms = [torch.empty(len(left) * step, dtype=self._dtype, device=device) for _ in range(2)]
        waiting: Any = None
        for turn, first in enumerate(range(0, self.entities, step)):
            columns = slice(first, min(first + step, self.entities))
            scores = self._fast(fast_left, columns, rooms[turn % 2])
            absent.blank(scores, columns, float("-inf"))
            under_way = bands.start(scores, first)
            for places in waiting or ():
                bands.compare_again(left, self._right, self._score, places, own, greater, equal)
            waiting = under_way
        for places in waiting or ():
            bands.compare_again(left, self._right, self._score, places, own, greater, equal)
        return _counted(bands.above + greater, equal, own)

    def _take_away(
        self, bands: Bands, field: Field, block: slice, left: Any, own: Any, greater: Any, equal: Any
    ) -> None:
        """Subtract the entities that take no part from counts of all entities: both are exact."""
        torch = self._torch
        sizes, columns = np.diff(field.absent.offsets[block.start : block.stop + 1]), field.absent.within(block)
        first, size = (torch.as_tensor(each, device=left.device) for each in (np.cumsum(sizes) - sizes, sizes))
        rows = bands.rows.long()
        numbers = torch.arange(len(rows), dtype=torch.int32, device=left.device)
        band = torch.repeat_interleave(numbers, size[rows])
        place = (
            torch.arange(len(band), device=left.device) + (first[rows] - size[rows].cumsum(0) + size[rows])[band.long()]
        )
        column = torch.as_tensor(columns.astype(np.int32), device=left.device)[place]
        above, same = torch.zeros_like(greater), torch.zeros_like(equal)
        bands.compare_again(left, self._right, self._score, (band, column), own, above, same)
        greater -= above
        equal -= same

    def _own_scores(self, left: Any, rows: Any, targets: Any) -> Any:
        step = 1 << 18
        parts = [
            ordered_scores(left[rows[start : start + step]], self._right[targets[start : start + step]], self._score)
            for start in range(0, len(rows), step)
        ]
        return self._torch.cat(parts) if parts else self._left.new_zeros(0, dtype=self._torch.float64)

    def _fast(self, left: Any, columns: slice, room: Any) -> Any:
        torch = self._torch
        right = self._narrowed(self._right[columns])
        out = room[: len(left) * len(right)].view(len(left), len(right))
        if self._score == "l1":
            # The row of differences of one query at a time would be the input's size: in blocks, without a product.
            return torch.neg(torch.cdist(left, right, p=1.0), out=out)
        with _tf32(torch, self._precision == "tf32"):
            if self._precision == "bf16" and left.is_cuda:
                torch.mm(left, right.T, out_dtype=torch.float32, out=out)
            else:
                torch.mm(left.to(self._dtype), right.to(self._dtype).T, out=out)
        if self._squares is not None:
            out.mul_(2).sub_(self._squares[columns])
        return out


def _counted(greater: Any, equal: Any, own: Any) -> BlockCounts:
    above, tied = (each.cpu().numpy().astype(np.int64) for each in (greater, equal))
    return BlockCounts(above, tied, own.cpu().numpy())


class _Absent:
    """The entities that take no part in a block of queries, by column."""

    def __init__(self, field: Field, block: slice, device: Any, torch: Any) -> None:
        rows, columns = field.absent.rows(block), field.absent.within(block)
        order = np.argsort(columns, kind="stable")
        self._sorted = columns[order]
        self._rows, self._columns = (torch.as_tensor(part[order], device=device) for part in (rows, columns))
        self._allowed = None
        if field.allowed is not None:
            kinds, self._kind = np.unique(field.kind[block], return_inverse=True)
            self._allowed, self._kinds = field.allowed.take(kinds), len(kinds)
            self._of_row = torch.as_tensor(self._kind, device=device)
        self._torch, self._device = torch, device

    def blank(self, scores: Any, columns: slice, nothing: float) -> None:
        """Write `nothing` over the scores of entities that take no part."""
        torch = self._torch
        if self._allowed is not None:
            inside = (self._allowed.values >= columns.start) & (self._allowed.values < columns.stop)
            barred = torch.ones(self._kinds, scores.shape[1], dtype=torch.bool, device=self._device)
            kind, entity = self._allowed.rows()[inside], self._allowed.values[inside] - columns.start
            barred[torch.as_tensor(kind, device=self._device), torch.as_tensor(entity, device=self._device)] = False
            scores.masked_fill_(barred[self._of_row], nothing)
        begin, end = (int(place) for place in np.searchsorted(self._sorted, (columns.start, columns.stop)))
        # A tensor on the device: a Python number would be copied there, and waited for.
        value = torch.full((), nothing, dtype=scores.dtype, device=self._device)
        scores.index_put_((self._rows[begin:end], self._columns[begin:end] - columns.start), value)


class DeviceScores:
    """The scores (b, m) of a function, which it left on a device."""

    def __init__(self, scores: Any) -> None:
        import torch

        self._torch = torch
        missing = int(torch.count_nonzero(scores != scores))
        if missing:
            raise InputError(f"{missing} of {scores.numel()} values are NaN", where="score", fix="Repair the model.")
        if not scores.is_floating_point() and scores.numel():
            refuse_inexact(int(scores.min()), int(scores.max()))
        narrow = scores.is_floating_point() and scores.dtype != torch.float64
        dtype = torch.float32 if narrow else torch.float64
        self._scores = scores.to(dtype, copy=True, memory_format=torch.contiguous_format)

    def own(self, row: Ints, target: Ints) -> Any:
        rows, targets = (self._torch.as_tensor(numbers, device=self._scores.device) for numbers in (row, target))
        return self._scores[rows, targets].cpu().numpy()

    def blank(self, field: Field, block: slice) -> None:
        everything = slice(0, self._scores.shape[1])
        _Absent(field, block, self._scores.device, self._torch).blank(self._scores, everything, float("nan"))

    def lowest(self) -> Any:
        """How many scores of each row are −inf."""
        return self._torch.isneginf(self._scores).sum(1).cpu().numpy()

    def first_lowest(self) -> tuple[int, int]:
        row, column = divmod(int(self._torch.isneginf(self._scores).int().argmax()), int(self._scores.shape[1]))
        return row, column

    def drop_lowest(self) -> None:
        self._scores.masked_fill_(self._torch.isneginf(self._scores), float("nan"))

    def counts(self, row: Ints, own: Any) -> tuple[Ints, Ints]:
        """How many scores of its row are above each of the right answers' own, and equal to it."""
        device, (queries, width) = self._scores.device, self._scores.shape
        rows, own = (self._torch.as_tensor(each, device=device) for each in (row, own))
        answers = np.bincount(row, minlength=queries)
        if self._scores.is_cuda and 0 < answers.max(initial=0) <= LOOKED_UP and (kernels := fused()):
            begin = self._torch.arange(queries, device=device) * width
            first = self._torch.as_tensor(np.append(0, np.cumsum(answers)), device=device)
            size = self._torch.full_like(begin, width)
            found = looked_up(kernels, self._scores.view(-1), own, begin, size, first, int(answers.max()), width)
        else:
            bands = Bands(rows, queries, own, own, self._scores.dtype)
            bands.count(self._scores)
            found = bands.above, bands.inside
        greater, equal = (counts.cpu().numpy().astype(np.int64) for counts in found)
        return greater, equal


class _tf32:
    """Products of float32 with or without TF32, and the setting of the user afterwards."""

    def __init__(self, torch: Any, wanted: bool) -> None:
        self._flags, self._wanted = torch.backends.cuda.matmul, wanted

    def __enter__(self) -> None:
        self._before, self._flags.allow_tf32 = self._flags.allow_tf32, self._wanted

    def __exit__(self, *_: object) -> None:
        self._flags.allow_tf32 = self._before


def device_scorer(queries: Any, entities: Any, score: str, precision: str) -> OnDevice:
    """The scorer of embeddings on a device; `distmult` takes a pair (heads, relations)."""
    import torch

    if score == "distmult":
        if not isinstance(queries, tuple | list) or len(queries) != 2:
            raise OptionError("distmult takes queries=(heads, relations)", fix="Both have the entities' width.")
        heads, relations = queries
        require_shape(relations, tuple(heads.shape), "queries[1]", "Heads and relations have the same shape.")
        dtype = torch.promote_types(torch.promote_types(heads.dtype, relations.dtype), entities.dtype)
        dtype = torch.promote_types(dtype, torch.float32)
        queries = heads.to(dtype) * relations.to(dtype)
    require_shape(entities, (None, None), "entities", "Embeddings have shape (m, d).")
    require_shape(queries, (None, entities.shape[1]), "queries", "Queries and entities have the same width.")

    def plain(rows: Any) -> Any:
        return (rows if rows.is_floating_point() else rows.double()).detach().contiguous()

    return OnDevice(plain(queries), plain(entities), score, precision)
