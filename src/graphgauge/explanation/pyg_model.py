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
from graphgauge.explanation.inputs import EDGES, Masks, Subgraph
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS, MODEL_OUTPUT
from graphgauge.old.core.factory import own_code

TASKS = ("node", "edge", "graph")
MASKING = ("remove", "weight")
_TASK_FIX = (
    'A module returns one answer per graph with task="graph", per pair with task="edge", per node with task="node".'
)


class PyGModel:
    """A PyTorch Geometric module `module(x, edge_index, …)`, run on all masks in one disjoint copies.

    A heterogeneous module is called as `module(x_dict, edge_index_dict, …)`. Its output is about the nodes of the
    target's type.

    Parameters
    ----------
    task
        `node`: the target is a row of the output. `edge`: it is a pair of nodes; the module gets `edge_label_index=`
        and returns one answer per pair. `graph`: the module gets `batch=` and returns one answer per graph.
    masking
        What happens to masked edges and features. `remove` removes edges from the graph and sets features to 0.
        `weight` multiplies messages of edges by 0, as torch_geometric's explainers do; the edges then still count in
        the degrees that a layer divides by.
    """

    def __init__(
        self, module: Any, *, model_output: str = "logit", task: str = "node", masking: str = "remove"
    ) -> None:
        if not callable(getattr(module, "parameters", None)):
            raise InputError(f"expected a torch module, found {type(module).__name__}", where="module")
        self.model_output = one_of("model_output", model_output, MODEL_OUTPUT)
        self.task, self.masking = one_of("task", task, TASKS), one_of("masking", masking, MASKING)
        self._module = module
        caching = [type(layer).__name__ for layer in self._layers() if getattr(layer, "cached", False)]
        if caching:
            raise InputError(
                f"{caching[0]} keeps the graph of its first call (cached=True), so masks would have no effect",
                where="module",
                fix="Build it with cached=False and load the weights.",
            )

    @classmethod
    def of(cls, explainer: Any, *, masking: str = "remove") -> PyGModel:
        """The module of a `torch_geometric.explain.Explainer`, with the task and output of its configuration.

        Parameters
        ----------
        explainer
            A `torch_geometric.explain.Explainer`.
        masking
            How edges are left out: `remove` or `weight`.

        Returns
        -------
        PyGModel
            The model.

        Raises
        ------
        InputError
            If it is no explainer, or explains a regression.
        """
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
        """How many edges a message can travel, by the number of message-passing layers; None if there are none.

        Layers of different edge types are next to each other, not one after the other.
        """
        return _depth(self._module) or None

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
        """Whether the module's `forward` accepts an argument, also through `**kwargs`.

        Parameters
        ----------
        name
            The name of the argument.

        Returns
        -------
        bool
            True or False.
        """
        parameters = inspect.signature(self._module.forward).parameters
        return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    def names(self, name: str) -> bool:
        """Whether the module's `forward` names an argument.

        Parameters
        ----------
        name
            The name of the argument.

        Returns
        -------
        bool
            True or False.
        """
        return name in inspect.signature(self._module.forward).parameters

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        """Answer for many masked copies of one subgraph.

        Parameters
        ----------
        subgraph, target, masks
            As in `Model.predict`.

        Returns
        -------
        Any
            (B, classes): the module's output for the target.
        """
        copies = _Copies(subgraph, masks, self.masking, self._precision)
        return self._answers(copies, target, copies.kept if self.masking == "weight" else None)

    def under_masks(self, x: Any, edge_index: Any, edge_mask: Any, node_mask: Any, inputs: Mapping[str, Any]) -> Any:
        """The module's answers on a whole graph as torch_geometric's metrics mask it, whatever `masking` is.

        Messages are multiplied by the edge mask, node features by the node mask.

        Parameters
        ----------
        x, edge_index
            The node features and edges of a graph.
        edge_mask, node_mask
            What messages and node features are multiplied by; None for 1.
        inputs
            Other arguments of the module, by name.

        Returns
        -------
        Any
            The module's output.
        """
        x, edge_index, edge_mask, node_mask, inputs = map(self._there, (x, edge_index, edge_mask, node_mask, inputs))
        if isinstance(node_mask, Mapping):
            x = {name: node_mask[name] * each if name in node_mask else each for name, each in x.items()}
        elif node_mask is not None:
            x = node_mask * x
        with self._evaluating():
            return self._answer(x, edge_index, edge_mask, inputs)

    def on_edges(self, x: Any, edge_index: Any, kept: Masks, inputs: Mapping[str, Any], by_edge: Sequence[str]) -> Any:
        """The module's answers on a whole graph of one type with some edges masked, without copies of the graph.

        Parameters
        ----------
        x, edge_index
            The node features and edges of a graph.
        kept
            True where an edge is kept.
        inputs
            Other arguments of the module, by name.
        by_edge
            The names of those that have a row per edge.

        Returns
        -------
        Any
            The module's output.
        """
        torch = need("torch", "asking a PyTorch Geometric module")
        x, edge_index, inputs = map(self._there, (x, edge_index, inputs))
        stays = torch.as_tensor(kept, device=edge_index.device)
        if self.masking == "weight":
            return self.under_masks(x, edge_index, stays.to(x.dtype), None, inputs)
        given = {name: value[stays] if name in by_edge else value for name, value in inputs.items()}
        with self._evaluating():
            return self._module(x, edge_index[:, stays], **given)

    @property
    def _precision(self) -> Any:
        """The type of numbers that the module computes with, so that no copies are made in another."""
        torch = need("torch", "asking a PyTorch Geometric module")
        return np.float32 if self._like.dtype == torch.float32 else np.float64

    @property
    def _like(self) -> Any:
        """A tensor of the module's type and on its device."""
        torch = need("torch", "asking a PyTorch Geometric module")
        return next(iter(self._module.parameters()), torch.zeros(1))

    def _there(self, value: Any) -> Any:
        """Tensors, also those by type or name, on the module's device: an explanation may come from another one."""
        if isinstance(value, Mapping):
            return {name: self._there(each) for name, each in value.items()}
        where = next(iter(self._module.parameters()), None)
        return value.to(where.device) if where is not None and is_tensor(value) else value

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

    def _answers(self, copies: _Copies, target: Any, weights: AnyArray | None) -> Any:
        """The module's answers for all copies of the subgraph, with messages multiplied by weights."""
        torch = need("torch", "asking a PyTorch Geometric module")
        like = self._like

        def tensor(array: AnyArray) -> Any:
            return _tensor(torch, array, like)

        def together(arrays: Sequence[AnyArray]) -> Any:
            """Each array is sent to the device once, and repeated there."""
            sent = {id(array): tensor(array) for array in arrays}
            return torch.cat([sent[id(array)] for array in arrays])

        given: dict[str, Any]
        if copies.typed:
            x, edge_index, given, kept = self._typed(copies, weights, tensor, together)
            rows = copies.rows(target) if self.task == "node" else np.empty(0, np.int64)
            of = copies.nodes_of(str(copies.types[rows[0]])) if len(rows) else np.arange(len(copies.owner))
            rows = np.searchsorted(of, rows)
        else:
            given = {name: together(arrays) for name, arrays in copies.arrays.items()}
            if self.task == "graph" or copies.batched:
                given["batch"] = tensor(copies.owner)
            x, edge_index = given.pop("x"), tensor(copies.edge_index)
            kept = None if weights is None else torch.as_tensor(weights).to(like)
            of, rows = copies.owner, copies.rows(target) if self.task == "node" else np.empty(0, np.int64)
        if self.task == "edge":
            given["edge_label_index"] = tensor(copies.pairs(target))
        with self._evaluating():
            answer = self._answer(x, edge_index, kept, given)
        expected, what = (len(of), "nodes") if self.task == "node" else (len(copies), f"{self.task}s")
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            found = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            raise InputError(f"{found} for {expected} {what}", where="answers of the module", fix=_TASK_FIX)
        return answer[tensor(rows)] if self.task == "node" else answer

    def _typed(
        self, copies: _Copies, weights: AnyArray | None, tensor: Any, together: Any
    ) -> tuple[Any, Any, dict[str, Any], Any]:
        """Features, edges, other inputs and weights of edges as dictionaries by type."""
        by_name: dict[str, dict[Any, Any]] = {}
        for key, arrays in copies.arrays.items():
            of, _, name = key.rpartition("/")
            by_name.setdefault(name, {})[_type_key(of)] = together(arrays)
        if self.task == "graph":
            by_name["batch"] = {name: tensor(copies.owner[copies.nodes_of(name)]) for name in copies.node_type_names}
        place = np.empty(len(copies.owner), np.int64)
        for name in copies.node_type_names:
            place[copies.nodes_of(name)] = np.arange(len(copies.nodes_of(name)))
        edges, kept = {}, {}
        for name in copies.edge_type_names:
            chosen = np.flatnonzero(copies.edge_types == name)
            edges[_type_key(name)] = tensor(place[copies.edge_index[:, chosen]])
            if weights is not None:
                kept[_type_key(name)] = tensor(weights[chosen].astype(np.float64))
        given = {
            f"{name}_dict" if self.names(f"{name}_dict") else name: each
            for name, each in by_name.items()
            if name != "x"
        }
        return by_name.get("x", {}), edges, given, None if weights is None else kept

    def _answer(self, x: Any, edge_index: Any, weights: Any, given: Mapping[str, Any]) -> Any:
        if weights is None:
            return self._module(x, edge_index, **given)
        tools = need("torch_geometric.explain.algorithm.utils", "multiplying messages by masks")
        if not self.multiplies_messages:
            raise InputError(
                f"{self.name} has no torch_geometric layers, whose messages can be multiplied",
                where="module",
                fix='Use masking="remove".',
            )
        if isinstance(weights, Mapping):
            tools.set_hetero_masks(self._module, weights, edge_index, apply_sigmoid=False)
        else:
            tools.set_masks(self._module, weights, edge_index, apply_sigmoid=False)
        try:
            return self._module(x, edge_index, **given)
        finally:
            tools.clear_masks(self._module)


