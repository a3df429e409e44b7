"""One cycle: as it is given, with the options of its evaluation, and as the checked arrays that metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.types import Ints, Mask
from graphgauge.evolution.edges import (
    among,
    as_edges,
    edges_of,
    ends_of,
    joined,
    largest_component,
    set_of,
    whole_numbers,
    without,
)
from graphgauge.evolution.nodes import SCORES, Labelled, Points, Score, types_of

# Each random draw in a cycle has its own stream, so that omitting a metric does not change the others.
_STREAMS = {"births": 0, "matched": 1, "held_out": 2, "newborn": 3}
# Number of example edges in an error message.
_SHOWN = 3
# Weight of a cycle in the smoothed capacity.
_WEIGHT = 0.1


# ---- as given


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: its births, and the system before and after it, as given.

    `previous_embeddings` and `previous_edges` are None if unknown; births that are None are inferred from the graphs.
    """

    embeddings: Any
    new_edges: Any
    all_edges: Any
    cycle: int = 0
    previous_embeddings: Any = None
    tgc: float | None = None
    previous_edges: Any = None
    pools: Any = None
    inserted_embeddings: Any = None
    condition: str = "run"
    seed: int = 0


@dataclass(frozen=True)
class Past:
    """What a run remembers as codes of edges: the graph after its last cycle, every edge it had, its births; its tgc.

    The graph is None where a cycle is left out, because edges may have appeared in it.
    """

    edges: Ints | None = None
    seen: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    born: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    tgc: float | None = None


@dataclass(frozen=True)
class Options:
    """Options of the evaluation. `negatives` is how many pairs are drawn for each birth, or "all"."""

    negatives: int | str = 1
    folds: int = 5
    nan: str = "raise"
    seed: int = 0
    score: Score = "poincare"
    directed: bool = False
    test_edges: Any = None
    node_types: Any = None

    def __post_init__(self) -> None:
        if not callable(self.score):
            one_of("score", self.score, SCORES)
        if self.negatives != "all":
            whole_number("negatives", self.negatives, 1)
        nan_policy(self.nan)
        whole_number("folds", self.folds, 2)
        whole_number("seed", self.seed)
        as_edges(self.test_edges, "test_edges")

    @property
    def per_birth(self) -> int | None:
        """How many pairs are drawn for each birth; None for all."""
        return None if self.negatives == "all" else int(self.negatives)

    @property
    def described(self) -> dict[str, Any]:
        """What a result file says about them."""
        names = ("negatives", "folds", "seed", "directed")
        return {name: getattr(self, name) for name in names} | {"score": self.scored}

    @property
    def scored(self) -> str:
        return self.score if isinstance(self.score, str) else "a function"

    def rng(self, cycle: int, use: str) -> np.random.Generator:
        """The draws of one cycle for one use."""
        return np.random.default_rng([self.seed, cycle % 2**32, _STREAMS[use]])


# ---- its births


