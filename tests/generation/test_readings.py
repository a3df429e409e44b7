"""Equal samples are equal through every door; samples that cannot be compared are refused, and nothing is dropped."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from graphgauge import generation
from graphgauge.core.errors import InputError
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import near_copies

UNIQUE = "overall_uniqueness_ratio"


class Data:
    """As PyG's."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def keys(self) -> list[str]:
        return list(self.__dict__)


def chain(labels: Any, name: Any = "atom") -> nx.Graph:
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), name)
    return graph


def mapping(labels: Any) -> dict[str, Any]:
    return {"nodes": len(labels), "edges": [[0, 1], [1, 2]], "node_labels": list(labels)}


def pyg(labels: Any, dtype: Any = np.int64) -> Data:
    ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    return Data(edge_index=ends, num_nodes=3, x=np.array(labels, dtype)[:, np.newaxis])


def value(key: str, **given: Any) -> float:
    return float(generation.evaluate(metrics=[key], **given)[key].value)


# ------------------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("own", [
    chain([0, 1, 1]), chain([False, True, True]), chain(np.array([0, 1, 1])), mapping([0, 1, 1]), pyg([0, 1, 1]),
    pyg([0, 1, 1], np.float32), pyg([0, 1, 1], bool), pyg([0, 1, 1], np.uint8), chain([0, 1, 1], 7),
])  # fmt: skip
@pytest.mark.parametrize("known", [chain([0, 1, 1]), mapping([0, 1, 1]), pyg([0, 1, 1]), chain([0.0, 1.0, 1.0])])
def test_equal_labels_are_equal_through_every_door(own: Any, known: Any) -> None:
    if isinstance(own, nx.Graph) and 7 in own.nodes[0] and isinstance(known, nx.Graph):
        own = chain([0, 1, 1])
    named: dict[str, Any] = {}
    if isinstance(known, nx.Graph) and isinstance(known.nodes[0]["atom"], float):
        if not isinstance(own, nx.Graph):
            return  # unnamed labels cannot be chosen by name
        named = {"node_labels": ["atom"]}
    assert value("novelty", generated=[own] * 2, train=[known], **named) == 0


def test_labels_of_different_attributes_are_refused() -> None:
    with pytest.raises(InputError, match="labelled by atom and by element"):
        value("novelty", generated=[chain("COC")] * 2, train=[chain("COC", "element")])


def test_labels_that_occur_nowhere_else_are_noted() -> None:
    found = generation.evaluate(generated=[chain("COC")] * 2, train=[chain("coc")])
    assert "no label of generated nodes occurs among the real and training graphs" in found.notes


def test_an_attribute_that_no_graph_has_is_refused() -> None:
    for graphs in ([chain("COC")], [mapping("COC")], [pyg([1, 2, 3])]):
        with pytest.raises(InputError, match="no node has the attribute 'atm'"):
            value(UNIQUE, generated=graphs * 2, node_labels=["atm"])


def test_attributes_of_data_are_found_by_name() -> None:
    ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [Data(edge_index=ends, num_nodes=3, z=np.array(z)) for z in ([6, 7, 6], [6, 8, 6])]
    assert value(UNIQUE, generated=graphs, node_labels=["z"]) == 1
    assert any("ignored: z" in note for note in generation.evaluate(generated=graphs).notes)


def test_labels_are_chosen_for_all_graphs_together() -> None:
    first, second = chain("COC"), chain("COC")
    nx.set_node_attributes(first, 0, "charge")
    nx.set_node_attributes(second, 0.0, "charge")
    assert value(UNIQUE, generated=[first, second]) == 0.5


@pytest.mark.parametrize("make", [chain, mapping, lambda labels: Graphs.of([chain(labels)])])
def test_labels_can_be_ignored_through_every_door(make: Any) -> None:
    made = [make("CCO"), make("CCN")]
    if isinstance(made[0], Graphs):
        made = Graphs.of([chain("CCO"), chain("CCN")])
    assert value(UNIQUE, generated=made) == 1
    assert value(UNIQUE, generated=made, node_labels=[]) == 0.5


