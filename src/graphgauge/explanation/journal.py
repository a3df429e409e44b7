"""The file that finished events are appended to, so that an interrupted run keeps them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.masks import Settings
from graphgauge.explanation.records import Event, EventId, same_question
from graphgauge.explanation.table import Answered, AnswerTable, header_to_dict, json_line, path_of


class Journal:
    """Answered events in order, starting with those already in the file; without a path, only kept in memory."""

    def __init__(self, path: str | Path | None, settings: Settings) -> None:
        self._path = None if path is None else path_of(path)
        self._settings = settings
        self._stream: BinaryIO | None = None
        self._headed = False
        self._held: dict[EventId, Answered] = {}
        self.rows: list[Answered] = []
        self.notes: tuple[str, ...] = ()

    def __enter__(self) -> Journal:
        if self._path is None:
            return self
        if self._path.suffix.lower() != ".jsonl":
            raise OptionError(
                f"{self._path.name}: answers are appended to .jsonl files", fix="Save the table as .parquet afterwards."
            )
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

    def holds(self, event: Event) -> bool:
        """Whether the file contains the event; different explanations are an error, because the answers do not fit."""
        found = self._held.get(event.id)
        if found is None:
            return False
        if _said(found.event) != _said(event) or not same_question(found.context, event.context):
            raise InputError(
                f"contains event {event.id!r:.80} with a different subgraph, target, truth or importance",
                where=str(self._path), fix="Collect into another file.",
            )  # fmt: skip
        return True

    def add(self, row: Answered, notes: Sequence[str]) -> None:
        self.rows.append(row)
        if self._stream is not None:
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
        if table.settings != self._settings:
            stored, asked = table.settings.to_dict(), self._settings.to_dict()
            differing = ", ".join(name for name in stored if stored[name] != asked[name])
            raise InputError(
                f"was collected with different settings: {differing}", where=str(path), fix="Collect into another file."
            )
        self.rows, self.notes = list(table.rows), table.notes
        self._held = {row.id: row for row in self.rows}
        self._headed = True
        return cut_off


def _repair(path: Path, cut_off: bool) -> None:
    """Make the file end with a complete line: cut off an incomplete one, or add the missing newline."""
    with path.open("rb+") as stream:
        content = stream.read()
        if cut_off:
            stream.truncate(content.rfind(b"\n") + 1)
        elif not content.endswith(b"\n"):
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")


def _said(event: Event) -> tuple[Any, ...]:
    """Label, truth and importances of an event, sorted by explainer; elapsed seconds are not compared."""
    label, truth = event.context.label, event.context.truth
    importances = sorted(
        (one.explainer, -1 if one.seed is None else one.seed, one.importance.tobytes()) for one in event.explanations
    )
    return label, None if truth is None else truth.tobytes(), importances
