"""Batches that were counted on a device, and whose counts are copied when they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from graphgauge.core.errors import InputError
from graphgauge.kernels.device import DeviceCells, Missing
from graphgauge.ranking.inputs import FIX_NAN, nan_error

# Counts that stay on the device: bytes of them, and batches, each of which has tensors of its own.
_BYTES, _BATCHES = 1 << 25, 1 << 12


class WaitingBatch(NamedTuple):
    """The counts of one update, and its number."""

    update: int
    cells: DeviceCells


@dataclass
class WaitingBatches:
    """Batches in the order of their updates."""

    batches: list[WaitingBatch] = field(default_factory=list)
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self.batches)

    def add(self, batch: WaitingBatch) -> None:
        self.batches.append(batch)
        self._bytes += batch.cells.nbytes

    @property
    def full(self) -> bool:
        """Whether they take so much memory of the device that they have to be copied now."""
        return self._bytes > _BYTES or len(self.batches) >= _BATCHES


def refusal(refused: list[tuple[WaitingBatch, Missing]], updates: int) -> InputError:
    """The error about batches with NaN. It is raised later than their updates, so it names them if there are others."""
    batch, missing = refused[0]
    rows, width = batch.cells.rows, batch.cells.width
    if missing.positives:
        error = nan_error("pos_scores", missing.positives, rows, missing.first_positive)
    else:
        error = nan_error("neg_scores", missing.negatives, rows * width, (missing.row, missing.column))
    if updates == 1:
        return error
    numbers = ", ".join(str(each.update) for each, _ in refused)
    where = f"{error.where} of update {batch.update}"
    fix = f"{FIX_NAN} Then count again: this state cannot be read before reset(), because of"
    return InputError(error.what, where=where, fix=f"{fix} update{'s' * (len(refused) > 1)} {numbers}.")
