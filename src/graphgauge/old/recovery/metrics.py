"""The recovery metrics: one function each, with its declared properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphgauge.old.core.metric import Estimate, NoChance, metric
from graphgauge.old.recovery.declared import (
    ADJUSTMENT,
    CELLS,
    COLLIDERS,
    COUNT,
    CURVE,
    DIRECTIONS,
    DISTANCE,
    EDGES,
    LAWS,
    MARK,
    MEMBERS,
    MODEL_DISTANCE,
    MORE_IS_NOT_BETTER,
    NO_COMMON,
    ONE_WAY,
    PAIRS,
    PART,
    SHARE,
    SKELETON,
    SKELETON_COUNT,
    SKELETON_SHARE,
    TO_ALL,
    TURNED_IS_ADJACENT,
    WEIGHTS,
    WITHOUT_LINES,
    blind_skeleton,
    coin_flips,
    constant_scores,
)
from graphgauge.old.recovery.samples import Curves, EdgeCounts, Models, Weights

_NO_TRUE, _NO_PREDICTED = "no true edges", "no predicted edges"
_NO_TRUE_ARROW, _NO_PREDICTED_ARROW = "no directed true edges", "no directed predicted edges"
_NO_EDGES, _NO_ARROW = "both graphs are empty", "neither graph has a directed edge"
_NO_TRUE_HEAD, _NO_PREDICTED_HEAD = "no true arrowheads", "no predicted arrowheads"
_NO_TRUE_TAIL, _NO_PREDICTED_TAIL = "no true tails", "no predicted tails"
_NO_HEAD, _NO_TAIL = "neither graph has an arrowhead", "neither graph has a tail"
_ONE_CLASS = "no directed true edges, or nothing else"


@metric(key="directed_precision", **SHARE | TO_ALL)
def directed_precision(edges: EdgeCounts) -> Estimate:
    """Share of directed predicted edges that are true, direction included."""
    return edges.ratio(edges["tp"], edges["predicted"], _NO_PREDICTED_ARROW)


@metric(key="directed_recall", **SHARE)
def directed_recall(edges: EdgeCounts) -> Estimate:
    """Share of directed true edges that are predicted, direction included."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE_ARROW)


@metric(key="directed_f1", **EDGES)
def directed_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of precision and recall, 2·TP over directed predicted plus directed true edges."""
    return edges.ratio(2 * edges["tp"], edges["predicted"] + edges["true"], _NO_ARROW)


@metric(key="directed_shd", **DISTANCE)
def directed_shd(edges: EdgeCounts) -> Estimate:
    """Structural Hamming distance.

    `pair` counts pairs of nodes whose edges differ: a reversal costs 1. `cell` counts cells: a reversal costs 2. An
    undirected edge where the other graph has a directed one costs 1 in both.
    """
    return edges.count(edges[f"differing_{edges.shd}s"], edges["pairs"])


@metric(key="orientation_accuracy", **EDGES | {"unit": "pair", "conventions": PAIRS, "chance": coin_flips})
def orientation_accuracy(edges: EdgeCounts) -> Estimate:
    """Share of pairs adjacent in both graphs whose predicted edges are exactly the true ones.

    Predicting both directions of a one-way edge, or an undirected edge, is wrong. Lagged edges are oriented by time and
    not counted.
    """
    return edges.ratio(edges["correct"], edges["oriented_pairs"], NO_COMMON)


@metric(key="skeleton_precision", **SKELETON_SHARE)
def skeleton_precision(edges: EdgeCounts) -> Estimate:
    """Share of predicted adjacencies that are true, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["predicted_pairs"], _NO_PREDICTED)


@metric(key="skeleton_recall", **SKELETON_SHARE)
def skeleton_recall(edges: EdgeCounts) -> Estimate:
    """Share of true adjacencies that are predicted, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["true_pairs"], _NO_TRUE)


@metric(key="skeleton_f1", **SKELETON)
def skeleton_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of skeleton precision and recall."""
    both = edges["predicted_pairs"] + edges["true_pairs"]
    return edges.ratio(2 * edges["common_pairs"], both, _NO_EDGES)


@metric(
    key="skeleton_shd",
    **DISTANCE | TO_ALL | {"chance": blind_skeleton, "laws": LAWS | TURNED_IS_ADJACENT},
)
def skeleton_shd(edges: EdgeCounts) -> Estimate:
    """Pairs that are adjacent in one graph only."""
    differing = edges["true_pairs"] + edges["predicted_pairs"] - 2 * edges["common_pairs"]
    return edges.count(differing, edges["pairs"])


