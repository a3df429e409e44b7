"""Metrics of the thresholded graph: its arrows, the parts of its distance, and its adjacencies.

`edges[name]` are counts by name (`counts.py`), an entry per graph: `true` and `predicted` arrows, `tp` of them in both;
`true_pairs`, `predicted_pairs`, `common_pairs` adjacencies; `differing_pairs` and so on.
"""

from __future__ import annotations

from typing import Any

from graphgauge.core.metric import Estimate
from graphgauge.recovery.metrics import declared as of
from graphgauge.recovery.samples import Edges

_NO_TRUE_ARROW, _NO_PREDICTED_ARROW = "no directed true edges", "no directed predicted edges"
_NO_ARROW, _NO_EDGE = "neither graph has a directed edge", "both graphs are empty"
_NO_COMMON = "no pair is adjacent in both graphs"

# ---- arrows


@of.edges("directed_precision", default=True, laws=of.EXCHANGED, fair_to=None)
def directed_precision(edges: Edges) -> Estimate:
    """Share of directed predicted edges that are true, direction included."""
    return edges.ratio(edges["tp"], edges["predicted"], _NO_PREDICTED_ARROW)


@of.edges("directed_recall", default=True, laws=of.EXCHANGED)
def directed_recall(edges: Edges) -> Estimate:
    """Share of directed true edges that are predicted, direction included."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE_ARROW)


@of.edges("directed_f1", default=True)
def directed_f1(edges: Edges) -> Estimate:
    """Harmonic mean of precision and recall, 2·TP over directed predicted plus directed true edges."""
    return edges.ratio(2 * edges["tp"], edges["predicted"] + edges["true"], _NO_ARROW)


@of.edges(
    "directed_shd", default=True, **of.DISTANCE, conventions=of.PAIRS | {"undirected": "equals an undirected edge only"}
)
def directed_shd(edges: Edges) -> Estimate:
    """Structural Hamming distance.

    `pair` counts pairs of nodes whose edges differ: a reversal costs 1. `cell` counts cells: a reversal costs 2. An
    undirected edge where the other graph has a directed one costs 1 in both.
    """
    return edges.number(edges[f"differing_{edges.shd}s"], "pairs")


@of.edges("orientation_accuracy", default=True, unit="pair", conventions=of.PAIRS, chance=of.random_directions)
def orientation_accuracy(edges: Edges) -> Estimate:
    """Share of pairs adjacent in both graphs whose predicted edges are exactly the true ones.

    Predicting both directions of a one-way edge, or an undirected edge, is wrong. Edges that time or `sources=` orient
    are not counted.
    """
    return edges.ratio(edges["correct"], edges["oriented_pairs"], _NO_COMMON)


@of.edges("tp", **of.COUNT)
def tp(edges: Edges) -> Estimate:
    """Directed predicted edges that are true."""
    return edges.number(edges["tp"], "cells")


@of.edges("fp", **of.COUNT, laws=of.ONE_WAY)
def fp(edges: Edges) -> Estimate:
    """Directed predicted edges that are not true."""
    return edges.number(edges["predicted"] - edges["tp"], "cells")


@of.edges("fn", **of.COUNT, laws=of.ONE_WAY)
def fn(edges: Edges) -> Estimate:
    """Directed true edges that are not predicted."""
    return edges.number(edges["true"] - edges["tp"], "cells")


@of.edges("fdr", direction="lower", laws=of.EXCHANGED, fair_to=None)
def fdr(edges: Edges) -> Estimate:
    """False discovery rate: share of predicted edges that are not true, 1 − directed_precision."""
    return edges.ratio(edges["predicted"] - edges["tp"], edges["predicted"], _NO_PREDICTED_ARROW)


@of.edges("tpr", laws=of.EXCHANGED)
def tpr(edges: Edges) -> Estimate:
    """True positive rate, another name for directed_recall."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE_ARROW)


@of.edges("fpr", direction="lower", laws=of.ONE_WAY, fair_to=None)
def fpr(edges: Edges) -> Estimate:
    """False positive rate: share of cells without a true edge that are predicted."""
    return edges.ratio(edges["predicted"] - edges["tp"], edges["cells"] - edges["true"], "every cell is a true edge")


