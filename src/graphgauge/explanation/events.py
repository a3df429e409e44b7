"""Events: one question each, with the explanations of all explainers and what the model answered; and their lines.

A line of a .jsonl file is a header with settings, or an event. Reading runs no code from a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from graphgauge.core.arrays import as_numeric, is_tensor, refuse_nan
from graphgauge.core.errors import InputError
from graphgauge.core.number import plain
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.explanation.inputs import EDGES, Context, Explanation, Subgraph
from graphgauge.explanation.masks import Settings, packed

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
        context = self.context  # one for all
        shared = (each if each.context is context else replace(each, context=context) for each in self.explanations)
        object.__setattr__(self, "explanations", tuple(shared))

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

    def answered(self, masks: Mask, outputs: Floats, apart: float) -> Event:
        """The event with answers to more masks."""
        if len(self.masks) and len(masks):
            masks, outputs = np.concatenate([self.masks, masks]), np.concatenate([self.outputs, outputs])
        elif len(self.masks):
            masks, outputs = self.masks, self.outputs
        return replace(self, masks=masks, outputs=outputs, apart=max(apart, self.apart))

    def rows(self, masks: Mask) -> Ints:
        """The row of each of these masks (…, E) among the event's own, −1 where it was not asked."""
        rows = [self.row_of.get(key, -1) for key in packed(masks)]
        return np.array(rows, np.int64).reshape(masks.shape[:-1])

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
    """Explanations by event, in order of first appearance. Without ids, each context is an event, and is numbered."""
    several = isinstance(explanations, Iterable) and not isinstance(explanations, Explanation)
    said: list[Any] = [*explanations] if several else [explanations]
    kind = next((type(each) for each in said if not isinstance(each, Explanation)), None)
    if kind is not None:
        what = f"expected Explanation objects, found {kind.__name__}"
        fix = "Read a file with read_explanations; wrap other libraries' objects with from_pyg or from_result."
        raise InputError(what, where="explanations", fix=fix)
    named = {each.context.event is not None for each in said}
    if len(named) > 1:
        what = "some events have an id and others have none"
        raise InputError(what, where="explanations", fix="Give ids to all events or to none.")
    number: dict[int, int] = {}
    by_id: dict[EventId, list[Explanation]] = {}
    for each in said:
        own = each.context.event
        event = number.setdefault(id(each.context), len(number)) if own is None else own
        by_id.setdefault(event, []).append(each)
    return [Event(_shared([each.context for each in own], event), tuple(own)) for event, own in by_id.items()]


def joined(earlier: Event, later: Event) -> Event:
    """All that is known of one event; where both have an explanation or an answer, they agree."""
    fix = "Collect into another file: a table has one model, and one question per event."
    with located(f"event {earlier.id!r:.80}"):
        # The later one has what no file stores, such as the model's own subgraph.
        context = _shared([later.context, earlier.context], earlier.id)
        said = {each.key: each for each in earlier.explanations}
        for each in later.explanations:
            if each.key in said and not np.array_equal(said[each.key].importance, each.importance):
                what = f"has another importance by {each.explainer!r:.80} already"
                raise InputError(what, fix=fix)
            said[each.key] = each
        places = earlier.rows(later.masks)
        new = places < 0
        if not new.all() and not np.array_equal(earlier.outputs[places[~new]], later.outputs[~new]):
            raise InputError("has another answer to a mask already", fix=fix)
    whole = replace(earlier, context=context, explanations=tuple(said.values()))
    return whole.answered(later.masks[new], later.outputs[new], later.apart)


@contextmanager
def located(place: str) -> Iterator[None]:
    """Add a place to errors in this block."""
    try:
        yield
    except InputError as error:
        where = place if error.where is None else f"{place}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from error.__cause__
    except (ValueError, OverflowError) as error:
        raise InputError(f"cannot be read ({error})", where=place) from None


# ---- one question


