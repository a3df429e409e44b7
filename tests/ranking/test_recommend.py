"""Recommenders: against the flat form, what −inf means, refusals in the words of users and items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.ranking.test_entities import KEYS, as_sparse, facts, flat, problem

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import recommend
from graphgauge.ranking.evaluate import evaluate


def test_a_recommender_is_ranked_among_what_was_not_trained_on() -> None:
    users, items, test, train, _ = problem(6)
    scores = users @ items.T
    wanted = facts(evaluate(flat(scores, test, train), k=[3, 5]))
    pairs = [
        np.stack([np.repeat(np.arange(25), [len(each) for each in sets]), np.concatenate(sets)], 1)
        for sets in (train, test)
    ]
    for given in (
        {"known": as_sparse(train, 40), "test": as_sparse(test, 40)},
        {"known": pairs[0], "test": pairs[1]},
        {"known": torch.as_tensor(pairs[0]), "test": test},
    ):
        for model in ((scores,), (torch.as_tensor(scores),), (users, items)):
            found = recommend(*model, **given, k=[3, 5])
            assert {"recall@3", "ndcg@5", "map@3", "hit_ratio@3", "mrr_first"} <= set(found)
            assert facts(found) == wanted
    assert list(recommend(scores, test=test, metrics=["mrr"])) == ["mrr"]


def test_minus_infinity_as_a_filter_is_found() -> None:
    users, items, test, train, _ = problem(7)
    scores = users @ items.T
    marked = scores.copy()
    for user, known in enumerate(train):
        marked[user, known] = -np.inf
    plain = facts(recommend(scores, known=train, test=test))
    assert facts(recommend(marked, known=train, test=test)) == plain  # left out by name as well
    with pytest.raises(InputError, match=r"candidates score −inf, the first in row .*minus_inf=.exclude"):
        recommend(marked, test=test)
    excluded = recommend(marked, test=test, minus_inf="exclude")
    assert {key: value[:3] for key, value in facts(excluded).items()} == {
        key: value[:3] for key, value in plain.items()
    }
    ranked = recommend(marked, test=test, minus_inf="rank", metrics=["mean_rank"])
    wanted = evaluate(flat(marked, test, [[]] * 25), metrics=["mean_rank"])
    assert ranked["mean_rank"].value == wanted["mean_rank"].value
    user = next(user for user, answers in enumerate(test) if len(answers))
    marked[user, test[user][0]] = -np.inf
    with pytest.raises(InputError, match=f"the right answer {test[user][0]} of query {user} scores −inf"):
        recommend(marked, known=train, test=test)


@pytest.mark.parametrize("policy", ["rank", "exclude", None])
def test_minus_infinity_of_a_function(policy: Any) -> None:
    table = np.random.default_rng(12).normal(size=(4, 9))
    table[:, 5] = -np.inf
    given = {"test": [{0}, {1, 2}, {3}, {4}], "minus_inf": policy, "metrics": KEYS}
    by_function: dict[str, Any] = {"items": np.arange(9), "score": lambda rows, _: table[rows]}
    if policy is None:
        for model in ((table,), (np.arange(4),)):
            with pytest.raises(InputError, match="4 candidates score −inf"):
                recommend(*model, **given, **(by_function if len(model[0].shape) == 1 else {}))
        return
    assert facts(recommend(np.arange(4), **given, **by_function)) == facts(recommend(table, **given))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"known": np.array([[0, 1]]), "test": np.array([[0, 1]])}, "test: item 1 of user 0 is known, too"),
        ({"test": np.array([[0, 4]])}, "test: 4 is not among the 4 items"),
        ({"test": np.array([[3, 0]])}, "test: 3 is not among the 3 users"),
        ({"test": np.array([[0.5, 0]])}, "expected whole numbers"),
        ({"scores": sparse.eye(3, 4), "test": [{0}] * 3}, "scores: found a sparse matrix"),
        ({"scores": np.zeros(4), "test": [{0}] * 3}, "scores: expected shape"),
        ({"minus_inf": "drop", "test": [{0}] * 3}, "minus_inf"),
        ({"score": "l2", "test": [{0}] * 3}, "score needs items"),
        ({"test": [(0, 1), (1, 2), (2, 3)]}, "3 lists of two for 3 users can be pairs of user and item, or two items"),
        ({"test": [[0, 1], [1, 2]]}, r"2 lists of two for 3 users.*np\.array\(test\)"),
        ({"test": [{0}] * 3, "known": [[1, 2]] * 3}, "3 lists of two for 3 users can be pairs"),
    ],
)
def test_bad_recommendations(change: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, OptionError), match=words):
        recommend(**({"scores": np.arange(12.0).reshape(3, 4)} | change))


def test_two_items_of_each_user_are_sets_if_they_say_so() -> None:
    scores = np.random.default_rng(3).normal(size=(3, 6))
    listed = [[0, 1], [1, 2], [0, 5]]
    whole = facts(recommend(scores, test=(np.ravel(listed), [0, 2, 4, 6]), k=2))
    for sets in ([set(each) for each in listed], [np.array(each) for each in listed], list(np.array(listed))):
        assert facts(recommend(scores, test=sets, k=2)) == whole
    pairs = sparse.coo_array((np.ones(3), np.array(listed).T), (3, 6))  # users 0, 1 and 0
    assert recommend(scores, test=pairs, k=2)["recall@2"].n == 2


def test_weights_and_groups_of_users() -> None:
    users, items, test, train, _ = problem(11)
    weights = np.random.default_rng(0).uniform(0.5, 3, len(users))
    has = [user for user in range(len(users)) if len(test[user])]
    each = {
        user: recommend(users[[user]], items, test=[set(test[user].tolist())], known=[set(train[user].tolist())], k=3)
        for user in has
    }
    values = [each[user]["recall@3"].value for user in has]
    found = recommend(users, items, test=test, known=train, weights=weights, k=3, groups={"half": np.arange(25) % 2})
    assert found["recall@3"].value == pytest.approx(np.average(values, weights=weights[has]), abs=1e-12)
    assert found.by("half")["n"].tolist() == [
        sum(user % 2 == 0 for user in has),
        sum(user % 2 for user in has),
        len(has),
    ]
