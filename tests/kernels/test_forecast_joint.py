from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from graphgauge.kernels.forecast_joint import energy_scores, offsets, variogram_scores


def drawn(dtype="float64", vectors=6, components=5, members=8):
    random = np.random.default_rng(0)
    y = random.standard_normal((vectors, components)).astype(dtype)
    clouds = random.standard_normal((vectors, components, members)).astype(dtype)
    return y, clouds, random.random((vectors, components)) > 0.3


def rotated(members, first):
    """Written out: member i of a component becomes member i + offset."""
    shift = offsets(first, *members.shape[:2], members.shape[2])
    out = np.empty_like(members)
    for vector, component in np.ndindex(members.shape[:2]):
        out[vector, component] = np.roll(members[vector, component], -shift[vector, component])
    return out


def energy(y, cloud, seen):
    points, truth = cloud[seen].astype(float).T, y[seen].astype(float)
    if seen.sum() < 2:
        return np.nan
    away = np.mean([np.linalg.norm(point - truth) for point in points])
    return away - np.mean([[np.linalg.norm(one - other) for one in points] for other in points]) / 2


def variogram(y, cloud, seen, pairs, power):
    terms = []
    for i, j in pairs:
        if seen[i] and seen[j]:
            expected = np.mean(np.abs(cloud[i].astype(float) - cloud[j]) ** power)
            terms.append((abs(float(y[i]) - float(y[j])) ** power - expected) ** 2)
    return np.mean(terms) if terms else np.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
def test_energy_scores_are_those_of_the_definition(dtype, hidden):
    y, clouds, seen = drawn(dtype)
    seen = seen if hidden else np.ones(y.shape, bool)
    given = np.where(seen[..., None], clouds, np.nan)
    found = energy_scores(y, given, seen if hidden else None, first=11)
    for scores, members in ((found.score, clouds), (found.rotated, rotated(clouds, 11))):
        expected = [energy(*row) for row in zip(y, members, seen, strict=True)]
        np.testing.assert_allclose(scores, expected, rtol=1e-12 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("hidden", [False, True])
def test_variogram_scores_are_those_of_the_definition(power, hidden):
    y, clouds, seen = drawn()
    seen = seen if hidden else np.ones(y.shape, bool)
    pairs = np.array(list(combinations(range(5), 2)))[::2]
    found = variogram_scores(y, clouds, pairs, seen if hidden else None, power=power, first=3)
    for scores, members in ((found.score, clouds), (found.rotated, rotated(clouds, 3))):
        expected = [variogram(*row, pairs, power) for row in zip(y, members, seen, strict=True)]
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_parts_are_rotated_as_in_the_whole():
    y, clouds, _ = drawn()
    whole, part = energy_scores(y, clouds), energy_scores(y[2:], clouds[2:], first=2)
    np.testing.assert_array_equal(whole.rotated[2:], part.rotated)
    np.testing.assert_array_equal(whole.score[2:], part.score)


def test_offsets_are_even():
    found = offsets(0, 200, 100, 10)
    assert np.bincount(found.ravel(), minlength=10) == pytest.approx(2000, rel=0.1)
    assert (found[0] != found[1]).any()


def test_one_component_or_no_vector_has_no_score():
    assert np.isnan(energy_scores(np.zeros((1, 1)), np.zeros((1, 1, 3))).score).all()
    assert energy_scores(np.zeros((0, 2)), np.zeros((0, 2, 3))).score.shape == (0,)
    assert np.isnan(variogram_scores(np.zeros((1, 2)), np.zeros((1, 2, 3)), np.zeros((0, 2), int)).score).all()
