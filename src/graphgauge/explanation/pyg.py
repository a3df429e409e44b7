"""Explanations of PyTorch Geometric: their masks over what can affect the answer, and that library's own metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_numeric, is_tensor
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.extras import need
from graphgauge.explanation.inputs import (
    EDGES,
    ENTRIES,
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
from graphgauge.explanation.pyg_graph import Graph, is_typed
from graphgauge.explanation.pyg_model import PyGModel, message_layers


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
        What is ranked and masked: `edges` by the edge mask; `nodes`, `features` (columns) or single `entries` of the
        node features by the node mask. By default edges, or what the shape of the node mask says if there is no edge
        mask. Masks of entries are added up for nodes and features.
    candidates
        The edges (nodes, features) that can be masked, as booleans or as numbers, to override this choice.
    truth, units
        One value per edge of the graph, or per node, feature or entry that is masked; those of the candidates are
        kept. In a heterogeneous graph, dictionaries by type. Several rows are several accepted truths. By default the
        two directions of a pair are one unit in a graph of one type; `units="edges"` masks them separately.
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
    if not isinstance(model, PyGModel):
        raise InputError(
            f"expected a PyGModel, found {type(model).__name__}",
            where="model",
            fix='Wrap the module and its data: PyGModel(module, data, task="node").',
        )
    if not callable(getattr(explanation, "get", None)) and not is_typed(explanation):
        raise InputError(
            f"expected a torch_geometric Explanation, found {type(explanation).__name__}", where="explanation"
        )
    _require_level(explanation, model)
    target, place = _explained(explanation, model, target)
    graph, own = model.graph(target), None if model.own is None else model.own[target]
    _require_same_graph(explanation, graph, own)
    prediction = _of_whole(explanation, "prediction")
    if prediction is not None:
        model.refuse_other(prediction, target, place)
    masks = {name: _mask(explanation, name, graph, own) for name in ("edge_mask", "node_mask")}
    masked = _usual(masks) if masked is None else one_of("masked", masked, MASKED)
    importance = _importance(masks, masked, graph)
    sizes = _sizes(graph, masked)
    numbers = model.candidates(target, masked)
    if candidates is not None:
        numbers = _numbered(candidates, len(importance), f"candidate {SINGULAR[masked]}")
    if isinstance(units, str):
        one_of("units", units, (EDGES,))
    elif units is not None:
        units = _lined_up(units, sizes, "units", SINGULAR[masked])[numbers]
    if units is None and graph.typed:
        units = EDGES  # the two directions of a relation have different types
    right = None if truth is None else _lined_up(truth, sizes, "truth", SINGULAR[masked])[..., numbers]
    subgraph = _subgraph(graph, numbers, masked, units)
    event = _event(model, target) if event is None else event
    context = Context(subgraph, target, event, _true_class(explanation, prediction, place), right)
    return Explanation(context, importance[numbers], explainer, elapsed, seed)


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
    found = []
    for target in _targets(model, index):
        x, edge_index, given = _arguments(model, target)
        right = truth(target) if callable(truth) else truth
        for name, explainer in named.items():
            wanted = {"target": _labels(model, target)} if "phenomenon" in str(explainer.explanation_type) else {}
            start = perf_counter()
            said = explainer(x, edge_index, **given, **wanted)
            seconds = perf_counter() - start
            _forget_masks(explainer.model)
            found.append(
                from_pyg(
                    said,
                    model,
                    explainer=name,
                    target=target,
                    masked=masked,
                    units=units,
                    truth=right,
                    seed=seed,
                    elapsed=seconds,
                )
            )
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
    columns = np.array(rows, np.float64).reshape(-1, 3).T
    return dict(zip(("pos_fidelity", "neg_fidelity", "unfaithfulness"), columns, strict=True))


# ---- what to explain


def _targets(model: PyGModel, index: Any) -> list[int]:
    """The numbers of nodes, columns of `edge_label_index` or graphs."""
    count = _pairs(model).shape[1] if model.task == "edge" else model.targets
    return list(range(count)) if index is None else _numbered(index, count, "index").tolist()


def _pairs(model: PyGModel) -> Any:
    pairs = _of_whole(model.data, "edge_label_index")
    if pairs is None:
        raise InputError("have no edge_label_index", where="data", fix="Give them the pairs to explain.")
    return pairs


def _arguments(model: PyGModel, target: int) -> tuple[Any, Any, dict[str, Any]]:
    """Features, edges and further arguments that an explainer passes on to the module."""
    graph = model.graph(target)
    inputs = {**graph.by_node, **graph.by_edge}
    if model.task == "graph":
        inputs["batch"] = graph.repeated(1, None)[1]["batch"]
    given = model.named(inputs) | graph.by_graph
    if model.task != "graph":
        given["index"] = target
    if model.task == "edge":
        given["edge_label_index"] = _pairs(model)
    x, edge_index = graph.by_node["x"], graph.edge_index
    return (x, edge_index, given) if graph.typed else (x[None], edge_index[None], given)


def _labels(model: PyGModel, target: int) -> Any:
    """The true classes, which an explanation of a phenomenon is about."""
    data = model.data[target] if isinstance(model.data, list | tuple) else model.data
    typed = is_typed(data) and model.task == "node"
    classes = data[model.types[0]].get("y") if typed else _of_whole(data, "y")
    if classes is None:
        raise InputError(
            "have no y, which explains a phenomenon",
            where="data",
            fix="Store the classes, or the module's predictions, as y.",
        )
    return classes if model.own is None else classes[target : target + 1]


# ---- what was explained


def _of_whole(explanation: Any, name: str) -> Any:
    """A value that belongs to the whole explanation, not to a type; None if it is missing."""
    if not is_typed(explanation):
        return explanation.get(name)
    try:
        found = getattr(explanation, name)
    except (AttributeError, KeyError):
        return None
    return None if callable(found) else found


def _require_level(explanation: Any, model: PyGModel) -> None:
    level = getattr(getattr(explanation, "_model_config", None), "task_level", None)
    told = None if level is None else str(getattr(level, "value", level))
    if told is not None and told != model.task:
        raise InputError(
            f"explains a {told}-level model, but PyGModel has task={model.task!r}",
            where="explanation",
            fix=f'Pass PyGModel(module, data, task="{told}").',
        )


def _explained(explanation: Any, model: PyGModel, target: Any) -> tuple[Any, int]:
    """The target in the model's terms, and the row of its answer."""
    index = _of_whole(explanation, "index") if target is None else target
    index = index.tolist() if is_tensor(index) or isinstance(index, np.ndarray | np.generic) else index
    index = index[0] if isinstance(index, list) and len(index) == 1 else index
    if model.task == "edge":
        return _pair(explanation, model, index)
    if isinstance(index, list) or (index is None and model.targets != 1):
        many = model.targets if index is None else len(index)
        raise InputError(
            f"{many} {model.task}s were explained at once, or it is not said which",
            where="target",
            fix="Choose one with target=; call from_pyg for each of several.",
        )
    target = model.checked_target(index)
    return target, target


