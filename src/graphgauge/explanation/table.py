"""A model's answers for the masks of every event, stored so that they can be scored again without the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.fields import answer_rows, checked_outputs
from graphgauge.explanation.inputs import Context, Explanation, Masks, Subgraph
from graphgauge.explanation.masks import Settings, packed
from graphgauge.explanation.records import (
    Event,
    EventId,
    grouped,
    masks_from_text,
    masks_to_text,
    same_question,
    unpacked_bytes,
)
from graphgauge.old.core.files import atomic_path, read_json_lines, require_bounded_text
from graphgauge.old.core.schema import number_from_json, number_to_json

SCHEMA = "graphgauge/explanation/1"
_SIZES = "Check the numbers of nodes, shapes and truths."


@dataclass(frozen=True, eq=False)
class Answered:
    """One event with its distinct masks (R, E) and the model's answers (R, C)."""

    event: Event
    masks: Masks
    outputs: Floats

    @property
    def id(self) -> EventId:
        return self.event.id

    @property
    def context(self) -> Context:
        return self.event.context

    @property
    def subgraph(self) -> Subgraph:
        return self.event.subgraph

    def of(self, explainer: str) -> list[Explanation]:
        return [explanation for explanation in self.event.explanations if explanation.explainer == explainer]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.event.to_dict(),
            "masks": masks_to_text(self.masks),
            "outputs": _listed_rows(self.outputs),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], model_output: str | None) -> Answered:
        event = Event.from_dict(record)
        for explanation in event.explanations:
            explanation.refuse_nan()
        masks = masks_from_text(record.get("masks"), len(event.subgraph), none=model_output is None)
        if len(set(packed(masks))) < len(masks):
            raise InputError("a mask is listed twice", where="masks")
        answer = _rows(record.get("outputs"))
        if not len(masks) and not len(answer):
            return cls(event, masks, np.empty((0, 1)))
        outputs = answer_rows(answer, len(masks), "outputs")
        return cls(event, masks, checked_outputs(outputs, model_output, "outputs"))


def _listed_rows(outputs: Floats) -> list[list[Any]]:
    return [[number_to_json(value) for value in row] for row in outputs]


