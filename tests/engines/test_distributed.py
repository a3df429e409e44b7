"""torch.distributed: real processes, each with its share, and one answer in all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from graphgauge.core.errors import InputError
from graphgauge.old import ranking
from graphgauge.old.engines.distributed import merged

WORLD = 3
PROCESS = """
import json, sys
import numpy as np
import torch.distributed as dist
sys.path.insert(0, sys.argv[6])
from graphgauge.old import ranking
from graphgauge.old.engines.distributed import merged

rank, world, store, data = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], np.load(sys.argv[4])
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
put = np.asarray
if sys.argv[5] == "device":
    from tests.simulated import Simulated
    simulated = Simulated()
    simulated.__enter__()
    put = simulated.put
mine = slice(rank, None, world)
pos, neg, side = put(data["pos"][mine]), put(data["neg"][mine]), data["side"][mine]
ranks = ranking.RankingState().update(pos, neg, groups={"side": side})
before = ranks.n
whole = merged(ranks)
assert (ranks.n, whole.n) == (before, len(data["pos"]))  # what this process counted is left alone

answers = {key: result.value for key, result in whole.evaluate().items()}
if sys.argv[5] == "device":
    assert simulated.copied > 0  # counted there
twice = None
try:
    merged(ranking.RankingState(shard="the same everywhere").update(data["pos"], data["neg"]))
except Exception as error:
    twice = str(error)
print(json.dumps({"answers": answers, "twice": twice}))
dist.destroy_process_group()
"""


@pytest.fixture
def data(rng):
    return {
        "pos": rng.normal(1, 1, 200).round(1),
        "neg": rng.normal(0, 1, (200, 9)).round(1),
        "side": rng.integers(0, 2, 200),
    }


@pytest.mark.parametrize("where", ["host", "device"])
def test_all_processes_have_the_answer_of_one(data, tmp_path, where):
    """States that were counted on a CUDA device, which is simulated, are those of the host."""
    np.savez(tmp_path / "data.npz", **data)
    script = tmp_path / "share.py"
    script.write_text(PROCESS)
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                str(script),
                str(rank),
                str(WORLD),
                str(tmp_path / "store"),
                str(tmp_path / "data.npz"),
                where,
                str(Path(__file__).parents[2]),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(WORLD)
    ]
    told = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert told[0]["answers"] == told[1]["answers"] == told[2]["answers"]
    assert all("the same everywhere" in each["twice"] for each in told)
    alone = ranking.evaluate(data["pos"], data["neg"], groups={"side": data["side"]})
    for key, result in alone.items():
        np.testing.assert_equal(told[0]["answers"][key], result.value)


def test_without_a_process_group_it_says_so():
    with pytest.raises(InputError, match="init_process_group"):
        merged(ranking.RankingState())


@pytest.mark.parametrize("bound", [None, "cuda:0"])
def test_nccl_is_given_tensors_of_the_gpu(data, bound, simulated, monkeypatch):
    """In one process, without NCCL itself."""
    sent = []

    def all_gather(parts, tensor, group):
        sent.append(tensor)
        for part in parts:
            part.copy_(tensor)

    running = SimpleNamespace(bound_device_id=bound)
    for name, answer in {"is_initialized": True, "get_backend": "nccl", "get_world_size": 1}.items():
        monkeypatch.setattr(torch.distributed, name, lambda *group, answer=answer: answer)
    monkeypatch.setattr(torch.distributed, "all_gather", all_gather)
    monkeypatch.setattr(torch.distributed, "group", SimpleNamespace(WORLD=running))
    state = ranking.RankingState().update(simulated.put(data["pos"]), simulated.put(data["neg"]))
    simulated.waits = 0
    assert merged(state).n == state.n
    assert len(sent) == 2
    assert all(tensor.is_cuda for tensor in sent)
    assert simulated.waits == 2  # the size, and the state
