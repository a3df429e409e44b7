"""Intervals and gates that stay valid at every look: read items in random order, and stop when enough is known.

Items of weights w are read in the order of Exponential / w, so that the next one is drawn in proportion to its weight
from those that are left. Before item i, `left` is the weight not yet read, S the sum of w·x already read, and f a
prediction of each item (`Assist`), fitted on items already read, with mean f̄ over those not yet read. Then, with
g = W / left,

    told = x − f + f̄ + S / left          has the mean g·μ, whatever f is, and λ = min(½, g·aim / σ̂²) is known before x:
    centre = Σ λ·told / Σ λ·g,  half-width = (ln(2/α) + Σ ψ(λ)·(x − f)²) / Σ λ·g,  ψ(λ) = −ln(1 − λ) − λ

misses the mean μ at any look with probability at most α: an empirical Bernstein supermartingale (Waudby-Smith and
Ramdas 2024), corrected for drawing without replacement. Because λ may depend on all that was read, the aim may change
for items still unread, and for no others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.random import Random

Side = Literal["above", "below"]
# Differences from the limit that the constant bets are made for, as shares of the range of values.
_GAPS = np.array([0.08, 0.04, 0.02, 0.01, 0.005])
# Bets are cut so that no item can lose more than this share.
_MOST_LOST = 0.9
_ROUNDING = 1e-9


def reading_order(weights: Floats, random: Random) -> Ints:
    """Every item once, the heavier ones sooner."""
    return np.argsort(random.exponential(len(weights)) / weights, kind="stable")


@dataclass(frozen=True)
class Steps:
    """Some items in the order read: their values, and what was known before each of them was read.

    `fitted` says whether predictions differ between items, so that the one of an item is known only once it is drawn.
    """

    x: Floats
    predicted: Floats
    mean_predicted: Floats
    fitted: bool
    left: Floats  # weight not yet read
    total: Floats  # Σ w·x
    mean: Floats  # of the values read
    spread: Floats  # σ̂² of x − f


class Walk:
    """Items read one after another: between 0 and 1, or between −1 and 1 for differences of two models."""

    def __init__(self, weights: Floats, paired: bool = False) -> None:
        self.low, self.high, self.paired = (-1.0 if paired else 0.0), 1.0, paired
        self.items, self.weight = len(weights), float(weights.sum())
        self.read, self.left = 0, self.weight
        self.total = self.sum = self.errors = 0.0

    @property
    def finished(self) -> bool:
        return self.read == self.items

    @property
    def certain(self) -> tuple[float, float]:
        """Where the mean is, whatever the unread items are."""
        if self.finished:
            return self.total / self.weight, self.total / self.weight
        left = max(self.left, 0.0)
        low, high = ((self.total + left * end) / self.weight for end in (self.low, self.high))
        return max(low, self.low), min(high, self.high)

    def step(self, x: Floats, weights: Floats, fit: tuple[Floats, Floats] | None) -> Steps:
        """Read the next items; `fit` has the prediction of each, and the mean over those unread before it.

        Without it the running mean is predicted, of differences 0. Sums run from item to item, so their bits do not
        depend on how items are batched.
        """
        count = self.read + np.arange(len(x))
        left, sums = _running(self.left, -weights), _running(self.sum, x)
        total = _running(self.total, weights * x)
        mean = ((self.low + self.high) / 2 + sums[:-1]) / (1 + count)
        predicted, mean_predicted = fit or ((np.zeros(len(x)),) * 2 if self.paired else (mean, mean))
        errors = _running(self.errors, (x - predicted) ** 2)
        spread = (1 + errors[:-1]) / (4 + count)
        self.read += len(x)
        self.left, self.sum, self.total, self.errors = (float(each[-1]) for each in (left, sums, total, errors))
        rest = np.maximum(left[:-1], np.finfo(float).tiny)
        return Steps(x, predicted, mean_predicted, fit is not None, rest, total[:-1], mean, spread)


class Bound:
    """The interval of the mean of a walk."""

    def __init__(self, walk: Walk, alpha: float) -> None:
        self.walk, self.alpha = walk, alpha
        self.centre = self.slope = self.cost = 0.0
        self.low, self.high = walk.low, walk.high

    def follow(self, steps: Steps, aim: float) -> None:
        """Every interval so far contains the mean with confidence, and so does their intersection."""
        growth = self.walk.weight / steps.left
        bet = np.minimum(0.5, growth * aim / steps.spread)
        error = steps.x - steps.predicted
        centre = _running(self.centre, bet * (error + steps.mean_predicted + steps.total / steps.left))
        slope = _running(self.slope, bet * growth)
        cost = _running(self.cost, (-np.log1p(-bet) - bet) * error**2)
        self.centre, self.slope, self.cost = (float(each[-1]) for each in (centre, slope, cost))
        middle = centre[1:] / slope[1:]
        reach = (math.log(2 / self.alpha) + cost[1:]) / slope[1:]
        low, high = self.walk.certain
        self.low = max(self.low, float((middle - reach).max()), low)
        self.high = min(self.high, float((middle + reach).min()), high)
        if self.walk.finished:
            self.low, self.high = low, high

    @property
    def interval(self) -> tuple[float, float]:
        """With probability below α no value is in all intervals so far; then it is what lies between them."""
        return min(self.low, self.high), max(self.low, self.high)

    @property
    def half_width(self) -> float:
        return abs(self.high - self.low) / 2

    @property
    def estimate(self) -> float:
        low, high = self.interval
        return min(max(self.centre / self.slope if self.slope else (low + high) / 2, low), high)


class Bets:
    """Whether the mean of a walk is above or below `limit`: capital that grows if it is.

    Fair bets on the wrong side reach 1 / α with probability at most α, at any look. The capital of a side is half of a
    bet λ = g·(m̂ − limit) / (σ̂² + (m̂ − limit)²) and half of bets for constant differences. They are `late` if items
    were read before.
    """

    def __init__(self, walk: Walk, limit: float, alpha: float, late: bool = False) -> None:
        self.walk, self.limit, self.late, self.needed = walk, limit, late, -math.log(alpha)
        self.side: Side | None = None
        self._logs: dict[Side, Floats] = {side: np.zeros(1 + len(_GAPS)) for side in ("above", "below")}

    def follow(self, steps: Steps) -> None:
        walk, span = self.walk, self.walk.high - self.walk.low
        growth = walk.weight / steps.left
        fair = (walk.weight * self.limit - steps.total) / steps.left
        crossed: dict[Side, int] = {}
        sides: tuple[tuple[Side, float, float, float], ...] = (
            ("above", 1.0, walk.low, walk.high),
            ("below", -1.0, walk.high, walk.low),
        )
        for side, sign, worst_value, best_value in sides:
            beyond = steps.mean_predicted - fair
            gain = sign * (steps.x - steps.predicted + beyond)
            # A bet is made before the item is drawn, so it must not depend on what was predicted of this one.
            largest = best_value if steps.fitted else steps.predicted
            loss = -np.minimum(sign * (worst_value - largest + beyond), 0.0)
            most = np.divide(_MOST_LOST, loss, out=np.full(len(loss), np.inf), where=loss > 0)
            gap = np.maximum(sign * (steps.mean - self.limit), 0.0)
            adaptive = growth * gap / (steps.spread + gap**2)
            constant = (growth / steps.spread)[:, None] * (_GAPS * span)
            bets = np.minimum(np.column_stack([adaptive, constant]), most[:, None])
            logs = np.cumsum(np.vstack([self._logs[side], np.log1p(bets * gain[:, None])]), axis=0)[1:]
            self._logs[side] = logs[-1]
            # The unread items cannot bring the mean back to the limit.
            sure = sign * (worst_value - fair) * steps.left > _ROUNDING * walk.weight * span
            reached = np.flatnonzero((_capital(logs) >= self.needed) | sure)
            if reached.size:
                crossed[side] = int(reached[0])
        if self.side is None and crossed:
            self.side = min(crossed.items(), key=lambda each: each[1])[0]
        if self.side is None and walk.finished:
            beyond_limit = walk.certain[0] - self.limit
            if abs(beyond_limit) > _ROUNDING * span:
                self.side = "above" if beyond_limit > 0 else "below"


def _running(start: float, terms: Floats) -> Floats:
    """The sums before each term and after the last, added up one after the other."""
    return np.cumsum(np.concatenate(([start], terms)))


def _capital(logs: Floats) -> Floats:
    """The logarithm of the capital from those of the bets (n, bets): half the first, half the mean of the others."""
    largest = logs[:, 1:].max(axis=1)
    mean = largest + np.log(np.mean(np.exp(logs[:, 1:] - largest[:, None]), axis=1))
    return np.asarray(np.logaddexp(logs[:, 0], mean) - math.log(2))


# A cell of a label weighs its own mean as if this many items at the mean of the cell around it were in it.
_PRIOR = 3.0
# A proxy's slope is fitted as if this many items said that it is 0.
_RIDGE = 2.0


class Assist:
    """Predicts the value of each item, between 0 and 1, from labels and proxies.

    `labels` are codes of each item from 0, coarse ones first: cells of the first, then of the first and second
    together, and so on. `proxies` are numbers on any scale that go with the values, such as those of an earlier model;
    NaN where there is none. A predictor cannot make an adaptive interval wrong, however bad it is; it only makes it
    wider or narrower.
    """

    def __init__(self, items: int, labels: Sequence[Ints] = (), proxies: Sequence[Floats] = ()) -> None:
        self.items = items
        self._cells = _nested(labels)
        self._features = _features(items, proxies)

    @property
    def digest(self) -> int:
        """A number that stands for everything the predictor knows before an item is read.

        The order in which items are read depends on it: a predictor made from the items that an earlier run has drawn
        would otherwise know which come next, if both runs have the same seed.
        """
        digest = hashlib.sha256(str(self.items).encode())
        for part in (*self._cells, self._features):
            digest.update(np.ascontiguousarray(part).tobytes())
        return int.from_bytes(digest.digest()[:8], "big")

    def fit(self, read: Ints, values: Floats) -> Floats:
        """The predictions for all items, from the values of those that were read, of which there is at least one."""
        predicted = np.full(self.items, values.mean())
        if self._features.shape[1]:
            predicted += _ridge(self._features, read, values - predicted[read])
        for cells in self._cells:
            size = int(cells.max()) + 1
            total = np.bincount(cells[read], values - predicted[read], minlength=size)
            predicted += (total / (np.bincount(cells[read], minlength=size) + _PRIOR))[cells]
        np.clip(predicted, 0.0, 1.0, out=predicted)
        return predicted


def _nested(labels: Sequence[Ints]) -> list[Ints]:
    """The cells of the first label, of the first two together, and so on."""
    cells: list[Ints] = []
    for codes in labels:
        together = cells[-1] * (int(codes.max(initial=0)) + 1) + codes if cells else codes
        cells.append(np.unique(together, return_inverse=True)[1].reshape(-1))
    return cells


def _features(items: int, proxies: Sequence[Floats]) -> Floats:
    """Each proxy with its missing values at its mean, and whether it is missing; all with mean 0 and spread 1."""
    columns: list[Floats] = []
    for proxy in proxies:
        missing = ~np.isfinite(proxy)
        if not missing.all():
            columns += [np.where(missing, proxy[~missing].mean(), proxy), missing.astype(float)]
    table = np.column_stack(columns) if columns else np.zeros((items, 0))
    table = table - table.mean(axis=0)
    spread = table.std(axis=0)
    return np.asarray(table[:, spread > 0] / spread[spread > 0])


def _ridge(features: Floats, read: Ints, left: Floats) -> Floats:
    """What a straight line in the features says of all items, beyond the mean of those read."""
    centre = features[read].mean(axis=0)
    near = features[read] - centre
    slope = np.linalg.solve(near.T @ near + _RIDGE * np.eye(near.shape[1]), near.T @ left)
    # Summed column by column: BLAS rounds differently with its number of threads.
    line = np.zeros(len(features))
    for column, weight in zip((features - centre).T, slope, strict=True):
        line += column * weight
    return line
