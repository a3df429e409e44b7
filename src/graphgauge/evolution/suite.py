"""Evaluates several conditions of one system over seeds, and reports them as the original document does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import family_figure, write_figure
from graphgauge.core.grid import Grid
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.evolution.edges import Codes, as_edges
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import Run, as_cycles, named_run
from graphgauge.evolution.summary import means, summary

CONDITIONS = ("Normal", "Off", "Inverted")
_REPORTED = ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "nca_mean")


class Evaluators(dict[Any, AdaptiveEvaluator]):
    """Evaluators by condition and seed; a condition alone is its first seed, as in the original document."""

    def __missing__(self, key: Any) -> AdaptiveEvaluator:
        for run, own in self.items():
            if run[0] == key:
                return own
        raise KeyError(key)


class StepEvaluation(Evaluation):
    """The metrics of one cycle, with `condition` and `cycle` among its keys, as in the original document."""

    def __getitem__(self, key: str) -> Any:
        if key in ("condition", "cycle"):
            return self.run.method if key == "condition" else self.options["cycle"]
        return super().__getitem__(key)


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
        names = [conditions] if isinstance(conditions, str) else list(CONDITIONS if conditions is None else conditions)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            fix = f"Found {', '.join(map(str, names)) or 'none'}."
            raise OptionError("conditions must be names, each once", fix=fix)
        self.conditions = tuple(names)
        self._given = {"node_ids": node_ids, "labels": labels, "device": device, "temperature": temperature, **options}
        self.evaluators = Evaluators()
        self.tgc_history: dict[str, list[float]] = {name: [] for name in names}
        self._last: dict[Run, tuple[AnyArray | None, AnyArray | None]] = {}
        # The graph before the first cycle of each run, and that after its last one.
        self._starts: dict[Run, Ints] = {}
        self._ends: dict[Run, Ints] = {}
        self._evaluator(0)  # raises now if the options are invalid

    def _evaluator(self, seed: int) -> AdaptiveEvaluator:
        return AdaptiveEvaluator(**{**self._given, "seed": self._given.get("seed", 42) + seed})

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
        self._last[run] = _copied(embeddings), as_edges(all_edges, "all_edges").copy()

    def step(
        self,
        condition: str,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any,
        cycle: int,
        tgc: float | None = None,
        seed: int = 0,
        *,
        previous_edges: Any = None,
        previous_embeddings: Any = None,
        pools: Any = None,
        inserted_embeddings: Any = None,
    ) -> Evaluation:
        """Evaluate one cycle of one condition; see `AdaptiveEvaluator.evaluate_cycle`.

        Parameters
        ----------
        condition, seed
            The run that the cycle belongs to.
        embeddings, new_edges, all_edges, cycle, tgc, pools, inserted_embeddings
            As in `AdaptiveEvaluator.evaluate_cycle`.
        previous_edges, previous_embeddings
            The state before the cycle, if it is not that after the last one.

        Returns
        -------
        Evaluation
            The metrics of this cycle, with the further keys `condition` and `cycle`.

        Raises
        ------
        InputError
            If the cycle is not valid; the message names the run.
        """
        run = self._run(condition, seed)
        evaluator = self.evaluators.get(run) or self._evaluator(run[1])
        before, edges = self._last.get(run, (None, None))
        before = before if previous_embeddings is None else previous_embeddings
        edges = edges if previous_edges is None else previous_edges
        with named_run(condition, seed, cycle):
            found = evaluator.evaluate_cycle(
                embeddings,
                new_edges,
                all_edges,
                cycle,
                before,
                tgc,
                previous_edges=edges,
                pools=pools,
                inserted_embeddings=inserted_embeddings,
            )
        if run not in self._starts:
            start = _rest(all_edges, new_edges) if edges is None else edges
            self._starts[run] = as_edges(start, "previous_edges").copy()
        # Copies, because systems often update their embeddings in place.
        self._ends[run] = as_edges(all_edges, "all_edges").copy()
        self._last[run] = _copied(embeddings), self._ends[run]
        self.evaluators[run] = evaluator
        if tgc is not None:
            self.tgc_history[condition].append(float(tgc))
        named = found.named(method=condition, seed=seed)
        named.__class__ = StepEvaluation
        return named

    def replay(self, cycles: Iterable[Any]) -> None:
        """Evaluate stored cycles, in the order of each run."""
        for stored in as_cycles(cycles):
            self.step(
                stored.condition,
                stored.embeddings,
                stored.new_edges,
                stored.all_edges,
                stored.cycle,
                stored.tgc,
                stored.seed,
                previous_edges=stored.previous_edges,
                previous_embeddings=stored.previous_embeddings,
                pools=stored.pools,
                inserted_embeddings=stored.inserted_embeddings,
            )

    # ---- results

    def evaluation(self) -> Evaluation:
        """Means over the cycles of each run, and over runs, with intervals over seeds.

        With several conditions, values are only in the breakdown by condition.
        """
        return summary(self._runs(), self._shared())

    def of(self, condition: str) -> list[AdaptiveEvaluator]:
        """The evaluators of a condition, one per seed."""
        return [own for run, own in self.evaluators.items() if run[0] == condition]

    def report(self) -> dict[str, dict[str, float]]:
        """Means of each condition as a table, and what can be said about the predicted order of the conditions.

        Returns
        -------
        dict[str, dict[str, float]]
            The means by condition, under the names of the original document: `auc_synthetic_mean`, `nca_mean` …
        """
        found = {name: means(own) for name in self.conditions if (own := self.of(name))}
        if not found:
            raise InputError("no cycle was evaluated", fix="Call step() first.")
        keys = [key for key in _REPORTED if any(key in results for results in found.values())]
        columns: dict[str, Any] = {"condition": list(found)}
        for key in keys:
            columns[key] = [results[key].value if key in results else np.nan for results in found.values()]
        columns["seeds"] = [len(self.of(name)) for name in found]
        columns["cycles"] = [sum(len(own.evaluations) for own in self.of(name)) for name in found]
        print(Grid.of(**columns))
        print(self.predicted())
        return {
            name: {key if key.endswith("_mean") else f"{key}_mean": result.value for key, result in results.items()}
            for name, results in found.items()
        }

    def predicted(self, metric: str = "auc_birth") -> str:
        """What the runs say about the predicted order of the conditions, in one sentence."""
        order = " > ".join(self.conditions)
        if len(self.conditions) < 2:
            return "One condition: there is no order to test."
        if metric not in means(list(self._runs().values()), len(self.conditions)):
            metric = "auc_synthetic"
        table = self._by_seed(metric, self.conditions)
        if len(table) < 2 or np.isnan(table).any():
            return f"Predicted {order}: one seed in common, so the order cannot be tested; run more seeds."
        from graphgauge.stats.many import page_test

        trend = page_test(table[:, ::-1], self.conditions[::-1])
        verdict = "yes" if trend.p_value < 0.05 else "no"
        return (
            f"Predicted {order}: {metric} {verdict} (Page's test over {trend.blocks} seeds, p = {trend.p_value:.2g})."
        )

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
        values: dict[str, dict[int, float]] = {name: {} for name in names}
        for (condition, seed), own in self._runs().items():
            if condition in values:
                values[condition][seed] = means([own])[metric].value
        seeds = sorted(set.intersection(*(set(own) for own in values.values())))
        return np.array([[values[name][seed] for name in names] for seed in seeds]).reshape(len(seeds), len(names))

    def _shared(self) -> tuple[str, str] | None:
        """Two conditions of one seed, the second of which started from the graph that the first ended with."""
        starts, ends = ({run: _hash(graph) for run, graph in each.items()} for each in (self._starts, self._ends))
        for (name, seed), end in ends.items():
            for (other, own), start in starts.items():
                if own == seed and other != name and start == end and starts[name, seed] != end:
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
        self.cora_node_ids, self.cora_labels = cora_node_ids, cora_labels

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


def _copied(embeddings: Any) -> AnyArray:
    return np.array(as_numeric(embeddings, "embeddings"))


def _rest(all_edges: Any, new_edges: Any) -> Ints:
    """The edges that were not born in the cycle."""
    every, born = as_edges(all_edges, "all_edges"), as_edges(new_edges, "new_edges")
    codes = Codes(max(int(every.max(initial=0)), int(born.max(initial=0))) + 1)
    return every[~np.isin(codes.of(every), codes.of(born))]


def _hash(edges: Ints) -> str:
    """A fingerprint of a graph that does not depend on the order of its edges."""
    return sha256(np.unique(np.sort(edges, axis=1), axis=0).tobytes()).hexdigest()
