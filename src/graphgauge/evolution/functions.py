"""Plain numbers: functions of arrays, without intervals and chance levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.options import number
from graphgauge.core.types import Floats
from graphgauge.evolution.edges import as_edges
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.labels import Labelled
from graphgauge.evolution.points import Points


def auc_synthetic(embeddings: Any, new_edges: Any, all_edges: Any, **options: Any) -> float:
    """Probability that a birth is closer than a non-edge of original nodes (default: all nodes), after the cycle.

    Parameters
    ----------
    embeddings
        One row per node after the cycle, inside the unit ball.
    new_edges, all_edges
        The births (n, 2), and all edges after the cycle, births included.
    **options
        Those of `AdaptiveEvaluator`, such as `node_ids`; here all non-edges are taken unless `n_neg_per_pos` says so.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there are no births or no non-edges.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_synthetic(points, [(0, 1)], [(0, 1), (1, 2)])
    1.0
    """
    return _value("auc_synthetic", options, embeddings, new_edges, all_edges)


def auc_birth(previous_embeddings: Any, new_edges: Any, all_edges: Any, **options: Any) -> float:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings before the cycle.

    Parameters
    ----------
    previous_embeddings
        One row per node before the cycle, inside the unit ball; all nodes of the births have one.
    new_edges, all_edges
        The births (n, 2), and all edges after the cycle, births included.
    **options
        As in `auc_synthetic`.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there is nothing to compare.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_birth(points, [(2, 3)], [(0, 1), (2, 3)])
    0.0
    """
    return _value("auc_birth", options, previous_embeddings, new_edges, all_edges, previous_embeddings)


def auc_matched(
    previous_embeddings: Any, new_edges: Any, all_edges: Any, *, pools: Any = None, **options: Any
) -> float:
    """Probability that a birth (u, v) is closer than u and another target of v's pool, before the cycle.

    Parameters
    ----------
    previous_embeddings
        One row per node before the cycle, inside the unit ball.
    new_edges, all_edges
        The births (n, 2), and all edges after the cycle, births included.
    pools
        One number per node; by default nodes of similar degree and the same age are a pool.
    **options
        As in `auc_synthetic`.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there is nothing to compare.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_matched(points, [(0, 1)], [(0, 1), (1, 2)], pools=[0, 0, 0, 0])
    1.0
    """
    given = previous_embeddings, new_edges, all_edges, previous_embeddings
    return _value("auc_matched", options, *given, pools=pools)


def static_auc(embeddings: Any, test_edges: Any, all_edges: Any, **options: Any) -> float:
    """Probability that a held-out edge is closer than a non-edge of all nodes.

    Parameters
    ----------
    embeddings
        One row per node, inside the unit ball.
    test_edges, all_edges
        The held-out edges (n, 2), and all edges of the graph.
    **options
        As in `auc_synthetic`.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there is nothing to compare.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.static_auc(points, [(0, 1)], [(1, 2)])
    1.0
    """
    none = np.empty((0, 2), np.int64)
    return _value("static_auc", {**options, "test_edges": test_edges}, embeddings, none, all_edges)


def delta_homophily(new_edges: Any, labels: Any, *, node_ids: Any = None) -> float:
    """Share of births between nodes of the same class, minus the share among random pairs.

    Parameters
    ----------
    new_edges
        The births (n, 2).
    labels, node_ids
        The classes of the original nodes, as in `evaluate`.

    Returns
    -------
    float
        In [-1, 1]; 0 is chance. NaN if no birth is between labelled nodes.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.delta_homophily([(0, 1), (1, 2)], [0, 0, 1, 1]), 4)
    0.1667
    """
    births, known = as_edges(new_edges, "new_edges"), Labelled.from_labels(labels, node_ids).nodes
    points = np.zeros((max(births.max(initial=-1), known.max(initial=-1)) + 1, 1))
    options = {"node_ids": node_ids, "labels": labels}
    return _value("delta_homophily", options, points, births, births, previous_edges=births[:0])


