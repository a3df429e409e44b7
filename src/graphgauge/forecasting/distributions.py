"""Forecasts that are distributions: objects with a CDF, a quantile function and a log-density.

Frozen distributions of SciPy and distributions of torch have them, under several names; neither is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, as_numeric, is_cuda, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.forecasting.options import exact_text

# The names of each function, the first known one is called.
_NAMES = {"cdf": ("cdf",), "quantile": ("ppf", "icdf", "quantile"), "log_density": ("logpdf", "log_prob")}
# Nodes of the integrals: at an end where quantiles may be infinite, and between the truth and the median.
_AT_END, _BETWEEN, _POWER = 16, 24, 4
_SMALLEST = 1e-16
# The logarithm of the ratio of two levels from which on the smaller is close to the end.
_CLOSE = 6.0
_DRAW = "Pass a continuous distribution, such as scipy.stats.t(df, loc, scale), or draw from it: samples=."


@dataclass(frozen=True)
class Distribution:
    """The predicted distribution of each truth, with the shape of the truths."""

    given: Any
    shape: tuple[int, ...]

    @classmethod
    def of(cls, given: Any, shape: tuple[int, ...]) -> Distribution:
        """Check that the object has the functions."""
        given = _of_cells(given)
        missing = [name for name, names in _NAMES.items() if not any(callable(getattr(given, n, None)) for n in names)]
        if missing:
            shown = {"cdf": "cdf", "quantile": "ppf or icdf", "log_density": "logpdf or log_prob"}
            raise InputError(
                f"{type(given).__name__} has no {', no '.join(shown[name] for name in missing)}",
                where="distribution",
                fix=_DRAW,
            )
        return cls(given, shape)

    def cdf(self, values: Floats) -> Floats:
        return np.clip(self._call("cdf", values), 0.0, 1.0)

    def quantile(self, levels: Floats) -> Floats:
        return self._call("quantile", levels)

    def log_density(self, values: Floats) -> Floats:
        found = self._call("log_density", values)
        if not _of_torch(self.given):
            return found
        # Without validation, torch extends densities beyond the support.
        inside = self.given.support.check(_tensor(values, self.given))
        return np.where(as_numeric(inside, "distribution"), found, -np.inf)

    def point(self) -> tuple[Floats, str]:
        """The mean where all means are finite, otherwise the median."""
        mean = getattr(self.given, "mean", None)
        if mean is not None:
            found = self._shaped(mean() if callable(mean) else mean)
            if np.isfinite(found).all():
                return found, "the distribution's mean"
        return self.quantile(np.full(self.shape, 0.5)), "the distribution's median"

    def gaussian(self) -> tuple[Any, Any] | None:
        """Means and standard deviations, if it is normal; tensors on a CUDA device as they are."""
        named = getattr(getattr(self.given, "dist", None), "name", type(self.given).__name__)
        if named not in ("norm", "Normal") or not hasattr(self.given, "mean"):
            return None
        parts = (getattr(self.given, "loc", None), getattr(self.given, "scale", None))
        if any(part is None or callable(part) for part in parts):
            mean, std = self.given.mean, getattr(self.given, "std", getattr(self.given, "standard_deviation", None))
            parts = (mean() if callable(mean) else mean, std() if callable(std) else std)
        mean, std = (part if is_cuda(part) else as_numeric(part, "distribution") for part in parts)
        return self._broadcast(mean), self._broadcast(std)

    def _call(self, what: str, values: Floats) -> Floats:
        function = next(f for name in _NAMES[what] if callable(f := getattr(self.given, name, None)))
        try:
            with np.errstate(all="ignore"):
                found = _called(function, self.given, values)
        except NotImplementedError:
            raise InputError(
                f"{type(self.given).__name__} does not implement {function.__name__}", where="distribution", fix=_DRAW
            ) from None
        return self._shaped(found)

    def _shaped(self, found: Any) -> Floats:
        return np.asarray(self._broadcast(as_numeric(found, "distribution").astype(np.float64)))

    def _broadcast(self, values: Any) -> Any:
        """An array or a tensor with the shape of the truth."""
        try:
            return values.detach().expand(self.shape) if is_tensor(values) else np.broadcast_to(values, self.shape)
        except (ValueError, RuntimeError):
            raise InputError(
                f"has the shape {tuple(values.shape)}, and the truth {self.shape}",
                where="distribution",
                fix="Give it parameters of the shape of y_true.",
            ) from None


def _of_cells(given: Any) -> Any:
    """The distributions of single cells; Student's t of torch, which lacks a CDF, as SciPy's."""
    while _of_torch(given) and type(given).__name__ == "Independent":
        given = given.base_dist
    if not _of_torch(given) or type(given).__name__ != "StudentT":
        return given
    from scipy.stats import t

    parts = (as_numeric(part, "distribution").astype(np.float64) for part in (given.df, given.loc, given.scale))
    return t(*parts)


def _called(function: Callable[[Any], Any], given: Any, values: Floats) -> Any:
    """Call a function with NumPy arrays, or with tensors if the distribution is one of torch."""
    if not _of_torch(given):
        return function(values)
    # Masked truths may be outside of the support, which validation rejects.
    checked = given._validate_args
    given._validate_args = False
    try:
        return function(_tensor(values, given))
    finally:
        given._validate_args = checked


def _of_torch(given: Any) -> bool:
    return type(given).__module__.startswith("torch.")


def _tensor(values: Floats, given: Any) -> Any:
    """The values where the parameters of a distribution of torch are."""
    from torch import from_numpy

    device = _device_of(given)
    found = from_numpy(np.array(values))
    return found if device is None else found.to(device)


def _device_of(given: Any) -> Any:
    """The device of the parameters of a distribution, or of the one that it is made of."""
    parameter = next((part for part in vars(given).values() if is_tensor(part)), None)
    if parameter is None and hasattr(given, "base_dist"):
        return _device_of(given.base_dist)
    return None if parameter is None else parameter.device


def score_names(coverage: Sequence[float], with_scores: bool, thresholds: Sequence[float] = ()) -> list[str]:
    """What is computed for each cell: positions of the truths, scores, the ends of central intervals, and the scores at
    each threshold."""
    ends = [f"{end}_{level:g}" for level in coverage for end in ("low", "high")]
    at = [f"{name}_{exact_text(threshold)}" for threshold in thresholds for name in ("brier", "twcrps")]
    return ["pit", *(["nll", "crps"] if with_scores else []), *ends, *at]


def scored(
    distribution: Distribution,
    y: Floats,
    coverage: Sequence[float],
    with_scores: bool,
    thresholds: Sequence[float] = (),
) -> Floats:
    """The columns of `score_names` along a last axis."""
    columns = [distribution.cdf(y)]
    if with_scores:
        columns += [-distribution.log_density(y), crps_of(distribution, y, columns[0])]
    columns += [
        distribution.quantile(np.full(y.shape, level))
        for known in coverage
        for level in ((1 - known) / 2, (1 + known) / 2)
    ]
    for threshold in thresholds:
        columns += [
            np.square(1 - distribution.cdf(np.full(y.shape, threshold)) - (y > threshold)),
            crps_above(distribution, y, threshold),
        ]
    return np.stack(columns, axis=-1)


def crps_above(distribution: Distribution, y: Floats, threshold: float) -> Floats:
    """The threshold-weighted CRPS of each cell: the CRPS of the distribution and the truth, both cut off from below.

    Twice the pinball loss, integrated over the levels: it is closed below the level of the threshold, where all
    quantiles are cut off. The levels above are divided at the truth and at the median.
    """
    truth = np.maximum(y, threshold)
    low, high = (distribution.cdf(np.broadcast_to(values, y.shape)) for values in (threshold, truth))
    below, above = low, np.maximum(low, high)
    total = np.square(below) * (truth - threshold)

    def falling(level: Floats) -> Floats:
        return level * (truth - _finite_or(truth, distribution.quantile(level)))

    def rising(level: Floats) -> Floats:
        return (1 - level) * (_finite_or(truth, distribution.quantile(level)) - truth)

    half = np.full(y.shape, 0.5)
    for loss, first, last in ((falling, below, above), (rising, above, half)):
        total += 2 * _over_levels(loss, first, np.maximum(first, last))
    node, weight = np.polynomial.legendre.leggauss(_AT_END)
    beyond = 1 - np.maximum(above, half)
    place, weight = ((node + 1) / 2) ** _POWER, weight / 2 * _POWER * ((node + 1) / 2) ** (_POWER - 1)
    for at, size in zip(place, weight, strict=True):
        total += 2 * size * beyond * rising(1 - beyond * at)
    return np.maximum(total, 0.0)


def _over_levels(loss: Callable[[Floats], Floats], first: Floats, last: Floats) -> Floats:
    """The integral over levels, which are even in the logarithm of the distance to the nearer end, or if they come
    close to the end, in the fourth root of the distance."""
    node, weight = np.polynomial.legendre.leggauss(_BETWEEN)
    total = np.zeros(first.shape)
    for mirrored in (False, True):
        start, stop = (1 - last, 1 - first) if mirrored else (first, last)
        start = np.clip(start, _SMALLEST, 0.5)
        stop = np.clip(stop, start, 0.5)
        length = np.log(stop / start)
        close = length > _CLOSE
        for at, size in zip((node + 1) / 2, weight / 2, strict=True):
            level = np.where(close, start + (stop - start) * at**_POWER, start * np.exp(at * length))
            change = np.where(close, (stop - start) * _POWER * at ** (_POWER - 1), length * level)
            total += size * change * loss(1 - level if mirrored else level)
    return total


def crps_of(distribution: Distribution, y: Floats, pit: Floats) -> Floats:
    """The CRPS of each cell: twice the pinball loss, integrated over the levels.

    Levels are divided at the truth and at the median. Distributions are mirrored so that the truth is above the median:
    then the integrals are over the levels below the median, between it and the truth, and beyond the truth.
    """
    upper = pit >= 0.5
    sign = np.where(upper, 1.0, -1.0)
    truth = sign * y
    # The probability beyond the truth.
    beyond = np.clip(np.where(upper, 1 - pit, pit), _SMALLEST, 0.5)

    def near(level: Floats) -> Floats:
        """The quantile with this probability beyond it, on the side of the truth."""
        return sign * distribution.quantile(np.where(upper, 1 - level, level))

    def far(level: Floats) -> Floats:
        return sign * distribution.quantile(np.where(upper, level, 1 - level))

    total = np.zeros(y.shape)
    node, weight = np.polynomial.legendre.leggauss(_AT_END)
    place, weight = ((node + 1) / 2) ** _POWER, weight / 2 * _POWER * ((node + 1) / 2) ** (_POWER - 1)
    for at, size in zip(place, weight, strict=True):
        level = np.full(y.shape, at / 2)
        total += size / 2 * _finite(level * (truth - far(level)))
        level = beyond * at
        total += size * beyond * _finite(level * (near(level) - truth))
    node, weight = np.polynomial.legendre.leggauss(_BETWEEN)
    length = np.log(0.5 / beyond)
    for at, size in zip((node + 1) / 2, weight / 2, strict=True):
        level = beyond * np.exp(at * length)
        total += size * length * level * _finite((1 - level) * (truth - near(level)))
    return 2 * total


def _finite_or(truth: Floats, quantile: Floats) -> Floats:
    """Quantiles, with the truth for infinite ones, which rounding took for those of the levels 0 or 1."""
    return np.where(np.isinf(quantile), truth, quantile)


def _finite(values: Floats) -> Floats:
    """Without the infinite quantiles of levels that rounding took for 0 or 1."""
    return np.where(np.isinf(values), 0.0, values)