def _tensor(torch: Any, array: AnyArray, like: Any) -> Any:
    """A tensor on the module's device; floats get its dtype, integers and booleans keep theirs."""
    # torch warns about arrays that cannot be written to; of those this is a copy.
    tensor = torch.as_tensor(np.require(array, requirements=["C", "W"]), device=like.device)
    return tensor.to(like) if tensor.is_floating_point() else tensor


def _depth(module: Any) -> int:
    """The number of message-passing layers one after the other."""
    if callable(getattr(module, "propagate", None)) and callable(getattr(module, "message", None)):
        return 1
    children = getattr(module, "named_children", None)
    named = list(children()) if callable(children) else []
    depths = [_depth(child) for _, child in named]
    by_type = bool(named) and all(len(name.strip("<>").split("__")) >= 3 for name, _ in named)
    return max(depths) if by_type else sum(depths)


def type_name(key: Any) -> str:
    """An edge type as text, `author__writes__paper`; node types are text already."""
    return key if isinstance(key, str) else "__".join(map(str, key))


def _type_key(name: str) -> Any:
    parts = tuple(name.split("__"))
    return parts if len(parts) == 3 else name


class _Copies:
    """Masked copies of a subgraph side by side, as one graph without edges between them.

    `arrays` are the module's inputs other than the edges, one array per copy or one for all, by argument name; in a
    heterogeneous graph, by type and name.
    """

    def __init__(self, subgraph: Subgraph, masks: Masks, masking: str, precision: Any) -> None:
        self._nodes = len(subgraph.nodes)
        self._starts = np.arange(len(masks)) * self._nodes
        self.owner = np.repeat(np.arange(len(masks)), self._nodes)
        self.typed = subgraph.node_types is not None
        self.kept = subgraph.edge_masks(masks).reshape(-1)
        self.edge_index = (subgraph.edge_index[:, np.newaxis] + self._starts[:, np.newaxis]).reshape(2, -1)
        copies = list(_node_arrays(subgraph, masks, precision))
        by_node = {name: [arrays[name] for arrays in copies] for name in copies[0]}
        by_edge = {name: [array] * len(masks) for name, array in _edge_arrays(subgraph).items()}
        if self.typed:
            self.types = np.tile(subgraph.node_types, len(masks))
            self.edge_types = np.tile(subgraph.edge_types, len(masks))
            self.node_type_names = list(
                dict.fromkeys([*(key.rpartition("/")[0] for key in by_node), *np.unique(self.types).tolist()])
            )
            relations = map(str, subgraph.relations)
            self.edge_type_names = list(dict.fromkeys([*relations, *np.unique(self.edge_types).tolist()]))
        if masking == "remove":
            by_edge = {
                name: [np.concatenate(arrays)[self.kept[self._edges_of(name)]]] for name, arrays in by_edge.items()
            }
            self.edge_index = self.edge_index[:, self.kept]
            if self.typed:
                self.edge_types = self.edge_types[self.kept]
        # Every copy is a separate graph.
        self.batched = not self.typed and by_node.pop("batch", None) is not None
        self.arrays = {**by_node, **by_edge}

    def _edges_of(self, name: str) -> Any:
        """The edges whose rows an input has."""
        return self.edge_types == name.rpartition("/")[0] if self.typed else slice(None)

    def nodes_of(self, name: str) -> Ints:
        return np.flatnonzero(self.types == name)

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, target: Any) -> Ints:
        """The row of each copy's target among the nodes of all copies."""
        return self._starts + node_row(target, self._nodes)

    def pairs(self, target: Any) -> Ints:
        """The two nodes of each copy's target among the nodes of all copies, as two rows."""
        if not isinstance(target, Sequence) or isinstance(target, str) or len(target) != 2:
            raise InputError(f"expected the rows of two nodes, found {target!r:.60}", where="target")
        pairs = np.stack([self.rows(node) for node in target])
        if not self.typed:
            return pairs
        # Ends are counted within their type.
        return np.stack([np.searchsorted(self.nodes_of(str(self.types[end[0]])), end) for end in pairs])


