"""Events: one question each, with the explanations of all explainers, and what the model answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Mask
from graphgauge.explanation.inputs import Context, Explanation, Subgraph
from graphgauge.explanation.masks import packed

EventId = str | int
# How far probabilities may be outside [0, 1] by rounding, and their sum from 1.
_OUTSIDE, _SUM = 1e-6, 1e-3
# Targets nested more deeply are a mistake.
_DEPTH = 32


@dataclass(frozen=True, eq=False)
class Event:
    """One question with the explanations of all explainers; once asked, its distinct masks (R, E) and answers (R, C).

    `apart` is how far the probabilities for one mask were from those of a second time.
    """

    context: Context
    explanations: tuple[Explanation, ...]
    masks: Mask = field(default_factory=lambda: np.zeros((0, 0), bool))
    outputs: Floats = field(default_factory=lambda: np.empty((0, 1)))
    apart: float = 0.0

    def __post_init__(self) -> None:
        said = [explanation.key for explanation in self.explanations]
        if len(set(said)) < len(said):
            name, seed = next(one for index, one in enumerate(said) if one in said[:index])
            raise InputError(
                f"event {self.id!r:.80} is explained twice by {name!r:.80}, seed {seed}",
                where="explanations",
                fix="Name every explainer (explainer=); give runs of one explainer different seeds (seed=).",
            )

    @property
    def id(self) -> EventId:
        """The event's id; grouping gives one to every event."""
        assert self.context.event is not None
        return self.context.event

    @property
    def subgraph(self) -> Subgraph:
        """What can be masked."""
        return self.context.subgraph

    @cached_property
    def row_of(self) -> dict[bytes, int]:
        """The row of each mask, by its bits."""
        return {key: row for row, key in enumerate(packed(self.masks))}

    @cached_property
    def truths(self) -> Mask:
        """(T, units) the accepted explanations in units: all that have an edge of it."""
        accepted = self.context.truths
        held = np.zeros((len(accepted), self.subgraph.unit_count), bool)
        for row, edges in zip(held, accepted, strict=True):
            row[self.subgraph.unit_of[edges]] = True
        return held

    def by(self, explainer: str) -> list[Explanation]:
        """The explanations of one explainer, one for each seed."""
        return [each for each in self.explanations if each.explainer == explainer]


def grouped(explanations: Iterable[Explanation]) -> list[Event]:
    """Explanations by event, in order of first appearance; every event gets an id."""
    if isinstance(explanations, Explanation) or not isinstance(explanations, Iterable):
        explanations = [explanations]
    by_id: dict[EventId, list[Explanation]] = {}
    ids: dict[int, EventId] = {}
    nameless: dict[Any, list[Context]] = {}
    contexts: list[Context] = []  # kept alive: the keys of `ids` are object ids
    for explanation in explanations:
        if not isinstance(explanation, Explanation):
            kind = type(explanation)
            name = f"{kind.__module__}." * ("torch" in kind.__module__) + kind.__name__
            what = f"expected Explanation objects, found {name}"
            fix = "Read a file with read_explanations; wrap other libraries' objects with from_pyg or from_result."
            raise InputError(what, where="explanations", fix=fix)
        context = explanation.context
        if id(context) not in ids:
            if context.event is None:
                _refuse_repeated(explanation, nameless)
            ids[id(context)] = len(contexts) if context.event is None else context.event
            contexts.append(context)
        by_id.setdefault(ids[id(context)], []).append(explanation)
    given = {context.event for context in contexts if context.event is not None}
    twice = [number for number, context in enumerate(contexts) if context.event is None and number in given]
    if twice:
        what = f"the id {twice[0]} is given to one event and also numbers another without an id"
        raise InputError(what, where="explanations", fix="Give ids to all events or to none.")
    refuse_two_kinds(by_id)
    return [_event(event, said) for event, said in by_id.items()]


def refuse_two_kinds(ids: Iterable[EventId]) -> None:
    """Refuse an id that is there as a number and as text."""
    distinct = {*ids}
    if len({str(each) for each in distinct}) < len(distinct):
        what = "two event ids are the same number, once as a number and once as text"
        raise InputError(what, where="explanations", fix="Use numbers or text for all event ids, not both.")


def _refuse_repeated(explanation: Explanation, earlier: dict[Any, list[Context]]) -> None:
    """Refuse a question that the explainer already explained; without ids it would count as two events."""
    context = explanation.context
    others = earlier.setdefault((*explanation.key, context.subgraph.edge_index.tobytes()), [])
    if any(same_question(context, other) for other in others):
        raise InputError(
            f"{explanation.explainer!r:.80} explains the same subgraph and target twice, without event ids",
            where="explanations",
            fix="Name every explainer (explainer=), and give explanations of one event the same id (event=).",
        )
    others.append(context)


