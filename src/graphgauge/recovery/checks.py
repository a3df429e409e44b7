"""Checks of recovered graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, exp, inf, lgamma, sqrt
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.finding import check
from graphgauge.core.number import plural
from graphgauge.core.result import Result
from graphgauge.core.types import AnyArray
from graphgauge.recovery.compare import Counts, Pair
from graphgauge.recovery.curves import Curve, ranked
from graphgauge.recovery.graph import MIRRORED, mirrored
from graphgauge.recovery.samples import Edges

Evidence = Mapping[str, Any]
# Standard errors of a coin flip from which the transposed prediction is clearly better: 1 in 200.
_CLEARLY = 2.58
# Beyond chance, and what a perfect prediction has to reach for that to mean anything.
_CHANCE, _POWER = 0.05, 0.01


@check(
    "transposed-prediction",
    family="recovery",
    message="the transposed prediction finds {transposed} true edges, the prediction as given {given}: its matrix was "
    "probably written in the other direction",
    remedy='If the tool writes B[i, j] for j → i, pass orientation="column_to_row".',
)
def transposed_prediction(pairs: Sequence[Pair]) -> Evidence | None:
    """The transposed prediction fits much better."""
    given, transposed = (int(count) for count in np.sum([_right_both_ways(pair) for pair in pairs], axis=0))
    if transposed - given <= _CLEARLY * sqrt(transposed + given):
        return None
    return {"given": given, "transposed": transposed}


def _right_both_ways(pair: Pair) -> AnyArray:
    """True arrows that the prediction finds, and that the transposed one does: at lag 0 of whole pairs only."""
    pairs = np.stack([pair.tables[0, 0], pair.tables[0, 0][:, MIRRORED]])
    right = Counts(np.stack([pairs, np.zeros_like(pairs)], axis=1))["tp"]
    for lag in pair.lags[1:]:
        true, found = (cells[cells % (pair.d + 1) != 0] for cells in (pair.arrows(0, lag), pair.arrows(1, lag)))
        right += [len(np.intersect1d(true, cells, assume_unique=True)) for cells in (found, mirrored(found, pair.d))]
    return right


@check(
    "worse-than-empty",
    family="recovery",
    message="the prediction is at a distance of {shd:g} from the truth, the graph without edges at {empty:g}",
    remedy="Raise the threshold, or state the cost of wrong edges relative to right ones.",
)
def worse_than_empty(results: Mapping[str, Result]) -> Evidence | None:
    """Predicting no edges would have a smaller SHD."""
    result = results.get("directed_shd")
    levels = {level.name: level.value for level in result.references} if result is not None else {}
    if result is None or not result.value > levels.get("empty graph", inf):
        return None
    return {"shd": result.value, "empty": levels["empty graph"]}


@check(
    "no-better-than-random",
    family="recovery",
    message="{tp} of {predicted} directed edges and {common} of {adjacent} adjacencies are right, which as many drawn "
    "at random reach with probability {p:.2f} and {p_skeleton:.2f}",
    remedy="Do not report an F1 as evidence of recovery: it is that of a random graph of this size.",
)
def no_better_than_random(edges: Edges) -> Evidence | None:
    """A random graph of the same size would have as many right edges and right adjacencies."""
    names = ("tp", "true", "predicted", "cells"), ("common_pairs", "true_pairs", "predicted_pairs", "pairs")
    arrows, skeleton = ([int(edges[name].sum()) for name in each] for each in names)
    power = min(_tail(min(true, found), true, found, units) for _, true, found, units in (arrows, skeleton))
    p, p_skeleton = _tail(*arrows), _tail(*skeleton)
    if power >= _POWER or p < _CHANCE or p_skeleton < _CHANCE:
        return None
    counts = {"tp": arrows[0], "predicted": arrows[2], "common": skeleton[0], "adjacent": skeleton[2]}
    return {**counts, "p": p, "p_skeleton": p_skeleton}


def _tail(right: int, true: int, found: int, units: int) -> float:
    """The probability that of `found` units drawn at random at least `right` are among the true ones."""
    most = min(true, found)
    if units > 10_000 or most > 1000:  # normal, with a correction because counts are whole numbers
        mean = true * found / max(units, 1)
        spread = sqrt(max(mean * (units - true) * (units - found) / max(units * (units - 1), 1), 0.0))
        return float(_core.normal_tail((right - 0.5 - mean) / spread)) if spread else 1.0
    total = _log_choose(units, found)
    fits = range(max(right, found - (units - true), 0), most + 1)
    return min(1.0, sum(exp(_log_choose(true, k) + _log_choose(units - true, found - k) - total) for k in fits))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


@check(
    "threshold-from-truth",
    family="recovery",
    message="the threshold {threshold!r} gives the best F1 of all thresholds ({best:.3f}) and is not a round "
    "number: it was probably chosen on the truth",
    remedy="Choose it on other graphs, or report auprc, which needs none, or best_f1.",
)
def threshold_from_truth(pairs: Sequence[Pair], results: Mapping[str, Result]) -> Evidence | None:
    """The threshold is the best one given the truth."""
    threshold, f1 = pairs[0].cut.threshold, results.get("directed_f1")
    # As written at its own precision; 0.1 + 0.2 is as round as 0.3.
    digits = len(f"{threshold:.12g}".partition("e")[0].replace(".", "").strip("-0"))
    if f1 is None or not f1.defined or digits < 4:
        return None
    curves = [Curve.over(ranked(pair, lag) for lag in pair.lags) for pair in pairs]
    best = float(np.mean([curve.best_f1() for curve in curves]))
    return {"threshold": threshold, "best": best} if f1.value >= best else None


@check(
    "cells-without-a-score",
    family="recovery",
    severity="note",
    message="{cells} in neither graph",
    remedy="Say so where the numbers are reported.",
)
def cells_without_a_score(pairs: Sequence[Pair]) -> Evidence | None:
    """Scores are missing, and were left out."""
    missing = sum(len(cells) for pair in pairs for cells in pair.missing)
    return {"cells": plural(missing, "cell without a score is", "cells without a score are")} if missing else None


@check(
    "self-loops",
    family="recovery",
    severity="note",
    message="{loops} not counted",
    remedy="Leave them out, or pass lagged graphs, in which they count at lags above 0.",
)
def self_loops(pairs: Sequence[Pair]) -> Evidence | None:
    """There are edges from nodes to themselves."""
    counts = np.sum([(pair.truth[0].loops, pair.prediction[0].loops) for pair in pairs], axis=0).tolist()
    where = " and ".join(name for name, count in zip(("A_true", "A_pred"), counts, strict=True) if count)
    return {"loops": plural(sum(counts), f"self-loop in {where} is", f"self-loops in {where} are")} if where else None


@check(
    "variance-tells-order",
    family="recovery",
    message="{share:.0%} of the {edges} true edges lead from a variable of smaller to one of larger variance: "
    "sorting by variance recovers the order of these data",
    remedy="Standardise the data and evaluate again; report a sort by variance as a baseline.",
)
def variance_tells_order(pairs: Sequence[Pair], data: Any) -> Evidence | None:
    """The variances of the variables reveal the order of the true graph (varsortability)."""
    values, pair = as_numeric(data, "data"), pairs[0]
    if pair.is_lagged or len(pairs) > 1:
        return None
    if values.ndim != 2 or values.shape[1] != pair.d:
        raise InputError(f"expected (samples, {pair.d}), found {values.shape}", where="data")
    refuse_nan(values, "data", fix="Drop incomplete samples.")
    variance = values.var(axis=0, dtype=np.float64)
    source, target = np.divmod(pair.arrows(0), pair.d)
    edges, rising = len(source), int((variance[source] < variance[target]).sum())
    if not edges or rising / edges < 0.8:
        return None
    # Both directions of a coin.
    luck = 2 * sum(comb(edges, k) for k in range(rising, edges + 1)) / 2**edges
    return None if luck > 0.01 else {"share": rising / edges, "edges": edges}
