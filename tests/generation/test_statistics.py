"""Statistics of samples: numbers and categories in one distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from tests.generation.toy import described

from graphgauge import generation
from graphgauge.core.errors import InputError

QUICK: dict[str, Any] = {"permutations": 49, "resamples": 99}
COLUMNS = {"statistics": "real", "generated_statistics": "generated"}


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
    found = generation.evaluate(**described(real=real, generated=made), **QUICK)
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


def test_a_statistic_of_one_category_has_no_spread() -> None:
    real, made = {"city": ["x"] * 20, "age": np.arange(20.0)}, {"city": ["y"] * 20, "age": np.arange(20.0)}
    found = generation.evaluate(**described(real=real, generated=made), **QUICK)
    assert found["wasserstein_city"] == 1
    assert not found["overall_mean_distance"].reached


def test_text_and_numbers_are_not_compared() -> None:
    with pytest.raises(InputError, match="text on one side"):
        generation.evaluate(**described(real={"age": np.arange(12.0)}, generated={"age": ["old"] * 12}))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_of_tables_are_no_samples(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people.{suffix}"
    getattr(pd.DataFrame({"set": [0, 1] * 6}), f"to_{suffix}")(path, index=False)
    with pytest.raises(InputError, match=rf"rows of a table.*--real boards.npy --statistics .*people\.{suffix}"):
        generation.evaluate_files(generated=str(path))


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
    np.save(tmp_path / "blank.npy", np.zeros((30, 1), bool))
    blank = dict.fromkeys(sides, str(tmp_path / "blank.npy"))
    paths = {name: str(tmp_path / f"{side}.{suffix}") for name, side in COLUMNS.items()}
    metrics = ["statistical"]
    read = generation.evaluate_files(**blank, **paths, metrics=metrics, **QUICK)
    given = generation.evaluate(**described(**sides), metrics=metrics, **QUICK)
    assert {key: result.value for key, result in read.items()} == {key: result.value for key, result in given.items()}
    sides["real"]["member"] = sides["real"]["member"].astype(object)
    sides["real"].loc[4, "member"] = None
    getattr(sides["real"], f"to_{suffix}")(paths["statistics"], index=False)
    missing = {"csv": "1 of 30 values are NaN", "parquet": "expected numbers"}[suffix]
    with pytest.raises(InputError, match=f"member.*{missing}"):
        generation.evaluate_files(**blank, **paths, **QUICK)
