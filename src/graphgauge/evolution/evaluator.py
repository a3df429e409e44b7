"""Evaluates one growing system cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.loop import measure
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import Chosen, select
from graphgauge.core.types import Ints
from graphgauge.evolution import areas
from graphgauge.evolution.cycle import Cycle, Options, Past, State
from graphgauge.evolution.edges import among, set_of, two_sides
from graphgauge.evolution.homophily import Folds, LabelPairs
from graphgauge.evolution.nodes import COORDINATES, Labelled, Score

# The metrics of the original document; a cycle has them beside the defaults of the family.
DOCUMENT = (
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

# What metrics are computed on, by name.
_SAMPLES: Mapping[str, Callable[[State], Any]] = {
    "after": areas.after,
    "before": areas.before,
    "matched": areas.matched,
    "newborn": areas.newborn,
    "held_out": areas.held_out,
    "labels": LabelPairs,
    "probe": Folds.from_state,
    "cycle": lambda state: state,
}


class StepEvaluation(Evaluation):
    """The metrics of one cycle, with `condition` and `cycle` among its keys, as in the original document."""

    def __getitem__(self, key: str) -> Any:
        if key in ("condition", "cycle"):
            return self.run.method if key == "condition" else self.options["cycle"]
        return super().__getitem__(key)


class AdaptiveEvaluator:
    """Evaluates the edges that a system adds to its graph in each cycle, and keeps the history.

    Parameters
    ----------
    node_ids, labels
        The original nodes, as rows of the embeddings, and their classes: a mapping from node to label, or an array in
        the order of `node_ids` (of a set: sorted). -1, None and NaN mean no class. Further nodes of a mapping are nodes
        that are born later. Without labels, metrics that need them are left out; without `node_ids`, the original nodes
        are those before the first cycle, whichever have a label, and an array of labels begins with that of node 0. If
        the embeddings before it are unknown, they are the nodes in `labels`, or all.
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
        nan: str = "raise",
        metrics: str | Sequence[Any] | None = None,
        confidence: float = 0.95,
        cora_node_ids: Any = None,
        cora_labels: Any = None,
    ) -> None:
        node_ids = cora_node_ids if node_ids is None else node_ids
        labels = cora_labels if labels is None else labels
        self.options = Options(n_neg_per_pos, nca_n_splits, nan, seed, score, directed, test_edges, node_types)
        self.confidence = confidence_level(confidence)
        if labels is None:
            self._labelled = Labelled.without_labels(() if node_ids is None else node_ids)
        else:
            self._labelled = Labelled.from_labels(labels, node_ids)
        self._originals_known = node_ids is not None
        absent = {"labels": labels is None, "probe": labels is None, "held_out": test_edges is None}
        self._samples = [name for name in _SAMPLES if not absent.get(name)]
        self._metrics = metrics
        self._selected()  # raises now what is asked for and cannot be had
        self._past = Past()
        self.evaluations: list[Evaluation] = []
        self.evidence: list[dict[str, tuple[Any, ...]]] = []  # what checks look at, by cycle
        # Grows with the births and embeddings of each cycle: copies of a run are told by it.
        self._digest, self._any_births, self._start = b"", False, b""

    @property
    def fingerprint(self) -> bytes | None:
        """Equal for runs with equal births and embeddings in every cycle; None for a run without births."""
        return self._digest if self._any_births else None

    @property
    def graphs(self) -> tuple[bytes, bytes]:
        """Fingerprints of the graph before the first cycle and after the last."""
        return self._start, _hash(self._past.edges)

    @property
    def history(self) -> Mapping[str, list[float]]:
        """The values of each metric by cycle; a metric that some cycles do not have is NaN there."""
        keys = dict.fromkeys(key for each in self.evaluations for key in each)
        values = {key: [each[key].value if key in each else np.nan for each in self.evaluations] for key in keys}
        return {"cycle": [each.options["cycle"] for each in self.evaluations], **values}

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
        before = previous_embeddings, tgc, previous_edges
        return self.evaluate(Cycle(embeddings, new_edges, all_edges, cycle, *before, pools, inserted_embeddings))

    def evaluate(self, given: Cycle) -> Evaluation:
        """The same for a cycle that is `given` as one object."""
        number, last = whole_number("cycle", given.cycle), -1
        if self.evaluations:
            last = self.evaluations[-1].options["cycle"]
            if number <= last:
                raise InputError(f"cycle {number} comes after cycle {last}", fix="Pass cycles once, in order.")
        # Edges that appeared between cycles that are not adjacent are unknown.
        past = self._past if number == last + 1 else replace(self._past, edges=None)
        labelled = self._labelled
        if not self._originals_known and (given.previous_embeddings is not None or not len(labelled.nodes)):
            labelled = labelled.starting_with(_nodes_before(given))
        state = State(given, labelled, self.options, past)
        conventions = state.conventions(given)
        chosen, named = self._selected()
        if self._metrics != "all" and not state.newborn.any():
            chosen = [each for each in chosen if each[0].key != "auc_newborn" or "auc_newborn" in named]
        needs = {need for metric, _ in chosen for need in metric.needs}
        needs |= {"before"} if "after" in needs else set()  # a check compares them
        samples = {name: _SAMPLES[name](state) for name in self._samples if name in needs}
        measured = measure(chosen, samples, named=named, confidence=self.confidence, conventions=conventions)
        evidence = _evidence(state, samples, first=not self.evaluations)
        evaluation = StepEvaluation(
            "evolution",
            measured.results,
            conventions=conventions,
            options=self.options.described | {"cycle": number},
            skipped=measured.skipped,
            materials=evidence,
        )
        self._remember(state)
        self._labelled, self._originals_known = labelled, True
        self.evaluations.append(evaluation)
        self.evidence.append(evidence)
        return evaluation

    def _selected(self) -> tuple[list[Chosen], frozenset[str]]:
        """The metrics to compute, and the keys of those named; without `metrics`, the original document's too."""
        chosen, named = select("evolution", "all" if self._metrics is None else self._metrics, self._samples)
        if self._metrics is None:
            chosen = [each for each in chosen if each[0].default or each[0].key in DOCUMENT]
        return chosen, named

    def _remember(self, state: State) -> None:
        births = state.births.edges
        self._start = self._start or _hash(state.births.before)
        self._past = state.remembered()
        self._any_births |= len(births) > 0
        self._digest = _hash(self._digest, births, state.after.rows.sum())


