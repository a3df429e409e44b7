"""Evaluates one growing system cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, TypedDict

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.loop import measured
from graphgauge.old.core.metric import find, select
from graphgauge.old.core.metric import metrics as registered
from graphgauge.old.evolution.cycle import Grown, Options, recoded
from graphgauge.old.evolution.inputs import COORDINATES, Labelled, among, as_edges, distinct, inserted, original_nodes

_SAMPLES = ("after", "before", "matched", "newborn", "growth", "kept")
_OF_LABELS = ("labels", "probe")


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
    score: Any
    directed: bool
    node_types: Any


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
        homophily and of the probe, and counted. Further nodes of a mapping are nodes that are born later. Without
        labels, metrics that need them are skipped; without `node_ids`, the original nodes are those before the first
        cycle.
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
        How to treat cycles whose births are not the edges that their graphs gained: `refuse` raises an error, `report`
        evaluates only the declared births, with a finding. Births are checked against the graph before the cycle: the
        given one, or the graph after the last cycle. Edges that are missing after the cycle were removed in it.
    score
        How pairs are scored: `poincare` (distance in the unit ball), `euclidean`, `cosine`, `dot`, or a function of two
        arrays of rows, higher for likelier edges.
    directed
        Whether (u, v) and (v, u) are different edges. If not, `auc_matched` averages both orientations.
    node_types
        One type per node, also for nodes that are born later. Births are compared with pairs of nodes of the same types
        only: in a bipartite graph, of one node of either side.
    device
        Ignored; accepted for compatibility. Everything is computed on the host in float64.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evaluator = evolution.AdaptiveEvaluator(range(4), [0, 0, 1, 1], negatives="all", folds=2)
    >>> before, after = [[0.0], [0.2], [0.5], [0.7]], [[0.0], [0.1], [0.6], [0.7]]
    >>> edges = [[0, 2], [0, 1], [2, 3]]
    >>> ev = evaluator.evaluate_cycle(after, [[0, 1], [2, 3]], edges, 0, before)
    >>> ev["homophily_new_edges"].value, ev["auc_birth"].value
    (1.0, 1.0)
    """

    def __init__(
        self,
        node_ids: Any = None,
        labels: Any = None,
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
        score: Any = "poincare",
        directed: bool = False,
        node_types: Any = None,
    ) -> None:
        self.options = Options(
            negatives,
            negatives_per_positive,
            temperature,
            folds,
            homophily_null,
            nan,
            threads,
            seed,
            undeclared,
            score,
            directed,
        )
        self.confidence = confidence_level(confidence)
        if node_ids is None and labels is not None:
            node_ids = original_nodes(labels)
        self._labelled = None if node_ids is None else Labelled.of(node_ids, labels)
        self.node_types = node_types
        self.test_edges = None if test_edges is None else as_edges(test_edges, "test_edges").copy()
        names = metric_names(metrics)
        samples = (*_SAMPLES, *(() if test_edges is None else ("held_out",)), *(() if labels is None else _OF_LABELS))
        self._chosen = select("evolution", _with_reasons(names, labels, test_edges), samples)
        self._skipped = {} if names is not None else _skipped(labels, test_edges)
        self._smoothed: float | None = None
        self._last_edges: Ints | None = None
        self._seen: tuple[int, Ints] | None = None
        self._born: tuple[int, Ints] | None = None
        self._history: dict[str, list[float]] = defaultdict(list)
        self.evaluations: list[Evaluation] = []
        # Grows with the births and embeddings of each cycle: copies of a run are told by it.
        self._digest = b""
        self._any_births = False

    @property
    def fingerprint(self) -> bytes | None:
        """Equal for runs with equal births and embeddings in every cycle; None for a run without births."""
        return self._digest if self._any_births else None

    @property
    def history(self) -> Mapping[str, list[float]]:
        """The values of each metric by cycle."""
        return {key: list(values) for key, values in self._history.items()}

    @property
    def tgc_history(self) -> list[float]:
        """The growth rate of each cycle, under its name in the original protocol."""
        return self.history["tgc"]

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
        inserted_embeddings: Any = None,
    ) -> Evaluation:
        """Evaluate one cycle. Invalid input raises an error and leaves the history unchanged.

        Parameters
        ----------
        embeddings
            (N, D), after the cycle; a node's number is its row. For the default score, points in the unit ball.
        new_edges
            (M, 2): only the edges born in this cycle.
        all_edges
            (E, 2): the graph after the cycle.
        cycle
            The number of the cycle; each must be larger than the last.
        previous_embeddings
            The embeddings before the cycle, on which `auc_birth` and `auc_matched` are measured.
        tgc
            The growth rate reported by the system; computed if None.
        previous_edges
            The graph before the cycle; by default the graph after the last cycle or, in the first cycle, `all_edges`
            without the births.
        pools
            One number per node before the cycle: nodes that could have been chosen in place of each other share one.
        inserted_embeddings
            (N, D): those of new nodes when they were inserted, before they were adapted to their edges; by default
            those after the cycle.

        Returns
        -------
        Evaluation
            The metrics of this cycle. They are also kept in `evaluations`.

        Raises
        ------
        InputError
            If births and graphs disagree, an embedding is not valid, or the cycle is not after the last one.
        """
        number = self._next(cycle)
        follows = bool(self.evaluations) and number == self._history["cycle"][-1] + 1
        grown = Grown(
            self._nodes(embeddings, previous_embeddings),
            self.options,
            number,
            embeddings,
            new_edges,
            all_edges,
            previous_embeddings=previous_embeddings,
            previous_edges=previous_edges,
            test_edges=self.test_edges,
            pools=pools,
            tgc=tgc,
            last_tgc=self._smoothed,
            last_edges=self._last_edges if follows else None,
            inserted_embeddings=inserted_embeddings,
            node_types=self.node_types,
            seen=self._seen,
            born=self._born,
        )
        evaluation = self._evaluate(number, grown, tgc)
        self._last_edges = as_edges(all_edges, "all_edges").copy()
        births = grown.births
        self._seen = _joined(self._seen, births.nodes, births.before, births.after)
        return evaluation

    def _next(self, cycle: int) -> int:
        number = whole_number("cycle", cycle)
        if self.evaluations and number <= self._history["cycle"][-1]:
            raise InputError(
                f"cycle {number} comes after cycle {int(self._history['cycle'][-1])}", fix="Pass cycles once, in order."
            )
        return number

    @property
    def labelled(self) -> Labelled:
        """The original nodes and their classes."""
        if self._labelled is None:
            raise InputError("the original nodes are unknown before the first cycle", fix="Pass node_ids.")
        return self._labelled

    def _nodes(self, embeddings: Any, previous: Any) -> Labelled:
        if self._labelled is not None:
            return self._labelled
        rows = as_numeric(embeddings if previous is None else previous, "embeddings")
        require_shape(rows, (None, None), "embeddings", COORDINATES)
        return Labelled.without_labels(
            np.flatnonzero(~np.isnan(rows.astype(float)).any(axis=1))
            if rows.dtype.kind == "f"
            else np.arange(len(rows))
        )

    def _evaluate(self, number: int, grown: Grown, tgc: float | None) -> Evaluation:
        conventions = grown.conventions
        found = measured(self._chosen, grown.sample, confidence=self.confidence, conventions=conventions)
        evaluation = Evaluation(
            "evolution",
            found.results,
            conventions=conventions,
            options=self.described | {"cycle": number},
            skipped=self._skipped,
            materials={
                "balances": () if grown.births.balance is None else (grown.births.balance,),
                # Both are properties of the graph at the start.
                "sides": None if self.evaluations else grown.sides(),
                "held": None if self.evaluations else grown.held_in_graph(),
            },
            notes=grown.notes(),
        )
        self._labelled = self._labelled or grown.original
        self._remember(number, evaluation, grown, tgc)
        return evaluation

    @property
    def described(self) -> dict[str, Any]:
        return {
            "negatives": self.options.negatives,
            "negatives_per_positive": self.options.negatives_per_positive,
            "folds": self.options.folds,
            "seed": self.options.seed,
            "confidence": self.confidence,
            "score": self.options.score if isinstance(self.options.score, str) else "a function",
            "directed": self.options.directed,
        }

    def _remember(self, cycle: int, evaluation: Evaluation, grown: Grown, tgc: float | None) -> None:
        if tgc is None and "tgc" in evaluation:
            self._smoothed = grown.growth.tgc
        births = grown.births
        self._any_births |= len(births) > 0
        news = np.ascontiguousarray(births.edges).tobytes(), np.float64(grown.points.rows.sum()).tobytes()
        self._digest = sha256(b"".join([self._digest, *news])).digest()
        if any("kept" in metric.needs for metric, _ in self._chosen):
            self._born = _joined(self._born, births.nodes, births.codes.of(births.edges))
        self._history["cycle"].append(cycle)
        for key, result in evaluation.items():
            self._history[key].append(result.value)
        self.evaluations.append(evaluation)


def _joined(remembered: tuple[int, Ints] | None, nodes: int, *codes: Ints) -> tuple[int, Ints]:
    """Codes with those of earlier cycles, in terms of the present number of nodes."""
    found = recoded(remembered, nodes)
    for more in codes:
        new = distinct(more)
        found = new if found is None else inserted(found, new[~among(new, found)])
    return nodes, np.empty(0, np.int64) if found is None else found


def _skipped(labels: Any, test_edges: Any) -> dict[str, str]:
    reasons = {} if test_edges is not None else {"static_auc": "no test edges given"}
    if labels is None:
        reasons |= {
            entry.key: "no labels given" for entry in registered("evolution") if set(entry.needs) & set(_OF_LABELS)
        }
    return reasons


def _with_reasons(names: Sequence[str] | None, labels: Any, test_edges: Any) -> Sequence[str] | None:
    """The requested metrics; those that need what was not given are named with it."""
    for name in names or ():
        if reason := _skipped(labels, test_edges).get(name):
            needs = " or ".join(find(name, "evolution")[0].needs)
            raise OptionError(f"{name} needs {needs}: {reason}")
    return names
