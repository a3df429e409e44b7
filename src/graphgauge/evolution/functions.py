"""Functions of arrays that return a number, without intervals and chance levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.metric import Metric
from graphgauge.evolution import metrics as _metrics
from graphgauge.evolution.cycle import Grown, Options
from graphgauge.evolution.inputs import Labelled, Points, as_edges, original_nodes


def auc_synthetic(
    embeddings: Any, new_edges: Any, all_edges: Any, *, node_ids: Any = None, negatives: str = "all",
    negatives_per_positive: int = 1, threads: int | None = None, seed: int = 0,
) -> float:  # fmt: skip
    """Probability that a birth is closer than a non-edge of original nodes (default: all nodes), after the cycle."""
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.auc_synthetic, options, embeddings, new_edges, all_edges, node_ids)


def auc_birth(
    previous_embeddings: Any, new_edges: Any, all_edges: Any, *, node_ids: Any = None, negatives: str = "all",
    negatives_per_positive: int = 1, threads: int | None = None, seed: int = 0,
) -> float:  # fmt: skip
    """The same on the embeddings before the cycle, which must contain all nodes of the births."""
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.auc_birth, options, previous_embeddings, new_edges, all_edges, node_ids, before=True)


def auc_matched(
    previous_embeddings: Any, new_edges: Any, all_edges: Any, *, node_ids: Any = None, pools: Any = None,
    negatives: str = "all", negatives_per_positive: int = 1, seed: int = 0,
) -> float:  # fmt: skip
    """Probability that a birth (u, v) is closer than u and another target of v's pool, before the cycle."""
    options = Options(negatives, negatives_per_positive, seed=seed)
    return _value(
        _metrics.auc_matched, options, previous_embeddings, new_edges, all_edges, node_ids, before=True, pools=pools
    )


def static_auc(
    embeddings: Any, test_edges: Any, all_edges: Any, *, negatives: str = "all", negatives_per_positive: int = 1,
    threads: int | None = None, seed: int = 0,
) -> float:  # fmt: skip
    """Probability that a held-out edge is closer than a non-edge of all nodes."""
    options = Options(negatives, negatives_per_positive, threads=threads, seed=seed)
    return _value(_metrics.static_auc, options, embeddings, None, all_edges, None, test_edges=test_edges)


def delta_homophily(new_edges: Any, labels: Any, *, node_ids: Any = None, homophily_null: str = "pairs") -> float:
    """Share of births between nodes of the same class, minus the share among random pairs.

    >>> delta_homophily([(0, 1), (1, 2)], [0, 0, 1, 1])
    0.16666666666666669
    """
    labelled, births = _labelled(labels, node_ids), as_edges(new_edges, "new_edges")
    # Only the nodes that occur, because node numbers may be large.
    nodes = np.unique(np.concatenate([labelled.ids, births.ravel()]))
    labelled, births = replace(labelled, ids=np.searchsorted(nodes, labelled.ids)), np.searchsorted(nodes, births)
    grown = Grown(labelled, Options(homophily_null=homophily_null), 0, np.zeros((len(nodes), 1)), births, births,
                  previous_edges=births[:0])  # fmt: skip
    return float(_metrics.delta_homophily(grown.labels).value[0])


def node_classification_accuracy(
    embeddings: Any, labels: Any, *, node_ids: Any = None, folds: int = 5, seed: int = 0
) -> tuple[float, float]:
    """Mean and standard deviation over folds of a linear probe's accuracy."""
    options = Options(folds=folds, seed=seed)
    probe = Grown(_labelled(labels, node_ids), options, 0, embeddings, None, None).probe
    return float(_metrics.nca_mean(probe).value[0]), float(_metrics.nca_std(probe).value[0])


def _labelled(labels: Any, node_ids: Any) -> Labelled:
    return Labelled.of(original_nodes(labels, node_ids), labels)


def _value(
    metric: Metric, options: Options, embeddings: Any, new_edges: Any, all_edges: Any, node_ids: Any, *,
    before: bool = False, **more: Any,
) -> float:  # fmt: skip
    nodes = len(Points.of(embeddings, "previous_embeddings" if before else "embeddings"))
    labelled = Labelled.without_labels(range(nodes) if node_ids is None else node_ids)
    previous = embeddings if before else None
    grown = Grown(labelled, options, 0, embeddings, new_edges, all_edges, previous_embeddings=previous, **more)
    return float(metric(grown.sample(metric)).value[0])
