"""Tables of answers and explanations, and their .jsonl files: a header with the settings, then one event per line.

A file of explanations has no header. Several lines of one event are joined, so that answers can be added to a file, and
files of the same settings joined with `cat`.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from graphgauge.core.disk import UnwritableError, atomic_path, read_bytes
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.number import plain
from graphgauge.explanation.events import (
    SCHEMA,
    Event,
    EventId,
    Line,
    event_line,
    event_of,
    grouped,
    header_line,
    joined,
    line_of,
    located,
    note_line,
    refuse_two_kinds,
)
from graphgauge.explanation.inputs import RANDOM, Explanation
from graphgauge.explanation.masks import Settings

TABLE = ".jsonl"
# A line with its place in a file, for errors.
Placed = tuple[str, Line]


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
        texts = (msgspec.json.encode(plain(record)) for record in records)
        return _table([_placed(f"line {number}", text) for number, text in enumerate(texts, 1)], where)

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
    lines, complete = read_lines(path)
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
    lines, complete = read_lines(path_of(path))
    if not lines or not complete:
        what = "the last line is incomplete" if lines else "is empty"
        raise InputError(what, where=str(path), fix="Write it again with write_explanations.")
    with located(str(path)):
        _, events, _ = _joined_lines(lines)
        refuse_two_kinds(events)
    return [each for event in events.values() for each in event.explanations]


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
    write_lines(map(event_line, grouped(explanations)), path_of(path))


# ---- lines


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write a file, completely or not at all."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        stream.writelines(lines)


def read_lines(path: Path) -> tuple[list[Placed], bool]:
    """The lines of a file with their places, and whether the last one is complete."""
    content = read_bytes(path)
    lines = content.removeprefix(BOM_UTF8).split(b"\n")
    placed: list[Placed] = []
    for number, text in enumerate(lines, 1):
        try:
            with located(str(path)):
                placed += [_placed(f"line {number}", text)] if text.strip() else []
        except InputError as error:
            if number == len(lines) and placed and not isinstance(error.__cause__, msgspec.ValidationError):
                return placed, False
            raise
    return placed, True


def _placed(place: str, text: bytes) -> Placed:
    with located(place):
        return place, line_of(text)


def _table(lines: Sequence[Placed], where: str) -> AnswerTable:
    with located(where):
        if not lines:
            raise InputError("is empty", fix="A table has at least a header.")
        settings, events, notes = _joined_lines(lines)
        if settings is None:
            raise InputError("not a table: it has no header", fix="Read explanations with read_explanations.")
        return AnswerTable(settings, tuple(events.values()), tuple(notes))


def _settings_of(line: Line, before: Settings | None) -> Settings:
    """The settings of a header: those of an earlier one, or wider ones."""
    if line.schema != SCHEMA or line.settings is UNSET:
        what = f"not a table: its schema is {line.schema!r:.80}"
        raise InputError(what, fix=f"Expected {SCHEMA!r}, with settings.")
    if before is not None and not line.settings.extends(before):
        names = ", ".join(line.settings.differing(before))
        raise InputError(f"a second header has other settings: {names}", fix="Keep such tables apart.")
    return line.settings


def _joined_lines(lines: Sequence[Placed]) -> tuple[Settings | None, dict[EventId, Event], dict[str, None]]:
    """The settings of the headers, of which each has those of the first or wider ones, the events by id, and notes."""
    settings: Settings | None = None
    events: dict[EventId, Event] = {}
    notes: dict[str, None] = {}
    for place, line in lines:
        with located(place):
            if line.schema is not UNSET:
                settings = _settings_of(line, settings)
            elif line.note is not UNSET:
                notes[line.note] = None
            else:
                event = event_of(line, settings)
                events[event.id] = joined(events[event.id], event) if event.id in events else event
    return settings, events, notes


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


# ---- adding to a file


class Journal:
    """The events that are answered already, by id; with a path, those of the file, to which finished ones are added."""

    def __init__(self, path: str | Path | None, settings: Settings, table: AnswerTable | None = None) -> None:
        self._path = None if path is None else path_of(path, TABLE)
        self._settings, self._head = settings, header_line(settings)
        self.held: dict[EventId, Event] = {}
        self.notes: list[str] = []
        self._filed: dict[EventId, Any] = {}
        if table is not None:
            self._take(table, "table")
        if self._path is not None and self._path.is_file() and self._path.stat().st_size > 0:
            self._resume(self._path)

    def joined(self, event: Event) -> Event:
        """The event with what is held of it; another question or importance under the same names is an error."""
        if event.id not in self.held:
            return event
        with located("table" if self._path is None else str(self._path)):
            return joined(self.held[event.id], event)

    def add(self, event: Event) -> None:
        """Keep an event, and append it if the file does not have all of it."""
        self.held[event.id] = event
        if self._path is not None and self._filed.get(event.id) != _content(event):
            self._write(event_line(event))
            self._filed[event.id] = _content(event)

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
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One write per event: an interruption leaves at most one incomplete line.
            with self._path.open("ab") as stream:
                stream.write(self._head + line)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UnwritableError(f"cannot be written ({reason})", where=str(self._path)) from None
        self._head = b""

    def _resume(self, path: Path) -> None:
        """Take what the file has, and make it end with a complete line."""
        table, complete = read_part(path)
        self._take(table, str(path))
        content = read_bytes(path)
        if not content.endswith(b"\n"):
            write_lines([content + b"\n" if complete else content[: content.rfind(b"\n") + 1]], path)
        self._head = b"" if table.settings == self._settings else self._head
        self._filed = {event.id: _content(event) for event in table}

    def _take(self, table: AnswerTable, where: str) -> None:
        """Start from the answers of a table, if these settings ask for all of its masks."""
        if not self._settings.extends(table.settings):
            what = f"was collected with different settings: {', '.join(self._settings.differing(table.settings))}"
            fix = "Collect into another file; levels can be added, but not left out."
            raise InputError(what, where=where, fix=fix)
        self.held |= {event.id: event for event in table}
        self.notes += [note for note in table.notes if note not in self.notes]


def _content(event: Event) -> tuple[Any, ...]:
    """How much of an event a line has."""
    return len(event.masks), len(event.explanations), event.context.label, event.context.truth is None