def test_an_edge_with_two_labels_is_refused() -> None:
    graph = {"nodes": 2, "edges": [[0, 1], [1, 0]], "edge_labels": ["a", "b"]}
    with pytest.raises(InputError, match="has two labels"):
        value(UNIQUE, generated=[graph] * 2)
    assert value(UNIQUE, generated=[graph] * 2, edge_labels=[]) == 0.5
    assert value(UNIQUE, generated=[{**graph, "edge_labels": ["a", "a"]}] * 2) == 0.5


# ---------------------------------------------------------------------------------------------- directions, matrices


def test_directed_graphs_are_compared_with_directed_ones() -> None:
    once = [Data(edge_index=np.array([[0, 1], [1, 2]]), num_nodes=3)] * 12
    for sides in ({"real": once, "generated": [nx.path_graph(3)] * 12},
                  {"real": [nx.path_graph(3)] * 12, "generated": [nx.DiGraph([(0, 1)])] * 12}):  # fmt: skip
        with pytest.raises(InputError, match="directed"):
            value("degree_mmd", **sides)


def test_matrices_of_different_sizes_are_graphs() -> None:
    graphs = [nx.gnp_random_graph(5 + seed % 4, 0.5, seed=seed) for seed in range(24)]
    real, made = graphs[:12], graphs[12:]
    expected = value("degree_mmd", real=real, generated=made)
    dense = [nx.to_numpy_array(graph) for graph in real]
    assert value("degree_mmd", real=dense, generated=(nx.to_numpy_array(graph) for graph in made)) == expected
    sparse = [csr_array(nx.to_numpy_array(graph)) for graph in made]
    assert value("degree_mmd", real=np.array(real, dtype=object), generated=sparse) == expected


def test_padding_of_a_stack_is_noted() -> None:
    graphs = [nx.gnp_random_graph(5 + seed % 2, 0.6, seed=seed) for seed in range(4)]
    stack = np.stack([np.pad(nx.to_numpy_array(graph), (0, 6 - len(graph))) for graph in graphs])
    (note,) = [note for note in generation.evaluate(generated=stack, samples="graphs").notes if "padding" in note]
    assert note.startswith("2 adjacency matrices")


@pytest.mark.parametrize(("graph", "words"), [
    ({"nodes": 3, "edges": [[0, 1]], "directed": "false"}, "directed is 'false'"),
    ({"nodes": 3.7, "edges": [[0, 1]]}, "nodes is 3.7"),
    ({"nodes": True, "edges": []}, "nodes is True"),
    ({"nodes": [{"id": 0}], "edges": [[0, 1]]}, "nodes is"),
    ({"nodes": 4, "edges": [[0, 1, 2], [1, 2, 3]]}, "not pairs"),
    ({"nodes": 4, "edges": [0, 1, 2, 3]}, "not pairs"),
    ({"nodes": 4, "edges": None}, "edges are NoneType"),
    ({"nodes": 3, "edges": [["a", "b"]]}, "not integers"),
    ({"nodes": 3, "edges": [[0, 1]], "node_labels": "abc"}, "node_labels"),
    ((3, [[0, 1, 2], [1, 2, 0]]), "expected a graph"),
    (None, "found nothing"),
])  # fmt: skip
def test_loose_mappings_are_refused(graph: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Graphs.of([graph])


def test_lists_and_mappings_have_the_same_nodes() -> None:
    assert Graphs.of([[(0, 1), (3, 4)], {"edges": [[0, 1], [3, 4]]}, {"edges": [["a", "b"]]}]).nodes.tolist() == [
        4,
        4,
        2,
    ]


def test_near_copies_keep_labels() -> None:
    graphs = [nx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(40)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "CNO"[node % 3] for node in graph}, "atom")
        nx.set_edge_attributes(graph, {edge: sum(edge) % 2 for edge in graph.edges}, "bond")
    train = Graphs.of(graphs[:20])
    moved = near_copies(train, np.random.default_rng(0))
    found = generation.evaluate(real=graphs[20:], train=train, generated=moved, resamples=99, metrics=["diversity"])
    assert found["nearer_to_training"].value > 0.9
    assert "near-copies" in [finding.check for finding in found.findings]
    np.testing.assert_array_equal(np.sort(moved.edge_labels), np.sort(train.edge_labels))


