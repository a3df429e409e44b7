"""Inputs of an explanation evaluation: subgraphs, importances of their edges, and the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, refuse_nan
from graphgauge.core.errors import InputError, one_of
from graphgauge.explanation.fields import (
    answer_rows,
    checked_outputs,
    copied,
    event_id,
    feature_rows,
    frozen,
    ids,
    integer,
    lined_up,
    lines_up,
    named_rows,
    numbers,
    type_names,
    typed_rows,
    whole_numbers,
    within,
)

Masks = NDArray[np.bool_]
# What candidates are: edges; nodes, whose features are masked; columns of the node features; single entries of them.
EDGES, NODES, FEATURES, ENTRIES = MASKED = ("edges", "nodes", "features", "entries")
SINGULAR = {EDGES: "edge", NODES: "node", FEATURES: "feature", ENTRIES: "entry"}


@runtime_checkable
class Model(Protocol):
    """A model that answers for many masked copies of one subgraph at once.

    `masks` (B, E) is true where a candidate edge stays; other edges always stay. The answer is (B, C)
    logits or probabilities of C classes, or (B,) or (B, 1) for one output. A model may also have
    `model_output`, which states whether it returns logits or probabilities.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "logit"
    ...     def predict(self, subgraph, target, masks):
    ...         return masks.sum(axis=1) - 1.0
    >>> isinstance(Sum(), explanation.Model)
    True
    """

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        """Answer for many masked copies of one subgraph.

        Parameters
        ----------
        subgraph
            The graph around the target.
        target
            What is predicted: a node, an edge or whatever the model knows.
        masks
            (B, candidates), True where a candidate edge is kept.

        Returns
        -------
        Any
            (B,) or (B, classes): probabilities or logits, as `model_output` says.
        """


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
    masked
        What `candidates` are instead of `edges`: `nodes`, as rows of `nodes`, whose features are masked; `features`, as
        columns of the node features; or `entries` of the node features, numbered row by row.
    units
        (E,) one id per candidate: candidates with the same id are masked together. By default, the two directions of a
        pair of nodes at one time are one unit if there is one edge in each. Every other edge is a separate unit,
        including parallel edges. `"edges"` makes every edge a separate unit.
    node_inputs, edge_inputs
        Other inputs of the model, by argument name: arrays with one row per node or per edge.
    node_types, edge_types
        For heterogeneous graphs: (N,) and (M,) names of types, those of edges as `author__writes__paper`. The inputs
        are then named by type and argument, `paper/x`, with one row per node or edge of that type. Features and entries
        are numbered through the types in the order of their names. `relations` lists the edge types, if the subgraph
        does not have edges of all.
    graph_edges
        The number of edges in the whole graph, or of what is masked instead.
    native
        The model's native object for this subgraph, for models that require one; not stored.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> graph.edges
    3
    >>> graph.edge_masks([[True, False, True]]).tolist()
    [[True, False, True]]
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
    masked: str = EDGES
    node_types: Any = None
    edge_types: Any = None
    relations: Any = None

    def __post_init__(self) -> None:
        edges = whole_numbers(self.edge_index, "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise InputError(f"expected shape (2, edges), found {edges.shape}", where="edge_index", fix=_EDGE_INDEX)
        nodes = np.arange(int(edges.max(initial=-1)) + 1) if self.nodes is None else ids(self.nodes, "nodes")
        if len(np.unique(nodes)) < len(nodes):
            raise InputError("an id is listed twice", where="nodes", fix="List each node once.")
        within(edges, len(nodes), "edge_index", "node")
        count = edges.shape[1]
        one_of("masked", self.masked, MASKED)
        fields = {"edge_index": edges, "nodes": nodes}
        if self.times is not None:
            fields["times"] = lined_up(self.times, count, "times", "edge")
            if fields["times"].dtype.kind == "f" and not np.isfinite(fields["times"]).all():
                raise InputError("a time is NaN or infinite", where="times", fix="Give every edge its time.")
        if self.node_features is not None:
            fields["node_features"] = feature_rows(self.node_features, len(nodes), "node_features", "node")
        if self.edge_features is not None:
            fields["edge_features"] = feature_rows(self.edge_features, count, "edge_features", "edge")
        if (self.node_types is None) != (self.edge_types is None):
            raise InputError("node_types and edge_types belong together", where="subgraph")
        if self.node_types is not None:
            fields["node_types"] = type_names(self.node_types, len(nodes), "node_types", "node")
            fields["edge_types"] = type_names(self.edge_types, count, "edge_types", "edge")
            if self.node_features is not None or self.edge_features is not None:
                raise InputError(
                    "a heterogeneous graph has features by type",
                    where="node_features",
                    fix='Pass node_inputs={"paper/x": …}.',
                )
            listed = np.unique(fields["edge_types"]) if self.relations is None else ids(self.relations, "relations")
            fields["relations"] = listed.astype(np.str_)
        for name, value in fields.items():
            object.__setattr__(self, name, frozen(value))
        for name, types, rows, what in (
            ("node_inputs", self.node_types, len(nodes), "node"),
            ("edge_inputs", self.edge_types, count, "edge"),
        ):
            given = getattr(self, name)
            checked = named_rows(given, rows, name, what) if types is None else typed_rows(given, types, name, what)
            object.__setattr__(self, name, checked)
        object.__setattr__(self, "candidates", frozen(self._checked_candidates()))
        if isinstance(self.units, str):
            one_of("units", self.units, (EDGES,))
            object.__setattr__(self, "units", np.arange(len(self.candidates)))
        if self.units is not None:
            named = ids(self.units, "units")
            if len(named) != len(self.candidates):
                raise InputError(
                    f"{len(named)} ids for {len(self.candidates)} candidate edges",
                    where="units",
                    fix="Give one id for each candidate.",
                )
            object.__setattr__(self, "units", frozen(named))
        if self.graph_edges is not None:
            object.__setattr__(self, "graph_edges", integer(self.graph_edges, "graph_edges"))
            if self.graph_edges < len(self):
                raise InputError(f"{self.graph_edges}, but there are {len(self)} candidates", where="graph_edges")

    def _checked_candidates(self) -> Ints:
        count, what = self._maskable, SINGULAR[self.masked]
        if self.candidates is None:
            return np.arange(count)
        candidates = whole_numbers(self.candidates, "candidates")
        if candidates.ndim != 1:
            raise InputError(f"expected one number per {what}, found shape {candidates.shape}", where="candidates")
        within(candidates, count, "candidates", what)
        if len(np.unique(candidates)) < len(candidates):
            raise InputError(f"{_AN[self.masked]} is listed twice", where="candidates", fix=f"List each {what} once.")
        return candidates

    @property
    def _maskable(self) -> int:
        """How many edges, nodes, features or entries there are."""
        if self.masked in (EDGES, NODES):
            return self.edges if self.masked == EDGES else len(self.nodes)
        return sum(x.shape[1] if self.masked == FEATURES else x.size for _, x in self.features)

    @cached_property
    def features(self) -> list[tuple[Ints, AnyArray]]:
        """The node features, with the nodes whose rows they are: one array, or one for each type that has some."""
        if self.node_types is not None:
            found = [
                (np.flatnonzero(self.node_types == name.rpartition("/")[0]), x)
                for name, x in sorted(self.node_inputs.items())
                if name.rpartition("/")[2] == "x"
            ]
        else:
            x = self.node_inputs.get("x", self.node_features)
            found = [] if x is None else [(np.arange(len(self.nodes)), x)]
        if self.masked in (FEATURES, ENTRIES):
            found = [(rows, x.reshape(len(x), math.prod(x.shape[1:]))) for rows, x in found]
            if not found:
                raise InputError("there are no node features to mask", where="node_features")
        return found

    def feature_masks(self, masks: Masks) -> list[Masks]:
        """For each array of node features, masks that can be multiplied with it: (B, nodes or 1, columns or 1).

        Parameters
        ----------
        masks
            (B, candidates), True where a candidate is kept.

        Returns
        -------
        list[Masks]
            One array of masks per array of features.
        """
        kept = np.ones((len(masks), self._maskable), bool)
        kept[:, self.candidates] = masks
        if self.masked == NODES:
            return [kept[:, rows, np.newaxis] for rows, _ in self.features]
        found, start = [], 0
        for _, x in self.features:
            shape = (1, x.shape[1]) if self.masked == FEATURES else x.shape
            found.append(kept[:, start : start + math.prod(shape)].reshape(len(masks), *shape))
            start += math.prod(shape)
        return found

    @property
    def edges(self) -> int:
        return int(self.edge_index.shape[1])

    def __len__(self) -> int:
        """The number of candidate edges, which is the width of a mask."""
        return len(self.candidates)

    def edge_masks(self, masks: Masks) -> Masks:
        """Masks over all edges, from masks over the candidates; other edges always stay.

        Parameters
        ----------
        masks
            (B, candidates), True where a candidate is kept.

        Returns
        -------
        Masks
            (B, edges).
        """
        kept = np.ones((len(masks), self.edges), bool)
        if self.masked == EDGES:
            kept[:, self.candidates] = masks
        return kept

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Source and target of each candidate, as rows of `nodes`."""
        source, target = self.edge_index[:, self.candidates]
        return source, target

    @cached_property
    def candidate_times(self) -> AnyArray | None:
        return None if self.times is None or self.masked != EDGES else self.times[self.candidates]

    @cached_property
    def unit_of(self) -> Ints:
        """The number of each candidate's unit."""
        if self.units is not None:
            return np.unique(self.units, return_inverse=True)[1].astype(np.int64)
        if self.masked != EDGES:
            return np.arange(len(self))
        source, target = self.ends
        times = np.zeros(len(self)) if self.candidate_times is None else self.candidate_times
        moment = np.unique(times, return_inverse=True)[1]
        if self.edge_types is not None:  # the two directions of a relation have different types
            return np.arange(len(self))
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
        rank = np.unique(self.nodes, return_inverse=True)[1]
        if self.masked != EDGES:
            return np.argsort(rank[self.candidates] if self.masked == NODES else self.candidates, kind="stable")
        source, target = self.ends
        times = np.zeros(len(self)) if self.candidate_times is None else self.candidate_times
        given = [] if self.edge_features is None else [self.edge_features]
        if self.edge_types is not None:
            given.append(np.unique(self.edge_types, return_inverse=True)[1].reshape(-1, 1))
        else:
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
        (E,) true for the candidates in the right explanation, if it is known; (T, E) if any of T is right.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> context = explanation.Context(graph, target=3, event="first", truth=[1, 0, 0])
    >>> context.event
    'first'
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
        object.__setattr__(self, "target", copied(self.target))
        if self.label is not None:
            object.__setattr__(self, "label", integer(self.label, "label"))
        if self.truth is not None:
            one = f"candidate {SINGULAR[self.subgraph.masked]}"
            truth = lines_up(self.truth, len(self.subgraph), "truth", one)
            if not np.isin(truth, (0, 1)).all():
                raise InputError(f"expected true or false for each {one}", where="truth")
            object.__setattr__(self, "truth", frozen(truth.astype(bool)))

    @property
    def truths(self) -> Masks:
        """The accepted explanations, one per row; none if none is known."""
        known = np.zeros((0, len(self.subgraph)), bool) if self.truth is None else self.truth
        return np.atleast_2d(known)


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
    random
        The number of a random mask that was tried in place of the explanation's.
    """

    outputs: Any
    model_output: str
    name: str = ""
    label: int | None = None
    random: int | None = None

    def __post_init__(self) -> None:
        outputs = answer_rows(self.outputs, 3, "own answers")
        object.__setattr__(self, "outputs", frozen(checked_outputs(outputs, self.model_output, "own answers")))
        if self.label is not None:
            object.__setattr__(self, "label", integer(self.label, "label"))
        if self.random is not None:
            object.__setattr__(self, "random", integer(self.random, "random"))


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explainer's output for one event: the importance of each candidate edge, higher is more important.

    `elapsed` is the running time in seconds; `seed` distinguishes runs of one explainer on one event. `own` are
    the model's answers under the explanation's own masks.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> context = explanation.Context(explanation.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    >>> found = explanation.Explanation(context, [0.9, 0.2, 0.1], explainer="mine", elapsed=0.5)
    >>> found.importance.tolist()
    [0.9, 0.2, 0.1]
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
            masked = self.context.subgraph.masked
            raise InputError(
                f"shape {importance.shape} for {expected} candidate {masked}",
                where="importance",
                fix=f"{self.who}. Give one number per candidate {SINGULAR[masked]} of the subgraph, in order.",
            )
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
        """Raise an error if an importance is NaN.

        Raises
        ------
        InputError
            With the event and the explainer.
        """
        fix = f'{self.who}. Fix the explainer, or pass nan="omit" to leave it out.'
        refuse_nan(self.importance, "importance", fix=fix)


_AN = {EDGES: "an edge", NODES: "a node", FEATURES: "a feature", ENTRIES: "an entry"}
_EDGE_INDEX = "Pass sources and targets as two rows."
