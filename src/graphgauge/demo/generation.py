"""Climbing problems of given grades from three generators, judged by the rule that defines the grades.

Two of the generators are fitted here. The third is the VAE of `graphgauge zoo moonboard`. Its samples are stored with
the package, so the demo needs neither torch nor training.
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
    """The embedded problems of five well-separated grades: a training part and a held-out part."""
    return synthetic(6000).only(GRADES).split(seed)


class _Setter:
    """Shared by all generators of boards."""

    conditions, channels, ordered = GRADES, CHANNELS, True

    def __init__(self, train: Problems, run: int) -> None:
        self.run = run
        self.known = [train.grids[train.labels == code].astype(bool) for code in range(len(GRADES))]

    def validate(self, samples: Any) -> Any:
        return valid(samples)

    def statistics(self, samples: Any) -> Any:
        return statistics(samples)


class Holds(_Setter):
    """Each hold independently, with its frequency among problems of that grade."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        draw = np.random.default_rng([seed, condition])
        return np.asarray(draw.random((n, *SHAPE)) < self.known[condition].mean(axis=0))


class Splices(_Setter):
    """The lower part of one training problem of the grade, and the upper part of another."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Boards:
        draw = np.random.default_rng([seed, condition])
        lower, upper = (self.known[condition][draw.integers(0, len(self.known[condition]), n)] for _ in range(2))
        below = np.arange(SHAPE[1])[:, None] < draw.integers(7, 13, (n, 1, 1, 1))
        return np.asarray(np.where(below, lower, upper))


class StoredVAE(_Setter):
    """The stored samples of this run's VAE."""

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
                setter(train, seed),
                data=Labelled(held.grids, held.labels),
                train=Labelled(train.grids, train.labels),
                classifier=Rule(GRADES),
                num_samples=SAMPLES,
                seed=seed,
            )
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
