"""Cases of the door to evolution."""

from pathlib import Path
from typing import Any

import numpy as np
from tests.doors.declared import Case
from tests.evolution.grown import block_graph, cycles

from graphgauge.evolution import Log

GRAPH = block_graph()
RUNS = [each | {"condition": name} for name in ("a", "b") for seed in range(2) for each in cycles(seed, weight=0.2)]
EVENTS = {
    "source": np.concatenate([GRAPH.edges[:, 0], [0, 1, 2]]),
    "target": np.concatenate([GRAPH.edges[:, 1], [60, 61, 62]]),
    "cycle": np.repeat([0, 1], [len(GRAPH.edges), 3]),
}


def stored(given: Any, stem: Path) -> str:
    log = Log(stem)
    for each in given:
        run = each["condition"], each["seed"]
        log.begin(*run, edges=each["previous_edges"], embeddings=each["previous_embeddings"])
        if log.next_cycle(*run) > each["cycle"]:  # the folder is written again
            continue
        log.append(*run, each["cycle"], embeddings=each["embeddings"], new_edges=each["new_edges"])
    return str(stem)


def table(given: Any, stem: Path) -> str:
    rows = zip(*(column.tolist() for column in given.values()), strict=True)
    lines = [",".join(given), *(",".join(map(str, row)) for row in rows)]
    path = stem.with_suffix(".csv")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


SIGNATURES = {"": ["graphgauge.evolution.evaluate:evaluate"]}
CASES = [
    Case("evolution", "", {"log": RUNS, "labels": GRAPH.labels}, {"seed": 3}, {"log": stored}),
    Case("evolution", "", {"log": RUNS[:3]}, {"metrics": "all", "negatives": 2, "score": "dot"}, {"log": stored}),
    Case("evolution", "", {"log": EVENTS, "embeddings": GRAPH.points}, {"negatives": "all"}, {"log": table}),
]
