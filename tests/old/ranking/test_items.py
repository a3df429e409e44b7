"""Counts kept query by query, and the paired comparison over them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.schema import write_result

RANDOM = np.random.default_rng(0)
POS_A, POS_B, NEG = RANDOM.normal(0.5, 1, 12), RANDOM.normal(0, 1, 12), RANDOM.normal(0, 1, (12, 9))


def items(pos: np.ndarray, **options: Any) -> ranking.Items:
    return ranking.evaluate(pos, NEG[: len(pos)], keep="items", **options).per_item


def greater(pos: np.ndarray) -> np.ndarray:
    return np.array([sum(n > p for n in row) for p, row in zip(pos, NEG, strict=True)])


def test_items_are_the_counts_of_each_query() -> None:
    kept = items(POS_A, ids=[f"q{i}" for i in range(12)], cluster=np.arange(12) // 2)
    assert kept.ids.tolist() == [f"q{i}" for i in range(12)]
    assert kept.greater.tolist() == greater(POS_A).tolist()
    assert kept.equal.tolist() == [0] * 12
    assert kept.candidates.tolist() == [10] * 12
    assert kept.cluster.tolist() == (np.arange(12) // 2).tolist()
    assert ranking.evaluate(POS_A, NEG).per_item is None


def test_values_are_exact() -> None:
    ranks = greater(POS_A) + 1
    assert items(POS_A).values().tolist() == [1 / rank for rank in ranks]
    assert items(POS_A).values("hits@3").tolist() == [float(rank <= 3) for rank in ranks]
    assert items(POS_A).values("mean_rank").tolist() == ranks.tolist()
    assert items(POS_A).values("ndcg@5") == pytest.approx([1 / np.log2(1 + r) if r <= 5 else 0 for r in ranks])
    tied = ranking.Items(np.arange(2), np.array([0, 1]), np.array([1, 2]), np.array([3, 4]))
    assert tied.values("mrr", ties="expected") == pytest.approx([3 / 4, (1 / 2 + 1 / 3 + 1 / 4) / 3])
    for metric in ("median_rank", "roc_auc", "amri", "geometric_mean_rank", "recall@3"):
        with pytest.raises(OptionError, match="is not a mean over queries"):
            items(POS_A).values(metric)
    assert len(ranking.Items.join([]).values()) == 0


def test_numbers_go_on_over_batches_and_dropped_queries() -> None:
    state = ranking.RankingState(keep="items")
    state.update(np.array([np.nan, 1, 2]), NEG[:3], nan="omit")
    state.update(np.array([3.0, 4]), NEG[:2])
    assert state.items().ids.tolist() == [1, 2, 3, 4]


def test_compare_flips_every_sign() -> None:
    """Twelve queries: all 4096 sign patterns, counted one by one."""
    test = ranking.compare(items(POS_A), items(POS_B))
    differences = 1 / (greater(POS_A) + 1) - 1 / (greater(POS_B) + 1)
    signs = np.array(list(itertools.product([-1, 1], repeat=12)))
    reached = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    assert test.p_value == pytest.approx(reached.mean())
    assert test.mean_difference == pytest.approx(differences.mean())
    assert (test.positive, test.zero, test.negative) == tuple(
        int((np.sign(differences) == s).sum()) for s in (1, 0, -1)
    )


def test_compare_flips_whole_clusters() -> None:
    cluster = np.arange(12) // 3
    test = ranking.compare(items(POS_A, cluster=cluster), items(POS_B, cluster=cluster))
    sums = (1 / (greater(POS_A) + 1) - 1 / (greater(POS_B) + 1)).reshape(4, 3).sum(axis=1)
    signs = np.array(list(itertools.product([-1, 1], repeat=4)))
    reached = np.abs(signs @ sums) >= abs(sums.sum()) - 1e-12
    assert test.p_value == pytest.approx(reached.mean())
    assert test.units == 4


def test_compare_pairs_by_id() -> None:
    order = np.random.default_rng(1).permutation(12)
    ids = np.array([f"q{i}" for i in range(12)])
    shuffled = ranking.evaluate(POS_B[order], NEG[order], keep="items", ids=ids[order]).per_item
    straight = ranking.compare(items(POS_A, ids=ids), items(POS_B, ids=ids))
    assert ranking.compare(items(POS_A, ids=ids), shuffled) == straight


def test_a_ranker_equals_itself() -> None:
    """Equal queries cancel exactly, even where the two means differ."""
    better = POS_A.copy()
    better[0] = 99
    test = ranking.compare(items(better), items(POS_A))
    assert (test.positive, test.zero, test.negative) == (int(greater(POS_A)[0] > 0), 12 - int(greater(POS_A)[0] > 0), 0)


def test_compare_refuses_what_cannot_be_paired() -> None:
    with pytest.raises(InputError, match=r"1 queries only in items_a \(such as \[11\]\), 0 only in items_b"):
        ranking.compare(items(POS_A), items(POS_B[:11]))
    twice = replace(items(POS_B), ids=np.array([0, 0, *range(2, 12)]))
    with pytest.raises(InputError, match="items_b: an id occurs twice"):
        ranking.compare(items(POS_A), twice)
    with pytest.raises(InputError, match="only in items_a"):
        ranking.compare(items(POS_A), items(POS_B, ids=[str(i) for i in range(12)]))
    halves, thirds = np.arange(12) // 2, np.arange(12) // 3
    for other in ({}, {"cluster": thirds}):
        with pytest.raises(InputError, match="clustered differently"):
            ranking.compare(items(POS_A, cluster=halves), items(POS_B, **other))
        with pytest.raises(InputError, match="clustered differently"):
            ranking.compare(items(POS_A, **other), items(POS_B, cluster=halves))


def test_items_are_saved_beside_the_result(tmp_path: Path) -> None:
    evaluation = ranking.evaluate(POS_A, NEG, keep="items", cluster=np.arange(12) // 2)
    write_result(evaluation, tmp_path / "x.json")
    loaded = ranking.Items.load(tmp_path / "x.kept.npz")
    for name, column in evaluation.per_item.columns().items():
        assert loaded.columns()[name].tolist() == column.tolist()
    ranking.RankingState().save(tmp_path / "state.npz")
    with pytest.raises(InputError, match="contains a ranking state"):
        ranking.Items.load(tmp_path / "state.npz")


def test_options_and_items_are_checked() -> None:
    kept = items(POS_A)
    with pytest.raises(UnknownNameError, match="unknown tie rule 'optimist'"):
        kept.values("mrr", ties="optimist")
    with pytest.raises(UnknownNameError, match="unknown tie rule 'optimist'"):
        ranking.compare(kept, items(POS_B), ties="optimist")
    with pytest.raises(OptionError, match="k must be a whole number of at least 1, not 0"):
        kept.values("hits@0")
    with pytest.raises(InputError, match=r'items_b: expected the items of a ranker, found Evaluation.*keep="items"'):
        ranking.compare(kept, ranking.evaluate(POS_B, NEG))


def test_items_are_compared_under_the_tie_rule_of_their_evaluations() -> None:
    rng = np.random.default_rng(3)
    pos, neg = rng.integers(0, 3, (2, 60)), rng.integers(0, 3, (2, 60, 20))
    for ties in ("realistic", "expected", "optimistic", "pessimistic"):
        first, second = (
            ranking.evaluate(pos[side], neg[side], ties=ties, keep="items", metrics=["mrr"]) for side in (0, 1)
        )
        found = ranking.compare(first.per_item, second.per_item, resamples=50)
        assert found.mean_difference == pytest.approx(first["mrr"].value - second["mrr"].value, abs=1e-12)
    other = ranking.evaluate(pos[1], neg[1], ties="expected", keep="items").per_item
    with pytest.raises(OptionError, match="the tie rules differ: expected and pessimistic"):
        ranking.compare(first.per_item, other)
    ranking.compare(first.per_item, other, ties="realistic", resamples=50)


def test_lists_with_other_right_answers_are_not_compared():
    given = {"scores": [3.0, 2, 1, 3, 2, 1], "queries": ["b", "b", "b", "a", "a", "a"], "keep": "items"}
    one = ranking.evaluate(**given, labels=[1, 0, 0, 0, 1, 0]).per_item
    other = ranking.evaluate(**given, labels=[1, 0, 0, 0, 1, 1]).per_item
    with pytest.raises(InputError, match="query a has 1 right answers for one ranker and 2 for the other"):
        ranking.compare(one, other, "recall@2")
