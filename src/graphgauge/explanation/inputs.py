"""Inputs of an explanation evaluation: what can be masked, the question, and the importance of each part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, is_tensor
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.types import AnyArray, Ints, Mask

# What candidates are: edges; nodes, whose features are masked; columns of the node features.
EDGES, NODES, FEATURES = MASKED = ("edges", "nodes", "features")
SINGULAR = {EDGES: "edge", NODES: "node", FEATURES: "feature"}
# Orders of the units that nothing decides, as one more explainer.
RANDOM = "random explainer"


@runtime_checkable
class Model(Protocol):
    """A model that answers for many masked copies of one subgraph at once.

    `masks` (B, E) is true where a candidate stays; what is no candidate always stays. The answer is (B, C) logits or
    probabilities of C classes, or (B,) or (B, 1) for one output. A model may also have `model_output`, which states
    whether it returns logits or probabilities, and `masking`, which says what it does with a masked part.

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

    def predict(self, subgraph: Subgraph, target: Any, masks: Mask) -> Any:
        """Answer for many masked copies of one subgraph.

        Parameters
        ----------
        subgraph
            What can be masked around the target; `subgraph.ids` numbers the candidates in the model's own data.
        target
            What is predicted: a node, an edge or whatever the model knows.
        masks
            (B, candidates), True where a candidate is kept.

        Returns
        -------
        Any
            (B,) or (B, classes): probabilities or logits, as `model_output` says.
        """


