"""The way in from files: the command, studies and `graphgauge.evaluate_files` have these inputs and options."""

from __future__ import annotations

from graphgauge.core.door import CONFIDENCE, METRICS, SEED, Door, Input

DOORS = (
    Door(
        "",
        "Found groups of nodes against the true ones.",
        "graphgauge_communities:evaluate",
        inputs=(
            Input("true", "The true group of each node.", "labels", required=True),
            Input("pred", "The found group of each node.", "labels", required=True),
            Input("train", "The group of each training node, for a check.", "labels"),
        ),
        common=(METRICS, CONFIDENCE, SEED),
        example="graphgauge communities --true truth.npy --pred found.npy",
    ),
)
