"""The recovery metrics: one function each, its facts beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.metric import (
    Bounds,
    Estimate,
    Exempt,
    IntervalRule,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
)  # fmt: skip
from graphgauge.recovery.samples import Curves, EdgeCounts, Models, Sample
from graphgauge.stats.intervals import mean_interval

_WHOLE = Exempt("a graph is compared whole; graphs of a stack are averaged")
_LAWS = {"permutation": True, "merge": _WHOLE, "monotone": True, "symmetry": True}
_NOT_SYMMETRIC = Exempt("truth and prediction play different parts")
_EXCHANGED = Exempt("precision and recall change places when truth and prediction do")
_MORE_IS_NOT_BETTER = Exempt("a true edge that is found can change what others mean")
_TURNED_IS_ADJACENT = Exempt("a reversed edge that is dropped takes a true adjacency along")
_ONE_WAY = _LAWS | {"symmetry": _NOT_SYMMETRIC}
_EMPTY = {"empty": "nan"}
_CELLS = _EMPTY | {"cells": "off the diagonal; at lags above 0 all"}
_PAIRS = _EMPTY | {"pairs": "unordered, each once; at lags above 0 each cell"}
_NO_TRUE, _NO_PREDICTED = "no true edges", "no predicted edges"
_ONE_CLASS = "no true edges, or nothing else"
_NO_COMMON = "no pair is adjacent in both graphs"


def _t_bounds(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    assert estimate.influence is not None
    return mean_interval(estimate.value, estimate.influence, estimate.facts.get("range"), confidence)


def _over_graphs(sample: Sample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t over the graphs of a stack; one graph has no interval of its own."""
    if len(sample) < 2 or not sample.averaged:
        return NoInterval("one graph has no interval of its own")
    return IntervalRule("t", "graphs", _t_bounds)


def _known(levels: Mapping[str, float]) -> dict[str, float]:
    return {name: level for name, level in levels.items() if level == level}


def _value(function: MetricFunction, sample: Sample, params: Mapping[str, Any]) -> float:
    return float(function(sample, **params).value[0])


