"""The edges born in one cycle (distinct, without loops, not in the graph before), and how a graph grows by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.old.evolution.inputs import Codes, Flags, among, as_edges, distinct, without

UNDECLARED = ("refuse", "report")
# Number of example edges in an error message.
_SHOWN = 3


@dataclass(frozen=True)
class Balance:
    """What a cycle declared, and what its graphs show.

    `declared` are births of edges, `reborn` those of edges that had died. `appeared` edges were in the graphs but not
    declared, `absent` ones were declared and are not in the graph after the cycle.
    """

    declared: int
    appeared: int
    absent: int
    reborn: int


@dataclass(frozen=True)
class Births:
    """New edges sorted by their ends; the graph before and after as sorted codes.

    `reborn` says which of them existed at an earlier time of the run.
    """

    edges: Ints
    reborn: Flags
    before: Ints
    after: Ints
    codes: Codes
    notes: tuple[str, ...] = ()
    balance: Balance | None = None

    @classmethod
    def of(
        cls,
        new_edges: Any,
        all_edges: Any,
        previous_edges: Any,
        nodes: int,
        *,
        last_edges: Any = None,
        undeclared: str = "refuse",
        directed: bool = False,
        seen: Ints | None = None,
    ) -> Births:
        """Read one cycle; the graph before defaults to `last_edges`, the graph after the last cycle.

        If neither is known, it is the graph after the cycle without its births, and nothing can be reconciled. `seen`
        are the codes of all edges that existed earlier. Edges that were in the graph before and are not after it died.
        """
        codes = Codes(nodes, directed)

        def coded(edges: Any, name: str) -> Ints:
            given = as_edges(edges, name, nodes)
            loops = given[:, 0] == given[:, 1]
            return distinct(codes.of(given[~loops] if loops.any() else given))

        previous_edges = last_edges if previous_edges is None else previous_edges
        given = as_edges(new_edges, "new_edges", nodes)
        standing, born = coded(all_edges, "all_edges"), coded(given, "new_edges")
        loops = int(np.count_nonzero(given[:, 0] == given[:, 1]))
        rest, found = without(standing, born)
        known = previous_edges is not None
        before = coded(previous_edges, "previous_edges") if known else rest
        old = among(born, before)
        # The whole graph was passed as births: every remaining edge is among them.
        if (old.any() and not among(rest, before).any()) if known else (len(standing) and not len(rest)):
            raise _whole_graph(len(standing))
        appeared = rest[~among(rest, before)]
        if last_edges is not None and last_edges is not previous_edges:
            last = coded(last_edges, "last_edges")
            appeared = distinct(np.concatenate([appeared, before[~among(before, last) & ~among(before, born)]]))
        absent = born[~among(born, standing)] if found < len(born) else born[:0]
        if undeclared == "refuse":
            for name, listed in (("appeared", appeared), ("absent", absent)):
                if len(listed):
                    raise _disagreement(name, codes.edges(listed[:_SHOWN]), len(listed))
        counted = {
            "loops among the births, left out": loops,
            "births listed more than once, counted once": len(given) - loops - len(born),
            "births that were in the graph before the cycle, left out": np.count_nonzero(old),
            "births missing from all_edges": len(absent),
        }
        new = born[~old]
        reborn = np.zeros(len(new), bool) if seen is None else among(new, seen)
        if reborn.any():
            counted["births of edges that existed before, left out of the areas"] = np.count_nonzero(reborn)
        return cls(
            codes.edges(new),
            reborn,
            before,
            distinct(np.concatenate([standing, absent])) if len(absent) else standing,
            codes,
            tuple(f"{what}: {count}" for what, count in counted.items() if count),
            Balance(len(new), len(appeared), len(absent), int(np.count_nonzero(reborn))) if known else None,
        )

    @property
    def nodes(self) -> int:
        return self.codes.nodes

    def __len__(self) -> int:
        return len(self.edges)

    @cached_property
    def either(self) -> Ints:
        """The edges of the graph before or after, sorted."""
        return distinct(np.concatenate([self.before, self.after]))

    def degrees_before(self) -> Ints:
        """The degree of every node in the graph before the cycle."""
        ends = self.codes.edges(self.before).ravel()
        return np.bincount(ends, minlength=self.nodes).astype(np.int64, copy=False)


_DISAGREE = {
    "appeared": (
        "all_edges",
        "were neither in the graph before the cycle nor in new_edges",
        "Pass every edge born in this cycle as new_edges",
    ),
    "absent": (
        "new_edges",
        "were declared as births and are not in the graph after the cycle",
        "Pass only edges that were added, and are in all_edges",
    ),
}


def _disagreement(name: str, shown: Ints, count: int) -> InputError:
    where, what, fix = _DISAGREE[name]
    examples = ", ".join([*(str(tuple(edge)) for edge in shown.tolist()), *(["…"] if count > len(shown) else [])])
    return InputError(
        f"{count} edges {what}: {examples}",
        where=where,
        fix=f'{fix}; undeclared="report" goes on, and reports them.',
    )


def _whole_graph(edges: int) -> InputError:
    return InputError(
        f"new_edges contains all {edges} edges of the graph",
        where="new_edges",
        fix="Pass only the edges born in this cycle, such as edges_created_at_cycle[t]. If the graph began "
        "without edges, pass previous_edges=np.empty((0, 2), int).",
    )


# Edges beyond a spanning forest from which a graph is bipartite by design: once in 2 ** 20 by chance.
_SURELY_TWO = 20

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

    graph = coo_array((np.ones(len(codes), np.int8), np.divmod(codes, nodes)), shape=(nodes, nodes))
    _, part = connected_components(graph, directed=False)
    return int(np.bincount(part).max())


def two_sides(codes: Ints, nodes: int) -> tuple[int, int] | None:
    """The sizes of the two sides of a graph without edges within a side; None if it may be so only by chance.

    Every edge beyond a spanning forest of a graph that is not bipartite by design is within a side with probability
    one half, so there must be many.
    """
    if nodes == 0 or not len(codes):
        return None
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.divmod(codes, nodes)
    # In the double cover, a component is split in two exactly if it is bipartite.
    ones = np.ones(2 * len(codes), np.int8)
    ends = np.concatenate([first, second]), np.concatenate([second, first]) + nodes
    cover = coo_array((ones, ends), shape=(2 * nodes, 2 * nodes))
    _, part = connected_components(cover, directed=False)
    used = np.bincount(np.concatenate([first, second]), minlength=nodes) > 0
    if (part[:nodes] == part[nodes:])[used].any():
        return None
    components = len(np.unique(np.minimum(part[:nodes], part[nodes:])[used]))
    if len(codes) - int(used.sum()) + components < _SURELY_TWO:
        return None
    left = int(np.count_nonzero(used & (part[:nodes] < part[nodes:])))
    return left, int(used.sum()) - left


def tgc_step(births: int, nodes: int, component: int, previous: float | None = None) -> float:
    """The capacity after one more cycle: births/nodes · component/nodes, smoothed with weight 0.1 per cycle.

    Parameters
    ----------
    births, nodes, component
        Numbers of births, of all nodes, and of the nodes in the largest component.
    previous
        The capacity before; None in the first cycle.

    Returns
    -------
    float
        At least 0; NaN without nodes.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> first = evolution.tgc_step(10, 100, 80)
    >>> round(first, 6), round(evolution.tgc_step(0, 100, 80, first), 6)
    (0.08, 0.072)
    """
    if nodes == 0:
        return float("nan")
    now = births / nodes * component / nodes
    return now if previous is None else (1 - WEIGHT) * previous + WEIGHT * now
