"""The first k items from scores in blocks, and states of lists: against one stable sort of the whole matrix."""

import numpy as np
import pytest
import torch
from scipy import sparse

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import RankingState, from_topk, rank_topk, stream_topk

USERS, ITEMS = 12, 30


def sorted_lists(scores, k, gone):
    """Best first, equal scores by item number, without the items that are gone."""
    lists = np.full((len(scores), k), -1)
    for user, row in enumerate(scores):
        order = [item for item in np.argsort(-row, kind="stable") if item not in gone[user]][:k]
        lists[user, : len(order)] = order
    return lists


def scored(seed, distinct=4):
    """Few distinct scores, so that most of them tie."""
    draw = np.random.default_rng(seed)
    return draw.integers(0, distinct, (USERS, ITEMS)).astype(np.float32), [
        draw.permutation(ITEMS)[: draw.integers(0, 8)] for _ in range(USERS)
    ]


def cut(length, sizes):
    return np.split(np.arange(length), np.cumsum(sizes)[:-1]) if sizes else [np.arange(length)]


@pytest.mark.parametrize("k", [1, 5, 29, 30, 40])
@pytest.mark.parametrize("sizes", [[30], [1, 29], [7, 0, 3, 20], [1] * 30])
@pytest.mark.parametrize("distinct", [1, 4, 10**6])
def test_blocks_of_items_give_the_lists_of_the_whole(k, sizes, distinct):
    scores, gone = scored(k + len(sizes), distinct)
    for exclude in (None, gone):
        first = stream_topk((scores[:, part] for part in cut(ITEMS, sizes)), k, exclude=exclude)
        expected = sorted_lists(scores, k, exclude or [[]] * USERS)
        assert first.indices.tolist() == expected.tolist()
        found = np.where(expected >= 0, np.take_along_axis(scores, np.maximum(expected, 0), axis=1), -np.inf)
        assert first.scores.tolist() == found.tolist()


@pytest.mark.parametrize("sizes", [[12], [5, 7], [1] * 12, [4, 0, 8]])
def test_blocks_of_queries_give_the_lists_of_the_whole(sizes):
    scores, gone = scored(3)
    rows = np.repeat(np.arange(USERS), [len(each) for each in gone])
    matrix = sparse.csr_matrix((np.ones(len(rows)), (rows, np.concatenate(gone))), (USERS, ITEMS))
    for exclude in (None, gone, matrix, matrix.toarray() != 0, (np.concatenate(gone), np.cumsum([0, *map(len, gone)]))):
        parts = cut(USERS, sizes)
        first = stream_topk([torch.as_tensor(scores[part]) for part in parts], 6, along="queries", exclude=exclude)
        assert first.indices.tolist() == sorted_lists(scores, 6, [[]] * USERS if exclude is None else gone).tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8, bool])
def test_scores_of_any_type(dtype):
    scores = scored(4)[0].astype(dtype)
    first = stream_topk([scores[:, :11], scores[:, 11:]], 5)
    assert first.indices.tolist() == sorted_lists(scores.astype(float), 5, [[]] * USERS).tolist()


def test_minus_infinity_is_an_error_an_exclusion_or_a_score():
    scores, gone = scored(5)
    marked = scores.copy()
    for user, items in enumerate(gone):
        marked[user, items] = -np.inf
    blocks = [marked[:, :13], marked[:, 13:]]
    with pytest.raises(InputError, match=r"blocks\[0\]: \d+ candidates score −inf, the first at"):
        stream_topk(blocks, 25)
    without = sorted_lists(scores, 25, gone)
    assert stream_topk(blocks, 25, minus_inf="exclude").indices.tolist() == without.tolist()
    assert stream_topk(blocks, 25, exclude=gone).indices.tolist() == without.tolist()  # excluded by name as well
    ranked = stream_topk(blocks, 25, minus_inf="rank")
    assert ranked.indices.tolist() == sorted_lists(marked, 25, [[]] * USERS).tolist()
    both = stream_topk(blocks, 30, minus_inf="rank", exclude=[each[:1] for each in gone])
    assert both.indices.tolist() == sorted_lists(marked, 30, [each[:1] for each in gone]).tolist()


def test_streamed_lists_are_evaluated_as_lists():
    scores, gone = scored(6, 10**6)
    right = [np.setdiff1d(np.arange(ITEMS), each)[:2] for each in gone]
    first = stream_topk(np.array_split(scores, 3, axis=1), 5, exclude=gone)
    expected = from_topk(sorted_lists(scores, 5, gone), right, exclude=gone, n_items=ITEMS, k=5)
    found = from_topk(first.indices, right, exclude=gone, n_items=ITEMS, k=5)
    assert {key: result.value for key, result in found.items()} == {key: r.value for key, r in expected.items()}