@metric(
    key="auprc",
    **CURVE
    | {
        "chance": constant_scores(lambda curve: curve.edges / curve.cells if curve.tails.negatives else np.nan),
        "conventions": CELLS | {"ties": "enter together"},
        "reference": "davis2006",
    },
)
def auprc(curves: Curves) -> Estimate:
    """Average precision of the scores: precision at each true edge, averaged; step-wise, or by trapezoids if asked."""
    steps = curves.area == "steps"
    return curves.each(
        lambda curve: curve.average_precision() if steps else curve.trapezoid(), _ONE_CLASS, range=(0.0, 1.0)
    )


@metric(
    key="roc_auc",
    **CURVE
    | {
        "chance": constant_scores(lambda curve: 0.5 if curve.tails.negatives else np.nan),
        "conventions": CELLS | {"ties": "count half"},
        "reference": "hanley1982",
    },
)
def roc_auc(curves: Curves) -> Estimate:
    """Probability that a true edge scores above a cell without one; ties count half."""
    return curves.each(lambda curve: curve.roc_auc(), _ONE_CLASS, range=(0.0, 1.0))


@metric(
    key="f1_at_{fraction}e",
    **CURVE
    | {
        "chance": constant_scores(
            lambda curve, fraction: (
                2 * curve.cut(fraction) * curve.edges / curve.cells / (curve.cut(fraction) + curve.edges)
            )
        ),
        "conventions": CELLS | {"ties": "the mean over random order at the cut"},
        "reference": "marbach2012",
    },
)
def f1_at_k(curves: Curves, *, fraction: float = 1.0) -> Estimate:
    """F1 of the K highest-scoring cells, with K a fraction of the number of true edges, rounded down, at least 1."""
    return curves.each(lambda curve: curve.f1_at(fraction), _NO_TRUE_ARROW, range=(0.0, 1.0))


@metric(key="tp", **COUNT)
def tp(edges: EdgeCounts) -> Estimate:
    """Directed predicted edges that are true."""
    return edges.count(edges["tp"], edges["cells"])


@metric(key="fp", **COUNT | {"laws": LAWS | ONE_WAY})
def fp(edges: EdgeCounts) -> Estimate:
    """Directed predicted edges that are not true."""
    return edges.count(edges["predicted"] - edges["tp"], edges["cells"])


@metric(key="fn", **COUNT | {"laws": LAWS | ONE_WAY})
def fn(edges: EdgeCounts) -> Estimate:
    """Directed true edges that are not predicted."""
    return edges.count(edges["true"] - edges["tp"], edges["cells"])


