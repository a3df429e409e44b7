"""Simple scores of pairs from the graph before a cycle: what births are worth that anybody could have predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints

# Pairs whose common neighbours are looked up at once.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class LinkScores:
    """Scores of pairs of nodes from the edges of a graph, each once."""

    edges: Ints
    nodes: int

    @cached_property
    def degrees(self) -> Ints:
        return np.bincount(self.edges.ravel(), minlength=self.nodes).astype(np.int64, copy=False)

    def adamic_adar(self, first: Ints, second: Ints) -> Floats:
        """Common neighbours, each divided by the logarithm of its degree (Adamic and Adar, 2003)."""
        found = np.empty(len(first))
        for start in range(0, len(first), _BLOCK):
            part = slice(start, start + _BLOCK)
            both = self._adjacency[first[part]].multiply(self._adjacency[second[part]])
            found[part] = both @ self._weights
        return found

    def preferential_attachment(self, first: Ints, second: Ints) -> Floats:
        """The product of the degrees (Barabási and Albert, 1999)."""
        return np.asarray(self.degrees[first] * self.degrees[second], float)

    @property
    def scores(self) -> Mapping[str, Callable[[Ints, Ints], Floats]]:
        """The scores by name."""
        return {"Adamic–Adar": self.adamic_adar, "preferential attachment": self.preferential_attachment}

    @cached_property
    def _adjacency(self) -> Any:
        from scipy.sparse import coo_array

        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        matrix = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(self.nodes, self.nodes)).tocsr()
        matrix.data[:] = 1.0
        return matrix

    @cached_property
    def _weights(self) -> Floats:
        # A common neighbour has two neighbours at least, so its logarithm is not 0.
        return np.asarray(1 / np.log(np.maximum(self.degrees, 2)))


@dataclass(frozen=True)
class Ranked:
    """A score in the place of distances: pairs with a higher score come first."""

    nodes: int
    function: Callable[[Ints, Ints], Floats]

    def __len__(self) -> int:
        return self.nodes

    def order(self, first: Ints, second: Ints) -> Floats:
        return -self.function(first, second)
