"""Runs that can be replayed: the graph at the start, the births in order, and what chance would have added instead.

Chance growth keeps what the system did not choose, or chose otherwise: `withheld` adds nothing, `shuffled` keeps every
source and every target and changes only who is connected to whom, `redrawn` keeps every source and draws its target
anew. Growth whose targets are random is exchangeable with these, so a test against them is exact. Deaths are taken as
given: a target is replaced only by nodes that are there as long, so that its edge ends with it in every replay.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.evolution.births import Births
from graphgauge.evolution.inputs import Flags, among, as_edges, whole_numbers
from graphgauge.evolution.ledger import DEATH, Codes, Ledger
from graphgauge.evolution.lives import NEVER, Fate, Lives, Register
from graphgauge.evolution.log import Cycle

# Swaps tried per birth, from the observed births to a common state and from there to each draw.
_SWAPS = 10
# Draws of one target before the free ones are listed.
_REDRAWS = 20


@dataclass(frozen=True)
class GrownGraph:
    """A graph and how it grew: the argument of `embed`. A node's number is its row in the embeddings.

    `history` are all edges that ever existed, `born` and `gone` the cycles in which they appeared and disappeared
    (−1: at the start; `NEVER`). `relations` numbers their relations, if there are several. `arrived` is the cycle of
    each node, −1 at the start, and `left` the one in which it leaves for good; `ids` are the names of the nodes in a
    ledger. Withheld births leave their nodes without edges.
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
    left: Ints | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.arrived)

    @cached_property
    def edges(self) -> Ints:
        """The edges at the end, each once."""
        return self.at(self.cycles)

    def at(self, cycle: int) -> Ints:
        """The edges after a cycle; −1: before the first."""
        alive: Ints = self.history[(self.born <= cycle) & (self.gone > cycle)]
        return alive

    def born_in(self, cycle: int) -> Ints:
        births: Ints = self.history[self.born == cycle]
        return births

    def adjacency(self) -> Any:
        """The symmetric adjacency matrix at the end, as a SciPy array."""
        import scipy.sparse as sp

        edges, size = self.edges, (self.num_nodes, self.num_nodes)
        half = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=size).tocsr()
        both = half + half.T
        both.data[:] = 1.0  # several relations of two nodes count once
        return both


