"""Explanations of PyTorch Geometric, cut to the part of the graph that the answer depends on."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.explanation.fields import lined_up, whole_numbers, within
from graphgauge.explanation.inputs import Context, Explanation
from graphgauge.explanation.masks import BOTH_WAYS, FLOWS
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.pyg_question import Part, Question


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
    question = Question.of(explanation, model, target)
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
