"""What is known of nodes beside the forecasts: weights, and the naive errors of their history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.core.types import Floats, Ints
from graphgauge.forecasting.joint import edges_of
from graphgauge.forecasting.labelled import over_nodes
from graphgauge.forecasting.reading import observed
from graphgauge.forecasting.sample import Sample


@dataclass(frozen=True)
class Extras:
    """What is known of the nodes beside the forecasts: weights, naive errors (2, node), edges between them."""

    weights: Floats | None = None
    naive: Floats | None = None
    edges: Ints | None = None


def extras_of(sample: Sample, *, weights: Any, history: Any, season: int, graph: Any) -> Extras:
    """What is known of the nodes of a sample."""
    season = whole_number("season", season, 1)
    if season != 1 and history is None:
        raise OptionError("season= needs history=", fix="Pass both.")
    edges = edges_of(graph, sample.shape[2], sample.labels.get("node"))
    if edges is not None and sample.members is None:
        raise OptionError("graph= needs samples=", fix="Leave it out.")
    return Extras(weights_of(weights, sample), naive_errors(history, season, sample), edges)


def weights_of(weights: Any, sample: Sample) -> Floats | None:
    """One weight per node, with mean 1."""
    if weights is None:
        return None
    if isinstance(weights, str):
        raise OptionError(
            "weights are one number per node, not a text", fix="Such as weights=np.cos(np.deg2rad(latitude))."
        )
    values = as_numeric(over_nodes(weights, sample.places, "weights"), "weights").astype(np.float64)
    if values.shape != (sample.shape[2],):
        raise InputError(f"have shape {values.shape}, for {sample.shape[2]} nodes", where="weights")
    if not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any():
        raise InputError("are not finite, below 0, or all 0", where="weights")
    return np.asarray(values / values.mean())


def naive_errors(history: Any, season: int, sample: Sample) -> Floats | None:
    """Mean absolute and mean squared error of each node's (seasonal) naive forecast in its history (2, node).

    Pairs of values of which one is NaN or the null value are left out.
    """
    if history is None:
        return None
    values = as_numeric(over_nodes(history, sample.places, "history"), "history")
    values = values[:, np.newaxis] if values.ndim == 1 and sample.shape[2] == 1 else values
    if values.ndim != 2 or values.shape[1] != sample.shape[2]:
        raise InputError(
            f"has shape {values.shape}, for {sample.shape[2]} nodes", where="history", fix="Pass (time, node)."
        )
    if len(values) <= season:
        raise InputError(f"has {len(values)} steps, for a season of {season}", where="history")
    past = values.astype(np.float64)
    if sample.null_value is not None:
        past[~observed(values, sample.null_value, 0.0)] = np.nan
    if np.isinf(past).any():
        raise InputError("has infinite values", where="history", fix="Mask them as NaN.")
    return naive_of(past[season:] - past[:-season])


def naive_of(steps: Floats) -> Floats:
    """Mean absolute and squared changes (2, node) of changes (time, node); 0 without any."""
    there = ~np.isnan(steps)
    size = np.maximum(there.sum(axis=0), 1)
    change = np.where(there, steps, 0.0)
    with np.errstate(over="ignore"):
        return np.stack([np.abs(change).sum(axis=0) / size, np.square(change).sum(axis=0) / size])
