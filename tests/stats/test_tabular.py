"""Tables of any origin: what is recognised, what can be given, and what is refused with file and row."""

from __future__ import annotations

import gc
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.io import sheets
from graphgauge.stats import Runs, aggregate, load, tabular

Key = tuple[str, str, Any]


def read(tmp_path: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> Runs:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path, **options)


def values(runs: Runs) -> dict[Key, dict[str, float]]:
    return {(run.method, run.dataset, run.seed): {k: s.value for k, s in run.scores.items()} for run in runs}


LAYOUTS = {
    "a column per seed": ("method,dataset,seed 0,seed 1\na,x,.5,.6\n", {("a", "x", 0): 0.5, ("a", "x", 1): 0.6}),
    "bare seeds": ("method,0,1\na,.5,.6\n", {("a", "", 0): 0.5, ("a", "", 1): 0.6}),
    "methods with seeds": (
        "dataset,a_0,a_1,b_0,b_1\nx,.1,.2,.3,.4\n",
        {("a", "x", 0): 0.1, ("a", "x", 1): 0.2, ("b", "x", 0): 0.3, ("b", "x", 1): 0.4},
    ),
    "names of runs": (
        "name,score\na-seed0,.5\na_s1,.6\nb/run2,.7\n",
        {("a", "", 0): 0.5, ("a", "", 1): 0.6, ("b", "", 2): 0.7},
    ),
    "steps": (
        "method,seed,epoch,score\na,0,1,.1\na,0,2,.5\na,1,1,.6\na,1,2,\n",
        {("a", "", 0): 0.5, ("a", "", 1): 0.6},
    ),
    "unnamed first column, datasets below": (",a,b\ncora,.5,.6\n", {("a", "cora", 0): 0.5, ("b", "cora", 0): 0.6}),
    "unnamed first column, datasets beside": (
        ",cora,pubmed\na,.5,.6\n",
        {("a", "cora", 0): 0.5, ("a", "pubmed", 0): 0.6},
    ),
    "seeds as text and as floats": (
        "method,seed,score\na,0,.5\na,1.0,.6\na, 2 ,.7\n",
        {("a", "", 0): 0.5, ("a", "", 1): 0.6, ("a", "", 2): 0.7},
    ),
    "seeds below methods": (
        "seed,gcn,gat\n0,.1,.2\n1,.3,.4\n",
        {("gcn", "", 0): 0.1, ("gat", "", 0): 0.2, ("gcn", "", 1): 0.3, ("gat", "", 1): 0.4},
    ),
    "methods without anything": (
        "gcn,gat\n.1,.2\n.3,.4\n",
        {
            ("gcn", "", "gcn #1"): 0.1,
            ("gat", "", "gat #1"): 0.2,
            ("gcn", "", "gcn #2"): 0.3,
            ("gat", "", "gat #2"): 0.4,
        },
    ),
    "a hint of Excel": ("sep=;\nmethod;seed;score\na;0;0,5\n", {("a", "", 0): 0.5}),
    "decimal commas": ("method;seed;score\na;0;0,5\na;1;-1,25e-1\n", {("a", "", 0): 0.5, ("a", "", 1): -0.125}),
    "percent": ("method,seed,score\na,0,50%\na,1,7.25 %\n", {("a", "", 0): 0.5, ("a", "", 1): 0.0725}),
    "percent in the name": ("method,seed,score (%)\na,0,50\na,1,7.25\n", {("a", "", 0): 0.5, ("a", "", 1): 0.0725}),
    "a share above one": ("method,seed,mrr\na,0,50\na,1,7.25\n", {("a", "", 0): 0.5, ("a", "", 1): 0.0725}),
    "bold": ("method,seed,score\na,0,**0.5**\na,1,\\textbf{0.25}\n", {("a", "", 0): 0.5, ("a", "", 1): 0.25}),
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
            "model": ["a", "a", "b", "b"],
            "fold": [0, 1, 0, 1],
            "lr": [0.1] * 4,
            "acc": [0.1, 0.2, 0.3, 0.4],
            "loss": [1.0, 2.0, 3.0, 4.0],
        }
    )
    other = frame.iloc[::-1] if order == "rows" else frame[frame.columns[::-1]]
    first, second = (values(read(tmp_path, part.to_csv(index=False))) for part in (frame, other))
    assert first == second


