"""Entry points: of stored runs, cycles, tables of events and snapshots; and plain numbers of one cycle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core import registry
from graphgauge.core.arrays import is_frame
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.types import AnyArray
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.edges import as_edges
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import LAYOUT, Ids, Log, Run, are_graphs, as_cycles, from_events, from_snapshots
from graphgauge.evolution.nodes import Labelled, Score
from graphgauge.evolution.suite import EvaluationSuite
from graphgauge.io.tables import read_table

_COLUMNS = ("source", "target", "cycle", "action")
_EVENTS = 'Name columns source, target, cycle and perhaps action, as in log.rename(columns={"time": "cycle"})'


def evaluate(
    log: Any,
    labels: Any = None,
    *,
    embeddings: Any = None,
    ids: Any = None,
    conditions: Sequence[str] | None = None,
    node_ids: Any = None,
    node_types: Any = None,
    test_edges: Any = None,
    score: Score = "poincare",
    directed: bool = False,
    negatives: int | str = 1,
    folds: int = 5,
    nan: str = "raise",
    metrics: str | Sequence[Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Evaluate stored runs: means over cycles and seeds, with intervals over seeds.

    Parameters
    ----------
    log
        A folder of runs, a `Log`, or cycles in order: `Cycle` objects or mappings with the same names, of which
        `new_edges` may be left out: births are then the edges that the graph gained. Or a table of events, a file or
        columns by name (`source`, `target`, `cycle`, perhaps `action`, and no other), or a list of graphs of networkx
        at consecutive times; both go with `embeddings`.
    labels
        The classes of nodes: a mapping from node to label, or an array in the order of `node_ids`. By default those
        stored with the log; without any, metrics that need them are left out.
    embeddings, ids
        As in `from_events` and `from_snapshots`.
    conditions
        Evaluate only these, and list them in this order.
    node_ids, node_types, test_edges, score, directed, nan, metrics, confidence
        As in `AdaptiveEvaluator`; without `metrics`, those of the family's default. Graphs of networkx say themselves
        whether they are directed.
    negatives
        How many pairs without an edge are drawn for each birth, or "all".
    folds
        Folds of the probe for `nca_mean`.
    seed
        Seed of the drawn pairs and of the folds; the seed of each run is added to it.

    Returns
    -------
    Evaluation
        One result per metric, with a breakdown by cycle or, if there are several, by condition.

    Raises
    ------
    InputError
        If a log is damaged, or births are not the edges that the graphs gained.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> events = {"source": [1, 0], "target": [2, 1], "cycle": [0, 1]}
    >>> keys = ["auc_birth", "delta_homophily"]
    >>> ev = evolution.evaluate(events, [0, 0, 1, 1], embeddings=points, negatives="all", metrics=keys)
    >>> ev["auc_birth"].value, round(ev["delta_homophily"].value, 4)
    (1.0, 0.6667)
    """
    log = opened(Path(log)) if isinstance(log, str | os.PathLike) else log
    log = list(log) if isinstance(log, Iterator) else log
    if are_graphs(log):
        directed = _direction(log, directed)
    if ids is not None:  # nodes are named in everything that is given
        named = Ids(ids, kept=are_graphs(log))
        labels, node_types = named.by_row(labels, "labels", node_ids), named.by_row(node_types, "node_types")
        node_ids = None if node_ids is None else named.rows(node_ids, "node_ids")
        test_edges = None if test_edges is None else named.rows(test_edges, "test_edges")
    log = _with_cycles(log, embeddings, ids, directed)
    stored = isinstance(log, Log)
    labels = log.labels() if stored and labels is None else labels
    known = log.runs if stored else list(dict.fromkeys(map(_run, log)))
    if not known:
        raise InputError("contains no run", where=str(log.folder) if stored else "log", fix=LAYOUT)
    runs = _chosen(known, conditions)
    suite = EvaluationSuite(
        node_ids,
        labels,
        list(dict.fromkeys(name for name, _ in runs)),
        n_neg_per_pos=negatives,
        nca_n_splits=folds,
        seed=seed,
        score=score,
        directed=directed,
        node_types=node_types,
        test_edges=test_edges,
        nan=nan,
        metrics=metrics,
        confidence=confidence,
    )
    for run in runs:
        suite.replay(log.cycles(*run) if stored else [each for each in log if _run(each) == run])
    if not suite.evaluators:
        raise InputError("contains no cycle after the start", where="log", fix="Append the cycles that follow it.")
    # An evaluator also computes what only the original document asks for.
    default = [metric.key for metric in registry.metrics("evolution") if metric.default]
    return suite.evaluation(default if metrics is None else None)


def opened(path: Path) -> Log | dict[str, AnyArray]:
    """What `--log` names: a folder of runs, or a table of events."""
    return Log(path) if path.is_dir() or not path.suffix else read_table(str(path))


def _with_cycles(log: Any, embeddings: Any, ids: Any, directed: bool) -> Any:
    """A `Log`, whose cycles are read one by one, or the cycles of whatever else is given."""
    table = is_frame(log) or (isinstance(log, Mapping) and not are_graphs([*log.values()]))
    if not table and not are_graphs(log):
        if embeddings is not None or ids is not None:
            what = f"embeddings and ids go with events or snapshots; found {type(log).__name__}"
            fix = f"{_EVENTS}, or pass a list of networkx graphs; cycles have embeddings of their own."
            raise OptionError(what, fix=fix)
        return log if isinstance(log, Log) else list(as_cycles(log))
    if embeddings is None:
        raise OptionError("events and snapshots have no embeddings", fix="Pass embeddings=.")
    if not table:
        return from_snapshots(log, embeddings, ids=ids)
    columns = list(log if isinstance(log, Mapping) else log.columns)
    missing = [name for name in _COLUMNS[:3] if name not in columns]
    unknown = [name for name in columns if name not in _COLUMNS]
    if missing or unknown:
        what = f"has no column {missing[0]}" if missing else f"has the column {unknown[0]!r:.60}, which is not read"
        fix = f"{_EVENTS}, and leave out all others; it has {', '.join(map(str, columns))}."
        raise InputError(what, where="log", fix=fix)
    parts = [log[name] for name in _COLUMNS if name in columns]
    return from_events(*parts, embeddings=embeddings, ids=ids, directed=directed)


def _direction(graphs: Sequence[Any], directed: bool) -> bool:
    """Whether the graphs are directed, which they say themselves."""
    count = sum(bool(graph.is_directed()) for graph in graphs)
    if 0 < count < len(graphs) or (directed and not count):
        fix = "The order of ends means nothing in networkx.Graph: build every one as DiGraph, or leave out directed."
        raise InputError(f"{count} of {len(graphs)} graphs are directed", where="log", fix=fix)
    return count > 0


def _run(cycle: Cycle) -> Run:
    return cycle.condition, cycle.seed


def _chosen(known: Sequence[Run], conditions: Any) -> list[Run]:
    """The runs of these conditions in their order, or all."""
    names = list(dict.fromkeys(name for name, _ in known))
    asked = [conditions] if isinstance(conditions, str) else list(names if conditions is None else conditions)
    if not asked:
        raise OptionError("conditions is empty", fix="Leave it out to evaluate all.")
    return [run for name in asked for run in known if run[0] == one_of("condition", name, names)]


# ---- plain numbers of one cycle, without intervals and chance levels


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
