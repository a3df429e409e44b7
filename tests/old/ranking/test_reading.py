"""Results are computed when they are read: in any order, by any thread, whatever happens to the input meanwhile."""

from __future__ import annotations

import threading
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import OptionError
from graphgauge.old.core.evaluation import Deferred, Evaluation
from graphgauge.old.core.result import Result
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.ties import TIES

POOLED = ["mrr", "roc_auc", "average_precision", "pooled_hits@2", "median_rank", "hits"]


def matrix(seed: int, queries: int = 12) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "pos_scores": random.integers(0, 6, queries) / 5,
        "neg_scores": random.integers(0, 6, (queries, 4)) / 5,
        "cluster": random.integers(0, 4, queries),
    }


def flat(seed: int, queries: int = 12) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "scores": random.integers(0, 6, 5 * queries) / 5,
        "labels": np.tile([1, 0, 0, 1, 0], queries),
        "queries": np.repeat(np.arange(queries), 5),
    }


def options(form: str, seed: int) -> dict[str, Any]:
    """Arguments of one form, with fresh arrays."""
    if form == "flat":
        return flat(seed)
    given = matrix(seed)
    if form == "grouped":
        given["groups"] = {"side": np.arange(12) % 3}
    if form == "pooled":
        given["metrics"] = POOLED
    if form == "matrix":
        del given["cluster"]
    return given


FORMS = ("matrix", "clustered", "grouped", "pooled", "flat")


def content(result: Result) -> dict[str, str]:
    """Everything a result says; floats by their repr, which has all bits, and NaN equal to itself."""
    return {field.name: repr(getattr(result, field.name)) for field in fields(result) if field.name != "breakdowns"}


def contents(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    return {key: content(result) for key, result in evaluation.items()}


@given(st.data())
def test_the_order_of_reading_changes_nothing(data: st.DataObject) -> None:
    form, ties = data.draw(st.sampled_from(FORMS)), data.draw(st.sampled_from(TIES))
    seed = data.draw(st.integers(0, 99))
    in_order = contents(ranking.evaluate(**options(form, seed), ties=ties))
    evaluation = ranking.evaluate(**options(form, seed), ties=ties)
    assert list(evaluation) == list(in_order)
    order = data.draw(st.permutations(list(evaluation)))
    assert {key: content(evaluation[key]) for key in order} == in_order
    assert contents(evaluation) == in_order
    alone = data.draw(st.sampled_from(order))
    assert content(ranking.evaluate(**options(form, seed), ties=ties)[alone]) == in_order[alone]


@pytest.mark.parametrize("form", FORMS)
def test_a_result_is_computed_once(form: str) -> None:
    evaluation = ranking.evaluate(**options(form, 1))
    for key in evaluation:
        assert evaluation[key] is evaluation[key]
        assert evaluation.get(key) is evaluation[key]


@pytest.mark.parametrize("form", FORMS)
def test_two_threads_read_the_same_results(form: str) -> None:
    expected = contents(ranking.evaluate(**options(form, 2)))
    for _ in range(10):
        evaluation = ranking.evaluate(**options(form, 2))
        start, found = threading.Barrier(2), {}

        def read(
            name: str, keys: list[str], evaluation: Any = evaluation, start: Any = start, found: Any = found
        ) -> None:
            start.wait()
            found[name] = {key: content(evaluation[key]) for key in keys}

        keys = list(evaluation)
        threads = [threading.Thread(target=read, args=args) for args in (("forward", keys), ("backward", keys[::-1]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {"forward": expected, "backward": expected}


def spoil(value: Any) -> None:
    """Change an argument in place, as a training loop does that fills the same buffers again."""
    if isinstance(value, np.ndarray):
        value[...] = value[::-1].copy()
        value[:1] = 0
    elif isinstance(value, dict):
        for each in value.values():
            spoil(each)
    elif isinstance(value, list):
        value.clear()


@pytest.mark.parametrize("form", FORMS)
def test_what_the_caller_changes_afterwards_changes_nothing(form: str) -> None:
    expected = ranking.evaluate(**options(form, 3))
    before = contents(expected), expected.findings
    given, k = options(form, 3), [1, 3, 10]
    evaluation = ranking.evaluate(**given, k=k)
    for value in (*given.values(), k):
        spoil(value)
    assert (contents(evaluation), evaluation.findings) == before


@pytest.mark.parametrize("form", ["matrix", "clustered", "flat"])
def test_a_state_that_counts_on_does_not_change_its_evaluation(form: str) -> None:
    batch, later = options(form, 4), options(form, 5)
    if form == "flat":
        later["queries"] = later["queries"] + 100
    expected = contents(RankingState().update(**options(form, 4)).evaluate())
    state = RankingState().update(**batch)
    evaluation = state.evaluate()
    state.update(**later)
    state.evaluate()
    assert contents(evaluation) == expected
    evaluation = RankingState().update(**options(form, 4)).evaluate()
    state.reset()
    assert contents(evaluation) == expected


@pytest.mark.parametrize("name", ["hits", "ndcg", "adjusted_hits", "pooled_hits"])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("k", ["0", "-1", str(2**63), str(10**25), str(10**400)])
def test_a_cutoff_out_of_range_is_refused_by_evaluate(name: str, ties: str, k: str) -> None:
    with pytest.raises(OptionError, match="k must be a whole number"):
        ranking.evaluate([0.5], [[0.1, 0.2]], metrics=[f"{name}@{k}"], ties=ties)


@pytest.mark.parametrize("name", ["recall", "precision", "map", "ndcg"])
@pytest.mark.parametrize("k", ["0", str(2**63), str(10**400)])
def test_a_cutoff_out_of_range_is_refused_by_the_flat_form(name: str, k: str) -> None:
    with pytest.raises(OptionError, match="k must be a whole number"):
        ranking.evaluate(**flat(0), metrics=[f"{name}@{k}"])


@pytest.mark.parametrize("form", FORMS)
def test_the_largest_cutoff_is_a_number_like_any_other(form: str) -> None:
    evaluation = ranking.evaluate(**{**options(form, 6), "metrics": None}, k=2**63 - 1)
    assert evaluation[f"hits@{2**63 - 1}"].value == 1.0


def test_an_evaluation_computes_only_what_is_read() -> None:
    read: list[str] = []

    def compute(key: str) -> Result:
        read.append(key)
        return Result(key=key, metric=key, value=1.0, n=1, unit="item", direction="higher", bounds=(0, 1))

    evaluation = Evaluation("ranking", [Deferred(key, lambda key=key: compute(key)) for key in ("a", "b", "c")])
    assert list(evaluation) == ["a", "b", "c"]
    assert len(evaluation) == 3
    assert "b" in evaluation
    assert evaluation.get("d") is None
    assert read == []
    assert evaluation["b"].value == 1.0
    assert evaluation.get("b") is evaluation["b"]
    assert read == ["b"]
    assert evaluation.to_flat() == {"a": 1.0, "b": 1.0, "c": 1.0}
    assert sorted(read) == ["a", "b", "c"]
