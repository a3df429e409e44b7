"""Values against their definitions, cell by cell, on masked, weighted and ragged data of both float types."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.forecasting import brute

from graphgauge import forecasting
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation

SHAPE = (37, 3, 5)
LEVELS = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95)
# Sums are exact to the last digit or two; logarithms, exponentials and the like to 1e-13.
EXACT, CLOSE = 4e-16, 1e-13
OF_SUMS = {"mae", "mse", "bias", "mape", "wape", "smape"}


def drawn(seed: int = 0, dtype: str = "f8") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.normal(3, 2, SHAPE)
    y[rng.random(SHAPE) < 0.05] = 0
    found = {
        "y": y,
        "mean": y + rng.normal(0.2, 1, SHAPE),
        "std": rng.uniform(0.5, 2, SHAPE),
        "quantiles": np.sort(y[..., None] + rng.normal(0, 1.5, (*SHAPE, len(LEVELS))), axis=-1),
        "members": y[..., None] + rng.normal(0, 1, (*SHAPE, 21)).round(1),
    }
    return {name: array.astype(dtype) for name, array in found.items()}


def cases() -> list[Any]:
    rng = np.random.default_rng(1)
    mask, weights = rng.random(SHAPE) < 0.7, rng.uniform(0, 3, SHAPE[2])
    options = {"plain": {}, "masked": {"mask": mask}, "weighted": {"mask": mask, "weights": weights}}
    return [pytest.param(dtype, each, id=f"{name}-{dtype}") for name, each in options.items() for dtype in ("f8", "f4")]


def check(found: Evaluation, expected: dict[str, float]) -> None:
    for key, value in expected.items():
        limit = EXACT if key in OF_SUMS else CLOSE
        # A difference of two sums has their errors, however small it is.
        scale = max(abs(value), found["mae"].value if key == "bias" else 0.0)
        assert abs(found[key].value - value) <= limit * scale + 1e-300, (key, found[key].value, value)


over_cases = pytest.mark.parametrize(("dtype", "options"), cases())


@over_cases
def test_point_and_gaussian_forecasts(dtype: str, options: dict[str, Any]) -> None:
    data = drawn(dtype=dtype)
    history = np.random.default_rng(2).normal(size=(20, SHAPE[2]))
    history[:, 1] = 4
    found = forecasting.evaluate(
        data["y"],
        data["mean"],
        std=data["std"],
        history=history,
        season=2,
        coverage=0.8,
        metrics="all",
        **options,
    )
    sample = list(brute.cells(data["y"], mean=data["mean"], std=data["std"], **options))
    check(found, brute.errors(sample) | brute.gaussian(sample, 0.8) | brute.scaled(sample, history, 2))
    if "weights" not in options:
        check(found, brute.binned(sample, 10) | brute.reliability(sample))
    for axis in ("horizon", "node"):
        grid = found.by(axis)
        for place in range(len(grid)):
            part = [each for each in sample if each[axis] == place]
            for key, value in (brute.errors(part) | brute.gaussian(part, 0.8)).items():
                assert grid[key][place] == pytest.approx(value, rel=1e-12, abs=1e-14), (axis, place, key)


@over_cases
def test_quantiles(dtype: str, options: dict[str, Any]) -> None:
    data = drawn(dtype=dtype)
    found = forecasting.evaluate(
        data["y"], data["mean"], quantiles=data["quantiles"], levels=LEVELS, metrics="all", **options
    )
    sample = list(brute.cells(data["y"], mean=data["mean"], quantiles=data["quantiles"], **options))
    check(found, brute.errors(sample) | brute.quantiles(sample, LEVELS))


@over_cases
def test_members(dtype: str, options: dict[str, Any]) -> None:
    data = drawn(dtype=dtype)
    found = forecasting.evaluate(data["y"], samples=data["members"], coverage=0.5, metrics="all", **options)
    sample = list(brute.cells(data["y"], members=data["members"], **options))
    check(found, brute.ensemble(sample))
    if "weights" not in options:
        check(found, brute.reliability(sample))
    mean = np.sort(data["members"], axis=-1).mean(axis=-1, dtype=float)
    check(found, brute.errors(list(brute.cells(data["y"], mean=mean, **options))))


@over_cases
def test_losses_of_the_user(dtype: str, options: dict[str, Any]) -> None:
    data = drawn(dtype=dtype)
    loss = np.square(data["y"] - data["mean"])
    found = forecasting.evaluate(data["y"], data["mean"], scores={"own": loss}, **options)
    sample = list(brute.cells(data["y"], own=loss, **options))
    expected = brute.mean([each["own"] for each in sample], [each["w"] for each in sample])
    assert found["own"].value == pytest.approx(expected, rel=EXACT)
    assert found.by("node")["own"][2] == pytest.approx(
        brute.mean([each["own"] for each in sample if each["node"] == 2], [1.0] * sum(c["node"] == 2 for c in sample)),
        rel=1e-14,
    )


def test_ragged_rows_are_the_cells_of_arrays() -> None:
    data = drawn()
    rng = np.random.default_rng(3)
    kept = rng.permutation(np.flatnonzero(rng.random(data["y"].size) < 0.8))
    step, horizon, node = np.unravel_index(kept, SHAPE)
    table = {"t": step, "h": horizon, "n": node, "y": data["y"].ravel()[kept], "m": data["mean"].ravel()[kept]}
    table["s"] = data["std"].ravel()[kept]
    found = forecasting.evaluate_table(table, id="n", time="t", horizon="h", pred="m", std="s", metrics="all")
    mask = np.zeros(SHAPE, bool)
    mask.ravel()[kept] = True
    whole = forecasting.evaluate(data["y"], data["mean"], std=data["std"], mask=mask, metrics="all")
    sample = list(brute.cells(data["y"], mean=data["mean"], std=data["std"], mask=mask))
    check(found, brute.errors(sample) | brute.gaussian(sample, 0.95) | brute.binned(sample, 10))
    for key in whole:
        assert found[key].value == pytest.approx(whole[key].value, rel=1e-14), key
        assert (found[key].interval is None) == (whole[key].interval is None), key
        if whole[key].interval is not None:
            assert tuple(found[key].interval) == pytest.approx(tuple(whole[key].interval), rel=1e-9), key


def test_many_cells_are_summed_without_rounding() -> None:
    rng = np.random.default_rng(0)
    y = (rng.normal(size=(700, 12, 23)) * 10 ** rng.uniform(-6, 6, (700, 12, 23))).astype("f4")
    found = forecasting.evaluate(y, np.zeros_like(y))
    exact = math.fsum(np.abs(y).ravel().astype(float).tolist()) / y.size
    assert found["mae"].value == pytest.approx(exact, rel=EXACT)


def test_r2_of_truths_far_from_0() -> None:
    y = np.array([1e8, 1e8 + 1, 1e8 + 3, 1e8 + 7], "f8").repeat(50)
    f = y + np.resize([0.25, -0.5], len(y))
    centre = sum(map(Fraction, y.tolist())) / len(y)
    whole = sum((Fraction(each) - centre) ** 2 for each in y.tolist())
    left = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(y.tolist(), f.tolist(), strict=True))
    assert forecasting.r2(y, f) == pytest.approx(float(1 - left / whole), rel=1e-15)


def test_large_and_small_units() -> None:
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=(2, 50))
    expected = forecasting.rmse(y, f)
    assert forecasting.rmse(y * 1e150, f * 1e150) == pytest.approx(1e150 * expected, rel=1e-14)
    assert forecasting.rmse(y * 1e-150, f * 1e-150) == pytest.approx(1e-150 * expected, rel=1e-14)
    for factor, why in ((1e-200, "vanish"), (1e160, "range of float64")):
        with pytest.raises(InputError, match=why) as caught:
            forecasting.rmse(y * factor, f * factor)
        assert caught.value.fix == "Rescale the data."
