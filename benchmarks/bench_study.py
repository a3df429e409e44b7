"""Studies: the cost of `graphgauge run` beyond its library calls, and of hashing the inputs.

Ours is a whole run, start to end, with one worker. The library in a loop is one process that reads the same files,
evaluates them and writes the result files, start to end too.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, Work, running, seconds, within

GRAPHGAUGE = str(Path(sys.executable).parent / "graphgauge")
LIBRARY, HASHING = "the library in a loop", "`run` with hashing"

_STUDY = """\
schema = 1
[[evaluate]]
family = "ranking"
dataset = "bench"
method = "model"
seeds = {seeds}
pos_scores = "{{seed}}/pos.npy"
neg_scores = "{{seed}}/neg.npy"
metrics = "{metrics}"
"""

_LOOP = """\
import sys
from graphgauge.old.core.schema import write_result
from graphgauge.ranking import evaluate_files
for seed in sys.argv[2:]:
    evaluation = evaluate_files(pos_scores=f"{seed}/pos.npy", neg_scores=f"{seed}/neg.npy", metrics=sys.argv[1])
    write_result(evaluation, f"out/{seed}.json")
"""


@dataclass(frozen=True)
class Folder:
    path: Path
    seeds: int
    metrics: str

    def close(self) -> None:
        shutil.rmtree(self.path)


def scores(queries: int, negatives: int, seeds: int, metrics: str) -> Folder:
    folder = Path(tempfile.mkdtemp(prefix="graphgauge-bench-"))
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        (folder / str(seed)).mkdir()
        np.save(folder / str(seed) / "pos.npy", random.random(queries, dtype=np.float32))
        np.save(folder / str(seed) / "neg.npy", random.random((queries, negatives), dtype=np.float32))
    (folder / "study.toml").write_text(_STUDY.format(seeds=list(range(seeds)), metrics=metrics))
    return Folder(folder, seeds, metrics)


def run_study(data: Folder, *, hashing: bool) -> Work:
    """A first run; if hashing should not count, the hashes of the inputs are already known."""
    run, results = _run(data), data.path / "results"

    def work() -> None:
        for path in results.rglob("*.json"):
            if hashing or path.name != "hashes.json":
                path.unlink()
        run()

    return work


def up_to_date(data: Folder) -> Work:
    return _run(data)


def _run(data: Folder) -> Work:
    for path in data.path.rglob("*.npy"):  # hashes are cached only for files that were not just written
        os.utime(path, (1e9, 1e9))
    run = running([GRAPHGAUGE, "run", str(data.path / "study.toml"), "--jobs", "1", "--quiet"])
    run()
    return run


def hashing(data: Folder) -> Work:
    """The hash of every input, which a run needs once."""
    from graphgauge.old.io.hashing import HashIndex

    paths = [path.relative_to(data.path) for path in data.path.rglob("*.npy")]
    return lambda: [HashIndex(data.path).hash(path) for path in paths]


def library(data: Folder) -> Work:
    script = data.path / "loop.py"
    script.write_text(_LOOP)
    seeds = " ".join(map(str, range(data.seeds)))
    return running(["sh", "-c", f"cd {data.path} && {sys.executable} loop.py {data.metrics} {seeds}"])


ROWS = (
    Row(
        "12 evaluations of about a second (pooled AUC of 3.2 M scores) through `run`, hashes known",
        make=partial(scores, 32_000, 100, 12, "roc_auc,average_precision,mrr"),
        ours=partial(run_study, hashing=False),
        peers={LIBRARY: library, HASHING: partial(run_study, hashing=True)},
        goals=(within(1.05, LIBRARY),),
        rounds=3,
        peer_seconds=600,
    ),
    Row(
        "hashing 256 MB of inputs",
        make=partial(scores, 640_000, 100, 1, "mrr"),
        ours=hashing,
        goals=(seconds(1),),
        rounds=5,
    ),
    Row(
        "1,000 results that are up to date",
        make=partial(scores, 20, 5, 1000, "mrr"),
        ours=up_to_date,
        goals=(seconds(10),),
        rounds=3,
    ),
)
