"""Queries that two saved states have in common are seen, however files were split; coarse scores alone are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.ranking.fingerprints import Fingerprints, query_hashes


def saved(folder: Path, name: str, pos: np.ndarray, neg: np.ndarray, cuts: int = 1) -> ranking.RankingState:
    """The state of an evaluation whose scores come in files."""
    for part, (p, n) in enumerate(zip(np.array_split(pos, cuts), np.array_split(neg, cuts), strict=True)):
        np.save(folder / f"{name}-pos-{part}.npy", p)
        np.save(folder / f"{name}-neg-{part}.npy", n)
    ranking.evaluate_files(
        pos_scores=[folder / f"{name}-pos-{part}.npy" for part in range(cuts)],
        neg_scores=[folder / f"{name}-neg-{part}.npy" for part in range(cuts)],
        save_state=folder / f"{name}.npz",
    )
    return ranking.RankingState.load(folder / f"{name}.npz")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize(("second", "cuts"), [((0, 90), 1), ((0, 30), 3), ((60, 150), 1), ((84, 150), 4)])
def test_overlapping_ranges_are_refused(dtype: type, second: tuple[int, int], cuts: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pos, neg = (1e6 * rng.normal(size=shape) for shape in (150, (150, 4)))
    pos, neg = pos.astype(dtype), neg.astype(dtype)
    first = saved(tmp_path, "first", pos[:90], neg[:90], 2)
    other = saved(tmp_path, "other", pos[slice(*second)], neg[slice(*second)], cuts)
    with pytest.raises(InputError, match=r"queries have the same scores in both states|both states have the shard"):
        first.merge(other)
    assert first.n == 90
    rest = saved(tmp_path, "rest", pos[90:], neg[90:])
    whole = first.merge(rest)
    assert whole.evaluate()["mrr"].value == ranking.evaluate(pos, neg)["mrr"].value
    again = saved(tmp_path, "again", pos[100:140], neg[100:140])  # merged states remember their parts
    with pytest.raises(InputError, match="40 queries have the same scores"):
        whole.merge(again)


@pytest.mark.parametrize("values", [1, 2, 5, 20])
@pytest.mark.parametrize("negatives", [1, 3, 20])
def test_coarse_scores_of_different_queries_are_taken(values: int, negatives: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([values, negatives])
    parts = [
        saved(tmp_path, f"part{part}", rng.integers(0, values, size), rng.integers(0, values, (size, negatives)))
        for part, size in enumerate((40, 400, 150))
    ]
    assert parts[0].merge(parts[1]).merge(parts[2]).n == 590


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_hashes_are_those_of_the_rows(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    pos, neg = rng.integers(0, 2, 12).astype(float), rng.integers(0, 2, (12, width)).astype(float)
    hashes = query_hashes(pos, neg)
    rows = np.column_stack([pos, neg])
    same = (rows[:, None] == rows[None]).all(axis=2)
    assert ((hashes[:, None] == hashes[None]) == same).all()
    ragged = query_hashes(pos, neg.ravel(), np.arange(13) * width)
    assert ((ragged[:, None] == ragged[None]) == same).all()


def test_lists_of_different_lengths_differ() -> None:
    hashes = query_hashes(np.zeros(3), np.zeros(6), np.array([0, 1, 3, 6]))
    assert len(np.unique(hashes)) == 3


def test_nothing_in_common_with_nothing() -> None:
    Fingerprints().require_apart(Fingerprints(query_hashes(np.zeros(9), np.zeros((9, 2)))))


def test_of_many_queries_some_are_kept_and_overlaps_are_still_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.ranking.fingerprints.MOST", 100)
    rng = np.random.default_rng(5)
    pos, neg = rng.random(3000), rng.random((3000, 3))
    hashes = query_hashes(pos, neg)

    def of(*blocks: slice) -> Fingerprints:
        found = Fingerprints()
        for block in blocks:
            found.add(hashes[block])
        return found

    whole = of(slice(0, 2000))
    assert len(whole.all()) <= 100
    parts = of(slice(1500, 2000), slice(0, 700), slice(700, 1500))
    assert (parts.shift, parts.all().tolist()) == (whole.shift, whole.all().tolist())  # in any order
    whole.require_apart(of(slice(2000, 3000)))
    for other in (of(slice(0, 2000)), of(slice(1000, 3000))):
        with pytest.raises(InputError, match=r"about [\d,]+ queries have the same scores"):
            whole.require_apart(other)
    small = Fingerprints(hashes[2000:2050])  # kept as a whole
    whole.require_apart(small)
    small.absorb(whole)
    assert small.shift == whole.shift
    assert small.all().tolist() == of(slice(0, 2050)).all().tolist()
