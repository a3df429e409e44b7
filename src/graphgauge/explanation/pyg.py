"""Explanations of PyTorch Geometric: their masks over what can affect the answer, and that library's own metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.explanation.inputs import (
    EDGES,
    FEATURES,
    MASKED,
    NODES,
    SINGULAR,
    Context,
    Explanation,
    Subgraph,
    lined_up,
    whole_numbers,
)
from graphgauge.explanation.pyg_graph import Graph, Part, is_typed, message_layers
from graphgauge.explanation.pyg_model import PyGModel, checked_number, same

# Of a recorded answer, which may come from another device.
_RECORDED = 1e-3


def from_pyg(
    explanation: Any,
    model: PyGModel,
    *,
    explainer: str = "explainer",
    target: Any = None,
    masked: str | None = None,
    candidates: Any = None,
    units: Any = None,
    truth: Any = None,
    event: str | int | None = None,
    seed: int | None = None,
    elapsed: float | None = None,
) -> Explanation:
    """An `Explanation` from a `torch_geometric.explain.Explanation` or `HeteroExplanation`.

    Its candidates are what can affect the answer: `PyGModel.candidates`. The model's answer on its data must be the
    one that was explained.

    Parameters
    ----------
    explanation
        The object that an explainer of torch_geometric returned.
    model
        The module that was explained, with the data, as `PyGModel`.
    explainer
        The explainer's name.
    target
        The node, the pair (or its column in `edge_label_index`) or the number of the graph that was explained; by
        default the explanation's `index`. If several were explained at once, one of them: call it for each.
    masked
        What is ranked and masked: `edges` by the edge mask; `nodes` or `features` (columns) by the node mask, of which
        single entries are added up. By default edges; without an edge mask features if the node mask has several
        columns, and nodes otherwise.
    candidates
        The edges (nodes, features) that can be masked, as booleans or as numbers, to override this choice.
    truth, units
        One value per edge of the graph, or per node or feature that is masked; those of the candidates are kept. In a
        heterogeneous graph, dictionaries by type. Several rows are several accepted truths. By default the two
        directions of a pair are one unit in a graph of one type; `units="edges"` masks them separately.
    event
        The event's id; by default the node, pair or graph that was explained.
    seed
        The explainer's seed, if it draws random numbers.
    elapsed
        Seconds that it took.

    Returns
    -------
    Explanation
        For `collect`, `evaluate` and `write_explanations`.

    Raises
    ------
    InputError
        If the explanation has no mask, belongs to another graph, or explains another answer.

    Examples
    --------
    >>> import torch
    >>> from graphgauge import explanation
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.explain import Explanation
    >>> from torch_geometric.nn import GCNConv
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> model = explanation.PyGModel(GCNConv(3, 2), data)
    >>> theirs = Explanation(x=data.x, edge_index=data.edge_index, edge_mask=torch.tensor([0.9, 0.2, 0.1]))
    >>> found = explanation.from_pyg(theirs, model, explainer="gradient", target=0)
    >>> found.context.subgraph.ids.tolist(), found.context.event
    ([2], 0)
    """
    _require_model(model)
    if not callable(getattr(explanation, "get", None)) and not is_typed(explanation):
        what = f"expected a torch_geometric Explanation, found {type(explanation).__name__}"
        raise InputError(what, where="explanation")
    level = getattr(getattr(explanation, "_model_config", None), "task_level", None)
    if level is not None and level.value != model.task:
        what = f"explains a {level.value}-level model, but PyGModel has task={model.task!r}"
        fix = f'Pass PyGModel(module, data, task="{level.value}").'
        raise InputError(what, where="explanation", fix=fix)
    target, place = _explained(explanation, model, target)
    part = _explained_part(explanation, model, target)
    prediction = getattr(explanation, "prediction", None)
    if prediction is not None:
        _require_same_answer(as_numeric(prediction, "prediction"), model, target, place)
    if masked is not None:
        one_of("masked", masked, MASKED)
    masked, importance = _ranked(explanation, part.graph, masked)
    numbers, places = model.candidates(target, masked), part.places(masked)
    if candidates is not None:
        numbers = places[_numbered(candidates, len(importance), "candidates")]
    local = np.searchsorted(places, numbers)
    if units is None and part.graph.typed:
        units = "edges"  # the two directions of a relation have different types
    if not isinstance(units, str | None):
        units = _values_of(units, part.graph, masked, "units")[local]
    right = None if truth is None else _values_of(truth, part.graph, masked, "truth")[..., local]
    context = Context(
        _subgraph(model.graph, numbers, masked, units),
        target,
        _event(model, target) if event is None else event,
        _true_class(explanation, prediction, place),
        right,
    )
    return Explanation(context, importance[local], explainer, elapsed, seed)


def explain_pyg(
    explainers: Any,
    model: PyGModel,
    index: Any = None,
    *,
    masked: str | None = None,
    units: Any = None,
    truth: Any = None,
    seed: int | None = None,
) -> list[Explanation]:
    """Run explainers of torch_geometric on nodes, pairs or graphs, and collect their explanations with their times.

    Parameters
    ----------
    explainers
        A `torch_geometric.explain.Explainer`, or a dictionary of them by name.
    model
        The explained module with its data; explainers get the inputs that it gets.
    index
        The nodes, pairs (columns of `edge_label_index`) or graphs to explain, as numbers or as a mask; by default all.
    masked, units
        See `from_pyg`.
    truth
        One value per edge, or a function of the target that gives them. See `from_pyg`.
    seed
        The seed of this run, if explainers draw random numbers and are run several times.

    Returns
    -------
    list of Explanation
        One for each explainer and target, with its running time.

    Raises
    ------
    InputError
        If an explainer's answer does not belong to the data.

    Examples
    --------
    >>> import torch
    >>> from graphgauge import explanation
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.explain import DummyExplainer, Explainer
    >>> from torch_geometric.nn import GCNConv
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> config = dict(mode="multiclass_classification", task_level="node", return_type="raw")
    >>> explainer = Explainer(
    ...     GCNConv(3, 2), DummyExplainer(), explanation_type="model", edge_mask_type="object", model_config=config
    ... )
    >>> model = explanation.PyGModel.from_explainer(explainer, data)
    >>> found = explanation.explain_pyg({"dummy": explainer}, model, index=[0])
    >>> len(found), found[0].explainer
    (1, 'dummy')
    """
    named = explainers if isinstance(explainers, Mapping) else {type(explainers.algorithm).__name__: explainers}
    _require_model(model)
    found = []
    for target in _targets(model, index):
        x, edge_index, given = _arguments(model, target)
        right = truth(target) if callable(truth) else truth
        for name, explainer in named.items():
            wanted = {"target": _labels(model, target)} if "phenomenon" in str(explainer.explanation_type) else {}
            _forget_masks(explainer.model)  # of a run before this one
            start = perf_counter()
            said = explainer(x, edge_index, **given, **wanted)
            seconds = perf_counter() - start
            _forget_masks(explainer.model)
            about = {"explainer": name, "target": target, "masked": masked, "units": units, "truth": right}
            found.append(from_pyg(said, model, seed=seed, elapsed=seconds, **about))
    return found


def pyg_metrics(explainer: Any, explanations: Iterable[Any]) -> dict[str, Floats]:
    """torch_geometric's own numbers for its explanations, by its own code, one for each explanation.

    `pos_fidelity` and `neg_fidelity` are the two numbers of `torch_geometric.explain.metric.fidelity`, and
    `unfaithfulness` is that of the same module: of the explanations' masks as they are, soft or hard, on the whole
    graph. For its hard masks of five edges, give it `explanation.threshold("topk_hard", 5)`.

    Parameters
    ----------
    explainer
        The `torch_geometric.explain.Explainer` that made them.
    explanations
        What it returned.

    Returns
    -------
    dict of numpy.ndarray
        By name, one value per explanation.

    Raises
    ------
    MissingExtraError
        If torch_geometric is not installed.

    Examples
    --------
    >>> import torch
    >>> from graphgauge import explanation
    >>> from torch_geometric.explain import DummyExplainer, Explainer
    >>> from torch_geometric.nn import GCNConv
    >>> config = dict(mode="multiclass_classification", task_level="node", return_type="raw")
    >>> explainer = Explainer(
    ...     GCNConv(3, 2), DummyExplainer(), explanation_type="model", edge_mask_type="object", model_config=config
    ... )
    >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> said = [explainer(torch.eye(3), edges, index=node) for node in range(3)]
    >>> explanation.pyg_metrics(explainer, said)["pos_fidelity"].shape
    (3,)
    """
    metric = need("torch_geometric.explain.metric", "its metrics of explanations")
    rows = [[*metric.fidelity(explainer, each), metric.unfaithfulness(explainer, each)] for each in explanations]
    _forget_masks(explainer.model)
    columns = np.array(rows, np.float64).reshape(-1, 3).T
    return dict(zip(("pos_fidelity", "neg_fidelity", "unfaithfulness"), columns, strict=True))


# ---- what to explain


def _require_model(model: Any) -> None:
    if not isinstance(model, PyGModel):
        fix = 'Wrap the module and its data: PyGModel(module, data, task="node").'
        raise InputError(f"expected a PyGModel, found {type(model).__name__}", where="model", fix=fix)


def _targets(model: PyGModel, index: Any) -> list[int]:
    """The numbers of nodes, columns of `edge_label_index` or graphs."""
    count = _pairs(model).shape[1] if model.task == "edge" else model.targets
    return list(range(count)) if index is None else _numbered(index, count, "index").tolist()


def _pairs(model: PyGModel) -> Any:
    pairs = getattr(model.data, "edge_label_index", None)
    if pairs is None:
        raise InputError("have no edge_label_index", where="data", fix="Give them the pairs to explain.")
    return pairs


def _arguments(model: PyGModel, target: int) -> tuple[Any, Any, dict[str, Any]]:
    """Features, edges and further arguments that an explainer passes on to the module."""
    graph = model.graph if model.task != "graph" else model.whole(target).graph
    given = model.named({**graph.by_node, **graph.by_edge})
    if model.task == "graph":
        given |= model.named({"batch": graph.repeated(1)[1]["batch"]})
    else:
        given["index"] = target
    if model.task == "edge":
        given["edge_label_index"] = _pairs(model)
    x, edge_index = graph.by_node["x"], graph.edge_index
    return x.get(None, x), edge_index.get(None, edge_index), given


def _labels(model: PyGModel, target: int) -> Any:
    """The true classes, which an explanation of a phenomenon is about."""
    typed = model.graph.typed and model.task == "node"
    classes = model.data[model.types[0]].get("y") if typed else getattr(model.data, "y", None)
    if classes is None:
        fix = "Store the classes, or the module's predictions, as y."
        raise InputError("have no y, which explains a phenomenon", where="data", fix=fix)
    return classes[target : target + 1] if model.task == "graph" else classes


# ---- what was explained


def _explained(explanation: Any, model: PyGModel, target: Any) -> tuple[Any, int]:
    """The target in the model's terms, and the row of its answer."""
    known = _listed(getattr(explanation, "index", None))
    index = known if target is None else _listed(target)
    index = index[0] if isinstance(index, list) and len(index) == 1 else index
    pairs = getattr(explanation, "edge_label_index", None) if model.task == "edge" else None
    pairs = None if pairs is None else whole_numbers(pairs, "edge_label_index").reshape(2, -1)
    if model.task == "edge" and target is not None and np.size(index) == 2:
        pair = model.checked_target(index)
        columns: Any = [] if pairs is None else np.flatnonzero((pairs == np.array(pair)[:, np.newaxis]).all(axis=0))
        return pair, int(columns[0]) if len(columns) else 0
    if model.task == "edge" and pairs is None:
        raise InputError("has no edge_label_index", where="explanation", fix="Give the two nodes as target=.")
    count = model.targets if pairs is None else pairs.shape[1]
    if isinstance(index, list) or (index is None and count != 1):
        what = f"{count if index is None else len(index)} {model.task}s were explained at once"
        if index is None and model.task == "graph":
            what = f"which of {count} graphs was explained is not known"
        fix = "Choose one with target=; call from_pyg for each of several."
        raise InputError(what, where="target", fix=fix)
    place = checked_number(0 if index is None else index, count, model.task)
    if known is not None and place not in np.atleast_1d(known):
        what = f"{model.task} {place} was not explained: the explanation's index is {known}"
        raise InputError(what, where="target", fix="Leave target= out, or name one that was explained.")
    return (place if pairs is None else model.checked_target(pairs[:, place])), place


