"""Simple scores of pairs from the graph before a cycle: what births are worth that anybody could have predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.edges import ends_of
from graphgauge.evolution.points import Order

# Pairs whose common neighbours are looked up at once.
_BLOCK = 1 << 16


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
        for start in range(0, len(first), _BLOCK):
            part = slice(start, start + _BLOCK)
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
