"""Evaluates several conditions of one system over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from graphgauge.core.arrays import AnyArray, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.renamed import say_renamed
from graphgauge.core.result import Evaluation, Result
from graphgauge.evolution.evaluator import AdaptiveEvaluator, AllOptions, EvaluatorOptions
from graphgauge.evolution.inputs import as_edges, listed
from graphgauge.evolution.log import Cycle, as_cycles
from graphgauge.evolution.summary import Run, means, summary
from graphgauge.stats.compare import compare
from graphgauge.stats.comparison import Comparison
from graphgauge.stats.tables import Cell, Grid
from graphgauge.stats.text import bounds, fixed

CONDITIONS = ("Normal", "Off", "Inverted")
_SHOWN = ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "nca_mean")


class EvaluationSuite:
    """One evaluator per condition and seed; remembers the state before each cycle.

    `options` are those of `AdaptiveEvaluator`. The run's seed is added to `seed`, so that runs draw different
    negatives and their errors are independent, while the conditions of one seed are pairs.
    """

    def __init__(
        self, node_ids: Any, labels: Any, conditions: Sequence[str] = CONDITIONS, **options: Unpack[AllOptions]
    ) -> None:
        names = listed(conditions)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise OptionError(
                "conditions must be names, each once", fix=f"Found {', '.join(map(str, names)) or 'none'}."
            )
        self.conditions = tuple(names)
        self._nodes = node_ids if isinstance(node_ids, Sequence | Set) else np.array(node_ids)
        self._labels, self._options = labels, options
        self.evaluators: dict[Run, AdaptiveEvaluator] = {}
        self._last: dict[Run, tuple[AnyArray | None, AnyArray | None]] = {}
        AdaptiveEvaluator(self._nodes, labels, **options)  # raises now if they are invalid

    def _evaluator(self, seed: int) -> AdaptiveEvaluator:
        options = self._options.copy()
        options["seed"] = options.get("seed", 0) + seed
        return AdaptiveEvaluator(self._nodes, self._labels, **options)

    def begin(self, condition: str, embeddings: Any, all_edges: Any, seed: int = 0) -> None:
        """Set the state before the first cycle, so that this cycle has an `auc_birth` too."""
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
        pools: Any = None,
        removed_edges: Any = None,
    ) -> Evaluation:
        """Evaluate one cycle of one condition; see `AdaptiveEvaluator.evaluate_cycle`."""
        run = self._run(condition, seed)
        evaluator = self.evaluators.get(run) or self._evaluator(run[1])
        before, edges = self._last.get(run, (None, None))
        evaluation = evaluator.evaluate_cycle(
            embeddings, new_edges, all_edges, cycle, before, tgc, previous_edges=edges, pools=pools,
            removed_edges=removed_edges,
        )  # fmt: skip
        # Copies, because systems often update their embeddings in place.
        self._last[run] = _copied(embeddings), as_edges(all_edges, "all_edges").copy()
        self.evaluators[run] = evaluator
        evaluation.run |= {"method": condition, "seed": seed}
        return evaluation

    def replay(self, cycles: Iterable[Cycle]) -> None:
        """Evaluate stored cycles."""
        for stored in as_cycles(cycles):
            run = self._run(stored.condition, stored.seed)
            given = stored.previous_embeddings, stored.previous_edges
            known = self._last.get(run, (None, None))
            self._last[run] = known[0] if given[0] is None else given[0], known[1] if given[1] is None else given[1]
            self.step(
                stored.condition, stored.embeddings, stored.new_edges, stored.all_edges, stored.cycle, stored.tgc,
                stored.seed, pools=stored.pools, removed_edges=stored.removed_edges,
            )  # fmt: skip

    # ---- results

    def evaluation(self) -> Evaluation:
        """Means over the cycles of each run, and over runs, with intervals over seeds."""
        return summary(self._runs(), lambda evaluation, path: self.plot(path))

    def _runs(self) -> Mapping[Run, AdaptiveEvaluator]:
        if not self.evaluators:
            raise InputError("no cycle was evaluated", fix="Call step() first.")
        return self.evaluators

    def of(self, condition: str) -> list[AdaptiveEvaluator]:
        """The evaluators of a condition, one per seed."""
        return [own for run, own in self.evaluators.items() if run[0] == condition]

    def report(self) -> dict[str, dict[str, float]]:
        """Means of each condition, printed as a table, with the numbers of seeds and cycles."""
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
        self, metric: str = "auc_birth", *, baseline: str | None = None, missing: Any = "raise", alpha: float = 0.05,
        direction: Any = None, test: Any = "mean",
    ) -> Comparison:  # fmt: skip
        """Which conditions differ significantly on a metric, paired by seed; see `graphgauge.stats.compare`."""
        runs = [
            Evaluation(
                "evolution", list(means([own]).values()), conventions=own.evaluations[0].conventions,
                run={"method": condition, "dataset": "the graph", "seed": seed},
            )
            for (condition, seed), own in self._runs().items()
        ]  # fmt: skip
        return compare(
            runs, metric=metric, baseline=baseline, missing=missing, alpha=alpha, direction=direction, test=test
        )

    def plot(self, path: str | Path) -> None:
        """Draw the dashboard into a .png, .svg, .pdf or .html file."""
        from graphgauge.evolution.figure import draw_evolution, picture

        draw_evolution(picture(self), path)

    def _run(self, condition: str, seed: int) -> Run:
        return one_of("condition", condition, self.conditions), whole_number("seed", seed)


class NietzscheEvaluationSuite(EvaluationSuite):
    """`EvaluationSuite` under its earlier name, with the argument names of the original protocol."""

    def __init__(
        self, cora_node_ids: Any, cora_labels: Any, conditions: Sequence[str] | None = None, device: Any = None,
        temperature: float = 1.0, **options: Unpack[EvaluatorOptions],
    ) -> None:  # fmt: skip
        say_renamed("NietzscheEvaluationSuite", "EvaluationSuite, and takes node_ids and labels")
        super().__init__(
            cora_node_ids, cora_labels, conditions or CONDITIONS, device=device, temperature=temperature, **options
        )


def build_evaluation_suite_from_cora(
    data: Any, *, conditions: Sequence[str] = CONDITIONS, **options: Unpack[AllOptions]
) -> EvaluationSuite:
    """A suite for a citation graph: an object with `num_nodes` and `y`, a mapping with `labels`, or the labels."""
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


def _copied(embeddings: Any) -> AnyArray:
    return np.array(as_numeric(embeddings, "embeddings"))
