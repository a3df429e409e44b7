"""A graph network without times, on graphs whose motifs are known: houses on a Barabási–Albert graph.

The data are torch_geometric's (`ExplainerDataset`, the graph of the GNNExplainer paper): the class of a node is its
position in a house (roof, middle or ground), or 0 outside of houses. The true explanation is the node's house.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphgauge.core.arrays import Ints
from graphgauge.core.extras import need
from graphgauge.explanation.inputs import Context, Subgraph
from graphgauge.explanation.pyg_model import PyGModel

_CLASSES = 4
_FEATURES = 4
_LAYERS = 3
_MOST_EDGES = 200  # in both directions


class HouseGNN(nn.Module):
    """Each layer sums the neighbours' messages; `weight` scales the message of an edge."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        widths = [_FEATURES] + [hidden] * _LAYERS
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.heard = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairwise(widths))
        self.answer = nn.Linear(_LAYERS * hidden, _CLASSES)

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor | None = None) -> Tensor:
        source, target = edge_index
        states = []
        for own, heard in zip(self.own, self.heard, strict=True):
            message = x[source] if weight is None else x[source] * weight[:, None]
            x = torch.relu(own(x) + heard(x.new_zeros(x.shape).index_add(0, target, message) / _FEATURES))
            states.append(x)
        answer: Tensor = self.answer(torch.cat(states, dim=1))
        return answer


class HouseModel(PyGModel):
    """The network with masks, and its slopes for the gradient explainer."""

    def __init__(self, module: HouseGNN) -> None:
        super().__init__(module, model_output="logit", task="node", masking="remove")
        self.module = module

    def slopes(self, subgraph: Subgraph, target: Any) -> Tensor:
        """For each candidate edge, the derivative of the predicted class's log-odds by its weight, at weight 1."""
        weight = torch.ones(subgraph.edges, requires_grad=True)
        x = torch.tensor(np.array(subgraph.node_features), dtype=torch.float32)
        logits = self.module(x, torch.from_numpy(np.array(subgraph.edge_index)), weight)[int(target)]
        best = int(logits.argmax())
        others = torch.cat([logits[:best], logits[best + 1 :]])
        (slopes,) = torch.autograd.grad(logits[best] - others.logsumexp(0), weight)
        return slopes[torch.from_numpy(np.array(subgraph.candidates))]


@dataclass(frozen=True)
class Houses:
    """A graph with houses, and a network trained to classify the positions of nodes in them."""

    edge_index: Ints
    classes: Ints
    motif: NDArray[np.bool_]  # (edges,) whether the edge is part of a house
    features: NDArray[np.float32]
    model: HouseModel
    accuracy: float  # on the held-out nodes
    held_out: Ints

    def contexts(self, count: int) -> list[Context]:
        """The first `count` held-out nodes in houses that are classified correctly, each with its receptive field.

        Nodes close to a hub, with hundreds of edges, are skipped.
        """
        with torch.no_grad():
            answers = self.model.module(torch.from_numpy(self.features), torch.from_numpy(self.edge_index)).argmax(1)
        right = (answers.numpy() == self.classes) & (self.classes > 0)
        seen = (self._context(int(node)) for node in self.held_out[right[self.held_out]])
        return list(islice((context for context in seen if len(context.subgraph) <= _MOST_EDGES), count))

    def _context(self, node: int) -> Context:
        near = self._reach(node, self.edge_index, _LAYERS)
        inside = np.isin(self.edge_index, near).all(0)
        row = np.zeros(self.classes.size, np.int64)
        row[near] = np.arange(near.size)
        house = self._reach(node, self.edge_index[:, self.motif], self.classes.size)
        subgraph = Subgraph(row[self.edge_index[:, inside]], near, node_features=self.features[near])
        truth = self.motif[inside] & np.isin(self.edge_index[:, inside], house).all(0)
        return Context(subgraph, int(row[node]), event=node, truth=truth)

    @staticmethod
    def _reach(node: int, edge_index: Ints, steps: int) -> Ints:
        """The nodes within this many steps, sorted."""
        reached = np.array([node])
        for _ in range(steps):
            wider = np.union1d(reached, edge_index[0, np.isin(edge_index[1], reached)])
            if wider.size == reached.size:
                break
            reached = wider
        return reached


def houses(seed: int = 0, *, base: int = 300, count: int = 80, epochs: int = 600) -> Houses:
    """Generate the graph and train the network on 80 % of its nodes."""
    datasets = need("torch_geometric.datasets", "the graph of houses")
    generators = need("torch_geometric.datasets.graph_generator", "the graph of houses")
    with _drawn_from(seed):
        data = datasets.ExplainerDataset(generators.BAGraph(base, 5), "house", num_motifs=count)[0]
        module = HouseGNN()
    features = np.ones((data.num_nodes, _FEATURES), np.float32)
    order = np.random.default_rng(seed).permutation(data.num_nodes)
    learnt, held_out = np.split(order, [4 * order.size // 5])
    accuracy = _fit(module, torch.from_numpy(features), data.edge_index, data.y, (learnt, held_out), epochs)
    return Houses(
        data.edge_index.numpy(),
        data.y.numpy(),
        data.edge_mask.numpy() > 0,
        features,
        HouseModel(module),
        accuracy,
        held_out,
    )


@contextmanager
def _drawn_from(seed: int) -> Iterator[None]:
    """Seeds torch and NumPy's global generator, which torch_geometric uses; both are restored afterwards."""
    before = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def _fit(module: HouseGNN, x: Tensor, edge_index: Tensor, y: Tensor, parts: Sequence[Ints], epochs: int) -> float:
    learnt, held_out = (torch.from_numpy(part) for part in parts)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3, weight_decay=1e-4)
    for _ in range(epochs):
        loss = nn.functional.cross_entropy(module(x, edge_index)[learnt], y[learnt])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    module.eval()
    with torch.no_grad():
        right = module(x, edge_index)[held_out].argmax(1) == y[held_out]
    return float(right.float().mean())
