from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import energy_distance

from graphgauge.core.errors import InputError
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.two_sample import (
    PRDC,
    Discrepancy,
    energy_test,
    kernel_sums,
    mmd_test,
    p_of_all,
    p_value,
    prdc,
)

Floats = NDArray[np.float64]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def two(n: int, m: int, dimensions: int, shift: float = 0.0, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, dimensions)), rng.standard_normal((m, dimensions)) + shift


def by_hand(x: Floats, y: Floats) -> float:
    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


# -------------------------------------------------------------------------------------------------------- energy


def test_energy_distance_against_scipy_and_brute_force() -> None:
    x, y = two(90, 140, 1, 0.3)
    found = energy_test(x, y, permutations=0, generator=generator())
    assert found.value == pytest.approx(energy_distance(x.ravel(), y.ravel()) ** 2, rel=1e-10)
    x, y = two(150, 60, 5, 0.1)
    assert energy_test(x, y, permutations=9, generator=generator()).value == pytest.approx(by_hand(x, y), rel=1e-10)


def test_sums_of_every_permutation_are_those_of_its_members() -> None:
    rng = generator()
    values = rng.random((9, 9))
    values += values.T
    sums = kernel_sums(lambda rows: values[rows], 4, 5, 200, generator(1))
    possible = {
        (
            round(values[np.ix_(members, members)].sum(), 9),
            round(values[np.ix_(others, others)].sum(), 9),
            round(values[np.ix_(members, others)].sum(), 9),
        )
        for members in combinations(range(9), 4)
        for others in [[i for i in range(9) if i not in members]]
    }
    found = [tuple(np.round(row, 9)) for row in np.transpose(sums[:3]).tolist()]
    assert set(found) <= possible
    assert len(set(found)) > 80
    assert found[0] == (
        round(values[:4, :4].sum(), 9),
        round(values[4:, 4:].sum(), 9),
        round(values[:4, 4:].sum(), 9),
    )
    np.testing.assert_allclose(sums.rows_first, values[:, :4].sum(axis=1))
    np.testing.assert_allclose(sums.rows_second, values[:, 4:].sum(axis=1))


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_p_values_of_equal_distributions_are_uniform(test: object) -> None:
    p_values = []
    for seed in range(120):
        x, y = two(12, 17, 2, seed=seed)
        p_values.append(test(x, y, permutations=39, generator=generator(seed)).p_value)  # type: ignore[operator]
    for level in (0.1, 0.25, 0.5):
        share = np.mean(np.array(p_values) <= level + 1e-9)
        assert abs(share - level) < 3.3 * math.sqrt(level * (1 - level) / 120)


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_a_shift_is_found_and_equal_points_are_no_difference(test: object) -> None:
    x, y = two(80, 60, 3, 1.0)
    found = test(x, y, permutations=199, generator=generator())  # type: ignore[operator]
    assert found.p_value == 1 / 200
    same = np.ones((10, 2))
    assert test(same, same, permutations=19, generator=generator()).p_value == 1.0  # type: ignore[operator]
    assert test(x, x.copy(), permutations=19, generator=generator()).p_value > 0.9  # type: ignore[operator]


def test_conditions_weigh_as_much_as_their_samples_can_tell() -> None:
    tests = [energy_test(*two(n, m, 2, shift), permutations=19, generator=generator()) for n, m, shift in SIZES]
    weights = np.array([n * m / (n + m) for n, m, _ in SIZES])
    assert [test.weight for test in tests] == pytest.approx(weights)
    value = float(np.average([test.value for test in tests], weights=weights))
    null = np.average([test.null for test in tests], axis=0, weights=weights)
    assert p_of_all(tests) == p_value(value, null)


SIZES = ((40, 10, 0.0), (15, 60, 0.5), (10, 12, 1.0))


