"""The figure of generators: values beside the levels of real samples, distances by statistic, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, SHAPES
from graphgauge.core.grid import Grid
from graphgauge.core.types import AnyArray
from graphgauge.generation.sample import Samples, Sides

SIZE = (12.6, 3.9)
# Values that are shares or lie near them, in the order of the first panel.
_SHARES = (
    "mean_iou",
    "validity_rate",
    "overall_uniqueness_ratio",
    "novelty",
    "nearer_to_training",
    "silhouette_score",
    "ordinal_spearman",
    "overall_exact_accuracy",
)
_DISTANCES = ("overall_mean_distance", "mmd", "degree_mmd", "clustering_mmd", "orbit_mmd", "spectral_mmd")
# Samples in the drawing, and the cells of one at most.
_DRAWN, _CELLS = 6, 2500


def drawings(sides: Sides) -> dict[str, Grid]:
    """Some real and generated boards, if samples are boards of bits: their cells that are set, and the last cell."""
    rows: list[tuple[str, int, int, int, float]] = []
    for name, side in (("real", sides.real), ("generated", sides.generated)):
        boards = _boards(side)
        for place, board in enumerate(() if boards is None else boards):
            height, width = board.shape
            rows += [(name, place, row, column, float(board[row, column])) for row, column in np.argwhere(board)]
            rows.append((name, place, height - 1, width - 1, float(board[-1, -1])))
    return {"boards": Grid.of_rows(("side", "sample", "row", "column", "value"), rows)} if rows else {}


def _boards(side: Samples | None) -> AnyArray | None:
    """The first valid samples (n, rows, columns), with the number of each cell's first channel that is set."""
    if side is None or not isinstance(side.items, np.ndarray) or side.items.ndim not in (3, 4) or not len(side):
        return None
    some = side.items[np.flatnonzero(side.kept)[:_DRAWN]]
    if some.ndim == 4:
        weights = np.arange(some.shape[1], 0, -1)
        some = (some * weights[:, np.newaxis, np.newaxis]).max(axis=1)
    return some if some[0].size <= _CELLS else None


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The panels that there is something for, on an empty figure; of several generators the samples of the first."""
    first = next(iter(evaluations.values()))

    def known(keys: Iterable[str]) -> list[str]:
        return [key for key in keys if any(key in each and each[key].defined for each in evaluations.values())]

    shares, distances = known(_SHARES), known(_DISTANCES)
    others = [] if shares or distances else list(first)
    panels = [
        partial(_values, evaluations, keys, title)
        for keys, title in ((shares, "values and levels"), (distances, "distances"), (others, "values"))
        if keys
    ]
    if "boards" in first.drawings:
        panels.append(partial(_drawn, first.drawings["boards"]))
    for place, panel in enumerate(panels):
        panel(figure.add_subplot(1, len(panels), place + 1))


def _values(evaluations: Mapping[str, Evaluation], keys: list[str], title: str, axis: Any) -> None:
    """A row per metric: value and interval of each generator, the band of a perfect one, a mark for chance."""
    first = next(iter(evaluations.values()))
    places = np.arange(len(keys))[::-1]
    for key, place in zip(keys, places, strict=True):
        for level in first[key].references if key in first else ():
            if level.name == "perfect" and level.low is not None and level.own is None:
                axis.plot(
                    (level.low, level.high), (place, place), color=CHANCE, lw=7, alpha=0.35, solid_capstyle="butt"
                )
            elif level.kind == "chance":
                axis.plot(level.value, place, "|", color=CHANCE, ms=10)
    for (name, each), shape in zip(evaluations.items(), SHAPES * len(evaluations), strict=False):
        known = [(place, each[key]) for key, place in zip(keys, places, strict=True) if key in each]
        values = np.array([result.value for _, result in known])
        ends = [tuple(result.interval) if result.interval else (result.value, result.value) for _, result in known]
        away = np.abs(np.array(ends).reshape(-1, 2) - values[:, np.newaxis]).T
        axis.errorbar(values, [place for place, _ in known], xerr=away, fmt=shape, ms=5, label=name)
    axis.set_yticks(places, keys)
    axis.set(title=f"{title} (grey: real samples)")
    if len(evaluations) > 1:
        axis.legend(fontsize=8)


def _drawn(grid: Grid, axis: Any) -> None:
    """Real samples in the upper row, generated ones in the lower one: a square for each cell that is set, no image."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    row, column, sample = (np.asarray(grid[name]).astype(int) for name in ("row", "column", "sample"))
    value, height, width = np.asarray(grid["value"]), row.max() + 1, column.max() + 1
    top, left = np.where(np.asarray(grid["side"]) == "real", 0, height + 1), sample * (width + 1)
    boards = [Rectangle(corner, width, height) for corner in sorted(set(zip(left.tolist(), top.tolist(), strict=True)))]
    corners = np.stack([left + column, top + height - 1 - row], axis=1)[value > 0].tolist()
    cells = PatchCollection([Rectangle(corner, 1, 1) for corner in corners], cmap="Blues", linewidths=0)
    cells.set_array(value[value > 0])
    cells.set_clim(0, max(value.max(), 1))
    axis.add_collection(PatchCollection(boards, facecolor="0.95", linewidths=0))
    axis.add_collection(cells)
    axis.set(title="real (above) and generated samples", xticks=[], yticks=[], aspect="equal")
    axis.set(xlim=(0, _DRAWN * (width + 1) - 1), ylim=(2 * height + 1, 0))
    axis.grid(visible=False)
