"""Every metric against its definition written out in NumPy, whole and broken down, with masks and other axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.forecasting.conftest import Forecasts, calibrated

from graphgauge import forecasting
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.forecasting import ForecastState, evaluate
from graphgauge.forecasting.measures import ALL
from graphgauge.kernels.forecast import FLOATS, SUMS
from graphgauge.old.core.result import Evaluation

Array = np.ndarray


def written_out(y: Array, mean: Array, std: Array) -> dict[str, float]:
    error, z = mean - y, (y - mean) / std
    half = norm.ppf(0.975)
    low, high = mean - half * std, mean + half * std
    share = np.array([(norm.cdf(z) <= p).mean() for p in np.arange(1, 100) / 100])
    central = np.array([(np.abs(norm.cdf(z) - 0.5) <= p / 2).mean() for p in np.arange(1, 50) / 50])
    return {
        "mae": np.abs(error).mean(),
        "rmse": np.sqrt((error**2).mean()),
        "mape": (np.abs(error) / np.abs(y))[y != 0].mean(),
        "wape": np.abs(error).sum() / np.abs(y).sum(),
        "smape": (2 * np.abs(error) / (np.abs(y) + np.abs(mean))).mean(),
        "bias": error.mean(),
        "r2": 1 - (error**2).sum() / ((y - y.mean()) ** 2).sum(),
        "nll": -norm.logpdf(y, mean, std).mean(),
        "crps": (std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))).mean(),
        "sharpness": np.sqrt((std**2).mean()),
        "coverage_95": ((low <= y) & (y <= high)).mean(),
        "width_95": (high - low).mean(),
        "interval_score_95": (high - low + 40 * (np.maximum(low - y, 0) + np.maximum(y - high, 0))).mean(),
        "calibration_error": np.abs(share - np.arange(1, 100) / 100).mean(),
        "central_calibration_error": np.abs(central - np.arange(1, 50) / 50).mean(),
    }


def test_every_metric_of_a_gaussian(forecasts: Forecasts) -> None:
    found = forecasting.evaluate(**forecasts.arguments)
    for key, value in written_out(forecasts.y, forecasts.mean, forecasts.std).items():
        assert found[key].value == pytest.approx(value, rel=1e-12), key


def test_by_node_and_by_horizon(forecasts: Forecasts) -> None:
    found = forecasting.evaluate(**forecasts.arguments)
    for axis, place in (("horizon", 1), ("node", 2)):
        table = found.by(axis)
        assert len(table) == forecasts.y.shape[place]
        for row in range(len(table)):
            part = [np.take(array, row, axis=place) for array in (forecasts.y, forecasts.mean, forecasts.std)]
            for key, value in written_out(*part).items():
                assert table[key][row] == pytest.approx(value, rel=1e-12), (axis, row, key)
            assert table["n"][row] == part[0].size
    assert found.by("horizon")["horizon"].tolist() == [1, 2, 3, 4]
    flat = found.to_flat()
    assert flat["mae_per_node"] == found["mae"].by("node")["value"].tolist()
    assert len(flat["rmse_per_node"]) == 5
    assert flat["ece_per_horizon"][0] == pytest.approx(
        forecasting.ece(*(array[:, 0] for array in (forecasts.y, forecasts.mean, forecasts.std))), rel=1e-12
    )


def test_masked_cells_may_be_anything(forecasts: Forecasts) -> None:
    mask = np.random.default_rng(0).random(forecasts.y.shape) < 0.6
    spoiled = {name: np.where(mask, array, np.nan) for name, array in forecasts.arguments.items()}
    found = forecasting.evaluate(**spoiled, mask=mask)
    for key, value in written_out(forecasts.y[mask], forecasts.mean[mask], forecasts.std[mask]).items():
        assert found[key].value == pytest.approx(value, rel=1e-12), key
    assert found["mae"].n == mask.sum()
    assert f"{(~mask).sum()} of 1,200 cells are masked" in found.notes
    omitted = forecasting.evaluate(**spoiled, nan="omit")
    assert omitted["crps"] == found["crps"]
    assert f"{(~mask).sum()} cells with NaN were left out" in omitted.notes


@pytest.mark.parametrize("null_value", [0, np.nan])
def test_null_values_make_the_mask(forecasts: Forecasts, null_value: float) -> None:
    observed = np.random.default_rng(1).random(forecasts.y.shape) < 0.6
    truth = np.where(observed, forecasts.y, null_value)
    found = forecasting.evaluate(truth, forecasts.mean, null_value=null_value)
    assert found["mae"] == forecasting.mae(forecasts.y, forecasts.mean, mask=observed)
    assert found.conventions["null_value"] == f"{null_value:g}"


def test_horizons_are_rows_of_the_breakdown(forecasts: Forecasts) -> None:
    every, some = (forecasting.evaluate(forecasts.y, forecasts.mean, horizons=h) for h in (None, (2, 4)))
    assert some.by("horizon")["horizon"].tolist() == [2, 4]
    assert some["mae"].by("horizon")["value"].tolist() == every["mae"].by("horizon")["value"][[1, 3]].tolist()
    assert some["mae"] == every["mae"]
    assert "values over all cells are over all 4 horizons" in some.notes
    for wrong in ((5,), (0,), (True,), (1, 1)):
        with pytest.raises(OptionError):
            forecasting.evaluate(forecasts.y, forecasts.mean, horizons=wrong)


def test_axes_in_any_order(forecasts: Forecasts) -> None:
    expected = forecasting.evaluate(**forecasts.arguments, nodes=list("abcde"))
    turned = {name: array.transpose(2, 0, 1) for name, array in forecasts.arguments.items()}
    found = forecasting.evaluate(**turned, axes=("node", "time", "horizon"), nodes=list("abcde"))
    assert found.to_flat() == expected.to_flat()
    assert found.by("node")["node"].tolist() == list("abcde")
    assert tuple(found["rmse"].ci) == tuple(expected["rmse"].ci)


def test_fewer_axes(forecasts: Forecasts) -> None:
    series = forecasting.evaluate(forecasts.y[:, 0, 0], forecasts.mean[:, 0, 0])
    assert series.breakdowns == {}
    assert series["mae"].n == 60
    nodes = forecasting.evaluate(forecasts.y[:, 0], forecasts.mean[:, 0], axes=("time", "node"))
    assert list(nodes.breakdowns) == ["node"]
    assert list(forecasting.evaluate(forecasts.y, forecasts.mean, by="horizon").breakdowns) == ["horizon"]
    with pytest.raises(UnknownNameError):
        forecasting.evaluate(forecasts.y, forecasts.mean, by=("sensor",))


def test_zero_truths_are_left_out_of_mape_and_counted() -> None:
    found = forecasting.evaluate([0.0, 2.0, 4.0], [1.0, 1.0, 4.0], metrics=["mape", "smape", "wape"])
    assert found["mape"] == 0.25
    assert found["mape"].n == 2
    assert found["mape"].warnings == ("1 cells whose truth is 0 are left out of mape",)
    assert found["smape"].value == pytest.approx((2 + 2 / 3) / 3)
    assert forecasting.smape([0.0], [0.0]) == 0
    nothing = forecasting.evaluate([0.0, 0.0], [1.0, 1.0])
    assert nothing["mape"].reason == nothing["wape"].reason == "every truth is 0"
    assert nothing["mape"].n == 0


def test_mase_divides_each_node_by_its_own_history() -> None:
    history = np.array([[0.0, 5, 1], [2, 5, 2], [0, 5, 4], [4, 5, 8]])
    y, forecast = np.zeros((2, 3)), np.array([[1.0, 1, 1], [3, 1, 2]])
    found = forecasting.evaluate(y, forecast, axes=("time", "node"), naive=history)
    scale = np.abs(np.diff(history, axis=0)).mean(axis=0)
    assert found["mase"].value == pytest.approx((4 / scale[0] + 3 / scale[2]) / 4)
    np.testing.assert_allclose(found["mase"].by("node")["value"], [2 / scale[0], np.nan, 1.5 / scale[2]])
    assert found["mase"].warnings == ("2 cells of nodes whose history is constant are left out of mase",)
    seasonal = forecasting.mase(y, forecast, history, season=2)
    lagged = np.abs(history[2:] - history[:-2]).mean(axis=0)
    assert seasonal == pytest.approx((4 / lagged[0] + 3 / lagged[2]) / 4)
    assert forecasting.mase(y, forecast, lagged) == seasonal
    constant = forecasting.evaluate(y, forecast, axes=("time", "node"), naive=np.ones((4, 3)))
    assert "constant" in constant["mase"].reason


def test_r2_of_a_truth_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=500)
    y = 1e9 + noise
    assert forecasting.r2(y, np.full(500, y.mean())) == pytest.approx(0, abs=1e-7)
    assert forecasting.r2(y, 1e9 + noise / 2) == pytest.approx(
        1 - np.sum((y - (1e9 + noise / 2)) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-9
    )
    # What rounding leaves of some constants is above 0.
    for constant, n in ((0.1, 20), (-0.0026248376130266213, 3), (245015848.1727032, 3)):
        flat = forecasting.evaluate(np.full(n, constant), rng.normal(size=n))
        assert flat["r2"].reason == "the truth does not vary"


def test_quantiles() -> None:
    rng = np.random.default_rng(2)
    y, mean = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    levels = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    quantiles = mean[..., None] + norm.ppf(levels)
    above = y[..., None] - quantiles
    loss = np.where(above >= 0, levels * above, (levels - 1) * above)
    found = forecasting.evaluate(
        y, quantiles=quantiles, levels=levels, axes=("time", "node"), coverage=(0.5, 0.8, 0.9, 0.95)
    )
    assert found["pinball"].value == pytest.approx(loss.mean())
    assert found["pinball"].value == pytest.approx(forecasting.pinball(y, quantiles, levels))
    edges = np.r_[0, (levels[1:] + levels[:-1]) / 2, 1]
    assert found["crps"].value == pytest.approx((2 * loss * np.diff(edges)).sum(-1).mean())
    inside = (quantiles[..., 1] <= y) & (y <= quantiles[..., 5])
    assert found["coverage_80"].value == pytest.approx(inside.mean())
    width = quantiles[..., 5] - quantiles[..., 1]
    beyond = np.maximum(quantiles[..., 1] - y, 0) + np.maximum(y - quantiles[..., 5], 0)
    assert found["width_80"].value == pytest.approx(width.mean())
    assert found["interval_score_80"].value == pytest.approx((width + 10 * beyond).mean())
    share = (y[..., None] <= quantiles).mean(axis=(0, 1))
    assert found["calibration_error"].value == pytest.approx(np.abs(share - levels).mean())
    assert found["mae"].value == pytest.approx(np.abs(y - quantiles[..., 3]).mean())
    assert found.conventions["errors of"] == "the median"
    assert found.skipped["coverage_95"] == "needs the quantiles 0.025 and 0.975"
    with pytest.raises(OptionError, match="coverage_95 needs the quantiles"):
        forecasting.evaluate(
            y, mean, quantiles=quantiles, levels=levels, axes=("time", "node"), metrics=["coverage_95"]
        )


def test_many_quantiles_come_near_the_closed_form() -> None:
    forecasts = calibrated(4, 400)
    levels = (np.arange(200) + 0.5) / 200
    quantiles = forecasts.mean[:, None] + forecasts.std[:, None] * norm.ppf(levels)
    found = forecasting.crps(forecasts.y, quantiles=quantiles, levels=levels, mean=forecasts.mean)
    assert found == pytest.approx(forecasting.crps(forecasts.y, forecasts.mean, forecasts.std), rel=2e-3)


def test_samples() -> None:
    rng = np.random.default_rng(5)
    y, members = rng.normal(size=(40, 2)), rng.normal(size=(40, 2, 19))
    found = forecasting.evaluate(y, samples=members, axes=("time", "node"), coverage=(0.5, 0.9, 0.95))
    away = np.abs(members - y[..., None]).mean(-1)
    pairs = np.abs(members[..., :, None] - members[..., None, :]).sum((-1, -2))
    assert found["crps"].value == pytest.approx((away - pairs / (2 * 19**2)).mean())
    assert found["crps_fair"].value == pytest.approx((away - pairs / (2 * 19 * 18)).mean())
    assert found["crps"].value == pytest.approx(forecasting.crps(y, samples=members))
    ordered = np.sort(members, axis=-1)
    inside = (ordered[..., 0] <= y) & (y <= ordered[..., 18])  # places .05·20 and .95·20
    assert found["coverage_90"].value == pytest.approx(inside.mean())
    assert found["width_90"].value == pytest.approx((ordered[..., 18] - ordered[..., 0]).mean())
    assert found.skipped["coverage_95"] == "needs at least 39 members"
    assert found["mae"].value == pytest.approx(np.abs(y - members.mean(-1)).mean())
    rank = (members < y[..., None]).sum(-1)
    share = np.array([np.clip(p * 20 - rank, 0, 1).mean() for p in np.arange(1, 100) / 100])
    assert found["calibration_error"].value == pytest.approx(np.abs(share - np.arange(1, 100) / 100).mean())
    shuffled = forecasting.evaluate(
        y, samples=rng.permuted(members, axis=-1), axes=("time", "node"), coverage=(0.5, 0.9)
    )
    assert shuffled["crps"] == found["crps"]
    assert shuffled["mae"] == found["mae"]


def test_ties_with_members_spread_over_their_places() -> None:
    found = forecasting.evaluate([1.0], samples=[[1.0, 1.0, 1.0]], metrics=["calibration_error"])
    assert found["calibration_error"].value == pytest.approx(0, abs=1e-15)


def test_members_cover_what_they_say() -> None:
    """With places p·(m + 1) an exchangeable truth is inside with the level's probability, also for few members."""
    rng = np.random.default_rng(6)
    draws = rng.normal(size=(40_000, 20))
    found = forecasting.evaluate(draws[:, 0], samples=draws[:, 1:], coverage=(0.5, 0.8, 0.9))
    for level in (50, 80, 90):
        assert abs(found[f"coverage_{level}"].value - level / 100) < 4 * np.sqrt(0.25 / 40_000)


