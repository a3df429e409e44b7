"""One of the processes of torchrun: counts every other shard, and writes the evaluation of all."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch.distributed as dist

from graphgauge.old.engines.distributed import merged
from graphgauge.old.ranking import RankingState


def main(folder: Path, keys: list[str]) -> None:
    dist.init_process_group("gloo")
    state = RankingState()
    shards = sorted(folder.glob("pos-*.npy"))
    for shard in shards[dist.get_rank() :: dist.get_world_size()]:
        state.update(np.load(shard), np.load(shard.with_name(shard.name.replace("pos", "neg"))))
    evaluation = merged(state).evaluate(metrics=keys)
    if os.environ["RANK"] == "0":
        (folder / "torchrun.json").write_text(json.dumps(evaluation.to_dict(), sort_keys=True))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","))