def test_conditions_in_another_mix_are_no_difference() -> None:
    rng = generator(3)
    centres = np.array([[0.0], [10.0]])
    shares = ((60, 15), (15, 60))
    samples = [
        [rng.standard_normal((n, 1)) + centre for n, centre in zip(side, centres, strict=True)] for side in shares
    ]
    pooled = energy_test(*(np.concatenate(side) for side in samples), permutations=199, generator=generator())
    assert pooled.p_value == 1 / 200
    tests = [
        energy_test(x, y, permutations=199, generator=generator(i))
        for i, (x, y) in enumerate(zip(*samples, strict=True))
    ]
    assert p_of_all(tests) > 0.05


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_any_scale(scale: float) -> None:
    x, y = two(40, 30, 2, 0.4)
    plain = energy_test(x, y, permutations=29, generator=generator())
    scaled = energy_test(x * scale, y * scale, permutations=29, generator=generator())
    assert scaled.value == pytest.approx(plain.value * scale, rel=1e-9)
    assert scaled.p_value == plain.p_value
    ours, theirs = (mmd_test(x * s, y * s, permutations=29, generator=generator()) for s in (1.0, scale))
    assert theirs.value == pytest.approx(ours.value, rel=1e-9)
    assert theirs.bandwidth == pytest.approx(ours.bandwidth * scale, rel=1e-9)


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_too_few_or_other_columns(test: object) -> None:
    for x, y in (
        (np.zeros((1, 2)), np.zeros((5, 2))),
        (np.zeros((5, 2)), np.zeros((5, 3))),
        (np.zeros(5), np.zeros(5)),
    ):
        with pytest.raises(InputError, match="rows"):
            test(x, y, permutations=9, generator=generator())  # type: ignore[operator]


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_many_points_are_drawn_from_and_it_is_told(test: object) -> None:
    x, y = two(300, 50, 2)
    kept = x.copy()
    found = test(x, y, permutations=9, generator=generator(), most=100)  # type: ignore[operator]
    assert found.n == (100, 50)
    again = test(x, y, permutations=9, generator=generator(), most=100)  # type: ignore[operator]
    np.testing.assert_array_equal(found.null, again.null)
    np.testing.assert_array_equal(x, kept)


# ----------------------------------------------------------------------------------------------------------- MMD


def mmd_by_hand(x: Floats, y: Floats, bandwidth: float) -> float:
    """Over all pairs of different points."""
    xx, yy, xy = (np.exp(-cdist(a, b, "sqeuclidean") / (2 * bandwidth**2)) for a, b in ((x, x), (y, y), (x, y)))
    off = [values[~np.eye(len(values), dtype=bool)].mean() for values in (xx, yy)]
    return float(sum(off) - 2 * xy.mean())


@pytest.mark.parametrize("bandwidth", [None, 0.7])
def test_mmd_against_brute_force(bandwidth: float | None) -> None:
    x, y = two(70, 130, 4, 0.2)
    found = mmd_test(x, y, permutations=19, generator=generator(), bandwidth=bandwidth)
    pooled = np.concatenate([x, y])
    expected = np.median(cdist(pooled, pooled)[np.triu_indices(200, 1)]) if bandwidth is None else bandwidth
    assert found.bandwidth == pytest.approx(expected, rel=1e-9)
    assert found.value == pytest.approx(mmd_by_hand(x, y, found.bandwidth), rel=1e-9, abs=1e-12)


def test_the_estimate_is_centred_where_nothing_differs() -> None:
    values = [
        mmd_test(*two(15, 20, 2, seed=seed), permutations=1, generator=generator(), bandwidth=1.5).value
        for seed in range(300)
    ]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(300)
    assert min(values) < 0


def test_the_error_is_the_spread_that_the_estimate_has() -> None:
    found: list[Discrepancy] = []
    for seed in range(100):
        x, y = two(150, 100, 2, seed=seed)
        found.append(mmd_test(x, y + np.array([0.4, 0.0]), permutations=59, generator=generator(seed), bandwidth=1.5))
    assert np.mean([test.error for test in found]) == pytest.approx(np.std([test.value for test in found]), rel=0.2)


