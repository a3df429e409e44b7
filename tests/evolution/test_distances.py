"""Distances against arithmetic of a hundred digits, up to the boundary."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from tests.evolution.grown import exact_distance

from graphgauge.core.errors import InputError, OptionError
from graphgauge.evolution import link_score, poincare_distance
from graphgauge.evolution.nodes import margins


def on_sphere(rng: np.random.Generator, dimensions: int, gap: float) -> np.ndarray:
    """A point about `gap` inside the boundary."""
    point = rng.normal(size=dimensions)
    return point / np.linalg.norm(point) * (1 - gap)


@pytest.mark.parametrize("gap", [0.9, 0.5, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("dimensions", [2, 3, 32, 300])
def test_against_mpmath(gap: float, dimensions: int):
    rng = np.random.default_rng(dimensions)
    tried = 0
    while tried < 20:
        u, v = on_sphere(rng, dimensions, gap), on_sphere(rng, dimensions, rng.choice([gap, 0.3]))
        if min(exact_margin(u), exact_margin(v)) <= 0:
            continue  # rounding has put it on the sphere or beyond
        tried += 1
        assert poincare_distance(u, v) == pytest.approx(exact_distance(u, v), rel=4e-15 + dimensions * 2e-17)


def test_close_points_next_to_the_boundary():
    u = np.array([1 - 1e-12, 0.0])
    for step in (1e-13, 1e-14, 2e-16):
        v = np.array([1 - 1e-12 - step, 1e-15])
        assert poincare_distance(u, v) == pytest.approx(exact_distance(u, v), rel=1e-15)


def exact_margin(point: np.ndarray) -> Fraction:
    return 1 - sum(Fraction(float(value)) ** 2 for value in point)


coordinates = st.floats(-1, 1, allow_subnormal=True)


@given(st.lists(coordinates, min_size=1, max_size=6), st.sampled_from([0.0, 1e-16, 1e-12, 1e-3]))
def test_the_margin_is_right_and_has_the_right_sign(values: list[float], gap: float):
    point = np.array(values)
    norm = np.linalg.norm(point)
    if norm > 0:
        point = point / norm * (1 - gap)
    found, exact = float(margins(point[:, None])[0]), exact_margin(point)
    if np.abs(point).max() >= 1:
        assert np.isnan(found)
        assert exact <= 0
    else:
        assert found == pytest.approx(float(exact), rel=2e-16 * (1 + len(values)), abs=1e-31 * len(values))
        assert (found > 0) == (exact > 0)


def test_a_point_is_at_distance_zero_from_itself():
    rng = np.random.default_rng(0)
    points = np.array([on_sphere(rng, 5, gap) for gap in (1.0, 0.5, 1e-9, 1e-13)])
    assert poincare_distance(points, points).tolist() == [0.0] * 4


def test_symmetric_to_the_bit():
    rng = np.random.default_rng(0)
    u, v = rng.uniform(-0.4, 0.4, (2, 50, 5))
    assert poincare_distance(u, v).tobytes() == poincare_distance(v, u).tobytes()


def test_rows_or_two_points():
    assert poincare_distance([0.0, 0.0], [0.5, 0.0]) == pytest.approx(np.log(3), rel=1e-15)
    assert poincare_distance([[0.0, 0.0]], [[0.5, 0.0]]).shape == (1,)
    assert poincare_distance(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8"])
def test_narrow_types_are_widened_not_rounded(dtype: str):
    u, v = np.array([0.5, 0.25], dtype), np.array([-0.125, 0.75], dtype)
    assert poincare_distance(u, v) == poincare_distance(u.astype(float), v.astype(float))


def test_link_score():
    u, v = np.array([0.1, 0.2]), np.array([-0.3, 0.6])
    distance = poincare_distance(u, v)
    assert link_score(u, v, temperature=2.0) == pytest.approx(expit(-distance / 2), rel=1e-15)
    assert link_score(u, u) == 0.5
    with pytest.raises(OptionError, match="temperature must be a number above 0"):
        link_score(u, v, temperature=0)


@pytest.mark.parametrize(
    ("u", "v", "said"),
    [
        ([1.0, 0.0], [0.0, 0.0], "norm 1 or more"),
        ([0.6, 0.8], [0.0, 0.0], "norm 1 or more"),
        ([np.inf, 0.0], [0.0, 0.0], "norm 1 or more"),
        ([1e300, 0.0], [0.0, 0.0], "norm 1 or more"),
        ([np.nan, 0.0], [0.0, 0.0], "NaN"),
        ([0.0], [0.0, 0.0], "shapes"),
        ([[0.0, 0.0]], [0.0, 0.0], "shapes"),
        (0.5, 0.5, "shapes"),
        (["a"], ["b"], "numbers"),
    ],
)
def test_what_is_refused(u, v, said):
    with pytest.raises(InputError, match=said):
        poincare_distance(u, v)
