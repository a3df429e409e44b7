"""Models and explanations of other libraries, as this one takes them. torch is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code
from graphgauge.explanation.checks import whole_numbers
from graphgauge.explanation.inputs import Context, Explanation, ManyModel, Masks, Model, Subgraph
from graphgauge.explanation.masks import MODEL_OUTPUT

TASKS = ("node", "graph")
MASKING = ("remove", "weight")


def as_model(model: Any) -> Any:
    """The model as `collect` asks it: itself, or an adapter around what it has."""
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class", where="model", fix="Pass an object of it.")
    with own_code(f"model {type(model).__name__}"):  # looking for a property calls it
        if isinstance(model, Model | ManyModel):
            return model
        if callable(getattr(model, "predict_proba_with_mask", None)):
            return MaskedCalls(model)
    raise InputError(
        f"{type(model).__name__} has neither predict nor predict_proba_with_mask", where="model",
        fix="Give it predict(subgraph, target, masks), or wrap a PyTorch Geometric module in PyGModel.",
    )  # fmt: skip


def method_asked(model: Any) -> str:
    """What is called to ask a model, for messages: its own method, and not that of an adapter."""
    if isinstance(model, MaskedCalls):
        return model.method
    return f"{type(model).__name__}.{'predict_many' if isinstance(model, ManyModel) else 'predict'}"


def said_output(model: Any, stated: str | None) -> str:
    """Whether a model returns logits or probabilities: as stated, by the caller or by the model, never guessed."""
    with own_code(f"{type(model).__name__}.model_output"):
        own = getattr(model, "model_output", None)
    if stated is None and own is None:
        raise OptionError(
            "whether the model returns logits or probabilities is not said",
            fix='Pass model_output="logit" or "probability".',
        )
    if stated is not None and own is not None and stated != own:
        raise OptionError(f"model_output={stated!r}, but the model says that it returns {own!r}")
    return one_of("model_output", str(stated or own), MODEL_OUTPUT)


class MaskedCalls:
    """A model that takes one mask a call: `predict_proba_with_mask(subgraph, target, edge_mask)`.

    It gets the subgraph's own object where there is one. The whole graph is asked of `predict_proba`, if it has that.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.method = f"{type(model).__name__}.predict_proba_with_mask"

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        native = subgraph if subgraph.native is None else subgraph.native
        return np.stack([self._one(native, target, mask) for mask in masks])

    def _one(self, subgraph: Any, target: Any, mask: Masks) -> Any:
        if mask.all() and callable(getattr(self._model, "predict_proba", None)):
            name = f"{type(self._model).__name__}.predict_proba"
            with own_code(f"model {name}"):
                answer = self._model.predict_proba(subgraph, target)
        else:
            name = self.method
            with own_code(f"model {name}"):
                answer = self._model.predict_proba_with_mask(subgraph, target, mask.astype(int).tolist())
        array = as_numeric(answer, f"{name}, answers of the model")
        # One mask is asked, so a leading axis of one is the batch's and not the classes'.
        return array[0] if array.ndim == 2 and len(array) == 1 else array.reshape(-1) if array.ndim == 0 else array


def from_result(
    result: Any, *, src: Any, dst: Any, time: Any = None, target: Any = None, explainer: str = "explainer",
    event: str | int | None = None, **context: Any,
) -> Explanation:  # fmt: skip
    """An `Explanation` from an object with `importance_edges` and `context.subgraph.payload["candidate_eidx"]`.

    `src`, `dst` and `time` are those of all edges, which the candidates' numbers, from 0, point into. The target is the
    context's where none is given.
    """
    try:
        native = result.context.subgraph
        numbers = native.payload["candidate_eidx"]
        importance = result.importance_edges
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"no importance_edges or candidate_eidx ({error})", where="result") from None
    candidates = whole_numbers(numbers, "candidate_eidx").reshape(-1)
    source, sink = as_labels(src, "src"), as_labels(dst, "dst")
    require_shape(sink, source.shape, "dst", "Pass one node per edge in src and in dst.")
    outside = candidates[(candidates < 0) | (candidates >= len(source))]
    if outside.size:
        raise InputError(f"edge {outside[0]} is not among {len(source)}", where="candidate_eidx")
    ends = np.stack([source[candidates], sink[candidates]])
    nodes, rows = np.unique(ends, return_inverse=True)
    times = None
    if time is not None:
        moments = as_numeric(time, "time")
        require_shape(moments, source.shape, "time", "Pass one time per edge.")
        times = moments[candidates]
    subgraph = Subgraph(rows.reshape(ends.shape), nodes, times, native=native)
    target = getattr(result.context, "target", None) if target is None else target
    elapsed = getattr(result, "elapsed_sec", None)
    return Explanation(Context(subgraph, target, event, **context), importance, explainer, elapsed)


