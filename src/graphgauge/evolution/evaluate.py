"""The family's one entry point: a stored run, or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import fields
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, one_of
from graphgauge.core.result import Evaluation
from graphgauge.evolution.log import Cycle, EvolutionLog
from graphgauge.evolution.suite import EvaluationSuite

_FIELDS = {field.name for field in fields(Cycle)}


def evaluate(
    log: Any,
    labels: Any,
    *,
    node_ids: Any = None,
    conditions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    **options: Any,
) -> Evaluation:
    """Judge stored runs: means over cycles and seeds, with intervals over seeds.

    Parameters
    ----------
    log
        A folder of runs, an `EvolutionLog`, or cycles in order: `Cycle` objects or mappings with the same names.
    labels
        The classes of the original nodes: a mapping from node to label, or an array that goes with `node_ids`.
    node_ids
        The original nodes; those of the mapping, or the rows of the array where they are not given.
    conditions, seeds
        Evaluate these runs only.
    options
        Those of `AdaptiveEvaluator`: `negatives`, `test_edges`, `folds`, `metrics`, `nan`, `confidence`, `seed` …
    """
    return replayed(log, labels, node_ids=node_ids, conditions=conditions, seeds=seeds, **options).evaluation()


def replayed(
    log: Any,
    labels: Any,
    *,
    node_ids: Any = None,
    conditions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    **options: Any,
) -> EvaluationSuite:
    """A suite that has judged the stored runs."""
    if not isinstance(labels, Sized):
        raise InputError(f"found {type(labels).__name__}", where="labels", fix="Pass one label for each original node.")
    if node_ids is None:
        node_ids = list(labels) if isinstance(labels, Mapping) else range(len(labels))
    wanted = [conditions] if isinstance(conditions, str) else conditions
    if isinstance(log, str | Path | EvolutionLog):
        stored = log if isinstance(log, EvolutionLog) else EvolutionLog(log)
        runs = chosen_runs(stored, wanted, seeds)
        suite = EvaluationSuite(node_ids, labels, list(dict.fromkeys(name for name, _ in runs)), **options)
        for run in runs:
            suite.replay(stored.cycles(*run))
    else:
        cycles = [item for item in _as_cycles(log) if seeds is None or item.seed in seeds]
        names = list(dict.fromkeys(item.condition for item in cycles))
        chosen = names if wanted is None else [one_of("condition", name, names) for name in wanted]
        suite = EvaluationSuite(node_ids, labels, chosen or ["run"], **options)
        suite.replay(item for item in cycles if item.condition in chosen)
    return suite


def chosen_runs(
    log: EvolutionLog, conditions: Sequence[str] | None, seeds: Sequence[int] | None
) -> list[tuple[str, int]]:
    """The stored runs of these conditions, in the order they are named, and of these seeds."""
    if not log.runs:
        raise InputError(
            "holds no run", where=str(log.folder),
            fix="A run is a folder of cycle-00000.npz, cycle-00001.npz …, or of births.parquet and embeddings.npz.",
        )  # fmt: skip
    names = log.conditions if conditions is None else [one_of("condition", name, log.conditions) for name in conditions]
    runs = [run for name in names for run in log.runs if run[0] == name and (seeds is None or run[1] in seeds)]
    if not runs:
        known = ", ".join(str(seed) for seed in dict.fromkeys(seed for _, seed in log.runs))
        raise InputError(f"no run has seed {', '.join(map(str, seeds or ()))}", where=str(log.folder),
                         fix=f"Stored: {known}.")  # fmt: skip
    return runs


def _as_cycles(items: Iterable[Any]) -> Iterator[Cycle]:
    if isinstance(items, Mapping) or not isinstance(items, Iterable):
        raise InputError(f"found {type(items).__name__}", where="log", fix="Pass a folder, or a list of cycles.")
    for number, item in enumerate(items):
        if isinstance(item, Cycle):
            yield item
            continue
        if not isinstance(item, Mapping):
            raise InputError(f"item {number} is {type(item).__name__}, not a cycle", where="log")
        for name in item:
            one_of("part of a cycle", str(name), sorted(_FIELDS))
        for name in ("embeddings", "new_edges", "all_edges"):
            if name not in item:
                raise InputError(f"cycle {number} has no {name}", where="log")
        yield Cycle(**{"condition": "run", "seed": 0, "cycle": number, **item})
