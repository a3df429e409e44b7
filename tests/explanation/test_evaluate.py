"""Options, directions, conventions, findings and comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, of_event, random_explanations

from graphgauge import audit
from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.schema import read_result, write_result

LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


class Sum:
    """A logistic model whose logit is a sum of known weights over kept edges."""

    model_output = "probability"

    def __init__(self, weights: Any, bias: float = 0.0) -> None:
        self._weights, self._bias = np.asarray(weights, float), bias

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(masks @ self._weights + self._bias)))


def path_context(edges: int, event: Any = 0, **facts: Any) -> ex.Context:
    return ex.Context(ex.Subgraph([range(edges), range(1, edges + 1)], times=range(edges)), event=event, **facts)


def explained(weights: Any, importance: Any, **options: Any) -> Any:
    context = path_context(len(weights), **options.pop("facts", {}))
    return ex.evaluate(Sum(weights, options.pop("bias", 0.0)), [ex.Explanation(context, importance)], **options)


# ----------------------------------------------------------------------------------------------- by hand


def test_a_flip_is_not_hidden_by_the_largest_probability() -> None:
    """(.9, .1) → (.1, .9): the class fixed on the whole graph falls by .8, the largest probability by 0."""
    logit = np.log(9)
    weights = [2 * logit, 0.0]
    found = explained(weights, [1, 0], bias=-logit, levels=(0.5,), metrics=["fidelity_drop@0.5"])
    assert found["fidelity_drop@0.5"].value == pytest.approx(0.8)
    hidden = explained(weights, [1, 0], bias=-logit, levels=(0.5,), metrics=["fidelity_drop@0.5"], score="max")
    assert hidden["fidelity_drop@0.5"].value == pytest.approx(0.0, abs=1e-12)
    assert "largest probability" in hidden["fidelity_drop@0.5"].conventions["score"]


def test_tempme_rewards_what_pushes_towards_the_label() -> None:
    for label, sign in ((1, 1), (0, -1), (None, 1)):
        found = explained([3.0, -1.0], [1, 0], levels=(0.5,), metrics=["fidelity_tempme@0.5"], facts={"label": label})[
            "fidelity_tempme@0.5"
        ]
        p = [1 / (1 + np.exp(-x)) for x in (3.0, 2.0)]
        assert found.value == pytest.approx(sign * (p[0] - p[1]))
    low = explained([3.0, -1.0], [1, 0], levels=(0.5,), metrics=["fidelity_tempme@0.5"], label_threshold=0.99)
    assert low["fidelity_tempme@0.5"].value < 0  # by this threshold the event is of class 0


def test_tempme_takes_no_third_label() -> None:
    with pytest.raises(InputError, match="event 0 has the label 2"):
        explained([3.0, -1.0], [1, 0], levels=(0.5,), metrics=["fidelity_tempme@0.5"], facts={"label": 2})


def test_tempme_is_for_two_classes() -> None:
    model, explanations = Weighted(0, 3), random_explanations(0, 3)
    with pytest.raises(InputError, match="for two classes, but the model has 3"):
        ex.evaluate(model, explanations, metrics=["fidelity_tempme"])
    assert "fidelity_tempme@0.1" in ex.evaluate(model, explanations).skipped


def test_acc_auc_by_hand() -> None:
    """Ten edges, the first carries the label: without edges the other class, from one edge on the right one."""
    weights = [2.0] + [0.0] * 9
    found = explained(weights, np.arange(10, 0, -1), bias=-1.0, metrics=["acc_auc"])["acc_auc"]
    # 0 at s = 0, 1 at the 15 other points: the first of 15 trapezoids has half its height.
    assert found.value == pytest.approx(14.5 / 15)
    assert found.direction == "higher"
    dropped = explained(
        weights, np.arange(10, 0, -1), bias=-1.0, metrics=["acc_auc"], options={"acc_auc": {"mode": "drop"}}
    )["acc_auc"]
    assert dropped.value == pytest.approx(0.5 / 15)
    assert dropped.direction == "lower"
    rest = explained(
        weights, np.arange(10, 0, -1), bias=-1.0, metrics=["acc_auc"], options={"acc_auc": {"keep": "complement"}}
    )["acc_auc"]
    assert rest.value == 1  # the first edge is always among the kept


def test_best_by_direction_with_its_level() -> None:
    weights = [1.0, 1.0, -3.0, 0.0]
    importance = [4, 3, 2, 1]
    options: Any = {"levels": (0.25, 0.5, 0.75), "metrics": ["fidelity_best", "fidelity_drop", "fidelity_keep"]}
    drop = explained(weights, importance, bias=2.0, **options)
    assert drop["fidelity_best"].value == max(drop[f"fidelity_drop@{s}"].value for s in (0.25, 0.5, 0.75))
    assert drop["fidelity_best"].oracle
    assert drop["fidelity_best.k"].oracle
    keep = explained(weights, importance, bias=2.0, **options, options={"fidelity_best": {"mode": "keep"}})
    values = {s: keep[f"fidelity_keep@{s}"].value for s in (0.25, 0.5, 0.75)}
    assert keep["fidelity_best"].value == min(values.values())
    assert keep["fidelity_best.k"].value == min(values, key=lambda s: values[s])
    assert (drop["fidelity_best"].direction, keep["fidelity_best"].direction) == ("higher", "lower")


def test_signed_values_stand_beside_and_can_take_the_place() -> None:
    weights, importance = [-2.0, 1.0, 1.0, 1.0], [1, 0, 0, 0]  # the top edge speaks against the prediction
    beside = explained(weights, importance, levels=(0.25,), metrics=["fidelity_drop@0.25"])
    assert list(beside) == ["fidelity_drop@0.25", "fidelity_drop.signed@0.25"]
    assert beside["fidelity_drop.signed@0.25"].value == -beside["fidelity_drop@0.25"].value < 0
    assert "removal raises the score in 100% of events" in beside["fidelity_drop@0.25"].warnings[0]
    signed = explained(weights, importance, levels=(0.25,), metrics=["fidelity_drop@0.25"], absolute=False)
    assert signed["fidelity_drop@0.25"].value == beside["fidelity_drop.signed@0.25"].value
    assert signed["fidelity_drop@0.25"].bounds == (-1, 1)


@pytest.mark.parametrize(("raised", "warned"), [(1, False), (2, True)])
def test_a_score_that_rises_in_more_than_a_quarter_of_events_is_warned_of(raised: int, warned: bool) -> None:
    """The first edge speaks against the prediction, the last for it."""
    importance = {True: [1, 0, 0, 0], False: [0, 0, 0, 1]}
    explanations = [ex.Explanation(path_context(4, event), importance[event < raised]) for event in range(4)]
    found = ex.evaluate(Sum([-2.0, 1.0, 1.0, 1.0]), explanations, levels=(0.25,), metrics=["fidelity_drop@0.25"])
    said = [f"removal raises the score in {raised / 4:.0%} of events; see fidelity_drop.signed@0.25"] if warned else []
    assert list(found["fidelity_drop@0.25"].warnings) == said


def test_numbers_of_edges_as_levels() -> None:
    found = explained(
        np.arange(8.0) - 3, np.arange(8), levels=(0.5,), topk=(2, 4, 20), metrics=["fidelity_drop", "sparsity"]
    )
    assert [key for key in found if "signed" not in key and "sparsity" not in key] == [
        "fidelity_drop@0.5",
        "fidelity_drop@k=2",
        "fidelity_drop@k=4",
        "fidelity_drop@k=20",
    ]
    assert found["fidelity_drop@k=4"].value == found["fidelity_drop@0.5"].value
    assert found["sparsity@k=20"].value == 0  # there are only eight edges
    with pytest.raises(OptionError, match="level must be a number"):
        explained([1.0, 2.0], [1, 2], metrics=["fidelity_drop@k=zero"])


# ------------------------------------------------------------------------------------------------- ties


def test_constant_importance_goes_by_time_and_says_so() -> None:
    weights = [0.0, 0.0, 0.0, 5.0]  # only the last edge counts
    constant = explained(weights, np.ones(4), levels=(0.25,), bias=-2.0)
    first = explained(weights, [4, 3, 2, 1], levels=(0.25,), bias=-2.0)
    assert constant["fidelity_drop@0.25"].value == first["fidelity_drop@0.25"].value == 0
    assert "tied-importance" in [finding.check for finding in constant.findings]
    assert constant["fidelity_drop@0.25"].conventions["ties"] == "by time, source and target"


def test_ties_can_be_averaged_over() -> None:
    weights = [0.0, 0.0, 0.0, 5.0]
    options: Any = {"levels": (0.25,), "bias": -2.0, "metrics": ["fidelity_drop@0.25"]}
    found = explained(weights, np.ones(4), ties="average", **options)["fidelity_drop@0.25"]
    whole = explained(weights, [0, 0, 0, 1], **options)["fidelity_drop@0.25"]
    share = found.value / whole.value  # of ten random orders some put the last edge first
    assert share == pytest.approx(round(10 * share) / 10)
    assert 0 < share < 1
    again = explained(weights, np.ones(4), ties="average", **options)["fidelity_drop@0.25"]
    assert again.value == found.value
    other = [explained(weights, np.ones(4), ties="average", seed=seed, **options) for seed in range(6)]
    assert len({one["fidelity_drop@0.25"].value for one in other}) > 1


@pytest.mark.parametrize("metric", ["fidelity_drop", "fidelity_keep", "truth_precision", "robust_drop"])
def test_a_seed_with_ties_counts_once(metric: str) -> None:
    """The event's value is the mean of its two seeds, however many orders one of them is averaged over."""
    context = path_context(4, truth=[True, False, False, False])
    seeds = [ex.Explanation(context, np.ones(4), seed=0), ex.Explanation(context, [4, 3, 2, 1], seed=1)]
    options: Any = {"levels": (0.25,), "metrics": [metric], "ties": "average"}

    def value(explanations: list[ex.Explanation]) -> float:
        return ex.evaluate(Sum([5.0, 0.0, 0.0, 1.0], -2.0), explanations, **options)[f"{metric}@0.25"].value

    tied, plain = (value([one]) for one in seeds)
    assert tied != plain
    assert value(seeds) == pytest.approx((tied + plain) / 2, rel=1e-12)