@dataclass(frozen=True)
class GrowthRun:
    """One run: the start, and the births in order, each from its source to its target.

    `fixed` births are the same in every replay of chance. `moved` edges are no births, but follow from merged nodes:
    they are in every replay, also without births, unless they were `inherited` from births. `pools` has one array per
    cycle.
    """

    condition: str
    seed: int
    start: Ints
    start_gone: Ints
    births: Ints
    born: Ints
    gone: Ints
    lives: Lives
    cycles: int
    fixed: Flags
    moved: Flags
    inherited: Flags
    embeddings: Floats | None = None
    pools: Sequence[Ints | None] = ()
    types: Ints | None = None
    start_relations: Ints | None = None
    relations: Ints | None = None
    directed: bool = False
    notes: tuple[str, ...] = ()
    ids: Sequence[Hashable] | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.arrived)

    @property
    def arrived(self) -> Ints:
        return self.lives.arrived

    @property
    def lasting(self) -> Flags:
        """The nodes of the start that are there at the end."""
        return np.asarray((self.arrived < 0) & (self.lives.left == NEVER))

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
        return self._graph(self.births, self.moved & ~self.inherited)

    def _graph(self, births: Ints, kept: Flags) -> GrownGraph:
        relations = None
        if self.relations is not None and self.start_relations is not None:
            relations = np.concatenate([self.start_relations, self.relations[kept]])
        return GrownGraph(
            np.concatenate([self.start, births[kept]]),
            np.concatenate([np.full(len(self.start), -1), self.born[kept]]),
            np.concatenate([self.start_gone, self.gone[kept]]),
            self.arrived, self.cycles, self.embeddings, self.condition, self.seed, relations, self.ids, self.lives.left,
        )  # fmt: skip

    # ---- shuffled ends

    def shuffled(self, draws: int, rng: np.random.Generator) -> list[Ints]:
        """Births with their targets exchanged at random, `draws` times.

        A chain of exchanges leads from the observed births to a common state, and from there to each draw. Exchanges
        are symmetric, so that observed and drawn births are exchangeable if all permitted pairings are equally likely,
        after any number of steps (Besag and Clifford, 1989).
        """
        middle = self._exchanged(self.births, rng)
        return [self._exchanged(middle, rng) for _ in range(draws)]

    def _exchanged(self, births: Ints, rng: np.random.Generator) -> Ints:
        free = np.flatnonzero(~self.fixed)
        if len(free) < 2:
            return births.copy()
        targets, sources = births[:, 1].tolist(), births[:, 0].tolist()
        born, kinds, types, alike = self.born.tolist(), self._kinds, self._types.tolist(), self.lives.alike
        taken, standing, code = self._taken(births), self._standing, self._code
        for one, other in free[rng.integers(0, len(free), (_SWAPS * len(free), 2))].tolist():
            a, b, s, t = targets[one], targets[other], sources[one], sources[other]
            if a == b or s in (t, b) or t == a or types[a] != types[b] or kinds[one] != kinds[other]:
                continue
            if not alike(a, b, born[one]) or not alike(a, b, born[other]):
                continue
            first, second = code(s, b, kinds[one]), code(t, a, kinds[other])
            if first in taken or second in taken:
                continue
            if standing.get(first, -1) >= born[one] or standing.get(second, -1) >= born[other]:
                continue
            taken -= {code(s, a, kinds[one]), code(t, b, kinds[other])}
            taken |= {first, second}
            targets[one], targets[other] = b, a
        return np.stack([births[:, 0], np.array(targets, np.int64)], axis=1)

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
        fate = self.lives.fate(target, cycle)
        if fate is None:
            return self.births[row, 1:]
        key = (cycle, fate, int(self._types[target]), pool)
        if key not in self._known:
            self._known[key] = self._alike(*key)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, Fate, int, int], Ints]:
        return {}

    def _alike(self, cycle: int, fate: Fate, kind: int, pool: int) -> Ints:
        """The nodes of a cycle that are as new and stay as long, of the same type and of the same pool."""
        there = self.lives.with_fate(fate, cycle) & (self._types == kind)
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
        return (relation * self.num_nodes + source) * self.num_nodes + target

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
        self.inherited: list[bool] = []
        self.ended: list[int] = []
        self.merged: set[int] = set()
        self._alive: dict[int, tuple[list[int], int]] = {
            code: (self.gone, row) for row, code in enumerate(codes.of(start).tolist())
        }

    def add(
        self, cycle: int, births: Ints, after: Ints, *, moved: int = 0, merges: Mapping[int, int] | None = None
    ) -> None:
        """Births in order, the last `moved` of them by merges, and the codes of the graph after the cycle."""
        standing, given = set(after.tolist()), set()
        for code in [code for code in self._alive if code not in standing]:
            ends, row = self._alive.pop(code)
            ends[row] = cycle
            if merges:
                given |= self._passed_on(code, merges, ends is self.gone, row)
        for row, code in enumerate(self.codes.of(births).tolist()):
            own = row >= len(births) - moved
            self._alive[code] = (self.ended, len(self.born))
            self.births.append(births[row])
            self.born.append(cycle)
            self.ended.append(NEVER)
            self.moved.append(own)
            self.inherited.append(own and code not in given)

    def _passed_on(self, code: int, merges: Mapping[int, int], is_start: bool, row: int) -> set[int]:
        """The edge that a merge makes of one that is no growth; of a birth, only that its ends have merged is noted."""
        edge = self.codes.edges(np.array([code]), relations=self.start.shape[1] > 2)
        ends = [merges.get(node, node) for node in edge[0, :2].tolist()]
        if ends == edge[0, :2].tolist():
            return set()
        if not is_start and (not self.moved[row] or self.inherited[row]):
            self.merged.add(row)
            return set()
        edge[0, :2] = ends
        return set(self.codes.of(edge).tolist())

    def run(
        self, lives: Lives, cycles: int, rng: np.random.Generator, *, condition: str = "run", seed: int = 0,
        embeddings: Any = None, pools: Sequence[Ints | None] = (), types: Ints | None = None, notes: Iterable[str] = (),
        ids: Sequence[Hashable] | None = None,
    ) -> GrowthRun:  # fmt: skip
        width = self.start.shape[1]
        births = np.array(self.births, np.int64).reshape(-1, width)
        born, moved = np.array(self.born, np.int64), np.array(self.moved, bool)
        _, inverse, count = np.unique(self.codes.of(births), return_inverse=True, return_counts=True)
        again = count[inverse] > 1 if len(births) else np.zeros(0, bool)
        merged = np.isin(np.arange(len(births)), list(self.merged))
        pairs = births[:, :2]
        if not self.codes.directed:
            pairs = _oriented(pairs, born, lives, types, rng)
        counted = {
            "births of an edge that was born more than once, kept in all chance replays": again & ~moved,
            "births of nodes that merged later, kept in all chance replays": merged & ~again & ~moved,
            "edges moved by merges, kept in all replays": moved,
        }
        said = [f"{what}: {np.count_nonzero(which)}" for what, which in counted.items() if which.any()]
        several = width > 2 and bool(self.start[:, 2].any() or births[:, 2].any())
        return GrowthRun(
            condition, seed, self.start[:, :2], np.array(self.gone, np.int64), pairs, born,
            np.array(self.ended, np.int64), lives, cycles, again | moved | merged, moved,
            np.array(self.inherited, bool), None if embeddings is None else np.asarray(embeddings, float), pools, types,
            self.start[:, 2] if several else None, births[:, 2] if several else None, self.codes.directed,
            (*notes, *said), ids,
        )  # fmt: skip


