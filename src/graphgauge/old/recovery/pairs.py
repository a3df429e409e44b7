"""Two graphs counted against each other: bits if they are dense, stored cells if they are sparse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, thread_count
from graphgauge.kernels.graphs import cells_of, edge_bits, pair_table, sparse_pair_table
from graphgauge.old.recovery.counts import Counts, joined
from graphgauge.old.recovery.curves import Curve, Layer, curve_over
from graphgauge.old.recovery.inputs import Graph, SparseGraph
from graphgauge.old.recovery.marks import kind_table, listed_kinds

Predicate = Callable[[AnyArray], AnyArray]
# The number of such cells in each row, and the first one: row, source, target.
Offence = tuple[Ints, tuple[int, ...]]

SIGNS = ("absolute", "keep")


@dataclass(frozen=True)
class Options:
    threshold: float = 0.5
    sign: str | None = None
    nan: str = "raise"
    lagged: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, Real) or isnan(self.threshold):
            raise OptionError(f"threshold must be a number, not {self.threshold!r}")
        if self.sign is not None:
            one_of("sign", self.sign, SIGNS)
        nan_policy(self.nan)
        thread_count(self.threads)


def compared(truth: Graph, prediction: Graph, options: Options) -> DensePair | SparsePair:
    """Both graphs, checked, in dense or sparse form."""
    sparse = isinstance(prediction.data, SparseGraph)
    pair = (SparsePair if sparse else DensePair)(truth, prediction, options)
    if pair.missing_truth:
        raise InputError(_missing(pair, "A_true"), where="A_true", fix="Cells must be 0 or not 0.")
    if pair.missing_scores and options.nan == "raise":
        raise InputError(_missing(pair, "A_pred"), where="A_pred", fix=_FIX_NAN)
    if pair.negative_scores and options.sign is None:
        found, first = pair.offending("A_pred", lambda part: part < 0)
        raise InputError(f"{found.sum()} scores are negative, the first at {first}", where="A_pred", fix=_FIX_SIGN)
    if (
        pair.weighted_truth
        and not prediction.may_be_undirected  # a result with a named encoding is no truth in the wrong place
        and not pair.weighted_scores
        and not _are_weights(pair)
        and pair.offending("A_pred", _is_edge)[0].any()  # a method may find nothing
    ):
        raise InputError(
            "the arguments look swapped: the first has values other than 0 and 1, the second does not",
            where="A_true and A_pred",
            fix="The truth comes first. If it has weights, pass A_true != 0; if it has the marks of a CPDAG, name the "
            'encoding of both, such as encoding=("causal-learn", "causal-learn").',
        )
    return pair


def _are_weights(pair: DensePair | SparsePair) -> bool:
    """Whether the truth has weights, which are neither scores from 0 to 1 nor whole numbers that may be marks."""
    outside = pair.offending("A_true", lambda part: (part < 0) | (part > 1))[0].any()
    return bool(outside and pair.offending("A_true", lambda part: part != np.floor(part))[0].any())


def _missing(pair: DensePair | SparsePair, name: str) -> str:
    found, first = pair.offending(name, np.isnan)
    counts = pair.counts()
    return f"{found.sum()} of {(counts['cells'] + counts.omitted).sum()} values are NaN, the first at index {first}"


class Pair(ABC):
    """Two graphs; `true_edges` and `predicted_edges` have undirected edges in both cells, arrows leave them out."""

    d: int
    options: Options
    weighted_truth: bool
    _sides: tuple[Graph, Graph]

    @abstractmethod
    def true_edges(self, row: int) -> Ints: ...

    @abstractmethod
    def predicted_edges(self, row: int) -> Ints: ...

    @abstractmethod
    def weights_at(self, row: int, cells: Ints) -> tuple[AnyArray, AnyArray]:
        """The values of truth and prediction in cells that both have, as given, with their signs."""

    def common_weights(self, row: int) -> tuple[AnyArray, AnyArray]:
        """The weights of the arrows that both graphs have."""
        edges = np.setdiff1d(self.predicted_edges(row), self.undirected(row)[1], assume_unique=True)
        return self.weights_at(row, np.intersect1d(self.true_arrows(row), edges, assume_unique=True))

    @cached_property
    def weighted_scores(self) -> bool:
        """Whether the prediction has values other than 0 and 1."""
        return bool(self.offending("A_pred", lambda part: (part != 0) & (part != 1))[0].any())

    @property
    def may_have_weights(self) -> bool:
        """Whether both graphs have weights, or no edge that could have one."""
        weighted = {"A_true": self.weighted_truth, "A_pred": self.weighted_scores}
        return all(held or not self.offending(name, _is_edge)[0].any() for name, held in weighted.items())

    @abstractmethod
    def offending(self, name: str, is_wrong: Predicate) -> Offence: ...

    @property
    def may_be_undirected(self) -> bool:
        return any(side.may_be_undirected for side in self._sides)

    def undirected(self, row: int) -> tuple[Ints, Ints]:
        """Both cells of the edges without direction of truth and prediction; the cell itself of those with a lag."""
        truth, prediction = self._sides
        if row and self.options.lagged:
            return truth.late_undirected_cells(row), prediction.late_undirected_cells(row)
        return truth.undirected_cells(row), prediction.undirected_cells(row)

    def true_arrows(self, row: int) -> Ints:
        edges = self.true_edges(row)
        return np.setdiff1d(edges, self.undirected(row)[0], assume_unique=True) if self.may_be_undirected else edges

    def special(self, row: int) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """The pairs of truth and prediction with edges other than arrows and undirected ones, and their kinds."""
        found = []
        for graph, edges in zip(self._sides, (self.true_edges(row), self.predicted_edges(row)), strict=True):
            pairs, kinds = graph.special
            held = np.isin(pairs, edges)
            found.append((pairs[held], kinds[held]))
        return found[0], found[1]

    def kinds(self, row: int) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """The adjacent pairs of truth and prediction, and the kinds of their edges."""
        listed = []
        undirected, special = self.undirected(row), self.special(row)
        for side, edges in enumerate((self.true_edges(row), self.predicted_edges(row))):
            pairs, kinds = listed_kinds(edges, undirected[side], self.d)
            kinds[np.searchsorted(pairs, special[side][0])] = special[side][1]
            listed.append((pairs, kinds))
        return listed[0], listed[1]

    def _marked(self, row: int) -> Ints:
        """The states of the pairs of one row, with undirected edges distinct from two directed ones."""
        return kind_table(*self.kinds(row), self.d)

    def _whole(self, row: int, edges: Ints) -> Ints:
        """True edges; an undirected edge with one cell left out for lack of a score gets both cells again."""
        undirected = self.undirected(row)[0]
        if not undirected.size or (row and self.options.lagged):
            return edges
        source, target = np.divmod(undirected, self.d)
        held = np.isin(undirected, edges) | np.isin(target * self.d + source, edges)
        return np.union1d(edges, undirected[held])


class DensePair(Pair):
    """Stacks (rows, d, d): the graphs of a stack, or the lags of one graph. Row i, column j is the edge i → j."""

    def __init__(self, truth: Graph, prediction: Graph, options: Options) -> None:
        self.d, self.options, self._sides = truth.d, options, (truth, prediction)
        self._truth, self._scores = _stack(truth), _stack(prediction)
        # Rows of pairs, whose self-edges do not count, before those of lagged cells.
        self._unlagged = 1 if options.lagged else len(self._scores)
        self._pack()
        if self.missing_scores and self._turned[0] != self._turned[1]:
            # A missing score drops its true cell too, which requires the same memory layout.
            self._truth, self._scores = np.ascontiguousarray(self._truth), np.ascontiguousarray(self._scores)
            self._pack()
        self.omitted: Ints = self.offending("A_pred", np.isnan)[0] if self.missing_scores else np.zeros(1, np.int64)

    def _pack(self) -> None:
        (truth, true_turned), (scores, scores_turned) = _row_major(self._truth), _row_major(self._scores)
        bits = edge_bits(
            truth,
            scores,
            self.options.threshold,
            absolute=self.options.sign == "absolute",
            loopless=self._unlagged,
            threads=self.options.threads,
        )
        self._words, self._turned = (bits.truth, bits.prediction), (true_turned, scores_turned)
        self.missing_truth, self.missing_scores = bits.missing_truth, bits.missing_scores
        self.negative_scores, self.weighted_truth = bits.negative_scores, bits.weighted_truth

    def counts(self) -> Counts:
        counts = Counts.of(*pair_table(*self._words, self.d, threads=self.options.threads), self.omitted)
        if self._turned[0] != self._turned[1]:
            counts = counts.crossed()
        if self.may_be_undirected:
            marked = [Counts.of(self._marked(row), counts.loops[:1]).pairs for row in range(self._unlagged)]
            counts = replace(counts, pairs=np.concatenate([*marked, counts.pairs[self._unlagged :]]))
        if not self.options.lagged:
            return counts
        late = counts.rows(slice(1, None)).lagged()
        if any(side.late is not None for side in self._sides):
            rows = range(1, len(self._scores))
            late = joined([Counts.of_lagged_cells(*self._late_kinds(row)) for row in rows])
        return joined([counts.rows(slice(0, 1)), late])

    def _late_kinds(self, row: int) -> tuple[Ints, Ints]:
        """The kinds of the cells of one lag, true and predicted."""
        found = []
        for side, edges in zip(self._sides, (self.true_edges(row), self.predicted_edges(row)), strict=True):
            kinds = np.zeros((self.d, self.d), np.int64)
            kinds.reshape(-1)[edges] = 1 if side.late is None else side.late[row - 1].reshape(-1)[edges]
            found.append(kinds)
        return found[0], found[1]

    def true_edges(self, row: int) -> Ints:
        return self._whole(row, self._edges(row, 0))

    def predicted_edges(self, row: int) -> Ints:
        return self._edges(row, 1)

    def _edges(self, row: int, side: int) -> Ints:
        """Cells source·d + target of one row in order; loops only where they count."""
        cells = cells_of(self._words[side][row * self.d : (row + 1) * self.d], self.d)
        source, target = np.divmod(cells, self.d)
        if row < self._unlagged:
            between = source != target
            cells, source, target = cells[between], source[between], target[between]
        return np.sort(target * self.d + source) if self._turned[side] else cells

    def weights_at(self, row: int, cells: Ints) -> tuple[AnyArray, AnyArray]:
        places = np.divmod(cells, self.d)
        return self._truth[row][places], self._scores[row][places]

    def layer(self, row: int) -> Layer:
        return Layer(self._signed(self._arrow_scores[row]), row >= self._unlagged)

    def scores_at(self, row: int, source: Ints, target: Ints) -> AnyArray:
        return self._signed(self._arrow_scores[row, source, target])

    @cached_property
    def _arrow_scores(self) -> AnyArray:
        """The scores of arrows: an undirected edge has none."""
        return self._without_undirected(self._scores, 1)

    def _without_undirected(self, stack: AnyArray, side: int) -> AnyArray:
        if not self._sides[side].may_be_undirected:
            return stack
        arrows = stack.copy()
        for row in range(len(stack)):
            arrows[row][np.divmod(self.undirected(row)[side], self.d)] = 0
        return arrows

    def summary(self) -> tuple[Graph, Graph]:
        """The graph over all lags: an edge where some lag has one, with its highest score.

        An edge without direction is one of the summary where no lag has an arrow between its nodes.
        """
        arrows = [self._without_undirected(stack, side) for side, stack in enumerate((self._truth, self._scores))]
        truth = ((arrows[0] != 0) & ~np.isnan(self._scores)).any(0)
        scores = np.fmax.reduce(self._signed(arrows[1]), 0)
        sides = []
        for side, (cells, edges) in enumerate(((truth, truth), (scores, scores > self.options.threshold))):
            if not self._sides[side].may_be_undirected:
                sides.append(Graph(cells[np.newaxis], self.d))
                continue
            undirected = np.zeros((self.d, self.d), bool)
            for row in range(len(self._scores)):
                undirected[np.divmod(self.undirected(row)[side], self.d)] = True
            np.fill_diagonal(undirected, False)
            undirected = (undirected | undirected.T) & ~(edges | edges.T)
            highest = np.fmax.reduce((self._truth, self._signed(self._scores))[side], 0)
            whole = np.where(undirected, np.fmax(highest, highest.T), cells)
            sides.append(Graph(whole[np.newaxis], self.d, undirected=undirected))
        return sides[0], sides[1]

    def offending(self, name: str, is_wrong: Predicate) -> Offence:
        stack = self._truth if name == "A_true" else self._scores
        found = np.zeros(len(stack), np.int64)
        first: tuple[int, ...] = ()
        for row, matrix in enumerate(stack):
            wrong = is_wrong(matrix)
            if row < self._unlagged:
                np.fill_diagonal(wrong, False)
            found[row] = np.count_nonzero(wrong)
            if found[row]:
                first = first or self._index(row, *(int(index) for index in np.argwhere(wrong)[0]))
        return found, first

    def _index(self, row: int, source: int, target: int) -> tuple[int, ...]:
        if self.options.lagged:
            return source, target, row
        return (row, source, target) if len(self._scores) > 1 else (source, target)

    def _signed(self, scores: AnyArray) -> AnyArray:
        return _absolute(scores) if self.options.sign == "absolute" else scores


class SparsePair(Pair):
    """One graph whose stored cells are listed; cells that are not stored score 0. Loops are left out."""

    def __init__(self, truth: Graph, prediction: Graph, options: Options) -> None:
        self.d, self.options, self._sides = truth.d, options, (truth, prediction)
        if options.threshold < 0:
            raise OptionError(
                f"threshold {options.threshold} is below 0, so every cell that is not stored would be an edge",
                fix="Pass a dense matrix, or a threshold of at least 0.",
            )
        true_loops, self._truth = _listed(truth)
        loops, self._scores = _listed(prediction)
        self._loops = true_loops, loops
        self.missing_truth = bool(np.isnan(self._truth.values).any())
        missing = np.isnan(self._scores.values)
        self.missing_scores, self.omitted = bool(missing.any()), np.array([np.count_nonzero(missing)])
        self.negative_scores = bool((self._scores.values < 0).any())
        self.weighted_truth = bool(((self._truth.values != 0) & (self._truth.values != 1)).any())
        self._kept = SparseGraph(self._scores.cells[~missing], self._signed(self._scores.values[~missing]))
        true_cells: Ints = self._truth.cells[self._truth.values != 0]
        if self.missing_scores:
            true_cells = np.setdiff1d(true_cells, self._scores.cells[missing], assume_unique=True)
        self._true_cells: Ints = true_cells

    def counts(self) -> Counts:
        edges = self.true_edges(0), self.predicted_edges(0)
        pairs = self._marked(0) if self.may_be_undirected else sparse_pair_table(*edges, self.d)
        true_loops, loops = self._loops
        return Counts.of(pairs, np.array([[self.d - true_loops - loops, true_loops, loops, 0]]), self.omitted)

    def true_edges(self, row: int) -> Ints:
        return self._whole(row, self._true_cells)

    def predicted_edges(self, row: int) -> Ints:
        cells: Ints = self._kept.cells[self._kept.values > self.options.threshold]
        return cells

    def weights_at(self, row: int, cells: Ints) -> tuple[AnyArray, AnyArray]:
        places = [np.searchsorted(side.cells, cells) for side in (self._truth, self._scores)]
        return self._truth.values[places[0]], self._scores.values[places[1]]

    def layer(self, row: int) -> Layer:
        return Layer(self._arrows.values, zeros=self.d * (self.d - 1) - len(self._scores.cells))

    @cached_property
    def _arrows(self) -> SparseGraph:
        """The scores of arrows: an undirected edge has none."""
        undirected = np.isin(self._kept.cells, self.undirected(0)[1], assume_unique=True)
        return (
            SparseGraph(self._kept.cells, np.where(undirected, 0, self._kept.values))
            if undirected.any()
            else self._kept
        )

    def scores_at(self, row: int, source: Ints, target: Ints) -> AnyArray:
        # Looked up in order, for the cache; which score belongs to which cell does not matter here.
        cells, stored = np.sort(source * self.d + target), self._arrows
        scores = np.zeros(len(cells), stored.values.dtype)
        place = np.searchsorted(stored.cells, cells)
        held = np.flatnonzero(place < len(stored.cells))
        held = held[stored.cells[place[held]] == cells[held]]
        scores[held] = stored.values[place[held]]
        return scores

    def offending(self, name: str, is_wrong: Predicate) -> Offence:
        side = self._truth if name == "A_true" else self._scores
        wrong = np.flatnonzero(is_wrong(side.values))
        return np.array([len(wrong)]), divmod(int(side.cells[wrong[0]]), self.d) if len(wrong) else ()

    def _signed(self, scores: AnyArray) -> AnyArray:
        return _absolute(scores) if self.options.sign == "absolute" else scores


def curve_of(pair: DensePair | SparsePair, rows: Iterable[int]) -> Curve:
    """The curve over all cells of some rows."""
    layers, scores = [], []
    for row in rows:
        layers.append(pair.layer(row))
        scores.append(pair.scores_at(row, *np.divmod(pair.true_arrows(row), pair.d)))
    return curve_over(layers, np.concatenate(scores), threads=pair.options.threads)


def _stack(side: Graph) -> AnyArray:
    stack = side.data.dense(side.d) if isinstance(side.data, SparseGraph) else side.data
    return stack.transpose(0, 2, 1) if side.turned else stack


def _listed(side: Graph) -> tuple[int, SparseGraph]:
    """How many loops there are, and the other stored cells in order."""
    graph = side.data
    if not isinstance(graph, SparseGraph):
        cells = np.flatnonzero(graph[0])
        graph = SparseGraph(cells, graph[0].reshape(-1)[cells])
    source, target = np.divmod(graph.cells, side.d)
    if side.turned:
        source, target = target, source
    between = source != target
    cells, values = (source * side.d + target)[between], graph.values[between]
    if side.turned:
        order = np.argsort(cells)
        cells, values = cells[order], values[order]
    return int(np.count_nonzero(graph.values[~between])), SparseGraph(cells, values)


def _row_major(stack: AnyArray) -> tuple[AnyArray, bool]:
    """The stack in memory order, and whether that is transposed relative to its indices."""
    if not stack.flags.c_contiguous and stack.transpose(0, 2, 1).flags.c_contiguous:
        return stack.transpose(0, 2, 1), True
    return stack, False


def _is_edge(values: AnyArray) -> AnyArray:
    found: AnyArray = values != 0
    return found


def _absolute(scores: AnyArray) -> AnyArray:
    # The lowest number of a signed integer type has no positive counterpart.
    widened: Any = scores.astype(np.int64) if scores.dtype.kind == "i" else scores
    return np.abs(widened) if scores.dtype.kind in "if" else scores


_FIX_NAN = 'Repair the model, or pass nan="omit": such cells are then left out of both graphs and reported.'
_FIX_SIGN = (
    'For weights pass sign="absolute". For scores that are negative where no edge is likely: sign="keep". '
    "For marks of a CPDAG: encoding=."
)
