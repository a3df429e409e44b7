"""Latent space: whether conditions are separated, and in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, NoChance, NoInterval
from graphgauge.core.registry import Chosen, section
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints
from graphgauge.generation.averages import (
    COUNT_LAWS,
    FAMILY,
    LAWS,
    NO_ORDER,
    ConditionSample,
    canonical_order,
    declared,
    floats,
    of_correlation,
    over_samples,
    ranks,
    rows_by_code,
    warned,
    whole_of,
    without_rounding,
)
from graphgauge.generation.distances import silhouettes
from graphgauge.generation.levels import SPLITS, band
from graphgauge.generation.sample import Sides

section(
    "latent_space",
    family=FAMILY,
    priority="medium",
    question="whether conditions are separated, and in order, in the latent space",
)

CENTROIDS, DIMENSION = "per_grade_centroids", "dimension"
# A dimension is active if its latent vectors vary more than this (Burda et al. 2016).
ACTIVE = 0.01
_FOLDS = 5
# Ridge penalties, as shares of the largest squared singular value.
_PENALTIES = np.logspace(-8, 2, 21)
# Up to this number of samples silhouettes of shuffled conditions are repeated.
_FEW_POINTS = 1500
_DEALS = 20
LEAK = "the encoder is given the condition, so latent vectors may be separated by copying it"


@dataclass(frozen=True)
class Latents(ConditionSample):
    """Latent vectors of held-out real samples."""

    points: Floats = field(kw_only=True)
    codes: Ints = field(kw_only=True)
    seed: int = field(default=0, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    leaks: bool | None = field(default=None, kw_only=True)
    variances: Floats | None = field(default=None, kw_only=True)
    # What several metrics and averages share.
    cache: dict[str, Floats] = field(default_factory=dict, kw_only=True)

    @classmethod
    def from_sides(cls, sides: Sides, seed: int) -> Latents:
        real = sides.held_out
        order = canonical_order(real.conditions, real.latents)
        return cls(
            sides.labels,
            points=real.latents[order],
            codes=real.conditions[order],
            seed=seed,
            ordered=sides.ordered,
            leaks=sides.leaks,
            variances=None if real.variances is None else real.variances[order],
        )

    @cached_property
    def counts(self) -> Ints:
        return np.bincount(self.codes, minlength=self.groups)

    def left_out(self) -> Mapping[str, str]:
        return {label: "no real samples" for label, n in zip(self.labels, self.counts, strict=True) if not n}

    def dealt(self, key: int) -> Latents:
        """The same vectors with shuffled conditions."""
        codes = np.random.default_rng([self.seed, 6, key]).permutation(self.codes)
        return replace(self, codes=codes, cache={})

    def kept(self, name: str, compute: Callable[[], Floats]) -> Floats:
        """A value per sample, computed once."""
        if name not in self.cache:
            self.cache[name] = compute()
        return self.cache[name]

    def centroids(self) -> Floats:
        """The mean vector of each condition; NaN without samples."""
        sums = np.zeros((self.groups, self.points.shape[1]))
        np.add.at(sums, self.codes, self.points)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / self.counts[:, np.newaxis])

    def divergence(self) -> Floats | None:
        """The KL divergence (n, d) of each posterior from a standard normal, in nats; None without variances."""
        if self.variances is None:
            return None
        return np.asarray((self.points**2 + self.variances - 1 - np.log(self.variances)) / 2)

    def whole(self, value: float, reason: str) -> Estimate:
        return whole_of(value, len(self.points), reason)

    def told(self, estimate: Estimate) -> Estimate:
        """With a warning if the encoder is given the condition."""
        return warned(estimate, LEAK) if self.leaks else estimate

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """Centroids and spreads by condition; by dimension the variance, whether it is active, and the divergence."""
        if not len(self.points):
            return {}
        centroids = self.centroids()
        away = ((self.points - centroids[self.codes]) ** 2).sum(1)
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(np.bincount(self.codes, away, minlength=self.groups) / self.counts)
        names = [f"z{place}" for place in range(self.points.shape[1])]
        by_condition: dict[str, Any] = {CENTROIDS: np.array(self.labels), "n": self.counts, "spread": spread}
        by_condition |= dict(zip(names, centroids.T, strict=True))
        variance, divergence = self.points.var(axis=0), self.divergence()
        by_dimension: dict[str, Any] = {
            DIMENSION: np.array(names, dtype=str),
            "n": np.full(len(names), len(self.points)),
            "variance": variance,
            "active_units": (variance > ACTIVE).astype(float),
        }
        by_dimension |= {} if divergence is None else {"latent_kl": divergence.mean(0)}
        return {CENTROIDS: Grid(by_condition), DIMENSION: Grid(by_dimension)}


# ---- order


def held_out_order(points: Floats, codes: Ints, *, folds: int = _FOLDS, generator: np.random.Generator) -> Floats:
    """The position of each point along the direction that best predicts its condition's rank, by cross-validation.

    Ridge regression of the code on the standardised coordinates; the penalty is chosen by generalised cross-validation
    within the other folds. Folds are stratified by condition: otherwise an uninformative latent space would predict low
    values in folds with high codes.
    """
    n = len(points)
    fold = np.empty(n, np.int64)
    fold[np.lexsort((generator.random(n), codes))] = np.arange(n) % folds
    predicted = np.empty(n)
    for held_out in range(folds):
        out = fold == held_out
        predicted[out] = _ridge(points[~out], codes[~out].astype(np.float64), points[out])
    return predicted


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
    return np.asarray(mean + (others - centre) / scale @ (right.T @ weights))


def spearman(a: Any, b: Any) -> float:
    """Rank correlation, with mean ranks for ties; NaN if either side is constant.

    >>> round(spearman([1, 2, 2, 3], [10, 20, 30, 40]), 6)
    0.948683
    """
    first, second = (ranks(np.asarray(values)) - (len(values) + 1) / 2 for values in (a, b))
    norm = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / norm if norm > 0 else math.nan


# ---- levels


def _dealt_once(sample: Latents) -> Iterator[Reference]:
    """Randomly shuffled conditions: the mean of 39 shuffles and their range; once for more than 1,500 samples."""
    deals = SPLITS if len(sample.points) <= _FEW_POINTS else 1
    values = floats(float(_silhouette(sample.dealt(deal)).value[0]) for deal in range(deals))
    if deals == 1 or np.isnan(values).any():
        yield Reference("conditions dealt at random", float(values[0]))
        return
    low, high = band(values)
    yield Reference("conditions dealt at random", float(values.mean()), low=low, high=high)


def _dealt_often(sample: Latents) -> Iterator[Reference]:
    """Randomly shuffled conditions, mean over 20 shuffles."""
    values = [float(_separation(sample.dealt(deal)).value[0]) for deal in range(_DEALS)]
    yield Reference("conditions dealt at random", float(np.mean(values)))


def _no_order(sample: Latents) -> Iterator[Reference]:
    """Latent vectors without information about the order."""
    yield Reference("no order", 0.0)


def _read(result: Result) -> str:
    for least, words in ((0.5, "conditions are well separated"), (0.2, "they are separated"), (0.05, "they overlap")):
        if result.value > least:
            return words
    return "conditions are not separated; see ordinal_spearman for an order without gaps"


# ---- metrics

_ONE = "fewer than two conditions have real samples, or none has two"
_COMMON: dict[str, Any] = {
    "section": "latent_space",
    "needs": ("latents",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "rousseeuw1987",
}
_FACT = _COMMON | {
    "direction": "none",
    "bounds": (0, np.inf),
    "laws": COUNT_LAWS,
    "reference": "kingma2014",
    "chance": NoChance("a scale is neither good nor bad"),
}


def _silhouette(sample: Latents) -> Estimate:
    if np.count_nonzero(sample.counts) < 2 or sample.counts.max(initial=0) < 2:
        return sample.nothing(_ONE)
    items = sample.kept("silhouettes", lambda: silhouettes(sample.points, sample.codes))
    return sample.told(sample.mean(items, sample.codes, _ONE, range=(-1.0, 1.0)))


@declared(
    "silhouette_score",
    average="micro",
    direction="higher",
    bounds=(-1, 1),
    chance=_dealt_once,
    interval=over_samples,
    goal=0.2,
    interpretation=_read,
    default=True,
    conventions={"distance": "Euclidean", "one sample of a condition": "0"},
    **_COMMON,
)
def silhouette_score(sample: Latents) -> Estimate:
    """How much nearer a sample's latent vector is to its own condition than to the nearest other, on average."""
    return _silhouette(sample)


