"""Tests by rearrangement, and the intervals that they leave."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.stats import PairedItems, paired_items, paired_test, rank_sum, unpaired_test
from graphgauge.old.stats.paired import Plan
from graphgauge.old.stats.rearrange import arrangements, shift_test


def welch(a: np.ndarray, b: np.ndarray) -> float:
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return float(a.mean() - b.mean()) / error


@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (4, 6)])
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_unpaired_p_by_enumeration(n: int, m: int, shift: float) -> None:
    """All splits of the runs, and never below Welch's t."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(n * m)
    a, b = rng.normal(shift, 1, n), rng.normal(0, 2, m)
    both = np.concatenate((a, b))
    found = []
    for chosen in itertools.combinations(range(n + m), n):
        rest = [index for index in range(n + m) if index not in chosen]
        found.append(abs(welch(both[list(chosen)], both[rest])))
    share = np.mean(np.array(found) >= abs(welch(a, b)) - 1e-9)
    expected = max(share, ttest_ind(a, b, equal_var=False).pvalue)
    assert unpaired_test(a, b).p_value == pytest.approx(expected)


@pytest.mark.parametrize("n", [6, 8, 11])
def test_paired_interval_by_enumeration(n: int) -> None:
    """A shift is inside if flipping the signs of what is left does not reject it."""
    d = np.random.default_rng(n).normal(0.4, 1, n)
    test = paired_test(d, np.zeros(n), test="mean")
    signs = np.array(list(itertools.product((1, -1), repeat=n)))

    def p(shift: float) -> float:
        sums = np.abs(signs @ (d - shift))
        return float(np.mean(sums >= abs((d - shift).sum()) - 1e-9))

    width = test.ci.high - test.ci.low
    assert test.p_value == pytest.approx(p(0.0))
    for inside in (test.ci.low + 1e-6 * width, test.ci.high - 1e-6 * width):
        assert p(inside) > 0.05
    for outside in (test.ci.low - 1e-6 * width, test.ci.high + 1e-6 * width):
        assert p(outside) <= 0.05


@pytest.mark.parametrize(("n", "m", "datasets"), [(5, 5, 1), (4, 7, 1), (3, 3, 2)])
def test_unpaired_interval_contains_what_is_not_rejected(n: int, m: int, datasets: int) -> None:
    rng = np.random.default_rng(n + m)
    data = [(rng.normal(1, 1, n), rng.normal(0, 1, m)) for _ in range(datasets)]
    arranged = arrangements([(n, m)] * datasets, paired=False, seed=0)
    found = shift_test(data, arranged, 0.05)
    width = found.high - found.low

    def p(shift: float) -> float:
        return shift_test([(a - shift, b) for a, b in data], arranged, 0.05).p_value

    assert p(found.low + 1e-3 * width) > 0.05 >= p(found.low - 1e-3 * width)
    assert p(found.high - 1e-3 * width) > 0.05 >= p(found.high + 1e-3 * width)


@pytest.mark.parametrize("test", ["mean", "ranks"])
@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_contains_zero_exactly_if_the_test_does_not_reject(test: str, paired: bool) -> None:
    """Whatever the sizes, ties, zeros and spreads."""
    rng = np.random.default_rng(5)
    for case in range(150):
        n = int(rng.integers(4, 13))
        m = n if paired else int(rng.integers(4, 9))
        a, b = rng.normal(rng.choice([0, 0.5, 1.0]), rng.choice([1, 3]), n), rng.normal(0, 1, m)
        if case % 3 == 0:
            a, b = np.round(a), np.round(b)
        if case % 5 == 0:
            a, b = np.minimum(a, 0.5), np.minimum(b, 0.5)
        outcome = paired_test(a, b, test=test) if paired else unpaired_test(a, b, test=test)
        if outcome.ci is not None and outcome.ci.method != "t":
            assert (outcome.ci.low <= 0 <= outcome.ci.high) == (outcome.p_value > 0.05), (a, b)


def test_five_runs_of_each_can_reject() -> None:
    first, second = [0.91, 0.93, 0.95, 0.90, 0.92], [0.64, 0.70, 0.66, 0.58, 0.67]
    for test in ("mean", "ranks"):
        found = unpaired_test(first, second, names=("first", "second"), better="higher", test=test)
        assert found.p_value == pytest.approx(2 / math.comb(10, 5))
        assert found.significant
        assert "first is better than second" in found.conclusion
        assert found.effect_size_r == 1
    three = unpaired_test(first[:3], second[:3])
    assert not three.can_reject
    assert "with 3 + 3 runs p cannot fall below 0.1" in three.conclusion
    assert three.seeds_needed == 4


