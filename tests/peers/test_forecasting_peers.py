"""Agreement with other libraries, and the table of the cases in which they differ.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/forecasting.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import assert_current, cases, peer, versions

from graphgauge import forecasting
from graphgauge.core.errors import InputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TABLE = Path(__file__).parents[2] / "docs" / "agreement" / "forecasting.md"
SHOWN = ("scoringrules", "properscoring", "uncertainty-toolbox", "scikit-learn", "torchmetrics", "torch", "numpy")
CLOSE: dict[str, Any] = {"rel": 1e-12, "abs": 1e-13}


def scoringrules() -> Any:
    return peer("scoringrules")


def properscoring() -> Any:
    return peer("properscoring")


def toolbox() -> Any:
    return peer("uncertainty_toolbox")


def sklearn() -> Any:
    return peer("sklearn.metrics")


def torchmetric(name: str, truth: Any, forecast: Any, **options: Any) -> float:
    tensor = peer("torch").tensor
    function = getattr(peer("torchmetrics.functional.regression"), name)
    return float(function(tensor(np.asarray(forecast)), tensor(np.asarray(truth)), **options))


def drawn(seed: int, members: int = 20) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    y = random.normal(3, 2, 400)
    std = np.exp(random.normal(0, 0.4, 400))
    mean = y + 1.3 * std * random.standard_normal(400)
    return {"y": y, "mean": mean, "std": std, "samples": mean[:, np.newaxis] + random.standard_normal((400, members))}


def test_joint_scores_are_those_of_scoringrules() -> None:
    random = np.random.default_rng(0)
    y, samples = random.standard_normal((20, 1, 5)), random.standard_normal((20, 1, 5, 30))
    pairs = [(one, other) for one in range(5) for other in range(one)]
    found = forecasting.evaluate(y, samples=samples, graph=pairs, metrics=["energy_score", "variogram_score"])
    members = np.moveaxis(samples[:, 0], 2, 1)
    assert found["energy_score"].value == pytest.approx(scoringrules().es_ensemble(y[:, 0], members).mean(), **CLOSE)
    # Theirs is a sum over ordered pairs.
    theirs = scoringrules().vs_ensemble(y[:, 0], members, p=0.5).mean()
    assert 2 * len(pairs) * found["variogram_score"].value == pytest.approx(theirs, **CLOSE)


def evaluated(data: dict[str, Any], **options: Any) -> Any:
    options = {"metrics": "all", "coverage": (0.5, 0.8, 0.95), **options}
    return forecasting.evaluate(data["y"], data["mean"], std=data["std"], **options)


# ------------------------------------------------------------------------------------ agreement on ordinary input


@pytest.mark.parametrize("seed", range(5))
def test_errors(seed: int) -> None:
    data = drawn(seed)
    y, mean, ours = data["y"], data["mean"], evaluated(data)
    for key, theirs in {
        "mae": sklearn().mean_absolute_error(y, mean),
        "rmse": sklearn().root_mean_squared_error(y, mean),
        "mape": sklearn().mean_absolute_percentage_error(y, mean),
        "r2": sklearn().r2_score(y, mean),
    }.items():
        assert ours[key].value == pytest.approx(theirs, **CLOSE), key
    for key, name in {
        "mae": "mean_absolute_error",
        "mape": "mean_absolute_percentage_error",
        "smape": "symmetric_mean_absolute_percentage_error",
        "wape": "weighted_mean_absolute_percentage_error",
        "r2": "r2_score",
    }.items():
        assert ours[key].value == pytest.approx(torchmetric(name, y, mean), rel=1e-9), key
    assert ours["rmse"].value == pytest.approx(torchmetric("mean_squared_error", y, mean, squared=False), **CLOSE)


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_gaussian_forecasts(seed: int) -> None:
    data = drawn(seed)
    y, mean, std, ours = data["y"], data["mean"], data["std"], evaluated(data)
    for theirs in (
        scoringrules().crps_normal(y, mean, std).mean(),
        properscoring().crps_gaussian(y, mean, std).mean(),
        toolbox().crps_gaussian(mean, std, y),
    ):
        assert ours["crps"].value == pytest.approx(theirs, **CLOSE)
    for theirs in (scoringrules().logs_normal(y, mean, std).mean(), toolbox().nll_gaussian(mean, std, y)):
        assert ours["nll"].value == pytest.approx(theirs, **CLOSE)
    assert ours["sharpness"].value == pytest.approx(toolbox().sharpness(std), **CLOSE)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_intervals(level: float) -> None:
    data = drawn(0)
    y, mean, std, ours = data["y"], data["mean"], data["std"], evaluated(data)
    key = f"{100 * level:g}"
    bounds = toolbox().get_prediction_interval(mean, std, level)
    theirs = scoringrules().interval_score(y, bounds.lower, bounds.upper, 1 - level).mean()
    assert ours[f"interval_score_{key}"].value == pytest.approx(theirs, **CLOSE)
    alone = toolbox().interval_score(mean, std, y, start_p=level, end_p=level, resolution=1)
    assert ours[f"interval_score_{key}"].value == pytest.approx(alone, **CLOSE)
    assert ours[f"coverage_{key}"].value == toolbox().get_proportion_in_interval(mean, std, y, level)
    assert ours[f"width_{key}"].value == pytest.approx((bounds.upper - bounds.lower).mean(), **CLOSE)


@pytest.mark.parametrize("seed", range(5))
def test_calibration(seed: int) -> None:
    data = drawn(seed)
    ours = evaluated(data)
    given = {"y_pred": data["mean"], "y_std": data["std"], "y_true": data["y"], "vectorized": True}
    # Their grid has 0 and 1 in it, where every forecast is right.
    quantiles = toolbox().mean_absolute_calibration_error(**given, num_bins=101, prop_type="quantile")
    assert ours["calibration_error"].value == pytest.approx(quantiles * 101 / 99, **CLOSE)
    central = toolbox().mean_absolute_calibration_error(**given, num_bins=51, prop_type="interval")
    assert ours["central_calibration_error"].value == pytest.approx(central * 51 / 49, **CLOSE)
    area = toolbox().miscalibration_area(**given, num_bins=101, prop_type="quantile")
    assert ours["miscalibration_area"].value == pytest.approx(area, **CLOSE)


@pytest.mark.parametrize("members", [2, 5, 20, 51])
def test_ensembles(members: int) -> None:
    data = drawn(members, members)
    y, samples = data["y"], data["samples"]
    standard, fair = (forecasting.crps(y, samples=samples, fair=fair) for fair in (False, True))
    for theirs in (
        scoringrules().crps_ensemble(y, samples).mean(),
        scoringrules().crps_ensemble(y, samples, estimator="nrg").mean(),
        properscoring().crps_ensemble(y, samples).mean(),
        torchmetric("continuous_ranked_probability_score", y, samples),
    ):
        assert standard == pytest.approx(theirs, rel=1e-11)
    for estimator in ("fair", "pwm"):
        assert fair == pytest.approx(scoringrules().crps_ensemble(y, samples, estimator=estimator).mean(), rel=1e-11)


def test_quantiles() -> None:
    data = drawn(0)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    quantiles = np.quantile(data["samples"], levels, axis=1).T
    theirs = [
        sklearn().mean_pinball_loss(data["y"], quantiles[:, place], alpha=level) for place, level in enumerate(levels)
    ]
    ours = forecasting.pinball(data["y"], quantiles, levels=levels)
    assert ours == pytest.approx(np.mean(theirs), **CLOSE)
    scored = [
        scoringrules().quantile_score(data["y"], quantiles[:, place], level).mean()
        for place, level in enumerate(levels)
    ]
    assert ours == pytest.approx(np.mean(scored), **CLOSE)


def test_batches_of_unequal_size_are_pooled_as_torchmetrics_pools_them() -> None:
    data = drawn(0)
    tensor, theirs = peer("torch").tensor, peer("torchmetrics.regression").MeanSquaredError(squared=False)
    ours = forecasting.ForecastState(axes=("time",))
    for part in (slice(0, 7), slice(7, 400)):
        theirs.update(tensor(data["mean"][part]), tensor(data["y"][part]))
        ours.update(data["y"][part], data["mean"][part], start="next")
    assert ours.evaluate()["rmse"].value == pytest.approx(float(theirs.compute()), rel=1e-6)  # float32 inside


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(-44, -30), (-4, 4), (30, 38)])
@pytest.mark.parametrize("reach", [1.0, 1e3, 1e6])
def test_means_of_scores_against_fifty_digits(dtype: str, low: int, high: int, reach: float) -> None:
    """Standard deviations from the smallest to the largest of float32, errors up to a million of them."""
    mp = peer("mpmath")
    mp.mp.dps = 50
    random = np.random.default_rng(0)
    std = (10.0 ** random.uniform(low, high, 300)).astype(dtype)
    with np.errstate(over="ignore"):
        error = (std * random.uniform(-reach, reach, 300)).astype(dtype)
    kept = np.isfinite(error) & (std > 0)
    std, error = std[kept], error[kept]
    nll, crps = mp.mpf(0), mp.mpf(0)
    for s, e in zip(map(mp.mpf, std.tolist()), map(mp.mpf, error.tolist()), strict=True):
        z = e / s
        nll += mp.log(s) + z * z / 2 + mp.log(2 * mp.pi) / 2
        crps += s * (z * mp.erf(z / mp.sqrt(2)) + 2 * mp.npdf(z) - 1 / mp.sqrt(mp.pi))
    found = forecasting.evaluate(np.zeros_like(error), error, std=std, metrics=["nll", "crps"])
    assert found["nll"].value * len(std) == pytest.approx(float(nll), rel=1e-13)
    assert found["crps"].value * len(std) == pytest.approx(float(crps), rel=1e-13)


# --------------------------------------------------------------------------------------- where the results differ


def shown(value: Any) -> str:
    value = float(np.mean(np.asarray(value, float)))
    return f"{value:.4g}"


def answer(call: Callable[[], Any]) -> str:
    """The value a library returns, or the type of the exception it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return shown(call())
        except Exception as error:
            return type(error).__name__