def node_classification_accuracy(
    embeddings: Any, labels: Any, *, node_ids: Any = None, folds: int = 5, seed: int = 0
) -> tuple[float, float]:
    """Mean and standard deviation over folds of a linear probe's accuracy.

    Parameters
    ----------
    embeddings
        One row per node.
    labels, node_ids
        The classes of the original nodes, as in `evaluate`.
    folds, seed
        How many folds, and the seed that draws them.

    Returns
    -------
    tuple of float
        The mean in [0, 1], and the standard deviation over folds; NaN if there are too few nodes for the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> points = np.repeat([[0.5, 0.0], [-0.5, 0.0]], 10, axis=0)
    >>> evolution.node_classification_accuracy(points, [0] * 10 + [1] * 10)
    (1.0, 0.0)
    """
    none = np.empty((0, 2), np.int64)
    evaluator = AdaptiveEvaluator(
        node_ids, labels, nca_n_splits=folds, seed=seed, metrics=["nca_mean", "nca_std"], score="euclidean"
    )
    found = evaluator.evaluate_cycle(embeddings, none, none, 0)
    return found["nca_mean"].value, found["nca_std"].value


def poincare_distance(u: Any, v: Any) -> float | Floats:
    """Hyperbolic distance between two points inside the unit ball, or between points row by row.

    Accurate to rounding, also near the boundary; equal points have distance 0. A norm of 1 or more is an error.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).

    Returns
    -------
    float or numpy.ndarray
        At least 0.

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.poincare_distance([0.0, 0.0], [0.5, 0.0]), 4)
    1.0986
    """
    first, second = as_numeric(u, "u"), as_numeric(v, "v")
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise InputError(
            f"found shapes {first.shape} and {second.shape}",
            where="u and v",
            fix="Pass two points (D,), or two arrays of points (n, D).",
        )
    pair = [Points.from_embeddings(np.atleast_2d(points), name) for points, name in ((first, "u"), (second, "v"))]
    both = Points(np.concatenate([points.rows for points in pair]), np.ones(2 * len(pair[0]), bool))
    rows = np.arange(len(pair[0]))
    found = 2 * np.arcsinh(np.sqrt(both.order(rows, rows + len(rows))))
    return float(found[0]) if first.ndim == 1 else found


def link_score(u: Any, v: Any, *, temperature: float = 1.0) -> float | Floats:
    """σ(−d/temperature) of the distance d: ½ for equal points, close to 0 for distant ones.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).
    temperature
        Above 0.

    Returns
    -------
    float or numpy.ndarray
        In (0, 0.5].

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.link_score([0.0, 0.0], [0.5, 0.0]), 4)
    0.25
    """
    found = link_score_from_distance(poincare_distance(u, v), temperature)
    return float(found) if found.ndim == 0 else found


def poincare_distance_batch(u: Any, v: Any, eps: float = 1e-7) -> Floats:
    """`poincare_distance` row by row, under its name in the original document.

    Parameters
    ----------
    u, v
        Rows of points inside the unit ball (n, d).
    eps
        Not needed: distances are right up to the boundary.

    Returns
    -------
    numpy.ndarray
        (n,), at least 0.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evolution.poincare_distance_batch([[0.0, 0.0]], [[0.5, 0.0]]).round(4)
    array([1.0986])
    """
    return np.atleast_1d(poincare_distance(u, v))


def link_score_from_distance(dist: Any, temperature: float = 1.0) -> Floats:
    """σ(-d/temperature) of distances that are known.

    Parameters
    ----------
    dist
        Distances, at least 0.
    temperature
        Above 0.

    Returns
    -------
    numpy.ndarray
        In (0, 0.5].

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evolution.link_score_from_distance([0.0, 1.0]).round(4)
    array([0.5   , 0.2689])
    """
    distance = np.asarray(as_numeric(dist, "dist"), np.float64)
    return np.asarray(np.exp(-np.logaddexp(0.0, distance / number("temperature", temperature, 0, inside=True))))


def _value(
    key: str,
    options: Any,
    embeddings: Any,
    new_edges: Any,
    all_edges: Any,
    previous_embeddings: Any = None,
    **more: Any,
) -> float:
    given = {"n_neg_per_pos": "all", "seed": 0, "metrics": [key], **options}
    found = AdaptiveEvaluator(**given).evaluate_cycle(embeddings, new_edges, all_edges, 0, previous_embeddings, **more)
    return found[key].value
