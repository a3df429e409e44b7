"""Options that all families have: what is taken, and what is said of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.options import confidence_level, metric_names, nan_policy, whole_number


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_become_plain(value):
    assert type(whole_number("seed", value)) is int
    assert whole_number("seed", value) == 3


@pytest.mark.parametrize("value", [True, 1.0, np.float64(2), "3", None, -1, [1], np.array([1])])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(OptionError, match="seed must be a whole number of at least 0"):
        whole_number("seed", value)


def test_the_span_of_a_whole_number_is_said():
    assert whole_number("bins", 5, 1, 5) == 5
    with pytest.raises(OptionError, match="bins must be a whole number from 1 to 1,000, not 2000"):
        whole_number("bins", 2000, 1, 1000)


@pytest.mark.parametrize("value", ["a", None, 0, 1, 95, np.nan, -0.5, True, [0.95]])
def test_a_confidence_lies_between_0_and_1(value):
    with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
        confidence_level(value)


def test_what_is_right_is_left_as_it_is():
    assert confidence_level(np.float32(0.5)) == 0.5
    assert nan_policy("omit") == "omit"


@pytest.mark.parametrize("value", [None, ["raise"], "drop"])
def test_unknown_nan_policies_are_named(value):
    with pytest.raises(UnknownNameError, match="unknown nan"):
        nan_policy(value)


@pytest.mark.parametrize(
    ("given", "names"),
    [(None, None), ("mrr", ["mrr"]), (("mrr", "hits"), ["mrr", "hits"]), (np.array(["mrr"]), ["mrr"])],
)
def test_metrics_are_named_alone_or_together(given, names):
    assert metric_names(given) == names


@pytest.mark.parametrize("value", [5, [5], [None], ["mrr", 5]])
def test_metrics_have_names(value):
    with pytest.raises(OptionError, match="metrics must be names"):
        metric_names(value)


def test_no_metric_at_all_is_no_evaluation():
    with pytest.raises(OptionError, match="no metrics asked for"):
        metric_names([])
