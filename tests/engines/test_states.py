"""States over files in parts: in one process, under Dask with workers that are killed, and in torch.distributed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from graphgauge.io.request import Request

SHARDS = 64


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("shards"), np.random.default_rng(0)
    for shard in range(SHARDS):
        size = int(draw.integers(20, 200))
        np.save(folder / f"pos-{shard}.npy", draw.integers(0, 30, size).astype(np.float32))
        np.save(folder / f"neg-{shard}.npy", draw.integers(0, 30, (size, 20)).astype(np.float32))
    return folder


def request(**fields):
    parts = {"pos_scores": "pos-*.npy", "neg_scores": "neg-*.npy", **fields}
    return Request(family="ranking", fields=parts).checked()


def written(evaluation, folder, name):
    """The result file and the values of its items."""
    (folder / name).mkdir()
    path = evaluation.save(folder / name / "result.json")
    return json.loads(path.read_text())["root"], (path.parent / "result.items.npz").read_bytes()


def test_parts_are_the_whole(shards, tmp_path):
    pos, neg = ([np.load(shards / f"{side}-{shard}.npy") for shard in range(SHARDS)] for side in ("pos", "neg"))
    np.save(tmp_path / "pos-0.npy", np.concatenate(pos))
    np.save(tmp_path / "neg-0.npy", np.concatenate(neg))
    whole, parts = request().evaluate(tmp_path), request().evaluate(shards)
    assert {key: each.value for key, each in parts.items()} == {key: each.value for key, each in whole.items()}
    assert parts["mrr"].interval == whole["mrr"].interval


def test_workers_that_are_killed_change_nothing(shards, tmp_path):
    distributed = pytest.importorskip("distributed")
    from graphgauge.engines import dask

    kills, stopped = [], threading.Event()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill() -> None:
            draw = np.random.default_rng(1)
            while not stopped.wait(0.5):
                workers = [each.process.pid for each in cluster.workers.values() if each.process and each.process.pid]
                if workers and len(kills) < 6:
                    with suppress(ProcessLookupError):
                        os.kill(int(draw.choice(workers)), signal.SIGKILL)
                        kills.append(time.monotonic())

        killer = threading.Thread(target=kill)
        killer.start()
        begin = time.monotonic()
        states = [dask.state_of(request(), client, shards)]
        while not kills and time.monotonic() - begin < 60:
            states.append(dask.state_of(request(), client, shards))
        stopped.set()
        killer.join()
    assert kills
    expected = written(request().evaluate(shards), tmp_path, "alone")
    for number, state in enumerate(states):
        assert written(request().evaluate(shards, state=state), tmp_path, f"dask{number}") == expected


def test_states_of_commands_merge_to_the_same_file(shards, tmp_path):
    halves = [request(pos_scores=f"pos-{digit}*.npy", neg_scores=f"neg-{digit}*.npy") for digit in "12"]
    first, second = halves[0].state(shards), halves[1].state(shards, start=10**6)
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    first.save(one)
    second.save(other)
    kind = type(first)
    forward = kind.load(one).merge(kind.load(other)).evaluate()
    backward = kind.load(other).merge(kind.load(one)).evaluate()
    assert {key: each.value for key, each in forward.items()} == {key: each.value for key, each in backward.items()}
    assert forward["mrr"].interval == backward["mrr"].interval


PROCESS = """
import json, sys
from pathlib import Path
import numpy as np
import torch.distributed as dist
from graphgauge.engines.distributed import merged
from graphgauge.ranking import RankingState

rank, world, store, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
state = RankingState()
for shard in range(rank, 64, world):
    state.update(np.load(folder / f"pos-{shard}.npy"), np.load(folder / f"neg-{shard}.npy"))
before, whole = state.n, merged(state)
twice = None
try:
    merged(RankingState(shard="the same everywhere").update([0.5], [[0.1]]))
except Exception as error:
    twice = str(error)
counted = {key: repr(each.value) for key, each in whole.evaluate().items()}
print(json.dumps([before == state.n, whole.n, counted, twice]))
dist.destroy_process_group()
"""


def test_processes_of_torch_have_one_answer(shards, tmp_path):
    world = 3
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(world), str(tmp_path / "store"), str(shards)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    answers = [json.loads(process.communicate(timeout=120)[0].splitlines()[-1]) for process in started]
    assert all(answer == answers[0] for answer in answers)
    unchanged, n, counted, twice = answers[0]
    expected = request().evaluate(shards)
    assert unchanged
    assert n == expected["mrr"].n
    assert counted == {key: repr(each.value) for key, each in expected.items()}
    assert "the same everywhere" in twice
