"""Climbs of given difficulty on a wall of holds, from three generators, judged by the rule that defines difficulty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.demo import SEEDS, Demo
from graphgauge.generation import Samples, collect

_ROWS, _COLUMNS, _CLIMBS, _SAMPLES = 9, 7, 400, 50
_GRADES = ("easy", "medium", "hard")

Boards = NDArray[np.bool_]


def _boards(columns: Ints) -> Boards:
    """The columns (n, row) of the holds as boards (n, row, column)."""
    return np.eye(_COLUMNS, dtype=bool)[columns]


def _reach(boards: Any) -> Floats:
    """The mean distance from a hold to the next one up; 0 without two holds."""
    steps = [np.hypot(*np.diff(np.argwhere(board), axis=0).T) for board in boards]
    return np.array([step.mean() if step.size else 0 for step in steps])


def _grades(boards: Any) -> Ints:
    return np.digitize(_reach(boards), [1.75, 2.25])


class _Rule:
    def predict(self, samples: Any) -> Ints:
        return _grades(samples)


class _Setter:
    """What all generators share; each draws the climbs of a grade from its training climbs."""

    conditions, ordered = _GRADES, True

    def __init__(self, boards: Boards, grades: Ints) -> None:
        self.known = [boards[grades == code] for code in range(len(_GRADES))]

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        return self.drawn(self.known[condition], n, np.random.default_rng([seed, condition]))

    def drawn(self, known: Boards, n: int, draw: np.random.Generator) -> Boards:
        raise NotImplementedError

    def validate(self, samples: Any) -> Boards:
        """A valid climb has one hold in the lowest row and one in the highest."""
        return np.asarray((np.asarray(samples)[:, [0, -1]].sum(axis=2) == 1).all(axis=1))

    def statistics(self, samples: Any) -> dict[str, Any]:
        return {"num_holds": np.asarray(samples).sum(axis=(1, 2)), "reach": _reach(samples)}


class _Steps(_Setter):
    """A Markov chain: the next column given the last one, as often as in training."""

    def drawn(self, known: Boards, n: int, draw: np.random.Generator) -> Boards:
        columns = known.argmax(axis=2)
        counts = np.full((_COLUMNS, _COLUMNS), 0.01)
        np.add.at(counts, (columns[:, :-1], columns[:, 1:]), 1)
        chances = counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True)
        made = draw.choice(columns[:, :1].ravel(), (n, 1))
        for _ in range(_ROWS - 1):
            made = np.column_stack([made, (draw.random((n, 1)) < chances[made[:, -1]]).argmax(axis=1)])
        return _boards(made)


class _Splices(_Setter):
    """The lower part of one training climb, and the upper part of another."""

    def drawn(self, known: Boards, n: int, draw: np.random.Generator) -> Boards:
        lower, upper = known[draw.integers(0, len(known), (2, n))]
        below = np.arange(_ROWS)[:, None] < draw.integers(3, _ROWS - 2, (n, 1, 1))
        return np.asarray(np.where(below, lower, upper))


class _Holds(_Setter):
    """Each hold by itself, as often as in training."""

    def drawn(self, known: Boards, n: int, draw: np.random.Generator) -> Boards:
        return np.asarray(draw.random((n, _ROWS, _COLUMNS)) < known.mean(axis=0))


_SETTERS: dict[str, type[_Setter]] = {"splices": _Splices, "steps": _Steps, "independent holds": _Holds}


def _write(folder: Path) -> None:
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        # A climb that tends to take wide steps is mostly a zigzag.
        spread = draw.uniform(0.5, 3, (_CLIMBS, 1)) * (-1) ** np.arange(_ROWS)
        columns = np.clip(np.rint(draw.normal(3 + spread / 2, 0.8)), 0, _COLUMNS - 1).astype(int)
        boards = _boards(draw.permutation(np.unique(columns, axis=0)))
        grades, half = _grades(boards), len(boards) // 2
        for name, setter in _SETTERS.items():
            sides = collect(
                setter(boards[:half], grades[:half]),
                data=Samples(boards[half:], conditions=grades[half:]),
                train=Samples(boards[:half], conditions=grades[:half]),
                classifier=_Rule(),
                num_samples=_SAMPLES,
                seed=seed,
            )
            place = folder / "generation" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            sides.save(place / "samples.npz")


DEMO = Demo(
    family="generation",
    dataset="climbs",
    methods=tuple(_SETTERS),
    inputs={"samples": "generation/{method}/{seed}/samples.npz", "draws": 199},
    metric="overall_exact_accuracy",
    write=_write,
)