def _listed(index: Any) -> Any:
    """An index as numbers in a list, or one number; what is neither tensor nor array is left as it is."""
    if not is_tensor(index) and not isinstance(index, np.ndarray | np.generic):
        return index
    numbers = as_numeric(index, "index")
    return (np.flatnonzero(numbers) if numbers.ndim and numbers.dtype.kind == "b" else numbers).tolist()


def _event(model: PyGModel, target: Any) -> str | int | None:
    """The target as an id: the number of a node or a graph, or the two nodes of a pair; None for the only graph."""
    if model.task == "graph":
        return None if model.targets == 1 else int(target)
    names = [model.graph.names(np.array([node]))[0] for node in model.ends(target)]
    return names[0].item() if model.task == "node" else "-".join(map(str, names))


def _explained_part(explanation: Any, model: PyGModel, target: Any) -> Part:
    """The data that have the explanation's edges: all, or one graph of several."""
    edges = {kind: whole_numbers(each, "edge_index") for kind, each in _by_type(explanation, "edge_index").items()}
    for part in (model.everything, model.whole(target)):
        ours = part.graph.edge_index
        if all(np.array_equal(edges.get(kind, []), whole_numbers(each, "")) for kind, each in ours.items()):
            return part
    fix = "Pass PyGModel the data that were explained."
    raise InputError("the edges are not those of the model's data", where="explanation", fix=fix)


