"""Generators of which one set of samples each is given, compared by exchanges and resampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from graphgauge import generation, stats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation import Graphs, Samples, compare_samples, evaluate
from graphgauge.generation.levels import near_copies
from graphgauge.stats import Comparison


def dense(count: int, rate: float, seed: int) -> Graphs:
    return Graphs.from_objects([nx.gnp_random_graph(12, rate, seed=1000 * seed + place) for place in range(count)])


def columns(**values: Any) -> Samples:
    return Samples(statistics=values)


def by_metric(found: tuple[Comparison, ...]) -> dict[str, Comparison]:
    return {each.metric: each for each in found}


def values_of(found: Comparison) -> dict[str, float]:
    return {each.method: each.mean for each in found.standings}


def test_the_nearer_generator_is_found() -> None:
    real, sides = dense(60, 0.3, 1), {"good": dense(50, 0.3, 2), "bad": dense(40, 0.5, 3)}
    found = by_metric(compare_samples(real, sides, draws=199))
    assert set(found) == {"degree_mmd", "clustering_mmd", "orbit_mmd", "spectral_mmd", "overall_uniqueness_ratio"}
    for key in ("degree_mmd", "orbit_mmd"):
        pair = found[key]["good", "bad"]
        assert pair.winner == "good"
        assert pair.interval is not None
        assert pair.interval.low < pair.difference < pair.interval.high < 0
        alone = evaluate(real, sides["bad"], metrics=[key], draws=9)
        assert values_of(found[key])["bad"] == pytest.approx(alone[key].value)
    assert found["degree_mmd"].conclusion.startswith("good is better than bad by degree_mmd")
    assert "effect size" not in found["degree_mmd"].conclusion  # a discrepancy has none


def test_a_generator_that_moves_one_edge_of_its_training_graphs_is_not_called_better() -> None:
    train, real, bad = (
        Graphs.from_objects([nx.gnp_random_graph(16, rate, seed=1000 * seed + place) for place in range(60)])
        for seed, rate in enumerate((0.25, 0.25, 0.5))
    )
    copies = near_copies(train, np.random.default_rng(0))
    found = compare_samples(real, {"copies": copies, "bad": bad}, train=train, draws=199)
    assert any(pair.p_holm <= 0.05 for each in found for pair in each)
    assert all(pair.winner == "not comparable" for each in found for pair in each)
    assert all(each.invalid["copies"].startswith("near-copies: 100% of the samples") for each in found)
    assert all("can be compared: copies (near-copies: 100%" in each.conclusion for each in found)


def test_a_copied_test_set_is_not_better() -> None:
    rng = np.random.default_rng(0)
    real, honest = (rng.random((200, 30)) < 0.3 for _ in range(2))
    found = compare_samples(real, {"copy": real, "honest": honest}, draws=199)
    assert {pair.winner for each in found for pair in each} == {"not comparable"}
    assert all(each.invalid["copy"].startswith("copied-test-set: 200 of 200") for each in found)
    assert all(each.best == "honest" for each in found)


def test_generators_that_are_equally_far_from_the_real_samples_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(0)
    called = 0
    for seed in range(20):
        real, above, below = (columns(x=rng.normal(shift, 1, 60)) for shift in (0, 0.7, -0.7))
        (one,) = compare_samples(real, {"above": above, "below": below}, draws=99, seed=seed)
        called += one["above", "below"].significant
    assert called <= 4  # binomial: more than 4 of 20 at 5 % have a probability of 0.003


def test_energy_and_shares_by_hand() -> None:
    rng = np.random.default_rng(0)
    real, sides = rng.normal(size=40), {"a": rng.normal(size=30), "b": rng.normal(1, 1, 40)}
    valid = {"a": np.arange(30) < 27, "b": np.arange(40) < 27}
    made = {name: Samples(statistics={"x": values}, valid=valid[name]) for name, values in sides.items()}
    found = by_metric(compare_samples(columns(x=real), made, draws=99))
    assert values_of(found["validity_rate"]) == {"a": 0.9, "b": 27 / 40}
    for name in sides:
        x, y = (part[:, None] / real.std() for part in (real, sides[name][valid[name]]))
        expected = 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()
        assert values_of(found["energy_distance"])[name] == pytest.approx(expected)


def test_categories_of_different_generators_are_different_columns() -> None:
    """Each generator has the value that it has alone, in any order and with any number of categories."""
    rng = np.random.default_rng(0)
    real, *others = (columns(c=rng.choice(list(letters), 100)) for letters in ("ab", "abz", "0ab", "ab", "xyzab"))
    sides = dict(zip("stuv", others, strict=True))
    alone = {
        name: evaluate(real, made, metrics=["energy_distance"], draws=19)["energy_distance"].value
        for name, made in sides.items()
    }
    for chosen in (sides, dict(reversed(list(sides.items()))), {name: sides[name] for name in "us"}):
        (found,) = compare_samples(real, chosen, draws=19)
        assert values_of(found) == pytest.approx({name: alone[name] for name in chosen})


def test_constant_real_columns_have_the_scale_of_all_generators() -> None:
    rng = np.random.default_rng(0)
    sides = {"near": columns(v=rng.normal(0, 1, 60)), "far": columns(v=rng.normal(0, 100, 60))}
    values = []
    for order in (sides, dict(reversed(list(sides.items())))):
        (one,) = compare_samples(columns(v=np.zeros(60)), order, draws=99)
        assert one["near", "far"].winner == "near"
        values.append(values_of(one))
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("protocol", [None, "gran", "spectre", "digress_emd"])
def test_discrepancies_are_those_of_an_evaluation(protocol: str | None) -> None:
    real, made = dense(12, 0.4, 1), dense(25, 0.5, 2)
    keys = ["degree_mmd", "spectral_mmd"]
    alone = evaluate(real, made, protocol=protocol, metrics=keys, draws=19)
    rival = made.take(np.arange(25)[::-1])
    found = compare_samples(real, {"a": made, "b": rival}, protocol=protocol, metrics=keys, draws=19)
    assert {each.metric: values_of(each)["a"] for each in found} == pytest.approx(
        {key: alone[key].value for key in keys}
    )


def test_equal_generators_of_different_sizes_have_no_bias() -> None:
    rng = np.random.default_rng(0)
    real, few, many = (columns(x=rng.normal(size=count)) for count in (100, 12, 900))
    (one,) = compare_samples(real, {"few": few, "many": many}, draws=199)
    pair = one["few", "many"]
    assert pair.interval is not None
    assert pair.interval.low < 0 < pair.interval.high
    assert not pair.significant


@pytest.mark.parametrize("confidence", [0.5, 0.999])
def test_the_verdict_has_the_confidence_of_the_comparison(confidence: float) -> None:
    rng = np.random.default_rng(0)
    real, a, b = rng.random((60, 6)) < 0.4, rng.random((60, 6)) < 0.4, rng.random((60, 6)) < 0.5
    for each in compare_samples(real, {"a": a, "b": b}, confidence=confidence, draws=199):
        (pair,) = each
        assert pair.significant == (pair.p_holm <= 1 - confidence and pair.difference != 0)


def test_a_comparison_of_results_names_the_generator_that_copies(tmp_path: Path) -> None:
    """The copy of the test set has the best values; only its file has the error, and no comparison calls it better."""
    rng = np.random.default_rng(3)

    def blocks(count: int) -> Any:
        return rng.random((count, 40)) < np.repeat([0.2, 0.7], 20)

    train, real = blocks(60), blocks(60)
    sides = {"test set": real, "copies": near_copies(train, rng), "fresh": blocks(60)}
    for name, made in sides.items():
        evaluate(real, made, train=train, draws=19).named(method=name, dataset="blocks", seed=0).save(
            tmp_path / f"{name}.json"
        )
    found = stats.compare([tmp_path / f"{name}.json" for name in sides], metric="mmd")
    assert set(found.invalid) == {"test set"}
    said = str(found)
    assert "[near-copies] in 1 of 1 run of copies" in said
    assert "run of fresh" not in said
    assert "generation.compare_samples" in said
    assert found.best != "test set"


BITS = np.random.default_rng(0).random((20, 6)) < 0.5


@pytest.mark.parametrize(
    ("generated", "message"),
    [
        ([BITS, BITS], "expected {name: samples}, found list"),
        ({"a": BITS, "b": dense(12, 0.3, 1)}, "graphs"),
        ({"a": BITS, "b": {"c": np.arange(20.0)}}, "the rows of a table are not samples"),
        ({"a": BITS, "b": BITS.reshape(20, 2, 3)[:, :1]}, "shapes of samples differ"),
        ({"a": columns(c=np.arange(20.0)), "b": columns(d=np.arange(20.0))}, "statistics differ: c of a and d of b"),
        ({"a": Samples(BITS, valid=np.ones(20)), "b": BITS}, "valid of b are missing"),
    ],
)
def test_generators_that_cannot_be_compared(generated: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_samples(None, generated)


def test_options_that_make_no_sense() -> None:
    with pytest.raises(OptionError, match="at least two"):
        compare_samples(np.eye(4), {"a": np.eye(4)})
    with pytest.raises(OptionError, match="these are compared"):
        compare_samples(BITS, {"a": BITS, "b": BITS}, metrics="latent_mean")
    with pytest.raises(OptionError, match="compares graphs"):
        compare_samples(BITS, {"a": BITS, "b": BITS}, protocol="gran")


@pytest.mark.slow
def test_equal_generators_differ_as_often_as_they_should() -> None:
    rng = np.random.default_rng(0)
    below = covered = 0
    for run in range(200):
        real, a, b = (rng.random((50, 6)) < 0.4 for _ in range(3))
        found = by_metric(compare_samples(real, {"a": a, "b": b}, draws=199, seed=run))
        below += any(pair.p_holm <= 0.05 for each in found.values() for pair in each)
        interval = found["mmd"].pairs[0].interval
        covered += interval is not None and interval.low <= 0 <= interval.high
    assert below <= 20
    assert covered >= 180


def test_the_name_is_public() -> None:
    assert generation.compare_samples is compare_samples


def test_a_generator_has_one_value_whatever_it_is_compared_with() -> None:
    """Of three of unequal size: shares of distinct samples and biased distances depend on the number of samples."""
    draw = np.random.default_rng(0)
    pools = {"wide": (2000, 400), "narrow": (300, 400), "few": (100, 40)}
    made = {name: (draw.random((pool, 24)) < 0.5)[draw.integers(0, pool, n)] for name, (pool, n) in pools.items()}
    found = [
        generation.compare_samples(None, {name: made[name] for name in order}, metrics="overall_uniqueness_ratio")[0]
        for order in (("wide", "narrow", "few"), ("few", "wide", "narrow"))
    ]
    assert found[0].standings == found[1].standings
    means = {each.method: each.mean for each in found[0].standings}
    for pair in found[0]:
        assert pair.difference == pytest.approx(means[pair.names[0]] - means[pair.names[1]], abs=1e-12)
    assert {each.method: each.n for each in found[0].standings} == {"wide": 400, "narrow": 400, "few": 40}