def test_ties_of_two_explanations_are_ordered_independently() -> None:
    """All of six edges are tied: two of them drawn twice share one with 8/15 and both with 1/15."""
    explanations = []
    for event in range(300):
        context = path_context(6, event)
        explanations += [ex.Explanation(context, np.ones(6), seed=seed) for seed in (0, 1)]
    key = "stability_jaccard@0.33"
    found = ex.evaluate(None, explanations, levels=(0.33,), metrics=[key], ties="average")[key]
    assert found.value == pytest.approx(8 / 15 / 3 + 1 / 15, abs=0.01)
    fixed = ex.evaluate(None, explanations, levels=(0.33,), metrics=[key])[key]
    assert fixed.value == 1


def test_averages_over_ties_do_not_depend_on_the_order_of_edges() -> None:
    rng = np.random.default_rng(3)
    weights, importance, times = rng.integers(-3, 4, 9), rng.integers(0, 2, 9), np.arange(9)
    ends = rng.integers(0, 4, (2, 9))
    found = []
    for order in (np.arange(9), rng.permutation(9)):
        context = ex.Context(ex.Subgraph(ends[:, order], np.arange(4), times[order]), event=0)
        explanation = ex.Explanation(context, importance[order])
        found.append(ex.evaluate(Sum(weights[order]), [explanation], ties="average").to_flat())
    np.testing.assert_equal(found[0], found[1])


