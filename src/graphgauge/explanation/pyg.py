"""Modules and explanations of PyTorch Geometric. torch is imported where it is used."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code
from graphgauge.core.options import whole_number
from graphgauge.explanation.fields import lined_up, whole_numbers, within
from graphgauge.explanation.inputs import Context, Explanation, Masks, Subgraph
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS, MODEL_OUTPUT, edges_within

TASKS = ("node", "edge", "graph")
MASKING = ("remove", "weight")
# Standard fields of a torch_geometric explanation; all other fields are inputs of the model.
_SAID = ("x", "edge_index", "edge_mask", "node_mask", "prediction", "target", "index", "y")
# Relative tolerance for equal answers: sums may be taken in a different order.
_SAME = 1e-4
# Tolerance for a recorded answer, which may come from another device.
_RECORDED = 1e-3


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

    @property
    def name(self) -> str:
        return type(self._module).__name__

    @property
    def hops(self) -> int | None:
        """How many edges a message can travel, by the number of message-passing layers; None if there are none."""
        return sum(1 for _ in self._layers()) or None

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
        torch = need("torch", "asking a PyTorch Geometric module")
        union = _Union(subgraphs, masks, remove=self._masking == "remove")
        like = next(iter(self._module.parameters()), torch.zeros(1))
        given = {name: _tensor(torch, array, like) for name, array in union.arrays.items()}
        if self.task == "graph" or union.batched:
            given["batch"] = torch.as_tensor(union.owner, device=like.device)
        if self.task == "edge":
            given["edge_label_index"] = torch.as_tensor(union.pairs(targets), device=like.device)
        x = given.pop("x")
        edge_index = torch.as_tensor(union.edge_index, device=like.device)
        training = self._module.training
        self._module.eval()
        try:
            with torch.no_grad(), own_code(f"module {self.name}.forward"):
                answer = self._answer(x, edge_index, union, given, like)
        finally:
            self._module.train(training)
        expected, what = (len(union.owner), "nodes") if self.task == "node" else (len(union), f"{self.task}s")
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            found = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            raise InputError(f"{found} for {expected} {what}", where="answers of the module", fix=_PYG_TASK)
        rows = answer[torch.as_tensor(union.rows(targets), device=like.device)] if self.task == "node" else answer
        return list(torch.split(rows, [len(part) for part in masks]))

    def _answer(self, x: Any, edge_index: Any, union: _Union, given: Mapping[str, Any], like: Any) -> Any:
        if self._masking == "remove":
            return self._module(x, edge_index, **given)
        tools = need("torch_geometric.explain.algorithm.utils", 'PyGModel with masking="weight"')
        torch = need("torch", "asking a PyTorch Geometric module")
        tools.set_masks(self._module, torch.as_tensor(union.kept).to(like), edge_index, apply_sigmoid=False)
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
        self._copies = [len(part) for part in masks]
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
        return self._placed([_row(target, nodes) for target, nodes in zip(targets, self._nodes, strict=True)])

    def pairs(self, targets: Sequence[Any]) -> Ints:
        """The two nodes of each copy's target among the nodes of the union, as two rows."""
        ends: list[list[int]] = [[], []]
        for target, nodes in zip(targets, self._nodes, strict=True):
            if not isinstance(target, Sequence) or isinstance(target, str) or len(target) != 2:
                raise InputError(f"expected the rows of two nodes, found {target!r:.60}", where="target")
            for end, node in zip(ends, target, strict=True):
                end.append(_row(node, nodes))
        return np.stack([self._placed(end) for end in ends])

    def _placed(self, rows: Sequence[int]) -> Ints:
        return np.repeat(np.array(rows, np.int64), self._copies) + self._starts


def _row(target: Any, nodes: int) -> int:
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


# --------------------------------------------------------------------------------------------------- explanations