@dataclass(frozen=True, eq=False, repr=False)
class Subgraph:
    """What can be masked of the graph that a prediction depends on; the model has the data itself.

    Parameters
    ----------
    edge_index
        (2, M): source and target of each edge, as rows of `nodes`.
    nodes
        (N,) ids, whole numbers or text; 0 … N − 1 by default.
    times
        (M,) time of each edge, for temporal graphs.
    candidates
        (E,) the edges that can be masked, as columns of `edge_index`; all by default. With another `masked`: rows of
        `nodes`, or columns of the node features.
    units
        (E,) one id per candidate: candidates with the same id are masked together. By default, the two directions of a
        pair of nodes at one time are one unit if there is one edge in each. Every other edge is a separate unit,
        including parallel edges. `"edges"` makes every candidate a separate unit.
    ids
        (E,) the number of each candidate in the model's data; by default the candidates as they are numbered here.
    masked
        What candidates are: `edges`; `nodes`, whose features are masked; or `features`, which are columns of the node
        features.
    native
        The model's native object for this subgraph, for models that require one; not stored.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]], candidates=[0, 2])
    >>> len(graph), graph.ids.tolist()
    (2, [0, 2])
    """

    edge_index: Any
    nodes: Any = None
    times: Any = None
    candidates: Any = None
    units: Any = None
    ids: Any = None
    masked: str = EDGES
    native: Any = None

    def __post_init__(self) -> None:
        edges = whole_numbers(self.edge_index, "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2:
            fix = "Pass sources and targets as two rows."
            raise InputError(f"expected shape (2, edges), found {edges.shape}", where="edge_index", fix=fix)
        nodes = np.arange(int(edges.max(initial=-1)) + 1) if self.nodes is None else as_labels(self.nodes, "nodes")
        if len(np.unique(nodes)) < len(nodes):
            raise InputError("an id is listed twice", where="nodes", fix="List each node once.")
        _within(edges, len(nodes), "edge_index", "node")
        one_of("masked", self.masked, MASKED)
        times = None if self.times is None else lined_up(self.times, edges.shape[1], "times", "edge")
        if times is not None and times.dtype.kind == "f" and not np.isfinite(times).all():
            raise InputError("a time is NaN or infinite", where="times", fix="Give every edge its time.")
        candidates = self._checked_candidates(edges.shape[1], len(nodes))
        units = np.arange(len(candidates)) if isinstance(self.units, str) else self.units
        if isinstance(self.units, str):
            one_of("units", self.units, (EDGES,))
        one = f"candidate {SINGULAR[self.masked]}"
        ids = candidates if self.ids is None else whole_numbers(self.ids, "ids")
        checked = {
            "edge_index": edges,
            "nodes": nodes,
            "times": times,
            "candidates": candidates,
            "units": None if units is None else _one_each(as_labels(units, "units"), len(candidates), "units", one),
            "ids": _one_each(ids, len(candidates), "ids", one),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, None if value is None else _frozen(value))

    def _checked_candidates(self, edges: int, nodes: int) -> Ints:
        what = SINGULAR[self.masked]
        count = {EDGES: edges, NODES: nodes}.get(self.masked)
        if self.candidates is None:
            if count is None:
                fix = f"Number the {self.masked} that can be masked."
                raise InputError("are missing", where="candidates", fix=fix)
            return np.arange(count)
        candidates = whole_numbers(self.candidates, "candidates")
        if candidates.ndim != 1:
            raise InputError(f"expected one number per {what}, found shape {candidates.shape}", where="candidates")
        _within(candidates, count, "candidates", what)
        if len(np.unique(candidates)) < len(candidates):
            raise InputError("one is listed twice", where="candidates", fix=f"List each {what} once.")
        return candidates

    @property
    def edges(self) -> int:
        """The number of edges, candidates or not."""
        return int(self.edge_index.shape[1])

    def __repr__(self) -> str:
        return f"<Subgraph: {self.edges} edges, {len(self)} {self.masked} can be masked>"

    def __len__(self) -> int:
        """The number of candidates, which is the width of a mask."""
        return len(self.candidates)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Source and target of each candidate edge, as rows of `nodes`."""
        source, target = self.edge_index[:, self.candidates]
        return source, target

    @cached_property
    def candidate_times(self) -> AnyArray | None:
        """The time of each candidate edge; None without times."""
        return None if self.times is None or self.masked != EDGES else self.times[self.candidates]

    @cached_property
    def unit_of(self) -> Ints:
        """The number of each candidate's unit, from 0."""
        if self.units is not None:
            return np.unique(self.units, return_inverse=True)[1].astype(np.int64)
        if self.masked != EDGES:
            return np.arange(len(self))
        source, target = self.ends
        low, high = np.minimum(source, target), np.maximum(source, target)
        _, pair = np.unique(np.stack([self._moments, low, high]), axis=1, return_inverse=True)
        pair = pair.reshape(-1)
        pairs = int(pair.max(initial=-1)) + 1
        forward = np.bincount(pair[source < target], minlength=pairs)
        backward = np.bincount(pair[source > target], minlength=pairs)
        # With several parallel edges, their pairs in the other direction are unknown.
        joined = ((forward == 1) & (backward == 1))[pair]
        # Single edges are numbered after the pairs.
        return np.unique(np.where(joined, pair, pairs + np.arange(len(self))), return_inverse=True)[1].astype(np.int64)

    @property
    def unit_count(self) -> int:
        """How many units there are, E of the metrics."""
        return int(self.unit_of.max(initial=-1)) + 1

    @cached_property
    def _moments(self) -> Ints:
        """The time of each candidate edge as a rank."""
        times = self.candidate_times
        return np.zeros(len(self), np.int64) if times is None else np.unique(times, return_inverse=True)[1]

    @cached_property
    def order(self) -> Ints:
        """The candidates by time, source and target, nodes by their ids, and then by their number in the data."""
        rank = np.unique(self.nodes, return_inverse=True)[1]
        if self.masked != EDGES:
            return np.argsort(rank[self.candidates] if self.masked == NODES else self.candidates, kind="stable")
        source, target = self.ends
        return np.lexsort((self.ids, rank[target], rank[source], self._moments))

    def unit_places(self, ties: str) -> Ints:
        """The place of each unit where importances are equal: by the first of its edges.

        Parameters
        ----------
        ties
            `position` for the order of the candidates, otherwise their `order` by time, source and target.

        Returns
        -------
        Ints
            (units,) from 0.
        """
        listed = np.arange(len(self)) if ties == "position" else self.order
        return np.argsort(np.unique(self.unit_of[listed], return_index=True)[1]).argsort()


@dataclass(frozen=True, eq=False)
class Context:
    """One event: the question put to the model.

    Parameters
    ----------
    subgraph
        What can be masked.
    target
        Passed to the model unchanged: a node, a pair, a time; numbers, text, lists and dictionaries of them.
    event
        An id. Explanations with the same id belong to one event and are compared on it. Without ids, explanations that
        share a `Context` belong to one event.
    label
        The true class; for `score="label"`, `groups="correct"`, and 0 or 1 for `fidelity_tempme`.
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
        object.__setattr__(self, "event", _event_id(self.event))
        object.__setattr__(self, "target", _copied(self.target))
        if self.label is not None:
            object.__setattr__(self, "label", _integer(self.label, "label"))
        if self.truth is None:
            return
        one = f"candidate {SINGULAR[self.subgraph.masked]}"
        truth = lined_up(self.truth, len(self.subgraph), "truth", one, rows=True)
        if not np.isin(truth, (0, 1)).all():
            raise InputError(f"expected true or false for each {one}", where="truth")
        object.__setattr__(self, "truth", _frozen(truth.astype(bool)))

    @property
    def truths(self) -> Mask:
        """The accepted explanations, one per row; none if none is known."""
        known = np.zeros((0, len(self.subgraph)), bool) if self.truth is None else self.truth
        return np.atleast_2d(known)


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explainer's output for one event: the importance of each candidate, higher is more important.

    `elapsed` is the running time in seconds; `seed` distinguishes runs of one explainer on one event.

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

    def __post_init__(self) -> None:
        if not isinstance(self.context, Context):
            raise InputError(f"expected a Context, found {type(self.context).__name__}", where="context")
        if not isinstance(self.explainer, str) or self.explainer.strip() in ("", RANDOM):
            raise InputError(
                f"{self.explainer!r:.60} cannot name an explainer", where="explainer", fix="Use another text."
            )
        importance = as_numeric(self.importance, "importance")
        expected = len(self.context.subgraph)
        if importance.shape != (expected,):
            masked = self.context.subgraph.masked
            raise InputError(
                f"shape {importance.shape} for {expected} candidate {masked}",
                where="importance",
                fix=f"{self.who}. Give one number per candidate {SINGULAR[masked]} of the subgraph, in order.",
            )
        if self.seed is not None:
            object.__setattr__(self, "seed", _integer(self.seed, "seed"))
        if self.elapsed is not None and not (isinstance(self.elapsed, Real) and 0 <= self.elapsed < math.inf):
            raise InputError(f"{self.elapsed!r:.60} is not a number of seconds", where="elapsed", fix=f"{self.who}.")
        object.__setattr__(self, "importance", _frozen(importance.astype(np.float64)))

    @property
    def key(self) -> tuple[str, int | None]:
        """Explainer and seed, which identify an explanation of an event."""
        return self.explainer, self.seed

    @property
    def who(self) -> str:
        """For messages: `It comes from 'gradient', event 7`."""
        event = "" if self.context.event is None else f", event {self.context.event!r:.80}"
        return f"It comes from {self.explainer!r:.80}{event}"


# ---- fields


def whole_numbers(value: Any, name: str) -> Ints:
    """An array of whole numbers of any shape."""
    array = as_numeric(value, name)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"expected whole numbers, found values of type {array.dtype}", where=name)
    return array.astype(np.int64)


def lined_up(value: Any, count: int, name: str, what: str, *, rows: bool = False) -> AnyArray:
    """One number for each of `count` things, `what` being one of them; or several `rows` of them."""
    array = as_numeric(value, name)
    if array.shape != (count,) and not (rows and array.ndim == 2 and len(array) and array.shape[1] == count):
        fix = f"Give one number per {what}{', or several rows of them' if rows else ''}."
        raise InputError(f"shape {array.shape} for {count} {what}s", where=name, fix=fix)
    return array


def _one_each(array: AnyArray, count: int, name: str, what: str) -> AnyArray:
    if array.shape != (count,):
        fix = f"Give one id for each {what}."
        raise InputError(f"{array.size} ids for {count} {what}s", where=name, fix=fix)
    return array


def _within(array: Ints, count: int | None, name: str, what: str) -> None:
    """Refuse numbers below 0 and from `count` on."""
    wrong = array[(array < 0) | (False if count is None else array >= count)]
    if wrong.size:
        raise InputError(f"there is no {what} {wrong[0]}{'' if count is None else f' among {count}'}", where=name)


def _event_id(value: Any) -> str | int | None:
    if isinstance(value, np.integer):
        return int(value)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise InputError(f"expected a whole number or text, found {value!r:.60}", where="event")


def _integer(value: Any, name: str) -> int:
    """A whole number as a Python int; accepts 1.0 and True, refuses text and 0.7."""
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_) or value % 1 != 0:
        raise InputError(f"expected a whole number, found {value!r:.60}", where=name)
    return int(value)


def _frozen(array: AnyArray) -> AnyArray:
    """A read-only copy, so that a caller can use a buffer again."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _copied(value: Any) -> Any:
    """A target whose lists, dictionaries and arrays do not change with those of the caller; other objects stay."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if is_tensor(value):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return {key: _copied(each) for key, each in value.items()} if type(value) is dict else value
