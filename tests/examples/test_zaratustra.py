"""The growing engine of the examples, by its definition."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from tests.examples.test_scripts import EXAMPLES

from graphgauge.evolution import poincare_distance


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("zaratustra", EXAMPLES / "zaratustra.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["zaratustra"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("condition", ["Normal", "Inverted", "Off"])
def test_a_cycle_is_as_defined(example: ModuleType, condition: str) -> None:
    graph, settings = example.block_model(nodes=300), example.Settings()
    engine = example.Zaratustra(graph, settings, condition, seed=4)
    for _ in range(3):
        before, nodes = engine.edges, len(engine.embeddings)
        degrees = np.bincount(before.ravel(), minlength=nodes)
        births = engine.step()
        pool = {
            "Normal": degrees > degrees.mean() + 2 * degrees.std(),
            "Inverted": degrees <= np.quantile(degrees, 0.25),
            "Off": np.ones(nodes, bool),
        }[condition]
        np.testing.assert_array_equal(engine.pools, pool)
        # Each born edge once, and none that was there before.
        known = {frozenset(edge) for edge in before.tolist()}
        born = Counter(frozenset(edge) for edge in births.tolist())
        assert set(born.values()) == {1}
        assert not known & set(born)
        assert all(len(edge) == 2 for edge in born)
        assert pool[births[:, 1]].all()
        per_node = Counter(births[:, 0].tolist())
        assert max(per_node.values()) <= settings.edges_per_seed
        assert sum(node < nodes for node in per_node) <= settings.seeds_per_cycle
        assert sum(node >= nodes for node in per_node) == settings.births_per_cycle
        assert len(engine.embeddings) == nodes + settings.births_per_cycle
        np.testing.assert_array_equal(engine.edges, np.concatenate([before, births]))
        assert np.linalg.norm(engine.embeddings, axis=1).max() <= settings.radius + 1e-12


def test_smoothing_is_a_step_of_the_normalised_adjacency_matrix(example: ModuleType) -> None:
    draw = np.random.default_rng(0)
    edges = np.array([[0, 1], [1, 2], [0, 3]])
    points = draw.normal(0, 0.1, (5, 3))
    adjacency = np.zeros((5, 5))
    adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = 1
    root = np.diag(1 / np.sqrt(np.maximum(adjacency.sum(axis=0), 1)))
    expected = 0.9 * points + 0.1 * root @ adjacency @ root @ points
    np.testing.assert_allclose(example.smoothed(points, edges, example.Settings()), expected, rtol=1e-12)
    assert np.linalg.norm(example.smoothed(100 * points, edges, example.Settings()), axis=1).max() < 1


def test_distance_takes_the_nearest_elites_or_the_farthest_of_low_degree(example: ModuleType) -> None:
    graph, settings = example.block_model(nodes=300), example.Settings(anchor="distance", births_per_cycle=0)
    for condition, sign in (("Normal", 1), ("Inverted", -1)):
        engine = example.Zaratustra(graph, settings, condition)
        points = engine.embeddings
        births = engine.step()
        pool, one = np.flatnonzero(engine.pools), births[0, 0]
        neighbours = graph.edges[(graph.edges == one).any(axis=1)].ravel()
        free = pool[~np.isin(pool, [one, *neighbours])]
        distance = sign * poincare_distance(np.broadcast_to(points[one], points[free].shape), points[free])
        assert births[births[:, 0] == one, 1].tolist() == free[np.argsort(distance, kind="stable")[:2]].tolist()


def test_the_same_seed_is_the_same_run_and_conditions_share_their_seed_nodes(example: ModuleType) -> None:
    graph, settings = example.block_model(nodes=300), example.Settings()
    one, again, other = (example.Zaratustra(graph, settings, name, seed=1) for name in ("Normal", "Normal", "Off"))
    first, second, third = one.step(), again.step(), other.step()
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.embeddings, again.embeddings)
    assert set(first[:, 0]) <= set(third[:, 0])
    quiet = example.Zaratustra(graph, replace(settings, births_per_cycle=0), "Off")
    quiet.step()
    assert len(quiet.embeddings) == 300


def test_a_stored_graph_is_read_with_dense_and_with_sparse_features(example: ModuleType, tmp_path) -> None:
    import scipy.sparse as sp

    words = sp.csr_array(np.eye(4, 6))
    stored = {"edges": [[1, 0], [0, 1], [2, 2], [2, 3]], "labels": [0, 0, 1, 1]}
    np.savez(tmp_path / "dense.npz", features=words.toarray(), **stored)
    np.savez(
        tmp_path / "sparse.npz",
        feature_data=words.data,
        feature_indices=words.indices,
        feature_indptr=words.indptr,
        num_features=6,
        **stored,
    )
    for name in ("dense", "sparse"):
        graph = example.read_graph(str(tmp_path / f"{name}.npz"))
        assert graph.edges.tolist() == [[0, 1], [2, 3]]
        np.testing.assert_array_equal(sp.csr_array(graph.features).toarray(), words.toarray())
