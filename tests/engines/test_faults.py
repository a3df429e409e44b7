"""The same 64 shards in every way, and on clusters whose workers are killed, stopped, or run out of memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil
import pytest
from tests.engines.processes import ALONE, ended, killed_one, started, workers_of

from graphgauge.core.errors import InputError
from graphgauge.core.progress import Progress
from graphgauge.old import ranking
from graphgauge.old.core import cluster as clusters
from graphgauge.old.engines.merge import merge_files

KEYS = ["mrr", "hits@3", "mean_rank", "median_rank", "adjusted_mrr"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    for number in range(64):
        np.save(folder / f"pos-{number:02}.npy", rng.normal(1, 1, 2000).round(2).astype(np.float32))
        np.save(folder / f"neg-{number:02}.npy", rng.normal(0, 1, (2000, 50)).round(2).astype(np.float32))
    return folder


def files(folder):
    return {"pos_scores": str(folder / "pos-*.npy"), "neg_scores": str(folder / "neg-*.npy"), "metrics": KEYS}


def values(content):
    """The values of a result, without what tells how it was asked for."""
    return json.dumps(content["results"], sort_keys=True)


@pytest.fixture(scope="module")
def serial(shards):
    return values(ranking.evaluate_files(**files(shards)).to_dict())


def counted(folder: Path, number: int) -> str:
    pair = {f"{side}_scores": folder / f"{side}-{number:02}.npy" for side in ("pos", "neg")}
    ranking.evaluate_files(**pair, save_state=folder / f"state-{number:02}.npz")
    return str(folder / f"state-{number:02}.npz")


@pytest.mark.slow
def test_two_processes_in_any_order(shards, serial):
    order = np.random.default_rng(1).permutation(64)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        states = list(pool.map(counted, [shards] * 64, map(int, order)))
    assert values(merge_files(states=states, metrics=KEYS).to_dict()) == serial


@pytest.mark.slow
def test_shuffled_shards(shards, serial):
    order = np.random.default_rng(2).permutation(64)
    given = {f"{side}_scores": [shards / f"{side}-{n:02}.npy" for n in order] for side in ("pos", "neg")}
    assert values(ranking.evaluate_files(**given, metrics=KEYS).to_dict()) == serial


@pytest.mark.slow
def test_dask_threads(shards, serial):
    import dask
    import dask.array as da

    from graphgauge.old.engines.dask import evaluate

    pos, neg = (
        da.concatenate(
            [da.from_array(np.load(path, mmap_mode="r"), chunks=-1) for path in sorted(shards.glob(pattern))]
        )
        for pattern in ("pos-*.npy", "neg-*.npy")
    )
    with dask.config.set(scheduler="threads"):
        assert values(evaluate("ranking", pos, neg, metrics=KEYS).to_dict()) == serial


@pytest.mark.slow
def test_two_workers(cluster, shards, serial, monkeypatch):
    monkeypatch.setattr("graphgauge.old.ranking.tasks.TASK_BYTES", 1 << 18)
    found = ranking.evaluate_files(**files(shards), engine="dask", scheduler=cluster.scheduler_address)
    assert values(found.to_dict()) == serial


@pytest.mark.slow
def test_two_ranks_of_torchrun(shards, serial):
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        "29577",
        str(Path(__file__).with_name("ranks.py")),
        str(shards),
        ",".join(KEYS),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=240, env={**os.environ, **ALONE})
    assert values(json.loads((shards / "torchrun.json").read_text())) == serial


class Killer(Progress):
    """Kills a worker with SIGKILL at random moments in the middle: three times in a run, and 20 times in all."""

    def __init__(self, others, rng):
        self.others, self.rng, self.killed = others, rng, 0
        self.again()

    def again(self):
        self.moments = set(self.rng.uniform(0.02, 0.9, 3).tolist())

    def stage(self, name, done, total, detail=""):
        due = {moment for moment in self.moments if moment <= done / total}
        self.moments -= due
        if due and self.killed < 20:
            time.sleep(self.rng.uniform(0, 0.3))
            self.killed += killed_one(os.getpid(), self.rng, self.others) is not None


@pytest.mark.slow
def test_twenty_kills_at_random_moments(shards, serial, monkeypatch):
    monkeypatch.setattr("graphgauge.old.ranking.tasks.TASK_BYTES", 1 << 17)
    killer = Killer({worker.pid for worker in workers_of(os.getpid())}, np.random.default_rng())
    while killer.killed < 20:
        killer.again()
        found = ranking.evaluate_files(**files(shards), engine="dask", threads=2, progress=killer)
        assert values(found.to_dict()) == serial


def doubled(number: int) -> int:
    time.sleep(0.05)
    return 2 * number


def greedy(_: int) -> int:
    held = []
    while True:
        held.append(np.ones(1 << 22))
        time.sleep(0.005)


def test_a_killed_worker_is_replaced(cluster):
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        found = []
        for answer in clusters.answers(client, doubled, range(30)):
            if not found:
                killed_one(os.getpid(), np.random.default_rng(0))
            found.append(answer)
    assert found == list(range(0, 60, 2))


@pytest.mark.slow
def test_a_cluster_of_our_own_listens_on_this_machine_only():
    with clusters.cluster(None, 1):
        own = [psutil.Process(), *workers_of(os.getpid())]
        heard = [entry.laddr.ip for each in own for entry in each.net_connections() if entry.status == "LISTEN"]
    assert heard
    assert set(heard) == {"127.0.0.1"}


@pytest.mark.slow
def test_a_stopped_worker_is_replaced(monkeypatch):
    monkeypatch.setitem(clusters._SETTINGS, "distributed.scheduler.worker-ttl", "5s")
    others = {worker.pid for worker in workers_of(os.getpid())}
    with clusters.cluster(None, 2) as client:
        found = []
        for answer in clusters.answers(client, doubled, range(40)):
            if not found:
                stopped = next(worker for worker in workers_of(os.getpid()) if worker.pid not in others)
                stopped.suspend()
            found.append(answer)
        assert found == list(range(0, 80, 2))


@pytest.mark.slow
def test_a_task_that_needs_too_much_memory_ends_the_run(monkeypatch):
    import distributed

    limited = distributed.LocalCluster
    monkeypatch.setitem(clusters._SETTINGS, "distributed.scheduler.allowed-failures", 2)
    monkeypatch.setattr(distributed, "LocalCluster", lambda **given: limited(**given, memory_limit="400MB"))
    with clusters.cluster(None, 1) as client, pytest.raises(InputError, match="died, one after the other"):
        list(clusters.answers(client, greedy, [0]))


@pytest.mark.slow
def test_an_interrupted_command_ends_its_cluster(shards):
    given = files(shards)
    process = started(
        ["ranking", "--pos-scores", given["pos_scores"], "--neg-scores", given["neg_scores"], "--engine", "dask"],
        shards,
    )
    while not workers_of(process.pid):
        time.sleep(0.05)
    family = workers_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    code, _, errors = ended(process, 60)
    assert code == 130, errors
    assert not [worker for worker in family if worker.is_running()]