def test_pooled_is_not_a_mean_of_batch_means(forecasts: Forecasts) -> None:
    mask = np.zeros(forecasts.y.shape, bool)
    mask[:30], mask[30:, 0, 0] = True, True
    batches = [slice(0, 30), slice(30, 60)]
    pooled = forecasting.rmse(forecasts.y, forecasts.mean, mask=mask)
    means = [forecasting.rmse(forecasts.y[b], forecasts.mean[b], mask=mask[b]) for b in batches]
    assert pooled == pytest.approx(np.sqrt(((forecasts.y - forecasts.mean)[mask] ** 2).mean()))
    assert abs(pooled - np.mean(means)) > 1e-3


def test_coverage_function() -> None:
    found = forecasting.coverage(np.zeros(4), np.array([0.0, 1, 2, 3]), np.ones(4), level=0.9)
    half = norm.ppf(0.95)
    assert found == {"coverage": 0.5, "nominal_level": 0.9, "difference": -0.4, "width": pytest.approx(2 * half)}


def test_any_level_can_be_named(forecasts: Forecasts) -> None:
    found = forecasting.evaluate(**forecasts.arguments, metrics=["coverage_97.5", "coverage"])
    assert list(found) == ["coverage_97.5", "coverage_50", "coverage_80", "coverage_95"]
    assert found["coverage_97.5"].target == 0.975
    assert found["coverage_97.5"].params == {"level": 97.5}


