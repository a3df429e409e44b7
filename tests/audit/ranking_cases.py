"""Rankings, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge import ranking


def measured(*scores, **options):
    """What an evaluation measured, for checks."""
    evaluation = ranking.evaluate(*scores, **options)
    return {**evaluation._materials, "results": evaluation}


def scored(rng, n=400, k=50, signal=1.5):
    return rng.normal(signal, 1, n), rng.normal(0, 1, (n, k))


def plain(rng):
    """One query in a hundred is answered by a constant, and one in fifty has few candidates."""
    pos, neg = scored(rng)
    neg[:4] = pos[:4, None]
    mask = np.ones_like(neg, dtype=bool)
    mask[4:12, 8:] = False
    return measured(pos, neg, mask=mask)


def tied(rng, share):
    pos, neg = scored(rng)
    constant = rng.random(len(pos)) < share
    neg[constant] = pos[constant, None]
    return measured(pos, neg)


def few_candidates(rng, share):
    pos, neg = scored(rng)
    mask = np.ones_like(neg, dtype=bool)
    mask[rng.random(len(pos)) < share, 8:] = False
    return measured(pos, neg, mask=mask)


def pooled(rng, ratio=1, signal=2.2, positives=300):
    pos, neg = rng.normal(signal, 1, positives), rng.normal(0, 1, (positives, ratio))
    return measured(pos, neg, metrics=["roc_auc", "average_precision"])


def graph(rng, n=1500, nodes=300, relations=3):
    """Distinct triples without loops, none of them the reverse of another."""
    cells = rng.choice(nodes * (nodes - 1) // 2 * relations, n, replace=False)
    pair, relation = cells // relations, cells % relations
    head = (1 + np.sqrt(1 + 8 * pair)).astype(np.int64) // 2
    head -= head * (head - 1) // 2 > pair
    tail = pair - head * (head - 1) // 2
    turned = rng.random(n) < 0.5
    return np.stack([np.where(turned, tail, head), relation, np.where(turned, head, tail)], axis=1)


def split(rng):
    """Two test edges in a hundred have their reverse in training, as some edges have in most directed graphs."""
    triples = graph(rng)
    test, train = triples[:300], triples[300:]
    return {"test_edges": test, "train_edges": np.concatenate([train, test[:6, ::-1]])}


def leaked(rng, fault):
    kind, share = fault
    edges = split(rng)
    test, train = edges["test_edges"], edges["train_edges"]
    if kind == "inverse":  # relation 3 is relation 0 reversed
        mine = np.concatenate([test, train])
        mine = mine[mine[:, 1] == 0]
        copies = np.stack([mine[:, 2], np.full(len(mine), 3), mine[:, 0]], axis=1)
        return {"test_edges": test, "train_edges": np.concatenate([train, copies])}
    seen = test[: int(share * len(test))]
    seen = seen[:, ::-1] if kind == "turned" else seen
    return {"test_edges": test, "train_edges": np.concatenate([train, seen])}


def repeated(rng, share):
    test = split(rng)["test_edges"]
    return {"test_edges": np.concatenate([test, test[rng.integers(0, len(test), int(share * len(test)))]])}


def negatives(rng, share=0.0, k=20, nodes=300):
    edges = split(rng)
    test, train = edges["test_edges"], edges["train_edges"]
    known = {tuple(row) for row in np.concatenate([test, train]).tolist()}
    targets = rng.integers(0, nodes, (len(test), k))
    for row, (head, relation, _) in enumerate(test.tolist()):
        for column in range(k):
            while (head, relation, int(targets[row, column])) in known:
                targets[row, column] = rng.integers(0, nodes)
    outgoing = {}
    for head, relation, tail in train.tolist():
        outgoing.setdefault((head, relation), []).append(tail)
    for row in np.flatnonzero(rng.random(len(test)) < share):
        tails = outgoing.get(tuple(test[row, :2].tolist()))
        if tails:
            targets[row, 0] = tails[0]
    return {**edges, "neg_targets": targets}


def by_degree(rng, signal):
    """Tails follow a heavy tail and negatives do not; the model knows `signal` besides the count."""
    nodes = 500
    popular = rng.pareto(1.5, nodes) + 0.2
    popular /= popular.sum()
    train = np.stack([rng.integers(0, nodes, 3000), rng.choice(nodes, 3000, p=popular)], axis=1)
    test = np.stack([rng.integers(0, nodes, 400), rng.choice(nodes, 400, p=popular)], axis=1)
    targets = rng.integers(0, nodes, (400, 30))
    count = np.log1p(np.bincount(train.ravel(), minlength=nodes))
    pos = count[test[:, 1]] + signal + rng.normal(0, 1, 400)
    neg = count[targets] + rng.normal(0, 1, targets.shape)
    return {**measured(pos, neg), "test_edges": test, "train_edges": train, "neg_targets": targets}


def matched(rng):
    """Negatives as frequent as the positives, and a model that knows more than counts."""
    faulty = by_degree(rng, 0.0)
    popular = np.bincount(faulty["train_edges"][:, 1], minlength=500) + 0.2
    targets = rng.choice(500, (400, 30), p=popular / popular.sum())
    return {**faulty, **measured(*scored(rng, 400, 30)), "neg_targets": targets}


def filtered(rng, count=0):
    """Lists of ten candidates, of which this many are scored −inf."""
    scores, labels = rng.normal(size=(50, 10)), np.zeros((50, 10), int)
    labels[:, 0] = 1
    chosen = rng.choice(50 * 9, count, replace=False)
    scores[chosen // 9, 1 + chosen % 9] = -np.inf
    return measured(ranking.Queries.from_lists(scores.ravel(), labels.ravel(), np.repeat(np.arange(50), 10)))


def unscored(rng, queries=0):
    """The right answers of this many queries have the score NaN."""
    pos, neg = scored(rng)
    pos[:queries] = np.nan
    return measured(pos, neg, nan="omit")


def turned(rng, share=0.0):
    """This share of the queries has a negative that is a true edge in the other direction."""
    drawn = negatives(rng)
    test, targets = drawn["test_edges"], drawn["neg_targets"]
    rows = np.flatnonzero(rng.random(len(test)) < share)
    true = {tuple(row) for row in np.concatenate([test, drawn["train_edges"]]).tolist()}
    for row, (head, relation, _) in enumerate(test.tolist()):
        for column in range(targets.shape[1]):
            while (int(targets[row, column]), relation, head) in true:
                targets[row, column] = rng.integers(0, 300)
    added = np.stack([targets[rows, 0], test[rows, 1], test[rows, 0]], axis=1)
    return {**drawn, "neg_targets": targets, "train_edges": np.concatenate([drawn["train_edges"], added])}


def without_negatives(rng, queries):
    """This many queries have no candidate but the right one."""
    pos, neg = scored(rng)
    mask = np.ones_like(neg, dtype=bool)
    mask[:queries] = False
    return measured(pos, neg, mask=mask)


CASES = [
    Case("left-out", unscored, unscored, {"one query of 400": 1, "20": 20, "half": 200}),
    Case("reversed-positives-as-negatives", turned, turned, {"3 % of queries": 0.03, "20 %": 0.2, "all": 1.0}),
    Case("no-negatives", plain, without_negatives, {"one query in 400": 1, "20": 20, "half": 200}),
    Case("lowest-scores", filtered, filtered, {"one candidate in 500": 1, "50": 50, "most": 400}),
    Case("tied-scores", plain, tied, {"2 % of queries constant": 0.02, "10 %": 0.1, "all": 1.0}),
    Case(
        "cutoff-above-candidates",
        plain,
        few_candidates,
        {"7 % of queries with 9 candidates": 0.07, "20 %": 0.2, "all": 1.0},
    ),
    Case(
        "imbalance-hidden-by-auc",
        pooled,
        lambda rng, ratio: pooled(rng, ratio),
        {"50 negatives per positive": 50, "200": 200, "1,000": 1000},
    ),
    Case(
        "seen-in-training",
        split,
        leaked,
        {"1 % unchanged": ("same", 0.01), "10 % reversed": ("turned", 0.1), "an inverse relation": ("inverse", 1.0)},
    ),
    Case("duplicated-queries", split, repeated, {"2 % repeated": 0.02, "10 %": 0.1, "as many again": 1.0}),
    Case(
        "known-positives-as-negatives", negatives, negatives, {"3 % of queries": 0.03, "20 %": 0.2, "all that can": 1.0}
    ),
    Case(
        "easy-negatives",
        matched,
        by_degree,
        {"a model that knows a little more than counts": 0.5, "as much": 0.0, "less": -0.5},
    ),
]
