"""Faults of rankings that were found in use, each with a test of its kind: R32, R33, R37, R39, R41, R43, A31."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from graphgauge import Evaluation, ranking, stats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.finding import checks

RNG = np.random.default_rng(3)
POS, NEG = RNG.normal(1, 1, 60), RNG.normal(0, 1, (60, 20))
KEYS = ["amri", "mrr", "adjusted_mrr", "hits@3"]


def values(evaluation: Evaluation) -> dict[str, float]:
    return {key: evaluation[key].value for key in KEYS}


def test_r32_intervals_of_one_pool_hold_what_they_say() -> None:
    """Both errors count: of 200 draws of positives and pool, about 95 % contain the value of the population."""
    rng, held = np.random.default_rng(0), []
    truth = ranking.mrr(rng.normal(2, 1, 4000), rng.normal(0, 1, 200_000)[:2000])
    for _ in range(200):
        interval = ranking.evaluate(rng.normal(2, 1, 100), rng.normal(0, 1, 2000), metrics="mrr")["mrr"].interval
        held.append(interval is not None and interval.low <= truth <= interval.high)
    assert np.mean(held) > 0.9


@pytest.mark.parametrize("form", ["matrix", "ragged", "list", "lists", "pool"])
def test_r33_negatives_at_minus_infinity_are_seen_in_every_form(form: str) -> None:
    """As candidates they flatter what is adjusted for chance; left out, results are those of a mask."""
    gone = RNG.random(NEG.shape) < 0.5
    marked = np.where(gone, -np.inf, NEG)
    names = np.repeat(np.arange(60), 21)
    if form == "lists":
        scores, labels = np.column_stack([POS, marked]).ravel(), np.tile([1] + [0] * 20, 60)

        def asked(rule: str) -> ranking.Queries:
            return ranking.Queries.from_lists(scores, labels, names, minus_inf=rule)
    else:
        inputs = {
            "matrix": marked,
            "ragged": (marked.ravel(), np.arange(0, 1201, 20)),
            "list": [row[: 20 - place % 2] for place, row in enumerate(marked)],
            "pool": marked.ravel(),
        }

        def asked(rule: str) -> ranking.Queries:
            return ranking.Queries.from_scores(POS, inputs[form], minus_inf=rule)

    flattering = ranking.evaluate(asked("rank"), metrics=KEYS)
    (finding,) = [each for each in flattering.findings if each.check == "lowest-scores"]
    assert finding.evidence["count"] == (
        int(gone.sum()) if form != "list" else sum(gone[place, : 20 - place % 2].sum() for place in range(60))
    )
    right = ranking.evaluate(asked("exclude"), metrics=KEYS)
    assert right["amri"].value < flattering["amri"].value
    assert not [each for each in right.findings if each.check == "lowest-scores"]
    if form in ("matrix", "ragged", "lists"):
        assert values(right) == values(ranking.evaluate(POS, NEG, mask=~gone, metrics=KEYS))
    if form == "pool":
        assert values(right) == values(ranking.evaluate(POS, NEG[~gone], metrics=KEYS))
    assert right.conventions["minus_inf"] == "exclude"


def test_r37_a_default_evaluation_is_short() -> None:
    found = ranking.evaluate(POS, NEG, groups={"relation": np.arange(60) % 4})
    assert list(found) == ["mrr", "hits@1", "hits@3", "hits@10", "adjusted_mrr"]
    assert found.by("relation")["relation"].tolist() == [0, 1, 2, 3, "macro"]


def test_r39_values_of_queries_come_back(tmp_path: Path) -> None:
    found = ranking.evaluate(POS, NEG, ids=np.arange(60) + 7)
    loaded = Evaluation.load(found.save(tmp_path / "result.json"))
    assert loaded.per_item is not None
    assert loaded.per_item.ids.tolist() == list(range(7, 67))
    assert loaded.per_item["mrr"].tolist() == found.per_item["mrr"].tolist()


def test_r41_lists_of_arrays_go_in_as_tgb_has_them() -> None:
    rows = [NEG[place, : 3 + place % 17].astype(np.float32) for place in range(60)]
    flat = np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    assert values(ranking.evaluate(POS, rows, metrics=KEYS)) == values(ranking.evaluate(POS, flat, metrics=KEYS))
    with pytest.raises(InputError, match="found 59 rows for 60 positives"):
        ranking.evaluate(POS, rows[:-1])


def test_r43_messages_name_arguments_that_there_are() -> None:
    for call, name in (
        (lambda: ranking.evaluate(POS), "neg_scores"),
        (lambda: ranking.evaluate(POS, NEG, mask=NEG), "mask"),
        (lambda: ranking.evaluate(POS, NEG, minus_inf="drop"), "minus_inf"),
        (lambda: ranking.evaluate(POS, (NEG.ravel(), np.arange(61))), "neg_scores"),
    ):
        with pytest.raises((InputError, OptionError)) as refusal:
            call()
        assert name in str(refusal.value)


def test_r43_every_finding_is_said_once() -> None:
    tied = ranking.evaluate(np.zeros(60), np.zeros((60, 9)), k=(9, 10, 11))
    checks = [each.check for each in tied.findings]
    assert len(checks) == len(set(checks)) <= 3


def test_a31_negatives_that_are_true_in_the_other_direction_are_named() -> None:
    test = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    negatives = np.array([[2], [8], [6], [8]])
    train = np.array([[2, 0], [6, 4], [1, 9]])
    materials = {"test_edges": test, "neg_targets": negatives, "train_edges": train}
    names = ("known-positives-as-negatives", "reversed-positives-as-negatives")
    found = {each.name: each.run(materials) for each in checks("ranking") if each.name in names}
    assert found["known-positives-as-negatives"] is None
    turned = found["reversed-positives-as-negatives"]
    assert turned is not None
    assert turned.evidence["count"] == 2
    both = materials | {"known_edges": np.array([[0, 2]])}
    (known,) = [each.run(both) for each in checks("ranking") if each.name == names[0]]
    assert known is not None
    assert "1 that are true in the other direction" in known.message


OWN = '''
from graphgauge import metric, ranking
from graphgauge.core.metric import Exempt, NoChance
from graphgauge.ranking.errors import of_mean
laws = {"permutation": True, "merge": True, "monotone": True, "symmetry": Exempt("positives and negatives differ")}
@metric("rbp", family="ranking", needs=("ranks",), direction="higher", bounds=(0, 1), unit="query",
        chance=NoChance("nobody has worked it out"), interval=of_mean, laws=laws)
def rbp(ranks, *, p=0.8):
    """Rank-biased precision of one right answer."""
    return ranks.estimate((1 - p) * p ** (ranks.rank - 1))
print(ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], metrics=["mrr", rbp])["rbp"].value)
'''


def test_a_metric_of_a_script_takes_ten_lines() -> None:
    assert len(OWN.strip().splitlines()) <= 11
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx((0.2 + 0.2 * 0.8) / 2)


def test_a_part_without_queries_has_labels_of_any_kind() -> None:
    """The last shard of a loader may be empty: its empty list of ids is neither text nor numbers."""
    names = [f"query {number}" for number in range(3)]
    parts = []
    for shard, rows in enumerate((slice(0, 0), slice(0, 2), slice(2, 2), slice(2, 3))):
        part = ranking.RankingState(shard=str(shard))
        part.update(POS[rows], NEG[rows], ids=names[rows], groups={"kind": ["a", "b", "a"][rows]})
        parts.append(part)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    expected = ranking.evaluate(POS[:3], NEG[:3], ids=names, groups={"kind": ["a", "b", "a"]})
    assert all_values(whole.evaluate()) == all_values(expected)
    mixed = ranking.RankingState(shard="numbers")
    mixed.update(POS[3:4], NEG[3:4], ids=[7], groups={"kind": ["a"]})
    whole.merge(mixed)
    with pytest.raises(InputError, match="text labels in one part and integers in another"):
        whole.evaluate()


def all_values(evaluation: Evaluation) -> dict[str, float]:
    return {key: result.value for key, result in evaluation.items()}


def test_queries_are_paired_by_their_place_in_the_input(tmp_path: Path) -> None:
    """Either lacks another query. Those that both have are compared as in evaluations of these alone."""
    one, two = POS.copy(), POS + 0.3
    one[0], two[-1] = np.nan, np.nan
    runs = {"a": ranking.evaluate(one, NEG, nan="omit"), "b": ranking.evaluate(two, NEG, nan="omit")}
    assert runs["a"].per_item.ids.tolist() == list(range(1, 60))
    assert runs["b"].per_item.ids.tolist() == list(range(59))
    with pytest.raises(InputError, match="have different items"):
        stats.compare(runs, metric="mrr", over="items")
    found = stats.compare(runs, metric="mrr", over="items", missing="omit")
    both = {"a": ranking.evaluate(POS[1:-1], NEG[1:-1]), "b": ranking.evaluate(POS[1:-1] + 0.3, NEG[1:-1])}
    assert found["a", "b"].p_value == stats.compare(both, metric="mrr", over="items")["a", "b"].p_value
    # In batches, of which the first is counted last, and from a file.
    state = ranking.RankingState("1", nan="omit").update(one[20:], NEG[20:])
    first = ranking.RankingState("0", nan="omit").update(one[:9], NEG[:9]).update(one[9:20], NEG[9:20])
    state.merge(first).save(tmp_path / "state.npz")
    for each in (state, ranking.RankingState.load(tmp_path / "state.npz")):
        assert each.evaluate().per_item.ids.tolist() == list(range(1, 60))
    lists = [
        ranking.Queries.from_topk([[1], [0], [2]], targets, n_items=3) for targets in ([[], [0], [1]], [[1], [], [2]])
    ]
    assert [ranking.evaluate(each, k=1).per_item.ids.tolist() for each in lists] == [[1, 2], [0, 2]]


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"neg_scores": NEG[:, :5]}, "60 of 60 items have other candidates"),
        ({"neg_scores": NEG, "mask": np.arange(1200).reshape(60, 20) != 7}, "1 of 60 items have other candidates"),
        ({"neg_scores": NEG, "weights": np.ones(60)}, "60 of 60 items have other weights"),
    ],
)
def test_queries_that_were_asked_something_else_are_not_compared(
    tmp_path: Path, other: dict[str, Any], what: str
) -> None:
    runs = {"a": ranking.evaluate(POS, NEG), "b": ranking.evaluate(POS, **other)}
    with pytest.raises(InputError, match=what):
        stats.compare(runs, metric="mrr", over="items")
    for name, each in runs.items():
        each.save(tmp_path / f"{name}.json", method=name, dataset="d", seed=0)
    with pytest.raises(InputError, match=what):
        stats.compare(tmp_path, metric="mrr", over="items")


def test_filtered_ranks_and_other_answers_are_not_compared() -> None:
    scores, targets = RNG.normal(size=(9, 12)), RNG.integers(0, 12, 9)
    known = [{(target + 1) % 12} for target in targets]
    queries = [
        ranking.Queries.from_embeddings(scores=scores, targets=targets, known=sets) for sets in (None, known, known)
    ]
    raw, filtered, same = map(ranking.evaluate, queries)
    with pytest.raises(InputError, match="9 of 9 items have other candidates"):
        stats.compare({"a": raw, "b": filtered}, metric="mrr", over="items")
    assert stats.compare({"a": same, "b": filtered}, metric="mrr", over="items").design.units == (9, 9)
    lists = np.argsort(-scores)[:, :4]
    one, two = (
        ranking.evaluate(ranking.Queries.from_topk(lists, sets, n_items=items), k=3)
        for sets, items in ((known, 12), ([{*each, 0, 1} for each in known], 15))
    )
    with pytest.raises(InputError, match="items have other right answers"):
        stats.compare({"a": one, "b": two}, metric="recall@3", over="items")


def test_a_few_queries_that_differ_are_a_small_effect() -> None:
    """Of 40 queries one is a hit of both, and four more are hits of b: they have the ranks 37 to 40."""
    one, others = np.where(np.arange(40) == 0, 9.0, -9.0), np.where(np.arange(40) < 5, 9.0, -9.0)
    runs = {"a": ranking.evaluate(one, np.zeros((40, 99))), "b": ranking.evaluate(others, np.zeros((40, 99)))}
    found = stats.compare(runs, metric="hits@1", over="items")
    assert found["b", "a"].effect == pytest.approx(4 * 38.5 / (40 * 41 / 2), rel=1e-12)
    assert found.conclusion.startswith("Only 4 of 40 queries differ, and no difference can be significant")
    # One value has one interval, at the level that it was computed for.
    assert runs["a"]["hits@1"].interval.method == "wilson"
    assert found["a"].interval == runs["a"]["hits@1"].interval
    assert stats.compare(runs, metric="hits@1", over="items", confidence=0.9)["a"].interval.level == pytest.approx(0.9)


@pytest.mark.parametrize("names", [("user", "item"), ("User_ID", "itemId"), ("query", "item"), ("left", "right")])
def test_columns_of_a_frame_go_by_their_names(names: tuple[str, str]) -> None:
    """In any order if they say what they are, and else as they stand."""
    scores, pairs = RNG.normal(size=(9, 30)), np.stack([np.arange(9), RNG.integers(0, 9, 9)], 1)[[*range(9), *range(8)]]
    pairs[9:, 1] += 9
    frame = pd.DataFrame(pairs, columns=names)
    said = ranking.recommend(scores, test=pairs, metrics=["recall@3"])["recall@3"]
    assert ranking.recommend(scores, test=frame, metrics=["recall@3"])["recall@3"] == said
    turned = frame[[*names[::-1]]]
    if names[0] == "left":
        with pytest.raises(InputError, match="is not among the 9 users"):
            ranking.recommend(scores, test=turned, metrics=["recall@3"])
    else:
        assert ranking.recommend(scores, test=turned, metrics=["recall@3"])["recall@3"] == said
        lists = np.argsort(-scores)[:, :3]
        one, other = (ranking.Queries.from_topk(lists, each, n_items=30) for each in (pairs, turned))
        assert ranking.evaluate(one, k=3)["recall@3"] == ranking.evaluate(other, k=3)["recall@3"]


def test_columns_of_triples_go_by_their_names() -> None:
    model = RNG.normal(size=(8, 4)), RNG.normal(size=(8, 4))
    frame = pd.DataFrame(RNG.integers(0, 8, (20, 3)), columns=["head", "relation", "tail"])
    one, other = (
        ranking.evaluate(ranking.Queries.from_triples(model, each, score="distmult"))
        for each in (frame.to_numpy(), frame[["head", "tail", "relation"]])
    )
    assert one["mrr"] == other["mrr"]


@pytest.mark.parametrize(
    ("protocol", "neg", "k", "own"),
    [("ogbl-citation2", NEG, 5, "mrr, hits@1, hits@3, hits@10"), ("ogbl-collab", NEG.ravel(), [20], "pooled_hits@50")],
)
def test_cutoffs_are_not_passed_over_for_a_protocol(protocol: str, neg: Any, k: Any, own: str) -> None:
    with pytest.raises(OptionError, match=rf"k is .*, and the protocol {protocol} has {own}\. Leave out k="):
        ranking.evaluate(POS, neg, protocol=protocol, k=k)
    same = [int(key.partition("@")[2]) for key in own.split(", ") if "@" in key]
    for cutoffs in (same, (1, 3, 10)):
        assert list(ranking.evaluate(POS, neg, protocol=protocol, k=cutoffs)) == own.split(", ")


def test_cutoffs_are_not_passed_over_for_a_protocol_by_command(tmp_path: Path) -> None:
    np.save(tmp_path / "pos.npy", POS)
    np.save(tmp_path / "neg.npy", NEG.ravel())
    words = ["ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy", "--protocol", "ogbl-collab"]
    plain, asked = (
        subprocess.run(
            [sys.executable, "-m", "graphgauge", *words, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for more in ([], ["--k", "20"])
    )
    assert (plain.returncode, "pooled_hits@50" in plain.stdout) == (0, True), plain.stderr
    assert (asked.returncode, "--k" in asked.stderr) == (2, True), asked.stderr


@pytest.mark.parametrize("axis", ["mrr", "mrr.low", "hits@3.high", "n"])
def test_a_group_does_not_take_the_place_of_a_column(axis: str) -> None:
    with pytest.raises(OptionError, match=f"a group cannot be named '{axis}'"):
        ranking.evaluate(POS, NEG, groups={axis: np.arange(60) % 3})


def test_groups_and_labels_that_tables_cannot_hold_are_refused() -> None:
    with pytest.raises(OptionError, match="a group has no name"):
        ranking.evaluate(POS, NEG, groups={"": np.arange(60) % 3})
    with pytest.raises(InputError, match=r"groups\['g'\]: a label is 'macro', as the row of the means over groups"):
        ranking.evaluate(POS, NEG, groups={"g": ["macro", "b"] * 30})


def test_cutoffs_beyond_any_list_are_ordinary_or_refused() -> None:
    lists = ranking.Queries.from_lists(NEG.ravel(), RNG.integers(0, 2, NEG.size), np.repeat(np.arange(60), 20))
    for given, name in ((ranking.Queries.from_scores(POS, NEG), "hits"), (lists, "recall")):
        for ties in ("realistic", "expected"):
            assert ranking.evaluate(given, k=2**53, ties=ties)[f"{name}@{2**53}"].value == 1
        for asked in ({"k": 10**30}, {"metrics": [f"{name}@{10**30}"]}):
            with pytest.raises(OptionError, match="k must be at most 9,007,199,254,740,992"):
                ranking.evaluate(given, **asked)
    with pytest.raises(OptionError, match="k must be at most"):
        ranking.hits_at_k(POS, NEG, k=10**400)


def test_lists_without_their_queries_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"queries: the query of each candidate is missing\. Pass queries="):
        ranking.Queries.from_lists([0.9, 0.4], [1, 0])
