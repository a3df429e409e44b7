"""Simulates how often a perfect generator is in the band of its level, and whether copies are recognised.

    python docs/generation_levels.py [RUNS]

writes docs/generation_levels.inc. Real and generated samples have one distribution, so each metric has to be in the
band of `perfect` in 95 % of the runs. 500 runs take about 15 minutes of processor time. Finished designs are kept in
generation_levels.json, so that a stopped run goes on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from graphgauge import generation
from graphgauge.core.files import write_text
from graphgauge.core.result import Evaluation
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import near_copies

OUTPUT = Path(__file__).parent / "generation_levels.inc"
SIZES = ((60, 60), (300, 30), (40, 400))
VALIDITY = (1.0, 0.6)
# Bits were simulated again on other seeds after the bands of mean distances were widened: of 40 samples, they contained
# 461 and 462 of 500 values. So were conditions, after corrected accuracies had bands that contained 381 of 495.
EDITIONS = {"bits": 2, "conditions": 2}
QUICK: dict[str, Any] = {"permutations": 9, "resamples": 199}
Case = dict[str, Any]
Make = Callable[[np.random.Generator, int], Any]


# ------------------------------------------------------------------------------------------------------- designs


def gaussian_vectors(rng: np.random.Generator, count: int) -> Any:
    """Four correlated coordinates."""
    shared = rng.standard_normal((count, 1))
    return 0.6 * shared + rng.standard_normal((count, 4)) * (1.0, 0.5, 2.0, 1.0)


def chained_bits(rng: np.random.Generator, count: int) -> Any:
    """18 bits, each of which is like the one before with probability .7."""
    same = rng.random((count, 18)) < 0.7
    same[:, 0] = rng.random(count) < 0.4
    return np.cumsum(~same, axis=1) % 2 == 0


def sparse_graphs(rng: np.random.Generator, count: int) -> Any:
    """Graphs of 9 to 12 nodes, whose rate of edges is drawn for each."""
    nodes, rates = rng.integers(9, 13, count), rng.uniform(0.2, 0.5, count)
    first, second = np.triu_indices(12, 1)
    chosen = (rng.random((count, len(first))) < rates[:, np.newaxis]) & (second < nodes[:, np.newaxis])
    pair = np.nonzero(chosen)[1]
    return Graphs(nodes, np.append(0, np.cumsum(chosen.sum(1))), np.stack([first[pair], second[pair]], axis=1))


def gaussian_case(rng: np.random.Generator, n: int, m: int) -> Case:
    real, made = gaussian_vectors(rng, n), gaussian_vectors(rng, m)
    return {
        "real": np.zeros((n, 1), bool),
        "generated": np.zeros((m, 1), bool),
        "latents": real,
        "generated_latents": made,
        "statistics": {"first": real[:, 0], "third": real[:, 2]},
        "generated_statistics": {"first": made[:, 0], "third": made[:, 2]},
        "metrics": ["statistical"],
    }


def bits_case(rng: np.random.Generator, n: int, m: int) -> Case:
    real, made, train = (chained_bits(rng, count) for count in (n, m, n))
    return {
        "real": real,
        "generated": made,
        "train": train,
        "statistics": {"size": real.sum(1)},
        "generated_statistics": {"size": made.sum(1)},
        "metrics": ["diversity", "statistical"],
    }


def graphs_case(rng: np.random.Generator, n: int, m: int) -> Case:
    real, made, train = (sparse_graphs(rng, count) for count in (n, m, n))
    return {"real": real, "generated": made, "train": train, "metrics": GRAPH_METRICS}


def answers_case(rng: np.random.Generator, n: int, m: int) -> Case:
    """Three conditions, and a classifier that is right in 70 % of the cases."""

    def answered(codes: Any) -> Any:
        return np.where(rng.random(len(codes)) < 0.7, codes, (codes + rng.integers(1, 3, len(codes))) % 3)

    known, asked = np.arange(n) % 3, np.arange(m) % 3
    return {
        "generated": np.zeros((m, 1), bool),
        "conditions": asked,
        "predicted": answered(asked),
        "labels": list("abc"),
        "ordered": True,
        "classifier_labels": known,
        "classifier_predicted": answered(known),
        "metrics": ["conditioning"],
    }


def grades_case(rng: np.random.Generator, n: int, m: int) -> Case:
    """19 ordered conditions, and a classifier that takes one of its neighbours for each in 30 % of the cases."""

    def answered(codes: Any) -> Any:
        beside = np.abs(codes + rng.choice([-1, 1], len(codes)))
        return np.where(rng.random(len(codes)) < 0.7, codes, np.where(beside > 18, 17, beside))

    known, asked = np.arange(n) % 19, np.arange(m) % 19
    return {
        "generated": np.zeros((m, 1), bool),
        "conditions": asked,
        "predicted": answered(asked),
        "ordered": True,
        "labels": [f"grade {grade}" for grade in range(19)],
        "classifier_labels": known,
        "classifier_predicted": answered(known),
        "metrics": ["overall_exact_accuracy", "overall_tolerance_1_accuracy"],
    }


GRAPH_METRICS = [
    "validity_rate",
    "overall_uniqueness_ratio",
    "novelty",
    "nearer_to_training",
    "unique@10",
    "degree_mmd",
    "clustering_mmd",
    "orbit_mmd",
    "spectral_mmd",
]
CASES = {
    "Gaussians": gaussian_case,
    "bits": bits_case,
    "graphs": graphs_case,
    "conditions": answers_case,
    "grades": grades_case,
}


def perfect_case(kind: str, rng: np.random.Generator, n: int, m: int, rate: float) -> Case:
    """Real and generated samples of one distribution, of which a share is valid."""
    case = CASES[kind](rng, n, m)
    if rate < 1:
        case["valid"] = rng.random(m) < rate
        if "real" in case:
            case["real_valid"] = rng.random(n) < rate
    else:
        case["metrics"] = [key for key in case["metrics"] if key != "validity_rate"]
    return case


# ------------------------------------------------------------------------------------------------- perfect generators


def inside(evaluation: Evaluation) -> dict[str, bool]:
    """Of each metric that has a band of `perfect`, whether the value is in it."""
    found = {}
    for key, result in evaluation.items():
        perfect = [level for level in result.levels if level.name == "perfect"]
        if perfect and perfect[0].low is not None and result.defined:
            found[key] = bool(perfect[0].contains(result.value))
    return found


def coverage(kind: str, n: int, m: int, rate: float, runs: int) -> dict[str, tuple[int, int]]:
    """In how many runs each metric of a perfect generator is in its band, and of how many."""
    edition = [EDITIONS[kind]] if kind in EDITIONS else []
    rng = np.random.default_rng([len(kind), n, m, round(100 * rate), *edition])
    counts: dict[str, list[bool]] = {}
    for run in range(runs):
        evaluation = generation.evaluate(**perfect_case(kind, rng, n, m, rate), **QUICK, seed=run)
        for key, fits in inside(evaluation).items():
            counts.setdefault(key, []).append(fits)
    return {key: (sum(fits), len(fits)) for key, fits in counts.items()}


def designs() -> list[tuple[str, int, int, float]]:
    sampled = [(kind, n, m, rate) for kind in ("Gaussians", "bits", "graphs") for n, m in SIZES for rate in VALIDITY]
    return sampled + [(kind, n, m, 0.8) for kind in ("conditions", "grades") for n, m in SIZES]


def design_name(design: tuple[str, int, int, float], runs: int) -> str:
    return json.dumps([*design, runs, EDITIONS.get(design[0], 1)])


def holm(p_values: dict[Any, float]) -> dict[Any, float]:
    """Adjusted p-values (Holm 1979)."""
    ordered = sorted(p_values, key=p_values.__getitem__)
    found, largest = {}, 0.0
    for place, key in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - place) * p_values[key]))
        found[key] = largest
    return found


# -------------------------------------------------------------------------------------------------------- copies

FINDINGS = {"memoriser": "copied-training-set", "near_copy": "near-copies"}


def structured_graphs(nodes: int) -> Make:
    """Graphs of one size with a mean degree of 4."""

    def make(rng: np.random.Generator, count: int) -> Any:
        first, second = np.triu_indices(nodes, 1)
        chosen = rng.random((count, len(first))) < 4 / (nodes - 1)
        pair = np.nonzero(chosen)[1]
        sizes = np.append(0, np.cumsum(chosen.sum(1)))
        return Graphs(np.full(count, nodes), sizes, np.stack([first[pair], second[pair]], axis=1))

    return make


COPIED: dict[str, Make] = {
    "18 bits": chained_bits,
    "40 bits": lambda rng, count: np.concatenate([chained_bits(rng, count) for _ in range(3)], axis=1)[:, :40],
    **{f"graphs of {nodes} nodes": structured_graphs(nodes) for nodes in (8, 10, 12, 16, 24, 40)},
}


def recognised(make: Make, how: str, runs: int) -> int:
    """In how many runs a generator that copies (or a perfect one) has the finding of its kind (or any)."""
    found = 0
    for run in range(runs):
        rng = np.random.default_rng([run, len(how)])
        real, train, fresh = (make(rng, 60) for _ in range(3))
        made = {"memoriser": train, "near_copy": near_copies(train, rng), "perfect": fresh}[how]
        evaluation = generation.evaluate(
            real=real, train=train, generated=made, metrics=["novelty", "nearer_to_training"], resamples=199, seed=run
        )
        checks = {finding.check for finding in evaluation.findings}
        found += bool(checks & (set(FINDINGS.values()) if how == "perfect" else {FINDINGS[how]}))
    return found


# --------------------------------------------------------------------------------------------------------- the page


def main(runs: int = 500, kept: str = "generation_levels.json") -> None:
    finished: dict[str, Any] = json.loads(Path(kept).read_text()) if Path(kept).exists() else {}
    for design in designs():
        name = design_name(design, runs)
        if name not in finished:
            finished[name] = coverage(*design, runs)
            Path(kept).write_text(json.dumps(finished))
    write_text(OUTPUT, page(finished, runs, max(runs // 25, 1)))


def page(finished: dict[str, Any], runs: int, tried: int) -> str:
    """The tables, of the designs that are finished."""
    counts = {design: finished[name] for design in designs() if (name := design_name(design, runs)) in finished}
    tests = {
        (design, key): float(binomtest(fits, of, 0.95, alternative="less").pvalue)
        for design, found in counts.items()
        for key, (fits, of) in found.items()
    }
    adjusted = holm(tests)
    lines = [
        "| samples | real : generated | valid | metrics | least in the band | of | p (Holm) |",
        "|---|---|---|---|---|---|---|",
    ]
    for design, found in counts.items():
        kind, n, m, rate = design
        least = min(found, key=lambda key: found[key][0] / found[key][1])
        fits, of = found[least]
        p = min(adjusted[design, key] for key in found)
        lines.append(f"| {kind} | {n} : {m} | {rate:.0%} | {len(found)} | `{least}` {fits} | {of} | {p:.2g} |")
    shares = sorted(fits / of for found in counts.values() for fits, of in found.values())
    lines += [
        "",
        f"Over all {len(shares)} cells: {shares[0]:.3f} to {shares[-1]:.3f}.",
        "",
    ]
    lines += ["| samples | memoriser | near copies | perfect |", "|---|---|---|---|"]
    for name, make in COPIED.items():
        cells = [f"{recognised(make, how, tried)} of {tried}" for how in ("memoriser", "near_copy", "perfect")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
