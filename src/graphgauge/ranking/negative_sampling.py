"""Negatives to rank against: drawn once, without known positives, recorded, and the same for every method."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import Ints, Mask, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import number, whole_number
from graphgauge.core.random import Random
from graphgauge.ranking.candidates import Drawn, Draws, Pools, SetOf, adjacency, best_ranks, scored, sets_of
from graphgauge.ranking.sets import Edges, Sets, dense

SAMPLERS = ("uniform", "degree", "historical", "inductive", "heart")
AMONG = ("all", "range", "type")
SIDES = ("tail", "head", "both")
_TEMPORAL = ("historical", "inductive")
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

    def __len__(self) -> int:
        return len(self.edges)

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
        sampler, k, seed = (self.record[name] for name in ("sampler", "k", "seed"))
        return f"{sampler}, {k} per query, seed {seed}, {self.digest[:12]}"

    def save(self, path: str | Path) -> None:
        """Write an .npz file: `edges`, `nodes`, `mask`, and the record.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> drawn = ranking.negatives([[0, 1], [1, 2]], k=2, nodes=5)
        >>> drawn.save("negatives.npz")
        >>> ranking.Negatives.load("negatives.npz").digest == drawn.digest
        True
        """
        arrays = {"edges": self.edges, "nodes": self.nodes, "mask": self.mask}
        write_archive(path, _KIND, {"record": dict(self.record), "heads": self.heads}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Negatives:
        """Read negatives back; a file that was changed is refused."""
        facts, arrays = read_archive(path, _KIND)
        return cls(arrays["edges"], arrays["nodes"], arrays["mask"], int(facts["heads"]), dict(facts["record"]))


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
    ratio: float = 0.5,
    seed: int = 0,
) -> Negatives:
    """Draw negatives for every edge: distinct for each, never a known positive, and no edge from a node to itself.

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
    ratio
        The largest share of `historical` or `inductive` negatives; the others are uniform.
    seed
        Seed of the draws.

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
    k, seed = whole_number("k", k, 1), whole_number("seed", seed)
    number("ratio", ratio, 0, 1)
    _require_together(sampler, known, history, times, among, types)
    asked = _asked(edges, known, history, times, nodes, types, directed)
    random, tails = Random(seed), {"tail": k, "head": 0, "both": k - k // 2}[side]
    parts, marks = [], []
    for task, width in ((asked, tails), (asked.reversed, k - tails)):
        if width:
            drawn = _End(task, width, among, random).drawn(sampler, ratio)
            marks.append(np.arange(width) < drawn.count[:, None])
            parts.append(np.where(marks[-1], drawn.nodes, task.edges.tail[:, None]))
    record = {"sampler": sampler, "k": k, "side": side, "among": among, "seed": seed}
    record |= {"ratio": float(ratio)} if sampler in _TEMPORAL else {}
    numbers = as_numeric(edges, "edges").astype(np.int64)
    return Negatives(numbers, np.concatenate(parts, axis=1), np.concatenate(marks, axis=1), k - tails, record)


def scored_mask(drawn: Any, neg_scores: Any) -> Mask | None:
    """The mask of negatives whose scores are evaluated; None if every query has all of them."""
    if not isinstance(drawn, Negatives):
        what = f"expected drawn negatives, found {type(drawn).__name__}"
        raise InputError(what, where="negatives", fix="Pass what ranking.negatives() returned.")
    shape = tuple(np.shape(neg_scores))
    if shape != drawn.nodes.shape:
        what = f"the scores have the shape {shape}, and negatives of the shape {drawn.nodes.shape} were drawn"
        raise InputError(what, where="neg_scores", fix="Score every negative of every edge, in their order.")
    return drawn.mask if drawn.short else None


def _require_together(sampler: str, known: Any, history: Any, times: Any, among: str, types: Any) -> None:
    if sampler != "uniform" and history is None:
        raise OptionError(f"{sampler} negatives need history", fix="Pass the edges for training as history=.")
    if sampler in _TEMPORAL and times is None:
        fix = "They were true at another time; without times= they would be known positives."
        raise OptionError(f"{sampler} negatives need times", fix=fix)
    if times is not None and len(known):
        fix = "An event excludes only those at its own time, from edges."
        raise OptionError("known edges do not go with times", fix=fix)
    if among == "type" and types is None:
        raise OptionError('among="type" needs types', fix="Pass the type of each node as types=.")
    if among != "type" and types is not None:
        raise OptionError('types are used by among="type" only', fix='Say among="type", or leave types= out.')


@dataclass(frozen=True)
class _Asked:
    """The edges, whose tail is replaced, and what is known about them; `moment` numbers the times of events."""

    edges: Edges
    moment: Ints
    known: Edges
    known_moment: Ints
    history: Edges
    nodes: int
    types: Ints | None

    @property
    def reversed(self) -> _Asked:
        known, history = self.known.reversed, self.history.reversed
        return replace(self, edges=self.edges.reversed, known=known, history=history)


def _asked(edges: Any, known: Any, history: Any, times: Any, nodes: int | None, types: Any, directed: bool) -> _Asked:
    if edges is None:
        raise InputError("are missing", where="edges", fix="Pass the edges to rank, pairs or triples.")
    several = isinstance(known, list | tuple) and (not known or np.ndim(known[0]) == 2)
    others = {f"known[{index}]": each for index, each in enumerate(known if several else [known])}
    read = Edges.all_of(edges=edges, **others, history=history)
    ranked = read["edges"]
    past = read.get("history", ranked.take(slice(0, 0)))
    truth = Edges.joined([part for name, part in read.items() if name != "history"])
    moment, truth_moment = np.zeros(len(ranked), np.int64), np.zeros(len(truth), np.int64)
    if times is not None:
        values = as_numeric(times, "times")
        require_shape(values, (len(ranked),), "times", "One time per edge.")
        moment = truth_moment = np.unique(values, return_inverse=True)[1].reshape(-1)
    if not directed:
        truth, truth_moment = Edges.joined([truth, truth.reversed]), np.concatenate([truth_moment, truth_moment])
        past = Edges.joined([past, past.reversed])
    largest = max(part.nodes for part in read.values())
    total = largest if nodes is None else whole_number("nodes", nodes, 1)
    if largest > total:
        raise InputError(f"the node {largest - 1} occurs, and there are {total}", where="nodes")
    kinds = None
    if types is not None:
        labels = as_labels(types, "types")
        require_shape(labels, (total,), "types", "One type per node.")
        kinds = np.unique(labels, return_inverse=True)[1].reshape(-1)
    return _Asked(ranked, moment, truth, truth_moment, past, total, kinds)


class _End:
    """Negatives for one end of all edges."""

    def __init__(self, asked: _Asked, k: int, among: str, random: Random) -> None:
        self.asked, self.k, self.among, self.random = asked, k, among, random
        edges, known, past = asked.edges, asked.known, asked.history
        # A query's positives share its head, relation and time; its history only head and relation.
        split = np.cumsum([len(edges), len(known)])
        joined = Edges.joined([edges, known, past])
        fixed = dense(joined.head, joined.relation)
        here, there = np.split(dense(fixed[: split[1]], np.append(asked.moment, asked.known_moment)), [split[0]])
        self.fixed, self.known_fixed, past_fixed = np.split(fixed, split)
        contexts = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
        self.positives = SetOf(sets_of(there, known.tail, contexts), here)
        self.past = SetOf(sets_of(past_fixed, past.tail, int(fixed.max(initial=-1)) + 1), self.fixed)
        itself = SetOf(Sets(np.arange(asked.nodes), np.arange(asked.nodes + 1), asked.nodes), edges.head)
        self.never = [self.positives, itself]

    def drawn(self, sampler: str, ratio: float) -> Drawn:
        """Negatives of every query: first those that the sampler is about, then from all candidates but these."""
        first, own = Drawn(np.zeros((len(self.fixed), 0), np.int64), np.zeros(len(self.fixed), int)), None
        if sampler in _TEMPORAL:
            own = self.past if sampler == "historical" else self._newly_met()
            first = self._from(own, int(self.k * ratio))
        elif sampler == "heart":
            first, own = self._nearest()
        levels = _levels(self.asked) if sampler == "degree" else None
        pools, pool = self._pools(levels)
        level = None if levels is None else levels[self.asked.edges.tail]
        rest = Draws(pools, pool, [*self.never, *([] if own is None else [own])], level)
        both = first.then(rest.drawn(self.k - first.count, self.random))
        return replace(both, nodes=both.nodes[:, : self.k])

    def _pools(self, levels: Ints | None = None) -> tuple[Pools, Ints]:
        """The candidates, and the pool of each query."""
        asked = self.asked
        everyone = np.arange(asked.nodes)
        if self.among == "all":
            one = np.zeros(asked.nodes, np.int64)
            return Pools.of(one, everyone, asked.nodes, levels), np.zeros(len(asked.edges), np.int64)
        if asked.types is not None:
            return Pools.of(asked.types, everyone, asked.nodes, levels), asked.types[asked.edges.tail]
        seen = Edges.joined([asked.known, asked.history])
        return Pools.of(seen.relation, seen.tail, asked.nodes, levels), asked.edges.relation

    def _newly_met(self) -> SetOf:
        """The nodes that each fixed node has an edge with among those to rank, but not in the history."""
        known = self.asked.known
        new = ~known.among(self.asked.history)
        return SetOf(sets_of(self.known_fixed[new], known.tail[new], len(self.past.sets)), self.fixed)

    def _from(self, source: SetOf, count: int) -> Drawn:
        """Up to `count` negatives of each query from its set."""
        sets, number = source.sets, source.number
        if self.among != "all":
            allowed, pool = self._pools()
            both = dense(number, pool)
            first = np.unique(both, return_index=True)[1]
            own = sets.take(number[first])
            kept = allowed.places(pool[first][own.rows], own.values)[1]
            sets, number = sets_of(own.rows[kept], own.values[kept], len(first)), both
        pools = Pools.of(sets.rows, sets.values, self.asked.nodes)
        return Draws(pools, number, self.never).drawn(np.full(len(number), count), self.random)

    def _nearest(self) -> tuple[Drawn, SetOf]:
        """The candidates that rank first, and all that have a score, from which no others are drawn."""
        asked = self.asked
        pools, pool = self._pools()
        combined = dense(self.positives.number, pool)
        first = np.unique(combined, return_index=True)[1]
        sources, source = np.unique(asked.edges.head[first], return_inverse=True)
        by_source = np.argsort(source, kind="stable")
        starts = np.searchsorted(source[by_source], np.arange(len(sources) + 1))
        best, count = np.zeros((len(first), self.k), np.int64), np.zeros(len(first), np.int64)
        owners, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for block, place, node, shared, walk in scored(adjacency(asked.history, asked.nodes), sources):
            # Each combination of the fixed node with other known positives or another pool ranks for itself.
            members = by_source[starts[block.start] : starts[block.stop]]
            ends = np.searchsorted(place, np.arange(block.start, block.stop + 1))
            rows = Sets(np.arange(len(place)), ends, len(place)).take(source[members] - block.start)
            row, owner = rows.values, rows.rows
            free = pools.places(pool[first[members[owner]]], node[row])[1]
            for each in self.never:
                free &= ~each.contain(first[members], owner, node[row])
            row, owner = row[free], owner[free]
            rank = best_ranks(owner, [shared[row], walk[row]])
            order = np.lexsort((self.random.uniform(len(row)), rank, owner))
            column = np.arange(len(order)) - np.searchsorted(owner, np.arange(len(members)))[owner]
            kept = column < self.k
            best[members[owner[kept]], column[kept]] = node[row[order]][kept]
            count[members] = np.minimum(np.bincount(owner, minlength=len(members)), self.k)
            owners.append(members[owner])
            nodes.append(node[row])
        near = sets_of(np.concatenate(owners), np.concatenate(nodes), len(first))
        return Drawn(best[combined], count[combined]), SetOf(near, combined)


def _levels(asked: _Asked) -> Ints:
    """The length of each node's degree in binary digits: nodes on one level differ at most by a factor of two."""
    degree = np.bincount(np.append(asked.history.head, asked.history.tail), minlength=asked.nodes)
    levels: Ints = np.frexp(degree.astype(float))[1].astype(np.int64)
    return levels
