"""Tables: which columns are read, and what is refused with file and row."""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.stats import Runs, aggregate, load, tables

Key = tuple[str, str, Any]


def read(tmp_path: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> Runs:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path, **options)


def values(runs: Runs) -> dict[Key, dict[str, float]]:
    return {(run.method, run.dataset, run.seed): {k: s.value for k, s in run.scores.items()} for run in runs}


LAYOUTS = {
    "a row per run": ("method,dataset,seed,f1\na,x,0,.5\na,x,1,.6\n", {("a", "x", 0): 0.5, ("a", "x", 1): 0.6}),
    "seeds as text and as floats": (
        "method,seed,score\na,0,.5\na,1.0,.6\na, 2 ,.7\n",
        {("a", "", 0): 0.5, ("a", "", 1): 0.6, ("a", "", 2): 0.7},
    ),
    "a row per metric": (
        "method,seed,metric,value\na,0,f1,.5\na,1,f1,.6\n",
        {("a", "", 0): 0.5, ("a", "", 1): 0.6},
    ),
    "no seeds": (
        "method,score\na,.5\na,.6\nb,.7\nb,.8\n",
        {("a", "", "a #1"): 0.5, ("a", "", "a #2"): 0.6, ("b", "", "b #1"): 0.7, ("b", "", "b #2"): 0.8},
    ),
    "a share above one": ("method,seed,mrr\na,0,50\na,1,7.25\n", {("a", "", 0): 50, ("a", "", 1): 7.25}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, tmp_path: Path) -> None:
    content, wanted = LAYOUTS[layout]
    found = {key: next(iter(scores.values())) for key, scores in values(read(tmp_path, content)).items()}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_the_order_of_rows_and_columns_does_not_matter(order: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "method": ["a", "a", "b", "b"],
            "seed": [0, 1, 0, 1],
            "lr": [0.1] * 4,
            "acc": [0.1, 0.2, 0.3, 0.4],
            "loss": [1.0, 2.0, 3.0, 4.0],
        }
    )
    other = frame.iloc[::-1] if order == "rows" else frame[frame.columns[::-1]]
    first, second = (values(read(tmp_path, part.to_csv(index=False))) for part in (frame, other))
    assert first == second


GIVEN = {
    "method=name,seed=try,value=b": ("name,try,a,b\nx,1,.1,.2\n", {("x", "", 1): {"b": 0.2}}),
    "method=name,seed=try": ("name,try,a,b\nx,1,.1,.2\n", {("x", "", 1): {"a": 0.1, "b": 0.2}}),
    "metric=what,value=number": (
        "method,what,number,other\nx,f1,.1,9\nx,auc,.2,9\n",
        {("x", "", 0): {"f1": 0.1, "auc": 0.2}},
    ),
}


