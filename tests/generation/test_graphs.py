"""Graphs of many kinds are read alike, and what could be read in two ways is refused with the line to write."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from graphgauge.core.errors import InputError
from graphgauge.generation.graphs import Graphs, are_graph_objects, concatenated, read_graphs, require_alike, rows_of
from graphgauge.generation.identity import codes

BOTH_WAYS = [[0, 1, 1, 2], [1, 0, 2, 1]]


def ids(*sides: Graphs) -> list[list[int]]:
    return [own.tolist() for own in codes(*sides).ids]


def data(edges: Any = BOTH_WAYS, nodes: int = 3, **attributes: Any) -> SimpleNamespace:
    """An object like PyG's data."""
    content = {"edge_index": torch.tensor(edges), "num_nodes": nodes, **attributes}
    return SimpleNamespace(**content, keys=lambda: list(content))


def path(labels: Any, attribute: Any = "atom") -> nx.Graph:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate(labels)), attribute)
    return graph


def mapping(labels: Any) -> dict[str, Any]:
    return {"nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": list(labels)}


def some(count: int = 12, seed: int = 0) -> list[nx.Graph]:
    """Connected graphs of several sizes."""
    return [nx.connected_watts_strogatz_graph(5 + place % 4, 4, 0.4, seed=seed + place) for place in range(count)]


def same(found: Graphs, expected: Graphs) -> None:
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array, err_msg=name)


# ---------------------------------------------------------------------------------------------------- kinds of input

