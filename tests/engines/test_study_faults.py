"""A study on a Dask cluster: the files of one machine, also if workers, the scheduler or the run itself are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from tests.engines.processes import ALONE, ended, killed_one, started, workers_of

from graphgauge.core.errors import OptionError
from graphgauge.study import run

STUDY = """
schema = 1
name = "Spread"
results = "results"
[[evaluate]]
family = "ranking"
dataset = "toy"
methods = [{methods}]
seeds = [{seeds}]
pos_scores = "data/{{method}}-{{seed}}-pos.npy"
neg_scores = "data/{{method}}-{{seed}}-neg.npy"
keep = "items"
"""


def study(folder, methods, seeds, rows=60):
    """A study of so many items; seed 0 of the last method is damaged."""
    (folder / "data").mkdir(parents=True)
    names, numbers = [f"m{number}" for number in range(methods)], range(seeds)
    rng = np.random.default_rng(0)
    for name in names:
        for number in numbers:
            np.save(folder / "data" / f"{name}-{number}-pos.npy", rng.normal(1, 1, rows).round(2))
            np.save(folder / "data" / f"{name}-{number}-neg.npy", rng.normal(0, 1, (rows, 9)).round(2))
    listed = {"methods": ", ".join(f'"{name}"' for name in names), "seeds": ", ".join(map(str, numbers))}
    (folder / "study.toml").write_text(STUDY.format(**listed))
    return folder


def without_clocks(value):
    if isinstance(value, dict):
        return {key: without_clocks(own) for key, own in value.items() if key not in ("started", "seconds")}
    return [without_clocks(own) for own in value] if isinstance(value, list) else value


def contents(folder):
    """All files of the results, without the times in receipts and in the index of hashes."""
    files = {path.relative_to(folder): path for path in sorted((folder / "results").rglob("*")) if path.is_file()}
    found = {name: path.read_bytes() for name, path in files.items() if "hashes" not in path.name}
    return {name: without_clocks(json.loads(text)) if name.suffix == ".json" else text for name, text in found.items()}


def damage(folder):
    (folder / "data" / "m0-0-neg.npy").write_bytes(b"no array")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same study on one machine."""
    folder = study(tmp_path_factory.mktemp("alone"), 2, 3)
    damage(folder)
    run(folder / "study.toml", jobs=2)
    return folder


def test_results_and_failures_are_those_of_one_machine(tmp_path, alone, cluster):
    folder = study(tmp_path / "spread", 2, 3)
    damage(folder)
    given = {"engine": "dask", "scheduler": cluster.scheduler_address}
    outcome = run(folder / "study.toml", **given)
    assert len(outcome.failed) == 1
    assert outcome.exit_code == 4
    assert contents(folder) == contents(alone)
    assert len(run(folder / "study.toml", **given).done) == 1  # only what failed is run again


def test_options_go_together(tmp_path):
    folder = study(tmp_path / "spread", 1, 1)
    with pytest.raises(OptionError, match="scheduler needs engine dask"):
        run(folder / "study.toml", scheduler="tcp://127.0.0.1:9")
    with pytest.raises(OptionError, match="jobs does not go with scheduler"):
        run(folder / "study.toml", engine="dask", scheduler="tcp://127.0.0.1:9", jobs=2)


@pytest.mark.slow
def test_two_hundred_items_with_two_random_kills(tmp_path):
    spread, one = study(tmp_path / "spread", 20, 10), study(tmp_path / "one", 20, 10)
    run(one / "study.toml", jobs=2)
    rng = np.random.default_rng()
    process = started(["run", "study.toml", "--engine", "dask", "--jobs", "2"], spread)
    done = 0
    for at in np.sort(rng.integers(5, 180, 2)):
        while done < at and (line := process.stderr.readline()):
            done += line.startswith("[")
        killed_one(process.pid, rng)
    code, _, errors = ended(process)
    assert code == 0, errors[-2000:]
    assert len(list((spread / "results").rglob("*.items.npz"))) == 200
    assert contents(spread) == contents(one)
    verified = ended(started(["verify", "results"], spread))
    assert verified[0] == 0
    assert "200 equal" in verified[1] + verified[2]


@pytest.mark.slow
def test_an_interrupted_run_ends_its_cluster_and_is_resumed(tmp_path):
    folder = study(tmp_path / "spread", 10, 10, rows=20_000)
    process = started(["run", "study.toml", "--engine", "dask", "--jobs", "2"], folder)
    while not (line := process.stderr.readline()).startswith("[4"):
        assert line
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C on a terminal
    code, _, errors = ended(process, 60)
    assert code == 130, errors[-2000:]
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    kept = len(list((folder / "results").rglob("*.items.npz")))
    assert 4 <= kept < 100
    assert len(run(folder / "study.toml", jobs=2).done) == 100 - kept


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_which_is_resumed(tmp_path):
    folder = study(tmp_path / "spread", 10, 10, rows=20_000)
    port = 28786 + os.getpid() % 1000
    address = f"tcp://127.0.0.1:{port}"

    def dask(*arguments):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments], env={**os.environ, **ALONE}, **quiet)

    options = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = dask("scheduler", *options, "--port", str(port))
    worker = dask("worker", address, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard")
    try:
        time.sleep(8)
        process = started(["run", "study.toml", "--engine", "dask", "--scheduler", address], folder)
        while not (line := process.stderr.readline()).startswith("[4"):
            assert line, process.stderr.read()
        scheduler.kill()
        code, _, errors = ended(process, 120)
    finally:
        for own in (worker, scheduler):
            own.kill()
            own.wait()
    assert code == 3, errors[-2000:]
    assert "the scheduler was lost" in errors
    kept = len(list((folder / "results").rglob("*.items.npz")))
    assert kept >= 4
    outcome = run(folder / "study.toml", jobs=2)
    assert not outcome.failed
    assert len(outcome.done) <= 100 - 4


@pytest.mark.slow
def test_workers_are_stopped_with_the_study(tmp_path):
    folder = study(tmp_path / "spread", 1, 2)
    before = set(workers_of(os.getpid()))  # of the cluster that the tests share
    run(folder / "study.toml", engine="dask", jobs=1)
    assert set(workers_of(os.getpid())) == before