def test_the_axis_of_the_curves_is_what_was_achieved() -> None:
    contexts = [path_context(4, 0), path_context(10, 1)]
    table = ex.collect(
        Weighted(0), [ex.Explanation(one, range(len(one.subgraph))) for one in contexts], levels=(0.1, 0.5), topk=5
    )
    assert ex.evaluate(table).options["achieved"] == pytest.approx([(1 / 4 + 1 / 10) / 2, 0.5, (1 + 5 / 10) / 2])
    assert ex.evaluate(Weighted(0), []).options["achieved"] == [None] * 6


def test_a_model_without_use_for_edges_is_noticed() -> None:
    found = explained(np.zeros(5), np.arange(5))
    assert "model-ignores-edges" in [finding.check for finding in found.findings]
    assert found["acc_auc"].value == 1


# ------------------------------------------------------------------------------------------ conventions


def one_by_one(explanations: list[ex.Explanation]) -> list[ex.Explanation]:
    """The same explanations with every edge as a separate unit."""
    found = []
    for each in explanations:
        subgraph = replace(each.context.subgraph, units=np.arange(len(each.importance)))
        found.append(replace(each, context=replace(each.context, subgraph=subgraph)))
    return found


def test_every_name_of_a_convention_comes_out() -> None:
    said = [replace(one, context=replace(one.context, label=1)) for one in one_by_one(random_explanations(1, 12))]
    found = ex.evaluate(Weighted(1), said, convention="time_to_explain")
    expected = {
        "fidelity_drop",
        "fidelity_minus",
        "fidelity_keep",
        "fidelity_best",
        "fidelity_best.best_s",
        "fidelity_tempme",
        "acc_auc",
    }
    assert {key.partition("@")[0] for key in found} == expected
    assert all(result.conventions["convention"] == "time_to_explain" for result in found.values())


