"""Evaluates several conditions of one system over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, on_host
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.figures import drawn
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.result import Result
from graphgauge.old.evolution.evaluator import AdaptiveEvaluator, AllOptions, EvaluatorOptions
from graphgauge.old.evolution.inputs import Codes, as_edges, listed
from graphgauge.old.evolution.log import Cycle, as_cycles, copied, named_run
from graphgauge.old.evolution.summary import Run, means, summary
from graphgauge.old.stats.compare import compare
from graphgauge.old.stats.comparison import Comparison
from graphgauge.old.stats.page import Trend, page_test
from graphgauge.old.stats.text import bounds, fixed, several

CONDITIONS = ("Normal", "Off", "Inverted")
_SHOWN = ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "nca_mean")


class EvaluationSuite:
    """One evaluator per condition and seed; remembers the state before each cycle.

    `options` are those of `AdaptiveEvaluator`. The run's seed is added to `seed`, so that runs draw different
    negatives and their errors are independent, while the conditions of one seed are pairs.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> suite = evolution.EvaluationSuite(range(4), [0, 0, 1, 1], ["with memory", "without"], folds=2)
    >>> points = [[0.0], [0.2], [0.5], [0.7]]
    >>> ev = suite.step("with memory", points, [[0, 1]], [[0, 2], [0, 1]], cycle=0)
    >>> ev = suite.step("without", points, [[1, 2]], [[0, 2], [1, 2]], cycle=0)
    >>> len(suite.of("without"))
    1
    """

    def __init__(
        self,
        node_ids: Any = None,
        labels: Any = None,
        conditions: Sequence[str] = CONDITIONS,
        **options: Unpack[AllOptions],
    ) -> None:
        names = listed(conditions)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise OptionError(
                "conditions must be names, each once", fix=f"Found {', '.join(map(str, names)) or 'none'}."
            )
        self.conditions = tuple(names)
        unchanged = node_ids is None or isinstance(node_ids, Sequence | Set)
        self._nodes = node_ids if unchanged else np.array(on_host(node_ids, "node_ids"))
        self._labels, self._options = labels, options
        self.evaluators = Evaluators()
        self._last: dict[Run, tuple[AnyArray | None, AnyArray | None]] = {}
        # The graph before the first cycle of each run, and that after its last one.
        self._starts: dict[Run, Ints] = {}
        self._ends: dict[Run, Ints] = {}
        AdaptiveEvaluator(self._nodes, labels, **options)  # raises now if they are invalid

    def _evaluator(self, run: Run) -> AdaptiveEvaluator:
        options: dict[str, Any] = {**self._options, "seed": self._options.get("seed", 0) + run[1]}
        return AdaptiveEvaluator(self._nodes, self._labels, **options)

    def begin(self, condition: str, embeddings: Any, all_edges: Any, seed: int = 0) -> None:
        """Set the state before the first cycle, so that this cycle has an `auc_birth` too.

        Parameters
        ----------
        condition, seed
            Which run it is.
        embeddings, all_edges
            One row per node, and the graph (E, 2).

        Returns
        -------
        None
            The state is remembered.

        Raises
        ------
        InputError
            If a cycle of the run was evaluated already.

        Examples
        --------
        >>> from graphgauge import evolution
        >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
        >>> suite = evolution.EvaluationSuite(labels=[0, 0, 1, 1], conditions=["Normal"])
        >>> suite.begin("Normal", points, [(1, 2)])
        >>> ev = suite.step("Normal", points, [(0, 1)], [(1, 2), (0, 1)], cycle=0)
        >>> "auc_birth" in ev
        True
        """
        run = self._run(condition, seed)
        if run in self.evaluators:
            raise InputError(f"{condition!r}, seed {seed}, has begun already")
        self._last[run] = copied(embeddings), as_edges(all_edges, "all_edges").copy()

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
        pools: Any = None,
        previous_edges: Any = None,
        previous_embeddings: Any = None,
        inserted_embeddings: Any = None,
    ) -> Evaluation:
        """Evaluate one cycle of one condition; see `AdaptiveEvaluator.evaluate_cycle`.

        The suite remembers the state after the last cycle; `previous_edges` and `previous_embeddings` replace it.

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
            The metrics of this cycle.

        Raises
        ------
        UnknownNameError
            If the suite has no such condition.
        """
        run = self._run(condition, seed)
        evaluator = self.evaluators.get(run) or self._evaluator(run)
        before, edges = self._last.get(run, (None, None))
        before = before if previous_embeddings is None else previous_embeddings
        edges = edges if previous_edges is None else previous_edges
        with named_run(condition, seed, cycle):
            evaluation = evaluator.evaluate_cycle(
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
            before_first = _rest(all_edges, new_edges) if edges is None else edges
            self._starts[run] = as_edges(before_first, "previous_edges").copy()
        # Copies, because systems often update their embeddings in place.
        self._ends[run] = as_edges(all_edges, "all_edges").copy()
        self._last[run] = copied(embeddings), self._ends[run]
        self.evaluators[run] = evaluator
        evaluation.run |= {"method": condition, "seed": seed}
        return evaluation

    def replay(self, cycles: Iterable[Cycle]) -> None:
        """Evaluate stored cycles.

        Parameters
        ----------
        cycles
            Cycles in the order of each run, such as those of `EvolutionLog.cycles`.
        """
        for stored in as_cycles(cycles):
            run = self._run(stored.condition, stored.seed)
            given = stored.previous_embeddings, stored.previous_edges
            known = self._last.get(run, (None, None))
            self._last[run] = known[0] if given[0] is None else given[0], known[1] if given[1] is None else given[1]
            self.step(
                stored.condition,
                stored.embeddings,
                stored.new_edges,
                stored.all_edges,
                stored.cycle,
                stored.tgc,
                stored.seed,
                pools=stored.pools,
                inserted_embeddings=stored.inserted_embeddings,
            )

    # ---- results

    def evaluation(self) -> Evaluation:
        """Means over the cycles of each run, and over runs, with intervals over seeds.

        Returns
        -------
        Evaluation
            The means. With several conditions, values are only in the breakdown by condition.
        """
        return summary(self._runs(), lambda evaluation, path: self._draw(path), self.shared_state())

    def shared_state(self) -> tuple[str, str] | None:
        """Two conditions of one seed, the second of which started from the graph that the first ended with.

        Returns
        -------
        tuple[str, str] | None
            The names of the two conditions, or None.
        """
        if len({name for name, _ in self._ends}) < 2:
            return None
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

    def of(self, condition: str) -> list[AdaptiveEvaluator]:
        """The evaluators of a condition, one per seed.

        Parameters
        ----------
        condition
            The name of a condition.

        Returns
        -------
        list[AdaptiveEvaluator]
            The evaluators, in the order in which their seeds were first seen.
        """
        return [own for run, own in self.evaluators.items() if run[0] == condition]

    def report(self) -> dict[str, dict[str, float]]:
        """Means of each condition, printed as a table, with the numbers of seeds and cycles.

        Returns
        -------
        dict[str, dict[str, float]]
            The printed means, by condition and metric.
        """
        keys = [key for key in _SHOWN if key in next(iter(self._runs().values())).evaluations[0]]
        reported: dict[str, dict[str, float]] = {}
        rows = []
        for name in self.conditions:
            evaluators = self.of(name)
            if not evaluators:
                continue
            results = means(evaluators)
            cycles = sum(len(own.evaluations) for own in evaluators)
            named = {key if key.endswith("_mean") else f"{key}_mean": float(own) for key, own in results.items()}
            reported[name] = named | {"seeds": len(evaluators), "cycles": cycles}
            cells = [name, *(_shown(results[key]) for key in keys), str(len(evaluators)), str(cycles)]
            rows.append([Cell(cell) for cell in cells])
        print(Grid(["condition", *keys, "seeds", "cycles"], rows).text())
        return reported

    def compare(
        self,
        metric: str = "auc_birth",
        *,
        baseline: str | None = None,
        missing: Any = "raise",
        alpha: float = 0.05,
        direction: Any = None,
        test: Any = "mean",
    ) -> Comparison:
        """Which conditions differ significantly on a metric, paired by seed; see `graphgauge.old.stats.compare`.

        Parameters
        ----------
        metric
            The key of a metric.
        baseline
            Compare all conditions with this one only.
        missing, alpha, direction, test
            As in `graphgauge.old.stats.compare`.

        Returns
        -------
        Comparison
            The comparison.
        """
        runs = [
            Evaluation(
                "evolution",
                list(means([own]).values()),
                conventions=own.evaluations[0].conventions,
                run={"method": condition, "dataset": "the graph", "seed": seed},
            )
            for (condition, seed), own in self._runs().items()
        ]
        return compare(
            runs, metric=metric, baseline=baseline, missing=missing, alpha=alpha, direction=direction, test=test
        )

    def trend(self, metric: str = "auc_birth", order: Sequence[str] | None = None) -> Trend:
        """Page's test of a predicted order of the conditions, lowest first, over seeds; see `stats.page_test`.

        Every seed ranks the conditions by their mean over cycles. With one seed only, there is nothing to test.

        Parameters
        ----------
        metric
            The key of a metric.
        order
            The conditions in the predicted order, lowest first; by default that of the suite.

        Returns
        -------
        Trend
            The outcome of the test.

        Raises
        ------
        UnknownNameError
            If there is no such condition.
        """
        names = list(self.conditions if order is None else order)
        for name in names:
            one_of("condition", name, self.conditions)
        values: dict[str, dict[int, float]] = {name: {} for name in names}
        for (condition, seed), own in self._runs().items():
            if condition in values:
                values[condition][seed] = means([own])[metric].value
        seeds = sorted(set.intersection(*(set(own) for own in values.values())))
        table = np.array([[values[name][seed] for name in names] for seed in seeds]).reshape(len(seeds), len(names))
        return page_test(table, names)

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw the dashboard.

        Parameters
        ----------
        path
            A .png, .svg or .pdf file to write, too.
        ax
            Matplotlib axes whose place the dashboard takes, instead of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Raises
        ------
        InputError
            If no cycle was evaluated.

        Examples
        --------
        >>> from graphgauge import evolution
        >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
        >>> suite = evolution.EvaluationSuite(labels=[0, 0, 1, 1], conditions=["Normal"])
        >>> suite.begin("Normal", points, [(1, 2)])
        >>> ev = suite.step("Normal", points, [(0, 1)], [(1, 2), (0, 1)], cycle=0)
        >>> type(suite.plot("cycles.svg")).__name__
        'ShownFigure'
        """
        return drawn(lambda target: self._draw(target), path, ax)

    def _draw(self, path: str | Path) -> None:
        from graphgauge.old.evolution.figure import draw_evolution, picture

        draw_evolution(picture(self), path)

    def __repr__(self) -> str:
        cycles = sum(len(own.evaluations) for own in self.evaluators.values())
        done = (
            f"{several(len(self.evaluators), 'run')} with {several(cycles, 'cycle')}"
            if self.evaluators
            else "no cycle yet"
        )
        return f"<EvaluationSuite of {', '.join(self.conditions)}: {done}>"

    def _repr_html_(self) -> str:
        return self.evaluation()._repr_html_() if self.evaluators else f"<p>{escape(repr(self))}</p>"

    def _run(self, condition: str, seed: int) -> Run:
        return one_of("condition", condition, self.conditions), whole_number("seed", seed)


