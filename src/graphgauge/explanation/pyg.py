"""Explanations of PyTorch Geometric, cut to the part of the graph that the answer depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.explanation.fields import lined_up, whole_numbers, within
from graphgauge.explanation.inputs import Context, Explanation, OwnAnswers
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.pyg_question import Part, Question, attribute, carried


def from_pyg(
    explanation: Any, model: PyGModel | None = None, *, explainer: str = "explainer", event: str | int | None = None,
    target: Any = None, truth: Any = None, elapsed: float | None = None, seed: int | None = None,
    num_hops: int | None = None, candidates: Any = None, units: Any = None, topk: Sequence[int] | int = (),
) -> Explanation:  # fmt: skip
    """An `Explanation` from a `torch_geometric.explain.Explanation` with an edge mask, a node mask, or both.

    Edges are ranked by the edge mask. With `model`, the module is also asked under the masks themselves, soft or hard,
    as torch_geometric applies them, for `convention="pyg"`. Without an edge mask there are no candidates, and only that
    convention has values.

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
        explained at once, one of them.
    truth, units
        One value per edge of the explanation; those of the candidates are kept.
    num_hops
        Candidates are the edges on paths of at most this many edges to the target. By default they are the edges that
        can carry a message to it: as many hops as `model` has message-passing layers, and more only if messages arrive
        from further. Edges beyond that change the answer only through degrees; they are kept in every mask. For a
        whole graph, all edges are candidates.
    candidates
        The edges that can be masked, as booleans or as edge numbers, to override this choice.
    topk
        Sizes to which the masks are also cut, as torch_geometric's `threshold("topk_hard", k)` cuts them: the k largest
        entries of the whole graph. `convention="pyg"` then has `pos_fidelity@k=5` and the area of the curve.
    """
    if model is not None and not isinstance(model, PyGModel):
        raise InputError(f"expected a PyGModel, found {type(model).__name__}", where="model",
                         fix='Wrap the module: PyGModel(module, task="node").')  # fmt: skip
    question = Question.of(explanation, model, target)
    mask, by_node = explanation.get("edge_mask"), explanation.get("node_mask")
    if mask is None and by_node is None:
        raise InputError("has neither edge_mask nor node_mask", where="explanation",
                         fix="Let the explainer mask edges (edge_mask_type=) or nodes (node_mask_type=).")  # fmt: skip
    if mask is None and candidates is None:
        candidates = []
    importance = np.zeros(question.edges) if mask is None else lined_up(mask, question.edges, "importance", "edge")
    if model is not None:
        question.refuse_other_prediction(explanation.get("prediction"), model)
    part = _part(question, model, num_hops, _chosen(candidates, question.edges))
    flags = None if truth is None else lined_up(truth, question.edges, "truth", "edge")[part.candidates]
    named = question.event if event is None else event
    label = _phenomenon(explanation, question)
    context = Context(question.cut(part, units), question.relabelled(part), named, label, flags)
    own = _own_answers(explanation, question, model, topk, label)
    return Explanation(context, importance[part.candidates], explainer, elapsed, seed, own)


def explain_pyg(
    explainers: Any, data: Any, index: Any = None, *, model: PyGModel | None = None, truth: Any = None,
    topk: Sequence[int] | int = (), **inputs: Any,
) -> list[Explanation]:  # fmt: skip
    """Run explainers of torch_geometric on nodes, pairs or graphs, and collect their explanations with their times.

    Parameters
    ----------
    explainers
        A `torch_geometric.explain.Explainer`, or a dictionary of them by name.
    data
        A `Data` object with `x` and `edge_index`, for targets in one graph; for graph-level tasks a list of them, or
        one. Its `edge_weight`, `edge_attr`, `batch` and `edge_label_index` are passed to the module if it names them.
    index
        The nodes or pairs to explain; by default all graphs of a list, or all nodes.
    model
        The explained module; by default `PyGModel.of` the first explainer.
    truth
        One value per edge, or a function of the target that gives them.
    inputs
        Further arguments of the module, passed to the explainer.
    """
    named = explainers if isinstance(explainers, Mapping) else {type(explainers.algorithm).__name__: explainers}
    first = next(iter(named.values()), None)
    if first is None:
        raise InputError("no explainer", where="explainers")
    model = PyGModel.of(first) if model is None else model
    graphs = list(data) if isinstance(data, Sequence) else [data]
    found = []
    for number, graph in enumerate(graphs):
        given = {name: graph[name] for name in _PASSED if name in graph and model.names(name)} | inputs
        for target in _targets(model, graph, index, len(graphs) > 1, given):
            for name, explainer in named.items():
                place = {} if target is None else {"index": target}
                if "phenomenon" in str(explainer.explanation_type):
                    place["target"] = graph.y
                start = perf_counter()
                said = explainer(graph.x, graph.edge_index, **given, **place)
                seconds = perf_counter() - start
                right = truth(number if target is None else target) if callable(truth) else truth
                event = number if len(graphs) > 1 or target is None else None
                found.append(
                    from_pyg(said, model, explainer=name, event=event, truth=right, elapsed=seconds, topk=topk)
                )
    return found


_PASSED = ("edge_weight", "edge_attr", "batch", "edge_label_index")


def _targets(model: PyGModel, graph: Any, index: Any, several: bool, given: Mapping[str, Any]) -> list[Any]:
    if index is not None:
        if several:
            raise OptionError("index names targets in one graph, but data are several", fix="Leave out index.")
        return [int(each) for each in np.atleast_1d(as_numeric(index, "index"))]
    if model.task == "graph":
        return [None]
    if model.task == "edge" and "edge_label_index" in given:
        return list(range(given["edge_label_index"].shape[1]))
    return list(range(int(graph.num_nodes)))


def _phenomenon(explanation: Any, question: Question) -> int | None:
    """The true class, if that was explained; torch_geometric then records no prediction."""
    target = explanation.get("target")
    if explanation.get("prediction") is not None or target is None:
        return None
    labels = whole_numbers(target, "target").reshape(-1)
    place = 0 if len(labels) == 1 else question.place
    if place >= len(labels):
        raise InputError(f"{len(labels)} labels, but the target is row {place}", where="target")
    return int(labels[place])


def _own_answers(
    explanation: Any, question: Question, model: PyGModel | None, topk: Sequence[int] | int, label: int | None
) -> tuple[OwnAnswers, ...]:
    """The module's answers on the whole graph, under the explanation's masks, and under their complements.

    They are taken on the whole graph, one by one, as torch_geometric does: where a graph has loops, its masks of a part
    of the graph, or of several copies, need not mean the same.
    """
    sizes = [whole_number("topk", size, 1) for size in ([topk] if isinstance(topk, int) else topk)]
    pair_given = question.task == "edge" and explanation.get("edge_label_index") is None
    if model is None or not model.multiplies_messages or pair_given:
        if sizes:
            raise OptionError("topk needs the explained module, with torch_geometric layers", fix="Pass model=.")
        return ()
    cut = attribute(explanation, "threshold") if sizes else None
    if sizes and not callable(cut):
        raise InputError(f"{type(explanation).__name__} has no threshold()", where="explanation", fix="Leave out topk.")
    inputs = dict(carried(explanation, model))

    def answer(edge_mask: Any = None, node_mask: Any = None) -> Any:
        said = model.under_masks(explanation.get("x"), explanation.get("edge_index"), edge_mask, node_mask, inputs)
        rows = as_numeric(said, "answers of the module")
        return rows.reshape(len(rows), -1)[question.place]

    whole, found = answer(), []
    for name, each in [("", explanation), *((f"k={size}", cut("topk_hard", size)) for size in sizes if cut)]:
        masks = each.get("edge_mask"), each.get("node_mask")
        others = (None if mask is None else 1.0 - mask for mask in masks)
        found.append(OwnAnswers(np.stack([whole, answer(*masks), answer(*others)]), model.model_output, name, label))
    return tuple(found)


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


def _chosen(candidates: Any, edges: int) -> Ints | None:
    if candidates is None:
        return None
    given = as_numeric(candidates, "candidates")
    if given.dtype.kind == "b":
        return np.flatnonzero(lined_up(given, edges, "candidates", "edge"))
    numbers = whole_numbers(given, "candidates").reshape(-1)
    within(numbers, edges, "candidates", "edge")
    return np.unique(numbers)
