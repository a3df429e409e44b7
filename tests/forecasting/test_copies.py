"""Forecasts that are the last value, or the truth: found in some cells, and not where honest ones look alike."""

import numpy as np
import pytest

from graphgauge.forecasting import ForecastState, evaluate
from graphgauge.forecasting.evaluate import evaluate_state


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def windows(rng, steps=80, horizons=3, nodes=4):
    series = rng.normal(0, 1, (steps + horizons, nodes)).cumsum(axis=0)
    return np.stack([series[t : t + horizons] for t in range(steps)])


def found(y, mean, **options):
    return {finding.check for finding in evaluate(y, mean, metrics=["mae"], by=[], **options).findings}


def test_a_leak_at_one_horizon_is_found(rng):
    y = windows(rng)
    mean = y + rng.normal(0, 1, y.shape)
    assert "leaked-target" not in found(y, mean)
    mean[:, 0] = np.float32(y[:, 0])
    assert "leaked-target" in found(y, mean)
    assert "leaked-target" in found(y.transpose(2, 0, 1), mean.transpose(2, 0, 1), axes=("node", "time", "horizon"))
    assert "leaked-target" not in found(y, mean, mask=np.arange(3)[:, None] + 0 * y > 0)


@pytest.mark.parametrize("kind", ["counts", "zeros", "constant", "rounded", "short"])
def test_honest_hits_are_no_leak(rng, kind):
    y = windows(rng)
    mean = y + rng.normal(0, 0.3, y.shape)
    if kind == "counts":
        y, mean = np.round(y), np.round(mean)
    elif kind == "zeros":
        y, mean = np.maximum(y, 0), np.maximum(mean, 0)
    elif kind == "constant":
        y, mean = np.full_like(y, 3.0), np.full_like(y, 3.0)
    elif kind == "rounded":
        y, mean = np.round(y, 1), np.round(mean, 1)
    else:
        y, mean = y[:2], y[:2]
    assert "leaked-target" not in found(y, mean)


def test_a_copy_that_went_through_float32_is_one(rng):
    y = windows(rng)
    last = np.broadcast_to(np.concatenate([y[:1, :1] - 1, y[:-1, :1]]), y.shape)
    assert "last-value" in found(y, last.astype(np.float32).astype(float))
    assert "last-value" not in found(y, last + rng.normal(0, 0.1, y.shape))


def test_a_copy_is_seen_between_masked_truths(rng):
    y = windows(rng)
    last = np.broadcast_to(np.concatenate([y[:1, :1] - 1, y[:-1, :1]]), y.shape)
    mask = np.ones(y.shape, bool)
    mask[::2, 0] = False
    assert "last-value" in found(np.where(mask, y, 1e9), last, mask=mask)


def test_windows_that_do_not_overlap_tell_nothing(rng):
    y = rng.normal(size=(80, 3, 4))
    assert "last-value" not in found(y, np.broadcast_to(np.concatenate([y[:1, :1], y[:-1, :1]]), y.shape))


def test_a_stream_has_no_first_steps(rng):
    state = ForecastState(metrics=["mae"])
    y = windows(rng)
    state.update(y, y)
    materials = evaluate_state(state, metrics=["mae"]).materials
    assert materials["begin"] is materials["sampled"] is None
