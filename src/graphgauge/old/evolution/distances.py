"""Distances in the Poincaré ball and link scores, for plain arrays."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.kernels.poincare import distances
from graphgauge.old.evolution.inputs import Points


def poincare_distance(u: Any, v: Any) -> float | Floats:
    """Hyperbolic distance between two points inside the unit ball, or between points row by row.

    Accurate to rounding, also near the boundary; equal points have distance 0. A norm of 1 or more is an error.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).

    Returns
    -------
    float or numpy.ndarray
        At least 0.

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.poincare_distance([0.0, 0.0], [0.5, 0.0]), 4)
    1.0986
    """
    first, second = as_numeric(u, "u"), as_numeric(v, "v")
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise InputError(
            f"found shapes {first.shape} and {second.shape}",
            where="u and v",
            fix="Pass two points (D,), or two arrays of points (n, D).",
        )
    pair = [Points.of(np.atleast_2d(points), name) for points, name in ((first, "u"), (second, "v"))]
    both = Points(np.concatenate([points.rows for points in pair]), np.ones(2 * len(pair[0]), bool))
    rows = np.arange(len(pair[0]))
    found = distances(both.order(rows, rows + len(rows)))
    return float(found[0]) if first.ndim == 1 else found


def link_score(u: Any, v: Any, *, temperature: float = 1.0) -> float | Floats:
    """σ(−d/temperature) of the distance d: ½ for equal points, close to 0 for distant ones.

    Parameters
    ----------
    u, v
        Points inside the unit ball (d,), or rows of them (n, d).
    temperature
        Above 0.

    Returns
    -------
    float or numpy.ndarray
        In (0, 0.5].

    Raises
    ------
    InputError
        If a norm is 1 or more.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> round(evolution.link_score([0.0, 0.0], [0.5, 0.0]), 4)
    0.25
    """
    from scipy.special import expit

    distance = poincare_distance(u, v)
    found = expit(-np.asarray(distance) / checked_temperature(temperature))
    return float(found) if found.ndim == 0 else found


def checked_temperature(temperature: float) -> float:
    if not isinstance(temperature, Real) or not isfinite(temperature) or temperature <= 0:
        raise OptionError(f"temperature must be a positive number, not {temperature!r}")
    return float(temperature)
