"""Runs that can be replayed: the graph at the start, the births in order, and what chance would have added instead.

Chance growth keeps what the system did not choose, or chose otherwise: `withheld` adds nothing, `shuffled` keeps every
source and every target and changes only who is connected to whom, `redrawn` keeps every source and draws its target
anew. Growth whose targets are random is exchangeable with these, so a test against them is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.evolution.births import Births
from graphgauge.evolution.inputs import Flags, as_edges, types_by_row, whole_numbers
from graphgauge.evolution.ledger import DEATH, START, Codes, Ledger
from graphgauge.evolution.log import Cycle, named_run

NEVER = np.iinfo(np.int64).max
# Swaps tried per birth, from the observed births to a common state and from there to each draw.
_SWAPS = 10
# Draws of one target before the free ones are listed.
_REDRAWS = 20


@dataclass(frozen=True)
class GrownGraph:
    """A graph and how it grew: the argument of `embed`. A node's number is its row in the embeddings.

    `history` are all edges that ever existed, `born` and `gone` the cycles in which they appeared and disappeared
    (−1: at the start; `NEVER`). `relations` numbers their relations, if there are several. `arrived` is the cycle of
    each node, −1 at the start; `ids` are the names of the nodes in a ledger. Withheld births leave their nodes without
    edges.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import evolution
    >>> history, never = np.array([[0, 1], [1, 2], [2, 3]]), np.array([9, 9, 9])
    >>> graph = evolution.GrownGraph(history, np.array([-1, 0, 1]), never, np.full(4, -1), cycles=2)
    >>> graph.at(0).tolist(), graph.born_in(1).tolist()
    ([[0, 1], [1, 2]], [[2, 3]])
    """

    history: Ints
    born: Ints
    gone: Ints
    arrived: Ints
    cycles: int
    embeddings: Floats | None = None
    condition: str = "run"
    seed: int = 0
    relations: Ints | None = None
    ids: Sequence[Hashable] | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.arrived)

    @cached_property
    def edges(self) -> Ints:
        """The edges at the end, each once."""
        return self.at(self.cycles)

    def at(self, cycle: int) -> Ints:
        """The edges after a cycle; −1: before the first.

        Parameters
        ----------
        cycle
            The number of a cycle.

        Returns
        -------
        Ints
            Edges (E, 2).
        """
        alive: Ints = self.history[(self.born <= cycle) & (self.gone > cycle)]
        return alive

    def born_in(self, cycle: int) -> Ints:
        """The edges that were born in a cycle.

        Parameters
        ----------
        cycle
            The number of a cycle.

        Returns
        -------
        Ints
            Edges (E, 2).
        """
        births: Ints = self.history[self.born == cycle]
        return births

    def adjacency(self) -> Any:
        """The symmetric adjacency matrix at the end, as a SciPy array.

        Returns
        -------
        Any
            A `scipy.sparse` array (N, N) of 0 and 1.
        """
        import scipy.sparse as sp

        edges, size = self.edges, (self.num_nodes, self.num_nodes)
        half = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=size).tocsr()
        both = half + half.T
        both.data[:] = 1.0  # several relations of two nodes count once
        return both


@dataclass(frozen=True)
class GrowthRun:
    """One run: the start, and the births in order, each from its source to its target.

    `fixed` births are the same in every replay of chance, `moved` edges in every replay, also without births: they are
    no growth, but follow from merged nodes. `pools` has one array per cycle. `present` has one row per cycle, with the
    nodes that are there after it; None if no node ever leaves. An edge goes with its nodes, in every replay; `gone` is
    the cycle in which a birth was removed while both of its nodes stayed. `renewed` has, by cycle, nodes that died and
    were born again within it: they are there, without the edges that they had.
    """

    condition: str
    seed: int
    start: Ints
    start_gone: Ints
    births: Ints
    born: Ints
    gone: Ints
    arrived: Ints
    cycles: int
    fixed: Flags
    moved: Flags
    embeddings: Floats | None = None
    pools: Sequence[Ints | None] = ()
    types: Ints | None = None
    start_relations: Ints | None = None
    relations: Ints | None = None
    directed: bool = False
    notes: tuple[str, ...] = ()
    ids: Sequence[Hashable] | None = None
    present: Flags | None = None
    renewed: Mapping[int, Ints] = field(default_factory=dict)

    @property
    def num_nodes(self) -> int:
        return len(self.arrived)

    @property
    def remaining(self) -> Flags:
        """The nodes that are there at the end."""
        return np.ones(self.num_nodes, bool) if self.present is None else self.present[-1]

    @property
    def growth(self) -> Ints:
        """The births without edges that merges moved."""
        births: Ints = self.births[~self.moved]
        return births

    def graph(self, births: Ints | None = None) -> GrownGraph:
        """The graph with these births in place of its own."""
        return self._graph(self.births if births is None else births, np.ones(len(self.births), bool))

    def withheld(self) -> GrownGraph:
        """Nothing was added; what was removed from the start is removed all the same."""
        return self._graph(self.births, self.moved)

    def _graph(self, births: Ints, kept: Flags) -> GrownGraph:
        relations = None
        if self.relations is not None and self.start_relations is not None:
            relations = np.concatenate([self.start_relations, self.relations[kept]])
        return GrownGraph(
            np.concatenate([self.start, births[kept]]),
            np.concatenate([np.full(len(self.start), -1), self.born[kept]]),
            np.concatenate([self.start_gone, self._ended(births)[kept]]),
            self.arrived,
            self.cycles,
            self.embeddings,
            self.condition,
            self.seed,
            relations,
            self.ids,
        )

    def _ended(self, births: Ints) -> Ints:
        """The cycle in which each birth disappears: it was removed, or one of its nodes left."""
        if self.present is None or not len(births):
            return self.gone
        left = self._leaves[self.born[:, None], births].min(axis=1)
        return np.asarray(np.minimum(self.gone, left))

    @cached_property
    def _leaves(self) -> Ints:
        """For each cycle and node, the first cycle from there on after which what the node had then is gone."""
        assert self.present is not None
        found = np.full(self.present.shape, NEVER)
        following = found[-1].copy()
        for cycle in reversed(range(len(found))):
            found[cycle] = np.where(self.present[cycle], following, cycle)
            following = found[cycle].copy()
            following[self.renewed.get(cycle, [])] = cycle  # for births of earlier cycles
        return found

    def _is_there(self, node: int, cycle: int) -> bool:
        return self.present is None or bool(self.present[cycle, node])

    # ---- shuffled ends

    def shuffled(self, draws: int, rng: np.random.Generator) -> list[Ints]:
        """Births with their targets exchanged at random, `draws` times.

        A chain of exchanges leads from the observed births to a common state, and from there to each draw. Exchanges
        are symmetric, so that observed and drawn births are exchangeable if all permitted pairings are equally likely,
        after any number of steps (Besag and Clifford, 1989).
        """
        births = self.births if self.directed else self._towards_hubs(rng)
        middle = self._exchanged(births, rng)
        return [self._exchanged(middle, rng) for _ in range(draws)]

    def _towards_hubs(self, rng: np.random.Generator) -> Ints:
        """Without direction, the node with more births is the target, so that hubs stay hubs; ties by a coin."""

        def is_turned(s: int, t: int, when: int) -> bool:
            return not self._is_upward(s, t, when) or (self._is_upward(t, s, when) and rng.random() < 0.5)

        rows = zip(self.births.tolist(), self.born.tolist(), strict=True)
        turned = np.array([is_turned(s, t, when) for (s, t), when in rows], bool) & ~self.fixed
        return np.where(turned[:, None], self.births[:, ::-1], self.births)

    def _is_upward(self, source: int, target: int, when: int) -> bool:
        """Whether a birth without direction may be read as from source to target: from the new node, if one is."""
        arrived, loads = self._arrived, self._loads
        new = arrived[source] == when
        return new if new != (arrived[target] == when) else loads[source] <= loads[target]

    @cached_property
    def _arrived(self) -> list[int]:
        arrived: list[int] = self.arrived.tolist()
        return arrived

    @cached_property
    def _loads(self) -> list[int]:
        """The number of births of each node, which no exchange changes."""
        loads: list[int] = np.bincount(self.births.ravel(), minlength=self.num_nodes).tolist()
        return loads

    def _exchanged(self, births: Ints, rng: np.random.Generator) -> Ints:
        free = np.flatnonzero(~self.fixed)
        if len(free) < 2:
            return births.copy()
        targets, sources = births[:, 1].tolist(), births[:, 0].tolist()
        born, arrived, kinds, types = self.born.tolist(), self.arrived.tolist(), self._kinds, self._types.tolist()
        taken, standing, code = self._taken(births), self._standing, self._code
        for one, other in free[rng.integers(0, len(free), (_SWAPS * len(free), 2))].tolist():
            a, b, s, t = targets[one], targets[other], sources[one], sources[other]
            if a == b or s in (t, b) or t == a or types[a] != types[b] or kinds[one] != kinds[other]:
                continue
            # Both must have existed by then, and only new nodes stand in for new nodes.
            if arrived[b] > born[one] or (arrived[b] == born[one]) != (arrived[a] == born[one]):
                continue
            if arrived[a] > born[other] or (arrived[a] == born[other]) != (arrived[b] == born[other]):
                continue
            if not (self._is_there(b, born[one]) and self._is_there(a, born[other])):
                continue
            first, second = code(s, b, kinds[one]), code(t, a, kinds[other])
            if first in taken or second in taken:
                continue
            if standing.get(first, -1) >= born[one] or standing.get(second, -1) >= born[other]:
                continue
            if not self.directed and not self._keeps_reading(s, a, born[one], t, b, born[other], rng):
                continue
            taken -= {code(s, a, kinds[one]), code(t, b, kinds[other])}
            taken |= {first, second}
            targets[one], targets[other] = b, a
        return np.stack([births[:, 0], np.array(targets, np.int64)], axis=1)

    def _keeps_reading(self, s: int, a: int, one: int, t: int, b: int, other: int, rng: np.random.Generator) -> bool:
        """Whether births s–a and t–b may become s–b and t–a, read in the same way.

        Births that can be read both ways were read by a coin. An exchange that makes more of them is accepted half as
        often for each (Metropolis), so that every pairing stays equally likely.
        """
        if not (self._is_upward(s, b, one) and self._is_upward(t, a, other)):
            return False
        ties = self._is_upward(b, s, one) + self._is_upward(a, t, other)
        ties -= self._is_upward(a, s, one) + self._is_upward(b, t, other)
        return bool(ties <= 0 or rng.random() < 0.5**ties)

    # ---- redrawn targets

    def redrawn(self, draws: int, rng: np.random.Generator) -> list[Ints]:
        """Births with every target drawn anew from the nodes that could have been chosen in its place, in order."""
        candidates = [self._candidates(row) for row in range(len(self.births))]
        return [self._redraw(candidates, rng) for _ in range(draws)]

    def _redraw(self, candidates: list[Ints], rng: np.random.Generator) -> Ints:
        standing, kinds, code = self._standing, self._kinds, self._code
        births = self.births.copy()
        taken = {
            code(int(births[row, 0]), int(births[row, 1]), kinds[row]) for row in np.flatnonzero(self.fixed).tolist()
        }
        sources, born, fixed = births[:, 0].tolist(), self.born.tolist(), self.fixed.tolist()
        for row, pool in enumerate(candidates):
            if fixed[row]:
                continue
            s, kind, when = sources[row], kinds[row], born[row]

            def free(nodes: Ints, s: int = s, kind: int = kind, when: int = when) -> Iterator[int]:
                for node in nodes.tolist():
                    edge = code(s, node, kind)
                    if node != s and edge not in taken and standing.get(edge, -1) < when:
                        yield node

            drawn = next(free(pool[rng.integers(0, len(pool), _REDRAWS)]), None)
            if drawn is None:
                left = list(free(pool))
                drawn = left[rng.integers(len(left))] if left else int(births[row, 1])
            taken.add(code(s, drawn, kind))
            births[row, 1] = drawn
        return births

    def _candidates(self, row: int) -> Ints:
        target, cycle = int(self.births[row, 1]), int(self.born[row])
        given = self.pools[cycle] if cycle < len(self.pools) else None
        pool = -1 if given is None or target >= len(given) else int(given[target])
        key = (cycle, bool(self.arrived[target] == cycle), int(self._types[target]), pool)
        if key not in self._known:
            self._known[key] = self._alike(*key)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, bool, int, int], Ints]:
        return {}

    def _alike(self, cycle: int, is_new: bool, kind: int, pool: int) -> Ints:
        """The nodes of a cycle that are as new, of the same type and of the same pool."""
        there = (self.arrived == cycle if is_new else self.arrived < cycle) & (self._types == kind)
        if self.present is not None:
            there &= self.present[cycle]
        given = self.pools[cycle] if pool >= 0 else None
        if given is not None:
            there[: len(given)] &= given == pool
            there[len(given) :] = False
        return np.flatnonzero(there)

    # ---- parts

    @cached_property
    def _types(self) -> Ints:
        return np.zeros(self.num_nodes, np.int64) if self.types is None else self.types

    @cached_property
    def _kinds(self) -> list[int]:
        return [0] * len(self.births) if self.relations is None else self.relations.tolist()

    def _code(self, source: int, target: int, relation: int = 0) -> int:
        if not self.directed and source > target:
            source, target = target, source
        nodes = self._size
        return (relation * nodes + source) * nodes + target

    @cached_property
    def _size(self) -> int:
        return len(self.arrived)

    def _taken(self, births: Ints) -> set[int]:
        return {self._code(s, t, kind) for (s, t), kind in zip(births.tolist(), self._kinds, strict=True)}

    @cached_property
    def _standing(self) -> dict[int, int]:
        """The edges of the start, and the cycle in which they disappear."""
        kinds = np.zeros(len(self.start), np.int64) if self.start_relations is None else self.start_relations
        rows = zip(self.start.tolist(), kinds.tolist(), self.start_gone.tolist(), strict=True)
        return {self._code(s, t, kind): gone for (s, t), kind, gone in rows}

    def shared(self, births: Ints) -> int:
        """How many births of a replay are those of the run."""
        return len(self._taken(births) & self._taken(self.births))


class _Book:
    """The history of a run while it is read: edges by code, with the cycles in which they appear and disappear."""

    def __init__(self, codes: Codes, start: Ints) -> None:
        self.codes, self.start = codes, start
        self.gone = [NEVER] * len(start)
        self.births: list[Ints] = []
        self.born: list[int] = []
        self.moved: list[bool] = []
        # Births that a merge moved later, and where they went to, are the same in all chance replays.
        self.kept: list[bool] = []
        self.ended: list[int] = []
        self._alive: dict[int, tuple[list[int], int]] = {
            code: (self.gone, row) for row, code in enumerate(codes.of(start).tolist())
        }

    def add(
        self,
        cycle: int,
        births: Ints,
        after: Ints,
        moved: int = 0,
        merges: Ints | None = None,
        stayed: Flags | None = None,
    ) -> None:
        """Births in order, the last `moved` of them by merges, and the codes of the graph after the cycle.

        What leaves with its nodes, which have not `stayed`, has no end of its own.
        """
        standing = set(after.tolist())
        of_births = self._merged(merges)
        gone = [code for code in self._alive if code not in standing]
        ends = self.codes.edges(np.array(gone, np.int64))
        for (first, second), code in zip(ends.tolist(), gone, strict=True):
            listed, row = self._alive.pop(code)
            if stayed is None or listed is self.gone or (stayed[first] and stayed[second]):
                listed[row] = cycle
        for row, code in enumerate(self.codes.of(births).tolist()):
            is_moved = row >= len(births) - moved
            if code in self._alive:  # a merge moved the edge, and it was born again in the same cycle
                listed, place = self._alive[code]
                listed[place] = cycle
            self._alive[code] = (self.ended, len(self.born))
            self.births.append(births[row])
            self.born.append(cycle)
            self.ended.append(NEVER)
            self.moved.append(is_moved and code not in of_births)
            self.kept.append(is_moved)

    def _merged(self, merges: Ints | None) -> set[int]:
        """Where merges move edges that are growth and nothing else; the births they come from are kept."""
        if merges is None or not len(merges):
            return set()
        alive = list(self._alive)
        ends = self.codes.edges(np.array(alive, np.int64), relations=True)
        old = ends.copy()
        for node, into in merges.tolist():
            ends[:, :2] = np.where(ends[:, :2] == node, into, ends[:, :2])
        images = self.codes.of(ends)
        of_births, of_others = set(), set()
        for place in np.flatnonzero((ends != old).any(axis=1)).tolist():
            listed, row = self._alive[alive[place]]
            if listed is self.gone or self.moved[row]:
                of_others.add(int(images[place]))
            else:
                self.kept[row] = True
                of_births.add(int(images[place]))
        return of_births - of_others

    def run(
        self,
        arrived: Ints,
        cycles: int,
        rng: np.random.Generator,
        *,
        condition: str = "run",
        seed: int = 0,
        embeddings: Any = None,
        pools: Sequence[Ints | None] = (),
        types: Ints | None = None,
        notes: Iterable[str] = (),
        ids: Sequence[Hashable] | None = None,
        present: Flags | None = None,
        renewed: Mapping[int, Ints] | None = None,
    ) -> GrowthRun:
        width = self.start.shape[1]
        births = np.array(self.births, np.int64).reshape(-1, width)
        born, moved, kept = np.array(self.born, np.int64), np.array(self.moved, bool), np.array(self.kept, bool)
        _, inverse, count = np.unique(self.codes.of(births), return_inverse=True, return_counts=True)
        again = count[inverse] > 1 if len(births) else np.zeros(0, bool)
        pairs = births[:, :2]
        if not self.codes.directed:
            pairs = _oriented(pairs, born, arrived, types, rng)
        counted = {
            "births of an edge that was born more than once, kept in all chance replays": again & ~moved,
            "edges moved by merges, kept in all replays": moved,
            "births moved by merges, kept in all chance replays": kept & ~moved & ~again,
        }
        said = [f"{what}: {np.count_nonzero(which)}" for what, which in counted.items() if which.any()]
        return GrowthRun(
            condition,
            seed,
            self.start[:, :2],
            np.array(self.gone, np.int64),
            pairs,
            born,
            np.array(self.ended, np.int64),
            arrived,
            cycles,
            again | kept,
            moved,
            None if embeddings is None else np.asarray(embeddings, float),
            pools,
            types,
            self.start[:, 2] if width > 2 else None,
            births[:, 2] if width > 2 else None,
            self.codes.directed,
            (*notes, *said),
            ids,
            present,
            renewed or {},
        )


def read_run(
    cycles: Iterable[Cycle], *, types: Any = None, directed: bool = False, undeclared: str = "refuse", seed: int = 0
) -> GrowthRun:
    """One run from its cycles, whose births are reconciled with the graphs before and after.

    Without direction, nobody knows which end chose the other: the source is drawn by a coin, so that nothing depends on
    the order of the ends. If only one end is new, that end is the source. With `undeclared="report"`, edges that were
    not declared are births too.
    """
    listed = list(_without_embeddings(cycles))
    if not listed:
        raise InputError("no cycle to replay", where="log", fix="Pass a folder, or a list of cycles.")
    first, size = listed[0], max(len(cycle.embeddings) for cycle in listed)
    codes = Codes(size, directed)
    typed = any(np.shape(part)[1:] == (3,) for cycle in listed for part in _graphs(cycle))
    sizes, pools, hidden, last = [_nodes_before(first)], [], 0, None
    last_edges: Ints | None = None
    book: _Book | None = None
    for number, cycle in enumerate(listed):
        _check_edges(cycle, size)
        with named_run(cycle.condition, cycle.seed, cycle.cycle):
            # Births are reconciled as in an evaluation.
            births = Births.of(
                cycle.new_edges,
                cycle.all_edges,
                cycle.previous_edges,
                size,
                last_edges=last_edges if cycle.previous_edges is None else None,
                removed_edges=cycle.removed_edges,
                undeclared=undeclared,
                directed=directed,
            )
            given = _without_loops(cycle.new_edges, "new_edges", size, typed)
            before, standing = births.before, births.after
            if last is not None and len(np.setxor1d(before, last)):
                raise InputError(
                    "the graph before is not the one after the last cycle",
                    fix="Store every cycle, with all edges that appear and disappear.",
                )
        own = codes.of(given)
        fresh = ~np.isin(own, before) & np.isin(own, standing)  # births that were removed in the same cycle are none
        _, places = np.unique(own, return_index=True)
        places = np.sort(places[fresh[places]])
        missing = np.setdiff1d(standing, np.concatenate([before, own]))
        hidden += len(missing)
        book = book or _Book(codes, codes.edges(before, relations=typed))
        added = np.concatenate([given[places], codes.edges(missing, relations=typed)])
        book.add(number, added, standing)
        where = f"{cycle.condition}, seed {cycle.seed}, cycle {cycle.cycle}: pools"
        pools.append(None if cycle.pools is None else whole_numbers(cycle.pools, where))
        sizes.append(len(cycle.embeddings))
        last, last_edges = standing, codes.edges(standing, relations=typed)
    assert book is not None
    arrived = np.repeat(np.arange(-1, len(listed)), np.diff([0, *np.maximum.accumulate(sizes)]))
    return book.run(
        arrived,
        len(listed),
        np.random.default_rng([seed, 7]),
        condition=first.condition,
        seed=first.seed,
        embeddings=first.previous_embeddings,
        pools=pools,
        types=None if types is None else _checked_types(types, size),
        notes=[f"undeclared edges, replayed as births: {hidden}"] if hidden else [],
    )


def run_of_ledger(ledger: Ledger, *, types: Any = None, undeclared: str = "refuse", seed: int = 0) -> GrowthRun:
    """One run from a ledger; a node's row is its place in `ledger.ids`.

    Targets are exchanged and redrawn within relations and types of nodes.
    """
    book: _Book | None = None
    arrived, cycles = np.full(ledger.nodes, NEVER), 0
    present: list[Flags] = []
    dead, renewed = _declared_dead(ledger), {}
    for change in ledger.changes(undeclared=undeclared):
        if book is None:
            book = _Book(change.codes, change.edges_before)
            there = change.present.copy()
            there[change.born_nodes] = False
            arrived[there] = -1
            arrived[change.dead_nodes] = -1
            arrived[book.start[:, :2].ravel()] = -1
        new = change.born_nodes[arrived[change.born_nodes] == NEVER]
        arrived[new] = cycles
        declared = change.codes.of(change.births)
        moved = np.setdiff1d(change.after, np.concatenate([change.before, declared]))
        extra = change.codes.edges(moved, relations=change.relations)
        born = np.concatenate([change.births, extra])
        ends = born[:, :2].ravel()
        arrived[ends[arrived[ends] == NEVER]] = cycles
        stayed = change.present.copy()
        if change.cycle in dead:
            renewed[cycles] = dead[change.cycle][change.present[dead[change.cycle]]]
            stayed[renewed[cycles]] = False
        book.add(cycles, born, change.after, moved=len(moved), merges=change.merges, stayed=stayed)
        present.append(change.present)
        cycles += 1
    if book is None:
        raise InputError("contains no cycle after the start", where="ledger", fix="Events of cycle 0 and later grow.")
    kinds = ledger.node_types if types is None else _checked_types(ledger.types_by_row(types), ledger.nodes)
    leaves = any((before & ~after).any() for before, after in pairwise(present))
    return book.run(
        arrived,
        cycles,
        np.random.default_rng([seed, 7]),
        types=kinds,
        seed=seed,
        ids=ledger.ids,
        present=np.array(present) if leaves or dead or (arrived[~present[0]] < 0).any() else None,
        renewed=renewed,
    )


def _declared_dead(ledger: Ledger) -> dict[int, Ints]:
    """The nodes that events of each cycle declare dead, whatever becomes of them later in the cycle."""
    found = {}
    for cycle, events in ledger.blocks():
        dead = (events.target < 0) & (events.action == DEATH)
        if cycle > START and dead.any():
            found[cycle] = np.unique(events.source[dead])
    return found


def _without_embeddings(cycles: Iterable[Cycle]) -> Iterator[Cycle]:
    """Only those of the start are kept, and the number of nodes; a log is read one cycle at a time."""
    for number, cycle in enumerate(cycles):
        rows = np.empty((len(cycle.embeddings), 0))
        yield replace(cycle, embeddings=rows, previous_embeddings=cycle.previous_embeddings if number == 0 else None)


def _nodes_before(cycle: Cycle) -> int:
    nodes = len(cycle.embeddings)
    if cycle.previous_embeddings is not None:
        return len(cycle.previous_embeddings)
    if cycle.previous_edges is None:
        return nodes
    return min(nodes, int(as_edges(cycle.previous_edges, "previous_edges").max(initial=-1)) + 1)


_GRAPHS = ("new_edges", "all_edges", "previous_edges", "removed_edges")


def _graphs(cycle: Cycle) -> Iterator[Any]:
    yield from (getattr(cycle, name) for name in _GRAPHS)


def _check_edges(cycle: Cycle, nodes: int) -> None:
    for name in _GRAPHS:
        try:
            as_edges(getattr(cycle, name), name, nodes, relations=True)
        except InputError as error:
            fix = f"This is in {cycle.condition}, seed {cycle.seed}, cycle {cycle.cycle}. {error.fix or ''}".rstrip()
            raise InputError(error.what, where=error.where, fix=fix) from None


def _without_loops(edges: Any, name: str, nodes: int, typed: bool) -> Ints:
    found = as_edges(edges, name, nodes, relations=True)
    kept: Ints = found[found[:, 0] != found[:, 1]]
    return np.pad(kept, ((0, 0), (0, 1))) if typed and kept.shape[1] == 2 else kept


def _oriented(births: Ints, born: Ints, arrived: Ints, types: Ints | None, rng: np.random.Generator) -> Ints:
    """Undirected births from a source to a target: a new end is the source, and otherwise a coin decides.

    Between two types, all sources are of the type that is listed first more often: such as users, who choose items.
    """
    listed, births = births, np.sort(births, axis=1)
    new = arrived[births] == born[:, None]
    turned = rng.random(len(births)) < 0.5
    if types is not None and len(births):
        first, second = types[listed].T
        pair = np.sort(types[listed], axis=1) @ [int(types.max()) + 1, 1]
        group = np.unique(pair, return_inverse=True)[1]
        upward = np.bincount(group, np.sign(second - first))[group] >= 0
        low, high = types[births].T
        turned = np.where(low == high, turned, (low < high) != upward)
    turned = np.where(new[:, 0] == new[:, 1], turned, new[:, 1])
    return np.where(turned[:, None], births[:, ::-1], births)


def _checked_types(types: Any, nodes: int) -> Ints:
    given = np.asarray(types_by_row(types, nodes))
    if given.ndim != 1 or len(given) != nodes:
        raise InputError(
            f"expected one type for each of the {nodes} nodes at the end, found shape {given.shape}", where="node_types"
        )
    return np.unique(given.astype(str), return_inverse=True)[1].astype(np.int64)
