"""Areas under curves and their influences, against their definitions and the derivatives of these."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiled.test_curves import scores

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
SIZES = pytest.mark.parametrize("size", [0, 1, 2, 33, 90])
STEP = 1e-30


def defined(labels, points, weights):
    """Both areas, by their definitions; weights may be complex."""
    pos, neg = labels == 1, labels == 0
    above = np.where(points[pos][:, None] > points[neg], 1.0, np.where(points[pos][:, None] == points[neg], 0.5, 0.0))
    auc = weights[pos] @ above @ weights[neg] / (weights[pos].sum() * weights[neg].sum())
    reached = (points[labels >= 0] >= points[pos][:, None]).astype(float)
    hits = (points[pos] >= points[pos][:, None]) @ weights[pos]
    return auc, weights[pos] @ (hits / (reached @ weights[labels >= 0])) / weights[pos].sum()


def influences(labels, points, weights):
    """Of each item that has a label the derivative of both areas by its weight, times the weight of all."""
    moved = np.zeros((2, len(labels)))
    for item in np.flatnonzero(labels >= 0):
        nudged = weights.astype(complex)
        nudged[item] += STEP * 1j
        moved[:, item] = np.imag(defined(labels, points, nudged)) / STEP * weights[labels >= 0].sum()
    return moved


def drawn(size, dtype, tasks=6):
    rng = np.random.default_rng(size)
    labels = rng.choice([-1, 0, 0, 1], (tasks, size)).astype(np.int8)
    labels[0], labels[1] = -1, 1
    return labels, np.stack([scores(size, dtype, task) for task in range(tasks)])


@THREADS
@DTYPES
@SIZES
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_and_influences(size, dtype, weighted, threads):
    labels, points = drawn(size, dtype)
    weights = np.random.default_rng(7).integers(1, 9, size) / 4.0
    used = weights if weighted else np.ones(size)
    found = _core.curve_areas(labels, points, weights if weighted else None, threads=threads)
    auc, precision, positive, total, auc_powers, precision_powers, *moved = found
    sums = np.zeros((2, size))
    for task, (own, at) in enumerate(zip(labels, points, strict=True)):
        assert positive[task] == used[own == 1].sum()
        assert total[task] == used[own >= 0].sum()
        if not ((own == 1).any() and (own == 0).any()):
            assert np.isnan([auc[task], precision[task]]).all()
            assert not np.concatenate([auc_powers[task], precision_powers[task]]).any()
            continue
        assert (auc[task], precision[task]) == pytest.approx(defined(own, at, used), rel=1e-14)
        expected = influences(own, at, used)
        sums += expected * (used.sum() / total[task])
        powers = [[(used * each**power).sum() for power in (2, 4)] for each in expected]
        assert [auc_powers[task], precision_powers[task]] == pytest.approx(np.array(powers), rel=1e-11, abs=1e-20)
    assert np.array(moved) == pytest.approx(sums, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("tasks", [1, 3, 4, 11])
def test_the_same_bits_on_any_number_of_threads(tasks):
    labels, points = drawn(5000, np.float32, max(tasks, 2))
    answers = [_core.curve_areas(labels[-tasks:], points[-tasks:], threads=threads) for threads in (1, 2, 5)]
    assert len({b"".join(array.tobytes() for array in answer) for answer in answers}) == 1


def test_what_does_not_fit_is_refused():
    labels, points = drawn(33, np.float64)
    for wrong in (
        lambda: _core.curve_areas(labels, points[:-1]),
        lambda: _core.curve_areas(labels, points[:, :-1]),
        lambda: _core.curve_areas(labels, points, np.ones(32)),
        lambda: _core.curve_areas(labels, np.ones(points.shape, np.float16)),
        lambda: _core.curve_areas(labels.T, points.T),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
