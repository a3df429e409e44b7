"""What PyTorch Geometric has: tensors of a graph (reach, parts, copies), layers of a module, masks of explanations."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.explanation.inputs import EDGES, ENTRIES, FEATURES, NODES, SINGULAR, Subgraph, lined_up, whole_numbers

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

    @property
    def shapes(self) -> dict[Any, tuple[int, int]]:
        """Rows and columns of the node features, by type."""
        return {kind: (len(x), x[:1].numel()) for kind, x in self.by_node["x"].items()}

    def numbers(self, masked: str) -> dict[Any, Ints]:
        """Numbers of nodes (rows, 1), features (1, columns) or entries (rows, columns), through the types."""
        found, start = {}, 0
        for kind, (rows, columns) in self.shapes.items():
            shape = (1 if masked == FEATURES else rows, 1 if masked == NODES else columns)
            first = self.starts[kind] if masked == NODES else start
            found[kind] = first + np.arange(shape[0] * shape[1]).reshape(shape)
            start += found[kind].size
        return found

    def sizes(self, masked: str) -> dict[Any, int]:
        """How many edges, nodes, features or entries each type has."""
        if masked in (EDGES, NODES):
            return self.edges if masked == EDGES else self.nodes
        return {kind: columns * (1 if masked == FEATURES else rows) for kind, (rows, columns) in self.shapes.items()}

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
        return np.array([f"{kind}:{row}" for kind, rows in self.rows(nodes).items() for row in rows], np.str_)

    def rows(self, nodes: Ints) -> dict[Any, Ints]:
        """Numbers of nodes within their types, from numbers in rising order."""
        return _split(nodes, self.nodes)

    def within(self, nodes: Ints, hops: int, flow: str) -> Ints:
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
        rows, chosen = self.rows(nodes), _split(edges, self.edges)
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

    def repeated(self, copies: int, kept: Mask | None = None) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]]]:
        """Copies side by side: edges by type, and inputs by name and type; `batch` is the number of each node's copy.

        `kept` (copies, edges) is False for edges that are left out.
        """
        import torch

        number = like(np.arange(copies), next(iter(self.edge_index.values()), None))
        masks = self.by_type(np.ones((copies, sum(self.edges.values())), bool) if kept is None else kept)
        inputs = {name: {kind: _tiled(x, copies) for kind, x in by.items()} for name, by in self.by_node.items()}
        edge_index = {}
        for kind, pairs in self.edge_index.items():
            stays = like(masks[kind].reshape(-1), pairs)
            shifted = [row + number[:, None] * self.nodes[end] for row, end in zip(pairs, ends_of(kind), strict=True)]
            edge_index[kind] = torch.stack([each.reshape(-1)[stays] for each in shifted])
            for name, by in self.by_edge.items():
                if kind in by:
                    inputs.setdefault(name, {})[kind] = _tiled(by[kind], copies)[stays]
        inputs["batch"] = {kind: number.repeat_interleave(count) for kind, count in self.nodes.items()}
        return edge_index, inputs

    def by_type(self, masks: AnyArray) -> dict[Any, AnyArray]:
        """Columns of an array (…, edges) for each edge type."""
        return dict(zip(self.edges, np.split(masks, np.cumsum([*self.edges.values()])[:-1], axis=-1), strict=True))


@dataclass(frozen=True)
class Part:
    """A part of a graph, with the numbers that its nodes and edges have in the whole, in rising order."""

    graph: Graph
    nodes: Ints
    edges: Ints

    def places(self, masked: str, whole: Graph) -> Ints:
        """The numbers in the whole of all that can be masked."""
        if masked in (EDGES, NODES):
            return self.edges if masked == EDGES else self.nodes
        return np.concatenate([each.ravel() for each in self.numbers(masked, whole).values()])

    def numbers(self, masked: str, whole: Graph) -> dict[Any, Ints]:
        """The numbers that its nodes, features or entries have in the whole, as `Graph.numbers` shapes them."""
        rows, numbers = whole.rows(self.nodes), whole.numbers(masked)
        return numbers if masked == FEATURES else {kind: each[rows[kind]] for kind, each in numbers.items()}


def feature_masks(whole: Graph, part: Part, subgraph: Subgraph, masks: Mask) -> dict[Any, Mask]:
    """For the features of each type, masks that can be multiplied with them: (B, nodes or 1, columns or 1)."""
    found = {}
    for kind, numbers in part.numbers(subgraph.masked, whole).items():
        mine, kept = np.isin(subgraph.ids, numbers), np.ones((len(masks), numbers.size), bool)
        kept[:, np.searchsorted(numbers.ravel(), subgraph.ids[mine])] = masks[:, mine]
        found[kind] = kept.reshape(len(masks), *numbers.shape)
    return found


def batch_of(data: Iterable[Any], task: str) -> Any:
    """Several graphs as one batch; a loader has batches of them already."""
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


def _split(numbers: Ints, counts: dict[Any, int]) -> dict[Any, Ints]:
    """Numbers through the types, in rising order, as numbers within each type."""
    starts = np.cumsum([0, *counts.values()])
    cuts = np.searchsorted(numbers, starts)
    return {kind: numbers[cuts[k] : cuts[k + 1]] - starts[k] for k, kind in enumerate(counts)}


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
        library = sys.modules.get("torch_geometric.nn.conv.message_passing")
        maskable = library is not None and any(isinstance(layer, library.MessagePassing) for layer in layers)
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


# ---- masks of an explanation


def by_type(explanation: Any, name: str) -> dict[Any, Any]:
    """The values of an explanation under a name, by type."""
    if is_typed(explanation):
        return {kind: each for kind, each in explanation.collect(name, allow_empty=True).items() if each is not None}
    return {} if explanation.get(name) is None else {None: explanation.get(name)}


def ranked_by(explanation: Any, graph: Graph, masked: str | None) -> tuple[str, AnyArray]:
    """What the masks of an explanation rank, and one number for each; masks of entries are added up for the others."""
    edge_masks, node_masks = (by_type(explanation, name) for name in ("edge_mask", "node_mask"))
    if not edge_masks and not node_masks:
        fix = "Let the explainer mask edges (edge_mask_type=) or nodes (node_mask_type=)."
        raise InputError("has neither edge_mask nor node_mask", where="explanation", fix=fix)
    entries = {} if not node_masks else _entry_masks(node_masks, graph)
    masked = masked or (EDGES if edge_masks else _usual_kind(entries.values()))
    if not (edge_masks if masked == EDGES else node_masks):
        name = "edge_mask" if masked == EDGES else "node_mask"
        fix = f"Let the explainer mask them ({name}_type=)."
        raise InputError(f"has no {name}, which ranks {masked}", where="explanation", fix=fix)
    if masked == EDGES:
        return masked, _joined(edge_masks, graph.edges, "edge_mask", "edge")
    values = {}
    for kind, (rows, columns) in graph.shapes.items():
        mask = entries[kind]
        if (masked != FEATURES and len(mask) < rows) or (masked != NODES and mask.shape[1] < columns):
            what = f"node_mask has shape {mask.shape} and does not rank {masked}"
            raise InputError(what, where="explanation", fix="See node_mask_type of the Explainer.")
        values[kind] = mask.reshape(-1) if masked == ENTRIES else mask.sum(axis=1 if masked == NODES else 0)
    return masked, _joined(values, graph.sizes(masked), "node_mask", SINGULAR[masked])


def _entry_masks(masks: dict[Any, Any], graph: Graph) -> dict[Any, AnyArray]:
    """The node masks, (nodes or 1, columns or 1) for each type with features; 0 for types that are left out."""
    entries = {}
    for kind, shape in graph.shapes.items():
        mask = as_numeric(masks[kind], "node_mask") if kind in masks else np.zeros(shape)
        mask = mask.reshape(len(mask), -1).astype(np.float64)
        if any(length not in (1, most) for length, most in zip(mask.shape, shape, strict=True)):
            raise InputError(f"shape {mask.shape} for node features of shape {shape}", where="node_mask")
        entries[kind] = mask
    return entries


def _usual_kind(masks: Collection[AnyArray]) -> str:
    """What node masks are about, by their shape."""
    if all(mask.shape[1] == 1 for mask in masks):
        return NODES
    return FEATURES if all(len(mask) == 1 for mask in masks) else ENTRIES


def values_of(value: Any, graph: Graph, masked: str, what: str) -> AnyArray:
    """Values for everything that can be masked, or rows of them; dictionaries by type are joined."""
    sizes, one = graph.sizes(masked), SINGULAR[masked]
    if not isinstance(value, Mapping):
        array = as_numeric(value, what)
        if masked == ENTRIES and array.shape in graph.shapes.values():
            array = array.reshape(-1)
        return lined_up(array, sum(sizes.values()), what, one, rows=True)
    if not graph.typed:
        raise InputError("expected an array, found a dictionary", where=what)
    kinds = {_type_name(kind): kind for kind in sizes}
    return _joined(
        {kinds[one_of(f"type in {what}", _type_name(k), kinds)]: v for k, v in value.items()}, sizes, what, one
    )


def _joined(values: Mapping[Any, Any], sizes: Mapping[Any, int], what: str, one: str) -> AnyArray:
    """Values by type, or rows of them, in one array; 0 for types without values."""
    parts = []
    for kind, size in sizes.items():
        where = what if kind is None else f"{what} of {_type_name(kind)}"
        parts.append(lined_up(values.get(kind, np.zeros(size)), size, where, one, rows=True))
    rows = max(len(np.atleast_2d(part)) for part in parts)
    joined = np.concatenate([np.broadcast_to(part, (rows, part.shape[-1])) for part in parts], axis=1)
    return joined if any(part.ndim == 2 for part in parts) else joined[0]


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else "__".join(kind)
