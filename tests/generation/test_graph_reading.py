"""Graphs of many kinds are read alike, and what could be read in two ways is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.graph_reading import LabelNames
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.overlap import learned
from graphgauge.generation.table import SampleTable

UNIQUE = "overall_uniqueness_ratio"
BOTH_WAYS = [[0, 1, 1, 2], [1, 0, 2, 1]]
BITS = np.random.default_rng(0).random((20, 6)) < 0.5


def value(key: str, **given: Any) -> float:
    found = generation.evaluate(metrics=[key], resamples=9, permutations=9, **given)
    return found[key].value


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


def matrices(graphs: list[nx.Graph]) -> list[np.ndarray]:
    return [nx.to_numpy_array(graph) for graph in graphs]


def padded(graphs: list[nx.Graph]) -> np.ndarray:
    return np.stack([np.pad(matrix, (0, 9 - len(matrix))) for matrix in matrices(graphs)])


KINDS = {
    "arrays": matrices,
    "tensors": lambda graphs: [torch.tensor(matrix) for matrix in matrices(graphs)],
    "sparse": lambda graphs: [csr_matrix(matrix) for matrix in matrices(graphs)],
    "iterator": iter,
    "objects": lambda graphs: np.array([*graphs, 0], dtype=object)[:-1],
    "batch": lambda graphs: SimpleNamespace(to_data_list=lambda: graphs),
    "mixture": lambda graphs: [*matrices(graphs[:3]), *graphs[3:]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_collections_of_other_libraries_are_the_same_graphs(kind: str) -> None:
    expected = Graphs.of(some())
    for found in (Graphs.of(KINDS[kind](some())), SampleTable.of(real=KINDS[kind](some())).real):
        assert isinstance(found, Graphs)
        assert found.nodes.tolist() == expected.nodes.tolist()
        assert found.edges.tolist() == expected.edges.tolist()


def test_padding_is_no_node_if_that_is_said_and_a_note_otherwise() -> None:
    given = {"real": some(), "generated": some(12, 50)}
    expected = value("degree_mmd", **given)
    stacks = {name: padded(graphs) for name, graphs in given.items()}
    assert value("degree_mmd", **stacks, samples="padded") == expected
    assert value("degree_mmd", real=given["real"], generated=stacks["generated"], samples="padded") == expected
    for read in (stacks, {name: list(stack) for name, stack in stacks.items()}):
        table = SampleTable.of(**read, samples="graphs")
        assert table.real.nodes.tolist() == [9] * 12
        assert any("24 adjacency matrices end in nodes without edges" in note for note in table.notes)
    assert not SampleTable.of(**stacks, samples="padded").notes


def test_types_of_nodes_and_edges_are_labels() -> None:
    """As DiGress returns graphs: the type of each node, and of each pair with 0 for no edge."""
    bonds = torch.tensor([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    molecules = [[torch.tensor(atoms), bonds] for atoms in ([0, 1, 2], [2, 1, 0], [0, 1, 0])]
    found = Graphs.of(molecules)
    assert found.edges.tolist() == [[0, 1], [1, 2]] * 3
    assert value(UNIQUE, generated=molecules) == 1
    assert value(UNIQUE, generated=molecules, edge_labels=[]) == pytest.approx(2 / 3)
    assert value(UNIQUE, generated=molecules, node_labels=[], edge_labels=[]) == pytest.approx(1 / 3)
    for types, pairs in (([0, -1, 1], bonds), ([0, 1, 1], torch.triu(bonds))):
        with pytest.raises(InputError, match=r"graphs\[0\]: (types of nodes|an adjacency matrix is not symmetric)"):
            Graphs.of([[torch.tensor(types), pairs]])


def test_batches_of_types_with_padding() -> None:
    """One-hot codes, batches, and padding by -1 or by codes of 0 are the same graphs as types."""
    rng = np.random.default_rng(5)
    sizes = (4, 6, 3)
    pairs, types, edges = [], np.full((3, 6), -1), np.full((3, 6, 6), -1)
    for place, size in enumerate(sizes):
        own = np.triu(rng.integers(0, 3, (size, size)), 1)
        pairs.append([rng.integers(0, 4, size), own + own.T])
        types[place, :size], edges[place, :size, :size] = pairs[-1]
    hot = np.eye(5)[types][..., :4] * (types >= 0)[..., np.newaxis]
    hot_edges = np.eye(4)[edges][..., :3] * (edges >= 0)[..., np.newaxis]
    hot_edges[:, np.arange(6), np.arange(6)] = 0  # as DiGress encodes the diagonal
    expected = Graphs.of(pairs)
    singly = [list(pair) for pair in zip(hot, hot_edges, strict=True)]
    for given in ((types, edges), [types, edges], (hot, hot_edges), singly):
        found = Graphs.of(given)
        for name, array in expected.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], array)
    with pytest.raises(InputError, match="not one-hot codes"):
        Graphs.of([[np.full((3, 2), 0.5), np.zeros((3, 3, 2))]])


def test_small_matrices_among_larger_ones_are_no_lists_of_edges() -> None:
    found = Graphs.of([np.array([[0, 0], [0, 0]]), np.array([[0, 1], [1, 0]]), np.zeros((3, 3), int)])
    assert found.nodes.tolist() == [2, 2, 3]
    assert found.edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"generated": [*some(3), None]}, r"generated\[3\]: expected a graph, found nothing"),
        ({"generated": BITS, "samples": "graphs"}, r"expected a list of graphs, found an array of shape \(20, 6\)"),
        ({"generated": [nx.path_graph(2)] * 12, "samples": "bits"}, 'graphs, but samples="bits"'),
    ],
)
def test_what_is_no_list_of_graphs(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SampleTable.of(**given)


# ------------------------------------------------------------------------------------------- sides that do not match


LABELLED, PLAIN = [path("COC")] * 12, [nx.path_graph(3)] * 12
ARROWS = [nx.DiGraph([(0, 1), (1, 2)])] * 12
MISMATCHES = [
    (PLAIN, [data([[0, 1], [1, 2]])] * 12, "directed and others are not.*to_undirected"),
    (PLAIN, ARROWS, "directed and others are not"),
    (LABELLED, PLAIN, "some graphs have labelled nodes and others do not"),
    (LABELLED, [path("COC", "element")] * 12, "nodes are labelled by atom and by element"),
]


@pytest.mark.parametrize(("first", "second", "message"), MISMATCHES)
def test_graphs_that_cannot_be_compared_are_refused_on_any_side(first: Any, second: Any, message: str) -> None:
    for one, other in ((first, second), (second, first)):
        for given in ({"real": one, "generated": other}, {"generated": one, "train": other}):
            with pytest.raises(InputError, match=message):
                SampleTable.of(**given)
        with pytest.raises(InputError, match=message):
            generation.compare_samples(one, {"a": other, "b": other})


def test_labels_of_one_side_can_be_ignored() -> None:
    assert value("degree_mmd", real=LABELLED, generated=PLAIN, node_labels=[]) == 0


# ------------------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool, torch.uint8, torch.int32])
def test_labels_that_are_equal_numbers_are_equal(dtype: torch.dtype) -> None:
    def one(kind: torch.dtype) -> list[SimpleNamespace]:
        return [data(x=torch.tensor([[1, 0], [0, 1], [0, 1]], dtype=kind))]

    assert value("novelty", generated=one(dtype) * 2, train=one(torch.long)) == 0
    assert value(UNIQUE, generated=[path([1, True, 1.0]), path([np.int8(1), 1, 1])], node_labels=["atom"]) == 0.5


def test_a_label_is_the_same_through_every_reader() -> None:
    doors = [[path("COC")], [mapping("COC")], [data(atom=None, x=None)]]
    assert value("novelty", generated=doors[1] * 2, train=doors[0]) == 0
    assert value("novelty", generated=doors[0] * 2, train=doors[1]) == 0
    numbers = [path([False, True, True]), mapping([0, 1, 1]), data(x=torch.tensor([0, 1, 1])), path([0, 1, 1], 7)]
    for own in numbers[:3]:
        for known in numbers[1:]:
            if not (own is numbers[0] and known is numbers[3]):  # attributes with two names
                assert learned(Graphs.of([own]), Graphs.of([known])).all()
    table = SampleTable.of(generated=doors[1] * 2, train=[data(x=torch.tensor([0, 1, 0]))])
    assert "no label of generated nodes occurs among the real and training graphs" in table.notes


def test_attributes_that_are_named_must_exist() -> None:
    with pytest.raises(InputError, match=r"no node has the attribute 'atm'.*Attributes: atom"):
        value(UNIQUE, generated=[path("COC"), path("COO")], node_labels=["atm"])
    numbers = [data(z=torch.tensor(atoms)) for atoms in ([6, 7, 6], [6, 8, 6])]
    assert value(UNIQUE, generated=numbers, node_labels=["z"]) == 1
    assert any("ignored: z" in note for note in SampleTable.of(generated=numbers).notes)
    with pytest.raises(InputError, match="no node has the attribute 'atom'"):
        value(UNIQUE, generated=[mapping("COC")], node_labels=["atom"])


def test_which_attributes_are_labels_is_decided_for_all_graphs() -> None:
    pair = [path("COC"), path("COC")]
    for graph, charge in zip(pair, (0, 0.0), strict=True):
        nx.set_node_attributes(graph, charge, "charge")
    table = SampleTable.of(generated=pair)
    assert table.generated.node_names == ("atom",)
    assert any("ignored: charge" in note for note in table.notes)
    assert value(UNIQUE, generated=pair) == 0.5


@pytest.mark.parametrize("name", [0, ("a", 1), 1.5])
def test_names_of_attributes_need_not_be_text(name: Any) -> None:
    assert value(UNIQUE, generated=[path("COC", name), path("CCC", name)]) == 1
    assert value(UNIQUE, generated=[path("COC", name), path("CCC", name)], node_labels=[str(name)]) == 1


@pytest.mark.parametrize(
    "graph",
    [
        {"nodes": 2, "edges": [[0, 1], [1, 0]], "edge_labels": ["a", "b"]},
        data([[0, 1], [1, 0]], 2, edge_attr=torch.tensor([1, 2])),
    ],
)
def test_an_edge_has_one_label(graph: Any) -> None:
    with pytest.raises(InputError, match=r"graphs\[0\]: the edge between 0 and 1 has two labels"):
        Graphs.of([graph])


def test_labels_can_be_ignored_through_every_reader(tmp_path: Path) -> None:
    for pair in ([mapping("CCO"), mapping("CCN")], [path("CCO"), path("CCN")]):
        for given in (pair, Graphs.of(pair)):
            assert value(UNIQUE, generated=given) == 1
            assert value(UNIQUE, generated=given, node_labels=[]) == 0.5
    SampleTable.of(generated=[path("CCO"), path("CCN")]).save(tmp_path / "table.npz")
    loaded = SampleTable.load(tmp_path / "table.npz")
    assert loaded.generated.node_names == ("atom",)
    with pytest.raises(OptionError, match="a table already contains samples: node_labels"):
        generation.evaluate(loaded, node_labels=[])
    with pytest.raises(InputError, match="labels of nodes are atom"):
        Graphs.of(loaded.generated, labels=LabelNames(("element",)))


# ---------------------------------------------------------------------------------------------------------- mappings


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"nodes": 2, "edges": [[0, 1]], "directed": "false"}, "directed is 'false'"),
        ({"nodes": 3.7, "edges": [[0, 1]]}, "nodes is 3.7"),
        ({"nodes": True, "edges": []}, "nodes is True"),
        ({"nodes": [{"id": 0}], "edges": []}, "nodes is "),
        ({"nodes": 4, "edges": [[0, 1, 2], [1, 2, 3]]}, "not pairs of nodes"),
        ({"nodes": 4, "edges": [0, 1, 2, 3]}, "not pairs of nodes"),
        ({"nodes": 4, "edges": ["01"]}, "not pairs of nodes"),
        ({"edges": None}, "edges are NoneType"),
        ({"edges": [[[0], 1]]}, "not hashable"),
        ({"nodes": 2, "edges": [["a", "b"]]}, "not integers"),
        ({"nodes": 3, "edges": [], "links": []}, "a graph has no 'links'"),
        ({"nodes": -1, "edges": []}, "beyond its -1 nodes"),
        ({"nodes": 2, "edges": [[0, 1]], "node_labels": "CO"}, "2 node_labels for 2 node"),
        ({"nodes": 2, "edges": [[0, 1]], "node_labels": 7}, "1 node_labels for 2 node"),
        ((3, [[0, 1, 2], [1, 2, 0]]), "expected a graph"),
    ],
)
def test_what_is_no_graph_in_json(graph: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graphs.of([graph])


def test_without_a_number_the_nodes_are_those_that_occur() -> None:
    edges = [[0, 1], [3, 4]]
    for graph in (list(map(tuple, edges)), {"edges": edges}, {"nodes": None, "edges": edges}):
        assert Graphs.of([graph]).nodes.tolist() == [4]
    assert Graphs.of([{"edges": [["a", "b"]]}]).edges.tolist() == [[0, 1]]
    assert Graphs.of([{"nodes": 5, "edges": edges}]).nodes.tolist() == [5]


# ---------------------------------------------------------------------------------------------------- unused options


@pytest.mark.parametrize(
    ("samples", "option"),
    [
        (BITS, {"convention": "gran"}),
        (BITS, {"node_labels": ["atom"]}),
        (BITS, {"edge_labels": []}),
    ],
)
def test_options_without_effect_are_refused(samples: Any, option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        generation.evaluate(generated=samples, metrics=[UNIQUE], **option)
    with pytest.raises(OptionError, match=next(iter(option))):
        generation.compare_samples(None, {"a": samples, "b": samples}, **option)
