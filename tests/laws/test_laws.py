"""The laws that every metric declares, tried on every form of input."""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.cases import Case, Evaluation, Inputs, Metric, all_cases

from graphgauge.core.errors import InputError
from graphgauge.core.family import BUILT_IN
from graphgauge.core.metric import LAWS
from graphgauge.core.registry import metrics

CASES = all_cases()
over_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
over_families = pytest.mark.parametrize(
    "case", list({case.family: case for case in reversed(CASES)}.values()), ids=lambda case: case.name
)
over_mergeable = pytest.mark.parametrize(
    "case", [case for case in CASES if case.lawful("merge")], ids=lambda case: case.name
)
over_symmetric = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.lawful("symmetry")] or [None],
    ids=lambda case: case.name if case else "none",
)
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """No law depends on how well generated samples are recognised."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphgauge.generation.metrics.recognition._TREES", 5)
        yield


def bits(value: float) -> bytes:
    return b"nan" if math.isnan(value) else struct.pack("d", value)


def assert_same(found: Evaluation, expected: Evaluation, keys: Any) -> None:
    """Values to the last bit; bounds, which sum squares of floats, to rounding."""
    for key in keys:
        assert bits(found[key].value) == bits(expected[key].value), key
        assert found[key].n == expected[key].n, key
        assert (found[key].interval is None) == (expected[key].interval is None), key
        if found[key].interval is not None:
            assert tuple(found[key].interval) == pytest.approx(tuple(expected[key].interval), rel=1e-9, abs=1e-12), key


# ---------------------------------------------------------------- declarations


# Families whose laws are tested in their own room.
APART = ("prediction",)


@pytest.mark.parametrize(
    "metric",
    [each for family in BUILT_IN if family not in APART for each in metrics(family)],
    ids=lambda metric: f"{metric.family}-{metric.key}",
)
class TestDeclarations:
    def test_has_a_case(self, metric: Metric) -> None:
        assert any(case.family == metric.family and case.covers(metric) for case in CASES)

    def test_declares_every_law_or_says_why_not(self, metric: Metric) -> None:
        assert set(metric.laws) == set(LAWS)
        for law, holds in metric.laws.items():
            assert holds is True or (type(holds).__name__ == "Exempt" and len(holds.reason.split()) >= 3), law

    def test_declares_chance_and_interval_or_says_why_not(self, metric: Metric) -> None:
        assert callable(metric.chance) or (
            type(metric.chance).__name__ == "NoChance" and len(metric.chance.reason) > 10
        )
        assert callable(metric.interval) or (
            type(metric.interval).__name__ == "NoInterval" and len(metric.interval.reason) > 10
        )

    def test_is_documented(self, metric: Metric) -> None:
        assert metric.summary.endswith(".")
        assert metric.conventions
        assert "@" in metric.bibtex
        assert metric.bounds[0] < metric.bounds[1]
        assert (metric.direction == "target") == (metric.target is not None)


# ------------------------------------------------------------------- the values


def assert_sound(result: Any) -> None:
    low, high = result.bounds
    if not result.defined:
        assert result.n == 0
        assert result.reason
        assert result.interval is None
        assert result.no_interval
        return
    assert low <= result.value <= high, result
    assert result.n > 0
    assert result.reason is None
    if result.interval is None:
        assert result.no_interval
    else:
        assert low <= result.interval.low <= result.value <= result.interval.high <= high, result
        # Only between order statistics may an interval have no width: what is equal up to rounding has no interval.
        width = result.interval.high - result.interval.low
        assert width > 1e-13 * max(abs(result.value), 1e-300) or result.interval.method == "woodruff", result
        assert result.interval.level == 0.95
        assert result.interval.method
        assert result.interval.over
    for chance in result.references:
        assert chance.name
        assert low <= chance.value <= high, result


@over_cases
@given(data=st.data())
def test_values_intervals_and_chance_lie_in_bounds(case: Case, data: st.DataObject) -> None:
    evaluation = case.evaluate(data.draw(case.inputs()))
    assert list(evaluation) == list(case.entries)
    for key, metric in case.entries.items():
        assert_sound(evaluation[key])
        if evaluation[key].defined:
            assert bool(evaluation[key].references) == callable(metric.chance)
            assert (metric.interval is not None) or evaluation[key].interval is None


@over_cases
def test_empty_is_nan_with_a_reason(case: Case) -> None:
    evaluation = case.evaluate(case.empty())
    for key in case.entries:
        assert not evaluation[key].defined, key
        assert_sound(evaluation[key])


@over_cases
@given(data=st.data(), rng=seeds)
def test_nan_is_refused_by_name_count_and_place(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    places = case.score_places(inputs)
    if not places:
        return  # lists of items have no scores
    argument, index = places[rng.integers(len(places))]
    spoiled = inputs[argument].copy()
    spoiled[index] = math.nan
    with pytest.raises(InputError) as caught:
        case.evaluate(inputs | {argument: spoiled})
    assert caught.value.where == argument
    assert caught.value.what.startswith("1 of ")
    assert caught.value.what.endswith(f"at index {index[0] if len(index) == 1 else index}")


@over_cases
@given(data=st.data())
def test_inputs_are_left_unchanged(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs())
    before = {name: value.copy() for name, value in inputs.items() if isinstance(value, np.ndarray)}
    case.evaluate(inputs)
    for name, value in before.items():
        assert inputs[name].tobytes() == value.tobytes(), name
        assert inputs[name].flags.writeable, name


@over_cases
@given(data=st.data(), rng=seeds)
def test_order_of_items_does_not_matter(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    expected, found = case.evaluate(inputs), case.evaluate(case.permuted(inputs, rng))
    assert_same(found, expected, case.lawful("permutation"))


@over_cases
@given(data=st.data(), rng=seeds)
def test_better_input_never_scores_worse(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    better = case.improved(inputs, rng)
    before, after = case.evaluate(inputs), case.evaluate(better)
    for key, metric in case.lawful("monotone").items():
        if not case.precondition("monotone", metric, inputs, better):
            continue
        old, new = before[key].value, after[key].value
        assert math.isnan(old) == math.isnan(new), key
        if math.isnan(old) or metric.direction == "none":
            continue
        if metric.direction == "target":
            assert metric.target is not None
            assert abs(new - metric.target) <= abs(old - metric.target) + 1e-12, key
        else:
            gain = new - old if metric.direction == "higher" else old - new
            assert gain >= -1e-12 * max(1.0, abs(old)), key


@over_symmetric
@given(data=st.data())
def test_truth_and_prediction_may_be_exchanged(case: Case | None, data: st.DataObject) -> None:
    if case is None:
        return  # no family so far declares a symmetric metric
    inputs = data.draw(case.inputs())
    expected, found = case.evaluate(inputs), case.evaluate(case.swapped(inputs))
    for key in case.lawful("symmetry"):
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-12, nan_ok=True), key


# ------------------------------------------------------------------------ states


@over_mergeable
@given(data=st.data(), rng=seeds)
def test_sharding_gives_the_same_bits(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    shards = case.split(inputs, int(rng.integers(1, 4)), rng)
    merged = case.state(None)
    for place in rng.permutation(len(shards)):
        merged.merge(case.state(shards[place]))
    assert_same(case.evaluate_state(merged, inputs), case.evaluate(inputs), case.lawful("merge"))


@over_mergeable
@given(data=st.data(), rng=seeds)
def test_batches_give_the_same_bits(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    state = case.state(None)
    for shard in case.split(inputs, 3, rng):
        state.update(**case.whole(shard))
    assert_same(case.evaluate_state(state, inputs), case.evaluate(inputs), case.lawful("merge"))


@over_mergeable
@given(data=st.data(), rng=seeds)
def test_merging_is_associative(case: Case, data: st.DataObject, rng: np.random.Generator) -> None:
    inputs = data.draw(case.inputs())
    shards = case.split(inputs, 3, rng)
    a, b, c = (case.state(shard) for shard in shards)
    left = a.merge(b).merge(c)
    a, b, c = (case.state(shard) for shard in shards)
    right = a.merge(b.merge(c))
    assert_same(case.evaluate_state(left, inputs), case.evaluate_state(right, inputs), case.lawful("merge"))


@over_mergeable
@given(data=st.data())
def test_an_empty_state_is_neutral(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs())
    expected = case.evaluate(inputs)
    right, left = case.state(inputs).merge(case.state(None)), case.state(None).merge(case.state(inputs))
    for state in (right, left):
        assert_same(case.evaluate_state(state, inputs), expected, case.lawful("merge"))


@over_mergeable
@given(data=st.data())
def test_saving_and_loading_change_nothing(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs())
    state = case.state(inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        state.save(path)
        loaded = type(state).load(path)
    assert_same(case.evaluate_state(loaded, inputs), case.evaluate_state(state, inputs), case.lawful("merge"))


@over_mergeable
@given(data=st.data())
def test_a_reset_state_counts_anew(case: Case, data: st.DataObject) -> None:
    first, second = data.draw(case.inputs()), data.draw(case.inputs())
    state = case.state(first)
    state.reset()
    state.update(**case.whole(second))
    assert_same(case.evaluate_state(state, second), case.evaluate(second), case.lawful("merge"))


# ------------------------------------------------------------- what arrays may be


def memory_mapped(array: np.ndarray) -> np.ndarray:
    path = Path(tempfile.mkdtemp()) / "scores.npy"
    np.save(path, array)
    mapped = np.load(path, mmap_mode="r") if array.size else array
    path.unlink()  # the mapping keeps the data
    path.parent.rmdir()
    return mapped


def read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def tensor(dtype: str) -> Callable[[np.ndarray], Any]:
    def convert(array: np.ndarray) -> Any:
        torch = pytest.importorskip("torch")
        return torch.tensor(array).to(getattr(torch, dtype))

    return convert


def strided_tensor(array: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return torch.tensor(array, requires_grad=True).repeat_interleave(2, dim=0)[::2]


def as_dtype(dtype: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(dtype)


CONVERSIONS: dict[str, Callable[[np.ndarray], Any]] = {
    **{str(np.dtype(dtype)): as_dtype(dtype) for dtype in ("f2", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    "swapped float64": as_dtype(">f8"),
    "swapped float32": as_dtype(">f4"),
    "every other": lambda array: np.repeat(array, 2, axis=0)[::2],
    "backwards": lambda array: array[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "unaligned": lambda array: (
        np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(np.float64).reshape(array.shape)
    ),
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "list": np.ndarray.tolist,
    **{f"torch {name}": tensor(name) for name in ("float64", "float32", "float16", "bfloat16", "int64", "uint8")},
    "strided torch with gradient": strided_tensor,
}


@over_cases
@given(data=st.data(), conversions=st.lists(st.sampled_from(sorted(CONVERSIONS)), min_size=2, max_size=2))
def test_kind_of_array_does_not_matter(case: Case, data: st.DataObject, conversions: list[str]) -> None:
    inputs = data.draw(case.inputs())
    converted: Inputs = {
        name: CONVERSIONS[conversion](inputs[name]) for name, conversion in zip(case.scores, conversions, strict=False)
    }
    assert_same(case.evaluate(inputs | converted), case.evaluate(inputs), case.entries)


@over_cases
def test_each_kind_of_array(case: Case) -> None:
    """The forms of a family take turns, so that each kind of array goes through the family's door once."""
    of_family = [other for other in CASES if other.family == case.family]
    inputs = case.typical()
    expected = case.evaluate(inputs)
    for convert in list(CONVERSIONS.values())[of_family.index(case) :: len(of_family)]:
        converted = {name: convert(inputs[name]) for name in case.scores}
        assert_same(case.evaluate(inputs | converted), expected, case.entries)


# --------------------------------------------------------------- threads and forks


@over_families
def test_eight_threads_at_once(case: Case) -> None:
    inputs = case.large()
    expected = case.evaluate(inputs)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: case.evaluate(inputs), range(8)):
            assert_same(found, expected, case.entries)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@over_families
def test_after_a_fork(case: Case) -> None:
    inputs = case.large()
    before = case.evaluate(inputs)  # the parent's threads have worked
    expected = {key: before[key].value for key in case.entries}
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            evaluation = case.evaluate(inputs)
            values = [evaluation[key].value for key in case.entries]
            os.write(writer, struct.pack(f"{len(values)}d", *values))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        # A lock that a thread of the parent held waits for ever; that is a failure and not a suite that hangs.
        if not select.select([stream], [], [], 60)[0]:
            os.kill(child, signal.SIGKILL)
        answer = stream.read()
    os.waitpid(child, 0)
    assert len(answer) == 8 * len(expected), "the child gave no answer"
    for (key, value), found in zip(expected.items(), struct.unpack(f"{len(expected)}d", answer), strict=True):
        assert bits(found) == bits(value), key
