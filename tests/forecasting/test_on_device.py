"""Forecasts by the path of CUDA devices, on the host's tensors: the same results as by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphgauge.core.errors import GraphgaugeError
from graphgauge.forecasting import ForecastState, evaluate, on_device

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def _tensors_are_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "is_cuda", torch.is_tensor)


def made(shape: tuple[int, ...] = (60, 3, 5), dtype: Any = np.float32) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    mean, std = rng.normal(5, 2, shape), rng.uniform(0.2, 2, shape)
    y = mean + std * rng.normal(size=shape)
    y[rng.random(shape) < 0.1] = 0
    return {"y_true": y.astype(dtype), "y_pred": mean.astype(dtype), "std": std.astype(dtype)}


def there(given: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.as_tensor(array, device=DEVICE) for name, array in given.items()}


def same(device: Any, host: Any, rtol: float = 1e-6) -> None:
    assert [*device] == [*host]
    assert device.notes == host.notes
    assert [each.message for each in device.findings] == [each.message for each in host.findings]
    for key, result in host.items():
        assert device[key].n == result.n
        assert device[key].value == pytest.approx(result.value, rel=rtol, nan_ok=True)
        if result.interval is not None:
            assert tuple(device[key].interval) == pytest.approx(tuple(result.interval), rel=1e-4)
    for axis in ("horizon", "node"):
        mine, theirs = device.by(axis), host.by(axis)
        for name in theirs.columns:
            if theirs[name].dtype.kind == "f":
                np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-4, atol=1e-9)


OPTIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "no spread": {"without": "std"},
    "mask": {"mask": True},
    "null value": {"null_value": 0.0},
    "null value and tolerance": {"null_value": 0.0, "null_tolerance": 0.01},
    "NaN omitted": {"nan": "omit", "null_value": 0.0},
    "few metrics": {"metrics": ["mae", "rmse", "coverage", "nll", "crps", "calibration_error"]},
    "levels": {"coverage": [0.1, 0.3, 0.5, 0.7, 0.9]},
    "thresholds": {"thresholds": [1.0]},
    "weights": {"weights": [1.0, 2, 3, 4, 5]},
    "history": {"naive": np.random.default_rng(1).normal(size=(40, 5))},
    "names": {"nodes": list("abcde"), "by": "node"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_results_are_the_hosts(name: str) -> None:
    given, options = made(), dict(OPTIONS[name])
    given.pop(options.pop("without", ""), None)
    if options.pop("mask", False):
        given["mask"] = np.random.default_rng(2).random(given["y_true"].shape) < 0.6
    if options.get("nan") == "omit":
        given["y_true"][3, 1, 2], given["y_pred"][5, 0, 0] = np.nan, np.nan
    found, expected = evaluate(**there(given), **options), evaluate(**given, **options)
    if name == "names":
        assert found.by("node")["node"].tolist() == list("abcde")
        options = {}
        found, expected = evaluate(**there(given)), evaluate(**given)
    same(found, expected)


@pytest.mark.parametrize("axes", [("node", "time"), ("horizon", "node", "time"), ("time",)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_axes_and_types(axes: tuple[str, ...], dtype: torch.dtype) -> None:
    tensors = {name: array.to(dtype) for name, array in there(made((7, 4, 30)[-len(axes) :])).items()}
    host = {name: array.double().cpu().numpy() for name, array in tensors.items()}
    found, expected = evaluate(**tensors, axes=axes), evaluate(**host, axes=axes)
    for key, result in expected.items():
        assert found[key].value == pytest.approx(result.value, rel=1e-6), key


def test_batches_in_any_order_and_states_of_hosts() -> None:
    given = made((40, 2, 3))
    device, host = ForecastState(), ForecastState()
    for start, stop in ((13, 40), (0, 13)):
        part = {name: array[start:stop] for name, array in given.items()}
        device.update(**there(part), start=start)
        host.update(**part, start=start)
    same(device.evaluate(), host.evaluate())
    later = {name: array + 1 for name, array in given.items()}
    mixed = device.merge(ForecastState().update(**later, start=40))
    same(mixed.evaluate(), host.merge(ForecastState().update(**later, start=40)).evaluate())


@pytest.mark.parametrize("fault", ["NaN", "infinite", "std 0", "std NaN", "shape", "empty", "mask of numbers"])
def test_faults_are_reported_as_on_the_host(fault: str) -> None:
    given = made((6, 2, 3))
    if fault in ("NaN", "infinite"):
        given["y_pred"][2, 1, 1] = {"NaN": np.nan, "infinite": np.inf}[fault]
    elif fault.startswith("std"):
        given["std"][1, 0, 2] = {"std 0": 0, "std NaN": np.nan}[fault]
    elif fault == "shape":
        given["std"] = given["std"][1:]
    elif fault == "empty":
        given = {name: array[:0] for name, array in given.items()}
    else:
        given["mask"] = np.full(given["y_true"].shape, 2.0)
    said = []
    for arrays in (given, there(given)):
        try:
            said.append([(key, result.n, str(result.value)) for key, result in evaluate(**arrays).items()])
        except GraphgaugeError as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_only_sums_leave_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphgauge.forecasting.inputs import Batch

    copied = []
    own = Batch.on_host
    monkeypatch.setattr(Batch, "on_host", lambda self, rows=slice(None): copied.append(rows) or own(self, rows))
    found = evaluate(
        **there(made((40_000, 1, 9))), metrics=["mae", "rmse", "coverage", "nll", "crps", "calibration_error"]
    )
    assert found["mae"].value > 0
    # Some steps of which the checks look for copies and missing values.
    assert len(copied) == 2
    assert all(len(range(*rows.indices(40_000))) * 9 * 3 < 1 << 18 for rows in copied)
