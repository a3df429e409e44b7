"""Adaptive runs: what was read keeps its schedule, resuming is replaying, everything read is the whole evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.random import Random
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.sequence import Bound, Walk, reading_order
from graphgauge.ranking.until import evaluate_until

RNG = np.random.default_rng(3)
N, M = 4000, 60
ENTITIES = RNG.normal(size=(M, 6))
TARGETS = RNG.integers(0, M, N)
RELATION = np.minimum(RNG.geometric(0.4, N), 5)
VECTORS = ENTITIES[TARGETS] + RNG.normal(size=(N, 6)) * (0.2 + 0.4 * RELATION[:, None])
WORSE = VECTORS + RNG.normal(0, 0.8, VECTORS.shape)
GROUPS = {"relation": RELATION}


def queries(vectors: np.ndarray = VECTORS, **labels: Any) -> Queries:
    return Queries.from_embeddings(vectors, ENTITIES, targets=TARGETS, **labels)


WHOLE = evaluate(queries(), metrics=["mrr", "hits@10"])
TRUTH = WHOLE["mrr"].value


def test_a_resumed_run_never_changes_the_schedule_of_what_was_read(tmp_path: Path) -> None:
    first = evaluate_until(queries(), within={"mrr": 0.05}, seed=4, save=tmp_path / "run.npz")
    read = first.options["until"]["read"]
    on = evaluate_until(queries(), within={"mrr": 0.02}, seed=4, resume=tmp_path / "run.npz")
    facts = on.options["until"]
    assert facts["schedule"] == [
        {"units": 0, "within": {"mrr": 0.05}, "gates": []},
        {"units": read, "within": {"mrr": 0.02}, "gates": []},
    ]
    # The intervals of what the first run read are those that it had.
    before = first.options["until"]["trail"]
    assert facts["trail"][: len(before)] == before
    # By definition: the old aim for what was read under it, and the new one for what was unread then.
    order = reading_order(np.ones(N), Random(4))[: facts["read"]]
    ends = {}
    for name, changed_at in (("kept", read), ("rewritten", 0)):
        walk = Walk(np.ones(N))
        bound = Bound(walk, 0.05)
        for rows, aim in ((order[:changed_at], 0.05), (order[changed_at:], 0.02)):
            if len(rows):
                bound.follow(walk.step(WHOLE.per_item["mrr"][rows], np.ones(len(rows)), None), aim)
        ends[name] = bound.interval
    assert tuple(on["mrr"].interval) == pytest.approx(ends["kept"], abs=1e-14)
    assert tuple(on["mrr"].interval) != pytest.approx(ends["rewritten"], abs=1e-9)
    assert TRUTH in on["mrr"].interval


def test_a_run_that_goes_on_is_the_run_that_was_not_stopped(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"within": {"mrr": 0.02, "hits@10": 0.05}, "gates": ["mrr >= 0.3"], "seed": 2}
    whole = evaluate_until(queries(groups=GROUPS), assist="relation", **asked)
    for stopped_at in (40, 64, 333, 1000):
        place = tmp_path / f"{stopped_at}.npz"
        evaluate_until(queries(groups=GROUPS), assist="relation", max_queries=stopped_at, save=place, **asked)
        on = evaluate_until(queries(groups=GROUPS), assist="relation", resume=place, save=place, **asked)
        assert on.options["until"] == whole.options["until"]
        assert {key: (each.value, each.interval) for key, each in on.items()} == {
            key: (each.value, each.interval) for key, each in whole.items()
        }


def test_what_was_read_is_not_scored_again(tmp_path: Path) -> None:
    asked: list[int] = []
    pos, neg = RNG.integers(2, 12, 500) / 4, RNG.integers(0, 10, (500, 20)) / 4

    def score(number: int) -> Any:
        asked.append(number)
        return pos[number], neg[number]

    given = Queries.from_function(500, score)
    evaluate_until(given, within={"mrr": 0.15}, save=tmp_path / "run.npz")
    before = asked.copy()
    asked.clear()
    evaluate_until(given, within={"mrr": 0.05}, resume=tmp_path / "run.npz")
    again = {*asked} & {*before}
    assert len(again) <= 64  # the sample that tells another model's scores
    assert len(asked) == len({*asked})


def test_gates_added_later_bet_from_then_on(tmp_path: Path) -> None:
    evaluate_until(queries(), within={"mrr": 0.05}, save=tmp_path / "run.npz")
    low, high = f"mrr >= {TRUTH - 0.02:.4f}", f"mrr >= {TRUTH + 0.02:.4f}"
    on = evaluate_until(queries(), gates=[low, high], resume=tmp_path / "run.npz")
    assert on.gate(low).passed
    assert on.gate(high).verdict == "failed"
    begins = [each["units"] for each in on.options["until"]["schedule"]]
    assert begins[0] == 0
    assert begins[1] > 0
    # A mean that nobody asked about is followed all the same, with an aim that was fixed before.
    hits = evaluate_until(queries(), within={"hits@10": 0.05}, resume=tmp_path / "run.npz")
    assert WHOLE["hits@10"].value in hits["hits@10"].interval


def test_files_of_other_runs_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "run.npz"
    evaluate_until(queries(), within={"mrr": 0.05}, save=place)
    for given, words in (
        ({"seed": 1}, "differs in order, seed"),
        ({"confidence": 0.9}, "differs in confidence"),
        ({"ties": "optimistic"}, "differs in ties"),
        ({"against": queries(WORSE)}, "differs in models"),
    ):
        with pytest.raises(InputError, match=words):
            evaluate_until(queries(), within={"mrr": 0.05}, resume=place, **given)
    with pytest.raises(InputError, match="has read other scores"):
        evaluate_until(queries(WORSE), within={"mrr": 0.05}, resume=place)
    facts, arrays = read_archive(place, "ranking-until")
    write_archive(place, "ranking-until", {**facts, "units": facts["units"] + 1}, arrays)
    with pytest.raises(InputError, match="not the counts of its queries"):
        evaluate_until(queries(), within={"mrr": 0.05}, resume=place)


SETS = [np.unique([target, *RNG.integers(0, M, 2)]) if RNG.random() < 0.9 else [] for target in TARGETS]
TRIPLES = np.unique(RNG.integers(0, [M, 4, M], (400, 3)), axis=0)
LABELS: dict[str, Any] = {"cluster": np.arange(N) // 3, "groups": GROUPS, "weights": 1.0 + RELATION}
FORMS: dict[str, tuple[Queries, dict[str, float]]] = {
    "embeddings": (queries(), {"mrr": 1e-9, "hits@10": 1e-9}),
    "clusters, groups and weights": (queries(**LABELS), {"mrr": 1e-9}),
    "sets, of which some are empty": (
        Queries.from_embeddings(VECTORS, ENTITIES, targets=SETS),
        {"recall@5": 1e-9, "ndcg@5": 1e-9, "map@5": 1e-9, "mrr_first": 1e-9},
    ),
    "scores": (Queries.from_scores(RNG.integers(0, 9, N), RNG.integers(0, 9, (N, 7))), {"mrr": 1e-9}),
    "triples": (
        Queries.from_triples((ENTITIES, RNG.normal(size=(4, 6))), TRIPLES, score="distmult", known=TRIPLES),
        {"mrr": 1e-9, "hits@3": 1e-9},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_everything_read_is_the_whole_evaluation(form: str) -> None:
    source, within = FORMS[form]
    whole = evaluate(source, metrics=list(within))
    found = evaluate_until(source, within=within, seed=4)
    assert found.options["until"]["complete"]
    for key in within:
        assert found[key].value == pytest.approx(whole[key].value, abs=1e-14)
        assert tuple(found[key].interval) == pytest.approx(tuple(whole[key].interval), abs=1e-12)
        assert found[key].n == whole[key].n
    part = evaluate_until(source, within=dict.fromkeys(list(within)[:1], 0.15), seed=7)
    key = next(iter(within))
    assert part.options["until"]["read"] < part.options["until"]["of"]
    assert whole[key].value in part[key].interval
    assert part[key].value in part[key].interval
    assert part[key].interval.over == "this test set, at every look"


def test_gates_are_passed_failed_or_undecided() -> None:
    low, near, high = (f"mrr >= {TRUTH + gap:.4f}" for gap in (-0.2, 0.001, 0.2))
    found = evaluate_until(queries(), gates=[low, high], max_queries=600)
    assert found.options["until"]["read"] < 400
    assert found.gate(low).passed
    assert found.gate(high).verdict == "failed"
    assert [each.verdict for each in found.gates] == ["passed", "failed"]
    open_ = evaluate_until(queries(), gates=[near], max_queries=100)
    assert open_.gate(near).verdict == "undecided"
    assert "no more than 100 queries may be read" in str(open_.gates[0])
    # A gate that was not asked for is decided by the interval, or not at all; however it is written.
    assert found.gate("mrr <= 0.999").passed
    assert found.gate(near).verdict == "undecided"
    assert found.gate(low.replace(" ", "")).passed
    assert evaluate_until(queries(), gates=[near]).gate(near).passed == (float(near.split()[-1]) <= TRUTH)


def test_two_models_on_the_same_queries() -> None:
    found = evaluate_until(queries(), against=queries(WORSE))
    assert found["mrr_difference"].interpretation.startswith("the first is better")
    assert found.gate("mrr_difference > 0").passed
    assert found.options["until"]["decided"] == {"mrr_difference": "above"}
    assert found.options["until"]["read"] < N
    back = evaluate_until(queries(WORSE), against=queries())
    assert not back.gate("mrr_difference >= 0").passed
    equal = evaluate_until(queries(), against=queries())
    assert equal["mrr_difference"].value == 0
    assert equal["mrr_difference"].interpretation.startswith("not decided")
    whole = evaluate_until(queries(), against=queries(WORSE), within={"mrr_difference": 1e-9, "mrr": 0.5})
    other = evaluate(queries(WORSE))["mrr"].value
    assert whole["mrr_difference"].value == TRUTH - other
    close = evaluate_until(queries(), against=queries(WORSE), gates=["mrr_difference >= -0.1"])
    assert close.gate("mrr_difference >= -0.1").passed


def of_ranks(ranks: Any, others: int = 20) -> Any:
    """Negatives that give these ranks to positives of 0."""
    return np.where(np.arange(others)[None] < np.asarray(ranks)[:, None] - 1, 1.0, -1.0)


def test_an_interval_of_a_pair_does_not_say_more_than_its_verdict() -> None:
    for seed in range(12):
        found = evaluate_until(queries(), against=queries(VECTORS + 0.05), max_queries=400, seed=seed)
        if "not decided" in found["mrr_difference"].interpretation:
            assert 0 in found["mrr_difference"].interval


@pytest.mark.parametrize(("rank", "count"), [(10, 10), (3, 7), (7, 49), (6, 30)])
def test_a_gate_at_the_value_has_one_outcome(rank: int, count: int) -> None:
    """With everything read, the run and the evaluation use the value that is printed."""
    source = Queries.from_scores(np.zeros(count), of_ranks(np.full(count, rank)))
    texts = [f"mrr {sign} {evaluate(source)['mrr'].value!r}" for sign in (">=", ">", "<=", "<")]
    found = evaluate_until(source, gates=texts)
    assert [each.verdict for each in found.gates] == ["passed", "failed", "passed", "failed"]
    assert [found.gate(text).passed for text in texts] == [True, False, True, False]


def test_a_run_says_if_its_width_was_not_reached() -> None:
    found = evaluate_until(queries(), within={"mrr": 0.01}, max_queries=100)
    assert "mrr is known to ± 0." in found["mrr"].interpretation
    assert "not ± 0.01" in found["mrr"].interpretation
    enough = evaluate_until(queries(), within={"mrr": 0.1})["mrr"]
    assert enough.value == sum(enough.interval) / 2
    assert all(level.note == "of the queries read" for level in enough.references)


def test_a_predictor_saves_queries() -> None:
    earlier = evaluate(queries(VECTORS + 0.02))
    plain = evaluate_until(queries(), within={"mrr": 0.015}).options["until"]["read"]
    values = earlier.per_item["mrr"]
    for assist in (earlier, earlier.per_item, values):
        found = evaluate_until(queries(), within={"mrr": 0.015}, assist=[assist])
        assert found.options["until"]["read"] < 0.6 * plain
        assert TRUTH in found["mrr"].interval
    partly = np.where(np.arange(N) % 2, values, np.nan)
    assert evaluate_until(queries(), within={"mrr": 0.015}, assist=[partly]).options["until"]["read"] < plain


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "nothing to stop at"),
        ({"within": {"mrr": 0}}, "Give a half-width above 0"),
        ({"within": 0.01}, "within is 0.01"),
        ({"within": {"mean_rank": 1}}, "not a mean of values between 0 and 1"),
        ({"within": {"hits": 0.1}}, "Write hits@10"),
        ({"within": {"mrr_difference": 0.1}}, "needs a second model"),
        ({"gates": ["mrr.low > 0.1"]}, "cannot be decided by reading"),
        ({"gates": ["mrr > chance"]}, "cannot be decided by reading"),
        ({"gates": ["mrr == 0.1"]}, "cannot be decided by reading"),
        ({"within": {"mrr": 0.1}, "assist": "side"}, "assist: there are no groups 'side'"),
        ({"within": {"mrr": 0.1}, "assist": [np.zeros(3)]}, "One number per query"),
        ({"within": {"mrr": 0.1}, "max_queries": 0}, "max_queries"),
        ({"within": {"recall@5": 0.1}}, "recall@5"),
        ({"within": {"mrr": 0.1}, "against": Queries.from_scores([1.0], [[0.0]])}, "4000 queries of one model and 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, OptionError), match=words):
        evaluate_until(queries(), **given)


def test_the_mean_of_several_right_answers_is_no_mean_over_queries() -> None:
    with pytest.raises(OptionError, match="mrr is not a mean over queries"):
        evaluate_until(FORMS["sets, of which some are empty"][0], within={"mrr": 0.05})


def test_clusters_do_not_change_what_is_read() -> None:
    """The mean is over this test set, so that single queries are drawn: they tell more than whole clusters."""
    cluster = np.arange(N) // 8
    found, alone = (evaluate_until(each, within={"mrr": 0.05}) for each in (queries(cluster=cluster), queries()))
    assert found["mrr"].interval == alone["mrr"].interval
    assert found.per_item.ids.tolist() == alone.per_item.ids.tolist()
    whole = evaluate_until(queries(cluster=cluster), within={"mrr": 1e-9})
    assert whole["mrr"].interval.over == "clusters"
    assert evaluate_until(queries(cluster=cluster), within={"mrr": 0.05}, max_queries=5)["mrr"].n == 5
