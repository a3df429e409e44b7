"""The door to evolution: stored runs, or a table of events, from files."""

from __future__ import annotations

from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, SEED, Door, Input, Option

DOORS = (
    Door(
        "",
        "The edges that a system added to its own graph, cycle by cycle.",
        "graphgauge.evolution.evaluate:evaluate",
        inputs=(
            Input(
                "log",
                "A folder of runs, CONDITION/seed-N/cycle-00000.npz …, or a table of events.",
                "graphgauge.evolution.evaluate:opened",
                required=True,
            ),
            Input("labels", "A label per original node; labels.npy in the folder by default.", "labels"),
            Input("embeddings", "The embeddings of the nodes, for a table of events."),
            Input("ids", "The id of each row of the embeddings, for a table of events.", "labels"),
            Input("node_types", "A type per node: births are compared with pairs of the same types.", "labels"),
            Input("test_edges", "Held-out edges (n, 2), for static_auc."),
        ),
        options=(
            Option("conditions", tuple[str, ...] | None, None, "Evaluate only these, in this order."),
            Option(
                "score", Literal["poincare", "euclidean", "cosine", "dot"], "poincare", "How pairs of nodes are scored."
            ),
            Option("directed", bool, False, "Edges have a direction."),
            Option("negatives", int | Literal["all"], 1, "Pairs without an edge drawn for each birth, or all.", 1),
        ),
        common=(METRICS, CONFIDENCE, NAN, SEED),
        example="graphgauge evolution --log runs --labels labels.npy",
    ),
)
