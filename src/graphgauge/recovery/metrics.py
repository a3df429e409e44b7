"""The recovery metrics: of arrows, adjacencies, scores, marks, equivalence classes, effects and weights.

A metric is a formula over its sample; the values of trivial graphs beside it come from the same formula.
`edges[name]` are counts, an entry per graph, under the names of `WEIGHTS` (`compare.py`): `true` and `predicted` arrows
and `tp` in both, adjacencies in `true_pairs`, `predicted_pairs`, `common_pairs`, and so on. `edges.ratio` makes a share
of two of them, `edges.number` a number, and `edges.estimate` takes any value per graph.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.metric import Estimate, NoChance
from graphgauge.recovery import samples as of
from graphgauge.recovery.samples import Curves, Edges, Models, Weights
from graphgauge.recovery.structure import BOUNDS, Model, adjustment_distance, over_members

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


# ---- scores over all thresholds

_ONE_CLASS = f"{_NO_TRUE_ARROW}, or nothing else"


@of.curves("auprc", default=True, conventions=of.CELLS | {"ties": "enter together"}, reference="davis2006")
def auprc(curves: Curves) -> Estimate:
    """Average precision of the scores: precision at each true edge, averaged."""
    return curves.share(lambda curve: curve.average_precision(), _ONE_CLASS)


@of.curves(
    "auprc_trapezoid",
    conventions=of.CELLS | {"ties": "enter together", "between points": "straight lines, which are too high"},
    reference="davis2006",
)
def auprc_trapezoid(curves: Curves) -> Estimate:
    """The area under straight lines between the points of the precision-recall curve, from (0, 1)."""
    return curves.share(lambda curve: curve.trapezoid(), _ONE_CLASS)


@of.curves("roc_auc", default=True, conventions=of.CELLS | {"ties": "count half"}, reference="hanley1982")
def roc_auc(curves: Curves) -> Estimate:
    """Probability that a true edge scores above a cell without one; ties count half."""
    return curves.share(lambda curve: curve.roc_auc(), _ONE_CLASS)


@of.curves(
    "f1_at_{fraction}e",
    default=True,
    conventions=of.CELLS | {"ties": "the mean over random order at the cut"},
    reference="marbach2012",
)
def f1_at_k(curves: Curves, *, fraction: float = 1.0) -> Estimate:
    """F1 of the K highest-scoring cells, with K a fraction of the number of true edges, rounded down, at least 1."""
    if not 0 < fraction < inf:
        raise OptionError(f"the number of cells is a positive multiple of the true edges, not {fraction:g}")
    return curves.share(lambda curve: curve.f1_at(fraction), _NO_TRUE_ARROW)


@of.curves("best_f1", conventions=of.CELLS | {"threshold": "the best one, known only with the truth"})
def best_f1(curves: Curves) -> Estimate:
    """The highest directed F1 of any threshold: an upper bound, because the threshold is chosen on the truth."""
    return replace(curves.share(lambda curve: curve.best_f1(), _NO_TRUE_ARROW), oracle=True)


@of.curves(
    "best_threshold",
    direction="none",
    bounds=(-inf, inf),
    chance=NoChance("a threshold is chosen, not scored"),
    conventions=of.CELLS | {"threshold": "the highest score not selected; the highest of equally good ones"},
)
def best_threshold(curves: Curves) -> Estimate:
    """The threshold of best_f1: edges are scores above it, so it is the highest score that is not selected."""
    return replace(curves.each(lambda curve: curve.best_threshold(), _NO_TRUE_ARROW), oracle=True)


@of.curves("auprc_ratio", bounds=(0, inf), conventions=of.CELLS | {"ties": "enter together"}, reference="pratapa2020")
def auprc_ratio(curves: Curves) -> Estimate:
    """Average precision over that of a random order, which is the share of true edges among the cells."""
    return curves.each(lambda curve: curve.average_precision() / curve.prevalence if curve.edges else nan, _ONE_CLASS)


@of.curves(
    "early_precision_ratio",
    bounds=(0, inf),
    conventions=of.CELLS | {"ties": "the mean over random order at the cut"},
    reference="pratapa2020",
)
def early_precision_ratio(curves: Curves) -> Estimate:
    """Precision of the K highest cells, K the number of true edges, over that of a random order (EPR)."""
    return curves.each(
        lambda curve: curve.f1_at(1.0) * curve.cells / curve.edges if curve.edges else nan, _NO_TRUE_ARROW
    )


# ---- marks at the ends of edges

_MARK: dict[str, Any] = {"unit": "mark", "reference": "spirtes2000", "conventions": of.MARKS, "laws": of.ONE_WAY}


@of.edges("arrowhead_precision", **_MARK, fair_to=None)
def arrowhead_precision(edges: Edges) -> Estimate:
    """Share of predicted arrowheads that are true, whatever the mark at the other end."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_predicted"], "no predicted arrowheads")


