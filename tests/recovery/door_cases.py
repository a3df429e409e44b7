"""Cases of the door to recovery."""

import numpy as np
from tests.doors.declared import Case

from graphgauge.recovery import Graph

TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
SCORES = np.array([[0, 0.8, 0.1, 0], [0, 0, 0.3, 0.7], [0, 0.6, 0, 0], [0.55, 0, 0, 0]])


def saved(matrix, stem):
    np.save(path := stem.with_suffix(".npy"), matrix)
    return str(path)


def listed(graph, stem):
    rows = [
        f"{source},{target},{weight}"
        for source, target, weight in zip(graph.source, graph.target, graph.weight, strict=True)
    ]
    (path := stem.with_suffix(".csv")).write_text("\n".join(["source,target,weight", *rows]) + "\n")
    return str(path)


def lines(names, stem):
    (path := stem.with_suffix(".txt")).write_text("\n".join(names) + "\n")
    return str(path)


MATRICES = {"true": saved, "pred": saved}
EDGES = {
    "true": Graph(["A", "C", "D"], ["B", "B", "A"]),
    "pred": Graph(["A", "A", "C", "B"], ["B", "C", "B", "D"], [0.9, 0.2, 0.6, 0.7]),
}
CASES = [
    Case("recovery", "", {"true": TRUTH, "pred": SCORES}, written=MATRICES),
    Case(
        "recovery",
        "",
        {"true": TRUTH, "pred": -SCORES.T},
        {"sign": "absolute", "orientation": ("column_to_row",), "threshold": 0.25, "metrics": ("directed_f1", "sid")},
        written=MATRICES,
    ),
    Case("recovery", "", {"true": TRUTH, "pred": TRUTH.T}, {"encoding": ("pcalg",)}, written=MATRICES),
    Case(
        "recovery",
        "",
        {**EDGES, "sources": ("A", "C")},
        {"nodes": ("A", "B", "C", "D"), "metrics": ("auprc", "tp")},
        written={"true": listed, "pred": listed, "sources": lines},
    ),
    Case("recovery", "", {"true": TRUTH, "pred": SCORES}, {"protocol": "notears"}, written=MATRICES),
]
