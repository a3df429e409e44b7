from __future__ import annotations

import math

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.temporal import cohesiveness, cohesiveness_prefixes


def by_definition(src, dst, time, delta_t=None, pairs="all"):
    times = [int(t) if isinstance(t, (int, np.integer)) else float(t) for t in time]
    m = len(times)
    delta_t = max(times, default=0) - min(times, default=0) if delta_t is None else delta_t
    if m < 2 or delta_t == 0:
        return math.nan
    terms = [
        math.cos(abs(times[i] - times[j]) / delta_t)
        for i in range(m)
        for j in range(m)
        if i != j and {src[i], dst[i]} & {src[j], dst[j]}
    ]
    number = m * m - m if pairs == "all" else len(terms)
    return math.fsum(terms) / number if number else math.nan


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("seed", range(25))
def test_equal_to_the_double_loop_on_multigraphs(seed, pairs):
    draw = np.random.default_rng(seed)
    m, nodes = draw.integers(0, 40), draw.integers(1, 10)
    src, dst = draw.integers(0, nodes, (2, m))
    for time in (draw.random(m), draw.integers(0, 4, m), 10**18 + draw.integers(0, 10**6, m)):
        for delta_t in (None, 0.7, 1e6):
            expected = by_definition(src, dst, time, delta_t, pairs)
            assert cohesiveness(src, dst, time, delta_t=delta_t, pairs=pairs) == pytest.approx(
                expected, rel=0, abs=1e-9 if delta_t == 0.7 else 1e-14, nan_ok=True
            )


def test_every_prefix_has_the_scale_of_the_whole():
    draw = np.random.default_rng(3)
    src, dst, time = draw.integers(0, 6, 30), draw.integers(0, 6, 30), draw.random(30)
    found = cohesiveness_prefixes(src, dst, time)
    for k, value in enumerate(found, 1):
        expected = by_definition(src[:k], dst[:k], time[:k], np.ptp(time))
        assert value == pytest.approx(expected, abs=1e-14, nan_ok=True)
    assert found[-1] == cohesiveness(src, dst, time)


def test_counted_by_hand():
    """Two edges that meet and one apart: two of six ordered pairs, half the range from each other."""
    assert cohesiveness([0, 1, 3], [1, 2, 4], [0, 5, 10]) == pytest.approx(2 / 6 * math.cos(0.5), abs=1e-15)
    assert cohesiveness([0, 1, 3], [1, 2, 4], [0, 5, 10], pairs="adjacent") == pytest.approx(math.cos(0.5), abs=1e-15)


def test_a_loop_touches_its_node_once_and_parallel_edges_each_other_once():
    assert cohesiveness([0, 0], [0, 1], [0, 1], delta_t=np.inf) == 1
    assert cohesiveness([0, 1, 0], [1, 0, 1], [0, 1, 2], delta_t=np.inf) == 1
    assert cohesiveness([0, 0, 0], [0, 0, 0], [0, 1, 2], delta_t=np.inf) == 1


def test_disjoint_edges_add_exactly_nothing():
    m = 100_000
    found = cohesiveness_prefixes(2 * np.arange(m), 2 * np.arange(m) + 1, np.random.default_rng(0).random(m))
    assert not found[1:].any()


def test_one_hub_of_many_edges_keeps_its_digits():
    """Every pair touches: the sum is |Σ e^{iφ}|² − m, here up to 4·10¹⁰."""
    m = 200_000
    time = np.random.default_rng(1).random(m)
    expected = math.fsum(np.cos(time)) ** 2 + math.fsum(np.sin(time)) ** 2 - m
    found = cohesiveness(np.zeros(m, np.int64), np.arange(1, m + 1), time, delta_t=1)
    assert found * m * (m - 1) == pytest.approx(expected, rel=1e-12)


def test_nothing_to_measure_is_nan():
    assert math.isnan(cohesiveness([], [], []))
    assert math.isnan(cohesiveness([0], [1], [5]))
    assert math.isnan(cohesiveness([0, 1], [1, 2], [5, 5]))
    assert math.isnan(cohesiveness([0, 1], [1, 2], [5, 6], delta_t=0))
    assert math.isnan(cohesiveness([0, 2], [1, 3], [5, 6], pairs="adjacent"))
    assert cohesiveness([0, 2], [1, 3], [5, 6]) == 0


@pytest.mark.parametrize(
    ("time", "shifted"),
    [
        (np.array([2**62 + 1, 2**62 + 3, 2**62 + 2]), [0, 2, 1]),
        (np.array([-(2**63), 2**63 - 1, 0]), [0, 2**64 - 1, 2**63]),
        (np.array([2**64 - 3, 2**64 - 1, 2**64 - 2], np.uint64), [0, 2, 1]),
        (np.array([-128, 127, 0], np.int8), [0, 255, 128]),
        (np.array([1, 3, 2], np.float16), [0, 2, 1]),
    ],
)
def test_times_are_shifted_in_their_own_type(time, shifted):
    src, dst = [0, 1, 2], [1, 2, 0]
    assert cohesiveness(src, dst, time) == pytest.approx(by_definition(src, dst, shifted), abs=1e-15)


def test_nodes_by_any_name_in_any_order_and_neither_changed():
    draw = np.random.default_rng(5)
    src, dst, time = draw.integers(0, 8, 50), draw.integers(0, 8, 50), draw.random(50)
    kept = [src.copy(), dst.copy(), time.copy()]
    expected = cohesiveness(src, dst, time)
    names = np.array(list("abcdefgh"))
    order = draw.permutation(50)
    far = np.array([-(2**63), 2**63 - 1, 5, 7, 0, -1, 99, 12])
    assert cohesiveness(names[src], names[dst], time) == expected
    assert cohesiveness(far[src], far[dst], time) == expected
    assert cohesiveness((src - 4).astype(np.int8) * 30, (dst - 4).astype(np.int8) * 30, time) == expected
    assert cohesiveness(dst, src, time) == expected
    assert cohesiveness(src[order], dst[order], time[order]) == pytest.approx(expected, rel=1e-13)
    doubled = np.repeat(np.stack([src, dst]), 2, axis=1)[:, ::2]
    assert cohesiveness(doubled[0], doubled[1], np.repeat(time, 2)[::2]) == expected
    for array, before in zip((src, dst, time), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [1, 2], [0.0, np.nan]), {}, "time: 1 of 2 values are NaN, the first at index 1"),
        (([0, 1], [1, 2], [0.0, np.inf]), {}, "finite"),
        (([0, 1], [1, 2], [-1.7e308, 1.7e308]), {}, "finite"),
        (([0, 1], [1, 2], [0.0]), {}, "one time per edge"),
        (([0, 1], [1], [0, 1]), {}, "dst"),
        (([0.5, 1], [1, 2], [0, 1]), {}, "src"),
        (([0, 1], [1, 2], ["a", "b"]), {}, "expected numbers"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        cohesiveness(*arguments, **options)


def test_bad_options_are_named():
    for delta_t in (-1, math.nan, 1e-300, 5e-324, "a", [1], np.array([1, 2])):
        with pytest.raises(OptionError, match="delta_t"):
            cohesiveness([0, 1], [1, 2], [0, 1], delta_t=delta_t)
    with pytest.raises(OptionError, match="adjacent"):
        cohesiveness([0, 1], [1, 2], [0, 1], pairs="adjacents")