def test_directions_decide_who_leads() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
    for better, leader in (("higher", "b"), ("lower", "a")):
        for found in (
            paired_test(low, [x + 10 * y for x, y in zip(low, (1, 1.1, 1.2, 1, 1, 1), strict=True)], better=better),
            unpaired_test(low, high, better=better),
        ):
            assert found.conclusion.startswith(f"{leader} is better")
            assert (found.effect_size_r > 0) == (leader == "a")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_intervals_move_with_the_scale(scale: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 7), rng.normal(0, 1, 7)
    for paired in (True, False):
        call = paired_test if paired else unpaired_test
        plain, scaled = call(a, b, test="mean"), call(scale * a + scale, scale * b + scale, test="mean")
        assert scaled.p_value == pytest.approx(plain.p_value)
        assert np.array(tuple(scaled.ci)) == pytest.approx(scale * np.array(tuple(plain.ci)), rel=1e-5)


def test_stratified_tests_have_the_size_of_their_strata() -> None:
    """Six pairs in two datasets reject as six in one; different levels of the datasets do not matter."""
    rng = np.random.default_rng(2)
    gaps = [rng.normal(1, 0.1, 3) for _ in range(2)]
    levels = [0.0, 100.0]
    data = [(level + gap, np.full(3, level)) for level, gap in zip(levels, gaps, strict=True)]
    plan = Plan(((3, 3), (3, 3)), paired=True, test="mean", alpha=0.05)
    found = plan.tested(data, names=("a", "b"), better="higher", metric=None, unit="seed")
    assert found.p_value == pytest.approx(2 / 2**6)
    assert found.seeds_needed == 3
    assert found.mean_difference == pytest.approx(np.mean(gaps))


def test_equal_scores_have_nothing_to_test() -> None:
    found = unpaired_test([1.0, 1.0, 1.0], [1.0, 1.0])
    assert (found.p_value, found.ci) == (1.0, None)
    assert "nothing to test" in found.conclusion


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("n", [8, 14, 60])
def test_over_items_test_and_interval_agree(clusters: bool, n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(40):
        x = rng.normal(rng.choice([0.0, 0.3, 0.6]), 1, n).round(rng.integers(0, 3))
        cluster = np.arange(n) // 2 if clusters and n > 8 else None
        found: PairedItems = paired_items(x, cluster=cluster, seed=3, resamples=999)
        if found.ci is not None and found.ci.method != "t":
            assert (found.ci.low <= 0 <= found.ci.high) == (found.p_value > 0.05)
            assert found.ci.low <= found.mean_difference <= found.ci.high


def test_the_interval_over_many_items_is_nearly_students() -> None:
    x = np.random.default_rng(0).normal(0.1, 1, 2000)
    found = paired_items(x, resamples=9999)
    reach = 1.961 * x.std(ddof=1) / math.sqrt(2000)
    assert tuple(found.ci) == pytest.approx((x.mean() - reach, x.mean() + reach), abs=0.03 * reach)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (4, 7)])
@pytest.mark.parametrize("ties", [False, True])
def test_rank_sums_by_enumeration(n: int, m: int, ties: bool) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.7, 1, n), rng.normal(0, 1, m)
    if ties:
        a, b = np.round(a), np.round(b)
    both = np.concatenate((a, b))

    def wins(chosen: tuple[int, ...]) -> float:
        rest = [index for index in range(n + m) if index not in chosen]
        return float(np.sum((np.sign(both[list(chosen)][:, None] - both[rest]) + 1) / 2))

    every = np.array([wins(chosen) for chosen in itertools.combinations(range(n + m), n)])
    own = wins(tuple(range(n)))
    expected = min(1.0, 2 * min(np.mean(every <= own + 1e-9), np.mean(every >= own - 1e-9)))
    found = rank_sum(a, b)
    assert (found.u, found.p_value) == pytest.approx((own, expected))
    assert found.rank_biserial == pytest.approx(2 * own / (n * m) - 1)