def from_pyg(
    explanation: Any, model: PyGModel | None = None, *, explainer: str = "explainer", event: str | int | None = None,
    target: Any = None, truth: Any = None, elapsed: float | None = None, seed: int | None = None,
    num_hops: int | None = None, candidates: Any = None, units: Any = None,
) -> Explanation:  # fmt: skip
    """An `Explanation` from a `torch_geometric.explain.Explanation` with an edge mask.

    It contains the part of the graph that the answer depends on, and every input that the explanation carries and the
    module takes: `edge_weight`, `edge_attr`, and arrays with one row per node or edge. An input that cannot be cut to a
    part of the graph is an error.

    Parameters
    ----------
    model
        The module that was explained, as `PyGModel`. Its layers determine how far a message travels. It is run to
        check that its answer is the explained one, and that the kept part gives the same answer as the whole graph.
    event
        The event's id; by default the node, pair or graph that `target` or the explanation's `index` names. Give ids if
        the explanations come from different graphs.
    target
        The node, the pair or the graph that was explained; by default the explanation's `index`.
    truth, units
        One value per edge of the explanation; those of the candidates are kept.
    num_hops
        Candidates are the edges on paths of at most this many edges to the target. By default they are the edges that
        can carry a message to it: as many hops as `model` has message-passing layers, and more only if messages arrive
        from further. Edges beyond that change the answer only through degrees; they are kept in every mask. For a
        whole graph, all edges are candidates.
    candidates
        The edges that can be masked, as booleans or as edge numbers, to override this choice.
    """
    if model is not None and not isinstance(model, PyGModel):
        raise InputError(f"expected a PyGModel, found {type(model).__name__}", where="model",
                         fix='Wrap the module: PyGModel(module, task="node").')  # fmt: skip
    question = _Question.of(explanation, model, target)
    mask = explanation.get("edge_mask")
    if mask is None:
        raise InputError("has no edge_mask", where="explanation", fix="Let the explainer mask edges (edge_mask_type=).")
    importance = lined_up(mask, question.edges, "importance", "edge")
    if model is not None:
        question.refuse_other_prediction(explanation.get("prediction"), model)
    part = _part(question, model, num_hops, _chosen(candidates, question.edges))
    flags = None if truth is None else lined_up(truth, question.edges, "truth", "edge")[part.candidates]
    named = question.event if event is None else event
    context = Context(question.cut(part, units), question.relabelled(part), named, truth=flags)
    return Explanation(context, importance[part.candidates], explainer, elapsed, seed)


@dataclass(frozen=True)
class _Part:
    """The numbers of the kept nodes, the kept edges and the candidate edges."""

    nodes: Ints
    kept: Ints
    candidates: Ints


@dataclass(frozen=True)
class _Question:
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
    def of(cls, explanation: Any, model: PyGModel | None, target: Any) -> _Question:
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
        for name, value in _carried(explanation, model):
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
            index = place = _row(index, nodes)
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

    def whole(self) -> _Part:
        """All of the target's graph."""
        kept = np.flatnonzero(self.own[self.edge_index].all(axis=0))
        return _Part(np.flatnonzero(self.own), kept, kept)

    def within(self, hops: int, flow: str) -> Ints:
        """The edges over which a message can reach the target in this many steps."""
        return np.flatnonzero(edges_within(self.edge_index, self.nodes, self.ends, hops, flow))

    def part(self, kept: Ints, candidates: Ints) -> _Part:
        return _Part(np.unique(np.concatenate([self.edge_index[:, kept].ravel(), self.ends])), kept, candidates)

    def relabelled(self, part: _Part) -> Any:
        """The target as rows of the kept nodes."""
        if self.task == "graph" or self.target is None:
            return self.target
        rows = np.searchsorted(part.nodes, self.ends).tolist()
        return rows[0] if self.task == "node" else rows

    def cut(self, part: _Part, units: Any = None) -> Subgraph:
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

    def answers(self, model: PyGModel, part: _Part, masks: Masks) -> AnyArray:
        """The module's answers for a part under masks over all edges; one number per class."""
        whole = _Part(part.nodes, part.kept, part.kept)
        said = model.predict(self.cut(whole), self.relabelled(whole), masks[:, part.kept])
        return as_numeric(said, "answers of the module").reshape(len(masks), -1)

    def all_and_half(self, edges: Ints) -> Masks:
        """Two masks over all edges: one keeps everything, one removes every other of the given edges."""
        masks = np.ones((2, self.edges), bool)
        masks[1, edges[::2]] = False
        return masks

    def same_answers(self, model: PyGModel, part: _Part) -> bool:
        """Whether edges outside a part have no effect, tested with all edges inside and with every other one."""
        masks = self.all_and_half(part.kept)
        return _same(self.answers(model, part, masks), self.answers(model, self.whole(), masks))

    def carries_all_messages(self, model: PyGModel, part: _Part, edges: Ints) -> bool:
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
        both = _Question(
            self.task, np.concatenate([[source + shift, sink], [crossed, sink + self.nodes]], axis=1), 2 * self.nodes,
            {name: np.concatenate([array, altered[name]]) for name, array in self.by_node.items()},
            {name: np.concatenate([array, array]) for name, array in self.by_edge.items()},
            self.target, np.tile(self.own, 2), self.place,
        )  # fmt: skip
        kept = np.concatenate([part.kept, part.kept + self.edges])
        joined = _Part(np.concatenate([part.nodes, part.nodes + self.nodes]), kept, kept)
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


def _part(question: _Question, model: PyGModel | None, num_hops: int | None, chosen: Ints | None) -> _Part:
    """The part of the graph that can affect the answer."""
    whole = question.whole()
    if question.task == "graph" or not question.ends:
        found = whole
    elif num_hops is not None:
        hops, flow = whole_number("num_hops", num_hops, 1), FLOWS[0] if model is None else model.flow
        # Edges one hop further are always kept, because layers that divide by degrees count them.
        found = question.part(question.within(hops + 1, flow), question.within(hops, flow))
        if model is not None and not question.same_answers(model, found):
            raise InputError(
                f"edges beyond {hops} hops change the answer of {model.name}", where="num_hops",
                fix="Increase num_hops, or leave it out.",
            )  # fmt: skip
    elif model is not None and model.hops is not None:
        found = _widened(question, model, model.hops)
    elif chosen is not None:
        found = whole
    else:
        unknown = "no model is given" if model is None else f"{model.name} has no torch_geometric layers to count"
        raise OptionError(
            f"cannot determine which edges can reach the target: {unknown}",
            fix="Pass model=PyGModel(module, …), num_hops= (how many edges a message travels), or candidates=.",
        )
    if chosen is None:
        return found
    elsewhere = np.setdiff1d(chosen, whole.kept)
    if len(elsewhere):
        raise InputError(f"edge {elsewhere[0]} is not in the target's graph", where="candidates")
    kept = np.union1d(found.kept, chosen)
    return _Part(found.nodes, kept, chosen) if found is whole else question.part(kept, chosen)