def _blind(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph, the transposed prediction, and the exact mean over random graphs with as many edges."""
    levels = {"empty graph": edges.empty, "transposed prediction": edges.transposed}
    # Cells without a score cannot be drawn, which spoils the closed form.
    levels |= {} if edges.omitted else {"random graph with as many edges": edges.at_random}
    return _known({name: _value(function, level, params) for name, level in levels.items()})


def _blind_skeleton(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph, the transposed prediction, and the exact mean over random skeletons with as many edges."""
    levels = {"empty graph": edges.empty, "transposed prediction": edges.transposed}
    levels |= {"random graph with as many edges": edges.with_random_skeleton}
    return _known({name: _value(function, level, params) for name, level in levels.items()})


def _coin_flips(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The transposed prediction, and the mean if the same predicted edges pointed either way at random."""
    right = edges["one_way_in_both"] / 2 + edges["two_way_in_both"]
    flipped = float(edges.ratio(right, edges["oriented_pairs"], _NO_COMMON).value[0])
    return _known({"transposed prediction": _value(function, edges.transposed, params), "random directions": flipped})


def _constant_scores(level: Any) -> Any:
    """The transposed prediction, and what equal scores for all cells (a random order, on average) would give."""

    def chance(function: MetricFunction, curves: Curves, params: Mapping[str, Any]) -> dict[str, float]:
        constant = curves.per_curve(lambda curve: float(level(curve, **params)))
        transposed = _value(function, curves.transposed, params)
        return _known({"transposed prediction": transposed, "constant scorer": constant})

    chance.__doc__ = _constant_scores.__doc__
    return chance


def _empty_model(function: MetricFunction, models: Models, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph."""
    return _known({"empty graph": _value(function, models.empty, params)})


def _blind_model(function: MetricFunction, models: Models, params: Mapping[str, Any]) -> dict[str, float]:
    """The transposed prediction, and the empty graph, for which a share of nothing counts as 0."""
    levels = {
        "transposed prediction": models.transposed,
        "empty graph": replace(models.empty, zero_division=0.0),
    }
    return _known({name: _value(function, level, params) for name, level in levels.items()})


_NO_THRESHOLD = NoChance("a threshold is chosen, not scored")

_EDGES: dict[str, Any] = {
    "family": "recovery", "needs": ("edges",), "interval": _over_graphs, "chance": _blind, "unit": "cell",
    "conventions": _CELLS, "reference": "rijsbergen1979", "laws": _LAWS, "direction": "higher", "bounds": (0, 1),
}  # fmt: skip
_SKELETON = _EDGES | {
    "conventions": _PAIRS, "chance": _blind_skeleton, "unit": "pair",
    "laws": _LAWS | {"monotone": _TURNED_IS_ADJACENT},
}  # fmt: skip
_COUNT = _EDGES | {"direction": "none", "bounds": (0, np.inf)}
_SKELETON_COUNT = _SKELETON | {"direction": "none", "bounds": (0, np.inf)}
_DISTANCE = _COUNT | {"direction": "lower", "reference": "tsamardinos2006", "unit": "pair", "conventions": _PAIRS}
_SHARE = _EDGES | {"laws": _LAWS | {"symmetry": _EXCHANGED}}
_SKELETON_SHARE = _SKELETON | {"laws": _LAWS | {"symmetry": _EXCHANGED, "monotone": _TURNED_IS_ADJACENT}}
_CURVE = _EDGES | {"needs": ("curves",), "laws": _ONE_WAY}
_MODEL = _EDGES | {"needs": ("models",), "chance": _blind_model, "unit": "pair"}


@metric(key="directed_precision", **_SHARE)
def directed_precision(edges: EdgeCounts) -> Estimate:
    """Share of predicted edges that are true, direction included."""
    return edges.ratio(edges["tp"], edges["predicted"], _NO_PREDICTED)


@metric(key="directed_recall", **_SHARE)
def directed_recall(edges: EdgeCounts) -> Estimate:
    """Share of true edges that are predicted, direction included."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE)


@metric(key="directed_f1", **_EDGES)
def directed_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of precision and recall, 2·TP over predicted plus true edges."""
    return edges.ratio(2 * edges["tp"], edges["predicted"] + edges["true"], "both graphs are empty")


@metric(key="directed_shd", **_DISTANCE)
def directed_shd(edges: EdgeCounts) -> Estimate:
    """Structural Hamming distance.

    `pair` counts pairs of nodes whose edges differ: a reversal costs 1. `cell` counts cells: a reversal costs 2.
    """
    return edges.count(edges[f"differing_{edges.shd}s"], edges["pairs"])


@metric(key="orientation_accuracy", **_EDGES | {"unit": "pair", "conventions": _PAIRS, "chance": _coin_flips})
def orientation_accuracy(edges: EdgeCounts) -> Estimate:
    """Share of pairs adjacent in both graphs whose predicted edges are exactly the true ones.

    Predicting both directions of a one-way edge is wrong. Lagged edges are oriented by time and not counted.
    """
    return edges.ratio(edges["correct"], edges["oriented_pairs"], _NO_COMMON)


@metric(key="skeleton_precision", **_SKELETON_SHARE)
def skeleton_precision(edges: EdgeCounts) -> Estimate:
    """Share of predicted adjacencies that are true, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["predicted_pairs"], _NO_PREDICTED)


@metric(key="skeleton_recall", **_SKELETON_SHARE)
def skeleton_recall(edges: EdgeCounts) -> Estimate:
    """Share of true adjacencies that are predicted, directions ignored."""
    return edges.ratio(edges["common_pairs"], edges["true_pairs"], _NO_TRUE)


@metric(key="skeleton_f1", **_SKELETON)
def skeleton_f1(edges: EdgeCounts) -> Estimate:
    """Harmonic mean of skeleton precision and recall."""
    both = edges["predicted_pairs"] + edges["true_pairs"]
    return edges.ratio(2 * edges["common_pairs"], both, "both graphs are empty")


@metric(
    key="skeleton_shd",
    **_DISTANCE | {"chance": _blind_skeleton, "laws": _LAWS | {"monotone": _TURNED_IS_ADJACENT}},
)
def skeleton_shd(edges: EdgeCounts) -> Estimate:
    """Pairs that are adjacent in one graph only."""
    differing = edges["true_pairs"] + edges["predicted_pairs"] - 2 * edges["common_pairs"]
    return edges.count(differing, edges["pairs"])


@metric(
    key="auprc", **_CURVE | {
        "chance": _constant_scores(lambda curve: curve.edges / curve.cells if curve.tails.negatives else np.nan),
        "conventions": _CELLS | {"ties": "enter together"}, "reference": "davis2006",
    },
)  # fmt: skip
def auprc(curves: Curves) -> Estimate:
    """Average precision of the scores: precision at each true edge, averaged; step-wise, or by trapezoids if asked."""
    steps = curves.area == "steps"
    return curves.each(
        lambda curve: curve.average_precision() if steps else curve.trapezoid(), _ONE_CLASS, range=(0.0, 1.0)
    )


@metric(
    key="roc_auc", **_CURVE | {
        "chance": _constant_scores(lambda curve: 0.5 if curve.tails.negatives else np.nan),
        "conventions": _CELLS | {"ties": "count half"}, "reference": "hanley1982",
    },
)  # fmt: skip
def roc_auc(curves: Curves) -> Estimate:
    """Chance that a true edge scores above a cell without one, ties counted half."""
    return curves.each(lambda curve: curve.roc_auc(), _ONE_CLASS, range=(0.0, 1.0))


@metric(
    key="f1_at_{fraction}e", **_CURVE | {
        "chance": _constant_scores(
            lambda curve, fraction: 2 * curve.cut(fraction) * curve.edges / curve.cells
            / (curve.cut(fraction) + curve.edges)
        ),
        "conventions": _CELLS | {"ties": "the mean over random order at the cut"}, "reference": "marbach2012",
    },
)  # fmt: skip
def f1_at_k(curves: Curves, *, fraction: float = 1.0) -> Estimate:
    """F1 of the K highest-scoring cells, K being a fraction of the number of true edges, rounded down, at least 1."""
    return curves.each(lambda curve: curve.f1_at(fraction), _NO_TRUE, range=(0.0, 1.0))


@metric(key="tp", **_COUNT)
def tp(edges: EdgeCounts) -> Estimate:
    """Predicted edges that are true."""
    return edges.count(edges["tp"], edges["cells"])


@metric(key="fp", **_COUNT | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def fp(edges: EdgeCounts) -> Estimate:
    """Predicted edges that are not true."""
    return edges.count(edges["predicted"] - edges["tp"], edges["cells"])


@metric(key="fn", **_COUNT | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def fn(edges: EdgeCounts) -> Estimate:
    """True edges that are not predicted."""
    return edges.count(edges["true"] - edges["tp"], edges["cells"])


@metric(key="skeleton_tp", **_SKELETON_COUNT)
def skeleton_tp(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs."""
    return edges.count(edges["common_pairs"], edges["pairs"])


@metric(key="skeleton_fp", **_SKELETON_COUNT | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def skeleton_fp(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in the prediction only."""
    return edges.count(edges["predicted_pairs"] - edges["common_pairs"], edges["pairs"])


@metric(key="skeleton_fn", **_SKELETON_COUNT | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def skeleton_fn(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in the truth only."""
    return edges.count(edges["true_pairs"] - edges["common_pairs"], edges["pairs"])


_DIRECTIONS = _COUNT | {"unit": "pair", "conventions": _PAIRS}


@metric(key="correct_direction", **_DIRECTIONS)
def correct_direction(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs whose edges are the same."""
    return edges.count(edges["correct"], edges["pairs"])


@metric(key="wrong_direction", **_DIRECTIONS | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def wrong_direction(edges: EdgeCounts) -> Estimate:
    """Pairs adjacent in both graphs that are reversed, or have one direction where the truth has both."""
    wrong = edges["oriented_pairs"] - edges["correct"] - edges["undecided"]
    return edges.count(wrong, edges["pairs"])


@metric(key="unoriented", **_DIRECTIONS | {"laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def unoriented(edges: EdgeCounts) -> Estimate:
    """Pairs with one true direction that are predicted both ways."""
    return edges.count(edges["undecided"], edges["pairs"])


_PART = _DISTANCE | {"direction": "none", "laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}}


@metric(key="shd_missing", **_PART)
def shd_missing(edges: EdgeCounts) -> Estimate:
    """The part of the distance where the prediction only lacks edges (pairs, or cells, as the distance counts)."""
    return edges.count(edges[f"missing_{edges.shd}s"], edges["pairs"])


@metric(key="shd_extra", **_PART)
def shd_extra(edges: EdgeCounts) -> Estimate:
    """The part of the distance where the prediction only adds edges (pairs, or cells, as the distance counts)."""
    return edges.count(edges[f"extra_{edges.shd}s"], edges["pairs"])


@metric(key="shd_reversed", **_PART | {"laws": _LAWS})
def shd_reversed(edges: EdgeCounts) -> Estimate:
    """One-way pairs that point the other way; each adds 1 to the distance in pairs and 2 to the one in cells."""
    return edges.count(edges["reversed"], edges["pairs"])


@metric(key="fdr", **_SHARE | {"direction": "lower"})
def fdr(edges: EdgeCounts) -> Estimate:
    """False discovery rate: share of predicted edges that are not true, 1 − directed_precision."""
    return edges.ratio(edges["predicted"] - edges["tp"], edges["predicted"], _NO_PREDICTED)


@metric(key="tpr", **_SHARE)
def tpr(edges: EdgeCounts) -> Estimate:
    """True positive rate, another name of directed_recall."""
    return edges.ratio(edges["tp"], edges["true"], _NO_TRUE)


@metric(key="fpr", **_SHARE | {"direction": "lower", "laws": _LAWS | {"symmetry": _NOT_SYMMETRIC}})
def fpr(edges: EdgeCounts) -> Estimate:
    """False positive rate: share of cells without a true edge that are predicted."""
    absent = edges["cells"] - edges.omitted - edges["true"]
    return edges.ratio(edges["predicted"] - edges["tp"], absent, "every cell is a true edge")


@metric(
    key="best_f1", **_CURVE | {
        "chance": _constant_scores(lambda curve: 2 * curve.edges / (curve.cells + curve.edges)),
        "conventions": _CELLS | {"threshold": "the best one, known only with the truth"},
    },
)  # fmt: skip
def best_f1(curves: Curves) -> Estimate:
    """The highest directed F1 of any threshold: an upper bound, because the threshold is chosen on the truth."""
    return replace(curves.each(lambda curve: curve.best_f1(), _NO_TRUE, range=(0.0, 1.0)), oracle=True)


@metric(
    key="best_threshold", **_CURVE | {
        "chance": _NO_THRESHOLD, "direction": "none", "bounds": (-np.inf, np.inf),
        "conventions": _CELLS | {"threshold": "the highest score not selected; the highest of equally good ones"},
    },
)  # fmt: skip
def best_threshold(curves: Curves) -> Estimate:
    """The threshold of best_f1: edges are scores above it, so it is the highest score that is not selected."""
    return replace(curves.each(lambda curve: curve.best_threshold(), _NO_TRUE), oracle=True)


_COLLIDERS = _MODEL | {
    "reference": "verma1990", "laws": _LAWS | {"symmetry": _EXCHANGED, "monotone": _MORE_IS_NOT_BETTER},
    "conventions": _EMPTY | {"v-structure": "a → c ← b by one-way edges, a and b not adjacent"},
}  # fmt: skip


@metric(key="v_structure_precision", **_COLLIDERS)
def v_structure_precision(models: Models) -> Estimate:
    """Share of predicted unshielded colliders that are true."""
    _, predicted, common = models.v_structures
    return models.ratio(common, predicted, "the prediction has no v-structure")


@metric(key="v_structure_recall", **_COLLIDERS)
def v_structure_recall(models: Models) -> Estimate:
    """Share of true unshielded colliders that are predicted."""
    true, _, common = models.v_structures
    return models.ratio(common, true, "the truth has no v-structure")


@metric(key="v_structure_f1", **_COLLIDERS | {"laws": _LAWS | {"monotone": _MORE_IS_NOT_BETTER}})
def v_structure_f1(models: Models) -> Estimate:
    """Harmonic mean of the precision and recall of unshielded colliders."""
    true, predicted, common = models.v_structures
    return models.ratio(2 * common, true + predicted, "neither graph has a v-structure")


@metric(
    key="cpdag_shd", **_MODEL | {
        "direction": "lower", "bounds": (0, np.inf), "reference": "tsamardinos2006",
        "laws": _LAWS | {"monotone": _MORE_IS_NOT_BETTER},
        "conventions": {"counts": "pairs, whatever shd is", "graphs": "DAGs, or CPDAGs with a named encoding"},
    },
)  # fmt: skip
def cpdag_shd(models: Models) -> Estimate:
    """Structural Hamming distance in pairs between the equivalence classes (CPDAGs) of both graphs."""
    pairs = np.full(len(models), models.d * (models.d - 1) // 2)
    return models.count(models.cpdag_distances(), pairs)


_ADJUSTMENT = _MODEL | {
    "direction": "lower", "bounds": (0, np.inf), "reference": "henckel2024", "chance": _empty_model,
    "laws": _ONE_WAY | {"monotone": _MORE_IS_NOT_BETTER},
    "conventions": {"counts": "ordered pairs, of d·(d − 1)", "graphs": "DAGs, or CPDAGs with a named encoding"},
}  # fmt: skip


def _distance(models: Models, kind: str) -> Estimate:
    pairs = np.full(len(models), models.d * (models.d - 1))
    return models.count(models.adjustment_distances(kind), pairs)


@metric(
    key="sid", **_ADJUSTMENT | {"reference": "peters2015", "conventions": {"counts": "ordered pairs", "graphs": "DAGs"}}
)
def sid(models: Models) -> Estimate:
    """Structural intervention distance: ordered pairs whose effect the prediction's parent sets get wrong."""
    return _distance(models, "sid")


@metric(key="parent_aid", **_ADJUSTMENT)
def parent_aid(models: Models) -> Estimate:
    """Adjustment identification distance with parent sets."""
    return _distance(models, "parent_aid")


@metric(key="ancestor_aid", **_ADJUSTMENT)
def ancestor_aid(models: Models) -> Estimate:
    """Adjustment identification distance with ancestor sets."""
    return _distance(models, "ancestor_aid")


@metric(key="oset_aid", **_ADJUSTMENT)
def oset_aid(models: Models) -> Estimate:
    """Adjustment identification distance with optimal adjustment sets."""
    return _distance(models, "oset_aid")
