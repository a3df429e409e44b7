"""Tables that stay on a CUDA device while they are filled: sums by time block and group, and counts of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.forecast import Sums


class ColumnSums:
    """Sums of columns, numbers of each cell (steps, horizons, nodes): by time block and horizon, by place and node.

    With `weights` of the nodes the sums by horizon are weighted, and both have the counts, likewise, as further sums.
    """

    def __init__(self, device: Any, blocks: int, places: int, horizons: int, nodes: int, weights: Any = None) -> None:
        self._device, self._weights = device, weights
        self._groups = (blocks, horizons), (places, nodes)
        self._tables: list[tuple[Any, Any]] = []

    def add(self, block: int, place: Any, floats: Sequence[Any], counts: Sequence[Any]) -> None:
        """Add the columns of successive blocks of equal length, each with a place; `block` is the first one."""
        import torch

        if not self._tables:
            width = len(floats) + (len(counts) if self._weights is not None else 0)
            for columns, dtype in ((width, torch.float64), (len(counts), torch.int64)):
                zeros = [torch.zeros(*group, columns, dtype=dtype, device=self._device) for group in self._groups]
                self._tables.append((zeros[0], zeros[1]))
        (by_horizon, by_node), (horizon_counts, node_counts) = self._tables
        rows = slice(block, block + len(place))

        def lanes(values: Any) -> Any:
            return values.reshape(len(place), -1, *values.shape[1:]).sum(1)

        def add_floats(column: int, sums: Any) -> None:
            by_horizon[rows, :, column] += sums.sum(2) if self._weights is None else sums @ self._weights
            by_node[:, :, column].index_add_(0, place, sums.sum(1))

        for column, values in enumerate(floats):
            add_floats(column, lanes(values))
        for column, values in enumerate(counts):
            whole = lanes(values)
            horizon_counts[rows, :, column] += whole.sum(2)
            node_counts[:, :, column].index_add_(0, place, whole.sum(1))
            if self._weights is not None:
                add_floats(len(floats) + column, whole.double())

    def copied(self) -> tuple[Sums, Sums]:
        """The sums by horizon and by node, on the host."""
        if not self._tables:
            empty = [np.zeros((*group, 0)) for group in self._groups]
            return Sums(empty[0], empty[0], empty[0].astype(int)), Sums(empty[1], empty[1], empty[1].astype(int))
        tables = [[table.cpu().numpy() for table in pair] for pair in self._tables]
        (by_horizon, by_node), (horizon_counts, node_counts) = tables
        return (
            Sums(by_horizon, np.zeros_like(by_horizon), horizon_counts),
            Sums(by_node, np.zeros_like(by_node), node_counts),
        )


class Counted(NamedTuple):
    """Distinct codes in increasing order, how often each occurred, and the sums of its numbers, one column each."""

    codes: Ints
    counts: Ints
    sums: Floats

    def between(self, start: int, stop: int) -> Counted:
        """The codes from `start` up to `stop`, counted from `start`."""
        rows = slice(*np.searchsorted(self.codes, [start, stop]).tolist())
        return Counted(self.codes[rows] - start, self.counts[rows], self.sums[rows])


class Tallies:
    """Counts of codes (int64, not negative), and sums of numbers that come with them."""

    def __init__(self) -> None:
        self._known: list[Any] = []

    def add(self, codes: Any, *values: Any) -> None:
        """Add codes of one dimension, and as many numbers in float64 for each of the sums."""
        import torch

        numbers = torch.stack(values, 1) if values else torch.zeros(len(codes), 0, dtype=torch.float64).to(codes.device)
        new = _summed(codes, torch.ones_like(codes), numbers)
        if self._known:
            new = _summed(*(torch.cat(pair) for pair in zip(self._known, new, strict=True)))
        self._known = new

    def copied(self) -> Counted:
        if not self._known:
            return Counted(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0)))
        codes, counts, sums = (table.cpu().numpy() for table in self._known)
        return Counted(codes, counts, sums)


def _summed(codes: Any, count: Any, numbers: Any) -> list[Any]:
    distinct, place = codes.unique(return_inverse=True)
    return [
        distinct,
        *(table.new_zeros(len(distinct), *table.shape[1:]).index_add_(0, place, table) for table in (count, numbers)),
    ]


def packed(bits: Any) -> Any:
    """As `np.packbits` of rows."""
    import torch

    whole = torch.nn.functional.pad(bits, (0, -bits.shape[1] % 8)).reshape(len(bits), -1, 8)
    value = 1 << torch.arange(7, -1, -1, device=bits.device)
    return (whole * value).sum(2).to(torch.uint8)
