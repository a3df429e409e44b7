"""The network's task: questions about a stream; it trains on earlier ones and is tested on later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.inputs import Context
from graphgauge.zoo.temporal.contacts import Contacts
from graphgauge.zoo.temporal.model import Config, TemporalGNN
from graphgauge.zoo.temporal.planted import Town
from graphgauge.zoo.temporal.stream import Question, Stream, split

DATA = ("planted", "contacts")
QUESTIONS = {"planted": 3000, "contacts": 4000}
# Share of the questions, the earliest, for training.
_LEARNT = 0.8


@dataclass(frozen=True)
class Task:
    """Questions as events with their subgraphs; with the planted rule, each has its true explanation."""

    config: Config
    training: Sequence[Context]
    held_out: Sequence[Context]


def task(data: str, *, seed: int = 0, questions: int | None = None, contacts: str | Path | None = None) -> Task:
    """The planted rule, or recorded contacts from a file; the same arguments give the same questions."""
    count = QUESTIONS[one_of("data", data, DATA)] if questions is None else questions
    if data == "planted":
        town = Town()
        stream = town.stream(seed)
        asked = town.questions(stream, count, seed)
        return _task(data, stream, asked, town.recent, seed, count, town)
    if contacts is None:
        raise OptionError("recorded contacts need a file", fix="Pass it with --contacts.")
    recorded = Contacts()
    stream = recorded.stream(contacts)
    asked = recorded.questions(stream, count, seed)
    return _task(data, stream, asked, recorded.recent, seed, count)


def _task(
    data: str, stream: Stream, asked: Sequence[Question], recent: int, seed: int, count: int, town: Town | None = None
) -> Task:
    config = Config(
        contact_features=stream.contact_features.shape[1],
        node_features=stream.node_features.shape[1],
        gap=stream.gap,
        data=data,
        questions=count,
        seed=seed,
    )
    training, held_out = (
        [
            stream.context(
                question,
                recent,
                event=f"{name}-{number}",
                truth=None if town is None else town.truth(stream, question),
            )
            for number, question in enumerate(part)
        ]
        for name, part in zip(("training", "held-out"), split(asked, _LEARNT), strict=True)
    )
    return Task(config, training, held_out)


def logits(model: TemporalGNN, contexts: Sequence[Context]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The network's answers for the whole subgraphs."""
    answers = model.predict_many(
        [context.subgraph for context in contexts],
        [context.target for context in contexts],
        [np.ones((1, len(context.subgraph)), bool) for context in contexts],
    )
    return np.array([float(answer[0, 0]) for answer in answers])


def accuracy(model: TemporalGNN, contexts: Sequence[Context]) -> float:
    labels = np.array([context.label for context in contexts])
    return float(np.mean((logits(model, contexts) > 0) == labels))


def found(model: TemporalGNN, contexts: Sequence[Context], count: int) -> list[Context]:
    """The first `count` events with the answer 1 that the network gets right, which can be explained."""
    answers = logits(model, contexts)
    right = [context for context, answer in zip(contexts, answers, strict=True) if context.label and answer > 0]
    if not right:
        raise InputError(
            "the network gets no later question with the answer 1 right, so there is nothing to explain",
            fix="Train it on more questions or for more epochs.",
        )
    return right[:count]
