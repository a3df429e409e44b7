"""Edge lists and text as tools write them, on the command line: columns, names and marks."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import recovery
from graphgauge.core.errors import InputError
from graphgauge.old.cli.family import family_command
from graphgauge.old.io.graphs import read_graph

command = family_command("recovery")
TRUTH = [("A", "B"), ("C", "B"), ("D", "A")]
SCORED = [("A", "B", 0.9), ("A", "C", 0.2), ("C", "B", 0.6), ("B", "D", 0.7)]
NODES = ("A", "B", "C", "D")


def expected():
    return recovery.evaluate(TRUTH, SCORED, nodes=NODES)


def table(head, separator, rows=SCORED):
    return "".join(separator.join(map(str, row)) + "\n" for row in (head, *rows))


NAMED = {
    "comma": ("edges.csv", table(("source", "target", "weight"), ",")),
    "tab": ("edges.tsv", table(("source", "target", "weight"), "\t")),
    "semicolon": ("edges.csv", table(("source", "target", "weight"), ";")),
}
# Tables of tools, and the option that names their columns.
FORMS = {
    "BEELINE": (
        "edges.csv",
        table(("Gene1", "Gene2", "EdgeWeight"), "\t"),
        "source=Gene1,target=Gene2,weight=EdgeWeight",
    ),
    "bnlearn arcs": ("edges.csv", table(("from", "to", "strength"), ";"), "source=from,target=to,weight=strength"),
    "more columns": (
        "edges.csv",
        table(("id", "Source", "Target", "Weight", "note"), ",", [(7, *row, "x") for row in SCORED]),
        "source=Source,target=Target,weight=Weight",
    ),
}


def run(folder, *arguments):
    (folder / "true.tsv").write_text(table(("source", "target"), "\t", TRUTH))
    return CliRunner().invoke(command, ["--true", str(folder / "true.tsv"), *map(str, arguments)])


def values(outcome):
    assert outcome.exit_code == 0, outcome.output or outcome.exception
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    return {key: np.nan if value is None else value for key, value in found.items()}


@pytest.mark.parametrize("form", NAMED)
def test_tables_of_source_and_target(tmp_path, form):
    name, text = NAMED[form]
    (tmp_path / name).write_text(text)
    found = values(run(tmp_path, "--pred", tmp_path / name, "--nodes", "A,B,C,D", "--format", "json"))
    np.testing.assert_equal(found, expected().to_flat())


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_tools(tmp_path, form):
    name, text, columns = FORMS[form]
    (tmp_path / name).write_text(text)
    arguments = ["--pred", tmp_path / name, "--nodes", "A,B,C,D", "--format", "json"]
    np.testing.assert_equal(values(run(tmp_path, *arguments, "--columns", columns)), expected().to_flat())
    unnamed = run(tmp_path, *arguments)
    assert isinstance(unnamed.exception, InputError)
    if form != "more columns":
        assert f"such as --columns {columns}" in str(unnamed.exception)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_any_column_names(tmp_path, ending):
    path = tmp_path / f"odd{ending}"
    if ending == ".csv":
        path.write_text(table(("x", "y", "z"), ","))
    else:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pandas.DataFrame(SCORED, columns=["x", "y", "z"]).to_parquet(path)
    (tmp_path / "names.txt").write_text("A\nB\nC\n\nD\n")
    columns = ("--columns", "source=x,target=y,weight=z")
    for nodes in ("A,B,C,D", tmp_path / "names.txt", "listed"):
        found = values(run(tmp_path, "--pred", path, *columns, "--nodes", nodes, "--format", "json"))
        np.testing.assert_equal(found, expected().to_flat())


def test_a_file_of_names_is_in_the_receipt(tmp_path):
    (tmp_path / "names.txt").write_text("A\nB\nC\nD\n")
    (tmp_path / "edges.csv").write_text(NAMED["comma"][1])
    outcome = run(
        tmp_path, "--pred", tmp_path / "edges.csv", "--nodes", tmp_path / "names.txt", "-o", tmp_path / "result.json"
    )
    assert outcome.exit_code == 0, outcome.output
    inputs = json.loads((tmp_path / "result.json").read_text())["receipt"]["inputs"]
    assert [entry["name"] for entry in inputs] == ["true", "pred", "nodes"]


def test_what_is_wrong_with_a_table_is_said(tmp_path):
    (tmp_path / "odd.csv").write_text(table(("x", "y", "z"), ","))
    outcome = run(tmp_path, "--pred", tmp_path / "odd.csv", "--nodes", "A,B,C,D")
    assert isinstance(outcome.exception, InputError)
    assert "--columns source=" in str(outcome.exception)
    outcome = run(tmp_path, "--pred", tmp_path / "odd.csv", "--nodes", "4", "--columns", "source=a,target=b")
    assert "no file has the columns a, b" in str(outcome.exception)
    outcome = run(tmp_path, "--pred", tmp_path / "odd.csv", "--nodes", "4", "--columns", "source=x,target=b")
    assert "no column 'b'" in str(outcome.exception)
    for wrong in ("source=x", "source=x,goal=y", "x,y"):
        assert run(tmp_path, "--pred", tmp_path / "odd.csv", "--columns", wrong).exit_code == 2
    for wrong in ("0", "-3", ""):
        assert run(tmp_path, "--pred", tmp_path / "odd.csv", "--nodes", wrong).exit_code == 2
    outcome = run(tmp_path, "--pred", tmp_path / "odd.csv", "--nodes", tmp_path / "nosuch.txt")
    assert "nosuch.txt" in str(outcome.exception)
    (tmp_path / "good.csv").write_text(NAMED["comma"][1])
    outcome = run(tmp_path, "--pred", tmp_path / "good.csv")
    assert '"listed"' in str(outcome.exception)


TETRAD = """Graph Nodes:
A;B;C;D

Graph Edges:
1. A --> B
2. C o-> B
3. D <-> A
4. C o-o D

Graph Attributes:
Score: -1.5
"""


def test_text_of_tetrad(tmp_path):
    (tmp_path / "graph.txt").write_text(TETRAD)
    keys = "arrowhead_precision,arrowhead_recall,tail_precision,tp,skeleton_fp"
    found = values(run(tmp_path, "--pred", tmp_path / "graph.txt", "--metrics", keys, "--format", "json"))
    # Heads at B, B, A and D, the last of which is wrong; the tail at A alone; C o-o D is extra.
    assert found == {
        "arrowhead_precision": 3 / 4,
        "arrowhead_recall": 1,
        "tail_precision": 1,
        "tp": 1,
        "skeleton_fp": 1,
    }
    evaluation = recovery.evaluate(TRUTH, read_graph(tmp_path / "graph.txt"))
    assert evaluation.conventions["classes"] == "dag and pag"


def test_model_strings_of_bnlearn(tmp_path):
    (tmp_path / "model.txt").write_text("[C][D][A|D][B|A:C]\n")
    found = values(run(tmp_path, "--pred", tmp_path / "model.txt", "--format", "json"))
    assert found["directed_f1"] == 1
    for wrong in ("[A][B|A] and more", "Graph Edges:\n1. A --> B", "Graph Nodes:\nA;B\n\nGraph Edges:\n1. A ==> B"):
        (tmp_path / "model.txt").write_text(wrong)
        with pytest.raises(InputError, match=r"model\.txt"):
            read_graph(tmp_path / "model.txt")
