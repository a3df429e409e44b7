"""Metrics of the scores over all thresholds."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

from graphgauge.core.errors import OptionError
from graphgauge.core.metric import Estimate, NoChance
from graphgauge.recovery.metrics import declared as of
from graphgauge.recovery.samples import Curves

_NO_TRUE_ARROW, _ONE_CLASS = "no directed true edges", "no directed true edges, or nothing else"


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
