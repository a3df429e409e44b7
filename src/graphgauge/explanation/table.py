"""Files of explanations and answers: .jsonl, a header with the settings, then one event per line.

A file of explanations has no header. A later line of an event replaces the earlier one and has all that it had, so that
answers can be added to a file, and files of the same settings joined with `cat`. Reading runs no code from a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from graphgauge.core.arrays import refuse_nan
from graphgauge.core.disk import UnwritableError, atomic_path, read_bytes
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.number import plain
from graphgauge.core.types import Mask
from graphgauge.explanation.events import (
    Event,
    EventId,
    answer_rows,
    checked_outputs,
    grouped,
    plain_target,
    refuse_two_kinds,
    same_facts,
    same_question,
)
from graphgauge.explanation.inputs import EDGES, Context, Explanation, Subgraph
from graphgauge.explanation.masks import Settings, packed

SCHEMA = "graphgauge/explanation/3"
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

    def chosen(self, name: str | None) -> str:
        """The explainer to evaluate: the given one, or the only one.

        Parameters
        ----------
        name
            The name of an explainer, or None.

        Returns
        -------
        str
            Its name.

        Raises
        ------
        OptionError
            If there are several and none is named.
        """
        names = self.explainers
        if name is None and len(names) > 1:
            fix = "Choose one with explainer=; compare() compares them."
            raise OptionError(f"{len(names)} explainers: {', '.join(names)}", fix=fix)
        return one_of("explainer", name, names) if name is not None else names[0] if names else "explainer"

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], where: str = "table") -> AnswerTable:
        """A table from the dictionaries of its lines: the header, then one per event.

        Parameters
        ----------
        records
            The header and one dictionary per event, as in a .jsonl file.
        where
            What errors call the source.

        Returns
        -------
        AnswerTable
            The table.

        Raises
        ------
        InputError
            If a record is not valid; the message names it.
        """
        placed = [(f"{where}, line {number}", record) for number, record in enumerate(records, 1)]
        return _table([(place, _converted(place, record)) for place, record in placed], where)

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
        write_lines([header_line(self.settings), *map(event_line, self.events), *notes], table_path(path))


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
    table, complete = read_part(table_path(path))
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
        with _located(place):
            found += _event(line, None).explanations
    with _located(str(path)):
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
    usual = np.arange(int(graph.edge_index.max(initial=-1)) + 1)
    few = len(graph.nodes) <= _FEW_NODES + _NODES_PER_EDGE * graph.edges
    every = graph.masked == EDGES and np.array_equal(graph.candidates, np.arange(graph.edges))
    subgraph = _Graph(
        edge_index=graph.edge_index.tolist(),
        nodes=None if few and np.array_equal(graph.nodes, usual) else graph.nodes.tolist(),
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
            masks=[key.hex() for key in packed(event.masks)],
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
            found.append((place, msgspec.json.decode(text, type=_Line)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not ended and found and not isinstance(error, msgspec.ValidationError):
                return found, False
            raise _unreadable(place, error) from None
    return found, True


def _converted(place: str, record: Any) -> _Line:
    try:
        return msgspec.convert(record, _Line)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _unreadable(place, error) from None


def _unreadable(place: str, error: Exception) -> InputError:
    what = "is nested too deeply" if isinstance(error, RecursionError) else f"is not valid: {error}"
    return InputError(what, where=place, fix="Write it again with write_explanations or collect.")


def _table(lines: Sequence[Placed], where: str) -> AnswerTable:
    """A table of its lines: each header has the settings of the first, or wider ones."""
    if not lines:
        raise InputError("is empty", where=where, fix="A table has at least a header.")
    settings: Settings | None = None
    events: dict[EventId, Event] = {}
    notes: dict[str, None] = {}
    for place, line in lines:
        with _located(place):
            if line.schema is not UNSET:
                settings = _header(line, settings)
            elif settings is None:
                raise InputError("not a table: it has no header", fix="Read explanations with read_explanations.")
            elif line.note is not UNSET:
                notes[line.note] = None
            else:
                event = _event(line, settings)
                if event.id in events:
                    _refuse_other(events[event.id], event)
                events[event.id] = event
    assert settings is not None
    with _located(where):
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
    try:
        outputs = answer_rows(np.array(line.outputs, np.float64), len(masks), "outputs")
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError("rows differ in length", where="outputs") from None
    return replace(
        event, masks=masks, outputs=checked_outputs(outputs, settings.model_output, "outputs"), apart=line.apart
    )


def _subgraph(graph: _Graph) -> Subgraph:
    edges = [np.array(row, np.int64) for row in graph.edge_index]
    if len(edges) != 2 or len(edges[0]) != len(edges[1]):
        raise InputError("expected sources and targets as two equally long rows", where="edge_index")
    largest = max((int(row.max(initial=-1)) for row in edges), default=-1)
    if graph.nodes is None and largest >= _FEW_NODES + _NODES_PER_EDGE * len(edges[0]):
        raise InputError(f"there is no node {largest}", where="edge_index", fix="List the nodes.")
    return Subgraph(np.stack(edges), graph.nodes, graph.times, graph.candidates, graph.units, graph.ids, graph.masked)


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
    try:
        content = [bytes.fromhex(line) for line in lines]
    except ValueError:
        raise InputError("expected hexadecimal text", where="masks") from None
    if any(len(line) != size for line in content):
        raise InputError(f"expected {size} bytes per mask, one bit for each of {width} candidates", where="masks")
    if len({*content}) < len(content):
        raise InputError("a mask is listed twice", where="masks")
    bits = np.frombuffer(b"".join(content), np.uint8).reshape(len(content), size)
    return np.unpackbits(bits, axis=1, count=width).astype(bool)


def _refuse_other(before: Event, again: Event) -> None:
    """An event that follows again has all explanations and answers that it had before."""
    said = {each.key: each.importance for each in again.explanations}
    if same_question(before.context, again.context) and all(
        each.key in said and np.array_equal(each.importance, said[each.key]) for each in before.explanations
    ):
        answers = dict(zip(packed(again.masks), again.outputs, strict=True))
        known = zip(packed(before.masks), before.outputs, strict=True)
        if all(mask in answers and np.array_equal(answers[mask], output) for mask, output in known):
            return
    raise InputError(
        f"event {before.id!r:.80} follows again with other explanations, questions or answers",
        fix="Is it two tables in one file? collect(…, table=first) adds explainers to a table.",
    )


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Add the place in a file to errors."""
    try:
        yield
    except InputError as error:
        where = place if error.where is None else f"{place}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None
    except (ValueError, OverflowError) as error:
        raise InputError(f"cannot be read ({error})", where=place) from None


