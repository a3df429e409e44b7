"""Graph files of every kind read as the same graph; files are data and never code."""

import json
import pickle

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
from tests.recovery.forms import evaluate, evaluate_files

from graphgauge.core.errors import InputError
from graphgauge.recovery.doors import read_graph

NAMES = ("a", "b", "c d")
MATRIX = np.array([[0, 0.5, 0], [0, 0, 2.0], [0.25, 0, 0]])
EDGES = [("a", "b", 0.5), ("b", "c d", 2.0), ("c d", "a", 0.25)]


def frame():
    return pandas.DataFrame(MATRIX, index=NAMES, columns=NAMES)


def digraph():
    graph = networkx.DiGraph()
    graph.add_nodes_from(NAMES)
    graph.add_weighted_edges_from(EDGES)
    return graph


WRITERS = {
    "dense.npy": lambda path: np.save(path, MATRIX),
    "dense.npz": lambda path: np.savez(path, MATRIX),
    "sparse.npz": lambda path: scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(MATRIX)),
    "plain.csv": lambda path: np.savetxt(path, MATRIX, delimiter=","),
    "named.csv": lambda path: frame().to_csv(path),
    "header.csv": lambda path: frame().to_csv(path, index=False),
    "shuffled.csv": lambda path: frame().iloc[[2, 0, 1]].to_csv(path),
    "edges.csv": lambda path: pandas.DataFrame(EDGES, columns=["source", "target", "weight"]).to_csv(path, index=False),
    "matrix.parquet": lambda path: frame().to_parquet(path, index=False),
    "named.parquet": lambda path: frame().reset_index().to_parquet(path, index=False),
    "edges.parquet": lambda path: pandas.DataFrame(EDGES, columns=["source", "target", "weight"]).to_parquet(path),
    "matrix.json": lambda path: path.write_text(json.dumps(MATRIX.tolist())),
    "graph.gml": lambda path: networkx.write_gml(digraph(), path),
    "graph.graphml": lambda path: networkx.write_graphml(digraph(), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_holds_the_same_graph(tmp_path, name):
    WRITERS[name](tmp_path / name)
    graph = read_graph(tmp_path / name)
    evaluation = evaluate(frame() > 0, graph, threshold=0.3, nodes=NAMES)
    assert evaluation["tp"].value == 2
    assert evaluation["fn"].value == 1
    assert evaluation["fp"].value == 0
    assert evaluation["best_threshold"].value == 0


def _pickled(path):
    with path.open("wb") as stream:
        pickle.dump(MATRIX, stream)


BROKEN = {
    "missing.csv": lambda path: None,
    "missing.npy": lambda path: None,
    "objects.npy": lambda path: np.save(path, np.array([{}], dtype=object), allow_pickle=True),
    "pickled.npy": _pickled,
    "pickled.npz": _pickled,
    "empty.csv": lambda path: path.write_text(""),
    "words.csv": lambda path: path.write_text("a,b\nc,d\n"),
    "ragged.csv": lambda path: path.write_text("1,2\n3\n"),
    "other-names.csv": lambda path: path.write_text(",a,b\nb,0,1\nz,0,0\n"),
    "no-weight.csv": lambda path: path.write_text("source,target,weight\na,b,heavy\n"),
    "text.json": lambda path: path.write_text("{"),
    "nan.json": lambda path: path.write_text("[[0, NaN], [0, 0]]"),
    "number.json": lambda path: path.write_text("3"),
    "deep.json": lambda path: path.write_text("[" * 100_000),
    "wrong.gml": lambda path: path.write_text("graph ["),
    "wrong.graphml": lambda path: path.write_text("<graphml>"),
    "unknown.xyz": lambda path: path.write_text("hello"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_one_clear_error(tmp_path, name):
    BROKEN[name](tmp_path / name)
    np.save(tmp_path / "true.npy", np.zeros((2, 2)))
    with pytest.raises(InputError, match=f"^(\\S*{name}|pred|true and pred)\\b") as caught:
        evaluate_files(true=tmp_path / "true.npy", pred=tmp_path / name)
    assert "A_pred" not in str(caught.value)


@pytest.mark.parametrize(("options", "most"), [({}, "10,000,000"), ({"encoding": "pcalg"}, "10,000")])
def test_more_nodes_than_there_is_memory_for(tmp_path, options, most):
    large = 2**31
    graph = scipy.sparse.coo_array((np.ones(2), ([0, 1], [1, 2])), shape=(large, large))
    scipy.sparse.save_npz(tmp_path / "g.npz", graph)
    (tmp_path / "e.csv").write_text("source,target\n0,1\n1,2\n")
    files = {"true": tmp_path / "e.csv", "pred": tmp_path / "e.csv"}
    with pytest.raises(InputError, match=f"has 2,147,483,648 nodes, more than {most}"):
        evaluate_files(true=tmp_path / "e.csv", pred=tmp_path / "g.npz", **options)
    with pytest.raises(InputError, match="has 2,147,483,648 nodes"):
        evaluate_files(**files, nodes=large)
