"""Lists of the first items: against whole orders, and runs with judgements as in TREC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries


def facts(ev: Any) -> dict[str, Any]:
    return {key: (result.value, result.interval, result.n) for key, result in ev.items()}


def problem(seed: int) -> Any:
    """Scores without ties, and disjoint sets of items of test and training; some users have no test items."""
    draw = np.random.default_rng(seed)
    scores = draw.permutation(25 * 40).reshape(25, 40).astype(float)
    sets = [np.split(draw.permutation(40), [draw.integers(0, 5), 8]) for _ in range(25)]
    return scores, [part[0] for part in sets], [part[1] for part in sets]


def test_lists_of_the_first_items_give_what_the_whole_order_gives() -> None:
    scores, test, train = problem(8)
    without = scores.copy()
    for user, known in enumerate(train):
        without[user, known] = -np.inf
    lists = np.argsort(-without, axis=1)[:, :6]
    found = evaluate(Queries.from_topk(lists, test, known=train, n_items=40), k=[3, 6])
    whole = evaluate(Queries.from_embeddings(scores=scores, targets=test, known=train), k=[3, 6], metrics=list(found))
    assert {"recall@3", "ndcg@6", "map@3", "hit_ratio@6", "mrr_first@6"} <= set(found)
    assert facts(found) == facts(whole)
    for key, result in found.items():
        assert result.references == whole[key].references
        assert result.conventions["beyond the lists"] == "a right item there is not found"
    rows = np.repeat(np.arange(25), [len(each) for each in test])
    columns = sparse.csr_matrix((np.ones(len(rows)), (rows, np.concatenate(test))), (25, 40))
    longer = evaluate(Queries.from_topk(torch.as_tensor(lists), columns, known=train), k=6)
    assert longer["recall@6"].references == whole["recall@6"].references  # the columns are the items


def test_lists_with_known_items_are_those_without_them() -> None:
    scores, test, train = problem(9)
    lists = np.argsort(-scores, axis=1)[:, :12]
    found = Queries.from_topk(lists, test, known=train, n_items=40)
    passed = sum(len({*row.tolist()} & {*known.tolist()}) for row, known in zip(lists, train, strict=True))
    assert found.count().met.passed_over == passed
    whole = Queries.from_embeddings(scores=scores, targets=test, known=train)
    metrics = ["recall@3", "ndcg@3", "map@3", "mrr_first@3"]
    assert facts(evaluate(found, metrics=metrics)) == facts(evaluate(whole, metrics=metrics))


def test_short_lists() -> None:
    lists, answers = [[4, 2, 7], [5, 1]], [[2, 9], [1]]
    queries = Queries.from_topk(lists, answers)
    found = evaluate(queries, k=[2, 3], metrics=["recall@2", "precision@3", "mrr_first@3"])
    assert found["recall@2"].value == (0.5 + 1) / 2
    assert found["precision@3"].value == (1 / 3 + 1 / 3) / 2
    assert found["mrr_first@3"].value == 0.5
    assert queries.count().met.unfilled == 1
    padded = Queries.from_topk(np.array([[4, 2, 7], [5, 1, -1]]), answers)
    assert facts(evaluate(padded, k=[2, 3])) == facts(evaluate(queries, k=[2, 3]))
    skipped = evaluate(Queries.from_topk(lists, answers, known=[[4], []]), k=[2, 3])
    assert "recall@3" in skipped.skipped  # one place less in every list
    assert skipped["mrr_first@2"].value == (1 + 0.5) / 2


def test_queries_drawn_in_any_order() -> None:
    scores, test, train = problem(10)
    lists = np.argsort(-scores, axis=1)[:, :9]
    queries = Queries.from_topk(lists, test, known=train, n_items=40, ids=np.arange(100, 125))
    rows = np.random.default_rng(0).permutation(25)[:11]
    part, kept = queries.count(rows), queries.answered()
    wanted = queries.count().take((np.cumsum(kept) - 1)[rows[kept[rows]]])
    for name in ("query", "above", "length", "positives", "candidates", "relevant"):
        assert getattr(part, name).tolist() == getattr(wanted, name).tolist()
    assert part.labels.ids.tolist() == wanted.labels.ids.tolist()


RUN = {
    "q1": {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6},
    "q2": {"x": 3.0, "y": 5.0},
    "q3": {"a": 1.0},
}
JUDGED = {"q1": {"b": 3, "d": 1, "z": 2, "c": 0}, "q2": {"x": 1}, "q3": {"b": 2}}


def test_runs_with_judgements_are_what_trec_makes_of_them() -> None:
    found = evaluate(
        Queries.from_topk(RUN, JUDGED), k=4, metrics=["ndcg@4", "recall@2", "map@4", "mrr_first@4", "precision@4"]
    )
    # By hand: q1 has grades 0 3 0 1 in its places, and 3 2 1 are the best order; q3 finds nothing.
    gain = 3 / np.log2(3) + 1 / np.log2(5)
    best = 3 + 2 / np.log2(3) + 1 / np.log2(4)
    assert found["ndcg@4"].value == pytest.approx((gain / best + 1 / np.log2(3) + 0) / 3, abs=1e-15)
    assert found["recall@2"].value == pytest.approx((1 / 3 + 1 + 0) / 3, abs=1e-15)
    assert found["map@4"].value == pytest.approx(((1 / 2 + 2 / 4) / 3 + 1 / 2 + 0) / 3, abs=1e-15)
    assert found["mrr_first@4"].value == pytest.approx((1 / 2 + 1 / 2 + 0) / 3, abs=1e-15)
    assert found["precision@4"].value == pytest.approx((2 / 4 + 1 / 4 + 0) / 3, abs=1e-15)
    assert found.per_item.ids.tolist() == ["q1", "q2", "q3"]
    for run, judged, words in (
        (RUN | {"q9": {"a": 1.0}}, JUDGED, "the query 'q9' has no judgements"),
        ({"q1": [1, 2]}, JUDGED, "expected {query: {document: score}}"),
        (RUN, [[1]], "a run goes with judgements"),
        ({"q1": {"a": float("nan")}}, JUDGED, "1 scores are NaN"),
    ):
        with pytest.raises(InputError, match=words):
            Queries.from_topk(run, judged)
    missing = evaluate(Queries.from_topk({"q2": RUN["q2"]}, JUDGED), k=2, metrics=["recall@2"])
    assert missing["recall@2"].value == pytest.approx(1 / 3)


def test_names_of_items() -> None:
    lists, answers = [["d", "b", "g"], ["e", "a"]], [["b", "i"], ["a"]]
    named = Queries.from_topk(lists, answers, names=list("abcdefghi"))
    numbers = Queries.from_topk([[3, 1, 6], [4, 0]], [[1, 8], [0]], n_items=9)
    assert facts(evaluate(named, k=2)) == facts(evaluate(numbers, k=2))
    with pytest.raises(InputError, match="contains 'd', not numbers"):
        Queries.from_topk(lists, answers)


@pytest.mark.parametrize("metric", ["mrr", "mean_rank", "median_rank", "amri", "hits@2", "mrr_first", "r_precision"])
def test_what_lists_cannot_tell_is_refused_by_name(metric: str) -> None:
    with pytest.raises(OptionError, match=f"{metric} depends on items beyond the lists"):
        evaluate(Queries.from_topk([[0, 1]], [[1]]), metrics=[metric])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": [3, 4]}, "k = 3 is beyond the lists, of which the first 2 items"),
        ({"metrics": ["recall@3"]}, "k = 3 is beyond the lists"),
        ({"indices": [[0, 0], [1, 2]]}, "list 0 contains item 0 twice"),
        ({"indices": [[-1, 0], [1, 2]]}, "list 0 has an unfilled place before its end"),
        ({"indices": [[-2, 0], [1, 2]]}, "a number below −1"),
        ({"indices": [[0.5, 1], [1, 2]]}, "expected whole numbers"),
        ({"indices": [0, 1]}, "indices: found the shape"),
        ({"indices": np.empty((2, 0), int)}, "found the shape"),
        ({"n_items": 3, "indices": [[0, 1], [1, 3]]}, "item 3 is not among the 3 items"),
        ({"n_items": 3, "targets": [[3], [0]]}, "targets"),
        ({"targets": [[1]]}, "found 1 sets for 2"),
        ({"indices": [[0, 1]] * 3, "targets": np.array([[0, 1, 1], [1, 0, 3]])}, r"pass its transpose, targets\.T"),
        ({"known": [[0, 1, 2], []], "targets": [[3], [0]]}, "list 0 has known items only"),
        ({"known": [[], [0]]}, "item 0 of query 1 is known"),
    ],
)
def test_bad_lists(change: dict[str, Any], words: str) -> None:
    given = {"indices": [[0, 1], [1, 2]], "targets": [[1], [0]]} | change
    asked = {name: given.pop(name) for name in ("k", "metrics") if name in given}
    with pytest.raises((InputError, OptionError), match=words):
        evaluate(Queries.from_topk(**given), **asked)


def test_all_metrics_of_cut_lists_leave_out_what_is_not_known() -> None:
    found = evaluate(Queries.from_topk([[0, 1, 2], [2, 1, 0]], [0, 0]), metrics="all", k=2)
    assert "recall@2" in found
    assert found.skipped["mrr"] == "it depends on items beyond the lists, which are not known"
