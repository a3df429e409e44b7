"""Evaluates one growing system cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.loop import measure
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import metrics as registered
from graphgauge.core.registry import select
from graphgauge.evolution.cycle import SAMPLES, Cycle, Grown, Options, Past
from graphgauge.evolution.edges import NOTHING, as_edges
from graphgauge.evolution.labels import Labelled, original_nodes
from graphgauge.evolution.points import COORDINATES, Score

# The metrics of the original document, in its order; a cycle has them beside the defaults of the family.
ORIGINAL = (
    "auc_synthetic",
    "n_synthetic_positives",
    "n_synthetic_negatives",
    "delta_homophily",
    "homophily_new_edges",
    "homophily_baseline",
    "nca_mean",
    "nca_std",
    "tgc",
)


class AdaptiveEvaluator:
    """Evaluates the edges that a system adds to its graph in each cycle, and keeps the history.

    Parameters
    ----------
    node_ids, labels
        The original nodes, as rows of the embeddings, and their classes: a mapping from node to label, or an array in
        the order of `node_ids` (of a set: sorted). -1, None and NaN mean no class. Further nodes of a mapping are nodes
        that are born later. Without labels, metrics that need them are left out; without `node_ids`, the original nodes
        are those before the first cycle.
    device
        Ignored: everything is computed on the host in float64.
    n_neg_per_pos
        How many pairs without an edge are drawn for each birth, distinct and without replacement; "all" takes every
        one.
    temperature
        Temperature of the link score in the original document. No metric depends on it, because they rank distances.
    nca_n_splits
        Folds of the probe for `nca_mean`.
    seed
        Seed of the drawn pairs and of the folds.
    score
        How pairs are scored: `poincare` (distance in the unit ball), `euclidean`, `cosine`, `dot`, or a function of two
        arrays of rows, higher for likelier edges.
    directed
        Whether (u, v) and (v, u) are different edges.
    node_types
        One type per node, also for nodes that are born later. Births are compared with pairs of the same types only: in
        a bipartite graph, of one node of either side.
    test_edges
        Held-out edges for `static_auc`.
    undeclared
        Births that are not the edges that the graphs gained are an error (`refuse`), or a finding (`report`).
    nan
        `raise`, or `omit`: nodes whose embedding has NaN are left out and counted.
    metrics
        Keys to compute, or "all"; by default those of the family and of the original document.
    confidence
        Level of the intervals.
    cora_node_ids, cora_labels
        The names of `node_ids` and `labels` in the original document.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> evaluator = evolution.AdaptiveEvaluator(range(4), [0, 0, 1, 1], n_neg_per_pos="all", nca_n_splits=2)
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
        device: Any = None,
        n_neg_per_pos: int | str = 1,
        temperature: float = 1.0,
        nca_n_splits: int = 5,
        seed: int = 42,
        *,
        score: Score = "poincare",
        directed: bool = False,
        node_types: Any = None,
        test_edges: Any = None,
        undeclared: str = "refuse",
        nan: str = "raise",
        metrics: str | Sequence[Any] | None = None,
        confidence: float = 0.95,
        cora_node_ids: Any = None,
        cora_labels: Any = None,
    ) -> None:
        node_ids = cora_node_ids if node_ids is None else node_ids
        labels = cora_labels if labels is None else labels
        self.options = Options(
            n_neg_per_pos, nca_n_splits, nan, seed, undeclared, score, directed, test_edges, node_types
        )
        self.confidence = confidence_level(confidence)
        if node_ids is None and labels is not None:
            node_ids = original_nodes(labels)
        self._labelled = None if node_ids is None else Labelled.of(node_ids, labels)
        self._metrics = metrics
        absent = {"held_out": test_edges is None, "labels": labels is None, "probe": labels is None}
        self._samples = [name for name in SAMPLES if not absent.get(name)]
        select("evolution", None if metrics == () else metrics, self._samples)
        self._past = Past()
        self._history: dict[str, list[float]] = defaultdict(list)
        self.evaluations: list[Evaluation] = []
        # Grows with the births and embeddings of each cycle: copies of a run are told by it.
        self._digest, self._any_births = b"", False

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
        """The growth rate of each cycle."""
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
            (M, 2): only the edges born in this cycle; None takes the edges that the graph gained.
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
        number = whole_number("cycle", cycle)
        done = [int(each) for each in self._history["cycle"]]
        if done and number <= done[-1]:
            raise InputError(f"cycle {number} comes after cycle {done[-1]}", fix="Pass cycles once, in order.")
        given = Cycle(
            embeddings,
            new_edges,
            all_edges,
            cycle=number,
            previous_embeddings=previous_embeddings,
            previous_edges=previous_edges,
            tgc=tgc,
            pools=pools,
            inserted_embeddings=inserted_embeddings,
        )
        # Edges that appeared between cycles that are not adjacent are unknown.
        past = self._past if done and number == done[-1] + 1 else replace(self._past, edges=None)
        grown = Grown(self._nodes(given), self.options, given, past)
        evaluation = self._measured(grown, first=not done)
        self._remember(given, grown, evaluation)
        return evaluation

    def _nodes(self, given: Cycle) -> Labelled:
        if self._labelled is not None:
            return self._labelled
        before = given.previous_embeddings
        rows = as_numeric(given.embeddings if before is None else before, "embeddings")
        require_shape(rows, (None, None), "embeddings", COORDINATES)
        known = ~np.isnan(rows.astype(float)).any(axis=1) if rows.dtype.kind == "f" else np.ones(len(rows), bool)
        return Labelled.without_labels(np.flatnonzero(known))

    def _measured(self, grown: Grown, *, first: bool) -> Evaluation:
        samples = grown.samples(self._samples)
        asked, named = select("evolution", self._metrics or None, samples)
        if not self._metrics:
            keys = {metric.key for metric, _ in asked} | set(ORIGINAL if self._metrics is None else ())
            keys -= set() if grown.has_newborn else {"auc_newborn"}
            asked = [(each, {}) for each in registered("evolution") if each.key in keys and each.needs[0] in samples]
        conventions = grown.conventions
        found = measure(asked, samples, named=named, confidence=self.confidence, conventions=conventions)
        return Evaluation(
            "evolution",
            found.results,
            conventions=conventions,
            options=self.options.described | {"cycle": grown.cycle},
            skipped=found.skipped,
            materials={
                "balances": () if grown.births.balance is None else (grown.births.balance,),
                "paired": None if grown.paired is None else (grown.paired,),
                # Both are properties of the graph at the start.
                "sides": grown.sides() if first else None,
                "held": grown.held_in_graph() if first else None,
                "notes": grown.notes(),
            },
        )

    def _remember(self, given: Cycle, grown: Grown, evaluation: Evaluation) -> None:
        births, past = grown.births, self._past
        computed = given.tgc is None and "tgc" in evaluation
        self._past = Past(
            as_edges(given.all_edges, "all_edges").copy(),
            (past.seen or NOTHING).joined(grown.nodes, births.before, births.after),
            past.born.joined(grown.nodes, births.codes.of(births.edges)),
            grown.growth.tgc if computed else past.tgc,
        )
        self._labelled = self._labelled or grown.original
        self._any_births |= len(births) > 0
        news = np.ascontiguousarray(births.edges).tobytes(), np.float64(grown.points.rows.sum()).tobytes()
        self._digest = sha256(b"".join([self._digest, *news])).digest()
        self._history["cycle"].append(grown.cycle)
        done = len(self.evaluations)
        for key in dict.fromkeys([*evaluation, *self._history]):
            if key != "cycle":  # a metric that some cycles do not have is NaN there
                values = self._history[key]
                values += [np.nan] * (done - len(values))
                values.append(evaluation[key].value if key in evaluation else np.nan)
        self.evaluations.append(evaluation)
