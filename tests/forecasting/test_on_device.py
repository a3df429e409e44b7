"""Forecasts on a CUDA device, or on a simulated one: the results are the host's.

Point and Gaussian forecasts are summed there, and only sums are copied; everything else is moved to the host.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from graphgauge import forecasting
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.forecasting import ForecastState, copies, evaluate, sums
from graphgauge.kernels import device_forecast

CUDA = torch.cuda.is_available()
CLOSE = 1e-11
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
TENSORS = ("y_true", "y_pred", "std", "quantiles", "samples", "mask")
FORMS: dict[str, tuple[str, ...]] = {
    "point": ("y_pred",),
    "gaussian": ("y_pred", "std"),
    "quantiles": ("quantiles",),
    "quantiles and points": ("y_pred", "quantiles"),
    "samples": ("samples",),
    "samples and points": ("y_pred", "samples"),
}
# Those that are summed on the device; others are moved to the host when they are read.
MAIN = ["point", "gaussian"]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
Given = dict[str, Any]


@pytest.fixture
def put(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Puts an array on the device."""
    if CUDA:
        return lambda values: torch.as_tensor(values, device="cuda")
    return request.getfixturevalue("simulated").put  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _slabs_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small inputs are summed in parts, with several steps a time block; few steps are searched for copies."""
    monkeypatch.setattr(sums, "MOST_BLOCKS", 16)
    monkeypatch.setattr(device_forecast, "_CELLS", 1000)
    monkeypatch.setattr(copies, "_LOOKED_AT", 64)
    monkeypatch.setattr(copies, "_SAMPLED", 64)


def made(form: str, shape: tuple[int, ...] = (60, 3, 5), dtype: Any = np.float32, members: int = 9) -> Given:
    """Truths, a tenth of them 0, and a forecast of this form; members tie with truths, and some quantiles cross."""
    rng = np.random.default_rng(0)
    mean, std = rng.normal(5, 2, shape), rng.uniform(0.2, 2, shape)
    y = mean + std * rng.normal(size=shape)
    y[rng.random(shape) < 0.1] = 0
    samples = mean[..., None] + std[..., None] * rng.normal(size=(*shape, members))
    samples[..., 0] = np.where(rng.random(shape) < 0.2, y, samples[..., 0])
    quantiles = np.sort(rng.normal(mean[..., None], 2, (*shape, len(LEVELS))))
    crossed = rng.random(shape) < 0.05
    quantiles[crossed] = quantiles[crossed][:, ::-1]
    arrays = {"y_pred": mean, "std": std, "quantiles": quantiles, "samples": samples}
    found = {name: arrays[name].astype(dtype) for name in FORMS[form]}
    more = {"levels": LEVELS} if "quantiles" in found else {}
    return {"y_true": y.astype(dtype), **found, **more}


def moved(given: Given, put: Callable[[Any], Any], names: tuple[str, ...] = TENSORS) -> Given:
    return {name: put(value) if name in names else value for name, value in given.items()}


def same(device: Any, host: Any) -> None:
    assert [*device] == [*host]
    assert device.notes == host.notes
    assert device.conventions == host.conventions
    assert [each.message for each in device.findings] == [each.message for each in host.findings]
    for key, result in host.items():
        assert device[key].n == result.n, key
        assert device[key].value == pytest.approx(result.value, rel=CLOSE, abs=1e-12, nan_ok=True), key
        if result.interval is not None:
            assert tuple(device[key].interval) == pytest.approx(tuple(result.interval), rel=1e-4, abs=1e-9), key
    for axis in ("horizon", "node"):
        if axis in host.breakdowns:
            mine, theirs = device.by(axis), host.by(axis)
            assert [*mine.columns] == [*theirs.columns]
            for name in theirs.columns:
                if theirs[name].dtype.kind == "f":
                    np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-4, atol=1e-9)
                else:
                    np.testing.assert_array_equal(mine[name], theirs[name])


def counts_of(state: ForecastState) -> list[Any]:
    """All integers of a state."""
    tables = [table.counts for table in (state.by_horizon, state.by_node, state.pit, state.joint)]
    ranks = [column for known in state.ranks for column in [*known.cells()[0], known.cells()[1]]]
    spread = [column for cells in state.spread for column in (cells.key, cells.count)]
    return [*tables, state.node_pit, *ranks, *spread, state.cells, state.dropped, state.n]


def same_counts(device: ForecastState, host: ForecastState) -> None:
    for mine, theirs in zip(counts_of(device), counts_of(host), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def same_sums(device: ForecastState, host: ForecastState) -> None:
    for name in ("by_horizon", "by_node", "excess", "joint"):
        mine, theirs = getattr(device, name), getattr(host, name)
        wanted = theirs.high + theirs.low
        # The ranges of standard deviations are columns whose terms may cancel each other.
        scale = np.abs(wanted).max(axis=None if name == "excess" else (0, 1), initial=0.0)
        assert (np.abs(mine.high + mine.low - wanted) <= 1e-12 * scale).all(), name


OPTIONS: dict[str, Given] = {
    "everything": {},
    "mask": {"mask": True},
    "mask of numbers": {"mask": np.uint8},
    "null value": {"null_value": 0.0},
    "null value and tolerance": {"null_value": 0.0, "null_tolerance": 0.3},
    "a null value that is NaN": {"null_value": np.nan, "missing": True},
    "NaN omitted": {"nan": "omit", "null_value": 0.0, "mask": True, "missing": True},
    "few metrics": {"metrics": ["mae", "rmse"]},
    "levels": {"coverage": [0.1, 0.3, 0.5, 0.7, 0.9]},
    "weights": {"weights": [1.0, 2, 0, 4, 5], "mask": True},
    "history": {"naive": np.random.default_rng(1).normal(size=(40, 5))},
    "naive errors": {"naive": [1.0, 0.0, 2.0, 3.0, 4.0]},
    "history and weights": {"naive": np.ones((9, 5)).cumsum(0) ** 2, "weights": [1.0, 2, 3, 4, 5]},
    "names": {"nodes": list("abcde"), "by": "node"},
    "graph": {"graph": np.array([[0, 1], [1, 2], [2, 3], [0, 4]]), "mask": True},
    "bins": {"bins": 3},
}
ONLY = {
    "levels": ("gaussian", "samples", "samples and points", "quantiles", "quantiles and points"),
    "graph": ("samples", "samples and points"),
    "bins": ("gaussian",),
}
CASES = [
    (form, option)
    for form in FORMS
    for option in OPTIONS
    if form in ONLY.get(option, (form,)) and (form in MAIN or option in ("everything", "NaN omitted", "graph"))
]


def with_option(given: Given, name: str) -> Given:
    options = dict(OPTIONS[name])
    if options.pop("missing", False):
        given["y_true"][3, 1, 2] = given["y_true"][7, 0, 0] = np.nan
        if options.get("nan") == "omit":
            last = [*given][1]
            given[last][5, 0, 0] = np.nan
    if (dtype := options.pop("mask", None)) is not None:
        seen = np.random.default_rng(2).random(given["y_true"].shape) < 0.7
        given["mask"] = seen if dtype is True else seen.astype(dtype)
    return given | options


@pytest.mark.parametrize(("form", "option"), CASES)
def test_results_are_the_hosts(form: str, option: str, put: Callable[[Any], Any]) -> None:
    given = with_option(made(form, (30, 3, 5)), option)
    same(evaluate(**moved(given, put)), evaluate(**given))


def test_the_arrays_stay_as_they_are(put: Callable[[Any], Any]) -> None:
    given = with_option(made("gaussian"), "NaN omitted")
    there = moved(given, put)
    before = {name: there[name].clone() for name in TENSORS if name in there}
    evaluate(**there)
    for name, values in before.items():
        np.testing.assert_array_equal(there[name].cpu().numpy(), values.cpu().numpy())


SHAPES: dict[str, tuple[tuple[int, int, int], Callable[[Any], Any]]] = {
    "contiguous": ((24, 3, 4), lambda array: array),
    "every other node": ((24, 3, 8), lambda array: array[:, :, ::2]),
    "turned": ((4, 3, 24), lambda array: array.transpose(0, 2)),
    "repeated": ((1, 3, 4), lambda array: array.expand(24, *array.shape[1:])),
    "one step": ((1, 3, 4), lambda array: array),
    "one cell": ((1, 1, 1), lambda array: array),
    "no step": ((0, 3, 4), lambda array: array),
    "no node": ((5, 3, 0), lambda array: array),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", MAIN)
def test_counts_are_the_hosts_bit_for_bit(form: str, shape: str, dtype: torch.dtype, put: Callable[[Any], Any]) -> None:
    """With zeros of both signs, denormals, and in cells that do not count NaN and infinities."""
    size, layout = SHAPES[shape]
    given = made(form, size, np.float64)
    least = float(torch.finfo(dtype).smallest_normal) / 4
    rng = np.random.default_rng(3)
    for name in ("y_true", *FORMS[form]):
        values = given[name]
        tiny = [least, 2 * least] if name == "std" else [0.0, -0.0, least, -least]
        chosen = rng.random(values.shape) < 0.15
        values[chosen] = rng.choice(tiny, int(chosen.sum()))
    if "std" in given:  # whose squares in float64 are sums of the host, too
        given["std"] = np.maximum(given["std"], 1e-100)
    mask = rng.random(size) < 0.8
    for name in ("y_true", *FORMS[form]):
        given[name][~mask] = rng.choice([np.nan, np.inf, -np.inf, 0.0], given[name][~mask].shape)
    tensors = {name: torch.as_tensor(given[name]).to(dtype) for name in ("y_true", *FORMS[form])}
    tensors["mask"] = torch.as_tensor(mask)
    tensors = {name: layout(array) for name, array in tensors.items()}
    more = {"levels": LEVELS} if "quantiles" in given else {}
    host, device = ForecastState(), ForecastState()
    if dtype == torch.float64:  # in which errors over denormal truths overflow, and are refused
        host.counted = device.counted = tuple(part for part in host.counted if part != "relative")
    host.update(**tensors, **more)
    there = {name: layout(put(array.clone())) if shape == "repeated" else put(array) for name, array in tensors.items()}
    device.update(**there, **more)
    same_counts(device, host)
    same_sums(device, host)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("null_value", [0.0, 0.1, 1e6, -1e39, np.nan, np.inf])
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_null_values_are_compared_as_on_the_host(
    dtype: torch.dtype, null_value: float, tolerance: float, put: Callable[[Any], Any]
) -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([0.0, -0.0, 0.1, 0.3, 0.29998, 0.30002, 0.4, 0.40002, 0.5, np.inf], (30, 2, 3))
    y = torch.as_tensor(np.where(np.isinf(values) & ~np.isinf(null_value), 1.0, values)).to(dtype)
    mean = torch.ones(y.shape, dtype=dtype)
    states = []
    for place in (torch.as_tensor, put):
        state = ForecastState(null_value=null_value, null_tolerance=tolerance)
        try:
            states.append(counts_of(state.update(place(y), place(mean))))
        except GraphgaugeError as error:
            states.append([str(error)])
    assert [np.asarray(each).tolist() for each in states[0]] == [np.asarray(each).tolist() for each in states[1]]


@pytest.mark.parametrize("form", MAIN)
def test_masks_of_everything(form: str, put: Callable[[Any], Any]) -> None:
    for seen in (False, True):
        given = made(form, (20, 2, 3))
        given["mask"] = np.full(given["y_true"].shape, seen)
        same(evaluate(**moved(given, put)), evaluate(**given))


@pytest.mark.parametrize("form", MAIN)
@pytest.mark.parametrize("axes", [("node", "time"), ("horizon", "node", "time"), ("time",)], ids="-".join)
def test_axes(axes: tuple[str, ...], form: str, put: Callable[[Any], Any]) -> None:
    given = made(form, (4, 7, 30)[-len(axes) :])
    same(evaluate(**moved(given, put), axes=axes), evaluate(**given, axes=axes))


@pytest.mark.parametrize("axes", ["thnc", "tcn", "cht"])
@pytest.mark.parametrize("form", MAIN)
def test_channels(form: str, axes: str, put: Callable[[Any], Any]) -> None:
    names = [{"t": "time", "h": "horizon", "n": "node", "c": "channel"}[letter] for letter in axes]
    given = made(form, tuple({"t": 20, "h": 3, "n": 4, "c": 2}[letter] for letter in axes))
    given["mask"] = np.random.default_rng(5).random(given["y_true"].shape) < 0.8
    for options in ({}, {"null_value": 0.0}, {"weights": [1.0, 3, 2, 2][: 4 if "n" in axes else 2]}):
        same(evaluate(**moved(given, put), axes=names, **options), evaluate(**given, axes=names, **options))
    given["y_true"].reshape(-1)[given["mask"].reshape(-1).nonzero()[0][-1]] = np.inf
    said = []
    for arrays in (given, moved(given, put)):
        with pytest.raises(InputError) as error:
            evaluate(**arrays, axes=names)
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("form", FORMS)
def test_batches_in_any_order_and_states_of_hosts(form: str, put: Callable[[Any], Any]) -> None:
    given = made(form, (40, 2, 3))
    given["y_true"][3, 1, 2] = given["y_true"][30, 0, 0] = given[FORMS[form][0]][35, 1, 1] = np.nan
    device, host = ForecastState(), ForecastState()
    for start, stop in ((13, 33), (0, 13), (33, 40)):
        part = {name: value[start:stop] if name in TENSORS else value for name, value in given.items()}
        device.update(**moved(part, put), start=start, nan="omit")
        host.update(**part, start=start, nan="omit")
    assert device.dropped == 3
    same_counts(device, host)
    same(device.evaluate(), host.evaluate())
    later = {name: value + 1 if name in TENSORS else value for name, value in made(form, (40, 2, 3)).items()}
    mixed = device.merge(ForecastState().update(**later, start=40))
    same(mixed.evaluate(), host.merge(ForecastState().update(**later, start=40)).evaluate())


FAULTS = [
    "NaN",
    "infinite",
    "-infinite",
    "NaN in the truth",
    "std 0",
    "std NaN",
    "shape",
    "empty",
    "mask of numbers",
    "too large",
]


@pytest.mark.parametrize("form", MAIN)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_reported_as_on_the_host_and_nothing_is_counted(
    fault: str, form: str, put: Callable[[Any], Any]
) -> None:
    good, given = made(form, (6, 2, 3)), made(form, (30, 2, 3))
    last = given[FORMS[form][-1]]
    if fault in ("NaN", "infinite", "-infinite"):
        last[22, 1, 1] = last[21, 1, 2] = {"NaN": np.nan, "infinite": np.inf, "-infinite": -np.inf}[fault]
        given["y_true"][28, 0, 0] = np.inf
    elif fault == "NaN in the truth":
        given["y_true"][25, 0, 1] = np.nan
    elif fault.startswith("std"):
        if "std" not in given:
            return
        given["std"][21, 0, 2] = {"std 0": 0, "std NaN": np.nan}[fault]
    elif fault == "shape":
        given[FORMS[form][-1]] = last[1:]
    elif fault == "empty":
        given = {name: value[:0] if name in TENSORS else value for name, value in given.items()}
    elif fault == "too large":
        given = {name: value.astype(float) if name in TENSORS else value for name, value in given.items()}
        given["y_true"][4, 1, 0] = 1e200
    else:
        given["mask"] = np.full(given["y_true"].shape, 2.0)
    said, states = [], []
    for place in (np.asarray, put):
        state = ForecastState().update(**moved(good, place))
        before = [np.array(each) for each in counts_of(state)]
        try:
            evaluated = evaluate(**moved(given, place))
            said.append([(key, result.n, str(result.value)) for key, result in evaluated.items()])
        except GraphgaugeError as error:
            said.append(str(error))
            with pytest.raises(GraphgaugeError):
                state.update(**moved(given, place))
            for mine, theirs in zip(counts_of(state), before, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        states.append(state)
    assert said[0] == said[1]
    assert isinstance(said[0], str) == (fault != "empty")
    same_counts(states[1].update(**moved(good, put)), states[0].update(**good))


# ----------------------------------------------------------------------- copies


def copied_bytes(given: Given, simulated: Any, work: Callable[[Given], Any]) -> list[int]:
    """How much is copied of the input, and of the same steps four times.

    These have the same distinct values and as many time blocks, so that all sums and counts are of the same size.
    """
    if "std" in given:  # a few, so that all of them are in all blocks
        given = given | {"std": np.random.default_rng(6).choice([0.5, 1.0, 2.0], given["std"].shape).astype(np.float32)}
    found = []
    for times in (1, 4):
        longer = {name: np.concatenate([value] * times) if name in TENSORS else value for name, value in given.items()}
        there = moved(longer, simulated.put)
        simulated.copied = 0
        work(there)
        found.append(simulated.copied)
    return found


# What is summed on the device; ece and ence are not.
THERE = {"point": None, "gaussian": ["mae", "r2", "mape", "nll", "crps", "coverage", "calibration_error", "sharpness"]}


@pytest.mark.parametrize("option", ["everything", "NaN omitted"])
@pytest.mark.parametrize("form", THERE)
def test_what_is_copied_does_not_grow_with_the_input(form: str, option: str, simulated: Any) -> None:
    given = with_option(made(form, (32, 3, 5)), option) | {"metrics": THERE[form]}
    once, four_times = copied_bytes(given, simulated, lambda there: evaluate(**there))
    assert 0 < four_times <= once


def test_only_a_small_part_is_copied(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_forecast, "_CELLS", 1 << 22)
    there = moved(made("gaussian", (40_000, 1, 3)), simulated.put)
    size = sum(value.nbytes for name, value in there.items() if name in TENSORS)
    evaluate(**there, metrics=THERE["gaussian"])
    assert simulated.largest < size / 8
    assert simulated.copied < size / 4


# ---------------------------------------------------------------- mixed inputs


@pytest.mark.parametrize("form", FORMS)
def test_arrays_on_the_host_beside_those_on_a_device(form: str, put: Callable[[Any], Any]) -> None:
    given = with_option(made(form, (30, 2, 3)), "mask")
    expected = evaluate(**given)
    ways = [np.asarray, torch.as_tensor, lambda values: values[::-1].copy()[::-1]]
    places = [("y_true", *FORMS[form]), FORMS[form], ("y_true", "mask"), (FORMS[form][-1],), ("mask",), TENSORS]
    for there, host in zip(places, ways * 2, strict=True):
        arrays = {name: host(value) if name in TENSORS else value for name, value in given.items()}
        same(evaluate(**arrays | moved({name: given[name] for name in there if name in given}, put)), expected)


@pytest.mark.parametrize("form", THERE)
def test_truths_and_masks_of_the_host_are_moved_to_forecasts_on_a_device(form: str, simulated: Any) -> None:
    def work(there: Given) -> None:
        there["mask"] = there["mask"].cpu().numpy()
        there["y_true"] = there["y_true"].cpu()
        simulated.copied = 0
        evaluate(**there, metrics=THERE[form])

    once, four_times = copied_bytes(with_option(made(form, (32, 3, 5)), "mask"), simulated, work)
    assert 0 < four_times <= once


@pytest.mark.parametrize("fault", ["sparse", "complex"])
def test_arrays_that_cannot_be_read_are_named(fault: str, put: Callable[[Any], Any]) -> None:
    given = with_option(made("point"), "mask")
    there = moved(given, put)
    odd = {"sparse": torch.as_tensor(given["mask"]).to_sparse(), "complex": torch.zeros(60, 3, 5) * 1j}[fault]
    with pytest.raises(InputError, match="mask"):
        evaluate(**there | {"mask": odd})


def test_whole_numbers_are_read_by_the_host(put: Callable[[Any], Any]) -> None:
    given = made("point")
    given["y_true"] = given["y_true"].astype(np.int64)
    same(evaluate(**moved(given, put)), evaluate(**given))


def test_weights_graphs_and_histories_may_be_on_the_device(put: Callable[[Any], Any]) -> None:
    given = made("samples")
    options = {"naive": np.random.default_rng(1).normal(size=(40, 5))}
    for more in (options, {"weights": np.arange(1.0, 6)}, {"graph": np.array([[0, 1], [1, 2], [3, 4]])}):
        there = moved(given, put) | {name: put(value) for name, value in more.items()}
        same(evaluate(**there), evaluate(**given, **more))


# ------------------------------------------------------------------- histories


@pytest.mark.parametrize("held", ["array", "list", "device"])
def test_a_history_is_compared_with_the_null_value_of_a_batch(held: str, put: Callable[[Any], Any]) -> None:
    history = np.random.default_rng(1).normal(size=(40, 5))
    history[7, 2] = 9
    naive = {"array": history, "list": history.tolist(), "device": put(history)}[held]
    given = made("point")
    state = ForecastState(naive=naive)
    assert b"torch" not in pickle.dumps(state)  # another process may have no device
    with pytest.raises(InputError, match="the history contains the null value 9"):
        state.update(**given, null_value=9.0)
    found = state.update(**moved(given, put), null_value=0.0).evaluate()
    assert found["mase"].value == pytest.approx(
        evaluate(**given, naive=history, null_value=0.0)["mase"].value, rel=CLOSE
    )


@pytest.mark.parametrize("truths", ["constant", "constant nodes", "nearly constant"])
@pytest.mark.parametrize("weights", [None, [1.0, 0.3, 2, 0, 5.7]])
@pytest.mark.parametrize("form", MAIN)
def test_truths_that_hardly_vary(
    form: str, weights: list[float] | None, truths: str, put: Callable[[Any], Any]
) -> None:
    given = made(form, dtype=np.float64, members=8)
    shape, rng = given["y_true"].shape, np.random.default_rng(4)
    given["y_true"] = {
        "constant": np.full(shape, 0.3),
        "constant nodes": np.where([0, 1, 1, 1, 1], np.array([0, 0.1, 7.1e3, 1 / 3, 1e-9]), given["y_true"]),
        "nearly constant": 1e6 + 1e-3 * given["y_true"],
    }[truths]
    if truths == "nearly constant":
        # Multiples of a power of two: the mean of members has no rounding that depends on their order.
        given |= {name: np.ldexp(np.ceil(1e3 * given[name]), -20) for name in FORMS[form]}
        given |= {name: given[name] + 1e6 for name in FORMS[form] if name != "std"}
    given |= {"mask": rng.random(shape) < 0.7, "metrics": ["mae", "r2"], "by": "node", "weights": weights}
    device, host = evaluate(**moved(given, put)), evaluate(**given)
    same(device, host)
    assert np.isnan(host["r2"].value) == (truths == "constant")


@pytest.mark.parametrize("shape", [(0, 2, 4, 2), (3, 0, 4, 2), (3, 2, 0, 2), (3, 2, 4, 0)])
@pytest.mark.parametrize("form", MAIN)
def test_channels_without_cells(form: str, shape: tuple[int, ...], put: Callable[[Any], Any]) -> None:
    for given in (made(form, shape[:3]), made(form, shape) | {"axes": ("time", "horizon", "node", "channel")}):
        found = evaluate(**given)
        same(evaluate(**moved(given, put)), found)
    assert np.isnan(found["mae"].value)


# ------------------------------------------------------------- plain functions

POINT_FUNCTIONS = ["mae", "rmse", "mape", "wape", "smape", "bias", "r2"]
GAUSSIAN_FUNCTIONS = ["nll", "crps", "ece", "ence", "calibration_error", "miscalibration_area", "interval_score"]
READINGS: dict[str, Given] = {
    "all cells": {},
    "mask": {"mask": np.random.default_rng(2).random((12, 3, 5)) < 0.7},
    "null value": {"null_value": 0.0},
    "NaN omitted": {"nan": "omit"},
}


@pytest.mark.parametrize("reading", READINGS)
def test_plain_functions(reading: str, put: Callable[[Any], Any]) -> None:
    options = READINGS[reading]
    every = {
        name: value for form in ("gaussian", "quantiles", "samples") for name, value in made(form, (12, 3, 5)).items()
    }
    if reading == "NaN omitted":
        every["y_true"][3, 1, 2] = np.nan
    there = moved(every, put)
    options_there = moved(options, put)

    def works(arrays: Given, options: Given) -> dict[str, Any]:
        y, mean, std, samples, quantiles = (
            arrays[name] for name in ("y_true", "y_pred", "std", "samples", "quantiles")
        )
        found = {name: getattr(forecasting, name)(y, mean, **options) for name in POINT_FUNCTIONS}
        found |= {
            f"{name} of Gaussians": getattr(forecasting, name)(y, mean, std, **options) for name in GAUSSIAN_FUNCTIONS
        }
        found |= forecasting.coverage(y, mean, std, 0.8, **options)
        for fair in (False, True):
            found[f"crps, fair {fair}"] = forecasting.crps(y, samples=samples, fair=fair, **options)
        found["crps of quantiles"] = forecasting.crps(y, quantiles=quantiles, levels=LEVELS, **options)
        found["pinball"] = forecasting.pinball(y, quantiles, LEVELS, **options)
        history = np.random.default_rng(1).normal(size=(40, 5))
        axes = ("time", "horizon", "node")
        return found | {"mase": forecasting.mase(y, mean, naive=history, axes=axes, **options)}

    found, expected = works(there, options_there), works(every, options)
    assert found == pytest.approx(expected, rel=CLOSE)
    turned = {name: value.transpose(0, 1) if name in TENSORS else value for name, value in there.items()}
    options_turned = {name: value.transpose(0, 1) if name == "mask" else value for name, value in options_there.items()}
    pooled = forecasting.crps(turned["y_true"], samples=turned["samples"], **options_turned)
    assert pooled == pytest.approx(expected["crps, fair False"], rel=CLOSE)


def test_plain_functions_copy_sums_only(simulated: Any) -> None:
    every = made("gaussian", (32, 3, 5))
    for functions, names in (
        (POINT_FUNCTIONS, ("y_true", "y_pred")),
        ([name for name in GAUSSIAN_FUNCTIONS if name not in ("ece", "ence")], ("y_true", "y_pred", "std")),
    ):
        for name in functions:
            once, four_times = copied_bytes(
                every,
                simulated,
                lambda given, name=name, names=names: getattr(forecasting, name)(
                    *(given[each] for each in names), null_value=0.0
                ),
            )
            assert 0 < four_times <= once, name


@pytest.mark.parametrize("fault", ["NaN", "shape", "one member", "levels"])
def test_what_plain_functions_refuse(fault: str, put: Callable[[Any], Any]) -> None:
    given = made("samples", (5, 2, 3), members=len(LEVELS))
    levels = LEVELS[::-1] if fault == "levels" else LEVELS
    if fault == "NaN":
        given["samples"][3, 1, 0] = np.nan
    elif fault == "shape":
        given["samples"] = given["samples"][:4]
    elif fault == "one member":
        given["samples"] = given["samples"][..., :1]
    said: list[list[str]] = []
    for place in (np.asarray, put):
        y, samples = place(given["y_true"]), place(given["samples"])
        said.append([])
        for work in (lambda: forecasting.crps(y, samples=samples), lambda: forecasting.pinball(y, samples, levels)):  # noqa: B023
            try:
                said[-1].append(str(work()))
            except GraphgaugeError as error:
                said[-1].append(str(error))
    assert said[0] == said[1]


# -------------------------------------------------------------------- compare


@pytest.mark.parametrize("loss", ["absolute", "squared", "crps", "nll", "pinball", "energy", "crps_fair"])
def test_compare(loss: str, put: Callable[[Any], Any]) -> None:
    form = {"nll": "gaussian", "crps": "gaussian", "pinball": "quantiles", "energy": "samples", "crps_fair": "samples"}
    given = made(form.get(loss, "point"), (60, 2, 3))
    y = given.pop("y_true")
    other = {name: value * 1.1 if name in TENSORS else value for name, value in given.items()}
    mask = np.random.default_rng(4).random(y.shape) < 0.8
    for options in ({}, {"mask": mask, "null_value": 0.0}, {} if loss == "energy" else {"weights": [1.0, 2.0, 4.0]}):
        there = forecasting.compare(put(y), moved(given, put), moved(other, put), loss=loss, **moved(options, put))
        expected = forecasting.compare(y, given, other, loss=loss, **options)
        assert (there.steps, there.df, there.loss) == (expected.steps, expected.df, expected.loss)
        assert there.difference == pytest.approx(expected.difference, rel=1e-6, abs=1e-12)
        assert there.p_value == pytest.approx(expected.p_value, rel=1e-4)
    one, two = moved(given, put), moved(other, put)
    gone = put(np.where(mask, y, np.nan).astype(y.dtype))
    by_horizon = forecasting.compare_by_horizon(gone, one, other | two, loss=loss, nan="omit")
    assert [*by_horizon] == [1, 2]
    name = next(name for name in given if name in TENSORS)
    two[name] = two[name].clone()
    two[name][3, 1, 1] = torch.nan
    with pytest.raises(InputError, match="missing different cells"):
        forecasting.compare(put(y), one, two, loss=loss, nan="omit")
    with pytest.raises(InputError, match="NaN, the first at index"):
        forecasting.compare(put(y), one, two, loss=loss)
