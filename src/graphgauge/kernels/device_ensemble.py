"""Scores of quantiles and ensembles on a CUDA device, some cells at a time: only their sums are copied.

Members are sorted in their own type, and everything is added up in float64: sums are within 1e-12 of the host's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

# Numbers that are processed at once: 64 MB of float64.
_AT_ONCE = 1 << 23


class EnsembleSums(NamedTuple):
    """Sums over ensembles: of the CRPS of the members' distribution, and of the fair one."""

    crps: float
    fair: float


def ensemble_sums(y: Any, samples: Any) -> EnsembleSums:
    """The scores of the ensembles `samples` (n, members) for the truths `y` (n,); NaN if a number is."""
    members = samples.shape[1]
    away, apart = y.new_zeros(2, dtype=_float64()).unbind()
    place = 2 * y.new_ones(members, dtype=_float64()).cumsum(0) - (members + 1)
    for part in _parts(len(y), members):
        distance = samples[part].sort(dim=1).values.double() - y[part, None].double()
        apart += (distance @ place).sum()
        away += distance.abs_().sum()
    near, pairs = float(away) / members, float(apart)
    return EnsembleSums(
        near - pairs / members**2, near - pairs / (members * (members - 1)) if members > 1 else float("nan")
    )


def pinball_sum(y: Any, quantiles: Any, levels: tuple[float, ...]) -> float:
    """The pinball losses of `quantiles` (n, levels) for the truths `y` (n,), summed over both."""
    level = y.new_tensor(levels, dtype=_float64())
    total = y.new_zeros((), dtype=_float64())
    for part in _parts(len(y), len(levels)):
        above = y[part, None].double() - quantiles[part].double()
        total += (level * above).maximum((level - 1) * above).sum()
    return float(total)


def energy_sum(y: Any, members: Any) -> float:
    """The energy scores of ensembles (vectors, components, members) for the truths (vectors, components), summed."""
    import torch

    size = members.shape[2]
    total = y.new_zeros((), dtype=_float64())
    # A vector takes the distances of all its members to each other beside their components.
    for part in _parts(len(y), size * (size + 2 * members.shape[1])):
        points = members[part].double().transpose(1, 2).contiguous()
        away = torch.linalg.vector_norm(points - y[part, None].double(), dim=2).sum()
        between = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist").sum()
        total += away / size - between / (2 * size**2)
    return float(total)


def _float64() -> Any:
    import torch

    return torch.float64


def _parts(length: int, each: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, each))
    return (slice(start, start + step) for start in range(0, length, step))
