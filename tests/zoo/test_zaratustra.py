"""The engine: it grows what its rule says, reproducibly, and only reports what was born."""

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from graphgauge.cli.zoo.zaratustra import command
from graphgauge.core.errors import GraphgaugeError, OptionError
from graphgauge.evolution import EvaluationSuite, EvolutionLog, poincare_distance
from graphgauge.evolution.growth_runs import read_run
from graphgauge.zoo.zaratustra import (
    RULES,
    GraphData,
    Growth,
    Settings,
    Zaratustra,
    block_model,
    read_graph_data,
    replaying,
)
from graphgauge.zoo.zaratustra.data import CLASS_SIZES, EDGES, from_arrays
from graphgauge.zoo.zaratustra.runs import grow

SMALL = Settings(seeds_per_cycle=5, births_per_cycle=2, dimension=4)


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(3)
    hub = np.stack([np.zeros(30, dtype=int), np.arange(1, 31)], axis=1)
    return from_arrays(
        np.concatenate([hub, rng.integers(0, 60, (80, 2))]), rng.integers(0, 3, 60), rng.random((60, 12)), "small"
    )


def undirected(edges):
    return {frozenset(edge) for edge in np.asarray(edges).tolist()}


@pytest.mark.parametrize("condition", ["Normal", "Off", "Inverted"])
@pytest.mark.parametrize("anchor", ["uniform", "distance"])
def test_births_are_new_edges_into_the_pool(graph, condition, anchor):
    engine = Zaratustra(graph, Settings(**{**vars(SMALL), "anchor": anchor}), seed=1)
    for cycle in range(6):
        before, degrees, nodes = undirected(engine.edges), engine.degrees, engine.num_nodes
        births = engine.step(condition)
        born = undirected(births)
        assert len(born) == len(births)
        assert not born & before
        assert undirected(engine.edges) == before | born
        assert all(len(edge) == 2 for edge in born)
        assert set(births[:, 1].tolist()) <= set(RULES[condition].pool(degrees).tolist())
        np.testing.assert_array_equal(np.flatnonzero(engine.pools), RULES[condition].pool(degrees))
        assert engine.num_nodes == nodes + SMALL.births_per_cycle == len(engine.embeddings)
        assert np.linalg.norm(engine.embeddings, axis=1).max() <= engine.settings.radius + 1e-12
        np.testing.assert_array_equal(engine.edges_created_at_cycle[cycle], births)
    np.testing.assert_array_equal(engine.degrees, np.bincount(engine.edges.ravel(), minlength=engine.num_nodes))


@pytest.mark.parametrize(("condition", "extreme"), [("Normal", np.min), ("Inverted", np.max)])
def test_distance_anchors_are_the_nearest_elites_and_the_farthest_periphery(graph, condition, extreme):
    engine = Zaratustra(
        graph, Settings(seeds_per_cycle=4, births_per_cycle=0, edges_per_seed=1, dimension=4, anchor="distance")
    )
    embeddings, before = engine.embeddings, undirected(engine.edges)
    for u, v in engine.step(condition).tolist():
        free = [x for x in np.flatnonzero(engine.pools) if x != u and frozenset((u, x)) not in before]
        distance = [float(poincare_distance(embeddings[u], embeddings[x])) for x in free]
        assert float(poincare_distance(embeddings[u], embeddings[v])) == pytest.approx(extreme(distance))
        before.add(frozenset((u, v)))


def test_pools_of_the_rules():
    degrees = np.array([1, 1, 2, 3, 1, 2, 3, 30, 2, 2])  # mean 4.7, standard deviation 8.5
    assert RULES["Normal"].pool(degrees).tolist() == [7]
    assert RULES["Inverted"].pool(degrees).tolist() == [0, 1, 4]  # the lowest quarter ends between 1 and 2
    assert RULES["Off"].pool(degrees).tolist() == list(range(10))
    spread = np.array([0, 0, 0, 10])  # 10 is less than two standard deviations above the mean
    assert RULES["Normal"].pool(spread).tolist() == []


