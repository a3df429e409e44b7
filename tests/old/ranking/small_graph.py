"""A small knowledge graph and a model that is trained on it in a second, for tests of adaptive evaluation.

Like FB15k-237 it has few frequent relations and many rare ones, of different difficulty, and entities with many and
with few triples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ENTITIES, RELATIONS, WIDTH, TRIPLES, TEST = 300, 20, 16, 8_000, 3_000


class Model(NamedTuple):
    """DistMult: embeddings of entities and relations; a relation asked backwards is the same."""

    entities: np.ndarray
    relations: np.ndarray


class SmallGraph(NamedTuple):
    train: np.ndarray
    test: np.ndarray
    model: Model
    earlier: Model


def small_graph(steps: int = 40, before: int = 25) -> SmallGraph:
    rng = np.random.default_rng(5)
    drawn = 3 * TRIPLES
    relation = np.minimum(rng.zipf(1.5, drawn) - 1, RELATIONS - 1)
    # Each relation has its own tails, the more the higher its number; each group of heads has its own favourites.
    size = 8 + 3 * np.arange(RELATIONS)
    tails = np.argsort(rng.random((RELATIONS, ENTITIES)), axis=1)
    heads = np.minimum((ENTITIES * rng.random(drawn) ** 1.5).astype(int), ENTITIES - 1)
    favourite = rng.integers(0, 1000, (RELATIONS, 6))[relation, heads % 6]
    place = (favourite + rng.zipf(1.8, drawn)) % size[relation]
    triples = np.unique(np.stack([heads, relation, tails[relation, place]], axis=1), axis=0)
    triples = rng.permutation(triples)[:TRIPLES]
    train, test = triples[TEST:], triples[:TEST]
    model, earlier = _trained(train, steps, before)
    return SmallGraph(train, test, model, earlier)


def _trained(triples: np.ndarray, steps: int, before: int) -> tuple[Model, Model]:
    """Softmax over all tails and all heads, by Adam on random halves."""
    rng = np.random.default_rng(6)
    tables = [0.3 * rng.normal(size=(size, WIDTH)).astype(np.float32) for size in (ENTITIES, RELATIONS)]
    moments = [[np.zeros_like(table), np.zeros_like(table)] for table in tables]
    earlier = Model(*tables)
    for step in range(1, steps + 1):
        rows = triples[rng.random(len(triples)) < 0.5]
        slopes = [np.zeros_like(table) for table in tables]
        for given, answer in ((rows[:, 0], rows[:, 2]), (rows[:, 2], rows[:, 0])):
            known, kind = tables[0][given], tables[1][rows[:, 1]]
            logits = (known * kind) @ tables[0].T
            share = np.exp(logits - logits.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            share[np.arange(len(rows)), answer] -= 1
            share /= len(rows)
            back = share @ tables[0]
            slopes[0] += share.T @ (known * kind)
            np.add.at(slopes[0], given, back * kind)
            np.add.at(slopes[1], rows[:, 1], back * known)
        for table, slope, (first, second) in zip(tables, slopes, moments, strict=True):
            first += 0.1 * (slope - first)
            second += 0.01 * (slope**2 - second)
            table -= 0.1 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        if step == before:
            earlier = Model(*(table.copy() for table in tables))
    return Model(*tables), earlier
