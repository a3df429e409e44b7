"""Plain numbers from all distances between points: of embeddings of samples, on the host or on a CUDA device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, is_cuda, refuse_nan, require_shape
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import whole_number
from graphgauge.generation import two_sample
from graphgauge.generation.distances import hamming_moments, jaccard_of
from graphgauge.generation.two_sample import PRDC
from graphgauge.kernels import device_distances, device_pairs
from graphgauge.kernels.pairs import common_bits, hamming_sums
from graphgauge.kernels.silhouette import silhouettes

# Points whose distances the default bandwidth is the median of.
_MEDIAN_OF = 2000


def energy_distance(real: Any, generated: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all pairs.

    Tensors on a CUDA device stay there, and distances are computed in tiles.

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).

    Returns
    -------
    float
        At least 0; 0 for equal samples.

    Examples
    --------
    >>> from graphgauge import generation
    >>> generation.energy_distance([[0.0], [0.0]], [[1.0], [1.0]])
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

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).
    bandwidth
        σ of the kernel, above 0.

    Returns
    -------
    float
        At most 2; around 0 for samples of one distribution.

    Examples
    --------
    >>> from graphgauge import generation
    >>> round(generation.mmd([[0.0], [0.0]], [[1.0], [1.0]], bandwidth=1.0), 6)
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
    return two_sample.mmd_test(
        one, other, permutations=0, generator=_unused(), bandwidth=bandwidth, most=len(one) + len(other)
    ).value


def prdc(real: Any, generated: Any, *, k: int = 5) -> PRDC:
    """Precision, recall, density and coverage of samples of points (n, D) and (m, D) with balls to the k-th neighbour.

    Tensors on a CUDA device stay there, and distances are computed in tiles.

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).
    k
        The number of the neighbour that a ball reaches to.

    Returns
    -------
    PRDC
        Precision, recall and coverage in [0, 1]; density is at least 0 and may exceed 1.

    Examples
    --------
    >>> from graphgauge import generation
    >>> found = generation.prdc([[0.0], [1.0], [2.0]], [[0.5], [1.5], [9.0]], k=1)
    >>> round(found.precision, 4), found.recall, round(found.density, 4), found.coverage
    (0.6667, 1.0, 1.3333, 1.0)
    """
    there, one, other = _two(real, generated)
    whole_number("k", k, 1)
    if not there:
        return two_sample.prdc(one, other, k=k)
    n, m = len(one), len(other)
    if k >= min(n, m):
        raise InputError(f"{k} nearest neighbours need more than {k} points on either side, found {n} and {m}")
    return PRDC(*device_distances.prdc(one, other, k))


class PairwiseDistance(NamedTuple):
    """Mean and standard deviation of a distance over all unordered pairs of samples; NaN without a pair."""

    mean: float
    std: float


def pairwise_distance(samples: Any, *, kind: str = "hamming") -> PairwiseDistance:
    """Mean and standard deviation of the distance between two samples of zeros and ones (n, D), over all pairs.

    A tensor on a CUDA device stays there, and pairs are compared in tiles; the counts are those of the host.

    Parameters
    ----------
    samples
        Zeros and ones (n, D).
    kind
        `hamming`, the number of bits that differ, or `jaccard`, 1 − |a ∩ b| / |a ∪ b|, which is 0 for empty samples.

    Returns
    -------
    PairwiseDistance
        NaN with fewer than two samples.

    Raises
    ------
    InputError
        If a value is neither 0 nor 1.
    OptionError
        If there is no such distance.

    Examples
    --------
    >>> from graphgauge import generation
    >>> found = generation.pairwise_distance([[0, 0], [0, 1], [1, 1]])
    >>> round(found.mean, 4), round(found.std, 4)
    (1.3333, 0.4714)
    >>> round(generation.pairwise_distance([[0, 0], [0, 1], [1, 1]], kind="jaccard").mean, 4)
    0.8333
    """
    one_of("kind", kind, ("hamming", "jaccard"))
    there, rows = _points(samples, "samples")
    bits = rows != 0
    if bool((bits & (rows != 1)).any()):
        raise InputError("a value is neither 0 nor 1", where="samples", fix="Pass zeros and ones, or booleans.")
    if kind == "hamming":
        sums = device_pairs.hamming_sums(bits) if there else hamming_sums(bits)
        return PairwiseDistance(*hamming_moments(len(bits), *sums))
    found = jaccard_of(device_pairs.common_bits(bits) if there else common_bits(bits))
    return PairwiseDistance(found.mean, found.std)


def silhouette(points: Any, labels: Any) -> float:
    """The mean silhouette of points (n, D) under their labels (n,), over all pairs; NaN with one cluster.

    Points on a CUDA device stay there.

    Parameters
    ----------
    points, labels
        Points (n, D), and the cluster of each (n,).

    Returns
    -------
    float
        In [−1, 1]; higher is better separated.

    Examples
    --------
    >>> from graphgauge import generation
    >>> round(generation.silhouette([[0.0], [1.0], [5.0]], [0, 0, 1]), 4)
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
        raise InputError(
            "one sample is on a CUDA device, the other is not", where=_BOTH, fix="Move both to one of them."
        )
    if there and one.device != other.device:
        raise InputError(f"samples are on {one.device} and {other.device}", where=_BOTH, fix="Move both to one device.")
    if one.shape[1] != other.shape[1]:
        raise InputError(f"expected rows of the same length, found shapes {tuple(one.shape)} and {tuple(other.shape)}")
    if min(len(one), len(other)) < 2:
        raise InputError(f"expected at least two rows on either side, found {len(one)} and {len(other)}")
    return there, one, other


def _points(given: Any, name: str) -> tuple[bool, Any]:
    """Rows of finite numbers, and whether they are on a device. What is not is refused as on the host."""
    fix = "Pass one row of numbers per point."
    if is_cuda(given) and str(given.layout) == "torch.strided" and not given.dtype.is_complex:
        require_shape(given, (None, None), name, fix)
        if not given.is_floating_point() or bool(given.isfinite().all()):
            return True, given.detach()
    array = as_numeric(given, name)
    require_shape(array, (None, None), name, fix)
    refuse_nan(array, name, fix="Repair them.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("has infinite values", where=name, fix="Repair them.")
    return False, array.astype(np.float64)


_BOTH = "real and generated"


def _unused() -> np.random.Generator:
    """For tests without permutations, of all points."""
    return np.random.default_rng(0)
