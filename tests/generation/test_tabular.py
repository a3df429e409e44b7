"""Rows of tables as samples: numbers and categories in one distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist

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
    for key in ("wasserstein_city", "energy_distance", "novelty", "overall_mean_distance"):
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
