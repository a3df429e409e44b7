"""Modules of PyTorch Geometric as models to explain. torch is imported where it is used."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, is_tensor
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code
from graphgauge.explanation.inputs import Masks, Subgraph
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS, MODEL_OUTPUT

TASKS = ("node", "edge", "graph")
MASKING = ("remove", "weight")
_TASK_FIX = (
    'A module returns one answer per graph with task="graph", per pair with task="edge", per node with task="node".'
)


class PyGModel:
    """A PyTorch Geometric module `module(x, edge_index, …)`, run on all masks in one disjoint union.

    Parameters
    ----------
    task
        `node`: the target is a row of the output. `edge`: it is a pair of nodes; the module gets `edge_label_index=`
        and returns one answer per pair. `graph`: the module gets `batch=` and returns one answer per graph.
    masking
        `remove` removes edges from the graph. `weight` multiplies their messages by 0, as torch_geometric's explainers
        do; the edges then still count in the degrees that a layer divides by.
    """

    def __init__(
        self, module: Any, *, model_output: str = "logit", task: str = "node", masking: str = "remove"
    ) -> None:
        if not callable(getattr(module, "parameters", None)):
            raise InputError(f"expected a torch module, found {type(module).__name__}", where="module")
        self.model_output = one_of("model_output", model_output, MODEL_OUTPUT)
        self.task, self._masking = one_of("task", task, TASKS), one_of("masking", masking, MASKING)
        self._module = module
        caching = [type(layer).__name__ for layer in self._layers() if getattr(layer, "cached", False)]
        if caching:
            raise InputError(
                f"{caching[0]} keeps the graph of its first call (cached=True), so masks would have no effect",
                where="module", fix="Build it with cached=False and load the weights.",
            )  # fmt: skip

    @classmethod
    def of(cls, explainer: Any, *, masking: str = "remove") -> PyGModel:
        """The module of a `torch_geometric.explain.Explainer`, with the task and output of its configuration."""
        config = getattr(explainer, "model_config", None)
        if config is None:
            raise InputError(f"expected an Explainer, found {type(explainer).__name__}", where="explainer")
        returns, task = (getattr(config, name).value for name in ("return_type", "task_level"))
        if config.mode.value == "regression":
            raise InputError("explains a regression, which has no classes", where="explainer")
        output = "probability" if returns == "probs" else "logit"  # the softmax of log-probabilities is exact
        return cls(explainer.model, model_output=output, task=task, masking=masking)

    @property
    def name(self) -> str:
        return type(self._module).__name__

    @property
    def hops(self) -> int | None:
        """How many edges a message can travel, by the number of message-passing layers; None if there are none."""
        return sum(1 for _ in self._layers()) or None

    @property
    def multiplies_messages(self) -> bool:
        """Whether it has layers of torch_geometric, whose messages a mask can multiply."""
        layers = sys.modules.get("torch_geometric.nn.conv.message_passing")
        return layers is not None and any(isinstance(layer, layers.MessagePassing) for layer in self._layers())

    @property
    def counts_degrees(self) -> bool:
        """Whether a layer divides by degrees, so that edges one hop beyond the messages change the answer."""
        return any(getattr(layer, "normalize", False) for layer in self._layers())

    @property
    def flow(self) -> str:
        flows = {getattr(layer, "flow", FLOWS[0]) for layer in self._layers()} or {FLOWS[0]}
        return flows.pop() if len(flows) == 1 else BOTH_WAYS

    def _layers(self) -> Iterator[Any]:
        modules = getattr(self._module, "modules", None)
        for layer in modules() if callable(modules) else ():
            if callable(getattr(layer, "propagate", None)) and callable(getattr(layer, "message", None)):
                yield layer

    def takes(self, name: str) -> bool:
        parameters = inspect.signature(self._module.forward).parameters
        return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    def names(self, name: str) -> bool:
        return name in inspect.signature(self._module.forward).parameters

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        return self.predict_many([subgraph], [target], [masks])[0]

    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> Sequence[Any]:
        remove = self._masking == "remove"
        union = _Union(subgraphs, masks, remove=remove)
        return self._answers(union, targets, None if remove else union.kept)

    def under_masks(self, x: Any, edge_index: Any, edge_mask: Any, node_mask: Any, inputs: Mapping[str, Any]) -> Any:
        """The module's answers on a whole graph as torch_geometric's metrics mask it, whatever `masking` is.

        Messages are multiplied by the edge mask, node features by the node mask.
        """
        x = x if node_mask is None else node_mask * x
        with self._evaluating():
            return self._answer(x, edge_index, edge_mask, inputs)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        torch = need("torch", "asking a PyTorch Geometric module")
        training = self._module.training
        self._module.eval()
        try:
            with torch.no_grad(), own_code(f"module {self.name}.forward"):
                yield
        finally:
            self._module.train(training)

    def _answers(self, union: _Union, targets: Sequence[Any], weights: AnyArray | None) -> Sequence[Any]:
        """The module's answers for all copies of the subgraphs, with messages multiplied by weights."""
        torch = need("torch", "asking a PyTorch Geometric module")
        like = next(iter(self._module.parameters()), torch.zeros(1))
        given = {name: _tensor(torch, array, like) for name, array in union.arrays.items()}
        if self.task == "graph" or union.batched:
            given["batch"] = torch.as_tensor(union.owner, device=like.device)
        if self.task == "edge":
            given["edge_label_index"] = torch.as_tensor(union.pairs(targets), device=like.device)
        x = given.pop("x")
        edge_index = torch.as_tensor(union.edge_index, device=like.device)
        kept = None if weights is None else torch.as_tensor(weights).to(like)
        with self._evaluating():
            answer = self._answer(x, edge_index, kept, given)
        expected, what = (len(union.owner), "nodes") if self.task == "node" else (len(union), f"{self.task}s")
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            found = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            raise InputError(f"{found} for {expected} {what}", where="answers of the module", fix=_TASK_FIX)
        rows = answer[torch.as_tensor(union.rows(targets), device=like.device)] if self.task == "node" else answer
        return list(torch.split(rows, union.copies))

    def _answer(self, x: Any, edge_index: Any, weights: Any, given: Mapping[str, Any]) -> Any:
        if weights is None:
            return self._module(x, edge_index, **given)
        tools = need("torch_geometric.explain.algorithm.utils", "multiplying messages by masks")
        if not self.multiplies_messages:
            raise InputError(f"{self.name} has no torch_geometric layers, whose messages can be multiplied",
                             where="module", fix='Use masking="remove".')  # fmt: skip
        tools.set_masks(self._module, weights, edge_index, apply_sigmoid=False)
        try:
            return self._module(x, edge_index, **given)
        finally:
            tools.clear_masks(self._module)


