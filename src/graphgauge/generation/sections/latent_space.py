"""Latent space: whether conditions are separated, and in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.generation.declared import (
    COUNT_LAWS,
    FAMILY,
    LAWS,
    MICRO,
    NO_ORDER,
    WHOLE,
    members,
    nan_array,
    of_correlation,
    over_samples,
)
from graphgauge.generation.levels import SPLITS, band
from graphgauge.generation.samples import RealSample, canonical_order
from graphgauge.generation.table import SampleTable
from graphgauge.kernels.silhouette import silhouettes
from graphgauge.old.core.metric import Estimate, Level, MetricFunction, NoChance, NoInterval, metric, section
from graphgauge.old.core.result import Result, Table
from graphgauge.old.stats.intervals import without_rounding

# Ridge penalties, as shares of the largest squared singular value.
_PENALTIES = np.logspace(-8, 2, 21)


def held_out_order(
    points: NDArray[np.floating], codes: Ints, *, folds: int = 5, generator: np.random.Generator
) -> Floats:
    """The position of each point along the direction that best predicts its condition's rank, by cross-validation.

    Ridge regression of the code on the standardised coordinates; the penalty is chosen by generalised cross-validation
    within the other folds. Folds are stratified by condition: otherwise an uninformative latent space would predict low
    values in folds with high codes.
    """
    points, codes = np.asarray(points, np.float64), np.asarray(codes)
    n = len(points)
    folds = min(folds, n)
    if folds < 2 or points.ndim != 2 or codes.shape != (n,):
        raise InputError(
            f"expected at least two points with one code each, found shapes {points.shape} and {codes.shape}"
        )
    fold = np.empty(n, np.int64)
    fold[np.lexsort((generator.random(n), codes))] = np.arange(n) % folds
    predicted = np.empty(n)
    for held_out in range(folds):
        out = fold == held_out
        predicted[out] = _ridge(points[~out], codes[~out].astype(np.float64), points[out])
    return predicted


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Rank correlation, with mean ranks for ties; NaN if either side is constant.

    >>> round(spearman([1, 2, 2, 3], [10, 20, 30, 40]), 6)
    0.948683
    """
    first, second = (_centred_ranks(np.asarray(values)) for values in (a, b))
    norm = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / norm if norm > 0 else math.nan


def _ridge(points: Floats, target: Floats, others: Floats) -> Floats:
    centre, spread = points.mean(axis=0), points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    left, singular, right = np.linalg.svd((points - centre) / scale, full_matrices=False)
    mean = target.mean()
    along = left.T @ (target - mean)
    outside = float(((target - mean) ** 2).sum() - along @ along)
    best, weights = math.inf, np.zeros_like(singular)
    for penalty in _PENALTIES * max(float(singular.max(initial=0.0)) ** 2, np.finfo(float).tiny):
        kept = singular**2 / (singular**2 + penalty)
        free = len(points) - 1 - kept.sum()
        error = (outside + float((((1 - kept) * along) ** 2).sum())) / free**2 if free > 0.5 else math.inf
        if error < best:
            best, weights = error, singular / (singular**2 + penalty) * along
    prediction: Floats = mean + (others - centre) / scale @ (right.T @ weights)
    return prediction


def _centred_ranks(values: NDArray[np.generic]) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]
    return np.asarray(ranks - (len(values) + 1) / 2)


section(
    "latent_space",
    family=FAMILY,
    priority="medium",
    question="whether conditions are separated, and in order, in the latent space",
)

CENTROIDS = "per_grade_centroids"
DIMENSION = "dimension"
# A dimension is active if its latent vectors vary more than this (Burda et al. 2016).
ACTIVE = 0.01
_FOLDS = 5
# Up to this number of samples silhouettes of shuffled conditions are repeated.
_FEW_POINTS = 1500
_DEALS = 20
LEAK = "the encoder is given the condition, so latent vectors may be separated by copying it"


class Cache:
    """Per-sample values shared by several metrics and averages."""

    def __init__(self) -> None:
        self._held: dict[str, Floats] = {}

    def get(self, name: str, compute: Callable[[], Floats]) -> Floats:
        if name not in self._held:
            self._held[name] = compute()
        return self._held[name]