OBJECTS = {
    "iterator": iter,
    "tuple": tuple,
    "objects": lambda graphs: np.array([*graphs, 0], dtype=object)[:-1],
    "batch": lambda graphs: SimpleNamespace(to_data_list=lambda: graphs),
    "pairs": lambda graphs: [(len(graph), list(graph.edges)) for graph in graphs],
    "turned and repeated": lambda graphs: [(len(graph), [(b, a) for a, b in graph.edges] * 2) for graph in graphs],
    "arrays of edges": lambda graphs: [(len(graph), np.array(graph.edges)) for graph in graphs],
    "dictionaries": lambda graphs: [{"nodes": len(graph), "edges": list(graph.edges)} for graph in graphs],
    "PyG": lambda graphs: [data(np.array(graph.to_directed().edges).T.tolist(), len(graph)) for graph in graphs],
    "names": lambda graphs: [nx.relabel_nodes(graph, lambda node: f"n{node}") for graph in graphs],
    "a mixture": lambda graphs: [*graphs[:3], *((len(graph), list(graph.edges)) for graph in graphs[3:])],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_other_libraries_are_the_same_graphs(kind: str) -> None:
    same(Graphs.from_objects(OBJECTS[kind](some())), Graphs.from_objects(some()))


MATRICES = {
    "arrays": lambda matrices: matrices,
    "tensors": lambda matrices: [torch.tensor(matrix) for matrix in matrices],
    "sparse": lambda matrices: [csr_matrix(matrix) for matrix in matrices],
    "bits": lambda matrices: [matrix.astype(bool) for matrix in matrices],
    "lists": lambda matrices: [matrix.tolist() for matrix in matrices],
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_the_same_graphs(kind: str) -> None:
    matrices = [nx.to_numpy_array(graph) for graph in some()]
    same(Graphs.from_adjacency(MATRICES[kind](matrices)), Graphs.from_objects(some()))


def test_padding_is_no_node_if_that_is_said_and_nodes_otherwise() -> None:
    matrices = [nx.to_numpy_array(graph) for graph in some()]
    stack = np.stack([np.pad(matrix, (0, 9 - len(matrix))) for matrix in matrices])
    same(Graphs.from_adjacency(stack, padded=True), Graphs.from_objects(some()))
    for read in (
        Graphs.from_adjacency(stack),
        Graphs.from_adjacency(list(stack)),
        Graphs.from_adjacency(torch.tensor(stack)),
    ):
        assert read.nodes.tolist() == [9] * 12


def test_types_of_nodes_and_edges_are_labels() -> None:
    """As DiGress returns graphs: the type of each node, and of each pair with 0 for no edge."""
    bonds = torch.tensor([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    atoms = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 1, 0]])
    graphs = Graphs.from_adjacency([bonds] * 3, node_types=atoms)
    assert graphs.edges.tolist() == [[0, 1], [1, 2]] * 3
    assert ids(graphs) == [[0, 1, 2]]
    plain = Graphs.from_adjacency([(bonds > 0).int()] * 3, node_types=atoms)
    assert ids(plain) == [[0, 0, 1]]
    for types, pairs in (([0, -1, 1], bonds), ([0, 1, 1], torch.triu(bonds)), ([0, 1], bonds), ([0, 1, -2], bonds)):
        with pytest.raises(InputError, match=r"graphs\[0\]: (types of nodes|an adjacency matrix|2 types of nodes)"):
            Graphs.from_adjacency([pairs], node_types=[torch.tensor(types)])
    with pytest.raises(InputError, match="2 graphs have node_types, and 3 have edges"):
        Graphs.from_adjacency([bonds] * 3, node_types=atoms[:2])


def test_batches_of_types_with_padding() -> None:
    """One-hot codes, batches, and padding by -1 or by codes of 0 are the same graphs as types."""
    rng = np.random.default_rng(5)
    sizes = (4, 6, 3)
    pairs, types, edges = [], np.full((3, 6), -1), np.full((3, 6, 6), -1)
    for place, size in enumerate(sizes):
        own = np.triu(rng.integers(0, 3, (size, size)), 1)
        pairs.append((rng.integers(0, 4, size), own + own.T))
        types[place, :size], edges[place, :size, :size] = pairs[-1]
    hot = np.eye(5)[types][..., :4] * (types >= 0)[..., np.newaxis]
    hot_edges = np.eye(4)[edges][..., :3] * (edges >= 0)[..., np.newaxis]
    hot_edges[:, np.arange(6), np.arange(6)] = 0  # as DiGress encodes the diagonal
    expected = Graphs.from_adjacency([own for _, own in pairs], node_types=[own for own, _ in pairs])
    assert expected.nodes.tolist() == list(sizes)
    for nodes, bonds in ((types, edges), (hot, hot_edges), (list(hot), list(hot_edges))):
        same(Graphs.from_adjacency(bonds, node_types=nodes), expected)
    with pytest.raises(InputError, match="not one-hot codes"):
        Graphs.from_adjacency([np.zeros((3, 3, 2))], node_types=[np.full((3, 2), 0.5)])


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([*some(3), None], r"graphs\[3\]: expected a graph, found nothing"),
        (np.zeros((20, 6)), r"expected a list of graphs, found an array of shape \(20, 6\).*from_adjacency"),
        ("graphs", "expected a list of graphs, found str"),
        ([np.zeros((3, 3))], r"graphs\[0\]: expected a graph, found ndarray.*from_adjacency"),
        ([[(0, 1), (1, 2)]], r"graphs\[0\]: expected a graph, found list.*\(number of nodes, edges\)"),
        ([nx.MultiGraph([(0, 1), (0, 1)])], "simple graph"),
        ([nx.Graph([(2, 2)])], "self-loop"),
        ([(3, [(1, 1)])], "self-loop"),
        ([(2, [(0, 5)])], "its edges refer to nodes beyond its 2 nodes"),
        ([(2, [(0, -1)])], "its edges refer to nodes beyond its 2 nodes"),
        ([(True, [])], "expected a graph"),
        ([(3, [(0, 1, 2)])], r"edges of shape \(1, 3\)"),
        ([(10**9, [])], "nearly all without edges"),
        ([data(edges=[0, 1])], r"edge_index has shape \(2,\)"),
        ([nx.DiGraph([(0, 1)]), nx.path_graph(3)], "some graphs are directed and others are not"),
    ],
)
def test_what_is_no_list_of_simple_graphs(graphs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graphs.from_objects(graphs)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        (np.zeros((3, 4)), r"found an array of shape \(3, 4\).*\(n, N, N\)"),
        (np.zeros((2, 3, 4)), r"graphs\[0\]: an adjacency matrix has shape \(3, 4\)"),
        ([np.triu(np.ones((3, 3)), 1)], "not symmetric.*networkx.DiGraph"),
        ([np.array([[0, 2], [2, 0]])], "entries other than 0 and 1.*node_types"),
        ([np.eye(3)], "3 self-loops, the first at node 0"),
        (nx.path_graph(3), "found Graph"),
    ],
)
def test_what_is_no_adjacency_matrix(matrices: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graphs.from_adjacency(matrices)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"nodes": 2, "edges": [[0, 1]], "directed": "false"}, "directed 'false'"),
        ({"nodes": 3.7, "edges": [[0, 1]]}, "nodes is 3.7"),
        ({"nodes": True, "edges": []}, "nodes is True"),
        ({"edges": [[0, 1]]}, "nodes is None"),
        ({"nodes": [{"id": 0}], "edges": []}, "nodes is "),
        ({"nodes": 4, "edges": [[0, 1, 2], [1, 2, 3]]}, r"shape \(2, 3\)"),
        ({"nodes": 4, "edges": [0, 1, 2, 3]}, r"shape \(4,\)"),
        ({"nodes": 4, "edges": [[0, 1], [2]]}, "rows of different lengths"),
        ({"nodes": 4, "edges": ["01"]}, "expected numbers"),
        ({"nodes": 4, "edges": None}, "expected numbers"),
        ({"nodes": 2, "edges": [["a", "b"]]}, "expected numbers"),
        ({"nodes": 3, "edges": [], "links": []}, "a graph has no 'links'"),
        ({"nodes": -1, "edges": []}, "beyond its -1 nodes"),
        ({"nodes": 2, "edges": [[0, 1]], "node_labels": "CO"}, "1 node_labels for 2 nodes"),
        ({"nodes": 3, "edges": [[0, 1]], "node_labels": ["C"]}, "1 node_labels for 3 nodes"),
        ({"nodes": 2, "edges": [[0, 1]], "node_labels": 7}, "1 node_labels for 2 nodes"),
        ({"nodes": 2, "edges": [[0, 1], [1, 0]], "edge_labels": ["a", "b"]}, "edge between 0 and 1 has two labels"),
        (data([[0, 1], [1, 0]], 2, edge_attr=torch.tensor([1, 2])), "edge between 0 and 1 has two labels"),
    ],
)
def test_what_is_no_graph_in_json_or_pyg(graph: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Graphs.from_objects(
            [(1, []), graph],
            edge_labels=["edge_attr"] if hasattr(graph, "keys") and not isinstance(graph, dict) else None,
        )
    assert "graphs[1]" in str(caught.value)


def test_nodes_without_an_edge_are_part_of_a_graph() -> None:
    alone = nx.path_graph(3)
    alone.add_node("x")
    graphs = Graphs.from_objects([alone, (4, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2)]), nx.empty_graph(2), (0, [])])
    assert ids(graphs) == [[0, 0, 1, 2, 3]]


