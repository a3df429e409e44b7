"""Latent space: whether conditions are separated, and in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, NoChance, NoInterval, whole
from graphgauge.core.registry import Chosen
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints
from graphgauge.generation.averages import NO_ORDER, Grouped, View, canonical_order, floats, ranks, warned
from graphgauge.generation.distances import silhouettes
from graphgauge.generation.levels import SPLITS, Draws, band
from graphgauge.generation.metrics import declared, of_correlation, over_samples
from graphgauge.generation.sample import Sides

CENTROIDS = "per_grade_centroids"
_FOLDS = 5
# Ridge penalties, as shares of the largest squared singular value.
_PENALTIES = np.logspace(-8, 2, 21)
# Up to this number of samples silhouettes of shuffled conditions are repeated.
_FEW_POINTS = 1500
_DEALS = 20
LEAK = "the encoder is given the condition, so latent vectors may be separated by copying it"


class Latents(Grouped):
    """Latent vectors (n, d) of held-out real samples, and their conditions."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        super().__init__(sides.labels)
        real = sides.held_out
        order = canonical_order(real.conditions, real.latents)
        self.points: Floats = real.latents[order]
        self.ordered, self.leaks, self._seed = sides.ordered, sides.leaks, draws.seed
        self.codes: Ints = real.conditions[order]
        self.counts = np.bincount(self.codes, minlength=self.groups)

    def lack(self, code: int) -> str | None:
        return None if self.counts[code] else "no real samples"

    def dealt(self, key: int) -> Ints:
        """The conditions, shuffled."""
        return np.random.default_rng([self._seed, 6, key]).permutation(self.codes)

    @cached_property
    def silhouettes(self) -> Floats:
        """Those of all vectors; NaN with one condition."""
        return silhouettes(self.points, self.codes)

    @cached_property
    def positions(self) -> Floats:
        """Positions along the direction that best predicts the order of conditions."""
        return held_out_order(self.points, self.codes, generator=np.random.default_rng([self._seed, 7]))

    def centroids(self, codes: Ints) -> Floats:
        """The mean vector of each condition; NaN without samples."""
        sums = np.zeros((self.groups, self.points.shape[1]))
        np.add.at(sums, codes, self.points)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / self.counts[:, np.newaxis])

    def separation(self, codes: Ints) -> float:
        """The mean distance between centroids of neighbouring conditions; NaN for fewer than two."""
        centroids = self.centroids(codes)[self.counts > 0]
        return float(np.sqrt((np.diff(centroids, axis=0) ** 2).sum(1)).mean()) if len(centroids) > 1 else np.nan

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """Centroids and spreads by condition."""
        if not len(self.points):
            return {}
        centroids = self.centroids(self.codes)
        away = ((self.points - centroids[self.codes]) ** 2).sum(1)
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(np.bincount(self.codes, away, minlength=self.groups) / self.counts)
        places = {f"z{place}": column for place, column in enumerate(centroids.T)}
        return {CENTROIDS: Grid({CENTROIDS: np.array(self.labels), "n": self.counts, "spread": spread, **places})}


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


def _dealt_once(sample: View[Latents]) -> Iterator[Reference]:
    """Randomly shuffled conditions: the mean of 39 shuffles and their range; once for more than 1,500 samples."""
    data = sample.data
    deals = (data.dealt(deal) for deal in range(SPLITS if len(data.points) <= _FEW_POINTS else 1))
    values = floats(float(sample.mean(silhouettes(data.points, codes), codes, "").value[0]) for codes in deals)
    low, high = (None, None) if len(values) == 1 else band(values)
    yield Reference("conditions dealt at random", float(values.mean()), low=low, high=high)


def _dealt_often(sample: View[Latents]) -> Iterator[Reference]:
    """Randomly shuffled conditions, mean over 20 shuffles."""
    values = [sample.data.separation(sample.data.dealt(deal)) for deal in range(_DEALS)]
    yield Reference("conditions dealt at random", float(np.mean(values)))


def _no_order(sample: View[Latents]) -> Iterator[Reference]:
    """Latent vectors without information about the order."""
    yield Reference("no order", 0.0)


