"""Runs from everywhere, the comparison and the table that are made of them."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

from graphgauge import ranking, stats
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.finding import Finding
from graphgauge.core.items import Items
from graphgauge.core.result import Result

SCORES = {
    "gcn": {seed: 0.84 + 0.001 * (seed % 3) for seed in range(8)},
    "gat": {seed: 0.82 + 0.001 * (seed * 7 % 5) for seed in range(8)},
    "sage": {seed: 0.82 + 0.001 * (seed * 3 % 7) for seed in range(8)},
    "gin": {seed: 0.70 + 0.002 * (seed * 5 % 8) for seed in range(8)},
}


def evaluated(method, values, *, seed=0, unit="query", dataset="toy", key="mrr", finding=None, **parts):
    values = np.asarray(values, dtype=float)
    items = Items(unit, np.arange(len(values)), {key: values}, **parts)
    weights = items.weights.get(key)
    value = float(values.mean() if weights is None else weights @ values / weights.sum())
    result = Result(
        key=key,
        metric=key,
        value=value,
        n=len(values),
        unit=unit,
        direction="higher",
        bounds=(0.0, 1.0),
        conventions={},
    )
    run = Run(method=method, dataset=dataset, seed=seed)
    return Evaluation("made", [result], run=run, per_item=items, findings=[finding] if finding else [])


# ---- reading


def test_folders_of_flat_files_as_the_original_document_writes_them(tmp_path):
    for method, level in (("rcgnn", 0.9), ("notears", 0.6)):
        folder = tmp_path / "artifacts" / method
        folder.mkdir(parents=True)
        for dataset in ("uci_air", "toy"):
            for seed in range(3):
                content = {
                    "directed_f1": level + 0.01 * seed,
                    "directed_shd": 3,
                    "f1_at_1.0e": 0.5,
                    "config": {"lr": 0.1},
                }
                (folder / f"metrics_{dataset}_{seed}.json").write_text(json.dumps(content))
    runs = stats.read_runs(tmp_path / "artifacts")
    assert (len(runs), runs.methods, runs.datasets) == (12, ["notears", "rcgnn"], ["toy", "uci_air"])
    assert runs.metrics == ["directed_f1", "directed_shd", "f1_at_1.0e"]
    assert stats.aggregate(runs)["directed_f1", "rcgnn", "toy"].mean == pytest.approx(0.91)


def test_the_list_of_dicts_of_the_original_document():
    """aggregate_metrics(metrics_list): mean, std, min, max and the interval of every key, by t instead of 1.96."""
    metrics = [
        {"directed_f1": x, "directed_shd": n} for x, n in ((0.92, 1), (0.95, 0), (0.88, 3), (0.93, 1), (0.91, 2))
    ]
    table = stats.aggregate(metrics)
    row = table["directed_f1"]
    x = np.array([each["directed_f1"] for each in metrics])
    assert (row.mean, row.std, row.min, row.max, row.n) == (
        pytest.approx(x.mean()),
        pytest.approx(x.std(ddof=1)),
        0.88,
        0.95,
        5,
    )
    assert row.ci_upper - row.mean == pytest.approx(2.7764451 * x.std(ddof=1) / math.sqrt(5), rel=1e-6)
    assert table["directed_shd"].max == 3


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"algo": a, "noise": n, "rep": r, "SHD": n * r} for a in "ab" for n in (1, 2) for r in (1, 2)],
            'columns={"method": "algo", "dataset": "noise", "seed": "rep"}.',
        ),
        ([{"model": a, "fold": f, "acc": 0.5} for a in "ab" for f in (0, 1)], '{"method": "model", "seed": "fold"}'),
        ([{"model": a, "seed": s, "acc": 0.5} for a in "ab" for s in (0, 1)], '{"method": "model", "seed": "seed"}'),
        ([{"method": "a", "note": "x"}], "contains no metric"),
        ([{"method": "a", "cora": "0.9 ± 0.02"}], "has printed means (cora). Add a column n"),
        ([{"method": "a", "mean": 0.9, "std": 0.02}], 'frame.assign(n=5)), or name it: columns={"n": COLUMN}.'),
        ([{"method": "a", "acc": 0.9, "std": 0.02, "n": 5}], 'needs one of mean. Name it: columns={"mean": COLUMN}.'),
        ([{"method": "a", "acc": 0.5, "seed": ""}], "has no seed"),
        ([{"method": "a", "acc": "0.5x"}, {"method": "a", "acc": 0.5}], "acc: '0.5x' is not a number"),
        ([{"method": "a", "seed": 1, "acc": 0.5}, {"method": "a", "seed": 1.0, "acc": 0.5}], "seed 1 occurs twice"),
    ],
)
def test_tables_that_are_refused_say_what_to_write(rows, said):
    with pytest.raises(InputError) as error:
        stats.read_runs(rows)
    assert said in str(error.value)


def test_two_rows_of_names_are_refused_with_the_line_to_write(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [{"method": m, "mrr": s / 10, "hits": s / 20} for m in "ab" for s in range(3)]
    frame = pandas.DataFrame(rows).groupby("method").agg(["mean", "std", "count"])
    frame.to_csv(tmp_path / "t.csv")
    for source in (frame, tmp_path / "t.csv"):
        with pytest.raises(InputError, match=r'frame\["mrr"\]\.reset_index\(\)'):
            stats.read_runs(source)
    named = {"mean": "mean", "std": "std", "n": "count"}
    found = stats.compare(frame["mrr"].reset_index(), metric="mrr", columns=named)
    assert found.design.printed


def test_tables_by_their_columns(tmp_path):
    (tmp_path / "t.csv").write_text("algo,rep,metric,value\na,0,f1,0.5\na,0,shd,3\nb,0,f1,0.25\nb,0,shd,\n")
    with pytest.raises(InputError, match="no column"):
        stats.read_runs(tmp_path / "t.csv")
    columns = "method=algo,seed=rep,metric=metric,value=value"
    runs = stats.read_runs(tmp_path / "t.csv", columns=columns)
    assert (runs.methods, runs.metrics) == (["a", "b"], ["f1", "shd"])
    with pytest.raises(OptionError, match=r"no column 'algi' for method\. It has algo, rep, metric, value"):
        stats.read_runs(tmp_path / "t.csv", columns={"method": "algi"})
    for wrong in ("method", "methods=algo", {"method": ""}):
        with pytest.raises(OptionError):
            stats.read_runs(tmp_path / "t.csv", columns=wrong)


def test_a_folder_names_what_it_cannot_read(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "metrics_d_0.json").write_text('{"f1": 0.5}')
    (tmp_path / "m" / "metrics_d_1.json").write_text('{"f1": 0.5, "f1": 0.7}')
    runs = stats.read_runs(tmp_path)
    assert len(runs) == 1
    assert "metrics_d_1.json" in runs.notes[0]
    assert "metrics_d_1.json" in str(stats.aggregate(tmp_path))


# ---- comparing


def test_four_methods_and_eight_seeds_fit_a_screen_and_end_with_a_sentence_to_quote():
    said = str(stats.compare(SCORES, metric="accuracy"))
    assert len(said) <= 1300
    last = said.splitlines()[-1]
    assert last.startswith("gcn is better than")
    for part in ("p = 0.0469", "sign flips, Holm over 6 tests", "effect size 1.00 (large)", "95 % interval"):
        assert part in last


def test_the_order_of_rows_and_methods_does_not_matter():
    rows = [{"method": m, "seed": s, "acc": x} for m, own in SCORES.items() for s, x in own.items()]
    assert stats.compare(rows).to_json() == stats.compare(rows[::-1]).to_json()


def test_pairs_have_the_sign_of_their_names_and_effects_that_of_the_better():
    found = stats.compare(SCORES, metric="error", direction="lower", baseline="gcn")
    pair = found["gin", "gcn"]
    assert (pair.names, pair.verdict) == (("gin", "gcn"), "first")
    assert pair.difference < 0 < pair.effect
    with pytest.raises(UnknownNameError):
        found["gin", "gat"]


def test_designs_follow_from_ids():
    lists = {name: list(own.values()) for name, own in SCORES.items()}
    assert not stats.compare(lists, metric="acc").design.paired
    assert stats.compare(SCORES, metric="acc").design.paired
    partly = {"a": {0: 0.1, 1: 0.2, 2: 0.4}, "b": {1: 0.3, 2: 0.4, 3: 0.7}}
    with pytest.raises(InputError, match="a seed 3"):
        stats.compare(partly, metric="acc")
    assert stats.compare(partly, metric="acc", missing="omit").design.units == (2, 2)
    assert stats.compare(partly, metric="acc", design="unpaired").design.units == (3, 3)


def test_failures_do_not_help():
    runs = [
        {"method": m, "seed": s, "mrr": x} for m, own in SCORES.items() for s, x in own.items() if m in ("gcn", "gat")
    ]
    runs[0]["mrr"] = math.nan
    with pytest.raises(InputError, match=r"gcn seed 0 \(NaN\)"):
        stats.compare(runs, metric="mrr")
    assert stats.compare(runs, metric="mrr", missing="omit").design.units == (7, 7)
    assert stats.compare(runs, metric="mrr", missing="worst")["gcn"].mean < 0.75
    assert math.isnan(stats.aggregate(runs)["mrr", "gcn"].mean)


def test_an_error_in_a_result_is_respected_by_every_comparison():
    copied = Finding(check="copied-test-set", severity="error", message="it copies the test set", remedy="Train again")
    runs = [evaluated("copier", [0.9, 1.0], seed=s, finding=copied) for s in range(8)]
    runs += [evaluated("honest", [0.4, 0.5 + s / 100], seed=s) for s in range(8)]
    runs += [evaluated("weak", [0.1, 0.2 + s / 90], seed=s) for s in range(8)]
    found = stats.compare(runs, metric="mrr")
    assert found.best == "honest"
    assert found["copier", "honest"].verdict == "invalid"
    assert found.conclusion.startswith("honest is better than weak")
    assert "error [copied-test-set] in 8 of 8 runs of copier" in str(found)


def test_items_of_single_runs_and_their_clusters():
    random = np.random.default_rng(0)
    x, labels = random.random(60), np.repeat(np.arange(12), 5)
    pair = {"a": evaluated("a", x), "b": evaluated("b", np.clip(x - 0.1 * random.random(60), 0, 1))}
    plain = stats.compare(pair, metric="mrr", over="items")
    assert (plain.design.unit, plain.design.units, plain["a", "b"].test) == ("query", (60, 60), "Student's t")
    pair = {name: evaluated(name, each.per_item["mrr"], cluster=labels) for name, each in pair.items()}
    assert stats.compare(pair, metric="mrr", over="items")["a", "b"].test == "sign flips of clusters"
    pair["b"].per_item.ids[0] = 99
    with pytest.raises(InputError, match="different items"):
        stats.compare(pair, metric="mrr", over="items")
    assert stats.compare(pair, metric="mrr", over="items", missing="omit").design.units == (59, 59)


def test_weighted_items_have_the_means_of_their_evaluations():
    random = np.random.default_rng(1)
    weights = {"mrr": random.random(50) + 0.1}
    pair = {name: evaluated(name, random.random(50), weights=weights) for name in "ab"}
    found = stats.compare(pair, metric="mrr", over="items")
    for name, each in pair.items():
        assert found[name].mean == pytest.approx(each["mrr"].value, rel=1e-12)


def test_time_steps_are_diebold_and_mariano():
    random = np.random.default_rng(2)
    pair = {name: evaluated(name, random.random(80), unit="time step") for name in "ab"}
    found = stats.compare(pair, metric="mrr", over="items")
    assert (found.design.over, found["a", "b"].test) == ("80 time steps", "cosine-t")
    short = {name: evaluated(name, random.random(20), unit="time step") for name in "ab"}
    assert not stats.compare(short, metric="mrr", over="items").can_reject


def test_too_few_say_how_many_it_takes_and_what_else_there_is():
    random = np.random.default_rng(0)
    short = {name: evaluated(name, random.random(20), unit="time step") for name in "ab"}
    assert "it takes 30." in stats.compare(short, metric="mrr", over="items").conclusion
    rows = [{"method": m, "dataset": d, "seed": s, "f1": 0.5 + s / 10} for m in "ab" for d in "xyz" for s in range(3)]
    drawn = stats.compare(rows, metric="f1")
    assert any('datasets="these"' in note for note in drawn.notes)
    assert not stats.compare(rows, metric="f1", datasets="these").notes


def test_metrics_that_were_not_computed_are_named_by_the_error():
    pair = {name: ranking.evaluate([shift, 0.5], [[0.1], [0.7]]) for name, shift in (("a", 0.0), ("b", 0.2))}
    with pytest.raises(UnknownNameError, match=r'not computed: name it when evaluating, metrics=\["hits@5", …\]'):
        stats.compare(pair, metric="hits@5", over="items")


def test_printed_means_are_joined_with_runs_of_the_same_metric():
    runs = [{"method": "ours", "seed": seed, "acc": 0.8 + seed / 100} for seed in range(5)]
    printed = [{"method": "theirs", "metric": "acc", "mean": 0.7, "std": 0.01, "n": 10}]
    joined = stats.Runs([*stats.read_runs(runs), *stats.read_runs(printed)])
    assert joined.metrics == ["acc"]
    assert stats.compare(joined)["ours", "theirs"].test == "Welch's t"


def test_printed_means_are_welchs_t():
    rows = [{"m": "a", "acc": 0.9, "sd": 0.02, "k": 5}, {"m": "b", "acc": 0.85, "sd": 0.03, "k": 10}]
    columns = {"method": "m", "mean": "acc", "std": "sd", "n": "k"}
    pair = stats.compare(rows, columns=columns)["a", "b"]
    error = math.sqrt(0.02**2 / 5 + 0.03**2 / 10)
    assert (pair.error, pair.test) == (pytest.approx(error), "Welch's t")
    assert pair.effect == pytest.approx(0.05 / math.sqrt((0.02**2 + 0.03**2) / 2))
    cells = [{"method": "a", "mean": "0.9 ± 0.02", "n": 5}, {"method": "b", "mean": "0.85 ± 0.03", "n": 10}]
    for columns in ({"mean": "mean", "n": "n"}, {"mean": "mean"}, None):
        again = stats.compare(cells, columns=columns, metric="acc")
        assert again["a", "b"].p_value == pytest.approx(pair.p_value, rel=1e-12)


def test_margins_and_numbers_of_seeds():
    close = {"a": {s: 0.5 + 0.001 * (s % 3) for s in range(10)}, "b": {s: 0.5 + 0.001 * (s % 2) for s in range(10)}}
    found = stats.compare(close, metric="acc", margin=0.01)
    assert any("equivalent up to 0.01" in line for line in found.margins)
    assert found["a", "b"].wide.level == pytest.approx(0.9)
    assert found.needed(0.001)["a", "b"] > found.needed(0.01)["a", "b"] >= 6


def test_comparisons_are_files(tmp_path):
    found = stats.compare(SCORES, metric="accuracy")
    path = found.save(tmp_path / "c.json")
    again = stats.Comparison.load(path)
    assert again.to_json() == found.to_json()
    assert str(again) == str(found)
    path.write_text(path.read_text().replace('"p_value": 0.0078125', '"p_value": 0.5', 1))
    with pytest.raises(InputError, match="root does not match"):
        stats.Comparison.load(path)
    for ending in ("csv", "md", "tex", "html", "txt"):
        assert found.save(tmp_path / f"c.{ending}").stat().st_size > 100


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": -1}, "margin must be a number above 0"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"over": "item"}, "unknown over"),
        ({"over": "items", "design": "paired"}, "no meaning"),
        ({"baseline": "mlp"}, "unknown method"),
        ({"metric": "gap"}, "not known"),
        ({"metrics_compared": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        stats.compare(SCORES, **{"metric": "acc", **options})


# ---- tables


def test_a_table_marks_the_best_and_what_tests_cannot_tell_apart():
    table = stats.aggregate([{"method": m, "seed": s, "acc": x} for m, own in SCORES.items() for s, x in own.items()])
    marks = table.to_grid(marks="tests").marks
    assert marks == {(0, "acc ↑"): "best"}
    few = stats.aggregate([{"method": m, "seed": s, "acc": SCORES[m][s]} for m in SCORES for s in range(3)])
    grid = few.to_grid(marks="tests")
    assert not grid.marks
    assert "With 3 seeds no difference can be significant" in grid.notes[0]


def test_a_table_by_dataset_and_its_forms(tmp_path):
    rows = [
        {"method": m, "dataset": d, "seed": s, "acc": x + shift}
        for m, own in SCORES.items()
        for s, x in own.items()
        for d, shift in (("cora", 0.0), ("pubmed", 0.1))
    ]
    table = stats.aggregate(rows)
    assert list(table.to_grid().columns) == ["method", "cora", "pubmed"]
    assert r"84.1 $\pm$ 0.1" in table.to_latex(digits=1, percent=True)
    assert len(table.to_long()) == 8
    for ending in ("csv", "md", "tex", "html", "txt", "json"):
        assert table.save(tmp_path / f"t.{ending}").stat().st_size > 100
    with pytest.raises(InputError, match="8 summaries belong to 'acc'"):
        table["acc"]


# ---- gates


@pytest.mark.parametrize(("shift", "worse"), [(0.01, "excluded"), (-0.2, "shown"), (-0.05, "undecided")])
def test_gates_over_items(shift, worse):
    random = np.random.default_rng(3)
    x = 0.3 + 0.4 * random.random(200)
    old, new = evaluated("m", x), evaluated("m", x + shift + 0.02 * random.normal(size=200))
    found = stats.gate(new, old, metric="mrr", margin=0.05)
    assert (found.worse, bool(found), found.n) == (worse, worse == "excluded", 200)
    assert found.outcome.verdict == {"excluded": "passed", "shown": "failed", "undecided": "undecided"}[worse]


def test_gates_over_seeds_and_from_intervals(tmp_path):
    old = [evaluated("m", [0.5 + s / 100, 0.6], seed=s) for s in range(6)]
    new = [evaluated("n", [0.5 + s / 100, 0.61], seed=s) for s in range(6)]
    found = stats.gate(new, old, metric="mrr", margin=0.02)
    assert (found.unit, found.n, found.paired, found.worse) == ("seed", 6, True, "excluded")
    with pytest.raises(InputError, match="single result files"):
        stats.gate(new, old, metric="mrr", margin=0.02, over="intervals")
    alone = stats.gate(new[0], old[0], metric="mrr", margin=0.02, over="intervals")
    assert alone.worse == "undecided"
    path = old[0].save(tmp_path / "old.json")
    assert stats.gate(new[0], path, metric="mrr", margin=0.5).unit == "query"


def test_thirty_methods_on_112_datasets_take_seconds():
    random = np.random.default_rng(4)
    rows = [
        {"method": f"m{i}", "dataset": f"d{j}", "accuracy": float(random.normal(0.7 + 0.002 * i, 0.05))}
        for i in range(30)
        for j in range(112)
    ]
    started = time.process_time()
    found = stats.compare(rows, metric="accuracy")
    assert len(str(found).splitlines()) < 60
    assert len(found.pairs) == 435
    assert time.process_time() - started < 3
