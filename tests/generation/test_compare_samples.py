"""Two generators with one set of samples each."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from graphgauge import generation
from graphgauge.core.errors import OptionError
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import near_copies


def dense(count: int, rate: float, seed: int) -> list[nx.Graph]:
    return [nx.gnp_random_graph(12, rate, seed=1000 * seed + place) for place in range(count)]


def test_the_nearer_generator_is_found() -> None:
    found = generation.compare_samples(
        dense(60, 0.3, 1), {"good": dense(50, 0.3, 2), "bad": dense(40, 0.5, 3)}, permutations=199, resamples=199
    )
    by_metric = {one.metric: one for one in found}
    assert set(by_metric) == {"degree_mmd", "clustering_mmd", "orbit_mmd", "spectral_mmd", "overall_uniqueness_ratio"}
    for key in ("degree_mmd", "orbit_mmd"):
        one = by_metric[key]
        assert one.better == "good"
        assert one.interval[0] < one.difference < one.interval[1] < 0
        alone = generation.evaluate(real=dense(60, 0.3, 1), generated=dense(40, 0.5, 3), metrics=[key], permutations=9)
        assert one.values[1] == pytest.approx(alone[key].value)
    assert "better: good" in str(by_metric["degree_mmd"])


def test_a_generator_that_moves_one_edge_of_its_training_graphs_is_not_called_better() -> None:
    parts = [[nx.gnp_random_graph(16, rate, seed=1000 * seed + place) for place in range(60)]
             for seed, rate in enumerate((0.25, 0.25, 0.5))]  # fmt: skip
    train, real, bad = parts
    copies = near_copies(Graphs.of(train), np.random.default_rng(0))
    found = generation.compare_samples(
        real, {"copies": copies, "bad": bad}, train=train, permutations=199, resamples=99
    )
    assert any(one.p_value <= 0.05 for one in found)
    assert all(one.better != "copies" for one in found)
    assert all(one.remark == "copies copies its training set (near-copies)" for one in found)


def test_energy_and_shares_by_hand() -> None:
    rng = np.random.default_rng(0)
    real, sides = rng.normal(size=40), {"a": rng.normal(size=30), "b": rng.normal(1, 1, 25)}
    valid = {"a": np.arange(30) < 27, "b": np.arange(25) < 20}
    blank = {name: np.zeros((len(values), 1), bool) for name, values in sides.items()}
    found = generation.compare_samples(
        np.zeros((40, 1), bool), blank, valid=valid, statistics={"x": real},
        generated_statistics={name: {"x": values} for name, values in sides.items()}, permutations=99, resamples=99,
    )  # fmt: skip
    by_metric = {one.metric: one for one in found}
    assert by_metric["validity_rate"].values == (0.9, 0.8)
    for place, name in enumerate(sides):
        x, y = (part[:, None] / real.std() for part in (real, sides[name][valid[name]]))
        expected = 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()
        assert by_metric["energy_distance"].values[place] == pytest.approx(expected)


@pytest.mark.slow
def test_equal_generators_differ_as_often_as_they_should() -> None:
    rng = np.random.default_rng(0)
    below = covered = 0
    for run in range(200):
        real, a, b = (rng.random((50, 6)) < 0.4 for _ in range(3))
        found = {one.metric: one for one in generation.compare_samples(
            real, {"a": a, "b": b}, permutations=99, resamples=199, seed=run)}  # fmt: skip
        below += any(one.p_value <= 0.05 for one in found.values())
        covered += found["mmd"].interval[0] <= 0 <= found["mmd"].interval[1]
    assert below <= 20
    assert covered >= 180


def test_one_generator_is_not_a_comparison() -> None:
    with pytest.raises(OptionError, match="at least two"):
        generation.compare_samples(np.eye(4), {"a": np.eye(4)})
