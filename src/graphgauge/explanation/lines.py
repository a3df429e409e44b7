"""The lines of .jsonl files of explanations and answers: what a header, an event and a note look like, both ways.

Reading runs no code from a file. Values are checked here; what lines of one file have to do with each other is checked
in `table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from graphgauge.core.arrays import refuse_nan
from graphgauge.core.disk import atomic_path, read_bytes
from graphgauge.core.errors import InputError
from graphgauge.core.number import plain
from graphgauge.core.types import Mask
from graphgauge.explanation.events import Event, answer_rows, checked_outputs, located, plain_target
from graphgauge.explanation.inputs import EDGES, Context, Explanation, Subgraph
from graphgauge.explanation.masks import Settings, packed

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
    """A header has a schema and settings, a note only that, an event the rest; explanations alone have no masks."""

    schema: str | UnsetType = UNSET
    settings: dict[str, Any] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    event: int | str | UnsetType = UNSET
    target: Any = None
    label: int | None = None
    truth: list[int | list[int]] | None = None
    subgraph: _GraphFields | UnsetType = UNSET
    explanations: list[_ExplanationFields] = []
    masks: list[str] = []
    outputs: list[list[Number]] = []
    apart: float = 0.0


# A line with its place in a file, for errors.
Placed = tuple[str, Line]


# ---- writing


def header_line(settings: Settings) -> bytes:
    """The first line of a table."""
    return _encoded(Line(schema=SCHEMA, settings=settings.to_dict()))


def note_line(note: str) -> bytes:
    """A line that says what was left out."""
    return _encoded(Line(note=note))


def event_line(event: Event) -> bytes:
    """The line of an event."""
    context, graph = event.context, event.subgraph
    every = graph.masked == EDGES and np.array_equal(graph.candidates, np.arange(graph.edges))
    subgraph = _GraphFields(
        edge_index=graph.edge_index.tolist(),
        nodes=graph.nodes.tolist(),
        times=None if graph.times is None else graph.times.tolist(),
        candidates=None if every else graph.candidates.tolist(),
        units=None if graph.units is None else graph.units.tolist(),
        ids=None if np.array_equal(graph.ids, graph.candidates) else graph.ids.tolist(),
        masked=graph.masked,
    )
    said = [
        _ExplanationFields(
            one.explainer, plain(one.importance), None if one.elapsed is None else float(one.elapsed), one.seed
        )
        for one in event.explanations
    ]
    truths: Any = [np.flatnonzero(truth).tolist() for truth in context.truths]
    return _encoded(
        Line(
            event=event.id,
            target=plain_target(context.target),
            label=context.label,
            truth=None if context.truth is None else truths if context.truth.ndim == 2 else truths[0],
            subgraph=subgraph,
            explanations=said,
            masks=[bits.hex() for bits in packed(event.masks)],
            outputs=plain(event.outputs),
            apart=event.apart,
        )
    )


def _encoded(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write a file, completely or not at all."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        stream.writelines(lines)


# ---- reading


def read_lines(path: Path) -> tuple[list[Placed], bool]:
    """The lines of a file with their places, and whether the last one is complete."""
    content = read_bytes(path)
    lines = content.split(b"\n")
    placed: list[Placed] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        place, ended = f"{path}, line {number}", number < len(lines)
        try:
            placed.append(parsed_line(place, partial(msgspec.json.decode, text)))
        except InputError as error:
            if not ended and placed and not isinstance(error.__cause__, msgspec.ValidationError):
                return placed, False
            raise
    return placed, True


def parsed_line(place: str, decode: Callable[..., Line]) -> Placed:
    """A line at its place, from what decodes its text or dictionary."""
    try:
        return place, decode(type=Line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not valid: {error}"
        raise InputError(what, where=place, fix="Write it again with write_explanations or collect.") from error


def settings_of(line: Line, before: Settings | None) -> Settings:
    """The settings of a header: those of an earlier one, or wider ones."""
    if line.schema != SCHEMA or line.settings is UNSET:
        what = f"not a table: its schema is {line.schema!r:.80}"
        raise InputError(what, fix=f"Expected {SCHEMA!r}, with settings.")
    try:
        settings = msgspec.convert(line.settings, Settings)
    except (msgspec.ValidationError, InputError) as error:
        raise InputError(f"settings: {error}") from None
    if before is not None and not settings.extends(before):
        names = ", ".join(settings.differing(before))
        raise InputError(f"a second header has other settings: {names}", fix="Keep such tables apart.")
    return settings


def event_of(line: Line, settings: Settings | None) -> Event:
    """The event of a line; with settings, that of a table, whose importances are not NaN."""
    if line.event is UNSET or line.subgraph is UNSET:
        absent = "event" if line.event is UNSET else "subgraph"
        raise InputError("is missing", where=absent, fix="Give every event an id and its subgraph.")
    subgraph = _subgraph(line.subgraph)
    context = Context(subgraph, line.target, line.event, line.label, _truth(line.truth, len(subgraph)))
    said = []
    for each in line.explanations:
        importance = np.array(each.importance, np.float64)
        said.append(Explanation(context, importance, each.explainer, each.elapsed, each.seed))
        if settings is not None:
            refuse_nan(importance, "importance", fix=f"{said[-1].who}.")
    event = Event(context, tuple(said), np.zeros((0, len(subgraph)), bool))
    if settings is None or not (line.masks or line.outputs):
        return event
    masks = _masks(line.masks, len(subgraph))
    with located("outputs"):
        rows = np.array(line.outputs, np.float64)
    outputs = checked_outputs(answer_rows(rows, len(masks), "outputs"), settings.model_output, "outputs")
    return replace(event, masks=masks, outputs=outputs, apart=line.apart)


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
