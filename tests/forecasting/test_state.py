"""States: any split, order and machine gives the same results; what was counted is not counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError

RNG = np.random.default_rng(0)
Y = RNG.normal(5, 2, (300, 3, 4))
MEAN = Y + RNG.normal(size=Y.shape)
STD = RNG.uniform(0.5, 2, Y.shape)
MASK = RNG.random(Y.shape) < 0.8


def part(first: int, end: int) -> dict[str, Any]:
    some = slice(first, end)
    return {"y_true": Y[some], "y_pred": MEAN[some], "std": STD[some], "mask": MASK[some], "start": first}


def assert_equal(found: Any, expected: Any, *, ece: float = 1e-3) -> None:
    assert list(found) == list(expected)
    for key in expected:
        limit = ece if key in ("ece", "ence") else 1e-14
        assert found[key].value == pytest.approx(expected[key].value, rel=limit), key
        assert (found[key].interval is None) == (expected[key].interval is None), key
        if expected[key].interval is not None:
            assert tuple(found[key].interval) == pytest.approx(tuple(expected[key].interval), rel=1e-9), key
    for axis in ("horizon", "node"):
        np.testing.assert_allclose(found.by(axis)["mae"], expected.by(axis)["mae"], rtol=1e-14)


def test_batches_in_any_order_are_the_whole() -> None:
    expected = forecasting.evaluate(Y, MEAN, std=STD, mask=MASK, metrics="all")
    state = forecasting.ForecastState()
    for first in (170, 0, 299, 64, 33):
        end = {170: 299, 0: 33, 299: 300, 64: 170, 33: 64}[first]
        state.update(**part(first, end))
    assert_equal(state.evaluate(metrics="all"), expected)


def test_next_is_the_step_after_the_last() -> None:
    state = forecasting.ForecastState()
    for first in range(0, 300, 50):
        state.update(**{**part(first, first + 50), "start": "next"})
    assert state.evaluate()["mae"].interval is not None
    assert_equal(state.evaluate(), forecasting.evaluate(Y, MEAN, std=STD, mask=MASK))


def test_start_is_required() -> None:
    with pytest.raises(TypeError, match="start"):
        forecasting.ForecastState().update(Y, MEAN)  # type: ignore[call-arg]


def test_without_an_order_there_are_values_and_no_intervals() -> None:
    state = forecasting.ForecastState()
    for first in (150, 0):
        state.update(**{**part(first, first + 150), "start": None})
    found = state.evaluate()
    assert found["mae"].value == pytest.approx(forecasting.evaluate(Y, MEAN, mask=MASK)["mae"].value, rel=1e-15)
    assert found["mae"].interval is None
    assert "start=" in str(found["mae"].no_interval)
    assert found.per_item is None


def test_merged_and_saved_states(tmp_path: Path) -> None:
    states = [forecasting.ForecastState(metrics="all").update(**part(first, first + 100)) for first in (0, 100, 200)]
    for number, state in enumerate(states):
        state.save(tmp_path / f"{number}.npz")
    loaded = [forecasting.ForecastState.load(tmp_path / f"{number}.npz") for number in range(3)]
    whole = loaded[2].merge(loaded[0]).merge(loaded[1])
    assert_equal(whole.evaluate(metrics="all"), forecasting.evaluate(Y, MEAN, std=STD, mask=MASK, metrics="all"))
    assert whole.compute().keys() == whole.evaluate().keys()


def test_a_saved_state_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    y, mean = rng.normal(size=(2, 500, 12, 40))
    state = forecasting.ForecastState().update(y, mean, std=rng.uniform(0.5, 2, y.shape), start=0)
    state.save(tmp_path / "state.npz")
    assert (tmp_path / "state.npz").stat().st_size <= 2_000_000


def test_history_weights_and_labels_are_kept(tmp_path: Path) -> None:
    history, weights = np.random.default_rng(2).normal(size=(30, 4)), np.arange(1.0, 5)
    names = {"node": ["a", "b", "c", "d"]}
    options: dict[str, Any] = {"history": history, "weights": weights, "labels": names}
    state = forecasting.ForecastState(**options).update(Y[:200], MEAN[:200], start=0)
    state.save(tmp_path / "state.npz")
    other = forecasting.ForecastState.load(tmp_path / "state.npz").update(Y[200:], MEAN[200:], start=200)
    found, expected = other.evaluate(metrics="all"), forecasting.evaluate(Y, MEAN, metrics="all", **options)
    assert_equal(found, expected)
    assert found.by("node")["node"].tolist() == names["node"]


def test_members_quantiles_and_losses() -> None:
    members = MEAN[..., None] + np.random.default_rng(3).normal(size=(*Y.shape, 20)).round(1)
    quantiles = np.sort(members[..., :3], axis=-1)
    for forecast, own in (
        ({"samples": members, "scores": {"own": np.abs(Y)}}, {"metrics": "all"}),
        ({"quantiles": quantiles}, {"levels": (0.1, 0.5, 0.9)}),
    ):
        state = forecasting.ForecastState(**own)  # type: ignore[arg-type]
        for first in (0, 128):
            end = 128 if first == 0 else 300
            arrays = {
                name: {key: value[first:end] for key, value in array.items()}
                if isinstance(array, dict)
                else array[first:end]
                for name, array in forecast.items()
            }
            state.update(Y[first:end], start=first, **arrays)
        levels = {name: value for name, value in own.items() if name == "levels"}
        expected = forecasting.evaluate(Y, **forecast, **levels, metrics="all")  # type: ignore[arg-type]
        assert_equal(state.evaluate(metrics="all"), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": 99}, "time steps 99 to 99 were counted before"),
        ({"std": None}, "form is 'point'"),
        ({"y_true": Y[:50, :2], "y_pred": Y[:50, :2], "std": STD[:50, :2], "mask": None}, "horizons is 2"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(change: dict[str, Any], words: str) -> None:
    state = forecasting.ForecastState().update(**part(0, 100))
    before = state.compute()
    with pytest.raises(InputError, match=words):
        state.update(**{**part(100, 150), **change})
    assert state.compute() == before


def test_states_that_share_steps_do_not_merge() -> None:
    one, two = (forecasting.ForecastState().update(**part(first, first + 60)) for first in (0, 59))
    with pytest.raises(InputError, match="time steps 59 to 59 were counted before"):
        one.merge(two)


def test_other_names_of_nodes_do_not_merge() -> None:
    one, two = (
        forecasting.ForecastState(labels={"node": names}).update(**part(first, first + 10))
        for names, first in ((list("abcd"), 0), (list("abce"), 10))
    )
    with pytest.raises(InputError, match="labels of node"):
        one.merge(two)


def test_empty_and_narrow_states() -> None:
    with pytest.raises(OptionError, match="the state is empty"):
        forecasting.ForecastState().evaluate()
    state = forecasting.ForecastState(metrics=["mae"]).update(Y, MEAN, std=STD, start=0)
    assert list(state.evaluate()) == ["mae"]
    with pytest.raises(OptionError, match="crps was not summed"):
        state.evaluate(metrics=["crps"])


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    forecasting.ForecastState().update(**part(0, 50)).save(path)
    content = dict(np.load(path))
    content["horizon.high"] = content["horizon.high"] * 2
    np.savez(path, **content)
    with pytest.raises(InputError, match="was changed"):
        forecasting.ForecastState.load(path)


def test_parts_of_wide_arrays_have_the_blocks_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=(200, 1, 20_000)).astype("f4")
    mean = y + rng.normal(size=y.shape).astype("f4")
    expected = forecasting.evaluate(y, mean, metrics=["mae", "rmse"])
    state = forecasting.ForecastState(metrics=["mae", "rmse"])
    for first in (0, 77):
        some = slice(first, 77 if first == 0 else 200)
        state.update(y[some], mean[some], start=first)
    found = state.evaluate()
    for key in expected:
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-14)
        assert tuple(found[key].interval) == pytest.approx(tuple(expected[key].interval), rel=1e-9)
