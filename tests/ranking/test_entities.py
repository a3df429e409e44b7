"""Right answers among all entities: against scores one by one, and every form of a set against the flat form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.ranking.counting import device_counts
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries

KEYS = [
    *("mrr", "hits@3", "mean_rank", "amri", "recall@3", "precision@3", "map@3", "ndcg@3", "f1@3", "hit_ratio@3"),
    *("mrr_first", "mrr_first@3", "r_precision"),
]


def facts(ev: Any) -> dict[str, Any]:
    return {key: (result.value, result.interval, result.n, result.references) for key, result in ev.items()}


def integers(counts: Counts) -> list[tuple[int, int, int]]:
    """Of each query: negatives above its one positive, negatives beside it, candidates."""
    columns = (counts.above, counts.length - counts.positives, counts.candidates)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def one_by_one(query: np.ndarray, entity: np.ndarray, score: str) -> float:
    total = 0.0
    for a, b in zip(query.astype(float), entity.astype(float), strict=True):
        total += {"dot": a * b, "l1": -abs(a - b), "l2": -((a - b) ** 2)}[score]
    return total


def expected(queries: Any, entities: Any, targets: Any, known: Any, score: str) -> list[tuple[int, int, int]]:
    """(greater, equal, candidates) of every query, by definition."""
    rows = []
    for query, target, answers in zip(queries, targets, known, strict=True):
        scores = [one_by_one(query, entity, score) for entity in entities]
        candidates = [e for e in range(len(entities)) if e != target and e not in answers]
        above = sum(scores[e] > scores[target] for e in candidates)
        rows.append((above, sum(scores[e] == scores[target] for e in candidates), len(candidates) + 1))
    return rows


def problem(seed: int = 0, queries: int = 25, entities: int = 40, width: int = 4) -> Any:
    """Embeddings of whole numbers, of which many tie, and disjoint sets of each query; some have no target."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(-2, 3, (queries, width)).astype(float), draw.integers(-2, 3, (entities, width)).astype(float)
    sets = [np.split(draw.permutation(entities), [draw.integers(0, 5), 8, 14]) for _ in range(queries)]
    targets, exclude, known = ([part[index] for part in sets] for index in (0, 1, 2))
    return *rows, targets, exclude, known


def flat(scores: Any, targets: Any, gone: Any, allowed: Any = None) -> Queries:
    """The candidates of each query, one by one, for the flat form."""
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for query, answers in enumerate(targets):
        for entity in range(scores.shape[1]):
            if entity in answers or (entity not in gone[query] and (allowed is None or entity in allowed[query])):
                row = (scores[query, entity], int(entity in answers), query)
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
    return Queries.from_lists(*columns)


def as_sparse(sets: Any, entities: int) -> Any:
    row = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    return sparse.csr_matrix((np.ones(len(row)), (row, np.concatenate(sets))), (len(sets), entities))


