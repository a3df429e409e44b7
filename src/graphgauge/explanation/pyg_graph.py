"""Graphs of PyTorch Geometric as tensors by type (reach, parts, copies), and the layers of a module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.explanation.inputs import EDGES, NODES, whole_numbers

FLOWS = ("source_to_target", "target_to_source")
BOTH_WAYS = "both"


@dataclass(frozen=True)
class Graph:
    """Edges by type, and inputs of nodes and of edges by argument name and type; without types, the one type is None.

    Nodes and edges are numbered through the types, in their order in the data.
    """

    nodes: dict[Any, int]
    edge_index: dict[Any, Any]
    by_node: dict[str, dict[Any, Any]]
    by_edge: dict[str, dict[Any, Any]]

    @classmethod
    def from_data(cls, data: Any, names: Iterable[str], device: Any) -> Graph:
        """The edges of a `Data` or `HeteroData` object on a device, and those of its tensors that are named."""
        typed = is_typed(data)
        if not typed and not callable(getattr(data, "get", None)):
            what = f"expected a Data or HeteroData object of torch_geometric, found {type(data).__name__}"
            raise InputError(what, where="data")
        node_kinds, edge_kinds = (data.node_types, data.edge_types) if typed else ([None], [None])
        stores = {kind: data[kind] if typed else data for kind in (*node_kinds, *edge_kinds)}
        graph = cls({kind: int(stores[kind].num_nodes or 0) for kind in node_kinds}, {}, {}, {})
        for kind in edge_kinds:
            pairs = stores[kind].get("edge_index")
            if not is_tensor(pairs) or pairs.dim() != 2 or len(pairs) != 2:
                raise InputError("has no edge_index of two rows", where="data", fix="Give the edges as edge_index.")
            graph.edge_index[kind] = pairs.to(device)
        for kind, store in stores.items():
            for name in names:
                if name != "edge_index" and store.get(name) is not None:
                    graph._add(name, kind, store.get(name), device)
        return graph

    def _add(self, name: str, kind: Any, value: Any, device: Any) -> None:
        nodes, edges = self.nodes.get(kind, -1), self.edges.get(kind, -1)
        shape = tuple(value.shape) if is_tensor(value) else type(value).__name__
        rows = shape[0] if isinstance(shape, tuple) and shape and "index" not in name else None
        if rows not in (nodes, edges):
            what = f"{name} ({shape}) has no row for each of {max(nodes, 0)} nodes or {max(edges, 0)} edges"
            fix = "Wrap the module so that it does not take this input."
            raise InputError(what, where="data", fix=fix)
        by_edge = rows == edges and (edges != nodes or "edge" in name)
        (self.by_edge if by_edge else self.by_node).setdefault(name, {})[kind] = value.to(device)

    @property
    def typed(self) -> bool:
        """Whether nodes and edges have types."""
        return None not in self.nodes

    @property
    def edges(self) -> dict[Any, int]:
        """The number of edges of each type."""
        return {kind: int(pairs.shape[1]) for kind, pairs in self.edge_index.items()}

    @property
    def starts(self) -> dict[Any, int]:
        """The number of the first node of each type."""
        return dict(zip(self.nodes, np.cumsum([0, *self.nodes.values()]).tolist(), strict=False))

    @cached_property
    def columns(self) -> dict[Any, int]:
        """The number of features of each type of nodes that has some."""
        return {kind: prod(x.shape[1:]) for kind, x in self.by_node["x"].items()}

    def sizes(self, masked: str) -> dict[Any, int]:
        """How many edges, nodes or features each type has."""
        return self.edges if masked == EDGES else self.nodes if masked == NODES else self.columns

    def used(self, nodes: Mask, masked: str) -> Ints:
        """Of some nodes, those with features other than 0; or their features that are not 0 for all of them."""
        chosen, used = split(nodes, self.nodes), []
        for kind, count in self.sizes(masked).items():
            x = self.by_node["x"].get(kind)
            nonzero = np.zeros((count, 0), bool) if x is None else as_numeric(x, "x").reshape(len(x), -1) != 0
            mine = nonzero & chosen[kind][:, np.newaxis]
            used.append(mine.any(axis=1 if masked == NODES else 0))
        return np.flatnonzero(np.concatenate(used))

    @property
    def size(self) -> int:
        """How many numbers the tensors hold."""
        named = (*self.by_node.values(), *self.by_edge.values(), self.edge_index)
        return int(sum(tensor.numel() for by in named for tensor in by.values()))

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Source and target of every edge."""
        both = [np.empty((2, 0), np.int64)]
        for kind, pairs in self.edge_index.items():
            both.append(whole_numbers(pairs, "edge_index") + np.array([[self.starts[end]] for end in ends_of(kind)]))
        source, sink = np.concatenate(both, axis=1)
        return source, sink

    def names(self, nodes: Ints) -> AnyArray:
        """Ids of nodes: their numbers; in a heterogeneous graph their types and numbers within them, `paper:7`."""
        if not self.typed:
            return nodes
        return np.array([f"{kind}:{row}" for kind, rows in within(nodes, self.nodes).items() for row in rows], np.str_)

    def reaching(self, nodes: Ints, hops: int, flow: str) -> Ints:
        """The edges on paths of at most so many edges to some nodes, followed as messages flow."""
        source, sink = self.ends
        reached, found = np.zeros(sum(self.nodes.values()), bool), np.zeros(len(source), bool)
        reached[nodes] = True
        for _ in range(hops):
            found = reached[sink] if flow == FLOWS[0] else reached[source]
            found = found | reached[sink] if flow == BOTH_WAYS else found
            reached[source[found]] = reached[sink[found]] = True
        return np.flatnonzero(found)

    def part(self, edges: Ints, nodes: Ints) -> Part:
        """The graph of some edges, of the nodes at their ends and of some others."""
        nodes = np.unique(np.concatenate([*(row[edges] for row in self.ends), nodes]))
        rows, chosen = within(nodes, self.nodes), within(edges, self.edges)
        pairs = {}
        for kind, whole in self.edge_index.items():
            ends = zip(whole_numbers(whole, "edge_index")[:, chosen[kind]], ends_of(kind), strict=True)
            pairs[kind] = like(np.stack([np.searchsorted(rows[end], row) for row, end in ends]), whole)
        graph = Graph(
            {kind: len(each) for kind, each in rows.items()},
            pairs,
            {name: {kind: x[like(rows[kind], x)] for kind, x in by.items()} for name, by in self.by_node.items()},
            {name: {kind: x[like(chosen[kind], x)] for kind, x in by.items()} for name, by in self.by_edge.items()},
        )
        return Part(graph, nodes, edges)

    def repeated(self, copies: int, kept: dict[Any, Mask] | None = None) -> tuple[dict[Any, Any], dict[str, Any]]:
        """Copies side by side: edges by type, and inputs by name and type; `batch` is the number of each node's copy.

        `kept` (copies, edges) of each type is False for edges that are left out.
        """
        import torch

        number = like(np.arange(copies), next(iter(self.edge_index.values()), None))
        inputs = {name: {kind: _tiled(x, copies) for kind, x in by.items()} for name, by in self.by_node.items()}
        edge_index = {}
        for kind, pairs in self.edge_index.items():
            stays = slice(None) if kept is None else like(kept[kind].reshape(-1), pairs)
            shifted = [row + number[:, None] * self.nodes[end] for row, end in zip(pairs, ends_of(kind), strict=True)]
            edge_index[kind] = torch.stack([each.reshape(-1)[stays] for each in shifted])
            for name, by in self.by_edge.items():
                if kind in by:
                    inputs.setdefault(name, {})[kind] = _tiled(by[kind], copies)[stays]
        inputs["batch"] = {kind: number.repeat_interleave(count) for kind, count in self.nodes.items()}
        return edge_index, inputs


