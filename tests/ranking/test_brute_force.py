"""Every metric, tie rule and form of input against enumeration in fractions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ranking import brute
from tests.ranking.brute import Query

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.registry import find, metrics
from graphgauge.ranking.counts import Met
from graphgauge.ranking.evaluate import average_precision, evaluate, hits_at_k, mrr, ranks, roc_auc
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.ties import TIES

K = (1, 2, 4)
RANKED = [metric.name for metric in metrics("ranking") if "ranks" in metric.needs]
LISTED = [metric.name for metric in metrics("ranking") if "lists" in metric.needs]
POOLED = [metric.name for metric in metrics("ranking") if "pooled" in metric.needs]

# Few distinct scores, so that most queries have ties; infinities are ordinary scores.
scores = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 2.0, math.inf])
single = st.tuples(scores, st.lists(scores, max_size=4)).map(lambda q: [(q[0], True), *((s, False) for s in q[1])])
several = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=6)
rules = pytest.mark.parametrize("ties", TIES)


def parts(queries: list[Query]) -> tuple[np.ndarray, list[list[float]]]:
    positives = np.array([next(score for score, label in query if label) for query in queries])
    return positives, [[score for score, label in query if not label] for query in queries]


def ragged(queries: list[Query], **options: Any) -> Queries:
    positives, negatives = parts(queries)
    flat = np.array([score for row in negatives for score in row])
    return Queries.from_scores(positives, (flat, np.cumsum([0, *map(len, negatives)])), **options)


def listed(queries: list[Query], **options: Any) -> Queries:
    positives, negatives = parts(queries)
    return Queries.from_scores(positives, [np.array(row) for row in negatives], **options)


def masked(queries: list[Query], **options: Any) -> Queries:
    """Padded to the left and right with what must not be looked at."""
    positives, negatives = parts(queries)
    width = max(map(len, negatives)) + 2
    neg, mask = np.full((len(queries), width), math.nan), np.zeros((len(queries), width), bool)
    for row, values in enumerate(negatives):
        columns = slice(row % 3, row % 3 + len(values)) if row % 3 + len(values) <= width else slice(0, len(values))
        neg[row, columns], mask[row, columns] = values, True
    return Queries.from_scores(positives, neg, mask=mask, **options)


def flat(queries: list[Query], groups: dict[str, np.ndarray] | None = None, **options: Any) -> Queries:
    rows = [(score, label, number) for number, query in enumerate(queries) for score, label in query]
    rows = rows[::2] + rows[1::2]  # candidates of one query need not stand together
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    along = {name: values[columns[2]] for name, values in (groups or {}).items()}
    return Queries.from_lists(*columns, groups=along, **options)


def assert_equal(evaluation: Evaluation, names: list[str], expected: object, queries: list[Query], ties: str) -> None:
    for key, result in evaluation.items():
        metric, params = find(key, "ranking")
        assert metric.name in names
        want = float(expected(metric.name, params.get("k", 0), queries, ties))  # type: ignore[operator]
        assert result.value == pytest.approx(want, rel=1e-12, abs=1e-13, nan_ok=True), (key, ties)


@pytest.mark.parametrize(
    ("names", "table"), [(RANKED, "RANKED"), (LISTED, "LISTED"), (POOLED, "POOLED")], ids=["ranks", "lists", "pooled"]
)
def test_every_metric_is_defined_here_too(names: list[str], table: str) -> None:
    missing = sorted(set(names) - set(getattr(brute, table)))
    assert not missing, f"add the definition of {', '.join(missing)} to {table} in tests/ranking/brute.py"


@rules
@pytest.mark.parametrize("form", [ragged, listed, masked, flat])
@given(queries=st.lists(single, min_size=1, max_size=5))
def test_one_positive_a_query(form: Any, ties: str, queries: list[Query]) -> None:
    names = [name for name in RANKED if form is not flat or name != "ndcg"]  # whole lists have their own nDCG
    evaluation = evaluate(form(queries), ties=ties, k=K, metrics=names)
    assert_equal(evaluation, names, brute.ranked, queries, ties)


@rules
@given(width=st.integers(0, 4), data=st.data())
def test_matrix(ties: str, width: int, data: st.DataObject) -> None:
    rows = st.lists(scores, min_size=width, max_size=width)
    queries = [
        [(positive, True), *((score, False) for score in row)]
        for positive, row in data.draw(st.lists(st.tuples(scores, rows), min_size=1, max_size=5))
    ]
    positives, negatives = parts(queries)
    neg = np.array(negatives).reshape(len(queries), width)
    assert_equal(evaluate(positives, neg, ties=ties, k=K, metrics=RANKED), RANKED, brute.ranked, queries, ties)
    assert mrr(positives, neg, ties=ties) == pytest.approx(float(brute.ranked("mrr", 0, queries, ties)))
    assert hits_at_k(positives, neg, k=2, ties=ties) == pytest.approx(float(brute.ranked("hits", 2, queries, ties)))
    places = [float(brute.ranked("mean_rank", 0, [query], ties)) for query in queries]
    assert ranks(positives, neg, ties=ties).tolist() == pytest.approx(places)


@rules
@given(queries=st.lists(several, min_size=1, max_size=4))
def test_several_positives_a_query(ties: str, queries: list[Query]) -> None:
    evaluation = evaluate(flat(queries), ties=ties, k=K, metrics=LISTED)
    assert_equal(evaluation, LISTED, brute.lists, queries, ties)
    names = [name for name in RANKED if name != "ndcg"]
    evaluation = evaluate(flat(queries), ties=ties, k=K, metrics=names)
    alone = [part for query in queries for part in brute.split(query)]
    assert_equal(evaluation, names, brute.ranked, alone, ties)


graded = st.lists(st.tuples(scores, st.sampled_from([0, 0, 1, 2, 3.5])), min_size=1, max_size=5)


@rules
@given(queries=st.lists(graded, min_size=1, max_size=3))
def test_graded_relevance(ties: str, queries: list[list[tuple[float, float]]]) -> None:
    gains = {"ndcg": lambda grade: grade, "ndcg_exp": lambda grade: 2**grade - 1}
    found = evaluate(flat(queries), ties=ties, k=K, metrics=list(gains))  # type: ignore[arg-type]
    for name, gain in gains.items():
        for k in K:
            want = brute.graded(gain, k, queries, ties)
            assert found[f"{name}@{k}"].value == pytest.approx(want, rel=1e-12, nan_ok=True), (name, k)


@given(queries=st.lists(several, min_size=1, max_size=4))
def test_pooled_lists(queries: list[Query]) -> None:
    """Queries without a positive are left out, here too."""
    evaluation = evaluate(flat(queries), k=K, metrics=POOLED)
    used = [query for query in queries if any(label for _, label in query)]
    assert_equal(evaluation, POOLED, lambda key, k, given, _: brute.pooled(key, k, given), used, "")


@pytest.mark.parametrize("form", [ragged, masked])
@given(queries=st.lists(single, min_size=1, max_size=5))
def test_pooled(form: Any, queries: list[Query]) -> None:
    evaluation = evaluate(form(queries), k=K, metrics=POOLED)  # type: ignore[operator]
    assert_equal(evaluation, POOLED, lambda key, k, given, _: brute.pooled(key, k, given), queries, "")
    positives, negatives = parts(queries)
    together = [score for row in negatives for score in row]
    for function, key in ((roc_auc, "roc_auc"), (average_precision, "average_precision")):
        want = float(brute.pooled(key, 0, queries))
        assert function(positives, np.array(together)) == pytest.approx(want, rel=1e-13, nan_ok=True)


@rules
@given(queries=st.lists(single, min_size=1, max_size=5), data=st.data())
def test_nan_omitted_is_as_if_it_were_not_there(ties: str, queries: list[Query], data: st.DataObject) -> None:
    """A NaN positive takes its query with it, a NaN negative only itself, unless it was the last one."""
    spoiled, kept, lost_queries, emptied, lost_candidates = [], [], 0, 0, 0
    for query in queries:
        lost = data.draw(st.lists(st.booleans(), min_size=len(query), max_size=len(query)))
        spoiled.append([(math.nan if gone else score, label) for (score, label), gone in zip(query, lost, strict=True)])
        lost_queries += lost[0]
        if not lost[0] and len(lost) > 1 and all(lost[1:]):
            emptied += 1
        elif not lost[0]:
            lost_candidates += sum(lost)
            kept.append([item for item, gone in zip(query, lost, strict=True) if not gone])
    names = [name for name in RANKED if name != "ndcg"]
    for form in (ragged, listed, masked, flat):
        asked = form(spoiled, nan="omit")
        evaluation = evaluate(asked, ties=ties, k=K, metrics=names)
        assert_equal(evaluation, names, brute.ranked, kept, ties)
        assert evaluation["mrr"].n == len(kept)
        assert asked.count().met == Met(
            unscored=lost_queries, emptied=emptied, missing=lost_candidates, lowest=lowest(kept)
        )
        groups = {"query": np.arange(len(queries))}
        found = form(spoiled, nan="omit", groups=groups).count()
        assert len(found.labels.groups["query"]) == len(kept)


def lowest(queries: list[Query]) -> int:
    return sum(score == -math.inf and not label for query in queries for score, label in query)
