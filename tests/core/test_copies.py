"""Evaluations are pickled for other processes, and copied, whether or not their results were read before."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from graphgauge import generation
from graphgauge.old import ranking
from graphgauge.old.core.result import Evaluation
from graphgauge.old.core.schema import dumps, evaluation_to_dict

RNG = np.random.default_rng(0)
POS, NEG = RNG.normal(1, 1, 40), RNG.normal(0, 1, (40, 8))
TRUE, PRED = RNG.normal(0, 1, (2, 40, 3, 2))
BITS = RNG.random((2, 20, 6)) > 0.5
GROUPS = {"relation": RNG.integers(0, 2, 40)}


def ranked_files() -> Evaluation:
    np.save("pos.npy", POS)
    np.save("neg.npy", NEG)
    return ranking.evaluate_files(pos_scores="pos.npy", neg_scores="neg.npy")


MADE: dict[str, Callable[[], Evaluation]] = {
    "ranking": lambda: ranking.evaluate(POS, NEG),
    "ranking with items": lambda: ranking.evaluate(POS, NEG, groups=GROUPS, keep="items"),
    "ranking of files": ranked_files,
    "generation": lambda: generation.evaluate(real=BITS[0], generated=BITS[1], resamples=20, permutations=20),
}


def content(evaluation: Evaluation) -> str:
    return dumps(evaluation_to_dict(evaluation))


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("read_first", [False, True], ids=["unread", "read"])
def test_pickles_and_copies_are_equal(
    name: str, read_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = MADE[name]()
    inputs = expected.inputs()  # before the files are written again
    for made in (lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy):
        evaluation = MADE[name]()
        if read_first:
            list(evaluation.values())
        other = made(evaluation)
        assert content(other) == content(expected)
        assert other.findings == expected.findings
        assert other.inputs() == inputs
        assert other.materials["results"] is not None
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(expected))))
    assert content(again) == content(expected)


def test_a_pool_returns_evaluations() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(ranking.evaluate, POS, NEG).result()
    assert content(found) == content(ranking.evaluate(POS, NEG))


def test_copies_in_the_same_process_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for made in (copy.copy, copy.deepcopy):
        made(ranking.evaluate(POS, NEG)).plot(tmp_path / "figure.svg")
        assert (tmp_path / "figure.svg").stat().st_size
