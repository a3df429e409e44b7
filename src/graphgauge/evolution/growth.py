"""Counterfactual growth: did what a system added help, and more than chance additions would have?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.loop import measured
from graphgauge.core.metric import Metric, select
from graphgauge.core.metric import metrics as registered
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.core.result import Table
from graphgauge.evolution.evaluate import edges_by_id, labels_by_row, listed_runs, refuse_for_ledger, stored_runs
from graphgauge.evolution.growth_metrics import ALPHA, CHANCES, Replays
from graphgauge.evolution.growth_outcomes import OUTCOMES, PAIR_SCORES, Embed, Outcomes, embedded, embedding_of
from graphgauge.evolution.growth_runs import GrownGraph, GrowthRun, read_run, run_of_ledger
from graphgauge.evolution.inputs import Labelled, as_edges, labels_by_node, original_nodes, pair_codes
from graphgauge.evolution.ledger import UNDECLARED, Ledger
from graphgauge.evolution.log import EvolutionLog
from graphgauge.stats.text import fixed, p_text

DRAWS = 39


@dataclass(frozen=True)
class ReplayedRun:
    """All outcomes of one run: values of the run, without its births, and of its chance replays; one per unit."""

    condition: str
    seed: int
    births: int
    grown: Mapping[str, Floats]
    withheld: Mapping[str, Floats]
    chance: Mapping[str, Mapping[str, Floats]]
    ends: Mapping[str, Ints | None]
    missing: Mapping[str, str]
    notes: tuple[str, ...] = ()


def replay_growth(
    log: Any,
    labels: Any = None,
    *,
    embed: Any = "fastrp",
    node_ids: Any = None,
    conditions: Sequence[str] | None = None,
    log_seeds: Sequence[int] | None = None,
    future_edges: Any = None,
    node_types: Any = None,
    probe: Callable[[Floats, GrownGraph], Any] | None = None,
    score: str = "cosine",
    draws: int = DRAWS,
    directed: bool = False,
    undeclared: str = "refuse",
    metrics: Sequence[str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Replay every run with its births withheld, with their ends shuffled, and with their targets redrawn.

    Parameters
    ----------
    log, conditions, log_seeds
        The runs, as for `evaluate`, or a `Ledger`, which is one run. The labels and future edges of a ledger have the
        ids of its nodes; labels default to those of its events.
    labels, node_ids
        The classes of the nodes of the start, as for `evaluate`; without them there is no probe.
    embed
        `fastrp`, `spectral`, `neighbours`, or a function from a `GrownGraph` to one row per node. Replays of one run
        are compared, so it should draw the same numbers for the same `graph.seed`.
    future_edges
        Real edges that came later, between nodes of the start.
    node_types
        One type per node at the end: a target is replaced only by nodes of its type, such as one side of a bipartite
        graph.
    probe
        A function of embeddings and graph to use instead of the classifier: one number, or one per unit; higher is
        better.
    score
        How pairs are scored: `cosine`, `dot`, `euclidean` or `poincare`.
    directed, undeclared
        As for `evaluate`; edges that are not declared are replayed as births.
    draws
        Chance replays of each kind per run; one run needs 39 for p = 0.025.
    metrics
        Keys to compute instead of all.
    confidence
        Level of the intervals.
    seed
        Seed of the chance replays and of the embedding.

    Returns
    -------
    Evaluation
        What growth changed, and how much more than chance growth; `is_helpful` and `is_harmful` read it.

    Raises
    ------
    InputError
        If a log is damaged, or births are not the difference of the graphs and `undeclared` is `refuse`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> rng, labels = np.random.default_rng(0), np.arange(30) % 3
    >>> pairs = rng.permutation([(u, v) for u in range(30) for v in range(u)])
    >>> start, others = pairs[:40], pairs[40:]
    >>> births = others[labels[others[:, 0]] == labels[others[:, 1]]][:60]
    >>> cycle = {"embeddings": np.zeros((30, 2)), "new_edges": births, "previous_edges": start,
    ...          "all_edges": np.concatenate([start, births])}
    >>> ev = evolution.replay_growth([cycle], labels)
    >>> round(ev["growth_probe"].value, 4), ev["growth_probe_p_redrawn"].value
    (0.6333, 0.025)
    """
    one_of("score", score, PAIR_SCORES)
    draws, level, seed = whole_number("draws", draws, 1), confidence_level(confidence), whole_number("seed", seed, 0)
    name, function = embedding_of(embed)
    if probe is not None and not callable(probe):
        raise OptionError("probe is not a function", fix="Pass a function of embeddings and graph.")
    names = metric_names(metrics)
    histories = list(
        _histories(log, labels, node_ids, future_edges, conditions, log_seeds, node_types, directed, undeclared, seed)
    )
    absent = {
        outcome: why
        for outcome, why, missing in (
            ("probe", "no labels given", probe is None and all(own.labelled is None for own in histories)),
            ("future", "no future edges given", future_edges is None),
        )
        if missing
    }
    chosen = select("evolution", names, [f"replayed_{outcome}" for outcome in OUTCOMES if outcome not in absent])
    wanted = [outcome for outcome in OUTCOMES if any(f"replayed_{outcome}" in entry.needs for entry, _ in chosen)]
    runs = [
        _replayed(own, wanted=wanted, embed=function, name=name, probe=probe, score=score, draws=draws, seed=seed)
        for own in histories
    ]
    skipped = {
        entry.key: absent[outcome]
        for entry in (registered("evolution") if names is None else ())
        for outcome in absent
        if f"replayed_{outcome}" in entry.needs
    }
    conventions = {"embed": name, "score": score, "draws": str(draws)}
    return _evaluation(runs, chosen, skipped, level, conventions, seed)


