"""Streams and shards: the same bits however the time steps are dealt out, and no interval without an order."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forecasting.conftest import Forecasts, calibrated

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Evaluation
from graphgauge.forecasting import ForecastState
from graphgauge.forecasting.rows import Once

COUNTS = (
    "coverage_50",
    "coverage_80",
    "coverage_95",
    "calibration_error",
    "central_calibration_error",
    "miscalibration_area",
)


def parts_of(arguments: dict[str, Any], edges: list[int]) -> list[dict[str, Any]]:
    return [
        {name: array[first:last] for name, array in arguments.items()} | {"start": first}
        for first, last in pairwise(edges)
    ]


def streamed(arguments: dict[str, Any], edges: list[int], order: Any = None) -> Evaluation:
    states = [ForecastState().update(**part) for part in parts_of(arguments, edges)]
    merged = ForecastState()
    for place in range(len(states)) if order is None else order:
        merged.merge(states[place])
    return merged.evaluate()


def ulps(one: float, other: float) -> float:
    return abs(one - other) / math.ulp(max(abs(one), abs(other)))


@given(st.lists(st.integers(0, 500), max_size=6), st.randoms(use_true_random=False))
def test_any_sharding(cuts: list[int], random: Any) -> None:
    """Counts to the last bit, sums within an ulp, intervals likewise, whatever the shards and their order."""
    data = calibrated(21, 500, 2, 3)
    rng = np.random.default_rng(0)
    arguments = data.arguments | {"mask": rng.random(data.y.shape) < 0.8}
    # Values of all sizes, so that sums lose something in every order.
    arguments["y_true"] = arguments["y_true"] * 10.0 ** rng.integers(-6, 7, data.y.shape)
    whole = forecasting.evaluate(**arguments)
    edges = [0, *sorted(cuts), 500]
    order = list(range(len(edges) - 1))
    random.shuffle(order)
    found = streamed(arguments, edges, order)
    for key, result in whole.items():
        if key in COUNTS:
            assert found[key].value == result.value, key
            assert found[key].n == result.n
        elif key not in ("ece", "ence"):
            assert ulps(found[key].value, result.value) <= 1, key
        if result.interval is not None:
            assert tuple(found[key].ci) == pytest.approx(tuple(result.ci), rel=1e-9, abs=1e-12), key
    for axis in ("horizon", "node"):
        for key in ("mae", "nll", "coverage_95"):
            np.testing.assert_array_max_ulp(found.by(axis)[key], whole.by(axis)[key], 1)


def test_sums_are_those_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(22)
    y = rng.normal(size=3000) * 10.0 ** rng.integers(-12, 13, 3000)
    mean = rng.normal(size=3000) * 10.0 ** rng.integers(-12, 13, 3000)
    assert forecasting.mae(y, mean) == math.fsum(np.abs(mean - y)) / 3000
    assert forecasting.bias(y, mean) == math.fsum(mean - y) / 3000
    assert forecasting.rmse(y, mean) == math.sqrt(math.fsum((mean - y) ** 2) / 3000)


def test_long_series_in_blocks_of_time() -> None:
    """More steps than blocks: the blocks follow from the number of steps, not from the shards."""
    data = calibrated(23, 3_000, 1, 2)
    whole = forecasting.evaluate(**data.arguments)
    found = streamed(data.arguments, [0, 1, 700, 701, 2_999, 3_000], [3, 0, 4, 2, 1])
    assert whole.materials["cells"].blocks == found.materials["cells"].blocks == 188  # of 16 steps; of 8, too many
    assert tuple(found["rmse"].ci) == pytest.approx(tuple(whole["rmse"].ci), rel=1e-12)
    np.testing.assert_allclose(found["rmse"].by("node")["low"], whole["rmse"].by("node")["low"], rtol=1e-12)


def test_batches_without_a_place_in_time_have_no_interval(forecasts: Forecasts) -> None:
    whole = forecasting.evaluate(**forecasts.arguments)
    first, second = ({name: a[part] for name, a in forecasts.arguments.items()} for part in (slice(30), slice(30, 60)))
    states = (
        ForecastState().update(**first).update(**second),
        ForecastState().update(**first).merge(ForecastState().update(**second)),
        ForecastState().update(**first, start=0).update(**second),
    )
    for state in states:
        found = state.evaluate()
        assert found["mae"] == whole["mae"]
        assert found["mae"].interval is None
        assert found["mae"].no_interval.startswith("the order of the batches in time is not known")
        assert "mae.low" not in found.by("node").columns
    alone = ForecastState().update(**forecasts.arguments).merge(ForecastState()).evaluate()
    assert alone["mae"].ci == whole["mae"].ci
    empty = {name: a[:0] for name, a in forecasts.arguments.items()}
    assert ForecastState().update(**empty).update(**forecasts.arguments).evaluate()["mae"].ci == whole["mae"].ci


def test_many_groups_are_not_followed_in_time() -> None:
    """Blocks of time are kept where there is room for them: some for 1,000 nodes, one for 5,000."""
    rng = np.random.default_rng(24)
    for nodes, followed in ((1_000, True), (5_000, False)):
        y, mean = rng.normal(size=(2, 40, nodes))
        found = forecasting.evaluate(y, mean, axes=("time", "node"), metrics=["mae"])
        assert found["mae"].interval is not None
        np.testing.assert_allclose(found.by("node")["mae"], np.abs(y - mean).mean(axis=0), rtol=1e-12)
        assert ("mae.low" in found.by("node").columns) == followed


def test_errors_of_different_points_are_said_to_be_as_given(forecasts: Forecasts) -> None:
    samples = forecasts.mean[..., None] + np.array([-1.0, 0.5])
    given = ForecastState().update(forecasts.y, forecasts.mean, samples=samples, start=0)
    own = ForecastState().update(forecasts.y, samples=samples, start=60)
    assert own.evaluate().conventions["errors of"] == "the members' mean"
    assert "errors of" not in given.evaluate().conventions
    assert given.merge(own).evaluate().conventions["errors of"] == "as given"


def test_nothing_counts_twice(forecasts: Forecasts) -> None:
    one = ForecastState(shard="a").update(**forecasts.arguments, start=0)
    with pytest.raises(InputError, match="both states hold the shard 'a'"):
        one.merge(ForecastState(shard="a").update(**forecasts.arguments, start=60))
    assert one.n == forecasts.y.size


def test_a_bad_batch_leaves_the_state_as_it_was(forecasts: Forecasts) -> None:
    state = ForecastState().update(**forecasts.arguments, start=0)
    spoiled = forecasts.y.copy()
    spoiled[-1, -1, -1] = np.nan
    with pytest.raises(InputError):
        state.update(spoiled, forecasts.mean, std=forecasts.std, start=60)
    assert state.n == forecasts.y.size
    assert state.evaluate()["crps"] == forecasting.crps(forecasts.y, forecasts.mean, forecasts.std)


def test_batches_have_to_be_of_one_kind(forecasts: Forecasts) -> None:
    state = ForecastState().update(**forecasts.arguments)
    with pytest.raises(InputError, match="form 'point' meets 'gaussian'"):
        state.update(forecasts.y, forecasts.mean)
    with pytest.raises(InputError, match="nodes 4 meets 5"):
        state.update(forecasts.y[..., :4], forecasts.mean[..., :4], std=forecasts.std[..., :4])
    with pytest.raises(InputError, match="differ in axes, coverage, nodes or naive"):
        state.merge(ForecastState(coverage=0.9))
    with pytest.raises(TypeError):
        state.merge(3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="has counted nothing"):
        ForecastState().evaluate()
    for start in (-1, 1.5, True):
        with pytest.raises(OptionError, match="start must be"):
            state.update(**forecasts.arguments, start=start)


def test_only_what_is_asked_for_is_counted(forecasts: Forecasts) -> None:
    state = ForecastState(metrics=["mae", "coverage_95"]).update(**forecasts.arguments)
    whole = forecasting.evaluate(**forecasts.arguments)
    for key in ("mae", "rmse", "coverage_95"):
        assert state.evaluate(metrics=[key])[key] == whole[key]
    for key in ("nll", "interval_score_95", "calibration_error", "ece"):
        with pytest.raises(OptionError, match=f"{key} was not counted"):
            state.evaluate(metrics=[key])
    with pytest.raises(OptionError, match="mape was not counted"):
        state.evaluate()
    with pytest.raises(OptionError, match="mase needs naive="):
        state.evaluate(metrics=["mase"])
    assert state.evaluate(metrics=["mae"])["mae"].chance == ()
    spelled = ForecastState(metrics="coverage_90").update(**forecasts.arguments).evaluate(metrics="coverage_90")
    assert spelled["coverage_90"] == forecasting.coverage(*forecasts.arguments.values(), level=0.9)["coverage"]
    narrow = forecasting.evaluate(**forecasts.arguments, metrics=["mae", "crps"])
    assert narrow["crps"] == whole["crps"]
    assert narrow["mae"].chance == whole["mae"].chance


def test_rows_in_any_order(forecasts: Forecasts) -> None:
    whole = forecasting.evaluate(**forecasts.arguments, naive=np.arange(10.0).reshape(2, 5))
    step, horizon, node = (index.ravel() for index in np.indices(forecasts.y.shape))
    for order in (np.arange(forecasts.y.size), np.random.default_rng(0).permutation(forecasts.y.size)):
        state = ForecastState(naive=np.arange(10.0).reshape(2, 5))
        for part in np.array_split(order, 3):
            cells = [array.ravel()[part] for array in (forecasts.y, forecasts.mean, forecasts.std)]
            state.update_rows(step[part], horizon[part], node[part], *cells, shape=forecasts.y.shape)
        found = state.evaluate()
        for key in whole:
            if key not in ("ece", "ence"):
                assert ulps(found[key].value, whole[key].value) <= 1, key
                assert found[key].ci == whole[key].ci or tuple(found[key].ci) == pytest.approx(tuple(whole[key].ci))
        np.testing.assert_array_max_ulp(found.by("node")["rmse"], whole.by("node")["rmse"], 1)


def test_rows_have_a_place() -> None:
    cells: dict[str, Any] = {"y_true": [1.0, 2.0], "y_pred": [1.0, 3.0], "shape": (2, 1, 1)}
    found = ForecastState().update_rows([0, 1], [0, 0], [0, 0], **cells).evaluate()
    assert (found["mae"].value, found.notes) == (0.5, ())
    holes = ForecastState().update_rows([0, 1], [0, 0], [0, 0], **cells | {"y_true": [np.nan, 2.0]}, nan="omit")
    assert holes.evaluate().notes == ("1 cells with NaN were left out",)
    with pytest.raises(InputError, match="step: places from 0 to 2 where there are 2"):
        ForecastState().update_rows([0, 2], [0, 0], [0, 0], **cells)
    with pytest.raises(InputError, match="horizon: expected shape"):
        ForecastState().update_rows([0, 1], [0], [0, 0], **cells)
    with pytest.raises(InputError, match="node: expected whole numbers, found float64"):
        ForecastState().update_rows([0, 1], [0, 0], [0.0, 0.5], **cells)
    with pytest.raises(InputError, match="ahead: a horizon is named twice"):
        ForecastState(ahead=[3, 3])


def test_saved_states(forecasts: Forecasts, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    samples = forecasts.mean[..., None] + np.random.default_rng(0).normal(size=(*forecasts.y.shape, 9))
    for state in (
        ForecastState(nodes=list("abcde"), ahead=[3, 6, 9, 12], naive=np.ones(5)).update(**forecasts.arguments),
        ForecastState(coverage=0.5).update(forecasts.y, samples=samples, start=7),
        ForecastState(),
    ):
        state.save(path)
        loaded = ForecastState.load(path)
        if state.layout is not None:
            assert loaded.evaluate().to_dict() == state.evaluate().to_dict()
            with pytest.raises(InputError, match="both states hold"):
                loaded.merge(state)
    assert ForecastState.load(path).update(**forecasts.arguments).n == forecasts.y.size


def test_a_damaged_state_is_refused(forecasts: Forecasts, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    ForecastState().update(**forecasts.arguments).save(path)
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    for name, change in {
        "horizon.counts": lambda a: -a,
        "horizon.high": lambda a: a[:, :1],
        "node.low": lambda a: a * np.nan,
        "horizon.shift": lambda a: a + 100,
        "pit.node": lambda a: a[1:],
        "spread.count": lambda a: a[1:],
        "spread.groups": lambda a: a[1:],
        "header": lambda a: np.frombuffer(a.tobytes().replace(b"gaussian", b"gaussien"), np.uint8),
    }.items():
        np.savez(path, **(content | {name: change(content[name])}))
        with pytest.raises(InputError, match="damaged"):
            ForecastState.load(path)
    ForecastState(coverage=0.5).update(forecasts.y, samples=np.stack([forecasts.mean] * 4, -1)).save(path)
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    for row, number in ((0, 4), (1, 5), (2, 5), (3, 0)):  # groups, members below, members equal, cells
        ranks = content["ranks.horizon"].copy()
        ranks[row, 0] = number
        np.savez(path, **(content | {"ranks.horizon": ranks}))
        with pytest.raises(InputError, match="damaged"):
            ForecastState.load(path)
    path.write_bytes(b"PK nonsense")
    with pytest.raises(InputError, match="not a saved graphgauge state"):
        ForecastState.load(path)


def test_cells_that_come_up_again() -> None:
    once = Once((3, 2, 5))
    step, horizon, node = (np.array(places) for places in ([0, 2, 0], [0, 1, 0], [1, 4, 2]))
    assert once.again(step, horizon, node).size == 0
    assert once.again(step[::-1], horizon[::-1], node[::-1]).tolist() == [0, 1, 2]
    assert once.again(np.array([1, 1, 0]), np.array([1, 1, 0]), np.array([3, 3, 0])).tolist() == [1]
