"""Entry point of the family: evaluates stored runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from graphgauge.core.cluster import mapped
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.evolution.family import refuse_together
from graphgauge.evolution.inputs import labels_by_node, listed, original_nodes
from graphgauge.evolution.ledger import Ledger
from graphgauge.evolution.log import LAYOUT, Cycle, EvolutionLog, as_cycles, from_ledger
from graphgauge.evolution.suite import EvaluationSuite, RunPart
from graphgauge.evolution.summary import Run


def evaluate(
    log: Any,
    labels: Any = None,
    *,
    embeddings: Any = None,
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
        A folder of runs, an `EvolutionLog`, a `Ledger`, or cycles in order: `Cycle` objects or mappings with the same
        names.
    labels
        The classes of the original nodes: a mapping from node to label, or an array in the order of `node_ids`. By
        default those stored with the log; without any, metrics that need them are skipped. Labels of a ledger are
        looked up by the ids of its nodes.
    embeddings
        For a `Ledger`: one array for all cycles, a mapping from cycle to array with `start`, or a function of the
        cycle; rows in the order of the ledger's ids, or mappings from id to vector.
    node_ids
        The original nodes; by default the keys of the mapping, or the rows of the array; all nodes of a ledger.
    conditions, log_seeds
        Evaluate only the runs of the log with these.
    test_edges
        Held-out edges for `static_auc`, those of a ledger with the ids of its nodes; without them it is skipped.
    negatives, negatives_per_positive
        `sample` draws that many non-edges per birth, distinct and without replacement; `all` takes every non-edge.
    folds
        Number of folds of the probe for `nca_mean`.
    homophily_null
        The chance level of homophily: `pairs` of distinct nodes, or `squares`, the squared shares of the classes.
    undeclared
        Cycles whose births and removed edges are not the difference of their graphs are an error (`refuse`), or a
        finding (`report`).
    score
        How pairs are scored: `poincare`, `euclidean`, `cosine`, `dot`, `given` or a function of two arrays of rows.
    directed
        Whether (u, v) and (v, u) are different edges; a `Ledger` knows.
    node_types
        One type per node; births are compared with pairs of the same types. By default those of the ledger.
    replay, replay_score, replay_probe, replays, future_edges
        With `replay`, an embedding, the runs are replayed instead: these are `embed`, `score`, `probe`, `draws` and
        `future_edges` of `replay_growth`.
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
        If a log is damaged, or births are not the difference of the graphs and `undeclared` is `refuse`.
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
    refuse_together(_differing(locals()))
    if replay is not None:
        from graphgauge.evolution.growth import replay_growth

        return replay_growth(
            log,
            labels,
            embed=replay,
            node_ids=node_ids,
            conditions=conditions,
            log_seeds=log_seeds,
            future_edges=future_edges,
            node_types=node_types,
            probe=replay_probe,
            score=replay_score,
            draws=replays,
            directed=directed,
            undeclared=undeclared,
            metrics=metrics,
            confidence=confidence,
            seed=seed,
        )
    if embeddings is not None and not isinstance(log, Ledger):
        raise OptionError("embeddings are for a ledger", fix="The cycles of a log have their own.")
    source: Source
    if isinstance(log, str | os.PathLike | EvolutionLog):
        stored = log if isinstance(log, EvolutionLog) else EvolutionLog(log)
        runs = stored_runs(stored, conditions, log_seeds)
        labels = stored.labels() if labels is None else labels
        source = _Stored(stored, directed, undeclared)
    elif isinstance(log, Ledger):
        refuse_for_ledger(log, directed, conditions, log_seeds)
        if embeddings is None:
            raise InputError("a ledger has no embeddings", where="embeddings", fix="Pass embeddings=.")
        directed, runs = log.directed, [("run", 0)]
        source = _OfLedger(log, embeddings, undeclared)
    else:
        runs, listed_cycles = listed_runs(log, conditions, log_seeds)
        source = _Listed(listed_cycles)
    given = Facts(node_ids, labels, node_types, test_edges)
    first = given.of(source.ledger(runs[0]))
    options: dict[str, Any] = {
        "negatives": negatives,
        "negatives_per_positive": negatives_per_positive,
        "temperature": temperature,
        "folds": folds,
        "homophily_null": homophily_null,
        "undeclared": undeclared,
        "score": score,
        "directed": directed,
        "metrics": metrics,
        "nan": nan,
        "confidence": confidence,
        "seed": seed,
        "threads": threads,
        "device": device,
    }
    suite = EvaluationSuite(
        first.node_ids,
        first.labels,
        list(dict.fromkeys(name for name, _ in runs)),
        test_edges=first.test_edges,
        node_types=first.node_types,
        **options,
    )
    labelled = runs[0], first.labels is not None
    for part in mapped(_evaluated_run, [_RunTask(source, given, options, run, labelled) for run in runs]):
        if part is not None:
            suite.absorb(part)
    if not suite.evaluators:
        raise InputError("contains no cycle after the start", where="log", fix="Events of cycle 0 and later grow.")
    return suite.evaluation()


class Source(Protocol):
    """Where the cycles of runs come from, and their ledger, if they have one."""

    def ledger(self, run: Run) -> Ledger | None: ...
    def cycles(self, run: Run) -> Iterable[Cycle]: ...


class _Stored(NamedTuple):
    log: EvolutionLog
    directed: bool
    undeclared: str

    def ledger(self, run: Run) -> Ledger | None:
        return self.log.ledger(*run, directed=self.directed)

    def cycles(self, run: Run) -> Iterable[Cycle]:
        return self.log.cycles(*run, directed=self.directed, undeclared=self.undeclared)


class _OfLedger(NamedTuple):
    own: Ledger
    embeddings: Any
    undeclared: str

    def ledger(self, run: Run) -> Ledger | None:
        return self.own

    def cycles(self, run: Run) -> Iterable[Cycle]:
        return from_ledger(self.own, self.embeddings, undeclared=self.undeclared)


class _Listed(NamedTuple):
    every: Sequence[Cycle]

    def ledger(self, run: Run) -> Ledger | None:
        return None

    def cycles(self, run: Run) -> Iterable[Cycle]:
        return (cycle for cycle in self.every if (cycle.condition, cycle.seed) == run)


class _RunTask(NamedTuple):
    """One run to evaluate; `labelled` says whether the first run has labels."""

    source: Source
    given: Facts
    options: Mapping[str, Any]
    run: Run
    labelled: tuple[Run, bool]


def _evaluated_run(task: _RunTask) -> RunPart | None:
    # Runs of events number their nodes as they occur, each in its own way.
    own, run = task.given.of(task.source.ledger(task.run)), task.run
    first, labelled = task.labelled
    if (own.labels is not None) != labelled:
        raise InputError(
            f"{run[0]}, seed {run[1]}, and {first[0]}, seed {first[1]}: only one of them has labels",
            where="labels",
            fix="Give the labels of every run, or leave out those without.",
        )
    facts = {"test_edges": own.test_edges, "node_types": own.node_types}
    suite = EvaluationSuite(own.node_ids, own.labels, [run[0]], **{**task.options, **facts})
    suite.replay(task.source.cycles(run))
    return suite.part(*run)


def refuse_for_ledger(ledger: Ledger, directed: bool, conditions: Any, log_seeds: Any) -> None:
    """A ledger is one run, and knows whether its edges have a direction."""
    if directed and not ledger.directed:
        raise OptionError("the ledger is undirected", fix="Read it with directed=True.")
    for name, given in (("conditions", conditions), ("log_seeds", log_seeds)):
        if given is not None:
            raise OptionError(f"{name} chooses runs of a log, and a ledger is one run", fix="Leave it out.")


class Facts(NamedTuple):
    """What is known of the nodes of a run, by their ids or by their rows."""

    node_ids: Any
    labels: Any
    node_types: Any
    test_edges: Any

    def of(self, ledger: Ledger | None) -> Facts:
        """By the rows of a run: those of its ledger, if it has one."""
        if ledger is None:
            return self if self.labels is None else self._replace(node_ids=original_nodes(self.labels, self.node_ids))
        nodes, labels = _of_ledger(ledger, self.node_ids, self.labels)
        types = ledger.node_types if self.node_types is None else ledger.types_by_row(self.node_types)
        return Facts(nodes, labels, types, edges_by_id(ledger, self.test_edges))


def edges_by_id(ledger: Ledger, edges: Any) -> Any:
    """Edges with the ids of a ledger's nodes, as rows."""
    if edges is None:
        return None
    ends = [node for edge in edges for node in _two(edge)]
    return ledger.rows(ends).reshape(-1, 2)