@dataclass(frozen=True)
class History:
    """A run, and the labels and future edges of its rows."""

    run: GrowthRun
    labelled: Labelled | None
    future_edges: Any


def _histories(
    log: Any,
    labels: Any,
    node_ids: Any,
    future_edges: Any,
    conditions: Any,
    log_seeds: Any,
    node_types: Any,
    directed: bool,
    undeclared: str,
    seed: int,
) -> Iterator[History]:
    """The runs of a log, of cycles, or of one ledger."""
    one_of("undeclared", undeclared, UNDECLARED)
    given: dict[str, Any] = {"types": node_types, "undeclared": undeclared}
    rest = labels, node_ids, future_edges
    if isinstance(log, Ledger):
        refuse_for_ledger(log, directed, conditions, log_seeds)
        yield _of_ledger(log, run_of_ledger(log, seed=seed, **given), *rest)
    elif isinstance(log, str | os.PathLike | EvolutionLog):
        stored = log if isinstance(log, EvolutionLog) else EvolutionLog(log)
        known = stored.labels() if labels is None else labels
        for condition, number in stored_runs(stored, conditions, log_seeds):
            events = stored.ledger(condition, number, directed=directed)
            if events is not None:
                run = replace(run_of_ledger(events, seed=seed + number, **given), condition=condition, seed=number)
                yield _of_ledger(events, run, known, node_ids, future_edges)
                continue
            cycles = stored.cycles(condition, number, directed=directed, undeclared=undeclared)
            run = read_run(cycles, directed=directed, seed=seed + number, **given)
            yield History(run, _labelled(known, node_ids), future_edges)
    else:
        runs, every = listed_runs(log, conditions, log_seeds)
        for condition, number in runs:
            own = [cycle for cycle in every if (cycle.condition, cycle.seed) == (condition, number)]
            run = read_run(own, directed=directed, seed=seed + number, **given)
            yield History(run, _labelled(labels, node_ids), future_edges)


def _labelled(labels: Any, node_ids: Any) -> Labelled | None:
    return None if labels is None else Labelled.of(original_nodes(labels, node_ids), labels)


def _of_ledger(ledger: Ledger, run: GrowthRun, labels: Any, node_ids: Any, future_edges: Any) -> History:
    """Labels and future edges by the ids of a ledger's nodes; labels default to those of its events."""
    labels = labels_by_node(ledger.labels if labels is None else labels)
    if isinstance(labels, Mapping):
        labels = labels_by_row(ledger, labels)
    rows = None if node_ids is None else ledger.rows(node_ids)
    return History(run, _labelled(labels, rows), edges_by_id(ledger, future_edges))


