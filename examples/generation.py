"""Is a generator any good? Four ways to fail, and what each of them does to the numbers.

Boards of 3 × 6 × 4 cells, more of which are set the harder the board, in pairs above each other. The honest generator
draws by the same rule. The others copy what they were trained on, repeat a few samples, ignore what was asked for, or
set as many cells in the wrong places.
"""

from __future__ import annotations

import numpy as np

from graphgauge import generation

NAMES = ("easy", "medium", "hard")


def boards(codes: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Boards whose cells are set in pairs, above each other."""
    halves = draw.random((len(codes), 3, 3, 4)) < (0.15 + 0.2 * codes)[:, None, None, None]
    return np.repeat(halves, 2, axis=2)


def shuffled(samples: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """As many cells set as before, anywhere."""
    return draw.permuted(samples.reshape(len(samples), -1), axis=1).reshape(samples.shape)


def statistics(samples: np.ndarray) -> dict[str, np.ndarray]:
    return {"size": samples.sum((1, 2, 3)), "pairs": (samples[:, :, ::2] & samples[:, :, 1::2]).sum((1, 2, 3))}


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
            real=real, generated=generated, real_conditions=codes, conditions=codes, train=train, labels=NAMES,
            ordered=True, statistics=statistics(real), generated_statistics=statistics(generated), metrics=keys,
            permutations=199, resamples=300,
        )  # fmt: skip
        marks = {True: "", False: " !", None: ""}
        cells = (f"{evaluation[key].value:.3f}{marks[evaluation[key].reached]}" for key in keys)
        print(f"{name:<10}" + "".join(f"{cell:>26}" for cell in cells))
    print("! misses its target")


if __name__ == "__main__":
    main()
