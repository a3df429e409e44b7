"""What is known of nodes beside the forecasts: weights, and the naive errors of their history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Floats, Ints
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
    season = season_of(season, history)
    edges = edges_of(graph, sample.shape[2], sample.labels.get("node"))
    if edges is not None and sample.members is None:
        raise OptionError("graph= needs samples=", fix="Leave it out.")
    return Extras(
        None if weights is None else _weights(weights, sample),
        None if history is None else _naive_errors(history, season, sample),
        edges,
    )


def season_of(season: Any, history: Any) -> int:
    if whole_number("season", season, 1) != 1 and history is None:
        raise OptionError("season= needs history=", fix="Pass both.")
    return int(season)


def _weights(weights: Any, sample: Sample) -> Floats:
    if isinstance(weights, str):
        raise OptionError(
            "weights are one number per node, not a text", fix="Such as weights=np.cos(np.deg2rad(latitude))."
        )
    values = as_numeric(over_nodes(weights, sample.places, "weights"), "weights").astype(np.float64)
    if values.shape != (sample.shape[2],):
        raise InputError(f"have shape {values.shape}, for {sample.shape[2]} nodes", where="weights")
    return of_mean_one(values)


def of_mean_one(weights: Floats) -> Floats:
    """Weights with mean 1."""
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise InputError("are not finite, below 0, or all 0", where="weights")
    return np.asarray(weights / weights.mean())


def _naive_errors(history: Any, season: int, sample: Sample) -> Floats:
    values = as_numeric(over_nodes(history, sample.places, "history"), "history")
    nodes = sample.shape[2]
    values = values[:, np.newaxis] if values.ndim == 1 and nodes == 1 else values
    if values.ndim != 2 or values.shape[1] != nodes:
        raise InputError(f"has shape {values.shape}, for {nodes} nodes", where="history", fix="Pass (time, node).")
    if len(values) <= season:
        raise InputError(f"has {len(values)} steps, for a season of {season}", where="history")
    return naive_errors(values.T.ravel(), np.repeat(np.arange(nodes), len(values)), nodes, season, sample.null)


def naive_errors(values: AnyArray, node: Ints, nodes: int, season: int, null: tuple[float, float] | None) -> Floats:
    """Mean absolute and mean squared error of the (seasonal) naive forecast of each node's values (2, node).

    Values are in order of node and time. Pairs of which one is NaN, or as near to the null value as its tolerance,
    are left out; 0 without any.
    """
    past = values.astype(np.float64)
    if null is not None:
        past[~observed(values, *null)] = np.nan
    if np.isinf(past).any():
        raise InputError("has infinite values", where="history", fix="Mask them as NaN.")
    change, at = past[season:] - past[:-season], node[season:]
    seen = (at == node[:-season]) & ~np.isnan(change)
    change, at = change[seen], at[seen]
    with np.errstate(over="ignore"):
        sums = [np.bincount(at, each, nodes) for each in (np.abs(change), np.square(change))]
    return np.stack(sums) / np.maximum(np.bincount(at, minlength=nodes), 1)
