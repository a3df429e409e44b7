"""Summaries, and that absence never helps."""

from __future__ import annotations

import csv
import json
import math
import statistics
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.stats import aggregate

F1 = {"a": [0.91, 0.93, 0.95, 0.90, 0.91, 0.92, 0.94, 0.90], "b": [0.64, 0.70, 0.66, 0.58, 0.67, 0.65, 0.60, 0.63]}


def records(scores: dict[str, list[float]] = F1, metric: str = "f1") -> list[dict[str, Any]]:
    return [
        {"method": method, "dataset": "sachs", "seed": seed, metric: value}
        for method, values in scores.items()
        for seed, value in enumerate(values)
    ]


def test_the_numbers_of_one_metric() -> None:
    row = aggregate([{"f1": value} for value in F1["a"][:5]])["f1"]
    assert row.mean == pytest.approx(statistics.mean(F1["a"][:5]))
    assert row.std == pytest.approx(statistics.stdev(F1["a"][:5]))
    assert (row.min, row.max, row.n, row.planned) == (0.90, 0.95, 5, 5)
    margin = 2.776445 * statistics.stdev(F1["a"][:5]) / math.sqrt(5)  # Student's t at 4 df
    assert (row.ci_lower, row.ci_upper) == pytest.approx((row.mean - margin, row.mean + margin), abs=1e-7)


def test_rows_are_found_by_name() -> None:
    table = aggregate(records())
    assert table["f1", "a"] is table["f1", "a", "sachs"]
    with pytest.raises(InputError, match=r"matches 2 rows\. Also name the method and the dataset"):
        table["f1"]
    with pytest.raises(UnknownNameError, match="unknown method 'c'"):
        table["f1", "c"]


def test_one_run_has_no_spread() -> None:
    row = aggregate([{"f1": 0.9}])["f1"]
    assert row.mean == 0.9
    assert math.isnan(row.std)
    assert math.isnan(row.ci_lower)
    assert row.reason == "one run has no spread"


@pytest.mark.parametrize("absent", ["nan", "no file"])
def test_a_missing_run_never_improves_a_mean(absent: str) -> None:
    rows = records()
    if absent == "nan":
        rows[3]["f1"] = math.nan
    else:
        del rows[3]
    left_open = aggregate(rows)["f1", "a"]
    assert math.isnan(left_open.mean)
    assert left_open.reason is not None
    assert "seed 3" in left_open.reason
    omitted = aggregate(rows, missing="omit")["f1", "a"]
    assert (omitted.n, omitted.planned) == (7, 8)
    assert omitted.mean == pytest.approx(statistics.mean(F1["a"][:3] + F1["a"][4:]))
    assert "7 of 8" in str(aggregate(rows, missing="omit"))
    assert "a on sachs seed 3" in str(aggregate(rows))


def test_worst_uses_the_bound(write_run: Any, results: Path) -> None:
    for seed, value in enumerate([0.5, 0.7]):
        write_run("pc", "sachs", seed, {"f1": value})
        write_run("ges", "sachs", seed, {"f1": value if seed else math.nan})
    assert aggregate(results, missing="worst")["f1", "ges"].mean == pytest.approx(0.35)
    with pytest.raises(OptionError, match="no known direction"):
        aggregate([{"x": 1.0}, {"x": math.nan}], missing="worst")
    write_run("ges", "sachs", 0, {"shd": math.nan}, bounds=(0.0, math.inf))
    write_run("pc", "sachs", 0, {"shd": 3.0}, bounds=(0.0, math.inf))
    with pytest.raises(OptionError, match="no bound on its bad side"):
        aggregate(results, missing="worst", metrics=["shd"])


def test_other_seed_labels_are_not_missing_runs() -> None:
    rows = [
        {"method": m, "dataset": "x", "seed": s, "f1": 0.5 + s / 100}
        for m, seeds in (("a", (0, 1)), ("b", (7, 8)))
        for s in seeds
    ]
    table = aggregate(rows, directions={"f1": "higher"})
    assert table["f1", "b"].n == 2
    assert "because the methods do not have values for the same seeds" in str(table)