def node_row(target: Any, nodes: int) -> int:
    if isinstance(target, bool) or not isinstance(target, int | np.integer):
        raise InputError(f"expected the row of a node, found {target!r:.60}", where="target")
    if not 0 <= target < nodes:  # it would be a node of another copy
        raise InputError(f"there is no node {target} among {nodes}", where="target")
    return int(target)


def _node_arrays(subgraph: Subgraph, masks: Masks, precision: Any) -> Iterator[dict[str, AnyArray]]:
    """The inputs by node of each masked copy; masked features are 0."""
    arrays = {
        name: array.astype(precision, copy=False) if array.dtype.kind == "f" else array
        for name, array in subgraph.node_inputs.items()
    }
    if subgraph.node_types is None and "x" not in arrays:
        if subgraph.node_features is None:
            raise InputError("has no node_features, which the module takes as x", where="subgraph")
        arrays["x"] = subgraph.node_features.astype(precision, copy=False)
    if subgraph.masked == EDGES:
        yield from [arrays] * len(masks)
        return
    names = [name for name in sorted(arrays) if name.rpartition("/")[2] == "x"]
    kept = subgraph.feature_masks(masks)
    for row in range(len(masks)):
        masked = {}
        for name, part in zip(names, kept, strict=True):
            x = arrays[name]
            stays = part[row].reshape(*part[row].shape, *[1] * (x.ndim - 2)) if x.ndim > 1 else part[row][:, 0]
            masked[name] = np.where(stays, x, np.zeros_like(x))
        yield {**arrays, **masked}


def _edge_arrays(subgraph: Subgraph) -> dict[str, AnyArray]:
    features = None if subgraph.edge_types is not None else subgraph.edge_features
    return ({} if features is None else {"edge_attr": features.astype(np.float64)}) | dict(subgraph.edge_inputs)
