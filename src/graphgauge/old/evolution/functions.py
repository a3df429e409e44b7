"""Functions of arrays that return a number, without intervals and chance levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.old.core.metric import Metric
from graphgauge.old.evolution import metrics as _metrics
from graphgauge.old.evolution.cycle import Grown, Options
from graphgauge.old.evolution.inputs import Labelled, Points, as_edges, original_nodes


def auc_synthetic(
    embeddings: Any,
    new_edges: Any,
    all_edges: Any,
    *,
    node_ids: Any = None,
    negatives: str = "all",
    negatives_per_positive: int = 1,
    threads: int | None = None,
    seed: int = 0,
) -> float:
    """Probability that a birth is closer than a non-edge of original nodes (default: all nodes), after the cycle.

    Parameters
    ----------
    embeddings
        One row per node after the cycle, inside the unit ball.
    new_edges, all_edges
        The births (n, 2), and all edges after the cycle, births included.
    node_ids
        The original nodes, which non-edges consist of.
    negatives, negatives_per_positive, seed
        `all` non-edges, or a `sample` of that many per birth, drawn with this seed.
    threads
        At most this many threads; by default all cores.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there are no births or no non-edges.

    Raises
    ------
    InputError
        If an edge names a node without embedding, or a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_synthetic(points, [(0, 1)], [(0, 1), (1, 2)])
    1.0
    """
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.auc_synthetic, options, embeddings, new_edges, all_edges, node_ids)


def auc_birth(
    previous_embeddings: Any,
    new_edges: Any,
    all_edges: Any,
    *,
    node_ids: Any = None,
    negatives: str = "all",
    negatives_per_positive: int = 1,
    threads: int | None = None,
    seed: int = 0,
) -> float:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings before the cycle.

    The embeddings must contain all nodes of the births.

    Parameters
    ----------
    previous_embeddings
        One row per node before the cycle, inside the unit ball.
    new_edges, all_edges, node_ids, negatives, negatives_per_positive, threads, seed
        As in `auc_synthetic`.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if there are no births or no non-edges.

    Raises
    ------
    InputError
        If an edge names a node without embedding, or a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_birth(points, [(2, 3)], [(0, 1), (2, 3)])
    0.0
    """
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.auc_birth, options, previous_embeddings, new_edges, all_edges, node_ids, before=True)


def auc_matched(
    previous_embeddings: Any,
    new_edges: Any,
    all_edges: Any,
    *,
    node_ids: Any = None,
    pools: Any = None,
    negatives: str = "all",
    negatives_per_positive: int = 1,
    seed: int = 0,
) -> float:
    """Probability that a birth (u, v) is closer than u and another target of v's pool, before the cycle.

    Parameters
    ----------
    previous_embeddings
        One row per node before the cycle, inside the unit ball.
    pools
        The pool of each node; targets are compared within their pool. By default all nodes are one pool.
    new_edges, all_edges, node_ids, negatives, negatives_per_positive, seed
        As in `auc_synthetic`.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if no birth has another possible target.

    Raises
    ------
    InputError
        If an edge names a node without embedding, or a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.auc_matched(points, [(0, 1)], [(0, 1), (1, 2)])
    1.0
    """
    options = Options(negatives, negatives_per_positive, seed=seed)
    return _value(
        _metrics.auc_matched, options, previous_embeddings, new_edges, all_edges, node_ids, before=True, pools=pools
    )


def static_auc(
    embeddings: Any,
    test_edges: Any,
    all_edges: Any,
    *,
    negatives: str = "all",
    negatives_per_positive: int = 1,
    threads: int | None = None,
    seed: int = 0,
) -> float:
    """Probability that a held-out edge is closer than a non-edge of all nodes.

    Parameters
    ----------
    embeddings
        One row per node, inside the unit ball.
    test_edges, all_edges
        The held-out edges (n, 2), and all edges of the graph.
    negatives, negatives_per_positive, seed
        `all` non-edges, or a `sample` of that many per edge, drawn with this seed.
    threads
        At most this many threads; by default all cores.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance.

    Raises
    ------
    InputError
        If an edge names a node without embedding, or a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> evolution.static_auc(points, [(0, 1)], [(1, 2)])
    1.0
    """
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.static_auc, options, embeddings, None, all_edges, None, test_edges=test_edges)


def delta_homophily(new_edges: Any, labels: Any, *, node_ids: Any = None, homophily_null: str = "pairs") -> float:
    """Share of births between nodes of the same class, minus the share among random pairs.

    Parameters
    ----------
    new_edges
        The births (n, 2).
    labels, node_ids
        The classes of the original nodes, as in `evaluate`.
    homophily_null
        `pairs` of distinct nodes, or `squares`.

    Returns
    -------
    float
        In [−1, 1]; 0 is chance. NaN if no birth is between labelled nodes.

    Raises
    ------
    InputError
        If labels and nodes do not fit together.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.delta_homophily([(0, 1), (1, 2)], [0, 0, 1, 1]), 4)
    0.1667
    """
    labelled, births = _labelled(labels, node_ids), as_edges(new_edges, "new_edges")
    # Only the nodes that occur, because node numbers may be large.
    nodes = np.unique(np.concatenate([labelled.ids, births.ravel()]))
    labelled, births = replace(labelled, ids=np.searchsorted(nodes, labelled.ids)), np.searchsorted(nodes, births)
    grown = Grown(
        labelled,
        Options(homophily_null=homophily_null),
        0,
        np.zeros((len(nodes), 1)),
        births,
        births,
        previous_edges=births[:0],
    )
    return float(_metrics.delta_homophily(grown.labels).value[0])


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
    folds
        Number of folds.
    seed
        Seed of the folds.

    Returns
    -------
    tuple of float
        The mean in [0, 1], and the standard deviation over folds; NaN if there are too few nodes for the folds.

    Raises
    ------
    InputError
        If labels and nodes do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> points = np.repeat([[0.5, 0.0], [-0.5, 0.0]], 10, axis=0)
    >>> evolution.node_classification_accuracy(points, [0] * 10 + [1] * 10)
    (1.0, 0.0)
    """
    options = Options(folds=folds, seed=seed)
    probe = Grown(_labelled(labels, node_ids), options, 0, embeddings, None, None).probe
    return float(_metrics.nca_mean(probe).value[0]), float(_metrics.nca_std(probe).value[0])


def _labelled(labels: Any, node_ids: Any) -> Labelled:
    return Labelled.of(original_nodes(labels, node_ids), labels)


def _value(
    metric: Metric,
    options: Options,
    embeddings: Any,
    new_edges: Any,
    all_edges: Any,
    node_ids: Any,
    *,
    before: bool = False,
    **more: Any,
) -> float:
    nodes = len(Points.of(embeddings, "previous_embeddings" if before else "embeddings"))
    labelled = Labelled.without_labels(range(nodes) if node_ids is None else node_ids)
    previous = embeddings if before else None
    grown = Grown(labelled, options, 0, embeddings, new_edges, all_edges, previous_embeddings=previous, **more)
    return float(metric(grown.sample(metric)).value[0])
