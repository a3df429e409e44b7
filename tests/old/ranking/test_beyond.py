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

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError

ITEMS = 6
POPULARITY, CATEGORIES = np.array([5, 1, 2, 2, 8, 3]), np.array([0, 1, 0, 2, 1, 0])
EMBEDDINGS = np.array([[1, 0], [1, 1], [0, 2], [-1, 1], [2, -1], [3, 1]], float)
CATALOG = ranking.Catalog(popularity=POPULARITY, categories=CATEGORIES, embeddings=EMBEDDINGS)
NAMES = ["coverage", "personalization", "popularity", "novelty", "diversity", "embedding_diversity"]

query = st.dictionaries(st.integers(0, ITEMS - 1), st.integers(0, 2), min_size=1, max_size=4)


def orders(scores: dict[int, int], k: int) -> list[tuple[int, ...]]:
    """All lists of the first k that the scores allow, each as likely."""
    levels = [[item for item in scores if scores[item] == level] for level in sorted({*scores.values()}, reverse=True)]
    runs = itertools.product(*(itertools.permutations(level) for level in levels))
    return [tuple(itertools.chain(*run))[:k] for run in runs]


def outcomes(queries: list[dict[int, int]], k: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    return itertools.product(*(orders(scores, k) for scores in queries))


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def pairs_mean(shown: tuple[int, ...], similar: Any) -> float:
    found = [similar(one, other) for one, other in itertools.permutations(shown, 2)]
    return 1 - sum(found) / len(found)


def by_definition(name: str, lists: tuple[tuple[int, ...], ...]) -> float:
    share = POPULARITY / POPULARITY.sum()
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
        case "novelty":
            return sum(sum(-math.log2(share[item]) for item in shown) / len(shown) for shown in lists) / len(lists)
    similar = {
        "diversity": lambda one, other: float(CATEGORIES[one] == CATEGORIES[other]),
        "embedding_diversity": lambda one, other: cosine(EMBEDDINGS[one], EMBEDDINGS[other]),
    }[name]
    found = [pairs_mean(shown, similar) for shown in lists if len(shown) > 1]
    return sum(found) / len(found) if found else math.nan


def inputs(queries: list[dict[int, int]]) -> dict[str, Any]:
    rows = [(score, item, number) for number, scores in enumerate(queries) for item, score in scores.items()]
    rows = rows[::2] + rows[1::2]
    scores, items, numbers = (np.array(column) for column in zip(*rows, strict=True))
    labels = np.zeros(len(rows), int)
    labels[0] = 1  # lists count with or without positives
    return {"scores": scores, "items": items, "queries": numbers, "labels": labels}


@given(st.lists(query, min_size=1, max_size=3), st.integers(1, 3))
def test_every_value_is_the_mean_over_all_orders(queries: list[dict[int, int]], k: int) -> None:
    found = ranking.evaluate(**inputs(queries), catalog=CATALOG, k=k, metrics=NAMES)
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
    found = ranking.evaluate(**inputs(queries), catalog=CATALOG, k=k, metrics=["gini"])
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
    found = ranking.evaluate(
        scores=scores.ravel(),
        labels=rng.random(users * items) < 0.1,
        queries=np.repeat(np.arange(users), items),
        items=np.tile(np.arange(items), users),
        k=k,
        catalog=ranking.Catalog(popularity=popularity, categories=category),
    )
    assert found["coverage@5"].value == pytest.approx(covered.mean())
    assert found["diversity@5"].value == pytest.approx(diversity.mean())
    assert found["personalization@5"].value == pytest.approx(np.mean([1 - each for each in overlap]))
    assert found["popularity@5"].value == pytest.approx(popularity[top].mean())
    assert all(found[f"{name}@5"].n == users for name in ("coverage", "diversity", "personalization", "popularity"))


def test_random_lists_reach_the_chance_levels() -> None:
    rng = np.random.default_rng(1)
    users, items = 400, 60
    catalog = ranking.Catalog(
        popularity=rng.integers(1, 9, items),
        categories=rng.integers(0, 5, items),
        embeddings=rng.normal(size=(items, 3)),
    )
    found = ranking.evaluate(
        scores=rng.random(users * items),
        labels=rng.random(users * items) < 0.1,
        queries=np.repeat(np.arange(users), items),
        items=np.tile(np.arange(items), users),
        k=4,
        catalog=catalog,
    )
    for name in NAMES:
        result = found[f"{name}@4"]
        assert result.value == pytest.approx(result.chance[-1].value, rel=0.05), name


def test_streamed_items_are_those_of_one_call(tmp_path: Any) -> None:
    queries = [{0: 2, 1: 2, 2: 1}, {3: 1, 4: 1, 5: 1}, {1: 0, 5: 2}]
    whole = inputs(queries)
    states = []
    for part in range(3):
        rows = whole["queries"] == part
        state = ranking.RankingState(top=2).update(**{name: values[rows] for name, values in whole.items()})
        state.save(tmp_path / f"{part}.npz")
        states.append(ranking.RankingState.load(tmp_path / f"{part}.npz"))
    merged = states[2].merge(states[0]).merge(states[1]).evaluate(k=2, catalog=CATALOG)
    direct = ranking.evaluate(**whole, catalog=CATALOG, k=2)
    for name in (*NAMES, "gini"):
        assert merged[f"{name}@2"].value == pytest.approx(direct[f"{name}@2"].value, rel=1e-12)
    with pytest.raises(OptionError, match="only the first 2 items were kept"):
        _ = states[2].evaluate(k=3, catalog=CATALOG)["coverage@3"].value


def test_what_does_not_fit_is_refused() -> None:
    good = inputs([{0: 1, 1: 2}])
    for change, message in (
        ({"items": [0]}, "one item number per score"),
        ({"items": [0.0, 1.0]}, "one item number per score"),
        ({"items": [-1, 0]}, "one item number per score"),
        ({"items": [0, 0], "scores": [1, 1]}, "occurs twice"),
        ({"items": [0, 9]}, "item 9 in a catalogue of 6"),
        ({"catalog": None}, "go together"),
        ({"items": None}, "go together"),
        ({"catalog": {"popularity": [1, 2], "categories": [1]}}, "different numbers of items"),
        ({"catalog": {}}, "needs its size"),
        ({"catalog": {"popularity": [-1.0] * 6}}, "at least 0"),
        ({"catalog": {"weights": [1]}}, "expected a Catalog"),
    ):
        with pytest.raises(InputError, match=message):
            ranking.evaluate(**{**good, "catalog": CATALOG, **change}).to_dict()
    with pytest.raises(OptionError, match="recommended items do not take weights"):
        ranking.evaluate(**good, catalog=CATALOG, weights=[1.0])
    with pytest.raises(OptionError, match="does not take items"):
        ranking.RankingState(top=1).update([1.0], [[0.0]], items=[0])
    never = ranking.evaluate(**good, catalog={"popularity": [0, 1, 1, 1, 1, 1]}, k=2)["novelty@2"]
    assert math.isnan(never.value)
    assert "popularity 0" in never.reason
