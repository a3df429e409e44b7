"""Forecasts by the path of CUDA devices, on the host's tensors: the same results as by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphgauge.core.errors import GraphgaugeError
from graphgauge.forecasting import ForecastState, crps, energy_score, evaluate, on_device, pinball
from graphgauge.kernels import device_ensemble

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


@pytest.mark.parametrize("at_once", [1, 40, 1 << 23])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_scores_of_ensembles_and_quantiles_are_the_hosts(
    dtype: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_ensemble, "_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    y, samples = rng.normal(size=(7, 4)).astype(dtype), rng.normal(size=(7, 4, 9)).astype(dtype)
    samples[2] = samples[2, :1]  # components that are alike
    quantiles, levels = np.sort(samples[..., :3]), (0.1, 0.5, 0.9)
    truth, members, ends = (torch.as_tensor(each, device=DEVICE) for each in (y, samples, quantiles))
    close = {"rel": 1e-12}
    for fair in (False, True):
        found = on_device.plain_crps(truth, members, fair=fair)
        assert found == crps(truth, samples=members, fair=fair)
        assert found == pytest.approx(crps(y, samples=samples, fair=fair), **close)
    assert on_device.plain_pinball(truth, ends, levels) == pytest.approx(pinball(y, quantiles, levels), **close)
    assert on_device.plain_energy(truth, members) == energy_score(truth, members)
    assert energy_score(truth, members) == pytest.approx(energy_score(y, samples), **close)
    turned = members.transpose(0, 1)
    assert crps(truth.T, samples=turned) == pytest.approx(crps(y, samples=samples), **close)


@pytest.mark.parametrize("fault", ["NaN", "shape", "one member", "levels", "components"])
def test_what_ensembles_cannot_have_is_as_on_the_host(fault: str) -> None:
    y, samples = torch.zeros(5, 2, device=DEVICE), torch.ones(5, 2, 3, device=DEVICE)
    if fault == "components":
        assert np.isnan(energy_score(y[:, :1], samples[:, :1]))
        return
    if fault == "one member":
        with pytest.raises(GraphgaugeError, match="at least two"):
            crps(y, samples=samples[..., :1])
        return
    if fault == "NaN":
        samples[3, 1, 0] = torch.nan
    if fault == "shape":
        samples = samples[:4]
    works = [
        lambda: crps(y, samples=samples),
        lambda: pinball(y, samples, (0.1, 0.5, 0.9)),
        lambda: energy_score(y, samples),
    ]
    for work in works if fault != "levels" else [lambda: pinball(y, samples, (0.9, 0.5, 0.1))]:
        with pytest.raises(GraphgaugeError):
            work()
