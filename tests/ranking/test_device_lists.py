"""The flat form by the path of CUDA devices, on the host's tensors: the same results as by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.errors import GraphgaugeError
from graphgauge.kernels import device_lists
from graphgauge.ranking import RankingState, evaluate, lists
from graphgauge.ranking import device_lists as device_flat
from graphgauge.ranking.device_lists import DeviceLists, flat_tensors

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
METRICS = [
    f"{name}@{k}"
    for name in ("mrr_first", "hit_ratio", "precision", "recall", "map", "ndcg", "f1", "hits")
    for k in (1, 3, 10)
] + ["r_precision", "mrr", "median_rank"]


@pytest.fixture(autouse=True)
def _tensors_are_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lists, device_flat):
        monkeypatch.setattr(module, "is_cuda", torch.is_tensor)


def made(seed: int, queries: int, levels: int, dtype: str) -> dict[str, np.ndarray]:
    """Candidates with few distinct scores, in queries of any length, some of them without a positive."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(rng.permutation(1000)[:queries] - 500, rng.integers(1, 12, queries))
    scores = rng.integers(-levels, levels + 1, len(ids)).astype(dtype)
    if scores.dtype.kind == "f":
        scores[rng.random(len(ids)) < 0.05] = -np.inf
        scores[scores == 0] *= -1
    return {"scores": scores, "labels": rng.random(len(ids)) < 0.3, "queries": ids}


def there(given: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: torch.as_tensor(values, device=DEVICE) for name, values in given.items()}


def read(evaluation: Any) -> Any:
    found = {key: (result.value, result.n, result.interval, result.chance) for key, result in evaluation.items()}
    return found, evaluation.notes, [finding.message for finding in evaluation.findings]


@given(
    seed=st.integers(0, 999),
    queries=st.integers(1, 30),
    levels=st.integers(0, 6),
    shuffled=st.booleans(),
    ties=st.sampled_from(["realistic", "optimistic", "pessimistic", "expected"]),
    dtype=st.sampled_from(["float16", "float32", "float64", "int32", "int64"]),
    at_once=st.sampled_from([3, 1 << 27]),
)
def test_results_are_the_hosts(
    seed: int, queries: int, levels: int, shuffled: bool, ties: str, dtype: str, at_once: int
) -> None:
    flat = made(seed, queries, levels, dtype)
    if shuffled:
        order = np.random.default_rng(seed).permutation(len(flat["queries"]))
        flat = {name: values[order] for name, values in flat.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_lists, "_AT_ONCE", at_once)
        patch.setattr(device_lists, "_SORTED", at_once)
        device = evaluate(**there(flat), ties=ties, metrics=METRICS)
        assert repr(read(device)) == repr(read(evaluate(**flat, ties=ties, metrics=METRICS)))


def test_bfloat16_and_whole_labels_and_small_ids() -> None:
    flat = made(5, 40, 3, "float32")
    tensors = there(flat)
    tensors |= {
        "scores": tensors["scores"].bfloat16(),
        "labels": tensors["labels"].float(),
        "queries": tensors["queries"].short(),
    }
    assert flat_tensors(*(tensors[name] for name in ("scores", "labels", "queries"))) is not None
    assert repr(read(evaluate(**tensors))) == repr(read(evaluate(**flat)))


def test_counts_stay_where_they_are_until_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = made(1, 200, 50, "float32")
    state = RankingState().update(**there(flat))
    part = state._lists[0].lists
    assert isinstance(part, DeviceLists)
    found = state.evaluate(
        metrics=[
            key for key in METRICS if key not in ("r_precision", "mrr", "median_rank") and not key.startswith("hits")
        ]
    )
    assert all(result.value == result.value for result in found.values())
    assert not {"start", "length", "positives"} & vars(part).keys()
    assert state.n == int(flat["labels"].sum())


def test_states_of_devices_and_hosts_merge_and_are_saved(tmp_path: Any) -> None:
    flat, more = made(2, 30, 4, "float32"), made(3, 30, 4, "float32")
    more["queries"] += 5000
    whole = RankingState(keep="items").update(**flat).update(**more)
    parts = RankingState(keep="items").update(**there(flat)).merge(RankingState(keep="items").update(**more))
    parts.save(tmp_path / "state.npz")
    for state in (parts, RankingState.load(tmp_path / "state.npz")):
        assert repr(read(state.evaluate(metrics=METRICS))) == repr(read(whole.evaluate(metrics=METRICS)))


def test_later_updates_do_not_change_what_was_evaluated() -> None:
    flat, more = made(2, 30, 1, "float32"), made(3, 30, 4, "float32")
    more["queries"] += 5000
    state = RankingState().update(**there(flat))
    found = state.evaluate(metrics=["recall@3"])
    state.update(**there(more))
    assert repr(read(found)) == repr(read(RankingState().update(**flat).evaluate(metrics=["recall@3"])))


def test_pools_and_items_of_tensors() -> None:
    flat = made(7, 25, 9, "float32")
    names = ["roc_auc", "average_precision", "pooled_hits@3"]
    assert repr(read(evaluate(**there(flat), metrics=names))) == repr(read(evaluate(**flat, metrics=names)))
    items = np.arange(len(flat["queries"])) % 12
    given = {"items": items, "catalog": {"size": 12}, "metrics": ["coverage@3"]}
    assert repr(read(evaluate(**there(flat), **given))) == repr(read(evaluate(**flat, **given)))


@pytest.mark.parametrize("fault", ["NaN", "negative label", "NaN label", "grades", "lengths", "second axis", "twice"])
def test_the_host_looks_at_what_is_unusual(fault: str) -> None:
    flat = made(4, 20, 3, "float32")
    flat["labels"] = flat["labels"].astype(np.float32)
    changed = {
        "NaN": ("scores", np.nan),
        "negative label": ("labels", -1.0),
        "NaN label": ("labels", np.nan),
        "grades": ("labels", 2.0),
    }
    if fault in changed:
        name, value = changed[fault]
        flat[name][3] = value
    elif fault == "lengths":
        flat["labels"] = flat["labels"][1:]
    elif fault == "second axis":
        flat["scores"] = flat["scores"][:, None]
    said = []
    for arrays in (flat, there(flat)):
        state = RankingState()
        try:
            state.update(**arrays)
            if fault == "twice":
                state.update(**arrays)
            said.append(repr(read(state.evaluate())))
        except GraphgaugeError as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_many_positives_of_one_query() -> None:
    rng = np.random.default_rng(0)
    flat = {
        "scores": rng.integers(0, 900, 4000).astype("f4"),
        "labels": rng.random(4000) < 0.5,
        "queries": np.repeat([3, 1], [3000, 1000]),
    }
    assert repr(read(evaluate(**there(flat), metrics=METRICS))) == repr(read(evaluate(**flat, metrics=METRICS)))
