"""Inputs of an explanation evaluation: subgraphs, importances of their edges, and the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.explanation.fields import (
    answer_rows,
    checked_outputs,
    event_id,
    feature_rows,
    frozen,
    ids,
    integer,
    lined_up,
    named_rows,
    numbers,
    whole_numbers,
    within,
)

Masks = NDArray[np.bool_]


@runtime_checkable
class Model(Protocol):
    """A model that answers for many masked copies of one subgraph at once.

    `masks` (B, E) is true where a candidate edge stays; other edges always stay. The answer is (B, C)
    logits or probabilities of C classes, or (B,) or (B, 1) for one output. A model may also have
    `model_output`, which states whether it returns logits or probabilities, and `predict_many`, which answers for
    several subgraphs in one call.
    """

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any: ...


@runtime_checkable
class ManyModel(Protocol):
    """A model that also takes masks of several subgraphs in one call, and returns one array of answers for each."""

    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> Sequence[Any]: ...


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The part of a graph that a prediction depends on.

    Parameters
    ----------
    edge_index
        (2, M): source and target of each edge, as rows of `nodes`.
    nodes
        (N,) ids, whole numbers or text; 0 … N − 1 by default.
    times
        (M,) time of each edge, for temporal graphs.
    node_features, edge_features
        (N, F) and (M, D), used only by the model.
    candidates
        (E,) the edges that can be masked, as columns of `edge_index`; all by default.
    units
        (E,) one id per candidate: candidates with the same id are masked together. By default, the two directions of a
        pair of nodes at one time are one unit if there is one edge in each. Every other edge is a separate unit,
        including parallel edges.
    node_inputs, edge_inputs
        Other inputs of the model, by argument name: arrays with one row per node or per edge.
    graph_edges
        The number of edges in the whole graph.
    native
        The model's native object for this subgraph, for models that require one; not stored.
    """

    edge_index: Any
    nodes: Any = None
    times: Any = None
    node_features: Any = None
    edge_features: Any = None
    candidates: Any = None
    units: Any = None
    native: Any = None
    node_inputs: Any = None
    edge_inputs: Any = None
    graph_edges: int | None = None

    def __post_init__(self) -> None:
        edges = whole_numbers(self.edge_index, "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise InputError(f"expected shape (2, edges), found {edges.shape}", where="edge_index", fix=_EDGE_INDEX)
        nodes = np.arange(int(edges.max(initial=-1)) + 1) if self.nodes is None else ids(self.nodes, "nodes")
        if len(np.unique(nodes)) < len(nodes):
            raise InputError("an id is listed twice", where="nodes", fix="List each node once.")
        within(edges, len(nodes), "edge_index", "node")
        count = edges.shape[1]
        fields = {"edge_index": edges, "nodes": nodes, "candidates": self._checked_candidates(count)}
        if self.times is not None:
            fields["times"] = lined_up(self.times, count, "times", "edge")
            if fields["times"].dtype.kind == "f" and not np.isfinite(fields["times"]).all():
                raise InputError("a time is NaN or infinite", where="times", fix="Give every edge its time.")
        if self.node_features is not None:
            fields["node_features"] = feature_rows(self.node_features, len(nodes), "node_features", "node")
        if self.edge_features is not None:
            fields["edge_features"] = feature_rows(self.edge_features, count, "edge_features", "edge")
        if self.units is not None:
            fields["units"] = ids(self.units, "units")
            found, wanted = len(fields["units"]), len(fields["candidates"])
            if found != wanted:
                raise InputError(
                    f"{found} ids for {wanted} candidate edges", where="units", fix="Give one id for each candidate."
                )
        for name, value in fields.items():
            object.__setattr__(self, name, frozen(value))
        for name, rows, what in (("node_inputs", len(nodes), "node"), ("edge_inputs", count, "edge")):
            object.__setattr__(self, name, named_rows(getattr(self, name), rows, name, what))
        if self.graph_edges is not None:
            object.__setattr__(self, "graph_edges", integer(self.graph_edges, "graph_edges"))

    def _checked_candidates(self, count: int) -> Ints:
        if self.candidates is None:
            return np.arange(count)
        candidates = whole_numbers(self.candidates, "candidates")
        if candidates.ndim != 1:
            raise InputError(f"expected one number per edge, found shape {candidates.shape}", where="candidates")
        within(candidates, count, "candidates", "edge")
        if len(np.unique(candidates)) < len(candidates):
            raise InputError("an edge is listed twice", where="candidates", fix="List each edge once.")
        return candidates

    @property
    def edges(self) -> int:
        return int(self.edge_index.shape[1])

    def __len__(self) -> int:
        """The number of candidate edges, which is the width of a mask."""
        return len(self.candidates)

    def edge_masks(self, masks: Masks) -> Masks:
        """Masks over all edges, from masks over the candidates; other edges always stay."""
        kept = np.ones((len(masks), self.edges), bool)
        kept[:, self.candidates] = masks
        return kept

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Source and target of each candidate, as rows of `nodes`."""
        source, target = self.edge_index[:, self.candidates]
        return source, target

    @cached_property
    def candidate_times(self) -> AnyArray | None:
        return None if self.times is None else self.times[self.candidates]

    @cached_property
    def unit_of(self) -> Ints:
        """The number of each candidate's unit."""
        if self.units is not None:
            return np.unique(self.units, return_inverse=True)[1].astype(np.int64)
        source, target = self.ends
        times = np.zeros(len(self)) if self.candidate_times is None else self.candidate_times
        moment = np.unique(times, return_inverse=True)[1]
        low, high = np.minimum(source, target), np.maximum(source, target)
        _, pair = np.unique(np.stack([moment, low, high]), axis=1, return_inverse=True)
        pair = pair.reshape(-1)
        pairs = int(pair.max(initial=-1)) + 1
        forward = np.bincount(pair[source < target], minlength=pairs)
        backward = np.bincount(pair[source > target], minlength=pairs)
        # With several parallel edges, their pairs in the other direction are unknown.
        joined = ((forward == 1) & (backward == 1))[pair]
        # Single edges are numbered after the pairs.
        alone = len(forward) + np.arange(len(self))
        return np.unique(np.where(joined, pair, alone), return_inverse=True)[1].astype(np.int64)

    @property
    def unit_count(self) -> int:
        return int(self.unit_of.max(initial=-1)) + 1

    @cached_property
    def edge_order(self) -> Ints:
        """The candidates ordered by (time, source, target), with nodes by id, and then by features."""
        source, target = self.ends
        rank = np.unique(self.nodes, return_inverse=True)[1]
        times = np.zeros(len(self)) if self.candidate_times is None else self.candidate_times
        given = [] if self.edge_features is None else [self.edge_features]
        given += [
            array.reshape(len(array), math.prod(array.shape[1:])) for _, array in sorted(self.edge_inputs.items())
        ]
        extra = [column for array in given for column in array[self.candidates].T][::-1]
        return np.lexsort((*extra, rank[target], rank[source], times)).astype(np.int64)

    @cached_property
    def unit_places(self) -> Ints:
        """The position of each unit, ordered by first edge."""
        places = np.full(self.unit_count, len(self))
        np.minimum.at(places, self.unit_of[self.edge_order], np.arange(len(self)))
        return np.argsort(np.argsort(places))

    @cached_property
    def unit_positions(self) -> Ints:
        """The position of each unit in the given order of the candidates."""
        places = np.full(self.unit_count, len(self))
        np.minimum.at(places, self.unit_of, np.arange(len(self)))
        return np.argsort(np.argsort(places))


@dataclass(frozen=True, eq=False)
class Context:
    """One event: the question put to the model.

    Parameters
    ----------
    subgraph
        The graph that the answer depends on.
    target
        Passed to the model unchanged: a node, a pair, a time; numbers, text, lists and dictionaries of them.
    event
        An id. Explanations with the same id belong to one event and are compared on it. Without ids, explanations that
        share a `Context` belong to one event.
    label
        0 or 1, the true class for a binary model; without it, `fidelity_tempme` uses the predicted class.
    truth
        (E,) true for the candidates in the right explanation, if it is known.
    """

    subgraph: Subgraph
    target: Any = None
    event: str | int | None = None
    label: int | None = None
    truth: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.subgraph, Subgraph):
            raise InputError(f"expected a Subgraph, found {type(self.subgraph).__name__}", where="subgraph")
        object.__setattr__(self, "event", event_id(self.event))
        if self.label is not None:
            object.__setattr__(self, "label", integer(self.label, "label"))
        if self.truth is not None:
            truth = lined_up(self.truth, len(self.subgraph), "truth", "candidate edge")
            if not np.isin(truth, (0, 1)).all():
                raise InputError("expected true or false for each candidate edge", where="truth")
            object.__setattr__(self, "truth", frozen(truth.astype(bool)))