def test_a_node_is_born_in_the_middle_of_its_anchors(graph):
    settings = Settings(seeds_per_cycle=0, births_per_cycle=3, dimension=4, smoothing=1e-12, birth_noise=0.0)
    engine = Zaratustra(graph, settings)
    before = engine.embeddings
    births = engine.step("Off")
    for newborn in range(60, 63):
        middle = before[births[births[:, 0] == newborn, 1]].mean(axis=0)
        np.testing.assert_allclose(engine.embeddings[newborn], middle, atol=1e-9)


def test_directions_of_the_features_have_one_sign(graph):
    start = Zaratustra(graph, SMALL).embeddings
    loadings = graph.features.T @ start
    largest = np.abs(loadings).argmax(axis=0)
    assert (loadings[largest, np.arange(4)] > 0).all()
    assert np.linalg.norm(start, axis=1).max() == pytest.approx(SMALL.radius)


def test_smoothing_is_the_written_formula(graph):
    engine = Zaratustra(graph, Settings(seeds_per_cycle=3, births_per_cycle=0, dimension=4, smoothing=0.3))
    x = engine.embeddings
    engine.step("Off")
    adjacency = np.zeros((60, 60))
    for u, v in engine.edges:
        adjacency[u, v] = adjacency[v, u] = 1
    scale = np.diag(1 / np.sqrt(np.maximum(adjacency.sum(axis=0), 1)))
    expected = 0.7 * x + 0.3 * scale @ adjacency @ scale @ x
    outside = np.linalg.norm(expected, axis=1) > 0.9
    np.testing.assert_allclose(engine.embeddings[~outside], expected[~outside], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(engine.embeddings[outside], axis=1), 0.9)


def adjacency_of(engine):
    adjacency = np.zeros((engine.num_nodes, engine.num_nodes))
    for u, v in engine.edges:
        adjacency[u, v] = adjacency[v, u] = 1
    return adjacency


@pytest.mark.parametrize("radius_by", ["smoothing", "start"])
def test_averaging_moves_towards_the_mean_of_the_neighbours(graph, radius_by):
    settings = Settings(
        seeds_per_cycle=3, births_per_cycle=0, dimension=4, smoothing=0.3, average="mean", radius_by=radius_by
    )
    engine = Zaratustra(graph, settings)
    x = engine.embeddings
    engine.step("Off")
    adjacency = adjacency_of(engine)
    expected = x.copy()
    for node in np.flatnonzero(adjacency.any(axis=1)):
        expected[node] = 0.7 * x[node] + 0.3 * x[adjacency[node] > 0].mean(axis=0)
    if radius_by == "start":
        expected *= (np.linalg.norm(x, axis=1) / np.linalg.norm(expected, axis=1))[:, None]
    np.testing.assert_allclose(engine.embeddings, expected, atol=1e-13)


def test_by_degree_hubs_are_at_the_centre_in_hyperbolic_distance(graph):
    engine = Zaratustra(graph, Settings(**{**vars(SMALL), "radius_by": "degree"}), seed=2)
    for condition in ("Normal", "Off", "Still"):
        degrees = np.maximum(adjacency_of(engine).sum(axis=0), 1)
        distance = np.array([float(poincare_distance(point, np.zeros(4))) for point in engine.embeddings])
        edge = 2 * np.arctanh(0.9)
        np.testing.assert_allclose(distance, edge * (1 - np.log(degrees) / np.log(degrees.max() + 1)), atol=1e-9)
        assert engine.degrees.argmax() == distance.argmin()
        engine.step(condition)


def test_without_growth_the_embeddings_are_smoothed_all_the_same(graph):
    engine = Zaratustra(graph, SMALL)
    before = engine.embeddings
    assert engine.step("Still").shape == (0, 2)
    assert engine.num_nodes == 60
    assert np.abs(engine.embeddings - before).max() > 0.01


@pytest.mark.parametrize("wrong", [{"average": "median"}, {"radius_by": "age"}])
def test_unknown_geometry_is_refused(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong.values()))):
        Settings(**wrong)


