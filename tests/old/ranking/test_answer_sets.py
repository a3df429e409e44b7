"""Several right answers per query among all entities: against the flat form on the same scores, one by one."""

import numpy as np
import pytest
import torch
from scipy import sparse

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import Items, RankingState, compare, evaluate, rank_all, rank_topk, recommend

KEYS = [
    "mrr",
    "hits@3",
    "mean_rank",
    "amri",
    "recall@3",
    "precision@3",
    "map@3",
    "ndcg@3",
    "f1@3",
    "hit_ratio@3",
    "mrr_first",
    "mrr_first@3",
    "r_precision",
]


def facts(evaluation):
    return {key: (result.value, result.interval, result.n, result.chance) for key, result in evaluation.items()}


def problem(seed=0, queries=25, entities=40, width=4):
    """Embeddings of whole numbers, of which many tie, and disjoint sets of each query; some have no target."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(-2, 3, (queries, width)).astype(float), draw.integers(-2, 3, (entities, width)).astype(float)
    sets = [np.split(draw.permutation(entities), [draw.integers(0, 5), 8, 14]) for _ in range(queries)]
    targets, exclude, known = ([part[index] for part in sets] for index in (0, 1, 2))
    return *rows, targets, exclude, known


def flat(scores, targets, gone, allowed=None):
    """The candidates of each query, one by one, for the flat form."""
    columns = {"scores": [], "labels": [], "queries": []}
    for query, answers in enumerate(targets):
        for entity in range(scores.shape[1]):
            if entity in answers or (entity not in gone[query] and (allowed is None or entity in allowed[query])):
                columns["scores"].append(scores[query, entity])
                columns["labels"].append(int(entity in answers))
                columns["queries"].append(query)
    return columns


def as_csr(sets):
    return np.concatenate(sets), np.cumsum([0, *map(len, sets)])


def as_sparse(sets, entities):
    row = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    return sparse.csr_matrix((np.ones(len(row)), (row, np.concatenate(sets))), (len(sets), entities))


@pytest.mark.parametrize("score", ["dot", "l1", "l2", "function", "torch"])
@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic", "expected"])
def test_sets_of_answers_are_the_flat_form(score, ties):
    queries, entities, targets, exclude, known = problem(sum(map(ord, score + ties)))
    difference = queries[:, None] - entities
    scores = {"l1": -np.abs(difference).sum(-1), "l2": -(difference**2).sum(-1)}.get(score, queries @ entities.T)
    gone = [{*one, *other} for one, other in zip(exclude, known, strict=True)]
    expected = evaluate(**flat(scores, targets, gone), k=3, ties=ties, metrics=KEYS)
    function = {"function": lambda q, e: q @ e.T, "torch": lambda q, e: torch.einsum("bd,md->bm", q, e)}
    rows = map(torch.as_tensor, (queries, entities)) if score == "torch" else (queries, entities)
    options = {"score": function.get(score, score), "known": [sorted(each) for each in gone]}
    found = rank_all(*rows, targets, **options, batch=7).evaluate(k=3, ties=ties, metrics=KEYS)
    assert facts(found) == facts(expected)
    assert any("no positive" in note for note in found.notes)


def test_every_form_of_a_set_is_the_same_set():
    queries, entities, targets, exclude, _ = problem(1)
    whole = facts(rank_all(queries, entities, targets, known=exclude).evaluate())
    matrix = as_sparse(targets, 40)
    with_zeros = matrix.tolil().tocsr() + 0 * as_sparse(exclude, 40)  # a stored zero is no target
    for answers in (
        as_csr(targets),
        matrix,
        matrix.tocoo(),
        with_zeros,
        matrix.toarray() != 0,
        torch.as_tensor(matrix.toarray() != 0),
        [set(part.tolist()) for part in targets],
        [part.tolist() * 2 for part in targets],
    ):
        assert facts(rank_all(queries, entities, answers, known=as_sparse(exclude, 40)).evaluate()) == whole
    one = np.array([[0], [1], [2]])
    single, sets = (rank_all(queries[:3], entities, given).evaluate() for given in (one[:, 0], one))
    assert single["mrr"].value == sets["mrr"].value
    assert "recall@10" in sets
    assert "recall@10" not in single


@pytest.mark.parametrize("by_kind", [False, True])
@pytest.mark.parametrize("score", ["dot", "function"])
def test_only_the_allowed_candidates_are_ranked(by_kind, score):
    queries, entities, _, exclude, _ = problem(2)
    draw = np.random.default_rng(3)
    kinds = draw.integers(0, 3, len(queries))
    by = [np.sort(draw.permutation(40)[:15]) for _ in range(3 if by_kind else len(queries))]
    allowed = [by[kind] for kind in (kinds if by_kind else range(len(queries)))]
    targets = [draw.permutation(each)[:2] for each in allowed]
    gone = [np.setdiff1d(part, answers) for part, answers in zip(exclude, targets, strict=True)]
    expected = evaluate(**flat(queries @ entities.T, targets, gone, allowed), k=3, metrics=KEYS)
    found = rank_all(
        queries,
        entities,
        targets,
        known=gone,
        candidates=by,
        kinds=kinds if by_kind else None,
        score="dot" if score == "dot" else lambda q, e: q @ e.T,
    )
    assert facts(found.evaluate(k=3, metrics=KEYS)) == facts(expected)


def test_states_merge_and_keep_lists_for_paired_comparison(tmp_path):
    queries, entities, targets, exclude, _ = problem(4)
    names = np.arange(len(queries))
    whole = rank_all(queries, entities, targets, known=exclude, keep="items", ids=names)
    parts = []
    for part in (slice(0, 9), slice(9, None)):
        state = rank_all(queries[part], entities, targets[part], known=exclude[part], keep="items", ids=names[part])
        state.save(tmp_path / "part.npz")
        parts.append(RankingState.load(tmp_path / "part.npz"))
    assert facts(parts[0].merge(parts[1]).evaluate()) == facts(whole.evaluate())
    worse = rank_all(-queries, entities, targets, known=exclude, keep="items", ids=names)
    for metric in ("recall@3", "ndcg@3", "map@3", "mrr_first"):
        paired = compare(whole.items(), worse.items(), metric)
        values = [state.evaluate(metrics=[metric])[metric].value for state in (whole, worse)]
        assert paired.mean_difference == pytest.approx(values[0] - values[1], abs=1e-12)


def test_functions_get_their_rows_as_they_were_given():
    seen = []
    draw = torch.Generator().manual_seed(0)
    real, imaginary, entity_real, entity_imaginary = torch.randn(4, 12, 5, generator=draw, requires_grad=True)

    def complex_score(queries, entities):
        seen.append((type(queries), [type(part) for part in queries], len(queries[0]), torch.is_grad_enabled()))
        return queries[0] @ entities[0].T + queries[1] @ entities[1].T

    targets = np.arange(12)
    found = rank_all(
        (real, imaginary), (entity_real, entity_imaginary), targets, score=complex_score, batch=5, keep="items"
    )
    assert seen == [(tuple, [torch.Tensor, torch.Tensor], size, False) for size in (5, 5, 2)]
    scores = (real @ entity_real.T + imaginary @ entity_imaginary.T).detach().numpy()
    assert found.items().greater.tolist() == [int((row > row[place]).sum()) for place, row in enumerate(scores)]


@pytest.mark.parametrize("scores", [np.float16, np.float32, np.int64, np.int8, bool])
def test_scores_of_any_type_compare_exactly(scores):
    table = np.random.default_rng(5).integers(0, 2 if scores is bool else 9, (6, 20)).astype(scores)
    found = rank_all(np.arange(6), np.arange(20), np.arange(6), score=lambda rows, _: table[rows], keep="items").items()
    assert found.greater.tolist() == [int((row > row[place]).sum()) for place, row in enumerate(table)]
    assert found.equal.tolist() == [int((row == row[place]).sum()) - 1 for place, row in enumerate(table)]


def test_infinite_scores_are_values():
    table = np.array([[np.inf, 1.0, -np.inf, np.inf], [-np.inf, -np.inf, 0.0, 1.0]])
    state = rank_all([0, 1], np.arange(4), [0, 0], score=lambda rows, _: table[rows], known=[[], [3]], keep="items")
    assert (state.items().greater.tolist(), state.items().equal.tolist()) == ([0, 1], [1, 1])
    assert state.items().candidates.tolist() == [4, 3]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"candidates": [[0], [2, 3]]}, InputError, "targets: entity 1 of query 1 is not among its candidates"),
        ({"candidates": [[0, 1]], "kinds": [0, 1]}, InputError, "kinds must be in 0 … 0"),
        ({"kinds": [0, 0]}, OptionError, "kinds needs candidates"),
        ({"targets": [[0], [1], [2]]}, InputError, "found 3 sets for 2"),
        ({"targets": [[0], [9]]}, InputError, r"targets\[1\]: entity numbers must be in 0 … 3"),
        ({"targets": [[0], 1]}, InputError, r"targets\[1\]"),
        ({"targets": [[0], [[1]]]}, InputError, r"targets\[1\]"),
        ({"targets": np.ones((2, 3), bool)}, InputError, r"targets: expected shape \(2, 4\)"),
        ({"targets": sparse.eye(3)}, InputError, r"a sparse matrix of shape \(2, 4\), found \(3, 3\)"),
        ({"known": "all"}, InputError, "known"),
        ({"batch": 0}, OptionError, "batch"),
        ({"queries": (np.zeros((2, 2)), np.zeros((3, 2))), "score": lambda q, e: q}, InputError, "different lengths"),
        ({"score": lambda q, e: np.full((2, 4), 2**60)}, InputError, "2\\*\\*53"),
    ],
)
def test_bad_sets(change, error, words):
    given = {"queries": np.zeros((2, 2)), "entities": np.zeros((4, 2)), "targets": [[0], [1]]} | change
    with pytest.raises(error, match=words):
        rank_all(**given)


# -------------------------------------------------------------------------------------------------------- recommenders


def test_a_recommender_is_ranked_among_what_was_not_trained_on():
    users, items, test, train, _ = problem(6)
    scores = users @ items.T
    expected = evaluate(**flat(scores, test, train), k=[3, 5])
    listed = [
        key
        for key in expected
        if key.startswith(("recall", "precision", "map", "ndcg@", "hit_ratio", "mrr_first", "f1"))
    ]
    pairs = [
        np.stack([np.repeat(np.arange(25), [len(each) for each in sets]), np.concatenate(sets)], 1)
        for sets in (train, test)
    ]
    for given in (
        {"train": as_sparse(train, 40), "test": as_sparse(test, 40)},
        {"train": pairs[0], "test": pairs[1]},
        {"train": torch.as_tensor(pairs[0]), "test": test},
    ):
        for model in ((scores,), (torch.as_tensor(scores),), (users, items)):
            found = recommend(*model, **given, k=[3, 5])
            assert set(listed) <= set(found)
            assert {key: facts(found)[key] for key in listed} == {key: facts(expected)[key] for key in listed}
    assert list(recommend(scores, test=test, metrics=["mrr"])) == ["mrr"]


def test_minus_infinity_as_a_filter_is_found():
    users, items, test, train, _ = problem(7)
    scores = users @ items.T
    marked = scores.copy()
    for user, known in enumerate(train):
        marked[user, known] = -np.inf
    plain = facts(recommend(scores, train=train, test=test))
    assert facts(recommend(marked, train=train, test=test)) == plain  # excluded by name as well
    assert facts(recommend(marked, test=test, minus_inf="exclude")) == plain
    count, first = int(np.isneginf(marked).sum()), tuple(map(int, np.argwhere(np.isneginf(marked))[0]))
    with pytest.raises(
        InputError, match=rf"scores: {count} candidates score −inf, the first at \({first[0]}, {first[1]}\)"
    ):
        recommend(marked, test=test)
    ranked = recommend(marked, test=test, minus_inf="rank", metrics=["mean_rank"])
    assert (
        ranked["mean_rank"].value == evaluate(**flat(marked, test, [[]] * 25), metrics=["mean_rank"])["mean_rank"].value
    )
    user = next(user for user, answers in enumerate(test) if len(answers))
    marked[user, test[user][0]] = -np.inf
    with pytest.raises(InputError, match=f"the right answer {test[user][0]} of query {user} scores −inf"):
        recommend(marked, train=train, test=test)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": np.array([[0, 1]]), "test": np.array([[0, 1]])}, "test: item 1 of user 0 is in train, too"),
        ({"test": np.array([[0, 4]])}, "test: 4 is not among the 4 items"),
        ({"test": np.array([[3, 0]])}, "test: 3 is not among the 3 users"),
        ({"test": np.array([[0.5, 0]])}, "pairs of user and item"),
        ({"scores": sparse.eye(3, 4), "test": [[0]] * 3}, "scores: found a sparse matrix"),
        ({"scores": np.zeros(4), "test": [[0]] * 3}, "scores: expected shape"),
        ({"minus_inf": "drop", "test": [[0]] * 3}, "minus_inf"),
        ({"score": "l2", "test": [[0]] * 3}, "score needs items"),
        ({"test": [(0, 1), (1, 2), (2, 3)]}, "test: 3 lists of two numbers can be pairs of user and item, or two"),
        ({"test": [[0, 1], [1, 2], [2, 3]]}, "test: 3 lists of two numbers can be pairs"),
        ({"test": [(0, 1), (1, 2)]}, r"test: 2 lists of two numbers.*np\.array\(pairs\)"),
        ({"test": [[0]] * 3, "train": [[1, 2]] * 3}, "train: 3 lists of two numbers can be pairs"),
    ],
)
def test_bad_recommendations(change, words):
    with pytest.raises((InputError, OptionError), match=words):
        recommend(**({"scores": np.arange(12.0).reshape(3, 4)} | change))


def test_two_items_of_each_user_are_sets_if_they_say_so():
    scores = np.random.default_rng(3).normal(size=(3, 6))
    listed = [[0, 1], [1, 2], [0, 5]]
    whole = facts(recommend(scores, test=(np.ravel(listed), [0, 2, 4, 6]), k=2))
    for sets in ([set(each) for each in listed], [np.array(each) for each in listed]):
        assert facts(recommend(scores, test=sets, k=2)) == whole
    pairs = np.array(listed)  # users 0, 1 and 0
    assert recommend(scores, test=pairs, k=2)["recall@2"].n == 2


def test_weights_of_users():
    users, items, test, train, _ = problem(11)
    weights = np.random.default_rng(0).uniform(0.5, 3, len(users))
    each = [recommend(users[[user]], items, test=[test[user]], train=[train[user]], k=3) for user in range(len(users))]
    has = [user for user in range(len(users)) if len(test[user])]
    expected = np.average([each[user]["recall@3"].value for user in has], weights=weights[has])
    found = recommend(users, items, test=test, train=train, weights=weights, k=3)
    assert found["recall@3"].value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("policy", ["rank", "exclude", "raise"])
def test_minus_infinity_of_a_function(policy):
    """The same three meanings for a function of `rank_all` as in a matrix of `recommend`, with items or without."""
    table = np.random.default_rng(12).normal(size=(4, 9))
    table[:, 5] = -np.inf
    sets = [[0], [1, 2], [3], [4]]
    given = {"score": lambda rows, _: table[rows], "minus_inf": policy}
    if policy == "raise":
        for refused in (
            lambda: rank_all(np.arange(4), np.arange(9), sets, **given),
            lambda: recommend(np.arange(4), np.arange(9), test=sets, **given),
        ):
            with pytest.raises(InputError, match="4 candidates score −inf"):
                refused()
        return
    expected = facts(recommend(table, test=sets, minus_inf=policy, metrics=KEYS))
    assert facts(recommend(np.arange(4), np.arange(9), test=sets, metrics=KEYS, **given)) == expected
    assert facts(rank_all(np.arange(4), np.arange(9), sets, **given).evaluate(metrics=KEYS, k=10)) == expected


# --------------------------------------------------------------------------------------------------- lists of the first


@pytest.mark.parametrize("n_items", [40, None])
def test_lists_of_the_first_items_give_what_the_whole_order_gives(n_items):
    users, items, test, train, _ = problem(8, width=30)
    scores = users @ items.T + np.arange(40) * 1e-9  # no ties: lists have an order
    for user, known in enumerate(train):
        scores[user, known] = -np.inf
    lists = np.argsort(-scores, axis=1)[:, :6]
    found = rank_topk(lists, test, exclude=train, n_items=n_items).evaluate(k=[3, 6])
    whole = recommend(scores, train=train, test=test, metrics=list(found))
    assert {"recall@3", "precision@6", "ndcg@6", "map@3", "hit_ratio@6", "mrr_first@6"} <= set(found)
    for key, result in found.items():
        assert (result.value, result.interval, result.n) == (whole[key].value, whole[key].interval, whole[key].n)
        assert result.chance == (whole[key].chance if n_items else ())
        assert result.conventions["beyond the lists"] == "a right item there is not found"
    assert not found.findings
    longer = rank_topk(torch.as_tensor(lists), as_sparse(test, 40), exclude=as_sparse(train, 40)).evaluate(k=6)
    assert longer["recall@6"].chance == whole["recall@6"].chance  # the columns are the items


def test_short_lists_and_excluded_items():
    lists, answers = [[4, 2, 7], [5, 1]], [[2, 9], [1]]
    found = rank_topk(lists, answers).evaluate(k=[2, 3])
    assert found["recall@2"].value == (0.5 + 1) / 2
    assert found["precision@3"].value == (1 / 3 + 1 / 3) / 2
    assert found["mrr_first@3"].value == 0.5
    assert found.notes == ("1 places of the lists are not filled, and count as wrong items",)
    assert facts(rank_topk(np.array([[4, 2, 7], [5, 1, -1]]), answers).evaluate(k=[2, 3])) == facts(found)
    with pytest.raises(InputError, match="list 0 contains item 4, which is excluded"):
        rank_topk(lists, answers, exclude=[[4], []])
    skipped = rank_topk(lists, answers, exclude=[[4], []], skip_excluded=True).evaluate(k=[2, 3])
    assert list(skipped.options["k"]) == [2]  # one place less in every list
    with pytest.raises(InputError, match="only the first 2 items are known"):
        skipped["recall@3"]
    assert skipped["mrr_first@2"].value == (1 + 0.5) / 2
    assert "1 excluded items passed over" in skipped.notes[0]


def test_lists_compare_in_pairs_as_deep_as_they_are(tmp_path):
    draw = np.random.default_rng(9)
    answers = [draw.permutation(30)[:3] for _ in range(20)]
    one, other = (
        rank_topk(np.array([draw.permutation(30)[:5] for _ in range(20)]), answers, keep="items").evaluate(k=5)
        for _ in range(2)
    )
    assert compare(one.per_item, other.per_item, "recall@5").mean_difference == pytest.approx(
        one["recall@5"].value - other["recall@5"].value
    )
    one.per_item.save(tmp_path / "items.npz")
    for items in (one.per_item, Items.load(tmp_path / "items.npz")):
        for metric in ("recall@6", "mrr_first", "r_precision"):
            with pytest.raises(OptionError, match="not known from lists of the first 5 items"):
                compare(items, other.per_item, metric)


@pytest.mark.parametrize(
    "metric",
    [
        "mrr",
        "mean_rank",
        "median_rank",
        "amri",
        "hits@2",
        "roc_auc",
        "average_precision",
        "mrr_first",
        "r_precision",
        "pooled_hits@2",
    ],
)
def test_what_lists_cannot_tell_is_refused_by_name(metric):
    with pytest.raises(OptionError, match=f"{metric} depends on items beyond the lists"):
        rank_topk([[0, 1]], [[1]]).evaluate(metrics=[metric])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": [3, 4]}, "k = 3 is beyond the lists, of which the first 2 items"),
        ({"metrics": ["recall@3"]}, "k = 3 is beyond the lists"),
        ({"indices": [[0, 0], [1, 2]]}, "list 0 contains item 0 twice"),
        ({"indices": [[-1, 0], [1, 2]]}, "list 0 has an unfilled place before its end"),
        ({"indices": [[-2, 0], [1, 2]]}, "a number below −1"),
        ({"indices": [[0.5, 1], [1, 2]]}, "item numbers"),
        ({"indices": [0, 1]}, "indices: expected shape"),
        ({"indices": np.empty((2, 0), int)}, "without places"),
        ({"n_items": 3, "indices": [[0, 1], [1, 3]]}, "item 3 is not among the 3 items"),
        ({"n_items": 3, "targets": [[3], [0]]}, "targets"),
        ({"targets": [[1]]}, "found 1 sets for 2"),
        ({"exclude": [[1], []]}, "item 1, which is excluded"),
        ({"exclude": [[], [0]]}, "item 0 of query 1 is excluded"),
    ],
)
def test_bad_lists(change, words):
    given = {"indices": [[0, 1], [1, 2]], "targets": [[1], [0]]} | change
    asked = {name: given.pop(name) for name in ("k", "metrics") if name in given}
    with pytest.raises((InputError, OptionError), match=words):
        rank_topk(**given).evaluate(**asked)


@pytest.mark.parametrize(
    "form", [np.asarray, lambda matrix: [list(row) for row in matrix], lambda m: np.asarray(m, "u1")]
)
def test_a_matrix_of_zeros_and_ones_is_not_read_as_entity_numbers(form):
    scores = np.random.default_rng(0).normal(size=(4, 6))
    right = np.eye(4, 6, 2, dtype=int)
    expected = recommend(scores, test=right != 0, k=3)["recall@3"].value
    hits = [scores[user, user + 2] >= np.sort(scores[user])[-3] for user in range(4)]
    assert expected == np.mean(hits)
    with pytest.raises(InputError, match=r"matrix of 0 and 1.*as booleans"):
        recommend(scores, test=form(right), k=3)
    with pytest.raises(InputError, match="matrix of 0 and 1"):
        recommend(scores, test=right != 0, train=form(np.eye(4, 6, dtype=int)), k=3)
    for name in ("known", "candidates"):
        with pytest.raises(InputError, match="matrix of 0 and 1"):
            rank_all(scores, np.eye(6), [2, 3, 4, 5], **{name: form(np.eye(4, 6, dtype=int))})
    with pytest.raises(InputError, match="matrix of 0 and 1"):  # the number of items is not known
        rank_topk(np.argsort(-scores, axis=1)[:, :3], form(right))