def _evidence(state: State, samples: Mapping[str, Any], *, first: bool) -> dict[str, tuple[Any, ...]]:
    """What checks look at, nothing or one entry each; sides of the graph and test edges in it only in the `first`."""
    births = state.births
    gained = areas.gains(samples["after"], samples["before"]) if "after" in samples else None
    look_for_sides = first and state.types is None and len(births) > 0
    sides = two_sides(births.either, state.nodes) if look_for_sides else None
    test = set_of(state.test_edges, state.options.directed) if first else state.test_edges[:0]
    return {
        "inferred": (births.inferred,),
        "paired": () if gained is None else (gained,),
        "sides": () if sides is None else (sides,),
        "held": ((len(test), int(np.count_nonzero(among(test, births.before)))),) if len(test) else (),
    }


def _nodes_before(given: Cycle) -> Ints:
    """The nodes that have an embedding before the first cycle, or after it if those before are unknown."""
    before = given.previous_embeddings
    rows = as_numeric(given.embeddings if before is None else before, "embeddings")
    require_shape(rows, (None, None), "embeddings", COORDINATES)
    known = ~np.isnan(rows).any(axis=1) if rows.dtype.kind == "f" else np.ones(len(rows), bool)
    return np.flatnonzero(known)


def _hash(*parts: Any) -> bytes:
    return sha256(b"".join(part if isinstance(part, bytes) else np.asarray(part).tobytes() for part in parts)).digest()