def test_methods_and_datasets_are_read_alike_either_way_round(tmp_path: Path) -> None:
    frame = pd.DataFrame({"cora": [0.1, 0.2], "pubmed": [0.3, 0.4]}, index=pd.Index(["a", "b"], name="method"))
    turned = frame.T.rename_axis("dataset")
    assert values(read(tmp_path, frame.to_csv())) == values(read(tmp_path, turned.to_csv())) == values(load(frame))


GIVEN = {
    "method=name,seed=try,value=b": ("name,try,a,b\nx,1,.1,.2\n", {("x", "", 1): {"b": 0.2}}),
    "method=kind+size": (
        "kind,size,seed,acc\nx,1,0,.1\nx,2,0,.2\n",
        {("x, 1", "", 0): {"acc": 0.1}, ("x, 2", "", 0): {"acc": 0.2}},
    ),
    "seed=@order": (
        "method,acc\nx,.1\nx,.2\ny,.3\ny,.4\n",
        {
            ("x", "", 0): {"acc": 0.1},
            ("x", "", 1): {"acc": 0.2},
            ("y", "", 0): {"acc": 0.3},
            ("y", "", 1): {"acc": 0.4},
        },
    ),
    "method=@file,dataset=set": ("set,0,1\nx,.1,.2\n", {("t", "x", 0): {"value": 0.1}, ("t", "x", 1): {"value": 0.2}}),
    "method=@columns": (",p,q\nx,.1,.2\n", {("p", "x", 0): {"value": 0.1}, ("q", "x", 0): {"value": 0.2}}),
    "dataset=@columns,value=auc": (",p,q\nx,.1,.2\n", {("x", "p", 0): {"auc": 0.1}, ("x", "q", 0): {"auc": 0.2}}),
    "metric=what,value=number": (
        "method,what,number,other\nx,f1,.1,9\nx,auc,.2,9\n",
        {("x", "", 0): {"f1": 0.1, "auc": 0.2}},
    ),
    "decimal=comma": ("method;acc\nx;1,234\n", {("x", "", 0): {"acc": 1.234}}),
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
        ("decimal=dot", "unknown decimal 'dot'"),
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
    "method,lr,seed,acc\na,1,0,.5\na,2,0,.6\n": r'They differ in lr: columns="method=method\+lr"',
    "method,lr,acc\na,1,.5\na,2,.6\n": "2 rows of a differ in lr, so they are not repetitions",
    "method,split,acc\na,train,.5\na,test,.6\n": "2 rows of a differ in split",
    "method,seed,acc,acc\na,0,1,2\n": "has the column 'acc' twice",
    "method,seed,acc\na,0,=1+1\nb,0,.5\n": "line 2: acc is '=1\\+1', not a number",
    "method,seed,acc\na,0,True\nb,0,.5\n": "line 2: acc is 'True', not a number",
    "method,seed,acc\na,0,.5\nb,0,good\n": "line 3: acc is 'good', not a number",
    "method;seed;acc\na;0;1,234\nb;0;2,345\n": "the comma may be a decimal one or separate thousands.*decimal=comma",
    "method;seed;acc\na;0;0,5\nb;0;0.5\n": "line 3: acc: '0.5' has a decimal point, other cells of the table a comma",
    "method;seed;acc\na;0;1.234,5\nb;0;0,5\n": "line 2: acc: '1.234,5' has both kinds of separators",
    "method,seed,acc\na,0,50%\nb,0,.5\n": "line 3: acc has a percent sign in some rows and none in others",
    "method,seed,acc\na,,.5\nb,0,.5\n": "line 2: has no seed",
    "method,seed,acc\na,0,1e400\nb,0,.5\n": "line 2: acc: '1e400' is too large",
    "1,2,3\n4,5,6\n": "the first row has numbers",
    ",p,q\nx,.1,.2\n": 'which are methods is not clear.*columns="method=@columns" or "dataset=@columns"',
    "Name,acc\nfluffy-sun-1,.5\nmisty-lake-2,.6\n": "no column says the method: 'Name' has generated names",
    "Step,fluffy-sun-1 - acc,misty-lake-2 - acc\n0,.1,.2\n": "generated names such as 'fluffy-sun-1'",
    "method,seed,acc\na,0\n": "line 2 has 2 cells, not 3",
    'method,seed,acc\na,0,"1\n': "line 2 cannot be read",
    "method,seed,note\na,0,x\n": "contains no metric",
    "\n\n": "the table is empty",
    "x" * 200_000 + ",b\n1,2\n": "field larger than field limit",
    ",".join(f"c{i}" for i in range(6000)) + "\n" + ",".join("1" * 6000) + "\n": "more than are read at once",
}


