"""The edges born in one cycle: distinct, without loops, not in the graph before; and what the graphs say about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask
from graphgauge.evolution.cycle import Cycle, Options, Past
from graphgauge.evolution.edges import among, as_edges, edges_of, ends_of, joined, set_of, without

# Number of example edges in an error message.
_SHOWN = 3


@dataclass(frozen=True)
class Balance:
    """How many births a cycle `declared`, and where the graphs differ, if that before is `known`.

    `appeared` edges were in the graphs but not declared, `absent` ones were declared and are not in the graph after.
    """

    declared: int
    appeared: int
    absent: int
    known: bool


@dataclass(frozen=True)
class Births:
    """New edges sorted by their ends; the graph before and after as sets of codes.

    `reborn` says which of them existed at an earlier time of the run, `left_out` what does not count, `inferred` how
    many births were taken from the graphs. `standing` is the graph after as it was given, from which births may be
    missing.
    """

    edges: Ints
    reborn: Mask
    before: Ints
    after: Ints
    standing: Ints
    balance: Balance
    inferred: int
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.edges)

    @cached_property
    def either(self) -> Ints:
        """The edges of the graph before or after, as codes."""
        return joined(self.before, self.after)

    def degrees_before(self, nodes: int) -> Ints:
        """The degree of every node in the graph before the cycle."""
        first, second = (np.bincount(ends, minlength=nodes) for ends in ends_of(self.before))
        degrees: Ints = first + second
        return degrees


def births_of(given: Cycle, nodes: int, options: Options, past: Past) -> Births:
    """The births of a cycle; the graph before defaults to that after the last cycle.

    Births that are None are the edges that the graph gained. If the graph before is unknown, it is the graph after
    without the births, and nothing can be reconciled. Edges that were in the graph before and are not after it died.
    """
    directed, before = options.directed, past.edges
    after = set_of(as_edges(given.all_edges, "all_edges", nodes), directed)
    if given.previous_edges is not None:
        before = set_of(as_edges(given.previous_edges, "previous_edges", nodes), directed)
    known, inferred = before is not None, given.new_edges is None and before is not None
    gained = without(after, before) if inferred and before is not None else np.empty(0, np.int64)
    declared = edges_of(gained) if inferred else as_edges(given.new_edges, "new_edges", nodes)
    born = set_of(declared, directed)
    rest = without(after, born)
    before = rest if before is None else before
    old = among(born, before)
    # The whole graph was passed as births: every remaining edge is among them.
    if (old.any() and not among(rest, before).any()) if known else (len(after) and not len(rest)):
        fix = "Pass only the edges born in this cycle, such as edges_created_at_cycle[t]. If the graph began without "
        fix += "edges, pass previous_edges=np.empty((0, 2), int)."
        raise InputError(f"new_edges contains all {len(after)} edges of the graph", where="new_edges", fix=fix)
    appeared, absent = without(rest, before), without(born, after)
    if past.edges is not None and given.previous_edges is not None:  # edges may have appeared between two cycles
        appeared = joined(appeared, without(without(before, past.edges), born))
    if options.undeclared == "refuse":
        _refuse(appeared, "all_edges", *_APPEARED)
        _refuse(absent, "new_edges", *_ABSENT)
    new = born[~old]
    reborn = among(new, past.seen)
    loops = int(np.count_nonzero(declared[:, 0] == declared[:, 1]))
    counted = {
        "loops among the births, left out": loops,
        "births listed more than once, counted once": len(declared) - loops - len(born),
        "births that were in the graph before the cycle, left out": np.count_nonzero(old),
        "births of edges that existed before, left out of the areas": np.count_nonzero(reborn),
    }
    left_out = tuple(f"{what}: {count}" for what, count in counted.items() if count)
    balance = Balance(len(new), len(appeared), len(absent), known)
    return Births(edges_of(new), reborn, before, joined(after, absent), after, balance, len(gained), left_out)


_APPEARED = (
    "were neither in the graph before the cycle nor in new_edges",
    "Pass every edge born in this cycle as new_edges",
)
_ABSENT = (
    "were declared as births and are not in the graph after the cycle",
    "Pass only edges that were added, and are in all_edges",
)


def _refuse(codes: Ints, where: str, what: str, fix: str) -> None:
    """Refuse births and graphs that disagree about these edges, if there are any."""
    if len(codes):
        shown = [str(tuple(edge)) for edge in edges_of(codes[:_SHOWN]).tolist()] + ["…"] * (len(codes) > _SHOWN)
        fix = f'{fix}; undeclared="report" goes on, and reports them.'
        raise InputError(f"{len(codes)} edges {what}: {', '.join(shown)}", where=where, fix=fix)
