"""Pairs of nodes: those that could be edges and are not, all or drawn, and what the graph alone says about pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.edges import among, codes_of, distinct, ends_of
from graphgauge.evolution.points import Order

Ends = tuple[Ints, Ints]
# Pairs that are made at once, and the most that are made at all; those whose common neighbours are looked up at once.
_BLOCK, _MOST_PAIRS, _LOOKED_UP = 1 << 21, 1 << 33, 1 << 16


@dataclass(frozen=True)
class FreePairs:
    """Pairs of a source and a target, which are sorted nodes, without those in `taken`, a set of codes.

    Without direction, sources and targets are the same nodes or have none in common. `nodes` is how many there are.
    """

    sources: Ints
    targets: Ints
    taken: Ints
    nodes: int
    directed: bool = False

    @cached_property
    def _folded(self) -> bool:
        """Whether every pair is counted in one order only."""
        return not self.directed and np.array_equal(self.sources, self.targets)

    @cached_property
    def every(self) -> int:
        """The number of pairs, taken ones included."""
        if self._folded:
            return len(self.sources) * (len(self.sources) - 1) // 2
        loops = len(np.intersect1d(self.sources, self.targets, assume_unique=True))
        return len(self.sources) * len(self.targets) - loops

    @cached_property
    def free(self) -> int:
        """The number of pairs that are not taken."""
        if len(self.sources) == len(self.targets) == self.nodes:
            return self.every - len(self.taken)
        source, target = np.zeros(self.nodes, bool), np.zeros(self.nodes, bool)
        source[self.sources], target[self.targets] = True, True
        first, second = ends_of(self.taken)
        inside = source[first] & target[second]
        if not self.directed and not self._folded:
            inside |= source[second] & target[first]
        return self.every - int(np.count_nonzero(inside))

    def all(self) -> Iterator[Ends]:
        """All free pairs, in blocks of rows."""
        if self.every > _MOST_PAIRS:
            what = f"{self.every:,} pairs are too many to score"
            raise InputError(what, where="negatives", fix="Draw a number of them for each birth.")
        step = max(1, _BLOCK // max(len(self.targets), 1))
        for start in range(0, len(self.sources), step):
            rows = self.sources[start : start + step]
            first, second = np.repeat(rows, len(self.targets)), np.tile(self.targets, len(rows))
            kept = first < second if self._folded else first != second
            first, second = first[kept], second[kept]
            free = ~among(codes_of(first, second, self.directed), self.taken)
            yield first[free], second[free]

    def drawn(self, count: int, rng: np.random.Generator) -> Ends:
        """So many distinct free pairs, which is less than all, drawn without replacement."""
        if 2 * count > self.free:
            first, second = (np.concatenate(ends) for ends in zip(*self.all(), strict=True))
            chosen = rng.choice(self.free, count, replace=False)
            return first[chosen], second[chosen]
        codes = np.empty(0, np.int64)
        # A draw is lost if it is a loop, or an edge, or was drawn before; a folded pair is drawn in two orders.
        share = self.free / (len(self.sources) * len(self.targets)) * (2 if self._folded else 1)
        while len(codes) < count:
            more = int((count - len(codes)) / share * 1.05) + 16
            first = self.sources[rng.integers(0, len(self.sources), more)]
            second = self.targets[rng.integers(0, len(self.targets), more)]
            if self._folded:
                first, second = np.minimum(first, second), np.maximum(first, second)
            # As they were drawn: a target may have the smaller number.
            new = codes_of(first, second, directed=True)[first != second]
            new = new[~among(codes_of(*ends_of(new), self.directed), self.taken)]
            codes = distinct(np.concatenate([codes, new]))
        kept = codes if len(codes) == count else codes[rng.permutation(len(codes))[:count]]
        return ends_of(kept)


@dataclass(frozen=True)
class LinkScores:
    """Scores of pairs of nodes from the edges of an undirected graph, a set of codes."""

    edges: Ints
    nodes: int

    @property
    def orders(self) -> Mapping[str, Order]:
        """The scores by name, as orders in which pairs with a high score come first."""
        return {
            "Adamic–Adar": lambda first, second: -self.adamic_adar(first, second),
            "preferential attachment": lambda first, second: -self.preferential_attachment(first, second),
        }

    def adamic_adar(self, first: Ints, second: Ints) -> Floats:
        """Common neighbours, each divided by the logarithm of its degree (Adamic and Adar, 2003)."""
        # A common neighbour has two neighbours at least, so its logarithm is not 0.
        weights, scores = 1 / np.log(np.maximum(self._degrees, 2)), np.empty(len(first))
        for start in range(0, len(first), _LOOKED_UP):
            part = slice(start, start + _LOOKED_UP)
            scores[part] = self._adjacency[first[part]].multiply(self._adjacency[second[part]]) @ weights
        return scores

    def preferential_attachment(self, first: Ints, second: Ints) -> Floats:
        """The product of the degrees (Barabási and Albert, 1999)."""
        return np.asarray(self._degrees[first] * self._degrees[second], float)

    @cached_property
    def _degrees(self) -> Ints:
        return np.bincount(np.concatenate(ends_of(self.edges)), minlength=self.nodes).astype(np.int64, copy=False)

    @cached_property
    def _adjacency(self) -> Any:
        from scipy.sparse import coo_array

        first, second = ends_of(self.edges)
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        return coo_array((np.ones(len(ends[0])), ends), shape=(self.nodes, self.nodes)).tocsr()