def _require_same_answer(prediction: AnyArray, model: PyGModel, target: Any, place: int) -> None:
    """Refuse another answer than the one that was explained, a row of the recorded ones."""
    rows = prediction.reshape(len(prediction), -1) if prediction.ndim else prediction.reshape(1, 1)
    explained, answer = _row(rows, place, "prediction"), model.whole_answer(target)
    if not same(explained, answer, _RECORDED):
        raise InputError(
            f"{model.module_name} answers {_shown(answer)} on the whole graph, but {_shown(explained)} was explained",
            where="prediction",
            fix="Pass the module that was explained, and data with its other inputs under their argument names. "
            "Dropout has to stop in evaluation mode.",
        )


def _true_class(explanation: Any, prediction: Any, place: int) -> int | None:
    """The true class, if that was explained (a phenomenon); torch_geometric then records no prediction."""
    target = getattr(explanation, "target", None)
    if prediction is not None or target is None:
        return None
    return int(_row(whole_numbers(target, "target").reshape(-1), place, "target"))


def _row(values: AnyArray, place: int, name: str) -> Any:
    """The target's row of what an explanation has recorded; of one target, there may be only one."""
    place = 0 if len(values) == 1 else place
    if place >= len(values):
        raise InputError(f"{len(values)} rows, but the target is row {place}", where=name)
    return values[place]


