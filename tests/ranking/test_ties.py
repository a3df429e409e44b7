"""The closed forms of tie rules, to the last bits, up to a thousand million candidates."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from graphgauge.ranking import ties

GREATER = [0, 1, 2, 5, 30, 31, 32, 33, 100, 10**4, 10**6, 10**9]
EQUAL = [1, 2, 3, 9, 31, 32, 33, 64, 1000, 10**6, 10**9]
# Where a long double has no spare digits, sums of the first terms lose two of a double's.
PRECISION = 1e-15 if np.finfo(np.longdouble).eps < 1e-18 else 2e-14
CASES = [(greater, equal) for greater in GREATER for equal in EQUAL]


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.fixture(autouse=True)
def _many_digits() -> object:
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize(("greater", "equal"), CASES)
def test_expected_reciprocal_rank(greater: int, equal: int) -> None:
    exact = (mpmath.harmonic(greater + equal + 1) - mpmath.harmonic(greater)) / (equal + 1)
    found = ties.reciprocal(ints(greater), ints(equal), "expected")[0]
    assert found == pytest.approx(float(exact), rel=PRECISION, abs=0)


@pytest.mark.parametrize(("greater", "equal"), CASES)
def test_expected_log_rank(greater: int, equal: int) -> None:
    exact = (mpmath.loggamma(greater + equal + 2) - mpmath.loggamma(greater + 1)) / (equal + 1)
    found = ties.log(ints(greater), ints(equal), "expected")[0]
    assert found == pytest.approx(float(exact), rel=PRECISION, abs=0)


@pytest.mark.parametrize("greater", GREATER)
def test_without_ties_all_rules_have_the_same_bits(greater: int) -> None:
    g, none = ints(greater), ints(0)
    for rule in ties.TIES:
        assert ties.rank(g, none, rule)[0] == greater + 1
        assert ties.reciprocal(g, none, rule)[0] == 1 / (greater + 1)
        assert ties.log(g, none, rule)[0] == np.log(greater + 1.0)
        assert ties.within(g, none, rule, 10)[0] == float(greater < 10)
        expected = 1 / np.log2(greater + 2.0) if greater < 100 else 0.0
        assert ties.discount(g, none, rule, 100)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("greater", "equal", "k"), [(0, 9, 10), (0, 9, 3), (2, 3, 4), (5, 5, 5), (5, 5, 6), (40, 60, 70)]
)
def test_expected_discount(greater: int, equal: int, k: int) -> None:
    places = range(greater + 1, greater + equal + 2)
    exact = math.fsum(1 / math.log2(1 + place) for place in places if place <= k) / len(places)
    assert ties.discount(ints(greater), ints(equal), "expected", k)[0] == pytest.approx(exact, rel=1e-14)


def test_huge_cut_offs_cost_no_memory() -> None:
    assert ties.discount(ints(3), ints(0), "expected", 10**15)[0] == pytest.approx(1 / math.log2(5))
