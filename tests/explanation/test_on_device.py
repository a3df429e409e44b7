"""Modules on a CUDA device, which is simulated: what is made for them is there, and the answers are the host's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.explanation.pyg_like import Data

from graphgauge.core.errors import InputError
from graphgauge.explanation import Context, Explanation, PyGModel, Subgraph, evaluate, from_pyg

RNG = np.random.default_rng(3)
NODES, FEATURES, CLASSES = 9, 4, 3
X = RNG.normal(size=(NODES, FEATURES)).astype("f4")
EDGES = np.array([(a, b) for a in range(NODES) for b in range(NODES) if (a + 2 * b) % 5 == 1 and a != b]).T
MASK = RNG.random(EDGES.shape[1]).astype("f4")
WEIGHT = RNG.normal(size=(FEATURES, CLASSES)).astype("f4")
SCALE = RNG.random(EDGES.shape[1]).astype("f4")


class Module:
    """Stands in for a torch module, whose parameters cannot be on a simulated device."""

    training = False

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def parameters(self) -> Iterator[Any]:
        return iter([self.weight])

    def eval(self) -> Module:
        return self

    def train(self, mode: bool = True) -> Module:
        return self

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.forward(*given, **named)

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Any:
        sent = x[edge_index[0]] if edge_weight is None else x[edge_index[0]] * edge_weight[:, None]
        return (x + torch.zeros_like(x).index_add_(0, edge_index[1], sent)) @ self.weight


class Pairs(Module):
    def forward(self, x: Any, edge_index: Any, edge_label_index: Any) -> Any:
        rows = super().forward(x, edge_index)
        return rows[edge_label_index[0]] + rows[edge_label_index[1]]


class Graphs(Module):
    def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
        rows = super().forward(x, edge_index)
        return rows.new_zeros(int(batch.max()) + 1, CLASSES).index_add_(0, batch, rows)


class Typed(Module):
    def forward(self, x: Any, edge_index: Any) -> Any:
        (source, _, sink), ends = next(iter(edge_index.items()))
        rows = x[sink]
        return (rows + torch.zeros_like(rows).index_add_(0, ends[1], x[source][ends[0]])) @ self.weight


def told(found: Any) -> Any:
    return json.loads(json.dumps({key: [found[key].value, found[key].n] for key in found}))


def homogeneous(put: Any, module_put: Any, task: str) -> Any:
    module = {"node": Module, "edge": Pairs, "graph": Graphs}[task](module_put(WEIGHT))
    data = Data(x=put(X), edge_index=put(EDGES))
    said = Data(data, edge_mask=put(MASK))
    if task == "node":
        data |= {"edge_weight": put(SCALE)}
        with torch.no_grad():
            answer = Module(torch.as_tensor(WEIGHT))(*map(torch.as_tensor, (X, EDGES, SCALE)))
        said |= {"index": put(np.array(4)), "prediction": put(answer.numpy())}
    elif task == "edge":
        said |= {"edge_label_index": put(np.array([[1, 2], [3, 4]])), "index": put(np.array(1))}
    model = PyGModel(module, data, task=task, num_hops=2)
    one = from_pyg(
        said,
        model,
        truth=put(MASK > 0.5),
        units=put(np.arange(EDGES.shape[1]) // 2),
        explainer="mine",
        event=0,
        candidates=put(np.arange(6)) if task == "graph" else None,
    )
    return evaluate(model, [one], random=2, metrics="all")


@pytest.mark.parametrize("explained", ["there", "here"])
@pytest.mark.parametrize("task", ["node", "edge", "graph"])
def test_answers_are_those_of_the_host(task: str, explained: str, simulated: Any) -> None:
    """Also to an explanation that was moved to the host, of a module that stayed."""
    host = torch.as_tensor
    expected = homogeneous(host, host, task)
    found = homogeneous(simulated.put if explained == "there" else host, simulated.put, task)
    assert told(found) == told(expected)


@pytest.mark.parametrize("masked", ["nodes", "features"])
def test_masked_features_are_those_of_the_host(masked: str, simulated: Any) -> None:
    def asked(put: Any) -> Any:
        shape = {"nodes": (NODES, 1), "features": (1, FEATURES)}[masked]
        mask = np.abs(np.random.default_rng(1).normal(size=shape)).astype("f4")
        data = Data(x=put(X), edge_index=put(EDGES))
        model = PyGModel(Module(put(WEIGHT)), data, num_hops=2)
        said = Data(data, node_mask=put(mask), index=put(np.array(4)))
        return evaluate(model, [from_pyg(said, model, masked=masked)], random=2, metrics="all")

    assert told(asked(simulated.put)) == told(asked(torch.as_tensor))


def test_graphs_with_types(simulated: Any) -> None:
    saw = ("user", "saw", "film")

    def asked(put: Any) -> Any:
        data = Data(user=Data(x=put(X[:3])), film=Data(x=put(X[3:5])), node_types=["user", "film"], edge_types=[saw])
        data[saw] = Data(edge_index=put(np.array([[0, 1, 2, 2], [0, 0, 1, 0]])))  # type: ignore[index]
        model = PyGModel(Typed(put(WEIGHT)), data, num_hops=1, target_type="film")
        graph = Subgraph([[0, 1, 2], [3, 3, 3]], ids=[0, 1, 3])
        given = Explanation(Context(graph, 0, event=0), put(MASK[:3]), explainer="mine")
        return evaluate(model, [given], random=2, metrics="all")

    assert told(asked(simulated.put)) == told(asked(torch.as_tensor))


def test_several_targets_of_one_explanation(simulated: Any) -> None:
    def asked(put: Any) -> Any:
        data = Data(x=put(X), edge_index=put(EDGES))
        said = Data(data, edge_mask=put(MASK), index=put(np.array([1, 4])))
        model = PyGModel(Module(put(WEIGHT)), data, num_hops=2)
        return evaluate(model, [from_pyg(said, model, target=node) for node in (1, 4)], random=2, metrics="all")

    assert told(asked(simulated.put)) == told(asked(torch.as_tensor))


def test_data_on_the_host_are_moved_to_the_module_once(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Data(x=torch.ones(NODES, 1000), edge_index=torch.as_tensor(EDGES))
    model = PyGModel(Module(simulated.put(np.ones((1000, CLASSES), "f4"))), data, num_hops=2)
    assert model.graph.by_node["x"][None].is_cuda
    sent: list[int] = []
    ours = torch.as_tensor
    monkeypatch.setattr(
        torch, "as_tensor", lambda array, **options: sent.append(array.nbytes) or ours(array, **options)
    )
    graph = Subgraph(EDGES[:, :3], ids=np.arange(3))
    model.predict(graph, 4, np.ones((50, 3), bool))
    assert max(sent) <= 50 * EDGES.nbytes


def test_a_module_that_is_elsewhere_than_its_inputs_is_named(simulated: Any) -> None:
    class Mixed(Module):
        def forward(self, x: Any, edge_index: Any) -> Any:
            return x @ torch.as_tensor(WEIGHT)

    model = PyGModel(
        Mixed(simulated.put(WEIGHT)), Data(x=torch.as_tensor(X), edge_index=torch.as_tensor(EDGES)), num_hops=1
    )
    with pytest.raises(InputError, match=r"Mixed.forward.*two devices"):
        model.predict(Subgraph(EDGES), 4, np.ones((1, EDGES.shape[1]), bool))
