"""Many methods: a table of them is made, comparisons of all pairs are refused before they begin."""

from __future__ import annotations

import time

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.stats import aggregate, compare, load
from graphgauge.old.stats.many import MOST_PAIRS, method_pairs

FEW = "3 methods have 3 pairs, more than 2"


def runs_of(methods, seeds):
    draw = np.random.default_rng(0)
    return [{"method": f"m{m}", "seed": s, "f1": draw.normal()} for m in range(methods) for s in range(seeds)]


def test_all_pairs_of_a_thousand_methods_are_refused_at_once():
    runs = load(runs_of(1000, 2))
    begin = time.process_time()
    with pytest.raises(InputError, match=r"1,000 methods have 499,500 pairs, more than 5,000.*baseline"):
        compare(runs, metric="f1", direction="higher")
    assert time.process_time() - begin < 5


def test_every_comparison_has_the_limit(monkeypatch):
    monkeypatch.setattr("graphgauge.old.stats.many.MOST_PAIRS", 2)
    with pytest.raises(InputError, match=FEW):
        compare(runs_of(3, 6), metric="f1", direction="higher")
    assert len(compare(runs_of(3, 6), metric="f1", direction="higher", baseline="m0").tests) == 2
    assert method_pairs(["a", "b", "c"], "b") == [("a", "b"), ("c", "b")]
    with pytest.raises(InputError, match=FEW):
        method_pairs(["a", "b", "c"], None)


def test_a_table_of_many_methods_with_many_seeds_marks_none():
    # With 24 seeds every pair could be rejected, so that all would be tested.
    table = aggregate(runs_of(102, 24), metrics=["f1"], directions={"f1": "higher"})
    begin = time.process_time()
    assert table.marks("f1", "") == {}
    assert time.process_time() - begin < 1
    assert MOST_PAIRS < 102 * 101 / 2
