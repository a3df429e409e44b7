"""Lists with several positives: labels per query, counts from elsewhere, kept items, weights, and filtered scores."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import RankingState

FLAT = {
    "scores": [0.9, 0.4, 0.8, 0.3, 0.7, 0.6],
    "labels": [1, 0, 0, 1, 1, 0],
    "queries": ["a", "b", "a", "b", "a", "a"],
}


def flat(seed: int, queries: int = 40, graded: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 30, queries)
    labels = (rng.random(size.sum()) < 0.3) * (rng.integers(1, 4, size.sum()) if graded else 1)
    labels[np.cumsum(size) - 1] = 1
    order = rng.permutation(size.sum())
    return {
        "scores": rng.integers(0, 40, size.sum())[order] / 8,
        "labels": labels[order],
        "queries": np.repeat(np.arange(queries), size)[order],
    }


# ---------------------------------------------------------------- conventions


def test_the_unit_says_what_is_counted() -> None:
    found = ranking.evaluate(**FLAT, k=1)
    assert {found[key].unit for key in ("mrr", "hits@1", "mean_rank", "median_rank", "amri")} == {"positive"}
    assert {found[key].n for key in ("mrr", "hits@1", "mean_rank", "median_rank", "amri")} == {3}
    for key in ("mrr_first", "hit_ratio@1", "recall@1", "precision@1", "map@1", "ndcg@1"):
        assert (found[key].n, found[key].unit) == (2, "query")
    pooled = ranking.evaluate(**FLAT, metrics=["roc_auc"])["roc_auc"]
    assert (pooled.n, pooled.unit) == (3, "positive")
    one = ranking.evaluate([0.5], [[0.4]])["mrr"]
    assert (one.n, one.unit) == (1, "query")


def test_first_relevant_is_not_per_positive() -> None:
    """One query, positives at places 1 and 4: per positive they are at 1 and 3 among the negatives."""
    found = ranking.evaluate(
        scores=[4, 3, 2, 1],
        labels=[1, 0, 0, 1],
        queries=[0, 0, 0, 0],
        k=2,
        metrics=["mrr", "mrr_first", "mrr_first@2", "hits@2", "hit_ratio@2"],
    )
    values = {key: result.value for key, result in found.items()}
    assert values == {"mrr": (1 + 1 / 3) / 2, "mrr_first": 1, "mrr_first@2": 1, "hits@2": 0.5, "hit_ratio@2": 1}


def test_long_ties_of_the_first_positive() -> None:
    """3 positives among 3,000 tied candidates: the mean over all places of the first, one by one."""
    size, positives = 3000, 3
    found = ranking.evaluate(
        scores=np.zeros(size),
        labels=np.arange(size) < positives,
        queries=np.zeros(size, int),
        metrics=["mrr_first", "hit_ratio@10"],
    )
    mean, none, missed = 0.0, 1.0, 1.0
    for place in range(1, size + 1):
        hit = positives / (size - place + 1) if size - place + 1 >= positives else 1.0
        mean += none * hit / place
        none *= 1 - hit
        missed = none if place == 10 else missed
    assert found["mrr_first"].value == pytest.approx(mean, rel=1e-12)
    assert found["hit_ratio@10"].value == pytest.approx(1 - missed, rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_graded_ndcg_is_that_of_scikit_learn(k: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    given = flat(3, graded=True)
    wanted = []
    for query in range(40):
        rows = given["queries"] == query
        wanted.append(metrics.ndcg_score([given["labels"][rows]], [given["scores"][rows]], k=k))
    found = ranking.evaluate(**given, k=k, metrics=["ndcg"])
    assert found[f"ndcg@{k}"].value == pytest.approx(np.mean(wanted), rel=1e-12)


# --------------------------------------------------------- labels of queries


@pytest.mark.parametrize("name", ["groups", "cluster", "weights"])
def test_one_value_per_score_per_query_or_by_id(name: str) -> None:
    def given(values: Any) -> dict[str, Any]:
        return {"groups": {"kind": values}} if name == "groups" else {name: values}

    per_score, per_query, by_id = [1, 2, 1, 2, 1, 1], [1, 2], {"a": 1, "b": 2, "unasked": 7}
    found = [ranking.evaluate(**FLAT, **given(values)).to_dict() for values in (per_score, per_query, by_id)]
    assert found[0]["results"] == found[1]["results"] == found[2]["results"]
    assert found[0]["breakdowns"] == found[1]["breakdowns"] == found[2]["breakdowns"]
    with pytest.raises(InputError, match=r"found 3 for 2 queries with 6 scores.*first occur"):
        ranking.evaluate(**FLAT, **given([1, 2, 3]))
    with pytest.raises(InputError, match="no label for query 'b'"):
        ranking.evaluate(**FLAT, **given({"a": 1}))
    with pytest.raises(InputError, match="differs within a query"):
        ranking.evaluate(**FLAT, **given([1, 2, 1, 2, 1, 3]))


def test_labels_follow_the_first_appearance_not_the_order_of_ids() -> None:
    found = ranking.evaluate(
        scores=[2, 1, 2, 1], labels=[1, 0, 0, 1], queries=[9, 9, 3, 3], groups={"kind": ["nine", "three"]}
    )
    assert dict(zip(found.by("kind")["kind"], found.by("kind")["mrr"], strict=True)) == {"nine": 1.0, "three": 0.5}


def test_labels_of_queries_survive_dropped_ones() -> None:
    found = ranking.evaluate(
        scores=[np.nan, 1, 2, 1, 5, 4],
        labels=[1, 0, 1, 0, 0, 1],
        queries=["c", "c", "a", "a", "b", "b"],
        nan="omit",
        groups={"kind": ["x", "y", "z"]},
        weights=[5, 1, 2],
        cluster=[0, 1, 2],
    )
    assert dict(zip(found.by("kind")["kind"], found.by("kind")["mrr_first"], strict=True)) == {"y": 1.0, "z": 0.5}
    assert found["mrr_first"].value == pytest.approx((1 * 1 + 2 * 0.5) / 3)


# ------------------------------------------------------------------- weights


@given(st.integers(0, 10_000))
def test_whole_weights_are_repetitions_in_every_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pos, neg, times = rng.integers(0, 9, 7), rng.integers(0, 9, (7, 5)), rng.integers(1, 4, 7)
    weighted = ranking.evaluate(pos, neg, weights=times)
    repeated = ranking.evaluate(np.repeat(pos, times), np.repeat(neg, times, axis=0))
    for key, result in weighted.items():
        assert result.value == pytest.approx(repeated[key].value, rel=1e-12, nan_ok=True), key
        assert result.n == 7 or np.isnan(result.value)
        assert result.interval is None or result.interval.over == "queries"


def test_error_of_a_weighted_mean_is_that_of_clusters_of_that_size() -> None:
    """A query of weight w errs as w queries that are always right or wrong together."""
    given = flat(5)
    weights = {query: 1 + query % 4 for query in range(40)}
    weighted = ranking.evaluate(**given, weights=weights)["recall@3"]
    rows = [
        np.flatnonzero(given["queries"] == query) for query in range(40) for _ in range(weights[query])
    ]  # each query as often as its weight
    copies = {name: np.concatenate([given[name][own] for own in rows]) for name in ("scores", "labels")}
    number = np.concatenate([np.full(len(own), index) for index, own in enumerate(rows)])
    cluster = [query for query in range(40) for _ in range(weights[query])]
    copied = ranking.evaluate(**copies, queries=number, cluster=cluster)["recall@3"]
    assert weighted.value == pytest.approx(copied.value, rel=1e-12)
    assert (weighted.interval.low, weighted.interval.high) == pytest.approx(
        (copied.interval.low, copied.interval.high), rel=1e-9
    )


def test_equal_weights_change_nothing_but_the_name_of_the_method() -> None:
    plain, weighted = ranking.evaluate(**flat(1)), ranking.evaluate(**flat(1), weights=np.full(40, 2.5))
    for key, result in plain.items():
        assert weighted[key].value == pytest.approx(result.value, rel=1e-12), key
    one, other = plain["recall@3"].interval, weighted["recall@3"].interval
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)


@pytest.mark.parametrize("weights", [[1, 0], [1, -1], [1, np.nan], [1, np.inf], [[1, 1]], [1]])
def test_weights_are_above_zero_and_one_per_query(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        ranking.evaluate([1, 2], [[0], [0]], weights=weights)
    with pytest.raises(InputError, match="weights"):
        ranking.evaluate(**FLAT, weights=weights)


def test_pooled_metrics_take_no_weights() -> None:
    for form in ({"pos_scores": [1.0], "neg_scores": [[0.0]]}, FLAT):
        with pytest.raises(OptionError, match="do not take weights"):
            ranking.evaluate(**form, weights=[1] * 2, metrics=["roc_auc"])


# ---------------------------------------------------- states, merging, files


def parts(given: dict[str, np.ndarray], count: int, **options: Any) -> list[RankingState]:
    owner = given["queries"] % count
    return [
        RankingState(**options).update(**{name: values[owner == part] for name, values in given.items()})
        for part in range(count)
    ]


@pytest.mark.parametrize("metrics", [None, ["roc_auc", "average_precision", "mrr_first"]])
def test_parts_merge_to_the_whole(metrics: list[str] | None, tmp_path: Path) -> None:
    given = flat(7, graded=True)
    options = {"pooled": metrics is not None}
    whole = RankingState(**options).update(**given)
    first, *others = parts(given, 3, **options)
    for number, other in enumerate(others):
        other.save(tmp_path / f"{number}.npz")
        first.merge(RankingState.load(tmp_path / f"{number}.npz"))
    merged, wanted = first.evaluate(metrics=metrics), whole.evaluate(metrics=metrics)
    for key, result in wanted.items():
        assert merged[key].value == result.value, key
        if result.interval is not None:
            found = merged[key].interval
            assert (found.low, found.high) == pytest.approx((result.interval.low, result.interval.high), rel=1e-9), key


def test_counts_from_elsewhere_are_the_same_lists() -> None:
    """Query a: places + - + -; query b: one tie of a positive and two negatives, then a positive; c has none."""
    state = RankingState(keep="items").update_lists(
        relevant=[2, 2, 0],
        candidates=[4, 4, 3],
        runs=[2, 2, 0],
        start=[0, 2, 0, 3],
        length=[1, 1, 3, 1],
        positives=[1, 1, 1, 1],
        queries=["a", "b", "c"],
        groups={"kind": [0, 1, 1]},
    )
    direct = RankingState(keep="items").update(
        scores=[4, 3, 2, 1, 5, 5, 5, 1, 3, 2, 1],
        labels=[1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0],
        queries=[*"aaaabbbbccc"],
        groups={"kind": {"a": 0, "b": 1, "c": 1}},
    )
    assert state.evaluate().to_dict()["results"] == direct.evaluate().to_dict()["results"]
    assert state.evaluate().notes == direct.evaluate().notes
    assert state.items().values("map@3").tolist() == direct.items().values("map@3").tolist()
    with pytest.raises(InputError, match="earlier part"):
        state.update(scores=[1, 0], labels=[1, 0], queries=["a", "a"], groups={"kind": [0, 0]})


@pytest.mark.parametrize(
    "change",
    [
        {"start": [0, 0]},
        {"positives": [2, 1]},
        {"length": [5, 1]},
        {"relevant": [3]},
        {"candidates": [1]},
        {"runs": [1]},
        {"positives": [0, 2]},
        {"start": [-1, 2]},
        {"grades": [1.0]},
        {"grades": [1.0, 0.0]},
    ],
)
def test_impossible_counts_are_refused(change: dict[str, Any]) -> None:
    sound = {"relevant": [2], "candidates": [4], "runs": [2], "start": [0, 2], "length": [1, 1], "positives": [1, 1]}
    assert RankingState().update_lists(**sound).n == 2
    state = RankingState()
    with pytest.raises(InputError):
        state.update_lists(**{**sound, **change})
    assert state.n == 0


def test_numbered_lists_of_two_states_merge() -> None:
    lists = {"relevant": [1], "candidates": [2], "runs": [1], "start": [0], "length": [1], "positives": [1]}
    first, second = (RankingState().update_lists(**lists) for _ in range(2))
    assert first.merge(second).evaluate()["mrr_first"].n == 2


# ------------------------------------------------------- paired comparisons


@pytest.mark.parametrize("metric", ["recall@3", "ndcg@5", "map@10", "mrr_first", "hit_ratio@2", "r_precision", "f1@3"])
def test_rankers_are_compared_query_by_query(metric: str) -> None:
    given = flat(11, queries=10)
    other = given | {"scores": np.random.default_rng(1).permutation(given["scores"])}
    kept = [ranking.evaluate(**data, keep="items") for data in (given, other)]
    alone = [
        [
            ranking.evaluate(
                **{name: values[data["queries"] == query] for name, values in data.items()}, metrics=[metric]
            )[metric].value
            for query in range(10)
        ]
        for data in (given, other)
    ]
    differences = np.subtract(*alone)
    test = ranking.compare(kept[0].per_item, kept[1].per_item, metric)
    assert test.mean_difference == pytest.approx(differences.mean(), rel=1e-12)
    signs = np.array(list(itertools.product([-1, 1], repeat=10)))
    reached = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    assert test.p_value == pytest.approx(reached.mean())


def test_lists_are_kept_in_files_and_across_merges(tmp_path: Path) -> None:
    given = flat(13, graded=True)
    whole = ranking.evaluate(**given, keep="items").per_item
    first, second = parts(given, 2, keep="items")
    merged = first.merge(second).items()
    merged.save(tmp_path / "items.npz")
    loaded = ranking.Items.load(tmp_path / "items.npz")
    order = np.argsort(loaded.ids)
    assert loaded.ids[order].tolist() == whole.ids.tolist()
    assert loaded.values("ndcg@4")[order].tolist() == whole.values("ndcg@4").tolist()
    with pytest.raises(OptionError, match=r"mean over queries with several positives.*mrr_first"):
        whole.values("mrr")


def test_kinds_of_items_do_not_mix() -> None:
    lists = ranking.evaluate(**FLAT, keep="items").per_item
    single = ranking.evaluate([1.0, 2.0], [[0.0], [0.0]], keep="items").per_item
    with pytest.raises(InputError, match="same form"):
        ranking.compare(lists, single)


# ------------------------------------------------------------ filtered scores


def test_scores_of_minus_infinity_are_reported() -> None:
    found = ranking.evaluate(scores=[1, -np.inf, -np.inf, 0], labels=[1, 0, 0, 0], queries=[0, 0, 0, 0])
    (finding,) = [each for each in found.findings if each.check == "lowest-scores"]
    assert "2 candidates" in finding.message
    assert not [each for each in ranking.evaluate(**FLAT).findings if each.check == "lowest-scores"]


@pytest.mark.parametrize(
    ("found", "share"),
    [
        (lambda: ranking.evaluate([0.1, 0.2], [[0.5, 0.6], [0.5, 0.6]], mask=[[True, True], [False, False]]), 1 / 2),
        (lambda: ranking.evaluate([0.1, 0.2, 0.3], [0.5], offsets=[0, 1, 1, 1]), 2 / 3),
        (lambda: ranking.evaluate([0.1, 0.2], np.empty((2, 0))), 1),
        (lambda: ranking.evaluate(scores=[1, 2, 3, 4], labels=[1, 1, 1, 0], queries=[0, 0, 1, 1]), 2 / 3),
        (lambda: ranking.rank_all(np.eye(3), np.eye(3), [0, 1, 2], known=[[1, 2], [], [0]]).evaluate(), 1 / 3),
        (lambda: ranking.rank_all(np.eye(3), np.eye(3), [[0, 1, 2], [0], [1]]).evaluate(), 3 / 5),
        (lambda: ranking.evaluate([0.1, 0.2], np.empty(0), metrics=["mrr"]), 1),
        (lambda: ranking.evaluate([0.1, 0.2], [[0.5], [0.5]], mask=[[True], [False]], weights=[3, 1]), 1 / 4),
        (lambda: ranking.evaluate([0.1, 0.2], [[0.5], [0.5]]), None),
        (lambda: ranking.evaluate([0.5, np.nan], [[np.nan], [0.5]], nan="omit"), None),
    ],
)
def test_an_answer_without_wrong_ones_is_reported(found, share) -> None:
    findings = [each for each in found().findings if each.check == "no-negatives"]
    assert len(findings) == (share is not None)
    for finding in findings:
        assert f"{share:.1%} of the right answers" in finding.message


def test_grades_whose_gain_overflows_have_no_value_and_say_why():
    given = {"scores": [2.0, 1.0], "labels": [1, 2000], "queries": [0, 0]}
    found = ranking.evaluate(**given, metrics=["ndcg_exp@2", "ndcg@2"])
    assert np.isnan(found["ndcg_exp@2"].value)
    assert found["ndcg_exp@2"].reason == "the gain 2^grade − 1 of the largest grade is beyond the range of numbers"
    assert 0 < found["ndcg@2"].value < 1


def test_candidates_at_minus_infinity_are_counted_also_if_nan_is_left_out() -> None:
    given = {"scores": [0.5, -np.inf, np.nan, 0.1], "labels": [1, 0, 0, 0], "queries": [0] * 4}
    state = RankingState().update(**given, nan="omit")
    assert (state.lowest_candidates, state.dropped_candidates) == (1, 1)
