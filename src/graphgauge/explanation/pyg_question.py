"""The question that an explanation of PyTorch Geometric answers: inputs of the module, target, parts of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.explanation.fields import whole_numbers, within
from graphgauge.explanation.inputs import Masks, Subgraph
from graphgauge.explanation.masks import edges_within
from graphgauge.explanation.pyg_model import PyGModel, node_row

# Standard fields of a torch_geometric explanation; all other fields are inputs of the model.
_SAID = ("x", "edge_index", "edge_mask", "node_mask", "prediction", "target", "index", "y")
# Relative tolerance for equal answers: sums may be taken in a different order.
_SAME = 1e-4
# Tolerance for a recorded answer, which may come from another device.
_RECORDED = 1e-3
_WRAP = "Wrap the module so that it does not take this input, or pass one row per node or edge."


@dataclass(frozen=True)
class Part:
    """The numbers of the kept nodes, the kept edges and the candidate edges."""

    nodes: Ints
    kept: Ints
    candidates: Ints


@dataclass(frozen=True)
class Question:
    """The question put to a module: its inputs by node and by edge, and the target as node numbers.

    `own` are the nodes of the target's graph in a batch; `place` is the target's row in the answer.
    """

    task: str
    edge_index: Ints
    nodes: int
    by_node: Mapping[str, AnyArray]
    by_edge: Mapping[str, AnyArray]
    target: Any
    own: Masks
    place: int

    @classmethod
    def of(cls, explanation: Any, model: PyGModel | None, target: Any) -> Question:
        if not callable(getattr(explanation, "get", None)):
            raise InputError(f"expected a torch_geometric Explanation, found {type(explanation).__name__}",
                             where="explanation")  # fmt: skip
        edge_index = whole_numbers(explanation.get("edge_index"), "edge_index")
        if edge_index.ndim != 2 or edge_index.shape[0] != 2:
            raise InputError(f"expected shape (2, edges), found {edge_index.shape}", where="edge_index")
        x = explanation.get("x")
        x = None if x is None else as_numeric(x, "x")
        if x is not None and x.ndim == 0:
            raise InputError("expected one row for each node, found one number", where="node_features")
        nodes = int(edge_index.max(initial=-1)) + 1 if x is None else len(x)
        within(edge_index, nodes, "edge_index", "node")
        index = _plain(explanation.get("index") if target is None else target)
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
            if isinstance(index, list):
                raise InputError(f"explains {len(index)} nodes at once", where="target",
                                 fix="Choose one with target=, or explain one at a time (index=).")  # fmt: skip
            index = place = node_row(index, nodes)
        if batch is not None:
            if batch.shape != (nodes,):
                raise InputError(f"shape {batch.shape} for {nodes} nodes", where="batch")
            graph = _graph(task, index, batch)
            own = batch == graph
            place = int(graph) if task == "graph" else place
            by_node["batch"] = np.zeros(nodes, np.int64)
        return cls(task, edge_index, nodes, by_node, by_edge, index, own, place)

    @property
    def edges(self) -> int:
        return int(self.edge_index.shape[1])

    @property
    def event(self) -> str | int | None:
        """The target as an id: the number of a node or a graph, or the two nodes of a pair."""
        if self.task == "edge":
            return "-".join(map(str, self.target))
        return self.target if isinstance(self.target, int) else None

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

    def cut(self, part: Part, units: Any = None) -> Subgraph:
        by_node = {name: array[part.nodes] for name, array in self.by_node.items()}
        by_edge = {name: array[part.kept] for name, array in self.by_edge.items()}
        # Integer arrays, and arrays that are not two-dimensional, are passed on unchanged.
        x, features = by_node.get("x"), by_edge.get("edge_attr")
        if x is not None and x.ndim == 2 and x.dtype.kind == "f":
            del by_node["x"]
        if features is not None and features.ndim == 2 and features.dtype.kind == "f":
            del by_edge["edge_attr"]
        named = None if units is None else np.asarray(units)
        if named is not None and named.shape != (self.edges,):
            raise InputError(f"shape {named.shape} for {self.edges} edges", where="units",
                             fix="Give one id for each edge of the explanation.")  # fmt: skip
        return Subgraph(
            np.searchsorted(part.nodes, self.edge_index[:, part.kept]),
            part.nodes,
            node_features=_table(x),
            edge_features=_table(features),
            candidates=np.searchsorted(part.kept, part.candidates),
            units=None if named is None else named[part.candidates],
            node_inputs=by_node,
            edge_inputs=by_edge,
            graph_edges=self.edges,
        )

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
        return _same(self.answers(model, part, masks), self.answers(model, self.whole(), masks))

    def carries_all_messages(self, model: PyGModel, part: Part, edges: Ints) -> bool:
        """Whether the target gets messages over these edges only; other edges of the part may count in degrees.

        The part is joined to a copy of itself with other features: every other edge starts in one of the two and ends
        in the other. All degrees stay the same, so the answer changes only if a message crosses.
        """
        altered = self._altered(part.nodes)
        if altered is None:
            return False
        shift = np.full(self.edges, self.nodes)
        shift[edges] = 0
        source, sink = self.edge_index
        crossed = np.where(shift > 0, source, source + self.nodes)  # sources of the edges that end in the copy
        both = Question(
            self.task, np.concatenate([[source + shift, sink], [crossed, sink + self.nodes]], axis=1), 2 * self.nodes,
            {name: np.concatenate([array, altered[name]]) for name, array in self.by_node.items()},
            {name: np.concatenate([array, array]) for name, array in self.by_edge.items()},
            self.target, np.tile(self.own, 2), self.place,
        )  # fmt: skip
        kept = np.concatenate([part.kept, part.kept + self.edges])
        joined = Part(np.concatenate([part.nodes, part.nodes + self.nodes]), kept, kept)
        masks = self.all_and_half(edges)
        try:
            answers = both.answers(model, joined, np.tile(masks, 2))
        except InputError:  # the module does not take the altered features
            return False
        return _same(answers, self.answers(model, part, masks))

    def _altered(self, nodes: Ints) -> dict[str, AnyArray] | None:
        """Node inputs in which all rows of these nodes differ, where possible; None if no input can be altered."""
        others = {name: _other_rows(array, nodes) for name, array in self.by_node.items() if name != "batch"}
        altered = {name: array for name, array in others.items() if array is not None}
        return {**self.by_node, **altered} if altered else None

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
        answer = self.answers(model, self.whole(), np.ones((1, self.edges), bool))[0]
        if explained.shape != answer.shape or not np.allclose(explained, answer, rtol=_RECORDED, atol=_RECORDED / 10):
            raise InputError(
                f"{model.name} answers {_numbers(answer)} on the whole graph, but {_numbers(explained)} was explained",
                where="prediction",
                fix="Pass the module that was explained. Its other inputs must be in the explanation, under their "
                "argument names.",
            )


def _same(one: AnyArray, other: AnyArray) -> bool:
    return np.allclose(one, other, rtol=_SAME, atol=_SAME / 10)


def _other_rows(array: AnyArray, nodes: Ints) -> AnyArray | None:
    """The array with another row for each of these nodes, taken from the array if its rows differ."""
    rows = array[nodes].reshape(len(nodes), -1)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    if len(distinct) > 1:
        other = distinct[(which.reshape(-1) + 1) % len(distinct)]
    elif array.dtype.kind == "f":
        other = rows + 1
    elif array.dtype.kind == "b":
        other = ~rows
    else:
        return None  # a number that the module may not know, such as a category
    altered = array.copy()
    altered[nodes] = other.reshape(len(nodes), *array.shape[1:])
    return altered


def _plain(index: Any) -> Any:
    index = index.tolist() if is_tensor(index) or isinstance(index, np.ndarray | np.generic) else index
    return index[0] if isinstance(index, list) and len(index) == 1 else index


def _task(explanation: Any, model: PyGModel | None, index: Any) -> str:
    """The level of the task, node, edge or graph, from the explanation and the model."""
    level = getattr(attribute(explanation, "_model_config"), "task_level", None)
    told = str(getattr(level, "value", level)) if level is not None else None
    if model is not None and told is not None and told != model.task:
        raise InputError(f"explains a {told}-level model, but PyGModel has task={model.task!r}",
                         where="explanation", fix=f'Pass PyGModel(module, task="{told}").')  # fmt: skip
    return model.task if model is not None else told or ("graph" if index is None else "node")


def carried(explanation: Any, model: PyGModel | None) -> Iterator[tuple[str, Any]]:
    """The inputs that the explanation carries and the module takes."""
    given = [str(name) for name in attribute(explanation, "_model_args") or ()]
    for name in given:
        if model is not None and not model.takes(name):
            raise InputError(f"was made with {name}, which {model.name}.forward does not take", where="explanation",
                             fix="Pass the module that was explained.")  # fmt: skip
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
        raise InputError("the explanation of an edge has no edge_label_index", where="target",
                         fix="Give the two nodes as target=.")  # fmt: skip
    place = 0 if index is None and pairs.shape[1] == 1 else index
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < pairs.shape[1]:
        raise InputError(f"expected one of {pairs.shape[1]} pairs, found {place!r:.60}", where="target",
                         fix="Explain one pair at a time (index=).")  # fmt: skip
    return [node_row(int(node), nodes) for node in pairs[:, place]], place


def _graph(task: str, index: Any, batch: Ints) -> int:
    """The number of the target's graph in a batch."""
    if task != "graph":
        return int(batch[np.atleast_1d(index)[0]]) if index is not None else 0
    graphs = np.unique(batch)
    if index is None and len(graphs) == 1:
        return int(graphs[0])
    if isinstance(index, bool) or not isinstance(index, int) or index not in graphs:
        raise InputError(f"expected one of {len(graphs)} graphs, found {index!r:.60}", where="target",
                         fix="Explain one graph of a batch at a time (index=).")  # fmt: skip
    return index


def _table(array: AnyArray | None) -> AnyArray | None:
    """Features as rows of numbers; a one-dimensional array becomes a column."""
    if array is None or array.ndim > 2:
        return None
    return array[:, np.newaxis] if array.ndim == 1 else array


def _numbers(values: AnyArray) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:4])
    return shown + (", …" if len(values) > 4 else "")
