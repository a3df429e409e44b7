"""Tails and quantiles against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from graphgauge import _core

ZS = [*np.linspace(-37, 37, 297).tolist(), *np.linspace(-3, 3, 61).tolist()]
FREEDOMS = [0.3, 1, 1.5, 2, 3, 4, 4.7, 10, 30, 99.5, 1000, 1e6]
TAILS = [1e-300, 1e-30, 1e-9, 1e-4, 0.01, 0.025, 0.1, 0.3, 0.49, 0.5, 0.51, 0.8, 0.975, 0.999, 1 - 1e-9]


def test_normal_tails():
    np.testing.assert_allclose([_core.normal_tail(z) for z in ZS], special.ndtr(-np.array(ZS)), rtol=1e-12)


def test_normal_quantiles():
    expected = -special.ndtri(np.array(TAILS))
    np.testing.assert_allclose([_core.normal_quantile(tail) for tail in TAILS], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_tails(freedom):
    points = [-1e3, -30, -4, -1, -1e-3, 0, 1e-3, 0.2, 1, 2.5, 7, 40, 1e3]
    found = [_core.student_tail(t, freedom) for t in points]
    np.testing.assert_allclose(found, stats.t.sf(points, freedom), rtol=1e-10)


def test_near_zero_nothing_is_lost():
    assert _core.student_tail(1e-9, 1) == pytest.approx(0.5 - 1e-9 / math.pi, rel=1e-15)
    assert 0 < _core.normal_tail(38.2) < 1e-310


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_quantiles_are_those_of_their_tails(freedom):
    tails = [tail for tail in TAILS if tail > 1e-30]
    for tail in tails:
        quantile = _core.student_quantile(tail, freedom)
        assert _core.student_tail(quantile, freedom) == pytest.approx(tail, rel=1e-9)
        assert _core.student_quantile(1 - tail, freedom) == pytest.approx(-quantile, rel=1e-6, abs=1e-9)


def test_ends_and_no_numbers():
    assert (_core.normal_tail(math.inf), _core.normal_tail(-math.inf), _core.normal_tail(0.0)) == (0, 1, 0.5)
    assert (_core.normal_quantile(0.0), _core.normal_quantile(1.0)) == (math.inf, -math.inf)
    assert (_core.student_tail(math.inf, 3), _core.student_tail(-math.inf, 3), _core.student_tail(-0.0, 3)) == (
        0,
        1,
        0.5,
    )
    assert (_core.student_quantile(0.0, 3), _core.student_quantile(1.0, 3)) == (math.inf, -math.inf)
    for wrong in (-0.1, 1.1, math.nan):
        assert math.isnan(_core.normal_quantile(wrong))
        assert math.isnan(_core.student_quantile(wrong, 3))
    assert math.isnan(_core.normal_tail(math.nan))
    assert math.isnan(_core.student_tail(math.nan, 3))
