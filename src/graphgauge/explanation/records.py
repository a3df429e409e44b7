"""Events and their explanations as plain dictionaries, one per line of a file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.explanation.inputs import EDGES, Context, Explanation, Masks, OwnAnswers, Subgraph
from graphgauge.explanation.masks import MODEL_OUTPUT
from graphgauge.old.core.schema import number_from_json, number_to_json

EventId = str | int
_DEPTH = 32
# Arrays with more numbers than this are compressed in .jsonl files.
_LONG = 2_000
# More nodes than these are listed, though they are the numbers from 0.
_FEW_NODES, _NODES_PER_EDGE = 1_000, 32
_PACKED = ("<f4", "<f8", "<i8", "<u8", "|b1")


@dataclass(frozen=True, eq=False)
class Event:
    """One event with the explanations of all explainers."""

    context: Context
    explanations: tuple[Explanation, ...]

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
        assert self.context.event is not None
        return self.context.event

    @property
    def subgraph(self) -> Subgraph:
        return self.context.subgraph

    def to_dict(self, *, compact: bool = True) -> dict[str, Any]:
        """The event as plain data; `compact` compresses long arrays."""
        context = self.context
        record: dict[str, Any] = {"event": self.id, "target": plain(context.target, "target")}
        if context.label is not None:
            record["label"] = int(context.label)
        if context.truth is not None:
            several = [np.flatnonzero(truth).tolist() for truth in context.truths]
            record["truth"] = several if context.truth.ndim == 2 else several[0]
        return record | {
            "subgraph": _subgraph_to_dict(context.subgraph, compact),
            "explanations": [_explanation_to_dict(explanation) for explanation in self.explanations],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Event:
        if not isinstance(record.get("subgraph"), dict):
            raise InputError("expected a table", where="subgraph")
        subgraph = _subgraph_from_dict(record["subgraph"])
        truth = None
        if record.get("truth") is not None:
            truth = _truth(record["truth"], len(subgraph))
        if record.get("event") is None:
            raise InputError("is missing", where="event", fix="Give every event an id.")
        context = Context(subgraph, record.get("target"), record["event"], record.get("label"), truth)
        listed = record.get("explanations")
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise InputError("expected a list of tables", where="explanations")
        return cls(context, tuple(_explanation_from_dict(context, entry) for entry in listed))


def unpacked_bytes(record: Mapping[str, Any]) -> int:
    """About how many bytes the short fields of an event stand for: compressed arrays, numbers of nodes, and truths."""
    subgraph, truths = record.get("subgraph"), record.get("truth")
    if not isinstance(subgraph, dict):
        return 0
    packed = sum(map(_packed_bytes, subgraph.values()))
    listed = subgraph.get("edge_index")
    ends = [row for row in listed if isinstance(row, list)] if isinstance(listed, list) else []
    counted = 0
    if subgraph.get("nodes") is None:
        counted = 8 * max((end for row in ends for end in row if type(end) is int), default=0)
    places = max(map(len, [*ends, subgraph.get("candidates") or ()]), default=0)
    return packed + counted + places * (len(truths) if isinstance(truths, list) else 0)


def _packed_bytes(value: Any) -> int:
    if not isinstance(value, dict):
        return 0
    shape = value.get("shape")
    if "zlib" in value and isinstance(shape, list) and all(type(side) is int for side in shape):
        return 8 * abs(math.prod(shape))
    return sum(map(_packed_bytes, value.values()))


def truth_hash(events: Iterable[Event]) -> str:
    """SHA-256 of the questions: the events with their targets, labels and right explanations, in any order."""
    lines = []
    for event in events:
        record = event.to_dict(compact=False)
        asked: dict[str, Any] = {name: record[name] for name in ("event", "target", "label") if name in record}
        if "truth" in record:  # numbers of candidates mean nothing without the graph
            asked |= {name: record[name] for name in ("truth", "subgraph")}
        lines.append(json.dumps(asked, sort_keys=True))
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _truth(value: Any, count: int) -> Masks:
    """The accepted explanation, or one row for each of several."""
    several = isinstance(value, list) and bool(value) and all(isinstance(each, list) for each in value)
    listed = value if several else [value]
    truths = np.zeros((len(listed), count), bool)
    for row, places in zip(truths, listed, strict=True):
        row[_places(places, count)] = True
    return truths if several else np.asarray(truths[0])


def _places(value: Any, count: int) -> list[int]:
    """The candidate numbers of the true edges in a line."""
    if not isinstance(value, list) or not all(type(place) is int and 0 <= place < count for place in value):
        raise InputError(f"expected candidate numbers from 0 to {count - 1}", where="truth")
    return value


def grouped(explanations: Iterable[Explanation]) -> list[Event]:
    """Explanations by event, in order of first appearance; every event gets an id."""
    if isinstance(explanations, Explanation) or not isinstance(explanations, Iterable):
        explanations = [explanations]
    by_id: dict[EventId, list[Explanation]] = {}
    ids: dict[int, EventId] = {}
    nameless: dict[Any, list[Explanation]] = {}
    contexts: list[Context] = []  # kept alive: the keys of `ids` are object ids
    for explanation in explanations:
        if not isinstance(explanation, Explanation):
            found = type(explanation).__name__
            raise InputError(f"expected Explanation objects, found {found}", where="explanations", fix=_ADAPT)
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
        raise InputError(
            f"the id {twice[0]} is given to one event and also numbers another without an id",
            where="explanations",
            fix="Give ids to all events or to none.",
        )
    if len({str(event) for event in by_id}) < len(by_id):
        raise InputError(
            "two event ids are the same number, once as a number and once as text",
            where="explanations",
            fix="Use numbers or text for all event ids, not both.",
        )
    return [_event(event, found) for event, found in by_id.items()]


def _refuse_repeated(explanation: Explanation, earlier: dict[Any, list[Explanation]]) -> None:
    """Raise an error if the explainer already explained this question; without ids it would count as two events."""
    context = explanation.context
    key = *explanation.key, context.subgraph.edge_index.tobytes()
    for other in earlier.setdefault(key, []):
        if same_question(context, other.context):
            raise InputError(
                f"{explanation.explainer!r:.80} explains the same subgraph and target twice, without event ids",
                where="explanations",
                fix="Name every explainer (explainer=), and give explanations of one event the same id (event=).",
            )
    earlier[key].append(explanation)


def _event(event: EventId, explanations: list[Explanation]) -> Event:
    first, *others = (explanation.context for explanation in explanations)
    for other in others:
        if other is first:
            continue
        different = "subgraphs or targets" if not same_question(first, other) else _disagreement(first, other)
        if different:
            raise InputError(
                f"event {event!r:.80} has two different {different}",
                where="explanations",
                fix="Use one subgraph, target, label and truth per event; give other events other ids (event=).",
            )
    label = next((context.label for context in (first, *others) if context.label is not None), None)
    truth = next((context.truth for context in (first, *others) if context.truth is not None), None)
    shared = replace(first, event=event, label=label, truth=truth)
    return Event(shared, tuple(replace(explanation, context=shared) for explanation in explanations))


def _disagreement(one: Context, other: Context) -> str | None:
    """Names the field in which two contexts of an event differ, if both give it."""
    if None not in (one.label, other.label) and one.label != other.label:
        return "labels"
    known = one.truth is not None and other.truth is not None
    return "truths" if known and not np.array_equal(one.truth, other.truth) else None


def same_question(one: Context, other: Context) -> bool:
    """Whether both contexts put the same question to a model."""
    first, second = one.subgraph, other.subgraph
    alike = first is second or _subgraph_to_dict(first) == _subgraph_to_dict(second)
    return alike and (one.target is other.target or _same_target(one.target, other.target))


def _same_target(one: Any, other: Any) -> bool:
    try:
        return bool(plain(one, "target") == plain(other, "target"))
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


def plain(value: Any, name: str, depth: int = 0) -> Any:
    """A value converted to numbers, text, lists and dictionaries."""
    if depth > _DEPTH:
        raise InputError("is nested too deeply to be stored", where=name)
    if is_tensor(value):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubU":
        value = value.tolist()
    if isinstance(value, float):
        if not np.isfinite(value):
            raise InputError("NaN and infinities cannot be stored", where=name)
        return value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, name, depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item, name, depth + 1) for key, item in value.items()}
    raise InputError(
        f"{type(value).__name__} cannot be stored", where=name, fix="Use numbers, text, lists and dictionaries of them."
    )


def _subgraph_to_dict(subgraph: Subgraph, compact: bool = True) -> dict[str, Any]:
    content: dict[str, Any] = {"edge_index": subgraph.edge_index.tolist()}
    if not np.array_equal(subgraph.nodes, np.arange(int(subgraph.edge_index.max(initial=-1)) + 1)):
        content["nodes"] = subgraph.nodes.tolist()
    elif compact and len(subgraph.nodes) > _FEW_NODES + _NODES_PER_EDGE * subgraph.edges:
        content["nodes"] = _listed(subgraph.nodes, compact)  # files in which a number stands for many nodes are refused
    if subgraph.masked != EDGES:
        content["masked"] = subgraph.masked
    if subgraph.masked != EDGES or len(subgraph) != subgraph.edges or (np.diff(subgraph.candidates) != 1).any():
        content["candidates"] = subgraph.candidates.tolist()
    for name in ("node_types", "edge_types", "relations"):
        if getattr(subgraph, name) is not None:
            content[name] = getattr(subgraph, name).tolist()
    for name in ("times", "node_features", "edge_features", "units"):
        value = getattr(subgraph, name)
        if value is not None:
            content[name] = _listed(value, compact)
    for name in ("node_inputs", "edge_inputs"):
        if getattr(subgraph, name):
            # The order of types can matter to a module.
            items = getattr(subgraph, name).items()
            items = sorted(items) if subgraph.node_types is None else items
            content[name] = {key: _listed(value, compact) for key, value in items}
    return content if subgraph.graph_edges is None else content | {"graph_edges": subgraph.graph_edges}


def _subgraph_from_dict(content: Mapping[str, Any]) -> Subgraph:
    names = (
        "nodes",
        "candidates",
        "times",
        "node_features",
        "edge_features",
        "units",
        "node_inputs",
        "edge_inputs",
        "graph_edges",
        "masked",
        "node_types",
        "edge_types",
        "relations",
    )
    given = {name: _unpacked(content[name], name) for name in names if content.get(name) is not None}
    for name in ("node_features", "edge_features"):
        if isinstance(given.get(name), list):
            given |= _arrays({name: given[name] or np.empty((0, 0))}, name)
    for name in ("node_inputs", "edge_inputs"):
        if name in given:
            given[name] = _arrays(given[name], name)
    try:
        return Subgraph(content.get("edge_index"), **given)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read ({error})", where="subgraph") from None


def _explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    content: dict[str, Any] = {"explainer": explanation.explainer, "importance": _listed(explanation.importance)}
    if explanation.elapsed is not None:
        content["elapsed"] = float(explanation.elapsed)
    if explanation.seed is not None:
        content["seed"] = int(explanation.seed)
    return content | ({"own": [_own_to_dict(each) for each in explanation.own]} if explanation.own else {})


def _own_to_dict(own: OwnAnswers) -> dict[str, Any]:
    outputs = [[number_to_json(value) for value in row] for row in own.outputs]
    content: dict[str, Any] = {"name": own.name, "model_output": own.model_output, "outputs": outputs}
    if own.random is not None:
        content["random"] = own.random
    return content if own.label is None else content | {"label": own.label}


def _own_from_dict(content: Any) -> OwnAnswers:
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise InputError("expected tables with a name", where="own")
    if content.get("model_output") not in MODEL_OUTPUT:
        raise InputError("is missing or unknown", where="own, model_output")
    outputs = _matrix(content.get("outputs"), "own, outputs")
    return OwnAnswers(outputs, content["model_output"], content["name"], content.get("label"), content.get("random"))


def _explanation_from_dict(context: Context, content: Mapping[str, Any]) -> Explanation:
    explainer, importance = content.get("explainer"), content.get("importance")
    if not isinstance(explainer, str) or not isinstance(importance, list):
        raise InputError("expected the name explainer and the list importance", where="explanations")
    elapsed = content.get("elapsed")
    try:
        values = np.array([number_from_json(value) for value in importance], np.float64)
        seconds = None if elapsed is None else number_from_json(elapsed)
        listed = content.get("own") or []
        if not isinstance(listed, list):
            raise InputError("expected a list", where="own")
        own = tuple(map(_own_from_dict, listed))
        return Explanation(context, values, explainer, seconds, content.get("seed"), own)
    except (TypeError, OverflowError) as error:
        raise InputError(str(error), where="importance or elapsed") from None


def _listed(array: AnyArray, compact: bool = False) -> Any:
    if compact and array.size > _LONG and array.dtype.kind in "fiub":
        return _compressed(array)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    return [number_to_json(value) if np.ndim(value) == 0 else _listed(value) for value in array]


def _compressed(array: AnyArray) -> dict[str, Any]:
    """A long array as text: features of nodes are often sparse, and shrink to a hundredth."""
    with np.errstate(over="ignore"):
        exact = array.dtype.kind == "f" and np.array_equal(array.astype(np.float32), array, equal_nan=True)
    kind = {"b": "|b1", "f": "<f4" if exact else "<f8", "u": "<u8"}.get(array.dtype.kind, "<i8")
    content = zlib.compress(np.ascontiguousarray(array.astype(kind)).tobytes())
    return {"zlib": base64.b64encode(content).decode(), "dtype": kind, "shape": list(array.shape)}


def _unpacked(value: Any, name: str) -> Any:
    """An array that may be compressed; no more is decompressed than its shape says."""
    if not isinstance(value, dict) or "zlib" not in value:
        return {key: _unpacked(each, name) for key, each in value.items()} if isinstance(value, dict) else value
    shape, kind = value.get("shape"), value.get("dtype")
    if kind not in _PACKED or not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise InputError("expected a shape and a known dtype", where=name)
    size = math.prod(shape) * np.dtype(kind).itemsize
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(value["zlib"], validate=True), size + 1)
    except (ValueError, TypeError, zlib.error, OverflowError, MemoryError) as error:
        raise InputError(f"cannot be decompressed ({error})", where=name) from None
    if len(content) != size:
        raise InputError(f"expected {size} bytes for shape {tuple(shape)}, found another number", where=name)
    array = np.frombuffer(content, kind).reshape(shape)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _matrix(rows: Any, name: str) -> Floats:
    try:
        return np.array([[number_from_json(value) for value in row] for row in rows], np.float64).reshape(
            len(rows), len(rows[0]) if rows else 0
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"expected rows of numbers ({error})", where=name) from None


def _arrays(content: Any, name: str) -> dict[str, AnyArray]:
    """Arrays by name; whole numbers stay integers."""
    if not isinstance(content, dict):
        raise InputError(f"expected a table, found {type(content).__name__}", where=name)
    try:
        return {key: value if isinstance(value, np.ndarray) else _array(value) for key, value in content.items()}
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"expected rows of numbers ({error})", where=name) from None


def _array(value: Any) -> AnyArray:
    array = np.array(value)
    if array.dtype.kind in "fO" and all(type(each) is int for each in np.array(value, object).ravel()) and array.size:
        return np.array(value, np.uint64)  # too large for 64 bits with sign
    if array.dtype.kind in "iubf":
        return array
    return np.asarray(np.vectorize(number_from_json, otypes=[np.float64])(np.array(value, object)))


def masks_to_text(masks: Masks) -> list[str]:
    return [row.tobytes().hex() for row in np.packbits(masks, axis=1)]


def masks_from_text(lines: Any, width: int, *, none: bool = False) -> Masks:
    """Masks from hexadecimal text, one bit per candidate edge; `none` says that there are none."""
    if not isinstance(lines, list) or bool(lines) == none or not all(isinstance(line, str) for line in lines):
        raise InputError("expected a list of hexadecimal strings", where="masks")
    if not lines:
        return np.zeros((0, width), bool)
    size = (width + 7) // 8
    try:
        content = [bytes.fromhex(line) for line in lines]
    except ValueError:
        raise InputError("expected hexadecimal strings", where="masks") from None
    if any(len(line) != size for line in content):
        raise InputError(f"expected {size} bytes per mask, one bit for each of {width} candidates", where="masks")
    bits = np.frombuffer(b"".join(content), np.uint8).reshape(len(content), size)
    return np.unpackbits(bits, axis=1, count=width).astype(bool)


_ADAPT = "Read a file with read_explanations; wrap other libraries' objects with from_pyg or from_result."