def _shared(contexts: Sequence[Context], event: EventId) -> Context:
    """The context of an event; what one of several knows of label and truth holds for all."""
    first = contexts[0]
    for other in contexts[1:]:
        different = _difference(first, other)
        if different is not None:
            what = f"event {event!r:.80} has two different {different}"
            fix = "Use one subgraph, target, label and truth per event; give other events other ids (event=)."
            raise InputError(what, where="explanations", fix=fix)
    label = next((each.label for each in contexts if each.label is not None), None)
    truth = next((each.truth for each in contexts if each.truth is not None), None)
    return replace(first, event=event, label=label, truth=truth)


def _difference(one: Context, other: Context) -> str | None:
    """In what two contexts differ, if they do; a label or truth that one of them lacks is no difference."""
    if one is other:
        return None
    first, second = one.subgraph, other.subgraph
    fields = ("masked", "edge_index", "nodes", "times", "candidates", "ids", "unit_of")
    alike = first is second or all(_same(getattr(first, name), getattr(second, name)) for name in fields)
    if not alike or not _same(plain_target(one.target, stored=False), plain_target(other.target, stored=False)):
        return "subgraphs or targets"
    if None not in (one.label, other.label) and one.label != other.label:
        return "labels"
    known = one.truth is not None and other.truth is not None
    return "truths" if known and not np.array_equal(one.truth, other.truth) else None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; objects of the model's own are if they say so."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    try:
        return bool(one == other)
    except (TypeError, ValueError, RuntimeError):
        return False


def plain_target(value: Any, depth: int = 0, *, stored: bool = True) -> Any:
    """A target as numbers, text, lists and dictionaries, as files have it; only what is not `stored` may be else."""
    if depth > _DEPTH:
        raise InputError(f"is nested more than {_DEPTH} deep", where="target", fix="Name targets by numbers or text.")
    if is_tensor(value):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubU":
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_target(item, depth + 1, stored=stored) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_target(item, depth + 1, stored=stored) for key, item in value.items()}
    if not stored or value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not np.isfinite(value):
            raise InputError("NaN and infinities cannot be stored", where="target")
        return value
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
    refuse_nan(outputs, where, fix="Fix the model, or leave such events out.")
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


# ---- lines of files

SCHEMA = "graphgauge/explanation/3"
Number = float | Literal["inf", "-inf"] | None
# Nodes that are not listed, beside 32 for each edge: in a short file a number could stand for many.
_FEW_NODES, _NODES_PER_EDGE = 1_000, 32
# Several accepted explanations are lists of candidates, which may be empty; as masks they are no larger than this.
_LARGEST_TRUTH = 1 << 28


class _GraphFields(Struct, omit_defaults=True, forbid_unknown_fields=True):
    edge_index: list[list[int]]
    nodes: list[int | str] | None = None
    times: list[int | float] | None = None
    candidates: list[int] | None = None
    units: list[int | str] | None = None
    ids: list[int] | None = None
    masked: str = EDGES


class _ExplanationFields(Struct, omit_defaults=True, forbid_unknown_fields=True):
    explainer: str
    importance: list[Number]
    elapsed: float | None = None
    seed: int | None = None


