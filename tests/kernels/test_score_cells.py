"""Positives and negatives in cells of close scores: the truth is within the bounds, and a second reading finds it."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgauge.core.errors import InputError
from graphgauge.kernels.score_cells import (
    ScoreCells,
    average_precision_bounds,
    hits_bounds,
    ordered_keys,
    require_countable,
    roc_auc_bounds,
)
from graphgauge.kernels.tails import average_precision, roc_auc, tail_counts

ENDS = [-np.inf, -np.finfo(float).max, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 1.0, np.finfo(float).max, np.inf]


def normal(rng, p, n):
    return rng.normal(1, 1, p), rng.normal(0, 1, n)


INPUTS = {
    "random": normal,
    "single precision": lambda rng, p, n: tuple(side.astype(np.float32) for side in normal(rng, p, n)),
    "half precision": lambda rng, p, n: tuple(side.astype(np.float16) for side in normal(rng, p, n)),
    "rounded as bfloat16": lambda rng, p, n: tuple(
        (side.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32) for side in normal(rng, p, n)
    ),
    "two precisions": lambda rng, p, n: (rng.normal(1, 1, p).astype(np.float16), rng.normal(0, 1, n)),
    "many ties": lambda rng, p, n: (rng.integers(0, 9, p) / 8, rng.integers(0, 8, n) / 8),
    "one score": lambda rng, p, n: (np.full(p, 0.25), np.full(n, 0.25)),
    "one cell": lambda rng, p, n: (1 + rng.random(p) * 1e-12, 1 + rng.random(n) * 1e-12),
    "one cell and far ones": lambda rng, p, n: (
        np.append(1 + rng.random(p) * 1e-12, 1.0),
        np.append(1 + rng.random(n) * 1e-12, 10.0 ** np.arange(-300, 300)),
    ),
    "denormals": lambda rng, p, n: (rng.random(p) * 1e-310, -rng.random(n) * 1e-310),
    "zeros and infinities": lambda rng, p, n: (rng.choice(ENDS, p), rng.choice(ENDS, n)),
    "one positive": lambda rng, p, n: (np.array([0.5]), rng.random(n)),
    "one negative": lambda rng, p, n: (rng.random(p), np.array([0.5])),
    "perfect": lambda rng, p, n: (2 + rng.random(p), rng.random(n)),
    "reversed": lambda rng, p, n: (rng.random(p), 2 + rng.random(n)),
    "tied positives": lambda rng, p, n: (np.repeat(rng.random(p // 4 + 1), 4), rng.random(n)),
    "integers": lambda rng, p, n: (rng.integers(-500, 900, p), rng.integers(-900, 500, n)),
}


def counted(pos, neg, most):
    cells = ScoreCells(0)
    cells.most = most
    cells.add(pos, neg)
    return cells


def ogb_hits(pos, neg, k):
    return 1.0 if len(neg) < k else float(np.mean(pos > np.sort(neg)[-k]))


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize(("most", "positives", "negatives"), [(2, 6, 12), (30, 90, 300), (200, 300, 700)])
def test_the_truth_is_within_the_bounds_and_found_by_reading_again(kind, most, positives, negatives):
    rng = np.random.default_rng([most, len(kind)])
    for _ in range(2):
        pos, neg = INPUTS[kind](rng, int(rng.integers(1, positives)), int(rng.integers(1, negatives)))
        cells = counted(pos, neg, most)
        assert len(cells.columns()[0]) <= most
        tails = tail_counts(pos, neg)
        truth = roc_auc(tails), average_precision(tails)
        bounds = roc_auc_bounds(cells.cells()), average_precision_bounds(cells.cells())
        for value, (low, high) in zip(truth, bounds, strict=True):
            assert 0 <= low <= value <= high <= 1
            assert cells.shift > 0 or low == value == high
        exact = cells.refined(lambda pos=pos: [pos], lambda neg=neg: np.array_split(neg, 3))
        assert roc_auc_bounds(exact) == (truth[0], truth[0])
        assert average_precision_bounds(exact) == (truth[1], truth[1])
        for k in (1, 5, len(neg), len(neg) + 1):
            low, high = hits_bounds(cells.cells(), k)
            assert low <= ogb_hits(pos, neg, k) <= high
            assert hits_bounds(exact, k) == (ogb_hits(pos, neg, k),) * 2


@pytest.mark.parametrize("kind", [kind for kind in INPUTS if "infinities" not in kind])
def test_exact_values_are_those_of_scikit_learn(kind):
    pos, neg = INPUTS[kind](np.random.default_rng(3), 200, 500)
    exact = counted(pos, neg, 20).refined(lambda: [pos], lambda: [neg])
    labels = np.repeat([1, 0], [len(pos), len(neg)])
    scores = np.concatenate([pos.astype(float), neg.astype(float)])
    assert roc_auc_bounds(exact)[0] == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    assert average_precision_bounds(exact)[0] == pytest.approx(average_precision_score(labels, scores), rel=1e-12)


@pytest.mark.parametrize("kind", INPUTS)
def test_any_order_of_counting_and_merging_gives_the_same_cells(kind):
    pos, neg = INPUTS[kind](np.random.default_rng(4), 200, 600)
    whole = counted(pos, neg, 50)
    parts = [counted(pos[part::3], neg[part::3], 50) for part in range(3)]
    for order in permutations(parts):
        merged = counted(pos[:0], neg[:0], 50)
        for part in order:
            merged.merge(part)
        assert merged.shift == whole.shift
        for one, other in zip(merged.columns(), whole.columns(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_bounds_are_attained():
    """By scores in the worst and in the best order; ties of positives are better than any order of them."""
    cells = counted(np.array([1.0, 1.5, -3.0]), np.array([1.25, 1.75, -3.5, -9.0]), 2).cells()
    assert cells.positives.tolist() == [2, 1]
    assert cells.negatives.tolist() == [2, 2]
    low, high = average_precision_bounds(cells)
    # Two negatives, then two positives; or two positives with one score. Then two negatives and one positive, or the
    # positive first.
    assert low == pytest.approx((1 / 3 + 2 / 4 + 3 / 7) / 3)
    assert high == pytest.approx((1 + 1 + 3 / 5) / 3)
    worst = tail_counts(np.array([1.0, 1.25, -4.0]), np.array([1.5, 1.75, -3.5, -3.0]))
    best = tail_counts(np.array([1.75, 1.75, -3.0]), np.array([1.25, 1.5, -3.5, -4.0]))
    assert [average_precision(tails) for tails in (worst, best)] == pytest.approx([low, high], rel=1e-12)
    assert [roc_auc(tails) for tails in (worst, best)] == pytest.approx([4 / 12, 10 / 12])
    assert roc_auc_bounds(cells) == pytest.approx((4 / 12, 10 / 12))


def test_keys_have_the_order_of_the_scores():
    keys = ordered_keys(np.array(ENDS)).tolist()
    assert [one == other for one, other in pairwise(keys)] == [one == other for one, other in pairwise(ENDS)]
    assert keys == sorted(keys)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = np.sort(halves[~np.isnan(halves)])
    for scores in (halves, halves.astype(np.float32), halves.astype(np.float64)):
        np.testing.assert_array_equal(np.diff(ordered_keys(scores)) > 0, np.diff(halves) != 0)


def test_without_a_side_there_is_no_value():
    some, none = np.arange(9.0), np.empty(0)
    for pos, neg in ((some, none), (none, some), (none, none)):
        for most in (2, 100):
            cells = counted(pos, neg, most)
            for low, high in (
                roc_auc_bounds(cells.cells()),
                average_precision_bounds(cells.cells()),
                hits_bounds(cells.cells(), 3),
            ):
                assert math.isnan(low)
                assert math.isnan(high)


def test_scores_that_change_between_readings_are_refused():
    pos, neg = normal(np.random.default_rng(5), 100, 300)
    cells = counted(pos, neg, 20)
    for other in ((pos[1:], neg), (pos, neg[1:]), (pos, np.append(neg, 0.5))):
        with pytest.raises(InputError, match="changed between two readings"):
            cells.refined(lambda other=other: [other[0]], lambda other=other: [other[1]])


def test_integers_without_a_float_are_refused():
    require_countable(np.array([2**53, -(2**53)]))
    with pytest.raises(InputError, match=r"2\*\*53"):
        require_countable(np.array([2**53 + 1]))