@dataclass(frozen=True)
class Part:
    """A part of a graph, with the numbers that its nodes and edges have in the whole, in rising order."""

    graph: Graph
    nodes: Ints
    edges: Ints

    def places(self, masked: str) -> Ints:
        """The numbers in the whole of its edges and nodes; its features are those of the whole."""
        if masked in (EDGES, NODES):
            return self.edges if masked == EDGES else self.nodes
        return np.arange(sum(self.graph.columns.values()))


def batch_of(data: Any, task: str) -> Any:
    """Several graphs as one batch; of a loader, those of its dataset in their order."""
    data = data.dataset if hasattr(data, "batch_sampler") else data
    graphs = [one for each in data for one in (each.to_data_list() if hasattr(each, "to_data_list") else [each])]
    if task != "graph" or not graphs:
        raise InputError(f"are {len(graphs)} graphs", where="data", fix='Only task="graph" takes several.')
    return need("torch_geometric.data", "several graphs").Batch.from_data_list(graphs)


def target_types(graph: Graph, task: str, given: Any) -> list[Any]:
    """The types of the explained nodes."""
    if not graph.typed and given is None:
        return [None, None]
    types = [given] if isinstance(given, str) else [*(given or ())]
    if not graph.typed or len(types) != {"node": 1, "edge": 2, "graph": 0}[task]:
        raise OptionError(
            f"target_type={given!r:.60} does not fit task={task!r}",
            fix='In a heterogeneous graph it is the type of the node, "paper", or the types of the pair, '
            '("user", "movie"); leave it out otherwise.',
        )
    return [one_of("target_type", each, graph.nodes) for each in types]