@pytest.mark.parametrize("radius_by", ["smoothing", "degree"])
def test_a_replayed_history_has_the_engines_embeddings(tmp_path, graph, radius_by):
    settings = Settings(**{**vars(SMALL), "birth_noise": 0.0, "radius_by": radius_by})
    list(grow(graph, settings, ["Off"], 4, 1, tmp_path))
    log = EvolutionLog(tmp_path)
    run = read_run(log.cycles("Off", 0))
    embedded = replaying(settings)(run.graph())
    np.testing.assert_allclose(embedded, log.latest("Off", 0).embeddings, atol=1e-12)
    still = Zaratustra(graph, settings)
    for _ in range(4):
        still.step("Still")
    np.testing.assert_allclose(replaying(settings)(run.withheld())[:60], still.embeddings, atol=1e-12)


def test_a_run_without_the_capacity_is_continued(tmp_path, graph):
    list(grow(graph, SMALL, ["Off"], 3, 1, tmp_path / "whole"))
    log, bare = EvolutionLog(tmp_path / "whole"), EvolutionLog(tmp_path / "bare")
    bare.begin("Off", 0, edges=graph.edges, embeddings=log.start("Off", 0)[1])
    for cycle in log.cycles("Off", 0):
        bare.append_cycle("Off", 0, cycle.cycle, embeddings=cycle.embeddings, new_edges=cycle.new_edges)
    list(grow(graph, SMALL, ["Off"], 4, 1, tmp_path / "whole"))
    list(grow(graph, SMALL, ["Off"], 4, 1, tmp_path / "bare"))
    assert bare.latest("Off", 0).tgc == pytest.approx(log.latest("Off", 0).tgc)


def test_a_first_run_that_fails_can_be_corrected(tmp_path, graph):
    with pytest.raises(OptionError, match="dimension"):
        list(grow(graph, Settings(dimension=50), ["Off"], 1, 1, tmp_path))
    assert len(list(grow(graph, SMALL, ["Off"], 1, 1, tmp_path))) == 1
    # Settings that came later have their defaults in the files of older runs.
    path = tmp_path / "settings.json"
    kept = [line for line in path.read_text().splitlines() if "average" not in line and "radius_by" not in line]
    path.write_text("\n".join(kept))
    assert len(list(grow(graph, SMALL, ["Off"], 2, 1, tmp_path))) == 2
    path.write_text("{")
    with pytest.raises(GraphgaugeError, match=r"settings\.json: is not a file of settings"):
        list(grow(graph, SMALL, ["Off"], 2, 1, tmp_path))


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(graph):
    def run(seed):
        engine = Zaratustra(graph, SMALL, seed=seed)
        return [engine.step("Normal") for _ in range(4)], engine.embeddings, engine.compute_tgc()

    births, embeddings, tgc = run(0)
    again, embeddings_again, tgc_again = run(0)
    assert all(np.array_equal(a, b) for a, b in zip(births, again, strict=True))
    assert np.array_equal(embeddings, embeddings_again)
    assert tgc == tgc_again
    assert not all(np.array_equal(a, b) for a, b in zip(births, run(1)[0], strict=True))


def test_conditions_of_one_seed_start_from_the_same_nodes():
    data, settings = block_model(), Settings(births_per_cycle=0, embedding="random")
    seeds = [set(Zaratustra(data, settings, seed=2).step(name)[:, 0].tolist()) for name in RULES]
    assert len(seeds[0]) == settings.seeds_per_cycle
    assert seeds[0] == seeds[1] == seeds[2]


def test_tgc_is_births_per_node_times_the_largest_component_with_memory(graph):
    engine = Zaratustra(graph, SMALL)
    assert np.isnan(engine.compute_tgc())
    expected = None
    for _ in range(4):
        births = len(engine.step("Off"))
        now = births / engine.num_nodes * largest_component(engine) / engine.num_nodes
        expected = now if expected is None else 0.9 * expected + 0.1 * now
        assert engine.compute_tgc() == pytest.approx(expected, rel=1e-12)


def largest_component(engine):
    import networkx as nx

    graph = nx.Graph(engine.edges.tolist())
    graph.add_nodes_from(range(engine.num_nodes))
    return max(map(len, nx.connected_components(graph)))


def test_another_rule_plugs_in(graph):
    engine = Zaratustra(graph, SMALL, rules={"Hub": Growth(lambda degrees: np.array([degrees.argmax()]))})
    assert set(engine.step("Hub")[:, 1].tolist()) == {0}
    with pytest.raises(GraphgaugeError, match="Hub"):
        engine.step("Normal")