@declared("latent_mean", average="micro", interval=over_samples, **_FACT)
def latent_mean(sample: Latents) -> Estimate:
    """Mean absolute value of the latent vectors' entries; 0.8 for a standard normal."""
    items = np.abs(sample.points).mean(1) if sample.points.shape[1] else np.full(len(sample.points), np.nan)
    return sample.mean(items, sample.codes, "no latent vectors")


@declared(
    "latent_std",
    average="whole",
    interval=NoInterval("a spread describes these samples"),
    conventions={"ddof": "0"},
    **_FACT,
)
def latent_std(sample: Latents) -> Estimate:
    """Standard deviation of all entries of the latent vectors together; 1 for a standard normal."""
    if sample.average is not None:
        value = without_rounding(sample.points.std(), sample.points) if sample.points.size else np.nan
        return sample.whole(value, "no latent vectors")
    parts = (sample.points[rows] for rows in rows_by_code(sample.codes, sample.groups))
    values = floats(without_rounding(part.std(), part) if part.size else np.nan for part in parts)
    return sample.estimate(values, sample.counts, "no latent vectors")


@declared(
    "active_units",
    average="whole",
    interval=NoInterval("a count of dimensions"),
    conventions={"active": f"variance of the latent vectors above {ACTIVE}"},
    **_FACT | {"reference": "burda2016", "chance": NoChance("it counts dimensions")},
)
def active_units(sample: Latents) -> Estimate:
    """Number of latent dimensions whose variance between real samples is above 0.01; `by("dimension")` has each."""
    if sample.average is None or len(sample.points) < 2:
        return sample.nothing("one number for all conditions" if sample.average is None else "no latent vectors")
    return sample.whole(float(np.count_nonzero(sample.points.var(axis=0) > ACTIVE)), "no latent vectors")


