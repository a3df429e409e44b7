"""What commands print stays short, and the demo is small and whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge as command

from graphgauge import ranking, recovery
from graphgauge.study import run
from graphgauge.study.ci import annotated, conclusion, junit, summary

AGGREGATED, RESUMED, DEMO = 2_500, 2_000, 6_000
PAGE, DATA = 500_000, 10_000_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo")
    done = command("demo", "--output", "here", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "here", done.stdout


def test_the_demo_says_who_leads_in_few_words(demo):
    folder, said = demo
    assert len(said) <= DEMO
    for family in ("ranking", "recovery", "forecasting", "generation", "explanation", "evolution", "prediction"):
        assert f"{family} on " in said
    assert (folder / "report.html").stat().st_size <= PAGE
    data = [path for path in folder.rglob("*") if path.is_file() and "results" not in path.parts]
    assert sum(path.stat().st_size for path in data) <= DATA


def test_a_table_of_many_results_is_short(tmp_path):
    """Two families, four methods on two datasets, six seeds: what a first study has."""
    draw = np.random.default_rng(0)
    for method in ("TransE", "ComplEx", "RotatE", "a baseline with a longer name"):
        for seed in range(6):
            pos, neg = draw.normal(1, 1, 60), draw.normal(0, 1, (60, 20))
            ranking.evaluate(pos, neg).save(tmp_path / "results", method=method, dataset="FB15k-237", seed=seed)
            truth = np.triu(draw.random((8, 8)) < 0.3, 1)
            found = recovery.evaluate(truth, truth ^ (draw.random((8, 8)) < 0.1))
            found.save(tmp_path / "results", method=method, dataset="a network of eight", seed=seed)
    assert len(list(tmp_path.rglob("metrics_*.json"))) == 48
    done = command("aggregate", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) + len(done.stderr) <= AGGREGATED


def test_a_resumed_run_is_short(demo):
    folder, _ = demo
    done = command("run", "study.toml", cwd=folder)
    assert done.returncode == 0
    assert len(done.stdout) + len(done.stderr) <= RESUMED
    assert len(done.stdout.splitlines()) <= 20


def test_the_demo_is_verified(demo):
    folder, _ = demo
    done = command("verify", "study.toml", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "holds"), done.stdout


def test_gates_for_ci_are_of_one_list(study, tmp_path):
    with (study / "study.toml").open("a") as stream:
        stream.write('[[gate]]\nrequire = "mrr >= 0.95"\nmethod = "poor"\n')
    done = command("run", "study.toml", "--junit", "j.xml", "--summary", "s.md", cwd=study, GITHUB_ACTIONS="true")
    assert done.returncode == 1
    gates = run(study / "study.toml").judgement.gates
    assert conclusion(gates) == "3 of 6 gates did not pass."
    assert (study / "j.xml").read_text() == junit(gates)
    assert (study / "s.md").read_text() == summary(gates, "two scorers")
    assert [line for line in done.stderr.splitlines() if line.startswith("::")] == annotated(gates)
    assert junit(gates).count("<failure ") == 3