def test_without_anchors_nothing_is_born(graph):
    engine = Zaratustra(graph, SMALL, rules={"None": Growth(lambda degrees: np.arange(0))})
    assert engine.step("None").shape == (0, 2)
    assert engine.compute_tgc() == 0


def test_the_block_model_has_the_declared_shape():
    data = block_model()
    degrees = np.bincount(data.edges.ravel(), minlength=data.num_nodes)
    assert len(undirected(data.edges)) == len(data.edges) == EDGES
    assert degrees.min() >= 1
    assert np.bincount(data.labels).tolist() == list(CLASS_SIZES)
    same = data.labels[data.edges[:, 0]] == data.labels[data.edges[:, 1]]
    assert same.mean() == pytest.approx(0.81, abs=0.02)
    assert degrees.std() == pytest.approx(5.2, abs=1)
    np.testing.assert_array_equal(block_model().edges, data.edges)


def arrays(**changes):
    features = sp.csr_array(np.eye(4, dtype=np.float32))
    given = {
        "edges": np.array([[0, 1], [1, 2]]),
        "labels": np.array([0, 0, 1, 1]),
        "feature_indptr": features.indptr,
        "feature_indices": features.indices,
        "feature_data": features.data,
        "num_features": np.int32(4),
    }
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": None}, "labels"),
        ({"edges": np.array([[0, 9]])}, "outside"),
        ({"edges": np.arange(6).reshape(2, 3)}, r"edges: found shape \(2, 3\)"),
        ({"edges": np.array([[0.5, 1]])}, "0.5 is not a node number"),
        ({"labels": np.array(["a", "b", "c", "d"])}, "labels: expected numbers"),
        ({"labels": np.array([0.5, 0, 1, 1])}, "labels: 0.5 is no"),
        ({"labels": np.array(5)}, "labels: expected shape"),
        ({"labels": np.array([[0, 0, 1, 1]])}, "labels: expected shape"),
        ({"num_features": np.array([3, 4])}, "CSR"),
        ({"num_features": np.array("a")}, "num_features: expected numbers"),
        ({"feature_data": np.array(["a"] * 4)}, "feature_data: expected numbers"),
        ({"feature_indices": np.array([0.5, 1, 2, 3])}, "features: 0.5 is no"),
        ({"feature_indices": np.array([0, 1, 2, 99])}, "CSR"),
        ({"edges": np.array([{}], dtype=object)}, "npz"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path, changes, words):
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays(**changes))
    with pytest.raises(GraphgaugeError, match=words):
        read_graph_data(path)


def test_a_file_of_arrays_is_read(tmp_path):
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays(edges=np.array([[1, 0], [0, 1], [2, 2], [1, 2]])))
    data = read_graph_data(path)
    assert data.edges.tolist() == [[0, 1], [1, 2]]
    assert isinstance(data, GraphData)
    with pytest.raises(GraphgaugeError, match=r"torch_geometric|contains no Cora/raw"):
        read_graph_data(tmp_path)  # nothing is fetched into a folder that Planetoid has not filled
    with pytest.raises(GraphgaugeError, match="no such file"):
        read_graph_data(tmp_path / "none.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY\x01\x00v\x00{'descr': ("])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "graph.npz").write_bytes(content)
    with pytest.raises(GraphgaugeError, match=r"graph\.npz: cannot be read"):
        read_graph_data(tmp_path / "graph.npz")
    np.save(tmp_path / "one.npy", np.eye(3))
    with pytest.raises(GraphgaugeError, match="one array instead of several named ones"):
        read_graph_data(tmp_path / "one.npy")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"edges": [[0, 1], [2]]}, "edges"),
        ({"labels": None}, "labels"),
        ({"features": None}, "features: expected numbers"),
        ({"features": [1, 2]}, "features: expected shape"),
        ({"features": np.eye(3)}, "features: expected shape"),
    ],
)
def test_arrays_that_are_no_graph_are_refused(changes, words):
    given = {"edges": [[0, 1]], "labels": [0, 1], "features": np.eye(2)}
    assert from_arrays(**given).num_nodes == 2
    with pytest.raises(GraphgaugeError, match=words):
        from_arrays(**given | changes)