@declared(
    "latent_kl",
    average="micro",
    interval=over_samples,
    conventions={"unit": "nats"},
    **_FACT | {"needs": ("posteriors",)},
)
def latent_kl(sample: Latents) -> Estimate:
    """Mean KL divergence of the posteriors from a standard normal, over all dimensions; `by("dimension")` has each."""
    divergence = sample.divergence()
    assert divergence is not None
    return sample.mean(divergence.sum(1), sample.codes, "no latent vectors")


def _separation(sample: Latents) -> Estimate:
    if not sample.ordered:
        return sample.whole(np.nan, NO_ORDER)
    centroids = sample.centroids()[sample.counts > 0]
    if len(centroids) < 2:
        return sample.whole(np.nan, "fewer than two conditions have real samples")
    return sample.told(sample.whole(float(np.sqrt((np.diff(centroids, axis=0) ** 2).sum(1)).mean()), ""))


@declared(
    "grade_separation",
    average="whole",
    direction="higher",
    bounds=(0, np.inf),
    chance=_dealt_often,
    interval=NoInterval("centroids of few samples differ by chance; compare with conditions dealt at random"),
    conventions={"neighbours": "next to each other among the conditions that occur"},
    **_COMMON,
)
def grade_separation(sample: Latents) -> Estimate:
    """Mean Euclidean distance between the centroids of neighbouring conditions."""
    return _separation(sample)


@declared(
    "ordinal_spearman",
    average="whole",
    direction="higher",
    bounds=(-1, 1),
    chance=_no_order,
    interval=of_correlation,
    default=True,
    conventions={"direction": f"best linear one, held out in {_FOLDS} folds", "ties": "mean rank"},
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

    def positions() -> Floats:
        return held_out_order(sample.points, sample.codes, generator=np.random.default_rng([sample.seed, 7]))

    value = spearman(sample.kept("order", positions), sample.codes)
    return sample.told(sample.whole(value, "the latent vectors do not vary"))