@pytest.mark.parametrize("columns", GIVEN)
def test_columns_can_be_given(columns: str, tmp_path: Path) -> None:
    content, wanted = GIVEN[columns]
    assert values(read(tmp_path, content, columns=columns)) == wanted
    mapping = dict(part.split("=") for part in columns.split(","))
    assert values(read(tmp_path, content, columns=mapping)) == wanted


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("method=modl", "no column 'modl' for method. It has model, acc"),
        ("methd=model", "unknown role of a column 'methd'"),
        ("model", "'model' is not ROLE=COLUMN"),
        ("seed=model,seed=acc", "seed is given twice"),
        ("method=model,metric=acc", 'Add it: columns="value=COLUMN"'),
    ],
)
def test_columns_that_are_not_there(columns: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        read(tmp_path, "model,acc\nx,.5\n", columns=columns)


def test_columns_without_a_table_are_refused(write_run: Any, results: Path) -> None:
    write_run("pc", "sachs", 0, {"f1": 0.5})
    for source in (results, load(results), [load(results)]):
        with pytest.raises(OptionError, match="columns are given, but no table is read"):
            load(source, columns="method=model")


BAD = {
    "method,seed,acc\na,0,1\na,0,1\n": r"1 run occurs twice: a, seed 0 \(line 2, line 3\)",
    "method,seed,acc,acc\na,0,1,2\n": "has the column 'acc' twice.*frame.reset_index",
    "method,seed,acc\na,0,=1+1\nb,0,.5\n": "line 2: acc is '=1\\+1', not a number",
    "method,seed,acc\na,0,True\nb,0,.5\n": "line 2: acc is 'True', not a number",
    "method,seed,acc\na,0,.5\nb,0,good\n": "line 3: acc is 'good', not a number",
    "method,seed,acc\na,0,50%\nb,0,.5\n": "line 2: acc is '50%', not a number",
    "method,seed,acc\na,0,0.8 ± 0.1\nb,0,.5\n": "line 2: acc is '0.8 ± 0.1', not a number",
    "method,seed,acc\na,0,1_000\nb,0,.5\n": "line 2: acc is '1_000', not a number",
    "method,seed,acc\na,,.5\nb,0,.5\n": "line 2: has no seed",
    "method,seed,acc\na,0,1e400\nb,0,.5\n": "line 2: acc is '1e400', too large",
    "model,seed,acc\na,0,.5\n": 'has no column "method".*columns="method=model,seed=….*it has model, seed, acc',
    "method;seed;acc\na;0;0.5\n": 'has no column "method".*it has method;seed;acc',
    ",method,acc\n0,a,.5\n": r"has a column without a name.*to_csv\(index=False\)",
    "model,cora,pubmed\nmethod,,\na,.1,.2\n": "has a second row of names",
    ",acc,acc\n,mean,std\nmethod,,\na,.1,.2\n": "has the column 'acc' twice",
    "method,seed,acc\na,0\n": "line 2 has 2 cells, not 3",
    'method,seed,acc\na,0,"1\n': "line 2 cannot be read",
    "method,seed,note\na,0,x\n": "contains no metric",
    "\n\n": "has no rows",
    "x" * 200_000 + ",b\n1,2\n": "field larger than field limit",
}


@pytest.mark.parametrize("content", BAD, ids=lambda text: text[:30])
def test_what_is_refused_and_where(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=BAD[content]):
        read(tmp_path, content)


TABLE = "method,seed,acc\ncafé,0,0.5\ncafé,1,0.6\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_encodings_that_say_what_they_are(encoding: str, tmp_path: Path) -> None:
    assert set(values(read(tmp_path, TABLE.encode(encoding)))) == {("café", "", 0), ("café", "", 1)}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_encodings_that_do_not(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not UTF-8 text"):
        read(tmp_path, TABLE.encode(encoding))


def test_empty_cells_are_missing_values_and_words_are_refused(tmp_path: Path) -> None:
    runs = read(tmp_path, "method,seed,acc\na,0,.5\na,2,\na,3,N/A\na,4,inf\n")
    found = [run.scores["acc"].value for run in runs]
    assert found == pytest.approx([0.5, math.nan, math.nan, math.inf], nan_ok=True)
    with pytest.raises(InputError, match="line 3: acc is 'OOM', not a number"):
        read(tmp_path, "method,seed,acc\na,0,.5\na,1,OOM\n")


def test_columns_of_text_are_said(tmp_path: Path) -> None:
    runs = read(tmp_path, "method,host,seed,acc\na,n1,0,.5\n")
    assert runs.notes[0].endswith("t.csv: not used: 'host'")


def test_runs_without_seeds_have_no_planned_number() -> None:
    table = aggregate({"a": [0.1, 0.2], "b": [0.3, 0.4, 0.5]}, metrics=["mrr"])
    assert table["mrr", "a"].mean == pytest.approx(0.15)
    assert (table["mrr", "a"].n, table["mrr", "b"].n) == (2, 3)
    assert not table.gaps


def test_no_seeds_no_pairs() -> None:
    lists = {"a": [0.1, 0.2], "b": [0.3, 0.4, 0.5]}
    runs = load(lists)
    seeds = [{run.seed for run in runs if run.method == name} for name in lists]
    assert not seeds[0] & seeds[1]
    assert "not paired" in runs.notes[0]
    paired = load({name: dict(enumerate(scores)) for name, scores in lists.items()})
    assert [run.seed for run in paired] == [0, 1, 0, 1, 2]
    assert not paired.notes
    one = load({"a": [0.1, 0.2]})
    assert [run.seed for run in one] == [0, 1]


DICTIONARIES: list[tuple[Any, dict[Key, dict[str, float]]]] = [
    ({"a": {0: 0.1, "1": 0.2}}, {("a", "", 0): {"value": 0.1}, ("a", "", 1): {"value": 0.2}}),
    (
        {"a": {"cora": {0: 0.1}}, "b": {"cora": {0.0: 0.2}}},
        {("a", "cora", 0): {"value": 0.1}, ("b", "cora", 0): {"value": 0.2}},
    ),
    ({"a": {"cora": 0.1, "pubmed": 0.2}}, {("a", "cora", 0): {"value": 0.1}, ("a", "pubmed", 0): {"value": 0.2}}),
    (
        {"method": ["a", "b"], "seed": [0, 0], "acc": [0.1, 0.2]},
        {("a", "", 0): {"acc": 0.1}, ("b", "", 0): {"acc": 0.2}},
    ),
    ({"a": np.array([0.1])}, {("a", "", 0): {"value": 0.1}}),
    ({"a": [{"seed": 3, "acc": 0.1}]}, {("a", "", 3): {"acc": 0.1}}),
]


@pytest.mark.parametrize(("source", "wanted"), DICTIONARIES, ids=[str(source) for source, _ in DICTIONARIES])
def test_dictionaries(source: Any, wanted: dict[Key, dict[str, float]]) -> None:
    assert values(load(source)) == wanted


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": "x"}, "the scores of a are str"),
        ({"a": object()}, "the scores of a are object"),
        ({"a": [[1, 2]]}, r"a, score 1: \[1, 2\] is not a number"),
        ({"a": {"acc": 0.1, "f1": 0.2}}, r"the scores of a are by metric \(acc\).*Pass a list of runs"),
        ({"a": {"mrr": [0.1, 0.2]}}, r"the scores of a are by metric \(mrr\)"),
        ({"method": ["a"], "acc": [1, 2]}, r"different lengths \(method: 1, acc: 2\)"),
    ],
)
def test_dictionaries_that_are_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(source)


