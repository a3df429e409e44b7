"""Cases of the doors of rankings."""

import numpy as np
from tests.doors.declared import Case

RNG = np.random.default_rng(2)
POS, NEG = RNG.normal(1, 1, 30), RNG.normal(0, 1, (30, 8))
SIDES = ["head", "tail"] * 15
SCORES, LABELS, QUERIES = RNG.normal(size=120), (RNG.random(120) < 0.3).astype(int), np.arange(120) // 8
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2]])
TRIPLES = np.array([[0, 0, 1], [1, 1, 2], [2, 0, 3], [3, 1, 4]])


SIGNATURES = {
    "lists": ("graphgauge.ranking:evaluate", "graphgauge.ranking:Queries.from_lists"),
    "topk": ("graphgauge.ranking:evaluate", "graphgauge.ranking:Queries.from_topk"),
    "entities": ("graphgauge.ranking:evaluate", "graphgauge.ranking:Queries.from_embeddings"),
    "triples": ("graphgauge.ranking:evaluate", "graphgauge.ranking:Queries.from_triples"),
    "until": ("graphgauge.ranking:evaluate_until",),
    "negatives": ("graphgauge.ranking:negatives",),
}
CASES = [
    Case("ranking", "", {"pos_scores": POS, "neg_scores": NEG}),
    Case(
        "ranking", "", {"pos_scores": POS, "neg_scores": NEG, "groups": {"side": SIDES}}, {"k": (2,), "metrics": "all"}
    ),
    Case("ranking", "", {"pos_scores": POS, "neg_scores": (NEG.ravel(), np.arange(0, 241, 8))}, {"ties": "expected"}),
    Case("ranking", "", {"pos_scores": POS, "neg_scores": NEG.ravel()}, {"protocol": "ogbl-ddi"}),
    Case("ranking", "lists", {"scores": SCORES, "labels": LABELS, "queries": QUERIES}),
    Case("ranking", "topk", {"indices": np.argsort(-NEG)[:, :4], "targets": np.arange(30) % 8}, {"k": (2, 4)}),
    Case(
        "ranking",
        "recommend",
        {
            "scores": NEG,
            "test": np.array([[0, 1], [0, 2], [3, 4], [5, 6], [9, 7]]),
            "known": np.array([[0, 3], [3, 5]]),
        },
        {"k": (2,)},
    ),
    Case("ranking", "entities", {"scores": NEG, "targets": np.arange(30) % 8}),
    Case(
        "ranking",
        "entities",
        {"queries": NEG, "entities": NEG[:12], "targets": np.arange(30) % 12, "known": np.array([[0, 3], [1, 4]])},
        {"score": "l2"},
    ),
    Case(
        "ranking",
        "triples",
        {"triples": TRIPLES, "entities": NEG[:9], "relations": NEG[:2], "known": TRIPLES[:2]},
    ),
    Case("ranking", "until", {"pos_scores": POS, "neg_scores": NEG}, {"within": {"mrr": "0.2"}}),
    Case(
        "ranking",
        "negatives",
        {"edges": EDGES},
        {"k": 2, "nodes": 9},
    ),
]
