"""Classes of graphs: which one a graph belongs to, and what keeps it from being a valid one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.kernels.dags import cycle_of, sinks_first
from graphgauge.recovery.marks import ARROWHEAD, CIRCLE, TAIL, Edge, Ends, ends_of_kinds, has_mark
from graphgauge.recovery.pags import pag_of, with_what_follows
from graphgauge.recovery.structure import Model

Cells = NDArray[np.bool_]
# Nodes up to which the rules of background knowledge are checked, on dense matrices.
_MOST_NODES = 5000
# Pairs of neighbours up to which the marks that follow from a PAG are derived.
_MOST_TRIPLES = 200_000
_MARK_NAMES = {ARROWHEAD: "arrowhead", TAIL: "tail", CIRCLE: "circle"}


@dataclass(frozen=True)
class GraphClass:
    """The class of a graph, found or declared, and why the graph is not a valid one of it.

    `remark` says whether a PAG is maximally informative: whether it has all marks that follow, and no others.
    """

    name: str
    problem: str | None = None
    remark: str | None = None

    @property
    def is_valid(self) -> bool:
        return self.problem is None

    def __str__(self) -> str:
        return self.name if self.problem is None else f"{self.name}, but not a valid one: {self.problem}"


def class_of(model: Model) -> GraphClass:
    """The declared class of a graph, or the narrowest that it may belong to, validated."""
    name = model.declared or _found(model)
    problem = _PROBLEMS[name](model)
    return GraphClass(name, problem, _informative(model) if name == "pag" and problem is None else None)


def _found(model: Model) -> str:
    if model.special[0].size:
        circles = has_mark(CIRCLE)[model.special[1]]
        return "pag" if circles.any() else "mag"
    if not model.has_undirected:
        return "dag" if model.flaw is None else "directed"
    if model.flaw is not None:
        return "mixed" if model.one_way.size else "undirected"
    if model.is_class:
        return "cpdag"
    return "mpdag" if _forced(model) is None else "mixed"


def _no_problem(model: Model) -> str | None:
    return None


def _dag_problem(model: Model) -> str | None:
    if model.has_undirected and not model.special[0].size:
        return f"{_line(model)} is undirected"
    return model.flaw


def _directed_problem(model: Model) -> str | None:
    return None if not model.has_undirected else f"{_line(model)} is undirected"


def _line(model: Model) -> str:
    low, high = divmod(int(model.mutual[0]), model.d)
    return f"{model.label(low)} – {model.label(high)}"


def _cpdag_problem(model: Model) -> str | None:
    if model.flaw is not None:
        return model.flaw
    whole = model.class_cells
    if np.array_equal(whole, model.cells):
        return None
    missing = np.setdiff1d(model.cells, whole, assume_unique=True)
    if missing.size:  # the class directs what the graph does not
        target, source = divmod(int(missing[0]), model.d)
        return (
            f"{model.name} does not direct {model.label(source)} → {model.label(target)}, which follows from the rest"
        )
    target, source = divmod(int(np.setdiff1d(whole, model.cells, assume_unique=True)[0]), model.d)
    return f"{model.name} directs {model.label(source)} → {model.label(target)}, which its class leaves open"


def _mpdag_problem(model: Model) -> str | None:
    if model.flaw is not None:
        return model.flaw
    edge = _forced(model)
    if edge is None:
        return None
    return f"{model.name} does not direct {model.label(edge[0])} → {model.label(edge[1])}, which follows from the rest"


def _undirected_problem(model: Model) -> str | None:
    if not model.one_way.size:
        return None
    source, target = divmod(int(model.one_way[0]), model.d)
    return f"{model.name} has the arrow {model.label(source)} → {model.label(target)}"


def _forced(model: Model) -> tuple[int, int] | None:
    """An undirected edge that Meek's four rules direct, as (source, target); None if there is none."""
    d = model.d
    if d > _MOST_NODES or not model.has_undirected:
        return None
    arrows, lines = np.zeros((d, d), np.float32), np.zeros((d, d), bool)
    arrows[np.divmod(model.one_way, d)] = 1
    lines[np.divmod(model.mutual, d)] = True
    adjacent = lines | (arrows > 0) | (arrows.T > 0)
    apart = (~adjacent & ~np.eye(d, dtype=bool)).astype(np.float32)
    # a → b – c with a and c apart; a → b → c with a – c.
    follows = lines & (((arrows.T @ apart) > 0) | ((arrows @ arrows) > 0))
    if follows.any():
        source, target = np.argwhere(follows)[0]
        return int(source), int(target)
    into = arrows > 0
    for source, target in np.argwhere(lines):
        # Two neighbours of the source that are apart and both lead to the target.
        middle = np.flatnonzero(lines[source] & into[:, target])
        # A neighbour of the source, apart from the target, that leads to one of the source's neighbours before it.
        first = np.flatnonzero(lines[source] & (apart[target] > 0))
        second = np.flatnonzero(adjacent[source] & into[:, target])
        if apart[np.ix_(middle, middle)].any() or into[np.ix_(first, second)].any():
            return int(source), int(target)
    return None


