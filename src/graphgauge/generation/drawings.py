"""What reports draw of a generator: a few of its samples and of the real ones, with what they were meant to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import Samples
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.result import Table

# Samples that are drawn, of the generator and of the real ones, and how large they may be.
_GENERATED, _REAL = 6, 3
_SIDE, _CELLS = 64, 400

Cells = tuple[int, int, Ints, Ints, Ints]


def drawings(table: SampleTable) -> dict[str, Table]:
    """The cells of a few samples, and what each sample is."""
    if table.generated is None:
        return {}
    chosen = [(_words(table, int(row)), 0.0, cells) for row, cells in _spread(table.generated, _GENERATED)]
    if table.real is not None and chosen:
        chosen += [(_real_words(table, int(row)), 1.0, cells) for row, cells in _spread(table.real, _REAL)]
    if not chosen:
        return {}
    sizes = [len(cells[2]) for *_, cells in chosen]
    rows, columns, channels = (np.concatenate([cells[part] for *_, cells in chosen]) for part in (2, 3, 4))
    return {
        "samples": Table(
            "sample",
            {
                "sample": np.array([words for words, *_ in chosen]),
                "real": np.array([real for _, real, _ in chosen]),
                "height": np.array([cells[0] for *_, cells in chosen]),
                "width": np.array([cells[1] for *_, cells in chosen]),
            },
        ),
        "cells": Table(
            "number",
            {"number": np.repeat(np.arange(len(chosen)), sizes), "row": rows, "column": columns, "channel": channels},
        ),
    }


def _words(table: SampleTable, row: int) -> str:
    """What was asked for, what the classifier takes it for, and whether it is valid."""
    said = []
    if len(table.labels) > 1:
        said.append(f"asked for {table.labels[table.codes[row]]}")
    if table.predicted is not None and len(table.predicted) > row:
        code = int(table.predicted[row])
        said.append(f"classified as {table.labels[code] if 0 <= code < len(table.labels) else 'another'}")
    if table.valid is not None and not table.valid[row]:
        said.append("not valid")
    return ", ".join(said) or f"sample {row}"


def _real_words(table: SampleTable, row: int) -> str:
    return f"real, {table.labels[table.real_codes[row]]}" if len(table.labels) > 1 else f"real sample {row}"


def _spread(samples: Samples, count: int) -> Iterator[tuple[int, Cells]]:
    """Samples at equal distances, without those that are too large to draw."""
    for row in np.unique(np.linspace(0, len(samples) - 1, count).astype(int)) if len(samples) else ():
        cells = _cells(samples, int(row))
        if cells is not None and max(cells[:2]) <= _SIDE and len(cells[2]) <= _CELLS:
            yield int(row), cells


def _cells(samples: Samples, row: int) -> Cells | None:
    """The filled cells of a grid, with their channels, or of a graph's adjacency matrix."""
    if isinstance(samples, Graphs):
        ends = samples.edges[samples.offsets[row] : samples.offsets[row + 1]]
        source, target = ends.T
        if not samples.directed:
            source, target = np.concatenate([source, target]), np.concatenate([target, source])
        size = int(samples.nodes[row])
        return size, size, source, target, np.zeros(len(source), np.int64)
    grid = samples[row]
    if grid.ndim == 2:
        grid = grid[np.newaxis]
    if grid.ndim != 3:
        return None
    channel, height, width = np.nonzero(grid)
    return int(grid.shape[1]), int(grid.shape[2]), height, width, channel
