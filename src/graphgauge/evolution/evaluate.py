"""Entry point of the family: evaluates stored runs, cycles, tables of events and snapshots."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphgauge.core import registry
from graphgauge.core.arrays import is_frame
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.types import AnyArray
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.events import Ids, from_events, from_snapshots
from graphgauge.evolution.log import LAYOUT, Log, Run, as_cycles
from graphgauge.evolution.points import Score
from graphgauge.evolution.suite import EvaluationSuite
from graphgauge.io.tables import read_table


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
        `new_edges` may be left out: births are then the edges that the graph gained. Or a table of events as columns by
        name (`source`, `target`, `cycle`, perhaps `action`), or graphs of networkx at consecutive times; both go with
        `embeddings`.
    labels
        The classes of the original nodes: a mapping from node to label, or an array in the order of `node_ids`. By
        default those stored with the log; without any, metrics that need them are left out.
    embeddings, ids
        As in `from_events` and `from_snapshots`.
    conditions
        Evaluate only these, and list them in this order.
    node_ids, node_types, test_edges, score, directed, nan, metrics, confidence
        As in `AdaptiveEvaluator`; without `metrics`, those of the family's default.
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
    if ids is not None:  # nodes are named in everything that is given
        named = Ids(ids, kept=_are_graphs(log))
        labels, node_types = named.by_row(labels, "labels", node_ids), named.by_row(node_types, "node_types")
        node_ids = None if node_ids is None else named.rows(node_ids, "node_ids")
        test_edges = None if test_edges is None else named.rows(test_edges, "test_edges")
    log = _opened_log(log, embeddings, ids, directed)
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
    return Log(path) if path.is_dir() else read_table(str(path))


def _opened_log(log: Any, embeddings: Any, ids: Any, directed: bool) -> Any:
    """A `Log`, whose cycles are read one by one, or the cycles of whatever else is given."""
    if isinstance(log, str | os.PathLike):
        log = Log(log)
    if isinstance(log, Mapping) or is_frame(log):
        columns = log if isinstance(log, Mapping) else log.columns
        if embeddings is None:
            raise OptionError("a table of events has no embeddings", fix="Pass embeddings=.")
        missing = [name for name in ("source", "target", "cycle") if name not in columns]
        if missing:
            fix = f"Name columns source, target, cycle and action; it has {', '.join(map(str, columns))}."
            raise InputError(f"has no column {missing[0]}", where="log", fix=fix)
        parts = [log[name] for name in ("source", "target", "cycle", "action") if name in columns]
        return from_events(*parts, embeddings=embeddings, ids=ids, directed=directed)
    if _are_graphs(log):
        if embeddings is None:
            raise OptionError("snapshots have no embeddings", fix="Pass embeddings=.")
        return from_snapshots(log, embeddings, ids=ids)
    if embeddings is not None or ids is not None:
        fix = "Leave them out: cycles have theirs."
        raise OptionError("embeddings and ids go with events or snapshots", fix=fix)
    return log if isinstance(log, Log) else list(as_cycles(log))


def _are_graphs(log: Any) -> bool:
    return isinstance(log, list | tuple) and len(log) > 0 and all(hasattr(graph, "edges") for graph in log)


def _run(cycle: Cycle) -> Run:
    return cycle.condition, cycle.seed


def _chosen(known: Sequence[Run], conditions: Any) -> list[Run]:
    """The runs of these conditions in their order, or all."""
    names = list(dict.fromkeys(name for name, _ in known))
    asked = [conditions] if isinstance(conditions, str) else list(names if conditions is None else conditions)
    if not asked:
        raise OptionError("conditions is empty", fix="Leave it out to evaluate all.")
    return [run for name in asked for run in known if run[0] == one_of("condition", name, names)]