def _replayed(
    history: History, *, wanted: Sequence[str], embed: Embed, name: str, probe: Any, score: str, draws: int, seed: int
) -> ReplayedRun:
    run, labelled, future_edges = history.run, history.labelled, history.future_edges
    rng = np.random.default_rng([seed, run.seed, 3])
    classes = np.full(run.num_nodes, -1)
    if labelled is not None:
        if len(labelled) and labelled.ids[-1] >= run.num_nodes:
            raise InputError(
                f"node {labelled.ids[-1]} is not among the {run.num_nodes} nodes of the run", where="labels"
            )
        classes = labelled.class_of(run.num_nodes)
    outcomes = Outcomes.of(run, classes, future_edges, score, probe, rng)
    keys = [outcome for outcome in wanted if outcome not in outcomes.missing]

    def measure(graph: GrownGraph) -> dict[str, Floats]:
        points = embedded(embed, name, graph) if keys else np.empty((0, 0))
        return {key: outcomes.measure(key, points, graph) for key in keys}

    arms = {"shuffled": run.shuffled(draws, rng), "redrawn": run.redrawn(draws, rng)}
    found = {kind: [measure(run.graph(births)) for births in drawn] for kind, drawn in arms.items()}
    return ReplayedRun(
        run.condition,
        run.seed,
        len(run.growth),
        measure(run.graph()),
        measure(run.withheld()),
        {kind: {key: np.array([values[key].mean() for values in own]) for key in keys} for kind, own in found.items()},
        {key: outcomes.ends(key) for key in keys},
        outcomes.missing,
        (*run.notes, *_notes(run, arms, future_edges)),
    )


def _notes(run: GrowthRun, arms: Mapping[str, list[Ints]], future_edges: Any) -> Iterator[str]:
    births = len(run.births)
    for kind, drawn in arms.items():
        kept = np.mean([run.shared(other) for other in drawn])
        if births and kept > births / 2:
            yield (
                f"replays with {CHANCES[kind]} keep {kept / births:.0%} of the births, because few others are "
                "possible: they can show little"
            )
    own = set(pair_codes(run.growth, run.num_nodes).tolist())
    if future_edges is not None:
        later = as_edges(future_edges, "future_edges", run.num_nodes)
        added = len(own & set(pair_codes(later, run.num_nodes).tolist()))
        if added:
            yield f"future edges that the run added itself, scored like the others: {added}"


def _sample(runs: Sequence[ReplayedRun], outcome: str, conditions: int, seed: int) -> Replays:
    measured_runs = [run for run in runs if outcome in run.grown]
    reasons = [run.missing[outcome] for run in runs if outcome in run.missing]
    units = [
        run.grown[outcome] - run.withheld[outcome]
        if len(run.grown[outcome]) == len(run.withheld[outcome])
        else np.empty(0)
        for run in measured_runs
    ]
    return Replays(
        np.array([run.grown[outcome].mean() for run in measured_runs]),
        np.array([run.withheld[outcome].mean() for run in measured_runs]),
        {kind: np.array([run.chance[kind][outcome] for run in measured_runs]) for kind in CHANCES},
        units,
        [run.ends[outcome] for run in measured_runs],
        conditions,
        reasons[0] if reasons else "no runs",
        seed,
        len(runs) - len(measured_runs),
    )


def _evaluation(
    runs: list[ReplayedRun],
    chosen: list[tuple[Metric, dict[str, Any]]],
    skipped: dict[str, str],
    confidence: float,
    conventions: dict[str, str],
    seed: int,
) -> Evaluation:
    names = list(dict.fromkeys(run.condition for run in runs))
    groups = {name: [run for run in runs if run.condition == name] for name in names}

    def samples(own: Sequence[ReplayedRun], conditions: int = 1) -> Callable[[Metric], Replays]:
        return lambda entry: _sample(own, entry.needs[0].removeprefix("replayed_"), conditions, seed)

    found = measured(chosen, samples(runs, len(names)), confidence=confidence, conventions=conventions)
    by_condition = None
    if len(names) > 1:
        each = {
            name: measured(chosen, samples(own), confidence=confidence, conventions=conventions).results
            for name, own in groups.items()
        }
        columns: dict[str, Any] = {"condition": np.array(names), "n": np.array([len(own) for own in groups.values()])}
        for place, result in enumerate(found.results):
            own = [results[place] for results in each.values()]
            columns[result.key] = np.array([one.value for one in own])
            if any(one.interval for one in own):
                bounds = np.array([tuple(one.interval or (np.nan, np.nan)) for one in own])
                columns |= {f"{result.key}.low": bounds[:, 0], f"{result.key}.high": bounds[:, 1]}
        by_condition = Table("condition", columns)
    notes = [note for name, own in groups.items() for note in _verdicts(name if len(names) > 1 else "", own, seed)]
    notes += list(dict.fromkeys(note for run in runs for note in run.notes))
    return Evaluation(
        "evolution",
        found.results,
        conventions=conventions,
        options=conventions | {"seed": seed, "confidence": confidence, "conditions": names},
        breakdowns={} if by_condition is None else {"condition": by_condition},
        skipped=skipped,
        materials={"replays": tuple(runs)},
        notes=tuple(notes),
        figure=_draw,
    )