@pytest.mark.parametrize("content", BAD, ids=lambda text: text[:30])
def test_what_is_refused_and_where(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=BAD[content]):
        read(tmp_path, content)


TABLE = "method,seed,acc\ncafé,0,0.5\ncafé,1,0.6\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_say_what_they_are(encoding: str, tmp_path: Path) -> None:
    assert set(values(read(tmp_path, TABLE.encode(encoding)))) == {("café", "", 0), ("café", "", 1)}


@pytest.mark.parametrize(
    ("encoding", "message"), [("latin-1", "line 2 .*Latin-1"), ("utf-16-le", "null character: UTF-16 without")]
)
def test_encodings_that_do_not(encoding: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, TABLE.encode(encoding))


def test_failures_are_missing_values_with_their_word(tmp_path: Path) -> None:
    runs = read(tmp_path, "method,seed,acc\na,0,.5\na,1,OOM\na,2,\na,3,N/A\na,4,inf\n")
    found = [run.scores["acc"] for run in runs]
    assert [score.value for score in found] == pytest.approx([0.5, math.nan, math.nan, math.nan, math.inf], nan_ok=True)
    assert found[1].reason == "OOM"
    assert "seed 1 (OOM)" in (aggregate(runs)["acc"].reason or "")


def test_runs_that_did_not_finish_are_said(tmp_path: Path) -> None:
    runs = read(tmp_path, "Name,State,model,seed,acc\nq,finished,a,0,.5\nr,crashed,a,1,.4\ns,failed,a,2,\n")
    assert [run.scores["acc"].reason for run in runs] == [None, None, "failed"]
    assert "runs that did not finish have values, which are used (1 crashed)" in " ".join(runs.notes)


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
    paired = load(lists, columns={"seed": "@order"})
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
    ({"a": {"acc": 0.1, "f1": 0.2}}, {("a", "", 0): {"acc": 0.1, "f1": 0.2}}),
    (
        {"a": {"acc": [0.1, 0.2], "f1": [0.3, 0.4]}},
        {("a", "", 0): {"acc": 0.1, "f1": 0.3}, ("a", "", 1): {"acc": 0.2, "f1": 0.4}},
    ),
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
    columns = {"model": ["a", "b"], "fold": [0, 0], "acc": [0.1, 0.2]}
    if kind == "pandas":
        frame: Any = pd.DataFrame(columns).set_index(["model", "fold"])
    elif kind == "arrow":
        frame = pa.table(columns)
    else:
        frame = LikePolars(columns)
    assert values(load(frame)) == {("a", "", 0): {"acc": 0.1}, ("b", "", 0): {"acc": 0.2}}


def _workbook(path: Path, cells: str, texts: str = "") -> None:
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{cells}</sheetData></worksheet>")
        if texts:
            archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{texts}</sst>")