def test_smape_of_forecasts_with_the_wrong_sign_is_two() -> None:
    assert forecasting.smape([1.0, -2.0, 0.0], [-1.0, 3.0, 4.0]) == 2.0


def test_intervals_hold_their_ends() -> None:
    """A truth that is one of the quantiles lies within."""
    y = np.array([0.0, 1.0, 2.0, 3.0])
    ends = np.stack([np.full(4, 1.0), np.full(4, 1.5), np.full(4, 2.0)], axis=-1)
    found = forecasting.evaluate(y, quantiles=ends, levels=(0.1, 0.5, 0.9), coverage=0.8)
    assert found["coverage_80"].value == 0.5


def test_a_mask_and_a_null_value_both_count() -> None:
    y, mean = np.array([0.0, 1.0, 2.0, 4.0]), np.zeros(4)
    found = forecasting.evaluate(y, mean, mask=np.array([True, True, False, True]), null_value=0)
    assert (found["mae"].value, found["mae"].n) == (2.5, 2)


def test_what_is_masked_is_not_counted_as_left_out() -> None:
    y, mean = np.array([np.nan, 1.0, np.nan, 4.0]), np.zeros(4)
    found = forecasting.evaluate(y, mean, mask=np.array([False, True, True, True]), nan="omit")
    assert (found["mae"].value, found["mae"].n) == (2.5, 2)
    assert found.notes == ("1 cells with NaN were left out", "1 of 4 cells are masked")


