"""Properties of recommended lists against plain Python over all orders of ties, and against the formulas of PyG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import recommend
from graphgauge.ranking.beyond import Catalog
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries

ITEMS = 6
POPULARITY, CATEGORIES = np.array([5, 1, 2, 2, 8, 3]), np.array([0, 1, 0, 2, 1, 0])
CATALOG = Catalog(popularity=POPULARITY, categories=CATEGORIES)
NAMES = ["coverage", "personalization", "popularity", "diversity"]

query = st.dictionaries(st.integers(0, ITEMS - 1), st.integers(0, 2), min_size=1, max_size=4)


def orders(scores: dict[int, int], k: int) -> list[tuple[int, ...]]:
    """All lists of the first k that the scores allow, each as likely."""
    levels = [[item for item in scores if scores[item] == level] for level in sorted({*scores.values()}, reverse=True)]
    runs = itertools.product(*(itertools.permutations(level) for level in levels))
    return [tuple(itertools.chain(*run))[:k] for run in runs]


def outcomes(queries: list[dict[int, int]], k: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    return itertools.product(*(orders(scores, k) for scores in queries))


def by_definition(name: str, lists: tuple[tuple[int, ...], ...]) -> float:
    match name:
        case "coverage":
            return len({item for shown in lists for item in shown}) / ITEMS
        case "personalization":
            if len(lists) < 2:
                return math.nan
            overlap = [
                len({*one} & {*other}) / math.sqrt(len(one) * len(other))
                for one, other in itertools.combinations(lists, 2)
            ]
            return 1 - sum(overlap) / len(overlap)
        case "popularity":
            return sum(sum(POPULARITY[item] for item in shown) / len(shown) for shown in lists) / len(lists)
    pairs = [list(itertools.combinations(CATEGORIES[list(shown)], 2)) for shown in lists if len(shown) > 1]
    return sum(np.mean([one != other for one, other in own]) for own in pairs) / len(pairs) if pairs else math.nan


def as_queries(queries: list[dict[int, int]], catalog: Any = CATALOG) -> Queries:
    """Lists count with or without right answers: only the first query has one."""
    scores = np.zeros((len(queries), ITEMS))
    for row, known in enumerate(queries):
        scores[row, list(known)] = list(known.values())
    targets = [{next(iter(known))} if row == 0 else set() for row, known in enumerate(queries)]
    candidates = [set(known) for known in queries]
    return Queries.from_embeddings(scores=scores, targets=targets, candidates=candidates, catalog=catalog)


@given(st.lists(query, min_size=1, max_size=3), st.integers(1, 3))
def test_every_value_is_the_mean_over_all_orders(queries: list[dict[int, int]], k: int) -> None:
    found = evaluate(as_queries(queries), k=k, metrics=NAMES)
    possible = list(outcomes(queries, k))
    for name in NAMES:
        values = [by_definition(name, lists) for lists in possible]
        want = sum(values) / len(values)
        assert found[f"{name}@{k}"].value == pytest.approx(want, rel=1e-9, abs=1e-12, nan_ok=True), name


@given(st.lists(query, min_size=1, max_size=3), st.integers(1, 3))
def test_gini_of_the_mean_exposure(queries: list[dict[int, int]], k: int) -> None:
    possible = list(outcomes(queries, k))
    exposure = [
        sum(sum(item in shown for shown in lists) for lists in possible) / len(possible) for item in range(ITEMS)
    ]
    # Half the mean difference of two items, relative to the mean.
    want = sum(abs(one - other) for one in exposure for other in exposure) / (2 * ITEMS * sum(exposure))
    found = evaluate(as_queries(queries), k=k, metrics=["gini"])
    assert found[f"gini@{k}"].value == pytest.approx(want, rel=1e-9, abs=1e-12)


def test_formulas_of_pyg() -> None:
    """LinkPredCoverage, Diversity, Personalization and AveragePopularity, written out for a matrix of predictions."""
    rng = np.random.default_rng(0)
    users, items, k = 50, 30, 5
    scores = rng.permuted(np.tile(np.arange(items), (users, 1)), axis=1)
    popularity, category = rng.integers(1, 100, items), rng.integers(0, 4, items)
    top = np.argsort(-scores, axis=1)[:, :k]
    covered = np.zeros(items, bool)
    covered[top.ravel()] = True
    same = (category[top][:, :, None] == category[top][:, None, :]).sum(axis=-1)
    diversity = 1 - 1 / (k * (k - 1)) * (same - 1).sum(axis=-1)
    overlap = [np.isin(top[u], top[v]).sum() / k for u in range(users) for v in range(u + 1, users)]
    test = [set(np.flatnonzero(row).tolist()) for row in rng.random((users, items)) < 0.1]
    catalog = Catalog(popularity=popularity, categories=category)
    found = recommend(scores, test=test, catalog=catalog, k=k)
    lists = evaluate(Queries.from_topk(top, test, catalog=catalog), k=k)
    shared = {*lists} & {*found}
    assert {"coverage@5", "recall@5"} <= shared
    assert {key: lists[key].value for key in shared} == {key: found[key].value for key in shared}
    assert found["coverage@5"].value == pytest.approx(covered.mean())
    assert found["diversity@5"].value == pytest.approx(diversity.mean())
    assert found["personalization@5"].value == pytest.approx(np.mean([1 - each for each in overlap]))
    assert found["popularity@5"].value == pytest.approx(popularity[top].mean())
    assert all(found[f"{name}@5"].n == users for name in ("coverage", "diversity", "personalization", "popularity"))


def test_random_lists_reach_the_chance_levels() -> None:
    rng = np.random.default_rng(1)
    users, items = 400, 60
    catalog = Catalog(popularity=rng.integers(1, 9, items), categories=rng.integers(0, 5, items))
    test = [set(np.flatnonzero(row).tolist()) for row in rng.random((users, items)) < 0.1]
    found = recommend(rng.random((users, items)), test=test, catalog=catalog, k=4)
    for name in NAMES:
        result = found[f"{name}@4"]
        assert result.value == pytest.approx(result.references[-1].value, rel=0.05), name


def test_embeddings_recommend_what_their_scores_do() -> None:
    """Equal rows tie, however the product rounds."""
    rng = np.random.default_rng(2)
    users, items = rng.normal(size=(40, 6)).astype(np.float32), rng.normal(size=(30, 6)).astype(np.float32)
    items[20:] = items[:10]
    exact = np.array(
        [[sum(a * b for a, b in zip(u, i, strict=True)) for i in items.astype(float)] for u in users.astype(float)]
    )
    catalog = Catalog(popularity=rng.integers(1, 9, 30), categories=rng.integers(0, 3, 30))
    known = [set(rng.integers(0, 30, 5).tolist()) for _ in users]
    test = [{int(rng.integers(0, 30))} - each for each in known]
    for k in (1, 4):
        found, wanted = (
            recommend(*model, test=test, known=known, catalog=catalog, k=k) for model in ((users, items), (exact,))
        )
        for key in wanted:
            assert found[key].value == pytest.approx(wanted[key].value, rel=1e-12, nan_ok=True), key


def test_what_does_not_fit_is_refused() -> None:
    scores, test = np.arange(12.0).reshape(2, 6), [{0}, {1}]
    for change, message in (
        ({"catalog": Catalog(size=5)}, "a catalogue of 5 items for 6"),
        ({"catalog": {"popularity": [1, 2], "categories": [1]}}, "one value per item"),
        ({"catalog": {}}, "needs its size"),
        ({"catalog": {"popularity": [-1.0] * 6}}, "at least 0"),
        ({"catalog": {"weights": [1]}}, "expected a Catalog"),
        ({"metrics": ["coverage@2"]}, "coverage@k needs a catalogue. Pass catalog="),
        ({"metrics": ["diversity@2"], "catalog": {"size": 6}}, "diversity@k needs a catalogue with categories"),
        ({"metrics": ["diversity@2"], "catalog": CATALOG}, None),
    ):
        if message is None:
            assert list(recommend(scores, test=test, **change)) == ["diversity@2"]
            continue
        with pytest.raises((InputError, OptionError), match=message):
            recommend(scores, test=test, **change)
    with pytest.raises(InputError, match="item 9 is not among the 6 items"):
        evaluate(Queries.from_topk([[9, 1]], [[1]], n_items=6, catalog=CATALOG))
