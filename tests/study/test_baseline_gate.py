"""`[[gate]]` with `against`: a study fails if a method became worse than its baseline by more than the margin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge

STUDY = """schema = 1
results = "{results}"
[[evaluate]]
family = "ranking"
dataset = "toy"
method = "ours"
seeds = [0, 1, 2, 3, 4, 5]
pos_scores = "{model}/{{seed}}.npy"
neg_scores = "neg.npy"

"""
GATE = """
[[gate]]
against = "{against}"
metric = "mrr"
margin = 0.02
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    draw = np.random.default_rng(0)
    np.save(place / "neg.npy", draw.normal(0, 1, (200, 10)))
    for model, shift in {"main": 0.0, "better": 0.3, "equal": 0.0, "worse": -0.4}.items():
        (place / model).mkdir()
        for seed in range(6):
            pos = np.random.default_rng(seed).normal(1, 1, 200)
            np.save(place / model / f"{seed}.npy", pos + shift)
        text = STUDY.format(results=f"results-{model}", model=model)
        gated = "" if model == "main" else GATE.format(against="results-main")
        (place / f"{model}.toml").write_text(text + gated)
    assert graphgauge("run", "main.toml", "--jobs", 1, cwd=place).returncode == 0
    return place


@pytest.mark.parametrize(("model", "code"), [("better", 0), ("equal", 0), ("worse", 1)])
def test_a_checkpoint_in_a_study(folder: Path, model: str, code: int) -> None:
    done = graphgauge("run", f"{model}.toml", "--jobs", 1, cwd=folder)
    assert done.returncode == code, done.stderr
    (gate,) = json.loads((folder / f"results-{model}" / "study.json").read_text())["gates"]
    assert gate["passed"] == (code == 0)
    assert gate["against"]["worse"] == ("shown" if code else "excluded")
    assert ("gate failed" if code else "gate passed") in done.stdout


def test_a_baseline_that_is_missing_is_said_before_anything_is_evaluated(folder: Path) -> None:
    text = (folder / "better.toml").read_text().replace("results-main", "nowhere").replace("results-better", "other")
    (folder / "missing.toml").write_text(text)
    done = graphgauge("run", "missing.toml", "--jobs", 1, cwd=folder)
    assert done.returncode == 3
    assert "nowhere: no such file or folder" in done.stderr
    assert not (folder / "other").exists()
