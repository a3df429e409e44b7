"""Entry point of the family: evaluates stored runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.types import AnyArray
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.events import from_events
from graphgauge.evolution.labels import original_nodes
from graphgauge.evolution.log import LAYOUT, Log, Run, as_cycles
from graphgauge.evolution.points import Score
from graphgauge.evolution.suite import EvaluationSuite
from graphgauge.io.tables import read_table

# The metrics of the family's default alone, without those that only the original document asks for.
_DEFAULT = ()


def evaluate(
    log: Any,
    labels: Any = None,
    *,
    conditions: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    node_ids: Any = None,
    node_types: Any = None,
    test_edges: Any = None,
    score: Score = "poincare",
    directed: bool = False,
    negatives: int | str = 1,
    folds: int = 5,
    undeclared: str = "refuse",
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
        `new_edges` may be left out: births are then the edges that the graph gained.
    labels
        The classes of the original nodes: a mapping from node to label, or an array in the order of `node_ids`. By
        default those stored with the log; without any, metrics that need them are left out.
    conditions
        Evaluate only these, in this order.
    order
        The predicted order of the conditions, the best first; it says how they are listed.
    node_ids, node_types, test_edges, score, directed, undeclared, nan, metrics, confidence
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
        If a log is damaged, or births are not the edges that the graphs gained and `undeclared` is `refuse`.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> cycle = {"embeddings": points, "previous_embeddings": points, "new_edges": [(0, 1)],
    ...          "previous_edges": [(1, 2)], "all_edges": [(1, 2), (0, 1)]}
    >>> ev = evolution.evaluate([cycle], [0, 0, 1, 1], negatives="all", metrics=["auc_birth", "delta_homophily"])
    >>> ev["auc_birth"].value, round(ev["delta_homophily"].value, 4)
    (1.0, 0.6667)
    """
    stored = Log(log) if isinstance(log, str | os.PathLike) else log
    given = None if isinstance(stored, Log) else list(as_cycles(stored))
    known = list(stored.runs) if given is None else list(dict.fromkeys((each.condition, each.seed) for each in given))
    if not known:
        where = str(stored.folder) if isinstance(stored, Log) else "log"
        raise InputError("contains no run", where=where, fix=LAYOUT)
    runs = _chosen(known, order if conditions is None else conditions)
    if isinstance(stored, Log):
        labels = stored.labels() if labels is None else labels
    suite = EvaluationSuite(
        node_ids if labels is None else original_nodes(labels, node_ids),
        labels,
        list(dict.fromkeys(name for name, _ in runs)),
        n_neg_per_pos=negatives,
        nca_n_splits=folds,
        seed=seed,
        score=score,
        directed=directed,
        node_types=node_types,
        test_edges=test_edges,
        undeclared=undeclared,
        nan=nan,
        metrics=_DEFAULT if metrics is None else metrics,
        confidence=confidence,
    )
    for run in runs:
        cycles: Iterable[Cycle] = stored.cycles(*run) if isinstance(stored, Log) else _of(run, given or [])
        suite.replay(cycles)
    if not suite.evaluators:
        raise InputError("contains no cycle after the start", where="log", fix="Append the cycles that follow it.")
    return suite.evaluation()


def opened(path: Path) -> Log | dict[str, AnyArray]:
    """What `--log` names: a folder of runs, or a table of events."""
    return Log(path) if path.is_dir() else read_table(str(path))


def evaluate_log(
    log: Any,
    labels: Any = None,
    *,
    embeddings: Any = None,
    ids: Any = None,
    conditions: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    node_types: Any = None,
    test_edges: Any = None,
    score: Score = "poincare",
    directed: bool = False,
    negatives: int | str = 1,
    undeclared: str = "refuse",
    nan: str = "raise",
    metrics: str | Sequence[Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Evaluate a folder of runs, or a table of events with the embeddings of its nodes: see `from_events`."""
    if isinstance(log, dict):
        missing = [name for name in ("source", "target", "cycle") if name not in log]
        if missing:
            fix = f"Name columns source, target, cycle and action; it has {', '.join(log)}."
            raise InputError(f"has no column {missing[0]}", where="log", fix=fix)
        if embeddings is None:
            raise OptionError("a table of events has no embeddings", fix="Pass embeddings=.")
        columns = log["source"], log["target"], log["cycle"], log.get("action")
        log = from_events(*columns, embeddings=embeddings, ids=ids, directed=directed)
    elif embeddings is not None or ids is not None:
        raise OptionError("embeddings and ids go with a table of events", fix="Leave them out: cycles have theirs.")
    return evaluate(
        log,
        labels,
        conditions=conditions,
        order=order,
        node_types=node_types,
        test_edges=test_edges,
        score=score,
        directed=directed,
        negatives=negatives,
        undeclared=undeclared,
        nan=nan,
        metrics=metrics,
        confidence=confidence,
        seed=seed,
    )


def _of(run: Run, cycles: list[Cycle]) -> list[Cycle]:
    return [each for each in cycles if (each.condition, each.seed) == run]


def _chosen(known: list[Run], conditions: Any) -> list[Run]:
    found = list(dict.fromkeys(name for name, _ in known))
    if conditions is None:
        return [run for name in found for run in known if run[0] == name]
    names = [conditions] if isinstance(conditions, str) else list(np.asarray(conditions, object).tolist())
    if not names:
        raise OptionError("conditions is empty", fix="Leave it out to evaluate all.")
    return [run for name in names for run in known if run[0] == one_of("condition", name, found)]
