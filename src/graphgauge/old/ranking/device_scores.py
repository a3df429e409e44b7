"""Scores that a function left on a CUDA device: they are counted there, and only counts are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.device import threshold_counts
from graphgauge.kernels.dtypes import refuse_inexact

if TYPE_CHECKING:
    from graphgauge.old.ranking.all_entities import Field


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

    def _there(self, numbers: Any) -> Any:
        return self._torch.as_tensor(numbers, device=self._scores.device)

    def own(self, row: Ints, target: Ints) -> Any:
        return self._scores[self._there(row), self._there(target)].cpu().numpy()

    def blank(self, field: Field, block: slice) -> None:
        """Write NaN over the scores of entities that take no part."""
        if field.allowed is not None:
            kinds, kind = np.unique(field.kind[block], return_inverse=True)
            allowed = field.allowed.take(kinds)
            barred = self._torch.ones(
                len(kinds), self._scores.shape[1], dtype=self._torch.bool, device=self._scores.device
            )
            barred[self._there(allowed.rows()), self._there(allowed.values)] = False
            self._scores.masked_fill_(barred[self._there(kind)], float("nan"))
        rows, columns = (self._there(each) for each in (field.absent.rows(block), field.absent.within(block)))
        self._scores[rows, columns] = float("nan")

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
        greater, equal = threshold_counts(self._scores, self._there(row), self._there(own))
        return greater.cpu().numpy().astype(np.int64), equal.cpu().numpy().astype(np.int64)