def is_typed(data: Any) -> bool:
    """Whether it is a `HeteroData` object or a `HeteroExplanation`."""
    return getattr(data, "edge_types", None) is not None


def ends_of(kind: Any) -> tuple[Any, Any]:
    """The types of source and target of an edge type."""
    return (None, None) if kind is None else (kind[0], kind[2])


def like(array: AnyArray, tensor: Any) -> Any:
    """An array as a tensor on the device of another one; torch warns about arrays that cannot be written to."""
    import torch

    return torch.as_tensor(np.require(array, requirements=["C", "W"]), device=None if tensor is None else tensor.device)


def _tiled(value: Any, copies: int) -> Any:
    return value.repeat(copies, *[1] * (value.dim() - 1))


def split(array: AnyArray, sizes: Mapping[Any, int]) -> dict[Any, AnyArray]:
    """The columns of an array (…, n) for each type."""
    return dict(zip(sizes, np.split(array, np.cumsum([*sizes.values()])[:-1], axis=-1), strict=True))


def within(numbers: Ints, sizes: Mapping[Any, int]) -> dict[Any, Ints]:
    """Numbers through the types, in rising order, as numbers within each type."""
    starts = np.cumsum([0, *sizes.values()])
    cuts = np.searchsorted(numbers, starts)
    return {kind: numbers[cuts[k] : cuts[k + 1]] - starts[k] for k, kind in enumerate(sizes)}


# ---- layers


@dataclass(frozen=True, eq=False)
class Layers:
    """What the layers of a module have in common.

    `depth` is the number of layers one after the other. `flow` is one of `FLOWS`, or `BOTH_WAYS` if layers differ.
    Messages are `maskable` if torch_geometric can multiply them.
    """

    module: Any
    depth: int
    flow: str
    maskable: bool

    @classmethod
    def of(cls, module: Any) -> Layers:
        """The layers of a module; those that keep the graph of their first call are refused."""
        layers = [*message_layers(module)]
        cached = next((type(layer).__name__ for layer in layers if getattr(layer, "cached", False)), None)
        if cached is not None:
            what = f"{cached} keeps the graph of its first call (cached=True), so masks would have no effect"
            fix = "Build it with cached=False and load the weights."
            raise InputError(what, where="module", fix=fix)
        flows = {getattr(layer, "flow", FLOWS[0]) for layer in layers} or {FLOWS[0]}
        maskable = any(hasattr(layer, "_edge_mask") for layer in layers)
        return cls(module, _depth(module), flows.pop() if len(flows) == 1 else BOTH_WAYS, maskable)

    @contextmanager
    def multiplied(self, edge_index: Mapping[Any, Any], weights: Mapping[Any, Mask]) -> Iterator[None]:
        """Their messages multiplied by weights, 0 or 1 for each edge, by type of edge, in this block."""
        tools = need("torch_geometric.explain.algorithm.utils", "multiplying messages by masks")
        if not self.maskable:
            what = f"{type(self.module).__name__} has no torch_geometric layers, whose messages can be multiplied"
            raise InputError(what, where="module", fix='Use masking="remove".')
        masks = {kind: like(mask.reshape(-1), edge_index[kind]).float() for kind, mask in weights.items()}
        set_masks = tools.set_masks if None in masks else tools.set_hetero_masks
        # Unless told otherwise, both take the masks for logits.
        set_masks(self.module, masks.get(None, masks), edge_index.get(None, edge_index), apply_sigmoid=False)
        try:
            yield
        finally:
            tools.clear_masks(self.module)


def message_layers(module: Any) -> Iterator[Any]:
    """The layers of a module that pass messages."""
    modules = getattr(module, "modules", None)
    yield from (layer for layer in (modules() if callable(modules) else ()) if _passes_messages(layer))


def _passes_messages(layer: Any) -> bool:
    return callable(getattr(layer, "propagate", None)) and callable(getattr(layer, "message", None))


def _depth(module: Any) -> int:
    """The number of message-passing layers one after the other; those of different edge types are side by side."""
    if _passes_messages(module):
        return 1
    children = getattr(module, "named_children", None)
    named = [*children()] if callable(children) else []
    by_type = bool(named) and all(len(name.strip("<>").split("__")) >= 3 for name, _ in named)
    return (max if by_type else sum)([0, *(_depth(child) for _, child in named)])
