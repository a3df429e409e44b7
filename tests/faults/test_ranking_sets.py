"""Sets of entities and what is left out: R31, R33, R34 and R38 to R41 of the third round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from scipy import sparse

import graphgauge.ranking.metrics
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.io.arrays import open_array
from graphgauge.io.tables import read_set, read_table
from graphgauge.ranking import recommend
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries

assert graphgauge.ranking.metrics


def test_r31_an_array_of_two_columns_is_pairs_everywhere_or_refused() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 12))
    lists = np.argsort(-scores, axis=1)[:, :4]
    pairs = np.array([[0, 3], [0, 7], [1, 2], [2, 5], [3, 0], [4, 1], [4, 9]])
    sets = [set(pairs[pairs[:, 0] == user, 1].tolist()) for user in range(5)]
    values = {
        "recommend": [recommend(scores, test=test, k=2)["recall@2"].value for test in (pairs, sets)],
        "entities": [
            evaluate(Queries.from_embeddings(scores=scores, targets=test), k=2)["recall@2"].value
            for test in (pairs, sets)
        ],
        "topk": [evaluate(Queries.from_topk(lists, test, n_items=12), k=2)["recall@2"].value for test in (pairs, sets)],
    }
    by_hand = np.mean([len(sets[user] & {*lists[user, :2].tolist()}) / len(sets[user]) for user in range(5)])
    assert {value for both in values.values() for value in both} == {by_hand}
    # As many rows as queries: both readings are possible, so neither is taken.
    ambiguous = np.array([[0, 3], [1, 2], [2, 5], [3, 0], [4, 1]])
    readings: dict[str, Any] = {}
    for call in (
        lambda test: recommend(scores, test=test, k=2),
        lambda test: evaluate(Queries.from_embeddings(scores=scores, targets=test), k=2),
        lambda test: evaluate(Queries.from_topk(lists, test, n_items=12), k=2),
    ):
        with pytest.raises(InputError, match=r"can be pairs of .* or two .* of each") as refused:
            call(ambiguous)
        spelled = str(refused.value)
        # The lines that the error says to write give the two readings.
        names = {"scipy": __import__("scipy.sparse"), "np": np, "test": ambiguous, "targets": ambiguous}
        as_pairs, as_sets = spelled.split("Write ")[1].removesuffix(" for two of each.").split(" for pairs, ")
        readings.setdefault("pairs", set()).add(call(eval(as_pairs, names))["recall@2"].value)
        readings.setdefault("sets", set()).add(call(eval(as_sets, names))["recall@2"].value)
    one_each = [{int(item)} for item in ambiguous[:, 1]]
    two_each = [set(row.tolist()) for row in ambiguous]
    assert readings == {
        "pairs": {recommend(scores, test=one_each, k=2)["recall@2"].value},
        "sets": {recommend(scores, test=two_each, k=2)["recall@2"].value},
    }


def test_r33_candidates_at_minus_infinity_are_met_in_every_form() -> None:
    rng = np.random.default_rng(1)
    pos, neg, mask = rng.normal(size=200), rng.normal(size=(200, 50)), rng.random((200, 50)) < 0.2
    marked = np.where(mask, neg, -np.inf)
    assert Queries.from_scores(pos, marked).count().met.lowest == np.count_nonzero(~mask)
    excluded = evaluate(pos, marked, minus_inf="exclude", metrics=["amri"])
    assert excluded["amri"].value == evaluate(pos, neg, mask=mask, metrics=["amri"])["amri"].value
    assert excluded.conventions["minus_inf"] == "exclude"
    scores = np.column_stack([pos, marked])
    with pytest.raises(InputError, match="candidates score −inf"):
        evaluate(Queries.from_embeddings(scores=scores, targets=np.zeros(200, int)))
    whole = Queries.from_embeddings(scores=scores, targets=np.zeros(200, int), minus_inf="exclude")
    assert evaluate(whole, metrics=["amri"])["amri"].value == excluded["amri"].value


def test_r34_coverage_in_recommend_and_in_lists() -> None:
    scores = np.random.default_rng(2).normal(size=(6, 9))
    test, catalog = [{user} for user in range(6)], {"size": 9}
    by_hand = len({*np.argsort(-scores, axis=1)[:, :2].ravel().tolist()}) / 9
    lists = Queries.from_topk(np.argsort(-scores, axis=1)[:, :3], test, catalog=catalog)
    assert recommend(scores, test=test, catalog=catalog, k=2)["coverage@2"].value == by_hand
    assert evaluate(lists, k=2)["coverage@2"].value == by_hand
    with pytest.raises(OptionError, match=r"coverage@k needs a catalogue\. Pass catalog="):
        recommend(scores, test=test, metrics=["coverage@2"])


def test_r38_the_first_right_answer_is_the_default_of_lists() -> None:
    scores = np.random.default_rng(3).normal(size=(6, 9))
    test = [{user, 8} for user in range(6)]
    best = [min(1 + int((scores[user] > scores[user, item]).sum()) for item in test[user]) for user in range(6)]
    found = recommend(scores, test=test)
    assert found["mrr_first"].value == pytest.approx(np.mean(1 / np.array(best)))
    assert "mrr" not in found
    matrix = evaluate(Queries.from_embeddings(scores=scores, targets=np.arange(6), known=[{8}] * 6))
    above = [sum(scores[user, item] > scores[user, user] for item in range(8)) for user in range(6)]
    assert matrix["mrr"].value == pytest.approx(np.mean(1 / (1.0 + np.array(above))))


def test_r39_values_of_queries_come_back_from_a_file(tmp_path: Path) -> None:
    pos, neg = np.random.default_rng(4).normal(size=(2, 30)), np.random.default_rng(5).normal(size=(30, 9))
    ev = evaluate(pos[0], neg, ids=[f"q{number}" for number in range(30)])
    back = Evaluation.load(ev.save(tmp_path / "run.json"))
    assert back.per_item is not None
    assert back.per_item["mrr"].tolist() == ev.per_item["mrr"].tolist()
    assert back.per_item.ids.tolist() == ev.per_item.ids.tolist()


def test_r40_entries_below_zero_are_refused() -> None:
    scores = np.random.default_rng(6).normal(size=(3, 5))
    test = sparse.coo_array(([1.0, -1.0, 2.0], ([0, 1, 2], [1, 2, 3])), (3, 5))
    for refused in (
        lambda: recommend(scores, test=test),
        lambda: recommend(scores, test=[{0}, {1}, {2}], known=test),
        lambda: Queries.from_topk([[0, 1], [1, 2], [2, 3]], test),
    ):
        with pytest.raises(InputError, match=r"1 entries are below 0, the first at \(1, 2\)"):
            refused()
    test.data[1] = np.nan
    with pytest.raises(InputError, match=r"1 entries are NaN, the first at \(1, 2\)"):
        recommend(scores, test=[{0}, {1}, {2}], known=test)
    with pytest.raises(InputError, match="1 has the grade NaN"):
        recommend(scores, test={0: {1: 1}, 1: {2: np.nan}, 2: {3: 1}})
    test.data[1] = -1.0
    kept = sparse.csr_matrix(test)
    kept.data = np.maximum(kept.data, 0)
    assert recommend(scores, test=kept)["recall@10"].n == 2  # a stored zero is no entry


class Factory:
    """What a TriplesFactory of PyKEEN offers."""

    def __init__(self, triples: np.ndarray) -> None:
        self.mapped_triples = torch.as_tensor(triples)
        self.num_entities = 6
        self.entity_to_id = {f"e{number}": number for number in range(6)}
        self.relation_to_id = {"likes": 0, "knows": 1}


def test_r41_foreign_objects_go_in_directly() -> None:
    rng = np.random.default_rng(7)
    # Ragged lists of negatives, as TGB's evaluators take them.
    pos, neg = rng.normal(size=4), [rng.normal(size=length) for length in (3, 1, 5, 2)]
    ranks = [1 + int((row > score).sum()) for score, row in zip(pos, neg, strict=True)]
    assert evaluate(pos, neg)["mrr"].value == pytest.approx(np.mean(1 / np.array(ranks)))
    # A TriplesFactory, and names as ids.
    triples = rng.integers(0, [6, 2, 6], (20, 3))
    model = rng.normal(size=(6, 4)), rng.normal(size=(2, 4))
    factory = Factory(triples[:8])
    plain = Queries.from_triples(model, triples[:8], known=triples[8:], score="distmult")
    named = [[f"e{head}", ["likes", "knows"][relation], f"e{tail}"] for head, relation, tail in triples[:8].tolist()]
    frame = pandas.DataFrame(named, columns=["head", "relation", "tail"])
    for test, names in ((factory, None), (np.array(named), factory), (frame, factory)):
        queries = Queries.from_triples(model, test, known=Factory(triples[8:]), score="distmult", names=names)
        assert evaluate(queries)["mrr"].value == evaluate(plain)["mrr"].value
    # Frames of pairs, with names of users and items.
    scores, test = rng.normal(size=(4, 5)), [(0, 1), (0, 4), (2, 3)]
    wanted = recommend(scores, test=[{1, 4}, set(), {3}, set()])["recall@10"].value
    users, items = list("abcd"), list("vwxyz")
    pairs = pandas.DataFrame([(users[user], items[item]) for user, item in test], columns=["user", "item"])
    assert recommend(scores, test=pairs, ids=users, names=items)["recall@10"].value == wanted
    # A run and its judgements, as ranx and ir_measures take them.
    run = {user: dict(zip(items, row.tolist(), strict=True)) for user, row in zip(users, scores, strict=True)}
    judged = {"a": {"w": 1, "z": 1}, "b": {}, "c": {"y": 1, "v": 0}, "d": {}}
    assert evaluate(Queries.from_topk(run, judged), k=5)["recall@5"].value == wanted


def test_numbers_of_entities_that_are_no_numbering_are_refused() -> None:
    """Hashes of names as item numbers: keys of query and item would overflow, and sets contain what they do not."""
    lists, right = np.array([[2**62, 1], [3, 4]]), [{2**62}, {4}]
    with pytest.raises(InputError, match=r"entities are too many to number\. Number entities from 0"):
        evaluate(Queries.from_topk(lists, right))


def test_a_single_value_is_no_column(tmp_path: Path) -> None:
    np.savez(tmp_path / "catalog.npz", popularity=np.array(3.0))
    with pytest.raises(InputError, match="'popularity' is a single value, no column"):
        read_table("catalog.npz", tmp_path)


def test_lists_with_scores_and_items_beyond_a_matrix_are_refused() -> None:
    lists, test = np.array([[0, 1], [1, 9]]), sparse.csr_array([[1, 0, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(InputError, match=r"a pair of lists and their scores\. Pass the lists: indices\[0\]"):
        Queries.from_topk((lists, lists * 0.5), test)
    with pytest.raises(InputError, match="item 9 is not among the 4 items"):
        Queries.from_topk(lists, test)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,39\n1,4\n", "the first line is '0, 39', numbers in the place of names"),
        ("user;item\n0;39\n", "its cells are separated by semicolons"),
        ("user\titem\n0\t39\n", "its cells are separated by tabs"),
    ],
)
def test_a_table_without_names_or_without_commas_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    for read in (read_set, read_table) if "39\n1" in text else (read_set, read_table, open_array):
        with pytest.raises(InputError, match=said):
            read("t.csv", tmp_path)


def test_factories_that_number_entities_otherwise_are_refused() -> None:
    """A factory made of the test triples alone has numbers of its own."""
    train, test = Factory(np.array([[0, 0, 1], [2, 1, 5]])), Factory(np.array([[0, 0, 1]]))
    model = np.eye(6), np.ones((2, 6))

    def asked(**options: Any) -> Queries:
        return Queries.from_triples(model, test, score="distmult", **options)

    test.entity_to_id = {"e1": 1, "e0": 0}  # a part of the names with the same numbers
    assert evaluate(asked(known=[train], names=train))["mrr"].n == 2
    for numbers, what in (
        ({"e1": 0, "e2": 1}, "test: numbers the entity 'e1' as 0, and .* 'e1' as 1"),
        ({"e0": 0, "new": 1}, "test: numbers the entity 'new' as 1, and .* 'e1' as 1"),
    ):
        test.entity_to_id = numbers
        for options in ({"known": train}, {"known": [train]}, {"names": train}):
            with pytest.raises(InputError, match=what):
                asked(**options)
    test.entity_to_id, test.relation_to_id = train.entity_to_id, {"knows": 0}
    with pytest.raises(InputError, match="numbers the relation 'knows' as 0, and known 'knows' as 1"):
        asked(known=train)


def test_what_a_finding_and_a_refusal_say_about_minus_infinity_can_be_done() -> None:
    """Tails 0 and 3 of head 0 are marked: of 4 entities two are left, of which the right one is the second."""

    def score(head: Any, relation: Any, tail: Any) -> Any:
        return np.where((head + tail) % 3 == 0, -np.inf, 1.0 * tail + 0 * relation)

    def asked(**options: Any) -> Queries:
        return Queries.from_triples(score, np.array([[0, 0, 1]]), entities=4, sides=["tail"], **options)

    (finding,) = [each for each in evaluate(asked()).findings if each.check == "lowest-scores"]
    assert 'minus_inf="exclude" with the scores' in finding.remedy
    with pytest.raises(OptionError, match=r"Give it to the constructor"):
        evaluate(asked(), minus_inf="exclude")
    found = evaluate(asked(minus_inf="exclude"))
    assert (found["mrr"].value, found.per_item.asked["candidates"].tolist()) == (0.5, [2])
