"""The edges born in one cycle: each once, no loops, nothing that stood before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.evolution.inputs import Ints, among, as_edges, distinct, distinct_pairs, pair_codes


@dataclass(frozen=True)
class Births:
    """New edges in the order of their ends, the graph before and after as sorted codes, and what was left out."""

    edges: Ints
    before: Ints
    after: Ints
    nodes: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, new_edges: Any, all_edges: Any, previous_edges: Any, nodes: int) -> Births:
        """Read one cycle; the graph before is the one after without its births where it is not given."""
        given = as_edges(new_edges, "new_edges", nodes)
        standing = distinct_pairs(as_edges(all_edges, "all_edges", nodes), nodes)
        loops = given[:, 0] == given[:, 1]
        kept = given[~loops]
        # Sorted first: which direction of an edge listed both ways stays does not depend on the order of the list.
        kept = kept[np.lexsort((kept[:, 1], kept[:, 0]))]
        codes, first = np.unique(pair_codes(kept, nodes), return_index=True)
        kept = kept[np.sort(first)]
        known = previous_edges is not None
        before = distinct_pairs(as_edges(previous_edges, "previous_edges", nodes), nodes) if known else None
        _refuse_whole_graph(codes, standing, before)
        old = among(pair_codes(kept, nodes), before) if before is not None else np.zeros(len(kept), bool)
        absent = np.count_nonzero(~among(codes, standing))
        counted = {
            "loops among the births, left out": int(loops.sum()),
            "births listed again, counted once": len(given) - int(loops.sum()) - len(codes),
            "births that stood before the cycle, left out": int(old.sum()),
            "births that all_edges lacks": int(absent),
        }
        return cls(
            kept[~old],
            standing[~among(standing, codes)] if before is None else before,
            distinct(np.concatenate([standing, codes])) if absent else standing,
            nodes,
            tuple(f"{what}: {count}" for what, count in counted.items() if count),
        )

    def __len__(self) -> int:
        return len(self.edges)

    def degrees_before(self) -> Ints:
        """Of every node, in the graph before the cycle."""
        ends = np.concatenate([self.before // max(self.nodes, 1), self.before % max(self.nodes, 1)])
        return np.bincount(ends, minlength=self.nodes).astype(np.int64)


def _refuse_whole_graph(codes: Ints, standing: Ints, before: Ints | None) -> None:
    whole = len(codes) > 0 and np.array_equal(codes, standing)
    if before is not None:
        # Every edge of the graph before among the births: a list of the whole graph, not of what is new.
        whole = len(before) > 0 and bool(among(before, codes).all())
    if whole:
        raise InputError(
            f"new_edges holds all {len(standing)} edges of the graph",
            where="new_edges",
            fix="Pass only the edges born in this cycle, such as edges_created_at_cycle[t]; where the graph began "
            "without any edge, say so with previous_edges=np.empty((0, 2), int).",
        )
