"""Comparisons of methods over seeds, datasets and items."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sealed import write_sealed

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.result import Evaluation, Result
from graphgauge.old.core.schema import write_result
from graphgauge.old.ranking.items import Items
from graphgauge.old.stats import aggregate, compare, holm, load, paired_test
from graphgauge.old.stats.comparison import _maximal_cliques


def records(scores: dict[str, np.ndarray], datasets: Sequence[str] = ("sachs",)) -> list[dict[str, Any]]:
    """Scores of each method, datasets × seeds."""
    return [
        {"method": method, "dataset": dataset, "seed": seed, "f1": float(values[row, seed])}
        for method, values in scores.items()
        for row, dataset in enumerate(datasets)
        for seed in range(values.shape[1])
    ]


@pytest.fixture
def three() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    return {name: rng.normal(level, 0.02, (1, 9)) for name, level in (("low", 0.6), ("top", 0.9), ("near", 0.895))}


def test_all_pairs_with_holm(three: dict[str, np.ndarray]) -> None:
    for statistic in ("ranks", "mean"):
        comparison = compare(records(three), metric="f1", direction="higher", test=statistic)
        assert (comparison.unit, len(comparison.units)) == ("seed", 9)
        expected = {
            frozenset(pair): paired_test(three[pair[0]][0], three[pair[1]][0], test=statistic).p_value
            for pair in itertools.combinations(three, 2)
        }
        assert {frozenset(test.names): test.p_value for test in comparison.tests} == pytest.approx(expected)
    assert [test.p_adjusted for test in comparison.tests] == pytest.approx(holm([t.p_value for t in comparison.tests]))
    assert comparison.best in ("top", "near")
    assert comparison.cliques == [[name for name in comparison.methods if name != "low"]]
    assert comparison.methods[-1] == "low"


def test_baseline_tests_each_method_once(three: dict[str, np.ndarray]) -> None:
    comparison = compare(records(three), metric="f1", direction="higher", baseline="low")
    assert sorted(test.names for test in comparison.tests) == [("near", "low"), ("top", "low")]
    assert all(test.comparisons == 2 for test in comparison.tests)
    assert comparison.cliques == []
    with pytest.raises(UnknownNameError, match="unknown method 'lo'"):
        compare(records(three), metric="f1", direction="higher", baseline="lo")


def test_direction_decides_who_is_best(three: dict[str, np.ndarray]) -> None:
    assert compare(records(three), metric="f1", direction="lower").best == "low"
    unknown = [{"quality" if key == "f1" else key: value for key, value in run.items()} for run in records(three)]
    with pytest.raises(OptionError, match=r'not known\. Pass direction="higher" or direction="lower"'):
        compare(unknown, metric="quality")


def test_over_datasets_the_dataset_is_the_unit() -> None:
    """Eight seeds on each of three datasets are three pieces of evidence, not twenty-four."""
    rng = np.random.default_rng(0)
    scores = {"a": rng.normal(0.9, 0.01, (3, 8)), "b": rng.normal(0.8, 0.01, (3, 8))}
    comparison = compare(records(scores, ("x", "y", "z")), metric="f1", direction="higher")
    (test,) = comparison.tests
    assert (comparison.unit, comparison.units, test.pairs) == ("dataset", ("x", "y", "z"), 3)
    assert not test.can_reject
    assert "at least 6 datasets" in test.conclusion
    assert comparison.scores == pytest.approx(np.column_stack([scores["a"].mean(axis=1), scores["b"].mean(axis=1)]))


def test_iqm_and_probability_of_improvement() -> None:
    scores = {"a": np.array([[1.0, 2.0, 3.0, 4.0]]), "b": np.array([[2.0, 0.0, 0.0, 5.0]])}
    comparison = compare(records(scores), metric="f1", direction="higher")
    by_name = {standing.method: standing for standing in comparison.standings}
    assert by_name["a"].iqm == 2.5
    assert by_name["b"].iqm == 1.0
    (item,) = comparison.improvements
    first, second = scores[item.first][0], scores[item.second][0]
    wins = [(first[s] > second[t]) + 0.5 * (first[s] == second[t]) for s, t in itertools.permutations(range(4), 2)]
    assert item.probability == pytest.approx(np.mean(wins))


def noisy(rng: np.random.Generator, datasets: int, seeds: int, ahead: float = 0.15) -> dict[str, np.ndarray]:
    """Two methods that share nearly all of what a seed does: of two seeds the luckier one wins, whose ever it is."""
    luck = rng.normal(size=(datasets, seeds)) * math.sqrt(0.99)
    own = rng.normal(size=(2, datasets, seeds)) * 0.1
    return {"a": ahead + luck + own[0], "b": luck + own[1]}


def improvement(scores: dict[str, np.ndarray], **options: Any) -> Any:
    names = [f"data {number}" for number in range(len(scores["a"]))]
    comparison = compare(records(scores, names), metric="f1", direction="higher", **options)
    (item,) = comparison.improvements
    return item if item.first == "a" else replace(item, probability=1 - item.probability)


def test_the_probability_of_improvement_is_that_of_new_seeds() -> None:
    """Φ(.15/√2) = .542; runs of one seed, of which the better method wins most, would lift it to .62."""
    rng = np.random.default_rng(0)
    found = [improvement(noisy(rng, 10, 5), resamples=1).probability for _ in range(60)]
    truth = 0.5 * (1 + math.erf(0.15 / 2))
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / math.sqrt(60))
    assert np.mean(found) < 0.56


def test_its_interval_covers_where_it_is_given() -> None:
    rng = np.random.default_rng(1)
    truth = 0.5 * (1 + math.erf(0.15 / 2))
    inside = []
    for _ in range(60):
        scores = noisy(rng, 4, 5)
        comparison = compare(records(scores, list("wxyz")), metric="f1", direction="higher", resamples=200)
        (item,) = comparison.improvements
        aim = truth if item.first == "a" else 1 - truth
        inside.append(item.ci[0] <= aim <= item.ci[1])
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("datasets", "seeds", "given"),
    [(1, 5, False), (1, 14, False), (1, 15, True), (7, 2, False), (20, 2, False), (4, 3, False), (5, 3, True)],
)
def test_too_few_seeds_give_no_interval_whatever_the_scores(datasets: int, seeds: int, given: bool) -> None:
    for ahead in (0.15, 100.0):
        scores = noisy(np.random.default_rng(3), datasets, seeds, ahead)
        names = [f"data {number}" for number in range(datasets)]
        comparison = compare(records(scores, names), metric="f1", direction="higher", resamples=50)
        (item,) = comparison.improvements
        assert (not math.isnan(item.ci[0])) == given
        assert (item.no_interval is None) == given
        assert ("P(first better) has no interval: its coverage needs at least 3 seeds" in comparison.summary) != given


def test_resamples_that_all_agree_give_no_interval_with_a_reason() -> None:
    scores = noisy(np.random.default_rng(2), 5, 3, 0.15)
    comparison = compare(records(scores, list("stuvw")), metric="f1", direction="higher", resamples=50)
    (item,) = comparison.improvements
    assert item.probability == 0.5
    assert math.isnan(item.ci[0])
    assert item.no_interval == "all resamples give the same value"


def test_one_seed_has_no_other_to_be_compared_with() -> None:
    scores = {"a": np.arange(8.0)[:, None] + 1, "b": np.arange(8.0)[:, None]}
    comparison = compare(records(scores, list("stuvwxyz")), metric="f1", direction="higher", resamples=20)
    assert math.isnan(comparison.improvements[0].probability)
    assert "8 of 8 datasets have one seed" in comparison.summary


@pytest.mark.parametrize("over_datasets", [False, True])
def test_results_do_not_depend_on_the_order_of_rows(over_datasets: bool) -> None:
    rng = np.random.default_rng(5)
    shape = (6, 4) if over_datasets else (1, 20)
    scores = {name: rng.normal(size=shape) for name in ("c", "a", "b")}
    scores["d"] = scores["a"].copy()  # a tie, whose order must not be that of the rows either
    rows = records(scores, [f"data {number}" for number in range(shape[0])])
    whole = compare(rows, metric="f1", direction="higher", resamples=100).to_json()
    for _ in range(4):
        mixed = [rows[index] for index in rng.permutation(len(rows))]
        assert compare(mixed, metric="f1", direction="higher", resamples=100).to_json() == whole
        table = {row.method: row for row in aggregate(mixed).values()} if not over_datasets else {}
        for row in aggregate(rows).values() if table else ():
            assert table[row.method] == row


def test_the_effect_is_positive_where_the_first_is_better(three: dict[str, np.ndarray]) -> None:
    for direction in ("higher", "lower"):
        comparison = compare(records(three), metric="f1", direction=direction, resamples=20)
        ahead = {test.names: test for test in comparison.tests if test.significant}
        assert len(ahead) == 2
        for test in ahead.values():  # methods stand best first
            assert test.effect_size_r == 1
            assert test.conclusion.startswith(f"{test.names[0]} is better")


def test_many_methods_that_do_not_differ_form_one_clique_at_once() -> None:
    names = [f"method {number}" for number in range(300)]
    assert _maximal_cliques(names, lambda a, b: False) == [names]
    rng = np.random.default_rng(0)
    scores = {f"m{number:02d}": rng.normal(size=(1, 6)) for number in range(40)}
    comparison = compare(records(scores), metric="f1", direction="higher", resamples=1)
    assert len(comparison.cliques) == 1
    assert len(comparison.cliques[0]) == 40


def test_how_outputs_were_read_is_noted_and_stops_nothing(write_run: Any, results: Path) -> None:
    readings = {
        "notears": {"sign": "absolute", "threshold": "> 0.3", "edges": "row_to_column"},
        "lingam": {"sign": "absolute", "threshold": "> 0.5", "edges": "column_to_row"},
        "pc": {"sign": "no negative scores", "threshold": "> 0.5", "edges": "row_to_column", "encoding": "pcalg"},
    }
    for level, (method, reading) in enumerate(readings.items()):
        for seed in range(7):
            write_run(method, "x", seed, {"m": level + seed / 100}, conventions={**reading, "shd": "pair"})
    comparison = compare(results, metric="m", direction="higher")
    assert comparison.methods == ["pc", "lingam", "notears"]
    assert dict(comparison.conventions) == {"shd": "pair"}
    for name in ("sign", "threshold", "edges", "encoding"):
        assert any(f"outputs were read differently: {name} is" in note for note in comparison.notes)
    assert "encoding is" in str(aggregate(results, directions={"m": "higher"}))


def test_always_ahead_is_not_certain_to_stay_so(three: dict[str, np.ndarray]) -> None:
    """Eighteen of eighteen: at the bound the chance of that is α/2."""
    twice = {name: np.concatenate([scores, scores]) for name, scores in three.items()}
    comparison = compare(records(twice, ("x", "y")), metric="f1", direction="higher", baseline="low")
    for item in comparison.improvements:
        assert item.probability == 1
        assert item.ci == pytest.approx((0.025 ** (1 / 18), 1.0))


def test_the_bootstrap_is_seeded(three: dict[str, np.ndarray]) -> None:
    runs = [compare(records(three), metric="f1", direction="higher", seed=seed).standings for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_targets_are_compared_by_distance(write_run: Any, results: Path) -> None:
    for seed in range(7):
        write_run("wide", "x", seed, {"coverage_95": 0.99 + seed / 1000}, direction="target", target=0.95)
        write_run("right", "x", seed, {"coverage_95": 0.94 + seed / 1000}, direction="target", target=0.95)
    comparison = compare(results, metric="coverage_95")
    (test,) = comparison.tests
    assert comparison.best == "right"
    assert test.metric == "coverage_95, distance from 0.95"
    assert "right is better than wide" in test.conclusion
    assert {s.method: s.mean for s in comparison.standings}["wide"] == pytest.approx(0.993)


def test_counts_are_not_compared(write_run: Any, results: Path) -> None:
    for method in ("a", "b"):
        write_run(method, "x", 0, {"tp": 3.0}, direction="none")
    with pytest.raises(OptionError, match="has no better direction"):
        compare(results, metric="tp")


def test_unmatched_seeds_are_refused_with_the_list() -> None:
    rows = [
        {"method": method, "dataset": "x", "seed": seed, "f1": seed / 10}
        for method, seeds in (("a", (0, 1, 2)), ("b", (0, 1, 5)))
        for seed in seeds
    ]
    with pytest.raises(InputError, match=r"b on x seed 2 \(other methods have it\), a on x seed 5"):
        compare(rows, metric="f1", direction="higher")
    comparison = compare(rows, metric="f1", direction="higher", missing="omit")
    assert comparison.units == ("0", "1")
    assert "2 of 4 seeds used" in comparison.summary


def test_missing_runs(write_run: Any, results: Path) -> None:
    for seed in range(3):
        write_run("a", "x", seed, {"f1": 0.5 + seed / 10})
        write_run("b", "x", seed, {"f1": 0.4 + seed / 10} if seed != 1 else {"other": 1.0})
    with pytest.raises(InputError, match=r"1 run of f1 is missing: b on x seed 1 \(no f1\)"):
        compare(results, metric="f1")
    assert len(compare(results, metric="f1", missing="omit").units) == 2
    worst = compare(results, metric="f1", missing="worst")
    assert {s.method: s.mean for s in worst.standings}["b"] == pytest.approx((0.4 + 0.0 + 0.6) / 3)
    assert "Scored at the bound 0" in worst.summary


def test_nothing_in_common() -> None:
    rows = [
        {"method": method, "seed": seed, "f1": 1.0 if method == has else math.nan}
        for seed, has in enumerate("ab")
        for method in "ab"
    ]
    with pytest.raises(InputError, match="there is no dataset and seed with f1 for all of a, b"):
        compare(rows, metric="f1", direction="higher", missing="omit")


def test_fewer_than_two_methods() -> None:
    with pytest.raises(InputError, match="needs at least two methods"):
        compare([{"method": "a", "f1": 1.0}], metric="f1", direction="higher")


@pytest.mark.parametrize(
    ("convention", "values"),
    [("shd", ("pair", "cell")), ("ties", ("realistic", "optimistic")), ("area", ("steps", "trapezoid"))],
)
def test_mixed_conventions(write_run: Any, results: Path, convention: str, values: tuple[str, str]) -> None:
    for method, value in zip(("a", "b"), values, strict=True):
        write_run(method, "x", 0, {"m": 0.5}, conventions={convention: value})
    with pytest.raises(InputError, match=f"{convention} is {values[0]} in 1 run"):
        compare(results, metric="m")


def test_different_numbers_of_items_are_mentioned(write_run: Any, results: Path) -> None:
    for method, n in (("a", 20), ("b", 19)):
        for seed in range(2):
            write_run(method, "x", seed, {"f1": 0.5 + seed / 7}, n=n)
    assert "different numbers of items: 19 in 2 runs, 20 in 2 runs" in compare(results, metric="f1").summary


def test_one_seed_and_constant_scores_get_an_answer() -> None:
    one = compare(records({"a": np.array([[0.5]]), "b": np.array([[0.4]])}), metric="f1", direction="higher")
    assert "cannot reject" in one.summary
    equal = compare(
        records({"a": np.ones((1, 6)), "b": np.ones((1, 6)), "c": np.ones((1, 6))}), metric="f1", direction="higher"
    )
    assert equal.friedman is not None
    assert equal.friedman.p_value == 1.0
    assert "nothing to test" in equal.summary
    assert math.isnan(equal.tests[0].effect_size_r)


def test_every_format(three: dict[str, np.ndarray]) -> None:
    comparison = compare(records(three), metric="f1", direction="higher")
    assert "significant" in str(comparison)
    assert len(list(csv.DictReader(StringIO(comparison.render("csv"))))) == 3
    content = json.loads(comparison.render("json"))
    assert content["best"] == comparison.best
    assert len(content["tests"]) == 3
    assert r"\textbf{" in comparison.render("latex")
    assert "| pair |" in comparison.render("markdown")


@pytest.mark.parametrize("seed", range(5))
def test_cliques_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list("abcdef")
    edges = {frozenset(pair) for pair in itertools.combinations(names, 2) if rng.random() < 0.4}
    independent = [
        set(group)
        for size in range(1, 7)
        for group in itertools.combinations(names, size)
        if not any(frozenset(pair) in edges for pair in itertools.combinations(group, 2))
    ]
    maximal = [group for group in independent if not any(group < other for other in independent)]
    found = _maximal_cliques(names, lambda a, b: frozenset((a, b)) in edges)
    assert sorted(map(sorted, maximal)) == sorted(found)


def write_ranker(
    folder: Path,
    method: str,
    seed: int,
    greater: np.ndarray,
    *,
    ids: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
    dataset: str = "nations",
) -> None:
    n = len(greater)
    keys = np.arange(n) if ids is None else ids
    items = Items(
        keys,
        greater.astype(np.int64),
        np.zeros(n, np.int64),
        np.full(n, 101),
        keys // 2 if cluster is None else cluster,
    )
    evaluation = Evaluation(
        "ranking",
        [Result("mrr", "mrr", float(np.mean(1 / (1 + greater))), n, "query", "higher", (0, 1))],
        conventions={"ties": "realistic"},
        run={"method": method, "dataset": dataset, "seed": seed},
        per_item=items,
    )
    write_result(evaluation, folder / method / "ranking" / f"metrics_{dataset}_{seed}.json")


def test_over_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    greater = {
        (method, seed): rng.integers(0, 30 if method == "weak" else 15, 200)
        for method in ("weak", "strong")
        for seed in (0, 1)
    }
    for (method, seed), counts in greater.items():
        order = rng.permutation(200)
        write_ranker(tmp_path, method, seed, counts[order], ids=order)
    comparison = compare(tmp_path, metric="mrr", over="items")
    (pair,) = comparison.pairs
    values = {m: (1 / (1 + greater[m, 0]) + 1 / (1 + greater[m, 1])) / 2 for m in ("weak", "strong")}
    assert pair.test.mean_difference == pytest.approx(float(np.mean(values[pair.names[0]] - values[pair.names[1]])))
    assert (pair.test.n, comparison.seeds) == (200, 2)
    assert "all runs have the same items (crossed), averaged over 2 seeds" in comparison.summary
    assert "strong is better than weak on these items" in comparison.summary
    assert "not about retraining" in comparison.summary
    assert json.loads(comparison.render("json"))["pairs"][0]["p_adjusted"] == pair.p_adjusted


def test_items_of_each_seed_are_nested_in_it(tmp_path: Path) -> None:
    """Every seed has its own test items, the same for both methods; one that occurs twice is one cluster."""
    rng = np.random.default_rng(1)
    parts = {0: np.arange(100), 1: np.arange(90, 190)}
    gaps = []
    for seed, ids in parts.items():
        weak, strong = rng.integers(0, 40, 100), rng.integers(0, 10, 100)
        for method, counts in (("weak", weak), ("strong", strong)):
            write_ranker(tmp_path, method, seed, counts, ids=ids, cluster=ids)
        gaps.append(1 / (1 + strong) - 1 / (1 + weak))
    comparison = compare(tmp_path, metric="mrr", over="items", margin=0.5, effect=0.05)
    (pair,) = comparison.pairs
    assert (pair.test.n, pair.test.units) == (200, 190)
    assert abs(pair.test.mean_difference) == pytest.approx(float(np.mean(gaps)))
    assert "every seed has its own items (nested)" in comparison.design
    assert "190 independent clusters" in comparison.summary
    assert "are equivalent within ±0.5" in comparison.equivalence(pair)
    assert comparison.needed[0].unit == "cluster"
    assert json.loads(comparison.render("json"))["needed"][0]["total"] == comparison.needed[0].total
    write_ranker(tmp_path, "weak", 1, np.arange(100), ids=np.arange(100), cluster=np.arange(100))
    with pytest.raises(InputError, match="all methods on the same items of each seed"):
        compare(tmp_path, metric="mrr", over="items")


def test_items_must_be_there_and_match(tmp_path: Path, write_run: Any, results: Path) -> None:
    for method in ("a", "b"):
        write_run(method, "x", 0, {"mrr": 0.5}, family="ranking")
    with pytest.raises(InputError, match=r"no per-item values are kept for a on x, seed 0, b on x, seed 0"):
        compare(results, metric="mrr", over="items")
    folder = tmp_path / "other"
    write_ranker(folder, "a", 0, np.arange(5))
    write_ranker(folder, "b", 0, np.arange(5), ids=np.arange(1, 6))
    with pytest.raises(InputError, match="different items than"):
        compare(folder, metric="mrr", over="items")
    write_ranker(folder, "a", 0, np.arange(5), dataset="umls")
    with pytest.raises(InputError, match="items of nations, umls cannot be pooled"):
        compare([*load(folder)], metric="mrr", over="items")


def test_what_is_equal_on_paper_is_equal_in_every_column(write_run: Any, results: Path) -> None:
    """0.9 and 1.0 lie equally far from 0.95, and (.1 + .2 + .3)/3 is .2, though not in their last bits."""
    for method, value in (("low", 0.9), ("high", 1.0), ("again", 0.9)):
        for seed in range(8):
            write_run(method, "x", seed, {"coverage_95": value}, direction="target", target=0.95)
    means = {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.2, 0.2], "c": [0.3, 0.2, 0.1]}
    rows = records({name: np.array([values] * 6) for name, values in means.items()}, tuple("uvwxyz"))
    for comparison in (compare(results, metric="coverage_95"), compare(rows, metric="f1", direction="higher")):
        assert all(test.n == 0 for test in comparison.tests)
        assert [standing.mean_rank for standing in comparison.standings] == [2.0, 2.0, 2.0]
        assert comparison.friedman is not None
        assert comparison.friedman.p_value == 1.0
        assert [item.probability for item in comparison.improvements] == [0.5, 0.5, 0.5]


def test_a_pair_told_apart_in_a_later_step_of_holm_is_not_called_impossible() -> None:
    """Two of eight seeds tie, and six pairs alone could not pass the first step of three tests."""
    level = 0.9 + np.arange(8) / 1000
    behind = np.r_[0, 0, np.arange(1, 7)] / 100
    scores = {"a": level, "b": level - 0.1 - np.arange(8) / 300, "c": level - behind}
    comparison = compare(
        records({name: values[None] for name, values in scores.items()}), metric="f1", direction="higher"
    )
    (test,) = (test for test in comparison.tests if set(test.names) == {"a", "c"})
    assert (test.n, test.p_value, test.p_adjusted) == (6, 0.03125, 0.03125)
    assert test.significant
    assert test.can_reject
    assert "a is better than c" in test.conclusion


def test_infinite_scores_are_named() -> None:
    rows = records({"a": np.array([[0.5, 0.6]]), "b": np.array([[0.4, math.inf]])})
    with pytest.raises(InputError, match="f1 is infinite: b on sachs seed 1"):
        compare(rows, metric="f1", direction="higher")


@pytest.mark.parametrize("resamples", [0, 1.5, "many"])
def test_resamples_are_counted(three: dict[str, np.ndarray], resamples: Any) -> None:
    with pytest.raises(OptionError, match="resamples must be a whole number of at least 1"):
        compare(records(three), metric="f1", direction="higher", resamples=resamples)


def test_unknown_direction(three: dict[str, np.ndarray]) -> None:
    with pytest.raises(UnknownNameError, match="unknown direction 'up'"):
        compare(records(three), metric="f1", direction="up")  # type: ignore[call-overload]


def test_a_failed_run_is_missed_over_items_too(tmp_path: Path) -> None:
    """Averaged without it, a method would be judged on the seeds that went well."""
    for method in ("a", "b"):
        for seed in (0, 1):
            write_ranker(tmp_path, method, seed, np.arange(5) + (method == "b"))
    path = tmp_path / "b" / "ranking" / "metrics_nations_1.json"
    write_sealed(path, {**json.loads(path.read_text()), "status": "failed", "results": [], "error": "killed"})
    with pytest.raises(InputError, match=r"1 run of mrr is missing: b on nations seed 1 \(failed: killed\)"):
        compare(tmp_path, metric="mrr", over="items")
    assert compare(tmp_path, metric="mrr", over="items", missing="omit").means["a"] > 0
    with pytest.raises(OptionError, match='missing="worst" scores runs, not their items'):
        compare(tmp_path, metric="mrr", over="items", missing="worst")
    path = tmp_path / "b" / "ranking" / "metrics_nations_0.json"
    write_sealed(path, {**json.loads(path.read_text()), "status": "failed", "results": [], "error": "killed"})
    with pytest.raises(InputError, match="no run of b has mrr"):
        compare(tmp_path, metric="mrr", over="items", missing="omit")


def test_items_in_other_clusters_or_without_an_id_of_their_own(tmp_path: Path) -> None:
    write_ranker(tmp_path / "ids", "a", 0, np.arange(6))
    write_ranker(tmp_path / "ids", "b", 0, np.arange(6), ids=np.array([0, 1, 2, 3, 4, 4]))
    with pytest.raises(InputError, match="an id occurs twice"):
        compare(tmp_path / "ids", metric="mrr", over="items")
    write_ranker(tmp_path / "clusters", "a", 0, np.arange(6))
    write_ranker(tmp_path / "clusters", "b", 0, np.arange(6), cluster=np.arange(6) // 3)
    with pytest.raises(InputError, match="the items of b on nations, seed 0 are clustered differently from those of a"):
        compare(tmp_path / "clusters", metric="mrr", over="items")


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("acc", "higher"),
        ("test_acc", "higher"),
        ("val/accuracy", "higher"),
        ("Micro F1", "higher"),
        ("loss", "lower"),
        ("eval_loss", "lower"),
        ("test RMSE", "lower"),
    ],
)
def test_usual_names_say_which_direction_is_better(name: str, better: str) -> None:
    runs = {"gcn": [0.1, 0.2, 0.3, 0.4], "gat": [0.2, 0.3, 0.4, 0.6]}
    found = compare(runs, metric=name)
    assert found.better == better
    assert f"follows from the name {name}" in found.summary
    other = "lower" if better == "higher" else "higher"
    assert compare(runs, metric=name, direction=other).better == other


@pytest.mark.parametrize("name", ["score", "accuracy_loss", "value", "macc"])
def test_other_names_need_a_direction(name: str) -> None:
    with pytest.raises(OptionError, match=r'direction="higher" or direction="lower"'):
        compare({"gcn": [0.1, 0.2], "gat": [0.2, 0.3]}, metric=name)


def test_the_only_metric_need_not_be_named() -> None:
    runs = [{"method": m, "seed": s, "acc": 0.1 * s} for m in "ab" for s in range(4)]
    assert compare(runs).metric == "acc"
    with pytest.raises(OptionError, match=r"metric is missing\. The runs have acc, loss"):
        compare([run | {"loss": 1.0} for run in runs])