def _tensor(torch: Any, array: AnyArray, like: Any) -> Any:
    """A tensor on the module's device; floats get its dtype, integers and booleans keep theirs."""
    tensor = torch.as_tensor(np.ascontiguousarray(array), device=like.device)
    return tensor.to(like) if tensor.is_floating_point() else tensor


class _Union:
    """Masked copies of subgraphs side by side, as one graph without edges between them.

    `arrays` are the module's inputs other than the edges, by argument name.
    """

    def __init__(self, subgraphs: Sequence[Subgraph], masks: Sequence[Masks], *, remove: bool) -> None:
        copies = [subgraph for subgraph, part in zip(subgraphs, masks, strict=True) for _ in part]
        sizes = np.array([len(subgraph.nodes) for subgraph in copies], np.int64)
        self._starts = np.cumsum(sizes) - sizes
        self.copies = [len(part) for part in masks]
        self._nodes = [len(subgraph.nodes) for subgraph in subgraphs]
        self.owner = np.repeat(np.arange(len(copies)), sizes)
        whole = [subgraph.edge_masks(part) for subgraph, part in zip(subgraphs, masks, strict=True)]
        self.kept = np.concatenate([part.reshape(-1) for part in whole])
        edges = [subgraph.edge_index + start for subgraph, start in zip(copies, self._starts, strict=True)]
        self.edge_index = np.concatenate(edges, axis=1)
        by_node = _joined([_node_arrays(subgraph) for subgraph in copies])
        by_edge = _joined([_edge_arrays(subgraph) for subgraph in copies])
        if remove:
            self.edge_index = self.edge_index[:, self.kept]
            by_edge = {name: array[self.kept] for name, array in by_edge.items()}
        self.batched = by_node.pop("batch", None) is not None  # every copy is a separate graph
        self.arrays = {**by_node, **by_edge}

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, targets: Sequence[Any]) -> Ints:
        """The row of each copy's target among the nodes of the union."""
        return self._placed([node_row(target, nodes) for target, nodes in zip(targets, self._nodes, strict=True)])

    def pairs(self, targets: Sequence[Any]) -> Ints:
        """The two nodes of each copy's target among the nodes of the union, as two rows."""
        ends: list[list[int]] = [[], []]
        for target, nodes in zip(targets, self._nodes, strict=True):
            if not isinstance(target, Sequence) or isinstance(target, str) or len(target) != 2:
                raise InputError(f"expected the rows of two nodes, found {target!r:.60}", where="target")
            for end, node in zip(ends, target, strict=True):
                end.append(node_row(node, nodes))
        return np.stack([self._placed(end) for end in ends])

    def _placed(self, rows: Sequence[int]) -> Ints:
        return np.repeat(np.array(rows, np.int64), self.copies) + self._starts


def node_row(target: Any, nodes: int) -> int:
    if isinstance(target, bool) or not isinstance(target, int | np.integer):
        raise InputError(f"expected the row of a node, found {target!r:.60}", where="target")
    if not 0 <= target < nodes:  # it would be a node of another copy
        raise InputError(f"there is no node {target} among {nodes}", where="target")
    return int(target)


def _node_arrays(subgraph: Subgraph) -> dict[str, AnyArray]:
    arrays = dict(subgraph.node_inputs)
    if "x" not in arrays:
        if subgraph.node_features is None:
            raise InputError("has no node_features, which the module takes as x", where="subgraph")
        arrays["x"] = subgraph.node_features.astype(np.float64)
    return arrays


def _edge_arrays(subgraph: Subgraph) -> dict[str, AnyArray]:
    features = subgraph.edge_features
    return ({} if features is None else {"edge_attr": features.astype(np.float64)}) | dict(subgraph.edge_inputs)


def _joined(copies: Sequence[Mapping[str, AnyArray]]) -> dict[str, AnyArray]:
    names = list(dict.fromkeys(name for arrays in copies for name in arrays))
    for name in names:
        if not all(name in arrays for arrays in copies):
            raise InputError(f"has {name} in some events but not in others", where="subgraph")
    return {name: np.concatenate([arrays[name] for arrays in copies]) for name in names}