def _event(event: EventId, explanations: list[Explanation]) -> Event:
    """The event of explanations of one question; what one of their contexts knows holds for all."""
    first, *others = (explanation.context for explanation in explanations)
    for other in others:
        if other is first:
            continue
        different = "subgraphs or targets" if not same_question(first, other) else _disagreement(first, other)
        if different:
            what = f"event {event!r:.80} has two different {different}"
            fix = "Use one subgraph, target, label and truth per event; give other events other ids (event=)."
            raise InputError(what, where="explanations", fix=fix)
    label = next((context.label for context in (first, *others) if context.label is not None), None)
    truth = next((context.truth for context in (first, *others) if context.truth is not None), None)
    shared = replace(first, event=event, label=label, truth=truth)
    return Event(shared, tuple(replace(explanation, context=shared) for explanation in explanations))


def _disagreement(one: Context, other: Context) -> str | None:
    """The field in which two contexts of an event differ, if both give it."""
    if None not in (one.label, other.label) and one.label != other.label:
        return "labels"
    known = one.truth is not None and other.truth is not None
    return "truths" if known and not np.array_equal(one.truth, other.truth) else None


def same_facts(one: Context, other: Context) -> bool:
    """Whether both contexts put the same question, with the same label and right explanation."""
    truths = [None if each.truth is None else each.truth.tolist() for each in (one, other)]
    return one.label == other.label and truths[0] == truths[1] and same_question(one, other)


def same_question(one: Context, other: Context) -> bool:
    """Whether both contexts put the same question to a model."""
    first, second = one.subgraph, other.subgraph
    names = ("edge_index", "nodes", "times", "candidates", "ids", "unit_of")
    alike = first is second or (
        first.masked == second.masked
        and all(_same_array(getattr(first, name), getattr(second, name)) for name in names)
    )
    return alike and (one.target is other.target or _same_target(one.target, other.target))


def _same_array(one: Any, other: Any) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _same_target(one: Any, other: Any) -> bool:
    try:
        return bool(plain_target(one) == plain_target(other))
    except InputError:
        return _equal(one, other)


def _equal(one: Any, other: Any) -> bool:
    """Whether two targets are equal that cannot be stored; objects of the model are if they say so."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    try:
        return one is other or bool(np.all(one == other))
    except (TypeError, ValueError, RuntimeError):
        return False


def plain_target(value: Any, depth: int = 0) -> Any:
    """A target as numbers, text, lists and dictionaries, as files have it."""
    if depth > _DEPTH:
        raise InputError("is nested too deeply to be stored", where="target")
    if is_tensor(value):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubU":
        value = value.tolist()
    if isinstance(value, float):
        if not np.isfinite(value):
            raise InputError("NaN and infinities cannot be stored", where="target")
        return value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_target(item, depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_target(item, depth + 1) for key, item in value.items()}
    fix = "Use numbers, text, lists and dictionaries of them."
    raise InputError(f"{type(value).__name__} cannot be stored", where="target", fix=fix)


# ---- answers


def answer_rows(answer: Any, masks: int, where: str) -> Floats:
    """A model's answers as an array (masks, C)."""
    array = as_numeric(answer, where)
    if array.shape == (masks,):
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != masks or array.shape[1] < 1:
        fix = f"Expected ({masks}, classes) or ({masks},)."
        raise InputError(f"shape {array.shape} for {masks} masks", where=where, fix=fix)
    return array.astype(np.float64)


def checked_outputs(outputs: Floats, model_output: str | None, where: str) -> Floats:
    """The answers, checked for NaN and against the declared `model_output`."""
    if model_output is None:
        raise InputError("answers without model_output", where=where, fix="Is the header of the table complete?")
    refuse_nan(outputs, where, fix='Fix the model, or pass nan="omit" to leave such events out.')
    if model_output == "logit":
        if outputs.shape[1] > 1 and (np.isposinf(outputs).any() or np.isneginf(outputs).all(axis=1).any()):
            raise InputError("infinite logits have no probabilities", where=where)
        return outputs
    low, high = outputs.min(), outputs.max()
    if low < -_OUTSIDE or high > 1 + _OUTSIDE:
        wrong = low if low < -_OUTSIDE else high
        raise InputError(f"{wrong:.4g} is not a probability", where=where, fix='For logits, pass model_output="logit".')
    if outputs.shape[1] > 1:
        totals = outputs.sum(axis=1)
        worst = int(np.argmax(np.abs(totals - 1)))
        if abs(totals[worst] - 1) > _SUM:
            what = f"probabilities of one mask sum to {totals[worst]:.4g}"
            fix = "Classes must be mutually exclusive: normalise the outputs, or return a single one."
            raise InputError(what, where=where, fix=fix)
    return np.clip(outputs, 0, 1)


def probabilities(outputs: Floats, model_output: str | None) -> Floats:
    """Class probabilities (R, C ≥ 2): softmax of logits, and one output p as (1 − p, p)."""
    if outputs.shape[1] > 1:
        if model_output == "probability":
            return outputs
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    one = outputs[:, 0]
    if model_output == "probability":
        return np.stack([1 - one, one], axis=1)
    # The smaller of the two probabilities is computed, to keep all digits.
    less = np.exp(-np.abs(one)) / (1 + np.exp(-np.abs(one)))
    return np.where((one >= 0)[:, np.newaxis], np.stack([less, 1 - less], axis=1), np.stack([1 - less, less], axis=1))
