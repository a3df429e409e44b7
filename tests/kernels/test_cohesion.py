from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgauge.kernels.cohesion import touching_pairs

EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(-20, 20)), max_size=25)


def double_loop(edges: list[tuple[int, int, float]]) -> tuple[float, int]:
    terms = [
        math.cos(abs(a[2] - b[2]))
        for i, a in enumerate(edges)
        for j, b in enumerate(edges)
        if i != j and {a[0], a[1]} & {b[0], b[1]}
    ]
    return math.fsum(terms), len(terms)


@pytest.mark.hypothesis
def test_every_prefix_is_the_double_loop() -> None:
    @given(EDGES)
    @settings(max_examples=60)
    def check(edges: list[tuple[int, int, float]]) -> None:
        columns = np.array(edges).reshape(-1, 3)
        sums, counts = touching_pairs(*columns[:, :2].astype(np.int64).T, columns[:, 2])
        for last in range(len(edges)):
            total, number = double_loop(edges[: last + 1])
            assert counts[last] == number
            assert sums[last] == pytest.approx(total, abs=1e-11)

    check()


def test_disjoint_edges_add_exactly_nothing() -> None:
    m = 100_000
    phase = np.random.default_rng(0).random(m)
    sums, counts = touching_pairs(2 * np.arange(m), 2 * np.arange(m) + 1, phase)
    assert not sums.any()
    assert not counts.any()


def test_one_hub_of_many_edges_keeps_its_digits() -> None:
    """Every pair touches: the sum is |Σ e^{iφ}|² − m, here up to 4·10¹⁰."""
    m = 200_000
    phase = np.random.default_rng(1).random(m)
    sums, counts = touching_pairs(np.zeros(m, np.int64), np.arange(1, m + 1), phase)
    expected = math.fsum(np.cos(phase)) ** 2 + math.fsum(np.sin(phase)) ** 2 - m
    assert counts[-1] == m * (m - 1)
    assert sums[-1] == pytest.approx(expected, rel=1e-12)