@pytest.mark.parametrize(
    ("gap", "spread", "said"),
    [
        (0.0, 0.01, "a and b are equivalent within ±0.05"),
        (0.06, 0.03, "a is not worse than b by more than 0.05"),
        (-0.06, 0.03, "b is not worse than a by more than 0.05"),
        (0.0, 1.0, "neither equivalence nor non-inferiority is shown"),
    ],
)
def test_margins(gap: float, spread: float, said: str) -> None:
    noise = spread * np.array([-1.5, -1.0, -0.5, -0.2, 0.1, 0.3, 0.6, 0.9, 1.3])
    for paired in (True, False):
        call = paired_test if paired else unpaired_test
        found = call(gap + noise, np.zeros(9) if paired else np.roll(noise, 1), better="higher", margin=0.05)
        assert said in found.equivalence
        assert found.margin.ci.level == pytest.approx(0.9)
        assert found.equivalence in found.summary
        assert found.to_dict()["margin"]["conclusion"] == found.equivalence


def test_margins_follow_the_direction() -> None:
    noise = 0.03 * np.array([-1.5, -1.0, -0.5, -0.2, 0.1, 0.3, 0.6, 0.9, 1.3])
    assert "b is not worse than a" in paired_test(0.06 + noise, np.zeros(9), better="lower", margin=0.05).equivalence
    with pytest.raises(OptionError, match="margin must be a positive number"):
        paired_test([1.0], [2.0], margin=-1.0)


def test_what_cannot_be_tested() -> None:
    with pytest.raises(InputError, match="1 of 2 scores is NaN"):
        unpaired_test([1.0, math.nan], [1.0])
    with pytest.raises(InputError, match="expected a row of scores"):
        unpaired_test([], [1.0])


@pytest.mark.parametrize("test", ["mean", "ranks"])
@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_the_margin_is_inside_that_of_the_test(test: Any, paired: bool) -> None:
    rng = np.random.default_rng(3)
    ask = paired_test if paired else unpaired_test
    for n in (3, 4, 5, 6, 8):
        for alpha in (0.01, 0.05, 0.1):
            for _ in range(4):
                scores = np.round(rng.normal(0, 1, (2, n)), int(rng.integers(0, 3)))
                found = ask(*scores, test=test, alpha=alpha, margin=0.5)
                if found.ci is not None:
                    assert found.margin is not None
                    assert found.margin.ci is not None
                    assert found.ci.low <= found.margin.ci.low <= found.margin.ci.high <= found.ci.high
                    assert ("of Student's t" in found.equivalence) == (found.ci.method == "t")


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("strata", [1, 2])
def test_p_is_never_below_that_of_the_rarest_rearrangement(paired: bool, strata: int) -> None:
    n = 20 // strata
    ahead = [(np.linspace(1, 1.001, n), np.linspace(0, 0.001, n)[::-1]) for _ in range(strata)]
    plan = Plan(((n, n),) * strata, paired, "mean", 0.05)
    found = plan.tested(ahead, names=("a", "b"), better="higher", metric=None, unit="run")
    rarest = 2.0 ** (1 - 20) if paired else 2 / math.comb(2 * n, n) ** strata
    assert found.p_value == pytest.approx(rarest, rel=1e-9)
    assert found.p_min_attainable == pytest.approx(rarest, rel=1e-9)


def test_one_independent_run_on_each_dataset_is_a_pair() -> None:
    rng = np.random.default_rng(8)
    scores = [(rng.normal(0.5, 1, 1), rng.normal(0, 1, 1)) for _ in range(10)]
    sizes = ((1, 1),) * 10
    apart, together = (
        Plan(sizes, paired, "mean", 0.05).tested(scores, names=("a", "b"), better="higher", metric=None, unit="run")
        for paired in (False, True)
    )
    assert apart.p_value == together.p_value
    assert apart.ci is not None
    assert together.ci is not None
    assert (apart.ci.low, apart.ci.high) == pytest.approx((together.ci.low, together.ci.high))


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_over_items_the_interval_of_the_margin_is_inside_that_of_the_test(clusters: bool, confidence: float) -> None:
    rng = np.random.default_rng(6)
    for units in (4, 5, 6, 8, 12, 30):
        for _ in range(5):
            differences = np.round(rng.normal(0.3, 1, 3 * units), int(rng.integers(0, 3)))
            cluster = np.repeat(np.arange(units), 3) if clusters else None
            found = paired_items(differences[: None if clusters else units], cluster=cluster, confidence=confidence)
            if found.ci is not None:
                assert found.margin_ci is not None
                assert found.ci.low <= found.margin_ci.low + 1e-12
                assert found.margin_ci.high - 1e-12 <= found.ci.high
                if found.ci.method != "t":
                    assert (found.ci.low <= 0 <= found.ci.high) == (found.p_value > round(1 - confidence, 12))