def _read(result: Result) -> str:
    for least, words in ((0.5, "conditions are well separated"), (0.2, "they are separated"), (0.05, "they overlap")):
        if result.value > least:
            return words
    return "conditions are not separated; see ordinal_spearman for an order without gaps"


# ---- metrics

_NONE = "no latent vectors"
_metric = partial(declared, section="latent_space", needs=("latents",), reference="rousseeuw1987")
_fact = partial(
    _metric,
    direction="none",
    bounds=(0, np.inf),
    reference="kingma2014",
    chance=NoChance("a scale is neither good nor bad"),
)


def _told(sample: View[Latents], estimate: Estimate) -> Estimate:
    """With a warning if the encoder is given the condition."""
    return warned(estimate, LEAK) if sample.data.leaks else estimate


@_metric(
    "silhouette_score",
    average="micro",
    bounds=(-1, 1),
    chance=_dealt_once,
    interval=over_samples,
    goal=0.2,
    interpretation=_read,
    default=True,
    conventions={"distance": "Euclidean", "one sample of a condition": "0"},
)
def silhouette_score(sample: View[Latents]) -> Estimate:
    """How much nearer a sample's latent vector is to its own condition than to the nearest other, on average."""
    data, reason = sample.data, "fewer than two conditions have real samples, or none has two"
    if np.count_nonzero(data.counts) < 2 or data.counts.max() < 2:
        return sample.nothing(reason)
    return _told(sample, sample.mean(data.silhouettes, data.codes, reason, range=(-1.0, 1.0)))


@_fact("latent_mean", average="micro", interval=over_samples)
def latent_mean(sample: View[Latents]) -> Estimate:
    """Mean absolute value of the latent vectors' entries; 0.8 for a standard normal."""
    points = sample.data.points
    items = np.abs(points).mean(1) if points.shape[1] else np.full(len(points), np.nan)
    return sample.mean(items, sample.data.codes, _NONE)


@_fact(
    "latent_std",
    average="whole",
    interval=NoInterval("a spread describes these samples"),
    conventions={"ddof": "0"},
)
def latent_std(sample: View[Latents]) -> Estimate:
    """Standard deviation of all entries of the latent vectors together; 1 for a standard normal."""
    return sample.spread(sample.data.points, sample.data.codes, _NONE)


@_metric(
    "grade_separation",
    average="whole",
    bounds=(0, np.inf),
    chance=_dealt_often,
    interval=NoInterval("centroids of few samples differ by chance; compare with conditions dealt at random"),
    conventions={"neighbours": "next to each other among the conditions that occur"},
)
def grade_separation(sample: View[Latents]) -> Estimate:
    """Mean Euclidean distance between the centroids of neighbouring conditions."""
    data = sample.data
    if not data.ordered:
        return whole(np.nan, len(data.points), reason=NO_ORDER)
    value = data.separation(data.codes)
    estimate = whole(value, len(data.points), reason="fewer than two conditions have real samples")
    return estimate if math.isnan(value) else _told(sample, estimate)


@_metric(
    "ordinal_spearman",
    average="whole",
    reference="spearman1904",
    bounds=(-1, 1),
    chance=_no_order,
    interval=of_correlation,
    default=True,
    conventions={"direction": f"best linear one, held out in {_FOLDS} folds", "ties": "mean rank"},
)
def ordinal_spearman(sample: View[Latents]) -> Estimate:
    """Rank correlation of ordered conditions with the best linear direction of the latent space, on held-out samples.

    Conditions that overlap have a low silhouette even if they are well ordered.
    """
    data, n = sample.data, len(sample.data.points)
    if not data.ordered:
        return whole(np.nan, n, reason=NO_ORDER)
    if np.count_nonzero(data.counts) < 2 or n < 2 * _FOLDS:
        return whole(np.nan, n, reason=f"fewer than two conditions, or fewer than {2 * _FOLDS} real samples")
    value = spearman(data.positions, data.codes)
    return _told(sample, whole(value, n, reason="the latent vectors do not vary"))
