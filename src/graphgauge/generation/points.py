"""Plain numbers from all distances between points, such as embeddings of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.generation import two_sample
from graphgauge.generation.two_sample import PRDC

# Points whose distances the default bandwidth is the median of.
_MEDIAN_OF = 2000


def energy_distance(real: Any, generated: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all pairs.

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
    one, other = _two(real, generated)
    test = two_sample.energy_test(one, other, permutations=0, generator=_unused(), most=len(one) + len(other))
    return test.distance


def mmd(real: Any, generated: Any, *, bandwidth: float | None = None) -> float:
    """The unbiased MMD² of two samples of points (n, D) and (m, D) with the kernel exp(−d²/2σ²); it may be negative.

    σ is `bandwidth`, or the median distance between 2,000 points, taken evenly from each of both samples.

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
    one, other = _two(real, generated)
    if bandwidth is None:
        few = [side[:: -(-len(side) // _MEDIAN_OF)] for side in (one, other)]
        bandwidth = two_sample.mmd_test(*few, permutations=0, generator=_unused(), most=_MEDIAN_OF).bandwidth
    if not bandwidth > 0:
        raise InputError(f"must be above 0, not {bandwidth!r:.60}", where="bandwidth")
    return two_sample.mmd_test(
        one, other, permutations=0, generator=_unused(), bandwidth=bandwidth, most=len(one) + len(other)
    ).value


def prdc(real: Any, generated: Any, *, k: int = 5) -> PRDC:
    """Precision, recall, density and coverage of samples of points (n, D) and (m, D) with balls to the k-th neighbour.

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
    one, other = _two(real, generated)
    return two_sample.prdc(one, other, k=whole_number("k", k, 1))


def _two(real: Any, generated: Any) -> tuple[Floats, Floats]:
    """Both samples, checked."""
    one, other = _points(real, "real"), _points(generated, "generated")
    two_sample.two_samples(one, other)
    return one, other


def _points(given: Any, name: str) -> Floats:
    """Rows of finite numbers."""
    array = as_numeric(given, name)
    require_shape(array, (None, None), name, "Pass one row of numbers per point.")
    refuse_nan(array, name, fix="Repair them.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("has infinite values", where=name, fix="Repair them.")
    return array.astype(np.float64)


def _unused() -> np.random.Generator:
    """For tests without permutations, of all points."""
    return np.random.default_rng(0)
