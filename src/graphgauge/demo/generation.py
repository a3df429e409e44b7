"""Climbs of given difficulty on a wall of holds, from three generators, judged by the rule that defines difficulty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.demo import Demo
from graphgauge.generation import Samples, collect

_ROWS, _COLUMNS, _CLIMBS, _SAMPLES = 9, 7, 400, 50
_GRADES = ("easy", "medium", "hard")


def _boards(columns: Ints) -> AnyArray:
    """The columns (n, row) of the holds as boards (n, row, column)."""
    return np.eye(_COLUMNS, dtype=bool)[columns]


def _reach(boards: Any) -> Floats:
    """The mean distance from a hold to the next one up; 0 without two holds."""
    steps = [np.hypot(*np.diff(np.argwhere(board), axis=0).T) for board in boards]
    return np.array([step.mean() if step.size else 0 for step in steps])


def _grades(boards: Any) -> Ints:
    return np.digitize(_reach(boards), [1.75, 2.25])


# ---- a generator makes n climbs from the training climbs of a grade


def _splices(known: AnyArray, n: int, draw: np.random.Generator) -> AnyArray:
    """The lower part of one training climb, and the upper part of another."""
    lower, upper = known[draw.integers(0, len(known), (2, n))]
    below = np.arange(_ROWS)[:, None] < draw.integers(3, _ROWS - 2, (n, 1, 1))
    return np.asarray(np.where(below, lower, upper))


def _moved(known: AnyArray, n: int, draw: np.random.Generator) -> AnyArray:
    """A training climb with one hold moved."""
    columns = draw.choice(known.argmax(axis=2), n)
    columns[np.arange(n), draw.integers(0, _ROWS, n)] = draw.integers(0, _COLUMNS, n)
    return _boards(columns)


def _holds(known: AnyArray, n: int, draw: np.random.Generator) -> AnyArray:
    """Each hold by itself, as often as in training."""
    return np.asarray(draw.random((n, _ROWS, _COLUMNS)) < known.mean(axis=0))


_GENERATORS = {"splices": _splices, "moved holds": _moved, "independent holds": _holds}


@dataclass
class _Setter:
    """What `collect` asks a generator for."""

    train: AnyArray
    make: Callable[[AnyArray, int, np.random.Generator], AnyArray]
    conditions, ordered = _GRADES, True

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> AnyArray:
        known = self.train[_grades(self.train) == condition]
        return self.make(known, n, np.random.default_rng([seed, condition]))

    def validate(self, samples: Any) -> AnyArray:
        """A valid climb has one hold in the lowest row and one in the highest."""
        return np.asarray((np.asarray(samples)[:, [0, -1]].sum(axis=2) == 1).all(axis=1))

    def statistics(self, samples: Any) -> dict[str, Any]:
        return {"num_holds": np.asarray(samples).sum(axis=(1, 2)), "reach": _reach(samples)}


def _write(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    # A climb that tends to take wide steps is mostly a zigzag.
    spread = draw.uniform(0.5, 3, (_CLIMBS, 1)) * (-1) ** np.arange(_ROWS)
    columns = np.clip(np.rint(draw.normal(3 + spread / 2, 0.8)), 0, _COLUMNS - 1).astype(int)
    known, unseen = np.array_split(_boards(draw.permutation(np.unique(columns, axis=0))), 2)
    train, data = (Samples(half, conditions=_grades(half)) for half in (known, unseen))
    rule = SimpleNamespace(predict=_grades)
    for name, make in _GENERATORS.items():
        (folder / name).mkdir(exist_ok=True)
        setter = _Setter(known, make)
        sides = collect(setter, data=data, train=train, classifier=rule, num_samples=_SAMPLES, seed=seed)
        sides.save(folder / name / f"{seed}.npz")


DEMO = Demo(
    dataset="climbs",
    methods=tuple(_GENERATORS),
    inputs={"samples": "generation/{method}/{seed}.npz", "draws": 199},
    metric="overall_exact_accuracy",
    write=_write,
)
