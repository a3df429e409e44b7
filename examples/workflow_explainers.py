"""Explainers of PyG and Captum on nodes, graphs, pairs and a heterogeneous graph, with planted truths.

pip install graphgauge torch_geometric captum
python examples/workflow_explainers.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch_geometric import seed_everything
from torch_geometric.data import Data, HeteroData
from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer, PGExplainer
from torch_geometric.nn import GCNConv, GraphConv, HeteroConv, global_add_pool
from torch_geometric.utils import barabasi_albert_graph, to_undirected

from graphgauge import explanation

LEVEL = 0.2
METRICS = [f"{name}@{LEVEL}" for name in ("fidelity_drop.signed", "robust_delta")] + ["truth_auc"]


class Task(NamedTuple):
    """A trained network, data, the targets to explain, and the edges that are the right explanation of each."""

    level: str
    network: torch.nn.Module
    data: Any
    targets: Any
    truth: Any
    target_type: Any = None


def fitted(network: torch.nn.Module, answer: Any, labels: torch.Tensor, epochs: int = 200) -> float:
    """Train on all labels, and return the accuracy."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(answer(), labels).backward()
        optimizer.step()
    network.eval()
    return float((answer().argmax(1) == labels).float().mean())


def with_motifs(nodes: int, motifs: list[torch.Tensor], rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """A random graph with small graphs attached by one edge each: its edges, and each node's motif, −1 for none."""
    parts, owner = [barabasi_albert_graph(nodes, 1)], [-1] * nodes
    for number, motif in enumerate(motifs):
        start, size = len(owner), int(motif.max()) + 1
        bridge = torch.tensor([[int(rng.integers(nodes))], [start]])
        parts += [to_undirected(motif + start), torch.cat([bridge, bridge.flip(0)], 1)]
        owner += [number] * size
    return torch.cat(parts, 1), torch.tensor(owner)


HOUSE = torch.tensor([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 4, 4]])
CYCLE = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])


class Layers(torch.nn.Module):
    """Three sums over neighbours; `task` decides what becomes of the nodes."""

    def __init__(self, task: str, inputs: int, classes: int, size: int = 20) -> None:
        super().__init__()
        self.task = task
        self.layers = torch.nn.ModuleList([GraphConv(inputs, size), GraphConv(size, size), GraphConv(size, size)])
        self.last = torch.nn.Linear(size, classes)

    def forward(self, x: Any, edge_index: Any, batch: Any = None) -> Any:
        for layer in self.layers:
            x = layer(x, edge_index).relu()
        return self.last(global_add_pool(x, batch) if self.task == "graph" else x)


def nodes() -> Task:
    """Which nodes are in a house? The explanation is the house."""
    rng = np.random.default_rng(0)
    edge_index, owner = with_motifs(60, [HOUSE] * 12, rng)
    data = Data(x=torch.ones(len(owner), 1), edge_index=edge_index, y=(owner >= 0).long())
    network = Layers("node", 1, 2)
    print("accuracy", fitted(network, lambda: network(data.x, data.edge_index), data.y))
    same = (owner[edge_index[0]] == owner[edge_index[1]]) & (owner[edge_index[0]] >= 0)
    targets = torch.nonzero(owner >= 0)[::2, 0][:20]
    return Task("node", network, data, targets, lambda node: same & (owner[edge_index[0]] == owner[node]))


