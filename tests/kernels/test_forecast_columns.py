from __future__ import annotations

import numpy as np
import pytest

from graphgauge.kernels.doubled import folded, two_sum
from graphgauge.kernels.forecast_columns import column_sums, quantile_sums

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
PAIRS = ((0, 4), (1, 3))
SHAPES = [(3, 4, 2, 7), (1, 900, 1, 1), (2, 1, 2, 2300), (2, 0, 1, 3), (0, 2, 1, 3)]


def drawn(shape, dtype="float64", seed=0):
    random = np.random.default_rng(seed)
    y = random.standard_normal(shape).astype(dtype)
    quantiles = np.sort(random.standard_normal((*shape, len(LEVELS))), axis=-1)
    quantiles[random.random(shape) < 0.1] = quantiles[random.random(shape) < 0.1][:1, ::-1] if y.size else 0.0
    quantiles[..., 2] = np.where(random.random(shape) < 0.2, y, quantiles[..., 2])
    return y, quantiles.astype(dtype), random.random(shape) > 0.3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
def test_quantile_sums_are_those_of_the_definitions(shape, dtype, hidden):
    y, quantiles, seen = drawn(shape, dtype)
    seen = seen if hidden else np.ones(shape, bool)
    spoilt = quantiles.copy()
    spoilt[~seen] = np.nan
    found = quantile_sums(y, spoilt, LEVELS, seen if hidden else None, pairs=PAIRS)
    truth, table = y.astype(float), quantiles.astype(float)
    for part, axes in zip(found, ((1, 3), (1, 2)), strict=True):
        for place, level in enumerate(LEVELS):
            q = table[..., place]
            loss = np.where(truth > q, level * (truth - q), (1 - level) * (q - truth))
            np.testing.assert_allclose(part.high[..., place], np.where(seen, loss, 0).sum(axes), rtol=1e-12)
            column = part.high[..., len(LEVELS) + place]
            np.testing.assert_allclose(column, np.where(seen, q, 0).sum(axes), rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(part.counts[..., place], (seen & (truth <= q)).sum(axes))
        for place, (low, high) in enumerate(PAIRS):
            inside = seen & (table[..., low] <= truth) & (truth <= table[..., high])
            np.testing.assert_array_equal(part.counts[..., len(LEVELS) + place], inside.sum(axes))
        crossing = seen & (np.diff(table, axis=-1) < 0).any(axis=-1)
        np.testing.assert_array_equal(part.counts[..., -1], crossing.sum(axes))


def test_quantiles_may_be_left_out():
    y, quantiles, seen = drawn(SHAPES[0])
    whole, some = (quantile_sums(y, quantiles, LEVELS, seen, with_quantiles=given)[1] for given in (True, False))
    assert some.high.tobytes() == whole.high[..., : len(LEVELS)].tobytes()


def test_any_division_has_the_same_bits():
    y, quantiles, seen = drawn((1, 60, 2, 5))
    whole = quantile_sums(y, quantiles, LEVELS, seen)
    parts = [
        quantile_sums(y[:, rows], quantiles[:, rows], LEVELS, seen[:, rows])
        for rows in np.array_split(np.arange(60), 7)
    ]
    for side in range(2):
        high, low = folded(*(np.stack([getattr(part[side], name) for part in parts]) for name in ("high", "low")))
        assert two_sum(high, low)[0].tobytes() == whole[side].high.tobytes()
        assert (sum(part[side].counts for part in parts) == whole[side].counts).all()


def test_column_sums():
    random = np.random.default_rng(3)
    shape = (4, 3, 2, 6)
    values, counts = [random.standard_normal(shape) for _ in range(2)], [random.integers(0, 3, shape)]
    by_horizon, by_node = column_sums(values, counts, shape, place=np.array([0, 0, 0, 1]))
    for place, value in enumerate(values):
        np.testing.assert_allclose(by_horizon.high[..., place], value.sum((1, 3)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(by_node.high[0, :, place], value[:3].sum((0, 1, 2)), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(by_horizon.counts[..., 0], counts[0].sum((1, 3)))
    np.testing.assert_array_equal(by_node.counts[1, :, 0], counts[0][3].sum((0, 1)))
