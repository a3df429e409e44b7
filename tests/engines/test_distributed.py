"""torch.distributed: real processes, each with its share, and one answer in all of them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from graphgauge import forecasting, ranking
from graphgauge.core.errors import InputError
from graphgauge.engines.distributed import merged

WORLD = 3
PROCESS = """
import json, sys
import numpy as np
import torch.distributed as dist
from graphgauge import forecasting, ranking
from graphgauge.engines.distributed import merged

rank, world, store, data = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], np.load(sys.argv[4])
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
mine = slice(rank, None, world)
ranks = ranking.RankingState().update(data["pos"][mine], data["neg"][mine], groups={"side": data["side"][mine]})
before = ranks.n
whole = merged(ranks)
assert (ranks.n, whole.n) == (before, len(data["pos"]))  # what this process counted is left alone

steps = np.array_split(np.arange(len(data["y"])), world)[rank]
series = forecasting.ForecastState(axes=("time", "node"))
if len(steps):
    series.update(data["y"][steps], data["mean"][steps], std=data["std"][steps], start=int(steps[0]))
answers = {key: result.value for key, result in whole.evaluate().items()}
answers |= {key: result.value for key, result in merged(series).evaluate(metrics=["mae", "rmse", "crps"]).items()}
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
        "pos": rng.normal(1, 1, 200).round(1), "neg": rng.normal(0, 1, (200, 9)).round(1),
        "side": rng.integers(0, 2, 200), "y": rng.normal(size=(90, 4)), "mean": rng.normal(size=(90, 4)),
        "std": np.abs(rng.normal(size=(90, 4))) + 0.5,
    }  # fmt: skip


def test_all_processes_have_the_answer_of_one(data, tmp_path):
    np.savez(tmp_path / "data.npz", **data)
    script = tmp_path / "share.py"
    script.write_text(PROCESS)
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(WORLD), str(tmp_path / "store"), str(tmp_path / "data.npz")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(WORLD)
    ]  # fmt: skip
    told = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert told[0] == told[1] == told[2]
    assert "the same everywhere" in told[0]["twice"]
    alone = ranking.evaluate(data["pos"], data["neg"], groups={"side": data["side"]})
    series = forecasting.evaluate(
        data["y"], data["mean"], std=data["std"], axes=("time", "node"), metrics=["mae", "rmse", "crps"]
    )
    for key, result in alone.items():
        np.testing.assert_equal(told[0]["answers"][key], result.value)
    for key, result in series.items():
        np.testing.assert_array_max_ulp(np.float64(told[0]["answers"][key]), np.float64(result.value), maxulp=1)


def test_without_a_process_group_it_says_so():
    with pytest.raises(InputError, match="init_process_group"):
        merged(ranking.RankingState())