@metric(key="skeleton_tp", **SKELETON_COUNT)
def skeleton_tp(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs."""
    return edges.count(edges["common_pairs"], edges["pairs"])


@metric(key="skeleton_fp", **SKELETON_COUNT | {"laws": LAWS | ONE_WAY})
def skeleton_fp(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in the prediction only."""
    return edges.count(edges["predicted_pairs"] - edges["common_pairs"], edges["pairs"])


@metric(key="skeleton_fn", **SKELETON_COUNT | {"laws": LAWS | ONE_WAY})
def skeleton_fn(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in the truth only."""
    return edges.count(edges["true_pairs"] - edges["common_pairs"], edges["pairs"])


@metric(key="correct_direction", **DIRECTIONS)
def correct_direction(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs whose edges are the same."""
    return edges.count(edges["correct"], edges["pairs"])


@metric(key="wrong_direction", **DIRECTIONS | {"laws": LAWS | ONE_WAY})
def wrong_direction(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs that are reversed, or directed differently from the truth."""
    wrong = edges["oriented_pairs"] - edges["correct"] - edges["undecided"]
    return edges.count(wrong, edges["pairs"])


@metric(key="unoriented", **DIRECTIONS | {"laws": LAWS | ONE_WAY})
def unoriented(edges: EdgeCounts) -> Estimate:
    """Pairs directed in the truth that are predicted without direction, or both ways."""
    return edges.count(edges["undecided"], edges["pairs"])


@metric(key="shd_missing", **PART)
def shd_missing(edges: EdgeCounts) -> Estimate:
    """The part of the distance where the prediction only lacks edges (pairs, or cells, as the distance counts)."""
    return edges.count(edges[f"missing_{edges.shd}s"], edges["pairs"])


@metric(key="shd_extra", **PART)
def shd_extra(edges: EdgeCounts) -> Estimate:
    """The part of the distance where the prediction only adds edges (pairs, or cells, as the distance counts)."""
    return edges.count(edges[f"extra_{edges.shd}s"], edges["pairs"])


@metric(key="shd_reversed", **PART | {"laws": LAWS})
def shd_reversed(edges: EdgeCounts) -> Estimate:
    """One-way pairs that point the other way; each adds 1 to the distance in pairs and 2 to the one in cells."""
    return edges.count(edges["reversed"], edges["pairs"])


@metric(key="shd_undirected", **PART | {"laws": LAWS})
def shd_undirected(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs by different edges of which one has no direction; each adds 1 to the distance."""
    return edges.count(edges["undirected_differs"], edges["pairs"])


@metric(key="fdr", **SHARE | TO_ALL | {"direction": "lower"})
def fdr(edges: EdgeCounts) -> Estimate:
    """False discovery rate: share of predicted edges that are not true, 1 − directed_precision."""
    return edges.ratio(edges["predicted"] - edges["tp"], edges["predicted"], _NO_PREDICTED_ARROW)


@metric(key="tpr", **SHARE)
def tpr(edges: EdgeCounts) -> Estimate:
    """True positive rate, another name for directed_recall."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE_ARROW)


@metric(key="fpr", **SHARE | TO_ALL | {"direction": "lower", "laws": LAWS | ONE_WAY})
def fpr(edges: EdgeCounts) -> Estimate:
    """False positive rate: share of cells without a true edge that are predicted."""
    return edges.ratio(edges["predicted"] - edges["tp"], edges["cells"] - edges["true"], "every cell is a true edge")


@metric(
    key="best_f1",
    **CURVE
    | {
        "chance": constant_scores(lambda curve: 2 * curve.edges / (curve.cells + curve.edges)),
        "conventions": CELLS | {"threshold": "the best one, known only with the truth"},
    },
)
def best_f1(curves: Curves) -> Estimate:
    """The highest directed F1 of any threshold: an upper bound, because the threshold is chosen on the truth."""
    return replace(curves.each(lambda curve: curve.best_f1(), _NO_TRUE_ARROW, range=(0.0, 1.0)), oracle=True)


@metric(
    key="best_threshold",
    **CURVE
    | {
        "chance": NoChance("a threshold is chosen, not scored"),
        "direction": "none",
        "bounds": (-np.inf, np.inf),
        "conventions": CELLS | {"threshold": "the highest score not selected; the highest of equally good ones"},
    },
)
def best_threshold(curves: Curves) -> Estimate:
    """The threshold of best_f1: edges are scores above it, so it is the highest score that is not selected."""
    return replace(curves.each(lambda curve: curve.best_threshold(), _NO_TRUE_ARROW), oracle=True)


@metric(key="v_structure_precision", **COLLIDERS)
def v_structure_precision(models: Models) -> Estimate:
    """Share of predicted unshielded colliders that are true."""
    _, predicted, common = models.v_structures
    return models.ratio(common, predicted, "the prediction has no v-structure")


@metric(key="v_structure_recall", **COLLIDERS)
def v_structure_recall(models: Models) -> Estimate:
    """Share of true unshielded colliders that are predicted."""
    true, _, common = models.v_structures
    return models.ratio(common, true, "the truth has no v-structure")


@metric(key="v_structure_f1", **COLLIDERS | {"laws": LAWS | MORE_IS_NOT_BETTER})
def v_structure_f1(models: Models) -> Estimate:
    """Harmonic mean of the precision and recall of unshielded colliders."""
    true, predicted, common = models.v_structures
    return models.ratio(2 * common, true + predicted, "neither graph has a v-structure")


@metric(
    key="cpdag_shd",
    **MODEL_DISTANCE
    | {
        "reference": "tsamardinos2006",
        "conventions": {"counts": "pairs, whatever shd is", "graphs": "DAGs, or CPDAGs with a named encoding"},
    },
)
def cpdag_shd(models: Models) -> Estimate:
    """Structural Hamming distance in pairs between the equivalence classes (CPDAGs) of both graphs."""
    return models.cpdag_distance()


@metric(
    key="sid", **ADJUSTMENT | {"reference": "peters2015", "conventions": {"counts": "ordered pairs", "graphs": "DAGs"}}
)
def sid(models: Models) -> Estimate:
    """Structural intervention distance: ordered pairs whose effect the prediction's parent sets get wrong."""
    return models.adjustment_distance("sid")


@metric(key="parent_aid", **ADJUSTMENT)
def parent_aid(models: Models) -> Estimate:
    """Adjustment identification distance with parent sets."""
    return models.adjustment_distance("parent_aid")


@metric(key="ancestor_aid", **ADJUSTMENT)
def ancestor_aid(models: Models) -> Estimate:
    """Adjustment identification distance with ancestor sets."""
    return models.adjustment_distance("ancestor_aid")


@metric(key="oset_aid", **ADJUSTMENT)
def oset_aid(models: Models) -> Estimate:
    """Adjustment identification distance with optimal adjustment sets."""
    return models.adjustment_distance("oset_aid")


@metric(key="arrowhead_precision", **MARK | TO_ALL)
def arrowhead_precision(edges: EdgeCounts) -> Estimate:
    """Share of predicted arrowheads that are true, whatever the mark at the other end."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_predicted"], _NO_PREDICTED_HEAD)


@metric(key="arrowhead_recall", **MARK)
def arrowhead_recall(edges: EdgeCounts) -> Estimate:
    """Share of true arrowheads that are predicted; a circle does not find one."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_true"], _NO_TRUE_HEAD)


@metric(key="arrowhead_f1", **MARK)
def arrowhead_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of the precision and recall of arrowheads."""
    both = edges["arrowheads_predicted"] + edges["arrowheads_true"]
    return edges.ratio(2 * edges["arrowheads_tp"], both, _NO_HEAD)


@metric(key="tail_precision", **MARK | {"fair_to": WITHOUT_LINES})
def tail_precision(edges: EdgeCounts) -> Estimate:
    """Share of predicted tails that are true; an undirected edge has two."""
    return edges.ratio(edges["tails_tp"], edges["tails_predicted"], _NO_PREDICTED_TAIL)


@metric(key="tail_recall", **MARK)
def tail_recall(edges: EdgeCounts) -> Estimate:
    """Share of true tails that are predicted; a circle does not find one."""
    return edges.ratio(edges["tails_tp"], edges["tails_true"], _NO_TRUE_TAIL)


@metric(key="tail_f1", **MARK)
def tail_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of the precision and recall of tails."""
    return edges.ratio(2 * edges["tails_tp"], edges["tails_predicted"] + edges["tails_true"], _NO_TAIL)


@metric(key="member_shd_{bound}", **MEMBERS | {"direction": "lower", "bounds": (0, np.inf)})
def member_shd(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) SHD in pairs over the DAGs that both graphs represent."""
    return models.over_members("shd", bound)


@metric(key="member_f1_{bound}", **MEMBERS | {"reference": "rijsbergen1979"})
def member_f1(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) directed F1 over the DAGs that both graphs represent."""
    return models.over_members("f1", bound)


@metric(
    key="member_sid_{bound}",
    **MEMBERS
    | {
        "direction": "lower",
        "bounds": (0, np.inf),
        "reference": "peters2015",
        "laws": LAWS | ONE_WAY | MORE_IS_NOT_BETTER,
    },
)
def member_sid(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) SID over the DAGs that the prediction represents; the truth is a DAG.

    The least and the greatest are the bounds of Peters and Bühlmann.
    """
    return models.over_members("sid", bound)


@metric(
    key="auprc_ratio",
    **CURVE
    | {
        "chance": constant_scores(lambda curve: 1.0 if curve.tails.negatives else np.nan),
        "bounds": (0, np.inf),
        "conventions": CELLS | {"ties": "enter together"},
        "reference": "pratapa2020",
        "default": False,
    },
)
def auprc_ratio(curves: Curves) -> Estimate:
    """Average precision over that of a random order, which is the share of true edges among the cells."""
    return curves.each(
        lambda curve: curve.average_precision() * curve.cells / curve.edges if curve.edges else np.nan, _ONE_CLASS
    )


@metric(
    key="early_precision_ratio",
    **CURVE
    | {
        "chance": constant_scores(lambda curve: 1.0),
        "bounds": (0, np.inf),
        "conventions": CELLS | {"ties": "the mean over random order at the cut"},
        "reference": "pratapa2020",
        "default": False,
    },
)
def early_precision_ratio(curves: Curves) -> Estimate:
    """Precision of the K highest cells, K the number of true edges, over that of a random order (EPR)."""
    return curves.each(
        lambda curve: curve.f1_at(1.0) * curve.cells / curve.edges if curve.edges else np.nan, _NO_TRUE_ARROW
    )


@metric(key="sign_accuracy", **WEIGHTS)
def sign_accuracy(weights: Weights) -> Estimate:
    """Share of the arrows in both graphs whose weights have the same sign."""
    return weights.each(lambda true, found: float(np.mean(np.sign(true) == np.sign(found))), range=(0.0, 1.0))


@metric(key="weight_rmse", **WEIGHTS | {"direction": "lower", "bounds": (0, np.inf)})
def weight_rmse(weights: Weights) -> Estimate:
    """Root mean squared difference of the weights of the arrows in both graphs."""
    return weights.each(lambda true, found: float(np.sqrt(np.mean((np.subtract(true, found, dtype=float)) ** 2))))
