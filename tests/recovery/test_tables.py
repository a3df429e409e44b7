"""Edge lists and text as tools write them, on the command line: columns, names and marks."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import recovery
from graphgauge.cli.family import family_command
from graphgauge.core.errors import InputError
from graphgauge.io.graphs import read_graph

command = family_command("recovery")
TRUTH = [("A", "B"), ("C", "B"), ("D", "A")]
SCORED = [("A", "B", 0.9), ("A", "C", 0.2), ("C", "B", 0.6), ("B", "D", 0.7)]
NODES = ("A", "B", "C", "D")


def expected():
    return recovery.evaluate(TRUTH, SCORED, nodes=NODES)


def table(head, separator, rows=SCORED):
    lines = [separator.join(map(str, row)) for row in rows]
    return "\n".join([*([separator.join(head)] if head else []), *lines]) + "\n"


FORMS = {
    "BEELINE": ("edges.csv", table(("Gene1", "Gene2", "EdgeWeight"), "\t")),
    "arboreto": ("edges.tsv", table(("TF", "target", "importance"), "\t")),
    "GENIE3": ("edges.csv", table(("regulatoryGene", "targetGene", "weight"), ",")),
    "networkx": ("edges.csv", table(("Source", "Target", "Weight"), ",")),
    "bnlearn arcs": ("edges.csv", table(("from", "to", "strength"), ";")),
    "DREAM": ("edges.tsv", table((), "\t")),
    "more columns": (
        "edges.csv",
        table(("id", "Source", "Target", "Weight", "note"), ",", [(7, *row, "x") for row in SCORED]),
    ),
}


def run(folder, *arguments):
    (folder / "true.tsv").write_text(table((), "\t", [(*edge, 1) for edge in TRUTH]))
    return CliRunner().invoke(command, ["--true", str(folder / "true.tsv"), *map(str, arguments)])


def values(outcome):
    assert outcome.exit_code == 0, outcome.output or outcome.exception
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    return {key: np.nan if value is None else value for key, value in found.items()}


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_tools(tmp_path, form):
    name, text = FORMS[form]
    (tmp_path / name).write_text(text)
    found = values(run(tmp_path, "--pred", tmp_path / name, "--nodes", "A,B,C,D", "--format", "json"))
    np.testing.assert_equal(found, expected().to_flat())


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
    (tmp_path / "edges.csv").write_text(FORMS["networkx"][1])
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
    (tmp_path / "good.csv").write_text(FORMS["networkx"][1])
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
    keys = "arrowhead_precision,arrowhead_recall,tail_precision,tp,skeleton_fp,claimed_shd"
    found = values(run(tmp_path, "--pred", tmp_path / "graph.txt", "--metrics", keys, "--format", "json"))
    # Heads at B, B, A and D, the last of which is wrong; the tail at A alone; C o-o D is extra, D ↔ A contradicts.
    assert found == {
        "arrowhead_precision": 3 / 4,
        "arrowhead_recall": 1,
        "tail_precision": 1,
        "tp": 1,
        "skeleton_fp": 1,
        "claimed_shd": 2,
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


def test_options_of_classes_lags_and_refits(tmp_path):
    draw = np.random.default_rng(0)
    truth, scores = draw.random((4, 4, 2)) < 0.3, draw.random((4, 4, 2))
    np.save(tmp_path / "truth.npy", np.moveaxis(truth, 2, 0))
    np.save(tmp_path / "scores.npy", np.moveaxis(scores, 2, 0))
    arguments = [
        "--true",
        str(tmp_path / "truth.npy"),
        "--pred",
        str(tmp_path / "scores.npy"),
        "--format",
        "json",
        "--lagged",
        "--lag-axis",
        "first",
        "--auto-edges",
        "omit",
    ]
    found = values(CliRunner().invoke(command, arguments))
    library = recovery.evaluate(truth, scores, lagged=True, auto_edges="omit")
    assert found["directed_f1"] == library["directed_f1"].value
    line = np.eye(4, k=1) + np.eye(4, k=-1)
    np.save(tmp_path / "line.npy", line)
    np.save(tmp_path / "refits.npy", np.stack([line, np.eye(4, k=1)]))
    np.save(tmp_path / "chain.npy", np.eye(4, k=1))
    arguments = [
        "--true",
        str(tmp_path / "chain.npy"),
        "--pred",
        str(tmp_path / "line.npy"),
        "--classes",
        "cpdag",
        "--refits",
        str(tmp_path / "refits.npy"),
        "-o",
        str(tmp_path / "result.json"),
    ]
    outcome = CliRunner().invoke(command, arguments)
    assert outcome.exit_code == 0, outcome.output
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["readings"]["classes"] == "dag and cpdag"
    assert any("2 refits" in note for note in content["notes"])
    assert [table["axis"] for table in content["breakdowns"]] == ["refit"]