class Line(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A header has a schema and settings, an event the rest; explanations alone have no masks."""

    schema: str | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    event: int | str | UnsetType = UNSET
    target: Any = None
    label: int | None = None
    truth: list[int | list[int]] | None = None
    subgraph: _GraphFields | UnsetType = UNSET
    explanations: list[_ExplanationFields] = []
    masks: list[str] = []
    outputs: list[list[Number]] = []
    apart: float = 0.0


def header_line(settings: Settings) -> bytes:
    """The first line of a table."""
    return _encoded(Line(schema=SCHEMA, settings=settings))


def event_line(event: Event) -> bytes:
    """The line of an event."""
    context, graph = event.context, event.subgraph
    fields = {name: plain(getattr(graph, name)) for name in _GraphFields.__struct_fields__}
    if fields["ids"] == fields["candidates"]:
        del fields["ids"]
    if graph.masked == EDGES and fields["candidates"] == [*range(graph.edges)]:
        del fields["candidates"]
    truths: Any = [np.flatnonzero(truth).tolist() for truth in context.truths]
    line = Line(
        event=event.id,
        target=plain_target(context.target),
        label=context.label,
        truth=None if context.truth is None else truths if context.truth.ndim == 2 else truths[0],
        subgraph=_GraphFields(**fields),
        explanations=[_fields_of(each) for each in event.explanations],
        masks=[bits.hex() for bits in packed(event.masks)],
        outputs=plain(event.outputs),
        apart=event.apart,
    )
    return _encoded(line)


def _fields_of(one: Explanation) -> _ExplanationFields:
    return _ExplanationFields(*(plain(getattr(one, name)) for name in _ExplanationFields.__struct_fields__))


def _encoded(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def line_of(text: bytes) -> Line:
    """The line of a text."""
    try:
        return msgspec.json.decode(text, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not valid: {error}"
        fix = "JSON has no NaN: write null." if b"NaN" in text else "Write it again with write_explanations or collect."
        raise InputError(what, fix=fix) from error


def event_of(line: Line, settings: Settings | None) -> Event:
    """The event of a line; with settings, that of a table, whose importances are not NaN."""
    if line.event is UNSET or line.subgraph is UNSET:
        absent = "event" if line.event is UNSET else "subgraph"
        raise InputError("is missing", where=absent, fix="Give every event an id and its subgraph.")
    subgraph = _subgraph(line.subgraph)
    context = Context(subgraph, plain_target(line.target), line.event, line.label, _truth(line.truth, len(subgraph)))
    said = []
    for each in line.explanations:
        importance = np.array(each.importance, np.float64)
        said.append(Explanation(context, importance, each.explainer, each.elapsed, each.seed))
        if settings is not None:
            refuse_nan(importance, "importance", fix=f"{said[-1].who}.")
    event = Event(context, tuple(said))
    if settings is None or not (line.masks or line.outputs):
        return event
    masks = _masks(line.masks, len(subgraph))
    with located("outputs"):
        rows = np.array(line.outputs, np.float64)
    outputs = checked_outputs(answer_rows(rows, len(masks), "outputs"), settings.model_output, "outputs")
    return event.answered(masks, outputs, line.apart)


def _subgraph(graph: _GraphFields) -> Subgraph:
    with located("edge_index"):
        edges = np.array(graph.edge_index, np.int64).reshape(len(graph.edge_index), -1)
    largest = int(edges.max(initial=-1))
    if graph.nodes is None and largest >= _FEW_NODES + _NODES_PER_EDGE * edges.shape[1]:
        raise InputError(f"there is no node {largest}", where="edge_index", fix="List the nodes.")
    return Subgraph(edges, graph.nodes, graph.times, graph.candidates, graph.units, graph.ids, graph.masked)


def _truth(listed: Any, count: int) -> Mask | None:
    """The accepted explanation, or one row for each of several, from lists of candidates."""
    if listed is None:
        return None
    several = bool(listed) and all(isinstance(each, list) for each in listed)
    rows = listed if several else [listed]
    numbers = (place for row in rows for place in row)
    if len(rows) * count > _LARGEST_TRUTH or not all(type(each) is int and 0 <= each < count for each in numbers):
        raise InputError(f"expected candidate numbers from 0 to {count - 1}", where="truth")
    truths = np.zeros((len(rows), count), bool)
    for row, places in zip(truths, rows, strict=True):
        row[places] = True
    return truths if several else truths[0]


def _masks(lines: Sequence[str], width: int) -> Mask:
    """Masks from hexadecimal text, one bit per candidate."""
    size = (width + 7) // 8
    with located("masks"):
        content = [bytes.fromhex(line) for line in lines]
    if any(len(bits) != size for bits in content):
        raise InputError(f"expected {size} bytes per mask, one bit for each of {width} candidates", where="masks")
    if len({*content}) < len(content):
        raise InputError("a mask is listed twice", where="masks")
    bits = np.frombuffer(b"".join(content), np.uint8).reshape(len(content), size)
    return np.unpackbits(bits, axis=1, count=width).astype(bool)
