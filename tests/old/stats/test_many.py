"""Holm, Friedman and Nemenyi against published numbers and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.stats import critical_difference, friedman, holm, mean_ranks, paired_test
from graphgauge.old.stats.many import studentized_range


def test_holm_by_hand() -> None:
    # Sorted .005, .01, .03, .04: times 4, 3, 2, 1 gives .02, .03, .06, .04; the last may not fall below .06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


# Demšar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 UCI data sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_demsar_2006() -> None:
    """The worked example of the paper: mean ranks, and the critical differences 1.25 and 1.12.

    Two scores of one row are equal in three digits but ranked 2 and 3 in print, which moves two means by 1/28.
    """
    printed, tie = np.array([3.143, 2.000, 2.893, 1.964]), np.array([0, 0, 1, -1]) / 28
    assert mean_ranks(DEMSAR) == pytest.approx(printed + tie, abs=5e-4)
    assert critical_difference(4, 14, alpha=0.05) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=5e-3)


# Demšar (2006), Table 5(a), divided by √2 already.
@pytest.mark.parametrize(
    ("methods", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_studentized_range(methods: int, q: float) -> None:
    assert studentized_range(methods, 0.05) / np.sqrt(2) == pytest.approx(q, abs=1.1e-3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 4), (3, 4)])
@pytest.mark.parametrize("ties", [False, True])
def test_exact_friedman_by_enumeration(shape: tuple[int, int], ties: bool) -> None:
    rng = np.random.default_rng(sum(shape))
    scores = rng.integers(0, 3, shape).astype(float) if ties else rng.normal(size=shape)
    ranks = np.array([[np.sum(row > x) + (np.sum(row == x) + 1) / 2 for x in row] for row in scores])
    observed = np.sum(ranks.sum(axis=0) ** 2)
    reached = [
        np.sum(np.sum(rows, axis=0) ** 2) >= observed - 1e-9
        for rows in itertools.product(*(list(itertools.permutations(row)) for row in ranks))
    ]
    test = friedman(scores)
    assert test.exact
    assert test.p_value == pytest.approx(np.mean(reached))


def test_friedman_of_equal_methods() -> None:
    test = friedman(np.ones((5, 3)))
    assert (test.statistic, test.p_value) == (0.0, 1.0)


def test_friedman_needs_a_matrix() -> None:
    with pytest.raises(InputError, match="at least two methods"):
        friedman([[1.0], [2.0]])
    with pytest.raises(InputError, match="NaN"):
        friedman([[1.0, np.nan], [2.0, 1.0]])


@pytest.mark.parametrize(("methods", "seeds"), [(3, 8), (4, 10)])
def test_family_wise_error_under_the_null(methods: int, seeds: int) -> None:
    """All pairs by Wilcoxon with Holm: some rejection in at most 5 % of experiments without any effect."""
    rng = np.random.default_rng(7)
    rejected = 0
    for _ in range(400):
        scores = rng.normal(size=(methods, seeds)) + rng.normal(size=seeds)
        p = [paired_test(a, b).p_value for a, b in itertools.combinations(scores, 2)]
        rejected += bool((holm(p) <= 0.05).any())
    assert rejected / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("bad", [[0.1, np.nan], [1.5], [-0.1], [[0.1, 0.2]], 0.05, "p", ["p"]])
def test_holm_takes_probabilities(bad: object) -> None:
    with pytest.raises(InputError, match="p_values"):
        holm(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["scores", [["a", "b"]], [[1.0], [1.0, 2.0]], None])
def test_scores_are_a_matrix_of_numbers(bad: object) -> None:
    for function in (friedman, mean_ranks):
        with pytest.raises(InputError, match="scores"):
            function(bad)  # type: ignore[operator]


@pytest.mark.parametrize("design", [(1, 5), (3, 0), ("3", 5), (2.5, 5)])
def test_designs_are_counted(design: tuple[int, int]) -> None:
    with pytest.raises(OptionError, match="must be a whole number of at least"):
        critical_difference(*design)
