"""Evaluates one growing system cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError
from graphgauge.core.loop import measured
from graphgauge.core.metric import select
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.core.result import Evaluation
from graphgauge.evolution.cycle import Grown, Options
from graphgauge.evolution.inputs import Labelled, as_edges

_SAMPLES = ("after", "before", "matched", "labels", "probe", "growth")


class EvaluatorOptions(TypedDict, total=False):
    """Options of `AdaptiveEvaluator` that change values."""

    test_edges: Any
    negatives: str
    negatives_per_positive: int
    folds: int
    homophily_null: str
    metrics: Sequence[str] | None
    nan: str
    confidence: float
    threads: int | None
    seed: int
    undeclared: str


class AllOptions(EvaluatorOptions, total=False):
    """With those that are accepted for compatibility."""

    temperature: float
    device: Any


class AdaptiveEvaluator:
    """Evaluates the edges that a system adds to its graph in each cycle, and keeps the history.

    Parameters
    ----------
    node_ids, labels
        The original nodes, as rows of the embeddings, and their classes: a mapping from node id to label, or an array
        in the order of `node_ids` (for a set: sorted). −1, None and NaN mean no class: these nodes are left out of
        homophily and of the probe, and counted.
    test_edges
        Held-out edges for `static_auc`; without them it is skipped.
    negatives, negatives_per_positive
        `sample` draws that many non-edges per birth, distinct and without replacement; `all` takes every non-edge.
    temperature
        Temperature of the link score σ(−d/temperature). No metric depends on it, because they rank distances.
    folds
        Number of folds of the probe for `nca_mean`.
    homophily_null
        The chance level of homophily: `pairs` of distinct nodes, or `squares`, the squared shares of the classes.
    metrics
        Keys to compute instead of all.
    nan
        `raise`, or `omit`: nodes whose embedding has NaN are left out and counted.
    undeclared
        How to treat edges that appear in a cycle but are not in `new_edges`: `refuse` raises an error, `report`
        evaluates only the declared births, with a finding. Births are checked against the graph before the cycle: the
        given one, or the graph after the last cycle.
    device
        Ignored; accepted for compatibility. Tensors on any device are computed on the CPU in float64.
    """

    def __init__(
        self,
        node_ids: Any,
        labels: Any,
        *,
        test_edges: Any = None,
        negatives: str = "sample",
        negatives_per_positive: int = 1,
        temperature: float = 1.0,
        folds: int = 5,
        homophily_null: str = "pairs",
        metrics: Sequence[str] | None = None,
        nan: str = "raise",
        confidence: float = 0.95,
        threads: int | None = None,
        device: Any = None,
        seed: int = 0,
        undeclared: str = "refuse",
    ) -> None:
        self.options = Options(
            negatives, negatives_per_positive, temperature, folds, homophily_null, nan, threads, seed, undeclared
        )
        self.confidence = confidence_level(confidence)
        self.labelled = Labelled.of(node_ids, labels)
        self.test_edges = None if test_edges is None else as_edges(test_edges, "test_edges").copy()
        names = metric_names(metrics)
        samples = (*_SAMPLES, *(() if test_edges is None else ("held_out",)))
        self._chosen = select("evolution", names, samples)
        self._skipped = {"static_auc": "no test edges given"} if names is None and test_edges is None else {}
        self._smoothed: float | None = None
        self._last_edges: Ints | None = None
        self._history: dict[str, list[float]] = defaultdict(list)
        self.evaluations: list[Evaluation] = []

    @property
    def history(self) -> Mapping[str, list[float]]:
        """The values of each metric by cycle."""
        return {key: list(values) for key, values in self._history.items()}

    def evaluate_cycle(
        self,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any,
        cycle: int,
        previous_embeddings: Any = None,
        tgc: float | None = None,
        *,
        previous_edges: Any = None,
        pools: Any = None,
        removed_edges: Any = None,
    ) -> Evaluation:
        """Evaluate one cycle. Invalid input raises an error and leaves the history unchanged.

        Parameters
        ----------
        embeddings
            (N, D) points in the unit ball, after the cycle; a node's number is its row.
        new_edges
            (M, 2): only the edges born in this cycle, each from the node that received it to its target.
        all_edges
            (E, 2): the graph after the cycle.
        previous_embeddings
            The embeddings before the cycle, on which `auc_birth` and `auc_matched` are measured.
        tgc
            The growth rate reported by the system; computed if None.
        previous_edges
            The graph before the cycle; by default the graph after the last cycle or, in the first cycle, `all_edges`
            without the births.
        pools
            One number per node before the cycle: nodes that could have been chosen in place of each other share one.
        removed_edges
            (R, 2): the edges that the system removed in this cycle.
        """
        number = whole_number("cycle", cycle)
        if self.evaluations and number <= self._history["cycle"][-1]:
            raise InputError(
                f"cycle {number} comes after cycle {int(self._history['cycle'][-1])}", fix="Pass cycles once, in order."
            )
        follows = bool(self.evaluations) and number == self._history["cycle"][-1] + 1
        grown = Grown(
            self.labelled, self.options, number, embeddings, new_edges, all_edges,
            previous_embeddings=previous_embeddings, previous_edges=previous_edges, test_edges=self.test_edges,
            pools=pools, tgc=tgc, last_tgc=self._smoothed, last_edges=self._last_edges if follows else None,
            removed_edges=removed_edges,
        )  # fmt: skip
        conventions = grown.conventions
        found = measured(self._chosen, grown.sample, confidence=self.confidence, conventions=conventions)
        evaluation = Evaluation(
            "evolution",
            found.results,
            conventions=conventions,
            options=self.described | {"cycle": number},
            skipped=self._skipped,
            materials={"ledgers": () if grown.births.balance is None else (grown.births.balance,)},
            notes=grown.notes(),
        )
        self._remember(number, evaluation, grown, tgc)
        self._last_edges = as_edges(all_edges, "all_edges").copy()
        return evaluation

    @property
    def described(self) -> dict[str, Any]:
        return {
            "negatives": self.options.negatives, "negatives_per_positive": self.options.negatives_per_positive,
            "folds": self.options.folds, "seed": self.options.seed, "confidence": self.confidence,
        }  # fmt: skip

    def _remember(self, cycle: int, evaluation: Evaluation, grown: Grown, tgc: float | None) -> None:
        if tgc is None and "tgc" in evaluation:
            self._smoothed = grown.growth.tgc
        self._history["cycle"].append(cycle)
        for key, result in evaluation.items():
            self._history[key].append(result.value)
        self.evaluations.append(evaluation)
