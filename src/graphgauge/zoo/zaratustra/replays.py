"""The engine's embeddings of a given history, for counterfactual growth: births are given, smoothing is its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.evolution import GrownGraph
from graphgauge.zoo.zaratustra.engine import Settings, placed, smoothed


def replaying(settings: Settings | None = None) -> Callable[[GrownGraph], Floats]:
    """A function for `evolution.replay_growth(embed=…)`: smooths the embeddings of the start over every cycle.

    A new node is placed near the mean of its anchors; one whose births are withheld stays in the centre.
    """
    chosen = settings or Settings()

    def embed(graph: GrownGraph) -> Floats:
        if graph.embeddings is None:
            raise InputError(
                "the embeddings of the start are unknown", where="log", fix="Store them: begin(…, embeddings=)."
            )
        points = np.zeros((graph.num_nodes, graph.embeddings.shape[1]))
        points[: len(graph.embeddings)] = graph.embeddings
        rng = np.random.default_rng([graph.seed, 5])
        for cycle in range(graph.cycles):
            births, edges = graph.born_in(cycle), graph.at(cycle)
            for node in np.flatnonzero(graph.arrived == cycle).tolist():
                anchors = births[births[:, 0] == node, 1]
                noise = rng.standard_normal(points.shape[1])
                if len(anchors):
                    points[node] = placed(points[anchors], noise, chosen)
            degrees = np.bincount(edges.ravel(), minlength=graph.num_nodes)
            points = smoothed(points, edges, degrees, chosen)
        return points

    return embed


def embed() -> Callable[[GrownGraph], Floats]:
    """With the default settings: `--embed graphgauge.zoo.zaratustra.replays:embed`."""
    return replaying()