def graphs() -> Task:
    """Does a graph contain a house or a cycle? The explanation is that motif."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(60):
        edge_index, owner = with_motifs(8, [HOUSE if number % 2 else CYCLE], rng)
        made.append(
            Data(
                x=torch.ones(len(owner), 1),
                edge_index=edge_index,
                y=torch.tensor([number % 2]),
                truth=(owner[edge_index] == 0).all(0),
            )
        )
    starts = np.cumsum([0] + [len(graph.x) for graph in made])
    edge_index = torch.cat([graph.edge_index + int(start) for graph, start in zip(made, starts, strict=False)], 1)
    batch = torch.repeat_interleave(torch.arange(60), torch.tensor([len(graph.x) for graph in made]))
    network, labels = Layers("graph", 1, 2), torch.cat([graph.y for graph in made])
    print("accuracy", fitted(network, lambda: network(torch.ones(len(batch), 1), edge_index, batch), labels))
    return Task("graph", network, made[:20], None, lambda number: made[number].truth)


class Pairs(torch.nn.Module):
    def __init__(self, inputs: int, size: int = 32) -> None:
        super().__init__()
        self.layer, self.hidden, self.last = (
            GCNConv(inputs, size),
            torch.nn.Linear(size, size),
            torch.nn.Linear(size, 2),
        )

    def forward(self, x: Any, edge_index: Any, edge_label_index: Any) -> Any:
        h = self.layer(x, edge_index)
        return self.last(self.hidden(h[edge_label_index[0]] * h[edge_label_index[1]]).relu())


def pairs() -> Task:
    """Do two nodes share a marked neighbour? The explanation is the edges to the marked neighbours of both."""
    rng = np.random.default_rng(0)
    ends = torch.tensor(np.unique(rng.integers(0, 80, (260, 2)), axis=0).T)
    edge_index = to_undirected(ends[:, ends[0] != ends[1]])
    marked = torch.arange(80) < 16
    x = torch.cat([torch.eye(80)[:, :16] * marked[:, None], torch.rand(80, 4)], 1)  # which of the marked nodes it is
    adjacent = torch.zeros(80, 80)
    adjacent[edge_index[0], edge_index[1]] = 1
    shared = (adjacent[:, marked] @ adjacent[marked]) > 0
    asked = torch.tensor(np.unique(rng.integers(16, 80, (2, 600)), axis=1))
    labels = shared[asked[0], asked[1]].long()
    network = Pairs(20)
    print("accuracy", fitted(network, lambda: network(x, edge_index, asked), labels))
    found = torch.nonzero((labels == 1) & (asked[0] != asked[1]))[:20, 0]
    data = Data(x=x, edge_index=edge_index, edge_label_index=asked[:, found], y=labels[found])

    def truth(place: int) -> Any:
        one, other = asked[:, found[place]].tolist()
        both = marked & (adjacent[one] > 0) & (adjacent[other] > 0)
        source, sink = edge_index
        return both[source] & ((sink == one) | (sink == other))

    return Task("edge", network, data, range(len(found)), truth)


class Library(torch.nn.Module):
    def __init__(self, types: list[Any], size: int = 16) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            HeteroConv({each: GraphConv((-1, -1), size) for each in types}) for _ in range(2)
        )
        self.last = torch.nn.Linear(size, 2)

    def forward(self, x_dict: Any, edge_index_dict: Any) -> Any:
        for layer in self.layers:
            x_dict = {name: x.relu() for name, x in layer(x_dict, edge_index_dict).items()}
        return self.last(x_dict["paper"])


def typed() -> Task:
    """Has a paper a marked author? The explanation is the edges from marked authors."""
    rng = np.random.default_rng(0)
    data = HeteroData()
    # As many authors as papers: PGExplainer looks for the target's row among the sources of every relation.
    data["paper"].x, data["author"].x = torch.rand(80, 3), torch.rand(80, 3)
    marked = torch.arange(80) < 16
    data["author"].x[:, 0] = marked.float()
    writes = torch.tensor(np.unique(np.stack([rng.integers(0, 80, 200), rng.integers(0, 80, 200)]), axis=1))
    data["author", "writes", "paper"].edge_index = writes
    data["paper", "by", "author"].edge_index = writes.flip(0)
    data["paper", "cites", "paper"].edge_index = torch.tensor(rng.integers(0, 80, (2, 160)))
    labels = torch.zeros(80, dtype=torch.long).index_put((writes[1][marked[writes[0]]],), torch.tensor(1))
    data["paper"].y = labels
    network = Library(data.edge_types)
    network(data.x_dict, data.edge_index_dict)  # sizes of the first layer
    print("accuracy", fitted(network, lambda: network(data.x_dict, data.edge_index_dict), labels))

    def truth(paper: int) -> Any:
        return {("author", "writes", "paper"): marked[writes[0]] & (writes[1] == paper)}

    return Task("node", network, data, torch.nonzero(labels == 1)[:20, 0], truth, "paper")


def explainers(task: Task) -> dict[str, Explainer]:
    """Three explainers of the network's answers; PGExplainer is trained first, and does not explain pairs."""
    config = {"mode": "multiclass_classification", "task_level": task.level, "return_type": "raw"}

    def made(algorithm: Any, kind: str = "model") -> Explainer:
        return Explainer(task.network, algorithm, explanation_type=kind, edge_mask_type="object", model_config=config)

    found = {
        "GNNExplainer": made(GNNExplainer(epochs=60)),
        "IntegratedGradients": made(CaptumExplainer("IntegratedGradients")),
    }
    if task.level != "edge":
        found["PGExplainer"] = made(PGExplainer(epochs=20, lr=0.003), "phenomenon")
        trained(found["PGExplainer"], task)
    return found


