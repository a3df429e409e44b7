"""Evaluates several conditions of one system over seeds, and reports them as the original document does.

A value is the mean over the cycles of each run, and over runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import family_figure, write_figure
from graphgauge.core.grid import Grid
from graphgauge.core.loop import measure
from graphgauge.core.options import whole_number
from graphgauge.core.registry import find
from graphgauge.core.result import Result
from graphgauge.core.types import AnyArray, Floats
from graphgauge.evolution.cycle import Cycle
from graphgauge.evolution.edges import as_edges
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import Run, as_cycles, named_run
from graphgauge.evolution.metrics import Trajectory, over_runs

Groups = Mapping[str, Sequence[AdaptiveEvaluator]]
CONDITIONS = ("Normal", "Off", "Inverted")
_REPORTED = ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "nca_mean")
# The predicted order is that of all metrics; auc_synthetic is left to auc_birth, which is not circular.
_TESTED = tuple(key for key in _REPORTED if key != "auc_synthetic")


class Evaluators(dict[Any, AdaptiveEvaluator]):
    """Evaluators by condition and seed; a condition alone is its first seed, as in the original document."""

    def __missing__(self, key: Any) -> AdaptiveEvaluator:
        for run, own in self.items():
            if run[0] == key:
                return own
        raise KeyError(key)


class EvaluationSuite:
    """One evaluator per condition and seed; remembers the state before each cycle.

    Parameters
    ----------
    node_ids, labels, device, temperature
        As in `AdaptiveEvaluator`.
    conditions
        Names, in the order that is predicted for them, the best first; by default those of the original document.
    **options
        Further options of `AdaptiveEvaluator`. The run's seed is added to `seed`, so that runs draw different pairs and
        their errors are independent, while the conditions of one seed are pairs.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> suite = evolution.EvaluationSuite(range(4), [0, 0, 1, 1], ["with memory", "without"], nca_n_splits=2)
    >>> points = [[0.0], [0.2], [0.5], [0.7]]
    >>> ev = suite.step("with memory", points, [[0, 1]], [[0, 2], [0, 1]], cycle=0)
    >>> ev["condition"], ev["cycle"], ev["homophily_new_edges"].value
    ('with memory', 0, 1.0)
    """

    def __init__(
        self,
        node_ids: Any = None,
        labels: Any = None,
        conditions: Sequence[str] | None = None,
        device: Any = None,
        temperature: float = 1.0,
        **options: Any,
    ) -> None:
        self.conditions = (conditions,) if isinstance(conditions, str) else tuple(conditions or CONDITIONS)
        if len(set(self.conditions)) < len(self.conditions):
            raise OptionError("conditions must be names, each once", fix=f"Found {', '.join(self.conditions)}.")
        self._given = {"node_ids": node_ids, "labels": labels, "device": device, "temperature": temperature, **options}
        self.evaluators = Evaluators()
        self.tgc_history: dict[str, list[float]] = {name: [] for name in self.conditions}
        # The state after the last cycle of each run.
        self._last: dict[Run, tuple[AnyArray, AnyArray]] = {}
        self._evaluator(0)  # raises now if the options are invalid

    def _evaluator(self, seed: int) -> AdaptiveEvaluator:
        return AdaptiveEvaluator(**self._given | {"seed": self._given.get("seed", 42) + seed})

    def begin(self, condition: str, embeddings: Any, all_edges: Any, seed: int = 0) -> None:
        """Set the state before the first cycle, so that this cycle has an `auc_birth` too.

        Parameters
        ----------
        condition, seed
            Which run it is.
        embeddings, all_edges
            One row per node, and the graph (E, 2).

        Raises
        ------
        InputError
            If a cycle of the run was evaluated already.
        """
        run = self._run(condition, seed)
        if run in self.evaluators:
            raise InputError(f"{condition!r}, seed {seed}, has begun already")
        self._last[run] = _copies(embeddings, all_edges)

    def step(
        self,
        condition: str,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any,
        cycle: int,
        tgc: float | None = None,
        seed: int = 0,
        **given: Any,
    ) -> Evaluation:
        """Evaluate one cycle of one condition; see `AdaptiveEvaluator.evaluate_cycle`.

        Parameters
        ----------
        condition, seed
            The run that the cycle belongs to.
        embeddings, new_edges, all_edges, cycle, tgc
            As in `AdaptiveEvaluator.evaluate_cycle`.
        **given
            `pools` and `inserted_embeddings`, which are there, too; `previous_edges` and `previous_embeddings`, if the
            state before the cycle is not that after the last one.

        Returns
        -------
        Evaluation
            The metrics of this cycle, with the further keys `condition` and `cycle`.

        Raises
        ------
        InputError
            If the cycle is not valid; the message names the run.
        """
        return self._evaluate(
            Cycle(embeddings, new_edges, all_edges, cycle, tgc=tgc, condition=condition, seed=seed, **given)
        )

    def replay(self, cycles: Iterable[Any]) -> None:
        """Evaluate stored cycles, in the order of each run."""
        for stored in as_cycles(cycles):
            self._evaluate(stored)

    def _evaluate(self, given: Cycle) -> Evaluation:
        run = self._run(given.condition, given.seed)
        # What was before a cycle is what was after the last one, unless it is said.
        before, edges = self._last.get(run, (None, None))
        before = before if given.previous_embeddings is None else given.previous_embeddings
        edges = edges if given.previous_edges is None else given.previous_edges
        evaluator = self.evaluators.get(run) or self._evaluator(given.seed)
        with named_run(*run, given.cycle):
            found = evaluator.evaluate(replace(given, previous_embeddings=before, previous_edges=edges))
        self._last[run] = _copies(given.embeddings, given.all_edges)
        self.evaluators[run] = evaluator
        if given.tgc is not None:
            self.tgc_history[given.condition].append(float(given.tgc))
        return found.named(method=given.condition, seed=given.seed)

    # ---- results

    def evaluation(self, keys: Sequence[str] | None = None) -> Evaluation:
        """Means over the cycles of each run, and over runs, with intervals over seeds; of all metrics, or of `keys`.

        With several conditions, values are only in the breakdown by condition.
        """
        return summary(self._runs(), self._shared(), keys)

    def of(self, condition: str) -> list[AdaptiveEvaluator]:
        """The evaluators of a condition, one per seed."""
        return [own for run, own in self.evaluators.items() if run[0] == condition]

    def report(self) -> dict[str, dict[str, float]]:
        """Means of each condition, with intervals over seeds, and what can be said about their predicted order.

        Returns
        -------
        dict[str, dict[str, float]]
            The means by condition, under the names of the original document: `auc_synthetic_mean`, `nca_mean` …
        """
        self._runs()
        found = {name: means(own) for name in self.conditions if (own := self.of(name))}
        keys = [key for key in _REPORTED if any(key in results for results in found.values())]
        columns: dict[str, Any] = {"condition": list(found)}
        for key in keys:
            columns[key] = [_cell(results.get(key)) for results in found.values()]
        columns["seeds"] = [len(self.of(name)) for name in found]
        columns["cycles"] = [sum(len(own.evaluations) for own in self.of(name)) for name in found]
        print(Grid.of(**columns))
        print(self.predicted())
        return {
            name: {key if key.endswith("_mean") else f"{key}_mean": result.value for key, result in results.items()}
            for name, results in found.items()
        }

    def predicted(self) -> str:
        """What the runs say about the predicted order of the conditions, in one sentence."""
        order = " > ".join(self.conditions)
        if len(self.conditions) < 2:
            return "One condition: there is no order to test."
        runs = self._runs().values()
        tables = {
            key: self._by_seed(key, self.conditions)
            for key in _TESTED
            if all(key in own.history and not np.isnan(own.history[key]).all() for own in runs)
        }
        seeds = min(map(len, tables.values()), default=0)
        if seeds < 2:
            known = "one seed in common" if seeds else "no seed in common has a value"
            return f"Predicted {order}: {known}, so the order cannot be tested; run more seeds."
        tests = {key: self.trend(key).p_value for key in tables}
        said = [f"{key} {'yes' if p < 0.05 else 'no'} (p = {p:.2g})" for key, p in tests.items()]
        return f"Predicted {order}, by Page's test over {seeds} seeds: {', '.join(said)}."

    def compare(self, metric: str = "auc_birth", **options: Any) -> Any:
        """Which conditions differ on a metric, paired by seed.

        Parameters
        ----------
        metric
            The key of a metric.
        **options
            Those of `stats.compare`, such as `baseline`.

        Returns
        -------
        Comparison
            That of `stats.compare`.
        """
        from graphgauge.stats.comparison import compare

        runs = [
            Evaluation("evolution", means([own]).values(), conventions=own.evaluations[0].conventions).named(
                method=condition, dataset="the graph", seed=seed
            )
            for (condition, seed), own in self._runs().items()
        ]
        return compare(runs, metric=metric, **options)

    def trend(self, metric: str = "auc_birth", order: Sequence[str] | None = None) -> Any:
        """Page's test of a predicted order of the conditions; every seed ranks them by their mean over cycles.

        Parameters
        ----------
        metric
            The key of a metric.
        order
            The conditions, lowest first; by default those of the suite from last to first.

        Returns
        -------
        Trend
            That of `stats.page_test`.
        """
        names = list(reversed(self.conditions) if order is None else order)
        for name in names:
            one_of("condition", name, self.conditions)
        from graphgauge.stats.many import page_test

        return page_test(self._by_seed(metric, names), names)

    def plot(self, save_path: str | Path | None = None) -> Any:
        """Draw the dashboard; also into a .png, .svg or .pdf file, `save_path`."""
        figure = family_figure("evolution", {"": self.evaluation()})
        if save_path is not None:
            write_figure(figure, save_path)
        return figure

    # ---- parts

    def _by_seed(self, metric: str, names: Sequence[str]) -> Floats:
        """(seeds, conditions): the mean over cycles of every seed that all of these conditions have."""
        values = {run: means([own], [metric])[metric].value for run, own in self._runs().items() if run[0] in names}
        seeds = [seed for seed in sorted({seed for _, seed in values}) if all((name, seed) in values for name in names)]
        return np.array([[values[name, seed] for name in names] for seed in seeds]).reshape(len(seeds), len(names))

    def _shared(self) -> tuple[str, str] | None:
        """Two conditions of one seed, the second of which started from the graph that the first ended with."""
        ends = {run: own.graphs for run, own in self.evaluators.items()}
        for (name, seed), (began, ended) in ends.items():
            for (other, own), (start, _) in ends.items():
                if own == seed and other != name and start == ended != began:
                    return name, other
        return None

    def _runs(self) -> Mapping[Run, AdaptiveEvaluator]:
        if not self.evaluators:
            raise InputError("no cycle was evaluated", fix="Call step() first.")
        return self.evaluators

    def _run(self, condition: str, seed: int) -> Run:
        return one_of("condition", condition, self.conditions), whole_number("seed", seed)

    def __repr__(self) -> str:
        cycles = sum(len(own.evaluations) for own in self.evaluators.values())
        return f"<EvaluationSuite of {', '.join(self.conditions)}: {len(self.evaluators)} runs, {cycles} cycles>"


class NietzscheEvaluationSuite(EvaluationSuite):
    """`EvaluationSuite` with the argument names and defaults of the original document."""

    def __init__(
        self,
        cora_node_ids: Any,
        cora_labels: Any,
        conditions: Sequence[str] | None = None,
        device: Any = "cuda",
        temperature: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(cora_node_ids, cora_labels, conditions, device, temperature, **options)

    def plot(self, save_path: str | Path | None = "adaptive_dashboard.png") -> Any:
        """Draw the dashboard into a file."""
        return super().plot(save_path)


def build_evaluation_suite_from_cora(cora_data: Any, device: Any = "cuda", **options: Any) -> NietzscheEvaluationSuite:
    """A suite for a citation graph with `num_nodes` and labels `y`.

    Parameters
    ----------
    cora_data
        Such as `Planetoid(…)[0]` of PyTorch Geometric.
    device
        Ignored.
    **options
        `conditions`, and options of `AdaptiveEvaluator`.

    Returns
    -------
    NietzscheEvaluationSuite
        Without cycles.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from graphgauge import evolution
    >>> suite = evolution.build_evaluation_suite_from_cora(SimpleNamespace(num_nodes=4, y=[0, 0, 1, 1]))
    >>> suite.conditions
    ('Normal', 'Off', 'Inverted')
    """
    labels = getattr(cora_data, "y", None)
    if labels is None:
        raise InputError("has no labels y", where="cora_data", fix="Pass a graph with y, or EvaluationSuite's labels=.")
    count = getattr(cora_data, "num_nodes", None)
    nodes = range(len(labels) if count is None else whole_number("num_nodes", count))
    return NietzscheEvaluationSuite(nodes, labels, device=device, **options)


def _cell(result: Result | None) -> str:
    """A mean over cycles and seeds, with its interval over seeds."""
    if result is None or not result.defined:
        return "–"
    ends = "" if result.interval is None else " [{:.4f}, {:.4f}]".format(*result.interval)
    return f"{result.value:.4f}{ends}"


def _copies(embeddings: Any, all_edges: Any) -> tuple[AnyArray, AnyArray]:
    """Copies, because systems often update their embeddings in place."""
    return np.array(as_numeric(embeddings, "embeddings")), as_edges(all_edges, "all_edges").copy()


# ---- all metrics of several runs


def means(
    evaluators: Sequence[AdaptiveEvaluator], keys: Sequence[str] | None = None, conditions: int = 1
) -> dict[str, Result]:
    """Every metric, or those in `keys`, as the mean over runs of the mean over their cycles; copies count once."""
    runs = [own.evaluations for own in without_copies(evaluators)]
    chosen = [find(key, "evolution")[0] for key in _computed(evaluators, keys)]
    samples = {
        metric.key: Trajectory.from_results(
            metric, [[each.get(metric.key) for each in run] for run in runs], conditions
        )
        for metric in chosen
    }
    measured = measure(
        [(over_runs(metric), {}) for metric in chosen],
        samples,
        named=(),
        confidence=evaluators[0].confidence,
        conventions=runs[0][0].conventions,
    )
    return {result.key: result for result in measured.results}


def _computed(evaluators: Iterable[AdaptiveEvaluator], keys: Sequence[str] | None = None) -> list[str]:
    """The keys that any cycle has, those asked for if any are."""
    every = dict.fromkeys(key for own in evaluators for evaluation in own.evaluations for key in evaluation)
    return [key for key in every if keys is None or key in keys]


def without_copies(evaluators: Sequence[AdaptiveEvaluator]) -> list[AdaptiveEvaluator]:
    """The first of all runs with the same births and embeddings: the others say nothing new."""
    first: dict[Any, AdaptiveEvaluator] = {}
    for number, own in enumerate(evaluators):
        first.setdefault(own.fingerprint or number, own)
    return list(first.values())


def summary(
    runs: Mapping[Run, AdaptiveEvaluator], shared: tuple[str, str] | None = None, keys: Sequence[str] | None = None
) -> Evaluation:
    """All runs: by condition if there are several, otherwise by cycle; of the metrics in `keys`, or all.

    Conditions are not averaged: with several, values are only in the breakdown by condition. A single cycle keeps the
    intervals that it has.
    """
    groups: dict[str, list[AdaptiveEvaluator]] = {}
    for (condition, _), own in runs.items():
        groups.setdefault(condition, []).append(own)
    evaluators = list(runs.values())
    every = [evaluation for own in evaluators for evaluation in own.evaluations]
    first, evidence = every[0], [each for own in evaluators for each in own.evidence]
    copies = {name: count for name, own in groups.items() if (count := len(own) - len(without_copies(own)))}
    if len(every) == 1:
        results, options, breakdowns = {key: first[key] for key in _computed(evaluators, keys)}, first.options, {}
    else:
        results = means(evaluators, keys, len(groups))
        options = evaluators[0].options.described | {"conditions": list(groups)}
        by_cycle = {name: values for name, values in _cycles(groups, keys).items() if name != "condition"}
        several = len(groups) > 1
        breakdowns = {"condition": _by_condition(groups, keys)} if several else {"cycle": Grid(by_cycle)}
    return Evaluation(
        "evolution",
        results.values(),
        conventions=first.conventions,
        options=options,
        breakdowns=breakdowns,
        skipped=first.skipped,
        drawings=lambda: {"cycles": Grid(_cycles(groups))},
        materials={name: tuple(entry for each in evidence for entry in each[name]) for name in evidence[0]}
        | {"copies": copies, "shared": shared},
    )


def _by_condition(groups: Groups, keys: Sequence[str] | None) -> Grid:
    """A row per condition: its mean of every metric, with the ends of its interval."""
    each = [means(group, keys) for group in groups.values()]
    cycles = [sum(len(own.evaluations) for own in group) for group in groups.values()]
    columns: dict[str, Any] = {"condition": np.array(list(groups)), "n": np.array(cycles)}
    none = np.nan, np.nan
    for key in dict.fromkeys(key for results in each for key in results):
        own = [results.get(key) for results in each]
        rows = [(np.nan, *none) if one is None else (one.value, *(one.interval or none)) for one in own]
        columns[key], columns[f"{key}.low"], columns[f"{key}.high"] = np.array(rows).T
    return Grid(columns)


def _cycles(groups: Groups, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns with a row per condition and cycle: the mean over seeds of every metric, of those that have a value."""
    rows: dict[tuple[str, int], list[Evaluation]] = {}
    for name, group in groups.items():
        for each in sorted((each for own in group for each in own.evaluations), key=lambda each: each.options["cycle"]):
            rows.setdefault((name, each.options["cycle"]), []).append(each)
    condition, cycle = zip(*rows, strict=True)
    columns = {"condition": np.array(condition), "cycle": np.array(cycle), "n": np.array(list(map(len, rows.values())))}
    for key in _computed((own for group in groups.values() for own in group), keys):
        columns[key] = np.array([_mean([one[key].value for one in row if key in one]) for row in rows.values()])
    return columns


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan
