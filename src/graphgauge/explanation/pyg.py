"""Explanations of PyTorch Geometric, cut to the part of the graph that the answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.explanation.fields import lined_up, whole_numbers, within
from graphgauge.explanation.inputs import EDGES, MASKED, SINGULAR, Context, Explanation, OwnAnswers
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS, seeded
from graphgauge.explanation.pyg_masks import Importances, complement, mask_of, module_arguments
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.pyg_question import (
    Part,
    Question,
    attribute,
    explanation_value,
    is_heterogeneous,
)


def from_pyg(
    explanation: Any,
    model: PyGModel | None = None,
    *,
    explainer: str = "explainer",
    event: str | int | None = None,
    target: Any = None,
    target_type: str | Sequence[str] | None = None,
    truth: Any = None,
    elapsed: float | None = None,
    seed: int | None = None,
    masked: str | None = None,
    num_hops: int | None = None,
    candidates: Any = None,
    units: Any = None,
    topk: Sequence[int] | int = (),
    random: int = 3,
) -> Explanation:
    """An `Explanation` from a `torch_geometric.explain.Explanation` or `HeteroExplanation`.

    Edges are ranked by the edge mask, nodes and features by the node mask (`masked`). With `model`, the module is also
    asked under the masks themselves, soft or hard, as torch_geometric applies them, for `convention="pyg"`.

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
        The node, the pair or the graph that was explained; by default the explanation's `index`. If several were
        explained at once, one of them: call it for each.
    target_type
        In a heterogeneous graph, the type of the explained node; by default the only one with as many nodes as the
        module has answers. For a pair, the types of both nodes.
    masked
        What is ranked and masked: `edges` by the edge mask; `nodes`, `features` (columns) or single `entries` of the
        node features by the node mask. By default edges, or what the shape of the node mask says if there is no edge
        mask. Masks of entries are added up for nodes and features. Only nodes that can send a message to the target,
        and features that are not 0 there, are candidates.
    truth, units
        One value per edge of the explanation, or per node, feature or entry that is masked; those of the candidates are
        kept. In a heterogeneous graph, dictionaries by type. Several rows are several accepted truths. `units="edges"`
        masks the two directions of a pair separately.
    num_hops
        Candidates are the edges on paths of at most this many edges to the target. By default they are the edges that
        can carry a message to it: as many hops as `model` has message-passing layers, and more only if messages arrive
        from further. Edges beyond that change the answer only through degrees; they are kept in every mask. For a
        whole graph, all edges are candidates.
    candidates
        The edges (nodes, features) that can be masked, as booleans or as numbers, to override this choice.
    topk
        Sizes to which the masks are also cut, as torch_geometric's `threshold("topk_hard", k)` cuts them: the k largest
        entries of the whole graph. `convention="pyg"` then has `pos_fidelity@k=5` and the area of the curve.
    random
        With an edge mask alone, the module is also asked under this many random masks: the values of the candidates in
        a random order, or `topk` random candidates. They are the random explainer of `convention="pyg"`; 0 for none.
    explanation
        The object that an explainer of torch_geometric returned.
    explainer
        The explainer's name.
    elapsed
        Seconds that it took.
    seed
        The explainer's seed, if it draws random numbers.

    Returns
    -------
    Explanation
        For `collect`, `evaluate` and `write_explanations`.

    Raises
    ------
    InputError
        If the explanation has no mask, or an input cannot be cut to a part of the graph.

    Examples
    --------
    >>> import torch
    >>> from graphgauge import explanation
    >>> from torch_geometric.explain import Explanation
    >>> theirs = Explanation(
    ...     x=torch.eye(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), edge_mask=torch.tensor([0.9, 0.2, 0.1])
    ... )
    >>> explanation.from_pyg(theirs, explainer="gradient", target=0, num_hops=2).explainer
    'gradient'
    """
    if model is not None and not isinstance(model, PyGModel):
        raise InputError(
            f"expected a PyGModel, found {type(model).__name__}",
            where="model",
            fix='Wrap the module: PyGModel(module, task="node").',
        )
    question = Question.of(explanation, model, target, target_type)
    said = Importances.of(explanation, question)
    masked = said.usual if masked is None else one_of("masked", masked, MASKED)
    importance = said.of_kind(masked)
    if model is not None:
        question.refuse_other_prediction(explanation_value(explanation, "prediction"), model)
    chosen = _chosen(candidates, len(importance), masked)
    part = _part(question, model, num_hops, chosen if masked == EDGES else None)
    numbers, local = (part.candidates, None) if masked == EDGES else question.maskable(part, masked, chosen)
    flags = None if truth is None else question.lined(truth, "truth", masked)[..., numbers]
    named = question.event if event is None else event
    label = _phenomenon(explanation, question)
    if masked == EDGES:
        units = np.arange(question.edges) if isinstance(units, str) and one_of("units", units, (EDGES,)) else units
        grouped = None if units is None else question.lined(units, "units", masked)
        subgraph = question.cut(part, grouped)
    else:
        grouped = None if units is None else question.lined(units, "units", masked)[numbers]
        subgraph = question.cut(part, grouped, masked, local, len(importance))
    context = Context(subgraph, question.relabelled(part), named, label, flags)
    answers: tuple[OwnAnswers, ...] = ()
    own = own_rows(explanation, model, topk)
    if own.fits(question):
        answers = own.of(question.place, label)
        if masked == EDGES:
            draw = seeded(named if named is not None else question.place, 0, "own masks")
            tries = whole_number("random", random, 0)
            answers += own.at_random(numbers, tries, draw, question.place, label)
    return Explanation(context, importance[numbers], explainer, elapsed, seed, answers)


def explain_pyg(
    explainers: Any,
    data: Any,
    index: Any = None,
    *,
    model: PyGModel | None = None,
    truth: Any = None,
    topk: Sequence[int] | int = (),
    masked: str | None = None,
    target_type: str | Sequence[str] | None = None,
    units: Any = None,
    random: int = 3,
    **inputs: Any,
) -> list[Explanation]:
    """Run explainers of torch_geometric on nodes, pairs or graphs, and collect their explanations with their times.

    Parameters
    ----------
    explainers
        A `torch_geometric.explain.Explainer`, or a dictionary of them by name.
    data
        A `Data` or `HeteroData` object, for targets in one graph; for graph-level tasks a list of them, or one. Its
        `edge_weight`, `edge_attr`, `batch` and `edge_label_index` are passed to the module if it names them.
    index
        The nodes or pairs to explain; by default all graphs of a list, or all nodes.
    model
        The explained module; by default `PyGModel.of` the first explainer.
    truth
        One value per edge, or a function of the target that gives them. See `from_pyg`.
    masked, target_type, units, random
        See `from_pyg`.
    inputs
        Further arguments of the module, passed to the explainer.
    topk
        Sizes to which the masks are also cut; see `from_pyg`.

    Returns
    -------
    list of Explanation
        One for each explainer and target, with its running time.

    Raises
    ------
    MissingExtraError
        If torch_geometric is not installed.
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
    >>> found = explanation.explain_pyg({"dummy": explainer}, data, index=[0])
    >>> len(found), found[0].explainer
    (1, 'dummy')
    """
    named = explainers if isinstance(explainers, Mapping) else {type(explainers.algorithm).__name__: explainers}
    first = next(iter(named.values()), None)
    if first is None:
        raise InputError("no explainer", where="explainers")
    model = PyGModel.of(first) if model is None else model
    graphs = list(data) if isinstance(data, Sequence) else [data]
    found = []
    for number, graph in enumerate(graphs):
        x, edge_index, given = _arguments(graph, model)
        given |= inputs
        for target in _targets(model, graph, index, len(graphs) > 1, given, target_type):
            place = {} if target is None else {"index": target}
            right = truth(number if target is None else target) if callable(truth) else truth
            event = number if len(graphs) > 1 or target is None else None
            for name, explainer in named.items():
                wanted = {}
                if "phenomenon" in str(explainer.explanation_type):
                    wanted["target"] = _labels(graph, target_type)
                start = perf_counter()
                said = explainer(x, edge_index, **given, **place, **wanted)
                seconds = perf_counter() - start
                one = from_pyg(
                    said,
                    model,
                    explainer=name,
                    event=event,
                    truth=right,
                    elapsed=seconds,
                    masked=masked,
                    target_type=target_type,
                    units=units,
                    topk=topk,
                    random=random,
                )
                found.append(one)
    return found


_PASSED = ("edge_weight", "edge_attr", "batch", "edge_label_index")


def _arguments(graph: Any, model: PyGModel) -> tuple[Any, Any, dict[str, Any]]:
    """Features, edges and further arguments of the module, as a data object has them."""
    if not is_heterogeneous(graph):
        return graph.x, graph.edge_index, {name: graph[name] for name in _PASSED if name in graph and model.names(name)}
    given = {}
    for name in _PASSED:
        argument = f"{name}_dict" if model.names(f"{name}_dict") else name
        if not model.names(argument):
            continue
        value = graph.collect(name, allow_empty=True) if argument != "edge_label_index" else attribute(graph, name)
        if value is not None and len(value):
            given[argument] = value
    return graph.collect("x"), graph.collect("edge_index"), given


def _labels(graph: Any, target_type: Any) -> Any:
    """The true classes, which an explanation of a phenomenon is about."""
    own = attribute(graph, "y")
    if own is None and isinstance(target_type, str) and is_heterogeneous(graph):
        own = graph[target_type].get("y")
    if own is None:
        raise InputError(
            "has no y, which explains a phenomenon",
            where="data",
            fix="Store the classes, or the module's predictions, as y.",
        )
    return own


def _targets(
    model: PyGModel, graph: Any, index: Any, several: bool, given: Mapping[str, Any], target_type: Any
) -> list[Any]:
    if index is not None:
        if several:
            raise OptionError("index names targets in one graph, but data are several", fix="Leave out index.")
        return _numbered(index)
    if model.task == "graph":
        return [None]
    if model.task == "edge" and "edge_label_index" in given:
        return list(range(given["edge_label_index"].shape[1]))
    if not is_heterogeneous(graph):
        return list(range(int(graph.num_nodes)))
    if target_type is None:
        raise OptionError("cannot determine which nodes to explain", fix="Pass index= and target_type=.")
    return list(range(int(graph[target_type].num_nodes)))


def _numbered(index: Any) -> list[int]:
    """The targets to explain, from numbers or from a mask over all nodes, pairs or graphs."""
    given = np.atleast_1d(as_numeric(index, "index"))
    given = np.flatnonzero(given) if given.dtype.kind == "b" and given.ndim == 1 else given
    numbers = whole_numbers(given, "index")
    if numbers.ndim != 1 or len(np.unique(numbers)) < len(numbers) or (numbers < 0).any():
        raise InputError(
            "expected a list of different numbers, or a mask",
            where="index",
            fix="Number the nodes, or the pairs of edge_label_index.",
        )
    return [int(each) for each in numbers]


def _phenomenon(explanation: Any, question: Question) -> int | None:
    """The true class, if that was explained; torch_geometric then records no prediction."""
    target = explanation_value(explanation, "target")
    if explanation_value(explanation, "prediction") is not None or target is None:
        return None
    labels = whole_numbers(target, "target").reshape(-1)
    place = 0 if len(labels) == 1 else question.place
    if place >= len(labels):
        raise InputError(f"{len(labels)} labels, but the target is row {place}", where="target")
    return int(labels[place])


@dataclass(frozen=True)
class OwnRows:
    """The module's answers under an explanation's masks: for each size, (3, rows of the output, C)."""

    model_output: str
    rows: Mapping[str, Any]
    # The edge masks, if there are no others, and the module under one.
    masks: Mapping[str, Any] = field(default_factory=dict)
    answer: Callable[[Any], Any] | None = None

    def at_random(
        self,
        candidates: Ints,
        tries: int,
        draw: np.random.Generator,
        place: int,
        label: int | None,
    ) -> tuple[OwnAnswers, ...]:
        """The answers under random masks of the same candidates."""
        found = []
        for name, mask in self.masks.items():
            for number in range(tries):
                assert self.answer is not None
                other = _shuffled_mask(mask, name, candidates, draw)
                rows = np.stack([self.rows[name][0], self.answer(other), self.answer(complement(other))])[:, place]
                found.append(OwnAnswers(rows, self.model_output, name, label, number))
        return tuple(found)

    def fits(self, question: Question) -> bool:
        """Whether the target is a row of the output; a pair that was given directly is not."""
        return all(question.place < array.shape[1] for array in self.rows.values())

    def of(self, place: int, label: int | None) -> tuple[OwnAnswers, ...]:
        return tuple(OwnAnswers(array[:, place], self.model_output, name, label) for name, array in self.rows.items())


def own_rows(explanation: Any, model: PyGModel | None, topk: Sequence[int] | int) -> OwnRows:
    """The module's answers on the whole graph, under the explanation's masks, and under their complements.

    They are taken on the whole graph, one by one, as torch_geometric does: where a graph has loops, its masks of a part
    of the graph, or of several copies, need not mean the same.
    """
    sizes = [whole_number("topk", size, 1) for size in ([topk] if isinstance(topk, int) else topk)]
    usable = isinstance(model, PyGModel) and model.multiplies_messages and callable(attribute(explanation, "keys"))
    if usable and model is not None and model.task == "edge":
        usable = explanation_value(explanation, "edge_label_index") is not None
    if not usable or model is None:
        if sizes:
            raise OptionError("topk needs the explained module, with torch_geometric layers", fix="Pass model=.")
        return OwnRows("logit", {})
    cut = attribute(explanation, "threshold") if sizes else None
    if sizes and not callable(cut):
        raise InputError(f"{type(explanation).__name__} has no threshold()", where="explanation", fix="Leave out topk.")
    x, edge_index, inputs = module_arguments(explanation, model)

    def answer(edge_mask: Any = None, node_mask: Any = None) -> Any:
        rows = as_numeric(model.under_masks(x, edge_index, edge_mask, node_mask, inputs), "answers of the module")
        return rows.reshape(len(rows), -1)

    whole, found, alone = answer(), {}, {}
    for name, each in [("", explanation), *((f"k={size}", cut("topk_hard", size)) for size in sizes if cut)]:
        masks = tuple(mask_of(each, kind) for kind in ("edge_mask", "node_mask"))
        if masks == (None, None):
            continue
        found[name] = np.stack([whole, answer(*masks), answer(*map(complement, masks))])
        if masks[1] is None and not isinstance(masks[0], Mapping):
            alone[name] = masks[0]
    return OwnRows(model.model_output, found, alone, answer)


def _shuffled_mask(mask: Any, name: str, candidates: Ints, draw: np.random.Generator) -> Any:
    """A mask with the values of the candidates in a random order; one of a given size has that many candidates."""
    other = mask.clone()
    if not name:
        other[candidates] = mask[draw.permutation(candidates)]
        return other
    other[:] = 0
    other[draw.permutation(candidates)[: int(name[2:])]] = 1
    return other


def _part(question: Question, model: PyGModel | None, num_hops: int | None, chosen: Ints | None) -> Part:
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
                f"edges beyond {hops} hops change the answer of {model.name}",
                where="num_hops",
                fix="Increase num_hops, or leave it out.",
            )
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
    return Part(found.nodes, kept, chosen) if found is whole else question.part(kept, chosen)


def _widened(question: Question, model: PyGModel, hops: int) -> Part:
    """The smallest part with the same answer as the whole graph; candidates are the edges that carry messages."""
    part = _sufficient(question, model, hops + model.counts_degrees)
    for steps in count(hops):
        reached = question.within(steps, model.flow)
        carrying = np.intersect1d(reached, part.kept)
        if len(carrying) == len(part.kept):
            return part
        if question.carries_all_messages(model, part, carrying):
            return Part(part.nodes, part.kept, carrying)
        if len(question.within(steps + 1, model.flow)) == len(reached):
            break
    return part  # messages come from everywhere, such as by a norm over all nodes


def _sufficient(question: Question, model: PyGModel, hops: int) -> Part:
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


def _chosen(candidates: Any, count: int, masked: str) -> Ints | None:
    if candidates is None:
        return None
    given = as_numeric(candidates, "candidates")
    if given.dtype.kind == "b":
        return np.flatnonzero(lined_up(given, count, "candidates", SINGULAR[masked]))
    numbers = whole_numbers(given, "candidates").reshape(-1)
    within(numbers, count, "candidates", SINGULAR[masked])
    if len(np.unique(numbers)) < len(numbers):
        raise InputError(
            f"{SINGULAR[masked]} {_repeated(numbers)} is listed twice",
            where="candidates",
            fix="List numbers once; a mask is an array of booleans.",
        )
    return np.sort(numbers)


def _repeated(numbers: Ints) -> int:
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts > 1][0])