def test_a_metric_without_a_name_takes_the_one_it_is_asked_for_by() -> None:
    table = aggregate({"a": {0: 0.1, 1: 0.3}, "b": {0: 0.2, 1: 0.5}}, metrics=["mrr"])
    assert table["mrr", "b"].mean == pytest.approx(0.35)
    assert table.panels["mrr"].direction == "higher"
    with pytest.raises(UnknownNameError, match="unknown metric 'mr'"):
        aggregate([{"mrr": 0.5}], metrics=["mr"])


class LikePolars:
    """What a data frame of polars has of these."""

    def __init__(self, data: dict[str, list[Any]]) -> None:
        self.columns, self._data = list(data), data

    def to_dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self._data.values(), strict=True)]


@pytest.mark.parametrize("kind", ["polars", "arrow", "pandas"])
def test_frames(kind: str) -> None:
    columns = {"method": ["a", "b"], "seed": [0, 0], "acc": [0.1, 0.2]}
    if kind == "pandas":
        frame: Any = pd.DataFrame(columns).set_index(["method", "seed"])
    elif kind == "arrow":
        frame = pa.table(columns)
    else:
        frame = LikePolars(columns)
    assert values(load(frame)) == {("a", "", 0): {"acc": 0.1}, ("b", "", 0): {"acc": 0.2}}


def test_frames_without_the_names_are_refused() -> None:
    frame = pd.DataFrame({"model": ["a", "b"], "fold": [0, 0], "acc": [0.1, 0.2]})
    with pytest.raises(InputError, match=r'frame: has no column "method".*columns="method=model'):
        load(frame)
    wanted = {("a", "", 0): {"acc": 0.1}, ("b", "", 0): {"acc": 0.2}}
    assert values(load(frame, columns={"method": "model", "seed": "fold"})) == wanted
    with pytest.raises(InputError, match=r'frame: has no column "method".*columns="method=index'):
        load(pd.DataFrame({"acc": [0.1, 0.2]}, index=["a", "b"]))
    grouped = pd.DataFrame({"method": ["a", "a"], "mrr": [0.1, 0.2]}).groupby("method").agg({"mrr": ["mean", "std"]})
    with pytest.raises(InputError, match=r'frame\["mrr"\].reset_index'):
        load(grouped)


def test_a_flat_file_with_its_configuration_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "gcn"
    folder.mkdir()
    (folder / "metrics_cora_0.json").write_text(
        '{"acc": 0.5, "config": {"lr": 0.1, "layers": [1, 2]}, "git": "abc", "ok": true, "nested": {"a": 1}}'
    )
    (folder / "metrics_cora_1.json").write_text('{"acc": 0.6, "config": {}}')
    (folder / "metrics_cora_2.json").write_text("{broken")
    runs = load(tmp_path)
    assert values(runs) == {("gcn", "cora", 0): {"acc": 0.5}, ("gcn", "cora", 1): {"acc": 0.6}}
    said = " ".join(runs.notes)
    assert "not used: git, ok, nested" in said
    assert "1 file could not be read" in said
    assert "metrics_cora_2.json" in said
    assert "metrics_cora_2.json" in str(aggregate(tmp_path))


def test_a_folder_of_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.csv").write_text("method,f1\npc,0.5\n")
    with pytest.raises(InputError, match=r"no results among 0 JSON files.*name a table"):
        load(tmp_path)


def test_a_table_is_forgotten_after_it_was_read(tmp_path: Path) -> None:
    kept = read(tmp_path, "method,seed,acc\na,0,.5\nb,0,.6\n")
    gc.collect()
    assert len(kept) == 2
    assert not [one for one in gc.get_objects() if type(one).__module__ == tables.__name__]