def test_minus_means_opposite_things() -> None:
    explanations = random_explanations(2, 10)
    table = ex.collect(Weighted(2), explanations)
    with pytest.raises(InputError, match=r'masks of time_to_explain\. Collect with convention="time_to'):
        ex.evaluate(table, convention="time_to_explain")
    with pytest.raises(InputError, match=r"masks edges together.*Pass units=range\(edges\)"):
        ex.evaluate(Weighted(2), explanations, convention="time_to_explain")
    with pytest.raises(InputError, match="the explanations have no answers to their own masks"):
        ex.evaluate(table, convention="pyg", metrics=["pos_fidelity"])
    with pytest.raises(UnknownNameError, match="fidelity_minus"):
        ex.evaluate(table, convention="pyg", metrics=["fidelity_minus"])
    with pytest.raises(OptionError, match=r"'2' is not a level\. Give a share from 0 to 1"):
        ex.evaluate(table, convention="time_to_explain", metrics=["fidelity_drop@2"])


def test_both_directions_of_the_divergence() -> None:
    table = ex.collect(Weighted(2, 3), random_explanations(2, 4))
    forward, reverse = (
        ex.evaluate(table, metrics=["unfaithfulness@0.2"], options={"unfaithfulness": {"kl": kl}})["unfaithfulness@0.2"]
        for kl in ("forward", "reverse")
    )
    assert forward.value != reverse.value
    assert forward.conventions["kl"] == "whole graph ‖ explanation"
    assert reverse.conventions["kl"] == "explanation ‖ whole graph"


def test_a_certain_model_has_no_infinite_divergence() -> None:
    class Certain:
        model_output = "probability"

        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
            return (masks.sum(1) > 1).astype(float)

    found = ex.evaluate(Certain(), [ex.Explanation(path_context(4), [1, 2, 3, 4])], metrics=["unfaithfulness@0.1"])
    assert found["unfaithfulness@0.1"].value == 1


# --------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "options",
    [
        {"options": {"accauc": {}}},
        {"options": {"acc_auc": {"points": 1}}},
        {"options": {"acc_auc": {"cap": 0}}},
        {"options": {"acc_auc": {"shape": 1}}},
        {"options": {"fidelity_best": {"mode": "both"}}},
        {"score": "mean"},
        {"label_threshold": 2},
        {"convention": "captum"},
        {"options": {"unfaithfulness": {"kl": "both"}}},
        {"options": {"cohesiveness": {"delta_t": -1}}},
        {"keep": "all"},
        {"metrics": ["fidelity_plus"]},
        {"explainer": "absent"},
        {"explainer": 5},
        {"levels": (0.1,)},
    ],
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    table = ex.collect(Weighted(0), random_explanations(0, 2))
    with pytest.raises(OptionError):
        ex.evaluate(table, **options)


def test_delta_t_of_ones_own_says_that_it_leaves_the_range() -> None:
    table = ex.collect(Weighted(0), random_explanations(3, 8))
    found = ex.evaluate(table, metrics=["cohesiveness@0.5"], options={"cohesiveness": {"delta_t": 0.5}})
    result = found["cohesiveness@0.5"]
    assert result.bounds == (-1, 1)
    assert any("can be outside [0, 1]" in warning for warning in result.warnings)


def test_metrics_are_there_where_the_events_have_what_they_need() -> None:
    bare = ex.Context(ex.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    rich = path_context(3, 1, truth=[1, 0, 0])
    needing = {"truth_auc", "cohesiveness@0.5", "elapsed", "stability_spearman"}
    nothing = ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3])], levels=(0.5,))
    assert needing.isdisjoint(nothing)
    with pytest.raises(OptionError, match="stability_spearman needs seeds"):
        ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3])], metrics=["stability_spearman"])
    runs = [ex.Explanation(rich, [1, 2, 3], elapsed=0.5, seed=seed) for seed in (0, 1)]
    assert needing <= set(ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3]), *runs], levels=(0.5,)))