@pytest.mark.parametrize("score", ["dot", "l1", "l2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-22, 1e15])
def test_every_rank_is_exact_with_duplicated_entities(score: str, dtype: Any, scale: float) -> None:
    draw = np.random.default_rng(3)
    entities = (draw.integers(-3, 4, (90, 5)) * 0.1 * scale).astype(dtype)
    entities[60:] = entities[:30]
    queries = (draw.normal(size=(25, 5)) * scale).astype(dtype)
    targets = draw.integers(0, 90, 25)
    # The target may stand among its own known answers.
    known = [set(draw.integers(0, 90, 4).tolist()) | ({int(t)} if t % 2 else set()) for t in targets]
    found = Queries.from_embeddings(queries, entities, targets=targets, score=score, known=known).count()
    assert integers(found) == expected(queries, entities, targets, known, score)


def test_products_beyond_float32_do_not_lose_the_order() -> None:
    found = Queries.from_embeddings(np.float32([[1e20]]), np.float32([[1e20], [2e20], [3e20]]), targets=[1]).count()
    assert integers(found) == [(1, 0, 3)]
    rows = np.full((1, 3), 1e20, np.float32), np.full((4, 3), 1e20, np.float32)
    assert integers(Queries.from_embeddings(*rows, targets=[0]).count()) == [(0, 3, 4)]
    with pytest.raises(InputError, match="overflow"):
        Queries.from_embeddings([[1e200]], [[1e200], [2e200]], targets=[0])


@pytest.mark.parametrize("form", ["dot", "l1", "l2", "function", "torch", "matrix", "mapped", "device"])
@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic", "expected"])
def test_sets_of_answers_are_the_flat_form(
    form: str, ties: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, entities, targets, exclude, known = problem(sum(map(ord, form + ties)))
    difference = queries[:, None] - entities
    scores = {"l1": -np.abs(difference).sum(-1), "l2": -(difference**2).sum(-1)}.get(form, queries @ entities.T)
    gone = [{*one, *other} for one, other in zip(exclude, known, strict=True)]
    np.save(tmp_path / "scores.npy", scores)
    if form == "device":
        # Tensors of the host are counted as those of a device are.
        for name in ("scorers.is_cuda", "counting.is_cuda"):
            monkeypatch.setattr(f"graphgauge.ranking.{name}", lambda value: isinstance(value, torch.Tensor))
    given: dict[str, Any] = {
        "function": {"queries": queries, "entities": entities, "score": lambda q, e: q @ e.T},
        "torch": {
            "queries": torch.as_tensor(queries),
            "entities": torch.as_tensor(entities),
            "score": lambda q, e: torch.einsum("bd,md->bm", q, e),
        },
        "matrix": {"scores": scores},
        "mapped": {"scores": np.load(tmp_path / "scores.npy", mmap_mode="r")},
        "device": {"scores": torch.as_tensor(scores)},
    }.get(form, {"queries": queries, "entities": entities, "score": form})
    asked = {"k": 3, "ties": ties, "metrics": KEYS}
    found = Queries.from_embeddings(**given, targets=targets, known=[sorted(each) for each in gone])
    assert facts(evaluate(found, **asked)) == facts(evaluate(flat(scores, targets, gone), **asked))
    assert found.count().met.unanswered == sum(not len(each) for each in targets)


def test_every_form_of_a_set_is_the_same_set() -> None:
    queries, entities, targets, exclude, _ = problem(1)

    def whole(answers: Any, known: Any = exclude) -> Any:
        return facts(evaluate(Queries.from_embeddings(queries, entities, targets=answers, known=known)))

    matrix = as_sparse(targets, 40)
    with_zeros = matrix.tolil().tocsr() + 0 * as_sparse(exclude, 40)  # a stored zero is no target
    rows = np.repeat(np.arange(25), [len(each) for each in targets])
    pairs = np.stack([rows, np.concatenate(targets)], axis=1)
    frame = __import__("pandas").DataFrame(pairs, columns=["user", "item"])
    wanted = whole(targets)
    # A grade of 0 is no answer.
    graded = [(query, part) for query, part in enumerate(targets) if not {38, 39} <= {*part}]
    assert len(graded) == 25
    for answers in (
        (np.concatenate(targets), np.cumsum([0, *map(len, targets)])),
        matrix,
        matrix.tocoo(),
        with_zeros,
        matrix.toarray() != 0,
        torch.as_tensor(matrix.toarray() != 0),
        [set(part.tolist()) for part in targets],
        [part.tolist() * 2 for part in targets],
        pairs,
        torch.as_tensor(pairs),
        frame,
        {query: part.tolist() for query, part in enumerate(targets)},
        {query: dict.fromkeys(part.tolist(), 1) | {39 if 39 not in part else 38: 0} for query, part in graded},
    ):
        assert whole(answers, as_sparse(exclude, 40)) == wanted
    one = np.array([0, 1, 2])
    single, sets = (
        evaluate(Queries.from_embeddings(queries[:3], entities, targets=given)) for given in (one, [{0}, {1}, {2}])
    )
    assert "recall@10" in sets
    assert "recall@10" not in single
    assert evaluate(Queries.from_embeddings(queries[:3], entities, targets=[{0}, {1}, {2}]), metrics=["mrr"])[
        "mrr"
    ] == (single["mrr"].value)


def test_names_stand_where_numbers_do() -> None:
    queries, entities, targets, exclude, _ = problem(12)
    names, ids = np.array([f"e{i}" for i in range(40)]), np.array([f"q{i}" for i in range(25)])
    wanted = facts(evaluate(Queries.from_embeddings(queries, entities, targets=targets, known=exclude)))
    named = Queries.from_embeddings(
        queries,
        entities,
        targets={ids[query]: names[part].tolist() for query, part in enumerate(targets)},
        known=[names[part] for part in exclude],
        names=names,
        ids=ids,
    )
    assert facts(evaluate(named)) == wanted
    with pytest.raises(InputError, match=r"targets: contains 'e1', not numbers\. Pass names= of all entities"):
        Queries.from_embeddings(queries[:2], entities, targets=["e1", "e2"])
    with pytest.raises(InputError, match="'e99' is not among the names"):
        Queries.from_embeddings(queries[:2], entities, targets=["e1", "e99"], names=names)


@pytest.mark.parametrize("form", ["dot", "function", "matrix"])
@pytest.mark.parametrize("several", [False, True])
def test_only_the_allowed_candidates_are_ranked(form: str, several: bool) -> None:
    queries, entities, _, exclude, _ = problem(2)
    draw = np.random.default_rng(3)
    allowed = [np.sort(draw.permutation(40)[:15]) for _ in range(len(queries))]
    targets = [draw.permutation(each)[: 2 if several else 1] for each in allowed]
    gone = [np.setdiff1d(part, answers) for part, answers in zip(exclude, targets, strict=True)]
    wanted = evaluate(flat(queries @ entities.T, targets, gone, allowed), k=3, metrics=KEYS)
    given: dict[str, Any] = {"queries": queries, "entities": entities}
    given |= {"score": lambda q, e: q @ e.T} if form == "function" else {}
    given = {"scores": queries @ entities.T} if form == "matrix" else given
    found = Queries.from_embeddings(**given, targets=targets, known=gone, candidates=allowed)
    assert facts(evaluate(found, k=3, metrics=KEYS)) == facts(wanted)


def test_rows_drawn_in_any_order_are_those_of_the_whole() -> None:
    queries, entities, targets, exclude, _ = problem(4)
    for given in ({"queries": queries, "entities": entities}, {"scores": queries @ entities.T}):
        every = Queries.from_embeddings(**given, targets=targets, known=exclude, ids=np.arange(100, 125))
        whole = every.count()
        rows = np.random.default_rng(0).permutation(25)[:11]
        part, kept = every.count(rows), every.answered()
        assert kept is not None
        order = (np.cumsum(kept) - 1)[rows[kept[rows]]]
        wanted = whole.take(order)
        for name in ("query", "above", "length", "positives", "candidates", "relevant"):
            assert getattr(part, name).tolist() == getattr(wanted, name).tolist()
        assert part.labels.ids.tolist() == wanted.labels.ids.tolist()


@pytest.mark.parametrize("scores", [np.float16, np.float32, np.int64, np.int8, bool])
@pytest.mark.parametrize("several", [False, True])
def test_scores_of_any_type_compare_exactly(scores: Any, several: bool) -> None:
    table = np.random.default_rng(5).integers(0, 2 if scores is bool else 9, (6, 20)).astype(scores)
    targets = [{row} for row in range(6)] if several else np.arange(6)
    found = Queries.from_embeddings(scores=table, targets=targets).count()
    above = [int((row > row[place]).sum()) for place, row in enumerate(table)]
    beside = [int((row == row[place]).sum()) - 1 for place, row in enumerate(table)]
    assert [each[:2] for each in integers(found)] == list(zip(above, beside, strict=True))
    by_function = Queries.from_embeddings(
        np.arange(6), np.arange(20), targets=targets, score=lambda rows, _: table[rows]
    )
    assert integers(by_function.count()) == integers(found)


def test_functions_get_their_rows_as_they_were_given() -> None:
    seen = []
    queries, entities = torch.randn(2, 12, 2, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)

    def complex_score(queries: Any, entities: Any) -> Any:
        seen.append((type(queries), tuple(entities.shape), torch.is_grad_enabled()))
        return queries[:, 0] @ entities[:, 0].T + queries[:, 1] @ entities[:, 1].T

    found = Queries.from_embeddings(queries, entities, targets=np.arange(12), score=complex_score).count()
    assert seen == [(torch.Tensor, (12, 2, 5), False)]
    scores = complex_score(queries, entities).detach().numpy()
    assert found.above.tolist() == [int((row > row[place]).sum()) for place, row in enumerate(scores)]


def test_tensors_are_counted_where_they_are() -> None:
    draw = np.random.default_rng(3)
    pos, neg = draw.integers(0, 5, 40), draw.integers(0, 5, (40, 30)).astype(float)
    neg[draw.random(neg.shape) < 0.1] = -np.inf
    neg[draw.random(neg.shape) < 0.1] = np.nan
    mask = draw.random(neg.shape) < 0.7
    for use in (None, mask):
        there = np.ones_like(neg, bool) if use is None else use
        wanted = [
            ((neg > pos[:, None]) & there).sum(1),
            ((neg == pos[:, None]) & there).sum(1),
            (np.isnan(neg) & there).sum(1),
            (np.isneginf(neg) & there).sum(1),
            there.sum(1),
        ]
        found = device_counts(torch.as_tensor(pos), torch.as_tensor(neg), use)
        assert [column.tolist() for column in found] == [column.tolist() for column in wanted]
    with pytest.raises(InputError, match=r"2\*\*53"):
        device_counts(torch.tensor([2**60]), torch.tensor([[1.0]]))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"targets": [0, 9]}, InputError, "targets: 9 is not among the 4 entities"),
        ({"targets": [0]}, InputError, "targets"),
        ({"targets": [0.5, 1.5]}, InputError, "expected whole numbers"),
        ({"queries": [[1.0, np.nan], [0, 0]]}, InputError, "NaN"),
        ({"queries": [[1.0, np.inf], [0, 0]]}, InputError, "infinite"),
        ({"queries": [[1.0], [0]]}, InputError, "the same width"),
        ({"score": "dto"}, UnknownNameError, "dot"),
        ({"known": ([5], [0, 1, 1])}, InputError, "known: 5 is not among the 4"),
        ({"known": ([1], [0, 1])}, InputError, "offsets"),
        ({"known": ([1], [0, 0.5, 1])}, InputError, "expected whole numbers"),
        ({"known": ([1], [0, 1, 0])}, InputError, "offsets must rise from 0 to 1"),
        ({"known": ([[1]], [0, 1, 1])}, InputError, "one flat array"),
        ({"known": "all"}, InputError, "known"),
        ({"score": lambda q, e: np.zeros((1, 1))}, InputError, "score"),
        ({"score": lambda q, e: np.full((2, 4), np.nan)}, InputError, "8 of 8 values are NaN"),
        ({"score": lambda q, e: 1 / 0}, InputError, "the function failed .ZeroDivisionError: division by zero"),
        ({"score": lambda q: q}, InputError, "It takes a block of queries and all entities"),
        ({"score": lambda q, e: q, "queries": 5}, InputError, "queries: found a single number"),
        ({"score": lambda q, e: q, "queries": (np.zeros((2, 2)), np.zeros((3, 2)))}, InputError, "different lengths"),
        ({"entities": np.zeros((0, 2))}, InputError, "not among the 0 entities"),
        ({"entities": None}, OptionError, "nothing to rank"),
        ({"scores": np.zeros((2, 4))}, OptionError, "scores exclude"),
        ({"candidates": [[0], [2, 3]]}, InputError, "targets: 1 of query 1 is not among its candidates"),
        ({"targets": [[0], [1], [2]]}, InputError, "found 3 sets for 2"),
        ({"targets": [[0], [9]]}, InputError, r"targets\[1\]: 9 is not among"),
        ({"targets": [[0], [[1]]]}, InputError, r"targets\[1\]"),
        ({"targets": np.ones((2, 3), bool)}, InputError, r"targets: expected shape \(2, 4\)"),
        ({"targets": sparse.eye(3)}, InputError, r"targets: expected shape \(2, 4\), found \(3, 3\)"),
        ({"targets": np.zeros((2, 3), int)}, InputError, "a matrix .* of 0 and 1"),
        ({"targets": np.full((2, 3), 2)}, InputError, r"found an array of shape \(2, 3\).*list\(targets\)"),
        ({"targets": np.full((3, 2), 7)}, InputError, "targets: 7 is not among the 2 queries"),
        ({"minus_inf": "drop"}, OptionError, "minus_inf"),
    ],
)
def test_what_cannot_be_ranked_is_refused(change: Any, error: Any, words: str) -> None:
    given = {"queries": np.zeros((2, 2)), "entities": np.zeros((4, 2)), "targets": [0, 1]} | change
    with pytest.raises(error, match=words):
        evaluate(Queries.from_embeddings(**given))


def test_a_function_of_a_query_is_asked_for_those_that_are_read() -> None:
    draw = np.random.default_rng(1)
    right, wrong = draw.integers(0, 5, 30), [draw.integers(0, 5, draw.integers(1, 9)) for _ in range(30)]
    asked = []

    def one(number: int) -> Any:
        asked.append(number)
        return right[number], wrong[number]

    found = Queries.from_function(30, one)
    assert found.count(np.array([3, 1])).above.tolist() == [int((wrong[row] > right[row]).sum()) for row in (3, 1)]
    assert asked == [3, 1]
    ragged = Queries.from_scores(right, wrong)
    assert facts(evaluate(found)) == facts(evaluate(ragged))
    for answer, words in (
        (lambda _: 3, "returned int for query 0"),
        (lambda _: ([1.0], [0.5]), "the score of the right answer"),
        (lambda _: (1.0, [np.nan]), "returned NaN for query 0"),
        (lambda _: 1 / 0, "the function failed for query 0"),
    ):
        with pytest.raises(InputError, match=words):
            Queries.from_function(1, answer).count()
