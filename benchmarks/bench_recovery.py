"""Recovery: thresholded metrics, curves, sparse graphs, stacks, validation of classes, and metrics of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import READ, Row, Work, faster, memory, seconds, uses, within

THRESHOLDED = (
    "directed_precision",
    "directed_recall",
    "directed_f1",
    "directed_shd",
    "orientation_accuracy",
    "skeleton_precision",
    "skeleton_recall",
    "skeleton_f1",
    "skeleton_shd",
    "tp",
    "fp",
    "fn",
    "skeleton_tp",
    "skeleton_fp",
    "skeleton_fn",
    "correct_direction",
    "wrong_direction",
    "unoriented",
    "shd_missing",
    "shd_extra",
    "shd_reversed",
    "fdr",
    "tpr",
    "fpr",
)
CURVES = (
    "auprc",
    "roc_auc",
    "best_f1",
    "best_threshold",
    "f1_at_0.5e",
    "f1_at_0.75e",
    "f1_at_1.0e",
    "f1_at_1.5e",
    "f1_at_2.0e",
)


@dataclass(frozen=True)
class Graphs:
    truth: Any
    scores: Any

    @property
    def thresholded(self) -> tuple[Any, Any]:
        return self.truth.astype(int), (self.scores > 0.5).astype(int)


def dense(d: int, graphs: int | None = None) -> Graphs:
    """A DAG with four edges per node, and scores that are uniform or, on 9 cells of 10, 0."""
    random = np.random.default_rng(0)
    shape = (d, d) if graphs is None else (graphs, d, d)
    truth = np.triu(random.random(shape) < 8 / d, 1).astype(float)
    scores = random.random(shape) * (random.random(shape) < 0.1)
    return Graphs(truth, np.maximum(scores, truth * random.random(shape)))


def scored(d: int) -> Graphs:
    """The same truth, and scores that are all different."""
    random = np.random.default_rng(1)
    truth = np.triu(random.random((d, d)) < 8 / d, 1).astype(float)
    return Graphs(truth, random.random((d, d)) + truth * random.random((d, d)))


def sparse(d: int, edges: int) -> Graphs:
    from scipy.sparse import coo_matrix

    random = np.random.default_rng(0)

    def graph(values: np.ndarray) -> Any:
        ends = random.integers(0, d, (2, edges))
        matrix = coo_matrix((values, (ends.min(0), ends.max(0))), shape=(d, d)).tocsr()
        matrix.data = np.minimum(matrix.data, 1.0)
        return matrix

    truth = graph(np.ones(edges))
    noise = graph(random.random(edges))
    return Graphs(truth, truth.multiply(random.random(truth.shape[0])[:, None]).tocsr().maximum(noise))


def evaluation(keys: tuple[str, ...], data: Graphs) -> Work:

    from graphgauge import recovery

    return partial(recovery.evaluate, data.truth, data.scores, metrics=keys)


@uses("gcastle")
def by_gcastle(data: Graphs) -> Work:
    from castle.metrics import MetricsDAG

    truth, graph = data.thresholded
    return lambda: MetricsDAG(graph, truth)


@uses("gcastle")
def loop_over_gcastle(data: Graphs) -> Work:
    from castle.metrics import MetricsDAG

    truths, graphs = data.thresholded
    return lambda: [MetricsDAG(graph, truth) for truth, graph in zip(truths, graphs, strict=True)]


@uses("cdt")
def by_cdt(data: Graphs) -> Work:
    from cdt.metrics import SHD

    truth, graph = data.thresholded
    return lambda: SHD(truth, graph, double_for_anticausal=False)


@uses("scikit-learn")
def by_sklearn(data: Graphs) -> Work:
    from sklearn.metrics import average_precision_score, roc_auc_score

    off = ~np.eye(len(data.truth), dtype=bool)
    y, scores = data.truth[off], data.scores[off]
    return lambda: (average_precision_score(y, scores), roc_auc_score(y, scores))


def sparse_dag(d: int, degree: float = 4.0) -> Any:
    random = np.random.default_rng(2)
    order = random.permutation(d)
    return np.triu(random.random((d, d)) < degree / d, 1)[np.ix_(order, order)]


def as_cpdag(dag: Any) -> Any:
    """A DAG's equivalence class, undirected edges in both cells."""
    from graphgauge.recovery.structure import Model

    whole = np.zeros(dag.shape, int)
    whole.flat[Model(np.flatnonzero(dag), len(dag), False, "").cpdag] = 1
    return whole


OF_CLASSES = (
    "arrowhead_f1",
    "tail_f1",
    "cpdag_shd",
    "member_shd_min",
    "member_shd_mean",
    "member_shd_max",
    "member_f1_mean",
    "member_sid_min",
    "member_sid_max",
)


def class_pair(d: int) -> Graphs:
    """A sparse DAG, and the class of another one that shares most of its edges."""
    random = np.random.default_rng(4)
    truth = sparse_dag(d, 2.0)
    other = truth & (random.random(truth.shape) < 0.9)
    return Graphs(truth.astype(int), as_cpdag(other))


def class_evaluation(data: Graphs) -> Work:
    from graphgauge import recovery

    return partial(recovery.evaluate, data.truth, data.scores, encoding="gcastle", metrics=OF_CLASSES)


curves_row = partial(
    Row,
    ours=partial(evaluation, CURVES),
    reads=lambda data: [data.truth, data.scores],
    peers={"scikit-learn's AP and AUC": by_sklearn},
    goals=(faster(40, "scikit-learn's AP and AUC"),),
    rounds=3,
    peer_seconds=1.0,
)

ROWS = (
    Row(
        "all thresholded metrics, d = 5000, dense float64",
        make=partial(dense, 5000),
        ours=partial(evaluation, THRESHOLDED),
        reads=lambda data: [data.truth, data.scores],
        peers={"cdt's SHD alone": by_cdt, "gcastle": by_gcastle},
        goals=(within(2.5, READ), faster(1000, "gcastle"), faster(3, "cdt's SHD alone"), memory(25)),
        peer_seconds=1.0,
    ),
    curves_row("AP, ROC-AUC, best F1 and all F1@K, d = 5000, dense float64, few ties", make=partial(scored, 5000)),
    curves_row("the same with nine scores of ten equal to 0", make=partial(dense, 5000)),
    Row(
        "thresholded metrics and curves, sparse, d = 1M with 5M edges",
        make=partial(sparse, 1_000_000, 5_000_000),
        ours=partial(evaluation, THRESHOLDED + CURVES),
        goals=(seconds(10), memory(2000)),
        rounds=3,
    ),
    Row(
        "all thresholded metrics with intervals, 1000 graphs of d = 50",
        make=partial(dense, 50, 1000),
        ours=partial(evaluation, THRESHOLDED),
        reads=lambda data: [data.truth, data.scores],
        peers={"a loop over gcastle": loop_over_gcastle},
        goals=(faster(300, "a loop over gcastle"),),
        peer_seconds=1.0,
    ),
    Row(
        "marks, classes and members of a CPDAG, d = 200, 200 edges",
        make=partial(class_pair, 200),
        ours=class_evaluation,
        goals=(seconds(5),),
        rounds=3,
    ),
)
