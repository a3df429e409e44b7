"""The joint forecast: scores against their definitions, through every way in, and whether dependence is seen."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting import ForecastState

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 2], [1, 1]])
PAIRS = [(0, 1), (1, 2), (2, 3)]
KEYS = ["energy_score", "energy_gain", "variogram_score"]


def drawn(steps=60, horizons=3, nodes=4, members=12, common=0.8, seed=0, learnt=True):
    """Truth and members share a factor between nodes and horizons, unless the members are drawn cell by cell."""
    rng = np.random.default_rng(seed)

    def fields(*more):
        factor = rng.standard_normal((steps, 1, 1, *more)) if not more or learnt else 0.0
        own = rng.standard_normal((steps, horizons, nodes, *more))
        weight = common if not more or learnt else 0.0
        return np.sqrt(weight) * factor + np.sqrt(1 - weight) * own

    return fields(), fields(members)


def energy(y, cloud):
    points = cloud.T
    away = np.mean([np.linalg.norm(point - y) for point in points])
    return away - np.mean([[np.linalg.norm(one - other) for one in points] for other in points]) / 2


def variogram(y, cloud):
    return np.mean([(abs(y[i] - y[j]) ** 0.5 - np.mean(np.abs(cloud[i] - cloud[j]) ** 0.5)) ** 2 for i, j in PAIRS])


def test_values_are_those_of_the_definitions() -> None:
    y, samples = drawn(steps=9)
    found = forecasting.evaluate(y, samples=samples, graph=EDGES, metrics=KEYS)
    vectors = [(y[t, h], samples[t, h]) for t in range(9) for h in range(3)]
    assert found["energy_score"].value == pytest.approx(np.mean([energy(*vector) for vector in vectors]), rel=1e-12)
    assert found["variogram_score"].value == pytest.approx(np.mean([variogram(*each) for each in vectors]), rel=1e-12)
    assert found["energy_score"].n == 27
    by_horizon = found.by("horizon")
    expected = [np.mean([energy(y[t, h], samples[t, h]) for t in range(9)]) for h in range(3)]
    np.testing.assert_allclose(by_horizon["energy_score"], expected, rtol=1e-12)
    assert "energy_score" not in found.by("node").columns
    for name in ("energy", "variogram"):
        (shuffled,) = found[f"{name}_score"].chance
        assert shuffled.name == "members shuffled"
    (shuffled,) = found["energy_score"].chance
    assert found["energy_gain"].value == pytest.approx(1 - found["energy_score"].value / shuffled.value)


def test_masked_nodes_are_left_out() -> None:
    y, samples = drawn(steps=9)
    rng = np.random.default_rng(1)
    mask = rng.random(y.shape) < 0.6
    spoilt = np.where(mask[..., None], samples, np.nan)
    found = forecasting.evaluate(y, samples=spoilt, mask=mask, graph=EDGES, metrics=["energy_score"])
    vectors = [(y[t, h][mask[t, h]], samples[t, h][mask[t, h]]) for t in range(9) for h in range(3)]
    scores = [energy(*vector) for vector in vectors if len(vector[0]) > 1]
    assert found["energy_score"].value == pytest.approx(np.mean(scores), rel=1e-12)
    assert found["energy_score"].n == len(scores)


def test_streams_shards_and_files_have_the_same_bits(tmp_path) -> None:
    y, samples = drawn()
    whole = forecasting.evaluate(y, samples=samples, graph=EDGES)
    one, two = ForecastState(graph=EDGES), ForecastState(graph=EDGES)
    one.update(y[:17], samples=samples[:17], start=0)
    two.update(y[17:], samples=samples[17:], start=17)
    two.save(tmp_path / "two.npz")
    merged = one.merge(ForecastState.load(tmp_path / "two.npz")).evaluate()
    for name, array in (("y", y), ("samples", samples), ("graph", EDGES)):
        np.save(tmp_path / f"{name}.npy", array)
    files = {"true": tmp_path / "y.npy", "samples": tmp_path / "samples.npy", "graph": tmp_path / "graph.npy"}
    read = forecasting.evaluate_files(**files)
    for key in KEYS:
        assert merged[key].value == whole[key].value == read[key].value, key
        assert merged[key].interval == whole[key].interval == read[key].interval, key
        assert merged[key].chance == whole[key].chance == read[key].chance, key
    with pytest.raises(InputError, match="graph"):
        ForecastState(graph=EDGES).update(y[:9], samples=samples[:9], start=0).merge(
            ForecastState(graph=EDGES[:1]).update(y[9:], samples=samples[9:], start=9)
        )


def test_graphs_may_come_in_any_form() -> None:
    y, samples = drawn(steps=9)
    adjacency = np.zeros((4, 4))
    adjacency[EDGES[:, 0], EDGES[:, 1]] = 0.5
    names = ["a", "b", "c", "d"]
    expected = forecasting.evaluate(y, samples=samples, graph=EDGES, metrics=["variogram_score"])["variogram_score"]
    for graph in (EDGES.T, adjacency, EDGES[[2, 1, 0]], [[names[i], names[j]] for i, j in EDGES]):
        found = forecasting.evaluate(y, samples=samples, graph=graph, nodes=names, metrics=["variogram_score"])
        assert found["variogram_score"].value == expected.value
    for graph, message in (
        ([[0, 9]], "positions from 0 to 9, but there are 4 nodes"),
        ([[1, 1]], "no edge between two nodes"),
        (np.zeros(3), "has the shape"),
        ([["a", "z"]], "'z' is not the name of a node"),
        ([[0.5, 1]], "not whole numbers"),
    ):
        with pytest.raises(InputError, match=message):
            forecasting.evaluate(y, samples=samples, graph=graph, nodes=names)
    with pytest.raises(OptionError, match="samples not given"):
        forecasting.evaluate(y, y, graph=EDGES)
    with pytest.raises(OptionError, match="variogram_score needs samples= and graph="):
        forecasting.evaluate(y, samples=samples, metrics=["variogram_score"])
    with pytest.raises(OptionError, match="energy_score needs samples= of at least two nodes"):
        forecasting.evaluate(y[:, :, :1], samples=samples[:, :, :1], metrics=["energy_score"])


def test_the_interval_of_the_gain_tells_whether_dependence_was_learnt() -> None:
    learnt, alone = [], []
    for seed in range(40):
        y, samples = drawn(steps=150, seed=seed)
        learnt.append(forecasting.evaluate(y, samples=samples, by=[], metrics=["energy_gain"])["energy_gain"])
        y, samples = drawn(steps=150, seed=seed, learnt=False)
        alone.append(forecasting.evaluate(y, samples=samples, by=[], metrics=["energy_gain"])["energy_gain"])
    assert all(result.interval.low > 0 for result in learnt)
    # Members drawn cell by cell are as good as shuffled ones; at 95 % about one in 40 is above by chance.
    assert sum(result.interval.low > 0 for result in alone) <= 4
    assert sum(result.interval.low <= 0 <= result.interval.high for result in alone) >= 33
    # Cell by cell the two kinds of forecast are equally good.
    assert abs(np.mean([result.value for result in alone])) < 0.002


def test_a_copy_of_a_shard_is_refused(tmp_path) -> None:
    rng = np.random.default_rng(0)
    for number in range(2):
        for name in ("y", "m"):
            np.save(tmp_path / f"{name}-{number}.npy", rng.normal(size=(5, 2)))
    given = {"true": str(tmp_path / "y-*.npy"), "pred": str(tmp_path / "m-*.npy"), "axes": ["time", "node"]}
    forecasting.evaluate_files(**given, metrics=["mae"])
    np.save(tmp_path / "y-2.npy", np.load(tmp_path / "y-0.npy"))  # the same truth may occur again
    np.save(tmp_path / "m-2.npy", np.load(tmp_path / "m-1.npy"))
    assert forecasting.evaluate_files(**given, metrics=["mae"])["mae"].n == 30
    np.save(tmp_path / "m-2.npy", np.load(tmp_path / "m-0.npy"))
    with pytest.raises(InputError, match=r"y-2\.npy: has the same content as y-0\.npy"):
        forecasting.evaluate_files(**given, metrics=["mae"])