def _pair(explanation: Any, model: PyGModel, index: Any) -> tuple[list[int], int]:
    """The nodes of an edge-level target, given directly or as a column of `edge_label_index`."""
    if isinstance(index, list | tuple) and len(index) == 2:
        return model.checked_target(index), 0
    listed = _of_whole(explanation, "edge_label_index")
    if listed is None:
        raise InputError("has no edge_label_index", where="explanation", fix="Give the two nodes as target=.")
    pairs = whole_numbers(listed, "edge_label_index")
    place = 0 if index is None and pairs.shape[1] == 1 else index
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < pairs.shape[1]:
        raise InputError(
            f"expected one of {pairs.shape[1]} pairs, found {place!r:.60}",
            where="target",
            fix="Choose one with target=; call from_pyg for each of several.",
        )
    return model.checked_target(pairs[:, place]), place


def _event(model: PyGModel, target: Any) -> str | int | None:
    """The target as an id: the number of a node or a graph, or the two nodes of a pair; None for the only graph."""
    if model.task == "graph":
        return None if model.targets == 1 else int(target)
    names = model.graph(target).names(np.array(model.ends(target)))
    return names[0].item() if model.task == "node" else "-".join(map(str, names))


def _require_same_graph(explanation: Any, graph: Graph, own: tuple[Ints, Ints] | None) -> None:
    for kind in graph.edge_index:
        store = explanation if kind is None else explanation[kind]
        edges = whole_numbers(store.get("edge_index"), "edge_index")
        ours = whole_numbers(graph.edge_index[kind], "edge_index")
        if own is not None and edges.ndim == 2 and edges.shape[1] != ours.shape[1]:
            edges = np.searchsorted(own[0], edges[:, own[1]])
        if not np.array_equal(edges, ours):
            of = "" if kind is None else f" of {'__'.join(kind)}"
            raise InputError(
                f"the edges{of} are not those of the model's data",
                where="explanation",
                fix="Pass PyGModel the data that were explained.",
            )


