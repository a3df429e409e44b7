"""Scores of single forecasts on a CUDA device: for each cell, what the host's kernels add to their sums.

Everything is computed in float64, and cells that do not count are given as 0: sums are within 1e-12 of the host's, and
counts equal them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import pi, sqrt
from typing import Any

Columns = tuple[list[Any], list[Any]]


def quantile_columns(
    y: Any,
    quantiles: Any,
    levels: Sequence[float],
    pairs: Sequence[tuple[int, int]],
    seen: Any,
    *,
    with_quantiles: bool,
) -> Columns:
    """As `quantile_sums` of the host: its sums and its counts."""
    import torch

    truth = y.double()
    table = [quantiles[..., place].double() for place in range(len(levels))]
    losses = []
    for level, quantile in zip(levels, table, strict=True):
        above = truth - quantile
        losses.append((level * above).maximum((level - 1) * above))
    counts = [(truth <= quantile) & seen for quantile in table]
    counts += [(table[low] <= truth) & (truth <= table[high]) & seen for low, high in pairs]
    crossed = torch.zeros_like(seen)
    for lower, upper in pairwise(table):
        crossed |= upper < lower
    return losses + table * with_quantiles, [*counts, crossed & seen]


def ensemble_scores(y: Any, ordered: Any) -> tuple[Any, Any]:
    """The CRPS of the members' distribution, and the fair one, of ensembles with sorted members on the last axis."""
    import torch

    members = ordered.shape[-1]
    place = 2 * torch.arange(members, dtype=torch.float64, device=y.device) - (members - 1)
    distance = ordered.double() - y.double().unsqueeze(-1)
    apart = distance @ place
    away = distance.abs_().sum(-1) / members
    return away - apart * (1.0 / (members * members)), away - apart * (1.0 / (members * (members - 1)))


def interval_columns(y: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """How far the truths are beyond their intervals, the widths of these, and whether the truths are inside."""
    over = (low - y).clamp_(min=0) + (y - high).clamp_(min=0)
    return over, high - low, (low <= y) & (y <= high)


def positions(y: Any, members: Any) -> tuple[Any, Any]:
    """How many members are less than the truth, and how many equal it."""
    truth = y.unsqueeze(-1)
    return (members < truth).sum(-1), (members == truth).sum(-1)


def ensemble_above(y: Any, members: Any, ordered: Any, threshold: float) -> tuple[Any, Any]:
    """The Brier score of the event that the truth is above the threshold, and the CRPS of everything above."""
    truth = y.double()
    chance = (members > threshold).double().mean(-1)
    score, _ = ensemble_scores(truth.clamp(min=threshold), ordered.clamp(min=threshold))
    return (chance - (truth > threshold).double()) ** 2, score


def gaussian_above(y: Any, mean: Any, std: Any, threshold: float) -> tuple[Any, Any]:
    """The same of Gaussian forecasts."""
    import torch

    truth, mean, std = y.double(), mean.double(), std.double()
    event = truth > threshold
    at, z = (threshold - mean) / std, (truth - mean) / std
    # ∫ Φ² up to the truth from the threshold on, and ∫ (1 − Φ)² from the greater of the two on.
    score = torch.where(event, _squared_normal(z) - _squared_normal(at), 0.0) + _squared_normal(-z.maximum(at))
    return (torch.special.ndtr(-at) - event.double()) ** 2, (std * score).clamp_(min=0)


def _squared_normal(z: Any) -> Any:
    """∫ Φ(x)² dx from −∞ to z."""
    import torch

    below = torch.special.ndtr(z)
    density = torch.exp(-0.5 * z * z) / sqrt(2 * pi)
    return below * (z * below + 2 * density) - torch.special.ndtr(sqrt(2) * z) / sqrt(pi)