def test_a_cell_with_one_member_missing_is_left_out() -> None:
    samples = np.array([[0.0, 1.0, 2.0], [3.0, np.nan, 5.0], [1.0, 2.0, 3.0]])
    found = forecasting.evaluate([1.0, 4.0, 4.0], samples=samples, nan="omit")
    assert (found["mae"].value, found["mae"].n) == (1.0, 2)


def levels_of(found: Evaluation) -> dict[tuple[str, str], float]:
    return {(key, item.name): item.value for key, result in found.items() for item in result.chance}


def test_chance_is_what_the_baseline_scores(forecasts: Forecasts) -> None:
    y, zero = forecasts.y, np.zeros(forecasts.y.shape)
    chance = levels_of(forecasting.evaluate(**forecasts.arguments, naive=np.arange(10.0).reshape(2, 5)))
    never, mean = forecasting.evaluate(y, zero), forecasting.evaluate(y, np.full(y.shape, y.mean()))
    for key in ("mae", "rmse", "mape", "wape", "smape", "bias"):
        assert chance[key, "zero forecast"] == pytest.approx(never[key].value, rel=1e-12), key
    assert chance["crps", "zero forecast"] == pytest.approx(never["mae"].value, rel=1e-12)
    assert chance["rmse", "mean of the truth"] == pytest.approx(mean["rmse"].value, rel=1e-12)
    assert chance["r2", "mean of the truth"] == pytest.approx(mean["r2"].value, abs=1e-12)
    assert chance["mase", "naive forecast in the history"] == 1
    one = forecasting.nll(y, np.full(y.shape, y.mean()), np.full(y.shape, y.std()))
    assert chance["nll", "one Gaussian with the truth's moments"] == pytest.approx(one, rel=1e-12)
    assert chance["coverage_80", "perfect forecaster"] == 0.8