@dataclass(frozen=True)
class Latents(RealSample):
    """Latent vectors of real samples."""

    points: Floats = field(kw_only=True)
    ordered: bool = False
    leaks: bool | None = None
    variances: Floats | None = None
    cache: Cache = field(default_factory=Cache)

    @classmethod
    def of(cls, table: SampleTable, **common: Any) -> Latents:
        assert table.latents is not None
        order = canonical_order(table.real_codes, table.latents)
        return cls(
            table.labels,
            points=table.latents[order],
            codes=table.real_codes[order],
            ordered=table.ordered,
            leaks=table.leaks,
            variances=None if table.latent_variances is None else table.latent_variances[order],
            **common,
        )

    def dealt(self, key: int) -> Latents:
        """The same vectors with shuffled conditions."""
        codes = np.random.default_rng([self.seed, 6, key]).permutation(self.codes)
        return replace(self, codes=codes, cache=Cache())

    def silhouettes(self) -> Floats:
        return self.cache.get("silhouettes", lambda: silhouettes(self.points, self.codes, threads=self.threads))

    def centroids(self) -> Floats:
        """The mean vector of each condition; NaN without samples."""
        sums = np.zeros((self.groups, self.points.shape[1]))
        np.add.at(sums, self.codes, self.points)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / self.counts[:, np.newaxis])

    def centroid_table(self) -> Table:
        """Centroids and spreads, one row per condition."""
        centroids = self.centroids()
        away = ((self.points - centroids[self.codes]) ** 2).sum(1)
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(np.bincount(self.codes, away, minlength=self.groups) / self.counts)
        columns = {CENTROIDS: np.array(self.labels), "n": self.counts, "spread": spread}
        columns |= {f"z{place}": centroids[:, place] for place in range(centroids.shape[1])}
        return Table(CENTROIDS, columns)

    def divergence(self) -> Floats | None:
        """The KL divergence (n, d) of each posterior from a standard normal, in nats; None without variances."""
        if self.variances is None:
            return None
        return np.asarray((self.points**2 + self.variances - 1 - np.log(self.variances)) / 2)

    def by_dimension(self) -> Table:
        """One row per dimension: the variance of the latent vectors, whether it is active, and the divergence."""
        size = self.points.shape[1]
        variance = self.points.var(axis=0)
        columns: dict[str, Any] = {
            DIMENSION: np.array([f"z{place}" for place in range(size)]),
            "n": np.full(size, len(self.points)),
            "variance": variance,
            "active_units": (variance > ACTIVE).astype(float),
        }
        divergence = self.divergence()
        if divergence is not None:
            columns["latent_kl"] = divergence.mean(0)
        return Table(DIMENSION, columns)

    def warned(self, estimate: Estimate) -> Estimate:
        return estimate.warned(LEAK) if self.leaks else estimate

    def whole(self, value: float, reason: str, **facts: Any) -> Estimate:
        return Estimate(np.array([value]), np.array([len(self.points)]), reason=reason, facts=facts)


def _dealt_once(function: MetricFunction, sample: Latents, params: Mapping[str, Any]) -> dict[str, float]:
    """Randomly shuffled conditions: the mean of 39 shuffles and their range; once for more than 1,500 samples."""
    deals = SPLITS if len(sample.points) <= _FEW_POINTS else 1
    values = np.array([float(function(sample.dealt(deal), **params).value[0]) for deal in range(deals)])
    if deals == 1 or np.isnan(values).any():
        return {"conditions dealt at random": float(values[0])}
    return {"conditions dealt at random": Level(float(values.mean()), *band(values))}


def _dealt_often(function: MetricFunction, sample: Latents, params: Mapping[str, Any]) -> dict[str, float]:
    """Randomly shuffled conditions, mean over 20 shuffles."""
    values = [float(function(sample.dealt(deal), **params).value[0]) for deal in range(_DEALS)]
    return {"conditions dealt at random": float(np.mean(values))}


def _no_order(function: MetricFunction, sample: Latents, params: Mapping[str, Any]) -> dict[str, float]:
    """Latent vectors without information about the order."""
    return {"no order": 0.0}


def _read(result: Result) -> str:
    for least, words in ((0.5, "conditions are well separated"), (0.2, "they are separated"), (0.05, "they overlap")):
        if result.value > least:
            return words
    return "conditions are not separated; see ordinal_spearman for an order without gaps"


_ONE = "fewer than two conditions have real samples, or none has two"
_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "latent_space",
    "needs": ("latents",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "rousseeuw1987",
}
_FACT = _COMMON | {
    "direction": "none",
    "laws": COUNT_LAWS,
    "reference": "kingma2014",
    "chance": NoChance("a scale is neither good nor bad"),
}


@metric(
    key="silhouette_score",
    direction="higher",
    bounds=(-1, 1),
    chance=_dealt_once,
    interval=over_samples,
    goal=0.2,
    interpretation=_read,
    conventions=MICRO | {"distance": "Euclidean", "one sample of a condition": "0"},
    **_COMMON,
)
def silhouette_score(sample: Latents) -> Estimate:
    """How much nearer a sample's latent vector is to its own condition than to the nearest other, on average."""
    if np.count_nonzero(sample.counts) < 2 or sample.counts.max(initial=0) < 2:
        return sample.nothing(_ONE)
    return sample.warned(sample.mean(sample.silhouettes(), sample.codes, _ONE, range=(-1.0, 1.0)))