# ------------------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    ("graph", "kind", "names"),
    [
        (path("COC"), "node", "atom"),
        (nx.random_geometric_graph(8, 0.5, seed=0), "node", "pos"),
        (data(x=torch.eye(3)), "node", "x"),
        (data(z=torch.tensor([6, 7, 6]), pos=torch.zeros(3, 3)), "node", "z"),
        (data(edge_attr=torch.ones(4, 2)), "edge", "edge_attr"),
        (nx.Graph([(0, 1, {"weight": 2})]), "edge", "weight"),
    ],
)
def test_attributes_need_a_word_about_them(graph: Any, kind: str, names: str) -> None:
    with pytest.raises(InputError) as caught:
        Graphs.from_objects([graph], where="generated")
    text = str(caught.value)
    assert text.startswith(f"generated[0]: its {kind}s have the attribute")
    assert f"{kind}_labels=['{names}']" in text
    assert f"{kind}_labels=[]" in text
    named = Graphs.from_objects([graph], **{f"{kind}_labels": [names]})
    assert getattr(named, f"{kind}_labels") is not None
    bare = Graphs.from_objects([graph], **{f"{kind}_labels": []})
    assert getattr(bare, f"{kind}_labels") is None


def test_labels_tell_graphs_apart() -> None:
    graphs = [path("CCO"), path("CCN"), path("OCC")]
    assert ids(Graphs.from_objects(graphs, node_labels=["atom"])) == [[0, 1, 0]]
    assert ids(Graphs.from_objects(graphs, node_labels="atom")) == [[0, 1, 0]]
    assert ids(Graphs.from_objects(graphs, node_labels=[])) == [[0, 0, 0]]
    for graph, charge in zip(graphs, (0, 0, 1), strict=True):
        nx.set_node_attributes(graph, charge, "charge")
    assert ids(Graphs.from_objects(graphs, node_labels=["atom", "charge"])) == [[0, 1, 2]]
    turned = Graphs.from_objects(graphs, node_labels=["charge", "atom"])
    assert ids(Graphs.from_objects(graphs, node_labels=["atom", "charge"]), turned) == [[0, 1, 2]] * 2


