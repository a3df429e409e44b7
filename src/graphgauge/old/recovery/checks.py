"""Checks of recovered graphs."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.old.core.findings import Evidence, check
from graphgauge.old.core.result import Result
from graphgauge.old.io.materials import Material
from graphgauge.old.recovery.comparison import Comparison
from graphgauge.old.recovery.samples import EdgeCounts

# Standard errors of a coin flip from which the transposed prediction is clearly better: 1 in 200.
_CLEARLY = 2.58
# Inputs that only an audit takes, by the name of the checks' parameter.
MATERIALS = {"data": Material("The data that the graph was learned from, (samples, d).")}


@check(
    "transposed-prediction",
    family="recovery",
    severity="warning",
    message="the transposed prediction finds {transposed} true edges, the prediction as given {given}: its matrix was "
    "probably written in the other direction",
    remedy='If the tool writes B[i, j] for j → i, pass edges="column_to_row".',
)
def transposed_prediction(edges: EdgeCounts) -> Evidence | None:
    """The transposed prediction fits much better."""
    # Self-edges over time are the same in both.
    given, transposed = (int(counts.between_nodes("tp").sum()) for counts in (edges.counts, edges.transposed))
    if transposed - given <= _CLEARLY * sqrt(transposed + given):
        return None
    return {"given": given, "transposed": transposed}


@check(
    "worse-than-empty",
    family="recovery",
    severity="warning",
    message="the prediction is at a distance of {shd:g} from the truth, the graph without edges at {empty:g}",
    remedy="Raise the threshold, or state the cost of wrong edges relative to right ones.",
)
def worse_than_empty(results: Mapping[str, Result]) -> Evidence | None:
    """Predicting no edges would have a smaller SHD."""
    result = results.get("directed_shd")
    empty = {} if result is None else {level.name: level.value for level in result.chance}
    if result is None or "empty graph" not in empty or not result.value > empty["empty graph"]:
        return None
    return {"shd": result.value, "empty": empty["empty graph"]}


@check(
    "no-better-than-random",
    family="recovery",
    severity="warning",
    message="{tp} of {predicted} predicted edges are right; as many edges drawn at random would get {expected:.1f} "
    "right, and this many or more with probability {p:.2f}",
    remedy="Do not report an F1 as evidence of recovery: it is that of a random graph of this size.",
)
def no_better_than_random(edges: EdgeCounts) -> Evidence | None:
    """A random graph of the same size would have as many right edges."""
    tp, true, predicted, cells = (edges[name] for name in ("tp", "true", "predicted", "cells"))
    if not predicted.sum() or not true.sum():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(cells > 0, predicted * true / cells, 0.0)
        rest = (cells - true) * (cells - predicted) / (cells * np.maximum(cells - 1, 1))
    spread = sqrt(float(np.sum(expected * rest)))
    if not spread > 0:
        return None
    # Continuity correction, because the count is a whole number.
    p = _core.normal_tail((tp.sum() - 0.5 - expected.sum()) / spread)
    if p < 0.05:
        return None
    return {"tp": int(tp.sum()), "predicted": int(predicted.sum()), "expected": float(expected.sum()), "p": p}


@check(
    "threshold-from-truth",
    family="recovery",
    severity="warning",
    message="the threshold {threshold!r} gives the best F1 of all thresholds ({best:.3f}) and is not a round "
    "number: it was probably chosen on the truth",
    remedy="Choose it on other graphs, or report auprc, which needs none, or best_f1.",
)
def threshold_from_truth(comparison: Comparison, results: Mapping[str, Result]) -> Evidence | None:
    """The threshold is the best one given the truth."""
    best, f1 = results.get("best_f1"), results.get("directed_f1")
    # As written at its own precision; 0.1 + 0.2 is as round as 0.3.
    threshold = float(str(comparison.options.threshold))
    digits = len(f"{threshold:.12g}".partition("e")[0].replace(".", "").strip("-0"))
    if best is None or f1 is None or digits < 4 or not f1.defined or f1.value < best.value:
        return None
    return {"threshold": threshold, "best": best.value}


@check(
    "variance-tells-order",
    family="recovery",
    severity="warning",
    message="{share:.0%} of the {edges} true edges lead from a variable of smaller to one of larger variance: "
    "sorting by variance recovers the order of these data",
    remedy="Standardise the data and evaluate again; report a sort by variance as a baseline.",
)
def variance_tells_order(comparison: Comparison, data: Any) -> Evidence | None:
    """The variances of the variables reveal the order of the true graph (varsortability)."""
    from scipy.special import bdtrc

    values, d = as_numeric(data, "data"), comparison.pair.d
    if comparison.options.lagged or len(comparison.counts) > 1:
        return None
    if values.ndim != 2 or values.shape[1] != d:
        raise InputError(f"expected (samples, {d}), found {values.shape}", where="data")
    refuse_nan(values, "data", fix="Drop incomplete samples.")
    variance = values.var(axis=0, dtype=np.float64)
    source, target = np.divmod(comparison.pair.true_arrows(0), d)
    rising = int((variance[source] < variance[target]).sum())
    if not len(source) or rising / len(source) < 0.8:
        return None
    if 2 * bdtrc(rising - 1, len(source), 0.5) > 0.01:  # both directions of a coin
        return None
    return {"share": rising / len(source), "edges": len(source)}
