"""Send masks to a model in batches, and check that batching does not change its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.core.factory import own_code
from graphgauge.explanation.adapters import MaskedCalls, method_asked
from graphgauge.explanation.fields import answer_rows, checked_outputs, probabilities
from graphgauge.explanation.inputs import ManyModel, Masks, Model
from graphgauge.explanation.masks import Settings, event_masks, random_rankings, rankings, unit_importance
from graphgauge.explanation.records import Event
from graphgauge.explanation.table import Answered

# Largest difference between the probabilities of one mask alone and in a batch.
_INVARIANT = 1e-4
_ALONE = "every mask was sent alone"


@dataclass
class _Question:
    """The masks of one event, and the answers so far."""

    event: Event
    masks: Masks
    answers: list[Floats] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return sum(map(len, self.answers)) == len(self.masks)


@dataclass(frozen=True)
class _Part:
    """Some masks of one event, as part of a batch."""

    question: _Question
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def masks(self) -> Masks:
        """A copy, because a model may write into its inputs."""
        return self.question.masks[self.start : self.stop].copy()

    def one(self, row: int) -> _Part:
        return _Part(self.question, self.start + row, self.start + row + 1)


class Asking:
    """Sends masks in batches, or one by one if the model's answers depend on the rest of the batch."""

    def __init__(self, model: Model | ManyModel, settings: Settings, batch_edges: int, nan: str) -> None:
        self._model, self._settings, self._batch_edges, self._nan = model, settings, batch_edges, nan
        self._method = method_asked(model)
        # Models that take one mask per call need no check.
        self._alone = self._checked = isinstance(model, MaskedCalls)
        self._classes: int | None = None
        self._omitted = 0
        self.notes: list[str] = []

    def go_on(self, rows: Sequence[Answered], notes: Sequence[str]) -> None:
        """Continue in the same mode as the run that left these answers and notes."""
        if rows:
            self._classes = rows[0].outputs.shape[1]
        self._alone = self._alone or any(_ALONE in note for note in notes)

    def answers(self, events: Sequence[Event]) -> Iterator[Answered]:
        for batch in self._batches(events):
            for part, outputs in zip(batch, self._asked(batch), strict=True):
                part.question.answers.append(outputs)
                if part.question.done:
                    yield from self._finished(part.question)

    def omissions(self) -> list[str]:
        return [f"{self._omitted} events were left out, because the model answered NaN"] if self._omitted else []

    def _finished(self, question: _Question) -> Iterator[Answered]:
        outputs = np.concatenate(question.answers)
        if np.isnan(outputs).any():
            self._omitted += 1
        else:
            yield Answered(question.event, question.masks, outputs)

    def _batches(self, events: Sequence[Event]) -> Iterator[list[_Part]]:
        """Masks up to the edge budget, one event at a time unless the model takes several."""
        batch: list[_Part] = []
        room = self._batch_edges
        several = isinstance(self._model, ManyModel)
        for event in events:
            question = self._question(event)
            cost, start = max(event.subgraph.edges, 1), 0
            while start < len(question.masks):
                if batch and (room < cost or (not several and batch[-1].question is not question)):
                    yield batch
                    batch, room = [], self._batch_edges
                stop = min(start + max(room // cost, 1), len(question.masks))
                batch.append(_Part(question, start, stop))
                room -= (stop - start) * cost
                start = stop
        if batch:
            yield batch

    def _question(self, event: Event) -> _Question:
        ranked = [
            ranking
            for explanation in event.explanations
            for ranking in rankings(explanation, unit_importance(explanation, self._settings), self._settings)
        ]
        ranked += random_rankings(event.subgraph, event.id, self._settings)
        return _Question(event, event_masks(event.subgraph, ranked, self._settings))

    def _asked(self, batch: list[_Part]) -> list[Floats]:
        if self._alone:
            return [np.concatenate([self._row(part, row) for row in range(len(part))]) for part in batch]
        together = self._together(batch)
        if not self._checked and sum(map(len, batch)) > 1:
            self._checked = True
            self._check(batch[-1], together[-1][-1:])
            if self._alone:
                return self._asked(batch)
        return together

    def _row(self, part: _Part, row: int) -> Floats:
        return self._together([part.one(row)])[0]

    def _together(self, batch: list[_Part]) -> list[Floats]:
        if not isinstance(self._model, ManyModel):
            return [self._predicted(self._model, part) for part in batch]
        contexts = [part.question.event.context for part in batch]
        with own_code(f"model {self._method}"):
            said = self._model.predict_many(
                [context.subgraph for context in contexts],
                [context.target for context in contexts],
                [part.masks for part in batch],
            )
            count = len(said) if isinstance(said, Sized) else type(said).__name__
            if count != len(batch):
                raise InputError(f"{count} answers for {len(batch)} subgraphs", where=self._method)
            return [self._read(answer, part) for answer, part in zip(said, batch, strict=True)]

    def _predicted(self, model: Model, part: _Part) -> Floats:
        context = part.question.event.context
        with own_code(f"event {context.event!r:.80}, model {self._method}"):
            return self._read(model.predict(context.subgraph, context.target, part.masks), part)

    def _read(self, answer: Any, part: _Part) -> Floats:
        where = f"{self._method}, answers of the model, event {part.question.event.id!r:.80}"
        outputs = answer_rows(answer, len(part), where)
        if self._classes not in (None, outputs.shape[1]):
            raise InputError(f"{outputs.shape[1]} outputs per mask, but {self._classes} before", where=where)
        self._classes = outputs.shape[1]
        if self._nan == "omit" and np.isnan(outputs).any():
            return outputs  # an event with NaN is left out once it is complete
        return checked_outputs(outputs, self._settings.model_output, where)

    def _check(self, part: _Part, batched: Floats) -> None:
        """Send the last mask of a batch again, alone."""
        single = self._row(part, len(part) - 1)
        apart = self._apart(batched, single)
        if apart <= _INVARIANT:
            return
        self._alone = True
        again = self._apart(single, self._row(part, len(part) - 1))
        if again > _INVARIANT:
            self.notes.append(
                f"the model gives different answers to the same input (by {again:.2g}); {_ALONE}: is it in "
                "evaluation mode?"
            )
        else:
            self.notes.append(f"the model's answers depend on the rest of the batch (by {apart:.2g}); {_ALONE}")

    def _apart(self, one: Floats, other: Floats) -> float:
        if np.isnan(one).any() or np.isnan(other).any():
            return 0.0  # the event is left out
        said = [probabilities(outputs, self._settings.model_output) for outputs in (one, other)]
        return float(np.abs(said[0] - said[1]).max())