def _true_class(explanation: Any, prediction: Any, place: int) -> int | None:
    """The true class, if that was explained (a phenomenon); torch_geometric then records no prediction."""
    target = _of_whole(explanation, "target")
    if prediction is not None or target is None:
        return None
    labels = whole_numbers(target, "target").reshape(-1)
    place = 0 if len(labels) == 1 else place
    if place >= len(labels):
        raise InputError(f"{len(labels)} labels, but the target is row {place}", where="target")
    return int(labels[place])


# ---- importances


def _mask(explanation: Any, name: str, graph: Graph, own: tuple[Ints, Ints] | None) -> dict[Any, AnyArray] | None:
    """A mask by type: one value per edge, or (nodes or 1, columns or 1); 0 for types that it leaves out."""
    if graph.typed:
        given = explanation.collect(name, allow_empty=True)
    else:
        given = {} if explanation.get(name) is None else {None: explanation.get(name)}
    if not given:
        return None
    found = {}
    for kind, count in graph.edges.items() if name == "edge_mask" else graph.shapes.items():
        size = count if isinstance(count, tuple) else (count,)
        mask = as_numeric(given[kind], name).astype(np.float64) if kind in given else np.zeros(size)
        if name == "node_mask":
            mask = mask.reshape(len(mask), -1)
        if own is not None and len(mask) not in (1, size[0]):
            mask = mask[own[name == "edge_mask"]]
        allowed = all(length in (1, most) for length, most in zip(mask.shape, size, strict=True))
        if name == "edge_mask" and mask.shape != size:
            raise InputError(f"shape {mask.shape} for {count} edges", where=name, fix="Give one number per edge.")
        if not allowed:
            raise InputError(f"shape {mask.shape} for node features of shape {size}", where=name)
        found[kind] = mask
    return found


def _usual(masks: Mapping[str, dict[Any, AnyArray] | None]) -> str:
    """What the masks are about: edges, or by the shape of the node mask."""
    nodes = masks["node_mask"]
    if masks["edge_mask"] is not None or nodes is None:
        return EDGES
    if all(mask.shape[1] == 1 for mask in nodes.values()):
        return NODES
    return FEATURES if all(len(mask) == 1 for mask in nodes.values()) else ENTRIES


def _importance(masks: Mapping[str, dict[Any, AnyArray] | None], masked: str, graph: Graph) -> AnyArray:
    """One number per edge, node, feature or entry of the whole graph; entries are added up for the others."""
    name = "edge_mask" if masked == EDGES else "node_mask"
    found = masks[name]
    if found is None:
        both = masks["edge_mask"] is None and masks["node_mask"] is None
        raise InputError(
            "has neither edge_mask nor node_mask" if both else f"has no {name}, which ranks {masked}",
            where="explanation",
            fix=f"Let the explainer mask {masked if both else name.partition('_')[0] + 's'} ({name}_type=).",
        )
    if masked == EDGES:
        return np.concatenate([*found.values()])
    values = [np.zeros(0)]
    for kind, count in graph.nodes.items():
        if kind not in found:
            values += [np.zeros(count)] if masked == NODES else []
            continue
        mask, (rows, columns) = found[kind], graph.shapes[kind]
        short = (masked != FEATURES and len(mask) < rows) or (masked != NODES and mask.shape[1] < columns)
        if short:
            raise InputError(
                f"node_mask has shape {mask.shape} and does not rank {masked}",
                where="explanation",
                fix="See node_mask_type of the Explainer.",
            )
        values.append(mask.reshape(-1) if masked == ENTRIES else mask.sum(axis=1 if masked == NODES else 0))
    return np.concatenate(values)


