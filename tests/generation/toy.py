"""A small generator whose every answer is known: boards whose number of bits follows the condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.generation import Case, Samples

SHAPE = (3, 6, 4)
NAMES = ("6A", "6A+", "6B", "6B+")


def boards(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random((len(codes), *SHAPE)) < (0.2 + 0.15 * codes)[:, None, None, None]


class Toy:
    """Draws from the very distribution of its data; valid is what has a bit in the first channel."""

    conditions = NAMES
    ordered = True
    channels = ("start", "middle", "end")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def reconstruct(self, samples: Any, conditions: Any) -> np.ndarray:
        self.asked.append("reconstruct")
        return np.where(samples, 0.9, 0.1)

    def encode(self, samples: Any, conditions: Any) -> np.ndarray:
        self.asked.append("encode")
        return np.column_stack([samples.sum((1, 2, 3)), samples[:, 0].sum((1, 2))]) / 10

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> np.ndarray:
        self.asked.append("generate")
        return boards(np.full(n, condition), np.random.default_rng(seed)) * 0.8

    def validate(self, samples: Any) -> np.ndarray:
        return samples[:, 0].any((1, 2))

    def statistics(self, samples: Any) -> dict[str, np.ndarray]:
        return {"size": samples.sum((1, 2, 3)), "start": samples[:, 0].sum((1, 2))}


class Judge:
    """Takes a board for the condition whose mean size is nearest."""

    def predict(self, samples: Any) -> np.ndarray:
        size = samples.reshape(len(samples), -1).mean(1)
        return np.clip(np.rint((size - 0.2) / 0.15), 0, len(NAMES) - 1).astype(np.int64)


def data(n: int = 240, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % len(NAMES)
    return Samples(boards(codes, rng), conditions=codes)


def case() -> Case:
    """Everything that can be asked for, as `--subject tests.generation.toy:case` gets it."""
    return Case(Toy(), data(), data(seed=1), Judge())


def bare() -> Any:
    """A subject that can only generate."""

    class Bare:
        generate = Toy.generate

        def __init__(self) -> None:
            self.asked: list[str] = []

    return Bare()


class Attack:
    """Code in a pickle, which would leave a file behind."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def opened(checkpoint: Path, classifier_checkpoint: Path | None = None, cpu: bool = False) -> Case:
    """The same from files, as a factory gets them with `--checkpoint`."""
    toy = Toy()
    toy.conditions = tuple(checkpoint.read_text().split())
    return Case(toy, data(), classifier=None if classifier_checkpoint is None else Judge(), notes=(f"cpu: {cpu}",))