def test_data_of_pyg() -> None:
    """Edges are listed in both directions; one-hot features may be labels."""
    graphs = [data(x=torch.eye(3)[rows], y=torch.zeros(3)) for rows in ([0, 1, 0], [0, 0, 1], [0, 1, 0])]
    assert ids(Graphs.from_objects(graphs, node_labels=["x"])) == [[0, 1, 0]]
    assert Graphs.from_objects([data([[0, 1], [1, 2]])]).directed
    assert not Graphs.from_objects([data(y=torch.zeros(3))]).directed
    without_keys = SimpleNamespace(edge_index=np.array(BOTH_WAYS), num_nodes=3, x=np.eye(3)[[0, 1, 0]], edge_attr=None)
    assert ids(Graphs.from_objects([without_keys, graphs[0]], node_labels=["x"])) == [[0, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool, torch.uint8, torch.int32])
def test_labels_that_are_equal_numbers_are_equal(dtype: torch.dtype) -> None:
    one, other = (data(x=torch.tensor([[1, 0], [0, 1], [0, 1]], dtype=kind)) for kind in (dtype, torch.long))
    assert ids(Graphs.from_objects([one, other], node_labels=["x"])) == [[0, 0]]
    mixed = [path([1, True, 1.0]), path([np.int8(1), 1, 1])]
    assert ids(Graphs.from_objects(mixed, node_labels=["atom"])) == [[0, 0]]


def test_labels_of_json_need_no_name() -> None:
    named = Graphs.from_objects([path("COC")], node_labels=["atom"])
    unnamed = Graphs.from_objects([mapping("COC"), mapping("CCO")])
    assert ids(named, unnamed) == [[0], [0, 1]]
    assert ids(Graphs.from_objects([mapping("COC"), mapping("CCO")], node_labels=[])) == [[0, 0]]
    with pytest.raises(InputError, match=r"no node has the attribute 'atom'. Attributes: none.*node_labels=\[\]"):
        Graphs.from_objects([mapping("COC")], node_labels=["atom"])


def test_attributes_that_are_named_must_exist() -> None:
    with pytest.raises(InputError, match=r"graphs\[1\]: no node has the attribute 'atm'. Attributes: atm2"):
        Graphs.from_objects([path("COC", "atm"), path("COO", "atm2")], node_labels=["atm"])
    with pytest.raises(InputError, match=r"no node has the attribute 'atom'. Attributes: none"):
        Graphs.from_objects([nx.path_graph(3)], node_labels=["atom"])
    assert Graphs.from_objects([nx.empty_graph(3)], edge_labels=["bond"]).edge_labels is None
    assert ids(Graphs.from_objects([path("COC", 7), path("CCC", 7)], node_labels=["7"])) == [[0, 1]]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([nx.path_graph(3)], [nx.DiGraph([(0, 1), (1, 2)])], "directed and others are not.*to_undirected"),
        ([path("COC")], [(3, [(0, 1), (1, 2)])], "some graphs have labelled nodes and others do not"),
    ],
)
def test_graphs_that_cannot_be_compared_are_refused(first: Any, second: Any, message: str) -> None:
    def read(graphs: list[Any]) -> Graphs:
        names = list(dict(graphs[0].nodes(data=True))[0]) if isinstance(graphs[0], nx.Graph) else []
        return Graphs.from_objects(graphs, node_labels=names)

    for one, other in ((first, second), (second, first)):
        with pytest.raises(InputError, match=message):
            require_alike([read(one), read(other)])
        with pytest.raises(InputError, match=message):
            codes(read(one), read(other))
        with pytest.raises(InputError, match=message):
            read(one).joined(read(other))