def _two(edge: Any) -> list[Any]:
    ends = edge.tolist() if hasattr(edge, "tolist") else list(edge) if isinstance(edge, list | tuple) else []
    if len(ends) < 2:
        raise InputError(f"{edge!r:.80} is not an edge", where="edges", fix="Pass one pair of ids per edge.")
    return ends[:2]


def _differing(given: Mapping[str, Any]) -> list[str]:
    """The arguments that differ from their defaults."""
    usual = {name: parameter.default for name, parameter in inspect.signature(evaluate).parameters.items()}
    return [
        name
        for name, value in given.items()
        if value is not usual[name] and not (isinstance(value, str | int | float) and value == usual[name])
    ]


def _of_ledger(ledger: Ledger, node_ids: Any, labels: Any) -> tuple[Any, Any]:
    """Rows of the original nodes, and their labels by row."""
    rows = range(ledger.nodes) if node_ids is None else ledger.rows(node_ids).tolist()
    labels = labels_by_node(ledger.labels if labels is None else labels)
    if labels is None:
        return rows, None
    if isinstance(labels, Mapping):
        known = labels_by_row(ledger, labels)
        return rows, {row: known.get(row) for row in {*rows, *known}}
    return rows, labels


def labels_by_row(ledger: Ledger, labels: Mapping[Any, Any]) -> dict[int, Any]:
    """The labels of a ledger's nodes; there may be labels of other nodes, but not only of others."""
    known = {row: label for node, label in labels.items() if (row := ledger.row(node)) is not None}
    if labels and not known:
        raise InputError(
            f"none of the {len(labels)} labels is of a node of the ledger",
            where="labels",
            fix="Pass a mapping from the ids of the ledger to labels.",
        )
    return known


def listed_runs(log: Any, conditions: Any, seeds: Any) -> tuple[list[Run], list[Cycle]]:
    """The chosen runs of a list of cycles, and their cycles."""
    given = list(as_cycles(log))
    if not given:
        raise InputError("no cycle was evaluated", where="log", fix="Pass a folder, or a list of cycles.")
    runs = _chosen([(cycle.condition, cycle.seed) for cycle in given], conditions, seeds, "log")
    return runs, [cycle for cycle in given if (cycle.condition, cycle.seed) in runs]


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
