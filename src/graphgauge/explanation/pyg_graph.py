"""Tensors of one graph of PyTorch Geometric, of one or several types: reach, cutting, and copies side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import is_tensor
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.explanation.inputs import whole_numbers

FLOWS = ("source_to_target", "target_to_source")
BOTH_WAYS = "both"
# Not inputs of their own: what is asked about, and what tells copies apart.
_MADE = ("edge_index", "edge_label_index", "batch")
_WRAP = "Wrap the module so that it does not take this input, or give it one row per node or edge."


@dataclass(frozen=True)
class Graph:
    """Tensors by type, and inputs by argument name and type; without types, the one type is None.

    Nodes and edges are numbered through the types, in their order in the data. `by_graph` are inputs that belong to
    neither nodes nor edges.
    """

    nodes: dict[Any, int]
    edge_index: dict[Any, Any]
    by_node: dict[str, dict[Any, Any]]
    by_edge: dict[str, dict[Any, Any]]
    by_graph: dict[str, Any]

    @classmethod
    def from_data(cls, data: Any, names: Iterable[str], device: Any = None) -> Graph:
        """The edges of a `Data` or `HeteroData` object, and those of its tensors that a module names.

        Parameters
        ----------
        data
            A `torch_geometric.data.Data` or `HeteroData`, or an object like it.
        names
            The argument names.
        device
            Where the tensors go; by default they stay.

        Returns
        -------
        Graph
            With tensors on the device.

        Raises
        ------
        InputError
            If there are no edges, or an input does not belong to nodes, edges or the graph.
        """
        typed = is_typed(data)
        node_kinds, edge_kinds = (data.node_types, data.edge_types) if typed else ([None], [None])
        stores = {kind: data[kind] if typed else data for kind in (*node_kinds, *edge_kinds)}
        nodes = {kind: int(stores[kind].num_nodes or 0) for kind in node_kinds}
        found = cls(nodes, {}, {}, {}, {})
        for kind in edge_kinds:
            pairs = stores[kind].get("edge_index")
            if not is_tensor(pairs) or pairs.dim() != 2 or len(pairs) != 2:
                raise InputError("has no edge_index of two rows", where="data", fix="Give the edges as edge_index.")
            found.edge_index[kind] = pairs.to(device)
        for kind, store in stores.items():
            for name in names:
                if name not in _MADE and store.get(name) is not None:
                    found._add(name, kind, store.get(name), device)
        for kind in edge_kinds:
            for row, end in zip(whole_numbers(found.edge_index[kind], "edge_index"), ends_of(kind), strict=True):
                if row.size and not 0 <= row.min() <= row.max() < nodes[end]:
                    raise InputError(f"names a node that is not among {nodes[end]}", where="edge_index")
        return found

    def _add(self, name: str, kind: Any, value: Any, device: Any) -> None:
        if not is_tensor(value):
            if not isinstance(value, int | float | str):
                raise InputError(f"{name} is {type(value).__name__}, not a tensor", where="data", fix=_WRAP)
            self.by_graph[name] = value
            return
        if "index" in name:
            raise InputError(f"{name} contains node numbers, by its name", where="data", fix=_WRAP)
        nodes = self.nodes.get(kind)
        edges = self.edge_index[kind].shape[1] if kind in self.edge_index else None
        rows, value = (len(value) if value.dim() else -1), value.to(device)
        if rows == edges and (edges != nodes or "edge" in name):
            self.by_edge.setdefault(name, {})[kind] = value
        elif rows == nodes:
            self.by_node.setdefault(name, {})[kind] = value
        elif rows in (-1, 1):
            self.by_graph[name] = value
        else:
            shape = f"{name} has shape {tuple(value.shape)} for {nodes} nodes and {edges} edges"
            raise InputError(shape, where="data", fix=_WRAP)

    @property
    def typed(self) -> bool:
        """Whether nodes and edges have types."""
        return None not in self.nodes

    @cached_property
    def starts(self) -> dict[Any, int]:
        """The number of the first node of each type."""
        return dict(zip(self.nodes, np.cumsum([0, *self.nodes.values()]).tolist(), strict=False))

    @cached_property
    def edges(self) -> dict[Any, int]:
        """The number of edges of each type."""
        return {kind: int(pairs.shape[1]) for kind, pairs in self.edge_index.items()}

    @property
    def size(self) -> int:
        """How many numbers a copy takes: inputs of nodes and edges, and the edges."""
        given = [
            each.numel() for named in (self.by_node, self.by_edge) for by in named.values() for each in by.values()
        ]
        return int(sum(given)) + 2 * sum(self.edges.values())

    @property
    def shapes(self) -> dict[Any, tuple[int, int]]:
        """Rows and columns of the node features, by type."""
        return {kind: (len(x), x[:1].numel()) for kind, x in self.by_node["x"].items()}

    def names(self, nodes: Ints) -> AnyArray:
        """Ids of nodes: their numbers, in a heterogeneous graph their types and numbers within them.

        Parameters
        ----------
        nodes
            Their numbers through the types.

        Returns
        -------
        AnyArray
            Whole numbers, or text such as `paper:7`.
        """
        if not self.typed:
            return nodes
        kinds, starts = [*self.starts], np.array([*self.starts.values()])
        of = np.searchsorted(starts, nodes, side="right") - 1
        return np.array([f"{kinds[k]}:{node - starts[k]}" for k, node in zip(of, nodes, strict=True)], np.str_)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Source and target of every edge."""
        both: list[list[Ints]] = [[np.empty(0, np.int64)], [np.empty(0, np.int64)]]
        for kind, pairs in self.edge_index.items():
            for found, row, end in zip(both, whole_numbers(pairs, "edge_index"), ends_of(kind), strict=True):
                found.append(row + self.starts[end])
        return np.concatenate(both[0]), np.concatenate(both[1])

    def within(self, nodes: list[int], hops: int, flow: str) -> Ints:
        """The edges on paths of at most so many edges to some nodes, followed as messages flow.

        Parameters
        ----------
        nodes
            Where the paths end.
        hops
            Most edges of a path.
        flow
            `source_to_target`, `target_to_source` or `both`.

        Returns
        -------
        Ints
            Numbers of edges, in rising order.
        """
        source, sink = self.ends
        reached = np.zeros(sum(self.nodes.values()), bool)
        reached[nodes] = True
        found = np.zeros(len(source), bool)
        for _ in range(hops):
            into = reached[sink] if flow == FLOWS[0] else reached[source]
            more = into | reached[source] if flow == BOTH_WAYS else into
            if (more == found).all():
                break
            found = more
            reached[source[found]] = reached[sink[found]] = True
        return np.flatnonzero(found)

    def cut(self, nodes: Ints, edges: Ints) -> Graph:
        """The graph of some nodes and of edges among them.

        Parameters
        ----------
        nodes, edges
            Their numbers, in rising order.

        Returns
        -------
        Graph
            With the same types.
        """
        rows = self.rows(nodes)
        chosen = _split(edges, self.edges)
        pairs = {}
        for kind, whole in self.edge_index.items():
            ends = whole_numbers(whole, "edge_index")[:, chosen[kind]]
            local = [np.searchsorted(rows[end], row) for row, end in zip(ends, ends_of(kind), strict=True)]
            pairs[kind] = like(np.stack(local), whole)
        return Graph(
            {kind: len(each) for kind, each in rows.items()},
            pairs,
            {name: {kind: x[like(rows[kind], x)] for kind, x in by.items()} for name, by in self.by_node.items()},
            {name: {kind: x[like(chosen[kind], x)] for kind, x in by.items()} for name, by in self.by_edge.items()},
            self.by_graph,
        )

    def rows(self, nodes: Ints) -> dict[Any, Ints]:
        """Numbers of nodes within their types, by type.

        Parameters
        ----------
        nodes
            Their numbers through the types, in rising order.

        Returns
        -------
        dict
            An array for each type.
        """
        return _split(nodes, self.nodes)

    def repeated(self, copies: int, kept: Mask | None) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]]]:
        """Copies of the graph side by side, as one graph without edges between them.

        Parameters
        ----------
        copies
            How many.
        kept
            (copies, edges), False for edges that are left out; None leaves out none.

        Returns
        -------
        tuple
            Edges by type, and inputs of nodes and edges by name and type; `batch` is the number of each node's copy.
        """
        import torch

        number = like(np.arange(copies), next(iter(self.edge_index.values()), None))
        masks = None if kept is None else self.by_type(kept)
        edge_index, inputs = (
            {},
            {name: {k: _tiled(x, copies) for k, x in by.items()} for name, by in self.by_node.items()},
        )
        for kind, pairs in self.edge_index.items():
            shift = (number[:, None] * self.nodes[end] + row for row, end in zip(pairs, ends_of(kind), strict=True))
            source, sink = (each.reshape(-1) for each in shift)
            stays = slice(None) if masks is None else like(masks[kind].reshape(-1), pairs)
            edge_index[kind] = torch.stack([source[stays], sink[stays]])
            for name, by in self.by_edge.items():
                if kind in by:
                    inputs.setdefault(name, {})[kind] = _tiled(by[kind], copies)[stays]
        inputs["batch"] = {kind: number.repeat_interleave(count) for kind, count in self.nodes.items()}
        return edge_index, inputs

    def by_type(self, masks: Any) -> dict[Any, Any]:
        """Columns of an array (…, edges) for each edge type.

        Parameters
        ----------
        masks
            One column per edge.

        Returns
        -------
        dict
            An array for each type.
        """
        cuts = np.cumsum(list(self.edges.values()))[:-1]
        return dict(zip(self.edges, np.split(masks, cuts, axis=-1), strict=True))


def is_typed(data: Any) -> bool:
    """Whether it is a `HeteroData` object or a `HeteroExplanation`."""
    return getattr(data, "edge_types", None) is not None


def ends_of(kind: Any) -> tuple[Any, Any]:
    """The types of source and target of an edge type."""
    return (None, None) if kind is None else (kind[0], kind[2])


def like(array: Any, tensor: Any) -> Any:
    """An array as a tensor on the device of another one."""
    import torch

    return torch.as_tensor(np.require(array, requirements=["C", "W"]), device=None if tensor is None else tensor.device)


def _tiled(value: Any, copies: int) -> Any:
    return value.repeat(copies, *[1] * (value.dim() - 1))


def _split(numbers: Ints, counts: dict[Any, int]) -> dict[Any, Ints]:
    """Numbers through the types, in rising order, as numbers within each type."""
    starts = np.cumsum([0, *counts.values()])
    cuts = np.searchsorted(numbers, starts)
    return {kind: numbers[cuts[k] : cuts[k + 1]] - starts[k] for k, kind in enumerate(counts)}
