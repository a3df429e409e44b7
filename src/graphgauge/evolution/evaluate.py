"""Entry point of the family: evaluates stored runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.forms import Form, chosen_form
from graphgauge.core.result import Evaluation
from graphgauge.evolution.family import FAMILY, REPLAYED
from graphgauge.evolution.inputs import listed, original_nodes
from graphgauge.evolution.log import LAYOUT, Cycle, EvolutionLog, as_cycles
from graphgauge.evolution.suite import EvaluationSuite
from graphgauge.evolution.summary import Run


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
    replay: Any = None,
    replay_score: str = "cosine",
    replay_probe: Any = None,
    replays: int = 39,
    future_edges: Any = None,
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
        The classes of the original nodes: a mapping from node to label, or an array in the order of `node_ids`.
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
        Edges that appear in a cycle but are not in its `new_edges` are an error (`refuse`), or a finding (`report`).
    replay, replay_score, replay_probe, replays, future_edges, node_types
        With `replay`, an embedding, the runs are replayed instead: these are `embed`, `score`, `probe`, `draws`,
        `future_edges` and `node_types` of `replay_growth`.
    metrics
        Keys to compute instead of all.
    nan
        `raise`, or `omit`: nodes whose embedding has NaN are left out and counted.
    seed
        Seed of the drawn non-edges and of the folds; the seed of each run is added to it.
    temperature, device
        Accepted for compatibility; no value depends on them.
    """
    if _form(locals()) is REPLAYED:
        from graphgauge.evolution.growth import replay_growth

        return replay_growth(
            log, labels, embed=replay, node_ids=node_ids, conditions=conditions, log_seeds=log_seeds,
            future_edges=future_edges, node_types=node_types, probe=replay_probe, score=replay_score, draws=replays,
            undeclared=undeclared, metrics=metrics, confidence=confidence, seed=seed,
        )  # fmt: skip
    nodes = original_nodes(labels, node_ids)
    runs, cycles = cycles_of(log, conditions, log_seeds)
    suite = EvaluationSuite(
        nodes, labels, list(dict.fromkeys(name for name, _ in runs)), test_edges=test_edges, negatives=negatives,
        negatives_per_positive=negatives_per_positive, temperature=temperature, folds=folds,
        homophily_null=homophily_null, undeclared=undeclared, metrics=metrics, nan=nan, confidence=confidence,
        seed=seed, threads=threads, device=device,
    )  # fmt: skip
    suite.replay(cycles)
    return suite.evaluation()


def _form(given: Mapping[str, Any]) -> Form:
    """The form that the arguments select; those of the other form are refused."""
    usual = {name: parameter.default for name, parameter in inspect.signature(evaluate).parameters.items()}
    differs = [
        name
        for name, value in given.items()
        if name == "log" or (value is not None if usual[name] is None else value != usual[name])
    ]
    return chosen_form(FAMILY.forms, differs)


def cycles_of(log: Any, conditions: Any, log_seeds: Any) -> tuple[list[Run], Iterable[Cycle]]:
    """The chosen runs of a folder, a log or a list of cycles, and their cycles, run by run."""
    if isinstance(log, str | os.PathLike | EvolutionLog):
        stored = log if isinstance(log, EvolutionLog) else EvolutionLog(log)
        runs = stored_runs(stored, conditions, log_seeds)
        return runs, chain.from_iterable(stored.cycles(*run) for run in runs)
    given = list(as_cycles(log))
    if not given:
        raise InputError("no cycle was evaluated", where="log", fix="Pass a folder, or a list of cycles.")
    runs = _chosen([(cycle.condition, cycle.seed) for cycle in given], conditions, log_seeds, "log")
    return runs, (cycle for cycle in given if (cycle.condition, cycle.seed) in runs)


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
