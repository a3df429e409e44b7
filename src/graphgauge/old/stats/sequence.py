"""Intervals and gates that stay valid at every look: read items in random order and stop when enough is known.

The mean of a finite set of items, weighted or not, is bounded by a sequence of intervals whose probability of ever
missing it is at most α, however often one looks and for whatever reason one stops. A predictor fitted on items already
read narrows it. The bounds are those of an empirical Bernstein supermartingale, the gates bets on one side of a value
(Waudby-Smith and Ramdas 2024), corrected for drawing without replacement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import confidence_level, generator_of
from graphgauge.old.core.result import Interval

Decision = Literal["above", "below"]

# Differences from the gate that the constant bets are made for.
_GAPS = np.array([0.08, 0.04, 0.02, 0.01, 0.005])
# Bets are cut so that no item can lose more than this share.
_MOST_LOST = 0.9
_ROUNDING = 1e-9
_SMALLEST_ALPHA = 1e-12
# Weights that differ by more than this are lost in the rounding of their sum.
_WIDEST_WEIGHTS = 1e12
_STATE = (
    "items",
    "weight",
    "bounds",
    "confidence",
    "two_sided",
    "scale",
    "aim",
    "gate",
    "read",
    "left",
    "total",
    "sum",
    "errors",
    "centre",
    "cost",
    "slope",
    "low",
    "high",
    "best_low",
    "best_high",
    "above",
    "below",
    "_decided",
)


class MeanSequence:
    """The mean of items that are read one after another in random order, with an interval valid at every look.

    Items have to be read in the order of `order`, or in one drawn like it: with weights, the next item is drawn with
    probability proportional to its weight.

    Parameters
    ----------
    population:
        The number of items, or their weights; None for items drawn independently, without end.
    bounds:
        The smallest and the largest possible value of an item.
    confidence:
        The probability that no interval of the whole sequence misses the mean.
    aim:
        The half-width at which the sequence is tightest. It is valid for any.
    gate:
        A value: `decided` becomes `above` or `below` when the mean is shown to be on one side of it. Each side
        errs with probability at most α, or α/2 with `two_sided`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import stats
    >>> items = np.random.default_rng(0).uniform(size=2000)
    >>> sequence = stats.MeanSequence(2000, aim=0.05)
    >>> for index in sequence.order(seed=1):
    ...     if sequence.update(items[index]).half_width <= 0.05:
    ...         break
    >>> low, high = sequence.interval
    >>> bool(low <= items.mean() <= high), sequence.read < 1000
    (True, True)
    """

    def __init__(
        self,
        population: int | ArrayLike | None,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
        confidence: float = 0.95,
        aim: float = 0.01,
        gate: float | None = None,
        two_sided: bool = False,
    ) -> None:
        low, high = _bounds(bounds)
        for name, given in (("aim", aim), ("gate", 0.0 if gate is None else gate)):
            if not isinstance(given, int | float | np.number) or isinstance(given, bool) or not math.isfinite(given):
                raise OptionError(f"{name} must be a finite number, not {given!r:.60}")
        self.weights = _weights(population)
        self._uneven = self.weights is not None and bool((self.weights != 1).any())
        if aim <= 0:
            raise OptionError(f"aim must be a positive half-width, not {aim!r:.60}")
        self.bounds, self.confidence, self.aim = (low, high), confidence_level(confidence), float(aim)
        if self.alpha < _SMALLEST_ALPHA:
            raise OptionError(f"confidence {confidence!r:.40} is too close to 1", fix="Give at most 1 - 1e-12.")
        self.items = None if self.weights is None else len(self.weights)
        self.scale: float | None = None  # a bound of |value − prediction|, the same for all items
        self.gate, self.two_sided = gate, two_sided
        self.weight = math.inf if self.weights is None else float(self.weights.sum())
        self.read, self.left, self.total = 0, self.weight, 0.0
        self.sum = self.errors = 0.0  # of the values, and of the squared errors of their predictions
        self.centre = self.cost = self.slope = 0.0
        self.best_low, self.best_high = low, high
        self.low, self.high = low, high
        self.above, self.below = np.zeros(1 + len(_GAPS)), np.zeros(1 + len(_GAPS))  # log capital of each bet
        self._decided: Decision | None = None

    @property
    def alpha(self) -> float:
        return 1 - self.confidence

    def order(self, seed: int | np.random.Generator = 0) -> NDArray[np.int64]:
        """The items in the order in which to read them.

        Parameters
        ----------
        seed
            Seed of the random order, or a generator.

        Returns
        -------
        NDArray[np.int64]
            The numbers of the items.

        Raises
        ------
        OptionError
            If the population has no end.
        """
        if self.weights is None:
            raise OptionError("a population without end has no order", fix="Give its size or its weights.")
        return np.argsort(generator_of(seed).exponential(size=len(self.weights)) / self.weights, kind="stable")

    def update(
        self,
        values: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        predicted: ArrayLike | None = None,
        mean_predicted: ArrayLike | None = None,
    ) -> MeanSequence:
        """Read the next items.

        `weights` are those of the items, if they are not all 1. `predicted` is what a predictor fitted only on items
        read in earlier calls says of each of them, `mean_predicted` its weighted mean over all items that are unread
        before that item is read. Without a predictor, the running mean is used.

        Parameters
        ----------
        values
            The value of each item.
        weights
            The weights of these items.
        predicted
            What a predictor expects of each of them.
        mean_predicted
            The weighted mean of its predictions over unread items.

        Returns
        -------
        MeanSequence
            This sequence.

        Raises
        ------
        InputError
            If a value is outside of the bounds, weights are missing or do not add up, or only some items are
            predicted.
        """
        x = self._checked(values, "values")
        if weights is None and self._uneven:
            raise InputError(
                "not given, and the items of the population have weights",
                where="weights",
                fix="Pass the weights of these items.",
            )
        w = np.ones(len(x)) if weights is None else _one_each(as_numeric(weights, "weights"), x, "weights")
        if len(x) == 0:
            return self
        # Sums run from item to item, so their bits do not depend on how items are batched.
        left = _running(self.left, -w)
        self._require_weights(w, self.read + len(x), float(left[-1]))
        total, sums = _running(self.total, w * x), _running(self.sum, x)
        remaining, known_sum = np.maximum(left[:-1], np.finfo(float).tiny), total[:-1]
        f, mean_f = self._predictions(x, sums[:-1], predicted, mean_predicted)
        scale = self._scale(predicted is not None)
        if self.scale not in (None, scale):
            raise InputError(
                "given for some items and not for others", where="predicted", fix="Predict every item, or none."
            )
        self.scale = scale
        y = (x - f) / scale
        count = self.read + np.arange(len(x))
        errors = _running(self.errors, y**2)
        spread = (1 + errors[:-1]) / (4 + count)
        finite = self.weight < math.inf
        growth = self.weight / remaining if finite else np.ones(len(x))
        known = known_sum / remaining if finite else np.zeros(len(x))
        bet = np.minimum(0.5, growth * (self.aim / scale) / spread)
        told = x - f + mean_f + known
        centre, slope = _running(self.centre, bet * told), _running(self.slope, bet * growth)
        cost = _running(self.cost, (-np.log1p(-bet) - bet) * y**2)
        reach = scale * (math.log(2 / self.alpha) + cost[1:]) / slope[1:]
        if self.gate is not None:
            self._bet(
                x, f, mean_f, predicted is not None, known_sum, remaining, spread * scale**2, growth, count, sums[:-1]
            )
        self.read += len(x)
        self.left, self.total, self.sum, self.errors = (float(one[-1]) for one in (left, total, sums, errors))
        self.centre, self.slope, self.cost = (float(one[-1]) for one in (centre, slope, cost))
        self._narrow(centre[1:] / slope[1:], reach)
        return self

    def _require_weights(self, w: Floats, read: int, left: float) -> None:
        if not (w > 0).all():
            raise InputError("expected positive weights", where="weights")
        if self.weights is None:
            return
        slack = _ROUNDING * self.weight
        if left < -slack or read > len(self.weights):
            raise InputError("more was read than the population has", where="weights", fix="Read each item once.")
        if read == len(self.weights) and left > slack:
            raise InputError(
                "all items were read, and weight of the population is left",
                where="weights",
                fix="Pass the weights that the population has.",
            )

    def _checked(self, values: ArrayLike, name: str) -> Floats:
        x = np.atleast_1d(as_numeric(values, name).astype(float))
        low, high = self.bounds
        slack = 1e-9 * (high - low)
        bad = np.flatnonzero(~((x >= low - slack) & (x <= high + slack)))
        if x.ndim != 1 or len(bad):
            where = f", the first at index {bad[0]}" if len(bad) else ""
            raise InputError(
                f"{len(bad)} values are not between {low:g} and {high:g}{where}",
                where=name,
                fix="Give bounds= that hold for every item.",
            )
        return x

    def _predictions(
        self, x: Floats, sums: Floats, predicted: ArrayLike | None, mean_predicted: ArrayLike | None
    ) -> tuple[Floats, Floats]:
        """What was predicted for each item, and the mean over all unread ones; `sums` are those of the items before."""
        if (predicted is None) != (mean_predicted is None):
            raise InputError("predicted and mean_predicted belong together", fix="Give both, or neither.")
        if predicted is not None and mean_predicted is not None:
            f, mean = (
                _one_each(self._checked(given, name), x, name)
                for given, name in ((predicted, "predicted"), (mean_predicted, "mean_predicted"))
            )
            return f, mean
        middle = sum(self.bounds) / 2
        f = (middle + sums) / (1 + self.read + np.arange(len(x)))
        return f, f

    def _scale(self, predicted: bool) -> float:
        """A bound of |value − prediction|."""
        return self.bounds[1] - self.bounds[0]

    def _narrow(self, middle: Floats, reach: Floats) -> None:
        """Every interval so far contains the mean with confidence, and so does their intersection."""
        low, high = self.bounds
        if self.weight < math.inf:  # what the unread items can still add
            self.low = max((self.total + max(self.left, 0.0) * low) / self.weight, low)
            self.high = min((self.total + max(self.left, 0.0) * high) / self.weight, high)
            if self.finished:
                self.low = self.high = self.best_low = self.best_high = self.total / self.weight
                return
        self.best_low = max(self.best_low, float((middle - reach).max()), self.low)
        self.best_high = min(self.best_high, float((middle + reach).min()), self.high)

    def _bet(
        self,
        x: Floats,
        f: Floats,
        mean_f: Floats,
        predicted: bool,
        total: Floats,
        left: Floats,
        spread: Floats,
        growth: Floats,
        count: NDArray[np.integer],
        sums: Floats,
    ) -> None:
        """Capital that grows if the mean is above the gate, and capital that grows if it is below."""
        gate, (low, high) = float(self.gate or 0.0), self.bounds
        finite = self.weight < math.inf
        fair = (self.weight * gate - total) / left if finite else np.full(len(x), gate)
        mean = ((low + high) / 2 + sums) / (1 + count)
        crossed: dict[Decision, int] = {}
        sides: tuple[tuple[Decision, int], ...] = (("above", 1), ("below", -1))
        for side, sign in sides:
            gain = sign * (x - f + mean_f - fair)
            # A bet is made before the item is drawn, so it must not depend on what was predicted of this one.
            largest = (high if sign > 0 else low) if predicted else f
            worst = -np.minimum(sign * ((low if sign > 0 else high) - largest + mean_f - fair), 0.0)
            gap = np.maximum(sign * (mean - gate), 0.0)
            span = high - low
            bets = np.stack(
                [growth * gap / (spread + gap**2), *(growth * step * span / spread for step in _GAPS)], axis=1
            )
            most = np.divide(_MOST_LOST, worst, out=np.full(len(x), np.inf), where=worst > 0)
            won = np.log1p(np.minimum(bets, most[:, None]) * gain[:, None])
            capital = np.cumsum(np.vstack([getattr(self, side), won]), axis=0)[1:]
            setattr(self, side, capital[-1])
            # The unread items cannot bring the mean back to the gate.
            certain = sign * ((low if sign > 0 else high) - fair) * left > _ROUNDING * self.weight * span
            reached = np.flatnonzero((_capital(capital) >= self._needed) | (certain if finite else False))
            if len(reached):
                crossed[side] = int(reached[0])
        if crossed and self._decided is None:
            self._decided = "above" if crossed.get("above", math.inf) <= crossed.get("below", math.inf) else "below"

    @property
    def decided(self) -> Decision | None:
        """On which side of the gate the mean has been shown to be, at any look so far."""
        if self._decided is None and self.gate is not None and self.finished:
            beyond = self.total / self.weight - self.gate
            if abs(beyond) > _ROUNDING * (self.bounds[1] - self.bounds[0]):
                return "above" if beyond > 0 else "below"
        return self._decided

    @property
    def evidence(self) -> float:
        """How far the gate's decision has come: the logarithm of the capital, as a share of what is needed."""
        most = max(float(_capital(side[None])[0]) for side in (self.above, self.below))
        return min(max(most, 0.0) / self._needed, 1.0)

    @property
    def _needed(self) -> float:
        return math.log((2 if self.two_sided else 1) / self.alpha)

    @property
    def finished(self) -> bool:
        """Whether every item was read."""
        return self.weights is not None and self.read == len(self.weights)

    @property
    def estimate(self) -> float:
        """The centre of the sequence, within the interval."""
        if self.read == 0:
            return math.nan
        low, high = self.interval
        if self.slope == 0:  # it begins after items that another sequence has read
            return (low + high) / 2
        return min(max(self.centre / self.slope, low), high)

    @property
    def interval(self) -> Interval:
        # With probability below α no value is in all intervals so far; then those between them are shown.
        low, high = sorted((self.best_low, self.best_high))
        return Interval(low, high, self.confidence, "confidence sequence", "items, at every look")

    @property
    def half_width(self) -> float:
        return abs(self.best_high - self.best_low) / 2

    def at(self, confidence: float) -> tuple[float, float]:
        """The interval of this look at another level; wider than `interval`, which is that of all looks together.

        Parameters
        ----------
        confidence
            Level of the interval, between 0 and 1.

        Returns
        -------
        tuple[float, float]
            The ends of the interval.
        """
        if self.slope == 0 or self.finished:
            return self.best_low, self.best_high
        reach = (self.scale or self._scale(False)) * (math.log(2 / (1 - confidence)) + self.cost) / self.slope
        middle = self.centre / self.slope
        return max(middle - reach, self.low), min(middle + reach, self.high)

    def merge(self, other: object) -> None:
        """Refused: the bounds of a sequence belong to the order in which its items were read.

        Parameters
        ----------
        other
            Anything.

        Raises
        ------
        OptionError
            Always.
        """
        raise OptionError("sequences cannot be merged", fix="Read the items of all shards in one order.")

    def state(self) -> dict[str, Any]:
        """What has been read, as JSON: with the same population and order, `resume` goes on from here.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        kept = {name: getattr(self, name) for name in _STATE}
        return {**kept, "bounds": list(self.bounds), "above": self.above.tolist(), "below": self.below.tolist()}

    def resume(self, state: Mapping[str, Any]) -> MeanSequence:
        """Go on from a saved state of a sequence with the same population, bounds, level and gate.

        The aim may differ: it is that of the items to come.

        Parameters
        ----------
        state
            A value of `state`.

        Returns
        -------
        MeanSequence
            This sequence.

        Raises
        ------
        InputError
            If the state is of another sequence.
        """
        own, aim = self.state(), self.aim
        fixed = ("items", "weight", "bounds", "confidence", "gate", "two_sided")
        differing = [name for name in fixed if state.get(name) != own[name]]
        if differing:
            raise InputError(f"the saved sequence differs in {', '.join(differing)}", fix="Give the same arguments.")
        missing = [name for name in _STATE if name not in state]
        if missing:
            raise InputError(f"the saved sequence has no {missing[0]}")
        for name in _STATE:
            value = state[name]
            setattr(self, name, np.array(value, float) if name in ("above", "below") else value)
        self.bounds, self.aim = (float(state["bounds"][0]), float(state["bounds"][1])), aim
        return self

    def begin_after(self, other: MeanSequence) -> MeanSequence:
        """Go on from items that another sequence has read, without having bet on them: for a gate that is new.

        Parameters
        ----------
        other
            The sequence that has read the items.

        Returns
        -------
        MeanSequence
            This sequence.
        """
        for name in ("read", "left", "total", "sum", "errors", "low", "high"):
            setattr(self, name, getattr(other, name))
        self.best_low, self.best_high = self.low, self.high
        return self

    def __str__(self) -> str:
        of = "" if self.weights is None else f" of {len(self.weights):,}"
        side = f"; the mean is {self.decided} {self.gate:g}" if self.decided else ""
        low, high = self.interval
        return (
            f"mean {self.estimate:.4g} [{low:.4g}, {high:.4g}] after {self.read:,}{of} items, "
            f"{100 * self.confidence:g} % at every look{side}"
        )


class PairedSequence(MeanSequence):
    """Two methods compared item by item, with a verdict that is valid at every look.

    `decided` is `above` when the first is shown to score higher on average, `below` when the second is. Equal methods
    are called different with probability at most α, however often one looks. `bounds` are those of one score.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import stats
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.beta(3, 2, 5000), rng.beta(2, 3, 5000)
    >>> sequence = stats.PairedSequence(5000)
    >>> for index in sequence.order(seed=1):
    ...     if sequence.update_pair(a[index], b[index]).decided:
    ...         break
    >>> sequence.decided, sequence.read < 500
    ('above', True)
    """

    def __init__(
        self,
        population: int | ArrayLike | None,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
        confidence: float = 0.95,
        aim: float = 0.01,
        gate: float = 0.0,
        two_sided: bool = True,
    ) -> None:
        low, high = _bounds(bounds)
        span = high - low
        super().__init__(
            population, bounds=(-span, span), confidence=confidence, aim=aim, gate=gate, two_sided=two_sided
        )

    def update_pair(self, first: ArrayLike, second: ArrayLike, *, weights: ArrayLike | None = None) -> PairedSequence:
        """Read the scores of both methods on the next items.

        Parameters
        ----------
        first, second
            The scores of both methods on each item.
        weights
            The weights of the items, if they are not all 1.

        Returns
        -------
        PairedSequence
            This sequence.

        Raises
        ------
        InputError
            If one method has more scores than the other.
        """
        a, b = (np.atleast_1d(as_numeric(given, name).astype(float)) for given, name in ((first, "a"), (second, "b")))
        if a.shape != b.shape:
            raise InputError(
                f"{len(a)} scores of one method and {len(b)} of the other", fix="Pass one per item of both."
            )
        self.update(a - b, weights=weights)
        return self

    def _predictions(
        self, x: Floats, sums: Floats, predicted: ArrayLike | None, mean_predicted: ArrayLike | None
    ) -> tuple[Floats, Floats]:
        if predicted is None and mean_predicted is None:
            return np.zeros(len(x)), np.zeros(len(x))
        return super()._predictions(x, sums, predicted, mean_predicted)

    def _scale(self, predicted: bool) -> float:
        """Differences are within one span of 0, but within two of a prediction."""
        return self.bounds[1] * (2 if predicted else 1)


def _weights(population: int | ArrayLike | None) -> Floats | None:
    if population is None:
        return None
    if isinstance(population, int | np.integer) and not isinstance(population, bool):
        if population < 1:
            raise OptionError(f"a population of {population} has no mean", fix="Give the number of items.")
        return np.ones(int(population))
    weights = as_numeric(population, "population").astype(float)
    if weights.ndim != 1 or len(weights) == 0 or not ((weights > 0) & np.isfinite(weights)).all():
        raise InputError("expected a positive weight per item", where="population")
    if float(weights.max()) > _WIDEST_WEIGHTS * float(weights.min()) or not math.isfinite(
        float(weights.max()) * len(weights)
    ):
        raise InputError(
            "weights so different or so large that their sum loses some",
            where="population",
            fix="Leave out what hardly counts, and scale the others.",
        )
    return weights


def _bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OptionError(f"bounds must be two finite numbers, not {bounds!r:.60}", fix="For shares: (0, 1).")
    return low, high


def _one_each(given: Floats, x: Floats, name: str) -> Floats:
    if given.shape not in ((), (1,), x.shape):
        raise InputError(f"found {given.shape} for {len(x)} items", where=name, fix="One per item, or one for all.")
    return np.broadcast_to(given, x.shape).astype(float)


def _running(start: float, terms: Floats) -> Floats:
    """The sums before each term and after the last, added up one after the other."""
    return np.cumsum(np.concatenate(([start], terms)))


def _capital(logs: Floats) -> Floats:
    """The logarithm of the capital from those of the bets (n, bets): half the first, half the mean of the others."""
    constant = logs[:, 1:]
    largest = constant.max(axis=1)
    mean = largest + np.log(np.mean(np.exp(constant - largest[:, None]), axis=1))
    return np.asarray(np.logaddexp(logs[:, 0], mean) - math.log(2))
