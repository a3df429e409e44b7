"""Cells that come one a row, in any order, set side by side as the arrays that everything else works on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray
from graphgauge.forecasting.inputs import Slab

Ints = NDArray[np.int64]


def side_by_side(flat: Slab, block: Ints, horizon: Ints, node: Ints, horizons: int) -> tuple[Slab, Ints, Ints]:
    """A slab of the time blocks and nodes that occur in the rows, and which these are; what has no row is masked.

    Cells of one block, horizon and node lie one behind the other.
    """
    (blocks, row), (nodes, column) = (np.unique(numbers, return_inverse=True) for numbers in (block, node))
    code = (row * horizons + horizon) * len(nodes) + column
    order = np.argsort(code, kind="stable")
    depth = np.empty(len(code), np.int64)
    depth[order] = np.arange(len(code)) - np.searchsorted(code[order], code[order])
    shape = (len(blocks), int(depth.max(initial=0)) + 1, horizons, len(nodes))

    def placed(values: AnyArray) -> AnyArray:
        table = np.zeros(shape, values.dtype)
        table[row, depth, horizon, column] = values.reshape(-1)
        return table.reshape(-1, *shape[2:])

    std = None if flat.std is None else placed(flat.std)
    slab = Slab(placed(flat.y), placed(flat.mean), std, None, None, placed(flat.counted), flat.dropped)
    return slab, blocks, nodes
