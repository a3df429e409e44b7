"""One cycle, checked: the arrays that its metrics are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask
from graphgauge.evolution.births import Births, births_of
from graphgauge.evolution.cycle import Cycle, Options, Past
from graphgauge.evolution.edges import as_edges, joined, set_of, whole_numbers
from graphgauge.evolution.growth import checked_tgc
from graphgauge.evolution.labels import Labelled, types_of
from graphgauge.evolution.points import Points


@dataclass(frozen=True)
class State:
    """The system before and after one cycle, with a row for each of its nodes.

    `before` has the embeddings before the cycle, None if they are unknown; `inserted` also has new nodes, as they were
    inserted.
    """

    cycle: int
    options: Options
    past: Past
    births: Births
    original: Labelled
    after: Points
    before: Points | None
    inserted: Points | None
    types: Ints | None
    pools: Ints | None
    test_edges: Ints
    tgc: float | None
    warnings: tuple[str, ...]

    @classmethod
    def from_cycle(cls, given: Cycle, labelled: Labelled, options: Options, past: Past) -> State:
        """Check a cycle; every fault is an error that names the argument."""
        read = partial(Points.from_embeddings, nan=options.nan, score=options.score, directed=options.directed)
        after, at, before = read(given.embeddings, "embeddings"), given.inserted_embeddings, given.previous_embeddings
        nodes, known = len(after), 0
        inserted = after if at is None else read(at, "inserted_embeddings")
        if len(inserted) != nodes:
            fix = "Pass one row per node; only those of new nodes are used."
            raise InputError(f"{len(inserted)} rows, {nodes} after the cycle", where="inserted_embeddings", fix=fix)
        if before is not None:
            before = read(before, "previous_embeddings")
            known = len(before)
            if known > nodes:
                what = f"{known} rows before the cycle, {nodes} after it"
                fix = 'A node keeps its row. For a removed node, fill the row with NaN and pass nan="omit".'
                raise InputError(what, where="previous_embeddings", fix=fix)
            before = before.extended(nodes)
        births, original = births_of(given, nodes, options, past), labelled.below(nodes)
        unborn = int(np.count_nonzero(labelled.ids >= nodes))
        return cls(
            given.cycle,
            options,
            past,
            births,
            original,
            after,
            before,
            None if before is None else before.extended(nodes, inserted),
            None if options.node_types is None else types_of(options.node_types, nodes),
            None if given.pools is None else _pools(given.pools, known, nodes),
            as_edges(options.test_edges, "test_edges", nodes),
            checked_tgc(given.tgc),
            (*births.left_out, *_left_out(after, unborn)),
        )

    @property
    def nodes(self) -> int:
        return len(self.after)

    @cached_property
    def eligible(self) -> Ints:
        """The original nodes that have an embedding."""
        ids = self.original.ids
        return ids if self.after.complete else ids[self.after.present[ids]]

    @cached_property
    def fresh(self) -> Mask:
        """Which births are of edges that never existed; embeddings may have been adapted to the others."""
        return ~self.births.reborn

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

    def remembered(self, tgc: float | None) -> Past:
        """What the next cycle knows of the run; `tgc` is the capacity that was computed."""
        past, births, nothing = self.past, self.births, np.empty(0, np.int64)
        born = set_of(births.edges, self.options.directed)
        return Past(
            births.standing,
            joined(nothing if past.seen is None else past.seen, births.either),
            joined(nothing if past.born is None else past.born, born),
            past.tgc if tgc is None else tgc,
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
            "tgc": "computed" if self.tgc is None else "as given",
            "nan": options.nan,
        }


def _left_out(after: Points, unborn: int) -> list[str]:
    """Nodes that do not count, and why."""
    said = []
    if not after.complete:
        said.append(f"nodes left out because their embedding has NaN: {np.count_nonzero(~after.present)}")
    if unborn:
        said.append(f"original nodes that have no embedding yet: {unborn}")
    return said


def _pools(pools: Any, known: int, nodes: int) -> Ints:
    """One number for every node before the cycle, padded by −1 for nodes that were born in it."""
    numbers = whole_numbers(pools, "pools")
    # Without the embeddings before, the number of nodes before is unknown too.
    if numbers.ndim != 1 or not known <= len(numbers) <= nodes:
        what = (
            f"expected one number for each of the {known or nodes} nodes before the cycle, found shape {numbers.shape}"
        )
        raise InputError(what, where="pools")
    if (numbers < 0).any():
        raise InputError(f"{numbers.min()} is negative", where="pools", fix="Number the pools from 0.")
    return np.pad(numbers, (0, nodes - len(numbers)), constant_values=-1)