# ---- the parts of the distance, and directions

_PART: dict[str, Any] = of.DISTANCE | {
    "direction": "none",
    "conventions": of.PAIRS | {"undirected": "equals an undirected edge only"},
}


@of.edges("shd_missing", **_PART, laws=of.ONE_WAY)
def shd_missing(edges: Edges) -> Estimate:
    """The part of the distance where the prediction only lacks edges (pairs, or cells, as the distance counts)."""
    return edges.number(edges[f"missing_{edges.shd}s"], "pairs")


@of.edges("shd_extra", **_PART, laws=of.ONE_WAY)
def shd_extra(edges: Edges) -> Estimate:
    """The part of the distance where the prediction only adds edges (pairs, or cells, as the distance counts)."""
    return edges.number(edges[f"extra_{edges.shd}s"], "pairs")


@of.edges("shd_reversed", **_PART)
def shd_reversed(edges: Edges) -> Estimate:
    """One-way pairs that point the other way; each adds 1 to the distance in pairs and 2 to the one in cells."""
    return edges.number(edges["reversed"], "pairs")


@of.edges("shd_undirected", **_PART)
def shd_undirected(edges: Edges) -> Estimate:
    """Pairs adjacent in both graphs by different edges of which one has no direction; each adds 1 to the distance."""
    return edges.number(edges["undirected_differs"], "pairs")


_DIRECTIONS: dict[str, Any] = of.COUNT | {"unit": "pair", "conventions": _PART["conventions"]}


@of.edges("correct_direction", **_DIRECTIONS)
def correct_direction(edges: Edges) -> Estimate:
    """Pairs adjacent in both graphs whose edges are the same."""
    return edges.number(edges["correct"], "pairs")


@of.edges("wrong_direction", **_DIRECTIONS, laws=of.ONE_WAY)
def wrong_direction(edges: Edges) -> Estimate:
    """Pairs adjacent in both graphs that are reversed, or directed differently from the truth."""
    return edges.number(edges["oriented_pairs"] - edges["correct"] - edges["undecided"], "pairs")


@of.edges("unoriented", **_DIRECTIONS, laws=of.ONE_WAY)
def unoriented(edges: Edges) -> Estimate:
    """Pairs directed in the truth that are predicted without direction, or both ways."""
    return edges.number(edges["undecided"], "pairs")


# ---- adjacencies


@of.skeletons("skeleton_precision", default=True, laws=of.EXCHANGED)
def skeleton_precision(edges: Edges) -> Estimate:
    """Share of predicted adjacencies that are true, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["predicted_pairs"], "no predicted edges")


@of.skeletons("skeleton_recall", default=True, laws=of.EXCHANGED)
def skeleton_recall(edges: Edges) -> Estimate:
    """Share of true adjacencies that are predicted, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["true_pairs"], "no true edges")


@of.skeletons("skeleton_f1", default=True)
def skeleton_f1(edges: Edges) -> Estimate:
    """Harmonic mean of skeleton precision and recall."""
    return edges.ratio(2 * edges["common_pairs"], edges["predicted_pairs"] + edges["true_pairs"], _NO_EDGE)


@of.skeletons("skeleton_shd", default=True, **of.DISTANCE)
def skeleton_shd(edges: Edges) -> Estimate:
    """Pairs that are adjacent in one graph only."""
    return edges.number(edges["true_pairs"] + edges["predicted_pairs"] - 2 * edges["common_pairs"], "pairs")


@of.skeletons("skeleton_tp", **of.COUNT)
def skeleton_tp(edges: Edges) -> Estimate:
    """Pairs adjacent in both graphs."""
    return edges.number(edges["common_pairs"], "pairs")


@of.skeletons("skeleton_fp", **of.COUNT, laws=of.ONE_WAY)
def skeleton_fp(edges: Edges) -> Estimate:
    """Pairs adjacent in the prediction only."""
    return edges.number(edges["predicted_pairs"] - edges["common_pairs"], "pairs")


@of.skeletons("skeleton_fn", **of.COUNT, laws=of.ONE_WAY)
def skeleton_fn(edges: Edges) -> Estimate:
    """Pairs adjacent in the truth only."""
    return edges.number(edges["true_pairs"] - edges["common_pairs"], "pairs")
