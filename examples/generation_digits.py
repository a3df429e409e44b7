"""Handwritten digits as bits: do simple generators produce realistic, novel digits of the requested class?

The images of scikit-learn's `load_digits` (8 × 8) are binarised: pixels of at least 8 of 16 are inked. Half of each
digit is for training, half is held out. The generators are fitted for each digit: independent pixels, and mixtures of
these (fitted by EM), which can model styles. The training half is used as a third generator: it shows the scores of
perfect samples that are not novel. The classifier is a support vector machine.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from graphgauge import generation
from graphgauge.core.result import Evaluation
from graphgauge.generation import Labelled

# The rarest digit has 87 images in each half.
SAMPLES = 85


def halves(seed: int = 0) -> tuple[Labelled, Labelled]:
    """A training and a held-out half of each digit."""
    digits = load_digits()
    images, labels = digits.images >= 8, digits.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    place = np.empty(len(labels), dtype=int)
    for digit in range(10):
        members = order[labels[order] == digit]
        place[members] = np.arange(len(members)) % 2
    train, held = (Labelled(images[place == half], labels[place == half]) for half in (0, 1))
    return train, held


class Mixture:
    """A mixture of images with independent pixels for each digit; one component is plain independence.

    Each component is smoothed with the weight of one image towards `towards`: one half, or the digit's mean.
    """

    conditions = tuple(str(digit) for digit in range(10))

    def __init__(self, train: Labelled, components: int, towards: str = "mean", seed: int = 0) -> None:
        self._parts = []
        for digit in range(10):
            bits = train.samples[train.conditions == digit].reshape(-1, 64)
            prior = np.full(64, 0.5) if towards == "half" else (bits.sum(axis=0) + 0.5) / (len(bits) + 1)
            self._parts.append(_fitted(bits, components, prior, seed))

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> np.ndarray:
        draw = np.random.default_rng([seed, condition])
        weights, ink = self._parts[condition]
        chosen = draw.choice(len(weights), n, p=weights)
        return (draw.random((n, 64)) < ink[chosen]).reshape(n, 8, 8)

    def reconstruct(self, samples: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        """The expected image under the posterior over components."""
        flat = samples.reshape(len(samples), 64)
        images = np.empty((len(samples), 64))
        for digit, (weights, ink) in enumerate(self._parts):
            mine = conditions == digit
            images[mine] = _memberships(flat[mine], weights, ink) @ ink
        return images.reshape(samples.shape)

    def statistics(self, samples: np.ndarray) -> dict[str, np.ndarray]:
        rows, columns = np.mgrid[:8, :8]
        ink = np.maximum(samples.sum(axis=(1, 2)), 1)
        strokes = np.diff(samples.astype(np.int8), axis=2, prepend=0) == 1
        return {
            "ink": samples.sum(axis=(1, 2)),
            "strokes_across": strokes.sum(axis=(1, 2)),
            "height": samples.any(axis=2).sum(axis=1),
            "width": samples.any(axis=1).sum(axis=1),
            "centre_row": (samples * rows).sum(axis=(1, 2)) / ink,
            "centre_column": (samples * columns).sum(axis=(1, 2)) / ink,
        }


class TrainingSet(Mixture):
    """Returns its training images: each once, or drawn with replacement."""

    def __init__(self, train: Labelled, replace: bool) -> None:
        super().__init__(train, components=1)
        self._train, self._replace = train, replace

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> np.ndarray:
        known = np.flatnonzero(self._train.conditions == condition)
        return self._train.samples[np.random.default_rng([seed, condition]).choice(known, n, replace=self._replace)]


class Judge:
    def __init__(self, train: Labelled) -> None:
        self._model = SVC(C=10).fit(train.samples.reshape(-1, 64).astype(float), train.conditions)

    def predict(self, samples: np.ndarray) -> np.ndarray:
        return self._model.predict(samples.reshape(len(samples), 64).astype(float))


def _fitted(bits: np.ndarray, components: int, prior: np.ndarray, seed: int, steps: int = 50) -> tuple[np.ndarray, ...]:
    """Weights (k,) and ink probabilities (k, pixels) by EM, from random memberships."""
    shares = np.random.default_rng(seed).dirichlet(np.full(components, 0.1), len(bits))
    for _ in range(steps):
        weights = shares.mean(axis=0)
        ink = (shares.T @ bits + prior) / (shares.sum(axis=0)[:, None] + 1)
        shares = _memberships(bits, weights, ink)
    return weights, ink


def _memberships(bits: np.ndarray, weights: np.ndarray, ink: np.ndarray) -> np.ndarray:
    """The posterior probability of each component for each image."""
    with np.errstate(divide="ignore"):
        score = np.log(weights) + bits @ np.log(ink).T + ~bits @ np.log(1 - ink).T
    odds = np.exp(score - score.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def evaluations(seed: int = 0) -> dict[str, Evaluation]:
    train, held = halves()
    subjects = {
        "independent pixels": Mixture(train, 1),
        "mixture of 8, smoothed to half ink": Mixture(train, 8, towards="half"),
        "mixture of 8, smoothed to the digit's mean": Mixture(train, 8),
        "training set, each image once": TrainingSet(train, replace=False),
        "training set, drawn with replacement": TrainingSet(train, replace=True),
    }
    judge = Judge(train)
    return {
        name: generation.evaluate(
            generation.collect(subject, data=held, train=train, classifier=judge, num_samples=SAMPLES, seed=seed)
        )
        for name, subject in subjects.items()
    }


def main() -> None:
    for name, evaluation in evaluations().items():
        print(f"\n{name}\n{evaluation}")


if __name__ == "__main__":
    main()