def test_what_is_no_table() -> None:
    for wrong in (3, "run.jsonl", [], None):
        with pytest.raises(InputError, match="table"):
            ex.evaluate(wrong)


def test_intervals_cover_events_and_need_two() -> None:
    found = ex.evaluate(Weighted(0), random_explanations(0, 30))["fidelity_drop@0.3"]
    values = [of_event(Weighted(0), one, (0.3,))["fidelity_drop@0.3"] for one in random_explanations(0, 30)]
    from scipy.stats import t

    margin = t.ppf(0.975, 29) * np.std(values, ddof=1) / np.sqrt(30)
    assert tuple(found.interval) == pytest.approx((found.value - margin, found.value + margin))
    assert (found.interval.over, found.unit) == ("events", "event")
    alone = ex.evaluate(Weighted(0), random_explanations(0, 1))["fidelity_drop@0.3"]
    assert alone.interval is None
    assert "at least two events" in alone.no_interval


def test_chance_of_truth_is_exact() -> None:
    from itertools import combinations

    truth = np.array([1, 1, 0, 0, 0, 1, 0], bool)
    context = path_context(7, truth=truth)
    found = ex.evaluate(
        Sum(np.ones(7)),
        [ex.Explanation(context, np.arange(7))],
        metrics=[f"truth_{name}@0.4" for name in ("precision", "recall", "f1", "jaccard")],
        levels=(0.4,),
    )
    drawn = [set(held) for held in combinations(range(7), 3)]
    right = set(np.flatnonzero(truth))
    expected = {
        "precision": np.mean([len(held & right) / 3 for held in drawn]),
        "recall": np.mean([len(held & right) / 3 for held in drawn]),
        "f1": np.mean([2 * len(held & right) / 6 for held in drawn]),
        "jaccard": np.mean([len(held & right) / len(held | right) for held in drawn]),
    }
    for name, value in expected.items():
        chance = {level.name: level.value for level in found[f"truth_{name}@0.4"].chance}
        assert chance.pop("random explainer") == pytest.approx(value, rel=1e-12), name
        assert chance == ({} if name == "precision" else {"empty explanation": 0.0})


def test_chance_of_stability_is_of_the_events_that_have_two_seeds() -> None:
    """Two of six edges twice: 2·4/15 share one, of three, and 1/15 both. The event with one seed has two edges."""
    twice, once = path_context(6, "twice"), path_context(2, "once")
    explanations = [ex.Explanation(twice, np.arange(6), seed=seed) for seed in (0, 1)]
    explanations.append(ex.Explanation(once, np.arange(2), seed=0))
    found = ex.evaluate(Weighted(0), explanations, levels=(0.33,), metrics=["stability_jaccard"])
    result = found["stability_jaccard@0.33"]
    assert (result.value, result.n) == (1.0, 1)
    assert result.chance[0].value == pytest.approx(8 / 15 / 3 + 1 / 15, rel=1e-12)


def test_nothing_is_right_about_an_empty_truth() -> None:
    found = explained([1.0, 2.0], [1, 0], metrics=["truth_f1@0.5", "truth_jaccard@0.5"], facts={"truth": [0, 0]})
    for result in found.values():
        assert (result.value, [level.name for level in result.chance]) == (0.0, ["random explainer"])


# ------------------------------------------------------------------------------------------- comparisons


class Linear:
    model_output = "logit"

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        logit = masks @ np.asarray(target)
        return np.stack([-logit, logit], 1)


def contested(events: int = 25) -> ex.AnswerTable:
    rng = np.random.default_rng(0)
    explanations = []
    for event in range(events):
        weights = rng.normal(size=12)
        context = ex.Context(path_context(12).subgraph, weights.tolist(), event)
        sign = np.sign(weights.sum())
        explanations += [
            ex.Explanation(context, sign * weights, "knows"),
            ex.Explanation(context, rng.random(12), "guesses"),
            ex.Explanation(context, -sign * weights, "reversed"),
        ]
    return ex.collect(Linear(), explanations)


