"""Ranking: whole evaluations, pooled metrics, the command line, streaming, and ranking among all entities."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import READ, Row, Work, faster, memory, running, seconds, two_thread_read, uses, within

# The folder of the running interpreter's console script.
GRAPHGAUGE = str(Path(sys.executable).parent / "graphgauge")


@dataclass(frozen=True)
class Scores:
    pos: np.ndarray
    neg: np.ndarray


def scores(queries: int, negatives: int) -> Scores:
    """A model that is better than chance: a positive is the best of three draws, a negative one draw."""
    random = np.random.default_rng(0)
    pos = random.random((queries, 3), dtype=np.float32).max(axis=1)
    return Scores(pos, random.random((queries, negatives), dtype=np.float32))


def everything(data: Scores) -> Work:
    """Every value with its interval and chance levels, and the findings."""
    from graphgauge import ranking

    def read() -> object:
        found = ranking.evaluate(data.pos, data.neg)
        return [(result.value, result.interval, result.chance) for result in found.values()], found.findings

    return read


@uses("py-tgb")
def by_tgb(data: Scores) -> Work:
    from tgb.linkproppred.evaluate import Evaluator

    evaluator = Evaluator(name="tgbl-wiki")
    return partial(evaluator.eval, {"y_pred_pos": data.pos, "y_pred_neg": data.neg, "eval_metric": ["mrr"]})


@uses("ogb", "torch")
def by_ogb(data: Scores) -> Work:
    import torch
    from ogb.linkproppred import Evaluator

    evaluator = Evaluator(name="ogbl-citation2")
    pos, neg = torch.from_numpy(data.pos), torch.from_numpy(data.neg)
    return lambda: {
        name: float(values.mean()) for name, values in evaluator.eval({"y_pred_pos": pos, "y_pred_neg": neg}).items()
    }


def whole(queries: int, negatives: int, *, reads: float, peers: Sequence[tuple[float, str]]) -> Row:
    return Row(
        f"{_count(queries)} × {_count(negatives)} float32, all values, intervals, levels and findings",
        make=partial(scores, queries, negatives),
        ours=everything,
        reads=lambda data: [data.pos, data.neg],
        peers={"TGB": by_tgb, "OGB": by_ogb},
        goals=(within(reads, READ), *(faster(factor, name) for factor, name in peers), memory(32)),
        rounds=15,
    )


# ---------------------------------------------------------------- small calls


def one_value(data: Scores) -> Work:
    from graphgauge import ranking

    return lambda: ranking.evaluate(data.pos, data.neg)["mrr"].value


# -------------------------------------------------------------- several positives


@dataclass(frozen=True)
class Lists:
    """Candidate lists in the flat form, and padded to a matrix, as PyG takes them."""

    scores: np.ndarray
    labels: np.ndarray
    queries: np.ndarray
    padded: np.ndarray
    relevant: np.ndarray


def lists(queries: int, shortest: int, longest: int, positives: float) -> Lists:
    random = np.random.default_rng(0)
    size = random.integers(shortest, longest + 1, queries)
    labels = random.random(size.sum()) < positives * queries / size.sum()
    scores = random.random(size.sum(), dtype=np.float32) + 0.1 * labels.astype(np.float32)
    inside = np.arange(longest) < size[:, None]
    padded, relevant = np.full(inside.shape, -np.inf, np.float32), np.zeros(inside.shape, bool)
    padded[inside], relevant[inside] = scores, labels
    return Lists(scores, labels, np.repeat(np.arange(queries), size), padded, relevant)


def every_list_metric(data: Lists) -> Work:
    """Every value with its interval and chance levels, and the findings."""
    from graphgauge import ranking

    def read() -> object:
        found = ranking.evaluate(scores=data.scores, labels=data.labels, queries=data.queries)
        return [(result.value, result.interval, result.chance) for result in found.values()], found.findings

    return read


def same_values(data: Lists) -> Work:
    """The values that PyG computes, without intervals."""
    from graphgauge import ranking

    names = ("mrr_first", "hit_ratio", "precision", "recall", "map", "ndcg")
    keys = [f"{name}@{k}" for name in names for k in (1, 3, 10)]

    def read() -> object:
        found = ranking.evaluate(scores=data.scores, labels=data.labels, queries=data.queries, metrics=keys)
        return [result.value for result in found.values()]

    return read


@uses("torch_geometric", "torch")
def lists_by_pyg(data: Lists) -> Work:
    """Three cut-offs of six metrics, from the first ten of each row."""
    import torch
    from torch_geometric.metrics import link_pred

    names = ("MRR", "HitRatio", "Precision", "Recall", "MAP", "NDCG")
    scores, relevant = torch.from_numpy(data.padded), torch.from_numpy(data.relevant)

    def run() -> object:
        metrics = link_pred.LinkPredMetricCollection(
            [getattr(link_pred, f"LinkPred{name}")(k) for name in names for k in (1, 3, 10)]
        )
        metrics.update(scores.topk(10, dim=1).indices, relevant.nonzero().T)
        return metrics.compute()

    return run


@uses("torchmetrics", "torch")
def lists_by_torchmetrics(data: Lists) -> Work:
    """One value of one metric."""
    import torch
    from torchmetrics.retrieval import RetrievalMRR

    scores, labels, queries = (torch.from_numpy(each) for each in (data.scores, data.labels, data.queries))

    def run() -> object:
        metric = RetrievalMRR()
        metric.update(scores, labels, indexes=queries)
        return metric.compute()

    return run


def flat(name: str, queries: int, shortest: int, longest: int, positives: float, **options: Any) -> Row:
    return Row(
        f"flat form, {name}, all values, intervals, levels and findings",
        make=partial(lists, queries, shortest, longest, positives),
        ours=every_list_metric,
        reads=lambda data: [data.scores, data.labels, data.queries],
        peers={"PyG, six metrics": lists_by_pyg, "torchmetrics, MRR alone": lists_by_torchmetrics},
        goals=(faster(10, "PyG, six metrics"), faster(10, "torchmetrics, MRR alone")),
        **options,
    )


def same_flat(name: str, queries: int, shortest: int, longest: int, positives: float, **options: Any) -> Row:
    return Row(
        f"flat form, {name}, the 18 values of PyG",
        make=partial(lists, queries, shortest, longest, positives),
        ours=same_values,
        reads=lambda data: [data.scores, data.labels, data.queries],
        peers={"PyG, six metrics": lists_by_pyg},
        goals=(faster(10, "PyG, six metrics"),),
        **options,
    )


# ------------------------------------------------------------- pooled metrics


def pooled(positives: int, negatives: int) -> Scores:
    random = np.random.default_rng(0)
    return Scores(
        random.normal(1.0, 1.0, positives).astype(np.float32), random.normal(0.0, 1.0, negatives).astype(np.float32)
    )


def auc_and_precision(data: Scores) -> Work:
    """Both from one pool, which is sorted once."""
    from graphgauge.old.ranking.metrics import average_precision, roc_auc
    from graphgauge.old.ranking.samples import Pooled

    def both() -> tuple[float, float]:
        pooled = Pooled.of(data.pos, data.neg)
        return float(roc_auc(pooled).value[0]), float(average_precision(pooled).value[0])

    return both


@uses("scikit-learn")
def auc_by_sklearn(data: Scores) -> Work:
    from sklearn.metrics import roc_auc_score

    labels = np.repeat([1, 0], [len(data.pos), len(data.neg)])
    return partial(roc_auc_score, labels, np.concatenate([data.pos, data.neg]))


# --------------------------------------------------------------- command line


class Shards:
    """Score files of about four billion bytes, in a folder that is removed with the row.

    The pair beside them is just large enough for the compiled kernels, so that start-up includes loading these.
    """

    SHARDS, ROWS, NEGATIVES = 8, 1_250_000, 100

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="graphgauge-bench-"))
        random = np.random.default_rng(0)
        for shard in range(self.SHARDS):
            self._write(f"{shard}", random, self.ROWS)
        self._write("small", random, (1 << 26) // self.NEGATIVES + 1)
        self.files = sorted(self.folder.glob("*-[0-9].npy"))

    def _write(self, name: str, random: np.random.Generator, rows: int) -> None:
        np.save(self.folder / f"pos-{name}.npy", random.random((rows, 3), dtype=np.float32).max(axis=1))
        np.save(self.folder / f"neg-{name}.npy", random.random((rows, self.NEGATIVES), dtype=np.float32))

    def command(self, which: str) -> list[str]:
        files = [f"--{side}-scores={self.folder / f'{side}-{which}.npy'}" for side in ("pos", "neg")]
        return [GRAPHGAUGE, "ranking", *files, "--quiet"]

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def read_files(data: Shards) -> Work:
    """Every byte of the files, mapped and summed by two threads."""
    return lambda: two_thread_read([np.load(path, mmap_mode="r") for path in data.files])


def import_click(_: Any) -> Work:
    return running([sys.executable, "-c", "import click"])


# ------------------------------------------------------------------ streaming


def one_query() -> Scores:
    return scores(1, 999)


def update(data: Scores) -> Work:
    from graphgauge.ranking import RankingState

    state = RankingState()
    # A program that streams a million queries has already loaded the compiled loops.
    batch = scores(100_000, 100)
    for _ in range(10):
        state.update(batch.pos, batch.neg)
    return partial(state.update, data.pos, data.neg)


# --------------------------------------------------------------- all entities


@dataclass(frozen=True)
class Embedded:
    queries: np.ndarray
    entities: np.ndarray
    targets: np.ndarray
    known: np.ndarray
    offsets: np.ndarray


def embedded() -> Embedded:
    random = np.random.default_rng(0)
    queries, entities, known = 1_000, 200_000, 50
    return Embedded(
        random.standard_normal((queries, 128), dtype=np.float32),
        random.standard_normal((entities, 128), dtype=np.float32),
        random.integers(0, entities, queries),
        np.concatenate([np.sort(random.choice(entities, known, replace=False)) for _ in range(queries)]),
        np.arange(0, queries * known + 1, known),
    )


def rank_all(data: Embedded) -> Work:
    from graphgauge import ranking

    return lambda: ranking.rank_all(
        data.queries, data.entities, data.targets, score="dot", known=(data.known, data.offsets)
    ).evaluate()


@dataclass(frozen=True)
class Sets:
    """Embeddings with ten right and fifty excluded entities of every query."""

    embedded: Embedded
    targets: tuple[np.ndarray, np.ndarray]
    exclude: tuple[np.ndarray, np.ndarray]


def answer_sets() -> Sets:
    data, random = embedded(), np.random.default_rng(1)
    queries, entities = len(data.queries), len(data.entities)
    drawn = np.array([random.choice(entities, 60, replace=False) for _ in range(queries)])
    return Sets(
        data,
        (np.sort(drawn[:, :10]).ravel(), np.arange(0, 10 * queries + 1, 10)),
        (np.sort(drawn[:, 10:]).ravel(), np.arange(0, 50 * queries + 1, 50)),
    )


def rank_sets(data: Sets) -> Work:
    from graphgauge import ranking

    rows = data.embedded
    return lambda: ranking.rank_all(rows.queries, rows.entities, data.targets, exclude=data.exclude).evaluate()


@uses("torch_geometric", "torch")
def rank_sets_by_pyg(data: Sets) -> Work:
    """Five metrics of the first ten: PyG gets the product, with excluded entities at −inf, in batches of 256."""
    import torch
    from torch_geometric.metrics import (
        LinkPredMAP,
        LinkPredMetricCollection,
        LinkPredMRR,
        LinkPredNDCG,
        LinkPredPrecision,
        LinkPredRecall,
    )

    queries, entities = torch.from_numpy(data.embedded.queries), torch.from_numpy(data.embedded.entities)

    def pairs(sets: tuple[np.ndarray, np.ndarray], start: int, stop: int) -> torch.Tensor:
        values, offsets = sets
        row = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
        return torch.from_numpy(np.stack([row, values[offsets[start] : offsets[stop]]]))

    def run() -> object:
        kinds = (LinkPredPrecision, LinkPredRecall, LinkPredMAP, LinkPredNDCG, LinkPredMRR)
        found = LinkPredMetricCollection([kind(10) for kind in kinds])
        with torch.inference_mode():
            for start in range(0, len(queries), 256):
                stop = min(start + 256, len(queries))
                scores = queries[start:stop] @ entities.T
                row, entity = pairs(data.exclude, start, stop)
                scores[row, entity] = -torch.inf
                found.update(scores.topk(10, dim=1).indices, pairs(data.targets, start, stop))
        return found.compute()

    return run


@uses("pykeen", "torch")
def rank_all_by_pykeen(data: Embedded) -> Work:
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.evaluation.evaluator import filter_scores_

    queries, entities = torch.from_numpy(data.queries), torch.from_numpy(data.entities)
    targets = torch.from_numpy(data.targets)
    batch = 256

    def run() -> object:
        evaluator = RankBasedEvaluator(metrics=["mrr", "hits@k"], add_defaults=False)
        with torch.inference_mode():
            for start in range(0, len(queries), batch):
                stop = min(start + batch, len(queries))
                scores = queries[start:stop] @ entities.T
                true = scores.gather(1, targets[start:stop, None])
                first, last = data.offsets[start], data.offsets[stop]
                rows = np.repeat(np.arange(stop - start), np.diff(data.offsets[start : stop + 1]))
                filtered = torch.from_numpy(np.column_stack([rows, data.known[first:last]]))
                scores = filter_scores_(scores, filtered)
                scores.scatter_(1, targets[start:stop, None], true)
                evaluator.process_scores_(torch.empty(0), "tail", scores, true)
        return evaluator.finalize()

    return run


# ------------------------------------------------------------------ negatives


@dataclass(frozen=True)
class Graph:
    nodes: int
    train: np.ndarray
    test: np.ndarray


def graph(queries: int) -> Graph:
    random = np.random.default_rng(0)
    return Graph(50_000, *(random.integers(0, 50_000, (edges, 2)) for edges in (500_000, queries)))


def draw(sampler: str, data: Graph) -> Work:
    from graphgauge import ranking

    history = None if sampler == "uniform" else data.train
    return lambda: ranking.negatives(data.test, sampler, known=data.train, history=history, nodes=data.nodes).nodes


@uses("py-tgb", "torch_geometric")
def draw_by_tgb(data: Graph) -> Work:
    import torch
    from tgb.linkproppred.negative_generator import NegativeEdgeGenerator
    from torch_geometric.data import TemporalData

    source, target = (torch.from_numpy(column.copy()) for column in data.test.T)
    events = TemporalData(src=source, dst=target, t=torch.zeros(len(source), dtype=torch.int64))
    sampler = NegativeEdgeGenerator("made", 0, data.nodes - 1, num_neg_e=100)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            sampler.generate_negative_samples(events, "test", folder)

    return run


def _count(number: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number % size == 0:
            return f"{number // size}{unit}"
    return str(number)


ROWS = (
    whole(1_000_000, 100, reads=1.5, peers=[(9, "TGB"), (50, "OGB")]),
    whole(100_000, 1_000, reads=1.25, peers=[(9, "TGB"), (50, "OGB")]),
    whole(5_000, 50_000, reads=1.15, peers=[(50, "OGB")]),
    Row(
        "1k × 100 float32, the value of `mrr` alone",
        make=partial(scores, 1_000, 100),
        ours=one_value,
        goals=(seconds(1e-3),),
        rounds=100,
    ),
    Row(
        "1k × 100 float32, all values, intervals, levels and findings",
        make=partial(scores, 1_000, 100),
        ours=everything,
        goals=(seconds(1.6e-3),),
        rounds=100,
    ),
    flat("2k × 10k", 2_000, 10_000, 10_000, 20),
    same_flat("2k × 10k", 2_000, 10_000, 10_000, 20),
    flat("100k × 100 to 300", 100_000, 100, 300, 5, peer_seconds=5.0),
    same_flat("100k × 100 to 300", 100_000, 100, 300, 5),
    flat("100 × 100", 100, 100, 100, 3, rounds=50),
    Row(
        "ROC-AUC and average precision together, exact, 10M scores (5M + 5M float32)",
        make=partial(pooled, 5_000_000, 5_000_000),
        ours=auc_and_precision,
        reads=lambda data: [data.pos, data.neg],
        peers={"scikit-learn AUC alone": auc_by_sklearn},
        goals=(faster(12, "scikit-learn AUC alone"),),
        rounds=5,
    ),
    Row(
        "`graphgauge ranking` on 4 GB of .npy shards",
        make=Shards,
        command=lambda data: data.command("[0-9]"),
        start_up=lambda data: data.command("small"),
        read=read_files,
        goals=(within(1.5, READ), memory(300)),
        rounds=5,
    ),
    Row(
        "100 uniform negatives for each of 200 edges, 50k nodes",
        make=partial(graph, 200),
        ours=partial(draw, "uniform"),
        peers={"TGB": draw_by_tgb},
        goals=(faster(20, "TGB"),),
        rounds=5,
    ),
    *(
        Row(
            f"100 {sampler} negatives for each of {_count(queries)} edges, 50k nodes, 500k known edges",
            make=partial(graph, queries),
            ours=partial(draw, sampler),
            goals=(seconds(limit),),
            rounds=5,
        )
        for sampler, queries, limit in (("uniform", 100_000, 1.5), ("degree", 100_000, 2.5), ("heart", 5_000, 5))
    ),
    Row(
        "`RankingState.update`, one query × 999 negatives",
        make=one_query,
        ours=update,
        goals=(seconds(8e-6),),
        repeat=5_000,
    ),
    Row(
        "`graphgauge --help`",
        make=lambda: None,
        command=lambda _: [GRAPHGAUGE, "--help"],
        peers={'`python -c "import click"`': import_click},
        goals=(within(3, '`python -c "import click"`'),),
        rounds=15,
    ),
    Row(
        "`rank_all`, 1k queries × 200k entities × 128, filtered, with the matrix product",
        make=embedded,
        ours=rank_all,
        peers={"PyKEEN": rank_all_by_pykeen},
        goals=(faster(4, "PyKEEN"), memory(500)),
        rounds=5,
    ),
    Row(
        "`rank_all`, 1k queries with 10 right answers × 200k entities × 128, 50 excluded, with the matrix product",
        make=answer_sets,
        ours=rank_sets,
        peers={"PyG, the first 10 alone": rank_sets_by_pyg},
        goals=(memory(500),),
        rounds=5,
    ),
)
