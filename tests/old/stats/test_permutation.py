"""Sign flips over items: against enumeration, the normal limit, and under the null."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from statistics import NormalDist

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.stats import paired_items
from graphgauge.old.stats.permutation import _flipped_sums


def enumerated(sums: np.ndarray) -> float:
    flips = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(sums))
    ]
    return float(np.mean(np.array(flips) >= abs(sums.sum()) - 1e-9))


@pytest.mark.parametrize("seed", range(8))
def test_few_items_are_counted_exactly(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-4, 6, 9) / 10
    test = paired_items(differences)
    assert test.p_value == pytest.approx(enumerated(differences))
    assert test.p_error == 0


def test_clusters_flip_together() -> None:
    rng = np.random.default_rng(3)
    differences, cluster = rng.normal(0.3, 1, 40), np.repeat(np.arange(10), 4) * 7
    test = paired_items(differences, cluster=cluster)
    assert test.p_value == pytest.approx(enumerated(differences.reshape(10, 4).sum(axis=1)))
    assert (test.n, test.units, test.unit) == (40, 10, "clusters")


@pytest.mark.parametrize("distinct", [True, False])
def test_sums_have_the_right_spread(distinct: bool) -> None:
    """Random signs: mean 0, variance Σd², fourth moment 3(Σd²)² − 2Σd⁴, whichever way they are drawn."""
    rng = np.random.default_rng(0)
    sizes = rng.exponential(size=1001) if distinct else np.repeat([1.0, 0.5, 1 / 3], [400, 300, 301])
    sums = _flipped_sums(sizes, 20_000, rng)
    variance = np.sum(sizes**2)
    assert np.mean(sums) == pytest.approx(0, abs=4 * math.sqrt(variance / 20_000))
    assert np.var(sums) == pytest.approx(variance, rel=0.05)
    assert np.mean(sums**4) == pytest.approx(3 * variance**2 - 2 * np.sum(sizes**4), rel=0.12)


def test_many_items_agree_with_the_normal_limit() -> None:
    differences = np.random.default_rng(5).normal(0.03, 1, 5000)
    test = paired_items(differences, seed=1)
    z = abs(differences.sum()) / math.sqrt(np.sum(differences**2))
    assert test.p_value == pytest.approx(2 * NormalDist().cdf(-z), abs=4 * test.p_error)


def test_error_rate_under_the_null() -> None:
    rng = np.random.default_rng(11)
    p = [paired_items(rng.choice([-0.5, -0.1, 0, 0.1, 0.5], 60), seed=rng, resamples=199).p_value for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)


def test_seeded() -> None:
    differences = np.random.default_rng(5).normal(0.2, 1, 50)
    assert paired_items(differences, seed=1) == paired_items(differences, seed=1)
    assert paired_items(differences, seed=1).p_value != paired_items(differences, seed=2).p_value


def test_memory_does_not_grow_with_resamples_times_items() -> None:
    differences = np.random.default_rng(5).normal(0.2, 1, 20_000)
    tracemalloc.start()
    paired_items(differences, resamples=5000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6 < 20_000 * 5000


def test_it_reads_as_a_sentence() -> None:
    text = str(paired_items([1.0, 0.0, -0.5, 2.0]))
    assert "over 4 items (2 higher, 1 equal, 1 lower)" in text
    assert "by all sign flips" in text
    assert "in 2 clusters" in str(paired_items([1.0, 0.0, -0.5, 2.0], cluster=np.array([0, 0, 1, 1])))


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least two"):
        paired_items([1.0])
    with pytest.raises(InputError, match="index 1"):
        paired_items([1.0, math.nan])
    with pytest.raises(InputError, match="labels"):
        paired_items([1.0, 2.0], cluster=np.array([1]))
    with pytest.raises(OptionError, match="resamples"):
        paired_items([1.0, 2.0], resamples=0)
    for bad in ("x", ["a", "b"], [[1.0], [1.0, 2.0]], None):
        with pytest.raises(InputError, match="items"):
            paired_items(bad)  # type: ignore[arg-type]
    for resamples in (1.5, "many", True):
        with pytest.raises(OptionError, match="resamples must be a whole number"):
            paired_items([1.0, 2.0], resamples=resamples)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cluster"):
        paired_items([1.0, 2.0], cluster=[0.5, 1.5])


def test_clusters_may_have_names() -> None:
    differences = [1.0, 0.5, -0.5, 2.0]
    named = paired_items(differences, cluster=["x", "x", "y", "z"])
    assert named == paired_items(differences, cluster=np.array([4, 4, 7, 9]))