def test_a_workbook_is_read_and_not_computed(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    cells = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>acc</t></is></c></row>'
        '<row r="2"><c r="A2" t="str"><v>a</v></c><c r="B2"><f>1/0</f><v>0.5</v></c></row>'
    )
    _workbook(path, cells, "<si><t>method</t></si>")
    assert values(load(path)) == {("a", "", 0): {"acc": 0.5}}


def test_titles_and_further_worksheets_are_said(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    cells = "".join(
        f'<row r="{row}">'
        + "".join(f'<c r="{place}{row}" t="str"><v>{text}</v></c>' for place, text in cells)
        + "</row>"
        for row, cells in (
            (1, [("A", "Our results")]),
            (3, [("A", "model"), ("B", "acc")]),
            (4, [("A", "a"), ("B", ".5")]),
        )
    )
    _workbook(path, cells)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/worksheets/sheet2.xml", "<x/>")
    runs = load(path)
    assert values(runs) == {("a", "", 0): {"acc": 0.5}}
    assert "only the first of 2 worksheets is read" in runs.notes[0]
    assert "row 1 is taken for a title" in runs.notes[0]


@pytest.mark.parametrize("damage", ["no zip", "no sheet", "bomb", "xml", "entities", "reference", "text"])
def test_damaged_and_hostile_workbooks(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    if damage == "no zip":
        path.write_bytes(b"PK nothing")
    elif damage == "no sheet":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "b")
    elif damage == "bomb":
        monkeypatch.setattr(sheets, "MOST_BYTES", 1 << 16)
        _workbook(path, " " * (1 << 17))
    elif damage == "xml":
        _workbook(path, "<row>")
    elif damage == "entities":
        with zipfile.ZipFile(path, "w") as archive:
            lots = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(12))
            archive.writestr("xl/worksheets/sheet1.xml", f'<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{lots}]><x>&a12;</x>')
    elif damage == "reference":
        _workbook(path, '<row><c r="ZZZZZZ1"><v>1</v></c></row>')
    else:
        _workbook(path, '<row><c r="A1" t="s"><v>7</v></c></row>')
    with pytest.raises(InputError, match=r"t\.xlsx"):
        load(path)


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


def test_metrics_in_folders_of_runs(tmp_path: Path) -> None:
    for method, seed, score in (("gcn", 0, 0.5), ("gcn", 1, 0.6), ("gat", 0, 0.7)):
        folder = tmp_path / f"{method}_seed{seed}"
        folder.mkdir()
        (folder / "metrics.json").write_text(f'{{"acc": {score}}}')
        (folder / "config.json").write_text('{"lr": 0.1}')
    assert values(load(tmp_path)) == {
        ("gcn", "", 0): {"acc": 0.5},
        ("gcn", "", 1): {"acc": 0.6},
        ("gat", "", 0): {"acc": 0.7},
    }


def test_tables_next_to_results_are_named_and_not_read(write_run: Any, results: Path) -> None:
    write_run("pc", "sachs", 0, {"f1": 0.5})
    (results / "summary.csv").write_text("method,f1\npc,0.5\n")
    runs = load(results)
    assert len(runs) == 1
    assert "summary.csv" in " ".join(runs.notes)


def test_several_tables_are_methods_by_their_names(tmp_path: Path) -> None:
    for name, score in (("gcn", 0.5), ("gat", 0.6)):
        (tmp_path / f"{name}.csv").write_text(f"seed,acc\n0,{score}\n1,{score}\n")
    wanted = {("gcn", "", 0), ("gcn", "", 1), ("gat", "", 0), ("gat", "", 1)}
    assert set(values(load(tmp_path))) == wanted
    assert set(values(load([tmp_path / "gcn.csv", tmp_path / "gat.csv"]))) == wanted


def test_a_table_is_forgotten_after_it_was_read(tmp_path: Path) -> None:
    kept = read(tmp_path, "model,seed,acc\na,0,.5\nb,0,.6\n")
    gc.collect()
    assert len(kept) == 2
    assert not [one for one in gc.get_objects() if type(one).__module__ == tabular.__name__]
