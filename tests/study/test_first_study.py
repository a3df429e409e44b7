"""The first hour with a study: `init` writes enough seeds, `run` says what it lacks and where its results are."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge.old.core.family import BUILT_IN
from graphgauge.old.stats import compare
from graphgauge.study.init import SEEDS, study_text
from graphgauge.study.parse import read_study

STUDY = """schema = 1
[[evaluate]]
family = "ranking"
dataset = "toy"
methods = ["a", "b"]
seeds = [0, 1]
pos_scores = "{method}/{seed}/pos.npy"
neg_scores = "{method}/{seed}/neg.npy"
[[compare]]
metric = "mrr"
[[gate]]
require = "mrr > 0"
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    draw = np.random.default_rng(0)
    for method, seed in product("ab", range(2)):
        place = tmp_path / method / str(seed)
        place.mkdir(parents=True)
        np.save(place / "pos.npy", draw.normal(1, 1, 20))
        np.save(place / "neg.npy", draw.normal(0, 1, (20, 4)))
    return tmp_path


def test_the_seeds_of_a_new_study_can_reject(tmp_path):
    runs = [{"method": m, "seed": s, "f1": s + (m == "b")} for m in "ab" for s in range(SEEDS)]
    (pair,) = compare(runs, metric="f1", direction="higher").tests
    assert pair.p_value < 0.05
    (tmp_path / "study.toml").write_text(study_text())
    found = read_study(tmp_path / "study.toml")
    counts = {(family, len({item.seed for item in found.items if item.family == family})) for family in BUILT_IN}
    assert counts == {(family, SEEDS) for family in BUILT_IN}


def test_a_plan_names_missing_inputs(study):
    (study / "b" / "1" / "neg.npy").unlink()
    done = graphgauge("run", "study.toml", "--plan", cwd=study)
    assert done.returncode == 0
    assert re.search(r"missing: b/1/neg\.npy", done.stderr)
    assert "a/0/pos.npy" not in done.stderr


def test_a_run_says_where_its_results_are(study):
    done = graphgauge("run", "study.toml", "--jobs", "1", cwd=study)
    assert done.returncode == 0, done.stderr
    assert "results are in results" in done.stderr


def test_if_everything_fails_the_first_reason_is_the_inputs(study):
    for path in study.glob("*/*/neg.npy"):
        path.write_bytes(b"nothing")
    done = graphgauge("run", "study.toml", "--jobs", "1", cwd=study)
    assert done.returncode == 4
    assert done.stderr.count("neg.npy") >= 4
    assert "unknown metric" not in done.stdout + done.stderr
    assert "Known: ." not in done.stdout + done.stderr
