"""Ranks among all entities against scores in float64, one by one."""

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.ranking import rank_all


def one_by_one(query, entity, score):
    total = 0.0
    for a, b in zip(query.astype(float), entity.astype(float), strict=True):
        total += {"dot": a * b, "l1": -abs(a - b), "l2": -((a - b) ** 2)}[score]
    return total


def expected(queries, entities, targets, known, score):
    """(greater, equal, candidates) of every query, by definition."""
    for query, target, answers in zip(queries, targets, known, strict=True):
        scores = [one_by_one(query, entity, score) for entity in entities]
        candidates = [e for e in range(len(entities)) if e != target and e not in answers]
        above = sum(scores[e] > scores[target] for e in candidates)
        yield above, sum(scores[e] == scores[target] for e in candidates), len(candidates) + 1


def found(state):
    items = state.items()
    return list(zip(items.greater.tolist(), items.equal.tolist(), items.candidates.tolist(), strict=True))


def flat(known):
    offsets = np.cumsum([0, *(len(answers) for answers in known)])
    return np.array([e for answers in known for e in sorted(answers)], dtype=np.int64), offsets


@pytest.mark.parametrize("score", ["dot", "l1", "l2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-22, 1e15])
def test_every_rank_is_exact_with_duplicated_entities(score, dtype, scale):
    draw = np.random.default_rng(3)
    entities = (draw.integers(-3, 4, (90, 5)) * 0.1 * scale).astype(dtype)
    entities[60:] = entities[:30]
    queries = (draw.normal(size=(25, 5)) * scale).astype(dtype)
    targets = draw.integers(0, 90, 25)
    # The target may stand among its own known answers, and answers may repeat.
    known = [set(draw.integers(0, 90, 4).tolist()) | {int(t)} if t % 2 else set() for t in targets]
    state = rank_all(queries, entities, targets, score=score, known=flat(known), keep="items")
    assert found(state) == list(expected(queries, entities, targets, known, score))


def test_products_beyond_float32_do_not_lose_the_order():
    state = rank_all(np.float32([[1e20]]), np.float32([[1e20], [2e20], [3e20]]), [1], keep="items")
    assert found(state) == [(1, 0, 3)]
    equal = rank_all(np.full((1, 3), 1e20, np.float32), np.full((4, 3), 1e20, np.float32), [0], keep="items")
    assert found(equal) == [(0, 3, 4)]
    with pytest.raises(InputError, match="overflow"):
        rank_all([[1e200]], [[1e200], [2e200]], [0])


def test_distmult_is_a_dot_product_with_the_rounded_product():
    draw = np.random.default_rng(5)
    heads, relations = draw.normal(size=(2, 20, 6)).astype(np.float32)
    entities, targets = draw.normal(size=(40, 6)).astype(np.float32), draw.integers(0, 40, 20)
    both = rank_all((heads, relations), entities, targets, score="distmult", keep="items")
    assert found(both) == found(rank_all(heads * relations, entities, targets, keep="items"))


def test_a_function_scores_a_block_at_a_time():
    draw = np.random.default_rng(6)
    queries, entities, targets = draw.normal(size=(30, 4)), draw.normal(size=(50, 4)), draw.integers(0, 50, 30)
    known = [{int(draw.integers(50))} for _ in targets]
    given = rank_all(queries, entities, targets, score=lambda q, e: q @ e.T, known=flat(known), keep="items")
    assert found(given) == list(expected(queries, entities, targets, known, "dot"))


def test_blocks_of_queries_do_not_change_anything(monkeypatch):
    draw = np.random.default_rng(7)
    queries, entities, targets = draw.normal(size=(30, 4)), draw.normal(size=(50, 4)), draw.integers(0, 50, 30)
    whole = found(rank_all(queries, entities, targets, keep="items"))
    monkeypatch.setattr("graphgauge.old.ranking.all_entities._BLOCK_BYTES", 1)
    assert found(rank_all(queries, entities, targets, keep="items")) == whole


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"targets": [0, 9]}, InputError, "0 … 3"),
        ({"targets": [0]}, InputError, "targets"),
        ({"targets": [0.5, 1.5]}, InputError, "entity numbers"),
        ({"queries": [[1.0, np.nan], [0, 0]]}, InputError, "NaN"),
        ({"queries": [[1.0, np.inf], [0, 0]]}, InputError, "infinite"),
        ({"queries": [[1.0], [0]]}, InputError, "the same width"),
        ({"score": "dto"}, UnknownNameError, "dot"),
        ({"score": "distmult"}, OptionError, "heads, relations"),
        ({"known": ([5], [0, 1, 1])}, InputError, "0 … 3"),
        ({"known": ([1], [0, 1])}, InputError, "offsets"),
        ({"score": lambda q, e: np.zeros((1, 1))}, InputError, "score"),
        ({"score": lambda q, e: np.full((2, 4), np.nan)}, InputError, "NaN"),
        ({"score": lambda q, e: 1 / 0}, InputError, "the function failed .ZeroDivisionError: division by zero"),
        ({"score": lambda q: q}, InputError, "It takes a block of queries and all entities"),
        ({"score": lambda q, e: q, "queries": 5}, InputError, "queries: found a single number"),
        ({"score": None}, OptionError, "a name or a function, not None. The names are dot, l1"),
        ({"known": 5}, InputError, r"known=\(values, offsets\)"),
        ({"known": {0: [1]}}, InputError, r"known=\(values, offsets\)"),
        ({"known": ([1], [0, 0.5, 1])}, InputError, "known offsets: expected integers"),
        ({"known": ([1], [0, 1, 0])}, InputError, "known offsets: offsets must rise from 0 to 1, the number of known"),
        ({"known": ([[1]], [0, 1, 1])}, InputError, "one flat array"),
        ({"entities": np.zeros((0, 2))}, InputError, "there are none"),
    ],
)
def test_bad_input(change, error, words):
    arguments = {"queries": np.zeros((2, 2)), "entities": np.zeros((4, 2)), "targets": [0, 1]} | change
    with pytest.raises(error, match=words):
        rank_all(**arguments)
