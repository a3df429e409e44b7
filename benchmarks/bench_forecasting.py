"""Forecasting: errors, scores and calibration of 100M cells; masked, wide, small and quantile inputs; ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import READ, Row, Work, faster, memory, seconds, uses, within

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

    from graphgauge import forecasting

    def work() -> Any:
        state = forecasting.ForecastState(metrics=keys, coverage=0.95)
        state.update(data.y, data.mean, std=data.std)
        return state.evaluate(metrics=keys)

    return work


def whole(keys: tuple[str, ...] | None, data: Forecasts) -> Work:

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
            float(np.abs(error).mean()),
            float(np.sqrt((error * error).mean())),
            float((np.abs(z) <= 1.96).mean()),
            float(nll.mean()),
            float(crps.mean()),
        )

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

    from graphgauge import forecasting

    return partial(forecasting.evaluate, data.y, samples=data.samples, axes=("time",), metrics=["crps"])


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


POINTS = ("mae", "rmse", "mape")
LEVELS = tuple(k / 10 for k in range(1, 10))
MASKED, SMALL, WIDE = (6_850, 12, 207), (1_000, 12, 207), (250, 1, 64_800)


@dataclass(frozen=True)
class Speeds:
    """Truths with zeros where nothing was observed."""

    y: np.ndarray
    mean: np.ndarray
    extra: np.ndarray | None = None

    @property
    def arrays(self) -> list[np.ndarray]:
        return [self.y, self.mean] if self.extra is None else [self.y, self.extra]


def speeds(shape: tuple[int, ...], missing: float = 0.08) -> Speeds:
    random = np.random.default_rng(0)
    y = 60 + 10 * random.standard_normal(shape, dtype=np.float32)
    mean = y + 3 * random.standard_normal(shape, dtype=np.float32)
    y[random.random(shape, dtype=np.float32) < missing] = 0
    return Speeds(y, mean)


def quantiles(shape: tuple[int, ...] = SMALL) -> Speeds:
    data = speeds(shape, 0)
    offsets = np.linspace(-4, 4, len(LEVELS), dtype=np.float32)
    return Speeds(data.y, data.mean, data.mean[..., np.newaxis] + offsets)


def vectors(shape: tuple[int, ...] = SMALL, members: int = 50) -> Speeds:
    random = np.random.default_rng(0)
    samples = random.standard_normal((*shape, members), dtype=np.float32)
    return Speeds(random.standard_normal(shape, dtype=np.float32), samples[..., 0], samples)


def points(keys: tuple[str, ...], null_value: float | None, data: Speeds) -> Work:

    from graphgauge import forecasting

    options = {"metrics": keys, "by": (), "null_value": null_value}
    return partial(forecasting.evaluate, data.y, data.mean, **options)


def masked_by_numpy(data: Speeds) -> Work:
    """Masked MAE, RMSE and MAPE as training loops compute them."""

    def work() -> tuple[float, ...]:
        seen = data.y != 0
        error = np.where(seen, data.mean - data.y, 0)
        count = seen.sum()
        relative = np.abs(error) / np.where(seen, data.y, 1)
        return np.abs(error).sum() / count, np.sqrt(np.square(error).sum() / count), relative.sum() / count

    return work


def four_by_numpy(data: Speeds) -> Work:
    """MAE, RMSE, bias and R², over all cells and by node."""

    def work() -> tuple[Any, ...]:
        error = data.mean - data.y
        absolute, square, y = np.abs(error), np.square(error), data.y
        by_node = [values.mean(axis=(0, 1)) for values in (absolute, square, error)]
        return absolute.mean(), square.mean(), error.mean(), np.square(y - y.mean()).mean(), by_node

    return work


def pinball_scores(data: Speeds) -> Work:

    from graphgauge import forecasting

    options = {"levels": LEVELS, "metrics": ("pinball",), "by": ()}
    return partial(forecasting.evaluate, data.y, data.mean, quantiles=data.extra, **options)


def pinball_by_numpy(data: Speeds) -> Work:
    levels = np.array(LEVELS, np.float32)

    def work() -> float:
        assert data.extra is not None
        above = data.y[..., np.newaxis] - data.extra
        return float(np.maximum(levels * above, (levels - 1) * above).mean())

    return work


def energy(data: Speeds) -> Work:

    from graphgauge import forecasting

    return partial(forecasting.evaluate, data.y, samples=data.extra, metrics=("energy_score",), by=())


@uses("scoringrules")
def energy_by_scoringrules(data: Speeds) -> Work:
    from scoringrules import es_ensemble

    assert data.extra is not None
    y, members = data.y.reshape(-1, data.y.shape[-1]), data.extra.reshape(-1, *data.extra.shape[-2:])
    return partial(es_ensemble, y, members, m_axis=-1, v_axis=-2, backend="numba")


def masked_row(shape: tuple[int, ...]) -> Row:
    return Row(
        f"masked MAE, RMSE, MAPE with intervals, {' × '.join(f'{size:,}' for size in shape)} float32",
        make=partial(speeds, shape),
        ours=partial(points, POINTS, 0),
        reads=lambda data: data.arrays,
        peers={"NumPy": masked_by_numpy, "the same without a mask": partial(points, POINTS, None)},
        goals=(faster(1, "NumPy"), within(2, "the same without a mask"), memory(64)),
        rounds=5,
    )


MORE = (
    masked_row(MASKED),
    masked_row(SMALL),
    Row(
        "MAE, RMSE, bias, R² by node, 250 × 1 × 64,800 float32",
        make=partial(speeds, WIDE, 0),
        ours=partial(points, ("mae", "rmse", "bias", "r2"), None),
        reads=lambda data: data.arrays,
        peers={"NumPy": four_by_numpy},
        goals=(faster(1, "NumPy"), memory(194)),
        rounds=5,
    ),
    Row(
        "pinball loss at nine levels with intervals, 1,000 × 12 × 207 float32",
        make=quantiles,
        ours=pinball_scores,
        reads=lambda data: data.arrays,
        peers={"NumPy": pinball_by_numpy},
        goals=(faster(3, "NumPy"), memory(64)),
        rounds=5,
    ),
    Row(
        "MAE and RMSE with intervals, 500 × 12 × 200 float32 (1.2M cells)",
        make=partial(speeds, (500, 12, 200), 0),
        ours=partial(points, ("mae", "rmse"), None),
        reads=lambda data: data.arrays,
        goals=(seconds(0.003), memory(16)),
        rounds=20,
    ),
    Row(
        "energy score with shuffled members, 1,000 × 12 × 207 × 50 members float32",
        make=vectors,
        ours=energy,
        reads=lambda data: data.arrays,
        peers={"scoringrules (numba), energy score alone": energy_by_scoringrules},
        goals=(faster(1, "scoringrules (numba), energy score alone"), memory(700)),
        rounds=2,
        peer_seconds=10.0,
    ),
)

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
    *MORE,
)