class Evaluators(dict[Any, AdaptiveEvaluator]):
    """Evaluators by condition and seed; a condition alone is its first seed, as in the original protocol."""

    def __missing__(self, key: Any) -> AdaptiveEvaluator:
        for run, own in self.items():
            if run[0] == key:
                return own
        raise KeyError(key)


class _OriginalResult(Evaluation):
    """The result of one cycle, with the condition among its keys, as in the original protocol."""

    def __getitem__(self, key: str) -> Any:
        if key in ("condition", "cycle"):
            return self.run["method"] if key == "condition" else self.options["cycle"]
        return super().__getitem__(key)


class NietzscheEvaluationSuite(EvaluationSuite):
    """`EvaluationSuite` with the name and the argument names of the original protocol."""

    def __init__(
        self,
        cora_node_ids: Any,
        cora_labels: Any,
        conditions: Sequence[str] | None = None,
        device: Any = None,
        temperature: float = 1.0,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(
            cora_node_ids, cora_labels, conditions or CONDITIONS, device=device, temperature=temperature, **options
        )
        self.cora_node_ids, self.cora_labels = cora_node_ids, cora_labels

    def step(self, *given: Any, **more: Any) -> Evaluation:
        """See `EvaluationSuite.step`; the result also has the keys `condition` and `cycle`.

        Parameters
        ----------
        given, more
            The arguments of `EvaluationSuite.step`.

        Returns
        -------
        Evaluation
            The metrics of this cycle.
        """
        found = super().step(*given, **more)
        found.__class__ = _OriginalResult
        return found


def build_evaluation_suite_from_cora(
    data: Any, *, conditions: Sequence[str] = CONDITIONS, **options: Unpack[AllOptions]
) -> EvaluationSuite:
    """A suite for a citation graph: an object with `num_nodes` and `y`, a mapping with `labels`, or the labels.

    Parameters
    ----------
    data
        The citation graph, or its labels.
    conditions
        Names of the conditions.
    options
        Options of `AdaptiveEvaluator`.

    Returns
    -------
    EvaluationSuite
        A suite without cycles.

    Raises
    ------
    InputError
        If there are no labels.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> suite = evolution.build_evaluation_suite_from_cora({"labels": [0, 0, 1, 1]}, conditions=["Normal"])
    >>> suite.conditions
    ('Normal',)
    """
    if isinstance(data, Mapping) or hasattr(data, "files"):
        names = [name for name in ("labels", "y") if name in data]
        if not names:
            raise InputError("contains neither labels nor y", where="data", fix="Pass the labels.")
        labels = data[names[0]]
    else:
        labels = getattr(data, "y", data)
    if not isinstance(labels, Sized):
        raise InputError(f"found {type(data).__name__}", where="data", fix="Pass an object with y, or the labels.")
    nodes = getattr(data, "num_nodes", None)
    count = len(labels) if nodes is None else whole_number("num_nodes", nodes, 0)
    return EvaluationSuite(range(count), labels, conditions, **options)


def _shown(result: Result) -> str:
    if not result.defined:
        return "–"
    return f"{fixed(result.value, 4)} {bounds(result.interval, 4) if result.interval else ''}".rstrip()


def _rest(all_edges: Any, new_edges: Any) -> Ints:
    """The edges that were not born in the cycle."""
    every, born = as_edges(all_edges, "all_edges"), as_edges(new_edges, "new_edges")
    codes = Codes(max(int(every.max(initial=0)), int(born.max(initial=0))) + 1)
    return every[~np.isin(codes.of(every), codes.of(born))]


def _hash(edges: Ints) -> str:
    """A fingerprint of a graph that does not depend on the order of its edges."""
    return sha256(np.unique(np.sort(edges, axis=1), axis=0).tobytes()).hexdigest()
