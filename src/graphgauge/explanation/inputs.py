"""What an explanation evaluation takes in: subgraphs, importances over their edges, and a model that can be asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, as_numeric, is_tensor, refuse_nan
from graphgauge.core.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]


@runtime_checkable
class Model(Protocol):
    """A model that answers for many masked copies of one subgraph at once.

    `masks` (B, E) is true where a candidate edge stays; edges that are no candidates always stay. The answer is (B, C)
    logits or probabilities of C classes, or (B,) or (B, 1) for one output. A model may also have `model_output`, which
    says which of the two it returns, and `predict_many`, which answers for several subgraphs in one call.
    """

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any: ...


@runtime_checkable
class ManyModel(Protocol):
    """A model that also takes masks of several subgraphs in one call: one array of answers for each."""

    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> Sequence[Any]: ...


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The part of a graph that a prediction rests on.

    Parameters
    ----------
    edge_index
        (2, M): source and target of each edge, as rows of `nodes`.
    nodes
        (N,) ids, whole numbers or text; 0 … N − 1 where there are none.
    times
        (M,) when each edge happened, where the graph is temporal.
    node_features, edge_features
        (N, F) and (M, D), for the model alone.
    candidates
        (E,) the edges that can be masked, as columns of `edge_index`; all where none are named.
    units
        (E,) an id for each candidate: candidates with one id enter and leave together. Where none are given, the two
        directions of a pair of nodes at one time are a unit, and every other edge is one of its own.
    native
        The model's own object for this subgraph, for models that take no other; never stored.
    """

    edge_index: Any
    nodes: Any = None
    times: Any = None
    node_features: Any = None
    edge_features: Any = None
    candidates: Any = None
    units: Any = None
    native: Any = None

    def __post_init__(self) -> None:
        edges = _whole(self.edge_index, "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise InputError(f"expected shape (2, edges), found {edges.shape}", where="edge_index", fix=_EDGE_INDEX)
        count = edges.shape[1]
        nodes = _ids(self.nodes, int(edges.max(initial=-1)) + 1)
        _within(edges, len(nodes), "edge_index", "node")
        fields: dict[str, Any] = {"edge_index": edges, "nodes": nodes}
        fields["times"] = None if self.times is None else _lined_up(self.times, count, "times", "edge")
        if fields["times"] is not None:
            _finite(fields["times"], "times")
        for name, length, what in (("node_features", len(nodes), "node"), ("edge_features", count, "edge")):
            value = getattr(self, name)
            fields[name] = None if value is None else _features(value, length, name, what)
        candidates = np.arange(count) if self.candidates is None else _whole(self.candidates, "candidates")
        if candidates.ndim != 1:
            raise InputError(f"expected one number an edge, found shape {candidates.shape}", where="candidates")
        _within(candidates, count, "candidates", "edge")
        if len(np.unique(candidates)) < len(candidates):
            raise InputError("an edge is named twice", where="candidates", fix="Name each edge once.")
        fields["candidates"] = candidates
        if self.units is not None:
            fields["units"] = _ids(self.units, 0, "units")
            if len(fields["units"]) != len(candidates):
                raise InputError(
                    f"{len(fields['units'])} ids for {len(candidates)} candidate edges", where="units",
                    fix="Give one id for each candidate.",
                )  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, _frozen(value))

    @property
    def edges(self) -> int:
        return int(self.edge_index.shape[1])

    def __len__(self) -> int:
        """The number of candidate edges, which is the width of a mask."""
        return len(self.candidates)

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
        forward = np.zeros(int(pair.max(initial=-1)) + 1, bool)
        backward = forward.copy()
        forward[pair[source < target]] = True
        backward[pair[source > target]] = True
        joined = (forward & backward)[pair]
        # Edges on their own get numbers after those of the pairs.
        alone = len(forward) + np.arange(len(self))
        return np.unique(np.where(joined, pair, alone), return_inverse=True)[1].astype(np.int64)

    @property
    def unit_count(self) -> int:
        return int(self.unit_of.max(initial=-1)) + 1

    @cached_property
    def edge_order(self) -> Ints:
        """The candidates by (time, source, target), nodes by their ids, and by features where all these are equal."""
        source, target = self.ends
        rank = np.unique(self.nodes, return_inverse=True)[1]
        times = np.zeros(len(self)) if self.candidate_times is None else self.candidate_times
        extra = [] if self.edge_features is None else list(self.edge_features[self.candidates].T[::-1])
        return np.lexsort((*extra, rank[target], rank[source], times)).astype(np.int64)

    @cached_property
    def unit_places(self) -> Ints:
        """Where each unit stands in the order of its first edges."""
        places = np.full(self.unit_count, len(self))
        np.minimum.at(places, self.unit_of[self.edge_order], np.arange(len(self)))
        return np.argsort(np.argsort(places))