@pytest.mark.parametrize("nodes", [10, 12])
@pytest.mark.parametrize("change", ["moved", "removed"])
def test_near_copies_of_small_graphs_are_recognised(nodes: int, change: str) -> None:
    graphs = [nx.gnp_random_graph(nodes, 4 / (nodes - 1), seed=seed) for seed in range(100)]
    train = graphs[:50]
    copies: Any = near_copies(Graphs.of(train), np.random.default_rng(0))
    if change == "removed":
        copies = [nx.Graph(graph) for graph in train]
        for graph in copies:
            graph.remove_edge(*next(iter(graph.edges)))
    for made, expected in ((copies, True), ([nx.gnp_random_graph(nodes, 4 / (nodes - 1), seed=500 + s)
                                             for s in range(50)], False)):  # fmt: skip
        found = generation.evaluate(
            real=graphs[50:], train=train, generated=made, metrics=["novelty", "nearer_to_training"], resamples=199
        )
        assert ("near-copies" in [finding.check for finding in found.findings]) == expected


# ------------------------------------------------------------------------------------------------------------ tables


def test_large_integers_are_different_rows() -> None:
    assert value(UNIQUE, generated={"id": 2**60 + np.arange(20), "a": np.zeros(20)}) == 1


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two columns are called '1'"):
        value(UNIQUE, generated={1: np.zeros(20), "1": np.ones(20)})


def test_missing_entries_are_one_category_everywhere() -> None:
    assert value(UNIQUE, generated={"a": ["x", None, float("nan"), ""] * 5}) == 2 / 20


def test_declared_categories_are_no_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    real, made = (pandas.DataFrame({"a": pandas.Categorical([1, high] * 10)}) for high in (2, 5))
    assert value("wasserstein_a", real=real, generated=made) == 0.5
    text = pandas.DataFrame({"a": pandas.array(["x", None] * 10, dtype="string")})
    assert value(UNIQUE, generated=text) == 2 / 20


def test_missing_numbers_are_dropped_on_all_sides() -> None:
    column = np.array([1.0, 2.0, None] * 8, object)
    sides = {name: {"a": column} for name in ("real", "generated", "train")}
    with pytest.raises(InputError, match="NaN"):
        generation.evaluate(**sides)
    notes = generation.evaluate(**sides, nan="omit").notes
    assert {f"8 {name} samples dropped: NaN" for name in sides} <= set(notes)


def test_conditions_that_no_training_sample_has_are_refused() -> None:
    bits = np.eye(4, dtype=bool)
    with pytest.raises(InputError, match="no training sample has a condition"):
        generation.evaluate(generated=bits, conditions=list("abab"), train=bits, train_conditions=list("ABAB"))


@pytest.mark.parametrize("names", [[1, 2, 3], [0, 2, 7], ["a", "b", "c"]])
def test_predictions_are_named_like_conditions(names: Any) -> None:
    """Right for the first two of three conditions; the third is never the answer."""
    asked = np.repeat(names, 20)
    answered = np.where(asked == names[2], names[1], asked)
    made = np.random.default_rng(0).random((60, 6)) < 0.5
    assert value("overall_exact_accuracy", generated=made, conditions=asked, predicted=answered) == pytest.approx(2 / 3)


def test_rows_that_repeat_by_chance_are_no_leak() -> None:
    rng = np.random.default_rng(0)

    def rows(count: int) -> dict[str, Any]:
        return {"k": rng.poisson(1.5, count), "c": np.where(rng.random(count) < 0.3, "a", "b")}

    found = generation.evaluate(real=rows(200), generated=rows(100), train=rows(20), permutations=49, resamples=199)
    assert found["num_real"] == 200
    assert any("repeat each other" in note for note in found.notes)


def test_a_perfect_generator_of_frequent_samples_is_in_its_band() -> None:
    """Most real samples are in the training set, so what remains is not the whole distribution."""
    rng, inside = np.random.default_rng(0), 0
    for seed in range(25):
        real, made, train = (rng.random((count, 8)) < 0.25 for count in (200, 100, 40))
        found = generation.evaluate(
            real=real, generated=made, train=train, statistics={"size": real.sum(1)}, seed=seed,
            generated_statistics={"size": made.sum(1)}, metrics=["overall_mean_distance"], resamples=99,
        )["overall_mean_distance"]  # fmt: skip
        inside += "perfect" in found.compatible
    assert inside >= 20  # 29 % of runs without the statistics of those left out