def from_pyg(
    explanation: Any, *, explainer: str = "explainer", event: str | int | None = None, target: Any = None,
    truth: Any = None, elapsed: float | None = None, seed: int | None = None,
) -> Explanation:  # fmt: skip
    """An `Explanation` from a `torch_geometric.explain.Explanation` with an edge mask.

    The target is the explanation's `index` (the node that was explained) where none is given.
    """
    if not callable(getattr(explanation, "get", None)):
        raise InputError(f"expected a torch_geometric Explanation, found {type(explanation).__name__}",
                         where="explanation")  # fmt: skip
    mask = explanation.get("edge_mask")
    if mask is None:
        raise InputError("has no edge_mask", where="explanation", fix="Let the explainer mask edges (edge_mask_type=).")
    index = explanation.get("index")
    if target is None and index is not None:
        target = index.tolist() if is_tensor(index) else index
        target = target[0] if isinstance(target, list) and len(target) == 1 else target
    features = explanation.get("edge_attr")
    if features is not None:
        features = as_numeric(features, "edge_attr")
        features = features[:, np.newaxis] if features.ndim == 1 else features
    x = explanation.get("x")
    x = None if x is None else as_numeric(x, "x")
    nodes = np.arange(len(x)) if x is not None and x.ndim else None
    subgraph = Subgraph(explanation.get("edge_index"), nodes, node_features=x, edge_features=features)
    return Explanation(Context(subgraph, target, event, truth=truth), mask, explainer, elapsed, seed)


class PyGModel:
    """A PyTorch Geometric module `module(x, edge_index, …)`, asked for all masks in one disjoint union.

    Parameters
    ----------
    task
        `node`: the target is a row of the output. `graph`: the module gets `batch=` and answers once a graph.
    masking
        `remove` takes edges out of the graph. `weight` multiplies their messages by 0, as torch_geometric's own
        explainers do; degrees that a layer divides by then still count them.
    """

    def __init__(
        self, module: Any, *, model_output: str = "logit", task: str = "node", masking: str = "remove"
    ) -> None:
        if not callable(getattr(module, "parameters", None)):
            raise InputError(f"expected a torch module, found {type(module).__name__}", where="module")
        self.model_output = one_of("model_output", model_output, MODEL_OUTPUT)
        self._task, self._masking = one_of("task", task, TASKS), one_of("masking", masking, MASKING)
        self._module = module

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        return self.predict_many([subgraph], [target], [masks])[0]

    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> Sequence[Any]:
        torch = need("torch", "asking a PyTorch Geometric module")
        union = _Union(subgraphs, masks, remove=self._masking == "remove")
        like = next(iter(self._module.parameters()), torch.zeros(1))
        given: dict[str, Any] = {}
        if union.edge_features is not None:
            given["edge_attr"] = torch.as_tensor(union.edge_features).to(like)
        if self._task == "graph":
            given["batch"] = torch.as_tensor(union.owner, device=like.device)
        x = torch.as_tensor(union.node_features).to(like)
        edge_index = torch.as_tensor(union.edge_index, device=like.device)
        training = self._module.training
        self._module.eval()
        try:
            with torch.no_grad(), own_code(f"module {type(self._module).__name__}.forward"):
                answer = self._answer(x, edge_index, union, given, like)
        finally:
            self._module.train(training)
        expected, what = (len(union), "graphs") if self._task == "graph" else (len(union.owner), "nodes")
        if not is_tensor(answer) or answer.dim() == 0 or len(answer) != expected:
            found = tuple(answer.shape) if is_tensor(answer) else type(answer).__name__
            raise InputError(f"{found} for {expected} {what}", where="answers of the module", fix=_PYG_TASK)
        rows = answer if self._task == "graph" else answer[torch.as_tensor(union.rows(targets), device=like.device)]
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


class _Union:
    """Masked copies of subgraphs side by side, as one graph without edges between them."""

    def __init__(self, subgraphs: Sequence[Subgraph], masks: Sequence[Masks], *, remove: bool) -> None:
        copies = [subgraph for subgraph, part in zip(subgraphs, masks, strict=True) for _ in part]
        sizes = np.array([len(subgraph.nodes) for subgraph in copies], np.int64)
        self._starts = np.cumsum(sizes) - sizes
        self._copies = [len(part) for part in masks]
        self._nodes = [len(subgraph.nodes) for subgraph in subgraphs]
        self.owner = np.repeat(np.arange(len(copies)), sizes)
        self.node_features = np.concatenate([self._features(subgraph) for subgraph in copies])
        whole = [subgraph.edge_masks(part) for subgraph, part in zip(subgraphs, masks, strict=True)]
        self.kept = np.concatenate([part.reshape(-1) for part in whole])
        edges = [subgraph.edge_index + start for subgraph, start in zip(copies, self._starts, strict=True)]
        self.edge_index = np.concatenate(edges, axis=1)
        features = [subgraph.edge_features for subgraph in copies if subgraph.edge_features is not None]
        if len(features) not in (0, len(copies)):
            raise InputError("has edge_features in some events and none in others", where="subgraph")
        self.edge_features = np.concatenate(features) if features else None
        if remove:
            self.edge_index = self.edge_index[:, self.kept]
            self.edge_features = None if self.edge_features is None else self.edge_features[self.kept]

    @staticmethod
    def _features(subgraph: Subgraph) -> Any:
        if subgraph.node_features is None:
            raise InputError("has no node_features, which the module takes as x", where="subgraph")
        return subgraph.node_features

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, targets: Sequence[Any]) -> Any:
        """Where the target of each copy stands among the nodes of the union."""
        rows = []
        for target, nodes in zip(targets, self._nodes, strict=True):
            if isinstance(target, bool) or not isinstance(target, int | np.integer):
                raise InputError(f"expected the row of a node, found {target!r:.60}", where="target")
            if not 0 <= target < nodes:  # it would be a node of another copy
                raise InputError(f"there is no node {target} among {nodes}", where="target")
            rows.append(int(target))
        return np.repeat(np.array(rows, np.int64), self._copies) + self._starts


_PYG_TASK = 'With task="graph" a module answers once a graph, with task="node" once a node.'