def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(tmp_path, graph):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    steps = list(grow(graph, SMALL, ["Normal", "Off"], 4, 2, whole))
    assert len(steps) == 16
    for _ in zip(range(11), grow(graph, SMALL, ["Normal", "Off"], 4, 2, parts), strict=False):
        pass
    assert list(grow(graph, SMALL, ["Normal", "Off"], 4, 2, parts)) == steps
    for condition, seed in EvolutionLog(whole).runs:
        pairs = zip(
            EvolutionLog(whole).cycles(condition, seed), EvolutionLog(parts).cycles(condition, seed), strict=True
        )
        for one, other in pairs:
            np.testing.assert_array_equal(one.new_edges, other.new_edges)
            np.testing.assert_array_equal(one.embeddings, other.embeddings)
            assert one.tgc == other.tgc
    with pytest.raises(GraphgaugeError, match="different settings"):
        list(grow(graph, Settings(), ["Off"], 1, 1, parts))
    fewer = GraphData(graph.edges[1:], graph.labels, graph.features)
    with pytest.raises(GraphgaugeError, match="Off, seed 0, started from a different graph"):
        list(grow(fewer, SMALL, ["Off"], 5, 1, parts))


def test_the_command_runs_and_says_what_comes_next(tmp_path):
    out = tmp_path / "run"
    done = CliRunner().invoke(command, ["run", "--cycles", "2", "--seeds", "1", "--output", str(out)])
    assert done.exit_code == 0, done.output
    assert "graphgauge evolution --log" in done.stderr
    assert set(EvolutionLog(out).runs) == {("Normal", 0), ("Off", 0), ("Inverted", 0)}
    assert np.load(out / "labels.npy").shape == (2708,)


@pytest.mark.parametrize(
    "settings",
    [
        {"anchor": "near"},
        {"radius": 1.0},
        {"smoothing": 0.0},
        {"edges_per_seed": 0},
        {"seeds_per_cycle": -1},
        {"radius": "a"},
        {"radius": None},
        {"smoothing": np.nan},
        {"seeds_per_cycle": "a"},
        {"seeds_per_cycle": 2.5},
        {"births_per_cycle": None},
        {"dimension": "4"},
        {"birth_noise": "x"},
        {"birth_noise": np.inf},
        {"birth_noise": -1.0},
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(OptionError, match=next(iter(settings))):
        Settings(**settings)


@pytest.mark.parametrize(
    ("conditions", "cycles", "seeds", "said"),
    [
        ([], 1, 1, "conditions is empty"),
        (["Of"], 1, 1, "Off"),
        (["Off"], "a", 1, "cycles"),
        (["Off"], 1, -1, "seeds"),
    ],
)
def test_runs_that_cannot_be_asked_for(tmp_path, graph, conditions, cycles, seeds, said):
    with pytest.raises(OptionError, match=said):
        list(grow(graph, SMALL, conditions, cycles, seeds, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_a_seed_is_a_whole_number(graph, seed):
    with pytest.raises(OptionError, match="seed must be a whole number of at least 0"):
        Zaratustra(graph, SMALL, seed=seed)


def test_runs_of_random_births_scatter_around_chance_with_their_intervals():
    """Every run draws its own negatives: shared ones would shift all runs alike, and the interval would not show it."""
    data = block_model()
    suite = EvaluationSuite(range(data.num_nodes), data.labels, ["Off"], metrics=["auc_birth", "auc_matched"])
    settings = Settings(dimension=4, births_per_cycle=0, embedding="random", seeds_per_cycle=30)
    for seed in range(20):
        engine = Zaratustra(data, settings, seed=seed)
        suite.begin("Off", engine.embeddings, engine.edges, seed)
        births = engine.step("Off")
        suite.step("Off", engine.embeddings, births, engine.edges, 0, seed=seed, pools=engine.pools)
    for key in ("auc_birth", "auc_matched"):
        low, high = suite.evaluation()[key].ci
        assert low < 0.5 < high
        assert high - low < 0.06
