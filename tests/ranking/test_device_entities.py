"""Ranks among all entities by the path of CUDA devices, on the host's tensors: the same counts as by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.ranking import RankingState, all_entities, average_precision, rank_all, roc_auc
from graphgauge.ranking.all_entities import Given, ranked
from graphgauge.ranking.device_entities import DeviceScores, device_scorer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def given(score: str, dtype: str, seed: int = 0) -> tuple[Any, Any, np.ndarray]:
    """Few distinct embeddings, so that there are ties and near ties."""
    rng = np.random.default_rng(seed)
    entities = rng.integers(-2, 3, (300, 6)) / 3 + rng.integers(0, 2, (300, 1)) * 1e-7
    entities[rng.integers(0, 300, 60)] = entities[rng.integers(0, 300, 60)]
    heads, relations = rng.normal(size=(2, 40, 6)).astype(dtype)
    queries = (heads, relations) if score == "distmult" else heads
    return queries, entities.astype(dtype), rng.integers(0, 300, 40)


def there(rows: Any) -> Any:
    if isinstance(rows, tuple):
        return tuple(map(there, rows))
    return torch.as_tensor(rows, device=DEVICE)


def flat(state: Any) -> dict[str, Any]:
    evaluation = state.evaluate()
    return {key: (evaluation[key].value, evaluation[key].n) for key in evaluation}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("score", all_entities.SCORES)
@pytest.mark.parametrize("precision", ["full", "tf32", "bf16"])
def test_the_ranks_are_the_hosts(score: str, dtype: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, entities, targets = given(score, dtype)
    known = [list(range(i, i + 5)) for i in range(40)]
    host = rank_all(queries, entities, targets, score=score, known=known)
    for batch, memory in ((None, None), (7, 4 * 40 * 33)):
        scorer = device_scorer(there(queries), there(entities), score, precision)
        device = ranked(scorer, targets, known, batch=batch, max_memory=memory).added_to(RankingState())
        assert flat(device) == flat(host)


@pytest.mark.parametrize("score", ["dot", "l2"])
def test_sets_exclusions_and_kinds(score: str) -> None:
    queries, entities, _ = given(score, "float32", 1)
    rng = np.random.default_rng(2)
    targets = [rng.choice(100, rng.integers(1, 6), replace=False).tolist() for _ in range(40)]
    exclude = [rng.choice(np.arange(100, 300), 9, replace=False).tolist() for _ in range(40)]
    options: dict[str, Any] = {
        "exclude": exclude,
        "kinds": np.arange(40) % 3,
        "candidates": [range(300), range(200), range(120)],
    }
    host = rank_all(queries, entities, targets, score=score, **options)
    for memory in (None, 4 * 40 * 50):
        scorer = device_scorer(there(queries), there(entities), score, "full")
        assert flat(ranked(scorer, targets, max_memory=memory, **options).added_to(RankingState())) == flat(host)


def test_the_scores_of_a_function_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, entities, targets = given("dot", "float32", 3)
    monkeypatch.setattr(all_entities, "is_cuda", lambda value: isinstance(value, torch.Tensor))
    known = [[1, 2, 3]] * 40
    host = rank_all(queries, entities, targets, score=lambda q, e: np.round(q @ e.T, 1), known=known)
    device = rank_all(
        there(queries), there(entities), targets, score=lambda q, e: torch.round(q @ e.T, decimals=1), known=known
    )
    assert flat(device) == flat(host)


@pytest.mark.parametrize("minus_inf", ["rank", "exclude", "raise"])
def test_candidates_at_minus_infinity(minus_inf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(20, 30)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    targets = np.argmax(scores, axis=1)
    answers = []
    for tensors in (False, True):
        monkeypatch.setattr(all_entities, "is_cuda", lambda value, tensors=tensors: tensors and torch.is_tensor(value))
        table = there(scores) if tensors else scores
        scorer = Given(np.arange(20), np.arange(30), lambda q, e, table=table: table[q], minus_inf)
        try:
            answers.append(flat(ranked(scorer, targets).added_to(RankingState())))
        except GraphgaugeError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


def test_bad_numbers_are_refused() -> None:
    rows = torch.ones(3, 2, device=DEVICE)
    for bad in (float("nan"), float("inf")):
        broken = rows.clone()
        broken[1, 0] = bad
        with pytest.raises(GraphgaugeError, match="NaN or infinite"):
            device_scorer(rows, broken, "dot", "full")
    with pytest.raises(GraphgaugeError, match="overflow"):
        device_scorer(rows.double() * 1e200, rows.double() * 1e200, "dot", "full")
    with pytest.raises(GraphgaugeError, match="1 of 6 values are NaN"):
        DeviceScores(torch.tensor([[1.0, 2, float("nan")], [1, 2, 3]]))


def test_a_faster_precision_needs_a_device() -> None:
    with pytest.raises(GraphgaugeError, match="on a CUDA device"):
        rank_all(np.ones((2, 3)), np.ones((4, 3)), [0, 1], precision="bf16")
    with pytest.raises(GraphgaugeError, match="precision"):
        rank_all(np.ones((2, 3)), np.ones((4, 3)), [0, 1], precision="half")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_auc_of_tensors_is_computed_where_they_are() -> None:
    pos, neg = torch.randn(300).round(decimals=1), torch.randn(5000).round(decimals=1)
    for function in (roc_auc, average_precision):
        assert function(pos.cuda(), neg.cuda()) == pytest.approx(function(pos.numpy(), neg.numpy()), rel=1e-14)
        with pytest.raises(InputError, match="1 of 1 values are NaN"):
            function(pos.cuda(), torch.tensor([torch.nan]).cuda())
        with pytest.raises(InputError, match="expected shape"):
            function(pos.cuda(), neg.cuda()[:, None])
