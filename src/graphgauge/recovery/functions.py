"""Functions that return a plain number, a curve or a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.grid import Grid
from graphgauge.core.registry import find
from graphgauge.core.types import Floats
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.curves import ranked
from graphgauge.recovery.evaluate import FRACTIONS, Comparison
from graphgauge.recovery.graph import Graph, Kind
from graphgauge.recovery.reading import Reading, pairs
from graphgauge.recovery.structure import models_of

# Areas under the precision-recall curve, with their metrics.
_AREAS = {"steps": "auprc", "trapezoid": "auprc_trapezoid"}
# The columns of a threshold sweep, and its most rows.
_DIRECTED = "directed_precision", "directed_recall", "directed_f1", "directed_shd"
_SWEPT = ("tp", "fp", "fn", *_DIRECTED, "skeleton_f1", "skeleton_shd")
_POINTS = 200


def shd(A_true: Any, A_pred: Any, *, kind: str = "pair", **reading: Any) -> int:
    """Structural Hamming distance of two graphs.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    kind
        `pair`, a reversal costs 1, or `cell`, a reversal costs 2.
    **reading
        The options of `evaluate` that say how graphs are read, such as `threshold`.

    Returns
    -------
    int
        0 for equal graphs; at most one per pair of nodes (`pair`), or per cell (`cell`).

    Examples
    --------
    >>> from graphgauge import recovery
    >>> true, reversed = [[0, 1], [0, 0]], [[0, 0], [1, 0]]
    >>> recovery.shd(true, reversed), recovery.shd(true, reversed, kind="cell")
    (1, 2)
    """
    return _distance("directed_shd", _compared(A_true, A_pred, reading, shd=kind))


def skeleton_shd(A_true: Any, A_pred: Any, **reading: Any) -> int:
    """Pairs of nodes that are adjacent in only one of the two graphs.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    **reading
        The options of `evaluate` that say how graphs are read, such as `threshold`.

    Returns
    -------
    int
        From 0 to the number of pairs; a reversed edge costs nothing.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.skeleton_shd([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]])
    1
    """
    return _distance("skeleton_shd", _compared(A_true, A_pred, reading))


def directed_f1(A_true: Any, A_pred: Any, *, zero_division: float | None = None, **reading: Any) -> float:
    """F1 of the predicted edges, direction included; the mean over several graphs.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    zero_division
        The value if neither graph has an edge.
    **reading
        The options of `evaluate` that say how graphs are read, such as `threshold`.

    Returns
    -------
    float
        In [0, 1]; 1 for equal graphs.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> round(recovery.directed_f1([[0, 1], [0, 0]], [[0, 0.9], [0.8, 0]]), 4)
    0.6667
    """
    return _value("directed_f1", _compared(A_true, A_pred, reading, zero_division=zero_division))


def orientation_accuracy(A_true: Any, A_pred: Any, **reading: Any) -> float:
    """Share of pairs adjacent in both graphs that have the true direction; the mean over several graphs.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    **reading
        The options of `evaluate` that say how graphs are read, such as `threshold`.

    Returns
    -------
    float
        In [0, 1]; NaN if no pair is adjacent in both.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.orientation_accuracy([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    0.5
    """
    return _value("orientation_accuracy", _compared(A_true, A_pred, reading))


def auprc(A_true: Any, A_pred: Any, *, area: str = "steps", **reading: Any) -> float:
    """The area under the precision-recall curve of the scores.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    area
        `steps`, average precision, or `trapezoid`, which joins the curve's points by straight lines.
    **reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; its chance level is the share of cells that are true edges.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.auprc([[0, 1], [0, 0]], [[0, 0.4], [0.7, 0]])
    0.5
    """
    return _value(_AREAS[one_of("area", area, tuple(_AREAS))], _compared(A_true, A_pred, reading))


def roc_auc(A_true: Any, A_pred: Any, **reading: Any) -> float:
    """Probability that a true edge scores above a cell without one; ties count half.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    **reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.roc_auc([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0.4, 0.1], [0.4, 0, 0], [0, 0, 0]])
    0.9
    """
    return _value("roc_auc", _compared(A_true, A_pred, reading))


def f1_at_k(
    A_true: Any, A_pred: Any, *, fractions: Sequence[float] | float = FRACTIONS, **reading: Any
) -> dict[str, float]:
    """F1 of the K best cells, with K as fractions of the number of true edges.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    fractions
        Numbers of selected edges, as multiples of the true edges.
    **reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    dict
        F1 in [0, 1] by key.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.f1_at_k([[0, 1], [0, 0]], [[0, 0.9], [0.3, 0]], fractions=(1, 2))
    {'f1_at_1.0e': 1.0, 'f1_at_2.0e': 0.6666666666666666}
    """
    compared = _compared(A_true, A_pred, reading)
    return {(key := f"f1_at_{float(each)}e"): _value(key, compared) for each in np.atleast_1d(fractions)}


def threshold_sweep(A_true: Any, A_pred: Any, thresholds: Sequence[float] | None = None, **reading: Any) -> Grid:
    """Counts, precision, recall, F1 and distances as the threshold rises; means over several graphs.

    Parameters
    ----------
    A_true, A_pred
        The true and the predicted graph, in any form that `evaluate` takes.
    thresholds
        Where an edge is predicted if its score is greater; by default the scores, or 200 of them if there are more.
    **reading
        The options of `evaluate` that say how graphs are read, except `threshold`.

    Returns
    -------
    Grid
        A row per threshold, in rising order.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> sweep = recovery.threshold_sweep([[0, 1], [0, 0]], [[0, 0.9], [0.3, 0]], [0.1, 0.5])
    >>> sweep["threshold"].tolist(), sweep["directed_precision"].tolist()
    ([0.1, 0.5], [0.5, 1.0])
    """
    compared = _compared(A_true, A_pred, {"threshold": 0.0, **reading}).pairs
    given = scores_of(compared) if thresholds is None else as_numeric(thresholds, "thresholds").astype(np.float64)
    return swept(compared, np.unique(given))


def cpdag(graph: Any, **reading: Any) -> Graph:
    """The equivalence class of a DAG, to compare predictions with it instead of with the DAG.

    Parameters
    ----------
    graph
        A DAG in any form that `evaluate` takes for the truth.
    **reading
        The options of `evaluate` that say how the graph is read: `orientation`, `encoding`, `nodes`.

    Returns
    -------
    Graph
        Arrows that all equivalent DAGs have, and undirected edges for the others.

    Raises
    ------
    InputError
        If the graph is not a DAG, with the nodes of a cycle.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> collider_and_line = [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> recovery.cpdag(collider_and_line).marks
    ('-->', '-->')
    >>> recovery.cpdag([[0, 1], [0, 0]]).marks
    ('---',)
    """
    for option in ("orientation", "encoding"):  # of the truth; one value would be the prediction's
        if isinstance(reading.get(option), str):
            reading[option] = (reading[option], None)
    (pair,) = _compared(graph, [], reading).pairs
    model, names = models_of(pair)[0], pair.names
    flaw = model.flaw if not model.lines.size else "it has undirected edges already"
    if flaw is not None:
        raise InputError(f"has no class as a DAG: {flaw.replace('A_true', 'graph')}", where="graph")
    found = model.members_class
    source, target = np.divmod(found.keys, max(found.d, 1))
    turned = found.kinds == Kind.BACKWARD
    return Graph(
        [names[node] for node in np.where(turned, target, source)],
        [names[node] for node in np.where(turned, source, target)],
        marks=["---" if kind == Kind.LINE else "-->" for kind in found.kinds],
        nodes=names,
    )


def swept(compared: tuple[Pair, ...], thresholds: Floats) -> Grid:
    """The metrics at each threshold."""
    rows = [Comparison(tuple(pair.at(float(at)) for pair in compared)) for at in thresholds]
    return Grid({"threshold": thresholds} | {key: np.array([_value(key, row) for row in rows]) for key in _SWEPT})


def scores_of(compared: tuple[Pair, ...]) -> Floats:
    """The finite scores in order, or evenly spaced ones if there are many."""
    parts = [ranked(pair, lag) for pair in compared for lag in pair.lags]
    # Cells that are not stored score 0; below that they would be edges.
    lowest = [0.0] if any(part.zeros for part in parts) else []
    scores: Floats = np.unique(np.concatenate([*(part.counted.astype(np.float64) for part in parts), lowest]))
    scores = scores[np.isfinite(scores) & (scores >= min(lowest, default=-np.inf))]
    return scores[np.linspace(0, len(scores) - 1, min(len(scores), _POINTS)).astype(np.int64)]


def _compared(A_true: Any, A_pred: Any, reading: dict[str, Any], **counting: Any) -> Comparison:
    return Comparison(tuple(pairs(A_true, A_pred, Reading(**reading))), **counting)


def _value(key: str, compared: Comparison) -> float:
    """The value of one metric."""
    metric, params = find(key, "recovery")
    return float(metric(compared.samples[metric.needs[0]], **params).value[0])


def _distance(key: str, compared: Comparison) -> int:
    """The distance of two graphs."""
    if len(compared.pairs) > 1:
        raise InputError(f"{len(compared.pairs)} graphs have no single distance", fix="Use evaluate().")
    value = _value(key, compared)
    if np.isnan(value):
        raise InputError("graphs without a pair of nodes have no distance", where="A_true and A_pred")
    return int(value)