def _widened(question: _Question, model: PyGModel, hops: int) -> _Part:
    """The smallest part with the same answer as the whole graph; candidates are the edges that carry messages."""
    part = _sufficient(question, model, hops + model.counts_degrees)
    for steps in count(hops):
        reached = question.within(steps, model.flow)
        carrying = np.intersect1d(reached, part.kept)
        if len(carrying) == len(part.kept):
            return part
        if question.carries_all_messages(model, part, carrying):
            return _Part(part.nodes, part.kept, carrying)
        if len(question.within(steps + 1, model.flow)) == len(reached):
            break
    return part  # messages come from everywhere, such as by a norm over all nodes


def _sufficient(question: _Question, model: PyGModel, hops: int) -> _Part:
    """The smallest part, from this many hops on, with the same answer as the whole graph.

    Edges are followed as messages flow. If that is not enough, they are followed both ways, because degrees may count
    edges that leave a node.
    """
    for flow in dict.fromkeys((model.flow, BOTH_WAYS)):
        for steps in count(hops):
            kept = question.within(steps, flow)
            part = question.part(kept, kept)
            if question.same_answers(model, part):
                return part
            if len(question.within(steps + 1, flow)) == len(kept):
                break
    return question.whole()  # unconnected parts matter too, such as in a norm over all nodes


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


def _chosen(candidates: Any, edges: int) -> Ints | None:
    if candidates is None:
        return None
    given = as_numeric(candidates, "candidates")
    if given.dtype.kind == "b":
        return np.flatnonzero(lined_up(given, edges, "candidates", "edge"))
    numbers = whole_numbers(given, "candidates").reshape(-1)
    within(numbers, edges, "candidates", "edge")
    return np.unique(numbers)


def _plain(index: Any) -> Any:
    index = index.tolist() if is_tensor(index) or isinstance(index, np.ndarray | np.generic) else index
    return index[0] if isinstance(index, list) and len(index) == 1 else index


def _task(explanation: Any, model: PyGModel | None, index: Any) -> str:
    """The level of the task, node, edge or graph, from the explanation and the model."""
    level = getattr(_attribute(explanation, "_model_config"), "task_level", None)
    told = str(getattr(level, "value", level)) if level is not None else None
    if model is not None and told is not None and told != model.task:
        raise InputError(f"explains a {told}-level model, but PyGModel has task={model.task!r}",
                         where="explanation", fix=f'Pass PyGModel(module, task="{told}").')  # fmt: skip
    return model.task if model is not None else told or ("graph" if index is None else "node")


def _carried(explanation: Any, model: PyGModel | None) -> Iterator[tuple[str, Any]]:
    """The inputs that the explanation carries and the module takes."""
    given = [str(name) for name in _attribute(explanation, "_model_args") or ()]
    for name in given:
        if model is not None and not model.takes(name):
            raise InputError(f"was made with {name}, which {model.name}.forward does not take", where="explanation",
                             fix="Pass the module that was explained.")  # fmt: skip
    keys = explanation.keys() if callable(getattr(explanation, "keys", None)) else ()
    for name in dict.fromkeys((*given, *(key for key in keys if isinstance(key, str) and key not in _SAID))):
        asked = name in given or (name in ("edge_attr", "edge_weight", "batch") if model is None else model.names(name))
        if asked and explanation.get(name) is not None:
            yield name, explanation.get(name)


def _attribute(explanation: Any, name: str) -> Any:
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
        return [_row(node, nodes) for node in index], 0
    if pairs is None or pairs.ndim != 2 or pairs.shape[0] != 2 or not pairs.shape[1]:
        raise InputError("the explanation of an edge has no edge_label_index", where="target",
                         fix="Give the two nodes as target=.")  # fmt: skip
    place = 0 if index is None and pairs.shape[1] == 1 else index
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < pairs.shape[1]:
        raise InputError(f"expected one of {pairs.shape[1]} pairs, found {place!r:.60}", where="target",
                         fix="Explain one pair at a time (index=).")  # fmt: skip
    return [_row(int(node), nodes) for node in pairs[:, place]], place


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


_PYG_TASK = (
    'A module returns one answer per graph with task="graph", per pair with task="edge", per node with task="node".'
)
_WRAP = "Wrap the module so that it does not take this input, or pass one row per node or edge."
