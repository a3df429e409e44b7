"""What the family offers, and that a small evaluation loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from graphgauge import forecasting

HEAVY = ("scipy.stats", "sklearn", "pandas", "matplotlib", "torch", "pyarrow")


def test_a_small_evaluation_stays_light() -> None:
    code = (
        "import sys\nfrom graphgauge import forecasting\n"
        "str(forecasting.evaluate([1.0, 2, 3], [1.0, 2, 2], std=[1, 1, 1]))\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_public_names() -> None:
    assert forecasting.__all__ == sorted(forecasting.__all__)
    for name in forecasting.__all__:
        assert getattr(forecasting, name).__doc__


@pytest.mark.parametrize("key", ["mae", "rmse", "mape", "wape", "smape", "bias", "r2"])
def test_functions_are_the_metrics(key: str) -> None:
    rng = np.random.default_rng(0)
    y, forecast = rng.normal(5, 1, (30, 2)), rng.normal(5, 1, (30, 2))
    assert getattr(forecasting, key)(y, forecast) == forecasting.evaluate(y, forecast, axes=("time", "node"))[key]


@pytest.mark.parametrize("key", ["nll", "crps", "ece", "ence", "calibration_error", "miscalibration_area"])
def test_functions_of_gaussians_are_the_metrics(key: str) -> None:
    rng = np.random.default_rng(0)
    y, mean, std = rng.normal(5, 1, (30, 2)), rng.normal(5, 1, (30, 2)), rng.uniform(0.5, 2, (30, 2))
    whole = forecasting.evaluate(y, mean, std=std, axes=("time", "node"))
    assert getattr(forecasting, key)(y, mean, std) == whole[key]
    assert forecasting.interval_score(y, mean, std, level=0.8) == whole["interval_score_80"]
