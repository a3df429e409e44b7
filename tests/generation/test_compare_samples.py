"""Two generators with one set of samples each."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.generation.toy import described

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import near_copies


def dense(count: int, rate: float, seed: int) -> list[nx.Graph]:
    return [nx.gnp_random_graph(12, rate, seed=1000 * seed + place) for place in range(count)]


def of_columns(real: Any, sides: dict[str, Any], **options: Any) -> tuple[generation.SampleComparison, ...]:
    """The comparison of energy distances, by columns of samples without a bit."""
    parts = {name: described(real=real, generated=made) for name, made in sides.items()}
    return generation.compare_samples(
        next(iter(parts.values()))["real"],
        {name: part["generated"] for name, part in parts.items()},
        statistics=real,
        generated_statistics=sides,
        metrics=["energy_distance"],
        **options,
    )


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
    parts = [
        [nx.gnp_random_graph(16, rate, seed=1000 * seed + place) for place in range(60)]
        for seed, rate in enumerate((0.25, 0.25, 0.5))
    ]
    train, real, bad = parts
    copies = near_copies(Graphs.of(train), np.random.default_rng(0))
    found = generation.compare_samples(
        real, {"copies": copies, "bad": bad}, train=train, permutations=199, resamples=199
    )
    assert any(one.p_value <= 0.05 for one in found)
    assert all(one.better != "copies" for one in found)
    assert all("copies: 100% of the samples are nearer to a training sample" in one.remark for one in found)
    assert all(one.remark.endswith("(near-copies)") for one in found)


def test_generators_that_are_equally_far_from_the_real_samples_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(0)
    called = 0
    for seed in range(20):
        columns = [{"x": rng.normal(shift, 1, 60)} for shift in (0, 0.7, -0.7)]
        (one,) = of_columns(
            columns[0], {"above": columns[1], "below": columns[2]}, permutations=99, resamples=99, seed=seed
        )
        called += one.better is not None
    assert called <= 4  # binomial: more than 4 of 20 at 5 % have a probability of 0.003


def test_energy_and_shares_by_hand() -> None:
    rng = np.random.default_rng(0)
    real, sides = rng.normal(size=40), {"a": rng.normal(size=30), "b": rng.normal(1, 1, 40)}
    valid = {"a": np.arange(30) < 27, "b": np.arange(40) < 27}
    blank = {name: np.zeros((len(values), 1), bool) for name, values in sides.items()}
    found = generation.compare_samples(
        np.zeros((40, 1), bool),
        blank,
        valid=valid,
        statistics={"x": real},
        generated_statistics={name: {"x": values} for name, values in sides.items()},
        permutations=99,
        resamples=99,
    )
    by_metric = {one.metric: one for one in found}
    assert by_metric["validity_rate"].values == (0.9, 27 / 40)
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
        found = {
            one.metric: one
            for one in generation.compare_samples(real, {"a": a, "b": b}, permutations=99, resamples=199, seed=run)
        }
        below += any(one.p_value <= 0.05 for one in found.values())
        covered += found["mmd"].interval[0] <= 0 <= found["mmd"].interval[1]
    assert below <= 20
    assert covered >= 180


def test_one_generator_is_not_a_comparison() -> None:
    with pytest.raises(OptionError, match="at least two"):
        generation.compare_samples(np.eye(4), {"a": np.eye(4)})


# ------------------------------------------------------------------------------------ neither order nor size decides


def test_categories_of_one_generator_only() -> None:
    """Each has a category of its own: by hand, with the same columns for all."""
    rng = np.random.default_rng(0)
    real = {"c": rng.choice(list("ab"), 100)}
    sides = {"last": {"c": rng.choice(list("abz"), 100)}, "first": {"c": rng.choice(list("0ab"), 100)}}
    found = {}
    for order in (sides, dict(reversed(list(sides.items())))):
        (energy,) = of_columns(real, order, permutations=99, resamples=99)
        found |= {(name, energy.first): value for name, value in zip(order, energy.values, strict=True)}
        assert energy.better is None
    for name, made in sides.items():
        share = [np.array([np.mean(part["c"] == word) for word in "0abz"]) for part in (real, made)]
        # Different categories are one unit of the real spread apart.
        unit = 1 / np.sqrt(np.sum(share[0] * (1 - share[0])) / 2)
        apart = [unit * (1 - share[i] @ share[j]) for i, j in ((0, 1), (0, 0), (1, 1))]
        for first in sides:
            assert found[name, first] == pytest.approx(2 * apart[0] - apart[1] - apart[2])


def test_constant_real_columns_have_the_scale_of_all_generators() -> None:
    rng = np.random.default_rng(0)
    sides = {"near": {"v": rng.normal(0, 1, 60)}, "far": {"v": rng.normal(0, 100, 60)}}
    values = []
    for order in (sides, dict(reversed(list(sides.items())))):
        (one,) = of_columns({"v": np.zeros(60)}, order, permutations=99, resamples=99)
        assert one.better == "near"
        values.append(dict(zip(order, one.values, strict=True)))
    assert values[0] == pytest.approx(values[1])


def test_conventions_that_leave_out_graphs_do_so_here() -> None:
    graphs = [nx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(55)]
    real, made = graphs[:15], graphs[15:]
    (one,) = generation.compare_samples(
        real, {"a": made, "b": made[::-1]}, convention="spectre", metrics="spectral_mmd", permutations=9, resamples=9
    )
    for name, value in zip((made, made[::-1]), one.values, strict=True):
        alone = generation.evaluate(real=real, generated=name, convention="spectre", metrics=["spectral_mmd"])
        assert value == pytest.approx(alone["spectral_mmd"].value)


def test_the_order_of_samples_does_not_decide_which_are_distinct() -> None:
    rng = np.random.default_rng(0)
    small = rng.random((20, 8)) < 0.5
    large = np.concatenate([rng.random((30, 8)) < 0.5, np.zeros((30, 8), bool)])
    first, second = (
        generation.compare_samples(None, {"small": small, "large": rows}, permutations=199, resamples=9)[0]
        for rows in (large, large[::-1])
    )
    assert first.values == second.values


def test_equal_generators_of_different_sizes_have_no_bias() -> None:
    rng = np.random.default_rng(0)
    real, few, many = ({"x": rng.normal(size=count)} for count in (100, 12, 900))
    (one,) = of_columns(real, {"few": few, "many": many}, permutations=199)
    assert one.interval[0] < 0 < one.interval[1]
    assert one.better is None


def test_the_text_has_the_confidence_of_the_comparison() -> None:
    rng = np.random.default_rng(0)
    real, a, b = rng.random((60, 6)) < 0.4, rng.random((60, 6)) < 0.4, rng.random((60, 6)) < 0.5
    for confidence in (0.5, 0.999):
        for one in generation.compare_samples(real, {"a": a, "b": b}, confidence=confidence, permutations=199):
            assert ("no significant difference" in str(one)) == (one.p_value > 1 - confidence)


def test_arguments_that_do_not_fit_are_refused() -> None:
    bits = np.eye(12, dtype=bool)
    for given, words in (
        ({"generated": [bits, bits]}, "expected {name: samples}"),
        ({"generated": {"a": bits, "b": [nx.path_graph(3)] * 12}}, "another kind"),
        ({"generated": {"a": bits, "b": bits[:, :6]}}, "another kind"),
        ({"generated": {"a": bits, "b": bits}, "valid": {"a": np.ones(12)}}, "'b' is missing"),
        ({"generated": {"a": bits, "b": bits}, "valid": {"a": np.ones(12), "c": np.ones(12)}}, "'c' is missing"),
    ):
        with pytest.raises(InputError, match=words):
            generation.compare_samples(None, **given)