@of.edges("arrowhead_recall", **_MARK)
def arrowhead_recall(edges: Edges) -> Estimate:
    """Share of true arrowheads that are predicted; a circle does not find one."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_true"], "no true arrowheads")


@of.edges("arrowhead_f1", **_MARK)
def arrowhead_f1(edges: Edges) -> Estimate:
    """Harmonic mean of the precision and recall of arrowheads."""
    both = edges["arrowheads_predicted"] + edges["arrowheads_true"]
    return edges.ratio(2 * edges["arrowheads_tp"], both, "neither graph has an arrowhead")


@of.edges("tail_precision", **_MARK, fair_to=of.WITHOUT_LINES)
def tail_precision(edges: Edges) -> Estimate:
    """Share of predicted tails that are true; an undirected edge has two."""
    return edges.ratio(edges["tails_tp"], edges["tails_predicted"], "no predicted tails")


@of.edges("tail_recall", **_MARK)
def tail_recall(edges: Edges) -> Estimate:
    """Share of true tails that are predicted; a circle does not find one."""
    return edges.ratio(edges["tails_tp"], edges["tails_true"], "no true tails")


@of.edges("tail_f1", **_MARK)
def tail_f1(edges: Edges) -> Estimate:
    """Harmonic mean of the precision and recall of tails."""
    return edges.ratio(
        2 * edges["tails_tp"], edges["tails_predicted"] + edges["tails_true"], "neither graph has a tail"
    )


# ---- equivalence classes

_COLLIDERS: dict[str, Any] = {
    "reference": "verma1990",
    "conventions": of.EMPTY | {"v-structure": "a → c ← b by one-way edges, a and b not adjacent"},
}


@of.models("v_structure_precision", **_COLLIDERS, laws=of.EXCHANGED)
def v_structure_precision(models: Models) -> Estimate:
    """Share of predicted unshielded colliders that are true."""
    _, predicted, common = models.colliders
    return models.ratio(common, predicted, "the prediction has no v-structure")


@of.models("v_structure_recall", **_COLLIDERS, laws=of.EXCHANGED)
def v_structure_recall(models: Models) -> Estimate:
    """Share of true unshielded colliders that are predicted."""
    true, _, common = models.colliders
    return models.ratio(common, true, "the truth has no v-structure")


@of.models("v_structure_f1", **_COLLIDERS)
def v_structure_f1(models: Models) -> Estimate:
    """Harmonic mean of the precision and recall of unshielded colliders."""
    true, predicted, common = models.colliders
    return models.ratio(2 * common, true + predicted, "neither graph has a v-structure")


@of.models(
    "cpdag_shd",
    **of.DISTANCE,
    conventions={"counts": "pairs, whatever shd is", "graphs": "DAGs, or CPDAGs with a named encoding"},
)
def cpdag_shd(models: Models) -> Estimate:
    """Structural Hamming distance in pairs between the equivalence classes (CPDAGs) of both graphs.

    A graph with undirected edges stands for its class as it is.
    """
    return models.distance(lambda true, found: true.compared.distance(found.compared))


_ADJUSTMENT: dict[str, Any] = {
    "reference": "henckel2024",
    "direction": "lower",
    "bounds": (0, inf),
    "fair_to": ("DAG",),
    "laws": of.ONE_WAY,
    "conventions": {"counts": "ordered pairs, of d·(d − 1)", "graphs": "DAGs, or CPDAGs with a named encoding"},
}


@of.models(
    "sid", **_ADJUSTMENT | {"reference": "peters2015", "conventions": {"counts": "ordered pairs", "graphs": "DAGs"}}
)
def sid(models: Models) -> Estimate:
    """Structural intervention distance: ordered pairs whose effect the prediction's parent sets get wrong."""
    return models.distance(partial(adjustment_distance, "sid"), ordered=True, dags=(0, 1))


@of.models("parent_aid", **_ADJUSTMENT)
def parent_aid(models: Models) -> Estimate:
    """Adjustment identification distance with parent sets."""
    return models.distance(partial(adjustment_distance, "parent_aid"), ordered=True)


@of.models("ancestor_aid", **_ADJUSTMENT)
def ancestor_aid(models: Models) -> Estimate:
    """Adjustment identification distance with ancestor sets."""
    return models.distance(partial(adjustment_distance, "ancestor_aid"), ordered=True)


@of.models("oset_aid", **_ADJUSTMENT)
def oset_aid(models: Models) -> Estimate:
    """Adjustment identification distance with optimal adjustment sets."""
    return models.distance(partial(adjustment_distance, "oset_aid"), ordered=True)


# ---- members of a class


@of.models(
    "member_sid_{bound}",
    direction="lower",
    bounds=(0, inf),
    reference="peters2015",
    laws=of.ONE_WAY,
    conventions={"members": "all DAGs that a CPDAG or MPDAG represents, each counted once; the truth is a DAG"},
)
def member_sid(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) SID over the DAGs that the prediction represents.

    The least and the greatest are the bounds of Peters and Bühlmann.
    """
    one_of("bound", bound, BOUNDS)

    def between(truth: Model, found: Model) -> float:
        return over_members(found, partial(adjustment_distance, "sid", truth))[bound]

    return models.distance(between, ordered=True, dags=(0,))


# ---- weights


@of.weights("sign_accuracy")
def sign_accuracy(weights: Weights) -> Estimate:
    """Share of the arrows in both graphs whose weights have the same sign."""
    return weights.each(lambda true, found: float(np.mean(np.sign(true) == np.sign(found))))


@of.weights("weight_rmse", direction="lower", bounds=(0, inf))
def weight_rmse(weights: Weights) -> Estimate:
    """Root mean squared difference of the weights of the arrows in both graphs."""
    return weights.each(lambda true, found: float(np.sqrt(np.mean(np.subtract(true, found, dtype=float) ** 2))))
