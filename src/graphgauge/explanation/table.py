"""Files of explanations and answers: .jsonl, a header with the settings, then one event per line.

A file of explanations has no header. Several lines of one event are joined, so that answers can be added to a file, and
files of the same settings joined with `cat`. Reading runs no code from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from graphgauge.core.arrays import refuse_nan
from graphgauge.core.disk import atomic_path, read_bytes
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.number import plain
from graphgauge.core.types import Mask
from graphgauge.explanation.events import (
    Event,
    EventId,
    answer_rows,
    checked_outputs,
    grouped,
    joined,
    located,
    plain_target,
    refuse_two_kinds,
)
from graphgauge.explanation.inputs import EDGES, Context, Explanation, Subgraph
from graphgauge.explanation.masks import RANDOM, Settings, packed

SCHEMA, TABLE = "graphgauge/explanation/3", ".jsonl"
Number = float | Literal["inf", "-inf"] | None
# Nodes that are not listed, beside 32 for each edge: in a short file a number could stand for many.
_FEW_NODES, _NODES_PER_EDGE = 1_000, 32
# Several accepted explanations are lists of candidates, which may be empty; as masks they are no larger than this.
_LARGEST_TRUTH = 1 << 28


class _Graph(Struct, omit_defaults=True, forbid_unknown_fields=True):
    edge_index: list[list[int]]
    nodes: list[int | str] | None = None
    times: list[int | float] | None = None
    candidates: list[int] | None = None
    units: list[int | str] | None = None
    ids: list[int] | None = None
    masked: str = EDGES


class _Said(Struct, omit_defaults=True, forbid_unknown_fields=True):
    explainer: str
    importance: list[Number]
    elapsed: float | None = None
    seed: int | None = None


class _Line(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A header has a schema and settings, a note only that, an event the rest; explanations alone have no masks."""

    schema: str | UnsetType = UNSET
    settings: dict[str, Any] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    event: int | str | UnsetType = UNSET
    target: Any = None
    label: int | None = None
    truth: list[int | list[int]] | None = None
    subgraph: _Graph | UnsetType = UNSET
    explanations: list[_Said] = []
    masks: list[str] = []
    outputs: list[list[Number]] = []
    apart: float = 0.0


# What stands at a place of a file, for errors.
Placed = tuple[str, _Line]