def _mag_problem(model: Model) -> str | None:
    circles = np.flatnonzero(has_mark(CIRCLE)[model.special[1]].any(1))
    if circles.size:
        ends = " and ".join(model.label(node) for node in divmod(int(model.special[0][circles[0]]), model.d))
        return f"{model.name} has a circle mark between {ends}"
    return _marked_problem(model)


def _marked_problem(model: Model) -> str | None:
    """Why a graph with arrowheads on both ends, or circles, is not ancestral and maximal."""
    kinds = _as_mag(model)
    if isinstance(kinds, str):
        return kinds
    pairs, kind = kinds
    low, high = np.divmod(pairs, model.d)
    forward, backward = kind == Edge.FORWARD, kind == Edge.BACKWARD
    arrows = np.sort(np.append(pairs[forward], (high * model.d + low)[backward]))
    cycle = cycle_of(arrows, model.d)
    if cycle:
        return f"{model.name} has the directed cycle {' → '.join(map(model.label, [*cycle, cycle[0]]))}"
    heads = has_mark(ARROWHEAD)[kind]
    pointed = np.zeros(model.d, bool)
    pointed[low[heads[:, 0] > 0]] = pointed[high[heads[:, 1] > 0]] = True
    for i, j in zip(low[kind == Edge.LINE], high[kind == Edge.LINE], strict=True):
        if pointed[i] or pointed[j]:
            end = int(i if pointed[i] else j)
            other = int(j if pointed[i] else i)
            return f"{model.name} has an arrowhead at {model.label(end)}, and {model.label(end)} – {model.label(other)}"
    below = _descendants(arrows, model.d)
    both = kind == Edge.TWO_HEADS
    for i, j in zip(low[both], high[both], strict=True):
        if below[i, j] or below[j, i]:
            start, end = (int(i), int(j)) if below[i, j] else (int(j), int(i))
            return (
                f"{model.name} has the almost directed cycle {model.label(start)} → … → {model.label(end)} ↔ "
                f"{model.label(start)}"
            )
    return _inducing(model, (low[both], high[both]), below, pairs, kind)


def _as_mag(model: Model) -> tuple[Ints, Ints] | str:
    """The graph with its circles replaced: o→ becomes →, and o–o is directed without a new v-structure (Zhang 2008)."""
    pairs, kind = (part.copy() for part in model.kinds)
    two_way = np.flatnonzero(kind == Edge.TWO_WAY)
    if two_way.size:
        ends = " and ".join(model.label(node) for node in divmod(int(pairs[two_way[0]]), model.d))
        return f"{model.name} has edges both ways between {ends}"
    kind[(kind == Edge.CIRCLE_HEAD) | (kind == Edge.TAIL_CIRCLE)] = Edge.FORWARD
    kind[(kind == Edge.HEAD_CIRCLE) | (kind == Edge.CIRCLE_TAIL)] = Edge.BACKWARD
    circles = np.flatnonzero(kind == Edge.CIRCLES)
    if circles.size:
        low, high = np.divmod(pairs[circles], model.d)
        both = np.sort(np.append(pairs[circles], high * model.d + low))
        order = sinks_first(both[:0], both, model.d)
        if len(order) < model.d:
            left = ", ".join(model.label(int(node)) for node in np.setdiff1d(np.arange(model.d), order)[:8])
            return f"{model.name} has o–o edges among {left} that form a cycle without a chord"
        place = np.empty(model.d, np.int64)
        place[order] = np.arange(model.d)
        kind[circles] = np.where(place[low] > place[high], Edge.FORWARD, Edge.BACKWARD)
    return pairs, kind


