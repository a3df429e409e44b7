"""Predicted distributions: SciPy's, torch's and any object with a CDF, a quantile function and a log-density."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from scipy.integrate import quad

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting.distributions import Distribution, crps_above, crps_of

KEYS = ("nll", "crps", "coverage_80", "interval_score_80", "width_80", "calibration_error", "mae")


@pytest.fixture(scope="module")
def centre() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 2, 3))


@pytest.fixture(scope="module")
def truth(centre: np.ndarray) -> np.ndarray:
    return centre + 2 * np.random.default_rng(1).standard_t(4, centre.shape)


@pytest.mark.parametrize(
    ("predicted", "truths"),
    [
        (st.norm(1, 2), (1.0, -3.0, 9.0, 60.0)),
        (st.t(3), (0.0, 2.0, -20.0)),
        (st.gamma(2.0), (0.5, 8.0, -1.0)),
        (st.lognorm(1.0), (1.0, 20.0)),
        (st.uniform(), (0.3, 0.9, 2.0)),
    ],
    ids=lambda given: given.dist.name if hasattr(given, "dist") else "",
)
def test_crps_is_the_integral_of_the_definition(predicted: Any, truths: tuple[float, ...]) -> None:
    y = np.array(truths)
    known = Distribution.of(predicted, y.shape)
    found = crps_of(known, y, known.cdf(y))
    for at, value in zip(truths, found, strict=True):
        below = quad(lambda x: predicted.cdf(x) ** 2, -np.inf, at, limit=300, points=None, epsabs=1e-12)[0]
        if math.isfinite(predicted.support()[0]):
            below = quad(lambda x: predicted.cdf(x) ** 2, predicted.support()[0], at, limit=300)[0]
            below = below if at > predicted.support()[0] else 0.0
        above = quad(lambda x: predicted.sf(x) ** 2, at, min(predicted.support()[1], np.inf), limit=300)[0]
        above = above if at < predicted.support()[1] else 0.0
        assert value == pytest.approx(below + above, rel=2e-7)


def test_values_are_those_of_the_distribution(centre: np.ndarray, truth: np.ndarray) -> None:
    predicted = st.t(4, centre, 2)
    found = forecasting.evaluate(truth, distribution=predicted, coverage=0.8)
    low, high = predicted.ppf(0.1), predicted.ppf(0.9)
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    assert found["nll"].value == pytest.approx(-predicted.logpdf(truth).mean(), rel=1e-14)
    assert found["coverage_80"].value == ((low <= truth) & (truth <= high)).mean()
    assert found["width_80"].value == pytest.approx((high - low).mean(), rel=1e-14)
    assert found["interval_score_80"].value == pytest.approx((high - low + 10 * outside).mean(), rel=1e-13)
    position = predicted.cdf(truth)
    np.testing.assert_allclose(found.by("reliability")["share"], [(position <= k / 100).mean() for k in range(1, 100)])
    assert found["mae"] == forecasting.mae(truth, centre)
    assert found.conventions["errors of"] == "the distribution's mean"
    assert found.by("node")["nll"][1] == pytest.approx(-predicted.logpdf(truth)[..., 1].mean(), rel=1e-14)
    assert found["nll"].interval is not None


class Logistic:
    """What a user writes: any object with three functions."""

    def __init__(self, centre: np.ndarray) -> None:
        self.centre = centre

    def cdf(self, values: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(self.centre - values))

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        return self.centre + np.log(levels / (1 - levels))

    def log_prob(self, values: np.ndarray) -> np.ndarray:
        away = values - self.centre
        return -away - 2 * np.log1p(np.exp(-away))


def test_any_object_with_the_functions(centre: np.ndarray, truth: np.ndarray) -> None:
    own = forecasting.evaluate(truth, distribution=Logistic(centre), metrics=KEYS)
    scipys = forecasting.evaluate(truth, distribution=st.logistic(centre), metrics=KEYS)
    for key in KEYS:
        assert own[key].value == pytest.approx(scipys[key].value, rel=1e-9), key
    assert own.conventions["errors of"] == "the distribution's median"
    # The closed form of the CRPS of a logistic distribution.
    away = truth - centre
    closed = away - 2 * np.log(Logistic(centre).cdf(truth)) - 1
    assert own["crps"].value == pytest.approx(closed.mean(), rel=1e-9)


def test_torch_distributions(centre: np.ndarray, truth: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    kinds = torch.distributions
    scale = torch.full(centre.shape, 2.0, dtype=torch.float64)
    found = forecasting.evaluate(truth, distribution=kinds.Laplace(torch.tensor(centre), scale), metrics=KEYS)
    wanted = forecasting.evaluate(truth, distribution=st.laplace(centre, 2), metrics=KEYS)
    for key in KEYS:
        assert found[key].value == pytest.approx(wanted[key].value, rel=1e-6), key
    normal = forecasting.evaluate(truth, distribution=kinds.Normal(torch.tensor(centre), scale))
    assert normal["ece"] == forecasting.evaluate(truth, centre, std=np.full(truth.shape, 2.0))["ece"]
    with pytest.raises(InputError, match=r"VonMises does not implement cdf\. .*samples="):
        forecasting.evaluate(truth, distribution=kinds.VonMises(0.0, 1.0))
    positive = kinds.Exponential(torch.ones(centre.shape, dtype=torch.float64))
    with pytest.raises(InputError, match="infinite"):
        forecasting.evaluate(truth, distribution=positive)


def test_a_normal_distribution_is_a_mean_and_a_std(centre: np.ndarray, truth: np.ndarray) -> None:
    found = forecasting.evaluate(truth, distribution=st.norm(centre, 2))
    wanted = forecasting.evaluate(truth, centre, std=np.full(truth.shape, 2.0))
    assert found.to_dict()["results"] == wanted.to_dict()["results"]


def test_streams_masks_and_files_have_the_same_values(centre: np.ndarray, truth: np.ndarray, tmp_path: Path) -> None:
    mask = np.random.default_rng(2).random(truth.shape) > 0.3
    holes = np.where(mask, truth, np.nan)
    whole = forecasting.evaluate(holes, distribution=st.t(4, centre, 2), mask=mask, metrics=KEYS)
    assert whole["nll"].value == pytest.approx(-st.t(4, centre, 2).logpdf(truth)[mask].mean(), rel=1e-14)
    parts = []
    for rows in (slice(0, 23), slice(23, 60)):
        state = forecasting.ForecastState(metrics=KEYS)
        state.update(holes[rows], distribution=st.t(4, centre[rows], 2), mask=mask[rows], start=rows.start)
        state.save(tmp_path / f"{rows.start}.npz")
        parts.append(forecasting.ForecastState.load(tmp_path / f"{rows.start}.npz"))
    found = parts[1].merge(parts[0]).evaluate(metrics=KEYS)
    for key in KEYS:
        assert found[key].value == whole[key].value, key


def test_comparisons_with_other_kinds(centre: np.ndarray, truth: np.ndarray) -> None:
    heavy, normal = {"distribution": st.t(4, centre, 2)}, {"y_pred": centre, "std": np.full(truth.shape, 2.0)}
    found = forecasting.compare(truth, heavy, normal, loss="nll")
    wanted = (st.norm(centre, 2).logpdf(truth) - st.t(4, centre, 2).logpdf(truth)).mean()
    assert found.difference == pytest.approx(wanted, rel=1e-9)
    scores = [forecasting.evaluate(truth, **given)["crps"].value for given in (heavy, normal)]
    found = forecasting.compare(truth, heavy, normal, loss="crps")
    assert found.difference == pytest.approx(scores[0] - scores[1], rel=1e-9)


@pytest.mark.parametrize(
    "predicted", [st.norm(1, 2), st.t(3), st.gamma(0.7, scale=3), st.lognorm(1.0), st.uniform(-1, 2), st.gumbel_r(2)]
)
@pytest.mark.parametrize("threshold", [-50.0, 0.0, 0.5, 9.0])
def test_crps_above_a_threshold_is_its_integral(predicted: Any, threshold: float) -> None:
    truths = np.array([-8.0, -0.5, 0.3, 2.0, 30.0])
    found = crps_above(Distribution.of(predicted, truths.shape), truths, threshold)
    for y, score in zip(truths, found, strict=True):

        def loss(x: float, y: float = y) -> float:
            return float((predicted.cdf(x) - (y <= x)) ** 2)

        ends = [threshold, y, *predicted.ppf([1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999])]
        ends = sorted(end for end in {*ends, max(ends) + 1} if end >= threshold)
        parts = [quad(loss, a, b, epsabs=1e-12)[0] for a, b in pairwise([*ends, math.inf])]
        assert score == pytest.approx(sum(parts), rel=1e-6, abs=1e-9)


def test_thresholds_of_distributions(centre: np.ndarray, truth: np.ndarray) -> None:
    """A normal one that does not say so scores as mean and spread do, also in a stream and under a mask."""

    class Unnamed:
        def __init__(self, normal: Any) -> None:
            self.cdf, self.ppf, self.logpdf, self.mean = normal.cdf, normal.ppf, normal.logpdf, normal.mean

    keys = ["brier_0", "twcrps_0", "brier_1.5", "twcrps_1.5"]
    std, mask = np.full(truth.shape, 1.7), np.random.default_rng(2).random(truth.shape) > 0.2
    shared: dict[str, Any] = {"thresholds": [0, 1.5], "metrics": keys, "mask": mask}
    plain = forecasting.evaluate(truth, centre, std=std, **shared)
    found = forecasting.evaluate(truth, distribution=Unnamed(st.norm(centre, std)), **shared)
    state = forecasting.ForecastState(thresholds=[0, 1.5], metrics=keys)
    for part in (slice(0, 25), slice(25, 60)):
        given = Unnamed(st.norm(centre[part], std[part]))
        state.update(truth[part], distribution=given, mask=mask[part], start=part.start)
    for key in keys:
        assert found[key].value == pytest.approx(plain[key].value, rel=1e-6)
        assert tuple(found[key].ci) == pytest.approx(tuple(plain[key].ci), rel=1e-5)
        assert found[key].chance == plain[key].chance
        assert state.evaluate(metrics=keys)[key].value == pytest.approx(found[key].value, rel=1e-12)
    heavy = forecasting.evaluate(truth, distribution=st.t(4, centre, 2), thresholds=1, metrics=["brier_1"])
    by_hand = np.mean((st.t(4, centre, 2).sf(1) - (truth > 1)) ** 2)
    assert heavy["brier_1"].value == pytest.approx(by_hand, rel=1e-12)


def test_what_is_refused(centre: np.ndarray, truth: np.ndarray) -> None:
    with pytest.raises(InputError, match="rv_discrete_frozen has no logpdf or log_prob"):
        forecasting.evaluate(truth, distribution=st.poisson(3))
    with pytest.raises(InputError, match="has no cdf, no ppf or icdf, no logpdf"):
        forecasting.evaluate(truth, distribution=3)
    with pytest.raises(InputError, match=r"shape \(7,\), and the truth \(60, 2, 3\)"):
        forecasting.evaluate(truth, distribution=st.t(4, np.zeros(7)))
    with pytest.raises(InputError, match="std and distribution are given"):
        forecasting.evaluate(truth, centre, std=np.ones(truth.shape), distribution=st.t(4))
    with pytest.raises(InputError, match="support"):
        forecasting.evaluate(truth, distribution=st.gamma(2.0))
    with pytest.raises(InputError, match="NaN"):
        forecasting.evaluate(truth, distribution=st.t(4, centre, -1))
    for name, value in (("bins", 5), ("graph", [[0, 1]])):
        with pytest.raises(OptionError, match=f"does not take {name}"):
            forecasting.evaluate(truth, distribution=st.t(4, centre), **{name: value})
    with pytest.raises(OptionError, match="ece needs std="):
        forecasting.evaluate(truth, distribution=st.t(4, centre), metrics=["ece"])
    frame = pd.DataFrame(truth[:, 0], columns=["c", "a", "b"])
    with pytest.raises(InputError, match="no labels"):
        forecasting.evaluate(frame, distribution=st.t(4, centre[:, 0]), axes=("time", "node"), nodes=["a", "b", "c"])
    found = forecasting.evaluate(frame, distribution=st.t(4, centre[:, 0]), axes=("time", "node"))
    assert list(found.by("node")["node"]) == ["c", "a", "b"]


def test_distributions_of_torch_as_networks_return_them() -> None:
    """Student's t has no CDF there, and `Independent` joins cells that are scored one by one."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(6)
    y, loc, scale = rng.normal(size=(3, 12, 2, 3))
    scale = np.exp(scale)
    of_torch = torch.distributions.StudentT(4.0, torch.tensor(loc, requires_grad=True), torch.tensor(scale))
    keys = ["mae", "crps", "nll", "coverage_95"]
    expected = forecasting.evaluate(y, distribution=st.t(4.0, loc=loc, scale=scale), metrics=keys)
    for given in (of_torch, torch.distributions.Independent(of_torch, 2)):
        found = forecasting.evaluate(y, distribution=given, metrics=keys)
        for key in keys:
            assert found[key].value == pytest.approx(expected[key].value, rel=1e-12)
    normal = torch.distributions.Independent(torch.distributions.Normal(torch.tensor(loc), torch.tensor(scale)), 1)
    assert forecasting.evaluate(y, distribution=normal)["crps"] == forecasting.evaluate(y, loc, std=scale)["crps"]
