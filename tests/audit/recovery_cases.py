"""Recovered graphs, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge import recovery

NODES = 20


def evaluate(truth, pred, **options):
    return recovery.evaluate(truth, pred, **{"metrics": "all", **options})


def materials(evaluation):
    """What the checks of an evaluation look at."""
    return {**evaluation._materials, "results": evaluation}


def dag(rng, edges=40):
    order = rng.permutation(NODES)
    cells = np.flatnonzero(np.triu(np.ones((NODES, NODES)), 1).ravel())
    upper = np.zeros(NODES * NODES, dtype=int)
    upper[rng.choice(cells, edges, replace=False)] = 1
    graph = np.zeros((NODES, NODES), dtype=int)
    graph[np.ix_(order, order)] = upper.reshape(NODES, NODES)
    return graph


def scores(rng, truth, signal=2.0):
    """Scores around 0.2, those of true edges higher; half of what is right is turned round by the way."""
    pred = np.clip(0.15 * rng.normal(1, 1, truth.shape) + 0.15 * signal * truth, 0, 1)
    np.fill_diagonal(pred, 0)
    return pred


def recovered(rng):
    truth = dag(rng)
    return materials(evaluate(truth, scores(rng, truth, 3.0)))


def unoriented(rng):
    """A prediction that knows the skeleton and guesses the directions."""
    truth = dag(rng)
    found = np.triu(truth | truth.T, 1)
    forward = rng.random(found.shape) < 0.5
    return materials(evaluate(truth, (found * forward + (found * ~forward).T).astype(float)))


def transposed(rng, signal):
    truth = dag(rng)
    return materials(evaluate(truth, scores(rng, truth.T, signal)))


def too_many(rng, extra):
    truth = dag(rng)
    pred = truth.astype(float)
    pred[rng.random(truth.shape) < extra] = 1
    np.fill_diagonal(pred, 0)
    return materials(evaluate(truth, pred))


def by_chance(rng, edges):
    pred = dag(rng, edges).astype(float)
    return materials(evaluate(dag(rng), pred))


def chosen(rng, signal):
    truth = dag(rng)
    pred = scores(rng, truth, signal)
    best = evaluate(truth, pred, metrics=["best_threshold"])["best_threshold"].value
    return materials(evaluate(truth, pred, threshold=best))


def fixed(rng):
    truth = dag(rng)
    return materials(evaluate(truth, scores(rng, truth, 3.0), threshold=float(rng.choice([0.3, 0.35, 0.4, 0.5]))))


def linear(rng, noise, standardised=False):
    """Linear data whose noise is so large against what is inherited."""
    truth = dag(rng)
    weights = truth * rng.uniform(0.5, 2, truth.shape) * rng.choice([-1, 1], truth.shape)
    mixing = np.linalg.inv(np.eye(NODES) - weights)
    scale = noise * np.exp(rng.normal(0, 1, NODES)) + (1 - noise)
    data = (rng.normal(0, 1, (300, NODES)) * scale) @ mixing
    if standardised:
        data /= data.std(axis=0)
    return {**materials(evaluate(truth, truth.astype(float))), "data": data}


def with_loops(rng, loops):
    truth = dag(rng)
    pred = scores(rng, truth, 3.0)
    pred[np.arange(loops), np.arange(loops)] = 0.9
    return materials(evaluate(truth, pred))


def with_gaps(rng, cells):
    truth = dag(rng)
    pred = scores(rng, truth, 3.0)
    pred.flat[1 : cells + 1] = np.nan
    return materials(evaluate(truth, pred, nan="omit"))


CASES = [
    Case("self-loops", recovered, with_loops, {"one": 1, "five": 5, "twenty": 20}),
    Case("cells-without-a-score", recovered, with_gaps, {"one": 1, "five": 5, "ten": 10}),
    Case(
        "transposed-prediction",
        unoriented,
        transposed,
        {"weak scores": 2.5, "good ones": 3.5, "nearly perfect ones": 6.0},
    ),
    Case("worse-than-empty", recovered, too_many, {"15 % of the cells extra": 0.15, "25 %": 0.25, "60 %": 0.6}),
    Case("no-better-than-random", recovered, by_chance, {"20 edges at random": 20, "40": 40, "80": 80}),
    Case("threshold-from-truth", fixed, chosen, {"weak scores": 1.0, "good ones": 2.0, "nearly perfect ones": 4.0}),
    Case(
        "variance-tells-order",
        lambda rng: linear(rng, 0.5, standardised=True),
        linear,
        {"noise of very different scales": 1.0, "of different scales": 0.5, "of one scale": 0.0},
    ),
]
