"""An update that fails leaves no trace: counts, ids, labels, clusters and layout are those of the good ones."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.old.core.state import load_state
from graphgauge.ranking import RankingState

Batch = dict[str, Any]


def matrix(rng: np.random.Generator, rows: int, *, groups: bool, cluster: bool, start: int) -> Batch:
    batch: Batch = {"pos_scores": rng.normal(size=rows), "neg_scores": rng.normal(size=(rows, 4))}
    if groups:
        batch["groups"] = {"side": rng.choice(["head", "tail"], rows)}
    return batch | ({"cluster": rng.integers(0, 5, rows)} if cluster else {})


def flat(rng: np.random.Generator, rows: int, *, groups: bool, cluster: bool, start: int) -> Batch:
    queries = np.repeat(np.arange(start, start + rows), 4)
    batch: Batch = {"scores": rng.normal(size=4 * rows), "labels": np.tile([1, 0, 1, 0], rows), "queries": queries}
    if groups:
        batch["groups"] = {"side": np.repeat(rng.choice(["head", "tail"], rows), 4)}
    return batch | ({"cluster": np.repeat(rng.integers(0, 5, rows), 4)} if cluster else {})


def _changed(batch: Batch, name: str, change: Callable[[Any], Any]) -> Batch:
    return batch | {name: change(np.array(batch[name]))} if name in batch else batch | {"nan": "ignore"}


def _spoiled_first(values: Any) -> Any:
    values = values.astype(float)
    values[-1] = np.nan
    return values


# Each makes a good batch into one that is refused, at another step of the way.
FAULTS: dict[str, Callable[[Batch], Batch]] = {
    "nan in the last score": lambda b: _changed(b, "neg_scores" if "neg_scores" in b else "scores", _spoiled_first),
    "nan in the last positive": lambda b: _changed(b, "pos_scores", _spoiled_first),
    "labels of 3": lambda b: _changed(b, "labels", lambda v: np.full(len(v), "3")),
    "one label short": lambda b: b | {"groups": {"side": np.array(["new"])}},
    "numbers for text": lambda b: b | {"groups": {"side": np.arange(len(next(iter(b.values()))))}},
    "another axis": lambda b: b | {"groups": {"other": np.zeros(len(next(iter(b.values()))), int)}},
    "text clusters": lambda b: b | {"cluster": np.full(len(next(iter(b.values()))), "x")},
    "short clusters": lambda b: b | {"cluster": np.array([77])},
    "ids too few": lambda b: b | {"ids": np.array([5, 6, 7, 8, 9, 10, 11])},
    "weights below 0": lambda b: b | {"weights": np.full(len(next(iter(b.values()))), -1.0)},
    "both forms": lambda b: b | ({"scores": [1.0]} if "pos_scores" in b else {"pos_scores": [1.0]}),
    "wrong policy": lambda b: b | {"nan": "ignore"},
}


def content(state: RankingState) -> tuple[dict[str, Any], dict[str, Any]]:
    stream = io.BytesIO()
    state.save(stream)
    stream.seek(0)
    _, facts, arrays = load_state(stream)
    return {name: value for name, value in facts.items() if name != "shards"}, {
        name: values.tolist() for name, values in arrays.items()
    }


@pytest.mark.parametrize("form", [matrix, flat])
@given(
    kinds=st.lists(st.sampled_from(["good", *FAULTS]), min_size=1, max_size=7),
    groups=st.booleans(),
    cluster=st.booleans(),
    keep=st.sampled_from([None, "items"]),
    pooled=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_failed_update_leaves_no_trace(
    form: Callable[..., Batch], kinds: list[str], groups: bool, cluster: bool, keep: str | None, pooled: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    state, expected = (RankingState(keep=keep, pooled=pooled) for _ in range(2))
    for place, kind in enumerate(kinds):
        batch = form(rng, int(rng.integers(2, 5)), groups=groups, cluster=cluster, start=10 * place)
        for given_batch in [batch] if kind == "good" else [FAULTS[kind](batch), batch]:
            before = content(state)
            try:
                state.update(**given_batch)
            except InputError as error:
                said = str(error)
                assert content(state) == before
                # A state that never saw a failure refuses it, too: failures do not accumulate.
                with pytest.raises(InputError) as raised:
                    copy.deepcopy(expected).update(**given_batch)
                assert str(raised.value) == said
            else:
                expected.update(**given_batch)
    assert content(state) == content(expected)
    assert state.evaluate().to_json() == expected.evaluate().to_json()
    if keep is not None and form is matrix:
        assert state.items().ids.tolist() == list(range(state.n))


def test_default_ids_pair_after_a_failed_update() -> None:
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(1, 1, 20), rng.normal(0, 1, (20, 4))
    first, second = RankingState(keep="items"), RankingState(keep="items")
    first.update(pos[:8], neg[:8])
    with pytest.raises(InputError):
        first.update(pos[8:], np.full((12, 4), np.nan))
    first.update(pos[8:], neg[8:])
    second.update(pos, neg)
    assert ranking.compare(first.items(), second.items()).mean_difference == 0


def test_ids_counted_twice_are_refused_when_they_come() -> None:
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(1, 1, 20), rng.normal(0, 1, (20, 4))
    state = RankingState(keep="items").update(pos[:12], neg[:12], ids=np.arange(12))
    before = content(state)
    with pytest.raises(InputError, match="11"):
        state.update(pos[11:], neg[11:], ids=np.arange(11, 20))
    with pytest.raises(InputError, match="twice"):
        state.update(pos[12:], neg[12:], ids=np.zeros(8, int) + 30)
    assert content(state) == before
    other = RankingState(keep="items").update(pos[8:], neg[8:], ids=np.arange(8, 20))
    with pytest.raises(InputError, match="8"):
        state.merge(other)
    assert content(state) == before
    state.update(pos[12:], neg[12:], ids=np.arange(12, 20))
    assert state.items().ids.tolist() == list(range(20))