@dataclass(frozen=True, eq=False, repr=False)
class AnswerTable:
    """Answered events in order, with the settings they were collected under; `notes` say what was left out.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> context = explanation.Context(explanation.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    >>> found = explanation.Explanation(context, [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(Sum(), [found], sparsity_levels=[0.3], random=0)
    >>> table.save("answers.jsonl")
    >>> explanation.read_table("answers.jsonl").explainers
    ['mine']
    """

    settings: Settings
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()
    # What explainers share: samples of random orders.
    shared: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        classes = {event.outputs.shape[1] for event in self.events if len(event.outputs)}
        if len(classes) > 1:
            raise InputError(f"answers with {' and '.join(map(str, sorted(classes)))} classes in one table")
        refuse_two_kinds(event.id for event in self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __repr__(self) -> str:
        said = f"{len(self)} events, {self.masks} masks, {self.settings.model_output or 'no'} answers"
        return f"<AnswerTable of {', '.join(self.explainers) or 'no explainer'}: {said}>"

    @property
    def explainers(self) -> list[str]:
        """The explainers, in order of first appearance."""
        return list(dict.fromkeys(each.explainer for event in self.events for each in event.explanations))

    @property
    def masks(self) -> int:
        """The number of answered masks."""
        return sum(len(event.masks) for event in self.events)

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]], where: str = "table") -> AnswerTable:
        """A table from the dictionaries of its lines, as in a .jsonl file.

        Parameters
        ----------
        records
            The header and one dictionary per event.
        where
            What errors call the source.

        Returns
        -------
        AnswerTable
            The table.
        """
        numbered = enumerate(records, 1)
        return _table([_line(f"{where}, line {n}", partial(msgspec.convert, each)) for n, each in numbered], where)

    def save(self, path: str | Path) -> None:
        """Write a .jsonl file, completely or not at all.

        Parameters
        ----------
        path
            A file that ends in .jsonl.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        notes = [note_line(note) for note in self.notes]
        write_lines([header_line(self.settings), *map(event_line, self.events), *notes], path_of(path, TABLE))


def chosen_of(explainers: Iterable[str], name: str | None) -> str:
    """The explainer to evaluate: the given one, or the only one."""
    names = [*dict.fromkeys(explainers)]
    if name is None and len(names) > 1:
        fix = "Choose one with explainer=; collect() asks about all, and compare() compares them."
        raise OptionError(f"{len(names)} explainers: {', '.join(names)}", fix=fix)
    return one_of("explainer", name, [*names, RANDOM]) if name is not None else names[0] if names else "explainer"


def read_table(path: str | Path) -> AnswerTable:
    """Read a table; this executes no code from the file. An incomplete last line is left out, with a note.

    Parameters
    ----------
    path
        A .jsonl file that `collect` or `AnswerTable.save` wrote.

    Returns
    -------
    AnswerTable
        For `evaluate` and `compare`.

    Raises
    ------
    InputError
        If the file cannot be read.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> context = explanation.Context(graph, event=0, truth=[1, 0, 0])
    >>> mine = explanation.Explanation(context, [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(None, [mine], metrics=["truth_auc"], path="answers.jsonl")
    >>> len(explanation.read_table("answers.jsonl")) == len(table)
    True
    """
    table, complete = read_part(path_of(path, TABLE))
    if complete:
        return table
    return replace(table, notes=(*table.notes, "the last line of the file is incomplete and was left out"))


def read_part(path: Path) -> tuple[AnswerTable, bool]:
    """The table in a file, and whether its last line is complete."""
    lines, complete = _read_lines(path)
    return _table(lines, str(path)), complete


def read_explanations(path: str | Path) -> list[Explanation]:
    """The explanations in a .jsonl file: one event per line with its subgraph and explanations; or those of a table.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of Explanation
        In the order of the file.

    Raises
    ------
    InputError
        If a line cannot be read; the message names it.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> mine = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> explanation.write_explanations([mine], "run.jsonl")
    >>> explanation.read_explanations("run.jsonl")[0].importance.tolist()
    [0.9, 0.2, 0.1]
    """
    lines, complete = _read_lines(path_of(path))
    if not lines or not complete:
        what = "the last line is incomplete" if lines else "is empty"
        raise InputError(what, where=str(path), fix="Write it again with write_explanations.")
    if lines[0][1].schema is not UNSET:
        return [each for event in _table(lines, str(path)) for each in event.explanations]
    found: list[Explanation] = []
    for place, line in lines:
        with located(place):
            found += _event(line, None).explanations
    with located(str(path)):
        return [each for event in grouped(found) for each in event.explanations]


def write_explanations(explanations: Iterable[Explanation], path: str | Path) -> None:
    """Write explanations with their subgraphs to a .jsonl file, one event per line.

    Parameters
    ----------
    explanations
        Explanations of any number of events and explainers.
    path
        The file to write; an existing one is replaced.

    Returns
    -------
    None
        The file is complete when the function returns.

    Raises
    ------
    UnwritableError
        If the file cannot be written.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> mine = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> explanation.write_explanations([mine], "run.jsonl")
    >>> [found.explainer for found in explanation.read_explanations("run.jsonl")]
    ['mine']
    """
    if isinstance(explanations, str | Path):
        fix = "Call write_explanations(explanations, path)."
        raise InputError("expected explanations, found a path", where="explanations", fix=fix)
    write_lines(map(event_line, grouped(explanations)), path_of(path))


# ---- writing


def header_line(settings: Settings) -> bytes:
    """The first line of a table."""
    return _encoded(_Line(schema=SCHEMA, settings=settings.to_dict()))


def note_line(note: str) -> bytes:
    """A line that says what was left out."""
    return _encoded(_Line(note=note))


def event_line(event: Event) -> bytes:
    """The line of an event."""
    context, graph = event.context, event.subgraph
    every = graph.masked == EDGES and np.array_equal(graph.candidates, np.arange(graph.edges))
    subgraph = _Graph(
        edge_index=graph.edge_index.tolist(),
        nodes=graph.nodes.tolist(),
        times=None if graph.times is None else graph.times.tolist(),
        candidates=None if every else graph.candidates.tolist(),
        units=None if graph.units is None else graph.units.tolist(),
        ids=None if np.array_equal(graph.ids, graph.candidates) else graph.ids.tolist(),
        masked=graph.masked,
    )
    said = [
        _Said(one.explainer, plain(one.importance), None if one.elapsed is None else float(one.elapsed), one.seed)
        for one in event.explanations
    ]
    truths: Any = [np.flatnonzero(truth).tolist() for truth in context.truths]
    return _encoded(
        _Line(
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


def _encoded(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write a file, completely or not at all."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        stream.writelines(lines)


# ---- reading


def _read_lines(path: Path) -> tuple[list[Placed], bool]:
    """The lines of a file with their places, and whether the last one is complete."""
    content = read_bytes(path)
    lines = content.split(b"\n")
    found: list[Placed] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        place, ended = f"{path}, line {number}", number < len(lines)
        try:
            found.append(_line(place, partial(msgspec.json.decode, text)))
        except InputError as error:
            if not ended and found and not isinstance(error.__cause__, msgspec.ValidationError):
                return found, False
            raise
    return found, True


def _line(place: str, decode: Callable[..., _Line]) -> Placed:
    """A line of its text or dictionary."""
    try:
        return place, decode(type=_Line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not valid: {error}"
        raise InputError(what, where=place, fix="Write it again with write_explanations or collect.") from error


def _table(lines: Sequence[Placed], where: str) -> AnswerTable:
    """A table of its lines: each header has the settings of the first, or wider ones."""
    if not lines:
        raise InputError("is empty", where=where, fix="A table has at least a header.")
    settings: Settings | None = None
    events: dict[EventId, Event] = {}
    notes: dict[str, None] = {}
    for place, line in lines:
        with located(place):
            if line.schema is not UNSET:
                settings = _header(line, settings)
            elif settings is None:
                raise InputError("not a table: it has no header", fix="Read explanations with read_explanations.")
            elif line.note is not UNSET:
                notes[line.note] = None
            else:
                event = _event(line, settings)
                events[event.id] = joined(events[event.id], event) if event.id in events else event
    assert settings is not None
    with located(where):
        return AnswerTable(settings, tuple(events.values()), tuple(notes))


def _header(line: _Line, before: Settings | None) -> Settings:
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


def _event(line: _Line, settings: Settings | None) -> Event:
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


def _subgraph(graph: _Graph) -> Subgraph:
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


def path_of(path: Any, ending: str = "") -> Path:
    """A path, or an error that says what was passed in its place; that of a table ends in .jsonl."""
    try:
        target = Path(path)
    except TypeError:
        raise InputError(f"expected a path, found {type(path).__name__}", where="path") from None
    if ending and target.suffix.lower() != ending:
        what = f"unknown file ending {target.suffix.lower()!r} for a table"
        raise InputError(what, where=str(path), fix=f"Use {ending}.")
    return target
