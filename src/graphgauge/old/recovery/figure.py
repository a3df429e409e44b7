"""The recovery figure: both graphs as matrices with their differences marked, and the curves of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.figures import CHANCE, COLOURS, canvas
from graphgauge.old.core.graphs import Names
from graphgauge.old.core.result import Table
from graphgauge.old.recovery.comparison import Comparison, Stack
from graphgauge.old.recovery.drawings import Ends, cells_by_kind, drawn_graph
from graphgauge.old.recovery.functions import swept
from graphgauge.old.recovery.pairs import curve_of

# Sizes at which F1@K is drawn, as multiples of the true edges.
_FRACTIONS = np.round(np.arange(0.1, 3.01, 0.1), 1)


@dataclass(frozen=True)
class Picture:
    """One graph: its true edges, the class of each predicted one, and the curves over thresholds and sizes."""

    title: str
    d: int
    names: Names | None
    true: Ends
    predicted: Mapping[str, Ends]
    precision_recall: Table
    thresholds: Table
    at_k: Table
    threshold: float
    prevalence: float


def picture(comparison: Comparison | Stack) -> Picture:
    """The first graph of a stack, or the summary graph over all lags."""
    names = (comparison.first if isinstance(comparison, Stack) else comparison).truth.names
    comparison, title = drawn_graph(comparison)
    pair, d = comparison.pair, comparison.d
    curve = curve_of(pair, [0])
    found, selected = curve.found, curve.selected
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = found / selected
        steps = {
            "recall": np.append(precision[:1] * 0, found / curve.edges),
            "precision": np.append(precision[:1], precision),
        }
        prevalence = curve.edges / curve.cells if curve.cells else np.nan
    sizes = np.array([curve.cut(fraction) if curve.edges else 0 for fraction in _FRACTIONS])
    at_k = {
        "fraction": _FRACTIONS,
        "f1": np.array([curve.f1_at(fraction) for fraction in _FRACTIONS]),
        "random": 2 * sizes * prevalence / np.maximum(sizes + curve.edges, 1),
    }
    return Picture(
        title=title,
        d=d,
        names=names,
        true=np.divmod(pair.true_edges(0), d),
        predicted=cells_by_kind(pair, d),
        precision_recall=Table("recall", steps),
        thresholds=swept(comparison),
        at_k=Table("fraction", at_k),
        threshold=float(comparison.options.threshold),
        prevalence=prevalence,
    )


# Kinds of predicted cells: colour, marker and size relative to a full cell.
_MARKS = {
    "correct": ("#333333", "s", 1.0),
    "missing": (COLOURS[4], "s", 1.0),
    "extra": (COLOURS[1], "X", 0.85),
    "reversed": (COLOURS[3], "D", 0.75),
    "undirected in one": (COLOURS[2], "o", 0.6),
}
# The most nodes shown by name.
_NAMED = 30


def draw_recovery(evaluation: Evaluation, picture: Picture, path: str | Path) -> None:
    """Draw truth and prediction above, precision against recall, the threshold and F1@K below."""
    with canvas(path, width=12.6, height=7.9) as whole:
        (truth, prediction, distance), (recall, threshold, size) = whole.subplots(2, 3)
        _matrix(truth, picture, {"correct": picture.true}, "truth")
        _matrix(prediction, picture, picture.predicted, picture.title)
        prediction.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4, fontsize=8, markerscale=0.7, columnspacing=1
        )
        truth.set(ylabel="from")
        _precision_recall(recall, picture)
        _thresholds(
            threshold, picture, {"directed_precision": "precision", "directed_recall": "recall", "directed_f1": "F1"}
        )
        threshold.set(ylabel="share", ylim=(0, 1.02))
        shown = {"directed_shd": "with directions", "skeleton_shd": "skeleton"}
        _thresholds(distance, picture, shown)
        empty = evaluation["directed_shd"].chance if "directed_shd" in evaluation else ()
        for baseline in empty:
            if baseline.name == "empty graph":
                distance.axhline(baseline.value, ls="--", color=CHANCE, label="empty graph")
        distance.set(ylabel=f"SHD ({evaluation.conventions['shd']}s)", ylim=(0, None))
        distance.legend(loc="upper right", fontsize=8)
        _sizes(size, picture)


def _matrix(axis: Any, picture: Picture, marks: dict[str, Ends] | Any, title: str) -> None:
    width = 190.0 / max(picture.d, 1)
    for name, (source, target) in marks.items():
        colour, marker, scale = _MARKS[name]
        label = f"{name} {len(source)}"
        area = max((width * scale) ** 2, 0.5)
        axis.scatter(target, source, s=area, c=colour, marker=marker, lw=0, label=label, rasterized=len(source) > 5000)
    axis.set(title=title, xlim=(-0.5, picture.d - 0.5), ylim=(picture.d - 0.5, -0.5), aspect="equal", xlabel="to")
    axis.set_axisbelow(True)
    axis.xaxis.set_label_position("top")
    axis.tick_params(length=0, labelsize=7, labelbottom=False, labeltop=True, top=False)
    if picture.names is not None and picture.d <= _NAMED:
        labels = [str(name)[:12] for name in picture.names]
        axis.set_xticks(range(picture.d), labels, rotation=90)
        axis.set_yticks(range(picture.d), labels)
    for spine in axis.spines.values():
        spine.set(visible=True, alpha=0.4)


def _precision_recall(axis: Any, picture: Picture) -> None:
    curve = picture.precision_recall
    axis.step(curve["recall"], curve["precision"], where="pre", label="model")
    axis.axhline(picture.prevalence, ls="--", color=CHANCE, label="constant scorer")
    axis.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    axis.legend(loc="upper right", fontsize=8)


def _thresholds(axis: Any, picture: Picture, shown: dict[str, str]) -> None:
    table = picture.thresholds
    for key, label in shown.items():
        axis.step(table["threshold"], table[key], where="post", label=label)
    axis.axvline(picture.threshold, color="#000000", lw=0.8, ls=":", label="threshold")
    axis.set(xlabel="threshold")
    axis.legend(fontsize=8)


def _sizes(axis: Any, picture: Picture) -> None:
    table = picture.at_k
    axis.plot(table["fraction"], table["f1"], label="model")
    axis.plot(table["fraction"], table["random"], ls="--", color=CHANCE, label="random order")
    axis.axvline(1, color="#000000", lw=0.8, ls=":")
    axis.set(xlabel="K / true edges", ylabel="F1 of the K best", ylim=(0, 1.02), xlim=(0, 3.05))
    axis.legend(loc="upper right", fontsize=8)
