"""Negatives to rank against: drawn once, without known positives, recorded, and the same for every method."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, Mask, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.old.core.state import Place, load_state, place_name, save_state
from graphgauge.old.ranking.candidates import Draws, Lists, Pools, append, dense
from graphgauge.old.ranking.edges import Edges
from graphgauge.old.ranking.heart import COMBINED, COMMON, adjacency, combined_ranks, scored

SAMPLERS = ("uniform", "degree", "historical", "inductive", "heart")
AMONG = ("all", "range", "type")
SIDES = ("tail", "head", "both")
# What each sampler needs besides the edges, and the options that only it takes.
_TEMPORAL = ("historical", "inductive")
_WITH_HISTORY = ("degree", "heart", *_TEMPORAL)
_KIND = "negatives"


@dataclass(frozen=True, eq=False)
class Negatives:
    """Negatives of edges: `nodes` (n, k) in the place of each edge's tail, in the last `heads` columns of its head.

    Where `mask` is False a query has no further negative: there `nodes` has the right answer itself. `record` says how
    they were drawn.
    """

    edges: Ints
    nodes: Ints
    mask: Mask
    heads: int
    record: Mapping[str, Any]
    # Of rows of other negatives: what those say of themselves.
    part_of: str | None = None

    def __len__(self) -> int:
        return len(self.edges)

    def __getitem__(self, rows: slice | AnyArray) -> Negatives:
        """The negatives of some edges, for a batch; they have the record of the whole."""
        parts = self.edges[rows], self.nodes[rows], self.mask[rows]
        if parts[0].ndim != 2:
            raise InputError("one row is no batch", fix="Use a slice, or an array of rows.")
        return Negatives(*parts, self.heads, self.record, str(self))

    @property
    def corrupted(self) -> Ints:
        """The negatives as whole edges, (n, k, 2) or (n, k, 3), to be scored by a model."""
        whole = np.repeat(self.edges[:, None, :], self.nodes.shape[1], axis=1)
        tails = self.nodes.shape[1] - self.heads
        whole[:, :tails, -1] = self.nodes[:, :tails]
        whole[:, tails:, 0] = self.nodes[:, tails:]
        return whole

    @property
    def short(self) -> int:
        """Queries with fewer negatives than were asked for."""
        return int(np.count_nonzero(~self.mask.all(axis=1)))

    @property
    def digest(self) -> str:
        """A hash of the edges and their negatives."""
        digest = hashlib.sha256()
        for array in (self.edges, self.nodes, self.mask):
            digest.update(f"{array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        """The convention under which metrics on these negatives are stated."""
        if self.part_of is not None:
            return self.part_of
        sampler, k, seed = (self.record[name] for name in ("sampler", "k", "seed"))
        return f"{sampler}, {k} per query, seed {seed}, {self.digest[:12]}"

    def save(self, place: Place) -> None:
        """Write an .npz file: `edges`, `nodes`, `mask`, and the record.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        None
            The file is complete when the method returns.

        Raises
        ------
        UnwritableError
            If the file cannot be written.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> drawn = ranking.negatives([[0, 1], [1, 2]], k=2, nodes=5)
        >>> drawn.save("negatives.npz")
        >>> ranking.Negatives.load("negatives.npz").digest == drawn.digest
        True
        """
        if self.part_of is not None:
            raise InputError("these are rows of other negatives", fix="Save all of them in one file.")
        facts = {"record": dict(self.record), "heads": self.heads, "digest": self.digest}
        save_state(place, _KIND, facts, {"edges": self.edges, "nodes": self.nodes, "mask": self.mask})

    @classmethod
    def load(cls, place: Place) -> Negatives:
        """Read negatives back; a file that was changed is refused.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        Negatives
            With the same digest.

        Raises
        ------
        InputError
            If the file is damaged or was changed.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> drawn = ranking.negatives([[0, 1], [1, 2]], k=2, nodes=5)
        >>> drawn.save("negatives.npz")
        >>> ranking.Negatives.load("negatives.npz").nodes.shape
        (2, 2)
        """
        _, facts, arrays = load_state(place, _KIND)
        try:
            record = {str(name): facts["record"][name] for name in facts["record"]}
            found = cls(arrays["edges"], arrays["nodes"], arrays["mask"], int(facts["heads"]), record)
            sound = found.digest == facts["digest"] and found.mask.shape == found.nodes.shape
            if not sound or {"sampler", "k", "seed"} - set(record) or len(found.edges) != len(found.nodes):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "the negatives were changed after they were drawn", where=place_name(place), fix="Draw them again."
            ) from None
        return found


def negatives(
    edges: Any,
    sampler: str = "uniform",
    *,
    k: int = 100,
    known: Sequence[Any] | Any = (),
    history: Any = None,
    times: Any = None,
    nodes: int | None = None,
    side: str = "tail",
    among: str = "all",
    types: Any = None,
    directed: bool = True,
    loops: bool = False,
    ratio: float = 0.5,
    common: str = COMMON[0],
    combine: str = COMBINED[0],
    seed: int = 0,
) -> Negatives:
    """Draw negatives for every edge: distinct for each, and never a known positive.

    Parameters
    ----------
    edges
        The edges to rank, pairs (n, 2), or triples (n, 3) of head, relation and tail, numbered from 0.
    sampler
        `uniform`; `degree`, as frequent in the history as the right answer; `historical`, in part nodes that the fixed
        node had an edge with before (TGB); `inductive`, in part nodes that it meets in `edges` only (Poursafaei et
        al. 2022); `heart`, the nodes nearest to the fixed node in the graph of the history (HeaRT).
    k
        Negatives per edge. If fewer are possible, a query gets all of them, and `mask` says so.
    known
        Other edges that are true, one array or several, such as the splits for training and validation. The edges
        themselves are known, too.
    history
        The edges before or around those to rank, such as the training split: for all samplers except `uniform`.
    times
        For events: the time of each edge. An edge is then known to be true only at its own time.
    nodes
        The number of nodes; by default the largest number that occurs, plus one.
    side
        Which end is replaced: `tail`, `head`, or `both`, half of the negatives each.
    among
        The candidates: `all` nodes, the `range` of nodes seen at this end of the same relation (the sides of a
        bipartite graph, for pairs), or those of the same `type` as the right answer.
    types
        With `among="type"`: the type of each node (nodes,).
    directed
        False: a known edge excludes its reverse, too.
    loops
        True: an edge from a node to itself can be a negative.
    ratio
        The largest share of `historical` or `inductive` negatives; the others are uniform.
    common, combine
        `heart`: how common neighbours are weighed, and whether the rank of a node is its best one (`min`) by common
        neighbours and PageRank, or their `mean`.
    seed
        Seed of the draws.

    Returns
    -------
    Negatives
        Node numbers (n, k) with a mask, the sampler and a digest that results name.

    Raises
    ------
    InputError
        If edges are not pairs or triples of numbers from 0.
    OptionError
        If a sampler needs a history or types that are not given.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> drawn = ranking.negatives([[0, 1], [1, 2]], k=2, nodes=5, seed=0)
    >>> drawn.nodes.shape, bool(drawn.mask.all())
    ((2, 2), True)
    """
    one_of("sampler", sampler, SAMPLERS)
    one_of("side", side, SIDES)
    one_of("among", among, AMONG)
    one_of("common", common, COMMON)
    one_of("combine", combine, COMBINED)
    k, seed = whole_number("k", k, 1), whole_number("seed", seed)
    if not isinstance(ratio, float | int) or not 0 <= ratio <= 1:
        raise OptionError(f"ratio must be between 0 and 1, not {ratio!r:.60}")
    _require_together(sampler, known, history, times, among, types)
    asked = _Asked.of(edges, known, history, times, nodes, among, types, directed, loops)
    rng = np.random.default_rng(seed)
    tails = {"tail": k, "head": 0, "both": k - k // 2}[side]
    found = np.empty((len(asked), k), np.int64)
    mask = np.zeros((len(asked), k), bool)
    widened = 0
    for end, columns in (("tail", slice(0, tails)), ("head", slice(tails, k))):
        if columns.stop > columns.start:
            drawing = _Drawing(asked if end == "tail" else asked.reversed, columns.stop - columns.start)
            filled = drawing.draw(sampler, rng, ratio=ratio, common=common, combine=combine)
            found[:, columns], mask[:, columns] = drawing.out, np.arange(drawing.k) < filled[:, None]
            widened += drawing.widened
    record = {"sampler": sampler, "k": k, "side": side, "among": among, "seed": seed}
    if sampler in _TEMPORAL:
        record["ratio"] = float(ratio)
    if sampler == "heart":
        record |= {"common": common, "combine": combine}
    if widened:
        record["from other degrees"] = widened
    return Negatives(asked.given, found, mask, k - tails, record)


def _require_together(sampler: str, known: Any, history: Any, times: Any, among: str, types: Any) -> None:
    if sampler in _WITH_HISTORY and history is None:
        raise OptionError(f"{sampler} negatives need history", fix="Pass the edges for training as history=.")
    if sampler in _TEMPORAL and times is None:
        raise OptionError(
            f"{sampler} negatives need times",
            fix="They were true at another time; without times= they would be known positives.",
        )
    if times is not None and len(known):
        raise OptionError(
            "known edges do not go with times", fix="An event excludes only those at its own time, from edges."
        )
    if (among == "type") != (types is not None):
        raise OptionError('types and among="type" go together', fix="Give both, or neither.")


@dataclass(frozen=True)
class _Asked:
    """The edges, with what is known about them; the end that is replaced is the tail."""

    given: Ints
    edges: Edges
    moment: Ints
    known: Edges
    known_moment: Ints
    history: Edges
    nodes: int
    among: str
    types: Ints | None
    loops: bool

    @classmethod
    def of(
        cls,
        edges: Any,
        known: Any,
        history: Any,
        times: Any,
        nodes: int | None,
        among: str,
        types: Any,
        directed: bool,
        loops: bool,
    ) -> _Asked:
        others = _several(known)
        named = {"edges": edges, **{f"known[{index}]": each for index, each in enumerate(others)}, "history": history}
        read = dict(zip([name for name, each in named.items() if each is not None], Edges.all_of(**named), strict=True))
        asked = read["edges"]
        past = read.get("history", asked.take(slice(0, 0)))
        truth = Edges.joined([part for name, part in read.items() if name != "history"])
        moment, truth_moment = np.zeros(len(asked), np.int64), np.zeros(len(truth), np.int64)
        if times is not None:
            values = as_numeric(times, "times")
            require_shape(values, (len(asked),), "times", "One time per edge.")
            moment = truth_moment = np.unique(values, return_inverse=True)[1].reshape(-1)
        if not directed:
            truth, truth_moment = Edges.joined([truth, truth.reversed]), np.concatenate([truth_moment, truth_moment])
            past = Edges.joined([past, past.reversed])
        largest = max(int(ids.max(initial=-1)) for part in read.values() for ids in (part.head, part.tail))
        total = largest + 1 if nodes is None else whole_number("nodes", nodes, 1)
        if largest >= total:
            raise InputError(f"the node {largest} occurs, and there are {total}", where="nodes")
        kinds = None
        if types is not None:
            labels = as_labels(types, "types")
            require_shape(labels, (total,), "types", "One type per node.")
            kinds = np.unique(labels, return_inverse=True)[1].reshape(-1)
        given = as_numeric(edges, "edges").astype(np.int64)
        return cls(given, asked, moment, truth, truth_moment, past, total, among, kinds, loops)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def reversed(self) -> _Asked:
        return _Asked(
            self.given,
            self.edges.reversed,
            self.moment,
            self.known.reversed,
            self.known_moment,
            self.history.reversed,
            self.nodes,
            self.among,
            self.types,
            self.loops,
        )


def _several(known: Any) -> list[Any]:
    """One array of edges, or several."""
    if isinstance(known, list | tuple):
        return list(known) if not known or np.ndim(known[0]) == 2 else [known]
    return [known]


class _Drawing:
    """Negatives for one end of all edges."""

    def __init__(self, asked: _Asked, k: int) -> None:
        self.asked, self.k = asked, k
        edges, known, past = asked.edges, asked.known, asked.history
        self.out = np.repeat(edges.tail[:, None], k, axis=1)
        self.filled = np.zeros(len(edges), np.int64)
        self.widened = 0
        # A query's positives share its head, relation and time; its history only head and relation.
        split = np.cumsum([len(edges), len(known)])
        joined = Edges.joined([edges, known, past])
        fixed = dense(joined.head, joined.relation)
        moment = np.concatenate([asked.moment, asked.known_moment])
        context = dense(fixed[: split[1]], moment)
        self.fixed, self.known_fixed, past_fixed = np.split(fixed, split)
        here, there = np.split(context, [split[0]])
        lists = int(context.max(initial=-1)) + 1
        self.positives = Lists.of(there, known.tail, lists), here
        self.past = Lists.of(past_fixed, past.tail, int(fixed.max(initial=-1)) + 1), self.fixed
        self.itself = Lists(np.arange(asked.nodes), np.arange(asked.nodes + 1)), edges.head
        self.never = [self.positives] if asked.loops else [self.positives, self.itself]

    def draw(self, sampler: str, rng: np.random.Generator, *, ratio: float, common: str, combine: str) -> Ints:
        """Fill the rows of `out`; returns how many negatives each has."""
        wanted = np.full(len(self.out), self.k)
        excluded = self.never
        if sampler == "historical":
            excluded = self._some(self.past, int(self.k * ratio), rng)
        elif sampler == "inductive":
            excluded = self._some(self._newly_met(), int(self.k * ratio), rng)
        elif sampler == "heart":
            excluded = self._nearest(common, combine, rng)
        levels = _levels(self.asked) if sampler == "degree" else None
        pools, pool = self._pools(levels)
        level = None if levels is None else levels[self.asked.edges.tail]
        draws = Draws(pools, pool, excluded, level)
        self.widened = draws.into(self.out, self.filled, wanted - self.filled, rng)
        return self.filled

    def _pools(self, levels: Ints | None = None) -> tuple[Pools, Ints]:
        """The candidates, and the pool of each query."""
        asked = self.asked
        everyone = np.arange(asked.nodes)
        if asked.among == "all":
            return Pools.of(np.zeros(asked.nodes, np.int64), everyone, asked.nodes, levels), np.zeros(len(asked), int)
        if asked.types is not None:
            return Pools.of(asked.types, everyone, asked.nodes, levels), asked.types[asked.edges.tail]
        seen = Edges.joined([asked.known, asked.history])
        return Pools.of(seen.relation, seen.tail, asked.nodes, levels), asked.edges.relation

    def _newly_met(self) -> tuple[Lists, Ints]:
        """The nodes that each fixed node has an edge with among those to rank, but not in the history."""
        known = self.asked.known
        new = ~known.among(self.asked.history)
        return Lists.of(self.known_fixed[new], known.tail[new], len(self.past[0].offsets) - 1), self.fixed

    def _some(self, source: tuple[Lists, Ints], count: int, rng: np.random.Generator) -> list[tuple[Lists, Ints]]:
        """Draw up to `count` negatives from lists; the others must not be from there."""
        lists, number = source
        allowed, pool = self._pools()
        owner = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
        pools = Pools.of(owner, lists.values, self.asked.nodes)
        if self.asked.among != "all":
            lists, number = self._within(lists, number, allowed, pool)
            owner = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
            pools = Pools.of(owner, lists.values, self.asked.nodes)
        Draws(pools, number, self.never).into(self.out, self.filled, np.full(len(self.out), count), rng)
        return [*self.never, source]

    @staticmethod
    def _within(lists: Lists, number: Ints, allowed: Pools, pool: Ints) -> tuple[Lists, Ints]:
        """The lists of queries, restricted to the candidates of their pools."""
        both = dense(number, pool)
        first = np.unique(both, return_index=True)[1]
        node, place = lists.expanded(number[first])
        kept = allowed.places(pool[first][place], node)[1]
        return Lists.of(place[kept], node[kept], len(first)), both

    def _nearest(self, common: str, combine: str, rng: np.random.Generator) -> list[tuple[Lists, Ints]]:
        """Fill rows with the candidates that rank first; those with no score are left for the others."""
        asked = self.asked
        pools, pool = self._pools()
        combined = dense(self.positives[1], pool)
        first = np.unique(combined, return_index=True)[1]
        graph = adjacency(asked.history, asked.nodes)
        sources, source = np.unique(asked.edges.head[first], return_inverse=True)
        by_source = np.argsort(source, kind="stable")
        starts = np.searchsorted(source[by_source], np.arange(len(sources) + 1))
        best = np.zeros((len(first), self.k), np.int64)
        count = np.zeros(len(first), np.int64)
        near: list[tuple[Ints, Ints]] = []
        for block, place, node, shared, walk in scored(graph, sources, common):
            # Each combination of the fixed node with other known positives or another pool ranks for itself.
            members = by_source[starts[block.start] : starts[block.stop]]
            rows = Lists(np.arange(len(place)), np.searchsorted(place, np.arange(block.start, block.stop + 1)))
            row, owner = rows.expanded(source[members] - block.start)
            free = pools.places(pool[first[members[owner]]], node[row])[1]
            free &= ~self._is_excluded(first[members], owner, node[row])
            row, owner = row[free], owner[free]
            rank = combined_ranks(owner, [shared[row], walk[row]], combine)
            order = np.lexsort((rng.random(len(row)), rank, owner))
            begins = np.searchsorted(owner, np.arange(len(members)))
            column = np.arange(len(order)) - begins[owner]
            kept = column < self.k
            best[members[owner[kept]], column[kept]] = node[row[order]][kept]
            count[members] = np.minimum(np.bincount(owner, minlength=len(members)), self.k)
            near.append((members[owner], node[row]))
        append(self.out, self.filled, best[combined], count[combined])
        nothing = np.empty(0, np.int64)
        owners, nodes = (np.concatenate([nothing, *(part[side] for part in near)]) for side in (0, 1))
        return [*self.never, (Lists.of(owners, nodes, len(first)), combined)]

    def _is_excluded(self, queries: Ints, owner: Ints, node: Ints) -> Mask:
        """Which nodes are excluded for the queries that own them."""
        found = np.zeros(len(node), bool)
        for lists, number in self.never:
            values, place = lists.expanded(number[queries])
            keys = place * self.asked.nodes + values  # sorted, as places and the values of each are
            mine = owner * self.asked.nodes + node
            if len(keys):
                found |= keys[np.minimum(np.searchsorted(keys, mine), len(keys) - 1)] == mine
        return found


def _levels(asked: _Asked) -> Ints:
    """The length of each node's degree in binary digits: nodes on one level differ at most by a factor of two."""
    degree = np.bincount(np.concatenate([asked.history.head, asked.history.tail]), minlength=asked.nodes)
    levels: Ints = np.frexp(degree.astype(float))[1].astype(np.int64)
    return levels


def drawn_mask(negatives: Any, neg_scores: Any) -> Mask | None:
    """The mask of negatives whose scores are evaluated; None if every query has all of them."""
    if not isinstance(negatives, Negatives):
        raise InputError(
            f"expected drawn negatives, found {type(negatives).__name__}",
            where="negatives",
            fix="Pass what ranking.negatives() returned.",
        )
    shape = tuple(np.shape(neg_scores))
    if shape != negatives.nodes.shape:
        raise InputError(
            f"the scores have the shape {shape}, and negatives of the shape {negatives.nodes.shape} were drawn",
            where="neg_scores",
            fix="Score every negative of every edge, in their order.",
        )
    return negatives.mask if negatives.short else None
