"""The file that finished events are appended to, so that an interrupted run keeps them and a later one adds to them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.inputs import Context
from graphgauge.explanation.masks import Settings
from graphgauge.explanation.records import Event, EventId, same_question
from graphgauge.explanation.table import Answered, AnswerTable, header_to_dict, json_line, path_of


class Journal:
    """Answered events, starting with those of a table or those already in the file; without a path, only in memory.

    An event that is answered again, for further explanations or levels, follows a second header and replaces the first.
    """

    def __init__(self, path: str | Path | None, settings: Settings, table: AnswerTable | None = None) -> None:
        self._path = None if path is None else path_of(path)
        self._settings = settings
        self._stream: BinaryIO | None = None
        self._headed = self._added_to = False
        self._held: dict[EventId, Answered] = {}
        self.notes: tuple[str, ...] = ()
        if table is not None:
            self._take(table, "table")

    @property
    def rows(self) -> list[Answered]:
        return list(self._held.values())

    @property
    def held(self) -> Mapping[EventId, Answered]:
        return self._held

    def __enter__(self) -> Journal:
        if self._path is None:
            return self
        if self._path.suffix.lower() != ".jsonl":
            raise OptionError(f"{self._path.name}: answers are appended to .jsonl files", fix="Name a .jsonl file.")
        begun = self._path.is_file() and self._path.stat().st_size > 0
        cut_off = self._resume(self._path) if begun else False
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if begun:
                _repair(self._path, cut_off)
            self._stream = self._path.open("ab")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"cannot be written ({reason})", where=str(self._path)) from None
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            if error[0] is None:
                self._head(())  # a table without events still has a header
            self._stream.close()

    def joined(self, event: Event) -> Event:
        """The event with the explanations that are already answered.

        Another question or importance under the same names is an error, because the answers do not fit.
        """
        found = self._held.get(event.id)
        if found is None:
            return event
        new = {explanation.key: explanation for explanation in event.explanations}
        old = {explanation.key: explanation for explanation in found.event.explanations}
        changed = any(not np.array_equal(new[key].importance, old[key].importance) for key in new if key in old)
        known = _facts(found.context) == _facts(event.context)
        if changed or not known or not same_question(found.context, event.context):
            raise InputError(
                f"contains event {event.id!r:.80} with a different subgraph, target, truth or importance",
                where="table" if self._path is None else str(self._path),
                fix="Collect into another file.",
            )
        earlier = [replace(old[key], context=event.context) for key in old if key not in new]
        return Event(event.context, (*earlier, *event.explanations))

    def holds(self, event: Event) -> bool:
        """Whether all explanations of the event are in the file."""
        found = self._held.get(event.id)
        return found is not None and {each.key for each in event.explanations} <= {
            each.key for each in found.event.explanations
        }

    def add(self, row: Answered, notes: Sequence[str]) -> None:
        before = self._held.get(row.id)
        if before is not None and _size(before) == _size(row):
            return  # nothing new was asked
        self._held[row.id] = row
        if self._stream is not None:
            if before is not None and not self._added_to:
                self._headed, self._added_to = False, True
            self._head(notes)
            # One write per line: an interruption leaves at most one incomplete line.
            self._stream.write(json_line(row.to_dict()).encode())
            self._stream.flush()

    def note(self, notes: Sequence[str]) -> None:
        """Append notes that are known only at the end, unless the file has them already."""
        news = [note for note in notes if note not in self.notes]
        self.notes = (*self.notes, *news)
        if self._stream is not None and news:
            self._head(())
            self._stream.write(json_line({"notes": news}).encode())

    def _head(self, notes: Sequence[str]) -> None:
        if self._stream is not None and not self._headed:
            self._stream.write(json_line(header_to_dict(self._settings, notes)).encode())
            self._stream.flush()
            self._headed = True
            self.notes = (*self.notes, *notes)

    def _resume(self, path: Path) -> bool:
        """Load the file's content; returns whether an incomplete line follows it."""
        table, cut_off = AnswerTable.from_lines(path)
        self._take(table, str(path))
        self._headed = table.settings == self._settings
        self._added_to = not self._headed  # the first line is then a second header
        return cut_off

    def _take(self, table: AnswerTable, where: str) -> None:
        """Start from the answers of a table, if these settings ask for all of its masks."""
        if not self._settings.extends(table.settings):
            stored, asked = table.settings.to_dict(), self._settings.to_dict()
            differing = ", ".join(name for name in stored if stored[name] != asked[name])
            raise InputError(
                f"was collected with different settings: {differing}",
                where=where,
                fix="Collect into another file; levels can be added, but not left out.",
            )
        self.notes = table.notes
        self._held = {row.id: row for row in table.rows}


def _repair(path: Path, cut_off: bool) -> None:
    """Make the file end with a complete line: cut off an incomplete one, or add the missing newline."""
    with path.open("rb+") as stream:
        content = stream.read()
        if cut_off:
            stream.truncate(content.rfind(b"\n") + 1)
        elif not content.endswith(b"\n"):
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")


def _facts(context: Context) -> tuple[Any, ...]:
    """Label and truth of an event."""
    return context.label, None if context.truth is None else context.truth.tobytes()


def _size(row: Answered) -> tuple[int, ...]:
    return len(row.masks), len(row.event.explanations)
