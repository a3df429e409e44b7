"""Small inputs of every form that an engine splits: `CASES[family, form](folder)` are arguments of `evaluate_files`."""

from __future__ import annotations

import numpy as np


def saved(folder, **arrays):
    """Arrays as files; their paths by name."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {name: str(folder / f"{name}.npy") for name in arrays}


def labels(folder, rng, n):
    paths = saved(folder, relation=rng.integers(0, 3, n), cluster=rng.integers(0, 9, n))
    return {"groups": {"relation": paths["relation"]}, "cluster": paths["cluster"]}


def matrix(folder):
    rng = np.random.default_rng(0)
    for number in range(4):
        saved(folder, **{f"pos-{number}": rng.normal(1, 1, 30).round(1), f"neg-{number}": rng.normal(0, 1, (30, 9))})
    return {
        "pos_scores": str(folder / "pos-*.npy"),
        "neg_scores": str(folder / "neg-*.npy"),
        "keep": "items",
        **labels(folder, rng, 120),
    }


def pool(folder):
    rng = np.random.default_rng(1)
    for number in range(4):
        saved(folder, **{f"pos-{number}": rng.normal(1, 1, 30).round(1), f"neg-{number}": rng.normal(0, 1, 90)})
    return {"pos_scores": str(folder / "pos-*.npy"), "neg_scores": str(folder / "neg-*.npy")}


def ragged(folder):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 12, 80)
    paths = saved(
        folder,
        pos_scores=rng.normal(1, 1, 80).round(1),
        neg_scores=rng.normal(0, 1, sizes.sum()).round(1),
        offsets=np.append(0, np.cumsum(sizes)),
        weights=rng.random(80) + 0.5,
    )
    return {**paths, "keep": "items", **labels(folder, rng, 80)}


def flat(folder):
    rng = np.random.default_rng(3)
    queries = np.repeat(rng.permutation(200)[:60], rng.integers(2, 9, 60))
    queries.sort()
    scores = rng.normal(0, 1, len(queries)).round(1)
    paths = saved(folder, scores=scores, labels=rng.random(len(queries)) < 0.4, queries=queries)
    return {**paths, "keep": "items", **labels(folder, rng, 60)}


def embeddings(folder):
    rng = np.random.default_rng(4)
    sizes = rng.integers(0, 4, 50)
    paths = saved(
        folder,
        queries_emb=rng.normal(0, 1, (50, 6)),
        entities=rng.normal(0, 1, (40, 6)),
        targets=rng.integers(0, 20, 50),
        known_values=rng.integers(20, 40, sizes.sum()),
        known_offsets=np.append(0, np.cumsum(sizes)),
        weights=rng.random(50) + 0.5,
    )
    return {**paths, "keep": "items", **labels(folder, rng, 50)}


def several_targets(folder):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 4, 50)
    values = np.concatenate([rng.choice(40, size, replace=False) for size in sizes])
    return saved(
        folder,
        queries_emb=rng.normal(0, 1, (50, 6)),
        entities=rng.normal(0, 1, (40, 6)),
        targets=values,
        target_offsets=np.append(0, np.cumsum(sizes)),
    )


def topk(folder):
    rng = np.random.default_rng(6)
    lists = np.stack([rng.permutation(30)[:8] for _ in range(50)])
    return {**saved(folder, topk=lists, targets=rng.integers(0, 30, 50)), "n_items": 30, "keep": "items"}


def recommender(folder):
    rng = np.random.default_rng(7)
    seen = rng.random((40, 25)) < 0.3
    tested = seen & (rng.random(seen.shape) < 0.5)
    return saved(
        folder,
        user_scores=rng.normal(0, 1, (40, 25)).round(1),
        test_items=np.argwhere(tested),
        train_items=np.argwhere(seen & ~tested),
    )


def triples(folder):
    rng = np.random.default_rng(8)
    facts = np.stack([rng.integers(0, 20, 70), rng.integers(0, 3, 70), rng.integers(0, 20, 70)], axis=1)
    paths = saved(
        folder,
        triples=facts[:30],
        known_triples=facts[30:],
        entities=rng.normal(0, 1, (20, 5)),
        relation_vectors=rng.normal(0, 1, (3, 5)),
    )
    return {**paths, "score": "distmult", "keep": "items"}


CASES = {
    ("ranking", "matrix"): matrix,
    ("ranking", "pool"): pool,
    ("ranking", "ragged"): ragged,
    ("ranking", "flat"): flat,
    ("ranking", "embeddings"): embeddings,
    ("ranking", "several targets"): several_targets,
    ("ranking", "top-k"): topk,
    ("ranking", "recommender"): recommender,
    ("ranking", "triples"): triples,
}
