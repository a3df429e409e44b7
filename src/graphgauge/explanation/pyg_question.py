"""The question that an explanation of PyTorch Geometric answers: inputs of the module, target, parts of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor, on_host
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.fields import whole_numbers, within
from graphgauge.explanation.inputs import EDGES, ENTRIES, FEATURES, NODES, SINGULAR, Masks, Subgraph
from graphgauge.explanation.masks import edges_within
from graphgauge.explanation.pyg_model import PyGModel, node_row, type_name

# Standard fields of a torch_geometric explanation; all other fields are inputs of the model.
_SAID = ("x", "edge_index", "edge_mask", "node_mask", "prediction", "target", "index", "y")
# Relative tolerance for equal answers: sums may be taken in a different order.
_SAME = 1e-4
# Tolerance for a recorded answer, which may come from another device.
_RECORDED = 1e-3
_WRAP = "Wrap the module so that it does not take this input, or pass one row per node or edge."


@dataclass(frozen=True)
class Part:
    """The numbers of the kept nodes, the kept edges and the edges that carry messages, which are the candidates."""

    nodes: Ints
    kept: Ints
    candidates: Ints


@dataclass(frozen=True)
class Types:
    """The types of nodes and edges in a heterogeneous graph, and all edge types."""

    nodes: AnyArray
    edges: AnyArray
    relations: AnyArray

    def twice(self) -> Types:
        return Types(np.tile(self.nodes, 2), np.tile(self.edges, 2), self.relations)


@dataclass(frozen=True)
class Question:
    """The question put to a module: its inputs by node and by edge, and the target as node numbers.

    `own` are the nodes of the target's graph in a batch; `place` is the target's row in the answer. In a heterogeneous
    graph nodes are numbered through the types, and inputs are named by type and argument, with one row per node or edge
    of that type. `native` are features, edges and further inputs as the explanation has them.
    """

    task: str
    edge_index: Ints
    nodes: int
    by_node: Mapping[str, AnyArray]
    by_edge: Mapping[str, AnyArray]
    target: Any
    own: Masks
    place: int
    types: Types | None = None
    native: tuple[Any, Any, Mapping[str, Any]] | None = None

    @classmethod
    def of(
        cls, explanation: Any, model: PyGModel | None, target: Any, target_type: str | Sequence[str] | None = None
    ) -> Question:
        if is_heterogeneous(explanation):
            return cls._of_types(explanation, model, target, target_type)
        if target_type is not None:
            raise OptionError("target_type is for heterogeneous graphs", fix="Leave it out.")
        if not callable(getattr(explanation, "get", None)):
            raise InputError(
                f"expected a torch_geometric Explanation, found {type(explanation).__name__}", where="explanation"
            )
        edge_index = whole_numbers(explanation.get("edge_index"), "edge_index")
        if edge_index.ndim != 2 or edge_index.shape[0] != 2:
            raise InputError(f"expected shape (2, edges), found {edge_index.shape}", where="edge_index")
        x = explanation.get("x")
        x = None if x is None else as_numeric(x, "x")
        if x is not None and x.ndim == 0:
            raise InputError("expected one row for each node, found one number", where="node_features")
        nodes = int(edge_index.max(initial=-1)) + 1 if x is None else len(x)
        within(edge_index, nodes, "edge_index", "node")
        index = plain_index(explanation.get("index") if target is None else target)
        task = _task(explanation, model, index)
        by_node: dict[str, AnyArray] = {} if x is None else {"x": x}
        by_edge: dict[str, AnyArray] = {}
        pairs, batch = None, None
        for name, value in carried(explanation, model):
            if name == "batch":
                batch = whole_numbers(value, name)
            elif name == "edge_label_index" and task == "edge":
                pairs = whole_numbers(value, name)
            else:
                array, by = _restrictable(name, value, nodes, edge_index.shape[1])
                (by_node if by == "node" else by_edge)[name] = array
        own, place = np.ones(nodes, bool), 0
        if task == "edge":
            index, place = _pair(index, pairs, nodes)
        elif task == "node" and index is not None:
            index = place = node_row(_one(index), nodes)
        if batch is not None:
            if batch.shape != (nodes,):
                raise InputError(f"shape {batch.shape} for {nodes} nodes", where="batch")
            graph = _graph(task, index, batch)
            own = batch == graph
            place = int(graph) if task == "graph" else place
            by_node["batch"] = np.zeros(nodes, np.int64)
        native = None
        given = dict(carried(explanation, model))
        if (
            is_tensor(explanation.get("x"))
            and is_tensor(explanation.get("edge_index"))
            and (task != "edge" or "edge_label_index" in given)
        ):
            native = explanation.get("x"), explanation.get("edge_index"), given
        return cls(task, edge_index, nodes, by_node, by_edge, index, own, place, None, native)

    @classmethod
    def _of_types(
        cls, explanation: Any, model: PyGModel | None, target: Any, target_type: str | Sequence[str] | None
    ) -> Question:
        x, edges = by_type(explanation, "x"), by_type(explanation, "edge_index")
        counts = _node_counts(explanation, x, edges)
        starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        relations = list(edges)  # the order of types can matter to a module
        parts = []
        for name in relations:
            pairs = whole_numbers(edges[name], f"edge_index of {name}")
            ends = name.split("__")
            if pairs.ndim != 2 or pairs.shape[0] != 2 or len(ends) != 3:
                raise InputError(f"expected shape (2, edges), found {pairs.shape}", where=f"edge_index of {name}")
            for row, kind in zip(pairs, (ends[0], ends[2]), strict=True):
                within(row, counts[kind], f"edge_index of {name}", f"node of type {kind}")
            parts.append(pairs + np.array([[starts[ends[0]]], [starts[ends[2]]]]))
        edge_index = np.concatenate(parts, axis=1) if parts else np.empty((2, 0), np.int64)
        types = Types(
            np.repeat(np.array(list(counts), np.str_), list(counts.values())),
            np.repeat(np.array(relations, np.str_), [part.shape[1] for part in parts]),
            np.array(relations, np.str_),
        )
        by_node = {f"{name}/x": as_numeric(each, f"x of {name}") for name, each in x.items()}
        by_edge: dict[str, AnyArray] = {}
        asked: Ints | None = None
        batch: Ints | None = None
        for name, value in carried_by_type(explanation, model):
            if name == "edge_label_index":
                asked = whole_numbers(value, name)
            elif name == "batch":
                batch = np.concatenate([whole_numbers(value[kind], name) for kind in counts])
            else:
                for kind, each in value.items():
                    known = by_node if kind in counts else by_edge
                    known[f"{kind}/{name}"] = as_numeric(each, f"{name} of {kind}")
        index = plain_index(explanation_value(explanation, "index") if target is None else target)
        task = _task(explanation, model, index)
        nodes, own, place = len(types.nodes), np.ones(len(types.nodes), bool), 0
        if task == "edge":
            kinds = _two_types(target_type, counts)
            (one, other), place = _pair(index, asked, max(counts.values()))
            index = [
                starts[kinds[0]] + node_row(one, counts[kinds[0]]),
                starts[kinds[1]] + node_row(other, counts[kinds[1]]),
            ]
        elif task == "node" and index is not None:
            kind = _one_type(
                target_type,
                counts,
                explanation_value(explanation, "prediction"),
                explanation_value(explanation, "target"),
            )
            place = node_row(_one(index), counts[kind])
            index = starts[kind] + place
        elif batch is not None:
            graph = _graph(task, index, batch)
            own, place = batch == graph, int(graph)
        return cls(task, edge_index, nodes, by_node, by_edge, index, own, place, types)

    @property
    def edges(self) -> int:
        return int(self.edge_index.shape[1])

    @property
    def event(self) -> str | int | None:
        """The target as an id: the number of a node or a graph, or the two nodes of a pair."""
        if self.task == "edge":
            return "-".join(map(str, self.names(self.target)))
        if self.types is not None and self.task == "node" and self.target is not None:
            return str(self.names([self.target])[0])
        return self.target if isinstance(self.target, int) else None

    def names(self, nodes: Any) -> Any:
        """Ids of nodes: their numbers, in a heterogeneous graph their types and numbers within them."""
        if self.types is None:
            return np.asarray(nodes)
        kinds, within_type = self.types.nodes, self.places
        return np.array([f"{kinds[node]}:{within_type[node]}" for node in nodes], np.str_)

    @cached_property
    def places(self) -> Ints:
        """The number of each node within its type."""
        return np.arange(self.nodes) if self.types is None else _counted(self.types.nodes)

    @cached_property
    def edge_places(self) -> Ints:
        """The number of each edge within its type."""
        return np.arange(self.edges) if self.types is None else _counted(self.types.edges)

    @property
    def ends(self) -> list[int]:
        """The nodes that the answer is about; empty for a whole graph."""
        return [] if self.task == "graph" or self.target is None else np.atleast_1d(self.target).tolist()

    def whole(self) -> Part:
        """All of the target's graph."""
        kept = np.flatnonzero(self.own[self.edge_index].all(axis=0))
        return Part(np.flatnonzero(self.own), kept, kept)

    def within(self, hops: int, flow: str) -> Ints:
        """The edges over which a message can reach the target in this many steps."""
        return np.flatnonzero(edges_within(self.edge_index, self.nodes, self.ends, hops, flow))

    def part(self, kept: Ints, candidates: Ints) -> Part:
        return Part(np.unique(np.concatenate([self.edge_index[:, kept].ravel(), self.ends])), kept, candidates)

    def relabelled(self, part: Part) -> Any:
        """The target as rows of the kept nodes."""
        if self.task == "graph" or self.target is None:
            return self.target
        rows = np.searchsorted(part.nodes, self.ends).tolist()
        return rows[0] if self.task == "node" else rows

    def _of_nodes(self, name: str, array: AnyArray, nodes: Ints) -> AnyArray:
        """The rows that an input has for some nodes."""
        return np.asarray(array[self._numbers(name, nodes)])

    def _of_edges(self, name: str, array: AnyArray, edges: Ints) -> AnyArray:
        if self.types is not None:
            edges = self.edge_places[edges[self.types.edges[edges] == name.rpartition("/")[0]]]
        return np.asarray(array[edges])

    def features(self) -> list[tuple[str, AnyArray]]:
        """The node features, in the order in which columns and entries are numbered."""
        return [(name, array) for name, array in sorted(self.by_node.items()) if name.rpartition("/")[2] == "x"]

    def maskable(self, part: Part, masked: str, chosen: Ints | None) -> tuple[Ints, Ints]:
        """Nodes, features or entries that can affect the answer: their numbers in the whole graph, and in the part.

        They belong to nodes that can send a message to the target, and are not 0.
        """
        reaching = np.zeros(self.nodes, bool)
        reaching[self.edge_index[:, part.candidates].ravel()] = True
        reaching[self.ends] = True
        if self.task == "graph" or not self.ends:
            reaching[part.nodes] = True
        numbers, local = [], []
        start = first = 0
        for name, array in self.features():
            x = array.reshape(len(array), -1)
            rows = np.flatnonzero(self._mine(name))
            kept = self._mine(name)[part.nodes].nonzero()[0]  # its nodes in the part
            used = np.zeros(x.shape, bool)
            used[self.places[rows]] = (x[self.places[rows]] != 0) & reaching[rows, np.newaxis]
            if masked == NODES:
                found = rows[used[self.places[rows]].any(axis=1)]
                numbers.append(found)
                local.append(np.searchsorted(part.nodes, found))
            elif masked == FEATURES:
                found = np.flatnonzero(used.any(axis=0))
                numbers.append(start + found)
                local.append(start + found)
                start += x.shape[1]
            else:
                row, column = np.nonzero(used)
                order = np.full(len(x), -1)
                order[self.places[part.nodes[kept]]] = np.arange(len(kept))
                numbers.append(start + row * x.shape[1] + column)
                local.append(first + order[row] * x.shape[1] + column)
                start, first = start + x.size, first + len(kept) * x.shape[1]
        found, inside = np.concatenate(numbers), np.concatenate(local)
        if chosen is not None:
            outside = np.setdiff1d(chosen, found)
            if len(outside):
                raise InputError(f"{SINGULAR[masked]} {outside[0]} cannot affect the answer", where="candidates")
            wanted = np.isin(found, chosen)
            found, inside = found[wanted], inside[wanted]
        return found, inside

    def _mine(self, name: str) -> Masks:
        """The nodes whose rows an input has."""
        return np.ones(self.nodes, bool) if self.types is None else self.types.nodes == name.rpartition("/")[0]

    def lined(self, value: Any, what: str, masked: str) -> AnyArray:
        """Values for all edges, nodes, features or entries, or rows of them; dictionaries by type are joined."""
        if not isinstance(value, Mapping):
            return self._lined_up(value, what, masked, None)
        if self.types is None:
            raise InputError("expected an array, found a dictionary", where=what)
        named = {type_name(kind): each for kind, each in value.items()}
        kinds = (
            list(self.types.relations) if masked == EDGES else [name.rpartition("/")[0] for name, _ in self.features()]
        )
        for kind in named:
            one_of(f"type in {what}", kind, kinds)
        parts = [self._lined_up(named.get(kind), what, masked, kind) for kind in kinds]
        rows = max(part.ndim for part in parts)
        if rows == 1:
            return np.concatenate(parts)
        several = max(len(part) for part in parts if part.ndim == 2)
        return np.concatenate([np.broadcast_to(part, (several, part.shape[-1])) for part in parts], axis=1)

    def _lined_up(self, value: Any, what: str, masked: str, kind: str | None) -> AnyArray:
        if masked == EDGES and kind is None:
            size = self.edges
        elif masked == EDGES:
            assert self.types is not None
            size = int(np.count_nonzero(self.types.edges == kind))
        else:
            chosen = [x for name, x in self.features() if kind is None or name.rpartition("/")[0] == kind]
            if masked == NODES:
                size = sum(len(x) for x in chosen) if chosen else self.nodes
            else:
                size = sum(x.size if masked == ENTRIES else x.size // max(len(x), 1) for x in chosen)
        if value is None:
            return np.zeros(size)
        array = as_numeric(value, what) if what != "units" else np.asarray(on_host(value, what))
        if masked == ENTRIES and array.ndim > 1:
            array = array.reshape(*array.shape[:-2], -1)
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise InputError(
                f"shape {array.shape} for {size} {masked}",
                where=what,
                fix=f"Give one value for each {SINGULAR[masked]} of the explanation.",
            )
        return array

    def cut(
        self,
        part: Part,
        units: Any = None,
        masked: str = EDGES,
        candidates: Ints | None = None,
        maskable: int | None = None,
    ) -> Subgraph:
        """The part as a subgraph; its candidates are those of the part, or numbers of what is masked instead."""
        by_node = {name: self._of_nodes(name, array, part.nodes) for name, array in self.by_node.items()}
        by_edge = {name: self._of_edges(name, array, part.kept) for name, array in self.by_edge.items()}
        edge_index = np.searchsorted(part.nodes, self.edge_index[:, part.kept])
        if masked != EDGES:
            ids = None if units is None else np.asarray(units)
            return Subgraph(
                edge_index,
                self.names(part.nodes),
                candidates=candidates,
                units=ids,
                masked=masked,
                node_inputs=by_node,
                edge_inputs=by_edge,
                graph_edges=maskable,
                **self._cut_types(part),
            )
        # Integer arrays, and arrays that are not two-dimensional, are passed on unchanged.
        x, features = by_node.get("x"), by_edge.get("edge_attr")
        if x is not None and x.ndim == 2 and x.dtype.kind == "f":
            del by_node["x"]
        if features is not None and features.ndim == 2 and features.dtype.kind == "f":
            del by_edge["edge_attr"]
        named = None if units is None else np.asarray(units)
        return Subgraph(
            edge_index,
            self.names(part.nodes),
            node_features=_table(x),
            edge_features=_table(features),
            candidates=np.searchsorted(part.kept, part.candidates),
            units=None if named is None else named[part.candidates],
            node_inputs=by_node,
            edge_inputs=by_edge,
            graph_edges=self.edges,
            **self._cut_types(part),
        )

    def _cut_types(self, part: Part) -> dict[str, Any]:
        if self.types is None:
            return {}
        kinds = self.types
        return {
            "node_types": kinds.nodes[part.nodes],
            "edge_types": kinds.edges[part.kept],
            "relations": kinds.relations,
        }

    def answers(self, model: PyGModel, part: Part, masks: Masks) -> AnyArray:
        """The module's answers for a part under masks over all edges; one number per class."""
        whole = Part(part.nodes, part.kept, part.kept)
        said = model.predict(self.cut(whole), self.relabelled(whole), masks[:, part.kept])
        return as_numeric(said, "answers of the module").reshape(len(masks), -1)

    def all_and_half(self, edges: Ints) -> Masks:
        """Two masks over all edges: one keeps everything, one removes every other of the given edges."""
        masks = np.ones((2, self.edges), bool)
        masks[1, edges[::2]] = False
        return masks

    def same_answers(self, model: PyGModel, part: Part) -> bool:
        """Whether edges outside a part have no effect, tested with all edges inside and with every other one."""
        masks = self.all_and_half(part.kept)
        return _same(self.answers(model, part, masks), self.whole_answers(model, masks))

    def whole_answers(self, model: PyGModel, masks: Masks) -> AnyArray:
        """The module's answers on the whole graph under masks over all edges; one number per class."""
        if self.native is None:
            return self.answers(model, self.whole(), masks)
        x, edge_index, inputs = self.native
        rows = []
        for mask in masks:
            said = as_numeric(model.on_edges(x, edge_index, mask, inputs, [*self.by_edge]), "answers of the module")
            said = said.reshape(len(said), -1) if said.ndim else said.reshape(1, 1)
            if self.place >= len(said):
                return self.answers(model, self.whole(), masks)
            rows.append(said[self.place])
        return np.stack(rows)

    def carries_all_messages(self, model: PyGModel, part: Part, edges: Ints) -> bool:
        """Whether the target gets messages over these edges only; other edges of the part may count in degrees.

        The part is joined to a copy of itself with other features: every other edge starts in one of the two and ends
        in the other. All degrees stay the same, so the answer changes only if a message crosses.
        """
        if len(part.nodes) < self.nodes:  # on the part alone, whose inputs are smaller
            inside = self._restricted(part)
            all_edges = np.arange(len(part.kept))
            everything = Part(np.arange(len(part.nodes)), all_edges, all_edges)
            return inside.carries_all_messages(model, everything, np.searchsorted(part.kept, edges))
        altered = self._altered(part.nodes)
        if altered is None:
            return False
        shift = np.full(self.edges, self.nodes)
        shift[edges] = 0
        source, sink = self.edge_index
        crossed = np.where(shift > 0, source, source + self.nodes)  # sources of the edges that end in the copy
        both = Question(
            self.task,
            np.concatenate([[source + shift, sink], [crossed, sink + self.nodes]], axis=1),
            2 * self.nodes,
            {name: np.concatenate([array, altered[name]]) for name, array in self.by_node.items()},
            {name: np.concatenate([array, array]) for name, array in self.by_edge.items()},
            self.target,
            np.tile(self.own, 2),
            self.place,
            None if self.types is None else self.types.twice(),
        )
        kept = np.concatenate([part.kept, part.kept + self.edges])
        joined = Part(np.concatenate([part.nodes, part.nodes + self.nodes]), kept, kept)
        masks = self.all_and_half(edges)
        try:
            answers = both.answers(model, joined, np.tile(masks, 2))
        except InputError:  # the module does not take the altered features
            return False
        return _same(answers, self.answers(model, part, masks))

    def _restricted(self, part: Part) -> Question:
        """The same question about a part of the graph."""
        types = None
        if self.types is not None:
            types = Types(self.types.nodes[part.nodes], self.types.edges[part.kept], self.types.relations)
        return Question(
            self.task,
            np.searchsorted(part.nodes, self.edge_index[:, part.kept]),
            len(part.nodes),
            {name: self._of_nodes(name, array, part.nodes) for name, array in self.by_node.items()},
            {name: self._of_edges(name, array, part.kept) for name, array in self.by_edge.items()},
            self.relabelled(part),
            self.own[part.nodes],
            self.place,
            types,
        )

    def _altered(self, nodes: Ints) -> dict[str, AnyArray] | None:
        """Node inputs in which all rows of these nodes differ, where possible; None if no input can be altered."""
        others = {
            name: _other_rows(array, self._numbers(name, nodes))
            for name, array in self.by_node.items()
            if name != "batch"
        }
        altered = {name: array for name, array in others.items() if array is not None}
        return {**self.by_node, **altered} if altered else None

    def _numbers(self, name: str, nodes: Ints) -> Ints:
        """The rows of an input that belong to some nodes."""
        if self.types is None:
            return nodes
        return np.asarray(self.places[nodes[self.types.nodes[nodes] == name.rpartition("/")[0]]])

    def refuse_other_prediction(self, prediction: Any, model: PyGModel) -> None:
        """Raise an error unless this module gives the answer that was explained."""
        if prediction is None:
            return
        recorded = as_numeric(prediction, "prediction")
        recorded = recorded.reshape(len(recorded), -1) if recorded.ndim else recorded.reshape(1, 1)
        place = 0 if len(recorded) == 1 else self.place
        if place >= len(recorded):
            raise InputError(f"{len(recorded)} rows, but the target is row {place}", where="prediction")
        explained = recorded[place]
        answer = self.whole_answers(model, np.ones((1, self.edges), bool))[0]
        if explained.shape != answer.shape or not np.allclose(explained, answer, rtol=_RECORDED, atol=_RECORDED / 10):
            raise InputError(
                f"{model.name} answers {_numbers(answer)} on the whole graph, but {_numbers(explained)} was explained",
                where="prediction",
                fix="Pass the module that was explained. Its other inputs must be in the explanation, under their "
                "argument names.",
            )


def is_heterogeneous(explanation: Any) -> bool:
    return callable(attribute(explanation, "collect")) and attribute(explanation, "edge_types") is not None


def by_type(explanation: Any, name: str) -> dict[str, Any]:
    """The values of a heterogeneous explanation under a name, by type."""
    return {type_name(kind): value for kind, value in explanation.collect(name, allow_empty=True).items()}


def explanation_value(explanation: Any, name: str) -> Any:
    """A value that belongs to the whole explanation."""
    if not is_heterogeneous(explanation):
        return explanation.get(name)
    found = attribute(explanation, name)
    return None if callable(found) else found


def carried_by_type(explanation: Any, model: PyGModel | None) -> Iterator[tuple[str, Any]]:
    """The inputs that a heterogeneous explanation carries and the module takes, by type."""
    stored = {str(key) for store in explanation.stores for key in store}
    for name in sorted(stored - {*_SAID}):
        if name == "edge_label_index":
            if explanation_value(explanation, name) is not None:
                yield name, explanation_value(explanation, name)
            continue
        if model is not None and not (model.names(name) or model.names(f"{name}_dict")):
            continue
        value = by_type(explanation, name)
        if value:
            yield name, value


def _node_counts(explanation: Any, x: dict[str, Any], edges: dict[str, Any]) -> dict[str, int]:
    """How many nodes of each type there are."""
    counts = {name: len(each) for name, each in x.items()}
    for name, pairs in edges.items():
        source, _, sink = name.split("__")
        for kind, row in zip((source, sink), whole_numbers(pairs, "edge_index"), strict=True):
            if kind not in x:
                counts[kind] = max(counts.get(kind, 0), int(row.max(initial=-1)) + 1)
    for kind in explanation.node_types:
        counts.setdefault(str(kind), int(explanation[kind].num_nodes or 0))
    return counts


def _one_type(given: Any, counts: dict[str, int], *outputs: Any) -> str:
    """The type of the target: the given one, or the only one with as many nodes as there are answers."""
    if given is not None:
        return one_of("target_type", str(given), counts)
    rows = next((len(each) for each in outputs if each is not None), None)
    fitting = [name for name, count in counts.items() if count == rows]
    if len(fitting) != 1:
        raise OptionError(
            f"cannot determine the type of the explained node among {', '.join(counts)}",
            fix='Pass target_type="paper".',
        )
    return fitting[0]


def _two_types(given: Any, counts: dict[str, int]) -> tuple[str, str]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise OptionError(
            "cannot determine the types of the explained pair",
            fix='Pass the types of its nodes: target_type=("user", "movie").',
        )
    return one_of("target_type", str(given[0]), counts), one_of("target_type", str(given[1]), counts)


def _counted(kinds: AnyArray) -> Ints:
    """The number of each item among those of its kind, in order."""
    found = np.empty(len(kinds), np.int64)
    for kind in np.unique(kinds):
        chosen = np.flatnonzero(kinds == kind)
        found[chosen] = np.arange(len(chosen))
    return found


def _one(index: Any) -> Any:
    if isinstance(index, list):
        raise InputError(
            f"explains {len(index)} nodes at once",
            where="target",
            fix="Choose one with target=; call from_pyg for each of several.",
        )
    return index


def _same(one: AnyArray, other: AnyArray) -> bool:
    return np.allclose(one, other, rtol=_SAME, atol=_SAME / 10)


def _other_rows(array: AnyArray, nodes: Ints) -> AnyArray | None:
    """The array with another row for each of these nodes, taken from the array if its rows differ."""
    if not len(nodes):
        return array
    rows = array[nodes].reshape(len(nodes), -1)
    # By content: sorting wide rows takes long.
    first: dict[bytes, int] = {}
    which = np.array([first.setdefault(row.tobytes(), place) for place, row in enumerate(rows)])
    distinct = np.array(sorted(first.values()))
    if len(distinct) > 1:
        other = rows[distinct[(np.searchsorted(distinct, which) + 1) % len(distinct)]]
    elif array.dtype.kind == "f":
        other = rows + 1
    elif array.dtype.kind == "b":
        other = ~rows
    else:
        return None  # a number that the module may not know, such as a category
    altered = array.copy()
    altered[nodes] = other.reshape(len(nodes), *array.shape[1:])
    return altered


def plain_index(index: Any) -> Any:
    """The index of an explanation as a number, a list, or None."""
    index = index.tolist() if is_tensor(index) or isinstance(index, np.ndarray | np.generic) else index
    return index[0] if isinstance(index, list) and len(index) == 1 else index


def _task(explanation: Any, model: PyGModel | None, index: Any) -> str:
    """The level of the task, node, edge or graph, from the explanation and the model."""
    level = getattr(attribute(explanation, "_model_config"), "task_level", None)
    told = str(getattr(level, "value", level)) if level is not None else None
    if model is not None and told is not None and told != model.task:
        raise InputError(
            f"explains a {told}-level model, but PyGModel has task={model.task!r}",
            where="explanation",
            fix=f'Pass PyGModel(module, task="{told}").',
        )
    return model.task if model is not None else told or ("graph" if index is None else "node")


def carried(explanation: Any, model: PyGModel | None) -> Iterator[tuple[str, Any]]:
    """The inputs that the explanation carries and the module takes."""
    given = [str(name) for name in attribute(explanation, "_model_args") or ()]
    for name in given:
        if model is not None and not model.takes(name):
            raise InputError(
                f"was made with {name}, which {model.name}.forward does not take",
                where="explanation",
                fix="Pass the module that was explained.",
            )
    keys = explanation.keys() if callable(getattr(explanation, "keys", None)) else ()
    for name in dict.fromkeys((*given, *(key for key in keys if isinstance(key, str) and key not in _SAID))):
        asked = name in given or (name in ("edge_attr", "edge_weight", "batch") if model is None else model.names(name))
        if asked and explanation.get(name) is not None:
            yield name, explanation.get(name)


def attribute(explanation: Any, name: str) -> Any:
    """The attribute, or None if it is missing; mappings with attributes raise KeyError for missing ones."""
    try:
        return getattr(explanation, name)
    except (AttributeError, KeyError):
        return None


def _restrictable(name: str, value: Any, nodes: int, edges: int) -> tuple[AnyArray, str]:
    """An input as an array, and whether its rows are nodes or edges."""
    refused = f"{name} cannot be cut to a part of the graph"
    if not is_tensor(value) and not isinstance(value, np.ndarray):
        raise InputError(f"{refused}: it is {type(value).__name__}, not an array", where="explanation", fix=_WRAP)
    array = as_numeric(value, name)
    if "index" in name:
        raise InputError(f"{refused}: by its name it contains node numbers", where="explanation", fix=_WRAP)
    rows = len(array) if array.ndim else 0
    if rows == edges and (edges != nodes or "edge" in name):
        return array, "edge"
    if rows == nodes:
        return array, "node"
    raise InputError(
        f"{refused}: shape {array.shape} for {nodes} nodes and {edges} edges", where="explanation", fix=_WRAP
    )


def _pair(index: Any, pairs: Ints | None, nodes: int) -> tuple[list[int], int]:
    """The nodes of an edge-level target, given directly or as a column of `edge_label_index`."""
    if isinstance(index, list | tuple) and len(index) == 2:
        return [node_row(node, nodes) for node in index], 0
    if pairs is None or pairs.ndim != 2 or pairs.shape[0] != 2 or not pairs.shape[1]:
        raise InputError(
            "the explanation of an edge has no edge_label_index", where="target", fix="Give the two nodes as target=."
        )
    place = 0 if index is None and pairs.shape[1] == 1 else index
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < pairs.shape[1]:
        raise InputError(
            f"expected one of {pairs.shape[1]} pairs, found {place!r:.60}",
            where="target",
            fix="Choose one with target=; call from_pyg for each of several.",
        )
    return [node_row(int(node), nodes) for node in pairs[:, place]], place


def _graph(task: str, index: Any, batch: Ints) -> int:
    """The number of the target's graph in a batch."""
    if task != "graph":
        return int(batch[np.atleast_1d(index)[0]]) if index is not None else 0
    graphs = np.unique(batch)
    if index is None and len(graphs) == 1:
        return int(graphs[0])
    if isinstance(index, bool) or not isinstance(index, int) or index not in graphs:
        raise InputError(
            f"expected one of {len(graphs)} graphs, found {index!r:.60}",
            where="target",
            fix="Choose one with target=; call from_pyg for each of several.",
        )
    return index


def _table(array: AnyArray | None) -> AnyArray | None:
    """Features as rows of numbers; a one-dimensional array becomes a column."""
    if array is None or array.ndim > 2:
        return None
    return array[:, np.newaxis] if array.ndim == 1 else array


def _numbers(values: AnyArray) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:4])
    return shown + (", …" if len(values) > 4 else "")
