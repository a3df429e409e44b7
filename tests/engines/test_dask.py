"""Dask: the same answer as on one machine, however the arrays are cut and whatever runs the blocks."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.engines.dask import evaluate, state

SCHEDULERS = ("synchronous", "threads", "processes")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def scores(rng):
    # Rounded, so that there are ties.
    return rng.normal(1, 1, 300).round(1), rng.normal(0, 1, (300, 12)).round(1)


def same(found, expected):
    assert list(found) == list(expected)
    for key, result in expected.items():
        np.testing.assert_equal(found[key].value, result.value)
        assert found[key].n == result.n
        assert found[key].interval == result.interval
        assert found[key].chance == result.chance
    assert found.conventions == expected.conventions
    assert found.options == expected.options
    assert found.breakdowns == expected.breakdowns


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_rankings_have_the_bits_of_one_machine(scores, rng, scheduler):
    pos, neg = scores
    relation, triple = rng.integers(0, 4, 300), rng.integers(0, 90, 300)
    options = {"k": (1, 5), "ties": "expected", "metrics": ["mrr", "hits", "mean_rank"], "confidence": 0.9}
    blocks = da.from_array(pos, chunks=77), da.from_array(neg, chunks=(50, 5))
    with dask.config.set(scheduler=scheduler):
        found = evaluate("ranking", *blocks, groups={"relation": relation}, cluster=triple, **options)
    same(found, ranking.evaluate(pos, neg, groups={"relation": relation}, cluster=triple, **options))


@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=40).filter(lambda lengths: sum(lengths) > 1),
    width=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_any_cut_gives_the_same(lengths, width, seed):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    pos, neg = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, (n, 6)).astype(float)
    mask = rng.random((n, 6)) < 0.8
    found = evaluate(
        "ranking", da.from_array(pos, chunks=(tuple(lengths),)), da.from_array(neg, chunks=(n, width)), mask=mask
    )
    same(found, ranking.evaluate(pos, neg, mask=mask))


def test_nan_is_dropped_and_counted_in_every_block(scores):
    pos, neg = scores[0].copy(), scores[1].copy()
    pos[[3, 250]], neg[100, 2] = np.nan, np.nan
    found = evaluate("ranking", da.from_array(pos, chunks=60), neg, nan="omit")
    expected = ranking.evaluate(pos, neg, nan="omit")
    same(found, expected)
    with pytest.raises(InputError, match="NaN"):
        evaluate("ranking", da.from_array(pos, chunks=60), neg)


def test_an_error_names_the_part_that_its_place_is_in(scores):
    pos, neg = scores[0], scores[1].copy()
    neg[250, 3] = np.nan
    with pytest.raises(InputError, match=r"items from 200 on, neg_scores: 1 of 1200 values are NaN.*\(50, 3\)"):
        evaluate("ranking", da.from_array(pos, chunks=100), neg)


def test_the_state_of_the_whole_can_be_saved(scores, tmp_path):
    pos, neg = scores
    state("ranking", da.from_array(pos, chunks=30), neg).save(tmp_path / "whole.npz")
    loaded = ranking.RankingState.load(tmp_path / "whole.npz")
    assert loaded.evaluate()["mrr"] == ranking.evaluate(pos, neg)["mrr"]
    # Items are numbered, so that what is in the whole cannot be added to it again.
    with pytest.raises(InputError, match="counted before"):
        loaded.update(pos[:30], neg[:30], start=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda pos, neg: evaluate("ranking", np.ones(3), np.ones((3, 2))), InputError, "no Dask array"),
        (lambda pos, neg: evaluate("ranking", pos, neg[:-1]), InputError, "neg_scores: expected 300 items"),
        (lambda pos, neg: evaluate("ranking", pos[pos > 0], neg), InputError, "compute_chunk_sizes"),
        (lambda pos, neg: evaluate("ranking", pos, neg, tie="expected"), UnknownNameError, "'ties'"),
        (lambda pos, neg: evaluate("ranking", pos, neg, offsets=[0]), UnknownNameError, "'offsets'"),
        (lambda pos, neg: evaluate("ranking", *([pos, neg] * 9)), OptionError, "take 8 arrays, not 18"),
        (lambda pos, neg: evaluate("recovery", pos, neg), OptionError, "recovery has no states"),
        (lambda pos, neg: evaluate("ranking", pos, neg, groups=5), InputError, "groups"),
        (lambda pos, neg: evaluate("ranking", pos, neg, groups={"side": np.ones(7, int)}), InputError, "groups"),
    ],
)
def test_what_cannot_be_cut_is_said(scores, call, error, words):
    pos, neg = (da.from_array(array, chunks=100) for array in scores)
    with pytest.raises(error, match=words):
        call(pos, neg)


def test_items_carry_their_ids(scores):
    pos, neg = scores
    ids = np.arange(300) + 1000
    found = evaluate("ranking", da.from_array(pos, chunks=70), neg, ids=ids).per_item
    assert found.to_grid() == ranking.evaluate(pos, neg, ids=ids).per_item.to_grid()
