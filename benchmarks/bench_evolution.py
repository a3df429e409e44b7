"""Evolution: births against every non-edge, whole cycles, negatives, and the probe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from benchmarks.harness import Row, Work, faster, memory, seconds, uses, within

# The metrics that sets and loops compute in a cycle.
SHARED = (
    "auc_synthetic",
    "n_synthetic_positives",
    "n_synthetic_negatives",
    "delta_homophily",
    "homophily_new_edges",
    "homophily_baseline",
)


@dataclass(frozen=True)
class Cycle:
    points: np.ndarray
    births: np.ndarray
    edges: np.ndarray
    labels: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.labels)


def cora_sized() -> Cycle:
    """2708 nodes of seven classes, 5278 edges and 200 births; points in 32 dimensions."""
    random = np.random.default_rng(0)
    nodes = 2708
    labels = np.repeat(np.arange(7), [351, 217, 418, 818, 426, 298, 180])
    centres = random.normal(size=(7, 32))
    points = centres[labels] + random.normal(size=(nodes, 32))
    points *= 0.8 / np.linalg.norm(points, axis=1).max()
    pairs = random.integers(0, nodes, (8000, 2))
    codes = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    chosen = random.permutation(codes)[: 5278 + 200]
    return Cycle(points, chosen[:200], chosen, labels)


def all_non_edges(data: Cycle) -> Work:

    from graphgauge import evolution

    return partial(evolution.auc_synthetic, data.points, data.births, data.edges)


@uses("scikit-learn")
def by_whole_matrix(data: Cycle) -> Work:
    """The matrix of all distances, and scikit-learn's area over its non-edges."""
    from sklearn.metrics import roc_auc_score

    def area() -> float:
        squares = np.sum(data.points**2, axis=1)
        gaps = np.maximum(squares[:, None] + squares - 2 * data.points @ data.points.T, 0)
        distances = np.arccosh(1 + 2 * gaps / ((1 - squares[:, None]) * (1 - squares)))
        free = np.triu(np.ones(distances.shape, bool), 1)
        free[data.edges[:, 0], data.edges[:, 1]] = False
        negatives = distances[free]
        positives = distances[data.births[:, 0], data.births[:, 1]]
        truth = np.repeat([1, 0], [len(positives), len(negatives)])
        return float(roc_auc_score(truth, -np.concatenate([positives, negatives])))

    return area


def one_cycle(data: Cycle) -> Work:

    from graphgauge.evolution import AdaptiveEvaluator

    evaluator = AdaptiveEvaluator(range(data.nodes), data.labels, metrics=SHARED)
    cycles = count()
    return lambda: evaluator.evaluate_cycle(data.points, data.births, data.edges, next(cycles))


@uses("torch", "scikit-learn")
def by_sets_and_loops(data: Cycle) -> Work:
    """As in the original protocol: a set of all edges, in both directions as in torch_geometric, rebuilt in each
    cycle; pairs drawn and looked up one by one; distances and scores as tensors; labels compared one by one."""
    import torch
    from sklearn.metrics import roc_auc_score

    torch.set_num_threads(1)  # tensors this small are slower with several threads
    random = np.random.default_rng(0)
    points, labels = torch.tensor(data.points), torch.tensor(data.labels)
    births, edges = torch.tensor(data.births), torch.tensor(np.concatenate([data.edges, data.edges[:, ::-1]]))
    original = set(range(data.nodes))
    nodes = np.array(sorted(original))
    tiny = 1e-7

    def scores(pairs: torch.Tensor) -> np.ndarray:
        u, v = points[pairs[:, 0]], points[pairs[:, 1]]
        inner = [torch.clamp((side * side).sum(-1), max=1 - tiny) for side in (u, v)]
        room = torch.clamp((1 - inner[0]) * (1 - inner[1]), min=tiny)
        distance = torch.acosh(torch.clamp(1 + 2 * ((u - v) ** 2).sum(-1) / room, min=1 + tiny))
        return torch.sigmoid(-distance).numpy()

    def drawn(standing: set[tuple[int, int]], count: int) -> np.ndarray:
        found: list[tuple[int, int]] = []
        while len(found) < count:
            size = 4 * (count - len(found))
            u, v = random.choice(nodes, size), random.choice(nodes, size)
            pairs = set(zip(u[u != v].tolist(), v[u != v].tolist(), strict=True))
            free = [(u, v) for u, v in pairs if (u, v) not in standing and (v, u) not in standing]
            found.extend(free[: count - len(found)])
        return np.array(found)

    def judge() -> tuple[float, float]:
        standing = set(map(tuple, edges.numpy().tolist()))
        positives, negatives = scores(births), scores(torch.tensor(drawn(standing, len(births))))
        truth = np.concatenate([np.ones(len(positives)), np.zeros(len(negatives))])
        area = roc_auc_score(truth, np.concatenate([positives, negatives]))
        size = len(labels)
        known = [(u, v) for u, v in births.numpy() if u in original and v in original and u < size and v < size]
        agreeing = sum(1 for u, v in known if labels[u].item() == labels[v].item()) / len(known)
        shares = torch.bincount(labels).float() / size
        return float(area), agreeing - float((shares * shares).sum())

    return judge


