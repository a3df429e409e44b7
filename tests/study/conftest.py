"""A small study in a folder, and its results, made once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge

STUDY = """\
schema = 1
name = "two scorers"
results = "results/"

[defaults.ranking]
k = [1, 3]

[[evaluate]]
family = "ranking"
dataset = "toy"
methods = ["good", "poor"]
seeds = [0, 1, 2]
pos_scores = "scores/{method}/{seed}/pos.npy"
neg_scores = "scores/{method}/{seed}/neg.npy"
groups = { relation = "relation.npy" }

[[compare]]
metric = "mrr"
baseline = "poor"

[[gate]]
require = "mrr > 0.2"
method = "good"
"""
# A second family, so that there is one to lose.
RECOVERY = """
[[evaluate]]
family = "recovery"
dataset = "small"
methods = ["near", "far"]
seeds = [0, 1]
true = "graphs/true-{seed}.npy"
pred = "graphs/{method}-{seed}.npy"
"""


def write_scores(folder: Path, queries: int = 60, negatives: int = 20, seeds: int = 3) -> None:
    for number, method in enumerate(("poor", "good")):
        for seed in range(seeds):
            draw = np.random.default_rng([number, seed])
            place = folder / "scores" / method / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / "pos.npy", draw.normal(1 + number, 1, queries))
            neg = draw.normal(0, 1, (queries, negatives))
            np.save(place / "neg.npy", neg)
    np.save(folder / "relation.npy", np.arange(queries) % 3)


def write_graphs(folder: Path) -> None:
    (folder / "graphs").mkdir()
    for seed in range(2):
        draw = np.random.default_rng(seed)
        true = np.triu(draw.random((8, 8)) < 0.4, 1).astype(float)
        np.save(folder / "graphs" / f"true-{seed}.npy", true)
        for method, noise in (("near", 0.1), ("far", 0.4)):
            flipped = np.where(np.triu(draw.random((8, 8)) < noise, 1), 1 - true, true)
            np.save(folder / "graphs" / f"{method}-{seed}.npy", flipped)


def write_study(folder: Path) -> None:
    write_scores(folder)
    write_graphs(folder)
    (folder / "study.toml").write_text(STUDY + RECOVERY, encoding="utf-8")


def results_of(folder: Path) -> dict[str, bytes]:
    """Every file of the results that is not hidden, with `started` and `seconds` taken out."""
    found = {}
    for path in sorted(path for path in (folder / "results").rglob("*") if path.is_file()):
        name = path.relative_to(folder / "results").as_posix()
        if name.startswith(".") or "/." in name:
            continue
        content = path.read_bytes()
        if name.endswith(".json"):
            decoded = json.loads(content)
            for timing in ("started", "seconds"):
                decoded.get("receipt", {}).pop(timing, None)
            content = json.dumps(decoded, indent=1).encode()
        found[name] = content
    return found


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_study(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study and its results, to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    write_study(folder)
    done = graphgauge("run", "study.toml", "--jobs", 1, "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def finished(run_once: Path, tmp_path: Path) -> Path:
    shutil.copytree(run_once, tmp_path, dirs_exist_ok=True)
    return tmp_path
