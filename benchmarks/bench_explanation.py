"""Explanation: all metrics of many events from batches of distinct masks, and cohesiveness without its pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Goal, Measured, Row, Work, faster, memory, seconds, uses, within

METRICS = ("fidelity_drop", "fidelity_keep", "fidelity_best", "fidelity_tempme", "acc_auc", "cohesiveness")
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
CAP, POINTS = 0.3, 16


class Counted:
    """A model that counts the rows it predicts."""

    model_output = "logit"

    def __init__(self, model: Any) -> None:
        self._model = model
        self.rows = 0

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
        self.rows += len(masks)
        return self._model.predict(subgraph, target, masks)


@dataclass(frozen=True)
class Events:
    model: Any
    explanations: list[Any]


class Network:
    """Weighs a message of each contact of a pair by its mask, and reads a logit from the sum."""

    model_output = "logit"

    def __init__(self, hidden: int = 32) -> None:
        import torch

        self._torch = torch
        self._message = torch.nn.Sequential(
            torch.nn.Linear(3, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden)
        )
        self._answer = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(hidden, 1))

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
        return self.predict_many([subgraph], [target], [masks])[0]

    def predict_many(self, subgraphs: Sequence[Any], targets: Sequence[Any], masks: Sequence[np.ndarray]) -> Any:
        return [self._asked(*each) for each in zip(subgraphs, targets, masks, strict=True)]

    def _asked(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        torch, age = self._torch, target["time"] - subgraph.times
        of_first = subgraph.edge_index[0] == target["pair"][0]
        contacts = np.stack([subgraph.edge_features[:, 0], age / age.max(), of_first], axis=1)
        with torch.no_grad():
            messages = self._message(torch.as_tensor(contacts, dtype=torch.float32))
            # One message for each mask and contact, as attention would need.
            weighed = torch.as_tensor(masks)[:, :, None] * messages.tanh()
            found: np.ndarray = self._answer(weighed.sum(dim=1)).numpy()
        return found


def events(count: int, edges: int) -> Events:
    """Random contacts of two nodes with half as many others, a small network, random importance."""
    import torch

    from graphgauge.explanation import Context, Explanation, Subgraph

    draw = np.random.default_rng(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # single calls are too small for two threads, so all use one
    model = Network()
    made = []
    for event in range(count):
        ends = np.stack([np.arange(edges) % 2, draw.integers(2, 2 + edges // 2, edges)])
        subgraph = Subgraph(
            ends,
            np.arange(2 + edges // 2),
            np.sort(draw.uniform(0, edges, edges)),
            np.empty((2 + edges // 2, 0)),
            draw.integers(0, 2, (edges, 1)),
        )
        context = Context(subgraph, {"pair": [0, 1], "time": edges + 1.0}, event)
        made.append(Explanation(context, draw.random(edges), "random"))
    return Events(model, made)


def evaluation(data: Events) -> Work:
    from graphgauge import explanation

    return partial(explanation.evaluate, data.model, data.explanations, metrics=METRICS)


@uses("torch")
def one_by_one(data: Events, orders: int = 3) -> Work:
    """Every metric calls the model separately, on the whole graph and on one mask after the other.

    First along the explanation, then along as many random orders as stand behind the random explainer.
    """
    draw = np.random.default_rng(0)

    def work() -> list[list[float]]:
        return [
            _metrics_of(data.model, explanation.context, importance)
            for explanation in data.explanations
            for importance in (explanation.importance, *draw.random((orders, len(explanation.importance))))
        ]

    return work


def _metrics_of(model: Any, context: Any, importance: np.ndarray) -> list[float]:
    graph, target = context.subgraph, context.target
    edges = len(graph)
    order = np.argsort(-importance, kind="stable")

    def p(mask: np.ndarray) -> float:
        return 1 / (1 + math.exp(-float(model.predict(graph, target, mask[np.newaxis])[0, 0])))

    def kept(k: int) -> np.ndarray:
        mask = np.zeros(edges, bool)
        mask[order[:k]] = True
        return mask

    sizes = [max(1, math.floor(level * edges + 0.5 + 1e-9)) for level in LEVELS]
    whole = np.ones(edges, bool)
    values = []
    for dropped in (True, False, True):  # drop, keep, and the best of drop
        full = p(whole)
        of_class = lambda value, yes=full >= 0.5: value if yes else 1 - value  # noqa: E731
        found = [abs(of_class(full) - of_class(p(~kept(k) if dropped else kept(k)))) for k in sizes]
        values += found
    full = p(whole)
    sign = 1 if full >= 0.5 else -1
    values += [sign * (p(kept(k)) - full) for k in sizes]
    full = p(whole)
    same = [(p(kept(math.floor(s * edges + 0.5 + 1e-9))) >= 0.5) == (full >= 0.5) for s in np.linspace(0, CAP, POINTS)]
    values.append(float(np.trapezoid(same) / (POINTS - 1)))
    times, ends = graph.times, graph.edge_index
    for k in sizes:
        chosen = order[:k]
        source, target_node, time = ends[0, chosen], ends[1, chosen], times[chosen]
        touch = np.zeros((k, k), bool)
        for one in (source, target_node):
            for other in (source, target_node):
                touch |= one[:, None] == other
        np.fill_diagonal(touch, False)
        near = np.cos(np.abs(time[:, None] - time) / np.ptp(times))
        values.append(float((near * touch).sum() / max(k * k - k, 1)))
    return values


def rows_are_masks(data_of: Any) -> Goal:
    """A counted call on fresh data: the model sees each distinct mask of an event once (and one to check)."""

    def look(found: Measured) -> tuple[str, bool | None]:
        from graphgauge import explanation

        data = data_of()
        counted = Counted(data.model)
        table = explanation.collect(counted, data.explanations)
        distinct = sum(len({mask.tobytes() for mask in row.masks}) for row in table)
        checks = counted.rows - distinct
        # Of the first and the last batch of an event one mask is sent again, alone.
        return f"{distinct} masks, {counted.rows} rows ({checks} to check the batching)", checks <= 2 * len(table)

    return Goal("model rows = distinct masks", look)


@dataclass(frozen=True)
class Contacts:
    source: np.ndarray
    target: np.ndarray
    time: np.ndarray


def contacts(m: int, nodes: int) -> Contacts:
    draw = np.random.default_rng(0)
    return Contacts(*draw.integers(0, nodes, (2, m)), draw.random(m))


def prefixes(data: Contacts) -> Work:

    from graphgauge.explanation import cohesiveness_prefixes

    return partial(cohesiveness_prefixes, data.source, data.target, data.time)


def pair_loop(data: Contacts) -> Work:
    """The double sum as defined, for the whole list only."""
    columns = data.source.tolist(), data.target.tolist(), data.time.tolist()
    edges = list(zip(*columns, strict=True))
    span = max(columns[2]) - min(columns[2])

    def work() -> float:
        total = 0.0
        for i, (a, b, t) in enumerate(edges):
            for c, d, s in edges[:i]:
                if a == c or a == d or b == c or b == d:  # noqa: SIM109
                    total += 2 * math.cos((t - s) / span)
        return total / (len(edges) * (len(edges) - 1))

    return work


def row_loop(data: Contacts) -> Work:
    """The same with one NumPy pass over all edges for each edge."""
    source, target, time = data.source, data.target, data.time
    span = np.ptp(time)

    def work() -> float:
        total = 0.0
        for i in range(len(time)):
            a, b = source[i], target[i]
            touch = (source[:i] == a) | (source[:i] == b) | (target[:i] == a) | (target[:i] == b)
            total += 2 * float(np.cos((time[:i][touch] - time[i]) / span).sum())
        return total / (len(time) * (len(time) - 1))

    return work


SIZES = (1, 2, 5, 10, 20, 50)


@dataclass(frozen=True)
class Explained:
    explainer: Any
    model: Any
    explanations: list[Any]


def explained(count: int) -> Explained:
    """Random edge masks for the answers of a two-layer GCN about nodes of a random graph of 10,000 edges."""
    import torch
    from torch_geometric.explain import DummyExplainer, Explainer
    from torch_geometric.nn import GCN

    from graphgauge.explanation import PyGModel

    torch.manual_seed(0)
    torch.set_num_threads(1)
    module = GCN(16, 16, 2, 4).eval()
    x, edge_index = torch.randn(2000, 16), torch.randint(0, 2000, (2, 10_000))
    explainer = Explainer(
        module,
        DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    return Explained(explainer, PyGModel(module), [explainer(x, edge_index, index=node) for node in range(count)])


@uses("torch_geometric")
def under_pyg_names(data: Explained) -> Work:
    from graphgauge import explanation

    def work() -> Any:
        said = [explanation.from_pyg(each, data.model, topk=SIZES, random=0) for each in data.explanations]
        return explanation.evaluate(None, said, convention="pyg")

    return work


@uses("torch_geometric")
def under_own_names(data: Explained) -> Work:
    from graphgauge import explanation

    def work() -> Any:
        said = [explanation.from_pyg(each, data.model, random=0) for each in data.explanations]
        return explanation.evaluate(data.model, said)

    return work


@uses("torch_geometric")
def pyg_metrics(data: Explained) -> Work:
    from torch_geometric.explain import fidelity, unfaithfulness

    def work() -> Any:
        cut = [each.threshold("topk_hard", size) for each in data.explanations for size in SIZES]
        return [
            (fidelity(data.explainer, each), unfaithfulness(data.explainer, each))
            for each in (*data.explanations, *cut)
        ]

    return work


def masks_asked(data_of: Any) -> Goal:
    """Distinct masks of the parts that can matter, against one call per metric, level and random order."""

    def look(found: Measured) -> tuple[str, bool | None]:
        from graphgauge import explanation

        data = data_of()
        said = [explanation.from_pyg(each, data.model, random=0) for each in data.explanations]
        table = explanation.collect(data.model, said)
        reached = [len(row.subgraph) for row in table]
        naive = len(said) * 4 * (1 + 4 * len(LEVELS) + 1 + POINTS)  # six metrics, along four orders
        return (
            f"{table.masks:,} masks of {min(reached)}–{max(reached)} edges, {naive:,} one by one",
            table.masks < naive,
        )

    return Goal("fewer masks than metrics × levels × orders", look)


ROWS = (
    Row(
        "PyG's fidelity and unfaithfulness of 50 explanations at 7 sizes, with intervals: GCN, 10,000 edges",
        make=partial(explained, 50),
        ours=under_pyg_names,
        peers={"torch_geometric.explain": pyg_metrics},
        goals=(within(1.25, "torch_geometric.explain"),),
        rounds=3,
        peer_seconds=20.0,
    ),
    Row(
        "fidelity, areas and acc_auc of the same explanations with a random explainer, where the network can look",
        make=partial(explained, 50),
        ours=under_own_names,
        peers={"torch_geometric.explain: fidelity and unfaithfulness": pyg_metrics},
        goals=(masks_asked(partial(explained, 50)),),
        rounds=3,
        peer_seconds=20.0,
    ),
    Row(
        "all six metrics with intervals and a random explainer, 200 events of 100 candidate edges, small GNN, "
        "one torch thread",
        make=partial(events, 200, 100),
        ours=evaluation,
        peers={
            "one model call per mask and metric": one_by_one,
            "the same without the random explainer": partial(one_by_one, orders=0),
        },
        goals=(
            faster(10, "one model call per mask and metric"),
            rows_are_masks(partial(events, 200, 100)),
        ),
        rounds=5,
        peer_seconds=5.0,
    ),
    Row(
        "cohesiveness at all top-k prefixes, m = 1M edges, 100k nodes",
        make=partial(contacts, 1_000_000, 100_000),
        ours=prefixes,
        reads=lambda data: [data.source, data.target, data.time],
        goals=(seconds(2), memory(250)),
        rounds=5,
    ),
    Row(
        "cohesiveness at all top-k prefixes, m = 100k edges, 10k nodes",
        make=partial(contacts, 100_000, 10_000),
        ours=prefixes,
        reads=lambda data: [data.source, data.target, data.time],
        goals=(seconds(0.2),),
    ),
    Row(
        "cohesiveness at all top-k prefixes, m = 5k edges, 500 nodes",
        make=partial(contacts, 5000, 500),
        ours=prefixes,
        peers={"the pair loop, one prefix": pair_loop, "a NumPy loop over edges, one prefix": row_loop},
        goals=(faster(1000, "the pair loop, one prefix"),),
        repeat=5,
        peer_seconds=10.0,
    ),
)
