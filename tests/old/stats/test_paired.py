"""What is said about two methods, and what must not be said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.stats import attainable_p, paired_test, seeds_needed
from graphgauge.old.stats.text import p_text

A = [0.91, 0.93, 0.95, 0.90, 0.91, 0.92]
B = [0.64, 0.70, 0.66, 0.58, 0.67, 0.65]


def test_five_seeds_cannot_reject_and_say_so() -> None:
    test = paired_test(A[:5], B[:5], names=("first", "second"), better="higher")
    assert test.p_value == test.p_min_attainable == 2 / 2**5
    assert not test.can_reject
    assert not test.significant
    assert test.seeds_needed == 6
    assert "cannot reject" in test.conclusion
    assert "at least 6 seeds" in test.conclusion
    assert "no difference" not in test.summary


def test_six_seeds_can() -> None:
    test = paired_test(A, B, names=("first", "second"), better="higher")
    assert (test.p_value, test.significant) == (2 / 2**6, True)
    assert "first is better than second" in test.conclusion
    assert "second is better" in paired_test(A, B, names=("first", "second"), better="lower").conclusion
    assert "first scores higher" in paired_test(A, B, names=("first", "second")).conclusion


def test_estimates_are_those_of_the_differences() -> None:
    test = paired_test([5.0, 7.0, 9.0], [4.0, 5.0, 8.0])  # differences 1, 2, 1
    assert test.mean_difference == pytest.approx(4 / 3)
    margin = 4.302653 * math.sqrt(1 / 3) / math.sqrt(3)  # Student's t at 2 df
    assert tuple(test.ci) == pytest.approx((4 / 3 - margin, 4 / 3 + margin), abs=1e-6)
    assert test.stds == pytest.approx((2.0, math.sqrt(13 / 3)))
    assert test.effect_size_r == 1.0


def test_equal_differences_have_no_interval() -> None:
    """.3 − .2 is not .2 − .1 in its last bits."""
    for a, b in (([0.2, 0.3, 0.4], [0.1, 0.2, 0.3]), ([1.2, 1.3, 1.7], [1.1, 1.2, 1.6]), ([3.0, 4.0], [1.0, 2.0])):
        test = paired_test(a, b)
        assert test.ci is None
        assert "in every pair, so there is no spread for an interval" in test.summary
        assert "excludes 0" not in test.summary


def test_what_cannot_reject_is_the_test() -> None:
    """Five against five unpaired runs could: the exact Mann-Whitney test reaches 2/252."""
    assert paired_test(A[:5], B[:5]).conclusion.startswith("the paired signed-rank test cannot reject: with 5")


def test_the_effect_is_positive_where_the_first_is_better() -> None:
    assert paired_test(A, B, better="higher").effect_size_r == paired_test(B, A, better="lower").effect_size_r == 1
    assert paired_test(A, B, better="lower").effect_size_r == paired_test(B, A, better="higher").effect_size_r == -1


def test_mappings_pair_by_seed_in_any_order() -> None:
    rng = np.random.default_rng(3)
    first, second = ({seed: float(rng.normal()) for seed in [*range(11), "x"]} for _ in range(2))
    whole = paired_test(first, second)
    for _ in range(3):
        order = [list(first)[index] for index in rng.permutation(12)]
        assert paired_test({seed: first[seed] for seed in order}, second) == whole


def test_swapping_the_methods_turns_every_sign() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 9))
    one, other = paired_test(a, b), paired_test(b, a)
    assert one.p_value == other.p_value
    assert one.effect_size_r == -other.effect_size_r
    assert one.mean_difference == -other.mean_difference
    assert tuple(one.ci) == pytest.approx((-other.ci.high, -other.ci.low))


def test_correction_counts_against_the_design() -> None:
    alone = paired_test(A, B)
    among = alone.among(3, 3 * alone.p_value)
    assert alone.can_reject
    assert not among.can_reject
    assert among.seeds_needed == 7
    assert "over 3 tests" in among.summary


def test_not_distinguished_is_not_equal() -> None:
    test = paired_test([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 6, 5, 8])
    assert test.can_reject
    assert not test.significant
    assert "does not show that they are equal" in test.conclusion


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1.0], [2.0], "one pair has no interval"),
        ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], "in every pair"),
        ([0.2, 0.3, 0.4], [0.1, 0.2, 0.3], "in every pair"),
        ([1.0, 2.0], [1.0, 2.0], "nothing to test"),
        ([1.0, 2.0, 5.0], [1.0, 2.0, 4.0], "2 equal pairs dropped"),
    ],
)
def test_degenerate_pairs_get_an_answer(a: list[float], b: list[float], said: str) -> None:
    assert said in paired_test(a, b).summary


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("n", [2, 3, 5, 12])
@pytest.mark.parametrize("gap", [0.1, 1.0, 1 / 3])
def test_a_constant_difference_has_no_interval(n: int, gap: float, size: float) -> None:
    """Whether or not the differences come out with the same bits."""
    second = np.arange(1, n + 1) * 0.1 * size
    test = paired_test(second + gap * size, second)
    assert test.ci is None
    assert "in every pair" in test.no_interval
    assert "excludes 0" not in test.summary
    assert test.to_dict()["ci"] is None
    assert test.to_dict()["no_interval"] == test.no_interval


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, math.nan], [1.0, 2.0], "1 of 2 scores is NaN or infinite, the first at index 1"),
        ([1.0, 2.0], [1.0], "pair by position"),
        ([], [], "equally many scores"),
        (["x"], ["y"], "expected numbers"),
        ({0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0}, "seeds without a partner: 1, 2"),
        ({0: 1.0}, [1.0], "two arrays or two mappings"),
    ],
)
def test_what_cannot_be_paired(a: object, b: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paired_test(a, b)  # type: ignore[arg-type]


def test_mappings_pair_by_seed() -> None:
    by_seed = paired_test({1: 5.0, 0: 3.0, 2: 9.0}, {0: 2.0, 1: 1.0, 2: 3.0})
    assert by_seed.mean_difference == pytest.approx(np.mean([3 - 2, 5 - 1, 9 - 3]))


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="alpha"):
        paired_test(A, B, alpha=5)
    with pytest.raises(UnknownNameError, match="direction"):
        paired_test(A, B, better="highest")  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [1, 3, 6, 10, 45])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_seeds_needed_is_the_first_that_can_reject(m: int, alpha: float) -> None:
    n = seeds_needed(m, alpha)
    assert attainable_p(n) * m <= alpha < attainable_p(n - 1) * m


def test_attainable_p_is_attained() -> None:
    for n in range(1, 12):
        assert paired_test(np.arange(1.0, n + 1), np.zeros(n)).p_value == pytest.approx(attainable_p(n))


@pytest.mark.parametrize("alpha", ["a", None, 0, 1, math.nan])
def test_alpha_is_a_share(alpha: object) -> None:
    for call in (lambda: paired_test(A, B, alpha=alpha), lambda: seeds_needed(1, alpha)):  # type: ignore[arg-type]
        with pytest.raises(OptionError, match=r"alpha must be between 0 and 1, not .*Use 0\.05 for a 5 % test"):
            call()


@pytest.mark.parametrize("names", ["ab", ("a",), ("a", "b", "c")])
def test_names_are_two(names: object) -> None:
    with pytest.raises(OptionError, match="names must be those of the two methods"):
        paired_test(A, B, names=names)  # type: ignore[arg-type]


def test_numbers_too_small_to_round_are_left_as_they_are() -> None:
    assert paired_test([1e-320, 2e-320], [0.0, 0.0]).n == 2


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.99996, "p = 1"),
        (1.0, "p = 1"),
        (0.5, "p = 0.5"),
        (0.00012, "p = 0.0001"),
        (0.00009, "p < 0.0001"),
        (0.3004, "p = 0.3004"),
    ],
)
def test_p_is_written_to_four_places(p: float, said: str) -> None:
    assert p_text(p) == said
