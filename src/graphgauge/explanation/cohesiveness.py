"""Cohesiveness: are the edges of an explanation close to each other, in the graph and in time?"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.kernels.cohesion import touching_pairs

PAIRS = ("all", "adjacent")
# Beyond this many ΔT, a 64-bit float cannot represent a difference of one ΔT.
_MOST_TURNS = 2.0**53


def cohesiveness(src: Any, dst: Any, time: Any, *, delta_t: float | None = None, pairs: str = "all") -> float:
    """The mean over ordered pairs of edges of cos(|tᵢ − tⱼ|/ΔT) if they share a node, and 0 otherwise.

    ΔT defaults to the range of the times; with a smaller ΔT the value can be negative. `pairs="adjacent"` takes the
    mean only over the pairs that share a node. NaN if there are no pairs or all times are the same.

    Parameters
    ----------
    src, dst, time
        Ends and time of each edge.
    delta_t
        ΔT, above 0.
    pairs
        `all` or `adjacent`.

    Returns
    -------
    float
        In [0, 1] with the default ΔT.

    Raises
    ------
    InputError
        If the arrays have different lengths.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> round(explanation.cohesiveness([0, 1, 3], [1, 2, 4], [0, 10, 5], delta_t=10), 4)
    0.1801
    """
    values = cohesiveness_prefixes(src, dst, time, delta_t=delta_t, pairs=pairs)
    return float(values[-1]) if values.size else math.nan


def cohesiveness_prefixes(src: Any, dst: Any, time: Any, *, delta_t: float | None = None, pairs: str = "all") -> Floats:
    """The cohesiveness of the first edge, of the first two, of the first three …, all with the ΔT of the whole.

    Time and memory grow with the number of edges, not of pairs.

    Parameters
    ----------
    src, dst, time, delta_t, pairs
        As in `cohesiveness`.

    Returns
    -------
    numpy.ndarray
        One value per edge (E,); the first is NaN, because one edge has no pair.

    Raises
    ------
    InputError
        If the arrays have different lengths.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> explanation.cohesiveness_prefixes([0, 1, 3], [1, 2, 4], [0, 10, 5], delta_t=10).round(4)
    array([   nan, 0.5403, 0.1801])
    """
    one_of("pairs", pairs, PAIRS)
    source, target = _node_numbers(src, dst)
    shifted = _shifted(time, len(source))
    scale = _scale(shifted, delta_t)
    if not scale:
        return np.full(len(source), np.nan)
    sums, touching = touching_pairs(source, target, shifted / scale)
    m = np.arange(1, len(source) + 1)
    number = m * (m - 1) if pairs == "all" else touching
    values: Floats = np.divide(sums, number, out=np.full(len(source), np.nan), where=number > 0)
    return values


def _node_numbers(src: Any, dst: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    source, target = as_labels(src, "src"), as_labels(dst, "dst")
    require_shape(target, source.shape, "dst", "Pass one node per edge in src and in dst.")
    joined = np.concatenate([source, target])
    if joined.dtype.kind == "f" or (source.dtype.kind == "U") != (target.dtype.kind == "U"):
        raise InputError(
            f"src has {source.dtype} and dst {target.dtype}, which have no common type",
            where="src and dst",
            fix="Use one type for all nodes, integers or text.",
        )
    numbers = _numbered(joined)
    return numbers[: len(source)], numbers[len(source) :]


def _numbered(labels: AnyArray) -> NDArray[np.int64]:
    """Labels replaced by small integers; integers in a small range need no sorting."""
    if labels.size and labels.dtype.kind in "iu":
        wide = labels if labels.dtype.kind == "u" else labels.astype(np.int64)
        if int(wide.max()) - int(wide.min()) < 4 * wide.size:
            offsets: NDArray[np.int64] = (wide - wide.min()).astype(np.int64)
            return offsets
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _shifted(time: Any, edges: int) -> Floats:
    """Times relative to the first, subtracted in their own type: a float would lose nanoseconds since an epoch."""
    times = as_numeric(time, "time")
    require_shape(times, (edges,), "time", "Pass one time per edge.")
    refuse_nan(times, "time", fix="Remove edges without a time.")
    if not edges:
        return np.empty(0)
    if times.dtype.kind == "f":
        first, last = float(times.min()), float(times.max())
        if not math.isfinite(last - first):
            raise InputError("times and their range must be finite", where="time")
        return np.subtract(times, first, dtype=np.float64)
    whole = times if times.dtype == np.uint64 else times.astype(np.int64)
    # The difference to the smallest is not negative, so it fits into 64 unsigned bits.
    shifted: Floats = (whole - whole.min()).astype(np.uint64).astype(np.float64)
    return shifted


def _scale(shifted: Floats, delta_t: float | None) -> float:
    span = float(shifted.max(initial=0.0))
    if delta_t is None:
        return span
    if not isinstance(delta_t, Real) or not delta_t >= 0:
        raise OptionError(
            f"delta_t must be a number of at least 0, not {delta_t!r:.40}", fix="Leave it out for the range of times."
        )
    if span > delta_t * _MOST_TURNS > 0:
        raise OptionError(f"delta_t = {delta_t} is lost in rounding for times with a range of {span}")
    return float(delta_t)
