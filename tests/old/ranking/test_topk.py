"""States of lists of the first items."""

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking import RankingState, rank_topk

USERS, ITEMS = 12, 30


def facts(evaluation):
    return {key: (r.value, r.interval, r.n, r.chance, r.conventions) for key, r in evaluation.items()}


@pytest.mark.parametrize("n_items", [ITEMS, None])
def test_saved_states_of_lists_merge_to_the_whole(tmp_path, n_items):
    draw = np.random.default_rng(7)
    lists = np.array([draw.permutation(ITEMS)[:6] for _ in range(USERS)])
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

    whole = counted(slice(None)).evaluate(k=[2, 6, 7])
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