def test_explainers_are_compared_event_by_event() -> None:
    table = contested()
    outcome = ex.compare(table, "necessity_auc")
    assert outcome.means["knows"] > outcome.means["guesses"]
    assert [pair.names for pair in outcome.pairs] == [
        ("knows", "guesses"),
        ("knows", "reversed"),
        ("knows", "random explainer"),
        ("guesses", "reversed"),
        ("guesses", "random explainer"),
        ("reversed", "random explainer"),
    ]
    assert outcome.means["random explainer"] == pytest.approx(
        ex.evaluate(table, explainer="knows", absolute=False)["necessity_auc"].chance[-1].value
    )
    alone = ex.compare(table, "necessity_auc", explainers=["knows"])
    assert [pair.names for pair in alone.pairs] == [("knows", "random explainer")]
    assert outcome.pairs[0].p_adjusted < 0.01
    evaluation = ex.evaluate(table, explainer="knows", keep="items", absolute=False)
    others = ex.evaluate(table, explainer="guesses", keep="items", absolute=False)
    difference = evaluation.per_item.values("necessity_auc") - others.per_item.values("necessity_auc")
    assert outcome.pairs[0].test.mean_difference == pytest.approx(difference.mean())
    assert outcome.pairs[0].test.n == 25
    lower = ex.compare(table, "fidelity_keep@0.3", baseline="guesses")
    assert lower.better == "lower"
    assert [pair.names for pair in lower.pairs] == [
        ("knows", "guesses"),
        ("reversed", "guesses"),
        ("random explainer", "guesses"),
    ]


SIZES = ("fidelity_drop@0.3", "fidelity_keep@0.3", "fidelity_best", "necessity_auc", "sufficiency_auc")


@pytest.mark.parametrize("metric", SIZES)
def test_an_inverted_explainer_loses_against_guesses(metric: str) -> None:
    outcome = ex.compare(contested(), metric, explainers=["reversed", "guesses"])
    assert outcome.metric == f"{metric}, signed"
    assert outcome.conclusion(outcome.pairs[0]).startswith("guesses is better than reversed")


def test_the_size_of_a_change_is_no_merit() -> None:
    """Answers near the border: without what speaks against them they move as far as without what speaks for them."""
    rng = np.random.default_rng(0)
    explanations = []
    for event in range(60):
        weights = rng.normal(0, 0.5, 12)
        weights += 0.02 - weights.mean()
        context = ex.Context(path_context(12).subgraph, weights.tolist(), event)
        explanations += [
            ex.Explanation(context, -weights, "reversed"),
            ex.Explanation(context, rng.random(12), "guesses"),
        ]
    table = ex.collect(Linear(), explanations)
    size = ex.compare(table, "fidelity_drop@0.3", absolute=True)
    assert size.metric == "fidelity_drop@0.3"
    assert size.conclusion(size.pairs[0]).startswith("reversed is better than guesses")
    signed = ex.compare(table, "fidelity_drop@0.3")
    assert signed.conclusion(signed.pairs[0]).startswith("guesses is better than reversed")
    checks = {each.check for each in ex.evaluate(table, explainer="reversed").findings}
    assert {"random-not-beaten", "inverted-explanation"} <= checks


def test_the_audit_compares_with_the_sign() -> None:
    table = contested(40)
    found = {name: {each.check for each in ex.evaluate(table, explainer=name).findings} for name in table.explainers}
    assert "random-not-beaten" not in found["knows"]
    assert "inverted-explanation" not in found["knows"] | found["guesses"]
    assert {"random-not-beaten", "inverted-explanation"} <= found["reversed"]
    runs = [ex.evaluate(table, explainer=name) for name in ("knows", "reversed")]
    for run, name in zip(runs, ("knows", "reversed"), strict=True):
        run.run |= {"method": name, "dataset": "events"}
    (finding,) = audit.run(runs, only=["not-above-chance"])
    assert finding.evidence["method"] == "reversed"
    assert ".signed" in finding.evidence["key"]
    assert "inverted-explanation" in {each.check for each in audit.run(runs[1])}


def test_one_logit_loses_no_digits_of_either_class() -> None:
    from graphgauge.explanation.fields import probabilities

    for logit in (30.0, 40.0, 700.0):
        above, below = probabilities(np.array([[logit], [-logit]]), "logit")
        assert above.tolist() == below[::-1].tolist()
        assert above[0] == pytest.approx(np.exp(-logit), rel=1e-12)


