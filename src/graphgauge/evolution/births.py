"""The edges born in one cycle (distinct, without loops, not in the graph before), and how a graph grows by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.evolution.inputs import among, as_edges, distinct, distinct_pairs, pair_codes, without
from graphgauge.evolution.ledger import Balance

# Number of example edges in an error message.
_SHOWN = 3


@dataclass(frozen=True)
class Births:
    """New edges sorted by their ends, the graph before and after as sorted codes, and notes on edges left out."""

    edges: Ints
    before: Ints
    after: Ints
    nodes: int
    notes: tuple[str, ...] = ()
    balance: Balance | None = None

    @classmethod
    def of(
        cls, new_edges: Any, all_edges: Any, previous_edges: Any, nodes: int, *, last_edges: Any = None,
        removed_edges: Any = None, undeclared: str = "refuse",
    ) -> Births:  # fmt: skip
        """Read one cycle; the graph before defaults to `last_edges`, the graph after the last cycle.

        If neither is known, it is the graph after the cycle without its births, and nothing can be reconciled.
        """
        previous_edges = last_edges if previous_edges is None else previous_edges
        given = as_edges(new_edges, "new_edges", nodes)
        standing = distinct_pairs(as_edges(all_edges, "all_edges", nodes), nodes)
        loops = int(np.count_nonzero(given[:, 0] == given[:, 1]))
        kept = _each_once(given, nodes)
        codes = pair_codes(kept, nodes)
        rest, found = without(standing, codes)
        known = previous_edges is not None
        before = distinct_pairs(as_edges(previous_edges, "previous_edges", nodes), nodes) if known else rest
        old = among(codes, before)
        # The whole graph was passed as births: every remaining edge is among them.
        if (old.any() and not among(rest, before).any()) if known else (len(standing) and not len(rest)):
            raise _whole_graph(len(standing))
        absent = len(codes) - found
        appeared = rest[~among(rest, before)]
        if last_edges is not None and last_edges is not previous_edges:
            last = distinct_pairs(as_edges(last_edges, "last_edges", nodes), nodes)
            appeared = distinct(
                np.concatenate([appeared, before[~among(before, last) & ~among(before, distinct(codes))]])
            )
        if undeclared == "refuse" and len(appeared):
            raise _undeclared(appeared, nodes)
        removed = distinct_pairs(as_edges(removed_edges, "removed_edges", nodes), nodes)
        lost = before[~among(before, distinct(np.concatenate([standing, codes, removed])))]
        counted = {
            "loops among the births, left out": loops,
            "births listed more than once, counted once": len(given) - loops - len(codes),
            "births that were in the graph before the cycle, left out": np.count_nonzero(old),
            "births missing from all_edges": absent,
        }
        return cls(
            kept[~old],
            before,
            distinct(np.concatenate([standing, codes])) if absent else standing,
            nodes,
            tuple(f"{what}: {count}" for what, count in counted.items() if count),
            Balance(int(np.count_nonzero(~old)), len(appeared), len(lost)) if known else None,
        )

    def __len__(self) -> int:
        return len(self.edges)

    def degrees_before(self) -> Ints:
        """The degree of every node in the graph before the cycle."""
        low = self.before // max(self.nodes, 1)
        ends = np.concatenate([low, self.before - low * self.nodes])
        return np.bincount(ends, minlength=self.nodes).astype(np.int64, copy=False)


def _each_once(edges: Ints, nodes: int) -> Ints:
    """Edges without loops, sorted by their ends; an edge listed both ways becomes (low, high)."""
    directed = distinct(edges[:, 0] * nodes + edges[:, 1])
    first = directed // max(nodes, 1)
    second = directed - first * nodes
    kept = first < second
    kept |= (first > second) & ~among(second * nodes + first, directed)
    return np.stack([first[kept], second[kept]], axis=1)


def _undeclared(codes: Ints, nodes: int) -> InputError:
    examples = [str(divmod(code, nodes)) for code in codes[:_SHOWN].tolist()]
    shown = ", ".join([*examples, *(["…"] if len(codes) > _SHOWN else [])])
    return InputError(
        f"{len(codes)} edges were neither in the graph before the cycle nor in new_edges: {shown}",
        where="all_edges",
        fix='Pass every edge born in this cycle as new_edges; undeclared="report" evaluates only the declared ones, '
        "with a finding.",
    )


def _whole_graph(edges: int) -> InputError:
    return InputError(
        f"new_edges contains all {edges} edges of the graph",
        where="new_edges",
        fix="Pass only the edges born in this cycle, such as edges_created_at_cycle[t]. If the graph began "
        "without edges, pass previous_edges=np.empty((0, 2), int).",
    )


WEIGHT = 0.1


def checked_tgc(tgc: Any) -> float:
    """The capacity reported by a system: one finite number."""
    number = as_numeric(tgc, "tgc")
    if number.ndim or not np.isfinite(number):
        raise InputError(f"found {tgc}", where="tgc", fix="Pass a number, or None to compute it.")
    return float(number)


def largest_component(codes: Ints, nodes: int) -> int:
    """Number of nodes in the largest connected component."""
    if nodes == 0:
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = (codes // nodes, codes % nodes)
    graph = coo_array((np.ones(len(codes), np.int8), ends), shape=(nodes, nodes))
    _, part = connected_components(graph, directed=False)
    return int(np.bincount(part).max())


def tgc_step(births: int, nodes: int, component: int, previous: float | None = None) -> float:
    """The capacity after one more cycle: births/nodes · component/nodes, smoothed with weight 0.1 per cycle.

    >>> first = tgc_step(10, 100, 80)
    >>> round(first, 6), round(tgc_step(0, 100, 80, first), 6)
    (0.08, 0.072)
    """
    if nodes == 0:
        return float("nan")
    now = births / nodes * component / nodes
    return now if previous is None else (1 - WEIGHT) * previous + WEIGHT * now