@dataclass(frozen=True)
class Births:
    """New edges sorted by their ends; the graph before and after as sets of codes.

    `fresh` says which of them never existed in the run before, `left_out` what does not count, `inferred` how
    many births were taken from the graphs.
    """

    edges: Ints
    fresh: Mask
    before: Ints
    after: Ints
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
    directed, stood = options.directed, past.edges
    after = set_of(as_edges(given.all_edges, "all_edges", nodes), directed)
    if given.previous_edges is not None:
        stood = set_of(as_edges(given.previous_edges, "previous_edges", nodes), directed)
    gained = without(after, stood) if stood is not None and given.new_edges is None else None
    declared = as_edges(given.new_edges, "new_edges", nodes) if gained is None else edges_of(gained)
    born = set_of(declared, directed)
    rest = without(after, born)
    before = rest if stood is None else stood
    old = among(born, before)
    # The whole graph was passed as births: every remaining edge is among them.
    if (len(after) and not len(rest)) if stood is None else (old.any() and not among(rest, before).any()):
        fix = "Pass only the edges born in this cycle, such as edges_created_at_cycle[t]. If the graph began without "
        fix += "edges, pass previous_edges=np.empty((0, 2), int)."
        raise InputError(f"new_edges contains all {len(after)} edges of the graph", where="new_edges", fix=fix)
    appeared, absent = without(rest, before), without(born, after)
    if past.edges is not None and given.previous_edges is not None:  # edges may have appeared between two cycles
        appeared = joined(appeared, without(without(before, past.edges), born))
    _refuse(appeared, "all_edges", "were neither in the graph before the cycle nor in new_edges")
    _refuse(absent, "new_edges", "were declared as births and are not in the graph after the cycle")
    new = born[~old]
    fresh = ~among(new, past.seen)
    loops = int(np.count_nonzero(declared[:, 0] == declared[:, 1]))
    counted = {
        "loops among the births, left out": loops,
        "births listed more than once, counted once": len(declared) - loops - len(born),
        "births that were in the graph before the cycle, left out": np.count_nonzero(old),
        "births of edges that existed before, left out of the areas": np.count_nonzero(~fresh),
    }
    left_out = tuple(f"{what}: {count}" for what, count in counted.items() if count)
    return Births(edges_of(new), fresh, before, after, 0 if gained is None else len(gained), left_out)


def _refuse(codes: Ints, where: str, what: str) -> None:
    """Refuse births and graphs that disagree about these edges, if there are any."""
    if len(codes):
        shown = [str(tuple(edge)) for edge in edges_of(codes[:_SHOWN]).tolist()] + ["…"] * (len(codes) > _SHOWN)
        fix = "Pass every edge that was added, and no other, as new_edges; None takes those that the graph gained."
        raise InputError(f"{len(codes)} edges {what}: {', '.join(shown)}", where=where, fix=fix)


# ---- its capacity


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
    return now if previous is None else (1 - _WEIGHT) * previous + _WEIGHT * now


def checked_tgc(tgc: Any) -> float | None:
    """The capacity reported by a system: one finite number, or None."""
    if tgc is None:
        return None
    number = as_numeric(tgc, "tgc")
    if number.ndim or not np.isfinite(number):
        raise InputError(f"found {tgc}", where="tgc", fix="Pass a number, or None to compute it.")
    return float(number)


# ---- checked


