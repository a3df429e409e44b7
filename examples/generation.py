"""Four ways in which a generator can fail, and the effect of each on the metrics.

Boards have 3 × 6 × 4 cells, set in vertical pairs; harder boards have more cells set. The honest generator uses the
same rule. The others copy the training set, repeat a few samples, ignore the condition, or set the right number of
cells in the wrong places.
"""

from __future__ import annotations

import numpy as np

from graphgauge import generation

NAMES = ("easy", "medium", "hard")


def boards(codes: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Boards whose cells are set in vertical pairs."""
    halves = draw.random((len(codes), 3, 3, 4)) < (0.15 + 0.2 * codes)[:, None, None, None]
    return np.repeat(halves, 2, axis=2)


def shuffled(samples: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """The same number of cells, at random positions."""
    return draw.permuted(samples.reshape(len(samples), -1), axis=1).reshape(samples.shape)


def statistics(samples: np.ndarray) -> dict[str, np.ndarray]:
    return {"size": samples.sum((1, 2, 3)), "pairs": (samples[:, :, ::2] & samples[:, :, 1::2]).sum((1, 2, 3))}


def side(samples: np.ndarray, codes: np.ndarray) -> generation.Samples:
    return generation.Samples(samples, conditions=codes, statistics=statistics(samples))


def main() -> None:
    draw = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 80)
    train, real, honest = (boards(codes, draw) for _ in range(3))
    generators = {
        "honest": honest,
        "copies": train,
        "repeats": honest[codes * 80 + draw.integers(0, 4, len(codes))],
        "ignores": boards(draw.permutation(codes), draw),
        "shuffles": shuffled(honest, draw),
    }
    keys = ("novelty", "overall_uniqueness_ratio", "overall_mean_distance", "energy_p_value", "prdc_precision")
    print(f"{'':<10}" + "".join(f"{key:>26}" for key in keys))
    for name, generated in generators.items():
        evaluation = generation.evaluate(
            side(real, codes),
            side(generated, codes),
            train=side(train, codes),
            labels=NAMES,
            ordered=True,
            metrics=keys,
            draws=299,
        )
        marks = {True: "", False: " !", None: ""}
        cells = (f"{evaluation[key].value:.3f}{marks[evaluation[key].reached]}" for key in keys)
        print(f"{name:<10}" + "".join(f"{cell:>26}" for cell in cells))
    print("! misses its target")


if __name__ == "__main__":
    main()
