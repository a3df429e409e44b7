"""Plain numbers from all distances between points: of embeddings of samples, on the host or on a CUDA device."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, is_cuda, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.generation import two_sample
from graphgauge.generation.two_sample import PRDC
from graphgauge.kernels import device_distances
from graphgauge.kernels.silhouette import silhouettes

# Points whose distances the default bandwidth is the median of.
_MEDIAN_OF = 2000


def energy_distance(real: Any, generated: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all pairs.

    Tensors on a CUDA device stay there, and distances are computed in tiles.

    >>> energy_distance([[0.0], [0.0]], [[1.0], [1.0]])
    2.0
    """
    there, one, other = _two(real, generated)
    if there:
        return device_distances.energy_distance(one, other)
    test = two_sample.energy_test(one, other, permutations=0, generator=_unused(), most=len(one) + len(other))
    return test.distance


def mmd(real: Any, generated: Any, *, bandwidth: float | None = None) -> float:
    """The unbiased MMD² of two samples of points (n, D) and (m, D) with the kernel exp(−d²/2σ²); it may be negative.

    σ is `bandwidth`, or the median distance between 2,000 points, taken evenly from each of both samples. Tensors on
    a CUDA device stay there.

    >>> round(mmd([[0.0], [0.0]], [[1.0], [1.0]], bandwidth=1.0), 6)
    0.786939
    """
    there, one, other = _two(real, generated)
    if bandwidth is None:
        few = [as_numeric(side[:: -(-len(side) // _MEDIAN_OF)], "real").astype(np.float64) for side in (one, other)]
        bandwidth = two_sample.mmd_test(*few, permutations=0, generator=_unused(), most=_MEDIAN_OF).bandwidth
    if not bandwidth > 0:
        raise InputError(f"must be above 0, not {bandwidth!r:.60}", where="bandwidth")
    if there:
        return device_distances.mmd(one, other, bandwidth) if np.isfinite(bandwidth) else 0.0
    return two_sample.mmd_test(one, other, permutations=0, generator=_unused(), bandwidth=bandwidth,
                               most=len(one) + len(other)).value  # fmt: skip


def prdc(real: Any, generated: Any, *, k: int = 5) -> PRDC:
    """Precision, recall, density and coverage of samples of points (n, D) and (m, D) with balls to the k-th neighbour.

    Tensors on a CUDA device stay there, and distances are computed in tiles.

    >>> prdc([[0.0], [1.0], [2.0]], [[0.5], [1.5], [9.0]], k=1)
    PRDC(precision=0.6666666666666666, recall=1.0, density=1.3333333333333333, coverage=1.0)
    """
    there, one, other = _two(real, generated)
    whole_number("k", k, 1)
    if not there:
        return two_sample.prdc(one, other, k=k)
    n, m = len(one), len(other)
    if k >= min(n, m):
        raise InputError(f"{k} nearest neighbours need more than {k} points on either side, found {n} and {m}")
    return PRDC(*device_distances.prdc(one, other, k))


def silhouette(points: Any, labels: Any) -> float:
    """The mean silhouette of points (n, D) under their labels (n,), over all pairs; NaN with one cluster.

    Points on a CUDA device stay there.

    >>> round(silhouette([[0.0], [1.0], [5.0]], [0, 0, 1]), 4)
    0.5167
    """
    there, cloud = _points(points, "points")
    codes = as_labels(labels, "labels")
    require_shape(codes, (len(cloud),), "labels", "One label per point.")
    if not len(cloud):
        return float("nan")
    each = device_distances.silhouettes(cloud, codes) if there else silhouettes(cloud, codes)
    return float(np.mean(each))


def _two(real: Any, generated: Any) -> tuple[bool, Any, Any]:
    """Both samples, checked, and whether both are on a device."""
    there, one = _points(real, "real")
    other_there, other = _points(generated, "generated")
    if there != other_there:
        raise InputError("one sample is on a CUDA device, the other is not", fix="Move both to one of them.")
    if there and one.device != other.device:
        raise InputError(f"found samples on {one.device} and {other.device}", fix="Move both to one device.")
    if one.shape[1] != other.shape[1]:
        raise InputError(f"expected rows of the same length, found shapes {tuple(one.shape)} and {tuple(other.shape)}")
    if min(len(one), len(other)) < 2:
        raise InputError(f"expected at least two rows on either side, found {len(one)} and {len(other)}")
    return there, one, other


def _points(given: Any, name: str) -> tuple[bool, Any]:
    fix = "Pass one row of numbers per point."
    if is_cuda(given) and str(given.layout) == "torch.strided" and not given.dtype.is_complex:
        require_shape(given, (None, None), name, fix)
        bad = int((~given.isfinite()).sum()) if given.is_floating_point() else 0
        if bad:
            raise InputError(f"{bad} of {given.numel()} values are NaN or infinite", where=name, fix="Repair them.")
        return True, given.detach()
    array = as_numeric(given, name)
    require_shape(array, (None, None), name, fix)
    refuse_nan(array, name, fix="Repair them.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("has infinite values", where=name, fix="Repair them.")
    return False, array.astype(np.float64)


def _unused() -> np.random.Generator:
    """For tests without permutations, of all points."""
    return np.random.default_rng(0)
