"""What cannot be evaluated is refused by name, count and place, or has no value for a reason that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.forecasting.conftest import Forecasts

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError, UnknownNameError

Y = np.arange(24.0).reshape(4, 2, 3)


def spoiled(array: np.ndarray, index: Any, value: float) -> np.ndarray:
    changed = array.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    ("arguments", "where", "what"),
    [
        ({"y_pred": Y[:3]}, "y_pred", "expected shape (4, 2, 3), found (3, 2, 3)"),
        ({"y_pred": Y[:, :1]}, "y_pred", "expected shape (4, 2, 3), found (4, 1, 3)"),
        ({"y_pred": 3.0}, "y_pred", "expected shape (4, 2, 3), found ()"),
        ({"y_pred": Y, "std": np.ones(3)}, "std", "expected shape (4, 2, 3), found (3,)"),
        ({"y_pred": Y, "mask": np.ones((4, 2), bool)}, "mask", "expected shape (4, 2, 3), found (4, 2)"),
        ({"y_pred": Y, "mask": np.full(Y.shape, 2)}, "mask", "has values other than 0 and 1"),
        ({"y_pred": spoiled(Y, (1, 0, 2), np.nan)}, "y_pred", "1 of 24 values are NaN, the first at index (1, 0, 2)"),
        (
            {"y_pred": spoiled(Y, (slice(2, 4), 1), np.inf)},
            "y_pred",
            "6 of 24 values are infinite, the first at index (2, 1, 0)",
        ),
        ({"y_pred": Y, "std": Y}, "std", "1 of 24 values are not above 0, the first at index (0, 0, 0)"),
        ({"y_pred": Y, "std": -Y - 1}, "std", "24 of 24 values are not above 0, the first at index (0, 0, 0)"),
        (
            {"y_pred": Y, "std": spoiled(Y + 1, (0, 0, 0), np.nan)},
            "std",
            "1 of 24 values are NaN, the first at index (0, 0, 0)",
        ),
        ({"y_pred": np.array(["a"])}, "y_pred", "expected numbers, found values of type <U1"),
        ({"y_pred": np.ma.masked_array(Y)}, "y_pred", "found a masked array"),
        ({"y_pred": None}, "y_pred", "not given"),
        ({"y_pred": Y * 1e200}, None, "errors too large, or too far apart, for sums of squares in float64"),
        (
            {"y_pred": Y, "std": Y + 1e200},
            None,
            "errors or standard deviations too large, or too far apart, for sums of squares in float64",
        ),
        ({"y_pred": Y, "std": np.full(Y.shape, 1e-200)}, "std", "values below 1e-150, whose squares underflow"),
        (
            {"y_pred": Y, "std": spoiled(Y + 1, (0, 0, 0), 1e-200)},
            "std",
            "values below 1e-150, whose squares underflow",
        ),
        ({"samples": Y[..., None]}, "samples", "1 members"),
        ({"samples": Y}, "samples", "expected shape (4, 2, 3, any), found (4, 2, 3)"),
        (
            {"quantiles": np.stack([Y, Y], -1), "levels": (0.1, 0.9)},
            "y_pred",
            "not given, and there is no quantile 0.5 to use instead",
        ),
        (
            {"quantiles": np.stack([Y, Y], -1), "levels": (0.1, 0.5, 0.9)},
            "quantiles",
            "expected shape (4, 2, 3, 3), found (4, 2, 3, 2)",
        ),
    ],
)
def test_bad_input(arguments: dict[str, Any], where: str | None, what: str) -> None:
    with pytest.raises(InputError) as caught:
        forecasting.evaluate(Y, **arguments)
    assert caught.value.where == where
    assert caught.value.what == what
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "options",
    [
        {"quantiles": np.stack([Y, Y], -1), "levels": (0.9, 0.5)},
        {"quantiles": np.stack([Y, Y], -1), "levels": (0.5, 0.5)},
        {"quantiles": np.stack([Y, Y], -1), "levels": (0.5, 1.0)},
        {"quantiles": np.stack([Y, Y], -1), "levels": (np.nan, 0.5)},
        {"quantiles": np.stack([Y, Y], -1)},
        {"levels": (0.5,)},
        {"axes": ("time", "node")},
        {"axes": ("horizon", "node", "node")},
        {"axes": ("time", "step", "node")},
        {"coverage": (0.5, 95)},
        {"coverage": "high"},
        {"bins": 0},
        {"bins": 2.5},
        {"nan": "ignore"},
        {"season": 3},
        {"season": 0, "naive": Y[:, 0]},
        {"metrics": ["maep"]},
        {"metrics": ["nll"]},
        {"metrics": ["coverage_high"]},
        {"confidence": 1.0},
    ],
    ids=str,
)
def test_bad_options(options: dict[str, Any]) -> None:
    wrong_dimensions = options.get("axes") == ("time", "node")
    with pytest.raises(InputError if wrong_dimensions else OptionError) as caught:
        forecasting.evaluate(Y, Y, **options)
    assert caught.value.exit_code == (3 if wrong_dimensions else 2)


@pytest.mark.parametrize("naive", [np.ones((4, 2)), np.ones(2), -np.ones(3), np.full((4, 3), np.nan), np.ones((1, 3))])
def test_bad_histories(naive: np.ndarray) -> None:
    with pytest.raises(InputError) as caught:
        forecasting.evaluate(Y, Y, naive=naive)
    assert caught.value.where == "naive"


def test_names_have_to_fit() -> None:
    with pytest.raises(InputError, match="nodes: 2 where 3 are expected"):
        forecasting.evaluate(Y, Y, nodes=["a", "b"])
    with pytest.raises(UnknownNameError):
        forecasting.evaluate(Y, Y)["nll"]
    with pytest.raises(InputError, match="std and samples are given"):
        forecasting.evaluate(Y, Y, std=Y + 1, samples=np.stack([Y, Y], -1))


def test_a_node_that_is_all_masked_has_no_value(forecasts: Forecasts) -> None:
    mask = np.ones(forecasts.y.shape, bool)
    mask[..., 2] = False
    found = forecasting.evaluate(**forecasts.arguments, mask=mask)
    table = found.by("node")
    assert table["n"].tolist() == [240, 240, 0, 240, 240]
    for key in found:
        if key in table.columns:
            assert np.isnan(table[key]).tolist() == [False, False, True, False, False], key
    assert "1 of 5 nodes have no observed cells, and so no value" in found.notes
    nothing = forecasting.evaluate(**forecasts.arguments, mask=np.zeros(forecasts.y.shape, bool))
    for key, result in nothing.items():
        assert not result.defined, key
        assert result.n == 0
        assert result.reason == "there are no observed cells: all are masked, or the arrays are empty"


def test_one_cell() -> None:
    found = forecasting.evaluate([2.0], [1.0], std=[0.5])
    assert found["mae"] == 1
    assert found["mae"].no_interval == "fewer than 8 time steps: too few to estimate how errors are correlated in time"
    assert found["r2"].reason == "the truth does not vary"


def test_nan_is_refused_over_several_slabs(forecasts: Forecasts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.forecasting.inputs.SLAB", 100)
    y = spoiled(forecasts.y, (59, 3, 4), np.nan)
    with pytest.raises(InputError, match=r"y_true: 1 of 1200 values are NaN, the first at index \(59, 3, 4\)"):
        forecasting.evaluate(y, forecasts.mean)
    turned = [array.transpose(2, 1, 0) for array in (y, forecasts.mean)]
    with pytest.raises(InputError, match=r"the first at index \(4, 3, 59\)"):
        forecasting.evaluate(*turned, axes=("node", "horizon", "time"))


def test_what_is_left_out_is_not_blamed() -> None:
    y, mean = spoiled(Y, (0, 0, 0), np.nan), spoiled(Y, (slice(0, 2), 0, 0), np.inf)
    with pytest.raises(InputError, match=r"y_pred: 1 of 24 values are infinite, the first at index \(1, 0, 0\)"):
        forecasting.evaluate(y, mean, nan="omit")


def test_integers_and_half_precision() -> None:
    y, forecast = np.array([250, 3], np.uint8), np.array([3, 250], np.uint8)
    assert forecasting.mae(y, forecast) == 247
    assert forecasting.mae(y, forecast.astype(np.float16)) == 247
    big = np.array([2**53 + 1])
    for y, name in ((big, "y_true"), ([1.0], "y_pred")):
        with pytest.raises(
            InputError, match=rf"{name}: .* does not compare exactly with floats\. Convert it to floats"
        ):
            forecasting.mae(y, big)


def test_plain_functions_refuse_other_shapes() -> None:
    with pytest.raises(InputError, match="y_pred: expected shape"):
        forecasting.mae(Y, Y[0])
    with pytest.raises(InputError, match="std: expected shape"):
        forecasting.nll(Y, Y, 1.0)
    with pytest.raises(OptionError, match="level must be between 0 and 1"):
        forecasting.coverage(Y, Y, Y + 1, level=95)
    assert forecasting.rmse(Y, Y + 2) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": (0.95, 0.95000001)}, "coverage are equal to six digits"),
        ({"null_value": "0"}, "null_value must be a number, not '0'"),
        ({"null_value": [0, 1]}, "null_value must be a number"),
        ({"null_value": True}, "null_value must be a number"),
        ({"axes": None}, "axes must be names"),
        ({"std": Y + 1, "bins": 2**60}, "bins must be a whole number from 1 to 1,000,000"),
        ({"quantiles": np.zeros((*Y.shape, 0)), "levels": ()}, "levels= is empty"),
        ({"quantiles": np.stack([Y, Y], -1), "levels": (0.1, 0.1000001)}, "levels are equal to six digits"),
        ({"coverage": "0.9"}, "coverage must be probabilities such as 0.1, 0.5, 0.9, not '0.9'"),
        ({"coverage": [0.5, "a"]}, "coverage must be probabilities"),
        ({"coverage": [[0.5], [0.1, 0.2]]}, "coverage must be probabilities"),
        ({"coverage": {"a": 1}}, "coverage must be probabilities"),
        ({"coverage": True}, "coverage must be probabilities"),
        ({"horizons": np.array([[1, 2]])}, r"horizons are steps ahead, 1 to 2, not \[1, 2\]"),
        ({"horizons": [[1], [1, 2]]}, r"horizons are steps ahead, 1 to 2, not \[1\]"),
        ({"by": 3}, "unknown axis '3'. Known: horizon, node"),
        ({"by": ["time"]}, "unknown axis 'time'. Known: horizon, node"),
        ({"metrics": ["nll"]}, "nll needs std="),
        ({"metrics": ["interval_score_80"]}, "interval_score_80 needs std= or samples= or quantiles= and levels="),
        ({"metrics": ["mase"]}, "mase needs naive="),
        ({"std": Y + 1, "metrics": ["crps_fair"]}, "crps_fair needs samples="),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        forecasting.evaluate(Y, Y + 1, **options)


def test_a_breakdown_needs_its_axis() -> None:
    with pytest.raises(OptionError, match="by='node' needs an axis node"):
        forecasting.evaluate(Y[:, 0, 0], Y[:, 0, 0], by="node")
    series = forecasting.evaluate(Y[:, :, 0], Y[:, :, 0], axes=("time", "horizon"), horizons=np.array(2))
    assert series.by("horizon")["horizon"].tolist() == [2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forecasting.nll([1.0], [1.0], None), "nll needs std="),
        (lambda: forecasting.ece([1.0], [1.0], None), "ece needs std="),
        (lambda: forecasting.calibration_error([1.0], [1.0], None), "calibration_error needs std="),
        (lambda: forecasting.coverage([1.0], [1.0], None), "coverage_95 needs std="),
        (lambda: forecasting.crps([1.0], [1.0]), "crps needs std= or samples="),
        (lambda: forecasting.crps([1.0], [1.0], [1.0], fair=True), "crps_fair needs samples="),
        (lambda: forecasting.mase([[1.0]], [[1.0]], None), "mase needs naive="),
    ],
)
def test_plain_functions_say_what_they_need(call: Callable[[], float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call()


def test_plain_functions_refuse_them_too() -> None:
    for level in ([0.5, 0.9], "0.9", None, True):
        with pytest.raises(OptionError, match="level must be one probability"):
            forecasting.coverage(Y, Y, Y + 1, level=level)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="levels= is empty"):
        forecasting.pinball([1.0], np.zeros((1, 0)), [])
    with pytest.raises(InputError, match="quantiles: expected shape"):
        forecasting.pinball([1.0, 2.0], [1.0, 2.0], [0.5])
    with pytest.raises(InputError, match="quantiles: expected shape"):
        forecasting.pinball(1.0, 1.0, [0.5])
    assert np.isnan(forecasting.pinball(np.zeros(0), np.zeros((0, 2)), [0.2, 0.8]))


@pytest.mark.parametrize("null", [-999.9, 0.1, 1e-5, -1.0, 0.0, np.nan])
@pytest.mark.parametrize("truth", [np.float16, np.float32, np.float64])
def test_null_values_are_compared_in_the_type_of_the_truth(null: float, truth: Any) -> None:
    """Whatever the type of the forecast, and however the null value is written."""
    rng = np.random.default_rng(51)
    y = rng.uniform(2, 3, (40, 2, 3)).astype(truth)
    holes = rng.random(y.shape) < 0.3
    y[holes] = null
    mean = rng.integers(0, 5, y.shape)
    expected = float(np.abs(mean[~holes] - y[~holes].astype(np.float64)).mean())
    for kind in (np.float16, np.float32, np.float64, np.int32):
        for written in (null, np.float64(null), truth(null)):
            found = forecasting.evaluate(y, mean.astype(kind), null_value=written, metrics=["mae"])["mae"]
            assert found.n == np.count_nonzero(~holes)
            assert found.value == pytest.approx(expected, rel=1e-12)
        assert forecasting.mae(y, mean.astype(kind), null_value=null) == pytest.approx(expected, rel=1e-12)


def test_null_values_of_tensors_and_whole_numbers() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(52)
    holes = rng.random((40, 2, 3)) < 0.3
    for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        y = torch.from_numpy(np.where(holes, -999.9, 1.0)).to(kind)
        found = forecasting.evaluate(y, torch.zeros(y.shape, dtype=torch.float64), null_value=-999.9)
        assert (found["mae"].value, found["mae"].n) == (1.0, np.count_nonzero(~holes))
        assert forecasting.mae(y, np.zeros(y.shape), null_value=-999.9) == 1
        assert found.conventions["null_value"] == "-999.9"
    y = np.where(holes, 7, (1 << 53) + 1).astype(np.int64)
    for kind, null, seen in ((np.int64, 7.0, ~holes), (np.int8, 1000, holes | True), (np.int64, 7.5, holes | True)):
        truth = np.where(holes, 7, 1).astype(kind)
        assert forecasting.evaluate(truth, np.zeros(y.shape), null_value=null)["mae"].n == np.count_nonzero(seen)
    # A number that the truth's type cannot hold is none of its values.
    large = np.full((9, 1, 1), np.float16(60_000))
    assert forecasting.evaluate(large, np.zeros(large.shape), null_value=1e6)["mae"].n == 9


def test_a_history_has_the_same_null_values() -> None:
    """Pairs of steps of which one was not observed say nothing of the naive forecast."""
    rng = np.random.default_rng(53)
    history = rng.uniform(1, 2, (200, 3)).astype(np.float32)
    history[rng.random(history.shape) < 0.1] = -999.9
    y, mean = rng.uniform(1, 2, (2, 30, 3))
    for season in (None, 7):
        lag = season or 1
        pairs = [
            [
                abs(float(history[t, k]) - float(history[t - lag, k]))
                for t in range(lag, 200)
                if history[t, k] > 0 and history[t - lag, k] > 0
            ]
            for k in range(3)
        ]
        expected = float((np.abs(y - mean) / [np.mean(each) for each in pairs]).mean())
        given: dict[str, Any] = {"axes": ("time", "node"), "naive": history, "season": season, "null_value": -999.9}
        assert forecasting.evaluate(y, mean, **given)["mase"].value == pytest.approx(expected, rel=1e-12)
        state = forecasting.ForecastState(**given).update(y, mean)
        assert state.evaluate()["mase"].value == pytest.approx(expected, rel=1e-12)
    assert forecasting.mase(y, mean, history, null_value=-999.9) != forecasting.mase(y, mean, np.abs(history))
    late = forecasting.ForecastState(axes=("time", "node"), naive=history)
    with pytest.raises(InputError, match=r"naive: the history contains the null value -999.9"):
        late.update(y, mean, null_value=-999.9)


def checks(evaluation: Any) -> set[str]:
    return {finding.check for finding in evaluation.findings}


def test_a_null_value_that_masks_nothing_is_said_to(forecasts: Forecasts) -> None:
    near = np.where(forecasts.y > 12, 1e-5, forecasts.y)  # zeros that went through a scaler
    assert checks(forecasting.evaluate(near, forecasts.mean, null_value=0)) >= {"unused-null-value", "almost-null"}
    found = checks(forecasting.evaluate(np.where(near < 1, 0, near), forecasts.mean, null_value=0))
    assert not {"unused-null-value", "almost-null"} & found
    assert "unused-null-value" not in checks(forecasting.evaluate(near, forecasts.mean))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tolerance_masks_what_is_almost_null(forecasts: Forecasts, dtype: str) -> None:
    rng = np.random.default_rng(4)
    missing = rng.random(forecasts.y.shape) < 0.2
    y, mean = forecasts.y.astype(dtype), forecasts.mean.astype(dtype)
    scaled = np.where(missing, rng.uniform(-5e-5, 5e-5, y.shape).astype(dtype), y)
    expected = np.abs(mean.astype(float) - y)[~missing].mean()
    options = {"null_value": 0, "null_tolerance": 1e-4}
    found = forecasting.evaluate(scaled, mean, **options)
    assert found["mae"].value == pytest.approx(expected, rel=1e-12)
    assert found["mae"].n == (~missing).sum()
    assert "almost-null" not in checks(found)
    assert found.conventions["null_value"] == "0 ± 0.0001"
    assert forecasting.mae(scaled, mean, **options) == found["mae"].value
    state = forecasting.ForecastState(**options)
    for start in (0, 30):
        state.update(scaled[start : start + 30], mean[start : start + 30], start=start)
    assert state.evaluate()["mae"].value == found["mae"].value
    assert forecasting.compare(scaled, mean, mean + 1, **options).difference < 0
    with pytest.raises(InputError, match=r"null_tolerance 0\.0 differs from 0\.0001"):
        state.update(scaled[:3], mean[:3], start=100, null_tolerance=0.0)
    with pytest.raises(OptionError, match="null_tolerance needs null_value"):
        forecasting.evaluate(y, mean, null_tolerance=1e-4)
    with pytest.raises(OptionError, match="null_tolerance must be a number of at least 0"):
        forecasting.evaluate(y, mean, null_value=0, null_tolerance=-1)


def test_forgotten_zeros_are_found(forecasts: Forecasts) -> None:
    rng = np.random.default_rng(5)
    broken = np.where(rng.random(forecasts.y.shape) < 0.05, 0, forecasts.y)
    assert "unmasked-zeros" in checks(forecasting.evaluate(broken, forecasts.mean))
    assert "unmasked-zeros" not in checks(forecasting.evaluate(broken, forecasts.mean, null_value=0))
    assert "unmasked-zeros" not in checks(forecasting.evaluate(broken, forecasts.mean, mask=broken != 0))
    # Counts and rain have zeros of their own.
    rate = np.full((300, 4, 5), 2.0)
    assert "unmasked-zeros" not in checks(forecasting.evaluate(rng.poisson(rate), rate))
    wet = rng.random(rate.shape) < 0.5
    rain = np.where(wet, rng.gamma(0.5, 4.0, rate.shape), 0.0)
    assert "unmasked-zeros" not in checks(forecasting.evaluate(rain, np.where(wet, 2.0, 0.1)))


def test_crossing_quantiles_are_scored_and_found(forecasts: Forecasts) -> None:
    levels = (0.1, 0.5, 0.9)
    shifts = np.array([-1.0, 0.0, 1.0])
    quantiles = forecasts.mean[..., None] + forecasts.std[..., None] * shifts
    crossed = quantiles.copy()
    crossed[::3] = crossed[::3, ..., ::-1]
    found = forecasting.evaluate(forecasts.y, quantiles=crossed, levels=levels, coverage=0.8)
    above = forecasts.y[..., None] - crossed
    loss = np.where(above > 0, np.array(levels) * above, (np.array(levels) - 1) * above)
    assert found["pinball"].value == pytest.approx(loss.mean(), rel=1e-12)
    inside = (crossed[..., 0] <= forecasts.y) & (forecasts.y <= crossed[..., 2])
    assert found["coverage_80"].value == inside.mean()
    (finding,) = [item for item in found.findings if item.check == "crossing-quantiles"]
    assert finding.evidence["share"] == pytest.approx(len(crossed[::3]) / len(crossed))
    assert "crossing-quantiles" not in checks(forecasting.evaluate(forecasts.y, quantiles=quantiles, levels=levels))


def test_distributions_are_refused_with_the_line_to_write() -> None:
    torch, stats = pytest.importorskip("torch"), pytest.importorskip("scipy.stats")
    y = np.zeros((9, 1, 2))
    for given in (torch.distributions.Laplace(torch.zeros(9, 1, 2), 1.0), stats.norm(y, 1)):
        calls: tuple[Callable[[], Any], ...] = (
            lambda: forecasting.evaluate(y, given),  # noqa: B023
            lambda: forecasting.crps(y, samples=given),  # noqa: B023
            lambda: forecasting.compare(y, y, given),  # noqa: B023
            lambda: forecasting.ForecastState().update(y, given),  # noqa: B023
        )
        for call in calls:
            with pytest.raises(InputError, match=r"is a distribution.*samples=d\.sample\(\(200,\)\)\.movedim\(0, -1\)"):
                call()
    draws = torch.distributions.Laplace(torch.zeros(9, 1, 2), 1.0).sample((200,)).movedim(0, -1)
    assert forecasting.evaluate(y, samples=draws)["crps"].n == 18
