"""Options, directions, conventions, findings and comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, of_event, random_explanations

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation
from graphgauge.explanation.events import Event
from graphgauge.explanation.masks import Settings

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


def test_a_flip_is_not_hidden_by_the_largest_probability() -> None:
    """(.9, .1) → (.1, .9): the class fixed on the whole graph falls by .8, the largest probability by 0."""
    logit = np.log(9)
    weights = [2 * logit, 0.0]
    found = explained(weights, [1, 0], bias=-logit, sparsity_levels=(0.5,), metrics=["fidelity_drop@0.5"])
    assert found["fidelity_drop@0.5"].value == pytest.approx(0.8)
    hidden = explained(weights, [1, 0], bias=-logit, sparsity_levels=(0.5,), metrics=["fidelity_drop@0.5"], score="max")
    assert hidden["fidelity_drop@0.5"].value == pytest.approx(0.0, abs=1e-12)
    assert "largest probability" in hidden["fidelity_drop@0.5"].conventions["score"]


def test_tempme_is_for_two_classes() -> None:
    model, explanations = Weighted(0, 3), random_explanations(0, 3)
    with pytest.raises(InputError, match="for two classes, but the model has 3"):
        ex.evaluate(model, explanations, metrics=["fidelity_tempme"])
    assert "fidelity_tempme@0.1" in ex.evaluate(model, explanations, metrics="all").skipped


def test_signed_values_have_keys_of_their_own() -> None:
    weights, importance = [-2.0, 1.0, 1.0, 1.0], [1, 0, 0, 0]  # the top edge speaks against the prediction
    keys = ["fidelity_drop@0.25", "fidelity_drop.signed@0.25"]
    found = explained(weights, importance, sparsity_levels=(0.25,), metrics=keys)
    assert found["fidelity_drop.signed@0.25"].value == -found["fidelity_drop@0.25"].value < 0
    assert "removal raises the score in 100% of events" in found["fidelity_drop@0.25"].warnings[0]
    assert found["fidelity_drop.signed@0.25"].bounds == (-1, 1)


@pytest.mark.parametrize(("raised", "warned"), [(1, False), (2, True)])
def test_a_score_that_rises_in_more_than_a_quarter_of_events_is_warned_of(raised: int, warned: bool) -> None:
    """The first edge speaks against the prediction, the last for it."""
    importance = {True: [1, 0, 0, 0], False: [0, 0, 0, 1]}
    explanations = [ex.Explanation(path_context(4, event), importance[event < raised]) for event in range(4)]
    found = ex.evaluate(
        Sum([-2.0, 1.0, 1.0, 1.0]), explanations, sparsity_levels=(0.25,), metrics=["fidelity_drop@0.25"]
    )
    said = [f"removal raises the score in {raised / 4:.0%} of events; see fidelity_drop.signed@0.25"] if warned else []
    assert list(found["fidelity_drop@0.25"].warnings) == said


def test_numbers_of_edges_as_levels() -> None:
    found = explained(
        np.arange(8.0) - 3, np.arange(8), sparsity_levels=(0.5,), topk=(2, 4, 20), metrics=["fidelity_drop", "sparsity"]
    )
    assert [key for key in found if "sparsity" not in key] == [
        "fidelity_drop@0.5",
        "fidelity_drop@k=2",
        "fidelity_drop@k=4",
        "fidelity_drop@k=20",
    ]
    assert found["fidelity_drop@k=4"].value == found["fidelity_drop@0.5"].value
    assert found["sparsity@k=20"].value == 0  # there are only eight edges
    with pytest.raises(OptionError, match="'k=zero' is not a level"):
        explained([1.0, 2.0], [1, 2], metrics=["fidelity_drop@k=zero"])


def test_constant_importance_goes_by_time_and_says_so() -> None:
    weights = [0.0, 0.0, 0.0, 5.0]  # only the last edge counts
    constant = explained(weights, np.ones(4), sparsity_levels=(0.25,), bias=-2.0, metrics=["fidelity_drop"])
    first = explained(weights, [4, 3, 2, 1], sparsity_levels=(0.25,), bias=-2.0, metrics=["fidelity_drop"])
    assert constant["fidelity_drop@0.25"].value == first["fidelity_drop@0.25"].value == 0
    assert "tied-importance" in [finding.check for finding in constant.findings]
    assert constant["fidelity_drop@0.25"].conventions["ties"] == "by time, source and target"


def test_ties_can_be_averaged_over() -> None:
    weights = [0.0, 0.0, 0.0, 5.0]
    options: Any = {"sparsity_levels": (0.25,), "bias": -2.0, "metrics": ["fidelity_drop@0.25"]}
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
    options: Any = {"sparsity_levels": (0.25,), "metrics": [metric], "ties": "average"}

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
    found = ex.evaluate(None, explanations, sparsity_levels=(0.33,), metrics=[key], ties="average")[key]
    assert found.value == pytest.approx(8 / 15 / 3 + 1 / 15, abs=0.01)
    fixed = ex.evaluate(None, explanations, sparsity_levels=(0.33,), metrics=[key])[key]
    assert fixed.value == 1


def test_the_axis_of_the_curves_is_what_was_achieved() -> None:
    contexts = [path_context(4, 0), path_context(10, 1)]
    table = ex.collect(
        Weighted(0),
        [ex.Explanation(one, range(len(one.subgraph))) for one in contexts],
        sparsity_levels=(0.1, 0.5),
        topk=5,
    )
    shares = ex.evaluate(table).drawings["curves"]["share"]
    assert shares.tolist() == pytest.approx([(1 / 4 + 1 / 10) / 2, 0.5, (1 + 5 / 10) / 2])


def test_a_model_without_use_for_edges_is_noticed() -> None:
    found = explained(np.zeros(5), np.arange(5))
    assert "model-ignores-edges" in [finding.check for finding in found.findings]
    assert found["acc_auc"].value == 1


def test_a_certain_model_has_no_infinite_divergence() -> None:
    class Certain:
        model_output = "probability"

        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
            return (masks.sum(1) > 1).astype(float)

    found = ex.evaluate(Certain(), [ex.Explanation(path_context(4), [1, 2, 3, 4])], metrics=["unfaithfulness@0.1"])
    assert found["unfaithfulness@0.1"].value == 1


def test_options_that_cannot_be() -> None:
    table = ex.collect(Weighted(0), random_explanations(0, 2))
    for wrong in ({"explainer": 5}, {"confidence": "high"}, {"delta_t": -1}, {"groups": 5}, {"protocol": "captum"}):
        with pytest.raises(OptionError):
            ex.evaluate(table, **wrong)
    for name, other in {"sparsity_levels": (0.1,), "random": 7, "seed": 1, "acc_cap": 0.5}.items():
        with pytest.raises(OptionError, match=f"{name}=.*is an option of asking, and the table was collected already"):
            ex.evaluate(table, **{name: other})
    for wrong in (3, "run.jsonl", [], None):
        with pytest.raises(InputError, match="table"):
            ex.evaluate(wrong)
    for given in ((table,), (Weighted(0), random_explanations(0, 2))):
        with pytest.raises(TypeError, match="unexpected keyword argument 'metric'"):
            ex.evaluate(*given, metric="acc_auc")


def test_a_small_delta_t_leaves_the_unit_interval() -> None:
    said = [ex.Explanation(path_context(3), [3, 2, 1])]  # at 0, 1, 2; with a ΔT of 1/π neighbours are opposite
    found = ex.evaluate(None, said, metrics=["cohesiveness@0.7"], delta_t=1 / np.pi)
    assert found["cohesiveness@0.7"].value == pytest.approx(-1)
    assert found["cohesiveness@0.7"].bounds == (-1, 1)
    assert "0.3183" in found["cohesiveness@0.7"].conventions["delta_t"]


def test_metrics_are_there_where_the_events_have_what_they_need() -> None:
    bare = ex.Context(ex.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    rich = path_context(3, 1, truth=[1, 0, 0])
    needing = {"truth_auc", "cohesiveness@0.5", "elapsed", "stability_spearman"}
    asked: dict[str, Any] = {"sparsity_levels": (0.5,), "metrics": "all"}
    nothing = ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3])], **asked)
    assert needing.isdisjoint(nothing)
    with pytest.raises(OptionError, match="stability_spearman needs seeds"):
        ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3])], metrics=["stability_spearman"])
    runs = [ex.Explanation(rich, [1, 2, 3], elapsed=0.5, seed=seed) for seed in (0, 1)]
    assert needing <= set(ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3]), *runs], **asked))


def test_the_headlines_are_few() -> None:
    bare = ex.Context(ex.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    found = ex.evaluate(Weighted(0), [ex.Explanation(bare, [1, 2, 3])])
    assert {*found} == {"necessity_auc", "sufficiency_auc", "acc_auc"}
    rich = path_context(3, 1, truth=[1, 0, 0])
    found = ex.evaluate(Weighted(0), [ex.Explanation(rich, [1, 2, 3])])
    assert {*found} == {"necessity_auc", "sufficiency_auc", "acc_auc", "truth_auc", "cohesiveness@0.2"}


def test_intervals_cover_events_and_need_two() -> None:
    found = ex.evaluate(Weighted(0), random_explanations(0, 30), metrics=["fidelity_drop"])["fidelity_drop@0.3"]
    values = [of_event(Weighted(0), one, (0.3,))["fidelity_drop@0.3"] for one in random_explanations(0, 30)]
    from scipy.stats import t

    margin = t.ppf(0.975, 29) * np.std(values, ddof=1) / np.sqrt(30)
    assert tuple(found.interval) == pytest.approx((found.value - margin, found.value + margin))
    assert (found.interval.over, found.unit) == ("events", "event")
    alone = ex.evaluate(Weighted(0), random_explanations(0, 1), metrics=["fidelity_drop"])["fidelity_drop@0.3"]
    assert alone.interval is None
    assert "at least two events" in alone.no_interval


def test_chance_of_truth_is_that_of_random_sets() -> None:
    """The mean over a hundred random orders for each of forty events, against all subsets."""
    from itertools import combinations

    truth = np.array([1, 1, 0, 0, 0, 1, 0], bool)
    contexts = [path_context(7, event, truth=truth) for event in range(40)]
    found = ex.evaluate(
        None,
        [ex.Explanation(context, np.arange(7)) for context in contexts],
        metrics=[f"truth_{name}@0.4" for name in ("precision", "recall", "f1", "jaccard")],
        sparsity_levels=(0.4,),
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
        chance = {level.name: level.value for level in found[f"truth_{name}@0.4"].references}
        assert chance.pop("random explainer") == pytest.approx(value, abs=0.015), name
        assert chance == ({} if name == "precision" else {"empty explanation": 0.0})


def test_nothing_is_right_about_an_empty_truth() -> None:
    found = explained([1.0, 2.0], [1, 0], metrics=["truth_f1@0.5", "truth_jaccard@0.5"], facts={"truth": [0, 0]})
    for result in found.values():
        assert (result.value, [level.name for level in result.references]) == (0.0, ["random explainer"])


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
    assert outcome["knows"].mean > outcome["guesses"].mean
    names = {frozenset(pair.names) for pair in outcome}
    assert len(names) == len(outcome) == 6
    own = ex.evaluate(table, explainer="knows")
    assert outcome["random explainer"].mean == pytest.approx(own["necessity_auc"].chance.value, rel=1e-12)
    alone = ex.compare(table, "necessity_auc", explainers=["knows"])
    assert [pair.names for pair in alone] == [("knows", "random explainer")]
    assert outcome["knows", "guesses"].p_holm < 0.01
    others = ex.evaluate(table, explainer="guesses")
    difference = own.per_item["necessity_auc"] - others.per_item["necessity_auc"]
    pair = outcome["knows", "guesses"]
    sign = 1 if pair.names[0] == "knows" else -1
    assert sign * pair.difference == pytest.approx(difference.mean(), rel=1e-12)
    lower = ex.compare(table, "fidelity_keep.signed@0.3", baseline="guesses")
    assert lower.better == "lower"
    assert {pair.names for pair in lower} == {
        ("knows", "guesses"),
        ("reversed", "guesses"),
        ("random explainer", "guesses"),
    }


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
    size = ex.compare(table, "fidelity_drop@0.3", random=False)
    assert size.conclusion.startswith("reversed is better than guesses")
    signed = ex.compare(table, "fidelity_drop.signed@0.3", random=False)
    assert signed.conclusion.startswith("guesses is better than reversed")
    found = ex.evaluate(table, explainer="reversed", metrics="all")
    assert {"random-not-beaten", "inverted-explanation"} <= {each.check for each in found.findings}
    assert found["fidelity_drop@0.3"].interpretation is None  # a size beats nothing
    assert found["fidelity_drop.signed@0.3"].interpretation.startswith("worse than the random explainer")


def test_one_logit_loses_no_digits_of_either_class() -> None:
    from graphgauge.explanation.events import probabilities

    for logit in (30.0, 40.0, 700.0):
        above, below = probabilities(np.array([[logit], [-logit]]), "logit")
        assert above.tolist() == below[::-1].tolist()
        assert above[0] == pytest.approx(np.exp(-logit), rel=1e-12)


def test_comparisons_that_cannot_be() -> None:
    table = contested(4)
    for explainers in (["knows"], "knows"):
        with pytest.raises(InputError, match="at least two"):
            ex.compare(table, "necessity_auc", explainers=explainers, random=False)
    for explainers in ([5, 6], ["knows", None]):
        with pytest.raises(UnknownNameError, match="unknown explainer"):
            ex.compare(table, "necessity_auc", explainers=explainers)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="has no better direction"):
        ex.compare(table, "sparsity@0.1")
    with pytest.raises(OptionError, match="not a mean over events"):
        ex.compare(table, "characterization@0.1")
    with pytest.raises(UnknownNameError):
        ex.compare(table, "necessity_auc", baseline="absent")
    with pytest.raises(OptionError, match="confidence"):
        ex.compare(table, confidence=95)
    with pytest.raises(OptionError, match="3 explainers: knows, guesses, reversed"):
        ex.evaluate(table)


def test_events_without_a_value_are_left_out_of_a_comparison() -> None:
    context = ex.Context(ex.Subgraph([[0], [1]], candidates=[], times=[0]), target=[], event="bare")
    explanations = [ex.Explanation(context, [], name) for name in ("one", "two")]
    explanations += random_explanations(0, 6) + random_explanations(0, 6, "two")
    outcome = ex.compare(ex.collect(Weighted(0), explanations), "fidelity_drop@0.3")
    assert outcome.design.count == 6
    assert any("1 of 7 items are left out" in note for note in outcome.notes)
    with pytest.raises(InputError, match="0 events have fidelity_drop"):
        ex.compare(ex.collect(Weighted(0), explanations[:2]), "fidelity_drop@0.3")


def test_items_side_file_serves_the_comparison_of_results(tmp_path: Any) -> None:
    from graphgauge.stats import compare

    table = contested()
    for name in ("knows", "guesses"):
        evaluation = ex.evaluate(table, explainer=name)
        evaluation.save(tmp_path / f"{name}.json", method=name, dataset="paths", seed=0)
    outcome = compare(tmp_path, metric="necessity_auc", over="items")
    direct = ex.compare(table, "necessity_auc", explainers=["knows", "guesses"], random=False)
    assert [each.mean for each in outcome.standings] == pytest.approx([each.mean for each in direct.standings])
    assert outcome["knows", "guesses"].p_value == pytest.approx(direct["knows", "guesses"].p_value)
    stored = Evaluation.load(tmp_path / "knows.json")
    assert stored["acc_auc"].value == ex.evaluate(table, explainer="knows")["acc_auc"].value


def test_a_metric_of_the_edges_is_compared_without_a_model() -> None:
    rng = np.random.default_rng(0)
    said = []
    for event in range(30):
        truth = rng.random(10) < 0.4
        context = path_context(10, event, truth=truth)
        said += [
            ex.Explanation(context, truth + rng.random(10), "knows"),
            ex.Explanation(context, rng.random(10), "guesses"),
        ]
    outcome = ex.compare(ex.collect(None, said, metrics=["truth_auc"]), "truth_auc")
    assert outcome["random explainer"].mean == 0.5
    assert outcome["knows", "random explainer"].winner == "knows"
    assert outcome["guesses", "random explainer"].winner == "–"


def test_a_choice_that_is_missing_is_asked_for_before_the_model_is() -> None:
    model = Weighted(0)
    with pytest.raises(OptionError, match="2 explainers: one, two"):
        ex.evaluate(model, random_explanations(0) + random_explanations(0, explainer="two"))
    assert model.rows == 0
    assert ex.evaluate(model, random_explanations(0)[0])["acc_auc"].n == 1


def test_groups_have_the_values_of_their_events() -> None:
    said = random_explanations(5, 20)
    table = ex.collect(Weighted(5), said)
    halves = {one.context.event: index % 2 for index, one in enumerate(said)}
    found = ex.evaluate(table, groups={"half": halves}, metrics="all")
    grid = found.by("half")
    assert grid["half"].tolist() == ["0", "1"]
    for index in (0, 1):
        part = ex.AnswerTable(table.settings, table.events[index::2])
        alone = ex.evaluate(part, metrics="all")
        for key, result in alone.items():
            if key in grid:
                assert grid[key][index] == pytest.approx(result.value, rel=1e-12, nan_ok=True), key
                if result.interval is not None:
                    assert grid[f"{key}.low"][index] == pytest.approx(result.interval.low, rel=1e-9, abs=1e-12), key
    assert "characterization@0.2" in grid
    classes = ex.evaluate(table, groups=["class", "correct"])
    assert sum(classes.by("class")["n"]) == 20
    assert {*classes.by("correct")["correct"]} <= {"yes", "no", "unknown"}


def test_groups_that_cannot_be() -> None:
    said = [ex.Explanation(path_context(4), np.arange(4))]
    for groups in (5, {"n": {0: "a"}}, {"a": {0: np.nan}}, {"a": {0: None}}, {5: {0: "a"}}, {"a": 3}, "colour"):
        with pytest.raises((OptionError, InputError), match="group"):
            ex.evaluate(Sum(np.ones(4)), said, metrics=["fidelity_drop@0.5"], groups=groups)


@pytest.mark.parametrize(("n", "a"), [(20, 0.1), (40, 0.05), (10, 0.15)])
def test_a_harmonic_mean_of_rare_changes_is_covered(n: int, a: float) -> None:
    """Dropping changes the score by 1 with probability a, keeping never: H = 2a/(1 + a).

    Where no event changes, the bound of the changes is carried over.
    """
    said = [ex.Explanation(path_context(1, event), [1.0]) for event in range(n)]
    rng, covered, true = np.random.default_rng(0), [], 2 * a / (1 + a)
    for _ in range(200):
        changed = rng.random(n) < a

        class Jumps:
            model_output = "probability"

            def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
                return np.where(masks[:, 0] | ~self.now, 1.0, 0.0)

        model = Jumps()
        table = ex.AnswerTable(
            SETTINGS, tuple(_answered(model, one, bool(each)) for one, each in zip(said, changed, strict=True))
        )
        found = ex.evaluate(table, metrics=["characterization@1"])["characterization@1"]
        low, high = found.interval
        covered.append(low <= true <= high)
        if found.value == 0:
            most = 1 - 0.025 ** (1 / n)
            assert (low, high) == (0, pytest.approx(2 * most / (1 + most)))
    assert np.mean(covered) >= 0.9


SETTINGS = Settings(model_output="probability", levels=(1.0,), random=0, asked=("drop", "keep"))


def _answered(model: Any, one: ex.Explanation, changed: bool) -> Event:
    model.now = changed
    masks = np.array([[True], [False]])
    outputs = model.predict(one.context.subgraph, None, masks)[:, None]
    return Event(one.context, (one,), masks, outputs)


def test_the_closing_sentence_says_how_it_stands_to_random() -> None:
    text = str(ex.evaluate(contested(40), explainer="knows"))
    assert text.splitlines()[-1].startswith("Against random orders of the same edges, knows is better by necessity_auc")


def test_random_orders_are_an_explainer_with_findings_like_others() -> None:
    found = ex.evaluate(contested(), explainer="random explainer", metrics="all")
    assert "tied-importance" not in [each.check for each in found.findings]
    assert found["necessity_auc"].value == pytest.approx(found["necessity_auc"].chance.value)
