"""Tensors on a CUDA device, which is simulated: sums are made there, and the numbers are those of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting

RNG = np.random.default_rng(0)
Y = RNG.normal(10, 2, (90, 3, 7))
MEAN, STD = Y + RNG.normal(size=Y.shape), RNG.uniform(0.5, 2, Y.shape)
MASK = RNG.random(Y.shape) < 0.8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"null_value": 0.0}, {"nan": "omit"}])
@pytest.mark.parametrize("gaussian", [False, True])
def test_values_and_intervals_are_those_of_the_host(
    simulated: Any, dtype: str, options: dict[str, Any], gaussian: bool
) -> None:
    arrays = {"y_true": Y, "y_pred": MEAN, **({"std": STD} if gaussian else {})}
    arrays = {name: array.astype(dtype) for name, array in arrays.items()}
    expected = forecasting.evaluate(**arrays, **options, metrics="all")
    put = {name: simulated.put(array) for name, array in arrays.items()}
    own = {name: simulated.put(value) if name == "mask" else value for name, value in options.items()}
    found = forecasting.evaluate(**put, **own, metrics="all")
    assert list(found) == list(expected)
    for key in expected:
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-12), key
        if expected[key].interval is not None:
            assert tuple(found[key].interval) == pytest.approx(tuple(expected[key].interval), rel=1e-9), key
    np.testing.assert_allclose(found.by("node")["rmse"], expected.by("node")["rmse"], rtol=1e-12)
    assert found.findings == expected.findings