def _verdicts(name: str, runs: Sequence[ReplayedRun], seed: int) -> Iterator[str]:
    """In one sentence per outcome: did growth help, and more than chance growth?"""
    said = {"probe": "the probe", "future": "future edges", "retention": "old edges"}
    for outcome, what in said.items():
        sample = _sample(runs, outcome, 1, seed)
        if not len(sample):
            continue
        against = "; ".join(
            f"{sample.verdict(kind)} with {chance} ({fixed(float(sample.over(kind).mean()), 3)}, "
            f"{p_text(sample.p(kind))})"
            for kind, chance in CHANCES.items()
        )
        prefix = f"{name}: " if name else ""
        yield f"{prefix}{what}: {fixed(float(sample.effects.mean()), 3)} against no growth; {against}"


def _draw(evaluation: Evaluation, path: str | Path) -> None:
    from graphgauge.evolution.growth_figure import draw

    draw(evaluation.materials["replays"], path)


def is_helpful(evaluation: Evaluation, outcome: str = "probe") -> bool:
    """Whether growth helped, and more than both kinds of chance growth, each at 5 %.

    Random growth is called helpful in at most 5 % of cases, because each of the tests is exact.

    Parameters
    ----------
    evaluation
        The result of `replay_growth`, or of `evaluate` with `replay`.
    outcome
        `probe`, `future` or `retention`.

    Returns
    -------
    bool
        False also if there are too few replays to decide.

    Raises
    ------
    UnknownNameError
        If the evaluation has no such outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> rng, labels = np.random.default_rng(0), np.arange(30) % 3
    >>> pairs = rng.permutation([(u, v) for u in range(30) for v in range(u)])
    >>> start, others = pairs[:40], pairs[40:]
    >>> births = others[labels[others[:, 0]] == labels[others[:, 1]]][:60]
    >>> cycle = {"embeddings": np.zeros((30, 2)), "new_edges": births, "previous_edges": start,
    ...          "all_edges": np.concatenate([start, births])}
    >>> ev = evolution.replay_growth([cycle], labels)
    >>> evolution.is_helpful(ev)
    True
    """
    one_of("outcome", outcome, OUTCOMES)
    beyond = all(evaluation[f"growth_{outcome}_p_{kind}"].value <= ALPHA for kind in CHANCES)
    return bool(evaluation[f"growth_{outcome}"].value > 0 and beyond)


def is_harmful(evaluation: Evaluation, outcome: str = "probe") -> bool:
    """Whether growth did harm, and more than both kinds of chance growth, each at 5 %; not for a stored result.

    Parameters
    ----------
    evaluation
        The result of `replay_growth`, or of `evaluate` with `replay`.
    outcome
        `probe`, `future` or `retention`.

    Returns
    -------
    bool
        False also if there are too few replays to decide.

    Raises
    ------
    InputError
        If the evaluation was read from a file, which has no replays.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> rng, labels = np.random.default_rng(0), np.arange(30) % 3
    >>> pairs = rng.permutation([(u, v) for u in range(30) for v in range(u)])
    >>> start, others = pairs[:40], pairs[40:]
    >>> births = others[labels[others[:, 0]] == labels[others[:, 1]]][:60]
    >>> cycle = {"embeddings": np.zeros((30, 2)), "new_edges": births, "previous_edges": start,
    ...          "all_edges": np.concatenate([start, births])}
    >>> ev = evolution.replay_growth([cycle], labels, draws=3)
    >>> evolution.is_harmful(ev)
    False
    """
    one_of("outcome", outcome, OUTCOMES)
    if "replays" not in evaluation.materials:
        raise InputError(
            "the replays are not stored with a result", fix="Ask before it is written, or replay it again."
        )
    sample = _sample(evaluation.materials["replays"], outcome, 1, evaluation.options["seed"])
    return bool(sample.effects.mean() < 0 and all(sample.p(kind, worse=True) <= ALPHA for kind in CHANCES))
