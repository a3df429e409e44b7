"""Runs from every kind of file, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.sealed import sealed, write_sealed

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.old.core.result import Evaluation, Result
from graphgauge.old.stats import Runs, load
from graphgauge.old.stats.runs import panel

FAILED = {"schema": "graphgauge/result/2", "status": "failed"}


def scores(runs: Runs, metric: str) -> dict[tuple[str, str, Any], float]:
    return {(run.method, run.dataset, run.seed): run.scores[metric].value for run in runs}


def test_a_folder_of_result_files(write_run: Any, results: Path) -> None:
    write_run("pc", "sachs", 0, {"f1": 0.5})
    write_run("pc", "sachs", 1, {"f1": math.nan})
    write_run("pc", "alarm", 0, {"f1": 0.7}, conventions={"shd": "pair"})
    runs = load(results)
    assert scores(runs, "f1") == pytest.approx(
        {("pc", "sachs", 0): 0.5, ("pc", "sachs", 1): math.nan, ("pc", "alarm", 0): 0.7}, nan_ok=True
    )
    (alarm,) = runs.only(dataset=["alarm"])
    assert alarm.scores["f1"].conventions == {"shd": "pair"}
    assert alarm.scores["f1"].direction == "higher"
    assert repr(runs) == "<Runs: 3 of 1 method, 2 datasets, 2 seeds>"


def test_flat_json_of_the_original_protocol(tmp_path: Path) -> None:
    folder = tmp_path / "rc-gnn"
    folder.mkdir()
    (folder / "metrics_sachs_v2_3.json").write_text(json.dumps({"f1": 0.9, "mae_per_node": [1, 2], "shd": None}))
    (run,) = load(folder)
    assert (run.method, run.dataset, run.seed) == ("rc-gnn", "sachs_v2", 3)
    assert set(run.scores) == {"f1", "shd"}
    assert math.isnan(run.scores["shd"].value)


def test_a_flat_copy_is_not_a_second_run(write_run: Any, results: Path) -> None:
    path = write_run("pc", "sachs", 0, {"f1": 0.5})
    path.with_suffix(".flat.json").write_text(json.dumps({"f1": 0.5}))
    assert len(load(results)) == 1


def test_side_files_and_foreign_json_are_passed_over(write_run: Any, results: Path) -> None:
    path = write_run("pc", "sachs", 0, {"f1": 0.5})
    path.with_suffix(".relation.json").write_text(json.dumps({"axis": "relation", "columns": {}}))
    (results / "notes.json").write_text("[1, 2]")
    assert len(load(results)) == 1


def test_a_failed_run_is_kept_as_failed(write_run: Any, results: Path) -> None:
    path = write_run("pc", "sachs", 0, {"f1": 0.5})
    write_run("ges", "sachs", 0, {"f1": 0.5})
    content = json.loads(path.read_text())
    write_sealed(path, {**content, "status": "failed", "results": [], "error": "out of memory"})
    view = panel(load(results), "f1")
    assert [str(gap) for gap in view.gaps] == ["pc on sachs seed 0 (failed: out of memory)"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "records", "long"])
def test_tables(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "method": ["a", "a", "b"],
            "dataset": ["x", "x", "x"],
            "seed": [0, 1, 0],
            "f1": [0.1, 0.2, np.nan],
            "host": ["n1", "n2", "n1"],
        }
    )
    source: Any = frame
    if kind == "csv":
        source = tmp_path / "t.csv"
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        source = str(tmp_path / "t.parquet")
        frame.to_parquet(source)
    elif kind == "records":
        source = frame.to_dict(orient="records")
    elif kind == "long":
        source = frame.drop(columns="host").melt(["method", "dataset", "seed"], var_name="metric")
    expected = {("a", "x", 0): 0.1, ("a", "x", 1): 0.2, ("b", "x", 0): math.nan}
    assert scores(load(source), "f1") == pytest.approx(expected, nan_ok=True)


def test_plain_dictionaries_are_repetitions() -> None:
    assert [run.seed for run in load([{"f1": 0.9}, {"f1": 0.8}])] == [0, 1]


def test_evaluations() -> None:
    result = Result("mrr", "mrr", 0.5, 9, "query", "higher", (0, 1))
    named = Evaluation("ranking", [result], run={"method": "transe", "dataset": "nations", "seed": 4})
    (run,) = load([named])
    assert (run.family, run.seed, run.scores["mrr"].n) == ("ranking", 4, 9)
    (alone,) = load(Evaluation("ranking", [result]))
    assert (alone.method, alone.dataset, alone.seed) == ("", "", 0)


def evaluated(mrr: float, mean_rank: float) -> Evaluation:
    return Evaluation(
        "ranking",
        [
            Result("mrr", "mrr", mrr, 9, "query", "higher", (0, 1)),
            Result("mean_rank", "mean_rank", mean_rank, 9, "query", "lower", (1, math.inf)),
        ],
    )


@pytest.mark.parametrize("as_numbers", [False, True])
@pytest.mark.parametrize("levels", ["seed", "dataset", "dataset and seed", "dataset and list", "list"])
def test_runs_nested_by_seed_and_dataset_keep_their_metrics(levels: str, as_numbers: bool) -> None:
    """A run with several metrics is one run, whether it is an evaluation or a dictionary of numbers."""
    values = {("a", "x", 3): (0.25, 7.0), ("a", "x", 5): (0.5, 6.0), ("b", "x", 3): (0.75, 2.0), ("b", "x", 5): (1, 1)}

    def run(method: str, seed: int) -> Any:
        mrr, mean_rank = values[method, "x", seed]
        return {"mrr": mrr, "mean_rank": mean_rank} if as_numbers else evaluated(mrr, mean_rank)

    def nested(method: str) -> Any:
        by_seed = {seed: run(method, seed) for seed in (3, 5)}
        return {
            "seed": by_seed,
            "dataset": {"x": by_seed[3]},
            "dataset and seed": {"x": by_seed},
            "dataset and list": {"x": list(by_seed.values())},
            "list": list(by_seed.values()),
        }[levels]

    found = load({method: nested(method) for method in "ab"})
    dataset = "x" if "dataset" in levels else ""
    held = {key: pair for key, pair in values.items() if levels != "dataset" or key[2] == 3}
    for place, metric in enumerate(("mrr", "mean_rank")):
        expected = {(method, dataset, seed): pair[place] for (method, _, seed), pair in held.items()}
        if "seed" in levels:
            assert scores(found, metric) == pytest.approx(expected)
        else:  # repetitions get seeds of their own
            unlabelled = sorted((*key[:2], value) for key, value in scores(found, metric).items())
            assert unlabelled == sorted((*key[:2], value) for key, value in expected.items())


def test_evaluations_and_numbers_do_not_mix() -> None:
    with pytest.raises(InputError, match="a has evaluations and other scores"):
        load({"a": {0: evaluated(0.5, 2), 1: 0.5}})


def test_known_metrics_bring_their_direction() -> None:
    (run,) = load([{"mrr": 0.4, "my_score": 1.0}])
    assert run.scores["mrr"].direction == "higher"
    assert run.scores["my_score"].direction is None


def test_duplicates_are_listed(write_run: Any, results: Path) -> None:
    write_run("pc", "sachs", 0, {"f1": 0.5})
    write_run("pc", "sachs", 0, {"f1": 0.6}, name="again.json")
    with pytest.raises(InputError, match=r"1 run occurs twice: pc on sachs, seed 0 \(.*again.json; .*metrics_sachs_0"):
        load(results)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "method,seed,f1\na,0,high\nb,0,0.5\n", "line 2: f1 is 'high', not a number"),
        ("t.csv", "method,seed,f1\n", "has no rows"),
        ("t.csv", "method,seed\na,0\n", "contains no metric"),
        ("t.json", '{"f1": 0.5}', "neither a result file nor flat metrics"),
        ("t.json", "{", "not a JSON file"),
        ("t.json", '{"schema": "graphgauge/result/99"}', "schema is 'graphgauge/result/99'"),
        ("t.npy", "", "files ending in .npy are not read"),
        ("t.csv", "method,f1\na,1,2\n", "line 2 has 3 cells, not 2"),
        ("t.csv", "method,f1,f1\na,1,2\n", "has the column 'f1' twice"),
        ("t.parquet", "no parquet", "cannot be read"),
        ("t.json", json.dumps(sealed({**FAILED, "run": 5})), "run is 5, not a table"),
        ("t.json", json.dumps(sealed(FAILED)), "names no run"),
        ("t.json", json.dumps(sealed({**FAILED, "run": {}})), "no method and no dataset"),
        ("t.json", json.dumps({**sealed({**FAILED, "run": {}}), "error": "x"}), "its root does not match its content"),
        ("t.csv", "method,dataset,seed,metric,value\na,x,0,f1,1\na,x,0,f1,2\n", "f1 occurs twice for a, x, 0"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load(path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "no")
    with pytest.raises(InputError, match="no results among 0 JSON files"):
        load(tmp_path)
    with pytest.raises(InputError, match="cannot read runs from int"):
        load(3)


def test_only_knows_names() -> None:
    runs = load([{"method": "a", "f1": 1.0}, {"method": "b", "f1": 1.0}])
    assert runs.only(method=["a"]).methods == ["a"]
    with pytest.raises(UnknownNameError, match="unknown method 'c'"):
        runs.only(method=["c"])


@pytest.mark.parametrize("empty", [pd.NA, pd.NaT, None, np.nan, np.float32("nan"), "", "NA"])
def test_empty_cells_are_missing_values(empty: Any) -> None:
    runs = load([{"seed": 0, "f1": 0.5}, {"seed": 1, "f1": empty}])
    assert [run.scores["f1"].value for run in runs] == pytest.approx([0.5, math.nan], nan_ok=True)


def test_an_array_is_not_a_number() -> None:
    with pytest.raises(InputError, match=r"record 1: f1 is array\(\[1, 2\]\), not a number"):
        load([{"f1": np.array([1, 2])}, {"f1": 0.5}])


@pytest.mark.parametrize("seed", [3, 3.0, np.float64(3), "3", " 3 "])
def test_a_seed_is_the_same_whatever_the_file_made_of_it(seed: Any) -> None:
    (run,) = load([{"method": "a", "seed": seed, "f1": 0.5}])
    assert run.seed == 3


def test_a_frame_with_a_column_twice_is_refused() -> None:
    rows = [{"model": model, "seed": seed, "acc": 0.8 + seed / 100, "old": 0.5} for model in "ab" for seed in range(6)]
    frame = pd.DataFrame(rows)
    for twice, column in (
        (frame.rename(columns={"old": "acc"}), "acc"),
        (frame.rename(columns={"old": "seed"}), "seed"),
        (frame.set_index("model", drop=False), "model"),
        (frame.rename(columns={"acc": 0, "old": "0"}), "0"),
    ):
        with pytest.raises(InputError, match=f"frame: has the column '{column}' twice"):
            load(twice)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table([["a", "b"], [0, 0], [0.1, 0.2], [0.3, 0.4]], names=["model", "seed", "acc", "acc"])
    with pytest.raises(InputError, match="frame: has the column 'acc' twice"):
        load(table)
