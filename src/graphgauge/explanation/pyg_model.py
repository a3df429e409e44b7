"""Modules of PyTorch Geometric, with the data that they are asked about, as models to explain."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.explanation.inputs import EDGES, NODES, SINGULAR, Subgraph
from graphgauge.explanation.pyg_graph import Graph, Layers, Part, batch_of, like, split, target_types
from graphgauge.io.code import own_code

# Answers that differ by less are the same: sums in another order.
_SAME = 1e-4
# Copies of a graph are asked about together up to this many numbers, and at least one copy.
_TOGETHER = 1 << 24


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
        A `Data` or `HeteroData` object; if `task` is `graph`, also a batch, a list, a dataset or a loader of them.
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
        If it is no torch module, or the data have no edges or features, or an input that cannot be repeated.
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
            fix = "Pass the explained module; PyGModel.from_explainer(explainer, data) takes it from an Explainer."
            raise InputError(f"expected a torch module, found {type(module).__name__}", where="module", fix=fix)
        self.task = one_of("task", task, ("node", "edge", "graph"))
        self.model_output = one_of("model_output", model_output, ("logit", "probability"))
        self.masking = one_of("masking", masking, ("remove", "weight"))
        self._hops = None if num_hops is None else whole_number("num_hops", num_hops, 1)
        self.module, self._layers = module, Layers.of(module)
        parameters = [*inspect.signature(module.forward).parameters.values()]
        self._arguments = {each.name for each in parameters[2:] if each.kind is not each.VAR_KEYWORD}
        is_collection = isinstance(data, Iterable) and not isinstance(data, Mapping) and not hasattr(data, "stores")
        self.data = data = batch_of(data, self.task) if is_collection else data
        names = {"x", *(name.removesuffix("_dict") for name in self._arguments)} - {"edge_label_index", "batch"}
        names |= {"batch"} if self.task == "graph" else set()
        self.graph = Graph.from_data(data, sorted(names), next((each.device for each in module.parameters()), None))
        if not self.graph.by_node.get("x"):
            raise InputError("have no node features", where="data", fix="Give the nodes features x.")
        nodes = sum(self.graph.nodes.values())
        batch = [as_numeric(each, "batch") for each in self.graph.by_node.get("batch", {}).values()]
        self._graph_of = np.concatenate(batch or [np.zeros(nodes, np.int64)])
        self.types = target_types(self.graph, self.task, target_type)
        graphs = int(self._graph_of.max(initial=0)) + 1
        self.targets = graphs if self.task == "graph" else self.graph.nodes[self.types[0]]
        self.everything = Part(self.graph, np.arange(nodes), np.arange(sum(self.graph.edges.values())))
        self._reached: dict[str, tuple[Ints, int]] = {}
        self._last: tuple[str, Part] | None = None

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
            If it explains a regression.
        """
        config = explainer.model_config
        if config.mode.value == "regression":
            raise InputError("explains a regression, which has no classes", where="explainer")
        # The softmax of log-probabilities is exact.
        output = "probability" if config.return_type.value == "probs" else "logit"
        return cls(explainer.model, data, task=config.task_level.value, model_output=output, **options)

    def candidates(self, target: Any, masked: str = EDGES) -> Ints:
        """What can affect an answer, numbered through the types of the data.

        Edges are those that can carry a message to the target: on paths of as many edges as the module has layers of
        message passing, and of more if the answer changes when messages over all other edges are stopped. Nodes are
        those at these edges, features those of these nodes, where they are not 0.

        Parameters
        ----------
        target
            A node, a pair of nodes, or the number of a graph.
        masked
            `edges`, `nodes` or `features`.

        Returns
        -------
        Ints
            In rising order.
        """
        target = self.checked_target(target)
        edges, _ = self._reach(target)
        if masked == EDGES:
            return edges
        reaching = self._graph_of == (target if self.task == "graph" else -1)
        reaching[np.concatenate([*(row[edges] for row in self.graph.ends), self.ends(target)])] = True
        return self.graph.used(reaching, masked)

    def predict(self, subgraph: Subgraph, target: Any, masks: Mask) -> AnyArray:
        """Answer for many masked copies of one graph.

        Parameters
        ----------
        subgraph, target, masks
            As in `Model.predict`; `subgraph.ids` numbers edges, nodes or features through the data.

        Returns
        -------
        numpy.ndarray
            (B, classes): the module's output for the target.

        Raises
        ------
        InputError
            If its candidates are not those of the data, as with edges in another order.
        """
        target = self.checked_target(target)
        self._require_own(subgraph, target)
        part = self.part(target)
        if not np.isin(subgraph.ids, part.places(subgraph.masked)).all():
            part = self.everything
        places = part.places(subgraph.masked)
        kept = np.ones((len(masks), len(places)), bool)
        kept[:, np.searchsorted(places, subgraph.ids)] = masks
        # A module of graphs that takes no batch sees all nodes as one graph.
        alone = self.task == "graph" and not self._arguments & {"batch", "batch_dict"}
        step = 1 if alone else max(1, _TOGETHER // max(part.graph.size, 1))
        weighted = self.masking == "weight"
        batches = (kept[first : first + step] for first in range(0, len(kept), step))
        return np.concatenate([self._ask(part, target, each, subgraph.masked, weighted=weighted) for each in batches])

    def _require_own(self, subgraph: Subgraph, target: Any) -> None:
        """Refuse candidates that the data do not have at their ids, or not in the target's graph."""
        graph, ids, masked = self.graph, subgraph.ids, subgraph.masked
        known = (ids >= 0) & (ids < sum(graph.sizes(masked).values()))
        if self.task == "graph":
            known &= np.isin(ids, self.part(target).places(masked))
        if masked in (EDGES, NODES) and known.all():
            places = np.stack(subgraph.ends if masked == EDGES else [subgraph.candidates])
            numbers = np.stack([row[ids] for row in graph.ends] if masked == EDGES else [ids])
            nodes, rows = np.unique(numbers, return_inverse=True)
            # A Subgraph of one's own may number the nodes through the types, too.
            names = nodes if subgraph.nodes.dtype.kind in "iu" else graph.names(nodes).astype(np.str_)
            known = (subgraph.nodes[places] == names[rows.reshape(numbers.shape)]).all(axis=0)
        if not known.all():
            what = f"{SINGULAR[masked]} {ids[~known][0]} is not in the model's data, or is another one there"
            fix = (
                "Pass PyGModel the data that were explained, in their order. Nodes of a Subgraph are numbered as there."
            )
            raise InputError(what, where=f"explanation of {self.task} {target}", fix=fix)

    # ---- targets

    def checked_target(self, target: Any) -> Any:
        """A target that exists, as a number or a list of two.

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
        if self.task != "edge":
            target = 0 if target is None and self.targets == 1 else target
            return checked_number(target, self.targets, self.task)
        pair = np.asarray(target).reshape(-1).tolist() if isinstance(target, list | tuple | np.ndarray) else []
        if len(pair) != 2:
            raise InputError(f"expected a pair of nodes, found {target!r:.60}", where="target")
        return [
            checked_number(node, self.graph.nodes[kind], "node") for node, kind in zip(pair, self.types, strict=True)
        ]

    def ends(self, target: Any) -> Ints:
        """The explained nodes, numbered through the types.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        Ints
            One node, two, or none of a whole graph.
        """
        rows = [] if self.task == "graph" else np.atleast_1d(target).tolist()
        return np.array([self.graph.starts[kind] + row for kind, row in zip(self.types, rows, strict=False)], np.int64)

    def whole(self, target: Any) -> Part:
        """The graph that a target belongs to.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        Part
            One graph of a batch, or all data.
        """
        if self.task != "graph" or self.targets == 1:
            return self.everything
        mine = self._graph_of == target
        return self.graph.part(np.flatnonzero(mine[self.graph.ends[0]]), np.flatnonzero(mine))

    def whole_answer(self, target: Any) -> AnyArray:
        """The answer on the whole graph.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        AnyArray
            (classes,)
        """
        return np.asarray(self._ask(self.whole(target), target)[0])

    # ---- reach

    def _reach(self, target: Any) -> tuple[Ints, int]:
        """The edges that can carry a message to the target, and over how many edges it travels."""
        key = repr(target)
        if key not in self._reached:
            self._reached[key] = (self.whole(target).edges, 0) if self.task == "graph" else self._followed(target)
        return self._reached[key]

    def _followed(self, target: Any) -> tuple[Ints, int]:
        """The same, of a node or a pair: as many hops as the module has layers, and more while the answer changes."""
        hops, ends = self._hops or self._layers.depth, self.ends(target)
        if not hops:
            what = f"cannot determine what can reach the target: {self.module_name} has no layers of torch_geometric"
            fix = "Pass PyGModel num_hops=, how many edges a message travels."
            raise OptionError(what, fix=fix)
        edges = self.graph.reaching(ends, hops, self._layers.flow)
        while len(edges) < len(self.everything.edges) and self._hears_from_farther(target, edges):
            if self._hops is not None:
                what = f"edges beyond {hops} hops change the answer of {self.module_name}"
                fix = "Increase num_hops, or leave it out."
                raise InputError(what, where="num_hops", fix=fix)
            hops += 1
            more = self.graph.reaching(ends, hops, self._layers.flow)
            edges = self.everything.edges if len(more) == len(edges) else more  # from everywhere, as by a norm
        return edges, hops

    def _hears_from_farther(self, target: Any, edges: Ints) -> bool:
        """Whether the answer changes when messages over all other edges are stopped; degrees stay as they are."""
        if not self._layers.maskable:
            return False
        kept = np.isin(self.everything.edges, edges)[np.newaxis]
        try:
            answer = self._ask(self.everything, target, kept, weighted=True)[0]
        except InputError:  # layers that take no mask
            return False
        return not same(answer, self.whole_answer(target))

    def part(self, target: Any) -> Part:
        """The part of the graph that is asked about: one hop more than messages travel, because layers count degrees.

        If the module answers otherwise on it, the graph is not cut.

        Parameters
        ----------
        target
            A checked target.

        Returns
        -------
        Part
            The last one is kept.
        """
        if self._last is None or self._last[0] != repr(target):
            self._last = repr(target), self.whole(target) if self.task == "graph" else self._cut(target)
        return self._last[1]

    def _cut(self, target: Any) -> Part:
        """The part, if it is answered as the whole; else everything."""
        (edges, hops), ends = self._reach(target), self.ends(target)
        part = self.graph.part(np.union1d(self.graph.reaching(ends, hops + 1, self._layers.flow), edges), ends)
        return part if same(self._ask(part, target)[0], self.whole_answer(target)) else self.everything

    # ---- asking

    @property
    def module_name(self) -> str:
        """The name of the module's class, for messages."""
        return type(self.module).__name__

    def named(self, inputs: Mapping[str, dict[Any, Any]]) -> dict[str, Any]:
        """Inputs of nodes and edges under those argument names that the module has, without its first two.

        Parameters
        ----------
        inputs
            By name and type.

        Returns
        -------
        dict
            Tensors, or dictionaries of them in a heterogeneous graph.
        """
        named = {f"{name}_dict" if f"{name}_dict" in self._arguments else name: by for name, by in inputs.items()}
        return {name: by.get(None, by) for name, by in named.items() if name in self._arguments}

    def _ask(self, part: Part, target: Any, kept: Mask | None = None, masked: str = EDGES, **how: Any) -> AnyArray:
        """The answers about the target in copies of a part, one for each mask: (masks, classes)."""
        places = np.searchsorted(part.nodes, self.ends(target)).tolist()
        rows = [place - part.graph.starts[kind] for place, kind in zip(places, self.types, strict=False)]
        kept = np.ones((1, len(part.edges)), bool) if kept is None else kept
        output = self._output(part.graph, rows, kept, masked, **how)
        return output[rows[0] :: len(output) // len(kept)] if self.task == "node" else output

    def _output(
        self, graph: Graph, rows: list[int], kept: Mask, masked: str = EDGES, *, weighted: bool = False
    ) -> AnyArray:
        """The module's output for copies of a graph: edges are left out, messages stopped, or features set to 0."""
        copies, parts = len(kept), split(kept, graph.sizes(masked))
        edge_index, inputs = graph.repeated(copies, parts if masked == EDGES and not weighted else None)
        for kind, x in inputs["x"].items() if masked != EDGES else ():
            mask = like(parts[kind].reshape((copies, -1, 1) if masked == NODES else (copies, 1, -1)), x)
            inputs["x"][kind] = (x.reshape(copies, len(x) // copies, -1) * mask).reshape(x.shape)
        if self.task != "graph":
            del inputs["batch"]
        arguments = self.named(inputs)
        expected = copies * (graph.nodes[self.types[0]] if self.task == "node" else 1)
        if self.task == "edge":
            counts = [graph.nodes[kind] for kind in self.types]
            ends = [row + count * np.arange(copies) for row, count in zip(rows, counts, strict=True)]
            arguments["edge_label_index"] = like(np.stack(ends), next(iter(edge_index.values())))
        with self._evaluating(edge_index, parts if masked == EDGES and weighted else None):
            answer = self.module(inputs["x"].get(None, inputs["x"]), edge_index.get(None, edge_index), **arguments)
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            shape = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            what = f"{shape} for {expected} {self.task if self.task != 'edge' else 'pair'}s"
            fix = 'There is one answer per node, or per pair with task="edge", or per graph with task="graph".'
            raise InputError(what, where="answers of the module", fix=fix)
        answers = as_numeric(answer, "answers of the module")
        return answers.reshape(len(answers), -1)

    @contextmanager
    def _evaluating(self, edge_index: dict[Any, Any], weights: dict[Any, Mask] | None) -> Iterator[None]:
        """The module in evaluation mode, without gradients, its messages multiplied by weights."""
        torch = need("torch", "asking a PyTorch Geometric module")
        training = self.module.training
        with nullcontext() if weights is None else self._layers.multiplied(edge_index, weights):
            self.module.eval()
            try:
                with torch.no_grad(), own_code(f"module {self.module_name}.forward"):
                    yield
            finally:
                self.module.train(training)


def same(one: AnyArray, other: AnyArray, tolerance: float = _SAME) -> bool:
    """Whether two answers differ by no more than sums in another order do."""
    return bool(one.shape == other.shape and np.allclose(one, other, rtol=tolerance, atol=tolerance / 10))


def checked_number(value: Any, count: int, what: str) -> int:
    """The number of one of `count` things."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"expected the number of a {what}, found {value!r:.60}", where="target")
    if not 0 <= value < count:
        raise InputError(f"there is no {what} {value} among {count}", where="target")
    return int(value)
