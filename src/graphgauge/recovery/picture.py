"""The data of the recovery figure; the drawing is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.core.graphs import Names
from graphgauge.core.result import Table
from graphgauge.recovery.comparison import Comparison
from graphgauge.recovery.functions import swept
from graphgauge.recovery.pairs import curves_of

Ends = tuple[Ints, Ints]

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


def picture(comparison: Comparison) -> Picture:
    """The first graph of a stack, or the summary graph over all lags."""
    title, names = "prediction", comparison.truth.names
    if comparison.options.lagged:
        comparison, title = comparison.summary, "prediction, over all lags"
    elif len(comparison.counts) > 1:
        comparison, title = comparison.first, f"prediction, the first of {len(comparison.counts)} graphs"
    pair, d = comparison.pair, comparison.d
    whole_truth, whole_prediction = pair.true_edges(0), pair.predicted_edges(0)
    elsewhere = _directed_in_one(whole_truth, whole_prediction, pair.undirected(0), d)
    true, predicted = np.setdiff1d(whole_truth, elsewhere), np.setdiff1d(whole_prediction, elsewhere)
    common = np.intersect1d(true, predicted, assume_unique=True)
    extra = np.setdiff1d(predicted, true, assume_unique=True)
    missing = np.setdiff1d(true, predicted, assume_unique=True)
    turned = np.intersect1d(extra, np.sort(missing % d * d + missing // d), assume_unique=True)
    curve, _ = curves_of(pair, [0])
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
    marked = {
        "correct": common,
        "missing": np.setdiff1d(missing, turned % d * d + turned // d),
        "extra": np.setdiff1d(extra, turned, assume_unique=True),
        "reversed": turned,
    }
    if elsewhere.size:
        marked["undirected in one"] = np.intersect1d(whole_prediction, elsewhere)
    return Picture(
        title=title,
        d=d,
        names=names,
        true=np.divmod(whole_truth, d),
        predicted={name: np.divmod(cells, d) for name, cells in marked.items()},
        precision_recall=Table("recall", steps),
        thresholds=swept(comparison),
        at_k=Table("fraction", at_k),
        threshold=float(comparison.options.threshold),
        prevalence=prevalence,
    )


def _directed_in_one(true: Ints, predicted: Ints, undirected: Ends, d: int) -> Ints:
    """Both cells of the pairs that are adjacent in both graphs and undirected in one of them."""
    in_one = np.setxor1d(*undirected)
    source, target = np.divmod(in_one, d)
    back = target * d + source
    held = [np.isin(in_one, edges) | np.isin(back, edges) for edges in (true, predicted)]
    return in_one[held[0] & held[1]]
