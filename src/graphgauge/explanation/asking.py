"""Send masks to a model in batches, and check that batching does not change its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.explanation.adapters import MaskedCalls, method_asked
from graphgauge.explanation.fields import answer_rows, checked_outputs, probabilities
from graphgauge.explanation.inputs import Masks, Model
from graphgauge.explanation.masks import Settings, event_masks, packed, random_rankings, rankings, unit_importance
from graphgauge.explanation.records import Event, EventId
from graphgauge.explanation.table import Answered
from graphgauge.old.core.factory import own_code

# Largest difference between the probabilities of one mask alone and in a batch.
_INVARIANT = 1e-4
_ALONE = "every mask was sent alone"


class Asking:
    """Sends masks in batches, or one by one if the model's answers depend on the rest of the batch."""

    def __init__(self, model: Model, settings: Settings, batch_edges: int, nan: str) -> None:
        self._model, self._settings, self._batch_edges, self._nan = model, settings, batch_edges, nan
        self._method = method_asked(model)
        self._alone = isinstance(model, MaskedCalls)
        self._random = False
        self._classes: int | None = None
        self.omitted = 0
        self.notes: list[str] = []

    def go_on(self, rows: Sequence[Answered], notes: Sequence[str]) -> None:
        """Continue in the same mode as the run that left these answers and notes."""
        self._classes = next((row.outputs.shape[1] for row in rows if len(row.outputs)), None)
        self._alone = self._alone or any(_ALONE in note for note in notes)

    def answers(self, events: Sequence[Event], held: Mapping[EventId, Answered]) -> Iterator[Answered]:
        """The answered events; masks that are answered in `held` are not sent again."""
        for event in events:
            masks = missing_masks(event, held.get(event.id), self._settings)
            outputs = self._answered(event, masks)
            if event.id in held:
                before = held[event.id]
                outputs = np.concatenate([before.outputs, outputs]) if len(masks) else before.outputs
                masks = np.concatenate([before.masks, masks])
            if np.isnan(outputs).any():
                self.omitted += 1
            else:
                yield Answered(event, masks, outputs)

    def omissions(self) -> list[str]:
        return [f"{self.omitted} events were left out, because the model answered NaN"] if self.omitted else []

    def _answered(self, event: Event, masks: Masks) -> Floats:
        """The answers to all masks of an event; of its first and its last batch one mask is sent again, alone."""
        step = max(self._batch_edges // max(event.subgraph.edges, 1), 1)
        answers: list[Floats] = []
        for start in range(0, len(masks), step):
            batch, batched = masks[start : start + step], not self._alone
            found = self._predicted(event, batch) if batched else self._one_by_one(event, batch)
            last = start + step >= len(masks)
            if not self._random and (last or (start == 0 and batched and len(batch) > 1)):
                self._watch(event, batch[-1:], found[-1:])
                if batched and self._alone:
                    answers, found = [], self._one_by_one(event, masks[: start + step])
            answers.append(found)
        return np.concatenate(answers) if answers else np.empty((0, self._classes or 1))

    def _one_by_one(self, event: Event, masks: Masks) -> Floats:
        return np.concatenate([self._predicted(event, mask[np.newaxis]) for mask in masks])

    def _predicted(self, event: Event, masks: Masks) -> Floats:
        context = event.context
        with own_code(f"event {context.event!r:.80}, model {self._method}"):
            # A copy, because a model may write into its inputs.
            answer = self._model.predict(context.subgraph, context.target, masks.copy())
            return self._checked_answer(answer, len(masks), event)

    def _checked_answer(self, answer: Any, masks: int, event: Event) -> Floats:
        where = f"{self._method}, answers of the model, event {event.id!r:.80}"
        outputs = answer_rows(answer, masks, where)
        if self._classes not in (None, outputs.shape[1]):
            raise InputError(f"{outputs.shape[1]} outputs per mask, but {self._classes} before", where=where)
        self._classes = outputs.shape[1]
        if self._nan == "omit" and np.isnan(outputs).any():
            return outputs  # an event with NaN is left out once it is complete
        return checked_outputs(outputs, self._settings.model_output, where)

    def _watch(self, event: Event, mask: Masks, answered: Floats) -> None:
        """Send the last mask of a batch again, alone, and compare the answers."""
        single = self._predicted(event, mask)
        apart = self._apart(answered, single)
        if apart <= _INVARIANT:
            return
        first = f"first noticed at event {event.id!r:.80}"
        again = apart if self._alone else self._apart(single, self._predicted(event, mask))
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


def missing_masks(event: Event, held: Answered | None, settings: Settings) -> Masks:
    """The masks that an event needs under these settings, without those that have an answer."""
    ranked = [
        ranking
        for explanation in event.explanations
        for ranking in rankings(explanation, unit_importance(explanation, settings), settings)
    ]
    ranked += random_rankings(event.subgraph, event.id, settings)
    known = () if held is None else packed(held.masks)
    return event_masks(event.subgraph, ranked, settings, event.id, known)