# ---- masks and other values


def _by_type(explanation: Any, name: str) -> dict[Any, Any]:
    """The values of an explanation under a name, by type."""
    if is_typed(explanation):
        return {kind: each for kind, each in explanation.collect(name, allow_empty=True).items() if each is not None}
    return {} if explanation.get(name) is None else {None: explanation.get(name)}


def _ranked(explanation: Any, graph: Graph, masked: str | None) -> tuple[str, AnyArray]:
    """What the masks of an explanation rank, and one number for each; masks of entries are added up."""
    edges, nodes = (_by_type(explanation, name) for name in ("edge_mask", "node_mask"))
    if not edges and not nodes:
        fix = "Let the explainer mask edges (edge_mask_type=) or nodes (node_mask_type=)."
        raise InputError("has neither edge_mask nor node_mask", where="explanation", fix=fix)
    entries = {kind: as_numeric(mask, "node_mask").astype(np.float64) for kind, mask in nodes.items()}
    one_column = all(mask.ndim == 1 or mask.shape[1] == 1 for mask in entries.values())
    masked = masked or (EDGES if edges else NODES if one_column else FEATURES)
    name = "edge_mask" if masked == EDGES else "node_mask"
    if not (edges if masked == EDGES else nodes):
        fix = f"Let the explainer mask them ({name}_type=)."
        raise InputError(f"has no {name}, which ranks {masked}", where="explanation", fix=fix)
    values = edges
    if masked != EDGES:
        values = {kind: _summed(mask, graph.nodes[kind], graph.columns[kind], masked) for kind, mask in entries.items()}
    return masked, _joined(values, graph.sizes(masked), name, SINGULAR[masked])


