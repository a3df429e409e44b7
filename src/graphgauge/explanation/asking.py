"""Send masks to a model in batches, and check that batching does not change its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.cluster import mapped
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.factory import FromFactory, own_code
from graphgauge.explanation.adapters import MaskedCalls, as_model, method_asked
from graphgauge.explanation.ceiling import searched
from graphgauge.explanation.fields import answer_rows, checked_outputs, probabilities
from graphgauge.explanation.inputs import ManyModel, Masks, Model
from graphgauge.explanation.masks import (
    GRAPHXAI,
    Settings,
    event_masks,
    hard_mask,
    packed,
    random_rankings,
    rankings,
    unit_importance,
)
from graphgauge.explanation.records import Event, EventId
from graphgauge.explanation.table import Answered

# Largest difference between the probabilities of one mask alone and in a batch.
_INVARIANT = 1e-4
_ALONE = "every mask was sent alone"
# Events in one task of an engine.
_TOGETHER = 16


@dataclass
class _Question:
    """The masks of one event that have no answer yet, the answers so far, and those of an earlier run."""

    event: Event
    masks: Masks
    held: Answered | None = None
    answers: list[Floats] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return sum(map(len, self.answers)) == len(self.masks)

    def before(self, batch: Sequence[_Part]) -> list[_Part]:
        """The masks that were answered before a batch."""
        start = min(part.start for part in batch if part.question is self)
        return [_Part(self, 0, start)] if start and self.answers else []


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

    @property
    def ends(self) -> bool:
        """Whether these are the last masks of the event."""
        return self.stop == len(self.question.masks)

    def one(self, row: int) -> _Part:
        return _Part(self.question, self.start + row, self.start + row + 1)


class Asking:
    """Sends masks in batches, or one by one if the model's answers depend on the rest of the batch."""

    def __init__(
        self, model: Model | ManyModel, settings: Settings, batch_edges: int, nan: str, *, alone: bool = False
    ) -> None:
        self._model, self._settings, self._batch_edges, self._nan = model, settings, batch_edges, nan
        self._method = method_asked(model)
        self._alone = alone or isinstance(model, MaskedCalls)
        self._random = False
        self._classes: int | None = None
        self.omitted = 0
        self.notes: list[str] = []

    def go_on(self, rows: Sequence[Answered], notes: Sequence[str]) -> None:
        """Continue in the same mode as the run that left these answers and notes."""
        self._classes = next((row.outputs.shape[1] for row in rows if len(row.outputs)), None)
        self._alone = self._alone or any(_ALONE in note for note in notes)

    def answers(self, events: Sequence[Event], held: Mapping[EventId, Answered] | None = None) -> Iterator[Answered]:
        """The answered events; masks that are answered in `held` are not sent again."""
        for batch in self._batches(events, held or {}):
            if isinstance(batch, _Question):
                yield from self._finished(batch)
                continue
            for part, outputs in zip(batch, self._asked(batch), strict=True):
                part.question.answers.append(outputs)
                if part.question.done:
                    yield from self._finished(part.question)

    def questions(self, source: FromFactory, events: Sequence[Event], held: Mapping[EventId, Answered]) -> _Questions:
        """Some events to ask about in another process, in the same mode."""
        if isinstance(self._model, ManyModel):
            raise OptionError(
                "an engine splits events, and this model is asked about several at once (predict_many)",
                fix="Leave out the engine.",
            ).about("engine")
        return _Questions(source, self._settings, self._batch_edges, self._nan, self._alone, events, held)

    def omit(self, events: int) -> None:
        """Count events that were left out elsewhere."""
        self.omitted += events

    def omissions(self) -> list[str]:
        return [f"{self.omitted} events were left out, because the model answered NaN"] if self.omitted else []

    def _finished(self, question: _Question) -> Iterator[Answered]:
        event, held = question.event, question.held
        outputs = np.concatenate(question.answers) if question.answers else np.empty((0, self._classes or 1))
        masks = question.masks
        if held is not None:
            masks = np.concatenate([held.masks, masks])
            outputs = np.concatenate([held.outputs, outputs]) if len(question.masks) else held.outputs
        ceiling = self._settings.ceiling if self._settings.asked else 0
        if ceiling and event.subgraph.unit_count and _known(outputs):
            masks, outputs = searched(
                event.subgraph, masks, outputs, self._settings, lambda more: self._more(event, more)
            )
        if _known(outputs):
            yield Answered(event, masks, outputs, ceiling)
        else:
            self.omitted += 1

    def _more(self, event: Event, masks: Masks) -> Floats:
        """Answers to further masks of one event."""
        question, step = _Question(event, masks), max(self._batch_edges // max(event.subgraph.edges, 1), 1)
        parts = [_Part(question, at, min(at + step, len(masks))) for at in range(0, len(masks), step)]
        return np.concatenate([answers for part in parts for answers in self._asked([part])])

    def _batches(self, events: Sequence[Event], held: Mapping[EventId, Answered]) -> Iterator[list[_Part] | _Question]:
        """Masks up to the edge budget, one event at a time unless the model takes several.

        A question without masks comes by itself.
        """
        batch: list[_Part] = []
        room = self._batch_edges
        several = isinstance(self._model, ManyModel)
        for event in events:
            question = self._question(event, held.get(event.id))
            if not len(question.masks):
                yield question
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

    def _question(self, event: Event, held: Answered | None) -> _Question:
        return _Question(event, missing_masks(event, held, self._settings), held)

    def _asked(self, batch: list[_Part]) -> list[Floats]:
        """The answers of a batch; if an event begins or ends in it, one mask is sent again, alone."""
        batched = not self._alone
        found = self._together(batch) if batched else self._one_by_one(batch)
        rows = sum(map(len, batch))
        if not self._random and any(part.ends or (part.start == 0 and batched and rows > 1) for part in batch):
            self._watch(batch[-1], found[-1][-1:])
            if batched and self._alone:
                for question in {id(part.question): part.question for part in batch}.values():
                    question.answers = self._one_by_one(question.before(batch))
                found = self._one_by_one(batch)
        return found

    def _one_by_one(self, parts: Sequence[_Part]) -> list[Floats]:
        return [np.concatenate([self._row(part, row) for row in range(len(part))]) for part in parts]

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
        return self._checked_answer(answer, len(part), part.question.event)

    def _checked_answer(self, answer: Any, masks: int, event: Event) -> Floats:
        where = f"{self._method}, answers of the model, event {event.id!r:.80}"
        outputs = answer_rows(answer, masks, where)
        if self._classes not in (None, outputs.shape[1]):
            raise InputError(f"{outputs.shape[1]} outputs per mask, but {self._classes} before", where=where)
        self._classes = outputs.shape[1]
        if self._nan == "omit" and np.isnan(outputs).any():
            return outputs  # an event with NaN is left out once it is complete
        return checked_outputs(outputs, self._settings.model_output, where)

    def _watch(self, part: _Part, answered: Floats) -> None:
        """Send the last mask of a batch again, alone, and compare the answers."""
        single = self._row(part, len(part) - 1)
        apart = self._apart(answered, single)
        if apart <= _INVARIANT:
            return
        first = f"first noticed at event {part.question.event.id!r:.80}"
        again = apart if self._alone else self._apart(single, self._row(part, len(part) - 1))
        self._alone = True
        if again > _INVARIANT:
            self._random = True
            self.notes.append(
                f"the model gives different answers to the same input (by {again:.2g}, {first}); {_ALONE}: is it in "
                "evaluation mode?"
            )
        else:
            self.notes.append(
                f"the model's answers depend on the rest of the batch (by {apart:.2g}, {first}); {_ALONE} from there on"
            )

    def _apart(self, one: Floats, other: Floats) -> float:
        if np.isnan(one).any() or np.isnan(other).any():
            return 0.0  # the event is left out
        said = [probabilities(outputs, self._settings.model_output) for outputs in (one, other)]
        return float(np.abs(said[0] - said[1]).max())


def _known(outputs: Floats) -> bool:
    return not np.isnan(outputs).any()


def missing_masks(event: Event, held: Answered | None, settings: Settings) -> Masks:
    """The masks that an event needs under these settings, without those that have an answer."""
    ranked = [
        ranking
        for explanation in event.explanations
        if explanation.perturbed is None
        for ranking in rankings(explanation, unit_importance(explanation, settings), settings)
    ]
    ranked += random_rankings(event.subgraph, event.id, settings)
    known = () if held is None else packed(held.masks)
    plain = [each for each in event.explanations if each.perturbed is None]
    hard = [hard_mask(each) for each in plain] if settings.convention == GRAPHXAI else []
    return event_masks(event.subgraph, ranked, settings, event.id, known, hard)


class _Questions(NamedTuple):
    """Some events for a model that another process makes, with the answers that they have already."""

    source: FromFactory
    settings: Settings
    batch_edges: int
    nan: str
    alone: bool
    events: Sequence[Event]
    held: Mapping[EventId, Answered]


def answers_on_cluster(
    asking: Asking, source: FromFactory, events: Sequence[Event], held: Mapping[EventId, Answered]
) -> Iterator[Answered]:
    """The answered events, as `Asking.answers`, from models that the tasks of an engine make."""
    tasks = [
        asking.questions(source, part, {event.id: held[event.id] for event in part if event.id in held})
        for part in (events[first : first + _TOGETHER] for first in range(0, len(events), _TOGETHER))
    ]
    for answered, notes, omitted in mapped(_answered, tasks):
        if notes:  # one process would ask about all later events in another way
            raise InputError(notes[0], where="model", fix="Leave out the engine.")
        asking.omit(omitted)
        yield from answered


def _answered(task: _Questions) -> tuple[list[Answered], list[str], int]:
    own = Asking(as_model(task.source.made()), task.settings, task.batch_edges, task.nan, alone=task.alone)
    answered = list(own.answers(task.events, task.held))
    return answered, own.notes, own.omitted