@dataclass(frozen=True)
class Edges:
    codes: np.ndarray
    nodes: int
    count: int


def large_graph(nodes: int = 1_000_000, edges: int = 1_000_000) -> Edges:
    pairs = np.random.default_rng(0).integers(0, nodes, (edges + edges // 100, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return Edges(np.unique(pairs.min(axis=1) * nodes + pairs.max(axis=1))[:edges], nodes, edges)


def negatives(data: Edges) -> Work:

    from graphgauge.kernels.negatives import non_edges

    return lambda: non_edges(data.codes, data.nodes, data.count, np.random.default_rng(0))


def by_numpy(data: Edges) -> Work:
    """Pairs drawn at random, `np.unique` against repetition and `np.isin` against edges, until there are enough."""

    def draw() -> np.ndarray:
        random = np.random.default_rng(0)
        found = np.empty(0, np.int64)
        while len(found) < data.count:
            pairs = random.integers(0, data.nodes, (int(1.05 * (data.count - len(found))) + 16, 2))
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            codes = pairs.min(axis=1) * data.nodes + pairs.max(axis=1)
            found = np.unique(np.concatenate([found, codes[~np.isin(codes, data.codes)]]))
        return random.permutation(found)[: data.count]

    return draw


def by_sorting(data: Edges) -> Work:
    """The same by hand: one sort finds repetitions, and pairs in order are looked up quickly in sorted edges."""

    def draw() -> np.ndarray:
        random = np.random.default_rng(0)
        first, second = random.integers(0, data.nodes, (2, int(1.05 * data.count)))
        codes = np.sort(np.minimum(first, second) * data.nodes + np.maximum(first, second))
        new = np.append(True, codes[1:] != codes[:-1]) & (codes // data.nodes != codes % data.nodes)
        place = np.minimum(np.searchsorted(data.codes, codes), len(data.codes) - 1)
        codes = codes[new & (data.codes[place] != codes)]
        kept = np.ones(len(codes), bool)
        kept[random.choice(len(codes), len(codes) - data.count, replace=False)] = False
        return codes[kept]

    return draw


def probe(data: Cycle) -> Work:
    from graphgauge.evolution import node_classification_accuracy

    return partial(node_classification_accuracy, data.points, data.labels)


@uses("scikit-learn")
def by_cross_val_score(data: Cycle) -> Work:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return lambda: cross_val_score(model, data.points, data.labels, cv=folds)


ROWS = (
    Row(
        "auc_synthetic with all non-edges, N = 2708, 200 births, D = 32",
        make=cora_sized,
        ours=all_non_edges,
        peers={"the whole matrix and scikit-learn": by_whole_matrix},
        # The matrix of all distances would take 59 MB.
        goals=(seconds(0.4), memory(20)),
    ),
    Row(
        "one evaluate_cycle without the probe, N = 2708, 5278 edges, 200 births",
        make=cora_sized,
        ours=one_cycle,
        peers={"sets and loops": by_sets_and_loops},
        goals=(faster(20, "sets and loops"),),
        rounds=15,
        repeat=5,
    ),
    Row(
        "negatives for 1M edges, N = 1M",
        make=large_graph,
        ours=negatives,
        peers={"np.unique and np.isin": by_numpy, "NumPy sorts by hand": by_sorting},
        goals=(seconds(0.5), faster(5, "np.unique and np.isin"), memory(100)),
    ),
    Row(
        "probe, 5 folds, N = 2708, D = 32",
        make=cora_sized,
        ours=probe,
        peers={"scikit-learn's cross_val_score": by_cross_val_score},
        goals=(within(1.2, "scikit-learn's cross_val_score"),),
    ),
)
