"""The sample of ranking: joined, taken apart and folded, it stays the same sample; impossible ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.ranking.counts import Counts, Labels, Met

# The first query has two positives in different runs, the second has two that are tied.
LISTS = Counts(
    above=np.array([0, 3, 1, 0]),
    beside=np.array([1, 0, 1, 0]),
    positives=np.array([1, 1, 2, 1]),
    candidates=np.array([6, 4, 1]),
    relevant=np.array([2, 2, 1]),
    owner=np.array([0, 0, 1, 2]),
    labels=Labels.given(3, ids=["a", "b", "c"], groups={"side": ["head", "tail", "tail"]}, cluster=[7, 7, 8]),
    grades=np.array([1.0, 3.0, 2.0, 1.0, 1.0]),
    met=Met(missing=2),
)


def columns(counts: Counts) -> dict[str, list[object]]:
    return {name: values.tolist() for name, values in counts.to_arrays().items()}


def test_parts_joined_are_the_whole() -> None:
    whole = LISTS.check()
    parts = [replace(whole.take([0]), met=Met(missing=2)), *(replace(whole.take([row]), met=Met()) for row in (1, 2))]
    assert columns(Counts.join(parts)) == columns(whole)
    assert columns(Counts.from_arrays(whole.to_arrays())) == columns(whole)


def test_joined_parts_are_split_again() -> None:
    """Each with the numbers of its own queries that were left out."""
    parts = [
        replace(LISTS.take([0, 1]), left=np.array([1])),
        replace(LISTS.take([2]), left=np.array([0, 2]), met=Met()),
        replace(LISTS.take([]), met=Met()),
    ]
    whole = Counts.join(parts)
    assert whole.left is not None
    assert whole.left.tolist() == [1, 3, 5]
    assert [columns(part) for part in whole.split([(2, 1), (1, 2), (0, 0)])] == [columns(part) for part in parts]


def test_queries_are_taken_in_any_order_and_more_than_once() -> None:
    found = LISTS.take([1, 0, 1]).check()
    assert found.query.tolist() == [0, 1, 1, 2]
    assert found.positives.tolist() == [2, 1, 1, 2]
    assert found.grades is not None
    assert found.grades.tolist() == [2, 1, 1, 3, 2, 1]
    assert found.ahead.tolist() == [0, 0, 1, 0]


def test_equal_queries_of_one_group_are_folded() -> None:
    labels = Labels.given(4, groups={"side": ["head", "head", "tail", "head"]})
    counts = Counts.from_ranks(np.array([1, 1, 1, 0]), np.array([0, 0, 0, 2]), 5, labels=labels).check()
    folded = counts.fold().check()
    assert len(folded) == len(counts) == 4
    assert len(folded.candidates) == 3
    assert sorted(folded.multiples.tolist()) == [1, 1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"above": np.array([0, 1, 1, 0])},  # two runs of one query overlap
        {"beside": np.array([1, 0, -2, 0])},  # more positives than the run is long
        {"relevant": np.array([2, 2, 2])},  # positives without a run
        {"candidates": np.array([6, 3, 1])},  # a run beyond the candidates
        {"owner": np.array([0, 0, 1, 3])},
        {"grades": np.array([1.0, 3.0, 2.0, 1.0, 0.0])},
        {"above": np.array([0.0, 3.0, 1.0, 0.0])},
        {"left": np.array([1, 9])},  # more than were given
        {"left": np.array([2, 1])},
    ],
)
def test_impossible_counts_are_refused(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match="impossible counts"):
        replace(LISTS, **change).check()


def test_an_id_that_comes_again_is_refused() -> None:
    with pytest.raises(InputError, match="ids: 3 occurs twice"):
        Labels.given(3, ids=[3, 4, 3])
