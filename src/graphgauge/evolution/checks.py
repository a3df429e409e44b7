"""Checks of systems that rewrite their own graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.finding import check
from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.nodes import Labelled
from graphgauge.stats.dyads import FEWEST_DYADIC_DF, Dyads
from graphgauge.stats.intervals import t_interval

Evidence = Mapping[str, Any]
# Smaller differences do not matter, even if significant.
_FAR = 0.05
# With fewer nodes per class a column may fit the labels by chance: a binary one does so once in 2 ** 20 times.
_ENOUGH = 20


@check(
    "circular-auc",
    family="evolution",
    message="against the same pairs, births gain {gain:.3f} of area (95 % interval {low:.3f} to {high:.3f}) when "
    "scored by the embeddings after them in place of those before: auc_synthetic shows more than was there before",
    remedy="Judge growth by auc_birth or auc_matched; this does not say why the births moved closer.",
)
def circular_auc(paired: Sequence[tuple[Floats, Ints]]) -> Evidence | None:
    """Births score far better on the embeddings after them than on those before."""
    if not paired:
        return None
    gains = np.concatenate([gain for gain, _ in paired])
    # A node is another one in each cycle: cycles of one run are not all that births have in common, and yet the least.
    ends = np.concatenate([ends + cycle * (1 << 32) for cycle, (_, ends) in enumerate(paired)])
    dyads = Dyads(ends)
    if dyads.df < FEWEST_DYADIC_DF:
        return None
    gain = float(gains.mean())
    low, high = map(float, t_interval(gain, *dyads.error(gains), 0.95))
    return {"gain": gain, "low": low, "high": high} if gain >= _FAR and low > 0 else None


@check(
    "inferred-births",
    family="evolution",
    severity="note",
    message="births inferred from the graphs, because new_edges is not given: {births}",
    remedy="Cycles that have new_edges, the edges that the system added, tell its births from other changes.",
)
def inferred_births(inferred: Sequence[int]) -> Evidence | None:
    """Births were not declared, and are taken from the graphs."""
    return {"births": sum(inferred)} if any(inferred) else None


@check(
    "copied-run",
    family="evolution",
    message="runs with the births and embeddings of an earlier seed, which count once: {runs}",
    remedy="Give every run a seed of its own.",
)
def copied_run(copies: Mapping[str, int]) -> Evidence | None:
    """Several seeds have the same run."""
    runs = ", ".join(f"{count} of {name}" for name, count in copies.items())
    return {"runs": runs} if runs else None


@check(
    "bipartite-growth",
    family="evolution",
    message="every edge is between two sides of {left:,} and {right:,} nodes, and births are compared with pairs "
    "within a side too, which cannot happen",
    remedy="Pass the side of every node as node_types.",
)
def bipartite_growth(sides: Sequence[tuple[int, int]]) -> Evidence | None:
    """The graph is bipartite, and the negatives are not."""
    return {"left": sides[0][0], "right": sides[0][1]} if sides else None


@check(
    "test-edges-in-graph",
    family="evolution",
    severity="error",
    message="{inside:,} of {held:,} test edges were in the graph before the first cycle",
    remedy="Remove them from the graph before training; static_auc is about edges that were not seen.",
)
def held_out_in_graph(held: Sequence[tuple[int, int]]) -> Evidence | None:
    """Held-out edges are in the graph from the start."""
    return next(({"inside": inside, "held": count} for count, inside in held if inside), None)


@check(
    "shared-state",
    family="evolution",
    severity="error",
    message="{second} starts with the graph that {first} ended with: the conditions share one system",
    remedy="Start every condition from the same graph, with a system of its own.",
)
def shared_state(shared: tuple[str, str] | None = None) -> Evidence | None:
    """A condition goes on from the graph of another one."""
    return None if shared is None else {"first": shared[0], "second": shared[1]}


@check(
    "label-in-embeddings",
    family="evolution",
    severity="error",
    message="in column {column} of the embeddings all {nodes} nodes of {classes} classes have one of {values} values, "
    "and no class has two: the probe is given the label",
    remedy="Find the labels among the inputs of the embeddings, and build the embeddings without them.",
    costly=True,
)
def label_in_embeddings(labels: Any, embeddings: Any, node_ids: Any = None) -> Evidence | None:
    """A column of the embeddings is a code of the label: one value in each class, and not the same in all."""
    labelled = Labelled.from_labels(labels, node_ids)
    rows = as_numeric(embeddings, "embeddings")
    require_shape(rows, (None, None), "embeddings", "Pass one row per node.")
    if labelled.nodes.max(initial=-1) >= len(rows):
        what = f"node {labelled.nodes[-1]} has a label, and there are {len(rows)} rows"
        fix = "Row i belongs to node i; pass node_ids if the labels belong to other nodes."
        raise InputError(what, where="embeddings", fix=fix)
    rows, classes = rows[labelled.nodes], labelled.classes
    sizes = np.bincount(classes[classes >= 0], minlength=1)
    used = np.isfinite(rows).all(axis=1) & (classes >= 0) & (sizes[classes] >= _ENOUGH)
    rows, classes = rows[used], classes[used]
    order = np.argsort(classes, kind="stable")
    begins = np.flatnonzero(np.diff(classes[order], prepend=-1))
    if len(begins) < 2:
        return None
    low, high = (end.reduceat(rows[order], begins, axis=0) for end in (np.minimum, np.maximum))
    codes = np.flatnonzero((low == high).all(axis=0) & (low != low[0]).any(axis=0))
    if not len(codes):
        return None
    values = len(np.unique(low[:, codes[0]]))
    return {"column": int(codes[0]), "nodes": len(rows), "classes": len(begins), "values": values}
