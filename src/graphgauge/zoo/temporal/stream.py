"""A stream of contacts, and questions about it: will two people meet, given the last contacts of each?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.explanation.inputs import Context, Subgraph


@dataclass(frozen=True)
class Question:
    """A pair of nodes and a time; the answer is 1 or 0."""

    one: int
    other: int
    time: float
    answer: int


@dataclass(frozen=True)
class Stream:
    """Contacts sorted by time. Nodes are numbered; contacts and nodes may have features."""

    ends: Ints  # (2, contacts)
    time: Floats
    contact_features: Floats
    node_features: Floats

    @cached_property
    def _contacts_of(self) -> list[Ints]:
        """For each node, the numbers of its contacts in order."""
        contact = np.tile(np.arange(self.time.size), 2)
        order = np.lexsort((contact, self.ends.ravel()))
        counts = np.bincount(self.ends.ravel(), minlength=len(self.node_features))
        return np.split(contact[order], np.cumsum(counts)[:-1])

    @property
    def nodes(self) -> int:
        return len(self.node_features)

    @property
    def gap(self) -> float:
        """The mean time between two contacts of one node."""
        return float(np.ptp(self.time)) * self.nodes / (2 * self.time.size)

    def recent(self, node: int, time: float, count: int) -> Ints:
        """The last `count` contacts of a node before a time."""
        contacts = self._contacts_of[node]
        end = int(np.searchsorted(self.time[contacts], time))
        return contacts[max(0, end - count) : end]

    def around(self, question: Question, count: int) -> Ints:
        """The last `count` contacts of each of the two, sorted by time."""
        both = [self.recent(node, question.time, count) for node in (question.one, question.other)]
        return np.unique(np.concatenate(both))

    def context(self, question: Question, count: int, *, event: str, truth: NDArray[np.bool_] | None = None) -> Context:
        """A question as an event to explain: its subgraph is the model's input."""
        contacts = self.around(question, count)
        asked = np.array([question.one, question.other])
        met = np.setdiff1d(self.ends[:, contacts], asked)
        nodes = np.concatenate([asked, met])
        row = np.empty(self.nodes, np.int64)
        row[nodes] = np.arange(nodes.size)
        subgraph = Subgraph(
            edge_index=row[self.ends[:, contacts]],
            nodes=nodes,
            times=self.time[contacts],
            node_features=self.node_features[nodes],
            edge_features=self.contact_features[contacts],
        )
        target = {"pair": [question.one, question.other], "time": question.time}
        return Context(subgraph, target, event=event, label=question.answer, truth=truth)


def split(questions: Sequence[Question], share: float) -> tuple[list[Question], list[Question]]:
    """The earlier `share` of the questions, and the rest."""
    ordered = sorted(questions, key=lambda question: question.time)
    border = round(share * len(ordered))
    return ordered[:border], ordered[border:]
