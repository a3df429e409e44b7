"""Diebold and Mariano's test through `stats.compare`, on the losses that evaluations keep."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting, stats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.items import Items
from graphgauge.stats.errors import cosine_error

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(200, 3, 5))
ONE, OTHER = (Y + scale * RNG.normal(size=Y.shape) for scale in (1.0, 1.1))


def test_losses_are_compared_over_time() -> None:
    runs = {name: forecasting.evaluate(Y, mean, metrics=["mse"]) for name, mean in (("one", ONE), ("other", OTHER))}
    (pair,) = stats.compare(runs, metric="mse", over="items").pairs
    difference = (np.square(ONE - Y) - np.square(OTHER - Y)).mean(axis=(1, 2))
    assert abs(pair.difference) == pytest.approx(abs(difference.mean()), rel=1e-12)
    (error,), _ = cosine_error((difference - difference.mean())[:, None] / len(difference))
    low, high = pair.interval
    assert high - low == pytest.approx(2 * 2.306 * float(error), rel=0.35)
    assert pair.p_value < 0.01


def test_losses_of_the_user_are_compared_too() -> None:
    runs = {
        name: forecasting.evaluate(Y, scores={"brier": ((mean > 0) - (Y > 0).astype(float)) ** 2})
        for name, mean in (("one", ONE), ("none", 0 * ONE))
    }
    (pair,) = stats.compare(runs, metric="brier", over="items").pairs
    assert pair.p_value < 0.05


def test_forecasts_of_different_forms_are_compared_and_the_comparison_says_so() -> None:
    """A model with intervals may have a rival without."""
    runs = {"one": forecasting.evaluate(Y, ONE, std=np.ones(Y.shape)), "other": forecasting.evaluate(Y, OTHER)}
    comparison = stats.compare(runs, metric="mae", over="items")
    assert comparison.pairs[0].p_value < 0.01
    assert "forecast is gaussian in 1 run" in str(comparison)


def quantiles_of(levels: Any, mean: Any, **options: Any) -> Any:
    """A standard normal about the mean, by its quantiles."""
    drawn = np.stack([mean + NormalDist().inv_cdf(level) for level in levels], axis=-1)
    return forecasting.evaluate(mean + NOISE, quantiles=drawn, levels=levels, **options)


NOISE = np.random.default_rng(5).normal(size=(60, 1, 4))


def test_scores_of_other_levels_or_forms_are_not_compared() -> None:
    mean = np.zeros(NOISE.shape)
    nine, ten = np.arange(1, 10) / 10, np.arange(1, 20) / 20
    half, wide = ((1 - level) / 2 for level in (0.5, 0.95))
    for metric, one, other in (
        ("pinball", (half, 1 - half), (wide, 1 - wide)),
        ("wql", (half, 1 - half), (wide, 1 - wide)),
        ("crps", nine, ten),
        ("crps", nine, None),
    ):
        runs = {
            str(place): forecasting.evaluate(NOISE, mean, std=np.ones(mean.shape))
            if levels is None
            else quantiles_of(levels, mean, metrics=[metric])
            for place, levels in enumerate((one, other))
        }
        for over in ("items", "seeds"):
            with pytest.raises(InputError, match="quantile levels is") as caught:
                stats.compare(runs, metric=metric, over=over)  # type: ignore[arg-type]
            assert "at the same levels" in str(caught.value.fix)


@pytest.mark.parametrize(("count", "more"), [(9, 0.047), (19, 0.0141), (99, 0.00075)])
def test_the_crps_of_levels_is_that_of_a_gaussian(count: int, more: float) -> None:
    """Truths at a fine grid of the Gaussian's own quantiles; its CRPS is 1/sqrt(pi)."""
    truths = np.array([NormalDist().inv_cdf((place + 0.5) / 20_000) for place in range(20_000)])
    levels = np.arange(1, count + 1) / (count + 1)
    drawn = np.broadcast_to([NormalDist().inv_cdf(level) for level in levels], (20_000, count))
    found = forecasting.crps(truths, quantiles=drawn, levels=levels)
    assert found * np.sqrt(np.pi) - 1 == pytest.approx(more, abs=5e-4)


def test_metrics_are_compared_one_at_a_time() -> None:
    with pytest.raises(OptionError, match="not one name"):
        stats.compare({"A": [1.0, 2.0], "B": [2.0, 3.0]}, metric=["mae", "mse"])  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["double", "sensors", "masked"])
def test_items_of_other_truths_are_not_compared(other: str) -> None:
    changed = {
        "double": lambda y: (2 * y, {}),
        "sensors": lambda y: (y[..., 1:], {}),
        "masked": lambda y: (y, {"mask": np.abs(y) < 2}),
    }[other]
    (y, mask), (mean, _) = changed(Y), changed(OTHER)
    here = {} if not mask else {"mask": np.ones(Y.shape, bool)}
    runs = {"A": forecasting.evaluate(Y, ONE, **here), "B": forecasting.evaluate(y, mean, **mask)}
    with pytest.raises(InputError, match=r"[0-9]+ of [0-9]+ items have other (cells|sums of truths)"):
        stats.compare(runs, metric="mae", over="items")
    narrow = {"A": forecasting.evaluate(Y, ONE), "B": forecasting.evaluate(Y.astype("f4"), OTHER.astype("f4"))}
    assert len(stats.compare(narrow, metric="mae", over="items").pairs) == 1


def test_cells_that_were_omitted_are_said_in_the_conclusion(tmp_path: Any) -> None:
    easy = np.where(np.abs(Y) > 1.5, np.nan, OTHER)
    runs = {name: forecasting.evaluate(Y, mean, nan="omit") for name, mean in (("A", ONE), ("B", easy))}
    found = stats.compare(runs, metric="mae", over="items")
    assert found.conclusion.startswith("No method can be compared: A and B (methods were measured on different data")
    runs["B"].per_item.save(tmp_path / "items.npz")
    kept = Items.load(tmp_path / "items.npz").asked
    assert kept["cells"].tolist() == np.isfinite(easy).sum(axis=(1, 2)).tolist()