def test_best_and_close_are_marked() -> None:
    scores = {**F1, "c": [x - 0.001 * (-1) ** i for i, x in enumerate(F1["a"])]}
    table = aggregate(records(scores), directions={"f1": "higher"})
    assert table.marks("f1", "sachs") == {"a": "best", "c": "close"} or table.marks("f1", "sachs") == {
        "c": "best",
        "a": "close",
    }
    lower = aggregate(records(scores), directions={"f1": "lower"})
    assert lower.marks("f1", "sachs") == {"b": "best"}
    unnamed = [{("zeal" if name == "f1" else name): value for name, value in row.items()} for row in records(scores)]
    assert "The better direction is unknown" in str(aggregate(unnamed))
    few = {name: values[:5] for name, values in scores.items()}
    table = aggregate(records(few), directions={"f1": "higher"})
    assert set(table.marks("f1", "sachs").values()) == {"best", "close"}
    assert len(table.marks("f1", "sachs")) == 3  # no difference is significant with five seeds
    assert "With fewer than 7 seeds the paired tests of 3 methods cannot reject" in str(table)


def test_a_target_is_approached() -> None:
    from graphgauge.old.stats.runs import Run, Runs, Score

    runs = Runs(
        Run(method, "x", seed, {"coverage_95": Score(value + seed / 1000, "target", 0.95, (0, 1))})
        for method, value in (("wide", 0.99), ("right", 0.945))
        for seed in range(8)
    )
    assert aggregate(runs).marks("coverage_95", "x") == {"right": "best"}


@pytest.mark.parametrize(("target", "worst"), [(0.95, 0.0), (0.1, 1.0)])
def test_worst_is_the_bound_farther_from_a_target(target: float, worst: float) -> None:
    from graphgauge.old.stats.runs import Run, Runs, Score

    runs = Runs(
        Run("m", "x", seed, {"coverage": Score(value, "target", target, (0.0, 1.0))})
        for seed, value in enumerate((target, math.nan))
    )
    assert aggregate(runs, missing="worst")["coverage"].mean == pytest.approx((target + worst) / 2)


def test_mixed_conventions_are_refused(write_run: Any, results: Path) -> None:
    write_run("pc", "sachs", 0, {"directed_shd": 3.0}, conventions={"shd": "pair"})
    write_run("ges", "sachs", 0, {"directed_shd": 5.0}, conventions={"shd": "cell"})
    with pytest.raises(
        InputError, match=r"shd is cell in 1 run \(ges on sachs, seed 0\); pair in 1 run \(pc on sachs, seed 0\)"
    ):
        aggregate(results)


def test_metrics_of_two_families(write_run: Any, results: Path) -> None:
    write_run("m", "x", 0, {"roc_auc": 0.7}, family="ranking")
    write_run("m", "x", 0, {"roc_auc": 0.9}, family="recovery")
    with pytest.raises(InputError, match="measured in ranking and recovery"):
        aggregate(results)


def test_every_format() -> None:
    table = aggregate(records(), directions={"f1": "higher"})
    assert "0.920 ± 0.019 *" in table.render("table")
    assert "| **0.920 ± 0.019** |" in table.render("markdown")
    assert r"\textbf{0.920 $\pm$ 0.019}" in table.render("latex")
    rows = list(csv.DictReader(StringIO(table.render("csv"))))
    assert [row["method"] for row in rows] == ["a", "b"]
    content = json.loads(table.render("json"))
    assert content["rows"][1]["mean"] == pytest.approx(statistics.mean(F1["b"]))
    with pytest.raises(UnknownNameError, match="unknown format 'html'"):
        table.render("html")


def test_many_metrics_go_down_the_page() -> None:
    table = aggregate([{"method": method, **{f"m{i}": i for i in range(9)}} for method in ("a", "b")])
    assert table.render("table").splitlines()[0].split() == ["metric", "a", "b"]
    assert table.render("markdown").startswith("| method | m0 |")


