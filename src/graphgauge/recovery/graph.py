"""One graph: edges between named nodes (`Graph`) or numbers (`Layer`), of the eleven kinds that a pair can have.

An end of an edge has a tail, an arrowhead, or a circle, which leaves open which of the two it is. An undirected edge
has two tails; it is not a pair of arrows, which is a kind of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask

# The names of nodes in order; nodes without names are called 0 … d − 1.
Names = tuple[Hashable, ...] | range

# Marks at the end of an edge, as bits.
TAIL, HEAD, CIRCLE = 1, 2, 4


class Kind(IntEnum):
    """The edge between i and j, i < j; the kinds from LINE on claim no direction."""

    NONE = 0
    FORWARD = 1  # i → j
    BACKWARD = 2  # i ← j
    TWO_WAY = 3  # i → j and i ← j: two arrows
    LINE = 4  # i – j
    TWO_HEADS = 5  # i ↔ j
    CIRCLE_HEAD = 6  # i o→ j
    HEAD_CIRCLE = 7  # i ←o j
    CIRCLES = 8  # i o–o j
    CIRCLE_TAIL = 9  # i o– j
    TAIL_CIRCLE = 10  # i –o j


KINDS = len(Kind)
_STARTS = {"-": TAIL, "<": HEAD, "o": CIRCLE, "x": CIRCLE}
_STOPS = {"-": TAIL, ">": HEAD, "o": CIRCLE, "x": CIRCLE}
# Edges as text, `-->` or `o-o`, with the marks at their first and second node.
MARKS = {f"{start}-{stop}": (_STARTS[start], _STOPS[stop]) for start in _STARTS for stop in _STOPS}
# The marks at i and at j of each kind.
_ARROWS = ((0, 0), MARKS["-->"], MARKS["<--"], (TAIL | HEAD, TAIL | HEAD))
ENDS = np.array([*_ARROWS, *(MARKS[text] for text in ("---", "<->", "o->", "<-o", "o-o", "o--", "--o"))])
# The kind of an edge by its marks at i and at j; and each kind as seen from j.
KIND_OF = np.zeros((8, 8), np.int64)
KIND_OF[tuple(ENDS.T)] = np.arange(KINDS)
MIRRORED = KIND_OF[ENDS[:, 1], ENDS[:, 0]]


@dataclass(frozen=True)
class Graph:
    """Edges between named nodes.

    Parameters
    ----------
    source, target
        The nodes that each edge joins, by name or by number.
    weight
        The weight or score of each edge; 1 by default.
    marks
        What each edge has at its ends: `-->`, `---`, `<->`, `o->`, `o-o` and so on; arrows by default.
    nodes
        All nodes, also those without an edge, in any order.
    directed
        Whether edges without marks are arrows, or have no direction.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> truth = recovery.Graph(["a", "b"], ["b", "c"], nodes=["a", "b", "c"])
    >>> found = recovery.Graph(["a", "c"], ["b", "b"], [0.9, 0.8], nodes=["a", "b", "c"])
    >>> recovery.evaluate(truth, found)["directed_f1"].value
    0.5
    """

    source: Sequence[Hashable]
    target: Sequence[Hashable]
    weight: Sequence[float] | None = None
    _: KW_ONLY
    marks: Sequence[str] | None = None
    nodes: Any = None
    directed: bool = True

    def __post_init__(self) -> None:
        source, target = tuple(self.source), tuple(self.target)
        weight = np.ones(len(source)) if self.weight is None else as_numeric(self.weight, "weight").ravel()
        marks = None if self.marks is None else tuple(self.marks)
        for name, part in (("target", target), ("weight", weight), ("marks", source if marks is None else marks)):
            if len(part) != len(source):
                raise InputError(f"{len(source):,} sources with {len(part):,} in {name}", where="Graph")
        unknown = next((text for text in marks or () if text not in MARKS), None)
        if unknown is not None:
            raise InputError(f"{unknown!r:.40} is no edge", where="marks", fix="Write --> --- <-> o-> o-o, and so on.")
        nodes = None if self.nodes is None else distinct_names(self.nodes, "nodes")
        weights = tuple(weight.astype(np.float64).tolist())
        vars(self).update(source=source, target=target, weight=weights, marks=marks, nodes=nodes)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], **parts: Any) -> Graph:
        """A graph of `edges`, tuples (source, target) or (source, target, weight); `parts` are those of `Graph`."""
        listed = list(edges)
        for edge in listed:
            if not isinstance(edge, tuple | list) or len(edge) not in (2, 3) or len(edge) != len(listed[0]):
                fix = "An edge is (source, target), or all have a weight third."
                raise InputError(f"{edge!r:.80} is not an edge", fix=fix)
        source, target, *weight = zip(*listed, strict=True) if listed else ((), ())
        return cls(source, target, *map(list, weight), **parts)

    def ends(self) -> AnyArray:
        """The marks at source and target of each edge, (edges, 2)."""
        if self.marks is None:
            return np.tile((TAIL, HEAD if self.directed else TAIL), (len(self.source), 1))
        return np.array([MARKS[text] for text in self.marks], np.int64).reshape(-1, 2)


def distinct_names(names: Iterable[Any], where: str) -> Names:
    """Names of nodes as a tuple, each once."""
    listed = tuple(names)
    twice = next((name for name, count in Counter(listed).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"the node {twice!r} occurs twice among the names", where=where)
    return listed


def are_numbers(names: Names) -> bool:
    """Whether the names are 0 … d − 1 in any order, as numbers or as text: rows of a matrix without names."""
    whole = [not isinstance(name, bool) and isinstance(name, int | np.integer | str) for name in names]
    return all(whole) and {str(name) for name in names} == set(map(str, range(len(names))))


def numbers_of(names: Iterable[Hashable], order: Names, where: str) -> Ints:
    """The place of each name in `order`; numbers may be written as text, as files have them."""
    spelt: Any = str if are_numbers(order) else lambda name: name
    place = {spelt(name): number for number, name in enumerate(order)}
    listed = list(names)
    unknown = list(dict.fromkeys(repr(name) for name in listed if spelt(name) not in place))
    if unknown:
        fix = (
            f'The nodes are {some(list(map(repr, order)))}; pass nodes= to name them, or "listed" for those that occur.'
        )
        raise InputError(f"unknown nodes: {some(unknown)}", where=where, fix=fix)
    return np.array([place[spelt(name)] for name in listed], np.int64)


def some(labels: Sequence[str]) -> str:
    """A list in a sentence, cut where it is long."""
    return ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")


def refuse_other_names(own: Names, order: Names, where: str) -> None:
    """Refuse nodes that are not those in `order`."""
    lacks, adds = (some(sorted(map(repr, names))) or "none" for names in (set(order) - set(own), set(own) - set(order)))
    if set(own) != set(order):
        what = f"node names differ: lacks {lacks} and adds {adds}"
        raise InputError(what, where=where, fix="Nodes are matched by name.")


# ---- edges between numbers

# The types that the core reads, and what it finds in a matrix while it packs it.
_DIRECT = tuple(map(np.dtype, ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")))
_EDGES, _MISSING, _NEGATIVE, _WEIGHTED = 1, 2, 4, 8


class Listed(NamedTuple):
    """Edges in the order of their cells.

    The cell of an arrow is source·d + target; that of an edge without direction is its pair i·d + j, i < j, and in a
    late layer leads from the earlier node.
    """

    cells: Ints
    kinds: Ints
    weights: AnyArray

    @classmethod
    def ordered(cls, cells: Ints, kinds: Ints, weights: AnyArray) -> Listed:
        return cls(cells, kinds, weights).only(np.argsort(cells, kind="stable"))

    def only(self, held: Mask | Ints) -> Listed:
        return Listed(self.cells[held], self.kinds[held], self.weights[held])


class Cut(NamedTuple):
    """Where an edge begins: its weight, or the size of its weight, is above the threshold."""

    threshold: float
    absolute: bool = False

    def above(self, weights: AnyArray) -> Mask:
        """Which weights are edges; NaN is none."""
        chosen: Mask = weights > self.threshold
        return chosen | (weights < -self.threshold) if self.absolute else chosen

    def scores(self, weights: AnyArray) -> AnyArray:
        """The weights as scores: larger is more of an edge."""
        if not self.absolute or weights.dtype.kind not in "if":
            return weights
        # The lowest number of a signed integer type has no positive counterpart.
        sizes: AnyArray = np.abs(weights.astype(np.int64) if weights.dtype.kind == "i" else weights)
        return sizes


# A true edge is whatever is not 0.
NOT_ZERO = Cut(0.0, absolute=True)


@dataclass(frozen=True, eq=False)
class Layer:
    """The edges between nodes 0 … d − 1 at one time: weights above the cut.

    They are a matrix, in which every cell is an arrow, or a list. A `late` layer has the edges of one lag: time orients
    them, and self-edges count. `scores` rank the cells, if their weights do not.
    """

    d: int
    matrix: AnyArray | None = None
    edges: Listed | None = None
    scores: AnyArray | None = None
    late: bool = False
    cut: Cut = NOT_ZERO

    @classmethod
    def of_kinds(cls, kinds: AnyArray, weights: AnyArray | None = None, **parts: Any) -> Layer:
        """A layer from the kind of edge in each cell, (d, d); without direction, those above the diagonal are read."""
        opened = kinds >= Kind.LINE
        cells = np.flatnonzero((kinds == Kind.FORWARD) | (opened if parts.get("late") else np.triu(opened, 1)))
        sizes = np.ones(len(cells), np.uint8) if weights is None else weights.ravel()[cells]
        return cls(len(kinds), edges=Listed(cells, kinds.ravel()[cells], sizes), **parts)

    # ---- weights, whatever the cut

    @cached_property
    def listed(self) -> Listed:
        """What is stored other than 0; self-edges only where they count."""
        if self.edges is not None:
            cells, kinds, weights = self.edges
        else:
            cells = np.flatnonzero(self.weights)
            kinds, weights = np.full(len(cells), int(Kind.FORWARD)), self.weights.ravel()[cells]
        return Listed(cells, kinds, weights).only((cells % (self.d + 1) != 0) | self.late)

    @cached_property
    def arrows(self) -> Listed:
        return self.listed.only(self.listed.kinds < Kind.LINE)

    @cached_property
    def is_open(self) -> bool:
        """Whether there are edges that claim no direction."""
        return self.edges is not None and bool((self.edges.kinds >= Kind.LINE).any())

    @cached_property
    def weights(self) -> AnyArray:
        """The weight of the arrow in each cell, (d, d)."""
        if self.matrix is not None:
            return self.matrix
        weights = np.zeros((self.d, self.d), self.listed.weights.dtype)
        weights.flat[self.arrows.cells] = self.arrows.weights
        return weights

    def weights_in(self, cells: Ints) -> AnyArray:
        """The weights of the arrows in these cells: 0 is one, where the threshold is below 0."""
        if self.matrix is not None:
            return self.matrix.ravel()[cells]
        return self.arrows.weights[np.searchsorted(self.arrows.cells, cells)]

    @cached_property
    def flaws(self) -> tuple[bool, bool]:
        """Whether weights are missing, and negative."""
        if self.matrix is not None:
            return bool(self._packed[1] & _MISSING), bool(self._packed[1] & _NEGATIVE)
        return bool(np.isnan(self.listed.weights).any()), bool((self.listed.weights < 0).any())

    @cached_property
    def weighting(self) -> tuple[bool, bool]:
        """Whether there are weights other than 0, and other than 0 and 1."""
        if self.matrix is not None and self.cut == NOT_ZERO:
            return bool(self._packed[1] & _EDGES), bool(self._packed[1] & _WEIGHTED)
        weights = self.listed.weights
        return bool(weights.any()), bool((~np.isin(weights, (0, 1))).any())

    # ---- edges, by the cut

    @cached_property
    def loops(self) -> int:
        """Edges from a node to itself."""
        if self.edges is None:
            own = np.diagonal(self.weights)
        else:
            own = self.edges.weights[self.edges.cells % (self.d + 1) == 0]
        return int(np.count_nonzero(self.cut.above(own)))

    @cached_property
    def cells(self) -> Ints:
        """The arrows as cells source·d + target, in order."""
        if self.matrix is None:
            return self.arrows.cells[self.cut.above(self.arrows.weights)]
        cells = np.flatnonzero(self.cut.above(self.matrix))
        return cells if self.late else cells[cells % (self.d + 1) != 0]

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """All edges by their keys in order, and their kinds: pairs i·d + j, i < j, or the cells of a late layer."""
        cells = self.cells
        keys, kinds = (cells, np.full(len(cells), int(Kind.FORWARD))) if self.late else paired(cells, self.d)
        if not self.is_open:
            return keys, kinds
        opened = self.listed.only((self.listed.kinds >= Kind.LINE) & self.cut.above(self.listed.weights))
        keys, kinds = np.append(keys, opened.cells), np.append(kinds, opened.kinds)
        order = np.argsort(keys)
        return keys[order], kinds[order]

    @property
    def bits(self) -> AnyArray:
        """The arrows, a bit per cell."""
        return self._packed[0]

    @cached_property
    def _packed(self) -> tuple[AnyArray, int]:
        """The arrows as bits, and which kinds of weights there are, from one reading of the matrix."""
        matrix, high = self.weights, self.cut.threshold
        if matrix.dtype.kind == "f":  # compared in the type of the weights, as NumPy does
            high = float(matrix.dtype.type(high))
        if matrix.dtype not in _DIRECT:
            small = np.float32 if matrix.dtype.itemsize <= 4 else np.float64
            matrix = matrix.astype(small if matrix.dtype.kind == "f" else np.int64)
        low = -high if self.cut.absolute else -np.inf
        loopless, threads = 0 if self.late else self.d, threads_for(matrix.size)
        words, kinds = _core.cell_bits(np.require(matrix, None, ("C", "A")), loopless, low, high, threads)
        return words, kinds

    # ---- the same graph otherwise

    def renumbered(self, number: Ints, d: int) -> Layer:
        """Node i becomes node `number[i]` of d."""
        grid = np.ix_(np.argsort(number), np.argsort(number))
        scores = None if self.scores is None else self.scores[grid]
        if self.matrix is not None:
            return replace(self, matrix=self.matrix[grid], scores=scores)
        cells, kinds, weights = self.edges or self.listed
        source, target = (number[ends] for ends in np.divmod(cells, max(self.d, 1)))
        swapped = (source > target) & (kinds >= Kind.LINE) & (not self.late)
        kinds = np.where(swapped, MIRRORED[kinds], kinds)
        cells = np.where(swapped, target * d + source, source * d + target)
        return replace(self, d=d, edges=Listed.ordered(cells, kinds, weights), scores=scores)


def weighting(layers: Iterable[Layer]) -> tuple[bool, bool]:
    """The same of some layers."""
    has_edges, is_weighted = zip(*(layer.weighting for layer in layers), strict=True)
    return any(has_edges), any(is_weighted)


def mirrored(cells: Ints, d: int) -> Ints:
    """The cells j → i of cells i → j."""
    source, target = np.divmod(cells, max(d, 1))
    return target * d + source


def paired(cells: Ints, d: int) -> tuple[Ints, Ints]:
    """Arrows between different nodes by their pairs i·d + j, i < j, in order, and their kinds."""
    opposite = mirrored(cells, d)
    ways = np.minimum(cells, opposite) * 2 + (cells > opposite)
    ways.sort()
    starts = np.flatnonzero(np.diff(ways >> 1, prepend=-1))
    keys = ways[starts] >> 1
    return keys, np.add.reduceat(1 + (ways & 1), starts) if starts.size else keys


def is_among(ordered: Ints, wanted: Ints) -> Mask:
    """Which of `wanted` are among the ordered numbers."""
    if not len(ordered):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    held: Mask = ordered[place] == wanted
    return held
