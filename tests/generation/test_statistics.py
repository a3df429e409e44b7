"""Statistics of samples: numbers and categories in one distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.generation.flat import evaluated

from graphgauge.core.errors import InputError

QUICK: dict[str, Any] = {"draws": 99, "metrics": "all"}


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
    found = evaluated(real_statistics=real, generated_statistics=made, **QUICK)
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
        evaluated(**blank, real_statistics={"set": f(real)}, generated_statistics={"set": f(made)}, **QUICK)
        for f in (lambda bits: np.where(bits, "yes", "no"), lambda bits: bits.astype(float))
    )
    for key in ("wasserstein_set", "scaled_wasserstein_set", "overall_mean_distance", "energy_distance"):
        assert as_text[key].value == pytest.approx(as_bits[key].value), key


def test_a_statistic_of_one_category_has_no_spread() -> None:
    real, made = {"city": ["x"] * 20, "age": np.arange(20.0)}, {"city": ["y"] * 20, "age": np.arange(20.0)}
    found = evaluated(real_statistics=real, generated_statistics=made, **QUICK)
    assert found["wasserstein_city"] == 1
    assert not found["overall_mean_distance"].reached


def test_text_and_numbers_are_not_compared() -> None:
    with pytest.raises(InputError, match=r"statistics differ: age of real and age \(text\) of generated"):
        evaluated(real_statistics={"age": np.arange(12.0)}, generated_statistics={"age": ["old"] * 12})
