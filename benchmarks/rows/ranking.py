"""Links, lists and entities."""

from __future__ import annotations

from benchmarks.harness import READ, Row, Work, faster, first, memory, warm

SETUP = "from graphgauge import ranking as F"
SCORES = "N = r.random(({0}, {1}), dtype='f4'); p = r.random({0}, dtype='f4')"
LISTS = "s = r.random((2000, 10_000), dtype='f4'); y = r.random(s.shape) < .002; q = np.repeat(np.arange(2000), 10_000)"
PYG = (
    "import torch; from torch_geometric.metrics import *; K = [M(k=k) for M in (LinkPredMRR, LinkPredNDCG, "
    "LinkPredMAP, LinkPredPrecision, LinkPredRecall) for k in (1, 3, 10)]; t = torch.from_numpy(s); "
    "e = torch.from_numpy(np.argwhere(y).T)"
)
RANX = (
    "from ranx import Qrels, Run, evaluate; from numba.typed import Dict; n = [f'd{i}' for i in range(10_000)]; "
    "Q = Qrels({f'q{i}': {n[j]: 1 for j in np.flatnonzero(row)} for i, row in enumerate(y) if row.any()}); "
    "R = Run({f'q{i}': dict(zip(n, row.tolist())) for i, row in enumerate(s) if y[i].any()})"
)
# The entities and queries of FB15k-237, and as many known answers.
ENTITIES = (
    "S = r.random((2000, 14_541), dtype='f4'); t = r.integers(0, 14_541, 2000); "
    "o = np.arange(2001) * 40; k = r.integers(0, 14_541, 80_000); k = np.sort(k.reshape(2000, 40), 1).ravel(); "
    "K = np.split(k, o[1:-1])"
)
PYKEEN = (
    "import torch; from pykeen.evaluation import RankBasedEvaluator; "
    "from pykeen.evaluation.evaluator import filter_scores_; "
    "U = torch.from_numpy(S); u = torch.from_numpy(t)[:, None]; "
    "f = torch.from_numpy(np.column_stack([np.repeat(np.arange(2000), 40), k]))"
)


def whole(queries: int, negatives: int, reads: float) -> Row:
    return Row(
        f"evaluate {queries:,} × {negatives:,} f4, with intervals, chance and findings",
        SCORES.format(queries, negatives),
        Work("e = F.evaluate(p, N); [x.interval for x in e.values()], e.findings", SETUP),
        {"OGB": Work("(N >= p[:, None]).sum(1); (N > p[:, None]).sum(1)")} if queries > 5_000 else {},
        "p, N",
        (warm(reads, READ), memory(64)),
    )


ROWS = (
    Row(
        "evaluate 200k × 100 f4: value, interval, hits",
        SCORES.format(200_000, 100),
        Work("e = F.evaluate(p, N); e['mrr'].value, e['mrr'].interval, e['hits@10'].value", SETUP),
        {
            "NumPy": Work(
                "q = 1 + (N > p[:, None]).sum(1) + .5 * (N == p[:, None]).sum(1); (1 / q).mean(), (q <= 10).mean()"
            )
        },
        "p, N",
        (first(0.6, "NumPy"),),
    ),
    whole(1_000_000, 100, 1.4),
    whole(100_000, 1_000, 1.3),
    whole(5_000, 50_000, 1.2),
    Row(
        "lists 2000 × 10,000 f4, 20 positives",
        LISTS,
        Work("F.evaluate(F.Queries.from_lists(s.ravel(), y.ravel(), q))", SETUP),
        {
            "PyG": Work("[(m.update(t.topk(10)[1], e), m.compute()) for m in K]", PYG),
            "ranx": Work("evaluate(Q, R, ['mrr', 'ndcg@10', 'map', 'precision@10', 'recall@10'])", RANX),
        },
        "s",
        (faster(10, "PyG"), faster(10, "ranx")),
    ),
    Row(
        "all entities, filtered, 2000 × 14,541",
        ENTITIES,
        Work("F.evaluate(F.Queries.from_embeddings(scores=S, targets=t, known=K))", SETUP),
        {
            "PyKEEN": Work(
                "V = RankBasedEvaluator(metrics=['mrr', 'hits@k'], add_defaults=False); h = U.clone(); "
                "a = h.gather(1, u); h = filter_scores_(h, f); h.scatter_(1, u, a); "
                "V.process_scores_(torch.empty(0), 'tail', h, a); V.finalize()",
                PYKEEN,
            )
        },
        "S",
        (faster(5, "PyKEEN"),),
    ),
    *(
        Row(
            f"100 {sampler} negatives for each of 100k edges, 50k nodes, 500k known",
            "a, b = (r.integers(0, 50_000, (n, 2)) for n in (500_000, 100_000))",
            Work(f"F.negatives(b, '{sampler}', known=a, {history}nodes=50_000)", SETUP),
            limits=(warm(2.5),),
        )
        for sampler, history in (("uniform", ""), ("degree", "history=a, "))
    ),
)
