"""Edge lists as tools write them: columns, names, sources of a gene network."""

import numpy as np
import pandas
import pytest
from tests.recovery.forms import evaluate, evaluate_files

from graphgauge.core.errors import InputError, OptionError

TRUTH = [("A", "B"), ("C", "B"), ("D", "A")]
SCORED = [("A", "B", 0.9), ("A", "C", 0.2), ("C", "B", 0.6), ("B", "D", 0.7)]
NODES = ("A", "B", "C", "D")


def expected():
    return evaluate(TRUTH, SCORED, nodes=NODES).to_flat()


def table(head, rows=SCORED):
    return "".join(",".join(map(str, row)) + "\n" for row in (head, *rows))


# Tables of tools, and the option that names their columns.
FORMS = {
    "plain": (("source", "target", "weight"), SCORED, None),
    "BEELINE": (("Gene1", "Gene2", "EdgeWeight"), SCORED, "source=Gene1,target=Gene2,weight=EdgeWeight"),
    "bnlearn arcs": (("from", "to", "strength"), SCORED, "source=from,target=to,weight=strength"),
    "more columns": (
        ("id", "Source", "Target", "Weight", "note"),
        [(7, *row, "x") for row in SCORED],
        "source=Source,target=Target,weight=Weight",
    ),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "true.csv").write_text(table(("source", "target"), TRUTH))
    return tmp_path


def columns_of(text):
    return None if text is None else dict(pair.split("=") for pair in text.split(","))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("form", FORMS)
def test_tables_of_tools(folder, form, ending):
    head, rows, columns = FORMS[form]
    frame = pandas.DataFrame(rows, columns=list(head))
    path = folder / f"edges.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    options = {} if columns is None else {"columns": columns_of(columns)}
    for nodes in (NODES, "listed", "A,B,C,D"):
        found = evaluate_files(true=folder / "true.csv", pred=path, nodes=nodes, **options)
        np.testing.assert_equal(found.to_flat(), expected())
    np.testing.assert_equal(evaluate(TRUTH, frame, nodes=NODES, **options).to_flat(), expected())
    if columns is not None:
        with pytest.raises(InputError, match=r"pred: .*The columns are .*pass columns="):
            evaluate_files(true=folder / "true.csv", pred=path, nodes=NODES)


def test_what_is_wrong_with_a_table_is_said(folder):
    (folder / "odd.csv").write_text(table(("x", "y", "z")))
    odd = {"true": folder / "true.csv", "pred": folder / "odd.csv", "nodes": NODES}
    with pytest.raises(InputError, match="has no column 'b'"):
        evaluate_files(**odd, columns={"source": "x", "target": "b"})
    for wrong in ({"source": "x"}, {"source": "x", "goal": "y"}):
        with pytest.raises(OptionError, match="columns names"):
            evaluate_files(**odd, columns=wrong)
    with pytest.raises(OptionError, match="columns"):
        evaluate_files(**odd, columns="x,y")
    (folder / "good.csv").write_text(table(("source", "target", "weight")))
    with pytest.raises(InputError, match='"listed" for those that occur'):
        evaluate_files(true=folder / "true.csv", pred=folder / "good.csv")
    (folder / "text.csv").write_text("source,target,weight\nA,B,heavy\n")
    with pytest.raises(InputError, match="a weight is not a number"):
        evaluate_files(true=folder / "true.csv", pred=folder / "text.csv", nodes=NODES)


def test_sources_of_a_gene_network(folder):
    """Of four genes A and C are transcription factors: only their six outgoing cells count."""
    (folder / "edges.csv").write_text(table(("source", "target", "weight")))
    (folder / "factors.txt").write_text("A\nC\n")
    keys = ["tp", "fp", "fn", "early_precision_ratio", "auprc", "skeleton_shd"]
    files = {"true": folder / "true.csv", "pred": folder / "edges.csv", "nodes": NODES}
    found = evaluate_files(**files, sources=str(folder / "factors.txt"), metrics=keys)
    assert [found[key].value for key in keys] == [2, 0, 0, 3, 1, 0]
    assert found["tp"].n == 6
    assert found.conventions["sources"] == "2 of 4 nodes"
    assert [entry["name"] for entry in found.receipt["inputs"]] == ["true", "pred", "sources"]
    np.testing.assert_equal(
        evaluate(TRUTH, SCORED, nodes=NODES, sources=["C", "A"], metrics=keys).to_flat(), found.to_flat()
    )
    # A, C and D are those from which true edges start.
    listed = evaluate(TRUTH, SCORED, nodes=NODES, sources="listed", metrics=["tp", "fn"])
    assert [listed[key].value for key in listed] == [2, 1]
    for wrong in ("A", 5):
        with pytest.raises(OptionError, match="sources"):
            evaluate(TRUTH, SCORED, nodes=NODES, sources=wrong)
    with pytest.raises(InputError, match="sources: unknown nodes: 'E'"):
        evaluate(TRUTH, SCORED, nodes=NODES, sources=["E"])


GENES = {"true_source": "Gene1", "true_target": "Gene2", "source": "TF", "target": "target", "weight": "importance"}


def test_truth_and_scores_may_name_their_columns_otherwise(folder):
    (folder / "net.csv").write_text(table(("Gene1", "Gene2"), TRUTH))
    (folder / "grn.csv").write_text(table(("TF", "target", "importance")))
    files = {"true": folder / "net.csv", "pred": folder / "grn.csv", "nodes": NODES}
    written = ",".join(f"{role}={name}" for role, name in GENES.items())
    for columns in (GENES, written, written.split(",")):
        np.testing.assert_equal(evaluate_files(**files, columns=columns).to_flat(), expected())
    truth, scores = (pandas.read_csv(folder / name) for name in ("net.csv", "grn.csv"))
    np.testing.assert_equal(evaluate(truth, scores, nodes=NODES, columns=GENES).to_flat(), expected())
    with pytest.raises(InputError, match=r'true: .*columns=.*and "true_source" and "true_target"'):
        evaluate_files(**files, columns={"source": "TF", "target": "target", "weight": "importance"})


def test_a_truth_has_no_weights_and_scores_do(folder):
    (folder / "net.csv").write_text(table(("TF", "target"), TRUTH))
    (folder / "grn.csv").write_text(table(("TF", "target", "importance")))
    files = {"true": folder / "net.csv", "pred": folder / "grn.csv", "nodes": NODES}
    columns = {"source": "TF", "target": "target"}
    found = evaluate_files(**files, columns={**columns, "weight": "importance"})
    np.testing.assert_equal(found.to_flat(), expected())
    with pytest.raises(InputError, match="no weights, and the column 'importance' is not read"):
        evaluate_files(**files, columns=columns)