class State:
    """The system before and after one cycle, with a row for each of its nodes; every fault of a cycle is an error.

    `before` has the embeddings before the cycle, None if they are unknown; `inserted` also has new nodes, as they were
    inserted.
    """

    def __init__(self, given: Cycle, labelled: Labelled, options: Options, past: Past) -> None:
        self.cycle, self.options, self.past = given.cycle, options, past
        self.after = self._read(given.embeddings, "embeddings")
        self.nodes = nodes = len(self.after)
        known = 0
        self.before: Points | None = None
        self.inserted: Points | None = None
        if given.previous_embeddings is not None:
            before = self._read(given.previous_embeddings, "previous_embeddings")
            known = len(before)
            if known > nodes:
                what = f"{known} rows before the cycle, {nodes} after it"
                fix = 'A node keeps its row. For a removed node, fill the row with NaN and pass nan="omit".'
                raise InputError(what, where="previous_embeddings", fix=fix)
            at = given.inserted_embeddings
            new = self.after if at is None else self._read(at, "inserted_embeddings")
            if len(new) != nodes:
                fix = "Pass one row per node; only those of new nodes are used."
                raise InputError(f"{len(new)} rows, {nodes} after the cycle", where="inserted_embeddings", fix=fix)
            self.before, self.inserted = before.extended(nodes), before.extended(nodes, new)
        self.births = births_of(given, nodes, options, past)
        self.original = labelled.below(nodes)
        self.types = None if options.node_types is None else types_of(options.node_types, nodes)
        self.pools = None if given.pools is None else _pools(given.pools, known, nodes)
        self.test_edges = as_edges(options.test_edges, "test_edges", nodes)
        self.reported_tgc = checked_tgc(given.tgc)
        counted = {
            "nodes left out because their embedding has NaN": np.count_nonzero(~self.after.present),
            "original or labelled nodes that have no embedding yet": np.count_nonzero(labelled.nodes >= nodes),
        }
        said = (f"{what}: {count}" for what, count in counted.items() if count)
        self.warnings = (*self.births.left_out, *said)

    def _read(self, embeddings: Any, name: str) -> Points:
        options = self.options
        return Points.from_embeddings(embeddings, name, nan=options.nan, score=options.score, directed=options.directed)

    @cached_property
    def eligible(self) -> Ints:
        """The original nodes that have an embedding."""
        return self.original.ids[self.after.present[self.original.ids]]

    @cached_property
    def newborn(self) -> Mask:
        """Which nodes have an embedding, and had none before the cycle."""
        if self.before is None or self.inserted is None:
            return np.zeros(self.nodes, bool)
        return self.inserted.present & ~self.before.present

    @cached_property
    def old(self) -> Mask:
        """Which births have two nodes that had an embedding before the cycle."""
        return np.zeros(len(self.births), bool) if self.before is None else self.before.holds(self.births.edges)

    @cached_property
    def matched_pools(self) -> Ints:
        """The pool of each node, −1 if it cannot be chosen: by default degree, age and type."""
        assert self.before is not None
        if self.pools is not None:
            pools = self.pools
        else:
            grown = np.ones(self.nodes, np.int64)
            grown[self.original.ids] = 0
            # The exponent of frexp: 0 for degree 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7, …
            degrees = self.births.degrees_before(self.nodes).astype(float)
            pools = 2 * np.frexp(degrees)[1].astype(np.int64) + grown
            pools = pools if self.types is None else pools + (2 * 64 + 2) * self.types
        return np.where(self.before.present, pools, -1)

    @cached_property
    def tgc(self) -> float:
        """The capacity that the system reported, or that of the graphs, smoothed over the cycles that report none."""
        if self.reported_tgc is not None:
            return self.reported_tgc
        component = largest_component(self.births.after, self.nodes)
        return tgc_step(len(self.births), self.nodes, component, self.past.tgc)

    @property
    def kept(self) -> tuple[int, int]:
        """How many edges were born in earlier cycles, and how many of them are in the graph after this one."""
        return len(self.past.born), int(np.count_nonzero(among(self.past.born, self.births.after)))

    def remembered(self) -> Past:
        """What the next cycle knows of the run; a capacity that no metric asked for is not computed."""
        past, births = self.past, self.births
        born = set_of(births.edges, self.options.directed)
        computed = self.reported_tgc is None and "tgc" in vars(self)
        return Past(
            births.after,
            joined(past.seen, births.either),
            joined(past.born, born),
            self.tgc if computed else past.tgc,
        )

    def conventions(self, given: Cycle) -> dict[str, str]:
        """How the values are made."""
        options, per = self.options, self.options.per_birth
        return {
            "score": options.scored,
            "direction": "directed" if options.directed else "undirected, both orientations averaged",
            "newborn": f"at insertion, {'from after the cycle' if given.inserted_embeddings is None else 'as given'}",
            "negatives": "all non-edges" if per is None else f"{per} drawn for each birth",
            "pools": "degree and age" if self.pools is None else "as given",
            "tgc": "computed" if self.reported_tgc is None else "as given",
            "nan": options.nan,
        }


def _pools(pools: Any, known: int, nodes: int) -> Ints:
    """One number for every node before the cycle, padded by −1 for nodes that were born in it."""
    numbers = whole_numbers(pools, "pools")
    # Without the embeddings before, the number of nodes before is unknown too.
    if numbers.ndim != 1 or not known <= len(numbers) <= nodes:
        wanted = f"one number for each of the {known or nodes} nodes before the cycle"
        raise InputError(f"expected {wanted}, found shape {numbers.shape}", where="pools")
    if (numbers < 0).any():
        raise InputError(f"{numbers.min()} is negative", where="pools", fix="Number the pools from 0.")
    return np.pad(numbers, (0, nodes - len(numbers)), constant_values=-1)
