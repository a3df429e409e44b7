"""Rows of tables as samples: numbers and categories in one distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr
from scipy.stats.contingency import association

from graphgauge import generation
from graphgauge.cli.family import family_command
from graphgauge.core.errors import InputError
from graphgauge.core.schema import read_content

QUICK: dict[str, Any] = {"permutations": 49, "resamples": 99}


def people(rng: np.random.Generator, count: int, shares: tuple[float, ...] = (0.5, 0.3, 0.2)) -> dict[str, Any]:
    age = rng.normal(40, 10, count)
    return {
        "age": age,
        "income": 2 * age + rng.normal(0, 5, count),
        "city": rng.choice(["x", "y", "z"], count, p=shares),
    }


def test_distances_by_hand() -> None:
    """Of categories, total variation; its scale is the root of half the summed variances of the shares."""
    rng = np.random.default_rng(0)
    real, made = people(rng, 80), people(rng, 60, (0.2, 0.3, 0.5))
    found = generation.evaluate(real=real, generated=made, **QUICK)
    shares = [np.array([np.mean(side["city"] == name) for name in "xyz"]) for side in (real, made)]
    distance = np.abs(shares[0] - shares[1]).sum() / 2
    scale = np.sqrt((shares[0] * (1 - shares[0])).sum() / 2)
    assert found["wasserstein_city"].value == pytest.approx(distance)
    assert found["scaled_wasserstein_city"].value == pytest.approx(distance / scale)
    scales = {name: real[name].std() for name in ("age", "income")}

    def vectors(side: dict[str, Any]) -> Any:
        numbers = [side[name] / scales[name] for name in scales]
        return np.column_stack([*numbers, *((side["city"] == name) / np.sqrt(2) / scale for name in "xyz")])

    x, y = vectors(real), vectors(made)
    expected = 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()
    assert found["energy_distance"].value == pytest.approx(expected)
    assert "perfect" not in found["wasserstein_city"].compatible
    assert "perfect" in found["wasserstein_age"].compatible
    assert "mean_hamming_bits" not in found


def test_two_categories_are_like_bits() -> None:
    rng = np.random.default_rng(1)
    real, made = rng.random(50) < 0.4, rng.random(40) < 0.6
    blank = {"real": np.zeros((50, 1)), "generated": np.zeros((40, 1))}
    as_text, as_bits = (
        generation.evaluate(**blank, statistics={"set": f(real)}, generated_statistics={"set": f(made)}, **QUICK)
        for f in (lambda bits: np.where(bits, "yes", "no"), lambda bits: bits.astype(float))
    )
    for key in ("wasserstein_set", "scaled_wasserstein_set", "overall_mean_distance", "energy_distance"):
        assert as_text[key].value == pytest.approx(as_bits[key].value), key


def test_rows_are_compared_with_each_other_and_with_training() -> None:
    rng = np.random.default_rng(2)
    train, real = people(rng, 40), people(rng, 40)
    made = {name: np.concatenate([column[:15], people(rng, 15)[name]]) for name, column in train.items()}
    found = generation.evaluate(real=real, generated=made, train=train, **QUICK)
    assert found["novelty"].value == 0.5
    assert found["overall_uniqueness_ratio"] == 1
    assert {level.name for level in found["overall_mean_distance"].levels} == {"memoriser", "perfect"}


def test_a_statistic_of_one_category_has_no_spread() -> None:
    real, made = {"city": ["x"] * 20, "age": np.arange(20.0)}, {"city": ["y"] * 20, "age": np.arange(20.0)}
    found = generation.evaluate(real=real, generated=made, **QUICK)
    assert found["wasserstein_city"] == 1
    assert not found["overall_mean_distance"].reached


def test_tables_from_the_command_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    sides = {"real": people(rng, 60), "generated": people(rng, 50), "train": people(rng, 60)}
    for name, columns in sides.items():
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    said = [item for name in sides for item in (f"--{name}", str(tmp_path / f"{name}.csv"))]
    out = tmp_path / "found.json"
    done = CliRunner().invoke(
        family_command("generation"), [*said, "--permutations", "49", "--resamples", "99", "--output", str(out)]
    )
    assert done.exit_code == 0, done.output
    written = {entry["key"]: entry["value"] for entry in read_content(out)["results"]}
    frames = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in sides}
    found = generation.evaluate(**frames, **QUICK)
    for key in ("wasserstein_city", "energy_distance", "novelty", "overall_mean_distance", "correlation_difference"):
        assert written[key] == pytest.approx(found[key].value), key


def test_tables_that_do_not_match_are_refused() -> None:
    table = {"age": np.arange(12.0)}
    with pytest.raises(InputError, match="columns of one table only: city"):
        generation.evaluate(real=table, generated={**table, "city": ["x"] * 12})
    with pytest.raises(InputError, match="another kind"):
        generation.evaluate(real=table, generated=np.zeros((12, 1)))
    with pytest.raises(InputError, match="text on one side"):
        generation.evaluate(real=table, generated={"age": ["old"] * 12})


def test_rows_with_a_missing_number_are_refused_or_dropped() -> None:
    rng = np.random.default_rng(4)
    real, made = people(rng, 20), people(rng, 20)
    real["age"][3] = np.nan
    with pytest.raises(InputError, match="NaN"):
        generation.evaluate(real=real, generated=made, **QUICK)
    assert generation.evaluate(real=real, generated=made, nan="omit", **QUICK)["num_real"] == 19


def mixed(rng: np.random.Generator, count: int, strength: float = 0.8) -> dict[str, Any]:
    """Two numbers and two categories, all of which follow one variable."""
    hidden = rng.standard_normal(count)
    return {
        "dose": strength * hidden + 0.5 * rng.standard_normal(count),
        "cost": np.exp(strength * hidden + 0.5 * rng.standard_normal(count)),
        "stage": np.digitize(strength * hidden + 0.5 * rng.standard_normal(count), [-0.5, 0.5]).astype(str),
        "sex": np.where(rng.random(count) < 0.5, "f", "m"),
    }


def correlations(table: dict[str, Any]) -> dict[tuple[str, str], float]:
    """By scipy and by hand, with both corrections."""
    n, sex, stage = len(table["dose"]), table["sex"], table["stage"]

    def ratio(values: Any, words: Any) -> float:
        groups = [values[words == word] for word in np.unique(words)]
        between = sum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups)
        share = between / ((values - values.mean()) ** 2).sum()
        return float(np.sqrt(max(0, 1 - (1 - share) * (n - 1) / (n - len(groups)))))

    counts = np.array([[np.sum((stage == a) & (sex == b)) for b in np.unique(sex)] for a in np.unique(stage)])
    rows, columns = counts.shape
    chi = association(counts) ** 2 * (min(rows, columns) - 1) - (rows - 1) * (columns - 1) / (n - 1)
    fewer = min(side - (side - 1) ** 2 / (n - 1) for side in (rows, columns)) - 1
    return {
        ("dose", "cost"): float(pearsonr(table["dose"], table["cost"])[0]),
        **{
            (number, name): ratio(table[number], table[name])
            for number in ("dose", "cost")
            for name in ("stage", "sex")
        },
        ("stage", "sex"): float(np.sqrt(max(0, chi) / fewer)),
    }


def test_correlations_of_numbers_and_categories() -> None:
    rng = np.random.default_rng(10)
    real, made = mixed(rng, 90), mixed(rng, 70, 0.1)
    found = generation.evaluate(real=real, generated=made, metrics=["correlation_difference"], **QUICK)
    own, other = correlations(real), correlations(made)
    result = found["correlation_difference"]
    assert result.value == pytest.approx(np.mean([abs(own[pair] - other[pair]) for pair in own]))
    pairs = found.by("pair_of_columns")
    for place, name in enumerate(pairs["pair_of_columns"]):
        first, second = name.split(" × ")
        assert pairs["real"][place] == pytest.approx(own[first, second]), name
        assert pairs["generated"][place] == pytest.approx(other[first, second]), name
    assert result.compatible is not None
    assert "perfect" not in result.compatible
    assert result.interval is not None
    assert 0 < result.interval.low < result.value < result.interval.high


def test_columns_without_their_correlations_are_chance_and_ranks_ignore_scales() -> None:
    rng = np.random.default_rng(11)
    real, whole, train = mixed(rng, 120), mixed(rng, 100), mixed(rng, 120)
    apart = {name: rng.permutation(column) for name, column in whole.items()}
    keys = ["correlation_difference", "rank_correlation_difference"]
    good, bad = (
        generation.evaluate(real=real, generated=made, train=train, metrics=keys, **QUICK) for made in (whole, apart)
    )
    logged = generation.evaluate(
        real={**real, "cost": np.log(real["cost"])},
        generated={**whole, "cost": np.log(whole["cost"])},
        metrics=keys,
        **QUICK,
    )
    for key in keys:
        assert {level.name for level in good[key].levels} == {"perfect", "memoriser", "chance"}
        assert "perfect" in good[key].compatible
        assert "memoriser" in good[key].compatible
        assert bad[key].compatible == ("chance",)
    assert logged[keys[1]].value == pytest.approx(good[keys[1]].value)
    assert logged[keys[0]].value != pytest.approx(good[keys[0]].value)


def test_a_column_constant_on_one_side_has_no_correlation_there() -> None:
    rng = np.random.default_rng(12)
    x = rng.normal(size=40)
    real = {"x": x, "y": x, "z": np.ones(40)}
    flat = {"x": x, "y": np.zeros(40), "z": np.ones(40)}
    found = generation.evaluate(real=real, generated=flat, metrics=["correlation_difference"], **QUICK)
    assert found["correlation_difference"].value == pytest.approx(1.0)  # z is constant on both sides
    alone = generation.evaluate(real={"x": x}, generated={"x": x}, **QUICK)
    assert not alone["correlation_difference"].defined
    assert alone["correlation_difference"].reason == "no two columns vary"


def test_copies_of_rows_are_found() -> None:
    """Exact copies by novelty, and rows with a little noise by their nearest neighbours."""
    rng = np.random.default_rng(13)
    train, real = mixed(rng, 80), mixed(rng, 80)
    near = {
        name: column + 0.01 * rng.standard_normal(80) if column.dtype.kind == "f" else column
        for name, column in train.items()
    }
    found = {
        name: generation.evaluate(real=real, generated=made, train=train, metrics=["diversity"], **QUICK)
        for name, made in {"copies": train, "near": near, "fresh": mixed(rng, 80)}.items()
    }
    checks = {name: {finding.check for finding in each.findings} for name, each in found.items()}
    assert "copied-training-set" in checks["copies"]
    assert "near-copies" in checks["near"]
    assert not checks["fresh"] & {"copied-training-set", "near-copies"}
    assert found["near"]["novelty"] == 1
    assert "perfect" in found["fresh"]["nearer_to_training"].compatible
    winner = generation.compare_samples(real, {"near": near, "plain": mixed(rng, 80, 0.4)}, train=train, **QUICK)
    assert all(test.better != "near" for test in winner)
    assert any("near-copies" in str(test.remark) for test in winner)


def test_noisy_copies_of_rows_of_few_columns_are_found() -> None:
    """Rows with another value in one of two columns are as near to other rows, but rows with a little noise are not."""
    rng = np.random.default_rng(14)
    train, real, fresh = ({"x": x, "y": x + 0.2 * rng.normal(size=100)} for x in rng.normal(size=(3, 100)))
    near = {name: column + 1e-3 * rng.standard_normal(100) for name, column in train.items()}
    found = {
        name: generation.evaluate(real=real, generated=made, train=train, metrics=["nearer_to_training"], **QUICK)
        for name, made in {"near": near, "fresh": fresh}.items()
    }
    levels = {level.name: level for level in found["near"]["nearer_to_training"].levels}
    assert levels["near_copy"].value < levels["perfect"].high
    assert "near-copies" in {finding.check for finding in found["near"].findings}
    assert "near-copies" not in {finding.check for finding in found["fresh"].findings}


def test_nearest_rows_by_hand() -> None:
    """In units of the spread of real and training rows; another category is one unit away."""
    train = {"x": np.arange(10.0), "c": ["a"] * 10}
    real = {"x": np.arange(10.0) + 0.5, "c": ["b"] * 10}
    # Nearer to a real row by number, and to a training row by category, which counts more.
    made = {"x": np.arange(10.0) + 0.4, "c": ["a"] * 10}
    found = generation.evaluate(real=real, generated=made, train=train, metrics=["nearer_to_training"], **QUICK)
    assert found["nearer_to_training"] == 1
    other = {**made, "c": ["b"] * 10}
    assert (
        generation.evaluate(real=real, generated=other, train=train, metrics=["nearer_to_training"], **QUICK)[
            "nearer_to_training"
        ]
        == 0
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_files_are_those_of_data_frames(tmp_path: Path, suffix: str) -> None:
    """Truth values, also next to missing ones, and categories that are numbers where the format has them."""
    rng = np.random.default_rng(14)

    def frame() -> pd.DataFrame:
        return pd.DataFrame(
            {
                "x": rng.normal(size=30),
                "member": rng.random(30) < 0.4,
                "kind": pd.Categorical(rng.choice([3, 7, 9], 30)),
            }
        )

    sides = {"real": frame(), "generated": frame()}
    if suffix == "csv":
        sides = {name: side.astype({"kind": int}) for name, side in sides.items()}
    for name, side in sides.items():
        getattr(side, f"to_{suffix}")(tmp_path / f"{name}.{suffix}", index=False)
    paths = {name: str(tmp_path / f"{name}.{suffix}") for name in sides}
    metrics = ["statistical"]
    read = generation.evaluate_files(**paths, metrics=metrics, **QUICK)
    given = generation.evaluate(**sides, metrics=metrics, **QUICK)
    assert {key: result.value for key, result in read.items()} == {key: result.value for key, result in given.items()}
    sides["real"]["member"] = sides["real"]["member"].astype(object)
    sides["real"].loc[4, "member"] = None
    getattr(sides["real"], f"to_{suffix}")(paths["real"], index=False)
    with pytest.raises(InputError, match=r"member.*1 of 30 values are NaN"):
        generation.evaluate_files(**paths, **QUICK)
