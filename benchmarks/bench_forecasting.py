"""Forecasting: errors, scores and calibration of 100M cells, ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import READ, Row, Work, faster, memory, uses, within

# Steps × horizons × nodes: 100M cells.
SHAPE = (41_700, 12, 200)
ERRORS = ("mae", "rmse", "coverage_95")
SCORES = (*ERRORS, "nll", "crps")
CALIBRATION = ("calibration_error", "miscalibration_area", "ece", "ence")


@dataclass(frozen=True)
class Forecasts:
    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray

    @property
    def arrays(self) -> list[np.ndarray]:
        return [self.y, self.mean, self.std]


@dataclass(frozen=True)
class Ensembles:
    y: np.ndarray
    samples: np.ndarray


def forecasts(shape: tuple[int, ...] = SHAPE) -> Forecasts:
    """Calibrated Gaussian forecasts whose standard deviations are within two octaves."""
    random = np.random.default_rng(0)
    mean = random.standard_normal(shape, dtype=np.float32)
    std = np.exp2(2 * random.random(shape, dtype=np.float32) - 1)
    y = random.standard_normal(shape, dtype=np.float32)
    y *= std
    y += mean
    return Forecasts(y, mean, std)


def ensembles(cells: int = 1_000_000, members: int = 50) -> Ensembles:
    random = np.random.default_rng(0)
    return Ensembles(
        random.standard_normal(cells, dtype=np.float32), random.standard_normal((cells, members), dtype=np.float32)
    )


def streamed(keys: tuple[str, ...], data: Forecasts) -> Work:
    """A state that counts what these metrics need; `evaluate` adds the sums of the truth for the chance levels."""
    import numba  # noqa: F401  (loaded once per program; otherwise the first call decides whether it pays)

    from graphgauge import forecasting

    def work() -> Any:
        state = forecasting.ForecastState(metrics=keys, coverage=0.95)
        state.update(data.y, data.mean, std=data.std)
        return state.evaluate(metrics=keys)

    return work


def whole(keys: tuple[str, ...] | None, data: Forecasts) -> Work:
    import numba  # noqa: F401

    from graphgauge import forecasting

    return partial(forecasting.evaluate, data.y, data.mean, std=data.std, metrics=keys, coverage=0.95)


def by_numpy(data: Forecasts) -> Work:
    """The same five means in plain NumPy."""
    from scipy.special import ndtr

    def work() -> tuple[float, ...]:
        error = data.y - data.mean
        z = error / data.std
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        crps = data.std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
        nll = np.log(data.std) + 0.5 * z * z + 0.5 * np.log(2 * np.pi)
        return (
            float(np.abs(error).mean()), float(np.sqrt((error * error).mean())), float((np.abs(z) <= 1.96).mean()),
            float(nll.mean()), float(crps.mean()),
        )  # fmt: skip

    return work


def by_sort(data: Forecasts) -> Work:
    return lambda: np.sort(data.std, axis=None)


@uses("scoringrules")
def by_scoringrules(data: Forecasts) -> Work:
    from scoringrules import crps_normal

    return lambda: crps_normal(data.y, data.mean, data.std)


@uses("properscoring")
def by_properscoring(data: Forecasts) -> Work:
    from properscoring import crps_gaussian

    return lambda: crps_gaussian(data.y, data.mean, data.std)


def ensemble_scores(data: Ensembles) -> Work:
    import numba  # noqa: F401

    from graphgauge.kernels.forecast_ensemble import ensemble_crps

    return partial(ensemble_crps, data.y, data.samples)


@uses("scoringrules")
def ensemble_by_scoringrules(backend: str, data: Ensembles) -> Work:
    from scoringrules import crps_ensemble

    return partial(crps_ensemble, data.y, data.samples, backend=backend)


def by_scoringrules_numpy(data: Ensembles) -> Work:
    return ensemble_by_scoringrules("numpy", data)


def by_scoringrules_numba(data: Ensembles) -> Work:
    return ensemble_by_scoringrules("numba", data)


@uses("properscoring")
def ensemble_by_properscoring(data: Ensembles) -> Work:
    from properscoring import crps_ensemble

    return partial(crps_ensemble, data.y, data.samples)


ROWS = (
    Row(
        "MAE, RMSE, coverage with intervals, 100M float32, streamed",
        make=forecasts,
        ours=partial(streamed, ERRORS),
        reads=lambda data: data.arrays,
        goals=(within(1.2, READ), memory(64)),
        rounds=5,
    ),
    Row(
        "MAE, RMSE, coverage, NLL, CRPS with intervals in one pass, 100M float32, streamed",
        make=forecasts,
        ours=partial(streamed, SCORES),
        reads=lambda data: data.arrays,
        peers={
            "NumPy": by_numpy,
            "scoringrules' CRPS alone": by_scoringrules,
            "properscoring's CRPS alone": by_properscoring,
        },
        goals=(within(8, READ), faster(12, "NumPy"), faster(10, "scoringrules' CRPS alone"), memory(64)),
        rounds=5,
        peer_seconds=1.0,
    ),
    Row(
        "the same by `evaluate`, with the chance level of each value",
        make=forecasts,
        ours=partial(whole, SCORES),
        reads=lambda data: data.arrays,
        goals=(within(8, READ), memory(64)),
        rounds=3,
    ),
    Row(
        "reliability, ece and ence, exact, without sorting, 100M float32",
        make=forecasts,
        ours=partial(whole, CALIBRATION),
        reads=lambda data: data.arrays,
        peers={"NumPy's sort of the standard deviations alone": by_sort},
        goals=(memory(100),),
        rounds=3,
        peer_seconds=1.0,
    ),
    Row(
        "ensemble CRPS, 1M × 50 members, float32",
        make=ensembles,
        ours=ensemble_scores,
        reads=lambda data: [data.y, data.samples],
        peers={
            "scoringrules (numba)": by_scoringrules_numba,
            "scoringrules (NumPy)": by_scoringrules_numpy,
            "properscoring": ensemble_by_properscoring,
        },
        goals=(faster(3, "scoringrules (numba)"), faster(3, "scoringrules (NumPy)")),
        rounds=5,
        peer_seconds=5.0,
    ),
)
