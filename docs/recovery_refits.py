"""Simulates whether the spread over bootstrap refits covers the expected value of a metric.

    python docs/recovery_refits.py

writes docs/recovery_benchmark/coverage.inc. Truths are fixed random DAGs. The expected value of a metric is its mean
over data sets of one size, drawn from one truth. For each data set a learner is refitted to bootstrap samples, and the
middle 95 % of the refits are an interval: how often does it contain the expected value?
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.files import write_text

OUTPUT = Path(__file__).parent / "recovery_benchmark" / "coverage.inc"
NODES, TRUTHS, DATASETS, REFITS = 6, 5, 200, 100
SIZES = (100, 500)
LEVEL = 2.576  # Fisher's z at .01
METRICS = ("skeleton_f1", "directed_f1", "directed_shd")


def truth_and_weights(draw: np.random.Generator) -> tuple[Any, Any]:
    shape = (NODES, NODES)
    while True:
        weights = np.triu(draw.choice([-1, 1], shape) * draw.uniform(0.4, 1, shape) * (draw.random(shape) < 0.4), 1)
        if np.count_nonzero(weights) >= 4:
            order = draw.permutation(NODES)
            weights = weights[np.ix_(order, order)]
            return weights != 0, weights


def data_of(weights: Any, size: int, draw: np.random.Generator) -> Any:
    return draw.normal(size=(size, NODES)) @ np.linalg.inv(np.eye(NODES) - weights)


def covariances(data: Any, draw: np.random.Generator) -> Any:
    """Those of the data and of its bootstrap samples, (1 + refits, d, d)."""
    size = len(data)
    times = np.vstack([np.ones(size), draw.multinomial(size, np.full(size, 1 / size), REFITS)])
    means = times @ data / size
    return np.einsum("bn,ni,nj->bij", times, data, data) / size - means[:, :, None] * means[:, None, :]


def least_squares(covariance: Any, size: int) -> Any:
    """Each variable on those of smaller variance, by least squares; weights of more than .2 are edges."""
    graphs = np.zeros(covariance.shape, bool)
    for graph, own in zip(graphs, covariance, strict=True):
        order = np.argsort(np.diagonal(own))
        for place in range(1, NODES):
            node, before = order[place], order[:place]
            graph[before, node] = np.abs(np.linalg.solve(own[np.ix_(before, before)], own[before, node])) > 0.2
    return graphs


def pc(covariance: Any, size: int) -> Any:
    """PC with Fisher's z and up to two conditioning variables; undirected edges are in both cells."""
    runs = len(covariance)
    adjacent = np.broadcast_to(~np.eye(NODES, dtype=bool), covariance.shape).copy()
    separators: list[dict[tuple[int, int], tuple[int, ...]]] = [{} for _ in range(runs)]
    for given in range(3):
        before = adjacent.copy()
        for i, j in combinations(range(NODES), 2):
            others = [node for node in range(NODES) if node not in (i, j)]
            for chosen in combinations(others, given):
                near = before[:, [i], list(chosen)].all(-1) | before[:, [j], list(chosen)].all(-1) if chosen else True
                open_runs = np.flatnonzero(adjacent[:, i, j] & near)
                if not len(open_runs):
                    continue
                part = [i, j, *chosen]
                inverse = np.linalg.inv(covariance[np.ix_(open_runs, part, part)])
                partial = -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
                z = np.abs(np.arctanh(np.clip(partial, -0.999999, 0.999999))) * np.sqrt(size - given - 3)
                for run in open_runs[z < LEVEL]:
                    adjacent[run, i, j] = adjacent[run, j, i] = False
                    separators[run][i, j] = chosen
    return np.array([_directed(*pair) for pair in zip(adjacent, separators, strict=True)])


def _directed(skeleton: Any, separators: dict[tuple[int, int], tuple[int, ...]]) -> Any:
    """V-structures, and Meek's first two rules."""
    graph = skeleton.copy()
    for (a, b), chosen in separators.items():
        for c in np.flatnonzero(skeleton[a] & skeleton[b]):
            if c not in chosen:
                graph[c, a] = graph[c, b] = False
    while True:
        arrows, lines = graph & ~graph.T, graph & graph.T
        apart = (~skeleton & ~np.eye(NODES, dtype=bool)).astype(int)
        follows = lines & ((arrows.T.astype(int) @ apart > 0) | (arrows.astype(int) @ arrows.astype(int) > 0))
        follows &= ~follows.T
        if not follows.any():
            return graph
        graph &= ~follows.T


def scores(truth: Any, graphs: Any) -> Any:
    """The metrics of each graph, (graphs, metrics); transcribed, because the library evaluates one graph at a time."""
    turned = graphs.transpose(0, 2, 1)
    arrows, adjacent, real = graphs & ~turned, graphs | turned, truth | truth.T
    upper = np.triu(np.ones_like(truth), 1).astype(bool)
    count = lambda cells: (cells & upper).sum((1, 2))  # noqa: E731
    skeleton = 2 * count(adjacent & real) / np.maximum(1, count(adjacent) + (real & upper).sum())
    directed = 2 * (arrows & truth).sum((1, 2)) / np.maximum(1, arrows.sum((1, 2)) + truth.sum())
    distance = count((graphs != truth) | (turned != truth.T))
    return np.stack([skeleton, directed, distance], 1).astype(float)


def simulate(learner: Callable[[Any, int], Any], size: int) -> list[list[str]]:
    fits, middles, inside, reflected, claims = [], [], [], [], []
    for number in range(TRUTHS):
        draw = np.random.default_rng(number)
        truth, weights = truth_and_weights(draw)
        found = np.array(
            [scores(truth, learner(covariances(data_of(weights, size, draw), draw), size)) for _ in range(DATASETS)]
        )
        own, refits = found[:, 0], found[:, 1:]
        expected = own.mean(0)
        low, high = np.quantile(refits, [0.025, 0.975], axis=1)
        fits.append(own.mean(0))
        middles.append(refits.mean((0, 1)))
        inside.append(((low <= expected) & (expected <= high)).mean(0))
        mirrored = 2 * own - high, 2 * own - low
        reflected.append(((mirrored[0] <= expected) & (expected <= mirrored[1])).mean(0))
        closer = (refits[:, :, 2] < truth.sum()).mean(1) >= 0.975
        claims.append((closer.sum(), (closer & (expected[2] < truth.sum())).sum()))
    fit, middle = np.mean(fits, 0), np.mean(middles, 0)
    made, right = np.sum(claims, 0)
    claim = f"{right} of {made}" if made else "never made"
    return [
        [
            metric,
            f"{fit[k]:.2f}",
            f"{middle[k]:.2f}",
            f"{np.mean(inside, 0)[k]:.2f}",
            f"{np.min(inside, 0)[k]:.2f}",
            f"{np.mean(reflected, 0)[k]:.2f}",
            claim if metric == "directed_shd" else "–",
        ]
        for k, metric in enumerate(METRICS)
    ]


def main() -> None:
    head = [
        "learner",
        "samples",
        "metric",
        "expected",
        "mean of refits",
        "coverage",
        "smallest of 5 truths",
        "coverage, reflected",
        "“closer than the empty graph” right",
    ]
    rows = [
        [name, str(size), *row]
        for name, learner in (("PC", pc), ("least squares", least_squares))
        for size in SIZES
        for row in simulate(learner, size)
    ]
    table = [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]
    write_text(OUTPUT, "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