def test_names_cannot_break_the_markup() -> None:
    table = aggregate([{"method": "a_b|c & 50 %", "f1": 1.0}])
    assert r"a\_b\|c & 50 %" in table.render("markdown")
    assert r"a\_b\textbar{}c \& 50 \%" in table.render("latex")


@pytest.mark.parametrize("bad", [{"missing": "drop"}, {"confidence": 1.5}])
def test_options_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        aggregate([{"f1": 1.0}], **bad)
    with pytest.raises(UnknownNameError, match="unknown metric 'f2'"):
        aggregate([{"f1": 1.0}], metrics=["f2"])
    with pytest.raises(InputError, match="no runs"):
        aggregate([], metrics=["f1"])


def test_directions_are_checked() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown direction 'up'\. Known: higher, lower"):
        aggregate(records(), directions={"f1": "up"})  # type: ignore[dict-item]
    with pytest.raises(UnknownNameError, match=r"unknown metric 'f2'\. Did you mean 'f1'"):
        aggregate(records(), directions={"f2": "higher"})
    with pytest.raises(OptionError, match="directions must be a mapping from metric to direction, not 'higher'"):
        aggregate(records(), directions="higher")  # type: ignore[arg-type]


def test_without_runs_there_is_no_table() -> None:
    with pytest.raises(InputError, match="there are no runs"):
        aggregate([])


def test_one_metric_may_be_named_alone() -> None:
    assert aggregate(records(), metrics="f1")["f1", "a"].n == 8


def test_an_infinite_score_has_no_spread() -> None:
    row = aggregate([{"rank": 3.0}, {"rank": math.inf}])["rank"]
    assert row.mean == math.inf
    assert math.isnan(row.std)
    assert math.isnan(row.ci_lower)
    assert row.reason == "an infinite value has no spread"


def test_marks_are_asked_for_by_name() -> None:
    table = aggregate(records(), directions={"f1": "higher"})
    with pytest.raises(UnknownNameError, match="unknown metric 'f2'"):
        table.marks("f2", "sachs")
    with pytest.raises(UnknownNameError, match="unknown dataset 'sach'"):
        table.marks("f1", "sach")


def test_runs_without_a_dataset_are_named_without_it() -> None:
    rows = [{"method": "a", "seed": 0, "f1": 1.0}, {"method": "a", "seed": 1, "f1": math.nan}]
    assert "a seed 1 (NaN)" in str(aggregate(rows))


def test_marks_follow_the_level() -> None:
    """Five pairs on one side have p = 0.0625."""
    few = records({name: values[:5] for name, values in F1.items()})
    assert aggregate(few, directions={"f1": "higher"}).marks("f1", "sachs") == {"a": "best", "b": "close"}
    assert aggregate(few, 0.9, directions={"f1": "higher"}).marks("f1", "sachs") == {"a": "best"}


def test_as_many_seeds_as_needed_are_enough() -> None:
    for seeds in (5, 6):
        text = str(
            aggregate(records({name: values[:seeds] for name, values in F1.items()}), directions={"f1": "lower"})
        )
        assert ("With fewer than 6 seeds the paired tests of 2 methods cannot reject" in text) == (seeds < 6)


@pytest.mark.parametrize(("name", "best"), [("acc", "b"), ("val/loss", "a"), ("test_accuracy", "b"), ("zeal", None)])
def test_a_usual_name_says_the_direction_as_in_compare(name: str, best: str | None) -> None:
    rows = [
        {"method": method, "seed": seed, name: level + 0.001 * seed}
        for method, level in (("a", 0.5), ("b", 0.6))
        for seed in range(8)
    ]
    table = aggregate(rows)
    assert [method for method, mark in table.marks(name, "").items() if mark == "best"] == [best] * (best is not None)
    assert (f'follows from the name {name}; direction="' in str(table)) == (best is not None)
    turned = aggregate(rows, directions={name: "lower"})
    assert turned.marks(name, "")["a"] == "best"
    assert "follows from the name" not in str(turned)
