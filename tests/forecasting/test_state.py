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
from graphgauge.forecasting import ForecastState
from graphgauge.old.core.result import Evaluation

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


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 300)), min_size=1, max_size=5),
    st.sampled_from([0, 7, 27_418, 100_000, 1 << 39]),
    st.randoms(use_true_random=False),
)
def test_blocks_follow_from_the_set_of_steps(parts: list[tuple[int, int]], first: int, random: Any) -> None:
    """Late starts and gaps: the same blocks, values and intervals in any order, as if the state saw them in one go."""
    rng = np.random.default_rng(len(parts))
    at, states = first, []
    for gap, steps in parts:
        y, mean = rng.normal(size=(2, steps, 1, 2))
        states.append((at + gap, y, mean))
        at += gap + steps
    in_order = ForecastState(metrics=["mae"])
    for start, y, mean in states:
        in_order.update(y, mean, start=start)
    random.shuffle(states)
    merged = ForecastState(metrics=["mae"])
    for start, y, mean in states:
        merged.merge(ForecastState(metrics=["mae"]).update(y, mean, start=start))
    for name in ("by_horizon", "by_node"):
        one, two = getattr(in_order, name), getattr(merged, name)
        assert (one.shift, one.at.tolist(), one.counts.tolist()) == (two.shift, two.at.tolist(), two.counts.tolist())
    steps = np.concatenate([np.arange(len(y)) + start for start, y, _ in states])
    shift = next(s for s in range(48) if len(np.unique(steps >> s)) <= 256)
    assert in_order.by_horizon.at.tolist() == np.unique(steps >> shift).tolist()
    found, again = in_order.evaluate(metrics=["mae"])["mae"], merged.evaluate(metrics=["mae"])["mae"]
    assert ulps(found.value, again.value) <= 1
    assert (found.interval is None) == (again.interval is None)
    if found.interval is not None:
        assert tuple(again.ci) == pytest.approx(tuple(found.ci), rel=1e-9)


def test_time_begins_where_the_steps_do(forecasts: Forecasts) -> None:
    """With a block a step, an evaluation does not depend on the number of its first step, nor on gaps."""
    whole = forecasting.evaluate(**forecasts.arguments)
    for start in (1, 27_418, 100_000, (1 << 40) - 100):
        late = ForecastState().update(**forecasts.arguments, start=start).evaluate()
        for key in ("mae", "rmse", "coverage_95", "crps"):
            assert late[key].ci == whole[key].ci
        np.testing.assert_array_equal(late.by("node")["mae.low"], whole.by("node")["mae.low"])
    first, second = ({name: a[part] for name, a in forecasts.arguments.items()} for part in (slice(30), slice(30, 60)))
    apart = ForecastState().update(**second, start=90_000).update(**first, start=3).evaluate()
    assert tuple(apart["mae"].ci) == pytest.approx(tuple(whole["mae"].ci), rel=1e-12)


def test_steps_count_once(forecasts: Forecasts) -> None:
    """Whole, in part, at either end, in one state or in two; steps without a place are nobody's."""
    arguments = forecasts.arguments
    for start, shared in ((100, "100 to 159"), (41, "100 to 100"), (159, "159 to 159"), (130, "130 to 159")):
        state = ForecastState().update(**arguments, start=100)
        with pytest.raises(InputError, match=f"start: time steps {shared} were already counted"):
            state.update(**arguments, start=start)
        with pytest.raises(InputError, match=f"time steps {shared} were already counted"):
            state.merge(ForecastState().update(**arguments, start=start))
        assert state.n == forecasts.y.size
    state = ForecastState().update(**arguments, start=100).update(**arguments, start=40).update(**arguments, start=300)
    assert state.seen.ranges == [(40, 160), (300, 360)]
    with pytest.raises(InputError, match="time steps 300 to 300 were already counted"):
        state.update(**arguments, start=241)
    assert state.update(**arguments).n == 4 * forecasts.y.size
    empty = {name: array[:0] for name, array in arguments.items()}
    assert state.update(**empty, start=100).n == 4 * forecasts.y.size


def test_masked_and_unmasked_do_not_meet(forecasts: Forecasts, tmp_path: Path) -> None:
    """A null value or a mask of some parts only is refused, in a stream, in a merge and from a file."""
    y, mean = forecasts.y, forecasts.mean
    readings: list[dict[str, Any]] = [
        {},
        {"null_value": 0},
        {"null_value": -1.5},
        {"null_value": np.nan},
        {"mask": np.ones(y.shape, bool)},
    ]
    for one in readings:
        for other in readings:
            state = ForecastState().update(y, mean, start=0, **one)
            state.save(tmp_path / "state.npz")
            later = ForecastState().update(y, mean, start=60, **other)
            doors = [
                lambda state=state, other=other: state.update(y, mean, start=60, **other),
                lambda later=later: ForecastState.load(tmp_path / "state.npz").merge(later),
            ]
            for door in doors:
                if one is other:
                    assert door().n == 2 * y.size
                    continue
                with pytest.raises(InputError, match="differs from") as refused:
                    door()
                assert "Give every part" in str(refused.value)


def test_how_parts_were_read_is_said(forecasts: Forecasts, tmp_path: Path) -> None:
    y = np.where(forecasts.y > 12, 0, forecasts.y)
    whole = forecasting.evaluate(y, forecasts.mean, null_value=0)
    states = [
        ForecastState().update(y, forecasts.mean, null_value=0.0),
        ForecastState(null_value=0).update(y, forecasts.mean),
        ForecastState(null_value=0).merge(ForecastState().update(y, forecasts.mean, null_value=-0.0)),
    ]
    states[0].save(tmp_path / "state.npz")
    for state in (*states, ForecastState.load(tmp_path / "state.npz")):
        found = state.evaluate()
        assert found.conventions == whole.conventions
        assert found["mae"].value == whole["mae"].value
    assert whole.conventions["null_value"] == "0"
    assert forecasting.evaluate(y, forecasts.mean, mask=y > 0).conventions["mask"] == "given"
    assert "mask" not in whole.conventions
    holes = ForecastState().update(np.where(y == 0, np.nan, y), forecasts.mean, nan="omit")
    assert holes.evaluate().conventions["nan"] == "omit"


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
    with pytest.raises(InputError, match="both states have the shard 'a'"):
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
    with pytest.raises(InputError, match="form 'point' differs from 'gaussian'"):
        state.update(forecasts.y, forecasts.mean)
    with pytest.raises(InputError, match="nodes 4 differs from 5"):
        state.update(forecasts.y[..., :4], forecasts.mean[..., :4], std=forecasts.std[..., :4])
    with pytest.raises(InputError, match="differ in axes, coverage, nodes, horizons or naive"):
        state.merge(ForecastState(coverage=0.9))
    with pytest.raises(TypeError):
        state.merge(3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="the state is empty"):
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


def test_a_horizon_is_named_once() -> None:
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
            with pytest.raises(InputError, match="both states have"):
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


def test_a_state_for_some_metrics_has_findings() -> None:
    """The check against the truth's mean needs sums that were not asked for, and is left out."""
    y = np.random.default_rng(0).normal(size=(40, 2, 3))
    state = ForecastState(metrics=["mae"]).update(y, -y)
    assert "no-better-than-the-mean" not in [each.check for each in state.evaluate(metrics=["mae"]).findings]
