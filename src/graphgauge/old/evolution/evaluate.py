"""Entry point of the family: evaluates stored runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.evolution.inputs import listed, original_nodes
from graphgauge.old.evolution.log import LAYOUT, Cycle, EvolutionLog, as_cycles
from graphgauge.old.evolution.suite import EvaluationSuite
from graphgauge.old.evolution.summary import Run


def evaluate(
    log: Any,
    labels: Any = None,
    *,
    node_ids: Any = None,
    conditions: Sequence[str] | None = None,
    log_seeds: Sequence[int] | None = None,
    test_edges: Any = None,
    negatives: str = "sample",
    negatives_per_positive: int = 1,
    temperature: float = 1.0,
    folds: int = 5,
    homophily_null: str = "pairs",
    undeclared: str = "refuse",
    score: Any = "poincare",
    directed: bool = False,
    node_types: Any = None,
    metrics: Sequence[str] | None = None,
    nan: str = "raise",
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    device: Any = None,
) -> Evaluation:
    """Evaluate stored runs: means over cycles and seeds, with intervals over seeds.

    Parameters
    ----------
    log
        A folder of runs, an `EvolutionLog`, or cycles in order: `Cycle` objects or mappings with the same names.
    labels
        The classes of the original nodes: a mapping from node to label, or an array in the order of `node_ids`. By
        default those stored with the log; without any, metrics that need them are skipped.
    node_ids
        The original nodes; by default the keys of the mapping, or the rows of the array.
    conditions, log_seeds
        Evaluate only the runs of the log with these.
    test_edges
        Held-out edges for `static_auc`; without them it is skipped.
    negatives, negatives_per_positive
        `sample` draws that many non-edges per birth, distinct and without replacement; `all` takes every non-edge.
    folds
        Number of folds of the probe for `nca_mean`.
    homophily_null
        The chance level of homophily: `pairs` of distinct nodes, or `squares`, the squared shares of the classes.
    undeclared
        Cycles whose births are not the edges that their graphs gained are an error (`refuse`), or a finding (`report`).
    score
        How pairs are scored: `poincare`, `euclidean`, `cosine`, `dot` or a function of two arrays of rows.
    directed
        Whether (u, v) and (v, u) are different edges.
    node_types
        One type per node; births are compared with pairs of the same types.
    metrics
        Keys to compute instead of all.
    nan
        `raise`, or `omit`: nodes whose embedding has NaN are left out and counted.
    seed
        Seed of the drawn non-edges and of the folds; the seed of each run is added to it.
    temperature, device
        Accepted for compatibility; no value depends on them.
    confidence
        Level of the intervals.
    threads
        At most this many threads; by default all cores.

    Returns
    -------
    Evaluation
        One `Result` per metric and condition, with breakdowns by cycle and by run.

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
    >>> ev = evolution.evaluate([cycle], labels=[0, 0, 1, 1], negatives="all", metrics=["auc_birth", "delta_homophily"])
    >>> ev["auc_birth"].value, round(ev["delta_homophily"].value, 4)
    (1.0, 0.6667)
    """
    cycles: Iterable[Cycle]
    if isinstance(log, str | os.PathLike | EvolutionLog):
        stored = log if isinstance(log, EvolutionLog) else EvolutionLog(log)
        runs = stored_runs(stored, conditions, log_seeds)
        labels = stored.labels() if labels is None else labels
        cycles = (cycle for run in runs for cycle in stored.cycles(*run))
    else:
        runs, cycles = listed_runs(log, conditions, log_seeds)
    suite = EvaluationSuite(
        node_ids if labels is None else original_nodes(labels, node_ids),
        labels,
        list(dict.fromkeys(name for name, _ in runs)),
        test_edges=test_edges,
        negatives=negatives,
        negatives_per_positive=negatives_per_positive,
        temperature=temperature,
        folds=folds,
        homophily_null=homophily_null,
        metrics=metrics,
        nan=nan,
        confidence=confidence,
        threads=threads,
        device=device,
        seed=seed,
        undeclared=undeclared,
        score=score,
        directed=directed,
        node_types=node_types,
    )
    suite.replay(cycles)
    if not suite.evaluators:
        raise InputError("contains no cycle after the start", where="log", fix="Append the cycles that follow it.")
    return suite.evaluation()


def listed_runs(log: Any, conditions: Any, seeds: Any) -> tuple[list[Run], list[Cycle]]:
    """The chosen runs of a list of cycles, and their cycles, run by run."""
    given = list(as_cycles(log))
    if not given:
        raise InputError("no cycle was evaluated", where="log", fix="Pass a folder, or a list of cycles.")
    runs = _chosen([(cycle.condition, cycle.seed) for cycle in given], conditions, seeds, "log")
    return runs, [cycle for run in runs for cycle in given if (cycle.condition, cycle.seed) == run]


def stored_runs(
    log: EvolutionLog, conditions: Sequence[str] | None, seeds: Sequence[int] | None
) -> list[tuple[str, int]]:
    """The stored runs with these conditions, in the given order, and these seeds."""
    if not log.runs:
        raise InputError("contains no run", where=str(log.folder), fix=LAYOUT)
    return _chosen(log.runs, conditions, seeds, str(log.folder))


def _chosen(runs: Iterable[Run], conditions: Any, seeds: Any, where: str) -> list[Run]:
    for option, value in (("conditions", conditions), ("log_seeds", seeds)):
        if value is not None and not listed(value):
            raise OptionError(f"{option} is empty", fix="Leave it out to evaluate all.")
    known = list(dict.fromkeys(runs))
    found = list(dict.fromkeys(name for name, _ in known))
    names = found if conditions is None else [one_of("condition", name, found) for name in listed(conditions)]
    chosen = [run for name in names for run in known if run[0] == name and (seeds is None or run[1] in listed(seeds))]
    if not chosen:
        there = ", ".join(map(str, dict.fromkeys(seed for _, seed in known)))
        raise InputError(f"no run has seed {', '.join(map(repr, listed(seeds)))}", where=where, fix=f"Stored: {there}.")
    return chosen
