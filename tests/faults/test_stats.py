"""Faults of the statistics that were found once, by their numbers."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sealed import write_sealed

import graphgauge
from graphgauge import forecasting, prediction, ranking, recovery, stats
from graphgauge.core.errors import InputError, OptionError

EIGHT = {
    m: {s: level + 0.01 * ((7 * s + k) % 5) for s in range(8)} for k, (m, level) in enumerate((("a", 0.9), ("b", 0.7)))
}


def test_s31_f34_r32_intervals_carry_no_doubt_of_their_own():
    said = str(stats.compare(EIGHT, metric="acc"))
    assert "≈" not in said
    assert "expected" not in said


def test_s32_eight_seeds_with_a_tie_can_pass_holm():
    """Seven differences that are not zero have p of .0156, and one of six pairs with eight .0078."""
    scores = {
        name: {s: level + 0.001 * s for s in range(8)} for name, level in zip("abcd", (0.9, 0.7, 0.6, 0.5), strict=True)
    }
    scores["c"][0] = scores["b"][0]
    found = stats.compare(scores, metric="acc")
    assert found.can_reject
    assert found["a", "d"].significant
    assert found["b", "c"].p_value == pytest.approx(2 / 2**7)
    assert "normal" not in str(found)


def test_s33_tables_with_other_names_keep_their_digits():
    rows = [{"algo": a, "noise": n, "rep": r, "SHD": 0.08} for a in "ab" for n in (1, 2) for r in (1, 2)]
    with pytest.raises(InputError, match=r'columns=\{"method": "algo", "dataset": "noise", "seed": "rep"\}'):
        stats.compare(rows, metric="SHD")
    table = stats.aggregate([{"method": "a", "acc": 0.08}, {"method": "a", "acc": 0.078}])
    assert "0.0790 ± 0.0014" in table.to_markdown()


def test_s34_an_aggregate_is_its_table_and_one_sentence():
    rows = [{"method": m, "seed": s, "acc": x} for m, own in EIGHT.items() for s, x in own.items()]
    said = str(stats.aggregate(rows))
    assert len(said) < 400
    assert said.splitlines()[-1] == "a has the best mean of acc over 8 runs; compare tests it."


def test_s35_equal_runs_zeros_and_defaults():
    flat = stats.aggregate([{"shd": 5}, {"shd": 5}, {"shd": 5}])
    assert "5 (all equal)" in str(flat)
    assert "± 0" not in str(flat)
    assert not re.search(
        r"-0(\.0*)?(?![\d.])",
        str(stats.compare({"a": dict.fromkeys(range(6), -1e-09), "b": {s: s * 1e-9 for s in range(6)}}, metric="acc")),
    )
    found = stats.compare(EIGHT, metric="acc")
    assert found.methods[0] == found.best == "a"
    assert "Wilcoxon" in str(stats.paired_test([1, 2, 3], [0, 1, 1]))


def test_r36_three_seeds_mark_nothing_as_not_different():
    rows = [{"method": m, "seed": s, "acc": own[s]} for m, own in EIGHT.items() for s in range(3)]
    grid = stats.aggregate(rows).to_grid(marks="tests")
    assert "close" not in grid.marks.values()
    assert not stats.compare(rows, metric="acc").can_reject


def test_an_undefined_or_infinite_mean_is_not_marked() -> None:
    level = {"a": 0.6, "b": 0.5, "c": 0.4}
    rows = [{"method": m, "seed": s, "mrr": x + s / 1000} for m, x in level.items() for s in range(9)]
    table = stats.aggregate([*rows[1:], {**rows[0], "mrr": math.nan}])
    grid = table.to_grid(marks="tests")
    assert not grid.marks
    assert grid.notes == ("No marks of mrr: the mean of a is undefined (no value for seed 0 (NaN)).",)
    assert table.to_grid().marks == {(1, "mrr ↑"): "best"}
    assert not stats.aggregate([*rows[1:], {**rows[0], "mrr": math.inf}]).to_grid().marks


def test_marks_by_tests_say_why_there_are_none() -> None:
    table = stats.aggregate({"a": [0.5, 0.6], "b": [0.7, 0.8]})
    (note,) = table.to_grid(marks="tests").notes
    assert note.startswith("No marks of value: its better direction is not known")


@pytest.mark.parametrize(
    ("cells", "means"),
    [
        ({"n": 5, "recall": "33.2 ± 0.5", "ndcg": "30 +- 0.25"}, {"recall": (33.2, 0.5), "ndcg": (30.0, 0.25)}),
        ({"n": 5, "recall": r"33.2 $\pm$ 0.5"}, {"recall": (33.2, 0.5)}),
        ({"n": 5, "recall_mean": 33.2, "recall_std": 0.5}, {"recall": (33.2, 0.5)}),
        ({"n": 5, "recall": 33.2, "recall_std": 0.5}, {"recall": (33.2, 0.5)}),
    ],
)
def test_printed_means_under_the_names_of_their_metrics(cells: Any, means: Any) -> None:
    (run,) = stats.read_runs([{"method": "a", **cells}])
    assert {key: (score.value, score.std) for key, score in run.scores.items()} == means
    assert {score.runs for score in run.scores.values()} == {5}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"recall": "33.2%", "time": 5}], "recall: '33.2%' is not a number"),
        ([{"recall": "33.2 (0.5)", "time": 5}], r"recall: '33.2 \(0.5\)' is not a number"),
        ([{"recall": "33.2 ± 0.5", "n": 5}, {"recall": "failed", "n": 5}], "recall: 'failed' is not a number"),
        ([{"recall": "33.2 ± 0.5", "time": 5}], r"has printed means \(recall\). Add a column n"),
        ([{"recall_mean": 33.2, "recall_std": 0.5}], r"has printed means \(recall_mean\). Add a column n"),
        ([{"mean": 33.2, "std": 0.5, "n": 5, "ndcg": 30.0}], "has columns of printed means, and also ndcg"),
        ([{"mean": 33.2, "std": math.inf, "n": 5}], "a mean of 5 runs with standard deviation inf"),
        ([{"mean": 33.2, "std": 0.5, "n": 1e30}], "a mean of 1e\\+30 runs"),
        ([{"recall": 1.0, "seed": 0}, {"recall": 1.0, "seed": 1, "method": " "}], "record 2: has no method"),
    ],
)
def test_a_table_that_would_lose_something_is_refused(rows: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        stats.read_runs([{"method": "a", **row} for row in rows])


def test_rows_with_seeds_are_runs_also_where_a_metric_is_a_standard_deviation() -> None:
    (run,) = stats.read_runs([{"method": "a", "seed": 0, "fold_mean": 0.5, "fold_std": 0.1}])
    assert list(run.scores) == ["fold_mean", "fold_std"]
    (run,) = stats.read_runs([{"method": "a", "nca_mean": 0.5, "nca_std": 0.1}])
    assert list(run.scores) == ["nca_mean", "nca_std"]


def test_two_printed_means_of_a_method_and_one_without_a_spread() -> None:
    printed = [{"method": m, "mean": x, "std": 0.5, "n": 5} for m, x in (("a", 33.2), ("a", 31.2), ("b", 30.0))]
    for read in (stats.aggregate, partial(stats.compare, metric="recall")):
        with pytest.raises(InputError, match=r"a has a printed mean of .* and other scores"):
            read(printed)
    printed[1] = {"method": "c", "mean": 31.2, "n": 5}
    assert stats.aggregate(printed)["value", "c"].mean == 31.2
    with pytest.raises(InputError, match="the standard deviation of recall is missing for c"):
        stats.compare(printed, metric="recall")


def test_equal_items_are_said_to_be_equal() -> None:
    one = ranking.evaluate(np.linspace(0, 1, 40), np.linspace(1, 0, 40)[:, None])
    said = stats.compare({"a": one, "b": one}, metric="mrr", over="items").conclusion
    assert said.startswith("a and b have the same mean mrr over 40 queries (p = 1")


def test_s4_many_methods_without_a_difference_are_one_group():
    same = {f"m{i}": {s: 0.5 + 0.01 * ((i * 7 + s * 3) % 11) for s in range(5)} for i in range(30)}
    assert len(stats.compare(same, metric="acc").cliques) == 1


def test_s5_constant_differences_have_no_interval():
    found = stats.compare({"a": {0: 0.2, 1: 0.3, 2: 0.4}, "b": {0: 0.1, 1: 0.2, 2: 0.3}}, metric="acc")
    assert found["a", "b"].interval is None


def test_s6_effects_are_positive_where_the_first_is_better():
    found = stats.compare(EIGHT, metric="loss", direction="lower")
    assert (found.best, found["b", "a"].names[0]) == ("b", "b")
    assert found["b", "a"].effect == 1


def test_s10_intervals_stay_within_the_bounds_of_their_metric():
    rows = [{"method": "a", "mrr": x} for x in (0.1, 0.2, 0.9)]
    row = stats.aggregate(rows)["mrr"]
    assert (row.ci_lower, row.ci_upper <= 1) == (0.0, True)


def test_s11_verdict_and_interval_agree():
    random = np.random.default_rng(0)
    for _ in range(40):
        scores = {m: dict(enumerate(np.round(random.normal(mu, 0.1, 8), 2))) for m, mu in (("a", 0.6), ("b", 0.5))}
        pair = stats.compare(scores, metric="acc")["a", "b"]
        if pair.interval is not None:
            assert (0 in pair.interval) == (pair.p_value > 0.05)


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1e90, 1e149])
def test_welch_has_the_same_degrees_of_freedom_in_any_unit(scale: float) -> None:
    scores = {"a": [1.0, 2.0, 4.0, 3.0], "b": [5.0, 9.0, 7.0]}
    scaled = {name: [scale * value for value in values] for name, values in scores.items()}
    plain, other = (stats.compare(each, metric="score", direction="higher").pairs[0] for each in (scores, scaled))
    assert (other.df, other.p_value) == pytest.approx((plain.df, plain.p_value), rel=1e-9)


def test_a_side_file_without_a_name_is_refused(tmp_path: Path) -> None:
    path = ranking.evaluate([0.5, 0.2], [[0.1], [0.3]]).save(tmp_path / "result.json")
    content = json.loads(path.read_text())
    content["side_files"] = [{"role": "items", "name": "", "hash": "0", "rows": 2, "axis": None}]
    write_sealed(path, {name: value for name, value in content.items() if name != "root"})
    with pytest.raises(InputError, match="'' is no name of a side file"):
        graphgauge.load(path)


def _of(*scores: float, dataset: str = "d") -> list[dict[str, object]]:
    """Runs of two methods in turn, with the seeds 0, 0, 1, 1 …"""
    return [
        {"method": "ab"[i % 2], "dataset": dataset, "seed": i // 2, "value": score} for i, score in enumerate(scores)
    ]


FEW = _of(0.2, 0.3, 0.9, 0.4)
PRINTED = [{"method": m, "mean": mean, "std": 0.4, "n": 2} for m, mean in (("a", 0.9), ("b", 0.2))]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (FEW, {}),
        (FEW, {"design": "unpaired"}),
        (FEW, {"test": "ranks"}),
        (FEW, {"test": "ranks", "design": "unpaired"}),
        (FEW + _of(0.9, 0.1, 0.1, 0.8, dataset="e"), {"datasets": "these"}),
        (_of(0.1, 0.9) + _of(0.8, 0.3, dataset="e"), {}),
        (PRINTED, {}),
    ],
)
def test_an_interval_ends_at_the_greatest_difference_of_numbers_between_bounds(rows, options) -> None:
    """The same scores of a metric without bounds have the same p, and an interval that is not cut."""

    def compared(metric: str):
        named = [{metric if name in ("value", "mean") else name: value for name, value in row.items()} for row in rows]
        columns = {"columns": {"mean": metric}} if rows is PRINTED else {}
        return stats.compare(named, metric=metric, direction="higher", margin=0.5, **columns, **options).pairs[0]

    free, cut = compared("score"), compared("mrr")
    assert (cut.p_value, cut.p_holm, cut.verdict) == (free.p_value, free.p_holm, free.verdict)
    assert free.interval.low < -1
    for whole, part in ((free.interval, cut.interval), (free.wide, cut.wide)):
        assert [*part] == [max(whole.low, -1.0), min(whole.high, 1.0)]


def test_a_gate_shows_no_loss_that_cannot_be() -> None:
    new, old = ([row for row in FEW if row["method"] == method] for method in "ab")
    sides = [{"m": {row["seed"]: row["value"] for row in side}} for side in (new, old)]
    found = stats.gate(*sides, metric="mrr", margin=0.5)
    assert (found.low, found.high) == (-1, 1)


def test_distances_from_a_target_differ_by_at_most_the_greatest_one() -> None:
    rows = [{**row, "coverage_0.9": row.pop("value")} for row in _of(0.2, 0.9, 0.9, 0.1)]
    found = stats.compare(rows, metric="coverage_0.9")
    assert found.target is not None
    most = max(found.target, 1 - found.target)
    assert [*found.pairs[0].interval] == [-most, most]


def _ranks(seed: int, *negatives: int, **options: Any) -> Any:
    random = np.random.default_rng(seed)
    return ranking.evaluate(random.normal(1, 1, 60), random.normal(0, 1, negatives), **options)


def test_a_leading_mean_is_named_with_the_metrics_that_are_judged() -> None:
    level = {"a": (0.5, [0.3] * 3), "b": (0.4, [0.9, 0.9, math.nan])}
    rows = [{"method": m, "seed": s, "acc": x, "f1": f} for m, (x, own) in level.items() for s, f in enumerate(own)]
    said = stats.aggregate(rows)
    assert said.conclusion.startswith("a has the best mean of acc over")
    ties = [{"method": m, "seed": 0, "acc": x, "f1": 1 - x} for m, x in (("a", 0.25), ("b", 0.5))]
    assert stats.aggregate(ties).conclusion.startswith("a and b each have 1 of 2 best means over 1 run")


def test_queries_that_share_one_pool_of_negatives_are_not_compared_one_by_one() -> None:
    runs = {name: _ranks(seed, 40, metrics=["mrr", "pooled_hits@3"]) for seed, name in enumerate("ab")}
    with pytest.raises(InputError, match=r"all 60 queries of .* share one pool of negatives.*several seeds"):
        stats.compare(runs, metric="mrr", over="items")
    assert stats.gate(*runs.values(), metric="mrr", margin=0.5).unit == "interval"
    assert "items" not in stats.compare(runs, metric="mrr").conclusion


@pytest.mark.parametrize("keys", [(2**63 + 5, 2**64 - 1), ("s0", "s1"), (0.5, 1.5), ("seed 1", "seed 2")])
def test_keys_of_a_dictionary_that_are_seeds(keys: Any) -> None:
    runs = stats.read_runs({"a": dict.fromkeys(keys, 0.5)})
    assert (runs.datasets, len({run.seed for run in runs})) == ([""], 2)


def test_a_metric_that_is_not_fair_to_a_class_names_one_that_is() -> None:
    truths = [np.eye(5, k=1), np.eye(5, k=2), np.eye(5, k=3)]
    runs = {
        "dag": recovery.evaluate(truths, truths),
        "cpdag": recovery.evaluate(truths, [each + each.T for each in truths], encoding="mixed"),
    }
    found = stats.compare(runs, metric="directed_f1", over="items")
    wanted = "No method can be compared: cpdag (directed_f1 is not fair to CPDAGs; use skeleton_f1"
    assert found.conclusion.startswith(wanted)
    assert not stats.aggregate(runs, metrics="directed_f1").to_grid().marks


def test_graphs_with_other_truths_are_not_paired() -> None:
    truths, guesses = [np.eye(5, k=k) for k in (1, 2, 3)], [np.eye(5, k=1)] * 3
    runs = {"a": recovery.evaluate(truths, guesses), "b": recovery.evaluate([each.T for each in truths], guesses)}
    with pytest.raises(InputError, match="3 of 3 items have other truths"):
        stats.compare(runs, metric="directed_f1", over="items")


def test_items_with_other_weights_are_not_paired() -> None:
    true, weights = np.array(list("abab") * 5), np.linspace(1, 2, 20)
    runs = {"a": prediction.evaluate(true, true), "b": prediction.evaluate(true, true[::-1], weights=weights)}
    with pytest.raises(InputError, match=r"20 of 20 items have other weights.*Give all runs the same weights="):
        stats.compare(runs, metric="accuracy", over="items")


def test_forecasts_that_abstain_are_not_ranked_nor_pass_a_gate() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=(60, 1, 2))
    runs = {
        name: forecasting.evaluate(truth, np.where(np.abs(truth) > most, np.nan, truth + size), nan="omit")
        for name, most, size in (("all", 9, 0.2), ("easy", 1, 0.1))
    }
    said = "No method can be compared: all and easy (methods were measured on different data: "
    assert stats.compare(runs, metric="mae", over="items").conclusion.startswith(said)
    with pytest.raises(InputError, match="No method can be compared"):
        stats.gate(*runs.values(), metric="mae", margin=1.0)


def test_the_margin_is_part_of_the_conclusion() -> None:
    found = stats.compare(EIGHT, metric="acc", margin=0.5)
    assert found.conclusion.endswith(found.margins[0])
    assert str(found).count("equivalent up to 0.5") == 1


@pytest.mark.parametrize("margin", ["x", True, math.nan])
def test_a_margin_is_a_number(margin: Any) -> None:
    with pytest.raises(OptionError, match="margin must be a number"):
        stats.compare(EIGHT, metric="acc", margin=margin)


def test_the_same_order_everywhere_has_an_exact_p() -> None:
    found = stats.friedman([[1.0, 2.0, 3.0]] * 9)
    assert found.p_value == pytest.approx(6.0**-8)
    assert str(found).endswith("p < 0.0001")
    tied = stats.friedman([[1.0, 1.0, 2.0]] * 12)
    assert (tied.p_value, tied.method) == (pytest.approx(3.0**-11), "exact")


def test_comments_in_latex_are_as_they_were_written() -> None:
    rows = [{"method": m, "seed": s, "acc": x} for m in "ab" for s, x in enumerate((0.5, math.nan))]
    assert 'missing="omit"' in stats.aggregate(rows).to_latex()


def test_advice_names_what_works() -> None:
    single = [{"method": m, "acc": x} for m, x in (("a", 0.5), ("b", 0.4))]
    table = stats.aggregate(single)
    assert not re.search("items|seeds=", " ".join(table.to_grid(marks="tests").notes))
    kept = {name: _ranks(seed, 60, 5, metrics=["mrr", "median_rank"]) for seed, name in enumerate("ab")}
    assert stats.compare(kept, metric="mrr").conclusion.endswith('compared over their items: over="items".')
    assert "items" not in stats.compare(kept, metric="median_rank").conclusion
    with pytest.raises(InputError, match=r"median_rank is no mean over items in a, seed 0\. These are: mrr\."):
        stats.compare(kept, metric="median_rank", over="items")
    bare = {name: _ranks(seed, 60, 5, metrics=["median_rank"]) for seed, name in enumerate("ab")}
    with pytest.raises(InputError, match=r"is no mean over items .* Evaluate a metric that is, such as mrr\."):
        stats.compare(bare, metric="median_rank", over="items")


def test_metrics_that_were_named_are_shown_or_named() -> None:
    few = {"a": _ranks(0, 60, 5, metrics=["mrr", "hits@1", "mean_rank"])}
    assert list(stats.aggregate(few).panels) == ["mrr", "hits@1", "mean_rank"]
    many = {"a": _ranks(0, 60, 5, metrics=["default", "mean_rank"])}
    assert 'not shown: mean_rank; metrics="all" shows all' in stats.aggregate(many).notes
    assert not stats.aggregate({"a": _ranks(0, 60, 5)}).notes


def test_datasets_without_the_metric_are_left_out() -> None:
    rows: list[Any] = [
        {"method": m, "dataset": "d", "seed": s, "acc": x} for m, own in EIGHT.items() for s, x in own.items()
    ]
    others = [ranking.evaluate([1.0, 2.0], [[0.0], [3.0]]).named(method=m, dataset="e", seed=0) for m in "ab"]
    own = [
        ranking.evaluate([x], [0.5, 0.7]).named(method=r["method"], dataset="d", seed=r["seed"])
        for r in rows
        for x in [r["acc"]]
    ]
    found = stats.compare([*own, *others], metric="roc_auc")
    assert "e left out: no run there has roc_auc" in found.notes


def test_a_metric_without_a_value_says_why_over_items() -> None:
    cycle = np.eye(4, k=1) + np.eye(4, k=-3)
    truths = [np.eye(4, k=1)] * 3
    runs = {
        "a": recovery.evaluate(truths, truths, metrics=["cpdag_shd"]),
        "b": recovery.evaluate(truths, [cycle] * 3, metrics=["cpdag_shd"]),
    }
    with pytest.raises(
        InputError, match=r"runs without cpdag_shd: b seed 0 .*cycle.*Compare by a metric that all have"
    ):
        stats.compare(runs, metric="cpdag_shd", over="items")


def test_marks_by_tests_say_what_they_are() -> None:
    rows = [{"method": m, "seed": s, "acc": x} for m, own in EIGHT.items() for s, x in own.items()]
    table = stats.aggregate(rows)
    assert "means without a mark are significantly worse (95 %, Holm's correction)" in table.to_latex(marks="tests")
    assert "compare tests it" not in table.render(marks="tests")


@pytest.mark.parametrize("cell", ["OOM", "1_000", "−0.5"])
def test_a_cell_that_is_no_number_has_a_remedy(cell: str) -> None:
    with pytest.raises(InputError, match=r"Write the number alone, .* leave the cell of a failed run empty"):
        stats.read_runs([{"method": "a", "acc": 0.5}, {"method": "b", "acc": cell}])
