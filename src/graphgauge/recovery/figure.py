"""The recovery figure, and the small tables that it is drawn from: which cells are right, and curves of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, COLOURS
from graphgauge.core.grid import Grid
from graphgauge.core.types import Ints
from graphgauge.recovery.compare import CELLS, Pair
from graphgauge.recovery.curves import Curve, ranked
from graphgauge.recovery.functions import scores_of, swept
from graphgauge.recovery.graph import mirrored

SIZE = (13.2, 3.6)
# Larger graphs are unreadable as a small matrix, and denser ones too long for a result file.
_NODES, _CELLS = 60, 800
_RECALLS, _FRACTIONS = np.linspace(0.05, 1, 20).round(2), np.round(np.arange(0.1, 2.01, 0.1), 1)
# Kinds of cells: colour, marker and size relative to a full cell.
_LOOKS = {
    "correct": ("#333333", "s", 1.0),
    "missing": (COLOURS[4], "s", 1.0),
    "extra": (COLOURS[1], "X", 0.85),
    "reversed": (COLOURS[3], "D", 0.75),
}


def drawings(pair: Pair) -> dict[str, Grid]:
    """Tables of one comparison: of lags the summary graph, of several graphs the first."""
    pair = pair.summary() if pair.is_lagged else pair
    tables, curve = {}, Curve.over([ranked(pair)])
    if curve.edges:
        f1 = [curve.f1_at(fraction) for fraction in _FRACTIONS.tolist()]
        # The smallest set of best-scored cells that has at least this share of the true edges.
        at = np.minimum(np.searchsorted(curve.found, _RECALLS * curve.edges - 1e-9), len(curve.found) - 1)
        tables = {
            "precision": Grid.of(recall=_RECALLS, precision=curve.found[at] / curve.selected[at]),
            "f1_at_k": Grid.of(fraction=_FRACTIONS, f1=np.array(f1)),
        }
    cells = _cells(pair) if 0 < pair.d <= _NODES else {}
    kinds = np.repeat(list(cells), [len(each) for each in cells.values()])
    if 0 < len(kinds) <= _CELLS:
        source, target = np.divmod(np.concatenate(list(cells.values())), pair.d)
        tables["edges"] = Grid.of(kind=kinds, source=source, target=target)
        tables["nodes"] = Grid.of(node=[str(name) for name in pair.names], n=list(range(pair.d)))
        if pair.prediction[0].scores is None:
            sweep = swept((pair,), scores_of((pair,)))
            tables["thresholds"] = Grid({name: sweep[name] for name in ("threshold", "directed_shd", "skeleton_shd")})
    return tables


def _cells(pair: Pair) -> dict[str, Ints]:
    """The cells in which one of the graphs has an edge, by what they are; an edge without direction is in both."""
    keys, kinds = pair.edges()
    cells, (true, found) = np.stack([keys, mirrored(keys, pair.d)], axis=1), CELLS[kinds] > 0
    extra, missing = found & ~true, true & ~found
    turned = extra & missing[:, ::-1]
    marked = {"correct": true & found, "missing": missing & ~turned[:, ::-1], "extra": extra & ~turned}
    return {kind: cells[held] for kind, held in (marked | {"reversed": turned}).items()}


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The cells of the first evaluation, and of each: precision by recall, F1 of the K best cells, and distances."""
    cells, precision, size, distance = figure.subplots(1, 4)
    first = next(iter(evaluations.values()))
    if "edges" in first.drawings:
        _matrix(cells, first.drawings["edges"], first.drawings["nodes"]["node"])
    else:
        cells.set_axis_off()
    lines = (
        (precision, "precision", "recall", "precision"),
        (size, "f1_at_k", "fraction", "f1"),
        (distance, "thresholds", "threshold", "directed_shd"),
    )
    for name, evaluation in evaluations.items():
        for axis, table, x, y in lines:
            if table in evaluation.drawings:
                grid = evaluation.drawings[table]
                axis.plot(grid[x], grid[y], label=name, drawstyle="steps-post" if x == "threshold" else "default")
    chance = first["auprc"].chance if "auprc" in first else None
    if chance is not None:
        precision.axhline(chance.value, ls="--", color=CHANCE)
    for level in first["directed_shd"].references if "directed_shd" in first else ():
        if level.name == "empty graph":
            distance.axhline(level.value, ls="--", color=CHANCE)
    precision.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    size.set(xlabel="K / true edges", ylabel="F1 of the K best", ylim=(0, 1.02))
    distance.set(xlabel="threshold", ylabel="SHD (dashed: empty graph)", ylim=(0, None))
    if precision.get_legend_handles_labels()[0]:
        precision.legend(fontsize=8)


def _matrix(axis: Any, cells: Grid, names: Any) -> None:
    """A mark for every edge: rows are sources, columns targets."""
    d = len(names)
    for kind, (colour, marker, scale) in _LOOKS.items():
        held: Ints = np.flatnonzero(cells["kind"] == kind)
        if held.size:
            look = {"s": (160.0 / d * scale) ** 2, "c": colour, "marker": marker, "lw": 0}
            axis.scatter(cells["target"][held], cells["source"][held], label=f"{kind} {held.size}", **look)
    axis.set(xlim=(-0.5, d - 0.5), ylim=(d - 0.5, -0.5), aspect="equal", xlabel="to", ylabel="from")
    labels = [str(name)[:12] for name in names]
    if d <= 30:
        axis.set_xticks(range(d), labels, rotation=90, fontsize=7)
        axis.set_yticks(range(d), labels, fontsize=7)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=2, fontsize=7, markerscale=0.5, frameon=False)
