"""Climbing problems set for a grade by three generators, judged by the rule that gives problems their grades.

Two of the generators are fitted here. The third is the VAE of `graphgauge zoo moonboard`: what it made after training
is stored with the package, so that the demo needs neither torch nor minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.demo import Demo
from graphgauge.generation import Labelled, collect
from graphgauge.zoo.moonboard.board import CHANNELS, SHAPE, statistics, valid
from graphgauge.zoo.moonboard.problems import Problems
from graphgauge.zoo.moonboard.synthetic import Rule, synthetic

GRADES = ("6A", "6B", "6C", "7A", "7B")
SAMPLES = 40
SEEDS = tuple(range(8))
STORED = Path(__file__).with_name("vae_problems.npz")

Boards = NDArray[np.bool_]


def split(seed: int) -> tuple[Problems, Problems]:
    """The embedded problems of five grades that lie apart: a part to learn from, and one that is held out."""
    return synthetic(6000).only(GRADES).split(seed)


class _Setter:
    """What all generators of boards share."""

    conditions, channels, ordered = GRADES, CHANNELS, True

    def __init__(self, train: Problems, run: int) -> None:
        self.run = run
        self.known = [train.grids[train.labels == code].astype(bool) for code in range(len(GRADES))]

    def validate(self, samples: Any) -> Any:
        return valid(samples)

    def statistics(self, samples: Any) -> Any:
        return statistics(samples)


class Holds(_Setter):
    """Every hold by itself, as often as problems of that grade have it."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        draw = np.random.default_rng([seed, condition])
        return np.asarray(draw.random((n, *SHAPE)) < self.known[condition].mean(axis=0))


class Splices(_Setter):
    """The lower part of one known problem of the grade, and the upper part of another."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        draw = np.random.default_rng([seed, condition])
        lower, upper = (self.known[condition][draw.integers(0, len(self.known[condition]), n)] for _ in range(2))
        below = np.arange(SHAPE[1])[:, None] < draw.integers(7, 13, (n, 1, 1, 1))
        return np.asarray(np.where(below, lower, upper))


class StoredVAE(_Setter):
    """What the VAE of this run made."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        with np.load(STORED, allow_pickle=False) as stored:
            packed = stored["problems"][self.run, condition, :n]
        return np.unpackbits(packed, axis=1, count=int(np.prod(SHAPE))).reshape(n, *SHAPE).astype(bool)


_SETTERS: dict[str, type[Any]] = {"stored vae": StoredVAE, "splices": Splices, "independent holds": Holds}


def _write(folder: Path) -> None:
    for seed in SEEDS:
        train, held = split(seed)
        for name, setter in _SETTERS.items():
            table = collect(
                setter(train, seed), data=Labelled(held.grids, held.labels),
                train=Labelled(train.grids, train.labels), classifier=Rule(GRADES), num_samples=SAMPLES, seed=seed,
            )  # fmt: skip
            place = folder / "generation" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            table.save(place / "table.npz")


DEMO = Demo(
    family="generation",
    dataset="climbing problems",
    methods=tuple(_SETTERS),
    seeds=SEEDS,
    inputs={"table": "generation/{method}/{seed}/table.npz", "resamples": 200, "permutations": 199},
    metric="overall_exact_accuracy",
    write=_write,
)