def _summed(mask: AnyArray, rows: int, columns: int, masked: str) -> AnyArray:
    """A node mask (rows or 1, columns or 1), added up for each node or each feature."""
    mask = mask.reshape(len(mask), -1)
    if len(mask) not in (1, rows) or mask.shape[1] not in (1, columns):
        raise InputError(f"shape {mask.shape} for node features of shape {(rows, columns)}", where="node_mask")
    axis = 1 if masked == NODES else 0
    if mask.shape[1 - axis] < (rows, columns)[1 - axis]:
        what = f"node_mask has shape {mask.shape} and does not rank {masked}"
        raise InputError(what, where="explanation", fix="See node_mask_type of the Explainer.")
    return np.asarray(mask.sum(axis=axis))


def _values_of(value: Any, graph: Graph, masked: str, what: str) -> AnyArray:
    """Values for everything that can be masked, or rows of them; dictionaries by type are joined."""
    sizes, one = graph.sizes(masked), SINGULAR[masked]
    if not isinstance(value, Mapping):
        return lined_up(value, sum(sizes.values()), what, one, rows=True)
    if not graph.typed:
        raise InputError("expected an array, found a dictionary", where=what)
    kinds = {_type_name(kind): kind for kind in sizes}
    by_type = {kinds[one_of(f"type in {what}", _type_name(k), kinds)]: v for k, v in value.items()}
    return _joined(by_type, sizes, what, one)


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


def _numbered(given: Any, count: int, what: str) -> Ints:
    """What is chosen of `count` things, from numbers or from a mask over all of them."""
    array = np.atleast_1d(as_numeric(given, what))
    if array.dtype.kind == "b":
        return np.flatnonzero(lined_up(array, count, what, what))
    numbers = whole_numbers(array, what)
    if numbers.ndim != 1 or len(np.unique(numbers)) < len(numbers) or not np.isin(numbers, np.arange(count)).all():
        fix = "A mask is an array of booleans."
        raise InputError(f"expected different numbers below {count}, or a mask", where=what, fix=fix)
    return numbers


def _subgraph(graph: Graph, numbers: Ints, masked: str, units: Any) -> Subgraph:
    """The candidates, with the nodes at their ends as ids."""
    if masked == "edges":
        ends = np.stack([row[numbers] for row in graph.ends])
        nodes, rows = np.unique(ends, return_inverse=True)
        return Subgraph(rows.reshape(ends.shape), graph.names(nodes), units=units, ids=numbers)
    chosen = {"nodes": graph.names(numbers)} if masked == "nodes" else {"candidates": numbers}
    return Subgraph(np.empty((2, 0), np.int64), **chosen, units=units, ids=numbers, masked=masked)


def _forget_masks(module: Any) -> None:
    """Take away the parameters that GNNExplainer leaves in layers: they hide the masks of Captum's explainers."""
    for layer in message_layers(module):
        if hasattr(layer, "_edge_mask"):
            del layer._edge_mask
            layer._edge_mask = None


def _shown(values: AnyArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:4]) + (", …" if len(values) > 4 else "")