# ----------------------------------------------------------------------------------------------- container and files


def test_taking_joining_and_arrays() -> None:
    graphs = Graphs.from_objects(
        [*(mapping(atoms) for atoms in ("COC", "CCO", "NNN")), {"nodes": 1, "edges": [], "node_labels": ["F"]}]
    )
    same(Graphs.from_arrays(graphs.arrays()), graphs)
    mask = np.array([True, False, False, True])
    for few in (graphs.take(mask), graphs.take(np.flatnonzero(mask)), rows_of(graphs, [0, 3])):
        assert len(few) == 2
        assert few[0].tolist() == graphs[0].tolist()
        assert few.nodes.tolist() == [3, 1]
        np.testing.assert_array_equal(few.node_labels, np.delete(graphs.node_labels, slice(3, 9)))
    same(graphs.take([0, 1]).joined(graphs.take([2, 3])), graphs)
    same(concatenated(graphs.take([0]), graphs.take([1, 2, 3])), graphs)
    assert concatenated(None, graphs) is concatenated(graphs, None) is graphs
    np.testing.assert_array_equal(concatenated(np.zeros((1, 2)), np.ones((1, 2))), [[0, 0], [1, 1]])
    assert len(graphs.take(np.zeros(4, bool))) == len(Graphs.from_objects([])) == 0
    named = Graphs.from_objects([path("COC")], node_labels=["atom"])
    same(Graphs.from_arrays(named.arrays()), named)


def test_attributes_of_other_names_with_the_same_values_are_the_same_labels() -> None:
    one = Graphs.from_objects([path("COC")], node_labels=["atom"])
    assert ids(one, Graphs.from_objects([path("COC", "element")], node_labels=["element"])) == [[0], [0]]


def test_graphs_say_what_they_are() -> None:
    graphs = Graphs.from_objects([path("COC"), path("COO")], node_labels=["atom"])
    assert repr(graphs) == "Graphs: 2 undirected, 6 nodes, 4 edges"


def test_which_lists_are_graphs_without_a_word() -> None:
    assert are_graph_objects([nx.path_graph(3)])
    assert are_graph_objects((data(),))
    assert are_graph_objects(SimpleNamespace(to_data_list=list))
    assert not any(map(are_graph_objects, ([], np.zeros((3, 4)), [[0, 1]], [(2, [])], "graphs", None)))


def test_files(tmp_path: Path) -> None:
    graphs = some(5)
    listed = [{"nodes": len(graph), "edges": [list(edge) for edge in graph.edges]} for graph in graphs]
    (tmp_path / "a.json").write_text(json.dumps(listed))
    (tmp_path / "a.g6").write_bytes(b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs))
    (tmp_path / "a.s6").write_bytes(b"".join(nx.to_sparse6_bytes(graph, header=False) for graph in graphs))
    (tmp_path / "one.g6").write_bytes(nx.to_graph6_bytes(graphs[0]))
    for ending in ("json", "g6", "s6"):
        same(read_graphs(tmp_path / f"a.{ending}"), Graphs.from_objects(graphs))
    assert len(read_graphs(str(tmp_path / "one.g6"))) == 1
    (tmp_path / "labelled.json").write_text(json.dumps([mapping("COC")]))
    assert read_graphs(tmp_path / "labelled.json").node_labels is not None
    assert read_graphs(tmp_path / "labelled.json", node_labels=[]).node_labels is None
    (tmp_path / "bad.g6").write_bytes(b"\x00\x01")
    (tmp_path / "bad.json").write_text('{"nodes": 3}')
    (tmp_path / "edges.json").write_text("[[[0, 1], [1, 2]]]")
    for name, message in (
        ("bad.g6", "cannot be read"),
        ("bad.json", "not a JSON list of graphs"),
        ("edges.json", r"edges.json\[0\]: expected a graph"),
        ("absent.g6", "no such file"),
        ("absent.json", "no such file"),
        ("a.txt", "no ending of graphs"),
    ):
        with pytest.raises(InputError, match=message):
            read_graphs(tmp_path / name)