@pytest.mark.parametrize(
    ("blocks", "options", "words"),
    [
        ([], {}, "blocks: no scores"),
        ([np.zeros((2, 3)), np.zeros((3, 3))], {}, r"blocks\[1\]: expected shape \(2, any\)"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], {"along": "queries"}, r"blocks\[1\]: expected shape \(any, 3\)"),
        ([np.zeros(3)], {}, r"blocks\[0\]: expected shape"),
        ([np.full((2, 3), np.nan)], {}, r"blocks\[0\]: 6 of 6 values are NaN"),
        ([np.full((1, 1), 2**60)], {}, "2\\*\\*53"),
        ([np.zeros((2, 3))], {"k": 0}, "k must be a whole number"),
        ([np.zeros((2, 3))], {"along": "users"}, "along"),
        ([np.zeros((2, 3))], {"minus_inf": "drop"}, "minus_inf"),
        ([np.zeros((2, 3))], {"exclude": [[0]]}, "found 1 sets for 2"),
        ([np.zeros((2, 3))], {"exclude": [[0], [3]]}, "exclude: names item 3, and 3 items were scored"),
        ([np.zeros((2, 3))], {"exclude": np.ones((2, 4), bool)}, "exclude: "),
        ([np.zeros((2, 3))], {"exclude": sparse.csr_matrix((2, 4))}, "exclude: has 4 columns, and 3 items were scored"),
        ([np.zeros((2, 3))], {"exclude": [[0]] * 3, "along": "queries"}, "found 3 sets for 2 queries"),
        ([np.zeros((2, 3))] * 2, {"exclude": [[0]] * 3, "along": "queries"}, "found 3 sets for 4 queries"),
        ([np.zeros((2, 3))] * 3, {"exclude": [[0]] * 3, "along": "queries"}, "found 3 sets for 6 queries"),
    ],
)
def test_bad_blocks(blocks, options, words):
    with pytest.raises((InputError, OptionError), match=words):
        stream_topk(blocks, **{"k": 2} | options)


# ------------------------------------------------------------------------------------------------------------- states


def facts(evaluation):
    return {key: (r.value, r.interval, r.n, r.chance, r.conventions) for key, r in evaluation.items()}


@pytest.mark.parametrize("n_items", [ITEMS, None])
def test_saved_states_of_lists_merge_to_the_whole(tmp_path, n_items):
    lists = sorted_lists(scored(7, 10**6)[0], 6, [[]] * USERS)
    lists[3, 4:] = -1
    right = [np.random.default_rng(user).permutation(ITEMS)[:3] for user in range(USERS)]
    group, cluster, names = np.arange(USERS) % 2, np.arange(USERS) // 3, np.arange(100, 100 + USERS)

    def counted(part):
        return rank_topk(
            lists[part],
            right[part],
            n_items=n_items,
            groups={"half": group[part]},
            cluster=cluster[part],
            ids=names[part],
            keep="items",
        )

    whole = from_topk(
        lists, right, n_items=n_items, groups={"half": group}, cluster=cluster, ids=names, keep="items", k=[2, 6, 7]
    )
    parts = []
    for number, part in enumerate((slice(0, 5), slice(5, None))):
        counted(part).save(tmp_path / f"{number}.npz")
        parts.append(RankingState.load(tmp_path / f"{number}.npz"))
    merged = RankingState(keep="items").merge(parts[0])  # into an empty one
    merged = merged.merge(parts[1])
    found = merged.evaluate(k=[2, 6, 7])
    assert facts(found) == facts(whole)
    assert (found.notes, found.conventions) == (whole.notes, whole.conventions)
    assert "2 places of the lists are not filled" in found.notes[0]
    assert found.per_item.depth == whole.per_item.depth == 6
    assert found["recall@2"].by("half")["value"].tolist() == whole["recall@2"].by("half")["value"].tolist()
    with pytest.raises(InputError, match="only the first 6 items are known"):
        found["recall@7"]
    with pytest.raises(OptionError, match="mrr depends on items beyond the lists"):
        merged.evaluate(metrics=["mrr"])
    with pytest.raises(OptionError, match="have an order and no ties"):
        merged.evaluate(ties="optimistic")
    with pytest.raises(InputError, match="has candidates in an earlier part"):
        merged.merge(counted(slice(0, 1)))


def test_lists_of_different_lengths_are_known_as_far_as_the_shortest():
    long, short = [[0, 1, 2, 3]], [[5, 6]]
    state = rank_topk(long, [[3, 1]], ids=[0], n_items=9).merge(rank_topk(short, [[6]], ids=[1]))
    found = state.evaluate(k=[2, 4])
    assert found["recall@2"].value == (0.5 + 1) / 2
    assert found["recall@2"].chance == ()  # the number of items is known of one part only
    with pytest.raises(InputError, match="only the first 2 items are known"):
        found["recall@4"]


def test_lists_and_whole_rankings_do_not_mix():
    whole = RankingState().update(scores=[0.5, 0.1], labels=[1, 0], queries=[7, 7])
    with pytest.raises(InputError, match="lists of the first items"):
        whole.merge(rank_topk([[0, 1]], [[1]], ids=[3]))
    lists = rank_topk([[0, 1]], [[1]], ids=[3])
    with pytest.raises(InputError, match="lists of the first items"):
        lists.update(scores=[0.5, 0.1], labels=[1, 0], queries=[7, 7])
    assert lists.cut.depth == 2  # a refused batch changes nothing
    assert lists.evaluate(k=2)["recall@2"].value == 1
