"""One cycle, checked: the arrays that its metrics are computed from."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask
from graphgauge.evolution.births import births_of
from graphgauge.evolution.cycle import Cycle, Options, Past
from graphgauge.evolution.edges import among, as_edges, joined, set_of, whole_numbers
from graphgauge.evolution.growth import checked_tgc, largest_component, tgc_step
from graphgauge.evolution.labels import Labelled, types_of
from graphgauge.evolution.points import Points


class State:
    """The system before and after one cycle, with a row for each of its nodes; every fault of a cycle is an error.

    `before` has the embeddings before the cycle, None if they are unknown; `inserted` also has new nodes, as they were
    inserted.
    """

    def __init__(self, given: Cycle, labelled: Labelled, options: Options, past: Past) -> None:
        self.cycle, self.options, self.past = given.cycle, options, past
        self.after = self._read(given.embeddings, "embeddings")
        nodes, known = len(self.after), 0
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
            "original nodes that have no embedding yet": np.count_nonzero(labelled.ids >= nodes),
        }
        said = (f"{what}: {count}" for what, count in counted.items() if count)
        self.warnings = (*self.births.left_out, *said)

    def _read(self, embeddings: Any, name: str) -> Points:
        options = self.options
        return Points.from_embeddings(embeddings, name, nan=options.nan, score=options.score, directed=options.directed)

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
            births.standing,
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
        what = (
            f"expected one number for each of the {known or nodes} nodes before the cycle, found shape {numbers.shape}"
        )
        raise InputError(what, where="pools")
    if (numbers < 0).any():
        raise InputError(f"{numbers.min()} is negative", where="pools", fix="Number the pools from 0.")
    return np.pad(numbers, (0, nodes - len(numbers)), constant_values=-1)
