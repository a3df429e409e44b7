"""Every metric equals a direct transcription of its definition that asks the model for one mask at a time."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr, t
from tests.explanation.brute import Weighted, count, of_event, order, random_explanations, said, units

from graphgauge import explanation as ex
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.registry import metrics as registered

LEVELS = (0.1, 0.25, 0.5, 0.8)
KEYS = [
    metric.key
    for metric in registered("explanation")
    if metric.name
    not in (
        "characterization",
        "cohesiveness_adjacent",
        "stability_jaccard",
        "stability_spearman",
        "elapsed",
        "robust_drop",
        "robust_keep",
        "robust_delta",
        "deletion_auc",
        "insertion_auc",
    )
]


def mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def assert_equal(evaluation: Evaluation, events: list[dict[str, float]]) -> None:
    expected = {key: mean([event[key] for event in events]) for key in events[0]}
    assert set(expected) == set(evaluation)
    for key, value in expected.items():
        assert evaluation[key].value == pytest.approx(value, rel=1e-11, abs=1e-12, nan_ok=True), key


@pytest.mark.parametrize("seed", range(12))
def test_random_binary_models(seed: int) -> None:
    explanations = random_explanations(seed)
    output = ("logit", "probability")[seed % 2]
    found = ex.evaluate(
        Weighted(seed, output=output), explanations, sparsity_levels=LEVELS, metrics=KEYS, batch_edges=40
    )
    assert_equal(found, [of_event(Weighted(seed, output=output), one, LEVELS) for one in explanations])


@pytest.mark.parametrize("seed", range(6))
def test_random_models_of_four_classes(seed: int) -> None:
    explanations = random_explanations(100 + seed)
    output = ("logit", "probability")[seed % 2]
    keys = [key for key in KEYS if "tempme" not in key]
    found = ex.evaluate(Weighted(seed, 4, output), explanations, sparsity_levels=LEVELS, metrics=keys, by="abs")
    expected = [of_event(Weighted(seed, 4, output), one, LEVELS, by="abs") for one in explanations]
    for event, one in zip(expected, explanations, strict=True):
        # The area is over importances as they are ranked.
        event["truth_auc"] = of_event(
            Weighted(seed, 4, output), ex.Explanation(one.context, np.abs(one.importance)), LEVELS
        )["truth_auc"]
    assert_equal(found, expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_probability_and_other_sweeps(seed: int) -> None:
    explanations = random_explanations(200 + seed)
    sweep = {"cap": 0.6, "points": 7}
    found = ex.evaluate(
        Weighted(seed, 3),
        explanations,
        sparsity_levels=LEVELS,
        score="max",
        acc_cap=0.6,
        acc_points=7,
        metrics=["fidelity_drop", "fidelity_keep", "acc_auc"],
    )
    events = [of_event(Weighted(seed, 3), one, LEVELS, score="max", **sweep) for one in explanations]
    assert_equal(found, [{key: event[key] for key in found} for event in events])


def test_one_logit_is_two_classes() -> None:
    explanations = random_explanations(9)
    found = ex.evaluate(Weighted(9, classes=1), explanations, sparsity_levels=LEVELS, metrics=KEYS)
    assert_equal(found, [of_event(Weighted(9, classes=1), one, LEVELS) for one in explanations])


def test_seeds_of_one_explainer_are_averaged_within_an_event() -> None:
    first, second = random_explanations(7), random_explanations(7)
    rng = np.random.default_rng(1)
    runs = [
        ex.Explanation(one.context, rng.normal(size=len(one.importance)), "one", seed=seed)
        for seed, explanations in enumerate((first, second))
        for one in explanations
    ]
    found = ex.evaluate(Weighted(7), runs, sparsity_levels=LEVELS, metrics=["fidelity_drop@0.5", "fidelity_tempme@0.5"])
    for key in ("fidelity_drop@0.5", "fidelity_tempme@0.5"):
        values = [of_event(Weighted(7), run, LEVELS)[key] for run in runs]
        assert found[key].value == pytest.approx(mean(values), rel=1e-11)
        assert found[key].n == 6


def test_characterization_is_the_harmonic_mean_of_the_means() -> None:
    found = ex.evaluate(
        Weighted(3),
        random_explanations(3),
        metrics=[
            "fidelity_drop@0.2",
            "fidelity_keep@0.2",
            "characterization@0.2",
        ],
    )
    a, b = found["fidelity_drop@0.2"].value, found["fidelity_keep@0.2"].value
    assert found["characterization@0.2"].value == pytest.approx(1 / (0.5 / a + 0.5 / (1 - b)), rel=1e-12)


def test_the_interval_of_the_harmonic_mean_is_that_of_its_linear_part() -> None:
    found = ex.evaluate(
        Weighted(3),
        random_explanations(3, events=40),
        metrics=["fidelity_drop@0.2", "fidelity_keep@0.2", "characterization@0.2"],
    )
    drop, keep = (found.per_item[f"fidelity_{mode}@0.2"] for mode in ("drop", "keep"))

    def harmonic(a: float, b: float) -> float:
        return 1 / (0.5 / a + 0.5 / (1 - b))

    a, b, step = drop.mean(), keep.mean(), 1e-6
    by_drop = (harmonic(a + step, b) - harmonic(a - step, b)) / (2 * step)
    by_keep = (harmonic(a, b + step) - harmonic(a, b - step)) / (2 * step)
    error = (by_drop * drop + by_keep * keep).std(ddof=1) / math.sqrt(40)
    low, high = found["characterization@0.2"].interval
    assert (low, high) == pytest.approx(t.interval(0.95, 39, harmonic(a, b), error), rel=1e-6)


def test_the_random_explainer_comes_close_to_the_mean_over_all_subsets() -> None:
    explanations = random_explanations(11, events=8)
    table = ex.collect(Weighted(11), explanations, random=4000)
    drop = ex.evaluate(table, metrics=["fidelity_drop@0.3"])["fidelity_drop@0.3"]
    chance = {level.name: level.value for level in drop.references}
    exact = []
    for one in explanations:
        groups = units(one.context.subgraph)
        everything = {edge for unit in groups for edge in unit}
        whole = said(Weighted(11), one, everything)
        subsets = list(combinations(groups, count(0.3, len(groups))))
        answers = [said(Weighted(11), one, everything - {e for unit in held for e in unit}) for held in subsets]
        predicted = whole.index(max(whole))
        exact.append(mean([abs(whole[predicted] - answer[predicted]) for answer in answers]))
    assert chance["random explainer"] == pytest.approx(mean(exact), rel=0.02)
    assert chance["empty explanation"] == 0


def test_stability_against_loops() -> None:
    rng = np.random.default_rng(5)
    contexts = [one.context for one in random_explanations(5)]
    runs = {
        (context.event, seed): rng.permutation(len(context.subgraph)) / 1.0 for context in contexts for seed in range(3)
    }
    explanations = [
        ex.Explanation(context, runs[context.event, seed], "one", seed=seed)
        for context in contexts
        for seed in range(3)
    ]
    found = ex.evaluate(Weighted(5), explanations, metrics=["stability_jaccard@0.4", "stability_spearman"])
    jaccards, correlations = [], []
    for context in contexts:
        ranked = [order(ex.Explanation(context, runs[context.event, seed])) for seed in range(3)]
        k = count(0.4, len(ranked[0]))
        pairs = [(0, 1), (0, 2), (1, 2)]
        tops = [{tuple(unit) for unit in one[:k]} for one in ranked]
        jaccards.append(mean([len(tops[a] & tops[b]) / len(tops[a] | tops[b]) for a, b in pairs]))
        values = [
            [np.mean([runs[context.event, seed][edge] for edge in unit]) for unit in sorted(ranked[0])]
            for seed in range(3)
        ]
        if len(ranked[0]) > 1:
            with np.errstate(all="ignore"):
                found_pairs = [
                    float(spearmanr(values[a], values[b]).statistic)
                    if len(set(values[a])) > 1 < len(set(values[b]))
                    else math.nan
                    for a, b in pairs
                ]
            correlations.append(mean(found_pairs))
    assert found["stability_jaccard@0.4"].value == pytest.approx(mean(jaccards), rel=1e-12)
    assert found["stability_spearman"].value == pytest.approx(mean(correlations), rel=1e-12)


@pytest.mark.parametrize("key", ["acc_auc", "acc_auc.drop", "acc_auc.complement"])
def test_every_sweep_against_loops(key: str) -> None:
    explanations = random_explanations(31, events=10)
    found = ex.evaluate(Weighted(31, 3), explanations, metrics=[key], acc_cap=0.7, acc_points=9)
    expected = []
    for one in explanations:
        ranked = order(one)
        everything = {edge for unit in ranked for edge in unit}
        whole = said(Weighted(31, 3), one, everything)
        same = []
        for i in range(9):
            share = float(np.linspace(0, 0.7, 9)[i])
            k = count(1 - share if key == "acc_auc.complement" else share, len(ranked))
            top = {edge for unit in ranked[:k] for edge in unit}
            answer = said(Weighted(31, 3), one, everything - top if key == "acc_auc.drop" else top)
            same.append(float(answer.index(max(answer)) == whole.index(max(whole))))
        expected.append(sum((a + b) / 2 for a, b in pairwise(same)) / 8)
    assert found[key].value == pytest.approx(mean(expected), rel=1e-12)


@pytest.mark.parametrize("mode", ["keep", "drop"])
def test_the_best_level_against_loops(mode: str) -> None:
    explanations = random_explanations(41, events=10)
    key = "fidelity_best" if mode == "drop" else "fidelity_best_keep"
    found = ex.evaluate(Weighted(41), explanations, sparsity_levels=LEVELS, topk=(2, 5), metrics=[key, f"{key}.k"])
    values, shares = [], []
    for one in explanations:
        ranked = order(one)
        n = len(ranked)
        everything = {edge for unit in ranked for edge in unit}
        whole = said(Weighted(41), one, everything)
        curve = {}
        for k in {*(count(level, n) for level in LEVELS), min(2, n), min(5, n)}:
            top = {edge for unit in ranked[:k] for edge in unit}
            answer = said(Weighted(41), one, top if mode == "keep" else everything - top)
            curve[k] = abs(max(whole) - answer[whole.index(max(whole))])
        best = (max if mode == "drop" else min)(curve.values())
        values.append(best)
        shares.append(min(k for k, value in curve.items() if math.isclose(value, best, abs_tol=1e-12)) / n)
    assert found[key].value == pytest.approx(mean(values), rel=1e-11)
    assert found[f"{key}.k"].value == pytest.approx(mean(shares), rel=1e-11)
    assert found[key].direction == ("higher" if mode == "drop" else "lower")


def test_adjacent_pairs_against_loops() -> None:
    explanations = random_explanations(51, events=10)
    found = ex.evaluate(
        Weighted(51, 3),
        explanations,
        sparsity_levels=(0.5,),
        metrics=["cohesiveness_adjacent@0.5"],
    )
    close = []
    for one in explanations:
        ranked, graph = order(one), one.context.subgraph
        top = sorted({edge for unit in ranked[: count(0.5, len(ranked))] for edge in unit})
        if graph.times is None or np.ptp(graph.times[graph.candidates]) == 0:
            continue
        times, ends = graph.times[graph.candidates], graph.edge_index[:, graph.candidates].T
        agreed = [
            math.cos((times[i] - times[j]) / np.ptp(times))
            for i in top
            for j in top
            if i != j and set(ends[i]) & set(ends[j])
        ]
        close.append(mean(agreed))
    assert found["cohesiveness_adjacent@0.5"].value == pytest.approx(mean(close), rel=1e-11)


def test_ties_on_average_come_close_to_the_mean_over_all_orders() -> None:
    context = random_explanations(61, events=1)[0].context
    one = ex.Explanation(context, np.zeros(len(context.subgraph)))
    groups = units(context.subgraph)
    k = count(0.5, len(groups))
    everything = {edge for unit in groups for edge in unit}
    whole = said(Weighted(61), one, everything)
    answers = [said(Weighted(61), one, {e for unit in held for e in unit}) for held in combinations(groups, k)]
    exact = mean([abs(max(whole) - answer[whole.index(max(whole))]) for answer in answers])
    found = [
        ex.evaluate(Weighted(61), [one], ties="average", seed=seed, metrics=["fidelity_keep@0.5"]) for seed in range(30)
    ]
    values = [evaluation["fidelity_keep@0.5"].value for evaluation in found]
    assert mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(30))
    assert np.std(values) > 0
