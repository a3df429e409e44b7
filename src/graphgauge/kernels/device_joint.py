"""Scores of joint forecasts on a CUDA device, as `forecast_joint`: within 1e-12 of the host's.

Components that do not count are given as 0 in the truth and in all members, so that they add nothing to a distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphgauge.core.types import Ints
from graphgauge.kernels.forecast_joint import GOLDEN, MIX, MIX_AGAIN

# Numbers that are processed at once: 64 MB of float64.
_AT_ONCE = 1 << 23
_WORD = 1 << 64


def energy_scores(y: Any, members: Any, seen: Any, first: int) -> tuple[Any, Any]:
    """The energy score of each ensemble (vectors, components, members), and that with rotated members.

    NaN if fewer than two components are `seen`.
    """
    import torch

    vectors, components, count = members.shape
    plain, rotated = torch.full((2, vectors), torch.nan, dtype=torch.float64, device=y.device).unbind()
    # A vector takes the distances of all its members to each other beside their components.
    for part in _parts(vectors, count * (count + 3 * components)):
        enough, truth, cloud = seen[part].sum(1) >= 2, y[part].double(), members[part].double()
        for scores, points in ((plain, cloud), (rotated, _rotated(cloud, first + part.start))):
            scores[part] = torch.where(enough, energy(truth, points), torch.nan)
    return plain, rotated


def energy(y: Any, members: Any) -> Any:
    """The energy score of each ensemble, in float64, all at once."""
    import torch

    size = members.shape[2]
    points = members.transpose(1, 2).contiguous()
    away = torch.linalg.vector_norm(points - y.unsqueeze(1), dim=2).sum(1)
    between = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist").sum((1, 2))
    return away / size - between / (2 * size**2)


def energy_sum(y: Any, members: Any) -> float:
    """The energy scores of ensembles (vectors, components, members), summed."""
    total = 0.0
    for part in _parts(len(y), members.shape[2] * (members.shape[2] + 3 * members.shape[1])):
        total = energy(y[part].double(), members[part].double()).sum() + total
    return float(total)


def variogram_scores(y: Any, members: Any, pairs: Ints, seen: Any, first: int, *, power: float) -> tuple[Any, Any]:
    """The variogram score of each ensemble, and that with rotated members; NaN without a pair of seen components."""
    import torch

    vectors, components, count = members.shape
    plain, rotated = torch.full((2, vectors), torch.nan, dtype=torch.float64, device=y.device).unbind()
    ends = torch.as_tensor(pairs, device=y.device)
    for part in _parts(vectors, 3 * count * components):
        truth, there, cloud = y[part].double(), seen[part], members[part].double()
        number = torch.zeros(len(truth), dtype=torch.int64, device=y.device)
        totals = torch.zeros(2, len(truth), dtype=torch.float64, device=y.device)
        clouds = cloud, _rotated(cloud, first + part.start)
        for some in _parts(len(ends), 3 * count * len(truth)):
            left, right = ends[some].unbind(1)
            both = there[:, left] & there[:, right]
            number += both.sum(1)
            expected = (truth[:, left] - truth[:, right]).abs() ** power
            for total, points in zip(totals, clouds, strict=True):
                found = ((points[:, left] - points[:, right]).abs_() ** power).mean(2)
                total += torch.where(both, (expected - found) ** 2, 0.0).sum(1)
        for scores, total in zip((plain, rotated), totals, strict=True):
            scores[part] = torch.where(number > 0, total / number.clamp(min=1), torch.nan)
    return plain, rotated


def _rotated(members: Any, first: int) -> Any:
    """Each component's members, rotated by its own offset."""
    import torch

    vectors, components, count = members.shape
    shift = offsets(first, vectors, components, count, members.device)
    place = (torch.arange(count, device=members.device) + shift.unsqueeze(-1)) % count
    return members.gather(2, place)


def offsets(first: int, vectors: int, components: int, members: int, device: Any) -> Any:
    """As `forecast_joint.offsets`, in signed words, which wrap around as unsigned ones do."""
    import torch

    place = torch.arange(vectors, device=device).unsqueeze(1) + first
    state = (place * components + torch.arange(components, device=device) + 1) * _signed(GOLDEN)
    for shift, factor in ((30, MIX), (27, MIX_AGAIN), (31, 1)):
        state = (state ^ _shifted(state, shift)) * _signed(factor)
    return _shifted(state, 11) % members


def _shifted(state: Any, bits: int) -> Any:
    """Shifted to the right, with zeros from the left."""
    return (state >> bits) & ((1 << 64 - bits) - 1)


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD // 2 else word


def _parts(length: int, each: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, each))
    return (slice(start, start + step) for start in range(0, length, step))
