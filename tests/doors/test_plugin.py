"""A family of another package, installed: it has a command, studies, report, audit, laws and the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
STUDY = """\
schema = 1
[[evaluate]]
family = "communities"
dataset = "karate"
methods = ["good", "poor"]
seeds = [0, 1, 2, 3]
true = "true.npy"
pred = "{method}-{seed}.npy"
[[compare]]
metric = "nmi"
[[gate]]
require = "accuracy > 0.8"
method = "good"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package."""
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "plugin"
    _copy(ROOT / "examples" / "plugin", source)
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    subprocess.run([sys.executable, *install, str(folder), str(source)], check=True, capture_output=True, text=True)
    return folder


def _copy(source: Path, target: Path) -> None:
    """Building writes next to the source, which stays clean."""
    for path in [source / "pyproject.toml", source / "README.md", *source.glob("*/*.py")]:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("work"), np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    np.save(folder / "true.npy", truth)
    for method, wrong in (("good", 0.1), ("poor", 0.5)):
        for seed in range(4):
            noise = rng.random(60) < wrong
            np.save(folder / f"{method}-{seed}.npy", np.where(noise, rng.integers(0, 3, 60), truth))
    np.save(folder / "one.npy", np.zeros(60, int))
    (folder / "study.toml").write_text(STUDY)
    return folder


def ran(site: Path, work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=work, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)


def test_it_has_a_command_like_any_other(site: Path, work: Path) -> None:
    assert "communities" in ran(site, work, "graphgauge", "--help").stdout
    done = ran(
        site, work, "graphgauge", "communities", "--true", "true.npy", "--pred", "good-0.npy", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    results = {entry["key"]: entry for entry in json.loads(done.stdout)["results"]}
    truth, found = np.load(work / "true.npy"), np.load(work / "good-0.npy")
    assert results["accuracy"]["value"] == np.mean(truth == found)
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    assert results["nmi"]["value"] == pytest.approx(normalized_mutual_info_score(truth, found), abs=1e-12)
    assert results["ari"]["value"] == pytest.approx(adjusted_rand_score(truth, found), abs=1e-12)
    assert all(entry["interval"] and entry["references"] for entry in results.values())
    refused = ran(site, work, "graphgauge", "communities", "--true", "true.npy", "--pred", "absent.npy")
    assert refused.returncode == 3
    assert "absent.npy: no such file" in refused.stderr
    assert "Mutual information" in ran(site, work, "graphgauge", "metrics", "nmi").stdout


def test_its_checks_run(site: Path, work: Path) -> None:
    inputs = ("--true", "true.npy", "--pred", "one.npy")
    done = ran(site, work, "graphgauge", "communities", *inputs, "--train", "one.npy")
    assert "one-group-found" in done.stdout, done.stderr
    assert "2 of 3 true groups have no training node" in done.stdout


def test_a_study_runs_it_compares_verifies_and_reports(site: Path, work: Path) -> None:
    done = ran(site, work, "graphgauge", "run", "study.toml", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "hold." in done.stdout
    assert "good" in done.stdout
    verified = ran(site, work, "graphgauge", "verify", "study.toml")
    assert verified.returncode == 0, verified.stdout
    assert ran(site, work, "graphgauge", "report", "results", "-o", "page.html").returncode == 0
    page = (work / "page.html").read_text()
    assert "communities" in page
    assert "nmi" in page


def test_its_laws_are_checked(site: Path, work: Path) -> None:
    done = ran(site, work, "graphgauge.testing", "communities")
    assert done.returncode == 0, done.stderr
    assert "every law holds" in done.stdout


def test_its_checks_are_explained(site: Path, work: Path) -> None:
    done = ran(site, work, "graphgauge", "audit", "--explain", "one-group-found")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# `one-group-found`\n")
    assert "accuracy is the share of the largest class" in done.stdout
    assert "look at nmi and ari" in done.stdout


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package that cannot be imported."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "nothing_works.py").write_text("raise RuntimeError('no such device')\n")
    (folder / "nothing_works-1.dist-info").mkdir()
    (folder / "nothing_works-1.dist-info" / "METADATA").write_text("Name: nothing_works\nVersion: 1\n")
    (folder / "nothing_works-1.dist-info" / "entry_points.txt").write_text(
        "[graphgauge.families]\nbroken = nothing_works:FAMILY\n"
    )
    return folder


def test_a_package_that_cannot_be_loaded_does_not_stop_the_others(broken: Path, work: Path) -> None:
    np.save(work / "pos.npy", np.array([2.0, 1.0]))
    np.save(work / "neg.npy", np.array([[1.0], [3.0]]))
    helped = ran(broken, work, "graphgauge", "--help")
    assert helped.returncode == 0, helped.stderr
    assert "cannot be loaded (RuntimeError: no such device)" in " ".join(helped.stdout.split())
    ranked = ran(broken, work, "graphgauge", "ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy")
    assert ranked.returncode == 0, ranked.stderr
    refused = ran(broken, work, "graphgauge", "broken")
    assert refused.returncode == 2
    assert "'broken' of nothing_works cannot be loaded" in refused.stderr
    assert "Update or uninstall the package" in refused.stderr
