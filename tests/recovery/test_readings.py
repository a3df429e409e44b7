"""NOTEARS, LiNGAM, PC and FCI in one table: how an output was read keeps no method out, what is measured does."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli

SEEDS = range(7)
READ = {
    "NOTEARS": ["--sign", "absolute", "--threshold", "0.3"],
    "LiNGAM": ["--sign", "absolute", "--threshold", "0.1", "--orientation", "column_to_row"],
    "PC": ["--encoding", "pcalg"],
    "FCI": ["--encoding", "pcalg-pag"],
}


def written(method, truth, draw):
    """What each tool writes for the same noisy graph."""
    keep = truth & (draw.random(truth.shape) < 0.8)
    weights = keep * draw.choice([-1, 1], truth.shape) * draw.uniform(0.4, 1, truth.shape)
    if method == "NOTEARS":
        return weights
    if method == "LiNGAM":
        return weights.T
    if method == "PC":
        line = keep & (draw.random(truth.shape) < 0.3)
        return (keep.T | line).astype(int)
    return np.where(keep, 2, np.where(keep.T, 1 + 2 * (draw.random(truth.shape) < 0.5), 0))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        truth = np.triu(draw.random((8, 8)) < 0.4, 1)
        np.save(folder / f"truth-{seed}.npy", truth.astype(int))
        for method, reading in READ.items():
            np.save(folder / f"{method}-{seed}.npy", written(method, truth, draw))
            done = run(
                "recovery",
                "--true",
                folder / f"truth-{seed}.npy",
                "--pred",
                folder / f"{method}-{seed}.npy",
                *reading,
                "--metrics",
                "all",
                "--method",
                method,
                "--dataset",
                "toy",
                "--run-seed",
                seed,
                "-o",
                folder / "results" / f"{method}-{seed}.json",
            )
            assert done.exit_code == 0, (done.output, done.exception)
    return folder


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


def test_all_methods_are_in_one_table(results):
    for metric in ("skeleton_f1", "arrowhead_f1", "directed_shd"):
        done = run("aggregate", results / "results", "--metric", metric)
        assert done.exit_code == 0, (done.output, done.exception)
        assert all(method in done.output for method in READ)
        done = run("compare", results / "results", "--metric", metric)
        assert done.exit_code == 0, (done.output, done.exception)
    table = run("aggregate", results / "results", "--metric", "skeleton_f1").output
    assert all(method in table for method in READ)


def test_the_report_has_every_run(results):
    done = run("report", results / "results", "-o", results / "page.html")
    assert done.exit_code == 0, (done.output, done.exception)
    page = (results / "page.html").read_text(encoding="utf-8")
    assert all(method in page for method in READ)
    assert re.search(rf"\b{len(SEEDS) * len(READ)}\b", page)


def test_readings_are_recorded_per_run(results):
    content = json.loads((results / "results" / "LiNGAM-0.json").read_text())
    assert content["conventions"]["orientation"] == "column_to_row"
    content = json.loads((results / "results" / "FCI-0.json").read_text())
    assert content["conventions"]["classes"].startswith("DAG and")


def test_what_changes_the_metric_is_refused(results, tmp_path):
    for method, kind in (("NOTEARS", "pair"), ("PC", "cell")):
        for seed in SEEDS:
            done = run(
                "recovery",
                "--true",
                results / f"truth-{seed}.npy",
                "--pred",
                results / f"{method}-{seed}.npy",
                *READ[method],
                "--shd",
                kind,
                "--method",
                method,
                "--dataset",
                "toy",
                "--run-seed",
                seed,
                "-o",
                tmp_path / f"{method}-{seed}.json",
            )
            assert done.exit_code == 0
    done = run("compare", tmp_path, "--metric", "directed_shd")
    assert "different conventions" in str(done.exception or done.output)