@metric(key="latent_mean", bounds=(0, np.inf), interval=over_samples, conventions=MICRO, **_FACT)
def latent_mean(sample: Latents) -> Estimate:
    """Mean absolute value of the latent vectors' entries; 0.8 for a standard normal."""
    items = np.abs(sample.points).mean(1) if sample.points.shape[1] else np.full(len(sample.points), np.nan)
    return sample.mean(items, sample.codes, "no latent vectors")


@metric(
    key="latent_std",
    bounds=(0, np.inf),
    interval=NoInterval("a spread describes these samples"),
    conventions=WHOLE | {"ddof": "0"},
    **_FACT,
)
def latent_std(sample: Latents) -> Estimate:
    """Standard deviation of all entries of the latent vectors together; 1 for a standard normal."""
    if sample.average is not None:
        value = without_rounding(sample.points.std(), sample.points) if sample.points.size else np.nan
        return sample.whole(value, "no latent vectors")
    groups = members(sample.codes, sample.groups)
    parts = (sample.points[rows] for rows in groups)
    values = nan_array(without_rounding(part.std(), part) if part.size else np.nan for part in parts)
    return sample.estimate(values, sample.counts, "no latent vectors")


@metric(
    key="active_units",
    bounds=(0, np.inf),
    interval=NoInterval("a count of dimensions"),
    conventions=WHOLE | {"active": f"variance of the latent vectors above {ACTIVE}"},
    **_FACT | {"reference": "burda2016", "chance": NoChance("it counts dimensions")},
)
def active_units(sample: Latents) -> Estimate:
    """Number of latent dimensions whose variance between real samples is above 0.01; `by("dimension")` has each."""
    if sample.average is None or len(sample.points) < 2:
        return sample.nothing("one number for all conditions" if sample.average is None else "no latent vectors")
    return sample.whole(float(np.count_nonzero(sample.points.var(axis=0) > ACTIVE)), "no latent vectors")


@metric(
    key="latent_kl",
    bounds=(0, np.inf),
    interval=over_samples,
    conventions=MICRO | {"unit": "nats"},
    **_FACT | {"needs": ("posteriors",)},
)
def latent_kl(sample: Latents) -> Estimate:
    """Mean KL divergence of the posteriors from a standard normal, over all dimensions; `by("dimension")` has each."""
    divergence = sample.divergence()
    assert divergence is not None
    return sample.mean(divergence.sum(1), sample.codes, "no latent vectors")


@metric(
    key="condition_separation",
    direction="higher",
    bounds=(0, np.inf),
    chance=_dealt_often,
    interval=NoInterval("centroids of few samples differ by chance; compare with conditions dealt at random"),
    conventions=WHOLE | {"neighbours": "next to each other among the conditions that occur"},
    **_COMMON,
)
def condition_separation(sample: Latents) -> Estimate:
    """Mean Euclidean distance between the centroids of neighbouring conditions."""
    if not sample.ordered:
        return sample.whole(np.nan, NO_ORDER)
    centroids = sample.centroids()[sample.counts > 0]
    if len(centroids) < 2:
        return sample.whole(np.nan, "fewer than two conditions have real samples")
    return sample.warned(sample.whole(float(np.sqrt((np.diff(centroids, axis=0) ** 2).sum(1)).mean()), ""))


@metric(
    key="ordinal_spearman",
    direction="higher",
    bounds=(-1, 1),
    chance=_no_order,
    interval=of_correlation,
    conventions=WHOLE | {"direction": f"best linear one, held out in {_FOLDS} folds", "ties": "mean rank"},
    **_COMMON | {"reference": "spearman1904"},
)
def ordinal_spearman(sample: Latents) -> Estimate:
    """Rank correlation of ordered conditions with the best linear direction of the latent space, on held-out samples.

    Conditions that overlap have a low silhouette even if they are well ordered.
    """
    if not sample.ordered:
        return sample.whole(np.nan, NO_ORDER)
    if np.count_nonzero(sample.counts) < 2 or len(sample.points) < 2 * _FOLDS:
        return sample.whole(np.nan, f"fewer than two conditions, or fewer than {2 * _FOLDS} real samples")
    found = sample.cache.get(
        "order",
        lambda: held_out_order(
            sample.points, sample.codes, folds=_FOLDS, generator=np.random.default_rng([sample.seed, 7])
        ),
    )
    value = spearman(found, sample.codes)
    return sample.warned(sample.whole(value, "the latent vectors do not vary"))
