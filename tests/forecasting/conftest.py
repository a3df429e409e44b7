"""Forecasts that are right about themselves, for the tests to spoil."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest


@dataclass(frozen=True)
class Forecasts:
    """Gaussian forecasts whose errors have exactly the spread they claim."""

    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray

    @property
    def arguments(self) -> dict[str, Any]:
        return {"y_true": self.y, "y_pred": self.mean, "std": self.std}


def calibrated(seed: int, *shape: int) -> Forecasts:
    draw = np.random.default_rng(seed)
    std = draw.uniform(0.5, 2, shape)
    mean = draw.normal(10, 3, shape)
    return Forecasts(mean + std * draw.normal(size=shape), mean, std)


@pytest.fixture
def forecasts() -> Forecasts:
    return calibrated(3, 60, 4, 5)
