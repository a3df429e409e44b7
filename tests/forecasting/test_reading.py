"""How arrays are read: axes, null values, NaN, types; and what is refused, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError, UnknownNameError

RNG = np.random.default_rng(0)
Y = RNG.normal(10, 2, (40, 3, 4))
MEAN = Y + RNG.normal(size=Y.shape)
STD = RNG.uniform(0.5, 2, Y.shape)


def values(found: Any) -> dict[str, float]:
    return {key: each.value for key, each in found.items()}


@pytest.mark.parametrize("text", ["node time horizon", "horizon node time", "time node horizon"])
def test_axes_in_any_order(text: str) -> None:
    axes = text.split()
    order = [("time", "horizon", "node").index(axis) for axis in axes]
    turned = [array.transpose(order) for array in (Y, MEAN, STD)]
    found = forecasting.evaluate(turned[0], turned[1], std=turned[2], axes=axes)
    assert values(found) == values(forecasting.evaluate(Y, MEAN, std=STD))


def test_one_and_two_axes() -> None:
    series = forecasting.evaluate(Y[:, 0, 0], MEAN[:, 0, 0])
    assert series.breakdowns == {}
    nodes = forecasting.evaluate(Y[:, 0], MEAN[:, 0], axes=("time", "node"))
    assert list(nodes.breakdowns) == ["node"]
    assert nodes["mae"].value == pytest.approx(np.abs(Y - MEAN)[:, 0].mean(), rel=1e-15)
    with pytest.raises(InputError, match=r'axes=\("time", "node"\)'):
        forecasting.evaluate(Y[:, 0], MEAN[:, 0])


@pytest.mark.parametrize("null", [0.0, -9999.0, np.nan, 0.1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_null_values_are_compared_in_the_type_of_the_truth(null: float, dtype: str) -> None:
    y = Y.astype(dtype)
    hidden = RNG.random(Y.shape) < 0.3
    y[hidden] = null
    found = forecasting.evaluate(y, MEAN, null_value=null)
    expected = np.abs(MEAN - y.astype(float))[~hidden].mean()
    assert found["mae"].n == (~hidden).sum()
    assert found["mae"].value == pytest.approx(expected, rel=1e-14)
    assert found.conventions["null_value"] == f"{null:g}"


def test_null_values_with_a_tolerance_and_in_integers() -> None:
    y = Y.copy()
    y[::2] = 1e-5
    assert forecasting.evaluate(y, MEAN, null_value=0, null_tolerance=1e-4)["mae"].n == y[1::2].size
    whole = Y.astype(int)
    assert forecasting.evaluate(whole, MEAN, null_value=10)["mae"].n == (whole != 10).sum()
    assert forecasting.evaluate(whole, MEAN, null_value=10.5)["mae"].n == whole.size


def test_nan_is_omitted_on_request_and_counted() -> None:
    mean, std = MEAN.copy(), STD.copy()
    mean[0, 0, 0], std[1, 2, 3] = np.nan, np.nan
    mask = RNG.random(Y.shape) < 0.9
    mask[0, 0, 0] = mask[1, 2, 3] = True
    found = forecasting.evaluate(Y, mean, std=std, nan="omit", mask=mask)
    mask[0, 0, 0] = mask[1, 2, 3] = False
    expected = forecasting.evaluate(Y, MEAN, std=STD, mask=mask)
    assert values(found) == values(expected)
    assert found["mae"].warnings == ("2 cells with NaN are left out",)
    assert not expected["mae"].warnings


def test_what_is_masked_may_be_anything() -> None:
    mask = np.ones(Y.shape, bool)
    mask[3] = False
    y, mean, std = Y.copy(), MEAN.copy(), STD.copy()
    y[3], mean[3], std[3] = np.nan, np.inf, -1
    assert values(forecasting.evaluate(y, mean, std=std, mask=mask, metrics="all")) == pytest.approx(
        values(forecasting.evaluate(Y, MEAN, std=STD, mask=mask, metrics="all")), rel=1e-13
    )


def test_an_evaluation_without_cells_has_reasons() -> None:
    found = forecasting.evaluate(Y, MEAN, std=STD, mask=np.zeros(Y.shape, bool))
    for each in found.values():
        assert not each.defined
        assert each.reason == "no cell counts"
    assert str(found)


def spoiled(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed[2, 1, 3] = value
    return changed


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"y_pred": MEAN[:3]}, InputError, r"y_pred: has shape \(3, 3, 4\), not \(40, 3, 4\)"),
    ({"y_pred": spoiled(MEAN, np.nan)}, InputError, r"y_pred: 1 of 480 values are NaN, the first at index \(2, 1, 3\)"),
    ({"y_pred": spoiled(MEAN, np.inf)}, InputError, r"y_pred: 1 of 480 values are infinite, the first at index"),
    ({"std": spoiled(STD, 0)}, InputError, r"std: 1 of 480 values are not above 0, the first at index \(2, 1, 3\)"),
    ({"y_pred": None}, InputError, "y_pred: not given, but std is"),
    ({"quantiles": MEAN[..., None], "levels": [0.5]}, InputError, "std and quantiles are given"),
    ({"std": None, "quantiles": MEAN[..., None]}, OptionError, "quantiles= and levels= go together"),
    ({"std": None, "quantiles": MEAN[..., None], "levels": [0.1, 0.9]}, InputError, "for 2 levels"),
    ({"std": None, "quantiles": MEAN, "levels": [0.1]}, InputError, "one more axis"),
    ({"std": None, "samples": MEAN[..., None]}, InputError, "samples: a single member"),
    ({"levels": [0.9, 0.1]}, OptionError, "rising probabilities"),
    ({"mask": Y}, InputError, "mask: has values other than 0 and 1"),
    ({"mask": np.ones((40, 3), bool)}, InputError, "mask: has shape"),
    ({"axes": ("time", "place", "node")}, OptionError, "axes are"),
    ({"axes": "time"}, OptionError, "axes are"),
    ({"nan": "drop"}, UnknownNameError, "raise, omit"),
    ({"null_value": "0"}, OptionError, "null_value must be a number"),
    ({"null_tolerance": 0.5}, OptionError, "null_tolerance= needs null_value="),
    ({"null_value": 0, "null_tolerance": -1}, OptionError, "null_tolerance must be a number of at least 0"),
    ({"weights": [1, 2]}, InputError, r"weights: have shape \(2,\), for 4 nodes"),
    ({"weights": [0, 0, 0, -1]}, InputError, "weights: are not finite, below 0"),
    ({"weights": "cos"}, OptionError, "np.cos"),
    ({"history": Y[:, 0, :2]}, InputError, r"history: has shape \(40, 2\), for 4 nodes"),
    ({"history": Y[:3, 0], "season": 7}, InputError, "3 steps, for a season of 7"),
    ({"season": 7}, OptionError, "season= needs history="),
    ({"graph": [[0, 1]]}, OptionError, "graph= needs samples="),
    ({"coverage": 95}, OptionError, "coverage must be between 0 and 1"),
    ({"metrics": ["coverage_200"]}, OptionError, "coverage must be between 0 and 1, not 2"),
    ({"metrics": ["pinball"]}, OptionError, "pinball needs quantiles"),
    ({"metrics": ["mase"]}, OptionError, "mase needs scaled"),
    ({"bins": 0}, OptionError, "bins must be a whole number"),
    ({"confidence": 95}, OptionError, "confidence must be between"),
    ({"scores": {"a b": Y}}, OptionError, "scores has the name"),
    ({"scores": {"mae": Y}}, OptionError, "scores has 'mae', which is computed, too"),
    ({"scores": {"own": Y[:2]}}, InputError, r"scores\['own'\]: has shape"),
]


@pytest.mark.parametrize(("change", "error", "words"), WRONG, ids=[str(list(change))[1:-1] for change, *_ in WRONG])
def test_refusals(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        forecasting.evaluate(**{"y_true": Y, "y_pred": MEAN, "std": STD, **change})


def test_a_distribution_is_refused_with_the_lines_to_write() -> None:
    torch = pytest.importorskip("torch")
    gamma = torch.distributions.Gamma(torch.ones(5), torch.ones(5))
    with pytest.raises(InputError, match=r"samples=d.sample\(\(200,\)\).movedim\(0, -1\).*-d.log_prob\(y\)"):
        forecasting.evaluate(np.ones(5), gamma)


def test_quantiles_without_a_median_have_no_point() -> None:
    quantiles = np.stack([MEAN - 1, MEAN + 1], axis=-1)
    found = forecasting.evaluate(Y, quantiles=quantiles, levels=(0.1, 0.9), metrics="all")
    assert {"pinball", "pinball_10", "coverage_80", "interval_score_80", "wql"} <= set(found)
    assert "2 levels are too few for a CRPS" in found.skipped["crps"]
    for levels in ((0.1, 0.9), np.arange(11, 20) / 20):
        with pytest.raises(InputError, match=r"levels are too few for a CRPS: pinball and wql are of these levels"):
            forecasting.crps(Y, quantiles=np.stack([MEAN] * len(levels), axis=-1), levels=levels)
    assert {"mae", "rmse", "r2"}.isdisjoint(found)
    with pytest.raises(OptionError, match="mae needs errors"):
        forecasting.evaluate(Y, quantiles=quantiles, levels=(0.1, 0.9), metrics=["mae"])


def test_losses_alone() -> None:
    found = forecasting.evaluate(Y, scores={"brier_12": (Y > 12).astype(float)})
    assert list(found) == ["brier_12"]
    assert found["brier_12"].value == (Y > 12).mean()
    assert found["brier_12"].interval is not None


def test_the_headlines_are_few() -> None:
    assert list(forecasting.evaluate(Y, MEAN)) == ["mae", "rmse", "mape"]
    assert list(forecasting.evaluate(Y, MEAN, std=STD)) == ["mae", "rmse", "mape", "nll", "crps", "coverage_95", "ece"]
    named = forecasting.evaluate(Y, MEAN, std=STD, metrics=["coverage_90", "mae"])
    assert list(named) == ["coverage_90", "mae"]
    several = forecasting.evaluate(Y, MEAN, std=STD, coverage=(0.5, 0.8), metrics=["width"])
    assert list(several) == ["width_50", "width_80"]


def test_tensors_and_ints() -> None:
    torch = pytest.importorskip("torch")
    expected = values(forecasting.evaluate(Y, MEAN, std=STD))
    assert values(forecasting.evaluate(torch.tensor(Y), torch.tensor(MEAN), std=torch.tensor(STD))) == expected
    whole = np.arange(24).reshape(4, 2, 3)
    assert forecasting.evaluate(whole, whole + 2)["mae"].value == 2
    with pytest.raises(InputError, match="integers beyond"):
        forecasting.evaluate(whole + 2**60, whole)
