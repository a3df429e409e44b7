"""Checks of systems that rewrite their own graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.finding import check
from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.births import Balance
from graphgauge.evolution.labels import Labelled
from graphgauge.stats.dyads import FEWEST_DYADIC_DF, Dyads
from graphgauge.stats.intervals import t_interval

Evidence = Mapping[str, Any]
# Smaller differences do not matter, even if significant.
_FAR = 0.05
# With fewer nodes per class, or fewer nodes beyond directions and classes, a feature may fit the labels by chance: a
# binary feature does so once in 2 ** 20 times.
_ENOUGH = 20
# Rounding error of the variance within classes, as a share of all variance along a direction.
_ROUNDING = 1e-8


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
    remedy="Pass the edges that the system added as new_edges, to tell its births from other changes.",
)
def inferred_births(inferred: int) -> Evidence | None:
    """Births were not declared, and are taken from the graphs."""
    return {"births": inferred} if inferred else None


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
    "undeclared-births",
    family="evolution",
    severity="error",
    message="{appeared:,} edges appeared without being declared, in addition to {declared:,} declared births "
    "({share:.0%} of all), in {cycles} of {known} cycles: the values cover only the declared ones",
    remedy="Pass every edge that the system added as new_edges; a selection says nothing about the system.",
)
def undeclared_births(balances: Sequence[Balance]) -> Evidence | None:
    """Edges appeared in the graph that the system did not declare as births."""
    appeared = sum(entry.appeared for entry in balances)
    if not appeared:
        return None
    declared = sum(entry.declared for entry in balances)
    return {
        "appeared": appeared,
        "declared": declared,
        "share": declared / (declared + appeared),
        "cycles": sum(entry.appeared > 0 for entry in balances),
        "known": len(balances),
    }


@check(
    "absent-declared",
    family="evolution",
    severity="error",
    message="{absent:,} declared births are not in the graph after the cycle, in {cycles} of {known} cycles",
    remedy="Declare what the system did: births that are in the graph after the cycle.",
)
def absent_declared(balances: Sequence[Balance]) -> Evidence | None:
    """Births were declared that the graphs do not show."""
    absent = sum(entry.absent for entry in balances)
    if not absent:
        return None
    return {"absent": absent, "cycles": sum(entry.absent > 0 for entry in balances), "known": len(balances)}


# Fewer re-births, or a smaller share of the births, may happen in any system that rewires its graph.
_MANY_REBORN, _LARGE_SHARE = 10, 0.1


@check(
    "reborn-edges",
    family="evolution",
    severity="note",
    message="{reborn:,} of {declared:,} births ({share:.0%}) are of edges that had existed and were removed: they are "
    "left out of the areas, because the embeddings have seen them",
    remedy="Say so next to the values: they are about the other births.",
)
def reborn_edges(balances: Sequence[Balance]) -> Evidence | None:
    """A large share of the births are of edges that existed before."""
    reborn, declared = (sum(getattr(entry, name) for entry in balances) for name in ("reborn", "declared"))
    if reborn < _MANY_REBORN or reborn < _LARGE_SHARE * declared:
        return None
    return {"reborn": reborn, "declared": declared, "share": reborn / declared}


@check(
    "bipartite-growth",
    family="evolution",
    message="every edge is between two sides of {left:,} and {right:,} nodes, and births are compared with pairs "
    "within a side too, which cannot happen",
    remedy="Pass the side of every node as node_types.",
)
def bipartite_growth(sides: tuple[int, int] | None = None) -> Evidence | None:
    """The graph is bipartite, and the negatives are not."""
    return None if sides is None else {"left": sides[0], "right": sides[1]}


@check(
    "test-edges-in-graph",
    family="evolution",
    severity="error",
    message="{inside:,} of {held:,} test edges were in the graph before the first cycle",
    remedy="Remove them from the graph before training; static_auc is about edges that were not seen.",
)
def held_out_in_graph(held: tuple[int, int] | None = None) -> Evidence | None:
    """Held-out edges are in the graph from the start."""
    return None if held is None or not held[1] else {"inside": held[1], "held": held[0]}


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
    message="along {directions} of {dimensions} directions of the embeddings all {nodes} nodes of {classes} classes "
    "fall on {points} points, and no class on two of them{column}: the probe is given the label",
    remedy="Find the labels among the inputs of the embeddings, and build the embeddings without them.",
    costly=True,
)
def label_in_embeddings(labels: Any, embeddings: Any, node_ids: Any = None) -> Evidence | None:
    """One embedding coordinate, or a sum of several, is the label itself."""
    labelled = Labelled.from_labels(labels, node_ids)
    rows = as_numeric(embeddings, "embeddings")
    require_shape(rows, (None, None), "embeddings", "Pass one row per node.")
    if labelled.nodes.max(initial=-1) >= len(rows):
        raise InputError(
            f"node {labelled.nodes[-1]} has a label, and there are {len(rows)} rows",
            where="embeddings",
            fix="Row i belongs to node i; pass node_ids if the labels belong to other nodes.",
        )
    return _given_away(rows[labelled.nodes].astype(np.float64), labelled.classes)


def _given_away(rows: Floats, classes: Ints) -> Evidence | None:
    """The directions along which every class is one point, and classes are not all the same one."""
    used = np.isfinite(rows).all(axis=1) & (classes >= 0)
    counts = np.bincount(classes[used], minlength=classes.max(initial=0) + 1)
    used &= counts[classes] >= _ENOUGH
    rows, (names, classes) = rows[used], np.unique(classes[used], return_inverse=True)
    if len(names) < 2:
        return None
    columns = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    centred = rows[:, columns] - rows[:, columns].mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    basis, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    basis = basis[:, sizes > sizes.max(initial=0) * max(centred.shape) * np.finfo(float).eps]
    nodes, dimensions = basis.shape
    if nodes - dimensions - len(names) < _ENOUGH:
        return None
    # Canonical directions: unit vectors along which the class means are farthest apart.
    turned = basis @ np.linalg.svd(_means(basis, classes) * np.sqrt(np.bincount(classes))[:, None])[2].T
    exact = turned[:, _within(turned, classes) < _ROUNDING]
    if not exact.shape[1]:
        return None
    points = len(np.unique(np.round(_means(exact, classes) * np.sqrt(nodes), 6), axis=0))
    alone = columns[_within(centred, classes) < _ROUNDING]
    return {
        "directions": exact.shape[1],
        "dimensions": dimensions,
        "nodes": nodes,
        "classes": len(names),
        "points": points,
        "column": f" (column {alone[0]} alone shows it)" if len(alone) else "",
    }


def _means(columns: Floats, classes: Ints) -> Floats:
    sums = np.zeros((classes.max() + 1, columns.shape[1]))
    np.add.at(sums, classes, columns)
    return sums / np.bincount(classes)[:, None]


def _within(columns: Floats, classes: Ints) -> Floats:
    """The share of each column's squares, which sum to 1, that is within classes."""
    return np.asarray(((columns - _means(columns, classes)[classes]) ** 2).sum(axis=0))