@dataclass(frozen=True, eq=False)
class OwnAnswers:
    """What a model answers under the masks of an explanation itself, as another library applies them.

    Parameters
    ----------
    outputs
        (3, C) on the whole graph, under the masks, and under their complements.
    model_output
        `logit` or `probability`.
    name
        Empty for the masks as they are, `k=5` for their five largest entries.
    label
        The class that is explained, if that is the true one (a phenomenon) and not the predicted one.
    """

    outputs: Any
    model_output: str
    name: str = ""
    label: int | None = None

    def __post_init__(self) -> None:
        outputs = answer_rows(self.outputs, 3, "own answers")
        object.__setattr__(self, "outputs", frozen(checked_outputs(outputs, self.model_output, "own answers")))
        if self.label is not None:
            object.__setattr__(self, "label", integer(self.label, "label"))


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explainer's output for one event: the importance of each candidate edge, higher is more important.

    `elapsed` is the running time in seconds; `seed` distinguishes runs of one explainer on one event. `own` are
    the model's answers under the explanation's own masks.
    """

    context: Context
    importance: Any
    explainer: str = "explainer"
    elapsed: float | None = None
    seed: int | None = None
    own: tuple[OwnAnswers, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.context, Context):
            raise InputError(f"expected a Context, found {type(self.context).__name__}", where="context")
        if not isinstance(self.explainer, str):
            raise InputError(f"expected a name, found {self.explainer!r:.60}", where="explainer")
        importance = numbers(self.importance, "importance")
        expected = len(self.context.subgraph)
        if importance.shape != (expected,):
            raise InputError(
                f"shape {importance.shape} for {expected} candidate edges", where="importance",
                fix=f"{self.who}. Give one number per candidate edge of the subgraph, in order.",
            )  # fmt: skip
        if self.seed is not None:
            object.__setattr__(self, "seed", integer(self.seed, "seed"))
        if self.elapsed is not None and not (isinstance(self.elapsed, Real) and 0 <= self.elapsed < math.inf):
            raise InputError(f"{self.elapsed!r:.60} is not a number of seconds", where="elapsed", fix=f"{self.who}.")
        object.__setattr__(self, "importance", frozen(importance.astype(np.float64)))

    @property
    def key(self) -> tuple[str, int | None]:
        """Explainer and seed, which identify an explanation of an event."""
        return self.explainer, self.seed

    @property
    def who(self) -> str:
        """For messages: `It comes from 'gradient', event 7`."""
        event = "" if self.context.event is None else f", event {self.context.event!r:.80}"
        return f"It comes from {self.explainer!r:.80}{event}"

    def refuse_nan(self) -> None:
        fix = f'{self.who}. Fix the explainer, or pass nan="omit" to leave it out.'
        refuse_nan(self.importance, "importance", fix=fix)


_EDGE_INDEX = "Pass sources and targets as two rows."