def trained(explainer: Explainer, task: Task, epochs: int = 20) -> None:
    for epoch in range(epochs):
        if task.level == "graph":
            for graph in task.data:
                batch = torch.zeros(len(graph.x), dtype=torch.long)
                explainer.algorithm.train(
                    epoch, explainer.model, graph.x, graph.edge_index, target=graph.y, batch=batch
                )
            continue
        typed = task.target_type is not None
        x = task.data.x_dict if typed else task.data.x
        edge_index = task.data.edge_index_dict if typed else task.data.edge_index
        labels = task.data[task.target_type].y if typed else task.data.y
        for index in task.targets.tolist():
            explainer.algorithm.train(epoch, explainer.model, x, edge_index, target=labels, index=index)


def judged(task: Task) -> tuple[explanation.AnswerTable, dict[str, Any]]:
    named = explainers(task)
    # begin
    model = explanation.PyGModel(task.network, task.data, task=task.level, target_type=task.target_type)
    said = explanation.explain_pyg(named, model, task.targets, truth=task.truth)
    table = explanation.collect(model, said, metrics=METRICS, random=10)
    found = {name: explanation.evaluate(table, explainer=name, metrics=METRICS) for name in named}
    for metric in METRICS[:2]:
        print(explanation.compare(table, metric))
    # end
    return table, found


TASKS = {"node": nodes, "graph": graphs, "link": pairs, "hetero": typed}


def written(table: explanation.AnswerTable, found: dict[str, Any]) -> str:
    """A table of the explainers in Markdown."""
    drop, robust, truth = METRICS
    against = explanation.compare(table, drop, baseline="random explainer")
    means = {metric: explanation.compare(table, metric) for metric in (drop, robust)}
    columns = ("explainer", "drop, signed", "less random's", "p", "`robust_delta`", "`truth_auc`")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, result in found.items():
        pair = against[name, "random explainer"]
        low, high = pair.interval.low, pair.interval.high
        lines.append(
            f"| {name} | {result[drop].value:.3f} | {pair.difference:+.3f} [{low:.3f}, {high:.3f}] | {pair.p_holm:.2g} "
            f"| {result[robust].value:.3f} | {result[truth].value:.3f} |"
        )
    drop_at_random, robust_at_random = (each["random explainer"].mean for each in means.values())
    lines.append(f"| random explainer | {drop_at_random:.3f} | – | – | {robust_at_random:.3f} | 0.500 |")
    return "\n".join([*lines, "", f"{len(table)} events.", ""])


def main(*names: str) -> None:
    torch.set_num_threads(1)  # the order of sums in several threads may change what is learned
    folder = Path(names[0]) if names else None
    for name, task in TASKS.items():
        print(f"\n{name}")
        seed_everything(0)
        table, found = judged(task())
        text = written(table, found)
        print(text)
        if folder is not None:
            (folder / f"{name}.inc").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
