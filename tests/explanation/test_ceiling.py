"""The best sets, robust fidelity, comparison with the random explainer, breakdowns: against loops over all subsets."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, count, order, random_explanations, said

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError

LEVELS = (0.2, 0.5)


def small(seed: int, events: int = 8) -> list[ex.Explanation]:
    return [one for one in random_explanations(seed, 40) if 3 <= one.context.subgraph.unit_count <= 9][:events]


def best_by_loops(model: Any, explanation: ex.Explanation, level: float) -> dict[str, float]:
    """The best sets of a size, among all of them."""
    ranked = order(explanation)
    everything = {edge for unit in ranked for edge in unit}
    whole = said(model, explanation, everything)
    predicted = whole.index(max(whole))
    size = count(level, len(ranked))
    changes: dict[str, list[float]] = {"drop": [], "keep": []}
    for chosen in combinations(ranked, size):
        edges = {edge for unit in chosen for edge in unit}
        for mode, kept in (("drop", everything - edges), ("keep", edges)):
            changes[mode].append(whole[predicted] - said(model, explanation, kept)[predicted])
    return {
        "fidelity_drop": max(map(abs, changes["drop"])),
        "fidelity_drop.signed": max(changes["drop"]),
        "fidelity_keep": min(map(abs, changes["keep"])),
        "fidelity_keep.signed": min(changes["keep"]),
    }


@pytest.mark.parametrize("seed", range(4))
def test_few_edges_are_searched_completely(seed: int) -> None:
    explanations = small(seed)
    found = ex.evaluate(Weighted(seed), explanations, levels=LEVELS, ceiling=600)
    for level in LEVELS:
        loops = [best_by_loops(Weighted(seed), one, level) for one in explanations]
        for name in loops[0]:
            (best,) = [each for each in found[f"{name}@{level}"].levels if each.name == "best set"]
            assert best.kind == "ideal"
            assert best.value == pytest.approx(np.mean([event[name] for event in loops]), abs=1e-12)
            assert found[f"{name}@{level}"].levels[-1].name == "random explainer"


def test_the_way_from_random_to_the_best_set() -> None:
    explanations = small(1)
    table = ex.collect(Weighted(1), explanations, levels=LEVELS, ceiling=600)
    found = ex.evaluate(table)
    for mode in ("drop", "keep"):
        for level in LEVELS:
            signed = found[f"fidelity_{mode}.signed@{level}"]
            best, blind = (
                next(each.value for each in signed.levels if each.name == name)
                for name in ("best set", "random explainer")
            )
            expected = (signed.value - blind) / (best - blind)
            assert found[f"fidelity_{mode}.reached@{level}"].value == pytest.approx(expected, rel=1e-9)


class Additive:
    """The score falls with every edge that is dropped, by its weight: growing a set one edge at a time is exact."""

    model_output = "logit"

    def __init__(self) -> None:
        self.rows = 0

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        self.rows += len(masks)
        return masks @ np.array(target["weights"]) - 1.0


def additive(edges: int, events: int = 6) -> list[ex.Explanation]:
    rng = np.random.default_rng(0)
    found = []
    for event in range(events):
        weights = rng.random(edges) / edges * 4
        subgraph = ex.Subgraph([np.arange(edges), np.arange(1, edges + 1)])
        context = ex.Context(subgraph, {"weights": weights.tolist()}, event)
        found += [ex.Explanation(context, weights, "weights"), ex.Explanation(context, rng.random(edges), "guess")]
    return found


def test_many_edges_are_searched_one_at_a_time() -> None:
    table = ex.collect(Additive(), additive(40), levels=(0.1, 0.3), ceiling=1500)
    found = ex.evaluate(table, explainer="weights")
    for level in (0.1, 0.3):
        assert found[f"fidelity_drop.reached@{level}"].value == pytest.approx(1)
        (best,) = [each for each in found[f"fidelity_drop@{level}"].levels if each.kind == "ideal"]
        assert best.name == "best set found"
        assert best.value == pytest.approx(found[f"fidelity_drop@{level}"].value)
    assert abs(ex.evaluate(table, explainer="guess")["fidelity_drop.reached@0.3"].value) < 0.5


def test_the_search_keeps_to_its_budget() -> None:
    for budget in (0, 50, 300, 2000):
        model, plain = Additive(), Additive()
        ex.collect(plain, additive(60, 1))
        ex.collect(model, additive(60, 1), ceiling=budget)
        assert model.rows - plain.rows <= budget


def test_no_explainer_is_above_the_ceiling() -> None:
    table = ex.collect(Weighted(2), random_explanations(2, 20), ceiling=30)
    found = ex.evaluate(table)
    for key, result in found.items():
        for level in result.levels:
            if level.kind == "ideal":
                assert (result.value <= level.value) == (result.direction == "higher") or result.value == level.value, (
                    key
                )


# ------------------------------------------------------------------------------------- robust fidelity


def test_robust_fidelity_is_the_mean_over_random_parts() -> None:
    """With many samples, close to the exact mean over all parts of the explanation, and over all parts of the rest."""
    explanations = small(3, 4)
    model = Weighted(3)
    found = ex.evaluate(
        model,
        explanations,
        metrics=["robust_drop@0.5", "robust_keep@0.5", "robust_delta@0.5"],
        robust_samples=3000,
        robust_drop=0.3,
        robust_keep=0.6,
    )
    exact: dict[str, list[float]] = {"drop": [], "keep": []}
    for one in explanations:
        ranked = order(one)
        size = count(0.5, len(ranked))
        whole = said(model, one, {edge for unit in ranked for edge in unit})
        predicted = whole.index(max(whole))
        for mode, some, share in (("drop", ranked[:size], 0.3), ("keep", ranked[size:], 0.4)):
            mean = 0.0
            for k in range(len(some) + 1):
                for gone in combinations(range(len(some)), k):
                    left = [unit for unit in ranked if unit not in [some[place] for place in gone]]
                    score = said(model, one, {edge for unit in left for edge in unit})[predicted]
                    mean += share**k * (1 - share) ** (len(some) - k) * (whole[predicted] - score)
            exact[mode].append(mean)
    assert found["robust_drop@0.5"].value == pytest.approx(np.mean(exact["drop"]), abs=0.01)
    assert found["robust_keep@0.5"].value == pytest.approx(np.mean(exact["keep"]), abs=0.01)
    delta = found["robust_drop@0.5"].value - found["robust_keep@0.5"].value
    assert found["robust_delta@0.5"].value == pytest.approx(delta)
    assert "0.3 of the explanation dropped" in found["robust_drop@0.5"].conventions["robust"]


def test_extreme_shares_are_plain_fidelity() -> None:
    found = ex.evaluate(
        Weighted(3),
        random_explanations(3, 8),
        robust_drop=1,
        robust_keep=0,
        robust_samples=2,
        metrics=["robust_drop@0.2", "robust_keep@0.2", "fidelity_drop.signed@0.2", "fidelity_keep.signed@0.2"],
    )
    for mode in ("drop", "keep"):
        assert found[f"robust_{mode}@0.2"].value == pytest.approx(found[f"fidelity_{mode}.signed@0.2"].value)


def test_a_right_explainer_survives_robust_fidelity() -> None:
    table = ex.collect(Additive(), additive(30), metrics=["robust_delta", "fidelity_drop"])
    for metric in ("robust_delta@0.3", "fidelity_drop@0.3"):
        outcome = ex.compare(table, metric, baseline="random explainer")
        assert outcome.means["weights"] > outcome.means["random explainer"]


@pytest.mark.parametrize("wrong", [{"robust_drop": 1.5}, {"robust_keep": -1}, {"robust_samples": 0}, {"ceiling": -5}])
def test_shares_and_numbers_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        ex.collect(Weighted(0), random_explanations(0, 1), **wrong)


# ------------------------------------------------------------------------------------- deletion and insertion


def test_deletion_and_insertion_against_loops() -> None:
    explanations = small(5)
    model = Weighted(5)
    found = ex.evaluate(model, explanations, levels=LEVELS, metrics=["deletion_auc", "insertion_auc"])
    areas: dict[str, list[float]] = {"deletion_auc": [], "insertion_auc": []}
    for one in explanations:
        ranked = order(one)
        everything = {edge for unit in ranked for edge in unit}
        whole = said(model, one, everything)
        predicted = whole.index(max(whole))
        sizes = sorted({0, *(count(level, len(ranked)) for level in LEVELS)})
        for name in areas:
            heights = []
            for size in sizes:
                top = {edge for unit in ranked[:size] for edge in unit}
                heights.append(said(model, one, everything - top if name == "deletion_auc" else top)[predicted])
            areas[name].append(np.trapezoid(heights, sizes) / sizes[-1])
    for name, values in areas.items():
        assert found[name].value == pytest.approx(np.mean(values))
    assert (found["deletion_auc"].direction, found["insertion_auc"].direction) == ("lower", "higher")


# ------------------------------------------------------------------------------------- against random


def test_every_value_is_compared_with_the_random_explainer() -> None:
    table = ex.collect(Additive(), additive(30, 20), random=5)
    good, guess = (ex.evaluate(table, explainer=name, keep="items") for name in ("weights", "guess"))
    for key in ("fidelity_drop@0.1", "fidelity_keep@0.3", "necessity_auc", "sufficiency_auc"):
        assert good[key].interpretation.startswith("better than the random explainer (")
        assert guess[key].interpretation.startswith("not significantly different from the random explainer (")
        assert "20 events, signed)" in good[key].interpretation
    outcome = ex.compare(table, "necessity_auc", explainers=["weights"])
    shown = f"{outcome.pairs[0].test.mean_difference:+.3g}"
    assert shown in good["necessity_auc"].interpretation
    own = ex.evaluate(table, explainer="weights", absolute=False, keep="items").per_item["necessity_auc"]
    assert own.mean() - outcome.means["random explainer"] == pytest.approx(outcome.pairs[0].test.mean_difference)
    low, high = outcome.pairs[0].test.ci
    assert low < outcome.pairs[0].test.mean_difference < high


def test_rounding_is_no_difference() -> None:
    class Rounded(Additive):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
            return 1 + 1e-9 * super().predict(subgraph, target, masks)

    found = ex.evaluate(Rounded(), additive(30, 20)[::2])
    assert found["necessity_auc"].interpretation.startswith("not significantly different from the random explainer (+0")


def test_an_inverted_explainer_is_worse_than_random() -> None:
    said = [ex.Explanation(one.context, -one.importance, "inverted") for one in additive(30, 20)[::2]]
    found = ex.evaluate(Additive(), said)
    assert found["necessity_auc"].interpretation.startswith("worse than the random explainer (-")
    assert found["sufficiency_auc"].interpretation.startswith("worse than the random explainer (+")


# ------------------------------------------------------------------------------------- breakdowns and truths


def test_breakdowns_are_evaluations_of_their_events() -> None:
    explanations = random_explanations(6, 16)
    model = Weighted(6)
    table = ex.collect(model, explanations)
    half = {one.context.event: "first" if place < 8 else "second" for place, one in enumerate(explanations)}
    whole = ex.evaluate(table, groups={"half": half})
    assert whole["acc_auc"].by("half")["half"].tolist() == ["first", "second"]
    for place, part in enumerate((explanations[:8], explanations[8:])):
        alone = ex.evaluate(ex.collect(model, part))
        column = whole["necessity_auc"].by("half")
        assert column["value"][place] == pytest.approx(alone["necessity_auc"].value)
        assert (column["low"][place], column["high"][place]) == pytest.approx(tuple(alone["necessity_auc"].ci))
    known = ex.evaluate(table, groups=["class", "correct"])
    assert set(known.by("class")["class"]) <= {"0", "1"}
    assert set(known.by("correct")["correct"]) <= {"yes", "no", "unknown"}
    with pytest.raises(InputError, match=r"groups, half: event 'e0' has no group"):
        ex.evaluate(table, groups={"half": {}})
    with pytest.raises(OptionError, match="unknown group"):
        ex.evaluate(table, groups="event")


def test_scores_of_the_label() -> None:
    explanations = [one for one in random_explanations(6, 16) if one.context.label is not None]
    found = ex.evaluate(Weighted(6), explanations, score="label", metrics=["fidelity_drop@0.3"])
    changes = []
    for one in explanations:
        ranked = order(one)
        everything = {edge for unit in ranked for edge in unit}
        top = {edge for unit in ranked[: count(0.3, len(ranked))] for edge in unit}
        label = one.context.label
        changes.append(said(Weighted(6), one, everything)[label] - said(Weighted(6), one, everything - top)[label])
    assert found["fidelity_drop.signed@0.3"].value == pytest.approx(np.mean(changes))
    unlabelled = [one for one in random_explanations(6, 16) if one.context.label is None]
    with pytest.raises(InputError, match="has no label"):
        ex.evaluate(Weighted(6), unlabelled, score="label", metrics=["fidelity_drop@0.3"])


def test_events_that_were_not_searched_have_no_ceiling(tmp_path: Path) -> None:
    """A search that is added for one event says nothing about the others; saved tables remember which."""
    given, path = random_explanations(3, 4), tmp_path / "answers.jsonl"
    ex.collect(Weighted(3), given, levels=[0.3], path=path)
    ex.collect(Weighted(3), given[:1], levels=[0.3], path=path, ceiling=300)
    mixed = ex.read_table(path)
    for ending in (".jsonl", ".parquet"):
        mixed.save(tmp_path / f"saved{ending}")
    for table in (mixed, *(ex.read_table(tmp_path / f"saved{ending}") for ending in (".jsonl", ".parquet"))):
        assert sorted(row.ceiling for row in table) == [0, 0, 0, 300]
        found = ex.evaluate(table)
        assert "fidelity_drop.reached@0.3" not in found
        assert all("best" not in level.name for level in found["fidelity_drop@0.3"].chance)
        assert any("searched for in 1 of 4 events" in note for note in found.notes)
    ex.collect(Weighted(3), given, levels=[0.3], path=path, ceiling=300)
    whole = ex.evaluate(ex.collect(Weighted(3), given, levels=[0.3], ceiling=300))
    again = ex.evaluate(ex.read_table(path))
    key = "fidelity_drop.reached@0.3"
    assert again[key].value == pytest.approx(whole[key].value, rel=1e-12)


def test_masks_that_cut_units_are_no_sets() -> None:
    """GraphXAI keeps one direction of a pair; the best set is the same with these masks and without them."""
    context = ex.Context(ex.Subgraph([[0, 1, 1, 2, 3], [1, 0, 2, 3, 4]]), event=0)
    given = [ex.Explanation(context, [1.0, 0.0, 0.3, 0.2, 0.1])]
    keys = ["fidelity_keep@0.25", "fidelity_keep.reached@0.25"]
    plain, cut = (
        ex.evaluate(ex.collect(Weighted(5), given, levels=[0.25], ceiling=100, convention=each), metrics=keys)
        for each in (None, "graphxai")
    )
    for key in keys:
        assert cut[key].value == pytest.approx(plain[key].value, rel=1e-12)
        assert [level.value for level in cut[key].chance] == [level.value for level in plain[key].chance]