def _sizes(graph: Graph, masked: str) -> dict[Any, int]:
    """How many edges, nodes, features or entries each type has."""
    if masked in (EDGES, NODES):
        return graph.edges if masked == EDGES else graph.nodes
    return {kind: columns * (rows if masked == ENTRIES else 1) for kind, (rows, columns) in graph.shapes.items()}


def _lined_up(value: Any, sizes: dict[Any, int], what: str, one: str) -> AnyArray:
    """Values for everything that can be masked, or rows of them; dictionaries by type are joined, 0 where missing."""
    if not isinstance(value, Mapping):
        array = np.asarray(value) if not is_tensor(value) else as_numeric(value, what)
        flat = array.reshape(-1) if array.ndim == 2 and array.size == sum(sizes.values()) else array
        return lined_up(flat, sum(sizes.values()), what, one, rows=True)
    if None in sizes:
        raise InputError("expected an array, found a dictionary", where=what)
    named = {_type_name(kind): each for kind, each in value.items()}
    for kind in named:
        one_of(f"type in {what}", kind, [_type_name(each) for each in sizes])
    parts = [
        lined_up(named.get(_type_name(kind), np.zeros(size)), size, f"{what} of {_type_name(kind)}", one, rows=True)
        for kind, size in sizes.items()
    ]
    rows = max(len(np.atleast_2d(part)) for part in parts)
    joined = np.concatenate([np.broadcast_to(part, (rows, part.shape[-1])) for part in parts], axis=1)
    return joined if any(part.ndim == 2 for part in parts) else joined[0]


def _numbered(given: Any, count: int, what: str) -> Ints:
    """What is chosen of `count` things, from numbers or from a mask over all of them, in rising order."""
    array = np.atleast_1d(as_numeric(given, what))
    if array.dtype.kind == "b":
        return np.flatnonzero(lined_up(array, count, what, what))
    numbers = whole_numbers(array, what)
    if numbers.ndim != 1:
        raise InputError(f"expected a list of numbers or a mask, found shape {numbers.shape}", where=what)
    wrong = numbers[(numbers < 0) | (numbers >= count)]
    if wrong.size:
        raise InputError(f"there is no number {wrong[0]} among {count}", where=what)
    if len(np.unique(numbers)) < len(numbers):
        raise InputError("a number is listed twice", where=what, fix="A mask is an array of booleans.")
    return numbers


def _subgraph(graph: Graph, numbers: Ints, masked: str, units: Any) -> Subgraph:
    """The candidates, with the nodes at their ends as ids."""
    if masked in (FEATURES, ENTRIES):
        return Subgraph(np.empty((2, 0), np.int64), None, None, numbers, units, numbers, masked)
    if masked == NODES:
        return Subgraph(np.empty((2, 0), np.int64), graph.names(numbers), None, None, units, numbers, masked)
    ends = np.stack([row[numbers] for row in graph.ends])
    nodes, rows = np.unique(ends, return_inverse=True)
    return Subgraph(rows.reshape(ends.shape), graph.names(nodes), None, None, units, numbers)


def _forget_masks(module: Any) -> None:
    """Take away the parameters that GNNExplainer leaves in layers: they hide the masks of Captum's explainers."""
    for layer in message_layers(module):
        if hasattr(layer, "_edge_mask"):
            del layer._edge_mask
            layer._edge_mask = None


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else "__".join(kind)