def test_comparisons_that_cannot_be() -> None:
    table = contested(4)
    for explainers in (["knows", "knows"], "knows", []):
        with pytest.raises(InputError, match="at least two explainers"):
            ex.compare(table, "necessity_auc", explainers=explainers, random=False)
    for explainers in ([5, 6], ["knows", None]):
        with pytest.raises(UnknownNameError, match="unknown explainer"):
            ex.compare(table, "necessity_auc", explainers=explainers)
    with pytest.raises(OptionError, match="explainers must be a list"):
        ex.compare(table, "necessity_auc", explainers=5)
    with pytest.raises(OptionError, match="has no direction"):
        ex.compare(table, "sparsity@0.1")
    with pytest.raises(OptionError, match="not a mean over events"):
        ex.compare(table, "characterization@0.1")
    with pytest.raises(UnknownNameError):
        ex.compare(table, "necessity_auc", baseline="absent")
    with pytest.raises(InputError, match="at least two explainers"):
        ex.compare(table, "necessity_auc", explainers=["knows"], random=False)
    with pytest.raises(OptionError, match="3 explainers: knows, guesses, reversed"):
        ex.evaluate(table)


def test_events_without_a_value_are_left_out_of_a_comparison() -> None:
    context = ex.Context(ex.Subgraph([[0], [1]], candidates=[], times=[0]), target=[], event="bare")
    explanations = [ex.Explanation(context, [], name) for name in ("one", "two")]
    explanations += random_explanations(0, 6) + random_explanations(0, 6, "two")
    outcome = ex.compare(ex.collect(Weighted(0), explanations), "fidelity_drop@0.3")
    assert (outcome.omitted, outcome.pairs[0].test.n) == (1, 6)
    assert "over 6 items (1 left out, without a value for every method)" in str(outcome)
    with pytest.raises(InputError, match="0 events have fidelity_drop"):
        ex.compare(ex.collect(Weighted(0), explanations[:2]), "fidelity_drop@0.3")


def test_items_side_file_serves_the_comparison_of_results(tmp_path: Any) -> None:
    from graphgauge.old.stats import compare

    table = contested()
    for name in ("knows", "guesses"):
        evaluation = ex.evaluate(table, explainer=name, keep="items")
        evaluation.run |= {"method": name, "dataset": "paths", "seed": 0}
        write_result(evaluation, tmp_path / f"{name}.json")
    outcome = compare(tmp_path, metric="fidelity_drop@0.2", over="items")
    direct = ex.compare(table, "fidelity_drop@0.2", explainers=["knows", "guesses"], random=False)
    assert "fidelity_drop@0.2 is compared with its sign." in outcome.notes
    assert outcome.means == pytest.approx(direct.means)
    assert (
        read_result(tmp_path / "knows.json")["acc_auc"].value == ex.evaluate(table, explainer="knows")["acc_auc"].value
    )


def test_a_choice_that_is_missing_is_asked_for_before_the_model_is() -> None:
    model = Weighted(0)
    with pytest.raises(OptionError, match="2 explainers: one, two"):
        ex.evaluate(model, random_explanations(0) + random_explanations(0, explainer="two"))
    assert model.rows == 0
    assert ex.evaluate(model, random_explanations(0)[0])["acc_auc"].n == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"nan": "x"},
        {"options": "acc_auc"},
        {"options": {"acc_auc": 3}},
        {"options": {"cohesiveness": {"delta_t": "a"}}},
        {"label_threshold": "a"},
    ],
)
def test_options_of_the_wrong_kind(wrong: Any) -> None:
    table = ex.collect(Weighted(0), random_explanations(0, 2))
    with pytest.raises(OptionError):
        ex.evaluate(table, **wrong)


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ({}, "keep the top 0 to 0.3"),
        ({"keep": "complement"}, "keep the top 0.7 to 1"),
        ({"mode": "drop", "cap": 0.5}, "drop the top 0 to 0.5"),
    ],
)
def test_the_sweep_is_said_as_it_is(sweep: Any, said: str) -> None:
    """Of ten edges all but the two least important make the label: the top 0.8 to 1 have it, the top 0.7 has not."""
    weights = np.append(np.ones(8), [0.0, 0.0])
    options = {"acc_auc": sweep}
    found = explained(weights, np.arange(10, 0, -1), bias=-7.5, metrics=["acc_auc"], options=options)["acc_auc"]
    assert found.conventions["sweep"] == f"{said} at 16 points"
    if sweep.get("keep") == "complement":
        kept = [int(np.floor((1 - s) * 10 + 0.5 + 1e-9)) >= 8 for s in np.linspace(0, 0.3, 16)]
        assert found.value == pytest.approx(np.trapezoid(np.array(kept, float)) / 15)
        assert 0.5 < found.value < 1