@dataclass(frozen=True, eq=False)
class Context:
    """One event: what the model is asked about.

    Parameters
    ----------
    subgraph
        Where the answer comes from.
    target
        Handed to the model as it is: a node, a pair, a time; numbers, text, lists and dictionaries of them.
    event
        An id. Explanations with one id are of one event and are compared over it; without ids, explanations that share
        a `Context` are.
    label
        0 or 1, the true class of a binary model; `fidelity_tempme` takes the predicted one where it is absent.
    truth
        (E,) true for the candidates that the right explanation holds, where it is known.
    """

    subgraph: Subgraph
    target: Any = None
    event: str | int | None = None
    label: int | None = None
    truth: Any = None

    def __post_init__(self) -> None:
        if self.label is not None:
            object.__setattr__(self, "label", _integer(self.label, "label"))
        if self.truth is None:
            return
        truth = _lined_up(self.truth, len(self.subgraph), "truth", "candidate edge")
        if not np.isin(truth, (0, 1)).all():
            raise InputError("expected true or false for each candidate edge", where="truth")
        object.__setattr__(self, "truth", _frozen(truth.astype(bool)))


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one explainer says of one event: how important each candidate edge is, higher is more.

    `elapsed` is how many seconds it took; `seed` tells runs of one explainer on one event apart.
    """

    context: Context
    importance: Any
    explainer: str = "explainer"
    elapsed: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        importance = as_numeric(self.importance, "importance")
        expected = len(self.context.subgraph)
        if importance.shape != (expected,):
            raise InputError(
                f"shape {importance.shape} for {expected} candidate edges", where="importance",
                fix=f"{self.who}. Give one number for each candidate edge of the subgraph, in their order.",
            )  # fmt: skip
        if not isinstance(self.explainer, str):
            raise InputError(f"expected a name, found {self.explainer!r:.60}", where="explainer")
        if self.seed is not None:
            object.__setattr__(self, "seed", _integer(self.seed, "seed"))
        if self.elapsed is not None and not (isinstance(self.elapsed, Real) and 0 <= self.elapsed < math.inf):
            raise InputError(f"{self.elapsed!r:.60} is no number of seconds", where="elapsed", fix=f"{self.who}.")
        object.__setattr__(self, "importance", _frozen(importance.astype(np.float64)))

    @property
    def who(self) -> str:
        """For messages: `It is of gradient, event 7`."""
        event = "" if self.context.event is None else f", event {self.context.event!r:.80}"
        return f"It is of {self.explainer!r:.80}{event}"

    def refuse_nan(self) -> None:
        fix = f'{self.who}. Repair the explainer, or pass nan="omit" to leave it out.'
        refuse_nan(self.importance, "importance", fix=fix)


def _host(value: Any, name: str) -> AnyArray:
    """An array of anything, on the host."""
    if is_tensor(value):
        return as_numeric(value, name)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InputError(f"rows of different lengths ({error})", where=name) from None


def _integer(value: Any, name: str) -> int:
    """A whole number, as Python's; 1.0 and True are ones, text and 0.7 are not."""
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_) or value % 1 != 0:
        raise InputError(f"expected a whole number, found {value!r:.60}", where=name)
    return int(value)


def _whole(value: Any, name: str) -> Ints:
    array = _host(value, name)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"expected whole numbers, found {array.dtype}", where=name)
    return array.astype(np.int64)


def _ids(value: Any, count: int, name: str = "nodes") -> AnyArray:
    """Ids as whole numbers or text, one of each."""
    if value is None:
        return np.arange(count)
    array = _host(value, name)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise InputError(
            f"expected a list of whole numbers or of text, found shape {array.shape} of {array.dtype}", where=name
        )
    if name == "nodes" and len(np.unique(array)) < len(array):
        raise InputError("an id stands twice", where=name, fix="Name each node once.")
    return array


def _within(array: Ints, count: int, name: str, what: str) -> None:
    wrong = array[(array < 0) | (array >= count)]
    if wrong.size:
        raise InputError(f"there is no {what} {wrong[0]} among {count}", where=name)


def _lined_up(value: Any, count: int, name: str, what: str) -> AnyArray:
    array = _host(value, name)
    array = array.astype(np.float64) if array.size == 0 else as_numeric(array, name)
    if array.shape != (count,):
        raise InputError(
            f"shape {array.shape} for {count} of them", where=name, fix=f"Give one number for each {what}."
        )
    return array


def _features(value: Any, count: int, name: str, what: str) -> AnyArray:
    array = as_numeric(value, name)
    if array.ndim != 2 or len(array) != count:
        raise InputError(f"shape {array.shape} for {count} of them", where=name, fix=f"Give one row for each {what}.")
    return array


def _finite(array: AnyArray, name: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("a time is NaN or infinite", where=name, fix="Give every edge its time.")


def _frozen(array: AnyArray | None) -> AnyArray | None:
    """A view that cannot be written through."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


_EDGE_INDEX = "Pass sources and targets as two rows."
