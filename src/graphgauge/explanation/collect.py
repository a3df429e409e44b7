"""Asking a model about every distinct mask of every event, in batches, without losing what is finished."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.adapters import as_model, said_output
from graphgauge.explanation.inputs import Explanation, Floats, ManyModel, Masks, Model
from graphgauge.explanation.masks import (
    LEVELS,
    AccAuc,
    Settings,
    event_masks,
    random_rankings,
    rankings,
    unit_importance,
)
from graphgauge.explanation.records import Event, EventId, grouped, same_question
from graphgauge.explanation.table import (
    Answered,
    Table,
    checked_outputs,
    header_from_dict,
    header_to_dict,
    json_line,
    probabilities,
    read_lines,
)

Progress = Callable[[str, int, int], None]
# Probabilities of one mask, asked alone and in a batch, that are this far apart are different answers.
_INVARIANT = 1e-4
_ALONE = "every mask was sent alone"


def collect(
    model: Any,
    explanations: Iterable[Explanation],
    *,
    levels: Sequence[float] = LEVELS,
    topk: Sequence[int] | int | None = None,
    model_output: str | None = None,
    by: str = "value",
    normalize: str = "none",
    ties: str = "fixed",
    random: int = 3,
    batch_edges: int = 30_000,
    seed: int = 0,
    nan: str = "raise",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    path: str | Path | None = None,
    progress: Progress | None = None,
) -> Table:
    """Ask a model about all masks that the metrics need, each distinct mask of an event once.

    Parameters
    ----------
    model
        An object with `predict(subgraph, target, masks)`, as `Model` describes it, or one that `adapters` knows.
    explanations
        Of any number of events, explainers and seeds. Explanations of one event share its masks.
    levels, topk
        How much of an explanation is kept or dropped: shares of the candidate edges, and numbers of them.
    model_output
        What the model returns: `logit` or `probability`. Left out where the model says so itself.
    by, normalize
        Edges are ranked by importance, or by its absolute value (`abs`); `minmax` brings that to [0, 1].
    ties
        Edges of equal importance are taken in the order of time, source and target (`fixed`), or values are averaged
        over random orders of them (`average`).
    random
        How many random orders of the edges of an event make up the random explainer.
    batch_edges
        How many edges, over all masked copies, are sent to the model together.
    nan
        `raise`, or `omit`: explanations with NaN, and events whose answers are NaN, are left out and counted.
    options
        `{"acc_auc": {...}}`, where its sweep differs from the default.
    path
        A .jsonl file. Every finished event is appended to it, and events that it already holds are not asked again.
    progress
        Called after every event with a name of the stage, the number of finished events and that of all.
    """
    one_of("nan", nan, ("raise", "omit"))
    if isinstance(batch_edges, bool) or not isinstance(batch_edges, int) or batch_edges < 1:
        raise OptionError(f"batch_edges must be a whole number of at least 1, not {batch_edges!r}")
    for name in options or {}:
        one_of("metric with masks of its own", name, ("acc_auc",))
    settings = Settings(
        said_output(model, model_output), levels, topk, by, normalize, ties, random, seed,
        AccAuc.of((options or {}).get("acc_auc", {})),
    )  # fmt: skip
    events, notes = _checked(grouped(explanations), nan)
    with _Journal(path, settings) as journal:
        pending = [event for event in events if not journal.holds(event)]
        asking = _Asking(as_model(model), settings, batch_edges, nan)
        if journal.rows:
            asking.classes = journal.rows[0].outputs.shape[1]
        if journal.alone:
            asking.alone = True
        for done, answered in enumerate(asking.answers(pending), len(events) - len(pending) + 1):
            journal.add(answered, asking.notes)
            if progress is not None:
                progress("asking the model", done, len(events))
        journal.note((*asking.notes, *notes, *asking.omissions()))
        answers = {row.id: row for row in journal.rows}
        return Table(settings, tuple(answers[event.id] for event in events if event.id in answers), journal.notes)


def _checked(events: list[Event], nan: str) -> tuple[list[Event], list[str]]:
    """The events, without the explanations that have NaN where these may be left out."""
    kept, omitted = [], 0
    for event in events:
        whole = []
        for explanation in event.explanations:
            if nan == "raise":
                explanation.refuse_nan()
            if np.isnan(explanation.importance).any():
                omitted += 1
            else:
                whole.append(explanation)
        if whole:
            kept.append(Event(event.context, tuple(whole)))
    return kept, [f"{omitted} explanations left out: they have NaN"] if omitted else []


@dataclass
class _Question:
    """The masks of one event and, as they come, the answers."""

    event: Event
    masks: Masks
    answers: list[Floats] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return sum(map(len, self.answers)) == len(self.masks)


@dataclass
class _Part:
    """Some masks of one event, as they go into a batch."""

    question: _Question
    rows: slice

    @property
    def masks(self) -> Masks:
        """Copied, because a model may write into what it is given."""
        return self.question.masks[self.rows].copy()

    def __len__(self) -> int:
        return len(range(*self.rows.indices(len(self.question.masks))))


@dataclass
class _Asking:
    """Sends masks in batches until a check shows that a model's answers depend on what else is in the batch."""

    model: Model
    settings: Settings
    batch_edges: int
    nan: str
    alone: bool = False
    checked: bool = False
    notes: list[str] = field(default_factory=list)
    omitted: int = 0
    classes: int | None = None

    def __post_init__(self) -> None:
        self.alone = self.checked = bool(getattr(self.model, "alone", False))

    def answers(self, events: Sequence[Event]) -> Iterator[Answered]:
        for batch in self._batches(events):
            for part, outputs in zip(batch, self._asked(batch), strict=True):
                part.question.answers.append(outputs)
                if part.question.done:
                    yield from self._finished(part.question)

    def omissions(self) -> list[str]:
        return [f"{self.omitted} events left out: the model answered NaN"] if self.omitted else []

    def _finished(self, question: _Question) -> Iterator[Answered]:
        outputs = np.concatenate(question.answers)
        if self.nan == "omit" and np.isnan(outputs).any():
            self.omitted += 1
            return
        where = f"answers of the model, event {question.event.id!r:.80}"
        outputs = checked_outputs(outputs, len(question.masks), self.settings.model_output, where)
        yield Answered(question.event, question.masks, outputs)

    def _batches(self, events: Sequence[Event]) -> Iterator[list[_Part]]:
        """Masks up to the budget of edges, of one event at a time unless the model takes several."""
        batch: list[_Part] = []
        room = self.batch_edges
        several = isinstance(self.model, ManyModel)
        for event in events:
            question = self._question(event)
            cost, start = max(event.subgraph.edges, 1), 0
            while start < len(question.masks):
                if batch and (room < cost or (not several and batch[-1].question is not question)):
                    yield batch
                    batch, room = [], self.batch_edges
                stop = min(start + max(room // cost, 1), len(question.masks))
                batch.append(_Part(question, slice(start, stop)))
                room -= (stop - start) * cost
                start = stop
        if batch:
            yield batch

    def _question(self, event: Event) -> _Question:
        ranked = [
            ranking
            for explanation in event.explanations
            for ranking in rankings(explanation, unit_importance(explanation, self.settings), self.settings)
        ]
        ranked += random_rankings(event.subgraph, event.id, self.settings)
        return _Question(event, event_masks(event.subgraph, ranked, self.settings))

    def _asked(self, batch: list[_Part]) -> list[Floats]:
        if self.alone:
            return [np.concatenate([self._row(part, row) for row in range(len(part))]) for part in batch]
        together = self._together(batch)
        if not self.checked and sum(map(len, batch)) > 1:
            self.checked = True
            self._check(batch[-1], together[-1][-1:])
            if self.alone:
                return self._asked(batch)
        return together

    def _together(self, batch: list[_Part]) -> list[Floats]:
        contexts = [part.question.event.context for part in batch]
        if not isinstance(self.model, ManyModel):
            return [
                self._read(self.model.predict(context.subgraph, context.target, part.masks), part)
                for context, part in zip(contexts, batch, strict=True)
            ]
        subgraphs, targets = [context.subgraph for context in contexts], [context.target for context in contexts]
        said = self.model.predict_many(subgraphs, targets, [part.masks for part in batch])
        count = len(said) if isinstance(said, Sized) else type(said).__name__
        if count != len(batch):
            raise InputError(f"{count} answers for {len(batch)} subgraphs", where="predict_many of the model")
        return [self._read(answer, part) for answer, part in zip(said, batch, strict=True)]

    def _row(self, part: _Part, row: int) -> Floats:
        single = _Part(part.question, slice(part.rows.start + row, part.rows.start + row + 1))
        return self._together([single])[0]

    def _read(self, answer: Any, part: _Part) -> Floats:
        where = f"answers of the model, event {part.question.event.id!r:.80}"
        outputs = self._numbers(answer, part, where)
        if self.classes not in (None, outputs.shape[1]):
            raise InputError(f"{outputs.shape[1]} outputs a mask, and {self.classes} before", where=where)
        self.classes = outputs.shape[1]
        return outputs

    def _numbers(self, answer: Any, part: _Part, where: str) -> Floats:
        if self.nan == "omit":  # NaN waits until the event is whole, and takes it out
            array = as_numeric(answer, where)
            if array.dtype.kind == "f" and np.isnan(array).any() and array.shape[:1] == (len(part),):
                return np.full((len(array), math.prod(array.shape[1:])), np.nan)
        return checked_outputs(answer, len(part), self.settings.model_output, where)

    def _check(self, part: _Part, batched: Floats) -> None:
        """Ask the last mask of a batch again, alone."""
        single = self._row(part, len(part) - 1)
        apart = self._apart(batched, single)
        if apart <= _INVARIANT:
            return
        self.alone = True
        again = self._apart(single, self._row(part, len(part) - 1))
        if again > _INVARIANT:
            self.notes.append(
                f"the model answers one question differently each time (by {again:.2g}); {_ALONE}: is it in "
                "evaluation mode?"
            )
        else:
            self.notes.append(f"the model's answers depend on what else is in a batch (by {apart:.2g}); {_ALONE}")

    def _apart(self, one: Floats, other: Floats) -> float:
        if np.isnan(one).any() or np.isnan(other).any():
            return 0.0  # the event is left out
        said = [probabilities(outputs, self.settings.model_output) for outputs in (one, other)]
        return float(np.abs(said[0] - said[1]).max())


class _Journal:
    """The file that finished events are appended to, and those that it held already."""

    def __init__(self, path: str | Path | None, settings: Settings) -> None:
        self._path = None if path is None else Path(path)
        self._settings = settings
        self._stream: BinaryIO | None = None
        self._headed = False
        self._held: dict[EventId, Answered] = {}
        self.rows: list[Answered] = []
        self.notes: tuple[str, ...] = ()

    def __enter__(self) -> _Journal:
        if self._path is None:
            return self
        if self._path.suffix.lower() != ".jsonl":
            raise OptionError(
                f"{self._path.name}: answers are appended to .jsonl files", fix="Save the table as .parquet afterwards."
            )
        if self._path.exists() and self._path.stat().st_size:
            self._resume(self._path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._path.open("ab")
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=str(self._path)) from None
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            if error[0] is None:
                self._head(())  # a table without events is one
            self._stream.close()

    @property
    def alone(self) -> bool:
        return any(_ALONE in note for note in self.notes)

    def holds(self, event: Event) -> bool:
        """Whether the file has the event; with other explanations it is an error, for the answers are to others."""
        found = self._held.get(event.id)
        if found is None:
            return False
        if _said(found.event) != _said(event) or not same_question(found.context, event.context):
            raise InputError(
                f"holds event {event.id!r:.80} with another subgraph, target, truth or importance",
                where=str(self._path), fix="Collect into another file.",
            )  # fmt: skip
        return True

    def add(self, row: Answered, notes: Sequence[str]) -> None:
        self.rows.append(row)
        if self._stream is not None:
            self._head(notes)
            # One write a line: a stop in between leaves whole lines and at most one that is not.
            self._stream.write(json_line(row.to_dict()).encode())
            self._stream.flush()

    def note(self, notes: Sequence[str]) -> None:
        """What is known at the end only is said in a line of its own, unless the file says it already."""
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

    def _resume(self, path: Path) -> None:
        records, cut_off = read_lines(path)
        if not records:
            raise InputError("holds no header", where=str(path), fix="Choose another file.")
        found, _ = header_from_dict(records[0], f"{path}, line 1")
        if found != self._settings:
            stored, asked = found.to_dict(), self._settings.to_dict()
            differing = ", ".join(name for name in stored if stored[name] != asked[name])
            raise InputError(
                f"was collected with other settings: {differing}", where=str(path), fix="Collect into another file."
            )
        table = Table.of(records, str(path))
        self.rows, self.notes = list(table.rows), table.notes
        self._held = {row.id: row for row in self.rows}
        self._headed = True
        _repair(path, cut_off)


def _repair(path: Path, cut_off: bool) -> None:
    """End the file with a whole line: what a stop left unfinished is cut off, a line without its end gets it."""
    with path.open("rb+") as stream:
        content = stream.read()
        if cut_off:
            stream.truncate(content.rfind(b"\n") + 1)
        elif not content.endswith(b"\n"):
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")


def _said(event: Event) -> tuple[Any, ...]:
    """All that a line says of an event beside its question, in the order of names; the seconds may differ."""
    label, truth = event.context.label, event.context.truth
    importances = sorted(
        (one.explainer, -1 if one.seed is None else one.seed, one.importance.tobytes()) for one in event.explanations
    )
    return label, None if truth is None else truth.tobytes(), importances