def test_the_area_of_the_curve_of_ratios_is_not_divided_by_its_span() -> None:
    explanations = random_explanations(2, 12)
    found = ex.evaluate(Weighted(2), explanations, metrics=["label_flip_drop", "label_flip_keep", "fidelity_curve_auc"])
    drop, keep = (np.array([found[f"label_flip_{mode}@{s}"].value for s in LEVELS]) for mode in ("drop", "keep"))
    area = np.trapezoid(drop / (1 - keep), found.options["achieved"])
    assert found["fidelity_curve_auc"].value == pytest.approx(area, rel=1e-12)
    assert area > 0


@pytest.mark.parametrize(
    "groups",
    [
        5,
        {"n": {0: "a"}},
        {"fidelity_drop@0.5": {0: "a"}},
        {"a": {0: np.nan}},
        {"a": {0: None}},
        {5: {0: "a"}},
        {"a": 3},
        "colour",
    ],
)
def test_groups_that_cannot_be(groups: Any) -> None:
    with pytest.raises((OptionError, InputError)):
        ex.evaluate(
            Sum(np.ones(4)),
            [ex.Explanation(path_context(4), np.arange(4))],
            levels=[0.5],
            metrics=["fidelity_drop"],
            groups=groups,
        )


def test_options_of_a_comparison_that_cannot_be() -> None:
    table = contested(5)
    for options in ({"alpha": 2}, {"alpha": 0.0}, {"alpha": "0.05"}, {"absolute": "no"}):
        with pytest.raises(OptionError):
            ex.compare(table, "fidelity_drop@0.1", **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="absolute"):
        ex.evaluate(table, explainer=table.explainers[0], absolute="no")  # type: ignore[arg-type]


def test_the_same_question_under_several_ids_is_said() -> None:
    said = [ex.Explanation(path_context(4, event), np.arange(4.0)) for event in range(6)]
    said.append(ex.Explanation(path_context(4, "other"), np.arange(4.0)[::-1]))
    found = ex.evaluate(Sum(np.ones(4)), said, levels=[0.5], metrics=["fidelity_drop"])
    assert any(note.startswith("5 of 7 events repeat the question and explanation of another") for note in found.notes)
    alone = ex.evaluate(Sum(np.ones(4)), said[5:], levels=[0.5], metrics=["fidelity_drop"])
    assert not any("repeat" in note for note in alone.notes)


def test_a_label_that_no_class_has_matters_only_if_it_is_read() -> None:
    said = [ex.Explanation(path_context(4, event, label=7), np.arange(4.0) * event) for event in range(3)]
    table = ex.collect(Sum(np.ones(4)), said, levels=[0.5])
    assert ex.evaluate(table, metrics=["fidelity_drop"])["fidelity_drop@0.5"].n == 3
    with pytest.raises(InputError, match="label 7, but the model has 2 classes"):
        ex.evaluate(table, metrics=["fidelity_drop"], score="label")


@pytest.mark.parametrize(("n", "a"), [(20, 0.1), (40, 0.05), (10, 0.15)])
def test_a_harmonic_mean_of_rare_flips_is_covered(n: int, a: float) -> None:
    """Flips with probability a, none when keeping: H = 2a/(1 + a). At 0 the bound of the flips is carried over."""
    from graphgauge.explanation.fidelity import harmonic
    from graphgauge.old.core.metric import Estimate, find

    entry = find("label_flip_characterization@0.1", "explanation")[0]
    rng, covered, true = np.random.default_rng(0), [], 2 * a / (1 + a)
    for _ in range(400):
        parts = [
            Estimate(np.array([x.mean()]), np.array([n]), x - x.mean(), facts={"range": (0.0, 1.0)})
            for x in ((rng.random(n) < a).astype(float), np.zeros(n))
        ]
        estimate = harmonic(*parts)
        _, low, high = entry.interval_of(None, estimate, 0.95)
        covered.append(low[0] <= true <= high[0])
        if estimate.value[0] == 0:
            most = 1 - 0.025 ** (1 / n)
            assert (low[0], high[0]) == (0, pytest.approx(2 * most / (1 + most)))
    assert np.mean(covered) >= 0.9


def test_a_comparison_names_its_level() -> None:
    assert ex.compare(contested(5), "fidelity_drop").metric == "fidelity_drop@0.1, signed"
