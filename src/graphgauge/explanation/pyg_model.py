"""Modules of PyTorch Geometric, with the data that they are asked about, as models to explain."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.explanation.inputs import EDGES, ENTRIES, FEATURES, NODES, Subgraph, whole_numbers
from graphgauge.explanation.pyg_graph import BOTH_WAYS, FLOWS, Graph, like
from graphgauge.old.core.factory import own_code

# Answers that differ by less are the same: sums in another order.
_SAME = 1e-4
# Copies of a graph are asked about together up to this many numbers, and at least one copy.
_TOGETHER = 1 << 24
_TASK_FIX = (
    'A module returns one answer per graph with task="graph", per pair with task="edge", per node with task="node".'
)


@dataclass(frozen=True)
class Part:
    """The part of a graph that is asked about: its nodes and edges as numbers in the whole.

    `rows` are the rows of the explained nodes within their types.
    """

    whole: Graph
    graph: Graph
    nodes: Ints
    edges: Ints
    rows: list[int]


class PyGModel:
    """A PyTorch Geometric module `module(x, edge_index, …)` and its data; all masks are asked about in one call.

    A heterogeneous module is called as `module(x_dict, edge_index_dict, …)`. Its other arguments are those that
    `forward` names and the data contain: `edge_weight`, `edge_attr`, any tensor with one row per node or edge. It runs
    on the device of its parameters, on copies of the part of the graph that the answer depends on.

    Parameters
    ----------
    module
        A torch module with message-passing layers.
    data
        A `Data` or `HeteroData` object, or a list of them or a batch if `task` is `graph`.
    task
        `node`: the target is a row of the output. `edge`: it is a pair of nodes; the module gets `edge_label_index=`
        and returns one answer per pair. `graph`: it is the number of a graph; the module gets `batch=` and returns one
        answer per graph.
    model_output
        `logit` (also for log-probabilities) or `probability`.
    masking
        What happens to masked edges. `remove` takes them out of the graph. `weight` multiplies their messages by 0, as
        torch_geometric's explainers do; they then still count in the degrees that a layer divides by. Masked features
        are set to 0.
    num_hops
        How many edges a message travels, if the number of message-passing layers does not say it.
    target_type
        In a heterogeneous graph the type of the explained nodes, or the two types of the explained pairs.

    Raises
    ------
    InputError
        If it is no torch module, or the data have no edges, or an input that cannot be repeated.
    """

    def __init__(
        self,
        module: Any,
        data: Any,
        *,
        task: str = "node",
        model_output: str = "logit",
        masking: str = "remove",
        num_hops: int | None = None,
        target_type: str | Sequence[str] | None = None,
    ) -> None:
        if not callable(getattr(module, "parameters", None)):
            raise InputError(f"expected a torch module, found {type(module).__name__}", where="module")
        self.task = one_of("task", task, ("node", "edge", "graph"))
        self.model_output = one_of("model_output", model_output, ("logit", "probability"))
        self.masking = one_of("masking", masking, ("remove", "weight"))
        self.data = data
        self._module, self._hops = module, None if num_hops is None else whole_number("num_hops", num_hops, 1)
        layers = [*message_layers(module)]
        cached = next((type(layer).__name__ for layer in layers if getattr(layer, "cached", False)), None)
        if cached is not None:
            raise InputError(
                f"{cached} keeps the graph of its first call (cached=True), so masks would have no effect",
                where="module",
                fix="Build it with cached=False and load the weights.",
            )
        flows = {getattr(layer, "flow", FLOWS[0]) for layer in layers} or {FLOWS[0]}
        self._flow = flows.pop() if len(flows) == 1 else BOTH_WAYS
        self._multiplies = any(_is_pyg_layer(layer) for layer in layers)
        parameters = [*inspect.signature(module.forward).parameters.values()]
        self._names = {each.name for each in parameters[2:] if each.kind is not each.VAR_KEYWORD}
        device = next((parameter.device for parameter in module.parameters()), None)
        self.graphs, self.own = self._graphs(data, device)
        self.types = self._target_types(target_type)
        self._reached: dict[str, tuple[Ints, int]] = {}
        self._last: tuple[str, Part] | None = None
        self._all_rows: AnyArray | None = None

    @classmethod
    def from_explainer(cls, explainer: Any, data: Any, **options: Any) -> PyGModel:
        """The module of a `torch_geometric.explain.Explainer`, with the task and output of its configuration.

        Parameters
        ----------
        explainer
            A `torch_geometric.explain.Explainer`.
        data
            What it explains answers about.
        options
            `masking`, `num_hops` and `target_type` of the model.

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
        if config.mode.value == "regression":
            raise InputError("explains a regression, which has no classes", where="explainer")
        # The softmax of log-probabilities is exact.
        output = "probability" if config.return_type.value == "probs" else "logit"
        return cls(explainer.model, data, task=config.task_level.value, model_output=output, **options)

    @property
    def targets(self) -> int:
        """How many nodes or graphs there are to ask about."""
        return len(self.graphs) if self.task == "graph" else self.graphs[0].nodes[self.types[0]]

    @property
    def name(self) -> str:
        """The name of the module's class, for messages."""
        return type(self._module).__name__

    def candidates(self, target: Any, masked: str = EDGES) -> Ints:
        """What can affect an answer, numbered through the types of the data.

        Edges are those that can carry a message to the target: on paths of as many edges as the module has layers of
        message passing, and of more if the answer changes when messages from further are stopped. Nodes are those at
        these edges, features and entries those of these nodes, where they are not 0.

        Parameters
        ----------
        target
            A node, a pair of nodes, or the number of a graph.
        masked
            `edges`, `nodes`, `features` or `entries`.

        Returns
        -------
        Ints
            In rising order.
        """
        target = self.checked_target(target)
        edges, graph = self._reach(target)[0], self.graph(target)
        if masked == EDGES:
            return edges
        reaching = np.full(sum(graph.nodes.values()), self.task == "graph")
        reaching[np.concatenate([*(row[edges] for row in graph.ends), self.ends(target)])] = True
        found, start = [], 0
        for kind, values in graph.by_node["x"].items():
            x = as_numeric(values, "x").reshape(len(values), -1)
            first = graph.starts[kind]
            used = (x != 0) & reaching[first : first + len(x), np.newaxis]
            if masked == NODES:
                found.append(first + np.flatnonzero(used.any(axis=1)))
            else:
                found.append(start + np.flatnonzero(used.any(axis=0) if masked == FEATURES else used))
                start += x.shape[1] if masked == FEATURES else x.size
        return np.concatenate(found)

    def predict(self, subgraph: Subgraph, target: Any, masks: Mask) -> AnyArray:
        """Answer for many masked copies of one graph.

        Parameters
        ----------
        subgraph, target, masks
            As in `Model.predict`; `subgraph.ids` numbers edges, nodes, features or entries through the data.

        Returns
        -------
        numpy.ndarray
            (B, classes): the module's output for the target.
        """
        target = self.checked_target(target)
        part = self._part(target)
        if subgraph.masked == EDGES and not np.isin(subgraph.ids, part.edges).all():
            part = self._whole(target)
        step = max(1, _TOGETHER // max(part.graph.size, 1))
        return np.concatenate([self._masked(part, subgraph, masks[k : k + step]) for k in range(0, len(masks), step)])

    def checked_target(self, target: Any) -> Any:
        """A target as a number or as a list of two, if it exists.

        Parameters
        ----------
        target
            A node, a pair of nodes, or the number of a graph; None for the only graph.

        Returns
        -------
        int or list of int
            The same.

        Raises
        ------
        InputError
            If there is no such node or graph.
        """
        if self.task == "graph":
            target = 0 if target is None and len(self.graphs) == 1 else target
            return _row(target, len(self.graphs), "graph")
        counts = [self.graphs[0].nodes[kind] for kind in self.types]
        if self.task == "node":
            return _row(target, counts[0], "node")
        pair = np.asarray(target).reshape(-1).tolist() if isinstance(target, list | tuple | np.ndarray) else []
        if len(pair) != 2:
            raise InputError(f"expected a pair of nodes, found {target!r:.60}", where="target")
        return [_row(node, count, "node") for node, count in zip(pair, counts, strict=True)]

    def refuse_other(self, prediction: Any, target: Any, place: int) -> None:
        """Raise an error unless the module gives the answer that was explained, a row of `prediction`.

        Parameters
        ----------
        prediction
            The recorded answers.
        target
            What was explained.
        place
            The row of its answer, if there are several.

        Raises
        ------
        InputError
            With both answers.
        """
        recorded = as_numeric(prediction, "prediction")
        recorded = recorded.reshape(len(recorded), -1) if recorded.ndim else recorded.reshape(1, 1)
        place = 0 if len(recorded) == 1 else place
        if place >= len(recorded):
            raise InputError(f"{len(recorded)} rows, but the target is row {place}", where="prediction")
        explained, answer = recorded[place], self._whole_answer(self.checked_target(target))
        if explained.shape != answer.shape or not np.allclose(explained, answer, rtol=10 * _SAME, atol=_SAME):
            raise InputError(
                f"{self.name} answers {_shown(answer)} on the whole graph, but {_shown(explained)} was explained",
                where="prediction",
                fix="Pass the module that was explained, and data with its other inputs under their argument names.",
            )

    def named(self, inputs: Mapping[str, dict[Any, Any]]) -> dict[str, Any]:
        """Inputs of nodes and edges under the argument names of the module, without features.

        Parameters
        ----------
        inputs
            By name and type.

        Returns
        -------
        dict
            Tensors, or dictionaries of them in a heterogeneous graph.
        """
        found: dict[str, Any] = {}
        for name, by in inputs.items():
            argument = f"{name}_dict" if f"{name}_dict" in self._names else name
            if argument in self._names:
                found[argument] = by.get(None, by)
        return found

    # ---- data and targets

    def _graphs(self, data: Any, device: Any) -> tuple[list[Graph], list[tuple[Ints, Ints]] | None]:
        """The graphs, and the nodes and edges of each in a batch."""
        names = {"x", *(name.removesuffix("_dict") for name in self._names)}
        listed = list(data) if isinstance(data, list | tuple) else [data]
        if not listed or (self.task != "graph" and len(listed) > 1):
            raise InputError(f"are {len(listed)} graphs", where="data", fix='Only task="graph" takes several.')
        graphs = [Graph.from_data(each, names, device) for each in listed]
        if any(not graph.by_node.get("x") for graph in graphs):
            raise InputError("have no node features", where="data", fix="Give the nodes features x.")
        batch = listed[0].get("batch") if self.task == "graph" and len(listed) == 1 and not graphs[0].typed else None
        if batch is None:
            return graphs, None
        of_node = whole_numbers(batch, "batch")
        of_edge = of_node[graphs[0].ends[0]]
        own = [(np.flatnonzero(of_node == k), np.flatnonzero(of_edge == k)) for k in range(int(of_node.max()) + 1)]
        return [graphs[0].cut(*each) for each in own], own

    def _target_types(self, given: Any) -> list[Any]:
        """The type of each explained node."""
        kinds = [*self.graphs[0].nodes]
        if not self.graphs[0].typed:
            if given is not None:
                raise OptionError("target_type is for heterogeneous graphs", fix="Leave it out.")
            return [None, None]
        wanted = {"node": 1, "edge": 2, "graph": 0}[self.task]
        types = [given] if isinstance(given, str) else [*(given or ())]
        if len(types) != wanted:
            example = '"paper"' if wanted == 1 else '("user", "movie")'
            fix = f"Pass target_type={example}." if wanted else "Leave out target_type."
            raise OptionError(f"{wanted or 'no'} types of the target are needed, found {given!r:.60}", fix=fix)
        return [one_of("target_type", each, kinds) for each in types]

    def graph(self, target: Any) -> Graph:
        """The graph that a target belongs to.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        Graph
            The same for all nodes and pairs.
        """
        return self.graphs[target if self.task == "graph" else 0]

    def ends(self, target: Any) -> list[int]:
        """The explained nodes, numbered through the types; none for a whole graph.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        list of int
            One node, two or none.
        """
        rows = [] if self.task == "graph" else np.atleast_1d(target).tolist()
        starts = self.graph(target).starts
        return [starts[kind] + row for kind, row in zip(self.types, rows, strict=False)]

    # ---- reach

    def _reach(self, target: Any) -> tuple[Ints, int]:
        """The edges that can carry a message to the target, and over how many edges it travels."""
        key = repr(target)
        if key not in self._reached:
            self._reached[key] = self._followed(target)
        return self._reached[key]

    def _followed(self, target: Any) -> tuple[Ints, int]:
        graph = self.graph(target)
        everything = np.arange(sum(graph.edges.values()))
        if self.task == "graph":
            return everything, 0
        hops = self._hops or _depth(self._module)
        if not hops:
            raise OptionError(
                f"cannot determine which edges can reach the target: {self.name} has no layers of torch_geometric",
                fix="Pass num_hops=, how many edges a message travels.",
            )
        edges = graph.within(self.ends(target), hops, self._flow)
        while len(edges) < len(everything) and self._hears_from_farther(target, edges):
            if self._hops is not None:
                raise InputError(
                    f"edges beyond {hops} hops change the answer of {self.name}",
                    where="num_hops",
                    fix="Increase num_hops, or leave it out.",
                )
            hops += 1
            more = graph.within(self.ends(target), hops, self._flow)
            edges = everything if len(more) == len(edges) else more  # messages from everywhere, as by a norm
        return edges, hops

    def _hears_from_farther(self, target: Any, edges: Ints) -> bool:
        """Whether the answer changes when messages over all other edges are stopped, and other nodes altered.

        Degrees stay as they are. What a module does not take, such as unknown categories, is not altered.
        """
        whole = self._whole(target)
        near = np.concatenate([*(row[edges] for row in whole.graph.ends), self.ends(target)])
        far = whole.graph.rows(np.setdiff1d(whole.nodes, near))
        altered = {
            name: {kind: _altered(x, far[kind]) for kind, x in by.items()} for name, by in whole.graph.by_node.items()
        }
        other = replace(whole, graph=replace(whole.graph, by_node=altered))
        kept = np.isin(np.arange(len(whole.edges)), edges)[np.newaxis]
        for stopped in (kept, None) if self._multiplies else (None,):
            try:
                answer = self._ask(other, 1, stopped, weighted=True)[0]
            except InputError:
                continue
            return not _same(answer, self._whole_answer(target))
        return False

    def _whole(self, target: Any) -> Part:
        graph = self.graph(target)
        nodes, edges = (np.arange(sum(counts.values())) for counts in (graph.nodes, graph.edges))
        return Part(graph, graph, nodes, edges, [] if self.task == "graph" else np.atleast_1d(target).tolist())

    def _part(self, target: Any) -> Part:
        """The part of the graph that is asked about: one hop more than messages travel, because layers count degrees.

        If the module answers otherwise on it, edges are followed both ways, and then the graph is not cut.
        """
        if self._last is None or self._last[0] != repr(target):
            self._last = repr(target), self._cut(target)
        return self._last[1]

    def _cut(self, target: Any) -> Part:
        whole = self._whole(target)
        candidates, hops = self._reach(target)
        if self.task == "graph":
            return whole
        ends = self.ends(target)
        for flow in dict.fromkeys((self._flow, BOTH_WAYS)):
            edges = np.union1d(whole.graph.within(ends, hops + 1, flow), candidates)
            nodes = np.unique(np.concatenate([*(row[edges] for row in whole.graph.ends), ends]))
            graph, rows = whole.graph.cut(nodes, edges), whole.graph.rows(nodes)
            local = [int(np.searchsorted(rows[kind], row)) for kind, row in zip(self.types, whole.rows, strict=False)]
            part = Part(whole.graph, graph, nodes, edges, local)
            if _same(self._ask(part, 1)[0], self._whole_answer(target)):
                return part
        return whole

    # ---- asking

    def _whole_answer(self, target: Any) -> AnyArray:
        """The answer on the whole graph; those of all nodes are kept."""
        whole = self._whole(target)
        if self.task != "node":
            return self._ask(whole, 1)[0]
        if self._all_rows is None:
            self._all_rows = self._output(whole, 1)
        rows: AnyArray = self._all_rows[target]
        return rows

    def _masked(self, part: Part, subgraph: Subgraph, masks: Mask) -> AnyArray:
        if subgraph.masked != EDGES:
            return self._ask(part, len(masks), features=_feature_masks(part, subgraph, masks))
        kept = np.ones((len(masks), len(part.edges)), bool)
        kept[:, np.searchsorted(part.edges, subgraph.ids)] = masks
        return self._ask(part, len(masks), kept, weighted=self.masking == "weight")

    def _ask(self, part: Part, copies: int, kept: Mask | None = None, **how: Any) -> AnyArray:
        """The answers about the target in copies of a part: (copies, classes)."""
        output = self._output(part, copies, kept, **how)
        rows = part.rows[0] + len(output) // copies * np.arange(copies) if self.task == "node" else slice(None)
        answers: AnyArray = output[rows]
        return answers

    def _output(
        self,
        part: Part,
        copies: int,
        kept: Mask | None = None,
        *,
        weighted: bool = False,
        features: dict[Any, Mask] | None = None,
    ) -> AnyArray:
        """The module's output for copies of a part, with edges left out, messages stopped or features set to 0."""
        graph = part.graph
        edge_index, inputs = graph.repeated(copies, None if weighted else kept)
        for kind, mask in (features or {}).items():
            x = inputs["x"][kind]
            inputs["x"][kind] = (x.reshape(copies, -1, mask.shape[2]) * like(mask, x)).reshape(x.shape)
        if self.task != "graph":
            del inputs["batch"]
        given = {name: _tiled(value, copies) for name, value in graph.by_graph.items()}
        given |= self.named(inputs)
        if self.task == "edge":
            counts = [graph.nodes[kind] for kind in self.types]
            ends = [row + count * np.arange(copies) for row, count in zip(part.rows, counts, strict=True)]
            given["edge_label_index"] = like(np.stack(ends), next(iter(edge_index.values())))
        weights = graph.by_type(kept) if weighted and kept is not None else None
        x = inputs["x"] if graph.typed else inputs["x"][None]
        with self._evaluating(edge_index, weights):
            answer = self._module(x, edge_index if graph.typed else edge_index[None], **given)
        expected, what = (copies, f"{self.task}s")
        if self.task == "node":
            expected, what = copies * graph.nodes[self.types[0]], "nodes"
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            found = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            raise InputError(f"{found} for {expected} {what}", where="answers of the module", fix=_TASK_FIX)
        rows = as_numeric(answer, "answers of the module")
        return rows.reshape(len(rows), -1)

    @contextmanager
    def _evaluating(self, edge_index: dict[Any, Any], weights: dict[Any, Mask] | None) -> Iterator[None]:
        """The module in evaluation mode, without gradients, its messages multiplied by weights."""
        torch = need("torch", "asking a PyTorch Geometric module")
        training, tools = self._module.training, None
        if weights is not None:
            tools = need("torch_geometric.explain.algorithm.utils", "multiplying messages by masks")
            if not self._multiplies:
                raise InputError(
                    f"{self.name} has no torch_geometric layers, whose messages can be multiplied",
                    where="module",
                    fix='Use masking="remove".',
                )
            numbers = {kind: like(mask.reshape(-1), edge_index[kind]).float() for kind, mask in weights.items()}
            if None in numbers:
                tools.set_masks(self._module, numbers[None], edge_index[None], apply_sigmoid=False)
            else:
                tools.set_hetero_masks(self._module, numbers, edge_index, apply_sigmoid=False)
        self._module.eval()
        try:
            with torch.no_grad(), own_code(f"module {self.name}.forward"):
                yield
        finally:
            self._module.train(training)
            if tools is not None:
                tools.clear_masks(self._module)


def message_layers(module: Any) -> Iterator[Any]:
    """The layers of a module that pass messages."""
    modules = getattr(module, "modules", None)
    for layer in modules() if callable(modules) else ():
        if callable(getattr(layer, "propagate", None)) and callable(getattr(layer, "message", None)):
            yield layer


def _is_pyg_layer(layer: Any) -> bool:
    layers = sys.modules.get("torch_geometric.nn.conv.message_passing")
    return layers is not None and isinstance(layer, layers.MessagePassing)


def _depth(module: Any) -> int:
    """The number of message-passing layers one after the other; those of different edge types are side by side."""
    if callable(getattr(module, "propagate", None)) and callable(getattr(module, "message", None)):
        return 1
    children = getattr(module, "named_children", None)
    named = list(children()) if callable(children) else []
    depths = [_depth(child) for _, child in named]
    by_type = bool(named) and all(len(name.strip("<>").split("__")) >= 3 for name, _ in named)
    return max(depths) if by_type else sum(depths)


def _feature_masks(part: Part, subgraph: Subgraph, masks: Mask) -> dict[Any, Mask]:
    """For the features of each type, masks that can be multiplied with them: (B, nodes or 1, columns or 1)."""
    found, start = {}, 0
    own = part.whole.rows(part.nodes)
    for kind, x in part.whole.by_node["x"].items():
        columns = x[:1].numel()
        first, size, shape = {
            NODES: (part.whole.starts[kind], len(x), (len(own[kind]), 1)),
            FEATURES: (start, columns, (1, columns)),
            ENTRIES: (start, x.numel(), (len(own[kind]), columns)),
        }[subgraph.masked]
        start += size
        row, column = np.divmod(subgraph.ids - first, shape[1])
        listed = np.zeros(1, np.int64) if subgraph.masked == FEATURES else own[kind]
        mine = (subgraph.ids >= first) & (subgraph.ids < first + size) & np.isin(row, listed)
        found[kind] = np.ones((len(masks), *shape), bool)
        found[kind][:, np.searchsorted(listed, row[mine]), column[mine]] = masks[:, mine]
    return found


def _altered(x: Any, rows: Ints) -> Any:
    """Node inputs in which some rows are others: those of each other, or moved by 1 if all are the same."""
    if not len(rows):
        return x
    at = like(rows, x)
    before = x[at]
    after = before.flip(0)
    if bool((after == before).all()):
        if x.dtype.is_floating_point:
            after = before + 1
        elif str(x.dtype) == "torch.bool":
            after = ~before
    other = x.clone()
    other[at] = after
    return other


def _tiled(value: Any, copies: int) -> Any:
    """An input of a graph for several copies; numbers stay."""
    return value.repeat(copies, *[1] * (value.dim() - 1)) if is_tensor(value) and value.dim() else value


def _row(value: Any, count: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"expected the number of a {what}, found {value!r:.60}", where="target")
    if not 0 <= value < count:
        raise InputError(f"there is no {what} {value} among {count}", where="target")
    return int(value)


def _same(one: AnyArray, other: AnyArray) -> bool:
    return bool(np.allclose(one, other, rtol=_SAME, atol=_SAME / 10))


def _shown(values: AnyArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:4]) + (", …" if len(values) > 4 else "")