def test_points_that_mostly_coincide_still_have_a_bandwidth() -> None:
    x, y = np.zeros((20, 1)), np.zeros((20, 1))
    x[0], y[:2] = 0.25, 0.5
    found = mmd_test(x, y, permutations=19, generator=generator())
    assert found.bandwidth == pytest.approx(0.25)
    assert math.isfinite(found.value)
    nothing = mmd_test(np.zeros((4, 1)), np.zeros((5, 1)), permutations=19, generator=generator())
    assert (nothing.value, nothing.p_value) == (0.0, 1.0)


# ---------------------------------------------------------------------------------------------------------- PRDC


def prdc_by_hand(real: Floats, generated: Floats, k: int) -> PRDC:
    across = cdist(real, generated)
    real_radii, generated_radii = (np.sort(cdist(side, side), axis=1)[:, k] for side in (real, generated))
    slack = 1 + 1e-12  # balls are closed, and distances rounded
    inside = across <= real_radii[:, np.newaxis] * slack
    recall = (across <= generated_radii * slack).any(axis=1).mean()
    return PRDC(
        float(inside.any(axis=0).mean()),
        float(recall),
        inside.sum() / (k * len(generated)),
        float(inside.any(axis=1).mean()),
    )


@pytest.mark.parametrize(("n", "m", "dimensions"), [(7, 6, 1), (150, 300, 4), (260, 90, 32)])
@pytest.mark.parametrize("k", [1, 5])
def test_prdc_against_brute_force(n: int, m: int, dimensions: int, k: int) -> None:
    real, generated = two(n, m, dimensions, 0.3)
    assert prdc(real, generated, k=k) == pytest.approx(prdc_by_hand(real, generated, k), rel=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_identical_bits_are_all_inside_each_others_balls(share: float) -> None:
    """Distances between bits are tied: the fifth neighbour is as far as many others."""
    bits = (generator().random((150, 12)) < share).astype(float)
    found = prdc(bits, bits[generator(1).permutation(150)])
    assert (found.precision, found.recall, found.coverage) == (1.0, 1.0, 1.0)
    assert found == pytest.approx(prdc_by_hand(bits, bits, 5))


@pytest.mark.parametrize("dimensions", [3, 594])
def test_distances_between_integers_are_exact(dimensions: int) -> None:
    points = generator().integers(-3, 4, (40, dimensions)).astype(float)
    brute = ((points[:, np.newaxis] - points) ** 2).sum(-1)
    np.testing.assert_array_equal(squared_distances(points, points), brute)
    np.testing.assert_allclose(squared_distances(points / 7, points / 7), brute / 49, rtol=1e-12, atol=1e-15)


def test_prdc_of_ties_and_copies() -> None:
    grid = generator().integers(0, 4, (200, 2)).astype(float)
    assert prdc(grid[:120], grid[120:]) == pytest.approx(prdc_by_hand(grid[:120], grid[120:], 5))
    points, _ = two(100, 1, 3)
    copied = prdc(points, points.copy())
    assert (copied.precision, copied.recall, copied.coverage) == (1.0, 1.0, 1.0)
    collapsed = prdc(points, np.repeat(points[:1], 50, axis=0))
    assert collapsed.precision == 1.0
    assert collapsed.recall == 0.01  # the sample that is repeated
    assert collapsed.coverage < 0.15
    far = prdc(points, points + 100)
    assert far == PRDC(0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("n", "m", "k"), [(5, 50, 5), (50, 5, 5), (50, 50, 0), (0, 0, 5)])
def test_prdc_needs_more_points_than_neighbours(n: int, m: int, k: int) -> None:
    with pytest.raises(InputError, match=r"nearest neighbours|k must be|two rows"):
        prdc(np.zeros((n, 2)), np.zeros((m, 2)), k=k)


def test_memory_of_neighbourhoods_grows_with_the_points() -> None:
    """Not with the pairs: all squared distances of 3,000 points would take 72 MB."""
    import tracemalloc

    rng = np.random.default_rng(0)
    real, made = (rng.random((3000, 8)) < 0.5 for _ in range(2))
    tracemalloc.start()
    prdc(real.astype(float), made.astype(float))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6