def read_run(
    cycles: Iterable[Cycle], *, types: Any = None, directed: bool = False, undeclared: str = "refuse", seed: int = 0
) -> GrowthRun:
    """One run from its cycles, whose births are reconciled with the graphs before and after, as `evaluate` does.

    With `undeclared="report"`, edges that were not declared are births too.
    """
    listed = list(_without_embeddings(cycles))
    if not listed:
        raise InputError("no cycle to replay", where="log", fix="Pass a folder, or a list of cycles.")
    first, size = listed[0], max(len(cycle.embeddings) for cycle in listed)
    codes = Codes(size, directed)
    sizes, pools, last = [_nodes_before(first)], [], None
    counted = {"undeclared edges, replayed as births": 0, "births removed in the same cycle, left out": 0}
    book: _Book | None = None
    for number, cycle in enumerate(listed):
        with _named(cycle):
            births, order = _reconciled(cycle, codes, last, undeclared)
        if last is not None and len(np.setxor1d(births.before, last)):
            raise InputError("the graph before is not the one after the last cycle", where=_place(cycle),
                             fix="Store every cycle, with all edges that appear and disappear.")  # fmt: skip
        kept = among(codes.of(order), births.after)
        missing = births.after[~among(births.after, np.union1d(births.before, codes.of(order)))]
        counted["undeclared edges, replayed as births"] += len(missing)
        counted["births removed in the same cycle, left out"] += int(np.count_nonzero(~kept))
        book = book or _Book(codes, codes.edges(births.before, relations=True))
        book.add(number, np.concatenate([order[kept], codes.edges(missing, relations=True)]), births.after)
        pools.append(None if cycle.pools is None else whole_numbers(cycle.pools, f"{_place(cycle)}: pools"))
        sizes.append(len(cycle.embeddings))
        last = births.after
    assert book is not None
    arrived = np.repeat(np.arange(-1, len(listed)), np.diff([0, *np.maximum.accumulate(sizes)]))
    return book.run(
        Lives(arrived), len(listed), np.random.default_rng([seed, 7]), condition=first.condition, seed=first.seed,
        embeddings=first.previous_embeddings, pools=pools, types=None if types is None else _checked_types(types, size),
        notes=[f"{what}: {count}" for what, count in counted.items() if count],
    )  # fmt: skip


def _reconciled(cycle: Cycle, codes: Codes, last: Ints | None, undeclared: str) -> tuple[Births, Ints]:
    """The births of a cycle, checked like those that are scored, and their edges in the order in which they came."""
    if cycle.change is not None:
        raise InputError("is a cycle of a ledger", fix="Replay the ledger instead of its cycles.")
    parts = {
        name: _with_relations(as_edges(getattr(cycle, name), name, len(cycle.embeddings), relations=True))
        for name in ("new_edges", "all_edges", "previous_edges", "removed_edges")
        if getattr(cycle, name) is not None
    }
    births = Births.of(
        parts.get("new_edges"), parts.get("all_edges"), parts.get("previous_edges"), codes.nodes,
        last_edges=None if "previous_edges" in parts or last is None else codes.edges(last, relations=True),
        removed_edges=parts.get("removed_edges"), undeclared=undeclared, directed=codes.directed,
    )  # fmt: skip
    given = parts.get("new_edges", np.empty((0, 3), np.int64))
    given = given[given[:, 0] != given[:, 1]]
    own, places = np.unique(codes.of(given), return_index=True)
    return births, given[np.sort(places[~among(own, births.before)])]


def _with_relations(edges: Ints) -> Ints:
    return edges if edges.shape[1] > 2 else np.column_stack([edges, np.zeros(len(edges), np.int64)])