def _rows(outputs: Any) -> Floats:
    try:
        return np.array([[number_from_json(value) for value in row] for row in outputs], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("expected one row of numbers per mask", where="outputs") from None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answered events in order, with the settings they were collected under.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> context = explanation.Context(explanation.Subgraph([[0, 1, 2], [1, 2, 3]]), event=0)
    >>> found = explanation.Explanation(context, [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(Sum(), [found], levels=[0.3], random=0)
    >>> table.save("answers.jsonl")
    >>> explanation.read_table("answers.jsonl").explainers
    ['mine']
    """

    settings: Settings
    rows: tuple[Answered, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        classes = {row.outputs.shape[1] for row in self.rows if len(row.outputs)}
        if len(classes) > 1:
            raise InputError(f"answers with {' and '.join(map(str, sorted(classes)))} classes in one table")
        ids = [str(row.id) for row in self.rows]
        if len(set(ids)) < len(ids):
            twice = next(row.id for index, row in enumerate(self.rows) if ids[index] in ids[:index])
            raise InputError(f"event {twice!r:.80} is in the table twice")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Answered]:
        return iter(self.rows)

    @property
    def explainers(self) -> list[str]:
        return list(dict.fromkeys(one.explainer for row in self.rows for one in row.event.explanations))

    @property
    def masks(self) -> int:
        """The number of answered masks."""
        return sum(len(row.masks) for row in self.rows)

    def explainer(self, name: str | None) -> str:
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
        return chosen_explainer(self.explainers, name)

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], where: str = "table") -> AnswerTable:
        """A table from its dictionaries: the header, then one per event.

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
        return cls._placed([(f"{where}, line {number}", record) for number, record in enumerate(records, 1)], where)

    @classmethod
    def _placed(cls, records: Sequence[tuple[str, Any]], where: str) -> AnswerTable:
        """A table from dictionaries, each with its location for messages."""
        for place, record in records:
            if not isinstance(record, Mapping):
                raise InputError(f"expected a table, found {type(record).__name__}", where=place)
        if not records:
            raise InputError("is empty", where=where, fix="A table has at least a header.")
        settings, notes = _header(*records[0])
        rows: list[Answered] = []
        added: dict[EventId, Answered] = {}  # since the last header, which extends the settings
        for place, record in records[1:]:
            if "schema" in record and "event" not in record:
                wider, more = _header(place, record)
                if not wider.extends(settings):
                    raise InputError("a second header has other settings", where=place)
                settings, notes = wider, notes + more
                with _located(place):
                    rows, added = _replaced(rows, added), {}
                continue
            with _located(place):
                if "notes" in record and "event" not in record:
                    notes += _notes(record)
                    continue
                row = Answered.from_dict(record, settings.model_output)
                if row.id in added:
                    raise InputError(f"event {row.id!r:.80} is in the table twice")
                added[row.id] = row
        with _located(where):
            return cls(settings, tuple(_replaced(rows, added)), notes)

    @classmethod
    def from_lines(cls, path: Path) -> tuple[AnswerTable, bool]:
        """The table in a .jsonl file, and whether an incomplete line follows it.

        Parameters
        ----------
        path
            A .jsonl file.

        Returns
        -------
        tuple[AnswerTable, bool]
            The table, and whether its last line is incomplete.
        """
        records, cut_off = _read_lines(path)
        return cls._placed(records, str(path)), cut_off

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """The header, then one dictionary per event, as `of` reads them.

        Returns
        -------
        Iterator[dict[str, Any]]
            The dictionaries.
        """
        yield header_to_dict(self.settings, self.notes)
        for row in self.rows:
            yield row.to_dict()

    def save(self, path: str | Path) -> None:
        """Write a .jsonl file atomically.

        Parameters
        ----------
        path
            A file that ends in .jsonl.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        _write_lines(self.to_dicts(), _table_path(path))


def _replaced(rows: Sequence[Answered], added: Mapping[EventId, Answered]) -> list[Answered]:
    """The rows, with those of events that were answered again in their place."""
    for row in rows:
        if row.id in added:
            _refuse_other(row, added[row.id])
    kept = [added.get(row.id, row) for row in rows]
    known = {row.id for row in rows}
    return kept + [row for name, row in added.items() if name not in known]


def _refuse_other(before: Answered, again: Answered) -> None:
    """An event that is answered again has all explanations and answers that it had before."""
    said = {each.key: each.importance for each in again.event.explanations}
    same = all(
        each.key in said and np.array_equal(each.importance, said[each.key]) for each in before.event.explanations
    )
    answers = dict(zip(packed(again.masks), again.outputs, strict=True))
    if same and same_question(before.context, again.context):
        known = zip(packed(before.masks), before.outputs, strict=True)
        if all(mask in answers and np.array_equal(answers[mask], output) for mask, output in known):
            return
    raise InputError(
        f"event {before.id!r:.80} follows again with other explanations, questions or answers",
        fix="Is it two tables in one file? collect(…, table=first) adds explainers to a table.",
    )


def chosen_explainer(known: Iterable[str], name: str | None) -> str:
    """The given explainer, or the only one."""
    names = list(dict.fromkeys(known))
    if name is None and len(names) > 1:
        raise OptionError(
            f"{len(names)} explainers: {', '.join(names)}",
            fix="Choose one with explainer=; compare() compares them.",
        )
    if name is not None:
        return one_of("explainer", name, names)
    return names[0] if names else "explainer"


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
    >>> import numpy as np
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> mine = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(Sum(), [mine], levels=[0.3], random=0, path="answers.jsonl")
    >>> explanation.read_table("answers.jsonl").masks == table.masks
    True
    """
    table, cut_off = AnswerTable.from_lines(_table_path(path))
    if not cut_off:
        return table
    return AnswerTable(
        table.settings, table.rows, (*table.notes, "the last line of the file is incomplete and was left out")
    )


def read_explanations(path: str | Path) -> list[Explanation]:
    """The explanations in a .jsonl file: one event per line with its subgraph and explanations.

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
    records, cut_off = _read_lines(path_of(path))
    if not records or cut_off:
        what = "the last line is incomplete" if records else "is empty"
        raise InputError(what, where=str(path), fix="Write it again with write_explanations.")
    events: dict[EventId, list[Explanation]] = {}
    earlier: frozenset[EventId] = frozenset()
    for place, record in records:
        if "event" not in record and ("schema" in record or "notes" in record):
            if "schema" in record:  # the header of a table, whose answers are not read; later events replace earlier
                earlier = frozenset(events)
            continue
        with _located(place):
            event = Event.from_dict(record)
        if event.id in earlier:
            events[event.id] = []
            earlier -= {event.id}
        events.setdefault(event.id, []).extend(event.explanations)
    return [explanation for said in events.values() for explanation in said]


def _read_lines(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
    """The lines of a file, unless they stand for far more memory than they have text."""
    records, cut_off = read_json_lines(path)
    size = sum(unpacked_bytes(record) for _, record in records)
    require_bounded_text(path.stat().st_size, size, str(path), _SIZES)
    return records, cut_off


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
        raise InputError(
            "expected explanations, found a path",
            where="explanations",
            fix="Call write_explanations(explanations, path).",
        )
    _write_lines((event.to_dict() for event in grouped(explanations)), path_of(path))


def header_to_dict(settings: Settings, notes: Iterable[str] = ()) -> dict[str, Any]:
    return {"schema": SCHEMA, "settings": settings.to_dict(), "notes": list(notes)}


def _header(where: str, record: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
    if record.get("schema") != SCHEMA:
        found = record.get("schema")
        raise InputError(f"not a table: its schema is {found!r:.80}", where=where, fix=f"Expected {SCHEMA!r}.")
    try:
        settings = Settings.from_dict(record["settings"])
    except InputError as error:
        raise InputError(f"settings: {error.what}", where=where) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"not a header ({type(error).__name__} {error})", where=where) from None
    with _located(where):
        return settings, _notes(record)


def _notes(record: Mapping[str, Any]) -> tuple[str, ...]:
    notes = record.get("notes", [])
    if not isinstance(notes, list):
        raise InputError(f"expected a list, found {type(notes).__name__}", where="notes")
    return tuple(map(str, notes))


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Add the line number to errors."""
    try:
        yield
    except InputError as error:
        where = place if error.where is None else f"{place}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def _table_path(path: Any) -> Path:
    target = path_of(path)
    if target.suffix.lower() != ".jsonl":
        raise InputError(
            f"unknown file ending {target.suffix.lower()!r} for a table", where=str(path), fix="Use .jsonl."
        )
    return target


def path_of(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"expected a path, found {type(path).__name__}", where="path") from None


def json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n"


def _write_lines(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(map(json_line, records))
