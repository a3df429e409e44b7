"""Runs that can be replayed: the graph at the start, the births in order, and what chance would have added instead.

Chance growth keeps what the system did not choose, or chose otherwise: `withheld` adds nothing, `shuffled` keeps every
source and every target and changes only who is connected to whom, `redrawn` keeps every source and draws its target
anew. Growth whose targets are random is exchangeable with these, so a test against them is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.evolution.births import Births
from graphgauge.evolution.inputs import Flags, as_edges, pair_codes
from graphgauge.evolution.log import Cycle

NEVER = np.iinfo(np.int64).max
# Swaps tried per birth, from the observed births to a common state and from there to each draw.
_SWAPS = 10
# Draws of one target before the free ones are listed.
_REDRAWS = 20


@dataclass(frozen=True)
class GrownGraph:
    """A graph and how it grew: the argument of `embed`. A node's number is its row in the embeddings.

    `history` are all edges that ever existed, `born` and `gone` the cycles in which they appeared and disappeared
    (−1: at the start; `NEVER`). `arrived` is the cycle of each node. Withheld births leave their nodes without edges.
    """

    history: Ints
    born: Ints
    gone: Ints
    arrived: Ints
    cycles: int
    embeddings: Floats | None = None
    condition: str = "run"
    seed: int = 0

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
        both.data[:] = 1.0  # an edge that was born again counts once
        return both


@dataclass(frozen=True)
class GrowthRun:
    """One run: the start, and the births in order, each from its source to its target."""

    condition: str
    seed: int
    start: Ints
    start_gone: Ints
    births: Ints
    born: Ints
    gone: Ints
    arrived: Ints
    cycles: int
    embeddings: Floats | None = None
    pools: Sequence[Ints | None] = ()
    notes: tuple[str, ...] = ()
    types: Ints | None = None
    fixed: Flags = field(default_factory=lambda: np.empty(0, bool))

    @property
    def num_nodes(self) -> int:
        return len(self.arrived)

    def graph(self, births: Ints | None = None) -> GrownGraph:
        """The graph with these births in place of its own."""
        births = self.births if births is None else births
        return GrownGraph(
            np.concatenate([self.start, births]),
            np.concatenate([np.full(len(self.start), -1), self.born[: len(births)]]),
            np.concatenate([self.start_gone, self.gone[: len(births)]]),
            self.arrived, self.cycles, self.embeddings, self.condition, self.seed,
        )  # fmt: skip

    def withheld(self) -> GrownGraph:
        """Nothing was added; what was removed from the start is removed all the same."""
        return self.graph(self.births[:0])

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
        targets = births[:, 1].tolist()
        sources, born, arrived = births[:, 0].tolist(), self.born.tolist(), self.arrived.tolist()
        types = None if self.types is None else self.types.tolist()
        taken, standing = self._codes(births), self._standing
        size = self.num_nodes
        for one, other in free[rng.integers(0, len(free), (_SWAPS * len(free), 2))].tolist():
            a, b, s, t = targets[one], targets[other], sources[one], sources[other]
            if a == b or s == t or s == b or t == a or (types is not None and types[a] != types[b]):
                continue
            # Both must have existed by then, and only new nodes stand in for new nodes.
            if arrived[b] > born[one] or (arrived[b] == born[one]) != (arrived[a] == born[one]):
                continue
            if arrived[a] > born[other] or (arrived[a] == born[other]) != (arrived[b] == born[other]):
                continue
            first = (s, b) if s < b else (b, s)
            second = (t, a) if t < a else (a, t)
            new = (first[0] * size + first[1], second[0] * size + second[1])
            if new[0] in taken or new[1] in taken:
                continue
            if standing.get(new[0], -1) >= born[one] or standing.get(new[1], -1) >= born[other]:
                continue
            taken -= {min(s, a) * size + max(s, a), min(t, b) * size + max(t, b)}
            taken |= set(new)
            targets[one], targets[other] = b, a
        return np.stack([births[:, 0], np.array(targets, np.int64)], axis=1)

    # ---- redrawn targets

    def redrawn(self, draws: int, rng: np.random.Generator) -> list[Ints]:
        """Births with every target drawn anew from the nodes that could have been chosen in its place, in order."""
        candidates = [self._candidates(row) for row in range(len(self.births))]
        return [self._redraw(candidates, rng) for _ in range(draws)]

    def _redraw(self, candidates: list[Ints], rng: np.random.Generator) -> Ints:
        size, standing = self.num_nodes, self._standing
        taken = self._codes(self.births[self.fixed])
        births = self.births.copy()
        sources, born, fixed = births[:, 0].tolist(), self.born.tolist(), self.fixed.tolist()
        for row, pool in enumerate(candidates):
            if fixed[row]:
                continue
            s = sources[row]

            def is_free(node: int, s: int = s, row: int = row) -> bool:
                code = min(s, node) * size + max(s, node)
                return node != s and code not in taken and standing.get(code, -1) < born[row]

            drawn = next((node for node in pool[rng.integers(0, len(pool), _REDRAWS)].tolist() if is_free(node)), None)
            if drawn is None:
                free = [node for node in pool.tolist() if is_free(node)]
                drawn = free[rng.integers(len(free))] if free else int(births[row, 1])
            taken.add(min(s, drawn) * size + max(s, drawn))
            births[row, 1] = drawn
        return births

    def _candidates(self, row: int) -> Ints:
        target, cycle = int(self.births[row, 1]), int(self.born[row])
        return self._alike(cycle, self.arrived[target] == cycle, self._kind(target), self._pool(cycle, target))

    def _kind(self, node: int) -> int:
        return -1 if self.types is None else int(self.types[node])

    def _pool(self, cycle: int, target: int) -> int:
        given = self.pools[cycle] if cycle < len(self.pools) else None
        return -1 if given is None or target >= len(given) else int(given[target])

    @cached_property
    def _known(self) -> dict[tuple[int, bool, int, int], Ints]:
        return {}

    def _alike(self, cycle: int, is_new: bool, kind: int, pool: int) -> Ints:
        """The nodes of a cycle that are as new, of the same type and of the same pool."""
        key = (cycle, bool(is_new), kind, pool)
        if key not in self._known:
            there = self.arrived == cycle if is_new else self.arrived < cycle
            if kind >= 0 and self.types is not None:
                there = there & (self.types == kind)
            given = self.pools[cycle] if pool >= 0 else None
            if given is not None:
                same = np.zeros(self.num_nodes, bool)
                same[: len(given)] = given == pool
                there = there & same
            self._known[key] = np.flatnonzero(there)
        return self._known[key]

    # ---- parts

    def _codes(self, births: Ints) -> set[int]:
        return set(pair_codes(births, self.num_nodes).tolist())

    @cached_property
    def _standing(self) -> dict[int, int]:
        """The edges of the start, and the cycle in which they disappear."""
        codes = pair_codes(self.start, self.num_nodes).tolist()
        return dict(zip(codes, self.start_gone.tolist(), strict=True))


def read_run(cycles: Iterable[Cycle], *, types: Any = None, undeclared: str = "refuse", seed: int = 0) -> GrowthRun:
    """One run from its cycles, whose births are reconciled with the graphs before and after.

    A birth that is listed both ways gets its source by a coin, because its direction is unknown. If only one end is
    new, that end is the source.
    """
    stored = _Reader(undeclared)
    for number, cycle in enumerate(cycles):
        stored.add(number, cycle)
    return stored.run(types, np.random.default_rng([seed, 7]))


class _Reader:
    def __init__(self, undeclared: str) -> None:
        self.undeclared = undeclared
        self.first: Cycle | None = None
        self.births: list[Ints] = []
        self.both_ways: list[Flags] = []
        self.removed: list[Ints] = []
        self.pools: list[Ints | None] = []
        self.sizes: list[int] = []
        self.start: Ints | None = None
        self.last: Ints | None = None
        self.notes: dict[str, int] = {}

    def add(self, number: int, cycle: Cycle) -> None:
        where = f"{cycle.condition}, seed {cycle.seed}, cycle {cycle.cycle}"
        before, nodes = cycle.previous_edges, len(cycle.embeddings)
        try:
            found = Births.of(
                cycle.new_edges, cycle.all_edges, before, nodes, last_edges=self.last,
                removed_edges=cycle.removed_edges, undeclared=self.undeclared,
            )  # fmt: skip
        except InputError as error:
            raise InputError(error.what, where=f"{where}: {error.where or 'births'}", fix=error.fix) from None
        if self.first is None:
            self.first, self.start = cycle, _pairs(found.before, nodes)
            self.sizes.append(self._nodes_before(cycle, nodes))
        given = as_edges(cycle.new_edges, "new_edges", nodes)
        listed = set(map(tuple, given.tolist()))
        self.births.append(found.edges)
        self.both_ways.append(np.array([(v, u) in listed and (u, v) in listed for u, v in found.edges.tolist()], bool))
        gone = np.setdiff1d(found.before, found.after)
        self.removed.append(_pairs(gone, nodes))
        self.pools.append(None if cycle.pools is None else np.asarray(cycle.pools).astype(np.int64))
        self.sizes.append(nodes)
        self.last = as_edges(cycle.all_edges, "all_edges").copy()

    @staticmethod
    def _nodes_before(cycle: Cycle, nodes: int) -> int:
        if cycle.previous_embeddings is not None:
            return len(cycle.previous_embeddings)
        old = as_edges(cycle.previous_edges, "previous_edges")
        return min(nodes, int(old.max(initial=-1)) + 1) if cycle.previous_edges is not None else nodes

    def run(self, types: Any, rng: np.random.Generator) -> GrowthRun:
        if self.first is None or self.start is None:
            raise InputError("no cycle to replay", where="log", fix="Pass a folder, or a list of cycles.")
        size, cycles = self.sizes[-1], len(self.births)
        arrived = np.repeat(np.arange(-1, cycles), np.diff([0, *np.maximum.accumulate(self.sizes)]))
        births = np.concatenate(self.births)
        born = np.repeat(np.arange(cycles), [len(part) for part in self.births])
        births = _oriented(births, born, np.concatenate(self.both_ways), arrived, rng)
        start_gone, gone = self._ends(births, born, size)
        codes = pair_codes(births, size)
        _, first, count = np.unique(codes, return_index=True, return_counts=True)
        again = np.ones(len(births), bool)
        again[first[count == 1]] = False
        known = None if types is None else _checked_types(types, size)
        embeddings = self.first.previous_embeddings
        notes = []
        if again.any():
            notes.append(f"births of an edge that was born more than once, kept in every replay: {again.sum()}")
        return GrowthRun(
            self.first.condition, self.first.seed, self.start, start_gone, births, born, gone, arrived, cycles,
            None if embeddings is None else np.asarray(embeddings, float), self.pools, tuple(notes), known, again,
        )  # fmt: skip

    def _ends(self, births: Ints, born: Ints, size: int) -> tuple[Ints, Ints]:
        """The cycle in which every edge of the start and every birth disappears."""
        assert self.start is not None
        start_gone, gone = np.full(len(self.start), NEVER), np.full(len(births), NEVER)
        standing = {int(code): ("start", row) for row, code in enumerate(pair_codes(self.start, size))}
        codes = pair_codes(births, size).tolist()
        row = 0
        for cycle, removed in enumerate(self.removed):
            for code in pair_codes(removed, size).tolist():
                kind, place = standing.pop(code)
                (start_gone if kind == "start" else gone)[place] = cycle
            while row < len(births) and born[row] == cycle:
                standing[codes[row]] = ("birth", row)
                row += 1
        return start_gone, gone


def _pairs(codes: Ints, nodes: int) -> Ints:
    return np.stack([codes // max(nodes, 1), codes % max(nodes, 1)], axis=1)


def _oriented(births: Ints, born: Ints, both_ways: Flags, arrived: Ints, rng: np.random.Generator) -> Ints:
    new = arrived[births] == born[:, None]
    turned = both_ways & (rng.random(len(births)) < 0.5)
    turned = np.where(new[:, 0] == new[:, 1], turned, new[:, 1])
    return np.where(turned[:, None], births[:, ::-1], births)


def _checked_types(types: Any, nodes: int) -> Ints:
    given = np.asarray(types)
    if given.ndim != 1 or len(given) != nodes:
        raise InputError(
            f"expected one type for each of the {nodes} nodes at the end, found shape {given.shape}", where="node_types"
        )
    return np.unique(given.astype(str), return_inverse=True)[1].astype(np.int64)