def table_path(path: Any) -> Path:
    """The path of a table, which ends in .jsonl."""
    target = path_of(path)
    if target.suffix.lower() != ".jsonl":
        what = f"unknown file ending {target.suffix.lower()!r} for a table"
        raise InputError(what, where=str(path), fix="Use .jsonl.")
    return target


def path_of(path: Any) -> Path:
    """A path, or an error that says what was passed in its place."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"expected a path, found {type(path).__name__}", where="path") from None


# ---- adding to a file


class Journal:
    """The events that are answered already, by id; with a path, those of the file, to which finished ones are added."""

    def __init__(self, path: str | Path | None, settings: Settings, table: AnswerTable | None = None) -> None:
        self._path = None if path is None else table_path(path)
        self._settings = settings
        self._headed = False
        self.held: dict[EventId, Event] = {}
        self.notes: list[str] = []
        self._filed: dict[EventId, tuple[int, int]] = {}
        if table is not None:
            self._take(table, "table")
        if self._path is not None and self._path.is_file() and self._path.stat().st_size > 0:
            self._resume(self._path)

    def joined(self, event: Event) -> Event:
        """The event with what is held of it; another question or importance under the same names is an error."""
        held = self.held.get(event.id)
        if held is None:
            return event
        new = {each.key: each for each in event.explanations}
        changed = any(
            each.key in new and not np.array_equal(each.importance, new[each.key].importance)
            for each in held.explanations
        )
        if changed or not same_facts(held.context, event.context):
            raise InputError(
                f"contains event {event.id!r:.80} with a different subgraph, target, truth or importance",
                where="table" if self._path is None else str(self._path),
                fix="Collect into another file.",
            )
        earlier = [replace(each, context=event.context) for each in held.explanations if each.key not in new]
        return replace(held, context=event.context, explanations=(*earlier, *event.explanations))

    def add(self, event: Event) -> None:
        """Keep an event, and append it if the file does not have all of it."""
        self.held[event.id] = event
        size = len(event.masks), len(event.explanations)
        if self._path is not None and self._filed.get(event.id) != size:
            self._write(event_line(event))
            self._filed[event.id] = size

    def note(self, note: str) -> None:
        """Keep what is to say about all, once."""
        if note not in self.notes:
            self.notes.append(note)
            self._write(note_line(note))

    def close(self) -> None:
        """A table without events still has a header."""
        self._write(b"")

    def _write(self, line: bytes) -> None:
        if self._path is None:
            return
        head = b"" if self._headed else header_line(self._settings)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One write per event: an interruption leaves at most one incomplete line.
            with self._path.open("ab") as stream:
                stream.write(head + line)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UnwritableError(f"cannot be written ({reason})", where=str(self._path)) from None
        self._headed = True

    def _resume(self, path: Path) -> None:
        """Take what the file has, and make it end with a complete line."""
        table, complete = read_part(path)
        self._take(table, str(path))
        content = read_bytes(path)
        if not content.endswith(b"\n"):
            whole = content + b"\n" if complete else content[: content.rfind(b"\n") + 1]
            write_lines([whole], path)
        self._headed = table.settings == self._settings
        self._filed = {event.id: (len(event.masks), len(event.explanations)) for event in table}

    def _take(self, table: AnswerTable, where: str) -> None:
        """Start from the answers of a table, if these settings ask for all of its masks."""
        if not self._settings.extends(table.settings):
            what = f"was collected with different settings: {', '.join(self._settings.differing(table.settings))}"
            fix = "Collect into another file; levels can be added, but not left out."
            raise InputError(what, where=where, fix=fix)
        self.held |= {event.id: event for event in table}
        self.notes += [note for note in table.notes if note not in self.notes]
