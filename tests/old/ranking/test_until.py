"""Adaptive evaluation: only as many queries as it takes, and the same bits as reading everything if it takes all."""

from __future__ import annotations

import json
import math
import runpy
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import ranking
from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.old.cli.family import family_command
from graphgauge.old.core.gates import GateOutcome
from graphgauge.old.core.result import Evaluation
from graphgauge.old.core.schema import read_result, write_result
from graphgauge.old.core.state import load_state, save_state
from graphgauge.old.ranking.drawn import EntityQueries
from graphgauge.old.ranking.triples import SIDES
from graphgauge.old.stats import compare
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Task, perform

RNG = np.random.default_rng(3)
N, M = 700, 60
ENTITIES = RNG.normal(size=(M, 6))
TARGETS = RNG.integers(0, M, N)
RELATION = np.minimum(RNG.geometric(0.4, N), 5)
QUERIES = ENTITIES[TARGETS] + RNG.normal(size=(N, 6)) * (0.2 + 0.4 * RELATION[:, None])
WORSE = QUERIES + RNG.normal(0, 0.8, QUERIES.shape)
KNOWN = (RNG.integers(0, M, 2 * N), np.arange(0, 2 * N + 1, 2))
SETS = [np.unique([target, *RNG.integers(0, M, 2)]) for target in TARGETS]
POS, NEG = RNG.integers(2, 12, N) / 4, RNG.integers(0, 10, (N, 20)) / 4
MASK = RNG.random((N, 20)) < 0.7
SIZES = RNG.integers(1, 20, N)
FLAT_QUERY = RNG.permutation(np.repeat(np.arange(N), 6))
FLAT = {"scores": RNG.integers(0, 30, 6 * N) / 4, "labels": (RNG.random(6 * N) < 0.4).astype(int)}
TRIPLES = np.unique(RNG.integers(0, [M, 4, M], (400, 3)), axis=0)
VECTORS = ENTITIES, RNG.normal(size=(4, 6))
MARKED = RNG.random((N, M)) < 0.1
OWN = [np.unique([target, *RNG.integers(0, M, 30)]) for target in TARGETS]
CLUSTERED: dict[str, Any] = {"cluster": np.arange(N) // 3, "groups": {"relation": RELATION}, "weights": 1.0 + RELATION}
LABELLED: dict[str, Any] = {"groups": {"relation": RELATION}}
EVERYTHING: dict[str, Any] = {"mrr": 1e-9, "hits@10": 1e-9}
LISTS: dict[str, Any] = {"recall@5": 1e-9, "ndcg@5": 1e-9, "map@5": 1e-9, "mrr_first": 1e-9}


def until(**given: Any) -> Evaluation:
    return ranking.rank_until(QUERIES, ENTITIES, TARGETS, **given)


def asked(row: int) -> tuple[Any, Any]:
    return POS[row], NEG[row]


def several(row: int) -> tuple[Any, Any]:
    return POS[row] + np.arange(1 + row % 3) / 4, NEG[row]


def flat_of_several() -> dict[str, Any]:
    rows = [
        (row, score, label)
        for row in range(N)
        for part, label in zip(several(row), (1, 0), strict=True)
        for score in part
    ]
    queries, scores, labels = map(np.array, zip(*rows, strict=True))
    return {"queries": queries, "scores": scores, "labels": labels}


# Every form of queries: the adaptive call, and what reads all of them at once.
FORMS: dict[str, tuple[Callable[..., Evaluation], Callable[[], Evaluation], dict[str, Any]]] = {
    "embeddings": (
        lambda **given: until(known=KNOWN, **given),
        lambda: ranking.rank_all(QUERIES, ENTITIES, TARGETS, known=KNOWN).evaluate(),
        EVERYTHING,
    ),
    "distances": (
        lambda **given: until(score="l2", **given),
        lambda: ranking.rank_all(QUERIES, ENTITIES, TARGETS, score="l2").evaluate(),
        EVERYTHING,
    ),
    "a scoring function": (
        lambda **given: until(score=lambda q, e: q @ e.T, **given),
        lambda: ranking.rank_all(QUERIES, ENTITIES, TARGETS, score=lambda q, e: q @ e.T).evaluate(),
        EVERYTHING,
    ),
    "known answers as a boolean matrix, kinds of candidates": (
        lambda **given: until(known=MARKED, candidates=[range(M), np.unique(TARGETS)], kinds=RELATION % 2, **given),
        lambda: ranking.rank_all(
            QUERIES, ENTITIES, TARGETS, known=MARKED, kinds=RELATION % 2, candidates=[range(M), np.unique(TARGETS)]
        ).evaluate(),
        EVERYTHING,
    ),
    "known answers as lists, candidates of each query": (
        lambda **given: until(known=[[each] for each in range(M)] * 11 + [[]] * (N - 11 * M), candidates=OWN, **given),
        lambda: ranking.rank_all(
            QUERIES, ENTITIES, TARGETS, candidates=OWN, known=[[each] for each in range(M)] * 11 + [[]] * (N - 11 * M)
        ).evaluate(),
        EVERYTHING,
    ),
    "sets": (
        lambda **given: ranking.rank_until(QUERIES, ENTITIES, SETS, **given),
        lambda: ranking.rank_all(QUERIES, ENTITIES, SETS).evaluate(metrics=list(LISTS)),
        LISTS,
    ),
    "clusters, groups and weights": (
        lambda **given: until(**CLUSTERED, **given),
        lambda: ranking.rank_all(QUERIES, ENTITIES, TARGETS, **CLUSTERED).evaluate(),
        EVERYTHING,
    ),
    "a matrix": (
        lambda **given: ranking.rank_until(pos_scores=POS, neg_scores=NEG, **given),
        lambda: ranking.evaluate(POS, NEG),
        EVERYTHING,
    ),
    "a masked matrix": (
        lambda **given: ranking.rank_until(pos_scores=POS, neg_scores=NEG, mask=MASK, **given),
        lambda: ranking.evaluate(POS, NEG, mask=MASK),
        EVERYTHING,
    ),
    "ragged": (
        lambda **given: ranking.rank_until(
            pos_scores=POS,
            neg_scores=NEG.reshape(-1)[: SIZES.sum()],
            offsets=np.concatenate([[0], np.cumsum(SIZES)]),
            **given,
        ),
        lambda: ranking.evaluate(POS, NEG.reshape(-1)[: SIZES.sum()], offsets=np.concatenate([[0], np.cumsum(SIZES)])),
        EVERYTHING,
    ),
    "flat": (
        lambda **given: ranking.rank_until(FLAT_QUERY, **FLAT, **given),
        lambda: ranking.evaluate(queries=FLAT_QUERY, **FLAT, metrics=list(LISTS)),
        LISTS,
    ),
    "a callback": (
        lambda **given: ranking.rank_until(score_query=asked, n_queries=N, **given),
        lambda: ranking.evaluate(POS, NEG),
        EVERYTHING,
    ),
    "a callback with several right answers": (
        lambda **given: ranking.rank_until(score_query=several, n_queries=N, **given),
        lambda: ranking.evaluate(**flat_of_several(), metrics=list(LISTS)),
        LISTS,
    ),
    "triples": (
        lambda **given: ranking.rank_until(
            model=VECTORS, triples=TRIPLES[:150], known=[TRIPLES[150:]], score="distmult", **given
        ),
        lambda: ranking.rank_triples(VECTORS, TRIPLES[:150], known=[TRIPLES[150:]], score="distmult").evaluate(),
        EVERYTHING,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_everything_read_has_the_bits_of_reading_at_once(form: str) -> None:
    adaptive, at_once, within = FORMS[form]
    found, expected = adaptive(within=within, seed=4), at_once()
    for key in within:
        assert found[key].value == expected[key].value, key
        assert found[key].n == expected[key].n
        assert tuple(found[key].interval) == (expected[key].value,) * 2
        assert found[key].new_queries == expected[key].interval
    assert found.options["until"]["complete"]
    assert found.options["until"]["stopped"] == "everything was read"
    assert found.breakdowns.keys() == expected.breakdowns.keys()


@pytest.mark.parametrize("form", FORMS)
def test_a_part_is_read_and_the_interval_contains_the_value(form: str) -> None:
    adaptive, at_once, within = FORMS[form]
    key = next(iter(within))
    found, value = adaptive(within={key: 0.15}, seed=7), at_once()[key].value
    assert found.options["until"]["read"] < found.options["until"]["of"]
    assert value in found[key].interval
    assert found[key].value in found[key].interval
    low, high = found[key].new_queries
    assert low <= found[key].interval.low <= found[key].interval.high <= high
    assert found[key].interval.over == "this test set, at every look"


def test_the_average_over_groups() -> None:
    groups = {"relation": RELATION}
    expected = ranking.rank_all(QUERIES, ENTITIES, TARGETS, groups=groups).evaluate()["mrr_macro_relation"].value
    whole = until(groups=groups, average="relation", within={"mrr": 1e-9})
    assert whole["mrr_macro_relation"].value == expected
    found = until(groups=groups, average="relation", within={"mrr": 0.1}, gates=["mrr_macro_relation >= 0.05"])
    assert expected in found["mrr_macro_relation"].interval
    assert found.gate("mrr_macro_relation >= 0.05").passed
    assert "mrr_macro_relation" in str(found)
    with pytest.raises(OptionError, match="Write mrr_macro_relation"):
        until(groups=groups, average="relation", gates=["mrr >= 0.1"])


# ------------------------------------------------------------------ gates and pairs


def test_gates_are_passed_failed_or_undecided() -> None:
    value = ranking.rank_all(QUERIES, ENTITIES, TARGETS).evaluate()["mrr"].value
    low, near, high = (f"mrr >= {value + gap:.4f}" for gap in (-0.2, 0.001, 0.2))
    found = until(gates=[low, high], max_queries=600)
    assert found.options["until"]["read"] < 400
    assert found.gate(low).passed
    assert not found.gate(high).passed
    assert found.gate(high).undecided is None
    assert str(found.gate(high)).startswith("gate failed")
    open_ = until(gates=[near], max_queries=100)
    assert open_.options["until"]["gates"][near]["outcome"] == "undecided"
    outcome = open_.gate(near)
    assert not outcome.passed
    assert "no more than 100 queries may be read" in str(outcome)
    assert str(outcome).startswith("gate undecided")
    # A gate that was not asked for is decided by the interval, or not at all.
    assert found.gate("mrr <= 0.999").passed
    assert found.gate(near).undecided is not None
    # With everything read, it holds or it does not.
    assert until(gates=[near]).gate(near) == ranking.rank_all(QUERIES, ENTITIES, TARGETS).evaluate().gate(near)


def test_two_models_on_the_same_queries() -> None:
    found = until(against={"queries": WORSE})
    assert found["mrr_difference"].interpretation.startswith("the first is better")
    assert found.gate("mrr_difference > 0").passed
    assert found.options["until"]["read"] < N
    back = ranking.rank_until(WORSE, ENTITIES, TARGETS, against={"queries": QUERIES})
    assert not back.gate("mrr_difference >= 0").passed
    equal = until(against={"score": "dot"})
    assert equal["mrr_difference"].value == 0
    assert "not decided" in equal["mrr_difference"].interpretation
    whole = until(against={"queries": WORSE}, within={"mrr_difference": 1e-9, "mrr": 0.5})
    a, b = (ranking.rank_all(each, ENTITIES, TARGETS).evaluate()["mrr"].value for each in (QUERIES, WORSE))
    assert whole["mrr_difference"].value == a - b
    close = until(against={"queries": WORSE}, gates=["mrr_difference >= -0.1"])
    assert close.gate("mrr_difference >= -0.1").passed


def of_ranks(ranks: Any, others: int = 20) -> Any:
    """Negatives that give these ranks to positives of 0."""
    return np.where(np.arange(others)[None] < np.asarray(ranks)[:, None] - 1, 1.0, -1.0)


@pytest.mark.parametrize("most", [40, None])
def test_a_pair_averaged_over_groups_is_one_mean_however_much_is_read(most: int | None) -> None:
    """The mean over groups and that over queries have different signs here."""
    group = (np.arange(42) % 7 == 0).astype(int)
    first, second = np.where(group, 1, 2), np.where(group, 3, 1 + (np.arange(42) % 3 == 0))
    given: dict[str, Any] = {
        "pos_scores": np.zeros(42),
        "neg_scores": of_ranks(first),
        "groups": {"g": group},
        "against": {"neg_scores": of_ranks(second)},
        "average": "g",
    }
    macro = np.mean([np.mean((1 / first - 1 / second)[group == each]) for each in (0, 1)])
    assert macro > 0 > np.mean(1 / first - 1 / second)
    found = ranking.rank_until(**given, max_queries=most)
    result = found["mrr_macro_g_difference"]
    assert result.interval.low - 1e-12 <= macro <= result.interval.high + 1e-12
    assert result.interpretation.startswith("the first is better")
    assert found.options["until"]["decided"] == {"mrr_macro_g_difference": "above"}
    assert found.gate("mrr_macro_g_difference > 0").passed
    asked = ranking.rank_until(**given, within={"mrr_difference": 0.3}, gates="mrr_macro_g_difference > -0.5")
    assert asked.gate("mrr_macro_g_difference > -0.5").passed
    with pytest.raises(OptionError, match="Write mrr_macro_g_difference"):
        ranking.rank_until(**given, gates="mrr_difference > 0")


def test_an_interval_of_a_pair_does_not_say_more_than_its_verdict() -> None:
    for seed in range(12):
        found = until(against={"queries": QUERIES + 0.05}, max_queries=400, seed=seed)["mrr_difference"]
        if "not decided" in found.interpretation:
            assert 0 in found.interval
        assert found.new_queries.low <= found.interval.low <= found.interval.high <= found.new_queries.high


@pytest.mark.parametrize(("rank", "queries"), [(10, 10), (3, 7), (7, 49), (6, 30)])
def test_a_gate_at_the_value_has_one_outcome(rank: int, queries: int) -> None:
    """With everything read, the run and the evaluation use the value that is printed."""
    value = ranking.evaluate(np.zeros(queries), of_ranks(np.full(queries, rank)))["mrr"].value
    texts = [f"mrr {sign} {value!r}" for sign in (">=", ">", "<=", "<")]
    found = ranking.rank_until(pos_scores=np.zeros(queries), neg_scores=of_ranks(np.full(queries, rank)), gates=texts)
    outcomes = [found.options["until"]["gates"][text]["outcome"] for text in texts]
    assert outcomes == ["passed", "failed", "passed", "failed"]
    assert [found.gate(text).passed for text in texts] == [True, False, True, False]


def test_a_gate_is_known_however_it_is_written() -> None:
    found = until(gates=["mrr>=0.2"])
    assert found.options["until"]["read"] < N
    for text, passed in (("mrr >= 0.20", True), ("mrr > 0.2", True), ("mrr < 0.2", False)):
        assert found.gate(text).passed is passed
        assert found.gate(text).undecided is None
    open_ = until(gates=["mrr >= 0.41"], max_queries=64).gate("mrr >= 0.41")
    assert GateOutcome.from_dict(open_.to_dict()) == open_
    assert "gate mrr>=0.2: passed" in str(found)


def test_a_run_says_if_its_width_was_not_reached() -> None:
    assert "mrr is known to ± 0.43, not ± 0.01" in until(within={"mrr": 0.01}, max_queries=100).notes[0]
    found = until(within={"mrr": 0.1})["mrr"]
    assert found.value == sum(found.interval) / 2


# ------------------------------------------------------------------ what narrows it


def test_a_predictor_saves_queries() -> None:
    earlier = ranking.rank_all(QUERIES + 0.02, ENTITIES, TARGETS, keep="items").evaluate()
    plain = until(within={"mrr": 0.04}).options["until"]["read"]
    ranks = 1 + earlier.per_item.greater
    for assist in (earlier, earlier.per_item, ranks, 1 / ranks):
        found = until(within={"mrr": 0.04}, assist=[assist])
        assert found.options["until"]["read"] < 0.6 * plain
    partly = np.where(np.arange(N) % 2, 1 / ranks, np.nan)
    assert until(within={"mrr": 0.04}, assist=[partly]).options["until"]["read"] < plain
    by_relation = until(within={"mrr": 0.04}, groups={"relation": RELATION}, assist="relation")
    assert by_relation.options["until"]["read"] <= plain


def test_a_predictor_does_not_see_the_query_that_is_read() -> None:
    """A callback that writes the value of each query into the predictor while it is asked changes nothing."""
    values = ranking.rank_until(pos_scores=POS, neg_scores=NEG, within={"mrr": 1e-9}, keep="items").per_item
    truth = values.values("mrr")
    proxy = RNG.random(N)

    def leaking(row: int) -> tuple[Any, Any]:
        given[row] = truth[row]
        return asked(row)

    given = proxy.copy()
    honest = ranking.rank_until(score_query=asked, n_queries=N, within={"mrr": 0.08}, assist=[proxy])
    leaked = ranking.rank_until(score_query=leaking, n_queries=N, within={"mrr": 0.08}, assist=[given])
    assert tuple(leaked["mrr"].interval) == tuple(honest["mrr"].interval)


def test_a_predictor_does_not_know_the_order_from_an_earlier_run() -> None:
    """What an earlier run of the same seed has read tells nothing of what the next one reads first."""
    first = until(within={"mrr": 0.15}, keep="items", seed=5)
    read = first.per_item.ids
    assert len(read) < N / 2
    again = until(within={"mrr": 0.15}, keep="items", seed=5)
    assert set(again.per_item.ids) == set(read)
    given = np.full(N, np.nan)
    given[read] = 0.5
    filled = np.where(np.isnan(given), 0.1, 0.5)
    for assist in (first, first.per_item, given, filled):
        drawn = until(within={"mrr": 1e-9}, assist=[assist], max_queries=len(read), keep="items", seed=5).per_item.ids
        # By chance, not all of them.
        share = len(read) / N
        assert abs(np.isin(drawn, read).mean() - share) < 5 * math.sqrt(share * (1 - share) / len(read))
    labels = np.isin(np.arange(N), read).astype(int)
    drawn = until(
        within={"mrr": 1e-9}, groups={"g": labels}, assist="g", max_queries=len(read), keep="items", seed=5
    ).per_item.ids
    assert np.isin(drawn, read).mean() < 0.8


def test_a_callback_may_fill_the_same_arrays_again() -> None:
    room, own = np.empty(20), np.empty(())

    def refilled(row: int) -> tuple[Any, Any]:
        room[:], own[...] = NEG[row], POS[row]
        return own, room

    found = ranking.rank_until(score_query=refilled, n_queries=N, within={"mrr": 1e-9})
    assert found["mrr"].value == ranking.evaluate(POS, NEG)["mrr"].value
    matrix = np.empty((N, M))

    def scored(queries: Any, entities: Any) -> Any:
        np.matmul(queries, entities.T, out=matrix[: len(queries)])
        return matrix[: len(queries)]

    assert (
        until(score=scored, within={"mrr": 1e-9})["mrr"].value
        == until(score=lambda q, e: q @ e.T, within={"mrr": 1e-9})["mrr"].value
    )


def test_new_queries_of_uneven_units_as_far_as_they_were_read() -> None:
    """Nearly everything read, the interval for new clusters is about that of everything read."""
    cluster = np.repeat(np.arange(156), np.r_[np.ones(150, int), np.full(6, 100)])
    hit = RNG.random(len(cluster)) < RNG.beta(1, 1, 156)[cluster]
    given: dict[str, Any] = {
        "pos_scores": np.zeros(len(cluster)),
        "neg_scores": of_ranks(np.where(hit, 1, 3), 2),
        "cluster": cluster,
        "within": {"hits@1": 1e-9},
    }
    widths = []
    for most in (len(cluster) - 4, None):
        low, high = ranking.rank_until(**given, max_queries=most)["hits@1"].new_queries
        widths.append(high - low)
    assert 0.7 < widths[0] / widths[1] < 1.8


# ------------------------------------------------------------------ the same bits


def facts(evaluation: Evaluation) -> Any:
    return json.dumps({name: evaluation.to_dict()[name] for name in ("results", "notes")})


STOPPED: dict[str, dict[str, Any]] = {
    "plain": {},
    "clusters": {"cluster": np.arange(N) // 4},
    "pair": {"against": {"queries": WORSE}},
}


@pytest.mark.parametrize("given", STOPPED.values(), ids=STOPPED)
def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(given: dict[str, Any], tmp_path: Path) -> None:
    groups = {"groups": {"relation": RELATION}, "assist": "relation"}
    place = tmp_path / "run.npz"
    within = {"mrr": 0.1, **({"mrr_difference": 0.01} if "against" in given else {})}
    whole = until(within=within, **groups, **given)
    for most in (50, 77, 130):
        until(within=within, max_queries=most, save=place, resume=place if place.exists() else None, **groups, **given)
    assert facts(until(within=within, resume=place, **groups, **given)) == facts(whole)


def test_a_run_goes_on_to_a_narrower_width_without_reading_again(tmp_path: Path) -> None:
    read: list[int] = []

    def counting(row: int) -> tuple[Any, Any]:
        read.append(row)
        return asked(row)

    place = tmp_path / "run.npz"
    wide = ranking.rank_until(score_query=counting, n_queries=N, within={"mrr": 0.15}, save=place)
    first = len(read)
    narrow = ranking.rank_until(
        score_query=counting, n_queries=N, within={"mrr": 0.08}, resume=place, gates=["mrr >= 0.05"]
    )
    # As many are compared with the saved ones.
    assert len(read) - first == narrow.options["until"]["read"] - wide.options["until"]["read"] + 64
    assert len({*read}) == narrow.options["until"]["read"]
    assert narrow["mrr"].interval.high - narrow["mrr"].interval.low <= 0.16
    assert narrow.gate("mrr >= 0.05").passed
    assert ranking.evaluate(POS, NEG)["mrr"].value in narrow["mrr"].interval
    for other, what in (({"seed": 1}, "differs in order, seed"), ({"ties": "optimistic"}, "differs in ties")):
        with pytest.raises(InputError, match=what):
            ranking.rank_until(score_query=asked, n_queries=N, within={"mrr": 0.08}, resume=place, **other)
    with pytest.raises(InputError, match="has read other scores"):
        ranking.rank_until(score_query=lambda row: (-9.0, NEG[row]), n_queries=N, within={"mrr": 0.08}, resume=place)
    with pytest.raises(InputError, match="differs in metrics"):
        ranking.rank_until(score_query=asked, n_queries=N, within={"hits@10": 0.08}, resume=place)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_is_interrupted_is_saved_and_goes_on(error: type[BaseException], tmp_path: Path) -> None:
    place, asked_for = tmp_path / "run.npz", []

    def failing(row: int) -> tuple[Any, Any]:
        asked_for.append(row)
        if len(asked_for) == 290:
            raise error("stop")
        return asked(row)

    with pytest.raises((error, InputError)):
        ranking.rank_until(score_query=failing, n_queries=N, within={"mrr": 0.04}, save=place)
    whole = ranking.rank_until(score_query=asked, n_queries=N, within={"mrr": 0.04})
    before = len(asked_for)
    went_on = ranking.rank_until(score_query=failing, n_queries=N, within={"mrr": 0.04}, resume=place)
    assert facts(went_on) == facts(whole)
    assert len(asked_for) - before < whole.options["until"]["read"] - 150


def test_a_long_run_is_saved_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, sizes = tmp_path / "run.npz", []
    monkeypatch.setattr("graphgauge.old.ranking.reading._SAVE_SECONDS", 0.0)

    def looking(row: int) -> tuple[Any, Any]:
        sizes.append(place.exists())
        return asked(row)

    ranking.rank_until(score_query=looking, n_queries=N, within={"mrr": 0.1}, save=place)
    assert not sizes[0]
    assert sizes[-1]


OTHERS: dict[str, dict[str, Any]] = {
    "another model": {"queries": WORSE},
    "its last entity": {"entities": np.concatenate([ENTITIES[:-1], 3 * ENTITIES[-1:]])},
    "a filter": {"known": KNOWN},
    "a filter as lists": {"known": [[int(each)] for each in (TARGETS + 1) % M]},
    "another score": {"score": "l2"},
    "a function": {"score": lambda q, e: q @ e.T - (q**2).sum(1)[:, None] * e[:, 0]},
    "candidates": {"candidates": OWN},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_saved_run_goes_on_with_the_same_scores_only(other: dict[str, Any]) -> None:
    mine = {"queries": QUERIES, "entities": ENTITIES, "targets": TARGETS}
    stored = BytesIO()
    ranking.rank_until(**mine, within={"mrr": 0.2}, save=stored)
    stored.seek(0)
    with pytest.raises(InputError, match=r"differs in model|has read other scores"):
        ranking.rank_until(**{**mine, **other}, within={"mrr": 0.1}, resume=stored)


def test_scores_of_another_model_in_the_same_file_are_noticed() -> None:
    """Hits of two good models agree in most queries; their counts do not."""
    near = EntityQueries(QUERIES, ENTITIES, TARGETS).count(np.arange(N)).greater
    better = np.maximum(near - 1, 0)
    taken = 0
    for seed in range(20):
        stored = BytesIO()
        given = {"pos_scores": np.zeros(N), "within": {"hits@10": 0.15}, "seed": seed}
        ranking.rank_until(**given, neg_scores=of_ranks(near + 1, M), save=stored)
        stored.seek(0)
        try:
            ranking.rank_until(**given, neg_scores=of_ranks(better + 1, M), resume=stored)
            taken += 1
        except InputError:
            pass
    assert taken == 0


FORGED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "done": lambda facts, arrays: facts.update(done=10**9),
    "a sum": lambda facts, arrays: facts["sequences"]["mrr"].update(total=1e9),
    "an end": lambda facts, arrays: facts["sequences"]["mrr"].update(best_low=0.9),
    "nothing": lambda facts, arrays: facts["sequences"]["mrr"].update(best_high=None),
    "counts": lambda facts, arrays: arrays.update({"a:greater": arrays["a:greater"] * 0}),
    "fewer": lambda facts, arrays: arrays.update({"values:mrr": arrays["values:mrr"][:-1]}),
    "text": lambda facts, arrays: arrays.update({"values:mrr": np.array(["x"])}),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_saved_run_that_was_changed_is_refused(what: str) -> None:
    stored, changed = BytesIO(), BytesIO()
    until(within={"mrr": 0.15}, save=stored)
    stored.seek(0)
    kind, facts_, arrays = load_state(stored)
    FORGED[what](facts_, arrays)
    save_state(changed, kind, facts_, arrays)
    changed.seek(0)
    with pytest.raises(InputError, match="was changed"):
        until(within={"mrr": 0.05}, resume=changed)


def test_a_new_gate_on_a_run_that_may_read_no_more() -> None:
    stored = BytesIO()
    first = until(gates=["mrr >= 0.5"], max_queries=80, save=stored)
    stored.seek(0)
    found = until(gates=["mrr >= 0.51", "mrr >= 0.5"], max_queries=80, resume=stored)
    assert tuple(found["mrr"].interval) == tuple(first["mrr"].interval)
    assert found.gate("mrr >= 0.51").undecided is not None


def test_threads_and_batches_make_no_difference() -> None:
    one = until(within={"mrr": 0.05}, threads=1)
    assert facts(until(within={"mrr": 0.05}, threads=2, batch=7)) == facts(one)


def test_only_drawn_rows_of_a_file_are_read(tmp_path: Path) -> None:
    """Rows that were not drawn are damaged afterwards, and nothing changes."""
    found = ranking.rank_until(pos_scores=POS, neg_scores=NEG, within={"mrr": 0.1}, keep="items")
    drawn = np.isin(np.arange(N), found.per_item.ids)
    assert 0 < drawn.sum() < N
    pos, neg = POS.copy(), NEG.copy()
    pos[~drawn], neg[~drawn] = np.nan, np.nan
    np.save(tmp_path / "pos.npy", pos)
    for part, rows in enumerate((slice(0, 300), slice(300, N))):
        np.save(tmp_path / f"neg-{part}.npy", neg[rows])
    mapped = np.load(tmp_path / "pos.npy", mmap_mode="r")
    for given in ({"pos_scores": mapped, "neg_scores": neg}, {"pos_scores": pos, "neg_scores": neg}):
        assert facts(ranking.rank_until(**given, within={"mrr": 0.1})) == facts(
            ranking.rank_until(pos_scores=POS, neg_scores=NEG, within={"mrr": 0.1})
        )
    stored = ranking.evaluate_files(
        pos_scores=str(tmp_path / "pos.npy"), neg_scores=str(tmp_path / "neg-*.npy"), until="mrr ± 0.1"
    )
    assert stored["mrr"].value == found["mrr"].value


# ------------------------------------------------------------------ what an incomplete run does not say

SIZE = np.r_[np.ones(150, int), np.full(6, 40)]
UNEVEN = np.repeat(np.arange(len(SIZE)), SIZE)


def test_items_of_runs_that_are_incomplete_are_not_compared(tmp_path: Path) -> None:
    """Clusters are drawn in proportion to their size, so the mean of the items read is that of nothing."""
    rng = np.random.default_rng(2)
    large = SIZE[UNEVEN] > 1
    first, second = (
        np.where(rng.random(len(UNEVEN)) < np.where(large, *chance), 1, 4) for chance in ((0.3, 0.8), (0.5, 0.4))
    )

    def runs(most: int | None) -> list[Evaluation]:
        found = []
        for name, ranks in (("a", first), ("b", second)):
            each = ranking.rank_until(
                pos_scores=np.zeros(len(ranks)),
                neg_scores=of_ranks(ranks, 9),
                cluster=UNEVEN,
                within={"mrr": 1e-9},
                max_queries=most,
                keep="items",
            )
            each.run = {"method": name, "dataset": "d", "seed": 0}
            found.append(each)
        return found

    whole = compare(runs(None), metric="mrr", over="items")
    assert whole.means["a"] == pytest.approx(np.mean(1 / first))
    some = runs(200)
    for place, each in zip(("a.json", "b.json"), some, strict=True):
        write_result(each, tmp_path / place)
    for given in (some, [tmp_path / "a.json", tmp_path / "b.json"]):
        with pytest.raises(InputError, match=r"have not read everything.*equal chances"):
            compare(given, metric="mrr", over="items")
    with pytest.raises(InputError, match="have not read everything"):
        compare([runs(None)[0], some[1]], metric="mrr", over="items")
    over_seeds = compare(some, metric="mrr")
    assert any("adaptive and incomplete" in note for note in over_seeds.notes)
    assert not any('over="items"' in note for note in over_seeds.notes)


@pytest.mark.parametrize("labels", [{"cluster": UNEVEN}, {"weights": 1.0 + 19 * (SIZE[UNEVEN] > 1)}, {}])
def test_the_chance_level_is_that_of_all_queries(labels: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    n = len(UNEVEN)
    mask = np.ones((n, 20), bool)
    mask[SIZE[UNEVEN] > 1, 1:] = False
    given = {"pos_scores": rng.normal(size=n), "neg_scores": rng.normal(size=(n, 20)), "mask": mask}
    whole = ranking.evaluate(*(given[name] for name in ("pos_scores", "neg_scores")), mask=mask, **labels)
    for most in (60, 200, None):
        found = ranking.rank_until(**given, **labels, within={"mrr": 1e-9}, max_queries=most)
        assert found["mrr"].chance == whole["mrr"].chance


def test_the_chance_level_of_filtered_entities_and_triples() -> None:
    found = until(known=KNOWN, within={"mrr": 1e-9}, max_queries=90)
    assert found["mrr"].chance == ranking.rank_all(QUERIES, ENTITIES, TARGETS, known=KNOWN).evaluate()["mrr"].chance
    given: dict[str, Any] = {"known": [TRIPLES[150:]], "score": "distmult"}
    some = ranking.rank_until(model=VECTORS, triples=TRIPLES[:150], **given, within={"mrr": 1e-9}, max_queries=90)
    whole = ranking.rank_triples(VECTORS, TRIPLES[:150], **given).evaluate()
    assert [each.value for each in some["mrr"].chance] == [each.value for each in whole["mrr"].chance]


def test_no_chance_level_where_the_candidates_are_not_known() -> None:
    found = ranking.rank_until(score_query=asked, n_queries=N, within={"mrr": 0.1})
    assert not found["mrr"].chance
    assert any("no chance level" in note for note in found.notes)
    with pytest.raises(InputError, match="no level of chance"):
        found.gate("mrr > chance")


@pytest.mark.parametrize("form", ["matrix", "map", "flat"])
def test_stored_scores_that_differ_in_one_query_read_are_noticed(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    pos, neg = rng.normal(size=N), rng.normal(size=(N, 8))
    stored = BytesIO()

    def given(neg: Any) -> dict[str, Any]:
        if form == "flat":
            return {
                "scores": np.c_[pos, neg].reshape(-1),
                "labels": np.tile(np.arange(9) == 0, N).astype(int),
                "queries": np.repeat(np.arange(N), 9),
                "within": {"recall@3": 0.1},
            }
        if form == "map":
            np.save(tmp_path / "neg.npy", neg)
            neg = np.load(tmp_path / "neg.npy", mmap_mode="r")
        return {"pos_scores": pos, "neg_scores": neg, "within": {"mrr": 0.1}}

    first = ranking.rank_until(**given(neg), keep="items", save=stored)
    read = np.sort(first.per_item.ids)
    for row in read[:: max(len(read) // 7, 1)]:
        other = neg.copy()
        other[row] = pos[row] + np.where(neg[row] > pos[row], -1.0, 1.0)
        stored.seek(0)
        with pytest.raises(InputError, match="has read other scores"):
            ranking.rank_until(**given(other), resume=stored)
    unread = np.setdiff1d(np.arange(N), read)
    other = neg.copy()
    other[unread] = 9.0
    stored.seek(0)
    assert facts(ranking.rank_until(**given(other), resume=stored)) == facts(ranking.rank_until(**given(other)))


def missed(weights: np.ndarray, read: float | None, runs: int) -> int:
    count = 0
    for seed in range(runs):
        hit = np.random.default_rng(seed + 5).random(len(weights)) < 0.5
        found = ranking.rank_until(
            pos_scores=np.zeros(len(hit)),
            neg_scores=of_ranks(np.where(hit, 1, 3), 2),
            weights=weights,
            within={"hits@1": 1e-9},
            seed=seed,
            max_queries=None if read is None else int(read * len(hit)),
        )
        new = found["hits@1"].new_queries
        count += new is not None and 0.5 not in new
    return count


@pytest.mark.parametrize("heavy", [2, 3])
def test_a_few_heavy_queries_stand_for_few(heavy: int) -> None:
    weights = np.ones(200)
    weights[:heavy] = 100
    assert missed(weights, 0.99, 30) <= 3


def test_a_few_heavy_clusters_of_pairs_stand_for_few() -> None:
    size = np.r_[np.ones(100, int), np.full(3, 60)]
    cluster = np.repeat(np.arange(len(size)), size)
    outside = 0
    for seed in range(20):
        better = (np.random.default_rng(seed).random(len(size)) < 0.5)[cluster]
        found = ranking.rank_until(
            pos_scores=np.zeros(len(cluster)),
            neg_scores=of_ranks(np.where(better, 1, 2), 2),
            cluster=cluster,
            against={"neg_scores": of_ranks(np.where(better, 2, 1), 2)},
            within={"hits@1_difference": 1e-9},
            seed=seed,
        )["hits@1_difference"].new_queries
        outside += found is not None and 0 not in found
    assert outside <= 3


def test_a_run_has_the_same_looks_wherever_it_was_stopped() -> None:
    rng = np.random.default_rng(5)
    ranks = [np.minimum(np.exp(rng.exponential(scale, 2000)).astype(int), 21) for scale in (1.4, 1.6)]
    given: dict[str, Any] = {
        "pos_scores": np.zeros(2000),
        "neg_scores": of_ranks(ranks[0], 20),
        "against": {"neg_scores": of_ranks(ranks[1], 20)},
    }
    whole = ranking.rank_until(**given)
    read = whole.options["until"]["read"]
    assert read > 150
    for most in range(8, read, read // 6):
        stored = BytesIO()
        ranking.rank_until(**given, max_queries=most, save=stored)
        stored.seek(0)
        assert ranking.rank_until(**given, resume=stored).to_dict() == whole.to_dict()


def test_a_run_that_was_interrupted_between_looks_reads_on_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.old.ranking.reading._PART_SECONDS", 0.0)
    given: dict[str, Any] = {"n_queries": N, "gates": ["mrr >= 0.2"]}
    whole = ranking.rank_until(score_query=asked, **given)
    for last in range(10, whole.options["until"]["read"], 8):
        stored, calls = BytesIO(), 0

        def failing(row: int, last: int = last) -> tuple[Any, Any]:
            nonlocal calls
            calls += 1
            if calls > last:
                raise KeyboardInterrupt
            return asked(row)

        with pytest.raises(KeyboardInterrupt):
            ranking.rank_until(score_query=failing, **given, save=stored)
        stored.seek(0)
        assert ranking.rank_until(score_query=asked, **given, resume=stored).to_dict() == whole.to_dict()


def test_a_run_says_what_it_had_asked_for_before() -> None:
    stored = BytesIO()
    first = until(within={"mrr": 0.15}, save=stored)
    assert "resumed" not in first.options["until"]
    same = {"within": {"mrr": 0.15}}
    for given in ({"within": {"mrr": 0.1}}, {**same, "gates": ["mrr >= 0.4"]}, {**same, "max_queries": 1}):
        stored.seek(0)
        assert until(**given, resume=stored).options["until"]["resumed"] == ["mrr ± 0.15 at 0.95"]
    stored.seek(0)
    assert "resumed" not in until(within={"mrr": 0.15}, resume=stored).options["until"]


def test_queries_without_a_right_answer_are_left_out_as_in_rank_all() -> None:
    sets = [[] if row % 5 == 0 else each for row, each in enumerate(SETS)]
    labels: dict[str, Any] = {"groups": {"relation": RELATION}, "cluster": np.arange(N) // 3}
    whole = ranking.rank_all(QUERIES, ENTITIES, sets, **labels).evaluate(metrics=["recall@5"])["recall@5"]
    proxy = np.linspace(0, 1, N)
    for assist in ((), "relation", proxy):
        found = ranking.rank_until(QUERIES, ENTITIES, sets, within={"recall@5": 1e-9}, assist=assist, **labels)
        assert (found["recall@5"].value, found["recall@5"].n) == (whole.value, whole.n)
        assert found.options["until"]["of"] == N - N // 5
        assert any("140 queries left out" in note for note in found.notes)
    some = ranking.rank_until(QUERIES, ENTITIES, sets, within={"recall@5": 0.1}, keep="items", **labels)
    assert not any(row % 5 == 0 for row in some.per_item.ids)
    assert whole.value in some["recall@5"].interval


# ------------------------------------------------------------------ doors


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    arrays = {
        "queries": QUERIES,
        "worse": WORSE,
        "entities": ENTITIES,
        "targets": TARGETS,
        "relation": RELATION,
        "ranks": 1 + RNG.integers(0, 5, N),
        "pos": POS,
        "neg": NEG,
        "flat_queries": FLAT_QUERY,
        **FLAT,
        "triples": TRIPLES[:150],
        "known": TRIPLES[150:],
        "vectors": VECTORS[1],
        "matrix": QUERIES[:80] @ ENTITIES.T,
        "test": np.stack([np.arange(80), TARGETS[:80]], axis=1),
        "train": np.stack([np.arange(80), (TARGETS[:80] + 1) % M], axis=1),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    monkeypatch.chdir(tmp_path)
    return tmp_path


EMBEDDED = {
    "queries_emb": "queries.npy",
    "entities": "entities.npy",
    "targets": "targets.npy",
    "groups": {"relation": "relation.npy"},
}
DOORS: dict[str, tuple[dict[str, Any], Callable[[], Evaluation]]] = {
    "embeddings": (
        {**EMBEDDED, "until": ["mrr ± 0.08", "hits@10 >= 0.1"], "assist": ["relation", "ranks.npy"], "seed": 3},
        lambda: until(
            within={"mrr": 0.08},
            gates=["hits@10 >= 0.1"],
            assist=["relation", np.load("ranks.npy")],
            seed=3,
            **LABELLED,
        ),
    ),
    "the average": (
        {**EMBEDDED, "until": ["mrr ± 0.15"], "average": "relation", "max_queries": 90},
        lambda: until(within={"mrr": 0.15}, average="relation", max_queries=90, **LABELLED),
    ),
    "a pair": (
        {**EMBEDDED, "until": ["difference"], "against": {"queries_emb": "worse.npy"}},
        lambda: until(against={"queries": WORSE}, **LABELLED),
    ),
    "a matrix": (
        {"pos_scores": ["pos.npy"], "neg_scores": ["neg.npy"], "until": ["hits@3 ± 0.1"]},
        lambda: ranking.rank_until(pos_scores=POS, neg_scores=NEG, within={"hits@3": 0.1}),
    ),
    "flat": (
        {"scores": "scores.npy", "labels": "labels.npy", "queries": "flat_queries.npy", "until": ["recall@3 +- 0.1"]},
        lambda: ranking.rank_until(FLAT_QUERY, **FLAT, within={"recall@3": 0.1}),
    ),
    "triples": (
        {
            "triples": "triples.npy",
            "known_triples": ["known.npy"],
            "entities": "entities.npy",
            "relation_vectors": "vectors.npy",
            "score": "distmult",
            "until": ["mrr ± 0.1"],
            "assist": ["relation"],
        },
        lambda: ranking.rank_until(
            model=VECTORS,
            triples=TRIPLES[:150],
            known=[TRIPLES[150:]],
            score="distmult",
            within={"mrr": 0.1},
            assist="relation",
        ),
    ),
    "a recommender": (
        {
            "user_scores": "matrix.npy",
            "test_items": "test.npy",
            "train_items": "train.npy",
            "until": ["recall@10 ± 0.3"],
        },
        lambda: ranking.rank_until(
            np.arange(80),
            np.arange(M),
            [[each] for each in TARGETS[:80]],
            known=[[(each + 1) % M] for each in TARGETS[:80]],
            minus_inf="raise",
            score=lambda rows, _: (QUERIES[:80] @ ENTITIES.T)[rows],
            within={"recall@10": 0.3},
        ),
    ),
}


def flags(values: dict[str, Any]) -> list[str]:
    found = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            found += [part for key, path in value.items() for part in (flag, f"{key}={path}")]
        elif isinstance(value, bool):
            found.append(flag)
        else:
            for part in value if isinstance(value, list) else [value]:
                found += [flag, str(part)]
    return found


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("form", DOORS)
def test_files_commands_and_studies_give_the_same_bits(form: str, folder: Path) -> None:
    values, library = DOORS[form]
    expected = facts(library())
    assert facts(ranking.evaluate_files(**values)) == expected
    done = CliRunner().invoke(family_command("ranking"), [*flags(values), "--quiet", "-o", "result.json"])
    assert done.exit_code == 0, done.output
    assert facts(read_result("result.json")) == expected
    lines = ["schema = 1", "[[evaluate]]", 'family = "ranking"', 'method = "m"', 'dataset = "d"']
    (folder / "study.toml").write_text(
        "\n".join([*lines, *(f"{key} = {toml(value)}" for key, value in values.items())])
    )
    (item,) = read_study("study.toml").items
    assert perform(Task(item=item, folder=folder, path=folder / "s.json", hashes=folder / "h")).error is None
    assert facts(read_result("s.json")) == expected


def test_gates_on_the_command_line(folder: Path) -> None:
    def run(*more: str) -> Any:
        return CliRunner().invoke(family_command("ranking"), [*flags(EMBEDDED), *more])

    passed = run("--until", "gates", "--gate", "mrr >= 0.1")
    assert passed.exit_code == 0
    assert "gate passed: mrr >= 0.1" in passed.output
    assert "queries read" in passed.output
    assert run("--until", "gates", "--gate", "mrr >= 0.9").exit_code == 1
    value = ranking.rank_all(QUERIES, ENTITIES, TARGETS).evaluate()["mrr"].value
    open_ = run("--until", "gates", "--gate", f"mrr >= {value:.4f}", "--max-queries", "60")
    assert open_.exit_code == 1
    assert "gate undecided" in open_.output
    for refused in (
        ("--until", "gates"),
        ("--until", "mrr ± 0.1", "--gate", "hits@10 >= 0.1"),
        ("--until", "mrr ± x"),
        ("--max-queries", "60"),
        ("--until", "mrr ± 0.1", "--metrics", "mrr"),
        ("--until", "mrr ± 0.1", "--until", "mrr ± 0.2"),
        ("--until", "mrr ± 0.1", "--k", "3"),
        ("--until", "difference"),
        ("--until", "mrr ± 0.1", "--against", "targets=targets.npy"),
    ):
        assert isinstance(run(*refused).exception, OptionError), refused


def test_a_study_reads_until_its_gates_are_decided(folder: Path) -> None:
    text = [
        "schema = 1",
        "[[evaluate]]",
        'family = "ranking"',
        'method = "m"',
        'dataset = "d"',
        'until = "gates"',
        *(f"{key} = {toml(value)}" for key, value in EMBEDDED.items()),
    ]
    (folder / "study.toml").write_text("\n".join([*text, "[[gate]]", 'require = "mrr >= 0.1"']))
    (item,) = read_study("study.toml").items
    assert item.options["until"] == ["mrr >= 0.1"]
    (folder / "study.toml").write_text("\n".join(text))
    with pytest.raises(InputError, match="no gates to read until"):
        read_study("study.toml")


def test_a_run_of_the_command_goes_on(folder: Path) -> None:
    values = {**EMBEDDED, "until": ["mrr ± 0.1"], "until_state": "run.npz"}
    first = ranking.evaluate_files(**values, max_queries=50)
    assert first.options["until"]["read"] == 50
    assert facts(ranking.evaluate_files(**values)) == facts(until(within={"mrr": 0.1}, **LABELLED))


def test_weights_of_any_scale() -> None:
    weights = 1.0 + RELATION
    found = [until(within={"mrr": 0.1}, weights=weights * scale)["mrr"].interval for scale in (1.0, 2.0**-990, 2.0**40)]
    assert found[0] == found[1] == found[2]


def test_a_gate_that_the_interval_decides_is_decided_everywhere() -> None:
    stored = BytesIO()
    until(within={"mrr": 0.1}, save=stored)
    stored.seek(0)
    found = until(within={"mrr": 0.1}, gates=["mrr >= 0.05"], max_queries=1, resume=stored)
    assert found.gate("mrr >= 0.05").passed
    assert found.options["until"]["gates"]["mrr >= 0.05"] == {"outcome": "passed"}
    assert "gate mrr >= 0.05: passed" in found.notes


def test_defaults_by_value() -> None:
    found = ranking.rank_until(
        pos_scores=POS,
        neg_scores=NEG,
        within={"mrr": 0.1},
        minus_inf="".join(["ra", "nk"]),
        sides=["".join(each) for each in SIDES],
    )
    assert found["mrr"].defined


def test_results_in_files(tmp_path: Path) -> None:
    found = until(within={"mrr": 0.1}, gates=["mrr >= 0.1"])
    write_result(found, tmp_path / "r.json")
    back = read_result(tmp_path / "r.json")
    assert facts(back) == facts(found)
    assert back["mrr"].new_queries == found["mrr"].new_queries
    assert back.gate("mrr >= 0.1").passed
    assert "for new queries" in str(back)
    found.plot(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")


def test_the_monitor_among_the_examples_stops_when_nothing_gets_better(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[3] / "examples" / "rank_monitor.py"), run_name="__main__")
    assert capsys.readouterr().out.endswith("stop: epoch 3 is not improved upon\n")


# ------------------------------------------------------------------ refusals

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing to stop at": ({}, "nothing to stop at"),
    "no metric": ({"within": {"nosuch": 0.1}}, "nosuch"),
    "unbounded": ({"within": {"mean_rank": 0.1}}, "not a mean of values between 0 and 1"),
    "of lists": ({"within": {"recall@5": 0.1}}, "not a mean over queries"),
    "no width": ({"within": {"mrr": 0}}, "half-width above 0"),
    "no mapping": ({"within": 0.01}, "For example within="),
    "bound": ({"gates": "mrr.low >= 0.3"}, "cannot be decided"),
    "level": ({"gates": "mrr > chance"}, "cannot be decided"),
    "group": ({"gates": "mrr[relation=1] >= 0.3"}, "cannot be decided"),
    "equality": ({"gates": "mrr == 0.3"}, "cannot be decided"),
    "no axis": ({"within": {"mrr": 0.1}, "average": "side"}, "no groups 'side'"),
    "no assist": ({"within": {"mrr": 0.1}, "assist": "side"}, "no groups 'side'"),
    "short assist": ({"within": {"mrr": 0.1}, "assist": np.ones(3)}, "One number per query"),
    "no items": ({"within": {"mrr": 0.1}, "assist": until(within={"mrr": 0.3})}, 'keep="items"'),
    "no other": ({"within": {"mrr_difference": 0.1}}, "needs a second model"),
    "other queries": ({"against": {"queries": QUERIES[:9]}}, "expected shape (9)"),
    "other targets": ({"against": {"targets": TARGETS}}, "belongs to the queries, not to a model"),
    "other known": ({"against": {"known": KNOWN}}, "belongs to the queries, not to a model"),
    "unknown input": ({"against": {"nosuch": 1}}, "'nosuch' is no input"),
    "against as an array": ({"against": QUERIES}, "Name the inputs that differ"),
    "gate as a number": ({"gates": [3]}, "metrics and gates are texts"),
    "metric as a number": ({"within": {3: 0.1}}, "metrics and gates are texts"),
    "infinite gate": ({"gates": "mrr >= inf"}, "cannot be decided"),
    "odd key": ({"within": {"hits@010": 0.1}}, "Write hits@10"),
    "no key": ({"within": {"hits": 0.1}}, "Write hits@10"),
    "two widths": (
        {"within": {"mrr": 0.1, "mrr_macro_relation": 0.1}, "average": "relation", **LABELLED},
        "two widths",
    ),
    "a number as assist": ({"within": {"mrr": 0.1}, "assist": 5}, "One number per query"),
    "a number as a file": ({"within": {"mrr": 0.1}, "save": 5}, "save must be a path or a stream"),
    "certainty": ({"within": {"mrr": 0.1}, "confidence": 1 - 1e-16}, "too close to 1"),
    "lost weights": ({"within": {"mrr": 0.1}, "weights": np.r_[1e20, np.ones(N - 1)]}, "their sum loses some"),
    "less than a cluster": (
        {"within": {"mrr": 0.1}, "cluster": np.arange(N) // 100, "max_queries": 50},
        "Allow at least 100",
    ),
    "source and arrays": ({"within": {"mrr": 0.1}, "source": EntityQueries(QUERIES, ENTITIES, TARGETS)}, "source does"),
    "no queries": ({"within": {"mrr": 0.1}, "max_queries": 0}, "max_queries must be"),
    "two forms": ({"within": {"mrr": 0.1}, "pos_scores": POS}, "several forms"),
    "foreign": ({"within": {"mrr": 0.1}, "mask": MASK}, "does not take mask"),
    "seed": ({"within": {"mrr": 0.1}, "seed": 0.5}, "seed must be"),
    "no file": ({"within": {"mrr": 0.1}, "resume": "nosuch.npz"}, "no such file"),
}


def test_an_error_names_the_query_that_was_drawn() -> None:
    allowed = [[int(target)] for target in TARGETS]
    allowed[137] = [int(TARGETS[137] + 1) % M]
    with pytest.raises(InputError, match="of query 137 is not among its candidates"):
        until(candidates=allowed, within={"mrr": 1e-9})
    with pytest.raises(InputError, match="found 3 sets for 700"):
        until(known=[[], [], []], within={"mrr": 0.1})


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(GraphgaugeError) as refused:
        until(**given)
    assert message in str(refused.value)


CALLBACKS: dict[str, tuple[Callable[[int], Any], str]] = {
    "fails": (lambda row: 1 / 0, "the function failed for query"),
    "no pair": (lambda row: 1.0, "returned float"),
    "no array": (lambda row: (1.0, 2.0), "returned shapes"),
    "mixed": (lambda row: (1.0 if row % 2 else np.ones(2), np.zeros(3)), "one right answer for some"),
    "NaN": (lambda row: (np.nan, np.zeros(3)), "NaN"),
}


@pytest.mark.parametrize("case", CALLBACKS)
def test_what_a_callback_must_not_do(case: str) -> None:
    function, message = CALLBACKS[case]
    with pytest.raises(InputError, match=message):
        ranking.rank_until(score_query=function, n_queries=50, within={"mrr": 0.1})


def test_two_models_made_by_factories(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other model on the command line, as a factory or as files."""
    (folder / "two_models.py").write_text(
        "import numpy as np\n"
        "E, R = np.load('entities.npy'), np.load('vectors.npy')\n"
        "def of(E):\n"
        "    return lambda h, r, t: (E[h] * R[r] * E[t]).sum(-1)\n"
        "def one(): return of(E)\n"
        "def other(): return of(-E[::-1])\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    words = [
        "--triples",
        "triples.npy",
        "--model",
        "two_models:one",
        "--n-entities",
        str(M),
        "--until",
        "difference",
        "--against",
        "model=two_models:other",
        "-o",
        "pair.json",
        "--quiet",
    ]
    done = CliRunner().invoke(family_command("ranking"), words)
    assert done.exit_code == 0, done.output
    vectors = VECTORS[0]
    one, other = ((vectors, VECTORS[1]), (-vectors[::-1], VECTORS[1]))
    expected = ranking.rank_until(model=one, triples=TRIPLES[:150], score="distmult", against={"model": other})
    found = read_result("pair.json")["mrr_difference"]
    assert found.value == pytest.approx(expected["mrr_difference"].value)
    assert found.n == expected["mrr_difference"].n