def _informative(model: Model) -> str:
    """Whether a valid PAG has exactly the marks that the MAGs it represents share."""
    pairs, kind = model.kinds
    degree = np.bincount(np.concatenate(np.divmod(pairs, max(model.d, 1))), minlength=model.d)
    unchecked = f"whether {model.name} is maximally informative is not checked"
    if np.isin(kind, (Edge.LINE, Edge.CIRCLE_TAIL, Edge.TAIL_CIRCLE)).any():
        return f"{unchecked}: it has edges that selection bias leaves, and the rules used here are for graphs without"
    if model.d > _MOST_NODES or int((degree**2).sum()) > _MOST_TRIPLES:
        return f"{unchecked}: it has too many edges"
    replaced = _as_mag(model)
    assert not isinstance(replaced, str), "a valid PAG has a MAG"
    given, mag = ends_of_kinds(pairs, kind, model.d), ends_of_kinds(*replaced, model.d)
    more = with_what_follows(given, mag)
    if not np.array_equal(more, given):
        found = _marks(model, more, more != given)
        return f"{model.name} is not maximally informative: it leaves open what follows from the rest, {found}"
    shared = pag_of(mag)
    if not np.array_equal(given, shared):
        found = _marks(model, given, given != shared)
        return f"{model.name} states what its equivalence class leaves open, {found}"
    return f"{model.name} is maximally informative: no further mark follows from it"


def _marks(model: Model, ends: Ends, where: Cells) -> str:
    """The first of some marks, and how many more there are."""
    (other, end), *others = np.argwhere(where).tolist()
    more = f", and {len(others)} more" if others else ""
    mark = _MARK_NAMES[int(ends[other, end])]
    return f"the {mark} at {model.label(end)} of its edge with {model.label(other)}{more}"


def _descendants(arrows: Ints, d: int) -> Cells:
    """[i, j]: whether j is a descendant of i, in a graph without a directed cycle."""
    below = np.zeros((d, d), bool)
    source, target = np.divmod(arrows, max(d, 1))
    starts = np.append(0, np.cumsum(np.bincount(source, minlength=d)))
    for node in sinks_first(arrows, arrows[:0], d).tolist():
        children = target[starts[node] : starts[node + 1]]
        below[node, children] = True
        for child in children.tolist():
            below[node] |= below[child]
    return below


def _inducing(model: Model, heads: tuple[Ints, Ints], below: Cells, pairs: Ints, kind: Ints) -> str | None:
    """Two nodes that no set separates although they are not adjacent, as a sentence; None if there are none."""
    if not heads[0].size:
        return None
    d = model.d
    into = np.zeros((d, d), bool)  # an arrowhead at j of the edge between i and j
    marks = has_mark(ARROWHEAD)[kind]
    low, high = np.divmod(pairs, d)
    into[low, high], into[high, low] = marks[:, 1] > 0, marks[:, 0] > 0
    both = into & into.T
    adjacent = np.zeros((d, d), bool)
    adjacent[low, high] = adjacent[high, low] = True
    # Inner nodes of such a path are joined by ↔.
    entered = into & both.any(1)
    # In an ancestral graph the first of them is no ancestor of i, so it is one of j; and the other way round.
    first = entered.astype(np.float32) @ below.astype(np.float32) > 0
    for i, j in np.argwhere(np.triu(~adjacent & first & first.T, 1)):
        allowed = below[:, i] | below[:, j]
        found = entered[i] & allowed
        ends = entered[j] & allowed
        while True:
            if (found & ends).any():
                return (
                    f"{model.name} is not maximal: nothing separates {model.label(int(i))} and {model.label(int(j))}, "
                    "which are not adjacent"
                )
            wider = found | (both[found].any(0) & allowed)
            if np.array_equal(wider, found):
                break
            found = wider
    return None


_PROBLEMS: dict[str, Any] = {
    "dag": _dag_problem,
    "directed": _directed_problem,
    "cpdag": _cpdag_problem,
    "mpdag": _mpdag_problem,
    "mag": _mag_problem,
    "pag": _marked_problem,
    "undirected": _undirected_problem,
    "mixed": _no_problem,
}