def test_chance_of_quantiles_is_that_of_quantiles_at_zero() -> None:
    y, levels = np.random.default_rng(7).normal(0.4, 1, 60), (0.1, 0.5, 0.6, 0.9)
    nothing = np.zeros((60, 4))
    found = forecasting.evaluate(y, quantiles=nothing, levels=levels, coverage=0.8)
    chance = levels_of(found)
    for key in ("pinball", "interval_score_80"):
        assert chance[key, "zero forecast"] == pytest.approx(found[key].value, rel=1e-12), key


def test_a_sum_that_was_not_counted_is_not_read_as_zero() -> None:
    y = np.arange(1.0, 25.0).reshape(6, 2, 2)
    state = ForecastState().update(y, y + 1)
    assert state.layout is not None
    for name, part in SUMS.items():
        if part == "errors":
            continue
        without = replace(state.layout, form="gaussian", counted=tuple(other for other in ALL if other != part))
        with pytest.raises(LookupError, match=f"the metric needs '{part}'"):
            without.column(name)
        assert replace(without, counted=ALL).column(name) == FLOATS.index(name)


@pytest.mark.parametrize("form", ["point", "gaussian", "quantiles", "samples"])
def test_a_metric_alone_has_the_value_that_it_has_among_all(form: str) -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(5, 1, (30, 2, 3))
    given: dict[str, Any] = {
        "point": {"y_pred": y + rng.normal(size=y.shape)},
        "gaussian": {"y_pred": y + rng.normal(size=y.shape), "std": rng.uniform(0.5, 2, y.shape)},
        "quantiles": {"quantiles": y[..., np.newaxis] + [-1.0, 0.2, 1.5], "levels": [0.1, 0.5, 0.9]},
        "samples": {"samples": y[..., np.newaxis] + rng.normal(size=(*y.shape, 39))},
    }[form]
    naive = rng.normal(size=(20, 3))
    everything = evaluate(y, **given, naive=naive)
    for key, result in everything.items():
        assert evaluate(y, **given, naive=naive, metrics=[key])[key].value == result.value, key
