"""Sequences that may be looked at as often as one likes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.old.stats import MeanSequence, PairedSequence

N = 1500


def reciprocal_ranks(seed: int, n: int = N) -> np.ndarray:
    return 1 / np.ceil(np.exp(np.random.default_rng(seed).exponential(2.0, n)))


def by_hand(x: np.ndarray, w: np.ndarray, f: np.ndarray, mean_f: np.ndarray, aim: float) -> tuple[float, float]:
    """Centre and half-width after the first items of the population, one at a time."""
    left, total = w.sum(), 0.0
    top = bottom = cost = errors = 0.0
    for t in range(len(x)):
        growth = w.sum() / left
        spread = (1 + errors) / (4 + t)
        bet = min(0.5, growth * aim / spread)
        top += bet * (x[t] - f[t] + mean_f[t] + total / left)
        bottom += bet * growth
        cost += (-math.log(1 - bet) - bet) * (x[t] - f[t]) ** 2
        errors += (x[t] - f[t]) ** 2
        left -= w[t]
        total += w[t] * x[t]
    return top / bottom, (math.log(2 / 0.05) + cost) / bottom


@pytest.mark.parametrize("batch", [1, 7, 200])
def test_the_closed_form_item_by_item(batch: int) -> None:
    rng = np.random.default_rng(3)
    x, w, predicted = reciprocal_ranks(1, 200), rng.uniform(0.5, 2, 400), rng.uniform(0, 1, 200)
    mean_predicted = rng.uniform(0.3, 0.5, 200)
    sequence = MeanSequence(w, aim=0.05)
    for start in range(0, 200, batch):
        part = slice(start, start + batch)
        sequence.update(x[part], weights=w[:200][part], predicted=predicted[part], mean_predicted=mean_predicted[part])
    centre, reach = by_hand(x, w, predicted, mean_predicted, 0.05)
    assert sequence.centre / sequence.slope == pytest.approx(centre)
    assert (math.log(2 / 0.05) + sequence.cost) / sequence.slope == pytest.approx(reach)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_rarely_misses_however_often_one_looks(weighted: bool) -> None:
    """Nominal .05; the t-interval looked at as often misses in most sequences."""
    x = reciprocal_ranks(5)
    w = np.random.default_rng(6).uniform(0.2, 3, N) if weighted else np.ones(N)
    truth = float(np.sum(w * x) / w.sum())
    missed = wrong = 0
    repeats = 120
    for repeat in range(repeats):
        sequence = MeanSequence(w if weighted else N, aim=0.03, gate=truth)
        order = sequence.order(seed=100 + repeat)
        outside = False
        for part in np.array_split(order, 30):
            low, high = sequence.update(x[part], weights=w[part]).interval
            outside |= not low - 1e-9 <= truth <= high + 1e-9
        missed, wrong = missed + outside, wrong + (sequence.decided is not None)
    assert missed / repeats <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    assert wrong / repeats <= 0.10 + 2 * math.sqrt(0.1 * 0.9 / repeats)  # α on each side


def test_equal_methods_are_rarely_called_different_and_different_ones_soon_are() -> None:
    rng = np.random.default_rng(7)
    called = 0
    for _ in range(200):
        scores = rng.random((2, 800)) ** 2
        called += PairedSequence(None).update_pair(scores[0], scores[1]).decided is not None
    assert called / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)
    ahead = PairedSequence(None).update_pair(np.sqrt(scores[0]), scores[1])
    assert ahead.decided == "above"
    assert PairedSequence(None).update_pair(scores[1], np.sqrt(scores[0])).decided == "below"
    assert ahead.interval.low > 0


def test_everything_read_is_known_exactly() -> None:
    x = reciprocal_ranks(2, 50)
    w = np.random.default_rng(1).uniform(1, 2, 50)
    for gate, side in ((0.0, "above"), (1.0, "below")):
        sequence = MeanSequence(w, gate=gate)
        order = sequence.order(3)
        sequence.update(x[order], weights=w[order])
        assert tuple(sequence.interval) == pytest.approx([np.sum(w * x) / w.sum()] * 2)
        assert sequence.decided == side
    exact = MeanSequence(w, gate=float(np.sum(w * x) / w.sum()))
    assert exact.update(x, weights=w).decided is None
    with pytest.raises(InputError, match="Read each item once"):
        exact.update([0.5], weights=[1.0])


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no weights": (lambda: MeanSequence([1, 1, 1, 7.0]).update([0, 0, 0, 1]), "Pass the weights"),
    "equal weights": (lambda: MeanSequence([2, 2, 2.0]).update([1, 1, 1]), "Pass the weights"),
    "too little": (lambda: MeanSequence(4).update([1, 1, 1, 1], weights=0.25), "weight of the population is left"),
    "other weights": (lambda: MeanSequence([1, 3.0]).update([1, 1], weights=[1, 2.0]), "is left"),
    "too many": (lambda: MeanSequence(2).update([1, 1, 1], weights=0.5), "Read each item once"),
    "lengths": (lambda: MeanSequence(4).update([1, 1], weights=[1, 1, 1]), "One per item"),
    "predictions": (lambda: MeanSequence(4).update([1, 1], predicted=[1, 1, 1], mean_predicted=1), "One per item"),
    "some predicted": (
        lambda: PairedSequence(4).update([1, 1], predicted=0.5, mean_predicted=0.5).update([1]),
        "Predict every item",
    ),
    "another population": (
        lambda: MeanSequence([5, 5.0]).resume(MeanSequence(10).update([1.0, 1]).state()),
        "differs in items",
    ),
    "another test": (
        lambda: PairedSequence(9).resume(PairedSequence(9, two_sided=False).state()),
        "differs in two_sided",
    ),
    "no state": (lambda: MeanSequence(4).resume({**MeanSequence(4).state(), "items": 5}), "differs in items"),
    "a gate of text": (lambda: MeanSequence(4, gate="0.5"), "gate must be a finite number"),  # type: ignore[arg-type]
    "an aim of text": (lambda: MeanSequence(4, aim="x"), "aim must be a finite number"),  # type: ignore[arg-type]
    "three bounds": (lambda: MeanSequence(4, bounds=(0, 1, 2)), "two finite numbers"),  # type: ignore[arg-type]
    "huge weights": (lambda: MeanSequence([1e308] * 9), "their sum loses some"),
    "certainty": (lambda: MeanSequence(4, confidence=1 - 1e-16), "too close to 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_sequence_refuses(case: str) -> None:
    function, message = WRONG[case]
    with pytest.raises(GraphgaugeError, match=message):
        function()


def test_a_bet_does_not_depend_on_what_was_predicted_of_the_item_drawn() -> None:
    """Two items with the same value and the same mean prediction change the capital alike, up to their own error."""
    gains = []
    for f in (0.1, 0.9):
        sequence = MeanSequence(None, gate=0.05)
        # The bet is cut, because the spread is tiny; what the item itself was predicted must not loosen the cut.
        sequence.update(np.full(2000, 0.5), predicted=0.5, mean_predicted=0.5)
        before = sequence.above.copy()
        sequence.update([f + 0.001], predicted=f, mean_predicted=0.5)
        gains.append(sequence.above - before)
    np.testing.assert_allclose(gains[0], gains[1], rtol=1e-9)


def test_intervals_that_have_nothing_in_common() -> None:
    sequence = MeanSequence(None, aim=0.05)
    for value in (0.0, 1.0):
        sequence.update(np.full(4000, value))
    low, high = sequence.interval
    assert low < high
    assert low <= sequence.estimate <= high
    halves = MeanSequence(None, aim=0.05)
    for part in np.array_split(np.repeat([0.0, 1.0], 4000), 37):
        halves.update(part)
    assert tuple(halves.interval) == (low, high)


def test_a_predictor_narrows_the_sequence() -> None:
    rng = np.random.default_rng(11)
    hard = rng.random(N)
    x = np.clip(hard + rng.normal(0, 0.05, N), 0, 1)
    order = MeanSequence(N).order(5)
    plain, helped = MeanSequence(N, aim=0.02), MeanSequence(N, aim=0.02)
    left = np.ones(N, bool)
    for part in np.array_split(order[:600], 6):
        plain.update(x[part])
        means = []
        for index in part:  # the mean over the items unread before this one
            means.append(hard[left].mean())
            left[index] = False
        helped.update(x[part], predicted=hard[part], mean_predicted=means)
    assert helped.half_width < plain.half_width
    low, high = helped.interval
    assert low <= x.mean() <= high


def test_a_saved_sequence_goes_on() -> None:
    x = reciprocal_ranks(4, 300)
    whole = MeanSequence(400, gate=0.1).update(x)
    saved = json.loads(json.dumps(MeanSequence(400, gate=0.1).update(x[:100]).state()))
    resumed = MeanSequence(400, gate=0.1).resume(saved).update(x[100:])
    assert tuple(resumed.interval) == pytest.approx(tuple(whole.interval))
    assert resumed.decided == whole.decided
    with pytest.raises(InputError, match="differs in gate"):
        MeanSequence(400, gate=0.2).resume(saved)


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be merged"):
        MeanSequence(5).merge(MeanSequence(5))
    with pytest.raises(InputError, match="1 values are not between 0 and 1, the first at index 1"):
        MeanSequence(5).update([0.5, 1.5])
    with pytest.raises(InputError, match="belong together"):
        MeanSequence(5).update([0.5], predicted=[0.5])
    with pytest.raises(OptionError, match="has no order"):
        MeanSequence(None).order()
    with pytest.raises(OptionError, match="bounds"):
        MeanSequence(5, bounds=(0, math.inf))
    with pytest.raises(InputError, match="weight per item"):
        MeanSequence([1.0, 0.0])
    with pytest.raises(InputError, match="2 scores of one method and 1"):
        PairedSequence(5).update_pair([0.1, 0.2], [0.1])
