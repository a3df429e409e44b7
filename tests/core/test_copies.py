"""Evaluations are pickled for other processes, and copied, whether or not their findings were read before."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import Evaluation, evaluate_files, forecasting, ranking
from graphgauge.core.content import content_of
from graphgauge.core.sealed import encode

RNG = np.random.default_rng(0)
POS, NEG = RNG.normal(1, 1, 40), RNG.normal(0, 1, (40, 8))
TRUE, PRED = RNG.normal(0, 1, (2, 40, 3, 2))
GROUPS = {"relation": RNG.integers(0, 2, 40)}


def ranked_files() -> Evaluation:
    np.save("pos.npy", POS)
    np.save("neg.npy", NEG)
    made = evaluate_files("ranking", pos_scores="pos.npy", neg_scores="neg.npy")
    made.receipt |= {"started": "", "seconds": 0}
    return made


MADE: dict[str, Callable[[], Evaluation]] = {
    "ranking": lambda: ranking.evaluate(POS, NEG),
    "ranking of groups": lambda: ranking.evaluate(POS, NEG, groups=GROUPS),
    "ranking of files": ranked_files,
    "forecasting": lambda: forecasting.evaluate(TRUE, PRED),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("read_first", [False, True], ids=["unread", "read"])
def test_pickles_and_copies_are_equal(
    name: str, read_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = MADE[name]()
    for made in (lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy):
        evaluation = MADE[name]()
        if read_first:
            assert evaluation.findings == expected.findings
        other = made(evaluation)
        assert encode(content_of(other)) == encode(content_of(expected))
        assert other.per_item.to_grid() == expected.per_item.to_grid()
        assert other.materials["results"] is other
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(expected))))
    assert encode(content_of(again)) == encode(content_of(expected))


def states() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """A state of each family that has one, and how it counts what is left."""
    return {
        "ranking": (ranking.RankingState().update(POS[:20], NEG[:20]), lambda state: state.update(POS[20:], NEG[20:])),
        "forecasting": (
            forecasting.ForecastState().update(TRUE[:20], PRED[:20], start=0),
            lambda state: state.update(TRUE[20:], PRED[20:], start="next"),
        ),
    }


@pytest.mark.parametrize("name", states())
def test_pickled_and_copied_states_count_on(name: str) -> None:
    state, rest = states()[name]
    copies = [pickle.loads(pickle.dumps(state)), copy.deepcopy(state)]
    expected = rest(state).compute()
    for each in copies:
        assert rest(each).compute() == expected


def test_a_pool_returns_evaluations() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(ranking.evaluate, POS, NEG).result()
    assert encode(content_of(found)) == encode(content_of(ranking.evaluate(POS, NEG)))


def test_copies_in_the_same_process_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for made in (copy.copy, copy.deepcopy):
        made(ranking.evaluate(POS, NEG)).plot(tmp_path / "figure.svg")
        assert (tmp_path / "figure.svg").stat().st_size
