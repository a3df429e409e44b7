"""Cases of the doors to generation: files of every kind, columns by name, all sides in one file, a model."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.doors.declared import Case
from tests.generation.toy import case

from graphgauge.generation import Samples, Sides

RNG = np.random.default_rng(0)
FOLDER = Path(tempfile.mkdtemp(prefix="graphgauge-generation-"))
FEW = {"draws": 39}


def array(name: str, value: Any) -> Path:
    np.save(path := FOLDER / f"{name}.npy", np.asarray(value))
    return path


def graphs(name: str, seed: int) -> Path:
    draw = np.random.default_rng(seed)
    listed = []
    for _ in range(14):
        ends = np.argwhere(np.triu(draw.random((7, 7)) < 0.4, 1)).tolist()
        listed.append({"nodes": 7, "edges": ends, "node_labels": draw.choice(["C", "O"], 7).tolist()})
    (path := FOLDER / f"{name}.json").write_text(json.dumps(listed))
    return path


def same(path: Path, stem: Path) -> str:
    """The files of a case are written already."""
    return str(path)


def saved(sides: Sides, stem: Path) -> str:
    sides.save(path := stem.with_suffix(".npz"))
    return str(path)


def factory(given: Any, stem: Path) -> str:
    return f"{given.__module__}:{given.__name__}"


WRITTEN = dict.fromkeys(("real", "generated", "train", "column", "data"), same) | {
    "samples": saved,
    "subject": factory,
}
CODES = np.arange(24) % 2
BITS = {name: array(name, RNG.random((24, 3, 4)) < 0.4) for name in ("real", "generated", "train")}
COLUMNS = {
    "real.conditions": array("real-conditions", np.array(["a", "b"])[CODES]),
    "generated.conditions": array("conditions", np.array(["a", "b"])[CODES]),
    "generated.valid": array("valid", np.arange(24) % 7 > 0),
    "real.latents": array("latents", RNG.normal(size=(24, 3))),
}
STACKS = {
    name: array(f"{name}-stack", np.stack([each | each.T for each in np.triu(RNG.random((14, 6, 6)) < 0.4, 1)]))
    for name in ("real", "generated")
}
SIDES = Sides.from_samples(
    Samples(RNG.random((24, 8)) < 0.4, conditions=CODES), generated=Samples(RNG.random((24, 8)) < 0.4, conditions=CODES)
)

# What the doors pass their other options on to.
SIGNATURES = dict.fromkeys(("", "model"), ("graphgauge.generation:evaluate",))

CASES = [
    Case("generation", "", BITS, FEW, WRITTEN),
    Case(
        "generation",
        "",
        {**BITS, "column": COLUMNS},
        {**FEW, "metrics": "all", "labels": ("a", "b"), "ordered": True, "channels": ("x", "y", "z"), "seed": 3},
        WRITTEN,
    ),
    Case(
        "generation",
        "",
        {"real": graphs("real", 1), "generated": graphs("generated", 2), "train": graphs("train", 3)},
        {**FEW, "metrics": ("degree_mmd", "novelty"), "node_labels": (), "protocol": "gran"},
        WRITTEN,
    ),
    Case("generation", "", STACKS, {**FEW, "adjacency": "padded"}, WRITTEN),
    Case("generation", "", {"samples": SIDES}, {**FEW, "confidence": 0.9}, WRITTEN),
    Case(
        "generation",
        "model",
        {"subject": case},
        {**FEW, "num_samples": 20, "temperature": 0.7, "seed": 2, "metrics": ("reconstruction", "grade_conditioning")},
        WRITTEN,
    ),
]