def run_of_ledger(ledger: Ledger, *, types: Any = None, undeclared: str = "refuse", seed: int = 0) -> GrowthRun:
    """One run from a ledger; a node's row is its place in `ledger.ids`.

    Targets are exchanged and redrawn within relations and types of nodes, and among nodes that live as long.
    """
    book: _Book | None = None
    register, cycles = Register(np.full(ledger.nodes, NEVER)), 0
    declared_dead = _declared_dead(ledger)
    for change in ledger.changes(undeclared=undeclared):
        if book is None:
            book = _Book(change.codes, change.edges_before)
            there = change.present.copy()
            there[change.born_nodes] = False
            there[change.dead_nodes] = True
            there[book.start[:, :2].ravel()] = True
            register.arrive(np.flatnonzero(there), -1)
        merges: dict[int, int] = {}
        for node, into in change.merges.tolist():
            merges = {own: into if last == node else last for own, last in merges.items()} | {node: into}
        # A node that died and was born again in one cycle has lost its edges, like one that stays away.
        renewed = declared_dead.get(change.cycle, np.empty(0, np.int64))
        renewed = renewed[change.present[renewed] & (register.arrived[renewed] < cycles)]
        register.leave(np.concatenate([change.dead_nodes, np.setdiff1d(renewed, change.born_nodes)]), cycles, merges)
        register.arrive(np.union1d(change.born_nodes, renewed), cycles)
        moved = np.setdiff1d(change.after, np.concatenate([change.before, change.codes.of(change.births)]))
        extra = change.codes.edges(moved, relations=change.relations)
        born = np.concatenate([change.births, extra])
        ends = np.unique(born[:, :2])
        register.arrive(ends[register.arrived[ends] == NEVER], cycles)
        book.add(cycles, born, change.after, moved=len(moved), merges=merges)
        cycles += 1
    if book is None:
        raise InputError("contains no cycle after the start", where="ledger", fix="Events of cycle 0 and later grow.")
    kinds = ledger.node_types if types is None else _checked_types(types, ledger.nodes)
    rng = np.random.default_rng([seed, 7])
    return book.run(register.lives(), cycles, rng, types=kinds, seed=seed, ids=ledger.ids)


def _declared_dead(ledger: Ledger) -> dict[int, Ints]:
    """The nodes that events of each cycle declare dead, whatever becomes of them later in the cycle."""
    found = {}
    for cycle, events in ledger.blocks():
        dead = (events.target < 0) & (events.action == DEATH)
        if dead.any():
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


def _place(cycle: Cycle) -> str:
    return f"{cycle.condition}, seed {cycle.seed}, cycle {cycle.cycle}"


@contextmanager
def _named(cycle: Cycle) -> Iterator[None]:
    """Errors within name the run and the cycle."""
    try:
        yield
    except InputError as error:
        where = _place(cycle) if error.where is None else f"{_place(cycle)}: {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def _oriented(births: Ints, born: Ints, lives: Lives, types: Ints | None, rng: np.random.Generator) -> Ints:
    """Undirected births from a source to a target, whichever of them is listed first.

    If only one end is new, it is the source. Between two types, the type that is more often first has all the sources.
    Otherwise the ends have equal roles, and a coin decides: the order in which they are listed may be that of their
    numbers, which says something about them but nothing about who chose whom.
    """
    low, high = births.min(axis=1), births.max(axis=1)
    turned = rng.random(len(births)) < 0.5
    if types is not None:
        first, second = types[births].T
        apart = first != second
        pair = np.minimum(first, second) * (int(types.max(initial=0)) + 1) + np.maximum(first, second)
        _, group = np.unique(pair, return_inverse=True)
        forward = np.bincount(group, np.where(first < second, 1, -1), len(births))[group] >= 0
        turned = np.where(apart, (types[low] < types[high]) != forward, turned)
    new_low, new_high = (_are_new(lives, nodes, born) for nodes in (low, high))
    turned = np.where(new_low == new_high, turned, new_high)
    return np.stack([np.where(turned, high, low), np.where(turned, low, high)], axis=1)


def _are_new(lives: Lives, nodes: Ints, cycles: Ints) -> Flags:
    fates = map(lives.fate, nodes.tolist(), cycles.tolist())
    return np.array([fate is not None and fate.is_new for fate in fates], bool)


def _checked_types(types: Any, nodes: int) -> Ints:
    given = np.asarray(types)
    if given.ndim != 1 or len(given) != nodes:
        raise InputError(
            f"expected one type for each of the {nodes} nodes at the end, found shape {given.shape}", where="node_types"
        )
    return np.unique(given.astype(str), return_inverse=True)[1].astype(np.int64)