def own(call: Callable[[], Any]) -> str:
    try:
        return shown(call())
    except InputError:
        return "InputError"


def rows() -> list[list[str]]:
    """Case, rule, ours, whose, theirs."""
    zero, forecast = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5, 2.5])
    constant, near = np.full(3, 2.0), np.array([1.0, 2.0, 3.0])
    hole = np.array([np.nan, 1.5, 2.5])
    one = np.ones(3)
    flat, negative = np.array([1.0, 0.0, 1.0]), np.array([1.0, -1.0, 1.0])
    same = np.array([0.0, 1.0, 2.0])
    random = np.random.default_rng(0)
    members = zero[:, np.newaxis] + random.standard_normal((3, 8))
    torn = np.where(np.arange(8) < 4, np.nan, members)
    data = drawn(0)
    given = {"y_pred": data["mean"], "y_std": data["std"], "y_true": data["y"], "vectorized": True}
    ours = evaluated(data)
    return [
        [
            "MAPE with a truth of 0 among three",
            "cells with a truth of 0 are left out and counted",
            own(lambda: forecasting.mape(zero, forecast)),
            "scikit-learn",
            answer(lambda: sklearn().mean_absolute_percentage_error(zero, forecast)),
        ],
        ["", "", "", "torchmetrics", answer(lambda: torchmetric("mean_absolute_percentage_error", zero, forecast))],
        [
            "R² of a constant truth, forecast wrong",
            "with the reason: there is no variance to explain",
            own(lambda: forecasting.r2(constant, near)),
            "scikit-learn",
            answer(lambda: sklearn().r2_score(constant, near)),
        ],
        ["", "", "", "torchmetrics", answer(lambda: torchmetric("r2_score", constant, near))],
        [
            "R² of a constant truth, forecast right",
            "likewise",
            own(lambda: forecasting.r2(constant, constant)),
            "scikit-learn",
            answer(lambda: sklearn().r2_score(constant, constant)),
        ],
        [
            "a NaN forecast, mean absolute error",
            'with count and position; `nan="omit"` drops and counts',
            own(lambda: forecasting.mae(zero, hole)),
            "scikit-learn",
            answer(lambda: sklearn().mean_absolute_error(zero, hole)),
        ],
        ["", "", "", "torchmetrics", answer(lambda: torchmetric("mean_absolute_error", zero, hole))],
        [
            "a NaN forecast, Gaussian CRPS",
            "likewise",
            own(lambda: forecasting.crps(zero, hole, one)),
            "scoringrules",
            answer(lambda: scoringrules().crps_normal(zero, hole, one)),
        ],
        [
            "half the members of an ensemble NaN",
            "likewise",
            own(lambda: forecasting.crps(zero, samples=torn)),
            "properscoring, without those members",
            answer(lambda: properscoring().crps_ensemble(zero, torn)),
        ],
        ["", "", "", "scoringrules", answer(lambda: scoringrules().crps_ensemble(zero, torn))],
        ["", "", "", "torchmetrics", answer(lambda: torchmetric("continuous_ranked_probability_score", zero, torn))],
        [
            "one standard deviation of three is 0, CRPS of exact forecasts",
            "names the cell",
            own(lambda: forecasting.crps(zero, same, flat)),
            "scoringrules",
            answer(lambda: scoringrules().crps_normal(zero, same, flat)),
        ],
        ["", "", "", "properscoring", answer(lambda: properscoring().crps_gaussian(zero, same, flat))],
        ["", "", "", "uncertainty-toolbox", answer(lambda: toolbox().crps_gaussian(same, flat, zero))],
        [
            "one standard deviation of three is −1, CRPS of exact forecasts (0.2337 if it were 1)",
            "names the cell",
            own(lambda: forecasting.crps(zero, same, negative)),
            "scoringrules",
            answer(lambda: scoringrules().crps_normal(zero, same, negative)),
        ],
        ["", "", "", "properscoring", answer(lambda: properscoring().crps_gaussian(zero, same, negative))],
        ["", "", "", "uncertainty-toolbox", answer(lambda: toolbox().crps_gaussian(same, negative, zero))],
        [
            "ensemble CRPS by default",
            "over all pairs of draws: `crps`",
            own(lambda: forecasting.crps(zero, samples=members)),
            "scoringrules, `qd`",
            answer(lambda: scoringrules().crps_ensemble(zero, members)),
        ],
        ["", "", "", "torchmetrics", answer(lambda: torchmetric("continuous_ranked_probability_score", zero, members))],
        [
            "the same over different members",
            "`crps_fair`",
            own(lambda: forecasting.crps(zero, samples=members, fair=True)),
            "scoringrules, `pwm` and `fair`",
            answer(lambda: scoringrules().crps_ensemble(zero, members, estimator="pwm")),
        ],
        [
            "fair CRPS of one member",
            "there is no pair of members",
            own(lambda: forecasting.crps(zero, samples=members[:, :1], fair=True)),
            "scoringrules",
            answer(lambda: scoringrules().crps_ensemble(zero, members[:, :1], estimator="fair")),
        ],
        [
            "mean absolute calibration error, 400 cells",
            "shares of truths below quantiles .01 … .99",
            shown(ours["calibration_error"].value),
            "uncertainty-toolbox, without options: central intervals, 100 levels with 0 and 1",
            answer(lambda: toolbox().mean_absolute_calibration_error(**given)),
        ],
        [
            "the same for central intervals",
            "levels .02 … .98, `central_calibration_error`",
            shown(ours["central_calibration_error"].value),
            "uncertainty-toolbox, the same call",
            answer(lambda: toolbox().mean_absolute_calibration_error(**given)),
        ],
        [
            "miscalibration area",
            "between the reliability curve of quantiles and the diagonal",
            shown(ours["miscalibration_area"].value),
            "uncertainty-toolbox, without options: central intervals",
            answer(lambda: toolbox().miscalibration_area(**given)),
        ],
        [
            "interval score of a Gaussian",
            "one number per level: here 95 %",
            shown(ours["interval_score_95"].value),
            "uncertainty-toolbox, without options: mean of 99 levels",
            answer(lambda: toolbox().interval_score(data["mean"], data["std"], data["y"])),
        ],
    ]


def table_text() -> str:
    return "\n".join(
        [
            "# Where forecasting differs between libraries",
            "",
            "<!-- Written by tests/peers/test_forecasting_peers.py; GRAPHGAUGE_REGENERATE=1 rewrites it. -->",
            "",
            "On random forecasts with positive standard deviations and truths other than 0, the libraries below",
            "and graphgauge agree: MAE, RMSE, MAPE, SMAPE, WAPE and R²; logarithmic score, CRPS and interval",
            "score of Gaussians; CRPS of ensembles, standard and fair; pinball loss; coverage, sharpness, mean",
            "absolute calibration error and miscalibration area on the same grid. These are the cases in which",
            "they differ: first graphgauge's value and rule, then what the libraries return or raise.",
            "",
            f"Observed with {versions(SHOWN)}.",
            "",
            *cases(rows()),
            "",
        ]
    )


def test_the_table_of_differences_is_current() -> None:
    assert_current(TABLE, table_text())
