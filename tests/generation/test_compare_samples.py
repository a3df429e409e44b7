"""Two generators with one set of samples each."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
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
    assert all(one.remark and one.remark.startswith("copies: ") for one in found)
    assert all(one.remark and one.remark.endswith("(near-copies)") for one in found)


def test_energy_and_shares_by_hand() -> None:
    rng = np.random.default_rng(0)
    real, sides = rng.normal(size=40), {"a": rng.normal(size=20), "b": rng.normal(1, 1, 24)}
    valid = {"a": np.arange(20) < 18, "b": np.arange(24) < 18}
    blank = {name: np.zeros((len(values), 1), bool) for name, values in sides.items()}
    found = generation.compare_samples(
        np.zeros((40, 1), bool), blank, valid=valid, statistics={"x": real},
        generated_statistics={name: {"x": values} for name, values in sides.items()}, permutations=99, resamples=99,
    )  # fmt: skip
    by_metric = {one.metric: one for one in found}
    assert by_metric["validity_rate"].values == (0.9, 0.75)
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


FEW: dict[str, Any] = {"permutations": 19, "resamples": 19}


def energies(real: Any, generated: Any) -> dict[str, float]:
    (found,) = generation.compare_samples(real, generated, metrics=["energy_distance"], **FEW)
    return dict(zip((found.first, found.second), found.values, strict=True))


def test_categories_of_different_generators_are_different_columns() -> None:
    """Each generator has the value that it has alone, in any order and with any number of categories."""
    rng = np.random.default_rng(0)
    real, *others = ({"c": rng.choice(list(letters), 100)} for letters in ("ab", "abz", "0ab", "ab", "xyzab"))
    sides = dict(zip("stuv", others, strict=True))
    alone = {
        name: generation.evaluate(real=real, generated=made, metrics=["energy_distance"], **FEW)["energy_distance"]
        for name, made in sides.items()
    }
    for first in sides:
        for second in sides:
            if first != second:
                found = energies(real, {first: sides[first], second: sides[second]})
                assert found == pytest.approx({name: alone[name].value for name in found})


def test_scales_do_not_depend_on_the_order_of_generators() -> None:
    rng = np.random.default_rng(0)
    sides = {"x": {"c": rng.normal(size=60)}, "y": {"c": 100 * rng.normal(size=60)}}
    found = energies({"c": np.zeros(60)}, sides)
    assert found == pytest.approx(energies({"c": np.zeros(60)}, dict(reversed(sides.items()))))
    assert found["y"] > 10 * found["x"]


@pytest.mark.parametrize("convention", ["graphgauge", "gran", "spectre", "digress_emd"])
def test_discrepancies_are_those_of_an_evaluation(convention: str) -> None:
    real, made = dense(12, 0.4, 1), dense(25, 0.5, 2)
    keys = ["degree_mmd", "spectral_mmd"]
    alone = generation.evaluate(real=real, generated=made, convention=convention, metrics=keys, **FEW)
    found = generation.compare_samples(real, {"a": made, "b": made[::-1]}, convention=convention, metrics=keys, **FEW)
    assert {one.metric: one.values[0] for one in found} == pytest.approx({key: alone[key].value for key in keys})


def test_distinct_samples_do_not_depend_on_the_order_of_samples() -> None:
    def bits(ids: Any) -> Any:
        return (np.array(ids)[:, np.newaxis] >> np.arange(8)) & 1

    small, big = bits(range(20)), bits([*range(30), *[77] * 30])
    for made in (big, big[::-1]):
        (found,) = generation.compare_samples(None, {"small": small, "big": made}, **FEW)
        # Of 20 among 60: 30 single ones are each drawn with probability 1/3, the repeated one nearly always.
        assert found.values == (1, pytest.approx((30 / 3 + 1) / 20, abs=1e-4))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_text_has_the_chosen_confidence(confidence: float) -> None:
    found = generation.compare_samples(
        dense(30, 0.3, 1), {"a": dense(20, 0.3, 2), "b": dense(20, 0.38, 3)}, confidence=confidence, permutations=99,
        resamples=19,
    )  # fmt: skip
    for one in found:
        assert ("no significant difference" in str(one)) == (one.better is None) == (one.p_value > 1 - confidence)


BITS = np.random.default_rng(0).random((20, 6)) < 0.5
TABLE = {"c": np.arange(20.0)}


@pytest.mark.parametrize(
    ("generated", "more", "message"),
    [
        ([BITS, BITS], {}, "expected {name: samples}, found list"),
        ({"a": BITS, "b": dense(12, 0.3, 1)}, {}, "samples of another kind or shape"),
        ({"a": BITS, "b": TABLE}, {}, "samples of another kind or shape"),
        ({"a": BITS, "b": BITS.reshape(20, 2, 3)}, {}, "samples of another kind or shape"),
        ({"a": TABLE, "b": {"d": np.arange(20.0)}}, {}, "other statistics: c, d"),
        ({"a": BITS, "b": BITS}, {"valid": {"c": np.ones(20)}}, "'c' is missing in valid or in generated"),
        ({"a": BITS, "b": BITS}, {"valid": {"a": np.ones(20)}}, "'b' is missing in valid or in generated"),
        ({"a": BITS, "b": BITS}, {"generated_statistics": {"a": TABLE}}, "'b' is missing in generated_statistics"),
    ],
)
def test_generators_that_cannot_be_compared(generated: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generation.compare_samples(None, generated, **more)
